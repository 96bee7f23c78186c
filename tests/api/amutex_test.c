/* SPDX-License-Identifier: MIT */
/*
 * tests/api/amutex_test.c - sections of tasks on any executor, locked by
 * threads, fibers and tasks, run alone, each once, and in the order in which
 * one thread has locked for them.
 */
#include "api/executor_kit.h"

#include <weft/weft.h>

enum { LOCKERS = 4, EACH = 1000 };

struct job {
	weft_task task;
	unsigned from, nth;
	struct subject *on;
};

static struct {
	weft_amutex *mutex;
	struct job jobs[LOCKERS][EACH];
	size_t each;
	struct subject *subject[2];
	/* Plain: one section at a time. */
	unsigned next[LOCKERS];
	int inside;
	size_t sections;
	weft_group left;
} s;

static void section(weft_task *task)
{
	struct job *j = (struct job *)task;

	expect_eq(s.inside++, 0);
	expect(weft_self() == NULL);
	expect(runs_this(j->on));
	expect_eq(j->nth, s.next[j->from]++);
	s.inside--;
	/* The last one frees it, locked. */
	if (++s.sections == LOCKERS * s.each)
		free(s.mutex);
	else
		weft_amutex_unlock(s.mutex);
	weft_group_done(&s.left);
}

static void lock_often(void *arg, unsigned self)
{
	(void)arg;
	for (unsigned i = 0; i < s.each; i++) {
		struct job *j = &s.jobs[self][i];

		*j = (struct job){ { .run = section }, self, i,
			.on = s.subject[(self + i / 3) % 2] };
		expect_eq(weft_amutex_lock(s.mutex, &j->task, j->on->e), 0);
	}
}

static void *lock_in_fiber(void *arg)
{
	lock_often(NULL, (unsigned)(uintptr_t)arg);
	return arg;
}

static void begin(const struct kind *one, const struct kind *other)
{
	memset(&s, 0, sizeof(s));
	s.each = rounds(EACH);
	s.mutex = calloc(1, sizeof(*s.mutex));
	assert_non_null(s.mutex);
	s.subject[0] = subject_make(one);
	s.subject[1] = subject_make(other);
	weft_group_add(&s.left, (int64_t)(LOCKERS * s.each));
}

static void end(void)
{
	assert_int_equal(weft_group_wait(&s.left, PATIENCE), 0);
	subject_unmake(s.subject[0]);
	subject_unmake(s.subject[1]);
	assert_expected();
	assert_int_equal(s.sections, LOCKERS * s.each);
}

/* Tasks on a subject and on a pool; threads lock. */
static void threads_lock_for(void **state)
{
	begin(*state, &kinds[POOL_2]);
	threads_run(LOCKERS, lock_often, NULL);
	end();
}

/* Tasks on a subject and on a runtime; fibers of the runtime lock. */
static void fibers_lock_for(void **state)
{
	weft_fiber *f[LOCKERS];

	begin(&kinds[RT_2], *state);
	for (uintptr_t i = 0; i < LOCKERS; i++)
		assert_int_equal(
			weft_rt_spawn(s.subject[0]->rt, &f[i], NULL,
				lock_in_fiber, (void *)i),
			0);
	for (size_t i = 0; i < LOCKERS; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	end();
}

/* ------------------------------------------------------------------------ */
/* A task locks for itself, again and again. */

enum { ROUNDS = 200, CLIMBERS = 50 };

static struct {
	weft_amutex mutex;
	weft_executor *e;
	struct climber {
		weft_task task;
		size_t rounds;
	} climbers[CLIMBERS];
	size_t count;
	weft_group left;
} again;

static void lock_again(weft_task *task)
{
	struct climber *c = (struct climber *)task;
	bool more = ++c->rounds < ROUNDS;

	again.count++;
	/* Behind all that wait now. */
	if (more)
		expect_eq(weft_amutex_lock(&again.mutex, task, again.e), 0);
	weft_amutex_unlock(&again.mutex);
	if (!more)
		weft_group_done(&again.left);
}

static void tasks_lock_again_on(void **state)
{
	struct subject *on = subject_make(*state);

	memset(&again, 0, sizeof(again));
	again.e = on->e;
	weft_group_add(&again.left, CLIMBERS);
	for (size_t i = 0; i < CLIMBERS; i++) {
		weft_task *t = &again.climbers[i].task;

		t->run = lock_again;
		assert_int_equal(
			weft_amutex_lock(&again.mutex, t, again.e), 0);
	}
	assert_int_equal(weft_group_wait(&again.left, PATIENCE), 0);
	subject_unmake(on);
	assert_expected();
	assert_int_equal(again.count, CLIMBERS * ROUNDS);
}

/* ------------------------------------------------------------------------ */
/* A runtime that stops: refused, or run. */

static weft_amutex stopping;
static size_t stopping_ran;

static void run_and_unlock(weft_task *task)
{
	(void)task;
	stopping_ran++;
	weft_amutex_unlock(&stopping);
}

static void a_stopping_runtime_loses_none(void **state)
{
	static weft_task holder, waiter[10], late;
	weft_rt *rt = rt_workers(2);
	weft_executor *e = weft_rt_executor(rt), *manual;

	(void)state;
	assert_int_equal(weft_manual_create(&manual), 0);
	holder.run = late.run = run_and_unlock;
	assert_int_equal(weft_amutex_lock(&stopping, &holder, manual), 0);
	for (size_t i = 0; i < 10; i++) {
		waiter[i].run = run_and_unlock;
		assert_int_equal(weft_amutex_lock(&stopping, &waiter[i], e), 0);
	}
	assert_int_equal(weft_rt_shutdown(rt), 0);
	/* They were accepted: this thread runs them. */
	assert_int_equal(weft_manual_run(manual, SIZE_MAX), 1);
	assert_int_equal(stopping_ran, 11);
	assert_int_equal(weft_amutex_lock(&stopping, &late, e), -ESHUTDOWN);
	assert_int_equal(stopping_ran, 11);
	rt_end(rt);
	assert_int_equal(weft_executor_destroy(manual), 0);
}

int main(void)
{
	struct CMUnitTest tests[3 * KINDS + 1] = {
		cmocka_unit_test(a_stopping_runtime_loses_none),
	};

	for (size_t i = 0; i < 3 * KINDS; i++) {
		tests[1 + i].name = kinds[i % KINDS].name;
		tests[1 + i].test_func = i < KINDS ? threads_lock_for
			: i < 2 * KINDS		   ? fibers_lock_for
						   : tasks_lock_again_on;
		tests[1 + i].initial_state = (void *)&kinds[i % KINDS];
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
