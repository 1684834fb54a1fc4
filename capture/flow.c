// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * T, the instruction at AT, and L, one behind it, are executed equally often if neither can be had
 * without the other:
 *
 *   without T, L cannot be reached: not from the function's start, not from L itself
 *   without L, nothing that ends the function, and not T again, can be reached from T
 *
 * A walk over the instructions answers each. What branches is told by the encoding (ARM ARM DDI
 * 0487, C4.1 "Branches, exception generating and system instructions"); calls and BRK (WARN as well
 * as BUG) are taken to come back; a branch to outside of the function is a call in its place, and
 * ends it.
 */
#include "capture/flow.h"

#include <stdlib.h>
#include <string.h>

#define EXCLUSIVE_MASK  0x3f400000u
#define LOAD_EXCLUSIVE  0x08400000u
#define STORE_EXCLUSIVE 0x08000000u
#define BACK            32  /* instructions that Linux looks at */
#define FORWARD         64  /* that we look at */
#define NOWHERE         SIZE_MAX
#define MOST            16384 /* instructions of a function */

bool flow_is_exclusive(const uint32_t *words, size_t at)
{
	for (size_t back = 1; back <= BACK && back <= at; back++) {
		uint32_t kind = words[at - back] & EXCLUSIVE_MASK;

		if (kind == LOAD_EXCLUSIVE || kind == STORE_EXCLUSIVE)
			return kind == LOAD_EXCLUSIVE;
	}
	return false;
}

/* Where an instruction leads to. */
struct next {
	size_t one, other; /* NOWHERE: not */
	bool ends;         /* it leaves the function */
	bool unknown;
};

/* The target of a branch with an offset of BITS bits at SHIFT; COUNT or more: outside. */
static size_t target(uint32_t word, size_t at, unsigned int shift, unsigned int bits)
{
	int64_t offset = (int64_t)((uint64_t)word >> shift << (64 - bits)) >> (64 - bits);

	return (size_t)((int64_t)at + offset);
}

static struct next lead(const uint32_t *words, size_t count, size_t at)
{
	struct next next = {.one = at + 1, .other = NOWHERE};
	uint32_t word = words[at];

	if ((word & 0xfc000000u) == 0x14000000u) /* b */
		next.one = target(word, at, 0, 26);
	else if ((word & 0xff000000u) == 0x54000000u || /* b.cond, bc.cond */
		 (word & 0x7e000000u) == 0x34000000u)   /* cbz, cbnz */
		next.other = target(word, at, 5, 19);
	else if ((word & 0x7e000000u) == 0x36000000u) /* tbz, tbnz */
		next.other = target(word, at, 5, 14);
	else if ((word & 0xfffff800u) == 0xd65f0800u || (word & 0xfffffc1fu) == 0xd65f0000u)
		next = (struct next){.one = NOWHERE, .other = NOWHERE, .ends = true}; /* ret */
	else if ((word & 0xfe000000u) == 0xd6000000u && (word & 0x00600000u) != 0x00200000u)
		next.unknown = true; /* br, eret; not blr */
	if (next.one != NOWHERE && next.one >= count) {
		next.one = NOWHERE;
		next.ends = true;
	}
	if (next.other != NOWHERE && next.other >= count) {
		next.other = NOWHERE;
		next.ends = true;
	}
	return next;
}

/*
 * Walks from START without entering WITHOUT. Returns true if it can come to WANTED (NOWHERE: to an
 * end), or if something unknown is met. Of START itself only where it leads to counts if LATER.
 */
static bool reaches(const uint32_t *words, size_t count, size_t start, bool later, size_t without,
		    size_t wanted)
{
	bool *seen = calloc(count, sizeof(*seen));
	size_t *open = calloc(2 * count + 2, sizeof(*open)), number = 0;
	bool found = !seen || !open;

	if (!found && later) {
		struct next next = lead(words, count, start);

		found = next.unknown || (next.ends && wanted == NOWHERE);
		if (next.one != NOWHERE)
			open[number++] = next.one;
		if (next.other != NOWHERE)
			open[number++] = next.other;
	} else if (!found) {
		open[number++] = start;
	}
	while (!found && number) {
		size_t at = open[--number];

		if (at == without || seen[at])
			continue;
		if (at == wanted) {
			found = true;
			break;
		}
		seen[at] = true;
		struct next next = lead(words, count, at);
		found = next.unknown || (next.ends && wanted == NOWHERE);
		if (next.one != NOWHERE)
			open[number++] = next.one;
		if (next.other != NOWHERE)
			open[number++] = next.other;
	}
	free(seen);
	free(open);
	return found;
}

static bool is_barrier(uint32_t word)
{
	return (word & 0xfffff01fu) == 0xd503201fu || (word & 0xfffff01fu) == 0xd503301fu;
}

/* Loads, stores and sums may be stepped; what branches or acts on the system is left to itself. */
static bool is_plain(uint32_t word)
{
	return (word & 0x1c000000u) != 0x14000000u;
}

size_t flow_twin(const uint32_t *words, size_t count, size_t at, bool *same)
{
	*same = true;
	if (count > MOST)
		return 0;
	for (size_t twin = at + 1; twin < count && twin <= at + FORWARD; twin++) {
		if (is_plain(words[twin]) && !flow_is_exclusive(words, twin) &&
		    (words[twin] & EXCLUSIVE_MASK) != LOAD_EXCLUSIVE &&
		    (words[twin] & EXCLUSIVE_MASK) != STORE_EXCLUSIVE &&
		    !reaches(words, count, 0, false, at, twin) &&
		    !reaches(words, count, twin, true, at, twin) &&
		    !reaches(words, count, at, true, twin, NOWHERE) &&
		    !reaches(words, count, at, true, twin, at))
			return twin;
		*same &= is_barrier(words[twin]);
	}
	return 0;
}
