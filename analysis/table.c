// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/text.h"

static void put_double(FILE *out, double v, const char *not_finite)
{
	char s[40];

	if (!isfinite(v)) {
		fputs(not_finite, out);
		return;
	}
	/* The shortest form that reads back as the same value. */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(s, sizeof(s), "%.*g", digits, v);
		if (strtod(s, NULL) == v)
			break;
	}
	fputs(s, out);
}

/* The bytes of text or of a blob; *LEN of them. Never NULL. */
static const char *bytes_of(sqlite3_stmt *stmt, int col, size_t *len)
{
	const void *s = sqlite3_column_type(stmt, col) == SQLITE_BLOB
				? sqlite3_column_blob(stmt, col)
				: (const void *)sqlite3_column_text(stmt, col);

	*len = (size_t)sqlite3_column_bytes(stmt, col);
	return s ? s : "";
}

/* CSV -------------------------------------------------------------------------------------------
 */

static void csv_string(FILE *out, const char *s, size_t len)
{
	bool quote = !len || s[0] == ' ' || s[len - 1] == ' ';

	for (size_t i = 0; i < len && !quote; i++)
		quote = s[i] == '"' || s[i] == ',' || s[i] == '\n' || s[i] == '\r';
	if (!quote) {
		fwrite(s, 1, len, out);
		return;
	}
	putc('"', out);
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"')
			putc('"', out);
		putc(s[i], out);
	}
	putc('"', out);
}

static void csv_value(FILE *out, sqlite3_stmt *stmt, int col)
{
	switch (sqlite3_column_type(stmt, col)) {
	case SQLITE_NULL:
		break;
	case SQLITE_INTEGER:
		fprintf(out, "%lld", (long long)sqlite3_column_int64(stmt, col));
		break;
	case SQLITE_FLOAT:
		put_double(out, sqlite3_column_double(stmt, col), "");
		break;
	default: {
		size_t len;
		const char *s = bytes_of(stmt, col, &len);

		csv_string(out, s, len);
	}
	}
}

int table_csv(FILE *out, sqlite3_stmt *stmt, int64_t limit)
{
	int columns = sqlite3_column_count(stmt);
	int rc = SQLITE_DONE;

	for (int i = 0; i < columns; i++) {
		const char *name = sqlite3_column_name(stmt, i);

		if (i)
			putc(',', out);
		csv_string(out, name, strlen(name));
	}
	putc('\n', out);
	for (int64_t row = 0; !limit || row < limit; row++) {
		rc = sqlite3_step(stmt);
		if (rc != SQLITE_ROW)
			break;
		for (int i = 0; i < columns; i++) {
			if (i)
				putc(',', out);
			csv_value(out, stmt, i);
		}
		putc('\n', out);
	}
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : -EIO;
}

/* JSON ------------------------------------------------------------------------------------------
 */

void table_json_string(FILE *out, const char *s, size_t len)
{
	putc('"', out);
	while (len) {
		uint32_t c = 0;
		size_t n = text_utf8(s, len, &c);

		if (!n) {
			fputs("\xef\xbf\xbd", out);
			n = 1;
		} else if (c == '"' || c == '\\') {
			putc('\\', out);
			putc((int)c, out);
		} else if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
			fprintf(out, "\\u%04x", (unsigned int)c);
		} else {
			fwrite(s, 1, n, out);
		}
		s += n;
		len -= n;
	}
	putc('"', out);
}

static void json_value(FILE *out, sqlite3_stmt *stmt, int col)
{
	switch (sqlite3_column_type(stmt, col)) {
	case SQLITE_NULL:
		fputs("null", out);
		break;
	case SQLITE_INTEGER:
		fprintf(out, "%lld", (long long)sqlite3_column_int64(stmt, col));
		break;
	case SQLITE_FLOAT:
		put_double(out, sqlite3_column_double(stmt, col), "null");
		break;
	default: {
		size_t len;
		const char *s = bytes_of(stmt, col, &len);

		table_json_string(out, s, len);
	}
	}
}

static void json_name(FILE *out, sqlite3_stmt *stmt, int col)
{
	const char *name = sqlite3_column_name(stmt, col);

	table_json_string(out, name, strlen(name));
}

void table_json_columns(FILE *out, sqlite3_stmt *stmt)
{
	putc('[', out);
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		fputs(i ? ", " : "", out);
		json_name(out, stmt, i);
	}
	putc(']', out);
}

static int json_array(FILE *out, sqlite3_stmt *stmt, int64_t limit, const char *indent, bool named)
{
	int columns = sqlite3_column_count(stmt);
	int rc = SQLITE_DONE;
	int64_t row;

	putc('[', out);
	for (row = 0; !limit || row < limit; row++) {
		rc = sqlite3_step(stmt);
		if (rc != SQLITE_ROW)
			break;
		fprintf(out, "%s\n%s  %c", row ? "," : "", indent, named ? '{' : '[');
		for (int i = 0; i < columns; i++) {
			fputs(i ? ", " : "", out);
			if (named) {
				json_name(out, stmt, i);
				fputs(": ", out);
			}
			json_value(out, stmt, i);
		}
		putc(named ? '}' : ']', out);
	}
	if (row)
		fprintf(out, "\n%s", indent);
	putc(']', out);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : -EIO;
}

int table_json_objects(FILE *out, sqlite3_stmt *stmt, int64_t limit, const char *indent)
{
	return json_array(out, stmt, limit, indent, true);
}

int table_json_rows(FILE *out, sqlite3_stmt *stmt, int64_t limit, const char *indent)
{
	return json_array(out, stmt, limit, indent, false);
}

/* Text ------------------------------------------------------------------------------------------
 */

/*
 * A table is read whole (up to the limit) before the first line is written, because every cell has
 * a say in the widths. One that does not fit gets its cells broken at spaces, the tallest column
 * first being given back the room that makes it shorter; one that does not fit even so is continued
 * below itself with its first column repeated.
 */

enum {
	GAP = 2,            /* blanks between columns */
	LONGEST_WORD = 24,  /* longer ones may be cut to make a column narrower */
	WIDTH_SAMPLE = 100, /* rows that decide on widths when the table is too wide */
};

struct column {
	int from;   /* first column of the query */
	bool range; /* takes three of them: low, estimate, high */
	int doubt;  /* column of the query that says whether to doubt it; -1: none */
	bool right;
	enum number_kind kind;
	struct text head;
	size_t natural, least, width;
};

struct grid {
	struct column *cols;
	size_t nr_cols;
	char **cells; /* row by row; NULL where memory was out */
	size_t nr_rows;
	uint64_t more; /* rows that are not in it */
	bool doubts;   /* some cell has a "?" */
};

static bool is(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && !strncmp(s, word, len);
}

/*
 * Whether three names are the bounds of one thing: PREFIX low SUFFIX, then PREFIX estimate SUFFIX
 * or PREFIX without its last _ and SUFFIX, then PREFIX high SUFFIX.
 */
static bool is_range(const char *low, const char *mid, const char *high)
{
	const char *at = strstr(low, "low");
	size_t pre = at ? (size_t)(at - low) : 0;
	const char *suffix = at ? at + 3 : NULL;
	char name[3][128];

	if (!at || (pre && low[pre - 1] != '_') || (*suffix && *suffix != '_') || pre > 60 ||
	    strlen(suffix) > 60)
		return false;
	snprintf(name[0], sizeof(name[0]), "%.*shigh%s", (int)pre, low, suffix);
	snprintf(name[1], sizeof(name[1]), "%.*sestimate%s", (int)pre, low, suffix);
	snprintf(name[2], sizeof(name[2]), "%.*s%s", pre ? (int)pre - 1 : 0, low, suffix);
	return !strcmp(high, name[0]) && (!strcmp(mid, name[1]) || (pre && !strcmp(mid, name[2])));
}

/* "spurious_faults" is headed "spurious faults"; units stand in the cells. */
static void heading(struct column *c, const char *name)
{
	size_t len = strlen(name);

	if (len > 3 && !strcmp(name + len - 3, "_ns"))
		len -= 3;
	if (len > 6 && !strcmp(name + len - 6, "_bytes"))
		len -= 6;
	if (c->range && len > 9 && !strncmp(name + len - 9, "_estimate", 9))
		len -= 9;
	if (c->range && is(name, len, "estimate"))
		text_addf(&c->head, "low" TEXT_GLUE ".. estimate" TEXT_GLUE ".. high");
	else
		text_add_clean(&c->head, name, len);
	for (size_t i = 0; i < c->head.len; i++)
		if (c->head.text[i] == '_')
			c->head.text[i] = ' ';
}

/* The last column of bounds so far. */
static bool bounds_before(const struct grid *g, struct column **c)
{
	for (size_t i = g->nr_cols; i-- > 0;)
		if (g->cols[i].range) {
			*c = &g->cols[i];
			return true;
		}
	return false;
}

static int make_columns(struct grid *g, sqlite3_stmt *stmt, const char *hide)
{
	int n = sqlite3_column_count(stmt);

	g->cols = calloc((size_t)n + 1, sizeof(*g->cols));
	if (!g->cols)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		const char *name = sqlite3_column_name(stmt, i);
		struct column *c = &g->cols[g->nr_cols];

		if (hide && !strcmp(name, hide))
			continue;
		if (!strcmp(name, "uncalibrated") && bounds_before(g, &c)) {
			c->doubt = i;
			continue;
		}
		c->from = i;
		c->doubt = -1;
		c->range = i + 2 < n && is_range(name, sqlite3_column_name(stmt, i + 1),
						 sqlite3_column_name(stmt, i + 2));
		if (c->range) {
			name = sqlite3_column_name(stmt, i + 1);
			i += 2;
		}
		c->kind = number_kind(name);
		c->right = true; /* until a cell that is no number shows up */
		heading(c, name);
		if (!c->head.text)
			return -ENOMEM;
		g->nr_cols++;
	}
	return 0;
}

static bool is_number(sqlite3_stmt *stmt, int col)
{
	int type = sqlite3_column_type(stmt, col);

	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static char *make_cell(struct grid *g, struct column *c, sqlite3_stmt *stmt)
{
	struct text t = {0};
	int col = c->from;

	text_add(&t, "", 0);
	if (c->range && is_number(stmt, col) && is_number(stmt, col + 1) &&
	    is_number(stmt, col + 2)) {
		number_add_range(&t, c->kind, sqlite3_column_double(stmt, col),
				 sqlite3_column_double(stmt, col + 1),
				 sqlite3_column_double(stmt, col + 2));
		if (c->doubt >= 0 && sqlite3_column_int(stmt, c->doubt)) {
			text_addf(&t, TEXT_GLUE "?");
			g->doubts = true;
		} else if (c->doubt >= 0) {
			text_addf(&t, TEXT_GLUE TEXT_GLUE);
		}
		return t.text;
	}
	if (c->range)
		col++;
	if (sqlite3_column_type(stmt, col) == SQLITE_NULL) {
		text_add(&t, "-", 1);
	} else if (c->kind == NUMBER_ID && sqlite3_column_type(stmt, col) == SQLITE_INTEGER) {
		text_addf(&t, "%lld", (long long)sqlite3_column_int64(stmt, col));
	} else if (is_number(stmt, col)) {
		number_add(&t, c->kind, sqlite3_column_double(stmt, col));
	} else {
		size_t len;
		const char *s = bytes_of(stmt, col, &len);

		text_add_clean(&t, s, len);
		c->right = false;
	}
	return t.text;
}

static int read_rows(struct grid *g, sqlite3_stmt *stmt, int64_t limit)
{
	size_t size = 0;
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (limit && g->nr_rows >= (size_t)limit) {
			g->more++;
			continue;
		}
		if (g->nr_rows == size) {
			size = size ? 2 * size : 32;
			char **grown = realloc(g->cells, size * g->nr_cols * sizeof(*g->cells));
			if (!grown)
				return -ENOMEM;
			g->cells = grown;
		}
		for (size_t i = 0; i < g->nr_cols; i++)
			g->cells[g->nr_rows * g->nr_cols + i] = make_cell(g, &g->cols[i], stmt);
		g->nr_rows++;
	}
	return rc == SQLITE_DONE ? 0 : -EIO;
}

static const char *cell(const struct grid *g, size_t row, size_t col)
{
	const char *s = g->cells[row * g->nr_cols + col];

	return s ? s : "?";
}

static void measure(struct column *c, const char *s)
{
	size_t whole = text_width(s, strlen(s));

	if (whole > c->natural)
		c->natural = whole;
	while (*s) {
		size_t len = strcspn(s, " ");
		size_t w = text_width(s, len);

		if (w > LONGEST_WORD)
			w = LONGEST_WORD;
		if (w > c->least)
			c->least = w;
		s += len + (s[len] == ' ');
	}
}

static size_t lines_of(const char *s, size_t width)
{
	size_t lines = 0;

	do {
		text_line(&s, width);
		lines++;
	} while (*s);
	return lines;
}

static size_t height(const struct grid *g, size_t col, size_t width)
{
	size_t tallest = lines_of(g->cols[col].head.text, width);

	for (size_t row = 0; row < g->nr_rows && row < WIDTH_SAMPLE; row++) {
		size_t lines = lines_of(cell(g, row, col), width);

		if (lines > tallest)
			tallest = lines;
	}
	return tallest;
}

/* Gives ROOM to the columns FIRST..END-1, which have their least widths, tallest first. */
static void widen(struct grid *g, size_t first, size_t end, size_t room)
{
	for (;;) {
		size_t best = end, best_height = 1, best_more = 0;

		for (size_t i = first; i < end; i++) {
			struct column *c = &g->cols[i];
			size_t now = height(g, i, c->width);

			if (now <= best_height)
				continue;
			for (size_t more = 1; more <= room && c->width + more <= c->natural; more++)
				if (height(g, i, c->width + more) < now) {
					best = i;
					best_height = now;
					best_more = more;
					break;
				}
		}
		if (best == end)
			return;
		g->cols[best].width += best_more;
		room -= best_more;
	}
}

static void put_cell(FILE *out, const char *s, size_t len, const struct column *c, bool last)
{
	size_t w = text_width(s, len);

	while (last && len && s[len - 1] == TEXT_GLUE[0])
		len--;
	int fill = c->width > w ? (int)(c->width - w) : 0;

	fprintf(out, "%*s", c->right ? fill : 0, "");
	text_put(out, s, len);
	if (!last)
		fprintf(out, "%*s", (c->right ? 0 : fill) + GAP, "");
}

/* The columns that are printed together: 0 and FIRST..END-1. */
static size_t next_column(size_t i, size_t first)
{
	return i ? i + 1 : first ? first : 1;
}

/* One row, or the heading (ROW < 0). REST is room for a pointer per column. */
static void put_row(FILE *out, const struct grid *g, int64_t row, size_t first, size_t end,
		    const char **rest)
{
	bool left = true;

	for (size_t i = 0; i < g->nr_cols; i++)
		rest[i] = row < 0 ? g->cols[i].head.text : cell(g, (size_t)row, i);
	while (left) {
		left = false;
		/* Blanks at the end of a line help nobody. */
		size_t last = end;
		for (size_t i = end; i-- > first;)
			if (*rest[i]) {
				last = i;
				break;
			}
		if (last == end)
			last = first;
		for (size_t i = 0; i <= last; i = next_column(i, first)) {
			const char *line = rest[i];
			size_t len = text_line(&rest[i], g->cols[i].width);

			put_cell(out, line, len, &g->cols[i], i == last);
		}
		putc('\n', out);
		for (size_t i = first; i < end; i++)
			left |= *rest[i] != '\0';
		left |= first && *rest[0];
	}
}

static void put_rule(FILE *out, const struct grid *g, size_t first, size_t end)
{
	for (size_t i = 0; i < end; i = next_column(i, first)) {
		for (size_t n = 0; n < g->cols[i].width; n++)
			putc('-', out);
		if (i + 1 < end)
			fprintf(out, "%*s", GAP, "");
	}
	putc('\n', out);
}

static int put_grid(FILE *out, struct grid *g, size_t width)
{
	const char **rest = calloc(g->nr_cols, sizeof(*rest));
	size_t natural = 0;

	if (!rest)
		return -ENOMEM;
	for (size_t i = 0; i < g->nr_cols; i++) {
		struct column *c = &g->cols[i];

		measure(c, c->head.text);
		for (size_t row = 0; row < g->nr_rows; row++)
			measure(c, cell(g, row, i));
		c->width = c->natural;
		natural += c->natural + (i ? GAP : 0);
	}
	if (natural > width)
		for (size_t i = 0; i < g->nr_cols; i++)
			g->cols[i].width = g->cols[i].least;
	for (size_t first = 0, end; first < g->nr_cols; first = end) {
		size_t used = first ? g->cols[0].width : 0;

		for (end = first; end < g->nr_cols; end++) {
			size_t more = g->cols[end].width + (end ? GAP : 0);

			if (used + more > width && end > first)
				break;
			used += more;
		}
		if (natural > width && used < width)
			widen(g, first, end, width - used);
		if (first)
			putc('\n', out);
		put_row(out, g, -1, first, end, rest);
		put_rule(out, g, first, end);
		for (size_t row = 0; row < g->nr_rows; row++)
			put_row(out, g, (int64_t)row, first, end, rest);
	}
	free(rest);
	return 0;
}

/* Takes a column out whose cells are all the same, and says so into *SAID. */
static void fold(struct grid *g, sqlite3_stmt *stmt, const char *name, struct text *said)
{
	size_t at = 0;

	while (at < g->nr_cols && strcmp(sqlite3_column_name(stmt, g->cols[at].from), name))
		at++;
	if (at == g->nr_cols || g->nr_cols == 1)
		return;
	for (size_t row = 1; row < g->nr_rows; row++)
		if (strcmp(cell(g, row, at), cell(g, 0, at)))
			return;
	text_addf(said, "%s%s: %s.", said->len ? " " : "", g->cols[at].head.text, cell(g, 0, at));
	size_t to = 0;
	for (size_t i = 0; i < g->nr_rows * g->nr_cols; i++)
		if (i % g->nr_cols == at)
			free(g->cells[i]);
		else
			g->cells[to++] = g->cells[i];
	text_free(&g->cols[at].head);
	memmove(&g->cols[at], &g->cols[at + 1], (g->nr_cols - at - 1) * sizeof(*g->cols));
	g->nr_cols--;
}

int table_text(FILE *out, sqlite3_stmt *stmt, const struct table_text *how)
{
	struct grid g = {0};
	int ret = make_columns(&g, stmt, how->hide);

	if (!ret)
		ret = read_rows(&g, stmt, how->limit);
	if (ret)
		goto out;
	if (!g.nr_rows || !g.nr_cols) {
		text_paragraph(out, how->empty, how->width);
		goto out;
	}
	struct text said = {0};
	for (const char *names = how->fold; names && *names;) {
		char name[64];
		size_t len = strcspn(names, ", ");

		snprintf(name, sizeof(name), "%.*s", (int)len, names);
		fold(&g, stmt, name, &said);
		names += len + strspn(names + len, ", ");
	}
	ret = put_grid(out, &g, how->width);
	if (g.doubts)
		text_addf(&said, "%s?: uncalibrated, rests on something that nobody measured.",
			  said.len ? " " : "");
	if (said.text)
		text_paragraph(out, said.text, how->width);
	text_free(&said);
	if (g.more) {
		struct text more = {0};

		number_add(&more, NUMBER_COUNT, (double)g.more);
		fprintf(out, "... and %s more (--limit 0 shows all)\n", more.text ? more.text : "");
		text_free(&more);
	}
out:
	for (size_t i = 0; g.cells && i < g.nr_rows * g.nr_cols; i++)
		free(g.cells[i]);
	free(g.cells);
	for (size_t i = 0; g.cols && i < g.nr_cols; i++)
		text_free(&g.cols[i].head);
	free(g.cols);
	return ret;
}

/* HTML ------------------------------------------------------------------------------------------
 */

void table_html_string(FILE *out, const char *s, size_t len)
{
	struct text t = {0};

	text_add_clean(&t, s, len);
	for (size_t i = 0; i < t.len; i++)
		switch (t.text[i]) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		case '\x1f': /* TEXT_GLUE */
			putc(' ', out);
			break;
		default:
			putc(t.text[i], out);
		}
	text_free(&t);
}

/* A small share reads "<0.01 %". */
static void html_number(FILE *out, enum number_kind kind, double v)
{
	struct text t = {0};

	number_add(&t, kind, v);
	for (size_t i = 0; i < t.len; i++)
		if (t.text[i] == '<')
			fputs("&lt;", out);
		else
			text_put(out, &t.text[i], 1);
	text_free(&t);
}

/* Whether a cell's own text sorts as its value does: counts do, units do not. */
static bool sorts(enum number_kind kind)
{
	return kind == NUMBER_COUNT || kind == NUMBER_ID || kind == NUMBER_AT_NS;
}

static void html_range(FILE *out, struct grid *g, const struct column *c, sqlite3_stmt *stmt)
{
	static const char *const bounds[] = {"lo", "es", "hi"};
	double v[3];

	for (int i = 0; i < 3; i++)
		v[i] = sqlite3_column_double(stmt, c->from + i);
	fprintf(out, "<td class=\"n\" data-v=\"");
	put_double(out, v[1], "");
	fputs("\">", out);
	if (v[0] == v[1] && v[1] == v[2]) {
		html_number(out, c->kind, v[1]);
	} else {
		for (int i = 0; i < 3; i++) {
			fprintf(out, "%s<span class=\"%s\">", i ? "<i> .. </i>" : "", bounds[i]);
			html_number(out, c->kind, v[i]);
			fputs("</span>", out);
		}
	}
	if (c->doubt >= 0 && sqlite3_column_int(stmt, c->doubt)) {
		fputs(" <abbr title=\"uncalibrated: rests on something that nobody "
		      "measured\">?</abbr>",
		      out);
		g->doubts = true;
	}
	fputs("</td>", out);
}

static void html_cell(FILE *out, struct grid *g, const struct column *c, sqlite3_stmt *stmt,
		      const struct table_html *how)
{
	int col = c->from;

	if (c->range && is_number(stmt, col) && is_number(stmt, col + 1) &&
	    is_number(stmt, col + 2)) {
		html_range(out, g, c, stmt);
		return;
	}
	if (c->range)
		col++;
	if (sqlite3_column_type(stmt, col) == SQLITE_NULL) {
		fputs("<td class=\"n\" data-v=\"\">-</td>", out);
	} else if (is_number(stmt, col)) {
		double v = sqlite3_column_double(stmt, col);
		bool link = how->mm_anchor && !strcmp(sqlite3_column_name(stmt, col), "mm") &&
			    how->has_mm(how->ctx, (int64_t)v);

		fputs("<td class=\"n\"", out);
		if (!sorts(c->kind)) {
			fputs(" data-v=\"", out);
			put_double(out, v, "");
			putc('"', out);
		}
		putc('>', out);
		if (link)
			fprintf(out, "<a href=\"#%s%.0f\">", how->mm_anchor, v);
		html_number(out, c->kind, v);
		fputs(link ? "</a></td>" : "</td>", out);
	} else {
		size_t len;
		const char *s = bytes_of(stmt, col, &len);

		fputs(len > 40 ? "<td class=\"w\">" : "<td>", out);
		table_html_string(out, s, len);
		fputs("</td>", out);
	}
}

/* The column that all rows agree on, if FOLD names one: needs a run of its own over STMT. */
static int folded(sqlite3_stmt *stmt, const char *fold, struct text *said)
{
	int col = -1, rc;
	int64_t rows = 0;
	struct text first = {0};

	for (int i = 0; fold && i < sqlite3_column_count(stmt); i++)
		if (!strcmp(sqlite3_column_name(stmt, i), fold))
			col = i;
	while (col >= 0 && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		size_t len;
		const char *s = bytes_of(stmt, col, &len);

		if (!rows++)
			text_add(&first, s, len);
		else if (first.len != len || (len && memcmp(first.text, s, len)))
			col = -1;
	}
	sqlite3_reset(stmt);
	if (!rows)
		col = -1;
	if (col >= 0)
		text_add(said, first.text ? first.text : "", first.len);
	text_free(&first);
	return col;
}

int table_html(FILE *out, sqlite3_stmt *stmt, const struct table_html *how)
{
	struct grid g = {0};
	struct text said = {0};
	int fold_at = folded(stmt, how->fold, &said), policy_at = -1, rc;
	int64_t rows = 0;
	int ret = make_columns(&g, stmt, how->hide);

	if (ret)
		goto out;
	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		if (!strcmp(sqlite3_column_name(stmt, i), "policy"))
			policy_at = i;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (how->limit && rows >= how->limit) {
			g.more++;
			continue;
		}
		if (!rows++) {
			fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"",
			      out);
			table_html_string(out, how->label, strlen(how->label));
			fputs("\"><table><thead><tr>", out);
			for (size_t i = 0; i < g.nr_cols; i++) {
				if (g.cols[i].from == fold_at)
					continue;
				fputs(is_number(stmt, g.cols[i].from)
					      ? "<th scope=\"col\" class=\"n\">"
					      : "<th scope=\"col\">",
				      out);
				text_put(out, g.cols[i].head.text, g.cols[i].head.len);
				fputs("</th>", out);
			}
			fputs("</tr></thead><tbody>\n", out);
		}
		const char *policy =
			policy_at < 0 ? NULL : (const char *)sqlite3_column_text(stmt, policy_at);
		int n = policy ? how->policy(how->ctx, policy) : 0;
		if (n)
			fprintf(out, "<tr class=\"q p%d\">", n);
		else
			fputs("<tr>", out);
		for (size_t i = 0; i < g.nr_cols; i++)
			if (g.cols[i].from != fold_at)
				html_cell(out, &g, &g.cols[i], stmt, how);
		fputs("</tr>\n", out);
	}
	ret = rc == SQLITE_DONE ? 0 : -EIO;
	if (!rows) {
		fputs("<p>", out);
		table_html_string(out, how->empty, strlen(how->empty));
		fputs("</p>\n", out);
		goto out;
	}
	fputs("</tbody></table></div>\n", out);
	if (g.more) {
		fputs("<p class=\"note\">", out);
		html_number(out, NUMBER_COUNT, (double)g.more);
		fputs(" more rows left out; all: <code>", out);
		table_html_string(out, how->more, strlen(how->more));
		fputs("</code></p>\n", out);
	}
	if (fold_at >= 0) {
		fputs("<p class=\"note\">", out);
		for (size_t i = 0; i < g.nr_cols; i++)
			if (g.cols[i].from == fold_at)
				text_put(out, g.cols[i].head.text, g.cols[i].head.len);
		fputs(": ", out);
		table_html_string(out, said.text ? said.text : "", said.len);
		fputs(".</p>\n", out);
	}
	if (g.doubts)
		fputs("<p class=\"note\">?: uncalibrated, rests on something that nobody "
		      "measured.</p>\n",
		      out);
out:
	for (size_t i = 0; g.cols && i < g.nr_cols; i++)
		text_free(&g.cols[i].head);
	free(g.cols);
	text_free(&said);
	return ret;
}
