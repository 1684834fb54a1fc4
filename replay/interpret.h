/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From raw events to normalised ones: who runs where, in which address space, and which decision
 * points the kernel passed. Knows probes and kernels; knows nothing of policies.
 */
#ifndef REPLAY_INTERPRET_H
#define REPLAY_INTERPRET_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/decode.h"
#include "schema/event.h"

enum mm_origin { MM_POINTER, MM_DERIVED, MM_SNAPSHOT, MM_PLACEHOLDER };

/* What is known of one address space when it ends (or the trace does). */
struct mm_identity {
	uint32_t mm;        /* number of it, from 1, in order of appearance */
	uint64_t pointer;   /* mm_struct; 0: never seen */
	int32_t tid;        /* a task that used it; -1: none seen */
	char comm[16];
	enum mm_origin origin;
	uint64_t first_ns, last_ns;
};

/* Where the results of interpreting go. */
struct interpret_sink {
	void *context;
	void (*event)(void *context, const struct tlb_event *event);
	void (*mm_done)(void *context, const struct mm_identity *mm);
	/* A line of the host's facts (schema/hostfacts.h): SIZE bytes, of any kind. Optional. */
	void (*fact)(void *context, const char *line, size_t size);
};

/* What the recording itself shows, counted while it is interpreted. */
struct interpret_counts {
	/*
	 * Flushes seen and placed at a point; a point that only a TLBI shows is in tlbi_only too.
	 */
	uint64_t recorded[NR_POINTS][NR_LEVELS];
	uint64_t tlbi_only[NR_POINTS][NR_LEVELS];
	/* Write upgrades by the flush that was seen inside them. */
	uint64_t upgrade_broadcast, upgrade_local, upgrade_none;
	uint64_t spurious_recorded;    /* hardware write faults that changed nothing */
	uint64_t flush_reasons[8];     /* tlb:tlb_flush by reason; the last one: unknown ones */
	uint64_t unplaced_tlbi;        /* invalidations whose point could not be told */
	uint64_t unplaced_clear_flush; /* ptep_clear_flush outside a write fault */
	uint64_t remote_faults;        /* faults on behalf of another mm or without registers */
	uint64_t accesses;             /* recorded ones, by events of the user's program */
	uint64_t samples, samples_unknown; /* from elsewhere; those of tasks without a known mm */
	uint64_t undecided_wp;         /* write faults on present pages without further probes */
	uint64_t tasks, tasks_unknown; /* tasks seen; those of which nothing was ever learnt */
	uint64_t snapshot_tasks;
	bool snapshot_complete;
	uint64_t mms, mms_placeholder;
};

struct interpreter;

/* Makes an interpreter for recording T. NULL: no memory. */
struct interpreter *interpreter_new(struct trace *t, struct decoder *d, unsigned int arch,
				    const struct interpret_sink *sink);
void interpreter_free(struct interpreter *in);

/* Takes one raw event. Returns 0 or -ENOMEM. */
int interpret(struct interpreter *in, const struct raw_event *raw);

/*
 * The number of the address space that RAW is about, once interpret() has taken it: the one that it
 * names, else its task's. 0: not known, or gone.
 */
uint32_t interpret_mm(const struct interpreter *in, const struct raw_event *raw);

/*
 * A sample from elsewhere: TID used ADDR on CPU (dense index) at TIME_NS, which lies between the
 * events before and after it. A task of which nothing is known is left out, and counted.
 */
void interpret_sample(struct interpreter *in, uint64_t time_ns, unsigned int cpu, int32_t tid,
		      uint64_t addr, bool store);

/* Events are missing on CPU (dense index) just before TIME_NS. */
void interpret_lost(struct interpreter *in, unsigned int cpu, uint64_t time_ns);

/* The trace has ended: what is pending is settled, and every mm still alive goes to mm_done(). */
int interpret_end(struct interpreter *in, uint64_t time_ns);

const struct interpret_counts *interpret_counts(const struct interpreter *in);

/*
 * Whether the recording could show a flush at POINT at all: its sites (or tlb_flush) are recorded.
 */
bool interpret_sees(const struct interpreter *in, enum point point);

/*
 * Whether the recording has what dirty pages are followed by: swap-ins, reclaim's unmaps and writes
 * to swap (EVENT_SWAP_*). Only then are these events made.
 */
bool interpret_sees_swap(const struct interpreter *in);

/* Whether the recording shows when batches of flushes are complete (EVENT_BATCH_END). */
bool interpret_sees_batches(const struct interpreter *in);

/* Whether anything in the recording can reach POINT. */
bool interpret_feeds(const struct interpreter *in, enum point point);

/* The name of the policy that the recorded kernel shows at its write upgrades, or NULL. */
const char *interpret_kernel_policy(const struct interpreter *in);

#endif
