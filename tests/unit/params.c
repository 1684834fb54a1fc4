// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers with units, and parameters by table: what is read, what is refused and with which words.
 */
#include "common/param.h"

#include <errno.h>
#include <string.h>

#include "tests/unit/check.h"

struct values {
	double share;
	int64_t on, pages, wait_ns;
};

static const struct param table[] = {
	{.name = "share",
	 .type = PARAM_FRACTION,
	 .offset = offsetof(struct values, share),
	 .unit = "",
	 .def = 0.1,
	 .min = 0,
	 .max = 1,
	 .help = "a share"},
	{.name = "on",
	 .type = PARAM_BOOL,
	 .offset = offsetof(struct values, on),
	 .unit = "",
	 .def = 1,
	 .min = 0,
	 .max = 1,
	 .help = "a switch"},
	{.name = "pages",
	 .type = PARAM_COUNT,
	 .offset = offsetof(struct values, pages),
	 .unit = "pages",
	 .def = 33,
	 .min = 1,
	 .max = 1 << 20,
	 .help = "a number"},
	{.name = "wait",
	 .type = PARAM_TIME,
	 .offset = offsetof(struct values, wait_ns),
	 .unit = "ns",
	 .def = 1000,
	 .min = 0,
	 .max = 1e12,
	 .help = "a time"},
	PARAM_END,
};

enum what { COUNT, TIME };

static const struct {
	enum what what;
	const char *text;
	int ret;
	int64_t value;
} numbers[] = {
	{COUNT, "0", 0, 0},
	{COUNT, "1", 0, 1},
	{COUNT, "007", 0, 7},
	{COUNT, "64k", 0, 65536},
	{COUNT, "64K", 0, 65536},
	{COUNT, "3M", 0, 3145728},
	{COUNT, "2G", 0, 2147483648},
	{COUNT, "1.5k", 0, 1536},
	{COUNT, "4000000000", 0, 4000000000},
	{COUNT, "", -EINVAL, 0},
	{COUNT, " 1", -EINVAL, 0},
	{COUNT, "1 ", -EINVAL, 0},
	{COUNT, "-1", -EINVAL, 0},
	{COUNT, "+1", -EINVAL, 0},
	{COUNT, "0x10", -EINVAL, 0},
	{COUNT, "1.5", -EINVAL, 0}, /* not whole */
	{COUNT, "1.0001k", -EINVAL, 0},
	{COUNT, "1kk", -EINVAL, 0},
	{COUNT, "1m", -EINVAL, 0}, /* that would be a thousandth */
	{COUNT, "k", -EINVAL, 0},
	{COUNT, "inf", -EINVAL, 0},
	{COUNT, "nan", -EINVAL, 0},
	{COUNT, "1e400", -ERANGE, 0},
	{COUNT, "99999999999G", -ERANGE, 0},
	{TIME, "250", 0, 250},
	{TIME, "250ns", 0, 250},
	{TIME, "10us", 0, 10000},
	{TIME, "2ms", 0, 2000000},
	{TIME, "1.5ms", 0, 1500000},
	{TIME, "3s", 0, 3000000000},
	{TIME, "0.5ns", -EINVAL, 0},
	{TIME, "3 s", -EINVAL, 0},
	{TIME, "3m", -EINVAL, 0},
	{TIME, "3h", -EINVAL, 0},
	{TIME, "1k", -EINVAL, 0},
	{TIME, "-3s", -EINVAL, 0},
	{TIME, "9999999999999s", -ERANGE, 0},
};

static void check_numbers(void)
{
	double x;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int64_t value = 0;
		int ret = numbers[i].what == COUNT ? number_count(numbers[i].text, &value)
						   : number_time_ns(numbers[i].text, &value);

		if (ret == numbers[i].ret && (ret || value == numbers[i].value))
			continue;
		printf("%s \"%s\": %d, %ld; wanted %d, %ld\n",
		       numbers[i].what == COUNT ? "count" : "time", numbers[i].text, ret,
		       (long)value, numbers[i].ret, (long)numbers[i].value);
		failures++;
	}
	CHECK(!number_fraction("0.25", &x) && x == 0.25);
	CHECK(!number_fraction("25%", &x) && x == 0.25);
	CHECK(!number_fraction("1", &x) && x == 1);
	CHECK(!number_fraction(".5", &x) && x == 0.5);
	CHECK(number_fraction("25%%", &x) == -EINVAL);
	CHECK(number_fraction("%", &x) == -EINVAL);
	CHECK(number_fraction("", &x) == -EINVAL);
	CHECK(number_fraction("-0.1", &x) == -EINVAL);
	CHECK(number_fraction("0x1p-2", &x) == -EINVAL);
	CHECK(number_fraction("nan", &x) == -EINVAL);
	CHECK(number_fraction("1/4", &x) == -EINVAL);
}

static void check_defaults(void)
{
	struct values v;

	memset(&v, 0xff, sizeof(v));
	param_defaults(table, &v);
	CHECK(v.share == 0.1 && v.on == 1 && v.pages == 33 && v.wait_ns == 1000);
	param_defaults(NULL, NULL);
}

static void check_reading(void)
{
	struct values v;
	char err[256];

	param_defaults(table, &v);
	CHECK(!param_parse(table, &v, NULL, err, sizeof(err)));
	CHECK(!param_parse(table, &v, "", err, sizeof(err)));
	CHECK(v.share == 0.1 && v.on == 1 && v.pages == 33 && v.wait_ns == 1000);
	CHECK(!param_parse(table, &v, "pages=4k", err, sizeof(err)) && v.pages == 4096 &&
	      v.share == 0.1);
	CHECK(!param_parse(table, &v, "wait=10us,on=off,share=50%,pages=1", err, sizeof(err)));
	CHECK(v.share == 0.5 && v.on == 0 && v.pages == 1 && v.wait_ns == 10000);
	/* The ends of a range belong to it. */
	CHECK(!param_parse(table, &v, "share=0", err, sizeof(err)) && v.share == 0);
	CHECK(!param_parse(table, &v, "share=100%,pages=1M", err, sizeof(err)) &&
	      v.pages == 1 << 20);
	static const char *const yes[] = {"on", "yes", "true", "1", "ON"};
	static const char *const no[] = {"off", "no", "false", "0", "No"};
	for (size_t i = 0; i < 5; i++) {
		char text[32];

		snprintf(text, sizeof(text), "on=%s", yes[i]);
		v.on = 7;
		CHECK(!param_parse(table, &v, text, err, sizeof(err)) && v.on == 1);
		snprintf(text, sizeof(text), "on=%s", no[i]);
		v.on = 7;
		CHECK(!param_parse(table, &v, text, err, sizeof(err)) && v.on == 0);
	}
	CHECK(!param_set(table, &v, "pages", "7", err, sizeof(err)) && v.pages == 7);
	CHECK(param_set(table, &v, "page", "7", err, sizeof(err)) == -ENOENT);
}

static const struct {
	const char *text, *words; /* that the reason must hold */
} refused[] = {
	{"nonesuch=1", "nonesuch"},
	{"nonesuch=1", "share, on, pages, wait"}, /* those that it knows */
	{"page=1", "page"},
	{"Share=1", "Share"},
	{"share", "share"},
	{"=1", "=1"},
	{"share=", "share"},
	{"pages=1,", "key=value"},
	{",pages=1", "key=value"},
	{"pages=1,,on=1", "key=value"},
	{"pages=1;on=1", "pages"},
	{"pages=1x", "1x"},
	{"pages=0", "between 1 and"},
	{"pages=2M", "between 1 and"},
	{"share=1.01", "between 0 and 1"},
	{"share=101%", "between 0 and 1"},
	{"on=2", "on"},
	{"on=maybe", "maybe"},
	{"wait=1h", "1h"},
	{"pages=1,pages=1", "twice"},
	{"pages=1,on=1,pages=2", "twice"},
	{"pages =1", "pages "},
};

static void check_refusing(void)
{
	struct values v;
	char err[256], small[8];

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		param_defaults(table, &v);
		err[0] = '\0';
		int ret = param_parse(table, &v, refused[i].text, err, sizeof(err));
		if (ret == -EINVAL && strstr(err, refused[i].words) && !strchr(err, '\n'))
			continue;
		printf("\"%s\": %d, \"%s\"; wanted \"%s\" in it\n", refused[i].text, ret, err,
		       refused[i].words);
		failures++;
	}
	/* A table without parameters takes none; a reason that does not fit is cut. */
	CHECK(param_parse(NULL, NULL, "share=1", err, sizeof(err)) == -EINVAL &&
	      strstr(err, "share"));
	memset(small, 'x', sizeof(small));
	CHECK(param_parse(table, &v, "nonesuch=1", small, sizeof(small)) == -EINVAL);
	CHECK(memchr(small, '\0', sizeof(small)));
}

/* What is printed is read back as it was. */
static void check_printing(void)
{
	static const char *const texts[] = {
		"share=0.1,on=on,pages=33,wait=1000",
		"share=0.333333333333,on=off,pages=1M,wait=1s",
		"share=1,on=1,pages=1,wait=0",
		"share=0.000001,pages=65537,wait=999999999999",
	};
	char err[256], pair[128], value[64];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct values v, back;

		param_defaults(table, &v);
		CHECK(!param_parse(table, &v, texts[i], err, sizeof(err)));
		memset(&back, 0, sizeof(back));
		for (const struct param *p = table; p->name; p++) {
			param_print(p, &v, value, sizeof(value));
			snprintf(pair, sizeof(pair), "%s=%s", p->name, value);
			CHECK(!param_parse(table, &back, pair, err, sizeof(err)));
		}
		CHECK(!memcmp(&v, &back, sizeof(v)));
	}
}

static void check_help(void)
{
	char text[4096] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	param_help(f, table);
	fclose(f);
	for (const struct param *p = table; p->name; p++)
		CHECK(strstr(text, p->name) && strstr(text, p->help));
	CHECK(strstr(text, "pages=33 pages") && strstr(text, "on=on") && strstr(text, "share=0.1"));
}

int main(void)
{
	check_numbers();
	check_defaults();
	check_reading();
	check_refusing();
	check_printing();
	check_help();
	return failures != 0;
}
