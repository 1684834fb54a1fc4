// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/targets.h"
#include "common/grow.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CGROUP_ROOT "/sys/fs/cgroup/"
#define CGROUP_DEEP 64

/* Where TID is, or would be. */
static size_t find(const struct tid_set *set, pid_t tid)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->tids[middle] < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool tid_set_has(const struct tid_set *set, pid_t tid)
{
	size_t at = find(set, tid);

	return at < set->count && set->tids[at] == tid;
}

int tid_set_add(struct tid_set *set, pid_t tid)
{
	size_t at = find(set, tid);

	if (at < set->count && set->tids[at] == tid)
		return 0;
	pid_t *tids = grow_list(set->tids, set->count, &set->capacity, sizeof(*tids));
	if (!tids)
		return -ENOMEM;
	set->tids = tids;
	memmove(set->tids + at + 1, set->tids + at, (set->count - at) * sizeof(*set->tids));
	set->tids[at] = tid;
	set->count++;
	return 1;
}

void tid_set_free(struct tid_set *set)
{
	free(set->tids);
	*set = (struct tid_set){0};
}

int targets_add_process(struct tid_set *set, pid_t pid)
{
	char path[32];
	struct dirent *entry;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	if (!dir)
		return -ESRCH;
	while (rc >= 0 && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			rc = tid_set_add(set, (pid_t)atoi(entry->d_name));
	closedir(dir);
	return rc < 0 ? rc : 0;
}

/*
 * Adds the threads of the one group in DIRECTORY: version 2 lists them in cgroup.threads, version 1
 * in tasks. Processes alone (cgroup.procs) would leave out their threads.
 */
static int add_threads(struct tid_set *set, int directory)
{
	int fd = openat(directory, "cgroup.threads", O_RDONLY | O_CLOEXEC);
	int tid, rc = 0;

	if (fd < 0)
		fd = openat(directory, "tasks", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	FILE *file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	while (rc >= 0 && fscanf(file, "%d", &tid) == 1)
		rc = tid > 0 ? tid_set_add(set, tid) : 0;
	fclose(file);
	return rc < 0 ? rc : 0;
}

/* DIRECTORY is closed. Groups below that vanish meanwhile are passed over. */
static int add_group(struct tid_set *set, int directory, int deep)
{
	struct dirent *entry;
	int rc = add_threads(set, directory);
	DIR *dir = rc ? NULL : fdopendir(directory);

	if (!dir) {
		close(directory);
		return rc ? rc : -ENOMEM;
	}
	while (!rc && deep < CGROUP_DEEP && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		int below = openat(dirfd(dir), entry->d_name,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (below >= 0 && (rc = add_group(set, below, deep + 1)) == -ENOENT)
			rc = 0;
	}
	closedir(dir);
	return rc;
}

int targets_add_cgroup(struct tid_set *set, const char *path)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s", *path == '/' ? "" : CGROUP_ROOT, path) >=
	    (int)sizeof(full))
		return -ENAMETOOLONG;
	int directory = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return directory < 0 ? (errno == ENOTDIR ? -ENOENT : -errno) : add_group(set, directory, 0);
}
