// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes the events and keeps what all policies share. The parts, each knowing those below it only:
 *
 *	decide.c, spurious.c   one decision, one fault that changed nothing, under all policies
 *	leave.c                what stays behind where nothing was flushed
 *	exposure.c, longest.c  stale entries until they end, and the longest of them
 *	residency.c            which CPUs had which mm loaded, and so may hold entries of it
 *	range.c, tally.c       the pages of a range; counting
 *	common.c               results by set of policies
 *	engine-state.h         what they share
 */
#include "replay/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/common.h"
#include "replay/decide.h"
#include "replay/exposure.h"
#include "replay/longest.h"
#include "replay/range.h"
#include "replay/residency.h"
#include "replay/spurious.h"
#include "replay/tally.h"

const struct param common_params[] = {
	{.name = "share",
	 .type = PARAM_FRACTION,
	 .offset = offsetof(struct common_params, share),
	 .unit = "",
	 .def = 0.1,
	 .min = 0,
	 .max = 1,
	 .help = "of the entries that another CPU could hold and no event shows, how many it does "
		 "hold "
		 "(assumed: nothing published measures it)"},
	{.name = "write_share",
	 .type = PARAM_FRACTION,
	 .offset = offsetof(struct common_params, write_share),
	 .unit = "",
	 .def = 0.5,
	 .min = 0,
	 .max = 1,
	 .help = "of the stale entries that are held, how many are written to before they go "
		 "(assumed)"},
	PARAM_END,
};

/* ---- making and ending ---- */

static int instance_init(struct engine *e, struct instance *in, const struct policy_instance *given)
{
	in->policy = given->policy;
	in->tick_ns = given->policy->defer_ns ? given->policy->defer_ns(given->params) : 0;
	in->as_given = given;
	in->least_row_ns = e->config.max_rows ? 0 : UINT64_MAX;
	in->state = in->policy->state_size ? calloc(1, in->policy->state_size) : NULL;
	in->dropped = calloc(e->words, sizeof(uint64_t));
	in->result.issued = calloc((size_t)e->config.nr_cpus * NR_SCOPES, sizeof(uint64_t));
	in->result.received = calloc(e->config.nr_cpus, sizeof(uint64_t));
	in->result.buckets = calloc(MAX_BUCKETS, sizeof(*in->result.buckets));
	in->result.rows = calloc(e->config.max_rows + 1, sizeof(*in->result.rows));
	if ((in->policy->state_size && !in->state) || !in->dropped || !in->result.issued ||
	    !in->result.received || !in->result.buckets || !in->result.rows)
		return -ENOMEM;
	return 0;
}

/* What of POLICY is known beforehand. */
static void learn_policy(struct engine *e, unsigned int policy)
{
	const struct instance *in = &e->instances[policy];
	const struct policy_action *fork = in->policy->table[POINT_FORK][LEVEL_MM].act;

	e->all_policies |= UINT64_C(1) << policy;
	e->lane_policies[fork->scope == SCOPE_NONE || fork->wait == WAIT_DEFERRED ||
			 fork[1].wait == WAIT_DEFERRED] |= UINT64_C(1) << policy;
	for (unsigned int level = 0; level < NR_LEVELS; level++)
		if (!(in->policy->flags & POLICY_REWALKS) &&
		    in->policy->table[POINT_SPURIOUS][level].act[0].scope == SCOPE_NONE)
			e->unfixed[level] |= UINT64_C(1) << policy;
}

struct engine *engine_new(const struct engine_config *config)
{
	struct engine *e =
		config->nr_policies <= MAX_POLICIES
			? calloc(1, sizeof(*e) + config->nr_policies * sizeof(e->instances[0]))
			: NULL;

	if (!e)
		return NULL;
	e->config = *config;
	if (!e->config.nr_cpus)
		e->config.nr_cpus = 1;
	e->words = (e->config.nr_cpus + 63) / 64;
	e->view = (struct policy_view){.nr_cpus = e->config.nr_cpus,
				       .words = e->words,
				       .page_shift = config->page_shift,
				       .loaded = residency_loaded,
				       .lazy = residency_lazy,
				       .visited = residency_visited,
				       .holders = residency_holders};
	e->exposure_size =
		sizeof(struct exposure) + (config->tlb ? 2 : 1) * e->words * sizeof(uint64_t);
	e->residence_size = sizeof(struct residence) +
			    config->nr_policies * sizeof(((struct residence *)NULL)->policy[0]);
	e->homes = calloc(e->config.nr_cpus, sizeof(*e->homes));
	e->cpus = calloc(e->config.nr_cpus, sizeof(*e->cpus));
	e->lazy = calloc((size_t)e->words * 10, sizeof(uint64_t));
	e->counts_mask = (1u << 12) - 1;
	e->counts = calloc(e->counts_mask + 1, sizeof(*e->counts));
	pages_init(&e->pages, config->nr_policies);
	if (config->tlb) {
		e->tlb = tlb_new(config->tlb, e->config.nr_cpus);
		if (!e->tlb)
			goto fail;
	}
	e->stale_sets = calloc((size_t)e->words * config->nr_policies * 2 + 1, sizeof(uint64_t));
	if (!e->cpus || !e->lazy || !e->counts || !e->homes || !e->stale_sets)
		goto fail;
	e->covered_sets = e->stale_sets + (size_t)e->words * config->nr_policies;
	e->scratch = e->lazy + e->words;
	e->stale = e->scratch + e->words;
	e->holders = e->stale + e->words;
	e->view_set = e->holders + e->words;
	e->covered = e->view_set + e->words;
	e->reached = e->covered + e->words;
	e->since.ran = e->reached + e->words;
	e->asked = e->since.ran + e->words;
	e->view.set = e->asked;
	e->time_width_ns = 1000000;
	e->hidden_end = FOREVER;
	for (unsigned int i = 0; i < e->config.nr_cpus; i++)
		e->cpus[i].hidden_until = FOREVER;
	for (unsigned int i = 0; i < config->nr_policies; i++)
		if (instance_init(e, &e->instances[i], &config->policies[i]))
			goto fail;
	if (common_init(e))
		goto fail;
	for (unsigned int i = 0; i < config->nr_policies; i++)
		learn_policy(e, i);
	if (decide_init(e))
		goto fail;
	return e;
fail:
	engine_free(e);
	return NULL;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	for (unsigned int i = 0; i < e->config.nr_policies; i++) {
		struct instance *in = &e->instances[i];

		if (in->state && in->policy->forget)
			in->policy->forget(in->state, 0);
		free(in->state);
		free(in->dropped);
		free(in->result.issued);
		free(in->result.received);
		free(in->result.buckets);
		free(in->result.rows);
	}
	for (size_t i = 0; i < e->nr_mms; i++)
		mm_state_free(e, e->mms[i]);
	free(e->mms);
	free(e->cpus);
	free(e->lazy);
	free(e->counts);
	free(e->homes);
	free(e->stale_sets);
	common_free(e);
	decide_free(e);
	pages_free(&e->pages);
	tlb_free(e->tlb);
	free(e);
}

/* The page of a fault, from now on known to be present. Returns NULL: no memory. */
static struct leaf *present_page(struct engine *e, const struct tlb_event *event, struct mm *mm,
				 uint32_t *leaf, unsigned int slot)
{
	uint32_t head = mm->leaves;
	struct leaf *l;

	*leaf = pages_make(&e->pages, event->mm, event->addr >> e->config.page_shift, &mm->leaves);
	if (*leaf == NO_LEAF) {
		e->failed = true;
		return NULL;
	}
	mm->nr_leaves += mm->leaves != head;
	l = pages_leaf(&e->pages, *leaf);
	mm->pages += !(l->present >> slot & 1);
	l->present |= (uint16_t)(1u << slot);
	return l;
}

/* The page can be written to from now on. */
static void upgraded(struct engine *e, const struct tlb_event *event, const struct place *at)
{
	struct page *page = leaf_page(&e->pages, at->page_leaf, at->slot);

	at->page_leaf->writable |= (uint16_t)(1u << at->slot);
	page->upgrade_ns = event->time_ns;
	if (event->point == POINT_COW)
		return;
	/* An entry that allowed too much allows what it should again. */
	if (at->mm->lanes[0].permissions | at->mm->lanes[1].permissions)
		close_page(e, at->mm, at->leaf, at->slot, e->all_policies, NULL, true, ENDED_GONE,
			   event->time_ns);
}

static void on_decision_elsewhere(struct engine *e, const struct tlb_event *event)
{
	const struct mm *mm = event->mm ? mm_state_make(e, event->mm) : NULL;

	/* Spurious faults ask hooks questions of which these learn nothing. */
	if (event->cpu >= e->config.nr_cpus || (event->point == POINT_SPURIOUS && mm))
		return;
	tally_bucket(e, event->time_ns); /* all shards have the same ones */
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		decide_elsewhere(e, p, event, mm);
}

/* Another shard's address spaces fill the same TLBs. */
static void bring_in_elsewhere(struct engine *e, const struct tlb_event *event, bool fresh)
{
	uint64_t page = event->addr >> e->config.page_shift;

	if (e->tlb && fresh)
		tlb_refill(e->tlb, event->cpu, event->mm, page, e->seq);
	else if (e->tlb)
		tlb_fill(e->tlb, event->cpu, event->mm, page, e->seq);
}

/* An event of an address space that another shard counts. */
static void event_elsewhere(struct engine *e, const struct tlb_event *event)
{
	switch ((enum event_kind)event->kind) {
	case EVENT_DECISION:
		on_decision_elsewhere(e, event);
		break;
	case EVENT_PRESENT:
		mm_state_make(e, event->mm);
		if (!(event->flags & EVENT_REMOTE))
			bring_in_elsewhere(e, event, true);
		break;
	case EVENT_ACCESS:
		mm_state_make(e, event->mm);
		if (event->cpu < e->config.nr_cpus)
			bring_in_elsewhere(e, event, false);
		break;
	default:
		break;
	}
}

static void on_decision(struct engine *e, const struct tlb_event *event)
{
	struct place at = {.mm = event->mm ? mm_state_make(e, event->mm) : NULL,
			   .leaf = NO_LEAF,
			   .slot = event->addr >> e->config.page_shift & (LEAF_PAGES - 1),
			   .flushes = {event->sure.low, event->sure.estimate, event->sure.high},
			   .kind = staleness_of(event)};

	if (event->cpu >= e->config.nr_cpus)
		return;
	if (page_point(event->point) && at.mm) {
		at.page_leaf = present_page(e, event, at.mm, &at.leaf, at.slot);
		if (!at.page_leaf)
			return;
		at.one = event->pages == 1;
		if (event->point == POINT_WP_REUSE && event->level == LEVEL_PTE)
			leaf_page(&e->pages, at.page_leaf, at.slot)->reuses += event->sure.estimate;
		else if (event->sure.estimate)
			tally_page(e, event->mm, event->addr, event->point, event->level, 1);
	} else if (event->point == POINT_PROTECT || event->point == POINT_NUMA) {
		uint64_t present = 0;

		/*
		 * Nothing is flushed for a range without a present PTE; whether there is one may be
		 * unknown.
		 */
		range_visit(e, event->mm, event->addr, event->pages, range_present, &present);
		if (!present)
			at.flushes.low = at.flushes.estimate = 0;
	}
	if (event->flags & EVENT_MAYBE)
		at.flushes.low = at.flushes.estimate = 0;
	/* A spurious fault is counted under each policy by what the policy left behind. */
	if (event->point == POINT_SPURIOUS && at.leaf != NO_LEAF) {
		if (!event->sure.low)
			for (unsigned int p = 0; p < e->config.nr_policies; p++)
				spurious_maybe(e, p, event);
		else if (!(event->flags & EVENT_REMOTE))
			spurious_all(e, event, &at);
		return;
	}
	at.bucket = tally_bucket(e, event->time_ns);
	decide_all(e, event, &at);

	/* What the page table holds from now on. */
	switch (event->point) {
	case POINT_WP_REUSE:
	case POINT_DIRTY_UP:
	case POINT_HUGETLB_REUSE:
	case POINT_COW:
		if (at.leaf != NO_LEAF && event->sure.estimate)
			upgraded(e, event, &at);
		break;
	case POINT_RECLAIM:
		if (at.leaf != NO_LEAF)
			range_unmap(e, at.leaf, (uint16_t)(1u << at.slot), NULL);
		break;
	case POINT_UNMAP:
	case POINT_TABLES_FREED:
		range_visit(e, event->mm, event->addr, event->pages, range_unmap, NULL);
		break;
	case POINT_FORK:
		range_visit(e, event->mm, 0, 0, range_forked, NULL);
		break;
	case POINT_PROTECT:
		if (!(event->flags & EVENT_UP))
			range_visit(e, event->mm, event->addr, event->pages, range_protect, NULL);
		break;
	default:
		break;
	}
}

static void on_load(struct engine *e, const struct tlb_event *event)
{
	struct cpu *cpu = &e->cpus[event->cpu];
	struct mm *mm = mm_state_make(e, event->mm), *old = mm_find(e, cpu->mm);
	struct residence *r;

	if (!mm)
		return;
	if (old && old != mm) {
		r = residence_make(e, old, event->cpu);
		old->last_unload = e->seq;
		forget_holders(e, old);
		if (r) {
			r->loaded_until = e->seq;
			if (r->ran_until == FOREVER)
				r->ran_until = e->seq;
		}
		set_bit(old->loaded, event->cpu, false);
	}
	if (e->tlb && cpu->mm != event->mm)
		tlb_switch(e->tlb, event->cpu, e->seq);
	cpu->mm = event->mm;
	residency_shown(e, event->cpu);
	set_bit(e->lazy, event->cpu, false);
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		set_bit(e->instances[p].dropped, event->cpu, false);
	if (!bit(mm->loaded, event->cpu))
		forget_holders(e, mm);
	set_bit(mm->loaded, event->cpu, true);
	set_bit(mm->visited, event->cpu, true);
	r = residence_make(e, mm, event->cpu);
	if (r)
		r->loaded_until = r->ran_until = FOREVER;
}

static void on_idle(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = mm_find(e, e->cpus[event->cpu].mm);
	struct residence *r;

	set_bit(e->lazy, event->cpu, true);
	r = mm ? residence_make(e, mm, event->cpu) : NULL;
	if (r && r->ran_until == FOREVER)
		r->ran_until = e->seq;
}

/* What is kept of MM by page or in all leaves it, as it ends. */
static void hand_on_mm(struct engine *e, uint32_t number, struct mm *mm)
{
	for (uint32_t leaf = mm->leaves; leaf != NO_LEAF;
	     leaf = pages_leaf(&e->pages, leaf)->next) {
		struct leaf *l = pages_leaf(&e->pages, leaf);

		for (unsigned int slot = 0; slot < LEAF_PAGES; slot++) {
			uint64_t n = leaf_page(&e->pages, l, slot)->reuses;

			for (unsigned int p = 0; e->config.sink.stale && p < e->config.nr_policies;
			     p++)
				if (page_stale(&e->pages, leaf_page(&e->pages, l, slot))[p])
					e->config.sink.stale(
						e->config.sink.context, p, number,
						(l->number << LEAF_SHIFT | slot)
							<< e->config.page_shift,
						page_stale(&e->pages,
							   leaf_page(&e->pages, l, slot))[p]);
			if (n && e->config.sink.page)
				e->config.sink.page(
					e->config.sink.context, number,
					(l->number << LEAF_SHIFT | slot) << e->config.page_shift,
					POINT_WP_REUSE, LEVEL_PTE, n);
		}
	}
	tally_mm_done(e, number, mm);
}

static void on_mm_end(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = mm_find(e, event->mm);

	e->ended_pages = mm ? mm->pages : 0;
	e->ended_mm = event->mm;
	if (!mm)
		return;
	close_mm(e, mm, e->all_policies, ENDED_GONE, event->time_ns);
	for (unsigned int p = 0; p < e->config.nr_policies; p++) {
		struct instance *in = &e->instances[p];

		if (in->state && in->policy->forget)
			in->policy->forget(in->state, event->mm);
	}
	hand_on_mm(e, event->mm, mm);
	for (unsigned int i = 0; i < e->config.nr_cpus; i++)
		if (e->cpus[i].mm == event->mm)
			e->cpus[i].mm = 0;
	pages_release(&e->pages, mm->leaves);
	mm_state_free(e, mm);
	e->mms[event->mm] = NULL;
}

/*
 * The CPU has used the page: its TLB has an entry now, a FRESH one if the page table was just
 * changed.
 */
static void bring_in(struct engine *e, struct mm *mm, const struct tlb_event *event, bool fresh)
{
	uint64_t page = event->addr >> e->config.page_shift, filled, used;
	struct residence *r = residence_make(e, mm, event->cpu);

	if (r && !tlb_look(e->tlb, event->cpu, event->mm, page, &filled, &used))
		r->touched++;
	if (fresh)
		tlb_refill(e->tlb, event->cpu, event->mm, page, e->seq);
	else
		tlb_fill(e->tlb, event->cpu, event->mm, page, e->seq);
}

static void on_present(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = mm_state_make(e, event->mm);
	unsigned int slot = event->addr >> e->config.page_shift & (LEAF_PAGES - 1);
	uint32_t leaf;
	struct leaf *l = mm ? present_page(e, event, mm, &leaf, slot) : NULL;

	if (l && event->flags & EVENT_WRITE)
		l->writable |= (uint16_t)(1u << slot);
	if (l && e->tlb && !(event->flags & EVENT_REMOTE))
		bring_in(e, mm, event, true);
}

static void on_access(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = mm_state_make(e, event->mm);
	uint64_t page = event->addr >> e->config.page_shift;
	uint32_t leaf = pages_find(&e->pages, event->mm, page);

	if (!mm || !e->tlb || event->cpu >= e->config.nr_cpus)
		return;
	mm->accesses = !(event->flags & EVENT_SAMPLED);
	for (unsigned int p = 0; leaf != NO_LEAF && p < e->config.nr_policies; p++)
		access_for(e, p, event, mm, leaf, page & (LEAF_PAGES - 1));
	bring_in(e, mm, event, false);
}

void engine_hint(void *engine, uint32_t number, uint64_t addr)
{
	struct engine *e = engine;

	if (!shard_has(&e->config.shard, number))
		return;
	pages_prefetch(&e->pages, number, addr >> e->config.page_shift);
}

void engine_event(void *engine, const struct tlb_event *event)
{
	struct engine *e = engine;

	e->seq++;
	if (__builtin_expect(e->config.shard.parts > 1, false) &&
	    !shard_has(&e->config.shard, event->mm) && event->kind <= EVENT_PROTECTED) {
		event_elsewhere(e, event);
		return;
	}
	switch ((enum event_kind)event->kind) {
	case EVENT_DECISION:
		on_decision(e, event);
		break;
	case EVENT_PRESENT:
		on_present(e, event);
		break;
	case EVENT_ACCESS:
		on_access(e, event);
		break;
	case EVENT_PROTECTED:
		range_visit(e, event->mm, event->addr, event->pages, range_fork, NULL);
		break;
	case EVENT_LOAD:
		on_load(e, event);
		break;
	case EVENT_IDLE:
		on_idle(e, event);
		break;
	case EVENT_MM_END:
		on_mm_end(e, event);
		break;
	case EVENT_LOST:
		e->lost_seq = e->seq;
		residency_lost(e, event->cpu);
		break;
	case EVENT_OLDER:
		residency_older(e, event->mm);
		break;
	case EVENT_BATCH_END:
		decide_batch_end(e, event);
		break;
	case EVENT_SWAP_IN: /* these three: replay/dirty.h */
	case EVENT_SWAP_OUT:
	case EVENT_SWAP_WRITE:
		break;
	}
}

uint64_t engine_mm_pages(const struct engine *e, uint32_t mm)
{
	const struct mm *m = mm_find(e, mm);

	return m ? m->pages : mm == e->ended_mm ? e->ended_pages : 0;
}

/* What is likely is possible: see count_closed(). */
static void add_shared(struct policy_result *r)
{
	for (unsigned int kind = 0; kind < NR_STALENESS; kind++)
		for (unsigned int ended = 0; ended < NR_ENDED; ended++) {
			struct exposure_sum *sums[] = {&r->possible[kind][ended],
						       &r->likely[kind][ended]};
			const struct exposure_sum *more = &r->shared[kind][ended];

			for (unsigned int k = 0; k < 2; k++)
				exposure_merge(sums[k], more);
		}
}

int engine_end(struct engine *e, uint64_t time_ns)
{
	for (size_t i = 0; i < e->nr_mms; i++) {
		struct mm *mm = e->mms[i];

		if (!mm)
			continue;
		close_mm(e, mm, e->all_policies, ENDED_TRACE, time_ns);
		hand_on_mm(e, (uint32_t)i, mm);
	}
	common_add_up(e);
	for (unsigned int p = 0; p < e->config.nr_policies; p++) {
		struct instance *in = &e->instances[p];
		struct exposure_sum *sums[] = {&in->result.possible[STALE_UNSAFE][ENDED_TRACE],
					       &in->result.likely[STALE_UNSAFE][ENDED_TRACE]};

		add_shared(&in->result);
		longest_sort(&in->result);
		for (unsigned int level = 0; level < NR_LEVELS; level++) {
			struct tlb_event event = {
				.time_ns = time_ns, .level = (uint8_t)level, .pages = 1};

			in->result.spurious_scope[level] =
				ask(e, p, &event, POINT_SPURIOUS).act[0].scope;
		}
		for (unsigned int k = 0; k < NR_POINTS * NR_LEVELS * NR_SCOPES; k++)
			add_bound(&in->result.scope[k % NR_SCOPES],
				  &(&in->result.flush[0][0][0])[k].flushes);
		for (size_t k = 0; in->forever && k < 2; k++) {
			sums[k]->entries += (double)in->forever;
			sums[k]->entry_units +=
				((unsigned __int128)in->forever * time_ns - in->forever_start_sum) *
				EXPOSURE_UNIT;
			if (time_ns - in->forever_first_ns > sums[k]->max_ns)
				sums[k]->max_ns = time_ns - in->forever_first_ns;
		}
	}
	tally_pages_done(e);
	return e->failed ? -ENOMEM : 0;
}

void engine_time(const struct engine *e, uint64_t *start_ns, uint64_t *width_ns)
{
	*start_ns = e->time_start_ns;
	*width_ns = e->time_width_ns;
}

const struct policy_result *engine_result(const struct engine *e, unsigned int policy)
{
	return &e->instances[policy].result;
}

bool engine_shard_unsure(const struct engine *e, unsigned int policy)
{
	return e->instances[policy].shard_unsure;
}

size_t engine_page_bytes(unsigned int nr_policies)
{
	struct pages pages;

	pages_init(&pages, nr_policies);
	return pages_bytes(&pages);
}

void engine_live(const struct engine *e, uint64_t *pages, uint64_t *mms)
{
	*pages = (uint64_t)e->pages.live * LEAF_PAGES;
	*mms = 0;
	for (size_t i = 0; i < e->nr_mms; i++)
		*mms += e->mms[i] != NULL;
}
