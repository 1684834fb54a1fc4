// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * upgrade-never: arm64's instructions on CPUs that walk again after a permission fault, as x86 ones
 * do:
 * then an upgrade has nothing to flush anywhere, and a spurious fault nothing to fix.
 */
#include "replay/policies/arm64.h"

const struct policy policy_upgrade_never = {
	.api = POLICY_API,
	.name = "upgrade-never",
	.summary = "as arm64-broadcast, but write upgrades flush nothing, on CPUs that walk again "
		   "after a fault",
	.source = "none: what an architecture could do whose CPUs drop an entry that a permission "
		  "fault came "
		  "from",
	.omits = "break before make where a reuse takes a contpte block apart (as if with FEAT_BBM "
		 "level 2); "
		 "and what arm64-broadcast omits",
	.beyond = ARM64_BEYOND,
	.flags = POLICY_REWALKS,
	.hooked = ARM64_HOOKED,
	.plain = ARM64_PLAIN,
	.params = arm64_params,
	.params_size = sizeof(struct arm64_params),
	.state_size = sizeof(struct arm64_state),
	.table =
		{
			ARM64_SHARED_ROWS,
		},
	.decide = arm64_decide,
	.forget = arm64_forget,
};
