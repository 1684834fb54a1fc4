// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sqlite-share FILE DB: replays FILE into DB with the three default policies on one thread, and
 * prints "CPU_NS SQLITE_NS": the CPU time of the whole and what of it passed inside SQLite. For the
 * benchmark.
 *
 * The functions of SQLite that do work are defined here once more, around the library's own.
 */
#include <dlfcn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "replay/replay.h"

static double inside, entered;
static int depth;

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void enter(void)
{
	if (!depth++)
		entered = cpu_ns();
}

static void leave(void)
{
	if (!--depth)
		inside += cpu_ns() - entered;
}

#define AROUND(NAME, PARAMETERS, ARGUMENTS)                                                        \
	int NAME PARAMETERS                                                                        \
	{                                                                                          \
		static int(*real) PARAMETERS;                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (!real)                                                                         \
			*(void **)&real = dlsym(RTLD_NEXT, #NAME);                                 \
		enter();                                                                           \
		ret = real ARGUMENTS;                                                              \
		leave();                                                                           \
		return ret;                                                                        \
	}

AROUND(sqlite3_step, (sqlite3_stmt * stmt), (stmt))
AROUND(sqlite3_finalize, (sqlite3_stmt * stmt), (stmt))
AROUND(sqlite3_close, (sqlite3 * db), (db))
AROUND(sqlite3_open_v2, (const char *path, sqlite3 **db, int flags, const char *vfs),
       (path, db, flags, vfs))
AROUND(sqlite3_prepare_v2,
       (sqlite3 * db, const char *sql, int size, sqlite3_stmt **stmt, const char **tail),
       (db, sql, size, stmt, tail))
AROUND(sqlite3_exec,
       (sqlite3 * db, const char *sql, int (*call)(void *, int, char **, char **), void *context,
	char **err),
       (db, sql, call, context, err))

int main(int argc, char **argv)
{
	static const char *const names[] = {"arm64-broadcast", "arm64-local", "x86"};
	volatile sig_atomic_t stop = 0;
	struct replay_options options = {.stop = &stop, .threads = 1, .dirty_share = -1};
	struct results_error rerr = {""};
	struct replay_error err = {""};
	struct results *results;
	char why[400];
	bool lost;

	if (argc != 3) {
		fprintf(stderr, "usage: sqlite-share FILE DB\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (replay_add_policy(&options, names[i], why, sizeof(why))) {
			fprintf(stderr, "sqlite-share: %s\n", why);
			return 1;
		}
	results = results_begin(argv[2], false, &rerr);
	if (!results || replay_trace(argv[1], &options, results, &lost, &err) ||
	    results_commit(results, &rerr)) {
		fprintf(stderr, "sqlite-share: %s%s\n", err.text, rerr.text);
		return 1;
	}
	results_free(results);
	replay_options_free(&options);
	printf("%.0f %.0f\n", cpu_ns(), inside);
	return 0;
}
