// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/help.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/columns.h"
#include "analysis/db.h"

/* What "-- column: NAME: TEXT" says, *LEN bytes, or NULL. */
static const char *own_words(const struct statement *st, const char *name, size_t *len)
{
	size_t n = strlen(name);

	for (const char *line = st->columns.text; line && *line;) {
		size_t whole = strcspn(line, "\n");

		if (whole > n && !strncmp(line, name, n) && line[n] == ':') {
			size_t skip = n + 1 + strspn(line + n + 1, " ");

			*len = whole > skip ? whole - skip : 0;
			return line + skip;
		}
		line += whole + (line[whole] == '\n');
	}
	return NULL;
}

/* Unit and meaning of column COL, as one line. */
static void explain(struct text *t, const struct statement *st, const char *name)
{
	const struct column_word *w = column_find(name);
	const char *unit = column_unit(name);
	size_t len = 0;
	const char *own = own_words(st, name, &len);

	if (own)
		text_add(t, own, len);
	else
		text_addf(t, "%s", w ? w->text : "(not explained)");
	if (*unit)
		text_addf(t, " [%s]", unit);
}

static void put_columns(FILE *out, const struct statement *st, size_t width)
{
	int widest = 0;

	for (int i = 0; i < sqlite3_column_count(st->stmt); i++) {
		int len = (int)strlen(sqlite3_column_name(st->stmt, i));

		if (len > widest)
			widest = len;
	}
	for (int i = 0; i < sqlite3_column_count(st->stmt); i++) {
		const char *name = sqlite3_column_name(st->stmt, i);
		size_t indent = (size_t)widest + 4;
		struct text t = {0};

		explain(&t, st, name);
		fprintf(out, "  %-*s  ", widest, name);
		const char *rest = t.text ? t.text : "";
		for (bool first = true; *rest; first = false) {
			const char *line = rest;
			size_t len = text_line(&rest, width > indent + 20 ? width - indent : 20);

			fprintf(out, "%*s%.*s\n", first ? 0 : (int)indent, "", (int)len, line);
		}
		text_free(&t);
	}
}

static void put_about(FILE *out, const struct script *s, size_t width)
{
	for (const char *line = s->about.text; line && *line;) {
		size_t len = strcspn(line, "\n");
		struct text t = {0};

		text_add(&t, line, len);
		if (t.text) {
			putc('\n', out);
			text_paragraph(out, t.text, width);
		}
		text_free(&t);
		line += len + (line[len] == '\n');
	}
}

static bool is_table(const struct statement *st)
{
	return !st->is_text && !st->is_plot;
}

int help_report(FILE *out, const struct report *r, size_t width, char *err, size_t err_size)
{
	sqlite3 *db = NULL;
	struct script s = {0};
	struct text line = {0};
	size_t len;
	int ret = db_empty(&db, err, err_size);

	if (!ret)
		ret = script_load(db, r->sql, &s, err, err_size);
	if (ret)
		goto out;
	const char *summary = report_summary(r->sql, &len);
	text_addf(&line, "%s: %.*s", r->name, (int)len, summary);
	text_paragraph(out, line.text ? line.text : r->name, width);
	put_about(out, &s, width);
	if (r->gp) {
		line.len = 0;
		text_addf(&line, "Picture (--plot FILE.png, FILE.svg or -): %s.",
			  s.picture.text ? s.picture.text : "yes");
		putc('\n', out);
		text_paragraph(out, line.text ? line.text : "", width);
	}
	int table = 0;
	for (size_t i = 0; i < s.nr; i++) {
		struct statement *st = &s.list[i];

		if (!is_table(st))
			continue;
		line.len = 0;
		text_addf(&line, "Table %d: %s", ++table, st->title.text ? st->title.text : "");
		putc('\n', out);
		text_paragraph(out, line.text ? line.text : "", width);
		put_columns(out, st, width);
		if (st->note.len)
			text_paragraph(out, st->note.text, width);
	}
	line.len = 0;
	text_addf(
		&line,
		"Columns are those of --csv and --json; the text joins low, estimate and high, and "
		"leaves out the recording's name. Columns are only ever added.");
	putc('\n', out);
	text_paragraph(out, line.text ? line.text : "", width);
out:
	text_free(&line);
	script_free(&s);
	sqlite3_close(db);
	return ret;
}

/* Markdown --------------------------------------------------------------------------------------
 */

static void put_escaped(FILE *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strchr("|<*`[", s[i]))
			putc('\\', out);
		putc(s[i], out);
	}
}

static int markdown_report(FILE *out, sqlite3 *db, const struct report *r, char *err,
			   size_t err_size)
{
	struct script s = {0};
	size_t len;
	int table = 0;
	int ret = script_load(db, r->sql, &s, err, err_size);

	if (ret)
		goto out;
	const char *summary = report_summary(r->sql, &len);
	fprintf(out, "\n## %s\n\n", r->name);
	put_escaped(out, summary, len);
	fputs(".\n", out);
	for (const char *line = s.about.text; line && *line;) {
		len = strcspn(line, "\n");
		putc('\n', out);
		put_escaped(out, line, len);
		putc('\n', out);
		line += len + (line[len] == '\n');
	}
	if (r->gp && s.picture.text) {
		fputs("\nPicture: ", out);
		put_escaped(out, s.picture.text, s.picture.len);
		fputs(".\n", out);
	}
	for (size_t i = 0; i < s.nr; i++) {
		struct statement *st = &s.list[i];

		if (!is_table(st))
			continue;
		fprintf(out, "\nTable %d: ", ++table);
		put_escaped(out, st->title.text ? st->title.text : "", st->title.len);
		fputs("\n\n| column | unit | |\n|---|---|---|\n", out);
		for (int c = 0; c < sqlite3_column_count(st->stmt); c++) {
			const char *name = sqlite3_column_name(st->stmt, c);
			const struct column_word *w = column_find(name);
			const char *own = own_words(st, name, &len);

			if (!own) {
				own = w ? w->text : "(not explained)";
				len = strlen(own);
			}
			fprintf(out, "| %s | %s | ", name, column_unit(name));
			put_escaped(out, own, len);
			fputs(" |\n", out);
		}
	}
out:
	script_free(&s);
	return ret;
}

int help_markdown(FILE *out, char *err, size_t err_size)
{
	sqlite3 *db = NULL;
	int ret = db_empty(&db, err, err_size);

	fputs("<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"
	      "<!-- Printed by \"tlbreport help --markdown\"; a test compares. -->\n"
	      "# The reports of tlbreport\n\n"
	      "`tlbreport DB NAME` prints one as text; `--csv` one of its tables and `--json` all "
	      "of them, with the columns\nbelow and raw values. Columns are only ever added. "
	      "`tlbreport help NAME` says the same in a terminal.\n",
	      out);
	for (const struct report *r = reports; !ret && r->name; r++)
		ret = markdown_report(out, db, r, err, err_size);
	sqlite3_close(db);
	return ret;
}
