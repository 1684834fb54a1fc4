/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who exists now: reads all tasks from /proc and writes them into a trace in the form of
 * schema/snapshot.h.
 */
#ifndef CAPTURE_TASKS_H
#define CAPTURE_TASKS_H

#include "schema/snapshot.h"

struct task_list {
	struct snapshot_task *tasks; /* in the order of /proc: by process, then by thread */
	size_t count, capacity;
	size_t unknown; /* processes that could not be compared with their parent: taken as alone */
};

/* True if our pids are those that the kernel's events carry, not those of a container. */
bool tasks_pids_are_global(void);

/*
 * Reads all tasks into LIST (zeroed before). A task that ends while it is read is left out: the
 * recording has its exit. Returns 0 or a negative errno.
 */
int tasks_read(struct task_list *list);

/*
 * Writes LIST to MARKER_FD, an open trace_marker. Every write is one marker. Returns 0 or a
 * negative errno.
 */
int tasks_write(const struct task_list *list, int marker_fd);

void tasks_free(struct task_list *list);

#endif
