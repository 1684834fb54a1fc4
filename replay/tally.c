// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/tally.h"

#include <stdlib.h>

void tally_pages_done(struct engine *e)
{
	for (size_t i = 0; i <= e->counts_mask; i++) {
		struct page_count *c = &e->counts[i];

		if (c->count)
			e->config.sink.page(e->config.sink.context, c->mm,
					    c->key & ~UINT64_C(0xfff), c->key >> 3 & 0x1ff,
					    c->key & 7, c->count);
	}
	memset(e->counts, 0, (e->counts_mask + 1) * sizeof(*e->counts));
	e->nr_counts = 0;
}

static size_t count_slot(const struct page_count *counts, size_t mask, uint64_t key, uint32_t mm)
{
	uint64_t h = (key ^ (uint64_t)mm << 40) * UINT64_C(0x9E3779B97F4A7C15);
	size_t i = (h ^ h >> 29) & mask;

	while (counts[i].count && (counts[i].key != key || counts[i].mm != mm))
		i = (i + 1) & mask;
	return i;
}

void tally_page(struct engine *e, uint32_t mm, uint64_t addr, unsigned int point,
		unsigned int level, uint64_t n)
{
	uint64_t key = (addr & ~UINT64_C(0xfff)) | point << 3 | level;
	size_t i;

	if (!e->config.sink.page)
		return;
	i = count_slot(e->counts, e->counts_mask, key, mm);

	if (!e->counts[i].count) {
		if ((e->nr_counts + 1) * 4 > (e->counts_mask + 1) * 3) {
			size_t size = (e->counts_mask + 1) * 4;
			struct page_count *more = NULL;

			/* A quarter of a million pages are enough to keep: 12 MiB. */
			if (size <= 1u << 19)
				more = calloc(size, sizeof(*more));
			if (!more) {
				tally_pages_done(e);
			} else {
				for (size_t k = 0; k <= e->counts_mask; k++)
					if (e->counts[k].count)
						more[count_slot(more, size - 1, e->counts[k].key,
								e->counts[k].mm)] = e->counts[k];
				free(e->counts);
				e->counts = more;
				e->counts_mask = size - 1;
			}
			i = count_slot(e->counts, e->counts_mask, key, mm);
		}
		e->counts[i].key = key;
		e->counts[i].mm = mm;
		e->nr_counts++;
	}
	e->counts[i].count += n;
}

size_t tally_bucket(struct engine *e, uint64_t time_ns)
{
	if (time_ns - e->bucket_start_ns < e->bucket_width_ns)
		return e->bucket;
	if (!e->time_started) {
		e->time_started = true;
		e->time_start_ns = time_ns;
	}
	if (time_ns < e->time_start_ns)
		return 0;
	while ((time_ns - e->time_start_ns) / e->time_width_ns >= MAX_BUCKETS) {
		for (unsigned int p = 0; p < e->nr_commons; p++) {
			struct policy_result *r = e->commons[p]->result;

			for (size_t i = 0; i < MAX_BUCKETS / 2; i++) {
				struct time_bucket sum = r->buckets[2 * i];

				for (unsigned int s = 0; s < NR_SCOPES; s++)
					add_bound(&sum.flushes[s],
						  &r->buckets[2 * i + 1].flushes[s]);
				r->buckets[i] = sum;
			}
			memset(r->buckets + MAX_BUCKETS / 2, 0,
			       MAX_BUCKETS / 2 * sizeof(*r->buckets));
			r->nr_buckets = (r->nr_buckets + 1) / 2;
		}
		e->time_width_ns *= 2;
	}
	e->bucket = (time_ns - e->time_start_ns) / e->time_width_ns;
	e->bucket_start_ns = e->time_start_ns + e->bucket * e->time_width_ns;
	e->bucket_width_ns = e->time_width_ns;
	return e->bucket;
}

struct mm_row *tally_row(struct engine *e, struct mm *mm, unsigned int hash, uint32_t key)
{
	for (uint32_t i = 0; i < mm->nr_rows; i++)
		if (mm->rows[i].key == key) {
			mm->row_cache[hash] = (uint16_t)i;
			return &mm->rows[i];
		}
	if (mm->nr_rows == mm->max_rows) {
		uint32_t max = mm->max_rows ? mm->max_rows * 2 : 8;
		struct mm_row *more =
			max <= UINT16_MAX + 1 ? realloc(mm->rows, max * sizeof(*more)) : NULL;

		if (!more) {
			e->failed = true;
			return NULL;
		}
		mm->rows = more;
		mm->max_rows = max;
	}
	mm->row_cache[hash] = (uint16_t)mm->nr_rows;
	mm->rows[mm->nr_rows] = (struct mm_row){.key = key};
	return &mm->rows[mm->nr_rows++];
}

/* Hands on what POLICY flushed of MM. */
static void hand_on(struct engine *e, uint32_t number, const struct mm *mm, unsigned int policy)
{
	struct bound sums[NR_POINTS][NR_SCOPES] = {0};
	bool there[NR_POINTS][NR_SCOPES] = {0};

	for (uint32_t i = 0; i < mm->nr_rows; i++) {
		uint32_t key = mm->rows[i].key;
		unsigned int point = key >> 16 & 0xff, scope = key >> 8 & 0xff;

		if (!(e->commons[key >> 24]->policies >> policy & 1))
			continue;
		there[point][scope] = true;
		add_bound(&sums[point][scope], &mm->rows[i].count.flushes);
	}
	for (unsigned int point = 0; point < NR_POINTS; point++)
		for (unsigned int scope = 0; scope < NR_SCOPES; scope++)
			if (there[point][scope])
				e->config.sink.flush_mm(e->config.sink.context, policy, number,
							point, scope, &sums[point][scope]);
}

void tally_mm_done(struct engine *e, uint32_t number, struct mm *mm)
{
	for (uint32_t i = 0; i < mm->nr_rows; i++) {
		uint32_t key = mm->rows[i].key;
		struct flush_count *to =
			&e->commons[key >> 24]
				 ->result->flush[key >> 16 & 0xff][key & 0xff][key >> 8 & 0xff];
		const struct flush_count *more = &mm->rows[i].count;

		to->decisions += more->decisions;
		add_bound(&to->flushes, &more->flushes);
		to->pages += more->pages;
	}
	for (unsigned int p = 0;
	     mm->nr_rows && e->config.sink.flush_mm && p < e->config.nr_policies; p++)
		hand_on(e, number, mm, p);
}
