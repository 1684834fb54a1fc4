// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/trace.h"

static int vfail(const struct source *src, struct trace_error *err, int code, uint64_t offset,
		 const char *format, va_list args)
{
	const size_t size = sizeof(err->text);
	int used;

	/* A path may be longer than the text; its end tells more than its beginning. */
	const char *path = src->path ? src->path : "?";
	size_t length = strlen(path);
	const char *dots = "";

	if (length > size / 2) {
		path += length - size / 2;
		dots = "...";
	}
	if (offset == NO_OFFSET)
		used = snprintf(err->text, size, "%s%s: ", dots, path);
	else
		used = snprintf(err->text, size, "%s%s: offset %" PRIu64 ": ", dots, path, offset);
	if (used > 0 && (size_t)used < size)
		vsnprintf(err->text + used, size - used, format, args);
	return code;
}

int source_fail(const struct source *src, struct trace_error *err, int code, uint64_t offset,
		const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfail(src, err, code, offset, format, args);
	va_end(args);
	return code;
}

int source_open(struct source *src, const char *path, struct trace_error *err)
{
	struct stat st;

	src->fd = -1;
	src->path = strdup(path);
	if (!src->path)
		return source_fail(src, err, -ENOMEM, NO_OFFSET, "out of memory");
	/* O_NONBLOCK: a FIFO without a writer must be refused, not waited for. */
	src->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (src->fd < 0)
		return source_fail(src, err, -errno, NO_OFFSET, "%s", strerror(errno));
	if (fstat(src->fd, &st) < 0)
		return source_fail(src, err, -errno, NO_OFFSET, "%s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return source_fail(src, err, -EISDIR, NO_OFFSET, "is a directory, not a trace.dat");
	if (!S_ISREG(st.st_mode))
		return source_fail(src, err, -EINVAL, NO_OFFSET,
				   "is not a regular file; a trace.dat is read at many places");
	src->size = st.st_size;
	return 0;
}

void source_close(struct source *src)
{
	if (src->fd >= 0)
		close(src->fd);
	src->fd = -1;
	free(src->path);
	src->path = NULL;
}

int source_read(const struct source *src, void *out, uint64_t size, uint64_t offset,
		struct trace_error *err)
{
	uint8_t *p = out;

	if (size > src->size || offset > src->size - size)
		return source_fail(src, err, -EBADMSG, offset,
				   "truncated: %" PRIu64 " bytes wanted, the file has %" PRIu64,
				   size, src->size);
	while (size) {
		ssize_t got = pread(src->fd, p, size, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return source_fail(src, err, -EIO, offset, "%s", strerror(errno));
		/* The file was that long when it was opened. */
		if (!got)
			return source_fail(src, err, -EBADMSG, offset,
					   "the file became shorter while it was read");
		p += got;
		offset += got;
		size -= got;
	}
	return 0;
}

void reader_file(struct reader *r, const struct source *src, uint64_t start, uint64_t end,
		 struct trace_error *err)
{
	r->src = src;
	r->err = err;
	r->error = 0;
	r->pos = start;
	r->end = end < src->size ? end : src->size;
	r->mem = NULL;
	r->base = 0;
	r->compressed = false;
	r->window_start = 0;
	r->window_size = 0;
	if (r->pos > r->end)
		r->pos = r->end;
}

void reader_memory(struct reader *r, const struct source *src, const void *mem, uint64_t size,
		   uint64_t base, bool compressed, struct trace_error *err)
{
	r->src = src;
	r->err = err;
	r->error = 0;
	r->pos = 0;
	r->end = size;
	r->mem = mem;
	r->base = base;
	r->compressed = compressed;
	r->window_start = 0;
	r->window_size = 0;
}

int reader_fail(struct reader *r, int code, const char *format, ...)
{
	va_list args;

	if (r->error)
		return r->error;
	va_start(args, format);
	vfail(r->src, r->err, code, r->compressed ? r->base : r->base + r->pos, format, args);
	va_end(args);
	r->error = code;
	return code;
}

/* Whether SIZE more bytes are there; sets the error if not. */
static bool have(struct reader *r, uint64_t size, const char *what)
{
	if (r->error)
		return false;
	if (size <= r->end - r->pos)
		return true;
	reader_fail(r, -EBADMSG, "truncated: %s takes %" PRIu64 " bytes, %" PRIu64 " are left",
		    what, size, r->end - r->pos);
	return false;
}

const uint8_t *reader_take(struct reader *r, size_t size, const char *what)
{
	const uint8_t *p;

	if (!have(r, size, what))
		return NULL;
	if (r->mem) {
		p = r->mem + r->pos;
		r->pos += size;
		return p;
	}
	if (size > READER_WINDOW) {
		reader_fail(r, -EBADMSG, "%s of %zu bytes is too long", what, size);
		return NULL;
	}
	if (r->pos < r->window_start || r->pos + size > r->window_start + r->window_size) {
		uint64_t wanted = r->end - r->pos;
		int ret;

		if (wanted > READER_WINDOW)
			wanted = READER_WINDOW;
		ret = source_read(r->src, r->window, wanted, r->pos, r->err);
		if (ret) {
			r->error = ret;
			return NULL;
		}
		r->window_start = r->pos;
		r->window_size = wanted;
	}
	p = r->window + (r->pos - r->window_start);
	r->pos += size;
	return p;
}

uint8_t reader_u8(struct reader *r, const char *what)
{
	const uint8_t *p = reader_take(r, 1, what);

	return p ? *p : 0;
}

uint16_t reader_u16(struct reader *r, const char *what)
{
	const uint8_t *p = reader_take(r, 2, what);

	return p ? source_u16(r->src, p) : 0;
}

uint32_t reader_u32(struct reader *r, const char *what)
{
	const uint8_t *p = reader_take(r, 4, what);

	return p ? source_u32(r->src, p) : 0;
}

uint64_t reader_u64(struct reader *r, const char *what)
{
	const uint8_t *p = reader_take(r, 8, what);

	return p ? source_u64(r->src, p) : 0;
}

void reader_copy(struct reader *r, void *out, uint64_t size, const char *what)
{
	uint8_t *to = out;

	if (!have(r, size, what))
		return;
	while (size) {
		size_t part = size < READER_WINDOW ? size : READER_WINDOW;
		const uint8_t *p = reader_take(r, part, what);

		if (!p)
			return;
		memcpy(to, p, part);
		to += part;
		size -= part;
	}
}

void reader_skip(struct reader *r, uint64_t size, const char *what)
{
	if (have(r, size, what))
		r->pos += size;
}

void reader_string(struct reader *r, char *out, size_t out_size, const char *what)
{
	size_t n = 0;

	out[0] = '\0';
	while (!r->error) {
		uint8_t c = reader_u8(r, what);

		if (r->error)
			break;
		if (n + 1 >= out_size && c) {
			reader_fail(r, -EBADMSG, "%s does not end within %zu bytes", what,
				    out_size);
			break;
		}
		out[n++] = c;
		if (!c)
			return;
	}
	out[0] = '\0';
}
