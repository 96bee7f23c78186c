/* SPDX-License-Identifier: MIT */
/*
 * sched/idle.h - what the loop asks of the economy of sleeping and waking.
 *
 * Contract: implemented in idle/.
 *
 * The loop knows that a processor can run out of work and that another one can
 * be woken.  When it pays to search, to sleep and to wake is decided in idle/.
 *
 * Reads next: idle/search.c, a processor without work.
 */
#ifndef WF_SCHED_IDLE_H
#define WF_SCHED_IDLE_H

#include <stdbool.h>

#include <weft/task.h>

struct weft_rt;
struct wf_group;
struct wf_proc;
struct wf_thread;

/*
 * The processor of t has nothing to run: search, spin, sleep.  Returns a task;
 * NULL: the thread must end.  Called on a clean stack, or on the thread's own
 * stack: the call may take long, and the thread may end in it.
 */
weft_task *wf_idle(struct wf_thread *t);

/* A thread has begun to run a processor of rt: the monitor must watch it. */
void wf_idle_began(struct weft_rt *rt);

/* The scheduling group for a task from outside; rt has several. */
struct wf_group *wf_group_for_outside(struct weft_rt *rt);

/* A task was put into the global queue of g from outside. */
void wf_wake_for_outside(struct wf_group *g);

/* The holder of p has queued a task, and p->push_flags is not zero. */
void wf_wake_for_push(struct wf_proc *p);

/*
 * Wake the lowest sleeper of g.  If no sleeper of g can be woken and tasks wait
 * in the global queue of g, wake a sleeper of another group.  False: none was
 * woken.
 */
bool wf_wake_one(struct wf_group *g);

#endif
