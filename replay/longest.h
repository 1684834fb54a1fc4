/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The single exposures that are kept: the longest of each policy. */
#ifndef REPLAY_LONGEST_H
#define REPLAY_LONGEST_H

#include "replay/engine-state.h"

/* Offers ROW to those that R keeps. */
void longest_keep(struct engine *e, struct policy_result *r, const struct exposure_row *row);

/* Puts the rows kept into order, the longest first. */
void longest_sort(struct policy_result *r);

#endif
