/* SPDX-License-Identifier: MIT */
/*
 * tests/life/cancel_test.c - a cancellation sets the right bits in the words
 * of a fiber, and a shield hides them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "idle/serve.h"
#include "sched/runtime.h"
#include "wait/timers.h"
#include "wait/wait.h"
#include "stress/sched_kit.h"

static weft_group never;

static void *waits(void *arg)
{
	kit_expect(weft_group_wait(&never, WEFT_FOREVER) == -ECANCELED);
	return arg;
}

static void *cancels(void *arg)
{
	weft_fiber *f;

	weft_group_add(&never, 1);
	kit_expect(weft_spawn(&f, NULL, waits, NULL) == 0);
	weft_yield();
	kit_expect((wf_load_rlx(&f->wait) & WF_WAIT_PHASE) == WF_WAIT_SETTLED);
	kit_expect(weft_cancel(f) == 0);
	kit_expect(wf_load_rlx(&f->cancel) == WF_CANCEL_SELF);
	kit_expect((wf_load_rlx(&f->wait) & WF_WAIT_PHASE) == WF_WAIT_CLAIMED);
	kit_expect(wf_load_rlx(&f->wait) & WF_WAIT_CANCELED);
	/* Once is enough. */
	kit_expect(weft_cancel(f) == 0);
	weft_yield();
	kit_expect(wf_load_rlx(&f->state) & WF_FIBER_DONE);
	/* It has ended: nothing is left behind for the next life. */
	kit_expect(weft_cancel(f) == 0);
	kit_expect(weft_join(f, NULL, WEFT_NOW) == 0);
	kit_expect(weft_spawn(&f, NULL, waits, NULL) == 0);
	kit_expect(wf_load_rlx(&f->cancel) == 0);
	weft_yield();
	kit_expect(weft_cancel(f) == 0);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	weft_group_done(&never);
	return arg;
}

static void *waits_firmly(void *arg)
{
	weft_group *g = arg;

	kit_expect(!weft_shield(true));
	kit_expect(weft_shield(true));
	kit_expect(weft_group_wait(g, WEFT_FOREVER) == 0);
	kit_expect(!weft_cancelled());
	kit_expect(weft_shield(false));
	kit_expect(weft_cancelled());
	return NULL;
}

static void *shields(void *arg)
{
	weft_group g = { 0 };
	weft_fiber *f;

	weft_group_add(&g, 1);
	kit_expect(weft_spawn(&f, NULL, waits_firmly, &g) == 0);
	weft_yield();
	kit_expect(wf_load_rlx(&f->wait) & WF_WAIT_SHIELDED);
	kit_expect(weft_cancel(f) == 0);
	kit_expect((wf_load_rlx(&f->wait) & WF_WAIT_PHASE) == WF_WAIT_SETTLED);
	weft_group_done(&g);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	return arg;
}

static void a_wait_is_cut_short(void **state)
{
	(void)state;
	kit_play(cancels, 1);
}

static void a_shield_keeps_it_up(void **state)
{
	(void)state;
	kit_play(shields, 1);
}

/*
 * Its deadline has made it ready, and then it is cancelled: it has not run in
 * between, because the only worker runs this function.
 */
static weft_time deadline;

static void *is_late(void *arg)
{
	kit_expect(weft_group_wait(&never, deadline) == -ECANCELED);
	return arg;
}

static void *cancels_one_that_is_late(void *arg)
{
	struct weft_rt *rt = arg;
	weft_fiber *f;

	weft_group_add(&never, 1);
	deadline = weft_after(500 * WF_NS_PER_S);
	kit_expect(weft_spawn(&f, NULL, is_late, NULL) == 0);
	weft_yield();
	kit_expect((wf_load_rlx(&f->wait) & WF_WAIT_PHASE) == WF_WAIT_SETTLED);
	(void)wf_serve_timers(rt->procs[0].timers, deadline + WF_NS_PER_S,
		SIZE_MAX);
	kit_expect((wf_load_rlx(&f->wait) & WF_WAIT_PHASE) == WF_WAIT_CLAIMED);
	kit_expect(wf_load_rlx(&f->wait) & WF_WAIT_LATE);
	kit_expect(weft_cancel(f) == 0);
	kit_expect(!(wf_load_rlx(&f->wait) & WF_WAIT_CANCELED));
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	weft_group_done(&never);
	return NULL;
}

static void one_that_is_late_is_cut_all_the_same(void **state)
{
	(void)state;
	kit_play(cancels_one_that_is_late, 1);
}

static void a_thread_has_no_shield(void **state)
{
	(void)state;
	assert_false(weft_shield(true));
	assert_false(weft_shield(true));
	assert_false(weft_cancelled());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_cut_short),
		cmocka_unit_test(a_shield_keeps_it_up),
		cmocka_unit_test(one_that_is_late_is_cut_all_the_same),
		cmocka_unit_test(a_thread_has_no_shield),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
