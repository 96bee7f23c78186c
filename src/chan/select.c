/* SPDX-License-Identifier: MIT */
/*
 * chan/select.c - doing the first of several things that can be done.
 *
 * A round is:
 *
 *	look	at every case, without a lock.  Of the cases that seem ready one
 *		is drawn, and done as a call of its own would do it.  It may
 *		have ceased to be ready; then look again.
 *	wait	if no case was ready.  Armed, the commit puts a node of each
 *		case into the list of its object, under the object's lock and
 *		only if it is still not ready; else it takes all back, and a new
 *		round begins.
 *	leave	all lists but that of the node that won.
 *
 * A waker that finds one of the nodes claims the waiter, and that decides: from
 * then on the select is done with this case, whatever else happens, so no
 * element and no wake is lost.  A waker that finds another node of it loses the
 * claim and goes on to the next in its list.
 *
 * Two selects that would meet may each find the other's node while they enlist,
 * and both take theirs back.  In the next round each tries to claim the other
 * first, and one of them is late.
 *
 * OPS says how each operation of a case does these steps.  The nodes lie in the
 * cases.  If several seem ready, the rooms of the first cases keep which.
 *
 * A select costs instructions, not so much the two locks for each case.  So the
 * usual select, of receives, in the first round, with all locks free, has
 * functions of its own, which call nothing else or end with a call.
 */
#include <errno.h>
#include <limits.h>

#include <weft/chan.h>

#include "base/random.h"
#include "chan/chan.h"
#include "life/join.h"
#include "sched/runtime.h"
#include "sync/event.h"
#include "wait/wait_inline.h"

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

/* ------------------------------------------------------------------------ */
/* The operations.  The object of the case is not NULL. */

struct ops {
	/* Does the case seem ready?  Without a lock. */
	bool (*look)(weft_case *k);
	/* Do it, if it is ready: its result; -EAGAIN: it is not. */
	int (*perform)(weft_case *k);
	/* Put its node into the list of the object; false: it is ready. */
	bool (*enlist)(weft_case *k, struct wf_chan_node *n);
	/* Take the node out again, if it is still in. */
	void (*delist)(weft_case *k, struct wf_chan_node *n);
	/* Its node won: finish it; NULL: there is nothing to do. */
	void (*take)(weft_case *k);
};

wf_inline enum wf_side side_of(const weft_case *k)
{
	return (enum wf_side)(k->op - WEFT_SEND);
}

static bool chan_look(weft_case *k)
{
	return wf_chan_is_ready(k->obj, side_of(k));
}

static int chan_perform(weft_case *k)
{
	return wf_chan_try(k->obj, side_of(k), k->value);
}

static bool chan_enlist(weft_case *k, struct wf_chan_node *n)
{
	return wf_chan_enlist(k->obj, side_of(k), n);
}

static void chan_delist(weft_case *k, struct wf_chan_node *n)
{
	wf_chan_delist(k->obj, side_of(k), n);
}

static bool join_look(weft_case *k)
{
	return wf_join_look(k->obj);
}

static void join_take(weft_case *k)
{
	struct wf_thread *t = wf_enter();

	wf_join_take(k->obj, k->value);
	wf_leave(t);
}

static int join_perform(weft_case *k)
{
	join_take(k);
	wf_end_call();
	return 0;
}

static bool join_enlist(weft_case *k, struct wf_chan_node *n)
{
	return wf_join_enlist(k->obj, &n->node);
}

static void join_delist(weft_case *k, struct wf_chan_node *n)
{
	(void)wf_join_delist(k->obj, &n->node);
}

static bool event_look(weft_case *k)
{
	return wf_event_look(k->obj);
}

static int event_perform(weft_case *k)
{
	(void)k;
	wf_end_call();
	return 0;
}

static bool event_enlist(weft_case *k, struct wf_chan_node *n)
{
	return wf_event_enlist(k->obj, &n->node);
}

static void event_delist(weft_case *k, struct wf_chan_node *n)
{
	wf_event_delist(k->obj, &n->node);
}

static const struct ops ops[] = {
	[WEFT_SEND] = { chan_look, chan_perform, chan_enlist, chan_delist,
		NULL },
	[WEFT_RECV] = { chan_look, chan_perform, chan_enlist, chan_delist,
		NULL },
	[WEFT_JOIN] = { join_look, join_perform, join_enlist, join_delist,
		join_take },
	[WEFT_EVENT] = { event_look, event_perform, event_enlist, event_delist,
		NULL },
};

/* ------------------------------------------------------------------------ */
/* Look. */

/* How many cases seem ready; the rooms of the first cases keep which. */
static uint32_t look(weft_case *cases, weft_case *end)
{
	uint32_t ready = 0;

	for (weft_case *k = cases; k != end; k++)
		if (k->obj != NULL && ops[k->op].look(k))
			room_of(&cases[ready++])->ready = k;
	return ready;
}

/* A number below n, for any caller. */
static wf_noinline size_t draw(uint32_t n)
{
	static _Atomic(uint64_t) outside; /* callers without a processor */
	struct wf_thread *t = wf_enter();
	struct wf_random random;
	size_t drawn;

	if (t != NULL && !t->foreign) {
		drawn = wf_random_below(&t->proc->random, n);
	} else {
		wf_random_seed(&random, wf_add_rlx(&outside, 1) << 32);
		drawn = wf_random_below(&random, n);
	}
	wf_leave(t);
	return drawn;
}

/* ------------------------------------------------------------------------ */
/* Wait. */

wf_inline void open_node(
	struct wf_chan_node *n, weft_case *k, struct wf_waiter *w)
{
	n->node.waiter = w;
	n->value = k->value;
	n->result = 0;
}

/* Enlist a receive, if its channel is not ready and the lock is free. */
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
	open_node(n, k, w);
	wf_chan_enlist_locked(c, WF_CHAN_RECV, n);
	return true;
}

/* The waiter being armed: enlist the cases from k on. */
static wf_noinline bool commit_from(struct choice *x, weft_case *k)
{
	for (; k != x->end; k++) {
		struct wf_chan_node *n = &room_of(k)->node;

		if (k->obj == NULL)
			continue;
		open_node(n, k, &x->waiter);
		if (!ops[k->op].enlist(k, n))
			break;
	}
	x->listed = k;
	return k == x->end ? wf_waiter_settle(&x->waiter)
			   : wf_waiter_disarm(&x->waiter);
}

static wf_noinline bool commit_any(struct choice *x)
{
	return wf_waiter_arm(&x->waiter) && commit_from(x, x->cases);
}

/*
 * The likely way calls nothing, so that no register has to be saved on the
 * stack of the next fiber.
 */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct choice *x = (struct choice *)a;
	struct wf_waiter *w = &x->waiter;
	weft_case *k = x->cases, *end = x->end;
	uint64_t seen = w->wait | WF_WAIT_ARMED;

	if (wf_unlikely(!wf_waiter_is_plain(w)))
		return commit_any(x);
	if (wf_unlikely(!wf_waiter_begin(w, WF_WAIT_ARMED, false)))
		return wf_waiter_cancel(w, WF_WAIT_ARMED);
	for (; k != end; k++)
		if (wf_unlikely(!enlist_fast(k, w)))
			return commit_from(x, k);
	x->listed = end;
	/* [pair: fiber.wake] A claimer finds the fiber off its stack. */
	return wf_cas_rel(&f->wait, &seen, w->wait | WF_WAIT_SETTLED);
}

static wf_noinline void leave_any(weft_case *k, weft_case *end, weft_case *won)
{
	for (; k != end; k++)
		if (k != won && k->obj != NULL)
			ops[k->op].delist(k, &room_of(k)->node);
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
			leave_any(k, end, won);
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

/* The wait for x is over as err says; *which is the case that is done. */
wf_inline int close_choice(struct choice *x, int err, weft_case **which)
{
	weft_case *k;

	if (wf_unlikely(err)) {
		leave(x->cases, x->listed, NULL);
		return err;
	}
	k = wf_container_of(x->waiter.won, weft_case, node_);
	leave(x->cases, x->listed, k);
	k->result = room_of(k)->node.result;
	if (wf_unlikely(ops[k->op].take != NULL))
		ops[k->op].take(k);
	*which = k;
	return 0;
}

/* ------------------------------------------------------------------------ */
/* Choose. */

/* Look, and do a case that is ready or wait, until a case is done. */
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
			err = ops[k->op].perform(k);
			if (err == -EAGAIN)
				continue;
			k->result = err;
			return (int)(k - cases);
		}
		if (deadline <= WEFT_NOW) {
			wf_end_call();
			return -ETIMEDOUT;
		}
		open_choice(&x, cases, end);
		(void)wf_enter();
		err = wf_wait(&x.waiter, commit, "select", cases, deadline);
		wf_leave_here();
		err = close_choice(&x, err, &k);
		if (err <= 0)
			return err ? err : (int)(k - cases);
	}
}

/* choose, when k, a case of a channel, is ready, and no other case. */
static wf_noinline int choose_only(
	weft_case *cases, size_t n, weft_time deadline, weft_case *k)
{
	int result = wf_chan_try(k->obj, side_of(k), k->value);

	if (wf_unlikely(result == -EAGAIN))
		return choose(cases, n, deadline);
	k->result = result;
	return (int)(k - cases);
}

/* choose, when no case is ready. */
static wf_return_by_jump wf_may_switch int choose_later(
	weft_case *cases, size_t n, weft_time deadline)
{
	struct wf_thread *t;
	struct choice x;
	weft_case *k;
	int err;

	if (wf_unlikely(deadline <= WEFT_NOW))
		return choose(cases, n, deadline);
	open_choice(&x, cases, cases + n);
	x.deadline = deadline;
	t = wf_enter();
	err = wf_wait_inline(&t, &x.waiter, commit, "select", cases, deadline);
	wf_leave(t);
	err = close_choice(&x, err, &k);
	if (wf_likely(err == 0))
		return (int)(k - x.cases);
	if (err < 0)
		return err;
	return choose(x.cases, (size_t)(x.end - x.cases), x.deadline);
}

/*
 * Some cases are joins.  As in weft_join, a runtime other than the caller's is
 * held: it may be stopped as soon as the fiber has ended, but not freed.
 */
static wf_noinline int choose_holding(
	weft_case *cases, size_t n, weft_time deadline)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *self = t ? t->current : NULL;
	struct weft_rt *rt;
	size_t i;
	int err;

	wf_leave(t);
	for (i = 0; i < n; i++)
		if (cases[i].op == WEFT_JOIN && cases[i].obj == self && self)
			return -EDEADLK;
	for (i = 0; i < n; i++) {
		rt = NULL;
		if (cases[i].op == WEFT_JOIN && cases[i].obj != NULL)
			rt = wf_join_hold(cases[i].obj, self);
		room_of(&cases[i])->held = rt;
	}
	err = choose(cases, n, deadline);
	for (i = 0; i < n; i++)
		if ((rt = room_of(&cases[i])->held) != NULL)
			wf_outside_leave(rt);
	return err;
}

/* Some cases are not of channels. */
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

		if (wf_unlikely(k->op != WEFT_RECV && k->op != WEFT_SEND))
			return choose_any(cases, n, deadline);
		is = k->obj != NULL && chan_look(k);
		ready += is;
		only = is ? k : only;
	}
	if (ready == 0)
		return choose_later(cases, n, deadline);
	if (wf_likely(ready == 1))
		return choose_only(cases, n, deadline, only);
	return choose(cases, n, deadline);
}
