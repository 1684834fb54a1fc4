/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine: takes normalised events in order and runs every policy over them at once. Keeps what
 * the policies differ in (when what was flushed, which stale entries are open) apart from what they
 * share (pages, who has which mm loaded).
 */
#ifndef REPLAY_ENGINE_H
#define REPLAY_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/policy.h"
#include "replay/tlb.h"
#include "schema/derive.h"

/* Parameters that every policy takes, beside its own. */
struct common_params {
	/* of the entries that a CPU could hold and no event shows, how many it does */
	double share;
	double write_share; /* of the stale entries held, how many are written to again */
};
extern const struct param common_params[];

/* One policy with its parameters, as the user asked for it. */
struct policy_instance {
	const struct policy *policy;
	const char *spec;            /* as given */
	struct common_params common;
	void *params;                /* of policy->params_size bytes, or NULL */
	const char *given;           /* the parameters' text, "" if none */
};

struct flush_count {
	uint64_t decisions;
	struct bound flushes;
	uint64_t pages;
};

struct exposure_row {
	uint64_t start_ns, end_ns, page; /* page: address */
	uint32_t mm, cpu;
	uint8_t kind, ended;
};

/* What a verdict rests on: the event that left an entry behind. */
struct witness {
	bool seen;
	uint64_t seq; /* ordinal of the event among all that the engine was given */
	uint64_t time_ns, addr;
	uint32_t cpu, holder, mm; /* holder: a CPU that may hold the entry */
	uint8_t point, level;
};

/* Invalidations in one stretch of time. */
struct time_bucket {
	struct bound flushes[NR_SCOPES];
};

/* What one policy came to. */
struct policy_result {
	struct flush_count flush[NR_POINTS][NR_LEVELS][NR_SCOPES];
	struct bound scope[NR_SCOPES];      /* invalidations in all, by scope */
	struct bound whole[NR_SCOPES];      /* of these, of a whole address space */
	struct bound further[NR_SCOPES];    /* pages after the first, of all others */
	struct bound targets;               /* CPUs interrupted, over all of scope mask */
	struct bound target_pages;          /* further pages, on each of these CPUs */
	uint64_t rewalks;                   /* of whole, those whose address space lives on */
	/* entries that page flushes may have killed on other CPUs */
	uint64_t refills;
	uint64_t notifies;
	/* Spurious faults under this policy, by level. proven: recorded, and not avoided. */
	uint64_t spurious_proven[NR_LEVELS];
	uint64_t spurious_possible[NR_LEVELS];  /* beside these: at most */
	uint64_t spurious_predicted[NR_LEVELS]; /* shown by recorded accesses */
	/* of the possible ones: by evidence; write_share applies */
	uint64_t spurious_held[NR_LEVELS];
	double spurious_likely[NR_LEVELS];      /* and without: share and write_share apply */
	/* recorded; begun before the upgrade was complete, or after a loss */
	uint64_t spurious_unsure[NR_LEVELS];
	/* faults that may have been spurious, or something else */
	struct bound spurious_maybe[NR_LEVELS];
	struct bound avoided;               /* recorded ones that would not have happened */
	struct exposure_sum proven[NR_STALENESS][NR_ENDED];
	struct exposure_sum held[NR_STALENESS][NR_ENDED];    /* by evidence */
	struct exposure_sum likely[NR_STALENESS][NR_ENDED];  /* share applies to these... */
	struct exposure_sum shared[NR_STALENESS][NR_ENDED];  /* both, until the end */
	struct exposure_sum possible[NR_STALENESS][NR_ENDED]; /* ...out of all of these */
	uint64_t lengths[NR_STALENESS][65]; /* possible ones by length: [n] those below 2^n ns */
	struct witness unsafe, stuck, unbroken; /* the first of each that was left behind */
	uint8_t spurious_scope[NR_LEVELS]; /* enum scope of the flush that fixes a spurious fault */
	uint64_t *issued;                   /* [cpu * NR_SCOPES + scope] */
	uint64_t *received;                 /* [cpu], by scope mask */
	struct time_bucket *buckets;
	size_t nr_buckets;
	struct exposure_row *rows;          /* at the high bound, the longest first */
	size_t nr_rows;
	uint64_t rows_left_out;
};

/* Rows that leave the engine while it runs, so that memory does not grow with the trace. */
struct engine_sink {
	void *context;
	/* All are optional. */
	void (*page)(void *context, uint32_t mm, uint64_t page, unsigned int point,
		     unsigned int level, uint64_t decisions);
	void (*stale)(void *context, unsigned int policy, uint32_t mm, uint64_t page,
		      uint64_t entries);
	void (*flush_mm)(void *context, unsigned int policy, uint32_t mm, unsigned int point,
			 unsigned int scope, const struct bound *flushes);
	/*
	 * Optional: POLICY issues TIMES broadcasts at TIME_NS on CPU, and waits for them or not; in
	 * the order of time, those of other shards too. Only those that are certain to have been
	 * asked for. SURE: and issued; of a protected range it is not known here whether any of it
	 * was mapped.
	 */
	void (*broadcast)(void *context, unsigned int policy, uint64_t time_ns, unsigned int cpu,
			  unsigned int times, bool waits, bool sure);
};

/*
 * A part of the address spaces: those whose number leaves the same rest as PART when divided by
 * PARTS. Decisions about no address space are address space 0's. All zero: all of them.
 */
struct shard {
	uint32_t part, parts; /* part: 1 to parts */
};

#define SHARDS_MOST 4096

/* Whether address space MM belongs to SHARD. */
static inline bool shard_has(const struct shard *shard, uint32_t mm)
{
	return shard->parts < 2 || mm % shard->parts == shard->part % shard->parts;
}

struct engine_config {
	unsigned int nr_cpus;
	unsigned int page_shift;
	const struct policy_instance *policies;
	unsigned int nr_policies;
	/*
	 * EVENT_BATCH_END comes when the flushes of a batch are complete; without, they are taken
	 * to be at once.
	 */
	bool batches;
	size_t max_rows; /* single exposures kept per policy */
	const struct tlb_geometry *tlb; /* NULL: no evidence is kept, the share decides alone */
	/* The engine needs all events and counts what belongs to these: results of shards add up. */
	struct shard shard;
	struct engine_sink sink;
};

struct engine;

/* NULL: no memory. The config's policies must outlive the engine. */
struct engine *engine_new(const struct engine_config *config);
void engine_free(struct engine *e);

/* Takes one event; a struct interpret_sink may point here with the engine as its context. */
void engine_event(void *engine, const struct tlb_event *event);

/* An event on this page is likely to come soon: its state is brought near. Changes nothing. */
void engine_hint(void *engine, uint32_t mm, uint64_t addr);

/* Distinct pages that events of MM touched: of a living one, or of the one that ended last. */
uint64_t engine_mm_pages(const struct engine *e, uint32_t mm);

/* The trace has ended at TIME_NS. Returns 0 or -ENOMEM if anything was lost to lack of memory. */
int engine_end(struct engine *e, uint64_t time_ns);

/* Width and start of the time buckets, ns. */
void engine_time(const struct engine *e, uint64_t *start_ns, uint64_t *width_ns);

const struct policy_result *engine_result(const struct engine *e, unsigned int policy);

/*
 * Whether POLICY's hook has asked about entries of an address space that another shard keeps, and
 * may have remembered the answer: what it decides here then need not be what it decides there.
 */
bool engine_shard_unsure(const struct engine *e, unsigned int policy);

/* Bytes of state per page that is alive, under so many policies. */
size_t engine_page_bytes(unsigned int nr_policies);

/* How many pages and address spaces there is state of now. */
void engine_live(const struct engine *e, uint64_t *pages, uint64_t *mms);

#endif
