// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64-broadcast: what arm64 kernels did up to and including 6.18.
 *
 * Every change to a present entry is followed by a TLBI that the interconnect broadcasts to all
 * CPUs and a DSB ISH that waits for all of them, the harmless change from read-only to writable
 * included.
 */
#include "replay/policies/arm64.h"

const struct policy policy_arm64_broadcast = {
	.api = POLICY_API,
	.name = "arm64-broadcast",
	.summary = "arm64 as released: every change broadcasts a TLBI, write upgrades too",
	.source = "Linux 6.12: arch/arm64/mm/fault.c __ptep_set_access_flags(), "
		  "arch/arm64/include/asm/tlbflush.h, tlb.h",
	.omits = "erratum 2645198, the interrupts to every CPU at a collapse, ASIDs that were in "
		 "use before "
		 "the recording",
	.beyond = ARM64_BEYOND,
	.flags = POLICY_BREAKS_FIRST,
	.hooked = ARM64_HOOKED,
	.plain = ARM64_PLAIN,
	.params = arm64_params,
	.params_size = sizeof(struct arm64_params),
	.state_size = sizeof(struct arm64_state),
	.table =
		{
			ARM64_UPGRADE_ROWS,
			ARM64_SHARED_ROWS,
		},
	.decide = arm64_decide,
	.forget = arm64_forget,
};
