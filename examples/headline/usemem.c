// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usemem - the recording that the first headline's workload would leave on an arm64 host
 *
 *   usemem [--memory 100G] [--threads 4] [--cycles 1] [--period 40s] [--page-time 4840ns]
 *          [--copy-time 20ns] [--seed 1] OUT.dat
 *
 * "run usemem with 4 threads, access 100GB memory, and call fork()/exec() every 40 seconds" (avoid
 * TLBI broadcast v3, 2/2). Each thread writes its own part of MEMORY, page after page, on a CPU of
 * its own; a fifth task forks every PERIOD and the child calls exec() at once. The fork makes all
 * pages read-only, so the first write to each takes a write-protect fault; the child is gone by
 * then, so the page is reused and its entry made writable again, with one broadcast. Pages are of
 * 4 KiB: with larger ones there would be too few of these faults to take half of all cycles.
 *
 * Times are of a kernel that broadcasts. PAGE-TIME goes from one fault of a thread to its next,
 * COPY-TIME is what the fork takes per page, during which nobody faults. Neither is published; they
 * place the events in time and change no count.
 *
 * Prints what it did as key=value. Same options, same bytes.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "recording.h"

enum {
	MAIN_PID = 1000,
	CHILD_PID = 2000,
	PAGE_SHIFT = 12
};

#define START_NS 1000000000ULL
#define PARENT   0xffff000101000000ULL /* mm_struct pointers */
#define COPY     0xffff000102000000ULL
#define CHILD    0xffff000103000000ULL
#define ASID(n)  ((uint64_t)(n) << 48)
/* arm64: valid page, user, accessed, not global, DBM; bit 7: read-only */
#define PTE(frame, readonly) \
	(0x00e8000000000f43ULL | ((frame)&0xfffffffffULL) << 12 | ((readonly) ? 0x80 : 0))
#define FORKED_PTE(frame) (PTE(frame, true) & ~(1ULL << 51)) /* as fork leaves it */

static struct {
	uint64_t memory, cycles, period, page_time, copy_time, seed;
	unsigned int threads;
} opt = {100ULL << 30, 1, 40000000000ULL, 4840, 20, 1, 4};

static uint64_t thread_pages(void)
{
	return (opt.memory >> PAGE_SHIFT) / opt.threads;
}

static uint64_t region(unsigned int thread)
{
	return 0x100000000000ULL + thread * 0x10000000000ULL;
}

static void write_page(struct recording *r, uint64_t t, int pid, uint64_t addr, uint64_t spread)
{
	uint64_t frame = addr >> PAGE_SHIFT;

	RECORD(r, REC_FAULT, t, pid, PARENT, addr, 0x1255, 0x401000);
	RECORD(r, REC_WP, t + 200, pid, PARENT, addr, 0x1a55, FORKED_PTE(frame));
	RECORD(r, REC_TLBI_SET_FLAGS, t + 400, pid, ASID(1) | addr >> PAGE_SHIFT);
	RECORD(r, REC_SET_FLAGS_RET, t + 450 + spread / 2, pid, PARENT, addr, PTE(frame, false),
	       PTE(frame, false), 1, 1);
	RECORD(r, REC_FAULT_RET, t + 500 + spread / 2, pid, addr, 0);
}

static void run_thread(struct recording *r, unsigned int thread)
{
	uint64_t pages = thread_pages(), state = opt.seed * 0x9E3779B97F4A7C15ULL + thread + 1;
	uint64_t copy = opt.copy_time * pages * opt.threads, slack = opt.page_time - 600;
	int pid = MAIN_PID + 1 + (int)thread;

	recording_next_cpu(r);
	RECORD(r, REC_SWITCH, START_NS - 1000, 0, 0, (uint64_t)pid);
	for (uint64_t cycle = 0; cycle < opt.cycles; cycle++) {
		uint64_t t = START_NS + cycle * opt.period + 100000 + copy;

		for (uint64_t i = 0; i < pages; i++, t += opt.page_time)
			write_page(r, t + draw(&state) % (slack / 2 + 1), pid,
				   region(thread) + (i << PAGE_SHIFT), slack);
	}
	RECORD(r, REC_SWITCH, START_NS + opt.cycles * opt.period, pid, (uint64_t)pid, 0);
}

static void introduce(struct recording *r)
{
	char text[900];
	int n = snprintf(text, sizeof(text), "tlbr.tasks 1\n%d %d %d u usemem\n", MAIN_PID,
			 MAIN_PID, MAIN_PID);

	for (unsigned int i = 0; i < opt.threads; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%d %d %d u usemem\n",
			      MAIN_PID + 1 + (int)i, MAIN_PID, MAIN_PID);
	recording_marker(r, START_NS - 3000, 0, text);
	snprintf(text, sizeof(text), "tlbr.tasks.end %u\n", opt.threads + 1);
	recording_marker(r, START_NS - 2000, 0, text);
}

static void end_mm(struct recording *r, uint64_t t, int pid, uint64_t mm, unsigned int asid)
{
	RECORD(r, REC_EXIT_MMAP, t, pid, mm);
	RECORD(r, REC_FINISH, t + 100, pid, mm, 0, UINT64_MAX, 0x75); /* full mm, tables freed */
	RECORD(r, REC_TLBI_MM, t + 200, pid, ASID(asid));
}

/* The task that forks, and the children, which run on its CPU while it waits. */
static void run_forks(struct recording *r)
{
	uint64_t bytes = thread_pages() << PAGE_SHIFT;
	uint64_t copy = opt.copy_time * thread_pages() * opt.threads;

	recording_next_cpu(r);
	introduce(r);
	for (uint64_t cycle = 0; cycle < opt.cycles; cycle++) {
		uint64_t t = START_NS + cycle * opt.period;
		int child = CHILD_PID + (int)(cycle % 30000);

		RECORD(r, REC_SWITCH, t, 0, 0, MAIN_PID);
		for (unsigned int i = 0; i < opt.threads; i++)
			RECORD(r, REC_COPY_RANGE, t + 1000 + i * copy / opt.threads, MAIN_PID, COPY,
			       PARENT, region(i), region(i) + bytes);
		t += copy + 2000;
		RECORD(r, REC_TLBI_FORK, t, MAIN_PID, ASID(1));
		RECORD(r, REC_NEWTASK, t + 1000, MAIN_PID, (uint64_t)child, 0x1200000);
		RECORD(r, REC_SWITCH, t + 2000, MAIN_PID, MAIN_PID, (uint64_t)child);
		RECORD(r, REC_LOAD, t + 3000, child, COPY);
		RECORD(r, REC_LOAD, t + 5000, child, CHILD); /* exec */
		end_mm(r, t + 6000, child, COPY, 2);
		RECORD(r, REC_EXEC, t + 7000, child, (uint64_t)child);
		end_mm(r, t + 50000, child, CHILD, 3);
		RECORD(r, REC_EXIT, t + 51000, child, (uint64_t)child);
		RECORD(r, REC_SWITCH, t + 52000, child, (uint64_t)child, 0);
	}
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"memory", required_argument, NULL, 'm'},
					      {"threads", required_argument, NULL, 't'},
					      {"cycles", required_argument, NULL, 'c'},
					      {"period", required_argument, NULL, 'p'},
					      {"page-time", required_argument, NULL, 'w'},
					      {"copy-time", required_argument, NULL, 'y'},
					      {"seed", required_argument, NULL, 's'},
					      {NULL, 0, NULL, 0}};
	const uint32_t wanted = 1u << REC_SWITCH | 1u << REC_EXEC | 1u << REC_EXIT |
				1u << REC_NEWTASK | 1u << REC_FAULT | 1u << REC_FAULT_RET |
				1u << REC_WP | 1u << REC_SET_FLAGS_RET | 1u << REC_COPY_RANGE |
				1u << REC_LOAD | 1u << REC_EXIT_MMAP | 1u << REC_FINISH |
				1u << REC_TLBI_SET_FLAGS | 1u << REC_TLBI_FORK | 1u << REC_TLBI_MM;
	struct recording *r;
	uint64_t pages, n;
	int option, i;

	program = "usemem";
	while ((option = getopt_long(argc, argv, "", longs, &i)) != -1)
		switch (option) {
		case 'm':
			opt.memory = read_number("memory", optarg, false, 1 << 20, 1ULL << 41);
			break;
		case 't':
			opt.threads = (unsigned int)read_number("threads", optarg, true, 1, 24);
			break;
		case 'c':
			opt.cycles = read_number("cycles", optarg, true, 1, 10000);
			break;
		case 'p':
			opt.period = read_number("period", optarg, true, 1000000, 1ULL << 40);
			break;
		case 'w':
			opt.page_time = read_number("page-time", optarg, true, 600, 1000000000);
			break;
		case 'y':
			opt.copy_time = read_number("copy-time", optarg, true, 0, 1000000);
			break;
		case 's':
			opt.seed = read_number("seed", optarg, true, 1, UINT32_MAX);
			break;
		default:
			return 2;
		}
	if (optind + 1 != argc) {
		fputs("usage: usemem [--memory 100G] [--threads 4] [--cycles 1] [--period 40s]\n"
		      "              [--page-time 4840ns] [--copy-time 20ns] [--seed 1] OUT.dat\n",
		      stderr);
		return 2;
	}
	pages = thread_pages() * opt.threads;
	if (200000 + opt.copy_time * pages + opt.page_time * thread_pages() > opt.period)
		fail("the pages cannot all be written within a period: a longer --period or a "
		     "shorter "
		     "--page-time is wanted");
	r = recording_create(argv[optind], opt.threads + 1, wanted);
	for (unsigned int t = 0; t < opt.threads; t++)
		run_thread(r, t);
	run_forks(r);
	n = recording_finish(r);
	printf("events=%" PRIu64 " pages=%" PRIu64 " threads=%u cycles=%" PRIu64 " span_ns=%" PRIu64
	       " wp_reuse=%" PRIu64 " forks=%" PRIu64 " exits=%" PRIu64 "\n",
	       n, pages, opt.threads, opt.cycles, opt.cycles * opt.period, pages * opt.cycles,
	       opt.cycles, 2 * opt.cycles);
	return 0;
}
