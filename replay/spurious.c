// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/spurious.h"

#include "replay/exposure.h"
#include "replay/leave.h"

/*
 * A policy that leaves upgrades stale has left none here. If all is KNOWN that could have left one,
 * the entry was gone since, and so is the fault, unless it had another cause. If not, nothing can
 * be told.
 */
static void spurious_unexplained(struct policy_result *r, const struct tlb_event *event, bool known)
{
	add_bound(&r->avoided, &(struct bound){0, known, 1});
	if (known)
		r->spurious_maybe[event->level].high++;
	else
		r->spurious_unsure[event->level]++;
}

/* Without a stale entry of its own making under POLICY. */
static void spurious_without(struct engine *e, unsigned int policy, const struct tlb_event *event,
			     bool race, bool known)
{
	struct policy_result *r = &e->instances[policy].result;

	if (race)
		r->spurious_unsure[event->level]++;
	else if (ask(e, policy, event, POINT_WP_REUSE).act[0].scope >= SCOPE_MASK)
		add_bound(&r->avoided, &(struct bound){known, 1, 1});
	else
		spurious_unexplained(r, event, known);
}

/* The policies, of WHO, under which a spurious fault on CPU takes the entry out. */
static uint64_t fixing(struct engine *e, const struct tlb_event *event, uint64_t who)
{
	uint64_t fixed = 0;

	while (who) {
		uint64_t bit_of = who & -who;
		unsigned int p = take_policy(&who);

		if (e->instances[p].policy->flags & POLICY_REWALKS ||
		    ask(e, p, event, POINT_SPURIOUS).act[0].scope != SCOPE_NONE)
			fixed |= bit_of;
	}
	return fixed;
}

/* Those of X's WHO under which its entry is stale still, where EVENT is. */
static uint64_t stale_still(const struct engine *e, const struct mm *mm, const struct exposure *x,
			    const struct tlb_event *event, uint64_t who)
{
	uint64_t still = 0;

	for (who &= x->policies; who;) {
		uint64_t bit_of = who & -who;

		if (still_open(e, mm, take_policy(&who), x, event->cpu))
			still |= bit_of;
	}
	return still;
}

/* By the records in LANE, for policies of WHO. Returns those that had left an entry. */
static uint64_t spurious_in(struct engine *e, const struct tlb_event *event, const struct place *at,
			    unsigned int lane, uint64_t who, bool race)
{
	bool known = leaf_page(&e->pages, at->page_leaf, at->slot)->upgrade_ns;
	uint64_t here[e->words], all = 0;
	struct mm *mm = at->mm;

	set_all(e, here, false);
	set_bit(here, event->cpu, true);
	for (uint32_t ref = leave_open(e, mm, lane, at->leaf, at->slot, event->time_ns), next; ref;
	     ref = next) {
		const struct exposure *x = exposure_at(e, mm, ref);
		uint64_t found, rest;
		/* ...nor does one if events were lost since. */
		bool lost = e->lost_seq > x->start_seq;

		next = head_at(mm, ref)->next;
		if (x->kind != STALE_BENIGN || !bit(x->cpus, event->cpu))
			continue;
		found = rest = stale_still(e, mm, x, event, who & ~all);
		all |= found;
		while (rest) {
			unsigned int p = take_policy(&rest);

			if (lost || race)
				spurious_without(e, p, event, race, known && !lost);
			else
				e->instances[p].result.spurious_proven[event->level]++;
		}
		/* Where nothing takes the entry out, it stays as stale as it was. */
		exposure_close(e, mm, ref, fixing(e, event, found), here,
			       lost || race ? ENDED_FLUSH : ENDED_REFAULT, event->time_ns);
	}
	return all;
}

void spurious_all(struct engine *e, const struct tlb_event *event, const struct place *at)
{
	struct page *page = leaf_page(&e->pages, at->page_leaf, at->slot);
	uint64_t upgraded_ns = page->upgrade_ns, left = e->all_policies;
	/* A fault that was on its way before the upgrade was complete proves nothing... */
	bool race = upgraded_ns && event->began_ns < upgraded_ns;

	for (unsigned int lane = 0; lane < LANES; lane++)
		left &= ~spurious_in(e, event, at, lane, left, race);
	while (left)
		spurious_without(e, take_policy(&left), event, race, upgraded_ns && !e->lost_seq);
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

	unsigned int lane = lane_of(e, UINT64_C(1) << policy);

	for (uint32_t ref = open_of(mm, page_of(e, leaf, slot)->open[lane], leaf, slot); ref;
	     ref = head_at(mm, ref)->next) {
		struct exposure *x = exposure_at(e, mm, ref);
		bool same = there && filled < x->start_seq;
		uint64_t ns = event->time_ns > x->start_ns ? event->time_ns - x->start_ns : 0;

		if (!(x->policies >> policy & 1) || !(x->cpus[w] & bit_of) ||
		    !still_open(e, mm, policy, x, event->cpu))
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
