/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/cond_scenarios.c - condition variables and barriers.
 */
#include "sim/actor_kit.h"

static struct {
	weft_cond *cond;
	weft_mutex *mutex;
	weft_barrier *barrier;
	int waiting, ready; /* by mutex */
} o;

/* ------------------------------------------------------------------------ */
/* Condition variable: a number of things that are ready, each for one. */

static void cond_begin(void *flags, uint32_t users)
{
	begin(flags);
	o.cond = duo_alloc(sizeof(*o.cond));
	o.mutex = duo_alloc(sizeof(*o.mutex));
	wf_store_rlx(&s.users, users);
}

static void cond_end(void)
{
	weft_sim_assert(o.cond->waiters_[0] == NULL && o.cond->some_ == 0,
		"somebody is forgotten");
	FREE(o.cond);
	FREE(o.mutex);
}

/* Take one, waiting for it; 0, or why not, even if there is one by then. */
static int cond_take(weft_time deadline)
{
	int err = 0;

	weft_mutex_lock(o.mutex);
	o.waiting++;
	while (o.ready == 0 && err == 0)
		err = weft_cond_wait(o.cond, o.mutex, deadline);
	o.waiting--;
	if (err == 0)
		o.ready--;
	weft_mutex_unlock(o.mutex);
	return err;
}

static void cond_take_0(void)
{
	s.result[0] = cond_take(by());
}

static void cond_take_1(void)
{
	s.result[1] = cond_take(WEFT_FOREVER);
}

static void cond_give(void)
{
	sleep_until_then();
	weft_mutex_lock(o.mutex);
	o.ready++;
	weft_cond_signal(o.cond);
	weft_mutex_unlock(o.mutex);
}

static void cond_give_unlocked(void)
{
	weft_mutex_lock(o.mutex);
	o.ready++;
	weft_mutex_unlock(o.mutex);
	weft_cond_signal(o.cond);
}

static void cond_give_all(void)
{
	weft_mutex_lock(o.mutex);
	o.ready += 2;
	weft_cond_broadcast(o.cond);
	weft_mutex_unlock(o.mutex);
}

static void cond_take_and_free(void)
{
	s.result[0] = cond_take(WEFT_FOREVER);
	cond_end();
}

/* The waiter frees both at once. */
static void cond_free(void *arg)
{
	cond_begin(arg, 0);
	PLAY(cond_take_and_free, cond_give);
	check_first();
}

/* Two wait, and two are given: one by one, or both at once. */
static void cond_two(void *arg)
{
	cond_begin(arg, 0);
	PLAY(cond_take_0, cond_take_1, cond_give, cond_give_unlocked);
	weft_sim_assert(s.result[0] == 0 && s.result[1] == 0, "wait: %d, %d",
		s.result[0], s.result[1]);
	cond_end();
}

static void cond_all(void *arg)
{
	cond_begin(arg, 0);
	PLAY(cond_take_0, cond_take_1, cond_give_all);
	weft_sim_assert(s.result[0] == 0 && s.result[1] == 0, "wait: %d, %d",
		s.result[0], s.result[1]);
	cond_end();
}

static void cond_signal(void)
{
	weft_cond_signal(o.cond);
}

/* The waker does not hold the mutex, which may be being released. */
static void cond_blind(void *arg)
{
	cond_begin(arg, 0);
	PLAY(cond_take_0, cond_signal, cond_give);
	check_first();
	cond_end();
}

/* If the first one gets what there is, one more. */
static void cond_take_or_give(void)
{
	s.result[0] = cond_take(by());
	if (s.result[0] == 0)
		cond_give_unlocked();
}

/* One is given: a signal that loses to a deadline goes to the other. */
static void cond_loser(void *arg)
{
	cond_begin(arg, 0);
	if (s.flags & CANCEL)
		PLAY(cond_take_or_give, cond_take_1, cond_give, cancel_first);
	else
		PLAY(cond_take_or_give, cond_take_1, cond_give);
	check_first();
	weft_sim_assert(s.result[1] == 0, "wait: %d", s.result[1]);
	cond_end();
}

/* Wakes both once they wait, and frees the cond while they wake up. */
static void cond_broadcast_and_free(void)
{
	weft_mutex_lock(o.mutex);
	while (o.waiting < 2) {
		weft_mutex_unlock(o.mutex);
		duo_pause();
		weft_mutex_lock(o.mutex);
	}
	o.ready = 2;
	weft_cond_broadcast(o.cond);
	FREE(o.cond);
	weft_mutex_unlock(o.mutex);
}

static void cond_last(void *arg)
{
	cond_begin(arg, 0);
	PLAY(cond_take_0, cond_take_1, cond_broadcast_and_free);
	weft_sim_assert(s.result[0] == 0 && s.result[1] == 0, "wait: %d, %d",
		s.result[0], s.result[1]);
	FREE(o.mutex);
}

/* ------------------------------------------------------------------------ */
/* Barrier. */

static void barrier_begin(void *flags, uint32_t parties, uint32_t users)
{
	begin(flags);
	o.barrier = duo_alloc(sizeof(*o.barrier));
	*o.barrier = (weft_barrier)WEFT_BARRIER_INIT(parties);
	wf_store_rlx(&s.users, users);
}

static void barrier_check(void)
{
	weft_sim_assert(o.barrier->here_ == 0 && o.barrier->waiters_[0] == NULL,
		"somebody is still there");
}

static void barrier_let_go(void)
{
	if (!let_go())
		return;
	barrier_check();
	FREE(o.barrier);
}

/* Phases, in each of which everyone sees what the others did before. */
static void barrier_phases(unsigned i, unsigned parties)
{
	for (int phase = 1; phase <= 2; phase++) {
		int got;

		s.work[i] = phase;
		got = weft_barrier_wait(o.barrier, WEFT_FOREVER);
		weft_sim_assert(got == 0 || got == 1, "wait: %d", got);
		s.result[i] += got;
		for (unsigned j = 0; j < parties; j++)
			weft_sim_assert(s.work[j] == phase, "phase %d: %d",
				phase, s.work[j]);
		got = weft_barrier_wait(o.barrier, WEFT_FOREVER);
		weft_sim_assert(got == 0 || got == 1, "wait: %d", got);
		s.result[i] += got;
	}
	barrier_let_go();
}

static void barrier_phases_0(void)
{
	barrier_phases(0, 2);
}

static void barrier_phases_1(void)
{
	barrier_phases(1, 2);
}

static void barrier_two(void *arg)
{
	barrier_begin(arg, 2, 2);
	PLAY(barrier_phases_0, barrier_phases_1);
	weft_sim_assert(s.result[0] + s.result[1] == 4,
		"%d were the one of their phase", s.result[0] + s.result[1]);
}

static void barrier_wait(unsigned i, weft_time deadline)
{
	s.work[i] = 1;
	s.result[i] = weft_barrier_wait(o.barrier, deadline);
	if (s.result[i] >= 0)
		weft_sim_assert(s.work[0] + s.work[1] + s.work[2] == 3,
			"not all have come");
}

static void barrier_wait_0(void)
{
	barrier_wait(0, by());
	barrier_let_go();
}

static void barrier_wait_1(void)
{
	barrier_wait(1, s.then + LATER);
	barrier_let_go();
}

static void barrier_wait_2(void)
{
	sleep_until_then();
	barrier_wait(2, s.then + LATER);
	barrier_let_go();
}

/* Three of them, the first does not wait for long: all or none. */
static void barrier_loser(void *arg)
{
	int done = 0, ones = 0;

	barrier_begin(arg, 3, 3);
	if (s.flags & CANCEL)
		PLAY(barrier_wait_0, barrier_wait_1, barrier_wait_2,
			cancel_first);
	else
		PLAY(barrier_wait_0, barrier_wait_1, barrier_wait_2);
	for (int i = 0; i < 3; i++) {
		done += s.result[i] >= 0;
		ones += s.result[i] == 1;
	}
	weft_sim_assert((done == 3 && ones == 1) || (done == 0 && ones == 0),
		"waits ended with %d, %d, %d", s.result[0], s.result[1],
		s.result[2]);
}

static void barrier_now(void)
{
	s.result[1] = weft_barrier_wait(o.barrier, WEFT_NOW);
}

static void barrier_give_up(void)
{
	s.result[0] = weft_barrier_wait(o.barrier, s.then);
}

static void barrier_now_late(void)
{
	(void)weft_sleep_until(s.then);
	barrier_now();
}

/* Two of them, one waits until the other comes, which does not wait. */
static void barrier_meet(void *arg)
{
	barrier_begin(arg, 2, 0);
	if (s.flags & TIMED)
		PLAY(barrier_give_up, barrier_now_late);
	else
		PLAY(barrier_give_up, barrier_now);
	weft_sim_assert((s.result[0] == 0 && s.result[1] == 1) ||
			(s.result[0] == -ETIMEDOUT &&
				s.result[1] == -ETIMEDOUT),
		"wait: %d, %d", s.result[0], s.result[1]);
	barrier_check();
	FREE(o.barrier);
}

/* ------------------------------------------------------------------------ */

static const struct scenario table[] = {
	ROW("cond/free", cond_free, THREADS),
	ROW("cond/free-fiber", cond_free, FIBERS),
	ROW("cond/free-outside", cond_free, MIXED),
	ROW("cond/two-signals", cond_two, THREADS),
	ROW("cond/two-mixed", cond_two, MIXED),
	ROW("cond/broadcast", cond_all, THREADS),
	ROW("cond/broadcast-fibers", cond_all, FIBERS),
	ROW("cond/blind", cond_blind, THREADS),
	ROW("cond/blind-fiber", cond_blind, MIXED),
	ROW("cond/loser", cond_loser, THREADS | TIMED),
	ROW("cond/loser-fibers", cond_loser, FIBERS | TIMED),
	ROW("cond/loser-cancel", cond_loser, FIBERS | CANCEL),
	ROW("cond/last", cond_last, THREADS),
	ROW("cond/last-fibers", cond_last, 3u),

	ROW("barrier/two", barrier_two, THREADS),
	ROW("barrier/two-fibers", barrier_two, FIBERS),
	ROW("barrier/two-mixed", barrier_two, MIXED),
	ROW("barrier/loser", barrier_loser, THREADS | TIMED),
	ROW("barrier/loser-fibers", barrier_loser, FIBERS | TIMED),
	ROW("barrier/loser-cancel", barrier_loser, FIBERS | CANCEL),
	ROW("barrier/meet", barrier_meet, THREADS),
	ROW("barrier/meet-timed", barrier_meet, TIMED),
	ROW("barrier/meet-fibers", barrier_meet, FIBERS | TIMED),
};

const struct scenarios cond_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
