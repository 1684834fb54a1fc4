/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters declared as data. A policy (or a program) keeps a table of what it takes: name, type,
 * unit, default, range, help. One parser reads "key=value,key=value" into a struct by that table
 * and one printer writes the help from it, so the two cannot disagree.
 */
#ifndef COMMON_PARAM_H
#define COMMON_PARAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum param_type {
	PARAM_BOOL,     /* int64_t 0 or 1; read as on, off, yes, no, true, false, 1, 0 */
	PARAM_COUNT,    /* int64_t; read with an optional k, M or G (1024) */
	PARAM_TIME,     /* int64_t nanoseconds; read with ns (default), us, ms or s */
	PARAM_FRACTION, /* double; read as 0.25 or 25% */
};

struct param {
	const char *name;
	enum param_type type;
	size_t offset;    /* of the field in the struct that the table describes */
	const char *unit; /* for people: "pages", "ns", "" */
	double def, min, max;
	const char *help; /* one sentence */
};

/* Ends a table. */
#define PARAM_END {.name = NULL}

/* Fills BASE with the defaults of TABLE. TABLE may be NULL (no parameters). */
void param_defaults(const struct param *table, void *base);

/*
 * Reads TEXT ("key=value,key=value"; NULL or "" is nothing) into BASE. Returns 0, or -EINVAL with
 * the reason in ERR: unknown key (with the known ones), repeated key, trailing junk, out of range.
 */
int param_parse(const struct param *table, void *base, const char *text, char *err,
		size_t err_size);

/* Sets one parameter from its name and text. Returns like param_parse(); -ENOENT: no such name. */
int param_set(const struct param *table, void *base, const char *name, const char *value, char *err,
	      size_t err_size);

/* Writes the value of P in BASE in a form that param_parse() reads back. */
void param_print(const struct param *p, const void *base, char *out, size_t out_size);

/* One paragraph per parameter: name, unit, default, range, help. */
void param_help(FILE *out, const struct param *table);

/*
 * Reads a whole number, time or fraction as PARAM_COUNT, PARAM_TIME and PARAM_FRACTION do. Returns
 * 0 or -EINVAL (junk, nothing, negative) or -ERANGE.
 */
int number_count(const char *text, int64_t *out);
int number_time_ns(const char *text, int64_t *out);
int number_fraction(const char *text, double *out);

#endif
