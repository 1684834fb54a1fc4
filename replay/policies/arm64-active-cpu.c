// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64-active-cpu: the kernel keeps with each mm the one CPU that it has ever run on, or
 * "several". While it is the CPU that flushes, no other can hold an entry and the flush stays at
 * home. Once a second CPU has loaded the mm it is "several" for good.
 */
#include "replay/policies/arm64.h"
#include "replay/policies/sets.h"

static void decide(const struct policy_view *view, const void *params, void *state,
		   const struct tlb_event *event, struct policy_cell *cell)
{
	for (unsigned int i = 0; i < POLICY_ACTIONS; i++) {
		struct policy_action *act = &cell->act[i];

		if (!arm64_user_action(event, act))
			continue;
		const uint64_t *ran = view->visited(view, event->mm);
		if (set_has(ran, event->cpu) && !set_others(view, ran, event->cpu))
			act->scope = SCOPE_LOCAL;
	}
	arm64_decide(view, params, state, event, cell);
}

const struct policy policy_arm64_active_cpu = {
	.api = POLICY_API,
	.name = "arm64-active-cpu",
	.summary = "as arm64-broadcast, but local while the mm has only ever run on this CPU",
	.source = "series \"arm64: tlbflush: Don't broadcast if mm was only active on local cpu\" "
		  "(linux-arm-kernel, RFC August 2025, v2 May 2026)",
	.omits = "that a rollover of the ASIDs makes an mm local again (a companion patch), the "
		 "stronger "
		 "barrier of a local flush; and what arm64-broadcast omits",
	.beyond = "every flush of a user mm that has been loaded on this CPU alone is "
		  "local; " ARM64_BEYOND,
	.flags = POLICY_BREAKS_FIRST,
	.hooked = ARM64_HOOKED,
	.params = arm64_params,
	.params_size = sizeof(struct arm64_params),
	.state_size = sizeof(struct arm64_state),
	.table =
		{
			ARM64_UPGRADE_ROWS,
			ARM64_SHARED_ROWS,
		},
	.decide = decide,
	.forget = arm64_forget,
};
