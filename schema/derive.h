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
#include <stddef.h>
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

/* Parts of an entry are counted in this fineness, so that doubles add up exactly to 2^33 entries.
 */
#define EXPOSURE_UNIT 1048576

/* entry_units as the database holds it: two numbers, the lower one of so many bits. */
#define EXPOSURE_LIMB      62
#define EXPOSURE_LIMB_MASK ((UINT64_C(1) << EXPOSURE_LIMB) - 1)

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
#define COST_PARTS(X)             \
	X(INITIATOR, "initiator") \
	X(VICTIMS, "victims")     \
	X(QUEUE, "queue")         \
	X(SPURIOUS, "spurious")   \
	X(REFILL, "refill")       \
	X(NOTIFY, "notify")
#define AS_PART(id, text) PART_##id,
enum cost_part {
	COST_PARTS(AS_PART) NR_PARTS
};
#undef AS_PART

/* The text of a part; "?" for a number out of range. */
const char *cost_part_name(unsigned int part);

/*
 * What a policy did, in counts that add up over the shards of a recording. The shares and the
 * scopes are of the policy, and the same in each.
 */
struct policy_counts {
	struct spurious_count spurious[NR_LEVELS];
	uint64_t fix_scope[NR_LEVELS];   /* enum scope of the flush that fixes a spurious fault */
	struct bound flushes[NR_SCOPES]; /* without those that fix spurious faults */
	struct bound whole[NR_SCOPES];   /* of flushes, those of a whole address space */
	struct bound further[NR_SCOPES]; /* pages after the first, of all others */
	struct bound targets;            /* CPUs interrupted */
	struct bound target_pages;       /* further pages, on each of these */
	uint64_t refills, notifies;
	uint64_t rewalks; /* of whole, those whose address space lives on */
	/*
	 * What broadcasts waited for each other, ns (replay/fabric.h), at the low, value and high of
	 * broadcast_service. Every shard sees all broadcasts.
	 */
	struct real_bound queue_ns;
	double share, write_share;
	bool kernels; /* the policy is the recorded kernel's own */
};

/* One field of it, for whoever stores or adds all of them. */
struct counts_field {
	const char *name;
	size_t offset; /* of its first element */
	size_t stride; /* to the next one; 0: there is only one */
	unsigned int nr;
	const char *(*subject)(unsigned int i); /* what an element is about; NULL: nothing */
	bool is_double, adds;                   /* adds: over shards; else it is the same in each */
};

/* All fields but kernels; ends with a NULL name. */
extern const struct counts_field counts_fields[];

/* Spurious faults of one level, or of all for NR_LEVELS. */
struct real_bound derive_spurious_at(const struct policy_counts *c, unsigned int level);

/*
 * How many times ITEM of a preset is paid on a machine with CPUS: what a policy costs is the sum
 * of these times the item's price, and queue_ns.
 */
struct real_bound derive_quantity(const struct policy_counts *c, unsigned int cpus,
				  enum cost_item_id item);

/* The part of the cost that ITEM belongs to. */
enum cost_part derive_part(enum cost_item_id item);

/* One part of what a policy costs. */
struct derived_cost {
	struct real_bound ns;
	bool uncalibrated; /* rests on an item that nobody measured */
};

/* What C costs at the prices of PRESET on a machine with CPUS. */
void derive_costs(const struct policy_counts *c, unsigned int cpus,
		  const struct cost_preset *preset, struct derived_cost parts[NR_PARTS]);

/* TO gets MORE added. */
void derive_add(struct real_bound *to, struct real_bound more);

/*
 * The self-check at one point and level: flushes RECORDED there and, by replaying the kernel's own
 * policy, DECISIONS and flushes REPLAYED. SEEN: the recording could show them.
 */
struct check_counts {
	uint64_t recorded, decisions, replayed;
	bool seen;
};

/* What is noted then. */
#define CHECK_SILENT                                                                              \
	"its sites are in the recording and none fired: one of them could not be probed, or the " \
	"kernel does not flush there"

/* Whether there is anything to say of it. */
bool derive_check_row(const struct check_counts *c, unsigned int point);

/* Whether its sites are recorded and none fired where the policy flushes. */
bool derive_check_silent(const struct check_counts *c, unsigned int point);

/* Rows of a recording that are kept one by one, and what is noted of others. */
#define PAGE_ROWS       100000
#define STALE_PAGE_ROWS 10000 /* per policy */
#define NOTE_PAGES_LEFT \
	"rows of v_page that are added up under page NULL; the hottest 100000 are kept"
#define NOTE_ROWS_LEFT \
	"stale entries that are in the sums and not among the single rows (the longest are kept)"

/* X as the whole number that the database holds. */
int64_t derive_rounded(double x);

#endif
