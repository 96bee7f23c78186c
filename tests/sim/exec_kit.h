/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/exec_kit.h - an executor made by hand, for scenarios of tasks and
 * fibers that are on no runtime.
 *
 * The DESK holds a few tasks, and simulated threads that serve it run them.  It
 * orders as much as an executor must and little more: all before a submit
 * happens before the task runs.
 *
 *	desk_open(&desk, n);		n calls of desk_leave end it
 *	desk_root(&desk, fn, arg);	a detached fiber
 *	desk_run(&desk, 2);		the caller and one more thread serve it
 *
 * It must stay until all that submit to it have returned.
 */
#ifndef WEFT_TESTS_SIM_EXEC_KIT_H
#define WEFT_TESTS_SIM_EXEC_KIT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/sim.h>
#include <weft/weft.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/os.h"
#include "exec/exec.h"
#include "exec/foreign.h"
#include "sim/fiber_kit.h"

enum { DESK_SLOTS = 4 };

struct desk {
	weft_executor executor;		/* must be first */
	weft_executor *as;		/* whose tasks they are */
	_Atomic(weft_task *) slot[DESK_SLOTS];
	_Atomic(uint32_t) word;		/* futex: submits, and the end */
	_Atomic(bool) over;
	_Atomic(uint32_t) left;		/* calls of desk_leave to come */
	bool refuses;			/* sometimes */
};

/* An address on the stack of the simulated thread that serves. */
static _Thread_local const char *desk_frame;

static wf_noinline wf_maybe_unused const char *desk_frame_here(void)
{
	return *(const char *volatile *)&desk_frame;
}

static inline int desk_submit(weft_executor *e, weft_task *t, weft_hint hint)
{
	struct desk *d = (struct desk *)e;
	weft_task *none = NULL;

	(void)hint;
	if (d->refuses && weft_sim_either(2) != 0)
		return -EBUSY;
	/* [pair: desk.slot] The task, as it is now. */
	for (unsigned i = 0; !wf_cas_rel(&d->slot[i % DESK_SLOTS], &none, t);
		i++)
		none = NULL;
	/* [pair: desk.word] A server that sees this finds the task. */
	(void)wf_add_rel(&d->word, 1);
	(void)wf_os_futex_wake(&d->word, 1);
	return 0;
}

static inline void desk_open(struct desk *d, uint32_t left)
{
	d->executor.submit = desk_submit;
	d->as = &d->executor;
	wf_store_rlx(&d->left, left);
}

static inline void desk_end(struct desk *d)
{
	wf_store_rlx(&d->over, true);
	/* [pair: desk.word] */
	(void)wf_add_rel(&d->word, 1);
	(void)wf_os_futex_wake(&d->word, UINT32_MAX);
}

/* One user is through; after the last the servers end. */
static inline void desk_leave(struct desk *d)
{
	if (wf_sub_rlx(&d->left, 1) == 1)
		desk_end(d);
}

static inline weft_task *desk_take(struct desk *d)
{
	for (unsigned i = 0; i < DESK_SLOTS; i++) {
		weft_task *t = wf_load_rlx(&d->slot[i]);

		/* [pair: desk.slot] */
		if (t != NULL && (t = wf_xchg_acq(&d->slot[i], NULL)) != NULL)
			return t;
	}
	return NULL;
}

/* Run all tasks, until the end, in one foreign run. */
static inline void desk_serve(void *arg)
{
	struct desk *d = arg;
	struct wf_thread v;

	desk_frame = (const char *)&v;
	wf_foreign_begin(&v, d->as);
	for (;;) {
		/* [pair: desk.word] */
		uint32_t seen = wf_load_acq(&d->word);
		weft_task *t = desk_take(d);

		if (t != NULL)
			weft_task_run(d->as, t);
		else if (wf_load_rlx(&d->over))
			break;
		else
			(void)wf_os_futex_wait(&d->word, seen, INT64_MAX);
	}
	wf_foreign_end(&v);
}

/* The caller and one thread less than that, until the end. */
static inline void desk_run(struct desk *d, unsigned servers)
{
	int id[2];

	for (unsigned i = 1; i < servers; i++)
		id[i - 1] = duo_thread(desk_serve, d, "server");
	desk_serve(d);
	for (unsigned i = 1; i < servers; i++)
		(void)weft_sim_join(id[i - 1]);
}

static inline weft_fiber *spawn_on(
	weft_executor *e, void *(*fn)(void *), void *arg)
{
	weft_fiber_attr attr = { .executor = e };
	weft_fiber *f = NULL;
	int err = weft_spawn(&f, &attr, fn, arg);

	weft_sim_assert(err == 0, "a foreign fiber was not spawned: %d", err);
	return f;
}

static inline void desk_root(struct desk *d, void *(*fn)(void *), void *arg)
{
	weft_detach(spawn_on(&d->executor, fn, arg));
}

/*
 * In a fiber on a desk, after whatever may have switched: the library believes
 * in a stand-in of this thread, with this fiber and on its stack.
 */
static wf_noinline wf_maybe_unused void desk_check_here(
	weft_executor *e, weft_fiber *self)
{
	struct wf_thread *t = wf_os_self();
	const char *here = __builtin_frame_address(0);
	ptrdiff_t far = desk_frame_here() - (const char *)t;

	weft_sim_assert(t != NULL && t->foreign && far > -8192 && far < 8192,
		"this is the stand-in of another thread");
	weft_sim_assert(t->executor == e && self->executor == e,
		"it runs on another executor");
	weft_sim_assert(t->current == self && weft_self() == self,
		"another fiber seems to run");
	weft_sim_assert(t->stack == self->stack &&
			here > wf_stack_low(t->stack) &&
			here < wf_stack_top(t->stack),
		"it is on another stack than it seems");
}

/* ------------------------------------------------------------------------ */
/* The bodies, by file. */

/* foreign_scenarios.c */
void foreign_wake(void *arg);
void foreign_refuse(void *arg);
void foreign_transfer(void *arg);
void foreign_yield(void *arg);
void foreign_family(void *arg);
void foreign_group(void *arg);
void foreign_count(void *arg);
void foreign_join_thread(void *arg);
void foreign_join_deadline(void *arg);
void foreign_join_foreign(void *arg);
void foreign_join_rt(void *arg);
void foreign_joins_rt(void *arg);
void foreign_wake_rt(void *arg);
void foreign_wakes_rt(void *arg);
void foreign_detach(void *arg);
void foreign_pool_hold(void *arg);
void foreign_pool_faults(void *arg);
void foreign_pool_fibers(void *arg);

/* call_scenarios.c */
void call_threads(void *arg);
void call_servers(void *arg);
void call_inline(void *arg);
void call_refused(void *arg);
void call_fibers(void *arg);
void call_rt(void *arg);
void call_foreign(void *arg);
void call_cancel(void *arg);

/* strand_scenarios.c */
void strand_two(void *arg);
void strand_three(void *arg);
void strand_inline(void *arg);
void strand_stop(void *arg);
void strand_refuse(void *arg);
void strand_turns(void *arg);
void strand_strand(void *arg);
void strand_pool(void *arg);
void strand_rt(void *arg);
void strand_fibers(void *arg);
void strand_destroy(void *arg);
void strand_destroy_idle(void *arg);
void strand_destroy_wake(void *arg);
void strand_destroy_fiber(void *arg);
void strand_destroy_rt(void *arg);

/* exec_pool_scenarios.c */
void pooled_submit(void *arg);
void pooled_two(void *arg);
void pooled_need(void *arg);
void pooled_inside(void *arg);
void pooled_fiber(void *arg);
void pooled_late_fiber(void *arg);
void pooled_yield(void *arg);
void pooled_by_fiber(void *arg);
void pooled_faults(void *arg);
void manual_two(void *arg);
void manual_destroy(void *arg);
void manual_destroy_two(void *arg);
void manual_fiber(void *arg);
void inline_two(void *arg);
void cond_one(void *arg);
void cond_two(void *arg);
void cond_all(void *arg);

#endif
