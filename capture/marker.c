// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/marker.h"

#include <errno.h>
#include <unistd.h>

int marker_write(int fd, const char *text, size_t size)
{
	ssize_t put;

	do
		put = write(fd, text, size);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		return -errno;
	/* A kernel that takes less than the schema promises would cut lines apart. */
	return (size_t)put == size ? 0 : -EMSGSIZE;
}
