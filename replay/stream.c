// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of ring-buffer pages.
 *
 * Every CPU holds one block at a time, so memory is (CPUs x block). Plain data is read in blocks
 * whose size depends on how many CPUs share BLOCKS_TOTAL: small enough to stay in the cache between
 * the read and its use, large enough that a system call serves thousands of events. Compressed data
 * dictates its own blocks: one chunk (ten pages as trace-cmd writes them) is a block. Where pages
 * are large and CPUs are many, that would be too much: a block then takes a part of the chunk, and
 * the chunk is decompressed again for the next part. Time is what is left to pay with.
 *
 *	section of a CPU, zstd:  u32 chunks | u32 csize | u32 usize | csize bytes | u32 csize | ...
 *
 * The size that the file states for such a section leaves out the first word if trace-cmd 3.1 wrote
 * it. Both are accepted: the chunks must end where either reading says.
 *
 * mmap() would be a little faster, but a file that shrinks under it kills the process.
 */
#include "replay/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#define BLOCKS_TOTAL (4ULL << 20)  /* bytes that plain blocks of all CPUs take, about */
#define BLOCK_MAX    (64U << 10)   /* bytes */
#define CHUNK_MAX    (16U << 20)   /* bytes, uncompressed; trace-cmd writes 10 pages */
#define CHUNKS_TOTAL (40ULL << 20) /* bytes that blocks of all CPUs take, if they are zstd... */
#define CHUNKS_CPUS  256           /* ... and if the CPUs are not more than this */
#define HELD_MAX     (1ULL << 30)  /* bytes that all blocks may take */
#define COUNT_SIZE   4             /* bytes of the word in front of the chunks */

static int block_resize(struct stream *s, struct stream_pool *pool, size_t size,
			struct trace_error *err)
{
	uint8_t *block;

	if (size <= s->block_size)
		return 0;
	if (pool->held - s->block_size + size > HELD_MAX)
		return source_fail(pool->src, err, -ENOMEM, s->offset + s->pos,
				   "the chunks of all CPUs take more than %llu MiB",
				   HELD_MAX >> 20);
	/* Nothing in it is needed any more: free() and malloc() copy less than realloc(). */
	free(s->block);
	pool->held -= s->block_size;
	s->block_size = 0;
	s->block = block = malloc(size);
	if (!block)
		return source_fail(pool->src, err, -ENOMEM, s->offset + s->pos, "out of memory");
	s->block_size = size;
	pool->held += size;
	return 0;
}

/* Makes *SCRATCH hold SIZE bytes; what was in it is gone. */
static int scratch_resize(const struct stream *s, const struct stream_pool *pool, uint8_t **scratch,
			  size_t *scratch_size, size_t size, struct trace_error *err)
{
	if (size <= *scratch_size)
		return 0;
	free(*scratch);
	*scratch_size = 0;
	*scratch = malloc(size);
	if (!*scratch)
		return source_fail(pool->src, err, -ENOMEM, s->offset + s->pos, "out of memory");
	*scratch_size = size;
	return 0;
}

static int next_plain(struct stream *s, struct stream_pool *pool, struct trace_error *err)
{
	uint64_t left = s->size - s->pos;
	size_t size = s->block_size;
	int ret;

	if (!size) {
		size = BLOCKS_TOTAL / pool->nr_streams;
		if (size > BLOCK_MAX)
			size = BLOCK_MAX;
		size -= size % s->page_size;
		if (size < 2 * (size_t)s->page_size)
			size = 2 * (size_t)s->page_size;
		if (size > left)
			size = left;
		ret = block_resize(s, pool, size, err);
		if (ret)
			return ret;
	}
	if (size > left)
		size = left;
	ret = source_read(pool->src, s->block, size, s->offset + s->pos, err);
	if (ret)
		return ret;
	hash_add(&s->hash, s->block, size);
	s->base = s->offset + s->pos;
	s->block_used = size;
	s->pos += size;
	pool->consumed += size;
	return 1;
}

static int next_chunk(struct stream *s, struct stream_pool *pool, struct trace_error *err)
{
	const struct source *src = pool->src;
	uint64_t at = s->offset + s->pos, left = s->size + COUNT_SIZE - s->pos;
	uint32_t csize, usize, part;
	uint8_t header[8], *out;
	uint64_t limit;
	size_t got;
	int ret;

	if (left < sizeof(header))
		return source_fail(src, err, -EBADMSG, at,
				   "truncated: %" PRIu32 " more chunks stated, %" PRIu64
				   " bytes left",
				   s->chunks, left);
	ret = source_read(src, header, sizeof(header), at, err);
	if (ret)
		return ret;
	csize = source_u32(src, header);
	usize = source_u32(src, header + 4);
	if (!csize || csize > left - sizeof(header))
		return source_fail(src, err, -EBADMSG, at,
				   "a chunk of %" PRIu32 " compressed bytes, %" PRIu64 " are left",
				   csize, left - sizeof(header));
	if (!usize || usize > CHUNK_MAX || (s->chunks > 1 && usize % s->page_size))
		return source_fail(src, err, -EBADMSG, at,
				   "a chunk of %" PRIu32 " bytes; pages have %" PRIu32, usize,
				   s->page_size);
	if (csize > ZSTD_compressBound(CHUNK_MAX))
		return source_fail(src, err, -EBADMSG, at,
				   "a chunk of %" PRIu32 " bytes grew to %" PRIu32, usize, csize);
	limit = CHUNKS_TOTAL / (pool->nr_streams < CHUNKS_CPUS ? pool->nr_streams : CHUNKS_CPUS);
	limit -= limit % s->page_size;
	if (limit < s->page_size)
		limit = s->page_size;
	part = usize - s->given < limit ? usize - s->given : limit;
	ret = block_resize(s, pool, part, err);
	if (!ret)
		ret = scratch_resize(s, pool, &pool->packed, &pool->packed_size, csize, err);
	if (!ret && part < usize)
		ret = scratch_resize(s, pool, &pool->whole, &pool->whole_size, usize, err);
	if (ret)
		return ret;
	ret = source_read(src, pool->packed, csize, at + sizeof(header), err);
	if (ret)
		return ret;
	if (!pool->zstd)
		pool->zstd = ZSTD_createDCtx();
	if (!pool->zstd)
		return source_fail(src, err, -ENOMEM, at, "out of memory");
	out = part < usize ? pool->whole : s->block;
	got = ZSTD_decompressDCtx(pool->zstd, out, usize, pool->packed, csize);
	if (ZSTD_isError(got))
		return source_fail(src, err, -EBADMSG, at, "zstd: %s", ZSTD_getErrorName(got));
	if (got != usize)
		return source_fail(src, err, -EBADMSG, at, "a chunk of %" PRIu32 " bytes holds %zu",
				   usize, got);
	if (part < usize)
		memcpy(s->block, out + s->given, part);
	s->given += part;
	if (s->given == usize) {
		hash_add(&s->hash, pool->packed, csize);
		s->chunks--;
		s->given = 0;
		s->pos += sizeof(header) + csize;
		pool->consumed += sizeof(header) + csize;
	}
	s->base = s->next_base;
	s->next_base += part;
	s->block_used = part;
	return 1;
}

int stream_next(struct stream *s, struct stream_pool *pool, struct trace_error *err)
{
	s->block_used = 0;
	if (s->zstd && !s->started && s->size) {
		uint8_t count[COUNT_SIZE];
		int ret = source_read(pool->src, count, sizeof(count), s->offset, err);

		if (ret)
			return ret;
		s->chunks = source_u32(pool->src, count);
		s->pos = sizeof(count);
	}
	s->started = true;
	if (s->zstd ? s->chunks : s->pos < s->size)
		return s->zstd ? next_chunk(s, pool, err) : next_plain(s, pool, err);
	if (s->zstd && s->size && s->pos != s->size && s->pos != s->size + COUNT_SIZE)
		return source_fail(pool->src, err, -EBADMSG, s->offset + s->pos,
				   "the last chunk of a CPU ends here, its data at %" PRIu64,
				   s->offset + s->size);
	stream_free(s, pool);
	return 0;
}

void stream_free(struct stream *s, struct stream_pool *pool)
{
	free(s->block);
	pool->held -= s->block_size;
	s->block = NULL;
	s->block_size = s->block_used = 0;
}

void stream_pool_free(struct stream_pool *pool)
{
	ZSTD_freeDCtx(pool->zstd);
	free(pool->packed);
	pool->zstd = NULL;
	free(pool->whole);
	pool->packed = pool->whole = NULL;
	pool->packed_size = pool->whole_size = 0;
}
