// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/residency.h"

#include <stdlib.h>

static struct mm *mm_state_new(struct engine *e, uint32_t number)
{
	struct mm *mm;

	if (number >= e->nr_mms) {
		size_t nr = e->nr_mms ? e->nr_mms * 2 : 256;

		while (nr <= number)
			nr *= 2;
		struct mm **more = realloc(e->mms, nr * sizeof(struct mm *));
		if (!more) {
			e->failed = true;
			return NULL;
		}
		memset(more + e->nr_mms, 0, (nr - e->nr_mms) * sizeof(struct mm *));
		e->mms = more;
		e->nr_mms = nr;
	}
	mm = calloc(1, sizeof(*mm) + e->config.nr_policies * sizeof(mm->policy[0]));
	if (mm)
		mm->loaded =
			calloc((size_t)e->words * (e->config.nr_policies + 2), sizeof(uint64_t));
	if (!mm || !mm->loaded) {
		free(mm);
		e->failed = true;
		return NULL;
	}
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		mm->policy[p].holders = mm->loaded + (size_t)(p + 1) * e->words;
	mm->visited = mm->loaded + (size_t)(e->config.nr_policies + 1) * e->words;
	mm->leaves = NO_LEAF;
	mm->born_seq = e->seq;
	return e->mms[number] = mm;
}

struct mm *mm_state_make(struct engine *e, uint32_t number)
{
	struct mm *mm = mm_find(e, number);

	return mm ? mm : mm_state_new(e, number);
}

void mm_state_free(const struct engine *e, struct mm *mm)
{
	if (!mm)
		return;
	for (unsigned int lane = 0; lane < LANES; lane++) {
		free(mm->lanes[lane].exposures);
		free(mm->lanes[lane].heads);
	}
	for (unsigned int p = 0; p < e->config.nr_policies; p++) {
		for (uint32_t i = 0; i < mm->nr_residences; i++)
			free(residence_at(e, mm, i)->policy[p].notes);
	}
	free(mm->residences);
	free(mm->loaded);
	free(mm->rows);
	free(mm);
}

struct residence *residence_make(struct engine *e, struct mm *mm, unsigned int cpu)
{
	size_t size = e->residence_size;

	for (uint32_t i = 0; i < mm->nr_residences; i++)
		if (residence_at(e, mm, i)->cpu == cpu)
			return residence_at(e, mm, i);
	if (mm->nr_residences == mm->max_residences) {
		uint32_t max = mm->max_residences ? mm->max_residences * 2 : 2;
		char *more = realloc(mm->residences, max * size);

		if (!more) {
			e->failed = true;
			return NULL;
		}
		mm->residences = more;
		mm->max_residences = max;
	}
	struct residence *r = residence_at(e, mm, mm->nr_residences++);
	memset(r, 0, size);
	r->cpu = cpu;
	return r;
}

void forget_holders(const struct engine *e, struct mm *mm)
{
	for (unsigned int p = 0; p < e->config.nr_policies; p++)
		mm->policy[p].holders_known = false;
}

void residency_older(struct engine *e, uint32_t number)
{
	struct mm *mm = mm_state_make(e, number);

	if (!mm)
		return;
	mm->older = true;
	forget_holders(e, mm);
}

void residency_lost(struct engine *e, unsigned int cpu)
{
	if (e->cpus[cpu].lost_until == FOREVER)
		return;
	e->cpus[cpu].lost_until = e->lost_end = FOREVER;
	for (size_t i = 0; i < e->nr_mms; i++)
		if (e->mms[i])
			forget_holders(e, e->mms[i]);
}

void residency_shown(struct engine *e, unsigned int cpu)
{
	struct cpu *c = &e->cpus[cpu];

	if (c->hidden_until != FOREVER && c->lost_until != FOREVER)
		return;
	if (c->hidden_until == FOREVER)
		c->hidden_until = e->seq;
	if (c->lost_until == FOREVER)
		c->lost_until = e->seq;
	e->hidden_end = e->lost_end = 0;
	for (unsigned int i = 0; i < e->config.nr_cpus; i++) {
		if (e->cpus[i].hidden_until > e->hidden_end)
			e->hidden_end = e->cpus[i].hidden_until;
		if (e->cpus[i].lost_until > e->lost_end)
			e->lost_end = e->cpus[i].lost_until;
	}
}

void residency_make_unseen(struct engine *e, struct mm *mm, uint64_t flush_seq)
{
	if (blind_end(e, mm) <= flush_seq)
		return;
	for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
		if (blind_until(e, mm, cpu) > flush_seq)
			residence_make(e, mm, cpu);
}

void find_holders(const struct engine *e, const struct mm *mm, unsigned int policy, uint64_t seq,
		  uint64_t *set)
{
	bool blind = blind_end(e, mm) > seq;

	set_all(e, set, false);
	for (unsigned int cpu = 0; blind && cpu < e->config.nr_cpus; cpu++)
		set_bit(set, cpu, blind_until(e, mm, cpu) > seq);
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		const struct residence *r = residence_at(e, mm, i);
		uint64_t own = r->policy[policy].flush_seq, until = r->loaded_until;

		if (blind && blind_until(e, mm, r->cpu) > until)
			until = blind_until(e, mm, r->cpu);
		set_bit(set, r->cpu, until > (own > seq ? own : seq));
	}
}

/* ---- what policies may ask ---- */

const uint64_t *residency_loaded(const struct policy_view *view, uint32_t number)
{
	struct engine *e = engine_of(view);
	struct mm *mm = mm_find(e, number);

	for (unsigned int w = 0; w < e->words; w++)
		e->view_set[w] = mm ? mm->loaded[w] & ~e->instances[e->asking].dropped[w] : 0;
	return e->view_set;
}

const uint64_t *residency_visited(const struct policy_view *view, uint32_t number)
{
	struct engine *e = engine_of(view);
	struct mm *mm = mm_find(e, number);

	set_all(e, e->view_set, false);
	if (!mm)
		return e->view_set;
	if (!blind_end(e, mm))
		return mm->visited;
	copy_set(e, e->view_set, mm->visited);
	for (unsigned int cpu = 0; cpu < e->config.nr_cpus; cpu++)
		if (blind_until(e, mm, cpu))
			set_bit(e->view_set, cpu, true);
	return e->view_set;
}

const uint64_t *residency_lazy(const struct policy_view *view)
{
	return engine_of(view)->lazy;
}

const uint64_t *residency_holders(const struct policy_view *view, uint32_t number, uint64_t addr)
{
	struct engine *e = engine_of(view);
	struct mm *mm = mm_find(e, number);
	uint64_t page = addr >> e->config.page_shift, seq = 0;
	uint32_t leaf = mm && addr ? pages_find(&e->pages, number, page) : NO_LEAF;

	e->instances[e->asking].asked_foreign |= !shard_has(&e->config.shard, number);
	if (!mm) {
		set_all(e, e->view_set, false);
		return e->view_set;
	}
	if (leaf != NO_LEAF)
		seq = page_of(e, leaf, page & (LEAF_PAGES - 1))->flush_seq[e->asking];
	return find_candidates(e, mm, e->asking, seq);
}
