/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small scenes fed to the engine as normalised events, and what must come of them. For a test that
 * works the values out by hand.
 *
 * Time is in ns from 0.
 */
#ifndef TESTS_UNIT_SCENE_H
#define TESTS_UNIT_SCENE_H

#include "replay/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static const char *scene;

#define CHECK(condition)                                                                      \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			printf("%s:%d: %s: not %s\n", __FILE__, __LINE__, scene, #condition); \
			failures++;                                                           \
		}                                                                             \
	} while (0)

/* Policies by their specs, NAME or NAME:PARAMETERS. */
#define MAX_TESTED 8
static const char *specs[MAX_TESTED];
static unsigned int nr_tested;

static struct policy_instance instances[MAX_TESTED];
static struct engine *e;
static uint64_t pages_seen, mm_flushes;
static bool batches __attribute__((unused)); /* the scene says when batches end */

static inline void sink_page(void *context, uint32_t mm, uint64_t page, unsigned int point,
			     unsigned int level, uint64_t decisions)
{
	(void)context, (void)mm, (void)page, (void)point, (void)level;
	pages_seen += decisions;
}

static inline void sink_flush_mm(void *context, unsigned int policy, uint32_t mm,
				 unsigned int point, unsigned int scope,
				 const struct bound *flushes)
{
	(void)context, (void)policy, (void)mm, (void)point, (void)scope;
	mm_flushes += flushes->estimate;
}

static inline void instance_make(struct policy_instance *in, const char *spec)
{
	char text[128], err[256];

	snprintf(text, sizeof(text), "%s", spec);
	char *given = strchr(text, ':');
	if (given)
		*given++ = '\0';
	const struct policy *policy = policy_find(text);
	if (!policy)
		abort();
	*in = (struct policy_instance){.policy = policy, .spec = spec, .given = ""};
	in->params = policy->params_size ? calloc(1, policy->params_size) : NULL;
	param_defaults(policy->params, in->params);
	param_defaults(common_params, &in->common);
	if (given && param_parse(policy->params, in->params, given, err, sizeof(err)))
		abort();
}

/* A scene with the policies of SPECS. TLB: what CPUs hold of what they are seen to use, or NULL. */
static inline void begin_scene(const char *name, unsigned int cpus, const char *tlb)
{
	static struct tlb_geometry geometry;
	char err[256];

	scene = name;
	pages_seen = mm_flushes = 0;
	for (unsigned int i = 0; i < nr_tested; i++)
		instance_make(&instances[i], specs[i]);
	if (tlb && tlb_parse(tlb, &geometry, err, sizeof(err)))
		abort();
	e = engine_new(
		&(struct engine_config){.nr_cpus = cpus,
					.page_shift = 12,
					.policies = instances,
					.nr_policies = nr_tested,
					.max_rows = 10,
					.batches = batches,
					.tlb = tlb ? &geometry : NULL,
					.sink = {.page = sink_page, .flush_mm = sink_flush_mm}});
	if (!e)
		abort();
}

static inline void finish(void)
{
	engine_free(e);
	for (unsigned int i = 0; i < nr_tested; i++)
		free(instances[i].params);
}

static const struct event_sureness certain = {1, 1, 1};

static inline void put(struct tlb_event event)
{
	engine_event(e, &event);
}

static inline void decide_if(uint64_t ns, unsigned int cpu, uint32_t mm, enum point point,
			     enum level level, uint64_t page, uint64_t pages, unsigned int flags,
			     struct event_sureness sure)
{
	put((struct tlb_event){.time_ns = ns,
			       .began_ns = ns,
			       .addr = page << 12,
			       .pages = pages,
			       .mm = mm,
			       .cpu = cpu,
			       .kind = EVENT_DECISION,
			       .point = point,
			       .level = level,
			       .flags = flags,
			       .sure = sure});
}

static inline void decide(uint64_t ns, unsigned int cpu, uint32_t mm, enum point point,
			  enum level level, uint64_t page, uint64_t pages)
{
	decide_if(ns, cpu, mm, point, level, page, pages, 0, certain);
}

/* A task of MM begins to run on CPU. */
static inline void run(uint64_t ns, unsigned int cpu, uint32_t mm)
{
	decide(ns, cpu, mm, POINT_SWITCH, LEVEL_MM, 0, 0);
	put((struct tlb_event){
		.time_ns = ns, .mm = mm, .cpu = cpu, .kind = EVENT_LOAD, .sure = certain});
}

static inline void idle(uint64_t ns, unsigned int cpu, uint32_t mm)
{
	put((struct tlb_event){
		.time_ns = ns, .mm = mm, .cpu = cpu, .kind = EVENT_IDLE, .sure = certain});
}

static inline void lost(uint64_t ns, unsigned int cpu)
{
	put((struct tlb_event){.time_ns = ns, .cpu = cpu, .kind = EVENT_LOST, .sure = certain});
}

/* MM is older than the recording. */
static inline void older(uint64_t ns, uint32_t mm)
{
	put((struct tlb_event){.time_ns = ns, .mm = mm, .kind = EVENT_OLDER, .sure = certain});
}

/* A fault has mapped the page. */
static inline void touch(uint64_t ns, unsigned int cpu, uint32_t mm, uint64_t page, bool write)
{
	put((struct tlb_event){.time_ns = ns,
			       .began_ns = ns,
			       .addr = page << 12,
			       .pages = 1,
			       .mm = mm,
			       .cpu = cpu,
			       .kind = EVENT_PRESENT,
			       .flags = write ? EVENT_WRITE : 0,
			       .sure = certain});
}

static inline void reuse(uint64_t ns, unsigned int cpu, uint32_t mm, uint64_t page)
{
	decide_if(ns, cpu, mm, POINT_WP_REUSE, LEVEL_PTE, page, 1, EVENT_WRITE, certain);
}

/* A write fault that changed nothing: taken at BEGAN, over at NS. */
static inline void spurious(uint64_t began, uint64_t ns, unsigned int cpu, uint32_t mm,
			    uint64_t page)
{
	put((struct tlb_event){.time_ns = ns,
			       .began_ns = began,
			       .addr = page << 12,
			       .pages = 1,
			       .mm = mm,
			       .cpu = cpu,
			       .kind = EVENT_DECISION,
			       .point = POINT_SPURIOUS,
			       .level = LEVEL_PTE,
			       .flags = EVENT_WRITE,
			       .sure = certain});
}

/*
 * As the interpreter tells it: the ranges that were made read-only, then the flush of the parent.
 */
static inline void fork_of(uint64_t ns, unsigned int cpu, uint32_t mm)
{
	put((struct tlb_event){.time_ns = ns - 1,
			       .addr = 0,
			       .pages = 1 << 20,
			       .mm = mm,
			       .cpu = cpu,
			       .kind = EVENT_PROTECTED,
			       .sure = certain});
	decide(ns, cpu, mm, POINT_FORK, LEVEL_MM, 0, 0);
}

static inline void end(uint64_t ns)
{
	CHECK(!engine_end(e, ns));
}

static inline const struct policy_result *result(unsigned int policy)
{
	return engine_result(e, policy);
}

static inline void check_flush(int line, unsigned int policy, enum point point, enum level level,
			       enum scope scope, uint64_t decisions, uint64_t low,
			       uint64_t estimate, uint64_t high)
{
	const struct flush_count *c = &result(policy)->flush[point][level][scope];

	if (c->decisions == decisions && c->flushes.low == low && c->flushes.estimate == estimate &&
	    c->flushes.high == high)
		return;
	printf("%s:%d: %s: %s: %s %s %s: %lu decisions, flushes %lu %lu %lu; wanted %lu, %lu %lu "
	       "%lu\n",
	       __FILE__, line, scene, specs[policy], point_name(point), level_name(level),
	       scope_name(scope), c->decisions, c->flushes.low, c->flushes.estimate,
	       c->flushes.high, decisions, low, estimate, high);
	failures++;
}
#define FLUSH(...) check_flush(__LINE__, __VA_ARGS__)

static inline struct exposure_sum sum_of(const struct exposure_sum *sums, int ended)
{
	struct exposure_sum all = {0};

	for (int i = 0; i < NR_ENDED; i++) {
		if (ended != -1 && ended != i)
			continue;
		all.entries += sums[i].entries;
		all.entry_units += sums[i].entry_units;
		if (sums[i].max_ns > all.max_ns)
			all.max_ns = sums[i].max_ns;
	}
	return all;
}

#define ANY -1

static inline void check_stale(int line, bool high, unsigned int policy, enum staleness kind,
			       int ended, uint64_t entries, uint64_t entry_ns, uint64_t max_ns)
{
	const struct policy_result *r = result(policy);
	struct exposure_sum got = sum_of(high ? r->possible[kind] : r->proven[kind], ended);

	if (got.entries == entries && exposure_ns(&got) == (double)entry_ns && got.max_ns == max_ns)
		return;
	printf("%s:%d: %s: %s: %s %s, ended by %s: %g entries, %g ns, at most %lu; wanted %lu, "
	       "%lu, %lu\n",
	       __FILE__, line, scene, specs[policy], high ? "high" : "low", staleness_name(kind),
	       ended == ANY ? "anything" : ended_name(ended), got.entries, exposure_ns(&got),
	       got.max_ns, entries, entry_ns, max_ns);
	failures++;
}
#define HIGH(...) check_stale(__LINE__, true, __VA_ARGS__)
#define LOW(...)  check_stale(__LINE__, false, __VA_ARGS__)

static inline void check_spurious(int line, unsigned int policy, uint64_t proven, uint64_t race,
				  uint64_t possible, uint64_t avoided)
{
	const struct policy_result *r = result(policy);

	if (r->spurious_proven[LEVEL_PTE] == proven && r->spurious_unsure[LEVEL_PTE] == race &&
	    r->spurious_possible[LEVEL_PTE] == possible && r->avoided.estimate == avoided)
		return;
	printf("%s:%d: %s: %s: spurious faults: %lu proven, %lu raced, %lu possible, %lu avoided; "
	       "wanted "
	       "%lu, %lu, %lu, %lu\n",
	       __FILE__, line, scene, specs[policy], r->spurious_proven[LEVEL_PTE],
	       r->spurious_unsure[LEVEL_PTE], r->spurious_possible[LEVEL_PTE], r->avoided.estimate,
	       proven, race, possible, avoided);
	failures++;
}
#define SPURIOUS(...) check_spurious(__LINE__, __VA_ARGS__)

#endif
