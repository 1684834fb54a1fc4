// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The merged stream.
 *
 * Every (CPU, buffer) pair is a lane: a cursor that stands at the lane's next event. The lanes play
 * for the turn in a tree of losers (Knuth 5.4.1): a node keeps the loser of the match that was
 * played there, the winner of all is outside. When a lane has given out its event, the next one
 * plays its way up. No step of that is a branch that the CPU could guess wrong. Ties go to the
 * lower lane, and lanes are in the order of (cpu, buffer): the promised order.
 *
 *	pages -> cursor --.
 *	pages -> cursor --+-> tree of losers -> run of one lane's records -> batch
 *	pages -> cursor --'
 *
 * Events of a CPU come in bursts: a fault is five events within a microsecond. So the lane whose
 * turn it is gives out whatever comes before the second one's event, in one short loop over the
 * records as they lie in the page, and only then is anything played. Where the CPUs' events
 * alternate (of many CPUs that are all busy) the end of such a loop would be guessed wrong again
 * and again and nothing be won; as long as that is so, one event at a time is given out.
 *
 * Events are given out in batches. They point into blocks of the file; a block that a cursor has
 * left goes with the batch that has its last events, and is filled again when the batch is.
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

#include "common/grow.h"
#include "replay/container.h"
#include "replay/hash.h"
#include "replay/page.h"

#define NR_IDS      65536
#define NEXT_BATCH  128        /* events that trace_next() takes at a time */
#define BATCH_BYTES (2U << 20) /* blocks that a batch may hold on to */

#define MOVES_MOST  64 /* of keys' base: decades */
#define FULL        1  /* merge_plain(): the batch is */

/* What plays where times lie too far apart for keys: see struct tree. */
struct player {
	uint64_t time_ns;
	uint64_t lane; /* as many more as there are leaves if it has no events left */
};

/*
 * Who lost where, by node; 1 is the root, LEAVES + i stands for lane i. A key is a time since BASE
 * with the number of the lane below it, so that one comparison and no branch decides a match. Times
 * that do not fit are for recordings that nobody made on purpose: all is played by players then.
 */
struct tree {
	uint64_t *keys;
	uint64_t winner;
	uint64_t base;          /* nanoseconds */
	unsigned int lane_bits; /* of a key; the rest is time, all of it set: no more events */
	unsigned int moves;     /* of the base; each costs as much as there are lanes */
	bool wide;              /* what counts is this: */
	struct player *players;
	struct player wide_winner;
};

struct trace {
	struct container c;
	struct stream_pool pool;
	struct cursor *cursors; /* by entry */
	struct cursor **lanes;  /* by leaf */
	struct tree tree;
	size_t leaves;         /* a power of two */
	const uint16_t *kinds; /* by id */
	uint16_t *own_kinds;   /* the ids themselves, 0 too */
	bool all;              /* kind 0 is wanted, too */
	uint16_t last_kind;    /* ends a batch; 0: none does */
	uint64_t *counts;      /* by id */
	uint64_t total;        /* bytes of event data in the file */
	bool plain; /* common_type has 2 bytes, common_pid 4, all is in our order, least is not 0 */
	bool started;
	bool in_runs; /* lately, events of a CPU came several at a time */
	int failed;   /* sticky */
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
		   t->c.layout.least && t->c.layout.least <= PAGE_PLAIN_MAX;
	for (i = 0; i < n; i++) {
		struct trace_cpu *cpu = &t->c.cpus[i];
		struct cursor *cur = &t->cursors[i];

		cur->cpu = cpu->cpu;
		cur->buffer = cpu->buffer;
		cur->entry = (uint32_t)i;
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
	free(t->tree.keys);
	free(t->tree.players);
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
	if (b->time_ns < a->time_ns || (b->time_ns == a->time_ns && b->lane < a->lane)) {
		struct player better = *b;

		*b = *a;
		*a = better;
	}
}

/* The most that a key's time can be, which no event has. */
static inline uint64_t key_most(const struct tree *tree)
{
	return UINT64_MAX >> tree->lane_bits;
}

static inline uint64_t key_of(const struct tree *tree, uint64_t since_base, size_t lane)
{
	return since_base << tree->lane_bits | lane;
}

static inline bool is_out(const struct trace *t)
{
	return t->tree.wide ? t->tree.wide_winner.lane >= t->leaves
			    : t->tree.winner >= key_of(&t->tree, key_most(&t->tree), 0);
}

/*
 * Plays all matches. PLAYERS has the lanes from LEAVES on, and room for as many winners below. Uses
 * keys where all times fit.
 */
static void play_all(struct trace *t, struct player *players)
{
	struct tree *tree = &t->tree;
	const size_t leaves = t->leaves;
	uint64_t most = key_most(tree), half = most / 2;

	for (size_t node = leaves - 1; node; node--) {
		players[node] = players[2 * node];
		tree->players[node] = players[2 * node + 1];
		play(&players[node], &tree->players[node]);
	}
	tree->wide_winner = players[1];
	/* Neither end of it wraps around. */
	tree->base = players[1].time_ns > half ? players[1].time_ns - half : 0;
	if (tree->base > UINT64_MAX - most)
		tree->base = UINT64_MAX - most;
	tree->wide = false;
	for (size_t node = 0; node < leaves; node++) {
		const struct player *p = node ? &tree->players[node] : &tree->wide_winner;
		bool out = p->lane >= leaves;
		uint64_t since = out ? most : p->time_ns - tree->base;
		uint64_t *key = node ? &tree->keys[node] : &tree->winner;

		tree->wide |= !out && since >= most;
		*key = key_of(tree, since, p->lane & (leaves - 1));
	}
}

/* The event of LANE is too far from BASE for a key: moves that, or does without keys. */
static int widen(struct trace *t, size_t lane, struct trace_error *err)
{
	struct tree *tree = &t->tree;
	const uint64_t out = key_of(tree, key_most(tree), 0);
	struct player *players = calloc(2 * t->leaves, sizeof(*players));

	if (!players)
		return source_fail(&t->c.src, err, -ENOMEM, NO_OFFSET, "out of memory");
	for (size_t node = 0; node < t->leaves; node++) {
		uint64_t key = node ? tree->keys[node] : tree->winner;
		size_t at = key & (t->leaves - 1);
		bool ended = key >= out && at != lane;

		players[t->leaves + at] = (struct player){
			ended ? UINT64_MAX : t->lanes[at]->time_ns, ended ? at + t->leaves : at};
	}
	play_all(t, players);
	free(players);
	if (++tree->moves > MOVES_MOST)
		tree->wide = true;
	return 0;
}

/* Finds the first events of all CPUs and has them play against each other. */
static int start(struct trace *t, struct trace_error *err)
{
	struct tree *tree = &t->tree;
	struct player *players;
	size_t nr = 0, i;

	for (t->leaves = 1; t->leaves < t->pool.nr_streams; t->leaves *= 2)
		tree->lane_bits++;
	t->lanes = calloc(t->leaves, sizeof(struct cursor *));
	tree->keys = calloc(t->leaves, sizeof(*tree->keys));
	tree->players = calloc(t->leaves, sizeof(*tree->players));
	players = calloc(2 * t->leaves, sizeof(*players));
	if (!t->lanes || !tree->keys || !tree->players || !players) {
		free(players);
		return source_fail(&t->c.src, err, -ENOMEM, NO_OFFSET, "out of memory");
	}
	for (i = 0; i < t->c.info.nr_entries; i++)
		if (t->cursors[i].stream.size)
			t->lanes[nr++] = &t->cursors[i];
	for (i = 0; i < t->leaves; i++) {
		struct cursor *c = t->lanes[i];
		int ret = c ? cursor_step(c, &t->c.layout, &t->pool, err) : 0;

		if (ret < 0) {
			free(players);
			return ret;
		}
		players[t->leaves + i] = ret ? (struct player){c->time_ns, i}
					     : (struct player){UINT64_MAX, i + t->leaves};
	}
	play_all(t, players);
	free(players);
	t->started = true;
	return 0;
}

/* LANE, that had the next event, has one at TIME_NS now, or none any more. */
static inline int play_up(struct trace *t, size_t lane, uint64_t time_ns, bool out,
			  struct trace_error *err)
{
	struct tree *tree = &t->tree;
	uint64_t since = time_ns - tree->base, most = key_most(tree), winner;

	if (__builtin_expect(tree->wide, 0)) {
		struct player player = {out ? UINT64_MAX : time_ns, out ? lane + t->leaves : lane};

		for (size_t node = (t->leaves + lane) / 2; node; node /= 2)
			play(&player, &tree->players[node]);
		tree->wide_winner = player;
		return 0;
	}
	if (__builtin_expect(out, 0))
		since = most;
	else if (__builtin_expect(since >= most, 0))
		return widen(t, lane, err);
	winner = key_of(tree, since, lane);
	for (size_t node = (t->leaves + lane) / 2; node; node /= 2) {
		uint64_t other = tree->keys[node];
		bool better = other < winner;

		tree->keys[node] = better ? winner : other;
		winner = better ? other : winner;
	}
	tree->winner = winner;
	return 0;
}

static int add_gap(struct trace_batch *b, size_t event, uint64_t missed_events)
{
	struct trace_gap *gaps = grow_list(b->gaps, b->nr_gaps, &b->max_gaps, sizeof(*gaps));

	if (!gaps)
		return -ENOMEM;
	b->gaps = gaps;
	b->gaps[b->nr_gaps++] = (struct trace_gap){event, missed_events};
	return 0;
}

static int note_gap(struct trace *t, struct trace_batch *b, const struct trace_event *event,
		    const struct cursor *c, struct trace_error *err)
{
	if (add_gap(b, (size_t)(event - b->events), c->missed_events))
		return source_fail(&t->c.src, err, -ENOMEM, NO_OFFSET, "out of memory");
	return 0;
}

/*
 * Gives out events in their order until B is full: of any recording, one at a time. Returns 0, or a
 * negative errno when one is to be met behind what B holds.
 */
static int merge_any(struct trace *t, struct trace_batch *b, struct trace_error *err)
{
	const struct common_fields *const common = &t->c.formats.common;
	const bool swap = t->c.src.swap;
	struct tree *const tree = &t->tree;
	struct trace_event *out = b->events + b->nr;
	const struct trace_event *out_end = b->events + b->max;
	int ret = 0;

	while (out < out_end && !is_out(t)) {
		const size_t lane =
			tree->wide ? tree->wide_winner.lane : tree->winner & (t->leaves - 1);
		struct cursor *const c = t->lanes[lane];
		const uint8_t *data = c->data;
		uint16_t id;

		if (c->missed && (ret = note_gap(t, b, out, c, err)))
			break;
		id = (uint16_t)common_number(data + common->type_offset, common->type_size, swap);
		*out = (struct trace_event){
			.time_ns = c->time_ns,
			.data = data,
			.size = c->size,
			.pid = (int32_t)common_number(data + common->pid_offset, common->pid_size,
						      swap),
			.kind = t->kinds[id],
			.entry = (uint16_t)c->entry,
			.missed = c->missed,
		};
		t->counts[id]++;
		c->events++;
		b->seen++;
		b->first_ns = c->time_ns < b->first_ns ? c->time_ns : b->first_ns;
		b->last_ns = c->time_ns > b->last_ns ? c->time_ns : b->last_ns;
		if (t->last_kind && out->kind == t->last_kind)
			out_end = out;
		/* There is always room for one more behind what the batch may hold. */
		out += out->kind || out->missed || t->all;

		ret = cursor_step(c, &t->c.layout, &t->pool, err);
		if (ret >= 0)
			ret = play_up(t, lane, c->time_ns, !ret, err);
		if (ret < 0)
			break;
		if (t->pool.retired_bytes >= BATCH_BYTES)
			out_end = out;
	}
	b->nr = (size_t)(out - b->events);
	return ret < 0 ? ret : 0;
}

/*
 * The same of a plain recording, in runs, as long as keys do. What is there per event is what
 * reading costs, and is kept in registers.
 */
static inline __attribute__((always_inline)) int
merge_plain(struct trace *t, struct trace_batch *b, struct trace_error *err, const bool scaled)
{
	const struct page_layout *const l = &t->c.layout;
	const uint16_t *const kinds = t->kinds;
	const uint32_t last_kind = t->last_kind ? t->last_kind : UINT32_MAX;
	/* Types of records that say how long they are, and are not too short. */
	const uint32_t plain_types = UINT32_MAX << (l->least + 3) / 4 & 0x1ffffffe;
	/* Time may wrap around within a run where it is scaled. */
	const bool in_runs = t->in_runs && !scaled;
	struct tree *const tree = &t->tree;
	uint64_t *const keys = tree->keys;
	struct cursor *const *const lanes = t->lanes;
	const size_t leaves = t->leaves;
	const unsigned int lane_bits = tree->lane_bits;
	const uint64_t base = tree->base, most = key_most(tree), none = key_of(tree, most, 0);
	uint64_t winner = tree->winner;
	uint64_t *const counts = t->counts;
	struct trace_event *out = b->events + b->nr;
	const struct trace_event *out_end = b->events + b->max;
	uint64_t first_ns = b->first_ns, last_ns = b->last_ns, seen = 0, changes = 0;
	int ret = 0;

	while (out < out_end && winner < none) {
		const size_t lane = winner & (leaves - 1);
		struct cursor *const c = lanes[lane];
		const uint32_t entry = c->entry;
		struct trace_event *const first = out;
		const bool missed = c->missed, any = t->all || missed;
		const uint8_t *data = c->data, *at = c->at;
		const uintptr_t end = (uintptr_t)c->end;
		uint64_t clock = c->clock, time_ns = c->time_ns, until = 0, n = 0, last, since;
		uint32_t size = c->size;

		first_ns = time_ns < first_ns ? time_ns : first_ns;
		if (__builtin_expect(missed, 0)) {
			/* It comes alone, so that ANY is of no other. */
			ret = note_gap(t, b, out, c, err);
			if (ret)
				break;
		} else if (in_runs && !(time_ns >> 63)) {
			/* Times of a run never go back; who is second lost to the winner. */
			uint64_t second = UINT64_MAX;

			for (size_t node = (leaves + lane) / 2; node; node /= 2)
				second = keys[node] < second ? keys[node] : second;
			until = base + (second >> lane_bits) + (lane < (second & (leaves - 1)));
		}
		for (;;) {
			uint16_t id, kind;
			uintptr_t next;
			uint32_t word;

			memcpy(&id, data, sizeof(id));
			memcpy(&out->pid, data + 4, sizeof(out->pid));
			kind = kinds[id];
			counts[id]++;
			out->time_ns = time_ns;
			out->data = data;
			out->size = size;
			out->kind = kind;
			out->entry = (uint16_t)entry;
			out->missed = false;
			n++;
			last = time_ns;
			/* There is always room for one more behind what the batch may hold. */
			out += kind || any;
			if (__builtin_expect(kind == last_kind, 0))
				out_end = out;

			/*
			 * A plain record that ends within the page's data. What is read of one that
			 * does not begin there is the block's BLOCK_SPARE.
			 */
			memcpy(&word, at, sizeof(word));
			size = (word & 31) * 4;
			next = (uintptr_t)at + 4 + size;
			if (__builtin_expect(next > end || !(plain_types >> (word & 31) & 1), 0)) {
				c->at = at;
				c->clock = scaled ? clock : last - l->offset_ns;
				ret = cursor_step(c, l, &t->pool, err);
				if (t->pool.retired_bytes >= BATCH_BYTES)
					out_end = out;
				time_ns = c->time_ns;
				break;
			}
			data = at + 4;
			at = data + size;
			if (scaled) {
				clock += word >> 5;
				time_ns = page_time(l, clock);
			} else {
				time_ns += word >> 5;
			}
			if (time_ns >= until || out >= out_end) {
				__builtin_prefetch(at);
				c->at = at;
				c->clock = scaled ? clock : time_ns - l->offset_ns;
				c->data = data;
				c->size = size;
				c->missed = false;
				c->time_ns = time_ns;
				ret = 1;
				break;
			}
		}
		first->missed = missed;
		last_ns = last > last_ns ? last : last_ns;
		c->events += n;
		seen += n;
		if (__builtin_expect(ret < 0, 0))
			break;

		since = ret ? time_ns - base : most;
		winner = key_of(tree, since, lane);
		if (__builtin_expect(since >= most && ret, 0)) {
			tree->winner = lane;
			ret = widen(t, lane, err);
			winner = tree->winner;
			break;
		}
		ret = 0;
		for (size_t node = (leaves + lane) / 2; node; node /= 2) {
			uint64_t other = keys[node];
			bool better = other < winner;

			keys[node] = better ? winner : other;
			winner = better ? other : winner;
		}
		changes += (winner & (leaves - 1)) != lane;
	}
	tree->winner = winner;
	t->in_runs = seen > changes + changes / 2;
	b->nr = (size_t)(out - b->events);
	b->first_ns = first_ns;
	b->last_ns = last_ns;
	b->seen += seen;
	return ret ? ret : out >= out_end ? FULL : 0;
}

static int merge(struct trace *t, struct trace_batch *b, struct trace_error *err)
{
	int ret;

	/* Once more where keys have another base. */
	do {
		if (!t->plain || t->tree.wide)
			return merge_any(t, b, err);
		ret = t->c.layout.mult ? merge_plain(t, b, err, true)
				       : merge_plain(t, b, err, false);
	} while (!ret && !is_out(t));
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
			return fail(
				t, source_fail(&t->c.src, err, -ENOMEM, NO_OFFSET, "out of memory"),
				err);
		b->max = max;
	}
	if (!t->started)
		ret = start(t, err);
	if (!ret)
		ret = merge(t, b, err);
	b->blocks = t->pool.retired;
	t->pool.retired = NULL;
	t->pool.retired_bytes = 0;
	/* What came before a fault is given out first. */
	if (ret < 0)
		fail(t, ret, err);
	if (b->nr || (ret >= 0 && !is_out(t)))
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
