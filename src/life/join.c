/* SPDX-License-Identifier: MIT */
/*
 * life/join.c - waiting for a fiber, or running it instead.
 *
 * A child that has not started may be run by its joiner as a call, on the
 * joiner's stack, if the joiner would wait for as long as it takes, both are of
 * one runtime, and the stack has the child's full promise left.  It is claimed
 * like by any thief; its entry in the queue is then dead.
 * While it runs it is the running fiber, and the joiner waits like any other.
 *
 * Otherwise the joiner waits until hand_over (life/finish.c) finds it:
 *
 *	joiner				fiber that ends
 *	  arm
 *	  joiner = node			  result
 *	  state |= JOINED	<->	  state |= DONE   [fiber.done]
 *	  settle			  was JOINED: claim, wake
 *
 * A joiner that gives up clears JOINED.  If DONE came before that, the fiber is
 * about to look at the node, whose frame must stay until LETGO says it has.
 */
#include "life/join.h"

#include <errno.h>

#include <weft/fiber.h>

#include "base/assert.h"
#include "base/limits.h"
#include "base/units.h"
#include "os/os.h"
#include "sched/finish.h"
#include "sched/global.h"
#include "sched/pick.h"
#include "sched/run.h"
#include "sched/runtime.h"
#include "sched/submit.h"

bool wf_join_look(weft_fiber *f)
{
	/* [pair: fiber.done] If it is done: with all that it did. */
	return wf_load_acq(&f->state) & WF_FIBER_DONE;
}

void wf_join_take(weft_fiber *f, void **result)
{
	if (result != NULL)
		*result = wf_load_rlx(&f->result);
	wf_fiber_free(f);
}

bool wf_join_enlist(weft_fiber *f, struct wf_node *n)
{
	uint32_t seen = wf_load_rlx(&f->state);

	f->joiner = n;
	do {
		wf_assert(!(seen & WF_FIBER_JOINED),
			"fiber %p is joined by two at once", (void *)f);
		if (seen & WF_FIBER_DONE)
			return !wf_join_look(f);
		/* [pair: fiber.done] The node is seen by who ends it. */
	} while (!wf_cas_weak_rel(&f->state, &seen, seen | WF_FIBER_JOINED));
	return true;
}

bool wf_join_delist(weft_fiber *f, struct wf_node *n)
{
	uint32_t old;

	(void)n;
	old = wf_and_rlx(&f->state, ~WF_FIBER_JOINED);
	if (!(old & WF_FIBER_JOINED) || !(old & WF_FIBER_DONE))
		return false;
	/* [pair: fiber.letgo] It has looked at our node for the last time. */
	while (!(wf_load_acq(&f->state) & WF_FIBER_LETGO))
		wf_os_thread_yield();
	return true;
}

/* Is the child's promise left below where we are? */
static inline bool stack_suffices(struct wf_thread *t, weft_fiber *f)
{
	const char *here = __builtin_frame_address(0);
	size_t promised = t->rt->promised;

	if (wf_unlikely(wf_fiber_cls(f) != t->rt->cls))
		promised = t->rt->stacks.store[wf_fiber_cls(f)].shape.promised;
	return here - wf_stack_low(t->stack) >= (ptrdiff_t)promised;
}

/* So long may a joiner run children as calls while others have not started. */
#define WF_JOIN_NS WF_NS_PER_MS

/* With so many joiners that have given way no more turns are waited for. */
#define WF_JOIN_WAITING_MAX 5

/*
 * A joiner that runs children as calls must not keep others from running.  Each
 * call is a tick.  Every so often the joiner looks around, as a pick does:
 *
 *	A task of the global queue, a yielder or a task that has started runs
 *	when it is the global queue's turn, and the joiner right after it.
 *
 *	Fibers that have not started are passed over, for WF_JOIN_NS and for
 *	WF_JOIN_CALLS calls at most; then the joiner GIVES WAY.
 *
 * The first look is at the second call and reads the time; the next ones come
 * after 1, 2, 4 ... calls, and sooner if the calls are long (sched/pick.c).
 *
 * To give way is to let the first fiber of the queue begin.  That is a child of
 * the joiner's own, as like as not, the largest part of a tree.  It will give
 * way too, and leave in the queue what it has spawned: a queue that is full of
 * such children sends them to the global queue, where they cannot be run as
 * calls, and the tree becomes ten times as slow.  So joiners that have given
 * way, which wait as yielders, go on before one more fiber begins: for four
 * times as many turns with each that waits, up to 4 ^ WF_JOIN_WAITING_MAX.
 *
 * So a fiber that has not started waits for 1 ms behind one joiner, for 4 ms
 * behind two, and for 1 s behind six or more.
 */
static wf_may_switch void give_way(struct wf_thread *t, weft_fiber *self)
{
	struct wf_proc *p = t->proc;
	uint32_t waiting = wf_load_rlx(&p->yielders.count);
	weft_task *other = NULL;

	if (waiting > WF_JOIN_WAITING_MAX)
		waiting = WF_JOIN_WAITING_MAX;
	if (++p->gave_way < UINT32_C(1) << 2 * waiting)
		other = wf_pick_yielder(p);
	if (other != NULL) {
		wf_yield_for(t, self, other);
	} else {
		p->gave_way = 0;
		wf_yield(t, self);
	}
}

/*
 * self is about to run a child as a call, and it is time to look.  Returns the
 * thread that it is on afterwards.
 */
static wf_noinline wf_may_switch struct wf_thread *look_around(
	struct wf_thread *t, weft_fiber *self)
{
	struct wf_proc *p = t->proc;
	uint32_t inlines = t->inlines;
	weft_task *other = wf_pick_started(p, inlines == 2);
	int64_t now_ns = wf_load_rlx(&p->clock_ns), since_ns;

	if (inlines <= 2)
		t->inlines_ns = now_ns;
	since_ns = t->inlines_ns;
	if (other != NULL) {
		wf_yield_to(t, self, other);
		t = wf_os_self();
		t->inlines = inlines;
		t->inlines_ns = since_ns;
	}
	if (inlines >= WF_JOIN_CALLS || now_ns - since_ns >= WF_JOIN_NS)
		give_way(t, self);
	return wf_os_self();
}

/* Run f right here, if it may be. */
static inline bool run_here(
	struct wf_thread *t, weft_fiber *f, weft_fiber *self, void **result)
{
	void *value;

	t->proc->pause--;
	if (wf_unlikely(++t->inlines == 2 || t->proc->pause <= 1))
		t = look_around(t, self);
	if (!stack_suffices(t, f) || !wf_fiber_claim_handle(f))
		return false;
	value = wf_run_inline(t, f, self);
	if (result != NULL)
		*result = value;
	return true;
}

/* One who waits for a fiber and for nothing else. */
struct joiner {
	struct wf_waiter w; /* must be first */
	struct wf_node node;
	weft_fiber *of;
	bool enlisted;
};

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct joiner *j = (struct joiner *)a;

	(void)f;
	if (!wf_waiter_arm(&j->w))
		return false;
	if (!wf_join_enlist(j->of, &j->node))
		return wf_waiter_disarm(&j->w);
	j->enlisted = true;
	return wf_waiter_settle(&j->w);
}

/* Wait for the end of f.  0: it is done. */
static int wait_for(weft_fiber *f, weft_time deadline)
{
	struct joiner j = { .of = f };
	int err;

	wf_node_open(&j.node, &j.w);
	err = wf_wait(&j.w, commit, "join", f, deadline);

	if (err >= 0)
		return 0;
	return j.enlisted && wf_join_delist(f, &j.node) ? 0 : err;
}

static void check_handle(weft_fiber *f, uint32_t state, const char *call)
{
	wf_assert((state & WF_FIBER_LIVE) && !(state & WF_FIBER_DETACHED),
		"weft_%s: fiber %p was joined or detached before", call,
		(void *)f);
}

static wf_noinline int join(struct wf_thread *t, weft_fiber *f, void **result,
	weft_time deadline, uint32_t state)
{
	int err;

	check_handle(f, state, "join");
	if (t != NULL && t->current == f)
		return -EDEADLK;
	if (state & WF_FIBER_DONE) {
		wf_join_take(f, result);
		wf_wait_not();
		return 0;
	}
	err = wait_for(f, deadline);
	if (!err)
		wf_join_take(f, result);
	return err;
}

/* A join that has more to do than to take a result. */
static wf_noinline int join_slow(struct wf_thread *t, weft_fiber *f,
	void **result, weft_time deadline, uint32_t state)
{
	struct weft_rt *rt = wf_fiber_rt(f);
	weft_fiber *self = t ? t->current : NULL;
	int err;

	if (wf_likely(self != NULL && t->rt == rt)) {
		if ((state & WF_FIBER_FRESH) && deadline == WEFT_FOREVER) {
			if (run_here(t, f, self, result))
				return 0;
			/* It may have given way meanwhile. */
			t = wf_os_self();
			/* [pair: fiber.done] As in weft_join. */
			state = wf_load_acq(&f->state);
		}
		return join(t, f, result, deadline, state);
	}
	/* A fiber abroad has no runtime that could be stopped. */
	if (rt->is_home)
		return join(t, f, result, deadline, state);
	/* The runtime may be stopped as soon as f has ended, but not freed. */
	wf_outside_enter(rt);
	err = join(t, f, result, deadline, state);
	wf_outside_leave(rt);
	return err;
}

/*
 * Has it ended, with nothing to clean, for a fiber of its own runtime, which
 * has room for the descriptor?  Then to join it is a few loads and stores.
 */
static inline bool is_plainly_done(
	struct wf_thread *t, weft_fiber *f, uint32_t state)
{
	return (state & WF_FIBER_LIFE) == (WF_FIBER_LIVE | WF_FIBER_DONE) &&
		t != NULL && t->current != NULL && t->rt == wf_fiber_rt(f) &&
		t->proc->fibers.now.count < WF_FIBER_BATCH;
}

int weft_join(weft_fiber *f, void **result, weft_time deadline)
{
	struct wf_thread *t = wf_enter();
	/* [pair: fiber.done] If it is done: with all that it did. */
	uint32_t state = wf_load_acq(&f->state);

	if (!is_plainly_done(t, f, state))
		return join_slow(t, f, result, deadline, state);
	if (result != NULL)
		*result = wf_load_rlx(&f->result);
	wf_finish_give(&t->proc->fibers, t->rt, f);
	wf_spend(t, t->current);
	return 0;
}

void weft_detach(weft_fiber *f)
{
	/*
	 * [pair: fiber.done] If it is done, we free it after all it did; if
	 * not, what it is in may be freed when it ends.
	 */
	uint32_t old = wf_or_acqrel(&f->state, WF_FIBER_DETACHED);

	check_handle(f, old, "detach");
	if (old & WF_FIBER_DONE)
		wf_fiber_free(f);
}
