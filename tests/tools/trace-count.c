// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace-count FILE [RUNS]: counts the events by trace_fill(), in merged order, and adds up their
 * times and pids. Prints the count, and on standard error the CPU time per event, best and median
 * of RUNS. For the benchmark.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "replay/trace.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	int run, runs = argc > 2 ? atoi(argv[2]) : 1;
	unsigned long long n = 0, sum = 0;
	struct trace_batch batch = {0};
	struct trace_error err;
	double *each;

	if (argc < 2 || argc > 3 || runs < 1 || runs > 1000) {
		fprintf(stderr, "usage: trace-count FILE [RUNS]\n");
		return 2;
	}
	each = calloc(runs, sizeof(*each));
	if (!each)
		return 1;
	for (run = 0; run < runs; run++) {
		struct trace *t = trace_open(argv[1], &err);
		double start = cpu_ns();
		int ret;

		if (!t) {
			fprintf(stderr, "trace-count: %s\n", err.text);
			return 1;
		}
		n = 0;
		while ((ret = trace_fill(t, &batch, 1024, &err)) > 0) {
			for (size_t i = 0; i < batch.nr; i++) {
				const struct trace_event *e = &batch.events[i];

				sum += e->time_ns ^ (uint64_t)e->pid ^ e->kind;
			}
			n += batch.nr;
		}
		if (ret) {
			fprintf(stderr, "trace-count: %s\n", err.text);
			return 1;
		}
		each[run] = (cpu_ns() - start) / (n ? n : 1);
		trace_batch_free(t, &batch);
		trace_close(t);
	}
	qsort(each, runs, sizeof(*each), compare);
	printf("%llu\n", n);
	fprintf(stderr, "%.2f ns/event (best %.2f of %d runs; check %llx)\n", each[runs / 2],
		each[0], runs, sum);
	free(each);
	return 0;
}
