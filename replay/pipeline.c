// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Batches lie in a ring of slots. Of each stage two things are kept: how many batches it is done
 * with, and whether a thread is at it.
 *
 *	stage 0   ########............   8 done    the ring has room for it up to
 *	stage 1   #####...............   5 done    the slowest stage + slots
 *	stage 2   ####................   4 done
 *	stage 3   ###.................   3 done
 *
 * A thread with nothing to do takes any stage that has a batch before it and nobody at it: the one
 * that it worked on last, if it can (that one's data are in its cache), else the last one in the
 * row, as that makes room. So the work is spread as it comes, and with one thread the same loop
 * takes each batch through all stages before the next one is made.
 *
 * Batches are hundreds of microseconds of work; one lock for all is enough.
 */
#include "replay/pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define MAX_JOBS 1024

struct worker {
	struct pipeline *pipeline;
	unsigned int number;
	pthread_t thread;
};

struct pipeline {
	struct pipeline_config config;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int waiting;
	struct {
		uint64_t done;
		bool busy;
		bool leaf; /* nobody takes its batches from it */
	} stages[PIPELINE_MAX_STAGES];
	bool draining;  /* the ring was full: it is half emptied first, for fewer turns */
	uint64_t total; /* batches, once that is known */
	int error;
	uint64_t error_batch;
	unsigned int error_stage;
	void *jobs[MAX_JOBS];
	unsigned int first_job, nr_jobs;
	struct worker workers[PIPELINE_MAX_THREADS];
	unsigned int nr_workers; /* beside the caller */
};

struct pipeline *pipeline_new(const struct pipeline_config *config)
{
	struct pipeline *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->config = *config;
	p->total = UINT64_MAX;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	for (unsigned int i = 0; i < config->nr_stages; i++) {
		p->stages[i].leaf = true;
		if (config->stages[i].after >= 0)
			p->stages[config->stages[i].after].leaf = false;
	}
	return p;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Batches that stage 0 has made and not all stages are done with. */
static uint64_t under_way(const struct pipeline *p)
{
	uint64_t least = p->stages[0].done;

	for (unsigned int i = 0; i < p->config.nr_stages; i++)
		if (p->stages[i].leaf && p->stages[i].done < least)
			least = p->stages[i].done;
	return p->stages[0].done - least;
}

static bool ready(struct pipeline *p, unsigned int stage)
{
	uint64_t done = p->stages[stage].done, in_ring;

	if (p->stages[stage].busy || done >= p->total)
		return false;
	if (p->config.stages[stage].after >= 0)
		return done < p->stages[p->config.stages[stage].after].done;
	in_ring = under_way(p);
	if (in_ring >= p->config.slots)
		p->draining = true;
	else if (in_ring <= p->config.slots / 2)
		p->draining = false;
	return !p->draining;
}

static bool finished(const struct pipeline *p)
{
	for (unsigned int i = 0; i < p->config.nr_stages; i++)
		if (p->stages[i].busy || p->stages[i].done < p->total)
			return false;
	return true;
}

static int choose(struct pipeline *p, int last)
{
	if (p->config.threads > 1 && last >= 0 && ready(p, (unsigned int)last))
		return last;
	for (unsigned int i = p->config.nr_stages; i-- > 0;)
		if (ready(p, i))
			return (int)i;
	return -1;
}

static void note_result(struct pipeline *p, unsigned int stage, int ret)
{
	uint64_t batch = p->stages[stage].done;

	if (ret == PIPELINE_END && batch + 1 < p->total)
		p->total = batch + 1;
	if (ret >= 0)
		return;
	if (!p->error || batch < p->error_batch ||
	    (batch == p->error_batch && stage < p->error_stage)) {
		p->error = ret;
		p->error_batch = batch;
		p->error_stage = stage;
	}
	/* What comes before it may still fail itself, and then earlier. */
	if (batch < p->total)
		p->total = batch;
}

static void work(struct pipeline *p, unsigned int thread)
{
	int stage = -1;

	pthread_mutex_lock(&p->lock);
	while (!finished(p)) {
		stage = choose(p, stage);
		if (stage >= 0) {
			const struct pipeline_stage *s = &p->config.stages[stage];
			unsigned int slot = p->stages[stage].done % p->config.slots;
			int ret;

			p->stages[stage].busy = true;
			pthread_mutex_unlock(&p->lock);
			ret = s->work(s->context, slot);
			pthread_mutex_lock(&p->lock);
			note_result(p, (unsigned int)stage, ret);
			p->stages[stage].busy = false;
			p->stages[stage].done++;
		} else if (p->nr_jobs) {
			void *item = p->jobs[p->first_job];

			p->first_job = (p->first_job + 1) % MAX_JOBS;
			p->nr_jobs--;
			pthread_mutex_unlock(&p->lock);
			p->config.job(p->config.job_context, item, thread);
			pthread_mutex_lock(&p->lock);
			continue;
		} else {
			p->waiting++;
			pthread_cond_wait(&p->changed, &p->lock);
			p->waiting--;
			continue;
		}
		if (p->waiting)
			pthread_cond_broadcast(&p->changed);
	}
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void *run_worker(void *argument)
{
	const struct worker *w = argument;

	work(w->pipeline, w->number);
	return NULL;
}

static void start_workers(struct pipeline *p)
{
	sigset_t all, before;

	/* Signals are for the thread that was there before. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (p->nr_workers + 1 < p->config.threads && p->nr_workers < PIPELINE_MAX_THREADS - 1) {
		struct worker *w = &p->workers[p->nr_workers];

		*w = (struct worker){.pipeline = p, .number = p->nr_workers + 1};
		if (pthread_create(&w->thread, NULL, run_worker, w))
			break; /* fewer do it as well */
		p->nr_workers++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int pipeline_run(struct pipeline *p, unsigned int *stage)
{
	start_workers(p);
	work(p, 0);
	for (unsigned int i = 0; i < p->nr_workers; i++)
		pthread_join(p->workers[i].thread, NULL);
	p->nr_workers = 0;
	*stage = p->error_stage;
	return p->error;
}

void pipeline_post(struct pipeline *p, void *item)
{
	pthread_mutex_lock(&p->lock);
	if (p->nr_jobs < MAX_JOBS) {
		p->jobs[(p->first_job + p->nr_jobs++) % MAX_JOBS] = item;
		if (p->waiting)
			pthread_cond_signal(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
}

unsigned int pipeline_cpus(void)
{
	/* As many as the largest machines have. */
	size_t size = CPU_ALLOC_SIZE(8192);
	cpu_set_t *set = CPU_ALLOC(8192);
	int n = 1;

	if (set && !sched_getaffinity(0, size, set))
		n = CPU_COUNT_S(size, set);
	CPU_FREE(set);
	return n < 1 ? 1 : n > PIPELINE_MAX_THREADS ? PIPELINE_MAX_THREADS : (unsigned int)n;
}
