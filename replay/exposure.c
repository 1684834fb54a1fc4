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
 * An open exposure is a record per page with a bit per CPU and a bit per policy: most policies that
 * leave something leave the same. Where they part, the record is split. The records of one mm lie
 *in one array, nearly in the order in which they were opened, so that a flush of everything, which
 *is how most of them end, is one pass over it. A page knows the newest of its own; a number that no
 * longer leads to a record of that page is out of date and means none.
 *
 * A flush of everything on one CPU (a switch on x86) does not walk the records: it is noted with
 * the CPU, and a record that is closed later looks up whether, and when, its CPU had been flushed
 * before.
 */
#include "replay/exposure.h"

#include <stdlib.h>

#include "replay/common.h"
#include "replay/hash.h"
#include "replay/longest.h"
#include "replay/residency.h"

/* So many notes of one CPU are worth a pass over the records, after which they can go. */
#define MAX_NOTES 4096

/* Drops the records that are over; the others keep their order. */
static void compact(struct engine *e, struct mm *mm, unsigned int lane)
{
	struct lane *l = &mm->lanes[lane];
	uint32_t nr = l->nr, kept = 0;

	for (uint32_t i = 0; i < nr; i++)
		page_of(e, l->heads[i].leaf, l->heads[i].slot)->open[lane] = 0;
	for (uint32_t i = 0; i < nr; i++) {
		if (!l->heads[i].policies)
			continue;
		struct head *to = &l->heads[kept++];
		if (to != &l->heads[i]) {
			*to = l->heads[i];
			memcpy(exposure_at(e, mm, ref_in(lane, kept)),
			       exposure_at(e, mm, ref_in(lane, i + 1)), e->exposure_size);
		}
		struct page *page = page_of(e, to->leaf, to->slot);
		to->next = page->open[lane];
		page->open[lane] = ref_in(lane, kept);
	}
	l->nr = kept;
	l->dead = 0;
}

static void set_policies(struct mm *mm, uint32_t ref, struct exposure *x, uint64_t who)
{
	x->policies = head_at(mm, ref)->policies = who;
}

/* Appends a record; the others stay where they are by number, not by address. 0: no memory. */
static uint32_t append(struct engine *e, struct mm *mm, unsigned int lane)
{
	struct lane *l = &mm->lanes[lane];

	if (l->nr == l->max) {
		uint32_t max = l->max ? l->max * 2 : 64;
		struct head *heads = realloc(l->heads, max * sizeof(*heads));
		char *more = realloc(l->exposures, (size_t)max * e->exposure_size);

		if (heads)
			l->heads = heads;
		if (more)
			l->exposures = more;
		if (!heads || !more) {
			e->failed = true;
			return 0;
		}
		l->max = max;
	}
	return ref_in(lane, ++l->nr);
}

struct exposure *exposure_new(struct engine *e, struct mm *mm, const struct head *head)
{
	unsigned int lane = lane_of(e, head->policies);
	struct lane *l = &mm->lanes[lane];
	uint32_t *open = &page_of(e, head->leaf, head->slot)->open[lane], ref, next;
	struct exposure *x;

	/* One of the page's own that is over: so a page has no more than it once needed. */
	ref = *open = open_of(mm, *open, head->leaf, head->slot);
	while (ref && head_at(mm, ref)->policies)
		ref = head_at(mm, ref)->next;
	if (ref) {
		l->dead--;
		next = head_at(mm, ref)->next;
	} else {
		if (l->nr == l->max && l->dead * 2 > l->nr)
			compact(e, mm, lane);
		ref = append(e, mm, lane);
		if (!ref)
			return NULL;
		next = *open;
		*open = ref;
	}
	*head_at(mm, ref) = *head;
	head_at(mm, ref)->next = next;
	x = exposure_at(e, mm, ref);
	x->policies = head->policies;
	x->leaf = head->leaf;
	x->slot = head->slot;
	x->kind = head->kind;
	x->deferred = head->deferred;
	l->permissions |= head->permission;
	return x;
}

/* Looks up what each CPU did with MM. */
static void find_homes(struct engine *e, const struct mm *mm)
{
	if (e->since.homes)
		return;
	for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
		e->homes[cpu] = (struct home){0};
	for (uint32_t i = 0; i < mm->nr_residences; i++)
		e->homes[residence_at(e, mm, i)->cpu].residence = residence_at(e, mm, i);
	e->since.homes = true;
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
 * Which CPUs ran MM after ordinal SEQ, or may have, and under which policies a CPU was flushed as a
 * whole after it. Both change at a few ordinals only, so that one answer serves a run of exposures.
 */
static void find_since(struct engine *e, const struct mm *mm, uint64_t seq)
{
	uint64_t from = 0, to = FOREVER;

	set_all(e, e->since.ran, false);
	e->since.noted = 0;
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		const struct residence *r = residence_at(e, mm, i);

		if (since_then(seq, r->ran_until, &from, &to))
			set_bit(e->since.ran, r->cpu, true);
	}
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		if (since_then(seq, mm->policy[p].last_note, &from, &to))
			e->since.noted |= UINT64_C(1) << p;
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

/* Makes E->SINCE that of an exposure of MM that began at SEQ. */
static inline void need_since(struct engine *e, const struct mm *mm, uint64_t seq)
{
	if (e->since.mm != mm || e->since.seq != e->seq) {
		e->since.mm = mm;
		e->since.seq = e->seq;
		e->since.homes = false;
	} else if (seq >= e->since.from && seq < e->since.to) {
		return;
	}
	find_since(e, mm, seq);
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
	if (home->note < high && notes[home->note].seq > seq &&
	    (!home->note || notes[home->note - 1].seq <= seq))
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
	struct instance *in = &e->instances[policy];
	struct policy_result *r = &in->result;
	const struct leaf *leaf = pages_leaf(&e->pages, x->leaf);
	uint64_t page = leaf->number << LEAF_SHIFT | x->slot, least = in->least_row_ns;

	longest_keep(e, r,
		     &(struct exposure_row){.start_ns = x->start_ns,
					    .end_ns = x->start_ns + ns,
					    .page = page << e->config.page_shift,
					    .mm = leaf->mm,
					    .cpu = cpu,
					    .kind = x->kind,
					    .ended = (uint8_t)ended});
	if (r->nr_rows == e->config.max_rows && r->nr_rows)
		in->least_row_ns = r->rows[0].end_ns - r->rows[0].start_ns;
	e->rows_version += in->least_row_ns != least;
}

/* A deferred flush is carried out by the next tick at the latest: NS is no longer than that. */
static uint64_t cap_deferred(const struct engine *e, const struct exposure *x, uint64_t ns,
			     enum ended *ended)
{
	uint64_t tick, left;

	if (!x->deferred)
		return ns;
	/* All policies of a deferred record have the same. */
	tick = (uint64_t)e->instances[__builtin_ctzll(x->policies)].tick_ns;
	left = tick - x->start_ns % tick;
	if (ns < left)
		return ns;
	*ended = ENDED_FLUSH;
	return left;
}

/* The CPUs of X in word W that are in SET (NULL: all). */
static inline uint64_t closing_cpus(const struct exposure *x, const uint64_t *set, unsigned int w)
{
	return set ? x->cpus[w] & set[w] : x->cpus[w];
}

static void offer_rows(struct engine *e, unsigned int policy, const struct exposure *x,
		       const uint64_t *cpus, unsigned int n, enum ended ended, uint64_t ns)
{
	if (ns < e->instances[policy].least_row_ns) {
		e->instances[policy].result.rows_left_out += n;
		return;
	}
	for (unsigned int w = 0; w < e->words; w++)
		for (uint64_t bits = cpus[w]; bits; bits &= bits - 1)
			offer_row(e, policy, x, w * 64 + (unsigned int)__builtin_ctzll(bits), ended,
				  ns);
}

/* Counts C, entries of X on CPUS, as over, NS after they began, under WHO. */
static inline void count_closing(struct engine *e, const struct exposure *x, uint64_t who,
				 const uint64_t *cpus, const struct closing *c, enum ended ended,
				 uint64_t ns)
{
	while (who) {
		struct common *common = common_take(e, &who);

		count_closed(common->result, x, ended, c, ns);
		if (ns < common_least_row(e, common)) {
			common->result->rows_left_out += c->n;
			continue;
		}
		for (uint64_t rest = common->policies; rest;)
			offer_rows(e, take_policy(&rest), x, cpus, c->n, ended, ns);
	}
}

static inline void count_for(struct engine *e, const struct mm *mm, const struct exposure *x,
			     uint64_t who, const uint64_t *cpus, enum ended ended, uint64_t ns)
{
	struct closing c = {0};

	for (unsigned int w = 0; w < e->words; w++)
		gather(e, mm, x, w, cpus[w], e->since.ran[w], &c);
	if (c.n)
		count_closing(e, x, who, cpus, &c, ended, ns);
}

/*
 * The entry of X on CPU is stale no more since the flush that was noted there, if one was. WHO have
 * the same notes. Returns true if it was counted here, false if it is left to be counted with
 * others.
 */
static bool close_noted(struct engine *e, const struct mm *mm, const struct exposure *x,
			uint64_t who, unsigned int cpu)
{
	const struct flush_note *note =
		flush_after(&e->homes[cpu], (unsigned int)__builtin_ctzll(who), x->start_seq);
	uint64_t one[e->words], less;
	enum ended ended = ENDED_GONE;
	struct closing c = {0};

	if (!note)
		return false;
	less = note->time_ns > x->start_ns ? note->time_ns - x->start_ns : 0;
	less = cap_deferred(e, x, less, &ended);
	if (ended == ENDED_FLUSH && x->kind != STALE_BENIGN)
		return false; /* a tick had swept it before */
	set_all(e, one, false);
	set_bit(one, cpu, true);
	gather(e, mm, x, cpu / 64, one[cpu / 64],
	       note->ran_until > x->start_seq ? one[cpu / 64] : 0, &c);
	count_closing(e, x, who, one, &c, ENDED_FLUSH, less);
	return true;
}

/* The same for policies under which a CPU was flushed as a whole since: CPU by CPU. */
static void count_noted(struct engine *e, const struct mm *mm, const struct exposure *x,
			uint64_t who, const uint64_t *cpus, enum ended ended, uint64_t ns)
{
	uint64_t left[e->words];

	find_homes(e, mm);
	while (who) {
		uint64_t same = who & -who, rest = who & (who - 1);
		uint64_t id = mm->policy[__builtin_ctzll(who)].notes_id;

		while (rest && !e->tlb) {
			uint64_t bit_of = rest & -rest;

			if (mm->policy[take_policy(&rest)].notes_id == id)
				same |= bit_of;
		}
		for (unsigned int w = 0; w < e->words; w++) {
			left[w] = cpus[w];
			for (uint64_t bits = left[w]; bits; bits &= bits - 1)
				if (close_noted(e, mm, x, same,
						w * 64 + (unsigned int)__builtin_ctzll(bits)))
					left[w] &= ~(bits & -bits);
		}
		count_for(e, mm, x, same, left, ended, ns);
		who &= ~same;
	}
}

/* Takes the CPUs of SET from record REF, for WHO; it is split if other policies keep them. */
static void take_cpus(struct engine *e, struct mm *mm, uint32_t ref, uint64_t who,
		      const uint64_t *set)
{
	struct exposure *x = exposure_at(e, mm, ref);
	uint64_t rest = 0;

	for (unsigned int w = 0; set && w < e->words; w++)
		rest |= x->cpus[w] & ~set[w];
	if (rest && x->policies != who) {
		uint32_t split = append(e, mm, ref >> LANE_SHIFT);

		if (!split)
			return;
		struct exposure *other = exposure_at(e, mm, split);
		x = exposure_at(e, mm, ref); /* it may have moved */
		memcpy(other, x, e->exposure_size);
		*head_at(mm, split) = *head_at(mm, ref);
		set_policies(mm, split, other, x->policies & ~who);
		set_policies(mm, ref, x, who);
		head_at(mm, ref)->next = split;
	}
	if (rest) {
		for (unsigned int w = 0; w < e->words; w++)
			x->cpus[w] &= ~set[w];
	} else {
		set_policies(mm, ref, x, x->policies & ~who);
		mm->lanes[ref >> LANE_SHIFT].dead += !x->policies;
	}
}

void exposure_close(struct engine *e, struct mm *mm, uint32_t ref, uint64_t who,
		    const uint64_t *set, enum ended ended, uint64_t time_ns)
{
	const struct exposure *x = exposure_at(e, mm, ref);
	uint64_t ns = time_ns > x->start_ns ? time_ns - x->start_ns : 0, hit = 0;
	uint64_t cpus[e->words], noted;

	who &= x->policies;
	for (unsigned int w = 0; w < e->words; w++)
		hit |= cpus[w] = closing_cpus(x, set, w);
	if (!who || !hit)
		return;
	ns = cap_deferred(e, x, ns, &ended);
	need_since(e, mm, x->start_seq);
	noted = who & e->since.noted;
	if (who & ~noted)
		count_for(e, mm, x, who & ~noted, cpus, ended, ns);
	if (noted)
		count_noted(e, mm, x, noted, cpus, ended, ns);
	take_cpus(e, mm, ref, who, set);
}

/* The same in one lane. */
static void close_list(struct engine *e, struct mm *mm, uint32_t head, uint64_t who,
		       const uint64_t *set, bool only_permission, enum ended ended,
		       uint64_t time_ns)
{
	for (uint32_t ref = head, next; ref; ref = next) {
		const struct head *h = head_at(mm, ref);

		next = h->next;
		if (h->policies & who &&
		    (!only_permission || (h->permission && h->kind == STALE_UNSAFE)))
			exposure_close(e, mm, ref, who, set, ended, time_ns);
	}
}

void close_page(struct engine *e, struct mm *mm, uint32_t leaf, unsigned int slot, uint64_t who,
		const uint64_t *set, bool only_permission, enum ended ended, uint64_t time_ns)
{
	struct page *page = page_of(e, leaf, slot);

	for (unsigned int lane = 0; lane < LANES; lane++) {
		uint32_t *head = &page->open[lane];

		if (!*head || !(who & e->lane_policies[lane]) ||
		    (only_permission && !mm->lanes[lane].permissions))
			continue;
		*head = open_of(mm, *head, leaf, slot);
		close_list(e, mm, *head, who, set, only_permission, ended, time_ns);
	}
}

static void close_records(struct engine *e, struct mm *mm, uint64_t who, const uint64_t *set,
			  enum ended ended, uint64_t time_ns)
{
	for (unsigned int lane = 0; lane < LANES; lane++) {
		struct lane *l = &mm->lanes[lane];

		if (!l->nr || !(who & e->lane_policies[lane]))
			continue;
		/* What splits is appended, and has been dealt with. */
		for (uint32_t i = 1, nr = l->nr; i <= nr; i++)
			if (l->heads[i - 1].policies & who)
				exposure_close(e, mm, ref_in(lane, i), who, set, ended, time_ns);
		if (l->dead == l->nr)
			l->nr = l->dead = 0, l->permissions = false;
		else if (l->dead > 64 && l->dead * 2 > l->nr)
			compact(e, mm, lane);
	}
}

void close_mm(struct engine *e, struct mm *mm, uint64_t who, enum ended ended, uint64_t time_ns)
{
	close_records(e, mm, who, NULL, ended, time_ns);
	for (uint64_t rest = who; rest;) {
		unsigned int policy = take_policy(&rest);

		if (!mm->policy[policy].last_note)
			continue;
		mm->policy[policy].last_note = mm->policy[policy].notes_id = 0;
		for (uint32_t i = 0; i < mm->nr_residences; i++)
			residence_at(e, mm, i)->policy[policy].nr_notes = 0;
	}
	e->since.mm = NULL;
}

void flush_mm_on(struct engine *e, struct mm *mm, unsigned int policy, struct residence *r,
		 uint64_t time_ns)
{
	uint64_t here[e->words];

	r->policy[policy].flush_seq = e->seq;
	mm->policy[policy].holders_known = false;
	e->since.mm = NULL;
	if (!mm->lanes[lane_of(e, UINT64_C(1) << policy)].nr)
		return;
	if (r->policy[policy].nr_notes == MAX_NOTES) {
		set_all(e, here, false);
		set_bit(here, r->cpu, true);
		close_records(e, mm, UINT64_C(1) << policy, here, ENDED_FLUSH, time_ns);
		r->policy[policy].nr_notes = 0;
		mm->policy[policy].notes_id =
			hash_mix(~mm->policy[policy].notes_id ^ r->cpu, e->seq);
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
	mm->policy[policy].last_note = e->seq;
	mm->policy[policy].notes_id = hash_mix(mm->policy[policy].notes_id ^ r->cpu, e->seq);
	uint64_t blind = blind_until(e, mm, r->cpu);
	r->policy[policy].notes[r->policy[policy].nr_notes++] =
		(struct flush_note){.seq = e->seq,
				    .time_ns = time_ns,
				    .ran_until = blind > r->ran_until ? blind : r->ran_until};
}
