// SPDX-License-Identifier: GPL-2.0-or-later
/* The registry: one line per policy. Help, tests and the database's rows derive from it. */
#include "replay/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

extern const struct policy policy_arm64_broadcast;
extern const struct policy policy_arm64_local;
extern const struct policy policy_arm64_active_cpu;
extern const struct policy policy_arm64_cpumask;
extern const struct policy policy_x86;
extern const struct policy policy_x86_invlpgb;
extern const struct policy policy_single_thread_local;
extern const struct policy policy_deferred;
extern const struct policy policy_upgrade_never;
extern const struct policy policy_sharers;
extern const struct policy policy_broadcast_all;
extern const struct policy policy_none;

const struct policy *const policies[] = {
	&policy_arm64_broadcast,
	&policy_arm64_local,
	&policy_arm64_active_cpu,
	&policy_arm64_cpumask,
	&policy_x86,
	&policy_x86_invlpgb,
	&policy_single_thread_local,
	&policy_deferred,
	&policy_upgrade_never,
	&policy_sharers,
	&policy_broadcast_all,
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

/* ---- is it sane? ---- */

/* Names appear in specs, in a database and in file names. */
static bool is_name(const char *text, const char *more)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	while (text[n] && strchr(more, text[n]))
		n += 1 + strspn(text + n + 1,
				"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	return n && !text[n] && n < 64;
}

static const char *action_fault(const struct policy *policy, const struct policy_action *act)
{
	if (act->scope >= NR_SCOPES)
		return "scope out of range";
	if (act->reach > REACH_ALL)
		return "reach out of range";
	if (act->wait > WAIT_DEFERRED)
		return "wait out of range";
	if (act->flags & ~(ACT_NOTIFY | ACT_KEEP_WALK | ACT_LAZY | ACT_SET))
		return "unknown flags";
	if (act->scope == SCOPE_NONE && (act->reach || act->wait || act->flags || act->times))
		return "something is said of a flush that goes nowhere";
	if (act->flags & (ACT_LAZY | ACT_SET) && act->scope != SCOPE_MASK)
		return "lazy CPUs or a set of CPUs without scope mask";
	if (act->flags & ACT_SET && !policy->decide)
		return "a set of CPUs, and no hook to fill it";
	if (act->wait == WAIT_DEFERRED && !policy->defer_ns)
		return "a deferred flush, and no defer_ns";
	return NULL;
}

static int check_table(const struct policy *policy, char *err, size_t err_size)
{
	for (unsigned int point = 0; point < NR_POINTS; point++)
		for (unsigned int level = 0; level < NR_LEVELS; level++) {
			const struct policy_cell *cell = &policy->table[point][level];
			bool ended = false;

			for (unsigned int i = 0; i < POLICY_ACTIONS; i++) {
				const char *fault = action_fault(policy, &cell->act[i]);

				if (!fault && ended && cell->act[i].scope != SCOPE_NONE)
					fault = "a second flush without a first";
				ended |= cell->act[i].scope == SCOPE_NONE;
				if (!fault)
					continue;
				snprintf(err, err_size, "its table at %s, %s: %s",
					 point_name(point), level_name(level), fault);
				return -EINVAL;
			}
		}
	return 0;
}

static const char *param_fault(const struct policy *policy, const struct param *p)
{
	if (!is_name(p->name, "_"))
		return "its name is not of letters, digits and _";
	if ((unsigned int)p->type > PARAM_FRACTION)
		return "type out of range";
	if (p->offset % 8 || p->offset > policy->params_size || policy->params_size - p->offset < 8)
		return "it lies outside of params_size";
	if (!p->unit || !p->help)
		return "no unit or no help";
	if (!(p->min <= p->def && p->def <= p->max))
		return "its default is out of its range";
	for (const struct param *other = policy->params; other != p; other++)
		if (!strcmp(other->name, p->name))
			return "there are two of it";
	return NULL;
}

static int check_params(const struct policy *policy, char *err, size_t err_size)
{
	size_t n = 0;

	for (const struct param *p = policy->params; p && p->name; p++, n++) {
		const char *fault =
			n < 32 ? param_fault(policy, p) : "more than 32, or no PARAM_END";

		if (!fault)
			continue;
		snprintf(err, err_size, "its parameter '%.40s': %s",
			 is_name(p->name, "_") ? p->name : "?", fault);
		return -EINVAL;
	}
	return 0;
}

int policy_check(const struct policy *policy, char *err, size_t err_size)
{
	if (policy->api != POLICY_API) {
		snprintf(err, err_size,
			 "it is made for version %u of the policy interface; this is version %d",
			 policy->api, POLICY_API);
		return -EINVAL;
	}
	if (!policy->name || !is_name(policy->name, "-.")) {
		snprintf(err, err_size,
			 "its name is missing, or not of letters, digits, '_', '-' and '.'");
		return -EINVAL;
	}
	if (!policy->summary || !policy->source || !policy->omits) {
		snprintf(err, err_size, "it has no summary, no source or no omits");
		return -EINVAL;
	}
	if (policy->hooked && (!policy->decide || policy->hooked >> NR_POINTS)) {
		snprintf(err, err_size,
			 "hooked names points out of range, or there is no decide()");
		return -EINVAL;
	}
	int ret = check_table(policy, err, err_size);
	return ret ? ret : check_params(policy, err, err_size);
}
