/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/subprocess_test.c - a round in another process returns its
 * figures or its error, and a crash is told from a kill by the system.
 */
#include "bench/subprocess.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int touched;

static int works(const struct bench *b, struct bench_sample *s)
{
	touched = 1;
	s->ops = b->ops;
	s->ns = 42;
	s->report.mappings = 7;
	return 0;
}

static int fails(const struct bench *b, struct bench_sample *s)
{
	(void)b;
	(void)s;
	return -EILSEQ;
}

static int is_killed(const struct bench *b, struct bench_sample *s)
{
	(void)b;
	(void)s;
	return kill(getpid(), SIGKILL);
}

static int leaves(const struct bench *b, struct bench_sample *s)
{
	(void)b;
	(void)s;
	_exit(0);
}

static void figures_come_back(void **state)
{
	const struct bench b = { .name = "b", .ops = 11 };
	struct bench_sample s = { 0 };

	(void)state;
	assert_int_equal(bench_subprocess(works, &b, &s), 0);
	assert_int_equal(touched, 0);
	assert_int_equal(s.ops, 11);
	assert_int_equal(s.ns, 42);
	assert_int_equal(s.report.mappings, 7);
}

static void errors_come_back(void **state)
{
	const struct bench b = { .name = "b" };
	struct bench_sample s = { 0 };

	(void)state;
	assert_int_equal(bench_subprocess(fails, &b, &s), -EILSEQ);
	assert_int_equal(bench_subprocess(is_killed, &b, &s), -ENOMEM);
	assert_int_equal(bench_subprocess(leaves, &b, &s), -ECHILD);
	/* No child process is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_come_back),
		cmocka_unit_test(errors_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
