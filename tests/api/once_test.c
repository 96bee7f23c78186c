/* SPDX-License-Identifier: MIT */
/*
 * tests/api/once_test.c - the first caller runs the function; all others wait
 * until it has returned, also when cancelled; and misuse is one clear line.
 */
#include "api/api.h"

#include "os/child.h"

enum { HANDS = 16 };

static struct {
	weft_once once;
	int calls, value; /* plain: the once orders them */
	_Atomic(int) stage;
	_Atomic(unsigned) back;
} it;

static void begin(void)
{
	memset(&it, 0, sizeof(it));
}

/* ------------------------------------------------------------------------ */
/* Once. */

static void set(void *arg)
{
	it.calls++;
	it.value = *(int *)arg;
}

static void *ask(void *arg)
{
	weft_once_do(&it.once, set, arg);
	expect_eq(it.calls, 1);
	expect(it.value == 1 || it.value == 2);
	return NULL;
}

static void ask_on_thread(void *arg, unsigned i)
{
	(void)arg;
	ask(&(int){ i % 2 ? 1 : 2 });
}

static void the_first_caller_runs_it(void **state)
{
	int first = 1, second = 2;

	(void)state;
	begin();
	weft_once_do(&it.once, set, &first);
	weft_once_do(&it.once, set, &second);
	assert_int_equal(it.calls, 1);
	assert_int_equal(it.value, 1);
	play(1, ask, &second);
	assert_int_equal(it.value, 1);
}

static void fibers_and_threads_meet_in_it(void **state)
{
	weft_rt *rt = rt_workers(2);

	(void)state;
	for (size_t n = 0; n < rounds(300); n++) {
		weft_fiber *f[HANDS];
		int value = 1;

		begin();
		for (size_t i = 0; i < HANDS; i++)
			assert_int_equal(
				weft_rt_spawn(rt, &f[i], NULL, ask, &value), 0);
		if (n % 8 == 0)
			threads_run(2, ask_on_thread, NULL);
		for (size_t i = 0; i < HANDS; i++)
			assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
		assert_expected();
	}
	rt_end(rt);
}

/* ------------------------------------------------------------------------ */
/* It takes a while. */

static void take_a_while(void *arg)
{
	(void)arg;
	atomic_store(&it.stage, 1);
	while (atomic_load(&it.stage) == 1) {
		if (weft_self() != NULL)
			expect_eq(weft_sleep(NS_PER_MS), 0);
		else
			nap_ns(NS_PER_MS);
	}
	it.calls++;
}

static void *wait_for_it(void *arg)
{
	weft_once_do(&it.once, take_a_while, NULL);
	expect_eq(it.calls, 1);
	atomic_fetch_add(&it.back, 1);
	return arg;
}

static bool waits_for_once(weft_fiber *f)
{
	weft_fiber_info info;

	weft_fiber_look(f, &info);
	return info.state == WEFT_FIBER_WAITING && info.waits_for != NULL &&
		strcmp(info.waits_for, "once") == 0 &&
		info.waits_on == &it.once;
}

static void let_it_finish(void *f, unsigned i)
{
	if (i != 0) {
		wait_for_it(NULL);
		return;
	}
	for (size_t k = 1; k < HANDS; k++)
		expect(await(waits_for_once(((weft_fiber **)f)[k])));
	/* The wait is not a cancellation point. */
	for (size_t k = 1; k < HANDS; k += 2)
		expect_eq(weft_cancel(((weft_fiber **)f)[k]), 0);
	nap_ns(3 * NS_PER_MS);
	expect_eq(atomic_load(&it.back), 0);
	atomic_store(&it.stage, 2);
}

static void others_wait_until_it_is_done(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		weft_rt *rt = rt_workers(workers);
		weft_fiber *f[HANDS];

		begin();
		assert_int_equal(
			weft_rt_spawn(rt, &f[0], NULL, wait_for_it, NULL), 0);
		assert_true(await(atomic_load(&it.stage) == 1));
		for (size_t i = 1; i < HANDS; i++)
			assert_int_equal(weft_rt_spawn(rt, &f[i], NULL,
						 wait_for_it, NULL),
				0);
		threads_run(3, let_it_finish, f);
		for (size_t i = 0; i < HANDS; i++)
			assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
		assert_expected();
		assert_int_equal(atomic_load(&it.back), HANDS + 2);
		rt_end(rt);
	}
}

static weft_rt *around;

/* The first thread runs the function; the second has a fiber wait. */
static void do_or_watch(void *arg, unsigned i)
{
	weft_fiber *f = NULL;

	if (i == 0) {
		wait_for_it(arg);
		return;
	}
	expect(await(atomic_load(&it.stage) == 1));
	expect_eq(weft_rt_spawn(around, &f, NULL, wait_for_it, NULL), 0);
	expect(await(waits_for_once(f)));
	expect_eq(atomic_load(&it.back), 0);
	atomic_store(&it.stage, 2);
	expect_eq(weft_join(f, NULL, PATIENCE), 0);
}

static void a_thread_may_run_it(void **state)
{
	(void)state;
	begin();
	around = rt_workers(1);
	threads_run(2, do_or_watch, NULL);
	assert_expected();
	assert_int_equal(atomic_load(&it.back), 2);
	rt_end(around);
}

/* ------------------------------------------------------------------------ */
/* Misuse. */

static void call_again(void *arg)
{
	weft_once_do(arg, call_again, arg);
}

static int call_again_main(void *o)
{
	weft_once_do(o, call_again, o);
	return 0;
}

static void call_again_on_thread(void *o)
{
	call_again(o);
}

static void call_again_in_fiber(void *o)
{
	_exit(weft_run(NULL, call_again_main, o) == 0 ? 0 : 1);
}

static void call_null(void *o)
{
	weft_once_do(o, NULL, NULL);
}

static void nothing(void *o)
{
	(void)o;
}

/* A caller may pass NULL once the function has returned. */
static void no_function_is_needed_afterwards(void **state)
{
	weft_once o = { 0 };

	(void)state;
	weft_once_do(&o, nothing, NULL);
	weft_once_do(&o, NULL, NULL);
}

static void misuse_ends_in_one_clear_line(void **state)
{
	static const struct {
		void (*call)(void *);
		const char *says;
	} wrong[] = {
		{ call_again_on_thread, "its function calls weft_once_do" },
		{ call_again_in_fiber, "its function calls weft_once_do" },
		{ call_null, "passes no function" },
	};
	struct child c;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		static weft_once o;

		child_run(&c, wrong[i].call, &o);
		if (!child_was_misuse(&c, wrong[i].says))
			fail_msg("case %zu: status %#x, says %s", i, c.status,
				c.first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_caller_runs_it),
		cmocka_unit_test(fibers_and_threads_meet_in_it),
		cmocka_unit_test(others_wait_until_it_is_done),
		cmocka_unit_test(a_thread_may_run_it),
		cmocka_unit_test(no_function_is_needed_afterwards),
		cmocka_unit_test(misuse_ends_in_one_clear_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
