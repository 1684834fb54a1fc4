// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool room(struct json *j, size_t size)
{
	size_t wanted = j->size + size + 1, allocated = j->allocated ? j->allocated : 256;
	char *text;

	if (j->failed)
		return false;
	if (wanted <= j->allocated)
		return true;
	while (allocated < wanted)
		allocated *= 2;
	text = realloc(j->text, allocated);
	if (!text) {
		j->failed = true;
		return false;
	}
	j->text = text;
	j->allocated = allocated;
	return true;
}

void json_raw(struct json *j, const char *text, size_t size)
{
	if (!room(j, size))
		return;
	memcpy(j->text + j->size, text, size);
	j->size += size;
	j->text[j->size] = '\0';
}

void json_printf(struct json *j, const char *format, ...)
{
	char text[256];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text))
		j->failed = true;
	else
		json_raw(j, text, n);
}

/* Bytes of the UTF-8 sequence at P, 0 if there is none. */
static size_t sequence(const unsigned char *p, size_t left)
{
	size_t n = p[0] < 0x80   ? 1
		   : p[0] < 0xc2 ? 0
		   : p[0] < 0xe0 ? 2
		   : p[0] < 0xf0 ? 3
		   : p[0] < 0xf5 ? 4
				 : 0;

	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and what lies behind the last character. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

void json_string(struct json *j, const char *text, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;

	json_raw(j, "\"", 1);
	for (size_t i = 0; i < size;) {
		size_t n = sequence(p + i, size - i);

		if (!n || p[i] < 0x20 || p[i] == 0x7f) {
			json_printf(j, "\\u%04x", p[i]);
			i++;
			continue;
		}
		if (p[i] == '"' || p[i] == '\\')
			json_raw(j, "\\", 1);
		json_raw(j, text + i, n);
		i += n;
	}
	json_raw(j, "\"", 1);
}
