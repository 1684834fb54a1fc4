// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/page.h"

#include <errno.h>
#include <inttypes.h>

#define COMMIT_SIZE   0x7ffffffU
#define MISSED_STORED (1U << 30)
#define MISSED        (1U << 31)
#define CLOCK_MSB     (0x1fULL << 59) /* what an absolute time record has no room for */

/* One long of the kernel that wrote the page. */
static uint64_t read_long(const struct page_layout *l, const struct source *src, const uint8_t *p)
{
	return l->commit_size == 8 ? source_u64(src, p) : source_u32(src, p);
}

int page_turn(struct cursor *c, const struct page_layout *l, struct stream_pool *pool,
	      struct trace_error *err)
{
	struct stream *s = &c->stream;

	for (;;) {
		const uint8_t *page;
		uint64_t commit, count;
		uint32_t used;
		size_t size;
		int ret;

		if (c->next_page >= s->block_used) {
			ret = stream_next(s, pool, err);
			c->at = c->end = NULL;
			c->next_page = 0;
			if (ret <= 0)
				return ret;
		}
		page = s->block + c->next_page;
		size = s->block_used - c->next_page;
		if (size > s->page_size)
			size = s->page_size;
		c->page_offset = s->base + c->next_page;
		c->next_page += size;
		if (size < l->data_offset)
			return source_fail(pool->src, err, -EBADMSG, c->page_offset,
					   "malformed: CPU %" PRIu32 " ends %zu bytes into a page",
					   c->cpu, size);
		commit = read_long(l, pool->src, page + l->commit_offset);
		used = commit & COMMIT_SIZE;
		if (used > size - l->data_offset)
			return source_fail(pool->src, err, -EBADMSG, c->page_offset,
					   "malformed: a page of CPU %" PRIu32 " states %" PRIu32
					   " bytes of data, it has room for %zu",
					   c->cpu, used, size - l->data_offset);
		c->clock = source_u64(pool->src, page);
		c->at = page + l->data_offset;
		c->end = c->at + used;
		if (commit & MISSED) {
			/* The kernel stores the count where it fits behind the data. */
			count = 0;
			if (commit & MISSED_STORED &&
			    size - l->data_offset - used >= l->commit_size)
				count = read_long(l, pool->src, c->end);
			if (!c->pending) {
				c->pending_unknown = false;
				c->pending_events = 0;
			}
			c->pending = true;
			if (count) {
				c->loss->events += count;
				c->pending_events += count;
			} else {
				c->loss->unknown++;
				c->pending_unknown = true;
			}
		}
		if (used)
			return 1;
	}
}

static bool all_zero(const uint8_t *p, const uint8_t *end)
{
	while (p < end)
		if (*p++)
			return false;
	return true;
}

int page_special(struct cursor *c, const struct page_layout *l, const struct source *src,
		 struct trace_error *err)
{
	const uint8_t *at = c->at;
	size_t left = c->end - at;
	uint32_t word = source_u32(src, at);
	uint32_t type = l->big_endian ? word >> 27 : word & 31;
	uint32_t delta = l->big_endian ? word & 0x7ffffff : word >> 5;
	uint32_t next, covered;

	/*
	 * Neither ends in the kernel's own order of things: padding without a delta fills the page;
	 * and some kernels commit more than they wrote, which leaves zeros.
	 */
	if ((type == 29 && !delta) || (!word && all_zero(at, c->end))) {
		c->at = c->end;
		return 0;
	}
	if (left < 8)
		return page_malformed(c, l, src, err);
	next = source_u32(src, at + 4);
	switch (type) {
	case 0:
	case 29:
		/* NEXT counts itself; records are multiples of 4. */
		if (next < 4 || next > left - 4)
			return page_malformed(c, l, src, err);
		covered = (next + 3) & ~3U;
		if (covered > left - 4)
			return page_malformed(c, l, src, err);
		c->clock += delta;
		c->at = at + 4 + covered;
		if (type == 29)
			return 0;
		if (next - 4 < l->least)
			return page_malformed(c, l, src, err);
		c->data = at + 8;
		c->size = next - 4;
		return 1;
	case 30:
		c->clock += ((uint64_t)next << 27) + delta;
		break;
	default: /* 31 */
		c->clock = (c->clock & CLOCK_MSB) | ((uint64_t)next << 27) | delta;
		break;
	}
	c->at = at + 8;
	return 0;
}

int page_malformed(const struct cursor *c, const struct page_layout *l, const struct source *src,
		   struct trace_error *err)
{
	const uint8_t *page = c->stream.block + (c->page_offset - c->stream.base);
	size_t left = c->end - c->at;
	uint32_t word;

	if (left < 4)
		return source_fail(
			src, err, -EBADMSG, c->page_offset,
			"malformed: %zu bytes are left over at byte %zu of a page of CPU "
			"%" PRIu32,
			left, (size_t)(c->at - page), c->cpu);
	word = source_u32(src, c->at);
	return source_fail(
		src, err, -EBADMSG, c->page_offset,
		"malformed: the record at byte %zu of a page of CPU %" PRIu32 " (type %" PRIu32
		") is too short or runs over the page's data, %zu bytes "
		"before its end",
		(size_t)(c->at - page), c->cpu, l->big_endian ? word >> 27 : word & 31, left);
}
