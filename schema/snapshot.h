/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The task snapshot: who existed when the recording began. trace.dat keeps neither thread groups
 * nor address spaces, so tlbcapture writes them into the trace itself, through trace_marker, before
 * it starts the workload. Each marker (an ftrace:print event) holds whole lines:
 *
 *   tlbr.tasks 1
 *   TID TGID MM KIND COMM
 *   ...
 *   tlbr.tasks.end COUNT
 *
 * MM is the lowest TGID among those that share the address space (0: none, a kernel thread). KIND
 * is "k" for a kernel thread, else "u". COMM is the name with every byte outside [!-~] and '%'
 * itself written as %XX. The header line opens every marker; the end line stands in a marker of its
 * own, so a reader knows whether it has seen all.
 */
#ifndef SCHEMA_SNAPSHOT_H
#define SCHEMA_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_HEADER "tlbr.tasks 1"
#define SNAPSHOT_END    "tlbr.tasks.end"
/*
 * A kernel takes at least this much in one write to trace_marker (TRACE_BUF_SIZE / a page quarter).
 */
#define SNAPSHOT_MARKER_MAX 960

struct snapshot_task {
	int32_t tid, tgid;
	int32_t mm; /* lowest tgid that shares the address space; 0: none */
	bool kernel;
	char comm[16];
};

/* Writes one line with its newline. Returns its length, or 0 if it does not fit. */
size_t snapshot_format(char *out, size_t size, const struct snapshot_task *task);

/* Reads one line of SIZE bytes (without newline). False if it is not of the form above. */
bool snapshot_parse(const char *line, size_t size, struct snapshot_task *task);

#endif
