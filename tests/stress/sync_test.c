/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sync_test.c - events, semaphores, condition variables and
 * barriers, used by fibers of two runtimes, fibers on a pool and plain threads
 * at once, many of which give up or are cancelled: no wake is lost, no waiter
 * hangs, and freed memory is not touched.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "os/os.h"
#include "stress/sched_kit.h"

enum { FIBERS = 48, THREADS = 4, ACTORS = FIBERS + THREADS };

/* A fiber or thread that takes part. */
struct actor {
	unsigned i;
	struct wf_random random;
	void (*act)(struct actor *a);
	weft_fiber *fiber; /* NULL: a thread */
};

static struct actor actors[ACTORS];

static void *fiber_main(void *arg)
{
	struct actor *a = arg;

	a->act(a);
	return NULL;
}

static void thread_main(void *arg, unsigned i)
{
	struct actor *a = &actors[FIBERS + i];

	(void)arg;
	a->act(a);
}

/* All actors act, on three executors and threads; besides runs here. */
static void all_do(void (*act)(struct actor *a), void (*besides)(void))
{
	weft_config one = { .workers = 1 }, some = { .workers = 3 };
	weft_rt *rt[2] = { kit_start(&one), kit_start(&some) };
	weft_executor *pool = NULL;

	assert_int_equal(weft_pool_create(&pool, 2), 0);
	for (unsigned i = 0; i < ACTORS; i++) {
		weft_executor *at[] = { weft_rt_executor(rt[0]),
			weft_rt_executor(rt[1]), pool };
		weft_fiber_attr attr = { .executor = at[i % 3] };
		struct actor *a = &actors[i];

		*a = (struct actor){ .i = i, .act = act };
		wf_random_seed(&a->random, threads_seed() + i);
		if (i < FIBERS)
			assert_int_equal(
				weft_spawn(&a->fiber, &attr, fiber_main, a), 0);
	}
	if (besides != NULL)
		besides();
	threads_run(THREADS, thread_main, NULL);
	for (unsigned i = 0; i < FIBERS; i++)
		assert_int_equal(
			weft_join(actors[i].fiber, NULL, WEFT_FOREVER), 0);
	assert_int_equal(weft_executor_destroy(pool), 0);
	kit_stop(rt[0]);
	kit_stop(rt[1]);
}

/* Now, soon, or never. */
static weft_time some_deadline(struct actor *a)
{
	switch (wf_random_below(&a->random, 4)) {
	case 0:
		return WEFT_NOW;
	case 1:
	case 2:
		return weft_after(
			wf_random_below(&a->random, 60) * WF_NS_PER_US);
	default:
		return WEFT_FOREVER;
	}
}

static bool chance(struct actor *a, uint32_t of)
{
	return wf_random_below(&a->random, of) == 0;
}

static _Atomic(size_t) late;

/* Did the wait succeed?  Else it timed out or was cancelled. */
static bool is_done(int err)
{
	kit_expect(err >= 0 || err == -ETIMEDOUT || err == -ECANCELED);
	if (err < 0)
		wf_add_rlx(&late, 1);
	return err >= 0;
}

static void report(const char *what, size_t done)
{
	printf("%s: %zu done, %zu given up\n", what, done,
		wf_xchg_rlx(&late, 0));
}

/* ------------------------------------------------------------------------ */
/* Semaphores: permits are neither lost nor made. */

enum { PERMITS = 3 };

static struct {
	weft_sem sem;
	_Atomic(size_t) taken;
	size_t rounds;
} sem;

static void assert_permits(uint64_t n)
{
	assert_true(sem.sem.state_ == n << 32);
	assert_null(sem.sem.waiters_[0]);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(weft_sem_acquire(&sem.sem, WEFT_NOW), 0);
	assert_int_equal(weft_sem_acquire(&sem.sem, WEFT_NOW), -ETIMEDOUT);
}

/* Take and give back permits; a holder of some waits for 1 us only. */
static void take_and_give(struct actor *a)
{
	uint32_t held = 0;

	for (size_t i = 0; i < sem.rounds; i++) {
		weft_time deadline = held ? weft_after(WF_NS_PER_US)
					  : some_deadline(a);

		if (is_done(weft_sem_acquire(&sem.sem, deadline))) {
			wf_add_rlx(&sem.taken, 1);
			held++;
		}
		if (held > 0 && !chance(a, 3)) {
			weft_yield();
			weft_sem_release(&sem.sem, held);
			held = 0;
		}
	}
	weft_sem_release(&sem.sem, held);
}

static void permits_are_conserved(void **state)
{
	(void)state;
	sem.rounds = kit_rounds(500);
	weft_sem_release(&sem.sem, PERMITS);
	all_do(take_and_give, NULL);
	report("sem", wf_load_rlx(&sem.taken));
	assert_permits(PERMITS);
}

/* Take permits while every other fiber is cancelled. */
static void take_until_cancelled(struct actor *a)
{
	bool wanted = a->fiber != NULL && a->i % 2;
	int err;

	do {
		err = weft_sem_acquire(&sem.sem,
			wanted ? WEFT_FOREVER : weft_after(WF_NS_PER_MS));
		if (err == 0) {
			wf_add_rlx(&sem.taken, 1);
			weft_sem_release(&sem.sem, 1);
			weft_yield();
		}
		kit_expect(err == 0 || err == -ETIMEDOUT ||
			(wanted && err == -ECANCELED));
	} while (wanted ? !weft_cancelled()
			: wf_load_rlx(&sem.taken) < sem.rounds);
}

static void cancel_every_other(void)
{
	weft_sem_release(&sem.sem, PERMITS);
	for (unsigned i = 1; i < FIBERS; i += 2) {
		kit_pause_us(100);
		weft_cancel(actors[i].fiber);
	}
}

static void cancelled_waiters_keep_no_permit(void **state)
{
	(void)state;
	memset(&sem, 0, sizeof(sem));
	sem.rounds = kit_rounds(2000);
	all_do(take_until_cancelled, cancel_every_other);
	assert_permits(PERMITS);
}

/* ------------------------------------------------------------------------ */
/* A condition variable: one signal for each thing, and none is lost. */

static struct {
	weft_mutex mutex;
	weft_cond cond;
	size_t ready, used; /* by mutex */
	int inside;	    /* by mutex */
	size_t rounds;
} cond;

static void enter(void)
{
	weft_mutex_lock(&cond.mutex);
	kit_expect(cond.inside++ == 0);
}

static void leave(void)
{
	kit_expect(--cond.inside == 0);
	weft_mutex_unlock(&cond.mutex);
}

static int cond_wait(weft_time deadline)
{
	int err;

	cond.inside--;
	err = weft_cond_wait(&cond.cond, &cond.mutex, deadline);
	kit_expect(cond.inside++ == 0);
	return err;
}

/* One signal for each; a waiter that gives up leaves it to another. */
static void take_and_put_back(struct actor *a)
{
	for (size_t i = 0; i < cond.rounds; i++) {
		weft_time deadline = some_deadline(a);
		int err = 0;

		enter();
		while (cond.ready == 0 && err == 0)
			err = cond_wait(deadline);
		if (is_done(err)) {
			cond.ready--;
			cond.used++;
		}
		leave();
		if (err != 0)
			continue;
		if (chance(a, 2))
			weft_yield();
		enter();
		cond.ready++;
		weft_cond_signal(&cond.cond);
		leave();
	}
}

static void no_signal_is_lost(void **state)
{
	(void)state;
	cond.rounds = kit_rounds(500);
	cond.ready = PERMITS;
	all_do(take_and_put_back, NULL);
	report("cond", cond.used);
	assert_int_equal(cond.ready, PERMITS);
	assert_int_equal(cond.cond.some_, 0);
	assert_null(cond.cond.waiters_[0]);
}

/* ------------------------------------------------------------------------ */
/* A barrier for five of many actors, which come and give up. */

enum { PARTIES = 5 };

static struct {
	weft_barrier barrier;
	_Atomic(size_t) ones, zeros;
	size_t rounds;
} barrier;

static void come_and_leave(struct actor *a)
{
	for (size_t i = 0; i < barrier.rounds; i++) {
		weft_time soon = weft_after(
			wf_random_below(&a->random, 500) * WF_NS_PER_US);
		int got = weft_barrier_wait(&barrier.barrier, soon);

		if (is_done(got))
			wf_add_rlx(got ? &barrier.ones : &barrier.zeros, 1);
		if (chance(a, 4))
			weft_yield();
	}
}

static void every_phase_is_complete(void **state)
{
	size_t ones, zeros;

	(void)state;
	barrier.barrier = (weft_barrier)WEFT_BARRIER_INIT(PARTIES);
	barrier.rounds = kit_rounds(400);
	all_do(come_and_leave, NULL);
	ones = wf_load_rlx(&barrier.ones);
	zeros = wf_load_rlx(&barrier.zeros);
	report("barrier", ones + zeros);
	assert_int_equal(zeros, ones * (PARTIES - 1));
	assert_int_equal(barrier.barrier.here_, 0);
	assert_null(barrier.barrier.waiters_[0]);
}

/* ------------------------------------------------------------------------ */
/* Events in frames, which other actors find in boxes, take out and set. */

enum { BOXES = 3 };

struct letter {
	weft_event event;
	size_t work; /* plain: the event orders it */
};

static struct {
	_Atomic(struct letter *) box[BOXES];
	_Atomic(size_t) answered;
	size_t rounds;
} mail;

static void answer(struct letter *l, size_t work)
{
	if (l == NULL)
		return;
	l->work = work;
	weft_event_set(&l->event);
}

/* The event is in a frame whose memory is reused at once. */
static wf_noinline void ask(struct actor *a)
{
	_Atomic(struct letter *) *box =
		&mail.box[wf_random_below(&a->random, BOXES)];
	struct letter l = { .work = 0 }, *mine = &l;
	int err;

	answer(wf_xchg_acqrel(box, &l), a->i + 1);
	err = weft_event_wait(&l.event, some_deadline(a));
	/* Take the letter back; if another actor has it, it will be set. */
	if (!is_done(err) && !wf_cas_acq(box, &mine, NULL)) {
		err = weft_event_wait(&l.event, WEFT_FOREVER);
		kit_expect(err == 0);
	}
	kit_expect(err != 0 || (l.work > 0 && l.work <= ACTORS));
	wf_add_rlx(&mail.answered, err == 0);
	memset(&l, 0xa5, sizeof(l));
	__asm__ volatile("" : : "r"(&l) : "memory");
}

static _Atomic(unsigned) asking = ACTORS;

static void ask_often(struct actor *a)
{
	for (size_t i = 0; i < mail.rounds; i++)
		ask(a);
	/* An actor that is done answers the others until all are. */
	(void)wf_sub_rlx(&asking, 1);
	while (wf_load_rlx(&asking) > 0) {
		for (int i = 0; i < BOXES; i++)
			answer(wf_xchg_acqrel(&mail.box[i], NULL), 1);
		weft_sleep(50 * WF_NS_PER_US);
	}
}

static void events_in_frames_are_left_alone(void **state)
{
	(void)state;
	mail.rounds = kit_rounds(600);
	all_do(ask_often, NULL);
	report("event", wf_load_rlx(&mail.answered));
	for (int i = 0; i < BOXES; i++)
		assert_null(wf_load_rlx(&mail.box[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permits_are_conserved),
		cmocka_unit_test(cancelled_waiters_keep_no_permit),
		cmocka_unit_test(no_signal_is_lost),
		cmocka_unit_test(every_phase_is_complete),
		cmocka_unit_test(events_in_frames_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
