// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One socket pair does both jobs. Towards the child it is the gate: a byte opens it, an end of file
 * (we died) makes the child leave. Towards us it carries the errno of a failed exec; a successful
 * one closes the socket, and we read an end of file.
 */
#include "capture/child.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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
	execvp(argv[0], argv);
	int failure = errno;
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
