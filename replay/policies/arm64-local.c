// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64-local: a write upgrade flushes on this CPU only, and a CPU that still holds the read-only
 * entry takes one spurious fault, which flushes its own entry and tries again.
 *
 * Rows that differ from arm64-broadcast: wp_reuse, dirty_up, hugetlb_reuse, spurious. A contpte
 * block that a reuse takes apart still broadcasts the block once, because a contiguous bit may not
 * change under a live entry. Nothing fixes a spurious fault on hugetlb.
 */
#include "replay/policies/arm64.h"

static void decide(const struct policy_view *view, const void *params, void *state,
		   const struct tlb_event *event, struct policy_cell *cell)
{
	/*
	 * fix_spurious_fault() lets a fault that comes back after a wait (FAULT_FLAG_TRIED) try
	 * anew.
	 */
	if (event->point == POINT_SPURIOUS && event->flags & EVENT_TRIED)
		*cell = (struct policy_cell){0};
	arm64_decide(view, params, state, event, cell);
}

const struct policy policy_arm64_local = {
	.api = POLICY_API,
	.name = "arm64-local",
	.summary = "arm64 with local flush at write upgrades and spurious faults fixed on the CPU "
		   "that has them",
	.source = "series \"arm, tlbflush: avoid TLBI broadcast if page reused in write fault\" v3 "
		  "(linux-arm-kernel, October 2025)",
	.omits = "erratum 2645198, the interrupts to every CPU at a collapse, ASIDs that were in "
		 "use before "
		 "the recording; no spurious fix for hugetlb, as in the series",
	.beyond = "a spurious fault that is a repetition (TRIED) flushes nothing; " ARM64_BEYOND,
	.flags = POLICY_BREAKS_FIRST,
	.hooked = ARM64_HOOKED,
	.plain = ARM64_PLAIN,
	.params = arm64_params,
	.params_size = sizeof(struct arm64_params),
	.state_size = sizeof(struct arm64_state),
	/* clang-format off */
	.table = {
		[POINT_WP_REUSE] = {
			[LEVEL_PTE] = {{L(PAGE, LEAF)}},
			[LEVEL_CONTPTE] = {{B(BLOCK, LEAF), L(PAGE, LEAF)}},
			[LEVEL_PMD] = {{L(BLOCK, LEAF)}},
			[LEVEL_HUGETLB] = {{L(PAGE, LEAF)}},
		},
		[POINT_DIRTY_UP] = {
			[LEVEL_PTE] = {{L(PAGE, LEAF)}},
			[LEVEL_CONTPTE] = {{L(BLOCK, LEAF)}},
			[LEVEL_PMD] = {{L(BLOCK, LEAF)}},
			[LEVEL_HUGETLB] = {{L(PAGE, LEAF)}},
		},
		[POINT_HUGETLB_REUSE] = {[LEVEL_HUGETLB] = {{L(PAGE, LEAF)}}},
		[POINT_SPURIOUS] = {
			[LEVEL_PTE] = {{L(PAGE, ACT_KEEP_WALK)}},
			[LEVEL_CONTPTE] = {{L(PAGE, ACT_KEEP_WALK)}},
			[LEVEL_PMD] = {{L(PAGE, ACT_KEEP_WALK)}},
		},
		ARM64_SHARED_ROWS,
	},
	/* clang-format on */
	.decide = decide,
	.forget = arm64_forget,
};
