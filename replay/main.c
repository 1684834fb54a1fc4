// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tlbreplay: runs recordings through flush policies and leaves the results in a database.
 *
 * A map of what is behind it, in the order in which an event passes:
 *
 *	stream.c, page.c, trace.c   bytes of a trace.dat -> records, merged by time
 *	decode.c                    records -> raw events, by schema/catalogue.c
 *	interpret.c, identity.c     raw events -> normalised ones (schema/event.h): who, where, what
 *	engine.c, pages.c, tlb.c    normalised events -> counts, bounds and exposures per policy
 *	                            (its parts are listed in engine.c)
 *	fabric.c                    broadcasts of a policy -> what they wait for each other
 *	dirty.c                     normalised events -> pages that swap writes, by kernel
 *	heat.c                      the same -> where and when decisions fell
 *	latency.c                   raw events -> how long flushing functions took
 *	policies.c, policies/       what each policy does
 *	plugin.c                    the same from a shared object
 *	results.c                   counts -> SQLite (schema/results.sql)
 *	stages.c, pipeline.c        all of that in batches, on threads
 *	replay.c                    drives all of it for one recording
 *	dump.c                      --dump
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg.h"
#include "replay/dump.h"
#include "replay/pipeline.h"
#include "replay/policy.h"
#include "replay/replay.h"
#include "replay/results.h"
#include "replay/trace.h"

static void usage(FILE *out)
{
	fputs("usage: tlbreplay [-p POLICY[:key=value,...]]... [-o DB] [--append] [--cost PRESET] "
	      "TRACE...\n"
	      "       tlbreplay --dump TRACE\n"
	      "       tlbreplay --list-policies | --help-policy=NAME\n"
	      "       tlbreplay --list-costs | --help-cost=PRESET\n"
	      "\n"
	      "Replays recordings (trace.dat) of page faults and TLB invalidations through flush "
	      "policies\n"
	      "and writes what each would have done into an SQLite database; see tlbreport.\n"
	      "\n"
	      "  -p, --policy SPEC   a policy and its parameters; may be repeated, also with one "
	      "name; a\n"
	      "                      name with a '/' is a shared object (it is run: trust it)\n"
	      "                      (default: arm64-broadcast, arm64-local, x86)\n"
	      "  -o, --output DB     the database, replaced as a whole (default: results.db)\n"
	      "      --append        add to the database instead\n"
	      "      --cost PRESET[:item=value,...]\n"
	      "                      cost preset, a name or a file, and what to change in it "
	      "(default: by\n"
	      "                      the recording's architecture)\n"
	      "      --tlb ENTRIES/WAYS[+...][,untagged]\n"
	      "                      keep what faults and accesses bring into TLBs of this size\n"
	      "      --access SYSTEM:EVENT:FIELD[:r|w]\n"
	      "                      events that tell an access each; may be repeated\n"
	      "      --samples FILE  accesses as text of perf script -F tid,cpu,time,event,addr\n"
	      "      --dirty-share SHARE\n"
	      "                      of the swapped-in pages whose later writes nothing shows, how "
	      "many\n"
	      "                      are written, 0 to 1 (default: by the writes to swapped-out "
	      "pages)\n"
	      "      --shard I/N     count only part I of N of the address spaces; tlbreport merge "
	      "adds\n"
	      "                      the results of all parts up to those of the whole\n"
	      "  -j, --jobs N        threads (default: as many as CPUs may be used); the results "
	      "are the same\n"
	      "      --memory SIZE   give up when more memory than this is in use (1500M, 4G; "
	      "default: no\n"
	      "                      limit), and say what takes it\n"
	      "      --dump          print every recorded event, one a line, and what was lost\n"
	      "      --sweep NAME=FROM:TO:N[:log]\n"
	      "                      costs with a cost item, cpus, share or write_share varied; "
	      "twice: both\n"
	      "      --list-policies, --help-policy=NAME, --list-costs,\n"
	      "      --help-cost=PRESET\n"
	      "  -h, --help, -V, --version\n"
	      "\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done, but the recording has lost "
	      "events.\n",
	      out);
}

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void catch_signals(void)
{
	/* The first signal ends the replay cleanly, the second one ends the program. */
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
}

static int list_policies(void)
{
	for (size_t i = 0; policies[i]; i++)
		printf("%-19s %s\n", policies[i]->name, policies[i]->summary);
	return EXIT_FINE;
}

static int list_costs(void)
{
	cost_list(stdout);
	return EXIT_FINE;
}

static struct cost_preset *open_costs(const char *spec, int *status)
{
	char err[768];
	struct cost_preset *preset = cost_open(spec, err, sizeof(err));

	if (!preset) {
		*status = errno == EINVAL ? EXIT_USAGE : EXIT_FAILED;
		msg_error("%s", err);
	}
	return preset;
}

/* Whether PRESET may price anything; says why not. */
static bool may_be_used(const struct cost_preset *preset)
{
	if (preset->not_for_use)
		msg_error("cost preset %s is marked as not for use: %s", preset->name,
			  preset->not_for_use);
	return !preset->not_for_use;
}

static int help_cost(const char *spec)
{
	int status = EXIT_FINE;
	struct cost_preset *preset = open_costs(spec, &status);

	if (preset)
		cost_write(stdout, preset);
	cost_free(preset);
	return status;
}

static void print_action(const struct policy_action *act)
{
	static const char *const reaches[] = {"page", "block", "hull", "mm", "all"};
	static const char *const waits[] = {"", ", batched", ", deferred"};

	printf("%s %s%s%s%s%s%s", scope_name(act->scope), reaches[act->reach], waits[act->wait],
	       act->flags & ACT_KEEP_WALK ? ", walk caches kept" : "",
	       act->flags & ACT_LAZY ? ", lazy CPUs too" : "",
	       act->flags & ACT_SET ? ", the CPUs that the hook names" : "",
	       act->flags & ACT_NOTIFY ? ", notify" : "");
	if (act->times > 1)
		printf(", %u times", act->times);
	putchar('\n');
}

static void print_table(const struct policy *policy)
{
	for (unsigned int point = 0; point < NR_POINTS; point++)
		for (unsigned int level = 0; level < NR_LEVELS; level++) {
			const struct policy_cell *cell = &policy->table[point][level];

			for (unsigned int i = 0; i < POLICY_ACTIONS; i++) {
				if (cell->act[i].scope == SCOPE_NONE)
					break;
				printf("  %-14s %-8s ", i ? "" : point_name(point),
				       i ? "" : level_name(level));
				print_action(&cell->act[i]);
			}
		}
}

static int help_policy(const char *name)
{
	char err[512];
	const struct policy *policy = replay_find_policy(name, err, sizeof(err));

	if (!policy) {
		int saved = errno;

		msg_error("%s", err);
		return saved == EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	printf("%s: %s\n\nModels: %s\nDoes not model: %s\n", policy->name, policy->summary,
	       policy->source, policy->omits);
	if (policy->beyond)
		printf("Beyond its table: %s\n", policy->beyond);
	if (policy->params) {
		printf("\nParameters:\n");
		param_help(stdout, policy->params);
	}
	printf("\nParameters of every policy:\n");
	param_help(stdout, common_params);
	printf("\nAt each decision point and level (what is not listed flushes nothing):\n");
	print_table(policy);
	return EXIT_FINE;
}

static int dump(const char *path)
{
	struct trace_error err;
	bool incomplete = false;
	int ret = dump_trace(path, stdout, &err, &incomplete);

	if (ret) {
		msg_error("%s", err.text);
		return EXIT_FAILED;
	}
	return incomplete ? EXIT_INCOMPLETE : EXIT_FINE;
}

/* "I/N". Returns 0 or -EINVAL. */
static int parse_shard(const char *text, struct shard *shard)
{
	char *slash, *end;
	unsigned long part, parts;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	part = strtoul(text, &slash, 10);
	if (*slash != '/' || slash[1] < '0' || slash[1] > '9')
		return -EINVAL;
	parts = strtoul(slash + 1, &end, 10);
	if (*end || !part || part > parts || parts > SHARDS_MOST)
		return -EINVAL;
	*shard = (struct shard){(uint32_t)part, (uint32_t)parts};
	return 0;
}

/* A number of bytes with k, M or G behind it, if any. Returns 0 or -EINVAL. */
static int parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "kMG";
	const char *unit;
	char *end;

	errno = 0;
	*bytes = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9')
		return -EINVAL;
	if (!*end)
		return *bytes ? 0 : -EINVAL;
	unit = strchr(units, *end);
	if (!unit || end[1])
		return -EINVAL;
	for (int i = 0; i <= unit - units; i++)
		if (__builtin_mul_overflow(*bytes, 1024, bytes))
			return -EINVAL;
	return *bytes ? 0 : -EINVAL;
}

/* A number of threads. Returns 0 or -EINVAL. */
static int parse_jobs(const char *text, unsigned int *threads)
{
	unsigned long n;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	n = strtoul(text, &end, 10);
	*threads = (unsigned int)n;
	return *end || !n || n > PIPELINE_MAX_THREADS ? -EINVAL : 0;
}

static int replay_all(struct replay_options *options, const char *output, bool append,
		      char **traces, int nr_traces)
{
	struct results_error rerr = {""};
	struct results *results = results_begin(output, append, &rerr);
	bool incomplete = false;
	int status = EXIT_FAILED;

	if (!results) {
		msg_error("%s", rerr.text);
		return EXIT_FAILED;
	}
	for (int i = 0; i < nr_traces; i++) {
		struct replay_error err = {""};
		bool lost = false;
		int ret = replay_trace(traces[i], options, results, &lost, &err);

		msg_progress_end();
		if (ret) {
			msg_error("%s",
				  ret == -EINTR ? "interrupted; nothing was written" : err.text);
			goto out;
		}
		if (lost)
			msg_warn("%s: the recording has lost events; the report says how many",
				 traces[i]);
		incomplete |= lost;
	}
	if (results_commit(results, &rerr)) {
		msg_error("%s", rerr.text);
		goto out;
	}
	status = incomplete ? EXIT_INCOMPLETE : EXIT_FINE;
out:
	results_free(results);
	return status;
}

enum {
	OPT_APPEND = 256,
	OPT_COST,
	OPT_DUMP,
	OPT_LIST,
	OPT_HELP_POLICY,
	OPT_LIST_COSTS,
	OPT_HELP_COST,
	OPT_SWEEP,
	OPT_TLB,
	OPT_SAMPLES,
	OPT_ACCESS,
	OPT_DIRTY_SHARE,
	OPT_SHARD,
	OPT_MEMORY };

static int read_share(const char *text, double *share)
{
	char *end;

	errno = 0;
	*share = strtod(text, &end);
	return end == text || *end || errno || !(*share >= 0 && *share <= 1) ? -EINVAL : 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"policy", required_argument, NULL, 'p'},
		{"output", required_argument, NULL, 'o'},
		{"append", no_argument, NULL, OPT_APPEND},
		{"cost", required_argument, NULL, OPT_COST},
		{"dump", no_argument, NULL, OPT_DUMP},
		{"list-policies", no_argument, NULL, OPT_LIST},
		{"help-policy", required_argument, NULL, OPT_HELP_POLICY},
		{"list-costs", no_argument, NULL, OPT_LIST_COSTS},
		{"sweep", required_argument, NULL, OPT_SWEEP},
		{"help-cost", required_argument, NULL, OPT_HELP_COST},
		{"tlb", required_argument, NULL, OPT_TLB},
		{"samples", required_argument, NULL, OPT_SAMPLES},
		{"access", required_argument, NULL, OPT_ACCESS},
		{"dirty-share", required_argument, NULL, OPT_DIRTY_SHARE},
		{"shard", required_argument, NULL, OPT_SHARD},
		{"jobs", required_argument, NULL, 'j'},
		{"memory", required_argument, NULL, OPT_MEMORY},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	char *accesses[16];
	struct replay_options options = {.stop = &stop, .accesses = accesses, .dirty_share = -1};
	struct cost_preset *preset = NULL;
	struct tlb_geometry tlb;
	const char *output = "results.db";
	bool append = false, dumping = false;
	char err[512];
	int status = EXIT_USAGE, option, ret;

	msg_program = "tlbreplay";
	while ((option = getopt_long(argc, argv, "p:o:j:hV", longs, NULL)) != -1) {
		switch (option) {
		case 'p':
			ret = replay_add_policy(&options, optarg, err, sizeof(err));
			if (ret) {
				msg_error("%s", err);
				status = ret == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
				goto out;
			}
			break;
		case 'o':
			output = optarg;
			break;
		case OPT_APPEND:
			append = true;
			break;
		case OPT_COST:
			cost_free(preset);
			options.cost = preset = open_costs(optarg, &status);
			if (!preset)
				goto out;
			status = EXIT_FAILED;
			if (!may_be_used(preset))
				goto out;
			status = EXIT_USAGE;
			break;
		case OPT_SWEEP:
			if (options.nr_sweep == SWEEP_AXES_MAX) {
				msg_error("more than %d times --sweep", SWEEP_AXES_MAX);
				goto out;
			}
			if (sweep_parse(&options.sweep[options.nr_sweep++], optarg, err, sizeof(err))) {
				msg_error("--sweep %s", err);
				goto out;
			}
			break;
		case OPT_HELP_COST:
			status = help_cost(optarg);
			goto out;
		case OPT_TLB:
			if (tlb_parse(optarg, &tlb, err, sizeof(err))) {
				msg_error("--tlb %s", err);
				goto out;
			}
			options.tlb = &tlb;
			options.tlb_text = optarg;
			break;
		case OPT_SAMPLES:
			options.samples = optarg;
			break;
		case OPT_ACCESS:
			if (options.nr_accesses == sizeof(accesses) / sizeof(*accesses)) {
				msg_error("more than %zu times --access", options.nr_accesses);
				goto out;
			}
			accesses[options.nr_accesses++] = optarg;
			break;
		case OPT_DIRTY_SHARE:
			if (read_share(optarg, &options.dirty_share)) {
				msg_error("--dirty-share %s: a number from 0 to 1 is wanted", optarg);
				goto out;
			}
			break;
		case OPT_SHARD:
			if (parse_shard(optarg, &options.shard)) {
				msg_error("--shard takes I/N, 1 <= I <= N <= %u, not '%s'",
					  SHARDS_MOST, optarg);
				goto out;
			}
			break;
		case 'j':
			if (parse_jobs(optarg, &options.threads)) {
				msg_error("--jobs takes a number from 1 to %d, not '%s'",
					  PIPELINE_MAX_THREADS, optarg);
				goto out;
			}
			break;
		case OPT_MEMORY:
			if (parse_size(optarg, &options.memory_bytes)) {
				msg_error("--memory takes bytes, or k, M or G of them, not '%s'",
					  optarg);
				goto out;
			}
			break;
		case OPT_DUMP:
			dumping = true;
			break;
		case OPT_LIST:
			status = list_policies();
			goto out;
		case OPT_HELP_POLICY:
			status = help_policy(optarg);
			goto out;
		case OPT_LIST_COSTS:
			status = list_costs();
			goto out;
		case 'h':
			usage(stdout);
			status = EXIT_FINE;
			goto out;
		case 'V':
			printf("tlbreplay %s\n", TLBREPLAY_VERSION);
			status = EXIT_FINE;
			goto out;
		default:
			fputs("Try 'tlbreplay --help'.\n", stderr);
			goto out;
		}
	}
	if (optind == argc || (dumping && optind + 1 != argc)) {
		msg_error(dumping ? "--dump takes one recording" : "no recording given");
		fputs("Try 'tlbreplay --help'.\n", stderr);
		goto out;
	}
	if ((options.samples || options.nr_accesses) && !options.tlb) {
		msg_error("--samples and --access need --tlb: accesses fill TLBs of a stated size");
		goto out;
	}
	if (options.nr_sweep && options.shard.parts > 1) {
		msg_error("--sweep and --shard exclude each other: a part has no costs of its own");
		goto out;
	}
	if (dumping) {
		status = dump(argv[optind]);
		goto out;
	}
	static const char *const defaults[] = {"arm64-broadcast", "arm64-local", "x86"};
	for (size_t i = 0; !options.nr_policies || (i && i < 3); i++)
		if (replay_add_policy(&options, defaults[i], err, sizeof(err))) {
			msg_error("%s", err);
			status = EXIT_FAILED;
			goto out;
		}
	catch_signals();
	status = replay_all(&options, output, append, argv + optind, argc - optind);
out:
	replay_options_free(&options);
	cost_free(preset);
	return msg_status(status);
}
