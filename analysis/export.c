// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tlbexport: a recording as a timeline that the Perfetto UI opens (Chrome's JSON trace events).
 *
 * Four groups of tracks, one track per CPU in each: the task that runs, page faults, TLB flushes,
 * and the decision points that a replay of the recording finds. Tasks are slices, the rest are
 * instants. Beside them, counters of flushes per millisecond.
 *
 * Streamed: what is kept are the tasks that run now. The order of the lines is that of the events,
 * but for a slice, which is written when it ends; readers sort.
 *
 * A slice ends with the switch away. Where events were lost on a CPU it ends at the last event
 * before the hole, and the next one begins at the first event behind it: what ran between is not
 * known. Idle is shown as nothing.
 *
 * Decision points depend on all that went before (who shares an address space), so even for a part
 * of the recording everything up to its end is read.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/json.h"
#include "common/grow.h"
#include "common/msg.h"
#include "common/param.h"
#include "replay/decode.h"
#include "replay/interpret.h"
#include "replay/map.h"
#include "replay/trace.h"

#define FAULT_WRITE       1      /* FAULT_FLAG_WRITE */
#define ERROR_WRITE       2      /* x86 error code */
#define BUCKET_NS         1000000
#define OUT_BLOCK         65536  /* bytes */
#define FLUSH_EVERYTHING  UINT64_MAX

/* Groups of tracks: "processes" to the viewer. */
enum group { GROUP_TASKS = 1, GROUP_FAULTS, GROUP_FLUSHES, GROUP_DECISIONS, NR_GROUPS };
static const char *const group_names[NR_GROUPS] = {
	[GROUP_TASKS] = "CPUs: running task",
	[GROUP_FAULTS] = "Page faults",
	[GROUP_FLUSHES] = "TLB flushes",
	[GROUP_DECISIONS] = "Decision points",
};

/* What one CPU runs. */
struct running {
	bool known;
	int32_t tid;
	char comm[17]; /* "": not known */
	uint64_t start_ns, last_ns;
};

struct export {
	struct trace *trace;
	struct decoder *decoder;
	struct interpreter *interpreter;
	struct running *running; /* by dense CPU */
	/* handle_mm_fault is recorded: the hardware's report says it twice */
	bool fault_probes;
	const struct trace_format *switch_format;
	struct trace_field prev_pid, prev_comm, next_pid, next_comm;
	struct map by_tid; /* -> index into comms: what a task was last called */
	char (*comms)[17];
	size_t nr_comms, max_comms;
	uint64_t from_ns, to_ns;
	uint64_t bucket, counts[NR_SCOPES]; /* flushes within the current millisecond */
	bool any;                           /* a line has been written */
	FILE *out;
	const char *out_name;
	struct json json;
	bool failed;
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* ---- lines ---- */

static void flush_out(struct export *x, bool all)
{
	if (x->json.size < OUT_BLOCK && !all)
		return;
	if (x->json.failed || fwrite(x->json.text, 1, x->json.size, x->out) != x->json.size)
		x->failed = true;
	x->json.size = 0;
}

static void begin_line(struct export *x)
{
	flush_out(x, false);
	json_raw(&x->json, x->any ? ",\n{" : "\n{", x->any ? 3 : 2);
	x->any = true;
}

static void put_where(struct export *x, enum group group, unsigned int cpu)
{
	/* Numbers of "threads" that are no other track's. */
	json_printf(&x->json, ",\"pid\":%d,\"tid\":%u", group, (unsigned int)group << 20 | cpu);
}

static void put_time(struct export *x, const char *key, uint64_t ns)
{
	json_printf(&x->json, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000,
		    (unsigned int)(ns % 1000));
}

static void put_name(struct export *x, const char *name)
{
	json_raw(&x->json, "\"name\":", 7);
	json_string(&x->json, name, strlen(name));
}

/* Begins an instant up to its arguments. Returns false if it is outside the window. */
static bool instant(struct export *x, enum group group, unsigned int cpu, uint64_t time_ns,
		    const char *name)
{
	if (time_ns < x->from_ns || time_ns > x->to_ns)
		return false;
	begin_line(x);
	put_name(x, name);
	json_printf(&x->json, ",\"ph\":\"i\",\"s\":\"t\"");
	put_where(x, group, cpu);
	put_time(x, "ts", time_ns);
	return true;
}

static void metadata(struct export *x, const char *what, enum group group, unsigned int cpu,
		     bool thread, const char *key, const char *text, unsigned int number)
{
	begin_line(x);
	put_name(x, what);
	json_printf(&x->json, ",\"ph\":\"M\",\"pid\":%d", group);
	if (thread)
		json_printf(&x->json, ",\"tid\":%u", (unsigned int)group << 20 | cpu);
	json_printf(&x->json, ",\"args\":{\"%s\":", key);
	if (text)
		json_string(&x->json, text, strlen(text));
	else
		json_printf(&x->json, "%u", number);
	json_raw(&x->json, "}}", 2);
}

static void put_head(struct export *x)
{
	const struct trace_info *info = trace_info(x->trace);
	const char *name = strrchr(info->path, '/');
	char text[32];

	name = name ? name + 1 : info->path;
	json_printf(&x->json, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"recording\":");
	json_string(&x->json, name, strlen(name));
	json_printf(&x->json, ",\"kernel\":");
	json_string(&x->json, info->kernel, strlen(info->kernel));
	json_printf(&x->json, ",\"machine\":");
	json_string(&x->json, info->machine, strlen(info->machine));
	json_printf(&x->json,
		    ",\"made by\":\"tlbexport " TLBREPLAY_VERSION "\"},\"traceEvents\":[");
	for (int group = 1; group < NR_GROUPS; group++) {
		metadata(x, "process_name", group, 0, false, "name", group_names[group], 0);
		metadata(x, "process_sort_index", group, 0, false, "sort_index", NULL, group);
		for (unsigned int i = 0; i < decoder_nr_cpus(x->decoder); i++) {
			unsigned int cpu = decoder_cpu(x->decoder, i);

			snprintf(text, sizeof(text), "CPU %u", cpu);
			metadata(x, "thread_name", group, cpu, true, "name", text, 0);
			metadata(x, "thread_sort_index", group, cpu, true, "sort_index", NULL, cpu);
		}
	}
}

/* ---- tasks ---- */

static void put_slice(struct export *x, unsigned int cpu, const struct running *r, uint64_t end_ns)
{
	uint64_t start = r->start_ns > x->from_ns ? r->start_ns : x->from_ns;
	uint64_t end = end_ns < x->to_ns ? end_ns : x->to_ns;
	char text[24];

	if (!r->known || !r->tid || end < start || r->start_ns > x->to_ns)
		return;
	begin_line(x);
	snprintf(text, sizeof(text), "tid %" PRId32, r->tid);
	put_name(x, *r->comm ? r->comm : text);
	json_printf(&x->json, ",\"ph\":\"X\"");
	put_where(x, GROUP_TASKS, cpu);
	put_time(x, "ts", start);
	put_time(x, "dur", end - start);
	json_printf(&x->json, ",\"args\":{\"tid\":%" PRId32 "}}", r->tid);
}

/* A field of text, fixed or dynamic, into OUT. */
static void read_comm(const struct export *x, const struct trace_record *rec,
		      const struct trace_field *f, char *out, size_t size)
{
	uint64_t offset = f->offset, n = f->size;

	*out = '\0';
	if (f->is_dynamic) {
		struct trace_field word = {.offset = f->offset, .size = 4};
		uint64_t where;

		if (!trace_read(rec, &word, trace_swap(x->trace), &where))
			return;
		n = where >> 16;
		offset = (where & 0xffff) + (f->is_relative ? offset + 4 : 0);
	}
	if (offset > rec->size || n > rec->size - offset)
		return;
	n = strnlen((const char *)rec->data + offset, n);
	if (n > size - 1)
		n = size - 1;
	memcpy(out, rec->data + offset, n);
	out[n] = '\0';
}

/* Without memory a name is forgotten: it is then shown as a number. */
static void remember(struct export *x, int32_t tid, const char *comm)
{
	bool made;
	uint32_t *index = tid ? map_put(&x->by_tid, (uint32_t)tid, &made) : NULL;

	if (!index)
		return;
	if (made) {
		void *comms = grow_list(x->comms, x->nr_comms, &x->max_comms, sizeof(*x->comms));

		if (!comms) {
			map_remove(&x->by_tid, (uint32_t)tid);
			return;
		}
		x->comms = comms;
		*index = (uint32_t)x->nr_comms++;
	}
	strcpy(x->comms[*index], comm);
}

static void start_slice(struct export *x, struct running *r, int32_t tid, uint64_t time_ns)
{
	const uint32_t *index = map_get(&x->by_tid, (uint32_t)tid);

	*r = (struct running){.known = true, .tid = tid, .start_ns = time_ns, .last_ns = time_ns};
	if (index)
		strcpy(r->comm, x->comms[*index]);
}

static void follow_tasks(struct export *x, const struct trace_record *rec, unsigned int dense)
{
	struct running *r = &x->running[dense];
	bool swap = trace_swap(x->trace);
	uint64_t prev, next;

	/* Another task than we thought: its switch is among the events that were lost. */
	if (r->known && (rec->missed || r->tid != rec->pid)) {
		put_slice(x, rec->cpu, r, r->last_ns);
		r->known = false;
	}
	if (!r->known)
		start_slice(x, r, rec->pid, rec->time_ns);
	r->last_ns = rec->time_ns;
	if (!x->switch_format || rec->id != x->switch_format->id ||
	    !trace_read(rec, &x->prev_pid, swap, &prev) ||
	    !trace_read(rec, &x->next_pid, swap, &next))
		return;
	read_comm(x, rec, &x->prev_comm, r->comm, sizeof(r->comm));
	remember(x, (int32_t)prev, r->comm);
	put_slice(x, rec->cpu, r, rec->time_ns);
	read_comm(x, rec, &x->next_comm, r->comm, sizeof(r->comm));
	remember(x, (int32_t)next, r->comm);
	start_slice(x, r, (int32_t)next, rec->time_ns);
}

static int find_switch(struct export *x, struct trace_error *err)
{
	const struct trace_format *formats;
	size_t nr;
	int ret;

	formats = trace_formats(x->trace, &nr);
	for (size_t i = 0; i < nr && !x->switch_format; i++)
		if (!strcmp(formats[i].system, "sched") && !strcmp(formats[i].name, "sched_switch"))
			x->switch_format = &formats[i];
	if (!x->switch_format)
		return 0;
	ret = trace_find_field(x->trace, x->switch_format, "prev_pid", &x->prev_pid, err);
	if (!ret)
		ret = trace_find_field(x->trace, x->switch_format, "next_pid", &x->next_pid, err);
	if (!ret)
		ret = trace_find_field(x->trace, x->switch_format, "prev_comm", &x->prev_comm, err);
	if (!ret)
		ret = trace_find_field(x->trace, x->switch_format, "next_comm", &x->next_comm, err);
	return ret;
}

/* ---- instants ---- */

static void put_counts(struct export *x)
{
	bool any = false;

	for (int i = 0; i < NR_SCOPES; i++)
		any |= x->counts[i] != 0;
	if (!any)
		return;
	/* The viewer keeps a value until the next one: down to 0 where the millisecond ends. */
	for (int down = 0; down < 2; down++) {
		uint64_t at = (x->bucket + down) * BUCKET_NS;

		begin_line(x);
		put_name(x, "flushes per ms");
		json_printf(&x->json, ",\"ph\":\"C\",\"pid\":%d", GROUP_FLUSHES);
		put_time(x, "ts", at < x->from_ns ? x->from_ns : at > x->to_ns ? x->to_ns : at);
		json_printf(&x->json,
			    ",\"args\":{\"broadcast\":%" PRIu64 ",\"by interrupt\":%" PRIu64
			    ",\"local\":%" PRIu64 "}}",
			    down ? 0 : x->counts[SCOPE_BROADCAST], down ? 0 : x->counts[SCOPE_MASK],
			    down ? 0 : x->counts[SCOPE_LOCAL]);
	}
	memset(x->counts, 0, sizeof(x->counts));
}

static void count_flush(struct export *x, uint64_t time_ns, enum scope scope)
{
	if (time_ns / BUCKET_NS != x->bucket) {
		put_counts(x);
		x->bucket = time_ns / BUCKET_NS;
	}
	x->counts[scope]++;
}

static void put_fault(struct export *x, const struct raw_event *raw, unsigned int cpu)
{
	bool hardware = raw->plan->role == ROLE_HW_FAULT;
	bool known = hardware ? HAS(raw, ERROR) : HAS(raw, FLAGS);
	uint64_t value = !known ? 0 : hardware ? GET(raw, ERROR) : GET(raw, FLAGS);
	bool write = value & (hardware ? ERROR_WRITE : FAULT_WRITE);

	if (!instant(x, GROUP_FAULTS, cpu, raw->time_ns,
		     !known  ? "fault"
		     : write ? "write fault"
			     : "read fault"))
		return;
	json_printf(&x->json, ",\"args\":{\"tid\":%" PRId32, raw->pid);
	if (HAS(raw, ADDR))
		json_printf(&x->json, ",\"address\":\"0x%" PRIx64 "\"", GET(raw, ADDR));
	if (HAS(raw, MM))
		json_printf(&x->json, ",\"mm\":\"0x%" PRIx64 "\"", GET(raw, MM));
	if (known)
		json_printf(&x->json, ",\"%s\":\"0x%" PRIx64 "\"",
			    hardware ? "error code" : "flags", value);
	json_raw(&x->json, "}}", 2);
}

static void put_tlbi(struct export *x, const struct raw_event *raw, unsigned int cpu)
{
	const struct tlbi_op *op = &raw->plan->op;
	enum scope scope = op->broadcast ? SCOPE_BROADCAST : SCOPE_LOCAL;
	unsigned int shift = 12;
	char text[32];

	snprintf(text, sizeof(text), "tlbi %s", op->name);
	if (!instant(x, GROUP_FLUSHES, cpu, raw->time_ns, text))
		return;
	json_printf(&x->json, ",\"args\":{\"tid\":%" PRId32 ",\"scope\":\"%s\",\"site\":", raw->pid,
		    scope_name(scope));
	json_string(&x->json, raw->plan->format->name, strlen(raw->plan->format->name));
	if (HAS(raw, OP) && op->kind != TLBI_VMALL) {
		struct tlbi_reach reach;

		while (shift < 16 && 1u << (shift + 1) <= trace_info(x->trace)->page_size)
			shift++;
		tlbi_decode(op, GET(raw, OP), shift, &reach);
		json_printf(&x->json, ",\"asid\":%u", reach.asid);
		if (reach.pages)
			json_printf(&x->json, ",\"address\":\"0x%" PRIx64 "\",\"pages\":%" PRIu64,
				    reach.va, reach.pages);
	}
	json_raw(&x->json, "}}", 2);
	count_flush(x, raw->time_ns, scope);
}

static void put_tlb_flush(struct export *x, const struct raw_event *raw, unsigned int cpu)
{
	const char *reason = HAS(raw, REASON) ? tlb_flush_reason_name(GET(raw, REASON)) : NULL;

	if (!instant(x, GROUP_FLUSHES, cpu, raw->time_ns, reason ? reason : "tlb_flush"))
		return;
	json_printf(&x->json, ",\"args\":{\"tid\":%" PRId32, raw->pid);
	if (HAS(raw, REASON))
		json_printf(&x->json, ",\"reason\":%" PRId64, (int64_t)GET(raw, REASON));
	if (HAS(raw, PAGES) && GET(raw, PAGES) == FLUSH_EVERYTHING)
		json_printf(&x->json, ",\"pages\":\"all\"");
	else if (HAS(raw, PAGES))
		json_printf(&x->json, ",\"pages\":%" PRIu64, GET(raw, PAGES));
	json_raw(&x->json, "}}", 2);
	if (HAS(raw, REASON))
		count_flush(x, raw->time_ns, tlb_flush_reason_scope(GET(raw, REASON)));
}

static void put_event(struct export *x, const struct raw_event *raw, unsigned int cpu)
{
	switch (raw->plan->role) {
	case ROLE_FAULT:
		if (!raw->plan->is_return)
			put_fault(x, raw, cpu);
		break;
	case ROLE_HW_FAULT:
		if (!x->fault_probes)
			put_fault(x, raw, cpu);
		break;
	case ROLE_TLBI:
		put_tlbi(x, raw, cpu);
		break;
	case ROLE_TLB_FLUSH:
		put_tlb_flush(x, raw, cpu);
		break;
	default:
		break;
	}
}

static void on_decision(void *context, const struct tlb_event *e)
{
	struct export *x = context;
	char text[40];

	if (e->kind != EVENT_DECISION || !e->sure.high)
		return;
	/* One that the recording cannot tell from others has a question mark. */
	snprintf(text, sizeof(text), "%s%s", point_name(e->point), e->sure.low ? "" : " ?");
	if (!instant(x, GROUP_DECISIONS, decoder_cpu(x->decoder, e->cpu), e->time_ns, text))
		return;
	json_printf(&x->json, ",\"args\":{\"tid\":%" PRIu32 ",\"level\":\"%s\",\"mm\":%" PRIu32,
		    e->tid, level_name(e->level), e->mm);
	if (e->pages)
		json_printf(&x->json, ",\"address\":\"0x%" PRIx64 "\",\"pages\":%" PRIu64, e->addr,
			    e->pages);
	json_raw(&x->json, "}}", 2);
}

static void on_mm_done(void *context, const struct mm_identity *mm)
{
	(void)context, (void)mm;
}

/* ---- the whole ---- */

static unsigned int find_arch(const struct export *x)
{
	const char *machine = trace_info(x->trace)->machine;

	if (!strcmp(machine, "aarch64") || !strcmp(machine, "arm64"))
		return ARCH_ARM64;
	if (!strcmp(machine, "x86_64") || (machine[0] == 'i' && strstr(machine, "86")))
		return ARCH_X86;
	if (*machine)
		return 0;
	return decoder_has(x->decoder, ROLE_TLBI, -1) || decoder_has(x->decoder, ROLE_LOAD_MM, -1)
		       ? ARCH_ARM64
	       : decoder_has(x->decoder, ROLE_HW_FAULT, -1) ? ARCH_X86
							    : 0;
}

static unsigned int dense_cpu(const struct export *x, unsigned int cpu)
{
	unsigned int i = 0;

	while (decoder_cpu(x->decoder, i) != cpu)
		i++;
	return i;
}

static int read_events(struct export *x, struct trace_error *err)
{
	unsigned int *dense = calloc(trace_info(x->trace)->nr_entries + 1, sizeof(*dense));
	struct trace_record rec;
	struct raw_event raw;
	uint64_t events = 0, last_ns = 0, done, total;
	int ret = dense ? 0 : -ENOMEM;

	for (size_t i = 0; dense && i < trace_info(x->trace)->nr_entries; i++)
		dense[i] = dense_cpu(x, trace_info(x->trace)->cpus[i].cpu);
	while (!ret && (ret = trace_next(x->trace, &rec, err)) > 0) {
		bool wanted = decode(x->decoder, &rec, &raw);

		ret = 0;
		if (rec.time_ns > x->to_ns)
			break;
		last_ns = rec.time_ns > last_ns ? rec.time_ns : last_ns;
		follow_tasks(x, &rec, dense[rec.entry]);
		if (rec.missed)
			interpret_lost(x->interpreter, dense[rec.entry], rec.time_ns);
		if (wanted) {
			put_event(x, &raw, rec.cpu);
			ret = interpret(x->interpreter, &raw);
		}
		if (x->failed || stop)
			break;
		if (!(++events & 0xffff)) {
			trace_progress(x->trace, &done, &total);
			msg_progress("%s: %3.0f%%, %" PRIu64 " events", trace_info(x->trace)->path,
				     total ? 100.0 * (double)done / (double)total : 100.0, events);
		}
	}
	if (!ret)
		ret = interpret_end(x->interpreter, last_ns);
	for (unsigned int i = 0; !ret && i < decoder_nr_cpus(x->decoder); i++)
		put_slice(x, decoder_cpu(x->decoder, i), &x->running[i], x->running[i].last_ns);
	put_counts(x);
	free(dense);
	if (ret == -ENOMEM)
		strcpy(err->text, "out of memory");
	return ret;
}

static int export_trace(struct export *x, const char *path, bool *lost, struct trace_error *err)
{
	struct interpret_sink sink = {.context = x, .event = on_decision, .mm_done = on_mm_done};
	int ret = -EINVAL;

	x->trace = trace_open(path, err);
	if (x->trace)
		x->decoder = decoder_new(x->trace, err);
	if (!x->decoder)
		goto out;
	x->fault_probes = decoder_has(x->decoder, ROLE_FAULT, 0);
	x->running = calloc(decoder_nr_cpus(x->decoder) + 1, sizeof(*x->running));
	x->interpreter = interpreter_new(x->trace, x->decoder, find_arch(x), &sink);
	if (!x->running || !x->interpreter) {
		strcpy(err->text, "out of memory");
		goto out;
	}
	ret = find_switch(x, err);
	if (ret)
		goto out;
	put_head(x);
	ret = read_events(x, err);
	json_raw(&x->json, "\n]}\n", 4);
	flush_out(x, true);
	for (size_t i = 0; i < trace_info(x->trace)->nr_entries; i++) {
		const struct trace_cpu *c = &trace_info(x->trace)->cpus[i];

		*lost |= c->loss.events || c->loss.unknown ||
			 (c->stat.present &&
			  (c->stat.overrun || c->stat.dropped || c->stat.commit_overrun));
	}
out:
	interpreter_free(x->interpreter);
	decoder_free(x->decoder);
	trace_close(x->trace);
	free(x->running);
	map_free(&x->by_tid);
	free(x->comms);
	free(x->json.text);
	return ret;
}

static const char usage[] =
	"Usage: tlbexport TRACE -o FILE [--from TIME] [--to TIME]\n"
	"\n"
	"Writes a recording (trace.dat) as a timeline, Chrome's JSON trace events, that the Perfetto UI\n"
	"opens: per CPU the task that runs, page faults, TLB flushes and decision points.\n"
	"\n"
	"  -o, --output FILE  the file to write, - for standard output; it appears when it is complete\n"
	"      --from TIME    leave out what is before; by the recording's clock, in ns,\n"
	"                     or with a unit: us, ms, s\n"
	"      --to TIME      leave out what is behind\n"
	"  -h, --help         this text\n"
	"  -V, --version      the version\n"
	"\n"
	"Examples:\n"
	"  tlbexport host.dat -o host.json\n"
	"  tlbexport host.dat --from 10500ms --to 10600ms -o - | gzip > part.json.gz\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 wrong usage, 3 done, but the recording has lost events.\n";

static bool read_time(const char *option, const char *text, uint64_t *out)
{
	int64_t value;

	if (number_time_ns(text, &value) || value < 0) {
		msg_error("%s: '%s' is no time (10500000000, 10500ms, 10s)", option, text);
		return false;
	}
	*out = value;
	return true;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'}, {"from", required_argument, NULL, 1},
		{"to", required_argument, NULL, 2},	  {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},	  {0},
	};
	struct export x = {.to_ns = UINT64_MAX};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
	const char *output = NULL;
	struct trace_error err;
	char *part = NULL;
	bool lost = false;
	int c, ret, status = EXIT_FAILED;

	msg_program = "tlbexport";
	while ((c = getopt_long(argc, argv, "o:hV", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			output = optarg;
			break;
		case 1:
			if (!read_time("--from", optarg, &x.from_ns))
				return EXIT_USAGE;
			break;
		case 2:
			if (!read_time("--to", optarg, &x.to_ns))
				return EXIT_USAGE;
			break;
		case 'h':
			fputs(usage, stdout);
			return msg_status(EXIT_FINE);
		case 'V':
			puts("tlbexport " TLBREPLAY_VERSION);
			return msg_status(EXIT_FINE);
		default:
			fputs("Try 'tlbexport --help'.\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (argc - optind != 1 || !output || !*output) {
		msg_error("%s", argc - optind > 1    ? "one recording at a time"
				: argc - optind == 1 ? "where to? -o FILE"
						     : "which recording?");
		fputs("Try 'tlbexport --help'.\n", stderr);
		return EXIT_USAGE;
	}
	if (x.from_ns > x.to_ns) {
		msg_error("--from is behind --to");
		return EXIT_USAGE;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	if (!strcmp(output, "-")) {
		x.out = stdout;
	} else {
		if (asprintf(&part, "%s.part", output) < 0) {
			part = NULL;
			msg_error("out of memory");
			goto out;
		}
		x.out = fopen(part, "we");
		if (!x.out) {
			msg_error("%s: %s", part, strerror(errno));
			goto out;
		}
	}
	ret = export_trace(&x, argv[optind], &lost, &err);
	msg_progress_end();
	if (fflush(x.out) || ferror(x.out))
		x.failed = true;
	if (x.out != stdout && fclose(x.out))
		x.failed = true;
	if (ret)
		msg_error("%s", err.text);
	else if (stop)
		msg_error("stopped");
	else if (x.failed)
		msg_error("%s: cannot be written: %s", output, strerror(errno ? errno : EIO));
	else if (part && rename(part, output))
		msg_error("%s: %s", output, strerror(errno));
	else
		status = lost ? EXIT_INCOMPLETE : EXIT_FINE;
	if (part && status == EXIT_FAILED)
		unlink(part);
out:
	free(part);
	return status;
}
