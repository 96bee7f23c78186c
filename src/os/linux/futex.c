/* SPDX-License-Identifier: MIT */
/*
 * os/linux/futex.c - sleep on a word, and wake sleepers.
 */
#include "os/os.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "base/units.h"

/*
 * The bitset form takes an absolute deadline, so a wait can be restarted after
 * a signal.
 */
int wf_os_futex_wait(
	_Atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns)
{
	struct timespec at, *until = NULL;

	if (deadline_ns != INT64_MAX) {
		if (deadline_ns < 0)
			deadline_ns = 0;
		at.tv_sec = (time_t)(deadline_ns / WF_NS_PER_S);
		at.tv_nsec = (long)(deadline_ns % WF_NS_PER_S);
		until = &at;
	}
	for (;;) {
		if (syscall(SYS_futex, word,
			    FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
			    until, NULL, FUTEX_BITSET_MATCH_ANY) == 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

int wf_os_futex_wake(_Atomic(uint32_t) *word, unsigned n)
{
	long woken;

	/* The kernel treats 0 as 1. */
	if (n == 0)
		return 0;
	/* The word may be freed memory: then no thread sleeps on it. */
	wf_valgrind_hush(true);
	woken = syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
		n > INT_MAX ? INT_MAX : (int)n);
	wf_valgrind_hush(false);
	return woken < 0 ? 0 : (int)woken;
}
