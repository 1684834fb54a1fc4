/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the arm64 policies share: every row of the table in which they do not differ, after Linux
 * 6.12 (arch/arm64/include/asm/tlbflush.h, mm/memory.c, mm/mprotect.c, kernel/fork.c), and the limits
 * at which a range becomes the whole address space.
 */
#ifndef POLICIES_ARM64_H
#define POLICIES_ARM64_H

#include "replay/policy.h"

#define B(r, f)   {.scope = SCOPE_BROADCAST, .reach = REACH_##r, .flags = (f)}
#define B_BATCH(r, f) {.scope = SCOPE_BROADCAST, .reach = REACH_##r, .wait = WAIT_BATCHED, .flags = (f)}
#define L(r, f)   {.scope = SCOPE_LOCAL, .reach = REACH_##r, .flags = (f)}
#define LEAF      (ACT_NOTIFY | ACT_KEEP_WALK)
#define WALK      ACT_NOTIFY

/* clang-format off */
#define ARM64_SHARED_ROWS                                                                          \
	[POINT_COW] = {                                                                            \
		[LEVEL_PTE] = {{B(PAGE, LEAF)}},                                                   \
		[LEVEL_CONTPTE] = {{B(BLOCK, LEAF), B(PAGE, LEAF)}},                               \
		[LEVEL_PMD] = {{B(BLOCK, WALK), B(PAGE, LEAF)}},                                   \
		[LEVEL_HUGETLB] = {{B(BLOCK, LEAF)}},                                              \
	},                                                                                         \
	[POINT_UNMAP] = {                                                                          \
		[LEVEL_PTE] = {{B(HULL, LEAF)}}, [LEVEL_CONTPTE] = {{B(HULL, LEAF)}},              \
		[LEVEL_PMD] = {{B(HULL, LEAF)}}, [LEVEL_HUGETLB] = {{B(HULL, LEAF)}},              \
	},                                                                                         \
	[POINT_TABLES_FREED] = {                                                                   \
		[LEVEL_PTE] = {{B(HULL, WALK)}}, [LEVEL_PMD] = {{B(HULL, WALK)}},                  \
	},                                                                                         \
	[POINT_NESTED] = {[LEVEL_MM] = {{B(MM, WALK)}}},                                           \
	[POINT_BATCH_PENDING] = {[LEVEL_MM] = {{B(MM, WALK)}}},                                    \
	[POINT_PROTECT] = {                                                                        \
		[LEVEL_PTE] = {{B(HULL, LEAF)}}, [LEVEL_CONTPTE] = {{B(HULL, LEAF)}},              \
		[LEVEL_PMD] = {{B(HULL, LEAF), B(HULL, LEAF)}},                                    \
		[LEVEL_HUGETLB] = {{B(HULL, LEAF)}},                                               \
	},                                                                                         \
	[POINT_PROT_NONE_RW] = {                                                                   \
		[LEVEL_PTE] = {{B(HULL, LEAF)}}, [LEVEL_PMD] = {{B(HULL, LEAF), B(HULL, LEAF)}},   \
	},                                                                                         \
	[POINT_NUMA] = {                                                                           \
		[LEVEL_PTE] = {{B(HULL, LEAF)}}, [LEVEL_PMD] = {{B(HULL, LEAF), B(HULL, LEAF)}},   \
	},                                                                                         \
	[POINT_FORK] = {[LEVEL_MM] = {{B(MM, WALK)}}},                                             \
	[POINT_MIGRATE] = {                                                                        \
		[LEVEL_PTE] = {{B_BATCH(PAGE, LEAF)}},                                             \
		[LEVEL_CONTPTE] = {{B(BLOCK, LEAF), B_BATCH(PAGE, LEAF)}},                         \
		[LEVEL_PMD] = {{B(BLOCK, LEAF)}},                                                  \
	},                                                                                         \
	[POINT_RECLAIM] = {                                                                        \
		[LEVEL_PTE] = {{B_BATCH(PAGE, LEAF)}},                                             \
		[LEVEL_CONTPTE] = {{B(BLOCK, LEAF), B_BATCH(PAGE, LEAF)}},                         \
		[LEVEL_PMD] = {{B(BLOCK, LEAF)}},                                                  \
	},                                                                                         \
	[POINT_AGE] = {                                                                            \
		[LEVEL_PTE] = {{B_BATCH(PAGE, LEAF)}}, [LEVEL_CONTPTE] = {{B_BATCH(BLOCK, LEAF)}}, \
		[LEVEL_PMD] = {{B(BLOCK, LEAF)}},                                                  \
	},                                                                                         \
	[POINT_CLEAN] = {                                                                          \
		[LEVEL_PTE] = {{B(PAGE, LEAF)}}, [LEVEL_CONTPTE] = {{B(BLOCK, LEAF)}},             \
		[LEVEL_PMD] = {{B(BLOCK, LEAF)}},                                                  \
	},                                                                                         \
	[POINT_MREMAP] = {                                                                         \
		[LEVEL_PTE] = {{B(HULL, WALK)}}, [LEVEL_PMD] = {{B(HULL, WALK)}},                  \
		[LEVEL_HUGETLB] = {{B(HULL, WALK)}},                                               \
	},                                                                                         \
	[POINT_SPLIT] = {[LEVEL_PMD] = {{B(BLOCK, WALK)}}},                                        \
	[POINT_COLLAPSE] = {[LEVEL_PMD] = {{B(BLOCK, WALK)}}},                                     \
	[POINT_FOLD] = {[LEVEL_CONTPTE] = {{B(BLOCK, LEAF)}}},                                     \
	[POINT_UNFOLD] = {[LEVEL_CONTPTE] = {{B(BLOCK, LEAF)}}},                                   \
	[POINT_EXIT] = {[LEVEL_MM] = {{B(MM, WALK)}}},                                             \
	[POINT_KERNEL] = {[LEVEL_ALL] = {{B(HULL, WALK)}}}
/* clang-format on */

struct arm64_params {
	int64_t range_ops; /* FEAT_TLBIRANGE */
};

extern const struct param arm64_params[];

/* Applies the limits to every action of CELL. */
void arm64_limits(const struct policy_view *view, const void *params, void *state,
		  const struct tlb_event *event, struct policy_cell *cell);

#endif
