// SPDX-License-Identifier: GPL-2.0-or-later
/* What the arm64 policies share: see arm64.h. */
#include "replay/policies/arm64.h"

#include <stdlib.h>
#include <string.h>

#include "replay/policies/sets.h"

const struct param arm64_params[] = {ARM64_PARAMS, PARAM_END};

/* ---- ASIDs: new_context() and check_and_switch_context() of arch/arm64/mm/context.c ---- */

static bool asids_ready(struct arm64_state *s, const struct policy_view *view, uint32_t mm)
{
	if (!s->active) {
		s->active = calloc(view->nr_cpus, sizeof(*s->active));
		s->pending = calloc(view->words, sizeof(*s->pending));
		s->generation = 1;
	}
	if (mm >= s->nr_generations) {
		size_t nr = s->nr_generations ? s->nr_generations * 2 : 1024;

		while (nr <= mm)
			nr *= 2;
		uint32_t *more = realloc(s->generations, nr * sizeof(*more));
		if (!more)
			return false;
		memset(more + s->nr_generations, 0, (nr - s->nr_generations) * sizeof(*more));
		s->generations = more;
		s->nr_generations = nr;
	}
	return s->active && s->pending;
}

/* The next generation: the mms that CPUs run keep their ASIDs, everybody else needs another one. */
static void roll_over(struct arm64_state *s, const struct policy_view *view)
{
	s->generation++;
	s->used = 0;
	for (unsigned int cpu = 0; cpu < view->nr_cpus; cpu++) {
		uint32_t mm = s->active[cpu];

		if (mm && s->generations[mm] != s->generation) {
			s->generations[mm] = s->generation;
			s->used++;
		}
	}
	set_fill(view, s->pending);
}

/* MM is loaded on CPU: must that CPU flush? */
static bool switch_flushes(struct arm64_state *s, const struct policy_view *view,
			   const struct arm64_params *params, uint32_t mm, unsigned int cpu)
{
	/* Number 0 is never given out; with KPTI every other one belongs to the kernel. */
	uint32_t total = (UINT32_C(1) << params->asid_bits >> (params->kpti != 0)) - 1;
	bool flush;

	/* A lazy CPU that comes back to the mm it had does not switch. */
	if (!mm || set_has(view->loaded(view, mm), cpu) || !asids_ready(s, view, mm))
		return false;
	if (s->generations[mm] != s->generation) {
		if (s->used >= total)
			roll_over(s, view);
		if (s->generations[mm] != s->generation) {
			s->generations[mm] = s->generation;
			s->used++;
		}
	}
	s->active[cpu] = mm;
	flush = set_has(s->pending, cpu);
	set_put(s->pending, cpu, false);
	return flush;
}

void arm64_forget(void *state, uint32_t mm)
{
	struct arm64_state *s = state;

	if (mm)
		return; /* an ASID is not free before the next rollover */
	free(s->generations);
	free(s->active);
	free(s->pending);
}

/* ---- limits and overlays ---- */

/*
 * __flush_tlb_range_limit_excess() and flush_tlb_kernel_range(). MAX_DVM_OPS is PTRS_PER_PTE, and
 * MAX_TLBI_RANGE_PAGES is 2^21. A stride is what one entry of the level maps.
 */
static bool over_limit(const struct policy_view *view, const struct arm64_params *params,
		       const struct tlb_event *event)
{
	unsigned int entries_shift = view->page_shift - 3;
	uint64_t entries = UINT64_C(1) << entries_shift, strides = event->pages;

	if (!event->pages)
		return true;
	if (event->point == POINT_KERNEL)
		return event->pages > entries;
	/* move_page_tables() always goes by pages, except for hugetlb. */
	if (event->level == LEVEL_HUGETLB ||
	    (event->level == LEVEL_PMD && event->point != POINT_MREMAP)) {
		uint64_t first = event->addr >> view->page_shift;

		strides = ((first + event->pages - 1) >> entries_shift) - (first >> entries_shift) +
			  1;
	}
	return (!params->range_ops && strides >= entries) || event->pages > UINT64_C(1) << 21;
}

static void overlay(const struct arm64_params *params, const struct tlb_event *event,
		    struct policy_action *act)
{
	unsigned int times = act->times ? act->times : 1;

	/* arch_tlbbatch_should_defer() */
	if ((event->point == POINT_RECLAIM || event->point == POINT_MIGRATE) &&
	    act->wait == WAIT_BATCHED && (!params->reclaim_batching || params->repeat_tlbi))
		act->wait = WAIT_SYNC;
	if (params->guest && act->scope == SCOPE_LOCAL)
		act->scope = SCOPE_BROADCAST;
	if (!params->sva)
		act->flags &= (uint8_t)~ACT_NOTIFY;
	if (params->repeat_tlbi)
		times *= 2;
	if (params->kpti && event->point != POINT_KERNEL && act->reach != REACH_ALL)
		times *= 2;
	act->times = times > 1 ? (uint8_t)times : 0;
}

void arm64_decide(const struct policy_view *view, const void *params, void *state,
		  const struct tlb_event *event, struct policy_cell *cell)
{
	const struct arm64_params *own = params;

	if (event->point == POINT_SWITCH) {
		if (switch_flushes(state, view, own, event->mm, event->cpu))
			cell->act[0] = (struct policy_action)L(ALL, 0);
	} else if (event->point == POINT_BATCH_PENDING &&
		   (!own->reclaim_batching || own->repeat_tlbi)) {
		/* No batch, nothing pending. */
		*cell = (struct policy_cell){0};
		return;
	}
	for (unsigned int i = 0; i < POLICY_ACTIONS && cell->act[i].scope != SCOPE_NONE; i++) {
		struct policy_action *act = &cell->act[i];

		if (act->reach == REACH_HULL && over_limit(view, own, event))
			act->reach = event->point == POINT_KERNEL ? REACH_ALL : REACH_MM;
		overlay(own, event, act);
	}
}
