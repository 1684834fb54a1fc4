/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports. A report is one file analysis/reports/NAME.sql, carried in the program: adding the file
 * adds the report. Beside it may lie NAME.gp, a gnuplot script that draws it.
 *
 * The first comment line of the file (behind the SPDX line) says in one line what it answers. Each
 * statement is one table. Comment lines of the form "-- key: value" or "-- key" right before a
 * statement tell how to show it:
 *
 *   title: TEXT         stands above the table
 *   note: TEXT          stands below it; may be repeated
 *   empty: TEXT         stands there if it has no rows
 *   column: NAME: TEXT  what a column means, where analysis/columns.c does not say it already
 *   fold: COLUMN        is named below the table if all its values are equal; as text, several
 *   text                no table: its column "text" holds paragraphs
 *   long                only the first rows are shown unless --limit says otherwise
 *   terminal            not in the HTML page
 *   plot                not shown at all: data for NAME.gp (see plot.h)
 *
 * and before the first statement only:
 *
 *   about: TEXT         a paragraph for "tlbreport help NAME"; may be repeated
 *   picture: TEXT       what the picture shows
 *   per trace           as text, the whole report is made once for each recording
 */
#ifndef ANALYSIS_REPORT_H
#define ANALYSIS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sqlite3.h>

#include "analysis/text.h"

struct report {
	const char *name;
	const char *sql; /* text of NAME.sql */
	const char *gp;  /* text of NAME.gp; NULL: there is no plot */
};

/* All reports by name; ends with a NULL name. */
extern const struct report reports[];

/* The report of that name, or NULL. */
const struct report *report_find(const char *name);

/* Writes the names of reports that are nearly NAME to OUT, separated by ", "; none leaves it empty.
 */
void report_near(const char *name, struct text *out);

/* The line that says what a report answers; *LEN bytes within SQL. */
const char *report_summary(const char *sql, size_t *len);

/* One line for each report: name, what it answers. */
void report_list(FILE *out);

enum report_format {
	REPORT_TEXT,
	REPORT_CSV,
	REPORT_JSON
};

struct report_how {
	enum report_format format;
	int64_t limit; /* rows of each table, 0 for all; -1: 20 of long tables as text, else all */
	int table;     /* only this table, counted from 1 without texts; 0: see report_run() */
	size_t width;  /* of text */
	const char *trace;  /* NULL: all */
	const char *policy; /* NULL: all */
};

/*
 * Runs SQL and writes what it answers. As text, all tables; as CSV, one: the first if HOW->table is
 * 0; as JSON an array of objects if there is only one, else an object with all. NAME is what the
 * report is called. Returns 0, -ENOENT (no such table, ERR says so), or another negative errno with
 * ERR.
 */
int report_run(sqlite3 *db, const char *name, const char *sql, const struct report_how *how,
	       FILE *out, char *err, size_t err_size);

/* One statement of a script. */
struct statement {
	sqlite3_stmt *stmt;
	struct text title, note, empty, fold;
	struct text columns; /* "NAME: TEXT" lines */
	bool is_text, is_long, is_plot, is_terminal;
};

struct script {
	struct statement *list;
	size_t nr;
	bool per_trace;
	struct text about;   /* paragraphs, one a line */
	struct text picture; /* what the picture shows */
};

/*
 * Prepares all statements of SQL. Statements that would change anything are refused. Returns 0, or
 * a negative errno with ERR; script_free() is due in both cases.
 */
int script_load(sqlite3 *db, const char *sql, struct script *s, char *err, size_t err_size);
void script_free(struct script *s);

#endif
