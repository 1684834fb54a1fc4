/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLBs of a stated geometry, one per CPU, filled by evidence: faults that were resolved and
 * accesses that a recording shows. They answer whether a CPU is likely to still hold what it once
 * had.
 *
 * One set of TLBs serves all policies: it keeps when an entry was filled and last used (ordinals of
 * events), and a policy that flushed after the last use knows that it is gone. A flushed entry is
 * not reused before others in its set, which a real TLB would do; that makes a difference only in
 * sets that are full, and none at all in a direct-mapped TLB.
 *
 * Sources for sizes: Arm Neoverse N1 TRM (100616), "L2 TLB: 1280 entries, 5-way"; Neoverse V1/V2
 * TRM, "2048 entries, 8-way"; Intel SDM vol. 2, CPUID leaf 18H (1536 or 2048 entries, 12- or
 * 16-way).
 */
#ifndef REPLAY_TLB_H
#define REPLAY_TLB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLB_MAX_LEVELS 3

struct tlb_geometry {
	unsigned int nr_levels;
	struct {
		uint32_t sets, ways; /* sets: a power of two */
	} level[TLB_MAX_LEVELS];
	bool tagged;  /* entries carry an ASID: a switch of mm keeps them */
	uint32_t entries; /* of the largest level */
};

struct tlb;

/*
 * Reads "ENTRIES/WAYS[+ENTRIES/WAYS...][,untagged]", smallest level first: "48/48+1024/4". Returns
 * 0, or -EINVAL with the reason in ERR.
 */
int tlb_parse(const char *text, struct tlb_geometry *geometry, char *err, size_t err_size);

/* NULL: no memory. A CPU's arrays are made when it is first filled. */
struct tlb *tlb_new(const struct tlb_geometry *geometry, unsigned int nr_cpus);
void tlb_free(struct tlb *t);

/* CPU has used page PAGE (number) of MM at ordinal SEQ: filled, or moved to the front. */
void tlb_fill(struct tlb *t, unsigned int cpu, uint32_t mm, uint64_t page, uint64_t seq);

/*
 * Whether CPU has an entry of this page: since when without a break (*FILLED), and when it was used
 * last (*USED), as ordinals. Under a policy that flushed it at F it is held only if *USED > F; it
 * holds what the page table said before U only if *FILLED < U.
 */
bool tlb_look(const struct tlb *t, unsigned int cpu, uint32_t mm, uint64_t page, uint64_t *filled,
	      uint64_t *used);

/* The entry was taken out or replaced by a fresh one at SEQ (a fault fixed it). */
void tlb_refill(struct tlb *t, unsigned int cpu, uint32_t mm, uint64_t page, uint64_t seq);

/* Another mm is loaded on CPU: everything goes if entries carry no ASID. */
void tlb_switch(struct tlb *t, unsigned int cpu, uint64_t seq);

#endif
