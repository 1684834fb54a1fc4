// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * single-thread-local: while an mm has one user, a flush by that user stays on its CPU and marks
 * the mm as out of date on all others. A CPU that switches to an mm with its mark set flushes it
 * first.
 *
 * What is wrong with it, and why it is kept: a kernel thread on the CPU that the user left still
 * has the mm loaded. That CPU may walk its tables, also freed ones; and a user that comes back
 * there does not switch, so that the mark is not looked at.
 *
 *	CPU 0   user reads P | migrates away, a kernel thread runs |  user is back: P is stale
 *	CPU 1                |  user unmaps P, flushes here only   |
 */
#include "replay/policies/arm64.h"

#include <stdlib.h>
#include <string.h>

#include "replay/policies/sets.h"

struct single_state {
	struct arm64_state arm64;
	uint64_t **marks; /* by mm: CPUs on which it is out of date; NULL: none */
	size_t nr_marks;
};

static uint64_t *marks_of(const struct single_state *s, uint32_t mm)
{
	return mm < s->nr_marks ? s->marks[mm] : NULL;
}

static bool mark_others(struct single_state *s, const struct policy_view *view, uint32_t mm,
			unsigned int cpu)
{
	if (mm >= s->nr_marks) {
		size_t nr = s->nr_marks ? s->nr_marks * 2 : 1024;

		while (nr <= mm)
			nr *= 2;
		uint64_t **more = realloc(s->marks, nr * sizeof(*more));
		if (!more)
			return false;
		memset(more + s->nr_marks, 0, (nr - s->nr_marks) * sizeof(*more));
		s->marks = more;
		s->nr_marks = nr;
	}
	if (!s->marks[mm])
		s->marks[mm] = calloc(view->words, sizeof(uint64_t));
	if (!s->marks[mm])
		return false;
	/* This CPU is what it was: another flush of the user may have left it behind, too. */
	bool here = set_has(s->marks[mm], cpu);
	set_fill(view, s->marks[mm]);
	set_put(s->marks[mm], cpu, here);
	return true;
}

static void decide(const struct policy_view *view, const void *params, void *state,
		   const struct tlb_event *event, struct policy_cell *cell)
{
	struct single_state *s = state;
	uint64_t *marks = marks_of(s, event->mm);
	unsigned int cpu = event->cpu;

	if (event->point == POINT_SWITCH) {
		/* Coming back to an mm that the CPU has kept lazily is no switch. */
		if (marks && set_has(marks, cpu) && !set_has(view->loaded(view, event->mm), cpu)) {
			cell->act[0] = (struct policy_action)L(MM, 0);
			set_put(marks, cpu, false);
		}
	} else if (event->users == 1 && event->sure.estimate &&
		   arm64_user_action(event, &cell->act[0]) &&
		   set_has(view->loaded(view, event->mm), cpu) && !set_has(view->lazy(view), cpu) &&
		   mark_others(s, view, event->mm, cpu)) {
		for (unsigned int i = 0; i < POLICY_ACTIONS && cell->act[i].scope != SCOPE_NONE;
		     i++)
			cell->act[i].scope = SCOPE_LOCAL;
	}
	arm64_decide(view, params, state, event, cell);
}

static void forget(void *state, uint32_t mm)
{
	struct single_state *s = state;

	if (mm) {
		if (mm < s->nr_marks) {
			free(s->marks[mm]);
			s->marks[mm] = NULL;
		}
		return;
	}
	for (size_t i = 0; i < s->nr_marks; i++)
		free(s->marks[i]);
	free(s->marks);
	arm64_forget(&s->arm64, 0);
}

const struct policy policy_single_thread_local = {
	.api = POLICY_API,
	.name = "single-thread-local",
	.summary = "as arm64-broadcast, but local while the mm has one user; a control that is "
		   "unsafe in corners",
	.source = "RFC \"arm64: tlb: skip tlbi broadcast for single threaded TLB flushes\" "
		  "(linux-arm-kernel, "
		  "February 2020), and the objection to it there: kernel threads that keep the mm "
		  "loaded",
	.omits = "what arm64-broadcast omits",
	.beyond = "while the mm has one user its flushes are local and mark it on the other CPUs, "
		  "which flush "
		  "it when they switch to it; " ARM64_BEYOND,
	.flags = POLICY_BREAKS_FIRST,
	.hooked = ARM64_HOOKED,
	.params = arm64_params,
	.params_size = sizeof(struct arm64_params),
	.state_size = sizeof(struct single_state),
	.table =
		{
			ARM64_UPGRADE_ROWS,
			ARM64_SHARED_ROWS,
		},
	.decide = decide,
	.forget = forget,
};
