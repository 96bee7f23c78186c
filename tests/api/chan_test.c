/* SPDX-License-Identifier: MIT */
/*
 * tests/api/chan_test.c - a channel hands on values whole and in order, as many
 * as it has room for; a call that fails has done nothing; and it times out at
 * its deadline, not before.
 */
#include "api/chan_kit.h"

#include <weft/weft.h>

/* ------------------------------------------------------------------------ */
/* Making one. */

static void *make_wrong(void *arg)
{
	weft_chan *mark = (weft_chan *)&mark, *c = mark;
	const size_t wrong[][2] = { { 0, 0 }, { 0, 1 }, { 0, SIZE_MAX },
		{ SIZE_MAX, 2 }, { 2, SIZE_MAX }, { SIZE_MAX, SIZE_MAX },
		{ SIZE_MAX / 2 + 1, 2 }, { 16, SIZE_MAX / 16 + 1 },
		{ SIZE_MAX / 3 + 1, 3 }, { (size_t)1 << 33, (size_t)1 << 33 } };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		expect_eq(weft_chan_create(&c, wrong[i][0], wrong[i][1]),
			-EINVAL);
		expect(c == mark);
	}
	return arg;
}

static void bad_sizes_are_refused(void **state)
{
	(void)state;
	both(make_wrong, NULL);
}

static void *make_good(void *arg)
{
	const size_t good[][2] = { { 1, 0 }, { 1, 1 }, { 7, 3 }, { 200, 1000 },
		{ 100000, 2 }, { 1, 100000 } };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		weft_chan *c = chan_of(good[i][0], good[i][1]);

		expect_eq(weft_chan_len(c), 0);
		weft_chan_unref(c);
	}
	return arg;
}

static void a_channel_is_made_and_freed(void **state)
{
	(void)state;
	both(make_good, NULL);
}

static void *keep_references(void *arg)
{
	weft_chan *c = chan_of_int(2);

	expect(weft_chan_ref(c) == c);
	expect(weft_chan_ref(c) == c);
	weft_chan_unref(c);
	expect_eq(send_by(c, 5, WEFT_NOW), 0);
	weft_chan_unref(c);
	expect_eq(recv_by(c, WEFT_NOW), 5);
	/* The last one, with something still in the buffer. */
	expect_eq(send_by(c, 6, WEFT_NOW), 0);
	weft_chan_unref(c);
	return arg;
}

static void it_lives_until_the_last_reference(void **state)
{
	(void)state;
	both(keep_references, NULL);
}

/* ------------------------------------------------------------------------ */
/* Values of every size, by every way. */

enum { LARGEST = 200, GUARD = 16, SHIFTS = 3, FILL = 0x5A };

struct place {
	unsigned char bytes[GUARD + SHIFTS + LARGEST + GUARD];
};

struct transfer {
	weft_chan *c;
	size_t bytes;
	unsigned seed;
	struct place place;
};

static unsigned char *value_in(struct transfer *t)
{
	return t->place.bytes + GUARD + t->bytes % SHIFTS;
}

static unsigned char byte_of(unsigned seed, size_t i)
{
	return (unsigned char)(seed * 31 + i * 7 + 1);
}

static void fill(struct transfer *t)
{
	memset(&t->place, FILL, sizeof(t->place));
	for (size_t i = 0; i < t->bytes; i++)
		value_in(t)[i] = byte_of(t->seed, i);
}

/* The value and nothing else was written. */
static bool is_whole(struct transfer *t, unsigned seed)
{
	size_t first = (size_t)(value_in(t) - t->place.bytes);

	for (size_t i = 0; i < sizeof(t->place); i++) {
		unsigned char want = i < first || i >= first + t->bytes
			? FILL
			: byte_of(seed, i - first);

		if (t->place.bytes[i] != want)
			return false;
	}
	return true;
}

static void *send_one(void *arg)
{
	struct transfer *t = arg;

	fill(t);
	expect_eq(weft_chan_send(t->c, value_in(t), PATIENCE), 0);
	expect(is_whole(t, t->seed));
	return arg;
}

static void *recv_one(void *arg)
{
	struct transfer *t = arg;

	memset(&t->place, FILL, sizeof(t->place));
	expect_eq(weft_chan_recv(t->c, value_in(t), PATIENCE), 0);
	expect(is_whole(t, t->seed));
	return arg;
}

/* Through the buffer, around its end. */
static void *pass_buffer(void *arg)
{
	for (size_t n = 1; n <= LARGEST; n++) {
		struct transfer t = { .bytes = n };

		t.c = chan_of(n, 3);
		for (unsigned i = 0; i < 8; i++) {
			t.seed = i;
			send_one(&t);
			if (i < 2)
				continue;
			t.seed = i - 2;
			recv_one(&t);
		}
		expect_eq(weft_chan_len(t.c), 2);
		weft_chan_unref(t.c);
	}
	return arg;
}

/* From frame to frame: the receiver waits, and the sender does. */
static void *pass_directly(void *arg)
{
	for (size_t n = 1; n <= LARGEST; n++) {
		struct transfer a = { .bytes = n, .seed = (unsigned)n }, b;
		weft_fiber *f;

		a.c = chan_of(n, (size_t)(uintptr_t)arg);
		b = a;
		f = spawn(recv_one, &a);
		expect(await_yielding(waits_on(f, a.c, "chan recv")));
		send_one(&b);
		expect(join(f) == &a);
		weft_chan_unref(a.c);

		a.c = b.c = chan_of(n, 0);
		f = spawn(send_one, &a);
		expect(await_yielding(waits_on(f, a.c, "chan send")));
		recv_one(&b);
		expect(join(f) == &a);
		weft_chan_unref(a.c);
	}
	return NULL;
}

/* A sender waits behind a full buffer; its value comes last. */
static void *pass_when_full(void *arg)
{
	for (size_t n = 1; n <= LARGEST; n++) {
		struct transfer a = { .bytes = n, .seed = 1 }, b;
		weft_fiber *f;

		a.c = chan_of(n, 2);
		b = a;
		for (b.seed = 10; b.seed < 12; b.seed++)
			send_one(&b);
		f = spawn(send_one, &a);
		expect(await_yielding(waits_on(f, a.c, "chan send")));
		expect_eq(weft_chan_len(a.c), 2);
		for (b.seed = 10; b.seed < 12; b.seed++)
			recv_one(&b);
		b.seed = a.seed;
		recv_one(&b);
		expect(join(f) == &a);
		weft_chan_unref(a.c);
	}
	return arg;
}

static void values_of_every_size_arrive_whole(void **state)
{
	(void)state;
	both(pass_buffer, NULL);
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, pass_directly, (void *)0);
		play(workers, pass_directly, (void *)1);
		play(workers, pass_when_full, NULL);
	}
}

/* ------------------------------------------------------------------------ */
/* The buffer. */

static void *fill_and_drain(void *arg)
{
	for (int capacity = 1; capacity <= 5; capacity++) {
		weft_chan *c = chan_of_int((size_t)capacity);
		int sent = 0, received = 0;

		for (int round = 0; round < 7; round++) {
			while (send_by(c, sent, WEFT_NOW) == 0)
				expect_eq(weft_chan_len(c), ++sent - received);
			expect_eq(sent - received, capacity);
			for (int i = 0; i <= round % capacity; i++) {
				expect_eq(recv_by(c, WEFT_NOW), received++);
				expect_eq(weft_chan_len(c), sent - received);
			}
		}
		while (received < sent)
			expect_eq(recv_by(c, WEFT_FOREVER), received++);
		expect_eq(recv_by(c, WEFT_NOW), -ETIMEDOUT);
		weft_chan_unref(c);
	}
	return arg;
}

static void a_buffer_holds_its_capacity_in_order(void **state)
{
	(void)state;
	both(fill_and_drain, NULL);
}

static void *try_alone(void *arg)
{
	const weft_time past[] = { WEFT_NOW, 1, -1, INT64_MIN, weft_now() };
	weft_chan *none = chan_of_int(0), *one = chan_of_int(1);

	expect_eq(send_by(one, 1, WEFT_NOW), 0);
	for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++) {
		expect_eq(send_by(none, 1, past[i]), -ETIMEDOUT);
		expect_eq(recv_by(none, past[i]), -ETIMEDOUT);
		expect_eq(send_by(one, 2, past[i]), -ETIMEDOUT);
		expect_eq(weft_chan_len(none), 0);
		expect_eq(weft_chan_len(one), 1);
	}
	expect_eq(recv_by(one, INT64_MIN), 1);
	for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++)
		expect_eq(recv_by(one, past[i]), -ETIMEDOUT);
	expect_eq(send_by(one, 3, -1), 0);
	weft_chan_unref(none);
	weft_chan_unref(one);
	return arg;
}

/* A try succeeds if a partner waits. */
static void *try_with_partner(void *arg)
{
	weft_chan *c = chan_of_int(0);
	weft_fiber *f = spawn(receive_int, c);

	expect(await_yielding(waits_on(f, c, "chan recv")));
	expect_eq(weft_chan_len(c), 0);
	expect_eq(send_by(c, 5, WEFT_NOW), 0);
	expect_eq(send_by(c, 6, WEFT_NOW), -ETIMEDOUT);
	expect_eq((intptr_t)join(f), 5);

	f = spawn(send_seven, c);
	expect(await_yielding(waits_on(f, c, "chan send")));
	expect_eq(weft_chan_len(c), 0);
	expect_eq(recv_by(c, WEFT_NOW), 7);
	expect_eq(recv_by(c, WEFT_NOW), -ETIMEDOUT);
	expect_eq((intptr_t)join(f), 0);
	weft_chan_unref(c);
	return arg;
}

static void a_try_does_not_wait(void **state)
{
	(void)state;
	both(try_alone, NULL);
	play(1, try_with_partner, NULL);
	play(2, try_with_partner, NULL);
}

/* What a waiting fiber waits for, and on which channel. */
static void *look_at_waiters(void *arg)
{
	weft_chan *c = chan_of_int(0);
	weft_fiber *f = spawn(receive_int, c);
	weft_fiber_info info;

	expect(await_yielding(waits_on(f, c, "chan recv")));
	weft_fiber_look(f, &info);
	expect(info.waits_on == c);
	expect_eq(send_by(c, 1, PATIENCE), 0);
	join(f);
	f = spawn(send_seven, c);
	expect(await_yielding(waits_on(f, c, "chan send")));
	weft_fiber_look(f, &info);
	expect(info.waits_on == c);
	expect_eq(recv_by(c, PATIENCE), 7);
	join(f);
	weft_chan_unref(c);
	return arg;
}

static void weft_fiber_look_shows_a_waiter(void **state)
{
	(void)state;
	play(2, look_at_waiters, NULL);
}

/* ------------------------------------------------------------------------ */
/* Deadlines. */

static void expect_times_out(weft_chan *c, bool sends, int64_t ns)
{
	weft_time begin = weft_now();
	int err = sends ? send_by(c, 9, weft_after(ns))
			: recv_by(c, weft_after(ns));

	expect_eq(err, -ETIMEDOUT);
	expect(weft_now() - begin >= ns);
}

static void *run_out_of_time(void *arg)
{
	weft_chan *none = chan_of_int(0), *one = chan_of_int(1);

	for (int64_t ns = 1; ns <= 10 * NS_PER_MS; ns *= 10) {
		expect_times_out(none, false, ns);
		expect_times_out(none, true, ns);
		expect_times_out(one, false, ns);
		expect_eq(send_by(one, 1, weft_after(ns)), 0);
		expect_times_out(one, true, ns);
		expect_eq(recv_by(one, weft_after(ns)), 1);
		/* A waiter that timed out is not in the list any more. */
		expect_eq(send_by(none, 1, WEFT_NOW), -ETIMEDOUT);
		expect_eq(recv_by(none, WEFT_NOW), -ETIMEDOUT);
		expect_eq(recv_by(one, WEFT_NOW), -ETIMEDOUT);
	}
	weft_chan_unref(none);
	weft_chan_unref(one);
	return arg;
}

static void a_wait_ends_at_its_deadline_not_before(void **state)
{
	(void)state;
	both(run_out_of_time, NULL);
}

/* Some waiters time out, those before and behind them stay. */
enum { STAYERS = 4 };

static struct {
	weft_chan *c;
	_Atomic(int) sum;
} queue;

static void *stay_or_leave(void *arg)
{
	bool leaves = (uintptr_t)arg % 2;
	int v = recv_by(queue.c, leaves ? weft_after(NS_PER_MS) : PATIENCE);

	if (leaves)
		expect_eq(v, -ETIMEDOUT);
	else
		atomic_fetch_add(&queue.sum, v);
	return arg;
}

static void *some_leave(void *arg)
{
	weft_fiber *f[2 * STAYERS];

	queue.c = chan_of_int((size_t)(uintptr_t)arg);
	atomic_store(&queue.sum, 0);
	for (uintptr_t i = 0; i < 2 * STAYERS; i++)
		f[i] = spawn(stay_or_leave, (void *)i);
	for (size_t i = 1; i < 2 * STAYERS; i += 2)
		join(f[i]);
	for (int i = 0; i < STAYERS; i++)
		expect_eq(send_by(queue.c, 1 << i, PATIENCE), 0);
	for (size_t i = 0; i < 2 * STAYERS; i += 2)
		join(f[i]);
	expect_eq(atomic_load(&queue.sum), (1 << STAYERS) - 1);
	weft_chan_unref(queue.c);
	return NULL;
}

static void some_time_out_and_others_are_served(void **state)
{
	(void)state;
	for (uintptr_t capacity = 0; capacity <= 2; capacity++) {
		play(1, some_leave, (void *)capacity);
		play(3, some_leave, (void *)capacity);
	}
}

/* ------------------------------------------------------------------------ */
/* Receives without a place for the value. */

static void *receive_nothing(void *c)
{
	expect_eq(weft_chan_recv(c, NULL, PATIENCE), 0);
	return c;
}

static void *discard(void *arg)
{
	weft_chan *none = chan_of_int(0), *two = chan_of_int(2);
	weft_fiber *f;

	expect_eq(weft_chan_recv(two, NULL, WEFT_NOW), -ETIMEDOUT);
	expect_eq(send_by(two, 1, WEFT_NOW), 0);
	expect_eq(send_by(two, 2, WEFT_NOW), 0);
	f = spawn(send_seven, two);
	expect(await_yielding(waits_on(f, two, "chan send")));
	expect_eq(weft_chan_recv(two, NULL, WEFT_NOW), 0);
	expect_eq((intptr_t)join(f), 0);
	expect_eq(recv_by(two, WEFT_NOW), 2);
	expect_eq(weft_chan_recv(two, NULL, WEFT_NOW), 0);

	f = spawn(receive_nothing, two);
	expect(await_yielding(waits_on(f, two, "chan recv")));
	expect_eq(send_by(two, 3, WEFT_NOW), 0);
	join(f);
	expect_eq(weft_chan_len(two), 0);

	f = spawn(receive_nothing, none);
	expect(await_yielding(waits_on(f, none, "chan recv")));
	expect_eq(send_by(none, 4, WEFT_NOW), 0);
	join(f);
	f = spawn(send_seven, none);
	expect(await_yielding(waits_on(f, none, "chan send")));
	expect_eq(weft_chan_recv(none, NULL, WEFT_NOW), 0);
	expect_eq((intptr_t)join(f), 0);
	weft_chan_unref(none);
	weft_chan_unref(two);
	return arg;
}

static void a_value_without_a_place_is_dropped(void **state)
{
	(void)state;
	play(1, discard, NULL);
	play(2, discard, NULL);
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
	weft_chan *c = chan_of_int(1);
	weft_fiber *f;
	int i;

	atomic_store(&other_ran, false);
	f = spawn(other, NULL);
	for (i = 0; i < 1000 && !atomic_load(&other_ran); i++) {
		expect_eq(send_by(c, i, WEFT_FOREVER), 0);
		expect_eq(recv_by(c, WEFT_FOREVER), i);
	}
	expect(i < 1000);
	join(f);
	weft_chan_unref(c);
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
		cmocka_unit_test(bad_sizes_are_refused),
		cmocka_unit_test(a_channel_is_made_and_freed),
		cmocka_unit_test(it_lives_until_the_last_reference),
		cmocka_unit_test(values_of_every_size_arrive_whole),
		cmocka_unit_test(a_buffer_holds_its_capacity_in_order),
		cmocka_unit_test(a_try_does_not_wait),
		cmocka_unit_test(weft_fiber_look_shows_a_waiter),
		cmocka_unit_test(a_wait_ends_at_its_deadline_not_before),
		cmocka_unit_test(some_time_out_and_others_are_served),
		cmocka_unit_test(a_value_without_a_place_is_dropped),
		cmocka_unit_test(a_fiber_that_never_waits_still_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
