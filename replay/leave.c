// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/leave.h"

#include "replay/exposure.h"
#include "replay/residency.h"

void close_swept(struct engine *e, const struct leave *c, uint32_t *link)
{
	uint64_t tick = (uint64_t)e->instances[c->policy].tick_ns;

	find_homes(e, c->mm);
	set_all(e, e->everyone, true);
	while (*link) {
		struct exposure *x = exposure_at(e, c->mm, c->policy, *link);

		if (x->deferred && c->event->time_ns >= x->start_ns - x->start_ns % tick + tick)
			exposure_close(e, c->mm, c->policy, x, e->everyone, ENDED_FLUSH,
				       c->event->time_ns);
		if (alive(e, x))
			link = &x->next;
		else
			*link = x->next;
	}
}

/* Takes from SET the CPUs that are stale in this way already: they stay so. */
static void drop_stale(const struct engine *e, const struct leave *c, uint32_t ref, uint64_t *set)
{
	for (; ref; ref = exposure_at(e, c->mm, c->policy, ref)->next) {
		const struct exposure *x = exposure_at(e, c->mm, c->policy, ref);

		for (unsigned int w = 0; x->kind == c->kind && w < e->words; w++)
			for (uint64_t bits = x->cpus[w] & set[w]; bits; bits &= bits - 1) {
				unsigned int cpu = w * 64 + (unsigned int)__builtin_ctzll(bits);

				if (still_open(e, c->mm, c->policy, x, cpu))
					set_bit(set, cpu, false);
			}
	}
}

/*
 * Of the CPUs of X, those whose TLB has shown an entry of the page since it was last flushed there.
 */
static void find_held(struct engine *e, const struct mm *mm, unsigned int policy,
		      const struct leaf *l, uint64_t flush_seq, struct exposure *x)
{
	uint64_t page = l->number << LEAF_SHIFT | x->slot, filled, used;

	if (mm->policy[policy].flush_seq > flush_seq)
		flush_seq = mm->policy[policy].flush_seq;
	for (unsigned int w = 0; w < e->words; w++) {
		x->cpus[e->words + w] = 0;
		for (uint64_t bits = x->cpus[w]; bits; bits &= bits - 1) {
			unsigned int cpu = w * 64 + (unsigned int)__builtin_ctzll(bits);
			const struct residence *r = residence_find(e, mm, cpu);
			uint64_t own = r ? r->policy[policy].flush_seq : 0;

			if (tlb_look(e->tlb, cpu, l->mm, page, &filled, &used) &&
			    used > (own > flush_seq ? own : flush_seq))
				x->cpus[e->words + w] |= bits & -bits;
		}
	}
}

void testify(const struct engine *e, struct witness *w, const struct tlb_event *event,
	     uint64_t addr, const uint64_t *holders)
{
	if (w->seen)
		return;
	*w = (struct witness){.seen = true,
			      .seq = e->seq,
			      .time_ns = event->time_ns,
			      .cpu = event->cpu,
			      .mm = event->mm,
			      .addr = addr,
			      .point = event->point,
			      .level = event->level};
	for (unsigned int i = 0; i < e->words; i++)
		if (holders[i]) {
			w->holder = i * 64 + (unsigned int)__builtin_ctzll(holders[i]);
			return;
		}
}

/* The CPUs of SET hold an entry of the page that is stale from now on. */
static void expose(struct engine *e, const struct leave *c, uint32_t leaf, struct leaf *l,
		   unsigned int slot, const uint64_t *set, bool likely)
{
	struct page_policy *p = &leaf_page(&e->pages, l, slot)->policy[c->policy];
	struct instance *in = &e->instances[c->policy];
	struct exposure *x = exposure_new(e, c->mm, c->policy);
	uint64_t addr = (l->number << LEAF_SHIFT | slot) << e->config.page_shift;

	if (!x)
		return;
	x->leaf = NO_LEAF; /* not yet of this page, for the look-up */
	x->next = open_of(e, c->mm, c->policy, p->open, leaf, slot);
	x->start_ns = c->event->time_ns;
	x->start_seq = e->seq;
	x->leaf = leaf;
	x->slot = (uint8_t)slot;
	x->kind = (uint8_t)c->kind;
	x->level = c->event->level;
	x->likely = likely;
	x->permission = c->permission;
	x->deferred = c->deferred;
	copy_set(e, x->cpus, set);
	if (e->tlb)
		find_held(e, c->mm, c->policy, l, p->flush_seq, x);
	c->mm->policy[c->policy].permissions += c->permission;
	p->open = c->mm->policy[c->policy].nr;
	p->stale += count_bits(e, set);
	if (c->kind == STALE_UNSAFE)
		testify(e, &in->result.unsafe, c->event, addr, set);
	else if (c->kind == STALE_BENIGN && !in->result.stuck.seen &&
		 !(in->policy->flags & POLICY_REWALKS) &&
		 in->policy->table[POINT_SPURIOUS][c->event->level].act[0].scope == SCOPE_NONE)
		testify(e, &in->result.stuck, c->event, addr, set);
}

void leave_page(struct engine *e, struct leave *c, uint32_t leaf, struct leaf *l, unsigned int slot)
{
	struct page_policy *p = &leaf_page(&e->pages, l, slot)->policy[c->policy];
	const uint64_t *holders = find_candidates(e, c->mm, c->policy, p->flush_seq);
	uint64_t *stale = e->stale, any = 0, unseen = 0;
	uint32_t open;

	for (unsigned int w = 0; w < e->words; w++)
		any |= stale[w] = holders[w] & ~c->covered[w];
	if (!any)
		return;
	if (c->count_only) {
		c->entries += count_bits(e, stale);
		testify(e, &e->instances[c->policy].result.unsafe, c->event,
			(l->number << LEAF_SHIFT | slot) << e->config.page_shift, stale);
		return;
	}
	open = open_of(e, c->mm, c->policy, p->open, leaf, slot);
	if (open && e->instances[c->policy].tick_ns) {
		p->open = open;
		close_swept(e, c, &p->open);
		open = p->open;
	}
	if (open) {
		drop_stale(e, c, open, stale);
		any = 0;
		for (unsigned int w = 0; w < e->words; w++)
			any |= stale[w];
	}
	if (!any)
		return;
	/* That a CPU held it which was never seen with the mm is possible, not likely. */
	uint64_t seen = 0;
	for (unsigned int w = 0; w < e->words; w++) {
		seen |= e->scratch[w] = stale[w] & c->mm->visited[w];
		stale[w] &= ~c->mm->visited[w];
		unseen |= stale[w];
	}
	if (seen)
		expose(e, c, leaf, l, slot, e->scratch, c->event->sure.estimate);
	if (unseen)
		expose(e, c, leaf, l, slot, stale, false);
}

void leave_unseen(struct engine *e, const struct leave *c)
{
	const uint64_t *holders = find_candidates(e, c->mm, c->policy, 0);
	uint64_t any = 0;

	for (unsigned int w = 0; w < e->words; w++)
		any |= e->stale[w] = holders[w] & ~c->covered[w];
	if (any)
		testify(e, &e->instances[c->policy].result.unsafe, c->event, c->event->addr,
			e->stale);
}

void visit_leave(struct engine *e, uint32_t leaf, uint16_t slots, void *context)
{
	struct leave *c = context;
	struct leaf *l = pages_leaf(&e->pages, leaf);

	slots &= c->only_forked ? l->present & l->forked : l->present;
	for (; slots; slots &= (uint16_t)(slots - 1))
		leave_page(e, c, leaf, l, (unsigned int)__builtin_ctz(slots));
}
