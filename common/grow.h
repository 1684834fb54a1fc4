/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists that grow. */
#ifndef COMMON_GROW_H
#define COMMON_GROW_H

#include <stddef.h>
#include <stdlib.h>

/*
 * Room for one more element of SIZE bytes in LIST, which has NR of them and room for *MAX. Returns
 * the list, which may have moved; NULL: no memory, and LIST is as it was.
 */
static inline void *grow_list(void *list, size_t nr, size_t *max, size_t size)
{
	size_t more = *max ? *max * 2 : 64;

	if (nr < *max)
		return list;
	list = reallocarray(list, more, size);
	if (list)
		*max = more;
	return list;
}

#endif
