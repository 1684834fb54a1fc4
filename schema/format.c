// SPDX-License-Identifier: GPL-2.0-or-later
#include "schema/format.h"

#include <errno.h>
#include <string.h>

#define NUMBER_MOST INT32_MAX

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* TEXT at *AT, before END: passed over if it is there. */
static bool take(const char **at, const char *end, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(end - *at) < n || memcmp(*at, text, n))
		return false;
	*at += n;
	return true;
}

static bool take_number(const char **at, const char *end, uint32_t *out)
{
	const char *start = *at;
	uint64_t v = 0;

	for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
		v = v * 10 + (uint64_t)(**at - '0');
		if (v > NUMBER_MOST)
			return false;
	}
	*out = (uint32_t)v;
	return *at > start;
}

/* "unsigned long args[6]": a type, a name, perhaps brackets, in the letters that kernels use. */
static bool take_apart(const char *decl, const char *end, struct format_field *f)
{
	const char *name, *p;

	f->array = NULL;
	f->array_size = 0;
	while (end > decl && end[-1] == ' ')
		end--;
	if (end > decl && end[-1] == ']') {
		const char *open = memrchr(decl, '[', (size_t)(end - decl));

		if (!open)
			return false;
		f->array = open + 1;
		f->array_size = (size_t)(end - 1 - f->array);
		for (p = f->array; p < end - 1; p++)
			if (!is_word(*p) && !strchr(" +-*()", *p))
				return false;
		for (end = open; end > decl && end[-1] == ' '; end--)
			;
	}
	for (name = end; name > decl && is_word(name[-1]); name--)
		;
	f->name = name;
	f->name_size = (size_t)(end - name);
	if (!f->name_size || name == decl || (*name >= '0' && *name <= '9') ||
	    (name[-1] != ' ' && name[-1] != '*'))
		return false;
	for (end = name; end > decl && end[-1] == ' '; end--)
		;
	f->type = decl;
	f->type_size = (size_t)(end - decl);
	if (!f->type_size || !(is_word(*decl)))
		return false;
	for (p = decl; p < end; p++)
		if (*p == '['   ? p + 1 >= end || p[1] != ']'
		    : *p == ']' ? p == decl || p[-1] != '['
				: !is_word(*p) && *p != ' ' && *p != '*')
			return false;
	return true;
}

/* A whole line, behind "field:". */
static bool take_field(const char *at, const char *end, struct format_field *f)
{
	const char *semicolon = memchr(at, ';', (size_t)(end - at));
	uint32_t is_signed;

	if (at < end && *at == ' ') /* header_page has one there */
		at++;
	if (!semicolon || semicolon < at || !take_apart(at, semicolon, f))
		return false;
	at = semicolon;
	if (!take(&at, end, ";\toffset:") || !take_number(&at, end, &f->offset) ||
	    !take(&at, end, ";\tsize:") || !take_number(&at, end, &f->size) || !take(&at, end, ";"))
		return false;
	f->is_signed = -1;
	if (take(&at, end, "\tsigned:")) {
		if (!take_number(&at, end, &is_signed) || is_signed > 1 || !take(&at, end, ";"))
			return false;
		f->is_signed = (int)is_signed;
	}
	return at == end;
}

/* The next line of [*AT, END), without its newline. */
static bool next_line(const char **at, const char *end, const char **line, const char **line_end)
{
	if (*at >= end)
		return false;
	*line = *at;
	*line_end = memchr(*at, '\n', (size_t)(end - *at));
	if (!*line_end)
		*line_end = end;
	*at = *line_end < end ? *line_end + 1 : end;
	return true;
}

int format_next_field(const char **at, const char *end, struct format_field *field)
{
	const char *line, *line_end;

	while (next_line(at, end, &line, &line_end)) {
		while (line < line_end && (*line == ' ' || *line == '\t'))
			line++;
		if (take(&line, line_end, "print fmt:")) {
			*at = end;
			return 0;
		}
		if (take(&line, line_end, "field:"))
			return take_field(line, line_end, field) ? 1 : -EBADMSG;
	}
	return 0;
}

bool format_field_is(const struct format_field *field, const char *name)
{
	return field->name_size == strlen(name) && !memcmp(field->name, name, field->name_size);
}

bool format_field_is_dynamic(const struct format_field *field)
{
	const char *at = field->type, *end = at + field->type_size;

	return take(&at, end, "__data_loc") || take(&at, end, "__rel_loc");
}

bool format_field_is_relative(const struct format_field *field)
{
	const char *at = field->type, *end = at + field->type_size;

	return take(&at, end, "__rel_loc");
}

static bool type_has(const struct format_field *field, const char *word)
{
	return memmem(field->type, field->type_size, word, strlen(word)) != NULL;
}

bool format_field_is_array(const struct format_field *field)
{
	return field->array || type_has(field, "[]");
}

bool format_field_is_text(const struct format_field *field)
{
	return format_field_is_array(field) &&
	       (type_has(field, "char") || type_has(field, "u8") || type_has(field, "s8"));
}

unsigned int format_field_element(const struct format_field *field, unsigned int long_size)
{
	static const struct {
		const char *word;
		unsigned int bytes; /* 0: a long */
	} types[] = {{"char", 1}, {"u8", 1},  {"s8", 1},  {"bool", 1}, {"u16", 2},
		     {"s16", 2},  {"short", 2}, {"u64", 8}, {"s64", 8},  {"long long", 8},
		     {"long", 0}, {"u32", 4},  {"s32", 4}, {"int", 4}};
	const char *at = field->array;
	uint32_t n;

	/* What the brackets say, where that is a number and fits. */
	if (at && take_number(&at, field->array + field->array_size, &n) &&
	    at == field->array + field->array_size && n && !(field->size % n))
		return field->size / n;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (type_has(field, types[i].word))
			return types[i].bytes ? types[i].bytes : long_size;
	return 0;
}

bool format_id(const char *text, size_t size, int *id)
{
	const char *at = text, *end = text + size, *line, *line_end;
	uint32_t number;

	while (next_line(&at, end, &line, &line_end)) {
		if (!take(&line, line_end, "ID:"))
			continue;
		while (line < line_end && *line == ' ')
			line++;
		if (!take_number(&line, line_end, &number))
			return false;
		*id = (int)number;
		return true;
	}
	return false;
}
