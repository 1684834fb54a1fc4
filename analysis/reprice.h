/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other cost presets for results that are there: costs are counts times prices, and the counts are
 * stored, so no recording is read again. What is not a count is the waiting of concurrent
 * broadcasts for the interconnect: that depends on when they met, and needs a replay
 * (replay/fabric.h).
 */
#ifndef ANALYSIS_REPRICE_H
#define ANALYSIS_REPRICE_H

#include <stddef.h>
#include <sqlite3.h>

/*
 * Puts a copy in memory in the place of *DB (opened by db_open() from PATH) in which the costs are
 * those of the NR presets SPECS (see cost_open()) instead. Returns 0, -EINVAL for a spec that
 * is wrong, or another negative errno, each with ERR.
 */
int reprice(sqlite3 **db, const char *path, char *const *specs, size_t nr, char *err,
	    size_t err_size);

#endif
