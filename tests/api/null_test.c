/* SPDX-License-Identifier: MIT */
/*
 * tests/api/null_test.c - a call that is given no function to run returns
 * -EINVAL and leaves nothing behind: no fiber, no member of a scope, no handle.
 *
 * The last test reads the public headers: a new call that takes a function must
 * have a line in one of the tables here.
 */
#include "api/api.h"

#include <dirent.h>
#include <limits.h>

/* Every executor there is, over one runtime and one pool. */
enum { RUNTIME, POOL, MANUAL, STRAND, INLINE, EXECUTORS };

static weft_rt *rt;
static weft_executor *executors[EXECUTORS];
static weft_fiber *const untouched = (weft_fiber *)0x5a5a;

/* ------------------------------------------------------------------------ */
/* The calls, each without a function; e is the executor to use, if any. */

struct call {
	const char *name;
	int (*make)(weft_executor *e);
	enum { ANYWHERE, FIBER, THREAD } where;
};

static int go(weft_executor *e)
{
	(void)e;
	return weft_go(NULL, NULL);
}

/* With every attribute that leads another way through the library. */
static int spawn_null(weft_executor *e)
{
	const weft_fiber_attr plain = { .executor = e },
			      named = { .executor = e, .name = "none" },
			      large = { .executor = e, .stack_bytes = 1 << 18 },
			      late = { .executor = e, .hint = WEFT_HINT_YIELD };
	const weft_fiber_attr *attrs[] = { NULL, &plain, &named, &large,
		&late };
	weft_fiber *f = untouched;

	for (size_t i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++) {
		expect_eq(weft_spawn(&f, attrs[i], NULL, NULL), -EINVAL);
		expect(f == untouched);
	}
	return -EINVAL;
}

/* Closing the scope would hang if a member had been counted. */
static int scope_go(weft_executor *e)
{
	weft_scope s;
	int err;

	(void)e;
	expect_eq(weft_scope_open(&s, WEFT_FOREVER), 0);
	err = weft_scope_go(&s, NULL, NULL);
	expect_eq(weft_scope_close(&s), 0);
	return err;
}

static int rt_go(weft_executor *e)
{
	(void)e;
	return weft_rt_go(rt, NULL, NULL);
}

static int rt_spawn(weft_executor *e)
{
	const weft_fiber_attr named = { .name = "none" };
	weft_fiber *f = untouched;
	int err = weft_rt_spawn(rt, &f, NULL, NULL, NULL);

	(void)e;
	expect_eq(weft_rt_spawn(rt, &f, &named, NULL, NULL), -EINVAL);
	expect(f == untouched);
	return err;
}

static int submit(weft_executor *e)
{
	weft_task task = { 0 };

	for (unsigned i = 0; i < HINTS; i++)
		expect_eq(weft_submit(e, &task, hints[i]), -EINVAL);
	expect(task.run == NULL && task.next_ == NULL);
	return -EINVAL;
}

static int submit_fn(weft_executor *e)
{
	return weft_submit_fn(e, NULL, NULL);
}

static int strand_call(weft_executor *e)
{
	(void)e;
	return weft_strand_call(executors[STRAND], NULL, NULL);
}

static int run(weft_executor *e)
{
	(void)e;
	return weft_run(NULL, NULL, NULL);
}

static const struct call calls[] = {
	{ "weft_go", go, FIBER },
	{ "weft_spawn", spawn_null, ANYWHERE },
	{ "weft_scope_go", scope_go, FIBER },
	{ "weft_rt_go", rt_go, ANYWHERE },
	{ "weft_rt_spawn", rt_spawn, ANYWHERE },
	{ "weft_submit", submit, ANYWHERE },
	{ "weft_submit_fn", submit_fn, ANYWHERE },
	{ "weft_strand_call", strand_call, ANYWHERE },
	{ "weft_run", run, THREAD },
	{ "weft_run_sized", run, THREAD },
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

/* A key may be without a destructor; weft_once_do aborts. */
static const char *const others[] = { "weft_key_create", "weft_once_do" };
enum { OTHERS = sizeof(others) / sizeof(others[0]) };

/* ------------------------------------------------------------------------ */

static int set_up(void **state)
{
	(void)state;
	rt = rt_workers(2);
	executors[RUNTIME] = weft_rt_executor(rt);
	executors[INLINE] = weft_inline();
	assert_int_equal(weft_pool_create(&executors[POOL], 2), 0);
	assert_int_equal(weft_manual_create(&executors[MANUAL]), 0);
	assert_int_equal(
		weft_strand_create(&executors[STRAND], executors[POOL]), 0);
	return 0;
}

/* An executor that had accepted anything would crash, or never be at rest. */
static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(weft_manual_run(executors[MANUAL], SIZE_MAX), 0);
	assert_int_equal(weft_executor_destroy(executors[MANUAL]), 0);
	assert_int_equal(weft_executor_destroy(executors[STRAND]), 0);
	assert_int_equal(weft_executor_destroy(executors[POOL]), 0);
	rt_end(rt);
	return 0;
}

static uint64_t spawned(void)
{
	weft_metrics m;

	assert_int_equal(weft_metrics_read(rt, &m, sizeof(m)), 0);
	return m.spawned;
}

static void make_calls(bool in_fiber)
{
	for (unsigned i = 0; i < CALLS; i++) {
		const struct call *c = &calls[i];

		if (c->where == (in_fiber ? THREAD : FIBER))
			continue;
		for (unsigned k = 0; k < EXECUTORS; k++)
			if (!expect_eq(c->make(executors[k]), -EINVAL))
				printf("%s, executor %u\n", c->name, k);
	}
}

static void *fiber(void *arg)
{
	make_calls(true);
	return arg;
}

/* The fiber that makes the calls runs on each executor in turn. */
static void test_in_fibers(void **state)
{
	(void)state;
	for (unsigned k = 0; k < EXECUTORS; k++) {
		const weft_fiber_attr on = { .executor = executors[k] };
		uint64_t before = spawned();
		weft_fiber *f;

		assert_int_equal(weft_spawn(&f, &on, fiber, NULL), 0);
		if (k == MANUAL)
			assert_int_equal(
				weft_manual_run(executors[k], SIZE_MAX), 1);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		assert_expected();
		assert_int_equal(spawned() - before, k == RUNTIME);
	}
}

static void test_on_a_plain_thread(void **state)
{
	uint64_t before = spawned();

	(void)state;
	make_calls(false);
	assert_expected();
	assert_int_equal(spawned(), before);
	assert_int_equal(weft_rt_wait_idle(rt, PATIENCE), 0);
}

/* ------------------------------------------------------------------------ */
/* The headers. */

static bool is_known(const char *name)
{
	for (unsigned i = 0; i < CALLS; i++)
		if (strcmp(calls[i].name, name) == 0)
			return true;
	for (unsigned i = 0; i < OTHERS; i++)
		if (strcmp(others[i], name) == 0)
			return true;
	return false;
}

/*
 * text is a declaration from its return type on.  If it is a call with a
 * function among its parameters, look for its name, and give 1; else 0.
 */
static unsigned look_at(const char *text, const char *end)
{
	const char *open = memchr(text, '(', (size_t)(end - text));
	const char *name = open;

	if (open == NULL || memmem(open, (size_t)(end - open), "(*", 2) == NULL)
		return 0;
	while (name > text && (name[-1] == '_' ||
				      (name[-1] >= 'a' && name[-1] <= 'z')))
		name--;
	if (!is_known(strndupa(name, (size_t)(open - name))))
		fail_msg("%.*s takes a function, and no table here has it",
			(int)(open - name), name);
	return 1;
}

/* Every declaration of a call begins with WEFT_API or is inline. */
static unsigned look_through(const char *text)
{
	static const char *const marks[] = { "\nWEFT_API ",
		"WEFT_MUST_CHECK static inline " };
	unsigned n = 0;

	for (unsigned i = 0; i < 2; i++) {
		size_t length = strlen(marks[i]);
		const char *at = text;

		while ((at = strstr(at, marks[i])) != NULL) {
			at += length;
			if (strncmp(at, "WEFT_MUST_CHECK ", 16) == 0)
				at += 16;
			n += look_at(at, at + strcspn(at, ";{"));
		}
	}
	return n;
}

static char *read_header(const char *name)
{
	char path[PATH_MAX], *text = calloc(1, 1 << 20);
	FILE *in;

	assert_non_null(text);
	snprintf(path, sizeof(path), "%s/%s", TEST_HEADERS, name);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_true(fread(text, 1, (1 << 20) - 1, in) < (1 << 20) - 1);
	fclose(in);
	return text;
}

static void test_no_call_is_forgotten(void **state)
{
	DIR *dir = opendir(TEST_HEADERS);
	struct dirent *entry;
	unsigned n = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		char *text;

		/* The simulator's functions run in the calling thread. */
		if (strstr(entry->d_name, ".h") == NULL ||
			strcmp(entry->d_name, "sim.h") == 0)
			continue;
		text = read_header(entry->d_name);
		n += look_through(text);
		free(text);
	}
	closedir(dir);
	/* weft_submit has its function in the task. */
	assert_int_equal(n, CALLS - 1 + OTHERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_in_fibers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_on_a_plain_thread, set_up, tear_down),
		cmocka_unit_test(test_no_call_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
