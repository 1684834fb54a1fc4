// SPDX-License-Identifier: GPL-2.0-or-later
/* Broadcasts that wait for each other, against waits worked out by hand. */
#include <math.h>

#include "replay/fabric.h"
#include "tests/unit/check.h"

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

/* Three CPUs at once, 100 ns each: 0, 100 and 200 ns of waiting. Alone later: nothing. */
static void test_at_once(void)
{
	struct fabric *f = fabric_new(3, (struct fabric_service){100, 0});
	const struct fabric_result *r = fabric_result(f);

	for (unsigned int cpu = 0; cpu < 3; cpu++)
		fabric_broadcast(f, 1000, cpu, 1, true);
	CHECK(r->broadcasts == 3 && r->waited == 2);
	CHECK(near(r->wait_ns, 300) && near(r->max_ns, 200) && near(r->stretch_ns, 0));
	fabric_broadcast(f, 5000, 1, 1, true);
	CHECK(r->waited == 2 && near(r->wait_ns, 300));
	fabric_free(f);
}

/* Each CPU that waits makes a service 10 ns longer: 100, then 110 beside one, 120 beside two. */
static void test_waiters(void)
{
	struct fabric *f = fabric_new(3, (struct fabric_service){100, 10});
	const struct fabric_result *r = fabric_result(f);

	for (unsigned int cpu = 0; cpu < 3; cpu++)
		fabric_broadcast(f, 1000, cpu, 1, true);
	CHECK(near(r->wait_ns, 100 + 210));
	fabric_free(f);
}

/* One that nobody waits for keeps the fabric busy. */
static void test_batched(void)
{
	struct fabric *f = fabric_new(2, (struct fabric_service){100, 0});
	const struct fabric_result *r = fabric_result(f);

	fabric_broadcast(f, 0, 0, 5, false);
	CHECK(near(r->wait_ns, 0));
	fabric_broadcast(f, 200, 1, 1, true);
	CHECK(near(r->wait_ns, 300));
	fabric_free(f);
}

/*
 * A closed loop: CPUS each think for THINK ns and broadcast, ROUNDS times. If one is served in S,
 * a round takes max(THINK + S, CPUS x S); recorded without broadcasts, it took THINK.
 */
static double closed_loop(unsigned int cpus, double service, uint64_t think, unsigned int rounds)
{
	struct fabric *f = fabric_new(cpus, (struct fabric_service){service, 0});
	double length;

	for (unsigned int i = 1; i <= rounds; i++)
		for (unsigned int cpu = 0; cpu < cpus; cpu++)
			fabric_broadcast(f, i * think, cpu, 1, true);
	length = (double)(rounds * think) + fabric_result(f)->stretch_ns;
	CHECK(fabric_result(f)->max_ns <= cpus * service);
	fabric_free(f);
	return length / (double)(rounds * think);
}

static void test_closed_loop(void)
{
	CHECK(fabs(closed_loop(1, 350, 633, 10000) - 983.0 / 633) < 0.01);
	CHECK(fabs(closed_loop(2, 350, 633, 10000) - 983.0 / 633) < 0.01);
	CHECK(fabs(closed_loop(8, 350, 633, 10000) - 2800.0 / 633) < 0.01);
	/* 32 CPUs of linux-arm-kernel 20200203201745.29986-1: 17.7 times. */
	CHECK(fabs(closed_loop(32, 350, 633, 10000) - 17.7) < 0.05);
}

int main(void)
{
	test_at_once();
	test_waiters();
	test_batched();
	test_closed_loop();
	return failures != 0;
}
