/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring-buffer pages of one CPU as a stream of blocks, whether they lie in the file as they are
 * or in zstd chunks.
 */
#ifndef REPLAY_STREAM_H
#define REPLAY_STREAM_H

#include "replay/hash.h"
#include "replay/source.h"
#include "replay/trace.h"

/* What all streams of a recording share. */
struct stream_pool {
	const struct source *src;
	size_t nr_streams;
	uint64_t held;     /* bytes that all blocks take now */
	uint64_t consumed; /* bytes of the file's event data that were read */
	struct ZSTD_DCtx_s *zstd;
	uint8_t *packed; /* one compressed chunk */
	size_t packed_size;
	uint8_t *whole; /* one chunk that is too large for a block */
	size_t whole_size;
};

struct stream {
	uint64_t offset, size; /* bytes: the CPU's section in the file */
	uint64_t pos;          /* bytes of it that were read */
	struct hash hash;      /* of the bytes read, as they lie in the file */
	uint64_t base;         /* where block[0] lies: in the file, or in the uncompressed data */
	uint64_t next_base;
	uint32_t page_size; /* bytes */
	bool zstd;
	bool started;
	uint32_t chunks; /* zstd: chunks to come */
	uint32_t given;  /* zstd: bytes of the next chunk that earlier blocks had */
	uint8_t *block;
	size_t block_size, block_used; /* bytes: allocated, filled */
};

/*
 * Reads the next block: whole pages, but for the end of the data, where the last one may be short.
 * The previous block is gone. Returns 1, 0 at the end (the block is freed), or a negative errno.
 */
int stream_next(struct stream *s, struct stream_pool *pool, struct trace_error *err);

void stream_free(struct stream *s, struct stream_pool *pool);
void stream_pool_free(struct stream_pool *pool);

#endif
