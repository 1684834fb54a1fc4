/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event catalogue: one list that says which recorded events and fields the analysis understands
 * and how each is had on a kernel. tlbcapture enables from it, tlbreplay decodes by it. Everything
 * else in a recording is skipped and counted.
 *
 * A row is one place in the kernel: a tracepoint, or a function that a dynamic probe watches
 * (entry, return or both; a decoder tells them apart by the fields, a return probe has
 * __probe_ret_ip). Probes that we make ourselves are named after the function, in group "tlbr", the
 * return probe with "_ret" behind it: tlbr:handle_mm_fault, tlbr:handle_mm_fault_ret. TLBI
 * instructions are in group "tlbr_tlbi", named FUNCTION__OP__N.
 */
#ifndef SCHEMA_CATALOGUE_H
#define SCHEMA_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/terms.h"

#define CATALOGUE_GROUP      "tlbr"
#define CATALOGUE_GROUP_TLBI "tlbr_tlbi"

enum { ARCH_ARM64 = 1, ARCH_X86 = 2, ARCH_ANY = 3 };

/* What a recorded event means to the analysis. */
enum role {
	ROLE_SKIP,        /* known to nobody */
	ROLE_SWITCH,      /* sched_switch */
	ROLE_NEWTASK,     /* task_newtask: pid, clone flags */
	ROLE_FORK,        /* sched_process_fork: pids of parent and child */
	ROLE_EXEC,        /* sched_process_exec */
	ROLE_TASK_EXIT,   /* sched_process_exit */
	ROLE_MARKER,      /* ftrace:print: the task snapshot */
	ROLE_LOAD_MM,     /* check_and_switch_context: an mm is loaded on this CPU */
	ROLE_THREAD,      /* fpsimd_thread_switch: next task with its mm */
	ROLE_HW_FAULT,    /* x86 page_fault_user: the hardware's own report */
	ROLE_HW_FAULT_KERNEL, /* x86 page_fault_kernel */
	ROLE_FAULT,       /* handle_mm_fault */
	ROLE_WP,          /* do_wp_page */
	ROLE_HUGE_WP,     /* do_huge_pmd_wp_page */
	ROLE_HUGE_ACCESSED, /* huge_pmd_set_accessed */
	ROLE_SET_FLAGS,   /* ptep_set_access_flags: serves pte and pmd alike */
	ROLE_CONTPTE_SET_FLAGS, /* contpte_ptep_set_access_flags */
	ROLE_CLEAR_FLUSH, /* ptep_clear_flush */
	ROLE_GATHER_FINISH, /* tlb_finish_mmu */
	ROLE_GATHER_FLUSH,  /* tlb_flush_mmu */
	ROLE_COPY_RANGE,  /* copy_page_range: fork copies one vma */
	ROLE_PROTECT,     /* change_protection */
	ROLE_EXIT_MMAP,   /* exit_mmap */
	ROLE_BEGIN_EXEC,  /* begin_new_exec */
	ROLE_FLUSH_RANGE, /* x86 flush_tlb_mm_range */
	ROLE_TLB_FLUSH,   /* tlb:tlb_flush */
	ROLE_TLBI,        /* a TLBI instruction */
	ROLE_UNMAP_ONE,   /* try_to_unmap_one */
	ROLE_AGE_ONE,     /* folio_referenced_one */
	ROLE_BATCH_FLUSH, /* try_to_unmap_flush: what reclaim or migration has put off */
	ROLE_ACCESS,      /* an event of a user's program that tells an access; see hostfacts.h */
	ROLE_SWAP_IN,     /* do_swap_page */
	ROLE_SWAP_WRITE,  /* swap_writepage */
	ROLE_SWAP_ADD,    /* add_to_swap: a page without a copy in swap gets a slot */
	ROLE_SWAP_FREE,   /* folio_free_swap: a page's copy in swap is given up */
	ROLE_WRITE_FOLIO, /* mm_vmscan_write_folio */
	NR_ROLES
};

/* The numbers that fields of events are read into. Addresses and sizes in bytes. */
enum slot {
	SLOT_MM,      /* mm_struct pointer */
	SLOT_MM2,     /* copy_page_range: the source (the parent); thread switch: active_mm */
	SLOT_ADDR,    /* faulting or affected address */
	SLOT_FLAGS,   /* FAULT_FLAG_* */
	/* user pc of the registers the fault came with; 0 or a kernel address: none */
	SLOT_UPC,
	SLOT_RET,     /* return value */
	SLOT_PTE,     /* page table entry before (entry probe) */
	SLOT_ENTRY,   /* page table entry that is being set */
	SLOT_DIRTY,   /* the "dirty" argument: the fault was a write */
	SLOT_START,   /* range, first byte */
	SLOT_END,     /* range, byte behind the last */
	SLOT_BITS,    /* mmu_gather's bit fields as one word */
	SLOT_FULLMM,  /* mmu_gather.fullmm */
	SLOT_FREED,   /* mmu_gather.freed_tables */
	SLOT_SHIFT,   /* log2 of the stride of a flush */
	SLOT_CPFLAGS, /* change_protection's cp_flags */
	SLOT_PID,     /* the task that is next, new, exec'ing, ending */
	SLOT_PID2,    /* sched_switch: previous; fork: the parent */
	SLOT_CLONE,   /* clone_flags */
	SLOT_ERROR,   /* x86 error code: 1 present, 2 write, 4 user, 16 fetch */
	SLOT_REASON,  /* tlb_flush reason */
	SLOT_PAGES,   /* tlb_flush pages; all ones: everything */
	SLOT_OP,      /* operand register of a TLBI */
	SLOT_ASID,    /* mm->context.id */
	SLOT_COMM,    /* offset of a comm: next, child's, own (text, 16 bytes) */
	SLOT_TEXT,    /* text to the end of the record (print's buf) */
	SLOT_FOLIO,   /* struct folio (or page) pointer: tells pages apart while they are reclaimed */
	SLOT_MAPPING, /* folio->mapping: bit 0 is set for private memory (PAGE_MAPPING_ANON) */
	NR_SLOTS
};

enum source_kind {
	SOURCE_TRACEPOINT, /* system:name of the kernel */
	SOURCE_FUNCTION,   /* dynamic probes on the function */
};

/*
 * Fetch texts are what probe events take, with two additions: "A|B" is the first that the kernel
 * has (of fetch_6_1: A on arm64, B on x86), and "bits(tlb->fullmm)" is the 32-bit word that holds a
 * bit field. A field with neither text is only ever read from other recordings.
 */
struct catalogue_field {
	enum slot slot;
	const char *names[3];   /* as the event has it: ours first, then aliases */
	bool at_return;         /* a function's field that only its return probe has */
	bool optional;          /* a probe without it is nearly as good */
	const char *fetch;      /* how a probe fetches it by BTF names; NULL: not had that way */
	const char *fetch_6_1;  /* the same by argument number and offset, Linux 6.1 to 6.12 */
};

/* What a recording is for. */
enum {
	PROFILE_MINIMAL = 1, /* write faults, upgrades, flushes: for production */
	PROFILE_FULL = 2,    /* all that the analysis feeds on */
	PROFILE_SWAP = 4,    /* and reclaim and swap, step by step */
	PROFILE_LATENCY = 8, /* minimal, with both ends of what flushes, and nothing inside them */
	PROFILE_ALL = 15,
};

/* "minimal", "full", "swap", "latency"; NULL: no profile. And back; 0: no such one. */
const char *profile_name(unsigned int profile);
unsigned int profile_find(const char *name);

struct catalogue_row {
	enum role role;
	enum source_kind source;
	unsigned int arch;
	const char *system, *name; /* name: tracepoint, or the function's usual name */
	const char *functions[4];  /* other names that kernels give this function */
	const char *aliases[4];    /* "system:name" of earlier recordings, read as this row */
	const char *without;       /* what a recording that lacks it cannot tell */
	unsigned int profiles;     /* PROFILE_*; 0: FULL and SWAP */
	const char *writes;        /* filter on its fields that keeps what MINIMAL is after */
	/* no entry probe where the return probe can fetch the arguments */
	bool return_alone;
	bool sleeps;               /* many tasks may be in it at a time */
	bool timed;                /* LATENCY records how long it takes: its entry and its return */
	struct catalogue_field fields[10];
};

/* All rows; ends with role ROLE_SKIP. */
extern const struct catalogue_row catalogue[];

/*
 * The row that event SYSTEM:NAME of a recording belongs to, or NULL. Knows our own names, the
 * kernel's tracepoints and the aliases; not the TLBI groups (see tlbi_parse_name()).
 */
const struct catalogue_row *catalogue_find(const char *system, const char *name);

/* Kinds of TLBI operand. ARM ARM DDI 0487, "TLB maintenance instructions". */
enum tlbi_kind {
	TLBI_VMALL, /* everything of EL1&0; no operand */
	TLBI_ASID,  /* one ASID */
	TLBI_VA,    /* one page by VA and ASID */
	TLBI_VAA,   /* one page by VA, any ASID */
	TLBI_RVA,   /* range by VA and ASID */
	TLBI_RVAA,  /* range by VA, any ASID */
};

struct tlbi_op {
	char name[12];       /* "vale1is" */
	enum tlbi_kind kind;
	bool broadcast;      /* IS or OS: every CPU of the shareability domain */
	bool last_level;     /* the L forms: walk caches may be kept */
};

/* What one TLBI asked for. */
struct tlbi_reach {
	uint16_t asid;   /* 0 where the kind has none */
	uint64_t va;     /* first byte; sign-extended for kernel addresses */
	uint64_t pages;  /* pages of 1 << page_shift bytes; 0: not by address */
};

/* True if SYSTEM is one of the groups that hold TLBI instructions (ours or an earlier one). */
bool tlbi_is_group(const char *system);

/*
 * Takes an event's name apart: FUNCTION__OP__N, or FUNCTION_OP_N of earlier recordings. FUNCTION
 * gets the text before the operation. Returns false if no operation can be found in it.
 */
bool tlbi_parse_name(const char *name, char *function, size_t function_size, struct tlbi_op *op);

/*
 * Decodes the operand register. ASID = bits 63:48. VA kinds: bits 43:0 are the address >> 12. Range
 * kinds: bits 36:0 are the address >> page shift, pages = (NUM + 1) << (5 * SCALE + 1) with NUM in
 * bits 43:39, SCALE in 45:44 and TG in 47:46 (1: 4K, 2: 16K, 3: 64K).
 */
void tlbi_decode(const struct tlbi_op *op, uint64_t operand, unsigned int page_shift,
		 struct tlbi_reach *reach);

/*
 * The decision point that a TLBI in FUNCTION serves, if the function alone tells it: *CONTEXT is
 * set where the surrounding events must tell (a gather, or a helper that many call). Unknown
 * functions give NR_POINTS without context.
 */
enum tlbi_context { TLBI_SITE_PLAIN, TLBI_SITE_GATHER, TLBI_SITE_UPGRADE, TLBI_SITE_CLEAR_FLUSH,
		    TLBI_SITE_RANGE, TLBI_SITE_UNKNOWN };
enum point tlbi_site_point(const char *function, const struct tlbi_op *op,
			   enum tlbi_context *context, enum level *level);

/* Text of a tlb:tlb_flush reason (enum tlb_flush_reason); NULL for a number nobody here knows. */
const char *tlb_flush_reason_name(uint64_t reason);
/* Its scope: a switch or local flush acts here, an IPI and its handling on the mask. */
enum scope tlb_flush_reason_scope(uint64_t reason);
/* Whether it is of the task that wants the flush: not of a CPU that is asked, nor of a switch. */
bool tlb_flush_reason_own(uint64_t reason);

#endif
