/* SPDX-License-Identifier: MIT */
/*
 * life/spawn.c - a fiber begins: a descriptor, a credit, an entry in a queue.
 *
 * A new fiber has no stack.  The loop calls its function on the loop's stack.
 *
 * Reads next: sched/submit.h, where the entry goes.
 */
#include "life/spawn.h"

#include <errno.h>

#include <weft/fiber.h>
#include <weft/runtime.h>

#include "sched/foreign.h"
#include "sched/submit.h"

/* Make f a fiber that is ready on p. */
wf_inline void launch(struct wf_proc *p, weft_fiber *f, weft_fiber **out,
	const struct wf_spawn_args *o)
{
	wf_entry entry = wf_entry_of(&f->task);

	wf_spawn_fill(f, o);
	if (out != NULL)
		*out = f;
	wf_store_rlx(&f->ready_us, p->clock_us);
	wf_bump(&p->counters.spawned, 1);
	if (o->state == 0 && o->hint != WEFT_HINT_YIELD) {
		uint32_t use = wf_fiber_next_use(f);

		entry = wf_fiber_ticket(f, use);
		/* [pair: fiber.fresh] The claimer sees all of the fiber. */
		wf_store_rel(&f->state,
			wf_spawn_state(o) | WF_FIBER_FRESH | use);
	} else {
		wf_store_rlx(&f->state, wf_spawn_state(o));
	}
	wf_push_hint(p, entry, o->hint);
}

/* The caller holds a processor of the fiber's runtime. */
static int spawn_here(
	struct wf_thread *t, weft_fiber **out, const struct wf_spawn_args *o)
{
	struct wf_proc *p = t->proc;
	weft_fiber *f;

	if (wf_load_rlx(&t->rt->stopping))
		return -ESHUTDOWN;
	f = wf_spawn_obtain(&p->fibers, &p->stacks, t->rt, o->cls);
	if (f == NULL)
		return -ENOMEM;
	launch(p, f, out, o);
	return 0;
}

/*
 * spawn_here without attributes and with a descriptor at hand; false: do it by
 * spawn_here.  Inlined, so that o stays in registers: from memory it would be
 * loaded right after it was stored.
 */
wf_inline bool spawn_fast(
	struct wf_thread *t, weft_fiber **out, const struct wf_spawn_args *o)
{
	struct wf_proc *p = t->proc;

	if (wf_unlikely(
		    p->fibers.now.count == 0 || wf_load_rlx(&t->rt->stopping)))
		return false;
	launch(p, wf_fiber_take_at_hand(&p->fibers), out, o);
	return true;
}

/* The caller has no processor of rt. */
static int spawn_outside(
	struct weft_rt *rt, weft_fiber **out, const struct wf_spawn_args *o)
{
	struct wf_outside *outside = &rt->outside;
	struct wf_batch batch = { 0 };
	weft_fiber *f = NULL;
	bool accepted;

	wf_lock(&outside->lock);
	accepted = wf_outside_accept(rt);
	if (accepted)
		f = wf_spawn_obtain(
			&outside->fibers, &outside->stacks, rt, o->cls);
	if (f != NULL)
		wf_bump(&outside->spawned, 1);
	wf_unlock(&outside->lock);
	if (!accepted)
		return -ESHUTDOWN;
	if (f == NULL) {
		wf_outside_leave(rt);
		return -ENOMEM;
	}
	wf_spawn_fill_plain(f, o);
	if (out != NULL)
		*out = f;
	wf_batch_add(&batch, &f->task);
	wf_submit_outside(rt, &batch);
	wf_outside_leave(rt);
	return 0;
}

static int spawn(
	struct weft_rt *rt, weft_fiber **out, const struct wf_spawn_args *o)
{
	struct wf_thread *t = wf_thread_in(rt);

	if (t != NULL)
		return spawn_here(t, out, o);
	return spawn_outside(rt, out, o);
}

int wf_spawn_check(
	struct weft_rt *rt, const weft_fiber_attr *a, struct wf_spawn_args *o)
{
	int cls = rt->cls;

	o->cls = rt->cls;
	if (a == NULL)
		return 0;
	if (a->stack_bytes != 0)
		cls = wf_stack_pool_class(&rt->stacks, a->stack_bytes);
	if (cls < 0 || a->flags != 0 || (unsigned)a->hint > WEFT_HINT_YIELD)
		return -EINVAL;
	o->cls = (uint8_t)cls;
	o->name = a->name;
	o->hint = a->hint;
	return 0;
}

/* The runtime that e belongs to; NULL: e is foreign. */
static struct weft_rt *rt_of(weft_executor *e)
{
	return e->submit == wf_rt_submit ? (struct weft_rt *)e : NULL;
}

/* The executor whose task or fiber runs on t; NULL: t is a plain thread. */
static weft_executor *executor_of(struct wf_thread *t)
{
	if (t == NULL)
		return NULL;
	if (!t->foreign)
		return &t->rt->executor;
	return t->current != NULL ? t->current->executor : t->executor;
}

static int spawn_on(weft_executor *e, weft_fiber **out,
	const weft_fiber_attr *a, struct wf_spawn_args *o)
{
	struct weft_rt *rt = rt_of(e);
	int err;

	if (rt == NULL)
		return wf_foreign_spawn(e, out, a, o);
	err = wf_spawn_check(rt, a, o);
	return err ? err : spawn(rt, out, o);
}

/* The arguments of a fiber that is not joined and returns nothing. */
static inline struct wf_spawn_args detached(void *fn, void *arg)
{
	return (struct wf_spawn_args){ .fn = fn,
		.arg = arg,
		.state = WF_FIBER_DETACHED | WF_FIBER_VOID };
}

int weft_rt_go(weft_rt *rt, void (*fn)(void *), void *arg)
{
	struct wf_spawn_args o = detached((void *)fn, arg);
	struct wf_thread *t;
	int err;

	if (fn == NULL)
		return -EINVAL;
	t = wf_enter();
	err = spawn_on(&rt->executor, NULL, NULL, &o);
	wf_leave(t);
	return err;
}

int weft_rt_spawn(weft_rt *rt, weft_fiber **f, const weft_fiber_attr *a,
	void *(*fn)(void *), void *arg)
{
	struct wf_spawn_args o = { .fn = (void *)fn, .arg = arg };
	struct wf_thread *t;
	int err;

	if (fn == NULL || (a != NULL && a->executor != NULL &&
				  a->executor != &rt->executor))
		return -EINVAL;
	t = wf_enter();
	err = spawn_on(&rt->executor, f, a, &o);
	wf_leave(t);
	return err;
}

/* weft_go without a descriptor at hand, or in a foreign run. */
static wf_noinline wf_leaves int go_slow(
	struct wf_thread *t, void (*fn)(void *), void *arg)
{
	struct wf_spawn_args o = detached((void *)fn, arg);
	int err = spawn_on(executor_of(t), NULL, NULL, &o);

	wf_leave(t);
	return err;
}

int weft_go(void (*fn)(void *), void *arg)
{
	struct wf_thread *t = wf_enter();
	int err;

	if (wf_unlikely(fn == NULL || t == NULL)) {
		err = fn == NULL ? -EINVAL : -EPERM;
		wf_leave(t);
		return err;
	}
	if (wf_unlikely(!spawn_fast(t, NULL,
		    &(struct wf_spawn_args){ .fn = (void *)fn,
			    .arg = arg,
			    .cls = t->rt->cls,
			    .state = WF_FIBER_DETACHED | WF_FIBER_VOID })))
		return go_slow(t, fn, arg);
	wf_leave(t);
	return 0;
}

/*
 * weft_spawn with attributes, or without a descriptor at hand, or not from a
 * fiber or task of a runtime.
 */
static wf_noinline wf_leaves int spawn_slow(weft_fiber **f,
	const weft_fiber_attr *a, void *(*fn)(void *), void *arg)
{
	struct wf_thread *t = wf_here();
	struct wf_spawn_args o = { .fn = (void *)fn, .arg = arg };
	weft_executor *e = a != NULL ? a->executor : NULL;
	int err;

	if (e == NULL)
		e = executor_of(t);
	err = e != NULL ? spawn_on(e, f, a, &o) : -EPERM;
	wf_leave(t);
	return err;
}

int weft_spawn(weft_fiber **f, const weft_fiber_attr *a, void *(*fn)(void *),
	void *arg)
{
	struct wf_thread *t = wf_enter();

	if (wf_unlikely(fn == NULL)) {
		wf_leave(t);
		return -EINVAL;
	}
	if (wf_likely(t != NULL && a == NULL) &&
		wf_likely(spawn_fast(t, f,
			&(struct wf_spawn_args){ .fn = (void *)fn,
				.arg = arg,
				.cls = t->rt->cls }))) {
		wf_leave(t);
		return 0;
	}
	return spawn_slow(f, a, fn, arg);
}

int wf_spawn_member(
	struct wf_scope *s, void (*run)(void *), void *fn, void *arg)
{
	struct wf_spawn_args o = detached((void *)run, arg);

	o.scope = s;
	o.entry = fn;
	return spawn_on(executor_of(wf_here()), NULL, NULL, &o);
}
