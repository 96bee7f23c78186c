/* SPDX-License-Identifier: MIT */
/*
 * life/scope.c - scopes: trees of fibers, cancelled and awaited as one.
 *
 * A scope lies in a frame of its OWNER, a fiber.  All scopes that a fiber has
 * open are a chain from f->scopes, the innermost, outwards.  A MEMBER is a
 * fiber started in a scope; from its first instruction to its last it is in the
 * scope's list, by a node in its own frame.
 *
 * The owner's scope_lock guards its chain and the scopes in it.  The lock lies
 * in a descriptor, not in the scope: so an unlock never touches a scope that is
 * gone.  No thread holds two of these locks at once.
 *
 *	(S1) count is how many members, started or not, and cancellers use the
 *	     scope.  The scope leaves its chain only when count is 0.
 *	(S2) CANCELLED is set once, by one canceller, which also adds to count
 *	     and may use next and cursor until it subtracts again.
 *	(S3) All fibers and scopes inside a cancelled scope are cancelled too,
 *	     or a canceller is on its way to them; but not a SHELTERED scope
 *	     and all inside it.
 *
 * A cancellation goes down the tree without recursion: the canceller has a list
 * of scopes that it has seized, and adds the scopes it finds below at the end.
 *
 *	canceller			the other fibers
 *	  CANCELLED, count + 1		  open: into the chain; then is the
 *	  each member: mark, and	    fiber cancelled?  CANCELLED
 *	    its scopes into the list	  start: into the list; CANCELLED?  mark
 *	  fence, once			  wait: marked?  the wait is refused
 *	  each member: end its wait	  end: out of the list
 *	  count - 1			  close: count 0: out of the chain
 *
 * The canceller looks at a member's chain without holding on to the member.
 * The member may have ended, and its descriptor may be another fiber.  But then
 * its `member' is another scope, or NULL, for any thread that sees a scope in
 * the new chain: the lock that guards the chain was released after that.
 *
 * Deadlines need nothing of this: each wait of a fiber ends at the fiber's
 * limit (wait/wait.c).  The owner's limit is that of its innermost scope.
 *
 * Reads next: life/cancel.c
 */
#include "life/scope.h"

#include <errno.h>

#include <weft/scope.h>

#include "base/assert.h"
#include "os/os.h"
#include "os/spin.h"
#include "life/finish.h"
#include "life/spawn.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "wait/cancel.h"
#include "wait/wait.h"

#define WF_SCOPE_CANCELLED 1u
#define WF_SCOPE_SHELTERED 2u /* cancelling an outer scope stops here */

struct member {
	weft_fiber *fiber;
	struct member *next;
	struct member *prev;
};

struct wf_scope {
	/* Fixed while it is open. */
	weft_fiber *owner;	/* NULL: closed */
	struct wf_scope *outer; /* the next in the chain */
	weft_time limit;	/* its deadline; FOREVER: none */
	weft_time outer_limit;	/* the owner's limit before */

	/* By the owner's scope_lock. */
	struct member *members; /* that have started, latest first */
	struct member *cursor;	/* where its canceller goes on */
	struct wf_scope *next;	/* its canceller's list */
	struct wf_list closer;	/* the owner, waiting in close */
	uint64_t count;		/* (S1) */
	uint32_t flags;
	int error; /* the first that is not 0 */
};

_Static_assert(sizeof(weft_scope) == 128, "weft_scope is part of the ABI");
_Static_assert(sizeof(struct wf_scope) <= sizeof(weft_scope), "too large");

/* The scopes that one canceller has seized, in order. */
struct seized {
	struct wf_scope *first;
	struct wf_scope **end;
};

static bool has_passed(weft_time limit)
{
	return limit != WEFT_FOREVER && (limit <= 0 || limit <= wf_os_now_ns());
}

/* The deadline of f, its own or inherited. */
static weft_time limit_of(weft_fiber *f)
{
	return f->own & WF_OWN_LIMIT ? f->limit : WEFT_FOREVER;
}

static void set_limit(weft_fiber *f, weft_time limit)
{
	f->limit = limit;
	f->own &= ~WF_OWN_LIMIT;
	if (limit != WEFT_FOREVER)
		f->own |= WF_OWN_LIMIT;
}

/* ------------------------------------------------------------------------ */
/* Cancelling. */

/* Holding the owner's lock: cancel s, which is not cancelled yet. */
static void seize(struct seized *c, struct wf_scope *s)
{
	s->flags |= WF_SCOPE_CANCELLED;
	s->count++;
	s->next = NULL;
	*c->end = s;
	c->end = &s->next;
}

/* Holding f's lock: seize the scopes inside end that are not sheltered. */
static void seize_until(
	struct seized *c, weft_fiber *f, const struct wf_scope *end)
{
	struct wf_scope *first = f->scopes, *s;

	for (s = first; s != end; s = s->outer)
		if (s->flags & WF_SCOPE_SHELTERED)
			first = s->outer;
	for (s = first; s != end; s = s->outer)
		if (!(s->flags & WF_SCOPE_CANCELLED))
			seize(c, s);
}

/* A member or canceller lets go of s, and does not touch it again. */
static void let_go(struct wf_scope *s)
{
	weft_fiber *owner = s->owner;
	struct wf_node *closer = NULL;

	wf_spin_lock(&owner->scope_lock);
	if (--s->count == 0)
		closer = wf_list_claim(&s->closer);
	wf_spin_unlock(&owner->scope_lock);
	if (closer != NULL)
		wf_waiter_wake(closer->waiter, WEFT_HINT_NEXT);
}

/* The next member of s; the first if *begun is false. */
static struct member *step(struct wf_scope *s, bool *begun)
{
	struct member *m = *begun ? s->cursor : s->members;

	*begun = true;
	s->cursor = m ? m->next : NULL;
	return m;
}

/* Mark all members of s, and seize the scopes they have open. */
static void mark_members(struct seized *c, struct wf_scope *s)
{
	struct wf_spin *lock = &s->owner->scope_lock;
	bool begun = false;
	struct member *m;
	weft_fiber *f;

	for (;;) {
		wf_spin_lock(lock);
		m = step(s, &begun);
		f = m ? m->fiber : NULL;
		if (f != NULL)
			wf_cancel_mark(f, WF_CANCEL_MEMBER);
		wf_spin_unlock(lock);
		if (f == NULL)
			return;
		wf_spin_lock(&f->scope_lock);
		if (wf_load_rlx(&f->member) == s)
			seize_until(c, f, NULL);
		wf_spin_unlock(&f->scope_lock);
	}
}

/* End the waits of all members of s. */
static void wake_members(struct wf_scope *s)
{
	struct wf_spin *lock = &s->owner->scope_lock;
	bool begun = false, claimed;
	struct member *m;
	weft_fiber *f;

	for (;;) {
		wf_spin_lock(lock);
		m = step(s, &begun);
		f = m ? m->fiber : NULL;
		claimed = f != NULL && wf_cancel_claim(f);
		wf_spin_unlock(lock);
		if (f == NULL)
			return;
		if (claimed)
			wf_make_ready(f, WEFT_HINT_DEFAULT);
	}
}

/* Cancel all members of the seized scopes; end the wait of top too. */
static void spread(struct seized *c, weft_fiber *top)
{
	struct wf_scope *s, *next;

	for (s = c->first; s != NULL; s = s->next)
		mark_members(c, s);
	wf_cancel_fence(wf_fiber_rt(top));
	wf_cancel_wake(top);
	for (s = c->first; s != NULL; s = s->next)
		wake_members(s);
	for (s = c->first; s != NULL; s = next) {
		next = s->next;
		let_go(s);
	}
}

void wf_scope_cancel_of(weft_fiber *f, uint32_t bit)
{
	struct seized c = { .end = &c.first };

	wf_cancel_mark(f, bit);
	wf_spin_lock(&f->scope_lock);
	seize_until(&c, f, NULL);
	wf_spin_unlock(&f->scope_lock);
	spread(&c, f);
}

/*
 * Holding its owner's lock: seize s, and all scopes that the owner has opened
 * in it; false: s was cancelled before.
 */
static bool begin_cancel(struct seized *c, struct wf_scope *s)
{
	if (s->flags & WF_SCOPE_CANCELLED)
		return false;
	wf_cancel_mark(s->owner, WF_CANCEL_SCOPE);
	seize_until(c, s->owner, s);
	seize(c, s);
	return true;
}

void weft_scope_cancel(weft_scope *scope)
{
	struct wf_scope *s = (struct wf_scope *)scope;
	struct seized c = { .end = &c.first };
	struct wf_thread *t = wf_enter();
	weft_fiber *owner = s->owner;
	bool first;

	wf_assert(owner != NULL, "weft_scope_cancel: scope %p is not open",
		(void *)s);
	wf_spin_lock(&owner->scope_lock);
	first = begin_cancel(&c, s);
	wf_spin_unlock(&owner->scope_lock);
	if (first)
		spread(&c, owner);
	wf_leave(t);
}

/* ------------------------------------------------------------------------ */
/* Members. */

/* The running fiber f begins in s. */
static void enter(struct wf_scope *s, struct member *m, weft_fiber *f)
{
	weft_fiber *owner = s->owner;
	bool cancelled;

	set_limit(f, s->limit);
	*m = (struct member){ .fiber = f };
	wf_spin_lock(&owner->scope_lock);
	m->next = s->members;
	if (m->next != NULL)
		m->next->prev = m;
	s->members = m;
	cancelled = s->flags & WF_SCOPE_CANCELLED;
	wf_spin_unlock(&owner->scope_lock);
	if (cancelled)
		wf_cancel_mark(f, WF_CANCEL_MEMBER);
}

/* The member m of s ends, with result; s is not touched afterwards. */
static void leave(struct wf_scope *s, struct member *m, int result)
{
	struct seized c = { .end = &c.first };
	weft_fiber *owner = s->owner;
	bool first = false;

	wf_spin_lock(&owner->scope_lock);
	if (m->prev != NULL)
		m->prev->next = m->next;
	else
		s->members = m->next;
	if (m->next != NULL)
		m->next->prev = m->prev;
	if (s->cursor == m)
		s->cursor = m->next;
	if (result != 0 && s->error == 0) {
		s->error = result;
		first = begin_cancel(&c, s);
	}
	wf_spin_unlock(&owner->scope_lock);
	if (first)
		spread(&c, owner);
	let_go(s);
}

/* The function of a member's fiber; the user's function is its entry. */
static void member_run(void *arg)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t->current;
	int (*fn)(void *) = (int (*)(void *))wf_load_rlx(&f->entry);
	struct wf_scope *s = wf_load_rlx(&f->member);
	struct member m;
	int result;

	enter(s, &m, f);
	wf_leave(t);
	result = fn(arg);
	(void)wf_enter();
	wf_finish_user(f);
	leave(s, &m, result);
	wf_leave_here();
}

/* Is f the owner of s, or in it, or in a scope that is? */
static bool is_inside(weft_fiber *f, const struct wf_scope *s)
{
	struct wf_scope *in;

	if (f == s->owner)
		return true;
	for (in = wf_load_rlx(&f->member); in != NULL;
		in = wf_load_rlx(&in->owner->member))
		if (in == s)
			return true;
	return false;
}

/* Add a member that has not started to s; false: s is cancelled. */
static bool add_member(struct wf_scope *s)
{
	struct wf_spin *lock = &s->owner->scope_lock;
	bool cancelled;

	wf_spin_lock(lock);
	cancelled = s->flags & WF_SCOPE_CANCELLED;
	if (!cancelled)
		s->count++;
	wf_spin_unlock(lock);
	return !cancelled;
}

static int start(
	struct wf_scope *s, weft_fiber *f, int (*fn)(void *), void *arg)
{
	int err;

	wf_assert(s->owner != NULL, "weft_scope_go: scope %p is not open",
		(void *)s);
	if (fn == NULL)
		return -EINVAL;
	if (f == NULL || !is_inside(f, s))
		return -EPERM;
	if (!add_member(s))
		return -ECANCELED;
	err = has_passed(s->limit) ? -ETIMEDOUT : 0;
	if (!err)
		err = wf_spawn_member(s, member_run, (void *)fn, arg);
	if (err)
		let_go(s);
	return err;
}

int weft_scope_go(weft_scope *scope, int (*fn)(void *), void *arg)
{
	struct wf_thread *t = wf_enter();
	int err = start((struct wf_scope *)scope, t ? t->current : NULL, fn,
		arg);

	wf_leave(t);
	return err;
}

/* ------------------------------------------------------------------------ */
/* The owner. */

static weft_time earlier(weft_time a, weft_time b)
{
	return a < b ? a : b;
}

/* f opens a scope: is it the outermost under the present shield? */
static bool shelter(weft_fiber *f)
{
	if ((f->own & (WF_OWN_SHIELD | WF_OWN_SHELTER)) != WF_OWN_SHIELD)
		return false;
	f->own |= WF_OWN_SHELTER;
	return true;
}

/* Holding the lock: is a scope or fiber around s cancelled, and s with it? */
static bool is_born_cancelled(weft_fiber *f, const struct wf_scope *s)
{
	if (wf_fiber_is_canceled(f))
		return true;
	return s->outer != NULL && (s->outer->flags & WF_SCOPE_CANCELLED) &&
		!(s->flags & WF_SCOPE_SHELTERED);
}

static void open_scope(weft_fiber *f, struct wf_scope *s, weft_time deadline)
{
	weft_time outer;

	wf_fiber_use(f);
	*s = (struct wf_scope){
		.owner = f,
		.outer = f->scopes,
		.outer_limit = limit_of(f),
		.flags = shelter(f) ? WF_SCOPE_SHELTERED : 0,
	};
	outer = s->outer ? s->outer->limit : s->outer_limit;
	if (s->flags & WF_SCOPE_SHELTERED)
		outer = WEFT_FOREVER;
	s->limit = earlier(deadline, outer);
	set_limit(f, earlier(deadline, s->outer_limit));
	wf_spin_lock(&f->scope_lock);
	if (is_born_cancelled(f, s))
		s->flags |= WF_SCOPE_CANCELLED;
	f->scopes = s;
	wf_spin_unlock(&f->scope_lock);
}

int weft_scope_open(weft_scope *scope, weft_time deadline)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t ? t->current : NULL;

	if (f != NULL)
		open_scope(f, (struct wf_scope *)scope, deadline);
	wf_leave(t);
	return f != NULL ? 0 : -EPERM;
}

/* Take s out of the chain; false: members or cancellers still use it. */
static bool take_out(weft_fiber *f, struct wf_scope *s)
{
	struct wf_scope *outer = s->outer;

	wf_spin_lock(&f->scope_lock);
	if (s->count != 0) {
		wf_spin_unlock(&f->scope_lock);
		return false;
	}
	f->scopes = outer;
	while (outer != NULL && !(outer->flags & WF_SCOPE_CANCELLED))
		outer = outer->outer;
	if (outer == NULL && wf_load_rlx(&f->cancel) & WF_CANCEL_SCOPE)
		(void)wf_and_rlx(&f->cancel, ~WF_CANCEL_SCOPE);
	wf_spin_unlock(&f->scope_lock);
	return true;
}

/* The owner, closing a scope. */
struct closer {
	struct wf_waiter waiter; /* must be first */
	struct wf_node node;
};

static bool close_commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct closer *w = (struct closer *)a;
	struct wf_scope *s = f->scopes;
	bool waits;

	wf_spin_lock(&f->scope_lock);
	waits = s->count != 0;
	if (waits) {
		wf_list_add(&s->closer, &w->node);
		waits = wf_waiter_publish(&w->waiter);
		if (!waits)
			wf_list_remove(&s->closer, &w->node);
	}
	wf_spin_unlock(&f->scope_lock);
	return waits;
}

static void check_close(weft_fiber *f, struct wf_scope *s)
{
	struct wf_scope *other = f ? f->scopes : NULL;

	while (other != NULL && other != s)
		other = other->outer;
	wf_assert(other != NULL,
		"weft_scope_close: scope %p is not open in this fiber",
		(void *)s);
	wf_assert(f->scopes == s,
		"weft_scope_close: the caller closes scope %p before scope %p, "
		"which it opened later",
		(void *)s, (void *)f->scopes);
}

static int outcome(weft_fiber *f, const struct wf_scope *s)
{
	struct weft_rt *rt = wf_fiber_rt(f);

	if (s->error != 0)
		return s->error;
	if ((s->flags & WF_SCOPE_CANCELLED) || wf_load_rlx(&rt->stopping))
		return -ECANCELED;
	return has_passed(s->limit) ? -ETIMEDOUT : 0;
}

static wf_may_switch int close_scope(weft_fiber *f, struct wf_scope *s)
{
	bool waited = false;
	struct closer w;

	check_close(f, s);
	wf_node_open(&w.node, &w.waiter);
	while (!take_out(f, s))
		if (wf_wait_shielded(&w.waiter, close_commit, "scope", s) == 0)
			waited = true;
	if (!waited)
		wf_budget_spend();
	set_limit(f, s->outer_limit);
	if (s->flags & WF_SCOPE_SHELTERED)
		f->own &= ~WF_OWN_SHELTER;
	s->owner = NULL;
	return outcome(f, s);
}

int weft_scope_close(weft_scope *scope)
{
	struct wf_thread *t = wf_enter();
	int err = close_scope(
		t ? t->current : NULL, (struct wf_scope *)scope);

	wf_leave_here();
	return err;
}
