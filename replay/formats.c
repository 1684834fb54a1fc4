// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Event formats.
 *
 * A recording carries the format of every event that the kernel has, often a thousand and more,
 * while a replay decodes a few dozen. So opening only looks for the lines "name:" and "ID:" of
 * each, and field lines are read when a field is asked for, by schema/format.h. libtraceevent would
 * read them too, and print formats with them; but it was made for the formats of the running
 * kernel: on damaged text it leaks memory, and without memory it crashes. Tests compare with it.
 *
 * Texts are kept in blocks of memory that are never moved, as struct trace_format points into them.
 */
#include "replay/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "schema/format.h"

#define TEXT_BLOCK     (256 * 1024)
#define FORMAT_MAX     (1024 * 1024) /* bytes; the largest real ones are below 64 KiB */
#define FORMATS_MAX    (1 << 20)
#define FORMAT_ID_MAX  0xffff /* common_type is 16 bits wide */
#define FIELD_SIZE_MAX 0xffff
#define FIELDS_MAX     1024

struct text_block {
	struct text_block *next;
	size_t used, size;
	char text[];
};

static char *text_alloc(struct formats *f, size_t size)
{
	struct text_block *b = f->texts;
	char *text;

	if (!b || b->size - b->used < size) {
		size_t block = size > TEXT_BLOCK ? size : TEXT_BLOCK;

		b = malloc(sizeof(*b) + block);
		if (!b)
			return NULL;
		b->used = 0;
		b->size = block;
		b->next = f->texts;
		f->texts = b;
	}
	text = b->text + b->used;
	b->used += size;
	return text;
}

/* The next line of [*AT, END), without its newline. */
static bool next_line(const char **at, const char *end, const char **line, size_t *length)
{
	const char *nl;

	if (*at >= end)
		return false;
	*line = *at;
	nl = memchr(*at, '\n', end - *at);
	*length = (nl ? nl : end) - *at;
	*at = nl ? nl + 1 : end;
	return true;
}

static bool starts(const char *line, size_t length, const char *with)
{
	size_t n = strlen(with);

	return length >= n && !memcmp(line, with, n);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* A decimal number at P, before END; false if there is none or it is over 32 bits. */
static bool scan_number(const char *p, const char *end, uint32_t *out)
{
	uint64_t v = 0;
	const char *start;

	while (p < end && is_space(*p))
		p++;
	for (start = p; p < end && *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (*p - '0');
		if (v > UINT32_MAX)
			return false;
	}
	*out = v;
	return p > start;
}

bool format_scan_field(const char *text, size_t text_size, const char *name, uint32_t *offset,
		       uint32_t *size)
{
	const char *at = text, *end = text + text_size;
	struct format_field field;
	int ret;

	while ((ret = format_next_field(&at, end, &field))) {
		if (ret < 0 || !format_field_is(&field, name))
			continue;
		*offset = field.offset;
		*size = field.size;
		return true;
	}
	return false;
}

/* Every event starts with the same fields, so the first format that has them speaks for all. */
static void scan_common(struct formats *f, struct reader *r, const char *text, size_t size)
{
	struct common_fields c;

	if (f->have_common ||
	    !format_scan_field(text, size, "common_type", &c.type_offset, &c.type_size) ||
	    !format_scan_field(text, size, "common_pid", &c.pid_offset, &c.pid_size))
		return;
	if ((c.type_size != 1 && c.type_size != 2 && c.type_size != 4) ||
	    (c.pid_size != 2 && c.pid_size != 4) || c.type_offset > 64 || c.pid_offset > 64) {
		reader_fail(r, -EBADMSG,
			    "common_type or common_pid lies at an impossible place in a format");
		return;
	}
	c.size = c.type_offset + c.type_size;
	if (c.pid_offset + c.pid_size > c.size)
		c.size = c.pid_offset + c.pid_size;
	f->common = c;
	f->have_common = true;
}

void formats_add(struct formats *f, struct reader *r, const char *system, uint64_t size)
{
	const char *at, *end, *line, *name = NULL;
	size_t length, name_size = 0;
	struct trace_format *format;
	bool have_id = false;
	uint32_t id = 0;
	char *text, *copy;

	if (r->error || !size)
		return;
	if (size > FORMAT_MAX || f->nr >= FORMATS_MAX) {
		reader_fail(r, -EBADMSG, "an event format of %" PRIu64 " bytes, the %zuth", size,
			    f->nr + 1);
		return;
	}
	if (size > reader_left(r)) { /* before memory is given to it */
		reader_skip(r, size, "an event format");
		return;
	}
	void *list = grow_list(f->list, f->nr, &f->allocated, sizeof(*f->list));
	if (!list)
		goto nomem;
	f->list = list;
	text = text_alloc(f, size);
	if (!text)
		goto nomem;
	reader_copy(r, text, size, "an event format");
	if (r->error)
		return;

	at = text;
	end = text + size;
	while ((!name || !have_id) && next_line(&at, end, &line, &length)) {
		if (starts(line, length, "name:") && !name) {
			name = line + strlen("name:");
			name_size = length - strlen("name:");
			while (name_size && is_space(*name)) {
				name++;
				name_size--;
			}
		} else if (starts(line, length, "ID:") && !have_id) {
			have_id = scan_number(line + strlen("ID:"), line + length, &id);
		} else if (starts(line, length, "print fmt:")) {
			break;
		}
	}
	if (!name || !name_size || !have_id || id > FORMAT_ID_MAX) {
		reader_fail(r, -EBADMSG, "an event format of system \"%.64s\" has no usable %s",
			    system, name && name_size ? "ID" : "name");
		return;
	}
	scan_common(f, r, text, size);

	/* Both names live as long as the texts. Systems repeat, but next to their like. */
	copy = text_alloc(f, name_size + 1);
	if (!copy)
		goto nomem;
	memcpy(copy, name, name_size);
	copy[name_size] = '\0';
	format = &f->list[f->nr];
	format->name = copy;
	if (f->nr && !strcmp(f->list[f->nr - 1].system, system)) {
		format->system = f->list[f->nr - 1].system;
	} else {
		copy = text_alloc(f, strlen(system) + 1);
		if (!copy)
			goto nomem;
		format->system = strcpy(copy, system);
	}
	format->id = id;
	format->text = text;
	format->text_size = size;
	f->nr++;
	return;
nomem:
	reader_fail(r, -ENOMEM, "out of memory for event formats");
}

int formats_finish(struct formats *f)
{
	static const struct common_fields usual = {0, 2, 4, 4, 8};
	size_t i;

	if (!f->have_common)
		f->common = usual;
	f->nr_ids = 0;
	for (i = 0; i < f->nr; i++)
		if ((size_t)f->list[i].id >= f->nr_ids)
			f->nr_ids = f->list[i].id + 1;
	f->by_id = calloc(f->nr_ids ? f->nr_ids : 1, sizeof(*f->by_id));
	if (!f->by_id)
		return -ENOMEM;
	for (i = f->nr; i-- > 0;) /* the first of two with one id wins */
		f->by_id[f->list[i].id] = i + 1;
	return 0;
}

void formats_free(struct formats *f)
{
	struct text_block *b, *next;

	free(f->list);
	free(f->by_id);
	for (b = f->texts; b; b = next) {
		next = b->next;
		free(b);
	}
	memset(f, 0, sizeof(*f));
}

int formats_find_field(const struct source *src, const struct trace_format *format,
		       const char *name, struct trace_field *field, struct trace_error *err)
{
	const char *at = format->text, *end = at + format->text_size;
	unsigned int fields = 0;
	struct format_field f;
	bool found = false;
	int ret;

	/* To the end: what stands behind the field may be what tells that the text is damaged. */
	while ((ret = format_next_field(&at, end, &f)) > 0) {
		if (++fields > FIELDS_MAX || f.offset > FIELD_SIZE_MAX || f.size > FIELD_SIZE_MAX) {
			ret = -EBADMSG;
			break;
		}
		if (found || !format_field_is(&f, name))
			continue;
		found = true;
		*field = (struct trace_field){
			.offset = f.offset,
			.size = f.size,
			.is_signed = f.is_signed == 1,
			.is_array = format_field_is_array(&f),
			.is_dynamic = format_field_is_dynamic(&f),
			.is_relative = format_field_is_relative(&f),
		};
	}
	if (ret < 0)
		return source_fail(src, err, -EINVAL, NO_OFFSET,
				   "the format of %s:%s cannot be parsed", format->system,
				   format->name);
	return found ? 0
		     : source_fail(src, err, -ENOENT, NO_OFFSET, "%s:%s has no field %s",
				   format->system, format->name, name);
}
