/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes one results database of many: each recording's rows are copied, the shards of a recording
 * are added up to one. What comes out depends on the set of parts alone, not on their order. Memory
 * does not grow with the size of the parts; they are attached one at a time.
 */
#ifndef ANALYSIS_MERGE_H
#define ANALYSIS_MERGE_H

#include <stddef.h>

#include "analysis/manifest.h"
#include "analysis/text.h"

struct merge_how {
	const char *out;    /* replaced as a whole once the merge is done */
	char *const *parts; /* paths of nr_parts databases */
	size_t nr_parts;
	/*
	 * A fleet's list, or NULL. Its rows' parts are merged beside PARTS; hosts, labels and what
	 * is missing go into the database.
	 */
	const struct manifest *fleet;
	void (*progress)(size_t done, size_t all); /* in recordings; NULL: none */
};

/*
 * Merges. MISSING gets a line for each recording that could not be taken in: shards are missing,
 * or its row of the list has no part. Returns 0, or a negative errno with ERR, which names the part
 * that is at fault; OUT is as it was then. -EINVAL: parts of different schema or program versions,
 * one recording twice, or no results database.
 */
int merge_run(const struct merge_how *how, struct text *missing, char *err, size_t err_size);

#endif
