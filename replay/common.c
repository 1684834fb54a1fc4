// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/common.h"

#include <errno.h>
#include <stdlib.h>

static struct common *find(const struct engine *e, uint64_t who, unsigned int *slot)
{
	const unsigned int mask = 4 * MAX_COMMON - 1;
	uint64_t h = who * UINT64_C(0x9E3779B97F4A7C15);

	for (unsigned int i = h >> 40 & mask;; i = (i + 1) & mask) {
		*slot = i;
		if (!e->common_slots[i])
			return NULL;
		struct common *c = e->commons[e->common_slots[i] - 1];
		if (c->policies == who)
			return c;
	}
}

/* NULL: no memory. RESULT: of one policy; NULL: one of its own. */
static struct common *make(struct engine *e, uint64_t who, unsigned int slot,
			   struct policy_result *result)
{
	struct common *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->policies = who;
	c->id = e->nr_commons;
	c->rows_version = UINT64_MAX;
	c->result = result;
	if (!result) {
		c->result = calloc(1, sizeof(*c->result));
		if (!c->result)
			goto fail;
		c->result->issued = calloc((size_t)e->config.nr_cpus * NR_SCOPES, sizeof(uint64_t));
		c->result->received = calloc(e->config.nr_cpus, sizeof(uint64_t));
		c->result->buckets = calloc(MAX_BUCKETS, sizeof(*c->result->buckets));
		if (!c->result->issued || !c->result->received || !c->result->buckets)
			goto fail;
	}
	e->commons[e->nr_commons++] = c;
	e->common_slots[slot] = (uint16_t)e->nr_commons;
	return c;
fail:
	if (c->result) {
		free(c->result->issued);
		free(c->result->received);
		free(c->result->buckets);
		free(c->result);
	}
	free(c);
	return NULL;
}

int common_init(struct engine *e)
{
	unsigned int slot;

	for (unsigned int p = 0; p < e->config.nr_policies; p++) {
		find(e, UINT64_C(1) << p, &slot);
		if (!make(e, UINT64_C(1) << p, slot, &e->instances[p].result))
			return -ENOMEM;
	}
	return 0;
}

void common_free(struct engine *e)
{
	for (unsigned int i = 0; i < e->nr_commons; i++) {
		struct common *c = e->commons[i];

		if (c->policies & (c->policies - 1)) {
			free(c->result->issued);
			free(c->result->received);
			free(c->result->buckets);
			free(c->result);
		}
		free(c);
	}
}

struct common *common_take(struct engine *e, uint64_t *who)
{
	uint64_t all = *who;
	unsigned int slot;
	struct common *c = find(e, all, &slot);

	*who = 0;
	if (c)
		return c;
	if (e->nr_commons < MAX_COMMON)
		c = make(e, all, slot, NULL);
	if (c)
		return c;
	*who = all & (all - 1);
	return find(e, all & -all, &slot);
}

static void add_counts(uint64_t *to, const uint64_t *more, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] += more[i];
}

static void add_flushes(struct policy_result *to, const struct policy_result *more)
{
	struct flush_count *a = &to->flush[0][0][0];
	const struct flush_count *b = &more->flush[0][0][0];

	for (size_t i = 0; i < sizeof(to->flush) / sizeof(*a); i++) {
		a[i].decisions += b[i].decisions;
		add_bound(&a[i].flushes, &b[i].flushes);
		a[i].pages += b[i].pages;
	}
}

static void add_exposures(struct policy_result *to, const struct policy_result *more)
{
	for (unsigned int kind = 0; kind < NR_STALENESS; kind++) {
		for (unsigned int ended = 0; ended < NR_ENDED; ended++) {
			exposure_merge(&to->proven[kind][ended], &more->proven[kind][ended]);
			exposure_merge(&to->held[kind][ended], &more->held[kind][ended]);
			exposure_merge(&to->likely[kind][ended], &more->likely[kind][ended]);
			exposure_merge(&to->shared[kind][ended], &more->shared[kind][ended]);
			exposure_merge(&to->possible[kind][ended], &more->possible[kind][ended]);
		}
		add_counts(to->lengths[kind], more->lengths[kind], 65);
	}
	to->rows_left_out += more->rows_left_out;
}

static void add_spurious(struct policy_result *to, const struct policy_result *more)
{
	for (unsigned int level = 0; level < NR_LEVELS; level++) {
		to->spurious_proven[level] += more->spurious_proven[level];
		to->spurious_possible[level] += more->spurious_possible[level];
		to->spurious_predicted[level] += more->spurious_predicted[level];
		to->spurious_held[level] += more->spurious_held[level];
		to->spurious_likely[level] += more->spurious_likely[level];
		to->spurious_unsure[level] += more->spurious_unsure[level];
		add_bound(&to->spurious_maybe[level], &more->spurious_maybe[level]);
	}
	add_bound(&to->avoided, &more->avoided);
}

static void add_result(const struct engine *e, struct policy_result *to,
		       const struct policy_result *more)
{
	add_flushes(to, more);
	add_exposures(to, more);
	add_spurious(to, more);
	add_bound(&to->targets, &more->targets);
	for (unsigned int scope = 0; scope < NR_SCOPES; scope++) {
		add_bound(&to->whole[scope], &more->whole[scope]);
		add_bound(&to->further[scope], &more->further[scope]);
	}
	add_bound(&to->target_pages, &more->target_pages);
	to->rewalks += more->rewalks;
	to->refills += more->refills;
	to->notifies += more->notifies;
	add_counts(to->issued, more->issued, (size_t)e->config.nr_cpus * NR_SCOPES);
	add_counts(to->received, more->received, e->config.nr_cpus);
	for (size_t i = 0; i < more->nr_buckets; i++)
		for (unsigned int scope = 0; scope < NR_SCOPES; scope++)
			add_bound(&to->buckets[i].flushes[scope], &more->buckets[i].flushes[scope]);
	if (more->nr_buckets > to->nr_buckets)
		to->nr_buckets = more->nr_buckets;
}

void common_add_up(struct engine *e)
{
	for (unsigned int i = 0; i < e->nr_commons; i++) {
		const struct common *c = e->commons[i];
		uint64_t rest = c->policies;

		if (!(rest & (rest - 1)))
			continue;
		while (rest)
			add_result(e, &e->instances[take_policy(&rest)].result, c->result);
	}
}
