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
	uint32_t size;               /* bytes of data */
	const uint8_t *data;         /* the record's */
};

/*
 * A number is the low part, under MASK, of the 8 bytes at AT, which begin where it does (in a
 * big-endian recording: end). There are always so many in front of its end, as the 8 bytes that a
 * record starts with belong to all events; behind a block of events there are some to spare.
 * SIGN is the number's highest bit, if it has a sign. A text lies at AT.
 */
struct decode_field {
	uint64_t mask, sign;
	uint32_t at;
};

/* What is known of one format. */
struct decode_plan {
	enum role role;
	uint32_t has;               /* slots that every record of it has */
	uint32_t size;              /* bytes a record must have for all its fields */
	bool is_return;             /* of a return probe */
	bool swap;                  /* numbers are in the other byte order */
	bool writes;                /* role ACCESS: it tells of writes */
	const struct trace_format *format;
	const struct catalogue_row *row;    /* NULL for a TLBI */
	/* Role TLBI only. */
	struct tlbi_op op;
	enum point site_point;
	enum level site_level;
	enum tlbi_context site_context;
	uint64_t events;            /* records seen; of batches: after decoder_count() */
	struct decode_field fields[NR_SLOTS];
};

#define HAS(raw, s) ((raw)->has & 1u << SLOT_##s)
#define GET(raw, s) raw_number(raw, SLOT_##s)

/* The number that FIELD is in the record DATA. SWAP: as in the plan. */
static inline uint64_t field_number(const struct decode_field *field, const uint8_t *data,
				    bool swap)
{
	uint64_t bytes;

	__builtin_memcpy(&bytes, data + field->at, sizeof(bytes));
	if (__builtin_expect(swap, 0))
		bytes = __builtin_bswap64(bytes);
	return ((bytes & field->mask) ^ field->sign) - field->sign;
}

/* What the record holds for SLOT; 0 if its format has no such field. */
static inline uint64_t raw_number(const struct raw_event *raw, enum slot slot)
{
	return field_number(&raw->plan->fields[slot], raw->data, raw->plan->swap);
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
 * Decodes REC. Returns false if nobody wants it (it is counted), true with RAW filled otherwise. A
 * marker that names an event of accesses (a line "access GROUP EVENT FIELD r|w|?" of the host's
 * facts, schema/hostfacts.h) has that event decoded from there on.
 */
bool decode(struct decoder *d, const struct trace_record *rec, struct raw_event *raw);

/* The same for batches: fills B, of MAX events, with what is wanted. Returns as trace_fill(). */
int decoder_fill(struct decoder *d, struct trace_batch *b, size_t max, struct trace_error *err);

/* Takes over what decoder_fill() counted, once all is read. */
void decoder_count(struct decoder *d);

/* All plans, skipped formats (role SKIP) included; ids without a format are in *unknown. */
const struct decode_plan *decoder_plans(const struct decoder *d, size_t *nr, uint64_t *unknown);

/* Records that were too short for a field they should have: counted, and skipped. */
uint64_t decoder_short(const struct decoder *d);

/* What decode_event() needs of a decoder. */
struct decode_table {
	const struct decode_plan *const *plans; /* by kind of event */
	const uint32_t *entry_cpu;              /* dense CPU of each (cpu, buffer) */
	uint64_t too_short;
};
struct decode_table *decoder_table(struct decoder *d);

/*
 * Decodes E, one event of such a batch. Returns false for one that only stands for a gap, and for
 * one that is too short (it is counted).
 */
static inline bool decode_event(struct decode_table *table, const struct trace_event *e,
				struct raw_event *raw)
{
	const struct decode_plan *plan = table->plans[e->kind];

	raw->time_ns = e->time_ns;
	raw->pid = e->pid;
	raw->cpu = table->entry_cpu[e->entry];
	raw->plan = plan;
	raw->has = plan->has;
	raw->size = e->size;
	raw->data = e->data;
	if (__builtin_expect(plan->role == ROLE_SKIP, false))
		return false;
	if (__builtin_expect(e->size < plan->size, false)) {
		table->too_short++;
		return false;
	}
	return true;
}

#endif
