// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dirty pages: scenes worked out by hand, then a twin: a simulated machine whose four kernels swap
 * the same pages at the same time, and which knows what each of them wrote.
 */
#include "replay/dirty.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

#define PAGE(n)  (UINT64_C(0x400000) + ((uint64_t)(n) << 12))
#define IN_DIRTY (SWAP_PTE_KNOWN | SWAP_WRITABLE | SWAP_DIRTY)
#define IN_CLEAN (SWAP_PTE_KNOWN | SWAP_WRITABLE)
#define ONE             \
	{               \
		1, 1, 1 \
	}

static struct dirty *d;
static uint64_t now;
static struct dirty_mm rows[8];
static size_t nr_rows;

static void keep_row(void *context, const struct dirty_mm *mm)
{
	(void)context;
	if (nr_rows < 8)
		rows[nr_rows++] = *mm;
}

static void begin(bool sees_slots, double share)
{
	nr_rows = 0;
	now = 1000;
	d = dirty_new(&(struct dirty_config){
		.page_shift = 12, .sees_slots = sees_slots, .dirty_share = share, .mm = keep_row});
}

static void event(unsigned int kind, uint64_t page, unsigned int flags)
{
	now += 10;
	dirty_event(d, &(struct tlb_event){.time_ns = now,
					   .began_ns = now,
					   .addr = PAGE(page),
					   .pages = 1,
					   .mm = 1,
					   .kind = (uint8_t)kind,
					   .flags = (uint8_t)flags,
					   .sure = ONE});
}

static void point(unsigned int which, uint64_t page, uint64_t pages)
{
	now += 10;
	dirty_event(d, &(struct tlb_event){.time_ns = now,
					   .began_ns = now,
					   .addr = PAGE(page),
					   .pages = pages,
					   .mm = 1,
					   .kind = EVENT_DECISION,
					   .point = (uint8_t)which,
					   .sure = ONE});
}

static void fault_write(uint64_t page)
{
	event(EVENT_PRESENT, page, EVENT_WRITE);
}

/* Reclaim takes a page, and writes it or not. */
static void take(uint64_t page, unsigned int flags, bool written)
{
	event(EVENT_SWAP_OUT, page, SWAP_ANON | flags);
	if (written)
		event(EVENT_SWAP_WRITE, page, 0);
}

static bool is(const struct dirty_bound *b, double low, double estimate, double high)
{
	if (b->low == low && b->estimate == estimate && b->high == high)
		return true;
	printf("is %g %g %g\n", b->low, b->estimate, b->high);
	return false;
}

static const struct dirty_result *finish(void)
{
	CHECK(!dirty_end(d, now + 10));
	return dirty_result(d);
}

static const struct dirty_outcome *of(unsigned int mkwrite, unsigned int dbm)
{
	return &dirty_result(d)->outcome[mkwrite][dbm];
}

/*
 * Recorded with mkwrite=dirty. Three pages are filled and swapped out: 3 writes under any kernel.
 * They come back for a read and go again: 3 more writes here; under mkwrite=clean none if nobody
 * wrote. Page 2 was written, by a fault that shows it.
 */
static void old_kernel(void)
{
	const struct dirty_result *r;

	begin(false, 0.5);
	for (unsigned int i = 0; i < 3; i++) {
		fault_write(i);
		take(i, 0, true);
	}
	for (unsigned int i = 0; i < 3; i++)
		event(EVENT_SWAP_IN, i, IN_DIRTY);
	fault_write(2);
	for (unsigned int i = 0; i < 3; i++)
		take(i, 0, true);
	r = finish();
	CHECK(r->mkwrite == MKWRITE_DIRTY && r->dbm == -1);
	CHECK(r->swap_ins == 3 && r->made == 3 && r->made_dirty == 3 && r->swap_in_writes == 0);
	CHECK(r->unmapped == 6 && r->writes == 6 && !r->writes_unplaced && !r->missing_writes);
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->writes, 6, 6, 6));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->writes, 4, 5, 6));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_OFF)->writes, 4, 5, 6));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->unwritten, 0, 1, 2));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->unwritten, 0, 0, 0));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_OFF)->extra_faults, 1, 2, 3));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->extra_faults, 0, 0, 0));
	CHECK(nr_rows == 1 && rows[0].mm == 1 && rows[0].writes == 6 && rows[0].made == 3);
	CHECK(is(&rows[0].unwritten, 0, 1, 2));
	dirty_free(d);
}

/*
 * Recorded with mkwrite=clean and dbm: page 0 is dropped, page 1 is found dirty. The old kernel
 * would have written both.
 */
static void clean_kernel(void)
{
	const struct dirty_result *r;

	begin(true, -1);
	for (unsigned int i = 0; i < 2; i++) {
		fault_write(i);
		take(i, SWAP_SLOT_NEW, true);
		event(EVENT_SWAP_IN, i, IN_CLEAN);
	}
	take(0, 0, false);
	take(1, 0, true);
	r = finish();
	CHECK(r->mkwrite == MKWRITE_CLEAN && r->dbm == DBM_ON && r->silent == 1);
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->writes, 3, 3, 3));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->writes, 4, 4, 4));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->unwritten, 1, 1, 1));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_OFF)->extra_faults, 1, 1, 1));
	dirty_free(d);
}

/*
 * The same without add_to_swap in the recording: that page 1 was written may be for its copy was
 * given up. The count of writes stands, what the CPU did does not.
 */
static void copies_unseen(void)
{
	begin(false, -1);
	for (unsigned int i = 0; i < 2; i++) {
		fault_write(i);
		take(i, 0, true);
		event(EVENT_SWAP_IN, i, IN_CLEAN);
	}
	take(0, 0, false);
	take(1, 0, true);
	finish();
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->writes, 3, 3, 3));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->writes, 4, 4, 4));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->unwritten, 1, 1, 2));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_OFF)->extra_faults, 0, 1, 1));
	dirty_free(d);
}

/*
 * Without dbm the upgrade shows each write: page 1. Page 2 stays in memory until the end, and was
 * not written either, for nothing upgraded it.
 */
static void no_hardware(void)
{
	const struct dirty_result *r;

	begin(true, 0.5);
	for (unsigned int i = 0; i < 3; i++) {
		fault_write(i);
		take(i, SWAP_SLOT_NEW, true);
		event(EVENT_SWAP_IN, i, IN_CLEAN);
	}
	point(POINT_DIRTY_UP, 1, 1);
	fault_write(1);
	take(0, 0, false);
	take(1, 0, true);
	r = finish();
	CHECK(r->mkwrite == MKWRITE_CLEAN && r->dbm == DBM_OFF && r->upgrades == 1 && !r->silent);
	CHECK(is(&of(MKWRITE_CLEAN, DBM_OFF)->writes, 4, 4, 4));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_OFF)->extra_faults, 1, 1, 1));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_OFF)->writes, 5, 5, 5));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_OFF)->unwritten, 2, 2, 2));
	dirty_free(d);
}

/* zram: no page keeps its copy, so all are written whatever the entry says. */
static void fast_device(void)
{
	begin(true, 0.5);
	for (unsigned int i = 0; i < 4; i++) {
		fault_write(i);
		take(i, SWAP_SLOT_NEW, true);
		event(EVENT_SWAP_IN, i, IN_DIRTY);
		take(i, SWAP_SLOT_NEW, true);
	}
	finish();
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->writes, 8, 8, 8));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->writes, 8, 8, 8));
	dirty_free(d);
}

/* A write fault brings it in; an entry that may not be written; a page of a file; a second mapping.
 */
static void others(void)
{
	const struct dirty_result *r;

	begin(true, 0.5);
	event(EVENT_SWAP_IN, 0, EVENT_WRITE | IN_DIRTY);
	take(0, SWAP_SLOT_NEW, true);
	event(EVENT_SWAP_IN, 1, SWAP_PTE_KNOWN);
	take(1, 0, false);
	event(EVENT_SWAP_OUT, 2, SWAP_NOT_ANON);
	event(EVENT_SWAP_IN, 3, IN_DIRTY);
	event(EVENT_SWAP_OUT, 3, SWAP_ANON);
	event(EVENT_SWAP_OUT, 4, SWAP_ANON | SWAP_SHARED);
	event(EVENT_SWAP_WRITE, 3, 0);
	now += 10;
	dirty_event(d, &(struct tlb_event){.time_ns = now, .kind = EVENT_SWAP_WRITE, .sure = ONE});
	r = finish();
	CHECK(r->swap_in_writes == 1 && r->made == 1 && r->not_anon == 1 && r->shared == 1);
	CHECK(r->unmapped == 3 && r->writes == 3 && r->writes_unplaced == 1);
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->writes, 3, 3, 3));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->writes, 2, 2.5, 3));
	dirty_free(d);
}

/* Pages that were in memory before the recording began: what they had been is not known. */
static void before(void)
{
	begin(true, 0.5);
	take(0, 0, true);
	take(1, SWAP_SLOT_NEW, true);
	event(EVENT_SWAP_IN, 2, IN_DIRTY);
	finish();
	CHECK(dirty_result(d)->unknown_before == 2);
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->writes, 2, 2, 2));
	CHECK(of(MKWRITE_CLEAN, DBM_ON)->writes.low == 1 &&
	      of(MKWRITE_CLEAN, DBM_ON)->writes.high == 2);
	dirty_free(d);

	begin(true, 0.5);
	take(0, 0, false);
	event(EVENT_SWAP_OUT, 1, 0); /* of a file, perhaps */
	event(EVENT_SWAP_IN, 2, IN_CLEAN);
	finish();
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->writes, 0, 0, 0));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->writes, 0, 1, 2));
	dirty_free(d);
}

/* Back before it was written, and as dirty as it was; unmapped for good; taken over after a fork.
 */
static void ways_out(void)
{
	const struct dirty_result *r;

	begin(true, 0.5);
	fault_write(0);
	take(0, SWAP_SLOT_NEW, false);
	event(EVENT_SWAP_IN, 0, IN_CLEAN);
	take(0, 0, true);
	r = finish();
	CHECK(r->missing_writes == 1 && r->made == 0);
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->writes, 1, 1, 1));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->writes, 1, 1, 1));
	dirty_free(d);

	begin(true, 0.5);
	for (unsigned int i = 0; i < 4; i++)
		event(EVENT_SWAP_IN, i, IN_DIRTY);
	point(POINT_UNMAP, 0, 2);
	point(POINT_WP_REUSE, 2, 1);
	point(POINT_COW, 3, 1);
	for (unsigned int i = 2; i < 4; i++)
		take(i, SWAP_SLOT_NEW, true);
	finish();
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->unwritten, 0, 1, 2));
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->writes, 2, 2, 2));
	dirty_free(d);
}

/* Events are missing while page 0 is in and while page 1 is out: neither is certain any more. */
static void losses(void)
{
	begin(true, 0.5);
	event(EVENT_SWAP_IN, 0, IN_CLEAN);
	event(EVENT_SWAP_IN, 1, IN_CLEAN);
	take(1, 0, false);
	event(EVENT_LOST, 0, 0);
	take(0, 0, false);
	finish();
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->writes, 0, 0, 0));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->writes, 0, 1, 2));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->unwritten, 0, 1, 2));
	dirty_free(d);
}

/* An access is told before its fault: the page was written after it came in for a read. */
static void accesses(void)
{
	begin(true, -1);
	for (unsigned int i = 0; i < 2; i++) {
		fault_write(i);
		take(i, SWAP_SLOT_NEW, true);
		event(EVENT_ACCESS, i, i ? EVENT_WRITE : 0);
		event(EVENT_SWAP_IN, i, IN_DIRTY);
		take(i, 0, true);
	}
	finish();
	CHECK(is(&of(MKWRITE_CLEAN, DBM_ON)->writes, 3, 3, 4));
	CHECK(is(&of(MKWRITE_DIRTY, DBM_ON)->unwritten, 0, 1, 1));
	dirty_free(d);
}

/* ---- the twin ---- */

enum {
	PAGES = 700,
	FRAMES = 350
};

static uint64_t state;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

struct machine {
	unsigned int mkwrite, dbm; /* of the kernel that is recorded */
	bool told;                 /* accesses are */
	unsigned int lost_copies;  /* percent of swap-ins that give their copy up */
	struct {
		bool in, used, copy, stay, written;
		bool dirty[NR_MKWRITE];
	} page[PAGES];
	unsigned int resident;
	uint64_t writes[NR_MKWRITE], unwritten, extra;
};

static void machine_end_stay(struct machine *m, unsigned int i)
{
	if (m->page[i].stay)
		m->unwritten += !m->page[i].written;
	m->page[i].stay = false;
}

static void machine_reclaim(struct machine *m)
{
	unsigned int i;
	bool writes[NR_MKWRITE];

	do
		i = (unsigned int)(draw() % PAGES);
	while (!m->page[i].in);
	for (unsigned int k = 0; k < NR_MKWRITE; k++) {
		writes[k] = !m->page[i].copy || m->page[i].dirty[k];
		m->writes[k] += writes[k];
	}
	take(i, m->page[i].copy ? 0 : SWAP_SLOT_NEW, writes[m->mkwrite]);
	machine_end_stay(m, i);
	m->page[i].in = false;
	m->page[i].copy = true;
	m->resident--;
}

static void machine_store(struct machine *m, unsigned int i)
{
	bool stays = m->page[i].stay && !m->page[i].written;

	m->page[i].written = true;
	m->page[i].dirty[MKWRITE_DIRTY] = true;
	if (m->page[i].dirty[MKWRITE_CLEAN])
		return;
	m->page[i].dirty[MKWRITE_CLEAN] = true;
	m->extra += stays;
	if (m->mkwrite == MKWRITE_CLEAN && m->dbm == DBM_OFF) {
		point(POINT_DIRTY_UP, i, 1);
		fault_write(i);
	}
}

static void machine_access(struct machine *m, unsigned int i, bool write, bool read_first)
{
	bool comes_to_write = write && !read_first;

	if (m->told && m->page[i].used)
		event(EVENT_ACCESS, i, write ? EVENT_WRITE : 0);
	if (!m->page[i].in) {
		while (m->resident >= FRAMES)
			machine_reclaim(m);
		m->resident++;
		m->page[i].in = true;
		if (!m->page[i].used) {
			m->page[i].used = true;
			m->page[i].copy = false;
			m->page[i].dirty[0] = m->page[i].dirty[1] = true;
			fault_write(i);
			return;
		}
		m->page[i].stay = !comes_to_write;
		m->page[i].written = comes_to_write;
		m->page[i].dirty[MKWRITE_DIRTY] = true;
		m->page[i].dirty[MKWRITE_CLEAN] = comes_to_write;
		if (comes_to_write || draw() % 100 < m->lost_copies)
			m->page[i].copy = false;
		event(EVENT_SWAP_IN, i,
		      comes_to_write                ? EVENT_WRITE | IN_DIRTY
		      : m->mkwrite == MKWRITE_DIRTY ? IN_DIRTY
						    : IN_CLEAN);
		if (comes_to_write)
			fault_write(i);
	}
	if (write)
		machine_store(m, i);
}

static bool within(const struct dirty_bound *b, uint64_t truth)
{
	double x = (double)truth, tiny = 1e-6 * (x + 1); /* estimates are sums of shares */

	if (b->low <= x + tiny && x <= b->high + tiny && b->low <= b->estimate + tiny &&
	    b->estimate <= b->high + tiny)
		return true;
	printf("%g %g %g, and it was %g\n", b->low, b->estimate, b->high, x);
	return false;
}

static void twin(unsigned int seed, unsigned int mkwrite, unsigned int dbm, bool told,
		 bool read_first)
{
	struct machine m = {
		.mkwrite = mkwrite, .dbm = dbm, .told = told, .lost_copies = seed % 3 * 10};
	unsigned int writes_percent = seed % 5 * 10;
	const struct dirty_result *r;

	state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
	begin(true, -1);
	for (unsigned int i = 0; i < PAGES; i++)
		machine_access(&m, i, true, false);
	for (unsigned int n = 0; n < 20 * PAGES; n++)
		machine_access(&m, (unsigned int)(draw() % PAGES), draw() % 100 < writes_percent,
			       read_first);
	for (unsigned int i = 0; i < PAGES; i++)
		machine_end_stay(&m, i);
	r = finish();
	CHECK(r->mkwrite == (int)mkwrite);
	CHECK(mkwrite != MKWRITE_CLEAN || !writes_percent || r->dbm == (int)dbm);
	CHECK(r->writes == m.writes[mkwrite] && !r->missing_writes && !r->writes_unplaced);
	CHECK(is(&of(mkwrite, dbm)->writes, (double)m.writes[mkwrite], (double)m.writes[mkwrite],
		 (double)m.writes[mkwrite]));
	for (unsigned int k = 0; k < NR_MKWRITE; k++)
		CHECK(within(&of(k, dbm)->writes, m.writes[k]));
	CHECK(within(&of(MKWRITE_DIRTY, dbm)->unwritten, m.unwritten));
	CHECK(within(&of(MKWRITE_CLEAN, DBM_OFF)->extra_faults, m.extra));
	if (mkwrite == MKWRITE_CLEAN) {
		/* The other direction rests on nothing that is not seen. */
		CHECK(of(MKWRITE_DIRTY, dbm)->writes.low == (double)m.writes[MKWRITE_DIRTY]);
		CHECK(of(MKWRITE_DIRTY, dbm)->writes.high == (double)m.writes[MKWRITE_DIRTY]);
		if (dbm == DBM_OFF && writes_percent)
			CHECK(is(&of(MKWRITE_CLEAN, DBM_OFF)->extra_faults, (double)m.extra,
				 (double)m.extra, (double)m.extra));
	} else if (told) {
		CHECK(of(MKWRITE_CLEAN, dbm)->writes.estimate == (double)m.writes[MKWRITE_CLEAN]);
		CHECK(of(MKWRITE_CLEAN, DBM_OFF)->extra_faults.estimate == (double)m.extra);
	} else if (!read_first) {
		/* Every page is used as often as every other here, which is what the rate assumes.
		 */
		double off =
			of(MKWRITE_CLEAN, dbm)->writes.estimate / (double)m.writes[MKWRITE_CLEAN];

		CHECK(off > 0.95 && off < 1.05);
	}
	dirty_free(d);
}

int main(void)
{
	old_kernel();
	clean_kernel();
	copies_unseen();
	no_hardware();
	fast_device();
	others();
	before();
	ways_out();
	losses();
	accesses();
	for (unsigned int seed = 0; seed < 30; seed++)
		for (unsigned int k = 0; k < 16; k++)
			twin(seed, k & 1, k >> 1 & 1, k >> 2 & 1, k >> 3 & 1);
	if (!failures)
		printf("scenes and twin agree\n");
	return failures != 0;
}
