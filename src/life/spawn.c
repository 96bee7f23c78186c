/* SPDX-License-Identifier: MIT */
/*
 * life/spawn.c - a fiber begins: a descriptor, a credit, an entry in a queue.
 *
 * No stack: that comes when it runs, and is then the one its caller is on.
 *
 * Reads next: sched/submit.h, where the entry goes.
 */
#include <errno.h>

#include <weft/fiber.h>
#include <weft/runtime.h>

#include "sched/finish.h"
#include "exec/foreign_pool.h"
#include "sched/runtime.h"
#include "life/scope.h"
#include "sched/submit.h"
#include "exec/foreign.h"

/* What spawn was asked for, checked. */
struct order {
	void *fn;
	void *arg;
	const char *name;
	struct wf_scope *scope; /* NULL: none */
	void *entry;		/* in a scope: its function as others see it */
	weft_hint hint;
	uint8_t cls;
	uint32_t state; /* DETACHED, VOID, or nothing */
};

/* A descriptor with the credit it needs, or NULL. */
wf_inline weft_fiber *obtain(struct wf_fiber_cache *fibers,
	struct wf_stack_cache *stacks, struct weft_rt *rt, unsigned cls)
{
	weft_fiber *f = wf_fiber_take(fibers, &rt->fibers);

	/* Another size than most costs a credit of its own. */
	if (wf_likely(f == NULL || cls == rt->cls))
		return f;
	if (wf_stack_credit(stacks, cls) == 0)
		return f;
	wf_fiber_give(fibers, &rt->fibers, f);
	return NULL;
}

wf_inline void fill(weft_fiber *f, const struct order *o)
{
	wf_store_rlx(&f->start.fn, o->fn);
	f->start.arg = o->arg;
	f->stack = NULL;
	if (o->name != NULL)
		wf_store_rlx(&f->name, o->name);
	if (o->scope != NULL) {
		wf_store_rlx(&f->member, o->scope);
		wf_store_rlx(&f->entry, o->entry);
	}
}

/* STATE of the new fiber, but for FRESH and USE. */
wf_inline uint32_t state_of(const struct order *o)
{
	return WF_FIBER_LIVE | o->state |
		(o->name || o->scope ? WF_FIBER_USED : 0) |
		(uint32_t)o->cls << WF_FIBER_CLS_SHIFT;
}

/* f, filled in, becomes a fiber and ready to run on p. */
wf_inline void launch(struct wf_proc *p, weft_fiber *f, const struct order *o)
{
	wf_entry entry = wf_entry_of(&f->task);

	wf_store_rlx(&f->ready_us, p->clock_us);
	wf_bump(&p->counters.spawned, 1);
	if (o->state == 0 && o->hint != WEFT_HINT_YIELD) {
		uint32_t use = wf_fiber_next_use(f);

		entry = wf_fiber_ticket(f, use);
		/* [pair: fiber.fresh] Whoever claims it sees all of it. */
		wf_store_rel(&f->state, state_of(o) | WF_FIBER_FRESH | use);
	} else {
		wf_store_rlx(&f->state, state_of(o));
	}
	wf_push_hint(p, entry, o->hint);
}

/* On a processor of the fiber's runtime. */
static int spawn_here(
	struct wf_thread *t, weft_fiber **out, const struct order *o)
{
	struct wf_proc *p = t->proc;
	weft_fiber *f;

	if (wf_load_rlx(&t->rt->stopping))
		return -ESHUTDOWN;
	f = obtain(&p->fibers, &p->stacks, t->rt, o->cls);
	if (f == NULL)
		return -ENOMEM;
	fill(f, o);
	if (out != NULL)
		*out = f;
	launch(p, f, o);
	return 0;
}

/*
 * The same when nothing is in the way: a fiber like most, a descriptor at hand.
 * Inlined, so that the order stays in registers: from memory it would be read
 * before it is written.
 */
wf_inline bool spawn_fast(
	struct wf_thread *t, weft_fiber **out, const struct order *o)
{
	struct wf_proc *p = t->proc;
	weft_fiber *f;

	if (wf_unlikely(
		    p->fibers.now.count == 0 || wf_load_rlx(&t->rt->stopping)))
		return false;
	f = wf_fiber_take_at_hand(&p->fibers);
	fill(f, o);
	if (out != NULL)
		*out = f;
	launch(p, f, o);
	return true;
}

/* From a thread that has no processor of rt. */
static int spawn_outside(
	struct weft_rt *rt, weft_fiber **out, const struct order *o)
{
	struct wf_outside *outside = &rt->outside;
	struct wf_batch batch = { 0 };
	weft_fiber *f = NULL;
	bool accepted;

	wf_lock(&outside->lock);
	accepted = wf_outside_accept(rt);
	if (accepted)
		f = obtain(&outside->fibers, &outside->stacks, rt, o->cls);
	if (f != NULL)
		wf_bump(&outside->spawned, 1);
	wf_unlock(&outside->lock);
	if (!accepted)
		return -ESHUTDOWN;
	if (f == NULL) {
		wf_outside_leave(rt);
		return -ENOMEM;
	}
	fill(f, o);
	wf_store_rlx(&f->ready_us, WF_READY_UNKNOWN);
	wf_store_rlx(&f->state, state_of(o));
	if (out != NULL)
		*out = f;
	wf_batch_add(&batch, &f->task);
	wf_submit_outside(rt, &batch);
	wf_outside_leave(rt);
	return 0;
}

static int spawn(struct weft_rt *rt, weft_fiber **out, const struct order *o)
{
	struct wf_thread *t = wf_thread_in(rt);

	if (t != NULL)
		return spawn_here(t, out, o);
	return spawn_outside(rt, out, o);
}

int weft_rt_go(weft_rt *rt, void (*fn)(void *), void *arg)
{
	if (fn == NULL)
		return -EINVAL;
	return spawn(rt, NULL,
		&(struct order){ .fn = (void *)fn,
			.arg = arg,
			.cls = rt->cls,
			.state = WF_FIBER_DETACHED | WF_FIBER_VOID });
}

/* Attributes into o.  -EINVAL. */
static int check(struct weft_rt *rt, const weft_fiber_attr *a, struct order *o)
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

int weft_rt_spawn(weft_rt *rt, weft_fiber **f, const weft_fiber_attr *a,
	void *(*fn)(void *), void *arg)
{
	struct order o = { .fn = (void *)fn, .arg = arg };
	int err = fn != NULL ? check(rt, a, &o) : -EINVAL;

	if (err)
		return err;
	if (a != NULL && a->executor != NULL && a->executor != &rt->executor)
		return -EINVAL;
	return spawn(rt, f, &o);
}

/* The runtime that e belongs to; NULL: none. */
static struct weft_rt *rt_of(weft_executor *e)
{
	return e->submit == wf_rt_submit ? (struct weft_rt *)e : NULL;
}

/* The executor whose task or fiber this is; NULL on a plain thread. */
static weft_executor *executor_here(struct wf_thread *t)
{
	if (t == NULL)
		return NULL;
	if (!t->visitor)
		return &t->rt->executor;
	return t->current != NULL ? t->current->executor : t->executor;
}

/* Its executor refused f. */
static void give_up(struct weft_rt *home, weft_fiber *f, unsigned cls)
{
	if (cls != home->cls) {
		wf_lock(&home->outside.lock);
		wf_stack_credit_back(&home->outside.stacks, cls);
		wf_unlock(&home->outside.lock);
	}
	wf_fiber_free(f);
}

/* On an executor that is no runtime. */
static int spawn_abroad(weft_executor *e, weft_fiber **out,
	const weft_fiber_attr *a, struct order *o)
{
	weft_fiber *f = NULL, *before = out ? *out : NULL;
	struct weft_rt *home;
	int err = wf_home_hold(&home);

	if (err)
		return err;
	err = check(home, a, o);
	if (!err) {
		wf_lock(&home->outside.lock);
		f = obtain(&home->outside.fibers, &home->outside.stacks, home,
			o->cls);
		wf_unlock(&home->outside.lock);
		err = f ? 0 : -ENOMEM;
	}
	if (err) {
		wf_home_drop();
		return err;
	}
	fill(f, o);
	wf_store_rlx(&f->ready_us, WF_READY_UNKNOWN);
	wf_store_rlx(&f->state, state_of(o));
	if (out != NULL)
		*out = f;
	err = wf_fiber_send(f, e, o->hint);
	if (err) {
		if (out != NULL)
			*out = before;
		give_up(home, f, o->cls);
	}
	return err;
}

/* When there is no descriptor at hand, or in a visit. */
static wf_noinline int go_with(weft_executor *e, void (*fn)(void *), void *arg)
{
	struct weft_rt *rt = rt_of(e);
	struct order o = { .fn = (void *)fn,
		.arg = arg,
		.state = WF_FIBER_DETACHED | WF_FIBER_VOID };

	if (rt != NULL)
		return weft_rt_go(rt, fn, arg);
	return spawn_abroad(e, NULL, NULL, &o);
}

int weft_go(void (*fn)(void *), void *arg)
{
	struct wf_thread *t = wf_enter();

	if (wf_unlikely(fn == NULL))
		return -EINVAL;
	if (wf_unlikely(t == NULL))
		return -EPERM;
	if (wf_likely(spawn_fast(t, NULL,
		    &(struct order){ .fn = (void *)fn,
			    .arg = arg,
			    .cls = t->rt->cls,
			    .state = WF_FIBER_DETACHED | WF_FIBER_VOID })))
		return 0;
	return go_with(executor_here(t), fn, arg);
}

/* With attributes, or from outside, or when there is no descriptor at hand. */
static wf_noinline int spawn_with(weft_fiber **f, const weft_fiber_attr *a,
	void *(*fn)(void *), void *arg)
{
	struct order o = { .fn = (void *)fn, .arg = arg };
	weft_executor *e = a != NULL ? a->executor : NULL;
	struct weft_rt *rt;
	int err;

	if (e == NULL)
		e = executor_here(wf_enter());
	if (e == NULL)
		return -EPERM;
	rt = rt_of(e);
	if (rt == NULL)
		return spawn_abroad(e, f, a, &o);
	err = check(rt, a, &o);
	return err ? err : spawn(rt, f, &o);
}

int weft_spawn(weft_fiber **f, const weft_fiber_attr *a, void *(*fn)(void *),
	void *arg)
{
	struct wf_thread *t = wf_enter();

	if (wf_unlikely(fn == NULL))
		return -EINVAL;
	if (wf_likely(t != NULL && a == NULL) &&
		wf_likely(spawn_fast(t, f,
			&(struct order){ .fn = (void *)fn,
				.arg = arg,
				.cls = t->rt->cls })))
		return 0;
	return spawn_with(f, a, fn, arg);
}

int wf_spawn_member(
	struct wf_scope *s, void (*run)(void *), void *fn, void *arg)
{
	weft_executor *e = executor_here(wf_enter());
	struct weft_rt *rt = rt_of(e);
	struct order o = { .fn = (void *)run,
		.arg = arg,
		.scope = s,
		.entry = fn,
		.state = WF_FIBER_DETACHED | WF_FIBER_VOID };

	if (rt == NULL)
		return spawn_abroad(e, NULL, NULL, &o);
	o.cls = rt->cls;
	return spawn(rt, NULL, &o);
}
