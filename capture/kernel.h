/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The running kernel: which one it is, its functions, its types, its text. Only reads.
 */
#ifndef CAPTURE_KERNEL_H
#define CAPTURE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "capture/btf.h"

#define KERNEL_VERSION_OF(a, b) ((unsigned int)(a) << 8 | (unsigned int)(b))

struct kernel_symbol {
	uint64_t address; /* 0: hidden from us */
	const char *name;
};

struct kernel {
	struct utsname name;
	unsigned int arch;    /* ARCH_X86, ARCH_ARM64; 0: another one */
	unsigned int version; /* KERNEL_VERSION_OF(6, 12) */
	bool function_probes; /* kprobe events can be made */
	bool probe_names;     /* probe events know BTF names */
	bool return_arguments; /* return probes can fetch the arguments too */
	bool notrace_probes;  /* functions that ftrace leaves out may be probed */
	struct btf *btf;      /* NULL: none */
	struct kernel_symbol *functions; /* of the kernel itself, not of modules; by address */
	struct kernel_symbol *by_name;   /* the same, by name */
	size_t function_count;
	uint64_t text_start, text_end; /* _stext and _etext; 0: not told */
	bool addresses_hidden; /* kptr_restrict: names only */
	char *lockdown;        /* "none", "integrity", "confidentiality"; NULL: not known */
	char *text;            /* what the names point into */
	char *traceable;       /* functions that ftrace knows, one a line; NULL: not known */
};

/* Reads all of it. Needs tracefs for the probes' part. Returns 0 or a negative errno. */
int kernel_read(struct kernel *kernel);
void kernel_free(struct kernel *kernel);

/* How many functions of the kernel have this name. *FIRST (may be NULL) gets one of them. */
size_t kernel_find_function(const struct kernel *kernel, const char *name,
			    const struct kernel_symbol **first);

/* The function that holds ADDRESS; NULL: none. */
const struct kernel_symbol *kernel_function_at(const struct kernel *kernel, uint64_t address);

/* True if ftrace knows the function, or if that cannot be told. */
bool kernel_is_traceable(const struct kernel *kernel, const char *name);

/*
 * Reads the kernel's text from /proc/kcore, as it runs: relocated and patched. *TEXT is for free().
 * Returns 0 or a negative errno: -EACCES (addresses hidden), -ENOENT (no kcore, or the text is not
 * in it), -EPERM (lockdown) and what else a file gives.
 */
int kernel_read_text(const struct kernel *kernel, void **text, size_t *size, uint64_t *address);

/*
 * Where in FD, an ELF core such as /proc/kcore, SIZE bytes of memory at ADDRESS lie. Returns 0 or a
 * negative errno: -EINVAL (no 64-bit ELF file of ours), -ENODATA (cut off), -ENOENT (not in it).
 */
int kernel_find_segment(int fd, uint64_t address, uint64_t size, uint64_t *offset);

/* One line of a small file without its newline, for free(); NULL if it cannot be read. */
char *read_line(const char *path);

#endif
