// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/decide.h"

#include <errno.h>
#include <stdlib.h>

#include "common/grow.h"
#include "replay/common.h"
#include "replay/exposure.h"
#include "replay/leave.h"
#include "replay/range.h"
#include "replay/residency.h"
#include "replay/tally.h"

enum staleness staleness_of(const struct tlb_event *event)
{
	switch (event->point) {
	case POINT_WP_REUSE:
	case POINT_DIRTY_UP:
	case POINT_HUGETLB_REUSE:
		return STALE_BENIGN;
	case POINT_AGE:
		return STALE_HINT;
	case POINT_PROTECT:
		return event->flags & EVENT_UP ? STALE_BENIGN : STALE_UNSAFE;
	case POINT_YOUNG: /* an entry without the access flag is in no TLB */
	case POINT_SPURIOUS:
	case POINT_PROT_NONE_RW:
	case POINT_SWITCH:
	case POINT_KERNEL:
	/* what the other gather unmapped is counted where it is unmapped */
	case POINT_NESTED:
	case POINT_BATCH_PENDING: /* likewise */
	case POINT_FOLD:
	case POINT_UNFOLD:
		return NR_STALENESS;
	default:
		return STALE_UNSAFE;
	}
}

bool page_point(unsigned int point)
{
	switch (point) {
	case POINT_WP_REUSE:
	case POINT_DIRTY_UP:
	case POINT_HUGETLB_REUSE:
	case POINT_YOUNG:
	case POINT_SPURIOUS:
	case POINT_COW:
	case POINT_MIGRATE:
	case POINT_RECLAIM:
	case POINT_AGE:
	case POINT_CLEAN:
		return true;
	default:
		return false;
	}
}

/* Pages of which CPUs are rid: all under some policies, those of HERE under others. */
struct cover {
	struct mm *mm;
	uint64_t time_ns;
	uint64_t everywhere, partly; /* policies */
	const uint64_t *here;
};

static inline void cover_page(struct engine *e, const struct cover *c, uint32_t leaf,
			      struct leaf *l, unsigned int slot)
{
	struct page *page = leaf_page(&e->pages, l, slot);

	if (c->everywhere)
		close_page(e, c->mm, leaf, slot, c->everywhere, NULL, false, ENDED_FLUSH,
			   c->time_ns);
	if (c->partly)
		close_page(e, c->mm, leaf, slot, c->partly, c->here, false, ENDED_FLUSH,
			   c->time_ns);
	for (uint64_t rest = c->everywhere; rest;)
		page->flush_seq[take_policy(&rest)] = e->seq;
}

static void visit_cover(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	struct leaf *l = pages_leaf(&e->pages, leaf);

	for (; slots; slots &= (uint16_t)(slots - 1))
		cover_page(e, context, leaf, l, (unsigned int)__builtin_ctz(slots));
}

static void cover(struct engine *e, const struct tlb_event *event, const struct place *at,
		  struct cover *c)
{
	if (at->one)
		cover_page(e, c, at->leaf, at->page_leaf, at->slot);
	else
		range_visit(e, event->mm, event->addr, event->pages, visit_cover, c);
}

/* The CPUs that ACT reaches, into E->SCRATCH and added to COVERED. */
static inline __attribute__((always_inline)) void cover_cpus(const struct engine *e,
							     const struct tlb_event *event,
							     const struct policy_action *act,
							     uint64_t *covered)
{
	if (act->flags & ACT_SET)
		copy_set(e, e->scratch, e->asked);
	else
		set_all(e, e->scratch, act->scope == SCOPE_BROADCAST || act->scope == SCOPE_MASK);
	if (act->scope == SCOPE_LOCAL)
		set_bit(e->scratch, event->cpu, true);
	for (unsigned int w = 0; w < e->words; w++)
		covered[w] |= e->scratch[w];
}

/*
 * All of MM is flushed under WHO, everywhere or on the CPUs of E->SCRATCH. What that ends
 * everywhere is still to be closed.
 */
static void flush_all_of(struct engine *e, struct mm *mm, uint64_t who, bool everywhere,
			 uint64_t time_ns)
{
	for (uint64_t rest = who; rest;) {
		unsigned int policy = take_policy(&rest);

		if (everywhere) {
			mm->policy[policy].flush_seq = e->seq;
			mm->policy[policy].holders_known = false;
			continue;
		}
		residency_make_unseen(e, mm, mm->policy[policy].flush_seq);
		for (uint32_t i = 0; i < mm->nr_residences; i++)
			if (bit(e->scratch, residence_at(e, mm, i)->cpu))
				flush_mm_on(e, mm, policy, residence_at(e, mm, i), time_ns);
	}
}

/* CPUs that were not interrupted see MM's new generation when they come back to it. */
static void fall_behind(struct engine *e, struct mm *mm, unsigned int policy,
			const struct policy_action *act, uint64_t time_ns)
{
	residency_make_unseen(e, mm, mm->policy[policy].flush_seq);
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		struct residence *r = residence_at(e, mm, i);

		if (!bit(mm->loaded, r->cpu) || (bit(e->lazy, r->cpu) && !(act->flags & ACT_LAZY)))
			flush_mm_on(e, mm, policy, r, time_ns);
	}
}

/* Does E->SCRATCH hold all who may hold an entry? That is as good as everywhere. POLICY asked. */
static bool all_holders(struct engine *e, struct mm *mm, unsigned int policy)
{
	const uint64_t *holders = find_candidates(e, mm, policy, 0);
	uint64_t left = 0;

	for (unsigned int w = 0; w < e->words; w++)
		left |= holders[w] & ~e->scratch[w];
	return !left;
}

/*
 * What was put off while the policies decided, because it is the same for many: the end of what
 * their flushes cover.
 */
static inline __attribute__((always_inline)) void
settle(struct engine *e, const struct tlb_event *event, const struct place *at)
{
	if (e->flushing)
		close_mm(e, at->mm, e->flushing, ENDED_FLUSH, event->time_ns);
	if (e->covering | e->covering_here) {
		set_all(e, e->scratch, false);
		set_bit(e->scratch, event->cpu, true);
		cover(e, event, at,
		      &(struct cover){.mm = at->mm,
				      .time_ns = event->time_ns,
				      .everywhere = e->covering,
				      .partly = e->covering_here,
				      .here = e->scratch});
	}
	e->flushing = e->covering = e->covering_here = 0;
}

/*
 * Lets one invalidation of WHO take effect on the CPUs of E->SCRATCH: times are brought up to
 * date, and what it covers ends. Those that ask for a set of CPUs come alone.
 */
static void apply(struct engine *e, uint64_t who, const struct tlb_event *event,
		  const struct policy_action *act, const struct place *at)
{
	struct mm *mm = at->mm;
	bool everywhere = act->scope >= SCOPE_MASK && !(act->flags & ACT_SET);

	if (act->reach == REACH_ALL)
		for (size_t i = 0; i < e->nr_mms; i++)
			if (e->mms[i] && e->mms[i] != mm) {
				flush_all_of(e, e->mms[i], who, everywhere, event->time_ns);
				if (everywhere)
					close_mm(e, e->mms[i], who, ENDED_FLUSH, event->time_ns);
			}
	if (!mm)
		return;
	if (act->flags & ACT_SET)
		everywhere = all_holders(e, mm, (unsigned int)__builtin_ctzll(who));
	if (act->reach == REACH_MM || act->reach == REACH_ALL) {
		flush_all_of(e, mm, who, everywhere, event->time_ns);
		e->flushing |= everywhere ? who : 0;
		return;
	}
	if (everywhere) {
		e->covering |= who;
		/* A second invalidation of the page finds nothing there any more. */
		for (uint64_t rest = at->leaf != NO_LEAF ? who : 0; rest;)
			leaf_page(&e->pages, at->page_leaf, at->slot)
				->flush_seq[take_policy(&rest)] = e->seq;
	} else if (act->scope == SCOPE_LOCAL) {
		e->covering_here |= who;
	} else {
		cover(e, event, at,
		      &(struct cover){.mm = mm,
				      .time_ns = event->time_ns,
				      .partly = who,
				      .here = e->scratch});
	}
	if (act->scope != SCOPE_MASK || act->flags & ACT_SET)
		return;
	while (who)
		fall_behind(e, mm, take_policy(&who), act, event->time_ns);
}

/* Scope mask, as it comes out for the CPUs of SET, without those that left the mm (DROPPED). */
static enum scope resolve_mask(const struct engine *e, const struct tlb_event *event,
			       const struct policy_action *act, const struct mm *mm,
			       const uint64_t *dropped, struct bound *targets, uint64_t *reached)
{
	bool others = false, here;

	*targets = (struct bound){0};
	set_all(e, reached, false);
	if (!mm) {
		/* No mm is known: a kernel range reaches every CPU. */
		for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
			set_bit(reached, cpu, cpu != event->cpu);
		targets->low = targets->estimate = targets->high = count_bits(e, reached);
		return SCOPE_MASK;
	}
	if (act->flags & ACT_SET) {
		copy_set(e, reached, e->asked);
		here = bit(reached, event->cpu);
		set_bit(reached, event->cpu, false);
		targets->low = targets->estimate = targets->high = count_bits(e, reached);
		return targets->high ? SCOPE_MASK : here ? SCOPE_LOCAL : SCOPE_NONE;
	}
	here = bit(mm->loaded, event->cpu) && !bit(dropped, event->cpu);
	for (unsigned int w = 0; w < e->words; w++) {
		uint64_t set = mm->loaded[w] & ~dropped[w];

		if (event->cpu / 64 == w)
			set &= ~(UINT64_C(1) << (event->cpu % 64));
		others |= set != 0;
		targets->high += count_word(set);
		reached[w] = act->flags & ACT_LAZY ? set : set & ~e->lazy[w];
	}
	targets->low = targets->estimate = count_bits(e, reached);
	for (unsigned int cpu = 0; blind_end(e, mm) == FOREVER && cpu < e->config.nr_cpus; cpu++)
		targets->high += cpu != event->cpu && blind_until(e, mm, cpu) == FOREVER &&
				 !bit(mm->loaded, cpu);
	if (others)
		return SCOPE_MASK;
	return here ? SCOPE_LOCAL : SCOPE_NONE;
}

/* Lazy CPUs answer an interrupt by leaving MM, and are in its mask no more. */
static void drop_lazy(struct engine *e, uint64_t who, const struct mm *mm)
{
	while (who) {
		uint64_t *dropped = e->instances[take_policy(&who)].dropped;

		for (unsigned int w = 0; w < e->words; w++)
			dropped[w] |= mm->loaded[w] & e->lazy[w];
	}
}

/* Broadcasts of WHO take their turn with those of other CPUs, whichever shard counts them. */
static void tell_broadcast(struct engine *e, uint64_t who, const struct tlb_event *event,
			   const struct policy_action *act)
{
	const struct engine_sink *sink = &e->config.sink;

	if (!sink->broadcast || act->scope != SCOPE_BROADCAST || !event->sure.low ||
	    event->flags & EVENT_MAYBE || event->point == POINT_SPURIOUS)
		return;
	while (who)
		sink->broadcast(sink->context, take_policy(&who), event->time_ns, event->cpu,
				act->times ? act->times : 1, act->wait == WAIT_SYNC,
				event->point != POINT_PROTECT && event->point != POINT_NUMA);
}

static struct bound by(const struct bound *b, uint64_t n)
{
	return (struct bound){b->low * n, b->estimate * n, b->high * n};
}

/* How far FLUSHES reach, and TARGETS (NULL: none) with them, for what they cost. */
static void count_reach(struct policy_result *r, const struct tlb_event *event,
			const struct policy_action *act, enum scope scope,
			const struct bound *flushes, const struct bound *targets)
{
	struct bound further;

	if (act->reach == REACH_MM || act->reach == REACH_ALL) {
		add_bound(&r->whole[scope], flushes);
		if (event->point != POINT_EXIT)
			r->rewalks += flushes->estimate;
	} else if (act->reach != REACH_PAGE && event->pages > 1) {
		further = by(flushes, event->pages - 1);
		add_bound(&r->further[scope], &further);
		if (!targets)
			return;
		further = by(targets, event->pages - 1);
		add_bound(&r->target_pages, &further);
	}
}

/* What an invalidation comes to, for all who issue it. */
struct issued {
	enum scope scope;
	struct bound targets;
	bool first; /* the first of its scope at this decision */
};

static void count_action(struct engine *e, const struct common *common,
			 const struct tlb_event *event, const struct policy_action *act,
			 const struct place *at, const struct issued *issued)
{
	const struct bound *once = &at->flushes;
	struct policy_result *r = common->result;
	struct flush_count *c = tally_flush(e, at->mm, common, event, issued->scope);
	uint64_t times = act->times ? act->times : 1;
	struct bound flushes = {once->low * times, once->estimate * times, once->high * times};

	if (issued->first)
		c->decisions += event->sure.estimate;
	if (act->scope == SCOPE_MASK) {
		for (unsigned int w = 0; once->estimate && w < e->words; w++)
			for (uint64_t bits = e->reached[w]; bits; bits &= bits - 1)
				r->received[w * 64 + (unsigned int)__builtin_ctzll(bits)]++;
		add_bound(&r->targets, &issued->targets);
	}
	if (issued->scope == SCOPE_NONE)
		return;
	add_bound(&c->flushes, &flushes);
	count_reach(r, event, act, issued->scope, &flushes,
		    act->scope == SCOPE_MASK ? &issued->targets : NULL);
	add_bound(&r->buckets[at->bucket].flushes[issued->scope], &flushes);
	if (at->bucket >= r->nr_buckets)
		r->nr_buckets = at->bucket + 1;
	if (flushes.estimate && act->reach != REACH_MM && act->reach != REACH_ALL)
		c->pages += act->reach == REACH_PAGE ? 1 : event->pages;
	r->issued[event->cpu * NR_SCOPES + issued->scope] += flushes.estimate;
	if (act->flags & ACT_NOTIFY)
		r->notifies += flushes.estimate;
}

/* Entries that a flush by page takes from other CPUs, which must walk for them again. */
static void count_refills(struct engine *e, uint64_t who, const struct tlb_event *event,
			  const struct place *at)
{
	const struct page *page = leaf_page(&e->pages, at->page_leaf, at->slot);

	while (who) {
		unsigned int policy = take_policy(&who);
		const uint64_t *set = find_candidates(e, at->mm, policy, page->flush_seq[policy]);

		e->instances[policy].result.refills += count_bits(e, set) - bit(set, event->cpu);
	}
}

/* One invalidation that WHO issue. BEFORE: the scope that the one before it came to. */
static enum scope issue(struct engine *e, uint64_t who, const struct tlb_event *event,
			const struct policy_action *act, const struct place *at, enum scope before)
{
	const struct bound *once = &at->flushes;
	struct issued issued = {.scope = act->scope};

	if (act->scope == SCOPE_MASK) {
		issued.scope = resolve_mask(e, event, act, at->mm,
					    e->instances[__builtin_ctzll(who)].dropped,
					    &issued.targets, e->reached);
		issued.targets.low *= once->low;
		issued.targets.estimate *= once->estimate;
		issued.targets.high *= once->high;
		if (at->mm && event->sure.low && act->flags & ACT_LAZY && !(act->flags & ACT_SET))
			drop_lazy(e, who, at->mm);
	}
	issued.first = issued.scope != before;
	if (act->reach == REACH_PAGE && issued.scope >= SCOPE_MASK && at->leaf != NO_LEAF &&
	    once->estimate)
		count_refills(e, who, event, at);
	for (uint64_t rest = who; rest;)
		count_action(e, common_take(e, &rest), event, act, at, &issued);
	return issued.scope;
}

/*
 * What WHO leave behind at EVENT; DEFERRED: until their next tick, which they have in common;
 * BATCHED: until the flush that they have put off is complete.
 */
static void leave_behind(struct engine *e, uint64_t who, const struct tlb_event *event,
			 const struct place *at, bool deferred, bool batched)
{
	/* What is freed only after all have swept is gone in time; so is what a batch waits for. */
	bool in_time = batched || (deferred && (event->point == POINT_UNMAP ||
						event->point == POINT_TABLES_FREED ||
						event->point == POINT_RECLAIM));

	if (deferred && event->point == POINT_EXIT)
		return;
	struct leave leave = {.mm = at->mm,
			      .policies = who,
			      .event = event,
			      .deferred = deferred,
			      .kind = in_time ? STALE_WINDOW : at->kind,
			      .permission =
				      event->point == POINT_FORK || event->point == POINT_PROTECT,
			      .only_forked = event->point == POINT_FORK,
			      .count_only = event->point == POINT_EXIT};

	if (at->leaf != NO_LEAF) {
		/* Its bit in PRESENT is set: the decision itself has shown it. */
		leave_page(e, &leave, at->leaf, at->page_leaf, at->slot);
		return;
	}
	range_visit(e, event->mm, event->addr, event->point == POINT_EXIT ? 0 : event->pages,
		    visit_leave, &leave);
	if (at->mm->older && leave.kind == STALE_UNSAFE)
		leave_unseen(e, &leave);
}

/* What all who leave something leave. */
static void leave_all(struct engine *e, const struct tlb_event *event, const struct place *at)
{
	uint64_t later = e->leaving_later;

	if (e->leaving)
		leave_behind(e, e->leaving, event, at, false, false);
	if (e->leaving_batched)
		leave_behind(e, e->leaving_batched, event, at, false, true);
	while (later) {
		uint64_t same = 0, rest = later;
		int64_t tick_ns = e->instances[__builtin_ctzll(later)].tick_ns;

		while (rest) {
			uint64_t bit_of = rest & -rest;

			if (e->instances[take_policy(&rest)].tick_ns == tick_ns)
				same |= bit_of;
		}
		leave_behind(e, same, event, at, true, false);
		later &= ~same;
	}
	e->leaving = e->leaving_later = e->leaving_batched = 0;
}

/*
 * Whether the contiguous bit or the level of an entry changes, which arm64 allows only after the
 * old entry is gone everywhere (Arm ARM DDI 0487, "break-before-make").
 */
static bool changes_block(const struct tlb_event *event)
{
	switch (event->point) {
	case POINT_FOLD:
	case POINT_UNFOLD:
	case POINT_SPLIT:
	case POINT_COLLAPSE:
		return true;
	case POINT_WP_REUSE:
		return event->level == LEVEL_CONTPTE;
	case POINT_COW:
		return event->level == LEVEL_CONTPTE || event->level == LEVEL_PMD;
	default:
		return false;
	}
}

/*
 * Does ACT of EVENT, of reclaim or migration, take effect only at the end of its task's batch? (A
 * flush that may not have happened ends nothing anyway; one after ageing completes at any barrier;
 * a local one reaches nobody who could use the entry meanwhile.)
 */
static __attribute__((noinline)) bool waits_for_batch(const struct engine *e,
						      const struct tlb_event *event,
						      const struct policy_action *act)
{
	return act->wait == WAIT_BATCHED && act->scope >= SCOPE_MASK && e->config.batches &&
	       event->sure.low && !(event->flags & EVENT_MAYBE) && !(act->flags & ACT_SET) &&
	       (event->point == POINT_RECLAIM || event->point == POINT_MIGRATE);
}

/* What was put off takes effect now; of an address space that has ended, on others it reaches. */
static __attribute__((noinline)) void take_effect(struct engine *e, struct put_off *p,
						  uint64_t time_ns)
{
	unsigned int slot = p->event.addr >> e->config.page_shift & (LEAF_PAGES - 1);
	struct place at = {.mm = mm_find(e, p->event.mm), .leaf = NO_LEAF, .slot = slot};

	p->event.time_ns = time_ns;
	if (at.mm && p->event.pages == 1)
		at.leaf = pages_find(&e->pages, p->event.mm, p->event.addr >> e->config.page_shift);
	if (at.leaf != NO_LEAF) {
		at.page_leaf = pages_leaf(&e->pages, at.leaf);
		at.one = true;
	}
	cover_cpus(e, &p->event, &p->act, e->covered);
	apply(e, p->who, &p->event, &p->act, &at);
	settle(e, &p->event, &at);
}

static __attribute__((noinline)) void put_off(struct engine *e, uint64_t who,
					      const struct tlb_event *event,
					      const struct policy_action *act)
{
	struct put_off *list = grow_list(e->put_off, e->nr_put_off, &e->max_put_off, sizeof(*list));

	if (!list) {
		e->failed = true;
		return;
	}
	e->put_off = list;
	e->put_off[e->nr_put_off++] = (struct put_off){*event, *act, who};
}

/* What has waited for longest goes on: a recording without its end must not fill the memory. */
static __attribute__((noinline)) void make_room(struct engine *e, uint64_t time_ns)
{
	size_t half = e->nr_put_off / 2;

	for (size_t i = 0; i < half; i++)
		take_effect(e, &e->put_off[i], time_ns);
	e->nr_put_off -= half;
	memmove(e->put_off, e->put_off + half, e->nr_put_off * sizeof(*e->put_off));
}

void decide_batch_end(struct engine *e, const struct tlb_event *event)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->nr_put_off; i++) {
		struct put_off p = e->put_off[i];

		if (p.event.tid == event->tid)
			take_effect(e, &p, event->time_ns);
		else
			e->put_off[kept++] = p;
	}
	e->nr_put_off = kept;
}

/* What WHO, which have all made this choice, come to. */
static void carry_out(struct engine *e, uint64_t who, const struct tlb_event *event,
		      const struct choice *choice, const struct place *at)
{
	const struct policy_action *act = choice->cell.act;
	uint64_t *covered = e->covered, all = UINT64_MAX;
	enum scope used = NR_SCOPES;
	bool deferred = false, batched = false;

	set_all(e, covered, false);
	if (act->scope == SCOPE_NONE)
		issue(e, who, event, act, at, used);
	for (; act < choice->cell.act + POLICY_ACTIONS && act->scope != SCOPE_NONE; act++) {
		used = issue(e, who, event, act, at, used);
		tell_broadcast(e, who, event, act);
		if (act->wait == WAIT_DEFERRED && choice->tick_ns) {
			deferred = true;
			continue;
		}
		if (__builtin_expect(act->wait == WAIT_BATCHED, false) &&
		    waits_for_batch(e, event, act)) {
			put_off(e, who, event, act);
			batched = true;
			continue;
		}
		/*
		 * The change and the flush that belongs to it are both there or both not; but a
		 * flush that may not have happened ends nothing that was there before.
		 */
		cover_cpus(e, event, act, covered);
		if (event->sure.low && !(event->flags & EVENT_MAYBE))
			apply(e, who, event, act, at);
	}

	/* The fault itself has dropped the entry where the hardware does so. */
	if (at->kind == STALE_BENIGN && choice->rewalks && !(event->flags & EVENT_REMOTE))
		set_bit(covered, event->cpu, true);
	for (unsigned int w = 0; w < e->words; w++)
		all &= covered[w];
	if (at->kind != NR_STALENESS && all != UINT64_MAX && at->mm) {
		for (uint64_t rest = who; rest;)
			copy_set(e, e->covered_sets + (size_t)take_policy(&rest) * e->words,
				 covered);
		*(deferred  ? &e->leaving_later
		  : batched ? &e->leaving_batched
			    : &e->leaving) |= who;
	}
	act = choice->cell.act;
	if (choice->breaks_first && changes_block(event) && event->sure.low &&
	    (act->scope < SCOPE_MASK || act->reach < REACH_BLOCK))
		while (who)
			testify(e, &e->instances[take_policy(&who)].result.unbroken, event,
				event->addr, covered);
}

/* What POLICY does at EVENT. Returns false if it is like no other policy. */
static bool choose(struct engine *e, unsigned int policy, const struct tlb_event *event,
		   struct choice *choice)
{
	struct instance *in = &e->instances[policy];
	const struct policy *p = in->policy;
	bool alone = e->tlb;

	*choice = (struct choice){.rewalks = p->flags & POLICY_REWALKS,
				  .breaks_first = p->flags & POLICY_BREAKS_FIRST,
				  .cell = in->plain[event->point][event->level]};
	if (p->decide && !(p->plain & POINT_BIT(event->point))) {
		e->asking = policy;
		p->decide(&e->view, in->as_given->params, in->state, event, &choice->cell);
	}
	for (unsigned int i = 0; i < POLICY_ACTIONS; i++) {
		const struct policy_action *act = &choice->cell.act[i];

		if (act->wait == WAIT_DEFERRED)
			choice->tick_ns = in->tick_ns;
		/* Sets of CPUs differ: those asked for, those who left the mm. */
		if (act->flags & ACT_SET)
			alone = true;
		for (unsigned int w = 0; act->scope == SCOPE_MASK && w < e->words; w++)
			alone |= in->dropped[w] != 0;
	}
	return !alone;
}

/* Whether A and B are one to the engine, which has no walk caches. */
static bool same_choice(const struct choice *a, const struct choice *b)
{
	for (unsigned int i = 0; i < POLICY_ACTIONS; i++) {
		const struct policy_action *x = &a->cell.act[i], *y = &b->cell.act[i];

		if (x->scope != y->scope || x->reach != y->reach || x->wait != y->wait ||
		    x->times != y->times || (x->flags ^ y->flags) & ~ACT_KEEP_WALK)
			return false;
	}
	return a->rewalks == b->rewalks && a->breaks_first == b->breaks_first &&
	       a->tick_ns == b->tick_ns;
}

/* Adds POLICY to those who make the choice MINE, of NR choices. Returns how many there are then. */
static unsigned int join(struct choice *choices, uint64_t *makers, unsigned int nr,
			 const struct choice *mine, unsigned int policy)
{
	unsigned int i = 0;

	while (i < nr && !same_choice(&choices[i], mine))
		i++;
	if (i == nr) {
		choices[nr] = *mine;
		makers[nr++] = 0;
	}
	makers[i] |= UINT64_C(1) << policy;
	return nr;
}

void decide_all(struct engine *e, const struct tlb_event *event, const struct place *at)
{
	const typeof(e->plain[0][0]) *plain = &e->plain[event->point][event->level];
	struct choice choices[MAX_POLICIES], mine;
	uint64_t makers[MAX_POLICIES];
	unsigned int nr = plain->nr;

	if (__builtin_expect(e->nr_put_off >= MOST_PUT_OFF, false))
		make_room(e, event->time_ns);
	memcpy(choices, plain->choices, nr * sizeof(choices[0]));
	memcpy(makers, plain->makers, nr * sizeof(makers[0]));
	for (uint64_t rest = plain->others; rest;) {
		unsigned int p = take_policy(&rest);

		if (choose(e, p, event, &mine))
			nr = join(choices, makers, nr, &mine, p);
		else
			carry_out(e, UINT64_C(1) << p, event, &mine, at);
	}
	for (unsigned int i = 0; i < nr; i++)
		carry_out(e, makers[i], event, &choices[i], at);
	settle(e, event, at);
	leave_all(e, event, at);
}

/* Asks POLICY once for all what it does where that depends on its parameters alone. */
static void learn_cells(struct engine *e, unsigned int policy)
{
	struct instance *in = &e->instances[policy];
	const struct policy *p = in->policy;

	memcpy(in->plain, p->table, sizeof(in->plain));
	for (unsigned int k = 0; p->decide && k < NR_POINTS * NR_LEVELS; k++) {
		struct tlb_event event = {.point = (uint8_t)(k / NR_LEVELS),
					  .level = (uint8_t)(k % NR_LEVELS),
					  .pages = 1,
					  .mm = 1};

		if (!(p->plain & POINT_BIT(event.point)))
			continue;
		e->asking = policy;
		p->decide(&e->view, in->as_given->params, in->state, &event,
			  &in->plain[event.point][event.level]);
	}
}

/* Those who choose the same at POINT and LEVEL, whatever else the event is. */
static int learn_choices(struct engine *e, unsigned int point, unsigned int level)
{
	typeof(e->plain[0][0]) *plain = &e->plain[point][level];
	const struct tlb_event event = {.point = (uint8_t)point, .level = (uint8_t)level};
	unsigned int n = e->config.nr_policies;
	struct choice mine;

	plain->choices = calloc(n + 1, sizeof(*plain->choices));
	plain->makers = calloc(n + 1, sizeof(*plain->makers));
	if (!plain->choices || !plain->makers)
		return -ENOMEM;
	for (unsigned int i = 0; i < n; i++) {
		const struct policy *p = e->instances[i].policy;
		const struct policy_cell *cell = &e->instances[i].plain[point][level];
		bool mask = false;

		for (unsigned int k = 0; k < POLICY_ACTIONS; k++)
			mask |= cell->act[k].scope == SCOPE_MASK;
		if (mask || e->tlb || (p->decide && !(p->plain & POINT_BIT(point))))
			plain->others |= UINT64_C(1) << i;
		else if (choose(e, i, &event, &mine))
			plain->nr = join(plain->choices, plain->makers, plain->nr, &mine, i);
	}
	return 0;
}

int decide_init(struct engine *e)
{
	int ret = 0;

	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		learn_cells(e, p);
	for (unsigned int k = 0; !ret && k < NR_POINTS * NR_LEVELS; k++)
		ret = learn_choices(e, k / NR_LEVELS, k % NR_LEVELS);
	return ret;
}

void decide_free(struct engine *e)
{
	free(e->put_off);
	for (unsigned int k = 0; k < NR_POINTS * NR_LEVELS; k++) {
		free(e->plain[k / NR_LEVELS][k % NR_LEVELS].choices);
		free(e->plain[k / NR_LEVELS][k % NR_LEVELS].makers);
	}
}

void decide_elsewhere(struct engine *e, unsigned int policy, const struct tlb_event *event,
		      const struct mm *mm)
{
	struct instance *in = &e->instances[policy];
	struct policy_cell cell = in->policy->table[event->point][event->level];
	const struct place nowhere = {.leaf = NO_LEAF};

	e->asking = policy;
	in->asked_foreign = false;
	if (in->policy->decide)
		in->policy->decide(&e->view, in->as_given->params, in->state, event, &cell);
	in->shard_unsure |= in->asked_foreign && in->policy->state_size;
	for (unsigned int i = 0; i < POLICY_ACTIONS && cell.act[i].scope != SCOPE_NONE; i++) {
		const struct policy_action *act = &cell.act[i];

		tell_broadcast(e, UINT64_C(1) << policy, event, act);
		if (mm && act->scope == SCOPE_MASK && act->flags & ACT_LAZY &&
		    !(act->flags & ACT_SET) && event->sure.low)
			drop_lazy(e, UINT64_C(1) << policy, mm);
		if (act->reach != REACH_ALL || (act->wait == WAIT_DEFERRED && in->tick_ns) ||
		    !event->sure.low || event->flags & EVENT_MAYBE)
			continue;
		in->shard_unsure |= in->asked_foreign;
		if (waits_for_batch(e, event, act)) {
			put_off(e, UINT64_C(1) << policy, event, act);
			continue;
		}
		set_all(e, e->covered, false);
		cover_cpus(e, event, act, e->covered);
		apply(e, UINT64_C(1) << policy, event, act, &nowhere);
	}
}

struct policy_cell ask(struct engine *e, unsigned int policy, const struct tlb_event *event,
		       enum point point)
{
	struct instance *in = &e->instances[policy];
	struct policy_cell cell = in->plain[point][event->level];
	struct tlb_event question = *event;

	if (!in->policy->decide || in->policy->plain & POINT_BIT(point))
		return cell;
	question.point = (uint8_t)point;
	question.sure = (struct event_sureness){0};
	e->asking = policy;
	in->policy->decide(&e->view, in->as_given->params, in->state, &question, &cell);
	return cell;
}
