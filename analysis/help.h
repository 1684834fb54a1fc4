/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a report answers and what its columns mean, told from its own file. Needs no database: the
 * columns come from running nothing against an empty one of our schema.
 */
#ifndef ANALYSIS_HELP_H
#define ANALYSIS_HELP_H

#include <stddef.h>
#include <stdio.h>

#include "analysis/report.h"

/* Writes the help of R as text of WIDTH columns. Returns 0 or a negative errno with ERR. */
int help_report(FILE *out, const struct report *r, size_t width, char *err, size_t err_size);

/* Writes the help of all reports as one Markdown page. Returns like help_report(). */
int help_markdown(FILE *out, char *err, size_t err_size);

#endif
