// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tlbcapture: records the catalogue's events on this host. The only program of the project that
 * runs on a production machine.
 *
 *   main.c      the order of things, what is said
 *   options.c   command line
 *   kernel.c    the running kernel: symbols, text, abilities       | only read
 *   btf.c       its types: where arguments and members lie         |
 *   sites.c     its TLBI instructions                              |
 *   flow.c      what to probe where one of them is refused         |
 *   plan.c      which events, made how                             |
 *   check.c     --check: what a recording here would hold and cost |
 *   host.c      the host's facts, for the trace and --check
 *   targets.c   whom to record: threads, processes, control groups
 *   probes.c    dynamic probes: made, shared, removed
 *   session.c   tracefs instance, trace-cmd, temporary files
 *   recover.c   --restore: after recordings that were killed
 *   anonymise.c names and addresses out of a finished file
 *   shift.c     by how much addresses are moved
 *   tasks.c     the snapshot of all tasks
 *   watch.c     --until: rates that end a recording
 *   child.c     a child program that is held back until told
 *
 * The order, and why:
 *   1. fork COMMAND, held back      it keeps the caller's mounts, signals and everything else
 *   2. make tracefs reachable       perhaps in a mount namespace of our own
 *   3. plan, make probes            one by one: what is refused is noted, not fatal
 *   4. start recording              events first, so that tasks born during 5 are seen
 *   5. write facts and snapshot
 *   6. let COMMAND go, wait
 *   7. stop, count losses, rename the file into place, remove the instance and the probes
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/anonymise.h"
#include "capture/check.h"
#include "capture/child.h"
#include "capture/host.h"
#include "capture/options.h"
#include "capture/recover.h"
#include "capture/session.h"
#include "capture/targets.h"
#include "capture/tasks.h"
#include "capture/watch.h"
#include "common/msg.h"

#define NS_PER_S       INT64_C(1000000000)
#define START_LIMIT_NS (60 * NS_PER_S) /* large buffers on many CPUs take seconds */
#define TICK_NS        (NS_PER_S / 5)
#define START_TICK_NS  (NS_PER_S / 100)
#define FOREVER_NS     INT64_MAX
#define MB             1000000
#define NOBODY         4194304 /* PID_MAX_LIMIT: no thread ever has that id */
/* trace-cmd 3.1 cannot compress more than 2 GiB into one file; the buffers still come on top. */
#define COMPRESSED_LIMIT (UINT64_C(2) << 30)
#define COMPRESSED_LEAST (UINT64_C(1) << 30)
/*
 * What the finished file needs beside its pieces, as a share of them, and what is left for others.
 */
#define COMPRESSED_SHARE 0.4
#define PLAIN_SHARE      1.05
#define DISK_RESERVE     (16 << 20)

/* All of a recording. */
struct recording {
	const struct options *options;
	struct kernel kernel;
	struct plan plan;
	struct fact_list facts;
	struct session_config config;
	struct session *session;
	struct child command;
	struct anonymiser *anonymiser; /* NULL: none */
	struct watch *watch;           /* NULL: no --until */
	char ended[256];               /* why, for people */
	struct tid_set targets; /* threads to record; none: all */
	struct tid_set members; /* of --cgroup, when it was last looked at */
	size_t tasks; /* in the snapshot */
};

/* Why a recording ended. */
enum ending {
	END_NONE,
	END_TIME,     /* -d is over */
	END_COMMAND,  /* COMMAND ended */
	END_SIGNAL,   /* asked to stop: an end like any other */
	END_SIZE,     /* --max-size is reached */
	END_RATE,     /* --until: something comes too often */
	END_LIMIT,    /* no more can be compressed: an early end */
	END_DISK,     /* hardly enough room to finish the file: an early end */
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

static void print_list(const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_event *event = &plan->events[i];
		bool recorded = plan_records(event);

		printf("%-8s %s:%s%s%s\n", recorded ? "recorded" : "missing", event->system,
		       event->name, recorded || !event->row ? "" : "  ",
		       recorded || !event->row ? "" : event->row->without);
	}
}

/* A per-CPU buffer in KiB, as asked for or as suits the host. */
static int64_t buffer_kb(const struct options *options)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (options->flight_bytes) {
		int64_t kb = options->flight_bytes / 1024 / (cpus > 0 ? cpus : 1);

		return kb > 0 ? kb : 1;
	}
	return options->buffer_kb ? options->buffer_kb : session_default_buffer_kb();
}

/* --list and --check. */
static int look(const struct options *options)
{
	char err[SESSION_ERROR_SIZE];
	struct kernel kernel = {0};
	struct plan plan = {0};
	struct fact_list facts = {0};
	int status = EXIT_FAILED, rc;

	if (session_open_tracefs(err, sizeof(err))) {
		msg_error("%s", err);
		return EXIT_FAILED;
	}
	if ((rc = kernel_read(&kernel)) || (rc = plan_make(&plan, &kernel, &options->wish)) ||
	    (rc = host_facts(&facts, &kernel))) {
		msg_error("the kernel's symbols: %s", strerror(-rc));
	} else if (options->mode == MODE_LIST) {
		print_list(&plan);
		status = EXIT_FINE;
	} else {
		struct check_rates rates;

		check_measure(&plan, options->wish.profile, &rates);
		if (options->json)
			check_print_json(stdout, &plan, &facts, &rates, buffer_kb(options));
		else
			check_print(stdout, &plan, &facts, &rates, buffer_kb(options));
		status = EXIT_FINE;
	}
	facts_free(&facts);
	plan_free(&plan);
	kernel_free(&kernel);
	return status;
}

static void note_recovery(const char *what, bool good, void *context)
{
	(void)context;
	if (good)
		msg_note("%s", what);
	else
		msg_error("%s", what);
}

static int restore(const struct options *options)
{
	char err[SESSION_ERROR_SIZE];

	if (session_open_tracefs(err, sizeof(err))) {
		msg_error("%s", err);
		return EXIT_FAILED;
	}
	return recover_all(options->directories, note_recovery, NULL) ? EXIT_FAILED : EXIT_FINE;
}

/* ---- whom to record ---- */

/* What --cgroup says, read anew: those that are new go to the running recording as well. */
static int find_members(struct recording *r, bool running)
{
	struct tid_set members = {0};
	int rc = targets_add_cgroup(&members, r->options->cgroup);

	for (size_t i = 0; i < members.count && rc >= 0; i++) {
		/* An id that was not there the last time is another thread, if it ever was one. */
		if (tid_set_has(&r->members, members.tids[i]))
			continue;
		rc = running ? session_add_pid(r->session, members.tids[i])
			     : tid_set_add(&r->targets, members.tids[i]);
		if (rc == -ESRCH)
			rc = 0;
	}
	if (rc >= 0) {
		tid_set_free(&r->members);
		r->members = members;
	} else {
		tid_set_free(&members);
	}
	return rc < 0 ? rc : 0;
}

static bool find_targets(struct recording *r)
{
	const struct options *options = r->options;
	int rc = 0;

	for (size_t i = 0; i < options->pid_count; i++) {
		rc = targets_add_process(&r->targets, options->pids[i]);
		if (rc) {
			msg_error("--pid %d: %s", options->pids[i], strerror(-rc));
			return false;
		}
	}
	if (options->cgroup && (rc = find_members(r, false))) {
		msg_error("--cgroup %s: %s", options->cgroup,
			  rc == -ENOENT ? "not a control group" : strerror(-rc));
		return false;
	}
	if (options->follow)
		rc = tid_set_add(&r->targets, r->command.pid);
	if (rc >= 0 && options->cgroup && !r->targets.count)
		rc = tid_set_add(&r->targets, NOBODY); /* an empty list would mean all */
	if (rc < 0)
		msg_error("out of memory");
	return rc >= 0;
}

/* Says what cannot be recorded here. Returns false if that is all, or what the user asked for. */
static bool warn_of_gaps(const struct recording *r)
{
	unsigned int recorded = 0, all = 0, sites = 0, refused = 0;

	for (size_t i = 0; i < r->plan.count; i++) {
		const struct plan_event *event = &r->plan.events[i];

		if (!event->row && strcmp(event->system, CATALOGUE_GROUP_TLBI)) {
			if (plan_records(event))
				continue;
			msg_error("--access %s:%s: %s", event->system, event->name, event->reason);
			return false;
		}
		if (!event->row) {
			sites += plan_records(event);
			refused += !plan_records(event);
			continue;
		}
		all++;
		recorded += plan_records(event);
	}
	if (!recorded) {
		msg_error("this kernel has none of the events");
		return false;
	}
	if (r->kernel.arch == ARCH_ARM64 && !r->kernel.function_probes)
		msg_warn(
			"arm64 has no tracepoints for faults or TLBI instructions, and this kernel "
			"has no kprobe events: the recording holds tasks and switches only");
	else if (r->plan.sites_reason && r->options->wish.profile == PROFILE_LATENCY)
		msg_note("TLBI instructions are not recorded: %s", r->plan.sites_reason);
	else if (r->plan.sites_reason)
		msg_warn("TLBI instructions are not recorded: %s", r->plan.sites_reason);
	if (recorded < all)
		msg_note("recording %u of %u events; --check says what the others would tell",
			 recorded, all);
	if (sites || refused)
		msg_note("recording %u of %u TLBI instructions", sites, sites + refused);
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

/* Sets up probes and events, waiting for other recordings that do so. */
static bool arm(struct recording *r)
{
	char err[SESSION_ERROR_SIZE];
	int64_t deadline_ns = now_ns() + START_LIMIT_NS;
	int rc;

	while ((rc = session_arm(r->session, err, sizeof(err))) == -EAGAIN && !signals_seen &&
	       now_ns() < deadline_ns)
		await(START_TICK_NS * 5);
	if (signals_seen)
		msg_error("interrupted before the recording began");
	else if (rc)
		msg_error("%s", err);
	return !rc && !signals_seen;
}

/* Writes facts and the task snapshot. Returns false if that failed and has been said. */
static bool write_snapshot(struct recording *r, bool first)
{
	struct task_list tasks = {0};
	int fd = session_tasks_fd(r->session);
	int rc = facts_write(&r->facts, fd);

	if (rc)
		msg_error("host facts: %s", strerror(-rc));
	if (!rc) {
		rc = tasks_read(&tasks);
		for (size_t i = 0; !rc && r->anonymiser && i < tasks.count; i++)
			anonymise_comm(r->anonymiser, tasks.tasks[i].comm);
		if (!rc)
			rc = tasks_write(&tasks, fd);
		if (rc)
			msg_error("task snapshot: %s", strerror(-rc));
	}
	r->tasks = tasks.count;
	if (!rc && first && tasks.unknown)
		msg_note("%zu processes could not be compared with their parents; taken to have an "
			 "address space of their own",
			 tasks.unknown);
	tasks_free(&tasks);
	return !rc;
}

/* Whether there is hardly room left to finish the file that BYTES of pieces make. */
static bool disk_is_short(const struct recording *r, uint64_t bytes)
{
	uint64_t buffers = (uint64_t)r->config.buffer_kb * 1024 *
			   (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t free_bytes = session_free_bytes(r->session);
	bool compressed = strcmp(r->config.compression, "none") && !r->config.plain_file;
	double share = compressed ? COMPRESSED_SHARE : PLAIN_SHARE;

	/* What the buffers hold is written as well; never more than there has been in all. */
	if (buffers > bytes + DISK_RESERVE)
		buffers = bytes + DISK_RESERVE;
	return free_bytes < (uint64_t)((double)bytes * share) + buffers + DISK_RESERVE;
}

/* Whether a rate of --until has been passed; says so in R->ended. */
static bool rate_is_passed(struct recording *r, int64_t now)
{
	double rate, seconds;
	const struct watch_limit *limit = watch_look(r->watch, now, &rate, &seconds);

	if (limit)
		snprintf(r->ended, sizeof(r->ended), "%s came %.0f times a second over %.1f s",
			 limit->what, rate, seconds);
	return limit != NULL;
}

static enum ending wait_for_end(struct recording *r, int64_t start_ns)
{
	const struct options *options = r->options;
	bool compressed = strcmp(r->config.compression, "none") != 0;
	uint64_t buffers = (uint64_t)r->config.buffer_kb * 1024 *
			   (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t limit = buffers < COMPRESSED_LIMIT - COMPRESSED_LEAST ? COMPRESSED_LIMIT - buffers
								       : COMPRESSED_LEAST;
	int64_t end_ns = options->duration_ns ? start_ns + options->duration_ns : FOREVER_NS;
	enum ending ending = END_NONE;

	while (ending == END_NONE) {
		int64_t now = now_ns();
		uint64_t bytes = r->config.flight ? 0 : session_bytes(r->session);

		if (signals_seen)
			ending = END_SIGNAL;
		else if (session_state(r->session) == SESSION_ENDED)
			ending = END_RECORDER;
		else if (child_ended(&r->command))
			ending = END_COMMAND;
		else if (now >= end_ns)
			ending = END_TIME;
		else if (options->max_bytes && bytes >= (uint64_t)options->max_bytes)
			ending = END_SIZE;
		else if (compressed && bytes >= limit)
			ending = END_LIMIT;
		else if (!r->config.flight && disk_is_short(r, bytes))
			ending = END_DISK;
		else if (rate_is_passed(r, now))
			ending = END_RATE;
		if (ending == END_NONE) {
			if (options->cgroup)
				find_members(r, true);
			if (!options->command)
				msg_progress("recording, %" PRId64 " s",
					     (now - start_ns) / NS_PER_S);
			await(end_ns - now < TICK_NS ? end_ns - now : TICK_NS);
		}
	}
	msg_progress_end();
	return ending;
}

/* Writes into the trace why it ends here. */
static void write_ending(struct recording *r, enum ending ending)
{
	static const char *const texts[] = {
		[END_TIME] = "its time was over",
		[END_COMMAND] = "the command ended",
		[END_SIZE] = "--max-size was reached",
		[END_LIMIT] = "no more could be compressed",
		[END_DISK] = "the disk was nearly full",
		[END_RECORDER] = "trace-cmd stopped",
	};
	struct fact_list facts = {0};

	if (ending == END_SIGNAL)
		snprintf(r->ended, sizeof(r->ended), "signal %d", (int)signal_last);
	else if (ending != END_RATE)
		snprintf(r->ended, sizeof(r->ended), "%s", texts[ending]);
	/* A full buffer takes no more; the recording is none the worse without it. */
	if (!fact_add(&facts, "ended", "%s", r->ended))
		facts_write(&facts, session_tasks_fd(r->session));
	facts_free(&facts);
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
static int report(const struct recording *r, const struct session_result *result, double seconds,
		  enum ending ending)
{
	int status = EXIT_FINE;

	if (*result->warnings)
		msg_warn("trace-cmd says: %s", result->warnings);
	msg_note("%s: %.1f MB, %" PRIu64 " events and %zu tasks in %.3f s, %" PRIu64 " events lost",
		 r->options->output, (double)result->file_bytes / MB, result->events, r->tasks,
		 seconds, result->lost_events);
	for (size_t i = 0; i < result->cpu_count; i++) {
		if (result->cpus[i].lost_events)
			msg_warn("cpu %u lost %" PRIu64 " events; try a larger -b",
				 result->cpus[i].cpu, result->cpus[i].lost_events);
	}
	if (result->missed_returns)
		msg_warn("%" PRIu64 " returns of functions were missed", result->missed_returns);
	if (result->lost_events || result->missed_returns)
		status = EXIT_INCOMPLETE;
	if (ending == END_LIMIT)
		msg_warn("stopped early: trace-cmd compresses no more than 2 GiB; --compression "
			 "none has no such limit");
	if (ending == END_DISK)
		msg_warn("stopped early: there is hardly room left on the disk to finish the file");
	if (ending == END_SIZE)
		msg_note("stopped at --max-size");
	if (ending == END_RATE)
		msg_note("stopped by --until: %s", r->ended);
	if (ending == END_RECORDER)
		msg_error("trace-cmd stopped by itself; the recording ends early%s",
			  result->recovered ? ", and was made of what it left" : "");
	if (ending == END_LIMIT || ending == END_DISK || ending == END_RECORDER)
		status = EXIT_INCOMPLETE;
	return status;
}

static uint64_t count_events(void *session)
{
	return session_events(session);
}

/* Begins to watch what --until names. Returns false if that cannot be and has been said. */
static bool start_watch(struct recording *r)
{
	char err[SESSION_ERROR_SIZE];
	const struct options *options = r->options;

	if (!options->limit_count)
		return true;
	r->watch = watch_new(options->limits, options->limit_count, &r->plan, count_events,
			     r->session, err, sizeof(err));
	if (!r->watch)
		msg_error("--until: %s", err);
	return r->watch != NULL;
}

/* From a running recording to the file in its place. Returns the exit status. */
static int record(struct recording *r)
{
	const struct options *options = r->options;
	char err[SESSION_ERROR_SIZE];
	struct session_result result = {0};
	uint64_t blanked = 0;
	int status = EXIT_FAILED;

	if (!start_watch(r) || !write_snapshot(r, true))
		return EXIT_FAILED;
	int rc = options->command ? child_release(&r->command) : 0;
	if (rc) {
		msg_error("%s: %s", options->command[0], strerror(-rc));
		return EXIT_FAILED;
	}

	int64_t start_ns = now_ns();
	enum ending ending = wait_for_end(r, start_ns);
	double seconds = (double)(now_ns() - start_ns) / (double)NS_PER_S;
	write_ending(r, ending);
	/* The terminal has told COMMAND itself. */
	if (ending == END_SIGNAL && !signal_by_terminal)
		child_signal(&r->command, signal_last);
	if (session_tasks_overrun(r->session))
		write_snapshot(r, false);
	if (!wait_for_file(r->session, ending == END_SIGNAL ? signals_seen : 0)) {
		msg_error("interrupted again: nothing is kept");
	} else if (session_result(r->session, &result, err, sizeof(err))) {
		msg_error("%s", err);
	} else if (r->anonymiser && r->config.flight &&
		   (rc = anonymise_prepare(session_file(r->session)))) {
		msg_error("trace-cmd cannot convert the file, nothing is kept: %s", strerror(-rc));
	} else if (r->anonymiser &&
		   (rc = anonymise_file(r->anonymiser, session_file(r->session),
					r->config.compression, &result.file_bytes,
					&blanked))) {
		msg_error("the names cannot be replaced, nothing is kept: %s", strerror(-rc));
	} else if (session_publish(r->session, err, sizeof(err))) {
		msg_error("%s", err);
	} else {
		status = report(r, &result, seconds, ending);
		if (blanked)
			msg_note("%" PRIu64 " TLBI operands have no address any more: nothing tells "
				 "in whose address space it lay",
				 blanked);
	}
	note_command(&r->command, options->command);
	free(result.cpus);
	return status;
}

/* What goes into the trace beside the events. */
static int collect_facts(struct recording *r)
{
	bool shifts = r->options->anonymise == ANONYMISE_SHIFT;
	struct plan_wish wish = r->options->wish;
	int rc = host_facts(&r->facts, &r->kernel);

	if (shifts)
		wish.range_count = 0; /* they are addresses */
	rc = rc ? rc : plan_facts(&r->facts, &r->plan, &wish);
	if (!rc && wish.range_count != r->options->wish.range_count)
		rc = fact_add(&r->facts, "filter", "%zu ranges of addresses",
			      r->options->wish.range_count);
	rc = rc ? rc : fact_add(&r->facts, "buffer_kb", "%" PRId64, r->config.buffer_kb);
	if (!rc && r->targets.count)
		rc = fact_add(&r->facts, "filter", "%zu threads and their children%s",
			      r->targets.count, r->options->cgroup ? ", and a control group" : "");
	for (size_t i = 0; i < r->options->limit_count && !rc; i++)
		rc = fact_add(&r->facts, "until", "%s %.0f a second over %.1f s",
			      r->options->limits[i].what, r->options->limits[i].rate,
			      (double)r->options->limits[i].over_ns / (double)NS_PER_S);
	if (!rc && r->anonymiser)
		rc = fact_add(&r->facts, "anonymised", "names%s",
			      shifts ? ", user addresses moved, by a distance for each program"
				     : "");
	return rc;
}

/* From the plan to the end. Returns the exit status. */
static int run(struct recording *r)
{
	char err[SESSION_ERROR_SIZE];
	int rc;

	if (!tasks_pids_are_global()) {
		msg_error("pids here are not the host's: run it outside of the container");
		return EXIT_FAILED;
	}
	if (session_open_tracefs(err, sizeof(err))) {
		msg_error("%s", err);
		return EXIT_FAILED;
	}
	if (r->options->anonymise &&
	    !(r->anonymiser = anonymiser_new(r->options->anonymise == ANONYMISE_SHIFT,
					     &r->options->wish))) {
		msg_error("no random numbers: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if ((rc = kernel_read(&r->kernel)) ||
	    (rc = plan_make(&r->plan, &r->kernel, &r->options->wish))) {
		msg_error("the kernel's symbols: %s", strerror(-rc));
		return EXIT_FAILED;
	}
	if (!find_targets(r))
		return EXIT_FAILED;
	r->config.pids = r->targets.tids;
	r->config.pid_count = r->targets.count;
	r->session = session_create(&r->config, err, sizeof(err));
	if (!r->session) {
		msg_error("%s", err);
		return EXIT_FAILED;
	}
	if (!arm(r) || !warn_of_gaps(r))
		return EXIT_FAILED;
	if ((rc = collect_facts(r))) {
		msg_error("host facts: %s", strerror(-rc));
		return EXIT_FAILED;
	}
	if (session_start(r->session, err, sizeof(err))) {
		msg_error("%s", err);
		return EXIT_FAILED;
	}
	return wait_for_recording(r->session) ? record(r) : EXIT_FAILED;
}

int main(int argc, char **argv)
{
	char err[SESSION_ERROR_SIZE];
	struct options options;
	struct recording r = {.options = &options, .command = CHILD_NONE};
	sigset_t before;

	msg_program = "tlbcapture";
	if (getauxval(AT_SECURE)) {
		msg_error("it must not be set-user-ID, set-group-ID or have capabilities of its own: "
			  "whoever may call it could read the kernel's memory addresses");
		return EXIT_FAILED;
	}
	int status = options_parse(argc, argv, &options);
	if (status >= 0)
		return msg_status(status);
	if (options.mode == MODE_RESTORE)
		return restore(&options);
	if (options.mode != MODE_RECORD)
		return msg_status(look(&options));

	status = EXIT_FAILED;
	r.config = (struct session_config){
		.output = options.output, .compression = options.compression, .mask = &before,
		.buffer_kb = buffer_kb(&options), .flight = options.flight_bytes > 0,
		.plain_file = options.anonymise != ANONYMISE_NO, .plan = &r.plan,
		.wish = &options.wish};
	int rc = options.command ? child_fork(&r.command, options.command, NULL) : 0;
	catch_signals(&before);
	if (rc)
		msg_error("%s: %s", options.command[0], strerror(-rc));
	else
		status = run(&r);
	if (session_destroy(r.session, err, sizeof(err))) {
		msg_error("%s", err);
		status = EXIT_FAILED;
	}
	/* One that was never let go must not stay behind; one that still runs is left alone. */
	if (r.command.control_fd >= 0)
		child_destroy(&r.command);
	watch_free(r.watch);
	anonymiser_free(r.anonymiser);
	facts_free(&r.facts);
	plan_free(&r.plan);
	kernel_free(&r.kernel);
	tid_set_free(&r.targets);
	tid_set_free(&r.members);
	return status;
}
