/* SPDX-License-Identifier: MIT */
/*
 * exec/foreign.c - fibers on executors that are not runtimes.
 */
#include "exec/foreign.h"

#include <errno.h>

#include "base/assert.h"
#include "base/limits.h"
#include "base/sanitize.h"
#include "exec/exec.h"
#include "life/finish.h"
#include "life/spawn.h"
#include "os/cxx.h"
#include "os/os.h"
#include "sched/foreign.h"
#include "sched/runtime.h"
#include "sched/submit.h"

struct wf_proc wf_proc_none;
struct weft_rt wf_rt_none;

bool wf_foreign_is_inside(weft_executor *e)
{
	struct wf_thread *t = wf_here();

	for (; t != NULL && t->foreign; t = t->host)
		if (t->executor == e ||
			(t->current != NULL && t->current->executor == e))
			return true;
	return false;
}

/* ------------------------------------------------------------------------ */
/* Resuming. */

/* The first resume copies these out of the fiber, for its first frame. */
struct beginning {
	struct wf_context at;
	void *fn;
	void *arg;
	bool has_result;
};

/* The first frame on the stack of a foreign fiber. */
static void base(void *arg)
{
	struct beginning b = *(struct beginning *)arg;
	struct wf_thread *v = wf_here();
	struct wf_context nowhere;
	void *result = NULL;

	wf_san_arrive(&v->stack->san, v->san_left);
	wf_leave(v);
	if (b.has_result)
		result = ((void *(*)(void *))b.fn)(b.arg);
	else
		((void (*)(void *))b.fn)(b.arg);
	v = wf_enter();
	wf_finish_user(v->current);
	v = wf_here();
	v->after = WF_AFTER_ENDED;
	v->result = result;
	v->san_left = &v->stack->san;
	wf_san_leave_for_good(v->below);
	wf_context_switch(&nowhere, &v->own);
	wf_assert(false, "a thread resumed a fiber that had ended");
}

/* f runs for the first time: a stack for it. */
static struct wf_context *begin(weft_fiber *f, struct beginning *b)
{
	struct weft_rt *pool = wf_fiber_rt(f);
	struct wf_stack *stack;

	b->fn = wf_load_rlx(&f->start.fn);
	b->arg = f->start.arg;
	b->has_result = !(wf_load_rlx(&f->state) & WF_FIBER_VOID);
	wf_lock(&pool->outside.lock);
	stack = wf_stack_take(&pool->outside.stacks, wf_fiber_cls(f));
	wf_unlock(&pool->outside.lock);
	wf_fiber_adopt(f, stack);
	wf_context_start(&b->at, wf_stack_top(stack), base, b);
	return &b->at;
}

/* The function of f has returned, and f is off its stack. */
static void end(weft_fiber *f, void *result)
{
	struct weft_rt *pool = wf_fiber_rt(f);
	unsigned cls = wf_fiber_cls(f);
	struct wf_exec *e = wf_exec_of(f->executor);

	wf_lock(&pool->outside.lock);
	wf_stack_give(&pool->outside.stacks, f->stack);
	if (cls != pool->cls)
		wf_stack_credit_back(&pool->outside.stacks, cls);
	wf_unlock(&pool->outside.lock);
	wf_finish_foreign(f, result);
	/* Its runner has not gone, so the executor is still there. */
	if (e != NULL)
		(void)wf_sub_rlx(&e->fibers, 1);
}

/* Switch to where f goes on, until it switches back. */
static wf_may_switch void switch_to(
	struct wf_thread *v, weft_fiber *f, struct wf_context *to)
{
	struct wf_stack *below = v->host ? v->host->stack : NULL;

	v->below = &v->san;
	if (below != NULL)
		v->below = &below->san;
	else
		wf_san_thread(&v->san);
	v->current = f;
	v->stack = f->stack;
	v->san_left = v->below;
	v->budget = wf_san_budget(WF_COOP_BUDGET);
	wf_store_rlx(&f->ready_us, 0);
	wf_san_leave(v->below, &f->stack->san);
	wf_context_switch(&v->own, to);
	wf_san_arrive(v->below, v->san_left);
	v->current = NULL;
	v->stack = NULL;
}

/*
 * Do what f wanted done when it left; false: f must go on at once.  This may
 * run other fibers by the same stand-in, so its fields are read first.
 */
static bool settle(struct wf_thread *v, weft_fiber *f)
{
	enum wf_after after = v->after;
	weft_fiber *next = after == WF_AFTER_GIVE ? v->successor : NULL;
	bool published = true;

	v->after = WF_AFTER_NOTHING;
	if (after == WF_AFTER_ENDED)
		end(f, v->result);
	else if (after == WF_AFTER_YIELD)
		wf_foreign_ready(f, WEFT_HINT_YIELD);
	else
		published = v->awaiter->commit(v->awaiter, f);
	if (next != NULL)
		wf_make_ready(next, WEFT_HINT_NEXT);
	return published;
}

/* Take the exceptions of the running code, if it has any (os/cxx.h). */
static struct wf_cxx take_exceptions(struct wf_thread *v)
{
	if (wf_cxx_is_busy(v->cxx))
		return wf_cxx_take(v->cxx);
	return (struct wf_cxx){ 0 };
}

static void put_exceptions(struct wf_thread *v, struct wf_cxx taken)
{
	if (wf_cxx_is_busy(&taken))
		wf_cxx_put(v->cxx, taken);
}

/* The exceptions of the resumer stay here, on its thread. */
static wf_may_switch void resume(struct wf_thread *v, weft_fiber *f)
{
	struct beginning b;
	struct wf_cxx taken;

	if (wf_unlikely(v->cxx == NULL))
		v->cxx = wf_os_cxx();
	taken = take_exceptions(v);
	v->refused = NULL;
	switch_to(v, f, f->stack == NULL ? begin(f, &b) : &f->context);
	while (!settle(v, f)) {
		v->refused = f;
		switch_to(v, f, &f->context);
	}
	put_exceptions(v, taken);
}

wf_may_switch void wf_foreign_resume(weft_task *task)
{
	weft_fiber *f = wf_fiber_of(task);
	weft_executor *e = f->executor;
	struct wf_thread *t = wf_enter(), own;

	if (wf_foreign_runs(t, e)) {
		resume(t, f);
		wf_leave(t);
		return;
	}
	wf_leave(t);
	wf_foreign_begin(&own, e);
	wf_foreign_resume(task);
	wf_foreign_end(&own);
}

/* ------------------------------------------------------------------------ */
/* The fiber's side. */

/* f leaves its stack to its resumer; returns when it is resumed again. */
static wf_may_switch void switch_back(struct wf_thread *v, weft_fiber *f)
{
	struct wf_cxx taken = take_exceptions(v);

	v->san_left = &f->stack->san;
	wf_san_leave(&f->stack->san, v->below);
	wf_context_switch(&f->context, &v->own);
	v = wf_here();
	wf_san_arrive(&f->stack->san, v->san_left);
	put_exceptions(v, taken);
}

wf_may_switch int wf_foreign_suspend(
	struct wf_thread *v, weft_fiber *f, struct weft_awaiter *a)
{
	v->after = a->next != NULL ? WF_AFTER_GIVE : WF_AFTER_COMMIT;
	v->successor = a->next;
	v->awaiter = a;
	switch_back(v, f);
	v = wf_here();
	if (v->refused != f)
		return 0;
	v->refused = NULL;
	return 1;
}

wf_may_switch void wf_foreign_yield(struct wf_thread *v, weft_fiber *f)
{
	v->after = WF_AFTER_YIELD;
	switch_back(v, f);
}

/* ------------------------------------------------------------------------ */
/* Submitting. */

/* The submit of an executor runs outside, as all code of the user. */
static int submit(weft_fiber *f, weft_hint hint)
{
	weft_executor *e = f->executor;
	int err;

	wf_leave_here();
	err = e->submit(e, &f->task, hint);
	(void)wf_enter();
	return err;
}

void wf_foreign_ready(weft_fiber *f, weft_hint hint)
{
	weft_executor *e = f->executor;
	int err;

	wf_store_rlx(&f->ready_us, WF_READY_UNKNOWN);
	err = submit(f, hint);
	wf_assert(!err,
		"executor %p refused (%d) to run fiber %p, which is ready",
		(void *)e, err, (void *)f);
}

/* Submit f, a new fiber, to e.  The error of e's submit. */
static int start(weft_fiber *f, weft_executor *e, weft_hint hint)
{
	struct wf_exec *made = wf_exec_of(e);
	int err;

	f->executor = e;
	/* Before the submit: afterwards f may have ended, and e be gone. */
	if (made != NULL)
		(void)wf_add_rlx(&made->fibers, 1);
	err = submit(f, hint);
	if (err && made != NULL)
		(void)wf_sub_rlx(&made->fibers, 1);
	return err;
}

/* A descriptor from the pool, filled in; -EINVAL, -ENOMEM. */
static int make(struct weft_rt *pool, weft_fiber **out,
	const weft_fiber_attr *a, struct wf_spawn_args *o)
{
	struct wf_outside *outside = &pool->outside;
	int err = wf_spawn_check(pool, a, o);
	weft_fiber *f;

	if (err)
		return err;
	wf_lock(&outside->lock);
	f = wf_spawn_obtain(&outside->fibers, &outside->stacks, pool, o->cls);
	wf_unlock(&outside->lock);
	if (f == NULL)
		return -ENOMEM;
	wf_spawn_fill_plain(f, o);
	*out = f;
	return 0;
}

/* The executor of f refused it. */
static void unmake(struct weft_rt *pool, weft_fiber *f, unsigned cls)
{
	if (cls != pool->cls) {
		wf_lock(&pool->outside.lock);
		wf_stack_credit_back(&pool->outside.stacks, cls);
		wf_unlock(&pool->outside.lock);
	}
	wf_fiber_free(f);
}

int wf_foreign_spawn(weft_executor *e, weft_fiber **out,
	const weft_fiber_attr *a, struct wf_spawn_args *o)
{
	weft_fiber *f, *before = out ? *out : NULL;
	struct weft_rt *pool;
	int err = wf_foreign_pool_hold(&pool);

	if (err)
		return err;
	err = make(pool, &f, a, o);
	if (err) {
		wf_foreign_pool_drop();
		return err;
	}
	/* Before the submit: f may run at once and look at its handle. */
	if (out != NULL)
		*out = f;
	err = start(f, e, o->hint);
	if (err) {
		if (out != NULL)
			*out = before;
		unmake(pool, f, o->cls);
	}
	return err;
}
