/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The normalised event: what a recording says once architecture, kernel version and probe names are
 * out of the way. The interpreter makes these, the engine and the policies see nothing else.
 */
#ifndef SCHEMA_EVENT_H
#define SCHEMA_EVENT_H

#include <stdint.h>

#include "schema/terms.h"

enum event_kind {
	EVENT_DECISION, /* a decision point was reached: point, level, mm, addr, pages */
	EVENT_PRESENT,  /* a fault left (mm, addr) mapped; flags say whether it was a write */
	EVENT_ACCESS,   /* cpu used (mm, addr); flags: a write, or one of a sample only */
	EVENT_PROTECTED, /* fork made the writable PTEs of [addr, addr + pages) read-only */
	EVENT_LOAD,     /* cpu now has mm loaded and runs a task of it */
	EVENT_IDLE,     /* cpu now runs the idle task or a kernel thread; it keeps its mm, lazily */
	EVENT_MM_END,   /* the address space is gone */
	EVENT_LOST,     /* events are missing on cpu: what it runs is unknown until the next load */
	/* mm existed before the recording: what was done with it until now, and where, is unknown */
	EVENT_OLDER,
	/* the flushes that the batches of task tid (reclaim, migration) wait for are complete */
	EVENT_BATCH_END,
	EVENT_SWAP_IN,  /* do_swap_page mapped (mm, addr); flags: SWAP_* */
	EVENT_SWAP_OUT, /* reclaim unmapped (mm, addr); flags: SWAP_* */
	EVENT_SWAP_WRITE, /* the page that was (mm, addr) is written to swap; mm 0: some page is */
};

enum {
	EVENT_WRITE = 1 << 0,    /* the fault was a write */
	/* on behalf of another mm, or without user registers: fills no TLB */
	EVENT_REMOTE = 1 << 1,
	EVENT_TRIED = 1 << 2,    /* FAULT_FLAG_TRIED: the fault is a repetition */
	EVENT_TABLES = 1 << 3,   /* page tables were freed */
	EVENT_FROM_TLBI = 1 << 4, /* the invalidation itself is the only evidence of this point */
	EVENT_UP = 1 << 5,       /* protect: the new permission allows more */
	EVENT_SAMPLED = 1 << 6,  /* access: one of a sample, most are not recorded */
	/* the point was reached, but whether there was anything to flush is open */
	EVENT_MAYBE = 1 << 7,
};

/* Flags of the three swap events, which take none of the above but EVENT_WRITE. */
enum {
	SWAP_PTE_KNOWN = 1 << 1, /* in: the next two are known */
	SWAP_WRITABLE = 1 << 2,  /* in: the new PTE may be written */
	SWAP_DIRTY = 1 << 3,     /* in: it counts as written */
	SWAP_SLOT_FREED = 1 << 4, /* in: the page's copy in swap was given up */
	SWAP_NOT_ANON = 1 << 1,  /* out: of a file or shared memory; swap is not where it goes */
	SWAP_ANON = 1 << 2,      /* out: private memory. Neither: the recording cannot tell */
	SWAP_SLOT_NEW = 1 << 3,  /* out: had no copy in swap: it must be written, dirty or not */
	SWAP_SHARED = 1 << 4,    /* out: a further mapping of the page unmapped last */
};

/*
 * How sure it is that the point was reached: each 0 or 1, low <= estimate <= high. A recording
 * without function probes shows a write fault on a read-only page and not what became of it; then
 * several points share one event, each with low 0 and high 1.
 */
struct event_sureness {
	uint8_t low, estimate, high;
};

struct tlb_event {
	uint64_t time_ns;
	uint64_t addr;  /* first byte; 0 for a whole mm */
	uint64_t pages; /* base pages that change; 0: the whole mm */
	uint64_t began_ns; /* when the fault behind it was taken, as far as the recording shows */
	uint32_t mm;    /* the interpreter's number of the address space; 0: none is known */
	uint32_t tid;
	uint32_t cpu;   /* dense index, 0 to number of CPUs - 1 */
	uint32_t users; /* tasks known to use the mm (a decision's mm); 0: not known */
	uint8_t kind;   /* enum event_kind */
	uint8_t point, level;
	uint8_t flags;
	struct event_sureness sure;
};

/* Events of swap are for replay/dirty.h alone. */
static inline int event_of_swap(const struct tlb_event *event)
{
	return event->kind >= EVENT_SWAP_IN;
}

#endif
