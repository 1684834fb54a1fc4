// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/msg.h"
#include "replay/trace.h"

/* The text after a line's last field: nothing, or the buffer's name. */
static const char *buffer_name(const struct trace_info *info, unsigned int buffer)
{
	if (info->nr_buffers < 2)
		return "";
	return info->buffers[buffer].name[0] ? info->buffers[buffer].name : "-";
}

static void end_line(FILE *out, const char *buffer)
{
	if (*buffer) {
		fputc(' ', out);
		msg_put(out, buffer);
	}
	fputc('\n', out);
}

static void print_record(const struct trace *t, const struct trace_record *rec, FILE *out)
{
	const struct trace_info *info = trace_info(t);
	const struct trace_format *f = trace_format_by_id(t, rec->id);
	const char *buffer = buffer_name(info, rec->buffer);

	fprintf(out, "%" PRIu64 " %" PRIu32 " %" PRId32 " ", rec->time_ns, rec->cpu, rec->pid);
	if (f) {
		msg_put(out, f->system);
		fputc(':', out);
		msg_put(out, f->name);
	} else {
		fprintf(out, "unknown:%" PRId32, rec->id);
	}
	end_line(out, buffer);
}

int dump_trace(const char *path, FILE *out, struct trace_error *err, bool *incomplete)
{
	struct trace *t = trace_open(path, err);
	const struct trace_info *info;
	struct trace_record rec;
	bool lost = false;
	size_t i;
	int ret;

	if (!t)
		return errno ? -errno : -EINVAL;
	while ((ret = trace_next(t, &rec, err)) > 0)
		print_record(t, &rec, out);
	info = trace_info(t);
	for (i = 0; i < info->nr_entries && !ret; i++) {
		const struct trace_cpu *cpu = &info->cpus[i];
		const char *buffer = buffer_name(info, cpu->buffer);

		if (cpu->loss.events) {
			fprintf(out, "lost %u %" PRIu64, cpu->cpu, cpu->loss.events);
			end_line(out, buffer);
		}
		if (cpu->loss.unknown) {
			fprintf(out, "lost %u unknown", cpu->cpu);
			end_line(out, buffer);
		}
		lost |= cpu->loss.events || cpu->loss.unknown;
	}
	if (!ret && (fflush(out) || ferror(out))) {
		ret = errno ? -errno : -EIO;
		snprintf(err->text, sizeof(err->text), "the output: %s", strerror(-ret));
	}
	if (incomplete)
		*incomplete = lost;
	trace_close(t);
	return ret;
}
