// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/range.h"

static uint16_t slots_between(uint64_t number, uint64_t first, uint64_t last)
{
	uint64_t base = number << LEAF_SHIFT;
	unsigned int from = first > base ? (unsigned int)(first - base) : 0;
	unsigned int to =
		last - base < LEAF_PAGES - 1 ? (unsigned int)(last - base) : LEAF_PAGES - 1;

	return (uint16_t)((2u << to) - (1u << from));
}

void range_visit(struct engine *e, uint32_t number, uint64_t addr, uint64_t pages,
		 leaf_visitor visitor, void *context)
{
	struct mm *mm = mm_find(e, number);
	uint64_t first = addr >> e->config.page_shift, last = first + pages - 1;

	if (!mm)
		return;
	if (last < first || !pages) {
		first = pages ? first : 0;
		last = UINT64_MAX;
	}
	if (pages && (last >> LEAF_SHIFT) - (first >> LEAF_SHIFT) < mm->nr_leaves) {
		for (uint64_t n = first >> LEAF_SHIFT; n <= last >> LEAF_SHIFT; n++) {
			uint32_t leaf = pages_find(&e->pages, number, n << LEAF_SHIFT);

			if (leaf != NO_LEAF)
				visitor(e, leaf, slots_between(n, first, last), context);
		}
		return;
	}
	for (uint32_t leaf = mm->leaves; leaf != NO_LEAF;) {
		const struct leaf *l = pages_leaf(&e->pages, leaf);
		uint32_t next = l->next;

		if (l->number >= first >> LEAF_SHIFT && l->number <= last >> LEAF_SHIFT)
			visitor(e, leaf, slots_between(l->number, first, last), context);
		leaf = next;
	}
}

void range_present(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	*(uint64_t *)context +=
		(uint64_t)__builtin_popcount(pages_leaf(&e->pages, leaf)->present & slots);
}

void range_protect(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	(void)context;
	pages_leaf(&e->pages, leaf)->writable &= (uint16_t)~slots;
}

void range_fork(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	struct leaf *l = pages_leaf(&e->pages, leaf);

	(void)context;
	l->forked |= l->writable & slots;
	l->writable &= (uint16_t)~slots;
}

void range_forked(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	(void)context;
	pages_leaf(&e->pages, leaf)->forked &= (uint16_t)~slots;
}

void range_unmap(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	struct leaf *l = pages_leaf(&e->pages, leaf);

	(void)context;
	l->writable &= (uint16_t)~slots;
	l->present &= (uint16_t)~slots;
}
