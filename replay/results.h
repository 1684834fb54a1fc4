/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The results writer: the only file of the replay that talks to SQLite (schema/results.sql). A run
 * is written into a database of its own beside the target and moved there when it is whole; what
 * was there before stays until then.
 */
#ifndef REPLAY_RESULTS_H
#define REPLAY_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/decode.h"
#include "replay/dirty.h"
#include "replay/engine.h"
#include "replay/fabric.h"
#include "replay/heat.h"
#include "replay/latency.h"
#include "replay/interpret.h"
#include "replay/sweep.h"
#include "replay/trace.h"
#include "schema/costs.h"

struct results;

struct results_error {
	char text[768];
};

/*
 * Begins results for PATH. APPEND keeps what PATH holds (and fails if it is not a database of this
 * schema version). Returns NULL with ERR filled; nothing is left behind then.
 */
struct results *results_begin(const char *path, bool append, struct results_error *err);

/* Makes all of it visible at PATH. Returns 0 or -EIO with ERR filled. */
int results_commit(struct results *r, struct results_error *err);

/* Frees R. What was not committed leaves no trace. NULL is fine. */
void results_free(struct results *r);

/*
 * Starts one recording. Returns 0 or -EIO. Errors of the calls between are kept until
 * results_trace().
 */
int results_trace_begin(struct results *r, struct results_error *err);

/* While the replay runs: rows that leave the engine and the interpreter. CONTEXT is the results. */
/* A page's decisions at a point may come in parts; those at wp_reuse of a PTE come once. */
void results_page(void *context, uint32_t mm, uint64_t page, unsigned int point, unsigned int level,
		  uint64_t decisions);
/* Once for each page and policy. */
void results_stale(void *context, unsigned int policy, uint32_t mm, uint64_t page,
		   uint64_t entries);
void results_flush_mm(void *context, unsigned int policy, uint32_t mm, unsigned int point,
		      unsigned int scope, const struct bound *flushes);
void results_mm(void *context, const struct mm_identity *mm, uint64_t pages);
void results_fact(void *context, const char *line, size_t size);
void results_dirty_mm(void *context, const struct dirty_mm *mm);

/* Everything about one replayed recording. */
struct results_input {
	struct trace *trace;
	const struct decoder *decoder;
	const struct interpreter *interpreter;
	const struct engine *engine; /* of some of the policies: what all engines agree on */
	const struct policy_result *const *outcomes; /* by policy */
	const bool *shard_unsure;                    /* by policy: engine_shard_unsure() */
	const struct heat *heat;
	const struct latency *latency;  /* NULL: nothing was timed */
	const struct dirty *dirty;      /* NULL: the recording has nothing of swap */
	double dirty_share;             /* as given; negative: not */
	const struct policy_instance *policies;
	unsigned int nr_policies;
	const struct cost_preset *cost; /* NULL: none fits, costs are left out */
	const struct sweep_axis *sweep; /* nr_sweep of them, at most SWEEP_AXES_MAX */
	unsigned int nr_sweep;
	const char *cost_origin;        /* given, default */
	const struct fabric_result *queues; /* [policy * 3 + 0 low, 1 value, 2 high]; with COST */
	const char *arch, *arch_source;
	uint64_t hash;                  /* of the file's bytes */
	uint64_t events, events_used;
	uint64_t first_ns, last_ns;
	size_t max_rows;
	const char *tlb; /* geometry as given; NULL: none */
	struct shard shard; /* of a recording's address spaces; all zero: all of them */
};

/* Writes it. Returns 0 or -EIO with ERR filled. */
int results_trace(struct results *r, const struct results_input *input, struct results_error *err);

#endif
