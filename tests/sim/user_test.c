/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/user_test.c - what a program may ask of the simulator does what
 * weft/sim.h says: in threads, in fibers, and outside of a simulation.
 */
#include "sim/sim_kit.h"

#include <signal.h>

#include <weft/weft.h>

#include "base/units.h"
#include "os/os.h"
#include "sim/engine.h"

static uint64_t *kept;
static _Atomic(uint32_t) word, flag, done;

/* --------------------------------------------------------------- outside */

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static void nothing(void *arg)
{
	(void)arg;
}

/* Before the first exploration, and after it. */
static void outside_they_do_nothing(void **state)
{
	int local;

	(void)state;
	for (int i = 0; i < 2; i++) {
		weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
		weft_sim_report r;

		assert_false(weft_sim_active());
		assert_int_equal(weft_sim_either(5), 0);
		assert_false(weft_sim_fault("here", 1));
		weft_sim_os_faults(1);
		weft_sim_quiesce();
		weft_sim_assert(true, "not so");
		weft_sim_assert_eventually(never, NULL, 5, "never");
		assert_int_equal(weft_sim_thread(nothing, NULL, "t"), -EPERM);
		assert_int_equal(weft_sim_join(1), -EINVAL);
		weft_sim_yield();
		weft_sim_name(&local, sizeof(local), "local");
		o.schedules = 3;
		kit_passes(&o, nothing, NULL, &r);
	}
}

static void assert_outside(void)
{
	weft_sim_assert(false, "it is %d", 6);
}

static void an_assertion_outside_ends_the_program(void **state)
{
	struct kit_stderr *s = malloc(sizeof(*s));
	int status = kit_process(assert_outside, s);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_string_equal(s->text, "weft_sim_assert: it is 6\n");
	free(s);
}

/* ------------------------------------------------------------ assertions */

static void assert_inside(void *arg)
{
	weft_sim_assert(arg == NULL, "never");
	weft_sim_assert(weft_sim_active(), "not active");
	weft_sim_assert(weft_sim_either(7) != 5, "%s %d", "five is", 5);
}

static void in_check(void *arg)
{
	/* A check is not part of the program that is simulated. */
	weft_sim_assert(!weft_sim_active(), "active in a check");
	(void)arg;
}

static void an_assertion_fails_the_run(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	o.invariant = in_check;
	kit_fails(&o, assert_inside, NULL, "assertion", &r);
	assert_string_equal(r.message, "five is 5");
	assert_int_equal(r.schedules, 6);
}

static void either_of(void *arg)
{
	weft_sim_assert(weft_sim_either(*(unsigned *)arg) < 65535, "too much");
}

static void either_has_limits(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	unsigned n[] = { 0, 65536, 65535 };
	weft_sim_report r;

	(void)state;
	kit_fails(&o, either_of, &n[0], "assertion", &r);
	kit_says(r.message, "weft_sim_either(0)");
	kit_fails(&o, either_of, &n[1], "assertion", &r);
	kit_says(r.message, "weft_sim_either(65536)");
	kit_passes(&o, either_of, &n[2], &r);
}

static void long_message(void *arg)
{
	char text[2000];

	(void)arg;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	weft_sim_assert(false, "%s", text);
}

static void a_long_message_is_cut(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(long_message, 0, "assertion", &r);
	assert_true(strlen(r.message) > 200 &&
		strlen(r.message) < sizeof(r.message));
}

/* --------------------------------------------------------------- quiesce */

static void sleep_once(void *arg)
{
	(void)arg;
	while (atomic_load(&word) == 0)
		kit_use((uint64_t)wf_os_futex_wait(&word, 0, INT64_MAX));
	kit_use(atomic_fetch_add(&done, 1));
}

static void wake_all(void)
{
	atomic_store(&word, 1);
	kit_use((uint64_t)wf_os_futex_wake(&word, 9));
}

/* The others have come as far as they can, no further. */
static void quiesce_in_thread(void *arg)
{
	int a = kit_thread(sleep_once, NULL, "a");
	int b = kit_thread(sleep_once, NULL, "b");

	(void)arg;
	weft_sim_quiesce();
	for (uint32_t i = 1; i <= 2; i++)
		weft_sim_assert(wf_sim->thread[i].state == WF_SIM_ASLEEP,
			"thread %u is not asleep", i);
	weft_sim_assert(kit_newest(&done) == 0, "they went on");
	wake_all();
	weft_sim_quiesce();
	weft_sim_assert(kit_newest(&done) == 2, "they did not come to an end");
	kit_join(a);
	kit_join(b);
}

static void a_thread_waits_for_quiet(void **state)
{
	weft_sim_opts o = kit_opts(0, 0);
	weft_sim_report r;

	(void)state;
	kit_holds(quiesce_in_thread, 0);
	o.schedules = 3000;
	kit_passes(&o, quiesce_in_thread, NULL, &r);
}

/* What all have done so far is seen, and happened before. */
static uint32_t plain;

static void write_and_sleep(void *arg)
{
	(void)arg;
	plain = 5;
	atomic_store_explicit(&flag, 5, memory_order_relaxed);
	sleep_once(NULL);
}

static void look_when_quiet(void *arg)
{
	int id = kit_thread(write_and_sleep, NULL, "writes");

	(void)arg;
	weft_sim_quiesce();
	weft_sim_assert(plain == 5, "not written");
	weft_sim_assert(atomic_load_explicit(&flag, memory_order_relaxed) == 5,
		"an old value");
	wake_all();
	kit_join(id);
}

static void quiet_is_an_order(void **state)
{
	(void)state;
	kit_holds(look_when_quiet, 0);
}

/* No time passes for it. */
static void sleep_an_hour(void *arg)
{
	(void)arg;
	while (wf_os_futex_wait(&flag, 0, 3600 * WF_NS_PER_S) == 0)
		;
	atomic_store(&flag, 2);
}

static void quiesce_beside_a_timer(void *arg)
{
	int id = kit_thread(sleep_an_hour, NULL, "sleeper");

	(void)arg;
	weft_sim_quiesce();
	weft_sim_assert(atomic_load(&flag) == 0, "time has passed");
	kit_join(id);
}

static void quiet_is_before_time_passes(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	o.preemptions = 2;
	o.stales = 1;
	kit_passes(&o, quiesce_beside_a_timer, NULL, &r);
}

/* Two of them wait for quiet: neither waits for the other. */
static void quiesce_too(void *arg)
{
	(void)arg;
	weft_sim_quiesce();
	kit_use(atomic_fetch_add(&done, 1));
}

static void two_quiesce(void *arg)
{
	(void)arg;
	kit_pair(quiesce_too, quiesce_too);
	weft_sim_assert(kit_newest(&done) == 2, "one is missing");
}

static void several_wait_for_quiet(void **state)
{
	(void)state;
	kit_holds(two_quiesce, 0);
}

/* ------------------------------------------------------ fibers and quiet */

/* Yields so often, and is then done. */
static void yield_and_end(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++)
		weft_yield();
	kit_use(atomic_fetch_add(&done, 1));
}

static weft_fiber *parked;

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	parked = f;
	atomic_store(&flag, 1);
	return true;
}

static void *park(void *arg)
{
	struct weft_awaiter a = { .commit = publish };

	kit_use((uint64_t)weft_suspend(&a));
	kit_use(atomic_fetch_add(&done, 10));
	return arg;
}

/* Every other fiber waits or has ended. */
static int quiesce_fibers(void *arg)
{
	weft_fiber *f;

	(void)arg;
	for (uintptr_t i = 0; i < 5; i++)
		weft_sim_assert(weft_go(yield_and_end, (void *)i) == 0, "go");
	weft_sim_assert(weft_spawn(&f, NULL, park, NULL) == 0, "spawn");
	weft_sim_quiesce();
	weft_sim_assert(kit_newest(&done) == 5, "%u of 5 have ended",
		kit_newest(&done));
	weft_sim_assert(kit_newest(&flag) == 1, "it does not wait yet");
	weft_wake(parked, WEFT_HINT_DEFAULT);
	weft_sim_quiesce();
	weft_sim_assert(kit_newest(&done) == 15, "it was not woken");
	weft_sim_assert(weft_join(f, NULL, WEFT_FOREVER) == 0, "join");
	return 0;
}

static void quiesce_in_fiber(void *arg)
{
	weft_config c = { .workers = 2 };

	weft_sim_assert(weft_run(&c, quiesce_fibers, arg) == 0, "weft_run");
}

static void a_fiber_waits_for_quiet(void **state)
{
	weft_sim_opts o =
		kit_opts(WEFT_SIM_WALK | WEFT_SIM_PCT | WEFT_SIM_URW, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 1500;
	kit_passes(&o, quiesce_in_fiber, NULL, &r);
}

/* A plain thread that waits for the fibers of a runtime. */
static void quiesce_beside_runtime(void *arg)
{
	weft_config c = { .workers = 2 };
	weft_rt *rt;

	(void)arg;
	weft_sim_assert(weft_rt_start(&rt, &c) == 0, "start");
	for (uintptr_t i = 0; i < 5; i++)
		weft_sim_assert(
			weft_rt_go(rt, yield_and_end, (void *)i) == 0, "go");
	weft_sim_quiesce();
	weft_sim_assert(kit_newest(&done) == 5, "%u of 5 have ended",
		kit_newest(&done));
	weft_sim_assert(weft_rt_stop(rt, WEFT_FOREVER) == 0, "stop");
}

static void a_thread_waits_for_fibers(void **state)
{
	weft_sim_opts o =
		kit_opts(WEFT_SIM_WALK | WEFT_SIM_PCT | WEFT_SIM_URW, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 1500;
	kit_passes(&o, quiesce_beside_runtime, NULL, &r);
}

/* ------------------------------------------------------------ eventually */

static bool is_set(void *arg)
{
	return atomic_load((_Atomic(uint32_t) *)arg) == 2;
}

static void set_in_an_hour(void *arg)
{
	int id = kit_thread(sleep_an_hour, NULL, "sleeper");

	weft_sim_assert_eventually(is_set, &flag,
		(int64_t)(uintptr_t)arg * WF_NS_PER_S, "the flag");
	kit_join(id);
}

static void it_comes_true_in_time(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	o.preemptions = 1;
	o.stales = 1;
	kit_passes(&o, set_in_an_hour, (void *)3601, &r);
	kit_fails(&o, set_in_an_hour, (void *)3598, "eventually", &r);
	assert_string_equal(r.message,
		"the flag does not come true within 3598000000000 ns");
	/* A deadline that overflows is far enough. */
	kit_passes(&o, set_in_an_hour,
		(void *)(uintptr_t)(INT64_MAX / WF_NS_PER_S), &r);
}

static void never_set(void *arg)
{
	(void)arg;
	weft_sim_assert_eventually(is_set, &flag, INT64_MAX, "the flag");
}

static void already_set(void *arg)
{
	(void)arg;
	atomic_store(&flag, 2);
	weft_sim_assert_eventually(is_set, &flag, 0, "the flag");
}

static void it_comes_true_or_not(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(never_set, 0, "eventually", &r);
	kit_holds(already_set, 0);
}

/* Without a point: a condition may look at plain memory. */
static bool napped(void *arg)
{
	(void)arg;
	return kit_get(&kept[5]) == 1;
}

static void nap(void *arg)
{
	int64_t end = (int64_t)(uintptr_t)arg;

	while (wf_os_futex_wait(&word, 0, end) == 0)
		;
	kit_count(&kept[5]);
}

/* The deadline is past already, and nobody has passed a point since. */
static void look_after_the_deadline(void *arg)
{
	int64_t soon = wf_os_now_ns() + 5000;
	int id = kit_thread(nap, (void *)(uintptr_t)soon, "naps");

	(void)arg;
	kit_set(&kept[5], 0);
	weft_sim_quiesce();
	while (wf_os_now_ns() < soon)
		;
	weft_sim_assert_eventually(napped, NULL, WF_NS_PER_S, "the nap");
	kit_join(id);
}

static void a_late_deadline_still_comes(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	o.steps = 1000;
	kit_passes(&o, look_after_the_deadline, NULL, &r);
	assert_true(r.complete);
}

static bool five_are_done(void *arg)
{
	(void)arg;
	return atomic_load(&done) == 5;
}

static int eventually_in_fiber(void *arg)
{
	(void)arg;
	for (uintptr_t i = 0; i < 5; i++)
		weft_sim_assert(weft_go(yield_and_end, (void *)i) == 0, "go");
	weft_sim_assert_eventually(
		five_are_done, NULL, WF_NS_PER_S, "that five are done");
	return 0;
}

static void eventually_in_runtime(void *arg)
{
	weft_config c = { .workers = 2 };

	weft_sim_assert(weft_run(&c, eventually_in_fiber, arg) == 0, "run");
}

static void it_comes_true_in_fibers(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK | WEFT_SIM_URW, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 500;
	kit_passes(&o, eventually_in_runtime, NULL, &r);
}

/* ---------------------------------------------------------------- faults */

static void fault_often(void *arg)
{
	unsigned per = (unsigned)(uintptr_t)arg;
	void *p;

	for (int i = 0; i < 100; i++)
		kit_count(&kept[weft_sim_fault("here", per)]);
	/* It is not one of the operating system's. */
	p = wf_os_alloc(1);
	weft_sim_assert(p != NULL, "no memory");
	wf_os_free(p);
}

static void one_of_so_many_is_a_fault(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 300;
	for (uintptr_t per = 0; per <= 20; per += 10) {
		memset(kept, 0, 4096);
		kit_passes(&o, fault_often, (void *)per, &r);
		if (per == 0)
			assert_int_equal(kept[1], 0);
		else
			assert_true(
				kept[1] * per > 24000 && kept[1] * per < 36000);
	}
}

/* ---------------------------------------------------------------- threads */

static void yield_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		kit_set(&kept[0], kit_get(&kept[0]) * 2 + (uintptr_t)arg);
		weft_sim_yield();
	}
}

static void yield_together(void *arg)
{
	int id = kit_thread(yield_often, (void *)1, "one");

	(void)arg;
	kit_set(&kept[0], 0);
	yield_often((void *)0);
	kit_join(id);
	/* In turns, until the first has no more to do. */
	weft_sim_assert(kit_get(&kept[0]) == 0x55555, "%llx",
		(unsigned long long)kit_get(&kept[0]));
}

static void a_yield_lets_another_run(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	o.stales = 1;
	kit_passes(&o, yield_together, NULL, &r);
}

static void sleep_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		kit_use((uint64_t)wf_os_futex_wait(&word, 0, INT64_MAX));
}

static void name_threads(void *arg)
{
	(void)arg;
	kit_use((uint64_t)kit_thread(sleep_for_ever, NULL, NULL));
	kit_use((uint64_t)kit_thread(sleep_for_ever, NULL,
		"a name that is longer than there is room for"));
}

static void threads_have_names(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(name_threads, 0, "deadlock", &r);
	kit_says(r.message,
		"1 (thread) is asleep; "
		"2 (a name that is longer t) is asleep");
}

static int setup(void **state)
{
	kept = kit_keep(4096);
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outside_they_do_nothing),
		cmocka_unit_test(an_assertion_outside_ends_the_program),
		cmocka_unit_test(an_assertion_fails_the_run),
		cmocka_unit_test(either_has_limits),
		cmocka_unit_test(a_long_message_is_cut),
		cmocka_unit_test(a_thread_waits_for_quiet),
		cmocka_unit_test(quiet_is_an_order),
		cmocka_unit_test(quiet_is_before_time_passes),
		cmocka_unit_test(several_wait_for_quiet),
		cmocka_unit_test(a_fiber_waits_for_quiet),
		cmocka_unit_test(a_thread_waits_for_fibers),
		cmocka_unit_test(it_comes_true_in_time),
		cmocka_unit_test(it_comes_true_or_not),
		cmocka_unit_test(a_late_deadline_still_comes),
		cmocka_unit_test(it_comes_true_in_fibers),
		cmocka_unit_test(one_of_so_many_is_a_fault),
		cmocka_unit_test(a_yield_lets_another_run),
		cmocka_unit_test(threads_have_names),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
