/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of CPUs as the engine gives them: bitmaps of view->words words. */
#ifndef POLICIES_SETS_H
#define POLICIES_SETS_H

#include <string.h>

#include "replay/policy.h"

static inline bool set_has(const uint64_t *set, unsigned int cpu)
{
	return set[cpu / 64] >> (cpu % 64) & 1;
}

static inline void set_put(uint64_t *set, unsigned int cpu, bool value)
{
	if (value)
		set[cpu / 64] |= UINT64_C(1) << (cpu % 64);
	else
		set[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}

static inline void set_copy(const struct policy_view *view, uint64_t *to, const uint64_t *from)
{
	memcpy(to, from, view->words * sizeof(*to));
}

static inline void set_add(const struct policy_view *view, uint64_t *to, const uint64_t *from)
{
	for (unsigned int w = 0; w < view->words; w++)
		to[w] |= from[w];
}

/* All CPUs that there are. */
static inline void set_fill(const struct policy_view *view, uint64_t *set)
{
	memset(set, 0, view->words * sizeof(*set));
	for (unsigned int cpu = 0; cpu < view->nr_cpus; cpu++)
		set_put(set, cpu, true);
}

static inline unsigned int set_count(const struct policy_view *view, const uint64_t *set)
{
	unsigned int n = 0;

	for (unsigned int w = 0; w < view->words; w++)
		n += (unsigned int)__builtin_popcountll(set[w]);
	return n;
}

/* The CPUs that run MM now, lazy ones left out. It lies in the view's set. */
static inline const uint64_t *set_active(const struct policy_view *view, uint32_t mm)
{
	const uint64_t *lazy;

	set_copy(view, view->set, view->loaded(view, mm));
	lazy = view->lazy(view);
	for (unsigned int w = 0; w < view->words; w++)
		view->set[w] &= ~lazy[w];
	return view->set;
}

/* Is there a CPU in SET other than CPU? */
static inline bool set_others(const struct policy_view *view, const uint64_t *set, unsigned int cpu)
{
	return set_count(view, set) > set_has(set, cpu);
}

#endif
