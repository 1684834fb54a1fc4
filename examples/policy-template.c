// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A policy of your own, outside of tlbreplay's tree. This one is arm64-local with a habit: every
 * size-th write upgrade of an address space broadcasts a flush of all of it, so that no CPU is left
 * behind for long. Copy it, change the name, and replace what is marked with "yours".
 *
 *	cc -shared -fPIC -O2 -I/usr/local/include/tlbreplay -o mine.so policy-template.c
 *	tlbreplay -p ./mine.so -p ./mine.so:size=8 -p arm64-local -o results.db host.dat
 *	tlbreplay --help-policy=./mine.so
 *
 * replay/policy.h is the manual: what a table can say, what a hook is told and may ask. The file
 * runs inside of tlbreplay with all your rights, as does everyone else's that you load.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/policy.h"
/*
 * Only for a policy that is like those of arm64: their rows, limits and overlays. There is an
 * x86.h.
 */
#include "replay/policies/arm64.h"

/*
 * Parameters: a struct of int64_t (bool, count, time) and double (fraction), and a table that says
 * what each is called, where it lies, and what it may be. The spec "mine.so:size=8" is read by that
 * table. Those of arm64 come first in both, because arm64_decide() looks for them there.
 */
struct params {
	struct arm64_params arm64;
	int64_t size; /* yours */
};

static const struct param param_table[] = {
	ARM64_PARAMS,
	{.name = "size",
	 .type = PARAM_COUNT,
	 .offset = offsetof(struct params, size),
	 .unit = "upgrades",
	 .def = 64,
	 .min = 1,
	 .max = 1e9,
	 .help = "after so many, the whole address space is flushed everywhere"},
	PARAM_END, /* without it the plug-in is refused */
};

/*
 * State: one block per policy in a replay, zeroed. Never use static variables for it: the same
 * policy may run twice at once, with other parameters.
 */
struct state {
	struct arm64_state arm64;
	int64_t *upgrades; /* by number of the mm; yours */
	size_t nr_upgrades;
};

static int64_t *upgrades_of(struct state *s, uint32_t mm)
{
	if (mm >= s->nr_upgrades) {
		size_t nr = mm * (size_t)2 + 64;
		int64_t *more = realloc(s->upgrades, nr * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + s->nr_upgrades, 0, (nr - s->nr_upgrades) * sizeof(*more));
		s->upgrades = more;
		s->nr_upgrades = nr;
	}
	return &s->upgrades[mm];
}

/*
 * The hook, optional: gets the cell that the table has for EVENT's point and level, and may change
 * it. It must not keep anything of VIEW, and gives the same answer for the same events in the same
 * order:
 * no clocks, no random numbers.
 */
static void decide(const struct policy_view *view, const void *params, void *state,
		   const struct tlb_event *event, struct policy_cell *cell)
{
	const struct params *own = params;
	int64_t *upgrades;

	if (event->point == POINT_WP_REUSE) {
		upgrades = upgrades_of(state, event->mm);
		if (upgrades && ++*upgrades % own->size == 0)
			*cell = (struct policy_cell){{B(MM, WALK)}};
	}
	arm64_decide(view, params, state, event, cell);
}

/* An address space has ended, or (mm 0) the replay has. STATE itself is not yours to free. */
static void forget(void *state, uint32_t mm)
{
	struct state *s = state;

	if (!mm)
		free(s->upgrades);
	arm64_forget(state, mm);
}

/* The one symbol that is looked for. */
const struct policy tlbreplay_policy = {
	.api = POLICY_API,
	.name = "template", /* must not be that of a built-in policy */
	.summary = "as arm64-local, with a broadcast of the whole address space now and then",
	.source = "an example",
	.omits = "a reason to do this",
	.beyond = "every size-th write upgrade flushes the whole mm everywhere; " ARM64_BEYOND,
	.flags = POLICY_BREAKS_FIRST,
	.hooked = ARM64_HOOKED,
	.params = param_table,
	.params_size = sizeof(struct params),
	.state_size = sizeof(struct state),
	/*
	 * What is flushed at each point and level: up to two invalidations, {{first, second}}. B()
	 * is broadcast, L() local; what is not listed flushes nothing, which makes a policy unsafe
	 * soon.
	 */
	.table = {
		[POINT_WP_REUSE] = {
			[LEVEL_PTE] = {{L(PAGE, LEAF)}},
			[LEVEL_CONTPTE] = {{B(BLOCK, LEAF), L(PAGE, LEAF)}},
			[LEVEL_PMD] = {{L(BLOCK, LEAF)}},
		},
		[POINT_DIRTY_UP] = {
			[LEVEL_PTE] = {{L(PAGE, LEAF)}},
			[LEVEL_CONTPTE] = {{L(BLOCK, LEAF)}},
			[LEVEL_PMD] = {{L(BLOCK, LEAF)}},
		},
		[POINT_HUGETLB_REUSE] = {[LEVEL_HUGETLB] = {{B(PAGE, LEAF)}}},
		[POINT_SPURIOUS] = {
			[LEVEL_PTE] = {{L(PAGE, ACT_KEEP_WALK)}},
			[LEVEL_CONTPTE] = {{L(PAGE, ACT_KEEP_WALK)}},
			[LEVEL_PMD] = {{L(PAGE, ACT_KEEP_WALK)}},
		},
		ARM64_SHARED_ROWS,
	},
	.decide = decide,
	.forget = forget,
};
