// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/calibrate-samples.h"

#include <stdlib.h>

void samples_add(struct samples *s, double ns)
{
	if (s->nr < SAMPLES_MOST)
		s->ns[s->nr++] = ns;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct spread samples_spread(struct samples *s)
{
	struct spread spread = {.nr = s->nr, .disturbed = s->disturbed, .missed = s->missed};

	if (!s->nr)
		return spread;
	qsort(s->ns, s->nr, sizeof(s->ns[0]), by_size);
	spread.low = s->ns[s->nr / 20];
	spread.median = s->ns[s->nr / 2];
	spread.high = s->ns[s->nr - 1 - s->nr / 20];
	return spread;
}

static double positive(double x)
{
	return x > 0 ? x : 0;
}

struct spread spread_less(struct spread a, struct spread b)
{
	struct spread d = {.low = positive(a.low - b.high),
			   .median = positive(a.median - b.median),
			   .high = positive(a.high - b.low),
			   .nr = a.nr < b.nr ? a.nr : b.nr,
			   .disturbed = a.disturbed + b.disturbed};

	return d;
}

struct spread spread_by(struct spread a, double n)
{
	a.low /= n;
	a.median /= n;
	a.high /= n;
	return a;
}
