/* SPDX-License-Identifier: MIT */
/*
 * tests/api/thread_exit_test.c - a fiber or task that ends its thread ends the
 * program with one line.
 *
 * A thread that ends takes with it what waits in its queues, so this cannot be
 * survived; without the line the program would hang.  Each way to end a thread
 * is tried in each place where user code runs.  Children do it, before the test
 * has started any thread.
 */
#include "api.h"

#include <pthread.h>

#include "os/child.h"

#ifdef __SANITIZE_ADDRESS__
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifndef ASAN
#define ASAN 0
#endif

/* ------------------------------------------------------------------------ */
/* Ways to end a thread. */

static void by_exit(void)
{
	pthread_exit(NULL);
}

static void by_cancel(void)
{
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

static void by_cancel_anywhere(void)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cancel(pthread_self());
}

/* ------------------------------------------------------------------------ */
/* Places.  Each gets the way as its argument, and returns only if the test has
 * failed; the alarm of the child ends one that hangs. */

typedef void way_fn(void);

struct plan {
	void (*place)(way_fn *way);
	const char *says;
	bool on_own_stack;	/* of the thread, from the system */
	way_fn *way;
};

static void *fiber(void *arg)
{
	((way_fn *)arg)();
	return NULL;
}

static void *late_fiber(void *arg)
{
	for (int i = 0; i < 10; i++)
		weft_yield();
	(void)weft_sleep(NS_PER_MS);
	return fiber(arg);
}

static void task(void *arg)
{
	((way_fn *)arg)();
}

static weft_fiber *named(weft_executor *e, void *(*fn)(void *), way_fn *way)
{
	weft_fiber_attr attr = { .name = "culprit", .executor = e };
	weft_fiber *f = NULL;

	if (weft_spawn(&f, &attr, fn, (void *)way) != 0)
		_exit(120);
	return f;
}

static weft_rt *runtime(unsigned workers)
{
	weft_config cfg = { .workers = workers };
	weft_rt *rt;

	if (weft_rt_start(&rt, &cfg) != 0)
		_exit(121);
	return rt;
}

static void in_fiber(way_fn *way)
{
	weft_executor *e = weft_rt_executor(runtime(1));

	(void)!weft_join(named(e, fiber, way), NULL, WEFT_FOREVER);
}

static void in_late_fiber(way_fn *way)
{
	weft_executor *e = weft_rt_executor(runtime(2));
	weft_fiber *others[4];

	for (int i = 0; i < 4; i++)
		others[i] = named(e, late_fiber, way);
	for (int i = 0; i < 4; i++)
		(void)!weft_join(others[i], NULL, WEFT_FOREVER);
}

static void *joiner(void *way)
{
	(void)!weft_join(named(NULL, fiber, way), NULL, WEFT_FOREVER);
	return NULL;
}

static void in_child_as_call(way_fn *way)
{
	weft_fiber *f;

	if (weft_rt_spawn(runtime(1), &f, NULL, joiner, (void *)way) != 0)
		_exit(122);
	(void)!weft_join(f, NULL, WEFT_FOREVER);
}

static void wait_for_ever(void)
{
	for (;;)
		nap_ns(NS_PER_S);
}

static void submit(weft_executor *e, way_fn *way)
{
	if (weft_submit_fn(e, task, (void *)way) != 0)
		_exit(123);
}

static void in_task(way_fn *way)
{
	submit(weft_rt_executor(runtime(1)), way);
	wait_for_ever();
}

static weft_executor *pool(void)
{
	weft_executor *e;

	if (weft_pool_create(&e, 1) != 0)
		_exit(124);
	return e;
}

static void in_pool_task(way_fn *way)
{
	submit(pool(), way);
	wait_for_ever();
}

static void in_pool_fiber(way_fn *way)
{
	(void)!weft_join(named(pool(), late_fiber, way), NULL, WEFT_FOREVER);
}

static void in_strand_fiber(way_fn *way)
{
	weft_executor *e;

	if (weft_strand_create(&e, pool()) != 0)
		_exit(126);
	(void)!weft_join(named(e, fiber, way), NULL, WEFT_FOREVER);
}

static void *run_by_hand(void *manual)
{
	weft_manual_run(manual, SIZE_MAX);
	return NULL;
}

static weft_executor *manual(void)
{
	weft_executor *e;

	if (weft_manual_create(&e) != 0)
		_exit(127);
	return e;
}

/* On a thread that the program has created. */
static void in_manual_fiber(way_fn *way)
{
	weft_executor *e = manual();
	weft_fiber *f = named(e, fiber, way);
	pthread_t thread;

	pthread_create(&thread, NULL, run_by_hand, e);
	(void)!weft_join(f, NULL, WEFT_FOREVER);
}

static void in_manual_task(way_fn *way)
{
	weft_executor *e = manual();
	pthread_t thread;

	submit(e, way);
	pthread_create(&thread, NULL, run_by_hand, e);
	wait_for_ever();
}

static void in_manual_fiber_of_main(way_fn *way)
{
	weft_executor *e = manual();

	(void)named(e, fiber, way);
	run_by_hand(e);
}

static const struct plan plans[] = {
	{ .place = in_fiber, .says = "fiber \"culprit\"" },
	{ .place = in_late_fiber, .says = "fiber \"culprit\"" },
	{ .place = in_child_as_call, .says = "fiber \"culprit\"" },
	{ .place = in_pool_fiber, .says = "fiber \"culprit\"" },
	{ .place = in_strand_fiber, .says = "fiber \"culprit\"" },
	{ .place = in_manual_fiber, .says = "fiber \"culprit\"" },
	{ .place = in_manual_fiber_of_main, .says = "fiber \"culprit\"" },
	{ .place = in_task, .says = "a task" },
	{ .place = in_pool_task, .says = "a task", .on_own_stack = true },
	{ .place = in_manual_task, .says = "a task", .on_own_stack = true },
};

/* ------------------------------------------------------------------------ */

static void play_plan(void *arg)
{
	struct plan *p = arg;

	p->place(p->way);
}

/*
 * Does a sanitizer end the program with words of its own?  AddressSanitizer is
 * not told of a cancellation, and takes frames that were unwound for live ones.
 * ThreadSanitizer does not allow pthread_exit on the stack of a fiber.
 */
static bool sanitizer_is_first(const struct plan *p)
{
	if (ASAN && p->on_own_stack)
		return p->way != by_exit;
	return API_TSAN && !p->on_own_stack && p->way == by_exit;
}

static void try_everywhere(way_fn *way)
{
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		struct plan p = plans[i];
		struct child c;

		p.way = way;
		if (sanitizer_is_first(&p))
			continue;
		child_run(&c, play_plan, &p);
		if (!child_was_misuse(&c, p.says) ||
			!child_was_misuse(&c, "pthread_exit"))
			fail_msg("plan %zu: status %x, says: %s", i,
				(unsigned)c.status, c.text);
	}
}

static void pthread_exit_ends_in_one_line(void **state)
{
	(void)state;
	try_everywhere(by_exit);
}

static void pthread_cancel_ends_in_one_line(void **state)
{
	(void)state;
	try_everywhere(by_cancel);
}

static void asynchronous_cancellation_ends_in_one_line(void **state)
{
	(void)state;
	try_everywhere(by_cancel_anywhere);
}

/* ------------------------------------------------------------------------ */
/* Threads that may end. */

static pthread_key_t key;

static void count(void *arg)
{
	++*(int *)arg;
}

static int ran;

/* A thread's destructor that uses weft. */
static void run_more(void *e)
{
	expect_eq(weft_submit_fn(e, count, &ran), 0);
	expect_eq(weft_manual_run(e, SIZE_MAX), 1);
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static void *use_and_exit(void *e)
{
	weft_config cfg = { .workers = 1 };

	pthread_setspecific(key, e);
	run_more(e);
	expect_eq(weft_run(&cfg, nothing, NULL), 0);
	pthread_exit(NULL);
}

static void a_thread_that_is_done_with_weft_may_end(void **state)
{
	weft_executor *e = manual();
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_key_create(&key, run_more), 0);
	assert_int_equal(pthread_create(&thread, NULL, use_and_exit, e), 0);
	pthread_join(thread, NULL);
	assert_expected();
	assert_int_equal(ran, 2);
	assert_int_equal(weft_executor_destroy(e), 0);
	pthread_key_delete(key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pthread_exit_ends_in_one_line),
		cmocka_unit_test(pthread_cancel_ends_in_one_line),
		cmocka_unit_test(asynchronous_cancellation_ends_in_one_line),
		cmocka_unit_test(a_thread_that_is_done_with_weft_may_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
