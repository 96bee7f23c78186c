/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/life_scenarios.c - fibers in whole runtimes: from the start of one,
 * through the public interface alone, to its end, which finds every fiber.
 */
#include "sim/fiber_kit.h"

#include <errno.h>

#include "os/os.h"
#include "sim/conserve_kit.h"

static struct {
	weft_rt *rt;
	weft_group never; /* is done */
	weft_fiber *fiber;
	_Atomic(weft_fiber *) box;
	int runs[4];
	int results[2];
	_Atomic(uint32_t) waiting; /* fibers in a call that waits */
	_Atomic(bool) shut;	   /* shutdown has returned */
} * s;

static void open_all(void)
{
	s = duo_alloc(sizeof(*s));
	weft_group_add(&s->never, 1);
	s->rt = duo_rt_start();
	weft_sim_assert(s->rt != NULL, "the runtime does not start");
}

static void close_all(void)
{
	duo_rt_stop(s->rt);
	wf_os_free(s);
	s = NULL;
}

/* No thread can run until time passes: the shutdown has found the waiter. */
void life_idle(void *arg)
{
	conserve_idle(arg);
	if (s != NULL && wf_load_rlx(&s->shut))
		weft_sim_assert(wf_load_rlx(&s->waiting) == 0,
			"a fiber waits that was not cancelled");
}

static void shut_down(void)
{
	(void)weft_rt_shutdown(s->rt);
	wf_store_rlx(&s->shut, true);
}

static weft_fiber *spawn_outside(void *(*fn)(void *), void *arg)
{
	weft_fiber *f = NULL;
	int err = weft_rt_spawn(s->rt, &f, NULL, fn, arg);

	weft_sim_assert(err == 0, "spawn: %d", err);
	return f;
}

static void *count(void *arg)
{
	int *runs = arg;

	(*runs)++;
	return arg;
}

/* ------------------------------------------------------------------------ */

static void *family(void *arg)
{
	weft_fiber *f[2];

	for (int i = 0; i < 2; i++) {
		int err = weft_spawn(&f[i], NULL, count, &s->runs[i]);

		weft_sim_assert(err == 0, "spawn: %d", err);
	}
	for (int i = 0; i < 2; i++) {
		void *result = NULL;
		int err = weft_join(f[i], &result, WEFT_FOREVER);

		weft_sim_assert(
			err == 0 && result == &s->runs[i] && s->runs[i] == 1,
			"child %d ran %d times, %d", i, s->runs[i], err);
	}
	return arg;
}

/* Parent and children on two workers, joined by a plain thread. */
void life_family(void *arg)
{
	weft_fiber *f;
	int err;

	(void)arg;
	open_all();
	f = spawn_outside(family, NULL);
	err = weft_join(f, NULL, WEFT_FOREVER);
	weft_sim_assert(err == 0, "join: %d", err);
	close_all();
}

/* ------------------------------------------------------------------------ */
/* The end finds everybody. */

static void *wait_for_never(void *arg)
{
	int *result = arg;

	(void)wf_add_rlx(&s->waiting, 1);
	*result = weft_group_wait(&s->never, WEFT_FOREVER);
	(void)wf_sub_rlx(&s->waiting, 1);
	weft_sim_assert(weft_cancelled(), "it does not know that it is over");
	return arg;
}

static void *join_who_waits(void *arg)
{
	int *result = arg;

	(void)wf_add_rlx(&s->waiting, 1);
	*result = weft_join(s->fiber, NULL, WEFT_FOREVER);
	(void)wf_sub_rlx(&s->waiting, 1);
	if (*result != 0)
		weft_detach(s->fiber);
	return arg;
}

/* One waits, one waits for it, and the runtime stops. */
void life_stop(void *arg)
{
	weft_fiber *joiner;

	(void)arg;
	open_all();
	s->fiber = spawn_outside(wait_for_never, &s->results[0]);
	joiner = spawn_outside(join_who_waits, &s->results[1]);
	weft_detach(joiner);
	shut_down();
	duo_rt_stop(s->rt);
	weft_sim_assert(s->results[0] == -ECANCELED &&
			(s->results[1] == -ECANCELED || s->results[1] == 0),
		"their calls returned %d and %d", s->results[0], s->results[1]);
	wf_os_free(s);
	s = NULL;
}

static void wait_detached(void *arg)
{
	(void)wait_for_never(arg);
}

static void *spawns_a_waiter(void *arg)
{
	int err = weft_go(wait_detached, &s->results[0]);

	weft_sim_assert(err == 0 || err == -ESHUTDOWN, "go: %d", err);
	if (err != 0)
		s->results[0] = -ECANCELED;
	return arg;
}

/* Spawns a waiter, and runs it as a call. */
static void *joins_a_waiter(void *arg)
{
	weft_fiber *f = NULL;
	int err = weft_spawn(&f, NULL, wait_for_never, &s->results[0]);

	weft_sim_assert(err == 0 || err == -ESHUTDOWN, "spawn: %d", err);
	if (err != 0)
		s->results[0] = -ECANCELED;
	else if (weft_join(f, NULL, WEFT_FOREVER) != 0)
		weft_detach(f);
	return arg;
}

/* A fiber begins, and waits, while the runtime shuts down. */
void life_late(void *arg)
{
	open_all();
	weft_detach(
		spawn_outside(arg ? joins_a_waiter : spawns_a_waiter, NULL));
	shut_down();
	duo_rt_stop(s->rt);
	weft_sim_assert(
		s->results[0] == -ECANCELED, "it returned %d", s->results[0]);
	wf_os_free(s);
	s = NULL;
}

/* ------------------------------------------------------------------------ */
/* The waker of the last fiber is still in its call when that has ended. */

static void *sleeps(void *arg)
{
	struct duo_post post = { .awaiter.commit = duo_publish,
		.box = &s->box };
	int refused = weft_suspend(&post.awaiter);

	weft_sim_assert(refused == 0, "suspend: %d", refused);
	s->runs[0]++;
	return arg;
}

static void wakes(void *arg)
{
	weft_fiber *f;

	(void)arg;
	/* [pair: life.box] */
	while ((f = wf_load_acq(&s->box)) == NULL)
		weft_sim_yield();
	weft_wake(f, WEFT_HINT_DEFAULT);
}

/* Not before a joiner waits for it. */
static void *ends_when_joined(void *arg)
{
	weft_fiber *self = weft_self();

	while (!(wf_load_rlx(&self->state) & WF_FIBER_JOINED))
		duo_pause();
	return count(arg);
}

static void joins(void *arg)
{
	int err = weft_join(s->fiber, NULL, WEFT_FOREVER);

	(void)arg;
	weft_sim_assert(err == 0 && s->runs[0] == 1, "join: %d", err);
}

static void is_done(void *arg)
{
	(void)arg;
	weft_group_done(&s->never);
}

static void *waits_or_not(void *arg)
{
	int err = weft_group_wait(&s->never, WEFT_FOREVER);

	weft_sim_assert(err == 0 || err == -ECANCELED, "wait: %d", err);
	return count(arg);
}

/* A plain thread does it, and the runtime stops under it. */
static void let_go_and_stop(void *(*fiber)(void *), void (*thread)(void *))
{
	int id;

	open_all();
	s->fiber = spawn_outside(fiber, &s->runs[0]);
	if (thread != joins)
		weft_detach(s->fiber);
	id = duo_thread(thread, NULL, "outside");
	duo_rt_stop(s->rt);
	(void)weft_sim_join(id);
	weft_sim_assert(s->runs[0] == 1, "it ran %d times", s->runs[0]);
	wf_os_free(s);
	s = NULL;
}

void life_wake_last(void *arg)
{
	(void)arg;
	let_go_and_stop(sleeps, wakes);
}

void life_join_last(void *arg)
{
	(void)arg;
	let_go_and_stop(ends_when_joined, joins);
}

void life_done_last(void *arg)
{
	(void)arg;
	let_go_and_stop(waits_or_not, is_done);
}

/* ------------------------------------------------------------------------ */
/* No memory, no threads. */

static void *family_in_need(void *arg)
{
	weft_fiber *f;

	for (int i = 0; i < 2; i++) {
		int err = weft_spawn(&f, NULL, count, &s->runs[i]);

		weft_sim_assert(err == 0 || err == -ENOMEM, "spawn: %d", err);
		if (err != 0)
			continue;
		err = weft_join(f, NULL, WEFT_FOREVER);
		weft_sim_assert(err == 0 && s->runs[i] == 1, "join: %d", err);
	}
	return arg;
}

/* One runtime, whatever the system refuses. */
static void live_in_need(void)
{
	weft_fiber *f = NULL;
	int err;

	s->rt = duo_rt_start();
	if (s->rt == NULL)
		return;
	err = weft_rt_spawn(s->rt, &f, NULL, family_in_need, NULL);
	weft_sim_assert(err == 0 || err == -ENOMEM, "spawn: %d", err);
	if (err == 0)
		err = weft_join(f, NULL, WEFT_FOREVER);
	weft_sim_assert(err == 0 || err == -ENOMEM, "join: %d", err);
	duo_rt_stop(s->rt);
}

/* A refused call is undone; when memory is there again all is well. */
void life_faults(void *arg)
{
	(void)arg;
	s = duo_alloc(sizeof(*s));
	weft_sim_os_faults(16);
	live_in_need();
	weft_sim_os_faults(0);
	s->runs[0] = s->runs[1] = 0;
	live_in_need();
	weft_sim_assert(s->runs[0] == 1 && s->runs[1] == 1,
		"the next call does not work");
	wf_os_free(s);
}
