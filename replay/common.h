/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results by set of policies. Most policies do the same at most events; what they have in common is
 * counted once, under the set of them, and comes to each policy's own result at the end.
 */
#ifndef REPLAY_COMMON_H
#define REPLAY_COMMON_H

#include "replay/engine-state.h"

/* Makes those of each policy alone. Returns 0 or -ENOMEM. */
int common_init(struct engine *e);
void common_free(struct engine *e);

/*
 * Where to count for as many of *WHO as possible, which are taken from it: for all of them, or
 * if there are too many sets already, for one. Not NULL.
 */
struct common *common_take(struct engine *e, uint64_t *who);

/* No exposure shorter than this is wanted as a row by any policy of C. */
static inline uint64_t common_least_row(const struct engine *e, struct common *c)
{
	uint64_t least = UINT64_MAX;

	if (c->rows_version == e->rows_version)
		return c->least_row_ns;
	for (uint64_t rest = c->policies; rest;) {
		uint64_t own = e->instances[take_policy(&rest)].least_row_ns;

		least = own < least ? own : least;
	}
	c->rows_version = e->rows_version;
	return c->least_row_ns = least;
}

/* Adds all of it to the policies' own results. */
void common_add_up(struct engine *e);

#endif
