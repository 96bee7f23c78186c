/* SPDX-License-Identifier: MIT */
/*
 * tests/os/child.h - a function run in a child process, which it may end.
 *
 * The child has the default action for the signals that a test framework
 * catches, leaves no core file and is killed if it hangs.  It must not use the
 * framework's assertions, which would go on with the parent's tests: it
 * reports by its end, by what it writes to standard error, or in memory from
 * child_shared.  Valgrind turns the exit status of a child it found an error
 * in (a bad access is one) into another that is not 0, and an emulator may add
 * words of its own to standard error: expect no more than they leave.
 */
#ifndef WEFT_TESTS_OS_CHILD_H
#define WEFT_TESTS_OS_CHILD_H

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 40

struct child {
	int status;		/* as from waitpid */
	char first[2048];	/* its first write to standard error */
	size_t first_bytes;
	char text[8192];	/* all it wrote there; both are strings */
	size_t text_bytes;
};

/* Not the process of the tests any more: nothing here may return to them. */
static inline void child_begin(int err_fd)
{
	static const int caught[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS,
		SIGABRT };
	struct rlimit none = { 0, 0 };

	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		signal(caught[i], SIG_DFL);
	setrlimit(RLIMIT_CORE, &none);
	alarm(CHILD_SECONDS);
	if (dup2(err_fd, STDERR_FILENO) < 0)
		_exit(125);
}

/* Take in what the child writes, one write at a time, until it is gone. */
static inline void child_listen(struct child *c, int fd)
{
	char words[sizeof(c->first)];
	ssize_t n;

	while ((n = read(fd, words, sizeof(words) - 1)) > 0) {
		size_t room = sizeof(c->text) - 1 - c->text_bytes;
		size_t some = (size_t)n < room ? (size_t)n : room;

		if (c->text_bytes == 0) {
			memcpy(c->first, words, (size_t)n);
			c->first_bytes = (size_t)n;
		}
		memcpy(c->text + c->text_bytes, words, some);
		c->text_bytes += some;
	}
}

/* Run fn(arg) in a child, which exits with 0 if fn returns. */
static inline void child_run(struct child *c, void (*fn)(void *), void *arg)
{
	int pair[2];
	pid_t pid;

	memset(c, 0, sizeof(*c));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		abort();
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		close(pair[0]);
		child_begin(pair[1]);
		fn(arg);
		_exit(0);
	}
	close(pair[1]);
	child_listen(c, pair[0]);
	close(pair[0]);
	if (waitpid(pid, &c->status, 0) != pid)
		abort();
}

static inline int child_killed_by(const struct child *c, int sig)
{
	return WIFSIGNALED(c->status) && WTERMSIG(c->status) == sig;
}

/* Did it end as misuse of the library does: one line, with this in it? */
static inline int child_was_misuse(const struct child *c, const char *says)
{
	return child_killed_by(c, SIGABRT) &&
		strncmp(c->first, "weft: ", 6) == 0 &&
		strstr(c->first, says) != NULL &&
		strchr(c->first, '\n') == c->first + c->first_bytes - 1;
}

static inline int child_exited_with(const struct child *c, int status)
{
	return WIFEXITED(c->status) && WEXITSTATUS(c->status) == status;
}

/* Zeroed memory that a child and its parent have in common; never freed. */
static inline void *child_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

#endif
