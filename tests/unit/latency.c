// SPDX-License-Identifier: GPL-2.0-or-later
/* Durations of calls: pairing, nesting, what is left out, concurrency, CPUs, buckets; by hand. */
#include "replay/latency.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

enum { UPGRADE, CONTPTE, GATHER, RANGE, TLBI, IPI, SWITCH, NR_KINDS };

/* A record, and what is to spare behind it: a field is the beginning of 8 bytes. */
struct record {
	uint8_t before[8];
	int32_t ret;
	uint32_t dirty, reason, spare;
};

static struct decode_plan plans[NR_KINDS][2];

static void make_plans(void)
{
	static const enum role roles[] = {
		ROLE_SET_FLAGS, ROLE_CONTPTE_SET_FLAGS, ROLE_GATHER_FINISH, ROLE_FLUSH_RANGE,
		ROLE_TLBI,      ROLE_TLB_FLUSH,         ROLE_SWITCH};

	for (unsigned int k = 0; k < NR_KINDS; k++)
		for (unsigned int is_return = 0; is_return < 2; is_return++) {
			struct decode_plan *p = &plans[k][is_return];

			p->role = roles[k];
			p->is_return = is_return;
			p->has = is_return ? 1 << SLOT_RET : 1 << SLOT_DIRTY;
			if (k == IPI)
				p->has = 1 << SLOT_REASON;
			p->op.broadcast = true;
			p->fields[SLOT_RET] = (struct decode_field){.mask = UINT32_MAX, .at = 8};
			p->fields[SLOT_DIRTY] = (struct decode_field){.mask = UINT32_MAX, .at = 12};
			p->fields[SLOT_REASON] =
				(struct decode_field){.mask = UINT32_MAX, .at = 16};
		}
}

static struct latency *l;

static void event(unsigned int kind, bool is_return, int32_t pid, uint32_t cpu, uint64_t ns,
		  int32_t value)
{
	struct record record = {.ret = value, .dirty = (uint32_t)value, .reason = (uint32_t)value};
	struct raw_event raw = {.time_ns = ns,
				.pid = pid,
				.cpu = cpu,
				.plan = &plans[kind][is_return],
				.has = plans[kind][is_return].has,
				.size = sizeof(record),
				.data = (const uint8_t *)&record};

	CHECK(!latency_raw(l, &raw, 1));
}

static void begins(unsigned int kind, int32_t pid, uint32_t cpu, uint64_t ns)
{
	event(kind, false, pid, cpu, ns, 1);
}

static void returns(unsigned int kind, int32_t pid, uint32_t cpu, uint64_t ns)
{
	event(kind, true, pid, cpu, ns, 1);
}

static void tell(enum event_kind kind, uint32_t cpu, uint32_t mm)
{
	struct tlb_event e = {.kind = (uint8_t)kind, .cpu = cpu, .mm = mm};

	CHECK(!latency_event(l, &e));
}

static void start(void)
{
	const uint64_t timed = UINT64_C(1) << ROLE_SET_FLAGS |
			       UINT64_C(1) << ROLE_CONTPTE_SET_FLAGS |
			       UINT64_C(1) << ROLE_GATHER_FINISH | UINT64_C(1) << ROLE_FLUSH_RANGE;

	latency_free(l);
	l = latency_new(timed, true, 200);
	CHECK(l);
}

/* The group of CALL with that FLUSH and number of others; the buckets are freed. */
static struct latency_group group(unsigned int call, unsigned int flush, uint32_t concurrent)
{
	struct latency_group g = {0}, found = {0};

	for (size_t i = 0; i < latency_groups(l); i++) {
		size_t nr;

		free(latency_group(l, i, &g, &nr));
		if (g.call == call && g.flush == flush && g.concurrent == concurrent)
			found = g;
	}
	return found;
}

/* 100 calls of 10, 20, ... 1000 ns: the sum is 10 * 100 * 101 / 2. */
static void test_counts(void)
{
	struct latency_group g;
	uint64_t calls = 0, behind = 0, median = 0;
	size_t nr;

	start();
	for (uint64_t i = 1; i <= 100; i++) {
		begins(UPGRADE, 7, 0, 10000 * i);
		returns(UPGRADE, 7, 0, 10000 * i + 10 * i);
	}
	CHECK(latency_groups(l) == 1);
	struct latency_bucket *list = latency_group(l, 0, &g, &nr);
	CHECK(g.call == LATENCY_UPGRADE && g.flush == LATENCY_NONE && g.calls == 100);
	CHECK(g.min_ns == 10 && g.max_ns == 1000 && g.sum_ns == 50500 && !g.probes);
	CHECK(g.cpus == 0 && g.concurrent == 0 && g.concurrent_to == 0);
	for (size_t i = 0; i < nr; i++) {
		calls += list[i].calls;
		CHECK(i == 0 || list[i].from_ns > list[i - 1].to_ns);
		/* Each holds as many multiples of 10 as there are between its ends. */
		CHECK(list[i].calls == list[i].to_ns / 10 - (list[i].from_ns - 1) / 10 ||
		      list[i].to_ns > 1000);
	}
	CHECK(calls == 100);
	for (size_t i = 0; i < nr && behind < 50; i++) {
		behind += list[i].calls;
		median = list[i].to_ns;
	}
	CHECK(median >= 500 && median < 500 + 500 / 32);
	free(list);
}

/* Each number is in one bucket, whose ends are less than 1/32 of it apart. */
static void test_buckets(void)
{
	for (uint64_t ns = 0; ns < UINT64_C(1) << 41; ns += 1 + ns / 7) {
		struct latency_group g;
		size_t nr;

		start();
		begins(GATHER, 7, 0, 1000);
		returns(GATHER, 7, 0, 1000 + ns);
		struct latency_bucket *list = latency_group(l, 0, &g, &nr);
		CHECK(nr == 1 && list[0].calls == 1);
		CHECK(list[0].from_ns <= ns && ns <= list[0].to_ns);
		CHECK(ns < 64 ? list[0].to_ns == ns : (list[0].to_ns - list[0].from_ns) * 32 < ns);
		free(list);
	}
}

/* contpte 100..900 with an upgrade 200..500 and a TLBI in that: 800 ns, 3 events; 300 ns, 1. */
static void test_nesting(void)
{
	start();
	begins(CONTPTE, 7, 0, 100);
	begins(UPGRADE, 7, 0, 200);
	event(TLBI, false, 7, 0, 300, 0);
	event(TLBI, false, 8, 1, 310, 0); /* another task's */
	returns(UPGRADE, 7, 0, 500);
	returns(CONTPTE, 7, 0, 900);
	struct latency_group outer = group(LATENCY_CONTPTE, LATENCY_BROADCAST, 0),
			     inner = group(LATENCY_UPGRADE, LATENCY_BROADCAST, 0);
	CHECK(outer.calls == 1 && outer.sum_ns == 800 && outer.probes == 3);
	CHECK(inner.calls == 1 && inner.sum_ns == 300 && inner.probes == 1);
	CHECK(latency_groups(l) == 2);
}

/* What a return says: 0 is no change; for a read, no flush is due. */
static void test_kinds(void)
{
	start();
	begins(UPGRADE, 7, 0, 100);
	event(UPGRADE, true, 7, 0, 150, 0);
	event(UPGRADE, false, 7, 0, 200, 0);
	returns(UPGRADE, 7, 0, 270);
	begins(RANGE, 7, 0, 300);
	event(IPI, false, 7, 0, 310, 4); /* remote ipi send, then the local part */
	event(IPI, false, 7, 0, 320, 3);
	returns(RANGE, 7, 0, 390);
	begins(RANGE, 7, 0, 400);
	event(IPI, false, 7, 0, 410, 1); /* an interrupt of another CPU's */
	event(IPI, false, 7, 0, 420, 3);
	returns(RANGE, 7, 0, 500);
	CHECK(group(LATENCY_UNCHANGED, LATENCY_NONE, 0).sum_ns == 50);
	CHECK(group(LATENCY_YOUNG, LATENCY_NONE, 0).sum_ns == 70);
	CHECK(group(LATENCY_RANGE, LATENCY_MASK, 0).sum_ns == 90);
	CHECK(group(LATENCY_RANGE, LATENCY_LOCAL, 0).sum_ns == 100);
	CHECK(group(LATENCY_RANGE, LATENCY_LOCAL, 0).probes == 2);
}

static void test_left_out(void)
{
	start();
	returns(UPGRADE, 7, 0, 100); /* no entry */
	begins(UPGRADE, 7, 0, 200);  /* no return: it begins again */
	begins(UPGRADE, 7, 0, 300);
	event(SWITCH, false, 7, 0, 310, 0);
	returns(UPGRADE, 7, 0, 400); /* switched out */
	begins(UPGRADE, 7, 0, 500);
	returns(UPGRADE, 7, 1, 600); /* moved */
	begins(UPGRADE, 7, 0, 700);
	tell(EVENT_LOST, 0, 0);
	returns(UPGRADE, 7, 0, 800); /* lost */
	begins(UPGRADE, 7, 1, 900);
	tell(EVENT_LOST, 0, 0); /* elsewhere */
	returns(UPGRADE, 7, 1, 950);
	begins(CONTPTE, 8, 2, 900); /* no return, and none of what is inside */
	begins(UPGRADE, 8, 2, 910);
	latency_end(l);
	CHECK(latency_left_out(l, LATENCY_NO_ENTRY) == 1);
	CHECK(latency_left_out(l, LATENCY_NO_RETURN) == 3);
	CHECK(latency_left_out(l, LATENCY_SWITCHED) == 2);
	CHECK(latency_left_out(l, LATENCY_LOST) == 1);
	CHECK(latency_groups(l) == 1 && group(LATENCY_UPGRADE, LATENCY_NONE, 0).sum_ns == 50);
}

/*
 *	task 1  0---------100                     meets 2
 *	task 2        50---------150              meets 1 and 3
 *	task 3              120-130               meets 2
 *	task 4                        200-210     nobody
 */
static void test_concurrency(void)
{
	start();
	begins(GATHER, 1, 0, 0);
	begins(GATHER, 2, 1, 50);
	returns(GATHER, 1, 0, 100);
	begins(GATHER, 3, 2, 120);
	returns(GATHER, 3, 2, 130);
	returns(GATHER, 2, 1, 150);
	begins(GATHER, 4, 3, 200);
	returns(GATHER, 4, 3, 210);
	struct latency_group none = group(LATENCY_GATHER, LATENCY_NONE, 0),
			     one = group(LATENCY_GATHER, LATENCY_NONE, 1),
			     two = group(LATENCY_GATHER, LATENCY_NONE, 2);
	CHECK(none.calls == 1 && none.sum_ns == 10);
	CHECK(one.calls == 2 && one.sum_ns == 110 && one.concurrent_to == 1);
	CHECK(two.calls == 1 && two.sum_ns == 100 && two.concurrent_to == 3);
}

/* Address space 1 runs on 1, 2, 3, 4, 5 CPUs; then it ends, and its number is unknown. */
static void test_cpus(void)
{
	static const struct {
		uint32_t from, to;
		uint64_t sum_ns;
	} want[] = {{1, 1, 1}, {2, 2, 2}, {3, 4, 3 + 4}, {5, 8, 5}, {0, 0, 9}};

	start();
	for (uint32_t cpu = 1; cpu <= 5; cpu++) {
		tell(EVENT_LOAD, cpu * 37, 1);
		tell(EVENT_LOAD, cpu * 37, 2); /* and another one, which does not count */
		begins(GATHER, 1, cpu * 37, 1000 * cpu);
		returns(GATHER, 1, cpu * 37, 1000 * cpu + cpu);
	}
	tell(EVENT_MM_END, 0, 1);
	begins(GATHER, 1, 0, 9000);
	returns(GATHER, 1, 0, 9009);
	CHECK(latency_groups(l) == 5);
	for (size_t i = 0; i < 5; i++) {
		struct latency_group g;
		size_t nr;

		free(latency_group(l, i, &g, &nr));
		CHECK(g.cpus == want[i].from && g.cpus_to == want[i].to &&
		      g.sum_ns == want[i].sum_ns);
	}
}

int main(void)
{
	make_plans();
	test_counts();
	test_buckets();
	test_nesting();
	test_kinds();
	test_left_out();
	test_concurrency();
	test_cpus();
	latency_free(l);
	return failures != 0;
}
