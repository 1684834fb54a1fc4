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
#include "replay/stages.h"
#include "replay/trace.h"
#include "schema/catalogue.h"

#define MAX_EXPOSURE_ROWS 1000

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

/* "SYSTEM:EVENT:FIELD[:r|w]": events of the recording that tell accesses. */
static int add_access(struct trace *t, struct decoder *d, const char *spec,
		      struct replay_error *err)
{
	char system[64], name[64], field[64], kind = 'r';
	int end = 0;
	int got = sscanf(spec, "%63[^:]:%63[^:]:%63[^:]%n:%c%n", system, name, field, &end, &kind,
			 &end);
	int ret = -EINVAL;

	if (got >= 3 && !spec[end] && (kind == 'r' || kind == 'w'))
		ret = decoder_add_access(d, t, system, name, field,
					 kind == 'w');
	if (ret)
		snprintf(err->text, sizeof(err->text), "%s: access '%s': %s",
			 trace_info(t)->path, spec,
			 ret == -EINVAL ? "not of the form SYSTEM:EVENT:FIELD[:r|w]"
			 : ret == -ENOENT
				 ? "the recording has no such event, or the event no such number"
				 : "the event has a meaning of its own");
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

/* Opens the samples and reads the first one; none are left open if there is none. */
static int open_samples(const char *path, struct stages_config *config, struct replay_error *err)
{
	int ret;

	config->samples = samples_open(path, err->text, sizeof(err->text));
	if (!config->samples)
		return -ENOENT;
	ret = samples_next(config->samples, &config->sample, err->text, sizeof(err->text));
	if (ret > 0)
		return 0;
	samples_close(config->samples);
	config->samples = NULL;
	return ret;
}

int replay_trace(const char *path, const struct replay_options *options, struct results *results,
		 bool *lost, struct replay_error *err)
{
	struct stages_config config = {.options = options, .results = results,
				       .max_rows = MAX_EXPOSURE_ROWS};
	struct results_input input = {.policies = options->policies,
				      .nr_policies = options->nr_policies,
				      .max_rows = MAX_EXPOSURE_ROWS,
				      .cost = options->cost,
				      .cost_origin = options->cost ? "given" : "default",
				      .sweep = options->sweep,
				      .nr_sweep = options->nr_sweep,
				      .tlb = options->tlb_text,
				      .dirty_share = options->dirty_share,
				      .shard = options->shard};
	struct cost_preset *preset = NULL;
	struct stages *stages = NULL;
	struct results_error rerr;
	struct trace_error terr;
	int ret = -EINVAL;

	config.trace = trace_open(path, &terr);
	if (config.trace)
		config.decoder = decoder_new(config.trace, &terr);
	if (!config.decoder) {
		snprintf(err->text, sizeof(err->text), "%s", terr.text);
		goto out;
	}
	ret = 0;
	for (size_t i = 0; !ret && i < options->nr_accesses; i++)
		ret = add_access(config.trace, config.decoder, options->accesses[i], err);
	if (!ret && options->samples)
		ret = open_samples(options->samples, &config, err);
	if (ret)
		goto out;
	config.arch = find_arch(config.trace, config.decoder, &input.arch, &input.arch_source);
	if (!input.cost && config.arch) {
		preset = cost_open(config.arch == ARCH_ARM64 ? "arm64-generic" : "x86-generic",
				   err->text, sizeof(err->text));
		ret = -EINVAL;
		if (!preset)
			goto out;
		input.cost = preset;
	}
	config.cost = input.cost;
	while (1u << (config.page_shift + 1) <= trace_info(config.trace)->page_size)
		config.page_shift++;
	ret = results_trace_begin(results, &rerr);
	if (ret) {
		snprintf(err->text, sizeof(err->text), "%s", rerr.text);
		goto out;
	}
	stages = stages_new(&config);
	if (!stages) {
		snprintf(err->text, sizeof(err->text), "%s: out of memory", path);
		ret = -ENOMEM;
		goto out;
	}
	ret = stages_run(stages, err);
	if (ret)
		goto out;
	ret = trace_hash(config.trace, &input.hash, &terr);
	if (ret) {
		snprintf(err->text, sizeof(err->text), "%s", terr.text);
		goto out;
	}
	input.trace = config.trace;
	input.decoder = config.decoder;
	stages_results(stages, &input);
	ret = results_trace(results, &input, &rerr);
	if (ret)
		snprintf(err->text, sizeof(err->text), "%s", rerr.text);
	*lost = has_lost(trace_info(config.trace));
out:
	stages_free(stages);
	cost_free(preset);
	samples_close(config.samples);
	decoder_free(config.decoder);
	trace_close(config.trace);
	return ret;
}
