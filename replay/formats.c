// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Event formats.
 *
 * A recording carries the format of every event that the kernel has, often a thousand and more,
 * while a replay decodes a few dozen. So opening only looks for the lines "name:" and "ID:" of
 * each. libtraceevent parses a format when the first of its fields is asked for, and it gets the
 * field lines only, each checked and written anew (schema/format.h): what it reads may come from a
 * stranger. Print formats are a language of their own, the slow and fragile part, and nothing here
 * prints by them.
 *
 * Texts are kept in blocks of memory that are never moved, as struct trace_format points into them.
 */
#include "replay/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>

#include "schema/format.h"

#define TEXT_BLOCK     (256 * 1024)
#define FORMAT_MAX     (1024 * 1024) /* bytes; the largest real ones are below 64 KiB */
#define FORMATS_MAX    (1 << 20)
#define FORMAT_ID_MAX  0xffff /* common_type is 16 bits wide */
#define FIELD_SIZE_MAX 0xffff
#define FIELD_NAME_MAX 256 /* bytes, of a name and of a type */
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
	if (f->nr == f->allocated) {
		size_t n = f->allocated ? f->allocated * 2 : 256;
		void *list = reallocarray(f->list, n, sizeof(*f->list));

		if (!list)
			goto nomem;
		f->list = list;
		f->allocated = n;
	}
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
	f->parsed = calloc(f->nr ? f->nr : 1, sizeof(*f->parsed));
	if (!f->by_id || !f->parsed)
		return -ENOMEM;
	for (i = f->nr; i-- > 0;) /* the first of two with one id wins */
		f->by_id[f->list[i].id] = i + 1;
	return 0;
}

void formats_free(struct formats *f)
{
	struct text_block *b, *next;

	if (f->tep)
		tep_free(f->tep);
	free(f->list);
	free(f->parsed);
	free(f->by_id);
	for (b = f->texts; b; b = next) {
		next = b->next;
		free(b);
	}
	memset(f, 0, sizeof(*f));
}

/* How libtraceevent is told the length of an array: as a number, which it need not work out. */
static void put_array(FILE *out, const struct format_field *f)
{
	bool number = f->array_size > 0;

	for (size_t i = 0; i < f->array_size; i++)
		number &= f->array[i] >= '0' && f->array[i] <= '9';
	if (number && f->array_size < 6)
		fprintf(out, "[%.*s]", (int)f->array_size, f->array);
	else if (f->array_size && (memmem(f->type, f->type_size, "char", 4) ||
				   memmem(f->type, f->type_size, "u8", 2)))
		fprintf(out, "[%u]", f->size);
	else
		fputs("[]", out);
}

/*
 * What libtraceevent gets to see of FORMAT: its field lines, taken apart and written anew, under a
 * name of our own and without a print format. NULL with errno: EBADMSG if one is not such a line.
 */
static char *field_lines(const struct trace_format *format, size_t *size)
{
	const char *at = format->text, *end = at + format->text_size;
	struct format_field f;
	unsigned int fields = 0;
	bool common = true;
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	int ret;

	if (!out)
		return NULL;
	fprintf(out, "name: event\nID: %d\nformat:\n", format->id);
	while ((ret = format_next_field(&at, end, &f)) > 0) {
		if (++fields > FIELDS_MAX || f.offset > FIELD_SIZE_MAX || f.size > FIELD_SIZE_MAX ||
		    f.name_size > FIELD_NAME_MAX || f.type_size > FIELD_NAME_MAX)
			ret = -EBADMSG;
		if (ret < 0)
			break;
		/* It tells the common fields from the event's own by an empty line. */
		if (common && (f.name_size < 7 || memcmp(f.name, "common_", 7))) {
			fputc('\n', out);
			common = false;
		}
		fprintf(out, "\tfield:%.*s %.*s", (int)f.type_size, f.type, (int)f.name_size,
			f.name);
		if (f.array)
			put_array(out, &f);
		fprintf(out, ";\toffset:%u;\tsize:%u;", f.offset, f.size);
		if (f.is_signed >= 0)
			fprintf(out, "\tsigned:%d;", f.is_signed);
		fputc('\n', out);
	}
	fputs(common ? "\n\nprint fmt: \"\"\n" : "\nprint fmt: \"\"\n", out);
	if (fclose(out) || ret < 0) {
		free(text);
		errno = ret < 0 ? -ret : ENOMEM;
		return NULL;
	}
	return text;
}

static struct tep_event *parse(struct formats *f, const struct source *src, unsigned int long_size,
			       unsigned int page_size, const struct trace_format *format)
{
	size_t index = format - f->list, size;
	struct tep_event *event = NULL;
	char *text;

	if (f->parsed[index])
		return f->parsed[index];
	if (!f->tep) {
		/* Its complaints would go to standard error, which is the caller's. */
		tep_set_loglevel(TEP_LOG_NONE);
		f->tep = tep_alloc();
		if (!f->tep)
			return NULL;
		tep_set_file_bigendian(f->tep,
				       src->big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
		tep_set_long_size(f->tep, long_size);
		tep_set_page_size(f->tep, page_size);
	}
	text = field_lines(format, &size);
	if (!text)
		return NULL;
	/* What it returns belongs to the handle; after a failure it may be gone already. */
	if (tep_parse_format(f->tep, &event, text, size, "recording") != TEP_ERRNO__SUCCESS)
		event = NULL;
	free(text);
	f->parsed[index] = event;
	return event;
}

int formats_find_field(struct formats *f, const struct source *src, unsigned int long_size,
		       unsigned int page_size, const struct trace_format *format, const char *name,
		       struct trace_field *field, struct trace_error *err)
{
	struct tep_event *event = parse(f, src, long_size, page_size, format);
	struct tep_format_field *found;

	if (!event)
		return source_fail(src, err, -EINVAL, NO_OFFSET,
				   "the format of %s:%s cannot be parsed", format->system,
				   format->name);
	found = tep_find_any_field(event, name);
	if (!found)
		return source_fail(src, err, -ENOENT, NO_OFFSET, "%s:%s has no field %s",
				   format->system, format->name, name);
	if (found->offset < 0 || found->offset > FIELD_SIZE_MAX || found->size < 0 ||
	    found->size > FIELD_SIZE_MAX)
		return source_fail(src, err, -EINVAL, NO_OFFSET,
				   "field %s of %s:%s lies at %d, %d bytes long", name,
				   format->system, format->name, found->offset, found->size);
	*field = (struct trace_field){
		.offset = found->offset,
		.size = found->size,
		.is_signed = found->flags & TEP_FIELD_IS_SIGNED,
		.is_array = found->flags & TEP_FIELD_IS_ARRAY,
		.is_dynamic = found->flags & TEP_FIELD_IS_DYNAMIC,
		.is_relative = found->flags & TEP_FIELD_IS_RELATIVE,
	};
	return 0;
}
