// SPDX-License-Identifier: GPL-2.0-or-later
/* none: never flushes. No kernel could; it shows what every stale entry would be. */
#include "replay/policy.h"

const struct policy policy_none = {
	.api = POLICY_API,
	.name = "none",
	.summary = "never flushes anything: the control that must come out unsafe",
	.source = "none: a control",
	.omits = "everything that keeps a system alive",
};
