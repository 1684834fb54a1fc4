// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For every policy the engine keeps two kinds of knowledge about one stale entry: whether a CPU could
 * hold it at all (the high bound: the mm was loaded there since the entry was last flushed there), and
 * whether it did (the low bound: it faulted, and nothing was there to change). What lies between is
 * the estimate's, a share.
 *
 *	an upgrade of page P on CPU 0, flushed on CPU 0 only:
 *
 *	CPU 1  ...loads mm......runs............switches away
 *	                         ^ may hold P read-only: an exposure is open from here
 *	                                         until P is flushed there, CPU 1 faults on it,
 *	                                         the mm ends, or the trace does
 *
 * Time is compared by the ordinal of the event, so that events with one time stamp keep their order;
 * nanoseconds are only for lengths. A CPU that has an mm loaded holds it "until" the end of time.
 *
 * An open exposure is a record per page and policy with a bit per CPU. The records of one mm and policy
 * lie in one array in the order in which they were opened, so that a flush of everything, which is how
 * most of them end, is one pass over it. A page knows the newest of its own; a number that no longer
 * leads to a record of that page is out of date and means none.
 *
 * A flush of everything on one CPU (a switch on x86) does not walk the records: it is noted with the CPU,
 * and a record that is closed later looks up whether, and when, its CPU had been flushed before.
 */
#include "replay/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/pages.h"

#define FOREVER     UINT64_MAX
#define MAX_BUCKETS 1024

const struct param common_params[] = {
	{.name = "share", .type = PARAM_FRACTION, .offset = offsetof(struct common_params, share),
	 .unit = "", .def = 0.1, .min = 0, .max = 1,
	 .help = "of the entries that another CPU could hold and no event shows, how many it does hold "
		 "(assumed: nothing published measures it)"},
	{.name = "write_share", .type = PARAM_FRACTION,
	 .offset = offsetof(struct common_params, write_share), .unit = "", .def = 0.5, .min = 0, .max = 1,
	 .help = "of the stale entries that are held, how many are written to before they go (assumed)"},
	PARAM_END,
};

static const char *const ended_names[] = {"flush", "refault", "gone", "end"};

const char *ended_name(unsigned int ended)
{
	return ended < NR_ENDED ? ended_names[ended] : "?";
}

/* What one CPU has of one mm. */
struct residence {
	uint32_t cpu;
	uint64_t loaded_until;  /* FOREVER while it is loaded */
	uint64_t ran_until;     /* FOREVER while a task of it runs */
	struct {
		uint64_t flush_seq; /* everything of the mm was flushed here */
		struct flush_note *notes; /* each such flush since exposures were last closed as a whole */
		uint32_t nr_notes, max_notes;
	} policy[];
};

struct flush_note {
	uint64_t seq, time_ns;
	uint64_t ran_until; /* as it stood then */
};

/* So many notes of one CPU are worth a pass over the records, after which they can go. */
#define MAX_NOTES 4096

struct mm_row {
	struct bound flushes;
	uint32_t key; /* policy << 16 | point << 8 | scope */
};

struct mm {
	char *residences;
	uint32_t nr_residences, max_residences;
	uint32_t leaves, nr_leaves;
	uint64_t pages;
	uint64_t *loaded;      /* bitmap: CPUs that have it loaded */
	struct mm_row *rows;
	uint32_t nr_rows, max_rows;
	struct {
		uint64_t flush_seq; /* all of it was flushed on every CPU */
		char *exposures;    /* records, nr of them, some of them over ("dead") */
		uint32_t nr, max, dead;
		uint32_t permissions; /* records that may end by a later change of permission */
		uint32_t last_row; /* of rows, that was counted in last */
	} policy[];
};

/* A stale entry of one page under one policy, on the CPUs whose bit is set; none is set: it is over. */
struct exposure {
	uint64_t start_ns, start_seq;
	uint32_t leaf;
	uint32_t next;   /* older one of the same page, + 1 */
	uint8_t slot, kind, level;
	bool likely : 1;     /* counts for the estimate */
	bool permission : 1; /* stale only in its permission: a later change may put that right */
	uint64_t cpus[];
};

struct cpu {
	uint32_t mm;
	bool lazy, unsure;
};

/* Decisions by page, until they are handed on. */
struct page_count {
	uint64_t key; /* address | point << 3 | level */
	uint64_t count;
	uint32_t mm;
};

struct instance {
	const struct policy *policy;
	const struct policy_instance *as_given;
	void *state;
	struct policy_result result;
	uint64_t *dropped; /* lazy CPUs that an interrupt has made leave the mm they had loaded */
	/* Stale for ever (the mm ended unflushed): number, and sum of their start times. */
	double forever, forever_start_sum;
	uint64_t forever_first_ns;
};

struct engine {
	struct engine_config config;
	struct policy_view view;
	unsigned int words;
	uint64_t seq;
	struct cpu *cpus;
	uint64_t *lazy, *unsure, *scratch, *candidates, *view_set, *everyone, *covered, *reached;
	unsigned int asking; /* the policy whose hook runs */
	bool any_unsure;
	struct mm **mms;
	size_t nr_mms;
	struct pages pages;
	size_t exposure_size, residence_size;
	const struct residence **homes; /* by CPU, of the mm that is being closed */
	struct page_count *counts;
	size_t counts_mask, nr_counts;
	uint64_t time_start_ns, time_width_ns;
	bool time_started;
	uint64_t bucket, bucket_start_ns, bucket_width_ns; /* the bucket used last */
	uint64_t ended_pages;
	bool failed;
	struct instance instances[];
};

static struct exposure *exposure_at(const struct engine *e, const struct mm *mm, unsigned int policy,
				    uint32_t ref)
{
	return (struct exposure *)(mm->policy[policy].exposures + (size_t)(ref - 1) * e->exposure_size);
}

static struct residence *residence_at(const struct engine *e, const struct mm *mm, uint32_t i)
{
	return (struct residence *)(mm->residences + i * e->residence_size);
}

static bool bit(const uint64_t *set, unsigned int cpu)
{
	return set[cpu / 64] >> (cpu % 64) & 1;
}

static void set_bit(uint64_t *set, unsigned int cpu, bool value)
{
	if (value)
		set[cpu / 64] |= UINT64_C(1) << (cpu % 64);
	else
		set[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}

static void clear_set(const struct engine *e, uint64_t *set)
{
	for (unsigned int w = 0; w < e->words; w++)
		set[w] = 0;
}

static void fill_set(const struct engine *e, uint64_t *set)
{
	for (unsigned int w = 0; w < e->words; w++)
		set[w] = UINT64_MAX;
}

static unsigned int count_bits(const struct engine *e, const uint64_t *set)
{
	unsigned int n = 0;

	for (unsigned int w = 0; w < e->words; w++)
		n += (unsigned int)__builtin_popcountll(set[w]);
	return n;
}

static struct mm *mm_find(const struct engine *e, uint32_t mm)
{
	return mm < e->nr_mms ? e->mms[mm] : NULL;
}

static struct mm *mm_make(struct engine *e, uint32_t number)
{
	struct mm *mm = mm_find(e, number);

	if (mm)
		return mm;
	if (number >= e->nr_mms) {
		size_t nr = e->nr_mms ? e->nr_mms * 2 : 256;

		while (nr <= number)
			nr *= 2;
		struct mm **more = realloc(e->mms, nr * sizeof(struct mm *));
		if (!more) {
			e->failed = true;
			return NULL;
		}
		memset(more + e->nr_mms, 0, (nr - e->nr_mms) * sizeof(struct mm *));
		e->mms = more;
		e->nr_mms = nr;
	}
	mm = calloc(1, sizeof(*mm) + e->config.nr_policies * sizeof(mm->policy[0]));
	if (mm)
		mm->loaded = calloc(e->words, sizeof(uint64_t));
	if (!mm || !mm->loaded) {
		free(mm);
		e->failed = true;
		return NULL;
	}
	mm->leaves = NO_LEAF;
	return e->mms[number] = mm;
}

static void mm_free(const struct engine *e, struct mm *mm)
{
	if (!mm)
		return;
	for (unsigned int p = 0; p < e->config.nr_policies; p++) {
		free(mm->policy[p].exposures);
		for (uint32_t i = 0; i < mm->nr_residences; i++)
			free(residence_at(e, mm, i)->policy[p].notes);
	}
	free(mm->residences);
	free(mm->loaded);
	free(mm->rows);
	free(mm);
}

static struct residence *residence_make(struct engine *e, struct mm *mm, unsigned int cpu)
{
	size_t size = e->residence_size;

	for (uint32_t i = 0; i < mm->nr_residences; i++)
		if (residence_at(e, mm, i)->cpu == cpu)
			return residence_at(e, mm, i);
	if (mm->nr_residences == mm->max_residences) {
		uint32_t max = mm->max_residences ? mm->max_residences * 2 : 2;
		char *more = realloc(mm->residences, max * size);

		if (!more) {
			e->failed = true;
			return NULL;
		}
		mm->residences = more;
		mm->max_residences = max;
	}
	struct residence *r = residence_at(e, mm, mm->nr_residences++);
	memset(r, 0, size);
	r->cpu = cpu;
	return r;
}

static struct residence *residence_find(const struct engine *e, const struct mm *mm,
					      unsigned int cpu)
{
	for (uint32_t i = 0; i < mm->nr_residences; i++)
		if (residence_at(e, mm, i)->cpu == cpu)
			return residence_at(e, mm, i);
	return NULL;
}

/* ---- what policies may ask ---- */

static struct engine *engine_of(const struct policy_view *view)
{
	return (struct engine *)((char *)(uintptr_t)view - offsetof(struct engine, view));
}

static const uint64_t *view_loaded(const struct policy_view *view, uint32_t number)
{
	struct engine *e = engine_of(view);
	struct mm *mm = mm_find(e, number);

	for (unsigned int w = 0; w < e->words; w++)
		e->view_set[w] = mm ? mm->loaded[w] & ~e->instances[e->asking].dropped[w] : 0;
	return e->view_set;
}

static const uint64_t *view_lazy(const struct policy_view *view)
{
	return engine_of(view)->lazy;
}

/* ---- making and ending ---- */

static int instance_init(struct engine *e, struct instance *in, const struct policy_instance *given)
{
	in->policy = given->policy;
	in->as_given = given;
	in->state = in->policy->state_size ? calloc(1, in->policy->state_size) : NULL;
	in->dropped = calloc(e->words, sizeof(uint64_t));
	in->result.issued = calloc((size_t)e->config.nr_cpus * NR_SCOPES, sizeof(uint64_t));
	in->result.received = calloc(e->config.nr_cpus, sizeof(uint64_t));
	in->result.buckets = calloc(MAX_BUCKETS, sizeof(*in->result.buckets));
	in->result.rows = calloc(e->config.max_rows + 1, sizeof(*in->result.rows));
	if ((in->policy->state_size && !in->state) || !in->dropped || !in->result.issued || !in->result.received ||
	    !in->result.buckets || !in->result.rows)
		return -ENOMEM;
	return 0;
}

struct engine *engine_new(const struct engine_config *config)
{
	struct engine *e = calloc(1, sizeof(*e) + config->nr_policies * sizeof(e->instances[0]));

	if (!e)
		return NULL;
	e->config = *config;
	if (!e->config.nr_cpus)
		e->config.nr_cpus = 1;
	e->words = (e->config.nr_cpus + 63) / 64;
	e->view = (struct policy_view){.nr_cpus = e->config.nr_cpus, .words = e->words,
				       .loaded = view_loaded, .lazy = view_lazy};
	e->exposure_size = sizeof(struct exposure) + e->words * sizeof(uint64_t);
	e->residence_size = sizeof(struct residence) +
			    config->nr_policies * sizeof(((struct residence *)NULL)->policy[0]);
	e->homes = calloc(e->config.nr_cpus, sizeof(*e->homes));
	e->cpus = calloc(e->config.nr_cpus, sizeof(*e->cpus));
	e->lazy = calloc((size_t)e->words * 8, sizeof(uint64_t));
	e->counts_mask = (1u << 12) - 1;
	e->counts = calloc(e->counts_mask + 1, sizeof(*e->counts));
	pages_init(&e->pages, config->nr_policies);
	if (!e->cpus || !e->lazy || !e->counts || !e->homes)
		goto fail;
	e->unsure = e->lazy + e->words;
	e->scratch = e->unsure + e->words;
	e->candidates = e->scratch + e->words;
	e->view_set = e->candidates + e->words;
	e->everyone = e->view_set + e->words;
	e->covered = e->everyone + e->words;
	e->reached = e->covered + e->words;
	e->time_width_ns = 1000000;
	for (unsigned int i = 0; i < config->nr_policies; i++)
		if (instance_init(e, &e->instances[i], &config->policies[i]))
			goto fail;
	return e;
fail:
	engine_free(e);
	return NULL;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	for (unsigned int i = 0; i < e->config.nr_policies; i++) {
		struct instance *in = &e->instances[i];

		if (in->state && in->policy->forget)
			in->policy->forget(in->state, 0);
		free(in->state);
		free(in->dropped);
		free(in->result.issued);
		free(in->result.received);
		free(in->result.buckets);
		free(in->result.rows);
	}
	for (size_t i = 0; i < e->nr_mms; i++)
		mm_free(e, e->mms[i]);
	free(e->mms);
	free(e->cpus);
	free(e->lazy);
	free(e->counts);
	free(e->homes);
	pages_free(&e->pages);
	free(e);
}

/* ---- counting ---- */

static void hand_on_counts(struct engine *e)
{
	for (size_t i = 0; i <= e->counts_mask; i++) {
		struct page_count *c = &e->counts[i];

		if (c->count)
			e->config.sink.page(e->config.sink.context, c->mm, c->key & ~UINT64_C(0xfff),
					    c->key >> 3 & 0x1ff, c->key & 7, c->count);
	}
	memset(e->counts, 0, (e->counts_mask + 1) * sizeof(*e->counts));
	e->nr_counts = 0;
}

static size_t count_slot(const struct page_count *counts, size_t mask, uint64_t key, uint32_t mm)
{
	uint64_t h = (key ^ (uint64_t)mm << 40) * UINT64_C(0x9E3779B97F4A7C15);
	size_t i = (h ^ h >> 29) & mask;

	while (counts[i].count && (counts[i].key != key || counts[i].mm != mm))
		i = (i + 1) & mask;
	return i;
}

static void count_page(struct engine *e, uint32_t mm, uint64_t addr, unsigned int point,
		       unsigned int level, uint64_t n)
{
	uint64_t key = (addr & ~UINT64_C(0xfff)) | point << 3 | level;
	size_t i = count_slot(e->counts, e->counts_mask, key, mm);

	if (!e->counts[i].count) {
		if ((e->nr_counts + 1) * 4 > (e->counts_mask + 1) * 3) {
			size_t size = (e->counts_mask + 1) * 4;
			struct page_count *more = NULL;

			/* A quarter of a million pages are enough to keep: 12 MiB. */
			if (size <= 1u << 19)
				more = calloc(size, sizeof(*more));
			if (!more) {
				hand_on_counts(e);
			} else {
				for (size_t k = 0; k <= e->counts_mask; k++)
					if (e->counts[k].count)
						more[count_slot(more, size - 1, e->counts[k].key,
								e->counts[k].mm)] = e->counts[k];
				free(e->counts);
				e->counts = more;
				e->counts_mask = size - 1;
			}
			i = count_slot(e->counts, e->counts_mask, key, mm);
		}
		e->counts[i].key = key;
		e->counts[i].mm = mm;
		e->nr_counts++;
	}
	e->counts[i].count += n;
}

static void add_bound(struct bound *to, const struct bound *more)
{
	to->low += more->low;
	to->estimate += more->estimate;
	to->high += more->high;
}

/* The bucket of TIME_NS. When they run out, each takes its neighbour in and all are twice as wide. */
static size_t bucket_of(struct engine *e, uint64_t time_ns)
{
	if (time_ns - e->bucket_start_ns < e->bucket_width_ns)
		return e->bucket;
	if (!e->time_started) {
		e->time_started = true;
		e->time_start_ns = time_ns;
	}
	if (time_ns < e->time_start_ns)
		return 0;
	while ((time_ns - e->time_start_ns) / e->time_width_ns >= MAX_BUCKETS) {
		for (unsigned int p = 0; p < e->config.nr_policies; p++) {
			struct policy_result *r = &e->instances[p].result;

			for (size_t i = 0; i < MAX_BUCKETS / 2; i++) {
				struct time_bucket sum = r->buckets[2 * i];

				for (unsigned int s = 0; s < NR_SCOPES; s++)
					add_bound(&sum.flushes[s], &r->buckets[2 * i + 1].flushes[s]);
				r->buckets[i] = sum;
			}
			memset(r->buckets + MAX_BUCKETS / 2, 0,
			       MAX_BUCKETS / 2 * sizeof(*r->buckets));
			r->nr_buckets = (r->nr_buckets + 1) / 2;
		}
		e->time_width_ns *= 2;
	}
	e->bucket = (time_ns - e->time_start_ns) / e->time_width_ns;
	e->bucket_start_ns = e->time_start_ns + e->bucket * e->time_width_ns;
	e->bucket_width_ns = e->time_width_ns;
	return e->bucket;
}

static void count_mm(struct engine *e, struct mm *mm, unsigned int policy, unsigned int point,
		     unsigned int scope, const struct bound *flushes)
{
	uint32_t key = policy << 16 | point << 8 | scope, last = mm->policy[policy].last_row;

	if (last < mm->nr_rows && mm->rows[last].key == key) {
		add_bound(&mm->rows[last].flushes, flushes);
		return;
	}
	for (uint32_t i = 0; i < mm->nr_rows; i++)
		if (mm->rows[i].key == key) {
			add_bound(&mm->rows[i].flushes, flushes);
			mm->policy[policy].last_row = i;
			return;
		}
	if (mm->nr_rows == mm->max_rows) {
		uint32_t max = mm->max_rows ? mm->max_rows * 2 : 8;
		struct mm_row *more = realloc(mm->rows, max * sizeof(*more));

		if (!more) {
			e->failed = true;
			return;
		}
		mm->rows = more;
		mm->max_rows = max;
	}
	mm->policy[policy].last_row = mm->nr_rows;
	mm->rows[mm->nr_rows++] = (struct mm_row){.flushes = *flushes, .key = key};
}

/* ---- exposures ---- */

static struct page_policy *policy_of(const struct engine *e, uint32_t leaf, unsigned int slot,
				     unsigned int policy)
{
	return &leaf_page(&e->pages, pages_leaf(&e->pages, leaf), slot)->policy[policy];
}

static bool alive(const struct engine *e, const struct exposure *x)
{
	uint64_t any = 0;

	for (unsigned int w = 0; w < e->words; w++)
		any |= x->cpus[w];
	return any;
}

/* The newest exposure of a page, + 1. */
static uint32_t open_of(const struct engine *e, const struct mm *mm, uint32_t leaf, unsigned int slot,
			unsigned int policy)
{
	uint32_t ref = policy_of(e, leaf, slot, policy)->open;
	const struct exposure *x;

	if (!ref || ref > mm->policy[policy].nr)
		return 0;
	x = exposure_at(e, mm, policy, ref);
	return x->leaf == leaf && x->slot == slot ? ref : 0;
}

/* Drops the records that are over; the others keep their order. */
static void compact(struct engine *e, struct mm *mm, unsigned int policy)
{
	uint32_t nr = mm->policy[policy].nr, kept = 0;

	for (uint32_t ref = 1; ref <= nr; ref++) {
		const struct exposure *x = exposure_at(e, mm, policy, ref);

		policy_of(e, x->leaf, x->slot, policy)->open = 0;
	}
	for (uint32_t ref = 1; ref <= nr; ref++) {
		struct exposure *x = exposure_at(e, mm, policy, ref);

		if (!alive(e, x))
			continue;
		struct exposure *to = exposure_at(e, mm, policy, ++kept);
		if (to != x)
			memcpy(to, x, e->exposure_size);
		struct page_policy *p = policy_of(e, to->leaf, to->slot, policy);
		to->next = p->open;
		p->open = kept;
	}
	mm->policy[policy].nr = kept;
	mm->policy[policy].dead = 0;
}

static struct exposure *exposure_new(struct engine *e, struct mm *mm, unsigned int policy)
{
	if (mm->policy[policy].nr == mm->policy[policy].max && mm->policy[policy].dead * 2 > mm->policy[policy].nr)
		compact(e, mm, policy);
	if (mm->policy[policy].nr == mm->policy[policy].max) {
		uint32_t max = mm->policy[policy].max ? mm->policy[policy].max * 2 : 64;
		char *more = realloc(mm->policy[policy].exposures, (size_t)max * e->exposure_size);

		if (!more) {
			e->failed = true;
			return NULL;
		}
		mm->policy[policy].exposures = more;
		mm->policy[policy].max = max;
	}
	return exposure_at(e, mm, policy, ++mm->policy[policy].nr);
}

static void add_sum(struct exposure_sum *sum, double entries, uint64_t ns)
{
	sum->entries += entries;
	sum->entry_ns += entries * (double)ns;
	if (entries > 0 && ns > sum->max_ns)
		sum->max_ns = ns;
}

/* A heap whose root is the shortest row kept; ties go by what is deterministic, not by arrival. */
static bool row_less(const struct exposure_row *a, const struct exposure_row *b)
{
	uint64_t x = a->end_ns - a->start_ns, y = b->end_ns - b->start_ns;

	if (x != y)
		return x < y;
	if (a->start_ns != b->start_ns)
		return a->start_ns > b->start_ns;
	if (a->page != b->page)
		return a->page > b->page;
	return a->cpu > b->cpu;
}

static void keep_row(struct engine *e, struct policy_result *r, const struct exposure_row *row)
{
	size_t i;

	if (!e->config.max_rows) {
		r->rows_left_out++;
		return;
	}
	if (r->nr_rows < e->config.max_rows) {
		for (i = r->nr_rows++; i && row_less(row, &r->rows[(i - 1) / 2]); i = (i - 1) / 2)
			r->rows[i] = r->rows[(i - 1) / 2];
		r->rows[i] = *row;
		return;
	}
	r->rows_left_out++;
	if (!row_less(&r->rows[0], row))
		return;
	for (i = 0; 2 * i + 1 < r->nr_rows;) {
		size_t child = 2 * i + 1;

		if (child + 1 < r->nr_rows && row_less(&r->rows[child + 1], &r->rows[child]))
			child++;
		if (!row_less(&r->rows[child], row))
			break;
		r->rows[i] = r->rows[child];
		i = child;
	}
	r->rows[i] = *row;
}

/* Looks up once, for all exposures of MM that are closed together, what each CPU did with it. */
static void find_homes(struct engine *e, const struct mm *mm)
{
	for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
		e->homes[cpu] = NULL;
	for (uint32_t i = 0; i < mm->nr_residences; i++)
		e->homes[residence_at(e, mm, i)->cpu] = residence_at(e, mm, i);
}

/* The first flush of everything on CPU after ordinal SEQ, or NULL. */
static const struct flush_note *flush_after(const struct residence *r, unsigned int policy, uint64_t seq)
{
	const struct flush_note *notes = r->policy[policy].notes;
	uint32_t low = 0, high = r->policy[policy].nr_notes;

	if (!high || notes[high - 1].seq <= seq)
		return NULL;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (notes[middle].seq > seq)
			high = middle;
		else
			low = middle + 1;
	}
	return &notes[low];
}

/* Whether the entry is stale on CPU still: not if all of the mm was flushed there since. */
static bool still_open(const struct engine *e, const struct mm *mm, unsigned int policy,
		       const struct exposure *x, unsigned int cpu)
{
	const struct residence *r;

	if (!bit(x->cpus, cpu))
		return false;
	r = residence_find(e, mm, cpu);
	return !r || r->policy[policy].flush_seq <= x->start_seq;
}

/* N entries of X ended after NS; RAN of their CPUs ran the mm meanwhile. */
static void count_closed(struct policy_result *r, const struct exposure *x, enum ended ended,
			 unsigned int n, unsigned int ran, uint64_t ns)
{
	add_sum(&r->possible[x->kind][ended], n, ns);
	if (x->likely)
		add_sum(&r->likely[x->kind][ended], n, ns);
	if (ended == ENDED_REFAULT) {
		add_sum(&r->proven[x->kind][ended], n, ns);
	} else if (x->kind == STALE_BENIGN) {
		r->spurious_possible[x->level] += ran;
		if (x->likely)
			r->spurious_likely[x->level] += ran;
	}
}

static void offer_row(struct engine *e, struct policy_result *r, const struct exposure *x,
		      unsigned int cpu, enum ended ended, uint64_t ns)
{
	const struct leaf *leaf = pages_leaf(&e->pages, x->leaf);
	uint64_t page = leaf->number << LEAF_SHIFT | x->slot;

	keep_row(e, r,
		 &(struct exposure_row){.start_ns = x->start_ns, .end_ns = x->start_ns + ns,
					.page = page << e->config.page_shift, .mm = leaf->mm, .cpu = cpu,
					.kind = x->kind, .ended = (uint8_t)ended});
}

static bool row_wanted(const struct engine *e, const struct policy_result *r, uint64_t ns)
{
	return r->nr_rows < e->config.max_rows ||
	       (r->nr_rows && ns >= r->rows[0].end_ns - r->rows[0].start_ns);
}

/* The entries on the CPUs of SET are stale no more. Needs find_homes(). */
static void exposure_close(struct engine *e, struct mm *mm, unsigned int policy, struct exposure *x,
			   const uint64_t *set, enum ended ended, uint64_t time_ns)
{
	struct policy_result *r = &e->instances[policy].result;
	uint64_t ns = time_ns > x->start_ns ? time_ns - x->start_ns : 0;
	bool wanted = row_wanted(e, r, ns);
	unsigned int closed = 0, ran = 0;
	uint64_t rest = 0, hit = 0;

	for (unsigned int w = 0; w < e->words; w++) {
		uint64_t bits = x->cpus[w] & set[w];

		hit |= bits;
		x->cpus[w] &= ~set[w];
		rest |= x->cpus[w];
		for (; bits; bits &= bits - 1) {
			unsigned int cpu = w * 64 + (unsigned int)__builtin_ctzll(bits);
			const struct residence *home = e->homes[cpu];
			/* A CPU of which events are missing may have run it. */
			bool did_run = !home || home->ran_until > x->start_seq;
			const struct flush_note *note = NULL;

			if (home && home->policy[policy].nr_notes)
				note = flush_after(home, policy, x->start_seq);
			if (note) {
				uint64_t less = note->time_ns > x->start_ns ? note->time_ns - x->start_ns : 0;

				did_run = note->ran_until > x->start_seq;
				count_closed(r, x, ENDED_FLUSH, 1, did_run, less);
				if (row_wanted(e, r, less))
					offer_row(e, r, x, cpu, ENDED_FLUSH, less);
				else
					r->rows_left_out++;
				continue;
			}
			closed++;
			ran += did_run;
			if (wanted)
				offer_row(e, r, x, cpu, ended, ns);
		}
	}
	if (!hit)
		return;
	mm->policy[policy].dead += !rest;
	if (!closed)
		return;
	count_closed(r, x, ended, closed, ran, ns);
	if (!wanted)
		r->rows_left_out += closed;
}

/* Closes what is open of one page under one policy on the CPUs of SET, of the wanted kinds. */
static void close_page(struct engine *e, struct mm *mm, uint32_t leaf, unsigned int slot,
		       unsigned int policy, const uint64_t *set, bool only_permission, enum ended ended,
		       uint64_t time_ns)
{
	uint32_t ref = open_of(e, mm, leaf, slot, policy);

	if (ref)
		find_homes(e, mm);
	for (; ref; ref = exposure_at(e, mm, policy, ref)->next) {
		struct exposure *x = exposure_at(e, mm, policy, ref);

		if (!only_permission || (x->permission && x->kind == STALE_UNSAFE))
			exposure_close(e, mm, policy, x, set, ended, time_ns);
	}
}

static void close_records(struct engine *e, struct mm *mm, unsigned int policy, const uint64_t *set,
			  enum ended ended, uint64_t time_ns)
{
	if (!mm->policy[policy].nr)
		return;
	find_homes(e, mm);
	for (uint32_t ref = 1; ref <= mm->policy[policy].nr; ref++)
		exposure_close(e, mm, policy, exposure_at(e, mm, policy, ref), set, ended, time_ns);
	if (mm->policy[policy].dead == mm->policy[policy].nr)
		mm->policy[policy].nr = mm->policy[policy].dead = mm->policy[policy].permissions = 0;
}

/* Closes all of an mm on every CPU. */
static void close_mm(struct engine *e, struct mm *mm, unsigned int policy, enum ended ended,
		     uint64_t time_ns)
{
	fill_set(e, e->everyone);
	close_records(e, mm, policy, e->everyone, ended, time_ns);
	for (uint32_t i = 0; i < mm->nr_residences; i++)
		residence_at(e, mm, i)->policy[policy].nr_notes = 0;
}

/* Notes that all of MM was flushed on one CPU. */
static void flush_mm_on(struct engine *e, struct mm *mm, unsigned int policy, struct residence *r,
			uint64_t time_ns)
{
	uint64_t here[e->words];

	r->policy[policy].flush_seq = e->seq;
	if (!mm->policy[policy].nr)
		return;
	if (r->policy[policy].nr_notes == MAX_NOTES) {
		clear_set(e, here);
		set_bit(here, r->cpu, true);
		close_records(e, mm, policy, here, ENDED_FLUSH, time_ns);
		r->policy[policy].nr_notes = 0;
		return;
	}
	if (r->policy[policy].nr_notes == r->policy[policy].max_notes) {
		uint32_t max = r->policy[policy].max_notes ? r->policy[policy].max_notes * 4 : 16;
		struct flush_note *more = realloc(r->policy[policy].notes, max * sizeof(*more));

		if (!more) {
			e->failed = true;
			return;
		}
		r->policy[policy].notes = more;
		r->policy[policy].max_notes = max;
	}
	r->policy[policy].notes[r->policy[policy].nr_notes++] = (struct flush_note){
		.seq = e->seq, .time_ns = time_ns, .ran_until = r->ran_until};
}

static void expose(struct engine *e, unsigned int policy, const struct tlb_event *event, uint32_t leaf,
		   unsigned int slot, const uint64_t *set, enum staleness kind, bool permission)
{
	struct mm *mm = mm_find(e, event->mm);
	uint64_t any = 0;
	struct exposure *x;
	uint32_t older;

	for (unsigned int w = 0; w < e->words; w++)
		any |= set[w];
	if (!any || !mm)
		return;
	x = exposure_new(e, mm, policy);
	if (!x)
		return;
	x->leaf = NO_LEAF; /* not yet of this page, for the look-up */
	older = open_of(e, mm, leaf, slot, policy);
	*x = (struct exposure){.start_ns = event->time_ns, .start_seq = e->seq, .leaf = leaf,
			       .next = older, .slot = (uint8_t)slot, .kind = (uint8_t)kind,
			       .level = event->level, .likely = event->sure.estimate,
			       .permission = permission};
	memcpy(x->cpus, set, e->words * sizeof(uint64_t));
	mm->policy[policy].permissions += permission;
	policy_of(e, leaf, slot, policy)->open = mm->policy[policy].nr;
}

/*
 * The CPUs that may hold an entry of a page that was last flushed everywhere at FLUSH_SEQ: those that
 * had the mm loaded since, and since their own flush of it.
 */
static void find_candidates(const struct engine *e, const struct mm *mm, unsigned int policy,
			    uint64_t flush_seq, uint64_t *set)
{
	clear_set(e, set);
	if (mm->policy[policy].flush_seq > flush_seq)
		flush_seq = mm->policy[policy].flush_seq;
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		const struct residence *r = residence_at(e, mm, i);
		uint64_t since = r->policy[policy].flush_seq > flush_seq ? r->policy[policy].flush_seq
									  : flush_seq;

		if (r->loaded_until > since)
			set_bit(set, r->cpu, true);
	}
	if (e->any_unsure)
		for (unsigned int w = 0; w < e->words; w++)
			set[w] |= e->unsure[w];
}

/* ---- pages in ranges ---- */

typedef void (*leaf_visitor)(struct engine *e, uint32_t leaf, uint16_t slots, void *context);

static uint16_t slots_between(uint64_t number, uint64_t first, uint64_t last)
{
	uint64_t base = number << LEAF_SHIFT;
	unsigned int from = first > base ? (unsigned int)(first - base) : 0;
	unsigned int to = last - base < LEAF_PAGES - 1 ? (unsigned int)(last - base) : LEAF_PAGES - 1;

	return (uint16_t)((2u << to) - (1u << from));
}

/*
 * Visits the leaves of MM that hold known pages of [ADDR, ADDR + PAGES); PAGES 0: all of the mm. Goes
 * by the shorter of the two: the leaf numbers of the range, or the mm's own list.
 */
static void visit(struct engine *e, uint32_t number, uint64_t addr, uint64_t pages, leaf_visitor visitor,
		  void *context)
{
	struct mm *mm = mm_find(e, number);
	uint64_t first = addr >> e->config.page_shift, last = first + pages - 1;

	if (!mm)
		return;
	if (last < first || !pages) {
		first = pages ? first : 0;
		last = UINT64_MAX;
	}
	if (pages && (last >> LEAF_SHIFT) - (first >> LEAF_SHIFT) < mm->nr_leaves) {
		for (uint64_t n = first >> LEAF_SHIFT; n <= last >> LEAF_SHIFT; n++) {
			uint32_t leaf = pages_find(&e->pages, number, n << LEAF_SHIFT);

			if (leaf != NO_LEAF)
				visitor(e, leaf, slots_between(n, first, last), context);
		}
		return;
	}
	for (uint32_t leaf = mm->leaves; leaf != NO_LEAF;) {
		const struct leaf *l = pages_leaf(&e->pages, leaf);
		uint32_t next = l->next;

		if (l->number >= first >> LEAF_SHIFT && l->number <= last >> LEAF_SHIFT)
			visitor(e, leaf, slots_between(l->number, first, last), context);
		leaf = next;
	}
}

static void visit_present(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	*(uint64_t *)context += (uint64_t)__builtin_popcount(pages_leaf(&e->pages, leaf)->present & slots);
}

static void visit_protect(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	(void)context;
	pages_leaf(&e->pages, leaf)->writable &= (uint16_t)~slots;
}

static void visit_unmap(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	struct leaf *l = pages_leaf(&e->pages, leaf);

	(void)context;
	l->writable &= (uint16_t)~slots;
	l->present &= (uint16_t)~slots;
}

struct cover {
	struct mm *mm;
	unsigned int policy;
	uint64_t time_ns;
	const uint64_t *set; /* CPUs that are rid of the pages */
	bool everywhere;     /* that is all of them */
};

static void visit_cover(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	const struct cover *c = context;

	for (; slots; slots &= (uint16_t)(slots - 1)) {
		unsigned int slot = (unsigned int)__builtin_ctz(slots);
		struct page_policy *p = policy_of(e, leaf, slot, c->policy);

		if (p->open)
			close_page(e, c->mm, leaf, slot, c->policy, c->set, false, ENDED_FLUSH, c->time_ns);
		if (c->everywhere)
			p->flush_seq = e->seq;
	}
}

struct leave {
	unsigned int policy;
	const struct tlb_event *event;
	const uint64_t *covered; /* NULL: nobody */
	enum staleness kind;
	bool permission, only_writable, count_only;
	double entries;
};

/* The pages whose entries were changed and not flushed everywhere. */
static void visit_leave(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	struct leave *c = context;
	const struct leaf *l = pages_leaf(&e->pages, leaf);
	struct mm *mm = mm_find(e, c->event->mm);

	slots &= c->only_writable ? l->present & l->writable : l->present;
	for (; slots; slots &= (uint16_t)(slots - 1)) {
		unsigned int slot = (unsigned int)__builtin_ctz(slots);
		const struct page_policy *p = policy_of(e, leaf, slot, c->policy);

		find_candidates(e, mm, c->policy, p->flush_seq, e->candidates);
		for (unsigned int w = 0; c->covered && w < e->words; w++)
			e->candidates[w] &= ~c->covered[w];
		if (c->count_only) {
			c->entries += count_bits(e, e->candidates);
			continue;
		}
		/* A CPU that is stale in this way already stays so. */
		for (uint32_t ref = open_of(e, mm, leaf, slot, c->policy); ref;
		     ref = exposure_at(e, mm, c->policy, ref)->next) {
			const struct exposure *x = exposure_at(e, mm, c->policy, ref);

			for (unsigned int w = 0; x->kind == c->kind && w < e->words; w++)
				for (uint64_t bits = x->cpus[w] & e->candidates[w]; bits; bits &= bits - 1) {
					unsigned int cpu = w * 64 + (unsigned int)__builtin_ctzll(bits);

					if (still_open(e, mm, c->policy, x, cpu))
						set_bit(e->candidates, cpu, false);
				}
		}
		expose(e, c->policy, c->event, leaf, slot, e->candidates, c->kind, c->permission);
	}
}

/* ---- decisions ---- */

/* What an entry that is left behind at POINT is. NR_STALENESS: nothing is left behind. */
static enum staleness staleness_of(const struct tlb_event *event)
{
	switch (event->point) {
	case POINT_WP_REUSE:
	case POINT_DIRTY_UP:
	case POINT_HUGETLB_REUSE:
		return STALE_BENIGN;
	case POINT_AGE:
		return STALE_HINT;
	case POINT_PROTECT:
		return event->flags & EVENT_UP ? STALE_BENIGN : STALE_UNSAFE;
	case POINT_YOUNG:     /* an entry without the access flag is in no TLB */
	case POINT_SPURIOUS:
	case POINT_PROT_NONE_RW:
	case POINT_SWITCH:
	case POINT_KERNEL:
	case POINT_FOLD:
	case POINT_UNFOLD:
		return NR_STALENESS;
	default:
		return STALE_UNSAFE;
	}
}

static bool page_point(unsigned int point)
{
	switch (point) {
	case POINT_WP_REUSE:
	case POINT_DIRTY_UP:
	case POINT_HUGETLB_REUSE:
	case POINT_YOUNG:
	case POINT_SPURIOUS:
	case POINT_COW:
	case POINT_MIGRATE:
	case POINT_RECLAIM:
	case POINT_AGE:
	case POINT_CLEAN:
		return true;
	default:
		return false;
	}
}

/*
 * Lets one invalidation take effect: brings times up to date and closes what it covers. COVERED
 * collects the CPUs that are rid of the pages that changed.
 */
static void apply(struct engine *e, unsigned int policy, const struct tlb_event *event,
		  const struct policy_action *act, uint32_t leaf, unsigned int slot, uint64_t *covered)
{
	struct mm *mm = mm_find(e, event->mm);
	bool everywhere = act->scope == SCOPE_BROADCAST || act->scope == SCOPE_MASK;

	if (!mm)
		return;
	clear_set(e, e->scratch);
	if (everywhere)
		fill_set(e, e->scratch);
	else if (e->cpus[event->cpu].mm == event->mm || event->point == POINT_SWITCH)
		set_bit(e->scratch, event->cpu, true);
	for (unsigned int w = 0; w < e->words; w++)
		covered[w] |= e->scratch[w];

	if (act->reach == REACH_MM || act->reach == REACH_ALL) {
		if (everywhere) {
			mm->policy[policy].flush_seq = e->seq;
			close_mm(e, mm, policy, ENDED_FLUSH, event->time_ns);
		} else {
			struct residence *r = residence_make(e, mm, event->cpu);

			if (r)
				flush_mm_on(e, mm, policy, r, event->time_ns);
		}
		return;
	}
	struct cover cover = {.mm = mm, .policy = policy, .time_ns = event->time_ns, .set = e->scratch,
			      .everywhere = everywhere};
	if (leaf != NO_LEAF && event->pages == 1)
		visit_cover(e, leaf, (uint16_t)(1u << slot), &cover);
	else
		visit(e, event->mm, event->addr, event->pages, visit_cover, &cover);
	if (act->scope != SCOPE_MASK)
		return;
	/* CPUs that were not interrupted see the mm's new generation when they come back to it. */
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		struct residence *r = residence_at(e, mm, i);

		if (!bit(mm->loaded, r->cpu) || (bit(e->lazy, r->cpu) && !(act->flags & ACT_LAZY)))
			flush_mm_on(e, mm, policy, r, event->time_ns);
	}
}

/* Scope mask, as it comes out for the CPUs that have the mm loaded now. */
static enum scope resolve_mask(const struct engine *e, unsigned int policy, const struct tlb_event *event,
			       const struct policy_action *act, struct bound *targets, uint64_t *reached)
{
	uint64_t *dropped = e->instances[policy].dropped;
	const struct mm *mm = mm_find(e, event->mm);
	bool others = false, here;

	*targets = (struct bound){0};
	clear_set(e, reached);
	if (!mm) {
		/* No mm is known: a kernel range reaches every CPU. */
		for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
			set_bit(reached, cpu, cpu != event->cpu);
		targets->low = targets->estimate = targets->high = count_bits(e, reached);
		return SCOPE_MASK;
	}
	here = bit(mm->loaded, event->cpu) && !bit(dropped, event->cpu);
	for (unsigned int w = 0; w < e->words; w++) {
		uint64_t set = mm->loaded[w] & ~dropped[w];

		if (event->cpu / 64 == w)
			set &= ~(UINT64_C(1) << (event->cpu % 64));
		others |= set != 0;
		targets->high += (uint64_t)__builtin_popcountll(set);
		reached[w] = act->flags & ACT_LAZY ? set : set & ~e->lazy[w];
		/* A lazy CPU answers by leaving the mm, and is in its mask no more. */
		if (event->sure.low && act->flags & ACT_LAZY)
			dropped[w] |= mm->loaded[w] & e->lazy[w];
	}
	targets->low = targets->estimate = count_bits(e, reached);
	if (others)
		return SCOPE_MASK;
	return here ? SCOPE_LOCAL : SCOPE_NONE;
}

static void count_action(struct engine *e, unsigned int policy, const struct tlb_event *event,
			 const struct policy_action *act, enum scope scope, const struct bound *flushes,
			 bool first)
{
	struct policy_result *r = &e->instances[policy].result;
	struct flush_count *c = &r->flush[event->point][event->level][scope];
	uint64_t pages = act->reach == REACH_PAGE ? 1
			 : act->reach == REACH_MM || act->reach == REACH_ALL ? 0
									     : event->pages;
	struct mm *mm = mm_find(e, event->mm);
	size_t bucket = bucket_of(e, event->time_ns);

	if (first)
		c->decisions += event->sure.estimate;
	if (scope == SCOPE_NONE)
		return;
	add_bound(&c->flushes, flushes);
	add_bound(&r->buckets[bucket].flushes[scope], flushes);
	if (bucket >= r->nr_buckets)
		r->nr_buckets = bucket + 1;
	c->pages += flushes->estimate ? pages : 0;
	r->issued[event->cpu * NR_SCOPES + scope] += flushes->estimate;
	if (act->flags & ACT_NOTIFY)
		r->notifies += flushes->estimate;
	if (mm)
		count_mm(e, mm, policy, event->point, scope, flushes);
}

/* Entries that a flush by page takes from other CPUs, which must walk for them again. */
static void count_refills(struct engine *e, unsigned int policy, const struct tlb_event *event,
			  uint64_t flush_seq)
{
	struct instance *in = &e->instances[policy];
	struct mm *mm = mm_find(e, event->mm);

	if (!mm)
		return;
	find_candidates(e, mm, policy, flush_seq, e->candidates);
	set_bit(e->candidates, event->cpu, false);
	in->result.refills += count_bits(e, e->candidates);
}

static void decide_for(struct engine *e, unsigned int policy, const struct tlb_event *event,
		       uint64_t present, uint32_t leaf, unsigned int slot)
{
	struct instance *in = &e->instances[policy];
	struct policy_cell cell = in->policy->table[event->point][event->level];
	uint64_t *covered = e->covered, *reached = e->reached;
	struct bound flushes = {event->sure.low, event->sure.estimate, event->sure.high};
	bool none = true;
	enum scope used = SCOPE_NONE;

	clear_set(e, covered);
	/* Nothing is flushed for a range without a present PTE; whether there is one may be unknown. */
	if ((event->point == POINT_PROTECT || event->point == POINT_NUMA) && !present)
		flushes.low = flushes.estimate = 0;
	e->asking = policy;
	if (in->policy->decide)
		in->policy->decide(&e->view, in->as_given->params, in->state, event, &cell);
	for (unsigned int i = 0; i < POLICY_ACTIONS; i++) {
		const struct policy_action *act = &cell.act[i];
		enum scope scope = act->scope;

		if (scope == SCOPE_NONE)
			break;
		if (scope == SCOPE_MASK) {
			struct bound targets;

			scope = resolve_mask(e, policy, event, act, &targets, reached);
			if (flushes.estimate)
				for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
					in->result.received[cpu] += bit(reached, cpu);
			targets.low *= flushes.low;
			targets.estimate *= flushes.estimate;
			targets.high *= flushes.high;
			add_bound(&in->result.targets, &targets);
		}
		if (act->reach == REACH_PAGE && scope >= SCOPE_MASK && leaf != NO_LEAF && flushes.estimate)
			count_refills(e, policy, event, policy_of(e, leaf, slot, policy)->flush_seq);
		count_action(e, policy, event, act, scope, &flushes, none || scope != used);
		none = false;
		used = scope;
		/* A flush that may not have happened helps nobody at the high bound. */
		if (event->sure.low)
			apply(e, policy, event, act, leaf, slot, covered);
	}
	if (none)
		count_action(e, policy, event, &cell.act[0], SCOPE_NONE, &flushes, true);

	/* What stays behind. */
	enum staleness kind = staleness_of(event);
	unsigned int all = 0;

	for (unsigned int w = 0; w < e->words; w++)
		all += covered[w] == UINT64_MAX;
	if (kind == NR_STALENESS || all == e->words || !mm_find(e, event->mm))
		return;
	struct leave leave = {.policy = policy, .event = event, .covered = covered, .kind = kind,
			      .permission = event->point == POINT_FORK || event->point == POINT_PROTECT,
			      .only_writable = event->point == POINT_FORK,
			      .count_only = event->point == POINT_EXIT};
	if (leaf != NO_LEAF) {
		visit_leave(e, leaf, (uint16_t)(1u << slot), &leave);
		return;
	}
	visit(e, event->mm, event->addr, event->point == POINT_EXIT ? 0 : event->pages, visit_leave, &leave);
	if (leave.entries > 0) {
		if (in->forever == 0)
			in->forever_first_ns = event->time_ns;
		in->forever += leave.entries;
		in->forever_start_sum += leave.entries * (double)event->time_ns;
	}
}

/*
 * A recorded spurious fault. Under a policy that left the entry behind it happens again; under one
 * that had flushed it, it does not, unless the fault was on its way before the upgrade was complete.
 */
static void spurious_for(struct engine *e, unsigned int policy, const struct tlb_event *event,
			 uint32_t leaf, unsigned int slot)
{
	struct instance *in = &e->instances[policy];
	struct policy_result *r = &in->result;
	const struct policy_cell *upgrade = &in->policy->table[POINT_WP_REUSE][event->level];
	bool leaves_stale = upgrade->act[0].scope == SCOPE_NONE || upgrade->act[0].scope == SCOPE_LOCAL;
	uint64_t upgraded_ns = leaf_page(&e->pages, pages_leaf(&e->pages, leaf), slot)->upgrade_ns;
	struct mm *mm = mm_find(e, event->mm);

	for (uint32_t ref = open_of(e, mm, leaf, slot, policy); ref;
	     ref = exposure_at(e, mm, policy, ref)->next) {
		struct exposure *x = exposure_at(e, mm, policy, ref);

		if (x->kind != STALE_BENIGN || !still_open(e, mm, policy, x, event->cpu))
			continue;
		clear_set(e, e->scratch);
		set_bit(e->scratch, event->cpu, true);
		find_homes(e, mm);
		exposure_close(e, mm, policy, x, e->scratch, ENDED_REFAULT, event->time_ns);
		r->spurious_proven[event->level]++;
		return;
	}
	if (upgraded_ns && event->began_ns < upgraded_ns)
		r->spurious_race++;
	else if (leaves_stale)
		r->spurious_proven[event->level]++;
	else
		add_bound(&r->avoided, &(struct bound){upgraded_ns != 0, 1, 1});
}

static void on_decision(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = event->mm ? mm_make(e, event->mm) : NULL;
	uint64_t page = event->addr >> e->config.page_shift, present = 0;
	unsigned int slot = page & (LEAF_PAGES - 1);
	uint32_t leaf = NO_LEAF;

	if (event->cpu >= e->config.nr_cpus)
		return;
	if (page_point(event->point) && mm) {
		uint32_t head = mm->leaves;

		leaf = pages_make(&e->pages, event->mm, page, &mm->leaves);
		if (leaf == NO_LEAF) {
			e->failed = true;
			return;
		}
		mm->nr_leaves += mm->leaves != head;
		struct leaf *l = pages_leaf(&e->pages, leaf);
		if (!(l->present >> slot & 1)) {
			l->present |= (uint16_t)(1u << slot);
			mm->pages++;
		}
		if (event->point == POINT_WP_REUSE && event->level == LEVEL_PTE)
			leaf_page(&e->pages, l, slot)->reuses += event->sure.estimate;
		else if (event->sure.estimate)
			count_page(e, event->mm, event->addr, event->point, event->level, 1);
	} else if (event->point == POINT_PROTECT || event->point == POINT_NUMA) {
		visit(e, event->mm, event->addr, event->pages, visit_present, &present);
	}
	/* A spurious fault is counted under each policy by what the policy left behind. */
	if (event->point == POINT_SPURIOUS && leaf != NO_LEAF && event->sure.low) {
		if (!(event->flags & EVENT_REMOTE))
			for (unsigned int p = 0; p < e->config.nr_policies; p++)
				spurious_for(e, p, event, leaf, slot);
		return;
	}
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		decide_for(e, p, event, present, leaf, slot);

	/* What the page table holds from now on. */
	switch (event->point) {
	case POINT_WP_REUSE:
	case POINT_DIRTY_UP:
	case POINT_HUGETLB_REUSE:
	case POINT_COW:
		if (leaf == NO_LEAF || !event->sure.estimate)
			break;
		pages_leaf(&e->pages, leaf)->writable |= (uint16_t)(1u << slot);
		leaf_page(&e->pages, pages_leaf(&e->pages, leaf), slot)->upgrade_ns = event->time_ns;
		if (event->point == POINT_COW)
			break;
		/* An entry that allowed too much allows what it should again. */
		fill_set(e, e->scratch);
		for (unsigned int p = 0; p < e->config.nr_policies; p++)
			if (mm->policy[p].permissions)
				close_page(e, mm, leaf, slot, p, e->scratch, true, ENDED_GONE, event->time_ns);
		break;
	case POINT_RECLAIM:
		if (leaf != NO_LEAF)
			visit_unmap(e, leaf, (uint16_t)(1u << slot), NULL);
		break;
	case POINT_UNMAP:
	case POINT_TABLES_FREED:
		visit(e, event->mm, event->addr, event->pages, visit_unmap, NULL);
		break;
	case POINT_PROTECT:
		if (!(event->flags & EVENT_UP))
			visit(e, event->mm, event->addr, event->pages, visit_protect, NULL);
		break;
	default:
		break;
	}
}

static void on_load(struct engine *e, const struct tlb_event *event)
{
	struct cpu *cpu = &e->cpus[event->cpu];
	struct mm *mm = mm_make(e, event->mm), *old = mm_find(e, cpu->mm);
	struct residence *r;

	if (!mm)
		return;
	if (old && old != mm) {
		r = residence_make(e, old, event->cpu);
		if (r) {
			r->loaded_until = e->seq;
			if (r->ran_until == FOREVER)
				r->ran_until = e->seq;
		}
		set_bit(old->loaded, event->cpu, false);
	}
	cpu->mm = event->mm;
	cpu->lazy = false;
	set_bit(e->lazy, event->cpu, false);
	set_bit(e->unsure, event->cpu, false);
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		set_bit(e->instances[p].dropped, event->cpu, false);
	set_bit(mm->loaded, event->cpu, true);
	r = residence_make(e, mm, event->cpu);
	if (r)
		r->loaded_until = r->ran_until = FOREVER;
}

static void on_idle(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = mm_find(e, e->cpus[event->cpu].mm);
	struct residence *r;

	e->cpus[event->cpu].lazy = true;
	set_bit(e->lazy, event->cpu, true);
	r = mm ? residence_make(e, mm, event->cpu) : NULL;
	if (r && r->ran_until == FOREVER)
		r->ran_until = e->seq;
}

static void hand_on_mm(struct engine *e, uint32_t number, const struct mm *mm)
{
	for (uint32_t leaf = mm->leaves; leaf != NO_LEAF; leaf = pages_leaf(&e->pages, leaf)->next) {
		struct leaf *l = pages_leaf(&e->pages, leaf);

		for (unsigned int slot = 0; slot < LEAF_PAGES; slot++) {
			uint64_t n = leaf_page(&e->pages, l, slot)->reuses;

			if (n)
				count_page(e, number, (l->number << LEAF_SHIFT | slot) << e->config.page_shift,
					   POINT_WP_REUSE, LEVEL_PTE, n);
		}
	}
	for (uint32_t i = 0; i < mm->nr_rows; i++)
		e->config.sink.flush_mm(e->config.sink.context, mm->rows[i].key >> 16, number,
					mm->rows[i].key >> 8 & 0xff, mm->rows[i].key & 0xff,
					&mm->rows[i].flushes);
}

static void on_mm_end(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = mm_find(e, event->mm);

	e->ended_pages = mm ? mm->pages : 0;
	if (!mm)
		return;
	for (unsigned int p = 0; p < e->config.nr_policies; p++) {
		struct instance *in = &e->instances[p];

		close_mm(e, mm, p, ENDED_GONE, event->time_ns);
		if (in->state && in->policy->forget)
			in->policy->forget(in->state, event->mm);
	}
	hand_on_mm(e, event->mm, mm);
	for (unsigned int i = 0; i < e->config.nr_cpus; i++)
		if (e->cpus[i].mm == event->mm)
			e->cpus[i].mm = 0;
	pages_release(&e->pages, mm->leaves);
	mm_free(e, mm);
	e->mms[event->mm] = NULL;
}

static void on_present(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = mm_make(e, event->mm);
	uint64_t page = event->addr >> e->config.page_shift;
	unsigned int slot = page & (LEAF_PAGES - 1);
	uint32_t head, leaf;

	if (!mm)
		return;
	head = mm->leaves;
	leaf = pages_make(&e->pages, event->mm, page, &mm->leaves);
	if (leaf == NO_LEAF) {
		e->failed = true;
		return;
	}
	mm->nr_leaves += mm->leaves != head;
	struct leaf *l = pages_leaf(&e->pages, leaf);
	if (!(l->present >> slot & 1))
		mm->pages++;
	l->present |= (uint16_t)(1u << slot);
	if (event->flags & EVENT_WRITE)
		l->writable |= (uint16_t)(1u << slot);
}

void engine_hint(void *engine, uint32_t number, uint64_t addr)
{
	struct engine *e = engine;
	uint64_t page = addr >> e->config.page_shift;
	uint32_t leaf = pages_find(&e->pages, number, page);

	if (leaf != NO_LEAF)
		__builtin_prefetch(leaf_page(&e->pages, pages_leaf(&e->pages, leaf), page & (LEAF_PAGES - 1)), 1);
}

void engine_event(void *engine, const struct tlb_event *event)
{
	struct engine *e = engine;

	e->seq++;
	switch ((enum event_kind)event->kind) {
	case EVENT_DECISION:
		on_decision(e, event);
		break;
	case EVENT_PRESENT:
		on_present(e, event);
		break;
	case EVENT_PROTECTED:
		visit(e, event->mm, event->addr, event->pages, visit_protect, NULL);
		break;
	case EVENT_LOAD:
		on_load(e, event);
		break;
	case EVENT_IDLE:
		on_idle(e, event);
		break;
	case EVENT_MM_END:
		on_mm_end(e, event);
		break;
	case EVENT_LOST:
		set_bit(e->unsure, event->cpu, true);
		e->any_unsure = true;
		break;
	}
}

uint64_t engine_mm_pages(const struct engine *e, uint32_t mm)
{
	const struct mm *m = mm_find(e, mm);

	return m ? m->pages : e->ended_pages;
}

int engine_end(struct engine *e, uint64_t time_ns)
{
	for (size_t i = 0; i < e->nr_mms; i++) {
		struct mm *mm = e->mms[i];

		if (!mm)
			continue;
		for (unsigned int p = 0; p < e->config.nr_policies; p++)
			close_mm(e, mm, p, ENDED_TRACE, time_ns);
		hand_on_mm(e, (uint32_t)i, mm);
	}
	for (unsigned int p = 0; p < e->config.nr_policies; p++) {
		struct instance *in = &e->instances[p];
		struct exposure_sum *sums[] = {&in->result.possible[STALE_UNSAFE][ENDED_TRACE],
					       &in->result.likely[STALE_UNSAFE][ENDED_TRACE]};

		for (unsigned int k = 0; k < NR_POINTS * NR_LEVELS * NR_SCOPES; k++)
			add_bound(&in->result.scope[k % NR_SCOPES],
				  &(&in->result.flush[0][0][0])[k].flushes);
		for (size_t k = 0; in->forever > 0 && k < 2; k++) {
			sums[k]->entries += in->forever;
			sums[k]->entry_ns += in->forever * (double)time_ns - in->forever_start_sum;
			if (time_ns - in->forever_first_ns > sums[k]->max_ns)
				sums[k]->max_ns = time_ns - in->forever_first_ns;
		}
	}
	hand_on_counts(e);
	return e->failed ? -ENOMEM : 0;
}

void engine_time(const struct engine *e, uint64_t *start_ns, uint64_t *width_ns)
{
	*start_ns = e->time_start_ns;
	*width_ns = e->time_width_ns;
}

const struct policy_result *engine_result(const struct engine *e, unsigned int policy)
{
	return &e->instances[policy].result;
}

size_t engine_page_bytes(const struct engine *e)
{
	return pages_bytes(&e->pages);
}
