// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace-fields FILE: decodes every field that the catalogue wants of every event that it knows, in
 * merged order, as a replay does. For the benchmark: what the reader costs, without any analysis.
 *
 * Prints the number of events and of fields and a checksum, so that nothing can be optimised away.
 */
#include <stdio.h>
#include <stdlib.h>

#include "replay/decode.h"
#include "replay/trace.h"

#define NR_KINDS 65536

/* The fields of a kind of event, side by side. */
struct shape {
	unsigned int nr;
	struct decode_field fields[NR_SLOTS];
};

static struct shape *make_shape(const struct decode_plan *plan)
{
	struct shape *shape = calloc(1, sizeof(*shape));

	if (!shape)
		abort();
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (plan->has & 1u << slot)
			shape->fields[shape->nr++] = plan->fields[slot];
	return shape;
}

int main(int argc, char **argv)
{
	unsigned long long events = 0, wanted = 0, fields = 0, sum = 0;
	struct trace_batch batch = {0};
	static struct shape *shapes[NR_KINDS];
	struct decode_table *table;
	struct trace_error err;
	struct decoder *d;
	struct trace *t;
	int ret;

	if (argc != 2) {
		fprintf(stderr, "usage: trace-fields FILE\n");
		return 2;
	}
	t = trace_open(argv[1], &err);
	d = t ? decoder_new(t, &err) : NULL;
	if (!d) {
		fprintf(stderr, "trace-fields: %s\n", err.text);
		return 1;
	}
	table = decoder_table(d);
	while ((ret = decoder_fill(d, &batch, 1024, &err)) > 0) {
		events += batch.seen;
		for (size_t i = 0; i < batch.nr; i++) {
			const struct trace_event *e = &batch.events[i];
			struct raw_event raw;

			if (!decode_event(table, e, &raw))
				continue;
			wanted++;
			sum += raw.time_ns + (unsigned int)raw.pid;
			struct shape *shape = shapes[e->kind];

			if (!shape)
				shape = shapes[e->kind] = make_shape(raw.plan);
			for (unsigned int k = 0; k < shape->nr; k++)
				sum += field_number(&shape->fields[k], raw.data, raw.plan->swap);
			fields += shape->nr;
		}
	}
	events += batch.seen;
	if (ret) {
		fprintf(stderr, "trace-fields: %s\n", err.text);
		return 1;
	}
	printf("%llu events, %llu of them wanted, %llu fields, sum %llx\n", events, wanted, fields, sum);
	trace_batch_free(t, &batch);
	for (size_t i = 0; i < NR_KINDS; i++)
		free(shapes[i]);
	decoder_free(d);
	trace_close(t);
	return 0;
}
