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

#define BLOCK_SPARE 8 /* bytes */

struct stream;

/* Some pages. */
struct block {
	struct block *next; /* of a list of those that nobody reads */
	size_t size;        /* bytes that it has room for */
	uint64_t base;      /* where bytes[0] lies: in the file, or in the uncompressed data */
	size_t used;        /* bytes */
	uint8_t bytes[];    /* and BLOCK_SPARE more that may be read, and mean nothing */
};

/* What it takes to unpack a chunk; whoever loads blocks has one. */
struct stream_scratch {
	struct ZSTD_DCtx_s *zstd;
	uint8_t *packed; /* one compressed chunk */
	size_t packed_size;
	uint8_t *whole; /* one chunk that is too large for a block */
	size_t whole_size;
};

/* What all streams of a recording share. */
struct stream_pool {
	const struct source *src;
	size_t nr_streams;
	uint64_t held;     /* bytes that all blocks take now; atomic */
	uint64_t consumed; /* bytes of the file's event data that were read; atomic */
	struct stream_scratch scratch;
	/* Blocks that streams are done with go to RETIRED: what lies in them is still looked at. */
	bool keep;
	struct block *retired, *last_retired;
	size_t retired_bytes;
	struct block *spare; /* to be filled again */
	size_t nr_spare;
	/*
	 * Optional: called when a stream has begun a block and has more to load. Whoever is called
	 * sees to it that somebody calls stream_load() soon, from any thread.
	 */
	void (*load_soon)(void *context, void *stream);
	void *context;
};

/* Who may touch the loading half of a stream. */
enum stream_ahead {
	AHEAD_NONE,    /* the stream's reader */
	AHEAD_WANTED,  /* whoever makes it AHEAD_LOADING first */
	AHEAD_LOADING, /* who did that */
	AHEAD_READY,   /* the reader, to take the block or to meet the error once more */
};

struct stream {
	/* Reading half. */
	uint8_t *block; /* the pages, block_used bytes of them */
	size_t block_used;
	uint64_t base; /* where block[0] lies: in the file, or in the uncompressed data */
	struct block *current;
	uint32_t page_size; /* bytes */
	/* Loading half. */
	bool zstd;
	bool started;
	enum stream_ahead ahead; /* atomic */
	int ahead_result;        /* of the load: 1, 0 at the end, or a negative errno */
	uint32_t chunks;         /* zstd: chunks to come */
	uint32_t given;          /* zstd: bytes of the next chunk that earlier blocks had */
	struct block *next;
	uint64_t offset, size; /* bytes: the CPU's section in the file */
	uint64_t pos;          /* bytes of it that were read */
	uint64_t asked;        /* bytes of it that the kernel was told to bring */
	uint64_t next_base;
	struct hash hash; /* of the bytes read, as they lie in the file */
};

/*
 * Turns to the next block: whole pages, but for the end of the data, where the last one may be
 * short. The previous block is gone, unless the pool keeps them. Returns 1, 0 at the end, or a
 * negative errno.
 */
int stream_next(struct stream *s, struct stream_pool *pool, struct trace_error *err);

/*
 * Loads the next block of S if that is wanted and nobody does it yet; for load_soon(). Returns
 * whether it did.
 */
bool stream_load(struct stream *s, struct stream_pool *pool, struct stream_scratch *scratch);

/* Frees the blocks of a list that stream_pool.retired was, or keeps some to be filled again. */
void stream_recycle(struct stream_pool *pool, struct block *list);

void stream_free(struct stream *s, struct stream_pool *pool);
void stream_scratch_free(struct stream_scratch *scratch);
void stream_pool_free(struct stream_pool *pool);

#endif
