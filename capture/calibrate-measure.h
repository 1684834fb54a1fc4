/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The measurements of tlbcalibrate: threads pinned to CPUs, one of which changes mappings while so
 * many others run in the same address space. Needs no privileges and changes nothing of the host.
 */
#ifndef CAPTURE_CALIBRATE_MEASURE_H
#define CAPTURE_CALIBRATE_MEASURE_H

#include <stddef.h>

#include "capture/calibrate-samples.h"

enum measure_op { OP_MPROTECT, OP_MADVISE, OP_MUNMAP, NR_OPS };

extern const char *const measure_ops[NR_OPS];

/* Pages of one call: around the ceiling of x86 (33), and a whole page table. */
extern const unsigned int measure_pages[4];

struct measure;

/*
 * Gets ready: the CPUs that this task may use, memory of its own, clocks warmed up. ROUNDS: of each
 * measurement. Returns 0 or a negative errno.
 */
int measure_new(struct measure **m, unsigned int rounds);
void measure_free(struct measure *m);

/* How many CPUs there are to use. */
unsigned int measure_cpus(const struct measure *m);

/*
 * One call that takes PAGES pages away or makes them read-only (OP), while CPUS of them run in the
 * address space. TOUCHED: the pages are mapped, so that there is something to flush.
 */
struct spread measure_flush(struct measure *m, enum measure_op op, unsigned int pages,
			    unsigned int cpus, int touched);

/*
 * What a CPU loses of its time for each call of OP_MPROTECT that another makes (ns); without a
 * second CPU nothing is measured.
 */
struct spread measure_bystander(struct measure *m);

/* The first touch of an anonymous page. */
struct spread measure_minor_fault(struct measure *m);

/* A write to a page that a child, gone since, had shared: it becomes writable again. */
struct spread measure_reuse_fault(struct measure *m);

/*
 * A write through a read-only entry that is stale: another CPU has made the page writable since.
 * Rounds in which the kernel counted no fault (it had flushed the entry) are left out.
 */
struct spread measure_spurious_fault(struct measure *m);

/* A read of a page that is in the caches and not in the TLB, less one that is in both. */
struct spread measure_refill(struct measure *m);

#endif
