/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording read in windows: the events between two times, of one CPU or of all, without what
 * lies before and behind them. For those who look at raw events (the SQLite extension); a replay
 * wants all of them and uses replay/trace.h.
 *
 * Every CPU's pages begin with a time, and a CPU's time does not run backwards, so the first page
 * of a window is found by bisection. Headers that were read are remembered. Where a clock does run
 * backwards, events may be missing from a window that a full read shows.
 */
#ifndef ANALYSIS_RAWTRACE_H
#define ANALYSIS_RAWTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/trace.h"
#include "schema/catalogue.h"

struct raw_file; /* an open recording: its formats, an index of its pages, its tasks' names */
struct raw_scan; /* one pass over a window of it */

/* One field of an event, as it is shown. */
struct raw_field {
	const char *name;
	struct trace_field at;
	unsigned int element; /* bytes of an array's element; 0: not known */
	bool text;            /* char[] or a string */
};

/* One event format, taken apart. */
struct raw_format {
	const char *system, *name;
	/* Fields of a meaning that all events share; NULL where this one has none. */
	const struct raw_field *mm, *address, *flags, *ret;
	bool tlbi;             /* an instruction: its address is in its operand */
	struct tlbi_op op;
	struct raw_field *fields; /* its own ones, without the common ones */
	size_t nr_fields;
};

/* Which events a scan gives. */
struct raw_window {
	uint64_t from_ns, to_ns; /* both belong to it */
	bool one_cpu, one_tid;
	unsigned int cpu;
	int32_t tid;
	const uint8_t *ids; /* bitmap of RAW_IDS bits; NULL: all. Larger ids are always given */
};
#define RAW_IDS 65536
#define RAW_FIELDS_MAX 1024 /* of one format */

/* What was read to answer; bytes of event data and of page and chunk headers for the index. */
struct raw_stats {
	uint64_t scans, events; /* events: records looked at, also those that a window leaves out */
	uint64_t data_bytes, index_bytes;
};

/* Opens PATH. STATS, which may be shared, is added to. NULL with ERR filled and errno set. */
struct raw_file *raw_open(const char *path, struct raw_stats *stats, struct trace_error *err);
void raw_close(struct raw_file *file);

const struct trace_info *raw_info(const struct raw_file *file);

/* All formats, in file order. */
const struct trace_format *raw_formats(const struct raw_file *file, size_t *nr);

/* The format of ID, taken apart at the first call. NULL: the file has none, or no memory. */
const struct raw_format *raw_format(struct raw_file *file, int id);

/* Starts a pass over WINDOW (its ids must stay). FILE must outlive it. NULL with ERR filled. */
struct raw_scan *raw_scan_new(struct raw_file *file, const struct raw_window *window,
			      struct trace_error *err);
void raw_scan_free(struct raw_scan *scan);

/*
 * The next event, in the order of trace_next(). *PLACE (may be NULL) becomes a number that is this
 * event's alone in the file. Returns 1, 0 at the end, or a negative errno with ERR filled.
 * REC->data stays valid until the next call.
 */
int raw_scan_next(struct raw_scan *scan, struct trace_record *rec, int64_t *place,
		  struct trace_error *err);

/* Reads the number FIELD of REC; false if it is none or the record too short. */
bool raw_value(const struct raw_file *file, const struct trace_record *rec,
		const struct raw_field *field, uint64_t *out);

/* The address that REC is about: a field, or what the operand of a TLBI names. */
bool raw_address(const struct raw_file *file, const struct raw_format *format,
		 const struct trace_record *rec, uint64_t *out);

/*
 * The fields of REC as a JSON object, to be freed. Numbers are signed 64-bit ones. NULL: no memory.
 */
char *raw_json(const struct raw_file *file, const struct raw_format *format,
	       const struct trace_record *rec, size_t *size);

/*
 * The name that TID had at TIME_NS on CPU, from what the recording says of tasks anywhere: the
 * first call reads all of the file's events about tasks. *COMM becomes NULL if none is known.
 * Returns 0 or a negative errno with ERR.
 */
int raw_comm(struct raw_file *file, int32_t tid, uint32_t cpu, uint64_t time_ns, const char **comm,
	     struct trace_error *err);

#endif
