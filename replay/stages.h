/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of one recording on their way to the results: read and merged, interpreted, and run
 * through the policies, on as many threads as there are.
 */
#ifndef REPLAY_STAGES_H
#define REPLAY_STAGES_H

#include <stdint.h>

#include "replay/decode.h"
#include "replay/dirty.h"
#include "replay/engine.h"
#include "replay/heat.h"
#include "replay/replay.h"
#include "replay/samples.h"
#include "replay/trace.h"

/* What is wanted of it; what has no comment is as in struct replay_options. */
struct stages_config {
	struct trace *trace;
	struct decoder *decoder;
	unsigned int arch, page_shift;
	const struct replay_options *options;
	const struct cost_preset *cost; /* for queues of broadcasts; NULL: none */
	size_t max_rows; /* single exposures kept per policy */
	struct results *results;
	struct samples *samples; /* NULL: none */
	struct sample sample;    /* the first one */
};

struct stages;

/* Makes everything that a recording needs while it is replayed. NULL: no memory. */
struct stages *stages_new(const struct stages_config *config);
void stages_free(struct stages *s);

/* Replays all of it. Returns 0; -EINTR if stopped; another -errno with ERR filled. */
int stages_run(struct stages *s, struct replay_error *err);

/* What came of it; the counts of events and times, and everything that is in S. */
void stages_results(const struct stages *s, struct results_input *input);

#endif
