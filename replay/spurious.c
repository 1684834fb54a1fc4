// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/spurious.h"

#include "replay/exposure.h"
#include "replay/leave.h"

/*
 * A policy that leaves upgrades stale has left none here. If all is KNOWN that could have left one,
 * the entry was gone since, and so is the fault, unless it had another cause. If not, nothing can be
 * told.
 */
static void spurious_unexplained(struct policy_result *r, const struct tlb_event *event, bool known)
{
	add_bound(&r->avoided, &(struct bound){0, known, 1});
	if (known)
		r->spurious_maybe[event->level].high++;
	else
		r->spurious_unsure[event->level]++;
}

void spurious_for(struct engine *e, unsigned int policy, const struct tlb_event *event,
		  const struct place *at)
{
	struct instance *in = &e->instances[policy];
	struct policy_result *r = &in->result;
	struct policy_cell upgrade = ask(e, policy, event, POINT_WP_REUSE),
			   fix = ask(e, policy, event, POINT_SPURIOUS);
	struct page *page = leaf_page(&e->pages, at->page_leaf, at->slot);
	uint64_t upgraded_ns = page->upgrade_ns;
	struct mm *mm = at->mm;
	/* A fault that was on its way before the upgrade was complete proves nothing... */
	bool race = upgraded_ns && event->began_ns < upgraded_ns;
	/* ...nor does one if events were lost since. */
	bool lost = e->lost_seq;
	bool fixed = in->policy->flags & POLICY_REWALKS || fix.act[0].scope != SCOPE_NONE;

	if (in->tick_ns) {
		struct leave leave = {.mm = mm, .policy = policy, .event = event};

		page->policy[policy].open =
			open_of(e, mm, policy, page->policy[policy].open, at->leaf, at->slot);
		close_swept(e, &leave, &page->policy[policy].open);
	}
	for (uint32_t ref = open_of(e, mm, policy, page->policy[policy].open, at->leaf, at->slot);
	     ref; ref = exposure_at(e, mm, policy, ref)->next) {
		struct exposure *x = exposure_at(e, mm, policy, ref);

		if (x->kind != STALE_BENIGN || !still_open(e, mm, policy, x, event->cpu))
			continue;
		set_all(e, e->scratch, false);
		set_bit(e->scratch, event->cpu, true);
		find_homes(e, mm);
		lost = e->lost_seq > x->start_seq;
		/* Where nothing takes the entry out, it stays as stale as it was. */
		if (fixed && (lost || race))
			exposure_close(e, mm, policy, x, e->scratch, ENDED_FLUSH, event->time_ns);
		if (lost || race)
			break;
		if (fixed)
			exposure_close(e, mm, policy, x, e->scratch, ENDED_REFAULT, event->time_ns);
		r->spurious_proven[event->level]++;
		return;
	}
	if (race)
		r->spurious_unsure[event->level]++;
	else if (upgrade.act[0].scope >= SCOPE_MASK)
		add_bound(&r->avoided, &(struct bound){upgraded_ns && !lost, 1, 1});
	else
		spurious_unexplained(r, event, upgraded_ns && !lost);
}

void spurious_maybe(struct engine *e, unsigned int policy, const struct tlb_event *event)
{
	struct instance *in = &e->instances[policy];
	bool avoided = event->sure.estimate &&
		       ask(e, policy, event, POINT_WP_REUSE).act[0].scope >= SCOPE_MASK;

	add_bound(avoided ? &in->result.avoided : &in->result.spurious_maybe[event->level],
		  &(struct bound){0, event->sure.estimate, event->sure.high});
}

void access_for(struct engine *e, unsigned int policy, const struct tlb_event *event, struct mm *mm,
		uint32_t leaf, unsigned int slot)
{
	struct policy_result *r = &e->instances[policy].result;
	uint64_t page = event->addr >> e->config.page_shift, bit_of = UINT64_C(1)
								      << (event->cpu % 64);
	unsigned int w = e->words + event->cpu / 64;
	uint64_t filled = 0, used;
	bool there = tlb_look(e->tlb, event->cpu, event->mm, page, &filled, &used);

	for (uint32_t ref =
		     open_of(e, mm, policy, policy_of(e, leaf, slot, policy)->open, leaf, slot);
	     ref; ref = exposure_at(e, mm, policy, ref)->next) {
		struct exposure *x = exposure_at(e, mm, policy, ref);
		bool same = there && filled < x->start_seq;
		uint64_t ns = event->time_ns > x->start_ns ? event->time_ns - x->start_ns : 0;

		if (!(x->cpus[w] & bit_of) || !still_open(e, mm, policy, x, event->cpu))
			continue;
		if (same && !(x->kind == STALE_BENIGN && event->flags & EVENT_WRITE))
			continue; /* used as it is */
		/* From here on this CPU has a fresh entry, as far as the evidence goes. */
		x->cpus[w] &= ~bit_of;
		exposure_add(&r->held[x->kind][same ? ENDED_REFAULT : ENDED_EVICTED], x->likely,
			     ns);
		if (same && x->likely)
			r->spurious_predicted[x->level]++;
	}
}
