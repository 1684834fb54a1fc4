// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forkwp: a workload whose page faults can be counted by hand.
 *
 * In each of R rounds the process forks a child that exits at once. The fork write-protects all P
 * pages; when the child is gone the pages belong to nobody else, so the first write to each finds a
 * page that the kernel only has to make writable again. T threads then visit all pages, each in an
 * order of its own, and write or read one byte: one of them takes the fault, the others may still
 * hold the old read-only translation.
 *
 *   forkwp [-t THREADS] [-p PAGES] [-r ROUNDS] [-S SEED] [-R ROUNDS_A_SECOND] [-w STEPS]
 *
 * With -R rounds begin at fixed times (those that are late begin at once), else one after the
 * other. With -w each visit is followed by so many steps of work on memory of the thread's own that
 * faults no more: a program that does something else than fault.
 *
 * Output: one line per thread, one for all. "minflt" counts the faults from the start of main(),
 * "cpu_ns" the CPU time with that of the children, both as the kernel accounts them; "busy_ns" is
 * the time that rounds took, without the waiting in between, "late" how many could not begin in
 * time.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct worker {
	pthread_t thread;
	int tid;
	uint64_t random; /* state of its own generator: the same seed, the same visits */
	uint32_t *order; /* page numbers, shuffled anew in each round */
	uint64_t writes, reads;
	uint64_t *table; /* what it works on between visits */
};

enum { TABLE_WORDS = 8192 }; /* 64 KiB: more than an L1 cache, less than an L2 */

#define NS_PER_S INT64_C(1000000000)

static long threads = 4, pages = 256, rounds = 100, seed = 1, rate, steps;
static volatile unsigned char *memory;
static long page_bytes;
static pthread_barrier_t forked, visited;

/* xorshift64: small, and the same everywhere. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void work(struct worker *worker)
{
	uint64_t at = worker->random;

	for (long i = 0; i < steps; i++) {
		uint64_t *word = &worker->table[at % TABLE_WORDS];

		at = (at ^ *word) * UINT64_C(0x9e3779b97f4a7c15) >> 7;
		*word += at;
	}
}

static void visit_pages(struct worker *worker)
{
	for (long i = pages - 1; i > 0; i--) {
		long other = (long)(next_random(&worker->random) % (uint64_t)(i + 1));
		uint32_t page = worker->order[i];

		worker->order[i] = worker->order[other];
		worker->order[other] = page;
	}
	for (long i = 0; i < pages; i++) {
		volatile unsigned char *byte = memory + worker->order[i] * page_bytes;

		if (next_random(&worker->random) & 3) {
			*byte = (unsigned char)i;
			worker->writes++;
		} else {
			(void)*byte;
			worker->reads++;
		}
		work(worker);
	}
}

static void *run_worker(void *argument)
{
	struct worker *worker = argument;

	worker->tid = (int)syscall(SYS_gettid);
	for (long round = 0; round < rounds; round++) {
		pthread_barrier_wait(&forked);
		visit_pages(worker);
		pthread_barrier_wait(&visited);
	}
	return NULL;
}

static long minor_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static int64_t cpu_ns(void)
{
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	struct rusage usage;
	int64_t us = 0;

	for (int i = 0; i < 2; i++) {
		getrusage(whose[i], &usage);
		us += (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000) +
		      usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
	}
	return us * 1000;
}

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* Waits for the time of ROUND. Returns false if that was over. */
static bool wait_for_round(int64_t start_ns, long round)
{
	int64_t due_ns = start_ns + (rate ? round * (NS_PER_S / rate) : 0);
	struct timespec time = {.tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S};

	if (!rate || now_ns() > due_ns)
		return !rate || !round;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
	return true;
}

static bool parse_count(const char *text, long *out)
{
	char *end;

	*out = strtol(text, &end, 10);
	return *text && !*end && *out >= 1 && *out <= 1 << 24;
}

int main(int argc, char **argv)
{
	long faults_before = minor_faults(), forks = 0, late = 0;
	int64_t busy_ns = 0;
	uint64_t writes = 0, reads = 0;
	bool usable = true;
	int option;

	while ((option = getopt(argc, argv, "t:p:r:S:R:w:")) != -1) {
		long *target = option == 't'   ? &threads
			       : option == 'p' ? &pages
			       : option == 'r' ? &rounds
			       : option == 'S' ? &seed
			       : option == 'R' ? &rate
			       : option == 'w' ? &steps
					       : NULL;

		usable = usable && target && parse_count(optarg, target);
	}
	if (!usable || optind < argc) {
		fputs("usage: forkwp [-t THREADS] [-p PAGES] [-r ROUNDS] [-S SEED] "
		      "[-R ROUNDS_A_SECOND] [-w STEPS]\n",
		      stderr);
		return 2;
	}
	page_bytes = sysconf(_SC_PAGESIZE);
	size_t bytes = (size_t)(pages * page_bytes);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct worker *workers = calloc((size_t)threads, sizeof(*workers));
	if (memory == MAP_FAILED || !workers) {
		perror("forkwp");
		return 1;
	}
	/* One fault per page, not one per 2 MiB. */
	madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
	for (long page = 0; page < pages; page++)
		memory[page * page_bytes] = 1;

	pthread_barrier_init(&forked, NULL, (unsigned int)threads + 1);
	pthread_barrier_init(&visited, NULL, (unsigned int)threads + 1);
	for (long i = 0; i < threads; i++) {
		workers[i].random = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)i + 1;
		workers[i].order = calloc((size_t)pages, sizeof(*workers[i].order));
		for (long page = 0; workers[i].order && page < pages; page++)
			workers[i].order[page] = (uint32_t)page;
		workers[i].table = calloc(TABLE_WORDS, sizeof(*workers[i].table));
		if (!workers[i].order || !workers[i].table ||
		    pthread_create(&workers[i].thread, NULL, run_worker, &workers[i])) {
			fputs("forkwp: cannot start the threads\n", stderr);
			return 1;
		}
	}
	int64_t start_ns = now_ns();
	for (long round = 0; round < rounds; round++) {
		late += !wait_for_round(start_ns, round);
		int64_t begin_ns = now_ns();
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		if (child > 0 && waitpid(child, NULL, 0) == child)
			forks++;
		pthread_barrier_wait(&forked);
		pthread_barrier_wait(&visited);
		busy_ns += now_ns() - begin_ns;
	}
	for (long i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		printf("thread tid=%d writes=%llu reads=%llu\n", workers[i].tid,
		       (unsigned long long)workers[i].writes, (unsigned long long)workers[i].reads);
		writes += workers[i].writes;
		reads += workers[i].reads;
		free(workers[i].order);
		free(workers[i].table);
	}
	free(workers);
	printf("total pid=%d threads=%ld pages=%ld forks=%ld late=%ld writes=%llu reads=%llu "
	       "busy_ns=%lld cpu_ns=%lld minflt=%ld\n",
	       getpid(), threads, pages, forks, late, (unsigned long long)writes,
	       (unsigned long long)reads, (long long)busy_ns, (long long)cpu_ns(),
	       minor_faults() - faults_before);
	return forks == rounds ? 0 : 1;
}
