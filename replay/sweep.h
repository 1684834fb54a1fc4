/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Costs with one or two things varied: a cost item, the number of CPUs, a share. None of them needs
 * a replay of its own, because costs are counts times prices and the counts say how they depend on
 * the shares (schema/derive.h).
 *
 * With other numbers of CPUs the recording stays what it is: the same tasks where they ran, the
 * same faults. What changes is how many others a broadcast reaches; that is all that is
 * extrapolated.
 */
#ifndef REPLAY_SWEEP_H
#define REPLAY_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/costs.h"
#include "schema/derive.h"

/* More points are no picture any more. */
#define SWEEP_VALUES_MAX 1000
#define SWEEP_AXES_MAX   2

struct sweep_axis {
	char name[32];  /* a cost item, "cpus", "share" or "write_share" */
	unsigned int item; /* enum cost_item_id, or one of those below */
	double from, to;   /* ns, CPUs or a fraction */
	unsigned int nr;   /* values, from 2 */
	bool log;          /* evenly spaced in their logarithms */
};

enum { SWEEP_CPUS = NR_COSTS, SWEEP_SHARE, SWEEP_WRITE_SHARE };

/*
 * Reads "NAME=FROM:TO:N" or "NAME=FROM:TO:N:log". Returns 0 or -EINVAL with ERR.
 */
int sweep_parse(struct sweep_axis *axis, const char *text, char *err, size_t err_size);

/* Value I of AXIS, the first and last one exactly FROM and TO. */
double sweep_value(const struct sweep_axis *axis, unsigned int i);

/*
 * What COUNTS cost by PRESET on CPUS CPUs if each of the NR AXES has its value in VALUES. A value
 * of a cost item stands for its low and high bound, too.
 */
struct real_bound sweep_cost(const struct policy_counts *counts, unsigned int cpus,
			     const struct cost_preset *preset, const struct sweep_axis *axes,
			     const double *values, unsigned int nr);

#endif
