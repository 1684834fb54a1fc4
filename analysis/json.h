/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON text made piece by piece, of bytes that may be anything. */
#ifndef ANALYSIS_JSON_H
#define ANALYSIS_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* A text that grows. After a lack of memory it stays short and "failed" is true. */
struct json {
	char *text; /* to be freed */
	size_t size, allocated;
	bool failed;
};

void json_raw(struct json *j, const char *text, size_t size);
void json_printf(struct json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * A string of SIZE bytes with its quotes. What JSON or UTF-8 cannot hold is escaped: a byte that is
 * part of no UTF-8 sequence becomes the character of that number.
 */
void json_string(struct json *j, const char *text, size_t size);

#endif
