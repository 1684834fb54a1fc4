/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cost preset from the durations that a recording shows (replay/latency.h): what could be timed
 * takes the place of the generic preset's figures, with its bounds, machine and source; the rest
 * stays.
 *
 *	arm64  flush_broadcast, flush_local: ptep_set_access_flags() with such a flush inside, else
 *	       ptep_clear_flush(); nothing else under way
 *	x86    flush_local: flush_tlb_mm_range() of address spaces on one CPU; ipi_send: of such on
 *	       two, less that; ipi_target: of such on most, for each further CPU
 *
 * value: median less that of calls that flush nothing. low: the 5th percentile less their 95th, 0
 * where there are none. high: the 95th percentile, nothing taken off.
 */
#ifndef ANALYSIS_PRESET_H
#define ANALYSIS_PRESET_H

#include <stddef.h>

#include "analysis/db.h"
#include "analysis/text.h"

/* Fewer calls than this say nothing. */
#define PRESET_CALLS 30

/*
 * Adds to OUT the preset of the recording TRACE (NULL: the only one that has durations). Returns 0;
 * -ENOENT with ERR filled if there is no such one, or several, or nothing that a preset could take;
 * -EIO or -ENOMEM with ERR filled.
 */
int preset_make(sqlite3 *db, const char *trace, struct text *out, char *err, size_t err_size);

#endif
