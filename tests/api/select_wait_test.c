/* SPDX-License-Identifier: MIT */
/*
 * tests/api/select_wait_test.c - a select that waits does the one case that
 * another fiber or thread makes ready, and leaves the others to later waiters.
 */
#include "api/select_kit.h"

#include <weft/weft.h>

/* ------------------------------------------------------------------------ */
/* Waiting for each of them. */

static void wait_for_value(size_t n, size_t at)
{
	static weft_case cases[MANY];
	weft_chan *c[MANY];
	int v[MANY], seven = 7;
	struct select s;
	weft_fiber *f;

	for (size_t i = 0; i < n; i++) {
		c[i] = chan_of_int(i % 2);
		v[i] = -1;
		cases[i] = case_of(WEFT_RECV, c[i], &v[i]);
	}
	f = select_begin(&s, cases, n);
	expect_eq(weft_chan_send(c[at], &seven, PATIENCE), 0);
	expect_eq(select_end(f), at);
	expect(only_done(cases, n, (int)at, 0));
	for (size_t i = 0; i < n; i++) {
		expect_eq(v[i], i == at ? 7 : -1);
		/* No waiter is left on the channel. */
		expect_eq(weft_chan_send(c[i], &seven, WEFT_NOW),
			i % 2 ? 0 : -ETIMEDOUT);
		weft_chan_unref(c[i]);
	}
}

static void wait_to_send(size_t n, size_t at)
{
	static weft_case cases[MANY];
	weft_chan *c[MANY];
	int v[MANY], got = -1;
	struct select s;
	weft_fiber *f;

	for (size_t i = 0; i < n; i++) {
		c[i] = i % 2 ? chan_with(99, 1) : chan_of_int(0);
		v[i] = (int)i;
		cases[i] = case_of(WEFT_SEND, c[i], &v[i]);
	}
	f = select_begin(&s, cases, n);
	expect_eq(weft_chan_recv(c[at], &got, PATIENCE), 0);
	expect_eq(got, at % 2 ? 99 : (int)at);
	expect_eq(select_end(f), at);
	expect(only_done(cases, n, (int)at, 0));
	for (size_t i = 0; i < n; i++) {
		bool full = i % 2;

		expect_eq(weft_chan_recv(c[i], &got, WEFT_NOW),
			full ? 0 : -ETIMEDOUT);
		if (full)
			expect_eq(got, i == at ? (int)at : 99);
		expect_eq(weft_chan_recv(c[i], &got, WEFT_NOW), -ETIMEDOUT);
		weft_chan_unref(c[i]);
	}
}

static void wait_for_close(size_t n, size_t at, int op)
{
	static weft_case cases[MANY];
	weft_chan *c[MANY];
	int v[MANY];
	struct select s;
	weft_fiber *f;

	for (size_t i = 0; i < n; i++) {
		c[i] = chan_of_int(0);
		v[i] = -1;
		cases[i] = case_of(op, c[i], &v[i]);
	}
	f = select_begin(&s, cases, n);
	expect_eq(weft_chan_close(c[at]), 0);
	expect_eq(select_end(f), at);
	expect(only_done(cases, n, (int)at, -EPIPE));
	for (size_t i = 0; i < n; i++) {
		expect_eq(v[i], -1);
		weft_chan_unref(c[i]);
	}
}

/* There is one worker: a select that is seen to wait is in all lists. */
static bool alone;

static void wait_for_event(size_t n, size_t at)
{
	static weft_case cases[MANY];
	static weft_event events[MANY];
	struct select s;
	weft_fiber *f;

	memset(events, 0, sizeof(events));
	for (size_t i = 0; i < n; i++)
		cases[i] = case_of(WEFT_EVENT, &events[i], NULL);
	f = select_begin(&s, cases, n);
	weft_event_set(&events[at]);
	/* A reset at once does not take the set back from a waiter. */
	if (alone)
		weft_event_reset(&events[at]);
	expect_eq(select_end(f), at);
	expect(only_done(cases, n, (int)at, 0));
	for (size_t i = 0; i < n; i++) {
		expect_eq(weft_event_wait(&events[i], WEFT_NOW),
			i == at && !alone ? 0 : -ETIMEDOUT);
		weft_event_set(&events[i]);
	}
}

static void *wait_for_each(void *arg)
{
	static const size_t sizes[] = { 1, 2, 3, 16, MANY };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i];

		for (size_t at = 0; at<n; at += n> 3 ? 5 : 1) {
			wait_for_value(n, at);
			wait_to_send(n, at);
			wait_for_close(n, at, WEFT_RECV);
			wait_for_close(n, at, WEFT_SEND);
			wait_for_event(n, at);
		}
	}
	return arg;
}

static void it_waits_for_each_case(void **state)
{
	(void)state;
	alone = true;
	play(1, wait_for_each, NULL);
	alone = false;
	play(3, wait_for_each, NULL);
}

/* There is no limit at 64. */
enum { VERY_MANY = 200 };

static void *wait_for_many(void *arg)
{
	static weft_case cases[VERY_MANY];
	weft_chan *c = chan_of_int(0), *last = chan_of_int(0);
	int v = -1, seven = 7;
	struct select s;
	weft_fiber *f;

	for (size_t i = 0; i < VERY_MANY; i++)
		cases[i] = case_of(WEFT_RECV, c, &v);
	cases[VERY_MANY - 1].obj = last;
	f = select_begin(&s, cases, VERY_MANY);
	expect_eq(weft_chan_send(last, &seven, PATIENCE), 0);
	expect_eq(select_end(f), VERY_MANY - 1);
	expect_eq(v, 7);
	expect(only_done(cases, VERY_MANY, VERY_MANY - 1, 0));
	weft_chan_unref(c);
	weft_chan_unref(last);
	return arg;
}

static void there_may_be_very_many_cases(void **state)
{
	(void)state;
	play(2, wait_for_many, NULL);
}

/* A plain thread selects; the test cannot see when it waits. */
static struct {
	weft_chan *c[4];
	weft_event event;
	weft_fiber *f;
} outside;

static void thread_selects(void *arg, unsigned self)
{
	int v = -1, eight = 8, n;
	weft_case cases[] = { case_of(WEFT_RECV, outside.c[0], &v),
		case_of(WEFT_SEND, outside.c[1], &eight),
		case_of(WEFT_RECV, outside.c[2], &v),
		case_of(WEFT_EVENT, &outside.event, NULL),
		case_of(WEFT_JOIN, outside.f, NULL) };
	int which = *(int *)arg;

	if (self == 0) {
		n = weft_select(cases, 5, PATIENCE);
		expect_eq(n, which);
		expect(only_done(cases, 5, which, which == 2 ? -EPIPE : 0));
		expect_eq(v, which == 0 ? 8 : -1);
		return;
	}
	nap_ns(5 * NS_PER_MS);
	if (which == 0)
		expect_eq(weft_chan_send(outside.c[0], &eight, PATIENCE), 0);
	else if (which == 1)
		expect_eq(weft_chan_recv(outside.c[1], &v, PATIENCE), 0);
	else if (which == 2)
		expect_eq(weft_chan_close(outside.c[2]), 0);
	else if (which == 3)
		weft_event_set(&outside.event);
	else
		expect_eq(weft_chan_close(outside.c[3]), 0);
	if (which == 1)
		expect_eq(v, 8);
}

static void *until_closed(void *c)
{
	expect_eq(weft_chan_recv(c, NULL, PATIENCE), -EPIPE);
	return c;
}

static void a_plain_thread_selects_too(void **state)
{
	weft_rt *rt = rt_workers(1);

	(void)state;
	for (int which = 0; which < 5; which++) {
		for (size_t i = 0; i < 4; i++)
			outside.c[i] = chan_of_int(0);
		weft_event_reset(&outside.event);
		assert_int_equal(weft_rt_spawn(rt, &outside.f, NULL,
					 until_closed, outside.c[3]),
			0);
		threads_run(2, thread_selects, &which);
		assert_expected();
		(void)weft_chan_close(outside.c[3]);
		/* A case that was not done has left the handle alone. */
		if (which != 4)
			assert_int_equal(
				weft_join(outside.f, NULL, PATIENCE), 0);
		else
			assert_int_equal(weft_rt_wait_idle(rt, PATIENCE), 0);
		for (size_t i = 0; i < 4; i++)
			weft_chan_unref(outside.c[i]);
	}
	rt_end(rt);
}

/* ------------------------------------------------------------------------ */
/* Fibers that end. */

static void *wait_for_go(void *baton)
{
	baton_wait(baton);
	return baton;
}

static void *join_by_select(void *arg)
{
	static struct baton baton[2];
	weft_fiber *child[2], *f;
	void *result[2] = { NULL, NULL };
	weft_case cases[2];
	struct select s;

	for (size_t i = 0; i < 2; i++) {
		child[i] = spawn(wait_for_go, &baton[i]);
		cases[i] = case_of(WEFT_JOIN, child[i], &result[i]);
	}
	/* Not yet; a fiber that ended; without a place for its result. */
	expect_eq(weft_select(cases, 2, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_select(cases, 2, weft_after(NS_PER_MS)), -ETIMEDOUT);
	f = select_begin(&s, cases, 2);
	baton_put(&baton[1], WEFT_HINT_DEFAULT);
	expect_eq(select_end(f), 1);
	expect(only_done(cases, 2, 1, 0));
	expect(result[0] == NULL && result[1] == &baton[1]);

	baton_put(&baton[0], WEFT_HINT_DEFAULT);
	expect(await_yielding(state_of(child[0]) == WEFT_FIBER_DONE));
	cases[1] = never();
	expect_eq(weft_select(cases, 2, WEFT_NOW), 0);
	expect(only_done(cases, 2, 0, 0));
	expect(result[0] == &baton[0]);

	child[0] = spawn(echo, arg);
	cases[0] = case_of(WEFT_JOIN, child[0], NULL);
	expect_eq(weft_select(cases, 1, PATIENCE), 0);
	expect(only_done(cases, 1, 0, 0));
	return arg;
}

/* Another case is done: the handle can be joined as before. */
static void *join_not_chosen(void *arg)
{
	static struct baton baton;
	weft_fiber *child = spawn(wait_for_go, &baton), *f;
	weft_chan *c = chan_of_int(0);
	void *result = NULL;
	int v = -1, seven = 7;
	weft_case cases[] = { case_of(WEFT_JOIN, child, &result),
		case_of(WEFT_RECV, c, &v) };
	struct select s;

	f = select_begin(&s, cases, 2);
	expect_eq(weft_chan_send(c, &seven, PATIENCE), 0);
	expect_eq(select_end(f), 1);
	expect(only_done(cases, 2, 1, 0));
	expect(result == NULL && v == 7);
	expect_eq(weft_join(child, NULL, WEFT_NOW), -ETIMEDOUT);
	cases[1].result = UNTOUCHED;
	expect_eq(weft_select(cases, 2, weft_after(NS_PER_MS)), -ETIMEDOUT);
	baton_put(&baton, WEFT_HINT_DEFAULT);
	expect(join(child) == &baton);
	weft_chan_unref(c);
	return arg;
}

static void *join_oneself(void *arg)
{
	weft_chan *c = chan_with(1, 1);
	weft_case cases[] = { case_of(WEFT_JOIN, weft_self(), NULL),
		case_of(WEFT_RECV, c, NULL) };

	expect_eq(weft_select(cases, 2, WEFT_FOREVER), -EDEADLK);
	expect(only_done(cases, 2, -1, 0));
	expect_eq(weft_chan_len(c), 1);
	weft_chan_unref(c);
	return arg;
}

/* A fiber on the inline executor; the join frees its memory. */
static void *join_foreign(void *arg)
{
	weft_fiber_attr attr = { .executor = weft_inline() };
	void *result = NULL;
	weft_fiber *f = NULL;
	weft_case cases[2] = { never() };

	expect_eq(weft_spawn(&f, &attr, echo, &attr), 0);
	cases[1] = case_of(WEFT_JOIN, f, &result);
	expect_eq(weft_select(cases, 2, PATIENCE), 1);
	expect(only_done(cases, 2, 1, 0));
	expect(result == &attr);
	return arg;
}

static void it_joins_fibers(void **state)
{
	(void)state;
	both(join_foreign, NULL);
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, join_by_select, NULL);
		play(workers, join_not_chosen, NULL);
		play(workers, join_oneself, NULL);
	}
}

/* ------------------------------------------------------------------------ */
/* One channel in several cases. */

static void *one_channel_twice(void *arg)
{
	for (size_t capacity = 0; capacity <= 2; capacity++) {
		weft_chan *c = chan_of_int(capacity);
		int v[3] = { -1, -1, -1 }, seven = 7, n;
		weft_case cases[] = { case_of(WEFT_RECV, c, &v[0]),
			case_of(WEFT_RECV, c, &v[1]),
			case_of(WEFT_RECV, c, &v[2]) };
		struct select s;
		weft_fiber *f = select_begin(&s, cases, 3);

		expect_eq(weft_chan_send(c, &seven, PATIENCE), 0);
		n = select_end(f);
		expect(n >= 0 && n < 3 && only_done(cases, 3, n, 0));
		for (int i = 0; i < 3; i++)
			expect_eq(v[i], i == n ? 7 : -1);
		expect_eq(weft_chan_send(c, &seven, WEFT_NOW),
			capacity ? 0 : -ETIMEDOUT);

		expect_eq(weft_chan_close(c), 0);
		if (capacity)
			expect_eq(weft_chan_recv(c, NULL, WEFT_NOW), 0);
		cases[n].result = UNTOUCHED;
		n = weft_select(cases, 3, WEFT_FOREVER);
		expect(n >= 0 && n < 3 && only_done(cases, 3, n, -EPIPE));
		weft_chan_unref(c);
	}
	return arg;
}

/* A close ends a select with three cases on the channel once. */
static void *one_channel_closed(void *arg)
{
	weft_chan *c = chan_of_int(0);
	int v = -1, n;
	weft_case cases[] = { case_of(WEFT_RECV, c, &v),
		case_of(WEFT_SEND, c, &v), case_of(WEFT_RECV, c, &v) };
	struct select s;
	weft_fiber *f = select_begin(&s, cases, 3);

	expect_eq(weft_chan_close(c), 0);
	n = select_end(f);
	expect(n >= 0 && n < 3 && only_done(cases, 3, n, -EPIPE));
	expect_eq(v, -1);
	weft_chan_unref(c);
	return arg;
}

/* A select does not meet itself; a sender or a receiver meets it. */
static void *send_and_receive(void *arg)
{
	weft_chan *c = chan_of_int(0);
	int in = -1, out = 8, v = 9;
	weft_case cases[] = { case_of(WEFT_SEND, c, &out),
		case_of(WEFT_RECV, c, &in) };
	struct select s;
	weft_fiber *f;

	expect_eq(weft_select(cases, 2, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_select(cases, 2, weft_after(NS_PER_MS)), -ETIMEDOUT);
	f = select_begin(&s, cases, 2);
	expect_eq(weft_chan_send(c, &v, PATIENCE), 0);
	expect_eq(select_end(f), 1);
	expect(only_done(cases, 2, 1, 0) && in == 9);

	cases[1].result = UNTOUCHED;
	f = select_begin(&s, cases, 2);
	expect_eq(weft_chan_recv(c, &v, PATIENCE), 0);
	expect_eq(select_end(f), 0);
	expect(only_done(cases, 2, 0, 0) && v == 8);
	weft_chan_unref(c);
	return arg;
}

static void one_channel_may_be_in_several_cases(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, one_channel_twice, NULL);
		play(workers, one_channel_closed, NULL);
		play(workers, send_and_receive, NULL);
	}
}

/*
 * Every way to put one channel into 2 to 4 cases, some of which send and some
 * receive: the select waits; then a sender, a receiver or a close ends it.
 */
enum { CASES_MAX = 4, BY_SEND = 0, BY_RECV, BY_CLOSE, BYS };

static void fill_cases(weft_case *cases, weft_chan *c, unsigned sends, size_t n,
	int *in, int *out)
{
	for (size_t i = 0; i < n; i++) {
		in[i] = -1;
		out[i] = 10 + (int)i;
		cases[i] = sends >> i & 1 ? case_of(WEFT_SEND, c, &out[i])
					  : case_of(WEFT_RECV, c, &in[i]);
	}
}

static void meet_select(unsigned sends, size_t n, int by)
{
	static weft_case cases[CASES_MAX];
	static int in[CASES_MAX], out[CASES_MAX];
	weft_chan *c = chan_of_int(0);
	int v = 99, done, op;
	struct select s;
	weft_fiber *f;

	fill_cases(cases, c, sends, n, in, out);
	expect_eq(weft_select(cases, n, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_select(cases, n, weft_after(1)), -ETIMEDOUT);
	f = select_begin(&s, cases, n);
	if (by == BY_CLOSE)
		expect_eq(weft_chan_close(c), 0);
	else if (by == BY_SEND)
		expect_eq(weft_chan_send(c, &v, PATIENCE), 0);
	else
		expect_eq(weft_chan_recv(c, &v, PATIENCE), 0);
	done = select_end(f);
	expect(done >= 0 && done < (int)n);
	expect(only_done(cases, n, done, by == BY_CLOSE ? -EPIPE : 0));
	op = cases[done].op;
	if (by != BY_CLOSE)
		expect_eq(op, by == BY_SEND ? WEFT_RECV : WEFT_SEND);
	if (by == BY_RECV)
		expect_eq(v, out[done]);
	for (int i = 0; i < (int)n; i++)
		expect_eq(in[i], by == BY_SEND && i == done ? 99 : -1);
	weft_chan_unref(c);
}

static void *mixed_cases(void *arg)
{
	for (size_t n = 2; n <= CASES_MAX; n++)
		for (unsigned sends = 1; sends < (1u << n) - 1; sends++)
			for (int by = 0; by < BYS; by++)
				meet_select(sends, n, by);
	return arg;
}

/* Two selects on one channel, each of which could send and receive. */
static void meet_each_other(unsigned sends, unsigned others, size_t n)
{
	static weft_case one[CASES_MAX], two[CASES_MAX];
	static int in[2][CASES_MAX], out[2][CASES_MAX];
	weft_chan *c = chan_of_int(0);
	int mine, other;
	struct select s;
	weft_fiber *f;

	fill_cases(one, c, sends, n, in[0], out[0]);
	fill_cases(two, c, others, n, in[1], out[1]);
	f = select_begin(&s, one, n);
	mine = weft_select(two, n, PATIENCE);
	other = select_end(f);
	expect(only_done(two, n, mine, 0) && only_done(one, n, other, 0));
	if (expect(mine >= 0 && other >= 0)) {
		expect(two[mine].op != one[other].op);
		expect_eq(two[mine].op == WEFT_RECV ? in[1][mine]
						    : out[1][mine],
			one[other].op == WEFT_RECV ? in[0][other]
						   : out[0][other]);
	}
	weft_chan_unref(c);
}

static void *mixed_selects(void *arg)
{
	enum { N = 3, ALL = (1u << N) - 1 };

	for (unsigned sends = 1; sends < ALL; sends++)
		for (unsigned others = 1; others < ALL; others++)
			meet_each_other(sends, others, N);
	return arg;
}

static void one_channel_may_be_in_send_and_receive_cases(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, mixed_cases, NULL);
		play(workers, mixed_selects, NULL);
	}
}

/* Two selects, both of which could send and receive. */
static void *two_selects(void *arg)
{
	for (int i = 0; i < (int)rounds(500); i++) {
		weft_chan *a = chan_of_int(0), *b = chan_of_int(0);
		int in[2] = { -1, -1 }, out[2] = { 10, 20 }, mine, other;
		weft_case one[] = { case_of(WEFT_SEND, a, &out[0]),
			case_of(WEFT_RECV, b, &in[0]) };
		weft_case two[] = { case_of(WEFT_SEND, b, &out[1]),
			case_of(WEFT_RECV, a, &in[1]) };
		struct select s = { one, 2, WEFT_FOREVER };
		weft_fiber *f = spawn(select_fiber, &s);

		if (i % 2)
			weft_yield();
		mine = weft_select(two, 2, PATIENCE);
		other = select_end(f);
		expect(mine + other == 1);
		expect(only_done(one, 2, other, 0) &&
			only_done(two, 2, mine, 0));
		expect_eq(in[0], mine == 0 ? 20 : -1);
		expect_eq(in[1], mine == 1 ? 10 : -1);
		weft_chan_unref(a);
		weft_chan_unref(b);
	}
	return arg;
}

static void two_selects_meet(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++)
		play(workers, two_selects, NULL);
}

/* ------------------------------------------------------------------------ */
/* A value that a select does not take is for the waiter behind it. */

static void *receive_int(void *c)
{
	int v = -1;

	expect_eq(weft_chan_recv(c, &v, PATIENCE), 0);
	return (void *)(intptr_t)v;
}

static bool waits(weft_fiber *f)
{
	return state_of(f) == WEFT_FIBER_WAITING;
}

static void *receiver_behind(void *arg)
{
	weft_chan *a = chan_of_int(0), *b = chan_of_int(0);
	int v[2] = { -1, -1 }, seven = 7, eight = 8;
	weft_case cases[] = { case_of(WEFT_RECV, a, &v[0]),
		case_of(WEFT_RECV, b, &v[1]) };
	struct select s;
	weft_fiber *first = select_begin(&s, cases, 2), *behind;

	behind = spawn(receive_int, a);
	expect(await_yielding(waits(behind)));
	expect_eq(weft_chan_send(b, &seven, PATIENCE), 0);
	expect_eq(weft_chan_send(a, &eight, PATIENCE), 0);
	expect_eq((intptr_t)join(behind), 8);
	expect_eq(select_end(first), 1);
	expect(v[0] == -1 && v[1] == 7);

	/* The select in front times out: the waiter behind is served. */
	cases[1].result = UNTOUCHED;
	s.deadline = weft_after(NS_PER_MS);
	first = spawn(select_fiber, &s);
	expect(await_yielding(state_of(first) != WEFT_FIBER_RUNNABLE));
	behind = spawn(receive_int, a);
	expect_eq(select_end(first), -ETIMEDOUT);
	expect_eq(weft_chan_send(a, &eight, PATIENCE), 0);
	expect_eq((intptr_t)join(behind), 8);
	weft_chan_unref(a);
	weft_chan_unref(b);
	return arg;
}

static void waiters_behind_a_select_are_served(void **state)
{
	(void)state;
	play(1, receiver_behind, NULL);
	play(2, receiver_behind, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_for_each_case),
		cmocka_unit_test(there_may_be_very_many_cases),
		cmocka_unit_test(a_plain_thread_selects_too),
		cmocka_unit_test(it_joins_fibers),
		cmocka_unit_test(one_channel_may_be_in_several_cases),
		cmocka_unit_test(one_channel_may_be_in_send_and_receive_cases),
		cmocka_unit_test(two_selects_meet),
		cmocka_unit_test(waiters_behind_a_select_are_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
