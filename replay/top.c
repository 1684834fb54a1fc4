// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/top.h"
#include "common/grow.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Whether A comes before B. */
static bool before(const struct top_row *a, const struct top_row *b)
{
	if (a->n != b->n)
		return a->n > b->n;
	return a->mm != b->mm ? a->mm < b->mm : a->page < b->page;
}

void top_clear(struct top *t)
{
	free(t->rows);
	free(t->sums);
	*t = (struct top){.most = t->most};
}

static struct top_sum *sum_of(struct top *t, uint32_t mm)
{
	if (t->nr_sums && t->sums[t->nr_sums - 1].mm == mm)
		return &t->sums[t->nr_sums - 1];
	struct top_sum *sums = grow_list(t->sums, t->nr_sums, &t->room_sums, sizeof(*sums));
	if (!sums)
		return NULL;
	t->sums = sums;
	t->sums[t->nr_sums] = (struct top_sum){.mm = mm};
	return &t->sums[t->nr_sums++];
}

/* ROW goes in at the hole I, or below it. */
static void sift_down(struct top *t, size_t i, const struct top_row *row)
{
	for (size_t child; (child = 2 * i + 1) < t->nr; i = child) {
		if (child + 1 < t->nr && before(&t->rows[child], &t->rows[child + 1]))
			child++;
		if (!before(row, &t->rows[child]))
			break;
		t->rows[i] = t->rows[child];
	}
	t->rows[i] = *row;
}

int top_add(struct top *t, const struct top_row *row)
{
	struct top_sum *sum = sum_of(t, row->mm);
	size_t i;

	if (!sum)
		return -ENOMEM;
	sum->rows++;
	sum->n += row->n;
	if (t->nr == t->most) {
		if (t->most && before(row, &t->rows[0]))
			sift_down(t, 0, row);
		return 0;
	}
	struct top_row *rows = grow_list(t->rows, t->nr, &t->room, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	t->rows = rows;
	for (i = t->nr++; i && before(&t->rows[(i - 1) / 2], row); i = (i - 1) / 2)
		t->rows[i] = t->rows[(i - 1) / 2];
	t->rows[i] = *row;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return before(a, b) ? -1 : before(b, a);
}

static int compare_sums(const void *a, const void *b)
{
	const struct top_sum *x = a, *y = b;

	return (x->mm > y->mm) - (x->mm < y->mm);
}

void top_sort(struct top *t)
{
	if (t->nr)
		qsort(t->rows, t->nr, sizeof(*t->rows), compare);
	if (!t->nr_sums)
		return;
	qsort(t->sums, t->nr_sums, sizeof(*t->sums), compare_sums);
	size_t last = 0;
	for (size_t i = 1; i < t->nr_sums; i++) {
		if (t->sums[i].mm != t->sums[last].mm) {
			t->sums[++last] = t->sums[i];
			continue;
		}
		t->sums[last].rows += t->sums[i].rows;
		t->sums[last].n += t->sums[i].n;
	}
	t->nr_sums = last + 1;
}

struct top_sum *top_sum_of(const struct top *t, uint32_t mm)
{
	return bsearch(&(struct top_sum){.mm = mm}, t->sums, t->nr_sums, sizeof(*t->sums),
		       compare_sums);
}
