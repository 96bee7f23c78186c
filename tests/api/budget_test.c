/* SPDX-License-Identifier: MIT */
/*
 * tests/api/budget_test.c - every call that may wait and need not spends the
 * fiber's budget: a fiber that makes one such call after the other lets ready
 * fibers run, after coop_budget calls at most.
 *
 * There is a row for each call and each of its results, and each call of the
 * headers that may switch has a row (a_row_for_each_call).  One worker, so that
 * calls can be counted: another fiber is ready, and the calls until it runs are
 * the ones that did not give way.
 *
 * Not here: calls that are refused as mistakes (-EINVAL, -EPERM, -EDEADLK), and
 * joins that run a child as a call, which sched_fair_test has.
 */
#include "api/api.h"

#include "support/api_calls.h"

#include <weft/weft.h>

/* After so many calls a row counts as one that never gives way. */
enum { CALLS_MAX = 300 };

static struct {
	unsigned calls; /* since the other fiber is ready */
	bool other_ran;
	weft_chan *roomy, *filled, *full, *empty, *closed, *waited_for;
	weft_fiber *ended[CALLS_MAX], *waits, *receiver[CALLS_MAX];
	struct baton baton;
	weft_group none, one;
	weft_mutex mutex, held; /* held, read, written: by another fiber */
	weft_rwlock read, written, rwlock;
	weft_sem permits, no_permits;
	weft_event set, unset;
	weft_barrier alone, two;
	weft_once once;
	weft_scope scope;
	weft_executor *strand; /* over the inline one */
} s;

/* ------------------------------------------------------------------------ */
/* Waits, with a deadline that has passed, or in a fiber that may not wait. */

static int wait_barrier(weft_time d)
{
	return weft_barrier_wait(&s.two, d);
}

static int wait_send(weft_time d)
{
	char c = 1;

	return weft_chan_send(s.full, &c, d);
}

static int wait_recv(weft_time d)
{
	return weft_chan_recv(s.empty, NULL, d);
}

static int wait_select_none(weft_time d)
{
	return weft_select(NULL, 0, d);
}

static int wait_select_one(weft_time d)
{
	weft_case c[] = { { .op = WEFT_RECV, .obj = s.empty } };

	return weft_select(c, 1, d);
}

static int wait_select_all(weft_time d)
{
	char v = 1;
	weft_case c[] = { { .op = WEFT_RECV, .obj = s.empty },
		{ .op = WEFT_SEND, .obj = s.full, .value = &v },
		{ .op = WEFT_EVENT, .obj = &s.unset },
		{ .op = WEFT_JOIN, .obj = s.waits } };

	return weft_select(c, 4, d);
}

static int wait_cond(weft_time d)
{
	weft_cond cond = { 0 };
	int err;

	weft_mutex_lock(&s.mutex);
	err = weft_cond_wait(&cond, &s.mutex, d);
	weft_mutex_unlock(&s.mutex);
	return err;
}

static int wait_event(weft_time d)
{
	return weft_event_wait(&s.unset, d);
}

static int wait_group(weft_time d)
{
	return weft_group_wait(&s.one, d);
}

static int wait_join(weft_time d)
{
	return weft_join(s.waits, NULL, d);
}

static int wait_mutex(weft_time d)
{
	return weft_mutex_lock_by(&s.held, d);
}

static int wait_rdlock(weft_time d)
{
	return weft_rwlock_rdlock_by(&s.written, d);
}

static int wait_wrlock(weft_time d)
{
	return weft_rwlock_wrlock_by(&s.read, d);
}

static int wait_sem(weft_time d)
{
	return weft_sem_acquire(&s.no_permits, d);
}

/* A sleep to its end returns 0 where other waits return -ETIMEDOUT. */
static int wait_sleep_until(weft_time d)
{
	int err = weft_sleep_until(d);

	return err ? err : -ETIMEDOUT;
}

static int wait_sleep(weft_time d)
{
	int err = weft_sleep(d == WEFT_FOREVER ? d : 0);

	return err ? err : -ETIMEDOUT;
}

static const struct wait_row {
	const char *call;
	int (*wait)(weft_time d);
} waits[] = {
	{ "weft_barrier_wait", wait_barrier },
	{ "weft_chan_send", wait_send },
	{ "weft_chan_recv", wait_recv },
	{ "weft_select", wait_select_none },
	{ "weft_select", wait_select_one },
	{ "weft_select", wait_select_all },
	{ "weft_cond_wait", wait_cond },
	{ "weft_event_wait", wait_event },
	{ "weft_group_wait", wait_group },
	{ "weft_join", wait_join },
	{ "weft_mutex_lock_by", wait_mutex },
	{ "weft_rwlock_rdlock_by", wait_rdlock },
	{ "weft_rwlock_wrlock_by", wait_wrlock },
	{ "weft_sem_acquire", wait_sem },
	{ "weft_sleep_until", wait_sleep_until },
	{ "weft_sleep", wait_sleep },
};
enum { WAITS = sizeof(waits) / sizeof(waits[0]) };

/* ------------------------------------------------------------------------ */
/* Calls that succeed, or fail, without a wait; this is the nth call. */

static int ready_barrier(unsigned n)
{
	(void)n;
	return weft_barrier_wait(&s.alone, WEFT_FOREVER);
}

static int ready_send(unsigned n)
{
	char c = (char)n;

	return weft_chan_send(s.roomy, &c, WEFT_FOREVER);
}

static int ready_send_met(unsigned n)
{
	char c = (char)n;

	return weft_chan_send(s.waited_for, &c, WEFT_FOREVER);
}

static int ready_recv(unsigned n)
{
	(void)n;
	return weft_chan_recv(s.filled, NULL, WEFT_FOREVER);
}

static int closed_send(unsigned n)
{
	char c = (char)n;

	return weft_chan_send(s.closed, &c, WEFT_FOREVER);
}

static int closed_recv(unsigned n)
{
	(void)n;
	return weft_chan_recv(s.closed, NULL, WEFT_FOREVER);
}

/* A ready case alone, or beside one that is not ready. */
static int select_ready(int op, void *obj, void *value, unsigned n)
{
	weft_case c[] = { { .op = op, .obj = obj, .value = value },
		{ .op = WEFT_RECV, .obj = s.empty } };

	return weft_select(c, 1 + n % 2, WEFT_FOREVER);
}

static int select_send(unsigned n)
{
	char c = (char)n;

	return select_ready(WEFT_SEND, s.roomy, &c, n);
}

static int select_recv(unsigned n)
{
	return select_ready(WEFT_RECV, s.filled, NULL, n);
}

static int select_closed(unsigned n)
{
	return select_ready(WEFT_RECV, s.closed, NULL, n);
}

static int select_event(unsigned n)
{
	return select_ready(WEFT_EVENT, &s.set, NULL, n);
}

static int select_join(unsigned n)
{
	weft_fiber *f = s.ended[n];

	s.ended[n] = NULL;
	return select_ready(WEFT_JOIN, f, NULL, n);
}

static int ready_join(unsigned n)
{
	weft_fiber *f = s.ended[n];

	s.ended[n] = NULL;
	return weft_join(f, NULL, n % 2 ? WEFT_FOREVER : WEFT_NOW);
}

/* A fiber that has ended on a foreign executor. */
static int ready_join_foreign(unsigned n)
{
	weft_fiber_attr a = { .executor = weft_inline() };
	weft_fiber *f = NULL;

	expect_eq(weft_spawn(&f, &a, echo, NULL), 0);
	return weft_join(f, NULL, n % 2 ? WEFT_FOREVER : WEFT_NOW);
}

static int ready_event(unsigned n)
{
	(void)n;
	return weft_event_wait(&s.set, WEFT_FOREVER);
}

static int ready_group(unsigned n)
{
	(void)n;
	return weft_group_wait(&s.none, WEFT_FOREVER);
}

static int ready_mutex(unsigned n)
{
	(void)n;
	weft_mutex_lock(&s.mutex);
	weft_mutex_unlock(&s.mutex);
	return 0;
}

static int ready_mutex_by(unsigned n)
{
	int err = weft_mutex_lock_by(&s.mutex, n % 2 ? WEFT_FOREVER : WEFT_NOW);

	weft_mutex_unlock(&s.mutex);
	return err;
}

static int ready_rdlock(unsigned n)
{
	(void)n;
	weft_rwlock_rdlock(&s.rwlock);
	weft_rwlock_rdunlock(&s.rwlock);
	return 0;
}

static int ready_rdlock_by(unsigned n)
{
	int err = weft_rwlock_rdlock_by(
		&s.rwlock, n % 2 ? WEFT_FOREVER : WEFT_NOW);

	weft_rwlock_rdunlock(&s.rwlock);
	return err;
}

static int ready_wrlock(unsigned n)
{
	(void)n;
	weft_rwlock_wrlock(&s.rwlock);
	weft_rwlock_wrunlock(&s.rwlock);
	return 0;
}

static int ready_wrlock_by(unsigned n)
{
	int err = weft_rwlock_wrlock_by(
		&s.rwlock, n % 2 ? WEFT_FOREVER : WEFT_NOW);

	weft_rwlock_wrunlock(&s.rwlock);
	return err;
}

static void nothing(void *arg)
{
	(void)arg;
}

static int ready_once(unsigned n)
{
	(void)n;
	weft_once_do(&s.once, nothing, NULL);
	return 0;
}

static int ready_scope(unsigned n)
{
	(void)n;
	expect_eq(weft_scope_open(&s.scope, WEFT_FOREVER), 0);
	return weft_scope_close(&s.scope);
}

static int ready_sem(unsigned n)
{
	(void)n;
	return weft_sem_acquire(&s.permits, WEFT_FOREVER);
}

static int past_sleep(unsigned n)
{
	return weft_sleep(-(int64_t)n);
}

static int past_sleep_until(unsigned n)
{
	return weft_sleep_until(n);
}

static bool refuse(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	(void)f;
	return false;
}

static int refused_suspend(unsigned n)
{
	struct weft_awaiter a = { .commit = refuse };

	(void)n;
	return weft_suspend(&a);
}

static int just_yield(unsigned n)
{
	(void)n;
	weft_yield();
	return 0;
}

static int just_checkpoint(unsigned n)
{
	(void)n;
	weft_checkpoint();
	return 0;
}

static int idle_destroy(unsigned n)
{
	weft_executor *e = NULL;

	if (n % 2)
		expect_eq(weft_strand_create(&e, weft_inline()), 0);
	else
		expect_eq(weft_manual_create(&e), 0);
	return weft_executor_destroy(e);
}

static int inline_call(unsigned n)
{
	(void)n;
	return weft_strand_call(s.strand, nothing, NULL);
}

static const struct ready_row {
	const char *call;
	int (*fn)(unsigned n);
	int result;
} ready[] = {
	{ "weft_barrier_wait", ready_barrier, 1 },
	{ "weft_chan_send", ready_send, 0 },
	{ "weft_chan_send", ready_send_met, 0 },
	{ "weft_chan_send", closed_send, -EPIPE },
	{ "weft_chan_recv", ready_recv, 0 },
	{ "weft_chan_recv", closed_recv, -EPIPE },
	{ "weft_select", select_send, 0 },
	{ "weft_select", select_recv, 0 },
	{ "weft_select", select_closed, 0 },
	{ "weft_select", select_event, 0 },
	{ "weft_select", select_join, 0 },
	{ "weft_join", ready_join, 0 },
	{ "weft_join", ready_join_foreign, 0 },
	{ "weft_event_wait", ready_event, 0 },
	{ "weft_group_wait", ready_group, 0 },
	{ "weft_mutex_lock", ready_mutex, 0 },
	{ "weft_mutex_lock_by", ready_mutex_by, 0 },
	{ "weft_rwlock_rdlock", ready_rdlock, 0 },
	{ "weft_rwlock_rdlock_by", ready_rdlock_by, 0 },
	{ "weft_rwlock_wrlock", ready_wrlock, 0 },
	{ "weft_rwlock_wrlock_by", ready_wrlock_by, 0 },
	{ "weft_once_do", ready_once, 0 },
	{ "weft_scope_close", ready_scope, 0 },
	{ "weft_sem_acquire", ready_sem, 0 },
	{ "weft_sleep", past_sleep, 0 },
	{ "weft_sleep_until", past_sleep_until, 0 },
	{ "weft_suspend", refused_suspend, 1 },
	{ "weft_yield", just_yield, 0 },
	{ "weft_checkpoint", just_checkpoint, 0 },
	{ "weft_executor_destroy", idle_destroy, 0 },
	{ "weft_strand_call", inline_call, 0 },
};
enum { READY = sizeof(ready) / sizeof(ready[0]) };

/* ------------------------------------------------------------------------ */
/* The world they are in. */

static void *hold_all(void *arg)
{
	weft_mutex_lock(&s.held);
	weft_rwlock_rdlock(&s.read);
	weft_rwlock_wrlock(&s.written);
	baton_wait(&s.baton);
	weft_mutex_unlock(&s.held);
	weft_rwlock_rdunlock(&s.read);
	weft_rwlock_wrunlock(&s.written);
	return arg;
}

static void *receive(void *arg)
{
	int err = weft_chan_recv(s.waited_for, NULL, WEFT_FOREVER);

	expect(err == 0 || err == -EPIPE);
	return arg;
}

static weft_chan *chan_of(size_t capacity, size_t filled)
{
	weft_chan *c = NULL;

	expect_eq(weft_chan_create(&c, 1, capacity), 0);
	for (size_t i = 0; i < filled; i++)
		expect_eq(weft_chan_send(c, "", WEFT_NOW), 0);
	return c;
}

static bool needs_crowd(int (*fn)(unsigned n))
{
	return fn == ready_send_met || fn == select_join || fn == ready_join;
}

/* Fibers that have ended, or that wait to receive, for the rows with them. */
static void crowd_open(void)
{
	for (size_t i = 0; i < CALLS_MAX; i++) {
		s.ended[i] = spawn(echo, NULL);
		s.receiver[i] = spawn(receive, NULL);
	}
}

static void crowd_close(void)
{
	for (size_t i = 0; i < CALLS_MAX; i++) {
		if (s.ended[i])
			join(s.ended[i]);
		if (s.receiver[i])
			join(s.receiver[i]);
	}
}

/* When it returns, all fibers that it started wait or have ended. */
static void world_open(bool crowd)
{
	memset(&s, 0, sizeof(s));
	s.roomy = chan_of(CALLS_MAX, 0);
	s.filled = chan_of(CALLS_MAX, CALLS_MAX);
	s.full = chan_of(1, 1);
	s.empty = chan_of(1, 0);
	s.closed = chan_of(1, 0);
	s.waited_for = chan_of(0, 0);
	expect_eq(weft_chan_close(s.closed), 0);
	weft_group_add(&s.one, 1);
	s.permits = (weft_sem)WEFT_SEM_INIT(CALLS_MAX);
	weft_event_set(&s.set);
	s.alone = (weft_barrier)WEFT_BARRIER_INIT(1);
	s.two = (weft_barrier)WEFT_BARRIER_INIT(2);
	weft_once_do(&s.once, nothing, NULL);
	expect_eq(weft_strand_create(&s.strand, weft_inline()), 0);
	s.waits = spawn(hold_all, NULL);
	if (crowd)
		crowd_open();
	weft_yield();
}

static void world_close(void)
{
	expect_eq(weft_chan_close(s.waited_for), 0);
	baton_put(&s.baton, WEFT_HINT_DEFAULT);
	(void)weft_shield(true);
	crowd_close();
	join(s.waits);
	expect_eq(weft_executor_destroy(s.strand), 0);
	(void)weft_shield(false);
	weft_chan_unref(s.roomy);
	weft_chan_unref(s.filled);
	weft_chan_unref(s.full);
	weft_chan_unref(s.empty);
	weft_chan_unref(s.closed);
	weft_chan_unref(s.waited_for);
}

/* ------------------------------------------------------------------------ */
/* Counting. */

static struct play {
	unsigned budget;
	const struct ready_row *ready; /* or */
	const struct wait_row *wait;
	weft_time deadline;
	int result;
	bool cancelled, late; /* the caller, or its scope */
} play_of;

static void *other(void *arg)
{
	s.other_ran = true;
	return arg;
}

static int call_once(unsigned n)
{
	return play_of.ready ? play_of.ready->fn(n)
			     : play_of.wait->wait(play_of.deadline);
}

static void *count_calls(void *arg)
{
	const struct play *p = &play_of;
	const char *call = p->ready ? p->ready->call : p->wait->call;
	weft_scope scope;
	weft_fiber *f;

	world_open(p->ready && needs_crowd(p->ready->fn));
	if (p->cancelled)
		(void)weft_cancel(weft_self());
	if (p->late)
		expect_eq(weft_scope_open(&scope, 1), 0);
	f = spawn(other, NULL);
	while (!s.other_ran && s.calls < CALLS_MAX) {
		int result = call_once(s.calls);

		s.calls++;
		expect_at(call, __LINE__, result == p->result, "result",
			result, p->result);
	}
	expect_at(call, __LINE__, s.calls <= p->budget, "calls in a row",
		s.calls, p->budget);
	if (p->late)
		expect_eq(weft_scope_close(&scope), -ETIMEDOUT);
	(void)weft_shield(true);
	join(f);
	(void)weft_shield(false);
	world_close();
	return arg;
}

static void count(struct play p)
{
	weft_config cfg = { .workers = 1, .coop_budget = p.budget };

	play_of = p;
	play_with(&cfg, count_calls, NULL);
}

static const unsigned budgets[] = { 128, 5 };
enum { BUDGETS = sizeof(budgets) / sizeof(budgets[0]) };

static void a_call_that_need_not_wait_spends(void **state)
{
	(void)state;
	for (size_t b = 0; b < BUDGETS; b++)
		for (size_t i = 0; i < READY; i++)
			count((struct play){ .budget = budgets[b],
				.ready = &ready[i],
				.result = ready[i].result });
}

static void a_call_that_only_tries_spends(void **state)
{
	(void)state;
	for (size_t b = 0; b < BUDGETS; b++)
		for (size_t i = 0; i < WAITS; i++)
			count((struct play){ .budget = budgets[b],
				.wait = &waits[i],
				.deadline = WEFT_NOW,
				.result = -ETIMEDOUT });
}

static void a_call_of_a_cancelled_fiber_spends(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAITS; i++)
		count((struct play){ .budget = 20,
			.wait = &waits[i],
			.deadline = WEFT_FOREVER,
			.result = -ECANCELED,
			.cancelled = true });
}

static void a_call_in_a_scope_that_is_late_spends(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAITS; i++)
		count((struct play){ .budget = 20,
			.wait = &waits[i],
			.deadline = WEFT_FOREVER,
			.result = -ETIMEDOUT,
			.late = true });
}

/* ------------------------------------------------------------------------ */

static bool has_row(const char *call)
{
	for (size_t i = 0; i < READY; i++)
		if (strcmp(ready[i].call, call) == 0)
			return true;
	return false;
}

static void a_row_for_each_call(void **state)
{
	/* A wait for a signal is never over before it begins. */
	static const char *const without[] = { "weft_cond_wait" };
	size_t rows = 0;

	(void)state;
	for (size_t i = 0; i < API_CALLS; i++) {
		const struct api_call *c = &api_calls[i];

		if (!c->may_switch || c->in_sim ||
			strcmp(c->name, without[0]) == 0)
			continue;
		if (!has_row(c->name))
			fail_msg("%s may switch: it needs a row here", c->name);
		rows++;
	}
	assert_true(rows >= 20);
	for (size_t i = 0; i < READY; i++)
		assert_non_null(api_call_find(ready[i].call));
	for (size_t i = 0; i < WAITS; i++)
		assert_non_null(api_call_find(waits[i].call));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_for_each_call),
		cmocka_unit_test(a_call_that_need_not_wait_spends),
		cmocka_unit_test(a_call_that_only_tries_spends),
		cmocka_unit_test(a_call_of_a_cancelled_fiber_spends),
		cmocka_unit_test(a_call_in_a_scope_that_is_late_spends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
