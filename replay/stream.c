// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of ring-buffer pages.
 *
 * Every CPU reads one block at a time and may have the next one loaded, so memory is (CPUs x
 *block). Plain data is read in blocks whose size depends on how many CPUs share BLOCKS_TOTAL: small
 *enough to stay in the cache between the read and its use, large enough that a system call serves
 * thousands of events. Compressed data dictates its own blocks: one chunk (ten pages as trace-cmd
 * writes them) is a block. Where pages are large and CPUs are many, that would be too much: a block
 * then takes a part of the chunk, and the chunk is decompressed again for the next part. Time is
 * what is left to pay with.
 *
 *	section of a CPU, zstd:  u32 chunks | u32 csize | u32 usize | csize bytes | u32 csize | ...
 *
 * The size that the file states for such a section leaves out the first word if trace-cmd 3.1 wrote
 * it. Both are accepted: the chunks must end where either reading says.
 *
 * The sections of the CPUs are read in turn, a block of each, which no kernel takes for sequential
 * reading: it is told what comes, a megabyte at a time.
 *
 * A stream has two halves. Its reader moves through the current block; the next one may be loaded
 * by another thread. Only one load of a stream is under way at any time, so blocks come in order
 *and the hash needs no more than that. A load that fails has changed nothing but its result: the
 *reader does it again when it gets there, and meets the error at the event where it would have met
 *it alone.
 *
 * mmap() would be a little faster, but a file that shrinks under it kills the process.
 */
#include "replay/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#define BLOCKS_TOTAL (4ULL << 20)  /* bytes that plain blocks of all CPUs take, about */
#define BLOCK_MAX    (64U << 10)   /* bytes */
#define CHUNK_MAX    (16U << 20)   /* bytes, uncompressed; trace-cmd writes 10 pages */
#define CHUNKS_TOTAL (40ULL << 20) /* bytes that blocks of all CPUs take, if they are zstd... */
#define CHUNKS_CPUS  256           /* ... and if the CPUs are not more than this */
#define HELD_MAX     (1ULL << 30)  /* bytes that all blocks may take */
#define SPARE_MAX    64            /* blocks that are kept to be filled again */
#define ASK_AHEAD    (1U << 20)    /* bytes that the kernel is told to bring at a time */
#define COUNT_SIZE   4             /* bytes of the word in front of the chunks */

static void block_free(struct block *b, struct stream_pool *pool)
{
	if (!b)
		return;
	__atomic_sub_fetch(&pool->held, b->size, __ATOMIC_RELAXED);
	free(b);
}

/* Makes s->next hold SIZE bytes; what was in it is gone. */
static int block_resize(struct stream *s, struct stream_pool *pool, size_t size,
			struct trace_error *err)
{
	if (s->next && size <= s->next->size)
		return 0;
	block_free(s->next, pool);
	s->next = NULL;
	if (__atomic_add_fetch(&pool->held, size, __ATOMIC_RELAXED) > HELD_MAX) {
		__atomic_sub_fetch(&pool->held, size, __ATOMIC_RELAXED);
		return source_fail(pool->src, err, -ENOMEM, s->offset + s->pos,
				   "the chunks of all CPUs take more than %llu MiB",
				   HELD_MAX >> 20);
	}
	s->next = malloc(sizeof(*s->next) + size + BLOCK_SPARE);
	if (!s->next) {
		__atomic_sub_fetch(&pool->held, size, __ATOMIC_RELAXED);
		return source_fail(pool->src, err, -ENOMEM, s->offset + s->pos, "out of memory");
	}
	memset(s->next->bytes + size, 0, BLOCK_SPARE);
	s->next->size = size;
	return 0;
}

/* Makes *AT hold SIZE bytes; what was in it is gone. */
static int scratch_resize(const struct stream *s, const struct stream_pool *pool, uint8_t **at,
			  size_t *at_size, size_t size, struct trace_error *err)
{
	if (size <= *at_size)
		return 0;
	free(*at);
	*at_size = 0;
	*at = malloc(size);
	if (!*at)
		return source_fail(pool->src, err, -ENOMEM, s->offset + s->pos, "out of memory");
	*at_size = size;
	return 0;
}

/* Has the kernel bring what will be read soon. An advice: nothing depends on it. */
static void ask_ahead(struct stream *s, const struct stream_pool *pool)
{
	if (s->pos + ASK_AHEAD / 2 < s->asked || s->asked >= s->size)
		return;
	if (s->asked < s->pos)
		s->asked = s->pos;
	posix_fadvise(pool->src->fd, (off_t)(s->offset + s->asked), ASK_AHEAD, POSIX_FADV_WILLNEED);
	s->asked += ASK_AHEAD;
}

static int load_plain(struct stream *s, struct stream_pool *pool, struct trace_error *err)
{
	uint64_t left = s->size - s->pos;
	size_t size = BLOCKS_TOTAL / pool->nr_streams;
	int ret;

	if (size > BLOCK_MAX)
		size = BLOCK_MAX;
	size -= size % s->page_size;
	if (size < 2 * (size_t)s->page_size)
		size = 2 * (size_t)s->page_size;
	if (size > left)
		size = left;
	ret = block_resize(s, pool, size, err);
	if (!ret)
		ret = source_read(pool->src, s->next->bytes, size, s->offset + s->pos, err);
	if (ret)
		return ret;
	hash_add(&s->hash, s->next->bytes, size);
	s->next->base = s->offset + s->pos;
	s->next->used = size;
	s->pos += size;
	__atomic_add_fetch(&pool->consumed, size, __ATOMIC_RELAXED);
	return 1;
}

static int load_chunk(struct stream *s, struct stream_pool *pool, struct stream_scratch *scratch,
		      struct trace_error *err)
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
	if (pool->load_soon) /* one is read and one is loaded */
		limit /= 2;
	limit -= limit % s->page_size;
	if (limit < s->page_size)
		limit = s->page_size;
	part = usize - s->given < limit ? usize - s->given : limit;
	ret = block_resize(s, pool, part, err);
	if (!ret)
		ret = scratch_resize(s, pool, &scratch->packed, &scratch->packed_size, csize, err);
	if (!ret && part < usize)
		ret = scratch_resize(s, pool, &scratch->whole, &scratch->whole_size, usize, err);
	if (ret)
		return ret;
	ret = source_read(src, scratch->packed, csize, at + sizeof(header), err);
	if (ret)
		return ret;
	if (!scratch->zstd)
		scratch->zstd = ZSTD_createDCtx();
	if (!scratch->zstd)
		return source_fail(src, err, -ENOMEM, at, "out of memory");
	out = part < usize ? scratch->whole : s->next->bytes;
	got = ZSTD_decompressDCtx(scratch->zstd, out, usize, scratch->packed, csize);
	if (ZSTD_isError(got))
		return source_fail(src, err, -EBADMSG, at, "zstd: %s", ZSTD_getErrorName(got));
	if (got != usize)
		return source_fail(src, err, -EBADMSG, at, "a chunk of %" PRIu32 " bytes holds %zu",
				   usize, got);
	if (part < usize)
		memcpy(s->next->bytes, out + s->given, part);
	s->given += part;
	if (s->given == usize) {
		hash_add(&s->hash, scratch->packed, csize);
		s->chunks--;
		s->given = 0;
		s->pos += sizeof(header) + csize;
		__atomic_add_fetch(&pool->consumed, sizeof(header) + csize, __ATOMIC_RELAXED);
	}
	s->next->base = s->next_base;
	s->next->used = part;
	s->next_base += part;
	return 1;
}

/* Loads the next block into s->next. Returns 1, 0 at the end, or a negative errno. */
static int load(struct stream *s, struct stream_pool *pool, struct stream_scratch *scratch,
		struct trace_error *err)
{
	if (s->zstd && !s->started && s->size) {
		uint8_t count[COUNT_SIZE];
		int ret = source_read(pool->src, count, sizeof(count), s->offset, err);

		if (ret)
			return ret;
		s->chunks = source_u32(pool->src, count);
		s->pos = sizeof(count);
	}
	s->started = true;
	ask_ahead(s, pool);
	if (s->zstd ? s->chunks : s->pos < s->size)
		return s->zstd ? load_chunk(s, pool, scratch, err) : load_plain(s, pool, err);
	if (s->zstd && s->size && s->pos != s->size && s->pos != s->size + COUNT_SIZE)
		return source_fail(pool->src, err, -EBADMSG, s->offset + s->pos,
				   "the last chunk of a CPU ends here, its data at %" PRIu64,
				   s->offset + s->size);
	return 0;
}

bool stream_load(struct stream *s, struct stream_pool *pool, struct stream_scratch *scratch)
{
	enum stream_ahead wanted = AHEAD_WANTED;
	struct trace_error err;

	if (!__atomic_compare_exchange_n(&s->ahead, &wanted, AHEAD_LOADING, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	s->ahead_result = load(s, pool, scratch, &err);
	__atomic_store_n(&s->ahead, AHEAD_READY, __ATOMIC_RELEASE);
	return true;
}

/* The result of a load ahead, once it is there; AHEAD_NONE if nobody has begun one. */
static int take_ahead(struct stream *s)
{
	enum stream_ahead wanted = AHEAD_WANTED;

	if (__atomic_load_n(&s->ahead, __ATOMIC_ACQUIRE) == AHEAD_NONE ||
	    __atomic_compare_exchange_n(&s->ahead, &wanted, AHEAD_NONE, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return -EAGAIN;
	/* Somebody is at it; a load takes microseconds. */
	while (__atomic_load_n(&s->ahead, __ATOMIC_ACQUIRE) != AHEAD_READY)
		sched_yield();
	/* Another job for this stream, from before, may be looking. */
	__atomic_store_n(&s->ahead, AHEAD_NONE, __ATOMIC_RELAXED);
	return s->ahead_result;
}

static void retire(struct stream *s, struct stream_pool *pool)
{
	struct block *b = s->current;

	s->current = NULL;
	s->block = NULL;
	s->block_used = 0;
	if (!b)
		return;
	if (!pool->keep) {
		/* The next load may use it. */
		if (!s->next)
			s->next = b;
		else
			block_free(b, pool);
		return;
	}
	b->next = NULL;
	if (pool->retired)
		pool->last_retired->next = b;
	else
		pool->retired = b;
	pool->last_retired = b;
	pool->retired_bytes += b->used;
}

void stream_recycle(struct stream_pool *pool, struct block *list)
{
	for (struct block *b = list, *next; b; b = next) {
		next = b->next;
		if (pool->nr_spare >= SPARE_MAX || pool->nr_spare >= pool->nr_streams) {
			block_free(b, pool);
			continue;
		}
		b->next = pool->spare;
		pool->spare = b;
		pool->nr_spare++;
	}
}

static void take_spare(struct stream *s, struct stream_pool *pool)
{
	if (s->next || !pool->spare)
		return;
	s->next = pool->spare;
	pool->spare = s->next->next;
	pool->nr_spare--;
}

int stream_next(struct stream *s, struct stream_pool *pool, struct trace_error *err)
{
	int ret;

	retire(s, pool);
	ret = take_ahead(s);
	if (ret < 0) {
		take_spare(s, pool);
		ret = load(s, pool, &pool->scratch, err);
	}
	if (ret <= 0) {
		if (!ret)
			stream_free(s, pool);
		return ret;
	}
	s->current = s->next;
	s->next = NULL;
	s->block = s->current->bytes;
	s->block_used = s->current->used;
	s->base = s->current->base;
	/* Plain data would only be copied to the cache of the wrong CPU. */
	if (pool->load_soon && s->zstd && s->chunks) {
		take_spare(s, pool);
		__atomic_store_n(&s->ahead, AHEAD_WANTED, __ATOMIC_RELEASE);
		pool->load_soon(pool->context, s);
	}
	return 1;
}

void stream_free(struct stream *s, struct stream_pool *pool)
{
	block_free(s->current, pool);
	block_free(s->next, pool);
	s->current = s->next = NULL;
	s->block = NULL;
	s->block_used = 0;
}

void stream_scratch_free(struct stream_scratch *scratch)
{
	ZSTD_freeDCtx(scratch->zstd);
	free(scratch->packed);
	free(scratch->whole);
	*scratch = (struct stream_scratch){0};
}

void stream_pool_free(struct stream_pool *pool)
{
	struct block *lists[] = {pool->retired, pool->spare};

	for (size_t i = 0; i < 2; i++)
		for (struct block *b = lists[i], *next; b; b = next) {
			next = b->next;
			block_free(b, pool);
		}
	pool->retired = pool->spare = NULL;
	pool->retired_bytes = pool->nr_spare = 0;
	stream_scratch_free(&pool->scratch);
}
