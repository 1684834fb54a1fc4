// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of BTF against types written by hand, and against damaged ones. The types are
 *
 *   struct mm { u64 a; };                        typedef struct mm mm_t
 *   struct vma { union { u64 start; u64 x; }; mm_t *mm; int flags : 3, more : 5; struct { u64 v; }
 * pte; }; int fault(const struct vma *vma, u64 address)
 */
#include "capture/btf.c"

#include <unistd.h>

#include "tests/unit/check.h"

static uint32_t words[256];
static size_t word_count;
static char names[512];
static size_t name_count = 1;

static uint32_t name(const char *text)
{
	uint32_t at = (uint32_t)name_count;

	strcpy(names + name_count, text);
	name_count += strlen(text) + 1;
	return *text ? at : 0;
}

static void type(const char *text, unsigned int kind, unsigned int parts, bool bit_fields,
		 uint32_t other)
{
	words[word_count++] = name(text);
	words[word_count++] = (uint32_t)bit_fields << 31 | kind << 24 | parts;
	words[word_count++] = other;
}

static void part(const char *text, uint32_t of_type)
{
	words[word_count++] = name(text);
	words[word_count++] = of_type;
}

static void member(const char *text, uint32_t of_type, uint32_t bits)
{
	part(text, of_type);
	words[word_count++] = bits;
}

static void write_types(void)
{
	type("u64", KIND_INT, 0, false, 8); /* 1 */
	words[word_count++] = 64;
	type("mm", KIND_STRUCT, 1, false, 8); /* 2 */
	member("a", 1, 0);
	type("mm_t", KIND_TYPEDEF, 0, false, 2); /* 3 */
	type("", KIND_PTR, 0, false, 3);         /* 4 */
	type("", KIND_UNION, 2, false, 8);       /* 5 */
	member("start", 1, 0);
	member("x", 1, 0);
	type("", KIND_STRUCT, 1, false, 8); /* 6 */
	member("v", 1, 0);
	type("vma", KIND_STRUCT, 5, true, 32); /* 7 */
	member("", 5, 0);
	member("mm", 4, 64);
	member("flags", 1, 3u << 24 | 128);
	member("more", 1, 5u << 24 | 131);
	member("pte", 6, 192);
	type("", KIND_CONST, 0, false, 7); /* 8 */
	type("", KIND_PTR, 0, false, 8);   /* 9 */
	type("", KIND_FUNC_PROTO, 2, false, 1); /* 10 */
	part("vma", 9);
	part("address", 1);
	type("fault", KIND_FUNC, 1, false, 10); /* 11 */
}

static size_t build(char *out)
{
	struct btf_header header = {
		.magic = BTF_MAGIC, .version = 1, .header_size = sizeof(header)};

	header.type_size = header.name_offset = (uint32_t)(word_count * 4);
	header.name_size = (uint32_t)name_count;
	memcpy(out, &header, sizeof(header));
	memcpy(out + sizeof(header), words, word_count * 4);
	memcpy(out + sizeof(header) + word_count * 4, names, name_count);
	return sizeof(header) + word_count * 4 + name_count;
}

static struct btf *open_bytes(const char *bytes, size_t size)
{
	char path[] = "/tmp/btf.XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		failures++;
	close(fd);
	struct btf *btf = btf_open(path);
	unlink(path);
	return btf;
}

static void expect(const struct btf *btf, const char *fetch, bool kernel_names, const char *wanted)
{
	char out[128] = "";
	int rc = btf_fetch(btf, "fault", fetch, kernel_names, out, sizeof(out));

	if (wanted ? rc || strcmp(out, wanted) : rc != -ENOENT) {
		printf("%s: %d %s, expected %s\n", fetch, rc, out, wanted ? wanted : "nothing");
		failures++;
	}
}

int main(void)
{
	char bytes[2048], out[8];
	size_t size;

	write_types();
	size = build(bytes);
	struct btf *btf = open_bytes(bytes, size);
	CHECK(btf);
	if (!btf)
		return 1;
	expect(btf, "vma->mm:x64", false, "+8($arg1):x64");
	expect(btf, "vma->mm:x64", true, "vma->mm:x64");
	expect(btf, "vma->mm->a:x64", false, "+0(+8($arg1)):x64");
	expect(btf, "vma->start:x64", false, "+0($arg1):x64");
	expect(btf, "vma->pte.v:x64", false, "+24($arg1):x64");
	expect(btf, "address:x64", false, "$arg2:x64");
	expect(btf, "+16(vma):x32", false, "+16($arg1):x32");
	expect(btf, "bits(vma->more):x32", false, "+16($arg1):x32");
	expect(btf, "bits(vma->more):x32", true, "+16(vma):x32");
	expect(btf, "vma->pc:x64|vma->x:x64", false, "+0($arg1):x64");
	expect(btf, "vma->none:x64", false, NULL);
	expect(btf, "nobody:x64", false, NULL);
	expect(btf, "address->a:x64", false, NULL);
	expect(btf, "vma.mm:x64", false, NULL);
	expect(btf, "bits(address):x32", false, NULL);
	CHECK(btf_fetch(btf, "other", "vma->mm", false, out, sizeof(out)) == -ENOENT);
	CHECK(btf_fetch(btf, "fault", "vma->mm->a:x64", false, out, sizeof(out)) == -ENAMETOOLONG);
	CHECK(btf_fetch(NULL, "fault", "vma->mm", false, out, sizeof(out)) == -ENOENT);
	btf_close(btf);

	/* Cut and flipped: refused or read, never out of bounds (under sanitizers that shows). */
	for (size_t cut = 0; cut < size; cut += 3)
		btf_close(open_bytes(bytes, cut));
	for (size_t at = 0; at < size; at++) {
		char was = bytes[at];

		for (int bit = 0; bit < 8; bit += 3) {
			char text[128];

			bytes[at] = (char)(was ^ 1 << bit);
			btf = open_bytes(bytes, size);
			btf_fetch(btf, "fault", "vma->mm->a:x64", false, text, sizeof(text));
			btf_fetch(btf, "fault", "bits(vma->more):x32", true, text, sizeof(text));
			btf_close(btf);
		}
		bytes[at] = was;
	}
	return failures > 0;
}
