/* SPDX-License-Identifier: MIT */
/*
 * sched/run.c - the loop, and the ways in which a fiber leaves its stack.
 */
#include "sched/run.h"

#include <errno.h>

#include "base/assert.h"
#include "os/os.h"
#include "queue/resubmit_check.h"
#include "sched/finish.h"
#include "sched/foreign.h"
#include "sched/pick.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/switch.h"
#include "sched/yielders.h"

static void loop(void *arg);

struct wf_stack *wf_loop_prepare(struct wf_thread *t, unsigned cls,
	weft_task *task, struct wf_context *at)
{
	struct wf_stack *stack = wf_stack_take(&t->proc->stacks, cls);

	t->handed = task;
	wf_context_start(at, wf_stack_top(stack), loop, NULL);
	return stack;
}

/* Give back the stack that was left: nothing runs on it. */
static void settle_spent(struct wf_thread *t)
{
	struct wf_stack_cache *stacks = &t->proc->stacks;
	unsigned cls = t->spent->cls;

	wf_stack_give(stacks, t->spent);
	if (cls != t->rt->cls)
		wf_stack_credit_back(stacks, cls); /* (L3) */
}

/*
 * Call the commit of the fiber that left, and only then make its successor
 * ready: the successor may rely on it that the fiber is off its stack.
 */
static weft_fiber *settle_given(struct wf_thread *t)
{
	weft_fiber *f = t->left, *successor = t->successor;
	weft_hint hint = t->given;
	bool published = t->awaiter->commit(t->awaiter, f);

	wf_make_ready(successor, hint);
	if (published)
		return NULL;
	return t->refused = f;
}

wf_noinline weft_fiber *wf_settle(struct wf_thread *t, enum wf_after after)
{
	if (after == WF_AFTER_GIVE)
		return settle_given(t);
	if (after == WF_AFTER_SPENT)
		settle_spent(t);
	else if (after == WF_AFTER_REQUEUE)
		wf_push_next(t->proc, wf_entry_of(&t->left->task));
	else
		wf_push_yield(t->proc, &t->left->task);
	return NULL;
}

wf_may_switch void wf_go_on(struct wf_thread *t, weft_fiber *f, weft_task *next)
{
	wf_own_stack(t, f);
	(void)wf_go_on_inline(t, f, next);
}

wf_may_switch struct wf_thread *wf_go_on_busy(
	struct wf_thread *t, weft_fiber *f, weft_task *next)
{
	struct wf_cxx taken = wf_cxx_take(t->cxx);

	t = wf_go_on_clean(t, f, next);
	wf_cxx_put(t->cxx, taken);
	return t;
}

/*
 * a, with which a fiber of t waits, names a successor.  The successor runs now
 * if it belongs to this runtime and no other task has its turn.  Otherwise the
 * result is another task (NULL: there is none), and the successor is to be
 * queued after the commit: behind the local queue if the slot's budget is
 * spent, else in the slot.
 */
static weft_task *choose_next(struct wf_thread *t, struct weft_awaiter *a)
{
	struct wf_proc *p = t->proc;
	weft_fiber *next = a->next;
	bool ours = wf_fiber_rt(next) == t->rt;
	weft_task *task;

	t->successor = NULL;
	if (wf_likely(ours && wf_pick_may_give(p)))
		return wf_pick_given(p, &next->task);
	t->given = ours && wf_pick_is_slot_spent(p) ? WEFT_HINT_DEFAULT
						     : WEFT_HINT_NEXT;
	task = wf_pick_quick(p);
	if (task == NULL && ours)
		return wf_pick_given(p, &next->task);
	t->successor = next;
	return task;
}

static wf_noinline wf_may_switch int suspend_for_next(
	struct wf_thread *t, weft_fiber *f, struct weft_awaiter *a)
{
	weft_task *task = choose_next(t, a);

	return wf_suspend_inline(&t, f, a, task,
		t->successor != NULL ? WF_AFTER_GIVE : WF_AFTER_COMMIT);
}

wf_may_switch int wf_suspend(
	struct wf_thread *t, weft_fiber *f, struct weft_awaiter *a)
{
	if (wf_unlikely(t->foreign))
		return wf_foreign_suspend(t, f, a);
	wf_own_stack(t, f);
	if (wf_unlikely(a->next != NULL))
		return suspend_for_next(t, f, a);
	return wf_suspend_inline(
		&t, f, a, wf_pick_quick(t->proc), WF_AFTER_COMMIT);
}

wf_may_switch void wf_yield_for(
	struct wf_thread *t, weft_fiber *f, weft_task *next)
{
	struct wf_proc *p = t->proc;

	wf_store_rlx(&f->ready_us, p->clock_us);
	if (wf_likely(wf_take_begin(p))) {
		/* The side that arrives ends it: f is still on its stack. */
		wf_yielders_add(p, &f->task);
	} else {
		wf_take_end(p);
		t->after = WF_AFTER_YIELD;
		t->left = f;
	}
	wf_go_on(t, f, next);
}

wf_may_switch void wf_yield(struct wf_thread *t, weft_fiber *f)
{
	weft_task *next;

	if (wf_unlikely(t->foreign)) {
		wf_foreign_yield(t, f);
		return;
	}
	next = wf_pick_quick(t->proc);
	if (wf_likely(next != NULL))
		wf_yield_for(t, f, next);
	else
		wf_budget_fill(t);
}

wf_may_switch void wf_yield_to(
	struct wf_thread *t, weft_fiber *f, weft_task *task)
{
	wf_store_rlx(&f->ready_us, t->proc->clock_us);
	t->after = WF_AFTER_REQUEUE;
	t->left = f;
	wf_go_on(t, f, task);
}

/* Leave, and call the function of a fiber that has not started. */
static wf_leaves void *call(struct wf_thread *t, weft_fiber *f)
{
	void *fn = wf_load_rlx(&f->start.fn), *arg = f->start.arg;

	wf_store_rlx(&f->ready_us, 0);
	t->current = f;
	wf_leave(t);
	if (!(wf_load_rlx(&f->state) & WF_FIBER_VOID))
		return ((void *(*)(void *))fn)(arg);
	((void (*)(void *))fn)(arg);
	return NULL;
}

/* wf_run_inline for a joiner without exceptions. */
wf_inline void *run_inline(struct wf_thread *t, weft_fiber *f, weft_fiber *by)
{
	void *result;

	wf_bump(&t->proc->counters.ticks, 1);
	wf_bump(&t->proc->counters.runs_inline, 1);
	wf_store_rlx(&by->ready_us, WF_READY_INLINE);
	result = call(t, f);
	t = wf_finish_inline(wf_enter(), f);
	wf_store_rlx(&by->ready_us, 0);
	t->current = by;
	return result;
}

/*
 * Keep the joiner's exceptions from the child.  The joiner gets them back on
 * the thread on which the child ended.
 */
static wf_may_switch void *run_inline_busy(
	struct wf_thread *t, weft_fiber *f, weft_fiber *by)
{
	struct wf_cxx taken = wf_cxx_take(t->cxx);
	void *result = run_inline(t, f, by);

	t = wf_here();
	wf_cxx_put(t->cxx, taken);
	return result;
}

void *wf_run_inline(struct wf_thread *t, weft_fiber *f, weft_fiber *by)
{
	if (wf_cxx_is_busy(t->cxx))
		return run_inline_busy(t, f, by);
	return run_inline(t, f, by);
}

/* Leave the stack here for another, and never come back to it. */
static wf_may_switch void leave_for_good(struct wf_thread *t,
	struct wf_stack *here, struct wf_context *to, struct wf_san *to_san)
{
	struct wf_context nowhere;

	t->after = WF_AFTER_SPENT;
	t->spent = here;
	wf_san_left(&t->san_left, &here->san);
	wf_san_leave_for_good(to_san);
	wf_context_switch(&nowhere, to);
	wf_assert(false, "a stack that was given back runs");
}

/* Leave the stack here for a new loop, on one of class cls, that runs task. */
static void move(struct wf_thread *t, struct wf_stack *here, unsigned cls,
	weft_task *task)
{
	struct wf_context at;

	t->stack = wf_loop_prepare(t, cls, task, &at);
	leave_for_good(t, here, &at, &t->stack->san);
}

static void resume(struct wf_thread *t, struct wf_stack *here, weft_fiber *f)
{
	t->stack = f->stack;
	leave_for_good(t, here, &f->context, &f->stack->san);
}

/*
 * Run one fiber, which has no stack or one of its own, from the loop here.
 * Returns the thread that the loop is on afterwards.
 */
wf_inline struct wf_thread *run_fiber(
	struct wf_thread *t, struct wf_stack *here, weft_fiber *f)
{
	void *result;

	if (f->stack != NULL)
		resume(t, here, f);
	if (wf_unlikely(wf_fiber_cls(f) != here->cls))
		move(t, here, wf_fiber_cls(f), &f->task);
	wf_budget_fill(t);
	result = call(t, f);
	t = wf_enter();
	t->current = NULL;
	t = wf_finish(t, f, result);
	if (wf_unlikely(here->cls != t->rt->cls))
		move(t, here, t->rt->cls, NULL); /* (L3) */
	return t;
}

/* The loop begins on a clean stack: do AFTER for the side that left. */
static void arrive_clean(struct wf_thread *t, struct wf_stack *here)
{
	weft_task *task = t->handed;
	weft_fiber *refused;

	wf_san_arrive(&here->san, t->san_left);
	wf_take_end(t->proc);
	t->current = NULL;
	refused = wf_arrive(t);
	if (refused == NULL)
		return;
	t->handed = NULL;
	if (task != NULL)
		wf_push_next(t->proc, wf_entry_of(task));
	resume(t, here, refused);
}

static void loop(void *arg)
{
	struct wf_thread *t = wf_here();
	struct wf_stack *here = t->stack;

	(void)arg;
	arrive_clean(t, here);
	for (;;) {
		weft_task *task = t->handed;

		t->handed = NULL;
		if (task == NULL)
			task = wf_pick(t);
		if (wf_unlikely(task == NULL))
			leave_for_good(t, here, &t->own, &t->san);
		if (wf_likely(wf_task_is_fiber(task))) {
			t = run_fiber(t, here, wf_fiber_of(task));
		} else {
			wf_leave(t);
			wf_resubmit_leave(task);
			task->run(task);
			t = wf_enter();
		}
	}
}

wf_may_switch void wf_loop_begin(struct wf_thread *t, weft_task *task)
{
	struct wf_context at;

	t->cxx = wf_os_cxx();
	wf_san_thread(&t->san);
	t->stack = wf_loop_prepare(t, t->rt->cls, task, &at);
	wf_san_left(&t->san_left, &t->san);
	wf_san_leave(&t->san, &t->stack->san);
	wf_context_switch(&t->own, &at);
	/* The caller is still on t: a thread's own stack never moves. */
	wf_san_arrive(&t->san, t->san_left);
	t->after = WF_AFTER_NOTHING;
}

static wf_may_switch int suspend(
	struct wf_thread *t, weft_fiber *f, struct weft_awaiter *a)
{
	uint32_t budget = t->budget;
	int refused;

	if (a->next != NULL)
		wf_suspension_end(a->next);
	wf_fiber_use(f);
	wf_fiber_note(f, wf_suspend_name, a, wf_proc_time(t->proc));
	refused = wf_suspend(t, f, a);
	wf_store_rlx(&f->waits_for, NULL);
	/* A refusal is not a wait: the budget is what it was, less one. */
	if (refused) {
		t = wf_here();
		t->budget = budget;
		wf_spend(t, f);
	}
	return refused;
}

int weft_suspend(struct weft_awaiter *a)
{
	struct wf_thread *t = wf_enter();
	int result = -EPERM;

	if (t != NULL && t->current != NULL)
		result = suspend(t, t->current, a);
	wf_leave_here();
	return result;
}

void weft_yield(void)
{
	struct wf_thread *t = wf_enter();

	if (wf_likely(t != NULL && t->current != NULL)) {
		wf_yield(t, t->current);
		wf_leave_here();
	} else {
		wf_leave(t);
		wf_os_thread_yield();
	}
}

void weft_checkpoint(void)
{
	struct wf_thread *t = wf_enter();

	if (t != NULL && t->current != NULL)
		wf_spend(t, t->current);
	wf_leave_here();
}
