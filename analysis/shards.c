// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shards have seen the same events and counted different address spaces. So a table's rows are
 *
 *	same     in all shards: what is known of the recording and of the replay
 *	union    about address spaces, which no two shards share
 *	sum      counts with a key
 *	top      the first so many by an order; the first of all are among the first of each
 *	derived  made from sums by schema/derive.h, as tlbreplay makes them from its counts
 *
 * The rows of each shard go into temporary tables first, named "s_" and the table; those of the
 * tables shard_... are nowhere else, and end with them.
 */
#include "analysis/shards.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/text.h"
#include "schema/costs.h"
#include "schema/derive.h"
#include "schema/terms.h"

enum how {
	SAME,
	UNION,
	SUM,
	TOP,
	DERIVED
};

static const char *const how_names[] = {"same", "union", "sum", "top", "derived"};

struct rule {
	const char *table;
	enum how how;
	const char *sums; /* of SUM: the columns that are counts, each between spaces */
};

static const struct rule rules[] = {
	{"costs", DERIVED, NULL},
	{"quantities", DERIVED, NULL},
	{"cost_items", SAME, NULL},
	{"cpus", SAME, NULL},
	/* Followed as a whole by every shard: a page is found again by where it lies in swap. */
	{"dirty", SAME, NULL},
	{"dirty_flush", SAME, NULL},
	{"dirty_mm", SAME, NULL},
	{"exposure_lengths", SUM, " entries "},
	{"exposure_rows", TOP, NULL},
	{"exposures", DERIVED, NULL},
	{"faults", DERIVED, NULL},
	{"flush", DERIVED, NULL}, /* a sum, but for the point "spurious" */
	{"flush_cpu", SUM, " issued received "},
	{"flush_mm", UNION, NULL},
	{"flush_time", SUM, " flushes_low flushes flushes_high "},
	{"heat", UNION, NULL},
	{"heat_grid", SAME, NULL},
	{"host", SAME, NULL},
	/* Timed before events are divided by address space. */
	{"latencies", SAME, NULL},
	{"latency_buckets", SAME, NULL},
	{"latency_left_out", SAME, NULL},
	{"mms", UNION, NULL},
	{"notes", DERIVED, NULL},
	{"pages", TOP, NULL},
	{"policy_params", SAME, NULL},
	{"recorded", SAME, NULL},
	{"runs", SAME, NULL},
	{"selfcheck", DERIVED, NULL},
	{"shard_counts", DERIVED, NULL},
	{"shard_exposures", DERIVED, NULL},
	{"shard_points", DERIVED, NULL},
	{"shard_witnesses", DERIVED, NULL},
	{"shards", DERIVED, NULL},
	{"stale_mm", UNION, NULL},
	{"sweeps", DERIVED, NULL},
	{"stale_pages", TOP, NULL},
	{"swap", SAME, NULL},
	{"verdicts", DERIVED, NULL},
};

static const struct rule *find_rule(const char *table)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (!strcmp(rules[i].table, table))
			return &rules[i];
	return NULL;
}

const char *shards_rule(const char *table)
{
	const struct rule *rule = find_rule(table);

	return rule ? how_names[rule->how] : NULL;
}

/* ---- SQL with less ceremony; the first error stays ---- */

struct work {
	const struct copy *c;
	sqlite3 *db;
	bool first;
	char *err;
	size_t err_size;
	int ret;
};

static void fail(struct work *w, const char *what)
{
	if (!w->ret)
		snprintf(w->err, w->err_size, "%s: %s", what, sqlite3_errmsg(w->db));
	w->ret = w->ret ? w->ret : -EIO;
}

static sqlite3_stmt *prepare(struct work *w, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	if (!w->ret && sqlite3_prepare_v2(w->db, sql, -1, &stmt, NULL))
		fail(w, "adding shards up");
	return stmt;
}

static bool step(struct work *w, sqlite3_stmt *stmt)
{
	int rc = stmt && !w->ret ? sqlite3_step(stmt) : SQLITE_DONE;

	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		fail(w, "adding shards up");
	return rc == SQLITE_ROW;
}

/* Runs a statement with values by FORMAT: i int64_t, d double, s text (NULL is NULL). */
static void run(struct work *w, const char *sql, const char *format, ...)
{
	sqlite3_stmt *stmt = prepare(w, sql);
	va_list args;

	va_start(args, format);
	for (int at = 1; stmt && format[at - 1]; at++)
		switch (format[at - 1]) {
		case 'i':
			sqlite3_bind_int64(stmt, at, va_arg(args, int64_t));
			break;
		case 'd':
			sqlite3_bind_double(stmt, at, va_arg(args, double));
			break;
		default:
			sqlite3_bind_text(stmt, at, va_arg(args, const char *), -1,
					  SQLITE_TRANSIENT);
		}
	va_end(args);
	while (step(w, stmt))
		;
	sqlite3_finalize(stmt);
}

/* A number of the run, such as a limit on rows. */
static int64_t run_value(struct work *w, const char *name)
{
	sqlite3_stmt *stmt =
		prepare(w, "SELECT value FROM main.runs WHERE trace = ?1 AND name = ?2");
	int64_t value = 0;

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, w->c->to);
		sqlite3_bind_text(stmt, 2, name, -1, SQLITE_STATIC);
	}
	if (step(w, stmt))
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

/* ---- taking a shard in ---- */

static int take_table(void *ctx, const char *table)
{
	const struct rule *rule = find_rule(table);
	struct work *w = ctx;
	char target[128];
	int ret;

	if (!rule) {
		snprintf(w->err, w->err_size, "table %s: it is not known how shards of it add up",
			 table);
		return w->ret = -EINVAL;
	}
	if (rule->how == SAME) {
		ret = w->first ? 0 : copy_differs(w->c, table);
		if (ret > 0) {
			snprintf(w->err, w->err_size,
				 "table %s: it differs from that of another shard; were they "
				 "replayed "
				 "in the same way?",
				 table);
			return w->ret = -EINVAL;
		}
		snprintf(target, sizeof(target), "main.\"%s\"", table);
		if (!ret && w->first)
			ret = copy_rows(w->c, table, target);
	} else {
		snprintf(target, sizeof(target), "temp.\"s_%s\"", table);
		if (w->first) {
			char *sql =
				sqlite3_mprintf("DROP TABLE IF EXISTS temp.\"s_%w\"; CREATE TEMP "
						"TABLE \"s_%w\" AS SELECT * FROM main.\"%w\" "
						"LIMIT 0",
						table, table, table);

			if (!sql || sqlite3_exec(w->db, sql, NULL, NULL, NULL))
				fail(w, table);
			sqlite3_free(sql);
		}
		ret = w->ret ? w->ret : copy_rows(w->c, table, target);
	}
	if (ret)
		fail(w, table);
	return w->ret;
}

int shards_take(const struct copy *c, bool first, char *err, size_t err_size)
{
	struct work w = {.c = c, .db = c->db, .first = first, .err = err, .err_size = err_size};
	int ret = copy_tables(c->db, take_table, &w);

	if (ret && !w.ret)
		fail(&w, "tables");
	return w.ret;
}

/* ---- rules that SQL can say ---- */

/* "a, b" or "sum(a), b": TABLE's columns, or its keys only. */
static void columns(struct work *w, const struct rule *rule, bool keys, struct text *out)
{
	sqlite3_stmt *stmt = prepare(w, "SELECT name FROM pragma_table_info(?1, 'main')");
	char padded[128];

	if (stmt)
		sqlite3_bind_text(stmt, 1, rule->table, -1, SQLITE_STATIC);
	while (step(w, stmt)) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		snprintf(padded, sizeof(padded), " %s ", name);
		bool summed = rule->sums && strstr(rule->sums, padded);
		if (keys && summed)
			continue;
		text_addf(out, "%s", out->len ? ", " : "");
		text_addf(out, summed ? "sum(\"%s\")" : "\"%s\"", name);
	}
	sqlite3_finalize(stmt);
}

static void write_sum(struct work *w, const struct rule *rule)
{
	struct text all = {0}, keys = {0}, sql = {0};

	columns(w, rule, false, &all);
	columns(w, rule, true, &keys);
	text_addf(&sql, "INSERT INTO main.\"%s\" SELECT %s FROM temp.\"s_%s\" ", rule->table,
		  all.text, rule->table);
	if (rule->how == SUM)
		text_addf(&sql, "GROUP BY %s ", keys.text);
	text_addf(&sql, "ORDER BY %s", keys.text);
	if (all.text && keys.text)
		run(w, sql.text, "");
	text_free(&all);
	text_free(&keys);
	text_free(&sql);
}

/* The pages with most decisions are kept, the rest is added up by address space. */
static void write_pages(struct work *w)
{
	int64_t limit = run_value(w, "page_rows");

	run(w,
	    "CREATE TEMP TABLE ranked AS SELECT *, row_number() OVER (ORDER BY decisions DESC, mm, "
	    "page, point, level) AS rank FROM temp.s_pages WHERE page IS NOT NULL",
	    "");
	run(w,
	    "INSERT INTO main.pages SELECT trace, mm, page, point, level, decisions FROM "
	    "temp.ranked "
	    "WHERE rank <= ?1 ORDER BY mm, page, point, level",
	    "i", limit);
	run(w,
	    "INSERT INTO main.pages SELECT trace, mm, NULL, point, level, sum(decisions) FROM "
	    "(SELECT trace, mm, point, level, decisions FROM temp.ranked WHERE rank > ?1 UNION ALL "
	    "SELECT trace, mm, point, level, decisions FROM temp.s_pages WHERE page IS NULL) "
	    "GROUP BY mm, point, level ORDER BY mm, point, level",
	    "i", limit);
	run(w,
	    "INSERT INTO main.notes SELECT trace, kind, subject, sum(n), text FROM "
	    "(SELECT trace, kind, subject, n, text FROM temp.s_notes WHERE text = ?3 UNION ALL "
	    "SELECT ?2, 'left out', 'pages', (SELECT count(*) FROM "
	    "temp.ranked WHERE rank > ?1), ?3) GROUP BY text HAVING sum(n) > 0",
	    "iis", limit, w->c->to, NOTE_PAGES_LEFT);
	run(w, "DROP TABLE temp.ranked", "");
}

static void write_stale_pages(struct work *w)
{
	run(w,
	    "INSERT INTO main.stale_pages SELECT policy, mm, page, entries FROM (SELECT *, "
	    "row_number() OVER (PARTITION BY policy ORDER BY entries DESC, mm, page) AS rank FROM "
	    "temp.s_stale_pages) WHERE rank <= ?1 ORDER BY policy, rank",
	    "i", (int64_t)STALE_PAGE_ROWS);
}

/* As struct exposure_row is ordered, the longest first. */
static void write_exposure_rows(struct work *w)
{
	run(w, "CREATE TEMP TABLE kinds(kind TEXT PRIMARY KEY, n)", "");
	for (unsigned int i = 0; i < NR_STALENESS; i++)
		run(w, "INSERT INTO temp.kinds VALUES(?1, ?2)", "si", staleness_name(i),
		    (int64_t)i);
	run(w,
	    "INSERT INTO main.exposure_rows SELECT policy, kind, mm, page, cpu, start_ns, end_ns, "
	    "ended FROM (SELECT *, row_number() OVER (PARTITION BY policy ORDER BY end_ns - "
	    "start_ns "
	    "DESC, start_ns, mm, page, cpu, k.n) AS rank FROM temp.s_exposure_rows JOIN temp.kinds "
	    "k "
	    "USING (kind)) WHERE rank <= ?1 ORDER BY policy, rank",
	    "i", run_value(w, "exposure_rows"));
	run(w, "DROP TABLE temp.kinds", "");
	/* What is pushed out joins those that were left out. */
	run(w,
	    "INSERT INTO main.notes SELECT ?1, 'left out', p.policy, l.n, ?2 FROM main.policies p, "
	    "(SELECT q.id, (SELECT count(*) FROM temp.s_exposure_rows WHERE policy = q.id) - "
	    "(SELECT count(*) FROM main.exposure_rows WHERE policy = q.id) + coalesce((SELECT "
	    "sum(n) "
	    "FROM temp.s_notes WHERE text = ?2 AND subject = q.policy), 0) AS n "
	    "FROM main.policies q WHERE q.trace = ?1) l WHERE l.id = p.id AND l.n > 0 ORDER BY "
	    "p.id",
	    "is", w->c->to, NOTE_ROWS_LEFT);
}

static void write_flush(struct work *w)
{
	run(w,
	    "INSERT INTO main.flush SELECT policy, point, level, scope, sum(decisions), "
	    "sum(flushes_low), sum(flushes), sum(flushes_high), sum(pages) FROM temp.s_flush WHERE "
	    "point <> ?1 GROUP BY policy, point, level, scope ORDER BY policy, point, level, scope",
	    "s", point_name(POINT_SPURIOUS));
}

/* What the shards say alike, without what is about their rows. */
static void write_notes(struct work *w)
{
	run(w,
	    "INSERT INTO main.notes SELECT trace, kind, subject, n, text FROM (SELECT *, "
	    "min(rowid) "
	    "AS place FROM temp.s_notes WHERE text NOT IN (?1, ?2, ?3) AND NOT (kind = 'left out' "
	    "AND "
	    "subject = 'shards') GROUP BY kind, subject, n, text) ORDER BY place",
	    "sss", CHECK_SILENT, NOTE_PAGES_LEFT, NOTE_ROWS_LEFT);
}

/* ---- rules by schema/derive.h ---- */

struct policy_sums {
	int64_t id;
	unsigned int cpus;
	struct policy_counts counts;
};

static void read_counts(struct work *w, struct policy_sums *p)
{
	sqlite3_stmt *stmt = prepare(
		w, "SELECT sum(n), max(n) FROM temp.s_shard_counts WHERE policy = ?1 AND name "
		   "= ?2 AND subject = ?3");

	for (const struct counts_field *f = counts_fields; stmt && f->name; f++)
		for (unsigned int i = 0; i < f->nr; i++) {
			char *at = (char *)&p->counts + f->offset + i * f->stride;
			const char *subject = f->subject ? f->subject(i) : "";

			sqlite3_bind_int64(stmt, 1, p->id);
			sqlite3_bind_text(stmt, 2, f->name, -1, SQLITE_STATIC);
			sqlite3_bind_text(stmt, 3, subject, -1, SQLITE_STATIC);
			if (!step(w, stmt))
				break;
			if (f->is_double)
				*(double *)at = sqlite3_column_double(stmt, f->adds ? 0 : 1);
			else
				*(uint64_t *)at =
					(uint64_t)sqlite3_column_int64(stmt, f->adds ? 0 : 1);
			sqlite3_reset(stmt);
		}
	sqlite3_finalize(stmt);
}

static void write_spurious(struct work *w, const struct policy_sums *p)
{
	struct real_bound all = derive_spurious_at(&p->counts, NR_LEVELS);
	static const char insert[] = "INSERT INTO main.faults VALUES(?1, 'spurious', ?2, ?3, ?4)";

	for (unsigned int level = 0; level < NR_LEVELS; level++) {
		struct real_bound b = derive_spurious_at(&p->counts, level);
		unsigned int scope = (unsigned int)p->counts.fix_scope[level];
		int64_t times = scope != SCOPE_NONE, n = derive_rounded(b.estimate);

		if (b.high > 0)
			run(w, "INSERT INTO main.flush VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
			    "isssiiiii", p->id, point_name(POINT_SPURIOUS), level_name(level),
			    scope_name(scope), n, times * derive_rounded(b.low), times * n,
			    times * derive_rounded(b.high), times * n);
	}
	run(w, insert, "iddd", p->id, all.low, all.estimate, all.high);
	run(w,
	    "INSERT INTO main.faults SELECT policy, kind, max(low), max(estimate), max(high) FROM "
	    "temp.s_faults WHERE policy = ?1 AND kind = 'spurious_recorded' GROUP BY kind",
	    "i", p->id);
	run(w,
	    "INSERT INTO main.faults SELECT policy, kind, sum(low), sum(estimate), sum(high) FROM "
	    "temp.s_faults WHERE policy = ?1 AND kind = 'spurious_avoided' GROUP BY kind",
	    "i", p->id);
}

/* One sum of stale entries over all shards. */
static struct exposure_sum read_sum(struct work *w, int64_t policy, const char *kind,
				    const char *ended, const char *name)
{
	sqlite3_stmt *stmt =
		prepare(w, "SELECT entries, units_high, units_low, max_ns FROM "
			   "temp.s_shard_exposures WHERE policy = ?1 AND kind = ?2 AND "
			   "ended = ?3 AND sum = ?4");
	struct exposure_sum sum = {0};

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, policy);
		sqlite3_bind_text(stmt, 2, kind, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, ended, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 4, name, -1, SQLITE_STATIC);
	}
	while (step(w, stmt)) {
		unsigned __int128 high = (uint64_t)sqlite3_column_int64(stmt, 1);

		exposure_merge(&sum, &(struct exposure_sum){
					     .entries = sqlite3_column_double(stmt, 0),
					     .entry_units = high << EXPOSURE_LIMB |
							    (uint64_t)sqlite3_column_int64(stmt, 2),
					     .max_ns = (uint64_t)sqlite3_column_int64(stmt, 3)});
	}
	sqlite3_finalize(stmt);
	return sum;
}

static void write_exposure(struct work *w, const struct policy_sums *p, const char *kind,
			   const char *ended)
{
	static const char insert[] =
		"INSERT INTO main.exposures VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
	struct exposure_sum low = read_sum(w, p->id, kind, ended, "proven"),
			    held = read_sum(w, p->id, kind, ended, "held"),
			    likely = read_sum(w, p->id, kind, ended, "likely"),
			    high = read_sum(w, p->id, kind, ended, "possible");
	struct real_bound entries, ns;

	if (high.entries <= 0 && held.entries <= 0)
		return;
	derive_exposure(&low, &held, &likely, &high, p->counts.share, &entries, &ns);
	run(w, insert, "isssddi", p->id, kind, "low", ended, entries.low, ns.low,
	    (int64_t)low.max_ns);
	run(w, insert, "isssddi", p->id, kind, "estimate", ended, entries.estimate, ns.estimate,
	    (int64_t)(likely.max_ns > held.max_ns ? likely.max_ns : held.max_ns));
	run(w, insert, "isssddi", p->id, kind, "high", ended, entries.high, ns.high,
	    (int64_t)high.max_ns);
}

static void write_exposures(struct work *w, const struct policy_sums *p)
{
	for (unsigned int kind = 0; kind < NR_STALENESS; kind++)
		for (unsigned int ended = 0; ended < NR_ENDED; ended++)
			write_exposure(w, p, staleness_name(kind), ended_name(ended));
}

/* The preset as the shards were priced with, from their cost_items. */
static bool read_prices(struct work *w, struct cost_preset *preset, char *label, size_t size)
{
	sqlite3_stmt *stmt = prepare(w, "SELECT cost, item, low, value, high, trust FROM "
					"main.cost_items WHERE trace = ?1 ORDER BY rowid");
	bool any = false;

	if (stmt)
		sqlite3_bind_int64(stmt, 1, w->c->to);
	while (step(w, stmt)) {
		const char *trust = (const char *)sqlite3_column_text(stmt, 5);
		int item = cost_item_find((const char *)sqlite3_column_text(stmt, 1));

		if (item < 0) {
			snprintf(w->err, w->err_size, "cost item %s: what it pays for is not known",
				 (const char *)sqlite3_column_text(stmt, 1));
			w->ret = -EINVAL;
			break;
		}
		preset->items[item] = (struct cost_item){
			.low = sqlite3_column_double(stmt, 2),
			.value = sqlite3_column_double(stmt, 3),
			.high = sqlite3_column_double(stmt, 4),
			.trust = strcmp(trust, cost_trust_name(COST_UNCALIBRATED)) ? COST_MEASURED
										   : COST_UNCALIBRATED};
		snprintf(label, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
		any = true;
	}
	sqlite3_finalize(stmt);
	return any;
}

static void write_costs(struct work *w, const struct policy_sums *p)
{
	struct cost_preset preset = {.use_cpus = 0};
	struct derived_cost parts[NR_PARTS];
	char label[512] = "";

	if (!read_prices(w, &preset, label, sizeof(label)) || w->ret)
		return;
	for (unsigned int i = 0; i < NR_COSTS; i++) {
		struct real_bound n = derive_quantity(&p->counts, p->cpus, i);

		run(w, "INSERT INTO main.quantities VALUES(?1, ?2, ?3, ?4, ?5)", "isddd", p->id,
		    cost_infos[i].name, n.low, n.estimate, n.high);
	}
	derive_costs(&p->counts, p->cpus, &preset, parts);
	for (unsigned int i = 0; i < NR_PARTS; i++)
		run(w, "INSERT INTO main.costs VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)", "issdddi",
		    p->id, label, cost_part_name(i), parts[i].ns.low, parts[i].ns.estimate,
		    parts[i].ns.high, (int64_t)parts[i].uncalibrated);
}

/* The first witness of the worst kind, of all shards; without any, what they all say. */
static void write_verdict(struct work *w, const struct policy_sums *p)
{
	run(w,
	    "INSERT INTO main.verdicts SELECT ?1, verdict, witness, (SELECT unseen FROM "
	    "temp.s_verdicts WHERE policy = ?1 LIMIT 1) FROM temp.s_shard_witnesses WHERE policy = "
	    "?1 "
	    "ORDER BY CASE verdict WHEN 'unsafe' THEN 0 WHEN 'stuck' THEN 2 ELSE 1 END, seq LIMIT "
	    "1",
	    "i", p->id);
	run(w,
	    "INSERT INTO main.verdicts SELECT * FROM temp.s_verdicts WHERE policy = ?1 AND NOT "
	    "EXISTS "
	    "(SELECT 1 FROM main.verdicts WHERE policy = ?1) LIMIT 1",
	    "i", p->id);
}

static void write_check(struct work *w, const struct policy_sums *p, const char *policy,
			unsigned int point, unsigned int level)
{
	sqlite3_stmt *stmt = prepare(
		w,
		"SELECT max(recorded), max(source), (SELECT sum(decisions) FROM main.flush WHERE "
		"policy = ?1 AND point = ?2 AND level = ?3), (SELECT sum(flushes) FROM main.flush "
		"WHERE policy = ?1 AND point = ?2 AND level = ?3) FROM temp.s_shard_points WHERE "
		"point = ?2 AND level = ?3");
	struct check_counts c = {0};
	char source[32] = "";

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, p->id);
		sqlite3_bind_text(stmt, 2, point_name(point), -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, level_name(level), -1, SQLITE_STATIC);
	}
	if (step(w, stmt)) {
		c.recorded = (uint64_t)sqlite3_column_int64(stmt, 0);
		snprintf(source, sizeof(source), "%s", (const char *)sqlite3_column_text(stmt, 1));
		c.seen = strcmp(source, "unseen") != 0;
		c.decisions = (uint64_t)sqlite3_column_int64(stmt, 2);
		c.replayed = (uint64_t)sqlite3_column_int64(stmt, 3);
	}
	sqlite3_finalize(stmt);
	if (!derive_check_row(&c, point))
		return;
	if (derive_check_silent(&c, point))
		run(w, "INSERT INTO main.notes VALUES(?1, 'unseen', ?2, ?3, ?4)", "isis", w->c->to,
		    point_name(point), (int64_t)c.replayed, CHECK_SILENT);
	run(w, "INSERT INTO main.selfcheck VALUES(?1, ?2, ?3, ?4, iif(?8, ?5, NULL), ?6, ?7)",
	    "isssiisi", w->c->to, policy, point_name(point), level_name(level), (int64_t)c.recorded,
	    (int64_t)c.replayed, source, (int64_t)c.seen);
}

static void write_policies(struct work *w)
{
	sqlite3_stmt *stmt =
		prepare(w, "SELECT p.id, p.name, t.kernel_policy, (SELECT CAST(value AS INTEGER) "
			   "FROM main.runs WHERE trace = t.id AND name = 'cost_cpus') "
			   "FROM main.policies p JOIN main.traces t ON t.id = p.trace WHERE t.id = ?1 ORDER BY p.id");
	bool checked = false;

	if (stmt)
		sqlite3_bind_int64(stmt, 1, w->c->to);
	while (step(w, stmt)) {
		const char *name = (const char *)sqlite3_column_text(stmt, 1),
			   *kernels = (const char *)sqlite3_column_text(stmt, 2);
		struct policy_sums p = {.id = sqlite3_column_int64(stmt, 0),
					.cpus = (unsigned int)sqlite3_column_int(stmt, 3),
					.counts.kernels = kernels && !strcmp(name, kernels)};

		read_counts(w, &p);
		write_spurious(w, &p);
		write_exposures(w, &p);
		write_costs(w, &p);
		write_verdict(w, &p);
		for (unsigned int i = 0; p.counts.kernels && !checked && i < NR_POINTS * NR_LEVELS;
		     i++)
			write_check(w, &p, name, i / NR_LEVELS, i % NR_LEVELS);
		checked |= p.counts.kernels;
	}
	sqlite3_finalize(stmt);
}

int shards_write(const struct copy *c, char *err, size_t err_size)
{
	struct work w = {.c = c, .db = c->db, .err = err, .err_size = err_size};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rules[i].how == UNION || rules[i].how == SUM)
			write_sum(&w, &rules[i]);
	write_notes(&w);
	write_pages(&w);
	write_stale_pages(&w);
	write_exposure_rows(&w);
	write_flush(&w);
	write_policies(&w);
	return w.ret;
}
