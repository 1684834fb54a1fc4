// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tlbreport: answers from the database that tlbreplay wrote.
 *
 *   main.c     command line and messages
 *   help.c     what a report answers and what its columns mean
 *   columns.c  what a column of that name means
 *   report.c   finds a report, runs its statements, as text, CSV or JSON
 *   reports/   the reports: NAME.sql, and NAME.gp where there is a picture
 *   db.c       opens the database read only, narrows it to a trace or a policy
 *   table.c    a query's rows as text table, CSV, JSON
 *   merge.c    one database of many; copy.c a recording's rows, shards.c shards added up,
 *              manifest.c the list of a fleet's recordings
 *   compare.c  two databases, recordings or policies beside each other
 *   html.c     all reports as one HTML page; html_style.c its looks, svg.c its pictures
 *   plot.c     pictures, through gnuplot
 *   preset.c   a cost preset from the durations that a recording shows
 *   text.c     widths, units, harmless text
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/compare.h"
#include "analysis/db.h"
#include "analysis/help.h"
#include "analysis/html.h"
#include "analysis/manifest.h"
#include "analysis/merge.h"
#include "analysis/plot.h"
#include "analysis/preset.h"
#include "analysis/report.h"
#include "analysis/reprice.h"
#include "common/msg.h"
#include "common/param.h"
#include "schema/costs.h"

static const char help[] =
	"Usage: tlbreport DB [REPORT] [--csv|--json] [OPTION]...\n"
	"       tlbreport DB cost --plot FILE.png|FILE.svg|-\n"
	"       tlbreport DB html -o FILE.html\n"
	"       tlbreport DB preset -o FILE.cost [--trace NAME]\n"
	"       tlbreport compare A.db [B.db] [--fail-if RULE]... [OPTION]...\n"
	"       tlbreport merge OUT.db [--manifest LIST] PART.db...\n"
	"       tlbreport manifest LIST\n"
	"       tlbreport list\n"
	"       tlbreport help REPORT\n"
	"\n"
	"Answers from the results of tlbreplay. REPORT is a name that \"tlbreport list\" shows, or "
	"a\n"
	"file of your own with SQL queries (./mine.sql); without one: overview.\n"
	"\n"
	"  --csv           comma-separated values: the report's first table, all its rows\n"
	"  --json          JSON: all its tables\n"
	"  --table N       only table N of the report, counted from 1\n"
	"  --limit N       at most N rows of each table; 0: all\n"
	"  --trace NAME    only this recording\n"
	"  --policy NAME   only this policy, as it was given to tlbreplay or by its bare name\n"
	"  --cost PRESET   other prices, by name or as a file, with figures of your own behind it:\n"
	"                  arm64-generic-32:flush_broadcast=2us; may be repeated. No replay is needed\n"
	"  --plot FILE     draw instead: into a .png or .svg file, or - for this terminal\n"
	"  --fail-if RULE  of compare: exit with 1 if RULE holds, like 'cost>+5%' or\n"
	"                  'broadcasts.high>=1000'\n"
	"  --per-second    of compare: rates instead of totals\n"
	"  --manifest LIST of merge: a fleet's recordings with hosts, labels and parts\n"
	"  -o FILE         of html and preset: where to write it; default: standard output\n"
	"  --list-costs    the cost presets that it knows\n"
	"  -h, --help      this text; behind a report, what it answers and its columns\n"
	"  -V, --version   the version\n"
	"\n"
	"Examples:\n"
	"  tlbreport results.db\n"
	"  tlbreport results.db processes --policy arm64-broadcast --limit 5\n"
	"  tlbreport results.db flush --csv > flush.csv\n"
	"  tlbreport results.db cost --plot cost.svg\n"
	"  tlbreport results.db cost --cost arm64-seed --cost arm64-generic:flush_local=20\n"
	"  tlbreport results.db html -o report.html\n"
	"  tlbreport results.db preset -o mine.cost\n"
	"  tlbreport compare old.db new.db --fail-if 'cost.sure>+5%'\n"
	"  tlbreport help processes\n"
	"\n"
	"Exit status: 0 fine, 1 failed or a --fail-if holds, 2 wrong usage, 3 merged, but recordings\n"
	"are missing.\n";

enum {
	RULES_MOST = 64,
	COSTS_MOST = 32
};

struct command {
	const char *path, *report, *plot, *output;
	bool help, markdown, formatted; /* FORMATTED: by --csv, --json, --table or --plot */
	char *costs[COSTS_MOST];
	size_t nr_costs;
	struct report_how how;
	/* For compare: the second database and what was named first and second. */
	bool compare, per_second;
	const char *other, *traces[2], *policies[2];
	size_t nr_traces, nr_policies, nr_rules;
	struct compare_rule rules[RULES_MOST];
	/* For merge and manifest: what stands behind them. */
	bool merge, list;
	const char *manifest;
	char **parts;
	size_t nr_parts;
};

/* 80 columns where nobody says otherwise, so that what goes into a file is always the same. */
static size_t terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	int64_t n = 0;
	struct winsize size;

	if (columns && !number_count(columns, &n) && n >= 20 && n <= 10000)
		return (size_t)n;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col >= 20)
		return size.ws_col;
	return 80;
}

static int usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int usage(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	msg_error("%s", text);
	msg_note("try: tlbreport --help");
	return EXIT_USAGE;
}

static int unknown_report(const char *name)
{
	struct text near = {0};

	report_near(name, &near);
	if (near.len)
		msg_error("there is no report \"%s\"; did you mean %s?", name, near.text);
	else
		msg_error("there is no report \"%s\"", name);
	msg_note("tlbreport list shows all");
	text_free(&near);
	return EXIT_USAGE;
}

static bool is_report(const struct command *c, const char *name)
{
	return c->report && !strcmp(c->report, name);
}

/*
 * "help", "help REPORT", "help --markdown", "REPORT --help" and "DB REPORT --help": WORDS are what
 * stands there besides options. Returns the exit status.
 */
static int print_help(const struct command *c, int nr, char **words)
{
	bool word = nr > 0 && !strcmp(words[0], "help");
	const char *name = nr > 1 ? words[1] : nr == 1 && !word ? words[0] : NULL;
	char err[512];
	int ret = 0;

	if (nr > 2 && strcmp(words[0], "compare") != 0)
		return usage("one report at a time: what is \"%s\"?", words[2]);
	const struct report *r = name ? report_find(name) : NULL;
	bool command = name && (!strcmp(name, "html") || !strcmp(name, "preset") ||
				!strcmp(name, "compare"));
	/* "results.db --help" names no report, nor does "compare A.db --help". */
	if (name && !r && !command && strcmp(words[0], "compare") != 0 && (word || nr > 1))
		return unknown_report(name);
	if (c->markdown)
		ret = help_markdown(stdout, err, sizeof(err));
	else if (r)
		ret = help_report(stdout, r, c->how.width, err, sizeof(err));
	else
		fputs(help, stdout);
	if (ret)
		msg_error("help: %s", err);
	return ret ? EXIT_FAILED : EXIT_FINE;
}

/* WORDS are what stands behind the first database. Returns like parse(). */
static int parse_compare(struct command *c, int nr, char **words)
{
	if (nr > 1)
		return usage("two databases at most: what is \"%s\"?", words[1]);
	if (c->plot || c->output)
		return usage("compare draws no picture");
	if (c->nr_traces > 2 || c->nr_policies > 2)
		return usage("--trace and --policy at most twice: of A, then of B");
	c->other = nr ? words[0] : c->path;
	if (!nr && c->nr_traces < 2 && c->nr_policies < 2)
		return usage(
			"compare %s with what? Another database, or two times --trace or --policy",
			c->path);
	/* What is named once means both sides. */
	if (c->nr_traces == 1)
		c->traces[1] = c->traces[0];
	if (c->nr_policies == 1)
		c->policies[1] = c->policies[0];
	return -1;
}

/* WORDS begin with "merge" or "manifest". Returns like parse(). */
static int parse_merge(struct command *c, int nr, char **words)
{
	bool merge = !strcmp(words[0], "merge");

	if (c->formatted || c->plot || c->output || c->nr_traces || c->nr_policies || c->nr_rules ||
	    c->nr_costs || c->per_second || c->how.limit >= 0)
		return usage("%s takes no option%s", words[0], merge ? " but --manifest" : "");
	if (!merge && c->manifest)
		return usage("--manifest is for merge");
	if (!merge && nr != 2)
		return usage("manifest takes one list");
	if (merge && nr < 2)
		return usage("merge into which database?");
	if (merge && nr < 3 && !c->manifest)
		return usage("merge which databases into %s?", words[1]);
	c->merge = merge;
	c->list = !merge;
	c->path = words[1];
	c->parts = words + 2;
	c->nr_parts = (size_t)(nr - 2);
	return -1;
}

/* Returns -1 to go on, else the exit status. */
static int parse(int argc, char **argv, struct command *c)
{
	enum {
		CSV = 256,
		JSON,
		TABLE,
		LIMIT,
		TRACE,
		POLICY,
		PLOT,
		MARKDOWN,
		FAIL_IF,
		PER_SECOND,
		MANIFEST,
		COST,
		LIST_COSTS
	};
	static const struct option options[] = {
		{"csv", no_argument, NULL, CSV},
		{"json", no_argument, NULL, JSON},
		{"table", required_argument, NULL, TABLE},
		{"limit", required_argument, NULL, LIMIT},
		{"trace", required_argument, NULL, TRACE},
		{"policy", required_argument, NULL, POLICY},
		{"plot", required_argument, NULL, PLOT},
		{"fail-if", required_argument, NULL, FAIL_IF},
		{"per-second", no_argument, NULL, PER_SECOND},
		{"manifest", required_argument, NULL, MANIFEST},
		{"cost", required_argument, NULL, COST},
		{"list-costs", no_argument, NULL, LIST_COSTS},
		{"markdown", no_argument, NULL, MARKDOWN},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	bool csv = false, json = false;
	char err[256];
	int64_t n;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":ho:V", options, NULL)) != -1) {
		switch (opt) {
		case CSV:
			csv = true;
			break;
		case JSON:
			json = true;
			break;
		case TABLE:
			if (number_count(optarg, &n) || n < 1 || n > 1000)
				return usage("--table takes a number from 1, not \"%s\"", optarg);
			c->how.table = (int)n;
			break;
		case LIMIT:
			if (number_count(optarg, &n))
				return usage("--limit takes a number of rows, not \"%s\"", optarg);
			c->how.limit = n;
			break;
		case TRACE:
			c->how.trace = optarg;
			if (c->nr_traces < 2)
				c->traces[c->nr_traces] = optarg;
			c->nr_traces++;
			break;
		case POLICY:
			c->how.policy = optarg;
			if (c->nr_policies < 2)
				c->policies[c->nr_policies] = optarg;
			c->nr_policies++;
			break;
		case PLOT:
			c->plot = optarg;
			break;
		case 'o':
			c->output = optarg;
			break;
		case FAIL_IF:
			if (c->nr_rules == RULES_MOST)
				return usage("more than %d times --fail-if", RULES_MOST);
			if (compare_rule_parse(optarg, &c->rules[c->nr_rules], err, sizeof(err)))
				return usage("--fail-if %s", err);
			c->nr_rules++;
			break;
		case PER_SECOND:
			c->per_second = true;
			break;
		case MANIFEST:
			c->manifest = optarg;
			break;
		case COST:
			if (c->nr_costs == COSTS_MOST)
				return usage("more than %d times --cost", COSTS_MOST);
			c->costs[c->nr_costs++] = optarg;
			break;
		case LIST_COSTS:
			cost_list(stdout);
			return EXIT_FINE;
		case MARKDOWN:
			c->markdown = true;
			break;
		case 'h':
			c->help = true;
			break;
		case 'V':
			puts("tlbreport " TLBREPLAY_VERSION);
			return EXIT_FINE;
		case ':':
			return usage("%s needs a value", argv[optind - 1]);
		default:
			return usage("unknown or ambiguous option \"%s\"", argv[optind - 1]);
		}
	}
	if (c->help || (optind < argc && !strcmp(argv[optind], "help")))
		return print_help(c, argc - optind, argv + optind);
	if (c->markdown)
		return usage("--markdown is for: tlbreport help --markdown");
	if (csv && json)
		return usage("--csv and --json exclude each other");
	if (c->plot && (csv || json || c->how.table))
		return usage("--plot draws; it excludes --csv, --json and --table");
	if (csv || json || c->plot || c->how.table)
		c->formatted = true;
	c->how.format = csv ? REPORT_CSV : json ? REPORT_JSON : REPORT_TEXT;
	if (optind >= argc)
		return usage("which database? (tlbreplay writes results.db)");
	if (!strcmp(argv[optind], "compare")) {
		c->compare = true;
		if (++optind >= argc)
			return usage("compare which databases?");
	}
	if (!strcmp(argv[optind], "merge") || !strcmp(argv[optind], "manifest"))
		return parse_merge(c, argc - optind, argv + optind);
	if (c->manifest)
		return usage("--manifest is for merge");
	if (c->compare && c->nr_costs)
		return usage("compare takes the costs as they are in the databases, not --cost");
	if (!c->compare && (c->nr_rules || c->per_second))
		return usage("%s is for compare", c->nr_rules ? "--fail-if" : "--per-second");
	c->path = argv[optind++];
	if (c->compare)
		return parse_compare(c, argc - optind, argv + optind);
	if (optind < argc)
		c->report = argv[optind++];
	if (optind < argc)
		return usage("one report at a time: what is \"%s\"?", argv[optind]);
	bool page = is_report(c, "html"), preset = is_report(c, "preset");
	if (page && c->formatted)
		return usage("html is a format of its own; it excludes --csv, --json, --table and "
			     "--plot");
	if (preset && (c->formatted || c->nr_costs))
		return usage("preset is a format of its own; it excludes --csv, --json, --table, "
			     "--plot and --cost");
	if (c->output && !page && !preset)
		return usage("-o is for html and preset; other reports go to standard output");
	if ((!c->report && !strcmp(c->path, "list")) || is_report(c, "list")) {
		report_list(stdout);
		return EXIT_FINE;
	}
	return -1;
}

static bool is_file(const char *report)
{
	size_t len = strlen(report);

	return strchr(report, '/') || (len > 4 && !strcmp(report + len - 4, ".sql"));
}

/* Reads a user's report. Returns NULL after saying why. */
static char *read_file(const char *path)
{
	struct text t = {0};
	struct stat st;
	char block[4096];
	size_t n;
	FILE *in = fopen(path, "re");

	if (!in || fstat(fileno(in), &st)) {
		msg_error("%s: %s", path, strerror(errno));
		goto fail;
	}
	if (S_ISDIR(st.st_mode)) {
		msg_error("%s: %s", path, strerror(EISDIR));
		goto fail;
	}
	text_add(&t, "", 0);
	while ((n = fread(block, 1, sizeof(block), in)) > 0)
		text_add(&t, block, n);
	if (ferror(in)) {
		msg_error("%s: %s", path, strerror(errno));
		goto fail;
	}
	fclose(in);
	if (t.text && strlen(t.text) == t.len)
		return t.text;
	msg_error("%s: not a text file", path);
	in = NULL;
fail:
	if (in)
		fclose(in);
	text_free(&t);
	return NULL;
}

static int save(const char *path, const struct text *image)
{
	FILE *out = fopen(path, "we");

	if (!out) {
		msg_error("%s: %s", path, strerror(errno));
		return EXIT_FAILED;
	}
	bool fine = fwrite(image->text, 1, image->len, out) == image->len;
	if (fclose(out) || !fine) {
		msg_error("%s: %s", path, strerror(errno));
		unlink(path);
		return EXIT_FAILED;
	}
	return EXIT_FINE;
}

static int plot_format(const char *file, enum plot_format *format)
{
	size_t len = strlen(file);

	if (!strcmp(file, "-"))
		*format = PLOT_DUMB;
	else if (len > 4 && !strcasecmp(file + len - 4, ".png"))
		*format = PLOT_PNG;
	else if (len > 4 && !strcasecmp(file + len - 4, ".svg"))
		*format = PLOT_SVG;
	else
		return -EINVAL;
	return 0;
}

static int draw(sqlite3 *db, const struct command *c, const struct report *r)
{
	enum plot_format format = PLOT_DUMB;
	struct text image = {0};
	char err[512];
	int status = EXIT_FINE;

	plot_format(c->plot, &format);
	if (plot_draw(db, r, &c->how, format, &image, err, sizeof(err))) {
		msg_error("%s: %s: %s", c->path, c->report, err);
		status = EXIT_FAILED;
	} else if (format == PLOT_DUMB) {
		/* gnuplot begins with a form feed. */
		size_t skip = strspn(image.text, "\f\n");

		fwrite(image.text + skip, 1, image.len - skip, stdout);
	} else {
		status = save(c->plot, &image);
	}
	text_free(&image);
	return status;
}

/* The report's SQL, or NULL with *STATUS; OWN is to be freed. */
static const char *find(const struct command *c, const struct report **r, char **own, int *status)
{
	enum plot_format format;

	if (is_file(c->report)) {
		if (c->plot) {
			*status = usage("%s: only built-in reports have a picture", c->report);
			return NULL;
		}
		*own = read_file(c->report);
		*status = EXIT_FAILED;
		return *own;
	}
	*r = report_find(c->report);
	if (!*r) {
		*status = unknown_report(c->report);
		return NULL;
	}
	if (c->plot && !(*r)->gp) {
		*status = usage("there is no picture of report \"%s\"", c->report);
		return NULL;
	}
	if (c->plot && plot_format(c->plot, &format)) {
		*status = usage("--plot takes a name that ends in .png or .svg, or -, not \"%s\"",
				c->plot);
		return NULL;
	}
	return (*r)->sql;
}

/* Gives what WHAT has made to the file of -o, or prints it; RET and ERR came of making it. */
static int give(const struct command *c, const char *what, int ret, struct text *made,
		const char *err)
{
	int status = EXIT_FINE;

	if (ret) {
		msg_error("%s: %s: %s", c->path, what, err);
		status = EXIT_FAILED;
	} else if (c->output) {
		status = save(c->output, made);
	} else {
		fwrite(made->text, 1, made->len, stdout);
	}
	text_free(made);
	return status;
}

static int write_page(sqlite3 *db, const struct command *c)
{
	struct text page = {0};
	char err[512] = "";
	int ret = html_page(db, c->path, &c->how, &page, err, sizeof(err));

	return give(c, "html", ret, &page, err);
}

static int write_preset(sqlite3 *db, const struct command *c)
{
	struct text preset = {0};
	char err[512] = "";
	int ret = preset_make(db, c->how.trace, &preset, err, sizeof(err));

	return give(c, "preset", ret, &preset, err);
}

static int run_compare(struct command *c)
{
	struct compare_side sides[2] = {
		{.path = c->path, .trace = c->traces[0], .policy = c->policies[0]},
		{.path = c->other, .trace = c->traces[1], .policy = c->policies[1]},
	};
	struct compare_how how = {
		.report = c->how,
		.per_second = c->per_second,
		.rules = c->rules,
		.nr_rules = c->nr_rules,
	};
	struct text failed = {0};
	char err[512] = "";
	int status = EXIT_FAILED, ret;

	for (int i = 0; i < 2; i++) {
		struct compare_side *s = &sides[i];

		if (db_open(s->path, &s->db, err, sizeof(err))) {
			msg_error("%s: %s", s->path, err);
			goto out;
		}
		ret = db_check(s->db, s->trace, s->policy, err, sizeof(err));
		if (ret) {
			msg_error("%s: %s", s->path, err);
			status = ret == -ENOENT ? EXIT_USAGE : EXIT_FAILED;
			goto out;
		}
	}
	ret = compare_run(&sides[0], &sides[1], &how, stdout, &failed, err, sizeof(err));
	if (ret) {
		msg_error("compare: %s", err);
		status = ret == -ENOENT ? EXIT_USAGE : EXIT_FAILED;
	} else {
		status = failed.len ? EXIT_FAILED : EXIT_FINE;
	}
	for (char *line = failed.text, *end; line && *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		msg_error("%s", line);
	}
out:
	sqlite3_close(sides[0].db);
	sqlite3_close(sides[1].db);
	text_free(&failed);
	return status;
}

/* Reads a list and says what is wrong with it. Returns an exit status. */
static int read_manifest(const char *path, bool files, struct manifest *m)
{
	struct text faults = {0};
	int ret = manifest_read(path, files, m, &faults);

	if (faults.len)
		fputs(faults.text, stderr);
	else if (ret)
		msg_error("%s: %s", path, strerror(-ret));
	text_free(&faults);
	return ret ? EXIT_FAILED : EXIT_FINE;
}

static int print_manifest(const char *path)
{
	struct manifest m;
	int status = read_manifest(path, true, &m);

	for (size_t i = 0; !status && i < m.nr; i++)
		printf("%016" PRIx64 "\t%" PRId64 "\t%" PRId64 ".%09" PRId64 "\t%s\t%s\t%s\n",
		       m.rows[i].id, m.rows[i].bytes, m.rows[i].mtime_ns / 1000000000,
		       m.rows[i].mtime_ns % 1000000000, m.rows[i].host, m.rows[i].recording,
		       m.rows[i].path);
	manifest_free(&m);
	return status;
}

static void show_progress(size_t done, size_t all)
{
	msg_progress("merge: %zu of %zu recordings", done, all);
}

static int run_merge(struct command *c)
{
	struct merge_how how = {.out = c->path, .parts = c->parts, .nr_parts = c->nr_parts,
				.progress = show_progress};
	struct manifest m = {0};
	struct text missing = {0};
	char err[1024] = "";
	int status = c->manifest ? read_manifest(c->manifest, false, &m) : EXIT_FINE;

	how.fleet = c->manifest ? &m : NULL;
	if (!status) {
		int ret = merge_run(&how, &missing, err, sizeof(err));

		msg_progress_end();
		if (ret)
			msg_error("%s", err);
		status = ret ? EXIT_FAILED : missing.len ? EXIT_INCOMPLETE : EXIT_FINE;
	}
	for (char *line = missing.text, *end; line && *line && status != EXIT_FAILED;
	     line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		msg_warn("missing: %s", line);
	}
	text_free(&missing);
	manifest_free(&m);
	return status;
}

static int run(struct command *c)
{
	bool page = is_report(c, "html"), preset = is_report(c, "preset");
	const struct report *r = NULL;
	char *own = NULL;
	sqlite3 *db = NULL;
	char err[512] = "";
	int status = EXIT_FAILED;
	const char *sql = page || preset ? NULL : find(c, &r, &own, &status);

	if (!sql && !page && !preset)
		return status;
	if (db_open(c->path, &db, err, sizeof(err))) {
		msg_error("%s: %s", c->path, err);
		goto out;
	}
	int ret = db_check(db, c->how.trace, c->how.policy, err, sizeof(err));
	if (ret) {
		msg_error("%s: %s", c->path, err);
		status = ret == -ENOENT ? EXIT_USAGE : EXIT_FAILED;
		goto out;
	}
	ret = c->nr_costs ? reprice(&db, c->path, c->costs, c->nr_costs, err, sizeof(err)) : 0;
	if (ret) {
		msg_error("%s", err);
		status = ret == -EIO || ret == -ENOMEM ? EXIT_FAILED : EXIT_USAGE;
		goto out;
	}
	if (preset || page || c->plot) {
		status = preset ? write_preset(db, c) : page ? write_page(db, c) : draw(db, c, r);
		goto out;
	}
	ret = report_run(db, c->report, sql, &c->how, stdout, err, sizeof(err));
	status = !ret ? EXIT_FINE : ret == -ENOENT ? EXIT_USAGE : EXIT_FAILED;
	if (ret && own)
		msg_error("%s: %s", c->report, err);
	else if (ret)
		msg_error("%s: report %s: %s", c->path, c->report, err);
out:
	sqlite3_close(db);
	free(own);
	return status;
}

int main(int argc, char **argv)
{
	struct command c = {.how = {.limit = -1}};

	msg_program = "tlbreport";
	/* Only for the widths of characters; numbers and order never follow a locale. */
	setlocale(LC_CTYPE, "C.UTF-8");
	c.how.width = terminal_width();
	int status = parse(argc, argv, &c);
	if (status < 0 && c.list) {
		status = print_manifest(c.path);
	} else if (status < 0 && c.merge) {
		status = run_merge(&c);
	} else if (status < 0 && c.compare) {
		status = run_compare(&c);
	} else if (status < 0) {
		if (!c.report)
			c.report = c.plot ? "cost" : "overview";
		status = run(&c);
	}
	return msg_status(status);
}
