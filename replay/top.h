/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The largest rows of many, in memory that does not grow with these; and what the others add up to.
 */
#ifndef REPLAY_TOP_H
#define REPLAY_TOP_H

#include <stddef.h>
#include <stdint.h>

struct top_row {
	uint64_t n;    /* rows with more of it come first, equal ones by mm, then by page */
	uint64_t page; /* address */
	uint32_t mm;
};

/* All rows of one mm, kept or not. */
struct top_sum {
	uint32_t mm;
	uint64_t rows, n;
};

struct top {
	struct top_row *rows; /* a heap, the least one on top */
	size_t nr, room, most; /* most: rows to keep; set before the first is added */
	struct top_sum *sums; /* once sorted, one for each mm */
	size_t nr_sums, room_sums;
};

/* Frees what T holds; it is empty then, with MOST as it was. */
void top_clear(struct top *t);

/* Adds a row; those of one mm had better follow each other. Returns 0 or -ENOMEM. */
int top_add(struct top *t, const struct top_row *row);

/*
 * Puts the kept rows in order, the first one first, and the sums by mm. Nothing may be added then.
 */
void top_sort(struct top *t);

/* The sum of MM, of which there is a row, once they are sorted. */
struct top_sum *top_sum_of(const struct top *t, uint32_t mm);

#endif
