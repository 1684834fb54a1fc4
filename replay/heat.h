/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where and when the decisions fell: counts in cells of address space x address x time x point x
 * level. Memory is bounded: there are at most HEAT_CELLS cells, and where a recording needs more,
 * all of them become twice as long in time or twice as high in addresses, in turn. Address spaces
 * that come and go in such numbers that this does not help are counted together, as number 0.
 *
 * Cells lie at multiples of their size, and their number only grows, so that the size they end with
 * depends on the events alone and not on their order: parts of a recording can be added up.
 */
#ifndef REPLAY_HEAT_H
#define REPLAY_HEAT_H

#include <stddef.h>
#include <stdint.h>

#include "schema/event.h"

/* As many as a picture can show, and more than a page of it needs. */
#define HEAT_CELLS 16384

/* How long a cell is at first: 2^20 ns, about 1 ms. It is one page high then. */
#define HEAT_TIME_SHIFT 20

struct heat;

struct heat_cell {
	uint64_t addr;     /* of its first byte; 0 where the whole mm is meant */
	uint64_t start_ns;
	uint64_t decisions;
	uint32_t mm;       /* 0: all together */
	uint8_t point, level;
};

/* For pages of 2^PAGE_SHIFT bytes. NULL: no memory. */
struct heat *heat_new(unsigned int page_shift);
void heat_free(struct heat *h);

/*
 * Counts EVENT if it is a decision about pages or a whole mm: at its first page, and by the
 * estimate of whether the point was reached. Returns 0 or -ENOMEM.
 */
int heat_event(struct heat *h, const struct tlb_event *event);

/* The size of a cell now. */
void heat_size(const struct heat *h, uint64_t *bytes, uint64_t *width_ns);

/*
 * All cells, by mm, address, time, point and level; *NR of them, to be freed by the caller. NULL:
 * no memory.
 */
struct heat_cell *heat_cells(const struct heat *h, size_t *nr);

#endif
