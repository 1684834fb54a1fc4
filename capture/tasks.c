// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads of one group share an address space by definition. Processes may share one too: a vfork
 * child until it execs, or a clone() with CLONE_VM alone. Such a child is made by its parent, so
 * each process is compared with its parent, and chains are followed:
 *
 *   700 -- 712 (vfork) -- 713 (vfork)      all three: mm 700
 *
 * One whose parent has ended since is not found; comparing all pairs would find it, for a cost that
 * grows with the square of the processes.
 */
#include "capture/tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/marker.h"
#include "common/grow.h"

#define FLAG_KTHREAD 0x00200000u /* PF_KTHREAD of include/linux/sched.h */
#define INIT_PID_NS  4026531836u /* PROC_PID_INIT_INO of include/linux/proc_ns.h */
#define STAT_BYTES   1024

/* One process while its address space is sought. */
struct process {
	int32_t tgid, parent;
	size_t first, end; /* its tasks in the list */
	size_t mm;         /* index of a process with the same mm; its own: root of a group */
	bool user;         /* has an address space */
};

struct process_list {
	struct process *all;
	size_t count, capacity;
};

bool tasks_pids_are_global(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == INIT_PID_NS;
}

/* A directory entry's name as a pid, 0 if it is none. */
static int32_t entry_pid(const char *name)
{
	char *end;
	long pid = strtol(name, &end, 10);

	return *name >= '1' && *name <= '9' && !*end && pid <= INT32_MAX ? (int32_t)pid : 0;
}

/*
 * Reads TID's stat below the open directory DIR. Returns true if the task still exists. *PARENT
 * gets its parent's tgid, *HAS_MM whether it has an address space now (a zombie has none).
 */
static bool read_stat(int dir, int32_t tid, struct snapshot_task *task, int32_t *parent,
		      bool *has_mm)
{
	char path[32], text[STAT_BYTES];
	unsigned long long flags, vsize;

	snprintf(path, sizeof(path), "%d/stat", tid);
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	/* The name may hold parentheses and blanks: it ends at the last one. */
	char *name = strchr(text, '('), *behind = strrchr(text, ')');
	if (!name || !behind || behind < name)
		return false;
	if (sscanf(behind + 1,
		   " %*c %d %*d %*d %*d %*d %llu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
		   "%*d %*d %*d %*u %llu",
		   parent, &flags, &vsize) != 3)
		return false;
	*task = (struct snapshot_task){.tid = tid, .kernel = flags & FLAG_KTHREAD};
	/* stat, unlike status, has the bytes as they are, and more of them for a kworker. */
	size_t size = (size_t)(behind - name - 1);
	if (size >= sizeof(task->comm))
		size = sizeof(task->comm) - 1;
	memcpy(task->comm, name + 1, size);
	*has_mm = !task->kernel && vsize > 0;
	return true;
}

/* Appends all threads of TGID, and the process itself. Returns 0 or a negative errno. */
static int read_process(struct task_list *list, struct process_list *processes, int proc,
			int32_t tgid)
{
	struct process process = {.tgid = tgid, .first = list->count, .mm = processes->count};
	struct dirent *entry;
	char path[32];
	int rc = 0;

	snprintf(path, sizeof(path), "%d/task", tgid);
	int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	DIR *dir = fdopendir(fd);
	if (!dir) {
		rc = -errno;
		close(fd);
		return rc;
	}
	while (!rc && (entry = readdir(dir))) {
		int32_t tid = entry_pid(entry->d_name), parent;
		struct snapshot_task task;
		bool has_mm;

		if (!tid || !read_stat(fd, tid, &task, &parent, &has_mm))
			continue;
		task.tgid = tgid;
		if (tid == tgid) {
			process.parent = parent;
			process.user = has_mm;
		}
		struct snapshot_task *tasks =
			grow_list(list->tasks, list->count, &list->capacity, sizeof(*tasks));
		rc = tasks ? 0 : -ENOMEM;
		if (tasks) {
			list->tasks = tasks;
			list->tasks[list->count++] = task;
		}
	}
	closedir(dir);
	process.end = list->count;
	if (rc || process.end == process.first)
		return rc;
	struct process *all =
		grow_list(processes->all, processes->count, &processes->capacity, sizeof(*all));
	if (!all)
		return -ENOMEM;
	processes->all = all;
	processes->all[processes->count++] = process;
	return 0;
}

static int by_tgid(const void *key, const void *element)
{
	int32_t tgid = *(const int32_t *)key, other = ((const struct process *)element)->tgid;

	return tgid < other ? -1 : tgid > other;
}

static size_t root_of(struct process *all, size_t at)
{
	while (all[at].mm != at)
		at = all[at].mm = all[all[at].mm].mm;
	return at;
}

/* Joins processes that share an mm, the lowest tgid as root, and fills in the tasks' mm. */
static void find_sharing(struct task_list *list, struct process_list *processes)
{
	struct process *all = processes->all;

	for (size_t i = 0; i < processes->count; i++) {
		/* /proc lists by ascending pid. */
		struct process *parent =
			bsearch(&all[i].parent, all, processes->count, sizeof(*all), by_tgid);

		if (!all[i].user || !parent || !parent->user)
			continue;
		long differ = syscall(SYS_kcmp, all[i].tgid, parent->tgid, KCMP_VM, 0, 0);

		if (differ < 0 && errno != ESRCH)
			list->unknown++;
		if (differ)
			continue;
		size_t a = root_of(all, i), b = root_of(all, (size_t)(parent - all));
		/* Indices order as tgids do. */
		if (a < b)
			all[b].mm = a;
		else
			all[a].mm = b;
	}
	for (size_t i = 0; i < processes->count; i++) {
		for (size_t t = all[i].first; t < all[i].end; t++) {
			struct snapshot_task *task = &list->tasks[t];

			task->mm = task->kernel ? 0 : all[root_of(all, i)].tgid;
		}
	}
}

int tasks_read(struct task_list *list)
{
	struct process_list processes = {0};
	struct dirent *entry;
	int rc = 0;

	DIR *dir = opendir("/proc");
	if (!dir)
		return -errno;
	while (!rc && (entry = readdir(dir))) {
		int32_t tgid = entry_pid(entry->d_name);

		if (tgid)
			rc = read_process(list, &processes, dirfd(dir), tgid);
	}
	closedir(dir);
	if (!rc)
		find_sharing(list, &processes);
	free(processes.all);
	return rc;
}

int tasks_write(const struct task_list *list, int marker_fd)
{
	const size_t header = sizeof(SNAPSHOT_HEADER "\n") - 1;
	char marker[SNAPSHOT_MARKER_MAX], line[128];
	size_t used = header;
	int rc = 0;

	memcpy(marker, SNAPSHOT_HEADER "\n", header);
	for (size_t i = 0; i < list->count && !rc; i++) {
		size_t size = snapshot_format(line, sizeof(line), &list->tasks[i]);

		if (!size)
			return -EINVAL;
		if (used + size > sizeof(marker)) {
			rc = marker_write(marker_fd, marker, used);
			used = header;
		}
		memcpy(marker + used, line, size);
		used += size;
	}
	if (!rc && used > header)
		rc = marker_write(marker_fd, marker, used);
	if (!rc) {
		used = header +
		       (size_t)sprintf(marker + header, SNAPSHOT_END " %zu\n", list->count);
		rc = marker_write(marker_fd, marker, used);
	}
	return rc;
}

void tasks_free(struct task_list *list)
{
	free(list->tasks);
	*list = (struct task_list){0};
}
