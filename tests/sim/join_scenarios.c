/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/join_scenarios.c - fibers end while they are joined, detached or
 * their joiner is cancelled, and their descriptors are used again at once.
 */
#include "sim/join_kit.h"

#include <errno.h>

/* ------------------------------------------------------------------------ */
/* A ticket for an earlier life. */

static void *first_owner(void *arg)
{
	/* [pair: join.handle] The handle goes to another fiber. */
	wf_store_rel(&s->handle, spawn(child, 0));
	return arg;
}

/*
 * The next life of the free descriptor f has the number of its last one, as
 * after 256 lives.
 */
static void turn_back(weft_fiber *f)
{
	uint32_t use = wf_load_rlx(&f->state) - (1u << WF_FIBER_USE_SHIFT);

	wf_store_rlx(&f->state, use & WF_FIBER_USE);
}

static void *second_owner(void *arg)
{
	weft_fiber *f, *again;
	uint32_t use;

	/* [pair: join.handle] */
	while ((f = wf_load_acq(&s->handle)) == NULL)
		duo_pause();
	use = wf_load_rlx(&f->state) & WF_FIBER_USE;
	join(f, 0);
	if (arg != NULL)
		turn_back(f);
	again = spawn(child, 1);
	weft_sim_assert(again == f, "another descriptor was taken");
	weft_sim_assert((use == (wf_load_rlx(&f->state) & WF_FIBER_USE)) ==
			(arg != NULL),
		"the lives have the wrong numbers");
	join(again, 1);
	return NULL;
}

/*
 * The ticket stays behind in the queue of the first worker, while the second
 * one has run the fiber and begun another in the same descriptor.
 */
void join_stale(void *arg)
{
	open_all(0);
	duo_root(0, first_owner, NULL);
	duo_root(1, second_owner, arg);
	duo_run();
	close_all();
}

/* ------------------------------------------------------------------------ */
/* A child that runs: its joiner waits. */

static void *ends(void *arg)
{
	s->runs[0]++;
	s->data[0] = 1;
	return arg;
}

static void *joins(void *arg)
{
	weft_fiber *self = weft_self();

	join(s->fiber, 0);
	duo_check_here(self);
	join(spawn(child, 1), 1);
	return arg;
}

/* It is already done, as far as one can tell without order. */
static void *joins_done(void *arg)
{
	while (!(wf_load_rlx(&s->fiber->state) & WF_FIBER_DONE))
		duo_pause();
	return joins(arg);
}

static void joins_from_thread(void *arg)
{
	(void)arg;
	join(s->fiber, 0);
}

void join_fiber(void *arg)
{
	open_all(0);
	s->fiber = duo_handle(1, ends, number(0));
	duo_root(0, arg ? joins_done : joins, NULL);
	duo_run();
	close_all();
}

void join_thread(void *arg)
{
	int thread;

	(void)arg;
	open_all(0);
	s->fiber = duo_handle(1, ends, number(0));
	duo_start();
	thread = duo_thread(joins_from_thread, NULL, "joiner");
	duo_join();
	(void)weft_sim_join(thread);
	close_all();
}

static void joins_by_deadline(void *arg)
{
	void *result = NULL;
	int err = weft_join(s->fiber, &result, weft_after(500));

	(void)arg;
	duo_scribble();
	if (err == -ETIMEDOUT) {
		err = weft_join(s->fiber, &result, WEFT_NOW);
		duo_scribble();
	}
	if (err == -ETIMEDOUT)
		err = weft_join(s->fiber, &result, WEFT_FOREVER);
	check_child(0, err, result);
}

/* It gives up at the moment that the fiber ends. */
void join_deadline(void *arg)
{
	int thread;

	(void)arg;
	open_all(0);
	s->fiber = duo_handle(1, ends, number(0));
	duo_start();
	thread = duo_thread(joins_by_deadline, NULL, "joiner");
	duo_join();
	(void)weft_sim_join(thread);
	close_all();
}

static void *joins_or_is_cancelled(void *arg)
{
	weft_fiber *self = weft_self();
	void *result = NULL;
	int err = weft_join(s->fiber, &result, WEFT_FOREVER);

	duo_scribble();
	duo_check_here(self);
	if (err == -ECANCELED)
		weft_detach(s->fiber);
	else
		check_child(0, err, result);
	return arg;
}

static void cancels(void *arg)
{
	(void)arg;
	duo_cancel(s->joiner);
}

/* The joiner is cancelled at the moment that the fiber ends. */
void join_cancel(void *arg)
{
	int thread;

	(void)arg;
	open_all(0);
	s->fiber = duo_handle(1, ends, number(0));
	s->joiner = duo_handle(0, joins_or_is_cancelled, NULL);
	duo_start();
	thread = duo_thread(cancels, NULL, "canceller");
	duo_join();
	(void)weft_sim_join(thread);
	weft_detach(s->joiner);
	weft_sim_assert(s->runs[0] == 1, "it ran %d times", s->runs[0]);
	close_all();
}

static void *detaches(void *arg)
{
	weft_detach(s->fiber);
	/* Perhaps in the same descriptor. */
	join(spawn(child, 1), 1);
	return arg;
}

static void detaches_from_thread(void *arg)
{
	(void)arg;
	weft_detach(s->fiber);
}

static void *ends_later(void *arg)
{
	weft_yield();
	return ends(arg);
}

/* It is detached at the moment that it ends. */
void join_detach(void *arg)
{
	int thread = -1;

	open_all(0);
	s->fiber = duo_handle(1, arg ? ends_later : ends, number(0));
	if (arg == NULL)
		duo_root(0, detaches, NULL);
	duo_start();
	if (arg != NULL)
		thread = duo_thread(detaches_from_thread, NULL, "detacher");
	duo_join();
	if (arg != NULL)
		(void)weft_sim_join(thread);
	weft_sim_assert(s->runs[0] == 1, "it ran %d times", s->runs[0]);
	close_all();
}
