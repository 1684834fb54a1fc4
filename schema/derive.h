/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What follows from the counts of a replay: the bounds of spurious faults, of stale entries and of
 * cost. Plain arithmetic, in one place, so that the shards of a recording that are added up
 * (tlbreport merge) come to the same numbers as one replay of it.
 *
 * Counts are whole, or multiples of 1/EXPOSURE_UNIT: sums of them are exact in any order.
 */
#ifndef SCHEMA_DERIVE_H
#define SCHEMA_DERIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/costs.h"
#include "schema/terms.h"

/* low <= estimate <= high */
struct bound {
	uint64_t low, estimate, high;
};

struct real_bound {
	double low, estimate, high;
};

/* Parts of an entry are counted in this fineness, so that doubles add up exactly to 2^33 entries. */
#define EXPOSURE_UNIT 1048576

/* Stale entries: how many, how long in sum and at most. */
struct exposure_sum {
	double entries;
	unsigned __int128 entry_units; /* ns / EXPOSURE_UNIT */
	uint64_t max_ns;
};

/* Adds ENTRIES (a multiple of 1/EXPOSURE_UNIT) of NS each. */
void exposure_add(struct exposure_sum *sum, double entries, uint64_t ns);

/* Adds what MORE holds. */
void exposure_merge(struct exposure_sum *sum, const struct exposure_sum *more);

/* Entry-nanoseconds of SUM. */
double exposure_ns(const struct exposure_sum *sum);

/*
 * One row's three bounds from what is PROVEN, HELD by evidence, LIKELY (a SHARE of them) and
 * POSSIBLE, as entries and as entry-ns.
 */
void derive_exposure(const struct exposure_sum *proven, const struct exposure_sum *held,
		     const struct exposure_sum *likely, const struct exposure_sum *possible,
		     double share, struct real_bound *entries, struct real_bound *entry_ns);

/* Spurious faults of one level, as the engine tells them apart (see struct policy_result). */
struct spurious_count {
	uint64_t proven, possible, predicted, held, unsure;
	double likely;      /* a multiple of 1/EXPOSURE_UNIT */
	struct bound maybe; /* low is not used */
};

/*
 * Their bounds. KERNELS: the policy is the recorded kernel's own, which has shown all of its
 * spurious faults: no others happened.
 */
struct real_bound derive_spurious(const struct spurious_count *c, double share, double write_share,
				  bool kernels);

/* Parts that a policy's cost is told in. */
#define COST_PARTS(X) \
	X(INITIATOR, "initiator") \
	X(VICTIMS, "victims") \
	X(SPURIOUS, "spurious") \
	X(REFILL, "refill") \
	X(NOTIFY, "notify")
#define AS_PART(id, text) PART_##id,
enum cost_part { COST_PARTS(AS_PART) NR_PARTS };
#undef AS_PART

/* The text of a part; "?" for a number out of range. */
const char *cost_part_name(unsigned int part);

/* What a policy did, as far as it costs. */
struct cost_counts {
	struct bound flushes[NR_SCOPES]; /* without those that fix spurious faults */
	struct bound targets;            /* CPUs interrupted */
	struct real_bound spurious;      /* faults */
	struct real_bound spurious_local; /* of these, those that are fixed by a local flush */
	uint64_t refills, notifies;
	double share;                    /* of the refills, in the estimate */
	unsigned int others;             /* CPUs beside the one that flushes */
};

/* How many times ITEM of a preset is paid. */
struct real_bound derive_quantity(const struct cost_counts *c, enum cost_item_id item);

/* The part of the cost that ITEM belongs to. */
enum cost_part derive_part(enum cost_item_id item);

/* X as the whole number that the database holds. */
int64_t derive_rounded(double x);

#endif
