/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/strand_test.c - a strand runs each task once, in order, one at a
 * time (S1 to S5 of exec/strand.c), also when it is refused, and is not touched
 * after it was destroyed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "base/assert.h"
#include "base/limits.h"
#include "fiber/fiber.h"
#include "os/child.h"
#include "numbered.h"
#include "os/os.h"
#include "stress/sched_kit.h"
#include "support/skip.h"

enum { TURN = WF_STRAND_TURN };

static weft_executor *manual, *strand;

static int submit(weft_executor *e, size_t i)
{
	return weft_submit(e, &tasks[i].task, WEFT_HINT_DEFAULT);
}

static weft_executor *open_strand(weft_executor *over)
{
	weft_executor *e = NULL;

	prepare();
	assert_int_equal(weft_strand_create(&e, over), 0);
	assert_non_null(e);
	return e;
}

/* A strand over a manual executor. */
static void open_both(void)
{
	assert_int_equal(weft_manual_create(&manual), 0);
	strand = open_strand(manual);
}

static void close_both(void)
{
	assert_int_equal(weft_executor_destroy(strand), 0);
	assert_int_equal(weft_executor_destroy(manual), 0);
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* One thing at a time. */

static void tasks_run_in_order_over_another(void **state)
{
	(void)state;
	open_both();
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(submit(strand, i), 0);
	assert_int_equal(ran, 0);
	/* One task of the manual executor stands for all of them. */
	assert_int_equal(weft_manual_run(manual, SIZE_MAX), 1);
	expect_order(10);
	assert_int_equal(weft_manual_run(manual, SIZE_MAX), 0);
	assert_int_equal(submit(strand, 10), 0);
	assert_int_equal(weft_manual_run(manual, SIZE_MAX), 1);
	expect_order(11);
	close_both();
}

static void submit_next(weft_task *task)
{
	size_t i = ((struct numbered *)task)->number;

	note(task);
	if (i + 2 < 10)
		kit_expect(submit(strand, i + 2) == 0);
}

static void what_a_task_submits_comes_behind(void **state)
{
	(void)state;
	open_both();
	for (size_t i = 0; i < 10; i++)
		tasks[i].task.run = submit_next;
	assert_int_equal(submit(strand, 0), 0);
	assert_int_equal(submit(strand, 1), 0);
	assert_int_equal(weft_manual_run(manual, SIZE_MAX), 1);
	expect_order(10);
	close_both();
}

/* After a turn the others of the executor below have theirs. */
static void others_have_turns(void **state)
{
	(void)state;
	open_both();
	for (size_t i = 0; i < TURN; i++)
		assert_int_equal(submit(strand, i), 0);
	assert_int_equal(submit(manual, TURN), 0);
	for (size_t i = TURN + 1; i < 3 * TURN; i++)
		assert_int_equal(submit(strand, i), 0);
	assert_int_equal(weft_manual_run(manual, 1), 1);
	expect_order(TURN);
	/* A task submitted now runs after those taken and not run yet. */
	assert_int_equal(submit(strand, 3 * TURN), 0);
	assert_int_equal(weft_manual_run(manual, SIZE_MAX), 3);
	expect_order(3 * TURN + 1);
	close_both();
}

static void strands_lie_over_strands(void **state)
{
	weft_executor *upper, *top;

	(void)state;
	open_both();
	upper = open_strand(strand);
	top = open_strand(upper);
	assert_int_equal(submit(upper, 0), 0);
	assert_int_equal(submit(strand, 2), 0);
	assert_int_equal(submit(top, 3), 0);
	assert_int_equal(submit(upper, 1), 0);
	assert_int_equal(submit(top, 4), 0);
	assert_int_equal(ran, 0);
	/* 3 and 4 stand behind 0 in the upper one, and 1 behind them. */
	assert_int_equal(weft_manual_run(manual, SIZE_MAX), 1);
	assert_int_equal(ran, 5);
	assert_int_equal(order[0], 0);
	assert_int_equal(order[1], 3);
	assert_int_equal(order[2], 4);
	assert_int_equal(order[3], 1);
	assert_int_equal(order[4], 2);
	assert_int_equal(weft_executor_destroy(top), 0);
	assert_int_equal(weft_executor_destroy(upper), 0);
	close_both();
}

/* ------------------------------------------------------------------------ */
/* Over an executor that refuses. */

static struct {
	weft_executor base; /* must be first */
	size_t accept;	    /* so many more, and then none */
	size_t push;	    /* while asked: so many tasks */
	weft_task *held;
	weft_hint hint;
	size_t asked;
} moody;

static int moody_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	(void)e;
	moody.asked++;
	moody.hint = hint;
	for (; moody.push > 0; moody.push--)
		kit_expect(submit(strand, moody.push) == 0);
	if (moody.accept == 0)
		return -ESHUTDOWN;
	moody.accept--;
	kit_expect(moody.held == NULL);
	moody.held = task;
	return 0;
}

static void moody_run(void)
{
	weft_task *task = moody.held;

	moody.held = NULL;
	weft_task_run(&moody.base, task);
}

static void open_moody(size_t accept, size_t push)
{
	memset(&moody, 0, sizeof(moody));
	moody.base.submit = moody_submit;
	moody.accept = accept;
	moody.push = push;
	strand = open_strand(&moody.base);
}

static void a_refusal_is_passed_on(void **state)
{
	(void)state;
	open_moody(0, 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(submit(strand, 0), -ESHUTDOWN);
	assert_int_equal(ran, 0);
	moody.accept = 1; /* and then it works as if nothing had been */
	assert_int_equal(submit(strand, 0), 0);
	assert_int_equal(submit(strand, 1), 0);
	moody_run();
	expect_order(2);
	assert_int_equal(moody.asked, 4);
	assert_int_equal(weft_executor_destroy(strand), 0);
}

/* Tasks 2 and 1 come between the submit of 0 and its refusal. */
static void what_was_accepted_runs_all_the_same(void **state)
{
	(void)state;
	open_moody(0, 2);
	assert_int_equal(submit(strand, 0), -ESHUTDOWN);
	assert_int_equal(ran, 2);
	assert_int_equal(order[0], 2);
	assert_int_equal(order[1], 1);
	/* 0 is ours, and the strand is idle. */
	moody.accept = 1;
	assert_int_equal(submit(strand, 0), 0);
	moody_run();
	assert_int_equal(ran, 3);
	assert_int_equal(order[2], 0);
	kit_settle();
	assert_int_equal(weft_executor_destroy(strand), 0);
}

/* More than one turn, of which only the first is accepted. */
static void refused_in_the_middle_it_goes_on(void **state)
{
	(void)state;
	open_moody(1, 0);
	for (size_t i = 0; i < 5 * TURN; i++)
		assert_int_equal(submit(strand, i), 0);
	moody_run();
	expect_order(5 * TURN);
	assert_int_equal(moody.hint, WEFT_HINT_YIELD);
	assert_int_equal(moody.asked, 5);
	assert_int_equal(weft_executor_destroy(strand), 0);
}

static void the_hint_is_passed_on(void **state)
{
	(void)state;
	open_moody(3, 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(
			weft_submit(strand, &tasks[i].task, (weft_hint)i), 0);
		assert_int_equal(moody.hint, (weft_hint)i);
		moody_run();
	}
	expect_order(3);
	assert_int_equal(weft_executor_destroy(strand), 0);
}

static void submit_twice(void *arg)
{
	(void)arg;
	(void)!submit(strand, 0);
	(void)!submit(strand, 1);
	(void)!submit(strand, 0);
}

static void a_task_submitted_twice_is_found(void **state)
{
	struct child c;

	(void)state;
	if (!WF_DEBUGGING)
		skip_because("only debug builds of the library look");
	open_both();
	child_run(&c, submit_twice, NULL);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "was submitted again"));
	close_both();
}

/* ------------------------------------------------------------------------ */
/* Destroy. */

static int answers[2];

static void destroy_in_task(weft_task *task)
{
	(void)task;
	answers[0] = weft_executor_destroy(strand);
}

static void *destroy_in_fiber(void *arg)
{
	answers[1] = weft_executor_destroy(strand);
	return arg;
}

static void it_cannot_be_destroyed_from_inside(void **state)
{
	weft_fiber_attr attr;
	weft_fiber *f;

	(void)state;
	open_both();
	attr = (weft_fiber_attr){ .executor = strand };
	tasks[0].task.run = destroy_in_task;
	assert_int_equal(submit(strand, 0), 0);
	assert_int_equal(weft_spawn(&f, &attr, destroy_in_fiber, NULL), 0);
	(void)weft_manual_run(manual, SIZE_MAX);
	assert_int_equal(answers[0], -EDEADLK);
	assert_int_equal(answers[1], -EDEADLK);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	close_both();
}

static void work_a_while(weft_task *task)
{
	size_t i = ((struct numbered *)task)->number;

	kit_pause_us(100);
	note(task);
	if (i + 1 < 10)
		kit_expect(submit(strand, i + 1) == 0);
}

/* All submitted tasks have run, and the tasks that those submitted. */
static void destroy_waits_for_tasks(void **state)
{
	weft_executor *pool;

	(void)state;
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	for (size_t round = 0; round < kit_rounds(100); round++) {
		strand = open_strand(pool);
		for (size_t i = 0; i < 10; i++)
			tasks[i].task.run = work_a_while;
		assert_int_equal(submit(strand, 0), 0);
		assert_int_equal(weft_executor_destroy(strand), 0);
		expect_order(10);
	}
	assert_int_equal(weft_executor_destroy(pool), 0);
}

static weft_group gate;
static _Atomic(size_t) at_gate;

static void *wait_at_gate(void *arg)
{
	wf_add_rlx(&at_gate, 1);
	kit_expect(weft_group_wait(&gate, WEFT_FOREVER) == 0);
	kit_pause_us(100);
	order[ran++] = (size_t)arg;
	return NULL;
}

static void open_gate(void *arg)
{
	while (wf_load_rlx(&at_gate) < 3)
		wf_os_thread_yield();
	kit_pause_us(1000);
	kit_expect(ran == 0);
	weft_group_done(arg);
}

/* The strand is idle all the time, but for the beginning and the end. */
static void destroy_waits_for_fibers(void **state)
{
	weft_executor *pool;

	(void)state;
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	for (size_t round = 0; round < kit_rounds(50); round++) {
		weft_fiber_attr attr;
		struct wf_os_thread opener;
		weft_fiber *f;

		strand = open_strand(pool);
		attr = (weft_fiber_attr){ .executor = strand };
		weft_group_add(&gate, 1);
		wf_store_rlx(&at_gate, 0);
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(
				weft_spawn(&f, &attr, wait_at_gate, (void *)i),
				0);
			weft_detach(f);
		}
		assert_int_equal(
			wf_os_thread_start(&opener, open_gate, &gate, 0, NULL),
			0);
		assert_int_equal(weft_executor_destroy(strand), 0);
		assert_int_equal(ran, 3);
		wf_os_thread_join(&opener);
	}
	assert_int_equal(weft_executor_destroy(pool), 0);
	kit_settle();
}

static bool cancelled;

static void open_later(void *arg)
{
	for (int i = 0; i < 5; i++)
		weft_yield();
	weft_group_done(arg);
}

/* In a fiber of the only worker of the runtime that the strand is over. */
static void *destroy_over_self(void *arg)
{
	weft_executor *e = weft_rt_executor(arg);

	if (cancelled)
		(void)weft_cancel(weft_self());
	for (size_t round = 0; round < 100; round++) {
		weft_fiber_attr attr;
		weft_fiber *f;

		prepare();
		kit_expect(weft_strand_create(&strand, e) == 0);
		attr = (weft_fiber_attr){ .executor = strand };
		weft_group_add(&gate, 1);
		kit_expect(weft_spawn(&f, &attr, wait_at_gate, NULL) == 0);
		weft_detach(f);
		for (size_t i = 0; i < round; i++)
			kit_expect(submit(strand, i) == 0);
		if (cancelled)
			kit_expect(weft_group_wait(&gate, WEFT_FOREVER) ==
				-ECANCELED);
		kit_expect(weft_go(open_later, &gate) == 0);
		kit_expect(weft_executor_destroy(strand) == 0);
		kit_expect(ran == round + 1);
	}
	return NULL;
}

static void play_destroy(void)
{
	kit_play(destroy_over_self, 1);
}

static void a_fiber_may_destroy_what_is_over_its_runtime(void **state)
{
	(void)state;
	cancelled = false;
	play_destroy();
}

static void a_cancelled_fiber_waits_all_the_same(void **state)
{
	(void)state;
	cancelled = true;
	play_destroy();
}

/* ------------------------------------------------------------------------ */
/* Many at once. */

enum { PRODUCERS = 4 };

struct made {
	weft_task task; /* must be first */
	unsigned by;
	size_t number;
};

static struct {
	weft_executor *to;
	struct made *tasks[PRODUCERS];
	size_t count;		/* of each */
	size_t next[PRODUCERS]; /* these by the strand alone */
	size_t ran;
	bool inside;
	_Atomic(size_t) refusals;
} crowd;

/* Plain accesses: only the strand orders them. */
static void expect_next(weft_task *task)
{
	struct made *m = (struct made *)task;

	kit_expect(!crowd.inside);
	crowd.inside = true;
	kit_expect(m->number == crowd.next[m->by]);
	crowd.next[m->by] = m->number + 1;
	crowd.ran++;
	if (m->number % 2048 == 0)
		wf_os_thread_yield();
	crowd.inside = false;
}

static void produce(void *arg, unsigned i)
{
	(void)arg;
	for (size_t j = 0; j < crowd.count; j++) {
		struct made *m = &crowd.tasks[i][j];
		int err;

		*m = (struct made){ { .run = expect_next }, i, j };
		while ((err = weft_submit(
				crowd.to, &m->task, (weft_hint)(j % 3))) != 0) {
			kit_expect(err == -EAGAIN);
			wf_add_rlx(&crowd.refusals, 1);
		}
		/* Let it become idle, now and then. */
		if (j % 1024 == i)
			wf_os_thread_yield();
	}
}

static void play_crowd(weft_executor *over, size_t n)
{
	kit_watch();
	memset(&crowd, 0, sizeof(crowd));
	crowd.count = n;
	for (unsigned i = 0; i < PRODUCERS; i++) {
		crowd.tasks[i] = calloc(n, sizeof(struct made));
		assert_non_null(crowd.tasks[i]);
	}
	crowd.to = open_strand(over);
	threads_run(PRODUCERS, produce, NULL);
	assert_int_equal(weft_executor_destroy(crowd.to), 0);
	kit_settle();
	assert_int_equal(crowd.ran, PRODUCERS * n);
	for (unsigned i = 0; i < PRODUCERS; i++) {
		assert_int_equal(crowd.next[i], n);
		free(crowd.tasks[i]);
	}
}

static void it_keeps_order_over_a_pool(void **state)
{
	weft_executor *pool;

	(void)state;
	assert_int_equal(weft_pool_create(&pool, 3), 0);
	play_crowd(pool, kit_rounds(50000));
	strand = open_strand(pool);
	play_crowd(strand, kit_rounds(50000));
	assert_int_equal(weft_executor_destroy(strand), 0);
	assert_int_equal(weft_executor_destroy(pool), 0);
}

static void it_keeps_order_over_a_runtime(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);

	(void)state;
	play_crowd(weft_rt_executor(rt), kit_rounds(50000));
	kit_stop(rt);
}

static void it_keeps_order_inline(void **state)
{
	(void)state;
	play_crowd(weft_inline(), kit_rounds(50000));
}

/* Refuses every third, and passes the others on. */
static struct {
	weft_executor base; /* must be first */
	weft_executor *under;
	_Atomic(size_t) asked;
} picky;

static int picky_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	(void)e;
	if (wf_add_rlx(&picky.asked, 1) % 3 == 2)
		return -EAGAIN;
	return weft_submit(picky.under, task, hint);
}

/* Each strand begins at least once, so a submit is refused before long. */
static void it_keeps_order_when_refused(void **state)
{
	size_t refusals = 0, n = kit_rounds(5000);

	(void)state;
	picky.base.submit = picky_submit;
	assert_int_equal(weft_pool_create(&picky.under, 2), 0);
	for (int i = 0; i < 10 || refusals == 0; i++) {
		assert_true(i < 1000);
		play_crowd(&picky.base, n);
		refusals += wf_load_rlx(&crowd.refusals);
	}
	assert_int_equal(weft_executor_destroy(picky.under), 0);
}

/* ------------------------------------------------------------------------ */
/* Fibers, alone from one wait to the next. */

enum { FIBERS = 20 };

static void *be_alone(void *arg)
{
	for (size_t i = 0; i < 50; i++) {
		kit_expect(!crowd.inside);
		crowd.inside = true;
		crowd.ran++;
		if (i % 8 == 0)
			wf_os_thread_yield();
		crowd.inside = false;
		if (i == 25)
			kit_expect(weft_group_wait(&gate, WEFT_FOREVER) == 0);
		else
			weft_yield();
	}
	return arg;
}

static void play_fibers(weft_executor *over)
{
	weft_fiber *f[FIBERS];
	weft_fiber_attr attr = { .executor = open_strand(over) };

	memset(&crowd, 0, sizeof(crowd));
	weft_group_add(&gate, 1);
	for (size_t i = 0; i < FIBERS; i++) {
		assert_int_equal(weft_spawn(&f[i], &attr, be_alone, NULL), 0);
		if (i == FIBERS / 2)
			weft_group_done(&gate);
	}
	for (size_t i = 0; i < FIBERS; i++)
		assert_int_equal(weft_join(f[i], NULL, WEFT_FOREVER), 0);
	assert_int_equal(weft_executor_destroy(attr.executor), 0);
	assert_int_equal(crowd.ran, FIBERS * 50);
	kit_settle();
}

static void fibers_are_alone_on_it(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);
	weft_executor *pool, *below;

	(void)state;
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	for (size_t i = 0; i < kit_rounds(20); i++) {
		play_fibers(pool);
		play_fibers(weft_rt_executor(rt));
		below = open_strand(weft_rt_executor(rt));
		play_fibers(below);
		assert_int_equal(weft_executor_destroy(below), 0);
	}
	assert_int_equal(weft_executor_destroy(pool), 0);
	kit_stop(rt);
}

/* ------------------------------------------------------------------------ */
/* The waker of the last fiber is still in its call when the strand is freed. */

static struct {
	_Atomic(weft_group *) gate;
	_Atomic(size_t) round;
	weft_executor *over;
	size_t rounds;
} race;

static void *pass(void *arg)
{
	kit_expect(weft_group_wait(arg, WEFT_FOREVER) == 0);
	return NULL;
}

/* A second at most, however busy the machine is: the round of SIZE_MAX ends. */
static bool begins(_Atomic(size_t) *round, size_t n)
{
	size_t seen;

	while ((seen = wf_load_acq(round)) < n)
		wf_os_thread_yield();
	return seen != SIZE_MAX;
}

static void destroy_soon(size_t n)
{
	weft_executor *e = NULL;
	weft_group g = { 0 };
	weft_fiber_attr attr;
	weft_fiber *f;

	kit_expect(weft_strand_create(&e, race.over) == 0);
	attr = (weft_fiber_attr){ .executor = e };
	weft_group_add(&g, 1);
	kit_expect(weft_spawn(&f, &attr, pass, &g) == 0);
	weft_detach(f);
	wf_store_rlx(&race.gate, &g);
	wf_store_rel(&race.round, n);
	for (volatile size_t j = 0; j < n % 64 * 64; j++)
		continue;
	kit_expect(weft_executor_destroy(e) == 0);
}

static void destroy_or_wake(void *arg, unsigned i)
{
	int64_t until = threads_until_ns(1000);

	(void)arg;
	if (i != 0) {
		for (size_t n = 1; begins(&race.round, n); n++)
			weft_group_done(wf_load_rlx(&race.gate));
		return;
	}
	for (size_t n = 1; n <= race.rounds && threads_now_ns() < until; n++)
		destroy_soon(n);
	wf_store_rel(&race.round, SIZE_MAX);
}

static void it_is_not_touched_after_its_end(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);
	weft_executor *pool;

	(void)state;
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	race.rounds = kit_rounds(3000);
	for (int i = 0; i < 2; i++) {
		kit_watch();
		race.over = i == 0 ? pool : weft_rt_executor(rt);
		wf_store_rlx(&race.round, 0);
		threads_run(2, destroy_or_wake, NULL);
	}
	assert_int_equal(weft_executor_destroy(pool), 0);
	kit_stop(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_run_in_order_over_another),
		cmocka_unit_test(what_a_task_submits_comes_behind),
		cmocka_unit_test(others_have_turns),
		cmocka_unit_test(strands_lie_over_strands),
		cmocka_unit_test(a_refusal_is_passed_on),
		cmocka_unit_test(what_was_accepted_runs_all_the_same),
		cmocka_unit_test(refused_in_the_middle_it_goes_on),
		cmocka_unit_test(the_hint_is_passed_on),
		cmocka_unit_test(a_task_submitted_twice_is_found),
		cmocka_unit_test(it_cannot_be_destroyed_from_inside),
		cmocka_unit_test(destroy_waits_for_tasks),
		cmocka_unit_test(destroy_waits_for_fibers),
		cmocka_unit_test(a_fiber_may_destroy_what_is_over_its_runtime),
		cmocka_unit_test(a_cancelled_fiber_waits_all_the_same),
		cmocka_unit_test(it_keeps_order_over_a_pool),
		cmocka_unit_test(it_keeps_order_over_a_runtime),
		cmocka_unit_test(it_keeps_order_inline),
		cmocka_unit_test(it_keeps_order_when_refused),
		cmocka_unit_test(fibers_are_alone_on_it),
		cmocka_unit_test(it_is_not_touched_after_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
