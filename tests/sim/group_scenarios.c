/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/group_scenarios.c - the wait group: freed or used anew the instant
 * that its waiter is released.
 */
#include "sim/fiber_kit.h"

#include <errno.h>

#include "os/os.h"

static struct {
	weft_group *g;
	int work[3];		 /* what was done before each done */
	weft_fiber *fiber;	 /* that waits */
	weft_time deadline;	 /* of the waiter that may give up */
	int results[2];		 /* of the waits */
	_Atomic(uint32_t) users; /* of the group; not the finished ones */
	_Atomic(uint32_t) round;
} *s;

static void open_all(int64_t count)
{
	s = duo_alloc(sizeof(*s));
	s->g = duo_alloc(sizeof(*s->g));
	s->deadline = WEFT_FOREVER;
	weft_group_add(s->g, count);
}

static void close_all(void)
{
	weft_sim_assert(s->g == NULL, "the group is still there");
	wf_os_free(s);
}

static void free_group(void)
{
	weft_sim_assert(s->g->state_ == 0 && s->g->waiters_[0] == NULL,
		"the group is not as it began: %#llx",
		(unsigned long long)s->g->state_);
	wf_os_free(s->g);
	s->g = NULL;
}

/* One of those who wait is through; the last one frees the group. */
static void let_go(void)
{
	/* [pair: group.users] */
	if (wf_sub_acqrel(&s->users, 1) == 1)
		free_group();
}

/* ------------------------------------------------------------------------ */
/* Plain threads. */

static void done_0(void *arg)
{
	weft_group *g = s->g;

	(void)arg;
	s->work[0] = 1;
	weft_group_done(g);
}

static void done_1(void *arg)
{
	weft_group *g = s->g;

	(void)arg;
	s->work[1] = 1;
	weft_group_done(g);
}

/* One more, and two less, in small steps. */
static void add_and_done(void *arg)
{
	weft_group *g = s->g;

	(void)arg;
	weft_group_add(g, 1);
	s->work[0] = 1;
	weft_group_add(g, -1);
	weft_group_done(g);
}

static void check_work(int n)
{
	for (int i = 0; i < n; i++)
		weft_sim_assert(s->work[i] == 1, "%d is not seen", i);
}

/* Two are done, one waits and frees; with arg the first is done in steps. */
void group_free(void *arg)
{
	int one, other, err;

	open_all(2);
	one = duo_thread(arg ? add_and_done : done_0, NULL, "one");
	other = duo_thread(done_1, NULL, "other");
	err = weft_group_wait(s->g, WEFT_FOREVER);
	weft_sim_assert(err == 0, "wait: %d", err);
	check_work(2);
	free_group();
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	close_all();
}

/* Wait by asking again and again. */
void group_now(void *arg)
{
	int one, other, err;

	(void)arg;
	open_all(2);
	one = duo_thread(done_0, NULL, "one");
	other = duo_thread(done_1, NULL, "other");
	while ((err = weft_group_wait(s->g, WEFT_NOW)) == -ETIMEDOUT)
		weft_sim_yield();
	weft_sim_assert(err == 0, "wait: %d", err);
	check_work(2);
	free_group();
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	close_all();
}

static void waits(void *arg)
{
	int *result = arg;

	*result = weft_group_wait(s->g, s->deadline);
	if (*result == 0)
		check_work(1);
	let_go();
}

/* Two wait, and with arg one of them not for long. */
void group_two_waiters(void *arg)
{
	int one, other, err;

	open_all(1);
	wf_store_rlx(&s->users, 2);
	if (arg != NULL)
		s->deadline = weft_after(1000);
	one = duo_thread(done_0, NULL, "one");
	other = duo_thread(waits, &s->results[0], "waiter");
	err = weft_group_wait(s->g, WEFT_FOREVER);
	check_work(1);
	let_go();
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	weft_sim_assert(err == 0 && (s->results[0] == 0 || arg != NULL),
		"wait: %d, %d", err, s->results[0]);
	close_all();
}

static void done_each_round(void *arg)
{
	(void)arg;
	for (uint32_t i = 1; i <= 2; i++) {
		duo_await(&s->round, i);
		s->work[i - 1] = 1;
		weft_group_done(s->g);
	}
}

/* The waiter uses the group anew, at once. */
void group_again(void *arg)
{
	int thread;

	(void)arg;
	open_all(0);
	thread = duo_thread(done_each_round, NULL, "one");
	for (uint32_t i = 1; i <= 2; i++) {
		int err;

		weft_group_add(s->g, 1);
		/* [pair: duo.await] */
		wf_store_rel(&s->round, i);
		err = weft_group_wait(s->g, WEFT_FOREVER);
		weft_sim_assert(err == 0, "wait: %d", err);
		check_work((int)i);
		weft_sim_assert(s->g->state_ == 0 && s->g->waiters_[0] == NULL,
			"round %u leaves something behind", i);
	}
	free_group();
	(void)weft_sim_join(thread);
	close_all();
}

static void gives_up(void *arg)
{
	int *result = arg;

	*result = weft_group_wait(s->g, s->deadline);
}

/* Somebody waits in the group, or has waited. */
static bool is_waited_for(void)
{
	_Atomic(uint64_t) *word = (_Atomic(uint64_t) *)&s->g->state_;

	return wf_load_rlx(word) & 2;
}

/* A waiter that gives up leaves the group before another frees it. */
void group_leaver(void *arg)
{
	int one, other, err;

	(void)arg;
	open_all(1);
	s->deadline = weft_after(1000);
	other = duo_thread(gives_up, &s->results[0], "waiter");
	while (!is_waited_for() && weft_now() < s->deadline)
		weft_sim_yield();
	one = duo_thread(done_0, NULL, "one");
	if (!is_waited_for())
		(void)weft_sim_join(other);
	err = weft_group_wait(s->g, WEFT_FOREVER);
	check_work(1);
	free_group();
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	weft_sim_assert(
		err == 0 && (s->results[0] == 0 || s->results[0] == -ETIMEDOUT),
		"wait: %d, %d", err, s->results[0]);
	close_all();
}

/*
 * The first who is through counts once more, while the other may still be on
 * its way into the wait.
 */
void group_rounds(void *arg)
{
	int one, other, err;

	(void)arg;
	open_all(1);
	wf_store_rlx(&s->users, 2);
	one = duo_thread(done_0, NULL, "one");
	other = duo_thread(waits, &s->results[0], "waiter");
	err = weft_group_wait(s->g, WEFT_FOREVER);
	check_work(1);
	weft_group_add(s->g, 1);
	weft_group_done(s->g);
	let_go();
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	weft_sim_assert(err == 0 && s->results[0] == 0, "wait: %d, %d", err,
		s->results[0]);
	close_all();
}

/* ------------------------------------------------------------------------ */
/* Fibers. */

static void *fiber_waits(void *arg)
{
	weft_fiber *self = weft_self();
	int *result = arg;

	*result = weft_group_wait(s->g, WEFT_FOREVER);
	duo_check_here(self);
	if (*result == 0)
		check_work(1);
	let_go();
	return NULL;
}

static void *fiber_done(void *arg)
{
	done_0(arg);
	return NULL;
}

/* One waits; one fiber and one thread are done. */
void group_fiber(void *arg)
{
	int thread;

	(void)arg;
	open_all(2);
	wf_store_rlx(&s->users, 1);
	duo_open(0);
	duo_root(0, fiber_waits, &s->results[0]);
	duo_root(1, fiber_done, NULL);
	duo_start();
	thread = duo_thread(done_1, NULL, "other");
	duo_join();
	(void)weft_sim_join(thread);
	weft_sim_assert(s->results[0] == 0, "wait: %d", s->results[0]);
	duo_close();
	close_all();
}

/* Two wait, one on each worker, and a thread is done. */
void group_two_fibers(void *arg)
{
	int thread;

	(void)arg;
	open_all(1);
	wf_store_rlx(&s->users, 2);
	duo_open(0);
	duo_root(0, fiber_waits, &s->results[0]);
	duo_root(1, fiber_waits, &s->results[1]);
	duo_start();
	thread = duo_thread(done_0, NULL, "other");
	duo_join();
	(void)weft_sim_join(thread);
	weft_sim_assert(s->results[0] == 0 && s->results[1] == 0,
		"wait: %d, %d", s->results[0], s->results[1]);
	duo_close();
	close_all();
}

static void cancels(void *arg)
{
	(void)arg;
	duo_cancel(s->fiber);
}

/* Two wait; one of them is cancelled while a thread is done. */
void group_cancel(void *arg)
{
	int canceller, thread;

	(void)arg;
	open_all(1);
	wf_store_rlx(&s->users, 2);
	duo_open(0);
	s->fiber = duo_handle(0, fiber_waits, &s->results[0]);
	duo_root(1, fiber_waits, &s->results[1]);
	duo_start();
	canceller = duo_thread(cancels, NULL, "canceller");
	thread = duo_thread(done_0, NULL, "other");
	duo_join();
	(void)weft_sim_join(canceller);
	(void)weft_sim_join(thread);
	weft_sim_assert(s->results[0] == 0 || s->results[0] == -ECANCELED,
		"the first wait: %d", s->results[0]);
	weft_sim_assert(s->results[1] == 0, "wait: %d", s->results[1]);
	weft_detach(s->fiber);
	duo_close();
	close_all();
}
