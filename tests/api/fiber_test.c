/* SPDX-License-Identifier: MIT */
/*
 * tests/api/fiber_test.c - a fiber has its attributes, runs once, and shows its
 * state to weft_fiber_look; yield gives way to all ready fibers and tasks.
 */
#include "api/api.h"

#include <weft/weft.h>

#define LARGE_STACK ((size_t)8 << 20)
#define MOST_STACK ((size_t)1 << 30)

/* ------------------------------------------------------------------------ */
/* Starting. */

static struct {
	weft_group group;
	_Atomic(size_t) ran;
	weft_rt *rt;
} start;

static void count_one(void *arg)
{
	(void)arg;
	expect(weft_self() != NULL);
	atomic_fetch_add(&start.ran, 1);
	weft_group_done(&start.group);
}

static void *go_many(void *arg)
{
	size_t n = crowd(5000);

	(void)arg;
	weft_group_add(&start.group, (int64_t)n);
	for (size_t i = 0; i < n; i++)
		expect_eq(weft_go(count_one, NULL), 0);
	expect_eq(weft_group_wait(&start.group, WEFT_FOREVER), 0);
	expect_eq(atomic_load(&start.ran), n);
	return NULL;
}

static void go_runs_each_once(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		atomic_store(&start.ran, 0);
		play(workers, go_many, NULL);
	}
}

static void a_plain_thread_needs_an_executor(void **state)
{
	weft_fiber_attr attr = { .name = "nowhere" };
	weft_fiber *f = (weft_fiber *)&attr;

	(void)state;
	assert_int_equal(weft_go(count_one, NULL), -EPERM);
	assert_int_equal(weft_spawn(&f, NULL, echo, NULL), -EPERM);
	assert_int_equal(weft_spawn(&f, &attr, echo, NULL), -EPERM);
	assert_ptr_equal(f, &attr);
	assert_null(weft_self());
	assert_null(weft_rt_self());
	assert_false(weft_cancelled());
	weft_yield();
	weft_checkpoint();
}

/* A task may start fibers where it runs, and is not a fiber itself. */
static void task_starts(weft_task *self)
{
	weft_fiber *f = NULL;

	(void)self;
	expect(weft_self() == NULL);
	expect(weft_rt_self() == start.rt);
	expect(!weft_cancelled());
	expect_eq(weft_go(count_one, NULL), 0);
	if (expect_eq(weft_spawn(&f, NULL, echo, NULL), 0))
		weft_detach(f);
	weft_group_done(&start.group);
}

static void a_task_starts_fibers(void **state)
{
	static weft_task task = { .run = task_starts };

	(void)state;
	for (size_t i = 0; i < HINTS; i++) {
		start.rt = rt_workers(1);
		weft_group_add(&start.group, 2);
		assert_int_equal(weft_submit(weft_rt_executor(start.rt), &task,
					 hints[i]),
			0);
		assert_int_equal(weft_group_wait(&start.group, PATIENCE), 0);
		rt_end(start.rt);
		assert_expected();
	}
}

/* ------------------------------------------------------------------------ */
/* Attributes. */

static void *tell_name(void *arg)
{
	expect(weft_fiber_name(weft_self()) == arg);
	expect(weft_rt_self() != NULL);
	return weft_self();
}

static void spawn_named(const char *name)
{
	weft_fiber_attr attr = { .name = name };
	void *result = NULL;
	weft_fiber *f;

	if (!expect_eq(weft_spawn(&f, &attr, tell_name, (void *)name), 0))
		return;
	expect(weft_fiber_name(f) == name);
	expect_eq(weft_join(f, &result, WEFT_FOREVER), 0);
	expect(result == f);
}

static void *spawn_names(void *arg)
{
	weft_fiber *self = weft_self();

	(void)arg;
	spawn_named("Penelope");
	spawn_named("");
	spawn_named(NULL);
	expect(weft_self() == self);
	expect(weft_fiber_name(self) == NULL);
	return NULL;
}

static void a_name_is_borrowed(void **state)
{
	(void)state;
	play(1, spawn_names, NULL);
	play(2, spawn_names, NULL);
}

/* Use that much stack, a page or so at a time. */
static __attribute__((noinline)) size_t dig(size_t bytes)
{
	volatile unsigned char frame[2048];

	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = (unsigned char)bytes;
	if (bytes <= 4096)
		return frame[1] == (unsigned char)bytes;
	return dig(bytes - 4096) && frame[7] == (unsigned char)bytes;
}

/*
 * A frame is less than twice what dig thinks, with a sanitizer too, so half of
 * what was promised is there to be used.
 */
static void *digger(void *arg)
{
	size_t bytes = *(size_t *)arg;

	return (void *)(uintptr_t)dig(bytes / 2);
}

static void *spawn_stacks(void *arg)
{
	static size_t sizes[] = { 1, 4096, 16384, 65536, 200000, LARGE_STACK };

	(void)arg;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		weft_fiber_attr attr = { .stack_bytes = sizes[i] };
		void *result = NULL;
		weft_fiber *f;

		if (!expect_eq(weft_spawn(&f, &attr, digger, &sizes[i]), 0))
			break;
		/* On a stack of its own, and perhaps on ours. */
		if (i % 2)
			weft_yield();
		expect_eq(weft_join(f, &result, WEFT_FOREVER), 0);
		expect(result != NULL);
	}
	return NULL;
}

static void a_stack_is_as_large_as_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < rounds(50); i++)
		play(1 + i % 2, spawn_stacks, NULL);
}

/* All sizes alive at once, each in use while it is suspended. */
static struct {
	struct baton batons[64];
	size_t sizes[64];
} digs;

static void *dig_and_wait(void *arg)
{
	size_t i = (size_t)((size_t *)arg - digs.sizes);

	expect(dig(digs.sizes[i] / 2) == 1);
	baton_wait(&digs.batons[i]);
	expect(dig(digs.sizes[i] / 2) == 1);
	return arg;
}

static void *spawn_stacks_at_once(void *arg)
{
	weft_fiber *fibers[64] = { NULL };

	(void)arg;
	memset(&digs, 0, sizeof(digs));
	for (size_t i = 0; i < 64; i++) {
		weft_fiber_attr attr = { .name = "digger" };

		digs.sizes[i] = (size_t)16384 << i % 6;
		attr.stack_bytes = digs.sizes[i];
		expect_eq(weft_spawn(&fibers[i], &attr, dig_and_wait,
				  &digs.sizes[i]),
			0);
	}
	weft_yield();
	for (size_t i = 0; i < 64; i++)
		baton_put(&digs.batons[i], hints[i % HINTS]);
	for (size_t i = 0; i < 64; i++) {
		void *result = NULL;

		expect_eq(weft_join(fibers[i], &result, WEFT_FOREVER), 0);
		expect(result == &digs.sizes[i]);
	}
	return NULL;
}

static void stacks_of_all_sizes_at_once(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++)
		play(workers, spawn_stacks_at_once, NULL);
}

static void *spawn_hints(void *arg)
{
	(void)arg;
	for (uintptr_t i = 0; i < rounds(3000); i++) {
		weft_fiber_attr attr = { .hint = hints[i % HINTS] };
		void *result = NULL;
		weft_fiber *f;

		if (!expect_eq(weft_spawn(&f, &attr, echo, (void *)i), 0))
			break;
		if (i % 2)
			weft_yield();
		expect_eq(weft_join(f, &result, WEFT_FOREVER), 0);
		expect_eq((uintptr_t)result, i);
	}
	return NULL;
}

static void every_hint_will_do(void **state)
{
	(void)state;
	play(1, spawn_hints, NULL);
	play(2, spawn_hints, NULL);
}

static int refuse_all(weft_executor *self, weft_task *task, weft_hint hint)
{
	(void)self;
	(void)task;
	(void)hint;
	return -ENOSYS;
}

static void refuse(weft_rt *rt, const weft_fiber_attr *attr)
{
	weft_fiber *f = NULL;

	expect_eq(weft_rt_spawn(rt, &f, attr, echo, NULL), -EINVAL);
	expect(f == NULL);
	if (weft_self())
		expect_eq(weft_spawn(&f, attr, echo, NULL), -EINVAL);
	expect(f == NULL);
}

static void *bad_attributes(void *arg)
{
	weft_executor mine = { .submit = refuse_all };
	weft_fiber_attr bad[] = {
		{ .flags = 1 },
		{ .flags = 0x80000000u },
		{ .hint = (weft_hint)(WEFT_HINT_YIELD + 1) },
		{ .hint = (weft_hint)1000 },
		{ .stack_bytes = MOST_STACK + 1 },
		{ .stack_bytes = SIZE_MAX },
		{ .stack_bytes = SIZE_MAX - 65536 },
	};
	weft_fiber *f = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuse(arg, &bad[i]);
	bad[0] = (weft_fiber_attr){ .executor = &mine };
	expect_eq(weft_spawn(&f, bad, echo, NULL), -ENOSYS);
	expect(f == NULL);
	return NULL;
}

static void bad_attributes_are_refused(void **state)
{
	weft_rt *rt = rt_workers(1);
	weft_fiber *f;

	(void)state;
	bad_attributes(rt);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, bad_attributes, rt), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	rt_end(rt);
	assert_expected();
}

static void *tell_executor(void *arg)
{
	(void)arg;
	return weft_rt_self();
}

static void expect_runs_on(weft_rt *home)
{
	weft_fiber_attr attr = { .executor = weft_rt_executor(home) };
	void *result = NULL;
	weft_fiber *f;

	if (!expect_eq(weft_spawn(&f, &attr, tell_executor, NULL), 0))
		return;
	expect_eq(weft_join(f, &result, WEFT_FOREVER), 0);
	expect(result == home);
}

static void *spawn_in_both(void *arg)
{
	weft_rt **rts = arg;

	expect_runs_on(rts[0]);
	expect_runs_on(rts[1]);
	expect(weft_rt_self() == rts[0]);
	return NULL;
}

static void the_executor_says_where(void **state)
{
	static weft_rt *rts[2];
	weft_fiber *f;

	(void)state;
	rts[0] = rt_workers(1);
	rts[1] = rt_workers(2);
	for (size_t i = 0; i < rounds(200); i++) {
		expect_runs_on(rts[i % 2]);
		assert_int_equal(
			weft_rt_spawn(rts[0], &f, NULL, spawn_in_both, rts), 0);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	}
	rt_end(rts[0]);
	rt_end(rts[1]);
	assert_expected();
}

/* ------------------------------------------------------------------------ */
/* Detaching. */

static struct {
	weft_group ended;
	struct baton baton;
	_Atomic(bool) running, release;
} away;

static void *detached_fresh(void *arg)
{
	weft_group_done(&away.ended);
	return arg;
}

static void *detached_running(void *arg)
{
	atomic_store(&away.running, true);
	while (!atomic_load(&away.release))
		weft_checkpoint();
	weft_group_done(&away.ended);
	return arg;
}

static void *detached_waiting(void *arg)
{
	baton_wait(&away.baton);
	weft_group_done(&away.ended);
	return arg;
}

static weft_fiber *one_to_detach(void *(*fn)(void *))
{
	weft_fiber_attr attr = { .name = "soon alone" };
	weft_fiber *f = NULL;

	weft_group_add(&away.ended, 1);
	expect_eq(weft_spawn(&f, &attr, fn, NULL), 0);
	return f;
}

static void *detach_all_kinds(void *arg)
{
	weft_fiber *f;

	(void)arg;
	for (size_t i = 0; i < rounds(2000); i++) {
		weft_detach(one_to_detach(detached_fresh));

		f = one_to_detach(detached_fresh);
		expect(await_yielding(state_of(f) == WEFT_FIBER_DONE));
		weft_detach(f);

		f = one_to_detach(detached_waiting);
		expect(await_yielding(state_of(f) == WEFT_FIBER_WAITING));
		weft_detach(f);
		baton_put(&away.baton, hints[i % HINTS]);

		atomic_store(&away.running, false);
		atomic_store(&away.release, false);
		f = one_to_detach(detached_running);
		expect(await_yielding(atomic_load(&away.running)));
		weft_detach(f);
		atomic_store(&away.release, true);
		expect_eq(weft_group_wait(&away.ended, WEFT_FOREVER), 0);
	}
	return NULL;
}

static void detached_fibers_end_alone(void **state)
{
	(void)state;
	play(1, detach_all_kinds, NULL);
	play(2, detach_all_kinds, NULL);
}

static void a_plain_thread_detaches(void **state)
{
	weft_rt *rt = rt_workers(2);
	weft_fiber *f;

	(void)state;
	for (size_t i = 0; i < rounds(1000); i++) {
		weft_group_add(&away.ended, 1);
		assert_int_equal(
			weft_rt_spawn(rt, &f, NULL, detached_fresh, NULL), 0);
		if (i % 2)
			assert_true(await(state_of(f) == WEFT_FIBER_DONE));
		weft_detach(f);
	}
	assert_int_equal(weft_group_wait(&away.ended, PATIENCE), 0);
	rt_end(rt);
	assert_expected();
}

/* ------------------------------------------------------------------------ */
/* Looking. */

static struct {
	weft_group group;
	struct baton baton;
	weft_fiber *target; /* of wait_for_target, the joiner */
} seen;

static void *look_at_myself(void *arg)
{
	weft_fiber_info info;

	memset(&info, 0xA5, sizeof(info));
	weft_fiber_look(weft_self(), &info);
	expect_eq(info.state, WEFT_FIBER_RUNNING);
	expect(info.name == arg);
	expect(info.waits_for == NULL);
	expect(info.waits_on == NULL);
	expect_eq(info.since, 0);
	return NULL;
}

static void *wait_for_group(void *arg)
{
	expect_eq(weft_group_wait(&seen.group, WEFT_FOREVER), 0);
	return arg;
}

static void *wait_for_baton(void *arg)
{
	baton_wait(&seen.baton);
	return arg;
}

static void *wait_for_target(void *arg)
{
	expect_eq(weft_join(seen.target, NULL, WEFT_FOREVER), 0);
	return arg;
}

static weft_fiber *spawn_for_look(void *(*fn)(void *))
{
	weft_fiber_attr attr = { .name = "looked at" };
	weft_fiber_info info;
	weft_fiber *f = NULL;

	expect_eq(weft_spawn(&f, &attr, fn, (void *)attr.name), 0);
	memset(&info, 0xA5, sizeof(info));
	weft_fiber_look(f, &info);
	expect_eq(info.state, WEFT_FIBER_RUNNABLE);
	expect(info.name == attr.name);
	expect(info.waits_for == NULL);
	expect(info.waits_on == NULL);
	expect_eq(info.since, 0);
	return f;
}

/* "About": a second is nothing on a machine that has other work. */
static void expect_waiting(
	weft_fiber *f, const char *what, const void *on, weft_time from)
{
	weft_fiber_info info;

	expect(await_yielding(state_of(f) == WEFT_FIBER_WAITING));
	weft_fiber_look(f, &info);
	expect_eq(info.state, WEFT_FIBER_WAITING);
	expect(info.name && strcmp(info.name, "looked at") == 0);
	if (what) {
		expect(info.waits_for && strcmp(info.waits_for, what) == 0);
		expect(info.waits_on == on);
	}
	expect(info.since >= from - NS_PER_S);
	expect(info.since <= weft_now() + NS_PER_S);
}

static void expect_ends(weft_fiber *f)
{
	weft_fiber_info info;

	expect(await_yielding(state_of(f) == WEFT_FIBER_DONE));
	weft_fiber_look(f, &info);
	expect(info.name && strcmp(info.name, "looked at") == 0);
	expect(info.waits_for == NULL);
	expect(info.waits_on == NULL);
	expect_eq(info.since, 0);
	expect_eq(weft_join(f, NULL, WEFT_NOW), 0);
}

/* One worker, so that a fiber keeps its state while we look. */
static void *look_around(void *arg)
{
	weft_time from = weft_now();
	weft_fiber *f;

	(void)arg;
	expect_ends(spawn_for_look(look_at_myself));

	weft_group_add(&seen.group, 1);
	f = spawn_for_look(wait_for_group);
	expect_waiting(f, "group", &seen.group, from);
	weft_group_done(&seen.group);
	expect_eq(state_of(f), WEFT_FIBER_RUNNABLE);
	expect_ends(f);

	seen.target = spawn_for_look(wait_for_baton);
	expect_waiting(seen.target, NULL, NULL, from);
	f = spawn_for_look(wait_for_target);
	expect_waiting(f, "join", seen.target, from);
	baton_put(&seen.baton, WEFT_HINT_DEFAULT);
	expect_eq(state_of(seen.target), WEFT_FIBER_RUNNABLE);
	expect_ends(f);
	return NULL;
}

static void states_can_be_seen(void **state)
{
	(void)state;
	for (size_t i = 0; i < rounds(100); i++)
		play(1, look_around, NULL);
}

static void *entry_of(const weft_fiber *f)
{
	weft_fiber_info info;

	weft_fiber_look(f, &info);
	return info.entry;
}

static void *look_at_my_entry(void *arg)
{
	expect(entry_of(weft_self()) == (void *)look_at_my_entry);
	weft_yield();
	expect(entry_of(weft_self()) == (void *)look_at_my_entry);
	return arg;
}

static void *look_at_entries(void *arg)
{
	weft_fiber *f;

	expect_eq(weft_spawn(&f, NULL, look_at_my_entry, NULL), 0);
	expect(entry_of(f) == (void *)look_at_my_entry);
	weft_yield();
	expect(entry_of(f) == (void *)look_at_my_entry);
	expect_eq(weft_join(f, NULL, WEFT_FOREVER), 0);
	return arg;
}

static void the_entry_can_be_seen(void **state)
{
	(void)state;
	play(1, look_at_entries, NULL);
}

/* ------------------------------------------------------------------------ */
/* Giving way. */

enum { READY = 1000, YIELDERS = 10 };

static struct {
	weft_task tasks[READY];
	_Atomic(size_t) ran;
	size_t turns[YIELDERS];
	bool ended[YIELDERS];
	_Atomic(bool) flag;
} way;

static void way_task(weft_task *self)
{
	(void)self;
	atomic_fetch_add(&way.ran, 1);
}

static void submit_from_outside(void *arg, unsigned i)
{
	for (size_t t = READY / 2; t < READY; t++)
		expect_eq(weft_submit(arg, &way.tasks[t], hints[i]), 0);
}

/* Tasks in the local queue, its overflow and the global queue run first. */
static void *yield_to_all(void *arg)
{
	weft_executor *here = weft_rt_executor(weft_rt_self());

	(void)arg;
	for (size_t round = 0; round < rounds(20); round++) {
		atomic_store(&way.ran, 0);
		for (size_t i = 0; i < READY; i++)
			way.tasks[i].run = way_task;
		for (size_t i = 0; i < READY / 2; i++)
			expect_eq(
				weft_submit(here, &way.tasks[i], hints[i % 2]),
				0);
		threads_run(1, submit_from_outside, here);
		weft_yield();
		expect_eq(atomic_load(&way.ran), READY);
	}
	return NULL;
}

static void yield_lets_all_that_is_ready_run(void **state)
{
	(void)state;
	play(1, yield_to_all, NULL);
}

static void *take_turns(void *arg)
{
	size_t self = (uintptr_t)arg, before[YIELDERS];

	for (size_t i = 0; i < rounds(2000); i++) {
		way.turns[self]++;
		memcpy(before, way.turns, sizeof(before));
		weft_yield();
		for (size_t o = 0; o < YIELDERS; o++)
			expect(o == self || way.ended[o] ||
				way.turns[o] != before[o]);
	}
	way.ended[self] = true;
	return NULL;
}

static void *yielders(void *arg)
{
	weft_fiber *fibers[YIELDERS] = { NULL };

	(void)arg;
	memset(way.turns, 0, sizeof(way.turns));
	memset(way.ended, 0, sizeof(way.ended));
	for (uintptr_t i = 0; i < YIELDERS; i++)
		expect_eq(
			weft_spawn(&fibers[i], NULL, take_turns, (void *)i), 0);
	weft_yield();
	for (size_t i = 0; i < YIELDERS; i++)
		expect_eq(weft_join(fibers[i], NULL, WEFT_FOREVER), 0);
	return NULL;
}

static void yielders_take_turns(void **state)
{
	(void)state;
	play(1, yielders, NULL);
}

static void raise_flag(void *arg)
{
	(void)arg;
	atomic_store(&way.flag, true);
}

static void *compute(void *arg)
{
	uint32_t budget = *(uint32_t *)arg, n = 0;

	atomic_store(&way.flag, false);
	expect_eq(weft_go(raise_flag, NULL), 0);
	while (!atomic_load(&way.flag) && n < 100 * budget) {
		weft_checkpoint();
		n++;
	}
	expect(n <= budget + 1);
	expect(n >= budget / 2);
	return NULL;
}

static void checkpoint_gives_way_by_the_budget(void **state)
{
	static uint32_t budgets[] = { 1, 2, 100, 10000 };

	(void)state;
	for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
		weft_config cfg = { .workers = 1, .coop_budget = budgets[i] };

		play_with(&cfg, compute, &budgets[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(go_runs_each_once),
		cmocka_unit_test(a_plain_thread_needs_an_executor),
		cmocka_unit_test(a_task_starts_fibers),
		cmocka_unit_test(a_name_is_borrowed),
		cmocka_unit_test(a_stack_is_as_large_as_asked),
		cmocka_unit_test(stacks_of_all_sizes_at_once),
		cmocka_unit_test(every_hint_will_do),
		cmocka_unit_test(bad_attributes_are_refused),
		cmocka_unit_test(the_executor_says_where),
		cmocka_unit_test(detached_fibers_end_alone),
		cmocka_unit_test(a_plain_thread_detaches),
		cmocka_unit_test(states_can_be_seen),
		cmocka_unit_test(the_entry_can_be_seen),
		cmocka_unit_test(yield_lets_all_that_is_ready_run),
		cmocka_unit_test(yielders_take_turns),
		cmocka_unit_test(checkpoint_gives_way_by_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
