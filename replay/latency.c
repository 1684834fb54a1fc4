// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each task that is inside a call has a record, found by its tid, as long as it is. How many other
 * calls were under way at any moment of one: those that were when it began, and all that began
 * until it ended.
 */
#include "replay/latency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "replay/map.h"

enum {
	EXACT_BITS = 6, /* below 64 ns each has its own bucket */
	SUB_BITS = 5,
	MOST_BITS = 42, /* what took longer than 73 minutes counts as that long */
	BUCKETS = (1 << EXACT_BITS) + (MOST_BITS - EXACT_BITS) * (1 << SUB_BITS),
	STEPS = 33, /* 0, 1, 2..3, ... of 32 bits */
	CALL_OPEN = 3 /* calls that a task can be in at a time: contpte > upgrade, gather > range */
};

struct open_call {
	uint64_t begun_ns;
	uint64_t others, begins; /* when it began: calls under way, and begun so far */
	uint32_t probes;
	uint32_t lost; /* of its CPU, by then */
	uint8_t call;  /* enum latency_call, UPGRADE also for YOUNG and UNCHANGED */
	bool read;     /* UPGRADE: it is known to be for a read */
	uint8_t seen;  /* 1 << enum latency_flush */
	bool switched;
};

/* A task inside a call or several nested ones. */
struct busy {
	uint64_t key;
	uint32_t cpu; /* where the outermost began */
	uint32_t nr;
	struct open_call calls[CALL_OPEN];
};

struct cell {
	struct latency_group group;
	uint64_t *buckets;
};

/* The CPUs that an address space has run on. */
struct cpus {
	uint64_t *bits; /* NULL: none yet, or the address space has ended */
	uint32_t nr;
};

struct latency {
	unsigned int nr_cpus, words;
	uint64_t timed; /* roles of which both ends are recorded */
	bool sees_flushes;
	uint64_t begins;
	uint64_t left_out[NR_LATENCY_LEFT_OUT];
	struct map by_task; /* -> index into busy + 1 */
	struct busy *busy;  /* NR_BUSY calls are under way */
	size_t nr_busy, max_busy;
	uint32_t *lost;    /* by CPU: how often events were */
	uint32_t *loaded;  /* by CPU: mm that the last load was about */
	struct cpus *cpus; /* by mm */
	size_t nr_mms, max_mms;
	/* Cells are made when they are first needed; 0: not there, else index + 1. */
	uint16_t index[NR_LATENCY_CALLS][NR_LATENCY_FLUSHES][STEPS][STEPS];
	struct cell *cells;
	size_t nr_cells, max_cells;
};

static const char *const call_names[NR_LATENCY_CALLS] = {
	"upgrade", "young", "unchanged", "contpte", "cow", "gather", "range"};
static const char *const flush_names[NR_LATENCY_FLUSHES] = {"not recorded", "none", "local", "mask",
							    "broadcast"};
static const char *const left_out_names[NR_LATENCY_LEFT_OUT] = {"no entry", "no return", "switched",
								"lost"};

const char *latency_call_name(unsigned int call)
{
	return call < NR_LATENCY_CALLS ? call_names[call] : "?";
}

const char *latency_flush_name(unsigned int flush)
{
	return flush < NR_LATENCY_FLUSHES ? flush_names[flush] : "?";
}

const char *latency_left_out_name(unsigned int left_out)
{
	return left_out < NR_LATENCY_LEFT_OUT ? left_out_names[left_out] : "?";
}

static const struct {
	enum role role;
	enum latency_call call;
} timed_roles[] = {
	{ROLE_SET_FLAGS, LATENCY_UPGRADE},
	{ROLE_CONTPTE_SET_FLAGS, LATENCY_CONTPTE},
	{ROLE_CLEAR_FLUSH, LATENCY_COW},
	{ROLE_GATHER_FINISH, LATENCY_GATHER},
	{ROLE_FLUSH_RANGE, LATENCY_RANGE},
};

enum { NR_TIMED = sizeof(timed_roles) / sizeof(*timed_roles) };

uint64_t latency_timed(const struct decoder *d)
{
	uint64_t timed = 0;

	for (unsigned int i = 0; i < NR_TIMED; i++)
		if (decoder_has(d, timed_roles[i].role, 0) &&
		    decoder_has(d, timed_roles[i].role, 1))
			timed |= UINT64_C(1) << timed_roles[i].role;
	return timed;
}

struct latency *latency_new(uint64_t timed, bool sees_flushes, unsigned int nr_cpus)
{
	struct latency *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->nr_cpus = nr_cpus;
	l->words = (nr_cpus + 63) / 64;
	l->lost = calloc(nr_cpus + 1, sizeof(*l->lost));
	l->loaded = calloc(nr_cpus + 1, sizeof(*l->loaded));
	if (!l->lost || !l->loaded) {
		latency_free(l);
		return NULL;
	}
	l->timed = timed;
	l->sees_flushes = sees_flushes;
	return l;
}

void latency_free(struct latency *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nr_cells; i++)
		free(l->cells[i].buckets);
	for (size_t i = 0; i < l->nr_mms; i++)
		free(l->cpus[i].bits);
	map_free(&l->by_task);
	free(l->busy);
	free(l->cpus);
	free(l->cells);
	free(l->lost);
	free(l->loaded);
	free(l);
}

/* ---- where an address space has run ---- */

static void mm_ended(struct latency *l, uint32_t mm)
{
	if (mm >= l->nr_mms)
		return;
	free(l->cpus[mm].bits);
	l->cpus[mm] = (struct cpus){0};
}

static int mm_ran(struct latency *l, uint32_t mm, uint32_t cpu)
{
	uint64_t bit = UINT64_C(1) << cpu % 64;

	while (mm >= l->nr_mms) {
		struct cpus *list = grow_list(l->cpus, l->nr_mms, &l->max_mms, sizeof(*list));

		if (!list)
			return -ENOMEM;
		l->cpus = list;
		l->cpus[l->nr_mms++] = (struct cpus){0};
	}
	struct cpus *cpus = &l->cpus[mm];
	if (!cpus->bits)
		cpus->bits = calloc(l->words, sizeof(uint64_t));
	if (!cpus->bits)
		return -ENOMEM;
	cpus->nr += !(cpus->bits[cpu / 64] & bit);
	cpus->bits[cpu / 64] |= bit;
	return 0;
}

int latency_event(struct latency *l, const struct tlb_event *event)
{
	switch (event->kind) {
	case EVENT_LOAD:
		if (l->loaded[event->cpu] == event->mm)
			return 0;
		l->loaded[event->cpu] = event->mm;
		return event->mm ? mm_ran(l, event->mm, event->cpu) : 0;
	case EVENT_MM_END:
		mm_ended(l, event->mm);
		return 0;
	case EVENT_LOST:
		l->lost[event->cpu]++;
		l->loaded[event->cpu] = 0;
		return 0;
	default:
		return 0;
	}
}

/* ---- counting ---- */

static unsigned int bits_of(uint64_t x)
{
	return x ? 64 - (unsigned int)__builtin_clzll(x) : 0;
}

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int bits = bits_of(ns);

	if (bits <= EXACT_BITS)
		return (unsigned int)ns;
	if (bits > MOST_BITS)
		return BUCKETS - 1;
	/* The highest bit is known; the next SUB_BITS tell where in its power of two. */
	return (1 << EXACT_BITS) + (bits - EXACT_BITS - 1) * (1 << SUB_BITS) +
	       (unsigned int)((ns >> (bits - 1 - SUB_BITS)) & ((1 << SUB_BITS) - 1));
}

static void bucket_ends(unsigned int i, uint64_t *from, uint64_t *to)
{
	if (i < 1 << EXACT_BITS) {
		*from = *to = i;
		return;
	}
	unsigned int power = (i - (1 << EXACT_BITS)) >> SUB_BITS;
	unsigned int sub = i & ((1 << SUB_BITS) - 1), shift = EXACT_BITS + power - SUB_BITS;

	*from = (UINT64_C(1) << (EXACT_BITS + power)) + ((uint64_t)sub << shift);
	*to = *from + (UINT64_C(1) << shift) - 1;
}

/* 0 -> 0, 1 -> 1, 2..3 -> 2, 4..7 -> 3 */
static unsigned int step_of_others(uint64_t n)
{
	unsigned int bits = bits_of(n);

	return bits < STEPS ? bits : STEPS - 1;
}

/* Of CPUs: 0 -> 0, 1 -> 1, 2 -> 2, 3..4 -> 3, 5..8 -> 4 */
static unsigned int step_of_cpus(uint32_t n)
{
	return n ? bits_of(n - 1) + 1 : 0;
}

static struct cell *cell_of(struct latency *l, unsigned int call, unsigned int flush, uint32_t cpus,
			    uint64_t others)
{
	unsigned int c = step_of_cpus(cpus), o = step_of_others(others);
	uint16_t *at = &l->index[call][flush][c][o];

	if (*at)
		return &l->cells[*at - 1];
	struct cell *cells = grow_list(l->cells, l->nr_cells, &l->max_cells, sizeof(*cells));
	if (!cells)
		return NULL;
	l->cells = cells;
	struct cell *cell = &l->cells[l->nr_cells];
	*cell = (struct cell){
		.group = {.call = (uint8_t)call,
			  .flush = (uint8_t)flush,
			  .cpus = c > 1 ? (1U << (c - 2)) + 1 : c,
			  .cpus_to = c > 1 ? 1U << (c - 1) : c,
			  .concurrent = o ? 1U << (o - 1) : 0,
			  .concurrent_to = o ? (uint32_t)((UINT64_C(1) << o) - 1) : 0,
			  .min_ns = UINT64_MAX},
		.buckets = calloc(BUCKETS, sizeof(uint64_t)),
	};
	if (!cell->buckets)
		return NULL;
	*at = (uint16_t)++l->nr_cells;
	return cell;
}

static int count(struct latency *l, const struct open_call *call, unsigned int kind, uint64_t ns,
		 uint32_t mm)
{
	unsigned int flush = !l->sees_flushes                      ? LATENCY_UNSEEN
			     : call->seen & 1 << LATENCY_BROADCAST ? LATENCY_BROADCAST
			     : call->seen & 1 << LATENCY_MASK      ? LATENCY_MASK
			     : call->seen & 1 << LATENCY_LOCAL     ? LATENCY_LOCAL
								   : LATENCY_NONE;
	struct cell *cell = cell_of(l, kind, flush, mm < l->nr_mms ? l->cpus[mm].nr : 0,
				    call->others + (l->begins - call->begins));

	if (!cell)
		return -ENOMEM;
	struct latency_group *g = &cell->group;
	g->calls++;
	g->probes += call->probes;
	g->sum_ns += ns;
	if (ns < g->min_ns)
		g->min_ns = ns;
	if (ns > g->max_ns)
		g->max_ns = ns;
	cell->buckets[bucket_of(ns)]++;
	return 0;
}

/* ---- calls ---- */

/* The idle tasks share a tid, not what they do. */
static uint64_t task_key(const struct raw_event *raw)
{
	return raw->pid ? (uint64_t)(uint32_t)raw->pid : UINT64_C(1) << 32 | raw->cpu;
}

static struct busy *find_busy(struct latency *l, const struct raw_event *raw)
{
	uint32_t *at = map_get(&l->by_task, task_key(raw));

	return at ? &l->busy[*at - 1] : NULL;
}

static struct busy *make_busy(struct latency *l, const struct raw_event *raw)
{
	bool made;
	uint32_t *at = map_put(&l->by_task, task_key(raw), &made);

	if (!at || !made)
		return at ? &l->busy[*at - 1] : NULL;
	struct busy *busy = grow_list(l->busy, l->nr_busy, &l->max_busy, sizeof(*busy));
	if (!busy) {
		map_remove(&l->by_task, task_key(raw));
		return NULL;
	}
	l->busy = busy;
	struct busy *b = &l->busy[l->nr_busy++];
	*b = (struct busy){.key = task_key(raw), .cpu = raw->cpu};
	*at = (uint32_t)l->nr_busy;
	l->begins++;
	return b;
}

/* The last one takes the place of B. */
static void free_busy(struct latency *l, struct busy *b)
{
	map_remove(&l->by_task, b->key);
	*b = l->busy[--l->nr_busy];
	if (b != &l->busy[l->nr_busy])
		*map_get(&l->by_task, b->key) = (uint32_t)(b - l->busy) + 1;
}

/* Call number FIRST of B and those inside it will not be seen to return. */
static void give_up(struct latency *l, struct busy *b, uint32_t first)
{
	for (uint32_t i = first; i < b->nr; i++)
		l->left_out[b->calls[i].lost != l->lost[b->cpu] ? LATENCY_LOST
								: LATENCY_NO_RETURN]++;
	b->nr = first;
}

static uint32_t find_call(const struct busy *b, unsigned int call)
{
	uint32_t i = 0;

	while (i < b->nr && b->calls[i].call != call)
		i++;
	return i;
}

static int call_begins(struct latency *l, const struct raw_event *raw, unsigned int call)
{
	struct busy *b = make_busy(l, raw);

	if (!b)
		return -ENOMEM;
	/* No function calls itself: what is still open has returned unseen, and all inside it. */
	give_up(l, b, find_call(b, call));
	if (b->nr == CALL_OPEN)
		give_up(l, b, 0);
	if (!b->nr)
		b->cpu = raw->cpu;
	for (uint32_t i = 0; i < b->nr; i++)
		b->calls[i].probes++;
	b->calls[b->nr++] = (struct open_call){
		.begun_ns = raw->time_ns,
		.others = l->nr_busy - 1,
		.begins = l->begins,
		.lost = l->lost[raw->cpu],
		.call = (uint8_t)call,
		.read = HAS(raw, DIRTY) && !GET(raw, DIRTY),
	};
	return 0;
}

static int call_returns(struct latency *l, const struct raw_event *raw, unsigned int call,
			uint32_t mm)
{
	struct busy *b = find_busy(l, raw);
	uint32_t i = b ? find_call(b, call) : 0;
	int ret = 0;

	if (!b || i == b->nr) {
		l->left_out[LATENCY_NO_ENTRY]++;
		return 0;
	}
	give_up(l, b, i + 1);
	struct open_call done = b->calls[i];
	b->nr = i;
	for (uint32_t k = 0; k < b->nr; k++)
		b->calls[k].probes++;
	if (done.switched || raw->cpu != b->cpu || raw->time_ns < done.begun_ns) {
		l->left_out[LATENCY_SWITCHED]++;
	} else if (done.lost != l->lost[b->cpu]) {
		l->left_out[LATENCY_LOST]++;
	} else {
		unsigned int kind = call;

		if (call == LATENCY_UPGRADE && HAS(raw, RET) && !(int32_t)GET(raw, RET))
			kind = LATENCY_UNCHANGED;
		else if (call == LATENCY_UPGRADE &&
			 (done.read || (HAS(raw, DIRTY) && !GET(raw, DIRTY))))
			kind = LATENCY_YOUNG;
		ret = count(l, &done, kind, raw->time_ns - done.begun_ns, mm);
	}
	if (!b->nr)
		free_busy(l, b);
	return ret;
}

/* The flush that an event inside a call shows; NR_LATENCY_FLUSHES: none that the call asked for. */
static unsigned int flush_seen(const struct raw_event *raw)
{
	if (raw->plan->role == ROLE_TLBI)
		return raw->plan->op.broadcast ? LATENCY_BROADCAST : LATENCY_LOCAL;
	if (!HAS(raw, REASON) || !tlb_flush_reason_own(GET(raw, REASON)))
		return NR_LATENCY_FLUSHES;
	return tlb_flush_reason_scope(GET(raw, REASON)) == SCOPE_MASK ? LATENCY_MASK
								      : LATENCY_LOCAL;
}

int latency_raw(struct latency *l, const struct raw_event *raw, uint32_t mm)
{
	enum role role = raw->plan->role;
	struct busy *b;

	switch (role) {
	case ROLE_SWITCH:
		b = find_busy(l, raw);
		for (uint32_t i = 0; b && i < b->nr; i++)
			b->calls[i].switched = true;
		return 0;
	case ROLE_TLBI:
	case ROLE_TLB_FLUSH:
		b = find_busy(l, raw);
		for (uint32_t i = 0; b && i < b->nr; i++) {
			b->calls[i].probes++;
			b->calls[i].seen |= (uint8_t)(1U << flush_seen(raw));
		}
		return 0;
	default:
		break;
	}
	for (unsigned int i = 0; i < NR_TIMED; i++)
		if (timed_roles[i].role == role && l->timed >> role & 1)
			return raw->plan->is_return ? call_returns(l, raw, timed_roles[i].call, mm)
						    : call_begins(l, raw, timed_roles[i].call);
	return 0;
}

void latency_end(struct latency *l)
{
	for (size_t i = 0; i < l->nr_busy; i++)
		give_up(l, &l->busy[i], 0);
}

/* ---- what came of it ---- */

size_t latency_groups(const struct latency *l)
{
	return l->nr_cells;
}

struct latency_bucket *latency_group(const struct latency *l, size_t i, struct latency_group *group,
				     size_t *nr)
{
	const struct cell *cell = &l->cells[i];
	struct latency_bucket *list;

	*group = cell->group;
	*nr = 0;
	for (unsigned int k = 0; k < BUCKETS; k++)
		*nr += cell->buckets[k] != 0;
	list = calloc(*nr + 1, sizeof(*list));
	*nr = 0;
	for (unsigned int k = 0; list && k < BUCKETS; k++) {
		if (!cell->buckets[k])
			continue;
		bucket_ends(k, &list[*nr].from_ns, &list[*nr].to_ns);
		list[(*nr)++].calls = cell->buckets[k];
	}
	return list;
}

uint64_t latency_left_out(const struct latency *l, unsigned int left_out)
{
	return l->left_out[left_out];
}
