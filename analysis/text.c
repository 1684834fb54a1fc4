// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static bool reserve(struct text *t, size_t more)
{
	size_t need = t->len + more + 1;

	if (need <= t->size)
		return true;
	size_t size = t->size ? t->size : 64;
	while (size < need)
		size *= 2;
	char *grown = realloc(t->text, size);
	if (!grown)
		return false;
	t->text = grown;
	t->size = size;
	return true;
}

void text_add(struct text *t, const char *bytes, size_t len)
{
	if (!reserve(t, len))
		return;
	if (len)
		memcpy(t->text + t->len, bytes, len);
	t->len += len;
	t->text[t->len] = '\0';
}

void text_addf(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 || !reserve(t, (size_t)len))
		return;
	va_start(args, format);
	vsnprintf(t->text + t->len, (size_t)len + 1, format, args);
	va_end(args);
	t->len += (size_t)len;
}

void text_free(struct text *t)
{
	free(t->text);
	*t = (struct text){0};
}

size_t text_utf8(const char *s, size_t len, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *u = (const unsigned char *)s;
	size_t n = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;

	if (!n || n > len || u[0] > 0xf4)
		return 0;
	uint32_t c = n == 1 ? u[0] : u[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (u[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*code = c;
	return n;
}

/* Invisible characters that reorder or join what stands around them. */
static bool deceives(uint32_t c)
{
	return c == 0x61c || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

void text_add_clean(struct text *t, const char *bytes, size_t len)
{
	while (len) {
		uint32_t c = 0;
		size_t n = text_utf8(bytes, len, &c);

		if (!n || c < 0x20 || (c >= 0x7f && c < 0xa0)) {
			n = n ? n : 1;
			for (size_t i = 0; i < n; i++)
				text_addf(t, "\\x%02x", (unsigned char)bytes[i]);
		} else if (deceives(c)) {
			text_addf(t, "\\u{%x}", (unsigned int)c);
		} else {
			text_add(t, bytes, n);
		}
		bytes += n;
		len -= n;
	}
}

static size_t char_width(const char *s, size_t len, size_t *bytes)
{
	uint32_t c = 0;

	*bytes = text_utf8(s, len, &c);
	if (!*bytes)
		*bytes = 1;
	if (c < 0x80)
		return 1;
	/* Without a UTF-8 locale wcwidth() knows none of these: count one column each. */
	int w = wcwidth((wchar_t)c);
	return w < 0 ? 1 : (size_t)w;
}

size_t text_width(const char *s, size_t len)
{
	size_t width = 0;

	for (size_t i = 0, n; i < len; i += n)
		width += char_width(s + i, len - i, &n);
	return width;
}

void text_put(FILE *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		putc(s[i] == TEXT_GLUE[0] ? ' ' : s[i], out);
}

size_t text_line(const char **rest, size_t width)
{
	const char *s = *rest;
	size_t len = strlen(s), at = 0, columns = 0, space = 0;
	bool found = false;

	while (at < len) {
		size_t n, w = char_width(s + at, len - at, &n);

		if (s[at] == ' ') {
			space = at;
			found = true;
		}
		if (columns + w > width && (at || !width))
			break;
		columns += w;
		at += n;
	}
	if (at < len && found && space)
		at = space;
	/* Guarantees progress where not even one character fits. */
	if (!at && len)
		char_width(s, len, &at);
	*rest = s + at;
	while (**rest == ' ')
		(*rest)++;
	while (at && s[at - 1] == ' ')
		at--;
	return at;
}

void text_paragraph(FILE *out, const char *s, size_t width)
{
	size_t indent = strspn(s, " ");
	const char *rest = s + indent;
	size_t hang = indent + (!strncmp(rest, "- ", 2) ? 2 : 0);

	if (!*rest)
		putc('\n', out);
	for (bool first = true; *rest; first = false) {
		size_t in = first ? indent : hang;
		const char *line = rest;
		size_t len = text_line(&rest, width > in + 20 ? width - in : 20);

		fprintf(out, "%*s", (int)in, "");
		text_put(out, line, len);
		putc('\n', out);
	}
}

static bool ends(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);

	return n >= m && !strcmp(s + n - m, tail);
}

enum number_kind number_kind(const char *column)
{
	static const char *const ids[] = {"tid", "pid", "tgid", "mm", "cpu", "id", "format"};

	if (!strcmp(column, "at_ns") || !strcmp(column, "start_ns") || !strcmp(column, "end_ns") ||
	    !strcmp(column, "first_ns") || !strcmp(column, "last_ns"))
		return NUMBER_AT_NS;
	if (ends(column, "_ns") || !strcmp(column, "ns"))
		return NUMBER_NS;
	if (ends(column, "bytes"))
		return NUMBER_BYTES;
	if (ends(column, "share"))
		return NUMBER_SHARE;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (!strcmp(column, ids[i]))
			return NUMBER_ID;
	return NUMBER_COUNT;
}

static void add_thousands(struct text *t, double value, int decimals)
{
	char digits[400];
	int len = snprintf(digits, sizeof(digits), "%.*f", decimals, fabs(value));
	int whole = decimals ? len - decimals - 1 : len;

	if (value < 0)
		text_add(t, "-", 1);
	for (int i = 0; i < len; i++) {
		if (i && i < whole && (whole - i) % 3 == 0)
			text_add(t, ",", 1);
		text_add(t, digits + i, 1);
	}
}

/* Three significant digits at least, but never fewer than the whole part has. */
static int decimals_of(double value)
{
	double v = fabs(value);

	return v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
}

struct unit {
	double size;
	const char *name;
};

static const struct unit time_units[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
static const struct unit byte_units[] = {
	{1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}};
static const struct unit plain_unit = {1, ""};
static const struct unit second_unit = {1e9, "s"};
static const struct unit percent_unit = {0.01, "%"};

static const struct unit *unit_of(enum number_kind kind, double value)
{
	const struct unit *units = kind == NUMBER_NS ? time_units : byte_units;
	size_t i = 0;

	switch (kind) {
	case NUMBER_NS:
	case NUMBER_BYTES:
		/* 999.6 would print as 1,000 of the smaller unit. */
		while (i < 3 && fabs(value) >= 0.9995 * units[i + 1].size)
			i++;
		return &units[i];
	case NUMBER_AT_NS:
		return &second_unit;
	case NUMBER_SHARE:
		return &percent_unit;
	default:
		return &plain_unit;
	}
}

static void add_figure(struct text *t, enum number_kind kind, double value, const struct unit *unit)
{
	double v = value / unit->size;
	/* Counts and the smallest units are whole unless a bound is a share of something. */
	bool whole = v == floor(v) && (unit->size == 1 || v == 0);

	if (kind == NUMBER_ID)
		text_addf(t, "%.0f", v);
	else if (kind == NUMBER_AT_NS)
		add_thousands(t, v, 6);
	else if (kind == NUMBER_SHARE && v > 0 && v < 0.005)
		text_addf(t, "<0.01");
	else if (v != 0 && fabs(v) < 0.01)
		text_addf(t, "%.2g", v);
	else if (kind == NUMBER_COUNT && !whole)
		add_thousands(t, v, fabs(v) < 1 ? 2 : fabs(v) < 100 ? 1 : 0);
	else
		add_thousands(t, v, whole ? 0 : decimals_of(v));
}

static void add_unit(struct text *t, const struct unit *unit)
{
	if (*unit->name)
		text_addf(t, TEXT_GLUE "%s", unit->name);
}

void number_add(struct text *t, enum number_kind kind, double value)
{
	const struct unit *unit = unit_of(kind, value);

	if (!isfinite(value)) {
		text_addf(t, "%f", value);
		return;
	}
	add_figure(t, kind, value, unit);
	if (value != 0 || kind == NUMBER_SHARE || kind == NUMBER_AT_NS)
		add_unit(t, unit);
}

void number_add_range(struct text *t, enum number_kind kind, double low, double value, double high)
{
	const struct unit *unit = unit_of(kind, high);

	if (low == value && value == high) {
		number_add(t, kind, value);
	} else if (isfinite(low) && isfinite(value) && isfinite(high) && high != 0 &&
		   (low == 0 || unit_of(kind, low) == unit) &&
		   (value == 0 || unit_of(kind, value) == unit)) {
		add_figure(t, kind, low, unit);
		text_addf(t, TEXT_GLUE ".. ");
		add_figure(t, kind, value, unit);
		text_addf(t, TEXT_GLUE ".. ");
		add_figure(t, kind, high, unit);
		add_unit(t, unit);
	} else {
		number_add(t, kind, low);
		text_addf(t, TEXT_GLUE ".. ");
		number_add(t, kind, value);
		text_addf(t, TEXT_GLUE ".. ");
		number_add(t, kind, high);
	}
}
