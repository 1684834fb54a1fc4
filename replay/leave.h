/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What policies leave behind in the TLBs that they do not flush. */
#ifndef REPLAY_LEAVE_H
#define REPLAY_LEAVE_H

#include "replay/engine-state.h"

struct leave {
	struct mm *mm;
	uint64_t policies; /* each is rid of its CPUs in E->COVERED_SETS */
	const struct tlb_event *event;
	enum staleness kind;
	bool permission, only_forked, count_only, deferred;
};

/*
 * The first record of a page in LANE; 0: there is none. What a tick has swept by TIME_NS has been
 * closed.
 */
uint32_t leave_open(struct engine *e, struct mm *mm, unsigned int lane, uint32_t leaf,
		    unsigned int slot, uint64_t time_ns);

/* The first entry of its kind that a policy leaves behind is what a verdict rests on. */
void testify(const struct engine *e, struct witness *w, const struct tlb_event *event,
	     uint64_t addr, const uint64_t *holders);

/* One page whose entry was changed; the CPUs that are not covered may keep the old one. */
void leave_page(struct engine *e, const struct leave *c, uint32_t leaf, struct leaf *l,
		unsigned int slot);

/*
 * Of an mm older than the recording, pages that no event has shown may be there, too: they count
 * for the verdict. How many they are is not known.
 */
void leave_unseen(struct engine *e, const struct leave *c);

/* The pages whose entries were changed and not flushed everywhere. CONTEXT: struct leave. */
void visit_leave(struct engine *e, uint32_t leaf, uint16_t slots, void *context);

#endif
