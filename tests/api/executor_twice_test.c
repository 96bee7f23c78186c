/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_twice_test.c - a task that is submitted again while it is
 * still queued ends the program with one line that names it.
 *
 * Only debug builds of the library look for it (weft/task.h).  In other builds
 * the behaviour is not defined.
 */
#include "api/api.h"

#include <weft/weft.h>

#include "os/child.h"
#include "support/skip.h"

#ifdef WF_DEBUG
#define FOUND 1
#else
#define FOUND 0
#endif

/* ------------------------------------------------------------------------ */
/* In a child: no assertions here. */

static weft_task twice, blocker;
static weft_executor *where;

static void block(weft_task *task)
{
	(void)task;
	nap_ns(PATIENCE_NS);
}

static void nothing(weft_task *task)
{
	(void)task;
}

/* The second submit does not return. */
static void submit_twice(weft_task *task)
{
	(void)task;
	twice.run = nothing;
	for (unsigned i = 0; i < 2; i++)
		if (weft_submit(where, &twice, WEFT_HINT_DEFAULT) != 0)
			_exit(3);
}

/* A blocker keeps the executor busy, so the task stays queued. */
static void submit_behind_blocker(void)
{
	blocker.run = block;
	if (weft_submit(where, &blocker, WEFT_HINT_DEFAULT) != 0)
		_exit(2);
	nap_ns(20 * NS_PER_MS);
	submit_twice(NULL);
}

static void submit_inside(void)
{
	blocker.run = submit_twice;
	if (weft_submit(where, &blocker, WEFT_HINT_DEFAULT) != 0)
		_exit(2);
	nap_ns(PATIENCE_NS);
}

static void on_runtime(const char *words, bool inside)
{
	weft_policy policy = { 0 };
	weft_config cfg = { .workers = 1, .policy = &policy };
	weft_rt *rt;

	if (weft_policy_parse(&policy, words, NULL, 0) != 0 ||
		weft_rt_start(&rt, &cfg) != 0)
		_exit(4);
	where = weft_rt_executor(rt);
	if (inside)
		submit_inside();
	else
		submit_behind_blocker();
}

static void twice_from_outside(void *arg)
{
	on_runtime(arg, false);
}

static void twice_from_inside(void *arg)
{
	on_runtime(arg, true);
}

static void twice_to_pool(void *arg)
{
	(void)arg;
	if (weft_pool_create(&where, 1) != 0)
		_exit(4);
	submit_behind_blocker();
}

static void twice_to_manual(void *arg)
{
	(void)arg;
	if (weft_manual_create(&where) != 0)
		_exit(4);
	submit_twice(NULL);
}

static void twice_to_strand(void *arg)
{
	weft_executor *manual;

	(void)arg;
	if (weft_manual_create(&manual) != 0 ||
		weft_strand_create(&where, manual) != 0)
		_exit(4);
	submit_twice(NULL);
}

/* Another task is between the two submits. */
static void twice_to_strand_apart(void *arg)
{
	static weft_task between = { .run = nothing };
	weft_executor *manual;

	(void)arg;
	twice.run = nothing;
	if (weft_manual_create(&manual) != 0 ||
		weft_strand_create(&where, manual) != 0 ||
		weft_submit(where, &twice, WEFT_HINT_DEFAULT) != 0 ||
		weft_submit(where, &between, WEFT_HINT_DEFAULT) != 0)
		_exit(4);
	(void)!weft_submit(where, &twice, WEFT_HINT_DEFAULT);
}

static void twice_to_inline(void *arg)
{
	(void)arg;
	where = weft_inline();
	blocker.run = submit_twice;
	(void)!weft_submit(where, &blocker, WEFT_HINT_DEFAULT);
}

/* To one executor, and then to another. */
static void twice_to_two(void *arg)
{
	weft_executor *a, *b;

	(void)arg;
	twice.run = nothing;
	if (weft_manual_create(&a) != 0 || weft_manual_create(&b) != 0 ||
		weft_submit(a, &twice, WEFT_HINT_DEFAULT) != 0)
		_exit(4);
	(void)!weft_submit(b, &twice, WEFT_HINT_DEFAULT);
}

/* ------------------------------------------------------------------------ */

static void assert_found(void (*fn)(void *), void *arg)
{
	char name[32];
	struct child c;

	if (!FOUND)
		skip_because("only debug builds look for it");
	snprintf(name, sizeof(name), "%p", (void *)&twice);
	child_run(&c, fn, arg);
	if (!child_killed_by(&c, SIGABRT))
		fail_msg("status %#x: %s", (unsigned)c.status, c.text);
	assert_int_equal(strncmp(c.first, "weft: ", 6), 0);
	if (!strstr(c.first, name) || !strstr(c.first, "submitted again"))
		fail_msg("%s or \"submitted again\" is not in: %s", name,
			c.first);
	assert_ptr_equal(strchr(c.first, '\n'), c.first + c.first_bytes - 1);
}

static void a_runtime_finds_it(void **state)
{
	static const char *const words[] = { "ws", "no-lifo", "mutex",
		"global-fifo", "bounded", "lock-free" };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		printf("%s\n", words[i]);
		assert_found(twice_from_outside, (void *)words[i]);
		assert_found(twice_from_inside, (void *)words[i]);
	}
}

static void a_pool_finds_it(void **state)
{
	(void)state;
	assert_found(twice_to_pool, NULL);
}

static void a_manual_executor_finds_it(void **state)
{
	(void)state;
	assert_found(twice_to_manual, NULL);
	assert_found(twice_to_two, NULL);
}

static void a_strand_finds_it(void **state)
{
	(void)state;
	assert_found(twice_to_strand, NULL);
	assert_found(twice_to_strand_apart, NULL);
}

static void the_inline_executor_finds_it(void **state)
{
	(void)state;
	assert_found(twice_to_inline, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_runtime_finds_it),
		cmocka_unit_test(a_pool_finds_it),
		cmocka_unit_test(a_manual_executor_finds_it),
		cmocka_unit_test(a_strand_finds_it),
		cmocka_unit_test(the_inline_executor_finds_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
