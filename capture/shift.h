/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By how much the user addresses of each address space are moved in an anonymised recording: a
 * random number of GiB for each program that was executed. Address spaces that come of each other
 * by fork have the same one, for they have the same layout and share pages, and a fork's events
 * name a range for both. Another program, executed by whichever of them, has another one.
 *
 * Whose an address is, is told by the event's mm where it has one, else by the task. Both change in
 * time, and what tells may come after what is to be told, on another CPU: so everything that tells
 * is noted first (shift_note()), put in order of time (shift_settle()), and asked then.
 */
#ifndef CAPTURE_SHIFT_H
#define CAPTURE_SHIFT_H

#include <stdbool.h>
#include <stdint.h>

enum shift_kind {
	/* a task that was there before (time 0): a is what its address space is called; 0: none */
	SHIFT_BEFORE,
	SHIFT_TASK,   /* TID makes task a */
	SHIFT_EXEC,   /* TID executes a program */
	SHIFT_FAULT,  /* TID faults on mm a, its own */
	SHIFT_REMOTE, /* TID faults on mm a, not its own: another one's, or to be its own by an exec */
	SHIFT_OTHER,  /* TID acts on mm a, perhaps not its own */
	SHIFT_COPY,   /* a fork copies mm b to mm a */
	SHIFT_END,    /* mm a ends; another one may get its place */
};

struct shift_note {
	uint64_t time_ns;
	uint64_t a, b;
	int32_t tid;
	enum shift_kind kind;
};

struct shift;

/* KEY is random. NULL: no memory. */
struct shift *shift_new(uint64_t key);
void shift_free(struct shift *shift);

/* Notes may come in any order; those of one time stay in theirs. Returns 0 or -ENOMEM. */
int shift_note(struct shift *shift, const struct shift_note *note);
int shift_settle(struct shift *shift);

/*
 * ADDRESS moved by a distance. 0 and the kernel's addresses stay; of an address of more than 48
 * bits the lower ones are moved.
 */
uint64_t shift_address(uint64_t address, uint64_t distance_bytes);

/* Whether anything is known of a task's address space at that time; nothing is of kernel threads.
 */
bool shift_knows_task(const struct shift *shift, int32_t tid, uint64_t time_ns);

/* The distance in bytes for addresses of MM, or of a task's own address space, at that time. */
uint64_t shift_of_mm(const struct shift *shift, uint64_t mm, uint64_t time_ns);
uint64_t shift_of_task(const struct shift *shift, int32_t tid, uint64_t time_ns);

#endif
