// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A whole trace.dat: the container, its event formats, the fields of the events that the catalogue
 * knows, every record, and the hash at the end.
 */
#include "replay/decode.h"
#include "replay/trace.h"
#include "tests/fuzz/fuzz.h"

#define RECORDS_MOST 200000

static void read_fields(struct decoder *d, const struct trace_record *rec)
{
	struct raw_event raw;
	uint64_t sum = 0;

	if (!decode(d, rec, &raw))
		return;
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++) {
		if (!(raw.has & 1u << slot))
			continue;
		if (slot == SLOT_COMM || slot == SLOT_TEXT)
			sum += raw.data[raw.plan->fields[slot].at];
		else
			sum += raw_number(&raw, slot);
	}
	__asm__ volatile("" : : "r"(sum)); /* it was read, whatever the compiler thinks of it */
}

static void read_all(struct trace *t, struct decoder *d)
{
	const struct trace_info *info = trace_info(t);
	struct trace_error err = {""};
	struct trace_record rec;
	uint64_t records = 0, hash;
	int ret;

	while ((ret = trace_next(t, &rec, &err)) > 0 && records++ < RECORDS_MOST) {
		FUZZ_CHECK(rec.entry < info->nr_entries && rec.buffer < info->nr_buffers);
		FUZZ_CHECK(info->cpus[rec.entry].cpu == rec.cpu);
		FUZZ_CHECK(rec.missed || !rec.missed_events);
		read_fields(d, &rec);
	}
	if (ret < 0)
		fuzz_check_text(err.text, sizeof(err.text));
	else if (!ret && trace_hash(t, &hash, &err))
		fuzz_check_text(err.text, sizeof(err.text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_error err = {""};
	struct trace *t = trace_open(fuzz_file(data, size), &err);
	struct decoder *d = t ? decoder_new(t, &err) : NULL;

	if (d)
		read_all(t, d);
	else
		fuzz_check_text(err.text, sizeof(err.text));
	decoder_free(d);
	trace_close(t);
	return 0;
}
