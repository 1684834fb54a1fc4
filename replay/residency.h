/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which CPUs have, or had, an address space loaded, and so may hold entries of it.
 */
#ifndef REPLAY_RESIDENCY_H
#define REPLAY_RESIDENCY_H

#include "replay/engine-state.h"

/* The address space NUMBER, made if need be. NULL: no memory. */
struct mm *mm_state_make(struct engine *e, uint32_t number);

/* Frees MM, which may be NULL. */
void mm_state_free(const struct engine *e, struct mm *mm);

/* What CPU has of MM, made if need be. NULL: no memory. */
struct residence *residence_make(struct engine *e, struct mm *mm, unsigned int cpu);

/* Until now CPU may have had any mm loaded, and run it: its events were lost. */
void residency_suspect(struct engine *e, unsigned int cpu);

/* Who may hold what changes for all pages: MM was loaded, left or flushed somewhere. */
void forget_holders(const struct engine *e, struct mm *mm);

/* Those that had the mm loaded since SEQ, and since their own flush of it. */
void find_holders(const struct engine *e, const struct mm *mm, unsigned int policy, uint64_t seq,
		  uint64_t *set);

/*
 * The CPUs that may hold an entry of a page that was last flushed everywhere at FLUSH_SEQ. Most
 * pages were not flushed alone since all of the mm was, and share one answer until the mm is loaded
 * or flushed somewhere.
 */
static inline const uint64_t *find_candidates(struct engine *e, struct mm *mm, unsigned int policy,
					      uint64_t flush_seq)
{
	typeof(mm->policy[0]) *own = &mm->policy[policy];

	if (flush_seq > own->flush_seq) {
		if (flush_seq >= mm->last_unload && !e->any_unsure)
			return mm->loaded;
		find_holders(e, mm, policy, flush_seq, e->holders);
		return e->holders;
	}
	/*
	 * A CPU of which events were lost holds whatever it may, until it shows what it has loaded.
	 */
	if (!own->holders_known || e->any_unsure) {
		find_holders(e, mm, policy, own->flush_seq, own->holders);
		own->holders_known = true;
	}
	return own->holders;
}

/* What policies may ask: the functions of their view. */
const uint64_t *residency_loaded(const struct policy_view *view, uint32_t number);
const uint64_t *residency_visited(const struct policy_view *view, uint32_t number);
const uint64_t *residency_lazy(const struct policy_view *view);
const uint64_t *residency_holders(const struct policy_view *view, uint32_t number, uint64_t addr);

#endif
