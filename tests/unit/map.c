// SPDX-License-Identifier: GPL-2.0-or-later
/* The hash map against an array that is searched from end to end. */
#include "replay/map.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/check.h"

#define MEMBERS 3000

static struct {
	uint64_t key;
	uint32_t value;
} twin[MEMBERS];
static size_t members;

static size_t find(uint64_t key)
{
	size_t i = 0;

	while (i < members && twin[i].key != key)
		i++;
	return i;
}

static uint64_t state = 1;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* Keys that look like what is put in: pids, pointers, and some that fall into one place. */
static uint64_t some_key(unsigned int kind, unsigned int range)
{
	uint64_t n = draw() % range;

	switch (kind) {
	case 0:
		return n;
	case 1:
		return UINT64_C(0xffff000001e10000) + n * 0x480;
	case 2:
		return n << 58 | n >> 6; /* the low bits of the product vary little */
	default:
		return draw() % 2 ? UINT64_MAX - n : n << 32;
	}
}

static void play(unsigned int kind, unsigned int range, unsigned int steps, unsigned int removals)
{
	struct map m = {0};

	members = 0;
	CHECK(!map_get(&m, 0));
	map_remove(&m, 0);
	for (unsigned int step = 0; step < steps && !failures; step++) {
		uint64_t key = some_key(kind, range);
		size_t at = find(key);

		if (draw() % 100 < removals) {
			map_remove(&m, key);
			if (at < members)
				twin[at] = twin[--members];
			CHECK(!map_get(&m, key));
		} else if (at < members || members < MEMBERS) {
			bool made = at < members;
			uint32_t *value = map_put(&m, key, draw() % 4 ? &made : NULL);

			CHECK(value);
			if (at == members) {
				CHECK(*value == 0);
				twin[members++].key = key;
			} else {
				CHECK(*value == twin[at].value);
			}
			*value = twin[at].value = (uint32_t)draw();
		}
		CHECK(m.count == members);
		if (step % 500 == 0)
			for (size_t i = 0; i < members; i++) {
				uint32_t *value = map_get(&m, twin[i].key);

				CHECK(value && *value == twin[i].value);
			}
	}
	/* Emptied one by one, it is as good as new, and no larger than it was. */
	size_t mask = m.mask;
	while (members) {
		map_remove(&m, twin[--members].key);
		CHECK(m.count == members);
	}
	for (unsigned int i = 0; i < 1000; i++)
		CHECK(!map_get(&m, some_key(kind, range)));
	for (unsigned int i = 0; i < 100000; i++) {
		CHECK(map_put(&m, i, NULL));
		map_remove(&m, i);
	}
	CHECK(m.mask == mask && m.count == 0);
	map_free(&m);
	map_free(&m);
	CHECK(!map_get(&m, 1));
}

int main(void)
{
	bool made;
	struct map m = {0};

	/* A key of 0 and a value of 0 are like any other. */
	CHECK(map_put(&m, 0, &made) && made);
	CHECK(map_get(&m, 0) && *map_get(&m, 0) == 0);
	CHECK(map_put(&m, 0, &made) && !made);
	map_free(&m);
	for (unsigned int kind = 0; kind < 4; kind++) {
		play(kind, 40, 20000, 50);
		play(kind, 2500, 20000, 30);
		play(kind, 1 << 20, 8000, 45);
	}
	return failures != 0;
}
