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

/* The same in two halves, and no arrays, which gcc would keep in memory. */
typedef uint64_t hash_half __attribute__((vector_size(16)));
struct hash_sums {
	hash_half first_a, first_b, second_a, second_b;
};

/* Takes 32 bytes. */
static inline void hash_block(struct hash_sums *s, const unsigned char *p)
{
	hash_half a, b;

	memcpy(&a, p, sizeof(a));
	memcpy(&b, p + sizeof(a), sizeof(b));
	s->first_a += a;
	s->first_b += b;
	s->second_a += s->first_a;
	s->second_b += s->first_b;
}

/*
 * Continues H. Pieces are multiples of 32 bytes, or their ends are where the data has some of its
 * own (its end, a chunk's): how much is read at a time does not matter then.
 */
static inline void hash_add(struct hash *h, const void *data, size_t size)
{
	const unsigned char *p = data;
	unsigned char last[32] = {0};
	struct hash_sums s;

	memcpy(&s.first_a, h->first, sizeof(s.first_a));
	memcpy(&s.first_b, h->first + 2, sizeof(s.first_b));
	memcpy(&s.second_a, h->second, sizeof(s.second_a));
	memcpy(&s.second_b, h->second + 2, sizeof(s.second_b));
	for (size_t n = size / sizeof(last); n; n--, p += sizeof(last))
		hash_block(&s, p);
	if (size % sizeof(last)) {
		memcpy(last, p, size % sizeof(last));
		hash_block(&s, last);
	}
	memcpy(h->first, &s.first_a, sizeof(s.first_a));
	memcpy(h->first + 2, &s.first_b, sizeof(s.first_b));
	memcpy(h->second, &s.second_a, sizeof(s.second_a));
	memcpy(h->second + 2, &s.second_b, sizeof(s.second_b));
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
