// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * measure COMMAND [ARGUMENT...]: what a command costs. For the benchmark.
 *
 * Runs COMMAND with its output thrown away and prints "CPU_NS PEAK_RSS_KIB STATUS WALL_NS": CPU
 * time, user and system together, of it and its children; the highest resident size; its exit
 * status (128 + signal if it was killed); how long it took. A shell's own `time` does not tell the
 * memory, and a large parent would show up in the child's peak (what the process was before exec
 * counts), so this one stays tiny.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long ns(struct timeval t)
{
	return t.tv_sec * 1000000000LL + t.tv_usec * 1000LL;
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	struct rusage use;
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: measure COMMAND [ARGUMENT...]\n");
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pid = fork();
	if (pid < 0) {
		perror("measure: fork");
		return 1;
	}
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		if (null >= 0) {
			dup2(null, 0);
			dup2(null, 1);
		}
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &use) != pid) {
		perror("measure: wait4");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%lld %ld %d %lld\n", ns(use.ru_utime) + ns(use.ru_stime), use.ru_maxrss,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
	       (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
	return 0;
}
