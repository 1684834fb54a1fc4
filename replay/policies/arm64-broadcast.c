// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64-broadcast: what arm64 kernels did up to and including 6.18.
 *
 * Every change to a present entry is followed by a TLBI that the interconnect broadcasts to all CPUs
 * and a DSB ISH that waits for all of them, the harmless change from read-only to writable included.
 */
#include "replay/policies/arm64.h"

const struct policy policy_arm64_broadcast = {
	.api = POLICY_API,
	.name = "arm64-broadcast",
	.summary = "arm64 as released: every change broadcasts a TLBI, write upgrades too",
	.source = "Linux 6.12: arch/arm64/mm/fault.c __ptep_set_access_flags(), "
		  "arch/arm64/include/asm/tlbflush.h, tlb.h",
	.omits = "repeat-TLBI and 2645198 errata, KPTI's second operation, VMALLE1 after an ASID rollover",
	.params = arm64_params,
	.params_size = sizeof(struct arm64_params),
	/* clang-format off */
	.table = {
		[POINT_WP_REUSE] = {
			[LEVEL_PTE] = {{B(PAGE, LEAF)}},
			/* The block is unfolded first, which needs break-before-make. */
			[LEVEL_CONTPTE] = {{B(BLOCK, LEAF), B(PAGE, LEAF)}},
			[LEVEL_PMD] = {{B(BLOCK, LEAF)}},
			[LEVEL_HUGETLB] = {{B(BLOCK, LEAF)}},
		},
		[POINT_DIRTY_UP] = {
			[LEVEL_PTE] = {{B(PAGE, LEAF)}},
			[LEVEL_CONTPTE] = {{B(BLOCK, LEAF)}},
			[LEVEL_PMD] = {{B(BLOCK, LEAF)}},
			[LEVEL_HUGETLB] = {{B(BLOCK, LEAF)}},
		},
		[POINT_HUGETLB_REUSE] = {[LEVEL_HUGETLB] = {{B(BLOCK, LEAF)}}},
		ARM64_SHARED_ROWS,
	},
	/* clang-format on */
	.decide = arm64_limits,
};
