/* SPDX-License-Identifier: MIT */
/*
 * tests/idle/serve_test.c - the step that serves events sets the clock, ends
 * the waits whose time has come, and no more of them than there is room for.
 *
 * One worker, so that no other thread fires its timers.  The time is made up:
 * fibers wait for a deadline far away, and the step is told that it has come.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "idle/serve.h"
#include "sched/global.h"
#include "sched/runtime.h"
#include "sched/serve.h"
#include "sched/thread.h"
#include "sched/tuning.h"
#include "stress/sched_kit.h"
#include "wait/timers.h"

#define FAR_NS (500 * WF_NS_PER_S)
#define AFTER_NS (1000 * WF_NS_PER_S) /* all timers are due */

enum { MANY = 600 };

static weft_group never, all;
static weft_time until;

static void wait_far(void *arg)
{
	kit_expect(weft_group_wait(&never, until) == -ETIMEDOUT);
	(void)arg;
	weft_group_done(&all);
}

/* So many fibers wait until FAR_NS from now; nothing else is ready. */
static struct wf_proc *start(int n)
{
	until = weft_after(FAR_NS);
	never = (weft_group){ 0 };
	all = (weft_group){ 0 };
	weft_group_add(&never, 1);
	weft_group_add(&all, n);
	for (int i = 0; i < n; i++)
		kit_expect(weft_go(wait_far, NULL) == 0);
	for (int i = 0; i < n; i++)
		weft_yield();
	return wf_here()->proc;
}

/* How many were made ready, and have not run. */
static size_t ready(struct wf_proc *p)
{
	return wf_proc_backlog(p) + wf_global_len(p->group);
}

/* Fire the others, and let all of them end. */
static void finish(struct wf_proc *p)
{
	(void)wf_serve_timers(p->timers, weft_now() + AFTER_NS, SIZE_MAX);
	kit_expect(weft_group_wait(&all, WEFT_FOREVER) == 0);
	weft_group_done(&never);
}

static void *serve_at_the_deadline(void *arg)
{
	struct wf_proc *p = start(3);

	kit_expect(!wf_serve(p, until - 1));
	kit_expect(wf_load_rlx(&p->clock_ns) == until - 1);
	kit_expect(ready(p) == 0);
	kit_expect(wf_serve(p, until + AFTER_NS));
	kit_expect(wf_load_rlx(&p->clock_ns) == until + AFTER_NS);
	kit_expect(ready(p) == 3);
	kit_expect(wf_timers_next(p->timers) == INT64_MAX);
	/* There is none any more. */
	kit_expect(!wf_serve(p, until + AFTER_NS));
	finish(p);
	return arg;
}

static void waits_end_when_their_time_has_come(void **state)
{
	(void)state;
	kit_play(serve_at_the_deadline, 1);
}

/* Timers that do not fit wait for the next step; some fire in any case. */
static void *serve_many(void *arg)
{
	struct wf_proc *p = start(MANY);
	size_t room = (size_t)p->runq.mask + 1;
	int64_t now_ns = weft_now() + AFTER_NS;

	kit_expect(room + wf_tuning.serve_min < MANY);
	kit_expect(wf_serve(p, now_ns));
	kit_expect(wf_runq_len(&p->runq) == room);
	kit_expect(wf_global_len(p->group) == 0);
	kit_expect(wf_timers_next(p->timers) <= now_ns);
	kit_expect(wf_serve(p, now_ns));
	kit_expect(ready(p) == room + wf_tuning.serve_min);
	finish(p);
	return arg;
}

static void no_more_end_than_the_local_queue_has_room_for(void **state)
{
	(void)state;
	kit_play(serve_many, 1);
}

/* Also across the batches in which the timers return fibers. */
static void *serve_some(void *arg)
{
	static const size_t most[] = { 0, 1, WF_TIMERS_AT_ONCE - 1,
		WF_TIMERS_AT_ONCE, WF_TIMERS_AT_ONCE + 1,
		2 * WF_TIMERS_AT_ONCE + 5 };

	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		struct wf_proc *p = start(MANY);
		int64_t now_ns = weft_now() + AFTER_NS;
		bool any = wf_serve_timers(p->timers, now_ns, most[i]);

		kit_expect(any == (most[i] > 0));
		kit_expect(ready(p) == most[i]);
		kit_expect(wf_serve_timers(p->timers, now_ns, SIZE_MAX));
		kit_expect(ready(p) == MANY);
		kit_expect(!wf_serve_timers(p->timers, now_ns, SIZE_MAX));
		finish(p);
	}
	return arg;
}

static void as_many_end_as_are_asked_for(void **state)
{
	(void)state;
	kit_play(serve_some, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_end_when_their_time_has_come),
		cmocka_unit_test(no_more_end_than_the_local_queue_has_room_for),
		cmocka_unit_test(as_many_end_as_are_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
