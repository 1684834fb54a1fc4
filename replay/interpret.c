// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A small machine per task follows the kernel through a fault:
 *
 *	handle_mm_fault ----> do_wp_page ----> ptep_set_access_flags (ret 1)     wp_reuse
 *	       |                   \---------> ptep_clear_flush                  cow
 *	       |----------------------------> ptep_set_access_flags (ret 1)      dirty_up
 *	       |----------------------------> ptep_set_access_flags (ret 0)      spurious
 *	       \--> return: the page is there
 *
 * and through fork (copy_page_range per vma, then the flush), mprotect (change_protection, flush,
 * tlb_finish_mmu) and the end of an mm (tlb_finish_mmu with fullmm). A TLBI is placed at the point
 * that its task is at; the function that holds it says which kind of point that can be.
 *
 * One machine per CPU follows which mm is loaded. A TLBI or an mm switch between sched_switch and
 * the moment the next task runs is still stamped with the task that leaves.
 */
#include "replay/interpret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/identity.h"
#include "schema/hostfacts.h"
#include "schema/snapshot.h"

/* include/linux/mm_types.h, enum fault_flag and vm_fault_reason; sched.h, clone flags. */
enum {
	FAULT_WRITE = 0x1, FAULT_TRIED = 0x20, FAULT_REMOTE = 0x80,
	RET_ERRORS = 0x1 | 0x2 | 0x10 | 0x20 | 0x40, RET_RETRY = 0x400,
	CLONE_SHARES_VM = 0x100,
	CP_TRY_WRITABLE = 0x1, CP_NUMA = 0x2,
	X86_PRESENT = 1, X86_WRITE = 2,
	/* struct mmu_gather, the bit fields in one word */
	GATHER_FULLMM = 1 << 0, GATHER_FREED = 1 << 2, GATHER_CLEARED = 0xf8,
};

/* arch/arm64/include/asm/pgtable-prot.h and -hwdef.h; arch/x86/include/asm/pgtable_types.h */
#define PTE_PRESENT    UINT64_C(1) /* both */
#define ARM64_RDONLY   (UINT64_C(1) << 7)
#define ARM64_WRITABLE (UINT64_C(1) << 51) /* PTE_WRITE, DBM to the hardware */
#define ARM64_SW_DIRTY (UINT64_C(1) << 55)
#define X86_PTE_RW     (UINT64_C(1) << 1)
#define X86_PTE_DIRTY  (UINT64_C(1) << 6)
#define MAPPING_ANON   UINT64_C(1)        /* include/linux/page-flags.h, PAGE_MAPPING_ANON */
#define WRITE_ANON     UINT64_C(1)        /* include/trace/events/vmscan.h, RECLAIM_WB_ANON */

struct cpu {
	struct task *current;
	uint32_t loaded;  /* mm; 0: unknown */
	bool lazy;        /* runs the idle task or a kernel thread over it */
	bool unsure;      /* events were lost: which mm it has loaded is not known */
	/* sched_switch was seen; what follows is still stamped with the old task */
	bool switching;
};

struct interpreter {
	struct trace *trace;
	struct decoder *decoder;
	struct interpret_sink sink;
	struct interpret_counts counts;
	struct identity id;
	struct cpu *cpus;
	unsigned int nr_cpus;
	unsigned int arch;
	unsigned int page_shift;
	uint64_t page_mask;
	bool has_fault, has_fault_return, has_wp, has_huge_wp, has_set_flags, has_gather,
		has_exit_mmap, has_newtask;
	bool has_flush_range;
	bool has_swap;       /* do_swap_page and try_to_unmap_one: dirty pages can be followed */
	bool has_swap_write; /* swap_writepage */
	bool unsure; /* what is decided now may not have been, for events were lost */
	bool failed; /* out of memory */
};

static unsigned int log2_of(unsigned int x)
{
	unsigned int n = 0;

	while (x > 1) {
		x >>= 1;
		n++;
	}
	return n;
}

struct interpreter *interpreter_new(struct trace *t, struct decoder *d, unsigned int arch,
				    const struct interpret_sink *sink)
{
	struct interpreter *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->trace = t;
	in->decoder = d;
	in->sink = *sink;
	in->arch = arch;
	in->nr_cpus = decoder_nr_cpus(d);
	in->cpus = calloc(in->nr_cpus + 1, sizeof(*in->cpus));
	if (!in->cpus) {
		free(in);
		return NULL;
	}
	in->page_shift = log2_of(trace_info(t)->page_size);
	in->page_mask = ~((UINT64_C(1) << in->page_shift) - 1);
	in->has_fault = decoder_has(d, ROLE_FAULT, -1);
	in->has_fault_return = decoder_has(d, ROLE_FAULT, 1);
	in->has_wp = decoder_has(d, ROLE_WP, -1);
	in->has_huge_wp = decoder_has(d, ROLE_HUGE_WP, -1);
	in->has_set_flags = decoder_has(d, ROLE_SET_FLAGS, 1);
	in->has_gather = decoder_has(d, ROLE_GATHER_FINISH, -1);
	in->has_exit_mmap = decoder_has(d, ROLE_EXIT_MMAP, -1);
	in->has_newtask = decoder_has(d, ROLE_NEWTASK, -1);
	in->has_flush_range = decoder_has(d, ROLE_FLUSH_RANGE, -1);
	in->has_swap_write = decoder_has(d, ROLE_SWAP_WRITE, 0);
	in->has_swap = interpret_sees_swap(in);
	return in;
}

void interpreter_free(struct interpreter *in)
{
	if (!in)
		return;
	identity_free(&in->id);
	free(in->cpus);
	free(in);
}

/* ---- making events ---- */

static const struct event_sureness sure = {1, 1, 1};

static void emit(struct interpreter *in, struct tlb_event *e)
{
	in->sink.event(in->sink.context, e);
}

static void decide(struct interpreter *in, const struct raw_event *raw, enum point point,
		   enum level level, uint32_t mm, uint64_t addr, uint64_t pages, unsigned int flags)
{
	struct mm *m = mm_get(&in->id, mm);

	if (m)
		m->id.last_ns = raw->time_ns;
	emit(in, &(struct tlb_event){
			 .time_ns = raw->time_ns, .began_ns = raw->time_ns, .addr = addr,
			 .pages = pages, .mm = mm, .tid = (uint32_t)raw->pid, .cpu = raw->cpu,
			 .users = m ? m->users : 0,
			 .kind = EVENT_DECISION, .point = (uint8_t)point, .level = (uint8_t)level,
			 .flags = (uint8_t)flags, .sure = {!in->unsure, 1, 1}});
}

static uint64_t page_of(const struct interpreter *in, uint64_t addr)
{
	return addr & in->page_mask;
}

static uint64_t pages_in(const struct interpreter *in, uint64_t start, uint64_t end)
{
	return end > start ? (end - start + ~in->page_mask) >> in->page_shift : 0;
}

/* ---- who runs where ---- */

/* MM is loaded on CPU for a task of its own. */
static void load(struct interpreter *in, const struct raw_event *raw, unsigned int number,
		 uint32_t mm)
{
	struct cpu *cpu = &in->cpus[number];
	struct tlb_event e = {.time_ns = raw->time_ns, .mm = mm, .tid = (uint32_t)raw->pid,
			      .cpu = number, .sure = sure};

	if (cpu->loaded != mm || cpu->lazy) {
		e.kind = EVENT_DECISION;
		e.point = POINT_SWITCH;
		e.level = LEVEL_MM;
		e.sure.low = !cpu->unsure;
		emit(in, &e);
		e.sure.low = 1;
	}
	cpu->unsure = false;
	cpu->loaded = mm;
	cpu->lazy = false;
	e.kind = EVENT_LOAD;
	e.point = 0;
	emit(in, &e);
}

static void go_lazy(struct interpreter *in, const struct raw_event *raw, unsigned int number)
{
	struct cpu *cpu = &in->cpus[number];

	if (cpu->lazy)
		return;
	cpu->lazy = true;
	emit(in, &(struct tlb_event){.time_ns = raw->time_ns, .mm = cpu->loaded, .cpu = number,
				     .tid = (uint32_t)raw->pid, .kind = EVENT_IDLE, .sure = sure});
}

static void run_task(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	struct cpu *cpu = &in->cpus[raw->cpu];

	cpu->current = task;
	task->cpu = raw->cpu;
	if (task->mm)
		load(in, raw, raw->cpu, task->mm);
	else
		go_lazy(in, raw, raw->cpu);
}

/*
 * MM has shown itself otherwise than by being made: it is older than the recording, as far as that
 * tells. Returns it.
 */
static uint32_t found(struct interpreter *in, const struct raw_event *raw, uint32_t mm)
{
	if (mm)
		emit(in, &(struct tlb_event){.time_ns = raw->time_ns,
					     .mm = mm,
					     .cpu = raw->cpu,
					     .tid = (uint32_t)raw->pid,
					     .kind = EVENT_OLDER,
					     .sure = sure});
	return mm;
}

/* The living address space at POINTER, which TASK (NULL: who knows) uses. */
static uint32_t find_mm(struct interpreter *in, const struct raw_event *raw, uint64_t pointer,
			const struct task *task)
{
	uint32_t *at = map_get(&in->id.by_pointer, pointer);
	uint32_t mm = mm_at(&in->id, pointer, task, raw->time_ns);

	/* Where a dying one is, this is a new one. */
	return at ? mm : found(in, raw, mm);
}

/* MM turns out never to have been an address space of its own. */
static void mm_forget(struct interpreter *in, const struct raw_event *raw, uint32_t number)
{
	emit(in, &(struct tlb_event){.time_ns = raw->time_ns,
				     .mm = number,
				     .cpu = raw->cpu,
				     .tid = (uint32_t)raw->pid,
				     .kind = EVENT_MM_END,
				     .sure = sure});
	for (unsigned int i = 0; i < in->nr_cpus; i++)
		if (in->cpus[i].loaded == number)
			in->cpus[i].loaded = 0;
	mm_remove(&in->id, number);
}

/* TASK turns out to use MM; if it runs now, its CPU has it loaded. */
static void bind(struct interpreter *in, const struct raw_event *raw, struct task *task,
		 uint32_t mm)
{
	if (!mm) {
		in->failed = true;
		return;
	}
	task->kind = TASK_USER;
	if (task->mm == mm)
		return;
	struct mm *old = mm_get(&in->id, task->mm);
	task_set_mm(&in->id, task, mm);
	if (in->cpus[raw->cpu].current == task)
		load(in, raw, raw->cpu, mm);
	/* Made for an exec whose address space had been seen before under its pointer. */
	if (old && !old->users && old->id.origin == MM_DERIVED && !old->id.pointer &&
	    old->id.first_ns == old->id.last_ns)
		mm_forget(in, raw, old->id.mm);
}

/* A probe says that TASK uses the mm_struct at POINTER. */
static void bind_pointer(struct interpreter *in, const struct raw_event *raw, struct task *task,
			 uint64_t pointer)
{
	struct mm *mm = mm_get(&in->id, task->mm);
	uint32_t *at;

	if (!pointer)
		return;
	if (mm && mm->id.pointer == pointer && !mm->dying)
		return;
	at = map_get(&in->id.by_pointer, pointer);
	struct mm *known = at ? mm_get(&in->id, *at) : NULL;
	if (mm && !mm->id.pointer && (!known || known->dying)) {
		/* An address space that was derived before now shows its pointer. */
		at = map_put(&in->id.by_pointer, pointer, NULL);
		if (!at) {
			in->failed = true;
			return;
		}
		*at = mm->id.mm;
		mm->id.pointer = pointer;
		if (mm->id.origin == MM_PLACEHOLDER) {
			mm->id.origin = MM_POINTER;
			in->id.placeholders--;
		}
		return;
	}
	if (mm && mm->id.pointer) {
		/* An exec: what it installs is new. */
		task->rebound = true;
		bind(in, raw, task, mm_at(&in->id, pointer, task, raw->time_ns));
		return;
	}
	bind(in, raw, task, find_mm(in, raw, pointer, task));
}

/* The address space of TASK, made up if nothing introduced it. */
static uint32_t own_mm(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	if (!task->mm && task->kind != TASK_KERNEL)
		bind(in, raw, task,
		     found(in, raw, mm_new(&in->id, MM_PLACEHOLDER, 0, task, raw->time_ns)));
	return task->mm;
}

/* The address space at POINTER, whoever uses it; an ending one still counts. */
static uint32_t pointer_mm(struct interpreter *in, const struct raw_event *raw, uint64_t pointer)
{
	uint32_t *at = map_get(&in->id.by_pointer, pointer);

	return at ? *at : find_mm(in, raw, pointer, NULL);
}

/* The address space that RAW names, else its task's own. */
static uint32_t event_mm(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	if (HAS(raw, MM) && GET(raw, MM)) {
		const struct mm *mm = mm_get(&in->id, task->mm);

		if (mm && mm->id.pointer == GET(raw, MM) && !mm->dying)
			return task->mm;
		return pointer_mm(in, raw, GET(raw, MM));
	}
	return task->fault.active ? task->fault.mm : own_mm(in, raw, task);
}

/* Hands an address space on, under the name that its task has by now. */
static void mm_done(struct interpreter *in, struct mm *mm)
{
	const struct task *task = mm->id.tid >= 0 ? task_find(&in->id, mm->id.tid) : NULL;

	if (task && task->comm[0] && (task->mm == mm->id.mm || !mm->id.comm[0]))
		memcpy(mm->id.comm, task->comm, sizeof(mm->id.comm));
	in->sink.mm_done(in->sink.context, &mm->id);
}

static void mm_end(struct interpreter *in, const struct raw_event *raw, uint32_t number)
{
	struct mm *mm = mm_get(&in->id, number);

	if (!mm)
		return;
	emit(in, &(struct tlb_event){.time_ns = raw->time_ns,
				     .mm = number,
				     .cpu = raw->cpu,
				     .tid = (uint32_t)raw->pid,
				     .kind = EVENT_MM_END,
				     .sure = sure});
	mm->id.last_ns = raw->time_ns;
	mm_done(in, mm);
	for (unsigned int i = 0; i < in->nr_cpus; i++)
		if (in->cpus[i].loaded == number)
			in->cpus[i].loaded = 0;
	mm_remove(&in->id, number);
}

/* Nobody is known to use MM any more, and no probe will tell of its end. */
static void mm_unused(struct interpreter *in, const struct raw_event *raw, uint32_t number)
{
	struct mm *mm = mm_get(&in->id, number);

	if (!mm || mm->users || in->has_gather || in->has_exit_mmap || in->has_flush_range)
		return;
	/* The last user ends it; tables are freed in all but degenerate cases. */
	decide(in, raw, POINT_EXIT, LEVEL_MM, number, 0, 0, EVENT_TABLES);
	mm_end(in, raw, number);
}

static void copy_comm(const struct raw_event *raw, char comm[16])
{
	uint32_t at = raw->plan->fields[SLOT_COMM].at;
	size_t n = raw->size - at < 15 ? raw->size - at : 15;

	if (!HAS(raw, COMM))
		return;
	memcpy(comm, raw->data + at, n);
	comm[n] = '\0';
}

/* ---- flushes seen ---- */

static void recorded(struct interpreter *in, enum point point, enum level level)
{
	in->counts.recorded[point][level]++;
}

/* The point that only the invalidation itself shows. */
static void recorded_only(struct interpreter *in, const struct raw_event *raw, struct task *task,
			  enum point point, enum level level)
{
	struct tlbi_reach reach;

	tlbi_decode(&raw->plan->op, HAS(raw, OP) ? GET(raw, OP) : 0, in->page_shift, &reach);
	recorded(in, point, level);
	in->counts.tlbi_only[point][level]++;
	decide(in, raw, point, level, point == POINT_KERNEL ? 0 : task->mm, reach.va, reach.pages,
	       EVENT_FROM_TLBI);
}

static void tlbi_in_gather(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	if (task->protect_open) {
		if (!task->protect_flushed)
			recorded(in, POINT_PROTECT, LEVEL_PTE);
		task->protect_flushed = true;
	} else if (task->gather_point < NR_POINTS) {
		enum point point = task->gather_point;

		recorded(in, point,
			 point == POINT_EXIT           ? LEVEL_MM
			 : point == POINT_TABLES_FREED ? LEVEL_PMD
						       : LEVEL_PTE);
		task->gather_point = NR_POINTS;
	} else if (raw->plan->op.last_level) {
		recorded_only(in, raw, task, POINT_UNMAP, LEVEL_PTE);
	} else {
		recorded_only(in, raw, task, POINT_TABLES_FREED, LEVEL_PMD);
	}
}

static void on_tlbi(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	const struct decode_plan *plan = raw->plan;

	switch (plan->site_context) {
	case TLBI_SITE_UPGRADE:
		task->tlbi_upgrade |= plan->op.broadcast ? 1 : 2;
		return;
	case TLBI_SITE_CLEAR_FLUSH:
		if (task->clear_flush_open)
			recorded(in, POINT_COW, LEVEL_PTE);
		task->clear_flush_open = false;
		return;
	case TLBI_SITE_GATHER:
		tlbi_in_gather(in, raw, task);
		return;
	case TLBI_SITE_RANGE:
		/* The same helper serves folds and other callers inside a fault. */
		if (task->fault.active || plan->op.last_level)
			in->counts.unplaced_tlbi++;
		else
			recorded_only(in, raw, task, POINT_MREMAP, plan->site_level);
		return;
	case TLBI_SITE_PLAIN:
		switch (plan->site_point) {
		case POINT_FORK:
			recorded(in, POINT_FORK, LEVEL_MM);
			return;
		case POINT_SPURIOUS:
			recorded(in, POINT_SPURIOUS, plan->site_level);
			return;
		case POINT_RECLAIM:
			/* try_to_unmap_one's return is the decision where it is recorded. */
			if (decoder_has(in->decoder, ROLE_UNMAP_ONE, -1)) {
				recorded(in, POINT_RECLAIM, plan->site_level);
				return;
			}
			break;
		default:
			break;
		}
		recorded_only(in, raw, task, plan->site_point, plan->site_level);
		return;
	case TLBI_SITE_UNKNOWN:
		in->counts.unplaced_tlbi++;
		return;
	}
}

/* ---- faults ---- */

/* The task left its fault: what it found is mapped now. */
static void fault_done(struct interpreter *in, const struct raw_event *raw, struct task *task,
		       bool mapped)
{
	struct fault *f = &task->fault;

	if (f->active && mapped && f->mm) {
		unsigned int flags =
			(f->write ? EVENT_WRITE : 0) | (f->hardware ? 0 : EVENT_REMOTE);

		emit(in, &(struct tlb_event){.time_ns = raw->time_ns, .began_ns = f->began_ns,
					     .addr = page_of(in, f->addr), .pages = 1, .mm = f->mm,
					     .tid = (uint32_t)task->tid, .cpu = task->cpu,
					     .kind = EVENT_PRESENT, .flags = (uint8_t)flags,
					     .sure = sure});
	}
	f->active = false;
	task->contpte_block = 0;
}

static void fault_begins(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint64_t flags = HAS(raw, FLAGS) ? GET(raw, FLAGS) : 0;
	bool remote = flags & FAULT_REMOTE;
	/*
	 * The user pc lies at a fixed place behind the registers' pointer: 0 means there are none.
	 */
	bool registers = !HAS(raw, UPC) || GET(raw, UPC);
	struct fault *f = &task->fault;

	/* Without a return probe the next fault says that the last one ended. */
	fault_done(in, raw, task, !in->has_fault_return);
	task->protect_open = false;
	task->clear_flush_open = false;
	task->tlbi_upgrade = 0;
	task->set_flags.valid = false;
	task->slot_freed = false;
	task->reclaim.open = false;
	if (!remote && HAS(raw, MM))
		bind_pointer(in, raw, task, GET(raw, MM));
	*f = (struct fault){
		.active = true,
		.write = flags & FAULT_WRITE,
		.hardware = !remote && registers,
		.mm = event_mm(in, raw, task),
		.flags = (uint32_t)flags,
		.addr = HAS(raw, ADDR) ? GET(raw, ADDR) : 0,
		.began_ns = raw->time_ns,
	};
	if (task->hw.valid && page_of(in, task->hw.addr) == page_of(in, f->addr))
		f->began_ns = task->hw.began_ns;
	task->hw.valid = false;
	if (!f->hardware)
		in->counts.remote_faults++;
}

/*
 * x86 tracepoints alone: a write fault on a present page was one of three things. A flush by the
 * same task before anything else tells a copy from a reuse; nothing tells a spurious fault.
 */
static void settle_wp(struct interpreter *in, const struct raw_event *raw, struct task *task,
		      bool flushed)
{
	static const enum point points[] = {POINT_WP_REUSE, POINT_COW, POINT_SPURIOUS};
	enum point likely = flushed ? POINT_COW : POINT_WP_REUSE;

	if (!task->wp_pending)
		return;
	task->wp_pending = false;
	in->counts.undecided_wp++;
	if (flushed)
		recorded(in, POINT_COW, LEVEL_PTE);
	else
		in->counts.upgrade_none++;
	for (unsigned int i = 0; i < 3; i++)
		emit(in, &(struct tlb_event){
				 .time_ns = raw->time_ns, .began_ns = task->hw.began_ns,
				 .addr = page_of(in, task->hw.addr), .pages = 1, .mm = task->mm,
				 .tid = (uint32_t)task->tid, .cpu = task->hw.cpu,
				 .kind = EVENT_DECISION, .point = (uint8_t)points[i],
				 .level = LEVEL_PTE, .flags = EVENT_WRITE,
				 .sure = {.low = 0, .estimate = points[i] == likely, .high = 1}});
}

static void on_hw_fault(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint64_t addr = HAS(raw, ADDR) ? GET(raw, ADDR) : 0;
	uint64_t error = HAS(raw, ERROR) ? GET(raw, ERROR) : 0;
	bool kernel_addr = addr >> 63;

	settle_wp(in, raw, task, false);
	if (kernel_addr)
		return;
	task->hw.valid = true;
	task->hw.cpu = raw->cpu;
	task->hw.addr = addr;
	task->hw.began_ns = raw->time_ns;
	task->hw.error = error;
	if (in->has_fault)
		return;
	/* No handle_mm_fault in this recording: the hardware's report is all there is. */
	uint32_t mm = own_mm(in, raw, task);
	if (!mm)
		return;
	if (error & X86_PRESENT && error & X86_WRITE && !in->has_set_flags) {
		task->wp_pending = true;
		return;
	}
	task->fault = (struct fault){.active = true, .write = error & X86_WRITE, .hardware = true,
				     .mm = mm, .addr = addr, .began_ns = raw->time_ns};
	fault_done(in, raw, task, true);
}

static enum level upgrade_level(const struct interpreter *in, const struct task *task,
				const struct raw_event *raw, uint64_t entry)
{
	(void)raw;
	if (in->arch == ARCH_ARM64 && entry)
		return (entry & 3) == 1 ? LEVEL_PMD : LEVEL_PTE;
	return task->fault.huge ? LEVEL_PMD : LEVEL_PTE;
}

static void on_set_flags(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint64_t old_entry = 0;

	if (!raw->plan->is_return) {
		task->set_flags.valid = true;
		task->set_flags.has = raw->has;
		task->set_flags.mm = GET(raw, MM);
		task->set_flags.addr = GET(raw, ADDR);
		task->set_flags.pte = GET(raw, PTE);
		task->set_flags.entry = GET(raw, ENTRY);
		task->set_flags.dirty = GET(raw, DIRTY);
		return;
	}

	uint32_t mm = HAS(raw, MM) || !task->set_flags.valid ? event_mm(in, raw, task) : 0;
	uint64_t addr = HAS(raw, ADDR) ? GET(raw, ADDR) : task->fault.addr;
	uint64_t entry = HAS(raw, ENTRY) ? GET(raw, ENTRY) : 0;
	bool dirty = HAS(raw, DIRTY) ? GET(raw, DIRTY) : task->fault.write;
	bool changed = HAS(raw, RET) && (int32_t)GET(raw, RET) != 0;

	if (task->set_flags.valid) {
		/* What the return probe did not fetch, the entry probe did. */
		uint32_t had = task->set_flags.has & ~raw->has;

		if (!mm)
			mm = had & 1u << SLOT_MM ? pointer_mm(in, raw, task->set_flags.mm)
						 : event_mm(in, raw, task);
		if (had & 1u << SLOT_ADDR)
			addr = task->set_flags.addr;
		if (had & 1u << SLOT_ENTRY)
			entry = task->set_flags.entry;
		if (had & 1u << SLOT_DIRTY)
			dirty = task->set_flags.dirty;
		if (task->set_flags.has & 1u << SLOT_PTE)
			old_entry = task->set_flags.pte;
		task->set_flags.valid = false;
	}
	enum level level = upgrade_level(in, task, raw, entry);
	uint64_t pages = 1;
	unsigned int flags = task->fault.active && !task->fault.hardware ? EVENT_REMOTE : 0;
	unsigned int seen = task->tlbi_upgrade;

	task->tlbi_upgrade = 0;
	if (level == LEVEL_PMD) {
		uint64_t block = (UINT64_C(1) << in->page_shift) / 8; /* entries of one table */

		pages = block;
		addr &= ~((block << in->page_shift) - 1);
	}
	addr = page_of(in, addr);
	if (task->fault.flags & FAULT_TRIED)
		flags |= EVENT_TRIED;
	if (dirty)
		flags |= EVENT_WRITE;
	if (!dirty) {
		if (changed)
			decide(in, raw, POINT_YOUNG, level, mm, addr, pages, flags);
		return;
	}
	if (!changed) {
		/*
		 * Inside do_wp_page another CPU was faster; outside of it nothing was there to do.
		 */
		if (task->fault.wp)
			return;
		if (!(flags & EVENT_REMOTE))
			in->counts.spurious_recorded++;
		emit(in, &(struct tlb_event){.time_ns = raw->time_ns,
					     .began_ns = task->fault.active ? task->fault.began_ns
									    : raw->time_ns,
					     .addr = addr, .pages = pages, .mm = mm,
					     .tid = (uint32_t)raw->pid, .cpu = raw->cpu,
					     .kind = EVENT_DECISION, .point = POINT_SPURIOUS,
					     .level = (uint8_t)level, .flags = (uint8_t)flags,
					     .sure = {!in->unsure, 1, 1}});
		return;
	}
	/* What tells a reuse: the old entry, where an entry probe saw it; else the way there. */
	bool told = level == LEVEL_PMD ? in->has_huge_wp : in->has_wp;
	bool reuse = told ? task->fault.wp : true;
	/* The recording began in the middle of it: there is no telling how it got here. */
	bool midway = in->has_fault && !task->fault.active;
	if (old_entry && in->arch == ARCH_ARM64) {
		told = true;
		reuse = !(old_entry & ARM64_WRITABLE);
	}
	enum point point = reuse ? POINT_WP_REUSE : POINT_DIRTY_UP;
	if (seen)
		recorded(in, point, level);
	if (seen & 1)
		in->counts.upgrade_broadcast++;
	else if (seen & 2)
		in->counts.upgrade_local++;
	else
		in->counts.upgrade_none++;
	if (task->contpte_block) {
		/* One decision for the block, however many entries it has. */
		if (task->contpte_block == 2 && point == POINT_DIRTY_UP)
			return;
		task->contpte_block = 2;
		level = LEVEL_CONTPTE;
	}
	if (told && !midway) {
		decide(in, raw, point, level, mm, addr, pages, flags);
		return;
	}
	/* Without do_wp_page a reuse and a dirty upgrade look alike. */
	for (unsigned int i = 0; i < 2; i++)
		emit(in, &(struct tlb_event){.time_ns = raw->time_ns, .began_ns = raw->time_ns,
					     .addr = addr, .pages = pages, .mm = mm,
					     .tid = (uint32_t)raw->pid, .cpu = raw->cpu,
					     .kind = EVENT_DECISION,
					     .point = i ? POINT_DIRTY_UP : POINT_WP_REUSE,
					     .level = (uint8_t)level, .flags = (uint8_t)flags,
					     .sure = {.low = 0, .estimate = i == 0 && !midway,
						      .high = 1}});
}

static void on_clear_flush(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint64_t addr = HAS(raw, ADDR) ? GET(raw, ADDR) : task->fault.addr;
	struct fault *f = &task->fault;

	if (!f->active || !(f->wp || (!in->has_wp && f->write))) {
		in->counts.unplaced_clear_flush++;
		return;
	}
	f->copied = true;
	/* An entry that was not accessible is in no TLB, and none is flushed. */
	if (in->arch == ARCH_ARM64 && HAS(raw, PTE) && !(GET(raw, PTE) & 1))
		return;
	task->clear_flush_open = true;
	task->flush_point = POINT_COW;
	decide(in, raw, POINT_COW, LEVEL_PTE, event_mm(in, raw, task), page_of(in, addr), 1,
	       EVENT_WRITE | (f->hardware ? 0 : EVENT_REMOTE));
}

/* ---- ranges, fork, exec, exit ---- */

/* Everything that copy_page_range did for one fork, once another event of the task is seen. */
static void fork_flush(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	if (!task->fork.open)
		return;
	task->fork.open = false;
	decide(in, raw, POINT_FORK, LEVEL_MM, task->fork.mm, 0, 0, 0);
}

static void on_copy_range(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint32_t mm;

	if (HAS(raw, MM2) && GET(raw, MM2)) {
		bind_pointer(in, raw, task, GET(raw, MM2));
		mm = pointer_mm(in, raw, GET(raw, MM2));
	} else {
		mm = own_mm(in, raw, task);
	}
	if (!HAS(raw, START) && !task->fork.open)
		emit(in, &(struct tlb_event){.time_ns = raw->time_ns, .mm = mm, .cpu = raw->cpu,
					     .tid = (uint32_t)raw->pid, .kind = EVENT_PROTECTED,
					     .sure = sure});
	task->fork.open = true;
	task->fork.mm = mm;
	task->fork.child = HAS(raw, MM) ? GET(raw, MM) : 0;
	task->fork.time_ns = raw->time_ns;
	if (HAS(raw, START) && HAS(raw, END))
		emit(in, &(struct tlb_event){.time_ns = raw->time_ns, .addr = GET(raw, START),
					     .pages = pages_in(in, GET(raw, START),
							       GET(raw, END)),
					     .mm = mm, .tid = (uint32_t)raw->pid, .cpu = raw->cpu,
					     .kind = EVENT_PROTECTED, .sure = sure});
}

static void on_newtask(struct interpreter *in, const struct raw_event *raw, struct task *parent)
{
	struct task *child = task_get(&in->id, (int32_t)GET(raw, PID));
	uint64_t clone = HAS(raw, CLONE) ? GET(raw, CLONE) : 0;
	bool forked = parent->fork.open || parent->fork.child;

	if (!child) {
		in->failed = true;
		return;
	}
	task_set_mm(&in->id, child, 0);
	task_reset(child);
	copy_comm(raw, child->comm);
	if (parent->kind == TASK_KERNEL) {
		child->kind = TASK_KERNEL;
		return;
	}
	uint32_t mm = own_mm(in, raw, parent);
	child->kind = TASK_USER;
	if (clone & CLONE_SHARES_VM) {
		task_set_mm(&in->id, child, mm);
		return;
	}
	/* dup_mmap has write-protected the parent and flushed it just before this event. */
	if (!forked && !decoder_has(in->decoder, ROLE_COPY_RANGE, -1)) {
		emit(in, &(struct tlb_event){.time_ns = raw->time_ns, .mm = mm, .cpu = raw->cpu,
					     .tid = (uint32_t)raw->pid, .kind = EVENT_PROTECTED,
					     .sure = sure});
		decide(in, raw, POINT_FORK, LEVEL_MM, mm, 0, 0, 0);
	}
	uint32_t copy = parent->fork.child
				? mm_at(&in->id, parent->fork.child, child, raw->time_ns)
				: mm_new(&in->id, MM_DERIVED, 0, child, raw->time_ns);
	if (!copy)
		in->failed = true;
	parent->fork.child = parent->fork.time_ns = 0;
	task_set_mm(&in->id, child, copy);
}

static void on_exec(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint32_t old = task->mm;

	if (task->rebound) {
		/* A probe has already shown the new address space. */
		task->rebound = false;
		return;
	}
	bind(in, raw, task, mm_new(&in->id, MM_DERIVED, 0, task, raw->time_ns));
	mm_unused(in, raw, old);
}

static void on_task_exit(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint32_t old = task->mm;

	settle_wp(in, raw, task, false);
	fault_done(in, raw, task, false);
	task_set_mm(&in->id, task, 0);
	if (in->cpus[raw->cpu].current == task)
		go_lazy(in, raw, raw->cpu);
	mm_unused(in, raw, old);
	task->rebound = false;
}

static void on_gather(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint64_t bits = HAS(raw, BITS) ? GET(raw, BITS) : 0;
	bool fullmm = HAS(raw, FULLMM) ? GET(raw, FULLMM) : bits & GATHER_FULLMM;
	bool freed = HAS(raw, FREED) ? GET(raw, FREED) : bits & GATHER_FREED;
	uint64_t start = HAS(raw, START) ? GET(raw, START) : 0;
	uint64_t end = HAS(raw, END) ? GET(raw, END) : 0;
	uint32_t mm = event_mm(in, raw, task);

	task->protect_open = task->protect_flushed = false;
	task->gather_point = NR_POINTS;
	if (fullmm) {
		if (freed) {
			decide(in, raw, POINT_EXIT, LEVEL_MM, mm, 0, 0, EVENT_TABLES);
			task->gather_point = POINT_EXIT;
		}
		mm_end(in, raw, mm);
		task->exit_flush = in->arch == ARCH_X86;
		return;
	}
	if (start >= end)
		return; /* what there was has been flushed before */
	if (freed) {
		decide(in, raw, POINT_TABLES_FREED, LEVEL_PMD, mm, start, pages_in(in, start, end),
		       EVENT_TABLES);
		task->gather_point = POINT_TABLES_FREED;
	} else if (!HAS(raw, BITS) || bits & GATHER_CLEARED) {
		decide(in, raw, POINT_UNMAP, LEVEL_PTE, mm, start, pages_in(in, start, end), 0);
		task->gather_point = POINT_UNMAP;
	}
}

static void on_protect(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	/* Linux 6.1 passes the new permission here; flags are small numbers. */
	uint64_t cp = HAS(raw, CPFLAGS) && GET(raw, CPFLAGS) < 0x100 ? GET(raw, CPFLAGS) : 0;
	uint64_t start = HAS(raw, START) ? GET(raw, START) : 0;
	uint64_t end = HAS(raw, END) ? GET(raw, END) : 0;

	fault_done(in, raw, task, false);
	task->protect_open = true;
	task->protect_flushed = false;
	decide(in, raw, cp & CP_NUMA ? POINT_NUMA : POINT_PROTECT, LEVEL_PTE,
	       event_mm(in, raw, task), page_of(in, start), pages_in(in, start, end),
	       cp & CP_TRY_WRITABLE ? EVENT_UP : 0);
}

static void on_exit_mmap(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint32_t mm = event_mm(in, raw, task);
	struct mm *m = mm_get(&in->id, mm);

	if (!m)
		return;
	if (in->has_gather) {
		m->dying = true; /* tlb_finish_mmu is still to come */
		return;
	}
	decide(in, raw, POINT_EXIT, LEVEL_MM, mm, 0, 0, EVENT_TABLES);
	mm_end(in, raw, mm);
}

/* x86 flush_tlb_mm_range(): what the flush is for must come from what the task is doing. */
static void on_flush_range(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	bool whole = HAS(raw, START) && HAS(raw, END) && !GET(raw, START) &&
		     GET(raw, END) == ~UINT64_C(0);
	uint32_t mm;

	if (task->exit_flush)
		return; /* of the mm that tlb_finish_mmu has just ended */
	if (task->flush_point == POINT_COW && !whole)
		return; /* the flush of the copy that has just been decided */
	task->flush_point = NR_POINTS;
	mm = event_mm(in, raw, task);
	if (whole && HAS(raw, SHIFT) && GET(raw, SHIFT) && !in->has_gather) {
		/*
		 * With a stride it is a gather (flush_tlb_mm() has none): of exit_mmap, or a nested
		 * one.
		 */
		task->whole_mm = mm;
	} else if (whole && HAS(raw, SHIFT) && GET(raw, SHIFT)) {
		/* tlb_finish_mmu began with a range: it has found another gather under way. */
		decide(in, raw, POINT_NESTED, LEVEL_MM, mm, 0, 0, 0);
		task->flush_point = POINT_NESTED;
	} else if (whole && decoder_has(in->decoder, ROLE_COPY_RANGE, -1) && task->fork.time_ns) {
		task->flush_point = POINT_FORK;
	}
}

/*
 * exit_mmap flushes an mm that nobody runs: nothing is flushed, or the CPU leaves it for init_mm
 * ("on task switch"). A gather that found another one under way flushes an mm that is in use.
 */
static void settle_whole(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint32_t mm = task->whole_mm;
	bool in_use = raw->plan->role == ROLE_TLB_FLUSH && HAS(raw, REASON) && GET(raw, REASON) > 2;

	if (!mm)
		return;
	task->whole_mm = 0;
	if (in_use) {
		decide(in, raw, POINT_NESTED, LEVEL_MM, mm, 0, 0, 0);
		task->flush_point = POINT_NESTED;
		return;
	}
	decide(in, raw, POINT_EXIT, LEVEL_MM, mm, 0, 0, EVENT_TABLES);
	mm_end(in, raw, mm);
	task->exit_flush = raw->plan->role == ROLE_TLB_FLUSH;
}

/* The point that a tlb:tlb_flush serves. One shootdown: a "remote ipi send" and a local flush. */
static void on_tlb_flush(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint64_t reason = HAS(raw, REASON) ? GET(raw, REASON) : 0;
	uint64_t pages = HAS(raw, PAGES) ? GET(raw, PAGES) : 0;

	if (HAS(raw, REASON))
		in->counts.flush_reasons[reason < 7 ? reason : 7]++;
	if (!pages)
		return;
	if (reason == 0) {
		/* exit_mmap's own: the CPU leaves the mm that it flushes. */
		if (task->exit_flush) {
			recorded(in, POINT_EXIT, LEVEL_MM);
			task->exit_flush = false;
			return;
		}
		/* An idle CPU that answers an interrupt by leaving its mm logs the same reason. */
		if (!in->cpus[raw->cpu].switching && task->kind != TASK_USER)
			return;
		recorded(in, POINT_SWITCH, LEVEL_MM);
		/* No switch of tasks, and not exit's: exec installs its new address space. */
		if (!in->cpus[raw->cpu].switching && in->has_flush_range && task->mm) {
			bind(in, raw, task, mm_new(&in->id, MM_DERIVED, 0, task, raw->time_ns));
			task->rebound = true;
		}
		return;
	}
	if (reason != 3 && reason != 4)
		return; /* handled on behalf of another CPU */
	if (task->wp_pending && pages == 1) {
		settle_wp(in, raw, task, true);
		return;
	}
	if (task->flush_point < NR_POINTS) {
		enum point point = task->flush_point;

		recorded(in, point, point == POINT_COW ? LEVEL_PTE : LEVEL_MM);
		task->flush_point = NR_POINTS;
		task->fork.time_ns = 0;
	} else if (reason == 3) {
		in->counts.unplaced_tlbi++;
	}
}

/*
 * ---- reclaim and swap ----
 *
 * shrink_folio_list takes one page at a time: add_to_swap if it has no copy there, try_to_unmap_one
 * for each mapping, then swap_writepage if it is dirty by now; all in one task and in this order.
 */

static void emit_swap(struct interpreter *in, const struct raw_event *raw, enum event_kind kind,
		      uint32_t mm, uint64_t addr, unsigned int flags)
{
	emit(in, &(struct tlb_event){.time_ns = raw->time_ns, .addr = page_of(in, addr), .pages = 1,
				     .mm = mm, .tid = (uint32_t)raw->pid, .cpu = raw->cpu,
				     .kind = (uint8_t)kind, .flags = (uint8_t)flags, .sure = sure});
}

/* A page was unmapped: what is told of it for the model of dirty pages. */
static void swap_out(struct interpreter *in, const struct raw_event *raw, struct task *task,
		     uint32_t mm)
{
	uint64_t addr = page_of(in, GET(raw, ADDR));
	uint64_t folio = HAS(raw, FOLIO) ? GET(raw, FOLIO) : 0;
	bool further = task->reclaim.open && folio && folio == task->reclaim.folio &&
		       (task->reclaim.mm != mm || task->reclaim.addr != addr);
	unsigned int flags = further ? SWAP_SHARED : 0;

	if (HAS(raw, MAPPING) && GET(raw, MAPPING))
		flags |= GET(raw, MAPPING) & MAPPING_ANON ? SWAP_ANON : SWAP_NOT_ANON;
	/* Each page that is given a slot is unmapped next. */
	if (folio ? folio == task->reclaim.added : task->reclaim.added != 0)
		flags |= SWAP_SLOT_NEW;
	if (!folio)
		task->reclaim.added = 0;
	if (!further) {
		task->reclaim.open = true;
		task->reclaim.mm = mm;
		task->reclaim.addr = addr;
		task->reclaim.folio = folio;
	}
	emit_swap(in, raw, EVENT_SWAP_OUT, mm, addr, flags);
}

static void on_swap_write(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint64_t folio = HAS(raw, FOLIO) ? GET(raw, FOLIO) : 0;
	bool same = task->reclaim.open &&
		    (!folio || !task->reclaim.folio || folio == task->reclaim.folio);

	if (!in->has_swap)
		return;
	emit_swap(in, raw, EVENT_SWAP_WRITE, same ? task->reclaim.mm : 0,
		  same ? task->reclaim.addr : 0, 0);
	task->reclaim.open = false;
	task->reclaim.added = 0;
}

/* do_swap_page has returned, and the fault's entry is what it made, if it made one. */
static void on_swap_in(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	unsigned int flags = task->fault.active && task->fault.write ? EVENT_WRITE : 0;
	uint64_t pte = HAS(raw, PTE) ? GET(raw, PTE) : 0;

	if (!in->has_swap || !raw->plan->is_return || !HAS(raw, MM) || !HAS(raw, ADDR) ||
	    (HAS(raw, RET) && GET(raw, RET) & (RET_ERRORS | RET_RETRY)))
		return;
	if (HAS(raw, PTE) && !(pte & PTE_PRESENT))
		return; /* another was faster, or it was no swap entry but a page that moves */
	if (HAS(raw, PTE) && in->arch == ARCH_ARM64) {
		bool writable = pte & ARM64_WRITABLE;

		flags |= SWAP_PTE_KNOWN | (writable ? SWAP_WRITABLE : 0);
		flags |= pte & ARM64_SW_DIRTY || (writable && !(pte & ARM64_RDONLY)) ? SWAP_DIRTY
										       : 0;
	} else if (HAS(raw, PTE) && in->arch == ARCH_X86) {
		flags |= SWAP_PTE_KNOWN | (pte & X86_PTE_RW ? SWAP_WRITABLE : 0) |
			 (pte & X86_PTE_DIRTY ? SWAP_DIRTY : 0);
	}
	if (task->slot_freed)
		flags |= SWAP_SLOT_FREED;
	task->slot_freed = false;
	emit_swap(in, raw, EVENT_SWAP_IN, event_mm(in, raw, task), GET(raw, ADDR), flags);
}

static void on_unmap_one(struct interpreter *in, const struct raw_event *raw, struct task *task)
{
	uint32_t mm;

	if (!raw->plan->is_return || !HAS(raw, MM) || !HAS(raw, ADDR))
		return;
	if (HAS(raw, RET) && !(GET(raw, RET) & 1))
		return;
	mm = event_mm(in, raw, task);
	decide(in, raw, POINT_RECLAIM, LEVEL_PTE, mm, page_of(in, GET(raw, ADDR)), 1, 0);
	if (in->has_swap)
		swap_out(in, raw, task, mm);
}

/* ---- the snapshot ---- */

static void on_marker(struct interpreter *in, const struct raw_event *raw)
{
	uint32_t at = raw->plan->fields[SLOT_TEXT].at;
	const char *text = (const char *)raw->data + at;
	const char *end = memchr(text, '\0', raw->size - at);
	struct snapshot_task entry;
	bool ours = false, host = false;

	if (!end)
		end = (const char *)raw->data + raw->size;
	for (const char *line = text; line < end;) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t size = (size_t)((next ? next : end) - line);

		if (size == strlen(SNAPSHOT_HEADER) && !memcmp(line, SNAPSHOT_HEADER, size)) {
			ours = true;
		} else if (size == strlen(HOSTFACTS_HEADER) && !memcmp(line, HOSTFACTS_HEADER, size)) {
			host = true;
		} else if (host) {
			bool is_end = size >= strlen(HOSTFACTS_END) &&
				      !memcmp(line, HOSTFACTS_END, strlen(HOSTFACTS_END));

			if (in->sink.fact && !is_end)
				in->sink.fact(in->sink.context, line, size);
		} else if (size > strlen(SNAPSHOT_END) &&
			   !memcmp(line, SNAPSHOT_END, strlen(SNAPSHOT_END))) {
			in->counts.snapshot_complete = strtoull(line + strlen(SNAPSHOT_END), NULL,
								10) == in->counts.snapshot_tasks;
		} else if (ours && snapshot_parse(line, size, &entry)) {
			struct task *task = task_get(&in->id, entry.tid);

			in->counts.snapshot_tasks++;
			if (!task) {
				in->failed = true;
				return;
			}
			memcpy(task->comm, entry.comm, sizeof(task->comm));
			if (entry.kernel) {
				task->kind = TASK_KERNEL;
			} else if (!task->mm && entry.mm) {
				/* Tasks that share an mm carry the same number: its lowest tgid. */
				struct task *owner = task_get(&in->id, entry.mm);

				if (!owner) {
					in->failed = true;
					return;
				}
				if (!owner->mm) {
					uint32_t mm = mm_new(&in->id, MM_SNAPSHOT, 0, owner,
							     raw->time_ns);

					if (!found(in, raw, mm))
						in->failed = true;
					owner->kind = TASK_USER;
					task_set_mm(&in->id, owner, mm);
				}
				task->kind = TASK_USER;
				task_set_mm(&in->id, task, owner->mm);
				for (unsigned int i = 0; i < in->nr_cpus; i++)
					if (in->cpus[i].current == task)
						load(in, raw, i, owner->mm);
			}
		}
		line = next ? next + 1 : end;
	}
}

static void emit_access(struct interpreter *in, uint64_t time_ns, unsigned int cpu,
			const struct task *task, uint64_t addr, unsigned int flags)
{
	emit(in, &(struct tlb_event){.time_ns = time_ns, .addr = page_of(in, addr), .pages = 1,
				     .mm = task->mm, .tid = (uint32_t)task->tid, .cpu = cpu,
				     .kind = EVENT_ACCESS, .flags = (uint8_t)flags, .sure = sure});
}

void interpret_sample(struct interpreter *in, uint64_t time_ns, unsigned int cpu, int32_t tid,
		      uint64_t addr, bool store)
{
	const struct task *task = task_find(&in->id, tid);

	in->counts.samples++;
	if (!task || !task->mm || addr >> 63) {
		in->counts.samples_unknown++;
		return;
	}
	emit_access(in, time_ns, cpu, task, addr, EVENT_SAMPLED | (store ? EVENT_WRITE : 0));
}

/* ---- one raw event ---- */

/* Events that may be stamped with a task that has already left the CPU. */
static bool stamped_late(enum role role)
{
	const uint64_t late = UINT64_C(1) << ROLE_LOAD_MM | UINT64_C(1) << ROLE_THREAD |
			      UINT64_C(1) << ROLE_TLB_FLUSH | UINT64_C(1) << ROLE_TLBI;

	_Static_assert(NR_ROLES <= 64, "roles are bits here");
	return late >> role & 1;
}

uint32_t interpret_mm(const struct interpreter *in, const struct raw_event *raw)
{
	const struct task *task = task_find(&in->id, raw->pid);
	const struct mm *mm = task ? mm_get(&in->id, task->mm) : NULL;
	uint64_t pointer = HAS(raw, MM) ? GET(raw, MM) : 0;
	const uint32_t *at;

	if (!pointer || (mm && mm->id.pointer == pointer))
		return mm ? mm->id.mm : 0;
	at = map_get(&in->id.by_pointer, pointer);
	return at ? *at : 0;
}

/* Returns of functions whose entry says all: they are for replay/latency.h alone. */
static bool return_says_nothing(const struct decode_plan *plan)
{
	const uint64_t roles = UINT64_C(1) << ROLE_CLEAR_FLUSH | UINT64_C(1) << ROLE_GATHER_FINISH |
			       UINT64_C(1) << ROLE_FLUSH_RANGE;

	return plan->is_return && roles >> plan->role & 1;
}

int interpret(struct interpreter *in, const struct raw_event *raw)
{
	enum role role = raw->plan->role;
	struct cpu *cpu = &in->cpus[raw->cpu];
	struct task *task = cpu->current;

	if (!task || task->tid != raw->pid) {
		task = task_get(&in->id, raw->pid);
		if (!task)
			return -ENOMEM;
		/*
		 * Whoever writes an event runs: the first event of a CPU, or a switch that was
		 * lost.
		 */
		if (!cpu->current || !stamped_late(role))
			run_task(in, raw, task);
	}
	if (!stamped_late(role)) {
		cpu->switching = false;
		if (role != ROLE_FLUSH_RANGE)
			task->exit_flush = false;
	}
	if (return_says_nothing(raw->plan))
		return 0;
	if (task->whole_mm)
		settle_whole(in, raw, task);
	if (task->fork.open && role != ROLE_COPY_RANGE && !stamped_late(role))
		fork_flush(in, raw, task);
	if (task->fork.open && role == ROLE_TLBI && raw->plan->site_point == POINT_FORK)
		fork_flush(in, raw, task);

	switch (role) {
	case ROLE_SWITCH: {
		struct task *next = task_get(&in->id, (int32_t)GET(raw, PID));

		settle_wp(in, raw, task, false);
		if (!next)
			return -ENOMEM;
		copy_comm(raw, next->comm);
		run_task(in, raw, next);
		cpu->switching = true;
		break;
	}
	case ROLE_NEWTASK:
		on_newtask(in, raw, task);
		break;
	case ROLE_EXEC:
		on_exec(in, raw, task);
		break;
	case ROLE_TASK_EXIT:
		on_task_exit(in, raw, task);
		break;
	case ROLE_MARKER:
		if (HAS(raw, TEXT))
			on_marker(in, raw);
		break;
	case ROLE_LOAD_MM:
		/* Between sched_switch and the next task: its mm. Else exec installs a new one. */
		if (cpu->switching)
			task = cpu->current;
		cpu->switching = false;
		if (task->kind == TASK_KERNEL)
			break;
		bind_pointer(in, raw, task, GET(raw, MM));
		break;
	case ROLE_THREAD:
		if (HAS(raw, PID) && HAS(raw, MM)) {
			struct task *next = task_get(&in->id, (int32_t)GET(raw, PID));

			if (!next)
				return -ENOMEM;
			if (GET(raw, MM))
				bind_pointer(in, raw, next, GET(raw, MM));
			else if (!next->mm)
				next->kind = TASK_KERNEL;
		}
		break;
	case ROLE_HW_FAULT:
	case ROLE_HW_FAULT_KERNEL:
		on_hw_fault(in, raw, task);
		break;
	case ROLE_FAULT:
		if (!raw->plan->is_return)
			fault_begins(in, raw, task);
		else
			fault_done(in, raw, task,
				   !HAS(raw, RET) || !(GET(raw, RET) & (RET_ERRORS | RET_RETRY)));
		break;
	case ROLE_WP:
	case ROLE_HUGE_WP:
		task->fault.wp = true;
		task->fault.huge |= role == ROLE_HUGE_WP;
		break;
	case ROLE_HUGE_ACCESSED:
		task->fault.huge = true;
		break;
	case ROLE_CONTPTE_SET_FLAGS:
		if (!raw->plan->is_return)
			task->contpte_block = 1;
		break;
	case ROLE_SET_FLAGS:
		in->unsure = task->fault.unsure;
		on_set_flags(in, raw, task);
		in->unsure = false;
		break;
	case ROLE_CLEAR_FLUSH:
		in->unsure = task->fault.unsure;
		on_clear_flush(in, raw, task);
		in->unsure = false;
		break;
	case ROLE_GATHER_FINISH:
		on_gather(in, raw, task);
		break;
	case ROLE_COPY_RANGE:
		on_copy_range(in, raw, task);
		break;
	case ROLE_PROTECT:
		on_protect(in, raw, task);
		break;
	case ROLE_EXIT_MMAP:
		on_exit_mmap(in, raw, task);
		break;
	case ROLE_FLUSH_RANGE:
		on_flush_range(in, raw, task);
		break;
	case ROLE_TLB_FLUSH:
		on_tlb_flush(in, raw, task);
		break;
	case ROLE_TLBI:
		on_tlbi(in, raw, task);
		break;
	case ROLE_UNMAP_ONE:
		on_unmap_one(in, raw, task);
		break;
	case ROLE_ACCESS:
		in->counts.accesses++;
		if (own_mm(in, raw, task))
			emit_access(in, raw->time_ns, raw->cpu, task, GET(raw, ADDR),
				    raw->plan->writes ? EVENT_WRITE : 0);
		break;
	case ROLE_BATCH_FLUSH:
		if (!raw->plan->is_return)
			emit(in, &(struct tlb_event){.time_ns = raw->time_ns,
						     .cpu = raw->cpu,
						     .tid = (uint32_t)raw->pid,
						     .kind = EVENT_BATCH_END,
						     .sure = sure});
		break;
	case ROLE_AGE_ONE:
		/* The flag is cleared, and the entry flushed, only if the page had been used. */
		if (!raw->plan->is_return && HAS(raw, MM) && HAS(raw, ADDR) &&
		    !decoder_has_site(in->decoder, POINT_AGE, TLBI_SITE_PLAIN))
			decide(in, raw, POINT_AGE, LEVEL_PTE, event_mm(in, raw, task),
			       page_of(in, GET(raw, ADDR)), 1, EVENT_MAYBE);
		break;
	case ROLE_SWAP_IN:
		on_swap_in(in, raw, task);
		break;
	case ROLE_SWAP_WRITE:
		on_swap_write(in, raw, task);
		break;
	case ROLE_WRITE_FOLIO:
		if (!in->has_swap_write && (!HAS(raw, FLAGS) || GET(raw, FLAGS) & WRITE_ANON))
			on_swap_write(in, raw, task);
		break;
	case ROLE_SWAP_ADD:
		if (HAS(raw, FOLIO))
			task->reclaim.added = GET(raw, FOLIO);
		break;
	case ROLE_SWAP_FREE:
		if (task->fault.active && HAS(raw, RET) && GET(raw, RET) & 1)
			task->slot_freed = true;
		break;
	case ROLE_FORK:
	case ROLE_BEGIN_EXEC:
	case ROLE_GATHER_FLUSH:
	case ROLE_SKIP:
	case NR_ROLES:
		break;
	}
	return in->failed ? -ENOMEM : 0;
}

void interpret_lost(struct interpreter *in, unsigned int number, uint64_t time_ns)
{
	struct cpu *cpu = &in->cpus[number];

	if (cpu->current) {
		static const struct decode_plan no_plan = {.role = ROLE_SKIP};
		struct raw_event lost = {.time_ns = time_ns, .plan = &no_plan, .cpu = number,
					 .pid = cpu->current->tid};

		settle_wp(in, &lost, cpu->current, false);
		cpu->current->fault.unsure = true;
		cpu->current->fork.open = false;
	}
	cpu->current = NULL;
	cpu->unsure = true;
	cpu->switching = false;
	emit(in, &(struct tlb_event){
			 .time_ns = time_ns, .cpu = number, .kind = EVENT_LOST, .sure = sure});
}

int interpret_end(struct interpreter *in, uint64_t time_ns)
{
	static const struct decode_plan no_plan = {.role = ROLE_SKIP};
	struct raw_event end = {.time_ns = time_ns, .plan = &no_plan};

	for (size_t i = 0; i < in->id.nr_tasks; i++) {
		struct task *task = in->id.tasks[i];

		end.pid = task->tid;
		end.cpu = task->cpu;
		settle_wp(in, &end, task, false);
		settle_whole(in, &end, task);
		fork_flush(in, &end, task);
		if (task->tid)
			in->counts.tasks++;
		if (task->kind == TASK_UNKNOWN)
			in->counts.tasks_unknown++;
	}
	in->counts.mms = in->id.nr_mms ? in->id.nr_mms - 1 : 0;
	in->counts.mms_placeholder = in->id.placeholders;
	for (size_t i = 1; i < in->id.nr_mms; i++)
		if (in->id.mms[i])
			mm_done(in, in->id.mms[i]);
	return in->failed ? -ENOMEM : 0;
}

const struct interpret_counts *interpret_counts(const struct interpreter *in)
{
	return &in->counts;
}

bool interpret_sees_swap(const struct interpreter *in)
{
	return decoder_has(in->decoder, ROLE_SWAP_IN, 1) &&
	       decoder_has(in->decoder, ROLE_UNMAP_ONE, 1) &&
	       (decoder_has(in->decoder, ROLE_SWAP_WRITE, 0) ||
		decoder_has(in->decoder, ROLE_WRITE_FOLIO, 0));
}

bool interpret_sees_batches(const struct interpreter *in)
{
	return decoder_has(in->decoder, ROLE_BATCH_FLUSH, 0);
}

bool interpret_sees(const struct interpreter *in, enum point point)
{
	const struct decoder *d = in->decoder;

	if (in->arch == ARCH_X86) {
		bool flush = decoder_has(d, ROLE_TLB_FLUSH, -1);

		switch (point) {
		case POINT_WP_REUSE:
		case POINT_DIRTY_UP:
		case POINT_COW:
		case POINT_SWITCH:
			return flush;
		case POINT_FORK:
			return flush && in->has_flush_range && decoder_has(d, ROLE_COPY_RANGE, -1);
		case POINT_NESTED:
		case POINT_EXIT:
			return flush && in->has_flush_range;
		default:
			return false;
		}
	}
	switch (point) {
	case POINT_WP_REUSE:
	case POINT_DIRTY_UP:
		return decoder_has_site(d, NR_POINTS, TLBI_SITE_UPGRADE);
	case POINT_COW:
		return decoder_has_site(d, NR_POINTS, TLBI_SITE_CLEAR_FLUSH);
	case POINT_UNMAP:
	case POINT_TABLES_FREED:
	case POINT_PROTECT:
	case POINT_EXIT:
		return decoder_has_site(d, NR_POINTS, TLBI_SITE_GATHER);
	case POINT_MREMAP:
		return decoder_has_site(d, NR_POINTS, TLBI_SITE_RANGE);
	default:
		return decoder_has_site(d, point, TLBI_SITE_PLAIN);
	}
}

bool interpret_feeds(const struct interpreter *in, enum point point)
{
	const struct decoder *d = in->decoder;
	bool hw = decoder_has(d, ROLE_HW_FAULT, -1) && !in->has_set_flags;

	switch (point) {
	case POINT_WP_REUSE:
		return in->has_set_flags || hw;
	case POINT_DIRTY_UP:
	case POINT_YOUNG:
		return in->has_set_flags;
	case POINT_SPURIOUS:
		return in->has_set_flags || hw;
	case POINT_COW:
		return decoder_has(d, ROLE_CLEAR_FLUSH, -1) || hw;
	case POINT_FORK:
		return in->has_newtask || decoder_has(d, ROLE_COPY_RANGE, -1);
	case POINT_PROTECT:
	case POINT_NUMA:
		return decoder_has(d, ROLE_PROTECT, -1);
	case POINT_TABLES_FREED:
		return in->has_gather;
	case POINT_NESTED:
		return in->has_flush_range && !in->has_gather;
	case POINT_EXIT:
		return in->has_gather || in->has_exit_mmap || in->has_flush_range ||
		       decoder_has(d, ROLE_TASK_EXIT, -1);
	case POINT_SWITCH:
		return decoder_has(d, ROLE_SWITCH, -1);
	case POINT_AGE:
		return decoder_has(d, ROLE_AGE_ONE, 0) ||
		       decoder_has_site(d, point, TLBI_SITE_PLAIN);
	case POINT_RECLAIM:
		return decoder_has(d, ROLE_UNMAP_ONE, 1) ||
		       decoder_has_site(d, point, TLBI_SITE_PLAIN);
	case POINT_UNMAP:
		return decoder_has_site(d, NR_POINTS, TLBI_SITE_GATHER);
	case POINT_MREMAP:
		return decoder_has_site(d, NR_POINTS, TLBI_SITE_RANGE) ||
		       decoder_has_site(d, point, TLBI_SITE_PLAIN);
	default:
		return decoder_has_site(d, point, TLBI_SITE_PLAIN);
	}
}

const char *interpret_kernel_policy(const struct interpreter *in)
{
	const struct interpret_counts *c = &in->counts;
	uint64_t all = c->upgrade_broadcast + c->upgrade_local + c->upgrade_none;

	if (!all || !interpret_sees(in, POINT_WP_REUSE))
		return NULL;
	if (in->arch == ARCH_X86)
		return c->upgrade_none * 2 > all ? "x86" : NULL;
	if (c->upgrade_broadcast * 2 > all)
		return "arm64-broadcast";
	if (c->upgrade_local * 2 > all)
		return "arm64-local";
	return NULL;
}
