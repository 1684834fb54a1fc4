/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stale entries: records of what a policy left behind, until something ends it.
 */
#ifndef REPLAY_EXPOSURE_H
#define REPLAY_EXPOSURE_H

#include "replay/engine-state.h"

/* OPEN of a page, if that is one of its exposures still; else 0. */
static inline uint32_t open_of(const struct mm *mm, uint32_t open, uint32_t leaf, unsigned int slot)
{
	const struct head *h;

	if (!open || ref_nr(open) > mm->lanes[open >> LANE_SHIFT].nr)
		return 0;
	h = head_at(mm, open);
	return h->leaf == leaf && h->slot == slot ? open : 0;
}

/* Whether the entry of X is stale on CPU under POLICY, one of X's: not if the mm was flushed there.
 */
static inline bool still_open(const struct engine *e, const struct mm *mm, unsigned int policy,
			      const struct exposure *x, unsigned int cpu)
{
	const struct residence *r;

	if (!bit(x->cpus, cpu))
		return false;
	if (mm->policy[policy].last_note <= x->start_seq)
		return true;
	r = residence_find(e, mm, cpu);
	return !r || r->policy[policy].flush_seq <= x->start_seq;
}

/* The lane of WHO, who are all of one. */
static inline unsigned int lane_of(const struct engine *e, uint64_t who)
{
	return !(who & e->lane_policies[0]);
}

/*
 * A record of MM with this HEAD, whose policies are all of one lane; what is not in it is still to
 * be written. NULL: no memory.
 */
struct exposure *exposure_new(struct engine *e, struct mm *mm, const struct head *head);

/* Under WHO the entries of record REF on the CPUs of SET (NULL: all) are stale no more. */
void exposure_close(struct engine *e, struct mm *mm, uint32_t ref, uint64_t who,
		    const uint64_t *set, enum ended ended, uint64_t time_ns);

/*
 * Closes what is open of one page under WHO on the CPUs of SET (NULL: all): everything, or what
 * a change of permission puts right.
 */
void close_page(struct engine *e, struct mm *mm, uint32_t leaf, unsigned int slot, uint64_t who,
		const uint64_t *set, bool only_permission, enum ended ended, uint64_t time_ns);

/* Closes all of an mm on every CPU. */
void close_mm(struct engine *e, struct mm *mm, uint64_t who, enum ended ended, uint64_t time_ns);

/* Notes that all of MM was flushed on one CPU. */
void flush_mm_on(struct engine *e, struct mm *mm, unsigned int policy, struct residence *r,
		 uint64_t time_ns);

#endif
