/* SPDX-License-Identifier: MIT */
/*
 * chan/select.c - doing the first of several things that can be done.
 *
 * A round is:
 *
 *	look	at every case, without a lock.  Of those that seem ready one is
 *		drawn, and done as a call of its own would do it.  It may have
 *		ceased to be ready; then look again.
 *	wait	if none was ready.  Armed, a node of each case goes into the
 *		list of its object, under the object's lock and only if it is
 *		still not ready; else all is taken back and a new round begins.
 *	leave	all lists but that of the node that won.
 *
 * Whoever finds one of the nodes claims the waiter, and that decides: from then
 * on the select is done with this case, whatever else happens, so no element
 * and no wake is lost.  Who claims another node of it finds that it lost and
 * goes on to the next in its list.
 *
 * Two selects that would meet may each find the other's node while they enlist,
 * and both take theirs back.  In the next round each tries to claim the other
 * first, and one of them is late.
 *
 * The nodes lie in the cases.  If several seem ready, the rooms of the first
 * ones are where it is kept which.
 *
 * A select costs instructions, not so much the two locks for each case.  So
 * what is usual has functions of its own, which call nothing else or end with
 * it: receives, in the first round, with nobody in the way.  All others do the
 * same for any case.
 */
#include <errno.h>
#include <limits.h>

#include <weft/chan.h>

#include "base/random.h"
#include "chan/chan.h"
#include "life/join.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "wait/wait_inline.h"
#include "sync/event.h"

/* What node_ of a case holds. */
struct room {
	union {
		struct wf_chan_node node; /* during the wait */
		weft_case *ready;	  /* of a look: see above */
	};
	struct weft_rt *held; /* of a join; NULL: none */
};

_Static_assert(sizeof(struct room) <= sizeof(((weft_case *)0)->node_),
	"a node has room in a case");
_Static_assert(sizeof(weft_case) == 88, "weft_case is part of the ABI");
_Static_assert(WEFT_SEND - 1 == (int)WF_CHAN_SEND &&
		WEFT_RECV - 1 == (int)WF_CHAN_RECV,
	"an op of a channel tells the side");

struct choice {
	struct wf_waiter waiter; /* must be first */
	weft_case *cases;
	weft_case *end;
	weft_case *listed; /* all before this one were enlisted */
	weft_time deadline;
};

static struct room *room_of(weft_case *k)
{
	return (struct room *)k->node_;
}

static bool is_of_chan(const weft_case *k)
{
	return k->op == WEFT_RECV || k->op == WEFT_SEND;
}

static enum wf_side side_of(const weft_case *k)
{
	return (enum wf_side)(k->op - WEFT_SEND);
}

/* k is one of a channel: does it seem ready? */
wf_inline bool is_chan_ready(weft_case *k)
{
	return k->obj != NULL && wf_chan_is_ready(k->obj, side_of(k));
}

/* How many cases seem ready; which, is in the rooms of the first. */
static uint32_t look(weft_case *cases, weft_case *end)
{
	uint32_t ready = 0;

	for (weft_case *k = cases; k != end; k++) {
		bool is;

		if (is_of_chan(k))
			is = is_chan_ready(k);
		else if (k->op == WEFT_EVENT)
			is = k->obj != NULL && wf_event_look(k->obj);
		else
			is = k->obj != NULL && wf_join_look(k->obj);
		if (is)
			room_of(&cases[ready++])->ready = k;
	}
	return ready;
}

/* A number below n, for any caller. */
static wf_noinline size_t draw(uint32_t n)
{
	static _Atomic(uint64_t) outside; /* who has no processor */
	struct wf_thread *t = wf_enter();
	struct wf_random random;

	if (t != NULL && !t->visitor)
		return wf_random_below(&t->proc->random, n);
	wf_random_seed(&random, wf_add_rlx(&outside, 1) << 32);
	return wf_random_below(&random, n);
}

/* Do k, which looked ready.  False: it is not. */
wf_inline bool perform(weft_case *k)
{
	int result = 0;

	if (wf_likely(is_of_chan(k))) {
		result = wf_chan_try(k->obj, side_of(k), k->value);
		if (wf_unlikely(result == -EAGAIN))
			return false;
	} else {
		if (k->op == WEFT_JOIN)
			wf_join_take(k->obj, k->value);
		wf_wait_not();
	}
	k->result = result;
	return true;
}

/* Enlist k, whatever it is.  False: it need not wait. */
static bool enlist(weft_case *k, struct wf_waiter *w)
{
	struct wf_chan_node *n = &room_of(k)->node;

	if (k->obj == NULL)
		return true;
	n->node.waiter = w;
	n->value = k->value;
	n->result = 0;
	if (is_of_chan(k))
		return wf_chan_enlist(k->obj, side_of(k), n);
	if (k->op == WEFT_EVENT)
		return wf_event_enlist(k->obj, &n->node);
	return wf_join_enlist(k->obj, &n->node);
}

/* The same for a receive, if nobody is in the way. */
wf_inline bool enlist_fast(weft_case *k, struct wf_waiter *w)
{
	struct wf_chan_node *n = &room_of(k)->node;
	weft_chan *c = k->obj;

	if (wf_unlikely(
		    k->op != WEFT_RECV || c == NULL || !wf_spin_try(&c->lock)))
		return false;
	if (wf_unlikely(wf_chan_is_ready(c, WF_CHAN_RECV))) {
		wf_spin_unlock(&c->lock);
		return false;
	}
	n->node.waiter = w;
	n->value = k->value;
	n->result = 0;
	wf_store_rlx(&c->guest, w->fiber);
	wf_list_add(&c->waiters[WF_CHAN_RECV], &n->node);
	wf_chan_unlock(c, 1u << WF_CHAN_SEND);
	return true;
}

/* The waiter being armed: the cases from k on. */
static wf_noinline bool commit_from(struct choice *x, weft_case *k)
{
	for (; k != x->end; k++)
		if (!enlist(k, &x->waiter))
			break;
	x->listed = k;
	return k == x->end ? wf_waiter_settle(&x->waiter)
			   : wf_waiter_disarm(&x->waiter);
}

static wf_noinline bool commit_slow(struct choice *x)
{
	return wf_waiter_arm(&x->waiter) && commit_from(x, x->cases);
}

/*
 * What is likely is here and calls nothing, so that no register has to be
 * saved on the stack of who is next.
 */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct choice *x = (struct choice *)a;
	struct wf_waiter *w = &x->waiter;
	weft_case *k = x->cases, *end = x->end;
	uint64_t wait = w->wait, seen = wait | WF_WAIT_ARMED;
	struct weft_rt *rt;

	if (wf_unlikely(f == NULL || (wait & (WF_WAIT_TIMED | WF_WAIT_FIRM)) ||
		    !(rt = wf_fiber_rt(f))->membarrier))
		return commit_slow(x);
	/* Relaxed: who claims it now leaves it to us to go on with it. */
	wf_store_rlx(&f->wait, seen);
	/* [pair: fiber.cut] [pair: rt.stopping] As in wf_waiter_arm. */
	wf_fence_light();
	if (wf_unlikely(
		    wf_load_rlx(&f->cut) != 0 || wf_load_rlx(&rt->stopping)))
		return wf_waiter_cut(w, WF_WAIT_ARMED);
	for (; k != end; k++)
		if (wf_unlikely(!enlist_fast(k, w)))
			return commit_from(x, k);
	x->listed = end;
	/* [pair: fiber.wake] Who claims finds the fiber off its stack. */
	return wf_cas_rel(&f->wait, &seen, wait | WF_WAIT_PARKED);
}

/* Take k out of its list, whatever it is. */
static void delist(weft_case *k)
{
	struct wf_node *n = &room_of(k)->node.node;

	if (k->obj == NULL)
		return;
	if (is_of_chan(k))
		wf_chan_delist(k->obj, side_of(k), &room_of(k)->node);
	else if (k->op == WEFT_EVENT)
		wf_event_delist(k->obj, n);
	else
		(void)wf_join_delist(k->obj, n);
}

static wf_noinline void leave_slow(weft_case *k, weft_case *end, weft_case *won)
{
	for (; k != end; k++)
		if (k != won)
			delist(k);
}

/* Leave the lists of all cases from k on, but won; NULL: there is none. */
static wf_noinline void leave(weft_case *k, weft_case *end, weft_case *won)
{
	for (; k != end; k++) {
		weft_chan *c = k->obj;

		if (k == won)
			continue;
		if (wf_unlikely(k->op != WEFT_RECV || c == NULL ||
			    !wf_spin_try(&c->lock))) {
			leave_slow(k, end, won);
			return;
		}
		wf_chan_delist_locked(c, WF_CHAN_RECV, &room_of(k)->node);
	}
}

static void open_choice(struct choice *x, weft_case *cases, weft_case *end)
{
	x->cases = cases;
	x->end = end;
	x->listed = cases;
}

/* The wait for x is over as err says, and which case is done: *which. */
wf_inline int close_choice(struct choice *x, int err, weft_case **which)
{
	weft_case *k;

	if (wf_unlikely(err)) {
		leave(x->cases, x->listed, NULL);
		return err;
	}
	k = wf_container_of(x->waiter.won, weft_case, node_);
	leave(x->cases, x->listed, k);
	k->result = 0;
	if (wf_likely(is_of_chan(k)))
		k->result = room_of(k)->node.result;
	else if (k->op == WEFT_JOIN)
		wf_join_take(k->obj, k->value);
	*which = k;
	return 0;
}

/* Look, and do what is ready or wait, until a case is done. */
static wf_noinline int choose(weft_case *cases, size_t n, weft_time deadline)
{
	weft_case *end = cases + n, *k;
	struct choice x;
	uint32_t ready;
	int err;

	for (;;) {
		ready = look(cases, end);
		if (ready > 0) {
			k = room_of(&cases[draw(ready)])->ready;
			if (perform(k))
				return (int)(k - cases);
			continue;
		}
		if (deadline <= WEFT_NOW) {
			wf_wait_not();
			return -ETIMEDOUT;
		}
		open_choice(&x, cases, end);
		err = close_choice(&x,
			wf_wait(&x.waiter, commit, "select", cases, deadline),
			&k);
		if (err <= 0)
			return err ? err : (int)(k - cases);
	}
}

/* As choose, but k is ready, and no other. */
static wf_noinline int choose_only(
	weft_case *cases, size_t n, weft_time deadline, weft_case *k)
{
	if (wf_likely(perform(k)))
		return (int)(k - cases);
	return choose(cases, n, deadline);
}

/* As choose, but none is ready. */
static wf_return_by_jump wf_may_switch int choose_later(
	weft_case *cases, size_t n, weft_time deadline)
{
	struct choice x;
	weft_case *k;
	int err;

	if (wf_unlikely(deadline <= WEFT_NOW))
		return choose(cases, n, deadline);
	open_choice(&x, cases, cases + n);
	x.deadline = deadline;
	err = close_choice(&x,
		wf_wait_here(&x.waiter, commit, "select", cases, deadline), &k);
	if (wf_likely(err == 0))
		return (int)(k - x.cases);
	if (err < 0)
		return err;
	return choose(x.cases, (size_t)(x.end - x.cases), x.deadline);
}

/* The runtime of the fiber that k is to join, if it might go; or NULL. */
static struct weft_rt *rt_of(const weft_case *k, weft_fiber *self)
{
	struct weft_rt *rt;

	if (k->op != WEFT_JOIN || k->obj == NULL)
		return NULL;
	rt = wf_fiber_rt(k->obj);
	return rt->is_home || (self && wf_fiber_rt(self) == rt) ? NULL : rt;
}

/*
 * Some cases are joins.  As in weft_join, a runtime other than ours is held:
 * it may be stopped as soon as the fiber has ended, but not freed.
 */
static wf_noinline int choose_holding(
	weft_case *cases, size_t n, weft_time deadline)
{
	weft_fiber *self = weft_self();
	struct weft_rt *rt;
	size_t i;
	int err;

	for (i = 0; i < n; i++)
		if (cases[i].op == WEFT_JOIN && cases[i].obj == self && self)
			return -EDEADLK;
	for (i = 0; i < n; i++) {
		rt = rt_of(&cases[i], self);
		room_of(&cases[i])->held = rt;
		if (rt != NULL)
			wf_outside_enter(rt);
	}
	err = choose(cases, n, deadline);
	for (i = 0; i < n; i++)
		if ((rt = room_of(&cases[i])->held) != NULL)
			wf_outside_leave(rt);
	return err;
}

/* There are other cases than those of channels. */
static wf_noinline int choose_any(
	weft_case *cases, size_t n, weft_time deadline)
{
	bool joins = false;

	for (size_t i = 0; i < n; i++) {
		if (cases[i].op < WEFT_SEND || cases[i].op > WEFT_EVENT)
			return -EINVAL;
		joins |= cases[i].op == WEFT_JOIN;
	}
	if (joins)
		return choose_holding(cases, n, deadline);
	return choose(cases, n, deadline);
}

int weft_select(weft_case *cases, size_t n, weft_time deadline)
{
	weft_case *end = cases + n, *only = NULL;
	uint32_t ready = 0;

	if (wf_unlikely(n > INT_MAX))
		return -EINVAL;
	for (weft_case *k = cases; k != end; k++) {
		bool is;

		if (wf_unlikely(!is_of_chan(k)))
			return choose_any(cases, n, deadline);
		is = is_chan_ready(k);
		ready += is;
		only = is ? k : only;
	}
	if (ready == 0)
		return choose_later(cases, n, deadline);
	if (wf_likely(ready == 1))
		return choose_only(cases, n, deadline, only);
	return choose(cases, n, deadline);
}
