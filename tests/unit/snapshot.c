// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of the task snapshot: what is written is read back; what is no such line is refused. */
#include "schema/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

static bool same(const struct snapshot_task *a, const struct snapshot_task *b)
{
	return a->tid == b->tid && a->tgid == b->tgid && a->mm == b->mm && a->kernel == b->kernel &&
	       !strcmp(a->comm, b->comm);
}

static void check_there_and_back(const struct snapshot_task *task)
{
	struct snapshot_task back;
	char line[128];
	size_t n = snapshot_format(line, sizeof(line), task);

	memset(&back, 0xff, sizeof(back));
	if (n && n == strlen(line) && line[n - 1] == '\n' && strchr(line, '\n') == line + n - 1 &&
	    snapshot_parse(line, n - 1, &back) && same(task, &back))
		return;
	printf("task %d \"%s\" becomes \"%.*s\" becomes %d \"%s\"\n", task->tid, task->comm, (int)n,
	       line, back.tid, back.comm);
	failures++;
}

static void check_lines(void)
{
	struct snapshot_task task;
	char line[128];

	task = (struct snapshot_task){.tid = 12, .tgid = 10, .mm = 10, .comm = "sh"};
	CHECK(snapshot_format(line, sizeof(line), &task) == strlen("12 10 10 u sh\n"));
	CHECK(!strcmp(line, "12 10 10 u sh\n"));
	task = (struct snapshot_task){.tid = 2, .tgid = 2, .kernel = true, .comm = "kworker/0:1"};
	CHECK(snapshot_format(line, sizeof(line), &task) && !strcmp(line, "2 2 0 k kworker/0:1\n"));
	task = (struct snapshot_task){.tid = 1, .tgid = 1, .mm = 1, .comm = "a b%\n\xff"};
	CHECK(snapshot_format(line, sizeof(line), &task) &&
	      !strcmp(line, "1 1 1 u a%20b%25%0A%FF\n"));
	/* Too small a place gives nothing, however small. */
	for (size_t size = 0; size < sizeof("1 1 1 u a%20b%25%0A%FF\n"); size++)
		CHECK(!snapshot_format(line, size, &task));

	CHECK(snapshot_parse("1 1 0 k ", 8, &task) && task.comm[0] == '\0' && task.kernel &&
	      task.mm == 0);
	CHECK(snapshot_parse("4194304 4194304 4194304 u x", 27, &task) && task.tid == 4194304);
	/* A line ends where its size says. */
	CHECK(snapshot_parse("7 7 7 u abcdef", 11, &task) && !strcmp(task.comm, "abc"));

	static const char *const no_lines[] = {
		"",
		" ",
		"1",
		"1 1",
		"1 1 1",
		"1 1 1 x sh",
		"1 1 1 U sh",
		"-1 1 1 u sh",
		"1 -1 1 u sh",
		"1 1 -1 u sh",
		"a 1 1 u sh",
		"1 1 1 u a%2",
		"1 1 1 u a%",
		"1 1 1 u a%G0",
		"1 1 1 u a%0g",
		SNAPSHOT_HEADER,
		SNAPSHOT_END " 3",
	};
	for (size_t i = 0; i < sizeof(no_lines) / sizeof(*no_lines); i++)
		if (snapshot_parse(no_lines[i], strlen(no_lines[i]), &task)) {
			printf("\"%s\" is taken for a task\n", no_lines[i]);
			failures++;
		}
	char large[1000];
	memset(large, '1', sizeof(large));
	CHECK(!snapshot_parse(large, sizeof(large), &task));
	/* A comm that is longer than a kernel's is cut. */
	CHECK(snapshot_parse("1 1 1 u abcdefghijklmnopqrstuvw", 31, &task) &&
	      !strcmp(task.comm, "abcdefghijklmno"));
}

int main(void)
{
	struct snapshot_task task;

	check_lines();
	/* Every byte that a name can hold, in every place. */
	for (unsigned int byte = 1; byte < 256; byte++)
		for (unsigned int at = 0; at < 15; at++) {
			task = (struct snapshot_task){.tid = (int)byte, .tgid = 1, .mm = (int)at};
			memset(task.comm, 'a', at);
			task.comm[at] = (char)byte;
			check_there_and_back(&task);
		}
	srand(1);
	for (unsigned int i = 0; i < 20000; i++) {
		task = (struct snapshot_task){
			.tid = rand(), .tgid = rand(), .mm = rand(), .kernel = rand() & 1};
		for (int n = rand() % 16; n > 0; n--)
			task.comm[n - 1] = (char)(1 + rand() % 255);
		check_there_and_back(&task);
	}
	/* The longest line fits into a marker many times over. */
	memset(task.comm, '%', 15);
	char line[128];
	CHECK(snapshot_format(line, sizeof(line), &task) < SNAPSHOT_MARKER_MAX / 4);
	return failures != 0;
}
