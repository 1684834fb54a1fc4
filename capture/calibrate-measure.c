// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every sample is one short round between two looks at the clock and at the number of times that
 * the CPU was taken away. On a busy machine most rounds are shorter than a time slice, so enough of
 * them are whole. Helpers count as fast as they can; one whose count stands still was not running,
 * and the round shows nothing.
 */
#include "capture/calibrate-measure.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MOST   256
#define AREA_PAGES  4096
#define FAULT_PAGES 32   /* of one round of faults */
#define TRIES       40   /* rounds tried for each that is wanted */
#define BYSTANDER_NS 300000

const char *const measure_ops[NR_OPS] = {"mprotect", "madvise", "munmap"};
const unsigned int measure_pages[4] = {1, 33, 34, 512};

enum task { TASK_SPIN, TASK_READ, TASK_WRITE, TASK_END };

struct helper {
	pthread_t thread;
	struct measure *m;
	int cpu;
	_Alignas(128) atomic_ulong count; /* of turns */
	_Alignas(128) atomic_int task, done; /* ordinals: a task is done when they are equal */
	enum task kind;
	double ns;   /* of the last task */
	long faults; /* that it took */
	bool whole;  /* its CPU was not taken away */
};

struct measure {
	unsigned int rounds, nr_cpus, nr_helpers;
	int cpus[CPUS_MOST];
	size_t page;
	volatile char *area;
	double clock_ns;
	struct helper helpers[CPUS_MOST];
	struct samples samples;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Times that this thread's CPU was taken away, and its minor faults. */
static long switches(long *faults)
{
	struct rusage r;

	getrusage(RUSAGE_THREAD, &r);
	if (faults)
		*faults = r.ru_minflt;
	return r.ru_nivcsw + r.ru_nvcsw;
}

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* ---- helpers ---- */

static void do_task(struct helper *h)
{
	volatile char *area = h->m->area;
	long before, after, away = switches(&before);
	double start = now_ns();

	for (unsigned int i = 0; i < FAULT_PAGES; i++) {
		if (h->kind == TASK_WRITE)
			area[i * h->m->page] = 2;
		else
			(void)area[i * h->m->page];
	}
	h->ns = now_ns() - start - h->m->clock_ns;
	h->whole = switches(&after) == away;
	h->faults = after - before;
}

static void *help(void *context)
{
	struct helper *h = context;
	int done = 0;

	pin(h->cpu);
	for (;;) {
		int task = atomic_load_explicit(&h->task, memory_order_acquire);

		if (task != done) {
			if (h->kind == TASK_END)
				return NULL;
			do_task(h);
			done = task;
			atomic_store_explicit(&h->done, done, memory_order_release);
		}
		atomic_fetch_add_explicit(&h->count, 1, memory_order_relaxed);
	}
}

static void ask(struct helper *h, enum task kind)
{
	int task = atomic_load(&h->task) + 1;

	h->kind = kind;
	atomic_store_explicit(&h->task, task, memory_order_release);
	if (kind == TASK_END)
		return;
	while (atomic_load_explicit(&h->done, memory_order_acquire) != task)
		;
}

/* So many helpers run from now on, on CPUs 1 and up. */
static int helpers(struct measure *m, unsigned int nr)
{
	while (m->nr_helpers > nr) {
		struct helper *h = &m->helpers[--m->nr_helpers];

		ask(h, TASK_END);
		pthread_join(h->thread, NULL);
	}
	while (m->nr_helpers < nr) {
		struct helper *h = &m->helpers[m->nr_helpers];

		*h = (struct helper){.m = m, .cpu = m->cpus[m->nr_helpers + 1]};
		if (pthread_create(&h->thread, NULL, help, h))
			return -EAGAIN;
		m->nr_helpers++;
	}
	return 0;
}

/* ---- setting up ---- */

int measure_new(struct measure **out, unsigned int rounds)
{
	struct measure *m = calloc(1, sizeof(*m));
	cpu_set_t set;
	void *area;
	int ret = -ENOMEM;

	*out = NULL;
	if (!m)
		return ret;
	m->rounds = rounds < SAMPLES_MOST ? rounds : SAMPLES_MOST;
	m->page = (size_t)sysconf(_SC_PAGESIZE);
	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set)) {
		ret = -errno;
		goto fail;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE && m->nr_cpus < CPUS_MOST; cpu++)
		if (CPU_ISSET(cpu, &set))
			m->cpus[m->nr_cpus++] = cpu;
	area = mmap(NULL, AREA_PAGES * m->page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED) {
		ret = -errno;
		goto fail;
	}
	m->area = area;
	madvise(area, AREA_PAGES * m->page, MADV_NOHUGEPAGE);
	ret = pin(m->cpus[0]);
	if (ret)
		goto fail;
	/* Warm up; and what a look at the clock takes. */
	for (double end = now_ns() + 5e7; now_ns() < end;)
		;
	for (unsigned int i = 0; i < 1000; i++) {
		double start = now_ns();

		samples_add(&m->samples, now_ns() - start);
	}
	m->clock_ns = samples_spread(&m->samples).median;
	*out = m;
	return 0;
fail:
	measure_free(m);
	return ret;
}

void measure_free(struct measure *m)
{
	if (!m)
		return;
	helpers(m, 0);
	if (m->area)
		munmap((void *)m->area, AREA_PAGES * m->page);
	free(m);
}

unsigned int measure_cpus(const struct measure *m)
{
	return m->nr_cpus;
}

static void begin(struct measure *m)
{
	m->samples.nr = m->samples.disturbed = m->samples.missed = 0;
}

/* Whether another round is to be tried. */
static bool go_on(const struct measure *m)
{
	return m->samples.nr < m->rounds && m->samples.missed < m->rounds &&
	       m->samples.nr + m->samples.disturbed < (size_t)m->rounds * TRIES;
}

/* ---- measurements ---- */

static int call(enum measure_op op, void *at, size_t size)
{
	switch (op) {
	case OP_MPROTECT:
		return mprotect(at, size, PROT_READ);
	case OP_MADVISE:
		return madvise(at, size, MADV_DONTNEED);
	default:
		return munmap(at, size);
	}
}

/* The area is as before: one mapping, writable. */
static int restore(const struct measure *m, enum measure_op op, size_t size)
{
	void *at = (void *)m->area;

	if (op == OP_MPROTECT)
		return mprotect(at, size, PROT_READ | PROT_WRITE);
	if (op == OP_MUNMAP && mmap(at, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -1;
	return op == OP_MUNMAP ? madvise(at, size, MADV_NOHUGEPAGE) : 0;
}

static bool moved(struct measure *m, unsigned long *counts, bool look)
{
	bool all = true;

	for (unsigned int i = 0; i < m->nr_helpers; i++) {
		unsigned long n = atomic_load_explicit(&m->helpers[i].count, memory_order_relaxed);

		all &= look || n != counts[i];
		counts[i] = n;
	}
	return all;
}

struct spread measure_flush(struct measure *m, enum measure_op op, unsigned int pages,
			    unsigned int cpus, int touched)
{
	unsigned long counts[CPUS_MOST], early[CPUS_MOST];
	size_t size = pages * m->page;
	const struct timespec moment = {.tv_nsec = 1000000};

	begin(m);
	if (cpus > m->nr_cpus || helpers(m, cpus - 1))
		return (struct spread){0};
	madvise((void *)m->area, size, MADV_DONTNEED);
	for (unsigned int i = 0; i < 20 + m->rounds * TRIES && go_on(m); i++) {
		double start, ns;
		long away;
		bool ran;

		for (unsigned int k = 0; touched && k < pages; k++)
			m->area[k * m->page] = 1;
		away = switches(NULL);
		/* Helpers must be seen to run just before, and during or just after. */
		moved(m, early, true);
		for (unsigned int k = 0; k < 200 && m->nr_helpers; k++)
			__asm__ volatile("" ::: "memory");
		ran = moved(m, early, false);
		moved(m, counts, true);
		start = now_ns();
		if (call(op, (void *)m->area, size))
			break;
		ns = now_ns() - start - m->clock_ns;
		ran &= moved(m, counts, false);
		if (i >= 20) { /* those before warm up */
			if (ran && switches(NULL) == away)
				samples_add(&m->samples, ns > 0 ? ns : 0);
			else
				m->samples.disturbed++;
		}
		if (restore(m, op, size))
			break;
		/* Helpers that do not run may be waiting for this very CPU. */
		if (!ran && m->nr_helpers)
			nanosleep(&moment, NULL);
	}
	return samples_spread(&m->samples);
}

/* Turns of a helper per ns while this CPU makes CALLS or waits. */
static double speed(struct measure *m, bool calls, unsigned int *made, double *took)
{
	struct helper *h = &m->helpers[0];
	unsigned long first = atomic_load_explicit(&h->count, memory_order_relaxed);
	double start = now_ns(), now = start;

	*made = 0;
	while (now - start < BYSTANDER_NS) {
		if (calls) {
			m->area[0] = 1;
			mprotect((void *)m->area, m->page, PROT_READ);
			mprotect((void *)m->area, m->page, PROT_READ | PROT_WRITE);
			++*made;
		}
		now = now_ns();
	}
	*took = now - start;
	return (double)(atomic_load_explicit(&h->count, memory_order_relaxed) - first) / *took;
}

struct spread measure_bystander(struct measure *m)
{
	begin(m);
	if (m->nr_cpus < 2 || helpers(m, 1))
		return (struct spread){0};
	while (go_on(m)) {
		long away = switches(NULL);
		unsigned int made, none;
		double took, idle_took, idle, busy, again;

		idle = speed(m, false, &none, &idle_took);
		busy = speed(m, true, &made, &took);
		again = speed(m, false, &none, &idle_took);
		/* The helper has no witness of its own: it must run as fast after as before. */
		if (switches(NULL) == away && made && idle > 0 && again > 0.9 * idle &&
		    again < 1.1 * idle && busy > 0)
			samples_add(&m->samples,
				    busy < idle ? (1 - busy / idle) * took / made : 0);
		else
			m->samples.disturbed++;
	}
	return samples_spread(&m->samples);
}

/* Adds what one page of the round took, if it was WHOLE. */
static void add_round(struct measure *m, double ns, bool whole)
{
	if (whole && ns > 0)
		samples_add(&m->samples, ns / FAULT_PAGES);
	else
		m->samples.disturbed++;
}

static double touch(struct measure *m)
{
	double start = now_ns();

	for (unsigned int i = 0; i < FAULT_PAGES; i++)
		m->area[i * m->page] = 1;
	return now_ns() - start - m->clock_ns;
}

struct spread measure_minor_fault(struct measure *m)
{
	begin(m);
	helpers(m, 0);
	while (go_on(m)) {
		long away;
		double ns;

		madvise((void *)m->area, FAULT_PAGES * m->page, MADV_DONTNEED);
		away = switches(NULL);
		ns = touch(m);
		add_round(m, ns, switches(NULL) == away);
	}
	return samples_spread(&m->samples);
}

/* Pages become read-only by a fork; the child is gone when this returns. */
static bool share_once(struct measure *m)
{
	pid_t child;

	for (unsigned int i = 0; i < FAULT_PAGES; i++)
		m->area[i * m->page] = 1;
	child = fork();
	if (!child)
		_exit(0);
	return child > 0 && waitpid(child, NULL, 0) == child;
}

struct spread measure_reuse_fault(struct measure *m)
{
	begin(m);
	helpers(m, 0);
	while (go_on(m) && share_once(m)) {
		long before, after, away = switches(&before);
		double ns = touch(m);
		bool whole = switches(&after) == away;

		if (whole && after - before < FAULT_PAGES)
			m->samples.missed++;
		else
			add_round(m, ns, whole);
	}
	return samples_spread(&m->samples);
}

struct spread measure_spurious_fault(struct measure *m)
{
	begin(m);
	if (m->nr_cpus < 2 || helpers(m, 1))
		return (struct spread){0};
	while (go_on(m) && share_once(m)) {
		struct helper *h = &m->helpers[0];

		ask(h, TASK_READ); /* read-only entries there... */
		touch(m);          /* ...pages writable here */
		ask(h, TASK_WRITE);
		if (h->whole && h->faults < FAULT_PAGES)
			m->samples.missed++;
		else
			add_round(m, h->ns, h->whole);
	}
	return samples_spread(&m->samples);
}

/* Follows a chain of COUNT words, one every STRIDE bytes, and gives the ns of one step. */
static double follow(volatile char *area, size_t count, size_t stride)
{
	enum { TURNS = 4 };
	/* In leaps, so that nothing foresees them; each word in another line of its page. */
	const size_t leap = 1021;
	uintptr_t at = 0;
	double start;

	for (size_t i = 0; i < count; i++) {
		size_t next = (i + leap) % count;

		*(volatile uintptr_t *)(area + i * stride + i % 64 * 64 % stride) =
			next * stride + next % 64 * 64 % stride;
	}
	for (size_t i = 0; i < count; i++)
		at = *(volatile uintptr_t *)(area + at);
	start = now_ns();
	for (size_t i = 0; i < TURNS * count; i++)
		at = *(volatile uintptr_t *)(area + at);
	return (now_ns() - start) / (double)(TURNS * count);
}

struct spread measure_refill(struct measure *m)
{
	begin(m);
	helpers(m, 0);
	while (go_on(m)) {
		long away = switches(NULL);
		/* As many lines both times: in as many pages, or packed into a few of them. */
		double far = follow(m->area, AREA_PAGES, m->page);
		double close = follow(m->area, AREA_PAGES, 64);

		if (switches(NULL) == away)
			samples_add(&m->samples, far > close ? far - close : 0);
		else
			m->samples.disturbed++;
	}
	madvise((void *)m->area, AREA_PAGES * m->page, MADV_DONTNEED);
	return samples_spread(&m->samples);
}
