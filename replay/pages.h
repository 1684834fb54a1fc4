/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of each page of each living address space, and per policy when it was last flushed
 * on every CPU and which stale entries of it are open.
 */
#ifndef REPLAY_PAGES_H
#define REPLAY_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAF_SHIFT 4
#define LEAF_PAGES (1u << LEAF_SHIFT)
#define NO_LEAF    UINT32_MAX

/* One page; with three policies, less than a cache line. */
struct page {
	uint64_t upgrade_ns; /* when its last write upgrade was complete; 0: none seen */
	uint64_t reuses;     /* wp reuses by PTE, the point that is reached most */
	uint32_t open[2];    /* its newest exposures; may be out of date, see exposure.c */
	/*
	 * By policy: when all CPUs were last rid of it (event ordinal); 0: never seen. Behind these,
	 * as uint32_t: entries of it that were left behind, over all CPUs.
	 */
	uint64_t flush_seq[];
};

/* 16 pages that lie together; they follow the leaf at LEAF_HEADER. */
struct leaf {
	uint64_t number;   /* page number >> LEAF_SHIFT */
	uint32_t mm;
	uint32_t next;     /* of the same mm, or of the free list */
	uint16_t present;  /* bit per page: a fault has shown it mapped */
	uint16_t writable; /* its PTE was last seen writable */
	uint16_t forked;   /* a fork under way has made it read-only */
};

#define LEAF_HEADER 64 /* bytes */

struct pages_slot {
	uint32_t leaf; /* + 1; 0: empty */
	uint32_t hash; /* so that a look-up reads no leaf but, nearly always, its own */
};

struct pages {
	unsigned int nr_policies;
	size_t leaf_size, page_size; /* bytes, of a leaf with its pages and of one page's state */
	char **chunks;
	size_t nr_chunks, max_chunks;
	uint32_t nr_leaves;   /* ever made */
	uint32_t free;        /* list of leaves to use again */
	uint32_t live;        /* leaves in use */
	struct pages_slot *slots; /* by hash of (mm, leaf number) */
	size_t mask;          /* number of slots - 1 */
};

void pages_init(struct pages *p, unsigned int nr_policies);
void pages_free(struct pages *p);

static inline struct leaf *pages_leaf(const struct pages *p, uint32_t leaf)
{
	return (struct leaf *)(p->chunks[leaf >> 8] + (leaf & 255) * p->leaf_size);
}

static inline struct page *leaf_page(const struct pages *p, struct leaf *leaf, unsigned int slot)
{
	return (struct page *)((char *)leaf + LEAF_HEADER + slot * p->page_size);
}

static inline uint32_t *page_stale(const struct pages *p, struct page *page)
{
	return (uint32_t *)(page->flush_seq + p->nr_policies);
}

/* The leaf of page PAGE (number) of MM; NO_LEAF if there is none. */
uint32_t pages_find(const struct pages *p, uint32_t mm, uint64_t page);

/*
 * The same, made if need be and then put in front of the list *HEAD. NO_LEAF: no memory.
 */
uint32_t pages_make(struct pages *p, uint32_t mm, uint64_t page, uint32_t *head);

/* What is known of the page, if anything, will be asked for soon. */
void pages_prefetch(const struct pages *p, uint32_t mm, uint64_t page);

/* Gives back all leaves of the list HEAD. */
void pages_release(struct pages *p, uint32_t head);

/* Bytes of one page's state, for the documents. */
size_t pages_bytes(const struct pages *p);

#endif
