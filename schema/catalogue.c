// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The catalogue's rows, and the reading of TLBI names and operands.
 *
 * A field's `fetch` uses BTF argument names. Where probe events know them (6.9 and later) the
 * kernel takes them as they are, else tlbcapture turns them into offsets by the kernel's BTF.
 * `fetch_6_1` is for kernels without BTF: argument numbers and structure offsets that were checked
 * on Debian's 6.1 and 6.12 kernels for arm64 and amd64 (vm_area_struct.vm_mm lies at 0x10 in both).
 */
#include "schema/catalogue.h"

#include <stdio.h>
#include <string.h>

#define F(s, n, ...)  {.slot = SLOT_##s, .names = {n}, __VA_ARGS__}
#define VMA_MM        .fetch = "vma->vm_mm:x64", .fetch_6_1 = "+0x10($arg1):x64"

const struct catalogue_row catalogue[] = {
	/* Tasks: who runs where, and in which address space. */
	{
		.role = ROLE_SWITCH,
		.arch = ARCH_ANY,
		.system = "sched",
		.name = "sched_switch",
		.profiles = PROFILE_FULL | PROFILE_SWAP | PROFILE_LATENCY,
		.without =
			"which CPU runs what: no upper bound for stale entries, nothing per switch",
		.fields = {F(PID2, "prev_pid"), F(PID, "next_pid"), F(COMM, "next_comm")},
	},
	{
		.role = ROLE_NEWTASK,
		.arch = ARCH_ANY,
		.system = "task",
		.name = "task_newtask",
		.profiles = PROFILE_ALL,
		.without = "which tasks share an address space, and forks",
		.fields = {F(PID, "pid"), F(CLONE, "clone_flags"), F(COMM, "comm")},
	},
	{
		.role = ROLE_FORK,
		.arch = ARCH_ANY,
		.system = "sched",
		.name = "sched_process_fork",
		.without = "nothing where task_newtask is recorded",
		.fields = {F(PID2, "parent_pid"), F(PID, "child_pid"), F(COMM, "child_comm")},
	},
	{
		.role = ROLE_EXEC,
		.arch = ARCH_ANY,
		.system = "sched",
		.name = "sched_process_exec",
		.profiles = PROFILE_ALL,
		.without = "when a task changes its address space",
		.fields = {F(PID, "pid")},
	},
	{
		.role = ROLE_TASK_EXIT,
		.arch = ARCH_ANY,
		.system = "sched",
		.name = "sched_process_exit",
		.profiles = PROFILE_ALL,
		.without = "the end of tasks: a reused pid is then taken for the old task",
		.fields = {F(PID, "pid")},
	},
	{
		.role = ROLE_MARKER,
		.arch = ARCH_ANY,
		.system = "ftrace",
		.name = "print",
		.profiles = PROFILE_ALL,
		.without = "tasks older than the recording",
		.fields = {F(TEXT, "buf")},
	},
	{
		.role = ROLE_LOAD_MM,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ARM64,
		.system = CATALOGUE_GROUP,
		.name = "check_and_switch_context",
		.aliases = {"k:cctx"},
		.without = "nothing where sched_switch is recorded and tasks are known",
		.fields = {F(MM, "mm", .fetch = "mm:x64", .fetch_6_1 = "$arg1:x64"),
			   F(ASID, "asid", .optional = true,
			     .fetch = "mm->context.id.counter:x64")},
	},
	{
		.role = ROLE_THREAD,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ARM64,
		.system = CATALOGUE_GROUP,
		.name = "fpsimd_thread_switch",
		.aliases = {"k:sw"},
		.without = "which mm lazy and kernel threads keep loaded",
		.fields = {{SLOT_PID, {"pid", "npid"}, .fetch = "next->pid"},
			   {SLOT_MM, {"mm", "nmm"}, .fetch = "next->mm:x64"},
			   {SLOT_MM2, {"active_mm", "namm"}, .fetch = "next->active_mm:x64"},
			   F(ASID, "asid", .optional = true,
			     .fetch = "next->mm->context.id.counter:x64")},
	},

	/* Faults. */
	{
		.role = ROLE_HW_FAULT,
		.arch = ARCH_X86,
		.system = "exceptions",
		.name = "page_fault_user",
		.profiles = PROFILE_ALL,
		.writes = "error_code & 2",
		.without = "faults, unless handle_mm_fault is probed",
		.fields = {F(ADDR, "address"), F(ERROR, "error_code")},
	},
	{
		.role = ROLE_HW_FAULT_KERNEL,
		.arch = ARCH_X86,
		.system = "exceptions",
		.name = "page_fault_kernel",
		.profiles = PROFILE_ALL,
		.writes = "error_code & 2",
		.without = "faults that the kernel takes on user addresses",
		.fields = {F(ADDR, "address"), F(ERROR, "error_code")},
	},
	{
		.role = ROLE_FAULT,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "handle_mm_fault",
		.aliases = {"k:hmf", "k:hmf_r"},
		.profiles = PROFILE_ALL,
		.writes = "flags & 1",
		.sleeps = true,
		.without = "which faults happened, on which address space",
		.fields = {F(MM, "mm", VMA_MM),
			   F(ADDR, "addr", .fetch = "address:x64", .fetch_6_1 = "$arg2:x64"),
			   F(FLAGS, "flags", .fetch = "flags:x32", .fetch_6_1 = "$arg3:x32"),
			   F(UPC, "upc", .optional = true, .fetch = "regs->pc:x64|regs->ip:x64",
			     .fetch_6_1 = "+256($arg4):x64|+128($arg4):x64"),
			   F(RET, "ret", .at_return = true, .fetch = "$retval:x32",
			     .fetch_6_1 = "$retval:x32")},
	},
	{
		.role = ROLE_WP,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "do_wp_page",
		.aliases = {"k:wp"},
		.profiles = PROFILE_ALL,
		.without = "wp reuse apart from dirty upgrades",
		.fields = {F(MM, "mm", .fetch = "vmf->vma->vm_mm:x64",
			     .fetch_6_1 = "+0x10(+0($arg1)):x64"),
			   F(ADDR, "addr", .fetch = "vmf->address:x64",
			     .fetch_6_1 = "+24($arg1):x64"),
			   F(FLAGS, "flags", .fetch = "vmf->flags:x32",
			     .fetch_6_1 = "+40($arg1):x32"),
			   F(PTE, "opte", .fetch = "vmf->orig_pte.pte:x64",
			     .fetch_6_1 = "+64($arg1):x64")},
	},
	{
		.role = ROLE_HUGE_WP,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "do_huge_pmd_wp_page",
		.aliases = {"k:hwp"},
		.profiles = PROFILE_ALL,
		.without = "wp reuse of huge pages apart from dirty upgrades",
		.fields = {F(MM, "mm", .fetch = "vmf->vma->vm_mm:x64",
			     .fetch_6_1 = "+0x10(+0($arg1)):x64"),
			   F(ADDR, "addr", .fetch = "vmf->address:x64",
			     .fetch_6_1 = "+24($arg1):x64")},
	},
	{
		.role = ROLE_HUGE_ACCESSED,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "huge_pmd_set_accessed",
		.aliases = {"k:hpsa"},
		.profiles = PROFILE_ALL,
		.without = "spurious faults on huge pages",
		.fields = {F(MM, "mm", .fetch = "vmf->vma->vm_mm:x64",
			     .fetch_6_1 = "+0x10(+0($arg1)):x64"),
			   F(ADDR, "addr", .fetch = "vmf->address:x64",
			     .fetch_6_1 = "+24($arg1):x64")},
	},
	{
		.role = ROLE_SET_FLAGS,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "ptep_set_access_flags",
		.timed = true,
		.functions = {"__ptep_set_access_flags", "__ptep_set_access_flags_anysz"},
		.aliases = {"k:psaf", "k:psaf_r", "k:psafe"},
		.profiles = PROFILE_ALL,
		.writes = "dirty != 0",
		.without = "upgrades and spurious faults: the point of the whole exercise",
		.fields = {F(MM, "mm", VMA_MM),
			   F(ADDR, "addr", .fetch = "address:x64", .fetch_6_1 = "$arg2:x64"),
			   F(PTE, "pte", .fetch = "+0(ptep):x64", .fetch_6_1 = "+0($arg3):x64"),
			   F(ENTRY, "entry", .fetch = "entry:x64", .fetch_6_1 = "$arg4:x64"),
			   F(DIRTY, "dirty", .fetch = "dirty:u8", .fetch_6_1 = "$arg5:u8"),
			   F(RET, "ret", .at_return = true, .fetch = "$retval:s32",
			     .fetch_6_1 = "$retval:s32")},
	},
	{
		.role = ROLE_CONTPTE_SET_FLAGS,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ARM64,
		.system = CATALOGUE_GROUP,
		.name = "contpte_ptep_set_access_flags",
		.timed = true,
		.aliases = {"k:cpsaf", "k:cpsaf_r"},
		.profiles = PROFILE_ALL,
		.without = "upgrades of contpte blocks",
		.fields = {F(MM, "mm", VMA_MM),
			   F(ADDR, "addr", .fetch = "addr:x64", .fetch_6_1 = "$arg2:x64"),
			   F(ENTRY, "entry", .fetch = "entry:x64", .fetch_6_1 = "$arg4:x64"),
			   F(DIRTY, "dirty", .fetch = "dirty:u8", .fetch_6_1 = "$arg5:u8"),
			   F(RET, "ret", .at_return = true)},
	},
	{
		.role = ROLE_CLEAR_FLUSH,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "ptep_clear_flush",
		.timed = true,
		.aliases = {"k:pcf"},
		.profiles = PROFILE_ALL,
		.without = "CoW copies",
		.fields = {F(MM, "mm", VMA_MM),
			   F(ADDR, "addr", .fetch = "address:x64", .fetch_6_1 = "$arg2:x64"),
			   F(PTE, "pte", .fetch = "+0(ptep):x64", .fetch_6_1 = "+0($arg3):x64")},
	},

	/* Ranges and whole address spaces. */
	{
		.role = ROLE_GATHER_FINISH,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "tlb_finish_mmu",
		.timed = true,
		.aliases = {"k:tfm"},
		.profiles = PROFILE_ALL,
		.without = "unmaps, freed tables and exits",
		.fields = {F(MM, "mm", .fetch = "tlb->mm:x64", .fetch_6_1 = "+0($arg1):x64"),
			   F(START, "start", .fetch = "tlb->start:x64",
			     .fetch_6_1 = "+0x10($arg1):x64"),
			   F(END, "end", .fetch = "tlb->end:x64", .fetch_6_1 = "+0x18($arg1):x64"),
			   F(BITS, "bits", .fetch = "bits(tlb->fullmm):x32",
			     .fetch_6_1 = "+0x20($arg1):x32"),
			   F(FULLMM, "fullmm"), F(FREED, "freed")},
	},
	{
		.role = ROLE_GATHER_FLUSH,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "tlb_flush_mmu",
		.aliases = {"k:tfl"},
		.without = "flushes in the middle of a large unmap",
		.fields = {F(MM, "mm", .fetch = "tlb->mm:x64", .fetch_6_1 = "+0($arg1):x64"),
			   F(START, "start", .fetch = "tlb->start:x64",
			     .fetch_6_1 = "+0x10($arg1):x64"),
			   F(END, "end", .fetch = "tlb->end:x64", .fetch_6_1 = "+0x18($arg1):x64"),
			   F(BITS, "bits", .fetch = "bits(tlb->fullmm):x32",
			     .fetch_6_1 = "+0x20($arg1):x32"),
			   F(FULLMM, "fullmm"), F(FREED, "freed")},
	},
	{
		.role = ROLE_COPY_RANGE,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "copy_page_range",
		.aliases = {"k:cpr"},
		.profiles = PROFILE_ALL,
		.without = "which ranges a fork write-protected",
		.fields = {F(MM, "dmm", .fetch = "dst_vma->vm_mm:x64",
			     .fetch_6_1 = "+0x10($arg1):x64"),
			   F(MM2, "smm", .fetch = "src_vma->vm_mm:x64",
			     .fetch_6_1 = "+0x10($arg2):x64"),
			   F(START, "start", .fetch = "src_vma->vm_start:x64",
			     .fetch_6_1 = "+0($arg2):x64"),
			   F(END, "end", .fetch = "src_vma->vm_end:x64",
			     .fetch_6_1 = "+8($arg2):x64")},
	},
	{
		.role = ROLE_PROTECT,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "change_protection",
		.aliases = {"k:chp"},
		.profiles = PROFILE_ALL,
		.without = "mprotect and NUMA hinting",
		.fields = {F(MM, "mm", .fetch = "vma->vm_mm:x64", .fetch_6_1 = "+0x10($arg2):x64"),
			   F(START, "start", .fetch = "start:x64", .fetch_6_1 = "$arg3:x64"),
			   F(END, "end", .fetch = "end:x64", .fetch_6_1 = "$arg4:x64"),
			   {SLOT_CPFLAGS,
			    {"cpflags", "cp"},
			    .fetch = "cp_flags:x64",
			    .fetch_6_1 = "$arg5:x64"}},
	},
	{
		.role = ROLE_EXIT_MMAP,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "exit_mmap",
		.aliases = {"k:xmm"},
		.profiles = PROFILE_ALL,
		.without = "the end of address spaces: an mm reused at the same address looks like "
			   "the old",
		.fields = {F(MM, "mm", .fetch = "mm:x64", .fetch_6_1 = "$arg1:x64")},
	},
	{
		.role = ROLE_BEGIN_EXEC,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "begin_new_exec",
		.aliases = {"k:bne"},
		.without = "nothing where sched_process_exec is recorded",
	},
	{
		.role = ROLE_FLUSH_RANGE,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_X86,
		.system = CATALOGUE_GROUP,
		.name = "flush_tlb_mm_range",
		.timed = true,
		.aliases = {"k:ftmr"},
		.profiles = PROFILE_ALL,
		.without = "what x86 flushed, by address",
		.fields = {F(MM, "mm", .fetch = "mm:x64", .fetch_6_1 = "$arg1:x64"),
			   F(START, "start", .fetch = "start:x64", .fetch_6_1 = "$arg2:x64"),
			   F(END, "end", .fetch = "end:x64", .fetch_6_1 = "$arg3:x64"),
			   F(SHIFT, "shift", .fetch = "stride_shift:u32",
			     .fetch_6_1 = "$arg4:u32")},
	},

	/*
	 * Invalidations that the kernel reports itself. On arm64 this one exists and never fires.
	 */
	{
		.role = ROLE_TLB_FLUSH,
		.arch = ARCH_X86,
		.system = "tlb",
		.name = "tlb_flush",
		.profiles = PROFILE_ALL,
		.without = "what x86 flushed",
		.fields = {F(REASON, "reason"), F(PAGES, "pages")},
	},

	/* Reclaim and swap: what the model of dirty pages feeds on (replay/dirty.h). */
	{
		.role = ROLE_UNMAP_ONE,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "try_to_unmap_one",
		.aliases = {"k:ttu_r"},
		.return_alone = true,
		.sleeps = true,
		.without = "pages that reclaim unmapped",
		.fields = {F(MM, "mm", .fetch = "vma->vm_mm:x64", .fetch_6_1 = "+0x10($arg2):x64"),
			   F(ADDR, "addr", .fetch = "address:x64", .fetch_6_1 = "$arg3:x64"),
			   F(FOLIO, "folio", .optional = true, .fetch = "folio:x64",
			     .fetch_6_1 = "$arg1:x64"),
			   F(MAPPING, "mapping", .optional = true, .fetch = "folio->mapping:x64",
			     .fetch_6_1 = "+0x18($arg1):x64"),
			   F(RET, "ret", .at_return = true, .fetch = "$retval:u8",
			     .fetch_6_1 = "$retval:u8")},
	},
	{
		/*
		 * Called where nothing was put off, too. try_to_unmap_flush_dirty() may have it inlined;
		 * then a batch that ends there seems to last until the next end.
		 */
		.role = ROLE_BATCH_FLUSH,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "try_to_unmap_flush",
		.without = "when the flushes that reclaim and migration put off are complete",
	},
	{
		.role = ROLE_AGE_ONE,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "folio_referenced_one",
		.aliases = {"k:fro"},
		.profiles = PROFILE_SWAP,
		.without = "access flags that reclaim may have cleared",
		.fields = {F(MM, "mm", .fetch = "vma->vm_mm:x64", .fetch_6_1 = "+0x10($arg2):x64"),
			   F(ADDR, "addr", .fetch = "address:x64", .fetch_6_1 = "$arg3:x64")},
	},
	{
		.role = ROLE_SWAP_IN,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "do_swap_page",
		.aliases = {"k:dsp_r"},
		.profiles = PROFILE_SWAP,
		.return_alone = true,
		.sleeps = true,
		.without = "the PTE that a swap-in makes: which pages count as written that nobody "
			   "wrote",
		.fields = {F(MM, "mm", .fetch = "vmf->vma->vm_mm:x64",
			     .fetch_6_1 = "+0x10(+0($arg1)):x64"),
			   F(ADDR, "addr", .fetch = "vmf->address:x64",
			     .fetch_6_1 = "+24($arg1):x64"),
			   F(PTE, "opte", .fetch = "vmf->orig_pte.pte:x64",
			     .fetch_6_1 = "+64($arg1):x64"),
			   F(RET, "ret", .at_return = true, .fetch = "$retval:x32",
			     .fetch_6_1 = "$retval:x32")},
	},
	{
		.role = ROLE_SWAP_WRITE,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "swap_writepage",
		.functions = {"swap_writeout"},
		.aliases = {"k:swpg"},
		.profiles = PROFILE_SWAP,
		.without = "which pages were written to swap",
		/* struct page *, later struct folio *: the same address, under different names. */
		.fields = {{SLOT_FOLIO,
			    {"folio", "page"},
			    .optional = true,
			    .fetch = "$arg1:x64",
			    .fetch_6_1 = "$arg1:x64"}},
	},
	{
		.role = ROLE_SWAP_ADD,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "add_to_swap",
		.functions = {"folio_alloc_swap"},
		.profiles = PROFILE_SWAP,
		.without = "which pages had lost their copy in swap and are written, dirty or not",
		.fields = {F(FOLIO, "folio", .fetch = "$arg1:x64", .fetch_6_1 = "$arg1:x64")},
	},
	{
		.role = ROLE_SWAP_FREE,
		.source = SOURCE_FUNCTION,
		.arch = ARCH_ANY,
		.system = CATALOGUE_GROUP,
		.name = "folio_free_swap",
		.functions = {"try_to_free_swap"},
		.aliases = {"k:ffs"},
		.profiles = PROFILE_SWAP,
		.return_alone = true,
		.without = "nothing where add_to_swap is recorded",
		.fields = {F(FOLIO, "folio", .optional = true, .fetch = "$arg1:x64",
			     .fetch_6_1 = "$arg1:x64"),
			   F(RET, "ret", .at_return = true, .fetch = "$retval:u8",
			     .fetch_6_1 = "$retval:u8")},
	},
	{
		.role = ROLE_WRITE_FOLIO,
		.arch = ARCH_ANY,
		.system = "vmscan",
		.name = "mm_vmscan_write_folio",
		.profiles = PROFILE_SWAP,
		.without = "nothing where swap_writepage is recorded",
		.fields = {F(FLAGS, "reclaim_flags")},
	},
	{.role = ROLE_SKIP},
};

/* Compares "SYSTEM:NAME" with an alias. */
static bool alias_matches(const char *alias, const char *system, const char *name)
{
	size_t n = strlen(system);

	return !strncmp(alias, system, n) && alias[n] == ':' && !strcmp(alias + n + 1, name);
}

const struct catalogue_row *catalogue_find(const char *system, const char *name)
{
	bool ours = !strcmp(system, CATALOGUE_GROUP);
	size_t length = strlen(name);
	char base[64];

	if (length >= sizeof(base))
		return NULL;
	memcpy(base, name, length + 1);
	if (ours && length > 4 && !strcmp(base + length - 4, "_ret"))
		base[length - 4] = '\0';
	for (const struct catalogue_row *row = catalogue; row->role != ROLE_SKIP; row++) {
		if (!strcmp(row->system, system) && !strcmp(row->name, ours ? base : name))
			return row;
		for (size_t i = 0; i < 4 && row->aliases[i]; i++)
			if (alias_matches(row->aliases[i], system, name))
				return row;
	}
	return NULL;
}

bool tlbi_is_group(const char *system)
{
	return !strcmp(system, CATALOGUE_GROUP_TLBI) || !strcmp(system, "tlbi");
}

static const struct {
	const char *stem;
	enum tlbi_kind kind;
	bool last_level;
} tlbi_stems[] = {
	{"vmalle1", TLBI_VMALL, false}, {"aside1", TLBI_ASID, false}, {"vae1", TLBI_VA, false},
	{"vale1", TLBI_VA, true},       {"vaae1", TLBI_VAA, false},   {"vaale1", TLBI_VAA, true},
	{"rvae1", TLBI_RVA, false},     {"rvale1", TLBI_RVA, true},   {"rvaae1", TLBI_RVAA, false},
	{"rvaale1", TLBI_RVAA, true},
};

static bool tlbi_parse_op(const char *text, size_t size, struct tlbi_op *op)
{
	for (size_t i = 0; i < sizeof(tlbi_stems) / sizeof(*tlbi_stems); i++) {
		size_t stem = strlen(tlbi_stems[i].stem);

		if (size < stem || strncmp(text, tlbi_stems[i].stem, stem))
			continue;
		bool shared = size == stem + 2 && text[stem + 1] == 's' &&
			      (text[stem] == 'i' || text[stem] == 'o');
		if (size != stem && !shared)
			continue;
		*op = (struct tlbi_op){.kind = tlbi_stems[i].kind,
				       .broadcast = shared,
				       .last_level = tlbi_stems[i].last_level};
		memcpy(op->name, text, size);
		return true;
	}
	return false;
}

bool tlbi_parse_name(const char *name, char *function, size_t function_size, struct tlbi_op *op)
{
	const char *end = name + strlen(name);

	/* The number at the end, then the operation, then one or two underscores before it. */
	while (end > name && end[-1] >= '0' && end[-1] <= '9')
		end--;
	while (end > name && end[-1] == '_')
		end--;
	const char *start = end;
	while (start > name && start[-1] != '_')
		start--;
	if (!tlbi_parse_op(start, (size_t)(end - start), op))
		return false;
	if (start > name)
		start--;
	if (start > name + 1 && start[-1] == '_' && strstr(name, "__") &&
	    name[strlen(name) - 1] != '_' && end[0] == '_' && end[1] == '_')
		start--;
	size_t n = (size_t)(start - name);
	if (n >= function_size)
		n = function_size - 1;
	memcpy(function, name, n);
	function[n] = '\0';
	return true;
}

void tlbi_decode(const struct tlbi_op *op, uint64_t operand, unsigned int page_shift,
		 struct tlbi_reach *reach)
{
	static const unsigned int granule_shift[] = {0, 12, 14, 16};
	unsigned int tg = operand >> 46 & 3;

	*reach = (struct tlbi_reach){0};
	switch (op->kind) {
	case TLBI_VMALL:
		return;
	case TLBI_ASID:
		reach->asid = (uint16_t)(operand >> 48);
		return;
	case TLBI_VA:
	case TLBI_VAA:
		if (op->kind == TLBI_VA)
			reach->asid = (uint16_t)(operand >> 48);
		reach->va = (uint64_t)((int64_t)(operand << 20) >> 8);
		reach->pages = 1;
		return;
	case TLBI_RVA:
	case TLBI_RVAA:
		if (op->kind == TLBI_RVA)
			reach->asid = (uint16_t)(operand >> 48);
		if (granule_shift[tg])
			page_shift = granule_shift[tg];
		reach->va = (uint64_t)((int64_t)(operand << 27) >> 27) << page_shift;
		reach->pages = ((operand >> 39 & 31) + 1) << (5 * (operand >> 44 & 3) + 1);
		return;
	}
}

static const struct {
	const char *prefix; /* of the function's name; recordings may cut names to 28 characters */
	enum tlbi_context context;
	enum point point;
	enum level level;
} tlbi_sites[] = {
	{"__ptep_set_access_flags", TLBI_SITE_UPGRADE, POINT_WP_REUSE, LEVEL_PTE},
	{"ptep_set_access_flags", TLBI_SITE_UPGRADE, POINT_WP_REUSE, LEVEL_PTE},
	{"contpte_ptep_set_access_flag", TLBI_SITE_UPGRADE, POINT_WP_REUSE, LEVEL_CONTPTE},
	{"__handle_mm_fault", TLBI_SITE_PLAIN, POINT_SPURIOUS, LEVEL_PTE},
	{"handle_pte_fault", TLBI_SITE_PLAIN, POINT_SPURIOUS, LEVEL_PTE},
	{"huge_pmd_set_accessed", TLBI_SITE_PLAIN, POINT_SPURIOUS, LEVEL_PMD},
	{"ptep_clear_flush", TLBI_SITE_CLEAR_FLUSH, POINT_COW, LEVEL_PTE},
	{"tlb_flush", TLBI_SITE_GATHER, NR_POINTS, LEVEL_PTE},
	{"tlb_finish_mmu", TLBI_SITE_GATHER, NR_POINTS, LEVEL_PTE},
	{"change_protection", TLBI_SITE_GATHER, POINT_PROTECT, LEVEL_PTE},
	{"copy_mm", TLBI_SITE_PLAIN, POINT_FORK, LEVEL_MM},
	{"dup_mm", TLBI_SITE_PLAIN, POINT_FORK, LEVEL_MM},
	{"copy_process", TLBI_SITE_PLAIN, POINT_FORK, LEVEL_MM},
	{"__flush_tlb_range", TLBI_SITE_RANGE, NR_POINTS, LEVEL_PTE},
	{"move_page_tables", TLBI_SITE_PLAIN, POINT_MREMAP, LEVEL_PTE},
	{"move_huge_pmd", TLBI_SITE_PLAIN, POINT_MREMAP, LEVEL_PMD},
	{"folio_referenced_one", TLBI_SITE_PLAIN, POINT_AGE, LEVEL_PTE},
	{"set_tlb_ubc_flush_pending", TLBI_SITE_PLAIN, POINT_RECLAIM, LEVEL_PTE},
	{"try_to_unmap_one", TLBI_SITE_PLAIN, POINT_RECLAIM, LEVEL_PTE},
	{"try_to_migrate_one", TLBI_SITE_PLAIN, POINT_MIGRATE, LEVEL_PTE},
	{"flush_tlb_batched_pending", TLBI_SITE_PLAIN, POINT_BATCH_PENDING, LEVEL_MM},
	{"collapse_pte_mapped_thp", TLBI_SITE_PLAIN, POINT_COLLAPSE, LEVEL_PMD},
	{"check_and_switch_context", TLBI_SITE_PLAIN, POINT_SWITCH, LEVEL_ALL},
};

enum point tlbi_site_point(const char *function, const struct tlbi_op *op,
			   enum tlbi_context *context, enum level *level)
{
	for (size_t i = 0; i < sizeof(tlbi_sites) / sizeof(*tlbi_sites); i++) {
		if (strncmp(function, tlbi_sites[i].prefix, strlen(tlbi_sites[i].prefix)))
			continue;
		*context = tlbi_sites[i].context;
		*level = tlbi_sites[i].level;
		return tlbi_sites[i].point;
	}
	*context = TLBI_SITE_UNKNOWN;
	*level = LEVEL_PTE;
	/* Only the kernel's own mappings are flushed by address for every ASID. */
	if (op->kind == TLBI_VAA || op->kind == TLBI_RVAA) {
		*context = TLBI_SITE_PLAIN;
		*level = LEVEL_ALL;
		return POINT_KERNEL;
	}
	return NR_POINTS;
}

static const struct {
	unsigned int profile;
	const char *name;
} profiles[] = {{PROFILE_MINIMAL, "minimal"},
		{PROFILE_FULL, "full"},
		{PROFILE_SWAP, "swap"},
		{PROFILE_LATENCY, "latency"}};

enum { NR_PROFILES = sizeof(profiles) / sizeof(*profiles) };

const char *profile_name(unsigned int profile)
{
	for (unsigned int i = 0; i < NR_PROFILES; i++)
		if (profiles[i].profile == profile)
			return profiles[i].name;
	return NULL;
}

unsigned int profile_find(const char *name)
{
	for (unsigned int i = 0; i < NR_PROFILES; i++)
		if (!strcmp(profiles[i].name, name))
			return profiles[i].profile;
	return 0;
}

/* OWN: of who asks for the flush, not of who is asked or of a switch. */
static const struct {
	const char *name;
	enum scope scope;
	bool own;
} flush_reasons[] = {
	{"flush on task switch", SCOPE_LOCAL, false},
	{"remote shootdown", SCOPE_MASK, false},
	{"local shootdown", SCOPE_LOCAL, true},
	{"local mm shootdown", SCOPE_LOCAL, true},
	{"remote ipi send", SCOPE_MASK, true},
	{"remote wrong CPU", SCOPE_MASK, false},
};

const char *tlb_flush_reason_name(uint64_t reason)
{
	return reason < sizeof(flush_reasons) / sizeof(*flush_reasons) ? flush_reasons[reason].name
								       : NULL;
}

enum scope tlb_flush_reason_scope(uint64_t reason)
{
	return reason < sizeof(flush_reasons) / sizeof(*flush_reasons) ? flush_reasons[reason].scope
								       : SCOPE_NONE;
}

bool tlb_flush_reason_own(uint64_t reason)
{
	return reason < sizeof(flush_reasons) / sizeof(*flush_reasons) && flush_reasons[reason].own;
}
