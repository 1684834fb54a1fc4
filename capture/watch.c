// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For each limit a ring of samples, the oldest of which is as old as the limit's time:
 *
 *       |<------------- over_ns ------------->|
 *       oldest .   .   .   .   .   .   .   . newest        rate = difference / time
 *
 * So a rate is never taken over less than what was asked for, and a peak is seen no later than a
 * sample's distance after it has lasted that long.
 */
#include "capture/watch.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capture/probes.h"

#define NS_PER_S     INT64_C(1000000000)
#define MOST_SECONDS 3600
#define SAMPLES      16
#define LEAST_NS     (NS_PER_S / 10) /* between samples; main.c looks less often than that */

struct source {
	const char *name;
	bool (*read)(const struct watch *watch, const char *key, uint64_t *count);
	const char *key; /* of the line in the file, or of the probes */
	const char *help;
};

struct series {
	const struct source *source;
	const char *key;
	int64_t due_ns;
	struct sample {
		int64_t time_ns;
		uint64_t count;
	} samples[SAMPLES];
	size_t first, used;
};

struct watch {
	const struct watch_limit *limits;
	size_t count;
	const struct plan *plan;
	uint64_t (*events)(void *);
	void *context;
	struct series series[WATCH_MAX];
};

/* The number behind KEY, the first word of a line of PATH. */
static bool read_word(const char *path, const char *key, uint64_t *count)
{
	char *line = NULL;
	size_t size = 0, length = strlen(key);
	bool found = false;
	FILE *file = fopen(path, "re");

	while (file && !found && getline(&line, &size, file) >= 0) {
		found = !strncmp(line, key, length) && line[length] == ' ';
		if (found)
			*count = strtoull(line + length, NULL, 10);
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

static bool read_vmstat(const struct watch *watch, const char *key, uint64_t *count)
{
	(void)watch;
	return read_word("/proc/vmstat", key, count);
}

static bool read_stat(const struct watch *watch, const char *key, uint64_t *count)
{
	(void)watch;
	return read_word("/proc/stat", key, count);
}

/* " TLB:   123   456   TLB shootdowns": a number for each CPU. */
static bool read_interrupts(const struct watch *watch, const char *key, uint64_t *count)
{
	char *line = NULL;
	size_t size = 0, length = strlen(key);
	bool found = false;
	FILE *file = fopen("/proc/interrupts", "re");

	(void)watch;
	*count = 0;
	while (file && !found && getline(&line, &size, file) >= 0) {
		char *at = line + strspn(line, " "), *end;

		found = !strncmp(at, key, length) && at[length] == ':';
		if (!found)
			continue;
		for (at += length + 1;; at = end) {
			uint64_t value = strtoull(at, &end, 10);

			if (end == at)
				break;
			*count += value;
		}
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

static bool read_events(const struct watch *watch, const char *key, uint64_t *count)
{
	(void)key;
	*count = watch->events(watch->context);
	return true;
}

/* Whether hits of EVENT count for KEY: "*" is every broadcast, else the event's own name. */
static bool probe_counts(const struct plan_event *event, const char *key)
{
	char function[PLAN_NAME_SIZE], name[2 * PLAN_NAME_SIZE];
	struct tlbi_op op;

	if (!event->made)
		return false;
	if (!strcmp(key, "*"))
		return !strcmp(event->system, CATALOGUE_GROUP_TLBI) &&
		       tlbi_parse_name(event->name, function, sizeof(function), &op) &&
		       op.broadcast;
	snprintf(name, sizeof(name), "%s:%s", event->system, event->name);
	return !strcmp(name, key);
}

static bool read_probes(const struct watch *watch, const char *key, uint64_t *count)
{
	struct probe_count *counts = NULL;
	size_t all = 0;
	bool found = false;

	if (probes_count(&counts, &all))
		return false;
	*count = 0;
	for (size_t i = 0; i < watch->plan->count; i++) {
		const struct plan_event *event = &watch->plan->events[i];

		if (!probe_counts(event, key))
			continue;
		for (size_t c = 0; c < all; c++) {
			if (strcmp(counts[c].system, event->system) ||
			    strcmp(counts[c].name, event->name))
				continue;
			*count += counts[c].hits;
			found = true;
		}
	}
	free(counts);
	return found;
}

static const struct source sources[] = {
	{"faults", read_vmstat, "pgfault", "page faults, minor and major"},
	{"major-faults", read_vmstat, "pgmajfault", "those that had to wait for a disk"},
	{"swap-ins", read_vmstat, "pswpin", "pages read from swap"},
	{"broadcasts", read_probes, "*", "TLBI instructions that broadcast (arm64, where probed)"},
	{"ipis", read_interrupts, "TLB", "interrupts that flush a TLB, as received (x86)"},
	{"wp-faults", read_probes, CATALOGUE_GROUP ":do_wp_page",
	 "write-protect faults: reuses and copies (where do_wp_page is probed)"},
	{"forks", read_stat, "processes", "new processes and threads"},
	{"switches", read_stat, "ctxt", "context switches"},
	{"events", read_events, "", "what this recording keeps, of all CPUs"},
};
#define NR_SOURCES (sizeof(sources) / sizeof(*sources))

static const struct source probe_source = {"", read_probes, NULL, NULL};

void watch_help(FILE *out)
{
	for (size_t i = 0; i < NR_SOURCES; i++)
		fprintf(out, "%-13s %s\n", sources[i].name, sources[i].help);
	fprintf(out, "%-13s %s\n", CATALOGUE_GROUP ":NAME",
		"hits of one probe of the recording, as --list names it");
}

static const struct source *find_source(const char *what)
{
	for (size_t i = 0; i < NR_SOURCES; i++)
		if (!strcmp(sources[i].name, what))
			return &sources[i];
	return strchr(what, ':') ? &probe_source : NULL;
}

int watch_parse(const char *text, struct watch_limit *limit)
{
	const char *equals = strchr(text, '=');
	double seconds = 1;
	char *end;

	if (!equals || (size_t)(equals - text) >= sizeof(limit->what))
		return -EINVAL;
	memcpy(limit->what, text, (size_t)(equals - text));
	limit->what[equals - text] = '\0';
	text = equals + 1;
	/* strtod alone would take "inf", "0x1" and leading blanks. */
	if (*text < '0' || *text > '9' || text[strspn(text, "0123456789.kM,")] ||
	    !find_source(limit->what))
		return -EINVAL;
	limit->rate = strtod(text, &end);
	if (*end == 'k' || *end == 'M')
		limit->rate *= *end++ == 'k' ? 1e3 : 1e6;
	if (*end == ',') {
		text = end + 1;
		seconds = strtod(text, &end);
		if (end == text)
			return -EINVAL;
	}
	if (*end || !(limit->rate > 0) || !(seconds >= 0.2 && seconds <= MOST_SECONDS))
		return -EINVAL;
	limit->over_ns = (int64_t)(seconds * (double)NS_PER_S);
	return 0;
}

struct watch *watch_new(const struct watch_limit *limits, size_t count, const struct plan *plan,
			uint64_t (*events)(void *), void *context, char *err, size_t err_size)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch) {
		snprintf(err, err_size, "out of memory");
		return NULL;
	}
	*watch = (struct watch){.limits = limits, .count = count, .plan = plan, .events = events,
				.context = context};
	for (size_t i = 0; i < count; i++) {
		struct series *series = &watch->series[i];
		uint64_t value;

		series->source = find_source(limits[i].what);
		assert(series->source); /* the options were checked */
		series->key = series->source->key ? series->source->key : limits[i].what;
		if (!series->source->read(watch, series->key, &value)) {
			snprintf(err, err_size, "this host does not count %s%s", limits[i].what,
				 series->source->read == read_probes
					 ? ": there is no such probe here"
					 : "");
			free(watch);
			return NULL;
		}
	}
	return watch;
}

/* Takes a sample. Returns true if the series then covers the limit's time. */
static bool sample(struct watch *watch, size_t i, int64_t now_ns)
{
	struct series *series = &watch->series[i];
	int64_t over_ns = watch->limits[i].over_ns;
	struct sample new = {.time_ns = now_ns};

	if (!series->source->read(watch, series->key, &new.count))
		return false;
	if (series->used == SAMPLES) {
		series->first = (series->first + 1) % SAMPLES;
		series->used--;
	}
	series->samples[(series->first + series->used++) % SAMPLES] = new;
	/* The oldest one that is old enough; what is before it is not needed. */
	while (series->used > 2 &&
	       now_ns - series->samples[(series->first + 1) % SAMPLES].time_ns >= over_ns) {
		series->first = (series->first + 1) % SAMPLES;
		series->used--;
	}
	return now_ns - series->samples[series->first].time_ns >= over_ns;
}

const struct watch_limit *watch_look(struct watch *watch, int64_t now_ns, double *rate,
				     double *seconds)
{
	for (size_t i = 0; watch && i < watch->count; i++) {
		struct series *series = &watch->series[i];
		int64_t apart_ns = watch->limits[i].over_ns / (SAMPLES - 4);

		if (now_ns < series->due_ns)
			continue;
		series->due_ns = now_ns + (apart_ns > LEAST_NS ? apart_ns : LEAST_NS);
		if (!sample(watch, i, now_ns))
			continue;
		const struct sample *oldest = &series->samples[series->first];
		const struct sample *newest =
			&series->samples[(series->first + series->used - 1) % SAMPLES];
		*seconds = (double)(newest->time_ns - oldest->time_ns) / (double)NS_PER_S;
		/* A CPU that went away took its count with it. */
		*rate = newest->count > oldest->count
				? (double)(newest->count - oldest->count) / *seconds
				: 0;
		if (*rate > watch->limits[i].rate)
			return &watch->limits[i];
	}
	return NULL;
}

void watch_free(struct watch *watch)
{
	free(watch);
}
