/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two results beside each other: two databases, two recordings or two policies. A difference counts
 * as one only where the bounds do not overlap.
 */
#ifndef ANALYSIS_COMPARE_H
#define ANALYSIS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sqlite3.h>

#include "analysis/report.h"
#include "analysis/text.h"

/* One of the two. */
struct compare_side {
	sqlite3 *db;
	const char *path;
	const char *trace;  /* NULL: all */
	const char *policy; /* NULL: all */
};

enum compare_bound {
	COMPARE_LOW,
	COMPARE_ESTIMATE,
	COMPARE_HIGH,
	COMPARE_SURE /* what holds wherever the values lie between their bounds */
};

/* "cost.high>+5%": what makes a comparison fail. */
struct compare_rule {
	const char *text; /* as given */
	char metric[16];
	enum compare_bound bound;
	bool less, equal; /* <, <=, >= */
	bool relative;    /* of the change, as a share */
	bool change;      /* of the change, in the metric's unit; neither: of B's value */
	double limit;
};

/*
 * Reads METRIC[.BOUND] OP VALUE: METRIC is cost, broadcasts, ipis, local, spurious, stale or
 * unsafe; BOUND low, estimate, high or sure; OP one of > >= < <=; VALUE +5% or -5% (change from A
 * to B), +100 or -100 (the same in numbers), 100 (B's value); of cost with ns (default), us, ms or
 * s. Returns 0, or -EINVAL with the reason in ERR. TEXT must live on.
 */
int compare_rule_parse(const char *text, struct compare_rule *rule, char *err, size_t err_size);

struct compare_how {
	struct report_how report; /* format, limit, table, width */
	bool per_second;          /* of the recordings, instead of totals */
	const struct compare_rule *rules;
	size_t nr_rules;
};

/*
 * Compares A with B into OUT. FAILED gets one line for each rule and pair that fails, or that
 * nothing could be found for. Returns 0, -ENOENT (nothing on one side that has a counterpart on the
 * other), or another negative errno, with ERR.
 */
int compare_run(const struct compare_side *a, const struct compare_side *b,
		const struct compare_how *how, FILE *out, struct text *failed, char *err,
		size_t err_size);

#endif
