// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/db.h"
#include "analysis/table.h"

/* Made from the files in analysis/reports by the Makefile. */
const struct report reports[] = {
#include "reports.inc"
	{.name = NULL},
};

enum {
	LONG_TABLE_ROWS = 20
};

const struct report *report_find(const char *name)
{
	for (const struct report *r = reports; r->name; r++)
		if (!strcmp(r->name, name))
			return r;
	return NULL;
}

/* Edits (insert, delete, replace, swap of neighbours) between two short words. */
static size_t distance(const char *a, const char *b)
{
	enum {
		MOST = 40
	};
	size_t n = strlen(a), m = strlen(b);
	size_t d[MOST + 1][MOST + 1];

	if (n > MOST || m > MOST)
		return MOST;
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	return d[n][m];
}

void report_near(const char *name, struct text *out)
{
	size_t len = strlen(name);

	for (const struct report *r = reports; r->name; r++) {
		bool begins = len >= 2 && (!strncasecmp(r->name, name, len) ||
					   !strncasecmp(r->name, name, strlen(r->name)));

		if (!begins && distance(r->name, name) > (len < 5 ? 1u : 2u))
			continue;
		text_addf(out, "%s%s", out->len ? ", " : "", r->name);
	}
}

const char *report_summary(const char *sql, size_t *len)
{
	for (const char *line = sql; *line;) {
		size_t n = strcspn(line, "\n");
		const char *s = line;

		if (n < 2 || strncmp(line, "--", 2))
			break;
		s += 2;
		n -= 2;
		while (n && *s == ' ') {
			s++;
			n--;
		}
		if (n && strncmp(s, "SPDX-License-Identifier", 23)) {
			*len = n;
			return s;
		}
		line = s + n + (s[n] == '\n');
	}
	*len = 0;
	return "";
}

void report_list(FILE *out)
{
	int width = 0;

	for (const struct report *r = reports; r->name; r++)
		if ((int)strlen(r->name) > width)
			width = (int)strlen(r->name);
	for (const struct report *r = reports; r->name; r++) {
		size_t len;
		const char *what = report_summary(r->sql, &len);

		fprintf(out, "%-*s  %.*s\n", width, r->name, (int)len, what);
	}
}

/* Scripts ---------------------------------------------------------------------------------------
 */

static bool keyed(const char *line, size_t len, const char *key, const char **value,
		  size_t *value_len)
{
	size_t n = strlen(key);

	if (len <= n || strncmp(line, key, n) || line[n] != ':')
		return false;
	*value = line + n + 1;
	*value_len = len - n - 1;
	while (*value_len && **value == ' ') {
		(*value)++;
		(*value_len)--;
	}
	return true;
}

static bool word(const char *line, size_t len, const char *key)
{
	return len == strlen(key) && !strncmp(line, key, len);
}

static void directive(struct script *s, struct statement *st, const char *line, size_t len)
{
	const char *value;
	size_t n;

	while (len && *line == ' ') {
		line++;
		len--;
	}
	while (len && (line[len - 1] == ' ' || line[len - 1] == '\r'))
		len--;
	if (keyed(line, len, "title", &value, &n)) {
		text_free(&st->title);
		text_add_clean(&st->title, value, n);
	} else if (keyed(line, len, "note", &value, &n)) {
		if (st->note.len)
			text_add(&st->note, " ", 1);
		text_add_clean(&st->note, value, n);
	} else if (keyed(line, len, "empty", &value, &n)) {
		text_free(&st->empty);
		text_add_clean(&st->empty, value, n);
	} else if (keyed(line, len, "column", &value, &n)) {
		text_add_clean(&st->columns, value, n);
		text_add(&st->columns, "\n", 1);
	} else if (keyed(line, len, "about", &value, &n) && !s->nr) {
		text_add_clean(&s->about, value, n);
		text_add(&s->about, "\n", 1);
	} else if (keyed(line, len, "picture", &value, &n) && !s->nr) {
		text_free(&s->picture);
		text_add_clean(&s->picture, value, n);
	} else if (keyed(line, len, "fold", &value, &n)) {
		text_free(&st->fold);
		text_add_clean(&st->fold, value, n);
	} else if (word(line, len, "text")) {
		st->is_text = true;
	} else if (word(line, len, "long")) {
		st->is_long = true;
	} else if (word(line, len, "terminal")) {
		st->is_terminal = true;
	} else if (word(line, len, "plot")) {
		st->is_plot = true;
	} else if (word(line, len, "per trace") && !s->nr) {
		s->per_trace = true;
	}
}

/* Skips what stands before a statement and takes the directives from it. */
static const char *lead_in(struct script *s, struct statement *st, const char *sql)
{
	for (;;) {
		if (*sql == ' ' || *sql == '\t' || *sql == '\n' || *sql == '\r' || *sql == ';' ||
		    *sql == '\f') {
			sql++;
		} else if (!strncmp(sql, "--", 2)) {
			size_t len = strcspn(sql, "\n");

			directive(s, st, sql + 2, len - 2);
			sql += len;
		} else if (!strncmp(sql, "/*", 2)) {
			const char *end = strstr(sql + 2, "*/");

			sql = end ? end + 2 : sql + strlen(sql);
		} else {
			return sql;
		}
	}
}

static void statement_free(struct statement *st)
{
	sqlite3_finalize(st->stmt);
	text_free(&st->title);
	text_free(&st->note);
	text_free(&st->empty);
	text_free(&st->fold);
	text_free(&st->columns);
}

int script_load(sqlite3 *db, const char *sql, struct script *s, char *err, size_t err_size)
{
	*s = (struct script){0};
	for (;;) {
		struct statement st = {0};

		sql = lead_in(s, &st, sql);
		if (!*sql) {
			statement_free(&st);
			break;
		}
		if (sqlite3_prepare_v2(db, sql, -1, &st.stmt, &sql)) {
			bool denied = sqlite3_errcode(db) == SQLITE_AUTH;

			snprintf(err, err_size, "statement %zu: %s", s->nr + 1,
				 denied ? "not a query: a report only reads" : sqlite3_errmsg(db));
			statement_free(&st);
			return -EINVAL;
		}
		if (!st.stmt || !sqlite3_stmt_readonly(st.stmt) || !sqlite3_column_count(st.stmt)) {
			snprintf(err, err_size, "statement %zu: not a query: a report only reads",
				 s->nr + 1);
			statement_free(&st);
			return -EINVAL;
		}
		struct statement *grown = realloc(s->list, (s->nr + 1) * sizeof(*grown));
		if (!grown) {
			statement_free(&st);
			snprintf(err, err_size, "out of memory");
			return -ENOMEM;
		}
		s->list = grown;
		s->list[s->nr++] = st;
	}
	if (s->nr)
		return 0;
	snprintf(err, err_size, "there is no query in it");
	return -EINVAL;
}

void script_free(struct script *s)
{
	for (size_t i = 0; i < s->nr; i++)
		statement_free(&s->list[i]);
	free(s->list);
	text_free(&s->about);
	text_free(&s->picture);
	*s = (struct script){0};
}

/* Running ---------------------------------------------------------------------------------------
 */

/* Whether the statement is to be shown; counts tables into *TABLE. */
static bool wanted(const struct statement *st, const struct report_how *how, int *table)
{
	if (st->is_plot)
		return false;
	if (st->is_text)
		return !how->table;
	++*table;
	return !how->table || *table == how->table;
}

static int db_failed(sqlite3 *db, int ret, char *err, size_t err_size)
{
	if (ret)
		snprintf(err, err_size, "%s",
			 ret == -ENOMEM ? "out of memory" : sqlite3_errmsg(db));
	return ret;
}

static int paragraphs(sqlite3_stmt *stmt, size_t width, FILE *out, int *written)
{
	int col = 0, rc;

	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		if (!strcmp(sqlite3_column_name(stmt, i), "text"))
			col = i;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct text t = {0};
		const char *s = (const char *)sqlite3_column_text(stmt, col);

		if (!s)
			continue;
		text_add_clean(&t, s, (size_t)sqlite3_column_bytes(stmt, col));
		if (t.text)
			text_paragraph(out, t.text, width);
		text_free(&t);
		++*written;
	}
	return rc == SQLITE_DONE ? 0 : -EIO;
}

static void put_note(FILE *out, const struct text *t, size_t width)
{
	if (t->len)
		text_paragraph(out, t->text, width);
}

static int run_text(struct script *s, const struct report_how *how, bool hide, bool *begun,
		    FILE *out)
{
	int table = 0, ret = 0;

	for (size_t i = 0; i < s->nr && !ret; i++) {
		struct statement *st = &s->list[i];
		int64_t limit = how->limit >= 0 ? how->limit : st->is_long ? LONG_TABLE_ROWS : 0;
		struct table_text style = {
			.width = how->width,
			.limit = limit,
			.hide = hide ? "trace" : NULL,
			.fold = st->fold.text,
			.empty = st->empty.text ? st->empty.text : "(no rows)",
		};

		if (!wanted(st, how, &table))
			continue;
		if (st->is_text) {
			/* Paragraphs that turn out to be none leave no gap. */
			char *text = NULL;
			size_t size = 0;
			int written = 0;
			FILE *buffer = open_memstream(&text, &size);

			if (!buffer)
				return -ENOMEM;
			ret = paragraphs(st->stmt, how->width, buffer, &written);
			fclose(buffer);
			if (written) {
				if (*begun)
					putc('\n', out);
				put_note(out, &st->title, how->width);
				fwrite(text, 1, size, out);
				put_note(out, &st->note, how->width);
				*begun = true;
			}
			free(text);
			continue;
		}
		if (*begun)
			putc('\n', out);
		*begun = true;
		put_note(out, &st->title, how->width);
		ret = table_text(out, st->stmt, &style);
		put_note(out, &st->note, how->width);
	}
	return ret;
}

/* The names of all recordings, in order. */
static int trace_names(sqlite3 *db, char ***names, size_t *nr)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "SELECT trace FROM main.traces ORDER BY id", -1, &stmt,
				    NULL);

	*names = NULL;
	*nr = 0;
	while (!rc && sqlite3_step(stmt) == SQLITE_ROW) {
		char **grown = realloc(*names, (*nr + 1) * sizeof(*grown));

		if (!grown)
			break;
		*names = grown;
		grown[*nr] = strdup((const char *)sqlite3_column_text(stmt, 0));
		if (!grown[*nr])
			break;
		++*nr;
	}
	return sqlite3_finalize(stmt) || rc ? -EIO : 0;
}

static int run_per_trace(sqlite3 *db, const char *sql, struct script *s,
			 const struct report_how *how, FILE *out, char *err, size_t err_size)
{
	char **names;
	size_t nr;
	bool begun = false;
	int ret = db_failed(db, trace_names(db, &names, &nr), err, err_size);

	for (size_t i = 0; i < nr && !ret; i++) {
		if (how->trace && strcmp(how->trace, names[i]))
			continue;
		script_free(s); /* open statements would keep the views from being replaced */
		ret = db_narrow(db, names[i], how->policy, err, err_size);
		if (!ret)
			ret = script_load(db, sql, s, err, err_size);
		if (ret)
			break;
		if (nr > 1 && !how->trace) {
			struct text name = {0};

			text_add_clean(&name, names[i], strlen(names[i]));
			fprintf(out, "%s== %s ==\n\n", begun ? "\n" : "",
				name.text ? name.text : "");
			text_free(&name);
			begun = false;
		}
		ret = db_failed(db, run_text(s, how, true, &begun, out), err, err_size);
		begun = true;
	}
	if (!ret && !nr)
		fputs("The database holds no recording.\n", out);
	for (size_t i = 0; i < nr; i++)
		free(names[i]);
	free(names);
	return ret;
}

static int run_csv(struct script *s, const struct report_how *how, FILE *out)
{
	int table = 0;

	for (size_t i = 0; i < s->nr; i++)
		if (wanted(&s->list[i], how, &table) && !s->list[i].is_text)
			return table_csv(out, s->list[i].stmt, how->limit > 0 ? how->limit : 0);
	return 0;
}

static int run_json(struct script *s, const char *name, const struct report_how *how, FILE *out)
{
	int64_t limit = how->limit > 0 ? how->limit : 0;
	int table = 0, ret = 0;
	size_t shown = 0, put = 0;

	for (size_t i = 0; i < s->nr; i++)
		shown += wanted(&s->list[i], how, &table);
	if (shown > 1) {
		fputs("{\n  \"report\": ", out);
		table_json_string(out, name, strlen(name));
		fputs(",\n  \"tables\": [", out);
	}
	table = 0;
	for (size_t i = 0; i < s->nr && !ret; i++) {
		struct statement *st = &s->list[i];

		if (!wanted(st, how, &table))
			continue;
		if (shown == 1) {
			ret = table_json_objects(out, st->stmt, limit, "");
			break;
		}
		fputs(put++ ? ",\n    {\n      \"title\": " : "\n    {\n      \"title\": ", out);
		table_json_string(out, st->title.text ? st->title.text : "", st->title.len);
		fputs(",\n      \"columns\": ", out);
		table_json_columns(out, st->stmt);
		fputs(",\n      \"rows\": ", out);
		ret = table_json_rows(out, st->stmt, limit, "      ");
		fputs("\n    }", out);
	}
	fputs(shown > 1 ? "\n  ]\n}\n" : "\n", out);
	return ret;
}

int report_run(sqlite3 *db, const char *name, const char *sql, const struct report_how *how,
	       FILE *out, char *err, size_t err_size)
{
	struct script s = {0};
	int tables = 0;
	int ret = db_narrow(db, how->trace, how->policy, err, err_size);

	if (!ret)
		ret = script_load(db, sql, &s, err, err_size);
	if (ret)
		goto out;
	for (size_t i = 0; i < s.nr; i++)
		tables += !s.list[i].is_plot && !s.list[i].is_text;
	if (how->table > tables || (how->format == REPORT_CSV && !tables)) {
		ret = -ENOENT;
		if (tables)
			snprintf(err, err_size, "there is no table %d: it has %d", how->table,
				 tables);
		else
			snprintf(err, err_size, "it has no table, only text");
		goto out;
	}
	bool begun = false;
	if (how->format == REPORT_CSV)
		ret = db_failed(db, run_csv(&s, how, out), err, err_size);
	else if (how->format == REPORT_JSON)
		ret = db_failed(db, run_json(&s, name, how, out), err, err_size);
	else if (s.per_trace)
		ret = run_per_trace(db, sql, &s, how, out, err, err_size);
	else
		ret = db_failed(db, run_text(&s, how, false, &begun, out), err, err_size);
out:
	script_free(&s);
	return ret;
}
