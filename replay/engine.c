// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For every policy the engine keeps two kinds of knowledge about one stale entry: whether a CPU
 * could hold it at all (the high bound: the mm was loaded there since the entry was last flushed
 * there), and whether it did (the low bound: it faulted, and nothing was there to change). What
 * lies between is the estimate's, a share.
 *
 *	an upgrade of page P on CPU 0, flushed on CPU 0 only:
 *
 *	CPU 1  ...loads mm......runs............switches away
 *	                         ^ may hold P read-only: an exposure is open from here
 *	                                         until P is flushed there, CPU 1 faults on it,
 *	                                         the mm ends, or the trace does
 *
 * Time is compared by the ordinal of the event, so that events with one time stamp keep their
 * order; nanoseconds are only for lengths. A CPU that has an mm loaded holds it "until" the end of
 * time.
 *
 * An open exposure is a record per page and policy with a bit per CPU. The records of one mm and
 * policy lie in one array in the order in which they were opened, so that a flush of everything,
 * which is how most of them end, is one pass over it. A page knows the newest of its own; a number
 * that no longer leads to a record of that page is out of date and means none.
 *
 * A flush of everything on one CPU (a switch on x86) does not walk the records: it is noted with
 * the CPU, and a record that is closed later looks up whether, and when, its CPU had been flushed
 * before.
 */
#include "replay/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/pages.h"
#include "replay/tlb.h"

#define FOREVER     UINT64_MAX
#define MAX_BUCKETS 1024

const struct param common_params[] = {
	{.name = "share",
	 .type = PARAM_FRACTION,
	 .offset = offsetof(struct common_params, share),
	 .unit = "",
	 .def = 0.1,
	 .min = 0,
	 .max = 1,
	 .help = "of the entries that another CPU could hold and no event shows, how many it does "
		 "hold "
		 "(assumed: nothing published measures it)"},
	{.name = "write_share",
	 .type = PARAM_FRACTION,
	 .offset = offsetof(struct common_params, write_share),
	 .unit = "",
	 .def = 0.5,
	 .min = 0,
	 .max = 1,
	 .help = "of the stale entries that are held, how many are written to before they go "
		 "(assumed)"},
	PARAM_END,
};

static const char *const ended_names[] = {"flush", "refault", "gone", "end", "evicted"};

const char *ended_name(unsigned int ended)
{
	return ended < NR_ENDED ? ended_names[ended] : "?";
}

/* What one CPU has of one mm. */
struct residence {
	uint32_t cpu;
	uint64_t loaded_until;  /* FOREVER while it is loaded */
	uint64_t ran_until;     /* FOREVER while a task of it runs */
	uint64_t touched;       /* pages of it that the CPU was seen to bring into its TLB */
	struct {
		uint64_t flush_seq; /* everything of the mm was flushed here */
		/* each such flush since exposures were last closed as a whole */
		struct flush_note *notes;
		uint32_t nr_notes, max_notes;
	} policy[];
};

struct flush_note {
	uint64_t seq, time_ns;
	uint64_t ran_until; /* as it stood then */
};

/* A residence while exposures are being closed. */
struct home {
	const struct residence *residence; /* NULL: the CPU never had the mm */
	uint32_t note; /* the one that was looked up last */
};

/* So many notes of one CPU are worth a pass over the records, after which they can go. */
#define MAX_NOTES 4096

/* What an mm adds to struct policy_result.flush, once it ends. */
struct mm_row {
	struct flush_count count;
	uint32_t key; /* see row_key() */
};

struct mm {
	char *residences;
	uint32_t nr_residences, max_residences;
	uint32_t leaves, nr_leaves;
	uint64_t pages;
	uint64_t *loaded;      /* bitmap: CPUs that have it loaded */
	uint64_t last_unload;  /* ordinal: when a CPU last left it */
	uint64_t *visited;     /* bitmap: CPUs that ever had it loaded */
	bool accesses;         /* its accesses are recorded: what none shows is not held */
	struct mm_row *rows;
	uint32_t nr_rows, max_rows;
	struct {
		uint64_t flush_seq; /* all of it was flushed on every CPU */
		uint64_t *holders;  /* CPUs that may hold entries of pages not flushed since... */
		bool holders_known; /* ...if it is up to date */
		char *exposures;    /* records, nr of them, some of them over ("dead") */
		uint32_t nr, max, dead;
		uint32_t permissions; /* records that may end by a later change of permission */
		uint32_t last_row; /* of rows, that was counted in last */
	} policy[];
};

/*
 * A stale entry of one page under one policy, on the CPUs whose bit is set; none is set: it is
 * over.
 */
struct exposure {
	uint64_t start_ns, start_seq;
	uint32_t leaf;
	uint32_t next;   /* older one of the same page, + 1 */
	uint8_t slot, kind, level;
	bool likely : 1;     /* counts for the estimate */
	bool permission : 1; /* stale only in its permission: a later change may put that right */
	bool deferred : 1;   /* the other CPUs sweep it at their next tick */
	/* words of them; with TLBs, as many more: CPUs that the evidence shows hold it */
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
	/* period of the tick at which deferred flushes are carried out; 0: none are */
	int64_t tick_ns;
	/* Stale for ever (the mm ended unflushed): number, and sum of their start times. */
	uint64_t forever;
	unsigned __int128 forever_start_sum;
	uint64_t forever_first_ns;
	uint64_t least_row_ns; /* result.rows has no room for shorter exposures */
	bool asked_foreign;    /* its hook asked about another shard's entries... */
	bool shard_unsure;     /* ...and can have made something of the answer */
};

struct engine {
	struct engine_config config;
	struct policy_view view;
	unsigned int words;
	uint64_t seq;
	struct cpu *cpus;
	uint64_t *lazy, *unsure, *scratch, *stale, *holders, *view_set, *everyone, *covered,
		*reached, *asked;
	unsigned int asking; /* the policy whose hook runs */
	bool any_unsure;
	struct mm **mms;
	size_t nr_mms;
	struct pages pages;
	size_t exposure_size, residence_size;
	struct tlb *tlb; /* what the evidence shows each CPU to hold; NULL: there is none */
	struct home *homes; /* by CPU, of the mm that is being closed */
	struct {
		uint64_t from, to;     /* holds for exposures that began at ordinals [from, to) */
		uint64_t *ran, *noted; /* see find_since() */
	} since;
	struct page_count *counts;
	size_t counts_mask, nr_counts;
	uint64_t time_start_ns, time_width_ns;
	bool time_started;
	uint64_t bucket, bucket_start_ns, bucket_width_ns; /* the bucket used last */
	uint64_t ended_pages;
	uint32_t ended_mm;
	uint64_t lost_seq; /* when events were last lost */
	bool failed;
	struct instance instances[];
};

static struct exposure *exposure_at(const struct engine *e, const struct mm *mm,
				    unsigned int policy, uint32_t ref)
{
	return (struct exposure *)(mm->policy[policy].exposures +
				   (size_t)(ref - 1) * e->exposure_size);
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

/* Most machines have no more than 64 CPUs: the first word is done in line, the others by a call. */
static void set_all(const struct engine *e, uint64_t *set, bool value)
{
	set[0] = value ? UINT64_MAX : 0;
	if (__builtin_expect(e->words > 1, false))
		memset(set + 1, value ? 0xff : 0, (e->words - 1) * sizeof(*set));
}

static void copy_set(const struct engine *e, uint64_t *to, const uint64_t *from)
{
	to[0] = from[0];
	if (__builtin_expect(e->words > 1, false))
		memcpy(to + 1, from + 1, (e->words - 1) * sizeof(*to));
}

/*
 * Without an instruction for it (x86-64 of old), a loop is the fastest for the few that there are.
 */
static unsigned int count_word(uint64_t bits)
{
	unsigned int n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

static unsigned int count_bits(const struct engine *e, const uint64_t *set)
{
	unsigned int n = 0;

	for (unsigned int w = 0; w < e->words; w++)
		n += count_word(set[w]);
	return n;
}

static struct mm *mm_find(const struct engine *e, uint32_t mm)
{
	return mm < e->nr_mms ? e->mms[mm] : NULL;
}

static struct mm *mm_new(struct engine *e, uint32_t number)
{
	struct mm *mm;

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
		mm->loaded =
			calloc((size_t)e->words * (e->config.nr_policies + 2), sizeof(uint64_t));
	if (!mm || !mm->loaded) {
		free(mm);
		e->failed = true;
		return NULL;
	}
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		mm->policy[p].holders = mm->loaded + (size_t)(p + 1) * e->words;
	mm->visited = mm->loaded + (size_t)(e->config.nr_policies + 1) * e->words;
	mm->leaves = NO_LEAF;
	return e->mms[number] = mm;
}

static struct mm *mm_make(struct engine *e, uint32_t number)
{
	struct mm *mm = mm_find(e, number);

	return mm ? mm : mm_new(e, number);
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

static const uint64_t *view_holders(const struct policy_view *view, uint32_t number, uint64_t addr);

static const uint64_t *view_loaded(const struct policy_view *view, uint32_t number)
{
	struct engine *e = engine_of(view);
	struct mm *mm = mm_find(e, number);

	for (unsigned int w = 0; w < e->words; w++)
		e->view_set[w] = mm ? mm->loaded[w] & ~e->instances[e->asking].dropped[w] : 0;
	return e->view_set;
}

static const uint64_t *view_visited(const struct policy_view *view, uint32_t number)
{
	struct engine *e = engine_of(view);
	struct mm *mm = mm_find(e, number);

	set_all(e, e->view_set, false);
	return mm ? mm->visited : e->view_set;
}

static const uint64_t *view_lazy(const struct policy_view *view)
{
	return engine_of(view)->lazy;
}

/* ---- making and ending ---- */

static int instance_init(struct engine *e, struct instance *in, const struct policy_instance *given)
{
	in->policy = given->policy;
	in->tick_ns = given->policy->defer_ns ? given->policy->defer_ns(given->params) : 0;
	in->as_given = given;
	in->least_row_ns = e->config.max_rows ? 0 : UINT64_MAX;
	in->state = in->policy->state_size ? calloc(1, in->policy->state_size) : NULL;
	in->dropped = calloc(e->words, sizeof(uint64_t));
	in->result.issued = calloc((size_t)e->config.nr_cpus * NR_SCOPES, sizeof(uint64_t));
	in->result.received = calloc(e->config.nr_cpus, sizeof(uint64_t));
	in->result.buckets = calloc(MAX_BUCKETS, sizeof(*in->result.buckets));
	in->result.rows = calloc(e->config.max_rows + 1, sizeof(*in->result.rows));
	if ((in->policy->state_size && !in->state) || !in->dropped || !in->result.issued ||
	    !in->result.received || !in->result.buckets || !in->result.rows)
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
				       .page_shift = config->page_shift,
				       .loaded = view_loaded, .lazy = view_lazy,
				       .visited = view_visited, .holders = view_holders};
	e->exposure_size =
		sizeof(struct exposure) + (config->tlb ? 2 : 1) * e->words * sizeof(uint64_t);
	e->residence_size = sizeof(struct residence) +
			    config->nr_policies * sizeof(((struct residence *)NULL)->policy[0]);
	e->homes = calloc(e->config.nr_cpus, sizeof(*e->homes));
	e->cpus = calloc(e->config.nr_cpus, sizeof(*e->cpus));
	e->lazy = calloc((size_t)e->words * 13, sizeof(uint64_t));
	e->counts_mask = (1u << 12) - 1;
	e->counts = calloc(e->counts_mask + 1, sizeof(*e->counts));
	pages_init(&e->pages, config->nr_policies);
	if (config->tlb) {
		e->tlb = tlb_new(config->tlb, e->config.nr_cpus);
		if (!e->tlb)
			goto fail;
	}
	if (!e->cpus || !e->lazy || !e->counts || !e->homes)
		goto fail;
	e->unsure = e->lazy + e->words;
	e->scratch = e->unsure + e->words;
	e->stale = e->scratch + e->words;
	e->holders = e->stale + e->words;
	e->view_set = e->holders + e->words;
	e->everyone = e->view_set + e->words;
	e->covered = e->everyone + e->words;
	e->reached = e->covered + e->words;
	e->since.ran = e->reached + e->words;
	e->since.noted = e->since.ran + e->words;
	e->asked = e->since.noted + e->words;
	e->view.set = e->asked;
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
	tlb_free(e->tlb);
	free(e);
}

/* ---- counting ---- */

static void hand_on_counts(struct engine *e)
{
	for (size_t i = 0; i <= e->counts_mask; i++) {
		struct page_count *c = &e->counts[i];

		if (c->count)
			e->config.sink.page(e->config.sink.context, c->mm,
					    c->key & ~UINT64_C(0xfff), c->key >> 3 & 0x1ff,
					    c->key & 7, c->count);
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

/*
 * The bucket of TIME_NS. When they run out, each takes its neighbour in and all are twice as wide.
 */
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
					add_bound(&sum.flushes[s],
						  &r->buckets[2 * i + 1].flushes[s]);
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

static uint32_t row_key(unsigned int policy, unsigned int point, unsigned int scope,
			unsigned int level)
{
	return policy << 24 | point << 16 | scope << 8 | level;
}

static struct mm_row *row_make(struct engine *e, struct mm *mm, unsigned int policy, uint32_t key)
{
	for (uint32_t i = 0; i < mm->nr_rows; i++)
		if (mm->rows[i].key == key) {
			mm->policy[policy].last_row = i;
			return &mm->rows[i];
		}
	if (mm->nr_rows == mm->max_rows) {
		uint32_t max = mm->max_rows ? mm->max_rows * 2 : 8;
		struct mm_row *more = realloc(mm->rows, max * sizeof(*more));

		if (!more) {
			e->failed = true;
			return NULL;
		}
		mm->rows = more;
		mm->max_rows = max;
	}
	mm->policy[policy].last_row = mm->nr_rows;
	mm->rows[mm->nr_rows] = (struct mm_row){.key = key};
	return &mm->rows[mm->nr_rows++];
}

/* The count of one action of POLICY: the mm's, or where there is none the result's own. */
static struct flush_count *count_of(struct engine *e, struct mm *mm, unsigned int policy,
				    const struct tlb_event *event, enum scope scope)
{
	struct flush_count *total =
		&e->instances[policy].result.flush[event->point][event->level][scope];
	uint32_t key = row_key(policy, event->point, scope, event->level);
	struct mm_row *row;

	if (!mm || scope == SCOPE_NONE)
		return total;
	row = &mm->rows[mm->policy[policy].last_row];
	if (!mm->nr_rows || row->key != key)
		row = row_make(e, mm, policy, key);
	return row ? &row->count : total;
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

/* OPEN of a page, if that is its newest exposure (+ 1) still; else 0. */
static uint32_t open_of(const struct engine *e, const struct mm *mm, unsigned int policy,
			uint32_t open, uint32_t leaf, unsigned int slot)
{
	const struct exposure *x;

	if (!open || open > mm->policy[policy].nr)
		return 0;
	x = exposure_at(e, mm, policy, open);
	return x->leaf == leaf && x->slot == slot ? open : 0;
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
	if (mm->policy[policy].nr == mm->policy[policy].max &&
	    mm->policy[policy].dead * 2 > mm->policy[policy].nr)
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

/* A heap whose root is the shortest row kept; ties go by what is deterministic, not by arrival. */
static bool row_less(const struct exposure_row *a, const struct exposure_row *b)
{
	uint64_t x = a->end_ns - a->start_ns, y = b->end_ns - b->start_ns;

	if (x != y)
		return x < y;
	if (a->start_ns != b->start_ns)
		return a->start_ns > b->start_ns;
	if (a->mm != b->mm)
		return a->mm > b->mm;
	if (a->page != b->page)
		return a->page > b->page;
	if (a->cpu != b->cpu)
		return a->cpu > b->cpu;
	return a->kind > b->kind;
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

/* Prepares for closing exposures of MM: looks up what each CPU did with it. */
static void find_homes(struct engine *e, const struct mm *mm)
{
	for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
		e->homes[cpu] = (struct home){0};
	for (uint32_t i = 0; i < mm->nr_residences; i++)
		e->homes[residence_at(e, mm, i)->cpu].residence = residence_at(e, mm, i);
	e->since.from = 1;
	e->since.to = 0;
}

/*
 * Which CPUs ran MM after ordinal SEQ, or may have, and which were flushed as a whole after it.
 * Both change at a few ordinals only, so that one answer serves a run of exposures.
 */
static void find_since(struct engine *e, const struct mm *mm, unsigned int policy, uint64_t seq)
{
	uint64_t from = 0, to = FOREVER;

	set_all(e, e->since.ran, true); /* a CPU of which events are missing may have run it */
	set_all(e, e->since.noted, false);
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		const struct residence *r = residence_at(e, mm, i);
		uint32_t nr = r->policy[policy].nr_notes;
		uint64_t change[] = {r->ran_until, nr ? r->policy[policy].notes[nr - 1].seq : 0};

		set_bit(e->since.ran, r->cpu, change[0] > seq);
		set_bit(e->since.noted, r->cpu, change[1] > seq);
		for (unsigned int k = 0; k < 2; k++) {
			if (change[k] > seq && change[k] < to)
				to = change[k];
			if (change[k] <= seq && change[k] > from)
				from = change[k];
		}
	}
	/* Nor is it known what a CPU has run since its events were lost, whatever it ran before. */
	for (unsigned int w = 0; e->any_unsure && w < e->words; w++)
		e->since.ran[w] |= e->unsure[w];
	e->since.from = from;
	e->since.to = to;
}

/* The first flush of everything on the CPU of HOME after ordinal SEQ, or NULL. */
static const struct flush_note *flush_after(struct home *home, unsigned int policy, uint64_t seq)
{
	const struct flush_note *notes;
	uint32_t low = 0, high;

	if (!home->residence)
		return NULL;
	notes = home->residence->policy[policy].notes;
	high = home->residence->policy[policy].nr_notes;
	if (!high || notes[high - 1].seq <= seq)
		return NULL;
	/*
	 * Exposures are closed in the order in which they began: mostly it is the same one again.
	 */
	if (notes[home->note].seq > seq && (!home->note || notes[home->note - 1].seq <= seq))
		return &notes[home->note];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (notes[middle].seq > seq)
			high = middle;
		else
			low = middle + 1;
	}
	home->note = low;
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

/* What is known of entries that end together. */
struct closing {
	unsigned int n, ran;         /* entries; on CPUs that ran the mm meanwhile */
	unsigned int held, held_ran; /* of these, by evidence */
	double share, share_ran;     /* of the others, those that the share applies to, weighted */
};

/* Entries of X ended after NS. */
static void count_closed(struct policy_result *r, const struct exposure *x, enum ended ended,
			 const struct closing *c, uint64_t ns)
{
	/* Most are likely and have no evidence: until the end they are counted once, for both. */
	bool shared = x->likely && c->share == c->n;

	exposure_add(shared ? &r->shared[x->kind][ended] : &r->possible[x->kind][ended], c->n, ns);
	r->lengths[x->kind][ns ? 64 - __builtin_clzll(ns) : 0] += c->n;
	if (x->likely && !shared) {
		exposure_add(&r->held[x->kind][ended], c->held, ns);
		exposure_add(&r->likely[x->kind][ended], c->share, ns);
	}
	if (ended == ENDED_REFAULT) {
		exposure_add(&r->proven[x->kind][ended], c->n, ns);
	} else if (x->kind == STALE_BENIGN) {
		r->spurious_possible[x->level] += c->ran;
		if (x->likely) {
			r->spurious_held[x->level] += c->held_ran;
			r->spurious_likely[x->level] += c->share_ran;
		}
	}
}

/*
 * How much of an entry that CPU could hold the share stands for: no more than its TLB has room for.
 * In whole units, for sums that are exact.
 */
static double weight_of(const struct engine *e, const struct mm *mm, unsigned int cpu)
{
	const struct residence *r = residence_find(e, mm, cpu);

	if (mm->accesses)
		return 0;
	if (!r || r->touched <= e->config.tlb->entries)
		return 1;
	return (double)((uint64_t)e->config.tlb->entries * EXPOSURE_UNIT / r->touched) /
	       EXPOSURE_UNIT;
}

/* Adds the CPUs of word W in BITS to what ends together; of them, RAN ran the mm meanwhile. */
static inline void gather(const struct engine *e, const struct mm *mm, const struct exposure *x,
			  unsigned int w, uint64_t bits, uint64_t ran, struct closing *c)
{
	uint64_t held;

	c->n += count_word(bits);
	c->ran += count_word(bits & ran);
	if (!e->tlb) {
		c->share = c->n;
		c->share_ran = c->ran;
		return;
	}
	held = x->cpus[e->words + w] & bits;
	c->held += count_word(held);
	/* Where accesses are recorded, it is they who show the faults. */
	c->held_ran += mm->accesses ? 0 : count_word(held & ran);
	for (bits &= ~held; bits; bits &= bits - 1) {
		double weight = weight_of(e, mm, w * 64 + (unsigned int)__builtin_ctzll(bits));

		c->share += weight;
		c->share_ran += bits & -bits & ran ? weight : 0;
	}
}

static void offer_row(struct engine *e, unsigned int policy, const struct exposure *x,
		      unsigned int cpu, enum ended ended, uint64_t ns)
{
	struct policy_result *r = &e->instances[policy].result;
	const struct leaf *leaf = pages_leaf(&e->pages, x->leaf);
	uint64_t page = leaf->number << LEAF_SHIFT | x->slot;

	keep_row(e, r,
		 &(struct exposure_row){.start_ns = x->start_ns,
					.end_ns = x->start_ns + ns,
					.page = page << e->config.page_shift,
					.mm = leaf->mm,
					.cpu = cpu,
					.kind = x->kind,
					.ended = (uint8_t)ended});
	if (r->nr_rows == e->config.max_rows && r->nr_rows)
		e->instances[policy].least_row_ns = r->rows[0].end_ns - r->rows[0].start_ns;
}

static bool row_wanted(const struct engine *e, unsigned int policy, uint64_t ns)
{
	return ns >= e->instances[policy].least_row_ns;
}

/* A deferred flush is carried out by the next tick at the latest: NS is no longer than that. */
static uint64_t cap_deferred(const struct engine *e, unsigned int policy, const struct exposure *x,
			     uint64_t ns, enum ended *ended)
{
	uint64_t tick = (uint64_t)e->instances[policy].tick_ns, left;

	if (!x->deferred || !tick)
		return ns;
	left = tick - x->start_ns % tick;
	if (ns < left)
		return ns;
	*ended = ENDED_FLUSH;
	return left;
}

/*
 * The entry of X on CPU is stale no more since TIME_NS, or since the flush noted before. Returns
 * true if it was counted here, false if it is left to be counted with others.
 */
static bool close_on(struct engine *e, const struct mm *mm, unsigned int policy,
		     const struct exposure *x, unsigned int cpu, enum ended ended, uint64_t ns,
		     bool wanted)
{
	uint64_t here = UINT64_C(1) << (cpu % 64);
	struct closing c = {0};
	struct policy_result *r = &e->instances[policy].result;
	const struct flush_note *note = flush_after(&e->homes[cpu], policy, x->start_seq);

	if (!note) {
		if (wanted)
			offer_row(e, policy, x, cpu, ended, ns);
		return false;
	}
	uint64_t less = note->time_ns > x->start_ns ? note->time_ns - x->start_ns : 0;

	ended = ENDED_FLUSH;
	less = cap_deferred(e, policy, x, less, &ended);
	gather(e, mm, x, cpu / 64, here, note->ran_until > x->start_seq ? here : 0, &c);
	count_closed(r, x, ended, &c, less);
	if (row_wanted(e, policy, less))
		offer_row(e, policy, x, cpu, ended, less);
	else
		r->rows_left_out++;
	return true;
}

/* The entries on the CPUs of SET are stale no more. Needs find_homes(). */
static void exposure_close(struct engine *e, struct mm *mm, unsigned int policy, struct exposure *x,
			   const uint64_t *set, enum ended ended, uint64_t time_ns)
{
	struct policy_result *r = &e->instances[policy].result;
	uint64_t ns = time_ns > x->start_ns ? time_ns - x->start_ns : 0;
	uint64_t rest = 0, hit = 0;
	struct closing c = {0};
	bool wanted;

	ns = cap_deferred(e, policy, x, ns, &ended);
	wanted = row_wanted(e, policy, ns);
	if (x->start_seq < e->since.from || x->start_seq >= e->since.to)
		find_since(e, mm, policy, x->start_seq);
	for (unsigned int w = 0; w < e->words; w++) {
		uint64_t bits = x->cpus[w] & set[w],
			 one_by_one = wanted ? bits : bits & e->since.noted[w];

		hit |= bits;
		x->cpus[w] &= ~set[w];
		rest |= x->cpus[w];
		for (; one_by_one; one_by_one &= one_by_one - 1) {
			unsigned int cpu = w * 64 + (unsigned int)__builtin_ctzll(one_by_one);

			if (close_on(e, mm, policy, x, cpu, ended, ns, wanted))
				bits &= ~(one_by_one & -one_by_one);
		}
		gather(e, mm, x, w, bits, e->since.ran[w], &c);
	}
	if (!hit)
		return;
	mm->policy[policy].dead += !rest;
	if (!c.n)
		return;
	count_closed(r, x, ended, &c, ns);
	if (!wanted)
		r->rows_left_out += c.n;
}

/* Closes what is open of one page under one policy on the CPUs of SET, of the wanted kinds. */
static void close_page(struct engine *e, struct mm *mm, unsigned int policy, uint32_t open,
		       uint32_t leaf, unsigned int slot, const uint64_t *set, bool only_permission,
		       enum ended ended, uint64_t time_ns)
{
	uint32_t ref = open_of(e, mm, policy, open, leaf, slot);

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
	struct exposure *x = (struct exposure *)mm->policy[policy].exposures;

	if (!mm->policy[policy].nr)
		return;
	find_homes(e, mm);
	for (uint32_t n = mm->policy[policy].nr; n; n--) {
		exposure_close(e, mm, policy, x, set, ended, time_ns);
		x = (struct exposure *)((char *)x + e->exposure_size);
	}
	if (mm->policy[policy].dead == mm->policy[policy].nr)
		mm->policy[policy].nr = mm->policy[policy].dead = mm->policy[policy].permissions =
			0;
}

/* Closes all of an mm on every CPU. */
static void close_mm(struct engine *e, struct mm *mm, unsigned int policy, enum ended ended,
		     uint64_t time_ns)
{
	set_all(e, e->everyone, true);
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
	mm->policy[policy].holders_known = false;
	if (!mm->policy[policy].nr)
		return;
	if (r->policy[policy].nr_notes == MAX_NOTES) {
		set_all(e, here, false);
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
		.seq = e->seq, .time_ns = time_ns,
		.ran_until = bit(e->unsure, r->cpu) ? FOREVER : r->ran_until};
}

/* Those that had the mm loaded since SEQ, and since their own flush of it. */
static void find_holders(const struct engine *e, const struct mm *mm, unsigned int policy,
			 uint64_t seq, uint64_t *set)
{
	set_all(e, set, false);
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		const struct residence *r = residence_at(e, mm, i);
		uint64_t own = r->policy[policy].flush_seq;

		if (r->loaded_until > (own > seq ? own : seq))
			set_bit(set, r->cpu, true);
	}
	if (e->any_unsure)
		for (unsigned int w = 0; w < e->words; w++)
			set[w] |= e->unsure[w];
}

/*
 * The CPUs that may hold an entry of a page that was last flushed everywhere at FLUSH_SEQ. Most
 * pages were not flushed alone since all of the mm was, and share one answer until the mm is loaded
 * or flushed somewhere.
 */
static const uint64_t *find_candidates(struct engine *e, struct mm *mm, unsigned int policy,
				       uint64_t flush_seq)
{
	typeof(mm->policy[0]) *own = &mm->policy[policy];

	if (flush_seq > own->flush_seq) {
		if (flush_seq >= mm->last_unload && !e->any_unsure)
			return mm->loaded;
		find_holders(e, mm, policy, flush_seq, e->holders);
		return e->holders;
	}
	/*
	 * A CPU of which events were lost holds whatever it may, until it shows what it has loaded.
	 */
	if (!own->holders_known || e->any_unsure) {
		find_holders(e, mm, policy, own->flush_seq, own->holders);
		own->holders_known = true;
	}
	return own->holders;
}

static const uint64_t *view_holders(const struct policy_view *view, uint32_t number, uint64_t addr)
{
	struct engine *e = engine_of(view);
	struct mm *mm = mm_find(e, number);
	uint64_t page = addr >> e->config.page_shift, seq = 0;
	uint32_t leaf = mm && addr ? pages_find(&e->pages, number, page) : NO_LEAF;

	e->instances[e->asking].asked_foreign |= !shard_has(&e->config.shard, number);
	if (!mm) {
		set_all(e, e->view_set, false);
		return e->view_set;
	}
	if (leaf != NO_LEAF)
		seq = leaf_page(&e->pages, pages_leaf(&e->pages, leaf), page & (LEAF_PAGES - 1))
			      ->policy[e->asking]
			      .flush_seq;
	return find_candidates(e, mm, e->asking, seq);
}

/* Who may hold what changes for all pages: MM was loaded, left or flushed somewhere. */
static void forget_holders(const struct engine *e, struct mm *mm)
{
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		mm->policy[p].holders_known = false;
}

/* ---- pages in ranges ---- */

typedef void (*leaf_visitor)(struct engine *e, uint32_t leaf, uint16_t slots, void *context);

static uint16_t slots_between(uint64_t number, uint64_t first, uint64_t last)
{
	uint64_t base = number << LEAF_SHIFT;
	unsigned int from = first > base ? (unsigned int)(first - base) : 0;
	unsigned int to =
		last - base < LEAF_PAGES - 1 ? (unsigned int)(last - base) : LEAF_PAGES - 1;

	return (uint16_t)((2u << to) - (1u << from));
}

/*
 * Visits the leaves of MM that hold known pages of [ADDR, ADDR + PAGES); PAGES 0: all of the mm.
 * Goes by the shorter of the two: the leaf numbers of the range, or the mm's own list.
 */
static void visit(struct engine *e, uint32_t number, uint64_t addr, uint64_t pages,
		  leaf_visitor visitor, void *context)
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
	*(uint64_t *)context +=
		(uint64_t)__builtin_popcount(pages_leaf(&e->pages, leaf)->present & slots);
}

static void visit_protect(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	(void)context;
	pages_leaf(&e->pages, leaf)->writable &= (uint16_t)~slots;
}

/* Fork takes the write permission; its flush comes when all ranges are done. */
static void visit_fork(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	struct leaf *l = pages_leaf(&e->pages, leaf);

	(void)context;
	l->forked |= l->writable & slots;
	l->writable &= (uint16_t)~slots;
}

static void visit_forked(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	(void)context;
	pages_leaf(&e->pages, leaf)->forked &= (uint16_t)~slots;
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

static inline void cover_page(struct engine *e, const struct cover *c, uint32_t leaf,
			      struct leaf *l, unsigned int slot)
{
	struct page_policy *p = &leaf_page(&e->pages, l, slot)->policy[c->policy];

	if (p->open)
		close_page(e, c->mm, c->policy, p->open, leaf, slot, c->set, false, ENDED_FLUSH,
			   c->time_ns);
	if (c->everywhere)
		p->flush_seq = e->seq;
}

static void visit_cover(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	struct leaf *l = pages_leaf(&e->pages, leaf);

	for (; slots; slots &= (uint16_t)(slots - 1))
		cover_page(e, context, leaf, l, (unsigned int)__builtin_ctz(slots));
}

struct leave {
	struct mm *mm;
	unsigned int policy;
	const struct tlb_event *event;
	const uint64_t *covered;
	enum staleness kind;
	bool permission, only_forked, count_only, deferred;
	uint64_t entries;
};

/* Closes what the tick has swept meanwhile, and takes it out of the page's list at *LINK. */
static void close_swept(struct engine *e, const struct leave *c, uint32_t *link)
{
	uint64_t tick = (uint64_t)e->instances[c->policy].tick_ns;

	find_homes(e, c->mm);
	set_all(e, e->everyone, true);
	while (*link) {
		struct exposure *x = exposure_at(e, c->mm, c->policy, *link);

		if (x->deferred && c->event->time_ns >= x->start_ns - x->start_ns % tick + tick)
			exposure_close(e, c->mm, c->policy, x, e->everyone, ENDED_FLUSH,
				       c->event->time_ns);
		if (alive(e, x))
			link = &x->next;
		else
			*link = x->next;
	}
}

/* Takes from SET the CPUs that are stale in this way already: they stay so. */
static void drop_stale(const struct engine *e, const struct leave *c, uint32_t ref, uint64_t *set)
{
	for (; ref; ref = exposure_at(e, c->mm, c->policy, ref)->next) {
		const struct exposure *x = exposure_at(e, c->mm, c->policy, ref);

		for (unsigned int w = 0; x->kind == c->kind && w < e->words; w++)
			for (uint64_t bits = x->cpus[w] & set[w]; bits; bits &= bits - 1) {
				unsigned int cpu = w * 64 + (unsigned int)__builtin_ctzll(bits);

				if (still_open(e, c->mm, c->policy, x, cpu))
					set_bit(set, cpu, false);
			}
	}
}

/*
 * Of the CPUs of X, those whose TLB has shown an entry of the page since it was last flushed there.
 */
static void find_held(struct engine *e, const struct mm *mm, unsigned int policy,
		      const struct leaf *l, uint64_t flush_seq, struct exposure *x)
{
	uint64_t page = l->number << LEAF_SHIFT | x->slot, filled, used;

	if (mm->policy[policy].flush_seq > flush_seq)
		flush_seq = mm->policy[policy].flush_seq;
	for (unsigned int w = 0; w < e->words; w++) {
		x->cpus[e->words + w] = 0;
		for (uint64_t bits = x->cpus[w]; bits; bits &= bits - 1) {
			unsigned int cpu = w * 64 + (unsigned int)__builtin_ctzll(bits);
			const struct residence *r = residence_find(e, mm, cpu);
			uint64_t own = r ? r->policy[policy].flush_seq : 0;

			if (tlb_look(e->tlb, cpu, l->mm, page, &filled, &used) &&
			    used > (own > flush_seq ? own : flush_seq))
				x->cpus[e->words + w] |= bits & -bits;
		}
	}
}

/* The first entry of its kind that a policy leaves behind is what a verdict rests on. */
static void testify(const struct engine *e, struct witness *w, const struct tlb_event *event,
		    uint64_t addr, const uint64_t *holders)
{
	if (w->seen)
		return;
	*w = (struct witness){.seen = true,
			      .seq = e->seq,
			      .time_ns = event->time_ns,
			      .cpu = event->cpu,
			      .mm = event->mm,
			      .addr = addr,
			      .point = event->point,
			      .level = event->level};
	for (unsigned int i = 0; i < e->words; i++)
		if (holders[i]) {
			w->holder = i * 64 + (unsigned int)__builtin_ctzll(holders[i]);
			return;
		}
}

/* The CPUs of SET hold an entry of the page that is stale from now on. */
static void expose(struct engine *e, const struct leave *c, uint32_t leaf, struct leaf *l,
		   unsigned int slot, const uint64_t *set)
{
	struct page_policy *p = &leaf_page(&e->pages, l, slot)->policy[c->policy];
	struct instance *in = &e->instances[c->policy];
	struct exposure *x = exposure_new(e, c->mm, c->policy);
	uint64_t addr = (l->number << LEAF_SHIFT | slot) << e->config.page_shift;

	if (!x)
		return;
	x->leaf = NO_LEAF; /* not yet of this page, for the look-up */
	x->next = open_of(e, c->mm, c->policy, p->open, leaf, slot);
	x->start_ns = c->event->time_ns;
	x->start_seq = e->seq;
	x->leaf = leaf;
	x->slot = (uint8_t)slot;
	x->kind = (uint8_t)c->kind;
	x->level = c->event->level;
	x->likely = c->event->sure.estimate;
	x->permission = c->permission;
	x->deferred = c->deferred;
	copy_set(e, x->cpus, set);
	if (e->tlb)
		find_held(e, c->mm, c->policy, l, p->flush_seq, x);
	c->mm->policy[c->policy].permissions += c->permission;
	p->open = c->mm->policy[c->policy].nr;
	p->stale += count_bits(e, set);
	if (c->kind == STALE_UNSAFE)
		testify(e, &in->result.unsafe, c->event, addr, set);
	else if (c->kind == STALE_BENIGN && !in->result.stuck.seen &&
		 !(in->policy->flags & POLICY_REWALKS) &&
		 in->policy->table[POINT_SPURIOUS][c->event->level].act[0].scope == SCOPE_NONE)
		testify(e, &in->result.stuck, c->event, addr, set);
}

static inline void leave_page(struct engine *e, struct leave *c, uint32_t leaf, struct leaf *l,
			      unsigned int slot)
{
	struct page_policy *p = &leaf_page(&e->pages, l, slot)->policy[c->policy];
	const uint64_t *holders = find_candidates(e, c->mm, c->policy, p->flush_seq);
	uint64_t *stale = e->stale, any = 0;
	uint32_t open;

	for (unsigned int w = 0; w < e->words; w++)
		any |= stale[w] = holders[w] & ~c->covered[w];
	if (!any)
		return;
	if (c->count_only) {
		c->entries += count_bits(e, stale);
		testify(e, &e->instances[c->policy].result.unsafe, c->event,
			(l->number << LEAF_SHIFT | slot) << e->config.page_shift, stale);
		return;
	}
	open = open_of(e, c->mm, c->policy, p->open, leaf, slot);
	if (open && e->instances[c->policy].tick_ns) {
		p->open = open;
		close_swept(e, c, &p->open);
		open = p->open;
	}
	if (open) {
		drop_stale(e, c, open, stale);
		any = 0;
		for (unsigned int w = 0; w < e->words; w++)
			any |= stale[w];
	}
	if (!any)
		return;
	expose(e, c, leaf, l, slot, stale);
}

/* The pages whose entries were changed and not flushed everywhere. */
static void visit_leave(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	struct leave *c = context;
	struct leaf *l = pages_leaf(&e->pages, leaf);

	slots &= c->only_forked ? l->present & l->forked : l->present;
	for (; slots; slots &= (uint16_t)(slots - 1))
		leave_page(e, c, leaf, l, (unsigned int)__builtin_ctz(slots));
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
	/* what the other gather unmapped is counted where it is unmapped */
	case POINT_NESTED:
	case POINT_BATCH_PENDING: /* likewise */
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

/* What a decision is about: shared by all policies. */
struct place {
	struct mm *mm;     /* NULL: none is known */
	uint32_t leaf;     /* NO_LEAF: not one page... */
	struct leaf *page_leaf; /* ...else where it lies */
	unsigned int slot;
	struct bound flushes; /* what one invalidation counts as */
	size_t bucket;
	bool one;          /* just one page, that at LEAF and SLOT */
	enum staleness kind;
};

/* The CPUs that ACT reaches, into E->SCRATCH and added to COVERED. */
static void cover_cpus(const struct engine *e, const struct tlb_event *event,
		       const struct policy_action *act, uint64_t *covered)
{
	if (act->flags & ACT_SET)
		copy_set(e, e->scratch, e->asked);
	else
		set_all(e, e->scratch, act->scope == SCOPE_BROADCAST || act->scope == SCOPE_MASK);
	if (act->scope == SCOPE_LOCAL)
		set_bit(e->scratch, event->cpu, true);
	for (unsigned int w = 0; w < e->words; w++)
		covered[w] |= e->scratch[w];
}

/* All of MM is flushed, everywhere or on the CPUs of E->SCRATCH. */
static void flush_all_of(struct engine *e, struct mm *mm, unsigned int policy, bool everywhere,
			 uint64_t time_ns)
{
	if (everywhere) {
		mm->policy[policy].flush_seq = e->seq;
		mm->policy[policy].holders_known = false;
		close_mm(e, mm, policy, ENDED_FLUSH, time_ns);
		return;
	}
	for (uint32_t i = 0; i < mm->nr_residences; i++)
		if (bit(e->scratch, residence_at(e, mm, i)->cpu))
			flush_mm_on(e, mm, policy, residence_at(e, mm, i), time_ns);
}

/*
 * Lets one invalidation take effect on the CPUs of E->SCRATCH: times are brought up to date, and
 * what it covers ends.
 */
static void apply(struct engine *e, unsigned int policy, const struct tlb_event *event,
		  const struct policy_action *act, const struct place *at)
{
	struct mm *mm = at->mm;
	bool everywhere = act->scope >= SCOPE_MASK && !(act->flags & ACT_SET);

	if (act->reach == REACH_ALL)
		for (size_t i = 0; i < e->nr_mms; i++)
			if (e->mms[i] && e->mms[i] != mm)
				flush_all_of(e, e->mms[i], policy, everywhere, event->time_ns);
	if (!mm)
		return;
	if (act->flags & ACT_SET) {
		/* Whoever may hold an entry is in the set: that is as good as everywhere. */
		const uint64_t *holders = find_candidates(e, mm, policy, 0);

		everywhere = true;
		for (unsigned int w = 0; w < e->words; w++)
			everywhere &= !(holders[w] & ~e->scratch[w]);
	}
	if (act->reach == REACH_MM || act->reach == REACH_ALL) {
		flush_all_of(e, mm, policy, everywhere, event->time_ns);
		return;
	}
	struct cover cover = {.mm = mm,
			      .policy = policy,
			      .time_ns = event->time_ns,
			      .set = e->scratch,
			      .everywhere = everywhere};
	if (at->one)
		cover_page(e, &cover, at->leaf, at->page_leaf, at->slot);
	else
		visit(e, event->mm, event->addr, event->pages, visit_cover, &cover);
	if (act->scope != SCOPE_MASK || act->flags & ACT_SET)
		return;
	/* CPUs that were not interrupted see the mm's new generation when they come back to it. */
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		struct residence *r = residence_at(e, mm, i);

		if (!bit(mm->loaded, r->cpu) || (bit(e->lazy, r->cpu) && !(act->flags & ACT_LAZY)))
			flush_mm_on(e, mm, policy, r, event->time_ns);
	}
}

/* Scope mask, as it comes out for the CPUs that have the mm loaded now. */
static enum scope resolve_mask(const struct engine *e, unsigned int policy,
			       const struct tlb_event *event, const struct policy_action *act,
			       const struct mm *mm, struct bound *targets, uint64_t *reached)
{
	uint64_t *dropped = e->instances[policy].dropped;
	bool others = false, here;

	*targets = (struct bound){0};
	set_all(e, reached, false);
	if (!mm) {
		/* No mm is known: a kernel range reaches every CPU. */
		for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
			set_bit(reached, cpu, cpu != event->cpu);
		targets->low = targets->estimate = targets->high = count_bits(e, reached);
		return SCOPE_MASK;
	}
	if (act->flags & ACT_SET) {
		copy_set(e, reached, e->asked);
		here = bit(reached, event->cpu);
		set_bit(reached, event->cpu, false);
		targets->low = targets->estimate = targets->high = count_bits(e, reached);
		return targets->high ? SCOPE_MASK : here ? SCOPE_LOCAL : SCOPE_NONE;
	}
	here = bit(mm->loaded, event->cpu) && !bit(dropped, event->cpu);
	for (unsigned int w = 0; w < e->words; w++) {
		uint64_t set = mm->loaded[w] & ~dropped[w];

		if (event->cpu / 64 == w)
			set &= ~(UINT64_C(1) << (event->cpu % 64));
		others |= set != 0;
		targets->high += count_word(set);
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
			 const struct policy_action *act, const struct place *at, enum scope scope,
			 bool first)
{
	const struct bound *once = &at->flushes;
	struct policy_result *r = &e->instances[policy].result;
	struct flush_count *c = count_of(e, at->mm, policy, event, scope);

	uint64_t times = act->times ? act->times : 1;
	struct bound all = {once->low * times, once->estimate * times, once->high * times};
	const struct bound *flushes = &all;

	if (first)
		c->decisions += event->sure.estimate;
	if (scope == SCOPE_NONE)
		return;
	add_bound(&c->flushes, flushes);
	add_bound(&r->buckets[at->bucket].flushes[scope], flushes);
	if (at->bucket >= r->nr_buckets)
		r->nr_buckets = at->bucket + 1;
	if (flushes->estimate && act->reach != REACH_MM && act->reach != REACH_ALL)
		c->pages += act->reach == REACH_PAGE ? 1 : event->pages;
	r->issued[event->cpu * NR_SCOPES + scope] += flushes->estimate;
	if (act->flags & ACT_NOTIFY)
		r->notifies += flushes->estimate;
}

/* Entries that a flush by page takes from other CPUs, which must walk for them again. */
static void count_refills(struct engine *e, unsigned int policy, const struct tlb_event *event,
			  const struct place *at)
{
	const struct page *page = leaf_page(&e->pages, at->page_leaf, at->slot);
	const uint64_t *set = find_candidates(e, at->mm, policy, page->policy[policy].flush_seq);

	e->instances[policy].result.refills += count_bits(e, set) - bit(set, event->cpu);
}

/* One invalidation that the policy issues. Returns the scope that it comes to. */
static enum scope issue(struct engine *e, unsigned int policy, const struct tlb_event *event,
			const struct policy_action *act, const struct place *at)
{
	const struct bound *flushes = &at->flushes;
	struct instance *in = &e->instances[policy];
	enum scope scope = act->scope;

	if (scope == SCOPE_MASK) {
		struct bound targets;

		scope = resolve_mask(e, policy, event, act, at->mm, &targets, e->reached);
		for (unsigned int w = 0; flushes->estimate && w < e->words; w++)
			for (uint64_t bits = e->reached[w]; bits; bits &= bits - 1)
				in->result.received[w * 64 + (unsigned int)__builtin_ctzll(bits)]++;
		targets.low *= flushes->low;
		targets.estimate *= flushes->estimate;
		targets.high *= flushes->high;
		add_bound(&in->result.targets, &targets);
	}
	if (act->reach == REACH_PAGE && scope >= SCOPE_MASK && at->leaf != NO_LEAF &&
	    flushes->estimate)
		count_refills(e, policy, event, at);
	return scope;
}

/* What stays behind on the CPUs that are not COVERED. */
static void leave_behind(struct engine *e, unsigned int policy, const struct tlb_event *event,
			 const struct place *at, const uint64_t *covered, bool deferred)
{
	struct instance *in = &e->instances[policy];
	/* What is freed only after all have swept is gone in time. */
	bool in_time =
		deferred && (event->point == POINT_UNMAP || event->point == POINT_TABLES_FREED ||
			     event->point == POINT_RECLAIM);

	if (deferred && event->point == POINT_EXIT)
		return;
	struct leave leave = {.mm = at->mm,
			      .policy = policy,
			      .event = event,
			      .covered = covered,
			      .deferred = deferred,
			      .kind = in_time ? STALE_WINDOW : at->kind,
			      .permission =
				      event->point == POINT_FORK || event->point == POINT_PROTECT,
			      .only_forked = event->point == POINT_FORK,
			      .count_only = event->point == POINT_EXIT};

	if (at->leaf != NO_LEAF) {
		/* Its bit in PRESENT is set: the decision itself has shown it. */
		leave_page(e, &leave, at->leaf, at->page_leaf, at->slot);
		return;
	}
	visit(e, event->mm, event->addr, event->point == POINT_EXIT ? 0 : event->pages, visit_leave,
	      &leave);
	if (leave.entries) {
		if (in->forever == 0)
			in->forever_first_ns = event->time_ns;
		in->forever += leave.entries;
		in->forever_start_sum += (unsigned __int128)leave.entries * event->time_ns;
	}
}

/*
 * Whether the contiguous bit or the level of an entry changes, which arm64 allows only after the
 * old entry is gone everywhere (Arm ARM DDI 0487, "break-before-make").
 */
static bool changes_block(const struct tlb_event *event)
{
	switch (event->point) {
	case POINT_FOLD:
	case POINT_UNFOLD:
	case POINT_SPLIT:
	case POINT_COLLAPSE:
		return true;
	case POINT_WP_REUSE:
		return event->level == LEVEL_CONTPTE;
	case POINT_COW:
		return event->level == LEVEL_CONTPTE || event->level == LEVEL_PMD;
	default:
		return false;
	}
}

static void decide_for(struct engine *e, unsigned int policy, const struct tlb_event *event,
		       const struct place *at)
{
	struct instance *in = &e->instances[policy];
	struct policy_cell cell = in->policy->table[event->point][event->level];
	uint64_t *covered = e->covered, all = UINT64_MAX;
	enum scope used = SCOPE_NONE;
	bool deferred = false;
	unsigned int i;

	set_all(e, covered, false);
	e->asking = policy;
	if (in->policy->decide)
		in->policy->decide(&e->view, in->as_given->params, in->state, event, &cell);
	for (i = 0; i < POLICY_ACTIONS && cell.act[i].scope != SCOPE_NONE; i++) {
		enum scope scope = issue(e, policy, event, &cell.act[i], at);

		count_action(e, policy, event, &cell.act[i], at, scope, !i || scope != used);
		used = scope;
		if (cell.act[i].wait == WAIT_DEFERRED && in->tick_ns) {
			deferred = true;
			continue;
		}
		/*
		 * The change and the flush that belongs to it are both there or both not; but a
		 * flush that may not have happened ends nothing that was there before.
		 */
		cover_cpus(e, event, &cell.act[i], covered);
		if (event->sure.low && !(event->flags & EVENT_MAYBE))
			apply(e, policy, event, &cell.act[i], at);
	}
	if (!i)
		count_action(e, policy, event, &cell.act[0], at, SCOPE_NONE, true);

	/* The fault itself has dropped the entry where the hardware does so. */
	if (at->kind == STALE_BENIGN && in->policy->flags & POLICY_REWALKS &&
	    !(event->flags & EVENT_REMOTE))
		set_bit(covered, event->cpu, true);
	for (unsigned int w = 0; w < e->words; w++)
		all &= covered[w];
	if (at->kind != NR_STALENESS && all != UINT64_MAX && at->mm)
		leave_behind(e, policy, event, at, covered, deferred);
	if (in->policy->flags & POLICY_BREAKS_FIRST && changes_block(event) && event->sure.low &&
	    (cell.act[0].scope < SCOPE_MASK || cell.act[0].reach < REACH_BLOCK))
		testify(e, &in->result.unbroken, event, event->addr, covered);
}

/* What the policy would do at POINT, where EVENT is. The hook learns nothing from the question. */
static struct policy_cell ask(struct engine *e, unsigned int policy, const struct tlb_event *event,
			      enum point point)
{
	struct instance *in = &e->instances[policy];
	struct policy_cell cell = in->policy->table[point][event->level];
	struct tlb_event question = *event;

	question.point = (uint8_t)point;
	question.sure = (struct event_sureness){0};
	e->asking = policy;
	if (in->policy->decide)
		in->policy->decide(&e->view, in->as_given->params, in->state, &question, &cell);
	return cell;
}

/*
 * A recorded spurious fault. Under a policy that left the entry behind it happens again; under one
 * that had flushed it, it does not, unless the fault was on its way before the upgrade was
 * complete.
 */
static void spurious_for(struct engine *e, unsigned int policy, const struct tlb_event *event,
			 const struct place *at)
{
	struct instance *in = &e->instances[policy];
	struct policy_result *r = &in->result;
	struct policy_cell upgrade = ask(e, policy, event, POINT_WP_REUSE),
			   fix = ask(e, policy, event, POINT_SPURIOUS);
	bool leaves_stale = upgrade.act[0].scope < SCOPE_MASK;
	struct page *page = leaf_page(&e->pages, at->page_leaf, at->slot);
	uint64_t upgraded_ns = page->upgrade_ns;
	struct mm *mm = at->mm;
	/* A fault that was on its way before the upgrade was complete proves nothing... */
	bool race = upgraded_ns && event->began_ns < upgraded_ns;
	/* ...nor does one if events were lost since. */
	bool lost = e->lost_seq;
	bool fixed = in->policy->flags & POLICY_REWALKS || fix.act[0].scope != SCOPE_NONE;

	if (in->tick_ns) {
		struct leave leave = {.mm = mm, .policy = policy, .event = event};

		page->policy[policy].open =
			open_of(e, mm, policy, page->policy[policy].open, at->leaf, at->slot);
		close_swept(e, &leave, &page->policy[policy].open);
	}
	for (uint32_t ref = open_of(e, mm, policy, page->policy[policy].open, at->leaf, at->slot);
	     ref; ref = exposure_at(e, mm, policy, ref)->next) {
		struct exposure *x = exposure_at(e, mm, policy, ref);

		if (x->kind != STALE_BENIGN || !still_open(e, mm, policy, x, event->cpu))
			continue;
		set_all(e, e->scratch, false);
		set_bit(e->scratch, event->cpu, true);
		find_homes(e, mm);
		lost = e->lost_seq > x->start_seq;
		/* Where nothing takes the entry out, it stays as stale as it was. */
		if (fixed && (lost || race))
			exposure_close(e, mm, policy, x, e->scratch, ENDED_FLUSH, event->time_ns);
		if (lost || race)
			break;
		if (fixed)
			exposure_close(e, mm, policy, x, e->scratch, ENDED_REFAULT, event->time_ns);
		r->spurious_proven[event->level]++;
		return;
	}
	if (race || (lost && leaves_stale))
		r->spurious_unsure[event->level]++;
	else if (leaves_stale)
		r->spurious_proven[event->level]++;
	else
		add_bound(&r->avoided, &(struct bound){upgraded_ns && !lost, 1, 1});
}

/* A fault that may have been a spurious one. */
static void spurious_maybe(struct engine *e, unsigned int policy, const struct tlb_event *event)
{
	struct instance *in = &e->instances[policy];
	bool avoided = event->sure.estimate &&
		       ask(e, policy, event, POINT_WP_REUSE).act[0].scope >= SCOPE_MASK;

	add_bound(avoided ? &in->result.avoided : &in->result.spurious_maybe[event->level],
		  &(struct bound){0, event->sure.estimate, event->sure.high});
}

/* The page of a fault, from now on known to be present. Returns NULL: no memory. */
static struct leaf *present_page(struct engine *e, const struct tlb_event *event, struct mm *mm,
				 uint32_t *leaf, unsigned int slot)
{
	uint32_t head = mm->leaves;
	struct leaf *l;

	*leaf = pages_make(&e->pages, event->mm, event->addr >> e->config.page_shift, &mm->leaves);
	if (*leaf == NO_LEAF) {
		e->failed = true;
		return NULL;
	}
	mm->nr_leaves += mm->leaves != head;
	l = pages_leaf(&e->pages, *leaf);
	mm->pages += !(l->present >> slot & 1);
	l->present |= (uint16_t)(1u << slot);
	return l;
}

/* The page can be written to from now on. */
static void upgraded(struct engine *e, const struct tlb_event *event, const struct place *at)
{
	struct page *page = leaf_page(&e->pages, at->page_leaf, at->slot);

	at->page_leaf->writable |= (uint16_t)(1u << at->slot);
	page->upgrade_ns = event->time_ns;
	if (event->point == POINT_COW)
		return;
	/* An entry that allowed too much allows what it should again. */
	set_all(e, e->scratch, true);
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		if (at->mm->policy[p].permissions)
			close_page(e, at->mm, p, page->policy[p].open, at->leaf, at->slot,
				   e->scratch, true, ENDED_GONE, event->time_ns);
}

/*
 * A decision about an address space of another shard. Of it all that is kept is what others may
 * feel: what the hook remembers, a flush of everything, and CPUs that leave the mm.
 */
static void decide_elsewhere(struct engine *e, unsigned int policy, const struct tlb_event *event,
			     const struct mm *mm)
{
	struct instance *in = &e->instances[policy];
	struct policy_cell cell = in->policy->table[event->point][event->level];
	const struct place nowhere = {.leaf = NO_LEAF};

	e->asking = policy;
	in->asked_foreign = false;
	if (in->policy->decide)
		in->policy->decide(&e->view, in->as_given->params, in->state, event, &cell);
	in->shard_unsure |= in->asked_foreign && in->policy->state_size;
	for (unsigned int i = 0; i < POLICY_ACTIONS && cell.act[i].scope != SCOPE_NONE; i++) {
		const struct policy_action *act = &cell.act[i];

		if (mm && act->scope == SCOPE_MASK && act->flags & ACT_LAZY &&
		    !(act->flags & ACT_SET) && event->sure.low)
			for (unsigned int w = 0; w < e->words; w++)
				in->dropped[w] |= mm->loaded[w] & e->lazy[w];
		if (act->reach != REACH_ALL || (act->wait == WAIT_DEFERRED && in->tick_ns) ||
		    !event->sure.low || event->flags & EVENT_MAYBE)
			continue;
		in->shard_unsure |= in->asked_foreign;
		set_all(e, e->covered, false);
		cover_cpus(e, event, act, e->covered);
		apply(e, policy, event, act, &nowhere);
	}
}

static void on_decision_elsewhere(struct engine *e, const struct tlb_event *event)
{
	const struct mm *mm = event->mm ? mm_make(e, event->mm) : NULL;

	/* Spurious faults ask hooks questions of which these learn nothing. */
	if (event->cpu >= e->config.nr_cpus || (event->point == POINT_SPURIOUS && mm))
		return;
	bucket_of(e, event->time_ns); /* all shards have the same ones */
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		decide_elsewhere(e, p, event, mm);
}

/* Another shard's address spaces fill the same TLBs. */
static void bring_in_elsewhere(struct engine *e, const struct tlb_event *event, bool fresh)
{
	uint64_t page = event->addr >> e->config.page_shift;

	if (e->tlb && fresh)
		tlb_refill(e->tlb, event->cpu, event->mm, page, e->seq);
	else if (e->tlb)
		tlb_fill(e->tlb, event->cpu, event->mm, page, e->seq);
}

/* An event of an address space that another shard counts. */
static void event_elsewhere(struct engine *e, const struct tlb_event *event)
{
	switch ((enum event_kind)event->kind) {
	case EVENT_DECISION:
		on_decision_elsewhere(e, event);
		break;
	case EVENT_PRESENT:
		mm_make(e, event->mm);
		if (!(event->flags & EVENT_REMOTE))
			bring_in_elsewhere(e, event, true);
		break;
	case EVENT_ACCESS:
		mm_make(e, event->mm);
		if (event->cpu < e->config.nr_cpus)
			bring_in_elsewhere(e, event, false);
		break;
	default:
		break;
	}
}

static void on_decision(struct engine *e, const struct tlb_event *event)
{
	struct place at = {.mm = event->mm ? mm_make(e, event->mm) : NULL, .leaf = NO_LEAF,
			   .slot = event->addr >> e->config.page_shift & (LEAF_PAGES - 1),
			   .flushes = {event->sure.low, event->sure.estimate, event->sure.high},
			   .kind = staleness_of(event)};

	if (event->cpu >= e->config.nr_cpus)
		return;
	if (page_point(event->point) && at.mm) {
		at.page_leaf = present_page(e, event, at.mm, &at.leaf, at.slot);
		if (!at.page_leaf)
			return;
		at.one = event->pages == 1;
		if (event->point == POINT_WP_REUSE && event->level == LEVEL_PTE)
			leaf_page(&e->pages, at.page_leaf, at.slot)->reuses += event->sure.estimate;
		else if (event->sure.estimate)
			count_page(e, event->mm, event->addr, event->point, event->level, 1);
	} else if (event->point == POINT_PROTECT || event->point == POINT_NUMA) {
		uint64_t present = 0;

		/*
		 * Nothing is flushed for a range without a present PTE; whether there is one may be
		 * unknown.
		 */
		visit(e, event->mm, event->addr, event->pages, visit_present, &present);
		if (!present)
			at.flushes.low = at.flushes.estimate = 0;
	}
	if (event->flags & EVENT_MAYBE)
		at.flushes.low = at.flushes.estimate = 0;
	/* A spurious fault is counted under each policy by what the policy left behind. */
	if (event->point == POINT_SPURIOUS && at.leaf != NO_LEAF) {
		if (!event->sure.low)
			for (unsigned int p = 0; p < e->config.nr_policies; p++)
				spurious_maybe(e, p, event);
		else if (!(event->flags & EVENT_REMOTE))
			for (unsigned int p = 0; p < e->config.nr_policies; p++)
				spurious_for(e, p, event, &at);
		return;
	}
	at.bucket = bucket_of(e, event->time_ns);
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		decide_for(e, p, event, &at);

	/* What the page table holds from now on. */
	switch (event->point) {
	case POINT_WP_REUSE:
	case POINT_DIRTY_UP:
	case POINT_HUGETLB_REUSE:
	case POINT_COW:
		if (at.leaf != NO_LEAF && event->sure.estimate)
			upgraded(e, event, &at);
		break;
	case POINT_RECLAIM:
		if (at.leaf != NO_LEAF)
			visit_unmap(e, at.leaf, (uint16_t)(1u << at.slot), NULL);
		break;
	case POINT_UNMAP:
	case POINT_TABLES_FREED:
		visit(e, event->mm, event->addr, event->pages, visit_unmap, NULL);
		break;
	case POINT_FORK:
		visit(e, event->mm, 0, 0, visit_forked, NULL);
		break;
	case POINT_PROTECT:
		if (!(event->flags & EVENT_UP))
			visit(e, event->mm, event->addr, event->pages, visit_protect, NULL);
		break;
	default:
		break;
	}
}

/* Until now CPU may have had any mm loaded, and run it: its events were lost. */
static void suspect(struct engine *e, unsigned int cpu)
{
	for (size_t i = 0; i < e->nr_mms; i++) {
		struct residence *r = e->mms[i] ? residence_make(e, e->mms[i], cpu) : NULL;

		if (!r || r->loaded_until == FOREVER)
			continue;
		r->loaded_until = r->ran_until = e->seq;
		e->mms[i]->last_unload = e->seq;
		forget_holders(e, e->mms[i]);
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
		old->last_unload = e->seq;
		forget_holders(e, old);
		if (r) {
			r->loaded_until = e->seq;
			if (r->ran_until == FOREVER)
				r->ran_until = e->seq;
		}
		set_bit(old->loaded, event->cpu, false);
	}
	if (e->tlb && cpu->mm != event->mm)
		tlb_switch(e->tlb, event->cpu, e->seq);
	cpu->mm = event->mm;
	cpu->lazy = false;
	if (bit(e->unsure, event->cpu))
		suspect(e, event->cpu);
	set_bit(e->lazy, event->cpu, false);
	set_bit(e->unsure, event->cpu, false);
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		set_bit(e->instances[p].dropped, event->cpu, false);
	if (!bit(mm->loaded, event->cpu))
		forget_holders(e, mm);
	set_bit(mm->loaded, event->cpu, true);
	set_bit(mm->visited, event->cpu, true);
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

/* Flushes of an mm go into the result by point and level, and to the sink by point. */
static void hand_on_flushes(struct engine *e, uint32_t number, struct mm *mm)
{
	for (uint32_t i = 0; i < mm->nr_rows; i++) {
		uint32_t key = mm->rows[i].key, by_level = key & ~UINT32_C(0xff);
		unsigned int policy = key >> 24, point = key >> 16 & 0xff, scope = key >> 8 & 0xff;
		struct flush_count *to =
			&e->instances[policy].result.flush[point][key & 0xff][scope];
		const struct flush_count *more = &mm->rows[i].count;
		struct bound flushes = {0};
		bool first = true;

		to->decisions += more->decisions;
		add_bound(&to->flushes, &more->flushes);
		to->pages += more->pages;
		for (uint32_t k = 0; k < mm->nr_rows; k++)
			if ((mm->rows[k].key & ~UINT32_C(0xff)) == by_level) {
				first &= k >= i;
				add_bound(&flushes, &mm->rows[k].count.flushes);
			}
		if (first)
			e->config.sink.flush_mm(e->config.sink.context, policy, number, point,
						scope, &flushes);
	}
}

/* What is kept of MM by page or in all leaves it, as it ends. */
static void hand_on_mm(struct engine *e, uint32_t number, struct mm *mm)
{
	for (uint32_t leaf = mm->leaves; leaf != NO_LEAF;
	     leaf = pages_leaf(&e->pages, leaf)->next) {
		struct leaf *l = pages_leaf(&e->pages, leaf);

		for (unsigned int slot = 0; slot < LEAF_PAGES; slot++) {
			uint64_t n = leaf_page(&e->pages, l, slot)->reuses;

			for (unsigned int p = 0; e->config.sink.stale && p < e->config.nr_policies;
			     p++)
				if (leaf_page(&e->pages, l, slot)->policy[p].stale)
					e->config.sink.stale(
						e->config.sink.context, p, number,
						(l->number << LEAF_SHIFT | slot)
							<< e->config.page_shift,
						leaf_page(&e->pages, l, slot)->policy[p].stale);
			if (n)
				count_page(e, number,
					   (l->number << LEAF_SHIFT | slot) << e->config.page_shift,
					   POINT_WP_REUSE, LEVEL_PTE, n);
		}
	}
	hand_on_flushes(e, number, mm);
}

static void on_mm_end(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = mm_find(e, event->mm);

	e->ended_pages = mm ? mm->pages : 0;
	e->ended_mm = event->mm;
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

/*
 * The CPU has used the page: its TLB has an entry now, a FRESH one if the page table was just
 * changed.
 */
static void bring_in(struct engine *e, struct mm *mm, const struct tlb_event *event, bool fresh)
{
	uint64_t page = event->addr >> e->config.page_shift, filled, used;
	struct residence *r = residence_make(e, mm, event->cpu);

	if (r && !tlb_look(e->tlb, event->cpu, event->mm, page, &filled, &used))
		r->touched++;
	if (fresh)
		tlb_refill(e->tlb, event->cpu, event->mm, page, e->seq);
	else
		tlb_fill(e->tlb, event->cpu, event->mm, page, e->seq);
}

static void on_present(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = mm_make(e, event->mm);
	unsigned int slot = event->addr >> e->config.page_shift & (LEAF_PAGES - 1);
	uint32_t leaf;
	struct leaf *l = mm ? present_page(e, event, mm, &leaf, slot) : NULL;

	if (l && event->flags & EVENT_WRITE)
		l->writable |= (uint16_t)(1u << slot);
	if (l && e->tlb && !(event->flags & EVENT_REMOTE))
		bring_in(e, mm, event, true);
}

/*
 * An access that the recording shows. Where it is a write through an entry that the evidence says
 * was filled before the upgrade and is still there, this policy has a spurious fault here.
 */
static void access_for(struct engine *e, unsigned int policy, const struct tlb_event *event,
		       struct mm *mm, uint32_t leaf, unsigned int slot)
{
	struct policy_result *r = &e->instances[policy].result;
	uint64_t page = event->addr >> e->config.page_shift, bit_of = UINT64_C(1)
								      << (event->cpu % 64);
	unsigned int w = e->words + event->cpu / 64;
	uint64_t filled = 0, used;
	bool there = tlb_look(e->tlb, event->cpu, event->mm, page, &filled, &used);

	for (uint32_t ref =
		     open_of(e, mm, policy, policy_of(e, leaf, slot, policy)->open, leaf, slot);
	     ref; ref = exposure_at(e, mm, policy, ref)->next) {
		struct exposure *x = exposure_at(e, mm, policy, ref);
		bool same = there && filled < x->start_seq;
		uint64_t ns = event->time_ns > x->start_ns ? event->time_ns - x->start_ns : 0;

		if (!(x->cpus[w] & bit_of) || !still_open(e, mm, policy, x, event->cpu))
			continue;
		if (same && !(x->kind == STALE_BENIGN && event->flags & EVENT_WRITE))
			continue; /* used as it is */
		/* From here on this CPU has a fresh entry, as far as the evidence goes. */
		x->cpus[w] &= ~bit_of;
		exposure_add(&r->held[x->kind][same ? ENDED_REFAULT : ENDED_EVICTED], x->likely, ns);
		if (same && x->likely)
			r->spurious_predicted[x->level]++;
	}
}

static void on_access(struct engine *e, const struct tlb_event *event)
{
	struct mm *mm = mm_make(e, event->mm);
	uint64_t page = event->addr >> e->config.page_shift;
	uint32_t leaf = pages_find(&e->pages, event->mm, page);

	if (!mm || !e->tlb || event->cpu >= e->config.nr_cpus)
		return;
	mm->accesses = !(event->flags & EVENT_SAMPLED);
	for (unsigned int p = 0; leaf != NO_LEAF && p < e->config.nr_policies; p++)
		access_for(e, p, event, mm, leaf, page & (LEAF_PAGES - 1));
	bring_in(e, mm, event, false);
}

void engine_hint(void *engine, uint32_t number, uint64_t addr)
{
	struct engine *e = engine;

	if (!shard_has(&e->config.shard, number))
		return;
	pages_prefetch(&e->pages, number, addr >> e->config.page_shift);
}

void engine_event(void *engine, const struct tlb_event *event)
{
	struct engine *e = engine;

	e->seq++;
	if (__builtin_expect(e->config.shard.parts > 1, false) &&
	    !shard_has(&e->config.shard, event->mm) && event->kind <= EVENT_PROTECTED) {
		event_elsewhere(e, event);
		return;
	}
	switch ((enum event_kind)event->kind) {
	case EVENT_DECISION:
		on_decision(e, event);
		break;
	case EVENT_PRESENT:
		on_present(e, event);
		break;
	case EVENT_ACCESS:
		on_access(e, event);
		break;
	case EVENT_PROTECTED:
		visit(e, event->mm, event->addr, event->pages, visit_fork, NULL);
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
		e->lost_seq = e->seq;
		set_bit(e->unsure, event->cpu, true);
		e->any_unsure = true;
		break;
	}
}

uint64_t engine_mm_pages(const struct engine *e, uint32_t mm)
{
	const struct mm *m = mm_find(e, mm);

	return m ? m->pages : mm == e->ended_mm ? e->ended_pages : 0;
}

/* What is likely is possible: see count_closed(). */
static void add_shared(struct policy_result *r)
{
	for (unsigned int kind = 0; kind < NR_STALENESS; kind++)
		for (unsigned int ended = 0; ended < NR_ENDED; ended++) {
			struct exposure_sum *sums[] = {&r->possible[kind][ended],
						       &r->likely[kind][ended]};
			const struct exposure_sum *more = &r->shared[kind][ended];

			for (unsigned int k = 0; k < 2; k++)
				exposure_merge(sums[k], more);
		}
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

		add_shared(&in->result);
		for (unsigned int level = 0; level < NR_LEVELS; level++) {
			struct tlb_event event = {
				.time_ns = time_ns, .level = (uint8_t)level, .pages = 1};

			in->result.spurious_scope[level] =
				ask(e, p, &event, POINT_SPURIOUS).act[0].scope;
		}
		for (unsigned int k = 0; k < NR_POINTS * NR_LEVELS * NR_SCOPES; k++)
			add_bound(&in->result.scope[k % NR_SCOPES],
				  &(&in->result.flush[0][0][0])[k].flushes);
		for (size_t k = 0; in->forever && k < 2; k++) {
			sums[k]->entries += (double)in->forever;
			sums[k]->entry_units += ((unsigned __int128)in->forever * time_ns -
						 in->forever_start_sum) * EXPOSURE_UNIT;
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

bool engine_shard_unsure(const struct engine *e, unsigned int policy)
{
	return e->instances[policy].shard_unsure;
}

size_t engine_page_bytes(const struct engine *e)
{
	return pages_bytes(&e->pages);
}
