/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child program that is forked now and started later: what must be in place before it runs (a
 * recording, a snapshot) can be put in place in between. No shell is involved.
 */
#ifndef CAPTURE_CHILD_H
#define CAPTURE_CHILD_H

#include <stdbool.h>
#include <signal.h>
#include <sys/types.h>

struct child {
	pid_t pid;      /* 0: none */
	int control_fd; /* our end of the socket that holds it back; -1: closed */
	bool own_group; /* it leads a process group of its own */
	bool ended;     /* it was waited for, status is valid */
	int status;     /* as of waitpid() */
};

#define CHILD_NONE               \
	{                        \
		.control_fd = -1 \
	}

struct child_setup {
	int stdin_fd, stdout_fd, stderr_fd; /* -1: as ours */
	bool own_group;                     /* out of reach of the terminal's Ctrl-C */
	int death_signal;                   /* sent to it should we die; 0: none */
	const sigset_t *mask;               /* signal mask it starts with; NULL: as ours */
	/*
	 * A tool of ours, not the user's command: it gets an environment of our making, files that it
	 * creates are ours alone, and it must be a program that only root and we can change.
	 */
	bool tool;
	int folder_fd; /* where a tool runs; 0: where we do */
};

/*
 * Forks a child that waits to become ARGV (found through PATH). SETUP may be NULL. Returns 0 or a
 * negative errno.
 */
int child_fork(struct child *child, char *const argv[], const struct child_setup *setup);

/* Lets it go. Returns 0, or the negative errno of its exec. */
int child_release(struct child *child);

/* True once it has ended. Never waits. */
bool child_ended(struct child *child);

/* Sends SIG if it has not ended. */
void child_signal(struct child *child, int sig);

/* Kills it, and whatever is left of its own group, and waits for it. Fine on CHILD_NONE. */
void child_destroy(struct child *child);

#endif
