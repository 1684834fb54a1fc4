// SPDX-License-Identifier: GPL-2.0-or-later
/* Sweeps: the words, and a break-even price worked out on paper. */
#include "replay/sweep.h"

#include <errno.h>
#include <stddef.h>

#include "tests/unit/check.h"

static struct cost_preset *open_preset(const char *spec)
{
	char err[512] = "";
	struct cost_preset *p = cost_open(spec, err, sizeof(err));

	if (!p) {
		printf("%s: %s\n", spec, err);
		failures++;
	}
	return p;
}

/*
 * Two CPUs, 1,000 upgrades. One policy broadcasts each; the other flushes each locally and takes
 *100 spurious faults, each fixed by a local flush. With 50 ns a local flush and 1,000 ns a fault:
 *
 *	broadcasting  1000 b
 *	local         (1000 + 100) x 50 + 100 x 1000 = 155,000 ns
 *
 * which is the same at b = 155 ns.
 */
static void check_break_even(void)
{
	struct policy_counts broadcast = {.share = 1, .write_share = 1}, local = broadcast;
	struct sweep_axis axis, shares[2];
	double values[2] = {0.1, 0.5}, cpus = 64;
	char err[256];
	struct cost_preset *p = open_preset("arm64-generic:flush_local=50,spurious_fault=1000,"
					    "victim_broadcast=0,broadcast_cpu=0");

	broadcast.flushes[SCOPE_BROADCAST] = (struct bound){1000, 1000, 1000};
	local.flushes[SCOPE_LOCAL] = (struct bound){1000, 1000, 1000};
	local.spurious[LEVEL_PTE].possible = 100;
	local.spurious[LEVEL_PTE].likely = 100;
	local.fix_scope[LEVEL_PTE] = SCOPE_LOCAL;
	CHECK(!sweep_parse(&axis, "flush_broadcast=100ns:200ns:101", err, sizeof(err)));
	for (unsigned int i = 0; p && i < axis.nr; i++) {
		double b = sweep_value(&axis, i);
		double one = sweep_cost(&broadcast, 2, p, &axis, &b, 1).estimate;
		double other = sweep_cost(&local, 2, p, &axis, &b, 1).estimate;

		CHECK(b == 100 + i && one == 1000 * b && other == 155000);
		CHECK((one > other) == (b > 155));
	}
	/* With a tenth held and half of these written to: 5 faults, 1,005 local flushes. */
	CHECK(!sweep_parse(&shares[0], "share=0:1:11", err, sizeof(err)));
	CHECK(!sweep_parse(&shares[1], "write_share=0:100%:3", err, sizeof(err)));
	CHECK(sweep_value(&shares[0], 1) == 0.1 && sweep_value(&shares[1], 1) == 0.5);
	CHECK(p && sweep_cost(&local, 2, p, shares, values, 2).estimate == 1005 * 50 + 5 * 1000);
	cost_free(p);
	/* Each further CPU is stalled 10 ns by each broadcast: 1000 x (350 + 10 x 63). */
	p = open_preset("arm64-generic:flush_broadcast=350,victim_broadcast=10,broadcast_cpu=0");
	CHECK(!sweep_parse(&axis, "cpus=2:64:6:log", err, sizeof(err)));
	CHECK(sweep_value(&axis, 0) == 2 && sweep_value(&axis, 1) == 4 && sweep_value(&axis, 5) == 64);
	CHECK(p && sweep_cost(&broadcast, 2, p, &axis, &cpus, 1).estimate == 1000 * (350 + 10 * 63));
	cost_free(p);
}

static void check_words(void)
{
	static const char *const bad[] = {
		"x=1:2:3",
		"refill",
		"refill=1ns",
		"refill=1ns:2ns",
		"refill=1x:2:3",
		"refill=1ns:2ns:1",
		"refill=1ns:2ns:1001",
		"refill=2ns:1ns:3",
		"refill=2ns:2ns:3",
		"refill=0ns:2ns:3:log",
		"refill=1ns:2ns:3:lin",
		"share=0:1.1:3",
		"share=-1:1:3",
		"cpus=0:4:2",
		"cpus=1:4x:2",
		"broadcast_service=1ns:2ns:3",
		"tlb=1:2:3",
		"refill=1ns:2ns:3:log:x",
	};
	struct sweep_axis axis;
	char err[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err[0] = '\0';
		if (sweep_parse(&axis, bad[i], err, sizeof(err)) != -EINVAL || !err[0]) {
			printf("--sweep %s is taken\n", bad[i]);
			failures++;
		}
	}
}

int main(void)
{
	check_break_even();
	check_words();
	return failures != 0;
}
