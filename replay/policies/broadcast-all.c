// SPDX-License-Identifier: GPL-2.0-or-later
/* broadcast-all: every change of an entry is broadcast and waited for. The upper limit. */
#include "replay/policies/arm64.h"

/* clang-format off */
#define EACH(r)                                                                                    \
	{[LEVEL_PTE] = {{B(r, WALK)}}, [LEVEL_CONTPTE] = {{B(r, WALK)}},                           \
	 [LEVEL_PMD] = {{B(r, WALK)}}, [LEVEL_HUGETLB] = {{B(r, WALK)}}}
/* Those that change a block and its pages, each on its own. */
#define EACH_TWICE(first, then)                                                                    \
	{[LEVEL_PTE] = {{B(then, WALK)}}, [LEVEL_CONTPTE] = {{B(first, WALK), B(then, WALK)}},     \
	 [LEVEL_PMD] = {{B(first, WALK), B(then, WALK)}}, [LEVEL_HUGETLB] = {{B(first, WALK)}}}

const struct policy policy_broadcast_all = {
	.api = POLICY_API,
	.name = "broadcast-all",
	.summary = "every change of an entry broadcasts and waits, access flags too: the upper limit",
	.source = "none: a limit",
	.omits = "every optimisation that a kernel has; a range is one flush whatever its length",
	.flags = POLICY_BREAKS_FIRST,
	.table = {
		[POINT_WP_REUSE] = EACH_TWICE(BLOCK, PAGE),
		[POINT_DIRTY_UP] = EACH_TWICE(BLOCK, PAGE),
		[POINT_HUGETLB_REUSE] = {[LEVEL_HUGETLB] = {{B(BLOCK, WALK)}}},
		[POINT_YOUNG] = EACH_TWICE(BLOCK, PAGE),
		[POINT_COW] = EACH_TWICE(BLOCK, PAGE),
		[POINT_UNMAP] = EACH(HULL),
		[POINT_TABLES_FREED] = EACH(HULL),
		[POINT_NESTED] = {[LEVEL_MM] = {{B(MM, WALK)}}},
		[POINT_BATCH_PENDING] = {[LEVEL_MM] = {{B(MM, WALK)}}},
		[POINT_PROTECT] = EACH_TWICE(HULL, HULL),
		[POINT_PROT_NONE_RW] = EACH_TWICE(HULL, HULL),
		[POINT_NUMA] = EACH_TWICE(HULL, HULL),
		[POINT_FORK] = {[LEVEL_MM] = {{B(MM, WALK)}}},
		[POINT_MIGRATE] = EACH_TWICE(BLOCK, PAGE),
		[POINT_RECLAIM] = EACH_TWICE(BLOCK, PAGE),
		[POINT_AGE] = EACH_TWICE(BLOCK, PAGE),
		[POINT_CLEAN] = EACH_TWICE(BLOCK, PAGE),
		[POINT_MREMAP] = EACH(HULL),
		[POINT_SPLIT] = EACH(BLOCK),
		[POINT_COLLAPSE] = EACH(BLOCK),
		[POINT_FOLD] = EACH(BLOCK),
		[POINT_UNFOLD] = EACH(BLOCK),
		[POINT_EXIT] = {[LEVEL_MM] = {{B(MM, WALK)}}},
		[POINT_KERNEL] = {[LEVEL_ALL] = {{B(HULL, WALK)}}},
	},
	/* clang-format on */
};
