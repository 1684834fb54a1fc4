// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows each private page through swap:
 *
 *	          write fault                    unmapped by reclaim
 *	(nothing) -----------> FRESH  ----------------------------------> out, written
 *	                                                                   |
 *	            swap-in for a write:  WRITTEN <------------------------|
 *	            for a read, writable: MADE_DIRTY or MADE_CLEAN <-------|
 *	            for a read, not:      READ_ONLY <----------------------/
 *
 * FRESH and WRITTEN pages are dirty under every kernel, and READ_ONLY ones are what they are under
 * every kernel: mkwrite and dbm are about the MADE ones alone. A time in memory of a MADE page,
 * from its swap-in to the unmap (or the end of its mm, or of the recording), is called a stay here.
 * All results come down to one question per stay: was the page written during it?
 *
 *	recorded under            what tells
 *	mkwrite=clean             reclaim: a page with a copy in swap is written again only if it
 *	                          was dirty, and it was clean when it came in
 *	mkwrite=clean, dbm=off    the upgrade fault, if there was one
 *	mkwrite=dirty             nothing: a write makes no fault, and reclaim writes it anyway
 *	any, with accesses        a recorded write, or that there is none
 *
 * A stay of which nothing tells is between 0 and 1 written; its estimate is dirty_share if given,
 * else it comes from the recording. Pages that are out show every use as a fault. Their rate of
 * writes, per page and time out, is taken for pages that are in, too:
 *
 *	P(written) = 1 - exp(-rate * length of the stay)
 *
 * It is an assumption (reclaim picks pages that are used less, so the rate is rather too low; and a
 * program that reads a word before it writes it comes in by a read fault), and says so in the
 * results. The rate is known when an mm ends, so lengths are kept in a histogram per mm until then.
 *
 * Under the other kernels a page that reclaim unmapped would have been unmapped at the same moment:
 * the schedule is held, as everywhere. What was written or dropped is settled at the page's next
 * event. A page that mkwrite=clean drops is read again from the copy in swap that its last write
 * left; where that copy was given up (a write fault, a fast swap device, swap nearly full:
 * add_to_swap shows it) the page is written under every kernel. Where add_to_swap is not recorded
 * the copy is taken to have survived in the estimate, and left open in the bounds. So is what spans
 * a loss of events.
 *
 * Memory: 24 bytes a page in a table per mm, at most three quarters full.
 */
#include "replay/dirty.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "replay/map.h"

/* Lengths of stays: by powers of two, each in eight parts. */
enum {
	PARTS_SHIFT = 3,
	NR_LENGTHS = 64 << PARTS_SHIFT
};

enum history {
	UNKNOWN,
	FRESH,
	WRITTEN,
	MADE_DIRTY,
	MADE_CLEAN,
	READ_ONLY
};

/* Flags of a page. */
enum {
	OUT = 1 << 0,         /* unmapped by reclaim */
	TOUCHED = 1 << 1,     /* MADE: an event shows that it was written */
	SEEN_WRITE = 1 << 2,  /* out: it was written to swap */
	SLOT_NEW = 1 << 3,    /* out, or in after its copy was given up: written whatever happens */
	SHARED = 1 << 4,      /* out: counted at its first mapping */
	ANON = 1 << 5,        /* out: private for certain */
	WRITE_COMES = 1 << 6, /* out: an access was told that its swap-in is for */
	UPGRADED = 1 << 7,    /* MADE_CLEAN: a write fault made it dirty */
};

struct page {
	uint64_t key;      /* page number + 1; 0: empty */
	uint64_t since_ns; /* when it came in, or went out */
	uint16_t length;   /* out: of the stay that ended, as a bucket */
	uint8_t history;
	uint8_t flags;
};

/* Stays of which nothing tells whether the page was written, by how they ended. */
enum untold {
	UNTOLD_RECLAIMED, /* made dirty, and written for that */
	UNTOLD_DIRTY,     /* made dirty, ended otherwise */
	UNTOLD_CLEAN,     /* made clean, ended otherwise: no upgrade was seen, so with dbm only */
	/* Made clean, and written to swap: by its CPU, unless its copy in swap was given up unseen.
	 */
	UNTOLD_SLOT,
	NR_UNTOLD
};

struct untold_sum {
	uint64_t n;
	double written; /* estimate */
};

struct mm {
	uint32_t mm;
	bool accesses; /* its program's accesses are recorded */
	struct page *pages;
	size_t mask, count;                    /* slots - 1 */
	double out_ns;                         /* page times out of memory */
	uint64_t write_ins;                    /* swap-ins for a write that ended these */
	uint64_t told_written, told_unwritten; /* MADE stays */
	uint32_t *lengths[NR_UNTOLD];          /* [NR_LENGTHS] each, made when needed */
	struct dirty_mm row;
};

struct dirty {
	struct dirty_config config;
	struct dirty_result result;
	struct map by_mm; /* -> index into mms + 1 */
	struct mm **mms;
	size_t nr_mms, max_mms;
	struct mm *last;
	uint64_t lost_ns; /* of the last loss of events */
	bool failed;

	/* Settled reclaims and stays. */
	uint64_t written_always; /* under every kernel */
	uint64_t made_written; /* MADE and written to swap, certain to have been written by the CPU
				*/
	uint64_t made_rewritten; /* MADE, written to swap, with its copy still there */
	uint64_t made_dropped;   /* MADE_CLEAN and dropped: written under mkwrite=dirty only */
	uint64_t told_written, told_unwritten;
	struct untold_sum untold[NR_UNTOLD];
	uint64_t before_written, before_dropped, before_unclear;
};

const char *mkwrite_name(unsigned int mkwrite)
{
	return mkwrite == MKWRITE_DIRTY ? "dirty" : "clean";
}

const char *dbm_name(unsigned int dbm)
{
	return dbm == DBM_ON ? "on" : "off";
}

struct dirty *dirty_new(const struct dirty_config *config)
{
	struct dirty *d = calloc(1, sizeof(*d));

	if (d)
		d->config = *config;
	return d;
}

static void mm_free(struct mm *mm)
{
	for (unsigned int i = 0; i < NR_UNTOLD; i++)
		free(mm->lengths[i]);
	free(mm->pages);
	free(mm);
}

void dirty_free(struct dirty *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nr_mms; i++)
		mm_free(d->mms[i]);
	free(d->mms);
	map_free(&d->by_mm);
	free(d);
}

/* ---- address spaces and pages ---- */

static struct mm *find_mm(struct dirty *d, uint32_t number)
{
	uint32_t *at;

	if (d->last && d->last->mm == number)
		return d->last;
	at = map_get(&d->by_mm, number);
	return at ? d->last = d->mms[*at - 1] : NULL;
}

static struct mm *make_mm(struct dirty *d, uint32_t number)
{
	struct mm *mm = find_mm(d, number);
	uint32_t *at;

	if (mm || d->failed)
		return mm;
	struct mm **mms = grow_list(d->mms, d->nr_mms, &d->max_mms, sizeof(*mms));
	if (!mms)
		goto failed;
	d->mms = mms;
	mm = calloc(1, sizeof(*mm));
	at = mm ? map_put(&d->by_mm, number, NULL) : NULL;
	if (!at) {
		free(mm);
		goto failed;
	}
	mm->mm = mm->row.mm = number;
	d->mms[d->nr_mms++] = mm;
	*at = (uint32_t)d->nr_mms;
	return d->last = mm;
failed:
	d->failed = true;
	return NULL;
}

static struct page *find_page(const struct mm *mm, uint64_t number)
{
	uint64_t key = number + 1;

	if (!mm || !mm->pages)
		return NULL;
	for (size_t i = map_mix(key) & mm->mask; mm->pages[i].key; i = (i + 1) & mm->mask)
		if (mm->pages[i].key == key)
			return &mm->pages[i];
	return NULL;
}

static int grow(struct mm *mm)
{
	size_t size = mm->pages ? (mm->mask + 1) * 2 : 64;
	struct page *old = mm->pages, *pages = calloc(size, sizeof(*pages));

	if (!pages)
		return -1;
	for (size_t i = 0; old && i <= mm->mask; i++) {
		if (!old[i].key)
			continue;
		size_t at = map_mix(old[i].key) & (size - 1);

		while (pages[at].key)
			at = (at + 1) & (size - 1);
		pages[at] = old[i];
	}
	free(old);
	mm->pages = pages;
	mm->mask = size - 1;
	return 0;
}

/* The page, made with history UNKNOWN if need be. NULL: no memory. */
static struct page *make_page(struct dirty *d, struct mm *mm, uint64_t number, uint64_t time_ns)
{
	struct page *page = find_page(mm, number);
	size_t i;

	if (page)
		return page;
	if ((!mm->pages || (mm->count + 1) * 4 > (mm->mask + 1) * 3) && grow(mm)) {
		d->failed = true;
		return NULL;
	}
	for (i = map_mix(number + 1) & mm->mask; mm->pages[i].key; i = (i + 1) & mm->mask)
		;
	mm->pages[i] = (struct page){.key = number + 1, .since_ns = time_ns};
	mm->count++;
	return &mm->pages[i];
}

/* Later members of a run move back, so that no tombstones are left. */
static void remove_page(struct mm *mm, struct page *page)
{
	size_t hole = (size_t)(page - mm->pages);

	for (size_t i = (hole + 1) & mm->mask; mm->pages[i].key; i = (i + 1) & mm->mask) {
		size_t home = map_mix(mm->pages[i].key) & mm->mask;

		if (((i - home) & mm->mask) >= ((i - hole) & mm->mask)) {
			mm->pages[hole] = mm->pages[i];
			hole = i;
		}
	}
	mm->pages[hole].key = 0;
	mm->count--;
}

/* ---- stays ---- */

static unsigned int length_bucket(uint64_t ns)
{
	unsigned int octave;

	if (ns < 1 << PARTS_SHIFT)
		return (unsigned int)ns;
	octave = 63 - (unsigned int)__builtin_clzll(ns);
	return (octave << PARTS_SHIFT) + (unsigned int)(ns >> (octave - PARTS_SHIFT) & 7);
}

/* The middle of a bucket, ns. */
static double bucket_ns(unsigned int bucket)
{
	if (bucket < 1 << PARTS_SHIFT)
		return bucket;
	return ldexp(8.5 + (bucket & 7), (int)(bucket >> PARTS_SHIFT) - PARTS_SHIFT);
}

static bool made(const struct page *page)
{
	return page->history == MADE_DIRTY || page->history == MADE_CLEAN;
}

static void untold(struct dirty *d, struct mm *mm, enum untold kind, unsigned int bucket)
{
	if (!mm->lengths[kind])
		mm->lengths[kind] = calloc(NR_LENGTHS, sizeof(*mm->lengths[kind]));
	if (!mm->lengths[kind]) {
		d->failed = true;
		return;
	}
	mm->lengths[kind][bucket]++;
}

static void told(struct mm *mm, bool written)
{
	if (written)
		mm->told_written++;
	else
		mm->told_unwritten++;
}

/* The stay of PAGE has ended otherwise than by reclaim, or reclaim could not tell its end. */
static void end_stay(struct dirty *d, struct mm *mm, const struct page *page, unsigned int bucket)
{
	if (!made(page))
		return;
	if (page->flags & TOUCHED)
		told(mm, true);
	else
		untold(d, mm, page->history == MADE_DIRTY ? UNTOLD_DIRTY : UNTOLD_CLEAN, bucket);
}

/* What became of a page that reclaim unmapped is known by now. */
static void settle(struct dirty *d, struct mm *mm, const struct page *page, uint64_t time_ns)
{
	bool seen = page->flags & SEEN_WRITE, touched = page->flags & TOUCHED;

	mm->out_ns += (double)(time_ns - page->since_ns);
	if (!seen && page->since_ns <= d->lost_ns) {
		end_stay(d, mm, page, page->length);
		d->before_unclear += !(page->flags & SHARED);
		return;
	}
	if (page->flags & SHARED || (made(page) && page->flags & SLOT_NEW)) {
		/* Swap writes it, or does not, whatever the entry says. */
		d->written_always += seen;
		if (!(page->flags & SHARED))
			d->result.missing_writes += !seen;
		end_stay(d, mm, page, page->length);
		return;
	}
	switch ((enum history)page->history) {
	case FRESH:
	case WRITTEN:
		d->result.missing_writes += !seen;
		d->written_always += seen;
		return;
	case READ_ONLY:
		d->written_always += seen;
		return;
	case UNKNOWN:
		if (seen)
			*(page->flags & SLOT_NEW ? &d->written_always : &d->before_written) += 1;
		else if (page->flags & ANON)
			d->before_dropped++;
		else
			d->before_unclear++;
		return;
	case MADE_DIRTY:
		d->result.missing_writes += !seen;
		if (!seen) {
			end_stay(d, mm, page, page->length);
			return;
		}
		d->made_rewritten++;
		d->made_written += touched;
		if (touched)
			told(mm, true);
		else
			untold(d, mm, UNTOLD_RECLAIMED, page->length);
		return;
	case MADE_CLEAN:
		d->made_rewritten += seen;
		d->made_written += seen;
		d->made_dropped += !seen;
		d->result.missing_writes += touched && !seen;
		d->result.silent += seen && !(page->flags & UPGRADED);
		if (seen && !touched && !d->config.sees_slots)
			untold(d, mm, UNTOLD_SLOT, page->length);
		else
			told(mm, seen || touched);
		return;
	}
}

/* PAGE is gone: its mapping, its mm, or the recording ends. */
static void close_page(struct dirty *d, struct mm *mm, const struct page *page, uint64_t time_ns)
{
	if (page->flags & OUT)
		settle(d, mm, page, time_ns);
	else
		end_stay(d, mm, page, length_bucket(time_ns - page->since_ns));
}

/* ---- events ---- */

static uint64_t page_number(const struct dirty *d, uint64_t addr)
{
	return addr >> d->config.page_shift;
}

static void on_swap_in(struct dirty *d, const struct tlb_event *e)
{
	struct mm *mm = make_mm(d, e->mm);
	struct page *page = mm ? make_page(d, mm, page_number(d, e->addr), 0) : NULL;
	struct dirty_result *r = &d->result;
	bool write = e->flags & EVENT_WRITE, carried = false, comes = false;

	if (!page)
		return;
	if (page->flags & OUT) {
		settle(d, mm, page, e->time_ns);
		mm->write_ins += write;
		comes = page->flags & WRITE_COMES;
		/* It came back before it was written, and is as dirty as it was. */
		carried = !(page->flags & (SEEN_WRITE | SHARED)) &&
			  (page->history == FRESH || page->history == WRITTEN ||
			   page->flags & SLOT_NEW);
	} else if (page->since_ns) {
		end_stay(d, mm, page, length_bucket(e->time_ns - page->since_ns));
	}
	r->swap_ins++;
	r->swap_in_writes += write;
	mm->row.swap_ins++;
	page->flags = (e->flags & SWAP_SLOT_FREED ? SLOT_NEW : 0) | (comes ? TOUCHED : 0);
	page->since_ns = e->time_ns;
	if (write || carried) {
		page->history = WRITTEN;
	} else if (!(e->flags & SWAP_PTE_KNOWN)) {
		r->unknown_entries++;
		page->history = UNKNOWN;
	} else if (!(e->flags & SWAP_WRITABLE)) {
		page->history = READ_ONLY;
	} else {
		r->made++;
		mm->row.made++;
		page->history = e->flags & SWAP_DIRTY ? MADE_DIRTY : MADE_CLEAN;
		r->made_dirty += page->history == MADE_DIRTY;
	}
}

static void on_swap_out(struct dirty *d, const struct tlb_event *e)
{
	struct mm *mm = make_mm(d, e->mm);
	struct page *page = mm ? find_page(mm, page_number(d, e->addr)) : NULL;

	if (!mm)
		return;
	if (e->flags & SWAP_NOT_ANON) {
		d->result.not_anon++;
		if (page) {
			close_page(d, mm, page, e->time_ns);
			remove_page(mm, page);
		}
		return;
	}
	if (!page)
		page = make_page(d, mm, page_number(d, e->addr), e->time_ns);
	if (!page)
		return;
	if (page->flags & OUT) {
		/* It came back by a way that is not recorded. */
		settle(d, mm, page, e->time_ns);
		page->history = UNKNOWN;
		page->flags = 0;
	}
	if (e->flags & SWAP_SHARED) {
		d->result.shared++;
		page->flags |= SHARED;
	} else {
		d->result.unmapped++;
		d->result.unknown_before += page->history == UNKNOWN;
	}
	page->length = (uint16_t)length_bucket(e->time_ns - page->since_ns);
	if (page->since_ns <= d->lost_ns && page->history != UNKNOWN) {
		end_stay(d, mm, page, page->length);
		page->history = UNKNOWN;
	}
	page->flags |=
		OUT | (e->flags & SWAP_SLOT_NEW ? SLOT_NEW : 0) | (e->flags & SWAP_ANON ? ANON : 0);
	page->since_ns = e->time_ns;
}

static void on_swap_write(struct dirty *d, const struct tlb_event *e)
{
	struct mm *mm = e->mm ? find_mm(d, e->mm) : NULL;
	struct page *page = find_page(mm, page_number(d, e->addr));

	d->result.writes++;
	if (!page || (page->flags & (OUT | SEEN_WRITE)) != OUT) {
		d->result.writes_unplaced++;
		return;
	}
	page->flags |= SEEN_WRITE;
	mm->row.writes++;
}

/* An event shows that (mm, addr) was written. MAKES: a fault, which may have made the page. */
static void on_write(struct dirty *d, const struct tlb_event *e, bool makes)
{
	struct mm *mm = makes ? make_mm(d, e->mm) : find_mm(d, e->mm);
	struct page *page = mm ? find_page(mm, page_number(d, e->addr)) : NULL;

	if (page && page->flags & OUT) {
		if (e->kind == EVENT_ACCESS) {
			/* Told just before it happens. */
			page->flags |= e->flags & EVENT_SAMPLED ? 0 : WRITE_COMES;
			return;
		}
		if (!makes || e->began_ns < page->since_ns)
			return; /* of before it was unmapped, told late */
		/* A new page where the old one was given up. */
		settle(d, mm, page, e->time_ns);
		page->history = FRESH;
		page->flags = 0;
		page->since_ns = e->time_ns;
	} else if (page) {
		page->flags |= TOUCHED;
	} else if (makes && mm) {
		page = make_page(d, mm, page_number(d, e->addr), e->time_ns);
		if (page)
			page->history = FRESH;
	}
}

/* The page was copied, or taken over after a fork: dirty, and its copy in swap is no more its. */
static void on_new_page(struct dirty *d, const struct tlb_event *e)
{
	struct mm *mm = find_mm(d, e->mm);
	struct page *page = find_page(mm, page_number(d, e->addr));

	if (!page || page->flags & OUT)
		return;
	page->flags |= TOUCHED;
	end_stay(d, mm, page, 0);
	page->history = WRITTEN;
	page->flags = 0;
	page->since_ns = e->time_ns;
}

static void on_upgrade(struct dirty *d, const struct tlb_event *e)
{
	struct mm *mm = find_mm(d, e->mm);
	struct page *page = find_page(mm, page_number(d, e->addr));

	if (page && page->history == MADE_CLEAN && !(page->flags & (OUT | UPGRADED))) {
		d->result.upgrades++;
		page->flags |= UPGRADED;
	}
	on_write(d, e, false);
}

/* [addr, addr + pages) was unmapped for good. */
static void on_unmap(struct dirty *d, const struct tlb_event *e)
{
	struct mm *mm = find_mm(d, e->mm);
	uint64_t first = page_number(d, e->addr);

	if (!mm || !mm->count)
		return;
	if (e->pages <= mm->mask) {
		for (uint64_t i = 0; i < e->pages; i++) {
			struct page *page = find_page(mm, first + i);

			if (!page)
				continue;
			close_page(d, mm, page, e->time_ns);
			remove_page(mm, page);
		}
		return;
	}
	for (size_t i = 0; i <= mm->mask;) {
		struct page *page = &mm->pages[i];

		if (page->key && page->key - 1 >= first && page->key - 1 - first < e->pages) {
			close_page(d, mm, page, e->time_ns);
			remove_page(mm, page); /* another may be here now */
		} else {
			i++;
		}
	}
}

static void on_decision(struct dirty *d, const struct tlb_event *e)
{
	if (!e->sure.low)
		return;
	switch (e->point) {
	case POINT_DIRTY_UP:
		on_upgrade(d, e);
		break;
	case POINT_WP_REUSE:
	case POINT_COW:
		on_new_page(d, e);
		break;
	case POINT_YOUNG:
		d->result.young++;
		break;
	case POINT_UNMAP:
	case POINT_TABLES_FREED:
		on_unmap(d, e);
		break;
	default:
		break;
	}
}

/* All of MM is settled: what rested on its rate of writes can be estimated, and is added up. */
static void end_mm(struct dirty *d, struct mm *mm, uint64_t time_ns)
{
	double rate, share = d->config.dirty_share;
	struct dirty_bound *b = &mm->row.unwritten;

	for (size_t i = 0; mm->pages && i <= mm->mask; i++)
		if (mm->pages[i].key)
			close_page(d, mm, &mm->pages[i], time_ns);
	rate = mm->out_ns > 0 ? (double)mm->write_ins / mm->out_ns : 0;
	b->low = b->estimate = b->high = (double)mm->told_unwritten;
	for (unsigned int kind = 0; kind < NR_UNTOLD; kind++)
		for (unsigned int k = 0; mm->lengths[kind] && k < NR_LENGTHS; k++) {
			double n = mm->lengths[kind][k];
			double p = kind == UNTOLD_SLOT ? 1
				   : mm->accesses      ? 0
				   : share >= 0        ? share
						       : -expm1(-rate * bucket_ns(k));

			d->untold[kind].n += mm->lengths[kind][k];
			d->untold[kind].written += n * p;
			b->estimate += n * (1 - p);
			b->high += n;
		}
	d->told_written += mm->told_written;
	d->told_unwritten += mm->told_unwritten;
	if (d->config.mm && (mm->row.swap_ins || mm->row.writes))
		d->config.mm(d->config.context, &mm->row);
}

static void on_mm_end(struct dirty *d, const struct tlb_event *e)
{
	struct mm *mm = find_mm(d, e->mm);
	uint32_t *at = mm ? map_get(&d->by_mm, e->mm) : NULL;

	if (!at)
		return;
	size_t i = *at - 1;
	end_mm(d, mm, e->time_ns);
	map_remove(&d->by_mm, e->mm);
	d->last = NULL;
	mm_free(mm);
	d->mms[i] = d->mms[--d->nr_mms];
	if (i < d->nr_mms)
		*map_get(&d->by_mm, d->mms[i]->mm) = (uint32_t)i + 1;
}

void dirty_event(struct dirty *d, const struct tlb_event *e)
{
	struct mm *mm;

	switch ((enum event_kind)e->kind) {
	case EVENT_SWAP_IN:
		on_swap_in(d, e);
		break;
	case EVENT_SWAP_OUT:
		on_swap_out(d, e);
		break;
	case EVENT_SWAP_WRITE:
		on_swap_write(d, e);
		break;
	case EVENT_DECISION:
		on_decision(d, e);
		break;
	case EVENT_PRESENT:
		if (e->flags & EVENT_WRITE)
			on_write(d, e, true);
		break;
	case EVENT_ACCESS:
		mm = e->flags & EVENT_SAMPLED ? NULL : make_mm(d, e->mm);
		if (mm)
			mm->accesses = true;
		if (e->flags & EVENT_WRITE)
			on_write(d, e, false);
		break;
	case EVENT_MM_END:
		on_mm_end(d, e);
		break;
	case EVENT_LOST:
		d->lost_ns = e->time_ns;
		break;
	case EVENT_OLDER:
	case EVENT_BATCH_END:
	case EVENT_PROTECTED:
	case EVENT_LOAD:
	case EVENT_IDLE:
		break;
	}
}

/* ---- the end ---- */

static struct dirty_bound exactly(double n)
{
	return (struct dirty_bound){n, n, n};
}

static void add_untold(struct dirty_bound *b, const struct untold_sum *u)
{
	b->estimate += u->written;
	b->high += (double)u->n;
}

static void recognise(struct dirty *d)
{
	struct dirty_result *r = &d->result;
	/* Where nothing is ever dropped, no copy in swap survives, and a write proves nothing. */
	bool telling = r->silent && (d->config.sees_slots || d->made_dropped);

	r->mkwrite = !r->made ? -1 : r->made_dirty * 2 > r->made ? MKWRITE_DIRTY : MKWRITE_CLEAN;
	if (d->config.hardware_always)
		r->dbm = DBM_ON;
	else if (r->upgrades > r->silent || (r->young && !telling))
		r->dbm = DBM_OFF;
	else
		r->dbm = telling ? DBM_ON : -1;
}

/* How many stays ended with the page written; with DBM off all that is untold of clean ones was
 * not. */
static struct dirty_bound written_stays(const struct dirty *d)
{
	struct dirty_bound b = exactly((double)d->told_written);

	add_untold(&b, &d->untold[UNTOLD_RECLAIMED]);
	add_untold(&b, &d->untold[UNTOLD_DIRTY]);
	add_untold(&b, &d->untold[UNTOLD_SLOT]);
	if (d->result.dbm != DBM_OFF)
		add_untold(&b, &d->untold[UNTOLD_CLEAN]);
	return b;
}

/* Pages written to swap. What was out before its first event here stays as it was, or in bounds. */
static void count_writes(const struct dirty *d, struct dirty_bound *dirty,
			 struct dirty_bound *clean)
{
	const struct untold_sum *u = &d->untold[UNTOLD_RECLAIMED];
	double always = (double)(d->written_always + d->result.writes_unplaced);
	double before = (double)d->before_written;

	*dirty = exactly(always + (double)(d->made_rewritten + d->made_dropped));
	*clean = exactly(always + (double)d->made_written);
	add_untold(clean, u);
	if (d->result.mkwrite == MKWRITE_DIRTY) {
		/*
		 * As many of them as of the others that were written; where copies in swap are
		 * told, these had one, and had come in for a read.
		 */
		double rest = d->config.sees_slots ? 0 : (double)d->written_always;
		double seen = rest + (double)d->made_rewritten;
		double known = rest + (double)d->made_written + u->written;

		dirty->low += before;
		dirty->estimate += before;
		dirty->high += before;
		clean->estimate += seen > 0 ? before * known / seen : before;
		clean->high += before;
		return;
	}
	for (struct dirty_bound *b = dirty;; b = clean) {
		b->low += before;
		b->estimate += before;
		b->high += before;
		if (b == clean)
			break;
	}
	if (d->result.mkwrite == MKWRITE_CLEAN) {
		/* Clean, with a copy in swap: they had come in for a read before. */
		dirty->estimate += (double)d->before_dropped;
		dirty->high += (double)(d->before_dropped + d->before_unclear);
	}
}

int dirty_end(struct dirty *d, uint64_t time_ns)
{
	struct dirty_result *r = &d->result;
	struct dirty_bound dirty, clean, stays;

	for (size_t i = 0; i < d->nr_mms; i++)
		end_mm(d, d->mms[i], time_ns);
	recognise(d);
	stays = written_stays(d);
	count_writes(d, &dirty, &clean);
	for (unsigned int dbm = 0; dbm < NR_DBM; dbm++) {
		struct dirty_outcome *o = &r->outcome[MKWRITE_DIRTY][dbm];

		o->writes = dirty;
		o->unwritten = (struct dirty_bound){(double)r->made - stays.high,
						    (double)r->made - stays.estimate,
						    (double)r->made - stays.low};
		r->outcome[MKWRITE_CLEAN][dbm].writes = clean;
	}
	r->outcome[MKWRITE_CLEAN][DBM_OFF].extra_faults = stays;
	return d->failed ? -ENOMEM : 0;
}

const struct dirty_result *dirty_result(const struct dirty *d)
{
	return &d->result;
}

size_t dirty_page_bytes(void)
{
	return sizeof(struct page) * 4 / 3;
}
