/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fast identity of bytes: two running sums (Fletcher) over 64-bit words in four lanes, mixed at
 * the end. It tells recordings apart and finds accidents; it is no defence against malice.
 */
#ifndef REPLAY_HASH_H
#define REPLAY_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
	return h ^ h >> 32;
}

/* The running sums. They start at HASH_START. */
struct hash {
	uint64_t first[4], second[4];
	uint64_t size; /* bytes */
};

#define HASH_START ((struct hash){.first = {1, 2, 3, 4}})

/*
 * Continues H. Pieces are multiples of 32 bytes, or their ends are where the data has some of its
 * own (its end, a chunk's): how much is read at a time does not matter then.
 */
static inline void hash_add(struct hash *h, const void *data, size_t size)
{
	typedef uint64_t lanes __attribute__((vector_size(16)));
	lanes first[2], second[2], word[2] = {{0}};
	const unsigned char *p = data;

	memcpy(first, h->first, sizeof(first));
	memcpy(second, h->second, sizeof(second));
	for (size_t n = size / sizeof(word); n; n--, p += sizeof(word)) {
		memcpy(word, p, sizeof(word));
		first[0] += word[0];
		first[1] += word[1];
		second[0] += first[0];
		second[1] += first[1];
	}
	if (size % sizeof(word)) {
		memset(word, 0, sizeof(word));
		memcpy(word, p, size % sizeof(word));
		for (unsigned int k = 0; k < 2; k++) {
			first[k] += word[k];
			second[k] += first[k];
		}
	}
	memcpy(h->first, first, sizeof(first));
	memcpy(h->second, second, sizeof(second));
	h->size += size;
}

/* X with all of H mixed in. */
static inline uint64_t hash_value(uint64_t x, const struct hash *h)
{
	for (unsigned int k = 0; k < 4; k++)
		x = hash_mix(hash_mix(x, h->first[k]), h->second[k]);
	return hash_mix(x, h->size);
}

#endif
