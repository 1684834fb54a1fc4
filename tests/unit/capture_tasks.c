// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The task snapshot against tasks of our own making: a thread, a process that shares our address
 * space (clone with CLONE_VM alone), one that does not, odd names. The markers are read from a
 * socket that keeps the bounds of each write.
 */
#include "capture/marker.c"
#include "capture/tasks.c"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/unit/check.h"

static int idle(void *unused)
{
	(void)unused;
	while (pause())
		;
	return 0;
}

static const struct snapshot_task *find(const struct task_list *list, int tid)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->tasks[i].tid == tid)
			return &list->tasks[i];
	}
	return NULL;
}

static void check_reading(void)
{
	static char stack[2][65536] __attribute__((aligned(16)));
	struct task_list list = {0};
	int self = getpid();

	prctl(PR_SET_NAME, "a) \\ (b\n%");
	int sharing = clone(idle, stack[0] + sizeof(stack[0]), CLONE_VM | SIGCHLD, NULL);
	int thread = clone(idle, stack[1] + sizeof(stack[1]),
			   CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_FILES | CLONE_FS, NULL);
	int apart = fork();
	if (apart == 0)
		idle(NULL);
	int zombie = fork();
	if (zombie == 0)
		_exit(0);
	CHECK(sharing > 0 && thread > 0 && apart > 0 && zombie > 0);
	siginfo_t info;
	waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT);

	CHECK(tasks_read(&list) == 0);
	const struct snapshot_task *task = find(&list, self);
	CHECK(task && task->tgid == self && !task->kernel);
	CHECK(task && !strcmp(task->comm, "a) \\ (b\n%"));
	int mm = task ? task->mm : 0;
	/* The lowest tgid: pids may have wrapped between us and the child. */
	CHECK(mm == (sharing < self ? sharing : self));
	task = find(&list, thread);
	CHECK(task && task->tgid == self && task->mm == mm);
	task = find(&list, sharing);
	CHECK(task && task->tgid == sharing && task->mm == mm);
	task = find(&list, apart);
	CHECK(task && task->mm == apart);
	task = find(&list, zombie);
	CHECK(task && task->mm == zombie && !task->kernel);
	for (size_t i = 0; i < list.count; i++)
		CHECK(list.tasks[i].kernel == (list.tasks[i].mm == 0));
	tasks_free(&list);

	kill(sharing, SIGKILL);
	kill(apart, SIGKILL);
	while (wait(NULL) > 0)
		;
}

static void check_writing(void)
{
	struct task_list list = {0};
	char marker[4096];
	size_t seen = 0, markers = 0;
	unsigned long long stated = 0;
	bool ended = false;
	int pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	list.count = 301;
	list.tasks = calloc(list.count, sizeof(*list.tasks));
	for (size_t i = 0; i < list.count; i++) {
		list.tasks[i] = (struct snapshot_task){
			.tid = 1000000 + (int)i, .tgid = 1000000, .mm = 1000000};
		memset(list.tasks[i].comm, ' ', i % 16);
	}
	/* All of it must fit into the socket, since nobody reads meanwhile. */
	int room = 1 << 20;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	CHECK(tasks_write(&list, pair[0]) == 0);
	close(pair[0]);
	ssize_t got;
	while ((got = read(pair[1], marker, sizeof(marker) - 1)) > 0) {
		char *rest = marker, *line;

		markers++;
		CHECK(!ended && got <= SNAPSHOT_MARKER_MAX && marker[got - 1] == '\n');
		marker[got] = '\0';
		line = strsep(&rest, "\n");
		CHECK(!strcmp(line, SNAPSHOT_HEADER));
		while ((line = strsep(&rest, "\n")) && *line) {
			struct snapshot_task task;

			if (sscanf(line, SNAPSHOT_END " %llu", &stated) == 1) {
				ended = true;
				continue;
			}
			CHECK(snapshot_parse(line, strlen(line), &task));
			CHECK(seen < list.count && !memcmp(&task, &list.tasks[seen],
							   offsetof(struct snapshot_task, comm)));
			CHECK(!strcmp(task.comm, list.tasks[seen].comm));
			seen++;
		}
	}
	close(pair[1]);
	CHECK(ended && stated == list.count && seen == list.count && markers > 2);
	tasks_free(&list);
	CHECK(tasks_write(&list, -1) == -EBADF);
}

int main(void)
{
	check_reading();
	check_writing();
	if (failures)
		return 1;
	puts("ok");
	return 0;
}
