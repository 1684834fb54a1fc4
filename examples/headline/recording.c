// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	PAGE_HEAD = 16,
	BUFFER_PAGES = 256,
	MAX_CPUS = 256,
	MAX_FIELDS = 8
};

const char *program = "headline";

void fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

uint64_t read_number(const char *name, const char *text, bool decimal, uint64_t min, uint64_t max)
{
	static const struct {
		const char *unit;
		uint64_t binary, decimal;
	} units[] = {{"", 1, 1},
		     {"k", 1024, 1000},
		     {"M", 1048576, 1000000},
		     {"G", 1073741824, 1000000000},
		     {"ns", 1, 1},
		     {"us", 1000, 1000},
		     {"ms", 1000000, 1000000},
		     {"s", 1000000000, 1000000000}};
	char *end;
	uint64_t n;

	errno = 0;
	n = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	for (size_t i = 0; *text >= '0' && *text <= '9' && i < sizeof(units) / sizeof(*units);
	     i++) {
		uint64_t unit = decimal ? units[i].decimal : units[i].binary;

		if (strcmp(end, units[i].unit) || errno || n > UINT64_MAX / unit)
			continue;
		if (n * unit >= min && n * unit <= max)
			return n * unit;
	}
	fprintf(stderr, "%s: --%s %s: a number from %" PRIu64 " to %" PRIu64 " is wanted\n",
		program, name, text, min, max);
	exit(2);
}

/* ---- formats ---- */

struct field {
	const char *type, *name, *array;
	unsigned int size;
	bool value; /* comes from the caller; others are 0 */
};

#define ULONG(n)                                 \
	{                                        \
		"unsigned long", n, "", 8, false \
	}
#define COMM(n)                              \
	{                                    \
		"char", n, "[16]", 16, false \
	}
#define INT(n, v)                  \
	{                          \
		"int", n, "", 4, v \
	}
#define PID(n)                          \
	{                               \
		"pid_t", n, "", 4, true \
	}
#define U64(n)                        \
	{                             \
		"u64", n, "", 8, true \
	}
#define U32(n)                        \
	{                             \
		"u32", n, "", 4, true \
	}
#define U8(n)                        \
	{                            \
		"u8", n, "", 1, true \
	}
#define S32(n)                        \
	{                             \
		"s32", n, "", 4, true \
	}

/* A probe's event begins with where it hit; of a return probe also with where it returns to. */
enum shape {
	TRACEPOINT,
	PROBE,
	RETURN
};

static const struct event {
	const char *system, *name;
	enum shape shape;
	struct field fields[MAX_FIELDS];
} events[NR_REC_EVENTS] = {
	[REC_MARKER] = {"ftrace",
			"print",
			TRACEPOINT,
			{ULONG("ip"), {"char", "buf", "[]", 0, false}}},
	[REC_SWITCH] = {"sched",
			"sched_switch",
			TRACEPOINT,
			{COMM("prev_comm"),
			 PID("prev_pid"),
			 INT("prev_prio", false),
			 {"long", "prev_state", "", 8, false},
			 COMM("next_comm"),
			 PID("next_pid"),
			 INT("next_prio", false)}},
	[REC_EXEC] = {"sched",
		      "sched_process_exec",
		      TRACEPOINT,
		      {PID("pid"), INT("old_pid", false)}},
	[REC_EXIT] = {"sched",
		      "sched_process_exit",
		      TRACEPOINT,
		      {COMM("comm"), PID("pid"), INT("prio", false)}},
	[REC_NEWTASK] = {"task",
			 "task_newtask",
			 TRACEPOINT,
			 {PID("pid"), COMM("comm"), {"unsigned long", "clone_flags", "", 8, true}}},
	[REC_FAULT] = {"tlbr",
		       "handle_mm_fault",
		       PROBE,
		       {U64("mm"), U64("addr"), U32("flags"), U64("upc")}},
	[REC_FAULT_RET] = {"tlbr", "handle_mm_fault_ret", RETURN, {U64("addr"), U32("ret")}},
	[REC_WP] = {"tlbr",
		    "do_wp_page",
		    PROBE,
		    {U64("mm"), U64("addr"), U32("flags"), U64("opte")}},
	[REC_SET_FLAGS_RET] = {"tlbr",
			       "ptep_set_access_flags_ret",
			       RETURN,
			       {U64("mm"), U64("addr"), U64("pte"), U64("entry"), U8("dirty"),
				S32("ret")}},
	[REC_COPY_RANGE] = {"tlbr",
			    "copy_page_range",
			    PROBE,
			    {U64("dmm"), U64("smm"), U64("start"), U64("end")}},
	[REC_LOAD] = {"tlbr", "check_and_switch_context", PROBE, {U64("mm")}},
	[REC_EXIT_MMAP] = {"tlbr", "exit_mmap", PROBE, {U64("mm")}},
	[REC_FINISH] = {"tlbr",
			"tlb_finish_mmu",
			PROBE,
			{U64("mm"), U64("start"), U64("end"), U32("bits")}},
	[REC_SWAP_IN_RET] = {"tlbr",
			     "do_swap_page_ret",
			     RETURN,
			     {U64("mm"), U64("addr"), U64("opte"), U32("ret")}},
	[REC_UNMAP_ONE_RET] = {"tlbr",
			       "try_to_unmap_one_ret",
			       RETURN,
			       {U64("mm"), U64("addr"), U64("folio"), U64("mapping"), U8("ret")}},
	[REC_SWAP_ADD] = {"tlbr", "add_to_swap", PROBE, {U64("folio")}},
	[REC_SWAP_WRITE] = {"tlbr", "swap_writepage", PROBE, {U64("folio")}},
	[REC_TLBI_SET_FLAGS] = {"tlbr_tlbi",
				"__ptep_set_access_flags__vale1is__1",
				PROBE,
				{U64("op")}},
	[REC_TLBI_FORK] = {"tlbr_tlbi", "copy_mm__aside1is__2", PROBE, {U64("op")}},
	[REC_TLBI_MM] = {"tlbr_tlbi", "tlb_flush__aside1is__3", PROBE, {U64("op")}},
	[REC_PROTECT] = {"tlbr",
			 "change_protection",
			 PROBE,
			 {U64("mm"), U64("start"), U64("end"), U64("cpflags")}},
};

static unsigned int event_number(enum recording_event event)
{
	return event == REC_MARKER ? 5 : 300 + (unsigned int)event; /* TRACE_PRINT is 5 */
}

/* Where an event's fields lie: those of tracepoints aligned, those of probes packed. */
struct layout {
	unsigned int size, nr, at[MAX_FIELDS], head;
	unsigned int values, value_at[MAX_FIELDS], value_size[MAX_FIELDS];
};

static void lay_out(const struct event *e, struct layout *l)
{
	unsigned int at = 8;

	*l = (struct layout){0};
	l->head = e->shape == RETURN ? 16 : e->shape == PROBE ? 8 : 0;
	at += l->head;
	for (const struct field *f = e->fields; f < e->fields + MAX_FIELDS && f->name; f++) {
		unsigned int align = *f->array ? 1 : f->size;

		if (e->shape == TRACEPOINT)
			at = (at + align - 1) / align * align;
		l->at[l->nr++] = at;
		if (f->value) {
			l->value_at[l->values] = at;
			l->value_size[l->values++] = f->size;
		}
		at += f->size;
	}
	l->size = (at + 3) & ~3u;
}

/* ---- the file ---- */

struct recording {
	const char *path;
	int fd;
	unsigned int cpus, cpu; /* cpu: number of the current one + 1 */
	uint32_t wanted;
	uint64_t end;   /* of what has been written */
	uint64_t table; /* where the file says where each CPU's data lie */
	uint64_t offset[MAX_CPUS], size[MAX_CPUS];
	uint8_t *buffer;   /* BUFFER_PAGES pages */
	unsigned int full; /* pages of it that are complete */
	unsigned int at;   /* next byte of the page after these; 0: none begun */
	uint64_t last_ns, events;
	struct layout layouts[NR_REC_EVENTS];
};

static void write_at(struct recording *r, const void *data, size_t size, uint64_t offset)
{
	const uint8_t *p = data;

	while (size) {
		ssize_t n = pwrite(r->fd, p, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			fail("%s: cannot be written: %s", r->path, n ? strerror(errno) : "no room");
		p += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
}

static void append(struct recording *r, const void *data, size_t size)
{
	write_at(r, data, size, r->end);
	r->end += size;
}

static void append_number(struct recording *r, uint64_t n, unsigned int size)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < size; i++)
		bytes[i] = (uint8_t)(n >> 8 * i);
	append(r, bytes, size);
}

static void append_string(struct recording *r, const char *text)
{
	append(r, text, strlen(text) + 1);
}

/* A file of tracefs: its size, then its text. */
static void append_file(struct recording *r, const char *text, size_t size)
{
	append_number(r, size, 8);
	append(r, text, size);
}

static void print_field(FILE *f, const char *type, const char *name, const char *array,
			unsigned int at, unsigned int size, bool sign)
{
	fprintf(f, "\tfield:%s %s%s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", type, name, array, at,
		size, sign);
}

static bool is_signed(const struct field *f)
{
	return !strcmp(f->type, "int") || !strcmp(f->type, "pid_t") || !strcmp(f->type, "s32") ||
	       !strcmp(f->type, "long");
}

static void append_format(struct recording *r, enum recording_event number)
{
	const struct event *e = &events[number];
	const struct layout *l = &r->layouts[number];
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		fail("out of memory");
	fprintf(f, "name: %s\nID: %u\nformat:\n", e->name, event_number(number));
	print_field(f, "unsigned short", "common_type", "", 0, 2, false);
	print_field(f, "unsigned char", "common_flags", "", 2, 1, false);
	print_field(f, "unsigned char", "common_preempt_count", "", 3, 1, false);
	print_field(f, "int", "common_pid", "", 4, 4, true);
	fputc('\n', f);
	if (e->shape == PROBE)
		print_field(f, "unsigned long", "__probe_ip", "", 8, 8, false);
	if (e->shape == RETURN) {
		print_field(f, "unsigned long", "__probe_func", "", 8, 8, false);
		print_field(f, "unsigned long", "__probe_ret_ip", "", 16, 8, false);
	}
	for (unsigned int i = 0; i < l->nr; i++)
		print_field(f, e->fields[i].type, e->fields[i].name, e->fields[i].array, l->at[i],
			    e->fields[i].size, is_signed(&e->fields[i]));
	fprintf(f, "\nprint fmt: \"%s",
		e->shape == PROBE    ? "(%lx)"
		: e->shape == RETURN ? "(%lx <- %lx)"
				     : "");
	for (unsigned int i = 0; i < l->nr; i++)
		fprintf(f, " %s=%s", e->fields[i].name,
			*e->fields[i].array      ? "%s"
			: e->fields[i].size == 8 ? "0x%Lx"
						 : "%d");
	fprintf(f, "\"%s",
		e->shape == PROBE    ? ", REC->__probe_ip"
		: e->shape == RETURN ? ", REC->__probe_func, REC->__probe_ret_ip"
				     : "");
	for (unsigned int i = 0; i < l->nr; i++)
		fprintf(f, ", REC->%s", e->fields[i].name);
	fputc('\n', f);
	if (fclose(f))
		fail("out of memory");
	append_file(r, text, size);
	free(text);
}

static void append_system(struct recording *r, const char *system)
{
	uint32_t nr = 0;

	for (unsigned int i = 0; i < NR_REC_EVENTS; i++)
		nr += r->wanted >> i & 1 && !strcmp(events[i].system, system);
	append_number(r, nr, 4);
	for (unsigned int i = 0; i < NR_REC_EVENTS; i++)
		if (r->wanted >> i & 1 && !strcmp(events[i].system, system))
			append_format(r, i);
}

static void append_option(struct recording *r, unsigned int id, const char *text)
{
	append_number(r, id, 2);
	append_number(r, strlen(text) + 1, 4);
	append_string(r, text);
}

static void append_head(struct recording *r)
{
	static const char *const systems[] = {"sched", "task", "tlbr", "tlbr_tlbi"};
	static const char page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				   "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				   "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
	static const char entry[] = "# compressed entry header\n\ttype_len    :    5 bits\n"
				    "\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
				    "\tpadding     : type == 29\n\ttime_extend : type == 30\n"
				    "\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";

	append(r, "\x17\x08\x44tracing", 10);
	append_string(r, "6");
	append_number(r, 0, 1); /* little-endian */
	append_number(r, 8, 1); /* bytes of a long */
	append_number(r, PAGE, 4);
	append_string(r, "header_page");
	append_file(r, page, sizeof(page) - 1);
	append_string(r, "header_event");
	append_file(r, entry, sizeof(entry) - 1);
	append_system(r, "ftrace");
	append_number(r, sizeof(systems) / sizeof(*systems), 4);
	for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++) {
		append_string(r, systems[i]);
		append_system(r, systems[i]);
	}
	append_number(r, 0, 4); /* kallsyms */
	append_number(r, 0, 4); /* formats of trace_printk() */
	append_number(r, 0, 8); /* names of tasks */
	append_number(r, r->cpus, 4);
	append_string(r, "options  ");
	append_option(r, 4, "local global counter uptime perf [mono] mono_raw boot tai \n");
	append_option(r, 5, "Linux generated 6.12.0 aarch64");
	append_number(r, 0, 2);
	append_string(r, "flyrecord");
	r->table = r->end;
	for (unsigned int i = 0; i < 2 * r->cpus; i++)
		append_number(r, 0, 8);
}

struct recording *recording_create(const char *path, unsigned int cpus, uint32_t wanted)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r || !(r->buffer = calloc(BUFFER_PAGES, PAGE)))
		fail("out of memory");
	if (cpus > MAX_CPUS)
		fail("more than %d CPUs", MAX_CPUS);
	r->path = path;
	r->cpus = cpus;
	r->wanted = wanted | 1u << REC_MARKER;
	r->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (r->fd < 0)
		fail("%s: cannot be created: %s", path, strerror(errno));
	for (unsigned int i = 0; i < NR_REC_EVENTS; i++)
		lay_out(&events[i], &r->layouts[i]);
	append_head(r);
	return r;
}

/* ---- events ---- */

static void put(uint8_t *p, uint64_t n, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++)
		p[i] = (uint8_t)(n >> 8 * i);
}

static void spill(struct recording *r)
{
	append(r, r->buffer, (size_t)r->full * PAGE);
	r->full = 0;
}

static void end_page(struct recording *r)
{
	uint8_t *page = r->buffer + (size_t)r->full * PAGE;

	if (!r->at)
		return;
	put(page + 8, r->at - PAGE_HEAD, 8);
	memset(page + r->at, 0, PAGE - r->at);
	r->at = 0;
	if (++r->full == BUFFER_PAGES)
		spill(r);
}

static void end_cpu(struct recording *r)
{
	if (!r->cpu)
		return;
	end_page(r);
	spill(r);
	r->size[r->cpu - 1] = r->end - r->offset[r->cpu - 1];
}

void recording_next_cpu(struct recording *r)
{
	end_cpu(r);
	if (r->cpu == r->cpus)
		fail("%s: more CPUs than were promised", r->path);
	r->end = (r->end + PAGE - 1) / PAGE * PAGE;
	r->offset[r->cpu++] = r->end;
	r->last_ns = 0;
}

/* Room for SIZE bytes (a multiple of 4) of a record at TIME_NS. */
static uint8_t *reserve(struct recording *r, uint64_t time_ns, unsigned int size)
{
	uint64_t delta = time_ns - r->last_ns;
	unsigned int head = size > 112 ? 8 : 4;
	uint8_t *p;

	if (time_ns < r->last_ns)
		fail("%s: time runs backwards on CPU %u", r->path, r->cpu - 1);
	if (r->at && r->at + head + size + (delta >> 27 ? 8 : 0) > PAGE)
		end_page(r);
	if (!r->at) {
		put(r->buffer + (size_t)r->full * PAGE, time_ns, 8);
		r->at = PAGE_HEAD;
		delta = 0;
	}
	p = r->buffer + (size_t)r->full * PAGE + r->at;
	if (delta >> 27) {
		put(p, (delta & ((1 << 27) - 1)) << 5 | 30, 4);
		put(p + 4, delta >> 27, 4);
		p += 8;
		r->at += 8;
		delta = 0;
	}
	put(p, delta << 5 | (size > 112 ? 0 : size / 4), 4);
	if (size > 112)
		put(p + 4, size + 4, 4);
	r->at += head + size;
	r->last_ns = time_ns;
	r->events++;
	return p + head;
}

void recording_add(struct recording *r, enum recording_event event, uint64_t time_ns, int pid,
		   const uint64_t *values)
{
	const struct layout *l = &r->layouts[event];
	uint8_t *p = reserve(r, time_ns, l->size);

	memset(p, 0, l->size);
	put(p, event_number(event), 2);
	put(p + 4, (uint32_t)pid, 4);
	for (unsigned int i = 0; i < l->values; i++)
		__builtin_memcpy(p + l->value_at[i], &values[i], l->value_size[i]);
}

void recording_marker(struct recording *r, uint64_t time_ns, int pid, const char *text)
{
	unsigned int at = r->layouts[REC_MARKER].at[1], length = (unsigned int)strlen(text) + 1;
	unsigned int size = (at + length + 3) & ~3u;
	uint8_t *p = reserve(r, time_ns, size);

	memset(p, 0, size);
	put(p, event_number(REC_MARKER), 2);
	put(p + 4, (uint32_t)pid, 4);
	memcpy(p + at, text, length);
}

uint64_t recording_finish(struct recording *r)
{
	uint64_t n = r->events;

	end_cpu(r);
	for (unsigned int i = 0; i < r->cpus; i++) {
		uint8_t entry[16];

		put(entry, r->offset[i], 8);
		put(entry + 8, r->size[i], 8);
		write_at(r, entry, sizeof(entry), r->table + 16 * i);
	}
	if (close(r->fd))
		fail("%s: cannot be written: %s", r->path, strerror(errno));
	free(r->buffer);
	free(r);
	return n;
}
