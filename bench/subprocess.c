/* SPDX-License-Identifier: MIT */
/*
 * bench/subprocess.c - fork, measure, and pass the figures back through a pipe.
 */
#include "bench/subprocess.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct answer {
	int err;
	struct bench_sample sample;
};

/* Short enough for one write, which a pipe keeps in one piece. */
static void answer_and_exit(int fd, const struct answer *a)
{
	ssize_t n = write(fd, a, sizeof(*a));

	_exit(n == (ssize_t)sizeof(*a) ? 0 : 1);
}

static int without_answer(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return -ENOMEM;
	return -ECHILD;
}

int bench_subprocess(
	int (*measure)(const struct bench *b, struct bench_sample *s),
	const struct bench *b, struct bench_sample *s)
{
	struct answer a = { 0 };
	int ends[2], status = 0;
	ssize_t n;
	pid_t child;

	if (pipe(ends) != 0)
		return -errno;
	fflush(NULL);
	child = fork();
	if (child < 0) {
		close(ends[0]);
		close(ends[1]);
		return -EAGAIN;
	}
	if (child == 0) {
		close(ends[0]);
		/* If the user interrupts the bench, the child must end too. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		a.err = measure(b, &a.sample);
		answer_and_exit(ends[1], &a);
	}
	close(ends[1]);
	do
		n = read(ends[0], &a, sizeof(a));
	while (n < 0 && errno == EINTR);
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(a))
		return without_answer(status);
	*s = a.sample;
	return a.err;
}
