/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The known pages of a range of an address space. */
#ifndef REPLAY_RANGE_H
#define REPLAY_RANGE_H

#include "replay/engine-state.h"

typedef void (*leaf_visitor)(struct engine *e, uint32_t leaf, uint16_t slots, void *context);

/*
 * Visits the leaves of MM that hold known pages of [ADDR, ADDR + PAGES); PAGES 0: all of the mm.
 * Goes by the shorter of the two: the leaf numbers of the range, or the mm's own list.
 */
void range_visit(struct engine *e, uint32_t number, uint64_t addr, uint64_t pages,
		 leaf_visitor visitor, void *context);

/* Visitors: what a change does to the pages themselves. CONTEXT of the first: uint64_t, counts. */
void range_present(struct engine *e, uint32_t leaf, uint16_t slots, void *context);
void range_protect(struct engine *e, uint32_t leaf, uint16_t slots, void *context);
void range_fork(struct engine *e, uint32_t leaf, uint16_t slots, void *context);
void range_forked(struct engine *e, uint32_t leaf, uint16_t slots, void *context);
void range_unmap(struct engine *e, uint32_t leaf, uint16_t slots, void *context);

#endif
