/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a flush policy is. First of all a table: at each decision point and level, which
 * invalidations are issued, where and how far they reach. What a table cannot say adds one hook
 * with private state. A policy sees this header, the terms and the normalised event, and nothing
 * else.
 *
 *	const struct policy policy_none = {
 *		.api = POLICY_API,
 *		.name = "none",
 *		...
 *	};
 *
 * To add one: a file in replay/policies/ with such a struct at its foot, and one line in
 * replay/policies.c. Or, outside of this tree: a shared object that exports such a struct under the
 * name tlbreplay_policy, given as a path (examples/policy-template.c is one).
 */
#ifndef REPLAY_POLICY_H
#define REPLAY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/param.h"
#include "schema/event.h"
#include "schema/terms.h"

/* Another number whenever what this header or those in replay/policies/ declare changes. */
#define POLICY_API 2

/*
 * The symbol that a policy built as a shared object exports: const struct policy tlbreplay_policy.
 */
#define POLICY_SYMBOL "tlbreplay_policy"

/* How far one invalidation reaches. */
enum reach {
	REACH_PAGE,  /* one base page */
	REACH_BLOCK, /* a contpte block or a pmd block, by its start */
	REACH_HULL,  /* from the first to the last page that changed */
	REACH_MM,    /* the whole address space */
	REACH_ALL,   /* every address space */
};

/* When it is complete. */
enum wait {
	WAIT_SYNC,     /* before the caller goes on */
	/* with others: issued at once or at the end of a batch, complete when it ends */
	WAIT_BATCHED,
	WAIT_DEFERRED, /* later, by whoever owns the CPU */
};

enum {
	ACT_NOTIFY = 1 << 0,    /* secondary TLBs (SMMU with SVA, KVM) are told */
	ACT_KEEP_WALK = 1 << 1, /* last level only: walk caches are kept */
	ACT_LAZY = 1 << 2,      /* scope mask: lazy CPUs are interrupted too */
	ACT_SET = 1 << 3,       /* scope mask, from a hook: exactly the CPUs in the view's set */
};

/* One invalidation. All zero: none. */
struct policy_action {
	uint8_t scope; /* enum scope */
	uint8_t reach; /* enum reach */
	uint8_t wait;  /* enum wait */
	uint8_t flags; /* ACT_* */
	uint8_t times; /* issued so many times over (errata, split address spaces); 0 means 1 */
};

#define POLICY_ACTIONS 2

/* What happens at one decision point: up to two invalidations, in this order. */
struct policy_cell {
	struct policy_action act[POLICY_ACTIONS];
};

/*
 * What the engine lets a hook ask. CPU sets are bitmaps of `words` 64-bit words, valid until the
 * next question.
 */
struct policy_view {
	unsigned int nr_cpus;
	unsigned int words;
	unsigned int page_shift;
	/* CPUs that have MM loaded now, lazy ones included, and those of all CPUs that are lazy. */
	const uint64_t *(*loaded)(const struct policy_view *view, uint32_t mm);
	const uint64_t *(*lazy)(const struct policy_view *view);
	/*
	 * CPUs that have ever had MM loaded, or may have: all, if it is older than the recording.
	 */
	const uint64_t *(*visited)(const struct policy_view *view, uint32_t mm);
	/*
	 * CPUs that may hold an entry of the page at ADDR (0: any entry of MM) under this policy,
	 * at the high bound. No kernel can know; for limits and oracles.
	 */
	const uint64_t *(*holders)(const struct policy_view *view, uint32_t mm, uint64_t addr);
	/*
	 * A hook that gives an action ACT_SET writes the CPUs here, all WORDS. Those are flushed,
	 * whether they have the mm loaded or not, and no others, now or at a later switch. The one
	 * that decides may be among them; it takes no interrupt. Its content is lost when the hook
	 * returns.
	 */
	uint64_t *set;
};

/* What the hardware behind a policy does, or demands. */
enum {
	/* A permission fault drops the entry it came from: the next access walks again. */
	POLICY_REWALKS = 1 << 0,
	/* A change of level or of a contiguous bit needs a flush in between (break before make). */
	POLICY_BREAKS_FIRST = 1 << 1,
};

#define POINT_BIT(point) (UINT32_C(1) << (point))

struct policy {
	unsigned int api;       /* POLICY_API */
	const char *name;
	const char *summary;    /* one sentence */
	const char *source;     /* kernel commit, series or paper that it models */
	const char *omits;      /* what it does not model */
	const char *beyond;     /* what decide() adds to the table, one sentence; NULL: nothing */
	unsigned int flags;     /* POLICY_* */
	/* POINT_BIT()s at which decide() may flush where the table is empty */
	uint32_t hooked;
	/*
	 * POINT_BIT()s at which what decide() does depends on its parameters, the point and the level
	 * alone: it is called once for all there.
	 */
	uint32_t plain;
	/* its own; the engine adds share and write_share; may be NULL */
	const struct param *params;
	size_t params_size;     /* bytes of the struct that PARAMS describes */
	size_t state_size;      /* bytes of private state beyond, zeroed; 0: none */
	/* A stale entry that allows less than the PTE costs one spurious fault (all known CPUs). */
	struct policy_cell table[NR_POINTS][NR_LEVELS];
	/*
	 * Optional. Gets the cell that the table gives for EVENT and may change it. PARAMS and
	 * STATE are this instance's.
	 */
	void (*decide)(const struct policy_view *view, const void *params, void *state,
		       const struct tlb_event *event, struct policy_cell *cell);
	/*
	 * Needed if an action waits WAIT_DEFERRED: the period, in ns, of the tick at which the
	 * other CPUs carry it out (at the latest; also when they next switch). The CPU that asks is
	 * not waited for: give it a LOCAL action of its own.
	 */
	int64_t (*defer_ns)(const void *params);
	/* Optional: the mm is gone, or STATE itself is about to be freed (mm 0). */
	void (*forget)(void *state, uint32_t mm);
};

/* All built-in policies, by name; ends with NULL. */
extern const struct policy *const policies[];

/* The built-in policy NAME, or NULL. */
const struct policy *policy_find(const char *name);

/*
 * Is POLICY of this API and sane: named, described, its table and its parameters in range? Returns
 * 0, or -EINVAL with the first thing that is wrong in ERR.
 */
int policy_check(const struct policy *policy, char *err, size_t err_size);

#endif
