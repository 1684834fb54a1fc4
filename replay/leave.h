/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a policy leaves behind in the TLBs that it does not flush. */
#ifndef REPLAY_LEAVE_H
#define REPLAY_LEAVE_H

#include "replay/engine-state.h"

struct leave {
	struct mm *mm;
	unsigned int policy;
	const struct tlb_event *event;
	const uint64_t *covered;
	enum staleness kind;
	bool permission, only_forked, count_only, deferred;
	uint64_t entries;
};

/* Closes what the tick has swept meanwhile, and takes it out of the page's list at *LINK. */
void close_swept(struct engine *e, const struct leave *c, uint32_t *link);

/* The first entry of its kind that a policy leaves behind is what a verdict rests on. */
void testify(const struct engine *e, struct witness *w, const struct tlb_event *event,
	     uint64_t addr, const uint64_t *holders);

/* One page whose entry was changed; the CPUs that are not covered may keep the old one. */
void leave_page(struct engine *e, struct leave *c, uint32_t leaf, struct leaf *l,
		unsigned int slot);

/*
 * Of an mm older than the recording, pages that no event has shown may be there, too: they count for
 * the verdict. How many they are is not known.
 */
void leave_unseen(struct engine *e, const struct leave *c);

/* The pages whose entries were changed and not flushed everywhere. */
void visit_leave(struct engine *e, uint32_t leaf, uint16_t slots, void *context);

#endif
