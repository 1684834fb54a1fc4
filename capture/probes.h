/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic probes, in the groups CATALOGUE_GROUP and CATALOGUE_GROUP_TLBI that all recordings of a
 * host share. A probe that exists already is shared if another recording uses it, and made anew if
 * none does; one that is no longer wanted stays as long as another recording has it enabled. A lock
 * (on a file of tracefs: it leaves no trace and ends with its process) keeps recordings from doing
 * this at the same time.
 */
#ifndef CAPTURE_PROBES_H
#define CAPTURE_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/plan.h"

/* Returns a descriptor to close, -EAGAIN while another one holds the lock, or a negative errno. */
int probes_lock(void);

/*
 * Makes EVENT by the first step of its ladder that works. If none does, its steps become 0 and its
 * reason says why. Returns 0, or a negative errno if probes cannot be made at all.
 */
int probe_make(struct plan_event *event);

/* Gives up one that is made, as if it could not be: with this reason. */
void probe_give_up(struct plan_event *event, const char *reason);

/*
 * Removes what was made unless others use it. Returns how many of it could not be removed though.
 */
size_t probes_remove(struct plan *plan);

/* Removes all of our groups that nobody uses. Returns how many were removed. */
size_t probes_remove_unused(void);

/* What the kernel counts for one kprobe, whoever made it and whatever is filtered. */
struct probe_count {
	char system[PLAN_NAME_SIZE], name[PLAN_NAME_SIZE];
	uint64_t hits, misses; /* misses of a return probe: entries without a return */
};

/* Counts of all kprobes of this host; free() them. Returns 0 or a negative errno. */
int probes_count(struct probe_count **counts, size_t *count);

/* Returns that the return probes of PLAN could not follow. */
uint64_t probes_missed(const struct plan *plan);

#endif
