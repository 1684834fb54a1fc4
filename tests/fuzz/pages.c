// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pages of two CPUs, in a container that is in order, so that every mutation reaches them.
 *
 *	byte 0   bit 0 big-endian, 1 a long of 4 bytes, 2 common fields of 12 bytes, 3 zstd,
 *	         4 pages of 512 bytes, else of 4096
 *	byte 1   zstd: the sizes of the first chunk are changed: compressed by this...
 *	byte 2   ...and uncompressed by this (both signed)
 *	byte 3   how many 16ths of the rest are CPU 0's
 *	rest     the pages as they lie in a file, or before they are compressed
 */
#include <zstd.h>

#include "replay/trace.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/craft.h"

static void put_chunk(struct craft *c, const struct fuzz_input *pages, int more_packed,
		      int more_whole)
{
	size_t whole = (size_t)(pages->end - pages->at), bound = ZSTD_compressBound(whole);
	void *packed = malloc(bound);
	size_t size = ZSTD_compress(packed, bound, pages->at, whole, 1);

	FUZZ_CHECK(!ZSTD_isError(size));
	craft_number(c, whole ? 1 : 0, 4);
	if (whole) {
		craft_number(c, (uint32_t)size + (uint32_t)more_packed, 4);
		craft_number(c, (uint32_t)whole + (uint32_t)more_whole, 4);
		craft_bytes(c, packed, size);
	}
	free(packed);
}

/* A file of version 7 with one zstd buffer: its formats are not compressed, its pages are. */
static void put_zstd(struct craft *c, const struct fuzz_input cpus[2], int more_packed,
		     int more_whole)
{
	size_t first, sections[3], buffer;
	struct craft options = craft_like(c);

	craft_start(c, "7");
	craft_text(c, "zstd");
	craft_text(c, "1.0");
	first = c->n;
	craft_number(c, 0, 8);
	sections[0] = section_begin(c, 16);
	craft_header_info(c);
	section_end(c, sections[0]);
	sections[1] = section_begin(c, 17);
	craft_number(c, 0, 4);
	section_end(c, sections[1]);
	sections[2] = section_begin(c, 18);
	craft_formats(c);
	section_end(c, sections[2]);
	buffer = section_begin(c, 3);
	craft_put(c, buffer + 2, 1, 2);
	craft_number(&options, 3, 2);
	size_t size_at = options.n;
	craft_number(&options, 0, 4);
	craft_number(&options, buffer, 8);
	craft_text(&options, "");
	craft_text(&options, "mono");
	craft_number(&options, craft_page_size(c), 4);
	craft_number(&options, 2, 4);
	for (unsigned int cpu = 0; cpu < 2; cpu++) {
		size_t at = c->n;

		put_chunk(c, &cpus[cpu], cpu ? 0 : more_packed, cpu ? 0 : more_whole);
		craft_number(&options, cpu, 4);
		craft_number(&options, at, 8);
		craft_number(&options, c->n - at, 8);
	}
	section_end(c, buffer);
	craft_put(&options, size_at, options.n - size_at - 4, 4);
	size_t at = section_begin(c, 0);
	craft_put(c, first, at, 8);
	for (unsigned int i = 0; i < 3; i++) {
		craft_number(c, 16 + i, 2);
		craft_number(c, 8, 4);
		craft_number(c, sections[i], 8);
	}
	craft_bytes(c, options.p, options.n);
	craft_number(c, 0, 2);
	craft_number(c, 8, 4);
	craft_number(c, 0, 8);
	section_end(c, at);
	craft_free(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size}, cpus[2];
	struct craft c = {0};
	unsigned int flags = (unsigned int)fuzz_take(&in, 1);
	int more_packed = (int8_t)fuzz_take(&in, 1), more_whole = (int8_t)fuzz_take(&in, 1);
	size_t sixteenths = fuzz_take(&in, 1) & 15;

	c.big_endian = flags & 1;
	c.long_size = flags & 2 ? 4 : 8;
	c.long_header = flags & 4;
	c.page_size = flags & 16 ? 512 : 4096;
	size_t rest = (size_t)(in.end - in.at), half = rest * sixteenths / 16;
	half -= half % c.page_size;
	cpus[0] = (struct fuzz_input){in.at, in.at + half};
	cpus[1] = (struct fuzz_input){in.at + half, in.end};
	if (flags & 8) {
		put_zstd(&c, cpus, more_packed, more_whole);
	} else {
		struct craft_cpu pages[2] = {{.pages = craft_like(&c)}, {.pages = craft_like(&c)}};

		for (unsigned int i = 0; i < 2; i++)
			craft_bytes(&pages[i].pages, cpus[i].at,
				    (size_t)(cpus[i].end - cpus[i].at));
		craft_v6(&c, NULL, pages, 2);
		craft_free(&pages[0].pages);
		craft_free(&pages[1].pages);
	}

	struct trace_error err = {""};
	struct trace *t = trace_open(fuzz_file(c.p, c.n), &err);
	struct trace_record rec;
	size_t bytes = 0;
	int ret = 0;

	while (t && (ret = trace_next(t, &rec, &err)) > 0) {
		/* No byte belongs to two records, so there are no more of them than of these. */
		bytes += rec.size + 4;
		FUZZ_CHECK(bytes <= rest && rec.cpu < 2);
		FUZZ_CHECK(rec.size >= 8);
	}
	if (!t || ret < 0)
		fuzz_check_text(err.text, sizeof(err.text));
	trace_close(t);
	craft_free(&c);
	return 0;
}
