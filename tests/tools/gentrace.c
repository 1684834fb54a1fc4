// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gentrace - write a synthetic trace.dat from a seed
 *
 *   gentrace [options] OUT.dat
 *
 * For the benchmark (files of any size) and for tests (every variant of the container). What it
 * writes is a small simulated machine: CPUs with clocks of their own, a run queue, processes with
 * threads and pages, and the events that a kernel's probes would have written while they ran. What
 * happened is counted as it happens and printed as one line of key=value on standard output, so
 * that a test can compare what a reader found with what was put in. Same options, same bytes.
 *
 * Of loss it says: lost_events, the sum of the counts that pages carry; lost_counted and
 * lost_unknown, the pages flagged with and without a count; lost_first, those of them that are a
 * CPU's first page.
 *
 *   --events N         events in all (k and M are thousands and millions)      [1M]
 *   --cpus N           CPUs, to 4096                                           [4]
 *   --seed S           [1]
 *   --version 6|7      of the container                                        [7]
 *   --compression none|zstd   zstd is version 7 only, chunks of ten pages      [none]
 *   --endian little|big       [little]
 *   --long 4|8         bytes in the kernel's long                              [8]
 *   --page-size BYTES  4096 to 65536, of the ring buffer and of the memory     [4096]
 *   --arch arm64|x86   [from the workload]
 *   --workload NAME    forkwp, x86tp or sched                                  [from the arch]
 *   --buffers N        trace instances beside the top level one (version 7)    [0]
 *   --gaps             CPU numbers with holes
 *   --lost             mark pages as "events were lost before", with and without a count
 *   --rt               common fields of 12 bytes, as PREEMPT_RT kernels have
 *   --absolute         absolute time stamps where a time extend would do
 *   --discard          records that were reserved and thrown away, as event filters leave them
 *   --processes N      [half the CPUs, at least 2]
 *   --threads N        of each process                                         [4]
 *   --pages N          of each process                                         [2048]
 *
 * Workloads:
 *
 *   forkwp  arm64, function and TLBI probes as tlbcapture makes them. Each process forks, which
 *           makes all its pages read-only; its threads then write them: a fault, do_wp_page, a
 *           TLBI, the new PTE, the return. While the child lives the write copies the page instead.
 *           Among that: faults that change nothing, mprotect, gathers with and without freed
 *           tables, exec, exit.
 *   x86tp   the same machine seen through x86 tracepoints only.
 *   sched   scheduler and softirq events without page faults, about 37 bytes each in the file.
 *
 * How it stays small and quick. Pages of a CPU must lie together in the file, but they fill up
 * interleaved, and where a CPU's data start is known only when all sizes are. So full pages go to
 * an unlinked pool file beside OUT.dat in extents of up to ten pages, and are gathered from there
 * CPU by CPU. Memory is one extent per CPU and buffer, 4 bytes per extent written, and the machine.
 *
 * Time. The machine always runs the CPU with the lowest clock, for one operation (a fault, a fork).
 * An operation changes the shared state at once while its events are spread over the following
 * microseconds; operations that would hold mmap_lock for writing therefore wait for those under way
 * and hold up those that follow, and the order of events is one that a kernel could have produced.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_CPUS      4096
#define MAX_PROCESSES 8192
#define CHUNK_PAGES   10
#define FIRST_NS      10000000000ULL

enum workload {
	FORKWP,
	X86TP,
	SCHED,
	NR_WORKLOADS
};
static const char *const workload_names[] = {"forkwp", "x86tp", "sched"};

static struct {
	uint64_t events, seed;
	unsigned int cpus, version, long_size, page_size, buffers;
	unsigned int processes, threads, pages;
	bool zstd, big, x86, gaps, lost, rt, absolute, discard;
	enum workload workload;
	const char *out;
} opt = {
	.events = 1000000,
	.seed = 1,
	.cpus = 4,
	.version = 7,
	.long_size = 8,
	.page_size = 4096,
	.threads = 4,
	.pages = 2048,
};

static unsigned int page_shift;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	fputs("gentrace: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void *zalloc(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size);

	if (!p)
		die("out of memory");
	return p;
}

static uint64_t random_state;

/* xorshift64*: good enough for a workload, and the same everywhere. */
static inline uint64_t rnd(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 0x2545f4914f6cdd1dULL;
}

/* ---- Numbers in the file's byte order ------------------------------------------------- */

static inline void put16(void *p, uint16_t v)
{
	v = opt.big ? htobe16(v) : htole16(v);
	memcpy(p, &v, 2);
}

static inline void put32(void *p, uint32_t v)
{
	v = opt.big ? htobe32(v) : htole32(v);
	memcpy(p, &v, 4);
}

static inline void put64(void *p, uint64_t v)
{
	v = opt.big ? htobe64(v) : htole64(v);
	memcpy(p, &v, 8);
}

static inline void put_long(void *p, uint64_t v)
{
	if (opt.long_size == 8)
		put64(p, v);
	else
		put32(p, v);
}

/* ---- Event formats -------------------------------------------------------------------- */

/*
 * Types of fields. Tracepoints are C structs, so their fields are aligned; the arguments of a probe
 * are packed behind an aligned head.
 */
enum type {
	T_END,
	T_LONG,
	T_ULONG,
	T_U64,
	T_U32,
	T_UINT,
	T_S32,
	T_INT,
	T_PID,
	T_U8,
	T_SHORT,
	T_COMM,
	T_FILENAME,
	T_TEXT
};

static const struct {
	const char *decl, *array; /* "TYPE NAME ARRAY" */
	int size;                 /* bytes; 0: a long */
	bool is_signed;
	const char *probe_format; /* as a probe's print format shows it */
} types[] = {
	[T_LONG] = {"long", "", 0, true, ""},
	[T_ULONG] = {"unsigned long", "", 0, false, ""},
	[T_U64] = {"u64", "", 8, false, "0x%Lx"},
	[T_U32] = {"u32", "", 4, false, "0x%x"},
	[T_UINT] = {"unsigned int", "", 4, false, ""},
	[T_S32] = {"s32", "", 4, true, "%d"},
	[T_INT] = {"int", "", 4, true, ""},
	[T_PID] = {"pid_t", "", 4, true, ""},
	[T_U8] = {"u8", "", 1, false, "%u"},
	[T_SHORT] = {"short", "", 2, true, ""},
	[T_COMM] = {"char", "[16]", 16, false, ""},
	[T_FILENAME] = {"__data_loc char[]", "", 4, false, ""},
	[T_TEXT] = {"char", "[]", 0, false, ""},
};

#define MAX_FIELDS 8

enum system_id {
	SYS_FTRACE,
	SYS_PROBE,
	SYS_TLBI,
	SYS_SCHED,
	SYS_TASK,
	SYS_IRQ,
	SYS_EXCEPTIONS,
	SYS_TLB,
	NR_SYSTEMS
};
static const char *const system_names[] = {"ftrace", "tlbr", "tlbr_tlbi",  "sched",
					   "task",   "irq",  "exceptions", "tlb"};

enum event_id {
	EV_PRINT,
	EV_FAULT,
	EV_FAULT_RET,
	EV_WP,
	EV_SET_FLAGS_RET,
	EV_CLEAR_FLUSH,
	EV_FINISH,
	EV_COPY_RANGE,
	EV_PROTECT,
	EV_LOAD,
	EV_EXIT_MMAP,
	EV_TLBI_SET_FLAGS,
	EV_TLBI_CLEAR_FLUSH,
	EV_TLBI_FORK,
	EV_TLBI_MM,
	EV_TLBI_LEAVES,
	EV_TLBI_TABLES,
	EV_SWITCH,
	EV_WAKING,
	EV_FORK,
	EV_EXEC,
	EV_EXIT,
	EV_NEWTASK,
	EV_SOFTIRQ_ENTRY,
	EV_SOFTIRQ_EXIT,
	EV_FAULT_USER,
	EV_TLB_FLUSH,
	NR_EVENTS
};

enum {
	IN_FORKWP = 1 << FORKWP,
	IN_X86TP = 1 << X86TP,
	IN_SCHED = 1 << SCHED,
	IN_ALL = 7
};

#define MASK_STATE "0xff"

/* clang-format off */
static const struct event {
	const char *name;
	enum system_id system;
	unsigned int workloads; /* that record it */
	bool is_probe, is_return;
	struct {
		enum type type;
		const char *name;
	} fields[MAX_FIELDS]; /* of a probe: the arguments only */
	const char *print; /* of a tracepoint */
} events[] = {
	[EV_PRINT] = {"print", SYS_FTRACE, IN_ALL, false, false, {{T_ULONG, "ip"}, {T_TEXT, "buf"}},
		"\"%ps: %s\", (void *)REC->ip, REC->buf"},
	[EV_FAULT] = {"handle_mm_fault", SYS_PROBE, IN_FORKWP, true, false,
		{{T_U64, "mm"}, {T_U64, "addr"}, {T_U32, "flags"}, {T_U64, "upc"}}, NULL},
	[EV_FAULT_RET] = {"handle_mm_fault_ret", SYS_PROBE, IN_FORKWP, true, true,
		{{T_U64, "addr"}, {T_U32, "ret"}}, NULL},
	[EV_WP] = {"do_wp_page", SYS_PROBE, IN_FORKWP, true, false,
		{{T_U64, "mm"}, {T_U64, "addr"}, {T_U64, "raddr"}, {T_U32, "flags"},
		 {T_U64, "opte"}}, NULL},
	[EV_SET_FLAGS_RET] = {"ptep_set_access_flags_ret", SYS_PROBE, IN_FORKWP, true, true,
		{{T_U64, "mm"}, {T_U64, "addr"}, {T_U64, "pte"}, {T_U64, "entry"}, {T_U8, "dirty"},
		 {T_S32, "ret"}}, NULL},
	[EV_CLEAR_FLUSH] = {"ptep_clear_flush", SYS_PROBE, IN_FORKWP, true, false,
		{{T_U64, "mm"}, {T_U64, "addr"}, {T_U64, "pte"}}, NULL},
	[EV_FINISH] = {"tlb_finish_mmu", SYS_PROBE, IN_FORKWP, true, false,
		{{T_U64, "mm"}, {T_U64, "start"}, {T_U64, "end"}, {T_U32, "bits"}}, NULL},
	[EV_COPY_RANGE] = {"copy_page_range", SYS_PROBE, IN_FORKWP, true, false,
		{{T_U64, "dmm"}, {T_U64, "smm"}, {T_U64, "start"}, {T_U64, "end"}}, NULL},
	[EV_PROTECT] = {"change_protection", SYS_PROBE, IN_FORKWP, true, false,
		{{T_U64, "mm"}, {T_U64, "start"}, {T_U64, "end"}, {T_U64, "cpflags"}}, NULL},
	[EV_LOAD] = {"check_and_switch_context", SYS_PROBE, IN_FORKWP, true, false,
		{{T_U64, "mm"}}, NULL},
	[EV_EXIT_MMAP] = {"exit_mmap", SYS_PROBE, IN_FORKWP, true, false, {{T_U64, "mm"}}, NULL},
	[EV_TLBI_SET_FLAGS] = {"__ptep_set_access_flags__vale1is__1", SYS_TLBI, IN_FORKWP, true,
		false, {{T_U64, "op"}}, NULL},
	[EV_TLBI_CLEAR_FLUSH] = {"ptep_clear_flush__vale1is__68", SYS_TLBI, IN_FORKWP, true, false,
		{{T_U64, "op"}}, NULL},
	[EV_TLBI_FORK] = {"copy_mm__aside1is__16", SYS_TLBI, IN_FORKWP, true, false,
		{{T_U64, "op"}}, NULL},
	[EV_TLBI_MM] = {"tlb_flush__aside1is__34", SYS_TLBI, IN_FORKWP, true, false,
		{{T_U64, "op"}}, NULL},
	[EV_TLBI_LEAVES] = {"tlb_flush__rvale1is__50", SYS_TLBI, IN_FORKWP, true, false,
		{{T_U64, "op"}}, NULL},
	[EV_TLBI_TABLES] = {"tlb_flush__vae1is__28", SYS_TLBI, IN_FORKWP, true, false,
		{{T_U64, "op"}}, NULL},
	[EV_SWITCH] = {"sched_switch", SYS_SCHED, IN_ALL, false, false,
		{{T_COMM, "prev_comm"}, {T_PID, "prev_pid"}, {T_INT, "prev_prio"},
		 {T_LONG, "prev_state"}, {T_COMM, "next_comm"}, {T_PID, "next_pid"},
		 {T_INT, "next_prio"}},
		"\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s "
		"next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, "
		"(REC->prev_state & " MASK_STATE ") ? __print_flags(REC->prev_state & " MASK_STATE
		", \"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, "
		"{ 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, "
		"{ 0x00000080, \"I\" }) : \"R\", REC->next_comm, REC->next_pid, REC->next_prio"},
	[EV_WAKING] = {"sched_waking", SYS_SCHED, IN_SCHED, false, false,
		{{T_COMM, "comm"}, {T_PID, "pid"}, {T_INT, "prio"}, {T_INT, "target_cpu"}},
		"\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, "
		"REC->target_cpu"},
	[EV_FORK] = {"sched_process_fork", SYS_SCHED, IN_FORKWP, false, false,
		{{T_COMM, "parent_comm"}, {T_PID, "parent_pid"}, {T_COMM, "child_comm"},
		 {T_PID, "child_pid"}},
		"\"comm=%s pid=%d child_comm=%s child_pid=%d\", REC->parent_comm, REC->parent_pid, "
		"REC->child_comm, REC->child_pid"},
	[EV_EXEC] = {"sched_process_exec", SYS_SCHED, IN_FORKWP | IN_X86TP, false, false,
		{{T_FILENAME, "filename"}, {T_PID, "pid"}, {T_PID, "old_pid"}},
		"\"filename=%s pid=%d old_pid=%d\", __get_str(filename), REC->pid, REC->old_pid"},
	[EV_EXIT] = {"sched_process_exit", SYS_SCHED, IN_FORKWP | IN_X86TP, false, false,
		{{T_COMM, "comm"}, {T_PID, "pid"}, {T_INT, "prio"}},
		"\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio"},
	[EV_NEWTASK] = {"task_newtask", SYS_TASK, IN_FORKWP | IN_X86TP, false, false,
		{{T_PID, "pid"}, {T_COMM, "comm"}, {T_ULONG, "clone_flags"},
		 {T_SHORT, "oom_score_adj"}},
		"\"pid=%d comm=%s clone_flags=%lx oom_score_adj=%hd\", REC->pid, REC->comm, "
		"REC->clone_flags, REC->oom_score_adj"},
	[EV_SOFTIRQ_ENTRY] = {"softirq_entry", SYS_IRQ, IN_SCHED, false, false,
		{{T_UINT, "vec"}}, "\"vec=%u\", REC->vec"},
	[EV_SOFTIRQ_EXIT] = {"softirq_exit", SYS_IRQ, IN_SCHED, false, false,
		{{T_UINT, "vec"}}, "\"vec=%u\", REC->vec"},
	[EV_FAULT_USER] = {"page_fault_user", SYS_EXCEPTIONS, IN_X86TP, false, false,
		{{T_ULONG, "address"}, {T_ULONG, "ip"}, {T_ULONG, "error_code"}},
		"\"address=%ps ip=%ps error_code=0x%lx\", (void *)REC->address, (void *)REC->ip, "
		"REC->error_code"},
	[EV_TLB_FLUSH] = {"tlb_flush", SYS_TLB, IN_X86TP, false, false,
		{{T_INT, "reason"}, {T_ULONG, "pages"}},
		"\"pages:%ld reason:%s (%d)\", REC->pages, __print_symbolic(REC->reason, "
		"{ 0, \"flush on task switch\" }, { 1, \"remote shootdown\" }, "
		"{ 2, \"local shootdown\" }, { 3, \"local mm shootdown\" }, "
		"{ 4, \"remote ipi send\" }), REC->reason"},
};
/* clang-format on */

/* Where the fields of an event lie in this file's variant. Probes: the head comes first. */
static struct layout {
	unsigned int id, nr, size; /* size: bytes of the record without text behind it */
	uint8_t type[MAX_FIELDS + 2], bytes[MAX_FIELDS + 2];
	const char *name[MAX_FIELDS + 2];
	uint16_t offset[MAX_FIELDS + 2];
} layouts[NR_EVENTS];

/* Addresses of the probed instructions, and the functions they lie in. */
static uint64_t sites[NR_EVENTS];
static const struct {
	const char *function;
	enum event_id event; /* whose place it begins */
} functions[] = {
	{"tracing_mark_write", EV_PRINT},
	{"handle_mm_fault", EV_FAULT},
	{"do_wp_page", EV_WP},
	{"__ptep_set_access_flags", EV_SET_FLAGS_RET},
	{"ptep_clear_flush", EV_CLEAR_FLUSH},
	{"tlb_finish_mmu", EV_FINISH},
	{"copy_page_range", EV_COPY_RANGE},
	{"change_protection", EV_PROTECT},
	{"check_and_switch_context", EV_LOAD},
	{"exit_mmap", EV_EXIT_MMAP},
	{"copy_mm", EV_TLBI_FORK},
	{"tlb_flush", EV_TLBI_MM},
};

static void place_sites(void)
{
	uint64_t base = opt.x86 ? 0xffffffff81000000ULL : 0xffff800080000000ULL;
	unsigned int ev;

	for (ev = 0; ev < NR_EVENTS; ev++)
		sites[ev] = base + 0x10000ULL * (ev + 1);
	sites[EV_FAULT_RET] = sites[EV_FAULT];
	sites[EV_TLBI_SET_FLAGS] = sites[EV_SET_FLAGS_RET] + 0x90;
	sites[EV_TLBI_CLEAR_FLUSH] = sites[EV_CLEAR_FLUSH] + 0x70;
	sites[EV_TLBI_LEAVES] = sites[EV_TLBI_MM] + 0x15c;
	sites[EV_TLBI_TABLES] = sites[EV_TLBI_MM] + 0x1f0;
}

static unsigned int common_size(void)
{
	return opt.rt ? 12 : 8;
}

static unsigned int round_up(unsigned int n, unsigned int to)
{
	return (n + to - 1) / to * to;
}

static void lay_out(enum event_id ev)
{
	const struct event *e = &events[ev];
	struct layout *l = &layouts[ev];
	unsigned int at = common_size(), widest = 4, i;

	/* clang-format off */
#define ADD(TYPE, NAME, ALIGN)                                                                     \
	do {                                                                                       \
		unsigned int bytes_ = types[TYPE].size ? (unsigned int)types[TYPE].size            \
						       : opt.long_size;                            \
		if ((TYPE) == T_TEXT)                                                              \
			bytes_ = 0;                                                                \
		if ((ALIGN) && (TYPE) != T_COMM && bytes_ > 1) {                                   \
			at = round_up(at, bytes_);                                                 \
			widest = bytes_ > widest ? bytes_ : widest;                                \
		}                                                                                  \
		l->type[l->nr] = (TYPE);                                                           \
		l->bytes[l->nr] = bytes_;                                                          \
		l->name[l->nr] = (NAME);                                                           \
		l->offset[l->nr++] = at;                                                           \
		at += bytes_;                                                                      \
	} while (0)
	if (e->is_return) {
		ADD(T_ULONG, "__probe_func", true);
		ADD(T_ULONG, "__probe_ret_ip", true);
	} else if (e->is_probe) {
		ADD(T_ULONG, "__probe_ip", true);
	}
	for (i = 0; i < MAX_FIELDS && e->fields[i].type; i++)
		ADD(e->fields[i].type, e->fields[i].name, !e->is_probe);
#undef ADD
	/* clang-format on */
	l->size = e->is_probe || e->system == SYS_FTRACE ? at : round_up(at, widest);
	/* Ids of a kernel depend on its configuration; nobody may rely on them. */
	l->id = e->system == SYS_FTRACE ? 5 : 300 + opt.seed % 97 + ev * 3;
}

/* ---- A growing piece of memory, for all that is not event data ------------------------ */

struct blob {
	uint8_t *data;
	size_t size, room;
};

static void *blob_add(struct blob *b, const void *data, size_t size)
{
	uint8_t *p;

	if (b->size + size > b->room) {
		b->room = (b->size + size) * 2 + 4096;
		b->data = realloc(b->data, b->room);
		if (!b->data)
			die("out of memory");
	}
	p = b->data + b->size;
	if (data)
		memcpy(p, data, size);
	else
		memset(p, 0, size);
	b->size += size;
	return p;
}

static void blob_16(struct blob *b, uint16_t v)
{
	put16(blob_add(b, NULL, 2), v);
}

static void blob_32(struct blob *b, uint32_t v)
{
	put32(blob_add(b, NULL, 4), v);
}

static void blob_64(struct blob *b, uint64_t v)
{
	put64(blob_add(b, NULL, 8), v);
}

static void blob_string(struct blob *b, const char *s)
{
	blob_add(b, s, strlen(s) + 1);
}

static void __attribute__((format(printf, 2, 3))) blob_text(struct blob *b, const char *format, ...)
{
	char text[2048];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text))
		die("text too long");
	blob_add(b, text, n);
}

static void format_field(struct blob *b, const char *decl, const char *name, const char *array,
			 unsigned int offset, unsigned int size, bool is_signed)
{
	blob_text(b, "\tfield:%s %s%s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", decl, name, array,
		  offset, size, is_signed);
}

/* The text of one format file, as tracefs shows it. */
static void format_text(struct blob *b, enum event_id ev)
{
	const struct event *e = &events[ev];
	const struct layout *l = &layouts[ev];
	unsigned int i, head = e->is_return ? 2 : 1;

	blob_text(b, "name: %s\nID: %u\nformat:\n", e->name, l->id);
	format_field(b, "unsigned short", "common_type", "", 0, 2, false);
	format_field(b, "unsigned char", "common_flags", "", 2, 1, false);
	format_field(b, "unsigned char", "common_preempt_count", "", 3, 1, false);
	format_field(b, "int", "common_pid", "", 4, 4, true);
	if (opt.rt)
		format_field(b, "unsigned char", "common_preempt_lazy_count", "", 8, 1, false);
	blob_text(b, "\n");
	for (i = 0; i < l->nr; i++) {
		/* char is signed on x86 and not on arm64, and format files say so. */
		bool sign = types[l->type[i]].is_signed || (l->type[i] == T_COMM && opt.x86);

		format_field(b, types[l->type[i]].decl, l->name[i], types[l->type[i]].array,
			     l->offset[i], l->bytes[i], sign);
	}
	blob_text(b, "\nprint fmt: ");
	if (!e->is_probe) {
		blob_text(b, "%s\n", e->print);
		return;
	}
	blob_text(b, "%s", e->is_return ? "\"(%lx <- %lx)" : "\"(%lx)");
	for (i = head; i < l->nr; i++)
		blob_text(b, " %s=%s", l->name[i], types[l->type[i]].probe_format);
	blob_text(b, "\"");
	for (i = 0; i < l->nr; i++)
		blob_text(b, ", REC->%s", l->name[i]);
	blob_text(b, "\n");
}

/* ---- Pages ---------------------------------------------------------------------------- */

/* What one CPU writes into one buffer. */
struct stream {
	uint8_t *extent, *page; /* page: the open one in extent, or NULL */
	unsigned int full;      /* pages of the extent that are complete */
	unsigned int at, room;  /* in the open page: next byte, first byte not to be used */
	uint64_t last_ns, pages, records;
	uint32_t *extents; /* numbers in the pool */
	size_t nr_extents, room_extents;
	uint64_t lost, missed_count; /* of the open page: 0 none, 1 unknown, 2 missed_count */
	uint64_t file_offset, file_size;
};

static struct stream *streams; /* [buffer * cpus + cpu] */
static unsigned int nr_buffers;
static unsigned int extent_pages;
static int pool_fd = -1;
static uint32_t pool_extents;
static unsigned int page_head; /* bytes before the data of a page */

static struct {
	uint64_t events, missed_events, missed_counted, missed_unknown, missed_first, discarded;
	uint64_t extends;
	uint64_t *cpu_missed; /* of the top level buffer */
	uint64_t by_event[NR_EVENTS];
	uint64_t wp_reuse, cow, new_pages, spurious, spurious_read, forks, execs, exits, mprotects;
	uint64_t unmaps, tables_freed, mm_loads, tlbi, shootdowns;
} facts;

static void write_all(int fd, const void *data, size_t size, uint64_t offset)
{
	const uint8_t *p = data;

	while (size) {
		ssize_t n = pwrite(fd, p, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("%s: cannot write: %s", opt.out, n ? strerror(errno) : "no room");
		p += n;
		offset += n;
		size -= n;
	}
}

static void read_all(int fd, void *data, size_t size, uint64_t offset)
{
	uint8_t *p = data;

	while (size) {
		ssize_t n = pread(fd, p, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("%s: cannot read back: %s", opt.out, n ? strerror(errno) : "short");
		p += n;
		offset += n;
		size -= n;
	}
}

static void close_page(struct stream *s)
{
	uint64_t commit = s->at - page_head;

	if (s->lost) {
		commit |= 1ULL << 31;
		if (s->lost == 2) {
			put_long(s->page + s->at, s->missed_count);
			commit |= 1ULL << 30;
		}
	}
	put_long(s->page + 8, commit);
	s->page = NULL;
	s->full++;
	s->pages++;
}

static void spill(struct stream *s)
{
	size_t bytes = (size_t)extent_pages * opt.page_size;

	if (s->nr_extents == s->room_extents) {
		s->room_extents = s->room_extents * 2 + 16;
		s->extents = realloc(s->extents, s->room_extents * sizeof(*s->extents));
		if (!s->extents)
			die("out of memory");
	}
	write_all(pool_fd, s->extent, bytes, pool_extents * (uint64_t)bytes);
	s->extents[s->nr_extents++] = pool_extents++;
	s->full = 0;
}

static void open_page(struct stream *s, uint64_t now_ns)
{
	unsigned int nr = s - streams, cpu = nr % opt.cpus;

	if (s->full == extent_pages)
		spill(s);
	if (!s->extent)
		s->extent = zalloc(extent_pages, opt.page_size);
	s->page = s->extent + (size_t)s->full * opt.page_size;
	memset(s->page, 0, opt.page_size);
	put64(s->page, now_ns);
	s->at = page_head;
	s->room = opt.page_size;
	s->last_ns = now_ns;
	s->lost = 0;
	if (!opt.lost)
		return;
	/* Not from rnd(): the events must be the same with and without --lost. */
	if (s->pages == 0)
		s->lost = cpu % 3 == 0 ? 1 : cpu % 3 == 1 ? 2 : 0;
	else
		s->lost = s->pages % 7 == 3 ? 2 : s->pages % 11 == 5 ? 1 : 0;
	if (!s->lost)
		return;
	s->missed_count = 1 + (nr * 37 + s->pages * 101) % 1000;
	if (s->lost == 2) {
		s->room -= opt.long_size;
		facts.missed_events += s->missed_count;
		facts.missed_counted++;
	} else {
		facts.missed_unknown++;
	}
	facts.missed_first += s->pages == 0;
	if (nr < opt.cpus)
		facts.cpu_missed[cpu] += s->missed_count;
}

static inline void put_record_head(uint8_t *p, unsigned int type_len, uint32_t delta)
{
	put32(p, opt.big ? type_len << 27 | delta : delta << 5 | type_len);
}

/* Room for a record of SIZE bytes at NOW_NS. Returns where its data go; they are zero. */
static inline uint8_t *reserve(struct stream *s, uint64_t now_ns, unsigned int size)
{
	unsigned int data = (size + 3) & ~3u, need = 4 + data;
	uint64_t delta = now_ns - s->last_ns;
	uint8_t *p;

	if (data > 112)
		need += 4;
	if (!s->page || s->at + need + (delta >> 27 ? 8 : 0) > s->room) {
		if (s->page)
			close_page(s);
		open_page(s, now_ns);
		delta = 0;
	}
	p = s->page + s->at;
	if (delta >> 27) {
		uint64_t value = opt.absolute ? now_ns : delta;

		put_record_head(p, opt.absolute ? 31 : 30, value & ((1 << 27) - 1));
		put32(p + 4, value >> 27);
		p += 8;
		delta = 0;
		facts.extends++;
	}
	s->last_ns = now_ns;
	if (data > 112) {
		put_record_head(p, 0, delta);
		put32(p + 4, data + 4);
		p += 8;
	} else {
		put_record_head(p, data / 4, delta);
		p += 4;
	}
	s->at = p + data - s->page;
	return p;
}

/*
 * A record that its writer threw away after reserving it. Readers must take its time along, which
 * is never 0: that would end the page. Returns the time at which the next record may follow.
 */
static uint64_t discard_record(struct stream *s, uint64_t now_ns)
{
	uint8_t *p = reserve(s, now_ns, 28);
	uint32_t head, delta;

	memcpy(&head, p - 4, 4);
	head = opt.big ? be32toh(head) : le32toh(head);
	delta = opt.big ? head & ((1 << 27) - 1) : head >> 5;
	if (!delta) {
		delta = 1;
		s->last_ns = ++now_ns;
	}
	put_record_head(p - 4, 29, delta);
	put32(p, 28);
	facts.discarded++;
	return now_ns;
}

/* ---- The machine ---------------------------------------------------------------------- */

enum program {
	PROG_SHELL,
	PROG_START,
	PROG_THREAD,
	PROG_CHILD,
	PROG_IDLE
};

struct mm {
	uint64_t ptr, serial; /* serial: counts mms, pointers come back */
	uint64_t asid, slot;
	uint32_t *stamp;    /* per page: generation in which it became writable; 0: not present */
	uint32_t gen;       /* counts forks: pages with an older stamp are read-only */
	uint32_t pending;   /* pages that a write would fault on */
	uint32_t scan;      /* where to look for one */
	struct task *child; /* the child that still shares the pages */
	bool has_child;     /* it has not ended */
	uint64_t shared_ns; /* or shared them until then */
	unsigned int refs;  /* CPUs that have it loaded, if only lazily */
	uint64_t dead_ns;   /* exit_mmap is done; 0: it lives */
	uint64_t busy_ns;   /* mmap_lock is held for writing until then */
	uint64_t quiet_ns;  /* the last operation under way ends then */
};

struct task {
	int pid;
	char comm[16];
	enum program program;
	struct mm *mm, *parent;
	struct cpu *cpu;
	unsigned int process, thread;
	uint32_t gen, next; /* cursor over its own pages, valid for that generation */
	unsigned int phase;
	uint64_t ready_ns; /* it cannot run anywhere before */
};

struct cpu {
	uint64_t now_ns, last_ns; /* last_ns: of the last event */
	struct task *task, idle;
	struct mm *loaded; /* the mm that is loaded, if only lazily */
	unsigned int number, quantum, turn;
};

static struct cpu *cpus;
static struct task *tasks, **free_tasks, **queue;
static unsigned int nr_free_tasks, queue_mask, queue_head, queue_length;
static unsigned int *idle_cpus, idle_head, nr_idle;
static struct task *process_tasks; /* [process * threads + thread] */
static uint32_t *heap;             /* CPU numbers by (now_ns, number) */
static unsigned int heap_size;
static uint64_t mm_serial, asid_next;
static uint8_t *asid_used, *pid_used;
static int pid_next, pid_max;
static struct slot {
	uint64_t number, free_ns;
} mm_slots[2 * (MAX_PROCESSES + MAX_CPUS) + 4]; /* of mms that are gone */
static uint64_t mm_slot_next;
static unsigned int nr_mm_slots;
static unsigned int spawned;

static inline bool earlier(uint32_t a, uint32_t b)
{
	return cpus[a].now_ns != cpus[b].now_ns ? cpus[a].now_ns < cpus[b].now_ns : a < b;
}

static void sift_down(unsigned int i)
{
	uint32_t cpu = heap[i];

	for (;;) {
		unsigned int child = 2 * i + 1;

		if (child >= heap_size)
			break;
		if (child + 1 < heap_size && earlier(heap[child + 1], heap[child]))
			child++;
		if (!earlier(heap[child], cpu))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = cpu;
}

static void heap_push(uint32_t cpu)
{
	unsigned int i = heap_size++;

	while (i && earlier(cpu, heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = cpu;
}

/* Which instance an event goes to: the scheduler's to the first, life and death to the second. */
static inline unsigned int buffer_of(enum event_id ev)
{
	if (opt.buffers >= 1 && ev == EV_SWITCH)
		return 1;
	if (opt.buffers >= 2 && ev >= EV_FORK && ev <= EV_NEWTASK)
		return 2;
	return 0;
}

/*
 * One event on C at NOW_NS. VALUES are the fields in order; a comm is a pointer to its 16 bytes.
 * TEXT goes behind the fixed part. Returns a time at which the next event on C may follow.
 */
static uint64_t emit_text(struct cpu *c, uint64_t now_ns, enum event_id ev, const uint64_t *values,
			  const char *text)
{
	const struct layout *l = &layouts[ev];
	struct stream *s = &streams[buffer_of(ev) * opt.cpus + c->number];
	unsigned int i, size = l->size + (text ? strlen(text) + 1 : 0);
	uint8_t *p;

	if (now_ns <= c->last_ns)
		now_ns = c->last_ns + 1;
	c->last_ns = now_ns;
	if (opt.discard && facts.events % 61 == 60)
		c->last_ns = now_ns = discard_record(s, now_ns);
	p = reserve(s, now_ns, size);
	put16(p, l->id);
	p[3] = 1;
	put32(p + 4, c->task->pid);
	for (i = 0; i < l->nr; i++) {
		uint8_t *f = p + l->offset[i];

		switch (l->type[i]) {
		case T_COMM:
			memcpy(f, (const void *)(uintptr_t)values[i], 16);
			break;
		case T_FILENAME:
			put32(f, (uint32_t)(text ? strlen(text) + 1 : 0) << 16 | l->size);
			break;
		case T_TEXT:
			break;
		default:
			switch (l->bytes[i]) {
			case 8:
				put64(f, values[i]);
				break;
			case 4:
				put32(f, values[i]);
				break;
			case 2:
				put16(f, values[i]);
				break;
			default:
				*f = values[i];
			}
		}
	}
	if (text)
		memcpy(p + l->size, text, strlen(text) + 1);
	s->records++;
	facts.events++;
	facts.by_event[ev]++;
	return now_ns;
}

#define EMIT(C, NOW, EV, ...) emit_text(C, NOW, EV, (const uint64_t[]){__VA_ARGS__}, NULL)
#define EMIT_TEXT(C, NOW, EV, TEXT, ...) \
	emit_text(C, NOW, EV, (const uint64_t[]){__VA_ARGS__}, TEXT)
/* A probe at the entry of a function, one at its return, one on a TLBI instruction. */
#define PROBE(C, NOW, EV, ...)    EMIT(C, NOW, EV, sites[EV], __VA_ARGS__)
#define RETPROBE(C, NOW, EV, ...) EMIT(C, NOW, EV, sites[EV], sites[EV_WP] + 0x840, __VA_ARGS__)
#define COMM(TASK)                ((uint64_t)(uintptr_t)(TASK)->comm)

static uint64_t tlbi(struct cpu *c, uint64_t now_ns, enum event_id ev, const struct mm *mm,
		     uint64_t address)
{
	facts.tlbi++;
	return PROBE(c, now_ns, ev, mm->asid << 48 | address >> 12);
}

/* Last-level range operation on PAGES (even, to 64) pages. */
static uint64_t tlbi_range(struct cpu *c, uint64_t now_ns, const struct mm *mm, uint64_t address,
			   unsigned int pages)
{
	uint64_t granule = opt.page_size == 65536 ? 3 : opt.page_size == 16384 ? 2 : 1;

	facts.tlbi++;
	return PROBE(c, now_ns, EV_TLBI_LEAVES,
		     mm->asid << 48 | granule << 46 | (uint64_t)(pages / 2 - 1) << 39 | 3ULL << 37 |
			     (address >> page_shift & ((1ULL << 37) - 1)));
}

/* What x86 does to invalidate PAGES (all ones: everything) of MM from C. */
static uint64_t shootdown(struct cpu *c, uint64_t now_ns, const struct mm *mm, unsigned int process,
			  uint64_t pages)
{
	unsigned int i, targets = 0;

	for (i = 0; i < opt.threads; i++) {
		struct cpu *other = process_tasks[process * opt.threads + i].cpu;

		if (!other || other == c || other->loaded != mm)
			continue;
		if (!targets++)
			now_ns = EMIT(c, now_ns, EV_TLB_FLUSH, 4, pages) + 300;
		EMIT(other, now_ns + 500 + 40 * i, EV_TLB_FLUSH, 1, pages);
		facts.shootdowns++;
	}
	return EMIT(c, now_ns, EV_TLB_FLUSH, 3, pages) + 200;
}

static struct mm *new_mm(uint64_t now_ns, bool with_pages)
{
	struct mm *mm = zalloc(1, sizeof(*mm));
	unsigned int i;

	/* A kernel's allocator hands out what was freed last. */
	for (i = nr_mm_slots; i > 0 && mm_slots[i - 1].free_ns >= now_ns; i--)
		;
	if (i) {
		mm->slot = mm_slots[i - 1].number;
		mm_slots[i - 1] = mm_slots[--nr_mm_slots];
	} else {
		mm->slot = mm_slot_next++;
	}
	mm->ptr = (opt.x86 ? 0xffff888001e10000ULL : 0xffff000001e10000ULL) + mm->slot * 0x480;
	mm->serial = ++mm_serial;
	do
		asid_next = asid_next >= 0xfffe ? 2 : asid_next + 2;
	while (asid_used[asid_next / 2]);
	asid_used[asid_next / 2] = 1;
	mm->asid = asid_next;
	mm->gen = 1;
	if (with_pages) {
		mm->stamp = zalloc(opt.pages, sizeof(*mm->stamp));
		mm->pending = opt.pages;
	}
	return mm;
}

static void free_mm(struct mm *mm, uint64_t now_ns)
{
	mm_slots[nr_mm_slots].number = mm->slot;
	mm_slots[nr_mm_slots++].free_ns = now_ns > mm->dead_ns ? now_ns : mm->dead_ns;
	asid_used[mm->asid / 2] = 0;
	free(mm->stamp);
	free(mm);
}

/* Loads MM on C. An mm that has ended stays allocated as long as a CPU has it loaded. */
static void load_mm(struct cpu *c, struct mm *mm)
{
	struct mm *old = c->loaded;

	c->loaded = mm;
	mm->refs++;
	if (old && !--old->refs && old->dead_ns)
		free_mm(old, c->now_ns);
}

static int new_pid(void)
{
	do
		pid_next = pid_next + 1 >= pid_max ? 300 : pid_next + 1;
	while (pid_used[pid_next]);
	pid_used[pid_next] = 1;
	return pid_next;
}

static struct task *new_task(void)
{
	struct task *t = free_tasks[--nr_free_tasks];

	memset(t, 0, sizeof(*t));
	t->pid = new_pid();
	return t;
}

static void free_task(struct task *t)
{
	pid_used[t->pid] = 0;
	free_tasks[nr_free_tasks++] = t;
}

/* Makes T runnable, FIRST in the queue or last, and wakes a CPU for it. */
static void wake(struct task *t, uint64_t now_ns, bool first)
{
	t->ready_ns = now_ns;
	if (first) {
		queue_head = (queue_head - 1) & queue_mask;
		queue[queue_head] = t;
	} else {
		queue[(queue_head + queue_length) & queue_mask] = t;
	}
	queue_length++;
	if (nr_idle) {
		struct cpu *c = &cpus[idle_cpus[idle_head]];

		idle_head = (idle_head + 1) % opt.cpus;
		nr_idle--;
		if (c->now_ns < now_ns + 1500)
			c->now_ns = now_ns + 1500;
		heap_push(c->number);
	}
}

static void switch_to(struct cpu *c, struct task *next, unsigned int prev_state)
{
	struct task *prev = c->task;

	c->now_ns = EMIT(c, c->now_ns, EV_SWITCH, COMM(prev), prev->pid, 120, prev_state,
			 COMM(next), next->pid, 120) +
		    300;
	/* A task without memory of its own keeps the last mm loaded. */
	if (next->mm && next->mm != c->loaded) {
		facts.mm_loads++;
		load_mm(c, next->mm);
		if (opt.x86)
			EMIT(c, c->now_ns, EV_TLB_FLUSH, 0, ~0ULL);
		else
			PROBE(c, c->now_ns, EV_LOAD, next->mm->ptr);
		c->now_ns += 400;
	}
	prev->cpu = NULL;
	prev->ready_ns = c->now_ns;
	c->task = next;
	next->cpu = c;
	c->quantum = 24 + rnd() % 40;
}

static void idle(struct cpu *c)
{
	idle_cpus[(idle_head + nr_idle++) % opt.cpus] = c->number;
}

/* Takes the next task, or idles. Returns false if the CPU need not run before it is woken. */
static bool schedule(struct cpu *c, unsigned int prev_state)
{
	if (queue_length) {
		struct task *next = queue[queue_head];

		queue_head = (queue_head + 1) & queue_mask;
		queue_length--;
		/* The CPU it ran on last may be ahead of this one. */
		if (c->now_ns < next->ready_ns + 500)
			c->now_ns = next->ready_ns + 500;
		switch_to(c, next, prev_state);
		return true;
	}
	if (c->task != &c->idle)
		switch_to(c, &c->idle, prev_state);
	idle(c);
	return false;
}

/* ---- What processes do ---------------------------------------------------------------- */

static const struct {
	uint64_t start, end;
} small_areas[] = {
	{0x400000, 0x490000},
	{0x490000, 0x4a0000},
	{0x4a0000, 0x4b0000},
	{0x32750000, 0x32780000},
	{0xffffdba50000, 0xffffdba80000},
};

static inline uint64_t page_address(uint32_t page)
{
	return (opt.x86 ? 0x7f0000000000ULL : 0xffff80000000ULL) + ((uint64_t)page << page_shift);
}

static inline uint64_t page_pte(const struct mm *mm, uint32_t page, bool writable)
{
	uint64_t frame = 0x40000000 + (((mm->serial * opt.pages + page) & 0xfffff) << page_shift);

	/* Attributes as Linux has them: read-only is bit 7, DBM (may become writable) bit 51. */
	return frame | (writable ? 0xe8000000000f43ULL : 0xe0000000000fc3ULL);
}

enum fault {
	FAULT_NEW,
	FAULT_REUSE,
	FAULT_COW,
	FAULT_SPURIOUS,
	FAULT_SPURIOUS_READ
};

/* One page fault by the task on C. Returns the time when it is over. */
static uint64_t fault(struct cpu *c, uint64_t t, struct mm *mm, uint32_t page, enum fault what)
{
	uint64_t r = rnd(), address = page_address(page), exact = address + (r >> 52 & 0xff8);
	uint64_t pte = page_pte(mm, page, true), old = page_pte(mm, page, false);
	uint32_t flags = what == FAULT_SPURIOUS_READ ? 0x1254 : 0x1255;

	switch (what) {
	case FAULT_NEW:
		facts.new_pages++;
		break;
	case FAULT_REUSE:
		facts.wp_reuse++;
		break;
	case FAULT_COW:
		facts.cow++;
		break;
	case FAULT_SPURIOUS:
		facts.spurious++;
		break;
	case FAULT_SPURIOUS_READ:
		facts.spurious_read++;
		break;
	}
	if (opt.x86) {
		static const uint8_t error[] = {6, 7, 7, 7, 5};

		t = EMIT(c, t, EV_FAULT_USER, exact, 0x4009f8, error[what]);
		if (what == FAULT_COW)
			t = shootdown(c, t + 400, mm, c->task->process, 1);
		return t + 300 + (r & 511);
	}
	t = PROBE(c, t, EV_FAULT, mm->ptr, exact, flags, 0x4009f8) + 150 + (r & 255);
	r >>= 8;
	if (what == FAULT_REUSE || what == FAULT_COW) {
		t = PROBE(c, t, EV_WP, mm->ptr, address, exact, flags | 0x800, old) + 120 +
		    (r & 255);
		r >>= 8;
	}
	switch (what) {
	case FAULT_REUSE:
		t = tlbi(c, t, EV_TLBI_SET_FLAGS, mm, address) + 100 + (r & 127);
		t = RETPROBE(c, t, EV_SET_FLAGS_RET, mm->ptr, address, pte, pte, 1, 1) + 80;
		break;
	case FAULT_COW:
		t = PROBE(c, t, EV_CLEAR_FLUSH, mm->ptr, address, old) + 60;
		t = tlbi(c, t, EV_TLBI_CLEAR_FLUSH, mm, address) + 200 + (r & 127);
		break;
	case FAULT_SPURIOUS:
		t = RETPROBE(c, t, EV_SET_FLAGS_RET, mm->ptr, address, pte, pte, 1, 0) + 80;
		break;
	case FAULT_SPURIOUS_READ:
		t = RETPROBE(c, t, EV_SET_FLAGS_RET, mm->ptr, address, pte, pte, 0, 0) + 80;
		break;
	case FAULT_NEW:
		break;
	}
	r >>= 7;
	t = RETPROBE(c, t, EV_FAULT_RET, exact, 0);
	return t + 50 + (r & 255);
}

/* fork by the task on C: all pages of its mm become read-only. WITH_PAGES: it has the big area. */
static uint64_t fork_task(struct cpu *c, uint64_t t, const char *comm, enum program program,
			  bool with_pages)
{
	struct task *self = c->task, *child = new_task();
	struct mm *mm = new_mm(t, false);
	unsigned int i;

	child->program = program;
	child->mm = mm;
	child->process = self->process;
	snprintf(child->comm, sizeof(child->comm), "%s", comm);
	if (opt.x86) {
		t = with_pages ? shootdown(c, t + 20000, self->mm, self->process, ~0ULL)
			       : EMIT(c, t + 20000, EV_TLB_FLUSH, 3, ~0ULL);
	} else {
		for (i = 0; i < ARRAY_SIZE(small_areas); i++)
			t = PROBE(c, t, EV_COPY_RANGE, mm->ptr, self->mm->ptr, small_areas[i].start,
				  small_areas[i].end) +
			    900;
		if (with_pages)
			t = PROBE(c, t, EV_COPY_RANGE, mm->ptr, self->mm->ptr, page_address(0),
				  page_address(opt.pages)) +
			    10 * opt.pages;
		t = tlbi(c, t, EV_TLBI_FORK, self->mm, 0);
	}
	t = EMIT(c, t + 30000, EV_NEWTASK, child->pid, COMM(self), 0x1200000, 0) + 800;
	if (!opt.x86)
		t = EMIT(c, t, EV_FORK, COMM(self), self->pid, COMM(self), child->pid) + 800;
	facts.forks++;
	if (with_pages) {
		self->mm->gen++;
		self->mm->pending = opt.pages;
		self->mm->child = child;
		self->mm->has_child = true;
		child->parent = self->mm;
	}
	wake(child, t, true);
	return t + 2000;
}

/* exit_mmap of MM, which no CPU needs any more. */
static uint64_t end_mm(struct cpu *c, uint64_t t, struct mm *mm)
{
	if (!opt.x86) {
		t = PROBE(c, t, EV_EXIT_MMAP, mm->ptr) + 5000;
		t = PROBE(c, t, EV_FINISH, mm->ptr, 0, ~0ULL, 0xf5) + 60;
		t = tlbi(c, t, EV_TLBI_MM, mm, 0) + 500;
	}
	mm->dead_ns = t;
	if (!mm->refs)
		free_mm(mm, t);
	return t;
}

static uint64_t exec(struct cpu *c, uint64_t t, const char *path, bool with_pages)
{
	struct task *self = c->task;
	struct mm *old = self->mm;

	self->mm = new_mm(t, with_pages);
	load_mm(c, self->mm);
	facts.mm_loads++;
	if (opt.x86)
		t = EMIT(c, t, EV_TLB_FLUSH, 0, ~0ULL) + 300;
	else
		t = PROBE(c, t, EV_LOAD, self->mm->ptr) + 300;
	t = end_mm(c, t, old);
	t = EMIT_TEXT(c, t + 3000, EV_EXEC, path, 0, self->pid, self->pid);
	facts.execs++;
	return t + 5000;
}

/* The shell starts one process after another, then sleeps. */
static bool step_shell(struct cpu *c)
{
	char comm[16];

	if (spawned == opt.processes)
		return schedule(c, 1);
	snprintf(comm, sizeof(comm), "sh");
	c->task->process = spawned++;
	c->now_ns = fork_task(c, c->now_ns, comm, PROG_START, false) + 50000;
	return true;
}

/* A new process: exec, then its other threads. */
static bool step_start(struct cpu *c)
{
	struct task *self = c->task, *leader = &process_tasks[self->process * opt.threads];
	uint64_t t = exec(c, c->now_ns, "/usr/bin/forkwp", true);
	unsigned int i;

	/* Move into the table of threads, where shootdowns look for their targets. */
	*leader = *self;
	leader->program = PROG_THREAD;
	/* Names may hold what separates fields elsewhere. */
	if (leader->process % 16 == 3)
		snprintf(leader->comm, sizeof(leader->comm), "a b:c=%u", leader->process % 1000);
	else
		snprintf(leader->comm, sizeof(leader->comm), "fwp-%u", leader->process);
	c->task = leader;
	free_tasks[nr_free_tasks++] = self;
	for (i = 1; i < opt.threads; i++) {
		struct task *thread = leader + i;

		thread->pid = new_pid();
		thread->program = PROG_THREAD;
		thread->mm = leader->mm;
		thread->process = leader->process;
		thread->thread = i;
		memcpy(thread->comm, leader->comm, sizeof(thread->comm));
		t = EMIT(c, t, EV_NEWTASK, thread->pid, COMM(leader), 0x3d0f00, 0) + 600;
		if (!opt.x86)
			t = EMIT(c, t, EV_FORK, COMM(leader), leader->pid, COMM(leader),
				 thread->pid) +
			    600;
		wake(thread, t, false);
	}
	c->now_ns = t + 2000;
	return true;
}

/* A forked child: a few copies, perhaps another program, the end. */
static bool step_child(struct cpu *c)
{
	struct task *self = c->task;
	uint64_t t = c->now_ns, r = rnd();
	bool goes_on;

	if (self->phase == 0) {
		self->phase = 2 + (r & 3);
	} else if (self->phase > 1) {
		/* Another page each time. */
		t = fault(c, t, self->mm, (self->pid + self->phase * (opt.pages / 8)) % opt.pages,
			  self->parent ? FAULT_COW : FAULT_NEW);
		self->phase--;
		if (self->phase == 1 && self->parent && (r & 16)) {
			t = exec(c, t, "/usr/bin/true", false);
			self->parent->child = NULL;
			self->parent->shared_ns = t;
			self->parent = NULL;
			memset(self->comm, 0, sizeof(self->comm));
			memcpy(self->comm, "true", 4);
			self->phase = 3;
		}
	} else {
		t = end_mm(c, t, self->mm);
		self->mm = NULL;
		if (self->parent) {
			self->parent->child = NULL;
			self->parent->shared_ns = t;
		}
		c->now_ns = EMIT(c, t, EV_EXIT, COMM(self), self->pid, 120) + 3000;
		facts.exits++;
		process_tasks[self->process * opt.threads].mm->has_child = false;
		goes_on = schedule(c, 16);
		free_task(self);
		return goes_on;
	}
	/* Long enough for some of the parent's writes to find the page shared. */
	c->now_ns = t + 20000 + (r >> 40 & 8191);
	return true;
}

/* A page that a write would fault on: the thread's own first, then anybody's. */
static uint32_t next_page(struct task *self, bool own)
{
	struct mm *mm = self->mm;

	if (self->gen != mm->gen) {
		self->gen = mm->gen;
		self->next = self->thread;
	}
	for (; own && self->next < opt.pages; self->next += opt.threads) {
		if (mm->stamp[self->next] != mm->gen)
			return self->next;
	}
	while (mm->stamp[mm->scan] == mm->gen)
		mm->scan = mm->scan + 1 == opt.pages ? 0 : mm->scan + 1;
	return mm->scan;
}

static uint64_t write_page(struct cpu *c, uint64_t t, struct task *self, bool own)
{
	struct mm *mm = self->mm;
	uint32_t page = next_page(self, own);

	if (!mm->stamp[page])
		t = fault(c, t, mm, page, FAULT_NEW);
	else
		t = fault(c, t, mm, page, mm->child || t < mm->shared_ns ? FAULT_COW : FAULT_REUSE);
	mm->stamp[page] = mm->gen;
	mm->pending--;
	return t;
}

/* mprotect to read-only and back: what was writable is so again. */
static uint64_t protect(struct cpu *c, uint64_t t, struct mm *mm, uint32_t page, unsigned int pages)
{
	uint64_t start = page_address(page), end = page_address(page + pages);
	unsigned int i;

	facts.mprotects += 2;
	for (i = 0; i < 2; i++) {
		if (opt.x86) {
			/* Giving permission needs no flush there. */
			if (!i)
				t = shootdown(c, t + 500, mm, c->task->process, pages);
			continue;
		}
		t = PROBE(c, t, EV_PROTECT, mm->ptr, start, end, i) + 300;
		t = tlbi_range(c, t, mm, start, pages) + 150;
		t = PROBE(c, t, EV_FINISH, mm->ptr, 1ULL << 48, 0, 0) + 700;
	}
	return t;
}

/* munmap (FREE: with page tables) or MADV_DONTNEED: the pages are gone, a write makes new ones. */
static uint64_t unmap(struct cpu *c, uint64_t t, struct mm *mm, uint32_t page, unsigned int pages,
		      bool free_tables)
{
	uint64_t start = page_address(page), end = page_address(page + pages);
	unsigned int i;

	facts.unmaps++;
	facts.tables_freed += free_tables;
	for (i = 0; i < pages; i++) {
		mm->pending += mm->stamp[page + i] == mm->gen;
		mm->stamp[page + i] = 0;
	}
	if (opt.x86)
		return shootdown(c, t + 500, mm, c->task->process, pages) + 300;
	t = tlbi_range(c, t, mm, start, pages) + 250;
	if (free_tables) {
		t = PROBE(c, t, EV_FINISH, mm->ptr, start, end, 0x24) + 40;
		t = tlbi(c, t, EV_TLBI_TABLES, mm, start);
	} else {
		t = PROBE(c, t, EV_FINISH, mm->ptr, 1ULL << 48, 0, 0);
	}
	return t + 300;
}

static bool step_thread(struct cpu *c)
{
	struct task *self = c->task;
	struct mm *mm = self->mm;
	uint64_t r = rnd(), t = c->now_ns;
	unsigned int dice = r & 1023;
	uint32_t page = (r >> 10) % opt.pages;

	if (t < mm->busy_ns) {
		c->now_ns = mm->busy_ns + (r & 255);
		return true;
	}
	if (dice < 16 && opt.pages >= 32) {
		bool change = dice < 6;

		page &= ~15u;
		if (page + 16 > opt.pages)
			page = 0;
		if (t < mm->quiet_ns)
			t = mm->quiet_ns;
		t = change ? protect(c, t, mm, page, 16) : unmap(c, t, mm, page, 8, dice >= 13);
		mm->busy_ns = t;
	} else if (dice < 100 && mm->stamp[page] == mm->gen) {
		/* Whoever made the page writable must have finished. */
		if (t < mm->quiet_ns)
			t = mm->quiet_ns;
		t = fault(c, t, mm, page, dice < 36 ? FAULT_SPURIOUS : FAULT_SPURIOUS_READ);
	} else if (mm->pending) {
		t = write_page(c, t, self, dice & 3);
	} else if (!mm->has_child) {
		char comm[16];

		memcpy(comm, self->comm, sizeof(comm));
		if (t < mm->quiet_ns)
			t = mm->quiet_ns;
		t = fork_task(c, t, comm, PROG_CHILD, true);
		mm->busy_ns = t;
	} else {
		/* All pages are writable and the child has not ended: no events, only time. */
		t += 3000;
	}
	if (t > mm->quiet_ns)
		mm->quiet_ns = t;
	c->now_ns = t + 300 + (r >> 44 & 4095);
	/* Rarely a CPU says nothing for longer than a record's own time field can hold. */
	if (++c->turn % 8192 == 100)
		c->now_ns += 150000000 + (r >> 32 & 0xffffff);
	if (--c->quantum)
		return true;
	c->quantum = 24;
	if (!queue_length && !(nr_idle && (r >> 56) < 64))
		return true;
	if (!queue_length) {
		/* Move to a CPU that idles; this one will. */
		switch_to(c, &c->idle, 1);
		wake(self, c->now_ns, false);
		idle(c);
		return false;
	}
	wake(self, c->now_ns, false);
	return schedule(c, 0);
}

/* sched: events of the scheduler at a steady pace, 37 bytes on average with their heads. */
static void step_sched(struct cpu *c)
{
	static const uint8_t order[] = {EV_WAKING, EV_SWITCH,       EV_SOFTIRQ_ENTRY,
					EV_WAKING, EV_SOFTIRQ_EXIT, EV_WAKING};
	struct task *other =
		&process_tasks[(c->number * 7 + c->turn) % (opt.processes * opt.threads)];
	enum event_id ev = order[c->turn++ % ARRAY_SIZE(order)];
	uint64_t t = c->now_ns, r = rnd();

	switch (ev) {
	case EV_SWITCH:
		EMIT(c, t, ev, COMM(c->task), c->task->pid, 120, r >> 63, COMM(other), other->pid,
		     120);
		c->task = other;
		break;
	case EV_WAKING:
		EMIT(c, t, ev, COMM(other), other->pid, 120, c->number);
		break;
	default:
		EMIT(c, t, ev, c->turn % 10);
	}
	c->now_ns = t + 200 + (r & 2047);
	if (c->turn % 65536 == 1000)
		c->now_ns += 150000000 + (r >> 32 & 0xffffff);
}

/* Who existed before the recording: the text form that schema/snapshot.h describes. */
static void emit_snapshot(struct cpu *c, const struct task *shell)
{
	char text[256];
	uint64_t ip = sites[EV_PRINT];

	snprintf(text, sizeof(text),
		 "tlbr.tasks 1\n1 1 1 u init\n2 2 0 k kthreadd\n%d %d %d u %s\n", shell->pid,
		 shell->pid, shell->pid, shell->comm);
	EMIT_TEXT(c, c->now_ns, EV_PRINT, text, ip, 0);
	c->now_ns += 2000;
	EMIT_TEXT(c, c->now_ns, EV_PRINT, "tlbr.tasks.end 3\n", ip, 0);
	c->now_ns += 2000;
}

static void set_up_machine(void)
{
	unsigned int i, nr_threads = opt.processes * opt.threads, nr_tasks = opt.processes + 2,
			room = 1;

	cpus = zalloc(opt.cpus, sizeof(*cpus));
	heap = zalloc(opt.cpus, sizeof(*heap));
	idle_cpus = zalloc(opt.cpus, sizeof(*idle_cpus));
	process_tasks = zalloc(nr_threads, sizeof(*process_tasks));
	tasks = zalloc(nr_tasks, sizeof(*tasks));
	free_tasks = zalloc(nr_tasks, sizeof(*free_tasks));
	for (i = 0; i < nr_tasks; i++)
		free_tasks[nr_free_tasks++] = &tasks[nr_tasks - 1 - i];
	while (room < nr_tasks + nr_threads + 1)
		room *= 2;
	queue = zalloc(room, sizeof(*queue));
	queue_mask = room - 1;
	pid_max = nr_threads > 8000 ? 4194304 : 32768;
	pid_used = zalloc(pid_max, 1);
	pid_next = 900;
	asid_used = zalloc(32768, 1);
	asid_next = 0x150;
	for (i = 0; i < opt.cpus; i++) {
		struct cpu *c = &cpus[i];

		c->number = i;
		/* CPUs start at slightly different times, as their first events do. */
		c->now_ns = FIRST_NS + (i % 64) * 137;
		c->idle.program = PROG_IDLE;
		snprintf(c->idle.comm, sizeof(c->idle.comm), "swapper/%u", i % MAX_CPUS);
		c->task = &c->idle;
		c->turn = i;
	}
}

static void run_sched(void)
{
	unsigned int i;

	for (i = 0; i < opt.processes * opt.threads; i++) {
		struct task *t = &process_tasks[i];

		t->pid = new_pid();
		snprintf(t->comm, sizeof(t->comm), i % 16 == 3 ? "a b:c=%u" : "task-%u",
			 i % 100000);
	}
	for (i = 0; i < opt.cpus; i++)
		heap_push(i);
	while (facts.events < opt.events) {
		step_sched(&cpus[heap[0]]);
		sift_down(0);
	}
}

static void run_processes(void)
{
	/* No operation writes more events than this, so none is cut off at the end. */
	uint64_t margin = 64 + 4 * opt.threads;
	struct cpu *first = &cpus[0];
	struct task *shell = new_task();
	unsigned int i;

	shell->program = PROG_SHELL;
	shell->mm = new_mm(FIRST_NS, false);
	snprintf(shell->comm, sizeof(shell->comm), "sh");
	first->task = shell;
	load_mm(first, shell->mm);
	shell->cpu = first;
	if (opt.events > 2)
		emit_snapshot(first, shell);
	heap_push(0);
	for (i = 1; i < opt.cpus; i++)
		idle(&cpus[i]);
	while (facts.events + margin < opt.events && heap_size) {
		struct cpu *c = &cpus[heap[0]];
		uint32_t number = heap[0];
		bool goes_on = false;

		/* Steps may wake CPUs, so the one that runs is out of the heap meanwhile. */
		heap[0] = heap[--heap_size];
		if (heap_size)
			sift_down(0);
		switch (c->task->program) {
		case PROG_SHELL:
			goes_on = step_shell(c);
			break;
		case PROG_START:
			goes_on = step_start(c);
			break;
		case PROG_THREAD:
			goes_on = step_thread(c);
			break;
		case PROG_CHILD:
			goes_on = step_child(c);
			break;
		case PROG_IDLE:
			goes_on = schedule(c, 0);
			break;
		}
		if (goes_on)
			heap_push(number);
	}
	/* The rest: the first CPU goes idle and comes back until the count is right. */
	while (facts.events < opt.events) {
		struct task *was = first->task == &first->idle ? shell : first->task;
		bool had = first->task != &first->idle;

		EMIT(first, first->last_ns + 3000, EV_SWITCH, COMM(first->task), first->task->pid,
		     120, had, COMM(had ? &first->idle : was), had ? 0 : was->pid, 120);
		first->task = had ? &first->idle : was;
	}
}

/* ---- The container -------------------------------------------------------------------- */

enum {
	OPTION_DONE,
	OPTION_CPUSTAT = 2,
	OPTION_BUFFER = 3,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_CPUCOUNT = 8,
	OPTION_VERSION = 9,
	OPTION_TRACEID = 11,
	OPTION_HEADERS = 16,
	OPTION_FTRACE,
	OPTION_EVENTS,
	OPTION_KALLSYMS,
	OPTION_PRINTK,
	OPTION_CMDLINES,
};
#define SECTION_STRINGS 15

static unsigned int cpu_number(unsigned int i)
{
	return opt.gaps ? 1 + i + i / 2 : i;
}

static void add_file(struct blob *b, const struct blob *text)
{
	blob_64(b, text->size);
	blob_add(b, text->data, text->size);
}

static void add_headers(struct blob *b)
{
	struct blob page = {0}, event = {0};
	unsigned int size = opt.long_size;

	blob_text(&page, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n");
	blob_text(&page, "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n", size);
	blob_text(&page, "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n");
	blob_text(&page, "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:0;\n", page_head,
		  opt.page_size - page_head);
	blob_text(&event, "# compressed entry header\n\ttype_len    :    5 bits\n"
			  "\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
			  "\tpadding     : type == 29\n\ttime_extend : type == 30\n"
			  "\ttime_stamp : type == 31\n\tdata max type_len  == 28\n");
	blob_string(b, "header_page");
	add_file(b, &page);
	blob_string(b, "header_event");
	add_file(b, &event);
	free(page.data);
	free(event.data);
}

static bool recorded(enum event_id ev)
{
	return events[ev].workloads & 1u << opt.workload;
}

static void add_formats(struct blob *b, enum system_id system)
{
	struct blob text = {0};
	unsigned int ev, nr = 0;

	for (ev = 0; ev < NR_EVENTS; ev++)
		nr += events[ev].system == system && recorded(ev);
	blob_32(b, nr);
	for (ev = 0; ev < NR_EVENTS; ev++) {
		if (events[ev].system != system || !recorded(ev))
			continue;
		text.size = 0;
		format_text(&text, ev);
		add_file(b, &text);
	}
	free(text.data);
}

static void add_systems(struct blob *b)
{
	bool used[NR_SYSTEMS] = {false};
	unsigned int ev, system, nr = 0;

	for (ev = 0; ev < NR_EVENTS; ev++)
		used[events[ev].system] |= recorded(ev);
	for (system = SYS_FTRACE + 1; system < NR_SYSTEMS; system++)
		nr += used[system];
	blob_32(b, nr);
	for (system = SYS_FTRACE + 1; system < NR_SYSTEMS; system++) {
		if (!used[system])
			continue;
		blob_string(b, system_names[system]);
		add_formats(b, system);
	}
}

static void add_kallsyms(struct blob *b)
{
	struct blob text = {0};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(functions); i++)
		blob_text(&text, "%016" PRIx64 " T %s\n", sites[functions[i].event],
			  functions[i].function);
	blob_32(b, text.size);
	blob_add(b, text.data, text.size);
	free(text.data);
}

static void add_cmdlines(struct blob *b)
{
	struct blob text = {0};
	unsigned int i;

	/* A kernel remembers 128 names unless told otherwise. */
	for (i = 0; i < opt.processes * opt.threads && i < 128; i++) {
		if (process_tasks[i].pid)
			blob_text(&text, "%d %s\n", process_tasks[i].pid, process_tasks[i].comm);
	}
	add_file(b, &text);
	free(text.data);
}

static void option(struct blob *b, unsigned int id, const void *data, size_t size)
{
	blob_16(b, id);
	blob_32(b, size);
	blob_add(b, data, size);
}

static void option_64(struct blob *b, unsigned int id, uint64_t value)
{
	uint8_t data[8];

	put64(data, value);
	option(b, id, data, 8);
}

static void option_string(struct blob *b, unsigned int id, const char *text)
{
	option(b, id, text, strlen(text) + 1);
}

static void add_host_options(struct blob *b)
{
	char text[512];
	unsigned int i;

	option_string(b, OPTION_TRACECLOCK,
		      "local global counter uptime perf [mono] mono_raw boot tai \n");
	option_string(b, OPTION_UNAME,
		      opt.x86 ? "Linux gentrace 6.1.0 x86_64" : "Linux gentrace 6.12.0 aarch64");
	option_string(b, OPTION_VERSION, "gentrace 1");
	option_64(b, OPTION_TRACEID, 0x7e11000000000000ULL + opt.seed);
	for (i = 0; i < opt.cpus; i++) {
		struct stream *s = &streams[i];

		snprintf(text, sizeof(text),
			 "CPU: %u\nentries: 0\noverrun: %" PRIu64 "\ncommit overrun: 0\nbytes: 0\n"
			 "oldest event ts: %5" PRIu64 ".%06" PRIu64 "\nnow ts: %5" PRIu64
			 ".%06" PRIu64 "\ndropped events: 0\nread events: %" PRIu64 "\n",
			 cpu_number(i), facts.cpu_missed[i], s->last_ns / 1000000000,
			 s->last_ns / 1000 % 1000000, cpus[i].last_ns / 1000000000,
			 cpus[i].last_ns / 1000 % 1000000, s->records);
		option_string(b, OPTION_CPUSTAT, text);
	}
}

static void add_initial(struct blob *b)
{
	uint8_t kind[2] = {opt.big, opt.long_size};

	blob_add(b, "\x17\x08\x44tracing", 10);
	blob_string(b, opt.version == 6 ? "6" : "7");
	blob_add(b, kind, 2);
	blob_32(b, opt.page_size);
	if (opt.version == 6)
		return;
	blob_string(b, opt.zstd ? "zstd" : "none");
	blob_string(b, opt.zstd ? ZSTD_versionString() : "");
}

static int out_fd = -1;
static uint64_t out_at;

static void out(const void *data, size_t size)
{
	write_all(out_fd, data, size, out_at);
	out_at += size;
}

static void out_align(uint64_t to)
{
	/* A hole reads as zeros. */
	out_at = (out_at + to - 1) / to * to;
}

/* Up to ten pages of S from page FIRST on, into CHUNK. Returns how many. */
static unsigned int gather(const struct stream *s, uint64_t first, uint8_t *chunk)
{
	unsigned int nr = 0;

	while (nr < CHUNK_PAGES && first + nr < s->pages) {
		uint64_t extent = (first + nr) / extent_pages;
		unsigned int pages = extent_pages;
		uint8_t *to = chunk + (size_t)nr * opt.page_size;

		if (extent < s->nr_extents) {
			size_t bytes = (size_t)pages * opt.page_size;
			uint64_t from = s->extents[extent] * (uint64_t)bytes;

			read_all(pool_fd, to, bytes, from);
			/* Gives the room back; where that cannot be done the pool just stays. */
			(void)!fallocate(pool_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from,
					 bytes);
		} else {
			pages = s->full;
			memcpy(to, s->extent, (size_t)pages * opt.page_size);
		}
		nr += pages;
	}
	return nr;
}

static void write_stream(struct stream *s, ZSTD_CCtx *zstd)
{
	size_t room = (size_t)CHUNK_PAGES * opt.page_size, bound = ZSTD_compressBound(room);
	static uint8_t *chunk, *packed;
	uint8_t head[8];
	uint64_t first;

	if (!chunk) {
		chunk = zalloc(1, room);
		packed = zalloc(1, bound);
	}
	s->file_offset = out_at;
	if (!s->pages)
		return;
	if (zstd) {
		put32(head, (s->pages + CHUNK_PAGES - 1) / CHUNK_PAGES);
		out(head, 4);
	}
	for (first = 0; first < s->pages; first += CHUNK_PAGES) {
		size_t bytes = (size_t)gather(s, first, chunk) * opt.page_size, n;

		if (!zstd) {
			out(chunk, bytes);
			s->file_size += bytes;
			continue;
		}
		n = ZSTD_compressCCtx(zstd, packed, bound, chunk, bytes, 3);
		if (ZSTD_isError(n))
			die("zstd: %s", ZSTD_getErrorName(n));
		put32(head, n);
		put32(head + 4, bytes);
		out(head, 8);
		out(packed, n);
		/* trace-cmd does not count the number of chunks in the size. */
		s->file_size += 8 + n;
	}
}

static void write_v6(void)
{
	unsigned int i, nr = cpu_number(opt.cpus - 1) + 1, next = 0;
	struct blob b = {0};
	size_t table;

	add_initial(&b);
	add_headers(&b);
	add_formats(&b, SYS_FTRACE);
	add_systems(&b);
	add_kallsyms(&b);
	blob_32(&b, 0); /* trace_printk() formats */
	add_cmdlines(&b);
	blob_32(&b, nr);
	blob_string(&b, "options  ");
	add_host_options(&b);
	blob_16(&b, OPTION_DONE);
	blob_string(&b, "flyrecord");
	table = b.size;
	blob_add(&b, NULL, 16 * (size_t)nr);
	out_at = b.size;
	for (i = 0; i < nr; i++) {
		out_align(opt.page_size);
		put64(b.data + table + 16 * i, out_at);
		if (cpu_number(next) != i)
			continue;
		write_stream(&streams[next], NULL);
		put64(b.data + table + 16 * i + 8, streams[next++].file_size);
	}
	out_at = 0;
	out(b.data, b.size);
	free(b.data);
}

/* Section headers name their section by an offset into the strings section. */
static struct blob strings;

static unsigned int string_id(const char *s)
{
	unsigned int id = strings.size;

	blob_string(&strings, s);
	return id;
}

static void section_head(struct blob *b, unsigned int id, bool packed, const char *name,
			 uint64_t size)
{
	blob_16(b, id);
	blob_16(b, packed);
	blob_32(b, string_id(name));
	blob_64(b, size);
}

/* Appends DATA as a section to B, which lies at BASE in the file. Returns the section's offset. */
static uint64_t section(struct blob *b, uint64_t base, unsigned int id, const char *name,
			const struct blob *data, bool pack)
{
	uint64_t at = base + b->size;
	size_t bound = ZSTD_compressBound(data->size), n;
	uint8_t *packed;

	if (!pack) {
		section_head(b, id, false, name, data->size);
		blob_add(b, data->data, data->size);
		return at;
	}
	packed = zalloc(1, bound);
	n = ZSTD_compress(packed, bound, data->data, data->size, 3);
	if (ZSTD_isError(n))
		die("zstd: %s", ZSTD_getErrorName(n));
	section_head(b, id, true, name, 8 + n);
	blob_32(b, n);
	blob_32(b, data->size);
	blob_add(b, packed, n);
	free(packed);
	return at;
}

static void write_v7(void)
{
	struct blob b = {0}, part = {0}, options = {0}, more = {0};
	ZSTD_CCtx *zstd = opt.zstd ? ZSTD_createCCtx() : NULL;
	static const char *const names[] = {"headers",  "ftrace events", "events format",
					    "kallsyms", "printk",        "command lines"};
	uint64_t *buffer_at = zalloc(nr_buffers, sizeof(*buffer_at)), at, next_at;
	size_t first_options, i;
	uint8_t patch[8];

	if (opt.zstd && !zstd)
		die("out of memory");
	add_initial(&b);
	first_options = b.size;
	blob_64(&b, 0);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		part.size = 0;
		switch (OPTION_HEADERS + i) {
		case OPTION_HEADERS:
			add_headers(&part);
			break;
		case OPTION_FTRACE:
			add_formats(&part, SYS_FTRACE);
			break;
		case OPTION_EVENTS:
			add_systems(&part);
			break;
		case OPTION_KALLSYMS:
			add_kallsyms(&part);
			break;
		case OPTION_PRINTK:
			blob_32(&part, 0);
			break;
		default:
			add_cmdlines(&part);
		}
		at = section(&b, 0, OPTION_HEADERS + i, names[i], &part, opt.zstd);
		option_64(&options, OPTION_HEADERS + i, at);
	}
	add_host_options(&options);
	part.size = 0;
	blob_32(&part, cpu_number(opt.cpus - 1) + 1);
	option(&options, OPTION_CPUCOUNT, part.data, 4);
	put64(b.data + first_options, b.size);
	/* The last option says where the next options are, which is known when the data are out. */
	blob_16(&options, OPTION_DONE);
	blob_32(&options, 8);
	blob_64(&options, 0);
	section(&b, 0, OPTION_DONE, "options", &options, false);
	next_at = b.size - 8;
	out(b.data, b.size);

	options.size = 0;
	for (i = 0; i < nr_buffers; i++) {
		/* The fourth instance recorded nothing and has no CPUs; the third has empty ones.
		 */
		unsigned int nr = i == 4 ? 0 : opt.cpus, cpu;
		char name[32] = "";

		if (i)
			snprintf(name, sizeof(name), "instance%zu", i);
		buffer_at[i] = out_at;
		out_at += 16;
		for (cpu = 0; cpu < nr; cpu++) {
			out_align(opt.page_size);
			write_stream(&streams[i * opt.cpus + cpu], zstd);
		}
		more.size = 0;
		section_head(&more, OPTION_BUFFER, opt.zstd, "buffer flyrecord",
			     out_at - buffer_at[i] - 16);
		write_all(out_fd, more.data, more.size, buffer_at[i]);

		part.size = 0;
		blob_64(&part, buffer_at[i]);
		blob_string(&part, name);
		blob_string(&part, "mono");
		blob_32(&part, opt.page_size);
		blob_32(&part, nr);
		for (cpu = 0; cpu < nr; cpu++) {
			struct stream *s = &streams[i * opt.cpus + cpu];

			blob_32(&part, cpu_number(cpu));
			blob_64(&part, s->file_offset);
			blob_64(&part, s->file_size);
		}
		option(&options, OPTION_BUFFER, part.data, part.size);
	}
	put64(patch, out_at);
	write_all(out_fd, patch, 8, next_at);
	option_64(&options, OPTION_DONE, 0);
	b.size = 0;
	at = out_at;
	section(&b, at, OPTION_DONE, "options", &options, false);
	string_id("strings");
	/* The section's own name was just added; its header must not add it again. */
	blob_16(&b, SECTION_STRINGS);
	blob_16(&b, 0);
	blob_32(&b, strings.size - sizeof("strings"));
	blob_64(&b, strings.size);
	blob_add(&b, strings.data, strings.size);
	out(b.data, b.size);
	ZSTD_freeCCtx(zstd);
	free(b.data);
	free(part.data);
	free(options.data);
	free(more.data);
	free(strings.data);
	free(buffer_at);
}

static void write_file(void)
{
	uint64_t size;
	unsigned int i;

	for (i = 0; i < nr_buffers * opt.cpus; i++) {
		if (streams[i].page)
			close_page(&streams[i]);
	}
	if (opt.version == 6)
		write_v6();
	else
		write_v7();
	size = lseek(out_fd, 0, SEEK_END);
	/* An alignment hole at the end would be missing otherwise. */
	if (size < out_at && ftruncate(out_fd, out_at))
		die("%s: cannot extend: %s", opt.out, strerror(errno));
}

static void print_facts(void)
{
	uint64_t pages = 0, top = 0, last_ns = 0;
	unsigned int i, ev;

	for (i = 0; i < nr_buffers * opt.cpus; i++) {
		pages += streams[i].pages;
		top += i < opt.cpus ? streams[i].records : 0;
	}
	printf("events=%" PRIu64 " top_events=%" PRIu64 " bytes=%" PRIu64 " pages=%" PRIu64,
	       facts.events, top, (uint64_t)lseek(out_fd, 0, SEEK_END), pages);
	for (i = 0; i < opt.cpus; i++)
		last_ns = cpus[i].last_ns > last_ns ? cpus[i].last_ns : last_ns;
	printf(" cpus=%u processes=%u threads=%u last_ns=%" PRIu64, opt.cpus, opt.processes,
	       opt.threads, last_ns);
	printf(" wp_reuse=%" PRIu64 " cow=%" PRIu64 " new_pages=%" PRIu64 " spurious=%" PRIu64
	       " spurious_read=%" PRIu64,
	       facts.wp_reuse, facts.cow, facts.new_pages, facts.spurious, facts.spurious_read);
	printf(" forks=%" PRIu64 " execs=%" PRIu64 " exits=%" PRIu64 " mprotects=%" PRIu64
	       " unmaps=%" PRIu64 " tables_freed=%" PRIu64,
	       facts.forks, facts.execs, facts.exits, facts.mprotects, facts.unmaps,
	       facts.tables_freed);
	printf(" mm_loads=%" PRIu64 " tlbi=%" PRIu64 " shootdowns=%" PRIu64, facts.mm_loads,
	       facts.tlbi, facts.shootdowns);
	printf(" time_extends=%" PRIu64 " discarded=%" PRIu64 " lost_events=%" PRIu64
	       " lost_counted=%" PRIu64 " lost_unknown=%" PRIu64 " lost_first=%" PRIu64,
	       facts.extends, facts.discarded, facts.missed_events, facts.missed_counted,
	       facts.missed_unknown, facts.missed_first);
	for (ev = 0; ev < NR_EVENTS; ev++) {
		if (recorded(ev))
			printf(" %s:%s=%" PRIu64, system_names[events[ev].system], events[ev].name,
			       facts.by_event[ev]);
	}
	putchar('\n');
}

/* ---- Options -------------------------------------------------------------------------- */

static uint64_t number(const char *name, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value, unit = 1;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end == 'k' || *end == 'M')
		unit = *end++ == 'k' ? 1000 : 1000000;
	if (errno || *text < '0' || *text > '9' || *end || value > max / unit || value * unit < min)
		die("--%s %s: a number from %" PRIu64 " to %" PRIu64 " is wanted", name, text, min,
		    max);
	return value * unit;
}

static unsigned int choice(const char *name, const char *text, const char *a, const char *b,
			   const char *c)
{
	if (!strcmp(text, a))
		return 0;
	if (!strcmp(text, b))
		return 1;
	if (c && !strcmp(text, c))
		return 2;
	die("--%s %s: can be %s, %s%s%s", name, text, a, b, c ? ", " : "", c ? c : "");
}

static void usage(FILE *f)
{
	fputs("usage: gentrace [--events N] [--cpus N] [--seed S] [--version 6|7]\n"
	      "         [--compression none|zstd] [--endian little|big] [--long 4|8]\n"
	      "         [--page-size BYTES] [--arch arm64|x86] [--workload forkwp|x86tp|sched]\n"
	      "         [--buffers N] [--gaps] [--lost] [--rt] [--absolute] [--discard]\n"
	      "         [--processes N] [--threads N] [--pages N] OUT.dat\n",
	      f);
}

static void parse(int argc, char **argv)
{
	enum {
		EVENTS,
		CPUS,
		SEED,
		VERSION,
		COMPRESSION,
		ENDIAN,
		LONG,
		PAGE_SIZE,
		ARCH,
		WORKLOAD,
		BUFFERS,
		PROCESSES,
		THREADS,
		PAGES,
		GAPS,
		LOST,
		RT,
		ABSOLUTE,
		DISCARD,
		HELP
	};
	/* clang-format off */
	static const struct option longs[] = {
		{"events", 1, NULL, EVENTS}, {"cpus", 1, NULL, CPUS}, {"seed", 1, NULL, SEED},
		{"version", 1, NULL, VERSION}, {"compression", 1, NULL, COMPRESSION},
		{"endian", 1, NULL, ENDIAN}, {"long", 1, NULL, LONG},
		{"page-size", 1, NULL, PAGE_SIZE}, {"arch", 1, NULL, ARCH},
		{"workload", 1, NULL, WORKLOAD}, {"buffers", 1, NULL, BUFFERS},
		{"processes", 1, NULL, PROCESSES}, {"threads", 1, NULL, THREADS},
		{"pages", 1, NULL, PAGES}, {"gaps", 0, NULL, GAPS}, {"lost", 0, NULL, LOST},
		{"rt", 0, NULL, RT}, {"absolute", 0, NULL, ABSOLUTE},
		{"discard", 0, NULL, DISCARD}, {"help", 0, NULL, HELP}, {NULL, 0, NULL, 0},
	};
	/* clang-format on */
	int o, which, arch = -1, workload = -1;

	while ((o = getopt_long(argc, argv, "", longs, &which)) >= 0) {
		const char *name = o == '?' ? "" : longs[which].name;

		switch (o) {
		case EVENTS:
			opt.events = number(name, optarg, 1, 1ULL << 40);
			break;
		case CPUS:
			opt.cpus = number(name, optarg, 1, MAX_CPUS);
			break;
		case SEED:
			opt.seed = number(name, optarg, 0, 1ULL << 40);
			break;
		case VERSION:
			opt.version = number(name, optarg, 6, 7);
			break;
		case COMPRESSION:
			opt.zstd = choice(name, optarg, "none", "zstd", NULL);
			break;
		case ENDIAN:
			opt.big = choice(name, optarg, "little", "big", NULL);
			break;
		case LONG:
			opt.long_size = choice(name, optarg, "4", "8", NULL) ? 8 : 4;
			break;
		case PAGE_SIZE:
			opt.page_size = number(name, optarg, 4096, 65536);
			if (opt.page_size & (opt.page_size - 1))
				die("--page-size %s: not a power of two", optarg);
			break;
		case ARCH:
			arch = choice(name, optarg, "arm64", "x86", NULL);
			break;
		case WORKLOAD:
			workload = choice(name, optarg, workload_names[0], workload_names[1],
					  workload_names[2]);
			break;
		case BUFFERS:
			opt.buffers = number(name, optarg, 0, 8);
			break;
		case PROCESSES:
			opt.processes = number(name, optarg, 1, MAX_PROCESSES);
			break;
		case THREADS:
			opt.threads = number(name, optarg, 1, 1024);
			break;
		case PAGES:
			opt.pages = number(name, optarg, 16, 1 << 20);
			break;
		case GAPS:
			opt.gaps = true;
			break;
		case LOST:
			opt.lost = true;
			break;
		case RT:
			opt.rt = true;
			break;
		case ABSOLUTE:
			opt.absolute = true;
			break;
		case DISCARD:
			opt.discard = true;
			break;
		case HELP:
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind + 1 != argc) {
		usage(stderr);
		exit(2);
	}
	opt.out = argv[optind];
	opt.workload = workload >= 0 ? (enum workload)workload : arch == 1 ? X86TP : FORKWP;
	opt.x86 = arch >= 0 ? arch : opt.workload == X86TP;
	if ((opt.workload == FORKWP && opt.x86) || (opt.workload == X86TP && !opt.x86))
		die("workload %s is not of that architecture", workload_names[opt.workload]);
	if (opt.version == 6 && (opt.zstd || opt.buffers))
		die("compression and further buffers need version 7");
	if (!opt.processes)
		opt.processes = opt.cpus < 4 ? 2 : opt.cpus / 2;
	if ((uint64_t)opt.processes * opt.threads > 1 << 21)
		die("too many threads");
}

int main(int argc, char **argv)
{
	struct blob pool_name = {0};
	unsigned int ev;

	parse(argc, argv);
	place_sites();
	random_state = opt.seed * 0x9e3779b97f4a7c15ULL + 0x1234567;
	page_shift = __builtin_ctz(opt.page_size);
	page_head = 8 + opt.long_size;
	nr_buffers = 1 + opt.buffers;
	for (ev = 0; ev < NR_EVENTS; ev++)
		lay_out(ev);
	streams = zalloc((size_t)nr_buffers * opt.cpus, sizeof(*streams));
	facts.cpu_missed = zalloc(opt.cpus, sizeof(*facts.cpu_missed));
	/* A divisor of a chunk; fewer pages where many CPUs would take more than 64 MiB. */
	for (extent_pages = CHUNK_PAGES; extent_pages > 1; extent_pages /= 2) {
		if ((uint64_t)extent_pages * opt.page_size * nr_buffers * opt.cpus <= 64 << 20)
			break;
	}
	if (extent_pages < 5)
		extent_pages = 1;
	out_fd = open(opt.out, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out_fd < 0)
		die("%s: %s", opt.out, strerror(errno));
	blob_text(&pool_name, "%s.pool", opt.out);
	blob_add(&pool_name, "", 1);
	pool_fd = open((char *)pool_name.data, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (pool_fd < 0)
		die("%s: %s", (char *)pool_name.data, strerror(errno));
	unlink((char *)pool_name.data);
	free(pool_name.data);
	set_up_machine();
	if (opt.workload == SCHED)
		run_sched();
	else
		run_processes();
	write_file();
	print_facts();
	if (close(out_fd))
		die("%s: %s", opt.out, strerror(errno));
	close(pool_fd);
	return 0;
}
