/* SPDX-License-Identifier: MIT */
/*
 * exec/foreign.c - visits, and fibers that are resumed and come back.
 */
#include "exec/foreign.h"

#include "base/assert.h"
#include "base/limits.h"
#include "os/os.h"
#include "sched/finish.h"
#include "sched/runtime.h"
#include "sched/submit.h"

struct wf_proc wf_proc_none;
struct weft_rt wf_rt_none;

bool wf_visit_is_inside(weft_executor *e)
{
	struct wf_thread *t = wf_os_self();

	for (; t != NULL && t->visitor; t = t->host)
		if (t->executor == e ||
			(t->current != NULL && t->current->executor == e))
			return true;
	return false;
}

/* What the first resume takes out of the fiber, for its first frame. */
struct beginning {
	struct wf_context at;
	void *fn;
	void *arg;
	bool has_result;
};

/* The base of the stack of a fiber abroad. */
static void base(void *arg)
{
	struct beginning b = *(struct beginning *)arg;
	struct wf_thread *v = wf_os_self();
	struct wf_context nowhere;
	void *result = NULL;

	wf_san_arrive(&v->stack->san, v->san_left);
	if (b.has_result)
		result = ((void *(*)(void *))b.fn)(b.arg);
	else
		((void (*)(void *))b.fn)(b.arg);
	v = wf_os_self();
	wf_finish_user(v->current);
	v = wf_os_self();
	v->after = WF_AFTER_ENDED;
	v->result = result;
	v->san_left = &v->stack->san;
	wf_san_leave_for_good(v->below);
	wf_context_switch(&nowhere, &v->own);
	wf_assert(false, "a fiber that has ended runs");
}

/* f runs for the first time: a stack for it. */
static void begin(weft_fiber *f, struct beginning *b)
{
	struct weft_rt *home = wf_fiber_rt(f);
	struct wf_stack *stack;

	b->fn = wf_load_rlx(&f->start.fn);
	b->arg = f->start.arg;
	b->has_result = !(wf_load_rlx(&f->state) & WF_FIBER_VOID);
	wf_lock(&home->outside.lock);
	stack = wf_stack_take(&home->outside.stacks, wf_fiber_cls(f));
	wf_unlock(&home->outside.lock);
	wf_fiber_adopt(f, stack);
	wf_context_start(&b->at, wf_stack_top(stack), base, b);
}

/* The function of f has returned and nobody is on its stack. */
static void end(weft_fiber *f, void *result)
{
	struct weft_rt *home = wf_fiber_rt(f);
	unsigned cls = wf_fiber_cls(f);
	weft_group *fibers = f->executor->reserved_[0];

	wf_lock(&home->outside.lock);
	wf_stack_give(&home->outside.stacks, f->stack);
	if (cls != home->cls)
		wf_stack_credit_back(&home->outside.stacks, cls);
	wf_unlock(&home->outside.lock);
	wf_finish_abroad(f, result);
	if (fibers != NULL)
		weft_group_done(fibers);
}

/* Switch to where f goes on, until it comes back. */
static wf_may_switch void visit_fiber(
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
	v->budget = WF_COOP_BUDGET;
	wf_store_rlx(&f->ready_us, 0);
	wf_san_leave(v->below, &f->stack->san);
	wf_context_switch(&v->own, to);
	wf_san_arrive(v->below, v->san_left);
	v->current = NULL;
	v->stack = NULL;
}

/*
 * Do what f wanted done when it left; false: it must go on at once.  What is
 * done may run other fibers, as the same visitor: so nothing is kept there.
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
		wf_fiber_send_again(f, WEFT_HINT_YIELD);
	else
		published = v->awaiter->commit(v->awaiter, f);
	if (next != NULL)
		wf_make_ready(next, WEFT_HINT_NEXT);
	return published;
}

/* As resume, from where there are no exceptions (os/cxx.h). */
wf_inline void resume_clean(struct wf_thread *v, weft_fiber *f)
{
	struct wf_context *to = &f->context;
	struct beginning b;

	if (f->stack == NULL) {
		begin(f, &b);
		to = &b.at;
	}
	v->refused = NULL;
	visit_fiber(v, f, to);
	while (!settle(v, f)) {
		v->refused = f;
		visit_fiber(v, f, &f->context);
	}
}

/* The exceptions of the code that resumes f stay here, on its thread. */
static wf_noinline void resume_busy(struct wf_thread *v, weft_fiber *f)
{
	struct wf_cxx taken = wf_cxx_take(v->cxx);

	resume_clean(v, f);
	wf_cxx_put(v->cxx, taken);
}

static void resume(struct wf_thread *v, weft_fiber *f)
{
	if (wf_unlikely(v->cxx == NULL))
		v->cxx = wf_os_cxx();
	if (wf_cxx_is_busy(v->cxx))
		resume_busy(v, f);
	else
		resume_clean(v, f);
}

wf_may_switch void wf_fiber_resume(weft_task *task)
{
	weft_fiber *f = wf_fiber_of(task);
	struct wf_thread *t = wf_os_self(), visitor;

	if (t != NULL && t->visitor && t->executor == f->executor &&
		t->current == NULL) {
		resume(t, f);
		return;
	}
	wf_visit_begin(&visitor, f->executor);
	resume(&visitor, f);
	wf_visit_end(&visitor);
}

/* As come_back, for a fiber without exceptions. */
wf_inline void come_back_clean(struct wf_thread *v, weft_fiber *f)
{
	v->san_left = &f->stack->san;
	wf_san_leave(&f->stack->san, v->below);
	wf_context_switch(&f->context, &v->own);
	v = wf_os_self();
	wf_san_arrive(&f->stack->san, v->san_left);
}

static wf_may_switch void come_back_busy(struct wf_thread *v, weft_fiber *f)
{
	struct wf_cxx taken = wf_cxx_take(v->cxx);

	come_back_clean(v, f);
	v = wf_os_self();
	wf_cxx_put(v->cxx, taken);
}

/* f leaves its stack to who resumed it; returns when it is resumed again. */
static wf_may_switch void come_back(struct wf_thread *v, weft_fiber *f)
{
	if (wf_cxx_is_busy(v->cxx))
		come_back_busy(v, f);
	else
		come_back_clean(v, f);
}

wf_may_switch int wf_visit_suspend(
	struct wf_thread *v, weft_fiber *f, struct weft_awaiter *a)
{
	v->after = a->next != NULL ? WF_AFTER_GIVE : WF_AFTER_COMMIT;
	v->successor = a->next;
	v->awaiter = a;
	come_back(v, f);
	v = wf_os_self();
	if (v->refused != f)
		return 0;
	v->refused = NULL;
	return 1;
}

wf_may_switch void wf_visit_yield(struct wf_thread *v, weft_fiber *f)
{
	v->after = WF_AFTER_YIELD;
	come_back(v, f);
}

int wf_fiber_send(weft_fiber *f, weft_executor *e, weft_hint hint)
{
	weft_group *fibers = e->reserved_[0];
	int err;

	f->executor = e;
	if (fibers != NULL)
		weft_group_add(fibers, 1);
	err = e->submit(e, &f->task, hint);
	if (err && fibers != NULL)
		weft_group_done(fibers);
	return err;
}

void wf_fiber_send_again(weft_fiber *f, weft_hint hint)
{
	weft_executor *e = f->executor;
	int err;

	wf_store_rlx(&f->ready_us, WF_READY_UNKNOWN);
	err = e->submit(e, &f->task, hint);
	wf_assert(!err,
		"executor %p refused (%d) to run fiber %p, which waits there",
		(void *)e, err, (void *)f);
}
