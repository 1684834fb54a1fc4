// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Removal moves later members of a run back, so that a table that lives through millions of
 * processes and pages never fills up with tombstones.
 */
#include "replay/map.h"

#include <stdlib.h>

void map_free(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

uint32_t *map_get(const struct map *m, uint64_t key)
{
	if (!m->slots)
		return NULL;
	for (size_t i = map_mix(key) & m->mask; m->slots[i].used; i = (i + 1) & m->mask)
		if (m->slots[i].key == key)
			return &m->slots[i].value;
	return NULL;
}

static int grow(struct map *m)
{
	size_t size = m->slots ? (m->mask + 1) * 2 : 64;
	struct map_slot *old = m->slots, *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return -1;
	for (size_t i = 0; old && i <= m->mask; i++) {
		if (!old[i].used)
			continue;
		size_t at = map_mix(old[i].key) & (size - 1);

		while (slots[at].used)
			at = (at + 1) & (size - 1);
		slots[at] = old[i];
	}
	free(old);
	m->slots = slots;
	m->mask = size - 1;
	return 0;
}

uint32_t *map_put(struct map *m, uint64_t key, bool *made)
{
	uint32_t *value = map_get(m, key);
	size_t i;

	if (made)
		*made = !value;
	if (value)
		return value;
	if ((!m->slots || (m->count + 1) * 4 > (m->mask + 1) * 3) && grow(m))
		return NULL;
	for (i = map_mix(key) & m->mask; m->slots[i].used; i = (i + 1) & m->mask)
		;
	m->slots[i] = (struct map_slot){.key = key, .used = 1};
	m->count++;
	return &m->slots[i].value;
}

void map_remove(struct map *m, uint64_t key)
{
	uint32_t *value = map_get(m, key);

	if (!value)
		return;
	size_t hole =
		(size_t)((struct map_slot *)((char *)value - offsetof(struct map_slot, value)) -
			 m->slots);
	m->count--;
	for (size_t i = (hole + 1) & m->mask; m->slots[i].used; i = (i + 1) & m->mask) {
		size_t home = map_mix(m->slots[i].key) & m->mask;

		/* May member i move into the hole, or does its home lie behind it? */
		if (((i - home) & m->mask) < ((i - hole) & m->mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole].used = 0;
}
