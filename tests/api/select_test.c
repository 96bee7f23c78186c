/* SPDX-License-Identifier: MIT */
/*
 * tests/api/select_test.c - a select with ready cases does one of them, each
 * with equal probability; without a ready case it waits for its deadline; it
 * does nothing to the other cases, and nothing at all when it fails.
 */
#include "api/select_kit.h"

#include <weft/weft.h>

/* ------------------------------------------------------------------------ */
/* One case that can be done, at once. */

static void expect_received(size_t n, size_t at, weft_time deadline)
{
	weft_chan *empty = chan_of_int(1), *c = chan_with(77, 1);
	weft_case cases[MANY];
	int v[MANY];

	for (size_t i = 0; i < n; i++) {
		v[i] = -1;
		cases[i] = case_of(WEFT_RECV, i % 3 ? empty : NULL, &v[i]);
	}
	cases[at].obj = c;
	expect_eq(weft_select(cases, n, deadline), at);
	expect(only_done(cases, n, (int)at, 0));
	for (size_t i = 0; i < n; i++)
		expect_eq(v[i], i == at ? 77 : -1);
	expect_eq(weft_chan_len(c), 0);
	weft_chan_unref(c);
	weft_chan_unref(empty);
}

static void expect_sent(size_t n, size_t at, weft_time deadline)
{
	weft_chan *full = chan_with(1, 1), *c = chan_of_int(1);
	weft_case cases[MANY];
	int v[MANY];

	for (size_t i = 0; i < n; i++) {
		v[i] = (int)i;
		cases[i] = case_of(WEFT_SEND, i % 3 ? full : NULL, &v[i]);
	}
	cases[at].obj = c;
	expect_eq(weft_select(cases, n, deadline), at);
	expect(only_done(cases, n, (int)at, 0));
	expect_eq(weft_chan_recv(c, &v[0], WEFT_NOW), 0);
	expect_eq(v[0], at);
	expect_eq(weft_chan_recv(full, &v[0], WEFT_NOW), 0);
	expect_eq(v[0], 1);
	expect_eq(weft_chan_len(full), 0);
	weft_chan_unref(c);
	weft_chan_unref(full);
}

static void expect_event(size_t n, size_t at, weft_time deadline)
{
	weft_event set = { 0 }, not_set = { 0 };
	weft_case cases[MANY];

	weft_event_set(&set);
	for (size_t i = 0; i < n; i++)
		cases[i] = case_of(WEFT_EVENT, i % 3 ? &not_set : NULL, NULL);
	cases[at].obj = &set;
	expect_eq(weft_select(cases, n, deadline), at);
	expect(only_done(cases, n, (int)at, 0));
	/* The chosen event is still set, and the other is not. */
	expect_eq(weft_event_wait(&set, WEFT_NOW), 0);
	expect_eq(weft_event_wait(&not_set, WEFT_NOW), -ETIMEDOUT);
}

static void *one_is_ready(void *arg)
{
	static const size_t sizes[] = { 1, 2, 3, 7, 63, MANY };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i];

		for (size_t at = 0; at<n; at += n> 7 ? 9 : 1) {
			expect_received(n, at, WEFT_NOW);
			expect_received(n, at, WEFT_FOREVER);
			expect_sent(n, at, WEFT_NOW);
			expect_sent(n, at, WEFT_FOREVER);
			expect_event(n, at, WEFT_NOW);
			expect_event(n, at, WEFT_FOREVER);
		}
		expect_received(n, n - 1, INT64_MIN);
	}
	return arg;
}

static void the_ready_case_is_done(void **state)
{
	(void)state;
	both(one_is_ready, NULL);
}

static void *closed_ones(void *arg)
{
	weft_chan *empty = chan_of_int(0), *some = chan_with(5, 3);
	int v = -1, w = -2;
	weft_case cases[] = { never(), case_of(WEFT_RECV, empty, &v) };

	expect_eq(weft_chan_close(empty), 0);
	expect_eq(weft_chan_close(some), 0);
	expect_eq(weft_select(cases, 2, WEFT_FOREVER), 1);
	expect(only_done(cases, 2, 1, -EPIPE));
	expect_eq(v, -1);

	cases[1] = case_of(WEFT_SEND, some, &v);
	expect_eq(weft_select(cases, 2, WEFT_FOREVER), 1);
	expect(only_done(cases, 2, 1, -EPIPE));

	cases[1] = case_of(WEFT_RECV, some, &w);
	expect_eq(weft_select(cases, 2, WEFT_FOREVER), 1);
	expect(only_done(cases, 2, 1, 0));
	expect_eq(w, 5);
	cases[1].result = UNTOUCHED;
	expect_eq(weft_select(cases, 2, WEFT_NOW), 1);
	expect(only_done(cases, 2, 1, -EPIPE));
	expect_eq(w, 5);
	weft_chan_unref(empty);
	weft_chan_unref(some);
	return arg;
}

static void a_closed_channel_is_ready(void **state)
{
	(void)state;
	both(closed_ones, NULL);
}

static void *discards(void *arg)
{
	weft_chan *c = chan_with(5, 1);
	weft_case cases[] = { case_of(WEFT_RECV, c, NULL) };

	expect_eq(weft_select(cases, 1, WEFT_NOW), 0);
	expect(only_done(cases, 1, 0, 0));
	expect_eq(weft_chan_len(c), 0);
	weft_chan_unref(c);
	return arg;
}

static void a_value_without_a_place_is_dropped(void **state)
{
	(void)state;
	both(discards, NULL);
}

/* ------------------------------------------------------------------------ */
/* Nothing that can be done. */

static void expect_times_out(weft_case *cases, size_t n)
{
	static const weft_time past[] = { WEFT_NOW, 1, -1, INT64_MIN };

	for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++)
		expect_eq(weft_select(cases, n, past[i]), -ETIMEDOUT);
	for (int64_t ns = 1; ns <= 10 * NS_PER_MS; ns *= 10) {
		weft_time begin = weft_now();

		expect_eq(weft_select(cases, n, weft_after(ns)), -ETIMEDOUT);
		expect(weft_now() - begin >= ns);
	}
	expect(only_done(cases, n, -1, 0));
}

static void *nothing_is_ready(void *arg)
{
	weft_chan *empty = chan_of_int(1), *full = chan_with(1, 1);
	weft_chan *meet = chan_of_int(0);
	weft_event event = { 0 };
	int v[4] = { -1, -2, -3, -4 };
	weft_case cases[] = {
		case_of(WEFT_RECV, empty, &v[0]),
		case_of(WEFT_SEND, full, &v[1]),
		case_of(WEFT_SEND, meet, &v[2]),
		case_of(WEFT_RECV, meet, &v[3]),
		case_of(WEFT_EVENT, &event, NULL),
		case_of(WEFT_SEND, NULL, NULL),
		case_of(WEFT_JOIN, NULL, NULL),
		case_of(WEFT_EVENT, NULL, NULL),
		never(),
	};
	weft_case nothing[] = { never(), never() };

	expect_times_out(NULL, 0);
	expect_times_out(cases, 0);
	expect_times_out(nothing, 2);
	for (size_t n = 1; n <= sizeof(cases) / sizeof(cases[0]); n++)
		expect_times_out(cases, n);
	for (int i = 0; i < 4; i++)
		expect_eq(v[i], -1 - i);
	/* The select has left no waiter in a list. */
	expect_eq(weft_chan_send(meet, &v[0], WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_chan_recv(meet, &v[0], WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_chan_len(full), 1);
	expect_eq(weft_chan_len(empty), 0);
	weft_event_set(&event);
	weft_chan_unref(empty);
	weft_chan_unref(full);
	weft_chan_unref(meet);
	return arg;
}

static void without_a_ready_case_it_times_out(void **state)
{
	(void)state;
	both(nothing_is_ready, NULL);
}

static void *bad_ops(void *arg)
{
	static const int bad[] = { 0, -1, 99, INT32_MIN, INT32_MAX };
	weft_chan *c = chan_with(5, 2);
	int v = -1;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (size_t at = 0; at < 3; at++) {
			weft_case cases[] = { case_of(WEFT_RECV, c, &v),
				case_of(WEFT_SEND, c, &v),
				case_of(WEFT_RECV, c, &v) };

			cases[at].op = bad[i];
			expect_eq(weft_select(cases, 3, WEFT_NOW), -EINVAL);
			expect_eq(weft_select(cases, 3, WEFT_FOREVER), -EINVAL);
			expect(only_done(cases, 3, -1, 0));
		}
	}
	expect_eq(v, -1);
	expect_eq(weft_chan_len(c), 1);
	weft_chan_unref(c);
	return arg;
}

static void a_bad_op_is_refused_before_anything_is_done(void **state)
{
	(void)state;
	both(bad_ops, NULL);
}

/* ------------------------------------------------------------------------ */
/* Each with the same probability. */

enum { CHOICES = 100000 };

/* The ready cases were chosen equally often, the others never. */
static void expect_even(const size_t *counts, size_t n, const bool *ready)
{
	int64_t ready_count = 0, total = 0, mean;

	for (size_t i = 0; i < n; i++) {
		ready_count += ready[i];
		total += (int64_t)counts[i];
	}
	mean = total / ready_count;
	for (size_t i = 0; i < n; i++) {
		int64_t off = (int64_t)counts[i] - (ready[i] ? mean : 0);
		/* With few rounds chance alone makes more than 5 %. */
		bool even = 20 * llabs(off) <= mean ||
			(total < CHOICES && off * off <= 36 * mean);

		expect_at(__FILE__, __LINE__, ready[i] ? even : off == 0,
			"chosen as often as others", (intmax_t)counts[i], mean);
	}
}

/* Cases whose bit is set in mask are ready: a value is in their buffer. */
static void choose(unsigned mask, size_t n)
{
	weft_chan *ready = chan_with(1, 1), *empty = chan_of_int(1);
	size_t counts[8] = { 0 };
	weft_case cases[8];
	bool is_ready[8];
	int v = 1;

	for (size_t i = 0; i < n; i++) {
		is_ready[i] = mask >> i & 1;
		cases[i] = case_of(WEFT_RECV,
			is_ready[i]	? ready
				: i % 2 ? empty
					: NULL,
			&v);
	}
	for (size_t i = 0; i < rounds(CHOICES); i++) {
		int chosen = weft_select(cases, n, WEFT_NOW);

		if (!expect(chosen >= 0 && chosen < (int)n))
			break;
		counts[chosen]++;
		expect_eq(weft_chan_send(ready, &v, WEFT_NOW), 0);
	}
	expect_even(counts, n, is_ready);
	weft_chan_unref(ready);
	weft_chan_unref(empty);
}

/* Ready cases of all kinds; choosing one does not use it up. */
static void choose_among_kinds(void)
{
	weft_chan *closed = chan_of_int(1), *half = chan_with(1, 2);
	weft_event event = { 0 };
	static const bool all[4] = { true, true, true, true };
	size_t counts[4] = { 0 };
	int v = 1;
	weft_case cases[] = { case_of(WEFT_RECV, closed, &v),
		case_of(WEFT_SEND, half, &v), case_of(WEFT_RECV, half, &v),
		case_of(WEFT_EVENT, &event, NULL) };

	weft_event_set(&event);
	expect_eq(weft_chan_close(closed), 0);
	for (size_t i = 0; i < rounds(CHOICES); i++) {
		int chosen = weft_select(cases, 4, WEFT_NOW);

		if (!expect(chosen >= 0 && chosen < 4))
			break;
		counts[chosen]++;
		if (chosen == 1)
			expect_eq(weft_chan_recv(half, &v, WEFT_NOW), 0);
		else if (chosen == 2)
			expect_eq(weft_chan_send(half, &v, WEFT_NOW), 0);
	}
	expect_even(counts, 4, all);
	weft_chan_unref(closed);
	weft_chan_unref(half);
}

static void *choose_often(void *arg)
{
	choose(0x3, 2);
	choose(0xff, 8);
	choose(0x23, 7);
	choose(0x81, 8);
	choose(0x16, 5);
	choose_among_kinds();
	return arg;
}

static void all_ready_cases_are_chosen_equally_often(void **state)
{
	(void)state;
	both(choose_often, NULL);
}

/* ------------------------------------------------------------------------ */
/* Calls that never wait. */

static _Atomic(bool) other_ran;

static void *other(void *arg)
{
	atomic_store(&other_ran, true);
	return arg;
}

static void *never_waits(void *arg)
{
	weft_event event = { 0 };
	weft_case cases[] = { case_of(WEFT_EVENT, &event, NULL) };
	weft_fiber *f;
	int i;

	weft_event_set(&event);
	atomic_store(&other_ran, false);
	f = spawn(other, NULL);
	for (i = 0; i < 1000 && !atomic_load(&other_ran); i++)
		expect_eq(weft_select(cases, 1, WEFT_FOREVER), 0);
	expect(i < 1000);
	join(f);
	return arg;
}

static void a_fiber_that_never_waits_still_gives_way(void **state)
{
	(void)state;
	play(1, never_waits, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ready_case_is_done),
		cmocka_unit_test(a_closed_channel_is_ready),
		cmocka_unit_test(a_value_without_a_place_is_dropped),
		cmocka_unit_test(without_a_ready_case_it_times_out),
		cmocka_unit_test(a_bad_op_is_refused_before_anything_is_done),
		cmocka_unit_test(all_ready_cases_are_chosen_equally_often),
		cmocka_unit_test(a_fiber_that_never_waits_still_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
