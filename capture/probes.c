// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/probes.h"
#include "common/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <tracefs.h>
#include <unistd.h>

#define COUNT_TRIES 3
int probes_lock(void)
{
	char *path = tracefs_get_tracing_file("README");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	int rc = path ? -errno : -ENOMEM;

	if (path)
		tracefs_put_tracing_file(path);
	if (fd < 0)
		return rc;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	rc = errno == EWOULDBLOCK ? -EAGAIN : -errno;
	close(fd);
	return rc;
}

/* Appends one command to dynamic_events (without O_APPEND it would remove all there are). */
static int command(const char *text)
{
	char *path = tracefs_get_tracing_file("dynamic_events");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	int rc = fd < 0 ? -errno : 0;

	if (path)
		tracefs_put_tracing_file(path);
	if (rc)
		return rc;
	size_t size = strlen(text);
	ssize_t put = write(fd, text, size);
	if (put < 0)
		rc = -errno;
	else if ((size_t)put != size)
		rc = -EIO;
	close(fd);
	return rc;
}

static bool exists(const char *system, const char *name)
{
	return tracefs_event_file_exists(NULL, system, name, "enable");
}

static int remove_probe(const char *system, const char *name)
{
	char text[2 * PLAN_NAME_SIZE + 8];

	snprintf(text, sizeof(text), "-:%s/%s", system, name);
	return command(text);
}

/*
 * The kernel's own words on the last command that it refused, if it has any:
 *
 *   [  123.4] trace_kprobe: error: Failed to register probe event
 *     Command: p:tlbr/x y
 */
static void kernel_words(const char *definition, int rc, char *out, size_t size)
{
	char *log = tracefs_instance_file_read(NULL, "error_log", NULL);
	char *last = NULL, *at = log;

	while (at && (at = strstr(at, "error: ")))
		last = at += 7;
	snprintf(out, size, "%s", strerror(-rc));
	if (last && strstr(last, definition))
		snprintf(out, size, "%.*s", (int)strcspn(last, "\n"), last);
	free(log);
}

int probe_make(struct plan_event *event)
{
	char first[160] = "", words[128];

	if (!event->steps || !event->ladder[0].definition)
		return 0;
	if (exists(event->system, event->name)) {
		int rc = remove_probe(event->system, event->name);

		if (rc == -EBUSY) {
			/* Another recording has it on. It fetches what that one could have. */
			event->made = true;
			event->step = 0;
			return 0;
		}
	}
	for (size_t step = 0; step < event->steps; step++) {
		int rc = command(event->ladder[step].definition);

		if (!rc) {
			event->made = true;
			event->step = step;
			free(event->reason);
			event->reason = NULL;
			if (*first)
				plan_set_reason(event, "%s", first);
			return 0;
		}
		if (rc == -EACCES || (rc == -EPERM && !step))
			return rc;
		kernel_words(event->ladder[step].definition, rc, words, sizeof(words));
		if (!step)
			snprintf(first, sizeof(first), "%s", words);
	}
	event->steps = 0;
	plan_set_reason(event, "the kernel refuses the probe: %s", first);
	return 0;
}

void probe_give_up(struct plan_event *event, const char *reason)
{
	if (event->made)
		remove_probe(event->system, event->name);
	event->made = false;
	event->steps = 0;
	plan_set_reason(event, "%s", reason);
}

size_t probes_remove(struct plan *plan)
{
	size_t left = 0;

	for (size_t i = plan->count; i-- > 0;) {
		struct plan_event *event = &plan->events[i];

		if (!event->made)
			continue;
		int rc = remove_probe(event->system, event->name);
		left += rc && rc != -EBUSY && rc != -ENOENT;
		event->made = false;
	}
	return left;
}

size_t probes_remove_unused(void)
{
	static const char *const groups[] = {CATALOGUE_GROUP, CATALOGUE_GROUP_TLBI};
	size_t removed = 0;

	for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
		char **events = tracefs_system_events(NULL, groups[g]);

		for (char **at = events; at && *at; at++)
			removed += !remove_probe(groups[g], *at);
		tracefs_list_free(events);
	}
	return removed;
}

/*
 * kprobe_profile has "  NAME   HITS   MISSES" a line, without the group; kprobe_events has
 * "p:GROUP/NAME PLACE ..." in the same order. If they do not match, one came or went in between.
 */
static int read_counts(char *profile, char *events, struct probe_count **counts, size_t *count)
{
	size_t capacity = 0;
	char *save[2] = {NULL};
	char *line = strtok_r(profile, "\n", &save[0]), *event = strtok_r(events, "\n", &save[1]);

	for (*count = 0; line && event;
	     line = strtok_r(NULL, "\n", &save[0]), event = strtok_r(NULL, "\n", &save[1])) {
		struct probe_count one;
		unsigned long long hits, misses;
		char name[PLAN_NAME_SIZE];

		if (sscanf(line, " %63s %llu %llu", name, &hits, &misses) != 3 ||
		    sscanf(event, "%*[^:]:%63[^/]/%63s", one.system, one.name) != 2 ||
		    strcmp(name, one.name))
			return -EAGAIN;
		struct probe_count *all = grow_list(*counts, *count, &capacity, sizeof(*all));
		if (!all)
			return -ENOMEM;
		*counts = all;
		one.hits = hits;
		one.misses = misses;
		(*counts)[(*count)++] = one;
	}
	return line || event ? -EAGAIN : 0;
}

int probes_count(struct probe_count **counts, size_t *count)
{
	int rc = -EAGAIN;

	*counts = NULL;
	for (int i = 0; i < COUNT_TRIES && rc == -EAGAIN; i++) {
		char *profile = tracefs_instance_file_read(NULL, "kprobe_profile", NULL);
		char *events = tracefs_instance_file_read(NULL, "kprobe_events", NULL);

		rc = profile && events ? read_counts(profile, events, counts, count) : -ENOENT;
		free(profile);
		free(events);
	}
	if (rc) {
		free(*counts);
		*counts = NULL;
		*count = 0;
	}
	return rc;
}

uint64_t probes_missed(const struct plan *plan)
{
	struct probe_count *counts;
	uint64_t missed = 0;
	size_t count;

	probes_count(&counts, &count);
	for (size_t c = 0; c < count; c++) {
		for (size_t i = 0; i < plan->count; i++) {
			const struct plan_event *event = &plan->events[i];

			if (!event->made || strcmp(event->name, counts[c].name) ||
			    strcmp(event->system, counts[c].system))
				continue;
			missed += counts[c].misses;
			break;
		}
	}
	free(counts);
	return missed;
}
