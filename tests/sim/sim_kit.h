/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/sim_kit.h - what the tests of the simulator share.
 *
 * A body is explored quietly, with a fixed seed, and the report is looked at.
 * The program's variables are put back before each run and at the end, so what
 * runs tell a test lies in memory of its own, kit_keep(), and is written by
 * functions that are not watched: two threads may note things there without
 * that being a race or an order.
 *
 * Nothing here is asserted inside of a run: cmocka would jump out of it.
 */
#ifndef WEFT_TESTS_SIM_SIM_KIT_H
#define WEFT_TESTS_SIM_SIM_KIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/sim.h>

/* Neither watched nor simulated. */
#define KIT_UNSEEN __attribute__((noinline, unused, no_sanitize("thread")))

/* ------------------------------------------------- results of many runs */

/* Zeroed memory that stays as it is; children of fork share it. */
static inline void *kit_keep(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

KIT_UNSEEN static void kit_set(uint64_t *p, uint64_t v)
{
	*p = v;
}

KIT_UNSEEN static uint64_t kit_get(const uint64_t *p)
{
	return *p;
}

/* A value that is read and not needed. */
KIT_UNSEEN static void kit_use(uint64_t v)
{
	__asm__ volatile("" : : "r"(v));
}

/* One more; what it was before. */
KIT_UNSEEN static uint64_t kit_count(uint64_t *p)
{
	return (*p)++;
}

/* ---------------------------------------------------------- explorations */

static inline weft_sim_opts kit_opts(uint32_t modes, uint32_t flags)
{
	return (weft_sim_opts){ .name = "kit",
		.seed = 1,
		.schedules = 200000,
		.modes = modes,
		.flags = flags | WEFT_SIM_QUIET | WEFT_SIM_ECONOMY };
}

/* It fails, and by the check of that name. */
static inline void kit_fails(const weft_sim_opts *o, void (*body)(void *),
	void *arg, const char *oracle, weft_sim_report *r)
{
	int err = weft_sim_explore(o, body, arg, r);

	if (err != 1 || !r->failed || strcmp(r->oracle, oracle) != 0)
		fail_msg("expected \"%s\", got %d after %llu schedules: %s: %s",
			oracle, err, (unsigned long long)r->schedules,
			r->oracle, r->message);
}

/* It does not fail; with WEFT_SIM_BOUNDED alone, in any schedule of those. */
static inline void kit_passes(const weft_sim_opts *o, void (*body)(void *),
	void *arg, weft_sim_report *r)
{
	int err = weft_sim_explore(o, body, arg, r);

	if (err != 0 || r->failed)
		fail_msg("expected no failure, got %d after %llu schedules: "
			 "%s: %s (%s)", err, (unsigned long long)r->schedules,
			r->oracle, r->message, r->token);
	if (o->modes == WEFT_SIM_BOUNDED && !r->complete)
		fail_msg("%llu schedules, and not all of them",
			(unsigned long long)r->schedules);
}

/* kit_fails with all the defaults of WEFT_SIM_BOUNDED. */
static inline void kit_breaks(void (*body)(void *), uint32_t flags,
	const char *oracle, weft_sim_report *r)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, flags);

	kit_fails(&o, body, NULL, oracle, r);
}

static inline void kit_holds(void (*body)(void *), uint32_t flags)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, flags);
	weft_sim_report r;

	kit_passes(&o, body, NULL, &r);
}

static inline void kit_says(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* Inside of a run: a thread that must be there. */
static inline int kit_thread(void (*fn)(void *), void *arg, const char *name)
{
	int id = weft_sim_thread(fn, arg, name);

	weft_sim_assert(id > 0, "no thread: %d", id);
	return id;
}

static inline void kit_join(int id)
{
	int err = weft_sim_join(id);

	weft_sim_assert(err == 0, "thread %d cannot be joined: %d", id, err);
}

/* Two threads, from start to end. */
static inline void kit_pair(void (*a)(void *), void (*b)(void *))
{
	int first = kit_thread(a, NULL, "first");
	int second = kit_thread(b, NULL, "second");

	kit_join(first);
	kit_join(second);
}

/*
 * The newest value, whatever loads may see.  The compiler must not know that
 * nothing is added, or it would make a load of it.
 */
static inline uint32_t kit_newest(_Atomic(uint32_t) *p)
{
	uint32_t zero = 0;

	__asm__ volatile("" : "+r"(zero));
	return atomic_fetch_add_explicit(p, zero, memory_order_relaxed);
}

/* ------------------------------------------------------- standard error */

struct kit_stderr {
	int file, saved;
	char text[65536];
};

/* From here on it goes into text. */
static inline void kit_stderr_begin(struct kit_stderr *s)
{
	s->file = memfd_create("stderr", MFD_CLOEXEC);
	s->saved = dup(STDERR_FILENO);
	assert_true(s->file >= 0 && s->saved >= 0);
	(void)fflush(stderr);
	assert_true(dup2(s->file, STDERR_FILENO) >= 0);
}

static inline void kit_stderr_end(struct kit_stderr *s)
{
	ssize_t n;

	(void)fflush(stderr);
	(void)dup2(s->saved, STDERR_FILENO);
	n = pread(s->file, s->text, sizeof(s->text) - 1, 0);
	s->text[n < 0 ? 0 : n] = '\0';
	(void)close(s->saved);
	(void)close(s->file);
}

static inline unsigned kit_lines(const char *text)
{
	unsigned n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

/* fn in a process of its own; how that ended, and what it said. */
static inline int kit_process(void (*fn)(void), struct kit_stderr *s)
{
	int status = -1;
	pid_t child;

	(void)fflush(NULL);
	kit_stderr_begin(s);
	child = fork();
	if (child == 0) {
		fn();
		_exit(0);
	}
	if (child > 0)
		(void)waitpid(child, &status, 0);
	kit_stderr_end(s);
	assert_true(child > 0);
	return status;
}

/* ----------------------------------------------------------------- files */

/* An empty file that nobody has to remove; its path fits into 32 bytes. */
static inline int kit_file(char *path)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/* All of it, as text; it is closed. */
static inline size_t kit_file_text(int fd, char *text, size_t bytes)
{
	ssize_t n = pread(fd, text, bytes - 1, 0);

	assert_true(n >= 0 && (size_t)n < bytes - 1);
	text[n] = '\0';
	(void)close(fd);
	return (size_t)n;
}

/* ---------------------------------------------------------- environment */

/* Group setup: a user may have set these for other programs. */
static inline int kit_setup(void **state)
{
	static const char *const names[] = { "WEFT_SIM_SEED",
		"WEFT_SIM_SCHEDULES", "WEFT_SIM_BUDGET", "WEFT_SIM_REPLAY",
		"WEFT_SIM_LOG", "WEFT_SIM_TRACE", "WEFT_SIM_SHRINK",
		"WEFT_SIM_INSIDE" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (unsetenv(names[i]) != 0)
			return -1;
	return 0;
}

#endif
