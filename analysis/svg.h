/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures for the HTML page, as inline SVG without a colour of its own: classes name what a shape
 * is and the page's style decides how it looks, in light and in dark.
 *
 *   q pN        belongs to policy N (as policy_number says), for the page to hide
 *   sN dN       stroke and dash of policy N, repeated after six and five
 *   fN          the same as a fill
 *   lo, es, hi  a mark at the low bound, the estimate, the high bound
 *   ln, gr, ax  lines of a chart; its grid; its axes
 *   hN          heat, from 1 to 8
 */
#ifndef ANALYSIS_SVG_H
#define ANALYSIS_SVG_H

#include <stdbool.h>
#include <stdio.h>
#include <sqlite3.h>

/* The number of a policy from 1; 0: unknown. */
typedef int (*policy_number)(void *ctx, const char *policy);

/* Whether there is a drawing for the report of that name. */
bool svg_has(const char *report);

/*
 * Draws what REPORT's "-- plot" statement STMT gives, one figure for each panel; nothing if there
 * are no rows. Returns 0, -ENOMEM, -ENOENT (no drawing for it) or -EIO with the reason in
 * sqlite3_errmsg().
 */
int svg_draw(FILE *out, const char *report, sqlite3_stmt *stmt, policy_number number, void *ctx);

#endif
