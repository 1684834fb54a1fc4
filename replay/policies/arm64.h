/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the arm64 policies share, after Linux 6.12 (arch/arm64/include/asm/tlbflush.h and tlb.h,
 * arch/arm64/mm/context.c, mm/memory.c, mm/mprotect.c, kernel/fork.c): every row of the table in
 * which most of them do not differ, the limits at which a range becomes the whole address space,
 * and the overlays, which are properties of a machine rather than of a policy.
 *
 * Parameters and state of a policy that uses arm64_decide() or arm64_overlays() begin with those
 * here.
 */
#ifndef POLICIES_ARM64_H
#define POLICIES_ARM64_H

#include "replay/policy.h"

#define B(r, f)   {.scope = SCOPE_BROADCAST, .reach = REACH_##r, .flags = (f)}
#define B_BATCH(r, f) \
	{.scope = SCOPE_BROADCAST, .reach = REACH_##r, .wait = WAIT_BATCHED, .flags = (f)}
#define L(r, f)   {.scope = SCOPE_LOCAL, .reach = REACH_##r, .flags = (f)}
#define LEAF      (ACT_NOTIFY | ACT_KEEP_WALK)
#define WALK      ACT_NOTIFY

/* clang-format off */
/*
 * Write upgrades, as up to 6.18. A reuse unfolds a contpte block first, which needs break before
 * make.
 */
#define ARM64_UPGRADE_ROWS                                                                         \
	[POINT_WP_REUSE] = {                                                                       \
		[LEVEL_PTE] = {{B(PAGE, LEAF)}},                                                   \
		[LEVEL_CONTPTE] = {{B(BLOCK, LEAF), B(PAGE, LEAF)}},                               \
		[LEVEL_PMD] = {{B(BLOCK, LEAF)}},                                                  \
		[LEVEL_HUGETLB] = {{B(PAGE, LEAF)}},                                               \
	},                                                                                         \
	[POINT_DIRTY_UP] = {                                                                       \
		[LEVEL_PTE] = {{B(PAGE, LEAF)}},                                                   \
		[LEVEL_CONTPTE] = {{B(BLOCK, LEAF)}},                                              \
		[LEVEL_PMD] = {{B(BLOCK, LEAF)}},                                                  \
		[LEVEL_HUGETLB] = {{B(PAGE, LEAF)}},                                               \
	},                                                                                         \
	[POINT_HUGETLB_REUSE] = {[LEVEL_HUGETLB] = {{B(PAGE, LEAF)}}}

/* Everything else. */
#define ARM64_SHARED_ROWS                                                                          \
	[POINT_COW] = {                                                                            \
		[LEVEL_PTE] = {{B(PAGE, LEAF)}},                                                   \
		[LEVEL_CONTPTE] = {{B(BLOCK, LEAF), B(PAGE, LEAF)}},                               \
		[LEVEL_PMD] = {{B(BLOCK, WALK), B(PAGE, LEAF)}},                                   \
		[LEVEL_HUGETLB] = {{B(BLOCK, LEAF)}},                                              \
	},                                                                                         \
	[POINT_UNMAP] = {                                                                          \
		[LEVEL_PTE] = {{B(HULL, LEAF)}}, [LEVEL_CONTPTE] = {{B(HULL, LEAF)}},              \
		[LEVEL_PMD] = {{B(HULL, LEAF)}}, [LEVEL_HUGETLB] = {{B(HULL, LEAF)}},              \
	},                                                                                         \
	[POINT_TABLES_FREED] = {                                                                   \
		[LEVEL_PTE] = {{B(HULL, WALK)}}, [LEVEL_PMD] = {{B(HULL, WALK)}},                  \
	},                                                                                         \
	[POINT_NESTED] = {[LEVEL_MM] = {{B(MM, WALK)}}},                                           \
	[POINT_BATCH_PENDING] = {[LEVEL_MM] = {{B(MM, WALK)}}},                                    \
	[POINT_PROTECT] = {                                                                        \
		[LEVEL_PTE] = {{B(HULL, LEAF)}}, [LEVEL_CONTPTE] = {{B(HULL, LEAF)}},              \
		[LEVEL_PMD] = {{B(HULL, LEAF), B(HULL, LEAF)}},                                    \
		[LEVEL_HUGETLB] = {{B(HULL, LEAF)}},                                               \
	},                                                                                         \
	[POINT_PROT_NONE_RW] = {                                                                   \
		[LEVEL_PTE] = {{B(HULL, LEAF)}}, [LEVEL_CONTPTE] = {{B(HULL, LEAF)}},              \
		[LEVEL_PMD] = {{B(HULL, LEAF), B(HULL, LEAF)}},                                    \
		[LEVEL_HUGETLB] = {{B(HULL, LEAF)}},                                               \
	},                                                                                         \
	[POINT_NUMA] = {                                                                           \
		[LEVEL_PTE] = {{B(HULL, LEAF)}}, [LEVEL_CONTPTE] = {{B(HULL, LEAF)}},              \
		[LEVEL_PMD] = {{B(HULL, LEAF), B(HULL, LEAF)}},                                    \
	},                                                                                         \
	[POINT_FORK] = {[LEVEL_MM] = {{B(MM, WALK)}}},                                             \
	[POINT_MIGRATE] = {                                                                        \
		[LEVEL_PTE] = {{B_BATCH(PAGE, LEAF)}},                                             \
		[LEVEL_CONTPTE] = {{B(BLOCK, LEAF), B_BATCH(PAGE, LEAF)}},                         \
		[LEVEL_PMD] = {{B(BLOCK, LEAF)}},                                                  \
		[LEVEL_HUGETLB] = {{B(BLOCK, LEAF)}},                                              \
	},                                                                                         \
	[POINT_RECLAIM] = {                                                                        \
		[LEVEL_PTE] = {{B_BATCH(PAGE, LEAF)}},                                             \
		[LEVEL_CONTPTE] = {{B(BLOCK, LEAF), B_BATCH(PAGE, LEAF)}},                         \
		[LEVEL_PMD] = {{B(BLOCK, LEAF)}},                                                  \
		[LEVEL_HUGETLB] = {{B(BLOCK, LEAF)}},                                              \
	},                                                                                         \
	[POINT_AGE] = {                                                                            \
		[LEVEL_PTE] = {{B_BATCH(PAGE, LEAF)}}, [LEVEL_CONTPTE] = {{B_BATCH(BLOCK, LEAF)}}, \
		[LEVEL_PMD] = {{B(BLOCK, LEAF)}},                                                  \
	},                                                                                         \
	[POINT_CLEAN] = {                                                                          \
		[LEVEL_PTE] = {{B(PAGE, LEAF)}}, [LEVEL_CONTPTE] = {{B(BLOCK, LEAF)}},             \
		[LEVEL_PMD] = {{B(BLOCK, LEAF)}},                                                  \
	},                                                                                         \
	[POINT_MREMAP] = {                                                                         \
		[LEVEL_PTE] = {{B(HULL, WALK)}}, [LEVEL_CONTPTE] = {{B(HULL, WALK)}},              \
		[LEVEL_PMD] = {{B(HULL, WALK)}}, [LEVEL_HUGETLB] = {{B(HULL, WALK)}},              \
	},                                                                                         \
	[POINT_SPLIT] = {[LEVEL_PMD] = {{B(BLOCK, WALK)}}},                                        \
	[POINT_COLLAPSE] = {[LEVEL_PMD] = {{B(BLOCK, WALK)}}},                                     \
	[POINT_FOLD] = {[LEVEL_CONTPTE] = {{B(BLOCK, LEAF)}}},                                     \
	[POINT_UNFOLD] = {[LEVEL_CONTPTE] = {{B(BLOCK, LEAF)}}},                                   \
	[POINT_EXIT] = {[LEVEL_MM] = {{B(MM, WALK)}}},                                             \
	[POINT_KERNEL] = {[LEVEL_ALL] = {{B(HULL, WALK)}}}
/* clang-format on */

struct arm64_params {
	int64_t range_ops;
	int64_t repeat_tlbi;
	int64_t kpti;
	int64_t sva;
	int64_t reclaim_batching;
	int64_t guest;
	int64_t asid_bits;
};

/* The entries of a parameter table for them. */
#define ARM64_PARAMS                                                                               \
	{.name = "range_ops", .type = PARAM_BOOL, .offset = offsetof(struct arm64_params, range_ops), \
	 .unit = "", .def = 1, .min = 0, .max = 1,                                                 \
	 .help = "the CPUs have TLBI range operations (FEAT_TLBIRANGE): a range becomes the whole mm " \
		 "above 2^21 pages, else at as many strides as a table has entries (512 with 4K pages)"}, \
	{.name = "repeat_tlbi", .type = PARAM_BOOL,                                                \
	 .offset = offsetof(struct arm64_params, repeat_tlbi), .unit = "", .def = 0, .min = 0, .max = 1, \
	 .help = "the CPUs have an erratum for which each TLBI and its barrier are issued twice "   \
		 "(ARM64_WORKAROUND_REPEAT_TLBI; it also keeps reclaim from batching)"},           \
	{.name = "kpti", .type = PARAM_BOOL, .offset = offsetof(struct arm64_params, kpti), .unit = "", \
	 .def = 0, .min = 0, .max = 1,                                                             \
	 .help = "the kernel's tables are apart from the user's: each user operation is issued for both " \
		 "ASIDs, and half as many mms have one"},                                          \
	{.name = "sva", .type = PARAM_BOOL, .offset = offsetof(struct arm64_params, sva), .unit = "", \
	 .def = 1, .min = 0, .max = 1,                                                             \
	 .help = "secondary TLBs (SMMU, KVM) are told of a flush; what that costs is the preset's"}, \
	{.name = "reclaim_batching", .type = PARAM_BOOL,                                           \
	 .offset = offsetof(struct arm64_params, reclaim_batching), .unit = "", .def = 1, .min = 0, \
	 .max = 1,                                                                                 \
	 .help = "reclaim and migration wait once for many pages (6.6 and later); off: for each"}, \
	{.name = "guest", .type = PARAM_BOOL, .offset = offsetof(struct arm64_params, guest), .unit = "", \
	 .def = 0, .min = 0, .max = 1,                                                             \
	 .help = "a KVM guest: the hardware makes each local operation a broadcast (HCR_EL2.FB)"}, \
	{.name = "asid_bits", .type = PARAM_COUNT, .offset = offsetof(struct arm64_params, asid_bits), \
	 .unit = "bits", .def = 16, .min = 8, .max = 16,                                           \
	 .help = "so many ASIDs (2 to that power) are there before they roll over and every CPU flushes " \
		 "all at its next switch; counted from the recording's begin"}

/* ARM64_PARAMS alone. */
extern const struct param arm64_params[];

struct arm64_state {
	uint32_t *generations; /* by mm: in which generation it got its ASID; 0: none yet */
	size_t nr_generations;
	uint32_t generation, used;
	uint32_t *active;  /* by CPU: the mm it switched to last */
	uint64_t *pending; /* CPUs that flush at their next switch */
};

#define ARM64_HOOKED POINT_BIT(POINT_SWITCH)
/* Where arm64_decide() looks at no range and at no CPU. */
#define ARM64_PLAIN                                                                                \
	(POINT_BIT(POINT_WP_REUSE) | POINT_BIT(POINT_DIRTY_UP) | POINT_BIT(POINT_HUGETLB_REUSE) |  \
	 POINT_BIT(POINT_YOUNG) | POINT_BIT(POINT_COW) | POINT_BIT(POINT_NESTED) |                 \
	 POINT_BIT(POINT_FORK) | POINT_BIT(POINT_MIGRATE) | POINT_BIT(POINT_RECLAIM) |             \
	 POINT_BIT(POINT_AGE) | POINT_BIT(POINT_CLEAN) | POINT_BIT(POINT_EXIT))
#define ARM64_BEYOND                                                                               \
	"a range over the limit becomes the whole mm; the overlays; all is flushed on a CPU at its " \
	"first switch after the ASIDs rolled over"

/* Limits and overlays; comes last in a hook. PARAMS and STATE begin with those above. */
void arm64_decide(const struct policy_view *view, const void *params, void *state,
		  const struct tlb_event *event, struct policy_cell *cell);
void arm64_forget(void *state, uint32_t mm);

/* Does ACT serve one user address space that is known? */
static inline bool arm64_user_action(const struct tlb_event *event, const struct policy_action *act)
{
	return event->mm && event->point != POINT_KERNEL && act->scope != SCOPE_NONE &&
	       act->reach != REACH_ALL;
}

#endif
