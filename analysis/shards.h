/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds the shards of one recording (tlbreplay --shard) up to what one replay of all of it would
 * have written. Every table of the schema has a rule how its rows add up.
 */
#ifndef ANALYSIS_SHARDS_H
#define ANALYSIS_SHARDS_H

#include <stddef.h>

#include "analysis/copy.h"

/* The rule for TABLE as a word ("union", "sum", ...), or NULL: there is none. */
const char *shards_rule(const char *table);

/*
 * Takes in one shard: C says which recording of "part". FIRST: what is the same in all shards is
 * copied from it; for the others it is compared. Returns 0, or -EINVAL or -EIO with ERR.
 */
int shards_take(const struct copy *c, bool first, char *err, size_t err_size);

/* All shards have been taken in: writes the sums to main. Returns like shards_take(). */
int shards_write(const struct copy *c, char *err, size_t err_size);

#endif
