// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/param.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct suffix {
	const char *text;
	double factor;
};

/* Reads a plain decimal number; *END is where its text stops. */
static int read_number(const char *text, double *out, const char **end)
{
	char *stop;

	if (!((*text >= '0' && *text <= '9') || *text == '.'))
		return -EINVAL;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return -EINVAL;
	errno = 0;
	*out = strtod(text, &stop);
	if (stop == text || errno == ERANGE || !isfinite(*out))
		return errno == ERANGE ? -ERANGE : -EINVAL;
	*end = stop;
	return 0;
}

static int read_scaled(const char *text, const struct suffix *suffixes, int64_t *out)
{
	const char *end;
	double number;
	int ret = read_number(text, &number, &end);

	if (ret)
		return ret;
	for (const struct suffix *s = suffixes; s->text; s++) {
		if (strcmp(end, s->text))
			continue;
		number *= s->factor;
		if (number > 9e18)
			return -ERANGE;
		if (number != floor(number))
			return -EINVAL;
		*out = (int64_t)number;
		return 0;
	}
	return -EINVAL;
}

int number_count(const char *text, int64_t *out)
{
	static const struct suffix suffixes[] = {{"", 1},
						 {"k", 1024},
						 {"K", 1024},
						 {"M", 1024.0 * 1024},
						 {"G", 1024.0 * 1024 * 1024},
						 {NULL, 0}};

	return read_scaled(text, suffixes, out);
}

int number_time_ns(const char *text, int64_t *out)
{
	static const struct suffix suffixes[] = {{"", 1},   {"ns", 1},  {"us", 1e3},
						 {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};

	return read_scaled(text, suffixes, out);
}

int number_fraction(const char *text, double *out)
{
	const char *end;
	int ret = read_number(text, out, &end);

	if (ret)
		return ret;
	if (!strcmp(end, "%")) {
		*out /= 100;
		return 0;
	}
	return *end ? -EINVAL : 0;
}

static int read_bool(const char *text, int64_t *out)
{
	static const char *const yes[] = {"on", "yes", "true", "1"};
	static const char *const no[] = {"off", "no", "false", "0"};

	for (size_t i = 0; i < 4; i++) {
		if (!strcasecmp(text, yes[i])) {
			*out = 1;
			return 0;
		}
		if (!strcasecmp(text, no[i])) {
			*out = 0;
			return 0;
		}
	}
	return -EINVAL;
}

static void store(const struct param *p, void *base, double value)
{
	char *field = (char *)base + p->offset;

	if (p->type == PARAM_FRACTION)
		*(double *)field = value;
	else
		*(int64_t *)field = (int64_t)value;
}

void param_defaults(const struct param *table, void *base)
{
	for (const struct param *p = table; p && p->name; p++)
		store(p, base, p->def);
}

static void number_text(const struct param *p, double value, char *out, size_t size)
{
	if (p->type == PARAM_BOOL)
		snprintf(out, size, "%s", value ? "on" : "off");
	else
		snprintf(out, size, "%.15g", value);
}

int param_set(const struct param *table, void *base, const char *name, const char *value, char *err,
	      size_t err_size)
{
	static const char *const wanted[] = {
		[PARAM_BOOL] = "on or off",
		[PARAM_COUNT] = "a whole number, with k, M or G if need be",
		[PARAM_TIME] = "a time such as 250, 10us or 2ms",
		[PARAM_FRACTION] = "a number such as 0.25 or 25%",
	};
	const struct param *p;
	double number = 0;
	int64_t whole = 0;
	int ret;

	for (p = table; p && p->name; p++)
		if (!strcmp(p->name, name))
			break;
	if (!p || !p->name) {
		size_t at = (size_t)snprintf(err, err_size, "unknown parameter '%s'", name);

		for (p = table; p && p->name && at < err_size; p++)
			at += (size_t)snprintf(err + at, err_size - at, "%s %s",
					       p == table ? " (it takes" : ",", p->name);
		if (at < err_size)
			snprintf(err + at, err_size - at, "%s",
				 table && table->name ? ")" : " (it takes none)");
		return -ENOENT;
	}
	switch (p->type) {
	case PARAM_BOOL:
		ret = read_bool(value, &whole);
		number = (double)whole;
		break;
	case PARAM_COUNT:
		ret = number_count(value, &whole);
		number = (double)whole;
		break;
	case PARAM_TIME:
		ret = number_time_ns(value, &whole);
		number = (double)whole;
		break;
	case PARAM_FRACTION:
		ret = number_fraction(value, &number);
		break;
	default:
		ret = -EINVAL;
	}
	if (ret) {
		snprintf(err, err_size, "parameter '%s' takes %s, not '%s'", name, wanted[p->type],
			 value);
		return -EINVAL;
	}
	if (number < p->min || number > p->max) {
		char low[32], high[32];

		number_text(p, p->min, low, sizeof(low));
		number_text(p, p->max, high, sizeof(high));
		snprintf(err, err_size, "parameter '%s' must be between %s and %s, not '%s'", name,
			 low, high, value);
		return -EINVAL;
	}
	store(p, base, number);
	return 0;
}

int param_parse(const struct param *table, void *base, const char *text, char *err, size_t err_size)
{
	char *copy, *rest, *pair;
	uint64_t seen = 0;
	int ret = 0;

	if (!text || !*text)
		return 0;
	copy = rest = strdup(text);
	if (!copy) {
		snprintf(err, err_size, "out of memory");
		return -ENOMEM;
	}
	while (!ret && (pair = strsep(&rest, ","))) {
		char *value = strchr(pair, '=');

		if (!value || value == pair) {
			snprintf(err, err_size, "'%s' is not of the form key=value", pair);
			ret = -EINVAL;
			break;
		}
		*value++ = '\0';
		ret = param_set(table, base, pair, value, err, err_size);
		if (ret == -ENOENT)
			ret = -EINVAL;
		for (size_t i = 0; !ret && table[i].name; i++) {
			if (strcmp(table[i].name, pair))
				continue;
			if (seen & (UINT64_C(1) << i)) {
				snprintf(err, err_size, "parameter '%s' is given twice", pair);
				ret = -EINVAL;
			}
			seen |= UINT64_C(1) << i;
		}
	}
	free(copy);
	return ret;
}

void param_print(const struct param *p, const void *base, char *out, size_t out_size)
{
	const char *field = (const char *)base + p->offset;

	if (p->type == PARAM_FRACTION)
		snprintf(out, out_size, "%.15g", *(const double *)field);
	else if (p->type == PARAM_BOOL)
		snprintf(out, out_size, "%s", *(const int64_t *)field ? "on" : "off");
	else
		snprintf(out, out_size, "%" PRId64, *(const int64_t *)field);
}

void param_help(FILE *out, const struct param *table)
{
	for (const struct param *p = table; p && p->name; p++) {
		char def[32], low[32], high[32];

		number_text(p, p->def, def, sizeof(def));
		number_text(p, p->min, low, sizeof(low));
		number_text(p, p->max, high, sizeof(high));
		fprintf(out, "  %s=%s%s%s", p->name, def, p->unit && *p->unit ? " " : "",
			p->unit ? p->unit : "");
		if (p->type != PARAM_BOOL)
			fprintf(out, "  (%s to %s)", low, high);
		fprintf(out, "\n      %s\n", p->help);
	}
}
