/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What "tlbreplay --dump" prints: the events of a recording as the reader sees them. */
#ifndef REPLAY_DUMP_H
#define REPLAY_DUMP_H

#include <stdbool.h>
#include <stdio.h>

struct trace_error;

/*
 * Writes a line per event of PATH to OUT, in merged order, and then one per kind of loss:
 *
 *	TIME_NS CPU PID SYSTEM:EVENT [BUFFER]
 *	lost CPU COUNT [BUFFER]
 *	lost CPU unknown [BUFFER]
 *
 * An event whose format the file does not have is "unknown:ID". BUFFER is there if the file has
 * several; "-" is the top level one. *INCOMPLETE (may be NULL): whether events were lost. Returns 0
 * or a negative errno with ERR; what was printed before an error stands.
 */
int dump_trace(const char *path, FILE *out, struct trace_error *err, bool *incomplete);

#endif
