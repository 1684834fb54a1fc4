// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *	           .-> policies, some of them ----.
 *	read -> interpret -> policies, others ----+-> results
 *	           |-> heat ----------------------|
 *	           |-> latency -------------------|
 *	           '-> swap ----------------------'
 *
 * Each group of policies has an engine of its own. What engines share (which pages there are, who
 *has which address space loaded) is worked out in each of them again, so there are no more groups
 *than threads can make use of. No policy's result depends on which others are in its engine.
 *
 * Rows that leave the engines and the interpreter on the way go to SQLite under one lock. They come
 * in another order with more threads; whatever becomes of them is ordered when it is written.
 */
#include "replay/stages.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/grow.h"
#include "common/msg.h"
#include "replay/fabric.h"
#include "replay/latency.h"
#include "replay/interpret.h"
#include "replay/pipeline.h"

/*
 * Events that pass through one stage before the next one has them: few enough for the cache, many
 * enough that handing them on costs nothing.
 */
#define BATCH_ALONE 1024
#define BATCH       4096
#define SLOTS       8 /* batches under way with threads */

#define BOUNDS 3 /* low, value, high */

#define MEMORY_EVENTS (1U << 16) /* between two looks at the memory in use */

/* While one event is worked on, the page of one that comes is brought near. */
#define NEAR_EVENTS 8

#define GROUP_MOST 4 /* policies in a group, if there are threads enough */

/* About what the stages cost per event, in ns; only their ratios matter. */
enum { COST_READ = 25, COST_INTERPRET = 15, COST_SHARED = 15, COST_POLICY = 10 };

/* An address space that ended behind event number AFTER of a batch. */
struct ended_mm {
	size_t after;
	struct mm_identity mm;
};

struct batch {
	struct trace_batch raw;
	uint64_t last_ns; /* of all events so far */
	bool last;
	/* Interpreted. */
	struct tlb_event *events;
	struct ended_mm *ended;
	size_t nr, max, nr_ended, max_ended;
};

/* Policies that share an engine. */
struct group {
	struct stages *stages;
	struct engine *engine;
	unsigned int first, nr; /* policies */
	struct fabric **queues; /* one for each policy and bound; NULL: nothing is priced */
};

struct stages {
	struct stages_config config;
	unsigned int threads, nr_slots, nr_groups;
	struct batch slots[SLOTS];
	struct pipeline *pipeline;
	struct group *groups;
	struct interpreter *interpreter;
	struct dirty *dirty; /* NULL: the recording has nothing of swap */
	struct heat *heat;
	struct latency *latency; /* NULL: the recording times nothing; the interpreter's */
	pthread_mutex_t rows; /* whoever gives rows to the results */
	const struct policy_result **outcomes; /* by policy */
	bool *shard_unsure;                    /* by policy */
	struct fabric_result *waits; /* by policy and bound, in the end */
	/* The reader's. */
	uint64_t events, first_ns, last_ns;
	struct trace_error read_error;
	/* The interpreter's. */
	struct batch *now;
	uint64_t used;
	bool failed; /* memory ran out where it could not be told at once */
	struct samples *samples; /* NULL: none, or no more */
	struct sample sample;    /* the next one */
	struct replay_error samples_error;
	/* The first group's. */
	uint64_t passed, next_check; /* events */
	struct replay_error memory_error;
};

/* ---- rows on their way out ---- */

static void sink_page(void *context, uint32_t mm, uint64_t page, unsigned int point,
		      unsigned int level, uint64_t decisions)
{
	struct group *g = context;

	pthread_mutex_lock(&g->stages->rows);
	results_page(g->stages->config.results, mm, page, point, level, decisions);
	pthread_mutex_unlock(&g->stages->rows);
}

static void sink_stale(void *context, unsigned int policy, uint32_t mm, uint64_t page,
		       uint64_t entries)
{
	struct group *g = context;

	pthread_mutex_lock(&g->stages->rows);
	results_stale(g->stages->config.results, g->first + policy, mm, page, entries);
	pthread_mutex_unlock(&g->stages->rows);
}

static void sink_flush_mm(void *context, unsigned int policy, uint32_t mm, unsigned int point,
			  unsigned int scope, const struct bound *flushes)
{
	struct group *g = context;

	pthread_mutex_lock(&g->stages->rows);
	results_flush_mm(g->stages->config.results, g->first + policy, mm, point, scope, flushes);
	pthread_mutex_unlock(&g->stages->rows);
}

static void sink_broadcast(void *context, unsigned int policy, uint64_t time_ns, unsigned int cpu,
			   unsigned int times, bool waits, bool sure)
{
	struct group *g = context;

	for (unsigned int i = !sure; i < BOUNDS; i++)
		fabric_broadcast(g->queues[policy * BOUNDS + i], time_ns, cpu, times, waits);
}

static void sink_fact(void *context, const char *line, size_t size)
{
	struct stages *s = context;

	pthread_mutex_lock(&s->rows);
	results_fact(s->config.results, line, size);
	pthread_mutex_unlock(&s->rows);
}

static void sink_dirty_mm(void *context, const struct dirty_mm *mm)
{
	struct stages *s = context;

	pthread_mutex_lock(&s->rows);
	results_dirty_mm(s->config.results, mm);
	pthread_mutex_unlock(&s->rows);
}

/* ---- interpreted events on their way into a batch ---- */

static void sink_event(void *context, const struct tlb_event *event)
{
	struct stages *s = context;
	struct batch *b = s->now;
	struct tlb_event *events = grow_list(b->events, b->nr, &b->max, sizeof(*events));

	if (!events) {
		s->failed = true;
		return;
	}
	if (s->latency && latency_event(s->latency, event))
		s->failed = true;
	b->events = events;
	b->events[b->nr++] = *event;
}

static void sink_mm_done(void *context, const struct mm_identity *mm)
{
	struct stages *s = context;
	struct batch *b = s->now;
	struct ended_mm *ended = grow_list(b->ended, b->nr_ended, &b->max_ended, sizeof(*ended));

	if (!ended) {
		s->failed = true;
		return;
	}
	b->ended = ended;
	b->ended[b->nr_ended++] = (struct ended_mm){b->nr, *mm};
}

/* ---- the stages ---- */

static int read_stage(void *context, unsigned int slot)
{
	struct stages *s = context;
	struct batch *b = &s->slots[slot];
	uint64_t done, total;
	int ret;

	if (*s->config.options->stop)
		return -EINTR;
	ret = decoder_fill(s->config.decoder, &b->raw, s->threads > 1 ? BATCH : BATCH_ALONE,
			   &s->read_error);
	if (ret < 0)
		return ret;
	s->events += b->raw.seen;
	if (b->raw.last_ns > s->last_ns)
		s->last_ns = b->raw.last_ns;
	if (b->raw.first_ns < s->first_ns)
		s->first_ns = b->raw.first_ns;
	b->last_ns = s->last_ns;
	b->last = !ret;
	trace_progress(s->config.trace, &done, &total);
	msg_progress("%s: %3.0f%%, %" PRIu64 " events", trace_info(s->config.trace)->path,
		     total ? 100.0 * (double)done / (double)total : 100.0, s->events);
	return b->last ? PIPELINE_END : 0;
}

/* Gives the interpreter the samples that lie before TIME_NS. */
static int feed_samples(struct stages *s, uint64_t time_ns)
{
	const struct decoder *d = s->config.decoder;
	char *text = s->samples_error.text;
	int ret = 1;

	while (s->samples && s->sample.time_ns <= time_ns) {
		for (unsigned int cpu = 0; cpu < decoder_nr_cpus(d); cpu++)
			if (decoder_cpu(d, cpu) == s->sample.cpu)
				interpret_sample(s->interpreter, s->sample.time_ns, cpu,
						 s->sample.tid, s->sample.addr, s->sample.store);
		ret = samples_next(s->samples, &s->sample, text, sizeof(s->samples_error.text));
		if (ret == 1)
			continue;
		s->samples = NULL;
	}
	return ret < 0 ? ret : 0;
}

static int interpret_stage(void *context, unsigned int slot)
{
	struct stages *s = context;
	struct batch *b = &s->slots[slot];
	struct decode_table *table = decoder_table(s->config.decoder);
	const struct trace_gap *gap = b->raw.gaps, *last_gap = gap + b->raw.nr_gaps;
	struct raw_event raw;
	int ret = 0;

	s->now = b;
	b->nr = b->nr_ended = 0;
	for (size_t i = 0; i < b->raw.nr && !ret; i++) {
		const struct trace_event *e = &b->raw.events[i];

		if (__builtin_expect(s->samples != NULL, false)) {
			ret = feed_samples(s, e->time_ns);
			if (ret)
				break;
		}
		bool wanted = decode_event(table, e, &raw);
		if (__builtin_expect(gap < last_gap && gap->event == i, false)) {
			interpret_lost(s->interpreter, raw.cpu, raw.time_ns);
			gap++;
		}
		if (!wanted)
			continue;
		s->used++;
		ret = interpret(s->interpreter, &raw);
		if (s->latency && LATENCY_ROLES >> raw.plan->role & 1 && !ret)
			ret = latency_raw(s->latency, &raw, interpret_mm(s->interpreter, &raw));
	}
	if (!ret && b->last)
		ret = feed_samples(s, b->last_ns);
	if (!ret && b->last)
		ret = interpret_end(s->interpreter, b->last_ns);
	if (b->last && s->latency)
		latency_end(s->latency);
	return ret ? ret : s->failed ? -ENOMEM : 0;
}

/* Bytes that this process has in memory; 0 where /proc does not tell. */
static uint64_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long size, pages = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &size, &pages) != 2)
		pages = 0;
	fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Ends the replay if it takes more memory than it may. */
static int check_memory(struct stages *s, const struct batch *b)
{
	uint64_t limit = s->config.options->memory_bytes, resident, pages, mms;

	s->passed += b->raw.nr;
	if (!limit || s->passed < s->next_check)
		return 0;
	s->next_check = s->passed + MEMORY_EVENTS;
	resident = resident_bytes();
	if (resident <= limit)
		return 0;
	engine_live(s->groups[0].engine, &pages, &mms);
	snprintf(s->memory_error.text, sizeof(s->memory_error.text),
		 "%s: %" PRIu64 " MiB of memory are in use, --memory allows %" PRIu64 ": after %" PRIu64
		 " events %" PRIu64 " address spaces are alive with %" PRIu64 " pages, each %zu bytes under "
		 "%u policies%s. To narrow it: fewer policies (-p), one thread (-j 1), a recording of "
		 "fewer processes (tlbcapture --pid, --cgroup) or of less time",
		 trace_info(s->config.trace)->path, resident >> 20, limit >> 20, s->passed, mms, pages,
		 engine_page_bytes(s->config.options->nr_policies), s->config.options->nr_policies,
		 s->nr_groups > 1 ? ", and more as threads keep their own" : "");
	return -EDQUOT;
}

/* Events whose page it pays to look up ahead of time. */
static void bring_near(struct engine *engine, const struct tlb_event *e, uint64_t *last_addr)
{
	if (e->kind > EVENT_ACCESS || !e->mm || e->addr == *last_addr)
		return;
	*last_addr = e->addr;
	engine_hint(engine, e->mm, e->addr);
}

static int policies_stage(void *context, unsigned int slot)
{
	struct group *g = context;
	struct stages *s = g->stages;
	const struct batch *b = &s->slots[slot];
	bool first = g == s->groups;
	uint64_t near_addr = 0;
	size_t ended = 0;

	for (size_t i = 0; i <= b->nr; i++) {
		for (; first && ended < b->nr_ended && b->ended[ended].after == i; ended++) {
			const struct mm_identity *mm = &b->ended[ended].mm;

			if (!shard_has(&s->config.options->shard, mm->mm))
				continue;
			pthread_mutex_lock(&s->rows);
			results_mm(s->config.results, mm, engine_mm_pages(g->engine, mm->mm));
			pthread_mutex_unlock(&s->rows);
		}
		if (i + NEAR_EVENTS < b->nr)
			bring_near(g->engine, &b->events[i + NEAR_EVENTS], &near_addr);
		if (i < b->nr && !event_of_swap(&b->events[i]))
			engine_event(g->engine, &b->events[i]);
	}
	if (first) {
		int ret = check_memory(s, b);

		if (ret)
			return ret;
	}
	return b->last ? engine_end(g->engine, b->last_ns) : 0;
}

static int heat_stage(void *context, unsigned int slot)
{
	struct stages *s = context;
	const struct batch *b = &s->slots[slot];
	int ret = 0;

	for (size_t i = 0; i < b->nr && !ret; i++)
		if (!event_of_swap(&b->events[i]))
			ret = heat_event(s->heat, &b->events[i]);
	return ret;
}

static int dirty_stage(void *context, unsigned int slot)
{
	struct stages *s = context;
	const struct batch *b = &s->slots[slot];

	for (size_t i = 0; i < b->nr; i++)
		dirty_event(s->dirty, &b->events[i]);
	return b->last ? dirty_end(s->dirty, b->last_ns) : 0;
}

/* ---- setting up ---- */

/*
 * How many groups of NR policies make the stages end soonest, by what they cost. Some policies cost
 * many times what others do, so with threads no group is large: they even out better.
 */
static unsigned int choose_groups(unsigned int nr, unsigned int threads)
{
	unsigned int best = 1, least = UINT_MAX;

	for (unsigned int n = 1; n <= nr && n < 2 * threads; n++) {
		if (threads > 1 && nr > GROUP_MOST * n && n + 1 < 2 * threads)
			continue;
		unsigned int each = COST_SHARED + COST_POLICY * ((nr + n - 1) / n);
		unsigned int all =
			COST_READ + COST_INTERPRET + n * COST_SHARED + nr * COST_POLICY;
		unsigned int spread = (all + threads - 1) / threads;
		unsigned int time = each > spread ? each : spread;

		if (time < least) {
			least = time;
			best = n;
		}
	}
	return best;
}

/* A queue for each policy of G at each bound of the service time. */
static int make_queues(struct stages *s, struct group *g)
{
	const struct cost_item *service = &s->config.cost->items[COST_BROADCAST_SERVICE],
			       *waiter = &s->config.cost->items[COST_SERVICE_WAITER];
	const struct fabric_service services[BOUNDS] = {{service->low, waiter->low},
							{service->value, waiter->value},
							{service->high, waiter->high}};

	g->queues = calloc(g->nr * BOUNDS, sizeof(struct fabric *));
	for (unsigned int i = 0; g->queues && i < g->nr * BOUNDS; i++) {
		g->queues[i] = fabric_new(decoder_nr_cpus(s->config.decoder), services[i % BOUNDS]);
		if (!g->queues[i])
			return -ENOMEM;
	}
	return g->queues ? 0 : -ENOMEM;
}

static int make_groups(struct stages *s)
{
	const struct replay_options *o = s->config.options;
	unsigned int first = 0;

	s->nr_groups = choose_groups(o->nr_policies, s->threads);
	s->groups = calloc(s->nr_groups, sizeof(*s->groups));
	s->outcomes = calloc(o->nr_policies + 1, sizeof(const struct policy_result *));
	s->shard_unsure = calloc(o->nr_policies + 1, sizeof(*s->shard_unsure));
	s->waits = calloc(o->nr_policies * BOUNDS + 1, sizeof(*s->waits));
	if (!s->groups || !s->outcomes || !s->shard_unsure || !s->waits)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->nr_groups; i++) {
		struct group *g = &s->groups[i];
		unsigned int nr = (o->nr_policies - first) / (s->nr_groups - i);
		struct engine_config config = {
			.nr_cpus = decoder_nr_cpus(s->config.decoder),
			.page_shift = s->config.page_shift,
			.policies = o->policies + first,
			.nr_policies = nr,
			.max_rows = s->config.max_rows,
			.batches = interpret_sees_batches(s->interpreter),
			.tlb = o->tlb,
			.shard = o->shard,
			/* Decisions by page are the same for all. */
			.sink = {.context = g,
				 .page = i ? NULL : sink_page,
				 .stale = sink_stale,
				 .flush_mm = sink_flush_mm,
				 .broadcast = s->config.cost ? sink_broadcast : NULL},
		};

		*g = (struct group){.stages = s, .first = first, .nr = nr,
				    .engine = engine_new(&config)};
		if (!g->engine || (s->config.cost && make_queues(s, g)))
			return -ENOMEM;
		for (unsigned int p = 0; p < nr; p++)
			s->outcomes[first + p] = engine_result(g->engine, p);
		first += nr;
	}
	return 0;
}

static int make_interpreter(struct stages *s)
{
	const struct stages_config *c = &s->config;
	struct interpret_sink sink = {.context = s, .event = sink_event, .mm_done = sink_mm_done,
				      .fact = sink_fact};

	s->interpreter = interpreter_new(c->trace, c->decoder, c->arch, &sink);
	s->heat = heat_new(c->page_shift);
	if (!s->interpreter || !s->heat)
		return -ENOMEM;
	uint64_t timed = latency_timed(c->decoder);
	if (timed) {
		s->latency = latency_new(timed,
					 decoder_has(c->decoder, ROLE_TLBI, -1) ||
						 decoder_has(c->decoder, ROLE_TLB_FLUSH, -1),
					 decoder_nr_cpus(c->decoder));
		if (!s->latency)
			return -ENOMEM;
	}
	if (!interpret_sees_swap(s->interpreter))
		return 0;
	s->dirty = dirty_new(&(struct dirty_config){
		.page_shift = c->page_shift,
		.hardware_always = c->arch == ARCH_X86,
		.sees_slots = decoder_has(c->decoder, ROLE_SWAP_ADD, 0),
		.dirty_share = c->options->dirty_share,
		.context = s,
		.mm = sink_dirty_mm,
	});
	return s->dirty ? 0 : -ENOMEM;
}

struct stages *stages_new(const struct stages_config *config)
{
	struct stages *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	s->samples = config->samples;
	s->sample = config->sample;
	s->first_ns = UINT64_MAX;
	s->threads = config->options->threads ? config->options->threads : pipeline_cpus();
	s->nr_slots = s->threads > 1 ? SLOTS : 1;
	pthread_mutex_init(&s->rows, NULL);
	if (make_interpreter(s) || make_groups(s)) {
		stages_free(s);
		return NULL;
	}
	return s;
}

void stages_free(struct stages *s)
{
	if (!s)
		return;
	for (unsigned int i = 0; i < SLOTS; i++) {
		trace_batch_free(s->config.trace, &s->slots[i].raw);
		free(s->slots[i].events);
		free(s->slots[i].ended);
	}
	for (unsigned int i = 0; s->groups && i < s->nr_groups; i++) {
		struct group *g = &s->groups[i];

		engine_free(g->engine);
		for (unsigned int k = 0; g->queues && k < g->nr * BOUNDS; k++)
			fabric_free(g->queues[k]);
		free(g->queues);
	}
	free(s->waits);
	free(s->groups);
	free(s->outcomes);
	free(s->shard_unsure);
	interpreter_free(s->interpreter);
	dirty_free(s->dirty);
	heat_free(s->heat);
	latency_free(s->latency);
	pthread_mutex_destroy(&s->rows);
	free(s);
}

static void load_soon(void *context, void *item)
{
	pipeline_post(context, item);
}

static void load_job(void *context, void *item, unsigned int thread)
{
	trace_load(context, item, thread);
}

/* What the stage that failed has to say. */
static void explain(const struct stages *s, unsigned int stage, int ret, struct replay_error *err)
{
	const char *text = stage == 0   ? s->read_error.text
			   : stage == 1 ? s->samples_error.text
					: s->memory_error.text;

	if (ret == -EINTR || err->text[0])
		return;
	if (*text)
		snprintf(err->text, sizeof(err->text), "%s", text);
	else
		snprintf(err->text, sizeof(err->text), "%s: %s", trace_info(s->config.trace)->path,
			 ret == -ENOMEM ? "out of memory" : strerror(-ret));
}

int stages_run(struct stages *s, struct replay_error *err)
{
	struct pipeline_stage stages[PIPELINE_MAX_STAGES] = {
		{.after = -1, .work = read_stage, .context = s},
		{.after = 0, .work = interpret_stage, .context = s},
	};
	unsigned int nr = 2, failed = 0;
	int ret;

	for (unsigned int i = 0; i < s->nr_groups; i++)
		stages[nr++] = (struct pipeline_stage){1, policies_stage, &s->groups[i]};
	stages[nr++] = (struct pipeline_stage){1, heat_stage, s};
	if (s->dirty)
		stages[nr++] = (struct pipeline_stage){1, dirty_stage, s};
	s->pipeline = pipeline_new(&(struct pipeline_config){
		.stages = stages,
		.nr_stages = nr,
		.slots = s->nr_slots,
		.threads = s->threads,
		.job = load_job,
		.job_context = s->config.trace,
	});
	ret = s->pipeline ? 0 : -ENOMEM;
	if (!ret && s->threads > 1)
		ret = trace_load_ahead(s->config.trace, s->threads, load_soon, s->pipeline);
	if (!ret)
		ret = pipeline_run(s->pipeline, &failed);
	if (ret)
		explain(s, failed, ret, err);
	pipeline_free(s->pipeline);
	s->pipeline = NULL;
	decoder_count(s->config.decoder);
	for (unsigned int i = 0; s->config.cost && i < s->nr_groups; i++)
		for (unsigned int k = 0; k < s->groups[i].nr * BOUNDS; k++)
			s->waits[s->groups[i].first * BOUNDS + k] =
				*fabric_result(s->groups[i].queues[k]);
	for (unsigned int i = 0; i < s->nr_groups; i++)
		for (unsigned int k = 0; k < s->groups[i].nr; k++)
			s->shard_unsure[s->groups[i].first + k] =
				engine_shard_unsure(s->groups[i].engine, k);
	return ret;
}

void stages_results(const struct stages *s, struct results_input *input)
{
	input->events = s->events;
	input->events_used = s->used;
	input->first_ns = s->events ? s->first_ns : 0;
	input->last_ns = s->last_ns;
	input->interpreter = s->interpreter;
	input->outcomes = s->outcomes;
	input->shard_unsure = s->shard_unsure;
	input->queues = s->waits;
	input->engine = s->groups[0].engine;
	input->dirty = s->dirty;
	input->heat = s->heat;
	input->latency = s->latency;
}
