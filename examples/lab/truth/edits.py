#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""edits.py SOURCE released|local|old-mkwrite     change a Linux 6.12 source tree
edits.py SOURCE emulator                       change a QEMU 7.2 source tree

The small changes that make one kernel behave like another, and an emulator's TLB like hardware's.
They are made by looking for a function by its name and a place within it, and each insists on
finding that place exactly once: on another version of the source they fail, and do not guess.
What was changed is first put back as it was released, so a tree can go from one kind to another,
and only the files that differ are compiled again. None of the headers that all files see is touched.

local         broadcast TLBI -> local TLBI where a fault made a page writable or dirty
              (__ptep_set_access_flags, contpte_ptep_set_access_flags); a CPU that meets a stale
              read-only entry then takes a spurious fault, which flushes locally, also for a huge
              page. The behaviour of "arm64, tlbflush: don't TLBI broadcast if page reused in write
              fault" and "mm: add spurious fault fixing support for huge pmd" (Linux 6.19).
old-mkwrite   a writable page that is made by a swap-in is dirty at once: pte_mkwrite() before "arm64:
              mm: Don't make PTEs dirty in pte_mkwrite()".
emulator      a store that meets a read-only TLB entry raises the permission fault without another
              walk of the page table, unless the entry says that hardware may make it dirty; the TLB
              has 2^TRUTH_TLB_BITS entries for good, direct-mapped, without a victim buffer. At the end
              each CPU's count of the faults that a walk would not have raised goes to stderr.
"""
import os
import re
import shutil
import sys

KEPT = ".released"  # beside each changed file


def fail(message):
    sys.exit(f"edits.py: {message}")


class Source:
    """One file, changed in place; .released beside it holds it as it was."""

    def __init__(self, tree, path):
        self.path = os.path.join(tree, path)
        kept = self.path + KEPT
        if not os.path.exists(kept):
            if not os.path.exists(self.path):
                fail(f"{self.path}: no such file: another version of the source?")
            shutil.copy2(self.path, kept)
        with open(kept, encoding="utf-8") as file:
            self.text = file.read()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(self.text)

    def body(self, function):
        """First and last character of a function's definition, from its name to its closing brace."""
        found = [m.start() for m in re.finditer(rf"^\w[^\n;{{}}#/(]*\b{function}\([^;{{}}]*\)\n\{{$",
                                                self.text, re.M)]
        if len(found) != 1:
            fail(f"{self.path}: {len(found)} functions {function}")
        return found[0], self.text.index("\n}\n", found[0]) + 3

    def change(self, pattern, new, function=None):
        """Replaces what PATTERN matches, in FUNCTION only if one is given."""
        begin, end = self.body(function) if function else (0, len(self.text))
        matches = list(re.finditer(pattern, self.text[begin:end], re.M))
        where = f" in {function}" if function else ""
        if len(matches) != 1:
            fail(f"{self.path}: {len(matches)} places{where} match {pattern!r}")
        match = matches[0]
        self.text = (self.text[:begin + match.start()] + match.expand(new) +
                     self.text[begin + match.end():])

    def after_includes(self, new):
        """Puts text behind the file's leading includes."""
        first = self.text.index("\n{\n")
        at = [m.end() for m in re.finditer(r'^#include [<"].*\n', self.text[:first], re.M)][-1]
        self.text = self.text[:at] + new + self.text[at:]


def put_back(tree):
    for folder, _, names in os.walk(tree):
        for name in names:
            if name.endswith(KEPT):
                released, path = os.path.join(folder, name), os.path.join(folder, name[:-len(KEPT)])
                with open(released, "rb") as old, open(path, "rb") as now:
                    same = old.read() == now.read()
                if not same:  # a new date, so that it is compiled again
                    shutil.copyfile(released, path)


# One page's (or one contiguous block's) entries on this CPU: the barriers and TLBI of the broadcast
# kind without "inner shareable".
LOCAL_PAGE = """
static inline void truth_flush_page(struct vm_area_struct *vma, unsigned long address)
{
	unsigned long operand = __TLBI_VADDR(address, ASID(vma->vm_mm));

	dsb(nshst);
	__tlbi(vale1, operand);
	__tlbi_user(vale1, operand);
	dsb(nsh);
}
"""
LOCAL_BLOCK = """
static inline void truth_flush_block(struct vm_area_struct *vma, unsigned long start)
{
	dsb(nshst);
	__flush_tlb_range_op(vale1, start, CONT_PTES, PAGE_SIZE, ASID(vma->vm_mm), 3, true,
			     lpa2_is_enabled());
	dsb(nsh);
}
"""
SPURIOUS = LOCAL_PAGE + """
#undef flush_tlb_fix_spurious_fault
#define flush_tlb_fix_spurious_fault(vma, address, ptep) truth_flush_page(vma, address)
"""
SPURIOUS_HUGE = """
	{
		pmd_t accessed = pmd_mkyoung(*vmf->pmd);

		if (write)
			accessed = pmd_mkdirty(accessed);
		if (pmdp_set_access_flags(vmf->vma, vmf->address & HPAGE_PMD_MASK, vmf->pmd,
					  accessed, write))
			update_mmu_cache_pmd(vmf->vma, vmf->address, vmf->pmd);
		else if (write && !(vmf->flags & FAULT_FLAG_TRIED))
			truth_flush_page(vmf->vma, vmf->address);
	}
"""
OLD_MKWRITE = """
static inline pte_t truth_mkwrite(pte_t pte)
{
	pte = set_pte_bit(pte, __pgprot(PTE_WRITE));
	return clear_pte_bit(pte, __pgprot(PTE_RDONLY));
}
#undef pte_mkwrite
#define pte_mkwrite(pte, vma) truth_mkwrite(pte)
"""


def check_released(tree):
    """The kernel as released must be the one that broadcasts and does not make pages dirty."""
    path = os.path.join(tree, "arch/arm64/include/asm/pgtable.h")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not re.search(r"pte_mkwrite_novma\(pte_t pte\)\n\{[^}]*if \(pte_sw_dirty\(pte\)\)", text):
        fail(f"{path}: pte_mkwrite_novma() makes pages dirty: too old a kernel")
    if not re.search(r"define flush_tlb_fix_spurious_fault\(.*\) do \{ \} while \(0\)", text):
        fail(f"{path}: spurious faults are flushed already: too new a kernel")


def make_local(tree):
    with Source(tree, "arch/arm64/mm/fault.c") as file:
        file.after_includes(LOCAL_PAGE)
        file.change(r"\bflush_tlb_page\(vma, address\);", "truth_flush_page(vma, address);",
                    "__ptep_set_access_flags")
    with Source(tree, "arch/arm64/mm/contpte.c") as file:
        file.after_includes(LOCAL_BLOCK)
        file.change(r"__flush_tlb_range\(vma, start_addr, addr,\s*PAGE_SIZE, true, 3\);",
                    "truth_flush_block(vma, start_addr);", "contpte_ptep_set_access_flags")
    with Source(tree, "mm/memory.c") as file:
        file.after_includes(SPURIOUS)
    with Source(tree, "mm/huge_memory.c") as file:
        file.after_includes(LOCAL_PAGE)
        file.change(r"\n\ttouch_pmd\(vmf->vma, vmf->address, vmf->pmd, write\);\n", SPURIOUS_HUGE,
                    "huge_pmd_set_accessed")


def make_old_mkwrite(tree):
    with Source(tree, "mm/memory.c") as file:
        file.after_includes(OLD_MKWRITE)


TLB_BITS = """
/* log2 of the number of entries that the TLB has for good; 0: it grows and shrinks. */
static int truth_tlb_bits(void)
{
    static int bits = -1;

    if (unlikely(bits < 0)) {
        const char *text = getenv("TRUTH_TLB_BITS");

        bits = text ? atoi(text) : 0;
    }
    return bits;
}
"""
STALE_FAULT = """
static unsigned long truth_faults[64], truth_walks[64];

static void truth_report(void)
{
    for (int i = 0; i < 64; i++) {
        if (truth_faults[i] || truth_walks[i]) {
            fprintf(stderr, "emulator: cpu %d: stale %lu, read-only %lu\\\\n", i,
                    truth_faults[i], truth_walks[i]);
        }
    }
}

/*
 * True if a user's store meets an entry that allows reads only and that hardware may not make
 * dirty by itself. WALKED: what a walk of the page table said now, as get_phys_addr().
 */
static bool truth_stale(CPUState *cs, vaddr address, MMUAccessType access_type, int mmu_idx,
                        bool probe, int walked)
{
    static int on = -1;
    CPUARMState *env = &ARM_CPU(cs)->env;
    CPUTLBEntry *entry = tlb_entry(env, mmu_idx, address);
    CPUTLBEntryFull *full =
        &env_tlb(env)->d[mmu_idx].fulltlb[tlb_index(env, mmu_idx, address)];

    if (unlikely(on < 0)) {
        on = getenv("TRUTH_TLB_BITS") != NULL;
        if (on) {
            atexit(truth_report);
        }
    }
    if (!on || probe || access_type != MMU_DATA_STORE ||
        core_to_arm_mmu_idx(env, mmu_idx) != ARMMMUIdx_E10_0 ||
        !tlb_hit(entry->addr_read, address) || tlb_hit(tlb_addr_write(entry), address) ||
        (full->prot & PAGE_WRITE) || full->hardware_dirty) {
        return false;
    }
    (walked ? truth_walks : truth_faults)[cs->cpu_index & 63]++;
    return !walked;
}
"""
STALE_USE = r"""\g<0>
    if (truth_stale(cs, address, access_type, mmu_idx, probe, ret)) {
        memset(fi, 0, sizeof(*fi));
        fi->type = ARMFault_Permission;
        fi->level = 3;
        ret = 1;
    }"""


def make_emulator(tree):
    with Source(tree, "accel/tcg/cputlb.c") as file:
        file.after_includes(TLB_BITS)
        file.change(r"(int64_t window_len_ns = .*;\n.*window_expired = .*;\n)",
                    r"\1\n    if (truth_tlb_bits()) {\n        return;\n    }\n",
                    "tlb_mmu_resize_locked")
        file.change(r"1 << CPU_TLB_DYN_DEFAULT_BITS",
                    r"1 << (truth_tlb_bits() ? truth_tlb_bits() : CPU_TLB_DYN_DEFAULT_BITS)",
                    "tlb_mmu_init")
        file.change(r"assert_cpu_is_self\(env_cpu\(env\)\);\n",
                    r"\g<0>    if (truth_tlb_bits()) {\n        return false;\n    }\n",
                    "victim_tlb_hit")
    with Source(tree, "target/arm/cpu-param.h") as file:
        file.change(r"bool guarded;", r"bool guarded;                 \\\n    bool hardware_dirty;")
    with Source(tree, "target/arm/ptw.c") as file:
        file.change(r"\n        if \(param\.hd\n", "\n        result->f.hardware_dirty = param.hd && "
                    r"extract64(descriptor, 51, 1); /* DBM */\g<0>", "get_phys_addr_lpae")
    with Source(tree, "target/arm/tlb_helper.c") as file:
        file.change(r'#include "exec/helper-proto.h"\n', r'\g<0>#include "exec/cpu_ldst.h"\n')
        file.change(r"\nbool arm_cpu_tlb_fill\(", STALE_FAULT + r"\g<0>")
        file.change(r"ret = get_phys_addr\([^;]*;", STALE_USE, "arm_cpu_tlb_fill")


def main(tree, what):
    put_back(tree)
    if what == "emulator":
        make_emulator(tree)
        return
    check_released(tree)
    {"released": lambda _: None, "local": make_local, "old-mkwrite": make_old_mkwrite}[what](tree)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("released", "local", "old-mkwrite", "emulator"):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
