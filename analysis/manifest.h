/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of a fleet's recordings: lines of fields separated by tabs, the first of them names the
 * columns. "path" and "host" must be there; "weight" (how many hosts this one stands for, 1 if it
 * is left out), "recording" (needed if a host has several: tells them apart), and what tlbfleet
 * adds, "part" (the database with the replay, empty if there is none) and "reason" (why), may be.
 * Every other column is a label of the host. Lines that are empty or begin with # are left out.
 * Paths that are not absolute begin at the folder of the list.
 *
 * A list is checked as a whole, and every fault is told: by file, line and reason.
 */
#ifndef ANALYSIS_MANIFEST_H
#define ANALYSIS_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/text.h"

struct manifest_row {
	unsigned int line;
	uint64_t id;             /* of the path: names the recording in a folder of results */
	int64_t bytes, mtime_ns; /* of the file, if files were looked at */
	char *path, *host, *recording, *part, *reason; /* "" where the column is missing */
	double weight;
	char **labels; /* by manifest.labels */
};

struct manifest {
	char **labels; /* names */
	size_t nr_labels, nr;
	struct manifest_row *rows; /* by line */
	char *text;
};

/*
 * Reads the list at PATH. FILES: also looks whether its recordings are there and can be read, and
 * are not one file under two names. Faults go into FAULTS, a line each, without a limit. Returns 0;
 * -EINVAL if there is a fault; -ENOMEM; or another -errno if it cannot be read. manifest_free() is
 * due in each case.
 */
int manifest_read(const char *path, bool files, struct manifest *m, struct text *faults);
void manifest_free(struct manifest *m);

#endif
