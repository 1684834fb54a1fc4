// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What owns what:
 *
 *   tlbcapture --- makes, removes ---> probes tlbr:*, tlbr_tlbi:* (shared, see probes.h)
 *       |                              instances/tlbcapture-PID (off until trace-cmd is ready)
 *       |                                     ^ events, clock, buffer size, tracing_on
 *       '-- own process group --> trace-cmd --+
 *                                     '--> one recorder per CPU --> .FILE.PID.part/recording.*.cpuN
 *                                                                        | at the end
 *                                       .FILE.PID.part/recording <-------'   -- rename --> FILE
 *
 * The instance is ours, not trace-cmd's: so we can tell when recording begins (it alone writes 1 to
 * tracing_on, and it does so last), read the loss counts after it has ended, and clean up after a
 * trace-cmd that was killed. The process group is there for the recorders, which outlive a killed
 * trace-cmd and ignore SIGINT by then. The top-level buffer is never touched.
 *
 * A flight recorder has no trace-cmd until it ends: the buffers overwrite themselves, and a second
 * instance, tlbcapture-PID-tasks, keeps the rare events that say who is who, which would be the
 * first to be overwritten.
 */
#include "capture/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "capture/child.h"
#include "capture/kernel.h"
#include "capture/probes.h"
#include "capture/recover.h"

#define MOUNT_POINT       "/sys/kernel/tracing"
#define BUFFER_DEFAULT_KB 102400
#define BUFFER_LEAST_KB   1024
#define FLIGHT_TASKS_KB   1024 /* per CPU: 20,000 forks and more */
#define REMOVE_TRIES      200
#define REMOVE_PAUSE_NS   10000000
#define LOCK_TRIES        3000 /* 30 s */

struct session {
	const struct session_config *config;
	struct tracefs_instance *instance;
	struct tracefs_instance *tasks; /* NULL: none of its own */
	struct child trace_cmd;
	int marker_fd, tasks_fd;
	int lock_fd; /* of the probes, until they are on for good */
	int words_fd; /* what trace-cmd writes to standard error */
	bool recording;
	bool stopping; /* flight: trace-cmd reads it out */
	bool keep;
	struct session_result counts; /* flight: read before trace-cmd took the instances away */
	char *target;           /* the output behind symbolic links */
	char *folder;           /* of the temporary files: .FILE.PID.part beside the output */
	int folder_fd, parent_fd;
	char *part_path;        /* trace-cmd's output, by way of folder_fd */
};

static int fail(int code, char *err, size_t err_size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int fail(int code, char *err, size_t err_size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, err_size, format, args);
	va_end(args);
	return code;
}

/* Whether the kernel denies tracing to everybody. */
static bool locked_down(void)
{
	char *lockdown = read_line("/sys/kernel/security/lockdown");
	bool locked = lockdown && strstr(lockdown, "[confidentiality]");

	free(lockdown);
	return locked;
}

static const char *why(int code)
{
	bool denied = code == -EPERM || code == -EACCES;

	/* Said in several ways: a tracefs that was mounted before the lockdown takes no instance. */
	if ((denied || code == -EINVAL) && geteuid() == 0 && locked_down())
		return "permission denied: the kernel is locked down (confidentiality)";
	if (denied && geteuid() == 0)
		return "permission denied";
	return denied ? "permission denied: recording needs root" : strerror(-code);
}

/* True if a tracefs is mounted. */
static bool tracefs_is_mounted(void)
{
	bool found = false;
	struct mntent *entry;
	FILE *mounts = setmntent("/proc/self/mounts", "re");

	if (!mounts)
		return false;
	while (!found && (entry = getmntent(mounts)))
		found = !strcmp(entry->mnt_type, "tracefs");
	endmntent(mounts);
	return found;
}

int session_open_tracefs(char *err, size_t err_size)
{
	/* Not left to libtracefs, which would mount it for everybody. */
	if (!tracefs_is_mounted()) {
		if (unshare(CLONE_NEWNS))
			return fail(-errno, err, err_size, "own mount namespace: %s", why(-errno));
		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
			return fail(-errno, err, err_size, "private mounts: %s", why(-errno));
		if (mount("tracefs", MOUNT_POINT, "tracefs", 0, NULL))
			return fail(-errno, err, err_size,
				    "cannot mount tracefs on " MOUNT_POINT ": %s",
				    errno == ENODEV ? "this kernel has none" : why(-errno));
	}
	if (!tracefs_tracing_dir())
		return fail(-ENOENT, err, err_size, "tracefs cannot be found");
	if (access(tracefs_tracing_dir(), R_OK | W_OK | X_OK))
		return fail(-errno, err, err_size, "%s: %s", tracefs_tracing_dir(), why(-errno));
	if (!tracefs_dir_exists(NULL, "instances"))
		return fail(-ENOENT, err, err_size, "%s: %s", tracefs_tracing_dir(),
			    locked_down()
				    ? "empty: the kernel is locked down (confidentiality) and "
				      "denies all tracing"
				    : "this kernel has no instances");
	return 0;
}

int64_t session_default_buffer_kb(void)
{
	long long available = 0;
	char line[128];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	FILE *file = fopen("/proc/meminfo", "re");

	if (!file)
		return BUFFER_LEAST_KB;
	while (!available && fgets(line, sizeof(line), file))
		sscanf(line, "MemAvailable: %lld", &available);
	fclose(file);
	int64_t fair = available / 4 / (cpus > 0 ? cpus : 1);
	if (fair > BUFFER_DEFAULT_KB)
		return BUFFER_DEFAULT_KB;
	return fair < BUFFER_LEAST_KB ? BUFFER_LEAST_KB : fair;
}

/* Resolves the output's name, so that a symbolic link stays one. Refuses devices and the like. */
static int resolve_output(struct session *session, char *err, size_t err_size)
{
	const char *output = session->config->output;
	struct stat st;

	if (lstat(output, &st) == 0) {
		session->target = realpath(output, NULL);
		if (!session->target)
			return fail(-errno, err, err_size, "%s: %s", output, strerror(errno));
		if (stat(session->target, &st) || !S_ISREG(st.st_mode))
			return fail(-EINVAL, err, err_size, "%s: not a regular file", output);
	} else {
		session->target = strdup(output);
	}
	if (!session->target)
		return fail(-ENOMEM, err, err_size, "out of memory");
	return 0;
}

/*
 * Makes the folder of the temporary files beside the output: a failure to write there shows at
 * once. It is new and ours alone, and everything below goes through its descriptor, so nobody can
 * put a link or a file of theirs where trace-cmd is about to write.
 */
static int make_part(struct session *session, char *err, size_t err_size)
{
	const char *slash = strrchr(session->target, '/');
	const char *base = slash ? slash + 1 : session->target;
	char *parent;

	if (!*base)
		return fail(-EISDIR, err, err_size, "%s: names a directory",
			    session->config->output);
	parent = slash == session->target ? strdup("/")
		 : slash ? strndup(session->target, (size_t)(slash - session->target))
			 : strdup(".");
	if (!parent || asprintf(&session->folder, "%s/.%s.%d.part", parent, base, getpid()) < 0) {
		free(parent);
		return fail(-ENOMEM, err, err_size, "out of memory");
	}
	session->parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(parent);
	const char *name = strrchr(session->folder, '/') + 1;
	if (session->parent_fd < 0 || mkdirat(session->parent_fd, name, 0700))
		return fail(-errno, err, err_size, "%s: cannot write there: %s",
			    session->config->output, strerror(errno));
	session->folder_fd = openat(session->parent_fd, name,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (session->folder_fd < 0 ||
	    asprintf(&session->part_path, "/proc/%d/fd/%d/" RECOVER_PART, getpid(),
		     session->folder_fd) < 0)
		return fail(-errno, err, err_size, "%s: %s", session->config->output,
			    strerror(errno));
	return 0;
}

/* Makes one instance, switched off. */
static int make_instance(const char *name, struct tracefs_instance **instance, int *marker_fd,
			 char *err, size_t err_size)
{
	errno = 0;
	if (tracefs_instance_exists(name))
		return fail(-EEXIST, err, err_size,
			    "%s/instances/%s is left from an earlier run: tlbcapture --restore "
			    "removes it",
			    tracefs_tracing_dir(), name);
	*instance = tracefs_instance_create(name);
	if (!*instance)
		return fail(errno ? -errno : -EIO, err, err_size, "%s/instances/%s: %s",
			    tracefs_tracing_dir(), name, why(errno ? -errno : -EIO));
	if (tracefs_trace_off(*instance))
		return fail(-EIO, err, err_size, "%s: cannot be switched off", name);
	*marker_fd = tracefs_instance_file_open(*instance, "trace_marker", O_WRONLY);
	if (*marker_fd < 0)
		return fail(-EIO, err, err_size, "%s: trace_marker cannot be opened", name);
	/* libtracefs opens it to be inherited; trace-cmd would hold the instance by it. */
	fcntl(*marker_fd, F_SETFD, FD_CLOEXEC);
	return 0;
}

static int make_instances(struct session *session, char *err, size_t err_size)
{
	char name[48];

	snprintf(name, sizeof(name), RECOVER_INSTANCE "%d", getpid());
	int rc = make_instance(name, &session->instance, &session->marker_fd, err, err_size);
	if (rc || !session->config->flight)
		return rc;
	snprintf(name, sizeof(name), RECOVER_INSTANCE "%d-tasks", getpid());
	return make_instance(name, &session->tasks, &session->tasks_fd, err, err_size);
}

struct session *session_create(const struct session_config *config, char *err, size_t err_size)
{
	char ignored[SESSION_ERROR_SIZE];
	struct session *session = calloc(1, sizeof(*session));

	if (!session) {
		fail(-ENOMEM, err, err_size, "out of memory");
		return NULL;
	}
	*session = (struct session){
		.config = config, .trace_cmd = CHILD_NONE, .marker_fd = -1, .tasks_fd = -1,
		.words_fd = -1, .lock_fd = -1, .folder_fd = -1, .parent_fd = -1};
	int rc = resolve_output(session, err, err_size);
	if (!rc)
		rc = make_part(session, err, err_size);
	if (!rc)
		rc = make_instances(session, err, err_size);
	if (rc) {
		session_destroy(session, ignored, sizeof(ignored));
		errno = -rc;
		return NULL;
	}
	return session;
}

/* The events that say who is who go to an instance of their own where there is one. */
static struct tracefs_instance *instance_of(const struct session *session,
					    const struct plan_event *event)
{
	if (!session->tasks || !event->row)
		return session->instance;
	switch (event->row->role) {
	case ROLE_NEWTASK:
	case ROLE_FORK:
	case ROLE_EXEC:
	case ROLE_TASK_EXIT:
		return session->tasks;
	default:
		return session->instance;
	}
}

static bool is_enabled_by_us(const struct plan_event *event)
{
	return plan_records(event) && !(event->row && event->row->role == ROLE_MARKER);
}

/* Writes TEXT to a file of an instance, opened with FLAGS. Returns 0 or a negative errno. */
static int write_file(struct tracefs_instance *instance, const char *file, int flags,
		      const char *text)
{
	int fd = tracefs_instance_file_open(instance, file, flags);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* Writes TEXT to a file of EVENT in its instance. Returns 0 or a negative errno. */
static int write_event(const struct session *session, const struct plan_event *event,
		       const char *file, const char *text)
{
	char path[2 * PLAN_NAME_SIZE + 32];

	snprintf(path, sizeof(path), "events/%s/%s/%s", event->system, event->name, file);
	return write_file(instance_of(session, event), path, O_WRONLY, text);
}

/* Tries what trace-cmd is going to do: it gives up as a whole where one event cannot be had. */
static int try_event(struct session *session, struct plan_event *event)
{
	if (event->filter && write_event(session, event, "filter", event->filter)) {
		plan_set_reason(event, "the kernel refuses its filter; all of its events are kept");
		free(event->filter);
		event->filter = NULL;
	}
	int rc = write_event(session, event, "enable", "1");
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		char reason[96];

		snprintf(reason, sizeof(reason), "the kernel cannot switch it on: %s",
			 strerror(-rc));
		probe_give_up(event, reason);
	}
	return 0;
}

static int set_pids(struct session *session, char *err, size_t err_size)
{
	struct tracefs_instance *const instances[] = {session->instance, session->tasks};

	for (size_t i = 0; i < 2 && instances[i]; i++) {
		/* Children of those are followed; not their events lost when they end. */
		if (tracefs_option_enable(instances[i], TRACEFS_OPTION_EVENT_FORK))
			return fail(-EIO, err, err_size, "this kernel cannot follow children");
	}
	for (size_t i = 0; i < session->config->pid_count; i++) {
		int rc = session_add_pid(session, session->config->pids[i]);

		if (rc)
			return fail(rc, err, err_size, "set_event_pid: %s", strerror(-rc));
	}
	return 0;
}

int session_add_pid(struct session *session, pid_t pid)
{
	struct tracefs_instance *const instances[] = {session->instance, session->tasks};
	char text[16];
	int rc = 0;

	snprintf(text, sizeof(text), "%d\n", pid);
	for (size_t i = 0; i < 2 && instances[i] && !rc; i++)
		rc = write_file(instances[i], "set_event_pid", O_WRONLY | O_APPEND, text);
	return rc;
}

int session_arm(struct session *session, char *err, size_t err_size)
{
	struct plan *plan = session->config->plan;
	int rc = 0;

	if (session->lock_fd < 0) {
		session->lock_fd = probes_lock();
		if (session->lock_fd == -EAGAIN)
			return fail(-EAGAIN, err, err_size,
				    "another recording is setting up its probes");
		if (session->lock_fd < 0)
			return fail(session->lock_fd, err, err_size, "probes: %s",
				    why(session->lock_fd));
	}
	for (size_t i = 0; i < plan->count && !rc; i++) {
		rc = probe_make(&plan->events[i]);
		if (rc)
			return fail(rc, err, err_size, "probes cannot be made: %s", why(rc));
	}
	for (size_t i = 0; i < plan->count && !rc; i++) {
		struct plan_event *event = &plan->events[i];

		if (!is_enabled_by_us(event))
			continue;
		char *format = tracefs_event_file_read(NULL, event->system, event->name, "format",
						       NULL);
		rc = plan_set_filter(event, session->config->wish, format);
		free(format);
	}
	plan_join_filters(plan);
	for (size_t i = 0; i < plan->count && !rc; i++) {
		if (is_enabled_by_us(&plan->events[i]))
			rc = try_event(session, &plan->events[i]);
	}
	if (rc)
		return fail(rc, err, err_size, "events cannot be set up: %s", why(rc));
	return session->config->pids ? set_pids(session, err, err_size) : 0;
}

/* Builds trace-cmd's argument vector; the words of it live in TEXT. Returns NULL without memory. */
static char **trace_cmd_arguments(const struct session *session, char **text, size_t *text_size)
{
	const struct session_config *config = session->config;
	size_t count = 0, at = 0;
	FILE *out = open_memstream(text, text_size);

	if (!out)
		return NULL;
	/*
	 * -d, -k: leave the function tracer's switches alone; it may be locked. --no-filter: else a
	 * switch from a recorder to another task is missing, and the CPU's history with it.
	 */
	const char *record[] = {"trace-cmd", "record", "--no-filter", "-d",
				"-k",        "-C",     "mono",        NULL};
	const char *extract[] = {"trace-cmd", "extract", NULL};
	for (const char **word = config->flight ? extract : record; *word; word++, count++)
		fprintf(out, "%s%c", *word, 0);
	fprintf(out, "-o%c" RECOVER_PART "%c-B%c%s%c", 0, 0, 0,
		tracefs_instance_get_name(session->instance), 0);
	count += 4;
	if (session->tasks) {
		fprintf(out, "-B%c%s%c", 0, tracefs_instance_get_name(session->tasks), 0);
		count += 2;
	}
	if (config->plain_file && !config->flight) {
		fprintf(out, "--file-version%c6%c", 0, 0);
		count += 2;
	} else if (config->compression) {
		fprintf(out, "--compression%c%s%c", 0, config->compression, 0);
		count += 2;
	}
	if (!config->flight) {
		fprintf(out, "-b%c%lld%c", 0, (long long)config->buffer_kb, 0);
		count += 2;
	}
	for (size_t i = 0; i < config->plan->count && !config->flight; i++) {
		const struct plan_event *event = &config->plan->events[i];

		if (!is_enabled_by_us(event))
			continue;
		fprintf(out, "-e%c%s:%s%c", 0, event->system, event->name, 0);
		count += 2;
		if (event->filter) {
			fprintf(out, "-f%c%s%c", 0, event->filter, 0);
			count += 2;
		}
	}
	if (fclose(out))
		return NULL;
	char **argv = calloc(count + 1, sizeof(*argv));
	if (!argv)
		return NULL;
	for (size_t i = 0; i < count; i++, at += strlen(*text + at) + 1)
		argv[i] = *text + at;
	return argv;
}

static int start_trace_cmd(struct session *session, char *err, size_t err_size)
{
	char *text = NULL;
	size_t text_size = 0;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int rc = 0;

	session->words_fd = memfd_create("trace-cmd", MFD_CLOEXEC);
	char **argv = trace_cmd_arguments(session, &text, &text_size);
	if (null < 0 || session->words_fd < 0 || !argv) {
		rc = fail(argv ? -errno : -ENOMEM, err, err_size, "cannot prepare trace-cmd");
	} else {
		/* SIGINT is the one signal that it ends cleanly on. */
		struct child_setup setup = {.stdin_fd = null,
					    .stdout_fd = null,
					    .stderr_fd = session->words_fd,
					    .own_group = true,
					    .tool = true,
					    .folder_fd = session->folder_fd,
					    .death_signal = session->config->flight ? 0 : SIGINT,
					    .mask = session->config->mask};

		rc = child_fork(&session->trace_cmd, argv, &setup);
		if (!rc)
			rc = child_release(&session->trace_cmd);
		if (rc)
			fail(rc, err, err_size, "trace-cmd cannot be started: %s", strerror(-rc));
	}
	if (null >= 0)
		close(null);
	free(argv);
	free(text);
	return rc;
}

static void unlock(struct session *session)
{
	if (session->lock_fd >= 0)
		close(session->lock_fd);
	session->lock_fd = -1;
}

/* What trace-cmd does for other recordings. */
static int start_flight(struct session *session, char *err, size_t err_size)
{
	struct tracefs_instance *const instances[] = {session->tasks, session->instance};
	char size[24];

	for (size_t i = 0; i < 2; i++) {
		snprintf(size, sizeof(size), "%lld",
			 (long long)(i ? session->config->buffer_kb : FLIGHT_TASKS_KB));
		if (tracefs_instance_file_write(instances[i], "trace_clock", "mono") < 0 ||
		    tracefs_instance_file_write(instances[i], "buffer_size_kb", size) < 0 ||
		    tracefs_option_enable(instances[i], TRACEFS_OPTION_OVERWRITE) ||
		    tracefs_trace_on(instances[i]))
			return fail(-EIO, err, err_size, "the buffers cannot be set up: %s",
				    strerror(errno ? errno : EIO));
	}
	session->recording = true;
	unlock(session);
	return 0;
}

int session_start(struct session *session, char *err, size_t err_size)
{
	return session->config->flight ? start_flight(session, err, err_size)
				       : start_trace_cmd(session, err, err_size);
}

enum session_state session_state(struct session *session)
{
	if (child_ended(&session->trace_cmd))
		return SESSION_ENDED;
	if (!session->recording)
		session->recording = tracefs_trace_is_on(session->instance) > 0;
	if (session->recording)
		unlock(session);
	return session->recording ? SESSION_RECORDING : SESSION_STARTING;
}

int session_marker_fd(const struct session *session)
{
	return session->marker_fd;
}

int session_tasks_fd(const struct session *session)
{
	return session->tasks ? session->tasks_fd : session->marker_fd;
}

/* Calls EACH for every temporary file. */
static void for_each_part(const struct session *session,
			  void (*each)(int dir, const char *name, void *context), void *context)
{
	int copy = openat(session->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return;
	}
	while ((entry = readdir(dir))) {
		if (!strncmp(entry->d_name, RECOVER_PART, strlen(RECOVER_PART)))
			each(dirfd(dir), entry->d_name, context);
	}
	closedir(dir);
}

static void add_size(int dir, const char *name, void *context)
{
	struct stat st;

	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		*(uint64_t *)context += (uint64_t)st.st_size;
}

uint64_t session_bytes(const struct session *session)
{
	uint64_t bytes = 0;

	for_each_part(session, add_size, &bytes);
	return bytes;
}

/* Value of the line "KEY: N" in a stats file, 0 if it is not there. */
static uint64_t stat_value(const char *stats, const char *key)
{
	size_t size = strlen(key);

	for (const char *line = stats; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, size) && line[size] == ':')
			return strtoull(line + size + 1, NULL, 10);
	}
	return 0;
}

static int read_stats(const struct session *session, struct session_result *result)
{
	struct tracefs_instance *const instances[] = {session->instance, session->tasks};
	bool flight = session->config->flight;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	result->cpus = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*result->cpus));
	if (!result->cpus)
		return -ENOMEM;
	for (long cpu = 0; cpu < cpus; cpu++) {
		uint64_t lost = 0;
		bool found = false;

		for (size_t i = 0; i < 2 && instances[i]; i++) {
			char path[48];

			snprintf(path, sizeof(path), "per_cpu/cpu%ld/stats", cpu);
			char *stats = tracefs_instance_file_read(instances[i], path, NULL);
			if (!stats)
				continue;
			found = true;
			lost += stat_value(stats, "commit overrun") +
				stat_value(stats, "dropped events");
			/* What is still in the buffer now never reached the file; in flight it is
			 * what is kept, and what was overwritten is meant to be. */
			if (flight)
				result->events += stat_value(stats, "entries");
			else
				lost += stat_value(stats, "overrun") + stat_value(stats, "entries");
			result->events += stat_value(stats, "read events");
			free(stats);
		}
		if (!found)
			continue;
		result->lost_events += lost;
		result->cpus[result->cpu_count++] = (struct session_cpu){(unsigned int)cpu, lost};
	}
	result->missed_returns = probes_missed(session->config->plan);
	return 0;
}

uint64_t session_events(const struct session *session)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t events = 0;

	for (long cpu = 0; cpu < cpus; cpu++) {
		char path[48];

		snprintf(path, sizeof(path), "per_cpu/cpu%ld/stats", cpu);
		char *stats = tracefs_instance_file_read(session->instance, path, NULL);
		events += stat_value(stats, "entries") + stat_value(stats, "overrun") +
			  stat_value(stats, "read events");
		free(stats);
	}
	return events;
}

uint64_t session_free_bytes(const struct session *session)
{
	struct statvfs fs;

	return fstatvfs(session->folder_fd, &fs) ? UINT64_MAX
						: (uint64_t)fs.f_bavail * fs.f_frsize;
}

void session_stop(struct session *session)
{
	char ignored[SESSION_ERROR_SIZE];

	if (!session->config->flight) {
		child_signal(&session->trace_cmd, SIGINT);
	} else if (!session->stopping) {
		session->stopping = true;
		tracefs_trace_off(session->instance);
		tracefs_trace_off(session->tasks);
		read_stats(session, &session->counts);
		start_trace_cmd(session, ignored, sizeof(ignored));
		/* It could not be started: session_result() finds no file. */
		if (!session->trace_cmd.pid)
			session->trace_cmd = (struct child){.control_fd = -1, .ended = true};
	}
}

/*
 * Takes over what trace-cmd wrote to standard error, as one line: without the sizes per CPU, which
 * it always writes there.
 */
static void read_words(const struct session *session, char *out, size_t size)
{
	char *line = NULL;
	size_t line_size = 0, used = 0;
	int fd = dup(session->words_fd);
	FILE *words = fd < 0 ? NULL : fdopen(fd, "r");

	*out = '\0';
	if (words)
		rewind(words);
	while (words && getline(&line, &line_size, words) >= 0) {
		char *text = line + strspn(line, " \t\n");

		text[strcspn(text, "\n")] = '\0';
		/* The last one: it looks for what version 6 of the file does not have. */
		if (!*text || strstr(text, " data recorded at offset=") ||
		    strstr(text, " bytes in size") ||
		    (session->config->plain_file && strstr(text, "Cannot find description for")))
			continue;
		int put = snprintf(out + used, size - used, "%s%s", used ? "; " : "", text);
		if (put < 0 || (size_t)put >= size - used)
			break;
		used += (size_t)put;
	}
	free(line);
	if (words)
		fclose(words);
	else if (fd >= 0)
		close(fd);
}

/*
 * Makes a file of what the recorders have read, though trace-cmd itself is gone. Returns 0, or a
 * negative errno; then the pieces stay for a later try.
 */
static int recover(struct session *session)
{
	tracefs_trace_off(session->instance);
	recover_end_recorders(session->trace_cmd.pid);
	int rc = recover_parts(session->folder_fd);
	session->keep = rc && rc != -ENODATA;
	return rc;
}

int session_result(struct session *session, struct session_result *result, char *err,
		   size_t err_size)
{
	struct stat st;
	int status = session->trace_cmd.status;

	*result = session->counts;
	session->counts = (struct session_result){0};
	if (session->words_fd >= 0)
		read_words(session, result->warnings, sizeof(result->warnings));
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		bool by_signal = WIFSIGNALED(status);
		int rc = session->recording && !session->config->flight ? recover(session)
									: -ENODATA;

		if (rc)
			return fail(-EIO, err, err_size, "trace-cmd failed (%s %d): %s%s",
				    by_signal ? "signal" : "status",
				    by_signal ? WTERMSIG(status) : WEXITSTATUS(status),
				    *result->warnings ? result->warnings : "it did not say why",
				    session->keep ? "; what it had written is kept: tlbcapture "
						    "--restore makes a file of it"
						  : "");
		result->recovered = true;
	}
	if (stat(session->part_path, &st) || st.st_size == 0)
		return fail(-EIO, err, err_size, "trace-cmd wrote no file%s%s",
			    *result->warnings ? ": " : "", result->warnings);
	result->file_bytes = (uint64_t)st.st_size;
	int rc = session->config->flight ? 0 : read_stats(session, result);
	return rc ? fail(rc, err, err_size, "out of memory") : 0;
}

bool session_tasks_overrun(const struct session *session)
{
	long cpus = session->tasks ? sysconf(_SC_NPROCESSORS_CONF) : 0;
	bool overrun = false;

	for (long cpu = 0; cpu < cpus && !overrun; cpu++) {
		char path[48];

		snprintf(path, sizeof(path), "per_cpu/cpu%ld/stats", cpu);
		char *stats = tracefs_instance_file_read(session->tasks, path, NULL);
		overrun = stats && stat_value(stats, "overrun");
		free(stats);
	}
	return overrun;
}

const char *session_file(const struct session *session)
{
	return session->part_path;
}

void session_keep(struct session *session)
{
	session->keep = true;
}

int session_publish(struct session *session, char *err, size_t err_size)
{
	int fd = open(session->part_path, O_RDONLY | O_CLOEXEC);

	/* Else a crash soon after could leave the new name with no content. */
	if (fd < 0 || fsync(fd)) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return fail(code, err, err_size, "%s: %s", session->folder, strerror(-code));
	}
	close(fd);
	const char *slash = strrchr(session->target, '/');
	if (renameat(session->folder_fd, RECOVER_PART, session->parent_fd,
		     slash ? slash + 1 : session->target))
		return fail(-errno, err, err_size, "%s: %s", session->config->output,
			    strerror(errno));
	return 0;
}

static void remove_part(int dir, const char *name, void *context)
{
	(void)context;
	unlinkat(dir, name, 0);
}

/* Recorders that were just killed may hold the instance for a moment. */
static int remove_instance(struct tracefs_instance *instance, char *err, size_t err_size)
{
	const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};
	const char *name = instance ? tracefs_instance_get_name(instance) : NULL;
	int rc = instance ? -EBUSY : 0;

	for (int i = 0; i < REMOVE_TRIES && rc == -EBUSY; i++) {
		if (i)
			nanosleep(&pause, NULL);
		errno = 0;
		/* "trace-cmd extract" takes it away itself. */
		if (!tracefs_instance_exists(name))
			rc = 0;
		else
			rc = tracefs_instance_destroy(instance) ? (errno ? -errno : -EBUSY) : 0;
	}
	if (rc)
		fail(rc, err, err_size, "%s/instances/%s cannot be removed: %s",
		     tracefs_tracing_dir(), name, strerror(-rc));
	if (instance)
		tracefs_instance_free(instance);
	return rc;
}

/* Removes our probes, once no other recording is busy with its own. */
static void remove_probes(struct session *session)
{
	const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};
	bool any = false;

	for (size_t i = 0; i < session->config->plan->count; i++)
		any |= session->config->plan->events[i].made;
	for (int i = 0; any && session->lock_fd < 0 && i < LOCK_TRIES; i++) {
		if (i)
			nanosleep(&pause, NULL);
		session->lock_fd = probes_lock();
	}
	if (any)
		probes_remove(session->config->plan);
	unlock(session);
}

int session_destroy(struct session *session, char *err, size_t err_size)
{
	int rc, tasks_rc;

	if (!session)
		return 0;
	child_destroy(&session->trace_cmd);
	if (session->marker_fd >= 0)
		close(session->marker_fd);
	if (session->tasks_fd >= 0)
		close(session->tasks_fd);
	if (session->words_fd >= 0)
		close(session->words_fd);
	tasks_rc = remove_instance(session->tasks, err, err_size);
	rc = remove_instance(session->instance, err, err_size);
	remove_probes(session);
	if (session->folder_fd >= 0 && !session->keep) {
		for_each_part(session, remove_part, NULL);
		unlinkat(session->parent_fd, strrchr(session->folder, '/') + 1, AT_REMOVEDIR);
	}
	if (session->folder_fd >= 0)
		close(session->folder_fd);
	if (session->parent_fd >= 0)
		close(session->parent_fd);
	free(session->counts.cpus);
	free(session->target);
	free(session->folder);
	free(session->part_path);
	free(session);
	return rc ? rc : tasks_rc;
}
