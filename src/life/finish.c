/* SPDX-License-Identifier: MIT */
/*
 * life/finish.c - the end of a fiber.
 */
#include "life/finish.h"

#include "base/assert.h"
#include "sched/foreign.h"
#include "sched/idle.h"
#include "life/key.h"
#include "sched/runtime.h"
#include "wait/wait.h"

static void check_scopes(weft_fiber *f)
{
	wf_assert(f->scopes == NULL,
		"fiber %p ended while its scope %p was still open", (void *)f,
		(void *)f->scopes);
}

wf_may_switch void wf_finish_user(weft_fiber *f)
{
	check_scopes(f);
	if (wf_likely(f->keys == NULL))
		return;
	wf_keys_end(f);
	check_scopes(f);
}

/* Set part 2 of f to what it is in a free descriptor. */
static void clean(weft_fiber *f)
{
	uint64_t wait = wf_load_rlx(&f->wait);

	wf_store_rlx(&f->wait, wait & -WF_WAIT_EPOCH);
	wf_store_rlx(&f->name, NULL);
	wf_store_rlx(&f->entry, NULL);
	wf_store_rlx(&f->waits_for, NULL);
	wf_store_rlx(&f->waits_on, NULL);
	wf_store_rlx(&f->cancel, 0);
	f->own = 0;
	wf_store_rlx(&f->member, NULL);
}

static inline bool is_used(weft_fiber *f)
{
	return wf_load_rlx(&f->state) & WF_FIBER_USED;
}

static void release(
	struct wf_fiber_cache *cache, struct weft_rt *rt, weft_fiber *f)
{
	if (is_used(f))
		clean(f);
	wf_finish_give(cache, rt, f);
}

/*
 * The caller has no processor of rt.  If f's descriptor is the first that lets
 * memory go back to the system, all threads of rt may sleep without a deadline:
 * one is woken, and sleeps again until it is time (idle/park.c).
 */
static void free_outside(struct weft_rt *rt, weft_fiber *f)
{
	bool foreign = wf_fiber_is_foreign(f), trims;

	wf_lock(&rt->outside.lock);
	trims = wf_fiber_pool_next_trim(&rt->fibers) != INT64_MAX;
	release(&rt->outside.fibers, rt, f);
	trims = !trims && wf_fiber_pool_next_trim(&rt->fibers) != INT64_MAX;
	wf_unlock(&rt->outside.lock);
	if (foreign)
		wf_foreign_pool_drop();
	else if (wf_unlikely(trims))
		(void)wf_wake_one(rt->groups);
}

void wf_fiber_free(weft_fiber *f)
{
	struct weft_rt *rt = wf_fiber_rt(f);
	struct wf_thread *t = wf_thread_in(rt);

	if (wf_likely(t != NULL))
		release(&t->proc->fibers, rt, f);
	else
		free_outside(rt, f);
}

/*
 * The joiner of f runs next.  But if f went through the global queue with many
 * others, the joiner runs after the tasks of the local queue: of many children
 * joined in turn most have ended then, and the joiner need not wait for each.
 */
static weft_hint hint_for_joiner(uint32_t state)
{
	return state & WF_FIBER_AWAY ? WEFT_HINT_DEFAULT : WEFT_HINT_NEXT;
}

/* f is done; old, its state before, has JOINED or DETACHED. */
static wf_noinline void settle_joiner(weft_fiber *f, uint32_t old)
{
	if (old & WF_FIBER_DETACHED)
		wf_fiber_free(f);
	else if (wf_waiter_claim(f->joiner))
		wf_waiter_wake(f->joiner->waiter, hint_for_joiner(old));
	else
		/* [pair: fiber.letgo] The joiner gave up; its frame may go. */
		(void)wf_or_rel(&f->state, WF_FIBER_LETGO);
}

/* f has, had or will have a joiner, which owns f when this returns. */
wf_inline void hand_over(weft_fiber *f, void *result)
{
	uint32_t old;

	wf_store_rlx(&f->result, result);
	/*
	 * [pair: fiber.done] The joiner sees the result and all that f did, and
	 * this side sees the joiner's node.  Without a joiner yet this is the
	 * last access to f.
	 */
	old = wf_or_acqrel(&f->state, WF_FIBER_DONE);
	if (wf_unlikely(old & (WF_FIBER_DETACHED | WF_FIBER_JOINED)))
		settle_joiner(f, old);
}

/* The end of a fiber that has a name, a scope or keys, or is detached. */
static wf_noinline wf_may_switch struct wf_thread *finish_used(
	struct wf_thread *t, weft_fiber *f, void *result)
{
	if (is_used(f)) {
		t->current = f;
		wf_finish_user(f);
		t = wf_here();
		t->current = NULL;
	}
	if (wf_load_rlx(&f->state) & WF_FIBER_DETACHED)
		release(&t->proc->fibers, t->rt, f);
	else
		hand_over(f, result);
	wf_count_end(t->proc);
	return t;
}

wf_may_switch struct wf_thread *wf_finish_slow(
	struct wf_thread *t, weft_fiber *f, void *result)
{
	uint32_t life = wf_load_rlx(&f->state) & WF_FIBER_LIFE;

	if (wf_unlikely(life & (WF_FIBER_USED | WF_FIBER_DETACHED)))
		return finish_used(t, f, result);
	hand_over(f, result);
	wf_count_end(t->proc);
	return t;
}

void wf_finish_foreign(weft_fiber *f, void *result)
{
	/* [pair: fiber.done] All of f before its descriptor is free. */
	if (wf_load_acq(&f->state) & WF_FIBER_DETACHED)
		wf_fiber_free(f);
	else
		hand_over(f, result);
}

wf_may_switch struct wf_thread *wf_finish_inline(
	struct wf_thread *t, weft_fiber *f)
{
	if (wf_unlikely(is_used(f))) {
		wf_finish_user(f);
		t = wf_here();
		clean(f);
	}
	if (wf_unlikely(wf_fiber_cls(f) != t->rt->cls))
		wf_stack_credit_back(&t->proc->stacks, wf_fiber_cls(f));
	wf_finish_give(&t->proc->fibers, t->rt, f);
	wf_count_end(t->proc);
	return t;
}
