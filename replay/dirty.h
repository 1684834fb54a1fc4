/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dirty pages: which pages swap has to write, under kernels that differ in how a page becomes
 * dirty.
 *
 *   mkwrite=dirty  a writable entry made for a read fault counts as written from the start: arm64
 *                  from Linux commit 73e86cb03cf2 until "arm64, mm: avoid always making PTE dirty
 *                  in pte_mkwrite()"
 *   mkwrite=clean  it does not (x86; arm64 before and after these)
 *   dbm=on         the hardware marks a page dirty when it is written (FEAT_HAFDBS; any x86)
 *   dbm=off        a write to a clean writable page faults once, and the entry is upgraded and
 *                  flushed (decision point dirty_up)
 *
 * A second sink beside the engine, made only for recordings in which interpret_sees_swap() holds.
 * Takes the normalised events of a recording made under any of the four kernels and says what each
 * of the four would have done with the same page faults and the same reclaim.
 */
#ifndef REPLAY_DIRTY_H
#define REPLAY_DIRTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/event.h"

enum mkwrite {
	MKWRITE_DIRTY,
	MKWRITE_CLEAN,
	NR_MKWRITE
};
enum dbm {
	DBM_ON,
	DBM_OFF,
	NR_DBM
};

/* "dirty", "clean"; "on", "off". */
const char *mkwrite_name(unsigned int mkwrite);
const char *dbm_name(unsigned int dbm);

/* low <= estimate <= high; pages or faults */
struct dirty_bound {
	double low, estimate, high;
};

/* What one kernel would have done. */
struct dirty_outcome {
	struct dirty_bound writes;    /* pages written to swap */
	struct dirty_bound unwritten; /* pages made dirty by a fault and never written after it */
	struct dirty_bound extra_faults; /* write faults that only make a clean entry dirty */
};

/* One address space, when it ends or the recording does. */
struct dirty_mm {
	uint32_t mm;
	uint64_t swap_ins;
	uint64_t made;                /* for a read, with a writable entry */
	uint64_t writes;              /* recorded: its pages written to swap */
	struct dirty_bound unwritten; /* of MADE: never written until unmapped, or until the end */
};

struct dirty_result {
	/* What the recording shows. */
	uint64_t swap_ins;        /* pages mapped by do_swap_page... */
	uint64_t swap_in_writes;  /* ...of these, for a write */
	uint64_t made;            /* ...for a read, with a writable entry: what mkwrite is about */
	uint64_t made_dirty;      /* ...of MADE, those that counted as written at once */
	uint64_t unknown_entries; /* ...whose entry was not recorded, or of an unknown kind */
	uint64_t unmapped;        /* private pages, by reclaim; each once */
	uint64_t shared;          /* further mappings of them */
	uint64_t not_anon;        /* pages of files and shared memory, by reclaim */
	uint64_t writes;          /* pages written to swap, all of them */
	uint64_t writes_unplaced; /* of these, not told which page: the same under all kernels */
	uint64_t unknown_before;  /* unmapped pages whose last fault came before the recording */
	uint64_t upgrades;        /* MADE pages that a write fault made dirty: no dbm */
	uint64_t silent;          /* MADE pages found dirty without one: dbm */
	uint64_t young;          /* access flags set by a fault: the hardware does not, so no dbm */
	uint64_t missing_writes; /* had to be written, and no write was seen before it came back */
	/* The recorded kernel, recognised by the above; -1: it does not show. */
	int mkwrite, dbm;
	struct dirty_outcome outcome[NR_MKWRITE][NR_DBM];
};

struct dirty_config {
	unsigned int page_shift;
	bool hardware_always; /* x86: dbm cannot be off */
	bool sees_slots;      /* SWAP_SLOT_NEW is there when it applies: add_to_swap is recorded */
	/*
	 * Of the pages whose later writes no event can show, how many are written; negative: taken
	 * from the recording, see dirty.c.
	 */
	double dirty_share;
	void *context;
	/* Optional. */
	void (*mm)(void *context, const struct dirty_mm *mm);
};

struct dirty;

/* NULL: no memory. */
struct dirty *dirty_new(const struct dirty_config *config);
void dirty_free(struct dirty *d);

/* Takes one event, of any kind; in order. */
void dirty_event(struct dirty *d, const struct tlb_event *event);

/* The recording has ended. Returns 0, or -ENOMEM if anything was lost to lack of memory. */
int dirty_end(struct dirty *d, uint64_t time_ns);

const struct dirty_result *dirty_result(const struct dirty *d);

/* Bytes of state per page that is followed, at the table's usual filling. */
size_t dirty_page_bytes(void);

#endif
