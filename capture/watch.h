/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rates that end a recording: "--until WHAT=RATE[,SECONDS]". A flight recorder that is stopped this
 * way holds what led up to it.
 *
 * Nothing is added to the host's work for it: the kernel counts all of this anyway, and the counts
 * are read a few times a second. They are of the whole host, before any filter of the recording;
 * "events" alone is what the recording keeps.
 */
#ifndef CAPTURE_WATCH_H
#define CAPTURE_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/plan.h"

#define WATCH_MAX 8

struct watch_limit {
	char what[2 * PLAN_NAME_SIZE]; /* a name of watch_help(), or GROUP:NAME of a probe of ours */
	double rate;                   /* a second; more than that ends the recording */
	int64_t over_ns;               /* time over which it is taken */
};

struct watch;

/* Reads "WHAT=RATE[,SECONDS]", RATE with an optional k or M (1000). Returns 0 or -EINVAL. */
int watch_parse(const char *text, struct watch_limit *limit);

/* One line for each WHAT. */
void watch_help(FILE *out);

/*
 * Begins to watch COUNT limits, which must outlive it. EVENTS tells what the recording has seen by
 * now. Returns NULL with a sentence in ERR if this host does not count one of them.
 */
struct watch *watch_new(const struct watch_limit *limits, size_t count, const struct plan *plan,
			uint64_t (*events)(void *), void *context, char *err, size_t err_size);

/*
 * Looks at the counts if it is time to. Returns the limit that has been passed, with what was
 * measured in *RATE (a second) and *SECONDS, or NULL. WATCH may be NULL: nothing is watched.
 */
const struct watch_limit *watch_look(struct watch *watch, int64_t now_ns, double *rate,
				     double *seconds);

void watch_free(struct watch *watch);

#endif
