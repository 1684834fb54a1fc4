/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash map from 64-bit keys to 32-bit values. Open addressing, linear probing, no tombstones. */
#ifndef REPLAY_MAP_H
#define REPLAY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_slot {
		uint64_t key;
		uint32_t value;
		uint32_t used;
	} *slots;
	/* mask: number of slots - 1, a power of two less one; 0: no table yet */
	size_t mask, count;
};

void map_free(struct map *m);

/* The value at KEY, or NULL. Valid until the next map_put() or map_remove(). */
uint32_t *map_get(const struct map *m, uint64_t key);

/* The value at KEY, made and set to 0 if it was not there (*made says). NULL: no memory. */
uint32_t *map_put(struct map *m, uint64_t key, bool *made);

/* Removes KEY if it is there. */
void map_remove(struct map *m, uint64_t key);

static inline uint64_t map_mix(uint64_t key)
{
	key *= UINT64_C(0x9E3779B97F4A7C15);
	return key ^ key >> 29;
}

#endif
