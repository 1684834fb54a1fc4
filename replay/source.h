/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a trace.dat and a careful way to take numbers and strings from them.
 *
 * A reader walks either a stretch of the file (through a small window) or a piece of memory (a
 * section that was decompressed). Its first error sticks: later calls return zeros, so a parser may
 * take several values and look at reader->error once, before it uses any of them as a size or
 * count.
 */
#ifndef REPLAY_SOURCE_H
#define REPLAY_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_error;

/* An open file and how its numbers are written. */
struct source {
	char *path;
	int fd;
	uint64_t size; /* bytes */
	bool big_endian;
	bool swap; /* the file's byte order is not this machine's */
};

#define READER_WINDOW 16384 /* bytes; the most that reader_take() gives from a file */

struct reader {
	const struct source *src;
	struct trace_error *err;
	int error;          /* 0, or the negative errno of the first failure; ERR says why */
	uint64_t pos, end;  /* bytes: in the file, or in MEM */
	const uint8_t *mem; /* NULL: read the file */
	uint64_t base; /* what to add to pos for a message; for a decompressed section: pos ignored
			*/
	bool compressed; /* positions in MEM mean nothing in the file */
	uint64_t window_start;
	size_t window_size;
	uint8_t window[READER_WINDOW];
};

/*
 * Leaves "PATH: offset OFFSET: TEXT" in ERR and returns CODE. OFFSET may be NO_OFFSET.
 */
#define NO_OFFSET UINT64_MAX
int source_fail(const struct source *src, struct trace_error *err, int code, uint64_t offset,
		const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Opens PATH, which must be a regular file. Returns 0 or a negative errno with ERR. */
int source_open(struct source *src, const char *path, struct trace_error *err);
void source_close(struct source *src);

/* Reads exactly SIZE bytes at OFFSET. Returns 0, -EBADMSG (the file ends before), or -EIO. */
int source_read(const struct source *src, void *out, uint64_t size, uint64_t offset,
		struct trace_error *err);

/* Numbers at P in the file's byte order. */
static inline uint16_t source_u16(const struct source *src, const void *p)
{
	uint16_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return src->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t source_u32(const struct source *src, const void *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return src->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t source_u64(const struct source *src, const void *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return src->swap ? __builtin_bswap64(v) : v;
}

/* Starts R on bytes [START, END) of the file; END must not be past the file's. */
void reader_file(struct reader *r, const struct source *src, uint64_t start, uint64_t end,
		 struct trace_error *err);

/*
 * Starts R on SIZE bytes of memory. BASE is where they begin in the file, for messages; if
 * COMPRESSED, every message names BASE itself.
 */
void reader_memory(struct reader *r, const struct source *src, const void *mem, uint64_t size,
		   uint64_t base, bool compressed, struct trace_error *err);

/* Leaves an error at the current position. Returns CODE. The first one wins. */
int reader_fail(struct reader *r, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The next SIZE bytes (at most READER_WINDOW), valid until the next call, or NULL with the error
 * set. WHAT names them in a message.
 */
const uint8_t *reader_take(struct reader *r, size_t size, const char *what);

uint8_t reader_u8(struct reader *r, const char *what);
uint16_t reader_u16(struct reader *r, const char *what);
uint32_t reader_u32(struct reader *r, const char *what);
uint64_t reader_u64(struct reader *r, const char *what);

/* Copies SIZE bytes to OUT. */
void reader_copy(struct reader *r, void *out, uint64_t size, const char *what);

/* Passes over SIZE bytes, which must be there. */
void reader_skip(struct reader *r, uint64_t size, const char *what);

/* Reads a string with its NUL into OUT; one that does not fit is an error. */
void reader_string(struct reader *r, char *out, size_t out_size, const char *what);

/* Bytes left. */
static inline uint64_t reader_left(const struct reader *r)
{
	return r->end - r->pos;
}

#endif
