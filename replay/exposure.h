/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stale entries: records of what a policy left behind, until something ends it.
 */
#ifndef REPLAY_EXPOSURE_H
#define REPLAY_EXPOSURE_H

#include "replay/engine-state.h"

static inline bool alive(const struct engine *e, const struct exposure *x)
{
	uint64_t any = 0;

	for (unsigned int w = 0; w < e->words; w++)
		any |= x->cpus[w];
	return any;
}

/* OPEN of a page, if that is its newest exposure (+ 1) still; else 0. */
static inline uint32_t open_of(const struct engine *e, const struct mm *mm, unsigned int policy,
			       uint32_t open, uint32_t leaf, unsigned int slot)
{
	const struct exposure *x;

	if (!open || open > mm->policy[policy].nr)
		return 0;
	x = exposure_at(e, mm, policy, open);
	return x->leaf == leaf && x->slot == slot ? open : 0;
}

/* Whether the entry is stale on CPU still: not if all of the mm was flushed there since. */
static inline bool still_open(const struct engine *e, const struct mm *mm, unsigned int policy,
			      const struct exposure *x, unsigned int cpu)
{
	const struct residence *r;

	if (!bit(x->cpus, cpu))
		return false;
	r = residence_find(e, mm, cpu);
	return !r || r->policy[policy].flush_seq <= x->start_seq;
}

/* A new record, the last of MM and POLICY, with nothing in it. NULL: no memory. */
struct exposure *exposure_new(struct engine *e, struct mm *mm, unsigned int policy);

/* Prepares for closing exposures of MM: looks up what each CPU did with it. */
void find_homes(struct engine *e, const struct mm *mm);

/* The entries on the CPUs of SET are stale no more. Needs find_homes(). */
void exposure_close(struct engine *e, struct mm *mm, unsigned int policy, struct exposure *x,
		    const uint64_t *set, enum ended ended, uint64_t time_ns);

/* Closes what is open of one page under one policy on the CPUs of SET, of the wanted kinds. */
void close_page(struct engine *e, struct mm *mm, unsigned int policy, uint32_t open, uint32_t leaf,
		unsigned int slot, const uint64_t *set, bool only_permission, enum ended ended,
		uint64_t time_ns);

/* Closes all of an mm on every CPU. */
void close_mm(struct engine *e, struct mm *mm, unsigned int policy, enum ended ended,
	      uint64_t time_ns);

/* Notes that all of MM was flushed on one CPU. */
void flush_mm_on(struct engine *e, struct mm *mm, unsigned int policy, struct residence *r,
		 uint64_t time_ns);

#endif
