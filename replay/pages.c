// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages lie together in leaves of 16, because faults do: one look-up serves a run of neighbours,
 * and a range of an address space is walked leaf by leaf. Leaves live in chunks of 256 that never
 * move, are chained per address space, and are used again when one ends, so that memory follows the
 * pages that are alive, not those that ever were.
 */
#include "replay/pages.h"

#include <stdlib.h>
#include <string.h>

void pages_init(struct pages *p, unsigned int nr_policies)
{
	*p = (struct pages){.nr_policies = nr_policies, .free = NO_LEAF};
	p->page_size = sizeof(struct page) + nr_policies * (sizeof(uint64_t) + sizeof(uint32_t));
	p->page_size = (p->page_size + 7) & ~(size_t)7;
	p->leaf_size = (LEAF_HEADER + LEAF_PAGES * p->page_size + 63) & ~(size_t)63;
}

void pages_free(struct pages *p)
{
	for (size_t i = 0; i < p->nr_chunks; i++)
		free(p->chunks[i]);
	free(p->chunks);
	free(p->slots);
}

static uint32_t hash_of(uint32_t mm, uint64_t number)
{
	uint64_t key = (number ^ (uint64_t)mm << 44) * UINT64_C(0x9E3779B97F4A7C15);

	return (uint32_t)(key ^ key >> 29);
}

static bool is_leaf(const struct pages *p, uint32_t leaf, uint32_t mm, uint64_t number)
{
	const struct leaf *l = pages_leaf(p, leaf);

	return l->mm == mm && l->number == number;
}

uint32_t pages_find(const struct pages *p, uint32_t mm, uint64_t page)
{
	uint64_t number = page >> LEAF_SHIFT;
	uint32_t hash = hash_of(mm, number);

	for (size_t i = hash & p->mask; p->slots && p->slots[i].leaf; i = (i + 1) & p->mask)
		if (p->slots[i].hash == hash && is_leaf(p, p->slots[i].leaf - 1, mm, number))
			return p->slots[i].leaf - 1;
	return NO_LEAF;
}

void pages_prefetch(const struct pages *p, uint32_t mm, uint64_t page)
{
	uint32_t hash = hash_of(mm, page >> LEAF_SHIFT);

	for (size_t i = hash & p->mask; p->slots && p->slots[i].leaf; i = (i + 1) & p->mask)
		if (p->slots[i].hash == hash) {
			struct leaf *l = pages_leaf(p, p->slots[i].leaf - 1);

			/* Its address is known without reading it. */
			__builtin_prefetch(l, 1);
			__builtin_prefetch(leaf_page(p, l, page & (LEAF_PAGES - 1)), 1);
			return;
		}
}

static void insert(struct pages *p, struct pages_slot slot)
{
	size_t i = slot.hash & p->mask;

	while (p->slots[i].leaf)
		i = (i + 1) & p->mask;
	p->slots[i] = slot;
}

static int grow(struct pages *p)
{
	size_t old_size = p->slots ? p->mask + 1 : 0, size = old_size ? old_size * 2 : 1024;
	struct pages_slot *old = p->slots, *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return -1;
	p->slots = slots;
	p->mask = size - 1;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].leaf)
			insert(p, old[i]);
	free(old);
	return 0;
}

static void erase(struct pages *p, uint32_t leaf)
{
	const struct leaf *l = pages_leaf(p, leaf);
	size_t hole = hash_of(l->mm, l->number) & p->mask;

	while (p->slots[hole].leaf != leaf + 1)
		hole = (hole + 1) & p->mask;
	/* Later members of the run move back, as far as their home allows. */
	for (size_t i = (hole + 1) & p->mask; p->slots[i].leaf; i = (i + 1) & p->mask) {
		size_t home = p->slots[i].hash & p->mask;

		if (((i - home) & p->mask) < ((i - hole) & p->mask))
			continue;
		p->slots[hole] = p->slots[i];
		hole = i;
	}
	p->slots[hole].leaf = 0;
}

static uint32_t take_leaf(struct pages *p)
{
	if (p->free != NO_LEAF) {
		uint32_t leaf = p->free;

		p->free = pages_leaf(p, leaf)->next;
		return leaf;
	}
	if (p->nr_leaves >> 8 == p->nr_chunks) {
		if (p->nr_chunks == p->max_chunks) {
			size_t max = p->max_chunks ? p->max_chunks * 2 : 64;
			char **more = realloc(p->chunks, max * sizeof(*more));

			if (!more)
				return NO_LEAF;
			p->chunks = more;
			p->max_chunks = max;
		}
		p->chunks[p->nr_chunks] = aligned_alloc(64, 256 * p->leaf_size);
		if (!p->chunks[p->nr_chunks])
			return NO_LEAF;
		p->nr_chunks++;
	}
	return p->nr_leaves++;
}

uint32_t pages_make(struct pages *p, uint32_t mm, uint64_t page, uint32_t *head)
{
	uint32_t leaf = pages_find(p, mm, page);
	struct leaf *l;

	if (leaf != NO_LEAF)
		return leaf;
	/* Half of the slots stay empty, so that the first is nearly always the right one. */
	if ((!p->slots || ((size_t)p->live + 1) * 2 > p->mask + 1) && grow(p))
		return NO_LEAF;
	leaf = take_leaf(p);
	if (leaf == NO_LEAF)
		return NO_LEAF;
	l = pages_leaf(p, leaf);
	memset(l, 0, p->leaf_size);
	l->number = page >> LEAF_SHIFT;
	l->mm = mm;
	l->next = *head;
	*head = leaf;
	p->live++;
	insert(p, (struct pages_slot){.leaf = leaf + 1, .hash = hash_of(mm, l->number)});
	return leaf;
}

void pages_release(struct pages *p, uint32_t head)
{
	while (head != NO_LEAF) {
		struct leaf *l = pages_leaf(p, head);
		uint32_t next = l->next;

		erase(p, head);
		l->mm = 0;
		l->next = p->free;
		p->free = head;
		p->live--;
		head = next;
	}
}

size_t pages_bytes(const struct pages *p)
{
	return p->leaf_size / LEAF_PAGES;
}
