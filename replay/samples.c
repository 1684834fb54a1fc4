// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/samples.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct samples {
	FILE *file;
	char *path, *line;
	size_t size;
	uint64_t number, last_ns;
};

struct samples *samples_open(const char *path, char *err, size_t err_size)
{
	struct samples *s = calloc(1, sizeof(*s));

	if (s) {
		s->path = strdup(path);
		s->file = s->path ? fopen(path, "re") : NULL;
	}
	if (!s || !s->file) {
		snprintf(err, err_size, "%s: %s", path, strerror(errno));
		samples_close(s);
		return NULL;
	}
	return s;
}

void samples_close(struct samples *s)
{
	if (!s)
		return;
	if (s->file)
		fclose(s->file);
	free(s->path);
	free(s->line);
	free(s);
}

/* "SECONDS.FRACTION:", the fraction of 1 to 9 digits. Moves *AT behind it. */
static bool read_time(char **at, uint64_t *ns)
{
	char *end;
	uint64_t seconds, fraction = 0;
	unsigned int digits = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	seconds = strtoull(*at, &end, 10);
	if (errno || seconds > UINT64_MAX / 1000000000 - 1 || *end++ != '.')
		return false;
	for (; isdigit((unsigned char)*end) && digits < 9; end++, digits++)
		fraction = fraction * 10 + (uint64_t)(*end - '0');
	if (!digits || *end != ':')
		return false;
	for (; digits < 9; digits++)
		fraction *= 10;
	*ns = seconds * 1000000000 + fraction;
	*at = end + 1;
	return true;
}

/* Everything behind the time: an event's name with a colon behind it, and an address. */
static bool read_rest(char *at, struct sample *out)
{
	bool have_addr = false, have_event = false;

	out->store = strcasestr(at, "store") != NULL;
	for (char *word = strtok(at, " \t\r\n"); word; word = strtok(NULL, " \t\r\n")) {
		size_t n = strlen(word);
		char *end;

		if (!have_event) {
			have_event = word[n - 1] == ':' && n > 1;
			/* A period may stand before the event. */
			if (!have_event && strspn(word, "0123456789") != n)
				return false;
			continue;
		}
		errno = 0;
		out->addr = strtoull(word, &end, 16);
		have_addr = !*end && !errno;
		break;
	}
	return have_addr;
}

static bool read_line(char *line, struct sample *out)
{
	char *at = line, *bracket = strchr(line, '['), *end;
	unsigned long cpu;
	long tid;

	if (!bracket)
		return false;
	while (bracket > at && isspace((unsigned char)bracket[-1]))
		bracket--;
	/* The tid is the number before the CPU, behind "PID/" if there is a pid. */
	char *digits = bracket;
	while (digits > at && isdigit((unsigned char)digits[-1]))
		digits--;
	if (digits == bracket)
		return false;
	tid = strtol(digits, &end, 10);
	while (*end != '[')
		end++;
	cpu = strtoul(end + 1, &end, 10);
	if (*end != ']' || tid < 0 || tid > INT32_MAX || cpu > 1u << 20)
		return false;
	at = end + 1;
	while (isspace((unsigned char)*at))
		at++;
	if (!read_time(&at, &out->time_ns))
		return false;
	out->tid = (int32_t)tid;
	out->cpu = (uint32_t)cpu;
	return read_rest(at, out);
}

int samples_next(struct samples *s, struct sample *out, char *err, size_t err_size)
{
	for (;;) {
		ssize_t got = getline(&s->line, &s->size, s->file);
		const char *first;

		if (got < 0) {
			if (feof(s->file))
				return 0;
			snprintf(err, err_size, "%s: line %llu: %s", s->path,
				 (unsigned long long)s->number + 1, strerror(errno));
			return -EIO;
		}
		s->number++;
		first = s->line + strspn(s->line, " \t\r\n");
		if (!*first || *first == '#')
			continue;
		if (!read_line(s->line, out)) {
			snprintf(
				err, err_size,
				"%s: line %llu: not a sample of perf script -F tid,cpu,time,event,addr",
				s->path, (unsigned long long)s->number);
			return -EBADMSG;
		}
		if (out->time_ns < s->last_ns) {
			snprintf(err, err_size, "%s: line %llu: earlier than the line before",
				 s->path, (unsigned long long)s->number);
			return -EBADMSG;
		}
		s->last_ns = out->time_ns;
		return 1;
	}
}
