// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/recover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "capture/child.h"
#include "capture/probes.h"

#define PAUSE_NS       20000000
#define RECORDER_TRIES 250 /* 5 s */
#define CHILD_TRIES    15000 /* 5 min: a large file */

static void nap(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
}

void recover_end_recorders(pid_t group)
{
	/* A recorder takes SIGUSR1 as: read what there is, then end. */
	for (int i = 0; i < RECORDER_TRIES && !kill(-group, i ? 0 : SIGUSR1); i++)
		nap();
	kill(-group, SIGKILL);
}

static int by_text(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* True for recording.ANYTHING.cpuN. */
static bool is_piece(const char *name)
{
	size_t size = strlen(RECOVER_PART);
	const char *cpu = strrchr(name, '.');

	return !strncmp(name, RECOVER_PART, size) && name[size] == '.' && cpu &&
	       !strncmp(cpu, ".cpu", 4) && isdigit((unsigned char)cpu[4]);
}

static DIR *open_again(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir && copy >= 0)
		close(copy);
	return dir;
}

static int run_trace_cmd(char *const argv[], int folder)
{
	struct child child = CHILD_NONE;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct child_setup setup = {.stdin_fd = null, .stdout_fd = null, .stderr_fd = null,
				    .tool = true, .folder_fd = folder};
	int rc = child_fork(&child, argv, &setup);

	if (!rc)
		rc = child_release(&child);
	for (int i = 0; !rc && !child_ended(&child) && i < CHILD_TRIES; i++)
		nap();
	if (!rc && (!child_ended(&child) || child.status))
		rc = -EIO;
	child_destroy(&child);
	if (null >= 0)
		close(null);
	return rc;
}

int recover_parts(int folder)
{
	char restore[] = "restore", output[] = "-o", file[] = RECOVER_PART, program[] = "trace-cmd";
	char *argv[1030] = {program, restore, output, file};
	struct dirent *entry;
	size_t count = 4;
	bool data = false;
	int rc = -ENODATA;

	DIR *dir = open_again(folder);
	if (!dir)
		return -errno;
	while (count < 1028 && (entry = readdir(dir))) {
		struct stat st;

		if (!is_piece(entry->d_name))
			continue;
		data |= !fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
			st.st_size > 0;
		argv[count] = strdup(entry->d_name);
		if (!argv[count])
			break;
		count++;
	}
	closedir(dir);
	argv[count] = NULL;
	qsort(argv + 4, count - 4, sizeof(*argv), by_text);
	if (data)
		rc = run_trace_cmd(argv, folder);
	for (size_t i = 4; i < count; i++) {
		if (!rc)
			unlinkat(folder, argv[i], 0);
		free(argv[i]);
	}
	return rc;
}

/* ---- after recordings whose tlbcapture is gone ---- */

static void tell(recover_note *note, void *context, bool good, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void tell(recover_note *note, void *context, bool good, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	note(text, good, context);
}

/* True if PID is a tlbcapture. */
static bool is_alive(pid_t pid)
{
	char path[48], comm[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(comm, sizeof(comm), file))
		comm[0] = '\0';
	fclose(file);
	return !strcmp(comm, "tlbcapture\n");
}

/* True if PROCESS is a trace-cmd with the argument NAME. */
static bool records_into(const char *process, const char *name)
{
	char path[300], text[4096];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", process);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (size <= 0)
		return false;
	text[size] = '\0';
	const char *slash = strrchr(text, '/');
	if (strcmp(slash ? slash + 1 : text, "trace-cmd"))
		return false;
	for (ssize_t at = 0; at < size && !found; at += (ssize_t)strlen(text + at) + 1)
		found = !strcmp(text + at, name);
	return found;
}

/* Sends SIG to every trace-cmd that records into instance NAME. Returns how many there are. */
static int signal_recorders(const char *name, int sig)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	while (proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]) || !records_into(entry->d_name, name))
			continue;
		count++;
		kill(atoi(entry->d_name), sig);
	}
	if (proc)
		closedir(proc);
	return count;
}

/* Ends whatever records into NAME: in peace if it still can. */
static void end_recording(const char *name, recover_note *note, void *context)
{
	static const int signals[] = {SIGINT, SIGUSR1, SIGKILL};
	int count = 0;

	for (size_t s = 0; s < sizeof(signals) / sizeof(*signals); s++) {
		int left = signal_recorders(name, signals[s]);

		if (!count)
			count = left;
		for (int i = 0; left && i < RECORDER_TRIES; i++) {
			nap();
			left = signal_recorders(name, 0);
		}
		if (!left)
			break;
	}
	if (count)
		tell(note, context, true, "ended %d recorders of %s", count, name);
}

/* The pid in ".FILE.PID.part", 0 if it is no such name. */
static pid_t part_pid(const char *name)
{
	size_t size = strlen(name);
	const char *end = name + size - 5;

	if (size < 9 || *name != '.' || strcmp(end, ".part"))
		return 0;
	const char *start = end;
	while (start > name + 2 && isdigit((unsigned char)start[-1]))
		start--;
	return start[-1] == '.' && start < end ? (pid_t)atoi(start) : 0;
}

/* Puts the finished file of PART in its place: FILE, or FILE.PID if there is one already. */
static int place(int dir, int folder, const char *part, pid_t pid, char *name, size_t name_size)
{
	char tail[32];
	int tail_size = snprintf(tail, sizeof(tail), ".%d.part", pid);

	for (int i = 0; i < 2; i++) {
		snprintf(name, name_size, "%.*s", (int)strlen(part) - tail_size - 1, part + 1);
		if (i) {
			size_t used = strlen(name);

			snprintf(name + used, name_size - used, ".%d", pid);
		}
		if (!linkat(folder, RECOVER_PART, dir, name, 0))
			return unlinkat(folder, RECOVER_PART, 0) ? -errno : 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* A flight recorder has written nothing; what it kept is still in its instances. */
static int recover_flight(int folder, pid_t pid)
{
	char events[48], tasks[48];
	char words[][12] = {"trace-cmd", "extract", "-o", RECOVER_PART, "-B"};
	char *const argv[] = {words[0], words[1], words[2], words[3], words[4],
			      events,   words[4], tasks,    NULL};

	snprintf(events, sizeof(events), RECOVER_INSTANCE "%d", pid);
	snprintf(tasks, sizeof(tasks), RECOVER_INSTANCE "%d-tasks", pid);
	if (!tracefs_instance_exists(tasks) || !tracefs_instance_exists(events))
		return -ENODATA;
	return run_trace_cmd(argv, folder);
}

/* Opens the folder PART if it is one of ours that nobody else could write to; else -1. */
static int open_part(int dir, const char *part)
{
	int folder = openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (folder >= 0 && !fstat(folder, &st) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return folder;
	if (folder >= 0)
		close(folder);
	return -1;
}

static void remove_part(int dir, int folder, const char *part)
{
	DIR *inside = open_again(folder);
	struct dirent *entry;

	while (inside && (entry = readdir(inside)))
		if (!strncmp(entry->d_name, RECOVER_PART, strlen(RECOVER_PART)))
			unlinkat(folder, entry->d_name, 0);
	if (inside)
		closedir(inside);
	unlinkat(dir, part, AT_REMOVEDIR);
}

static int recover_file(const char *directory, int dir, const char *part, recover_note *note,
			void *context)
{
	pid_t pid = part_pid(part);
	char name[NAME_MAX + 32];
	struct stat st;
	int failed = 1, folder;

	if (!pid || is_alive(pid) || (folder = open_part(dir, part)) < 0)
		return 0;
	int rc = recover_parts(folder);
	bool empty = fstatat(folder, RECOVER_PART, &st, AT_SYMLINK_NOFOLLOW) || !st.st_size;
	if (rc == -ENODATA && empty) {
		rc = recover_flight(folder, pid);
		empty = fstatat(folder, RECOVER_PART, &st, AT_SYMLINK_NOFOLLOW) || !st.st_size;
	}
	if (rc && rc != -ENODATA) {
		tell(note, context, false, "%s/%s: trace-cmd cannot make a file of the pieces",
		     directory, part);
	} else if (empty) {
		remove_part(dir, folder, part);
		tell(note, context, true, "%s/%s: was empty, removed", directory, part);
		failed = 0;
	} else if ((rc = place(dir, folder, part, pid, name, sizeof(name)))) {
		tell(note, context, false, "%s/%s: %s", directory, part, strerror(-rc));
	} else {
		remove_part(dir, folder, part);
		tell(note, context, true, "%s/%s: recovered, %.1f MB", directory, name,
		     (double)st.st_size / 1e6);
		failed = 0;
	}
	close(folder);
	return failed;
}

static int recover_directory(const char *directory, recover_note *note, void *context)
{
	struct dirent *entry;
	char **parts = NULL;
	size_t count = 0;
	int failed = 0;
	DIR *dir = opendir(directory);

	if (!dir) {
		tell(note, context, false, "%s: %s", directory, strerror(errno));
		return 1;
	}
	/* A list first: names come and go below. */
	while ((entry = readdir(dir))) {
		if (!part_pid(entry->d_name))
			continue;
		char **grown = reallocarray(parts, count + 1, sizeof(*parts));
		char *copy = grown ? strdup(entry->d_name) : NULL;

		if (grown)
			parts = grown;
		if (!copy)
			break;
		parts[count++] = copy;
	}
	for (size_t i = 0; i < count; i++) {
		failed += recover_file(directory, dirfd(dir), parts[i], note, context);
		free(parts[i]);
	}
	free(parts);
	closedir(dir);
	return failed;
}

static int remove_instance(const char *name, recover_note *note, void *context)
{
	char *path = tracefs_get_tracing_file("instances"), *full = NULL;
	int rc = path && asprintf(&full, "%s/%s", path, name) >= 0 ? -EBUSY : -ENOMEM;

	for (int i = 0; i < 100 && rc == -EBUSY; i++) {
		if (i)
			nap();
		rc = rmdir(full) ? -errno : 0;
	}
	if (rc == -ENOENT)
		rc = 0;
	tell(note, context, !rc, rc ? "instances/%s: %s" : "instances/%s: removed%s", name,
	     rc ? strerror(-rc) : "");
	free(full);
	if (path)
		tracefs_put_tracing_file(path);
	return rc != 0;
}

/* Calls EACH for each instance whose tlbcapture is gone. */
static int for_each_orphan(int (*each)(const char *, recover_note *, void *), recover_note *note,
			   void *context)
{
	char **names = tracefs_instances(NULL);
	int failed = 0;

	for (char **at = names; at && *at; at++) {
		if (strncmp(*at, RECOVER_INSTANCE, strlen(RECOVER_INSTANCE)) ||
		    is_alive(atoi(*at + strlen(RECOVER_INSTANCE))))
			continue;
		failed += each(*at, note, context);
	}
	tracefs_list_free(names);
	return failed;
}

static int end_each(const char *name, recover_note *note, void *context)
{
	struct tracefs_instance *instance = tracefs_instance_alloc(NULL, name);

	end_recording(name, note, context);
	if (instance) {
		tracefs_trace_off(instance);
		tracefs_instance_free(instance);
	}
	return 0;
}

int recover_all(char *const directories[], recover_note *note, void *context)
{
	static char here[] = ".";
	char *const only_here[] = {here, NULL};
	int failed;

	/* The pieces need the events' formats: recorders, files, instances, probes. */
	failed = for_each_orphan(end_each, note, context);
	for (char *const *at = *directories ? directories : only_here; *at; at++)
		failed += recover_directory(*at, note, context);
	failed += for_each_orphan(remove_instance, note, context);
	int lock = probes_lock();
	if (lock >= 0) {
		size_t removed = probes_remove_unused();

		if (removed)
			tell(note, context, true, "%zu probes removed", removed);
		close(lock);
	} else {
		tell(note, context, false,
		     "probes are left alone: a recording is starting or ending (%s)",
		     strerror(-lock));
		failed++;
	}
	return failed;
}
