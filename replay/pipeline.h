/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A few stages, each of which takes batches in their order, on a few threads. Each stage sees the
 * same batches in the same order whatever the number of threads, and is never run twice at once, so
 * it needs no locks for what is its own, and comes to the same results.
 */
#ifndef REPLAY_PIPELINE_H
#define REPLAY_PIPELINE_H

#define PIPELINE_MAX_STAGES  70
#define PIPELINE_MAX_THREADS 64
#define PIPELINE_END         1

struct pipeline;

struct pipeline_stage {
	/* The stage whose batches this one takes; it stands before it. -1: the first one makes them. */
	int after;
	/*
	 * Works on the batch in SLOT. Returns 0; a negative errno, which ends the pipeline; or (the
	 * first stage) PIPELINE_END: this batch is the last one.
	 */
	int (*work)(void *context, unsigned int slot);
	void *context;
};

struct pipeline_config {
	const struct pipeline_stage *stages;
	unsigned int nr_stages;
	unsigned int slots;   /* batches that can be under way */
	unsigned int threads; /* the caller's included; as many as can be made, if they are fewer */
	/* Optional: does what was given to pipeline_post(), in thread number THREAD. */
	void (*job)(void *context, void *item, unsigned int thread);
	void *job_context;
};

/* NULL: no memory. CONFIG's stages must outlive it. */
struct pipeline *pipeline_new(const struct pipeline_config *config);
void pipeline_free(struct pipeline *p);

/*
 * Runs until all stages have had the last batch. Returns 0, or the error of the earliest batch and
 * there of the earliest stage, with *STAGE set: what a run on one thread would have met first.
 */
int pipeline_run(struct pipeline *p, unsigned int *stage);

/*
 * From a stage: a job that any thread may do when no stage has work for it. It may also never be
 * done.
 */
void pipeline_post(struct pipeline *p, void *item);

/* The number of CPUs that this process may run on. */
unsigned int pipeline_cpus(void);

#endif
