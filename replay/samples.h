/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory accesses from the text of perf script, for recordings that show none themselves: perf mem,
 * Arm SPE or AMD IBS, on clock mono. One line per access:
 *
 *	perf script --ns -F tid,cpu,time,event,addr[,data_src]
 *	 1234 [003]  5678.123456789:  cpu/mem-stores/P:  ffff9abc1230
 *
 * A line is a store if its event's name or its data source says "store"; else a load.
 */
#ifndef REPLAY_SAMPLES_H
#define REPLAY_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample {
	uint64_t time_ns, addr;
	int32_t tid;
	uint32_t cpu; /* the kernel's number */
	bool store;
};

struct samples;

/* NULL with ERR filled ("FILE: reason"). */
struct samples *samples_open(const char *path, char *err, size_t err_size);
void samples_close(struct samples *s);

/*
 * The next sample. Returns 1; 0 at the end; -EBADMSG with ERR filled ("FILE: line N: reason") for a
 * line that is none, or whose time lies before the last one's; -EIO.
 */
int samples_next(struct samples *s, struct sample *out, char *err, size_t err_size);

#endif
