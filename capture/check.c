// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The estimate: /proc/vmstat and /proc/stat say how many faults, switches and forks there are now;
 * the plan says how many events each of them makes; an event costs what was measured
 * (docs/recording.md).
 */
#include "capture/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS         1000000000
#define TRACEPOINT_NS   200.0 /* docs/recording.md */
#define PROBE_NS        600.0 /* assumed, as the next: no host with kprobes was measured */
#define RETURN_NS       1200.0
#define EVENT_BYTES     36.0
#define PROBE_BYTES     64.0
#define COMPRESSES_TO   0.18
#define WRITES_OF_FAULTS 0.6 /* share of faults that write, where only those are kept */

struct counters {
	double faults, switches, forks;
	struct timespec time;
};

static void read_counters(struct counters *counters)
{
	char line[256];
	double value;
	FILE *file = fopen("/proc/vmstat", "re");

	*counters = (struct counters){0};
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "pgfault %lf", &value) == 1)
			counters->faults = value;
	if (file)
		fclose(file);
	file = fopen("/proc/stat", "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "ctxt %lf", &value) == 1)
			counters->switches = value;
		else if (sscanf(line, "processes %lf", &value) == 1)
			counters->forks = value;
	}
	if (file)
		fclose(file);
	clock_gettime(CLOCK_MONOTONIC, &counters->time);
}

/* Whether a fault runs into it. TLBIs and upgrades: once a write fault at most. */
static bool is_per_fault(enum role role)
{
	return role == ROLE_HW_FAULT || role == ROLE_FAULT || role == ROLE_SET_FLAGS ||
	       role == ROLE_WP;
}

void check_measure(const struct plan *plan, unsigned int profile, struct check_rates *rates)
{
	const struct timespec look = {.tv_sec = LOOK_NS / 1000000000};
	struct counters before, after;
	double cost_ns = 0;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*rates = (struct check_rates){0};
	read_counters(&before);
	nanosleep(&look, NULL);
	read_counters(&after);
	double seconds = (double)(after.time.tv_sec - before.time.tv_sec) +
			 (double)(after.time.tv_nsec - before.time.tv_nsec) / 1e9;
	rates->faults = (after.faults - before.faults) / seconds;
	rates->switches = (after.switches - before.switches) / seconds;
	rates->forks = (after.forks - before.forks) / seconds;
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];
		bool probe = event->steps && event->ladder[0].definition;
		double each_ns = !probe ? TRACEPOINT_NS : event->is_return ? RETURN_NS : PROBE_NS;
		double number = 0;

		if (!plan_records(event) || !event->row)
			continue;
		if (event->row->role == ROLE_SWITCH)
			number = rates->switches;
		else if (event->row->role == ROLE_NEWTASK || event->row->role == ROLE_FORK ||
			 event->row->role == ROLE_TASK_EXIT)
			number = rates->forks;
		else if (is_per_fault(event->row->role))
			number = rates->faults * (event->row->role == ROLE_WP ? 0.3 : 1);
		if (profile == PROFILE_MINIMAL && is_per_fault(event->row->role) &&
		    event->row->writes)
			number *= WRITES_OF_FAULTS;
		rates->events += number;
		cost_ns += number * each_ns;
		rates->bytes += number * (probe ? PROBE_BYTES : EVENT_BYTES);
	}
	rates->cpu_share = cost_ns / 1e9 / (double)(cpus > 0 ? cpus : 1);
}

static const char *without_of(const struct plan_event *event)
{
	if (event->row)
		return event->row->without;
	return !strcmp(event->system, CATALOGUE_GROUP_TLBI) ? "TLBIs in this function"
							    : "these accesses";
}

static bool is_site(const struct plan_event *event)
{
	return !strcmp(event->system, CATALOGUE_GROUP_TLBI);
}

void check_print(FILE *out, const struct plan *plan, const struct fact_list *facts,
		 const struct check_rates *rates, int64_t buffer_kb)
{
	size_t sites = 0, doubtful = 0;

	fputs("this host\n", out);
	for (size_t i = 0; i < facts->count; i++)
		fprintf(out, "  %-12s %s\n", facts->facts[i].key, facts->facts[i].value);
	fputs("can be recorded\n", out);
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];

		if (is_site(event)) {
			sites++;
			doubtful += event->reason != NULL;
		} else if (plan_records(event)) {
			fprintf(out, "  %s:%s (%s)\n", event->system, event->name,
				plan_how_text(event->ladder[0].how));
		}
	}
	if (sites)
		fprintf(out, "  %zu TLBI instructions (%zu dummies and %zu of boot and hypervisor "
			     "left out)\n",
			sites, plan->sites.dummies, plan->sites.elsewhere);
	if (doubtful)
		fprintf(out,
			"  of which %zu lie in functions that this kernel may refuse to probe\n",
			doubtful);
	fputs("cannot be recorded; the analysis then lacks\n", out);
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];

		if (!plan_records(event))
			fprintf(out, "  %s:%s (%s)\n    %s\n", event->system, event->name,
				event->reason ? event->reason : "?", without_of(event));
	}
	if (plan->sites_reason)
		fprintf(out,
			"  TLBI instructions (%s)\n    what was flushed, by address; functions "
			"say so only in part\n",
			plan->sites_reason);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	fprintf(out,
		"cost, by what goes on now (%.0f faults, %.0f switches, %.0f forks a second)\n"
		"  events       %.0f a second\n"
		"  CPU time     %.2f%% of all CPUs\n"
		"  memory       %.0f MB of ring buffers, %" PRId64 " KiB for each CPU\n"
		"  disk         %.1f MB a minute until it ends, %.1f MB a minute compressed\n",
		rates->faults, rates->switches, rates->forks, rates->events,
		rates->cpu_share * 100, (double)buffer_kb * (double)cpus / 1024, buffer_kb,
		rates->bytes * 60 / 1e6, rates->bytes * 60 / 1e6 * COMPRESSES_TO);
}

static void print_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", *text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

void check_print_json(FILE *out, const struct plan *plan, const struct fact_list *facts,
		      const struct check_rates *rates, int64_t buffer_kb)
{
	fputs("{\n\"host\": [", out);
	for (size_t i = 0; i < facts->count; i++) {
		fputs(i ? ",\n  [" : "\n  [", out);
		print_string(out, facts->facts[i].key);
		fputs(", ", out);
		print_string(out, facts->facts[i].value);
		fputc(']', out);
	}
	fputs("],\n\"events\": [", out);
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];

		fprintf(out, "%s\n  {\"event\": \"%s:%s\", \"recorded\": %s", i ? "," : "",
			event->system, event->name, plan_records(event) ? "true" : "false");
		if (plan_records(event)) {
			fputs(", \"how\": ", out);
			print_string(out, plan_how_text(event->ladder[0].how));
		} else {
			fputs(", \"without\": ", out);
			print_string(out, without_of(event));
		}
		if (event->reason) {
			fputs(", \"reason\": ", out);
			print_string(out, event->reason);
		}
		fputc('}', out);
	}
	fprintf(out, "],\n\"tlbi\": {\"sites\": %zu, \"dummies\": %zu, \"elsewhere\": %zu",
		plan->sites.count, plan->sites.dummies, plan->sites.elsewhere);
	if (plan->sites_reason) {
		fputs(", \"reason\": ", out);
		print_string(out, plan->sites_reason);
	}
	fprintf(out,
		"},\n\"cost\": {\"faults_per_s\": %.0f, \"switches_per_s\": %.0f, \"forks_per_s\": "
		"%.0f, \"events_per_s\": %.0f, \"cpu_share\": %.6f, \"buffer_kb_per_cpu\": %" PRId64
		", \"bytes_per_s\": %.0f, \"compressed_bytes_per_s\": %.0f}\n}\n",
		rates->faults, rates->switches, rates->forks, rates->events, rates->cpu_share,
		buffer_kb, rates->bytes, rates->bytes * COMPRESSES_TO);
}
