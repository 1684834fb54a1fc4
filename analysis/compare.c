// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Both sides are measured by the same query into one table in memory, one row for each metric of
 * each pair of policies; the answer is then a report like any other, over that table.
 *
 * What belongs together is what has the same name on both sides. Where each side has only one
 * recording, or only one policy, that is the pair, whatever its name: so two hosts, two kernels and
 * two policies compare alike.
 */
#include "analysis/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/db.h"

/* Rules -----------------------------------------------------------------------------------------
 */

static const char *const metrics[] = {"cost",     "broadcasts", "ipis",  "local",
				      "spurious", "stale",      "unsafe"};

int compare_rule_parse(const char *text, struct compare_rule *rule, char *err, size_t err_size)
{
	static const char *const bounds[] = {"low", "estimate", "high", "sure"};
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	size_t len = strcspn(text, ".<>= ");
	const char *at = text + len;
	char *end;
	size_t i;

	*rule = (struct compare_rule){.text = text, .bound = COMPARE_ESTIMATE};
	for (i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (strlen(metrics[i]) == len && !strncmp(metrics[i], text, len))
			break;
	if (i == sizeof(metrics) / sizeof(metrics[0])) {
		snprintf(err, err_size,
			 "\"%s\": begins with one of cost, broadcasts, ipis, local, spurious, "
			 "stale, unsafe",
			 text);
		return -EINVAL;
	}
	snprintf(rule->metric, sizeof(rule->metric), "%s", metrics[i]);
	if (*at == '.') {
		len = strcspn(++at, "<>= ");
		for (i = 0; i < 4; i++)
			if (strlen(bounds[i]) == len && !strncmp(bounds[i], at, len))
				break;
		if (i == 4) {
			snprintf(err, err_size,
				 "\"%s\": behind the point is one of low, estimate, high, sure",
				 text);
			return -EINVAL;
		}
		rule->bound = (enum compare_bound)i;
		at += len;
	}
	at += strspn(at, " ");
	if (*at != '<' && *at != '>') {
		snprintf(err, err_size, "\"%s\": there is no > >= < or <= in it", text);
		return -EINVAL;
	}
	rule->less = *at++ == '<';
	if (*at == '=') {
		rule->equal = true;
		at++;
	}
	at += strspn(at, " ");
	rule->change = *at == '+' || *at == '-';
	/* strtod() also takes what is no number to anybody. */
	if (!strspn(at, "+-.0123456789") || strpbrk(at, "xX") ||
	    (rule->limit = strtod(at, &end), end == at) || !isfinite(rule->limit))
		goto bad_number;
	end += strspn(end, " ");
	if (!strcmp(end, "%")) {
		if (!rule->change) {
			snprintf(err, err_size, "\"%s\": a share is of the change: +%s or -%s",
				 text, at, at);
			return -EINVAL;
		}
		rule->relative = true;
		rule->limit /= 100;
		return 0;
	}
	for (i = 0; *end && i < 4; i++)
		if (!strcmp(rule->metric, "cost") && !strcmp(end, units[i].name)) {
			rule->limit *= units[i].ns;
			return 0;
		}
	if (!*end)
		return 0;
bad_number:
	snprintf(err, err_size, "\"%s\": behind the %c is a number, like +5%%, -100 or 100%s", text,
		 rule->less ? '<' : '>',
		 strcmp(rule->metric, "cost") ? "" : ", or a time like 10ms");
	return -EINVAL;
}

/* Measuring -------------------------------------------------------------------------------------
 */

/*
 * The table in memory, and three views of it: recordings that belong together, policies that do,
 * and their metrics beside each other, divided by the recordings' seconds if rates are asked for
 * (rate()).
 */
static const char schema_sql[] =
	"CREATE TABLE side(b INT, trace TEXT, policy TEXT, metric TEXT, preset TEXT, low REAL, "
	"value REAL,"
	"  high REAL, uncalibrated INT);"
	"CREATE TABLE about(b INT, path TEXT, trace TEXT, kernel TEXT, arch TEXT, cpus INT, "
	"span_ns INT,"
	"  lost INT, nr INT);"
	"CREATE TABLE judged(b INT, trace TEXT, policy TEXT, verdict TEXT, witness TEXT);"
	"CREATE VIEW trace_pair AS"
	"  SELECT a.trace AS a, b.trace AS b, a.span_ns AS a_span, b.span_ns AS b_span, a.nr,"
	"    a.trace || iif(a.trace = b.trace, '', ' -> ' || b.trace) AS trace"
	"  FROM about a JOIN about b ON NOT a.b AND b.b AND (a.trace = b.trace"
	"    OR (SELECT count(*) FROM about WHERE NOT b) = 1 AND (SELECT count(*) FROM about WHERE "
	"b) = 1);"
	"CREATE VIEW policy_of AS"
	"  SELECT b, trace, policy, min(rowid) AS nr FROM side GROUP BY b, trace, policy;"
	"CREATE VIEW pair AS"
	"  SELECT t.a AS a_trace, t.b AS b_trace, t.trace, t.nr AS trace_nr, x.nr,"
	"    x.policy AS a_policy, y.policy AS b_policy,"
	"    x.policy || iif(x.policy = y.policy, '', ' -> ' || y.policy) AS policy,"
	"    iif(rate(), nullif(t.a_span, 0) / 1e9, 1.0) AS a_div,"
	"    iif(rate(), nullif(t.b_span, 0) / 1e9, 1.0) AS b_div"
	"  FROM trace_pair t JOIN policy_of x ON NOT x.b AND x.trace = t.a"
	"    JOIN policy_of y ON y.b AND y.trace = t.b"
	"  WHERE x.policy = y.policy OR (SELECT count(*) FROM policy_of WHERE NOT b AND trace = "
	"t.a) = 1"
	"                           AND (SELECT count(*) FROM policy_of WHERE b AND trace = t.b) = "
	"1;"
	/* Presets go by name, too, unless there is one on each side. */
	"CREATE VIEW presets AS SELECT b, trace, policy, count(*) AS n FROM side WHERE metric = "
	"'cost'"
	"  GROUP BY b, trace, policy;"
	"CREATE VIEW compared AS"
	"  SELECT p.trace_nr, p.nr, a.rowid AS row, p.trace, p.policy, a.metric,"
	"    a.preset || iif(a.preset = b.preset, '', ' -> ' || b.preset) AS preset,"
	"    a.low / a_div AS a_low, a.value / a_div AS a, a.high / a_div AS a_high,"
	"    b.low / b_div AS b_low, b.value / b_div AS b, b.high / b_div AS b_high,"
	"    a.uncalibrated OR b.uncalibrated AS uncalibrated"
	"  FROM pair p JOIN side a ON NOT a.b AND a.trace = p.a_trace AND a.policy = p.a_policy"
	"    JOIN side b ON b.b AND b.trace = p.b_trace AND b.policy = p.b_policy AND b.metric = "
	"a.metric"
	"    LEFT JOIN presets x ON NOT x.b AND x.trace = p.a_trace AND x.policy = p.a_policy"
	"    LEFT JOIN presets y ON y.b AND y.trace = p.b_trace AND y.policy = p.b_policy"
	"  WHERE a.preset IS b.preset OR x.n = 1 AND y.n = 1;";

static const char about_sql[] =
	"SELECT trace, kernel, arch, cpus, last_ns - first_ns, lost_events > 0 OR lost_unknown > 0"
	"  OR coalesce(overrun, 0) > 0 OR coalesce(dropped, 0) > 0, id "
	"FROM traces ORDER BY id";

static const char side_sql[] =
	"WITH p AS (SELECT p.id, t.id AS nr, t.trace, p.policy"
	"           FROM policies p JOIN traces t ON t.id = p.trace),"
	" m AS ("
	"  SELECT p.*, 0 AS m, 'cost' AS metric, c.cost AS preset, sum(c.low_ns) AS low,"
	"    sum(c.estimate_ns) AS value, sum(c.high_ns) AS high,"
	"    max(c.uncalibrated AND c.high_ns > 0) AS uncalibrated"
	"  FROM p JOIN costs c ON c.policy = p.id GROUP BY p.id, c.cost"
	"  UNION ALL SELECT p.*, s.m, s.metric, NULL, coalesce(sum(f.flushes_low), 0),"
	"    coalesce(sum(f.flushes), 0), coalesce(sum(f.flushes_high), 0), 0"
	"  FROM p JOIN (SELECT 1 AS m, 'broadcasts' AS metric, 'broadcast' AS scope"
	"    UNION ALL SELECT 2, 'ipis', 'mask' UNION ALL SELECT 3, 'local', 'local') s"
	"  LEFT JOIN flush f ON f.policy = p.id AND f.scope = s.scope GROUP BY p.id, s.m"
	"  UNION ALL SELECT p.*, 4, 'spurious', NULL, f.low, f.estimate, f.high, 0"
	"  FROM p JOIN faults f ON f.policy = p.id AND f.kind = 'spurious'"
	"  UNION ALL SELECT p.*, s.m, s.metric, NULL,"
	"    coalesce(sum(iif(e.bound = 'low', e.entries, 0)), 0),"
	"    coalesce(sum(iif(e.bound = 'estimate', e.entries, 0)), 0),"
	"    coalesce(sum(iif(e.bound = 'high', e.entries, 0)), 0), 0"
	"  FROM p JOIN (SELECT 5 AS m, 'stale' AS metric UNION ALL SELECT 6, 'unsafe') s"
	"  LEFT JOIN exposures e ON e.policy = p.id AND (s.m = 5 OR e.kind = 'unsafe')"
	"  GROUP BY p.id, s.m) "
	"SELECT trace, policy, metric, preset, low, value, high, uncalibrated FROM m "
	"ORDER BY nr, id, m, preset";

static const char verdict_sql[] = "SELECT t.trace, v.policy, v.verdict, v.witness "
				  "FROM v_verdict v JOIN traces t USING (trace)"
				  "  JOIN policies p ON p.trace = t.id AND p.policy = v.policy "
				  "ORDER BY t.id, p.id";

static const char report_sql[] =
	"-- text\n"
	"SELECT iif(x.b, 'B', 'A') || ': ' || iif(path = trace, '', path || ', ') || trace || ', "
	"kernel '"
	"  || coalesce(nullif(kernel, ''), 'unknown') || iif(arch = '', '', ' (' || arch || ')') "
	"|| ', '"
	"  || count_of(cpus, 'CPU') || coalesce(', ' || printf('%.3f s', span_ns / 1e9), '')"
	"  || iif(lost, '; INCOMPLETE: events were lost', '') || '.' AS text\n"
	"FROM about x WHERE trace IN (SELECT iif(x.b, p.b, p.a) FROM trace_pair p)"
	"ORDER BY nr, trace, x.b;\n"
	"-- text\n"
	"SELECT 'They are not equally long, and totals grow with time: --per-second compares "
	"rates.' AS text\n"
	"FROM trace_pair WHERE NOT rate() AND abs(a_span - b_span) > 0.05 * max(a_span, b_span) "
	"LIMIT 1;\n"
	"-- text\n"
	"SELECT 'All numbers are per second of the recordings.' AS text WHERE rate();\n"
	"-- title: Cost\n"
	"-- note: a .. b .. c: low bound, estimate, high bound. change share: of the estimate. "
	"judged: lower "
	"or higher only where the bounds do not overlap, else undecided.\n"
	"-- empty: No cost on both sides.\n"
	"-- fold: trace, preset\n"
	"SELECT trace, policy, preset, a_low AS a_low_ns, a AS a_ns, a_high AS a_high_ns,"
	"  b_low AS b_low_ns, b AS b_ns, b_high AS b_high_ns, uncalibrated,"
	"  (b - a) / nullif(a, 0) AS change_share, judge(a_low, a, a_high, b_low, b, b_high) AS "
	"judged\n"
	"FROM compared WHERE metric = 'cost' ORDER BY trace_nr, nr, row;\n"
	"-- title: Counts\n"
	"-- note: broadcasts, ipis, local: invalidations by scope. spurious: faults. stale: "
	"entries that are "
	"stale at some time; unsafe: those that allow too much. What is zero on both sides is left "
	"out.\n"
	"-- empty: Nothing but zeros.\n"
	"-- fold: trace\n"
	"SELECT trace, policy, metric, a_low, a, a_high, b_low, b, b_high,"
	"  (b - a) / nullif(a, 0) AS change_share, judge(a_low, a, a_high, b_low, b, b_high) AS "
	"judged\n"
	"FROM compared WHERE metric <> 'cost' AND (a_high > 0 OR b_high > 0) ORDER BY trace_nr, "
	"nr, row;\n"
	"-- title: Verdicts\n"
	"-- empty: None on both sides.\n"
	"-- fold: trace\n"
	"SELECT p.trace, p.policy, a.verdict AS a, b.verdict AS b,"
	"  iif(a.verdict = b.verdict, 'same', 'changed') AS judged, b.witness AS b_witness\n"
	"FROM pair p JOIN judged a ON NOT a.b AND a.trace = p.a_trace AND a.policy = p.a_policy"
	"  JOIN judged b ON b.b AND b.trace = p.b_trace AND b.policy = p.b_policy\n"
	"ORDER BY p.trace_nr, p.nr;\n"
	"-- text\n"
	"SELECT 'Only in ' || iif(b, 'B', 'A') || ': ' || group_concat(what, ', ') || '.' AS text "
	"FROM ("
	"  SELECT x.b, 'recording ' || x.trace AS what FROM about x"
	"  WHERE NOT EXISTS (SELECT 1 FROM trace_pair p WHERE iif(x.b, p.b, p.a) = x.trace)"
	"  UNION ALL SELECT x.b, 'policy ' || x.policy"
	"    || iif((SELECT count(*) FROM trace_pair) > 1, ' of ' || x.trace, '')"
	"  FROM policy_of x WHERE x.trace IN (SELECT iif(x.b, p.b, p.a) FROM trace_pair p)"
	"    AND NOT EXISTS (SELECT 1 FROM pair p WHERE iif(x.b, p.b_trace, p.a_trace) = x.trace"
	"                    AND iif(x.b, p.b_policy, p.a_policy) = x.policy)) GROUP BY b ORDER BY "
	"b;\n";

/* What rules look at. */
static const char rules_sql[] =
	"SELECT trace, policy, a_low, a, a_high, b_low, b, b_high FROM compared "
	"WHERE metric = ?1 ORDER BY trace_nr, nr, row";

static void sql_judge(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	double x[6];
	const char *said = "undecided";

	for (int i = 0; i < n; i++) {
		if (sqlite3_value_type(v[i]) == SQLITE_NULL) {
			sqlite3_result_null(ctx);
			return;
		}
		x[i] = sqlite3_value_double(v[i]);
	}
	if (x[0] == x[3] && x[1] == x[4] && x[2] == x[5])
		said = "same";
	else if (x[5] < x[0])
		said = "lower";
	else if (x[3] > x[2])
		said = "higher";
	sqlite3_result_text(ctx, said, -1, SQLITE_STATIC);
}

static void sql_rate(sqlite3_context *ctx, int n, sqlite3_value **v)
{
	(void)n;
	(void)v;
	sqlite3_result_int(ctx, sqlite3_user_data(ctx) != NULL);
}

/* Copies what SQL answers from one side into TABLE, with the side's number before it. */
static int copy(sqlite3 *to, const char *table, const struct compare_side *s, int side,
		const char *sql, const char *path)
{
	sqlite3_stmt *from = NULL, *into = NULL;
	struct text insert = {0};
	int columns, rc;

	if (sqlite3_prepare_v2(s->db, sql, -1, &from, NULL))
		return -EIO;
	columns = sqlite3_column_count(from);
	text_addf(&insert, "INSERT INTO %s VALUES(%d%s", table, side, path ? ", ?1000" : "");
	for (int i = 1; i <= columns; i++)
		text_addf(&insert, ", ?%d", i);
	text_addf(&insert, ")");
	rc = sqlite3_prepare_v2(to, insert.text ? insert.text : "", -1, &into, NULL);
	while (!rc && (rc = sqlite3_step(from)) == SQLITE_ROW) {
		for (int i = 0; i < columns; i++)
			sqlite3_bind_value(into, i + 1, sqlite3_column_value(from, i));
		if (path)
			sqlite3_bind_text(into, 1000, path, -1, SQLITE_STATIC);
		rc = sqlite3_step(into) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
		sqlite3_reset(into);
	}
	sqlite3_finalize(from);
	sqlite3_finalize(into);
	text_free(&insert);
	return rc == SQLITE_DONE ? 0 : -EIO;
}

static int count(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	int n = -1;

	if (!sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

/* Judging ---------------------------------------------------------------------------------------
 */

static bool holds(const struct compare_rule *r, const double *a, const double *b)
{
	double from = a[1], to = b[1], value;

	if (r->bound == COMPARE_LOW || r->bound == COMPARE_HIGH) {
		from = a[r->bound == COMPARE_LOW ? 0 : 2];
		to = b[r->bound == COMPARE_LOW ? 0 : 2];
	} else if (r->bound == COMPARE_SURE) {
		/* The values that are the least likely to break the rule. */
		from = r->less ? a[0] : a[2];
		to = r->less ? b[2] : b[0];
	}
	if (r->relative)
		value = from != 0 ? (to - from) / from : to == 0 ? 0 : copysign(INFINITY, to);
	else
		value = r->change ? to - from : to;
	if (r->less)
		return r->equal ? value <= r->limit : value < r->limit;
	return r->equal ? value >= r->limit : value > r->limit;
}

static void add_range(struct text *t, const char *metric, const double *v)
{
	size_t from = t->len;

	number_add_range(t, strcmp(metric, "cost") ? NUMBER_COUNT : NUMBER_NS, v[0], v[1], v[2]);
	for (size_t i = from; i < t->len; i++)
		if (t->text[i] == TEXT_GLUE[0])
			t->text[i] = ' ';
}

static int check_rule(sqlite3 *db, const struct compare_rule *r, struct text *failed)
{
	sqlite3_stmt *stmt = NULL;
	int rows = 0, rc = sqlite3_prepare_v2(db, rules_sql, -1, &stmt, NULL);

	if (!rc)
		sqlite3_bind_text(stmt, 1, r->metric, -1, SQLITE_STATIC);
	while (!rc && sqlite3_step(stmt) == SQLITE_ROW) {
		double v[6];
		bool known = true;

		for (int i = 0; i < 6; i++) {
			known &= sqlite3_column_type(stmt, i + 2) != SQLITE_NULL;
			v[i] = sqlite3_column_double(stmt, i + 2);
		}
		if (!known)
			continue;
		rows++;
		if (!holds(r, v, v + 3))
			continue;
		text_addf(failed, "%s: ", r->text);
		for (int i = 1; i >= 0; i--) {
			text_add_clean(failed, (const char *)sqlite3_column_text(stmt, i),
				       (size_t)sqlite3_column_bytes(stmt, i));
			text_addf(failed, i ? ", " : ": ");
		}
		text_addf(failed, "%s was ", r->metric);
		add_range(failed, r->metric, v);
		text_addf(failed, ", is ");
		add_range(failed, r->metric, v + 3);
		text_addf(failed, "\n");
	}
	if (sqlite3_finalize(stmt) || rc)
		return -EIO;
	/* A check of nothing must not pass. */
	if (!rows)
		text_addf(failed, "%s: nothing on both sides to check it on\n", r->text);
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int compare_run(const struct compare_side *a, const struct compare_side *b,
		const struct compare_how *how, FILE *out, struct text *failed, char *err,
		size_t err_size)
{
	const struct compare_side *sides[] = {a, b};
	struct report_how show = how->report;
	sqlite3 *db = NULL;
	int ret = db_empty(&db, err, err_size);

	if (ret)
		return ret;
	sqlite3_set_authorizer(db, NULL, NULL);
	if (sqlite3_create_function_v2(db, "judge", 6,
				       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
				       sql_judge, NULL, NULL, NULL) ||
	    sqlite3_create_function_v2(
		    db, "rate", 0, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
		    how->per_second ? (void *)how : NULL, sql_rate, NULL, NULL, NULL) ||
	    sqlite3_exec(db, schema_sql, NULL, NULL, NULL))
		goto failed;
	for (int i = 0; i < 2; i++) {
		/* Both sides may be the same connection: each is narrowed right before it is read.
		 */
		ret = db_narrow(sides[i]->db, sides[i]->trace, sides[i]->policy, err, err_size);
		if (ret)
			goto out;
		if (copy(db, "about", sides[i], i, about_sql, base_name(sides[i]->path)) ||
		    copy(db, "side", sides[i], i, side_sql, NULL) ||
		    copy(db, "judged", sides[i], i, verdict_sql, NULL)) {
			ret = -EIO;
			snprintf(err, err_size, "%s: %s", sides[i]->path,
				 sqlite3_errmsg(sides[i]->db));
			goto out;
		}
	}
	if (count(db, "SELECT count(*) FROM trace_pair") <= 0) {
		ret = -ENOENT;
		snprintf(err, err_size,
			 "no recording has the same name on both sides; name one of each: --trace "
			 "A --trace B");
		goto out;
	}
	if (count(db, "SELECT count(*) FROM pair") <= 0) {
		ret = -ENOENT;
		snprintf(err, err_size,
			 "no policy has the same name on both sides; name one of each: --policy A "
			 "--policy B");
		goto out;
	}
	show.trace = NULL;
	show.policy = NULL;
	ret = report_run(db, "compare", report_sql, &show, out, err, err_size);
	for (size_t i = 0; i < how->nr_rules && !ret; i++)
		if (check_rule(db, &how->rules[i], failed))
			goto failed;
out:
	sqlite3_close(db);
	return ret;
failed:
	snprintf(err, err_size, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
	return -EIO;
}
