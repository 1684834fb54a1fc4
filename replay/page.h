/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of one CPU, page by page.
 *
 * A page of the kernel's ring buffer (kernel/trace/ring_buffer.c) as it lies in a trace.dat:
 *
 *	0          u64 time of the page
 *	8          long commit: bits 0-26 bytes of data, bit 30 count stored, bit 31 events missed
 *	12 or 16   data: records up to the commit
 *	           long number of missed events, if stored
 *
 * A record starts with one 32-bit word, TYPE (5 bits) and DELTA (27 bits, nanoseconds since the
 * record before); TYPE has the low bits in a little-endian file and the high bits in a big-endian
 * one:
 *
 *	TYPE    what follows
 *	1-28    TYPE words of payload
 *	0       a word with the length of itself and the payload, then the payload
 *	29      padding: the rest of the page if DELTA is 0, else a discarded event; a word with the
 *	        length of itself and what it covers
 *	30      time extend: a word with bits 27 and up of a delta
 *	31      absolute time: a word with bits 27-58 of the clock
 */
#ifndef REPLAY_PAGE_H
#define REPLAY_PAGE_H

#include "replay/stream.h"
#include "replay/trace.h"

/* Bytes: no header_page may place a page's data further in. Kernels say 12 or 16. */
#define PAGE_HEADER_MAX 128

/* Bytes: the longest payload of a record whose TYPE says how long it is. */
#define PAGE_PLAIN_MAX 112

/* How this file's pages are laid out, and what its time options do to its clock. */
struct page_layout {
	uint32_t commit_offset, commit_size; /* bytes */
	uint32_t data_offset;                /* bytes */
	uint32_t least;                      /* bytes: the shortest payload of an event */
	bool big_endian, swap;
	uint32_t mult, shift; /* TSC2NSEC; mult 0: none */
	uint64_t offset_ns;   /* OFFSET and DATE; two's complement */
};

/* The current event of one CPU. What a merge looks at lies in one cache line. */
struct cursor {
	uint64_t time_ns; /* of the event, options applied */
	const uint8_t *data;
	const uint8_t *at, *end; /* next record; end of the page's data */
	uint64_t clock;          /* raw, of the last record */
	uint32_t size;           /* bytes of payload */
	bool missed;             /* events were lost just before the event */
	bool pending;            /* ... or before the next one to come */
	bool pending_unknown;
	uint32_t cpu;
	uint32_t entry; /* for who merges */
	uint64_t events; /* given out; for who merges */
	uint64_t missed_events;
	uint32_t buffer;
	uint64_t pending_events;
	uint64_t page_offset; /* of the current page, for errors and records */
	size_t next_page;     /* bytes into the block */
	struct trace_loss *loss;
	struct stream stream;
};

/* Nanoseconds from the raw clock. */
static inline uint64_t page_time(const struct page_layout *l, uint64_t clock)
{
	if (__builtin_expect(l->mult != 0, 0))
		clock = (uint64_t)(((unsigned __int128)clock * l->mult) >> l->shift);
	return clock + l->offset_ns;
}

/* Turns to the next page that has data. Returns 1, 0 at the end, or a negative errno. */
int page_turn(struct cursor *c, const struct page_layout *l, struct stream_pool *pool,
	      struct trace_error *err);

/*
 * Handles a record that is not a plain event (any TYPE but 1-28). Returns 1 if it was an event
 * (type 0) and fills the cursor, 0 to go on, or a negative errno.
 */
int page_special(struct cursor *c, const struct page_layout *l, const struct source *src,
		 struct trace_error *err);

/* Leaves the error for a record that is cut off. Returns -EBADMSG. */
int page_malformed(const struct cursor *c, const struct page_layout *l, const struct source *src,
		   struct trace_error *err);

/* Moves to the next event. Returns 1, 0 at the end, or a negative errno. */
static inline __attribute__((always_inline)) int
cursor_next(struct cursor *c, const struct page_layout *l, struct stream_pool *pool,
	    struct trace_error *err, const bool big_endian)
{
	const bool swap = big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);

	c->missed = false;
	for (;;) {
		const uint8_t *at = c->at;
		size_t left = c->end - at;
		uint32_t word, type, size;
		int ret;

		if (__builtin_expect(left < 4, 0)) {
			if (left)
				return page_malformed(c, l, pool->src, err);
			ret = page_turn(c, l, pool, err);
			if (ret <= 0)
				return ret;
			continue;
		}
		__builtin_memcpy(&word, at, 4);
		if (swap)
			word = __builtin_bswap32(word);
		type = big_endian ? word >> 27 : word & 31;
		size = type * 4;
		if (__builtin_expect(type - 1 < 28, 1)) {
			if (__builtin_expect(size > left - 4 || size < l->least, 0))
				return page_malformed(c, l, pool->src, err);
			c->clock += big_endian ? word & 0x7ffffff : word >> 5;
			c->data = at + 4;
			c->at = at + 4 + size;
			c->size = size;
		} else {
			ret = page_special(c, l, pool->src, err);
			if (ret < 0)
				return ret;
			if (!ret)
				continue;
		}
		if (__builtin_expect(c->pending, 0)) {
			c->pending = false;
			c->missed = true;
			c->missed_events = c->pending_unknown ? 0 : c->pending_events;
		}
		c->time_ns = page_time(l, c->clock);
		return 1;
	}
}

/* The same, by the recording's own byte order. */
static inline int cursor_step(struct cursor *c, const struct page_layout *l,
			      struct stream_pool *pool, struct trace_error *err)
{
	return l->big_endian ? cursor_next(c, l, pool, err, true)
			     : cursor_next(c, l, pool, err, false);
}

/* A number of 1, 2 or 4 bytes that every event has; cursor_next() saw that it is there. */
static inline uint32_t common_number(const uint8_t *p, uint32_t size, bool swap)
{
	uint16_t half;
	uint32_t word;

	switch (size) {
	case 4:
		memcpy(&word, p, 4);
		return swap ? __builtin_bswap32(word) : word;
	case 2:
		memcpy(&half, p, 2);
		return swap ? __builtin_bswap16(half) : half;
	default:
		return *p;
	}
}

#endif
