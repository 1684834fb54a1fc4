/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the engine share, and nobody else sees: who has what loaded, the pages, and per
 * policy what was flushed when and which stale entries are open.
 */
#ifndef REPLAY_ENGINE_STATE_H
#define REPLAY_ENGINE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "replay/engine.h"
#include "replay/pages.h"
#include "replay/tlb.h"

#define FOREVER UINT64_MAX

/* So many buckets of time at most. */
#define MAX_BUCKETS 1024

/* What one CPU has of one mm. */
struct residence {
	uint32_t cpu;
	uint64_t loaded_until; /* FOREVER while it is loaded */
	uint64_t ran_until;    /* FOREVER while a task of it runs */
	uint64_t touched;      /* pages of it that the CPU was seen to bring into its TLB */
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
	uint32_t note;                     /* the one that was looked up last */
};

/* What an mm adds to struct policy_result.flush, once it ends. */
struct mm_row {
	struct flush_count count;
	uint32_t key; /* see row_key() */
};

struct mm {
	char *residences;
	uint32_t nr_residences, max_residences;
	uint64_t born_seq;    /* ordinal of its first event */
	bool older;           /* than the recording */
	uint32_t leaves, nr_leaves;
	uint64_t pages;
	uint64_t *loaded;     /* bitmap: CPUs that have it loaded */
	uint64_t last_unload; /* ordinal: when a CPU last left it */
	uint64_t *visited;    /* bitmap: CPUs that ever had it loaded */
	bool accesses;        /* its accesses are recorded: what none shows is not held */
	struct mm_row *rows;
	uint32_t nr_rows, max_rows;
	struct {
		uint64_t flush_seq; /* all of it was flushed on every CPU */
		uint64_t *holders;  /* CPUs that may hold entries of pages not flushed since... */
		bool holders_known; /* ...if it is up to date */
		char *exposures;    /* records, nr of them, some of them over ("dead") */
		uint32_t nr, max, dead;
		uint32_t permissions; /* records that may end by a later change of permission */
		uint32_t last_row;    /* of rows, that was counted in last */
	} policy[];
};

/*
 * A stale entry of one page under one policy, on the CPUs whose bit is set; none is set: it is
 * over.
 */
struct exposure {
	uint64_t start_ns, start_seq;
	uint32_t leaf;
	uint32_t next; /* older one of the same page, + 1 */
	uint8_t slot, kind, level;
	bool likely : 1;     /* counts for the estimate */
	bool permission : 1; /* stale only in its permission: a later change may put that right */
	bool deferred : 1;   /* the other CPUs sweep it at their next tick */
	/* words of them; with TLBs, as many more: CPUs that the evidence shows hold it */
	uint64_t cpus[];
};

struct cpu {
	uint32_t mm;
	/*
	 * Ordinals until which it may have had any mm loaded: any older than the recording, until it
	 * first showed one; any at all, until it showed one after a loss (0: none was lost). FOREVER:
	 * it has not yet.
	 */
	uint64_t hidden_until, lost_until;
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
	uint64_t *lazy, *scratch, *stale, *holders, *view_set, *everyone, *covered,
		*reached, *asked;
	unsigned int asking; /* the policy whose hook runs */
	uint64_t hidden_end, lost_end; /* the latest of all CPUs */
	struct mm **mms;
	size_t nr_mms;
	struct pages pages;
	size_t exposure_size, residence_size;
	struct tlb *tlb;    /* what the evidence shows each CPU to hold; NULL: there is none */
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

static inline struct exposure *exposure_at(const struct engine *e, const struct mm *mm,
					   unsigned int policy, uint32_t ref)
{
	return (struct exposure *)(mm->policy[policy].exposures +
				   (size_t)(ref - 1) * e->exposure_size);
}

static inline struct residence *residence_at(const struct engine *e, const struct mm *mm,
					     uint32_t i)
{
	return (struct residence *)(mm->residences + i * e->residence_size);
}

static inline struct residence *residence_find(const struct engine *e, const struct mm *mm,
					       unsigned int cpu)
{
	for (uint32_t i = 0; i < mm->nr_residences; i++)
		if (residence_at(e, mm, i)->cpu == cpu)
			return residence_at(e, mm, i);
	return NULL;
}

static inline bool bit(const uint64_t *set, unsigned int cpu)
{
	return set[cpu / 64] >> (cpu % 64) & 1;
}

static inline void set_bit(uint64_t *set, unsigned int cpu, bool value)
{
	if (value)
		set[cpu / 64] |= UINT64_C(1) << (cpu % 64);
	else
		set[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}

/* Most machines have no more than 64 CPUs: the first word is done in line, the others by a call. */
static inline void set_all(const struct engine *e, uint64_t *set, bool value)
{
	set[0] = value ? UINT64_MAX : 0;
	if (__builtin_expect(e->words > 1, false))
		memset(set + 1, value ? 0xff : 0, (e->words - 1) * sizeof(*set));
}

static inline void copy_set(const struct engine *e, uint64_t *to, const uint64_t *from)
{
	to[0] = from[0];
	if (__builtin_expect(e->words > 1, false))
		memcpy(to + 1, from + 1, (e->words - 1) * sizeof(*to));
}

/*
 * Without an instruction for it (x86-64 of old), a loop is the fastest for the few that there are.
 */
static inline unsigned int count_word(uint64_t bits)
{
	unsigned int n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

static inline unsigned int count_bits(const struct engine *e, const uint64_t *set)
{
	unsigned int n = 0;

	for (unsigned int w = 0; w < e->words; w++)
		n += count_word(set[w]);
	return n;
}

static inline struct mm *mm_find(const struct engine *e, uint32_t mm)
{
	return mm < e->nr_mms ? e->mms[mm] : NULL;
}

static inline struct engine *engine_of(const struct policy_view *view)
{
	return (struct engine *)((char *)(uintptr_t)view - offsetof(struct engine, view));
}

static inline struct page_policy *policy_of(const struct engine *e, uint32_t leaf,
					    unsigned int slot, unsigned int policy)
{
	return &leaf_page(&e->pages, pages_leaf(&e->pages, leaf), slot)->policy[policy];
}

static inline void add_bound(struct bound *to, const struct bound *more)
{
	to->low += more->low;
	to->estimate += more->estimate;
	to->high += more->high;
}

#endif
