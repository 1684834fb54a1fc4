// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * x86: interrupts to the CPUs in the mm's mask, and nothing at all for an upgrade: an x86 CPU drops
 * the entry that a permission fault came from, and re-walks.
 *
 * Two things are more than a table. A range over the ceiling becomes a full flush. And a CPU that
 * switches to an mm flushes what it has of it if its slot (PCID) went to another mm meanwhile, or if
 * the mm's generation has moved on: for that the hook keeps six slots per CPU and a generation per mm,
 * as choose_new_asid() and switch_mm_irqs_off() do.
 */
#include "replay/policy.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SLOTS 16

struct x86_params {
	int64_t ceiling;
	int64_t pcid;
	int64_t slots;
};

static const struct param x86_params[] = {
	{.name = "ceiling", .type = PARAM_COUNT, .offset = offsetof(struct x86_params, ceiling),
	 .unit = "pages", .def = 33, .min = 0, .max = 1e9,
	 .help = "a range of more pages than this is flushed as a whole (tlb_single_page_flush_ceiling)"},
	{.name = "pcid", .type = PARAM_BOOL, .offset = offsetof(struct x86_params, pcid), .unit = "",
	 .def = 1, .min = 0, .max = 1,
	 .help = "entries are tagged, so that a switch need not flush (X86_FEATURE_PCID)"},
	{.name = "slots", .type = PARAM_COUNT, .offset = offsetof(struct x86_params, slots),
	 .unit = "address spaces per CPU", .def = 6, .min = 1, .max = MAX_SLOTS,
	 .help = "tagged address spaces that a CPU keeps (TLB_NR_DYN_ASIDS)"},
	PARAM_END,
};

struct slot {
	uint32_t mm, generation;
};

struct cpu {
	struct slot slots[MAX_SLOTS];
	uint32_t current, next;
};

struct x86_state {
	struct cpu *cpus;
	uint32_t *generations; /* by mm */
	size_t nr_generations;
};

static uint32_t *generation_of(struct x86_state *s, uint32_t mm)
{
	static uint32_t spare;

	if (mm >= s->nr_generations) {
		size_t nr = s->nr_generations ? s->nr_generations * 2 : 1024;

		while (nr <= mm)
			nr *= 2;
		uint32_t *more = realloc(s->generations, nr * sizeof(*more));
		if (!more)
			return &spare;
		memset(more + s->nr_generations, 0, (nr - s->nr_generations) * sizeof(*more));
		s->generations = more;
		s->nr_generations = nr;
	}
	return &s->generations[mm];
}

/* The mm is loaded on a CPU: does that CPU have to flush? */
static bool switch_flushes(struct x86_state *s, const struct x86_params *params, struct cpu *cpu,
			   uint32_t mm)
{
	uint32_t generation = *generation_of(s, mm);
	bool flush;

	for (uint32_t i = 0; params->pcid && i < params->slots; i++) {
		if (cpu->slots[i].mm != mm)
			continue;
		flush = cpu->slots[i].generation < generation;
		cpu->slots[i].generation = generation;
		cpu->current = i;
		return flush;
	}
	/* Without tags the mm that never left (a thread of the same process) still needs nothing. */
	if (!params->pcid && cpu->slots[0].mm == mm && cpu->slots[0].generation == generation)
		return false;
	uint32_t at = params->pcid ? cpu->next++ % (uint32_t)params->slots : 0;
	cpu->slots[at] = (struct slot){mm, generation};
	cpu->current = at;
	return true;
}

/*
 * A flush of the mm: the CPUs that run it are up to date afterwards, all others are behind. A lazy CPU
 * that is interrupted leaves the mm instead of flushing it, and finds itself behind when it comes back.
 */
static void bump(struct x86_state *s, const struct policy_view *view, uint32_t mm)
{
	const uint64_t *loaded = view->loaded(view, mm), *lazy = view->lazy(view);
	uint32_t generation = ++*generation_of(s, mm);

	for (unsigned int w = 0; w < view->words; w++) {
		uint64_t reached = loaded[w] & ~lazy[w];

		while (reached) {
			struct cpu *cpu = &s->cpus[w * 64 + (unsigned int)__builtin_ctzll(reached)];

			reached &= reached - 1;
			if (cpu->slots[cpu->current].mm == mm)
				cpu->slots[cpu->current].generation = generation;
		}
	}
}

static void decide(const struct policy_view *view, const void *params, void *state,
		   const struct tlb_event *event, struct policy_cell *cell)
{
	const struct x86_params *own = params;
	struct x86_state *s = state;

	if (!s->cpus) {
		s->cpus = calloc(view->nr_cpus, sizeof(*s->cpus));
		if (!s->cpus)
			return;
	}
	if (event->point == POINT_SWITCH) {
		if (event->mm && switch_flushes(s, own, &s->cpus[event->cpu], event->mm))
			cell->act[0] = (struct policy_action){.scope = SCOPE_LOCAL, .reach = REACH_MM};
		return;
	}
	for (unsigned int i = 0; i < POLICY_ACTIONS; i++) {
		struct policy_action *act = &cell->act[i];

		if (act->scope == SCOPE_NONE)
			break;
		if (act->reach == REACH_HULL && (!event->pages || event->pages > (uint64_t)own->ceiling))
			act->reach = event->point == POINT_KERNEL ? REACH_ALL : REACH_MM;
		if (event->mm && event->sure.estimate && act->scope == SCOPE_MASK)
			bump(s, view, event->mm);
	}
}

static void forget(void *state, uint32_t mm)
{
	struct x86_state *s = state;

	if (mm)
		return; /* numbers of address spaces are never used again */
	free(s->cpus);
	free(s->generations);
}

#define I(r)          {.scope = SCOPE_MASK, .reach = REACH_##r, .flags = ACT_NOTIFY}
#define I_LAZY(r)     {.scope = SCOPE_MASK, .reach = REACH_##r, .flags = ACT_NOTIFY | ACT_LAZY}
#define I_DEFERRED(r) {.scope = SCOPE_MASK, .reach = REACH_##r, .wait = WAIT_DEFERRED, .flags = ACT_NOTIFY}

const struct policy policy_x86 = {
	.api = POLICY_API,
	.name = "x86",
	.summary = "x86: interrupts to the CPUs in the mm's mask, nothing at write upgrades",
	.source = "Linux 6.12: arch/x86/mm/tlb.c flush_tlb_mm_range(), switch_mm_irqs_off(), "
		  "arch/x86/include/asm/tlbflush.h flush_tlb_fix_spurious_fault()",
	.omits = "INVLPGB, KPTI's second PCID, paravirtual flushes, trimming of the mask by newer kernels",
	.params = x86_params,
	.params_size = sizeof(struct x86_params),
	.state_size = sizeof(struct x86_state),
	/* clang-format off */
	.table = {
		[POINT_COW] = {
			[LEVEL_PTE] = {{I(PAGE)}},
			[LEVEL_CONTPTE] = {{I(PAGE)}}, /* no such level: plain PTEs */
			[LEVEL_PMD] = {{I_LAZY(MM), I(PAGE)}},
			[LEVEL_HUGETLB] = {{I(BLOCK)}},
		},
		[POINT_UNMAP] = {
			[LEVEL_PTE] = {{I(HULL)}}, [LEVEL_CONTPTE] = {{I(HULL)}},
			[LEVEL_PMD] = {{I(HULL)}}, [LEVEL_HUGETLB] = {{I(HULL)}},
		},
		[POINT_TABLES_FREED] = {
			[LEVEL_PTE] = {{I_LAZY(HULL)}}, [LEVEL_PMD] = {{I_LAZY(HULL)}},
		},
		[POINT_NESTED] = {[LEVEL_MM] = {{I_LAZY(MM)}}},
		[POINT_BATCH_PENDING] = {[LEVEL_MM] = {{I_LAZY(MM)}}},
		[POINT_PROTECT] = {
			[LEVEL_PTE] = {{I(HULL)}}, [LEVEL_CONTPTE] = {{I(HULL)}},
			[LEVEL_PMD] = {{I(HULL)}}, [LEVEL_HUGETLB] = {{I(HULL)}},
		},
		[POINT_NUMA] = {[LEVEL_PTE] = {{I(HULL)}}, [LEVEL_PMD] = {{I(HULL)}}},
		[POINT_FORK] = {[LEVEL_MM] = {{I_LAZY(MM)}}},
		[POINT_MIGRATE] = {
			[LEVEL_PTE] = {{I_DEFERRED(MM)}}, [LEVEL_CONTPTE] = {{I_DEFERRED(MM)}},
			[LEVEL_PMD] = {{I_LAZY(MM)}},
		},
		[POINT_RECLAIM] = {
			[LEVEL_PTE] = {{I_DEFERRED(MM)}}, [LEVEL_CONTPTE] = {{I_DEFERRED(MM)}},
			[LEVEL_PMD] = {{I_DEFERRED(MM)}},
		},
		[POINT_AGE] = {[LEVEL_PMD] = {{I_LAZY(MM)}}},
		[POINT_CLEAN] = {
			[LEVEL_PTE] = {{I(PAGE)}}, [LEVEL_CONTPTE] = {{I(PAGE)}},
			[LEVEL_PMD] = {{I_LAZY(MM)}},
		},
		[POINT_MREMAP] = {
			[LEVEL_PTE] = {{I_LAZY(HULL)}}, [LEVEL_PMD] = {{I_LAZY(HULL)}},
			[LEVEL_HUGETLB] = {{I_LAZY(HULL)}},
		},
		[POINT_SPLIT] = {[LEVEL_PMD] = {{I_LAZY(MM)}}},
		[POINT_COLLAPSE] = {[LEVEL_PMD] = {{I_LAZY(MM)}}},
		[POINT_EXIT] = {[LEVEL_MM] = {{I_LAZY(MM)}}},
		[POINT_KERNEL] = {[LEVEL_ALL] = {{I_LAZY(HULL)}}},
	},
	/* clang-format on */
	.decide = decide,
	.forget = forget,
};
