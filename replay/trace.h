/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a trace.dat: the container (versions 6 and 7, plain or zstd), its event formats, and all
 * of its events as one stream merged by time.
 *
 * Streamed: memory is bounded by (CPUs x block), never by the size of the file. Everything that
 * comes from the file is checked before it is used. Nothing here prints or exits; a failure leaves
 * one sentence with the file's name, the offset and the reason in struct trace_error.
 *
 * Sources: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5); the ring-buffer page layout of
 * kernel/trace/ring_buffer.c (struct buffer_data_page, enum ring_buffer_type).
 */
#ifndef REPLAY_TRACE_H
#define REPLAY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace; /* an open recording */

struct trace_error {
	char text[768]; /* "FILE: offset N: reason", without a newline */
};

/* Loss of events, as far as anybody knows it. Both may be non-zero. */
struct trace_loss {
	uint64_t events;  /* counted: sum of the stored counts in page headers */
	uint64_t unknown; /* places where events are missing and no count was stored */
};

/* What the CPUSTAT options (or the absence of one) say of one CPU at the end of the recording. */
struct trace_cpu_stat {
	bool present;
	uint64_t overrun;        /* events overwritten before they were read */
	uint64_t commit_overrun; /* events dropped because a commit was interrupted too often */
	uint64_t dropped;        /* events dropped because the buffer was full */
};

/* One CPU of one buffer (instance). Index: struct trace_info.cpus[], sorted by (cpu, buffer). */
struct trace_cpu {
	unsigned int cpu;    /* the kernel's CPU number */
	unsigned int buffer; /* index into trace_info.buffers[] */
	uint64_t file_offset, file_size; /* bytes */
	struct trace_loss loss;          /* grows while the trace is read */
	struct trace_cpu_stat stat;
};

struct trace_buffer {
	const char *name;        /* "" for the top level one */
	const char *clock;       /* "mono", ...; "" where the file does not say */
	unsigned int page_size;  /* bytes */
};

struct trace_info {
	const char *path;
	unsigned int version;      /* 6 or 7 */
	bool big_endian;
	unsigned int long_size;    /* bytes in the kernel's long: 4 or 8 */
	unsigned int page_size;    /* bytes, of the kernel's pages as the file says */
	const char *compression;   /* "none", "zstd" */
	const char *uname;         /* "Linux HOST RELEASE MACHINE" as stored; "" if not */
	const char *kernel;        /* RELEASE of it; "" if not stored */
	const char *machine;       /* MACHINE of it: "aarch64", "x86_64", ...; "" if not stored */
	const char *trace_cmd;     /* version of the writer; "" if not stored */
	uint64_t trace_id;         /* 0 if not stored */
	unsigned int nr_cpus;      /* CPU count that the file states */
	size_t nr_buffers, nr_entries;
	const struct trace_buffer *buffers;
	const struct trace_cpu *cpus; /* nr_entries of them: one per (cpu, buffer) */
	uint64_t file_size;           /* bytes */
};

/* One event format of the file: what is needed to name it and to find its text. */
struct trace_format {
	const char *system, *name;
	int id;             /* per file, never to be compared between files */
	const char *text;   /* the format file's text; NOT NUL-terminated */
	size_t text_size;
};

/* One event. DATA stays valid until the next call of trace_next(). */
struct trace_record {
	uint64_t time_ns;      /* in the buffer's clock, after the file's time options */
	const uint8_t *data;   /* the payload, from common_type on, in the file's byte order */
	uint32_t size;         /* bytes of it that lie inside the page */
	uint32_t entry;        /* index into trace_info.cpus[] */
	uint32_t cpu;          /* kernel's CPU number: trace_info.cpus[entry].cpu */
	uint32_t buffer;       /* trace_info.cpus[entry].buffer */
	int32_t id;            /* common_type */
	int32_t pid;           /* common_pid */
	bool missed;           /* events were lost on this CPU just before this one... */
	uint64_t missed_events; /* ... this many; 0: nobody counted them */
};

/* One event of a batch: half a cache line. */
struct trace_event {
	uint64_t time_ns;
	const uint8_t *data; /* as in struct trace_record; valid until the batch is filled again */
	uint32_t size;
	int32_t pid;
	uint16_t kind;       /* what trace_want() said of its id; without that, the id */
	uint16_t entry;
	bool missed;         /* events of this CPU are missing just before: see the batch's gaps */
};

/* Events of a CPU are missing just before events[EVENT] of a batch. */
struct trace_gap {
	size_t event;
	uint64_t missed_events; /* 0: nobody counted them */
};

struct block; /* a piece of the file in memory */

/* A batch of events, in the order of trace_next(). Zeroed, it is an empty one. */
struct trace_batch {
	struct trace_event *events;
	struct trace_gap *gaps; /* by event */
	size_t nr, nr_gaps;
	uint64_t first_ns, last_ns; /* of all events up to its last one, wanted or not */
	uint64_t seen;              /* events up to its last one, wanted or not */
	size_t max, max_gaps;
	struct block *blocks; /* that its events are the last ones to lie in */
};

/*
 * Opens PATH and reads everything but the events. Returns NULL with ERR filled: not a trace.dat, an
 * unsupported version or compression, a truncated or contradictory header, a time option that
 * cannot be applied (named).
 */
struct trace *trace_open(const char *path, struct trace_error *err);

/* Frees T; NULL is fine. */
void trace_close(struct trace *t);

const struct trace_info *trace_info(const struct trace *t);

/* All formats of the file, in file order; *NR is their number. */
const struct trace_format *trace_formats(const struct trace *t, size_t *nr);

/* The format with this ID, or NULL (constant time for the ids a kernel gives). */
const struct trace_format *trace_format_by_id(const struct trace *t, int id);

/*
 * The next event of the merged stream: by time, ties by CPU number, then by buffer, then by order
 * in the file. Returns 1 with REC filled, 0 at the end, or -EBADMSG / -EIO / -ENOMEM with ERR
 * filled. After the end, trace_info() has every CPU's loss.
 */
int trace_next(struct trace *t, struct trace_record *rec, struct trace_error *err);

/*
 * From now on only events whose KINDS[id] (for each of the 65536 ids) is not 0 come in batches, and
 * events that others are missing before: these have kind 0 then. A batch ends behind an event of
 * kind LAST (0: none has that), as what it says may change KINDS, between batches. KINDS must
 * outlive T. Everything is counted all the same.
 */
void trace_want(struct trace *t, const uint16_t *kinds, uint16_t last);

/*
 * Fills B with the next events, at most MAX of them (the same in each call); what it held is given
 * back first. Returns 1; 0 at the end (B may still have events that were seen and not wanted); or a
 * negative errno with ERR filled, as trace_next(). Mix the two on one recording and it gets lost.
 */
int trace_fill(struct trace *t, struct trace_batch *b, size_t max, struct trace_error *err);

/* Frees what B holds; before trace_close(). */
void trace_batch_free(struct trace *t, struct trace_batch *b);

/*
 * From now on blocks of the file may be read and unpacked ahead of time, by other threads: SOON is
 * called with an ITEM for which somebody should call trace_load(), from any thread, while T is
 * open; nothing is lost if nobody does. THREAD is below NR_THREADS, and of each thread its own.
 * Returns 0 or -ENOMEM.
 */
int trace_load_ahead(struct trace *t, unsigned int nr_threads,
		     void (*soon)(void *context, void *item), void *context);
void trace_load(struct trace *t, void *item, unsigned int thread);

/* Events read so far: with this id; of this entry of trace_info.cpus[]. */
uint64_t trace_id_count(const struct trace *t, uint16_t id);
uint64_t trace_entry_count(const struct trace *t, size_t entry);

/* Bytes of event data consumed so far and in all, for a progress line. */
void trace_progress(const struct trace *t, uint64_t *done, uint64_t *total);

/*
 * After the last event: an identity of the whole file's bytes (see hash.h), of which the events'
 * part was taken while they were read. Returns 0, or a negative errno with ERR filled.
 */
int trace_hash(const struct trace *t, uint64_t *hash, struct trace_error *err);

/* Where one field of a format lies. */
struct trace_field {
	uint32_t offset; /* bytes from the start of the payload */
	uint32_t size;   /* bytes: 1, 2, 4 or 8 for a number; other sizes for arrays */
	bool is_signed;
	bool is_array;   /* char comm[16] and the like */
	bool is_dynamic; /* __data_loc: the 32-bit word at offset says (size << 16 | offset) */
	bool is_relative; /* __rel_loc, dynamic too: that offset counts from the end of the word */
};

/*
 * Looks up field NAME of format F. Returns 0 and FIELD, -ENOENT if there is no such field, -EINVAL
 * if a line of F's is not one that a kernel writes (ERR says so).
 */
int trace_find_field(struct trace *t, const struct trace_format *f, const char *name,
		     struct trace_field *field, struct trace_error *err);

/*
 * Reads the number that FIELD holds in REC, sign-extended to 64 bits where the field is signed.
 * Returns false if the record is too short for it. T is needed for the byte order.
 */
static inline bool trace_read(const struct trace_record *rec, const struct trace_field *field,
			      bool swap, uint64_t *out)
{
	const uint8_t *p = rec->data + field->offset;
	uint64_t value;

	if ((uint64_t)field->offset + field->size > rec->size)
		return false;
	switch (field->size) {
	case 8: {
		uint64_t v;
		__builtin_memcpy(&v, p, 8);
		value = swap ? __builtin_bswap64(v) : v;
		break;
	}
	case 4: {
		uint32_t v;
		__builtin_memcpy(&v, p, 4);
		v = swap ? __builtin_bswap32(v) : v;
		value = field->is_signed ? (uint64_t)(int64_t)(int32_t)v : v;
		break;
	}
	case 2: {
		uint16_t v;
		__builtin_memcpy(&v, p, 2);
		v = swap ? __builtin_bswap16(v) : v;
		value = field->is_signed ? (uint64_t)(int64_t)(int16_t)v : v;
		break;
	}
	case 1:
		value = field->is_signed ? (uint64_t)(int64_t)(int8_t)*p : *p;
		break;
	default:
		return false;
	}
	*out = value;
	return true;
}

/* Whether numbers in the records need their bytes swapped on this machine. */
bool trace_swap(const struct trace *t);

#endif
