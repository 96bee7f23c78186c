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
 * The nodes lie in the cases.  During the look the room of the first ones is
 * where the numbers of those that seem ready are kept.
 */
#include <errno.h>
#include <limits.h>

#include <weft/chan.h>

#include "base/random.h"
#include "chan/chan.h"
#include "sched/join.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "sync/event.h"

/* What node_ of a case holds. */
struct room {
	union {
		struct wf_chan_node node; /* during the wait */
		size_t ready;		  /* the look: see above */
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
	size_t n;
	size_t listed; /* so many cases, from the first, were enlisted */
};

static struct room *room_of(weft_case *k)
{
	return (struct room *)k->node_;
}

static enum wf_side side_of(const weft_case *k)
{
	return (enum wf_side)(k->op - WEFT_SEND);
}

/*
 * How many cases seem ready; their numbers are in the rooms of the first ones.
 * -EINVAL: there is one that is none.  While the runtimes of fibers are not
 * held, joins are only noticed.
 */
wf_inline int look(weft_case *cases, size_t n, bool holding, bool *joins)
{
	int ready = 0;

	for (size_t i = 0; i < n; i++) {
		weft_case *k = &cases[i];
		bool is;

		if (wf_likely(k->op == WEFT_RECV || k->op == WEFT_SEND)) {
			is = k->obj != NULL &&
				wf_chan_is_ready(k->obj, side_of(k));
		} else if (k->op == WEFT_EVENT) {
			is = k->obj != NULL && wf_event_look(k->obj);
		} else if (k->op == WEFT_JOIN) {
			is = k->obj != NULL && holding && wf_join_look(k->obj);
			*joins = true;
		} else {
			return -EINVAL;
		}
		if (is)
			room_of(&cases[ready++])->ready = i;
	}
	return ready;
}

/* Do k, which looked ready.  False: it is not. */
static bool perform(weft_case *k)
{
	int result = 0;

	if (k->op == WEFT_SEND || k->op == WEFT_RECV) {
		result = wf_chan_try(k->obj, side_of(k), k->value);
		if (result == -EAGAIN)
			return false;
	} else {
		if (k->op == WEFT_JOIN)
			wf_join_take(k->obj, k->value);
		wf_wait_not();
	}
	k->result = result;
	return true;
}

/* A number below n, for any caller. */
static size_t draw(uint32_t n)
{
	static _Atomic(uint64_t) outside; /* who has no processor */
	struct wf_thread *t = wf_enter();
	struct wf_random random;

	if (t != NULL && !t->visitor)
		return wf_random_below(&t->proc->random, n);
	wf_random_seed(&random, wf_add_rlx(&outside, 1) << 32);
	return wf_random_below(&random, n);
}

static bool enlist(weft_case *k, struct wf_waiter *w)
{
	struct wf_chan_node *n = &room_of(k)->node;

	if (k->obj == NULL)
		return true;
	n->node.waiter = w;
	n->value = k->value;
	n->result = 0;
	if (wf_likely(k->op == WEFT_RECV))
		return wf_chan_enlist(k->obj, WF_CHAN_RECV, n);
	if (k->op == WEFT_SEND)
		return wf_chan_enlist(k->obj, WF_CHAN_SEND, n);
	if (k->op == WEFT_EVENT)
		return wf_event_enlist(k->obj, &n->node);
	return wf_join_enlist(k->obj, &n->node);
}

/* It did not win. */
static void delist(weft_case *k)
{
	struct wf_chan_node *n = &room_of(k)->node;

	if (k->obj == NULL)
		return;
	if (wf_likely(k->op == WEFT_RECV))
		wf_chan_delist(k->obj, WF_CHAN_RECV, n);
	else if (k->op == WEFT_SEND)
		wf_chan_delist(k->obj, WF_CHAN_SEND, n);
	else if (k->op == WEFT_EVENT)
		wf_event_delist(k->obj, &n->node);
	else
		(void)wf_join_delist(k->obj, &n->node);
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct choice *x = (struct choice *)a;

	(void)f;
	if (!wf_waiter_arm(&x->waiter))
		return false;
	for (; x->listed < x->n; x->listed++)
		if (!enlist(&x->cases[x->listed], &x->waiter))
			return wf_waiter_disarm(&x->waiter);
	return wf_waiter_settle(&x->waiter);
}

/* Wait for a case to be done: *which.  1: look again. */
static wf_noinline int wait(
	weft_case *cases, size_t n, weft_time deadline, size_t *which)
{
	struct choice x = { .cases = cases, .n = n };
	int err = wf_wait(&x.waiter, commit, "select", cases, deadline);
	struct wf_node *won = err == 0 ? x.waiter.won : NULL;
	weft_case *k;

	for (size_t i = 0; i < x.listed; i++)
		if (&room_of(&cases[i])->node.node != won)
			delist(&cases[i]);
	if (err)
		return err;
	k = wf_container_of(won, weft_case, node_);
	k->result = 0;
	if (k->op == WEFT_JOIN)
		wf_join_take(k->obj, k->value);
	else if (k->op != WEFT_EVENT)
		k->result = room_of(k)->node.result;
	*which = (size_t)(k - cases);
	return 0;
}

/* Go on after a look at the cases, ready of which seem ready. */
wf_inline int choose(
	weft_case *cases, size_t n, weft_time deadline, int ready, bool holding)
{
	bool joins;

	for (;; ready = look(cases, n, holding, &joins)) {
		size_t which;
		int err;

		if (wf_likely(ready > 0)) {
			which = ready > 1 ? draw((uint32_t)ready) : 0;
			which = room_of(&cases[which])->ready;
			if (perform(&cases[which]))
				return (int)which;
			continue;
		}
		if (deadline <= WEFT_NOW) {
			wf_wait_not();
			return -ETIMEDOUT;
		}
		err = wait(cases, n, deadline, &which);
		if (err <= 0)
			return err ? err : (int)which;
	}
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
	bool joins;
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
	err = choose(cases, n, deadline, look(cases, n, true, &joins), true);
	for (i = 0; i < n; i++)
		if ((rt = room_of(&cases[i])->held) != NULL)
			wf_outside_leave(rt);
	return err;
}

int weft_select(weft_case *cases, size_t n, weft_time deadline)
{
	bool joins = false;
	int ready;

	if (wf_unlikely(n > INT_MAX))
		return -EINVAL;
	ready = look(cases, n, false, &joins);
	if (wf_unlikely(ready < 0))
		return ready;
	if (wf_unlikely(joins))
		return choose_holding(cases, n, deadline);
	return choose(cases, n, deadline, ready, false);
}
