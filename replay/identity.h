/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is who: tasks by tid, address spaces by pointer or derived from clone, exec and exit.
 *
 * Neither pids nor mm pointers are names: both are reused. An address space gets a number when it
 * first appears and keeps it; a pointer leads to the number that is alive now.
 */
#ifndef REPLAY_IDENTITY_H
#define REPLAY_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/interpret.h"
#include "replay/map.h"

enum task_kind {
	/* seen, never introduced: run as a kernel thread would (its CPU keeps its mm) */
	TASK_UNKNOWN,
	TASK_KERNEL,
	TASK_USER,
};

/* An address space that is alive. */
struct mm {
	struct mm_identity id;
	uint32_t users;  /* tasks known to use it */
	bool dying;      /* exit_mmap has begun: its pointer may soon belong to another */
};

/* The fault that a task is in. */
struct fault {
	bool active, write, hardware, wp, huge, copied;
	bool unsure; /* events were lost since it began: what comes may belong to another */
	uint32_t mm;
	uint32_t flags;
	uint64_t addr;     /* as it was given, not rounded */
	uint64_t began_ns;
};

struct task {
	int32_t tid;
	uint8_t kind;  /* enum task_kind */
	bool rebound;  /* its mm changed without an exec event: that event is still to come */
	char comm[16];
	uint32_t mm;   /* 0: none known */
	uint32_t cpu;  /* where it was last seen */

	struct fault fault;
	struct {
		bool valid;
		uint32_t cpu;
		uint64_t addr, began_ns;
		uint64_t error;
	} hw; /* x86: the hardware's report, before handle_mm_fault or instead of it */
	/* x86 tracepoints alone: a write fault whose outcome the next event tells */
	bool wp_pending;

	struct {
		bool valid;
		uint64_t mm, addr, pte, entry, dirty;
		uint32_t has;
	} set_flags; /* arguments of ptep_set_access_flags, for a return probe without them */
	uint8_t tlbi_upgrade; /* flushes seen inside it: 1 broadcast, 2 local */
	uint32_t contpte_block; /* an upgrade of a contpte block is under way: 1 new, 2 told */

	bool clear_flush_open; /* ptep_clear_flush was called, its flush not yet seen */
	bool protect_open;     /* change_protection likewise */
	bool protect_flushed;
	uint8_t gather_point;  /* tlb_finish_mmu: point whose flush comes next; NR_POINTS: none */
	uint8_t flush_point;   /* x86: point whose tlb_flush comes next; NR_POINTS: none */
	bool exit_flush;       /* x86: this tlb_flush is exit_mmap's */
	/* x86: a gather flushed all of this mm; what for, the next event tells */
	uint32_t whole_mm;
	/* Reclaim by this task: the page it unmapped last, until that is written or forgotten. */
	struct {
		bool open;
		uint32_t mm;
		uint64_t addr, folio; /* folio 0: not recorded */
		uint64_t added;       /* folio that add_to_swap gave a slot last */
	} reclaim;
	bool slot_freed; /* the fault under way has given up its page's copy in swap */
	struct {
		bool open;
		uint32_t mm;
		uint64_t child; /* pointer */
		uint64_t time_ns;
	} fork;
};

struct identity {
	struct map by_tid;   /* -> index into tasks + 1 */
	struct task **tasks;
	size_t nr_tasks, max_tasks;
	struct map by_pointer; /* -> mm number */
	struct mm **mms;       /* by number; NULL once it has ended */
	size_t nr_mms, max_mms;
	uint64_t placeholders;
};

void identity_free(struct identity *id);

/* The task with this TID, made if need be. NULL: no memory. */
struct task *task_get(struct identity *id, int32_t tid);

/* The task with this TID, or NULL if it was never seen. */
const struct task *task_find(const struct identity *id, int32_t tid);

/* The same TID belongs to a new task from now on: forgets all but the tid. */
void task_reset(struct task *task);

/* A new address space. 0: no memory. */
uint32_t mm_new(struct identity *id, enum mm_origin origin, uint64_t pointer,
		const struct task *task, uint64_t time_ns);

/* The living address space at POINTER, made if there is none or if the old one is dying. */
uint32_t mm_at(struct identity *id, uint64_t pointer, const struct task *task, uint64_t time_ns);

/* The address space with this number, or NULL if it has ended. */
struct mm *mm_get(const struct identity *id, uint32_t mm);

/* Moves TASK to MM (0: none). The old one keeps existing. */
void task_set_mm(struct identity *id, struct task *task, uint32_t mm);

/* Frees MM's record; its number is not used again. */
void mm_remove(struct identity *id, uint32_t mm);

#endif
