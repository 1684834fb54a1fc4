/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the kernel's flushing functions took: from the entry probe of a call to its return
 * probe, by the number of CPUs that the address space has run on and of other such calls under way.
 *
 * A third sink beside engine and heat; made only for recordings in which latency_timed() finds any
 * (tlbcapture --profile latency, and on arm64 the upgrades of any recording). Durations are counted
 * in buckets, so memory does not grow with the recording: exact below 64 ns, then 32 buckets to
 * each power of two, so that the ends of a bucket are less than 1/32 of its value apart.
 *
 * A duration is all that lay between two timestamps: what the function does beside flushing, half
 * of the cost of its two probes, all of that of probes inside it, and interrupts. Calls whose task
 * was switched out or moved to another CPU in between are left out, and counted; so are those with
 * only one end. Calls that flush nothing ("young", "unchanged") show what the probes of a call
 * cost, and what the reading and changing of an entry.
 */
#ifndef REPLAY_LATENCY_H
#define REPLAY_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/decode.h"
#include "schema/event.h"

enum latency_call {
	LATENCY_UPGRADE,   /* ptep_set_access_flags() that returned 1, for a write */
	LATENCY_YOUNG,     /* the same, for a read: the entry changes, and no kernel flushes */
	LATENCY_UNCHANGED, /* the same, returned 0 */
	LATENCY_CONTPTE,   /* contpte_ptep_set_access_flags(); the upgrades inside count as well */
	LATENCY_COW,       /* ptep_clear_flush() */
	LATENCY_GATHER,    /* tlb_finish_mmu() */
	LATENCY_RANGE,     /* flush_tlb_mm_range() */
	NR_LATENCY_CALLS
};

/* What the recording shows of a flush inside the call. */
enum latency_flush {
	LATENCY_UNSEEN, /* flushes are not recorded */
	LATENCY_NONE,   /* they are, and there was none */
	LATENCY_LOCAL,
	LATENCY_MASK,      /* x86: by interrupt */
	LATENCY_BROADCAST, /* arm64 */
	NR_LATENCY_FLUSHES
};

/* Calls that are not among the durations. */
enum latency_left_out {
	LATENCY_NO_ENTRY,  /* returned, and its begin was not recorded */
	LATENCY_NO_RETURN, /* began, and its return was not recorded */
	LATENCY_SWITCHED,  /* its task did not run all the time, or moved to another CPU */
	LATENCY_LOST,      /* events were lost on its CPU in between */
	NR_LATENCY_LEFT_OUT
};

/* "upgrade", "young", "unchanged", "contpte", "cow", "gather", "range". */
const char *latency_call_name(unsigned int call);
/* "not recorded", "none", "local", "mask", "broadcast". */
const char *latency_flush_name(unsigned int flush);
/* "no entry", "no return", "switched", "lost". */
const char *latency_left_out_name(unsigned int left_out);

/*
 * Calls of one kind. CPUS: 0 where the address space is not known, else its CPUs number from CPUS
 * to CPUS_TO, which is CPUS twice over less one or less (1, 2, 3..4, 5..8, ...), CONCURRENT
 * likewise (0, 1, 2..3, 4..7, ...).
 */
struct latency_group {
	uint8_t call, flush;
	uint32_t cpus, cpus_to;
	uint32_t concurrent, concurrent_to;
	uint64_t calls, probes; /* PROBES: seen inside, by the same task */
	uint64_t min_ns, max_ns, sum_ns;
};

struct latency_bucket {
	uint64_t from_ns, to_ns; /* both of them in it */
	uint64_t calls;
};

/* The functions of which the recording has both ends: 1 << ROLE_*. 0: there is nothing to time. */
uint64_t latency_timed(const struct decoder *d);

struct latency;

/*
 * TIMED: as latency_timed() has them. SEES_FLUSHES: the recording has TLBIs or tlb_flush. For
 * NR_CPUS CPUs (dense indices). NULL: no memory.
 */
struct latency *latency_new(uint64_t timed, bool sees_flushes, unsigned int nr_cpus);
void latency_free(struct latency *l);

/* Roles that latency_raw() looks at. */
#define LATENCY_ROLES                                                            \
	(UINT64_C(1) << ROLE_SET_FLAGS | UINT64_C(1) << ROLE_CONTPTE_SET_FLAGS | \
	 UINT64_C(1) << ROLE_CLEAR_FLUSH | UINT64_C(1) << ROLE_GATHER_FINISH |   \
	 UINT64_C(1) << ROLE_FLUSH_RANGE | UINT64_C(1) << ROLE_TLBI |            \
	 UINT64_C(1) << ROLE_TLB_FLUSH | UINT64_C(1) << ROLE_SWITCH)

/*
 * Takes a raw event of one of these roles, after the interpreter has; MM: the address space it is
 * about (interpret_mm()), 0: not known. Returns 0 or -ENOMEM.
 */
int latency_raw(struct latency *l, const struct raw_event *raw, uint32_t mm);

/* Takes a normalised event: who runs on which CPU, and what was lost. Returns 0 or -ENOMEM. */
int latency_event(struct latency *l, const struct tlb_event *event);

/* The recording has ended. */
void latency_end(struct latency *l);

/* Number of groups, and group I with its buckets (*NR of them, to be freed). NULL: no memory. */
size_t latency_groups(const struct latency *l);
struct latency_bucket *latency_group(const struct latency *l, size_t i, struct latency_group *group,
				     size_t *nr);

uint64_t latency_left_out(const struct latency *l, unsigned int left_out);

#endif
