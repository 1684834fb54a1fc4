/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes small trace.dat files by hand, byte by byte, for tests of the reader. It shares no code
 * and no header with the reader.
 *
 * The files have two events, both of system "test": "small" (id 100, payload 12 bytes: the common
 * fields and u32 value) and "large" (id 101, any payload). With long_header the common fields take
 * 12 bytes, as on PREEMPT_RT.
 */
#ifndef TESTS_CRAFT_H
#define TESTS_CRAFT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check.h"

#define CRAFT_SMALL 100
#define CRAFT_LARGE 101

struct craft {
	uint8_t *p;
	size_t n, room;
	/* How numbers are written. Copy these three from one craft to another. */
	bool big_endian;
	bool long_header;
	unsigned int long_size; /* of the kernel: 4 or 8 */
	unsigned int page_size; /* 0: 4096 */
};

/* The pages of one CPU. */
struct craft_cpu {
	struct craft pages;
	size_t page; /* where the page being built starts */
};

static inline unsigned int craft_page_size(const struct craft *c)
{
	return c->page_size ? c->page_size : 4096;
}

/* Not inlined: the compiler's view of realloc() through both makes it warn of things that are not.
 */
static __attribute__((noinline, unused)) void craft_bytes(struct craft *c, const void *p, size_t n)
{
	if (c->n + n > c->room) {
		c->room = (c->n + n) * 2 + 4096;
		c->p = realloc(c->p, c->room);
		if (!c->p)
			abort();
	}
	if (n)
		memcpy(c->p + c->n, p, n);
	c->n += n;
}

static __attribute__((noinline, unused)) void craft_put(struct craft *c, size_t at, uint64_t v,
							unsigned int size)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		c->p[at + i] = v >> 8 * (c->big_endian ? size - 1 - i : i);
}

static inline void craft_number(struct craft *c, uint64_t v, unsigned int size)
{
	static const uint8_t zero[8];

	craft_bytes(c, zero, size);
	craft_put(c, c->n - size, v, size);
}

static inline void craft_text(struct craft *c, const char *text) /* with its NUL */
{
	craft_bytes(c, text, strlen(text) + 1);
}

static inline void craft_zero(struct craft *c, size_t n)
{
	while (n--)
		craft_number(c, 0, 1);
}

static inline void craft_align(struct craft *c, size_t to)
{
	while (c->n % to)
		craft_number(c, 0, 1);
}

/* A craft that writes like C. */
static inline struct craft craft_like(const struct craft *c)
{
	return (struct craft){.big_endian = c->big_endian,
			      .long_header = c->long_header,
			      .long_size = c->long_size,
			      .page_size = c->page_size};
}

static inline void craft_free(struct craft *c)
{
	free(c->p);
	c->p = NULL;
	c->n = c->room = 0;
}

/* ---- pages ---- */

static inline void page_begin(struct craft_cpu *cpu, uint64_t time)
{
	cpu->page = cpu->pages.n;
	craft_number(&cpu->pages, time, 8);
	craft_number(&cpu->pages, 0, cpu->pages.long_size);
}

/* The word that starts a record: TYPE in the low bits, or in the high ones of a big-endian file. */
static inline void page_word(struct craft_cpu *cpu, unsigned int type, unsigned int delta)
{
	struct craft *c = &cpu->pages;

	craft_number(c, c->big_endian ? type << 27 | delta : delta << 5 | type, 4);
}

static inline void page_u32(struct craft_cpu *cpu, uint32_t v)
{
	craft_number(&cpu->pages, v, 4);
}

/* The fields that every event starts with. */
static inline void page_common(struct craft_cpu *cpu, unsigned int id, int pid)
{
	struct craft *c = &cpu->pages;

	craft_number(c, id, 2);
	craft_number(c, 0, 2);
	craft_number(c, (uint32_t)pid, 4);
	if (c->long_header)
		craft_number(c, 0x01020304, 4);
}

/* A whole "small" event: 12 bytes of payload, 16 with the long header. */
static inline void page_small(struct craft_cpu *cpu, unsigned int delta, int pid, uint32_t value)
{
	page_word(cpu, cpu->pages.long_header ? 4 : 3, delta);
	page_common(cpu, CRAFT_SMALL, pid);
	page_u32(cpu, value);
}

/* Bytes of data in the page so far. */
static inline size_t page_used(const struct craft_cpu *cpu)
{
	return cpu->pages.n - cpu->page - 8 - cpu->pages.long_size;
}

/* Ends the page with this commit word, whatever is in it. */
static inline void page_end_raw(struct craft_cpu *cpu, uint64_t commit)
{
	craft_put(&cpu->pages, cpu->page + 8, commit, cpu->pages.long_size);
	while (cpu->pages.n < cpu->page + craft_page_size(&cpu->pages))
		craft_number(&cpu->pages, 0, 1);
}

/* Ends the page; FLAGS are bits 30 and 31 of its commit. */
static inline void page_end(struct craft_cpu *cpu, uint64_t flags)
{
	page_end_raw(cpu, page_used(cpu) | flags);
}

/* ---- the container ---- */

static inline void craft_start(struct craft *c, const char *version)
{
	craft_bytes(c, "\x17\x08\x44tracing", 10);
	craft_text(c, version);
	craft_number(c, c->big_endian, 1);
	craft_number(c, c->long_size, 1);
	craft_number(c, craft_page_size(c), 4);
}

static inline void craft_header_info(struct craft *c)
{
	static const char event[] = "# compressed entry header\n";
	char text[512];
	int n = snprintf(text, sizeof(text),
			 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			 "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
			 "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			 "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:1;\n",
			 c->long_size, 8 + c->long_size, craft_page_size(c) - 8 - c->long_size);

	craft_text(c, "header_page");
	craft_number(c, n, 8);
	craft_bytes(c, text, n);
	craft_text(c, "header_event");
	craft_number(c, sizeof(event) - 1, 8);
	craft_bytes(c, event, sizeof(event) - 1);
}

static inline void craft_format(struct craft *c, const char *name, int id)
{
	char text[1024];
	unsigned int at = c->long_header ? 12 : 8;
	int n = snprintf(
		text, sizeof(text),
		"name: %s\nID: %d\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n%s\n"
		"\tfield:u32 value;\toffset:%u;\tsize:4;\tsigned:0;\n"
		"\tfield:char comm[16];\toffset:%u;\tsize:16;\tsigned:0;\n"
		"\tfield:__data_loc char[] path;\toffset:%u;\tsize:4;\tsigned:0;\n"
		"\tfield:s64 ret;\toffset:%u;\tsize:8;\tsigned:1;\n"
		"\nprint fmt: \"%%u (%%\", REC->value, broken((\n",
		name, id,
		c->long_header ? "\tfield:unsigned char common_migrate_disable;\toffset:8;\tsize:1;"
				 "\tsigned:0;\n"
				 "\tfield:unsigned char common_preempt_lazy_count;\toffset:9;"
				 "\tsize:1;\tsigned:0;\n"
			       : "",
		at, at + 4, at + 20, at + 24);

	craft_number(c, n, 8);
	craft_bytes(c, text, n);
}

static inline void craft_formats(struct craft *c)
{
	craft_number(c, 1, 4); /* systems */
	craft_text(c, "test");
	craft_number(c, 2, 4);
	craft_format(c, "small", CRAFT_SMALL);
	craft_format(c, "large", CRAFT_LARGE);
}

static inline void craft_option(struct craft *options, unsigned int id, const void *data,
				size_t size)
{
	craft_number(options, id, 2);
	craft_number(options, size, 4);
	craft_bytes(options, data, size);
}

static inline void craft_option_text(struct craft *options, unsigned int id, const char *text)
{
	craft_option(options, id, text, strlen(text) + 1);
}

/* Version 6 up to the number of CPUs. */
static inline void craft_head_v6(struct craft *c, unsigned int cpus)
{
	craft_start(c, "6");
	craft_header_info(c);
	craft_number(c, 0, 4); /* ftrace formats */
	craft_formats(c);
	craft_number(c, 0, 4); /* kallsyms */
	craft_number(c, 0, 4); /* printk formats */
	craft_number(c, 0, 8); /* command lines */
	craft_number(c, cpus, 4);
}

/* "flyrecord" with the table of CPUs, then their pages. */
static inline void craft_flyrecord_v6(struct craft *c, const struct craft_cpu *cpus, unsigned int n)
{
	size_t table;
	unsigned int i;

	craft_text(c, "flyrecord");
	table = c->n;
	craft_zero(c, n * (size_t)16);
	for (i = 0; i < n; i++) {
		craft_align(c, craft_page_size(c));
		craft_put(c, table + i * 16, c->n, 8);
		craft_put(c, table + i * 16 + 8, cpus[i].pages.n, 8);
		craft_bytes(c, cpus[i].pages.p, cpus[i].pages.n);
	}
}

/* A whole file of version 6. OPTIONS may be NULL. */
static inline void craft_v6(struct craft *c, const struct craft *options,
			    const struct craft_cpu *cpus, unsigned int n)
{
	craft_head_v6(c, n);
	if (options) {
		craft_bytes(c, "options  ", 10);
		craft_bytes(c, options->p, options->n);
		craft_number(c, 0, 2);
	}
	craft_flyrecord_v6(c, cpus, n);
}

/* Starts a section of version 7; returns where it is, for section_end(). */
static inline size_t section_begin(struct craft *c, unsigned int id)
{
	size_t at = c->n;

	craft_number(c, id, 2);
	craft_number(c, 0, 2);
	craft_number(c, 0, 4);
	craft_number(c, 0, 8);
	return at;
}

static inline void section_end(struct craft *c, size_t at)
{
	craft_put(c, at + 8, c->n - at - 16, 8);
}

/* One buffer of a file of version 7. */
struct craft_buffer {
	const char *name;
	const struct craft_cpu *cpus;
	const unsigned int *ids; /* CPU numbers; NULL: 0, 1, ... */
	unsigned int n;
};

/* A whole file of version 7, not compressed. OPTIONS may be NULL. */
static inline void craft_v7(struct craft *c, const struct craft *options,
			    const struct craft_buffer *buffers, unsigned int n)
{
	size_t sections[3], at, first, next;
	struct craft own = craft_like(c);
	unsigned int i, j;
	uint8_t eight[8];
	struct craft tmp = craft_like(c);

	craft_start(c, "7");
	craft_text(c, "none");
	craft_text(c, "1.0");
	first = c->n;
	craft_number(c, 0, 8);
	at = sections[0] = section_begin(c, 16);
	craft_header_info(c);
	section_end(c, at);
	at = sections[1] = section_begin(c, 17);
	craft_number(c, 0, 4);
	section_end(c, at);
	at = sections[2] = section_begin(c, 18);
	craft_formats(c);
	section_end(c, at);

	for (i = 0; i < n; i++) {
		const struct craft_buffer *b = &buffers[i];
		size_t flyrecord = section_begin(c, 3);
		struct craft o = craft_like(c);

		craft_number(&o, flyrecord, 8);
		craft_text(&o, b->name);
		craft_text(&o, "mono");
		craft_number(&o, craft_page_size(c), 4);
		craft_number(&o, b->n, 4);
		for (j = 0; j < b->n; j++) {
			craft_align(c, craft_page_size(c));
			craft_number(&o, b->ids ? b->ids[j] : j, 4);
			craft_number(&o, c->n, 8);
			craft_number(&o, b->cpus[j].pages.n, 8);
			craft_bytes(c, b->cpus[j].pages.p, b->cpus[j].pages.n);
		}
		section_end(c, flyrecord);
		craft_option(&own, 3, o.p, o.n);
		craft_free(&o);
	}

	/* Two options sections, as trace-cmd writes them: the first leads to the second. */
	at = section_begin(c, 0);
	craft_put(c, first, at, 8);
	for (i = 0; i < 3; i++) {
		craft_number(&tmp, sections[i], 8);
		memcpy(eight, tmp.p + 8 * i, 8);
		craft_option(c, 16 + i, eight, 8);
	}
	craft_number(c, 0, 2);
	craft_number(c, 8, 4);
	next = c->n;
	craft_number(c, 0, 8);
	section_end(c, at);
	at = section_begin(c, 0);
	craft_put(c, next, at, 8);
	if (options)
		craft_bytes(c, options->p, options->n);
	craft_bytes(c, own.p, own.n);
	craft_number(c, 0, 2);
	craft_number(c, 8, 4);
	craft_number(c, 0, 8);
	section_end(c, at);
	craft_free(&own);
	craft_free(&tmp);
}

/* Writes C to a temporary file and returns its name, which the caller frees and removes. */
static inline char *craft_save(const struct craft *c)
{
	const char *dir = getenv("TMPDIR");
	char name[512];
	FILE *f;
	int fd;

	snprintf(name, sizeof(name), "%s/tlbreplay-test-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(name);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f || (c->n && fwrite(c->p, c->n, 1, f) != 1) || fclose(f)) {
		perror(name);
		exit(1);
	}
	return strdup(name);
}

/* ---- checks ---- */

#define CHECK_U64(got, wanted)                                                                  \
	do {                                                                                    \
		unsigned long long got_ = (got), wanted_ = (wanted);                            \
		if (got_ != wanted_) {                                                          \
			printf("%s:%d: %s is %llu, not %llu\n", __FILE__, __LINE__, #got, got_, \
			       wanted_);                                                        \
			failures++;                                                       \
		}                                                                               \
	} while (0)

#endif
