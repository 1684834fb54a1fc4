/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to record here: the catalogue's rows of a profile, set against what this kernel has. Making
 * a plan only reads; probes.h carries it out.
 */
#ifndef CAPTURE_PLAN_H
#define CAPTURE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/kernel.h"
#include "capture/sites.h"
#include "schema/catalogue.h"

#define PLAN_LADDER     5
#define PLAN_MAX_ACCESS 8
#define PLAN_MAX_RANGES 8
#define PLAN_NAME_SIZE  64

/* How an event comes to be; its ladder goes down this list. */
enum plan_how {
	PLAN_TRACEPOINT, /* the kernel's own */
	PLAN_NAMES,      /* probe that fetches by BTF names */
	PLAN_OFFSETS,    /* by offsets that the kernel's BTF gives */
	PLAN_KNOWN,      /* by offsets of known kernels */
	PLAN_FEWER,      /* without what is optional */
	PLAN_BARE,       /* no fields: that it was there is all that is told */
	PLAN_INSTRUCTION, /* probe on a TLBI */
	PLAN_TWIN,       /* probe on an instruction that is executed exactly when the TLBI is */
	PLAN_USER,       /* an existing event of the user's program */
	NR_PLAN_HOW
};

struct plan_event {
	const struct catalogue_row *row; /* NULL: a TLBI instruction or the user's event */
	char system[PLAN_NAME_SIZE], name[PLAN_NAME_SIZE];
	char function[PLAN_NAME_SIZE]; /* that is probed */
	bool is_return;
	struct {
		enum plan_how how;
		char *definition; /* for dynamic_events; NULL: nothing to make */
	} ladder[PLAN_LADDER]; /* to be tried in order */
	size_t steps;          /* 0: cannot be recorded here */
	size_t step;           /* the one that worked, once probes_make() is through */
	bool made;             /* exists now because we want it, ours or shared; see probes.h */
	char *filter;          /* for the kernel; NULL: all of them */
	char *reason;          /* why it cannot be recorded, or why the first step did not work */
};

/* An event of the user's program that tells accesses: --access GROUP:EVENT:FIELD[:r|w]. */
struct plan_access {
	char system[PLAN_NAME_SIZE], name[PLAN_NAME_SIZE], field[PLAN_NAME_SIZE];
	char kind; /* 'r', 'w', or '?': not said */
};

struct plan_range {
	uint64_t start, end; /* bytes; END is behind the last */
};

struct plan_wish {
	unsigned int profile; /* one of PROFILE_* */
	struct plan_access access[PLAN_MAX_ACCESS];
	size_t access_count;
	struct plan_range ranges[PLAN_MAX_RANGES]; /* user addresses that matter; none: all */
	size_t range_count;
};

struct plan {
	struct plan_event *events;
	size_t count, capacity;
	struct site_list sites;
	char *sites_reason; /* why TLBI instructions could not be looked for; NULL: they were */
};

/* Returns 0 or -ENOMEM. Needs tracefs. */
int plan_make(struct plan *plan, const struct kernel *kernel, const struct plan_wish *wish);
void plan_free(struct plan *plan);

/*
 * Sets the filters. FIELDS is the text of the event's format file; an event whose format lacks a
 * field is not filtered by it. Call for each event once it exists. Returns 0 or -ENOMEM.
 */
int plan_set_filter(struct plan_event *event, const struct plan_wish *wish, const char *format);

/* For events of one row: if one has no filter and matters with the others, none has. */
void plan_join_filters(struct plan *plan);

/* Whether EVENT is to be recorded as far as is known now. */
bool plan_records(const struct plan_event *event);

/* "BTF names" and the like. */
const char *plan_how_text(enum plan_how how);

/* Replaces EVENT's reason. */
void plan_set_reason(struct plan_event *event, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
