// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace-fields FILE: reads every number field of every event, in merged order. For the benchmark:
 * what the reader costs with the decoding of all fields, without any analysis.
 *
 * Prints the number of events and of fields and a checksum, so that nothing can be optimised away.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace.h"

#define MAX_FIELDS 32
#define MAX_IDS    65536

struct decoder {
	unsigned int nr;
	struct trace_field fields[MAX_FIELDS];
};

/* Calls trace_find_field() for each name that the text of F declares. */
static struct decoder *make_decoder(struct trace *t, const struct trace_format *f)
{
	struct decoder *d = calloc(1, sizeof(*d));
	char *text = strndup(f->text, f->text_size), *line, *save = NULL;
	struct trace_error err;

	if (!d || !text)
		exit(1);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *field = strstr(line, "field:"), *end = field ? strchr(field, ';') : NULL,
		     *name;
		struct trace_field *to = &d->fields[d->nr];

		if (!end || d->nr == MAX_FIELDS)
			continue;
		*end = '\0';
		end = strchr(field, '[');
		/* "char name[16]", but "__data_loc char[] name" */
		if (end && end[1] != ']')
			*end = '\0';
		name = strrchr(field, ' ');
		if (!name || trace_find_field(t, f, name + 1, to, &err))
			continue;
		if (!to->is_array &&
		    (to->size == 1 || to->size == 2 || to->size == 4 || to->size == 8))
			d->nr++;
	}
	free(text);
	return d;
}

int main(int argc, char **argv)
{
	static struct decoder *decoders[MAX_IDS];
	unsigned long long events = 0, fields = 0, sum = 0;
	const struct trace_format *formats;
	struct trace_record rec;
	struct trace_error err;
	struct trace *t;
	size_t i, nr;
	bool swap;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: trace-fields FILE\n");
		return 2;
	}
	t = trace_open(argv[1], &err);
	if (!t) {
		fprintf(stderr, "trace-fields: %s\n", err.text);
		return 1;
	}
	swap = trace_swap(t);
	formats = trace_formats(t, &nr);
	for (i = 0; i < nr; i++) {
		if (formats[i].id >= 0 && formats[i].id < MAX_IDS && !decoders[formats[i].id])
			decoders[formats[i].id] = make_decoder(t, &formats[i]);
	}
	while ((ret = trace_next(t, &rec, &err)) > 0) {
		const struct decoder *d = rec.id >= 0 && rec.id < MAX_IDS ? decoders[rec.id] : NULL;
		unsigned int k;

		events++;
		sum += rec.time_ns;
		for (k = 0; d && k < d->nr; k++) {
			uint64_t value;

			if (trace_read(&rec, &d->fields[k], swap, &value)) {
				sum += value;
				fields++;
			}
		}
	}
	if (ret) {
		fprintf(stderr, "trace-fields: %s\n", err.text);
		return 1;
	}
	printf("%llu events, %llu fields, sum %llx\n", events, fields, sum);
	for (i = 0; i < MAX_IDS; i++)
		free(decoders[i]);
	trace_close(t);
	return 0;
}
