/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/mutex_test.c - a million short sections by fibers of two
 * runtimes and by plain threads add up, also if waiters give up or are
 * cancelled; and many groups of fibers with two mutexes each lose no waiter.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "stress/sched_kit.h"

enum { FIBERS = 100, THREADS = 4, SECTIONS = 1000000 };

static struct {
	weft_mutex mutex;
	size_t a, b; /* by mutex: always the same */
	size_t each;
	uint64_t seed;
	_Atomic(size_t) sections, gave_up;
} sum;

static void begin(size_t sections)
{
	memset(&sum, 0, sizeof(sum));
	sum.seed = threads_seed();
	/* Sections for which a thread has to be woken are slow. */
	sections = kit_rounds(sections) / (kit_slow() ? 5 : 1);
	sum.each = sections / (FIBERS + THREADS) + 1;
}

static void *add(void *arg)
{
	for (size_t i = 0; i < sum.each; i++) {
		weft_mutex_lock(&sum.mutex);
		kit_expect(sum.a == sum.b);
		sum.a++;
		sum.b++;
		weft_mutex_unlock(&sum.mutex);
	}
	return arg;
}

/* Some wait for ever, some not for long, some not at all. */
static void *add_or_give_up(void *arg)
{
	struct wf_random random;

	wf_random_seed(&random, sum.seed + (uintptr_t)arg);
	for (size_t i = 0; i < sum.each; i++) {
		uint64_t dice = wf_random_next(&random);
		weft_time by = WEFT_FOREVER;
		int err;

		if (dice % 4 == 0)
			by = weft_after((int64_t)(dice / 4 % 200000));
		else if (dice % 4 == 1)
			by = WEFT_NOW;
		err = weft_mutex_lock_by(&sum.mutex, by);
		if (err != 0) {
			kit_expect(err == -ETIMEDOUT || err == -ECANCELED);
			kit_expect(by != WEFT_FOREVER || err == -ECANCELED);
			wf_add_rlx(&sum.gave_up, 1);
			continue;
		}
		kit_expect(sum.a == sum.b);
		sum.a++;
		if (dice % 64 == 0)
			weft_yield();
		sum.b++;
		wf_add_rlx(&sum.sections, 1);
		weft_mutex_unlock(&sum.mutex);
	}
	return arg;
}

struct crowd {
	void *(*fn)(void *);
	weft_fiber *f[FIBERS];
	bool cancel; /* every third fiber, at some time */
};

static void thread(void *arg, unsigned i)
{
	struct crowd *crowd = arg;

	if (i < THREADS) {
		crowd->fn((void *)(uintptr_t)(i + FIBERS));
		return;
	}
	for (size_t k = 0; crowd->cancel && k < FIBERS; k += 3) {
		kit_pause_us(100);
		kit_expect(weft_cancel(crowd->f[k]) == 0);
	}
}

static void meet(void *(*fn)(void *), bool cancel)
{
	weft_config cfg[2] = { { .workers = 2 }, { .workers = 1 } };
	weft_rt *rt[2] = { kit_start(&cfg[0]), kit_start(&cfg[1]) };
	static struct crowd crowd;

	crowd.fn = fn;
	crowd.cancel = cancel;
	for (size_t i = 0; i < FIBERS; i++)
		assert_int_equal(weft_rt_spawn(rt[i % 2], &crowd.f[i], NULL, fn,
					 (void *)(uintptr_t)i),
			0);
	threads_run(THREADS + 1, thread, &crowd);
	for (size_t i = 0; i < FIBERS; i++) {
		assert_int_equal(weft_join(crowd.f[i], NULL, WEFT_FOREVER), 0);
		kit_watch();
	}
	kit_stop(rt[0]);
	kit_stop(rt[1]);
	assert_int_equal(sum.a, sum.b);
	assert_true(sum.mutex.word_ == 0 && sum.mutex.owner_ == 0);
}

static void a_million_sections_add_up(void **state)
{
	(void)state;
	begin(SECTIONS);
	meet(add, false);
	assert_int_equal(sum.a, sum.each * (FIBERS + THREADS));
}

static void sections_add_up_when_waiters_give_up(void **state)
{
	(void)state;
	for (int cancel = 0; cancel < 2; cancel++) {
		begin(SECTIONS / 4);
		meet(add_or_give_up, cancel);
		assert_int_equal(sum.a, wf_load_rlx(&sum.sections));
		assert_int_equal(sum.a + wf_load_rlx(&sum.gave_up),
			sum.each * (FIBERS + THREADS));
		printf("%zu of %zu gave up\n", wf_load_rlx(&sum.gave_up),
			sum.each * (FIBERS + THREADS));
	}
}

/* ------------------------------------------------------------------------ */

enum { GROUPS = 13, PER_GROUP = 20 };

static struct {
	struct {
		weft_mutex mutex[2];
		size_t n[2]; /* by its mutex */
	} group[GROUPS];
	size_t each;
	weft_group left;
} many;

static void in_turn(void *arg)
{
	size_t g = (uintptr_t)arg;

	for (size_t i = 0; i < many.each; i++) {
		weft_mutex *m = &many.group[g].mutex[i % 2];

		weft_mutex_lock(m);
		many.group[g].n[i % 2]++;
		weft_mutex_unlock(m);
	}
	weft_group_done(&many.left);
}

static void many_groups_of_two_mutexes(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers *= 2) {
		weft_config cfg = { .workers = workers };
		weft_rt *rt = kit_start(&cfg);

		memset(&many, 0, sizeof(many));
		many.each = kit_rounds(2000) / 2 * 2;
		weft_group_add(&many.left, GROUPS * PER_GROUP);
		for (size_t i = 0; i < GROUPS * PER_GROUP; i++)
			assert_int_equal(
				weft_rt_go(rt, in_turn, (void *)(i % GROUPS)),
				0);
		assert_int_equal(weft_group_wait(&many.left, WEFT_FOREVER), 0);
		for (size_t g = 0; g < GROUPS; g++)
			for (size_t i = 0; i < 2; i++)
				assert_int_equal(many.group[g].n[i],
					PER_GROUP * many.each / 2);
		kit_stop(rt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_sections_add_up),
		cmocka_unit_test(sections_add_up_when_waiters_give_up),
		cmocka_unit_test(many_groups_of_two_mutexes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
