/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording session: a tracefs instance of our own, the catalogue's events in it, and a trace-cmd
 * that drains it into a file.
 *
 *   session_create() -> session_start() -> state STARTING .. RECORDING -> session_stop() -> ENDED
 *     -> session_result() -> session_publish() -> session_destroy()
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

#include "schema/catalogue.h"

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
	uint64_t file_bytes;
	char warnings[SESSION_ERROR_SIZE]; /* what trace-cmd had to say; "" most of the time */
};

/*
 * Makes tracefs reachable. Where it is not mounted, it is mounted in a mount namespace that this
 * process and its later children have to themselves: the host's mount table stays as it is.
 */
int session_open_tracefs(char *err, size_t err_size);

/* ARCH_X86 or ARCH_ARM64 of the running kernel; 0: another one. */
unsigned int session_arch(void);

/* True if this kernel has the event and this form of tlbcapture records it. Needs tracefs. */
bool session_records(const struct catalogue_row *row);

/* A per-CPU buffer size that suits the host's memory, KiB. */
int64_t session_default_buffer_kb(void);

struct session;

/* Makes the instance, switched off, and the temporary file. CONFIG must outlive the session. */
struct session *session_create(const struct session_config *config, char *err, size_t err_size);

/* Starts trace-cmd. */
int session_start(struct session *session, char *err, size_t err_size);

/* Never waits. */
enum session_state session_state(struct session *session);

/* An open trace_marker of the instance. It takes writes while the state is SESSION_RECORDING. */
int session_marker_fd(const struct session *session);

/* Bytes on disk by now, before compression. */
uint64_t session_bytes(const struct session *session);

/* Asks trace-cmd to stop and to finish the file. */
void session_stop(struct session *session);

/*
 * After SESSION_ENDED: checks that trace-cmd made the file and reads the counts of the instance.
 * Fails with trace-cmd's own words if it did not.
 */
int session_result(struct session *session, struct session_result *result, char *err,
		   size_t err_size);

/* Renames the finished file to the output's name. */
int session_publish(struct session *session, char *err, size_t err_size);

/* Ends what runs, removes the instance and temporary files. Returns 0, or -errno if the instance is
 * still there. Accepts NULL. */
int session_destroy(struct session *session, char *err, size_t err_size);

#endif
