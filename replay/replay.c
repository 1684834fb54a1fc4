// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg.h"
#include "common/param.h"
#include "replay/decode.h"
#include "replay/dirty.h"
#include "replay/interpret.h"
#include "replay/plugin.h"
#include "replay/policy.h"
#include "replay/samples.h"
#include "replay/trace.h"
#include "schema/catalogue.h"

#define MAX_EXPOSURE_ROWS 1000
#define BATCH_EVENTS      1024 /* that pass through one stage before the next one has them */

/* Reads the parameters of SPEC: those every policy takes, and the policy's own. */
static int read_params(struct policy_instance *inst, const char *text, char *err, size_t err_size)
{
	size_t own = 0, common = 0;
	struct param *all;
	char *base;
	int ret;

	/* One table over one block: the policy's struct, and the common one behind it. */
	for (const struct param *p = inst->policy->params; p && p->name; p++, own++)
		for (const struct param *c = common_params; c->name; c++)
			if (!strcmp(p->name, c->name)) {
				snprintf(err, err_size,
					 "its parameter '%s' is one that every policy has",
					 p->name);
				return -EINVAL;
			}
	for (const struct param *p = common_params; p->name; p++)
		common++;
	size_t offset = (inst->policy->params_size + 15) & ~(size_t)15;
	all = calloc(own + common + 1, sizeof(*all));
	base = calloc(1, offset + sizeof(struct common_params));
	if (!all || !base) {
		free(all);
		free(base);
		snprintf(err, err_size, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < own; i++)
		all[i] = inst->policy->params[i];
	for (size_t i = 0; i < common; i++) {
		all[own + i] = common_params[i];
		all[own + i].offset += offset;
	}
	param_defaults(all, base);
	ret = param_parse(all, base, text, err, err_size);
	memcpy(&inst->common, base + offset, sizeof(inst->common));
	inst->params = base;
	free(all);
	return ret;
}

const struct policy *replay_find_policy(const char *name, char *err, size_t err_size)
{
	const struct policy *policy;

	if (strchr(name, '/'))
		return plugin_load(name, err, err_size);
	policy = policy_find(name);
	if (!policy) {
		snprintf(err, err_size, "no policy '%s' (see --list-policies)", name);
		errno = EINVAL;
	}
	return policy;
}

/* How much of SPEC is the policy's name. Folders of a file's name may hold colons. */
static size_t name_length(const char *spec)
{
	size_t n = strcspn(spec, ":/");

	if (spec[n] == '/') {
		n = (size_t)(strrchr(spec, '/') - spec);
		n += strcspn(spec + n, ":");
	}
	return n;
}

int replay_add_policy(struct replay_options *options, const char *spec, char *err, size_t err_size)
{
	size_t n = name_length(spec);
	struct policy_instance *more, *inst;
	char reason[400];
	char *name;
	int ret;

	for (unsigned int i = 0; i < options->nr_policies; i++)
		if (!strcmp(options->policies[i].spec, spec)) {
			snprintf(err, err_size,
				 "policy '%s' is given twice with the same parameters", spec);
			return -EINVAL;
		}
	if (options->nr_policies == 64) {
		snprintf(err, err_size, "more than 64 policies");
		return -EINVAL;
	}
	more = realloc(options->policies, (options->nr_policies + 1) * sizeof(*more));
	if (more)
		options->policies = more;
	name = strndup(spec, n);
	if (!name || !more) {
		free(name);
		snprintf(err, err_size, "out of memory");
		return -ENOMEM;
	}
	inst = &more[options->nr_policies];
	*inst = (struct policy_instance){.policy = replay_find_policy(name, err, err_size)};
	ret = inst->policy ? 0 : -errno;
	free(name);
	if (ret)
		return ret;
	inst->spec = strdup(spec);
	if (!inst->spec) {
		snprintf(err, err_size, "out of memory");
		return -ENOMEM;
	}
	inst->given = inst->spec + n + (spec[n] == ':');
	options->nr_policies++;
	if (spec[n] && !spec[n + 1]) {
		snprintf(err, err_size, "policy '%s': nothing behind the colon", spec);
		return -EINVAL;
	}
	ret = read_params(inst, inst->given, reason, sizeof(reason));
	if (ret)
		snprintf(err, err_size, "policy '%.*s': %s", (int)n, spec, reason);
	return ret;
}

void replay_options_free(struct replay_options *options)
{
	for (unsigned int i = 0; i < options->nr_policies; i++) {
		free((char *)options->policies[i].spec);
		free(options->policies[i].params);
	}
	free(options->policies);
	options->policies = NULL;
	options->nr_policies = 0;
}

/* Which architecture, and how we know. */
static unsigned int find_arch(struct trace *t, const struct decoder *d, const char **name,
			      const char **source)
{
	const char *machine = trace_info(t)->machine;

	*source = "stored";
	if (!strcmp(machine, "aarch64") || !strcmp(machine, "arm64")) {
		*name = "arm64";
		return ARCH_ARM64;
	}
	if (!strcmp(machine, "x86_64") || (machine[0] == 'i' && strstr(machine, "86"))) {
		*name = "x86";
		return ARCH_X86;
	}
	if (*machine) {
		*name = machine;
		return 0;
	}
	*source = "inferred";
	if (decoder_has(d, ROLE_TLBI, -1) || decoder_has(d, ROLE_LOAD_MM, -1)) {
		*name = "arm64";
		return ARCH_ARM64;
	}
	if (decoder_has(d, ROLE_HW_FAULT, -1)) {
		*name = "x86";
		return ARCH_X86;
	}
	*name = "";
	*source = "unknown";
	return 0;
}

/* Everything that one recording needs while it is replayed. */
struct run {
	struct trace *trace;
	struct decoder *decoder;
	struct interpreter *interpreter;
	struct engine *engine;
	struct dirty *dirty; /* NULL: the recording has nothing of swap */
	struct heat *heat;
	struct results *results;
	struct shard shard;
	struct samples *samples; /* NULL: none, or no more */
	struct sample sample;    /* the next one */
	bool failed;             /* memory ran out where it could not be told at once */
};

static void sink_mm_done(void *context, const struct mm_identity *mm)
{
	struct run *run = context;

	if (shard_has(&run->shard, mm->mm))
		results_mm(run->results, mm, engine_mm_pages(run->engine, mm->mm));
}

static void sink_event(void *context, const struct tlb_event *event)
{
	struct run *run = context;

	if (run->dirty)
		dirty_event(run->dirty, event);
	if (event_of_swap(event))
		return;
	engine_event(run->engine, event);
	if (heat_event(run->heat, event))
		run->failed = true;
}

static void sink_fact(void *context, const char *line, size_t size)
{
	results_fact(((struct run *)context)->results, line, size);
}

static void sink_hint(void *context, uint32_t mm, uint64_t addr)
{
	engine_hint(((struct run *)context)->engine, mm, addr);
}

/* Gives the interpreter the samples that lie before TIME_NS. */
static int feed_samples(struct run *run, uint64_t time_ns, struct replay_error *err)
{
	int ret = 1;

	while (run->samples && run->sample.time_ns <= time_ns) {
		for (unsigned int cpu = 0; cpu < decoder_nr_cpus(run->decoder); cpu++)
			if (decoder_cpu(run->decoder, cpu) == run->sample.cpu)
				interpret_sample(run->interpreter, run->sample.time_ns, cpu,
						 run->sample.tid, run->sample.addr,
						 run->sample.store);
		ret = samples_next(run->samples, &run->sample, err->text, sizeof(err->text));
		if (ret == 1)
			continue;
		samples_close(run->samples);
		run->samples = NULL;
	}
	return ret < 0 ? ret : 0;
}

/* "SYSTEM:EVENT:FIELD[:r|w]": events of the recording that tell accesses. */
static int add_access(struct run *run, const char *spec, struct replay_error *err)
{
	char system[64], name[64], field[64], kind = 'r';
	int end = 0;
	int got = sscanf(spec, "%63[^:]:%63[^:]:%63[^:]%n:%c%n", system, name, field, &end, &kind,
			 &end);
	int ret = -EINVAL;

	if (got >= 3 && !spec[end] && (kind == 'r' || kind == 'w'))
		ret = decoder_add_access(run->decoder, run->trace, system, name, field,
					 kind == 'w');
	if (ret)
		snprintf(err->text, sizeof(err->text), "%s: access '%s': %s",
			 trace_info(run->trace)->path, spec,
			 ret == -EINVAL ? "not of the form SYSTEM:EVENT:FIELD[:r|w]"
			 : ret == -ENOENT
				 ? "the recording has no such event, or the event no such number"
				 : "the event has a meaning of its own");
	return ret;
}

/* One batch of events through all stages. */
static int replay_batch(struct run *run, const struct trace_batch *b, uint64_t *used,
			struct replay_error *err)
{
	struct decode_table *table = decoder_table(run->decoder);
	const struct trace_gap *gap = b->gaps, *last_gap = gap + b->nr_gaps;
	struct raw_event raw;
	int ret = 0;

	for (size_t i = 0; i < b->nr && !ret; i++) {
		if (__builtin_expect(run->samples != NULL, false)) {
			ret = feed_samples(run, b->events[i].time_ns, err);
			if (ret)
				break;
		}
		bool wanted = decode_event(table, &b->events[i], &raw);
		if (__builtin_expect(gap < last_gap && gap->event == i, false)) {
			interpret_lost(run->interpreter, raw.cpu, raw.time_ns);
			gap++;
		}
		if (wanted) {
			++*used;
			ret = interpret(run->interpreter, &raw);
		}
	}
	return ret;
}

static int read_events(struct run *run, const struct replay_options *options,
		       struct results_input *input, struct replay_error *err)
{
	const char *path = trace_info(run->trace)->path;
	struct trace_batch batch = {0};
	struct trace_error terr;
	uint64_t events = 0, used = 0, first_ns = UINT64_MAX, last_ns = 0;
	int ret;

	do {
		uint64_t done, total;
		int fault;

		ret = decoder_fill(run->decoder, &batch, BATCH_EVENTS, &terr);
		if (ret < 0)
			break;
		events += batch.seen;
		if (batch.last_ns > last_ns)
			last_ns = batch.last_ns;
		if (batch.first_ns < first_ns)
			first_ns = batch.first_ns;
		fault = replay_batch(run, &batch, &used, err);
		if (fault)
			ret = fault;
		trace_progress(run->trace, &done, &total);
		msg_progress("%s: %3.0f%%, %" PRIu64 " events", path,
			     total ? 100.0 * (double)done / (double)total : 100.0, events);
	} while (ret > 0 && !*options->stop);
	trace_batch_free(run->trace, &batch);
	decoder_count(run->decoder);
	input->events = events;
	input->events_used = used;
	input->first_ns = events ? first_ns : 0;
	input->last_ns = last_ns;
	if (ret >= 0)
		ret = *options->stop ? -EINTR : feed_samples(run, last_ns, err);
	if (!ret)
		ret = interpret_end(run->interpreter, input->last_ns);
	if (!ret)
		ret = engine_end(run->engine, input->last_ns);
	if (!ret && run->dirty)
		ret = dirty_end(run->dirty, input->last_ns);
	if (!ret && run->failed)
		ret = -ENOMEM;
	if (ret == -ENOMEM)
		snprintf(err->text, sizeof(err->text), "%s: out of memory", path);
	else if (ret && ret != -EINTR && !err->text[0])
		snprintf(err->text, sizeof(err->text), "%s", terr.text);
	return ret;
}

static bool has_lost(const struct trace_info *info)
{
	for (size_t i = 0; i < info->nr_entries; i++) {
		const struct trace_cpu *c = &info->cpus[i];

		if (c->loss.events || c->loss.unknown ||
		    (c->stat.present &&
		     (c->stat.overrun || c->stat.dropped || c->stat.commit_overrun)))
			return true;
	}
	return false;
}

int replay_trace(const char *path, const struct replay_options *options, struct results *results,
		 bool *lost, struct replay_error *err)
{
	struct run run = {.results = results, .shard = options->shard};
	struct results_input input = {.policies = options->policies,
				      .nr_policies = options->nr_policies,
				      .max_rows = MAX_EXPOSURE_ROWS,
				      .cost = options->cost,
				      .cost_origin = options->cost ? "given" : "default"};
	struct results_error rerr;
	struct trace_error terr;
	unsigned int arch, shift = 0;
	int ret = -EINVAL;

	run.trace = trace_open(path, &terr);
	if (run.trace)
		run.decoder = decoder_new(run.trace, &terr);
	if (!run.decoder) {
		snprintf(err->text, sizeof(err->text), "%s", terr.text);
		goto out;
	}
	for (size_t i = 0; i < options->nr_accesses; i++) {
		ret = add_access(&run, options->accesses[i], err);
		if (ret)
			goto out;
	}
	if (options->samples) {
		ret = -ENOENT;
		run.samples = samples_open(options->samples, err->text, sizeof(err->text));
		if (!run.samples)
			goto out;
		ret = samples_next(run.samples, &run.sample, err->text, sizeof(err->text));
		if (ret < 0)
			goto out;
		if (!ret) {
			samples_close(run.samples);
			run.samples = NULL;
		}
	}
	arch = find_arch(run.trace, run.decoder, &input.arch, &input.arch_source);
	if (!input.cost && arch)
		input.cost = cost_find(arch == ARCH_ARM64 ? "arm64-generic" : "x86-generic");
	while (1u << (shift + 1) <= trace_info(run.trace)->page_size)
		shift++;
	ret = results_trace_begin(results, &rerr);
	if (ret) {
		snprintf(err->text, sizeof(err->text), "%s", rerr.text);
		goto out;
	}
	struct engine_config config = {
		.nr_cpus = decoder_nr_cpus(run.decoder),
		.page_shift = shift,
		.policies = options->policies,
		.nr_policies = options->nr_policies,
		.max_rows = MAX_EXPOSURE_ROWS,
		.tlb = options->tlb,
		.shard = options->shard,
		.sink = {.context = results, .page = results_page, .stale = results_stale,
			 .flush_mm = results_flush_mm},
	};
	struct interpret_sink sink = {.context = &run, .event = sink_event, .hint = sink_hint,
				      .mm_done = sink_mm_done, .fact = sink_fact};
	run.engine = engine_new(&config);
	run.heat = heat_new(shift);
	run.interpreter = interpreter_new(run.trace, run.decoder, arch, &sink);
	bool swap = run.interpreter && interpret_sees_swap(run.interpreter);
	if (swap)
		run.dirty = dirty_new(&(struct dirty_config){
			.page_shift = shift,
			.hardware_always = arch == ARCH_X86,
			.sees_slots = decoder_has(run.decoder, ROLE_SWAP_ADD, 0),
			.dirty_share = options->dirty_share,
			.context = results,
			.mm = results_dirty_mm,
		});
	if (!run.engine || !run.heat || !run.interpreter ||
	    (swap && !run.dirty)) {
		snprintf(err->text, sizeof(err->text), "%s: out of memory", path);
		ret = -ENOMEM;
		goto out;
	}
	ret = read_events(&run, options, &input, err);
	if (ret)
		goto out;
	ret = trace_hash(run.trace, &input.hash, &terr);
	if (ret) {
		snprintf(err->text, sizeof(err->text), "%s", terr.text);
		goto out;
	}
	input.trace = run.trace;
	input.tlb = options->tlb_text;
	input.shard = options->shard;
	input.decoder = run.decoder;
	input.interpreter = run.interpreter;
	input.engine = run.engine;
	input.dirty = run.dirty;
	input.dirty_share = options->dirty_share;
	input.heat = run.heat;
	ret = results_trace(results, &input, &rerr);
	if (ret)
		snprintf(err->text, sizeof(err->text), "%s", rerr.text);
	*lost = has_lost(trace_info(run.trace));
out:
	samples_close(run.samples);
	interpreter_free(run.interpreter);
	engine_free(run.engine);
	dirty_free(run.dirty);
	heat_free(run.heat);
	decoder_free(run.decoder);
	trace_close(run.trace);
	return ret;
}
