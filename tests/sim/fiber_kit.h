/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/fiber_kit.h - two processors on simulated threads, for scenarios of
 * fibers.
 *
 * A runtime that starts and stops takes a thousand points, of which a scenario
 * is about twenty.  So most of them use the parts without the whole: a runtime
 * that is assembled but not started, and two simulated threads that run the
 * loop.  The monitor does not run; no thread starts or ends.
 *
 *	duo_open(flags);
 *	duo_root(0, fn, arg);		begins on the first worker
 *	duo_root(1, fn, arg);
 *	duo_run();			until all roots have ended
 *	duo_close();			nothing may be left
 *
 * Every run begins with all of it zero.
 */
#ifndef WEFT_TESTS_SIM_FIBER_KIT_H
#define WEFT_TESTS_SIM_FIBER_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/sim.h>
#include <weft/weft.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "sched/runtime.h"
#include "sched/thread.h"

#define DUO_COARSE 1u	/* tasks are coarse: thieves and wakes pay */
#define DUO_FENCED 2u	/* a queue is its holder's until a thief opens it */

#define DUO_HASTY 4u	/* fibers give way after two calls */
#define DUO_GROUPS 8u	/* each worker is a group of its own */

#define DUO_WORKERS 2
#define DUO_ROOTS 6

struct duo_root {
	void *(*fn)(void *);
	void *arg;
};

struct duo {
	struct weft_rt rt;
	struct wf_group *group;		/* of rt: one, unless DUO_GROUPS */
	struct wf_proc *proc;		/* of rt */
	struct wf_thread thread[DUO_WORKERS];
	weft_task *first[DUO_WORKERS];
	struct duo_root root[DUO_ROOTS];
	uint32_t roots;
	_Atomic(uint32_t) left;		/* roots that have not ended */
};

extern struct duo *const duo;

void duo_open(unsigned flags);

/* Start a fiber on worker i: detached; or with a handle to join. */
void duo_root(unsigned i, void *(*fn)(void *), void *arg);
weft_fiber *duo_handle(unsigned i, void *(*fn)(void *), void *arg);

/* Both workers, until all roots have ended and the queues are empty. */
void duo_start(void);
void duo_join(void);
void duo_run(void);

/* Every fiber that began has ended, every stack and descriptor is back. */
void duo_close(void);

/* Cancel f, of which the caller has the handle. */
void duo_cancel(weft_fiber *f);

/*
 * In fiber self, after a call that may have switched: does the library know the
 * thread, the fiber and the stack that run?
 */
wf_noinline void duo_check_here(weft_fiber *self);

/*
 * Returns p, hidden from the compiler: the simulator watches a local variable
 * only if its address could be known elsewhere.
 */
wf_noinline void *duo_watched(void *p);

/* Overwrite the stack below, where a waiter was. */
void duo_scribble(void);

/* Start a simulated thread; it must succeed. */
int duo_thread(void (*fn)(void *), void *arg, const char *name);

/* In a loop that waits: let other fibers and other threads run. */
void duo_pause(void);

/* Wait, by letting others run, until *word is at least value. */
void duo_await(_Atomic(uint32_t) *word, uint32_t value);

/* Memory of a run; the allocation must succeed. */
void *duo_alloc(size_t bytes);

/* A started runtime of two workers that steal at once. */
weft_rt *duo_rt_start(void);
void duo_rt_stop(weft_rt *rt);

/* ------------------------------------------------------------------------ */
/* The bodies. */

void word_claim(void *arg);
void word_stale(void *arg);
void word_wait(void *arg);
void word_epochs(void *arg);

void wait_thread(void *arg);
void wait_fiber(void *arg);
void wait_cancel(void *arg);

void group_free(void *arg);
void group_now(void *arg);
void group_two_waiters(void *arg);
void group_leaver(void *arg);
void group_again(void *arg);
void group_rounds(void *arg);
void group_fiber(void *arg);
void group_two_fibers(void *arg);
void group_cancel(void *arg);

void suspend_wake(void *arg);
void suspend_outside(void *arg);
void suspend_refuse(void *arg);
void suspend_refuse_behind(void *arg);
void suspend_two_wakers(void *arg);
void suspend_transfer(void *arg);

void join_thief(void *arg);
void join_thief_fenced(void *arg);
void join_detach_fresh(void *arg);
void join_tree(void *arg);
void join_chain(void *arg);
void join_stale(void *arg);
void join_fiber(void *arg);
void join_thread(void *arg);
void join_deadline(void *arg);
void join_cancel(void *arg);
void join_detach(void *arg);
void join_budget(void *arg);
void join_count(void *arg);
void join_moves(void *arg);

void groups_tickets(void *arg);

void yield_three(void *arg);
void yield_stolen(void *arg);
void yield_exceptions(void *arg);
void yield_computes(void *arg);
void yield_fair(void *arg);
void yield_polls(void *arg);
void yield_joins(void *arg);
void yield_spills(void *arg);

void look_race(void *arg);
void look_inline(void *arg);

void pool_fibers(void *arg);
void pool_walk(void *arg);
void pool_growth(void *arg);
void pool_give_back(void *arg);
void pool_give_back_timer(void *arg);
void pool_fibers_faults(void *arg);
void pool_stacks(void *arg);
void pool_trim(void *arg);
void pool_stacks_faults(void *arg);

void life_family(void *arg);
void life_stop(void *arg);
void life_late(void *arg);
void life_faults(void *arg);
void life_wake_last(void *arg);
void life_join_last(void *arg);
void life_done_last(void *arg);
void life_idle(void *arg);

/* A suspend that publishes its fiber in box; wakers acquire it there. */
struct duo_post {
	struct weft_awaiter awaiter;	/* its commit is duo_publish */
	_Atomic(weft_fiber *) *box;
};

bool duo_publish(struct weft_awaiter *a, weft_fiber *f);

#endif
