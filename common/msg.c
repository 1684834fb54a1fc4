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

/* Length of the UTF-8 character at P that may be shown; 0 if it is none, or controls a terminal. */
static unsigned int shown(const unsigned char *p)
{
	unsigned int n = *p < 0x80                 ? 1
			 : *p >= 0xc2 && *p < 0xe0 ? 2
			 : *p >= 0xe0 && *p < 0xf0 ? 3
						   : 4;

	if (n == 1)
		return *p >= ' ' && *p != 0x7f;
	if (*p < 0xc2 || *p > 0xf4 || (*p == 0xc2 && p[1] < 0xa0))
		return 0;
	for (unsigned int i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

void msg_put(FILE *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text, *run = p;
	unsigned int n;

	for (; *p; run = ++p) {
		while (*p && (n = shown(p)))
			p += n;
		fwrite(run, 1, (size_t)(p - run), out);
		if (!*p)
			return;
		fprintf(out, "\\x%02x", *p);
	}
}

static void say(const char *severity, const char *format, va_list args)
{
	char text[2048];

	msg_progress_end();
	/* Names in it may come from a stranger's recording: nothing of them reaches a terminal. */
	vsnprintf(text, sizeof(text), format, args);
	fprintf(stderr, "%s: %s", msg_program, severity);
	msg_put(stderr, text);
	fputc('\n', stderr);
}

#define SAY(severity)                        \
	do {                                 \
		va_list args;                \
		va_start(args, format);      \
		say(severity, format, args); \
		va_end(args);                \
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
