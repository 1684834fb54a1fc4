/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the x86 policies share, after Linux 6.12 (arch/x86/mm/tlb.c,
 * arch/x86/include/asm/tlbflush.h):
 * the rows, the ceiling above which a range becomes a full flush, the tagged address spaces of a
 * CPU with their generations, and batching in reclaim.
 *
 * Parameters and state of a policy that uses x86_decide() begin with those here.
 */
#ifndef POLICIES_X86_H
#define POLICIES_X86_H

#include "replay/policy.h"

#define I(r)       {.scope = SCOPE_MASK, .reach = REACH_##r, .flags = ACT_NOTIFY}
#define I_LAZY(r)  {.scope = SCOPE_MASK, .reach = REACH_##r, .flags = ACT_NOTIFY | ACT_LAZY}
#define I_BATCH(r) \
	{.scope = SCOPE_MASK, .reach = REACH_##r, .wait = WAIT_BATCHED, .flags = ACT_NOTIFY}

/* clang-format off */
/*
 * Points whose flush no policy here puts off or leaves out. contpte: no such level, plain entries.
 */
#define X86_COPY_ROWS                                                                              \
	[POINT_COW] = {                                                                            \
		[LEVEL_PTE] = {{I(PAGE)}}, [LEVEL_CONTPTE] = {{I(PAGE)}},                          \
		[LEVEL_PMD] = {{I_LAZY(MM), I(PAGE)}},                                             \
		[LEVEL_HUGETLB] = {{I(BLOCK)}},                                                    \
	},                                                                                         \
	[POINT_SPLIT] = {[LEVEL_PMD] = {{I_LAZY(MM)}}},                                            \
	[POINT_COLLAPSE] = {[LEVEL_PMD] = {{I_LAZY(MM)}}},                                         \
	[POINT_KERNEL] = {[LEVEL_ALL] = {{I_LAZY(HULL)}}}

#define X86_ROWS                                                                                   \
	X86_COPY_ROWS,                                                                             \
	[POINT_UNMAP] = {                                                                          \
		[LEVEL_PTE] = {{I(HULL)}}, [LEVEL_CONTPTE] = {{I(HULL)}},                          \
		[LEVEL_PMD] = {{I(HULL)}}, [LEVEL_HUGETLB] = {{I(HULL)}},                          \
	},                                                                                         \
	[POINT_TABLES_FREED] = {                                                                   \
		[LEVEL_PTE] = {{I_LAZY(HULL)}}, [LEVEL_PMD] = {{I_LAZY(HULL)}},                    \
	},                                                                                         \
	[POINT_NESTED] = {[LEVEL_MM] = {{I_LAZY(MM)}}},                                            \
	[POINT_BATCH_PENDING] = {[LEVEL_MM] = {{I_LAZY(MM)}}},                                     \
	[POINT_PROTECT] = {                                                                        \
		[LEVEL_PTE] = {{I(HULL)}}, [LEVEL_CONTPTE] = {{I(HULL)}},                          \
		[LEVEL_PMD] = {{I(HULL)}}, [LEVEL_HUGETLB] = {{I(HULL)}},                          \
	},                                                                                         \
	[POINT_NUMA] = {                                                                           \
		[LEVEL_PTE] = {{I(HULL)}}, [LEVEL_CONTPTE] = {{I(HULL)}}, [LEVEL_PMD] = {{I(HULL)}}, \
	},                                                                                         \
	[POINT_FORK] = {[LEVEL_MM] = {{I_LAZY(MM)}}},                                              \
	[POINT_MIGRATE] = {                                                                        \
		[LEVEL_PTE] = {{I_BATCH(MM)}}, [LEVEL_CONTPTE] = {{I_BATCH(MM)}},                  \
		[LEVEL_PMD] = {{I_LAZY(MM)}}, [LEVEL_HUGETLB] = {{I(BLOCK)}},                      \
	},                                                                                         \
	[POINT_RECLAIM] = {                                                                        \
		[LEVEL_PTE] = {{I_BATCH(MM)}}, [LEVEL_CONTPTE] = {{I_BATCH(MM)}},                  \
		[LEVEL_PMD] = {{I_LAZY(MM)}}, [LEVEL_HUGETLB] = {{I(BLOCK)}},                      \
	},                                                                                         \
	[POINT_AGE] = {[LEVEL_PMD] = {{I_LAZY(MM)}}},                                              \
	[POINT_CLEAN] = {                                                                          \
		[LEVEL_PTE] = {{I(PAGE)}}, [LEVEL_CONTPTE] = {{I(PAGE)}},                          \
		[LEVEL_PMD] = {{I_LAZY(MM)}},                                                      \
	},                                                                                         \
	[POINT_MREMAP] = {                                                                         \
		[LEVEL_PTE] = {{I_LAZY(HULL)}}, [LEVEL_CONTPTE] = {{I_LAZY(HULL)}},                \
		[LEVEL_PMD] = {{I_LAZY(HULL)}}, [LEVEL_HUGETLB] = {{I_LAZY(HULL)}},                \
	},                                                                                         \
	[POINT_EXIT] = {[LEVEL_MM] = {{I_LAZY(MM)}}}
/* clang-format on */

#define X86_MAX_SLOTS 16

struct x86_params {
	int64_t ceiling;
	int64_t pcid;
	int64_t slots;
	int64_t sva;
	int64_t reclaim_batching;
};

/* The entries of a parameter table for them. */
#define X86_PARAMS                                                                                 \
	{.name = "ceiling", .type = PARAM_COUNT, .offset = offsetof(struct x86_params, ceiling),   \
	 .unit = "pages", .def = 33, .min = 0, .max = 1e9,                                         \
	 .help = "a range of more strides than this is flushed as a whole "                         \
		 "(tlb_single_page_flush_ceiling)"},                                                \
	{.name = "pcid", .type = PARAM_BOOL, .offset = offsetof(struct x86_params, pcid), .unit = "", \
	 .def = 1, .min = 0, .max = 1,                                                             \
	 .help = "entries are tagged, so that a switch need not flush (X86_FEATURE_PCID)"},        \
	{.name = "slots", .type = PARAM_COUNT, .offset = offsetof(struct x86_params, slots),       \
	 .unit = "address spaces per CPU", .def = 6, .min = 1, .max = X86_MAX_SLOTS,               \
	 .help = "tagged address spaces that a CPU keeps (TLB_NR_DYN_ASIDS)"},                     \
	{.name = "sva", .type = PARAM_BOOL, .offset = offsetof(struct x86_params, sva), .unit = "", \
	 .def = 1, .min = 0, .max = 1,                                                             \
	 .help = "secondary TLBs (IOMMU, KVM) are told of a flush; what that costs is the preset's"}, \
	{.name = "reclaim_batching", .type = PARAM_BOOL,                                           \
	 .offset = offsetof(struct x86_params, reclaim_batching), .unit = "", .def = 1, .min = 0,   \
	 .max = 1,                                                                                 \
	 .help = "reclaim and migration interrupt once for many pages; off: for each"}

struct x86_cpu;

struct x86_state {
	struct x86_cpu *cpus;
	uint32_t *generations; /* by mm */
	size_t nr_generations;
};

#define X86_HOOKED POINT_BIT(POINT_SWITCH)
/* Where the rows are empty, whatever the state. */
#define X86_PLAIN                                                                                  \
	(POINT_BIT(POINT_WP_REUSE) | POINT_BIT(POINT_DIRTY_UP) | POINT_BIT(POINT_HUGETLB_REUSE) |  \
	 POINT_BIT(POINT_YOUNG) | POINT_BIT(POINT_SPURIOUS))
#define X86_BEYOND                                                                                 \
	"a range over the ceiling is flushed as a whole; reclaim and migration flush the page at "  \
	"once if no other CPU has the mm; a CPU that switches to an mm flushes it if its slot or "   \
	"its generation is gone"

void x86_decide(const struct policy_view *view, const void *params, void *state,
		const struct tlb_event *event, struct policy_cell *cell);
void x86_forget(void *state, uint32_t mm);

/* How many single flushes the range of EVENT would take. */
uint64_t x86_strides(const struct policy_view *view, const struct tlb_event *event);

#endif
