// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loopers - the recording that single-thread processes would leave which loop over mprotect
 *
 *   loopers [--processes 32] [--rounds 20000] [--loop 633ns] [--seed 1] [--untouched] OUT.dat
 *
 * The workload of linux-arm-kernel 20200203201745.29986-1: each process makes one page read-only
 * and writable again and does nothing else; on a kernel that flushes locally for an address space
 * that has one thread, 32 of them take 0.1198 s, and 2.1214 s on one that broadcasts. Each has a
 * CPU of its own. A round is one mprotect and takes LOOP; processes begin apart from each other
 * within the first LOOP.
 *
 * The message gives neither the number of calls nor the time of one: 633 ns is what docs/costs.md
 * solves from its ratio and a broadcast of 350 ns, so that ratio is no news; how it grows with the
 * processes is.
 *
 * UNTOUCHED: nothing shows that the page was ever there.
 *
 * Prints what it did as key=value. Same options, same bytes.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "recording.h"

enum { FIRST_PID = 1000, PAGE = 4096, MOST = 256, AT_A_TIME = 16 };

#define START_NS 1000000000ULL
#define BASE     0x200000000000ULL
#define MM(i)    (0xffff000101000000ULL + (uint64_t)(i)*0x1000)

static struct {
	unsigned int processes;
	uint64_t rounds, loop, seed;
	bool untouched;
} opt = {32, 20000, 633, 1, false};

static void introduce(struct recording *r)
{
	char text[900];

	for (unsigned int i = 0; i < opt.processes; i += AT_A_TIME) {
		int n = snprintf(text, sizeof(text), "tlbr.tasks 1\n");

		for (unsigned int k = i; k < i + AT_A_TIME && k < opt.processes; k++)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "%u %u %u u looper\n",
				      FIRST_PID + k, FIRST_PID + k, FIRST_PID + k);
		recording_marker(r, START_NS - 100000 + i, 0, text);
	}
	snprintf(text, sizeof(text), "tlbr.tasks.end %u\n", opt.processes);
	recording_marker(r, START_NS - 50000, 0, text);
}

static void run_process(struct recording *r, unsigned int i, uint64_t *random)
{
	int pid = FIRST_PID + (int)i;
	uint64_t t = START_NS + draw(random) % opt.loop;

	RECORD(r, REC_SWITCH, START_NS - 1000, 0, 0, (uint64_t)pid);
	if (!opt.untouched) {
		RECORD(r, REC_FAULT, START_NS - 500, pid, MM(i), BASE, 0x1255, 0x401000);
		RECORD(r, REC_FAULT_RET, START_NS - 200, pid, BASE, 0);
	}
	for (uint64_t round = 0; round < opt.rounds; round++, t += opt.loop)
		RECORD(r, REC_PROTECT, t, pid, MM(i), BASE, BASE + PAGE, round & 1);
	RECORD(r, REC_SWITCH, START_NS + (opt.rounds + 1) * opt.loop, pid, (uint64_t)pid, 0);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"processes", required_argument, NULL, 'p'},
					      {"rounds", required_argument, NULL, 'r'},
					      {"loop", required_argument, NULL, 'l'},
					      {"seed", required_argument, NULL, 's'},
					      {"untouched", no_argument, NULL, 'u'},
					      {NULL, 0, NULL, 0}};
	struct recording *r;
	uint64_t random, n;
	int option, i;

	program = "loopers";
	while ((option = getopt_long(argc, argv, "", longs, &i)) != -1)
		switch (option) {
		case 'p':
			opt.processes =
				(unsigned int)read_number("processes", optarg, true, 1, MOST);
			break;
		case 'r':
			opt.rounds = read_number("rounds", optarg, true, 1, 100000000);
			break;
		case 'l':
			opt.loop = read_number("loop", optarg, true, 1, 1000000000);
			break;
		case 's':
			opt.seed = read_number("seed", optarg, true, 1, UINT32_MAX);
			break;
		case 'u':
			opt.untouched = true;
			break;
		default:
			return 2;
		}
	if (optind + 1 != argc) {
		fputs("usage: loopers [--processes 32] [--rounds 20000] [--loop 633ns] [--seed 1]\n"
		      "               [--untouched] OUT.dat\n",
		      stderr);
		return 2;
	}
	random = opt.seed * 0x9E3779B97F4A7C15ULL;
	r = recording_create(argv[optind], opt.processes,
			     1u << REC_SWITCH | 1u << REC_FAULT | 1u << REC_FAULT_RET |
				     1u << REC_PROTECT);
	for (unsigned int p = 0; p < opt.processes; p++) {
		recording_next_cpu(r);
		if (!p)
			introduce(r);
		run_process(r, p, &random);
	}
	n = recording_finish(r);
	printf("events=%" PRIu64 " processes=%u rounds=%" PRIu64 " loop_ns=%" PRIu64 "\n", n,
	       opt.processes, opt.rounds, opt.loop);
	return 0;
}
