/* SPDX-License-Identifier: MIT */
/*
 * tests/fault/errors_test.c - no call returns an error that its header does not
 * list, whatever the system refuses, wherever it is made, and whatever state
 * its caller is in.
 *
 * Each public function that returns an int has a row, or is named with a reason
 * why it has none: one that is new fails the test.  The list of functions and
 * of their errors is made from include/weft when this is built
 * (support/api_calls.h).
 *
 * A row's function sets something up and makes the call, in one of several
 * VARIANTS, good ones and mistakes (fault/errors_calls.h).  It is made in each
 * PLACE (a plain thread, a fiber, a task, a fiber on a foreign executor) and
 * STATE (cancelled, late, the runtime stops), and each time with the first
 * allocation, mapping, thread ... refused, then the second, until none is left;
 * once with only that one refused and once with all from there on.
 *
 * A row also names errors that must be seen, which shows that the test reaches
 * the code that returns them.
 */
#include "fault/errors_calls.h"
#include "support/api_calls.h"

static const char *const place_names[] = { "thread", "fiber", "task",
	"foreign" };
static const char *const state_names[] = { "plain", "cancelled", "late",
	"limited", "stopping" };

#define P(place) (1u << (place))
#define ANYWHERE ((1u << PLACES) - 1)
#define IN_FIBERS (P(FIBER) | P(FOREIGN))

/* ------------------------------------------------------------------------ */
/* The table. */

#define SEEN(...) { __VA_ARGS__, 0 }

static const struct row {
	const char *call;
	void (*fn)(void);
	unsigned variants;
	unsigned places;
	bool waits;    /* it has a deadline */
	int seen[8];   /* errors that must be seen, positive; 0 */
} rows[] = {
#define WAIT(call, fn, variants) \
	{ call, fn, variants, P(THREAD) | IN_FIBERS, true, \
		SEEN(ETIMEDOUT, ECANCELED, EAGAIN) }
	WAIT("weft_barrier_wait", try_barrier, 1),
	WAIT("weft_chan_send", try_send, 1),
	WAIT("weft_chan_recv", try_recv, 1),
	WAIT("weft_select", try_select, 4),
	WAIT("weft_cond_wait", try_cond, 1),
	WAIT("weft_event_wait", try_event, 1),
	WAIT("weft_group_wait", try_group, 1),
	WAIT("weft_join", try_join, 1),
	WAIT("weft_mutex_lock_by", try_mutex, 1),
	WAIT("weft_rwlock_rdlock_by", try_rdlock, 1),
	WAIT("weft_rwlock_wrlock_by", try_wrlock, 1),
	WAIT("weft_sem_acquire", try_sem, 1),
	WAIT("weft_sleep_until", try_sleep_until, 1),
	WAIT("weft_sleep", try_sleep, 1),

	{ "weft_chan_create", try_chan_create, 3, ANYWHERE, false,
		SEEN(EINVAL, ENOMEM) },
	{ "weft_chan_close", try_chan_close, 2, ANYWHERE, false,
		SEEN(EALREADY) },
	{ "weft_chan_recv", try_chan_closed, 1, P(THREAD) | IN_FIBERS, false,
		SEEN(EPIPE) },
	{ "weft_chan_send", try_chan_closed, 2, P(THREAD) | IN_FIBERS, false,
		SEEN(EPIPE) },
	{ "weft_select", try_select_wrong, 3, IN_FIBERS, false,
		SEEN(EINVAL, EDEADLK) },

	{ "weft_go", try_go, 1, ANYWHERE, false,
		SEEN(ENOMEM, ESHUTDOWN, EPERM) },
	{ "weft_spawn", try_spawn, 8, ANYWHERE, false,
		SEEN(ENOMEM, ESHUTDOWN, EPERM, EINVAL) },
	{ "weft_rt_go", try_rt_go, 1, ANYWHERE, false,
		SEEN(ENOMEM, ESHUTDOWN) },
	{ "weft_rt_spawn", try_rt_spawn, 7, ANYWHERE, false,
		SEEN(ENOMEM, ESHUTDOWN, EINVAL) },
	{ "weft_join", try_join_self, 1, IN_FIBERS, false, SEEN(EDEADLK) },
	{ "weft_cancel", try_cancel, 1, ANYWHERE, false, { 0 } },
	{ "weft_suspend", try_suspend, 1, ANYWHERE, false, SEEN(EPERM) },
	{ "weft_key_set", try_key_set, 2, ANYWHERE, false,
		SEEN(ENOMEM, EINVAL, EPERM) },
	{ "weft_key_create", try_key_create, 2, ANYWHERE, false,
		SEEN(EAGAIN) },

	{ "weft_scope_open", try_scope_open, 1, ANYWHERE, false, SEEN(EPERM) },
	{ "weft_scope_go", try_scope_go, 4, P(THREAD) | IN_FIBERS, false,
		SEEN(ECANCELED, ETIMEDOUT, ESHUTDOWN, ENOMEM, EPERM) },
	{ "weft_scope_close", try_scope_close, 3, IN_FIBERS, false,
		SEEN(ECANCELED, ETIMEDOUT) },

	{ "weft_rt_start", try_rt_start, 2, ANYWHERE, false,
		SEEN(EINVAL, ENOMEM, EAGAIN) },
	{ "weft_rt_start_sized", try_rt_start_sized, 3, P(THREAD), false,
		SEEN(EINVAL, ENOMEM, EAGAIN, E2BIG) },
	{ "weft_run", try_run, 2, P(THREAD) | IN_FIBERS, false,
		SEEN(EINVAL, ENOMEM, EAGAIN, EDEADLK) },
	{ "weft_run_sized", try_run_sized, 3, P(THREAD), false,
		SEEN(EINVAL, ENOMEM, EAGAIN, E2BIG) },
	{ "weft_config_check", try_config_check, 2, ANYWHERE, false,
		SEEN(EINVAL) },
	{ "weft_config_check_sized", try_config_check_sized, 3, ANYWHERE,
		false, SEEN(EINVAL, E2BIG) },
	{ "weft_rt_shutdown", try_rt_shutdown, 1, ANYWHERE, false, { 0 } },
	{ "weft_rt_stop", try_rt_stop, 2, P(THREAD), false, SEEN(ETIMEDOUT) },
	{ "weft_rt_stop", try_rt_stop, 3, P(FIBER) | P(TASK), false,
		SEEN(EDEADLK) },
	{ "weft_rt_wait_idle", try_rt_wait_idle, 2, P(THREAD), false,
		SEEN(ETIMEDOUT) },
	{ "weft_rt_wait_idle", try_rt_wait_idle, 1, P(FIBER) | P(TASK), false,
		SEEN(EDEADLK) },

	{ "weft_submit", try_submit, 3, ANYWHERE, false,
		SEEN(EINVAL, ESHUTDOWN) },
	{ "weft_submit_fn", try_submit_fn, 3, ANYWHERE, false,
		SEEN(EINVAL, ESHUTDOWN, ENOMEM) },
	{ "weft_amutex_lock", try_amutex_lock, 4, ANYWHERE, false,
		SEEN(EINVAL, ENOMEM, ESHUTDOWN) },
	{ "weft_pool_create", try_pool_create, 2, ANYWHERE, false,
		SEEN(EINVAL, ENOMEM, EAGAIN) },
	{ "weft_manual_create", try_manual_create, 1, ANYWHERE, false,
		SEEN(ENOMEM) },
	{ "weft_strand_create", try_strand_create, 1, ANYWHERE, false,
		SEEN(ENOMEM) },
	{ "weft_strand_call", try_strand_call, 5, ANYWHERE, false,
		SEEN(EINVAL, EDEADLK, ESHUTDOWN) },
	{ "weft_executor_destroy", try_executor_destroy, 4,
		P(THREAD) | IN_FIBERS, false, SEEN(EBUSY, EINVAL, EDEADLK) },

	{ "weft_metrics_read", try_metrics_read, 2, ANYWHERE, false,
		SEEN(EINVAL) },
	{ "weft_metrics_proc", try_metrics_proc, 3, ANYWHERE, false,
		SEEN(EINVAL) },
	{ "weft_policy_parse", try_policy_parse, 3, ANYWHERE, false,
		SEEN(EINVAL) },
	{ "weft_policy_print", try_policy_print, 3, ANYWHERE, false,
		SEEN(EINVAL, ENOSPC) },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Functions that return an int and have no row: the reason. */
static const struct {
	const char *begins;
	const char *why;
} without[] = {
	{ "weft_sim_", "it is in weft-sim, which replaces the system; "
		       "tests/sim has it" },
};

/* ------------------------------------------------------------------------ */
/* One call. */

static void in_state(const struct row *r)
{
	weft_scope s;
	weft_time d = how.state == LATE ? 1 : weft_after(SOON_NS);
	bool scoped = how.state == LATE || how.state == LIMITED;

	if (how.state == CANCELLED)
		(void)weft_cancel(weft_self());
	if (how.state == STOPPING)
		(void)weft_rt_shutdown(w.rt);
	if (scoped)
		expect_eq(weft_scope_open(&s, d), 0);
	r->fn();
	if (scoped)
		expect(weft_scope_close(&s) <= 0);
}

static void *call_in_fiber(void *arg)
{
	in_state(arg);
	atomic_store(&w.called, true);
	return arg;
}

static const struct row *row_of_task;

static void call_in_task(weft_task *task)
{
	(void)task;
	in_state(row_of_task);
	atomic_store(&w.called, true);
}

/* On a manual executor, which this thread runs. */
static void call_on_foreign(const struct row *r)
{
	weft_fiber_attr a = { 0 };
	weft_fiber *f = NULL;
	int err;

	assert_int_equal(weft_manual_create(&w.foreign), 0);
	a.executor = w.foreign;
	assert_int_equal(weft_spawn(&f, &a, call_in_fiber, (void *)r), 0);
	for (weft_time give_up = PATIENCE; !atomic_load(&w.called);) {
		if (weft_manual_run(w.foreign, SIZE_MAX) == 0)
			nap_ns(10 * NS_PER_US);
		assert_true(weft_now() < give_up);
	}
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	/* Fibers that the call started there end, too. */
	(void)weft_manual_run(w.foreign, SIZE_MAX);
	err = weft_executor_destroy(w.foreign);
	assert_int_equal(err, 0);
}

static void call_in_place(const struct row *r)
{
	weft_fiber *f = NULL;

	if (how.place == THREAD) {
		in_state(r);
	} else if (how.place == FIBER) {
		assert_int_equal(weft_rt_spawn(w.rt, &f, NULL, call_in_fiber,
					 (void *)r),
			0);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	} else if (how.place == TASK) {
		row_of_task = r;
		w.task.run = call_in_task;
		assert_int_equal(weft_submit(weft_rt_executor(w.rt), &w.task,
					 WEFT_HINT_DEFAULT),
			0);
		assert_true(await(atomic_load(&w.called)));
	} else {
		call_on_foreign(r);
	}
}

static bool seen[ROWS][200]; /* which errors */
static size_t unlisted;

/* Report each error that the header does not list once. */
static void judge(const struct row *r, int result)
{
	bool *before;

	if (result >= 0)
		return;
	assert_true(result > -200);
	before = &seen[r - rows][-result];
	if (!*before && !api_call_lists(api_call_find(r->call), result)) {
		printf("%s returns %d (%s), which its header does not list: "
		       "%s, %s, variant %u; number %zu%s of kinds %#x fails\n",
			r->call, result, strerror(-result),
			place_names[how.place], state_names[how.state],
			how.variant, how.nth,
			how.times == 1 ? "" : " and all later", how.kinds);
		unlisted++;
	}
	*before = true;
}

static size_t calls;

static void call_once(const struct row *r)
{
	calls++;
	how.injected = how.count = 0;
	world_open();
	call_in_place(r);
	world_close();
	assert_expected();
	assert_true(how.count > 0 || r->fn == try_scope_go ||
		r->fn == try_rt_wait_idle);
	for (unsigned i = 0; i < how.count; i++)
		judge(r, how.results[i]);
}

/* ------------------------------------------------------------------------ */
/* All there is to fail. */

static const unsigned all_kinds[] = { OS_FAULTS_ALL, OS_FAULTS_THREAD,
	OS_FAULTS_ALLOC, OS_FAULTS_MAP, OS_FAULTS_GUARD | OS_FAULTS_PROTECT };

/* Where time is short, all kinds together stand for each. */
static bool is_short(void)
{
	return threads_rounds(100) < 100 || API_TSAN;
}

/* Refuse the first call of the system, the second ...; false: it makes none. */
static bool sweep_kinds(const struct row *r, unsigned kinds, size_t times)
{
	how.kinds = kinds;
	how.times = times;
	how.nth = 1;
	do
		call_once(r);
	while (how.injected > 0 && how.nth++ < 100);
	return how.nth > 1;
}

static void sweep_faults(const struct row *r)
{
	for (size_t k = 0; k < (is_short() ? 2 : 5); k++) {
		if (sweep_kinds(r, all_kinds[k], 1))
			(void)sweep_kinds(r, all_kinds[k], OS_FAULTS_FOREVER);
		else if (all_kinds[k] == OS_FAULTS_ALL)
			return;
	}
}

/* A wait without a deadline ends because of the caller's state. */
static void sweep_deadlines(const struct row *r)
{
	static const weft_time deadlines[] = { WEFT_NOW, SOON_NS,
		WEFT_FOREVER };
	bool ends = how.state != PLAIN && how.place != THREAD &&
		!(how.state == STOPPING && how.place == FOREIGN);

	for (size_t i = 0; i < (r->waits ? 3 : 1); i++) {
		how.deadline = deadlines[i];
		if (how.deadline != WEFT_FOREVER || ends)
			sweep_faults(r);
	}
}

/* Only fibers are cancelled or in scopes; deadlines matter to waits. */
static bool is_possible(const struct row *r)
{
	bool in_fiber = P(how.place) & IN_FIBERS;

	if (how.state == CANCELLED)
		return in_fiber;
	if (how.state == LATE || how.state == LIMITED)
		return in_fiber && r->waits;
	return true;
}

static void sweep(const struct row *r)
{
	for (how.place = 0; how.place < PLACES; how.place++)
		for (how.state = 0; how.state < STATES; how.state++) {
			if (!(r->places & P(how.place)) || !is_possible(r))
				continue;
			for (how.variant = 0; how.variant < r->variants;
				how.variant++)
				sweep_deadlines(r);
		}
}

static void every_error_is_listed(void **state)
{
	(void)state;
	os_faults_clear();
	for (size_t i = 0; i < ROWS; i++)
		sweep(&rows[i]);
	printf("%zu calls\n", calls);
	assert_int_equal(unlisted, 0);
}

/* After the test above: every row has seen its errors. */
static void every_expected_error_was_seen(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++)
		for (size_t k = 0; rows[i].seen[k] != 0; k++)
			if (!seen[i][rows[i].seen[k]])
				fail_msg("%s never returned -%d (%s)",
					rows[i].call, rows[i].seen[k],
					strerror(rows[i].seen[k]));
}

static bool is_covered(const char *call)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].call, call) == 0)
			return true;
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		if (strncmp(call, without[i].begins,
			    strlen(without[i].begins)) == 0)
			return true;
	return false;
}

static void a_row_for_each_call(void **state)
{
	(void)state;
	assert_true(API_CALLS > 90);
	for (size_t i = 0; i < API_CALLS; i++)
		if (api_calls[i].returns_int && !is_covered(api_calls[i].name))
			fail_msg("%s returns an int: it needs a row here, or a "
				 "reason to have none",
				api_calls[i].name);
	for (size_t i = 0; i < ROWS; i++)
		assert_non_null(api_call_find(rows[i].call));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_for_each_call),
		cmocka_unit_test(every_error_is_listed),
		cmocka_unit_test(every_expected_error_was_seen),
	};

	if (weft_key_create(&a_key, NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
