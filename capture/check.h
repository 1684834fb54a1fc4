/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording here would hold, lack and cost. Only reads, but for a second of looking at the
 * host's own counters.
 */
#ifndef CAPTURE_CHECK_H
#define CAPTURE_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "capture/host.h"
#include "capture/plan.h"

struct check_rates {
	double faults, switches, forks; /* per second, now */
	double events;                  /* that a recording would have, from those */
	double cpu_share;               /* of all CPUs' time, 0 to 1 */
	double bytes;                   /* per second, before compression */
};

/* Looks at the host for a second. */
void check_measure(const struct plan *plan, unsigned int profile, struct check_rates *rates);

void check_print(FILE *out, const struct plan *plan, const struct fact_list *facts,
		 const struct check_rates *rates, int64_t buffer_kb);
void check_print_json(FILE *out, const struct plan *plan, const struct fact_list *facts,
		      const struct check_rates *rates, int64_t buffer_kb);

#endif
