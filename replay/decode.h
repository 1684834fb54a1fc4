/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From records to raw events: for each format of the recording, once, which row of the catalogue it
 * belongs to and where its fields lie; then, per record, the few numbers that the row wants, each
 * when it is asked for.
 */
#ifndef REPLAY_DECODE_H
#define REPLAY_DECODE_H

#include <stdint.h>

#include "replay/trace.h"
#include "schema/catalogue.h"

/* One decoded record. Only slots whose bit is set in HAS are valid: see HAS() and GET(). */
struct raw_event {
	uint64_t time_ns;
	int32_t pid;
	uint32_t cpu;                /* dense index: see decoder_cpu() */
	const struct decode_plan *plan;
	uint32_t has;                /* 1 << SLOT_* */
	const uint8_t *data;         /* the record's */
	const struct trace_record *record;
};

/*
 * A number is the end of the 8 bytes at AT, whatever its size: there are always so many in front of
 * its end, as the 8 bytes that a record starts with belong to all events. They are shifted up, then
 * down with their sign, then cut. A text lies at AT.
 */
struct decode_field {
	uint64_t mask;
	uint32_t at;
	uint8_t up, down;
};

/* What is known of one format. */
struct decode_plan {
	enum role role;
	bool is_return;             /* of a return probe */
	uint32_t has;               /* slots that every record of it has */
	const struct trace_format *format;
	const struct catalogue_row *row;    /* NULL for a TLBI */
	/* Role TLBI only. */
	struct tlbi_op op;
	enum point site_point;
	enum level site_level;
	enum tlbi_context site_context;
	uint64_t events;            /* records seen */
	uint64_t reasons[8];        /* role TLB_FLUSH: by reason, the last one: unknown ones */
	bool swap;                  /* numbers are in the other byte order */
	uint32_t size;              /* bytes a record must have for all its fields */
	bool writes;                /* role ACCESS: it tells of writes */
	struct decode_field fields[NR_SLOTS];
};

#define HAS(raw, s) ((raw)->has & 1u << SLOT_##s)
#define GET(raw, s) raw_number(raw, SLOT_##s)

/* What the record holds for SLOT; 0 if its format has no such field. */
static inline uint64_t raw_number(const struct raw_event *raw, enum slot slot)
{
	const struct decode_field *field = &raw->plan->fields[slot];
	uint64_t bytes;

	__builtin_memcpy(&bytes, raw->data + field->at, sizeof(bytes));
	if (__builtin_expect(raw->plan->swap, 0))
		bytes = __builtin_bswap64(bytes);
	return (uint64_t)((int64_t)(bytes << field->up) >> field->down) & field->mask;
}

struct decoder;

/*
 * Looks through the formats of T. Returns NULL with ERR filled (a wanted format that cannot be
 * read, no memory).
 */
struct decoder *decoder_new(struct trace *t, struct trace_error *err);
void decoder_free(struct decoder *d);

/*
 * Events SYSTEM:NAME tell an access each: to the address in their field FIELD, a write or a read.
 * Returns 0, -ENOENT if the recording has no such event or field, -EBUSY if the catalogue gives it
 * a meaning.
 */
int decoder_add_access(struct decoder *d, struct trace *t, const char *system, const char *name,
		       const char *field, bool writes);

/* Number of CPUs of the recording, and the kernel's number of dense index I. */
unsigned int decoder_nr_cpus(const struct decoder *d);
unsigned int decoder_cpu(const struct decoder *d, unsigned int i);

/* True if the recording has a format of ROLE (entry or return probe as asked, either: -1). */
bool decoder_has(const struct decoder *d, enum role role, int is_return);

/* True if a TLBI site whose function serves POINT (or CONTEXT, if POINT is NR_POINTS) is probed. */
bool decoder_has_site(const struct decoder *d, enum point point, enum tlbi_context context);

/*
 * Decodes REC. Returns false if nobody wants it (it is counted), true with RAW filled otherwise.
 */
bool decode(struct decoder *d, const struct trace_record *rec, struct raw_event *raw);

/* All plans, skipped formats (role SKIP) included; ids without a format are in *unknown. */
const struct decode_plan *decoder_plans(const struct decoder *d, size_t *nr, uint64_t *unknown);

/* Records that were too short for a field they should have: counted, and skipped. */
uint64_t decoder_short(const struct decoder *d);

#endif
