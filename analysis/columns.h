/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the columns of reports mean. A column of one name means the same in every report; where one
 * does not, its NAME.sql says so in a "-- column:" line.
 */
#ifndef ANALYSIS_COLUMNS_H
#define ANALYSIS_COLUMNS_H

struct column_word {
	const char *name;
	const char *unit; /* "" for a name or a text */
	const char *text;
};

/* The entry of that column; NULL: nobody has explained it. */
const struct column_word *column_find(const char *name);

/* What every query has a unit for, explained or not: told from the name's end. */
const char *column_unit(const char *name);

#endif
