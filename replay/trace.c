// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The merged stream.
 *
 * Every (CPU, buffer) pair has a cursor on its next event. A binary heap orders the cursors by
 * (time, entry); entries are sorted by (cpu, buffer), so that is the promised order of ties.
 *
 *	heap[0]          the cursor that the last event came from
 *	heap[1], [2]     the best of the others is one of them: the limit
 *
 * Events come in runs: a CPU usually has several before another one's turn. So a call moves the
 * cursor of heap[0] first, and while its time stays below the limit that is all; the heap is
 * touched when the turn passes on. Meanwhile the time in heap[0] is out of date and not looked at.
 * A cursor is moved at the start of a call and not at its end, as the event that was given out lies
 * in the block that a move may replace.
 *
 * Time that runs backwards within a CPU cannot be put right by a merge that sees one event per CPU:
 * such events are given out late, in the order of the file.
 */
#include "replay/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/container.h"
#include "replay/hash.h"
#include "replay/page.h"

struct node {
	uint64_t time_ns;
	uint32_t entry;
};

struct trace {
	struct container c;
	struct stream_pool pool;
	struct cursor *cursors; /* by entry */
	struct node *heap; /* behind the last one there is a node that is never before another */
	size_t nr_heap;
	const struct node *limit;
	uint64_t total; /* bytes of event data in the file */
	bool plain; /* common_type has 2 bytes, common_pid 4, all is in our order, least is not 0 */
	bool running; /* heap[0] is what the last event came from, and all is well */
	bool started;
	int failed; /* sticky */
	struct trace_error why;
};

struct trace *trace_open(const char *path, struct trace_error *err)
{
	struct trace *t = calloc(1, sizeof(*t));
	size_t i, n;
	int ret;

	if (!t) {
		static const struct source nothing = {.fd = -1};

		source_fail(&nothing, err, -ENOMEM, NO_OFFSET, "out of memory");
		errno = ENOMEM;
		return NULL;
	}
	t->c.src.fd = -1;
	ret = container_open(&t->c, path, err);
	if (ret)
		goto fail;
	n = t->c.info.nr_entries;
	t->cursors = calloc(n ? n : 1, sizeof(*t->cursors));
	t->heap = calloc(n + 3, sizeof(*t->heap));
	if (!t->cursors || !t->heap) {
		ret = source_fail(&t->c.src, err, -ENOMEM, NO_OFFSET, "out of memory");
		goto fail;
	}
	t->pool.src = &t->c.src;
	t->plain = t->c.formats.common.type_size == 2 && t->c.formats.common.pid_size == 4 &&
		   !t->c.src.swap && !t->c.layout.big_endian && t->c.layout.least;
	for (i = 0; i < n; i++) {
		struct trace_cpu *cpu = &t->c.cpus[i];
		struct cursor *cur = &t->cursors[i];

		cur->cpu = cpu->cpu;
		cur->buffer = cpu->buffer;
		cur->loss = &cpu->loss;
		cur->stream.offset = cpu->file_offset;
		cur->stream.size = cpu->file_size;
		cur->stream.page_size = t->c.buffers[cpu->buffer].page_size;
		cur->stream.hash = HASH_START;
		cur->stream.zstd = t->c.zstd[cpu->buffer];
		t->total += cpu->file_size;
		if (cpu->file_size)
			t->pool.nr_streams++;
	}
	return t;
fail:
	trace_close(t);
	errno = -ret;
	return NULL;
}

void trace_close(struct trace *t)
{
	size_t i;

	if (!t)
		return;
	if (t->cursors)
		for (i = 0; i < t->c.info.nr_entries; i++)
			stream_free(&t->cursors[i].stream, &t->pool);
	stream_pool_free(&t->pool);
	free(t->cursors);
	free(t->heap);
	container_free(&t->c);
	free(t);
}

const struct trace_info *trace_info(const struct trace *t)
{
	return &t->c.info;
}

const struct trace_format *trace_formats(const struct trace *t, size_t *nr)
{
	*nr = t->c.formats.nr;
	return t->c.formats.list;
}

const struct trace_format *trace_format_by_id(const struct trace *t, int id)
{
	const struct formats *f = &t->c.formats;

	if (id < 0 || (size_t)id >= f->nr_ids || !f->by_id[id])
		return NULL;
	return &f->list[f->by_id[id] - 1];
}

void trace_progress(const struct trace *t, uint64_t *done, uint64_t *total)
{
	*done = t->pool.consumed;
	*total = t->total;
}

int trace_hash(const struct trace *t, uint64_t *hash, struct trace_error *err)
{
	const struct trace_info *info = &t->c.info;
	uint64_t h = hash_mix(0, info->file_size), at = 0;
	struct hash rest = HASH_START;
	unsigned char block[16384];

	for (size_t i = 0; i < info->nr_entries; i++)
		h = hash_value(h, &t->cursors[i].stream.hash);
	/* What lies between the CPUs' sections: headers, formats, options. */
	while (at < info->file_size) {
		uint64_t next = info->file_size, skip = 0;

		for (size_t i = 0; i < info->nr_entries; i++) {
			const struct trace_cpu *c = &info->cpus[i];

			if (!c->file_size || c->file_offset + c->file_size <= at)
				continue;
			if (c->file_offset <= at)
				skip = c->file_offset + c->file_size;
			else if (c->file_offset < next)
				next = c->file_offset;
		}
		if (skip) {
			at = skip;
			continue;
		}
		size_t size = next - at < sizeof(block) ? next - at : sizeof(block);
		int ret = source_read(&t->c.src, block, size, at, err);
		if (ret)
			return ret;
		hash_add(&rest, block, size);
		at += size;
	}
	*hash = hash_value(h, &rest);
	return 0;
}

int trace_find_field(struct trace *t, const struct trace_format *f, const char *name,
		     struct trace_field *field, struct trace_error *err)
{
	return formats_find_field(&t->c.formats, &t->c.src, t->c.info.long_size,
				  t->c.info.page_size, f, name, field, err);
}

bool trace_swap(const struct trace *t)
{
	return t->c.src.swap;
}

static inline bool before(const struct node *a, const struct node *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->entry < b->entry);
}

/* Puts MOVED at heap[I], or where it belongs among those below. */
static inline void sift_down(struct trace *t, size_t i, uint64_t time_ns, uint32_t entry)
{
	const struct node moved = {time_ns, entry};
	struct node *heap = t->heap;
	size_t n = t->nr_heap;

	for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
		child += before(&heap[child + 1], &heap[child]);
		if (!before(&heap[child], &moved))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i].time_ns = time_ns;
	heap[i].entry = entry;
}

/* How far the cursor of heap[0] may run before another one has its turn. */
static inline void set_limit(struct trace *t)
{
	t->limit = &t->heap[1] + before(&t->heap[2], &t->heap[1]);
}

static __attribute__((noinline)) int start(struct trace *t, struct trace_error *err)
{
	size_t i;
	int ret;

	for (i = 0; i < t->c.info.nr_entries; i++) {
		struct cursor *c = &t->cursors[i];

		if (!c->stream.size)
			continue;
		ret = cursor_step(c, &t->c.layout, &t->pool, err);
		if (ret < 0)
			return ret;
		if (ret)
			t->heap[t->nr_heap++] = (struct node){c->time_ns, i};
	}
	for (i = t->nr_heap; i < t->c.info.nr_entries + 3; i++)
		t->heap[i] = (struct node){UINT64_MAX, UINT32_MAX};
	for (i = t->nr_heap / 2; i-- > 0;)
		sift_down(t, i, t->heap[i].time_ns, t->heap[i].entry);
	set_limit(t);
	t->started = true;
	return 0;
}

static __attribute__((noinline)) int fail(struct trace *t, int ret, struct trace_error *err)
{
	if (t->failed) {
		*err = t->why;
	} else {
		t->failed = ret;
		t->why = *err;
	}
	return t->failed;
}

/* The cursor of heap[0] has moved: whose turn is it? */
static inline void pass_turn(struct trace *t, const struct cursor *c)
{
	const struct node top = {c->time_ns, t->heap[0].entry};

	if (before(t->limit, &top)) {
		sift_down(t, 0, top.time_ns, top.entry);
		set_limit(t);
	}
}

/* Moves the cursor of heap[0], whatever comes. Returns 0, or a negative errno. */
static int move_on(struct trace *t, struct trace_error *err)
{
	struct cursor *c = &t->cursors[t->heap[0].entry];
	struct node *last, moved;
	int ret;

	ret = cursor_step(c, &t->c.layout, &t->pool, err);
	if (ret < 0)
		return ret;
	if (ret) {
		pass_turn(t, c);
		return 0;
	}
	last = &t->heap[--t->nr_heap];
	moved = *last;
	*last = (struct node){UINT64_MAX, UINT32_MAX};
	if (t->nr_heap)
		sift_down(t, 0, moved.time_ns, moved.entry);
	set_limit(t);
	return 0;
}

static inline void give_out(const struct trace *t, struct trace_record *rec, bool plain)
{
	const struct common_fields *common = &t->c.formats.common;
	uint32_t entry = t->heap[0].entry;
	const struct cursor *c = &t->cursors[entry];
	const uint8_t *type = c->data + common->type_offset, *pid = c->data + common->pid_offset;
	bool swap = !plain && t->c.src.swap;

	rec->time_ns = c->time_ns;
	rec->data = c->data;
	rec->size = c->size;
	rec->entry = entry;
	rec->cpu = c->cpu;
	rec->buffer = c->buffer;
	rec->id = common_number(type, plain ? 2 : common->type_size, swap);
	rec->pid = common_number(pid, plain ? 4 : common->pid_size, swap);
	rec->missed = c->missed;
	rec->missed_events = c->missed ? c->missed_events : 0;
	rec->offset = c->page_offset;
}

/*
 * trace_next() for all that is not plain: the first event, a page's first, a file in foreign order.
 */
static __attribute__((noinline)) int next_special(struct trace *t, struct trace_record *rec,
						  struct trace_error *err)
{
	int ret = t->failed;

	t->running = false;
	if (!t->started && !ret)
		ret = start(t, err);
	else if (!ret && t->nr_heap)
		ret = move_on(t, err);
	if (ret < 0)
		return fail(t, ret, err);
	if (!t->nr_heap)
		return 0;
	t->running = t->plain;
	give_out(t, rec, false);
	return 1;
}

int trace_next(struct trace *t, struct trace_record *rec, struct trace_error *err)
{
	struct cursor *c;

	if (__builtin_expect(!t->running, 0))
		return next_special(t, rec, err);
	c = &t->cursors[t->heap[0].entry];
	if (__builtin_expect(!cursor_plain(c, &t->c.layout), 0))
		return next_special(t, rec, err);
	pass_turn(t, c);
	give_out(t, rec, true);
	return 1;
}
