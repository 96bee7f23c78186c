/* SPDX-License-Identifier: MIT */
/*
 * tests/os/errno_test.c - weft_errno is where libc has the errno of the thread
 * that asks.  tests/moves asks in fibers that move.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

static int *libc_errno(void)
{
	return &errno;
}

#include <weft/errno.h>

static void it_is_libcs(void **state)
{
	(void)state;
	assert_ptr_equal(weft_errno(), libc_errno());
	assert_ptr_equal(&errno, libc_errno());
}

static void an_errno_set_by_libc_is_read(void **state)
{
	(void)state;
	errno = 0;
	assert_int_equal(lseek(-1, 0, SEEK_CUR), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(*libc_errno(), EBADF);
	errno = ERANGE;
	assert_int_equal(*libc_errno(), ERANGE);
}

static void *set_mine(void *arg)
{
	(void)arg;
	errno = EDOM;
	return &errno == libc_errno() ? &errno : NULL;
}

static void each_thread_has_its_own(void **state)
{
	pthread_t thread;
	void *its;

	(void)state;
	errno = ERANGE;
	assert_int_equal(pthread_create(&thread, NULL, set_mine, NULL), 0);
	assert_int_equal(pthread_join(thread, &its), 0);
	assert_non_null(its);
	assert_ptr_not_equal(its, &errno);
	assert_int_equal(errno, ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_libcs),
		cmocka_unit_test(an_errno_set_by_libc_is_read),
		cmocka_unit_test(each_thread_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
