/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One decision: what each policy flushes, what that ends, what stays behind. Policies that choose
 * the same are carried out as one.
 */
#ifndef REPLAY_DECIDE_H
#define REPLAY_DECIDE_H

#include "replay/engine-state.h"

/* What a decision is about: shared by all policies. */
struct place {
	struct mm *mm;          /* NULL: none is known */
	uint32_t leaf;          /* NO_LEAF: not one page... */
	struct leaf *page_leaf; /* ...else where it lies */
	unsigned int slot;
	struct bound flushes; /* what one invalidation counts as */
	size_t bucket;
	bool one; /* just one page, that at LEAF and SLOT */
	enum staleness kind;
};

/* What an entry that is left behind at POINT is. NR_STALENESS: nothing is left behind. */
enum staleness staleness_of(const struct tlb_event *event);

bool page_point(unsigned int point);

void decide_all(struct engine *e, const struct tlb_event *event, const struct place *at);

/* What the batches of a task have put off takes effect. */
void decide_batch_end(struct engine *e, const struct tlb_event *event);

/* Learns what the policies do whatever the event is. Returns 0 or -ENOMEM. */
int decide_init(struct engine *e);
void decide_free(struct engine *e);

/*
 * A decision about an address space of another shard. Of it all that is kept is what others may
 * feel: what the hook remembers, a flush of everything, and CPUs that leave the mm.
 */
void decide_elsewhere(struct engine *e, unsigned int policy, const struct tlb_event *event,
		      const struct mm *mm);

/* What the policy would do at POINT, where EVENT is. The hook learns nothing from the question. */
struct policy_cell ask(struct engine *e, unsigned int policy, const struct tlb_event *event,
		       enum point point);

#endif
