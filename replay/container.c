// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The container, versions 6 and 7.
 *
 *	both   magic, version, byte order, size of long, page size
 *	v6     header_page, header_event, ftrace formats, event formats, kallsyms, printk formats,
 *	       command lines, CPU count, ["options" ...], "flyrecord", {offset, size} per CPU,
 *	       [clock], pages. An instance is a BUFFER option that points at a "flyrecord" of its
 *own. v7     compression, offset of the first options section; then sections in any order, each
 *	       {id, flags, description, size}. Options point at the other sections and, by a DONE
 *	       option, at the next options. A BUFFER option has the offsets of its CPUs' pages.
 *
 * Both end in the same tables, so the parts (header_page, formats, options) have one parser each.
 *
 * A recorder writes the BUFFER options of v7 last. A file without any was not finished; what it
 * holds of events is not described anywhere, so it is refused.
 */
#include "replay/container.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#define PAGE_MIN       512
#define PAGE_MAX       (1 << 20)
#define SECTION_MAX    (256ULL << 20) /* bytes, uncompressed */
#define SECTIONS_MAX   4096           /* options sections; more is a loop */
#define ENTRIES_MAX    (1 << 16)      /* (cpu, buffer) pairs in all */
#define CPU_MAX        (1 << 20)
#define TEXT_MAX       (1 << 20) /* bytes of an option that is text */
#define SECTION_PACKED 1

enum option_id {
	OPTION_DONE = 0,
	OPTION_DATE = 1,
	OPTION_CPUSTAT = 2,
	OPTION_BUFFER = 3,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_CPUCOUNT = 8,
	OPTION_VERSION = 9,
	OPTION_TRACEID = 11,
	OPTION_TIME_SHIFT = 12,
	OPTION_TSC2NSEC = 14,
	OPTION_HEADER_INFO = 16,
	OPTION_FTRACE_EVENTS = 17,
	OPTION_EVENT_FORMATS = 18,
	OPTION_BUFFER_TEXT = 22,
};

/* CPUSTAT options may come before the BUFFER that they are about. */
struct named_stat {
	char *buffer; /* "" for the top level */
	unsigned int cpu;
	struct trace_cpu_stat stat;
};

/* Bytes [start, end) of the file. */
struct stretch {
	uint64_t start, end;
};

/* What is gathered while the options are read. */
struct gather {
	struct container *c;
	struct trace_error *err;
	struct named_stat *stats;
	size_t nr_stats;
	char *stat_buffer; /* the buffer that the following CPUSTATs are about */
	char *clock, *uname, *trace_cmd;
	bool have_clock; /* an option TRACECLOCK was there, maybe an empty one */
	bool have_cpu_count, have_text_buffer;
	uint32_t cpu_count;
	uint64_t header_info, ftrace_events, event_formats; /* v7: offsets of sections; 0: none */
	uint64_t buffer_offsets[256];                       /* v6: by index into c->buffers */
	uint64_t tables_end;                                /* v6: behind the top level's table */
	struct stretch *sections;                           /* v7: those that hold events */
	size_t nr_sections;
};

static int add_buffer(struct container *c, const char *name, const char *clock,
		      unsigned int page_size, size_t *index)
{
	size_t n = c->info.nr_buffers;
	void *buffers, *zstd;

	buffers = reallocarray(c->buffers, n + 1, sizeof(*c->buffers));
	if (!buffers)
		return -ENOMEM;
	c->buffers = buffers;
	zstd = reallocarray(c->zstd, n + 1, sizeof(*c->zstd));
	if (!zstd)
		return -ENOMEM;
	c->zstd = zstd;
	c->zstd[n] = false;
	c->buffers[n].name = strdup(name);
	c->buffers[n].clock = strdup(clock);
	c->buffers[n].page_size = page_size;
	c->info.nr_buffers = n + 1;
	*index = n;
	return c->buffers[n].name && c->buffers[n].clock ? 0 : -ENOMEM;
}

/* Adds one row; OFFSET and SIZE are checked against the file here. */
static int add_cpu(struct reader *r, struct container *c, size_t buffer, uint32_t cpu,
		   uint64_t offset, uint64_t size)
{
	size_t n = c->info.nr_entries;

	if (r->error)
		return r->error;
	if (cpu >= CPU_MAX || n >= ENTRIES_MAX)
		return reader_fail(r, -EBADMSG, "CPU number %" PRIu32 " or the %zuth CPU's data",
				   cpu, n + 1);
	if (size && (size > c->src.size || offset > c->src.size - size))
		return reader_fail(r, -EBADMSG,
				   "truncated: the data of CPU %" PRIu32 " lie at %" PRIu64
				   ", %" PRIu64 " bytes long; the file has %" PRIu64,
				   cpu, offset, size, c->src.size);
	/* Writers put them there, for the kernel moves whole pages; a damaged offset shows by it.
	 */
	if (size && !c->zstd[buffer] && offset % c->buffers[buffer].page_size)
		return reader_fail(r, -EBADMSG,
				   "the data of CPU %" PRIu32 " lie at %" PRIu64
				   ", which is not at a page's boundary",
				   cpu, offset);
	if (!(n & (n - 1))) { /* full at the powers of two */
		void *cpus = reallocarray(c->cpus, n ? n * 2 : 1, sizeof(*c->cpus));

		if (!cpus)
			return reader_fail(r, -ENOMEM, "out of memory");
		c->cpus = cpus;
	}
	c->cpus[n] = (struct trace_cpu){
		.cpu = cpu,
		.buffer = buffer,
		.file_offset = offset,
		.file_size = size,
	};
	c->info.nr_entries = n + 1;
	return 0;
}

static int check_page_size(struct reader *r, uint32_t size)
{
	if (r->error)
		return r->error;
	if (size < PAGE_MIN || size > PAGE_MAX || size & (size - 1))
		return reader_fail(r, -EBADMSG, "a page size of %" PRIu32 " bytes", size);
	return 0;
}

/* ---- header_page, header_event ---- */

static void parse_header_info(struct container *c, struct reader *r)
{
	uint32_t at, size;
	uint64_t length;
	char magic[16], text[4096];

	reader_copy(r, magic, 12, "header_page");
	if (!r->error && memcmp(magic, "header_page", 12))
		reader_fail(r, -EBADMSG, "\"header_page\" expected");
	length = reader_u64(r, "header_page");
	if (!r->error && !length)
		reader_fail(r, -EBADMSG, "no header_page: the format of kernels before 2.6.31");
	if (!r->error && length > sizeof(text))
		reader_fail(r, -EBADMSG, "a header_page of %" PRIu64 " bytes", length);
	reader_copy(r, text, r->error ? 0 : length, "header_page");
	if (r->error)
		return;
	if (!format_scan_field(text, length, "timestamp", &at, &size) || at || size != 8)
		reader_fail(r, -EBADMSG, "header_page has no 8-byte timestamp at 0");
	else if (!format_scan_field(text, length, "commit", &c->layout.commit_offset, &size) ||
		 (size != 4 && size != 8) || c->layout.commit_offset < 8 ||
		 c->layout.commit_offset > 64)
		reader_fail(r, -EBADMSG, "header_page has no usable commit");
	else if (c->layout.commit_size = size,
		 !format_scan_field(text, length, "data", &c->layout.data_offset, &size) ||
			 c->layout.data_offset < c->layout.commit_offset + c->layout.commit_size ||
			 c->layout.data_offset > PAGE_HEADER_MAX)
		reader_fail(r, -EBADMSG, "header_page has no usable data");
	/* The header of the file says the long of user space; the commit is a long of the kernel.
	 */
	c->info.long_size = c->layout.commit_size;

	reader_copy(r, magic, 13, "header_event");
	if (!r->error && memcmp(magic, "header_event", 13))
		reader_fail(r, -EBADMSG, "\"header_event\" expected");
	length = reader_u64(r, "header_event");
	reader_skip(r, length, "header_event");
}

/* ---- event formats ---- */

static void parse_format_list(struct container *c, struct reader *r, const char *system)
{
	uint32_t nr = reader_u32(r, "the number of formats");

	while (!r->error && nr--)
		formats_add(&c->formats, r, system, reader_u64(r, "the size of a format"));
}

static void parse_format_systems(struct container *c, struct reader *r)
{
	uint32_t nr = reader_u32(r, "the number of event systems");
	char system[256];

	while (!r->error && nr--) {
		reader_string(r, system, sizeof(system), "the name of an event system");
		if (!r->error)
			parse_format_list(c, r, system);
	}
}

/* ---- options ---- */

/* A copy of the option's text, with a NUL behind it; the whole option is taken. */
static char *option_text(struct reader *r, uint64_t size)
{
	char *text;

	if (r->error || size > TEXT_MAX || size > reader_left(r)) {
		reader_fail(r, -EBADMSG, "an option of %" PRIu64 " bytes", size);
		return NULL;
	}
	text = malloc(size + 1);
	if (!text) {
		reader_fail(r, -ENOMEM, "out of memory");
		return NULL;
	}
	reader_copy(r, text, size, "an option");
	text[r->error ? 0 : size] = '\0';
	return text;
}

/* "local [mono] global": what stands in brackets; "" if nothing does. */
static char *bracketed(const char *text)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	return close ? strndup(open + 1, close - open - 1) : strdup("");
}

/* A decimal or 0x number that an option holds as text. */
static int option_number(struct reader *r, const char *text, const char *name, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 0);
	if (errno || end == text || (*end && *end != '\n'))
		return reader_fail(r, -EBADMSG, "time option %s says \"%.64s\"", name, text);
	return 0;
}

static bool stat_value(const char *line, const char *key, uint64_t *out)
{
	size_t n = strlen(key);

	if (strncmp(line, key, n))
		return false;
	*out = strtoull(line + n, NULL, 10);
	return true;
}

/*
 * The text of per_cpu/cpuN/stats after a line "CPU: N"; or "Buffer: NAME", which names the instance
 * that the following ones are about.
 */
static void option_cpustat(struct gather *g, struct reader *r, char *text)
{
	struct named_stat s = {.stat.present = true};
	bool have_cpu = false;
	uint64_t v, cpu = 0;
	char *line, *save;
	void *stats;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, "Buffer: ", 8)) {
			free(g->stat_buffer);
			g->stat_buffer = strdup(line + 8);
			if (!g->stat_buffer)
				reader_fail(r, -ENOMEM, "out of memory");
		} else if (stat_value(line, "CPU:", &v)) {
			have_cpu = true;
			cpu = v;
		} else if (stat_value(line, "overrun:", &v)) {
			s.stat.overrun = v;
		} else if (stat_value(line, "commit overrun:", &v)) {
			s.stat.commit_overrun = v;
		} else if (stat_value(line, "dropped events:", &v)) {
			s.stat.dropped = v;
		}
	}
	if (!have_cpu || cpu >= CPU_MAX || g->nr_stats >= ENTRIES_MAX || r->error)
		return;
	s.cpu = cpu;
	s.buffer = strdup(g->stat_buffer ? g->stat_buffer : "");
	stats = reallocarray(g->stats, g->nr_stats + 1, sizeof(*g->stats));
	if (stats)
		g->stats = stats;
	if (!stats || !s.buffer) {
		free(s.buffer);
		reader_fail(r, -ENOMEM, "out of memory");
		return;
	}
	g->stats[g->nr_stats++] = s;
}

/* v6: {offset, name}. What lies at the offset is read once all options are known. */
static void option_buffer_v6(struct gather *g, struct reader *r)
{
	uint64_t offset = reader_u64(r, "a BUFFER option");
	char name[512];
	size_t index;

	reader_string(r, name, sizeof(name), "a BUFFER option's name");
	if (r->error)
		return;
	if (g->c->info.nr_buffers >= sizeof(g->buffer_offsets) / sizeof(g->buffer_offsets[0])) {
		reader_fail(r, -EBADMSG, "too many BUFFER options");
		return;
	}
	if (!offset) {
		reader_fail(r, -EBADMSG,
			    "buffer \"%.64s\" has no data: the recording was not finished", name);
		return;
	}
	if (add_buffer(g->c, name, "", g->c->info.page_size, &index))
		reader_fail(r, -ENOMEM, "out of memory");
	else
		g->buffer_offsets[index] = offset;
}

/* v7: {offset of its section, name, clock, page size, CPUs, {cpu, offset, size} each}. */
static void option_buffer_v7(struct gather *g, struct reader *r)
{
	struct container *c = g->c;
	uint64_t section = reader_u64(r, "a BUFFER option");
	uint32_t page_size, cpus, flags;
	char name[512], clock[128];
	uint8_t header[16];
	size_t index;
	int ret;

	reader_string(r, name, sizeof(name), "a BUFFER option's name");
	reader_string(r, clock, sizeof(clock), "a BUFFER option's clock");
	page_size = reader_u32(r, "a BUFFER option's page size");
	cpus = reader_u32(r, "a BUFFER option's CPU count");
	if (r->error)
		return;
	if (!page_size)
		page_size = c->info.page_size;
	if (check_page_size(r, page_size))
		return;
	if (add_buffer(c, name, clock, page_size, &index)) {
		reader_fail(r, -ENOMEM, "out of memory");
		return;
	}
	if (!cpus)
		return;
	ret = source_read(&c->src, header, sizeof(header), section, g->err);
	if (ret) {
		r->error = ret;
		return;
	}
	flags = source_u16(&c->src, header + 2);
	if (source_u16(&c->src, header) != OPTION_BUFFER) {
		reader_fail(r, -EBADMSG,
			    "buffer \"%.64s\": the section at %" PRIu64 " holds no events", name,
			    section);
		return;
	}
	if (flags & SECTION_PACKED) {
		if (strcmp(c->info.compression, "zstd")) {
			reader_fail(r, -EBADMSG,
				    "buffer \"%.64s\" is compressed, the file says by \"%s\"", name,
				    c->info.compression);
			return;
		}
		c->zstd[index] = true;
	}
	while (!r->error && cpus--) {
		uint32_t cpu = reader_u32(r, "a CPU of a BUFFER option");
		uint64_t offset = reader_u64(r, "a CPU of a BUFFER option");
		uint64_t size = reader_u64(r, "a CPU of a BUFFER option");

		add_cpu(r, c, index, cpu, offset, size);
	}
}

/* Guests: how their clocks relate to the host's. No counts, no shift. */
static void option_time_shift(struct reader *r, uint32_t size)
{
	uint64_t peer;
	uint32_t cpus;

	if (size < 16)
		return;
	peer = reader_u64(r, "TIME_SHIFT");
	reader_u32(r, "TIME_SHIFT");
	cpus = reader_u32(r, "TIME_SHIFT");
	if (!r->error && cpus)
		reader_fail(
			r, -EOPNOTSUPP,
			"time option TIME_SHIFT (a guest's recording, to be shifted to the clock "
			"of recording %" PRIx64 " on its host) is not supported",
			peer);
}

static void option_tsc2nsec(struct gather *g, struct reader *r, uint32_t size)
{
	if (size < 16)
		return;
	g->c->layout.mult = reader_u32(r, "TSC2NSEC");
	g->c->layout.shift = reader_u32(r, "TSC2NSEC");
	/* Its third value, an offset, is what trace-cmd leaves to other clocks. */
	if (!r->error && g->c->layout.mult && g->c->layout.shift > 63)
		reader_fail(r, -EBADMSG, "time option TSC2NSEC shifts by %" PRIu32,
			    g->c->layout.shift);
}

static void replace(struct reader *r, char **at, char *by)
{
	if (!by)
		reader_fail(r, -ENOMEM, "out of memory");
	free(*at);
	*at = by;
}

/* Handles one option of SIZE bytes, which R has; whatever it does not take is passed over. */
static void parse_option(struct gather *g, struct reader *r, uint16_t id, uint32_t size)
{
	struct container *c = g->c;
	bool v7 = c->info.version >= 7;
	uint64_t end = r->pos + size, whole_end = r->end;
	char *text = NULL;
	int64_t number;

	if (size > reader_left(r)) {
		reader_skip(r, size, "an option");
		return;
	}
	/* An option must not reach into the next one. */
	r->end = end;
	switch (id) {
	case OPTION_DATE:
	case OPTION_OFFSET:
		text = option_text(r, size);
		if (!text)
			break;
		/* DATE is in microseconds. */
		if (!option_number(r, text, id == OPTION_DATE ? "DATE" : "OFFSET", &number))
			c->layout.offset_ns += (uint64_t)number * (id == OPTION_DATE ? 1000 : 1);
		break;
	case OPTION_CPUSTAT:
		text = option_text(r, size);
		if (text)
			option_cpustat(g, r, text);
		break;
	case OPTION_BUFFER:
		if (v7)
			option_buffer_v7(g, r);
		else
			option_buffer_v6(g, r);
		break;
	case OPTION_BUFFER_TEXT:
		g->have_text_buffer = true;
		break;
	case OPTION_TRACECLOCK:
		g->have_clock = true;
		text = option_text(r, size);
		if (text)
			replace(r, &g->clock, bracketed(text));
		break;
	case OPTION_UNAME:
		text = option_text(r, size);
		if (text)
			replace(r, &g->uname, strdup(text));
		break;
	case OPTION_VERSION:
		text = option_text(r, size);
		if (text)
			replace(r, &g->trace_cmd, strdup(text));
		break;
	case OPTION_CPUCOUNT:
		g->cpu_count = reader_u32(r, "CPUCOUNT");
		g->have_cpu_count = true;
		break;
	case OPTION_TRACEID:
		if (size >= 8)
			c->info.trace_id = reader_u64(r, "TRACEID");
		break;
	case OPTION_TIME_SHIFT:
		option_time_shift(r, size);
		break;
	case OPTION_TSC2NSEC:
		option_tsc2nsec(g, r, size);
		break;
	case OPTION_HEADER_INFO:
		g->header_info = reader_u64(r, "HEADER_INFO");
		break;
	case OPTION_FTRACE_EVENTS:
		g->ftrace_events = reader_u64(r, "FTRACE_EVENTS");
		break;
	case OPTION_EVENT_FORMATS:
		g->event_formats = reader_u64(r, "EVENT_FORMATS");
		break;
	}
	free(text);
	r->end = whole_end;
	if (!r->error)
		r->pos = end;
}

/* ---- version 6 ---- */

/* {offset, size} per CPU, after the tag "flyrecord"; the clock behind it if there was an option. */
static void parse_flyrecord_v6(struct gather *g, struct reader *r, size_t buffer, uint32_t cpus)
{
	struct container *c = g->c;
	uint64_t length;
	uint32_t cpu;
	char *text;

	if (!r->error && (uint64_t)cpus * 16 > reader_left(r)) {
		reader_skip(r, (uint64_t)cpus * 16, "the table of CPUs");
		return;
	}
	for (cpu = 0; cpu < cpus && !r->error; cpu++) {
		uint64_t offset = reader_u64(r, "the table of CPUs");
		uint64_t size = reader_u64(r, "the table of CPUs");

		add_cpu(r, c, buffer, cpu, offset, size);
	}
	if (r->error || !g->have_clock)
		return;
	/* Some old writers put nothing sensible here; the clock is then not known. */
	if (reader_left(r) < 8)
		return;
	length = reader_u64(r, "the clock");
	if (r->error || length > 4096 || length > reader_left(r))
		return;
	text = option_text(r, length);
	if (text && strchr(text, '[')) {
		char *clock = bracketed(text);

		if (!clock)
			reader_fail(r, -ENOMEM, "out of memory");
		free((char *)c->buffers[buffer].clock);
		c->buffers[buffer].clock = clock;
	}
	free(text);
}

/* "options", if they are there, then the tag that follows. */
static void parse_tag_v6(struct gather *g, struct reader *r)
{
	char tag[10];

	reader_copy(r, tag, sizeof(tag), "\"options\" or \"flyrecord\"");
	if (!r->error && !memcmp(tag, "options  ", 10)) {
		for (;;) {
			uint16_t id = reader_u16(r, "an option");

			if (r->error || id == OPTION_DONE)
				break;
			parse_option(g, r, id, reader_u32(r, "the size of an option"));
		}
		reader_copy(r, tag, sizeof(tag), "\"flyrecord\"");
	}
	if (r->error)
		return;
	if (!memcmp(tag, "latency  ", 10))
		reader_fail(r, -EOPNOTSUPP, "a latency recording: text, no events");
	else if (memcmp(tag, "flyrecord", 10))
		reader_fail(r, -EBADMSG, "\"flyrecord\" expected");
}

static int open_v6(struct gather *g, struct reader *r)
{
	struct container *c = g->c;
	uint32_t cpus;
	size_t i, top;

	parse_header_info(c, r);
	parse_format_list(c, r, "ftrace");
	parse_format_systems(c, r);
	reader_skip(r, reader_u32(r, "kallsyms"), "kallsyms");
	reader_skip(r, reader_u32(r, "printk formats"), "printk formats");
	reader_skip(r, reader_u64(r, "command lines"), "command lines");
	cpus = reader_u32(r, "the number of CPUs");
	if (r->error)
		return r->error;
	if (add_buffer(c, "", "", c->info.page_size, &top))
		return reader_fail(r, -ENOMEM, "out of memory");
	parse_tag_v6(g, r);
	if (r->error)
		return r->error;
	if (g->have_cpu_count)
		cpus = g->cpu_count;
	c->info.nr_cpus = cpus;
	if (g->clock && *g->clock) {
		free((char *)c->buffers[top].clock);
		c->buffers[top].clock = strdup(g->clock);
		if (!c->buffers[top].clock)
			return reader_fail(r, -ENOMEM, "out of memory");
	}
	parse_flyrecord_v6(g, r, top, cpus);
	g->tables_end = r->pos;
	for (i = 1; i < c->info.nr_buffers && !r->error; i++) {
		size_t known = c->info.nr_buffers;

		if (g->buffer_offsets[i] >= c->src.size)
			return reader_fail(r, -EBADMSG,
					   "truncated: buffer \"%.64s\" lies at %" PRIu64
					   ", the file has %" PRIu64 " bytes",
					   c->buffers[i].name, g->buffer_offsets[i], c->src.size);
		reader_file(r, &c->src, g->buffer_offsets[i], c->src.size, g->err);
		parse_tag_v6(g, r);
		if (!r->error && c->info.nr_buffers != known)
			return reader_fail(r, -EBADMSG, "a buffer within a buffer");
		parse_flyrecord_v6(g, r, i, g->have_cpu_count ? g->cpu_count : cpus);
	}
	return r->error;
}

/* ---- version 7 ---- */

/* Loads the section at OFFSET, of kind ID, and starts R on its content. *MEM is to be freed. */
static int load_section(struct container *c, struct reader *r, uint64_t offset, uint16_t id,
			void **mem, struct trace_error *err)
{
	const struct source *src = &c->src;
	uint8_t header[24];
	uint64_t size, room;
	uint32_t csize, usize;
	void *packed;
	size_t got;
	int ret;

	*mem = NULL;
	ret = source_read(src, header, 16, offset, err);
	if (ret)
		return ret;
	size = source_u64(src, header + 8);
	room = src->size - offset - 16;
	if (source_u16(src, header) != id)
		return source_fail(src, err, -EBADMSG, offset,
				   "a section of kind %" PRIu16 " where %" PRIu16 " was expected",
				   source_u16(src, header), id);
	if (size > room)
		return source_fail(src, err, -EBADMSG, offset,
				   "truncated: a section of %" PRIu64 " bytes, %" PRIu64
				   " are left in the file",
				   size, room);
	if (!(source_u16(src, header + 2) & SECTION_PACKED)) {
		reader_file(r, src, offset + 16, offset + 16 + size, err);
		return 0;
	}
	if (strcmp(c->info.compression, "zstd"))
		return source_fail(src, err, -EBADMSG, offset,
				   "a compressed section in a file that says \"%s\"",
				   c->info.compression);
	if (size < 8)
		return source_fail(src, err, -EBADMSG, offset,
				   "a compressed section of %" PRIu64 " bytes", size);
	ret = source_read(src, header + 16, 8, offset + 16, err);
	if (ret)
		return ret;
	csize = source_u32(src, header + 16);
	usize = source_u32(src, header + 20);
	if (csize > size - 8 || !usize || usize > SECTION_MAX)
		return source_fail(src, err, -EBADMSG, offset,
				   "a section of %" PRIu64 " bytes with %" PRIu32
				   " compressed from %" PRIu32,
				   size, csize, usize);
	packed = malloc(csize ? csize : 1);
	*mem = malloc(usize);
	if (!packed || !*mem)
		ret = source_fail(src, err, -ENOMEM, offset, "out of memory");
	if (!ret)
		ret = source_read(src, packed, csize, offset + 24, err);
	if (!ret) {
		got = ZSTD_decompress(*mem, usize, packed, csize);
		if (ZSTD_isError(got))
			ret = source_fail(src, err, -EBADMSG, offset, "zstd: %s",
					  ZSTD_getErrorName(got));
		else if (got != usize)
			ret = source_fail(src, err, -EBADMSG, offset,
					  "a section of %" PRIu32 " bytes holds %zu", usize, got);
	}
	free(packed);
	if (ret) {
		free(*mem);
		*mem = NULL;
		return ret;
	}
	reader_memory(r, src, *mem, usize, offset, true, err);
	return 0;
}

/* One options section. *NEXT: where the next one lies, 0 if there is none. */
static int parse_options_v7(struct gather *g, struct reader *r, uint64_t offset, uint64_t *next)
{
	bool done = false;
	void *mem;
	int ret = load_section(g->c, r, offset, OPTION_DONE, &mem, g->err);

	if (ret)
		return ret;
	while (!done && !r->error) {
		uint16_t id = reader_u16(r, "an option");
		uint32_t size = reader_u32(r, "the size of an option");

		if (r->error)
			break;
		if (id == OPTION_DONE) {
			*next = reader_u64(r, "the DONE option");
			done = true;
		} else {
			parse_option(g, r, id, size);
		}
	}
	free(mem);
	return r->error;
}

static int parse_section_v7(struct gather *g, struct reader *r, uint64_t offset, uint16_t id,
			    const char *name)
{
	struct container *c = g->c;
	void *mem;
	int ret;

	if (!offset)
		return source_fail(
			&c->src, g->err, -EBADMSG, NO_OFFSET,
			"the options name no section of %s: the recording was not finished", name);
	ret = load_section(c, r, offset, id, &mem, g->err);
	if (ret)
		return ret;
	switch (id) {
	case OPTION_HEADER_INFO:
		parse_header_info(c, r);
		break;
	case OPTION_FTRACE_EVENTS:
		parse_format_list(c, r, "ftrace");
		break;
	case OPTION_EVENT_FORMATS:
		parse_format_systems(c, r);
		break;
	}
	free(mem);
	return r->error;
}

/*
 * Sections follow each other without gaps as trace-cmd writes them, so a file that was cut can be
 * told even where the part that is missing is one that nothing points at. Another writer may leave
 * gaps; the walk then ends without a verdict.
 */
static int walk_sections_v7(struct gather *g, uint64_t offset, struct trace_error *err)
{
	const struct source *src = &g->c->src;
	uint8_t header[16];
	unsigned int n;

	for (n = 0; n < SECTIONS_MAX && offset < src->size; n++) {
		uint64_t size, room = src->size - offset;
		uint16_t id;
		int ret;

		if (room < sizeof(header))
			return source_fail(src, err, -EBADMSG, offset,
					   "truncated: %" PRIu64 " bytes of a section's header",
					   room);
		ret = source_read(src, header, sizeof(header), offset, err);
		if (ret)
			return ret;
		id = source_u16(src, header);
		size = source_u64(src, header + 8);
		if ((id != OPTION_DONE && id != OPTION_BUFFER && (id < 15 || id > 25)) ||
		    (!size && id == OPTION_DONE) || /* zeros: a gap */
		    size > INT64_MAX)
			break;
		if (size > room - sizeof(header))
			return source_fail(src, err, -EBADMSG, offset,
					   "truncated: a section of %" PRIu64 " bytes, %" PRIu64
					   " are left in the file",
					   size, room - sizeof(header));
		if (id == OPTION_BUFFER) {
			void *more =
				reallocarray(g->sections, g->nr_sections + 1, sizeof(*g->sections));

			if (!more)
				return source_fail(src, err, -ENOMEM, offset, "out of memory");
			g->sections = more;
			g->sections[g->nr_sections++] =
				(struct stretch){offset, offset + sizeof(header) + size};
		}
		offset += sizeof(header) + size;
	}
	return 0;
}

static int open_v7(struct gather *g, struct reader *r)
{
	struct container *c = g->c;
	char name[64], version[64];
	uint64_t next, sections;
	unsigned int nr = 0;
	size_t i;
	int ret;

	reader_string(r, name, sizeof(name), "the name of the compression");
	reader_string(r, version, sizeof(version), "the version of the compression");
	if (r->error)
		return r->error;
	if (!strcmp(name, "zstd"))
		c->info.compression = "zstd";
	else if (strcmp(name, "none"))
		return reader_fail(r, -EOPNOTSUPP, "compression \"%s\" is not supported", name);
	next = reader_u64(r, "the offset of the options");
	if (r->error)
		return r->error;
	sections = r->pos;
	if (!next)
		return reader_fail(r, -EBADMSG, "no options: the recording was not finished");
	ret = walk_sections_v7(g, sections, g->err);
	while (!ret && next) {
		if (++nr > SECTIONS_MAX)
			return source_fail(&c->src, g->err, -EBADMSG, next,
					   "the options sections form a loop");
		ret = parse_options_v7(g, r, next, &next);
	}
	if (ret)
		return ret;
	if (!c->info.nr_buffers)
		return source_fail(
			&c->src, g->err, g->have_text_buffer ? -EOPNOTSUPP : -EBADMSG, c->src.size,
			g->have_text_buffer
				? "a latency recording: text, no events"
				: "no BUFFER option says where the events are: the recording "
				  "was not finished");
	ret = parse_section_v7(g, r, g->header_info, OPTION_HEADER_INFO, "header_page");
	if (!ret && g->ftrace_events)
		ret = parse_section_v7(g, r, g->ftrace_events, OPTION_FTRACE_EVENTS,
				       "ftrace formats");
	if (!ret)
		ret = parse_section_v7(g, r, g->event_formats, OPTION_EVENT_FORMATS,
				       "event formats");
	if (ret)
		return ret;
	c->info.nr_cpus = g->cpu_count;
	for (i = 0; i < c->info.nr_entries && !g->have_cpu_count; i++)
		if (c->cpus[i].cpu >= c->info.nr_cpus)
			c->info.nr_cpus = c->cpus[i].cpu + 1;
	return 0;
}

/* ---- both ---- */

static int compare_cpus(const void *a, const void *b)
{
	const struct trace_cpu *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->buffer < y->buffer ? -1 : x->buffer > y->buffer;
}

static int compare_stretches(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * Whether [START, END) of the file, where only events are, is claimed by CPUs but for the room
 * between them (they begin at page boundaries) and a table. CLAIMS are all CPUs' data in order. If
 * not, a table is damaged, and whatever it leaves out would be missing without a word.
 */
static int check_claimed(const struct container *c, const struct stretch *claims, uint64_t start,
			 uint64_t end, uint64_t room, struct trace_error *err)
{
	uint64_t at = start;

	for (size_t i = 0; i <= c->info.nr_entries && at < end; i++) {
		bool last = i == c->info.nr_entries;
		uint64_t next = last || claims[i].start > end ? end : claims[i].start;

		if (next > at && next - at > room)
			return source_fail(&c->src, err, -EBADMSG, at,
					   "%" PRIu64
					   " bytes of events belong to no CPU: the tables "
					   "do not fit the file",
					   next - at);
		if (!last && claims[i].end > at)
			at = claims[i].end;
	}
	return 0;
}

static int check_all_claimed(struct gather *g)
{
	struct container *c = g->c;
	size_t n = c->info.nr_entries;
	struct stretch *claims = calloc(n + 1, sizeof(*claims));
	/* A zstd section's size may leave out its first word. */
	uint64_t room = 4096 + 16 * (uint64_t)c->info.nr_cpus;
	int ret = 0;

	if (!claims)
		return source_fail(&c->src, g->err, -ENOMEM, NO_OFFSET, "out of memory");
	for (size_t i = 0; i < c->info.nr_buffers; i++)
		if (room < c->buffers[i].page_size + 16 * (uint64_t)c->info.nr_cpus)
			room = c->buffers[i].page_size + 16 * (uint64_t)c->info.nr_cpus;
	for (size_t i = 0; i < n; i++)
		if (c->cpus[i].file_size)
			claims[i] = (struct stretch){c->cpus[i].file_offset,
						     c->cpus[i].file_offset + c->cpus[i].file_size};
	qsort(claims, n, sizeof(*claims), compare_stretches);
	if (c->info.version == 6)
		ret = check_claimed(c, claims, g->tables_end, c->src.size, room, g->err);
	for (size_t i = 0; i < g->nr_sections && !ret; i++)
		ret = check_claimed(c, claims, g->sections[i].start, g->sections[i].end, room,
				    g->err);
	free(claims);
	return ret;
}

/* What is known only when all options are: order, statistics, strings. */
static int finish(struct gather *g)
{
	struct container *c = g->c;
	struct trace_info *info = &c->info;
	char *first, *last;
	size_t i, j;

	if (info->nr_entries)
		qsort(c->cpus, info->nr_entries, sizeof(*c->cpus), compare_cpus);
	for (i = 1; i < info->nr_entries; i++)
		if (!compare_cpus(&c->cpus[i - 1], &c->cpus[i]))
			return source_fail(&c->src, g->err, -EBADMSG, c->cpus[i].file_offset,
					   "CPU %u has two pieces of data in buffer \"%.64s\"",
					   c->cpus[i].cpu, c->buffers[c->cpus[i].buffer].name);
	for (j = 0; j < g->nr_stats; j++)
		for (i = 0; i < info->nr_buffers; i++) {
			struct trace_cpu key = {.cpu = g->stats[j].cpu, .buffer = i}, *found;

			if (strcmp(c->buffers[i].name, g->stats[j].buffer) || !info->nr_entries)
				continue;
			found = bsearch(&key, c->cpus, info->nr_entries, sizeof(key), compare_cpus);
			if (found)
				found->stat = g->stats[j].stat;
		}

	info->uname = g->uname ? g->uname : strdup("");
	info->trace_cmd = g->trace_cmd ? g->trace_cmd : strdup("");
	g->uname = g->trace_cmd = NULL;
	info->kernel = info->machine = NULL;
	if (info->uname && info->trace_cmd) {
		/* "Linux HOST RELEASE MACHINE": HOST is the one that may be anything. */
		last = strrchr(info->uname, ' ');
		first = last ? memrchr(info->uname, ' ', last - info->uname) : NULL;
		info->machine = strdup(first ? last + 1 : "");
		info->kernel = first ? strndup(first + 1, last - first - 1) : strdup("");
	}
	if (!info->kernel || !info->machine || formats_finish(&c->formats))
		return source_fail(&c->src, g->err, -ENOMEM, NO_OFFSET, "out of memory");
	for (i = 0; i < info->nr_buffers; i++)
		if (c->layout.data_offset >= c->buffers[i].page_size)
			return source_fail(&c->src, g->err, -EBADMSG, NO_OFFSET,
					   "pages of %u bytes with a header of %" PRIu32,
					   c->buffers[i].page_size, c->layout.data_offset);
	c->layout.least = c->formats.common.size;
	info->buffers = c->buffers;
	info->cpus = c->cpus;
	return 0;
}

static int open_any(struct gather *g, struct reader *r)
{
	static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
	struct container *c = g->c;
	char version[16], *end;
	uint8_t start[10], order, long_size;
	unsigned long number;
	int ret;

	if (c->src.size < sizeof(magic))
		return reader_fail(r, -EBADMSG, "not a trace.dat: only %" PRIu64 " bytes",
				   c->src.size);
	reader_copy(r, start, sizeof(start), "the magic");
	if (r->error)
		return r->error;
	if (memcmp(start, magic, sizeof(magic))) {
		r->pos = 0;
		return reader_fail(r, -EBADMSG, "not a trace.dat: the magic is missing");
	}
	reader_string(r, version, sizeof(version), "the version");
	if (r->error)
		return r->error;
	number = strtoul(version, &end, 10);
	if ((number != 6 && number != 7) || *end)
		return reader_fail(r, -EOPNOTSUPP, "version \"%s\" is not supported (6 and 7 are)",
				   version);
	c->info.version = number;
	order = reader_u8(r, "the byte order");
	long_size = reader_u8(r, "the size of long");
	if (!r->error && order > 1)
		reader_fail(r, -EBADMSG, "byte order %u", order);
	if (!r->error && long_size != 4 && long_size != 8)
		reader_fail(r, -EBADMSG, "a long of %u bytes", long_size);
	c->src.big_endian = order;
	c->src.swap = order != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	c->layout.big_endian = c->info.big_endian = c->src.big_endian;
	c->layout.swap = c->src.swap;
	c->info.long_size = long_size;
	c->info.page_size = reader_u32(r, "the page size");
	ret = check_page_size(r, c->info.page_size);
	if (ret)
		return ret;
	ret = number == 6 ? open_v6(g, r) : open_v7(g, r);
	if (!ret)
		ret = check_all_claimed(g);
	return ret ? ret : finish(g);
}

int container_open(struct container *c, const char *path, struct trace_error *err)
{
	struct gather g = {.c = c, .err = err};
	struct reader *r = NULL;
	int ret;

	ret = source_open(&c->src, path, err);
	if (ret)
		return ret;
	c->info.path = c->src.path;
	c->info.file_size = c->src.size;
	c->info.compression = "none";
	r = malloc(sizeof(*r));
	if (!r)
		return source_fail(&c->src, err, -ENOMEM, NO_OFFSET, "out of memory");
	reader_file(r, &c->src, 0, c->src.size, err);
	ret = open_any(&g, r);
	free(r);
	while (g.nr_stats)
		free(g.stats[--g.nr_stats].buffer);
	free(g.stats);
	free(g.sections);
	free(g.stat_buffer);
	free(g.clock);
	free(g.uname);
	free(g.trace_cmd);
	return ret;
}

void container_free(struct container *c)
{
	size_t i;

	for (i = 0; i < c->info.nr_buffers; i++) {
		free((char *)c->buffers[i].name);
		free((char *)c->buffers[i].clock);
	}
	free(c->buffers);
	free(c->zstd);
	free(c->cpus);
	free((char *)c->info.uname);
	free((char *)c->info.kernel);
	free((char *)c->info.machine);
	free((char *)c->info.trace_cmd);
	formats_free(&c->formats);
	source_close(&c->src);
}
