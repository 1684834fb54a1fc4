// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * deferred: flush here at once, leave a note for the other CPUs, and go on. They sweep at their
 * next timer tick or switch, and the pages are not given to anybody else before all have.
 *
 *	CPU 0   munmap: flush, note | ................. | pages are free
 *	CPU 1   ....reads the page: still mapped here . | tick: flush
 *
 * That is right for what only frees. A page that is copied or moved must not be written meanwhile,
 * so those flushes stay as they are on x86. Of taking a permission away (mprotect, the write
 * protection of a fork, mremap, cleaning) the paper says that it must not wait; here it does unless
 * lazy_protect is off, which makes the window visible.
 */
#include "replay/policies/sets.h"
#include "replay/policies/x86.h"

#define HERE(r)  {.scope = SCOPE_LOCAL, .reach = REACH_##r, .flags = ACT_NOTIFY}
#define LATER(r) {.scope = SCOPE_MASK, .reach = REACH_##r, .wait = WAIT_DEFERRED}
#define LATER_LAZY(r)                                                                              \
	{.scope = SCOPE_MASK, .reach = REACH_##r, .wait = WAIT_DEFERRED, .flags = ACT_LAZY}

struct deferred_params {
	struct x86_params x86;
	int64_t tick;
	int64_t lazy_protect;
};

static const struct param deferred_params[] = {
	X86_PARAMS,
	{.name = "tick",
	 .type = PARAM_TIME,
	 .offset = offsetof(struct deferred_params, tick),
	 .unit = "ns",
	 .def = 1e6,
	 .min = 1,
	 .max = 1e9,
	 .help = "period of the timer tick at which a CPU sweeps at the latest (1/CONFIG_HZ)"},
	{.name = "lazy_protect",
	 .type = PARAM_BOOL,
	 .offset = offsetof(struct deferred_params, lazy_protect),
	 .unit = "",
	 .def = 1,
	 .min = 0,
	 .max = 1,
	 .help = "flushes that take a permission away wait, too; off: those are synchronous, as in "
		 "the paper"},
	PARAM_END,
};

static int64_t defer_ns(const void *params)
{
	return ((const struct deferred_params *)params)->tick;
}

/* Nobody waits for an interrupt: what x86 does. */
static void make_sync(struct policy_cell *cell)
{
	cell->act[0] = cell->act[1];
	cell->act[0].wait = WAIT_SYNC;
	cell->act[0].flags |= ACT_NOTIFY;
	cell->act[1] = (struct policy_action){0};
}

static void decide(const struct policy_view *view, const void *params, void *state,
		   const struct tlb_event *event, struct policy_cell *cell)
{
	static const uint32_t protects = POINT_BIT(POINT_PROTECT) | POINT_BIT(POINT_NUMA) |
					 POINT_BIT(POINT_FORK) | POINT_BIT(POINT_MREMAP) |
					 POINT_BIT(POINT_CLEAN) | POINT_BIT(POINT_AGE);
	const struct deferred_params *own = params;

	if (cell->act[1].wait == WAIT_DEFERRED) {
		const uint64_t *loaded = view->loaded(view, event->mm);

		if (!set_others(view, loaded, event->cpu) ||
		    (!own->lazy_protect && protects & POINT_BIT(event->point))) {
			make_sync(cell);
		} else if (!set_has(loaded, event->cpu)) {
			/* Reclaim from elsewhere: nothing is here. */
			cell->act[0] = cell->act[1];
			cell->act[0].flags |= ACT_NOTIFY;
			cell->act[1] = (struct policy_action){0};
		}
	}
	x86_decide(view, params, state, event, cell);
}

const struct policy policy_deferred = {
	.api = POLICY_API,
	.name = "deferred",
	.summary = "x86 where other CPUs flush at their next tick or switch, and pages are freed "
		   "only then",
	.source = "LATR: Kumar et al., \"LATR: Lazy Translation Coherence\", ASPLOS 2018",
	.omits = "the cost of noting and sweeping, the limit on notes (64 per CPU, then "
		 "interrupts), the memory "
		 "that waits to be freed; and what x86 omits",
	.beyond = "nothing is left for later if no other CPU has the mm loaded; " X86_BEYOND,
	.flags = POLICY_REWALKS,
	.hooked = X86_HOOKED,
	.plain = X86_PLAIN,
	.params = deferred_params,
	.params_size = sizeof(struct deferred_params),
	.state_size = sizeof(struct x86_state),
	/* clang-format off */
	.table = {
		X86_COPY_ROWS,
		[POINT_UNMAP] = {
			[LEVEL_PTE] = {{HERE(HULL), LATER(HULL)}}, [LEVEL_CONTPTE] = {{HERE(HULL), LATER(HULL)}},
			[LEVEL_PMD] = {{HERE(HULL), LATER(HULL)}}, [LEVEL_HUGETLB] = {{HERE(HULL), LATER(HULL)}},
		},
		[POINT_TABLES_FREED] = {
			[LEVEL_PTE] = {{HERE(HULL), LATER_LAZY(HULL)}},
			[LEVEL_PMD] = {{HERE(HULL), LATER_LAZY(HULL)}},
		},
		[POINT_NESTED] = {[LEVEL_MM] = {{HERE(MM), LATER_LAZY(MM)}}},
		[POINT_BATCH_PENDING] = {[LEVEL_MM] = {{HERE(MM), LATER_LAZY(MM)}}},
		[POINT_PROTECT] = {
			[LEVEL_PTE] = {{HERE(HULL), LATER(HULL)}}, [LEVEL_CONTPTE] = {{HERE(HULL), LATER(HULL)}},
			[LEVEL_PMD] = {{HERE(HULL), LATER(HULL)}}, [LEVEL_HUGETLB] = {{HERE(HULL), LATER(HULL)}},
		},
		[POINT_NUMA] = {
			[LEVEL_PTE] = {{HERE(HULL), LATER(HULL)}}, [LEVEL_CONTPTE] = {{HERE(HULL), LATER(HULL)}},
			[LEVEL_PMD] = {{HERE(HULL), LATER(HULL)}},
		},
		[POINT_FORK] = {[LEVEL_MM] = {{HERE(MM), LATER_LAZY(MM)}}},
		[POINT_MIGRATE] = {
			[LEVEL_PTE] = {{I(PAGE)}}, [LEVEL_CONTPTE] = {{I(PAGE)}},
			[LEVEL_PMD] = {{I_LAZY(MM)}}, [LEVEL_HUGETLB] = {{I(BLOCK)}},
		},
		[POINT_RECLAIM] = {
			[LEVEL_PTE] = {{HERE(PAGE), LATER(PAGE)}}, [LEVEL_CONTPTE] = {{HERE(PAGE), LATER(PAGE)}},
			[LEVEL_PMD] = {{HERE(MM), LATER_LAZY(MM)}},
			[LEVEL_HUGETLB] = {{HERE(BLOCK), LATER(BLOCK)}},
		},
		[POINT_AGE] = {[LEVEL_PMD] = {{HERE(MM), LATER_LAZY(MM)}}},
		[POINT_CLEAN] = {
			[LEVEL_PTE] = {{HERE(PAGE), LATER(PAGE)}}, [LEVEL_CONTPTE] = {{HERE(PAGE), LATER(PAGE)}},
			[LEVEL_PMD] = {{HERE(MM), LATER_LAZY(MM)}},
		},
		[POINT_MREMAP] = {
			[LEVEL_PTE] = {{HERE(HULL), LATER_LAZY(HULL)}},
			[LEVEL_CONTPTE] = {{HERE(HULL), LATER_LAZY(HULL)}},
			[LEVEL_PMD] = {{HERE(HULL), LATER_LAZY(HULL)}},
			[LEVEL_HUGETLB] = {{HERE(HULL), LATER_LAZY(HULL)}},
		},
		[POINT_EXIT] = {[LEVEL_MM] = {{HERE(MM), LATER_LAZY(MM)}}},
	},
	/* clang-format on */
	.decide = decide,
	.defer_ns = defer_ns,
	.forget = x86_forget,
};
