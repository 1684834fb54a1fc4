/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes out of a finished recording what names the host's programs and people: comms become tokens
 * that are the same for the same comm within one recording and in no other; paths, the host's name
 * and the kernel's symbols go. Optionally user addresses are moved, by a random distance for each
 * program (shift.h).
 */
#ifndef CAPTURE_ANONYMISE_H
#define CAPTURE_ANONYMISE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/plan.h"

struct anonymiser;

/*
 * With a random key of its own. WISH, which must outlive it, tells which fields of a user's events
 * are addresses; NULL: none. NULL with errno.
 */
struct anonymiser *anonymiser_new(bool shift, const struct plan_wish *wish);
void anonymiser_free(struct anonymiser *anonymiser);

/* Replaces a comm in place; an empty one and the idle task's stay. */
void anonymise_comm(const struct anonymiser *anonymiser, char comm[16]);

/* Has trace-cmd make an uncompressed file of version 6 of PATH. Returns 0 or a negative errno. */
int anonymise_prepare(const char *path);

/*
 * Rewrites PATH, an uncompressed trace.dat of version 6, then has trace-cmd compress it
 * (COMPRESSION as trace-cmd names it). *BYTES gets its size, *BLANKED the number of TLBI operands
 * whose address had to go, because nothing tells in whose address space it lay. Returns 0 or a
 * negative errno: the file is then of no use.
 */
int anonymise_file(const struct anonymiser *anonymiser, const char *path, const char *compression,
		   uint64_t *bytes, uint64_t *blanked);

#endif
