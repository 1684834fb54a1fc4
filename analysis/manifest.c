// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/manifest.h"
#include "common/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a column holds. */
enum field {
	FIELD_PATH,
	FIELD_HOST,
	FIELD_WEIGHT,
	FIELD_RECORDING,
	FIELD_PART,
	FIELD_REASON,
	FIELD_LABEL
};

static const char *const field_names[] = {"path", "host", "weight", "recording", "part", "reason"};

struct reader {
	const char *path;
	struct manifest *m;
	struct text *faults;
	enum field *fields;
	size_t nr_fields, max_rows;
	bool faulty;
};

static void fault(struct reader *r, unsigned int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void fault(struct reader *r, unsigned int line, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	r->faulty = true;
	text_add_clean(r->faults, r->path, strlen(r->path));
	if (line)
		text_addf(r->faults, ":%u", line);
	text_addf(r->faults, ": ");
	text_add_clean(r->faults, text, strlen(text));
	text_add(r->faults, "\n", 1);
}

static int slurp(struct reader *r)
{
	struct text t = {0};
	char block[16384];
	FILE *in = fopen(r->path, "re");
	size_t n;

	if (!in)
		goto fail;
	text_add(&t, "", 0);
	while ((n = fread(block, 1, sizeof(block), in)) > 0)
		text_add(&t, block, n);
	if (ferror(in))
		goto fail;
	fclose(in);
	r->m->text = t.text ? t.text : strdup("");
	if (r->m->text && strlen(r->m->text) == t.len)
		return 0;
	fault(r, 0, "not a text file: it holds a zero byte");
	return -EINVAL;
fail:
	fault(r, 0, "%s", strerror(errno));
	text_free(&t);
	if (in)
		fclose(in);
	return -EINVAL;
}

/* Cuts LINE at its tabs; at most MAX fields. Returns how many there are. */
static size_t split(char *line, char **out, size_t max)
{
	size_t n = 0;

	for (char *tab = line; tab; n++) {
		char *at = tab;

		tab = strchr(at, '\t');
		if (tab)
			*tab++ = '\0';
		if (n < max)
			out[n] = at;
	}
	return n;
}

static size_t count_fields(const char *line)
{
	size_t n = 1;

	for (; *line; line++)
		n += *line == '\t';
	return n;
}

static int read_header(struct reader *r, unsigned int line, char *text)
{
	size_t nr = count_fields(text);
	char **names = calloc(nr, sizeof(*names));
	bool seen[FIELD_LABEL] = {false};

	r->fields = calloc(nr, sizeof(*r->fields));
	r->m->labels = calloc(nr, sizeof(*r->m->labels));
	if (!names || !r->fields || !r->m->labels) {
		free(names);
		return -ENOMEM;
	}
	r->nr_fields = split(text, names, nr);
	for (size_t i = 0; i < nr; i++) {
		enum field f = FIELD_PATH;

		while (f < FIELD_LABEL && strcmp(names[i], field_names[f]) != 0)
			f++;
		r->fields[i] = f;
		if (!*names[i])
			fault(r, line, "column %zu has no name", i + 1);
		for (size_t k = 0; k < i; k++)
			if (*names[i] && !strcmp(names[i], names[k]))
				fault(r, line, "column \"%s\" is there twice", names[i]);
		if (f == FIELD_LABEL)
			r->m->labels[r->m->nr_labels++] = names[i];
		else
			seen[f] = true;
	}
	for (enum field f = FIELD_PATH; f <= FIELD_HOST; f++)
		if (!seen[f])
			fault(r, line,
			      "there is no column \"%s\"; the first line must name the columns, "
			      "separated by tabs",
			      field_names[f]);
	free(names);
	return r->faulty ? -EINVAL : 0;
}

/* PATH as it is meant: from the folder of the list. */
static char *resolve(const struct reader *r, const char *path)
{
	const char *slash = strrchr(r->path, '/');
	char *out;

	if (*path == '/' || !*path || !slash)
		return strdup(path);
	if (asprintf(&out, "%.*s/%s", (int)(slash - r->path), r->path, path) < 0)
		return NULL;
	return out;
}

/* FNV-1a. */
static uint64_t id_of(const char *path)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	return h;
}

static void read_weight(struct reader *r, struct manifest_row *row, const char *text)
{
	char *end;

	row->weight = strtod(text, &end);
	if (!*text || *end || !isfinite(row->weight) || row->weight <= 0)
		fault(r, row->line, "weight \"%s\" is not a number above 0", text);
}

static int read_row(struct reader *r, unsigned int line, char *text)
{
	struct manifest *m = r->m;
	struct manifest_row *row;
	char *values[r->nr_fields];
	size_t nr = split(text, values, r->nr_fields), label = 0;

	if (nr != r->nr_fields) {
		fault(r, line, "%zu fields, but the first line names %zu columns", nr,
		      r->nr_fields);
		return 0;
	}
	struct manifest_row *rows = grow_list(m->rows, m->nr, &r->max_rows, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	m->rows = rows;
	row = &m->rows[m->nr++];
	*row = (struct manifest_row){
		.line = line, .weight = 1, .host = "", .recording = "", .reason = ""};
	row->labels = calloc(m->nr_labels + 1, sizeof(*row->labels));
	if (!row->labels)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		switch (r->fields[i]) {
		case FIELD_PATH:
			if (!*values[i])
				fault(r, line, "the path is empty");
			row->path = resolve(r, values[i]);
			break;
		case FIELD_HOST:
			if (!*values[i])
				fault(r, line, "the host is empty");
			row->host = values[i];
			break;
		case FIELD_WEIGHT:
			read_weight(r, row, values[i]);
			break;
		case FIELD_RECORDING:
			row->recording = values[i];
			break;
		case FIELD_PART:
			row->part = resolve(r, values[i]);
			break;
		case FIELD_REASON:
			row->reason = values[i];
			break;
		case FIELD_LABEL:
			row->labels[label++] = values[i];
		}
	if (!row->part)
		row->part = strdup("");
	row->id = row->path ? id_of(row->path) : 0;
	return row->path && row->part ? 0 : -ENOMEM;
}

/* ---- what is wrong between rows ---- */

struct file {
	const struct manifest_row *row;
	dev_t dev;
	ino_t ino;
};

static int by_file(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->row->line < y->row->line ? -1 : x->row->line > y->row->line;
}

static bool check_file(struct reader *r, struct manifest_row *row, struct file *file)
{
	struct stat st;
	int fd = open(row->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		fault(r, row->line, "recording %s: %s", row->path, strerror(errno));
		return false;
	}
	bool fine = !fstat(fd, &st) && S_ISREG(st.st_mode);
	close(fd);
	if (!fine) {
		fault(r, row->line, "recording %s: not a regular file", row->path);
		return false;
	}
	if (!st.st_size) {
		fault(r, row->line, "recording %s: the file is empty", row->path);
		return false;
	}
	row->bytes = st.st_size;
	row->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	*file = (struct file){row, st.st_dev, st.st_ino};
	return true;
}

static int check_files(struct reader *r)
{
	struct file *files = calloc(r->m->nr + 1, sizeof(*files));
	size_t nr = 0;

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < r->m->nr; i++)
		if (*r->m->rows[i].path)
			nr += check_file(r, &r->m->rows[i], &files[nr]);
	qsort(files, nr, sizeof(*files), by_file);
	for (size_t i = 1; i < nr; i++)
		if (files[i].dev == files[i - 1].dev && files[i].ino == files[i - 1].ino)
			fault(r, files[i].row->line,
			      "recording %s: the same file as in line %u%s%s", files[i].row->path,
			      files[i - 1].row->line,
			      strcmp(files[i].row->path, files[i - 1].row->path) ? ", there as "
										 : "",
			      strcmp(files[i].row->path, files[i - 1].row->path)
				      ? files[i - 1].row->path
				      : "");
	free(files);
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct manifest_row *x = *(const struct manifest_row *const *)a,
				  *y = *(const struct manifest_row *const *)b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static int by_host(const void *a, const void *b)
{
	const struct manifest_row *x = *(const struct manifest_row *const *)a,
				  *y = *(const struct manifest_row *const *)b;
	int order = strcmp(x->host, y->host);

	if (!order)
		order = strcmp(x->recording, y->recording);
	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

/* Two rows of one host: they must be different recordings, and say the same of the host. */
static void check_host(struct reader *r, const struct manifest_row *a, const struct manifest_row *b)
{
	if (!*b->host)
		return;
	if (!strcmp(a->recording, b->recording)) {
		fault(r, b->line,
		      *b->recording
			      ? "host \"%s\" has a recording \"%s\" in line %u already"
			      : "host \"%s\"%s is in line %u already: two hosts of one name, or "
				"a column \"recording\" must tell its recordings apart",
		      b->host, b->recording, a->line);
		return;
	}
	if (a->weight != b->weight)
		fault(r, b->line,
		      "host \"%s\" has another weight in line %u: two hosts of one name?", b->host,
		      a->line);
	for (size_t i = 0; i < r->m->nr_labels; i++)
		if (strcmp(a->labels[i], b->labels[i]) != 0)
			fault(r, b->line,
			      "host \"%s\" has another \"%s\" in line %u: two hosts of one name?",
			      b->host, r->m->labels[i], a->line);
}

static int check_rows(struct reader *r, bool files)
{
	const struct manifest_row **rows = calloc(r->m->nr + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < r->m->nr; i++)
		rows[i] = &r->m->rows[i];
	qsort(rows, r->m->nr, sizeof(*rows), by_host);
	for (size_t i = 1; i < r->m->nr; i++)
		if (!strcmp(rows[i]->host, rows[i - 1]->host))
			check_host(r, rows[i - 1], rows[i]);
	qsort(rows, r->m->nr, sizeof(*rows), by_path);
	for (size_t i = 1; !files && i < r->m->nr; i++)
		if (*rows[i]->path && !strcmp(rows[i]->path, rows[i - 1]->path))
			fault(r, rows[i]->line, "recording %s is in line %u already", rows[i]->path,
			      rows[i - 1]->line);
	free(rows);
	return files ? check_files(r) : 0;
}

int manifest_read(const char *path, bool files, struct manifest *m, struct text *faults)
{
	struct reader r = {.path = path, .m = m, .faults = faults};
	unsigned int line = 0;
	int ret;

	*m = (struct manifest){0};
	ret = slurp(&r);
	for (char *at = m->text, *end; !ret && at && *at; at = end) {
		end = at + strcspn(at, "\n");
		if (*end)
			*end++ = '\0';
		line++;
		size_t len = strlen(at);
		if (len && at[len - 1] == '\r')
			at[len - 1] = '\0';
		if (!*at || *at == '#')
			continue;
		ret = r.fields ? read_row(&r, line, at) : read_header(&r, line, at);
	}
	if (!ret && !r.fields)
		fault(&r, 0, "it is empty");
	else if (!ret && !m->nr)
		fault(&r, 0, "it names no recording");
	if (!ret)
		ret = check_rows(&r, files);
	free(r.fields);
	return ret ? ret : r.faulty ? -EINVAL : 0;
}

void manifest_free(struct manifest *m)
{
	for (size_t i = 0; i < m->nr; i++) {
		free(m->rows[i].path);
		free(m->rows[i].part);
		free(m->rows[i].labels);
	}
	free(m->rows);
	free(m->labels);
	free(m->text);
	*m = (struct manifest){0};
}
