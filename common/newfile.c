// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/newfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANDOM_SIZE 6
#define TRIES       64
#define TAIL        ".tmp"

/* Opens the folder of PATH; *BASE gets what is behind it. */
static int open_folder(const char *path, const char **base)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int fd;

	*base = slash ? slash + 1 : path;
	folder = !slash          ? strdup(".")
		 : slash == path ? strdup("/")
				 : strndup(path, (size_t)(slash - path));
	if (!folder)
		return -ENOMEM;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	free(folder);
	return fd;
}

/* Whether NAME is ".BASE.XXXXXX.tmp". */
static bool is_hidden_name(const char *name, const char *base)
{
	size_t n = strlen(base);

	return strlen(name) == 1 + n + 1 + RANDOM_SIZE + strlen(TAIL) && name[0] == '.' &&
	       !strncmp(name + 1, base, n) && name[1 + n] == '.' &&
	       !strcmp(name + 2 + n + RANDOM_SIZE, TAIL);
}

/* Removes what others left behind: ours, plain files, and locked by nobody. */
static void remove_leftovers(int folder, const char *base)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		if (!is_hidden_name(entry->d_name, base))
			continue;
		int fd = openat(folder, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		    !flock(fd, LOCK_EX | LOCK_NB))
			unlinkat(folder, entry->d_name, 0);
		close(fd);
	}
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
}

static void random_name(char out[RANDOM_SIZE + 1])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	unsigned char bytes[RANDOM_SIZE];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		memset(bytes, 0, sizeof(bytes)); /* O_EXCL still refuses what is there */
	for (int i = 0; i < RANDOM_SIZE; i++)
		out[i] = letters[bytes[i] % (sizeof(letters) - 1)];
	out[RANDOM_SIZE] = '\0';
}

/*
 * Locks what was just made. False: between the two somebody took it for a leftover, and it has no
 * name any more. On a file system without locks nothing is held, and nothing is cleaned up.
 */
static bool hold(int fd)
{
	struct stat st;

	while (flock(fd, LOCK_EX) && errno == EINTR)
		;
	return !fstat(fd, &st) && st.st_nlink > 0;
}

int newfile_begin(struct newfile *f, const char *target)
{
	char random[RANDOM_SIZE + 1];
	const char *base;
	int ret = -EEXIST, folder;

	*f = (struct newfile){.fd = -1};
	folder = open_folder(target, &base);
	if (folder < 0)
		return folder;
	f->target = strdup(target);
	if (!f->target)
		ret = -ENOMEM;
	else
		remove_leftovers(folder, base);
	for (int i = 0; i < TRIES && ret == -EEXIST; i++) {
		random_name(random);
		free(f->path);
		if (asprintf(&f->path, "%.*s.%s.%s" TAIL, (int)(base - target), target, base,
			     random) < 0) {
			f->path = NULL;
			ret = -ENOMEM;
			break;
		}
		f->fd = openat(folder, f->path + (base - target),
			       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		ret = f->fd < 0 ? -errno : 0;
		if (!ret && !hold(f->fd)) {
			close(f->fd);
			f->fd = -1;
			ret = -EEXIST;
		}
	}
	close(folder);
	return ret;
}

int newfile_commit(struct newfile *f)
{
	const char *base;
	int folder;

	if (fsync(f->fd) && errno != EINVAL && errno != EROFS)
		return -errno;
	if (rename(f->path, f->target))
		return -errno;
	free(f->path);
	f->path = NULL;
	/* The new name, too. That it is not on the disk yet is not worth a failure: either is whole. */
	folder = open_folder(f->target, &base);
	if (folder >= 0) {
		fsync(folder);
		close(folder);
	}
	return 0;
}

void newfile_drop(struct newfile *f)
{
	if (f->path && f->fd >= 0)
		unlink(f->path);
	if (f->target && f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->target);
	*f = (struct newfile){.fd = -1};
}
