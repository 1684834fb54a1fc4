// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * x86: interrupts to the CPUs in the mm's mask, and nothing at all for an upgrade: an x86 CPU drops
 * the entry that a permission fault came from, and re-walks.
 *
 * Three things are more than a table. A range over the ceiling becomes a full flush. Reclaim
 * batches only where another CPU must be interrupted. And a CPU that switches to an mm flushes what
 * it has of it if its slot (PCID) went to another mm meanwhile, or if the mm's generation has moved
 * on: for that the hook keeps six slots per CPU and a generation per mm, as choose_new_asid() and
 * switch_mm_irqs_off() do.
 */
#include "replay/policies/x86.h"

#include <stdlib.h>
#include <string.h>

#include "replay/policies/sets.h"

struct slot {
	uint32_t mm, generation;
};

struct x86_cpu {
	struct slot slots[X86_MAX_SLOTS];
	uint32_t current, next;
};

static const struct param x86_params[] = {X86_PARAMS, PARAM_END};

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

static bool cpus_ready(struct x86_state *s, const struct policy_view *view)
{
	if (!s->cpus)
		s->cpus = calloc(view->nr_cpus, sizeof(*s->cpus));
	return s->cpus;
}

/* The mm is loaded on a CPU: does that CPU have to flush? */
static bool switch_flushes(struct x86_state *s, const struct x86_params *params,
			   struct x86_cpu *cpu, uint32_t mm)
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
	/*
	 * Without tags the mm that never left (a thread of the same process) still needs nothing.
	 */
	if (!params->pcid && cpu->slots[0].mm == mm && cpu->slots[0].generation == generation)
		return false;
	uint32_t at = params->pcid ? cpu->next++ % (uint32_t)params->slots : 0;
	cpu->slots[at] = (struct slot){mm, generation};
	cpu->current = at;
	return true;
}

/*
 * A flush of the mm: the CPUs that run it are up to date afterwards, all others are behind. A lazy
 * CPU that is interrupted leaves the mm instead of flushing it, and finds itself behind when it
 * comes back.
 */
static void bump(struct x86_state *s, const struct policy_view *view, uint32_t mm)
{
	const uint64_t *active = set_active(view, mm);
	uint32_t generation = ++*generation_of(s, mm);

	if (!cpus_ready(s, view))
		return;
	for (unsigned int w = 0; w < view->words; w++) {
		uint64_t reached = active[w];

		while (reached) {
			struct x86_cpu *cpu =
				&s->cpus[w * 64 + (unsigned int)__builtin_ctzll(reached)];

			reached &= reached - 1;
			if (cpu->slots[cpu->current].mm == mm)
				cpu->slots[cpu->current].generation = generation;
		}
	}
}

uint64_t x86_strides(const struct policy_view *view, const struct tlb_event *event)
{
	/*
	 * A gather that has freed tables counts by the pages it unmapped, flush_tlb_range() always.
	 */
	static const uint32_t gathers = POINT_BIT(POINT_UNMAP) | POINT_BIT(POINT_PROTECT) |
					POINT_BIT(POINT_PROT_NONE_RW) | POINT_BIT(POINT_NUMA);
	bool blocks = event->level == LEVEL_HUGETLB ||
		      (event->level == LEVEL_PMD && gathers & POINT_BIT(event->point));

	return blocks ? event->pages >> (view->page_shift - 3) : event->pages;
}

/* arch_tlbbatch_should_defer() */
static bool defers(const struct policy_view *view, const struct x86_params *params,
		   const struct tlb_event *event)
{
	return params->reclaim_batching &&
	       set_others(view, view->loaded(view, event->mm), event->cpu);
}

void x86_decide(const struct policy_view *view, const void *params, void *state,
		const struct tlb_event *event, struct policy_cell *cell)
{
	const struct x86_params *own = params;
	struct x86_state *s = state;

	if (event->point == POINT_SWITCH) {
		if (event->mm && cpus_ready(s, view) &&
		    switch_flushes(s, own, &s->cpus[event->cpu], event->mm))
			cell->act[0] =
				(struct policy_action){.scope = SCOPE_LOCAL, .reach = REACH_MM};
		return;
	}
	if (event->point == POINT_BATCH_PENDING && !own->reclaim_batching) {
		*cell = (struct policy_cell){0};
		return;
	}
	for (unsigned int i = 0; i < POLICY_ACTIONS && cell->act[i].scope != SCOPE_NONE; i++) {
		struct policy_action *act = &cell->act[i];

		if (act->wait == WAIT_BATCHED && !defers(view, own, event))
			*act = (struct policy_action)I(PAGE);
		if (act->reach == REACH_HULL &&
		    (!event->pages || x86_strides(view, event) > (uint64_t)own->ceiling))
			act->reach = event->point == POINT_KERNEL ? REACH_ALL : REACH_MM;
		if (event->mm && event->sure.estimate && act->scope == SCOPE_MASK)
			bump(s, view, event->mm);
		if (!own->sva)
			act->flags &= (uint8_t)~ACT_NOTIFY;
	}
}

void x86_forget(void *state, uint32_t mm)
{
	struct x86_state *s = state;

	if (mm)
		return; /* numbers of address spaces are never used again */
	free(s->cpus);
	free(s->generations);
}

const struct policy policy_x86 = {
	.api = POLICY_API,
	.name = "x86",
	.summary = "x86: interrupts to the CPUs in the mm's mask, nothing at write upgrades",
	.source = "Linux 6.12: arch/x86/mm/tlb.c flush_tlb_mm_range(), switch_mm_irqs_off(), "
		  "arch/x86/include/asm/tlbflush.h flush_tlb_fix_spurious_fault()",
	.omits = "INVLPGB, KPTI's second PCID, paravirtual flushes, trimming of the mask by newer "
		 "kernels, the "
		 "interrupts to every CPU at a collapse",
	.beyond = X86_BEYOND,
	.flags = POLICY_REWALKS,
	.hooked = X86_HOOKED,
	.plain = X86_PLAIN,
	.params = x86_params,
	.params_size = sizeof(struct x86_params),
	.state_size = sizeof(struct x86_state),
	.table =
		{
			X86_ROWS,
		},
	.decide = x86_decide,
	.forget = x86_forget,
};
