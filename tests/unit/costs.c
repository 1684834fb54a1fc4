// SPDX-License-Identifier: GPL-2.0-or-later
/* Cost presets: those carried are whole, and what is wrong in a file is refused by line and reason.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schema/costs.h"
#include "schema/derive.h"
#include "tests/unit/check.h"

static char *good;
static size_t good_size;

/* GOOD with the first OLD replaced by NEW must be refused, with WHERE:LINE and REASON in the text.
 */
static void refused(const char *old, const char *new, const char *reason)
{
	char *at = strstr(good, old), *text, err[512] = "", line[32];
	unsigned int nr = 1;
	struct cost_preset *p;

	CHECK(at != NULL);
	if (!at)
		return;
	if (asprintf(&text, "%.*s%s%s", (int)(at - good), good, new, at + strlen(old)) < 0)
		abort();
	p = cost_parse("mine.cost", text, strlen(text), err, sizeof(err));
	if (p || !strstr(err, reason))
		fprintf(stderr, "'%s' -> '%s': %s\n", old, new, err);
	CHECK(!p);
	CHECK(strstr(err, reason) != NULL);
	/* The line is that of the change, or of its section, or the last one. */
	CHECK(!strncmp(err, "mine.cost:", 10) && atoi(err + 10) > 0);
	if (*new && strchr(new, '=') && strncmp(new, "low", 3) != 0) {
		for (const char *c = good; c < at; c++)
			nr += *c == '\n';
		for (const char *c = new; c[0] && strchr(c, '\n') && strchr(c, '\n')[1]; c++)
			nr += *c == '\n';
		snprintf(line, sizeof(line), "mine.cost:%u:", nr);
		if (strncmp(err, line, strlen(line)) != 0)
			fprintf(stderr, "'%s': line %u is meant: %s\n", new, nr, err);
		CHECK(!strncmp(err, line, strlen(line)));
	}
	cost_free(p);
	free(text);
}

static void test_refused(void)
{
	refused("unit = ns per invalidation\n", "", "[flush_local] has no \"unit\"");
	refused("source = given", "sauce = given", "there is no key \"sauce\" in [flush_local]");
	refused("value = 50\n", "value = -50\n", "a cost is not negative");
	refused("low = 10\n", "low = -1\n", "a cost is not negative");
	refused("low = 10\n", "low = 301\n", "low = 301 is more than high = 300");
	refused("value = 50\n", "value = 5\n", "value = 5 is not between low = 10 and high = 300");
	refused("value = 50\n", "value = 50\nvalue = 50\n", "\"value\" is there twice");
	refused("value = 50\n", "value = 50ns\n", "not a number");
	refused("value = 50\n", "value = nan\n", "not a number");
	refused("value = 50\n", "value = 0x32\n", "not a number");
	refused("value = 50\n", "value = 1e400\n", "not a number");
	refused("value = 50\n", "value = \n", "\"value\" is empty");
	refused("unit = ns per invalidation", "unit = us per invalidation",
		"it is counted in \"ns per invalidation\"");
	refused("trust = derived", "trust = guessed", "not measured, derived or uncalibrated");
	refused("trust = derived", "trust = given", "not measured, derived or uncalibrated");
	refused("kernel = 6.12\n", "", "has no \"kernel\"");
	refused("[flush_page]", "[flush_side]", "there is no item [flush_side]");
	refused("[flush_page]", "[flush_local]", "[flush_local] is there twice");
	refused("[flush_page]", "[flush_page", "'[' without ']'");
	refused("cpu = one\n", "cpu one\n", "neither \"key = value\" nor \"[item]\"");
	refused("arch = arm64\n", "arch = arm65\n", "not arm64, x86 or any");
	refused("cpus = 32\n", "cpus = many\n", "neither a number nor any");
	refused("cpus = 32\n", "", "no \"cpus\" before the first item");
	refused("name = good\n", "name = so good\n", "make a name");
	refused("name = good\n", "name = good\nuses = 1\n",
		"there is no key \"uses\" before the first item");
	refused("source = given", "source = \xc3\xa4", "plain ASCII");
	refused("source = given", "source = \x01", "plain ASCII");
}

static void test_missing_item(void)
{
	char err[512] = "", *copy = strdup(good), *at = strstr(copy, "[notify]");

	*at = '\0';
	CHECK(!cost_parse("mine.cost", copy, strlen(copy), err, sizeof(err)));
	CHECK(strstr(err, "no [notify]") != NULL);
	free(copy);
}

/* A whole file, as simple as can be. */
static void make_good(void)
{
	FILE *out = open_memstream(&good, &good_size);

	fputs("# mine\nname = good\nsummary = one\n  and more\narch = arm64\ncpus = 32\n", out);
	for (unsigned int i = 0; i < NR_COSTS; i++)
		fprintf(out, "\n[%s]\nvalue = 50\nlow = 10\nhigh = 300\nunit = %s\ncpu = one\ncores = 4\n"
			"kernel = 6.12\ntrust = derived\nsource = given\n  by me\n", cost_infos[i].name,
			cost_infos[i].unit);
	fclose(out);
}

static void test_good(void)
{
	char err[512] = "", *text = NULL;
	size_t size;
	struct cost_preset *p = cost_parse("mine.cost", good, good_size, err, sizeof(err)), *again;
	FILE *out = open_memstream(&text, &size);

	CHECK(p != NULL);
	if (!p)
		return;
	CHECK(!strcmp(p->name, "good") && !strcmp(p->summary, "one and more"));
	CHECK(p->items[COST_REFILL].low == 10 && p->items[COST_REFILL].value == 50 &&
	      p->items[COST_REFILL].high == 300 && p->items[COST_REFILL].trust == COST_DERIVED);
	CHECK(!strcmp(p->items[COST_REFILL].source, "given by me"));
	cost_write(out, p);
	fclose(out);
	again = cost_parse("again", text, size, err, sizeof(err));
	CHECK(again && !strcmp(again->items[COST_NOTIFY].source, "given by me") &&
	      again->items[COST_NOTIFY].value == 50);
	cost_free(again);
	cost_free(p);
	free(text);
}

static void test_carried(void)
{
	char err[512] = "";
	size_t nr = 0;

	for (; cost_files[nr].name; nr++) {
		struct cost_preset *p = cost_open(cost_files[nr].name, err, sizeof(err));

		if (!p)
			fprintf(stderr, "%s\n", err);
		CHECK(p != NULL && !strcmp(p->name, cost_files[nr].name) && !p->not_for_use);
		cost_free(p);
	}
	CHECK(nr >= 6);
}

static void bad_spec(const char *spec, const char *reason)
{
	char err[512] = "";
	struct cost_preset *p = cost_open(spec, err, sizeof(err));

	if (p || !strstr(err, reason))
		fprintf(stderr, "%s: %s\n", spec, err);
	CHECK(!p && strstr(err, reason));
	cost_free(p);
}

static void test_changes(void)
{
	char err[512] = "", label[128];
	struct cost_preset *p = cost_open("arm64-generic:refill=7,flush_local=1..2.5..30,cpus=64", err,
					  sizeof(err));

	CHECK(p != NULL);
	if (!p)
		return;
	CHECK(p->items[COST_REFILL].low == 7 && p->items[COST_REFILL].high == 7);
	CHECK(p->items[COST_FLUSH_LOCAL].low == 1 && p->items[COST_FLUSH_LOCAL].value == 2.5 &&
	      p->items[COST_FLUSH_LOCAL].high == 30 && p->items[COST_FLUSH_LOCAL].trust == COST_GIVEN);
	CHECK(p->use_cpus == 64);
	cost_label(p, label, sizeof(label));
	CHECK(!strcmp(label, "arm64-generic:refill=7,flush_local=1..2.5..30,cpus=64"));
	cost_free(p);
	bad_spec("nonesuch", "no cost preset 'nonesuch'");
	bad_spec("arm64-generic:", "nothing behind the colon");
	bad_spec("arm64-generic:refill", "item=value is wanted");
	bad_spec("arm64-generic:refil=1", "there is none of that name");
	bad_spec("arm64-generic:refill=-1", "neither a number");
	bad_spec("arm64-generic:refill=3..2..1", "neither a number");
	bad_spec("arm64-generic:refill=1,refill=2", "given twice");
	bad_spec("arm64-generic:cpus=0", "a number of CPUs");
	bad_spec("./nonesuch.cost", "No such file");
}

/*
 * By hand, 5 CPUs: 10 broadcasts, 2 of them of a whole mm, 7 further pages; 4 shootdowns with 9
 * targets; 3 local flushes.
 */
static void test_quantities(void)
{
	struct policy_counts c = {.share = 0.5};
	struct cost_preset *p;
	struct derived_cost parts[NR_PARTS];
	char err[256];

	c.flushes[SCOPE_BROADCAST] = (struct bound){10, 10, 10};
	c.whole[SCOPE_BROADCAST] = (struct bound){2, 2, 2};
	c.further[SCOPE_BROADCAST] = (struct bound){7, 7, 7};
	c.flushes[SCOPE_MASK] = (struct bound){4, 4, 4};
	c.targets = (struct bound){9, 9, 9};
	c.flushes[SCOPE_LOCAL] = (struct bound){3, 3, 3};
	c.queue_ns = (struct real_bound){0, 1000, 2000};
	p = cost_open("arm64-generic:flush_broadcast=100,broadcast_mm=50,broadcast_page=2,broadcast_cpu=3,"
		      "ipi_send=1000,ipi_wait=500,ipi_target=10,flush_local=5,victim_broadcast=1,"
		      "victim_ipi=20", err, sizeof(err));
	CHECK(p != NULL);
	if (!p)
		return;
	derive_costs(&c, 5, p, parts);
	/* 8 x 100 + 2 x 50 + 7 x 2 + 10 x 4 x 3 + 4 x 1500 + (9 - 4) x 10 + 3 x 5 */
	CHECK(fabs(parts[PART_INITIATOR].ns.estimate - 7099) < 1e-9);
	/* 10 x 4 x 1 + 9 x 20 */
	CHECK(fabs(parts[PART_VICTIMS].ns.estimate - 220) < 1e-9);
	CHECK(parts[PART_QUEUE].ns.low == 0 && parts[PART_QUEUE].ns.estimate == 1000 &&
	      parts[PART_QUEUE].ns.high == 2000);
	cost_free(p);
}

int main(void)
{
	make_good();
	test_good();
	test_refused();
	test_missing_item();
	test_carried();
	test_changes();
	test_quantities();
	free(good);
	return failures != 0;
}
