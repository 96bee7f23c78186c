/* SPDX-License-Identifier: MIT */
/*
 * tests/api/chan_share_test.c - a channel between many: each value is for one
 * receiver; a close ends every wait, and so does the end of the runtime; and
 * the channel may be freed as soon as a user has seen its last use.
 */
#include "api/chan_kit.h"

#include <weft/weft.h>

#include "os/child.h"

/* ------------------------------------------------------------------------ */
/* Closing. */

static void *close_and_drain(void *arg)
{
	for (size_t capacity = 0; capacity <= 3; capacity++) {
		weft_chan *c = chan_of_int(capacity);

		for (int i = 0; i < (int)capacity; i++)
			expect_eq(send_by(c, i, WEFT_NOW), 0);
		expect_eq(weft_chan_close(c), 0);
		expect_eq(weft_chan_close(c), -EALREADY);
		expect_eq(send_by(c, 9, WEFT_NOW), -EPIPE);
		expect_eq(send_by(c, 9, WEFT_FOREVER), -EPIPE);
		for (int i = 0; i < (int)capacity; i++) {
			expect_eq(weft_chan_len(c), capacity - (size_t)i);
			expect_eq(recv_by(c, WEFT_FOREVER), i);
		}
		expect_eq(weft_chan_len(c), 0);
		expect_eq(recv_by(c, WEFT_NOW), -EPIPE);
		expect_eq(recv_by(c, WEFT_FOREVER), -EPIPE);
		expect_eq(weft_chan_recv(c, NULL, WEFT_NOW), -EPIPE);
		expect_eq(send_by(c, 9, weft_after(NS_PER_S)), -EPIPE);
		expect_eq(weft_chan_close(c), -EALREADY);
		weft_chan_unref(c);
	}
	return arg;
}

static void a_closed_channel_is_drained(void **state)
{
	(void)state;
	both(close_and_drain, NULL);
}

/* A close ends the wait of every fiber and thread. */
enum { FIBERS = 6, THREADS = 3, CAPACITY = 2 };

static struct {
	weft_chan *c;
	weft_rt *rt;
	bool senders;
	_Atomic(unsigned) waiting, gone;
} crowded;

static void wait_for_the_close(int value)
{
	int before = value, err;

	atomic_fetch_add(&crowded.waiting, 1);
	if (crowded.senders)
		err = weft_chan_send(crowded.c, &value, PATIENCE);
	else
		err = weft_chan_recv(crowded.c, &value, PATIENCE);
	expect_eq(err, -EPIPE);
	expect_eq(value, before);
	atomic_fetch_add(&crowded.gone, 1);
}

static void *fiber_in_crowd(void *arg)
{
	wait_for_the_close((int)(intptr_t)arg);
	return arg;
}

static void thread_in_crowd(void *arg, unsigned i)
{
	(void)arg;
	if (i < THREADS) {
		wait_for_the_close(100 + (int)i);
		return;
	}
	expect(await(atomic_load(&crowded.waiting) == FIBERS + THREADS));
	nap_ns(20 * NS_PER_MS);
	expect_eq(atomic_load(&crowded.gone), 0);
	expect_eq(weft_chan_close(crowded.c), 0);
}

static void close_on_all(size_t capacity, bool senders)
{
	weft_fiber *f[FIBERS];

	crowded.c = chan_of_int(capacity);
	crowded.senders = senders;
	atomic_store(&crowded.waiting, 0);
	atomic_store(&crowded.gone, 0);
	for (int i = 0; senders && i < (int)capacity; i++)
		assert_int_equal(send_by(crowded.c, i, WEFT_NOW), 0);
	for (intptr_t i = 0; i < FIBERS; i++)
		assert_int_equal(weft_rt_spawn(crowded.rt, &f[i], NULL,
					 fiber_in_crowd, (void *)i),
			0);
	threads_run(THREADS + 1, thread_in_crowd, NULL);
	for (size_t i = 0; i < FIBERS; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	assert_expected();
	/* The buffered values are there, and none of the waiting senders'. */
	for (int i = 0; senders && i < (int)capacity; i++)
		assert_int_equal(recv_by(crowded.c, PATIENCE), i);
	assert_int_equal(recv_by(crowded.c, PATIENCE), -EPIPE);
	weft_chan_unref(crowded.c);
}

static void a_close_lets_every_waiter_go(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		crowded.rt = rt_workers(workers);
		close_on_all(0, false);
		close_on_all(CAPACITY, false);
		close_on_all(0, true);
		close_on_all(CAPACITY, true);
		rt_end(crowded.rt);
	}
}

/* ------------------------------------------------------------------------ */
/* A send on a channel without a buffer returns when it was received. */

static struct {
	weft_chan *c;
	int before[2], behind[2]; /* plain: the channel orders them */
} meet;

static void *meets(void *arg)
{
	for (int i = 0; i < (int)rounds(2000); i++) {
		meet.behind[i % 2] = i;
		expect_eq(recv_by(meet.c, PATIENCE), i);
		expect_eq(meet.before[i % 2], i);
	}
	return arg;
}

static void *meet_often(void *arg)
{
	weft_fiber *f;

	meet.c = chan_of_int(0);
	f = spawn(meets, NULL);
	for (int i = 0; i < (int)rounds(2000); i++) {
		meet.before[i % 2] = i;
		expect_eq(send_by(meet.c, i, PATIENCE), 0);
		expect_eq(meet.behind[i % 2], i);
	}
	join(f);
	weft_chan_unref(meet.c);
	return arg;
}

static void a_send_without_a_buffer_meets_its_receiver(void **state)
{
	(void)state;
	play(1, meet_often, NULL);
	play(2, meet_often, NULL);
}

/* ------------------------------------------------------------------------ */
/* Freed as soon as a user has seen the last use. */

static void *send_last(void *c)
{
	expect_eq(send_by(c, 1, WEFT_FOREVER), 0);
	return NULL;
}

static void *close_last(void *c)
{
	expect_eq(weft_chan_close(c), 0);
	return NULL;
}

static void *receive_last(void *c)
{
	expect_eq(weft_chan_recv(c, NULL, WEFT_FOREVER), 0);
	return NULL;
}

/* Free the channel after its last use, and reuse its memory at once. */
static void *free_at_once(void *arg)
{
	size_t capacity = (uintptr_t)arg;

	for (size_t i = 0; i < rounds(3000); i++) {
		weft_chan *c = chan_of_int(capacity);
		weft_fiber *f;

		f = spawn(i % 2 ? send_last : close_last, c);
		if (i % 3 == 0)
			weft_yield();
		expect_eq(recv_by(c, WEFT_FOREVER), i % 2 ? 1 : -EPIPE);
		weft_chan_unref(c);
		c = chan_of_int(0);
		join(f);

		f = spawn(receive_last, c);
		if (i % 3 == 0)
			weft_yield();
		expect_eq(send_by(c, 1, WEFT_FOREVER), 0);
		weft_chan_unref(c);
		join(f);
	}
	return NULL;
}

static void it_may_be_freed_right_after_the_last_use(void **state)
{
	(void)state;
	for (uintptr_t capacity = 0; capacity <= 1; capacity++)
		for (unsigned workers = 1; workers <= 3; workers++)
			play(workers, free_at_once, (void *)capacity);
}

static void *receive_forever(void *c)
{
	return (void *)(intptr_t)recv_by(c, WEFT_FOREVER);
}

/* On one thread: the fiber waits when the executor has nothing to run. */
static void unref_under_a_waiter(void *arg)
{
	weft_chan *c = chan_of_int(0);
	weft_executor *e = NULL;
	weft_fiber_attr attr = { 0 };
	weft_fiber *f;

	(void)arg;
	if (weft_manual_create(&e) != 0)
		return;
	attr.executor = e;
	if (weft_spawn(&f, &attr, receive_forever, c) != 0)
		return;
	(void)weft_manual_run(e, SIZE_MAX);
	weft_chan_unref(c);
}

static void the_last_unref_under_a_waiter_is_misuse(void **state)
{
	struct child c;

	(void)state;
	child_run(&c, unref_under_a_waiter, NULL);
	assert_true(child_was_misuse(&c, "a fiber or thread waits on it"));
}

/* ------------------------------------------------------------------------ */
/* The runtime stops while fibers wait. */

static _Atomic(unsigned) cancelled;

static void *wait_to_receive(void *c)
{
	expect_eq(recv_by(c, WEFT_FOREVER), -ECANCELED);
	atomic_fetch_add(&cancelled, 1);
	return c;
}

static void *wait_to_send(void *c)
{
	expect_eq(send_by(c, 2, WEFT_FOREVER), -ECANCELED);
	atomic_fetch_add(&cancelled, 1);
	return c;
}

static void the_end_of_the_runtime_ends_their_waits(void **state)
{
	weft_chan *none = chan_of_int(0), *full = chan_of_int(1);
	weft_rt *rt = rt_workers(2);
	weft_fiber *f[4];

	(void)state;
	atomic_store(&cancelled, 0);
	assert_int_equal(send_by(full, 1, WEFT_NOW), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(weft_rt_spawn(rt, &f[i], NULL,
					 i % 2 ? wait_to_send : wait_to_receive,
					 i % 2 ? full : none),
			0);
		assert_true(await(waits_on(f[i], i % 2 ? full : none,
			i % 2 ? "chan send" : "chan recv")));
	}
	for (size_t i = 0; i < 4; i++)
		weft_detach(f[i]);
	rt_end(rt);
	assert_expected();
	assert_int_equal(atomic_load(&cancelled), 4);
	assert_int_equal(send_by(none, 1, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(recv_by(full, WEFT_NOW), 1);
	assert_int_equal(recv_by(full, WEFT_NOW), -ETIMEDOUT);
	weft_chan_unref(none);
	weft_chan_unref(full);
}

/* ------------------------------------------------------------------------ */
/* Threads, fibers of two runtimes, and fibers of a pool, on both sides. */

enum { KINDS = 4, VALUES = 2000 };

static struct {
	weft_chan *c;
	weft_executor *executor[KINDS]; /* the last is NULL: a plain thread */
	size_t values;
	_Atomic(uint64_t) sum, count;
	_Atomic(unsigned) senders;
} mixed;

/* Two values make one of 16 bytes, so that a torn one is seen. */
struct pair {
	uint64_t value, inverse;
};

static void *mixed_sender(void *arg)
{
	for (uint64_t i = 1; i <= mixed.values; i++) {
		struct pair p = { i, ~i };

		expect_eq(weft_chan_send(mixed.c, &p, PATIENCE), 0);
	}
	if (atomic_fetch_sub(&mixed.senders, 1) == 1)
		expect_eq(weft_chan_close(mixed.c), 0);
	return arg;
}

static void *mixed_receiver(void *arg)
{
	struct pair p;
	int err;

	while ((err = weft_chan_recv(mixed.c, &p, PATIENCE)) == 0) {
		expect(p.inverse == ~p.value);
		atomic_fetch_add(&mixed.sum, p.value);
		atomic_fetch_add(&mixed.count, 1);
	}
	expect_eq(err, -EPIPE);
	return arg;
}

static void mixed_thread(void *arg, unsigned i)
{
	(void)(i % 2 ? mixed_sender(arg) : mixed_receiver(arg));
}

static void mix(size_t capacity)
{
	weft_fiber *f[KINDS - 1][2];

	mixed.c = chan_of(sizeof(struct pair), capacity);
	mixed.values = rounds(VALUES);
	atomic_store(&mixed.sum, 0);
	atomic_store(&mixed.count, 0);
	atomic_store(&mixed.senders, KINDS);
	for (size_t i = 0; i < KINDS - 1; i++) {
		weft_fiber_attr a = { .executor = mixed.executor[i] };

		assert_int_equal(
			weft_spawn(&f[i][0], &a, mixed_sender, NULL), 0);
		assert_int_equal(
			weft_spawn(&f[i][1], &a, mixed_receiver, NULL), 0);
	}
	threads_run(2, mixed_thread, NULL);
	for (size_t i = 0; i < KINDS - 1; i++)
		for (size_t k = 0; k < 2; k++)
			assert_int_equal(weft_join(f[i][k], NULL, PATIENCE), 0);
	assert_expected();
	assert_int_equal(atomic_load(&mixed.count), KINDS * mixed.values);
	assert_int_equal(atomic_load(&mixed.sum),
		KINDS * mixed.values * (mixed.values + 1) / 2);
	weft_chan_unref(mixed.c);
}

static void threads_and_fibers_of_all_kinds_share_one(void **state)
{
	weft_rt *one = rt_workers(1), *two = rt_workers(2);

	(void)state;
	mixed.executor[0] = weft_rt_executor(one);
	mixed.executor[1] = weft_rt_executor(two);
	assert_int_equal(weft_pool_create(&mixed.executor[2], 2), 0);
	for (size_t capacity = 0; capacity <= 10; capacity += 5)
		mix(capacity);
	assert_int_equal(weft_executor_destroy(mixed.executor[2]), 0);
	rt_end(one);
	rt_end(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_unref_under_a_waiter_is_misuse),
		cmocka_unit_test(a_closed_channel_is_drained),
		cmocka_unit_test(a_close_lets_every_waiter_go),
		cmocka_unit_test(a_send_without_a_buffer_meets_its_receiver),
		cmocka_unit_test(it_may_be_freed_right_after_the_last_use),
		cmocka_unit_test(the_end_of_the_runtime_ends_their_waits),
		cmocka_unit_test(threads_and_fibers_of_all_kinds_share_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
