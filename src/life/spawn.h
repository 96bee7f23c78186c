/* SPDX-License-Identifier: MIT */
/*
 * life/spawn.h - the parts of a spawn that all executors share.
 *
 * Reads next: life/spawn.c
 */
#ifndef WF_LIFE_SPAWN_H
#define WF_LIFE_SPAWN_H

#include "fiber/fiber.h"
#include "sched/runtime.h"

/* The caller's arguments and attributes, checked. */
struct wf_spawn_args {
	void *fn;
	void *arg;
	const char *name;
	struct wf_scope *scope; /* NULL: none */
	void *entry;		/* in a scope: the function that others see */
	weft_hint hint;
	uint8_t cls;
	uint32_t state; /* DETACHED, VOID, or nothing */
};

/* Put attributes a, or their defaults if a is NULL, into o.  -EINVAL. */
wf_must_check int wf_spawn_check(
	struct weft_rt *rt, const weft_fiber_attr *a, struct wf_spawn_args *o);

/*
 * Start run(arg) in a detached fiber of s, on the executor that runs the
 * caller.  Others see fn as the fiber's function.
 */
wf_must_check int wf_spawn_member(
	struct wf_scope *s, void (*run)(void *), void *fn, void *arg);

/* A descriptor with the stack credit that it needs, or NULL. */
wf_inline weft_fiber *wf_spawn_obtain(struct wf_fiber_cache *fibers,
	struct wf_stack_cache *stacks, struct weft_rt *rt, unsigned cls)
{
	weft_fiber *f = wf_fiber_take(fibers, &rt->fibers);

	/* A stack of another class than rt's needs a credit of its own. */
	if (wf_likely(f == NULL || cls == rt->cls))
		return f;
	if (wf_stack_credit(stacks, cls) == 0)
		return f;
	wf_fiber_give(fibers, &rt->fibers, f);
	return NULL;
}

wf_inline void wf_spawn_fill(weft_fiber *f, const struct wf_spawn_args *o)
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
wf_inline uint32_t wf_spawn_state(const struct wf_spawn_args *o)
{
	return WF_FIBER_LIVE | o->state |
		(o->name || o->scope ? WF_FIBER_USED : 0) |
		(uint32_t)o->cls << WF_FIBER_CLS_SHIFT;
}

/* Fill in f, which starts without a ticket and at an unknown time. */
wf_inline void wf_spawn_fill_plain(
	weft_fiber *f, const struct wf_spawn_args *o)
{
	wf_spawn_fill(f, o);
	wf_store_rlx(&f->ready_us, WF_READY_UNKNOWN);
	wf_store_rlx(&f->state, wf_spawn_state(o));
}

#endif
