// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes things fail in a program that it is preloaded into (LD_PRELOAD), as the environment says:
 *
 *	SHIM_COUNT=FILE      at the end, "allocations N\nreads N\nwrites N\n" go into FILE
 *	SHIM_ALLOC=N         the Nth allocation fails
 *	SHIM_ALLOC_FROM=N    the Nth and all after it
 *	SHIM_WRITE=N         the Nth write and all after it fail: no space left on the device
 *	SHIM_READ_EIO=N      the Nth read and all after it fail: input/output error
 *	SHIM_SHORT=1         every read gives at most 7 bytes, and every fifth is interrupted
 *	SHIM_TRUNCATE=N      at the Nth read or the next one of a *.dat, that is cut to half its size
 *	SHIM_GROW=N          at the Nth read or the next one of a *.dat, that grows by 100000 bytes
 *
 * Only what goes to files other than the standard ones counts as a read or write.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

/* glibc's own, which a replacement may call. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static long allocations, reads, writes;
static long fail_alloc, fail_alloc_from, fail_write, fail_read, cut_at, grow_at;
static bool short_reads, ready;

static long number(const char *name)
{
	const char *text = getenv(name);

	return text ? atol(text) : 0;
}

static __attribute__((constructor)) void start(void)
{
	fail_alloc = number("SHIM_ALLOC");
	fail_alloc_from = number("SHIM_ALLOC_FROM");
	fail_write = number("SHIM_WRITE");
	fail_read = number("SHIM_READ_EIO");
	short_reads = number("SHIM_SHORT");
	cut_at = number("SHIM_TRUNCATE");
	grow_at = number("SHIM_GROW");
	ready = true;
}

static __attribute__((destructor)) void end(void)
{
	const char *path = getenv("SHIM_COUNT");
	char text[128];
	int fd;

	ready = false;
	fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
	if (fd < 0)
		return;
	int n = snprintf(text, sizeof(text), "allocations %ld\nreads %ld\nwrites %ld\n", allocations,
			 reads, writes);
	if (syscall(SYS_write, fd, text, n) != n)
		_exit(99);
	close(fd);
}

static bool alloc_fails(void)
{
	if (!ready)
		return false;
	long n = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	if (n != fail_alloc && (!fail_alloc_from || n < fail_alloc_from))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return alloc_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return alloc_fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return alloc_fails() ? NULL : __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return alloc_fails() ? NULL : __libc_realloc(p, bytes);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	void *got = alloc_fails() ? NULL : __libc_memalign(align, size);

	if (!got)
		return ENOMEM;
	*p = got;
	return 0;
}

void *aligned_alloc(size_t align, size_t size)
{
	return alloc_fails() ? NULL : __libc_memalign(align, size);
}

/* Changes the size of a recording through a descriptor of our own. */
static bool resize(int fd, bool grow)
{
	char path[48], name[4096];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, name, sizeof(name));
	if (fstat(fd, &st) || n < 4 || memcmp(name + n - 4, ".dat", 4))
		return false;
	int own = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (own < 0 || ftruncate(own, grow ? st.st_size + 100000 : st.st_size / 2))
		_exit(98);
	close(own);
	return true;
}

/* Returns true if the read is to fail, with errno; else *SIZE may be less. */
static bool read_fails(int fd, size_t *size)
{
	struct stat st;

	if (!ready || fd <= 2)
		return false;
	/* What is not a regular file, such as /proc, is not what this is about. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return false;
	long n = __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
	if (cut_at && n >= cut_at && resize(fd, false))
		cut_at = 0;
	if (grow_at && n >= grow_at && resize(fd, true))
		grow_at = 0;
	if (fail_read && n >= fail_read) {
		errno = EIO;
		return true;
	}
	if (!short_reads)
		return false;
	if (*size > 7)
		*size = 7;
	errno = EINTR;
	return !(n % 5);
}

ssize_t read(int fd, void *p, size_t size)
{
	return read_fails(fd, &size) ? -1 : syscall(SYS_read, fd, p, size);
}

ssize_t pread(int fd, void *p, size_t size, off_t at)
{
	return read_fails(fd, &size) ? -1 : syscall(SYS_pread64, fd, p, size, at);
}

ssize_t pread64(int fd, void *p, size_t size, off64_t at)
{
	return read_fails(fd, &size) ? -1 : syscall(SYS_pread64, fd, p, size, at);
}

static bool write_fails(int fd)
{
	if (!ready || fd <= 2)
		return false;
	long n = __atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED);
	if (!fail_write || n < fail_write)
		return false;
	errno = ENOSPC;
	return true;
}

ssize_t write(int fd, const void *p, size_t size)
{
	return write_fails(fd) ? -1 : syscall(SYS_write, fd, p, size);
}

ssize_t pwrite(int fd, const void *p, size_t size, off_t at)
{
	return write_fails(fd) ? -1 : syscall(SYS_pwrite64, fd, p, size, at);
}

ssize_t pwrite64(int fd, const void *p, size_t size, off64_t at)
{
	return write_fails(fd) ? -1 : syscall(SYS_pwrite64, fd, p, size, at);
}
