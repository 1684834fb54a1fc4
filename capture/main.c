// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tlbcapture: records the catalogue's events on this host. The only program of the project that
 * runs on a production machine.
 *
 *   main.c      command line, the order of things, what is said
 *   session.c   tracefs instance, trace-cmd, temporary files
 *   tasks.c     the snapshot of all tasks
 *   child.c     a child program that is held back until told
 *
 * The order, and why:
 *   1. fork COMMAND, held back      it keeps the caller's mounts, signals and everything else
 *   2. make tracefs reachable       perhaps in a mount namespace of our own
 *   3. start recording              events first, so that tasks born during 4 are seen
 *   4. write the task snapshot
 *   5. let COMMAND go, wait
 *   6. stop, count losses, rename the file into place, remove the instance
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/child.h"
#include "capture/session.h"
#include "capture/tasks.h"
#include "common/msg.h"

#define NS_PER_S       INT64_C(1000000000)
#define START_LIMIT_NS (60 * NS_PER_S) /* large buffers on many CPUs take seconds */
#define TICK_NS        (NS_PER_S / 5)
#define START_TICK_NS  (NS_PER_S / 100)
#define FOREVER_NS     INT64_MAX
/* trace-cmd 3.1 cannot compress more than 2 GiB into one file; the buffers still come on top. */
#define COMPRESSED_LIMIT (UINT64_C(2) << 30)
#define COMPRESSED_LEAST (UINT64_C(1) << 30)

struct options {
	const char *output;
	const char *compression;
	int64_t duration_ns; /* 0: until COMMAND ends or a signal comes */
	int64_t buffer_kb;   /* 0: not given */
	char **command;      /* NULL: none */
	bool list;
};

/* Why a recording ended. */
enum ending {
	END_NONE,
	END_TIME,     /* -d is over */
	END_COMMAND,  /* COMMAND ended */
	END_SIGNAL,   /* asked to stop: an end like any other */
	END_LIMIT,    /* no more can be compressed: an early end */
	END_RECORDER, /* trace-cmd ended by itself */
};

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static volatile sig_atomic_t signals_seen;
static volatile sig_atomic_t signal_last;
static volatile sig_atomic_t signal_by_terminal;

static void note_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig == SIGCHLD)
		return;
	signals_seen++;
	signal_last = sig;
	signal_by_terminal = info->si_code == SI_KERNEL;
}

/*
 * Signals are blocked but while await() sleeps, so none is missed between a look and a sleep.
 * BEFORE gets the mask of before.
 */
static void catch_signals(sigset_t *before)
{
	struct sigaction action = {.sa_sigaction = note_signal, .sa_flags = SA_SIGINFO}, old;
	sigset_t block;

	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(stop_signals) / sizeof(*stop_signals); i++)
		sigaddset(&block, stop_signals[i]);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, before);
	for (size_t i = 0; i < sizeof(stop_signals) / sizeof(*stop_signals); i++) {
		/* nohup stays nohup. */
		if (stop_signals[i] == SIGHUP && !sigaction(SIGHUP, NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaction(stop_signals[i], &action, NULL);
	}
	sigaction(SIGCHLD, &action, NULL);
}

/* Sleeps for at most NS, or until a signal comes. */
static void await(int64_t ns)
{
	struct timespec time = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
	sigset_t open;

	sigprocmask(SIG_SETMASK, NULL, &open);
	for (size_t i = 0; i < sizeof(stop_signals) / sizeof(*stop_signals); i++)
		sigdelset(&open, stop_signals[i]);
	sigdelset(&open, SIGCHLD);
	ppoll(NULL, 0, &time, &open);
}

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static void print_help(void)
{
	fputs("usage: tlbcapture -o FILE [-b KB] [--compression NAME] [-d SECONDS | -- COMMAND "
	      "[ARG...]]\n"
	      "       tlbcapture --list | --help | --version\n"
	      "\n"
	      "Records what the kernel does to page tables and TLBs, on all CPUs, into FILE "
	      "(trace.dat)\n"
	      "for tlbreplay: for a time, while COMMAND runs, or until it is interrupted. Needs "
	      "root.\n"
	      "\n"
	      "  -o FILE             the file to write; it appears when it is complete\n"
	      "  -d SECONDS          record for so long (fractions allowed)\n"
	      "  -b KB               ring buffer per CPU in KiB; default 102400, or less if memory "
	      "is short\n"
	      "  --compression NAME  zstd (default), none, or what else trace-cmd knows\n"
	      "  --list              the events: which of them this kernel has, what a missing one "
	      "costs\n"
	      "  --help, --version\n"
	      "\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 done but incomplete (events were "
	      "lost).\n",
	      stdout);
}

static int usage_error(const char *text, const char *what)
{
	msg_error("%s%s (see --help)", text, what);
	return EXIT_USAGE;
}

/* Reads seconds, possibly with a fraction, into nanoseconds. */
static bool parse_seconds(const char *text, int64_t *out)
{
	char *end;
	double seconds = strtod(text, &end);

	/* strtod alone would take "inf", "0x1" and leading blanks. */
	if (!*text || text[strspn(text, "0123456789.")] || *end || !(seconds > 0) || seconds > 1e9)
		return false;
	*out = (int64_t)(seconds * (double)NS_PER_S);
	return *out > 0;
}

static bool parse_kb(const char *text, int64_t *out)
{
	char *end;

	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < 1 || value > INT32_MAX)
		return false;
	*out = value;
	return true;
}

/* Returns -1 to go on, else an exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
	enum {
		HELP = 256,
		VERSION,
		LIST,
		COMPRESSION
	};
	static const struct option long_options[] = {
		{"help", no_argument, NULL, HELP},
		{"version", no_argument, NULL, VERSION},
		{"list", no_argument, NULL, LIST},
		{"compression", required_argument, NULL, COMPRESSION},
		{0},
	};
	int option, result = -1;

	opterr = 0;
	while (result < 0 &&
	       (option = getopt_long(argc, argv, "+:o:d:b:", long_options, NULL)) != -1) {
		switch (option) {
		case 'o':
			options->output = optarg;
			break;
		case 'd':
			if (!parse_seconds(optarg, &options->duration_ns))
				result = usage_error("-d takes a positive number of seconds, not ",
						     optarg);
			break;
		case 'b':
			if (!parse_kb(optarg, &options->buffer_kb))
				result =
					usage_error("-b takes a whole number of KiB, not ", optarg);
			break;
		case COMPRESSION:
			options->compression = optarg;
			break;
		case LIST:
			options->list = true;
			break;
		case HELP:
			print_help();
			result = EXIT_FINE;
			break;
		case VERSION:
			puts("tlbcapture " TLBREPLAY_VERSION);
			result = EXIT_FINE;
			break;
		case ':':
			result = usage_error("an argument is missing after ", argv[optind - 1]);
			break;
		default:
			result = usage_error("unknown option ", argv[optind - 1]);
		}
	}
	if (result >= 0)
		return result;
	if (optind < argc)
		options->command = argv + optind;
	if (options->list)
		return options->command || options->output ? usage_error("--list stands alone", "")
							   : -1;
	if (!options->output || !*options->output)
		return usage_error("-o FILE is missing", "");
	if (options->command && options->duration_ns)
		return usage_error("-d and COMMAND exclude each other", "");
	return -1;
}

static int list_events(void)
{
	char err[SESSION_ERROR_SIZE];

	if (session_open_tracefs(err, sizeof(err))) {
		msg_error("%s", err);
		return EXIT_FAILED;
	}
	for (const struct catalogue_row *row = catalogue; row->role != ROLE_SKIP; row++) {
		bool recorded = session_records(row);

		if (row->arch & session_arch())
			printf("%-8s %s:%s%s%s\n", recorded ? "recorded" : "missing", row->system,
			       row->name, recorded ? "" : "  ", recorded ? "" : row->without);
	}
	if (fflush(stdout) || ferror(stdout)) {
		msg_error("standard output: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_FINE;
}

/* Says what this form of tlbcapture cannot record on this kernel. Returns false if it is all. */
static bool warn_of_gaps(void)
{
	unsigned int recorded = 0, all = 0;

	for (const struct catalogue_row *row = catalogue; row->role != ROLE_SKIP; row++) {
		if (!(row->arch & session_arch()))
			continue;
		all++;
		recorded += session_records(row);
	}
	if (!recorded) {
		msg_error("this kernel has none of the events");
		return false;
	}
	if (session_arch() == ARCH_ARM64)
		msg_warn("arm64 has no tracepoints for faults or TLBI instructions, and this "
			 "version "
			 "sets no dynamic probes: the recording holds tasks and switches only");
	if (recorded < all)
		msg_note("recording %u of %u events; --list says what the others would tell",
			 recorded, all);
	return true;
}

/* Waits until the recording runs. Returns false, with the reason said, if it never does. */
static bool wait_for_recording(struct session *session)
{
	char err[SESSION_ERROR_SIZE];
	struct session_result result = {0};
	int64_t deadline_ns = now_ns() + START_LIMIT_NS;
	enum session_state state;

	while ((state = session_state(session)) == SESSION_STARTING && !signals_seen &&
	       now_ns() < deadline_ns)
		await(START_TICK_NS);
	if (signals_seen) {
		msg_error("interrupted before the recording began");
	} else if (state == SESSION_STARTING) {
		msg_error("trace-cmd does not begin to record");
	} else if (state == SESSION_ENDED) {
		int rc = session_result(session, &result, err, sizeof(err));

		msg_error("%s", rc ? err : "trace-cmd ended before it recorded");
		free(result.cpus);
	}
	return state == SESSION_RECORDING && !signals_seen;
}

/* Writes the task snapshot. Returns the number of tasks, 0 if it failed and said so. */
static size_t write_snapshot(struct session *session)
{
	struct task_list tasks = {0};
	size_t count = 0;
	int rc = tasks_read(&tasks);

	if (!rc)
		rc = tasks_write(&tasks, session_marker_fd(session));
	if (rc)
		msg_error("task snapshot: %s", strerror(-rc));
	else
		count = tasks.count;
	if (!rc && tasks.unknown)
		msg_note("%zu processes could not be compared with their parents; taken to have an "
			 "address space of their own",
			 tasks.unknown);
	tasks_free(&tasks);
	return count;
}

static enum ending wait_for_end(struct session *session, const struct options *options,
				const struct session_config *config, struct child *command,
				int64_t start_ns)
{
	bool compressed = strcmp(config->compression, "none") != 0;
	uint64_t buffers =
		(uint64_t)config->buffer_kb * 1024 * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t limit = buffers < COMPRESSED_LIMIT - COMPRESSED_LEAST ? COMPRESSED_LIMIT - buffers
								       : COMPRESSED_LEAST;
	int64_t end_ns = options->duration_ns ? start_ns + options->duration_ns : FOREVER_NS;
	enum ending ending = END_NONE;

	while (ending == END_NONE) {
		int64_t now = now_ns();

		if (signals_seen)
			ending = END_SIGNAL;
		else if (session_state(session) == SESSION_ENDED)
			ending = END_RECORDER;
		else if (child_ended(command))
			ending = END_COMMAND;
		else if (now >= end_ns)
			ending = END_TIME;
		else if (compressed && session_bytes(session) >= limit)
			ending = END_LIMIT;
		if (ending == END_NONE) {
			if (!options->command)
				msg_progress("recording, %" PRId64 " s",
					     (now - start_ns) / NS_PER_S);
			await(end_ns - now < TICK_NS ? end_ns - now : TICK_NS);
		}
	}
	msg_progress_end();
	return ending;
}

/* Has the file finished. Returns false if a second signal came first. */
static bool wait_for_file(struct session *session, int signals_before)
{
	session_stop(session);
	while (session_state(session) != SESSION_ENDED && signals_seen == signals_before) {
		msg_progress("finishing the file");
		await(TICK_NS);
	}
	msg_progress_end();
	return session_state(session) == SESSION_ENDED;
}

/* Says how COMMAND ended. Its status is its own business, not an error of ours. */
static void note_command(struct child *command, char *const argv[])
{
	if (!command->pid)
		return;
	if (!child_ended(command))
		msg_note("%s (pid %d) is still running", argv[0], command->pid);
	else if (WIFSIGNALED(command->status))
		msg_note("%s was ended by signal %d", argv[0], WTERMSIG(command->status));
	else if (WEXITSTATUS(command->status))
		msg_note("%s ended with status %d", argv[0], WEXITSTATUS(command->status));
}

/* Says what came of it. Returns the exit status. */
static int report(const struct session_result *result, const char *output, size_t tasks,
		  double seconds, enum ending ending)
{
	int status = EXIT_FINE;

	if (*result->warnings)
		msg_warn("trace-cmd says: %s", result->warnings);
	msg_note("%s: %.1f MB, %" PRIu64 " events and %zu tasks in %.3f s, %" PRIu64 " events lost",
		 output, (double)result->file_bytes / 1e6, result->events, tasks, seconds,
		 result->lost_events);
	for (size_t i = 0; i < result->cpu_count; i++) {
		if (result->cpus[i].lost_events)
			msg_warn("cpu %u lost %" PRIu64 " events; try a larger -b",
				 result->cpus[i].cpu, result->cpus[i].lost_events);
	}
	if (result->lost_events)
		status = EXIT_INCOMPLETE;
	if (ending == END_LIMIT) {
		msg_warn("stopped early: trace-cmd compresses no more than 2 GiB; --compression "
			 "none has "
			 "no such limit");
		status = EXIT_INCOMPLETE;
	}
	return status;
}

/* From a running recording to the file in its place. Returns the exit status. */
static int record(struct session *session, const struct options *options,
		  const struct session_config *config, struct child *command)
{
	char err[SESSION_ERROR_SIZE];
	struct session_result result = {0};
	int status = EXIT_FAILED;

	size_t tasks = write_snapshot(session);
	int rc = tasks && options->command ? child_release(command) : 0;
	if (rc)
		msg_error("%s: %s", options->command[0], strerror(-rc));
	if (!tasks || rc)
		return EXIT_FAILED;

	int64_t start_ns = now_ns();
	enum ending ending = wait_for_end(session, options, config, command, start_ns);
	double seconds = (double)(now_ns() - start_ns) / (double)NS_PER_S;
	/* The terminal has told COMMAND itself. */
	if (ending == END_SIGNAL && !signal_by_terminal)
		child_signal(command, signal_last);
	if (!wait_for_file(session, ending == END_SIGNAL ? signals_seen : 0)) {
		msg_error("interrupted again: nothing is kept");
	} else if (session_result(session, &result, err, sizeof(err)) ||
		   session_publish(session, err, sizeof(err))) {
		msg_error("%s", err);
	} else {
		status = report(&result, options->output, tasks, seconds, ending);
		if (ending == END_RECORDER) {
			msg_error("trace-cmd stopped by itself; the recording ends early");
			status = EXIT_INCOMPLETE;
		}
	}
	note_command(command, options->command);
	free(result.cpus);
	return status;
}

int main(int argc, char **argv)
{
	char err[SESSION_ERROR_SIZE];
	struct options options = {.compression = "zstd"};
	struct child command = CHILD_NONE;
	struct session *session = NULL;
	sigset_t before;

	msg_program = "tlbcapture";
	int status = parse_options(argc, argv, &options);
	if (status >= 0)
		return status;
	if (options.list)
		return list_events();

	status = EXIT_FAILED;
	struct session_config config = {
		.output = options.output, .compression = options.compression, .mask = &before};
	config.buffer_kb = options.buffer_kb ? options.buffer_kb : session_default_buffer_kb();
	int rc = options.command ? child_fork(&command, options.command, NULL) : 0;
	catch_signals(&before);
	if (rc) {
		msg_error("%s: %s", options.command[0], strerror(-rc));
	} else if (!tasks_pids_are_global()) {
		msg_error("pids here are not the host's: run it outside of the container");
	} else if (session_open_tracefs(err, sizeof(err)) ||
		   !(session = session_create(&config, err, sizeof(err)))) {
		msg_error("%s", err);
	} else if (warn_of_gaps()) {
		if (session_start(session, err, sizeof(err)))
			msg_error("%s", err);
		else if (wait_for_recording(session))
			status = record(session, &options, &config, &command);
	}
	if (session_destroy(session, err, sizeof(err))) {
		msg_error("%s", err);
		status = EXIT_FAILED;
	}
	/* One that was never let go must not stay behind; one that still runs is left alone. */
	if (command.control_fd >= 0)
		child_destroy(&command);
	return status;
}
