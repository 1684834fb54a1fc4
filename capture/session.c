// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What owns what:
 *
 *   tlbcapture --- makes, removes ---> instances/tlbcapture-PID (off until trace-cmd is ready)
 *       |                                     ^ events, clock, buffer size, tracing_on
 *       '-- own process group --> trace-cmd --+
 *                                     '--> one recorder per CPU --> .FILE.PID.part.*.cpuN
 *                                                                        | at the end
 *                                                 .FILE.PID.part <-------'   -- rename --> FILE
 *
 * The instance is ours, not trace-cmd's: so we can tell when recording begins (it alone writes 1 to
 * tracing_on, and it does so last), read the loss counts after it has ended, and clean up after a
 * trace-cmd that was killed. The process group is there for the recorders, which outlive a killed
 * trace-cmd and ignore SIGINT by then. The top-level buffer is never touched.
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
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "capture/child.h"

#define MOUNT_POINT       "/sys/kernel/tracing"
#define BUFFER_DEFAULT_KB 102400
#define BUFFER_LEAST_KB   1024
#define REMOVE_TRIES      200
#define REMOVE_PAUSE_NS   10000000

struct session {
	const struct session_config *config;
	struct tracefs_instance *instance;
	struct child trace_cmd;
	int marker_fd;
	int words_fd; /* what trace-cmd writes to standard error */
	bool recording;
	char *target;           /* the output behind symbolic links */
	char *directory, *part; /* of the temporary files, and their common beginning */
	char *part_path;        /* DIRECTORY/PART, trace-cmd's output */
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

static const char *why(int code)
{
	return code == -EPERM || code == -EACCES ? "permission denied: recording needs root"
						 : strerror(-code);
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
		return fail(-ENOENT, err, err_size, "%s: this kernel has no instances",
			    tracefs_tracing_dir());
	return 0;
}

unsigned int session_arch(void)
{
	struct utsname name;

	if (uname(&name))
		return 0;
	if (!strcmp(name.machine, "x86_64"))
		return ARCH_X86;
	return !strncmp(name.machine, "aarch64", 7) ? ARCH_ARM64 : 0;
}

bool session_records(const struct catalogue_row *row)
{
	if (row->source != SOURCE_TRACEPOINT || !(row->arch & session_arch()))
		return false;
	/* Written through trace_marker, and never to be enabled. */
	if (row->role == ROLE_MARKER)
		return tracefs_file_exists(NULL, "trace_marker");
	return tracefs_event_file_exists(NULL, row->system, row->name, "enable");
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

/* Makes the temporary file beside the output: a failure to write there shows at once. */
static int make_part(struct session *session, char *err, size_t err_size)
{
	const char *slash = strrchr(session->target, '/');
	const char *base = slash ? slash + 1 : session->target;

	if (!*base)
		return fail(-EISDIR, err, err_size, "%s: names a directory",
			    session->config->output);
	session->directory = slash == session->target ? strdup("/")
			     : slash ? strndup(session->target, (size_t)(slash - session->target))
				     : strdup(".");
	if (!session->directory || asprintf(&session->part, ".%s.%d.part", base, getpid()) < 0 ||
	    asprintf(&session->part_path, "%s/%s", session->directory, session->part) < 0)
		return fail(-ENOMEM, err, err_size, "out of memory");
	int fd = open(session->part_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail(-errno, err, err_size, "%s: cannot write there: %s",
			    session->config->output, strerror(errno));
	close(fd);
	return 0;
}

static int make_instance(struct session *session, char *err, size_t err_size)
{
	char name[32];

	snprintf(name, sizeof(name), "tlbcapture-%d", getpid());
	errno = 0;
	if (tracefs_instance_exists(name))
		return fail(-EEXIST, err, err_size,
			    "%s/instances/%s is left from an earlier run: rmdir it",
			    tracefs_tracing_dir(), name);
	session->instance = tracefs_instance_create(name);
	if (!session->instance)
		return fail(errno ? -errno : -EIO, err, err_size, "%s/instances/%s: %s",
			    tracefs_tracing_dir(), name, why(errno ? -errno : -EIO));
	if (tracefs_trace_off(session->instance))
		return fail(-EIO, err, err_size, "%s: cannot be switched off", name);
	session->marker_fd =
		tracefs_instance_file_open(session->instance, "trace_marker", O_WRONLY);
	if (session->marker_fd < 0)
		return fail(-EIO, err, err_size, "%s: trace_marker cannot be opened", name);
	/* libtracefs opens it to be inherited; trace-cmd would hold the instance by it. */
	fcntl(session->marker_fd, F_SETFD, FD_CLOEXEC);
	return 0;
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
		.config = config, .trace_cmd = CHILD_NONE, .marker_fd = -1, .words_fd = -1};
	int rc = resolve_output(session, err, err_size);
	if (!rc)
		rc = make_part(session, err, err_size);
	if (!rc)
		rc = make_instance(session, err, err_size);
	if (rc) {
		session_destroy(session, ignored, sizeof(ignored));
		errno = -rc;
		return NULL;
	}
	return session;
}

/* Builds trace-cmd's argument vector; the words of it live in TEXT. Returns NULL without memory. */
static char **trace_cmd_arguments(const struct session *session, char **text, size_t *text_size)
{
	const char *compression = session->config->compression;
	size_t count = 0, at = 0;
	FILE *out = open_memstream(text, text_size);

	if (!out)
		return NULL;
	/*
	 * -d, -k: leave the function tracer's switches alone; it may be locked. --no-filter: else a
	 * switch from a recorder to another task is missing, and the CPU's history with it.
	 */
	const char *fixed[] = {"trace-cmd",
			       "record",
			       "--no-filter",
			       "-d",
			       "-k",
			       "-o",
			       session->part_path,
			       "-B",
			       tracefs_instance_get_name(session->instance),
			       "-C",
			       "mono",
			       "-b"};
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++, count++)
		fprintf(out, "%s%c", fixed[i], 0);
	fprintf(out, "%lld%c", (long long)session->config->buffer_kb, 0);
	count++;
	if (compression) {
		fprintf(out, "--compression%c%s%c", 0, compression, 0);
		count += 2;
	}
	for (const struct catalogue_row *row = catalogue; row->role != ROLE_SKIP; row++) {
		if (row->role == ROLE_MARKER || !session_records(row))
			continue;
		fprintf(out, "-e%c%s:%s%c", 0, row->system, row->name, 0);
		count += 2;
	}
	if (fclose(out))
		return NULL;
	char **argv = calloc(count + 1, sizeof(*argv));
	for (size_t i = 0; argv && i < count; i++, at += strlen(*text + at) + 1)
		argv[i] = *text + at;
	return argv;
}

int session_start(struct session *session, char *err, size_t err_size)
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
					    .death_signal = SIGINT,
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

enum session_state session_state(struct session *session)
{
	if (child_ended(&session->trace_cmd))
		return SESSION_ENDED;
	if (!session->recording)
		session->recording = tracefs_trace_is_on(session->instance) > 0;
	return session->recording ? SESSION_RECORDING : SESSION_STARTING;
}

int session_marker_fd(const struct session *session)
{
	return session->marker_fd;
}

/* Calls EACH for every temporary file. */
static void for_each_part(const struct session *session,
			  void (*each)(int dir, const char *name, void *context), void *context)
{
	struct dirent *entry;
	DIR *dir = opendir(session->directory);

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (!strncmp(entry->d_name, session->part, strlen(session->part)))
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

void session_stop(struct session *session)
{
	child_signal(&session->trace_cmd, SIGINT);
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
		if (!*text || strstr(text, " data recorded at offset=") ||
		    strstr(text, " bytes in size"))
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
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	result->cpus = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*result->cpus));
	if (!result->cpus)
		return -ENOMEM;
	for (long cpu = 0; cpu < cpus; cpu++) {
		char path[48];

		snprintf(path, sizeof(path), "per_cpu/cpu%ld/stats", cpu);
		char *stats = tracefs_instance_file_read(session->instance, path, NULL);
		if (!stats)
			continue;
		/* What is still in the buffer now never reached the file. */
		uint64_t lost = stat_value(stats, "overrun") + stat_value(stats, "commit overrun") +
				stat_value(stats, "dropped events") + stat_value(stats, "entries");
		result->events += stat_value(stats, "read events");
		result->lost_events += lost;
		result->cpus[result->cpu_count++] = (struct session_cpu){(unsigned int)cpu, lost};
		free(stats);
	}
	return 0;
}

int session_result(struct session *session, struct session_result *result, char *err,
		   size_t err_size)
{
	struct stat st;
	int status = session->trace_cmd.status;

	*result = (struct session_result){0};
	read_words(session, result->warnings, sizeof(result->warnings));
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		bool by_signal = WIFSIGNALED(status);

		return fail(-EIO, err, err_size, "trace-cmd failed (%s %d): %s",
			    by_signal ? "signal" : "status",
			    by_signal ? WTERMSIG(status) : WEXITSTATUS(status),
			    *result->warnings ? result->warnings : "it did not say why");
	}
	if (stat(session->part_path, &st) || st.st_size == 0)
		return fail(-EIO, err, err_size, "trace-cmd wrote no file%s%s",
			    *result->warnings ? ": " : "", result->warnings);
	result->file_bytes = (uint64_t)st.st_size;
	int rc = read_stats(session, result);
	return rc ? fail(rc, err, err_size, "out of memory") : 0;
}

int session_publish(struct session *session, char *err, size_t err_size)
{
	int fd = open(session->part_path, O_RDONLY | O_CLOEXEC);

	/* Else a crash soon after could leave the new name with no content. */
	if (fd < 0 || fsync(fd)) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return fail(code, err, err_size, "%s: %s", session->part_path, strerror(-code));
	}
	close(fd);
	if (rename(session->part_path, session->target))
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
static int remove_instance(struct tracefs_instance *instance)
{
	const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};
	int rc = -EBUSY;

	for (int i = 0; i < REMOVE_TRIES && rc == -EBUSY; i++) {
		if (i)
			nanosleep(&pause, NULL);
		errno = 0;
		rc = tracefs_instance_destroy(instance) ? (errno ? -errno : -EBUSY) : 0;
	}
	return rc;
}

int session_destroy(struct session *session, char *err, size_t err_size)
{
	int rc = 0;

	if (!session)
		return 0;
	child_destroy(&session->trace_cmd);
	if (session->marker_fd >= 0)
		close(session->marker_fd);
	if (session->words_fd >= 0)
		close(session->words_fd);
	if (session->instance) {
		rc = remove_instance(session->instance);
		if (rc)
			fail(rc, err, err_size, "%s/instances/%s cannot be removed: %s",
			     tracefs_tracing_dir(), tracefs_instance_get_name(session->instance),
			     strerror(-rc));
		tracefs_instance_free(session->instance);
	}
	if (session->part_path)
		for_each_part(session, remove_part, NULL);
	free(session->target);
	free(session->directory);
	free(session->part);
	free(session->part_path);
	free(session);
	return rc;
}
