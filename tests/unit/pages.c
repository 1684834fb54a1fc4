// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of pages against an array that is searched from end to end. */
#include "replay/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

#define MMS     40
#define MEMBERS 4000

static struct {
	uint32_t mm;
	uint64_t number;
	uint32_t leaf;
	uint16_t present;
	uint64_t upgrade_ns;
} twin[MEMBERS];
static size_t members;
static uint32_t heads[MMS];

static size_t find(uint32_t mm, uint64_t number)
{
	size_t i = 0;

	while (i < members && (twin[i].mm != mm || twin[i].number != number))
		i++;
	return i;
}

static uint64_t state = 7;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* A page number: neighbours, the ends of the address space, scattered ones. */
static uint64_t some_page(void)
{
	switch (draw() % 4) {
	case 0:
		return draw() % 600;
	case 1:
		return 0xffffdba00 + draw() % 500;
	case 2:
		return UINT64_C(0xfffffffffffff) - draw() % 200;
	default:
		return draw() % 64 << 30;
	}
}

static void check_all(struct pages *p)
{
	size_t listed = 0;

	for (size_t i = 0; i < members; i++) {
		struct leaf *l = pages_leaf(p, twin[i].leaf);

		CHECK(pages_find(p, twin[i].mm, twin[i].number << LEAF_SHIFT) == twin[i].leaf);
		CHECK(l->mm == twin[i].mm && l->number == twin[i].number &&
		      l->present == twin[i].present);
	}
	for (uint32_t mm = 0; mm < MMS; mm++)
		for (uint32_t leaf = heads[mm]; leaf != NO_LEAF && listed <= members;
		     leaf = pages_leaf(p, leaf)->next) {
			CHECK(pages_leaf(p, leaf)->mm == mm);
			listed++;
		}
	CHECK(listed == members && p->live == members);
}

static void play(unsigned int nr_policies)
{
	struct pages p;

	pages_init(&p, nr_policies);
	members = 0;
	for (uint32_t mm = 0; mm < MMS; mm++)
		heads[mm] = NO_LEAF;
	CHECK(pages_find(&p, 1, 1) == NO_LEAF);
	pages_release(&p, NO_LEAF);
	for (unsigned int step = 0; step < 30000 && !failures; step++) {
		uint32_t mm = (uint32_t)(draw() % MMS);
		uint64_t page = some_page();
		size_t at = find(mm, page >> LEAF_SHIFT);

		CHECK(pages_find(&p, mm, page) == (at < members ? twin[at].leaf : NO_LEAF));
		if (draw() % 300 == 0) {
			pages_release(&p, heads[mm]);
			heads[mm] = NO_LEAF;
			for (size_t i = 0; i < members;)
				if (twin[i].mm == mm)
					twin[i] = twin[--members];
				else
					i++;
			CHECK(pages_find(&p, mm, page) == NO_LEAF);
		} else if (at < members || members < MEMBERS) {
			uint32_t leaf = pages_make(&p, mm, page, &heads[mm]);

			CHECK(leaf != NO_LEAF);
			if (at == members) {
				const struct leaf *l = pages_leaf(&p, leaf);

				/* New, or used again: nothing is left of whom it belonged to. */
				CHECK(!l->present && !l->writable && heads[mm] == leaf);
				for (unsigned int slot = 0; slot < LEAF_PAGES; slot++) {
					struct page *q = leaf_page(&p, pages_leaf(&p, leaf), slot);

					CHECK(!q->upgrade_ns && !q->reuses && !q->open[0] &&
					      !q->open[1]);
					for (unsigned int i = 0; i < nr_policies; i++)
						CHECK(!q->flush_seq[i] && !page_stale(&p, q)[i]);
				}
				twin[members++].mm = mm;
				twin[at].number = page >> LEAF_SHIFT;
				twin[at].leaf = leaf;
				twin[at].present = 0;
			}
			CHECK(leaf == twin[at].leaf);
			unsigned int slot = page & (LEAF_PAGES - 1);
			struct page *q = leaf_page(&p, pages_leaf(&p, leaf), slot);
			pages_leaf(&p, leaf)->present |= (uint16_t)(1u << slot);
			twin[at].present |= (uint16_t)(1u << slot);
			/* Written full: a neighbour that overlaps is found out when it is new. */
			memset(q, 0xff,
			       sizeof(*q) + nr_policies * (sizeof(uint64_t) + sizeof(uint32_t)));
		}
		if (step % 1000 == 0)
			check_all(&p);
	}
	check_all(&p);
	/* Memory follows what is alive: leaves that were given back are taken first. */
	uint32_t made = p.nr_leaves;
	for (uint32_t mm = 0; mm < MMS; mm++) {
		pages_release(&p, heads[mm]);
		heads[mm] = NO_LEAF;
	}
	CHECK(p.live == 0);
	for (uint32_t i = 0; i < made; i++)
		CHECK(pages_make(&p, 1, (uint64_t)i << LEAF_SHIFT, &heads[1]) != NO_LEAF);
	CHECK(p.nr_leaves == made && p.live == made);
	CHECK(pages_bytes(&p) >= 16 && pages_bytes(&p) < 4096);
	pages_free(&p);
}

int main(void)
{
	static const unsigned int policies[] = {1, 3, 4, 64};

	for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++)
		play(policies[i]);
	return failures != 0;
}
