/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One recording through all policies, from the file to the database. */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/engine.h"
#include "replay/results.h"
#include "schema/costs.h"

struct replay_options {
	struct policy_instance *policies;
	unsigned int nr_policies;
	const struct cost_preset *cost;  /* NULL: by architecture */
	struct sweep_axis sweep[SWEEP_AXES_MAX];
	unsigned int nr_sweep;
	const struct tlb_geometry *tlb;  /* NULL: no evidence is kept */
	const char *tlb_text;            /* as given */
	const char *samples;             /* accesses as text of perf script; NULL: none */
	char *const *accesses;           /* "SYSTEM:EVENT:FIELD[:r|w]", nr_accesses of them */
	size_t nr_accesses;
	double dirty_share;              /* see replay/dirty.h; negative: from the recording */
	struct shard shard;              /* count only these address spaces; all zero: all */
	unsigned int threads;            /* 0: as many as CPUs may be used */
	uint64_t memory_bytes;           /* that the process may have in memory; 0: no limit */
	volatile sig_atomic_t *stop;     /* becomes non-zero when the user wants out */
};

struct replay_error {
	char text[1024];
};

/*
 * The policy NAME: a built-in one or, if there is a '/' in it, that of a shared object
 * (replay/plugin.h). NULL and errno, with the reason in ERR.
 */
const struct policy *replay_find_policy(const char *name, char *err, size_t err_size);

/*
 * Adds the policy SPEC, "NAME" or "NAME:key=value,...". Returns 0, or -EINVAL with the reason in
 * ERR:
 * no such policy, a bad parameter, the same spec twice; or another -errno: its shared object cannot
 * be loaded.
 */
int replay_add_policy(struct replay_options *options, const char *spec, char *err, size_t err_size);
void replay_options_free(struct replay_options *options);

/*
 * Replays PATH into RESULTS. LOST becomes true if the recording has lost events. Returns 0; -EINTR
 * if stopped; another -errno with ERR filled.
 */
int replay_trace(const char *path, const struct replay_options *options, struct results *results,
		 bool *lost, struct replay_error *err);

#endif
