/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line.
 */
#ifndef CAPTURE_OPTIONS_H
#define CAPTURE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/plan.h"
#include "capture/watch.h"

#define OPTIONS_MAX_PIDS 64

enum mode {
	MODE_RECORD,
	MODE_LIST,
	MODE_CHECK,
	MODE_RESTORE,
};

enum anonymise {
	ANONYMISE_NO,
	ANONYMISE_NAMES, /* comms, paths, host name */
	ANONYMISE_SHIFT, /* and user addresses shifted */
};

struct options {
	enum mode mode;
	bool json;
	const char *output;
	const char *compression;
	int64_t duration_ns; /* 0: until COMMAND ends or a signal comes */
	int64_t buffer_kb;   /* 0: not given */
	int64_t max_bytes;   /* 0: no limit */
	int64_t flight_bytes; /* 0: no flight recorder */
	struct watch_limit limits[WATCH_MAX]; /* rates that end it */
	size_t limit_count;
	enum anonymise anonymise;
	struct plan_wish wish;
	pid_t pids[OPTIONS_MAX_PIDS]; /* as given */
	size_t pid_count;
	const char *cgroup;  /* NULL: all */
	bool follow;         /* only COMMAND and its children */
	char **command;      /* NULL: none */
	char **directories;  /* to restore in; ends with NULL */
};

/* Fills OPTIONS. Returns -1 to go on, else an exit status: what there was to say has been said. */
int options_parse(int argc, char **argv, struct options *options);

#endif
