// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows of a recording.
 *
 * Plain data: page I of a CPU lies at a known place, and its first 8 bytes are its time:
 *
 *	pages    |10|14|19|25|31|44|        window [20, 30]
 *	                ^^^^^               pages 19 and 25: from the last one that begins before the
 *	                                    window to the last one that begins within it
 *
 * so a bisection reads log2(pages) headers of 16 bytes. zstd: chunks of several pages take the
 * place of pages. Where they begin is known from walking over their headers (8 bytes each); when
 * one begins, from taking it apart, log2(chunks) of them. Both are done when they are needed, and
 * remembered.
 *
 * The pages of a window are then read by the same code that reads whole recordings: a cursor per
 * CPU whose stream is that part of the CPU's data, merged by time through a heap.
 *
 * Names of tasks come from events anywhere in the recording, so they need one pass over all of it,
 * made when somebody asks for a name. What is kept is each task's name and when it changed.
 */
#include "analysis/rawtrace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "analysis/json.h"
#include "common/grow.h"
#include "replay/container.h"
#include "replay/map.h"
#include "schema/format.h"
#include "schema/snapshot.h"

#define CHUNK_MAX  (16U << 20) /* bytes, uncompressed: what the stream accepts */
#define COUNT_SIZE 4           /* bytes of the word in front of the chunks */
#define NEVER      UINT64_MAX

/* The units of one CPU's data: pages, or chunks. */
struct index {
	size_t nr;
	uint64_t *time; /* when each begins; valid where known */
	uint8_t *known;
	uint64_t *at, *base; /* chunks: where they lie in the CPU's data, packed and unpacked */
};

struct name {
	uint64_t time_ns;
	char comm[16];
};

/* What one tid was called, over time. */
struct names {
	struct name *list;
	uint32_t nr, allocated;
	/* list[0] began at its time: what was before (nobody, or before exec) is not known */
	bool born;
};

struct raw_file {
	struct container c;
	struct index *index; /* by entry; made when needed */
	struct raw_stats *stats;
	struct raw_format **formats; /* by index into c.formats.list */
	bool *tried;
	struct stream_pool pool; /* for the index */
	struct map by_tid;
	struct names *names;
	size_t nr_names, max_names;
	bool have_names;
	char idle[24]; /* what raw_comm() gave last for tid 0 */
};

struct node {
	uint64_t time_ns;
	uint32_t entry;
};

static void free_fields(struct raw_format *r);

struct raw_scan {
	struct raw_file *file;
	struct raw_window window;
	struct stream_pool pool;
	struct cursor *cursors; /* by entry */
	struct trace_loss loss; /* of no interest: a window cannot tell */
	struct node *heap;
	size_t nr_heap;
	uint64_t counted; /* pool.consumed that is in the statistics already */
	bool started;
	int failed;
	struct trace_error why;
};

/* ---- opening ---- */

struct raw_file *raw_open(const char *path, struct raw_stats *stats, struct trace_error *err)
{
	struct raw_file *f = calloc(1, sizeof(*f));
	int ret = -ENOMEM;

	if (!f)
		goto nomem;
	f->c.src.fd = -1;
	f->stats = stats;
	ret = container_open(&f->c, path, err);
	if (ret)
		goto fail;
	f->index = calloc(f->c.info.nr_entries + 1, sizeof(*f->index));
	f->formats = calloc(f->c.formats.nr + 1, sizeof(struct raw_format *));
	f->tried = calloc(f->c.formats.nr + 1, sizeof(*f->tried));
	f->pool.src = &f->c.src;
	f->pool.nr_streams = 1;
	if (f->index && f->formats && f->tried)
		return f;
	ret = -ENOMEM;
nomem:
	memset(err, 0, sizeof(*err));
	strcpy(err->text, "out of memory");
fail:
	raw_close(f);
	errno = -ret;
	return NULL;
}

static void index_free(struct index *x)
{
	free(x->time);
	free(x->known);
	free(x->at);
	free(x->base);
	*x = (struct index){0};
}

void raw_close(struct raw_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; f->index && i < f->c.info.nr_entries; i++)
		index_free(&f->index[i]);
	for (size_t i = 0; f->formats && i < f->c.formats.nr; i++) {
		if (f->formats[i])
			free_fields(f->formats[i]);
		free(f->formats[i]);
	}
	for (size_t i = 0; i < f->nr_names; i++)
		free(f->names[i].list);
	free(f->names);
	map_free(&f->by_tid);
	free(f->index);
	free(f->formats);
	free(f->tried);
	stream_pool_free(&f->pool);
	container_free(&f->c);
	free(f);
}

const struct trace_info *raw_info(const struct raw_file *f)
{
	return &f->c.info;
}

const struct trace_format *raw_formats(const struct raw_file *f, size_t *nr)
{
	*nr = f->c.formats.nr;
	return f->c.formats.list;
}

/* ---- index ---- */

static int no_memory(const struct raw_file *f, struct trace_error *err)
{
	return source_fail(&f->c.src, err, -ENOMEM, NO_OFFSET, "out of memory");
}

static int index_new(struct raw_file *f, struct index *x, size_t nr, bool chunks,
		     struct trace_error *err)
{
	x->time = calloc(nr + 1, sizeof(*x->time));
	x->known = calloc(nr + 1, 1);
	if (chunks) {
		x->at = calloc(nr + 1, sizeof(*x->at));
		x->base = calloc(nr + 1, sizeof(*x->base));
	}
	if (!x->time || !x->known || (chunks && (!x->at || !x->base))) {
		index_free(x);
		return no_memory(f, err);
	}
	x->nr = nr;
	return 0;
}

/* Walks over the chunks of one CPU. */
static int index_chunks(struct raw_file *f, const struct trace_cpu *cpu, struct index *x,
			struct trace_error *err)
{
	const struct source *src = &f->c.src;
	uint64_t pos = COUNT_SIZE, base = 0;
	uint8_t header[8];
	uint32_t nr;
	int ret;

	ret = source_read(src, header, COUNT_SIZE, cpu->file_offset, err);
	if (ret)
		return ret;
	f->stats->index_bytes += COUNT_SIZE;
	nr = source_u32(src, header);
	if (nr > cpu->file_size / sizeof(header))
		return source_fail(src, err, -EBADMSG, cpu->file_offset,
				   "%" PRIu32 " chunks stated in %" PRIu64 " bytes", nr,
				   cpu->file_size);
	ret = index_new(f, x, nr, true, err);
	for (uint32_t i = 0; i < nr && !ret; i++) {
		uint64_t left = cpu->file_size + COUNT_SIZE - pos;
		uint32_t csize, usize;

		x->at[i] = pos;
		x->base[i] = base;
		if (left < sizeof(header))
			ret = source_fail(src, err, -EBADMSG, cpu->file_offset + pos,
					  "truncated: %" PRIu32 " more chunks stated, %" PRIu64
					  " bytes left", nr - i, left);
		if (!ret)
			ret = source_read(src, header, sizeof(header), cpu->file_offset + pos, err);
		if (ret)
			break;
		f->stats->index_bytes += sizeof(header);
		csize = source_u32(src, header);
		usize = source_u32(src, header + 4);
		if (!csize || csize > left - sizeof(header) || !usize || usize > CHUNK_MAX)
			ret = source_fail(src, err, -EBADMSG, cpu->file_offset + pos,
					  "a chunk of %" PRIu32 " bytes, %" PRIu32 " compressed",
					  usize, csize);
		pos += sizeof(header) + csize;
		base += usize;
	}
	if (ret) {
		index_free(x);
		return ret;
	}
	x->at[nr] = pos;
	x->base[nr] = base;
	return 0;
}

static int index_get(struct raw_file *f, size_t entry, struct index **out, struct trace_error *err)
{
	const struct trace_cpu *cpu = &f->c.cpus[entry];
	struct index *x = &f->index[entry];
	unsigned int page_size = f->c.buffers[cpu->buffer].page_size;

	*out = x;
	if (x->time)
		return 0;
	if (f->c.zstd[cpu->buffer])
		return index_chunks(f, cpu, x, err);
	return index_new(f, x, (cpu->file_size + page_size - 1) / page_size, false, err);
}

/*
 * The time of the page at P; NEVER if it holds nothing, and a page that holds nothing has no time.
 */
static uint64_t header_time(const struct raw_file *f, const uint8_t *p)
{
	const struct page_layout *l = &f->c.layout;
	uint32_t commit;

	if (l->commit_size == 8)
		commit = source_u64(&f->c.src, p + l->commit_offset);
	else
		commit = source_u32(&f->c.src, p + l->commit_offset);
	return commit & 0x7ffffff ? page_time(l, source_u64(&f->c.src, p)) : NEVER;
}

/* When unit I begins. Units without data take the time of the one behind them. */
static int unit_time(struct raw_file *f, size_t entry, struct index *x, size_t i, uint64_t *time,
		     struct trace_error *err)
{
	const struct trace_cpu *cpu = &f->c.cpus[entry];
	const struct page_layout *l = &f->c.layout;
	uint32_t page_size = f->c.buffers[cpu->buffer].page_size;
	size_t first = i;
	int ret = 0;

	*time = NEVER;
	for (; i < x->nr && *time == NEVER; i++) {
		if (x->known[i]) {
			*time = x->time[i];
			continue;
		}
		if (x->at) {
			struct stream s = {.offset = cpu->file_offset, .size = x->at[i + 1],
					   .pos = x->at[i], .page_size = page_size, .zstd = true,
					   .started = true, .chunks = 1};
			uint64_t before = f->pool.consumed;

			do {
				ret = stream_next(&s, &f->pool, err);
				for (size_t at = 0; ret > 0 && *time == NEVER &&
				     at + l->data_offset <= s.block_used; at += page_size)
					*time = header_time(f, s.block + at);
			} while (ret > 0 && *time == NEVER);
			if (s.pos == x->at[i])
				f->stats->index_bytes += x->at[i + 1] - x->at[i];
			f->stats->index_bytes += f->pool.consumed - before;
			stream_free(&s, &f->pool);
			if (ret < 0)
				return ret;
		} else {
			uint64_t at = (uint64_t)i * page_size;
			uint8_t header[PAGE_HEADER_MAX] = {0};

			if (cpu->file_size - at >= l->data_offset) {
				ret = source_read(&f->c.src, header, l->data_offset,
						  cpu->file_offset + at, err);
				if (ret)
					return ret;
				f->stats->index_bytes += l->data_offset;
				*time = header_time(f, header);
			}
		}
		x->time[i] = *time;
		x->known[i] = 1;
	}
	/* Those that were passed over need not be looked at again. */
	for (i = first; i < x->nr && x->known[i] && x->time[i] == NEVER; i++)
		x->time[i] = *time;
	return 0;
}

/* How many units begin before TIME (or, with SAME, not after it). */
static int units_before(struct raw_file *f, size_t entry, struct index *x, uint64_t time, bool same,
			size_t *out, struct trace_error *err)
{
	size_t low = 0, high = x->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t begins;
		int ret = unit_time(f, entry, x, middle, &begins, err);

		if (ret)
			return ret;
		if (begins < time || (same && begins == time))
			low = middle + 1;
		else
			high = middle;
	}
	*out = low;
	return 0;
}

/* ---- scanning ---- */

/* Points C's stream at the part of its CPU's data that can hold events of the window. */
static int narrow(struct raw_scan *scan, size_t entry, struct trace_error *err)
{
	struct raw_file *f = scan->file;
	const struct trace_cpu *cpu = &f->c.cpus[entry];
	struct stream *s = &scan->cursors[entry].stream;
	struct index *x;
	size_t first = 0, end = 0;
	int ret;

	if (!s->size || (!scan->window.from_ns && scan->window.to_ns == NEVER))
		return 0;
	ret = index_get(f, entry, &x, err);
	if (!ret)
		ret = units_before(f, entry, x, scan->window.from_ns, false, &first, err);
	if (!ret)
		ret = units_before(f, entry, x, scan->window.to_ns, true, &end, err);
	if (ret)
		return ret;
	if (first)
		first--;
	if (scan->window.to_ns == NEVER)
		end = x->nr;
	if (end <= first) {
		s->size = 0;
	} else if (x->at) {
		s->started = true;
		s->pos = x->at[first];
		s->next_base = x->base[first];
		s->chunks = end - first;
		if (end < x->nr)
			s->size = x->at[end];
	} else {
		uint64_t skip = (uint64_t)first * s->page_size, size = (uint64_t)end * s->page_size;

		s->offset += skip;
		s->size = (size < cpu->file_size ? size : cpu->file_size) - skip;
	}
	return 0;
}

struct raw_scan *raw_scan_new(struct raw_file *f, const struct raw_window *window,
			      struct trace_error *err)
{
	struct raw_scan *scan = calloc(1, sizeof(*scan));
	size_t n = f->c.info.nr_entries;

	f->stats->scans++;
	if (scan) {
		scan->cursors = calloc(n + 1, sizeof(*scan->cursors));
		scan->heap = calloc(n + 1, sizeof(*scan->heap));
	}
	if (!scan || !scan->cursors || !scan->heap) {
		no_memory(f, err);
		raw_scan_free(scan);
		return NULL;
	}
	scan->file = f;
	scan->window = *window;
	scan->pool.src = &f->c.src;
	for (size_t i = 0; i < n; i++) {
		const struct trace_cpu *cpu = &f->c.cpus[i];
		struct cursor *c = &scan->cursors[i];

		c->cpu = cpu->cpu;
		c->buffer = cpu->buffer;
		c->loss = &scan->loss;
		c->stream.page_size = f->c.buffers[cpu->buffer].page_size;
		c->stream.zstd = f->c.zstd[cpu->buffer];
		c->stream.offset = cpu->file_offset;
		if (window->from_ns <= window->to_ns &&
		    (!window->one_cpu || cpu->cpu == window->cpu))
			c->stream.size = cpu->file_size;
		if (narrow(scan, i, err)) {
			raw_scan_free(scan);
			return NULL;
		}
		if (c->stream.size)
			scan->pool.nr_streams++;
	}
	return scan;
}

void raw_scan_free(struct raw_scan *scan)
{
	if (!scan)
		return;
	for (size_t i = 0; scan->cursors && scan->file && i < scan->file->c.info.nr_entries; i++)
		stream_free(&scan->cursors[i].stream, &scan->pool);
	stream_pool_free(&scan->pool);
	free(scan->cursors);
	free(scan->heap);
	free(scan);
}

static inline bool before(const struct node *a, const struct node *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->entry < b->entry);
}

static void sift_down(struct raw_scan *scan, size_t i)
{
	struct node *heap = scan->heap, moved = heap[i];
	size_t n = scan->nr_heap;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= n)
			break;
		if (child + 1 < n && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &moved))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

/* Moves C to its next event of the window. Returns 1, 0 at the end, or a negative errno. */
static int advance(struct raw_scan *scan, struct cursor *c, struct trace_error *err)
{
	const struct page_layout *l = &scan->file->c.layout;
	const struct common_fields *common = &scan->file->c.formats.common;
	const struct source *src = &scan->file->c.src;
	const struct raw_window *w = &scan->window;
	uint64_t looked = 0;
	int ret;

	for (;;) {
		ret = cursor_step(c, l, &scan->pool, err);
		if (ret <= 0)
			break;
		looked++;
		if (c->time_ns < w->from_ns || c->time_ns > w->to_ns)
			continue;
		if (w->ids) {
			uint32_t id = common_number(c->data + common->type_offset,
						    common->type_size, src->swap);

			if (id < RAW_IDS && !(w->ids[id / 8] & 1u << id % 8))
				continue;
		}
		if (w->one_tid && (int32_t)common_number(c->data + common->pid_offset,
							 common->pid_size, src->swap) != w->tid)
			continue;
		break;
	}
	scan->file->stats->events += looked;
	scan->file->stats->data_bytes += scan->pool.consumed - scan->counted;
	scan->counted = scan->pool.consumed;
	return ret;
}

static int scan_step(struct raw_scan *scan, struct trace_error *err)
{
	int ret;

	if (!scan->started) {
		for (size_t i = 0; i < scan->file->c.info.nr_entries; i++) {
			struct cursor *c = &scan->cursors[i];

			if (!c->stream.size)
				continue;
			ret = advance(scan, c, err);
			if (ret < 0)
				return ret;
			if (ret)
				scan->heap[scan->nr_heap++] = (struct node){c->time_ns, i};
		}
		for (size_t i = scan->nr_heap / 2; i-- > 0;)
			sift_down(scan, i);
		scan->started = true;
	} else if (scan->nr_heap) {
		struct node *top = &scan->heap[0];

		ret = advance(scan, &scan->cursors[top->entry], err);
		if (ret < 0)
			return ret;
		if (ret)
			top->time_ns = scan->cursors[top->entry].time_ns;
		else
			*top = scan->heap[--scan->nr_heap];
		sift_down(scan, 0);
	}
	return scan->nr_heap > 0;
}

int raw_scan_next(struct raw_scan *scan, struct trace_record *rec, int64_t *place,
		  struct trace_error *err)
{
	const struct common_fields *common = &scan->file->c.formats.common;
	const struct source *src = &scan->file->c.src;
	struct cursor *c;
	int ret;

	if (scan->failed) {
		*err = scan->why;
		return scan->failed;
	}
	ret = scan_step(scan, err);
	if (ret < 0) {
		scan->failed = ret;
		scan->why = *err;
	}
	if (ret <= 0)
		return ret;
	c = &scan->cursors[scan->heap[0].entry];
	*rec = (struct trace_record){
		.time_ns = c->time_ns,
		.data = c->data,
		.size = c->size,
		.entry = scan->heap[0].entry,
		.cpu = c->cpu,
		.buffer = c->buffer,
		.id = common_number(c->data + common->type_offset, common->type_size, src->swap),
		.pid = common_number(c->data + common->pid_offset, common->pid_size, src->swap),
		.missed = c->missed,
		.missed_events = c->missed ? c->missed_events : 0,
	};
	if (place) {
		uint64_t at = c->stream.base + (c->data - c->stream.block);

		/* 2^46 bytes of a CPU's data, 2^17 CPUs. */
		if (!c->stream.zstd)
			at -= scan->file->c.cpus[rec->entry].file_offset;
		*place = (int64_t)((uint64_t)rec->entry << 46 | (at & ((1ULL << 46) - 1)));
	}
	return 1;
}

/* ---- fields ---- */

static bool is_number(const struct raw_field *field)
{
	unsigned int size = field->at.size;

	return !field->at.is_array && !field->at.is_dynamic && !field->text &&
	       (size == 1 || size == 2 || size == 4 || size == 8);
}

static const struct raw_field *find_number(const struct raw_format *r, const char *name)
{
	for (size_t i = 0; i < r->nr_fields; i++)
		if (!strcmp(r->fields[i].name, name) && is_number(&r->fields[i]))
			return &r->fields[i];
	return NULL;
}

/* The field that the catalogue has for SLOT, else one with a usual name. */
static const struct raw_field *find_slot(const struct raw_format *r,
					 const struct catalogue_row *row, enum slot slot,
					 const char *name, const char *other)
{
	const struct raw_field *found = NULL;

	for (size_t i = 0; row && i < sizeof(row->fields) / sizeof(*row->fields); i++) {
		if (row->fields[i].slot != slot)
			continue;
		for (size_t j = 0; j < 3 && row->fields[i].names[j] && !found; j++)
			found = find_number(r, row->fields[i].names[j]);
	}
	if (!found && name)
		found = find_number(r, name);
	if (!found && other)
		found = find_number(r, other);
	return found;
}

static void free_fields(struct raw_format *r)
{
	for (size_t i = 0; i < r->nr_fields; i++)
		free((char *)r->fields[i].name);
	free(r->fields);
	r->fields = NULL;
	r->nr_fields = 0;
}

/* The event's own fields. Returns 0 or -ENOMEM; a format that is damaged has none. */
static int read_fields(struct raw_file *f, const struct trace_format *format, struct raw_format *r)
{
	const char *at = format->text, *end = at + format->text_size;
	struct format_field field;
	int ret;

	while ((ret = format_next_field(&at, end, &field)) > 0) {
		struct raw_field *more, *to;

		if (field.name_size >= 7 && !memcmp(field.name, "common_", 7))
			continue;
		if (field.offset > UINT16_MAX || field.size > UINT16_MAX ||
		    r->nr_fields == RAW_FIELDS_MAX) {
			ret = -EBADMSG;
			break;
		}
		more = reallocarray(r->fields, r->nr_fields + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->fields = more;
		to = &more[r->nr_fields];
		*to = (struct raw_field){
			.name = strndup(field.name, field.name_size),
			.at = {.offset = field.offset, .size = field.size,
			       .is_signed = field.is_signed == 1,
			       .is_array = format_field_is_array(&field),
			       .is_dynamic = format_field_is_dynamic(&field),
			       .is_relative = format_field_is_relative(&field)},
			.element = format_field_element(&field, f->c.info.long_size),
			.text = format_field_is_text(&field),
		};
		if (!to->name)
			return -ENOMEM;
		r->nr_fields++;
	}
	if (ret < 0)
		free_fields(r);
	return 0;
}

static struct raw_format *take_apart(struct raw_file *f, size_t index)
{
	const struct trace_format *format = &f->c.formats.list[index];
	const struct catalogue_row *row = NULL;
	struct raw_format *r;
	char function[64];

	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->system = format->system;
	r->name = format->name;
	/* Of one that cannot be read the name is known all the same. */
	if (read_fields(f, format, r)) {
		free_fields(r);
		free(r);
		return NULL;
	}
	if (tlbi_is_group(format->system))
		r->tlbi = tlbi_parse_name(format->name, function, sizeof(function), &r->op);
	else
		row = catalogue_find(format->system, format->name);
	r->mm = find_slot(r, row, SLOT_MM, "mm", NULL);
	r->address = find_slot(r, row, SLOT_ADDR, "address", "addr");
	if (!r->address)
		r->address = find_slot(r, row, SLOT_START, "start", NULL);
	r->flags = find_slot(r, row, SLOT_FLAGS, "flags", NULL);
	r->ret = find_slot(r, row, SLOT_RET, "ret", NULL);
	return r;
}

const struct raw_format *raw_format(struct raw_file *f, int id)
{
	size_t index;

	if (id < 0 || (size_t)id >= f->c.formats.nr_ids || !f->c.formats.by_id[id])
		return NULL;
	index = f->c.formats.by_id[id] - 1;
	if (!f->tried[index]) {
		f->tried[index] = true;
		f->formats[index] = take_apart(f, index);
	}
	return f->formats[index];
}

bool raw_value(const struct raw_file *f, const struct trace_record *rec,
	       const struct raw_field *field, uint64_t *out)
{
	return field && trace_read(rec, &field->at, f->c.src.swap, out);
}

bool raw_address(const struct raw_file *f, const struct raw_format *format,
		 const struct trace_record *rec, uint64_t *out)
{
	unsigned int shift = 12;
	struct tlbi_reach reach;
	uint64_t operand;

	if (!format->tlbi)
		return raw_value(f, rec, format->address, out);
	while (shift < 16 && 1u << (shift + 1) <= f->c.info.page_size)
		shift++;
	if (format->op.kind == TLBI_VMALL || format->op.kind == TLBI_ASID ||
	    !raw_value(f, rec, find_number(format, "op"), &operand))
		return false;
	tlbi_decode(&format->op, operand, shift, &reach);
	*out = reach.va;
	return true;
}

/*
 * Where the bytes of a field lie that is no plain number. Returns false if not within the record.
 */
static bool field_bytes(const struct raw_file *f, const struct trace_record *rec,
			const struct raw_field *field, const uint8_t **p, size_t *size)
{
	uint64_t offset = field->at.offset, n = field->at.size;

	if (field->at.is_dynamic) {
		uint32_t word;

		if (offset + 4 > rec->size)
			return false;
		word = source_u32(&f->c.src, rec->data + offset);
		n = word >> 16;
		offset = (word & 0xffff) + (field->at.is_relative ? offset + 4 : 0);
	} else if (!n) {
		/* "char buf[]": to the end of the record. */
		n = offset <= rec->size ? rec->size - offset : 0;
	}
	if (offset > rec->size || n > rec->size - offset)
		return false;
	*p = rec->data + offset;
	*size = n;
	return true;
}

static void put_field(const struct raw_file *f, const struct trace_record *rec,
		      const struct raw_field *field, struct json *j)
{
	unsigned int element = field->element;
	const uint8_t *p;
	uint64_t value;
	size_t size;

	if (is_number(field)) {
		if (trace_read(rec, &field->at, f->c.src.swap, &value))
			json_printf(j, "%" PRId64, (int64_t)value);
		else
			json_raw(j, "null", 4);
		return;
	}
	if (!field_bytes(f, rec, field, &p, &size)) {
		json_raw(j, "null", 4);
		return;
	}
	if (field->text) {
		json_string(j, (const char *)p, strnlen((const char *)p, size));
		return;
	}
	json_raw(j, "[", 1);
	if ((element != 2 && element != 4 && element != 8) || size % element)
		element = 1;
	for (size_t i = 0; i < size / element; i++) {
		struct trace_field at = {.offset = p - rec->data + i * element, .size = element,
					 .is_signed = field->at.is_signed};

		if (trace_read(rec, &at, f->c.src.swap, &value))
			json_printf(j, "%s%" PRId64, i ? "," : "", (int64_t)value);
	}
	json_raw(j, "]", 1);
}

char *raw_json(const struct raw_file *f, const struct raw_format *format,
	       const struct trace_record *rec, size_t *size)
{
	struct json j = {0};

	json_raw(&j, "{", 1);
	for (size_t i = 0; i < format->nr_fields; i++) {
		if (i)
			json_raw(&j, ",", 1);
		json_string(&j, format->fields[i].name, strlen(format->fields[i].name));
		json_raw(&j, ":", 1);
		put_field(f, rec, &format->fields[i], &j);
	}
	json_raw(&j, "}", 1);
	if (j.failed) {
		free(j.text);
		return NULL;
	}
	*size = j.size;
	return j.text;
}

/* ---- names of tasks ---- */

/* TID is called COMM from TIME on; BORN: and not before. */
static int name_add(struct raw_file *f, int32_t tid, const char *comm, size_t size,
		    uint64_t time_ns, bool born)
{
	char text[16] = "";
	struct names *n;
	uint32_t *index;
	bool made;

	size = strnlen(comm, size);
	memcpy(text, comm, size < sizeof(text) ? size : sizeof(text) - 1);
	if (!tid || !*text)
		return 0;
	index = map_put(&f->by_tid, (uint32_t)tid, &made);
	if (!index)
		return -ENOMEM;
	if (made) {
		struct names *names =
			grow_list(f->names, f->nr_names, &f->max_names, sizeof(*names));

		if (!names)
			return -ENOMEM;
		f->names = names;
		*index = f->nr_names;
		f->names[f->nr_names++] = (struct names){.born = born};
	}
	n = &f->names[*index];
	if (n->nr && !strcmp(n->list[n->nr - 1].comm, text))
		return 0;
	if (n->nr == n->allocated) {
		uint32_t more = n->allocated ? n->allocated * 2 : 2;
		struct name *list = realloc(n->list, more * sizeof(*list));

		if (!list)
			return -ENOMEM;
		n->list = list;
		n->allocated = more;
	}
	n->list[n->nr].time_ns = time_ns;
	memcpy(n->list[n->nr++].comm, text, sizeof(text));
	return 0;
}

/* Events that say what a task is called. */
static const struct naming {
	const char *system, *name, *pid, *comm;
	bool born, path;
} namings[] = {
	{"sched", "sched_switch", "prev_pid", "prev_comm", false, false},
	{"sched", "sched_switch", "next_pid", "next_comm", false, false},
	{"sched", "sched_waking", "pid", "comm", false, false},
	{"sched", "sched_wakeup", "pid", "comm", false, false},
	{"sched", "sched_wakeup_new", "pid", "comm", false, false},
	{"sched", "sched_migrate_task", "pid", "comm", false, false},
	{"sched", "sched_process_fork", "parent_pid", "parent_comm", false, false},
	{"sched", "sched_process_fork", "child_pid", "child_comm", true, false},
	{"sched", "sched_process_exit", "pid", "comm", false, false},
	{"sched", "sched_process_exec", "pid", "filename", true, true},
	{"task", "task_newtask", "pid", "comm", true, false},
	{"task", "task_rename", "pid", "newcomm", false, false},
};
#define NR_NAMINGS (sizeof(namings) / sizeof(*namings))

static const struct raw_field *find_text(const struct raw_format *r, const char *name)
{
	for (size_t i = 0; i < r->nr_fields; i++)
		if (!strcmp(r->fields[i].name, name) && r->fields[i].text)
			return &r->fields[i];
	return NULL;
}

static int names_of_snapshot(struct raw_file *f, const struct raw_format *r,
			     const struct trace_record *rec)
{
	const struct raw_field *field = find_text(r, "buf");
	const uint8_t *p, *end;
	size_t size;
	int ret = 0;

	if (!field || !field_bytes(f, rec, field, &p, &size))
		return 0;
	end = p + strnlen((const char *)p, size);
	size = strlen(SNAPSHOT_HEADER);
	if ((size_t)(end - p) < size || memcmp(p, SNAPSHOT_HEADER, size))
		return 0;
	while (p < end && !ret) {
		const uint8_t *newline = memchr(p, '\n', end - p), *stop = newline ? newline : end;
		struct snapshot_task task;

		if (snapshot_parse((const char *)p, stop - p, &task))
			ret = name_add(f, task.tid, task.comm, sizeof(task.comm), rec->time_ns,
				       false);
		p = stop + 1;
	}
	return ret;
}

static int names_of_event(struct raw_file *f, const struct raw_format *r,
			  const struct trace_record *rec)
{
	int ret = 0;

	if (!strcmp(r->system, "ftrace"))
		return names_of_snapshot(f, r, rec);
	for (size_t i = 0; i < NR_NAMINGS && !ret; i++) {
		const struct naming *n = &namings[i];
		const struct raw_field *comm;
		const uint8_t *p;
		uint64_t pid;
		size_t size;

		if (strcmp(r->system, n->system) || strcmp(r->name, n->name))
			continue;
		comm = find_text(r, n->comm);
		if (!comm || !raw_value(f, rec, find_number(r, n->pid), &pid) ||
		    !field_bytes(f, rec, comm, &p, &size))
			continue;
		if (n->path) {
			const uint8_t *slash;

			size = strnlen((const char *)p, size);
			slash = memrchr(p, '/', size);
			size -= slash ? slash + 1 - p : 0;
			p = slash ? slash + 1 : p;
		}
		ret = name_add(f, (int32_t)pid, (const char *)p, size, rec->time_ns, n->born);
	}
	return ret;
}

static int read_names(struct raw_file *f, struct trace_error *err)
{
	struct raw_window window = {.to_ns = NEVER};
	uint8_t *ids = calloc(RAW_IDS / 8, 1);
	struct raw_scan *scan = NULL;
	struct trace_record rec;
	bool any = false;
	int ret = ids ? 0 : no_memory(f, err);

	for (size_t i = 0; i < f->c.formats.nr && ids; i++) {
		const struct trace_format *t = &f->c.formats.list[i];
		bool wanted = !strcmp(t->system, "ftrace") && !strcmp(t->name, "print");

		for (size_t k = 0; k < NR_NAMINGS; k++)
			wanted |= !strcmp(t->system, namings[k].system) &&
				  !strcmp(t->name, namings[k].name);
		if (wanted && t->id < RAW_IDS)
			ids[t->id / 8] |= 1u << t->id % 8;
		any |= wanted;
	}
	if (!ret && any) {
		window.ids = ids;
		scan = raw_scan_new(f, &window, err);
		ret = scan ? 0 : -EBADMSG;
	}
	while (scan && !ret && (ret = raw_scan_next(scan, &rec, NULL, err)) > 0) {
		const struct raw_format *r = raw_format(f, rec.id);

		ret = r ? names_of_event(f, r, &rec) : 0;
		if (ret)
			no_memory(f, err);
	}
	raw_scan_free(scan);
	free(ids);
	f->have_names = !ret;
	return ret;
}

int raw_comm(struct raw_file *f, int32_t tid, uint32_t cpu, uint64_t time_ns, const char **comm,
	     struct trace_error *err)
{
	const struct names *n;
	uint32_t *index, low = 0, high;
	int ret = f->have_names ? 0 : read_names(f, err);

	*comm = NULL;
	if (ret)
		return ret;
	if (!tid) {
		/* Every CPU has its own, all with tid 0; the kernel names them so. */
		snprintf(f->idle, sizeof(f->idle), "swapper/%" PRIu32, cpu);
		*comm = f->idle;
		return 0;
	}
	index = map_get(&f->by_tid, (uint32_t)tid);
	if (!index)
		return 0;
	n = &f->names[*index];
	high = n->nr;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (n->list[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low)
		*comm = n->list[low - 1].comm;
	else if (n->nr && !n->born)
		*comm = n->list[0].comm;
	return 0;
}
