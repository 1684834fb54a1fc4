// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file: a header, then types of varying length one after the other, then names. Types refer to
 * each other by number, so one pass notes where each begins. A path such as vmf->vma->vm_mm is
 * walked as the kernel would:
 *
 *   vmf      $arg1                       a register, holds a pointer
 *   ->vma    +0($arg1)                   a place in memory behind it
 *   ->vm_mm  +16(+0($arg1))              and so on; "." only adds to the last offset
 */
#include "capture/btf.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BTF_MAGIC 0xeb9f
#define MAX_DEPTH 16 /* typedefs of typedefs, anonymous members in each other */

enum {
	KIND_INT = 1, KIND_PTR, KIND_ARRAY, KIND_STRUCT, KIND_UNION, KIND_ENUM, KIND_FWD,
	KIND_TYPEDEF, KIND_VOLATILE, KIND_CONST, KIND_RESTRICT, KIND_FUNC, KIND_FUNC_PROTO,
	KIND_VAR, KIND_DATASEC, KIND_FLOAT, KIND_DECL_TAG, KIND_TYPE_TAG, KIND_ENUM64,
};

struct btf_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_size, type_offset, type_size, name_offset, name_size;
};

struct btf_type {
	uint32_t name;
	uint32_t info; /* 31: members carry bit-field sizes, 28:24 kind, 15:0 number of parts */
	uint32_t other; /* size, or the type it refers to */
};

struct btf_member {
	uint32_t name, type, offset; /* bits */
};

struct btf_param {
	uint32_t name, type;
};

struct btf {
	char *data;
	const char *names;
	size_t name_size;
	const struct btf_type **types; /* [0] is void */
	size_t count;
};

static unsigned int kind_of(const struct btf_type *type)
{
	return type->info >> 24 & 31;
}

static unsigned int parts_of(const struct btf_type *type)
{
	return type->info & 0xffff;
}

/* Bytes behind the type's three words; SIZE_MAX for a kind from the future. */
static size_t extra_size(const struct btf_type *type)
{
	size_t parts = parts_of(type);

	switch (kind_of(type)) {
	case KIND_PTR:
	case KIND_FWD:
	case KIND_TYPEDEF:
	case KIND_VOLATILE:
	case KIND_CONST:
	case KIND_RESTRICT:
	case KIND_FUNC:
	case KIND_FLOAT:
	case KIND_TYPE_TAG:
		return 0;
	case KIND_INT:
	case KIND_VAR:
	case KIND_DECL_TAG:
		return 4;
	case KIND_ARRAY:
		return 12;
	case KIND_ENUM:
	case KIND_FUNC_PROTO:
		return 8 * parts;
	case KIND_STRUCT:
	case KIND_UNION:
	case KIND_DATASEC:
	case KIND_ENUM64:
		return 12 * parts;
	default:
		return SIZE_MAX;
	}
}

static char *read_all(const char *path, size_t *size)
{
	size_t capacity = 1 << 20, used = 0, got;
	FILE *file = fopen(path, "re");
	char *data = file ? malloc(capacity) : NULL;

	while (data && (got = fread(data + used, 1, capacity - used, file)) > 0) {
		used += got;
		if (used == capacity) {
			char *grown = realloc(data, capacity *= 2);

			if (!grown)
				free(data);
			data = grown;
		}
	}
	if (file)
		fclose(file);
	*size = used;
	return data;
}

/* Notes where each type begins. Returns 0 or a negative errno. */
static int index_types(struct btf *btf, const char *at, const char *end)
{
	size_t capacity = 0;

	btf->count = 1;
	for (;;) {
		if (btf->count >= capacity) {
			capacity = capacity ? capacity * 2 : 65536;
			const struct btf_type **grown =
				reallocarray(btf->types, capacity, sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			btf->types = grown;
			btf->types[0] = NULL;
		}
		if (at == end)
			return 0;
		const struct btf_type *type = (const struct btf_type *)at;
		size_t left = (size_t)(end - at), extra;
		if (left < sizeof(*type) || (extra = extra_size(type)) > left - sizeof(*type))
			return -EINVAL;
		btf->types[btf->count++] = type;
		at += sizeof(*type) + extra;
	}
}

struct btf *btf_open(const char *path)
{
	struct btf_header header;
	struct btf *btf = calloc(1, sizeof(*btf));
	size_t size = 0;
	int rc = -EINVAL;

	if (!btf)
		return NULL;
	errno = ENOMEM;
	btf->data = read_all(path, &size);
	if (!btf->data) {
		rc = -errno;
	} else if (size >= sizeof(header)) {
		memcpy(&header, btf->data, sizeof(header));
		uint64_t types = (uint64_t)header.header_size + header.type_offset;
		uint64_t names = (uint64_t)header.header_size + header.name_offset;

		if (header.magic == BTF_MAGIC && types % 4 == 0 &&
		    types + header.type_size <= size && names + header.name_size <= size &&
		    header.name_size && !btf->data[names + header.name_size - 1]) {
			btf->names = btf->data + names;
			btf->name_size = header.name_size;
			rc = index_types(btf, btf->data + types,
					 btf->data + types + header.type_size);
		}
	}
	if (rc) {
		btf_close(btf);
		errno = -rc;
		return NULL;
	}
	return btf;
}

void btf_close(struct btf *btf)
{
	if (!btf)
		return;
	free(btf->types);
	free(btf->data);
	free(btf);
}

static const struct btf_type *type_at(const struct btf *btf, uint32_t number)
{
	return number < btf->count ? btf->types[number] : NULL;
}

static const char *name_at(const struct btf *btf, uint32_t offset)
{
	return offset < btf->name_size ? btf->names + offset : "";
}

static bool is_word(const char *name, const char *word, size_t size)
{
	return !strncmp(name, word, size) && !name[size];
}

/* Through names and qualifiers to what it is. NULL: void, or not to be found. */
static const struct btf_type *plain_type(const struct btf *btf, uint32_t number)
{
	const struct btf_type *type = type_at(btf, number);

	for (int i = 0; i < MAX_DEPTH && type; i++) {
		unsigned int kind = kind_of(type);

		if (kind != KIND_TYPEDEF && kind != KIND_VOLATILE && kind != KIND_CONST &&
		    kind != KIND_RESTRICT && kind != KIND_TYPE_TAG)
			break;
		type = type_at(btf, type->other);
	}
	/* Declared here, described elsewhere. */
	if (type && kind_of(type) == KIND_FWD) {
		const char *name = name_at(btf, type->name);

		for (size_t i = 1; i < btf->count; i++)
			if (kind_of(btf->types[i]) == KIND_STRUCT &&
			    !strcmp(name_at(btf, btf->types[i]->name), name))
				return btf->types[i];
	}
	return type;
}

/* Finds a member, also inside anonymous ones. *BITS is added to. */
static bool find_member(const struct btf *btf, const struct btf_type *type, const char *word,
			size_t size, int depth, uint64_t *bits, uint32_t *member_type)
{
	if (!type || depth > MAX_DEPTH ||
	    (kind_of(type) != KIND_STRUCT && kind_of(type) != KIND_UNION))
		return false;
	const struct btf_member *members = (const struct btf_member *)(type + 1);
	for (unsigned int i = 0; i < parts_of(type); i++) {
		const char *name = name_at(btf, members[i].name);
		uint64_t offset =
			type->info >> 31 ? members[i].offset & 0xffffff : members[i].offset;
		uint64_t inner = 0;

		if (is_word(name, word, size)) {
			*bits += offset;
			*member_type = members[i].type;
			return true;
		}
		if (!*name && find_member(btf, plain_type(btf, members[i].type), word, size,
					  depth + 1, &inner, member_type)) {
			*bits += offset + inner;
			return true;
		}
	}
	return false;
}

static const struct btf_type *find_prototype(const struct btf *btf, const char *function)
{
	for (size_t i = 1; i < btf->count; i++) {
		const struct btf_type *type = btf->types[i];

		if (kind_of(type) == KIND_FUNC && !strcmp(name_at(btf, type->name), function)) {
			type = type_at(btf, type->other);
			return type && kind_of(type) == KIND_FUNC_PROTO ? type : NULL;
		}
	}
	return NULL;
}

#define TEXT_SIZE 192

/* A value on the way along a path. */
struct walk {
	char base[TEXT_SIZE]; /* what has been reached, as a probe writes it */
	bool memory;          /* the value lies BITS behind what base points to; else it is base */
	uint64_t bits;
	uint32_t type;
};

static int join(char *out, size_t size, const char *format, uint64_t number, const char *text)
{
	int put = snprintf(out, size, format, (unsigned long long)number, text);

	return put < 0 || (size_t)put >= size ? -ENAMETOOLONG : 0;
}

static int write_walk(const struct walk *walk, uint64_t align, char *out, size_t size)
{
	if (walk->memory)
		return join(out, size, "+%llu(%s)", walk->bits / align * (align / 8), walk->base);
	return (size_t)snprintf(out, size, "%s", walk->base) >= size ? -ENAMETOOLONG : 0;
}

static size_t word_size(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

/* Walks PATH (SIZE characters). LAST gets where its last step begins. */
static int walk_path(const struct btf *btf, const struct btf_type *prototype, const char *path,
		     size_t size, struct walk *walk, size_t *last)
{
	const struct btf_param *params = (const struct btf_param *)(prototype + 1);
	size_t at = word_size(path);
	unsigned int n = 0;

	while (n < parts_of(prototype) && !is_word(name_at(btf, params[n].name), path, at))
		n++;
	if (!at || n == parts_of(prototype))
		return -ENOENT;
	*walk = (struct walk){.type = params[n].type};
	snprintf(walk->base, sizeof(walk->base), "$arg%u", n + 1);
	*last = 0;
	while (at < size) {
		const struct btf_type *type = plain_type(btf, walk->type);
		bool arrow = !strncmp(path + at, "->", 2);

		*last = at;
		if (!arrow && path[at] != '.')
			return -ENOENT;
		at += arrow ? 2 : 1;
		size_t step = word_size(path + at);
		if (arrow) {
			char loaded[TEXT_SIZE];

			if (!type || kind_of(type) != KIND_PTR)
				return -ENOENT;
			if (write_walk(walk, 8, loaded, sizeof(loaded)))
				return -ENAMETOOLONG;
			memcpy(walk->base, loaded, sizeof(loaded));
			walk->memory = true;
			walk->bits = 0;
			type = plain_type(btf, type->other);
		}
		if (!find_member(btf, type, path + at, step, 0, &walk->bits, &walk->type))
			return -ENOENT;
		at += step;
	}
	return 0;
}

static int write_body(const struct btf *btf, const struct btf_type *prototype, const char *body,
		      size_t size, bool names, char *out, size_t out_size)
{
	char inner[TEXT_SIZE];
	struct walk walk;
	size_t last;

	if (*body == '+' && size > 1 && body[size - 1] == ')') {
		const char *open = memchr(body, '(', size);
		int rc = open ? write_body(btf, prototype, open + 1,
					   size - (size_t)(open + 2 - body), names, inner,
					   sizeof(inner))
			      : -ENOENT;

		if (rc)
			return rc;
		return join(out, out_size, "+%llu(%s)", strtoull(body + 1, NULL, 0), inner);
	}
	if (size > 6 && !strncmp(body, "bits(", 5) && body[size - 1] == ')') {
		body += 5;
		size -= 6;
		int rc = walk_path(btf, prototype, body, size, &walk, &last);
		if (rc || !walk.memory)
			return rc ? rc : -ENOENT;
		if (names) {
			snprintf(walk.base, sizeof(walk.base), "%.*s", (int)last, body);
			/* What stands before the last arrow is the pointer. */
		}
		return write_walk(&walk, 32, out, out_size);
	}
	int rc = walk_path(btf, prototype, body, size, &walk, &last);
	if (!rc && names)
		return (size_t)snprintf(out, out_size, "%.*s", (int)size, body) >= out_size
			       ? -ENAMETOOLONG
			       : 0;
	return rc ? rc : write_walk(&walk, 8, out, out_size);
}

int btf_fetch(const struct btf *btf, const char *function, const char *fetch, bool names, char *out,
	      size_t size)
{
	const struct btf_type *prototype = btf ? find_prototype(btf, function) : NULL;
	int rc = -ENOENT;

	if (!prototype)
		return -ENOENT;
	for (const char *at = fetch; rc == -ENOENT && *at;) {
		size_t length = strcspn(at, "|");
		size_t body = 0;

		while (body < length && at[body] != ':')
			body++;
		rc = write_body(btf, prototype, at, body, names, out, size);
		size_t used = rc ? 0 : strlen(out);
		if (!rc && (size_t)snprintf(out + used, size - used, "%.*s", (int)(length - body),
					    at + body) >= size - used)
			rc = -ENAMETOOLONG;
		at += length + (at[length] == '|');
	}
	return rc;
}
