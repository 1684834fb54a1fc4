// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions that are executed exactly as often as another one. What flow_twin() says of made-up
 * functions is held against running them: whichever way the branches go, the two counts are equal.
 */
#include "capture/flow.c"

#include <stdio.h>

#include "tests/unit/check.h"

/* As an assembler writes them. */
#define NOP     0xd503201fu
#define DSB_ISH 0xd5033b9fu
#define TLBI    0xd5088340u /* tlbi aside1is, x0 */
#define CASAL   0x88e5fc02u /* casal w5, w2, [x0] */
#define LDXR    0x885f7cc0u /* ldxr w0, [x6] */
#define STLXR   0x8805fcc2u /* stlxr w5, w2, [x6] */
#define MOV     0xaa1903e0u /* mov x0, x25 */
#define LDR     0xf94172a0u /* ldr x0, [x21, #736] */
#define RET     0xd65f03c0u
#define BR      0xd61f0000u
#define BLR     0xd63f0000u
#define BL      0x940209e6u
#define B(n)    (0x14000000u | ((uint32_t)(n) & 0x3ffffff))
#define CBZ(n)  (0xb4000000u | ((uint32_t)(n) & 0x7ffff) << 5)
#define BNE(n)  (0x54000001u | ((uint32_t)(n) & 0x7ffff) << 5)
#define TBZ(n)  (0xb6a00000u | ((uint32_t)(n) & 0x3fff) << 5)

static void test_exclusive(void)
{
	uint32_t words[80];

	for (size_t i = 0; i < 80; i++)
		words[i] = NOP;
	words[10] = CASAL;
	/* 32 instructions are looked at, CAS counts as a load. */
	CHECK(!flow_is_exclusive(words, 10));
	CHECK(flow_is_exclusive(words, 11));
	CHECK(flow_is_exclusive(words, 42));
	CHECK(!flow_is_exclusive(words, 43));
	words[20] = STLXR;
	CHECK(flow_is_exclusive(words, 20));
	CHECK(!flow_is_exclusive(words, 21));
	words[30] = LDXR;
	CHECK(flow_is_exclusive(words, 31));
}

/* The twin of the TLBI at 1; 0: none. */
static size_t twin_of(uint32_t *words, size_t count, bool *same)
{
	return flow_twin(words, count, 1, same);
}

static void test_cases(void)
{
	bool same;
	/* Straight on; barriers leave the registers alone. */
	uint32_t straight[] = {LDR, TLBI, DSB_ISH, NOP, MOV, RET};
	CHECK(twin_of(straight, 6, &same) == 4 && same);
	uint32_t changed[] = {LDR, TLBI, CASAL, DSB_ISH, MOV, RET};
	CHECK(twin_of(changed, 5, &same) == 0);
	/* Somebody else comes to what is behind it. */
	uint32_t joined[] = {CBZ(3), TLBI, DSB_ISH, MOV, RET};
	CHECK(twin_of(joined, 5, &same) == 0);
	/* It may leave before. */
	uint32_t left[] = {LDR, TLBI, CBZ(2), MOV, RET};
	CHECK(twin_of(left, 5, &same) == 0);
	/* Both ways come together again. */
	uint32_t again[] = {LDR, TLBI, CBZ(2), NOP, MOV, RET};
	CHECK(twin_of(again, 6, &same) == 4 && !same);
	/* A loop around both, and one around each alone. */
	uint32_t loop[] = {LDR, TLBI, DSB_ISH, MOV, BNE(-3), RET};
	CHECK(twin_of(loop, 6, &same) == 3 && same);
	uint32_t inner[] = {LDR, TLBI, BNE(-1), MOV, RET};
	CHECK(twin_of(inner, 5, &same) == 0);
	uint32_t behind[] = {LDR, TLBI, DSB_ISH, MOV, TBZ(-1), RET};
	CHECK(twin_of(behind, 6, &same) == 0);
	/* Calls come back, computed branches go nobody knows where. */
	uint32_t call[] = {LDR, TLBI, BL, BLR, MOV, RET};
	CHECK(twin_of(call, 6, &same) == 4 && !same);
	uint32_t computed[] = {LDR, TLBI, DSB_ISH, MOV, CBZ(2), BR, RET};
	CHECK(twin_of(computed, 7, &same) == 0);
	/* A branch to outside of the function ends it. */
	uint32_t tail[] = {LDR, TLBI, CBZ(100), MOV, RET};
	CHECK(twin_of(tail, 5, &same) == 0);
}

static uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Runs a function, branches by chance. Returns false if it came to no end. */
static bool run(const uint32_t *words, size_t count, size_t a, size_t b, int counts[2])
{
	size_t at = 0;

	counts[0] = counts[1] = 0;
	for (int steps = 0; steps < 2000; steps++) {
		if (at >= count || words[at] == RET)
			return true;
		counts[0] += at == a;
		counts[1] += at == b;
		uint32_t word = words[at];
		int32_t offset = 1;
		if (word >> 26 == 5)
			offset = (int32_t)(word << 6) >> 6;
		else if ((word >> 24 == 0xb4 || word >> 24 == 0x54) && next_random() & 1)
			offset = (int32_t)(word << 8) >> 13;
		at = (size_t)((int64_t)at + offset);
	}
	return false;
}

static void test_by_running(void)
{
	enum { COUNT = 24 };
	size_t twins = 0, runs = 0;

	for (int f = 0; f < 20000; f++) {
		uint32_t words[COUNT];
		int counts[2];
		bool same;

		for (size_t i = 0; i < COUNT; i++) {
			int offset = (int)(next_random() % COUNT) - (int)i;
			uint64_t kind = next_random() % 12;

			words[i] = kind == 0   ? B(offset)
				   : kind == 1 ? CBZ(offset)
				   : kind == 2 ? BNE(offset)
				   : kind == 3 ? RET
				   : kind < 6  ? NOP
					       : MOV;
		}
		size_t at = next_random() % (COUNT - 1);
		words[at] = TLBI;
		size_t twin = flow_twin(words, COUNT, at, &same);
		if (!twin)
			continue;
		twins++;
		for (int i = 0; i < 50; i++) {
			if (!run(words, COUNT, at, twin, counts))
				continue;
			runs += counts[0] > 0;
			if (counts[0] != counts[1]) {
				CHECK(counts[0] == counts[1]);
				return;
			}
		}
	}
	printf("%zu functions with a twin, executed in %zu runs\n", twins, runs);
	CHECK(twins > 1000 && runs > 10000);
}

int main(void)
{
	test_exclusive();
	test_cases();
	test_by_running();
	return failures != 0;
}
