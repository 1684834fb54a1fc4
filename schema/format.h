/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of an event's format file (events/SYSTEM/NAME/format), which a recording carries as
 *well:
 *
 *	name: sched_switch
 *	ID: 314
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *		field:__data_loc char[] filename;	offset:24;	size:4;	signed:1;
 *
 *	print fmt: ...
 *
 * A recording may come from anybody, so this takes what kernels write and nothing else.
 */
#ifndef SCHEMA_FORMAT_H
#define SCHEMA_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One field line. The texts point into the format and have no NUL. */
struct format_field {
	const char *type, *name,
		*array; /* array: what stands in the brackets; NULL: there are none */
	size_t type_size, name_size, array_size;
	uint32_t offset, size; /* bytes; offset: from the start of the payload */
	int is_signed;         /* 0 or 1; -1: not said, as kernels before 2.6.34 do */
};

/*
 * The next field line in [*AT, END), which is moved behind it; other lines are passed over, and the
 * print format ends it. Returns 1, 0 at the end, or -EBADMSG for a field line that is not one that
 * a kernel writes.
 */
int format_next_field(const char **at, const char *end, struct format_field *field);

/* Whether the field is called NAME. */
bool format_field_is(const struct format_field *field, const char *name);

/* Whether the field is __data_loc or __rel_loc: a word that says where its bytes lie. */
bool format_field_is_dynamic(const struct format_field *field);

/* Whether its offset counts from the end of that word. */
bool format_field_is_relative(const struct format_field *field);

/* Whether it is an array, in the record or elsewhere: "char comm[16]", "__data_loc char[] name". */
bool format_field_is_array(const struct format_field *field);

/* Whether the field's bytes may be text. */
bool format_field_is_text(const struct format_field *field);

/* Bytes of one element of an array; 0: not known. LONG_SIZE: of the kernel's long. */
unsigned int format_field_element(const struct format_field *field, unsigned int long_size);

/* The number behind "ID:" at the start of a line. False if there is none below 2^31. */
bool format_id(const char *text, size_t size, int *id);

#endif
