/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything of a trace.dat but its events: what kind of file it is, whose data lies where, and how
 * to read it.
 */
#ifndef REPLAY_CONTAINER_H
#define REPLAY_CONTAINER_H

#include "replay/formats.h"
#include "replay/page.h"
#include "replay/source.h"
#include "replay/trace.h"

struct container {
	struct source src;
	struct trace_info info;
	struct trace_buffer *buffers; /* info.buffers; its strings are owned */
	struct trace_cpu *cpus;       /* info.cpus */
	bool *zstd;                   /* whether the data of buffers[i] are in zstd chunks */
	struct formats formats;
	struct page_layout layout;
};

/* Fills C (zeroed) from PATH. Returns 0 or a negative errno with ERR; free C either way. */
int container_open(struct container *c, const char *path, struct trace_error *err);
void container_free(struct container *c);

#endif
