// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The merged stream.
 *
 * Every (CPU, buffer) pair has a cursor, and a lane of events in front of it that were found
 *already: a page's records are walked in one short loop, which is far cheaper than coming back for
 *each.
 *
 *	pages -> cursor -> lane of up to 64 events -.
 *	pages -> cursor -> lane --------------------+-> tree of losers -> batch
 *	pages -> cursor -> lane --------------------'
 *
 * The tree (Knuth 5.4.1) has the first event of each lane at a leaf. A node keeps the loser of the
 * match that was played there, the winner of all is outside. When a lane has given out its first
 * event, the next one plays its way up. No step of that is a branch that the CPU could guess wrong:
 * on a busy machine nobody can tell whose event is next, and a wrong guess costs more than a level.
 * Ties go to the lower leaf, and lanes are in the order of (cpu, buffer): the promised order.
 *
 * Events are given out in batches. They point into blocks of the file; a block that a cursor has
 * left goes with the batch that has its last events, and is filled again when the batch is. A
 *cursor turns to its next page only when its lane is empty.
 *
 * What nobody wants is told by its id alone when it is its turn. It must not be passed over before:
 * an event of another CPU may still come to want it (decoder_add_access()).
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

#define NR_IDS      65536
#define NEXT_BATCH  128       /* events that trace_next() takes at a time */
#define BATCH_BYTES (2U << 20) /* blocks that a batch may hold on to */

#define LANE_SHIFT  6
#define LANE_EVENTS (1U << LANE_SHIFT)

/*
 * Events that were found and not given out yet, of one CPU; their KIND is still the id. Behind the
 * last one there is one without data.
 */
struct lane {
	struct trace_event events[LANE_EVENTS];
};

/* What plays: the first event of a lane. As lanes lie in their order, the pointer decides ties. */
struct player {
	uint64_t time_ns;
	const struct trace_event *event;
};

struct trace {
	struct container c;
	struct stream_pool pool;
	struct cursor *cursors; /* by entry */
	/*
	 * By leaf. As many more that are never touched: where the players of lanes stand that have no
	 * more events, behind all that have some.
	 */
	struct lane *lanes;
	uint32_t *lane_entry;
	struct player *losers; /* by node; 1 is the root, LEAVES + i stands for lane i */
	struct player winner;
	size_t leaves;         /* a power of two */
	const uint16_t *kinds; /* by id */
	uint16_t *own_kinds;   /* the ids themselves, 0 too */
	bool all;              /* kind 0 is wanted, too */
	uint16_t last_kind;    /* ends a batch; 0: none does */
	uint64_t *counts;      /* by id */
	uint64_t seen;         /* events that went into lanes since a batch was filled last */
	uint64_t total; /* bytes of event data in the file */
	bool plain; /* common_type has 2 bytes, common_pid 4, all is in our order, least is not 0 */
	bool started;
	int failed; /* sticky */
	struct trace_error why;
	struct stream_scratch *scratch; /* by thread that loads ahead */
	unsigned int nr_scratch;
	struct trace_batch batch; /* of trace_next() */
	size_t given, gap;        /* of it */
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
	t->counts = calloc(NR_IDS, sizeof(*t->counts));
	t->own_kinds = calloc(NR_IDS, sizeof(*t->own_kinds));
	if (!t->cursors || !t->counts || !t->own_kinds) {
		ret = source_fail(&t->c.src, err, -ENOMEM, NO_OFFSET, "out of memory");
		goto fail;
	}
	for (i = 0; i < NR_IDS; i++)
		t->own_kinds[i] = (uint16_t)i;
	t->kinds = t->own_kinds;
	t->all = true;
	t->pool.src = &t->c.src;
	t->pool.keep = true;
	const struct common_fields *common = &t->c.formats.common;
	t->plain = common->type_offset == 0 && common->type_size == 2 && common->pid_offset == 4 &&
		   common->pid_size == 4 && !t->c.src.swap && !t->c.layout.big_endian &&
		   t->c.layout.least;
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
	trace_batch_free(t, &t->batch);
	for (i = 0; i < t->nr_scratch; i++)
		stream_scratch_free(&t->scratch[i]);
	free(t->scratch);
	stream_pool_free(&t->pool);
	free(t->cursors);
	free(t->lanes);
	free(t->lane_entry);
	free(t->losers);
	free(t->counts);
	free(t->own_kinds);
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
	*done = __atomic_load_n(&t->pool.consumed, __ATOMIC_RELAXED);
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
	return formats_find_field(&t->c.src, f, name, field, err);
}

bool trace_swap(const struct trace *t)
{
	return t->c.src.swap;
}

/* The better of two is left in A, the other in B. */
static inline void play(struct player *a, struct player *b)
{
	const uint64_t mine = (uintptr_t)a->event, other = (uintptr_t)b->event;
	/* One comparison with carry of (time, event). */
	const unsigned __int128 x = (unsigned __int128)a->time_ns << 64 | mine;
	const unsigned __int128 y = (unsigned __int128)b->time_ns << 64 | other;
	const uint64_t swap = -(uint64_t)(y < x);
	const uint64_t time_ns = (a->time_ns ^ b->time_ns) & swap, event = (mine ^ other) & swap;

	a->time_ns ^= time_ns;
	b->time_ns ^= time_ns;
	a->event = (const struct trace_event *)(uintptr_t)(mine ^ event);
	b->event = (const struct trace_event *)(uintptr_t)(other ^ event);
}

/* The leaf where the lane of EVENT is. */
static inline size_t leaf_of(const struct trace *t, const struct trace_event *event)
{
	return (size_t)(event - t->lanes->events) >> LANE_SHIFT & (t->leaves - 1);
}

/* Whether EVENT only stands for a lane that has none. */
static inline bool is_out(const struct trace *t, const struct trace_event *event)
{
	return event >= t->lanes[t->leaves].events;
}

/* Ids and pids as nearly all recordings have them: see struct trace.plain. */
static inline void read_plain(struct trace_event *e)
{
	memcpy(&e->kind, e->data, sizeof(e->kind));
	memcpy(&e->pid, e->data + 4, sizeof(e->pid));
}

static void read_common(const struct trace *t, struct trace_event *e)
{
	const struct common_fields *common = &t->c.formats.common;
	bool swap = t->c.src.swap;

	e->kind = (uint16_t)common_number(e->data + common->type_offset, common->type_size, swap);
	e->pid = (int32_t)common_number(e->data + common->pid_offset, common->pid_size, swap);
}

/* Finds the plain events that follow in the cursor's page: see cursor_next(). */
static struct trace_event *find_plain(struct trace *t, struct cursor *c, uint16_t entry,
				      struct trace_event *e, const struct trace_event *end)
{
	const struct page_layout *l = &t->c.layout;
	const uint32_t least = l->least;
	const uint8_t *at = c->at, *const page_end = c->end;
	uint64_t clock = c->clock;

	for (; e < end; e++) {
		size_t left = page_end - at;
		uint32_t word, size;

		if (left < 8)
			break;
		memcpy(&word, at, sizeof(word));
		size = (word & 31) * 4;
		/* Type 0, which has no size, is less than the least too. */
		if (__builtin_expect(size > 28 * 4 || size > left - 4 || size < least, 0))
			break;
		clock += word >> 5;
		*e = (struct trace_event){
			.time_ns = page_time(l, clock), .data = at + 4, .size = size, .entry = entry};
		read_plain(e);
		t->counts[e->kind]++;
		at += 4 + size;
	}
	c->at = at;
	c->clock = clock;
	return e;
}

/*
 * Fills the lane of LEAF, which is empty, and leaves its first event in PLAYER. Returns 1, 0 if its
 * CPU has no more events, or a negative errno.
 *
 * Only the first event of a page can be missing some before it, and only the first step can turn
 * the page.
 */
static __attribute__((noinline)) int refill(struct trace *t, size_t leaf, struct player *player,
					    struct trace_error *err)
{
	const uint32_t entry = t->lane_entry[leaf];
	struct cursor *c = &t->cursors[entry];
	struct trace_event *first = t->lanes[leaf].events, *e = first;
	int ret = cursor_step(c, &t->c.layout, &t->pool, err);

	if (ret <= 0) {
		*player = (struct player){UINT64_MAX, t->lanes[t->leaves + leaf].events};
		return ret;
	}
	*e = (struct trace_event){.time_ns = c->time_ns, .data = c->data, .size = c->size,
				  .entry = (uint16_t)entry, .missed = c->missed};
	if (t->plain)
		read_plain(e);
	else
		read_common(t, e);
	t->counts[e->kind]++;
	e++;
	if (t->plain)
		e = find_plain(t, c, (uint16_t)entry, e, first + LANE_EVENTS - 1);
	e->data = NULL;
	c->events += e - first;
	t->seen += e - first;
	*player = (struct player){first->time_ns, first};
	return 1;
}

/* Fills all lanes and has them play against each other. */
static int start(struct trace *t, struct trace_error *err)
{
	struct player *players; /* winners, by node, before the losers are known */
	size_t nr = 0, i;

	for (t->leaves = 1; t->leaves < t->pool.nr_streams; t->leaves *= 2)
		;
	t->lanes = malloc(2 * t->leaves * sizeof(*t->lanes));
	t->lane_entry = calloc(t->leaves, sizeof(*t->lane_entry));
	t->losers = calloc(t->leaves, sizeof(*t->losers));
	players = calloc(2 * t->leaves, sizeof(*players));
	if (!t->lanes || !t->lane_entry || !t->losers || !players) {
		free(players);
		return source_fail(&t->c.src, err, -ENOMEM, NO_OFFSET, "out of memory");
	}
	for (i = 0; i < t->c.info.nr_entries; i++)
		if (t->cursors[i].stream.size)
			t->lane_entry[nr++] = (uint32_t)i;
	for (i = 0; i < t->leaves; i++) {
		struct player *p = &players[t->leaves + i];
		int ret = 0;

		*p = (struct player){UINT64_MAX, t->lanes[t->leaves + i].events};
		if (i < nr)
			ret = refill(t, i, p, err);
		if (ret < 0) {
			free(players);
			return ret;
		}
	}
	for (size_t node = t->leaves - 1; node; node--) {
		players[node] = players[2 * node];
		t->losers[node] = players[2 * node + 1];
		play(&players[node], &t->losers[node]);
	}
	t->winner = players[1];
	free(players);
	t->started = true;
	return 0;
}

static int add_gap(struct trace_batch *b, size_t event, uint64_t missed_events)
{
	if (b->nr_gaps == b->max_gaps) {
		size_t max = b->max_gaps ? b->max_gaps * 2 : 16;
		struct trace_gap *more = reallocarray(b->gaps, max, sizeof(*more));

		if (!more)
			return -ENOMEM;
		b->gaps = more;
		b->max_gaps = max;
	}
	b->gaps[b->nr_gaps++] = (struct trace_gap){event, missed_events};
	return 0;
}

/*
 * Gives out events in their order until B is full. Returns 0, or a negative errno when one is to be
 * met behind what B holds.
 */
static int merge(struct trace *t, struct trace_batch *b, struct trace_error *err)
{
	const uint16_t *const kinds = t->kinds;
	const uint32_t last_kind = t->last_kind ? t->last_kind : UINT32_MAX;
	const bool all = t->all;
	const size_t leaves = t->leaves;
	struct player *const losers = t->losers;
	struct player winner = t->winner;
	struct trace_event *out = b->events;
	const struct trace_event *out_end = b->events + b->max;
	uint64_t first_ns = b->first_ns, last_ns = b->last_ns;
	int ret = 0;

	while (out < out_end && !is_out(t, winner.event)) {
		const struct trace_event *e = winner.event;
		const size_t leaf = leaf_of(t, e);
		const uint16_t kind = kinds[e->kind];
		bool want = kind || all;

		*out = *e;
		out->kind = kind;
		if (winner.time_ns > last_ns)
			last_ns = winner.time_ns;
		if (__builtin_expect(winner.time_ns < first_ns, 0))
			first_ns = winner.time_ns;
		if (__builtin_expect(e->missed, 0)) {
			want = true;
			if (add_gap(b, out - b->events, t->cursors[e->entry].missed_events)) {
				ret = source_fail(&t->c.src, err, -ENOMEM, NO_OFFSET,
						  "out of memory");
				break;
			}
		}
		/* There is always room for one more behind what the batch may hold. */
		out += want;
		if (__builtin_expect(kind == last_kind, 0))
			out_end = out;

		winner.event = e + 1;
		winner.time_ns = e[1].time_ns;
		if (__builtin_expect(!e[1].data, 0)) {
			struct player next;

			ret = refill(t, leaf, &next, err);
			if (ret < 0)
				break;
			winner = next;
			if (t->pool.retired_bytes >= BATCH_BYTES)
				out_end = out;
		}
		for (size_t node = (leaves + leaf) / 2; node; node /= 2)
			play(&winner, &losers[node]);
	}
	t->winner = winner;
	b->nr = out - b->events;
	b->first_ns = first_ns;
	b->last_ns = last_ns;
	return ret < 0 ? ret : 0;
}

static int fail(struct trace *t, int ret, struct trace_error *err)
{
	if (t->failed) {
		*err = t->why;
	} else {
		t->failed = ret;
		t->why = *err;
	}
	return t->failed;
}

/* Gives back what B held. */
static void empty(struct trace *t, struct trace_batch *b)
{
	stream_recycle(&t->pool, b->blocks);
	b->blocks = NULL;
	b->nr = b->nr_gaps = 0;
	b->seen = b->last_ns = 0;
	b->first_ns = UINT64_MAX;
}

int trace_fill(struct trace *t, struct trace_batch *b, size_t max, struct trace_error *err)
{
	int ret = 0;

	empty(t, b);
	if (t->failed)
		return fail(t, t->failed, err);
	if (!b->events) {
		b->events = calloc(max + 1, sizeof(*b->events));
		if (!b->events)
			return fail(t,
				    source_fail(&t->c.src, err, -ENOMEM, NO_OFFSET,
						"out of memory"),
				    err);
		b->max = max;
	}
	if (!t->started)
		ret = start(t, err);
	if (!ret)
		ret = merge(t, b, err);
	b->seen = t->seen;
	t->seen = 0;
	b->blocks = t->pool.retired;
	t->pool.retired = NULL;
	t->pool.retired_bytes = 0;
	/* What came before a fault is given out first. */
	if (ret < 0)
		fail(t, ret, err);
	if (b->nr || (ret >= 0 && !is_out(t, t->winner.event)))
		return 1;
	return ret < 0 ? ret : 0;
}

void trace_batch_free(struct trace *t, struct trace_batch *b)
{
	stream_recycle(&t->pool, b->blocks);
	free(b->events);
	free(b->gaps);
	*b = (struct trace_batch){0};
}

void trace_want(struct trace *t, const uint16_t *kinds, uint16_t last)
{
	t->kinds = kinds;
	t->last_kind = last;
	t->all = false;
}

int trace_load_ahead(struct trace *t, unsigned int nr_threads,
		     void (*soon)(void *context, void *item), void *context)
{
	t->scratch = calloc(nr_threads, sizeof(*t->scratch));
	if (!t->scratch)
		return -ENOMEM;
	t->nr_scratch = nr_threads;
	t->pool.load_soon = soon;
	t->pool.context = context;
	return 0;
}

void trace_load(struct trace *t, void *item, unsigned int thread)
{
	stream_load(item, &t->pool, &t->scratch[thread]);
}

uint64_t trace_id_count(const struct trace *t, uint16_t id)
{
	return t->counts[id];
}

uint64_t trace_entry_count(const struct trace *t, size_t entry)
{
	return t->cursors[entry].events;
}

int trace_next(struct trace *t, struct trace_record *rec, struct trace_error *err)
{
	struct trace_batch *b = &t->batch;
	const struct trace_event *e;
	const struct trace_cpu *cpu;

	if (__builtin_expect(t->given == b->nr, 0)) {
		int ret = trace_fill(t, b, NEXT_BATCH, err);

		t->given = t->gap = 0;
		if (ret <= 0)
			return ret;
	}
	e = &b->events[t->given];
	cpu = &t->c.cpus[e->entry];
	rec->time_ns = e->time_ns;
	rec->data = e->data;
	rec->size = e->size;
	rec->entry = e->entry;
	rec->cpu = cpu->cpu;
	rec->buffer = cpu->buffer;
	rec->id = e->kind;
	rec->pid = e->pid;
	rec->missed = t->gap < b->nr_gaps && b->gaps[t->gap].event == t->given;
	rec->missed_events = rec->missed ? b->gaps[t->gap++].missed_events : 0;
	t->given++;
	return 1;
}
