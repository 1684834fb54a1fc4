// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of the task snapshot. What was read must come back when it is written and read again. */
#include "schema/snapshot.h"
#include "tests/fuzz/fuzz.h"

static void try_line(const char *line, size_t size)
{
	struct snapshot_task task, again;
	char text[256];

	if (!snapshot_parse(line, size, &task))
		return;
	FUZZ_CHECK(strnlen(task.comm, sizeof(task.comm)) < sizeof(task.comm));
	size_t n = snapshot_format(text, sizeof(text), &task);
	FUZZ_CHECK(n > 1 && text[n - 1] == '\n');
	FUZZ_CHECK(snapshot_parse(text, n - 1, &again));
	FUZZ_CHECK(task.tid == again.tid && task.tgid == again.tgid && task.mm == again.mm &&
		   task.kernel == again.kernel && !strcmp(task.comm, again.comm));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;

	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		try_line(at, (size_t)((nl ? nl : end) - at));
		at = nl ? nl + 1 : end;
	}
	return 0;
}
