// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table.h"
#include "analysis/text.h"

/* One row of a plot statement: its texts and numbers in the order that struct chart names them. */
enum {
	TEXTS = 4,
	NUMBERS = 10
};

struct row {
	char *text[TEXTS]; /* never NULL; the first is the panel */
	double number[NUMBERS];
};

struct rows {
	struct row *list;
	size_t nr;
};

struct drawing {
	FILE *out;
	policy_number number;
	void *ctx;
};

struct chart {
	const char *report;
	const char *texts[TEXTS], *numbers[NUMBERS]; /* names of the columns */
	void (*draw)(struct drawing *d, const struct row *rows, size_t nr);
};

/* Measures of every chart, in units of its own: the page scales it. */
enum {
	WIDTH = 680,
	LEFT = 84,
	RIGHT = 14,
	TOP = 10,
	BOTTOM = 42
};

/* Axes ------------------------------------------------------------------------------------------
 */

struct axis {
	double from, to;   /* of the values */
	double start, end; /* of the drawing */
	bool log;
};

static double place(const struct axis *a, double v)
{
	double share;

	if (a->log)
		share = log(fmax(v, a->from) / a->from) / log(a->to / a->from);
	else
		share = (v - a->from) / (a->to - a->from);
	return a->start + share * (a->end - a->start);
}

/* 1, 2 or 5 times a power of ten, at least V. */
static double round_step(double v)
{
	double power = pow(10, floor(log10(v)));
	double m = v / power;

	return (m <= 1.0001 ? 1 : m <= 2.0001 ? 2 : m <= 5.0001 ? 5 : 10) * power;
}

/* Marks along an axis, at most as many as fit; returns how many. */
static size_t ticks(const struct axis *a, double *out, size_t most)
{
	size_t nr = 0;

	if (!a->log) {
		double step = round_step((a->to - a->from) / 5);

		for (double v = a->from; v <= a->to + step * 1e-6 && nr < most; v += step)
			out[nr++] = v;
		return nr;
	}
	double decades = log10(a->to / a->from);
	bool between = decades < 3;
	int every = (int)ceil(decades / 8);

	for (int k = (int)floor(log10(a->from)); k <= (int)ceil(log10(a->to)); k++)
		for (int m = 1; m <= 5; m += m == 2 ? 3 : 1) {
			double v = m * pow(10, k);

			if ((m > 1 && !between) || (m == 1 && every > 1 && k % every) ||
			    v < a->from * 0.999 || v > a->to * 1.001 || nr == most)
				continue;
			out[nr++] = v;
		}
	return nr;
}

static void put_number(FILE *out, enum number_kind kind, double v)
{
	struct text t = {0};

	/* 10.0 ms would claim a precision that a tick has no need for. */
	if (kind == NUMBER_NS) {
		static const char *const units[] = {"ns", "us", "ms", "s"};
		int i = 0;

		while (i < 3 && v >= 999.5) {
			v /= 1000;
			i++;
		}
		text_addf(&t, "%g %s", v, v == 0 ? "" : units[i]);
	} else if (v < 10 && v != floor(v)) {
		text_addf(&t, "%g", v);
	} else {
		number_add(&t, kind, v);
	}
	if (t.text)
		text_put(out, t.text, t.len);
	text_free(&t);
}

/* Foreign text inside an element or attribute. */
static void put_escaped(FILE *out, const char *s)
{
	table_html_string(out, s, strlen(s));
}

static void begin(FILE *out, const char *panel, const char *says, double height)
{
	fputs("<figure><figcaption>", out);
	put_escaped(out, panel);
	fprintf(out,
		"</figcaption><div class=\"scroll\" tabindex=\"0\" role=\"group\" "
		"aria-label=\"%s\">"
		"<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"",
		says, WIDTH, height);
	put_escaped(out, panel);
	fprintf(out, ": %s\">\n", says);
}

static void finish(FILE *out)
{
	fputs("</svg></div></figure>\n", out);
}

static void axis_below(FILE *out, const struct axis *x, enum number_kind kind, double top,
		       double at, const char *label)
{
	double t[40];
	size_t nr = ticks(x, t, 40);

	for (size_t i = 0; i < nr; i++) {
		double px = place(x, t[i]);

		fprintf(out,
			"<path class=\"gr\" d=\"M%.1f %.1fV%.1f\"/><text class=\"tx m\" x=\"%.1f\" "
			"y=\"%.1f\">",
			px, top, at, px, at + 15);
		put_number(out, kind, t[i]);
		fputs("</text>", out);
	}
	fprintf(out,
		"<path class=\"ax\" d=\"M%.1f %.1fH%.1f\"/><text class=\"tx m\" x=\"%.1f\" "
		"y=\"%.1f\">%s</text>\n",
		x->start, at, x->end, (x->start + x->end) / 2, at + 33, label);
}

static void axis_left(FILE *out, const struct axis *y, enum number_kind kind, double right,
		      const char *label)
{
	double t[40];
	size_t nr = ticks(y, t, 40);
	double middle = (y->start + y->end) / 2;

	for (size_t i = 0; i < nr; i++) {
		double py = place(y, t[i]);

		fprintf(out,
			"<path class=\"gr\" d=\"M%d %.1fH%.1f\"/><text class=\"tx e\" x=\"%d\" "
			"y=\"%.1f\">",
			LEFT, py, right, LEFT - 6, py + 4);
		put_number(out, kind, t[i]);
		fputs("</text>", out);
	}
	fprintf(out,
		"<path class=\"ax\" d=\"M%d %.1fV%.1f\"/><text class=\"tx m\" "
		"transform=\"rotate(-90 "
		"11 %.1f)\" x=\"11\" y=\"%.1f\">%s</text>\n",
		LEFT, y->start, y->end, middle, middle + 4, label);
}

/* The classes that make a shape one of policy N. */
static void put_class(FILE *out, const char *what, int n)
{
	if (n > 0)
		fprintf(out, " class=\"%s q p%d s%d d%d\"", what, n, (n - 1) % 6 + 1,
			(n - 1) % 5 + 1);
	else
		fprintf(out, " class=\"%s\"", what);
}

/* Cost ------------------------------------------------------------------------------------------
 *
 * Texts: panel, policy, label. Numbers: low, estimate, high, uncalibrated.
 */

static void draw_cost(struct drawing *d, const struct row *rows, size_t nr)
{
	enum {
		HIGH = 46
	};
	double largest = 0, least = INFINITY, height = TOP + (double)nr * HIGH + BOTTOM;

	for (size_t i = 0; i < nr; i++) {
		largest = fmax(largest, rows[i].number[2]);
		for (int b = 0; b < 3; b++)
			if (rows[i].number[b] > 0)
				least = fmin(least, rows[i].number[b]);
	}
	bool wide = largest > 0 && largest / least > 100;
	struct axis x = {.from = 0,
			 .to = largest > 0 ? largest * 1.05 : 1,
			 .start = 26,
			 .end = WIDTH - RIGHT - 14,
			 .log = wide};
	if (wide) {
		x.from = pow(10, floor(log10(least) - 0.05));
		x.to = largest * 1.2;
	}
	begin(d->out, rows[0].text[0], "cost of each policy, estimate and bounds", height);
	axis_below(d->out, &x, NUMBER_NS, TOP, height - BOTTOM,
		   wide ? "modelled CPU time (logarithmic); line: bounds, bar in it: estimate"
			: "modelled CPU time; line: bounds, bar: estimate");
	for (size_t i = 0; i < nr; i++) {
		const struct row *r = &rows[i];
		double y = TOP + (double)i * HIGH;
		int n = d->number(d->ctx, r->text[1]);
		static const char *const marks[] = {"lo", "es", "hi"};
		double at[3];

		for (int b = 0; b < 3; b++)
			at[b] = place(&x, r->number[b]);
		fputs("<g", d->out);
		put_class(d->out, "bar", n);
		fputs("><title>", d->out);
		put_escaped(d->out, r->text[1]);
		fputs(": ", d->out);
		put_escaped(d->out, r->text[2]);
		fprintf(d->out,
			"</title><text class=\"tx\" x=\"28\" y=\"%.1f\"><tspan class=\"b\">",
			y + 15);
		put_escaped(d->out, r->text[1]);
		fputs("</tspan> ", d->out);
		put_escaped(d->out, r->text[2]);
		fprintf(d->out, "%s</text>", r->number[3] > 0 ? ", uncalibrated" : "");
		/* A bar's length means nothing on a logarithmic axis: there a mark stands alone. */
		for (int b = 0; b < 3 && !wide; b++)
			fprintf(d->out,
				"<rect class=\"%s f%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
				"height=\"14\"/>",
				marks[b], n > 0 ? (n - 1) % 6 + 1 : 1, x.start, y + 22,
				fmax(0, at[b] - x.start));
		/* A logarithm has no zero: an arrow leads to it. */
		if (wide && r->number[0] <= 0)
			fprintf(d->out,
				"<path class=\"wh\" d=\"M%.1f %.1fl-6 5l6 5m-6 -5H%.1fm0 -5v10\"/>",
				at[0] + 6, y + 24, at[2]);
		else
			fprintf(d->out,
				"<path class=\"wh\" d=\"M%.1f %.1fH%.1fM%.1f %.1fv10M%.1f "
				"%.1fv10\"/>",
				at[0], y + 29, at[2], at[0], y + 24, at[2], y + 24);
		for (int b = 0; b < 3; b++)
			fprintf(d->out, "<path class=\"%s mk f%d\" d=\"M%.1f %.1fv16h6v-16z\"/>",
				marks[b], n > 0 ? (n - 1) % 6 + 1 : 1, at[b] - 3, y + 21);
		fputs("</g>\n", d->out);
	}
	finish(d->out);
}

/* Lines -----------------------------------------------------------------------------------------
 */

struct line {
	const char *name;
	char say[256]; /* name as the legend has it */
	const char *policy;
	bool unsafe;
};

/* The series of a panel: rows of one lie together. */
static struct line *find_lines(const struct row *rows, size_t nr, int policy, size_t *found)
{
	struct line *lines = calloc(nr, sizeof(*lines));

	*found = 0;
	for (size_t i = 0; lines && i < nr; i++)
		if (!i || strcmp(rows[i].text[1], rows[i - 1].text[1]))
			lines[(*found)++] = (struct line){.name = rows[i].text[1],
							  .policy = rows[i].text[policy]};
	return lines;
}

static void legend(struct drawing *d, const struct line *lines, size_t nr, double y)
{
	for (size_t i = 0; i < nr; i++) {
		fputs("<g", d->out);
		put_class(d->out, "key", d->number(d->ctx, lines[i].policy));
		fprintf(d->out,
			"><path class=\"ln%s\" d=\"M%d %.1fh36\"/><text class=\"tx\" x=\"%d\" "
			"y=\"%.1f\">",
			lines[i].unsafe ? " un" : "", LEFT, y + 18 * (double)i - 4, LEFT + 44,
			y + 18 * (double)i);
		put_escaped(d->out, *lines[i].say ? lines[i].say : lines[i].name);
		fputs("</text></g>\n", d->out);
	}
}

/* Texts: panel, policy. Numbers: s, flushes a second. */
static void draw_timeline(struct drawing *d, const struct row *rows, size_t nr)
{
	size_t nr_lines;
	struct line *lines = find_lines(rows, nr, 1, &nr_lines);
	double most = 0, last = 0, room = 18 * (double)nr_lines, bottom = TOP + room + 170;

	if (!lines)
		return;
	for (size_t i = 0; i < nr; i++) {
		most = fmax(most, rows[i].number[1]);
		last = fmax(last, rows[i].number[0]);
	}
	struct axis x = {.from = 0, .to = last > 0 ? last : 1, .start = LEFT, .end = WIDTH - RIGHT};
	struct axis y = {.from = 0,
			 .to = most > 0 ? most * 1.05 : 1,
			 .start = bottom,
			 .end = TOP + room + 6};

	begin(d->out, rows[0].text[0], "invalidations a second over time", bottom + BOTTOM);
	legend(d, lines, nr_lines, TOP + 8);
	axis_left(d->out, &y, NUMBER_COUNT, x.end, "flushes a second, 1/s");
	axis_below(d->out, &x, NUMBER_COUNT, y.end, bottom, "time since the recording began, s");
	for (size_t i = 0, end; i < nr; i = end) {
		double shown = NAN;

		fputs("<path", d->out);
		put_class(d->out, "ln", d->number(d->ctx, rows[i].text[1]));
		for (end = i; end < nr && !strcmp(rows[end].text[1], rows[i].text[1]); end++) {
			double v = place(&y, rows[end].number[1]),
			       at = place(&x, rows[end].number[0]);

			if (end == i)
				fprintf(d->out, " d=\"M%.1f %.1f", at, v);
			else if (fabs(v - shown) >= 0.05)
				fprintf(d->out, "H%.1fV%.1f", at, v);
			else
				continue;
			shown = v;
		}
		fprintf(d->out, "H%.1f\"><title>", place(&x, rows[end - 1].number[0]));
		put_escaped(d->out, rows[i].text[1]);
		fputs("</title></path>\n", d->out);
	}
	finish(d->out);
	free(lines);
}

/* Texts: panel, series, policy, kind. Numbers: ns, entries, entries in all. */
static void draw_exposures(struct drawing *d, const struct row *rows, size_t nr)
{
	size_t nr_lines, at_line = 0;
	struct line *lines = find_lines(rows, nr, 2, &nr_lines);
	double room = 18 * (double)nr_lines, bottom = TOP + room + 220;
	double shortest = INFINITY, longest = 0, most = 1;

	if (!lines)
		return;
	for (size_t i = 0; i < nr; i++) {
		shortest = fmin(shortest, rows[i].number[0]);
		longest = fmax(longest, rows[i].number[0]);
		most = fmax(most, rows[i].number[1]);
		if (!i || strcmp(rows[i].text[1], rows[i - 1].text[1])) {
			struct text all = {0};

			number_add(&all, NUMBER_COUNT, rows[i].number[2]);
			snprintf(lines[at_line].say, sizeof(lines[at_line].say), "%s (%s in all)",
				 rows[i].text[1], all.text ? all.text : "?");
			lines[at_line++].unsafe = strcmp(rows[i].text[3], "benign") &&
						  strcmp(rows[i].text[3], "hint");
			text_free(&all);
		}
	}
	struct axis x = {.from = shortest / 1.3,
			 .to = longest * 1.1,
			 .start = LEFT,
			 .end = WIDTH - RIGHT,
			 .log = true};
	struct axis y = {
		.from = 0.8, .to = most * 1.2, .start = bottom, .end = TOP + room + 6, .log = true};

	begin(d->out, rows[0].text[0],
	      "entries that stay stale for at least so long, at the high bound", bottom + BOTTOM);
	legend(d, lines, nr_lines, TOP + 8);
	axis_left(d->out, &y, NUMBER_COUNT, x.end, "entries (logarithmic)");
	axis_below(
		d->out, &x, NUMBER_NS, y.end, bottom,
		"time that an entry stays stale (logarithmic)");
	at_line = 0;
	for (size_t i = 0, end; i < nr; i = end, at_line++) {
		fputs("<path", d->out);
		put_class(d->out, lines[at_line].unsafe ? "ln un" : "ln",
			  d->number(d->ctx, rows[i].text[2]));
		fprintf(d->out, " d=\"M%.1f %.1f", place(&x, rows[i].number[0]),
			place(&y, rows[i].number[1]));
		for (end = i + 1; end < nr && !strcmp(rows[end].text[1], rows[i].text[1]); end++)
			fprintf(d->out, "L%.1f %.1f", place(&x, rows[end].number[0]),
				place(&y, rows[end].number[1]));
		fprintf(d->out, "V%.1f\"><title>", bottom);
		put_escaped(d->out, rows[i].text[1]);
		fputs("</title></path>\n", d->out);
	}
	finish(d->out);
	free(lines);
}

/* Heat ------------------------------------------------------------------------------------------
 *
 * Texts: panel, label. Numbers: place, cell, cells, decisions a page.
 */

static int heat(double v, double least, double most)
{
	double share = most > least ? log(v / least) / log(most / least) : 1;

	return 1 + (int)fmin(7, fmax(0, floor(share * 8)));
}

/* What the shades mean: WHAT, and the boxes from AT on. */
static void heat_scale(FILE *out, double start, const char *what, int at, double least, double most)
{
	fprintf(out, "<text class=\"tx\" x=\"%.1f\" y=\"%d\">%s (logarithmic): ", start, TOP + 12,
		what);
	put_number(out, NUMBER_COUNT, least);
	fputs("</text>", out);
	for (int h = 1; h <= 8; h++)
		fprintf(out,
			"<rect class=\"h%d\" x=\"%d\" y=\"%d\" width=\"20\" height=\"12\"/>", h,
			at + 20 * h, TOP + 2);
	fprintf(out, "<text class=\"tx\" x=\"%d\" y=\"%d\">", at + 188, TOP + 12);
	put_number(out, NUMBER_COUNT, most);
	fputs("</text>\n", out);
}

static void draw_pages(struct drawing *d, const struct row *rows, size_t nr)
{
	enum {
		HIGH = 30
	};
	double least = INFINITY, most = 0, places = 0;
	double start = 26, span = WIDTH - RIGHT - 40;

	for (size_t i = 0; i < nr; i++) {
		least = fmin(least, rows[i].number[3]);
		most = fmax(most, rows[i].number[3]);
		places = fmax(places, rows[i].number[0]);
	}
	double bottom = TOP + 34 + places * HIGH;
	struct axis x = {.from = 0, .to = 100, .start = start, .end = start + span};

	begin(d->out, rows[0].text[0], "decisions a page in the hottest regions", bottom + BOTTOM);
	heat_scale(d->out, start, "decisions a page", 280, least, most);
	axis_below(d->out, &x, NUMBER_COUNT, TOP + 30, bottom,
		   "position in the region, % of its size");
	for (size_t i = 0, end; i < nr; i = end) {
		double y = TOP + 34 + (rows[i].number[0] - 1) * HIGH;

		if (!i || rows[i].number[0] != rows[i - 1].number[0]) {
			fprintf(d->out, "<text class=\"tx sm\" x=\"%.1f\" y=\"%.1f\">", start,
				y + 11);
			put_escaped(d->out, rows[i].text[1]);
			fputs("</text>", d->out);
			fprintf(d->out,
				"<rect class=\"bg\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
				"height=\"11\"/>",
				start, y + 15, span);
		}
		int h = heat(rows[i].number[3], least, most);
		for (end = i + 1; end < nr && rows[end].number[0] == rows[i].number[0] &&
				  rows[end].number[1] == rows[end - 1].number[1] + 1 &&
				  heat(rows[end].number[3], least, most) == h;)
			end++;
		double from = rows[i].number[1] / rows[i].number[2];
		double to = (rows[end - 1].number[1] + 1) / rows[i].number[2];
		fprintf(d->out,
			"<rect class=\"h%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"11\"/>",
			h, start + span * from, y + 15, fmax(0.5, span * (to - from)));
	}
	finish(d->out);
}

/* Texts: panel, label, policy. Numbers: see enum. Rows lie together by region, rows of it and time.
 */

enum {
	HEAT_ABOVE,
	HEAT_HIGH,
	HEAT_ROW,
	HEAT_ROW_HIGH,
	HEAT_AT_S,
	HEAT_WIDTH_S,
	HEAT_PER_S,
	HEAT_SPAN_S,
	HEAT_LEAST,
	HEAT_MOST,
	HEAT_ROW_PIXELS = 8,
	HEAT_LABEL_PIXELS = 18
};

/* The runs of cells of one shade, as one path: a cell of its own would be much longer. */
static void put_shade(FILE *out, int shade, const struct row *rows, size_t nr, const struct axis *x,
		      double top, double least, double most)
{
	bool begun = false;
	double regions = 0;

	for (size_t i = 0, end; i < nr; i = end) {
		const double *v = rows[i].number;

		regions += i && v[HEAT_ABOVE] != rows[i - 1].number[HEAT_ABOVE];
		end = i + 1;
		if (v[HEAT_PER_S] <= 0 || heat(v[HEAT_PER_S], least, most) != shade)
			continue;
		double to = v[HEAT_AT_S] + v[HEAT_WIDTH_S];
		for (; end < nr && rows[end].number[HEAT_ROW] == v[HEAT_ROW] &&
		       fabs(rows[end].number[HEAT_AT_S] - to) < v[HEAT_WIDTH_S] / 2 &&
		       heat(rows[end].number[HEAT_PER_S], least, most) == shade;
		     end++)
			to += v[HEAT_WIDTH_S];
		if (!begun)
			fprintf(out, "<path class=\"h%d\" d=\"", shade);
		begun = true;
		double from = place(x, v[HEAT_AT_S]), high = v[HEAT_ROW_HIGH] * HEAT_ROW_PIXELS;
		double y = top + v[HEAT_ROW] * HEAT_ROW_PIXELS + (regions + 1) * HEAT_LABEL_PIXELS;
		fprintf(out, "M%.1f %.1fV%.1fH%.1fV%.1fZ", from, y, y + high,
			fmin(place(x, to), x->end), y);
	}
	if (begun)
		fputs("\"/>\n", out);
}

static void draw_heat(struct drawing *d, const struct row *rows, size_t nr)
{
	double least = rows[0].number[HEAT_LEAST], most = rows[0].number[HEAT_MOST];
	double lines = 0, regions = 1, start = 26, region = 0;
	struct axis x = {.to = rows[0].number[HEAT_SPAN_S], .start = start, .end = WIDTH - RIGHT};
	int n = d->number(d->ctx, rows[0].text[2]);

	for (size_t i = 0; i < nr; i++) {
		const double *v = rows[i].number;

		lines = fmax(lines, v[HEAT_ABOVE] + v[HEAT_HIGH]);
		regions += i && v[HEAT_ABOVE] != rows[i - 1].number[HEAT_ABOVE];
	}
	x.to = x.to > 0 ? x.to : 1;
	double top = TOP + 26, bottom = top + lines * HEAT_ROW_PIXELS + regions * HEAT_LABEL_PIXELS;

	fputs("<div", d->out);
	put_class(d->out, "heat", n);
	fputs(">", d->out);
	begin(d->out, rows[0].text[0], "broadcasts in the hottest regions of memory over time",
	      bottom + BOTTOM);
	heat_scale(d->out, start, "broadcasts a second", 290, least, most);
	axis_below(d->out, &x, NUMBER_COUNT, top, bottom, "time since the recording began, s");
	for (size_t i = 0; i < nr; i++) {
		const double *v = rows[i].number;

		if (i && v[HEAT_ABOVE] == rows[i - 1].number[HEAT_ABOVE])
			continue;
		double y = top + v[HEAT_ABOVE] * HEAT_ROW_PIXELS + region++ * HEAT_LABEL_PIXELS;

		fprintf(d->out, "<text class=\"tx sm\" x=\"%.1f\" y=\"%.1f\">", start, y + 14);
		put_escaped(d->out, rows[i].text[1]);
		fprintf(d->out,
			"</text><rect class=\"bg\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			"height=\"%.1f\"/>",
			start, y + HEAT_LABEL_PIXELS, x.end - start,
			v[HEAT_HIGH] * HEAT_ROW_PIXELS);
	}
	for (int h = 1; h <= 8; h++)
		put_shade(d->out, h, rows, nr, &x, top, least, most);
	finish(d->out);
	fputs("</div>\n", d->out);
}

/* Fleets ----------------------------------------------------------------------------------------
 */

#define PERCENT 100

/* One line of rows I to the end of its series; AT picks the number that is its height. */
static size_t fleet_line(struct drawing *d, const struct row *rows, size_t nr, size_t i,
			 const struct axis *x, const struct axis *y, int at, bool steps)
{
	size_t end;

	fputs("<path", d->out);
	put_class(d->out, "ln", d->number(d->ctx, rows[i].text[1]));
	for (end = i; end < nr && !strcmp(rows[end].text[1], rows[i].text[1]); end++) {
		double px = place(x, rows[end].number[0] * (steps ? PERCENT : 1)),
		       py = place(y, rows[end].number[at] * PERCENT);

		if (end == i)
			fprintf(d->out, " d=\"M%.1f %.1f", px, steps ? y->start : py);
		if (steps)
			fprintf(d->out, "H%.1fV%.1f", px, py);
		else if (end > i)
			fprintf(d->out, "L%.1f %.1f", px, py);
	}
	fputs("\"><title>", d->out);
	put_escaped(d->out, rows[i].text[1]);
	fputs("</title></path>\n", d->out);
	return end;
}

/* Texts: panel, series. Numbers: share, part of the hosts below. */
static void draw_fleet(struct drawing *d, const struct row *rows, size_t nr)
{
	size_t nr_lines;
	struct line *lines = find_lines(rows, nr, 1, &nr_lines);
	double room = 18 * (double)nr_lines, bottom = TOP + room + 220;
	double least = INFINITY, most = 0;

	if (!lines)
		return;
	for (size_t i = 0; i < nr; i++) {
		most = fmax(most, rows[i].number[0] * PERCENT);
		if (rows[i].number[0] > 0)
			least = fmin(least, rows[i].number[0] * PERCENT);
	}
	bool wide = most > 0 && most / least > 100;
	struct axis x = {.from = wide ? least / 1.3 : 0,
			 .to = most > 0 ? most * 1.1 : 1,
			 .start = LEFT,
			 .end = WIDTH - RIGHT,
			 .log = wide};
	struct axis y = {.from = 0, .to = PERCENT, .start = bottom, .end = TOP + room + 6};

	begin(d->out, rows[0].text[0], "part of the hosts that stay below a share of CPU time",
	      bottom + BOTTOM);
	legend(d, lines, nr_lines, TOP + 8);
	axis_left(d->out, &y, NUMBER_COUNT, x.end, "hosts that stay below, %");
	axis_below(d->out, &x, NUMBER_COUNT, y.end, bottom,
		   wide ? "modelled cost, % of CPU time (logarithmic)"
			: "modelled cost, % of CPU time");
	for (size_t i = 0; i < nr;)
		i = fleet_line(d, rows, nr, i, &x, &y, 1, true);
	finish(d->out);
	free(lines);
}

/* Texts: panel, series. Numbers: hosts, low, mean, high. */
static void draw_sampling(struct drawing *d, const struct row *rows, size_t nr)
{
	size_t nr_lines;
	struct line *lines = find_lines(rows, nr, 1, &nr_lines);
	double room = 18 * (double)nr_lines, bottom = TOP + room + 220;
	double least = 0, most = 0, fewest = INFINITY, hosts = 1;

	if (!lines)
		return;
	for (size_t i = 0; i < nr; i++) {
		least = fmin(least, rows[i].number[1] * PERCENT);
		most = fmax(most, rows[i].number[3] * PERCENT);
		fewest = fmin(fewest, rows[i].number[0]);
		hosts = fmax(hosts, rows[i].number[0]);
	}
	struct axis x = {
		.from = fewest, .to = hosts, .start = LEFT, .end = WIDTH - RIGHT, .log = true};
	struct axis y = {.from = least,
			 .to = most > least ? most : least + 1,
			 .start = bottom,
			 .end = TOP + room + 6};

	begin(d->out, rows[0].text[0],
	      "the mean change of CPU time lies between the lines in 95 of 100 cases",
	      bottom + BOTTOM);
	legend(d, lines, nr_lines, TOP + 8);
	axis_left(d->out, &y, NUMBER_COUNT, x.end, "mean change, % of CPU time");
	axis_below(d->out, &x, NUMBER_COUNT, y.end, bottom, "hosts drawn (logarithmic)");
	for (size_t i = 0, end; i < nr; i = end) {
		end = fleet_line(d, rows, nr, i, &x, &y, 1, false);
		fleet_line(d, rows, nr, i, &x, &y, 3, false);
	}
	finish(d->out);
	free(lines);
}

/* Reading ---------------------------------------------------------------------------------------
 */

static const struct chart charts[] = {
	{"cost",
	 {"panel", "policy", "label"},
	 {"low_ns", "estimate_ns", "high_ns", "uncalibrated"},
	 draw_cost},
	{"timeline", {"panel", "series"}, {"at_s", "per_s"}, draw_timeline},
	{"exposures",
	 {"panel", "series", "policy", "kind"},
	 {"ns", "entries", "all_entries"},
	 draw_exposures},
	{"pages", {"panel", "label"}, {"place", "cell", "cells", "per_page"}, draw_pages},
	{"heat",
	 {"panel", "label", "policy"},
	 {"above", "high", "row", "row_high", "at_s", "width_s", "per_s", "span_s",
	  "least_per_s", "most_per_s"},
	 draw_heat},
	{"fleet", {"panel", "series"}, {"share", "below"}, draw_fleet},
	{"sampling",
	 {"panel", "series"},
	 {"n", "low_share", "mean_share", "high_share"},
	 draw_sampling},
};

static const struct chart *find_chart(const char *report)
{
	for (size_t i = 0; i < sizeof(charts) / sizeof(charts[0]); i++)
		if (!strcmp(charts[i].report, report))
			return &charts[i];
	return NULL;
}

bool svg_has(const char *report)
{
	return find_chart(report) != NULL;
}

static int column_at(sqlite3_stmt *stmt, const char *name)
{
	for (int i = 0; name && i < sqlite3_column_count(stmt); i++)
		if (!strcmp(sqlite3_column_name(stmt, i), name))
			return i;
	return -1;
}

static int read_rows(struct rows *rows, const struct chart *c, sqlite3_stmt *stmt)
{
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct row *grown = rows->list;

		/* Sizes that double: powers of two from 64. */
		if (!rows->nr || (rows->nr >= 64 && !(rows->nr & (rows->nr - 1))))
			grown = realloc(rows->list,
					(rows->nr ? rows->nr * 2 : 64) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		rows->list = grown;
		struct row *r = &grown[rows->nr];
		*r = (struct row){0};
		rows->nr++;
		for (int i = 0; i < TEXTS; i++) {
			int col = column_at(stmt, c->texts[i]);
			const char *s =
				col < 0 ? NULL : (const char *)sqlite3_column_text(stmt, col);

			r->text[i] = strdup(s ? s : "");
			if (!r->text[i])
				return -ENOMEM;
		}
		for (int i = 0; i < NUMBERS; i++) {
			int col = column_at(stmt, c->numbers[i]);

			r->number[i] = col < 0 ? 0 : sqlite3_column_double(stmt, col);
			if (!isfinite(r->number[i]))
				r->number[i] = 0;
		}
	}
	return rc == SQLITE_DONE ? 0 : -EIO;
}

int svg_draw(FILE *out, const char *report, sqlite3_stmt *stmt, policy_number number, void *ctx)
{
	const struct chart *c = find_chart(report);
	struct drawing d = {.out = out, .number = number, .ctx = ctx};
	struct rows rows = {0};
	int ret = c ? read_rows(&rows, c, stmt) : -ENOENT;

	for (size_t i = 0, end; !ret && i < rows.nr; i = end) {
		for (end = i + 1;
		     end < rows.nr && !strcmp(rows.list[end].text[0], rows.list[i].text[0]);)
			end++;
		c->draw(&d, rows.list + i, end - i);
	}
	for (size_t i = 0; i < rows.nr; i++)
		for (int t = 0; t < TEXTS; t++)
			free(rows.list[i].text[t]);
	free(rows.list);
	return ret;
}
