/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for people. Only main.c files and what they call directly to report use these; library
 * code returns errors and prints nothing.
 */
#ifndef COMMON_MSG_H
#define COMMON_MSG_H

#include <stdbool.h>
#include <stdio.h>

/* Exit statuses that every program of the project shares. */
enum {
	EXIT_FINE = 0,       /* done */
	EXIT_FAILED = 1,     /* the work could not be done */
	EXIT_USAGE = 2,      /* the command line was wrong */
	EXIT_INCOMPLETE = 3, /* done, but the recording itself lost events */
};

/* Name printed before every message; main() sets it once. */
extern const char *msg_program;

/* "PROGRAM: error: TEXT\n" on standard error. */
void msg_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "PROGRAM: warning: TEXT\n" on standard error. */
void msg_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "PROGRAM: TEXT\n" on standard error. */
void msg_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * A progress line that rewrites itself: shown only where standard error is a terminal, at most five
 * times a second, cleared by msg_progress_end() and by any other message.
 */
void msg_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void msg_progress_end(void);

/*
 * What main() returns in the end: STATUS, or EXIT_FAILED, with the reason said, if standard output
 * took less than was written to it (a full disk).
 */
int msg_status(int status);

/*
 * Writes TEXT so that it cannot do anything to a terminal: control characters and what is no UTF-8
 * come out as \xNN. All messages go through this; for names from recordings that are printed.
 */
void msg_put(FILE *out, const char *text);

/* Whether a progress line would be shown at all. */
bool msg_progress_wanted(void);

#endif
