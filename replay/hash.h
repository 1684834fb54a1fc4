/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fast identity of bytes: two running sums (Fletcher) over 64-bit words in four lanes, mixed at the
 * end. It tells recordings apart and finds accidents; it is no defence against malice.
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

/* Continues H with SIZE bytes at DATA. Depends on how the bytes are divided among the calls. */
static inline uint64_t hash_bytes(uint64_t h, const void *data, size_t size)
{
	uint64_t first[4] = {1, 2, 3, 4}, second[4] = {0}, word[4];
	const unsigned char *p = data;
	size_t n = size;

	for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
		memcpy(word, p, sizeof(word));
		for (unsigned int k = 0; k < 4; k++) {
			first[k] += word[k];
			second[k] += first[k];
		}
	}
	memset(word, 0, sizeof(word));
	memcpy(word, p, n);
	for (unsigned int k = 0; k < 4; k++) {
		h = hash_mix(h, first[k]);
		h = hash_mix(h, second[k]);
		h = hash_mix(h, word[k]);
	}
	return hash_mix(h, size);
}

#endif
