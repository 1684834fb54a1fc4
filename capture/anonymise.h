/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes out of a finished recording what names the host's programs and people: comms become tokens
 * that are the same for the same comm within one recording and in no other; paths, the host's name
 * and the kernel's symbols go. Optionally user addresses are moved by one random distance.
 */
#ifndef CAPTURE_ANONYMISE_H
#define CAPTURE_ANONYMISE_H

#include <stdbool.h>
#include <stdint.h>

struct anonymiser;

/* With a random key of its own. NULL with errno. */
struct anonymiser *anonymiser_new(bool shift);
void anonymiser_free(struct anonymiser *anonymiser);

/* Replaces a comm in place; an empty one and the idle task's stay. */
void anonymise_comm(const struct anonymiser *anonymiser, char comm[16]);

/*
 * Rewrites PATH, an uncompressed trace.dat of version 6, then has trace-cmd compress it
 * (COMPRESSION as trace-cmd names it). *BYTES gets its size. Returns 0 or a negative errno: the
 * file is then of no use.
 */
int anonymise_file(const struct anonymiser *anonymiser, const char *path, const char *compression,
		   uint64_t *bytes);

#endif
