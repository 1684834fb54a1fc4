/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics over hosts, as aggregate functions of SQL. WEIGHT says how many hosts a row stands
 * for; rows with a NULL, or a weight that is not above 0, are left out. Without rows: NULL.
 *
 *   weighted_quantile(X, WEIGHT, Q)
 *       the smallest X such that a share Q (0 to 1) of the weight has no greater one
 *   bootstrap_mean(X, WEIGHT, N, Q, SEED)
 *       the quantile Q of the mean of N hosts that are drawn anew from the rows, with replacement
 *       and by weight, 1000 times (Efron, "Bootstrap Methods: Another Look at the Jackknife",
 *       Annals of Statistics 7, 1979, the percentile interval). SEED and the set of rows decide the
 *       answer, not their order.
 */
#ifndef ANALYSIS_SAMPLE_H
#define ANALYSIS_SAMPLE_H

#include <sqlite3.h>

/* Adds the functions to DB. Returns an SQLite result code. */
int sample_functions(sqlite3 *db);

#endif
