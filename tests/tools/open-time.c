// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * open-time ours|libtracecmd FILE: the CPU time that opening FILE takes, in ns, median of 21. For
 * the benchmark.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trace-cmd.h>

#include "replay/trace.h"

#define RUNS 21

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	bool ours = argc == 3 && !strcmp(argv[1], "ours");
	double each[RUNS];

	if (!ours && (argc != 3 || strcmp(argv[1], "libtracecmd"))) {
		fprintf(stderr, "usage: open-time ours|libtracecmd FILE\n");
		return 2;
	}
	for (int i = 0; i < RUNS; i++) {
		double start = cpu_ns();

		if (ours) {
			struct trace_error err;
			struct trace *t = trace_open(argv[2], &err);

			if (!t) {
				fprintf(stderr, "open-time: %s\n", err.text);
				return 1;
			}
			each[i] = cpu_ns() - start;
			trace_close(t);
		} else {
			struct tracecmd_input *t = tracecmd_open(argv[2], 0);

			if (!t) {
				fprintf(stderr, "open-time: libtracecmd cannot open %s\n", argv[2]);
				return 1;
			}
			each[i] = cpu_ns() - start;
			tracecmd_close(t);
		}
	}
	qsort(each, RUNS, sizeof(*each), compare);
	printf("%.0f\n", each[RUNS / 2]);
	return 0;
}
