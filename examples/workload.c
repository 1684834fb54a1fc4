// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * workload: page faults and TLB flushes whose number is known beforehand, with knobs.
 *
 * T threads share P pages of anonymous memory. A round is a list of steps with all threads waiting
 * for each other in between, so that what one step made is there when the next one begins:
 *
 *   fork       a child starts and ends; every page is write-protected          (each --fork rounds)
 *   read       threads read --read percent of the pages that they do not own: their CPUs' TLBs then
 *              hold the read-only entries
 *   own        the owner writes each of its pages (page number mod T): one write-protect fault per
 *              page that finds nobody else using it: the reuse, one broadcast each on arm64
 *   others     threads write --write percent of the pages that they do not own: a fault only where
 *              the TLB still has the read-only entry, a spurious one
 *   cow        a second child lives on while owners write the first --cow pages: each is copied;
 *              the other pages are written when it has ended: more reuses
 *   mprotect   the first --mprotect pages are made read-only and writable again
 *   dontneed   the last --dontneed pages are given back (madvise)
 *   munmap     a region of --munmap pages is mapped, touched and unmapped
 *   swap       a second region of --swap pages is filled once; each round then visits as many
 *              pages of it, and --swap-write percent of the visits write: with less memory than
 *              that (a memory cgroup), pages go to swap and come back
 *
 * One line at the end, key=value each. "_expected" are the faults that the steps must make (exact
 * with --pin=1 and --huge=0); minflt and majflt are what the kernel counted between begin_ns and
 * end_ns of CLOCK_MONOTONIC; swap_ins and swap_outs are pages, for the whole machine, after the
 * fill. The same seed visits the same pages.
 *
 * Each access to the regions is announced by a call of access_read() or access_write() with the
 * address as the argument: places for uprobes, so that a recording can hold the accesses too. So
 * are uses of other pages that matter to what a TLB holds (see struct worker).
 */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 256
#define HUGE_BYTES  ((size_t)2 << 20) /* alignment, so that 2 MiB and 64 KiB folios are possible */

struct knob {
	const char *name;
	long value, least, most;
	const char *help;
};

enum {
	THREADS,
	PAGES,
	ROUNDS,
	READ,
	WRITE,
	PIN,
	HUGE,
	FORK,
	COW,
	MPROTECT,
	DONTNEED,
	MUNMAP,
	SWAP,
	SWAP_WRITE,
	EVICT,
	SEED
};

static struct knob knobs[] = {
	[THREADS] = {"threads", 4, 1, MAX_THREADS, "threads, the first is the main one"},
	[PAGES] = {"pages", 2048, 1, 1 << 22, "pages that they share"},
	[ROUNDS] = {"rounds", 5, 1, 1 << 20, "rounds"},
	[READ] = {"read", 25, 0, 100, "percent of others' pages that a thread reads beforehand"},
	[WRITE] = {"write", 50, 0, 100, "percent of others' pages that a thread writes afterwards"},
	[PIN] = {"pin", 1, 0, 1, "1: thread N runs on the Nth CPU"},
	[HUGE] = {"huge", 0, 0, 1,
		  "1: madvise(MADV_HUGEPAGE), for THP and contpte folios; 0: forbid them"},
	[FORK] = {"fork", 1, 0, 1 << 20, "fork every so many rounds; 0: never"},
	[COW] = {"cow", 0, 0, 1 << 22, "pages that are copied in each round"},
	[MPROTECT] = {"mprotect", 0, 0, 1 << 22,
		      "pages that are protected and unprotected in each round"},
	[DONTNEED] = {"dontneed", 0, 0, 1 << 22, "pages that are given back in each round"},
	[MUNMAP] = {"munmap", 0, 0, 1 << 22,
		    "pages of a region that is mapped and unmapped in each round"},
	[SWAP] = {"swap", 0, 0, 1 << 22,
		  "pages of a region that is filled once, and visits to it in each round"},
	[SWAP_WRITE] = {"swap-write", 0, 0, 100, "percent of those visits that write"},
	[EVICT] = {"evict", 0, 0, 1 << 20,
		   "pages of its own that a thread touches to empty its TLB"},
	[SEED] = {"seed", 1, 1, INT32_MAX, "seed of the visits"},
};
#define NR_KNOBS (sizeof(knobs) / sizeof(*knobs))

struct counts {
	uint64_t reads;        /* of others' pages, before the owners write */
	uint64_t own_writes;   /* each to a write-protected page that is ours alone */
	uint64_t other_writes; /* of others' pages, writable by then */
	uint64_t stale_writes; /* of those, to pages that the same thread read before */
	uint64_t copies;       /* writes to pages that a child holds as well */
	uint64_t evicted;
};

enum {
	LOOP_PAGES = 7,
	OWN_PAGES = 11
};

struct worker {
	pthread_t thread;
	/*
	 * In pages that the thread uses all the time (the first LOOP_PAGES) or when it waits: its
	 * code, data and stack. They take places in a TLB as well. They are announced at each wait,
	 * and those of the first kind also where the access before has taken their place.
	 */
	const volatile void *own[OWN_PAGES];
	long number;
	uint64_t random; /* state of its own generator */
	bool *was_read;  /* by this thread in this round */
	volatile unsigned char *evict;
	struct counts counts;
};

static volatile unsigned char *memory, *swapped;
static size_t page_bytes;
static pthread_barrier_t barrier;
static struct worker workers[MAX_THREADS];
static int holder_pipe[2];
static pid_t holder;
static uint64_t forks, mprotect_calls, dontneed_calls, munmap_calls;
static uint64_t swap_reads, swap_writes, swap_ins, swap_outs;

static long knob(int which)
{
	return knobs[which].value;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* xorshift64: small, and the same everywhere. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool chance(struct worker *worker, long percent)
{
	return (long)(next_random(&worker->random) >> 33) % 100 < percent;
}

/* Told before each access to a region; the address is the first argument. Nothing else. */
__attribute__((noinline)) void access_read(const volatile void *address);
__attribute__((noinline)) void access_write(const volatile void *address);

void access_read(const volatile void *address)
{
	__asm__ volatile("" : : "r"(address) : "memory");
}

void access_write(const volatile void *address)
{
	__asm__ volatile("" : : "r"(address) : "memory");
}

/* Whether two pages have one place in a direct-mapped TLB of 256 entries; a larger one may too. */
static bool share_a_place(const volatile void *a, const volatile void *b)
{
	return (((uintptr_t)a ^ (uintptr_t)b) / page_bytes & 255) == 0;
}

static void use_own(const struct worker *worker, const volatile void *instead_of)
{
	for (int i = 0; i < LOOP_PAGES; i++)
		if (share_a_place(worker->own[i], instead_of))
			access_read(worker->own[i]);
}

static void get(const struct worker *worker, volatile unsigned char *at)
{
	access_read(at);
	(void)*at;
	use_own(worker, at);
}

static void put(const struct worker *worker, volatile unsigned char *at, unsigned char value)
{
	access_write(at);
	*at = value;
	use_own(worker, at);
}

static void wait_for_all(const struct worker *worker)
{
	for (int i = 0; i < OWN_PAGES; i++)
		access_read(worker->own[i]);
	pthread_barrier_wait(&barrier);
}

/* A byte of PAGE; each thread has one of its own, so that nobody's write is another's. */
static volatile unsigned char *byte_of(long page, const struct worker *worker)
{
	return memory + (size_t)page * page_bytes + 64 + (size_t)worker->number;
}

static volatile unsigned char *map(size_t pages)
{
	char *start = mmap(NULL, pages * page_bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED)
		die("mmap");
	start += -(uintptr_t)start & (HUGE_BYTES - 1);
	/* Without that a fault may serve 2 MiB at once, and nothing can be counted. */
	madvise(start, pages * page_bytes, knob(HUGE) ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return (volatile unsigned char *)start;
}

static bool is_fork_round(long round)
{
	return knob(FORK) && round % knob(FORK) == 0;
}

/* A child that ends at once: it leaves the pages write-protected and ours alone. */
static void step_fork(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		die("fork");
	forks++;
}

static void step_read(struct worker *worker)
{
	memset(worker->was_read, 0, (size_t)knob(PAGES));
	for (long page = 0; page < knob(PAGES); page++) {
		if (page % knob(THREADS) == worker->number || !chance(worker, knob(READ)))
			continue;
		get(worker, byte_of(page, worker));
		worker->was_read[page] = true;
		worker->counts.reads++;
	}
	for (long page = 0; page < knob(EVICT); page++) {
		put(worker, &worker->evict[(size_t)page * page_bytes], 1);
		worker->counts.evicted++;
	}
}

/*
 * Writes the thread's own pages from page FIRST on. Who writes a page first matters: a new page
 * lies in a list of the CPU that made it for a while, and where another CPU finds it there, it
 * copies the page instead of reusing it. Owners that keep to their CPU make and write their pages
 * themselves.
 */
static void touch(struct worker *worker, long first)
{
	for (long page = worker->number; page < knob(PAGES); page += knob(THREADS))
		if (page >= first)
			put(worker, byte_of(page, worker), 1);
}

static void step_own(struct worker *worker)
{
	for (long page = worker->number; page < knob(PAGES); page += knob(THREADS)) {
		put(worker, byte_of(page, worker), 1);
		worker->counts.own_writes++;
	}
}

static void step_others(struct worker *worker)
{
	for (long page = 0; page < knob(PAGES); page++) {
		if (page % knob(THREADS) == worker->number || !chance(worker, knob(WRITE)))
			continue;
		put(worker, byte_of(page, worker), 2);
		worker->counts.other_writes++;
		worker->counts.stale_writes += worker->was_read[page];
	}
}

/* A child that holds the pages until it is told to end. */
static void start_holder(void)
{
	char byte;

	if (pipe(holder_pipe))
		die("pipe");
	holder = fork();
	if (holder == 0) {
		close(holder_pipe[1]);
		_exit(read(holder_pipe[0], &byte, 1) != 0);
	}
	if (holder < 0)
		die("fork");
	forks++;
	close(holder_pipe[0]);
}

static void end_holder(void)
{
	close(holder_pipe[1]);
	if (waitpid(holder, NULL, 0) != holder)
		die("waitpid");
}

/* While the child holds them, our pages must be copied to be written; the others come after it. */
static void step_cow(struct worker *worker)
{
	long first = worker->number, step = knob(THREADS), page = first;

	if (first == 0)
		start_holder();
	wait_for_all(worker);
	for (; page < knob(COW); page += step, worker->counts.copies++)
		put(worker, byte_of(page, worker), 3);
	wait_for_all(worker);
	if (first == 0)
		end_holder();
	wait_for_all(worker);
	for (; page < knob(PAGES); page += step, worker->counts.own_writes++)
		put(worker, byte_of(page, worker), 3);
}

static void step_ranges(const struct worker *worker)
{
	if (knob(MPROTECT)) {
		size_t bytes = (size_t)knob(MPROTECT) * page_bytes;

		if (mprotect((void *)memory, bytes, PROT_READ) ||
		    mprotect((void *)memory, bytes, PROT_READ | PROT_WRITE))
			die("mprotect");
		mprotect_calls += 2;
	}
	if (knob(DONTNEED)) {
		long first = knob(PAGES) - knob(DONTNEED);

		if (madvise((void *)(memory + (size_t)first * page_bytes),
			    (size_t)knob(DONTNEED) * page_bytes, MADV_DONTNEED))
			die("madvise");
		dontneed_calls++;
	}
	if (knob(MUNMAP)) {
		size_t bytes = (size_t)knob(MUNMAP) * page_bytes;
		volatile unsigned char *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
						      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (region == MAP_FAILED)
			die("mmap");
		for (size_t at = 0; at < bytes; at += page_bytes)
			put(worker, &region[at], 5);
		if (munmap((void *)region, bytes))
			die("munmap");
		munmap_calls++;
	}
}

static void step_swap(struct worker *worker)
{
	for (long visit = 0; visit < knob(SWAP); visit++) {
		uint64_t page = (next_random(&worker->random) >> 33) % (uint64_t)knob(SWAP);

		if (chance(worker, knob(SWAP_WRITE))) {
			put(worker, &swapped[page * page_bytes + 64], (unsigned char)visit);
			swap_writes++;
		} else {
			get(worker, &swapped[page * page_bytes]);
			swap_reads++;
		}
	}
}

static void *run(void *argument);

/* Called by the thread itself. */
static void find_own_pages(struct worker *worker)
{
	const volatile void *own[OWN_PAGES] = {
		(const void *)(uintptr_t)run,
		knobs,
		knobs[0].name, /* constants */
		&memory,
		worker,
		worker->was_read,
		worker->was_read + knob(PAGES) - 1,
		&barrier,
		(const void *)(uintptr_t)pthread_barrier_wait,
		__builtin_frame_address(0),
		(const void *)(uintptr_t)pthread_self(),
	};

	memcpy(worker->own, own, sizeof(own));
}

static void *run(void *argument)
{
	struct worker *worker = argument;
	bool first = worker->number == 0;
	char name[16];

	snprintf(name, sizeof(name), "workload-%ld", worker->number);
	prctl(PR_SET_NAME, name);
	if (knob(PIN)) {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		CPU_SET((size_t)(worker->number % sysconf(_SC_NPROCESSORS_ONLN)), &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
	find_own_pages(worker);
	touch(worker, 0);
	wait_for_all(worker);
	for (long round = 0; round < knob(ROUNDS); round++) {
		bool protected = is_fork_round(round);

		if (first && protected)
			step_fork();
		wait_for_all(worker);
		step_read(worker);
		wait_for_all(worker);
		if (protected)
			step_own(worker);
		wait_for_all(worker);
		step_others(worker);
		wait_for_all(worker);
		if (knob(COW))
			step_cow(worker);
		wait_for_all(worker);
		if (first) {
			step_ranges(worker);
			step_swap(worker);
		}
		wait_for_all(worker);
		/* Pages that were given back come from their owner's CPU again, see below. */
		touch(worker, knob(PAGES) - knob(DONTNEED));
		wait_for_all(worker);
	}
	return NULL;
}

static void print_help(void)
{
	puts("usage: workload [--KNOB=N]...\n");
	for (size_t i = 0; i < NR_KNOBS; i++)
		printf("  --%-9s %5ld  %s\n", knobs[i].name, knobs[i].value, knobs[i].help);
}

static void parse_knobs(int argc, char **argv)
{
	struct option options[NR_KNOBS + 2] = {{"help", no_argument, NULL, 'h'}};
	int which;
	char *end;

	for (size_t i = 0; i < NR_KNOBS; i++)
		options[i + 1] = (struct option){knobs[i].name, required_argument, NULL, (int)i};
	while ((which = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (which == 'h') {
			print_help();
			exit(0);
		}
		if (which == '?')
			exit(2);
		struct knob *set = &knobs[which];
		set->value = strtol(optarg, &end, 10);
		if (!*optarg || *end || set->value < set->least || set->value > set->most) {
			fprintf(stderr, "workload: --%s takes %ld to %ld\n", set->name, set->least,
				set->most);
			exit(2);
		}
	}
	if (optind < argc || knob(COW) > knob(PAGES) || knob(MPROTECT) > knob(PAGES) ||
	    knob(DONTNEED) > knob(PAGES)) {
		fputs("workload: no words but knobs, no steps on more pages than there are\n",
		      stderr);
		exit(2);
	}
}

/* A moment, by the clock and by the kernel's counts of faults. */
struct mark {
	uint64_t ns;
	struct rusage usage;
};

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/*
 * No fault may come between the clock and the counts. So it is done twice: whatever the first time
 * faults in (the clock's page, MARK's, which a fork may have write-protected) is there the second.
 */
static void mark_now(struct mark *mark)
{
	for (int i = 0; i < 2; i++) {
		mark->ns = now_ns();
		getrusage(RUSAGE_SELF, &mark->usage);
	}
}

/* Adds SIGN times the machine's counts of pages swapped. */
static void count_swapped(uint64_t sign)
{
	FILE *file = fopen("/proc/vmstat", "r");
	char name[64];
	uint64_t value;

	while (file && fscanf(file, "%63s %" SCNu64, name, &value) == 2) {
		if (!strcmp(name, "pswpin"))
			swap_ins += sign * value;
		else if (!strcmp(name, "pswpout"))
			swap_outs += sign * value;
	}
	if (file)
		fclose(file);
}

static void fill_swapped(void)
{
	swapped = map((size_t)knob(SWAP));
	/* Not the same in two pages, or the swap device could hold them in nothing. */
	for (long page = 0; page < knob(SWAP); page++) {
		volatile unsigned char *at = swapped + (size_t)page * page_bytes;

		access_write(at);
		*(volatile uint64_t *)at = (uint64_t)page + 1;
	}
	count_swapped(UINT64_MAX); /* less what there is until now */
}

static void print_counts(const struct mark *begin, const struct mark *end)
{
	struct counts sum = {0};

	for (long i = 0; i < knob(THREADS); i++) {
		sum.reads += workers[i].counts.reads;
		sum.own_writes += workers[i].counts.own_writes;
		sum.other_writes += workers[i].counts.other_writes;
		sum.stale_writes += workers[i].counts.stale_writes;
		sum.copies += workers[i].counts.copies;
		sum.evicted += workers[i].counts.evicted;
	}
	printf("workload pid=%d", getpid());
	for (size_t i = 0; i < NR_KNOBS; i++)
		printf(" %s=%ld", knobs[i].name, knobs[i].value);
	printf(" region=0x%" PRIxPTR " region_pages=%ld swap_region=0x%" PRIxPTR, (uintptr_t)memory,
	       knob(PAGES), (uintptr_t)swapped);
	/* With huge folios one fault serves many pages; there the number of writes is only a bound.
	 */
	printf(" wp_reuse_expected=%" PRIu64 " cow_copies_expected=%" PRIu64 " reads=%" PRIu64
	       " other_writes=%" PRIu64 " stale_writes=%" PRIu64 " evicted=%" PRIu64,
	       sum.own_writes, sum.copies, sum.reads, sum.other_writes, sum.stale_writes,
	       sum.evicted);
	printf(" forks=%" PRIu64 " mprotect_calls=%" PRIu64 " dontneed_calls=%" PRIu64
	       " munmap_calls=%" PRIu64 " swap_reads=%" PRIu64 " swap_writes=%" PRIu64
	       " swap_ins=%" PRIu64 " swap_outs=%" PRIu64,
	       forks, mprotect_calls, dontneed_calls, munmap_calls, swap_reads, swap_writes,
	       swap_ins, swap_outs);
	printf(" minflt=%ld majflt=%ld begin_ns=%" PRIu64 " end_ns=%" PRIu64 " seconds=%.3f\n",
	       end->usage.ru_minflt - begin->usage.ru_minflt,
	       end->usage.ru_majflt - begin->usage.ru_majflt, begin->ns, end->ns,
	       (double)(end->ns - begin->ns) / 1e9);
}

static void prepare(struct worker *worker, long number)
{
	worker->number = number;
	worker->random = (uint64_t)knob(SEED) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)number + 1;
	worker->was_read = calloc((size_t)knob(PAGES), sizeof(*worker->was_read));
	if (!worker->was_read)
		die("calloc");
	if (knob(EVICT))
		worker->evict = map((size_t)knob(EVICT));
	for (int i = 0; i < 8; i++)
		next_random(&worker->random);
}

int main(int argc, char **argv)
{
	struct mark begin, end;

	parse_knobs(argc, argv);
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	memory = map((size_t)knob(PAGES));
	for (long i = 0; i < knob(THREADS); i++)
		prepare(&workers[i], i);
	pthread_barrier_init(&barrier, NULL, (unsigned int)knob(THREADS));

	mark_now(&begin);
	if (knob(SWAP))
		fill_swapped();
	for (long i = 1; i < knob(THREADS); i++)
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
			die("pthread_create");
	run(&workers[0]);
	for (long i = 1; i < knob(THREADS); i++)
		pthread_join(workers[i].thread, NULL);
	mark_now(&end);
	if (knob(SWAP))
		count_swapped(1);
	print_counts(&begin, &end);
	return 0;
}
