/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All reports as one HTML page that needs nothing else: no network, no script to be read, pictures
 * inside. It is well-formed XML. Everything that comes from a recording is escaped.
 */
#ifndef ANALYSIS_HTML_H
#define ANALYSIS_HTML_H

#include <stddef.h>
#include <sqlite3.h>

#include "analysis/report.h"
#include "analysis/text.h"

/* Nothing that a browser opens gladly, or that a mail carries, is larger. */
#define HTML_BYTES_MAX (2 * 1000 * 1000)

/*
 * Appends the page about DB to PAGE; of HOW, trace, policy and limit (rows of each table; -1: as
 * many as keep the page below HTML_BYTES_MAX) matter. What is left out is said where it is missing.
 * PATH is the database as the user named it. Returns 0 or a negative errno with ERR.
 */
int html_page(sqlite3 *db, const char *path, const struct report_how *how, struct text *page,
	      char *err, size_t err_size);

#endif
