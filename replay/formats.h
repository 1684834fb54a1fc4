/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event formats that a trace.dat carries: their names and ids when it is opened, their fields
 * on demand.
 */
#ifndef REPLAY_FORMATS_H
#define REPLAY_FORMATS_H

#include "replay/source.h"
#include "replay/trace.h"

/* Where the fields that every event starts with lie; bytes from the start of the payload. */
struct common_fields {
	uint32_t type_offset, type_size; /* size is 1, 2 or 4 */
	uint32_t pid_offset, pid_size;
	uint32_t size; /* the shortest payload that holds both */
};

struct formats {
	struct trace_format *list;
	size_t nr, allocated;
	uint32_t *by_id; /* index + 1 into list; 0: none */
	size_t nr_ids;
	struct common_fields common;
	bool have_common;
	struct text_block *texts; /* what list[] points into */
};

/*
 * Takes one format file of SIZE bytes from R. An empty one (an event that vanished while it was
 * recorded) is passed over. Errors stick in R.
 */
void formats_add(struct formats *f, struct reader *r, const char *system, uint64_t size);

/* Builds the id table once all formats are in. Returns 0 or -ENOMEM. */
int formats_finish(struct formats *f);

/* Frees what F holds; F may be zeroed or half-built. */
void formats_free(struct formats *f);

/*
 * Finds the line "field:TYPE NAME;" (or NAME[...]) in TEXT, and its offset and size. Returns
 * whether it is there.
 */
bool format_scan_field(const char *text, size_t text_size, const char *name, uint32_t *offset,
		       uint32_t *size);

/* trace_find_field() without the struct trace. */
int formats_find_field(const struct source *src, const struct trace_format *format,
		       const char *name, struct trace_field *field, struct trace_error *err);

#endif
