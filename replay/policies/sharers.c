// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sharers: an oracle that knows which CPUs hold an entry and flushes those, and no others. Where
 * tables are freed, the CPUs that have the mm loaded may walk them and are flushed as well. No
 * kernel can do it; what remains is what safety costs at least.
 *
 * Its CPUs walk again after a permission fault, so a change that only allows more needs no flush;
 * with upgrades=on the holders are flushed there, too, and no spurious fault is left.
 */
#include "replay/policies/sets.h"

/* To the holders, exactly. */
#define S(r)     {.scope = SCOPE_MASK, .reach = REACH_##r, .flags = ACT_NOTIFY | ACT_SET}
#define ALL_CPUS {.scope = SCOPE_MASK, .reach = REACH_HULL, .flags = ACT_NOTIFY | ACT_LAZY}

struct sharers_params {
	int64_t upgrades;
};

static const struct param sharers_params[] = {
	{.name = "upgrades",
	 .type = PARAM_BOOL,
	 .offset = offsetof(struct sharers_params, upgrades),
	 .unit = "",
	 .def = 0,
	 .min = 0,
	 .max = 1,
	 .help = "holders are also flushed where the entry allows more from now on; off: they find "
		 "out by a "
		 "fault"},
	PARAM_END,
};

static void find_holders(const struct policy_view *view, const struct tlb_event *event)
{
	static const uint32_t frees_tables = POINT_BIT(POINT_TABLES_FREED) | POINT_BIT(POINT_EXIT) |
					     POINT_BIT(POINT_COLLAPSE);
	/* One entry: a page, or a block by its first page. */
	static const uint32_t one_entry = POINT_BIT(POINT_WP_REUSE) | POINT_BIT(POINT_DIRTY_UP) |
					  POINT_BIT(POINT_HUGETLB_REUSE) | POINT_BIT(POINT_COW) |
					  POINT_BIT(POINT_MIGRATE) | POINT_BIT(POINT_RECLAIM) |
					  POINT_BIT(POINT_CLEAN);
	bool one = event->pages == 1 || one_entry & POINT_BIT(event->point);

	set_copy(view, view->set, view->holders(view, event->mm, one ? event->addr : 0));
	if (frees_tables & POINT_BIT(event->point))
		set_add(view, view->set, view->loaded(view, event->mm));
}

static bool allows_more(const struct tlb_event *event)
{
	static const uint32_t upgrades = POINT_BIT(POINT_WP_REUSE) | POINT_BIT(POINT_DIRTY_UP) |
					 POINT_BIT(POINT_HUGETLB_REUSE);

	return upgrades & POINT_BIT(event->point) ||
	       (event->point == POINT_PROTECT && event->flags & EVENT_UP);
}

static void decide(const struct policy_view *view, const void *params, void *state,
		   const struct tlb_event *event, struct policy_cell *cell)
{
	const struct sharers_params *own = params;
	unsigned int n;

	(void)state;
	if (!(cell->act[0].flags & ACT_SET))
		return;
	if (!event->mm || (!own->upgrades && allows_more(event))) {
		*cell = (struct policy_cell){0};
		return;
	}
	find_holders(view, event);
	n = set_count(view, view->set);
	if (!n) {
		*cell = (struct policy_cell){0};
	} else if (n == 1 && set_has(view->set, event->cpu)) {
		cell->act[0].scope = SCOPE_LOCAL;
		cell->act[0].flags &= (uint8_t)~ACT_SET;
	}
}

/* clang-format off */
#define EACH(r)                                                                                    \
	{[LEVEL_PTE] = {{S(r)}}, [LEVEL_CONTPTE] = {{S(r)}}, [LEVEL_PMD] = {{S(r)}},               \
	 [LEVEL_HUGETLB] = {{S(r)}}}
#define PAGE_OR_BLOCK                                                                              \
	{[LEVEL_PTE] = {{S(PAGE)}}, [LEVEL_CONTPTE] = {{S(BLOCK)}}, [LEVEL_PMD] = {{S(BLOCK)}},    \
	 [LEVEL_HUGETLB] = {{S(BLOCK)}}}

const struct policy policy_sharers = {
	.api = POLICY_API,
	.name = "sharers",
	.summary = "an oracle: exactly the CPUs that hold the entry are flushed; the lower limit",
	.source = "none: a limit",
	.omits = "how a kernel would know; ranges go to all who hold anything of the mm; nothing is "
		 "batched or put off to a switch, which a kernel that does both may undercut in count",
	.beyond = "the scope is none, local or the CPUs that hold the entry, whichever it takes",
	.flags = POLICY_REWALKS,
	.params = sharers_params,
	.params_size = sizeof(struct sharers_params),
	.table = {
		[POINT_WP_REUSE] = PAGE_OR_BLOCK,
		[POINT_DIRTY_UP] = PAGE_OR_BLOCK,
		[POINT_HUGETLB_REUSE] = {[LEVEL_HUGETLB] = {{S(BLOCK)}}},
		[POINT_COW] = PAGE_OR_BLOCK,
		[POINT_UNMAP] = EACH(HULL),
		[POINT_TABLES_FREED] = EACH(HULL),
		[POINT_NESTED] = {[LEVEL_MM] = {{S(MM)}}},
		[POINT_PROTECT] = EACH(HULL),
		[POINT_NUMA] = EACH(HULL),
		[POINT_FORK] = {[LEVEL_MM] = {{S(MM)}}},
		[POINT_MIGRATE] = PAGE_OR_BLOCK,
		[POINT_RECLAIM] = PAGE_OR_BLOCK,
		[POINT_CLEAN] = PAGE_OR_BLOCK,
		[POINT_MREMAP] = EACH(HULL),
		[POINT_SPLIT] = {[LEVEL_PMD] = {{S(BLOCK)}}},
		[POINT_COLLAPSE] = {[LEVEL_PMD] = {{S(HULL)}}},
		[POINT_EXIT] = {[LEVEL_MM] = {{S(MM)}}},
		[POINT_KERNEL] = {[LEVEL_ALL] = {{ALL_CPUS}}},
	},
	/* clang-format on */
	.decide = decide,
};
