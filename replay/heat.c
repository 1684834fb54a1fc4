// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An open hash table of cells that is never more than half full. Steps of coarsening alternate:
 * time, address, time, ... so that the shape of a picture stays.
 *
 * A host that starts programs all the time has more address spaces than there are cells. No size of
 * cells helps there, so at one step the address spaces are taken together.
 */
#include "replay/heat.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay/hash.h"

enum {
	SLOTS = 2 * HEAT_CELLS,
	TOGETHER = 52,  /* the step that takes the address spaces together: a cell has 19 h by then */
	MOST_SHIFT = 63 /* of 64 bits; what is left are a few cells by point and level */
};

struct key {
	uint64_t addr;  /* in cells */
	uint64_t start; /* in cells */
	uint64_t what;  /* mm, point and level */
};

struct slot {
	struct key key;
	uint64_t decisions; /* 0: the slot is free */
};

struct heat {
	unsigned int addr_shift, time_shift;
	unsigned int steps;
	bool together; /* address spaces are not told apart any more */
	bool failed; /* out of memory: it can hold no more */
	size_t nr;
	struct slot *last; /* where the last event fell: the next one often does, too */
	struct slot *slots;
};

struct heat *heat_new(unsigned int page_shift)
{
	struct heat *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->addr_shift = page_shift;
	h->time_shift = HEAT_TIME_SHIFT;
	h->slots = calloc(SLOTS, sizeof(*h->slots));
	if (!h->slots) {
		free(h);
		return NULL;
	}
	h->last = h->slots;
	return h;
}

void heat_free(struct heat *h)
{
	if (h)
		free(h->slots);
	free(h);
}

static bool same(const struct key *a, const struct key *b)
{
	return a->addr == b->addr && a->start == b->start && a->what == b->what;
}

/* The slot of KEY, or the free one where it belongs. */
static struct slot *find(struct slot *slots, const struct key *key)
{
	size_t i = hash_mix(hash_mix(key->what, key->addr), key->start) % SLOTS;

	while (slots[i].decisions && !same(&slots[i].key, key))
		i = (i + 1) % SLOTS;
	return &slots[i];
}

static int coarsen(struct heat *h)
{
	struct slot *slots = calloc(SLOTS, sizeof(*slots));
	unsigned int time = !(h->steps % 2), addr = !time;

	if (!slots)
		return -ENOMEM;
	if (h->steps == TOGETHER && !h->together) {
		h->together = true;
		time = addr = 0;
	} else {
		h->steps++;
	}
	time = time && h->time_shift < MOST_SHIFT;
	addr = addr && h->addr_shift < MOST_SHIFT;
	h->time_shift += time;
	h->addr_shift += addr;
	h->nr = 0;
	for (size_t i = 0; i < SLOTS; i++) {
		struct slot old = h->slots[i];

		if (!old.decisions)
			continue;
		old.key.start >>= time;
		old.key.addr >>= addr;
		if (h->together)
			old.key.what &= 0xffff;
		struct slot *s = find(slots, &old.key);
		h->nr += !s->decisions;
		s->key = old.key;
		s->decisions += old.decisions;
	}
	free(h->slots);
	h->slots = slots;
	h->last = slots;
	return 0;
}

int heat_event(struct heat *h, const struct tlb_event *event)
{
	if (event->kind != EVENT_DECISION || !event->mm || !event->sure.estimate ||
	    event->point == POINT_SWITCH || event->point == POINT_SPURIOUS)
		return 0;
	if (h->failed)
		return -ENOMEM;
	struct key key = {
		.addr = event->addr >> h->addr_shift,
		.start = event->time_ns >> h->time_shift,
		.what = (h->together ? 0 : (uint64_t)event->mm << 16) |
			(uint64_t)event->point << 8 | event->level,
	};
	if (!h->last->decisions || !same(&h->last->key, &key)) {
		h->last = find(h->slots, &key);
		if (!h->last->decisions) {
			h->last->key = key;
			h->nr++;
		}
	}
	h->last->decisions++;
	while (h->nr > HEAT_CELLS)
		if (coarsen(h)) {
			h->failed = true;
			return -ENOMEM;
		}
	return 0;
}

void heat_size(const struct heat *h, uint64_t *bytes, uint64_t *width_ns)
{
	*bytes = UINT64_C(1) << h->addr_shift;
	*width_ns = UINT64_C(1) << h->time_shift;
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_place(const void *a, const void *b)
{
	const struct heat_cell *x = a, *y = b;
	int order = ORDER(x->mm, y->mm);

	order = order ? order : ORDER(x->addr, y->addr);
	order = order ? order : ORDER(x->start_ns, y->start_ns);
	order = order ? order : ORDER(x->point, y->point);
	return order ? order : ORDER(x->level, y->level);
}

struct heat_cell *heat_cells(const struct heat *h, size_t *nr)
{
	struct heat_cell *cells = calloc(h->nr + 1, sizeof(*cells));

	*nr = 0;
	for (size_t i = 0; cells && i < SLOTS; i++) {
		const struct slot *s = &h->slots[i];

		if (s->decisions)
			cells[(*nr)++] = (struct heat_cell){
				.addr = s->key.addr << h->addr_shift,
				.start_ns = s->key.start << h->time_shift,
				.decisions = s->decisions,
				.mm = (uint32_t)(s->key.what >> 16),
				.point = (uint8_t)(s->key.what >> 8),
				.level = (uint8_t)s->key.what,
			};
	}
	if (cells)
		qsort(cells, *nr, sizeof(*cells), by_place);
	return cells;
}
