/* SPDX-License-Identifier: MIT */
/*
 * tests/fault/stack_test.c - whichever call of the system fails, stacks are
 * refused with an error or degraded and counted; no stack is lost, and a
 * refused call succeeds when it is repeated.
 *
 * One run does all a pool can do.  It is repeated with the first call failing,
 * then the second, and so on, until a run meets no failure.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/units.h"
#include "stack/cache.h"
#include "stack/overflow.h"
#include "support/os_faults.h"
#include "support/threads.h"

enum { CLASSES = 3, HELD_MAX = 100 };

/* Stacks at once of each size: more than a batch, some, one. */
static const struct {
	size_t bytes;
	unsigned n;
} wanted[CLASSES] = { { 512 * WF_KIB, 6 }, { WF_MIB, 3 },
	{ 2 * WF_MIB, 1 } };

struct run {
	/* Its plan. */
	struct wf_stack_config config;
	bool no_guards;			/* the kernel has none */
	unsigned kinds;			/* of calls that fail */
	size_t times;			/* how often */
	bool gives_up;			/* at the first error */

	/* Its progress. */
	size_t errors;
	struct wf_stack_pool pool;
	struct wf_os_altstack altstack;
	struct wf_stack_cache caches[2];
	unsigned opened;		/* caches */
	unsigned turn;			/* the cache whose turn it is */
	unsigned cls;			/* the class in question */
	unsigned credits[WF_STACK_CLASSES];
	struct wf_stack *held[HELD_MAX];
	size_t n;
};

static struct run run;

/* ------------------------------------------------------------------------ */
/* The calls that can fail. */

static int enter(void)
{
	return wf_overflow_enter(&run.altstack);
}

static int open_cache(void)
{
	int err = wf_stack_cache_open(&run.caches[run.opened], &run.pool);

	run.opened += !err;
	return err;
}

static int credit(void)
{
	int err = wf_stack_credit(&run.caches[run.turn], run.cls);

	run.credits[run.cls] += !err;
	return err;
}

/*
 * Make the call.  If it fails, all is as before; then either the fault is
 * repaired, and it works, or the run is over: false.
 */
static bool ask(int (*call)(void))
{
	size_t promised = run.pool.store[run.cls].promised;
	int err = call();

	assert_true(wf_stack_pool_check(&run.pool));
	if (err == 0)
		return true;
	assert_int_equal(err, -ENOMEM);
	assert_true(os_faults_injected() > 0);
	assert_int_equal(run.pool.store[run.cls].promised, promised);
	run.errors++;
	if (run.gives_up)
		return false;
	os_faults_repair();
	assert_int_equal(call(), 0);
	assert_true(wf_stack_pool_check(&run.pool));
	return true;
}

/* ------------------------------------------------------------------------ */
/* The steps of a run. */

static bool get_credits(void)
{
	for (int i = 0; i < CLASSES; i++) {
		run.cls = (unsigned)wf_stack_pool_class(
			&run.pool, wanted[i].bytes);
		while (run.credits[run.cls] < wanted[i].n) {
			run.turn = (run.turn + 1) % run.opened;
			if (!ask(credit))
				return false;
		}
	}
	return true;
}

/* Take a stack for every credit; write something at its ends. */
static void take_all(void)
{
	for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++) {
		for (unsigned i = 0; i < run.credits[cls]; i++) {
			struct wf_stack *s = wf_stack_take(
				&run.caches[i % run.opened], cls);
			char *low = wf_stack_low(s), *top = wf_stack_top(s);

			if (run.config.wipe)
				assert_true(low[0] == 0 && top[-1] == 0);
			low[0] = top[-1] = 1;
			run.held[run.n++] = s;
		}
	}
}

/* Each goes to another cache than it is from; then the credits go. */
static void give_all(void)
{
	while (run.n > 0) {
		struct wf_stack *s = run.held[--run.n];

		wf_stack_give(&run.caches[run.n / 3 % run.opened], s);
	}
	for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++)
		for (; run.credits[cls] > 0; run.credits[cls]--)
			wf_stack_credit_back(&run.caches[0], cls);
	assert_true(wf_stack_pool_check(&run.pool));
}

/* Every stack has a guard, or counts as one whose guard was refused. */
static void check_guards(void)
{
	struct wf_stack_stats stats;

	wf_stack_pool_stats(&run.pool, &stats);
	assert_int_equal(stats.guards_installed + stats.guards_protected +
			stats.guards_missing, stats.ready);
	if (run.config.strict_guards || !(run.kinds & OS_FAULTS_PROTECT))
		assert_int_equal(stats.guards_missing, 0);
	else if (run.kinds == OS_FAULTS_PROTECT)
		assert_int_equal(stats.guards_missing, os_faults_injected());
}

static bool go_through(void)
{
	if (!ask(enter) || !ask(open_cache) || !get_credits())
		return false;
	take_all();
	/* The second cache must keep the credits that the first has given. */
	if (!ask(open_cache))
		return false;
	check_guards();
	give_all();
	for (int round = 0; round < 2; round++) {
		wf_stack_cache_flush(&run.caches[round]);
		wf_stack_pool_trim(&run.pool);
		assert_true(wf_stack_pool_check(&run.pool));
		if (!get_credits())
			return false;
		take_all();
		give_all();
	}
	return true;
}

/* With or without faults, everything can be freed. */
static void take_down(void)
{
	if (run.opened > 0)
		give_all();
	while (run.opened > 0)
		wf_stack_cache_close(&run.caches[--run.opened]);
	wf_stack_pool_trim(&run.pool);
	assert_true(wf_stack_pool_check(&run.pool));
	wf_stack_pool_close(&run.pool);
	wf_overflow_leave(&run.altstack);
	assert_true(os_faults_all_returned());
}

/* Let the nth call fail.  True: one did. */
static bool run_with(const struct run *how, size_t nth)
{
	os_faults_clear();
	os_faults_no_guards(how->no_guards);
	os_faults_plan(how->kinds, nth, how->times);
	run = *how;
	wf_stack_pool_open(&run.pool, &run.config);
	(void)go_through();
	take_down();
	return os_faults_injected() > 0;
}

/* ------------------------------------------------------------------------ */
/* All there is to fail. */

/* ThreadSanitizer takes long to map, and sees one thread here. */
#ifdef WF_TSAN
#define EVERY false
#else
#define EVERY true
#endif

/* Skip some where time is short. */
static size_t next(size_t nth)
{
	bool every = EVERY && threads_rounds(100) == 100;

	return every ? nth + 1 : nth + 1 + nth / 4;
}

/* How many runs met a failure, and how many got an error for it. */
static void sweep(struct run *how, size_t *failures, size_t *errors)
{
	for (size_t nth = 1; run_with(how, nth); nth = next(nth)) {
		*failures += 1;
		*errors += run.errors > 0;
	}
	assert_int_equal(run.errors, 0);
}

static void check_kinds(const struct wf_stack_config *config, bool no_guards)
{
	for (unsigned kind = 0; kind <= OS_FAULTS_KINDS; kind++) {
		size_t failures = 0, errors = 0;
		struct run how = { .config = *config, .no_guards = no_guards,
			.kinds = kind < OS_FAULTS_KINDS ? 1u << kind :
							  OS_FAULTS_ALL };

		for (int i = 0; i < 4; i++) {
			how.gives_up = i % 2;
			how.times = i / 2 ? OS_FAULTS_FOREVER : 1;
			sweep(&how, &failures, &errors);
		}
		printf("kinds %#x: %zu runs with a fault, %zu with an error\n",
			how.kinds, failures, errors);
		/* Every step maps memory, and nothing can replace it. */
		if (how.kinds & OS_FAULTS_MAP)
			assert_true(errors > 0);
	}
}

static void stacks_with_guards(void **state)
{
	const struct wf_stack_config config = { .depot_bytes = 4 * WF_MIB };

	(void)state;
	check_kinds(&config, false);
}

static void stacks_with_protected_pages(void **state)
{
	const struct wf_stack_config config = { .depot_bytes = 4 * WF_MIB };

	(void)state;
	check_kinds(&config, true);
}

static void stacks_that_must_have_guards(void **state)
{
	const struct wf_stack_config config = { .depot_bytes = 4 * WF_MIB,
		.strict_guards = true };

	(void)state;
	check_kinds(&config, true);
}

static void stacks_that_must_be_wiped(void **state)
{
	const struct wf_stack_config config = { .wipe = true };

	(void)state;
	check_kinds(&config, false);
}

/* Without an alternate stack wf_overflow_enter fails. */
static void without_an_alternate_stack_enter_fails(void **state)
{
	const stack_t none = { .ss_flags = SS_DISABLE };
	struct wf_os_altstack a;
	stack_t before;

	(void)state;
	assert_int_equal(sigaltstack(&none, &before), 0);
	os_faults_clear();
	os_faults_plan(OS_FAULTS_MAP, 1, 1);
	assert_int_equal(wf_overflow_enter(&a), -ENOMEM);
	assert_int_equal(wf_overflow_enter(&a), 0);
	wf_overflow_leave(&a);
	assert_true(os_faults_all_returned());
	assert_int_equal(sigaltstack(&before, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_with_guards),
		cmocka_unit_test(stacks_with_protected_pages),
		cmocka_unit_test(stacks_that_must_have_guards),
		cmocka_unit_test(stacks_that_must_be_wiped),
		cmocka_unit_test(without_an_alternate_stack_enter_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
