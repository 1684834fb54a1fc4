// SPDX-License-Identifier: GPL-2.0-or-later
#include "schema/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t snapshot_format(char *out, size_t size, const struct snapshot_task *task)
{
	int at = snprintf(out, size, "%d %d %d %c ", task->tid, task->tgid, task->mm,
			  task->kernel ? 'k' : 'u');

	if (at < 0 || (size_t)at >= size)
		return 0;
	size_t used = (size_t)at;
	for (const char *c = task->comm; *c; c++) {
		bool plain = *c >= '!' && *c <= '~' && *c != '%';

		if (used + 5 > size)
			return 0;
		if (plain)
			out[used++] = *c;
		else
			used += (size_t)sprintf(out + used, "%%%02X", (unsigned char)*c);
	}
	if (used + 2 > size)
		return 0;
	out[used++] = '\n';
	out[used] = '\0';
	return used;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool snapshot_parse(const char *line, size_t size, struct snapshot_task *task)
{
	char text[128];
	char kind, comm[64];
	size_t at = 0;

	if (size >= sizeof(text))
		return false;
	memcpy(text, line, size);
	text[size] = '\0';
	comm[0] = '\0';
	int got = sscanf(text, "%d %d %d %c %63s", &task->tid, &task->tgid, &task->mm, &kind, comm);
	if (got < 4 || task->tid < 0 || task->tgid < 0 || task->mm < 0 ||
	    (kind != 'k' && kind != 'u'))
		return false;
	task->kernel = kind == 'k';
	for (const char *c = comm; *c; c++) {
		char byte = *c;

		if (byte == '%') {
			int high = hex_digit(c[1]), low = high < 0 ? -1 : hex_digit(c[2]);

			if (low < 0)
				return false;
			byte = (char)(high << 4 | low);
			c += 2;
		}
		if (at + 1 >= sizeof(task->comm))
			break;
		task->comm[at++] = byte;
	}
	task->comm[at] = '\0';
	return true;
}
