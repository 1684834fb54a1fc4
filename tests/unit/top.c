// SPDX-License-Identifier: GPL-2.0-or-later
/* The largest rows against a list that is sorted whole. */
#include "replay/top.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

static struct top_row all[5000];

/* Written out once more: by n downwards, then by mm and page upwards. */
static int order(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	if (x->mm != y->mm)
		return x->mm > y->mm ? 1 : -1;
	return x->page > y->page ? 1 : x->page < y->page ? -1 : 0;
}

static void run(size_t most, size_t nr, unsigned int seed)
{
	struct top t = {.most = most};
	uint64_t sums[8] = {0}, rows[8] = {0};

	srand(seed);
	for (size_t i = 0; i < nr; i++) {
		all[i] = (struct top_row){.n = 1 + (uint64_t)rand() % 9,
					  .mm = (uint32_t)(seed & 2 ? i * 8 / nr : i % 8),
					  .page = (uint64_t)(seed & 1 ? i : nr - i) << 12};
		sums[all[i].mm] += all[i].n;
		rows[all[i].mm]++;
		CHECK(!top_add(&t, &all[i]));
	}
	top_sort(&t);
	qsort(all, nr, sizeof(*all), order);
	CHECK(t.nr == (nr < most ? nr : most));
	for (size_t i = 0; i < t.nr; i++)
		CHECK(!order(&t.rows[i], &all[i]));
	for (size_t i = 0; i < t.nr_sums; i++)
		CHECK(t.sums[i].n == sums[t.sums[i].mm] && t.sums[i].rows == rows[t.sums[i].mm]);
	top_clear(&t);
	CHECK(!t.rows && !t.sums && t.most == most);
}

int main(void)
{
	for (unsigned int seed = 0; seed < 20; seed++) {
		run(100, 5000, seed);
		run(1, 800, seed);
		run(0, 80, seed);
		run(5000, 1000, seed);
	}
	if (!failures)
		printf("the same rows and sums\n");
	return failures != 0;
}
