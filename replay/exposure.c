// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For every policy the engine keeps two kinds of knowledge about one stale entry: whether a CPU
 * could hold it at all (the high bound: the mm was loaded there since the entry was last flushed
 * there), and whether it did (the low bound: it faulted, and nothing was there to change). What
 * lies between is the estimate's, a share.
 *
 *	an upgrade of page P on CPU 0, flushed on CPU 0 only:
 *
 *	CPU 1  ...loads mm......runs............switches away
 *	                         ^ may hold P read-only: an exposure is open from here
 *	                                         until P is flushed there, CPU 1 faults on it,
 *	                                         the mm ends, or the trace does
 *
 * Time is compared by the ordinal of the event, so that events with one time stamp keep their
 * order; nanoseconds are only for lengths. A CPU that has an mm loaded holds it "until" the end of
 * time.
 *
 * An open exposure is a record per page and policy with a bit per CPU. The records of one mm and
 * policy lie in one array in the order in which they were opened, so that a flush of everything,
 * which is how most of them end, is one pass over it. A page knows the newest of its own; a number
 * that no longer leads to a record of that page is out of date and means none.
 *
 * A flush of everything on one CPU (a switch on x86) does not walk the records: it is noted with
 * the CPU, and a record that is closed later looks up whether, and when, its CPU had been flushed
 * before.
 */
#include "replay/exposure.h"

#include <stdlib.h>

#include "replay/longest.h"
#include "replay/residency.h"

/* So many notes of one CPU are worth a pass over the records, after which they can go. */
#define MAX_NOTES 4096

/* Drops the records that are over; the others keep their order. */
static void compact(struct engine *e, struct mm *mm, unsigned int policy)
{
	uint32_t nr = mm->policy[policy].nr, kept = 0;

	for (uint32_t ref = 1; ref <= nr; ref++) {
		const struct exposure *x = exposure_at(e, mm, policy, ref);

		policy_of(e, x->leaf, x->slot, policy)->open = 0;
	}
	for (uint32_t ref = 1; ref <= nr; ref++) {
		struct exposure *x = exposure_at(e, mm, policy, ref);

		if (!alive(e, x))
			continue;
		struct exposure *to = exposure_at(e, mm, policy, ++kept);
		if (to != x)
			memcpy(to, x, e->exposure_size);
		struct page_policy *p = policy_of(e, to->leaf, to->slot, policy);
		to->next = p->open;
		p->open = kept;
	}
	mm->policy[policy].nr = kept;
	mm->policy[policy].dead = 0;
}

struct exposure *exposure_new(struct engine *e, struct mm *mm, unsigned int policy)
{
	if (mm->policy[policy].nr == mm->policy[policy].max &&
	    mm->policy[policy].dead * 2 > mm->policy[policy].nr)
		compact(e, mm, policy);
	if (mm->policy[policy].nr == mm->policy[policy].max) {
		uint32_t max = mm->policy[policy].max ? mm->policy[policy].max * 2 : 64;
		char *more = realloc(mm->policy[policy].exposures, (size_t)max * e->exposure_size);

		if (!more) {
			e->failed = true;
			return NULL;
		}
		mm->policy[policy].exposures = more;
		mm->policy[policy].max = max;
	}
	return exposure_at(e, mm, policy, ++mm->policy[policy].nr);
}

void find_homes(struct engine *e, const struct mm *mm)
{
	for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
		e->homes[cpu] = (struct home){0};
	for (uint32_t i = 0; i < mm->nr_residences; i++)
		e->homes[residence_at(e, mm, i)->cpu].residence = residence_at(e, mm, i);
	e->since.from = 1;
	e->since.to = 0;
}

/* Whether CHANGE came after SEQ; the same answer holds for all ordinals in [*FROM, *TO). */
static inline bool since_then(uint64_t seq, uint64_t change, uint64_t *from, uint64_t *to)
{
	if (change > seq) {
		if (change < *to)
			*to = change;
		return true;
	}
	if (change > *from)
		*from = change;
	return false;
}

/*
 * Which CPUs ran MM after ordinal SEQ, or may have, and which were flushed as a whole after it.
 * Both change at a few ordinals only, so that one answer serves a run of exposures.
 */
static void find_since(struct engine *e, const struct mm *mm, unsigned int policy, uint64_t seq)
{
	uint64_t from = 0, to = FOREVER;

	set_all(e, e->since.ran, false);
	set_all(e, e->since.noted, false);
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		const struct residence *r = residence_at(e, mm, i);
		uint32_t nr = r->policy[policy].nr_notes;

		if (since_then(seq, r->ran_until, &from, &to))
			set_bit(e->since.ran, r->cpu, true);
		if (since_then(seq, nr ? r->policy[policy].notes[nr - 1].seq : 0, &from, &to))
			set_bit(e->since.noted, r->cpu, true);
	}
	/* A CPU of which nothing is known may have run it, whatever it ran before. */
	if (blind_end(e, mm) <= seq) {
		since_then(seq, blind_end(e, mm), &from, &to);
	} else {
		for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
			if (since_then(seq, blind_until(e, mm, cpu), &from, &to))
				set_bit(e->since.ran, cpu, true);
	}
	e->since.from = from;
	e->since.to = to;
}

/* The first flush of everything on the CPU of HOME after ordinal SEQ, or NULL. */
static const struct flush_note *flush_after(struct home *home, unsigned int policy, uint64_t seq)
{
	const struct flush_note *notes;
	uint32_t low = 0, high;

	if (!home->residence)
		return NULL;
	notes = home->residence->policy[policy].notes;
	high = home->residence->policy[policy].nr_notes;
	if (!high || notes[high - 1].seq <= seq)
		return NULL;
	/*
	 * Exposures are closed in the order in which they began: mostly it is the same one again.
	 */
	if (notes[home->note].seq > seq && (!home->note || notes[home->note - 1].seq <= seq))
		return &notes[home->note];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (notes[middle].seq > seq)
			high = middle;
		else
			low = middle + 1;
	}
	home->note = low;
	return &notes[low];
}

/* What is known of entries that end together. */
struct closing {
	unsigned int n, ran;         /* entries; on CPUs that ran the mm meanwhile */
	unsigned int held, held_ran; /* of these, by evidence */
	double share, share_ran;     /* of the others, those that the share applies to, weighted */
};

/* Entries of X ended after NS. */
static void count_closed(struct policy_result *r, const struct exposure *x, enum ended ended,
			 const struct closing *c, uint64_t ns)
{
	/* Most are likely and have no evidence: until the end they are counted once, for both. */
	bool shared = x->likely && c->share == c->n;

	exposure_add(shared ? &r->shared[x->kind][ended] : &r->possible[x->kind][ended], c->n, ns);
	r->lengths[x->kind][ns ? 64 - __builtin_clzll(ns) : 0] += c->n;
	if (x->likely && !shared) {
		exposure_add(&r->held[x->kind][ended], c->held, ns);
		exposure_add(&r->likely[x->kind][ended], c->share, ns);
	}
	if (ended == ENDED_REFAULT) {
		exposure_add(&r->proven[x->kind][ended], c->n, ns);
	} else if (x->kind == STALE_BENIGN) {
		r->spurious_possible[x->level] += c->ran;
		if (x->likely) {
			r->spurious_held[x->level] += c->held_ran;
			r->spurious_likely[x->level] += c->share_ran;
		}
	}
}

/*
 * How much of an entry that CPU could hold the share stands for: no more than its TLB has room for.
 * In whole units, for sums that are exact.
 */
static double weight_of(const struct engine *e, const struct mm *mm, unsigned int cpu)
{
	const struct residence *r = residence_find(e, mm, cpu);

	if (mm->accesses)
		return 0;
	if (!r || r->touched <= e->config.tlb->entries)
		return 1;
	return (double)((uint64_t)e->config.tlb->entries * EXPOSURE_UNIT / r->touched) /
	       EXPOSURE_UNIT;
}

/* Adds the CPUs of word W in BITS to what ends together; of them, RAN ran the mm meanwhile. */
static inline void gather(const struct engine *e, const struct mm *mm, const struct exposure *x,
			  unsigned int w, uint64_t bits, uint64_t ran, struct closing *c)
{
	uint64_t held;

	c->n += count_word(bits);
	c->ran += count_word(bits & ran);
	if (!e->tlb) {
		c->share = c->n;
		c->share_ran = c->ran;
		return;
	}
	held = x->cpus[e->words + w] & bits;
	c->held += count_word(held);
	/* Where accesses are recorded, it is they who show the faults. */
	c->held_ran += mm->accesses ? 0 : count_word(held & ran);
	for (bits &= ~held; bits; bits &= bits - 1) {
		double weight = weight_of(e, mm, w * 64 + (unsigned int)__builtin_ctzll(bits));

		c->share += weight;
		c->share_ran += bits & -bits & ran ? weight : 0;
	}
}

static void offer_row(struct engine *e, unsigned int policy, const struct exposure *x,
		      unsigned int cpu, enum ended ended, uint64_t ns)
{
	struct policy_result *r = &e->instances[policy].result;
	const struct leaf *leaf = pages_leaf(&e->pages, x->leaf);
	uint64_t page = leaf->number << LEAF_SHIFT | x->slot;

	longest_keep(e, r,
		     &(struct exposure_row){.start_ns = x->start_ns,
					    .end_ns = x->start_ns + ns,
					    .page = page << e->config.page_shift,
					    .mm = leaf->mm,
					    .cpu = cpu,
					    .kind = x->kind,
					    .ended = (uint8_t)ended});
	if (r->nr_rows == e->config.max_rows && r->nr_rows)
		e->instances[policy].least_row_ns = r->rows[0].end_ns - r->rows[0].start_ns;
}

static bool row_wanted(const struct engine *e, unsigned int policy, uint64_t ns)
{
	return ns >= e->instances[policy].least_row_ns;
}

/* A deferred flush is carried out by the next tick at the latest: NS is no longer than that. */
static uint64_t cap_deferred(const struct engine *e, unsigned int policy, const struct exposure *x,
			     uint64_t ns, enum ended *ended)
{
	uint64_t tick = (uint64_t)e->instances[policy].tick_ns, left;

	if (!x->deferred || !tick)
		return ns;
	left = tick - x->start_ns % tick;
	if (ns < left)
		return ns;
	*ended = ENDED_FLUSH;
	return left;
}

/*
 * The entry of X on CPU is stale no more since TIME_NS, or since the flush noted before. Returns
 * true if it was counted here, false if it is left to be counted with others.
 */
static bool close_on(struct engine *e, const struct mm *mm, unsigned int policy,
		     const struct exposure *x, unsigned int cpu, enum ended ended, uint64_t ns,
		     bool wanted)
{
	uint64_t here = UINT64_C(1) << (cpu % 64);
	struct closing c = {0};
	struct policy_result *r = &e->instances[policy].result;
	const struct flush_note *note = flush_after(&e->homes[cpu], policy, x->start_seq);

	if (!note) {
		if (wanted)
			offer_row(e, policy, x, cpu, ended, ns);
		return false;
	}
	uint64_t less = note->time_ns > x->start_ns ? note->time_ns - x->start_ns : 0;

	ended = ENDED_FLUSH;
	less = cap_deferred(e, policy, x, less, &ended);
	gather(e, mm, x, cpu / 64, here, note->ran_until > x->start_seq ? here : 0, &c);
	count_closed(r, x, ended, &c, less);
	if (row_wanted(e, policy, less))
		offer_row(e, policy, x, cpu, ended, less);
	else
		r->rows_left_out++;
	return true;
}

void exposure_close(struct engine *e, struct mm *mm, unsigned int policy, struct exposure *x,
		    const uint64_t *set, enum ended ended, uint64_t time_ns)
{
	struct policy_result *r = &e->instances[policy].result;
	uint64_t ns = time_ns > x->start_ns ? time_ns - x->start_ns : 0;
	uint64_t rest = 0, hit = 0;
	struct closing c = {0};
	bool wanted;

	ns = cap_deferred(e, policy, x, ns, &ended);
	wanted = row_wanted(e, policy, ns);
	if (x->start_seq < e->since.from || x->start_seq >= e->since.to)
		find_since(e, mm, policy, x->start_seq);
	for (unsigned int w = 0; w < e->words; w++) {
		uint64_t bits = x->cpus[w] & set[w],
			 one_by_one = wanted ? bits : bits & e->since.noted[w];

		hit |= bits;
		x->cpus[w] &= ~set[w];
		rest |= x->cpus[w];
		for (; one_by_one; one_by_one &= one_by_one - 1) {
			unsigned int cpu = w * 64 + (unsigned int)__builtin_ctzll(one_by_one);

			if (close_on(e, mm, policy, x, cpu, ended, ns, wanted))
				bits &= ~(one_by_one & -one_by_one);
		}
		gather(e, mm, x, w, bits, e->since.ran[w], &c);
	}
	if (!hit)
		return;
	mm->policy[policy].dead += !rest;
	if (!c.n)
		return;
	count_closed(r, x, ended, &c, ns);
	if (!wanted)
		r->rows_left_out += c.n;
}

void close_page(struct engine *e, struct mm *mm, unsigned int policy, uint32_t open, uint32_t leaf,
		unsigned int slot, const uint64_t *set, bool only_permission, enum ended ended,
		uint64_t time_ns)
{
	uint32_t ref = open_of(e, mm, policy, open, leaf, slot);

	if (ref)
		find_homes(e, mm);
	for (; ref; ref = exposure_at(e, mm, policy, ref)->next) {
		struct exposure *x = exposure_at(e, mm, policy, ref);

		if (!only_permission || (x->permission && x->kind == STALE_UNSAFE))
			exposure_close(e, mm, policy, x, set, ended, time_ns);
	}
}

static void close_records(struct engine *e, struct mm *mm, unsigned int policy, const uint64_t *set,
			  enum ended ended, uint64_t time_ns)
{
	struct exposure *x = (struct exposure *)mm->policy[policy].exposures;

	if (!mm->policy[policy].nr)
		return;
	find_homes(e, mm);
	for (uint32_t n = mm->policy[policy].nr; n; n--) {
		exposure_close(e, mm, policy, x, set, ended, time_ns);
		x = (struct exposure *)((char *)x + e->exposure_size);
	}
	if (mm->policy[policy].dead == mm->policy[policy].nr)
		mm->policy[policy].nr = mm->policy[policy].dead = mm->policy[policy].permissions =
			0;
}

void close_mm(struct engine *e, struct mm *mm, unsigned int policy, enum ended ended,
	      uint64_t time_ns)
{
	set_all(e, e->everyone, true);
	close_records(e, mm, policy, e->everyone, ended, time_ns);
	for (uint32_t i = 0; i < mm->nr_residences; i++)
		residence_at(e, mm, i)->policy[policy].nr_notes = 0;
}

void flush_mm_on(struct engine *e, struct mm *mm, unsigned int policy, struct residence *r,
		 uint64_t time_ns)
{
	uint64_t here[e->words];

	r->policy[policy].flush_seq = e->seq;
	mm->policy[policy].holders_known = false;
	if (!mm->policy[policy].nr)
		return;
	if (r->policy[policy].nr_notes == MAX_NOTES) {
		set_all(e, here, false);
		set_bit(here, r->cpu, true);
		close_records(e, mm, policy, here, ENDED_FLUSH, time_ns);
		r->policy[policy].nr_notes = 0;
		return;
	}
	if (r->policy[policy].nr_notes == r->policy[policy].max_notes) {
		uint32_t max = r->policy[policy].max_notes ? r->policy[policy].max_notes * 4 : 16;
		struct flush_note *more = realloc(r->policy[policy].notes, max * sizeof(*more));

		if (!more) {
			e->failed = true;
			return;
		}
		r->policy[policy].notes = more;
		r->policy[policy].max_notes = max;
	}
	uint64_t blind = blind_until(e, mm, r->cpu);
	r->policy[policy].notes[r->policy[policy].nr_notes++] =
		(struct flush_note){.seq = e->seq,
				    .time_ns = time_ns,
				    .ran_until = blind > r->ran_until ? blind : r->ran_until};
}
