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

/* MM is older than the recording: any CPU may have entries of it, until it is flushed there. */
void residency_older(struct engine *e, uint32_t mm);

/* Events are missing on CPU: from now on it may have any mm loaded, and run it... */
void residency_lost(struct engine *e, unsigned int cpu);

/* ...until it shows which it has. */
void residency_shown(struct engine *e, unsigned int cpu);

/*
 * The ordinal until which CPU may have had MM loaded, and run it, without that anything shows it.
 * 0: at no time; FOREVER: it may have it now.
 */
static inline uint64_t blind_until(const struct engine *e, const struct mm *mm, unsigned int cpu)
{
	const struct cpu *c = &e->cpus[cpu];
	uint64_t until = mm->older ? c->hidden_until : 0;

	return c->lost_until > mm->born_seq && c->lost_until > until ? c->lost_until : until;
}

/* The latest of all CPUs, or a little later. */
static inline uint64_t blind_end(const struct engine *e, const struct mm *mm)
{
	uint64_t until = mm->older ? e->hidden_end : 0;

	return e->lost_end > mm->born_seq && e->lost_end > until ? e->lost_end : until;
}

/* Every CPU that may have entries of MM and was never seen with it gets its residence. */
void residency_make_unseen(struct engine *e, struct mm *mm, uint64_t flush_seq);

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
		if (flush_seq >= mm->last_unload && flush_seq >= blind_end(e, mm))
			return mm->loaded;
		find_holders(e, mm, policy, flush_seq, e->holders);
		return e->holders;
	}
	if (!own->holders_known) {
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
