// SPDX-License-Identifier: GPL-2.0-or-later
/* tracecmd-count FILE: counts the events by libtracecmd, in merged order. For the benchmark. */
#include <stdio.h>

#include <trace-cmd/trace-cmd.h>

static int count(struct tracecmd_input *in, struct tep_record *rec, int cpu, void *data)
{
	unsigned long long *n = data;

	(void)in;
	(void)rec;
	(void)cpu;
	++*n;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long long n = 0;
	struct tracecmd_input *in;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: tracecmd-count FILE\n");
		return 2;
	}
	in = tracecmd_open(argv[1], TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!in) {
		fprintf(stderr, "tracecmd-count: %s cannot be opened\n", argv[1]);
		return 1;
	}
	ret = tracecmd_iterate_events(in, NULL, 0, count, &n);
	printf("%llu\n", n);
	tracecmd_close(in);
	return ret != 0;
}
