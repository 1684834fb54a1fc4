/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whom to record: threads by id, as the kernel filters. It follows their children by itself.
 *
 * The kernel has no filter by control group. A group's threads are looked up, those of the groups
 * below it as well (services and containers sit in the leaves), and looked up again while the
 * recording runs, for those that are moved into it.
 */
#ifndef CAPTURE_TARGETS_H
#define CAPTURE_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Thread ids, ascending, each once. */
struct tid_set {
	pid_t *tids;
	size_t count, capacity;
};

/* Adds TID. Returns 1 if it was not there, 0 if it was, or -ENOMEM. */
int tid_set_add(struct tid_set *set, pid_t tid);
bool tid_set_has(const struct tid_set *set, pid_t tid);
void tid_set_free(struct tid_set *set);

/* Adds all threads of process PID. Returns 0, -ESRCH or -ENOMEM. */
int targets_add_process(struct tid_set *set, pid_t pid);

/*
 * Adds all threads of control group PATH (absolute, or below /sys/fs/cgroup; version 1 or 2) and of
 * the groups below it. Returns 0, -ENOENT if there is no such group, or another negative errno.
 */
int targets_add_cgroup(struct tid_set *set, const char *path);

#endif
