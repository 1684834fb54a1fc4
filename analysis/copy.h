/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies one recording's rows from a results database into another one. Which columns name a
 * recording or a policy is read from the schema's REFERENCES, so that a new table needs nothing
 * here.
 */
#ifndef ANALYSIS_COPY_H
#define ANALYSIS_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <sqlite3.h>

/* The recording that is being copied. */
struct copy {
	sqlite3 *db;          /* main: the target; "part": where it comes from */
	int64_t from, to;     /* its number there and here */
	int64_t first_policy; /* number of its first policy here */
};

/*
 * Numbers the policies of recording C->from of "part" from C->first_policy, in temp.policy_map.
 * Returns 0 or -EIO with the reason in sqlite3_errmsg().
 */
int copy_policies(const struct copy *c);

/*
 * Copies the recording's rows of TABLE into TARGET ("main.flush", or a temporary table of the same
 * columns), in the order in which they are stored. Needs copy_policies(). Returns 0, -EINVAL (the
 * table refers to neither a recording nor a policy) or -EIO.
 */
int copy_rows(const struct copy *c, const char *table, const char *target);

/* Whether "part" has a row of TABLE for the recording that main does not have. Returns 0, 1, -E. */
int copy_differs(const struct copy *c, const char *table);

/*
 * Calls EACH for all tables of main's schema that hold rows about recordings, by name, until it
 * returns non-zero, which is returned. Returns -EIO if the schema cannot be read.
 */
int copy_tables(sqlite3 *db, int (*each)(void *ctx, const char *table), void *ctx);

#endif
