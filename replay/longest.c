// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/longest.h"

#include <stdlib.h>

/* A heap whose root is the shortest row kept; ties go by what is deterministic, not by arrival. */
static bool row_less(const struct exposure_row *a, const struct exposure_row *b)
{
	uint64_t x = a->end_ns - a->start_ns, y = b->end_ns - b->start_ns;

	if (x != y)
		return x < y;
	if (a->start_ns != b->start_ns)
		return a->start_ns > b->start_ns;
	if (a->mm != b->mm)
		return a->mm > b->mm;
	if (a->page != b->page)
		return a->page > b->page;
	if (a->cpu != b->cpu)
		return a->cpu > b->cpu;
	return a->kind > b->kind;
}

void longest_keep(struct engine *e, struct policy_result *r, const struct exposure_row *row)
{
	size_t i;

	if (!e->config.max_rows) {
		r->rows_left_out++;
		return;
	}
	if (r->nr_rows < e->config.max_rows) {
		for (i = r->nr_rows++; i && row_less(row, &r->rows[(i - 1) / 2]); i = (i - 1) / 2)
			r->rows[i] = r->rows[(i - 1) / 2];
		r->rows[i] = *row;
		return;
	}
	r->rows_left_out++;
	if (!row_less(&r->rows[0], row))
		return;
	for (i = 0; 2 * i + 1 < r->nr_rows;) {
		size_t child = 2 * i + 1;

		if (child + 1 < r->nr_rows && row_less(&r->rows[child + 1], &r->rows[child]))
			child++;
		if (!row_less(&r->rows[child], row))
			break;
		r->rows[i] = r->rows[child];
		i = child;
	}
	r->rows[i] = *row;
}

static int longest_first(const void *a, const void *b)
{
	return row_less(a, b) - row_less(b, a);
}

void longest_sort(struct policy_result *r)
{
	qsort(r->rows, r->nr_rows, sizeof(*r->rows), longest_first);
}
