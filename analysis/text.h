/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text for people: a growing string, foreign bytes made harmless, display widths, numbers with
 * thousands separators and units. Results are UTF-8.
 */
#ifndef ANALYSIS_TEXT_H
#define ANALYSIS_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A string that grows. All zero is an empty one; TEXT is NULL until something was added. */
struct text {
	char *text;
	size_t len, size;
};

/* Append bytes, or what FORMAT makes. When memory is out, the string stays as it was. */
void text_add(struct text *t, const char *bytes, size_t len);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *t);

/* A space at which lines are not broken; text_put() writes it as a space. */
#define TEXT_GLUE "\x1f"

/*
 * Decodes one UTF-8 character of S (LEN bytes, at least one). Returns its length in bytes and
 * stores the code point, or returns 0 if the bytes are not valid UTF-8.
 */
size_t text_utf8(const char *s, size_t len, uint32_t *code);

/*
 * Appends foreign bytes so that a terminal shows them and obeys none: control characters, invalid
 * UTF-8 and what reorders text come out as \xNN or \u{NNNN}.
 */
void text_add_clean(struct text *t, const char *bytes, size_t len);

/* Columns that LEN bytes of clean text take on a terminal. */
size_t text_width(const char *s, size_t len);

/* Writes LEN bytes of clean text. */
void text_put(FILE *out, const char *s, size_t len);

/*
 * Cuts the next line of at most WIDTH columns off clean text: at a space if there is one, inside
 * the word otherwise. Returns the line's bytes (without the space) and advances *REST past it.
 */
size_t text_line(const char **rest, size_t width);

/*
 * Writes a paragraph broken at WIDTH columns. Spaces and "- " at its start set the indent of the
 * lines that follow.
 */
void text_paragraph(FILE *out, const char *s, size_t width);

/* Kinds of number, told from a column's name. */
enum number_kind {
	NUMBER_COUNT, /* 12,345 */
	NUMBER_ID,    /* 12345 */
	NUMBER_NS,    /* 12.3 ms */
	NUMBER_AT_NS, /* 0.012345 s: a point in time */
	NUMBER_BYTES, /* 1.2 MiB */
	NUMBER_SHARE, /* 1.2 % */
};

enum number_kind number_kind(const char *column);

/* Appends one number, or "low .. estimate .. high" (one number if the three are equal). */
void number_add(struct text *t, enum number_kind kind, double value);
void number_add_range(struct text *t, enum number_kind kind, double low, double value, double high);

#endif
