/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/scope_scenarios.c - scopes and the values of fibers.
 *
 * Scopes lie in memory of their own, which is freed the instant they are
 * closed: a later access is caught.
 */
#include "sim/scenario.h"

#include "sim/fiber_kit.h"

#include <errno.h>

#include "os/os.h"

#define YES ((void *)1)
#define NUMBER(n) ((void *)(uintptr_t)(n))

/* The state of a schedule; new in each. */
static struct {
	weft_scope *outer, *inner;
	weft_event never, event;
	weft_time deadline;
	int got[4];		  /* results of waits */
	_Atomic(uint32_t) begun;  /* cancellers may begin */
	_Atomic(uint32_t) ended;  /* members that have */
	_Atomic(uint32_t) result; /* of close, plus 1000 */
	weft_fiber *fiber;
	weft_key key;
} s;

static weft_scope *scope_open(weft_time deadline)
{
	weft_scope *scope = duo_alloc(sizeof(*scope));
	int err = weft_scope_open(scope, deadline);

	weft_sim_assert(err == 0, "open: %d", err);
	return scope;
}

static int scope_close(weft_scope *scope)
{
	int result = weft_scope_close(scope);

	wf_os_free(scope);
	return result;
}

static void scope_go(weft_scope *scope, int (*fn)(void *), void *arg)
{
	int err = weft_scope_go(scope, fn, arg);

	weft_sim_assert(err == 0, "go: %d", err);
}

static void expect(const char *what, int got, int wanted)
{
	weft_sim_assert(got == wanted, "%s: %d, not %d", what, got, wanted);
}

/* The waiters for it may begin. */
static void begin(void)
{
	/* [pair: scope.begin] With the scopes it is about. */
	wf_store_rel(&s.begun, 1);
}

/* Wait for nothing; into the place that arg says. */
static int waits(void *arg)
{
	int *got = arg;

	*got = weft_event_wait(&s.never, WEFT_FOREVER);
	(void)wf_add_rlx(&s.ended, 1);
	return 0;
}

static int ends(void *arg)
{
	(void)arg;
	(void)wf_add_rlx(&s.ended, 1);
	return 0;
}

static int fails(void *arg)
{
	(void)wf_add_rlx(&s.ended, 1);
	return (int)(uintptr_t)arg;
}

static int cancels(void *arg)
{
	weft_scope_cancel(arg);
	(void)wf_add_rlx(&s.ended, 1);
	return 0;
}

/* A thread that cancels outer, as soon as it may. */
static void canceller(void *arg)
{
	(void)arg;
	/* [pair: scope.begin] */
	while (wf_load_acq(&s.begun) == 0)
		weft_sim_yield();
	weft_scope_cancel(s.outer);
}

static void play(void *(*fn)(void *), void *arg, void (*thread)(void *))
{
	int id = -1;

	duo_open(DUO_COARSE);
	s.fiber = duo_handle(0, fn, arg);
	duo_start();
	if (thread != NULL)
		id = duo_thread(thread, NULL, "canceller");
	duo_join();
	if (thread != NULL)
		(void)weft_sim_join(id);
	weft_detach(s.fiber);
	duo_close();
}

/* In the owner, after all: nothing of it is left. */
static void check_over(uint32_t members)
{
	expect("members", (int)wf_load_rlx(&s.ended), (int)members);
	weft_sim_assert(!weft_cancelled(), "it is still cancelled");
	expect("a wait", weft_event_wait(&s.event, WEFT_FOREVER), 0);
}

/* ------------------------------------------------------------------------ */
/* One scope, cancelled from outside. */

/* The members wait, for good, or are about to start. */
static void *owner_of_waiters(void *arg)
{
	uint32_t n = (uint32_t)(uintptr_t)arg;

	s.outer = scope_open(WEFT_FOREVER);
	for (uint32_t i = 0; i < n; i++)
		scope_go(s.outer, waits, &s.got[i]);
	begin();
	expect("close", scope_close(s.outer), -ECANCELED);
	for (uint32_t i = 0; i < n; i++)
		expect("a member", s.got[i], -ECANCELED);
	weft_event_set(&s.event);
	check_over(n);
	return NULL;
}

static void cancel_waiters(void *arg)
{
	play(owner_of_waiters, arg, canceller);
}

/* The owner itself waits. */
static void *owner_waits(void *arg)
{
	(void)arg;
	s.outer = scope_open(WEFT_FOREVER);
	begin();
	expect("its wait", weft_event_wait(&s.never, WEFT_FOREVER), -ECANCELED);
	expect("close", scope_close(s.outer), -ECANCELED);
	weft_event_set(&s.event);
	check_over(0);
	return NULL;
}

static void cancel_owner(void *arg)
{
	play(owner_waits, arg, canceller);
}

/* ------------------------------------------------------------------------ */
/* One scope, cancelled by its members. */

/* One cancels, or fails, while others start, end, wait, fail. */
static void *owner_of_some(void *arg)
{
	int (*other)(void *) = arg;
	int result;

	s.outer = scope_open(WEFT_FOREVER);
	scope_go(s.outer, cancels, s.outer);
	result = weft_scope_go(
		s.outer, other, other == fails ? NUMBER(2) : &s.got[0]);
	weft_sim_assert(result == 0 || result == -ECANCELED, "go: %d", result);
	if (result != 0) {
		(void)wf_add_rlx(&s.ended, 1);
		s.got[0] = -ECANCELED;
	}
	result = scope_close(s.outer);
	if (other == fails)
		weft_sim_assert(result == 2 || result == -ECANCELED,
			"close: %d", result);
	else
		expect("close", result, -ECANCELED);
	if (other == waits)
		expect("a member", s.got[0], -ECANCELED);
	weft_event_set(&s.event);
	check_over(2);
	return NULL;
}

static void member_cancels(void *arg)
{
	play(owner_of_some, arg, NULL);
}

/* Two fail at once, one waits: the first it is, and all know. */
static void *owner_of_failures(void *arg)
{
	int result;

	(void)arg;
	s.outer = scope_open(WEFT_FOREVER);
	scope_go(s.outer, waits, &s.got[0]);
	scope_go(s.outer, fails, NUMBER(1));
	result = weft_scope_go(s.outer, fails, NUMBER(2));
	weft_sim_assert(result == 0 || result == -ECANCELED, "go: %d", result);
	if (result != 0)
		(void)wf_add_rlx(&s.ended, 1);
	result = scope_close(s.outer);
	weft_sim_assert(result == 1 || result == 2, "close: %d", result);
	expect("a member", s.got[0], -ECANCELED);
	weft_event_set(&s.event);
	check_over(3);
	return NULL;
}

static void first_error(void *arg)
{
	play(owner_of_failures, arg, NULL);
}

/* A member starts others, until it may not. */
static int goes_on(void *arg)
{
	int err;

	(void)arg;
	for (int i = 0; i < 2; i++) {
		err = weft_scope_go(s.outer, waits, &s.got[i]);
		weft_sim_assert(err == 0 || err == -ECANCELED, "go: %d", err);
		if (err != 0)
			s.got[i] = err;
	}
	return 0;
}

static void *owner_of_family(void *arg)
{
	(void)arg;
	s.outer = scope_open(WEFT_FOREVER);
	scope_go(s.outer, goes_on, NULL);
	scope_go(s.outer, waits, &s.got[2]);
	begin();
	expect("close", scope_close(s.outer), -ECANCELED);
	for (int i = 0; i < 3; i++)
		expect("a member", s.got[i], -ECANCELED);
	return NULL;
}

static void cancel_family(void *arg)
{
	play(owner_of_family, arg, canceller);
}

/* A member starts others, which end at once, and no one is cancelled. */
static int goes_some(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++)
		scope_go(s.outer, ends, NULL);
	(void)wf_add_rlx(&s.ended, 1);
	return 0;
}

static void *owner_of_chain(void *arg)
{
	(void)arg;
	s.outer = scope_open(WEFT_FOREVER);
	scope_go(s.outer, goes_some, NULL);
	expect("close", scope_close(s.outer), 0);
	weft_event_set(&s.event);
	check_over(4);
	return NULL;
}

static void member_goes(void *arg)
{
	play(owner_of_chain, arg, NULL);
}

/* ------------------------------------------------------------------------ */
/* Scopes in scopes. */

/* A member opens a scope; one of its own waits there, or ends soon. */
static int opens(void *arg)
{
	int (*fn)(void *) = arg;
	int err, result;

	s.inner = scope_open(WEFT_FOREVER);
	err = weft_scope_go(s.inner, fn, &s.got[0]);
	weft_sim_assert(err == 0 || err == -ECANCELED, "go: %d", err);
	if (err != 0)
		s.got[0] = err;
	result = scope_close(s.inner);
	if (fn == waits)
		expect("close inside", result, -ECANCELED);
	else
		weft_sim_assert(result == 0 || result == -ECANCELED,
			"close inside: %d", result);
	s.inner = NULL;
	return 0;
}

static void *owner_of_tree(void *arg)
{
	s.outer = scope_open(WEFT_FOREVER);
	scope_go(s.outer, opens, arg);
	if (arg != waits)
		scope_go(s.outer, waits, &s.got[1]);
	begin();
	expect("close", scope_close(s.outer), -ECANCELED);
	expect("far below", s.got[arg == waits ? 0 : 1], -ECANCELED);
	return NULL;
}

static void cancel_tree(void *arg)
{
	play(owner_of_tree, arg, canceller);
}

/* Cancels the tree through the fiber that has the scopes open. */
static void *has_tree(void *arg)
{
	begin();
	(void)opens(arg);
	return NULL;
}

static void fiber_canceller(void *arg)
{
	(void)arg;
	/* [pair: scope.begin] */
	while (wf_load_acq(&s.begun) == 0)
		weft_sim_yield();
	(void)weft_cancel(s.fiber);
}

static void cancel_fiber(void *arg)
{
	play(has_tree, arg, fiber_canceller);
}

/* One owner has both; outer is cancelled from outside, inner by a member. */
static void *owner_of_both(void *arg)
{
	(void)arg;
	s.outer = scope_open(WEFT_FOREVER);
	scope_go(s.outer, waits, &s.got[0]);
	s.inner = scope_open(WEFT_FOREVER);
	scope_go(s.inner, waits, &s.got[1]);
	scope_go(s.inner, cancels, s.inner);
	begin();
	expect("close inside", scope_close(s.inner), -ECANCELED);
	expect("close", scope_close(s.outer), -ECANCELED);
	expect("a member", s.got[0], -ECANCELED);
	expect("one inside", s.got[1], -ECANCELED);
	weft_event_set(&s.event);
	check_over(3);
	return NULL;
}

static void two_cancels(void *arg)
{
	play(owner_of_both, arg, canceller);
}

/*
 * A member has ended, and its descriptor is another fiber, which has a scope
 * open: that is not reached.
 */
static void stranger(void *arg)
{
	weft_scope *own = scope_open(WEFT_FOREVER);

	(void)arg;
	scope_go(own, ends, NULL);
	expect("a stranger's close", scope_close(own), 0);
	weft_event_set(&s.event);
}

static void *owner_of_ended(void *arg)
{
	int err;

	(void)arg;
	s.outer = scope_open(WEFT_FOREVER);
	scope_go(s.outer, ends, NULL);
	scope_go(s.outer, waits, &s.got[0]);
	begin();
	while (wf_load_rlx(&s.ended) == 0)
		duo_pause();
	err = weft_go(stranger, NULL);
	expect("weft_go", err, 0);
	expect("close", scope_close(s.outer), -ECANCELED);
	expect("a wait", weft_event_wait(&s.event, WEFT_FOREVER), 0);
	return NULL;
}

static void another_life(void *arg)
{
	play(owner_of_ended, arg, canceller);
}

/* ------------------------------------------------------------------------ */
/* Deadlines. */

static int sleeps(void *arg)
{
	int *got = arg;

	*got = weft_sleep_until(s.deadline);
	return 0;
}

/* All is over at the same moment. */
static void *owner_in_time(void *arg)
{
	int err;

	s.deadline = weft_after(1000);
	s.outer = scope_open(s.deadline);
	err = weft_scope_go(s.outer, arg ? waits : sleeps, &s.got[0]);
	weft_sim_assert(err == 0 || err == -ETIMEDOUT, "go: %d", err);
	if (err != 0)
		s.got[0] = err;
	expect("close", scope_close(s.outer), -ETIMEDOUT);
	if (arg != NULL)
		expect("a member", s.got[0], -ETIMEDOUT);
	else
		weft_sim_assert(s.got[0] == 0 || s.got[0] == -ETIMEDOUT,
			"a member: %d", s.got[0]);
	return NULL;
}

static void deadline(void *arg)
{
	play(owner_in_time, arg, NULL);
}

/* ------------------------------------------------------------------------ */
/* Keys. */

static void waits_at_the_end(void *value)
{
	int *got = value;

	duo_check_here(weft_self());
	*got = weft_event_wait(&s.event, WEFT_FOREVER);
	duo_check_here(weft_self());
}

static void *has_value(void *arg)
{
	expect("set", weft_key_set(s.key, arg), 0);
	return NULL;
}

static void *joins(void *arg)
{
	weft_fiber *f;
	int err = weft_spawn(&f, NULL, has_value, &s.got[0]);

	(void)arg;
	s.got[0] = 1;
	expect("spawn", err, 0);
	expect("join", weft_join(f, NULL, WEFT_FOREVER), 0);
	expect("the destructor", s.got[0], 0);
	return NULL;
}

static void *sets_event(void *arg)
{
	(void)arg;
	weft_event_set(&s.event);
	return NULL;
}

static void destructor(void *arg)
{
	int err = weft_key_create(&s.key, waits_at_the_end);

	expect("create", err, 0);
	duo_open(arg ? DUO_COARSE : 0);
	duo_root(0, joins, NULL);
	duo_root(1, sets_event, NULL);
	duo_run();
	duo_close();
}

/* ------------------------------------------------------------------------ */
/* Memory is refused. */

static void *owner_in_need(void *arg)
{
	uint32_t started = 0;
	int err;

	(void)arg;
	s.outer = scope_open(WEFT_FOREVER);
	weft_sim_os_faults(2);
	for (int i = 0; i < 2 * WF_FIBER_BATCH + 2; i++) {
		err = weft_scope_go(s.outer, ends, NULL);
		weft_sim_assert(err == 0 || err == -ENOMEM, "go: %d", err);
		started += err == 0;
	}
	weft_sim_os_faults(0);
	expect("close", scope_close(s.outer), 0);
	expect("members", (int)wf_load_rlx(&s.ended), (int)started);
	return NULL;
}

static void scope_faults(void *arg)
{
	play(owner_in_need, arg, NULL);
}

static void count_destroyed(void *value)
{
	*(int *)value += 1;
}

/* On an error a value is as before, and nothing is lost. */
static void *sets_in_need(void *arg)
{
	int *got = arg, err;

	weft_sim_os_faults(2);
	for (weft_key k = 1; k <= s.key; k += 19) {
		err = weft_key_set(k, got);
		weft_sim_assert(err == 0 || err == -ENOMEM, "set: %d", err);
		weft_sim_assert(weft_key_get(k) == (err ? NULL : got),
			"a value is not as it should be");
		got[1] += err == 0;
	}
	weft_sim_os_faults(0);
	return NULL;
}

static void key_faults(void *arg)
{
	(void)arg;
	while (s.key < 40)
		expect("create", weft_key_create(&s.key, count_destroyed), 0);
	duo_open(0);
	duo_root(0, sets_in_need, s.got);
	duo_run();
	expect("destroyed", s.got[0], s.got[1]);
	duo_close();
}

static const struct scenario table[] = {
	{ .name = "scope/cancel-one",
		.body = cancel_waiters,
		.arg = NUMBER(1) },
	{ .name = "scope/cancel-two",
		.body = cancel_waiters,
		.arg = NUMBER(2) },
	{ .name = "scope/cancel-owner", .body = cancel_owner },
	{ .name = "scope/member-cancels-waiter",
		.body = member_cancels,
		.arg = (void *)waits },
	{ .name = "scope/member-cancels-ending",
		.body = member_cancels,
		.arg = (void *)ends },
	{ .name = "scope/member-cancels-failing",
		.body = member_cancels,
		.arg = (void *)fails },
	{ .name = "scope/first-error", .body = first_error },
	{ .name = "scope/member-goes", .body = member_goes },
	{ .name = "scope/family", .body = cancel_family },
	{ .name = "scope/tree", .body = cancel_tree, .arg = (void *)waits },
	{ .name = "scope/tree-ending",
		.body = cancel_tree,
		.arg = (void *)ends },
	{ .name = "scope/fiber", .body = cancel_fiber, .arg = (void *)waits },
	{ .name = "scope/fiber-ending",
		.body = cancel_fiber,
		.arg = (void *)ends },
	{ .name = "scope/two-cancels", .body = two_cancels },
	{ .name = "scope/another-life", .body = another_life },
	{ .name = "scope/deadline", .body = deadline },
	{ .name = "scope/deadline-waits", .body = deadline, .arg = YES },

	{ .name = "key/destructor", .body = destructor },
	{ .name = "key/destructor-stolen", .body = destructor, .arg = YES },

	{ .name = "scope/faults", .body = scope_faults },
	{ .name = "key/faults", .body = key_faults },
};

const struct scenarios scope_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
