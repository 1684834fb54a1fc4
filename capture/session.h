/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording session: a tracefs instance of our own, the plan's events in it, and a trace-cmd that
 * drains it into a file (or, as a flight recorder, reads it out once at the end).
 *
 *   session_create() -> session_arm() -> session_start() -> state STARTING .. RECORDING
 *     -> session_stop() -> ENDED -> session_result() -> session_publish() -> session_destroy()
 *
 * session_destroy() may come at any point and leaves the host as it was. Nothing here waits for
 * longer than a moment, prints, or looks at signals: the caller owns the loop.
 *
 * Functions that can fail return 0 or a negative errno (pointers: NULL with errno) and leave a
 * sentence in ERR.
 */
#ifndef CAPTURE_SESSION_H
#define CAPTURE_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/plan.h"

#define SESSION_ERROR_SIZE 2048

enum session_state {
	SESSION_STARTING,  /* trace-cmd has been started and has not switched tracing on yet */
	SESSION_RECORDING, /* every event is on, markers arrive */
	SESSION_ENDED,     /* trace-cmd is gone; session_result() says how it fared */
};

struct session_config {
	const char *output;      /* the file to make; replaced only by session_publish() */
	const char *compression; /* passed to trace-cmd; NULL: its default */
	int64_t buffer_kb;       /* per CPU, KiB */
	bool flight;             /* keep what fits into the buffers, write it at the end */
	/* version 6 of the format, uncompressed; "trace-cmd extract" (flight) has no such option */
	bool plain_file;
	struct plan *plan;       /* what to record; probes are made and filters set in it */
	const struct plan_wish *wish;
	const pid_t *pids;       /* record these threads and their children only; NULL: all */
	size_t pid_count;
	const sigset_t *mask;    /* signal mask for trace-cmd */
};

struct session_cpu {
	unsigned int cpu;
	uint64_t lost_events; /* overwritten before they were read, or dropped */
};

struct session_result {
	uint64_t events;          /* that the recorder read, all CPUs */
	uint64_t lost_events;     /* all CPUs */
	struct session_cpu *cpus; /* free() it */
	size_t cpu_count;
	uint64_t missed_returns;  /* that return probes had no room for */
	uint64_t file_bytes;
	bool recovered;           /* made of what a killed trace-cmd left */
	char warnings[SESSION_ERROR_SIZE]; /* what trace-cmd had to say; "" most of the time */
};

/*
 * Makes tracefs reachable. Where it is not mounted, it is mounted in a mount namespace that this
 * process and its later children have to themselves: the host's mount table stays as it is.
 */
int session_open_tracefs(char *err, size_t err_size);

/* A per-CPU buffer size that suits the host's memory, KiB. */
int64_t session_default_buffer_kb(void);

struct session;

/* Makes the instance, switched off, and the temporary file. CONFIG must outlive the session. */
struct session *session_create(const struct session_config *config, char *err, size_t err_size);

/*
 * Makes the plan's probes, tries its events and filters in the instance, and sets them up there.
 * What the kernel refuses is noted in the plan. Returns -EAGAIN while another recording does the
 * same: try again later.
 */
int session_arm(struct session *session, char *err, size_t err_size);

/* Adds a thread to those that are recorded, while it runs. Returns 0 or a negative errno. */
int session_add_pid(struct session *session, pid_t pid);

/* Starts trace-cmd. */
int session_start(struct session *session, char *err, size_t err_size);

/* Never waits. */
enum session_state session_state(struct session *session);

/* An open trace_marker of the instance. It takes writes while the state is SESSION_RECORDING. */
int session_marker_fd(const struct session *session);

/*
 * The same of the instance that the tasks' events go to: a flight recorder has one, else it is
 * that.
 */
int session_tasks_fd(const struct session *session);

/* True if the flight recorder has begun to overwrite who is who. */
bool session_tasks_overrun(const struct session *session);

/* Bytes on disk by now, before compression. */
uint64_t session_bytes(const struct session *session);

/* Bytes that are free where the file is made; UINT64_MAX: not known. */
uint64_t session_free_bytes(const struct session *session);

/* Events that the buffers of all CPUs have taken in by now. */
uint64_t session_events(const struct session *session);

/* Asks trace-cmd to stop and to finish the file. */
void session_stop(struct session *session);

/*
 * After SESSION_ENDED: checks that trace-cmd made the file and reads the counts of the instance.
 * Fails with trace-cmd's own words if it did not.
 */
int session_result(struct session *session, struct session_result *result, char *err,
		   size_t err_size);

/* The finished file, before it is published. */
const char *session_file(const struct session *session);

/* Renames the finished file to the output's name. */
int session_publish(struct session *session, char *err, size_t err_size);

/* Has session_destroy() leave the temporary files, for "tlbcapture --restore". */
void session_keep(struct session *session);

/* Ends what runs, removes the instance, probes and temporary files. Returns 0, or -errno if the
 * instance is still there. Accepts NULL. */
int session_destroy(struct session *session, char *err, size_t err_size);

#endif
