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
	for (unsigned int p = 0; p < e->config.nr_policies; p++) {
		free(mm->policy[p].exposures);
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

void residency_suspect(struct engine *e, unsigned int cpu)
{
	for (size_t i = 0; i < e->nr_mms; i++) {
		struct residence *r = e->mms[i] ? residence_make(e, e->mms[i], cpu) : NULL;

		if (!r || r->loaded_until == FOREVER)
			continue;
		r->loaded_until = r->ran_until = e->seq;
		e->mms[i]->last_unload = e->seq;
		forget_holders(e, e->mms[i]);
	}
}

void find_holders(const struct engine *e, const struct mm *mm, unsigned int policy, uint64_t seq,
		  uint64_t *set)
{
	set_all(e, set, false);
	for (uint32_t i = 0; i < mm->nr_residences; i++) {
		const struct residence *r = residence_at(e, mm, i);
		uint64_t own = r->policy[policy].flush_seq;

		if (r->loaded_until > (own > seq ? own : seq))
			set_bit(set, r->cpu, true);
	}
	if (e->any_unsure)
		for (unsigned int w = 0; w < e->words; w++)
			set[w] |= e->unsure[w];
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
	return mm ? mm->visited : e->view_set;
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
		seq = leaf_page(&e->pages, pages_leaf(&e->pages, leaf), page & (LEAF_PAGES - 1))
			      ->policy[e->asking]
			      .flush_seq;
	return find_candidates(e, mm, e->asking, seq);
}
