/* SPDX-License-Identifier: MIT */
/*
 * tests/fault/runtime_test.c - whichever call of the system fails, a runtime is
 * refused as a whole, a fiber is refused with -ENOMEM, or there are fewer
 * threads; accepted fibers and tasks run to their end, and nothing leaks.
 *
 * One run starts a runtime, starts fibers and tasks in all ways, from inside
 * and outside, with several sizes of stacks, and stops it.  It is repeated with
 * the first call of a kind failing, then the second, and so on, until a run
 * meets no failure: once for a single failure, and once with all calls failing
 * from there on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>

#include "os/os.h"
#include "stress/sched_kit.h"
#include "support/os_faults.h"

/* ------------------------------------------------------------------------ */
/* The number of threads and open files must be as before. */

struct traces {
	size_t threads;
	size_t descriptors;
};

static size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	size_t n = 0;

	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL)
		n += d->d_name[0] != '.';
	closedir(dir);
	return n;
}

static struct traces look(void)
{
	return (struct traces){ .threads = count_entries("/proc/self/task"),
		.descriptors = count_entries("/proc/self/fd") };
}

/* A thread that was joined may still be seen for a moment. */
static void expect_traces(const struct traces *before)
{
	struct traces now = look();

	for (int i = 0; i < 1000 && now.threads != before->threads; i++) {
		kit_pause_us(1000);
		now = look();
	}
	assert_int_equal(now.threads, before->threads);
	assert_int_equal(now.descriptors, before->descriptors);
	assert_true(os_faults_all_returned());
}

/* ------------------------------------------------------------------------ */
/* A run. */

enum { OUTSIDE = 40, INSIDE = 150, LARGE = 12, TASKS = 50 };

struct plan {
	weft_config cfg;
	unsigned kinds;
	size_t times;
	bool later; /* only once the runtime has started */
};

static struct run {
	weft_rt *rt;
	_Atomic(size_t) accepted, refused, ran;
	weft_group gate; /* all fibers wait there */
	weft_group open; /* accepted, and not ended yet */
	weft_task task[TASKS];
} run;

/* The result of a call that starts a fiber. */
static bool accepted(int err)
{
	kit_expect(err == 0 || err == -ENOMEM);
	if (err == 0) {
		wf_add_rlx(&run.accepted, 1);
		return true;
	}
	kit_expect(os_faults_injected() > 0);
	wf_add_rlx(&run.refused, 1);
	weft_group_done(&run.open);
	return false;
}

static void *wait_and_end(void *arg)
{
	char some[2000];

	memset(some, 1, sizeof(some));
	kit_expect(weft_group_wait(&run.gate, WEFT_FOREVER) == 0);
	weft_yield();
	kit_expect(some[0] == 1 && some[sizeof(some) - 1] == 1);
	wf_add_rlx(&run.ran, 1);
	weft_group_done(&run.open);
	return arg;
}

static void go_and_end(void *arg)
{
	(void)wait_and_end(arg);
}

static void task_ends(weft_task *task)
{
	(void)task;
	wf_add_rlx(&run.ran, 1);
	weft_group_done(&run.open);
}

static void spawn(size_t stack_bytes)
{
	weft_fiber_attr a = { .stack_bytes = stack_bytes,
		.executor = weft_rt_executor(run.rt) };
	weft_fiber *f = NULL;

	weft_group_add(&run.open, 1);
	if (accepted(weft_spawn(&f, &a, wait_and_end, NULL)))
		weft_detach(f);
	else
		kit_expect(f == NULL);
}

static void *child(void *arg)
{
	weft_yield();
	return arg;
}

/* A child is joined, or was refused. */
static void have_child(void)
{
	void *result = NULL;
	weft_fiber *f;
	int err = weft_spawn(&f, NULL, child, &run);

	kit_expect(err == 0 || (err == -ENOMEM && os_faults_injected() > 0));
	if (err != 0)
		return;
	kit_expect(weft_join(f, &result, WEFT_FOREVER) == 0);
	kit_expect(result == &run);
}

/* A fiber that starts fibers and children. */
static void start_inside(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < INSIDE; i++) {
		weft_group_add(&run.open, 1);
		(void)accepted(weft_go(go_and_end, NULL));
		have_child();
		if (i % 16 == 0)
			weft_yield();
	}
	for (size_t i = 0; i < LARGE; i++)
		spawn(WF_MIB);
	wf_add_rlx(&run.ran, 1);
	weft_group_done(&run.open);
}

/* Tasks need no memory and are never refused. */
static void submit_tasks(void)
{
	weft_executor *e = weft_rt_executor(run.rt);

	weft_group_add(&run.open, TASKS);
	for (size_t i = 0; i < TASKS; i++) {
		run.task[i].run = task_ends;
		wf_add_rlx(&run.accepted, 1);
		assert_int_equal(
			weft_submit(e, &run.task[i], WEFT_HINT_DEFAULT), 0);
	}
}

static void go_through(void)
{
	weft_group_add(&run.gate, 1);
	submit_tasks();
	weft_group_add(&run.open, 1);
	(void)accepted(weft_rt_go(run.rt, start_inside, NULL));
	for (size_t i = 0; i < OUTSIDE; i++) {
		weft_group_add(&run.open, 1);
		(void)accepted(weft_rt_go(run.rt, go_and_end, NULL));
		spawn(i % 8 ? 0 : 256 * WF_KIB);
	}
	/* Time for fibers to wait, and for threads to be started. */
	kit_pause_us(1000);
	weft_group_done(&run.gate);
	assert_int_equal(weft_group_wait(&run.open, WEFT_FOREVER), 0);
	assert_int_equal(wf_load_rlx(&run.ran), wf_load_rlx(&run.accepted));
}

/* After the repair no fiber is refused. */
static void go_on(void)
{
	size_t refused = wf_load_rlx(&run.refused);

	os_faults_repair();
	weft_group_add(&run.gate, 1);
	for (size_t i = 0; i < OUTSIDE; i++)
		spawn(i % 8 ? 0 : WF_MIB);
	weft_group_done(&run.gate);
	assert_int_equal(weft_group_wait(&run.open, WEFT_FOREVER), 0);
	assert_int_equal(wf_load_rlx(&run.refused), refused);
	assert_int_equal(wf_load_rlx(&run.ran), wf_load_rlx(&run.accepted));
}

/* Let the nth call fail.  True: one did. */
static bool run_with(const struct plan *plan, size_t nth, size_t *errors)
{
	struct traces before = look();
	int err;

	kit_watch();
	os_faults_clear();
	if (!plan->later)
		os_faults_plan(plan->kinds, nth, plan->times);
	run = (struct run){ .rt = NULL };
	err = weft_rt_start(&run.rt, &plan->cfg);
	if (err != 0) {
		assert_true(err == -ENOMEM || err == -EAGAIN);
		assert_true(os_faults_injected() > 0);
		assert_null(run.rt);
		*errors += 1;
	} else {
		if (plan->later)
			os_faults_plan(plan->kinds, nth, plan->times);
		go_through();
		go_on();
		assert_int_equal(weft_rt_stop(run.rt, WEFT_FOREVER), 0);
		*errors += wf_load_rlx(&run.refused) > 0;
	}
	kit_settle();
	expect_traces(&before);
	return os_faults_injected() > 0;
}

/* ------------------------------------------------------------------------ */
/* All there is to fail. */

/* Skip some where time is short. */
static size_t next(size_t nth)
{
	bool every = !kit_slow() && threads_rounds(100) == 100;

	return every ? nth + 1 : nth + 1 + nth / 2;
}

static void sweep(const struct plan *plan)
{
	size_t faults = 0, errors = 0, nth;

	for (nth = 1; run_with(plan, nth, &errors); nth = next(nth))
		faults++;
	printf("%u workers, kinds %#2x, %s%s: %zu runs with a fault, %zu with "
	       "an error\n",
		plan->cfg.workers, plan->kinds,
		plan->times == 1 ? "once" : "from then on",
		plan->later ? ", later" : "", faults, errors);
}

static void sweep_all(unsigned kinds, bool later)
{
	static const uint32_t workers[] = { 2, 1, 8 };
	/* Where time is short, two workers stand for all. */
	size_t n = kit_slow() ? 1 : 3;

	for (size_t i = 0; i < 2 * n; i++) {
		struct plan plan = { .cfg.workers = workers[i / 2],
			.kinds = kinds,
			.later = later,
			.times = i % 2 ? OS_FAULTS_FOREVER : 1 };

		sweep(&plan);
	}
}

static void mappings_fail(void **state)
{
	(void)state;
	sweep_all(OS_FAULTS_MAP, false);
	sweep_all(OS_FAULTS_MAP, true);
}

static void allocations_fail(void **state)
{
	(void)state;
	sweep_all(OS_FAULTS_ALLOC, false);
	sweep_all(OS_FAULTS_ALLOC, true);
}

static void guards_fail(void **state)
{
	(void)state;
	sweep_all(OS_FAULTS_GUARD, false);
	sweep_all(OS_FAULTS_GUARD | OS_FAULTS_PROTECT, true);
}

static void threads_fail(void **state)
{
	(void)state;
	sweep_all(OS_FAULTS_THREAD, false);
	sweep_all(OS_FAULTS_THREAD, true);
}

static void calls_of_any_kind_fail(void **state)
{
	(void)state;
	sweep_all(OS_FAULTS_ALL, false);
	sweep_all(OS_FAULTS_ALL, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mappings_fail),
		cmocka_unit_test(allocations_fail),
		cmocka_unit_test(guards_fail),
		cmocka_unit_test(threads_fail),
		cmocka_unit_test(calls_of_any_kind_fail),
	};

	kit_first_thread();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
