/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/notice_test.c - a fiber or thread returns from its wait once it
 * was told, at whatever moment, and the teller does not touch its frame after
 * that.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/atomic.h"
#include "exec/notice.h"
#include "os/os.h"
#include "stress/sched_kit.h"

static struct {
	_Atomic(struct wf_notice *) notice;
	_Atomic(size_t) round;
	size_t rounds;
	size_t told;	/* plain: ordered by the notice */
} race;

/* A second at most, however busy the machine is: the round of SIZE_MAX ends. */
static bool begins(_Atomic(size_t) *round, size_t n)
{
	size_t seen;

	while ((seen = wf_load_acq(round)) < n)
		wf_os_thread_yield();
	return seen != SIZE_MAX;
}

static void wait_often(void)
{
	int64_t until = threads_until_ns(1000);

	for (size_t n = 1; n <= race.rounds && threads_now_ns() < until; n++) {
		struct wf_notice notice;

		wf_notice_open(&notice);
		wf_store_rlx(&race.notice, &notice);
		wf_store_rel(&race.round, n);
		for (volatile size_t i = 0; i < n % 64 * 8; i++)
			continue;
		wf_notice_wait(&notice);
		kit_expect(race.told == n);
		/* A teller that still reads it finds garbage. */
		memset(&notice, 0xff, sizeof(notice));
	}
	wf_store_rel(&race.round, SIZE_MAX);
}

static void wait_or_tell(void *arg, unsigned i)
{
	(void)arg;
	if (i == 0) {
		wait_often();
		return;
	}
	for (size_t n = 1; begins(&race.round, n); n++) {
		race.told = n;
		wf_notice_tell(wf_load_rlx(&race.notice));
	}
}

static void prepare(void)
{
	wf_store_rlx(&race.round, 0);
	race.told = 0;
	race.rounds = kit_rounds(20000);
}

static void a_thread_is_told(void **state)
{
	(void)state;
	kit_watch();
	prepare();
	threads_run(2, wait_or_tell, NULL);
	kit_settle();
}

static void *wait_in_fiber(void *arg)
{
	wait_often();
	return arg;
}

static void tell(void *arg)
{
	wait_or_tell(arg, 1);
}

static void a_fiber_is_told(void **state)
{
	struct wf_os_thread teller;

	(void)state;
	prepare();
	assert_int_equal(wf_os_thread_start(&teller, tell, NULL, 0, NULL), 0);
	kit_play(wait_in_fiber, 1);
	wf_os_thread_join(&teller);
}

/* Told before it waits: it returns at once. */
static void it_may_be_told_before_it_waits(void **state)
{
	struct wf_notice notice;

	(void)state;
	wf_notice_open(&notice);
	wf_notice_tell(&notice);
	wf_notice_wait(&notice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_is_told),
		cmocka_unit_test(a_fiber_is_told),
		cmocka_unit_test(it_may_be_told_before_it_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
