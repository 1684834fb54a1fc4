// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace-fields FILE: decodes every field that the catalogue wants of every event that it knows, in
 * merged order, as a replay does. For the benchmark: what the reader costs, without any analysis.
 *
 * Prints the number of events and of fields and a checksum, so that nothing can be optimised away.
 */
#include <stdio.h>

#include "replay/decode.h"
#include "replay/trace.h"

int main(int argc, char **argv)
{
	unsigned long long events = 0, wanted = 0, fields = 0, sum = 0;
	struct trace_batch batch = {0};
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
			struct raw_event raw;

			if (!decode_event(table, &batch.events[i], &raw))
				continue;
			wanted++;
			sum += raw.time_ns + (unsigned int)raw.pid;
			for (uint32_t has = raw.has; has; has &= has - 1) {
				sum += raw_number(&raw, (enum slot)__builtin_ctz(has));
				fields++;
			}
		}
	}
	events += batch.seen;
	if (ret) {
		fprintf(stderr, "trace-fields: %s\n", err.text);
		return 1;
	}
	printf("%llu events, %llu of them wanted, %llu fields, sum %llx\n", events, wanted, fields, sum);
	trace_batch_free(t, &batch);
	decoder_free(d);
	trace_close(t);
	return 0;
}
