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

/* A set of policies is a word. */
#define MAX_POLICIES 64

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
	uint32_t note; /* the one that was looked up last, under whichever policy */
};

/* What an mm adds to struct policy_result.flush, once it ends. */
struct mm_row {
	struct flush_count count;
	uint32_t key; /* see row_key() */
};

/*
 * Records of exposures, nr of them, some of them over ("dead"). There are two lanes: one for
 * policies that leave nothing at a fork, so that all of it is over now and then, and one for the
 * others.
 */
#define LANES 2
struct lane {
	struct head *heads; /* of each record */
	char *exposures;
	uint32_t nr, max, dead;
	bool permissions; /* some may end by a later change of permission */
};

#define ROW_CACHE 64

struct mm {
	char *residences;
	uint32_t nr_residences, max_residences;
	uint64_t born_seq; /* ordinal of its first event */
	bool older;        /* than the recording */
	uint32_t leaves, nr_leaves;
	uint64_t pages;
	uint64_t *loaded;     /* bitmap: CPUs that have it loaded */
	uint64_t last_unload; /* ordinal: when a CPU last left it */
	uint64_t *visited;    /* bitmap: CPUs that ever had it loaded */
	bool accesses;        /* its accesses are recorded: what none shows is not held */
	struct mm_row *rows;
	uint32_t nr_rows, max_rows;
	uint16_t row_cache[ROW_CACHE]; /* rows used last, by their keys */
	struct lane lanes[LANES];
	struct {
		uint64_t flush_seq; /* all of it was flushed on every CPU */
		uint64_t *holders;  /* CPUs that may hold entries of pages not flushed since... */
		uint64_t last_note; /* ordinal of the latest flush note of any CPU; 0: none */
		uint64_t notes_id;  /* the same for policies whose notes are the same */
		bool holders_known; /* ...if it is up to date */
	} policy[];
};

/* What is needed of a record to find it: kept apart, because most of those that are met are passed.
 */
struct head {
	uint64_t policies; /* as in the record */
	uint32_t leaf;     /* the page is this leaf's... */
	uint32_t next;     /* older one of the same page */
	uint8_t slot;      /* ...and this of it */
	uint8_t kind;
	bool permission; /* stale only in its permission: a later change may put that right */
	bool deferred;   /* as in the record */
};

/* A stale entry of one page under some policies, on the CPUs whose bit is set. */
struct exposure {
	uint64_t policies; /* a bit for each; 0: it is over */
	uint64_t start_ns, start_seq;
	uint32_t leaf;
	uint8_t slot, kind, level;
	bool likely : 1;   /* counts for the estimate */
	bool deferred : 1; /* the other CPUs sweep it at their next tick */
	/* words of them; with TLBs, as many more: CPUs that the evidence shows hold it */
	uint64_t cpus[];
};

struct cpu {
	uint32_t mm;
	/*
	 * Ordinals until which it may have had any mm loaded: any older than the recording, until
	 * it first showed one; any at all, until it showed one after a loss (0: none was lost).
	 * FOREVER: it has not yet.
	 */
	uint64_t hidden_until, lost_until;
};

/* A flush that waits for the end of its task's batch. */
struct put_off {
	struct tlb_event event;
	struct policy_action act;
	uint64_t who; /* policies */
};

/* A kernel's batches are of some dozens of pages; of more the ends were not recorded. */
#define MOST_PUT_OFF 65536

/* Decisions by page, until they are handed on. */
struct page_count {
	uint64_t key; /* address | point << 3 | level */
	uint64_t count;
	uint32_t mm;
};

/*
 * What a set of policies has in common: most policies do the same at most events, and leave the
 * same entries behind. It is counted once for all of them, and added to each at the end.
 */
struct common {
	uint64_t policies;
	unsigned int id;              /* its place in engine.commons */
	struct policy_result *result; /* of one policy alone: its own */
	uint64_t least_row_ns;        /* of all of them... */
	uint64_t rows_version;        /* ...when so many rows were kept */
};

/* So many sets at most; others are counted policy by policy. */
#define MAX_COMMON 128

/* A decision as a policy takes it, and what it depends on. Policies with the same are one. */
struct choice {
	struct policy_cell cell;
	bool rewalks, breaks_first;
	int64_t tick_ns; /* if something of it is deferred */
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
	/* What it does at points where that depends on its parameters alone. */
	struct policy_cell plain[NR_POINTS][NR_LEVELS];
	bool asked_foreign; /* its hook asked about another shard's entries... */
	bool shard_unsure;  /* ...and can have made something of the answer */
};

struct engine {
	struct engine_config config;
	struct policy_view view;
	unsigned int words;
	uint64_t seq;
	struct cpu *cpus;
	uint64_t *lazy, *scratch, *stale, *holders, *view_set, *covered, *reached, *asked;
	unsigned int asking;           /* the policy whose hook runs */
	uint64_t hidden_end, lost_end; /* the latest of all CPUs */
	struct mm **mms;
	size_t nr_mms;
	struct pages pages;
	size_t exposure_size, residence_size;
	struct tlb *tlb;    /* what the evidence shows each CPU to hold; NULL: there is none */
	struct home *homes; /* by CPU, of the mm that is being closed */
	struct {
		const struct mm *mm;
		uint64_t seq;      /* of this mm, at this event... */
		uint64_t from, to; /* ...holds for exposures that began at ordinals [from, to) */
		uint64_t *ran;     /* see find_since() */
		uint64_t noted;    /* policies */
		bool homes;        /* homes are those of this mm */
	} since;
	struct common *commons[MAX_COMMON];
	unsigned int nr_commons;
	uint16_t common_slots[4 * MAX_COMMON]; /* by hash of the policies, + 1; 0: empty */
	uint64_t rows_version;
	uint64_t all_policies, lane_policies[LANES];
	/* Policies that have a witness already; by level, those whose spurious faults nothing
	 * fixes. */
	uint64_t unsafe_seen, stuck_seen, unfixed[NR_LEVELS];
	/* Sets of CPUs by policy: stale at a page; rid of what the decision is about. */
	uint64_t *stale_sets, *covered_sets;
	/* policies that leave something at it; till their tick; till their batch ends */
	uint64_t leaving, leaving_later, leaving_batched;
	struct put_off *put_off; /* in the order in which it came */
	size_t nr_put_off, max_put_off;
	/* Policies that flush everywhere, here, or all of the mm everywhere, as the decision ends.
	 */
	uint64_t covering, covering_here, flushing;
	/* By point and level: the policies that choose the same whatever the event, and who does
	 * not. */
	struct {
		unsigned int nr;
		uint64_t others;
		struct choice *choices;
		uint64_t *makers;
	} plain[NR_POINTS][NR_LEVELS];
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

/* A record's number, from 1, with its lane in the highest bit. 0: none. */
#define LANE_SHIFT 31

static inline uint32_t ref_in(unsigned int lane, uint32_t nr)
{
	return lane << LANE_SHIFT | nr;
}

static inline uint32_t ref_nr(uint32_t ref)
{
	return ref & ~(UINT32_C(1) << LANE_SHIFT);
}

static inline struct exposure *exposure_at(const struct engine *e, const struct mm *mm,
					   uint32_t ref)
{
	return (struct exposure *)(mm->lanes[ref >> LANE_SHIFT].exposures +
				   (size_t)(ref_nr(ref) - 1) * e->exposure_size);
}

static inline struct head *head_at(const struct mm *mm, uint32_t ref)
{
	return &mm->lanes[ref >> LANE_SHIFT].heads[ref_nr(ref) - 1];
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

static inline struct page *page_of(const struct engine *e, uint32_t leaf, unsigned int slot)
{
	return leaf_page(&e->pages, pages_leaf(&e->pages, leaf), slot);
}

/* The lowest policy of *WHO, which it leaves. */
static inline unsigned int take_policy(uint64_t *who)
{
	unsigned int policy = (unsigned int)__builtin_ctzll(*who);

	*who &= *who - 1;
	return policy;
}

static inline void add_bound(struct bound *to, const struct bound *more)
{
	to->low += more->low;
	to->estimate += more->estimate;
	to->high += more->high;
}

#endif
