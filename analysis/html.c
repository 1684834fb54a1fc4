// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page is the reports one after the other, for each recording: the same SQL, as HTML tables and
 * inline pictures.
 *
 * What is selectable is selected by style alone: hidden radio buttons stand before everything else,
 * and "#p-3:checked ~ main .q:not(.p3)" hides what belongs to another policy than the third. Each
 * row and line that belongs to a policy has the class q and its own pN.
 *
 * A page that comes out too large is made again with half as many rows, then half as many
 * recordings.
 */
#include "analysis/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/db.h"
#include "analysis/html_style.h"
#include "analysis/svg.h"
#include "analysis/table.h"

enum {
	ROWS_MOST = 200,
	ROWS_LEAST = 5,
	LONG_TABLE_ROWS = 40,
	POLICIES_MOST = 60, /* more cannot be picked one by one */
	PROCESSES_MOST = 40,
	TRACES_MOST = 12,
	PAGES_OF_PROCESS = 12
};

struct names {
	char **list;
	size_t nr;
};

struct page {
	FILE *out;
	sqlite3 *db;
	const char *path;
	const struct report_how *how;
	struct names policies, traces;
	int64_t rows;     /* of each table */
	size_t nr_traces; /* of all that are shown */
	/* Of the recording at hand: */
	size_t trace; /* from 1 */
	int64_t mms[PROCESSES_MOST];
	size_t nr_mms;
};

/* The order of the page; reports that are not here follow, closed. */
static const struct {
	const char *report, *title;
	bool closed;
} order[] = {
	{"overview", "Overview", false},
	{"verdict", "Verdicts", false},
	{"cost", "Cost", false},
	{"break-even", "Break-even", false},
	{"sweep", "Sweep", true},
	{"policies", "Policies at each decision point", false},
	{"timeline", "Timeline", false},
	{"heat", "Where in memory, and when", false},
	{"exposures", "Stale entries", false},
	{"faults", "Spurious faults", false},
	{"processes", "Processes", false},
	{"regions", "Regions of memory", false},
	{"pages", "Pages", false},
	{"latency", "How long flushes took", true},
	{"dirty", "Dirty pages and swap", true},
	{"cpus", "CPUs", false},
	{"points", "Decision points", false},
	{"selfcheck", "Self-check", false},
	{"trust", "How far to trust this", false},
	{"flush", "Every cell of the flush table", true},
	{"params", "Parameters", true},
	{"recorded", "Recorded events", true},
	{"traces", "The recording", true},
};

/* About all hosts of a fleet: before the recordings, where there is a fleet. */
static const struct {
	const char *report, *title;
} fleet_order[] = {
	{"fleet", "The fleet"},
	{"sampling", "How many hosts to record"},
};

/* Names -----------------------------------------------------------------------------------------
 */

static void names_free(struct names *n)
{
	for (size_t i = 0; i < n->nr; i++)
		free(n->list[i]);
	free(n->list);
	*n = (struct names){0};
}

static int read_names(sqlite3 *db, const char *sql, struct names *n)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);

	while (!rc && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *s = (const char *)sqlite3_column_text(stmt, 0);
		char **grown = realloc(n->list, (n->nr + 1) * sizeof(*grown));

		if (!grown || !s)
			break;
		n->list = grown;
		n->list[n->nr] = strdup(s);
		if (!n->list[n->nr])
			break;
		n->nr++;
	}
	return sqlite3_finalize(stmt) || rc ? -EIO : 0;
}

static int number_of_policy(void *ctx, const char *policy)
{
	const struct page *p = ctx;

	for (size_t i = 0; i < p->policies.nr; i++)
		if (!strcmp(p->policies.list[i], policy))
			return (int)i + 1;
	return 0;
}

static bool has_mm(void *ctx, int64_t mm)
{
	const struct page *p = ctx;

	for (size_t i = 0; i < p->nr_mms; i++)
		if (p->mms[i] == mm)
			return true;
	return false;
}

static void put_text(const struct page *p, const char *s)
{
	table_html_string(p->out, s, strlen(s));
}

/* Contents --------------------------------------------------------------------------------------
 */

/* Paragraphs, those that begin with "- " as a list. */
static int put_paragraphs(struct page *p, const struct statement *st, bool lead)
{
	bool begun = false, list = false;
	int col = 0, policy_at = -1, rc;

	for (int i = 0; i < sqlite3_column_count(st->stmt); i++)
		if (!strcmp(sqlite3_column_name(st->stmt, i), "text"))
			col = i;
		else if (!strcmp(sqlite3_column_name(st->stmt, i), "policy"))
			policy_at = i;
	while ((rc = sqlite3_step(st->stmt)) == SQLITE_ROW) {
		const char *s = (const char *)sqlite3_column_text(st->stmt, col);

		if (!s)
			continue;
		if (!begun) {
			if (lead)
				fputs("<div class=\"lead\">", p->out);
			if (st->title.len) {
				fputs("<h4>", p->out);
				put_text(p, st->title.text);
				fputs("</h4>\n", p->out);
			}
			begun = true;
		}
		bool item = !strncmp(s, "- ", 2);
		if (item != list)
			fputs(item ? "<ul>\n" : "</ul>\n", p->out);
		list = item;
		const char *policy =
			policy_at < 0 ? NULL
				      : (const char *)sqlite3_column_text(st->stmt, policy_at);
		int n = policy ? number_of_policy(p, policy) : 0;
		fputs(item ? "<li" : "<p", p->out);
		if (n)
			fprintf(p->out, " class=\"q p%d\"", n);
		putc('>', p->out);
		put_text(p, item ? s + 2 : s);
		fputs(item ? "</li>\n" : "</p>\n", p->out);
	}
	if (list)
		fputs("</ul>\n", p->out);
	if (begun && lead)
		fputs("</div>\n", p->out);
	return rc == SQLITE_DONE ? 0 : -EIO;
}

static int put_table(struct page *p, const struct report *r, const struct statement *st)
{
	char anchor[40];
	struct text more = {0};
	struct table_html style = {
		.limit = p->rows,
		.hide = "trace",
		.fold = st->fold.text,
		.empty = st->empty.text ? st->empty.text : "None.",
		.label = st->title.text ? st->title.text : r->name,
		.mm_anchor = anchor,
		.policy = number_of_policy,
		.has_mm = has_mm,
		.ctx = p,
	};

	text_addf(&more, "tlbreport %s %s --limit 0", p->path, r->name);
	if (!more.text)
		return -ENOMEM;
	style.more = more.text;
	/* Sorted by what matters, so the first ones say it. */
	if (p->how->limit < 0 && st->is_long && style.limit > LONG_TABLE_ROWS)
		style.limit = LONG_TABLE_ROWS;
	snprintf(anchor, sizeof(anchor), "t%zu-mm", p->trace);
	if (st->title.len) {
		fputs("<h4>", p->out);
		put_text(p, st->title.text);
		fputs("</h4>\n", p->out);
	}
	int ret = table_html(p->out, st->stmt, &style);
	if (!ret && st->note.len) {
		fputs("<p class=\"note\">", p->out);
		put_text(p, st->note.text);
		fputs("</p>\n", p->out);
	}
	text_free(&more);
	return ret;
}

static int put_report(struct page *p, const struct report *r, const char *title, bool closed,
		      char *err, size_t err_size)
{
	struct script s = {0};
	size_t len;
	const char *what = report_summary(r->sql, &len);
	int ret = script_load(p->db, r->sql, &s, err, err_size);
	bool lead = !strcmp(r->name, "overview");

	if (ret)
		goto out;
	fprintf(p->out,
		closed ? "<section id=\"t%zu-%s\"><details><summary><h3>"
		       : "<section id=\"t%zu-%s\"><h3>",
		p->trace, r->name);
	put_text(p, title);
	fputs(closed ? "</h3></summary>\n" : "</h3>\n", p->out);
	if (!lead) {
		fputs("<p class=\"what\">", p->out);
		table_html_string(p->out, what, len);
		fputs(".</p>\n", p->out);
	}
	/* The picture before the numbers it shows. */
	for (size_t i = 0; i < s.nr && !ret; i++)
		if (s.list[i].is_plot && svg_has(r->name))
			ret = svg_draw(p->out, r->name, s.list[i].stmt, number_of_policy, p);
	for (size_t i = 0; i < s.nr && !ret; i++) {
		const struct statement *st = &s.list[i];

		if (st->is_plot || st->is_terminal)
			continue;
		ret = st->is_text ? put_paragraphs(p, st, lead) : put_table(p, r, st);
		lead = false;
	}
	if (ret)
		snprintf(err, err_size, "%s: %s", r->name,
			 ret == -ENOMEM ? "out of memory" : sqlite3_errmsg(p->db));
	fputs(closed ? "</details></section>\n" : "</section>\n", p->out);
out:
	script_free(&s);
	return ret;
}

/* The pages of each process that has some: what the numbers of address spaces lead to. */

static const char mms_sql[] =
	"SELECT mm FROM v_page WHERE page IS NOT NULL GROUP BY mm ORDER BY sum(decisions) DESC, mm "
	"LIMIT ?1";

static const char processes_sql[] =
	"SELECT g.mm, m.comm, m.tid, m.origin, g.page, g.decisions, g.pages, g.all_decisions, "
	"g.points "
	"FROM (SELECT mm, page, sum(decisions) AS decisions, count(*) OVER (PARTITION BY mm) AS "
	"pages, "
	"             sum(sum(decisions)) OVER (PARTITION BY mm) AS all_decisions, "
	"             group_concat(point || ' ' || decisions, ', ') AS points, "
	"             row_number() OVER (PARTITION BY mm ORDER BY sum(decisions) DESC, page) AS nr "
	"      FROM (SELECT * FROM v_page ORDER BY mm, page, point, level) WHERE page IS NOT NULL "
	"      GROUP BY mm, page) g "
	"LEFT JOIN mms m ON m.trace = (SELECT id FROM traces) AND m.mm = g.mm WHERE g.nr <= ?1 "
	"ORDER BY g.all_decisions DESC, g.mm, g.nr";

static int read_mms(struct page *p)
{
	sqlite3_stmt *stmt = NULL;
	int64_t most = p->rows ? p->rows / 5 + 1 : PROCESSES_MOST;
	int rc = sqlite3_prepare_v2(p->db, mms_sql, -1, &stmt, NULL);

	p->nr_mms = 0;
	if (!rc)
		sqlite3_bind_int64(stmt, 1, most < PROCESSES_MOST ? most : PROCESSES_MOST);
	while (!rc && sqlite3_step(stmt) == SQLITE_ROW && p->nr_mms < PROCESSES_MOST)
		p->mms[p->nr_mms++] = sqlite3_column_int64(stmt, 0);
	return sqlite3_finalize(stmt) || rc ? -EIO : 0;
}

static void put_count(const struct page *p, double v)
{
	struct text t = {0};

	number_add(&t, NUMBER_COUNT, v);
	text_put(p->out, t.text ? t.text : "", t.len);
	text_free(&t);
}

static int put_processes(struct page *p)
{
	sqlite3_stmt *stmt = NULL;
	int64_t last = 0, all = 0;
	bool begun = false;
	int rc = sqlite3_prepare_v2(p->db, processes_sql, -1, &stmt, NULL);

	if (!p->nr_mms || rc)
		goto out;
	fprintf(p->out,
		"<section id=\"t%zu-process-pages\"><h3>The pages of each process</h3>\n"
		"<p class=\"what\">Processes with the most decisions that have a page, and the %d "
		"hottest pages of each.</p>\n",
		p->trace, PAGES_OF_PROCESS);
	sqlite3_bind_int(stmt, 1, PAGES_OF_PROCESS);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		int64_t mm = sqlite3_column_int64(stmt, 0);
		const char *comm = (const char *)sqlite3_column_text(stmt, 1);
		const char *points = (const char *)sqlite3_column_text(stmt, 8);

		if (!begun || mm != last) {
			all++;
			if (has_mm(p, mm)) {
				fputs(begun ? "</tbody></table></div>\n" : "", p->out);
				fprintf(p->out, "<h4 id=\"t%zu-mm%lld\">", p->trace, (long long)mm);
				put_text(p, comm && *comm ? comm : "(no name seen)");
				fprintf(p->out,
					", task %lld, address space %lld</h4>\n<p class=\"note\">",
					(long long)sqlite3_column_int64(stmt, 2), (long long)mm);
				put_count(p, sqlite3_column_double(stmt, 7));
				fputs(" decisions at ", p->out);
				put_count(p, sqlite3_column_double(stmt, 6));
				fputs(" pages</p>\n<div class=\"scroll\" tabindex=\"0\" "
				      "role=\"group\" "
				      "aria-label=\"pages\"><table><thead><tr><th "
				      "scope=\"col\">page</th>"
				      "<th scope=\"col\" class=\"n\">decisions</th><th "
				      "scope=\"col\">at</th>"
				      "</tr></thead><tbody>\n",
				      p->out);
				begun = true;
			}
		}
		last = mm;
		if (!has_mm(p, mm))
			continue;
		fprintf(p->out, "<tr><td>0x%llx</td><td class=\"n\">",
			(unsigned long long)sqlite3_column_int64(stmt, 4));
		put_count(p, sqlite3_column_double(stmt, 5));
		fputs("</td><td>", p->out);
		put_text(p, points ? points : "");
		fputs("</td></tr>\n", p->out);
	}
	fputs(begun ? "</tbody></table></div>\n" : "", p->out);
	if (all > (int64_t)p->nr_mms) {
		fputs("<p class=\"note\">", p->out);
		put_count(p, (double)(all - (int64_t)p->nr_mms));
		fputs(" more processes left out; all: <code>", p->out);
		put_text(p, "tlbreport ");
		put_text(p, p->path);
		fputs(" pages --limit 0</code></p>\n", p->out);
	}
	fputs("</section>\n", p->out);
out:
	return sqlite3_finalize(stmt) || rc ? -EIO : 0;
}

/* The page --------------------------------------------------------------------------------------
 */

static size_t pickable(const struct page *p)
{
	return p->policies.nr > 1 && p->policies.nr <= POLICIES_MOST ? p->policies.nr : 0;
}

static void put_head(const struct page *p)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src "
	      "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	      "<link rel=\"icon\" href=\"data:,\"/>\n<title>TLB flush policies",
	      p->out);
	for (size_t i = 0; i < p->traces.nr && i < 3; i++) {
		fputs(i ? ", " : ": ", p->out);
		put_text(p, p->traces.list[i]);
	}
	fputs(p->traces.nr > 3 ? ", ..." : "", p->out);
	fputs("</title>\n<style>\n", p->out);
	fputs(html_style, p->out);
	static const char *const bounds[] = {"all", "low", "est", "high"};
	static const char on[] = "{background:var(--fg);color:var(--bg);border-color:var(--fg)}\n";
	static const char focus[] = "{outline:3px solid var(--s2);outline-offset:1px}\n";
	for (int i = 0; i < 4; i++)
		fprintf(p->out,
			"#b-%s:checked ~ .bar label[for=b-%s]%s"
			"#b-%s:focus-visible ~ .bar label[for=b-%s]%s",
			bounds[i], bounds[i], on, bounds[i], bounds[i], focus);
	for (size_t i = 0; pickable(p) && i <= pickable(p); i++) {
		fprintf(p->out,
			"#p-%zu:checked ~ .bar label[for=p-%zu]%s"
			"#p-%zu:focus-visible ~ .bar label[for=p-%zu]%s",
			i, i, on, i, i, focus);
		if (i)
			fprintf(p->out, "#p-%zu:checked ~ main .q:not(.p%zu){display:none}\n", i,
				i);
	}
	fputs("</style>\n</head>\n<body>\n", p->out);
}

static void put_pick(const struct page *p, char group, const char *id, bool checked)
{
	fprintf(p->out, "<input class=\"pick\" type=\"radio\" name=\"%c\" id=\"%c-%s\"%s/>\n",
		group, group, id, checked ? " checked=\"checked\"" : "");
}

static void put_bar(const struct page *p)
{
	static const char *const bounds[] = {"all", "low", "est", "high"};
	static const char *const words[] = {"all", "low", "estimate", "high"};
	char id[24];

	for (int i = 0; i < 4; i++)
		put_pick(p, 'b', bounds[i], !i);
	for (size_t i = 0; pickable(p) && i <= pickable(p); i++) {
		snprintf(id, sizeof(id), "%zu", i);
		put_pick(p, 'p', id, !i);
	}
	fputs("<div class=\"bar\"><div><b>Bounds</b> ", p->out);
	for (int i = 0; i < 4; i++)
		fprintf(p->out, "<label for=\"b-%s\">%s</label> ", bounds[i], words[i]);
	fputs("</div>\n", p->out);
	if (pickable(p)) {
		fputs("<div><b>Policy</b> <label for=\"p-0\">all</label> ", p->out);
		for (size_t i = 0; i < pickable(p); i++) {
			fprintf(p->out, "<label for=\"p-%zu\">", i + 1);
			put_text(p, p->policies.list[i]);
			fputs("</label> ", p->out);
		}
		fputs("</div>\n", p->out);
	}
	fputs("</div>\n", p->out);
}

static const char *title_of(const char *report, bool *closed)
{
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (!strcmp(order[i].report, report)) {
			*closed = order[i].closed;
			return order[i].title;
		}
	*closed = false;
	for (size_t i = 0; i < sizeof(fleet_order) / sizeof(fleet_order[0]); i++)
		if (!strcmp(fleet_order[i].report, report))
			return fleet_order[i].title;
	*closed = true;
	return NULL;
}

/* 0 or 1: whether there are any. */
static int count_hosts(const struct page *p, size_t *nr, char *err, size_t err_size)
{
	struct names hosts = {0};
	int ret = read_names(p->db, "SELECT host FROM v_fleet LIMIT 1", &hosts);

	*nr = hosts.nr;
	names_free(&hosts);
	if (ret)
		snprintf(err, err_size, "%s", sqlite3_errmsg(p->db));
	return ret;
}

/* The reports about a fleet, if the database has hosts: as if of a recording number 0. */
static int put_fleet(struct page *p, char *err, size_t err_size)
{
	size_t hosts;
	int ret = count_hosts(p, &hosts, err, err_size);

	if (ret || !hosts || p->how->trace)
		return ret;
	p->trace = 0;
	p->nr_mms = 0;
	fputs("<h2 id=\"t0\">The fleet</h2>\n", p->out);
	for (size_t i = 0; i < sizeof(fleet_order) / sizeof(fleet_order[0]) && !ret; i++)
		ret = put_report(p, report_find(fleet_order[i].report), fleet_order[i].title, false,
				 err, err_size);
	return ret;
}

static int put_trace(struct page *p, const char *name, char *err, size_t err_size)
{
	bool closed;
	int ret = db_narrow(p->db, name, p->how->policy, err, err_size);

	if (ret)
		return ret;
	if (read_mms(p))
		goto failed;
	fprintf(p->out, "<h2 id=\"t%zu\">", p->trace);
	put_text(p, name);
	fputs("</h2>\n<ul class=\"toc\">", p->out);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		fprintf(p->out, "<li><a href=\"#t%zu-%s\">%s</a></li>", p->trace, order[i].report,
			order[i].title);
		if (!strcmp(order[i].report, "processes") && p->nr_mms)
			fprintf(p->out,
				"<li><a href=\"#t%zu-process-pages\">Pages of each "
				"process</a></li>",
				p->trace);
	}
	fputs("</ul>\n", p->out);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && !ret; i++) {
		const struct report *r = report_find(order[i].report);

		if (r)
			ret = put_report(p, r, order[i].title, order[i].closed, err, err_size);
		if (!ret && !strcmp(order[i].report, "processes") && put_processes(p))
			goto failed;
	}
	for (const struct report *r = reports; r->name && !ret; r++)
		if (!title_of(r->name, &closed))
			ret = put_report(p, r, r->name, true, err, err_size);
	return ret;
failed:
	snprintf(err, err_size, "%s", sqlite3_errmsg(p->db));
	return -EIO;
}

static int put_page(struct page *p, char *err, size_t err_size)
{
	int ret = 0;

	put_head(p);
	put_bar(p);
	fputs("<header><h1>What TLB flush policies would have done</h1>\n"
	      "<p class=\"what\">A recording of a host was replayed through flush policies: what "
	      "each would "
	      "have flushed, what that would have cost, and which stale translations it would have "
	      "left "
	      "behind. Where the recording cannot tell, there are three numbers: low bound, "
	      "estimate, high "
	      "bound. Pick one, or one policy, above. A heading of a table sorts it.</p>\n",
	      p->out);
	if (p->traces.nr > 1) {
		fputs("<ul class=\"toc\">", p->out);
		for (size_t i = 0; i < p->nr_traces; i++) {
			fprintf(p->out, "<li><a href=\"#t%zu\">", i + 1);
			put_text(p, p->traces.list[i]);
			fputs("</a></li>", p->out);
		}
		fputs("</ul>\n", p->out);
	}
	if (p->nr_traces < p->traces.nr) {
		fputs("<p class=\"note\">", p->out);
		put_count(p, (double)(p->traces.nr - p->nr_traces));
		fputs(" more recordings left out, so that the page stays small; pick one with "
		      "<code>--trace</code>.</p>\n",
		      p->out);
	}
	fputs("</header>\n<main>\n", p->out);
	ret = put_fleet(p, err, err_size);
	for (p->trace = 1; p->trace <= p->nr_traces && !ret; p->trace++)
		ret = put_trace(p, p->traces.list[p->trace - 1], err, err_size);
	if (!p->traces.nr)
		fputs("<p>The database holds no recording.</p>\n", p->out);
	fputs("</main>\n<footer>Made by tlbreport " TLBREPLAY_VERSION " from ", p->out);
	put_text(p, p->path);
	fputs(".</footer>\n<script>\n", p->out);
	fputs(html_script, p->out);
	fputs("</script>\n</body>\n</html>\n", p->out);
	return ret;
}

int html_page(sqlite3 *db, const char *path, const struct report_how *how, struct text *page,
	      char *err, size_t err_size)
{
	/* Whom the page is passed on to has no use for the folder, and it may be nobody's business.
	 */
	const char *slash = strrchr(path, '/');
	struct page p = {.db = db, .path = slash ? slash + 1 : path, .how = how};
	char *made = NULL;
	size_t size = 0, hosts = 0;
	int ret = db_narrow(db, how->trace, how->policy, err, err_size);

	if (ret)
		return ret;
	if (read_names(db, "SELECT trace FROM traces ORDER BY id", &p.traces) ||
	    read_names(db, "SELECT policy FROM policies GROUP BY policy ORDER BY min(id)",
		       &p.policies)) {
		ret = -EIO;
		snprintf(err, err_size, "%s", sqlite3_errmsg(db));
		goto out;
	}
	p.rows = how->limit >= 0 ? how->limit : ROWS_MOST;
	/* Many hosts are one answer, not many pages. */
	if (count_hosts(&p, &hosts, err, err_size)) {
		ret = -EIO;
		goto out;
	}
	p.nr_traces = p.traces.nr <= TRACES_MOST ? p.traces.nr : hosts ? 0 : TRACES_MOST;
	for (;;) {
		p.out = open_memstream(&made, &size);
		if (!p.out) {
			ret = -ENOMEM;
			snprintf(err, err_size, "out of memory");
			goto out;
		}
		ret = put_page(&p, err, err_size);
		fclose(p.out);
		if (ret || size <= HTML_BYTES_MAX || how->limit >= 0)
			break;
		if (p.rows > ROWS_LEAST)
			p.rows = p.rows / 2 > ROWS_LEAST ? p.rows / 2 : ROWS_LEAST;
		else if (p.nr_traces > 1)
			p.nr_traces = (p.nr_traces + 1) / 2;
		else
			break;
		free(made);
		made = NULL;
	}
	if (!ret)
		text_add(page, made, size);
out:
	free(made);
	names_free(&p.policies);
	names_free(&p.traces);
	return ret;
}
