// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/plot.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/db.h"

extern char **environ;

/*
 * Names come from recordings. None of these characters survives, so that no name can end a string,
 * run a command (gnuplot's back quotes) or start an escape.
 */
static void add_name(struct text *t, const char *s, size_t len)
{
	size_t from = t->len;

	text_add_clean(t, s, len);
	for (size_t i = from; i < t->len; i++)
		if (strchr("\"`'\\$@", t->text[i]))
			t->text[i] = t->text[i] == '\\' ? '/' : t->text[i] == '@' ? '_' : ' ';
}

struct panels {
	struct text data, titles; /* gnuplot text */
	struct text *series;
	size_t nr, rows, all_rows, nr_series;
	size_t widest; /* columns that the widest text in the first column takes */
};

/* The number of a series, from 1; 0 if memory is out. */
static size_t series_number(struct panels *p, const char *name)
{
	size_t i = 0;

	while (i < p->nr_series && strcmp(p->series[i].text, name))
		i++;
	if (i == p->nr_series) {
		struct text *grown = realloc(p->series, (i + 1) * sizeof(*grown));
		struct text copy = {0};

		if (!grown)
			return 0;
		p->series = grown;
		text_add(&copy, name, strlen(name));
		if (!copy.text)
			return 0;
		p->series[p->nr_series++] = copy;
	}
	return i + 1;
}

static void add_row(struct panels *p, sqlite3_stmt *stmt)
{
	for (int i = 1; i < sqlite3_column_count(stmt); i++) {
		if (i > 1)
			text_add(&p->data, " ", 1);
		if (i == 1 && !strcmp(sqlite3_column_name(stmt, i), "series")) {
			const char *name = (const char *)sqlite3_column_text(stmt, i);

			text_addf(&p->data, "%zu", series_number(p, name ? name : ""));
			continue;
		}
		switch (sqlite3_column_type(stmt, i)) {
		case SQLITE_NULL:
			text_addf(&p->data, "NaN");
			break;
		case SQLITE_INTEGER:
		case SQLITE_FLOAT:
			text_addf(&p->data, "%.17g", sqlite3_column_double(stmt, i));
			break;
		default: {
			text_add(&p->data, "\"", 1);
			size_t from = p->data.len;
			add_name(&p->data, (const char *)sqlite3_column_text(stmt, i),
				 (size_t)sqlite3_column_bytes(stmt, i));
			size_t width = text_width(p->data.text + from, p->data.len - from);
			if (i == 1 && width > p->widest)
				p->widest = width;
			text_add(&p->data, "\"", 1);
		}
		}
	}
	text_add(&p->data, "\n", 1);
}

static int read_panels(struct panels *p, sqlite3_stmt *stmt)
{
	struct text last = {0};
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		name = name ? name : "";
		if (!p->nr || !last.text || strcmp(name, last.text)) {
			if (p->nr) {
				text_addf(&p->data, "\n\n");
				text_addf(&p->titles, "panel_rows[%zu] = %zu\n", p->nr, p->rows);
			}
			p->rows = 0;
			p->nr++;
			text_addf(&p->titles, "panel_title[%zu] = '", p->nr);
			add_name(&p->titles, name, strlen(name));
			text_addf(&p->titles, "'\n");
			last.len = 0;
			text_add(&last, name, strlen(name));
		}
		add_row(p, stmt);
		p->rows++;
		p->all_rows++;
	}
	text_addf(&p->titles, "panel_rows[%zu] = %zu\n", p->nr, p->rows);
	text_free(&last);
	return rc == SQLITE_DONE ? 0 : -EIO;
}

/* Heights of a panel as NAME.gp states them. */
static bool stated(const char *gp, size_t *pixels, size_t *lines)
{
	static const char mark[] = "\n# panel: ";
	const char *at = strstr(gp, mark);

	return at && sscanf(at + sizeof(mark) - 1, "%zu %zu", pixels, lines) == 2;
}

static void add_script(struct text *t, const struct panels *p, const char *gp,
		       enum plot_format format, size_t width)
{
	static const char *const names[] = {"png", "svg", "dumb"};
	size_t pixels = 150 * p->nr + 60 * p->all_rows;
	size_t lines = 8 * p->nr + 3 * p->all_rows;

	if (stated(gp, &pixels, &lines)) {
		pixels *= p->nr;
		lines *= p->nr;
	}
	/* An image of unbounded height is a file that nothing opens. */
	pixels = pixels > 12000 ? 12000 : pixels < 300 ? 300 : pixels;
	switch (format) {
	case PLOT_PNG:
		text_addf(t,
			  "if (strstrt(GPVAL_TERMINALS, ' pngcairo ')) {\n"
			  "set terminal pngcairo noenhanced font 'DejaVu Sans,11' size 1000,%zu\n"
			  "} else {\nset terminal png noenhanced medium size 1000,%zu\n}\n",
			  pixels, pixels);
		break;
	case PLOT_SVG:
		text_addf(t,
			  "set terminal svg noenhanced dynamic font 'DejaVu "
			  "Sans,Arial,sans-serif,14' "
			  "size 1000,%zu background 'white'\n",
			  pixels);
		break;
	case PLOT_DUMB:
		text_addf(t, "set terminal dumb noenhanced mono size %zu,%zu\n", width, lines);
		break;
	}
	text_addf(t, "terminal = '%s'\ncolumns = %zu\npanels = %zu\nwidest = %zu\n", names[format],
		  width, p->nr, p->widest < 60 ? p->widest : 60);
	text_addf(t, "array panel_title[%zu]\narray panel_rows[%zu]\n", p->nr, p->nr);
	text_add(t, p->titles.text, p->titles.len);
	text_addf(t, "series = %zu\narray series_name[%zu]\n", p->nr_series,
		  p->nr_series ? p->nr_series : 1);
	for (size_t i = 0; i < p->nr_series; i++) {
		text_addf(t, "series_name[%zu] = '", i + 1);
		add_name(t, p->series[i].text, p->series[i].len);
		text_addf(t, "'\n");
	}
	text_addf(t, "$data << EOD\n");
	text_add(t, p->data.text, p->data.len);
	text_addf(t, "EOD\n%s", gp);
}

/* A file without a name that holds T, at its beginning. Returns the descriptor or -1. */
static int memory_file(const struct text *t)
{
	int fd = memfd_create("tlbreport", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && t && done < t->len) {
		ssize_t n = write(fd, t->text + done, t->len - done);

		if (n < 0 && errno != EINTR) {
			close(fd);
			return -1;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static void read_back(int fd, struct text *t)
{
	char block[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, block, sizeof(block), at)) > 0) {
		text_add(t, block, (size_t)n);
		at += n;
	}
}

/* gnuplot quotes the whole script before it says what is wrong in the last line. */
static void add_last_line(struct text *t, const struct text *said)
{
	size_t end = said->len, begin;

	while (end && strchr(" \n", said->text[end - 1]))
		end--;
	begin = end;
	while (begin && said->text[begin - 1] != '\n')
		begin--;
	while (begin < end && said->text[begin] == ' ')
		begin++;
	if (begin < end)
		text_add_clean(t, said->text + begin, end - begin);
	else
		text_addf(t, "no output");
}

/* Files rather than pipes: gnuplot may write before it has read everything. */
static int run_gnuplot(const struct text *script, struct text *out, char *err, size_t err_size)
{
	char *argv[] = {(char[]){"gnuplot"}, (char[]){"--default-settings"}, (char[]){"-"}, NULL};
	struct text said = {0};
	posix_spawn_file_actions_t files;
	int fds[3] = {memory_file(script), memory_file(NULL), memory_file(NULL)};
	int ret = 0, status = 0;
	pid_t pid;

	if (fds[0] < 0 || fds[1] < 0 || fds[2] < 0) {
		ret = -ENOMEM;
		snprintf(err, err_size, "out of memory");
		goto out;
	}
	ret = -posix_spawn_file_actions_init(&files);
	for (int i = 0; i < 3 && !ret; i++)
		ret = -posix_spawn_file_actions_adddup2(&files, fds[i], i);
	if (!ret)
		ret = -posix_spawnp(&pid, argv[0], &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (ret) {
		if (ret == -ENOENT)
			snprintf(err, err_size,
				 "gnuplot draws the pictures, and it is not installed (Debian: "
				 "gnuplot-nox)");
		else
			snprintf(err, err_size, "gnuplot: %s", strerror(-ret));
		goto out;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			break;
	read_back(fds[1], out);
	read_back(fds[2], &said);
	if (!WIFEXITED(status) || WEXITSTATUS(status) || !out->len) {
		struct text clean = {0};

		add_last_line(&clean, &said);
		snprintf(err, err_size, "gnuplot failed: %s", clean.text ? clean.text : "?");
		text_free(&clean);
		ret = -EIO;
	}
out:
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	text_free(&said);
	return ret;
}

int plot_draw(sqlite3 *db, const struct report *r, const struct report_how *how,
	      enum plot_format format, struct text *image, char *err, size_t err_size)
{
	struct panels p = {0};
	struct text script = {0};
	struct script s = {0};
	sqlite3_stmt *stmt = NULL;
	int ret = db_narrow(db, how->trace, how->policy, err, err_size);

	if (!ret)
		ret = script_load(db, r->sql, &s, err, err_size);
	if (ret)
		goto out;
	for (size_t i = 0; i < s.nr && !stmt; i++)
		if (s.list[i].is_plot)
			stmt = s.list[i].stmt;
	if (stmt && read_panels(&p, stmt)) {
		ret = -EIO;
		snprintf(err, err_size, "%s", sqlite3_errmsg(db));
		goto out;
	}
	if (!p.nr) {
		ret = -ENODATA;
		snprintf(err, err_size, "there is nothing to draw");
		goto out;
	}
	add_script(&script, &p, r->gp, format, how->width);
	ret = run_gnuplot(&script, image, err, err_size);
out:
	script_free(&s);
	text_free(&script);
	text_free(&p.data);
	text_free(&p.titles);
	for (size_t i = 0; i < p.nr_series; i++)
		text_free(&p.series[i]);
	free(p.series);
	return ret;
}
