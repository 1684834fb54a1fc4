// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Text that users type: policies with parameters, TLB geometries, numbers, names of presets, the
 * rules of tlbreport compare. The first byte chooses. What was read must survive being printed.
 */
#include <float.h>

#include "analysis/compare.h"
#include "common/param.h"
#include "replay/replay.h"
#include "replay/tlb.h"
#include "schema/costs.h"
#include "tests/fuzz/fuzz.h"

static void try_policy(const char *text)
{
	struct replay_options options = {0};
	char err[512] = "";

	/* With a slash it names a shared object, which is run: not a matter of parsing. */
	if (strchr(text, '/'))
		return;
	if (replay_add_policy(&options, text, err, sizeof(err))) {
		fuzz_check_text(err, sizeof(err));
	} else {
		const struct policy_instance *inst = &options.policies[0];

		FUZZ_CHECK(options.nr_policies == 1);
		FUZZ_CHECK(inst->common.share >= 0 && inst->common.share <= 1);
		for (const struct param *p = inst->policy->params; p && p->name; p++) {
			char printed[64], again[64];
			int64_t room[64] = {0};
			void *base = (char *)room - p->offset;

			param_print(p, inst->params, printed, sizeof(printed));
			FUZZ_CHECK(!param_set(p, base, p->name, printed, err, sizeof(err)));
			param_print(p, base, again, sizeof(again));
			FUZZ_CHECK(!strcmp(printed, again));
		}
	}
	replay_options_free(&options);
}

static void try_tlb(const char *text)
{
	struct tlb_geometry g;
	char err[512] = "";

	if (tlb_parse(text, &g, err, sizeof(err))) {
		fuzz_check_text(err, sizeof(err));
		return;
	}
	FUZZ_CHECK(g.nr_levels > 0 && g.nr_levels <= TLB_MAX_LEVELS);
	for (unsigned int i = 0; i < g.nr_levels; i++)
		FUZZ_CHECK(g.level[i].sets && !(g.level[i].sets & (g.level[i].sets - 1)) &&
			   g.level[i].ways);
}

static void try_cost(const char *text)
{
	char err[512] = "";
	struct cost_preset *preset = cost_open(text, err, sizeof(err));

	if (!preset)
		fuzz_check_text(err, sizeof(err));
	cost_free(preset);
}

static void try_numbers(const char *text)
{
	int64_t count;
	double fraction;

	FUZZ_CHECK(number_count(text, &count) || count >= 0);
	FUZZ_CHECK(number_time_ns(text, &count) || count >= 0);
	if (!number_fraction(text, &fraction))
		FUZZ_CHECK(fraction >= 0 && fraction <= DBL_MAX);
}

static void try_rule(const char *text)
{
	struct compare_rule rule = {0};
	char err[512] = "";

	if (compare_rule_parse(text, &rule, err, sizeof(err)))
		fuzz_check_text(err, sizeof(err));
	else
		FUZZ_CHECK(rule.metric[0] && strnlen(rule.metric, sizeof(rule.metric)) < 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	switch (data[0] % 5) {
	case 0:
		try_policy(text);
		break;
	case 1:
		try_tlb(text);
		break;
	case 2:
		try_numbers(text);
		break;
	case 3:
		try_cost(text);
		break;
	default:
		try_rule(text);
		break;
	}
	free(text);
	return 0;
}
