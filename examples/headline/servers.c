// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * servers - the recording that the second headline's workload would leave on an arm64 host
 *
 *   servers [--servers 16] [--memory 1G] [--resident 70] [--sets 9] [--swap-ins 262144]
 *           [--mkwrite dirty|clean] [--seed 1] OUT.dat
 *
 * "run 16 redis-server processes ... with mostly get transactions ... The memory footprint of
 * redis-server is larger than the available memory, so swap out/in will be triggered" (avoid always
 * making PTE dirty in pte_mkwrite()). Each server has MEMORY and a CPU of its own; RESIDENT percent
 * of its pages fit into its share of the memory. It is asked for keys at random, as memtier does by
 * default, one page each; SETS percent of the requests write (memtier: one in eleven), which the
 * patch's text does not give. A page that is not there is swapped in; to make room pages are taken
 * around a clock, 32 at a time, that were not used since it came by last.
 *
 * What is recorded is SWAP-INS of each server, after it has filled its memory and answered four
 * times as many requests as it has pages. The kernel is one of hardware dirty management, with
 * MKWRITE as chosen. What the other one would have written is counted as well, for whoever wants to
 * check a prediction: both swap the same pages at the same time.
 *
 * Prints what it did as key=value. Same options, same bytes.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"

enum {
	SERVER_PID = 1000,
	PAGE_SHIFT = 12,
	CLUSTER = 32,
	MAX_SERVERS = 64,
	WARM_UP = 4
};

#define START_NS   1000000000ULL
#define BASE       0x200000000000ULL
#define MM(server) (0xffff000101000000ULL + (uint64_t)(server)*0x1000)
#define FOLIO(f)   (0xfffffdffc0000000ULL + (f)*64)
#define ANON       0xffff000205000001ULL /* folio->mapping of private memory */
/* arm64: valid page, user, accessed, not global, never executed, DBM; bit 55: dirty */
#define PTE(frame) (0x0068000000000f43ULL | ((frame)&0xfffffffULL) << 12)
#define READ_ONLY  0x80ULL
#define SW_DIRTY   (1ULL << 55)

static struct {
	unsigned int servers, resident, sets;
	uint64_t memory, swap_ins, seed;
	bool clean;
} opt = {16, 70, 9, 1ULL << 30, 262144, 1, false};

enum {
	IN = 1,
	USED = 2,
	DIRTY_OLD = 4,
	DIRTY_CLEAN = 8,
	COPY = 16,
	STAY = 32,
	WRITTEN = 64
};

static struct server {
	unsigned int number;
	int pid;
	uint64_t pages, frames, hand, free; /* free: frames never used, or given back */
	uint32_t *frame, *page;             /* of a page; in a frame */
	uint32_t *empty;                    /* frames that are free */
	uint8_t *state;                     /* of a page */
	uint64_t random, now_ns;
	struct recording *r; /* NULL: nothing is recorded yet */
} server;

static struct {
	uint64_t swap_ins, for_write, unmapped, writes_old, writes_clean, stays, unwritten,
		requests;
} facts;

static void record(enum recording_event event, uint64_t ns, const uint64_t *values)
{
	server.now_ns += ns;
	if (server.r)
		recording_add(server.r, event, server.now_ns, server.pid, values);
}
#define EVENT(event, ns, ...) record(event, ns, (const uint64_t[]){__VA_ARGS__})

static uint64_t address(uint32_t page)
{
	return BASE + ((uint64_t)page << PAGE_SHIFT);
}

static void end_stay(uint32_t page)
{
	if (server.state[page] & STAY && server.r)
		facts.unwritten += !(server.state[page] & WRITTEN);
	server.state[page] &= (uint8_t) ~(STAY | WRITTEN);
}

static void take(uint32_t frame)
{
	uint32_t page = server.page[frame];
	uint8_t *state = &server.state[page];
	bool old = !(*state & COPY) || *state & DIRTY_OLD;
	bool clean = !(*state & COPY) || *state & DIRTY_CLEAN;

	if (!(*state & COPY))
		EVENT(REC_SWAP_ADD, 200, FOLIO(frame));
	EVENT(REC_UNMAP_ONE_RET, 1000, MM(server.number), address(page), FOLIO(frame), ANON, 1);
	if (opt.clean ? clean : old)
		EVENT(REC_SWAP_WRITE, 500, FOLIO(frame));
	if (server.r) {
		facts.unmapped++;
		facts.writes_old += old;
		facts.writes_clean += clean;
	}
	end_stay(page);
	*state = COPY;
	server.empty[server.free++] = frame;
}

static void reclaim(void)
{
	for (unsigned int n = 0; n < CLUSTER && server.free < server.frames;
	     server.hand = (server.hand + 1) % server.frames) {
		uint32_t page = server.page[server.hand];

		if (!(server.state[page] & IN) || server.frame[page] != server.hand)
			continue;
		if (server.state[page] & USED) {
			server.state[page] &= (uint8_t)~USED;
			continue;
		}
		take((uint32_t)server.hand);
		n++;
	}
}

/* A page that is not in memory: swapped in, or new if FILL. */
static void fault(uint32_t page, bool write, bool fill)
{
	uint8_t *state = &server.state[page];
	uint32_t frame;
	uint64_t pte;

	EVENT(REC_FAULT, 1000, MM(server.number), address(page), write ? 0x1255 : 0x1254, 0x401000);
	if (!server.free)
		reclaim();
	frame = server.empty[--server.free];
	server.page[frame] = page;
	server.frame[page] = frame;
	*state = (uint8_t)((*state & COPY) | IN | USED);
	if (write)
		*state = IN | USED | DIRTY_OLD | DIRTY_CLEAN;
	else
		*state |= DIRTY_OLD | (server.r ? STAY : 0);
	pte = PTE(frame) | (write ? SW_DIRTY : opt.clean ? READ_ONLY : 0);
	if (!fill)
		EVENT(REC_SWAP_IN_RET, 80000, MM(server.number), address(page), pte, 4);
	EVENT(REC_FAULT_RET, 500, address(page), 4);
	if (server.r) {
		facts.swap_ins++;
		facts.for_write += write;
		facts.stays += !write;
	}
}

static void request(void)
{
	uint32_t page = (uint32_t)(draw(&server.random) % server.pages);
	bool write = draw(&server.random) % 100 < opt.sets;

	server.now_ns += 2000;
	facts.requests += server.r != NULL;
	if (!(server.state[page] & IN)) {
		fault(page, write, false);
		return;
	}
	server.state[page] |= (uint8_t)(USED | (write ? DIRTY_OLD | DIRTY_CLEAN | WRITTEN : 0));
}

static void introduce(struct recording *r)
{
	char text[100];

	for (unsigned int i = 0; i < opt.servers; i++) {
		int pid = SERVER_PID + (int)i;

		snprintf(text, sizeof(text), "tlbr.tasks 1\n%d %d %d u server-%u\n", pid, pid, pid,
			 i);
		recording_marker(r, START_NS - 100000 + i, 0, text);
	}
	snprintf(text, sizeof(text), "tlbr.tasks.end %u\n", opt.servers);
	recording_marker(r, START_NS - 50000, 0, text);
}

static void *room(size_t nr, size_t size)
{
	void *p = calloc(nr, size);

	if (!p)
		fail("out of memory");
	return p;
}

static void run_server(struct recording *r, unsigned int number)
{
	uint64_t until = facts.swap_ins + opt.swap_ins;

	server.number = number;
	server.pid = SERVER_PID + (int)number;
	server.hand = 0;
	server.random = (opt.seed * 64 + number) * 0x9E3779B97F4A7C15ULL + 1;
	server.now_ns = START_NS;
	server.r = NULL;
	memset(server.state, 0, server.pages);
	for (server.free = 0; server.free < server.frames; server.free++)
		server.empty[server.free] = (uint32_t)server.free;
	for (uint32_t page = 0; page < server.pages; page++)
		fault(page, true, true);
	for (uint64_t i = 0; i < WARM_UP * server.pages; i++)
		request();
	recording_next_cpu(r);
	if (!number)
		introduce(r);
	server.r = r;
	server.now_ns = START_NS;
	RECORD(r, REC_SWITCH, START_NS - 1000, 0, 0, (uint64_t)server.pid);
	while (facts.swap_ins < until)
		request();
	for (uint32_t page = 0; page < server.pages; page++)
		end_stay(page);
	RECORD(r, REC_SWITCH, server.now_ns + 1000, server.pid, (uint64_t)server.pid, 0);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"servers", required_argument, NULL, 'n'},
					      {"memory", required_argument, NULL, 'm'},
					      {"resident", required_argument, NULL, 'r'},
					      {"sets", required_argument, NULL, 'w'},
					      {"swap-ins", required_argument, NULL, 'i'},
					      {"mkwrite", required_argument, NULL, 'k'},
					      {"seed", required_argument, NULL, 's'},
					      {NULL, 0, NULL, 0}};
	const uint32_t wanted = 1u << REC_SWITCH | 1u << REC_FAULT | 1u << REC_FAULT_RET |
				1u << REC_SWAP_IN_RET | 1u << REC_UNMAP_ONE_RET |
				1u << REC_SWAP_ADD | 1u << REC_SWAP_WRITE;
	struct recording *r;
	uint64_t n;
	int option;

	program = "servers";
	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (option) {
		case 'n':
			opt.servers =
				(unsigned int)read_number("servers", optarg, true, 1, MAX_SERVERS);
			break;
		case 'm':
			opt.memory = read_number("memory", optarg, false, 1 << 20, 1ULL << 40);
			break;
		case 'r':
			opt.resident = (unsigned int)read_number("resident", optarg, true, 10, 95);
			break;
		case 'w':
			opt.sets = (unsigned int)read_number("sets", optarg, true, 0, 100);
			break;
		case 'i':
			opt.swap_ins = read_number("swap-ins", optarg, true, 1, 1ULL << 32);
			break;
		case 'k':
			opt.clean = !strcmp(optarg, "clean");
			if (opt.clean || !strcmp(optarg, "dirty"))
				break;
			fprintf(stderr, "servers: --mkwrite %s: dirty or clean is wanted\n",
				optarg);
			return 2;
		case 's':
			opt.seed = read_number("seed", optarg, true, 1, UINT32_MAX);
			break;
		default:
			return 2;
		}
	if (optind + 1 != argc) {
		fputs("usage: servers [--servers 16] [--memory 1G] [--resident 70] [--sets 9]\n"
		      "               [--swap-ins 262144] [--mkwrite dirty|clean] [--seed 1] "
		      "OUT.dat\n",
		      stderr);
		return 2;
	}
	server.pages = opt.memory >> PAGE_SHIFT;
	server.frames = server.pages * opt.resident / 100;
	server.frame = room(server.pages, sizeof(*server.frame));
	server.page = room(server.frames, sizeof(*server.page));
	server.empty = room(server.frames, sizeof(*server.empty));
	server.state = room(server.pages, sizeof(*server.state));
	r = recording_create(argv[optind], opt.servers, wanted);
	for (unsigned int i = 0; i < opt.servers; i++)
		run_server(r, i);
	n = recording_finish(r);
	printf("events=%" PRIu64 " servers=%u pages=%" PRIu64 " requests=%" PRIu64
	       " swap_ins=%" PRIu64 " for_write=%" PRIu64 " unmapped=%" PRIu64
	       " writes_dirty=%" PRIu64 " writes_clean=%" PRIu64 " stays=%" PRIu64
	       " unwritten=%" PRIu64 "\n",
	       n, opt.servers, server.pages * opt.servers, facts.requests, facts.swap_ins,
	       facts.for_write, facts.unmapped, facts.writes_old, facts.writes_clean, facts.stays,
	       facts.unwritten);
	return 0;
}
