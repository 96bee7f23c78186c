/* SPDX-License-Identifier: MIT */
/*
 * life/join.c - wait for a fiber, or run it instead.
 *
 * A joiner may run a child that has not started as a call, on its own stack, if
 * it joins without a deadline, both belong to one runtime, and its stack has
 * room for all that the child was promised.  It claims the child as a thief
 * would; the child's ticket in the queue is dead then.  While the child runs it
 * is the running fiber, and the joiner waits.
 *
 * Otherwise the joiner waits until hand_over (life/finish.c) wakes it:
 *
 *	joiner				fiber that ends
 *	  arm
 *	  joiner = node			  result
 *	  state |= JOINED	<->	  state |= DONE   [fiber.done]
 *	  settle			  was JOINED: claim, wake
 *
 * A joiner that gives up clears JOINED.  If DONE was set before that, the fiber
 * is about to look at the node: the joiner's frame must stay until the fiber
 * has set LETGO.
 */
#include "life/join.h"

#include <errno.h>

#include <weft/fiber.h>

#include "base/assert.h"
#include "base/limits.h"
#include "base/units.h"
#include "os/os.h"
#include "life/finish.h"
#include "sched/global.h"
#include "sched/pick.h"
#include "sched/run.h"
#include "sched/runtime.h"
#include "sched/submit.h"

bool wf_join_look(weft_fiber *f)
{
	/* [pair: fiber.done] If f is done, see all that it did. */
	return wf_load_acq(&f->state) & WF_FIBER_DONE;
}

void wf_join_take(weft_fiber *f, void **result)
{
	if (result != NULL)
		*result = wf_load_rlx(&f->result);
	wf_fiber_free(f);
}

struct weft_rt *wf_join_hold(weft_fiber *f, weft_fiber *self)
{
	struct weft_rt *rt = wf_fiber_rt(f);

	if (wf_fiber_is_foreign(f) || (self && wf_fiber_rt(self) == rt))
		return NULL;
	wf_outside_enter(rt);
	return rt;
}

bool wf_join_enlist(weft_fiber *f, struct wf_node *n)
{
	uint32_t seen = wf_load_rlx(&f->state);

	f->joiner = n;
	do {
		wf_assert(!(seen & WF_FIBER_JOINED),
			"two callers join fiber %p at once", (void *)f);
		if (seen & WF_FIBER_DONE)
			return !wf_join_look(f);
		/* [pair: fiber.done] The fiber that ends sees the node. */
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
	/* [pair: fiber.letgo] f has looked at n for the last time. */
	while (!(wf_load_acq(&f->state) & WF_FIBER_LETGO))
		wf_os_thread_yield();
	return true;
}

/* Does the running stack have room for all that f was promised? */
static inline bool stack_suffices(struct wf_thread *t, weft_fiber *f)
{
	const char *here = __builtin_frame_address(0);
	size_t promised = t->rt->promised;

	if (wf_unlikely(wf_fiber_cls(f) != t->rt->cls))
		promised = t->rt->stacks.store[wf_fiber_cls(f)].shape.promised;
	return here - wf_stack_low(t->stack) >= (ptrdiff_t)promised;
}

/* A joiner gives way after running children as calls for so long. */
#define WF_JOIN_NS WF_NS_PER_MS

/* More waiting joiners than these do not lengthen the turns below. */
#define WF_JOIN_WAITING_MAX 5

/*
 * A joiner that runs children as calls must not starve other tasks.  Each call
 * is a tick.  At its second call, and then after 1, 2, 4 ... more calls, or
 * sooner if the calls are long (sched/pick.c), the joiner looks around:
 *
 *	A task of the global queue, a yielder, or a fiber that has started runs
 *	if it has its turn, and the joiner right after it.
 *
 *	Fibers that have not started wait until the joiner has made
 *	WF_JOIN_CALLS calls or WF_JOIN_NS have passed.  Then it GIVES WAY: it
 *	yields, and the first fiber of the queue begins.
 *
 * That fiber often is a large subtree of the joiner's own.  It will give way in
 * turn, and leave its children in the queue until the queue overflows into the
 * global queue, where a joiner cannot run them as calls: a tree then takes ten
 * times as long.  So joiners that have given way, which are yielders, go on
 * before another fiber begins, 4 ^ n turns if n of them wait.  A fiber that has
 * not started waits 1 ms behind one joiner, 4 ms behind two, and 1 s behind
 * WF_JOIN_WAITING_MAX + 1 or more.
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
 * self is about to run a child as a call, and it is time to look around.
 * Returns the thread that self is on afterwards.
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
		t = wf_here();
		t->inlines = inlines;
		t->inlines_ns = since_ns;
	}
	if (inlines >= WF_JOIN_CALLS || now_ns - since_ns >= WF_JOIN_NS) {
		give_way(t, self);
		t = wf_here();
	}
	return t;
}

/* Run f as a call; false: that is not possible. */
static inline bool run_here(
	struct wf_thread *t, weft_fiber *f, weft_fiber *self, void **result)
{
	void *value;

	t->proc->agenda.pause--;
	if (wf_unlikely(
		    ++t->inlines == 2 || wf_agenda_is_due(&t->proc->agenda)))
		t = look_around(t, self);
	if (!stack_suffices(t, f) || !wf_fiber_claim_handle(f))
		return false;
	value = wf_run_inline(t, f, self);
	if (result != NULL)
		*result = value;
	return true;
}

/* A joiner that waits for one fiber. */
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
		"weft_%s: a caller joined or detached fiber %p before", call,
		(void *)f);
}

static int join(struct wf_thread *t, weft_fiber *f, void **result,
	weft_time deadline, uint32_t state)
{
	int err;

	check_handle(f, state, "join");
	if (t != NULL && t->current == f)
		return -EDEADLK;
	if (state & WF_FIBER_DONE) {
		wf_join_take(f, result);
		wf_budget_spend();
		return 0;
	}
	err = wait_for(f, deadline);
	if (!err)
		wf_join_take(f, result);
	return err;
}

/* weft_join of a fiber that is not run as a call. */
static wf_noinline wf_leaves int join_held(struct wf_thread *t, weft_fiber *f,
	void **result, weft_time deadline, uint32_t state)
{
	struct weft_rt *held = wf_join_hold(f, t ? t->current : NULL);
	int err = join(t, f, result, deadline, state);

	if (held != NULL)
		wf_outside_leave(held);
	wf_leave_here();
	return err;
}

/* weft_join of a fiber that is not plainly done. */
static wf_noinline wf_leaves int join_slow(struct wf_thread *t, weft_fiber *f,
	void **result, weft_time deadline, uint32_t state)
{
	weft_fiber *self = t ? t->current : NULL;

	if (wf_likely(self != NULL && t->rt == wf_fiber_rt(f) &&
		    (state & WF_FIBER_FRESH) && deadline == WEFT_FOREVER)) {
		if (run_here(t, f, self, result)) {
			wf_leave_here();
			return 0;
		}
		/* The joiner may have given way meanwhile. */
		t = wf_here();
		/* [pair: fiber.done] If f is done, see all that it did. */
		state = wf_load_acq(&f->state);
	}
	return join_held(t, f, result, deadline, state);
}

/*
 * Has f ended, with nothing to clean, is the joiner a fiber of its runtime, and
 * has the processor room for its descriptor?  Then a join is a few loads and
 * stores.
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
	/* [pair: fiber.done] If f is done, see all that it did. */
	uint32_t state = wf_load_acq(&f->state);

	if (!is_plainly_done(t, f, state))
		return join_slow(t, f, result, deadline, state);
	if (result != NULL)
		*result = wf_load_rlx(&f->result);
	wf_finish_give(&t->proc->fibers, t->rt, f);
	wf_leave(wf_spend(t, t->current));
	return 0;
}

void weft_detach(weft_fiber *f)
{
	struct wf_thread *t = wf_enter();
	/*
	 * [pair: fiber.done] If f is done, free it after all that it did.  If
	 * not, f sees DETACHED when it ends, and all that came before it.
	 */
	uint32_t old = wf_or_acqrel(&f->state, WF_FIBER_DETACHED);

	check_handle(f, old, "detach");
	if (old & WF_FIBER_DONE)
		wf_fiber_free(f);
	wf_leave(t);
}
