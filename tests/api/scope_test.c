/* SPDX-License-Identifier: MIT */
/*
 * tests/api/scope_test.c - a scope waits for all its fibers and gives the first
 * error; its members may start more fibers in it, and misuse is one line.
 */
#include "api/scope_kit.h"
#include "os/child.h"

/* ------------------------------------------------------------------------ */
/* Waiting for all, and results. */

static void *empty_ones(void *arg)
{
	weft_scope s, inner;

	open_scope(&s, WEFT_FOREVER);
	expect_eq(close_scope(&s), 0);
	open_scope(&s, weft_after(PATIENCE_NS));
	open_scope(&inner, WEFT_FOREVER);
	expect_eq(close_scope(&inner), 0);
	expect_eq(close_scope(&s), 0);
	expect_free();
	return arg;
}

static void an_empty_scope_closes(void **state)
{
	weft_scope s;

	(void)state;
	assert_int_equal(weft_scope_open(&s, WEFT_FOREVER), -EPERM);
	play(2, empty_ones, NULL);
}

struct slow {
	_Atomic(int) *ended;
	int number;
};

static int run_slow(void *arg)
{
	struct slow *slow = arg;

	for (int i = 0; i < slow->number % 7; i++)
		weft_yield();
	if (slow->number % 3 == 0)
		expect_eq(weft_sleep(NS_PER_MS), 0);
	atomic_fetch_add(slow->ended, 1);
	return 0;
}

static void *many_slow_ones(void *arg)
{
	enum { FIBERS = 100 };
	struct slow slow[FIBERS];
	_Atomic(int) ended = 0;
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	for (int i = 0; i < FIBERS; i++) {
		slow[i] = (struct slow){ &ended, i };
		go(&s, run_slow, &slow[i]);
	}
	expect_eq(close_scope(&s), 0);
	expect_eq(ended, FIBERS);
	return arg;
}

static void closing_waits_for_all(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++)
		play(workers, many_slow_ones, NULL);
}

static void *first_of_errors(void *arg)
{
	struct waiter first = { .result = 7 }, second = { .result = 8 };
	struct waiter blocked = { 0 };
	weft_scope s;
	int ran = 0;

	open_scope(&s, WEFT_FOREVER);
	go(&s, run_waiter, &first);
	go(&s, run_waiter, &second);
	go(&s, run_waiter, &blocked);
	weft_event_set(&first.event);
	expect(await_yielding(atomic_load(&blocked.ended)));
	expect_eq(blocked.got, -ECANCELED);
	expect(blocked.cancelled);
	/* The error cancels the owner, too. */
	expect(weft_cancelled());
	expect_eq(try_wait(), -ECANCELED);
	expect_eq(weft_scope_go(&s, run_nothing, &ran), -ECANCELED);
	expect_eq(close_scope(&s), 7);
	expect_eq(first.got, 0);
	expect_eq(ran, 0);
	expect_free();
	return arg;
}

/* It fails because another member has failed. */
static int fail_too(void *arg)
{
	struct waiter *w = arg;

	(void)run_waiter(w);
	return 8;
}

static void *second_error(void *arg)
{
	struct waiter w = { 0 };
	int seven = 7;
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	go(&s, fail_too, &w);
	go(&s, return_it, &seven);
	expect_eq(close_scope(&s), 7);
	expect_eq(w.got, -ECANCELED);
	return arg;
}

static void *results(void *arg)
{
	int numbers[] = { -5, 5, INT32_MIN, -ECANCELED, -ETIMEDOUT };
	weft_scope s;

	for (size_t i = 0; i < 5; i++) {
		open_scope(&s, WEFT_FOREVER);
		go(&s, return_it, &numbers[i]);
		expect_eq(close_scope(&s), numbers[i]);
		expect_free();
	}
	/* Also if the scope was cancelled, or late, before. */
	open_scope(&s, weft_after(SOON_NS));
	go(&s, return_it, &numbers[1]);
	expect_eq(weft_sleep(PATIENCE_NS) == 0, false);
	weft_scope_cancel(&s);
	expect_eq(close_scope(&s), 5);
	return arg;
}

static void the_first_error_cancels_and_is_the_result(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, first_of_errors, NULL);
		play(workers, second_error, NULL);
		play(workers, results, NULL);
	}
}

/* ------------------------------------------------------------------------ */
/* Members may start fibers in it; other fibers and threads may not. */

struct family {
	weft_scope *s;
	_Atomic(int) ran;
};

static int run_child(void *arg)
{
	struct family *family = arg;

	if (atomic_fetch_add(&family->ran, 1) < 100) {
		go(family->s, run_child, family);
		go(family->s, run_child, family);
	}
	return 0;
}

static void *a_growing_family(void *arg)
{
	weft_scope s;
	struct family family = { .s = &s };

	open_scope(&s, WEFT_FOREVER);
	go(&s, run_child, &family);
	expect_eq(close_scope(&s), 0);
	expect_eq(family.ran, 201);
	return arg;
}

static int count_family(void *arg)
{
	atomic_fetch_add(&((struct family *)arg)->ran, 1);
	return 0;
}

static int run_far_inside(void *arg)
{
	struct family *family = arg;

	go(family->s, count_family, family);
	return 0;
}

static int run_inside(void *arg)
{
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	go(&s, run_far_inside, arg);
	return close_scope(&s);
}

struct stranger {
	weft_scope *s;
	int got;
	weft_group done;
};

static void go_as_stranger(void *arg)
{
	struct stranger *x = arg;

	x->got = weft_scope_go(x->s, run_nothing, &x->got);
	weft_group_done(&x->done);
}

static int start_stranger(void *arg)
{
	struct stranger *x = arg;

	/* weft_go: the fiber does not belong to the scope. */
	weft_group_add(&x->done, 1);
	expect_eq(weft_go(go_as_stranger, x), 0);
	expect_eq(weft_group_wait(&x->done, WEFT_FOREVER), 0);
	return 0;
}

static void *members_only(void *arg)
{
	weft_scope s, inner;
	struct family family = { .s = &s };
	struct stranger x = { .s = &s };

	open_scope(&s, WEFT_FOREVER);
	go(&s, run_inside, &family);
	go(&s, start_stranger, &x);
	/* Into the outer scope, while an inner one is open. */
	open_scope(&inner, WEFT_FOREVER);
	go(&s, count_family, &family);
	expect_eq(close_scope(&inner), 0);
	expect_eq(close_scope(&s), 0);
	expect_eq(family.ran, 2);
	expect_eq(x.got, -EPERM);
	return arg;
}

static void go_from_thread(void *arg, unsigned i)
{
	struct stranger *x = arg;

	(void)i;
	x->got = weft_scope_go(x->s, run_nothing, &x->got);
}

static void *no_threads(void *arg)
{
	weft_scope s;
	struct stranger x = { .s = &s };

	open_scope(&s, WEFT_FOREVER);
	threads_run(1, go_from_thread, &x);
	expect_eq(close_scope(&s), 0);
	expect_eq(x.got, -EPERM);
	return arg;
}

static void only_members_may_start_more(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, a_growing_family, NULL);
		play(workers, members_only, NULL);
	}
	play(1, no_threads, NULL);
}

/* ------------------------------------------------------------------------ */
/* Many. */

static size_t many(void)
{
	return crowd(10000) / (API_TSAN ? 4 : 1);
}

static void *broad(void *arg)
{
	size_t n = many(), ended = 0;
	struct waiter *w = calloc(n, sizeof(*w));
	int64_t began;
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	for (size_t i = 0; i < n; i++)
		go(&s, run_waiter, &w[i]);
	for (size_t i = 0; i < n; i++)
		expect(await_yielding(atomic_load(&w[i].begun)));
	weft_yield();
	began = weft_now();
	weft_scope_cancel(&s);
	printf("%zu fibers: cancelled in %.1f ms", n,
		(double)(weft_now() - began) / 1e6);
	expect_eq(close_scope(&s), -ECANCELED);
	printf(", ended in %.1f ms\n", (double)(weft_now() - began) / 1e6);
	for (size_t i = 0; i < n; i++)
		ended += w[i].got == -ECANCELED;
	expect_eq(ended, n);
	free(w);
	return arg;
}

struct deep {
	size_t left;
	_Atomic(bool) *bottom;
};

static int run_deep(void *arg)
{
	struct deep *d = arg, below = { d->left - 1, d->bottom };
	weft_event never = { 0 };
	weft_scope s;

	if (d->left == 0) {
		*d->bottom = true;
		return weft_event_wait(&never, WEFT_FOREVER);
	}
	open_scope(&s, WEFT_FOREVER);
	go(&s, run_deep, &below);
	return close_scope(&s);
}

static void *deep(void *arg)
{
	_Atomic(bool) bottom = false;
	struct deep top = { many(), &bottom };
	int64_t began;
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	go(&s, run_deep, &top);
	expect(await_yielding(atomic_load(&bottom)));
	began = weft_now();
	weft_scope_cancel(&s);
	expect_eq(close_scope(&s), -ECANCELED);
	printf("%zu deep: ended in %.1f ms\n", top.left,
		(double)(weft_now() - began) / 1e6);
	return arg;
}

static void large_trees_are_cancelled(void **state)
{
	(void)state;
	play(2, broad, NULL);
	play(2, deep, NULL);
	play(1, deep, NULL);
}

/* ------------------------------------------------------------------------ */
/* What weft_fiber_look shows. */

static int look_at_oneself(void *arg)
{
	weft_fiber_info info;

	(void)arg;
	weft_fiber_look(weft_self(), &info);
	expect(info.entry == (void *)look_at_oneself);
	weft_yield();
	expect_eq(weft_sleep(1000), 0);
	weft_fiber_look(weft_self(), &info);
	expect(info.entry == (void *)look_at_oneself);
	return 0;
}

struct looked {
	weft_scope s;
	struct waiter w;
};

static void *closes(void *arg)
{
	struct looked *l = arg;

	open_scope(&l->s, WEFT_FOREVER);
	go(&l->s, run_waiter, &l->w);
	go(&l->s, look_at_oneself, NULL);
	return (void *)(intptr_t)weft_scope_close(&l->s);
}

static void *look(void *arg)
{
	struct looked l = { 0 };
	weft_fiber *f = spawn(closes, &l);
	weft_fiber_info info;

	do {
		weft_yield();
		weft_fiber_look(f, &info);
	} while (info.state != WEFT_FIBER_WAITING);
	expect(strcmp(info.waits_for, "scope") == 0);
	expect(info.waits_on == &l.s);
	weft_event_set(&l.w.event);
	expect_eq((intptr_t)join(f), 0);
	return arg;
}

static void fibers_of_a_scope_are_seen(void **state)
{
	(void)state;
	play(1, look, NULL);
}

/* ------------------------------------------------------------------------ */
/* Misuse. */

static void close_twice(void *arg)
{
	weft_scope s;

	(void)arg;
	open_scope(&s, WEFT_FOREVER);
	(void)!weft_scope_close(&s);
	(void)!weft_scope_close(&s);
}

static void close_in_wrong_order(void *arg)
{
	weft_scope a, b;

	(void)arg;
	open_scope(&a, WEFT_FOREVER);
	open_scope(&b, WEFT_FOREVER);
	(void)!weft_scope_close(&a);
}

static int close_of_owner(void *arg)
{
	return weft_scope_close(arg);
}

static void close_by_another(void *arg)
{
	weft_scope s;

	(void)arg;
	open_scope(&s, WEFT_FOREVER);
	go(&s, close_of_owner, &s);
	(void)!weft_scope_close(&s);
}

static weft_scope left_open;

static void leave_open(void *arg)
{
	(void)arg;
	open_scope(&left_open, WEFT_FOREVER);
}

static int leave_open_inside(void *arg)
{
	leave_open(arg);
	return 0;
}

static void member_leaves_open(void *arg)
{
	weft_scope s;

	(void)arg;
	open_scope(&s, WEFT_FOREVER);
	go(&s, leave_open_inside, NULL);
	(void)!weft_scope_close(&s);
}

static void go_when_closed(void *arg)
{
	weft_scope s;
	int ran = 0;

	(void)arg;
	open_scope(&s, WEFT_FOREVER);
	(void)!weft_scope_close(&s);
	(void)!weft_scope_go(&s, run_nothing, &ran);
}

static void cancel_when_closed(void *arg)
{
	weft_scope s;

	(void)arg;
	open_scope(&s, WEFT_FOREVER);
	(void)!weft_scope_close(&s);
	weft_scope_cancel(&s);
}

static int in_main(void *arg)
{
	void (*fn)(void *) = *(void (**)(void *))arg;

	fn(NULL);
	return 0;
}

static void in_runtime(void *arg)
{
	weft_config cfg = { .workers = 1 };

	if (weft_run(&cfg, in_main, arg) != 0)
		_exit(3);
}

static void *fiber_leaves_open(void *arg)
{
	leave_open(arg);
	return arg;
}

static void on_manual(void *arg)
{
	weft_executor *e = NULL;
	weft_fiber_attr attr = { 0 };
	weft_fiber *f = NULL;

	(void)arg;
	if (weft_manual_create(&e) != 0)
		_exit(3);
	attr.executor = e;
	if (weft_spawn(&f, &attr, fiber_leaves_open, NULL) != 0)
		_exit(3);
	(void)weft_manual_run(e, SIZE_MAX);
}

static void assert_line(struct child *c, const char *words)
{
	assert_true(child_killed_by(c, SIGABRT));
	assert_int_equal(strncmp(c->first, "weft: ", 6), 0);
	assert_non_null(strstr(c->first, words));
	assert_ptr_equal(strchr(c->first, '\n'), c->first + c->first_bytes - 1);
}

static void assert_ends(void (*fn)(void *), const char *words)
{
	struct child c;

	child_run(&c, in_runtime, &fn);
	assert_line(&c, words);
}

/* Children first: they are forked before any thread was here. */
static void misuse_is_one_line(void **state)
{
	struct child c;

	(void)state;
	assert_ends(close_twice, "not open in this fiber");
	assert_ends(close_in_wrong_order, "closes scope");
	assert_ends(close_by_another, "not open in this fiber");
	assert_ends(leave_open, "still open");
	assert_ends(member_leaves_open, "still open");
	assert_ends(go_when_closed, "weft_scope_go");
	assert_ends(cancel_when_closed, "weft_scope_cancel");
	child_run(&c, on_manual, NULL);
	assert_line(&c, "still open");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(misuse_is_one_line),
		cmocka_unit_test(an_empty_scope_closes),
		cmocka_unit_test(closing_waits_for_all),
		cmocka_unit_test(the_first_error_cancels_and_is_the_result),
		cmocka_unit_test(only_members_may_start_more),
		cmocka_unit_test(large_trees_are_cancelled),
		cmocka_unit_test(fibers_of_a_scope_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
