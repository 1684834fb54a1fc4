/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Faults that found nothing to change, recorded or shown by an access, under each policy. */
#ifndef REPLAY_SPURIOUS_H
#define REPLAY_SPURIOUS_H

#include "replay/decide.h"

/*
 * A recorded spurious fault, under all policies. Under one that left the entry behind it happens
 * again; under one that had flushed it, it does not, unless the fault was on its way before the
 * upgrade was complete.
 */
void spurious_all(struct engine *e, const struct tlb_event *event, const struct place *at);

/* A fault that may have been a spurious one. */
void spurious_maybe(struct engine *e, unsigned int policy, const struct tlb_event *event);

/*
 * An access that the recording shows. Where it is a write through an entry that the evidence says
 * was filled before the upgrade and is still there, this policy has a spurious fault here.
 */
void access_for(struct engine *e, unsigned int policy, const struct tlb_event *event, struct mm *mm,
		uint32_t leaf, unsigned int slot);

#endif
