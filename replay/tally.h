/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting: decisions by page, flushes by address space, and by time.
 */
#ifndef REPLAY_TALLY_H
#define REPLAY_TALLY_H

#include "replay/engine-state.h"

static inline uint32_t row_key(unsigned int common, unsigned int point, unsigned int scope,
			       unsigned int level)
{
	return common << 24 | point << 16 | scope << 8 | level;
}

/* The row of KEY, made if need be; it is in the cache at HASH from now on. NULL: no memory. */
struct mm_row *tally_row(struct engine *e, struct mm *mm, unsigned int hash, uint32_t key);

/* The count of one action of the policies of C: the mm's, or where there is none the result's own.
 */
static inline struct flush_count *tally_flush(struct engine *e, struct mm *mm,
					      const struct common *c, const struct tlb_event *event,
					      enum scope scope)
{
	struct flush_count *total = &c->result->flush[event->point][event->level][scope];
	uint32_t key = row_key(c->id, event->point, scope, event->level);
	unsigned int hash = key * UINT32_C(0x9E3779B9) >> 20 & (ROW_CACHE - 1);
	struct mm_row *row;

	if (!mm || scope == SCOPE_NONE)
		return total;
	if (mm->nr_rows && mm->rows[mm->row_cache[hash]].key == key)
		return &mm->rows[mm->row_cache[hash]].count;
	row = tally_row(e, mm, hash, key);
	return row ? &row->count : total;
}

/* Counts N decisions at POINT for the page at ADDR. */
void tally_page(struct engine *e, uint32_t mm, uint64_t addr, unsigned int point,
		unsigned int level, uint64_t n);

/* Hands all decisions by page to the sink. */
void tally_pages_done(struct engine *e);

/*
 * The bucket of TIME_NS. When they run out, each takes its neighbour in and all are twice as wide.
 */
size_t tally_bucket(struct engine *e, uint64_t time_ns);

/* Flushes of an mm go into the result by point and level, and to the sink by point. */
void tally_mm_done(struct engine *e, uint32_t number, struct mm *mm);

#endif
