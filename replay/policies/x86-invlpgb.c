// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * x86-invlpgb: AMD's broadcast invalidation. An mm that is found active on more than three CPUs
 * gets one ASID for all CPUs, and is flushed by INVLPGB and TLBSYNC from then on: no interrupt,
 * nothing to catch up with at a switch. It is looked at now and then, after a flush that had to
 * interrupt.
 *
 * Reclaim's batch ends with one broadcast over all address spaces, and kernel ranges are broadcast,
 * too.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/policies/sets.h"
#include "replay/policies/x86.h"

struct invlpgb_params {
	struct x86_params x86;
	int64_t active;
	int64_t sample;
	int64_t jiffy;
	int64_t op_pages;
};

static const struct param invlpgb_params[] = {
	X86_PARAMS,
	{.name = "active",
	 .type = PARAM_COUNT,
	 .offset = offsetof(struct invlpgb_params, active),
	 .unit = "CPUs",
	 .def = 3,
	 .min = 0,
	 .max = 65536,
	 .help = "an mm that runs on more CPUs than this when it is looked at gets a global ASID"},
	{.name = "sample",
	 .type = PARAM_COUNT,
	 .offset = offsetof(struct invlpgb_params, sample),
	 .unit = "jiffies",
	 .def = 32,
	 .min = 1,
	 .max = 1e6,
	 .help = "a task looks in one jiffy of so many, which one by its pid (1: at every flush)"},
	{.name = "jiffy",
	 .type = PARAM_TIME,
	 .offset = offsetof(struct invlpgb_params, jiffy),
	 .unit = "ns",
	 .def = 4e6,
	 .min = 1e5,
	 .max = 1e9,
	 .help = "1/CONFIG_HZ"},
	{.name = "op_pages",
	 .type = PARAM_COUNT,
	 .offset = offsetof(struct invlpgb_params, op_pages),
	 .unit = "pages",
	 .def = 8,
	 .min = 1,
	 .max = 65536,
	 .help = "strides that one INVLPGB reaches (CPUID 8000_0008h, EDX[15:0] + 1)"},
	PARAM_END,
};

struct invlpgb_state {
	struct x86_state x86;
	uint8_t *global; /* by mm: has a global ASID */
	size_t nr_global;
};

static bool is_global(const struct invlpgb_state *s, uint32_t mm)
{
	return mm < s->nr_global && s->global[mm];
}

static void make_global(struct invlpgb_state *s, uint32_t mm)
{
	if (mm >= s->nr_global) {
		size_t nr = s->nr_global ? s->nr_global * 2 : 1024;

		while (nr <= mm)
			nr *= 2;
		uint8_t *more = realloc(s->global, nr);
		if (!more)
			return;
		memset(more + s->nr_global, 0, nr - s->nr_global);
		s->global = more;
		s->nr_global = nr;
	}
	s->global[mm] = 1;
}

/* consider_global_asid() */
static void consider(const struct policy_view *view, const struct invlpgb_params *params,
		     struct invlpgb_state *s, const struct tlb_event *event)
{
	if (event->tid % (uint64_t)params->sample !=
	    event->time_ns / (uint64_t)params->jiffy % (uint64_t)params->sample)
		return;
	if (!set_others(view, view->loaded(view, event->mm), event->cpu))
		return; /* nobody was interrupted */
	if (set_count(view, set_active(view, event->mm)) > params->active)
		make_global(s, event->mm);
}

/* broadcast_tlb_flush(), arch_tlbbatch_flush(), invlpgb_kernel_range_flush() */
static void broadcast(const struct policy_view *view, const struct invlpgb_params *params,
		      const struct tlb_event *event, struct policy_action *act)
{
	uint64_t strides = x86_strides(view, event), times = 1;

	act->scope = SCOPE_BROADCAST;
	act->flags &= (uint8_t)~ACT_LAZY;
	if (act->wait == WAIT_BATCHED)
		act->reach = REACH_ALL;
	else if (act->reach == REACH_HULL)
		times = (strides + (uint64_t)params->op_pages - 1) / (uint64_t)params->op_pages;
	act->times = times > 1 ? (uint8_t)(times < UINT8_MAX ? times : UINT8_MAX) : 0;
}

static void decide(const struct policy_view *view, const void *params, void *state,
		   const struct tlb_event *event, struct policy_cell *cell)
{
	const struct invlpgb_params *own = params;
	struct invlpgb_state *s = state;
	bool global = is_global(s, event->mm), interrupts = false;

	if (event->point == POINT_SWITCH && global)
		return;
	x86_decide(view, params, &s->x86, event, cell);
	if (event->point == POINT_SWITCH)
		return;
	for (unsigned int i = 0; i < POLICY_ACTIONS && cell->act[i].scope != SCOPE_NONE; i++) {
		struct policy_action *act = &cell->act[i];

		if (global || event->point == POINT_KERNEL || act->wait == WAIT_BATCHED)
			broadcast(view, own, event, act);
		else
			interrupts = true;
	}
	if (interrupts && event->mm && event->sure.estimate)
		consider(view, own, s, event);
}

static void forget(void *state, uint32_t mm)
{
	struct invlpgb_state *s = state;

	x86_forget(&s->x86, mm);
	if (!mm)
		free(s->global);
}

const struct policy policy_x86_invlpgb = {
	.api = POLICY_API,
	.name = "x86-invlpgb",
	.summary = "x86 with INVLPGB: an mm active on more than 3 CPUs is broadcast to, without "
		   "interrupts",
	.source = "Linux 6.15: arch/x86/mm/tlb.c consider_global_asid(), broadcast_tlb_flush(), "
		  "arch_tlbbatch_flush() (series \"AMD broadcast TLB invalidation\", 2025)",
	.omits = "the interrupts to CPUs that still use the old ASID after an mm got its global "
		 "one, running "
		 "out of global ASIDs, where in its 32 jiffies the recorded host stood, KPTI's "
		 "second PCID, "
		 "trimming of the mask",
	.beyond = "an mm with a global ASID is broadcast to, and needs no flush at a switch; "
		  "batches and kernel "
		  "ranges are broadcast for all; " X86_BEYOND,
	.flags = POLICY_REWALKS,
	.hooked = X86_HOOKED,
	.plain = X86_PLAIN,
	.params = invlpgb_params,
	.params_size = sizeof(struct invlpgb_params),
	.state_size = sizeof(struct invlpgb_state),
	.table =
		{
			X86_ROWS,
		},
	.decide = decide,
	.forget = forget,
};
