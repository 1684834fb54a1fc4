/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The running kernel's type information (/sys/kernel/btf/vmlinux): where a function's arguments and
 * a structure's members lie. Kernels before 6.9 have it and their probe events cannot use it; here
 * the catalogue's names are turned into argument numbers and offsets that any kernel takes.
 */
#ifndef CAPTURE_BTF_H
#define CAPTURE_BTF_H

#include <stdbool.h>
#include <stddef.h>

#define BTF_KERNEL "/sys/kernel/btf/vmlinux"

struct btf;

/* Reads PATH. NULL with errno: EINVAL if it is no BTF. */
struct btf *btf_open(const char *path);
void btf_close(struct btf *btf);

/*
 * Checks that the FETCH text of FUNCTION (see catalogue.h) names what there is, and writes it for a
 * probe: with the kernel's own names (NAMES), or as $argN and offsets. Of alternatives the first
 * that there is. Returns 0, -ENOENT (no such function, argument or member) or -ENAMETOOLONG.
 */
int btf_fetch(const struct btf *btf, const char *function, const char *fetch, bool names, char *out,
	      size_t size);

#endif
