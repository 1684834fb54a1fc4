// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64-cpumask: a set of the CPUs that an mm has run on decides how far a flush must go.
 *
 *	nowhere                       nothing to flush
 *	here only                     local
 *	up to ipi_max CPUs            an interrupt to each of them
 *	more                          broadcast
 *
 * The set never shrinks: entries carry an ASID and outlive a switch.
 */
#include "replay/policies/arm64.h"
#include "replay/policies/sets.h"

struct cpumask_params {
	struct arm64_params arm64;
	int64_t local_max;
	int64_t ipi_max;
};

static const struct param cpumask_params[] = {
	ARM64_PARAMS,
	{.name = "local_max",
	 .type = PARAM_COUNT,
	 .offset = offsetof(struct cpumask_params, local_max),
	 .unit = "CPUs",
	 .def = 1,
	 .min = 0,
	 .max = 1,
	 .help = "an mm that has run on no more CPUs than this, and on no other, is flushed "
		 "locally (0: never)"},
	{.name = "ipi_max",
	 .type = PARAM_COUNT,
	 .offset = offsetof(struct cpumask_params, ipi_max),
	 .unit = "CPUs",
	 .def = 3,
	 .min = 0,
	 .max = 65536,
	 .help = "an mm that has run on no more CPUs than this is flushed by interrupts to them "
		 "(assumed: "
		 "where it pays is for the cost presets to say; 0: never)"},
	PARAM_END,
};

static void narrow(const struct policy_view *view, const struct cpumask_params *params,
		   const struct tlb_event *event, struct policy_action *act)
{
	const uint64_t *ran = view->visited(view, event->mm);
	unsigned int n = set_count(view, ran);

	if (!n) {
		act->scope = SCOPE_NONE;
	} else if (n <= params->local_max && set_has(ran, event->cpu)) {
		act->scope = SCOPE_LOCAL;
	} else if (n <= params->ipi_max) {
		act->scope = SCOPE_MASK;
		act->flags |= ACT_SET;
		set_copy(view, view->set, ran);
	}
}

static void decide(const struct policy_view *view, const void *params, void *state,
		   const struct tlb_event *event, struct policy_cell *cell)
{
	for (unsigned int i = 0; i < POLICY_ACTIONS; i++)
		if (arm64_user_action(event, &cell->act[i]))
			narrow(view, params, event, &cell->act[i]);
	arm64_decide(view, params, state, event, cell);
}

const struct policy policy_arm64_cpumask = {
	.api = POLICY_API,
	.name = "arm64-cpumask",
	.summary = "arm64 with a mask: none, local, interrupts or broadcast by how many CPUs the "
		   "mm has run on",
	.source = "\"arm64: tlb: skip tlbi broadcast\" v2 (linux-arm-kernel, February 2020), and "
		  "for the "
		  "interrupts \"arm64: Implement IPI based TLB invalidation\" (August 2016) and "
		  "CONFIG_ARM64_TLBI_IPI (Fujitsu, 2019)",
	.omits = "that the series counts the CPUs which run the mm at the moment and flushes at a "
		 "later switch, the cost of keeping the mask; and what arm64-broadcast omits",
	.beyond = "the number of CPUs that the mm has been loaded on chooses the scope of every "
		  "user flush; " ARM64_BEYOND,
	.flags = POLICY_BREAKS_FIRST,
	.hooked = ARM64_HOOKED,
	.params = cpumask_params,
	.params_size = sizeof(struct cpumask_params),
	.state_size = sizeof(struct arm64_state),
	.table =
		{
			ARM64_UPGRADE_ROWS,
			ARM64_SHARED_ROWS,
		},
	.decide = decide,
	.forget = arm64_forget,
};
