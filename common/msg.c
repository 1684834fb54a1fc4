// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/msg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *msg_program = "tlbreplay";

static bool progress_shown;

static void say(const char *severity, const char *format, va_list args)
{
	msg_progress_end();
	fprintf(stderr, "%s: %s", msg_program, severity);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

#define SAY(severity)                                                                              \
	do {                                                                                       \
		va_list args;                                                                      \
		va_start(args, format);                                                            \
		say(severity, format, args);                                                       \
		va_end(args);                                                                      \
	} while (0)

void msg_error(const char *format, ...)
{
	SAY("error: ");
}

void msg_warn(const char *format, ...)
{
	SAY("warning: ");
}

void msg_note(const char *format, ...)
{
	SAY("");
}

int msg_status(int status)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	/* Where an earlier write failed, its reason is gone. */
	msg_error("cannot write standard output: %s", errno ? strerror(errno) : "unknown reason");
	return EXIT_FAILED;
}

bool msg_progress_wanted(void)
{
	static int terminal = -1;

	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	return terminal > 0;
}

void msg_progress(const char *format, ...)
{
	static int64_t last_ns;
	struct timespec now;
	va_list args;

	if (!msg_progress_wanted())
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	if (progress_shown && now_ns - last_ns < 200000000)
		return;
	last_ns = now_ns;
	progress_shown = true;
	fprintf(stderr, "\r\033[K%s: ", msg_program);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fflush(stderr);
}

void msg_progress_end(void)
{
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_shown = false;
}
