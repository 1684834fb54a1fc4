// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/sample.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REPLICATES 1000

struct pair {
	double x, weight;
};

/* All zero: nothing yet. */
struct rows {
	struct pair *list;
	size_t nr, max;
	double q;
	int64_t n, seed;
};

/* The first two arguments are X and its weight. Returns NULL if there is nothing to take in. */
static struct rows *take(sqlite3_context *ctx, sqlite3_value **v)
{
	struct rows *r = sqlite3_aggregate_context(ctx, sizeof(*r));
	double weight = sqlite3_value_double(v[1]);

	if (!r || sqlite3_value_type(v[0]) == SQLITE_NULL || !(weight > 0))
		return NULL;
	if (r->nr == r->max) {
		size_t max = r->max ? r->max * 2 : 64;
		struct pair *more = realloc(r->list, max * sizeof(*more));

		if (!more) {
			sqlite3_result_error_nomem(ctx);
			return NULL;
		}
		r->list = more;
		r->max = max;
	}
	r->list[r->nr++] = (struct pair){sqlite3_value_double(v[0]), weight};
	return r;
}

static int by_value(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->x != y->x)
		return x->x < y->x ? -1 : 1;
	return (x->weight > y->weight) - (x->weight < y->weight);
}

/* In an order of their own. Returns NULL after the answer NULL if there are none. */
static struct rows *sorted(sqlite3_context *ctx)
{
	struct rows *r = sqlite3_aggregate_context(ctx, 0);

	if (!r || !r->nr) {
		sqlite3_result_null(ctx);
		return NULL;
	}
	qsort(r->list, r->nr, sizeof(*r->list), by_value);
	return r;
}

static void quantile_step(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	struct rows *r = take(ctx, v);

	(void)n;
	if (r)
		r->q = sqlite3_value_double(v[2]);
}

static void quantile_final(sqlite3_context *ctx)
{
	struct rows *r = sorted(ctx);
	double all = 0, sum = 0;
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->nr; i++)
		all += r->list[i].weight;
	for (i = 0; i + 1 < r->nr; i++) {
		sum += r->list[i].weight;
		if (sum >= r->q * all)
			break;
	}
	sqlite3_result_double(ctx, r->list[i].x);
	free(r->list);
}

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static double fraction(uint64_t *state)
{
	return (double)(next_random(state) >> 11) * 0x1p-53;
}

/*
 * Walker's alias method, so that a draw takes no search: column I holds itself up to KEEP[I] and
 * another one above. Returns 0 or -1 (no memory).
 */
struct alias {
	double *keep;
	uint32_t *other;
};

static int alias_make(struct alias *a, const struct rows *r)
{
	uint32_t *poor = calloc(r->nr + 1, sizeof(*poor)), *rich = calloc(r->nr + 1, sizeof(*rich));
	size_t nr_poor = 0, nr_rich = 0;
	double all = 0;

	a->keep = calloc(r->nr + 1, sizeof(*a->keep));
	a->other = calloc(r->nr + 1, sizeof(*a->other));
	if (!poor || !rich || !a->keep || !a->other) {
		free(poor);
		free(rich);
		return -1;
	}
	for (size_t i = 0; i < r->nr; i++)
		all += r->list[i].weight;
	for (size_t i = 0; i < r->nr; i++) {
		a->keep[i] = r->list[i].weight * (double)r->nr / all;
		a->other[i] = (uint32_t)i;
		if (a->keep[i] < 1)
			poor[nr_poor++] = (uint32_t)i;
		else
			rich[nr_rich++] = (uint32_t)i;
	}
	while (nr_poor && nr_rich) {
		uint32_t from = rich[nr_rich - 1], to = poor[--nr_poor];

		a->other[to] = from;
		a->keep[from] -= 1 - a->keep[to];
		if (a->keep[from] < 1) {
			nr_rich--;
			poor[nr_poor++] = from;
		}
	}
	free(poor);
	free(rich);
	return 0;
}

static void bootstrap_step(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	struct rows *r = take(ctx, v);

	(void)n;
	if (!r)
		return;
	r->n = sqlite3_value_int64(v[2]);
	r->q = sqlite3_value_double(v[3]);
	r->seed = sqlite3_value_int64(v[4]);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The means drawn last: queries ask for several quantiles of the same ones. */
struct memory {
	struct pair *list;
	size_t nr;
	int64_t n, seed;
	double means[REPLICATES];
};

static bool remembered(const struct memory *m, const struct rows *r)
{
	return m->list && m->nr == r->nr && m->n == r->n && m->seed == r->seed &&
	       !memcmp(m->list, r->list, r->nr * sizeof(*r->list));
}

/* Fills M->means, sorted, and keeps the list of R. Returns 0 or -1 (no memory). */
static int draw(struct memory *m, struct rows *r)
{
	uint64_t state = (uint64_t)r->seed;
	struct alias a = {0};
	int ret = alias_make(&a, r);

	for (int k = 0; !ret && k < REPLICATES; k++) {
		double sum = 0;

		for (int64_t i = 0; i < r->n; i++) {
			double at = fraction(&state) * (double)r->nr;
			size_t column = (size_t)at;

			if (at - (double)column >= a.keep[column])
				column = a.other[column];
			sum += r->list[column].x;
		}
		m->means[k] = sum / (double)r->n;
	}
	free(a.keep);
	free(a.other);
	if (ret)
		return ret;
	qsort(m->means, REPLICATES, sizeof(*m->means), by_size);
	free(m->list);
	m->list = r->list;
	m->nr = r->nr;
	m->n = r->n;
	m->seed = r->seed;
	r->list = NULL;
	return 0;
}

static void bootstrap_final(sqlite3_context *ctx)
{
	struct memory *m = sqlite3_user_data(ctx);
	struct rows *r = sorted(ctx);

	if (!r)
		return;
	if (r->n < 1 || r->n > 100000000 || !(r->q >= 0 && r->q <= 1)) {
		sqlite3_result_error(ctx, "bootstrap_mean: N or Q out of range", -1);
	} else if (!remembered(m, r) && draw(m, r)) {
		sqlite3_result_error_nomem(ctx);
	} else {
		size_t rank = (size_t)ceil(r->q * REPLICATES);

		sqlite3_result_double(ctx, m->means[rank ? rank - 1 : 0]);
	}
	free(r->list);
}

static void forget(void *memory)
{
	struct memory *m = memory;

	free(m->list);
	free(m);
}

int sample_functions(sqlite3 *db)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int rc = sqlite3_create_function_v2(db, "weighted_quantile", 3, flags, NULL, NULL,
					    quantile_step, quantile_final, NULL);

	struct memory *m = rc ? NULL : calloc(1, sizeof(*m));

	if (!m)
		return rc ? rc : SQLITE_NOMEM;
	/* Frees M even when it fails. */
	return sqlite3_create_function_v2(db, "bootstrap_mean", 5, flags, m, NULL, bootstrap_step,
					  bootstrap_final, forget);
}
