/* SPDX-License-Identifier: MIT */
/*
 * tests/wait/wait_test.c - exactly one claimer ends a wait, and the waiter
 * learns which kind it was; a claimed waiter goes on only when it is woken; a
 * wait on several objects ends by one of them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "os/os.h"
#include "os/spin.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "wait/cancel.h"
#include "wait/wait_inline.h"
#include "stress/sched_kit.h"

enum { NODES = 3 };

/* An object, and a wait on it; or on several of its nodes at once. */
static struct {
	struct wf_spin lock;
	struct wf_list list;
} object;

struct wait {
	struct wf_waiter w; /* must be first */
	struct wf_node own; /* if it has one */
	struct wf_node node[NODES];
	void (*during)(struct wait *w); /* in commit; may be NULL */
	bool refuse;
	unsigned commits;
};

static void during(struct wait *w)
{
	w->commits++;
	if (w->during != NULL)
		w->during(w);
}

/* One node, as most do it. */
static bool commit_one(struct weft_awaiter *a, weft_fiber *f)
{
	struct wait *w = (struct wait *)a;
	struct wf_node *n = &w->own;
	bool parked = false;

	kit_expect(f == w->w.fiber && n->waiter == &w->w);
	kit_expect(weft_self() == NULL);
	wf_spin_lock(&object.lock);
	during(w);
	if (!w->refuse) {
		wf_list_add(&object.list, n);
		parked = wf_waiter_publish(&w->w);
		if (!parked)
			wf_list_remove(&object.list, n);
	}
	wf_spin_unlock(&object.lock);
	return parked;
}

/* Several, as a select does it. */
static bool commit_several(struct weft_awaiter *a, weft_fiber *f)
{
	struct wait *w = (struct wait *)a;

	(void)f;
	if (!wf_waiter_arm(&w->w))
		return false;
	wf_spin_lock(&object.lock);
	for (int i = 0; i < NODES; i++) {
		w->node[i].waiter = &w->w;
		wf_list_add(&object.list, &w->node[i]);
	}
	wf_spin_unlock(&object.lock);
	during(w);
	return w->refuse ? wf_waiter_disarm(&w->w) : wf_waiter_settle(&w->w);
}

static void leave(struct wf_node *n)
{
	wf_spin_lock(&object.lock);
	wf_list_leave(&object.list, n);
	wf_spin_unlock(&object.lock);
}

static void leave_all(struct wait *w)
{
	leave(&w->own);
	for (int i = 0; i < NODES; i++)
		leave(&w->node[i]);
	kit_expect(object.list.first == NULL && object.list.last == NULL);
}

/* Claim the first waiter, as a waker does; NULL: there was none. */
static struct wf_node *claim_first(void)
{
	struct wf_node *n;

	wf_spin_lock(&object.lock);
	n = wf_list_claim(&object.list);
	wf_spin_unlock(&object.lock);
	return n;
}

static bool wake_first(weft_hint hint)
{
	struct wf_node *n = claim_first();

	if (n != NULL)
		wf_waiter_wake(n->waiter, hint);
	return n != NULL;
}

static int wait_one(struct wait *w, weft_time deadline)
{
	int err;

	wf_node_open(&w->own, &w->w);
	err = wf_wait(&w->w, commit_one, "test", &object, deadline);

	kit_expect(err != 0 || w->w.won == &w->own);
	kit_expect(err != 0 || w->own.list == NULL);
	leave(&w->own);
	return err;
}

/* ------------------------------------------------------------------------ */
/* The list. */

static void check_list(struct wf_list *l, unsigned n, struct wf_node *const *at)
{
	struct wf_node *prev = NULL, *here = l->first;

	for (unsigned i = 0; i < n; i++, prev = here, here = here->next) {
		assert_ptr_equal(here, at[i]);
		assert_ptr_equal(here->prev, prev);
		assert_ptr_equal(here->list, l);
	}
	assert_null(here);
	assert_ptr_equal(l->last, prev);
}

static void the_list_keeps_its_order(void **state)
{
	struct wf_list l = { 0 };
	struct wf_node n[4] = { 0 };

	(void)state;
	check_list(&l, 0, NULL);
	for (int i = 0; i < 4; i++)
		wf_list_add(&l, &n[i]);
	check_list(&l, 4, (struct wf_node *[]){ &n[0], &n[1], &n[2], &n[3] });
	wf_list_remove(&l, &n[1]); /* from the middle */
	check_list(&l, 3, (struct wf_node *[]){ &n[0], &n[2], &n[3] });
	wf_list_remove(&l, &n[3]); /* the last */
	wf_list_leave(&l, &n[3]);  /* again: nothing */
	wf_list_leave(&l, &n[0]);  /* the first */
	check_list(&l, 1, (struct wf_node *[]){ &n[2] });
	wf_list_add(&l, &n[0]);
	wf_list_leave(&l, &n[2]);
	wf_list_leave(&l, &n[0]);
	check_list(&l, 0, NULL);
}

/* Waiters of threads that are not there. */
static void claims_skip_waiters_that_gave_up(void **state)
{
	struct wf_waiter w[5] = { 0 };
	struct wf_node node[5];
	struct wf_list l = { 0 };
	struct wf_claimed c;
	struct wf_node *n;

	(void)state;
	for (int i = 0; i < 5; i++) {
		wf_node_open(&node[i], &w[i]);
		wf_list_add(&l, &node[i]);
		if (i % 2 == 0)
			assert_false(wf_waiter_disarm(&w[i])); /* GONE */
	}
	n = wf_list_claim(&l);
	assert_ptr_equal(n, &node[1]);
	assert_ptr_equal(w[1].won, n);
	assert_null(node[0].list);
	check_list(&l, 3, (struct wf_node *[]){ &node[2], &node[3], &node[4] });
	wf_claimed_open(&c);
	wf_list_claim_all(&l, &c);
	assert_ptr_equal(c.others, &node[3]);
	assert_null(node[3].next);
	check_list(&l, 0, NULL);
	assert_null(wf_list_claim(&l));
	wf_claimed_open(&c);
	wf_list_claim_all(&l, &c);
	assert_null(c.others);
	/* All waiters that are left, each once. */
	for (int i = 0; i < 3; i++) {
		w[i] = (struct wf_waiter){ 0 };
		wf_list_add(&l, &node[i]);
	}
	wf_list_claim_all(&l, &c);
	n = c.others;
	for (int i = 2; i >= 0; i--, n = n->next) {
		assert_ptr_equal(n, &node[i]);
		assert_ptr_equal(w[i].won, n);
	}
	assert_null(n);
	assert_true(wf_batch_is_empty(&c.fibers));
	wf_claimed_wake(&c);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wf_load_rlx(&w[i].word), WF_WAITER_WOKEN);
}

/* ------------------------------------------------------------------------ */
/* Fibers that are claimed together. */

enum { MANY = 3 * WF_TRAIL_STEPS };

static struct {
	struct wf_spin lock;
	struct wf_list list;	 /* by lock */
	weft_fiber *order[MANY]; /* as they waited; by lock */
	size_t waits, runs;	 /* by lock */
} together;

struct member {
	struct wf_waiter w; /* must be first */
	struct wf_node node;
};

static bool commit_member(struct weft_awaiter *a, weft_fiber *f)
{
	struct member *m = (struct member *)a;
	bool waits;

	wf_spin_lock(&together.lock);
	wf_list_add(&together.list, &m->node);
	waits = wf_waiter_publish(&m->w);
	together.order[together.waits++] = f;
	wf_spin_unlock(&together.lock);
	return waits;
}

static void *wait_together(void *arg)
{
	struct member m;

	wf_node_open(&m.node, &m.w);
	kit_expect(wf_wait(&m.w, commit_member, "test", &together,
			   WEFT_FOREVER) == 0);
	wf_spin_lock(&together.lock);
	kit_expect(together.order[together.runs++] == weft_self());
	wf_spin_unlock(&together.lock);
	return arg;
}

static void *claim_together(void *arg)
{
	struct wf_claimed c;
	weft_fiber *f[MANY];

	for (int i = 0; i < MANY; i++)
		kit_expect(weft_spawn(&f[i], NULL, wait_together, NULL) == 0);
	while (together.waits < MANY)
		weft_yield();
	wf_claimed_open(&c);
	wf_spin_lock(&together.lock);
	wf_list_claim_all(&together.list, &c);
	wf_spin_unlock(&together.lock);
	kit_expect(together.list.first == NULL);
	kit_expect(c.fibers.count == MANY && c.others == NULL);
	for (int i = 0; i < MANY; i++)
		kit_expect(together.order[i]->ahead ==
			(i + WF_TRAIL_STEPS < MANY
					? together.order[i + WF_TRAIL_STEPS]
					: NULL));
	wf_claimed_wake(&c);
	for (int i = 0; i < MANY; i++)
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
	kit_expect(together.runs == MANY);
	return arg;
}

/* On one worker: they run in the order in which they waited. */
static void fibers_claimed_together_keep_their_order(void **state)
{
	(void)state;
	kit_play(claim_together, 1);
}

static void one_of_leave_and_disown_has_the_node(void **state)
{
	struct wf_waiter w = { 0 };
	struct wf_node node = { .waiter = &w }, *n = &node;

	(void)state;
	/* It leaves first; again it does not matter. */
	assert_true(wf_waiter_leave(&w));
	assert_false(wf_waiter_disown(n));
	assert_true(wf_waiter_leave(&w));
	/* It is disowned first. */
	w = (struct wf_waiter){ 0 };
	assert_true(wf_waiter_disown(n));
	assert_false(wf_waiter_leave(&w));
	assert_false(wf_waiter_disown(n));
}

/* ------------------------------------------------------------------------ */
/* Threads. */

static void claim_now(struct wait *w)
{
	struct wf_node *n = claim_first();

	kit_expect(n != NULL && n->waiter == &w->w);
	wf_waiter_wake(&w->w, WEFT_HINT_DEFAULT);
	kit_expect(!wf_waiter_claim(n));
}

static void a_thread_gives_up_for_good(void **state)
{
	struct wait w = { 0 };
	int64_t until;

	(void)state;
	/* It does not even try. */
	assert_int_equal(wait_one(&w, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(wait_one(&w, INT64_MIN), -ETIMEDOUT);
	assert_int_equal(wait_one(&w, weft_now()), -ETIMEDOUT);
	assert_int_equal(w.commits, 0);
	do {
		until = weft_after(2 * WF_NS_PER_MS);
		assert_int_equal(wait_one(&w, until), -ETIMEDOUT);
		assert_true(weft_now() >= until);
	} while (w.commits == 0);
	assert_false(wf_waiter_claim(&w.own));
	/* It looks again, and need not wait. */
	w.refuse = true;
	assert_int_equal(wait_one(&w, WEFT_FOREVER), 1);
	kit_settle();
}

static void a_thread_waits_on_several(void **state)
{
	struct wait w = { .during = claim_now };

	(void)state;
	/* Claimed while it is armed; and so it stays, if it disarms then. */
	for (int i = 0; i < 2; i++) {
		w.refuse = i;
		assert_int_equal(wf_wait(&w.w, commit_several, "test", &object,
					 WEFT_FOREVER),
			0);
		assert_ptr_equal(w.w.won, &w.node[0]);
		leave_all(&w);
	}
	/* Disarmed in time: it cannot be claimed. */
	w.during = NULL;
	assert_int_equal(
		wf_wait(&w.w, commit_several, "test", &object, WEFT_FOREVER),
		1);
	for (int i = 0; i < NODES; i++)
		assert_false(wf_waiter_claim(&w.node[i]));
	leave_all(&w);
	kit_settle();
}

static struct {
	struct wait wait;
	_Atomic(bool) there, released, early;
} held;

static void is_there(struct wait *w)
{
	(void)w;
	wf_store_rel(&held.there, true);
}

static void claimed_or_claimer(void *arg, unsigned i)
{
	struct wf_node *n;

	(void)arg;
	if (i == 0) {
		/* Its time is up long before it is woken. */
		int err = wait_one(&held.wait, weft_after(20 * WF_NS_PER_MS));

		kit_expect(err == 0 || !wf_load_rlx(&held.released));
		wf_store_rlx(
			&held.early, err == 0 && !wf_load_rlx(&held.released));
		return;
	}
	while (!wf_load_acq(&held.there))
		wf_os_thread_yield();
	n = claim_first();
	if (n == NULL)
		return; /* all is so slow that it has given up */
	kit_pause_us(40 * 1000);
	wf_store_rlx(&held.released, true);
	wf_waiter_wake(n->waiter, WEFT_HINT_DEFAULT);
}

static void a_claimed_thread_waits_until_it_is_woken(void **state)
{
	(void)state;
	held.wait.during = is_there;
	threads_run(2, claimed_or_claimer, NULL);
	assert_false(wf_load_rlx(&held.early));
	kit_settle();
}

static struct {
	_Atomic(size_t) go, done; /* rounds */
	_Atomic(bool) won;
	int64_t deadline;
	size_t rounds;
} race;

static void wait_or_wake(void *arg, unsigned i)
{
	size_t *ends = arg;

	for (size_t n = 1; n <= race.rounds; n++) {
		struct wait w = { 0 };
		int err;

		if (i == 0) {
			race.deadline = weft_after(20 * WF_NS_PER_US);
			wf_store_rel(&race.go, n);
			err = wait_one(&w, race.deadline);
			while (wf_load_acq(&race.done) != n)
				wf_os_thread_yield();
			kit_expect((err == 0) == wf_load_rlx(&race.won));
			kit_expect(err == 0 || err == -ETIMEDOUT);
			ends[err == 0]++;
			continue;
		}
		while (wf_load_acq(&race.go) != n)
			wf_os_thread_yield();
		while (weft_now() < race.deadline + (int64_t)(n % 60) * 1000)
			continue;
		wf_store_rlx(&race.won, wake_first(WEFT_HINT_DEFAULT));
		wf_store_rel(&race.done, n);
	}
}

static void a_deadline_and_a_wake_have_one_winner(void **state)
{
	size_t ends[2] = { 0 };

	(void)state;
	memset(&race, 0, sizeof(race));
	race.rounds = kit_rounds(2000);
	threads_run(2, wait_or_wake, ends);
	kit_settle();
	assert_int_equal(ends[0] + ends[1], race.rounds);
}

/* ------------------------------------------------------------------------ */
/* Fibers, every end of a wait. */

static struct {
	struct wait wait;
	weft_time deadline;
	bool shielded;
	int err;
} asleep;

static void *sleeper(void *arg)
{
	struct wait *w = &asleep.wait;
	weft_fiber *self = weft_self();

	wf_node_open(&w->own, &w->w);
	asleep.err = asleep.shielded
		? wf_wait_shielded(&w->w, commit_one, "test", &object)
		: wait_one(w, asleep.deadline);
	kit_expect(w->w.fiber == self);
	kit_expect(wf_load_rlx(&self->waits_for) == NULL);
	kit_expect(!(wf_load_rlx(&self->wait) & (WF_WAIT_EPOCH - 1)));
	if (w->commits > 0)
		kit_expect(!wf_waiter_claim(&w->own));
	leave_all(w);
	return arg;
}

enum how { WOKEN, CANCELLED, TIMED_OUT, BOTH, SHIELDED, HOWS };

/* Ends the wait; returns the result that the wait must have. */
static int end_it(weft_fiber *f, enum how how)
{
	struct wf_node *n;

	switch (how) {
	case WOKEN:
		kit_expect(wake_first(WEFT_HINT_NEXT));
		kit_expect(!wake_first(WEFT_HINT_NEXT));
		return 0;
	case CANCELLED:
		kit_expect(weft_cancel(f) == 0);
		kit_expect(!wf_waiter_claim(&asleep.wait.own));
		return -ECANCELED;
	case TIMED_OUT:
		(void)weft_sleep_until(asleep.deadline + WF_NS_PER_MS);
		return -ETIMEDOUT;
	case BOTH:
		/* Claimed, so that nothing else can end it. */
		n = claim_first();
		kit_expect(n == &asleep.wait.own);
		kit_expect(weft_cancel(f) == 0);
		weft_yield();
		kit_expect(wf_load_rlx(&f->waits_for) != NULL);
		wf_waiter_wake(n->waiter, WEFT_HINT_DEFAULT);
		return 0;
	default:
		kit_expect(weft_cancel(f) == 0);
		weft_yield();
		kit_expect(wf_load_rlx(&f->waits_for) != NULL);
		kit_expect(wake_first(WEFT_HINT_YIELD));
		return 0;
	}
}

static void *ends_of_others(void *arg)
{
	weft_fiber *f;

	(void)arg;
	for (enum how how = WOKEN; how < HOWS; how++) {
		weft_fiber_info info;
		int wanted;

		memset(&asleep, 0, sizeof(asleep));
		asleep.shielded = how == SHIELDED;
		asleep.deadline = how == TIMED_OUT
			? weft_after(2 * WF_NS_PER_MS)
			: WEFT_FOREVER;
		asleep.err = 12345;
		kit_expect(weft_spawn(&f, NULL, sleeper, NULL) == 0);
		while (asleep.wait.commits == 0 && asleep.err == 12345)
			weft_yield();
		weft_fiber_look(f, &info);
		if (how != TIMED_OUT) {
			kit_expect(info.state == WEFT_FIBER_WAITING);
			kit_expect(strcmp(info.waits_for, "test") == 0);
			kit_expect(info.waits_on == &object);
		}
		wanted = end_it(f, how);
		kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
		kit_expect(asleep.err == wanted);
	}
	return NULL;
}

static void cancel_now(struct wait *w)
{
	wf_cancel_mark(w->w.fiber, WF_CANCEL_SELF);
}

/*
 * A past deadline: commit is not called.  But a fiber that was stopped for
 * longer than its clock may lag does commit; so it has several goes.
 */
static bool past_is_past(struct wait *w)
{
	for (int i = 0; i < 50; i++) {
		unsigned before = w->commits;
		int err = wait_one(w, weft_now());

		if (err != 1)
			return err == -ETIMEDOUT && w->commits == before;
		w->commits = before;
		(void)weft_sleep(1); /* its processor looks at the clock */
	}
	return false;
}

/* What a fiber can do to its own wait, in its commit and before. */
static void *ends_of_my_own(void *arg)
{
	struct wait w = { .refuse = true };
	weft_fiber *self = weft_self();
	weft_rt *rt = arg;

	kit_expect(wait_one(&w, WEFT_FOREVER) == 1);
	kit_expect(wait_one(&w, WEFT_NOW) == -ETIMEDOUT);
	kit_expect(past_is_past(&w));
	kit_expect(w.commits == 1);
	/* Claimed while it is armed: it goes on by itself. */
	for (int i = 0; i < 2; i++) {
		w = (struct wait){ .during = claim_now, .refuse = i };
		kit_expect(wf_wait(&w.w, commit_several, "test", &object,
				   WEFT_FOREVER) == 0);
		kit_expect(w.w.won == &w.node[0]);
		leave_all(&w);
	}
	w = (struct wait){ .refuse = true };
	kit_expect(wf_wait(&w.w, commit_several, "test", &object,
			   WEFT_FOREVER) == 1);
	kit_expect(!wf_waiter_claim(&w.node[1]));
	leave_all(&w);
	/* Cancelled in the last moment. */
	w = (struct wait){ .during = cancel_now };
	kit_expect(wait_one(&w, WEFT_FOREVER) == -ECANCELED);
	kit_expect(w.commits == 1);
	/* And for good; but for what does not wait. */
	kit_expect(wait_one(&w, WEFT_FOREVER) == -ECANCELED);
	kit_expect(wait_one(&w, WEFT_NOW) == -ETIMEDOUT);
	kit_expect(wf_wait(&w.w, commit_several, "test", &object,
			   WEFT_FOREVER) == -ECANCELED);
	kit_expect(w.commits == 1);
	/* Unless it does not want to know. */
	weft_shield(true);
	do
		kit_expect(
			wait_one(&w, weft_after(WF_NS_PER_MS)) == -ETIMEDOUT);
	while (w.commits == 1);
	weft_shield(false);
	kit_expect(wf_fiber_is_canceled(self));
	weft_rt_shutdown(rt);
	kit_expect(wait_one(&w, WEFT_FOREVER) == -ECANCELED);
	return NULL;
}

static void begin_to_stop(struct wait *w)
{
	struct weft_rt *rt = wf_fiber_rt(w->w.fiber);

	wf_store_rlx(&rt->stopping, true);
}

/* A fiber that shutdown did not find is not cancelled, but may not wait. */
static void *not_found_by_shutdown(void *arg)
{
	struct wait w = { .during = begin_to_stop };
	struct weft_rt *rt = arg;

	kit_expect(wait_one(&w, WEFT_FOREVER) == -ECANCELED);
	kit_expect(w.commits == 1);
	kit_expect(wait_one(&w, WEFT_FOREVER) == -ECANCELED);
	kit_expect(wait_one(&w, WEFT_FOREVER - 1) == -ECANCELED);
	kit_expect(!wf_fiber_is_canceled(weft_self()));
	wf_store_rlx(&rt->stopping, false);
	w = (struct wait){ .refuse = true };
	kit_expect(wait_one(&w, WEFT_FOREVER) == 1);
	return NULL;
}

/* Its time may be up in each of many places; it is never so too early. */
static void *never_too_early(void *arg)
{
	for (int i = 0; i < 40; i++) {
		int64_t until = weft_after((int64_t)i * i * WF_NS_PER_US);
		struct wait w = { 0 };
		bool one = i % 2;
		int err;

		wf_node_open(&w.own, &w.w);
		err = wf_wait(&w.w, one ? commit_one : commit_several, "test",
			&object, until);
		kit_expect(err == -ETIMEDOUT && weft_now() >= until);
		leave_all(&w);
	}
	return arg;
}

static void every_wait_of_a_fiber_ends_as_it_should(void **state)
{
	(void)state;
	kit_play(ends_of_others, 1);
	kit_play(ends_of_my_own, 1);
	kit_play(not_found_by_shutdown, 1);
	kit_play(never_too_early, 1);
}

/* ------------------------------------------------------------------------ */
/* Fibers, several wakers at once, each by a node of its own. */

static struct {
	struct wait wait;
	_Atomic(size_t) round; /* that may be claimed */
	_Atomic(size_t) wins, tried;
	size_t rounds, by[NODES];
} crowd;

static void publish(struct wait *w)
{
	(void)w;
	wf_add_rel(&crowd.round, 1);
}

static void *wait_often(void *arg)
{
	struct wait *w = &crowd.wait;

	w->during = publish;
	for (size_t i = 1; i <= crowd.rounds; i++) {
		int err = wf_wait(
			&w->w, commit_several, "test", &object, WEFT_FOREVER);

		kit_expect(err == 0);
		crowd.by[w->w.won - w->node]++;
		/* The waiter stays until the last of them has looked at it. */
		while (wf_load_acq(&crowd.tried) != i * NODES)
			wf_os_thread_yield();
		kit_expect(wf_load_rlx(&crowd.wins) == i);
		leave_all(w);
	}
	return arg;
}

static void wake_often(void *arg, unsigned who)
{
	struct wf_node *n = &crowd.wait.node[who];

	(void)arg;
	for (size_t i = 1; i <= crowd.rounds; i++) {
		bool won;

		while (wf_load_acq(&crowd.round) < i)
			wf_os_thread_yield();
		wf_spin_lock(&object.lock);
		wf_list_leave(&object.list, n);
		won = wf_waiter_claim(n);
		wf_spin_unlock(&object.lock);
		if (won) {
			wf_add_rlx(&crowd.wins, 1);
			wf_waiter_wake(n->waiter, WEFT_HINT_DEFAULT);
		}
		wf_add_acqrel(&crowd.tried, 1);
	}
}

static void of_many_wakers_one_wins(void **state)
{
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	weft_fiber *f;

	(void)state;
	crowd.rounds = kit_rounds(2000);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, wait_often, NULL), 0);
	threads_run(NODES, wake_often, NULL);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	assert_int_equal(wf_load_rlx(&crowd.wins), crowd.rounds);
	assert_int_equal(crowd.by[0] + crowd.by[1] + crowd.by[2], crowd.rounds);
	kit_stop(rt);
}

/* ------------------------------------------------------------------------ */
/* A call that need not wait. */

static void *spend(void *arg)
{
	struct wf_thread *t = wf_os_self();
	uint32_t before = t->budget;

	kit_expect(before > 3);
	wf_budget_spend();
	wf_budget_spend();
	kit_expect(t->budget == before - 2);
	return arg;
}

static void not_to_wait_costs_one_of_the_budget(void **state)
{
	(void)state;
	wf_budget_spend(); /* nothing on a thread */
	kit_play(spend, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_keeps_its_order),
		cmocka_unit_test(claims_skip_waiters_that_gave_up),
		cmocka_unit_test(fibers_claimed_together_keep_their_order),
		cmocka_unit_test(one_of_leave_and_disown_has_the_node),
		cmocka_unit_test(a_thread_gives_up_for_good),
		cmocka_unit_test(a_thread_waits_on_several),
		cmocka_unit_test(a_claimed_thread_waits_until_it_is_woken),
		cmocka_unit_test(a_deadline_and_a_wake_have_one_winner),
		cmocka_unit_test(every_wait_of_a_fiber_ends_as_it_should),
		cmocka_unit_test(of_many_wakers_one_wins),
		cmocka_unit_test(not_to_wait_costs_one_of_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
