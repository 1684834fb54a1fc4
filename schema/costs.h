/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cost presets: what one invalidation, one interrupt, one fault costs on a kind of machine, each
 * with bounds and a source. What nobody has measured says so.
 */
#ifndef SCHEMA_COSTS_H
#define SCHEMA_COSTS_H

enum cost_trust { COST_MEASURED, COST_DERIVED, COST_UNCALIBRATED };

const char *cost_trust_name(enum cost_trust trust);

enum cost_item_id {
	COST_FLUSH_LOCAL,      /* per invalidation on this CPU, its barrier included */
	/* per broadcast invalidation, its barrier included, on the CPU issuing it */
	COST_FLUSH_BROADCAST,
	COST_VICTIM_BROADCAST, /* per broadcast and other CPU: what it stalls */
	COST_IPI_SEND,         /* per shootdown, on the CPU asking for it: first target answered */
	COST_IPI_TARGET,       /* per further target, on the CPU asking for it */
	COST_VICTIM_IPI,       /* per target, on the target */
	COST_SPURIOUS_FAULT,   /* per spurious fault, the CPU's entry and exit included */
	COST_REFILL,           /* per entry that a flush killed needlessly: the walk for it */
	COST_NOTIFY,           /* per notification of secondary TLBs */
	NR_COSTS
};

struct cost_item {
	const char *name;
	const char *unit;
	double low, value, high; /* ns */
	enum cost_trust trust;
	const char *source;
};

struct cost_preset {
	const char *name;
	const char *summary;
	struct cost_item items[NR_COSTS];
};

/* Built-in presets; ends with NULL. */
extern const struct cost_preset *const cost_presets[];

/* The preset NAME, or NULL. */
const struct cost_preset *cost_find(const char *name);

#endif
