// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/leave.h"

#include "replay/exposure.h"
#include "replay/residency.h"

/* Has a tick swept X by TIME_NS? */
static bool is_swept(const struct engine *e, const struct exposure *x, uint64_t time_ns)
{
	uint64_t tick = (uint64_t)e->instances[__builtin_ctzll(x->policies)].tick_ns;

	return time_ns >= x->start_ns - x->start_ns % tick + tick;
}

uint32_t leave_open(struct engine *e, struct mm *mm, unsigned int lane, uint32_t leaf,
		    unsigned int slot, uint64_t time_ns)
{
	struct page *page = page_of(e, leaf, slot);
	uint32_t first = page->open[lane] = open_of(mm, page->open[lane], leaf, slot);

	for (uint32_t ref = first; ref; ref = head_at(mm, ref)->next) {
		const struct head *h = head_at(mm, ref);

		if (h->policies && h->deferred && is_swept(e, exposure_at(e, mm, ref), time_ns))
			exposure_close(e, mm, ref, h->policies, NULL, ENDED_FLUSH, time_ns);
	}
	return first;
}

/*
 * Takes from the policy's stale CPUs those of X: they are stale in this way already, and stay so.
 * Returns whether some are not, because all of the mm was flushed there since.
 */
static bool drop_stale(const struct engine *e, const struct mm *mm, const struct exposure *x,
		       unsigned int policy)
{
	uint64_t *set = e->stale_sets + (size_t)policy * e->words;
	bool all = mm->policy[policy].last_note <= x->start_seq, gone = false;

	for (unsigned int w = 0; w < e->words; w++) {
		uint64_t bits = x->cpus[w] & set[w];

		for (set[w] &= all ? ~bits : UINT64_MAX; !all && bits; bits &= bits - 1) {
			unsigned int cpu = w * 64 + (unsigned int)__builtin_ctzll(bits);

			if (still_open(e, mm, policy, x, cpu))
				set_bit(set, cpu, false);
			else
				gone = true;
		}
	}
	return gone;
}

/* The policies of X that had the same flushes of the whole mm as POLICY. */
static uint64_t same_notes(const struct engine *e, const struct mm *mm, const struct exposure *x,
			   unsigned int policy)
{
	uint64_t same = UINT64_C(1) << policy;

	for (uint64_t rest = e->tlb ? 0 : x->policies & ~same; rest;) {
		uint64_t bit_of = rest & -rest;

		if (mm->policy[take_policy(&rest)].notes_id == mm->policy[policy].notes_id)
			same |= bit_of;
	}
	return same;
}

/*
 * Closes record REF on the CPUs that were flushed as a whole since, under WHO. Without that records
 * would pile up where a CPU is flushed and stale by turns.
 */
static void close_gone(struct engine *e, struct mm *mm, uint32_t ref, uint64_t who,
		       uint64_t time_ns)
{
	uint64_t gone[e->words];

	while (who) {
		const struct exposure *x = exposure_at(e, mm, ref);
		unsigned int policy = (unsigned int)__builtin_ctzll(who);
		uint64_t same = same_notes(e, mm, x, policy);

		for (unsigned int w = 0; w < e->words; w++) {
			gone[w] = 0;
			for (uint64_t bits = x->cpus[w]; bits; bits &= bits - 1)
				if (!still_open(e, mm, policy, x,
						w * 64 + (unsigned int)__builtin_ctzll(bits)))
					gone[w] |= bits & -bits;
		}
		exposure_close(e, mm, ref, same, gone, ENDED_FLUSH, time_ns);
		who &= ~same;
		/* The others have been split off, if there are any. */
		x = exposure_at(e, mm, ref);
		if (who & ~x->policies)
			ref = head_at(mm, ref)->next;
	}
}

/* Drops what the records of a page, from REF on, have as stale already, for all policies. */
static void drop_all_stale(struct engine *e, const struct leave *c, uint32_t ref)
{
	while (ref) {
		const struct head *h = head_at(c->mm, ref);
		uint32_t next = h->next;
		uint64_t rest = h->kind == c->kind ? h->policies & c->policies : 0, gone = 0;
		const struct exposure *x = exposure_at(e, c->mm, ref);

		while (rest) {
			uint64_t bit_of = rest & -rest;

			if (drop_stale(e, c->mm, x, take_policy(&rest)))
				gone |= bit_of;
		}
		if (gone)
			close_gone(e, c->mm, ref, gone, c->event->time_ns);
		ref = next;
	}
}

/*
 * Of the CPUs of X, those whose TLB has shown an entry of the page since it was last flushed there.
 */
static void find_held(struct engine *e, const struct mm *mm, unsigned int policy,
		      const struct leaf *l, uint64_t flush_seq, struct exposure *x)
{
	uint64_t page = l->number << LEAF_SHIFT | x->slot, filled, used;

	if (mm->policy[policy].flush_seq > flush_seq)
		flush_seq = mm->policy[policy].flush_seq;
	for (unsigned int w = 0; w < e->words; w++) {
		x->cpus[e->words + w] = 0;
		for (uint64_t bits = x->cpus[w]; bits; bits &= bits - 1) {
			unsigned int cpu = w * 64 + (unsigned int)__builtin_ctzll(bits);
			const struct residence *r = residence_find(e, mm, cpu);
			uint64_t own = r ? r->policy[policy].flush_seq : 0;

			if (tlb_look(e->tlb, cpu, l->mm, page, &filled, &used) &&
			    used > (own > flush_seq ? own : flush_seq))
				x->cpus[e->words + w] |= bits & -bits;
		}
	}
}

void testify(const struct engine *e, struct witness *w, const struct tlb_event *event,
	     uint64_t addr, const uint64_t *holders)
{
	if (w->seen)
		return;
	*w = (struct witness){.seen = true,
			      .seq = e->seq,
			      .time_ns = event->time_ns,
			      .cpu = event->cpu,
			      .mm = event->mm,
			      .addr = addr,
			      .point = event->point,
			      .level = event->level};
	for (unsigned int i = 0; i < e->words; i++)
		if (holders[i]) {
			w->holder = i * 64 + (unsigned int)__builtin_ctzll(holders[i]);
			return;
		}
}

/* The first witnesses of WHO, of which CPUS hold an entry of the page at ADDR. */
static inline void find_witnesses(struct engine *e, const struct leave *c, uint64_t who,
				  uint64_t addr, const uint64_t *cpus)
{
	uint64_t unsafe = c->kind == STALE_UNSAFE ? who & ~e->unsafe_seen : 0;
	uint64_t stuck =
		c->kind == STALE_BENIGN ? who & e->unfixed[c->event->level] & ~e->stuck_seen : 0;

	e->unsafe_seen |= unsafe;
	e->stuck_seen |= stuck;
	while (unsafe)
		testify(e, &e->instances[take_policy(&unsafe)].result.unsafe, c->event, addr, cpus);
	while (stuck)
		testify(e, &e->instances[take_policy(&stuck)].result.stuck, c->event, addr, cpus);
}

/* Under WHO the CPUs of SET hold an entry of the page that is stale from now on. */
static void expose(struct engine *e, const struct leave *c, uint64_t who, uint32_t leaf,
		   struct leaf *l, unsigned int slot, const uint64_t *set, bool likely)
{
	struct exposure *x = exposure_new(e, c->mm,
					  &(struct head){.policies = who,
							 .leaf = leaf,
							 .slot = (uint8_t)slot,
							 .kind = (uint8_t)c->kind,
							 .permission = c->permission,
							 .deferred = c->deferred});
	struct page *page = leaf_page(&e->pages, l, slot);
	uint32_t *stale = page_stale(&e->pages, page), n;

	if (!x)
		return;
	x->start_ns = c->event->time_ns;
	x->start_seq = e->seq;
	x->level = c->event->level;
	x->likely = likely;
	copy_set(e, x->cpus, set);
	if (e->tlb) /* then there is one policy */
		find_held(e, c->mm, (unsigned int)__builtin_ctzll(who), l,
			  page->flush_seq[__builtin_ctzll(who)], x);
	n = count_bits(e, set);
	while (who)
		stale[take_policy(&who)] += n;
}

/* The CPUs of SET, in two parts: that one held it which was never seen with the mm is not likely.
 */
static void expose_parts(struct engine *e, const struct leave *c, uint64_t who, uint32_t leaf,
			 struct leaf *l, unsigned int slot, const uint64_t *set)
{
	uint64_t parts[2][e->words], any[2] = {0};

	for (unsigned int w = 0; w < e->words; w++) {
		any[0] |= parts[0][w] = set[w] & c->mm->visited[w];
		any[1] |= parts[1][w] = set[w] & ~c->mm->visited[w];
	}
	find_witnesses(e, c, who, (l->number << LEAF_SHIFT | slot) << e->config.page_shift,
		       any[0] ? parts[0] : parts[1]);
	for (unsigned int lane = 0; lane < LANES; lane++) {
		uint64_t those = who & e->lane_policies[lane];

		if (those && any[0])
			expose(e, c, those, leaf, l, slot, parts[0], c->event->sure.estimate);
		if (those && any[1])
			expose(e, c, those, leaf, l, slot, parts[1], false);
	}
}

static bool same_set(const struct engine *e, const uint64_t *a, const uint64_t *b)
{
	return a[0] == b[0] && (e->words == 1 || !memcmp(a, b, e->words * sizeof(*a)));
}

/* The mm ends with the page unflushed under POLICY: it is stale for ever. */
static void leave_for_ever(struct engine *e, const struct leave *c, unsigned int policy,
			   uint64_t addr, const uint64_t *set)
{
	struct instance *in = &e->instances[policy];
	unsigned int n = count_bits(e, set);

	if (!in->forever)
		in->forever_first_ns = c->event->time_ns;
	in->forever += n;
	in->forever_start_sum += (unsigned __int128)n * c->event->time_ns;
	find_witnesses(e, c, UINT64_C(1) << policy, addr, set);
}

void leave_page(struct engine *e, const struct leave *c, uint32_t leaf, struct leaf *l,
		unsigned int slot)
{
	struct page *page = leaf_page(&e->pages, l, slot);
	uint64_t left = 0;

	/* Who is stale under which policy... */
	for (uint64_t rest = c->policies; rest;) {
		uint64_t bit_of = rest & -rest, any = 0;
		unsigned int policy = take_policy(&rest);
		uint64_t *stale = e->stale_sets + (size_t)policy * e->words;
		const uint64_t *covered = e->covered_sets + (size_t)policy * e->words;
		const uint64_t *holders =
			find_candidates(e, c->mm, policy, page->flush_seq[policy]);

		for (unsigned int w = 0; w < e->words; w++)
			any |= stale[w] = holders[w] & ~covered[w];
		if (any && c->count_only)
			leave_for_ever(e, c, policy,
				       (l->number << LEAF_SHIFT | slot) << e->config.page_shift,
				       stale);
		else if (any)
			left |= bit_of;
	}
	if (!left)
		return;
	/* ...and was not before... */
	for (unsigned int lane = 0; lane < LANES; lane++)
		if (page->open[lane] && left & e->lane_policies[lane])
			drop_all_stale(e, c,
				       leave_open(e, c->mm, lane, leaf, slot, c->event->time_ns));
	/* ...and which of them are the same. */
	while (left) {
		unsigned int first = take_policy(&left);
		const uint64_t *stale = e->stale_sets + (size_t)first * e->words;
		uint64_t same = UINT64_C(1) << first, any = 0;

		for (unsigned int w = 0; w < e->words; w++)
			any |= stale[w];
		if (!any)
			continue;
		for (uint64_t rest = e->tlb ? 0 : left; rest;) {
			uint64_t bit_of = rest & -rest;
			unsigned int other = take_policy(&rest);

			if (same_set(e, stale, e->stale_sets + (size_t)other * e->words))
				same |= bit_of;
		}
		left &= ~same;
		expose_parts(e, c, same, leaf, l, slot, stale);
	}
}

void leave_unseen(struct engine *e, const struct leave *c)
{
	for (uint64_t rest = c->policies & ~e->unsafe_seen; rest;) {
		uint64_t bit_of = rest & -rest, any = 0;
		unsigned int policy = take_policy(&rest);
		const uint64_t *covered = e->covered_sets + (size_t)policy * e->words;
		const uint64_t *holders = find_candidates(e, c->mm, policy, 0);

		for (unsigned int w = 0; w < e->words; w++)
			any |= e->stale[w] = holders[w] & ~covered[w];
		if (any)
			find_witnesses(e, c, bit_of, c->event->addr, e->stale);
	}
}

void visit_leave(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	const struct leave *c = context;
	struct leaf *l = pages_leaf(&e->pages, leaf);

	slots &= c->only_forked ? l->present & l->forked : l->present;
	for (; slots; slots &= (uint16_t)(slots - 1))
		leave_page(e, c, leaf, l, (unsigned int)__builtin_ctz(slots));
}
