/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words that all tools, the database and the documents share. Their spelling in the database is
 * the text beside each; it is an interface and never changes meaning.
 */
#ifndef SCHEMA_TERMS_H
#define SCHEMA_TERMS_H

#include <stddef.h>

/*
 * Decision points: places in the kernel where a change to a page table raises the question what to
 * flush. Function names are of Linux 6.12.
 */
#define POINTS(X)                                                                                  \
	X(WP_REUSE, "wp_reuse")           /* do_wp_page makes the PTE writable again */            \
	X(DIRTY_UP, "dirty_up")           /* write to a writable PTE that was clean or old */      \
	X(HUGETLB_REUSE, "hugetlb_reuse") /* the same as wp_reuse for hugetlb */                   \
	X(YOUNG, "young")                 /* read fault that sets the access flag */               \
	X(SPURIOUS, "spurious")           /* write fault that found nothing to change */           \
	X(COW, "cow")                     /* the page is copied: ptep_clear_flush in a write fault */ \
	X(UNMAP, "unmap")                 /* munmap, MADV_DONTNEED, MADV_FREE: leaves of one gather */ \
	X(TABLES_FREED, "tables_freed")   /* page tables freed after an unmap */                   \
	X(NESTED, "nested")               /* a gather that ran beside another one */               \
	X(BATCH_PENDING, "batch_pending") /* a zap while a reclaim batch is unflushed */           \
	X(PROTECT, "protect")             /* mprotect over present PTEs */                         \
	X(PROT_NONE_RW, "prot_none_rw")   /* PROT_NONE back to accessible */                       \
	X(NUMA, "numa")                   /* NUMA hinting makes PTEs PROT_NONE */                  \
	X(FORK, "fork")                   /* dup_mmap write-protected the parent */                \
	X(MIGRATE, "migrate")                                                                      \
	X(RECLAIM, "reclaim")                                                                      \
	X(AGE, "age")       /* access flag cleared to see whether it comes back */                 \
	X(CLEAN, "clean")   /* dirty bit cleared for writeback; KSM write-protection */            \
	X(MREMAP, "mremap") /* move_page_tables */                                                 \
	X(SPLIT, "split")                                                                          \
	X(COLLAPSE, "collapse")                                                                    \
	X(FOLD, "fold")     /* contpte block made */                                               \
	X(UNFOLD, "unfold") /* contpte block taken apart */                                        \
	X(EXIT, "exit")     /* exit_mmap, of a process that ends or of the old image at exec */    \
	X(SWITCH, "switch") /* another mm is loaded on a CPU */                                    \
	X(KERNEL, "kernel") /* kernel address range */

#define LEVELS(X)                                                                                  \
	X(PTE, "pte")                                                                              \
	X(CONTPTE, "contpte")                                                                      \
	X(PMD, "pmd")                                                                              \
	X(HUGETLB, "hugetlb")                                                                      \
	X(MM, "mm")   /* the whole address space */                                                \
	X(ALL, "all") /* every address space */

/* Where an invalidation acts. */
#define SCOPES(X)                                                                                  \
	X(NONE, "none")                                                                            \
	X(LOCAL, "local")         /* this CPU */                                                   \
	X(MASK, "mask")           /* the CPUs in the mm's mask, by interrupt */                    \
	X(BROADCAST, "broadcast") /* all CPUs, by the interconnect */

/* What a TLB entry that was left behind is, measured against the page table. */
#define STALENESS(X)                                                                               \
	X(BENIGN, "benign") /* allows less: costs a spurious fault */                              \
	X(HINT, "hint")     /* only the access flag differs */                                     \
	X(UNSAFE, "unsafe") /* allows more, or maps what is gone */                                \
	X(WINDOW, "window") /* unsafe, but only between the change and a synchronous flush */

/* How a stale entry came to an end. */
#define ENDINGS(X)                                                                                 \
	X(FLUSH, "flush")                                                                          \
	X(REFAULT, "refault") /* its CPU faulted on it, and that fixed it */                       \
	X(GONE, "gone")       /* with its mm */                                                    \
	X(TRACE, "end")       /* the recording ended first: censored */                            \
	X(EVICTED, "evicted")

#define AS_POINT(id, text)     POINT_##id,
#define AS_LEVEL(id, text)     LEVEL_##id,
#define AS_SCOPE(id, text)     SCOPE_##id,
#define AS_STALENESS(id, text) STALE_##id,
#define AS_ENDED(id, text)     ENDED_##id,

enum point { POINTS(AS_POINT) NR_POINTS };
enum level { LEVELS(AS_LEVEL) NR_LEVELS };
enum scope { SCOPES(AS_SCOPE) NR_SCOPES };
enum staleness { STALENESS(AS_STALENESS) NR_STALENESS };
enum ended { ENDINGS(AS_ENDED) NR_ENDED };

#undef AS_POINT
#undef AS_LEVEL
#undef AS_SCOPE
#undef AS_STALENESS
#undef AS_ENDED

/* The text of a term; "?" for a number out of range. */
const char *point_name(unsigned int point);
const char *level_name(unsigned int level);
const char *scope_name(unsigned int scope);
const char *staleness_name(unsigned int kind);
const char *ended_name(unsigned int ended);

#endif
