/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_free_test.c - when a wait for a wait group returns, the
 * waker does not touch the group any more.
 *
 * A waiter writes a pattern over the group as soon as the wait has returned,
 * and looks whether it stays.  The waker ends the wait at a random moment, to
 * meet the waiter on every step of its way to the wait.  Both are held up where
 * it matters: the waiter before it publishes its wait, and the waker after it
 * has claimed the waiter.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sched.h>

#include "wait/wait.h"
#include "stress/sched_kit.h"

enum { PAIRS = 4, ROUNDS = 6000, DELAY_MAX = 2000, LOOKS = 5000 };
enum { STOPPED = 10000 };

#define PATTERN UINT64_C(0x7777777777777777)

bool __real_wf_waiter_claim(struct wf_node *n);
bool __wrap_wf_waiter_claim(struct wf_node *n);
bool __real_wf_waiter_publish(struct wf_waiter *w);
bool __wrap_wf_waiter_publish(struct wf_waiter *w);

static void spin(uint32_t n)
{
	while (n-- > 0)
		__asm__ volatile("");
}

/* As if the waker had been stopped after its claim. */
bool __wrap_wf_waiter_claim(struct wf_node *n)
{
	bool won = __real_wf_waiter_claim(n);

	spin(STOPPED);
	return won;
}

/* As if the waiter had been stopped, sometimes, before it publishes. */
bool __wrap_wf_waiter_publish(struct wf_waiter *w)
{
	static _Atomic(uint32_t) nth;

	if (wf_add_rlx(&nth, 1) % 4 == 0)
		spin(STOPPED);
	return __real_wf_waiter_publish(w);
}

/* A waiter and its waker, the ender. */
struct pair {
	weft_group *group;		/* in use; another in each round */
	_Atomic(size_t) round;		/* that has begun */
	size_t rounds;
	weft_group space[2];
	struct wf_random waiter, ender;
};

static struct pair pairs[PAIRS];
static weft_group all_done;

static void delay(struct wf_random *r)
{
	spin(wf_random_below(r, DELAY_MAX));
}

/* No thread overwrites the pattern. */
static void look_at(weft_group *g)
{
	volatile uint64_t *word = &g->state_;
	void *volatile *list = g->waiters_;

	*word = PATTERN;
	*list = &pairs;
	for (unsigned i = 0; i < LOOKS; i++) {
		kit_expect(*word == PATTERN);
		kit_expect(*list == (void *)&pairs);
	}
}

static void wait_often(struct pair *p)
{
	for (size_t i = 0; i < p->rounds && !kit_failed(); i++) {
		weft_group *g = &p->space[i % 2];

		*g = (weft_group){ 0 };
		weft_group_add(g, 1);
		p->group = g;
		/* The ender must see group. */
		wf_store_rel(&p->round, i + 1);
		delay(&p->waiter);
		kit_expect(weft_group_wait(g, WEFT_FOREVER) == 0);
		look_at(g);
	}
	wf_store_rel(&p->round, SIZE_MAX);
}

/* It does not yield: it stays on another worker than the waiter. */
static void end_often(struct pair *p)
{
	size_t done = 0, round;

	while ((round = wf_load_acq(&p->round)) != SIZE_MAX) {
		if (round == done) {
			sched_yield();
			continue;
		}
		done = round;
		delay(&p->ender);
		weft_group_done(p->group);
	}
}

static void waiter_fiber(void *arg)
{
	wait_often(arg);
	weft_group_done(&all_done);
}

static void ender_fiber(void *arg)
{
	end_often(arg);
	weft_group_done(&all_done);
}

static void open_pairs(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pairs[i] = (struct pair){ .rounds = kit_rounds(ROUNDS) };
		wf_random_seed(&pairs[i].waiter, threads_seed() + i);
		wf_random_seed(&pairs[i].ender, threads_seed() + PAIRS + i);
	}
}

/* Both in fibers. */
static void fibers_end_the_waits_of_fibers(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);

	(void)state;
	open_pairs(1);
	weft_group_add(&all_done, 2);
	assert_int_equal(weft_rt_go(rt, ender_fiber, &pairs[0]), 0);
	assert_int_equal(weft_rt_go(rt, waiter_fiber, &pairs[0]), 0);
	assert_int_equal(weft_group_wait(&all_done, WEFT_FOREVER), 0);
	kit_stop(rt);
}

/* Many fibers on one worker, so that some wait for long, and threads. */
static void end_outside(void *arg, unsigned i)
{
	(void)arg;
	end_often(&pairs[i]);
}

static void threads_end_the_waits_of_fibers(void **state)
{
	weft_rt *rt;

	(void)state;
	for (uint32_t workers = 1; workers <= 3; workers++) {
		weft_config cfg = { .workers = workers };

		rt = kit_start(&cfg);
		open_pairs(PAIRS);
		weft_group_add(&all_done, PAIRS);
		for (size_t i = 0; i < PAIRS; i++)
			assert_int_equal(
				weft_rt_go(rt, waiter_fiber, &pairs[i]), 0);
		threads_run(PAIRS, end_outside, NULL);
		assert_int_equal(weft_group_wait(&all_done, WEFT_FOREVER), 0);
		kit_stop(rt);
	}
}

/* Threads wait, fibers end the waits. */
static void wait_outside(void *arg, unsigned i)
{
	(void)arg;
	wait_often(&pairs[i]);
}

static void fibers_end_the_waits_of_threads(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);

	(void)state;
	open_pairs(2);
	weft_group_add(&all_done, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(weft_rt_go(rt, ender_fiber, &pairs[i]), 0);
	threads_run(2, wait_outside, NULL);
	assert_int_equal(weft_group_wait(&all_done, WEFT_FOREVER), 0);
	kit_stop(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fibers_end_the_waits_of_fibers),
		cmocka_unit_test(threads_end_the_waits_of_fibers),
		cmocka_unit_test(fibers_end_the_waits_of_threads),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
