/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times of one kind, taken in many short rounds, on a machine that others use too. A round that was
 * disturbed is left out and counted; what is left is told by its median and its spread.
 */
#ifndef CAPTURE_CALIBRATE_SAMPLES_H
#define CAPTURE_CALIBRATE_SAMPLES_H

#include <stddef.h>

#define SAMPLES_MOST 4096

struct samples {
	double ns[SAMPLES_MOST];
	size_t nr;
	size_t disturbed; /* not in NS: the CPU was taken away, or a helper did not run */
	size_t missed;    /* not in NS: whole, but what was to be measured did not happen */
};

/* What they come to; ns. */
struct spread {
	double low, median, high; /* a twentieth lies below low, a twentieth above high */
	size_t nr, disturbed, missed;
};

/* Adds one. */
void samples_add(struct samples *s, double ns);

/* Sorts S. Without samples all is 0. */
struct spread samples_spread(struct samples *s);

/* A less B: of the medians; low and high from the ends that make it least and most, not below 0. */
struct spread spread_less(struct spread a, struct spread b);

/* A by N. */
struct spread spread_by(struct spread a, double n);

#endif
