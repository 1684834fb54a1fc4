/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of a query as a text table, as CSV or as JSON.
 *
 * CSV and JSON carry values as they are stored. Text is for reading, and goes by the columns'
 * names: NAME_low, NAME (or NAME_estimate), NAME_high side by side become one column "low ..
 * estimate .. high", a single number where the three agree; ..._ns, ..._bytes and ..._share get
 * units; tid, mm and cpu are names, not amounts; everything else gets thousands separators. NULL is
 * "-". A column "uncalibrated" (0 or 1) becomes a "?" behind the bounds left of it.
 */
#ifndef ANALYSIS_TABLE_H
#define ANALYSIS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sqlite3.h>

struct table_text {
	size_t width;      /* columns of the terminal */
	int64_t limit;     /* rows shown, the rest is counted; 0: all */
	const char *hide;  /* name of a column to leave out; NULL: none */
	const char *fold;  /* name of a column that, if all its values are equal, is stated below */
	const char *empty; /* what to say instead of a table without rows */
};

/*
 * Each steps STMT to its end. LIMIT is in rows, 0 for all. Return 0, -ENOMEM, or -EIO with the
 * reason in sqlite3_errmsg().
 */
int table_text(FILE *out, sqlite3_stmt *stmt, const struct table_text *how);
int table_csv(FILE *out, sqlite3_stmt *stmt, int64_t limit);

/* An array of objects. INDENT goes before every line but the first. */
int table_json_objects(FILE *out, sqlite3_stmt *stmt, int64_t limit, const char *indent);

/* An array of arrays; the names in one array come from table_json_columns(). */
int table_json_rows(FILE *out, sqlite3_stmt *stmt, int64_t limit, const char *indent);
void table_json_columns(FILE *out, sqlite3_stmt *stmt);

/* A JSON string of LEN bytes; invalid UTF-8 becomes U+FFFD. */
void table_json_string(FILE *out, const char *s, size_t len);

struct table_html {
	int64_t limit;    /* rows shown, the rest is counted; 0: all */
	const char *hide; /* as in struct table_text */
	const char *fold;
	const char *empty;
	const char *label;     /* of the table, for those who do not see it */
	const char *more;      /* command that shows all rows */
	const char *mm_anchor; /* an mm links to "#", this and its number if has_mm() says so */
	int (*policy)(void *ctx,
		      const char *policy); /* its number, 0: none: class "q pN" of rows */
	bool (*has_mm)(void *ctx, int64_t mm);
	void *ctx;
};

/*
 * An HTML table that is well-formed XML, too. Bounds are apart, in elements of class lo, es and hi;
 * a cell that does not sort as it reads has its value in data-v. Returns like table_text().
 */
int table_html(FILE *out, sqlite3_stmt *stmt, const struct table_html *how);

/* Clean text (see text.h) with HTML's characters escaped. */
void table_html_string(FILE *out, const char *s, size_t len);

#endif
