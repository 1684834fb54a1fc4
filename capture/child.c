// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One socket pair does both jobs. Towards the child it is the gate: a byte opens it, an end of file
 * (we died) makes the child leave. Towards us it carries the errno of a failed exec; a successful
 * one closes the socket, and we read an end of file.
 */
#include "capture/child.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STANDARD_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static void close_control(struct child *child)
{
	if (child->control_fd >= 0)
		close(child->control_fd);
	child->control_fd = -1;
}

static void become(int fd, int wanted)
{
	if (fd >= 0)
		dup2(fd, wanted);
}

/* Whether nobody but root and us can change PATH, a folder or a program. */
static bool is_ours(const char *path, bool program)
{
	struct stat st;

	return !stat(path, &st) && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       (program ? S_ISREG(st.st_mode) && !(st.st_mode & (S_IWGRP | S_IWOTH))
			: S_ISDIR(st.st_mode) && !(st.st_mode & S_IWOTH));
}

/* Finds the tool NAME through PATH, but only where it can be trusted. Returns 0 or an errno. */
static int find_tool(const char *name, char *out, size_t size)
{
	const char *path = getenv("PATH");
	int failure = ENOENT;

	for (const char *at = path ? path : STANDARD_PATH; *at; at += *at == ':') {
		size_t n = strcspn(at, ":");
		char folder[PATH_MAX];

		if (*at == '/' && n < sizeof(folder) &&
		    (size_t)snprintf(out, size, "%.*s/%s", (int)n, at, name) < size &&
		    !access(out, X_OK)) {
			memcpy(folder, at, n);
			folder[n] = '\0';
			if (is_ours(folder, false) && is_ours(out, true))
				return 0;
			failure = EPERM;
		}
		at += n;
	}
	return failure;
}

/* What a tool runs with, whatever our user's shell had set for us. */
static int confine(const struct child_setup *setup)
{
	if (setup->folder_fd && fchdir(setup->folder_fd))
		return errno;
	umask(077);
	if (clearenv() || setenv("PATH", STANDARD_PATH, 1) || setenv("LC_ALL", "C", 1))
		return ENOMEM;
	return 0;
}

static _Noreturn void run_child(int gate, char *const argv[], const struct child_setup *setup,
				pid_t parent)
{
	char go;
	ssize_t got;

	if (setup) {
		if (setup->own_group)
			setpgid(0, 0);
		if (setup->death_signal) {
			prctl(PR_SET_PDEATHSIG, setup->death_signal);
			if (getppid() != parent)
				_exit(1);
		}
		become(setup->stdin_fd, STDIN_FILENO);
		become(setup->stdout_fd, STDOUT_FILENO);
		become(setup->stderr_fd, STDERR_FILENO);
	}
	do
		got = read(gate, &go, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(1);
	/* Last, so that nothing but death reaches a child that still waits. */
	if (setup && setup->mask)
		sigprocmask(SIG_SETMASK, setup->mask, NULL);
	int failure = 0;
	if (setup && setup->tool) {
		char program[PATH_MAX];

		failure = find_tool(argv[0], program, sizeof(program));
		if (!failure)
			failure = confine(setup);
		if (!failure)
			execv(program, argv);
	} else {
		execvp(argv[0], argv);
	}
	if (!failure)
		failure = errno;
	(void)!send(gate, &failure, sizeof(failure), MSG_NOSIGNAL);
	_exit(127);
}

int child_fork(struct child *child, char *const argv[], const struct child_setup *setup)
{
	pid_t parent = getpid();
	int pair[2];

	*child = (struct child)CHILD_NONE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		run_child(pair[1], argv, setup, parent);
	}
	int failure = pid < 0 ? errno : 0;
	close(pair[1]);
	if (failure) {
		close(pair[0]);
		return -failure;
	}
	child->pid = pid;
	child->control_fd = pair[0];
	child->own_group = setup && setup->own_group;
	/* In both, since either may come first. */
	if (child->own_group)
		setpgid(pid, pid);
	return 0;
}

int child_release(struct child *child)
{
	int failure = 0;
	ssize_t got;

	if (send(child->control_fd, "", 1, MSG_NOSIGNAL) == 1) {
		do
			got = recv(child->control_fd, &failure, sizeof(failure), MSG_WAITALL);
		while (got < 0 && errno == EINTR);
		if (got != sizeof(failure))
			failure = 0;
	}
	close_control(child);
	return -failure;
}

bool child_ended(struct child *child)
{
	if (child->pid > 0 && !child->ended)
		child->ended = waitpid(child->pid, &child->status, WNOHANG) == child->pid;
	return child->ended;
}

void child_signal(struct child *child, int sig)
{
	if (child->pid > 0 && !child_ended(child))
		kill(child->pid, sig);
}

void child_destroy(struct child *child)
{
	close_control(child);
	if (child->pid <= 0)
		return;
	if (child->own_group)
		kill(-child->pid, SIGKILL);
	if (!child->ended) {
		kill(child->pid, SIGKILL);
		while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
			;
	}
	*child = (struct child)CHILD_NONE;
}
