// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/param.h"

static const char *read_value(const struct sweep_axis *axis, const char *text, double *value)
{
	int64_t n;

	if (axis->item < NR_COSTS)
		return number_time_ns(text, &n) ? "is no time (ns, us, ms, s)" : (*value = (double)n, NULL);
	if (axis->item == SWEEP_CPUS) {
		if (number_count(text, &n) || n < 1 || n > 1000000)
			return "is no number of CPUs";
		*value = (double)n;
		return NULL;
	}
	return number_fraction(text, value) || *value > 1 ? "is no share from 0 to 1" : NULL;
}

static bool find_name(struct sweep_axis *axis, const char *name, size_t len)
{
	static const char *const others[] = {"cpus", "share", "write_share"};

	if (len >= sizeof(axis->name))
		return false;
	memcpy(axis->name, name, len);
	axis->name[len] = '\0';
	int item = cost_item_find(axis->name);
	axis->item = item < 0 ? NR_COSTS : (unsigned int)item;
	/* What they wait is no price times a count. */
	if (axis->item == COST_BROADCAST_SERVICE || axis->item == COST_SERVICE_WAITER)
		return false;
	for (unsigned int i = 0; axis->item == NR_COSTS && i < 3; i++)
		if (!strcmp(others[i], axis->name)) {
			axis->item = SWEEP_CPUS + i;
			return true;
		}
	return axis->item < NR_COSTS;
}

int sweep_parse(struct sweep_axis *axis, const char *text, char *err, size_t err_size)
{
	char copy[128], *part[5] = {NULL}, *at = copy;
	const char *equals = strchr(text, '='), *wrong;
	size_t nr = 0;
	int64_t n;

	*axis = (struct sweep_axis){.nr = 0};
	if (!equals || strlen(equals + 1) >= sizeof(copy)) {
		snprintf(err, err_size, "'%.80s' is not of the form NAME=FROM:TO:N[:log]", text);
		return -EINVAL;
	}
	if (!find_name(axis, text, (size_t)(equals - text))) {
		snprintf(err, err_size,
			 "'%.*s' is neither cpus, share, write_share nor a cost item that is a price (a "
			 "size of TLB: replay once with each --tlb; broadcast_service: with each --cost)",
			 (int)(equals - text < 80 ? equals - text : 80), text);
		return -EINVAL;
	}
	strcpy(copy, equals + 1);
	while (nr < 5 && (part[nr] = strsep(&at, ":")))
		nr++;
	if (nr < 3 || nr > 4 || (nr == 4 && strcmp(part[3], "log"))) {
		snprintf(err, err_size, "'%.80s' is not of the form NAME=FROM:TO:N[:log]", text);
		return -EINVAL;
	}
	axis->log = nr == 4;
	for (int i = 0; i < 2; i++) {
		wrong = read_value(axis, part[i], i ? &axis->to : &axis->from);
		if (wrong) {
			snprintf(err, err_size, "%s: '%s' %s", axis->name, part[i], wrong);
			return -EINVAL;
		}
	}
	if (number_count(part[2], &n) || n < 2 || n > SWEEP_VALUES_MAX) {
		snprintf(err, err_size, "%s: '%s' is no number of values from 2 to %d", axis->name,
			 part[2], SWEEP_VALUES_MAX);
		return -EINVAL;
	}
	axis->nr = (unsigned int)n;
	if (axis->from >= axis->to || (axis->log && axis->from <= 0)) {
		snprintf(err, err_size, "%s: %s", axis->name,
			 axis->from >= axis->to ? "FROM is not below TO"
						: "log needs a FROM above 0");
		return -EINVAL;
	}
	return 0;
}

double sweep_value(const struct sweep_axis *axis, unsigned int i)
{
	double part = (double)i / (axis->nr - 1);
	double value = axis->log ? axis->from * pow(axis->to / axis->from, part)
				 : axis->from + part * (axis->to - axis->from);

	if (i == axis->nr - 1)
		value = axis->to;
	return axis->item == SWEEP_CPUS ? round(value) : value;
}

struct real_bound sweep_cost(const struct policy_counts *counts, unsigned int cpus,
			     const struct cost_preset *preset, const struct sweep_axis *axes,
			     const double *values, unsigned int nr)
{
	struct derived_cost parts[NR_PARTS];
	struct policy_counts c = *counts;
	struct cost_preset p = *preset;
	struct real_bound all = {0};

	for (unsigned int i = 0; i < nr; i++)
		switch (axes[i].item) {
		case SWEEP_CPUS:
			cpus = (unsigned int)values[i];
			break;
		case SWEEP_SHARE:
			c.share = values[i];
			break;
		case SWEEP_WRITE_SHARE:
			c.write_share = values[i];
			break;
		default:
			p.items[axes[i].item].low = p.items[axes[i].item].value =
				p.items[axes[i].item].high = values[i];
		}
	derive_costs(&c, cpus, &p, parts);
	for (unsigned int i = 0; i < NR_PARTS; i++)
		derive_add(&all, parts[i].ns);
	return all;
}
