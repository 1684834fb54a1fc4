/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text into a recording, by way of trace_marker.
 */
#ifndef CAPTURE_MARKER_H
#define CAPTURE_MARKER_H

#include <stddef.h>

/*
 * Writes one marker, of SIZE bytes, to an open trace_marker. Returns 0, a negative errno, or
 * -EMSGSIZE if the kernel did not take all of it.
 */
int marker_write(int fd, const char *text, size_t size);

#endif
