// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/preset.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/costs.h"

#define ALL_CPUS 0, INT64_MAX

/* Which calls are meant. */
struct which {
	const char *call, *flush; /* flush NULL: any */
	int64_t cpus_from, cpus_to;
};

/* Their durations, ns. */
struct spread {
	int64_t calls;
	double low, median, high; /* 5th, 50th and 95th percentile */
};

struct maker {
	sqlite3 *db;
	int64_t trace;
	const char *name, *cpu, *cores, *kernel; /* of the recording and its host */
	struct cost_preset *preset;
	char *words[32];
	size_t nr_words;
	int rc;
	unsigned int filled;
};

/* Text that lives as long as the maker; a preset is plain ASCII. */
static const char *word(struct maker *m, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static const char *word(struct maker *m, const char *format, ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, format);
	if (m->nr_words == sizeof(m->words) / sizeof(*m->words) ||
	    vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text) {
		m->rc = SQLITE_NOMEM;
		return "?";
	}
	for (char *c = text; *c; c++)
		if (!isascii((unsigned char)*c) || !isprint((unsigned char)*c))
			*c = '?';
	m->words[m->nr_words++] = text;
	return text;
}

/* The first column of the first row of SQL, whose ?1 is the recording; NULL: there is none. */
static const char *ask(struct maker *m, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	const char *found = NULL;

	if (sqlite3_prepare_v2(m->db, sql, -1, &stmt, NULL)) {
		m->rc = sqlite3_errcode(m->db);
		return NULL;
	}
	sqlite3_bind_int64(stmt, 1, m->trace);
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		found = word(m, "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return found;
}

static struct spread durations(struct maker *m, const struct which *w)
{
	/* With nothing else under way: what waiting for others costs is another item. */
	static const char sql[] =
		"WITH b AS (SELECT from_ns, min(to_ns) AS to_ns, sum(calls) AS calls "
		"FROM latency_buckets WHERE trace = ?1 AND call = ?2 AND (?3 IS NULL "
		"OR flush = ?3) "
		"AND cpus BETWEEN ?4 AND ?5 AND concurrent = 0 GROUP BY from_ns), "
		"c AS (SELECT *, sum(calls) OVER (ORDER BY from_ns) AS behind, "
		"sum(calls) OVER () AS all_calls FROM b) "
		"SELECT max(all_calls), min(CASE WHEN behind * 20 >= all_calls THEN from_ns END), "
		"min(CASE WHEN behind * 2 >= all_calls THEN (from_ns + to_ns) / 2.0 END), "
		"min(CASE WHEN behind * 20 >= all_calls * 19 THEN to_ns END) FROM c";
	struct spread s = {0};
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(m->db, sql, -1, &stmt, NULL)) {
		m->rc = sqlite3_errcode(m->db);
		return s;
	}
	sqlite3_bind_int64(stmt, 1, m->trace);
	sqlite3_bind_text(stmt, 2, w->call, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, w->flush, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 4, w->cpus_from);
	sqlite3_bind_int64(stmt, 5, w->cpus_to);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		s = (struct spread){sqlite3_column_int64(stmt, 0), sqlite3_column_double(stmt, 1),
				    sqlite3_column_double(stmt, 2), sqlite3_column_double(stmt, 3)};
	sqlite3_finalize(stmt);
	return s;
}

/* ALL less LESS (no calls: unknown, between nothing and everything), by COUNT. */
static void put(struct maker *m, enum cost_item_id id, struct spread all, struct spread less,
		double count, const char *how)
{
	struct cost_item *item = &m->preset->items[id];
	bool known = less.calls >= PRESET_CALLS;

	if (all.calls < PRESET_CALLS || (known && all.median <= less.median))
		return;
	item->low = known && all.low > less.high ? (all.low - less.high) / count : 0;
	item->value = (all.median - (known ? less.median : 0)) / count;
	item->high = all.high / count;
	item->trust = COST_DERIVED;
	item->cpu = m->cpu;
	item->cores = m->cores;
	item->kernel = m->kernel;
	item->source =
		known ? word(m,
			     "durations in %s: %s; median of %" PRId64 " calls, %.0f ns, less "
			     "%.0f ns of %" PRId64
			     "; low: 5%% less their 95%%; high: 95%%, nothing "
			     "taken off",
			     m->name, how, all.calls, all.median, less.median, less.calls)
		      : word(m,
			     "durations in %s: %s; median of %" PRId64 " calls, the cost of their "
			     "two probes in it, which is not known: low is 0; high: 95%%",
			     m->name, how, all.calls);
	m->filled++;
}

static struct spread first_of(struct maker *m, const struct which *list, size_t nr, size_t *which)
{
	struct spread s = {0};

	for (*which = 0; *which < nr; ++*which) {
		s = durations(m, &list[*which]);
		if (s.calls >= PRESET_CALLS)
			return s;
	}
	return (struct spread){0};
}

static void fill_arm64(struct maker *m)
{
	static const struct which quiet[] = {{"young", NULL, ALL_CPUS},
					     {"unchanged", NULL, ALL_CPUS}};
	static const struct which broadcasts[] = {{"upgrade", "broadcast", ALL_CPUS},
						  {"cow", "broadcast", ALL_CPUS},
						  {"upgrade", "not recorded", ALL_CPUS},
						  {"cow", "not recorded", ALL_CPUS}};
	static const struct which locals[] = {{"upgrade", "local", ALL_CPUS}};
	static const char *const hows[] = {
		"ptep_set_access_flags with a broadcast inside, its probe in it",
		"ptep_clear_flush with a broadcast inside, its probe in it",
		("ptep_set_access_flags for a write; that it broadcast is assumed, as no TLBI "
		 "was recorded"),
		"ptep_clear_flush; that it broadcast is assumed, as no TLBI was recorded"};
	size_t i, k;
	struct spread less = first_of(m, quiet, 2, &k), all = first_of(m, broadcasts, 4, &i);

	if (all.calls)
		put(m, COST_FLUSH_BROADCAST, all, less, 1, hows[i]);
	all = first_of(m, locals, 1, &i);
	if (all.calls)
		put(m, COST_FLUSH_LOCAL, all, less, 1,
		    "ptep_set_access_flags with a local flush inside, its probe in it");
}

static void fill_x86(struct maker *m)
{
	static const struct which alone = {"range", "local", 1, 1}, two = {"range", "mask", 2, 2};
	struct spread none = {0}, local = durations(m, &alone), pair = durations(m, &two);
	struct spread most = {0};
	int64_t cpus = 0;

	put(m, COST_FLUSH_LOCAL, local, none, 1,
	    "flush_tlb_mm_range of address spaces that had run on one CPU, whatever the range");
	if (local.calls >= PRESET_CALLS && pair.calls >= PRESET_CALLS &&
	    pair.median > local.median) {
		put(m, COST_IPI_SEND, pair, local, 1,
		    "flush_tlb_mm_range of address spaces that had run on two CPUs, less of those "
		    "on one; "
		    "waiting for the answer is in it");
		struct cost_item *wait = &m->preset->items[COST_IPI_WAIT];
		wait->low = wait->value = wait->high = 0;
		wait->trust = COST_DERIVED;
		wait->source = "part of ipi_send, which was timed";
	}
	/* Groups of more CPUs: 3..4, 5..8, ... The middle of one stands for it. */
	for (int64_t from = 3, to = 4; to <= 65536; from = to + 1, to *= 2) {
		struct which group = {"range", "mask", from, from};
		struct spread s = durations(m, &group);

		if (s.calls >= PRESET_CALLS) {
			most = s;
			cpus = (from + to) / 2;
		}
	}
	if (most.calls && pair.calls >= PRESET_CALLS)
		put(m, COST_IPI_TARGET, most, pair, (double)(cpus - 2),
		    word(m,
			 "flush_tlb_mm_range of address spaces that had run on about %" PRId64
			 " CPUs, less of those on two, for each further one",
			 cpus));
}

/* The recording: TRACE, or the only one that has durations. */
static int choose(struct maker *m, const char *trace, char *err, size_t err_size)
{
	static const char sql[] =
		"SELECT id, trace FROM traces WHERE (?1 IS NULL OR trace = ?1) "
		"AND EXISTS (SELECT 1 FROM latencies l WHERE l.trace = traces.id) ORDER BY id";
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(m->db, sql, -1, &stmt, NULL), ret = 0;

	if (rc) {
		m->rc = rc;
		return 0;
	}
	sqlite3_bind_text(stmt, 1, trace, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) != SQLITE_ROW) {
		snprintf(err, err_size,
			 "%s has no function's entry and return (tlbcapture --profile latency)",
			 trace ? trace : "no recording");
		ret = -ENOENT;
	} else {
		m->trace = sqlite3_column_int64(stmt, 0);
		m->name = word(m, "%s", (const char *)sqlite3_column_text(stmt, 1));
		if (sqlite3_step(stmt) == SQLITE_ROW) {
			snprintf(err, err_size,
				 "several recordings have durations: --trace %s, --trace %s...",
				 m->name, (const char *)sqlite3_column_text(stmt, 1));
			ret = -ENOENT;
		}
	}
	sqlite3_finalize(stmt);
	return ret;
}

static int make(struct maker *m, struct text *out, char *err, size_t err_size)
{
	const char *arch = ask(m, "SELECT arch FROM traces WHERE id = ?1");
	bool arm64 = arch && !strcmp(arch, "arm64");
	char *text = NULL;
	size_t size;

	m->cpu = ask(m, "SELECT value FROM host WHERE trace = ?1 AND key = 'cpu'");
	m->cores = ask(m, "SELECT cpus FROM traces WHERE id = ?1");
	m->kernel = ask(m, "SELECT nullif(kernel, '') FROM traces WHERE id = ?1");
	m->cpu = m->cpu ? m->cpu : "not recorded";
	m->kernel = m->kernel ? m->kernel : "not recorded";
	m->preset = cost_open(arm64 ? "arm64-generic" : "x86-generic", err, err_size);
	if (!m->preset || m->rc)
		return -ENOMEM;
	if (arm64)
		fill_arm64(m);
	else
		fill_x86(m);
	if (m->rc)
		return -EIO;
	if (!m->filled) {
		snprintf(err, err_size,
			 "%s: no kind of call that a preset has a figure for was timed %d times",
			 m->name, PRESET_CALLS);
		return -ENOENT;
	}
	m->preset->name = "recorded";
	m->preset->summary =
		word(m, "%s, %s CPUs, timed in a recording; the rest is as in %s-generic", m->cpu,
		     m->cores, arm64 ? "arm64" : "x86");
	m->preset->cpus = m->cores;
	/* As tlbcalibrate tells it. */
	if (strstr(m->cpu, "QEMU TCG") || !strncmp(m->cpu, "implementer 0x00 ", 17))
		m->preset->not_for_use = COST_NOT_FOR_USE_TCG;
	FILE *file = open_memstream(&text, &size);
	if (!file || m->rc) {
		if (file)
			fclose(file);
		free(text);
		return -ENOMEM;
	}
	cost_write(file, m->preset);
	fclose(file);
	/* What is written is what tlbreplay will read. */
	struct cost_preset *again = cost_parse("preset", text, size, err, err_size);
	int ret = again ? 0 : -EIO;
	if (again)
		text_add(out, text, size);
	cost_free(again);
	free(text);
	return ret;
}

int preset_make(sqlite3 *db, const char *trace, struct text *out, char *err, size_t err_size)
{
	struct maker m = {.db = db};
	int ret = choose(&m, trace, err, err_size);

	if (!ret && !m.rc)
		ret = make(&m, out, err, err_size);
	if (m.rc) {
		snprintf(err, err_size, "%s", sqlite3_errmsg(db));
		ret = m.rc == SQLITE_NOMEM ? -ENOMEM : -EIO;
	} else if (ret == -ENOMEM) {
		snprintf(err, err_size, "out of memory");
	}
	for (size_t i = 0; i < m.nr_words; i++)
		free(m.words[i]);
	cost_free(m.preset);
	return ret;
}
