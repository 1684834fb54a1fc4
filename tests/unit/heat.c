// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The grid of decisions against a list of all events that is counted cell by cell: the same counts,
 * no cell larger than it had to be, and the same cells whatever the order of the events.
 */
#include "replay/heat.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

#define EVENTS 60000

static struct tlb_event events[EVENTS];
static uint64_t state = 1;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static void make(size_t nr, uint64_t pages, uint64_t span_ns)
{
	for (size_t i = 0; i < nr; i++)
		events[i] = (struct tlb_event){
			.kind = EVENT_DECISION,
			.time_ns = 5000000000 + draw() % span_ns,
			.addr = draw() % 50 ? 0xffff80000000 + draw() % pages * 4096 + draw() % 4096
					    : 0,
			.pages = 1,
			.mm = 1 + (uint32_t)(draw() % 3),
			.point = draw() % 2 ? POINT_WP_REUSE : POINT_COW,
			.level = LEVEL_PTE,
			.sure = {1, 1, 1},
		};
}

/* How many cells of a size all events need, by sorting what a cell is told by. */
static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, 4 * sizeof(uint64_t));
}

static size_t needed(size_t nr, uint64_t bytes, uint64_t width_ns)
{
	uint64_t(*keys)[4] = calloc(nr, sizeof(*keys));
	size_t cells = 0;

	for (size_t i = 0; i < nr; i++) {
		keys[i][0] = events[i].addr / bytes;
		keys[i][1] = events[i].time_ns / width_ns;
		keys[i][2] = events[i].mm;
		keys[i][3] = events[i].point;
	}
	qsort(keys, nr, sizeof(*keys), by_bytes);
	for (size_t i = 0; i < nr; i++)
		cells += !i || by_bytes(keys[i], keys[i - 1]);
	free(keys);
	return cells;
}

static struct heat_cell *play(size_t nr, size_t *cells, uint64_t *bytes, uint64_t *width_ns)
{
	struct heat *h = heat_new(12);

	CHECK(h);
	for (size_t i = 0; i < nr; i++)
		CHECK(!heat_event(h, &events[i]));
	heat_size(h, bytes, width_ns);
	struct heat_cell *list = heat_cells(h, cells);
	CHECK(list);
	heat_free(h);
	return list;
}

static void agree(size_t nr)
{
	uint64_t bytes, width_ns, again_bytes, again_ns;
	size_t cells, again, sum = 0;
	struct heat_cell *list = play(nr, &cells, &bytes, &width_ns);

	CHECK(cells <= HEAT_CELLS && cells == needed(nr, bytes, width_ns));
	for (size_t i = 0; i < cells; i++)
		sum += list[i].decisions;
	CHECK(sum == nr);
	/* Some of the cells, counted one by one. */
	for (size_t i = 0; i < cells; i += 1 + cells / 50) {
		const struct heat_cell *c = &list[i];
		size_t count = 0;

		for (size_t k = 0; k < nr; k++)
			count += events[k].mm == c->mm && events[k].point == c->point &&
				 events[k].addr / bytes == c->addr / bytes &&
				 events[k].time_ns / width_ns == c->start_ns / width_ns;
		CHECK(count == c->decisions && c->addr % bytes == 0 && c->start_ns % width_ns == 0);
	}
	/* The step before would not have done: time and addresses were coarsened in turn. */
	unsigned int time = 0, addr = 0;
	while (UINT64_C(1) << (HEAT_TIME_SHIFT + time) < width_ns)
		time++;
	while (UINT64_C(4096) << addr < bytes)
		addr++;
	CHECK(time == addr || time == addr + 1);
	if (time)
		CHECK(needed(nr, time == addr ? bytes / 2 : bytes,
			     time == addr ? width_ns : width_ns / 2) > HEAT_CELLS);
	for (size_t i = nr - 1; i; i--) {
		size_t k = draw() % (i + 1);
		struct tlb_event e = events[i];

		events[i] = events[k];
		events[k] = e;
	}
	struct heat_cell *other = play(nr, &again, &again_bytes, &again_ns);
	CHECK(again == cells && again_bytes == bytes && again_ns == width_ns);
	CHECK(again == cells && !memcmp(list, other, cells * sizeof(*list)));
	free(list);
	free(other);
}

/* More address spaces than cells: they are taken together, and nothing is lost. */
static void many_mms(void)
{
	uint64_t bytes, width_ns, again_bytes, again_ns, sum = 0;
	size_t cells, again;

	make(EVENTS, 100, 1000000000);
	for (size_t i = 0; i < EVENTS; i++)
		events[i].mm = 1 + (uint32_t)i;
	struct heat_cell *list = play(EVENTS, &cells, &bytes, &width_ns);
	CHECK(cells >= 2 && cells <= HEAT_CELLS);
	for (size_t i = 0; i < cells; i++) {
		CHECK(!list[i].mm);
		sum += list[i].decisions;
	}
	CHECK(sum == EVENTS);
	for (size_t i = 0; i < EVENTS / 2; i++) {
		struct tlb_event e = events[i];

		events[i] = events[EVENTS - 1 - i];
		events[EVENTS - 1 - i] = e;
	}
	struct heat_cell *other = play(EVENTS, &again, &again_bytes, &again_ns);
	CHECK(again == cells && again_bytes == bytes && again_ns == width_ns &&
	      !memcmp(list, other, cells * sizeof(*list)));
	free(list);
	free(other);
}

int main(void)
{
	struct heat *h = heat_new(16);
	uint64_t bytes, width_ns;
	size_t nr;

	/* Nothing counted: no cells, the first size. */
	heat_size(h, &bytes, &width_ns);
	CHECK(bytes == 65536 && width_ns == 1048576);
	free(heat_cells(h, &nr));
	CHECK(!nr);
	/* What is no decision, of no mm, not reached, or at a point that is none of a place. */
	make(1, 1, 1);
	struct tlb_event e = events[0];
	e.kind = EVENT_PRESENT;
	CHECK(!heat_event(h, &e));
	e = events[0];
	e.mm = 0;
	CHECK(!heat_event(h, &e));
	e = events[0];
	e.sure = (struct event_sureness){0, 0, 1};
	CHECK(!heat_event(h, &e));
	e = events[0];
	e.point = POINT_SWITCH;
	CHECK(!heat_event(h, &e));
	free(heat_cells(h, &nr));
	CHECK(!nr);
	heat_free(h);
	heat_free(NULL);

	make(500, 100, 1000000000);
	agree(500);
	make(EVENTS, 300, 2000000);
	agree(EVENTS);
	make(EVENTS, 1000000, 100000000000);
	agree(EVENTS);
	make(EVENTS, UINT64_C(1) << 34, 1000);
	agree(EVENTS);
	many_mms();
	return failures != 0;
}
