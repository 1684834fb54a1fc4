// SPDX-License-Identifier: GPL-2.0-or-later
/* The registry: one line per policy. Help, tests and the database's rows derive from it. */
#include "replay/policy.h"

#include <string.h>

extern const struct policy policy_arm64_broadcast;
extern const struct policy policy_arm64_local;
extern const struct policy policy_x86;
extern const struct policy policy_none;

const struct policy *const policies[] = {
	&policy_arm64_broadcast,
	&policy_arm64_local,
	&policy_x86,
	&policy_none,
	NULL,
};

const struct policy *policy_find(const char *name)
{
	for (size_t i = 0; policies[i]; i++)
		if (!strcmp(policies[i]->name, name))
			return policies[i];
	return NULL;
}
