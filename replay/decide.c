// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/decide.h"

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

struct cover {
	struct mm *mm;
	unsigned int policy;
	uint64_t time_ns;
	const uint64_t *set; /* CPUs that are rid of the pages */
	bool everywhere;     /* that is all of them */
};

static inline void cover_page(struct engine *e, const struct cover *c, uint32_t leaf,
			      struct leaf *l, unsigned int slot)
{
	struct page_policy *p = &leaf_page(&e->pages, l, slot)->policy[c->policy];

	if (p->open)
		close_page(e, c->mm, c->policy, p->open, leaf, slot, c->set, false, ENDED_FLUSH,
			   c->time_ns);
	if (c->everywhere)
		p->flush_seq = e->seq;
}

static void visit_cover(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	struct leaf *l = pages_leaf(&e->pages, leaf);

	for (; slots; slots &= (uint16_t)(slots - 1))
		cover_page(e, context, leaf, l, (unsigned int)__builtin_ctz(slots));
}

/* The CPUs that ACT reaches, into E->SCRATCH and added to COVERED. */
static void cover_cpus(const struct engine *e, const struct tlb_event *event,
		       const struct policy_action *act, uint64_t *covered)
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

/* All of MM is flushed, everywhere or on the CPUs of E->SCRATCH. */
static void flush_all_of(struct engine *e, struct mm *mm, unsigned int policy, bool everywhere,
			 uint64_t time_ns)
{
	if (everywhere) {
		mm->policy[policy].flush_seq = e->seq;
		mm->policy[policy].holders_known = false;
		close_mm(e, mm, policy, ENDED_FLUSH, time_ns);
		return;
	}
	residency_make_unseen(e, mm, mm->policy[policy].flush_seq);
	for (uint32_t i = 0; i < mm->nr_residences; i++)
		if (bit(e->scratch, residence_at(e, mm, i)->cpu))
			flush_mm_on(e, mm, policy, residence_at(e, mm, i), time_ns);
}

/*
 * Lets one invalidation take effect on the CPUs of E->SCRATCH: times are brought up to date, and
 * what it covers ends.
 */
static void apply(struct engine *e, unsigned int policy, const struct tlb_event *event,
		  const struct policy_action *act, const struct place *at)
{
	struct mm *mm = at->mm;
	bool everywhere = act->scope >= SCOPE_MASK && !(act->flags & ACT_SET);

	if (act->reach == REACH_ALL)
		for (size_t i = 0; i < e->nr_mms; i++)
			if (e->mms[i] && e->mms[i] != mm)
				flush_all_of(e, e->mms[i], policy, everywhere, event->time_ns);
	if (!mm)
		return;
	if (act->flags & ACT_SET) {
		/* Whoever may hold an entry is in the set: that is as good as everywhere. */
		const uint64_t *holders = find_candidates(e, mm, policy, 0);

		everywhere = true;
		for (unsigned int w = 0; w < e->words; w++)
			everywhere &= !(holders[w] & ~e->scratch[w]);
	}
	if (act->reach == REACH_MM || act->reach == REACH_ALL) {
		flush_all_of(e, mm, policy, everywhere, event->time_ns);
		return;
	}
	struct cover cover = {.mm = mm,
			      .policy = policy,
			      .time_ns = event->time_ns,
			      .set = e->scratch,
			      .everywhere = everywhere};
	if (at->one)
		cover_page(e, &cover, at->leaf, at->page_leaf, at->slot);
	else
		range_visit(e, event->mm, event->addr, event->pages, visit_cover, &cover);
	if (act->scope != SCOPE_MASK || act->flags & ACT_SET)
		return;
	/* CPUs that were not interrupted see the mm's new generation when they come back to it. */
	residency_make_unseen(e, mm, mm->policy[policy].flush_seq);
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		struct residence *r = residence_at(e, mm, i);

		if (!bit(mm->loaded, r->cpu) || (bit(e->lazy, r->cpu) && !(act->flags & ACT_LAZY)))
			flush_mm_on(e, mm, policy, r, event->time_ns);
	}
}

/* Scope mask, as it comes out for the CPUs that have the mm loaded now. */
static enum scope resolve_mask(const struct engine *e, unsigned int policy,
			       const struct tlb_event *event, const struct policy_action *act,
			       const struct mm *mm, struct bound *targets, uint64_t *reached)
{
	uint64_t *dropped = e->instances[policy].dropped;
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
		/* A lazy CPU answers by leaving the mm, and is in its mask no more. */
		if (event->sure.low && act->flags & ACT_LAZY)
			dropped[w] |= mm->loaded[w] & e->lazy[w];
	}
	targets->low = targets->estimate = count_bits(e, reached);
	for (unsigned int cpu = 0; blind_end(e, mm) == FOREVER && cpu < e->config.nr_cpus; cpu++)
		targets->high += cpu != event->cpu && blind_until(e, mm, cpu) == FOREVER &&
				 !bit(mm->loaded, cpu);
	if (others)
		return SCOPE_MASK;
	return here ? SCOPE_LOCAL : SCOPE_NONE;
}

static void count_action(struct engine *e, unsigned int policy, const struct tlb_event *event,
			 const struct policy_action *act, const struct place *at, enum scope scope,
			 bool first)
{
	const struct bound *once = &at->flushes;
	struct policy_result *r = &e->instances[policy].result;
	struct flush_count *c = tally_flush(e, at->mm, policy, event, scope);

	uint64_t times = act->times ? act->times : 1;
	struct bound all = {once->low * times, once->estimate * times, once->high * times};
	const struct bound *flushes = &all;

	if (first)
		c->decisions += event->sure.estimate;
	if (scope == SCOPE_NONE)
		return;
	add_bound(&c->flushes, flushes);
	add_bound(&r->buckets[at->bucket].flushes[scope], flushes);
	if (at->bucket >= r->nr_buckets)
		r->nr_buckets = at->bucket + 1;
	if (flushes->estimate && act->reach != REACH_MM && act->reach != REACH_ALL)
		c->pages += act->reach == REACH_PAGE ? 1 : event->pages;
	r->issued[event->cpu * NR_SCOPES + scope] += flushes->estimate;
	if (act->flags & ACT_NOTIFY)
		r->notifies += flushes->estimate;
}

/* Entries that a flush by page takes from other CPUs, which must walk for them again. */
static void count_refills(struct engine *e, unsigned int policy, const struct tlb_event *event,
			  const struct place *at)
{
	const struct page *page = leaf_page(&e->pages, at->page_leaf, at->slot);
	const uint64_t *set = find_candidates(e, at->mm, policy, page->policy[policy].flush_seq);

	e->instances[policy].result.refills += count_bits(e, set) - bit(set, event->cpu);
}

/* One invalidation that the policy issues. Returns the scope that it comes to. */
static enum scope issue(struct engine *e, unsigned int policy, const struct tlb_event *event,
			const struct policy_action *act, const struct place *at)
{
	const struct bound *flushes = &at->flushes;
	struct instance *in = &e->instances[policy];
	enum scope scope = act->scope;

	if (scope == SCOPE_MASK) {
		struct bound targets;

		scope = resolve_mask(e, policy, event, act, at->mm, &targets, e->reached);
		for (unsigned int w = 0; flushes->estimate && w < e->words; w++)
			for (uint64_t bits = e->reached[w]; bits; bits &= bits - 1)
				in->result.received[w * 64 + (unsigned int)__builtin_ctzll(bits)]++;
		targets.low *= flushes->low;
		targets.estimate *= flushes->estimate;
		targets.high *= flushes->high;
		add_bound(&in->result.targets, &targets);
	}
	if (act->reach == REACH_PAGE && scope >= SCOPE_MASK && at->leaf != NO_LEAF &&
	    flushes->estimate)
		count_refills(e, policy, event, at);
	return scope;
}

/* What stays behind on the CPUs that are not COVERED. */
static void leave_behind(struct engine *e, unsigned int policy, const struct tlb_event *event,
			 const struct place *at, const uint64_t *covered, bool deferred)
{
	struct instance *in = &e->instances[policy];
	/* What is freed only after all have swept is gone in time. */
	bool in_time =
		deferred && (event->point == POINT_UNMAP || event->point == POINT_TABLES_FREED ||
			     event->point == POINT_RECLAIM);

	if (deferred && event->point == POINT_EXIT)
		return;
	struct leave leave = {.mm = at->mm,
			      .policy = policy,
			      .event = event,
			      .covered = covered,
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
	if (at->mm->older && leave.kind == STALE_UNSAFE && !in->result.unsafe.seen)
		leave_unseen(e, &leave);
	if (leave.entries) {
		if (in->forever == 0)
			in->forever_first_ns = event->time_ns;
		in->forever += leave.entries;
		in->forever_start_sum += (unsigned __int128)leave.entries * event->time_ns;
	}
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

void decide_for(struct engine *e, unsigned int policy, const struct tlb_event *event,
		const struct place *at)
{
	struct instance *in = &e->instances[policy];
	struct policy_cell cell = in->policy->table[event->point][event->level];
	uint64_t *covered = e->covered, all = UINT64_MAX;
	enum scope used = SCOPE_NONE;
	bool deferred = false;
	unsigned int i;

	set_all(e, covered, false);
	e->asking = policy;
	if (in->policy->decide)
		in->policy->decide(&e->view, in->as_given->params, in->state, event, &cell);
	for (i = 0; i < POLICY_ACTIONS && cell.act[i].scope != SCOPE_NONE; i++) {
		enum scope scope = issue(e, policy, event, &cell.act[i], at);

		count_action(e, policy, event, &cell.act[i], at, scope, !i || scope != used);
		used = scope;
		if (cell.act[i].wait == WAIT_DEFERRED && in->tick_ns) {
			deferred = true;
			continue;
		}
		/*
		 * The change and the flush that belongs to it are both there or both not; but a
		 * flush that may not have happened ends nothing that was there before.
		 */
		cover_cpus(e, event, &cell.act[i], covered);
		if (event->sure.low && !(event->flags & EVENT_MAYBE))
			apply(e, policy, event, &cell.act[i], at);
	}
	if (!i)
		count_action(e, policy, event, &cell.act[0], at, SCOPE_NONE, true);

	/* The fault itself has dropped the entry where the hardware does so. */
	if (at->kind == STALE_BENIGN && in->policy->flags & POLICY_REWALKS &&
	    !(event->flags & EVENT_REMOTE))
		set_bit(covered, event->cpu, true);
	for (unsigned int w = 0; w < e->words; w++)
		all &= covered[w];
	if (at->kind != NR_STALENESS && all != UINT64_MAX && at->mm)
		leave_behind(e, policy, event, at, covered, deferred);
	if (in->policy->flags & POLICY_BREAKS_FIRST && changes_block(event) && event->sure.low &&
	    (cell.act[0].scope < SCOPE_MASK || cell.act[0].reach < REACH_BLOCK))
		testify(e, &in->result.unbroken, event, event->addr, covered);
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

		if (mm && act->scope == SCOPE_MASK && act->flags & ACT_LAZY &&
		    !(act->flags & ACT_SET) && event->sure.low)
			for (unsigned int w = 0; w < e->words; w++)
				in->dropped[w] |= mm->loaded[w] & e->lazy[w];
		if (act->reach != REACH_ALL || (act->wait == WAIT_DEFERRED && in->tick_ns) ||
		    !event->sure.low || event->flags & EVENT_MAYBE)
			continue;
		in->shard_unsure |= in->asked_foreign;
		set_all(e, e->covered, false);
		cover_cpus(e, event, act, e->covered);
		apply(e, policy, event, act, &nowhere);
	}
}

struct policy_cell ask(struct engine *e, unsigned int policy, const struct tlb_event *event,
		       enum point point)
{
	struct instance *in = &e->instances[policy];
	struct policy_cell cell = in->policy->table[point][event->level];
	struct tlb_event question = *event;

	question.point = (uint8_t)point;
	question.sure = (struct event_sureness){0};
	e->asking = policy;
	if (in->policy->decide)
		in->policy->decide(&e->view, in->as_given->params, in->state, &question, &cell);
	return cell;
}
