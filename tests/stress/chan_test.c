/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/chan_test.c - channels under load: every value that was sent is
 * received once, in its sender's order; one that was not sent is never
 * received; and a close at any moment changes nothing of that.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "stress/sched_kit.h"

#include <weft/weft.h>

enum { SENDERS_MAX = 16, RECEIVERS_MAX = 16 };

static const size_t capacities[] = { 0, 1, 2, 10, 100 };
enum { CAPACITIES = sizeof(capacities) / sizeof(capacities[0]) };

/* Large enough to be torn by two writers at once. */
struct value {
	uint32_t sender, number;
	uint64_t inverse;
};

/* What became of a value. */
enum { SENT = 1, RECEIVED = 2, KEPT = 4 };

static struct {
	weft_chan *c;
	unsigned senders, receivers;
	uint32_t each; /* values of one sender */
	bool hasty;    /* senders and receivers wait for a short time only */
	_Atomic(uint32_t) *fate; /* of each value */
	_Atomic(unsigned) left;	 /* senders that still send */
	_Atomic(uint64_t) sent, received, kept;
} load;

static void load_begin(
	size_t capacity, unsigned senders, unsigned receivers, uint32_t each)
{
	int err = weft_chan_create(&load.c, sizeof(struct value), capacity);

	assert_int_equal(err, 0);
	load.senders = senders;
	load.receivers = receivers;
	load.each = each;
	load.hasty = false;
	load.fate = calloc((size_t)senders * each, sizeof(*load.fate));
	assert_non_null(load.fate);
	wf_store_rlx(&load.left, senders);
	wf_store_rlx(&load.sent, 0);
	wf_store_rlx(&load.received, 0);
	wf_store_rlx(&load.kept, 0);
}

/* Each value that was sent has been received; nothing else has. */
static void load_end(void)
{
	uint64_t sent = wf_load_rlx(&load.sent);

	kit_settle();
	assert_int_equal(wf_load_rlx(&load.received), sent);
	for (size_t i = 0; i < (size_t)load.senders * load.each; i++) {
		uint32_t fate = wf_load_rlx(&load.fate[i]);

		if (fate != (SENT | RECEIVED) && fate != KEPT && fate != 0)
			fail_msg("value %zu: %#x", i, fate);
	}
	weft_chan_unref(load.c);
	free((void *)load.fate);
}

static void set_fate(const struct value *v, uint32_t what)
{
	uint32_t old = wf_or_rlx(
		&load.fate[(size_t)v->sender * load.each + v->number], what);

	kit_expect(!(old & what));
}

static weft_time patience(struct wf_random *r)
{
	if (!load.hasty)
		return WEFT_FOREVER;
	switch (wf_random_below(r, 4)) {
	case 0:
		return WEFT_NOW;
	case 1:
		return WEFT_FOREVER;
	default:
		return weft_after(wf_random_below(r, 50000));
	}
}

/* False: the channel is closed. */
static bool send_one(const struct value *v, struct wf_random *r)
{
	int err = weft_chan_send(load.c, v, patience(r));

	kit_expect(
		err == 0 || err == -EPIPE || (load.hasty && err == -ETIMEDOUT));
	set_fate(v, err ? KEPT : SENT);
	wf_add_rlx(err ? &load.kept : &load.sent, 1);
	return err != -EPIPE;
}

static void *sender(void *arg)
{
	uint32_t self = (uint32_t)(uintptr_t)arg;
	struct wf_random r;

	wf_random_seed(&r, threads_seed() + self);
	for (uint32_t i = 0; i < load.each; i++) {
		struct value v = { self, i, ~((uint64_t)self << 32 | i) };

		if (!send_one(&v, &r))
			break;
	}
	/* The last sender closes, unless a closer did. */
	if (wf_sub_acqrel(&load.left, 1) == 1)
		(void)weft_chan_close(load.c);
	return NULL;
}

static void *receiver(void *arg)
{
	uint32_t next[SENDERS_MAX] = { 0 };
	struct wf_random r;
	struct value v;
	int err;

	wf_random_seed(&r, threads_seed() + 1000 + (uintptr_t)arg);
	while ((err = weft_chan_recv(load.c, &v, patience(&r))) != -EPIPE) {
		if (load.hasty && err == -ETIMEDOUT) {
			weft_yield();
			continue;
		}
		kit_expect(err == 0 && v.sender < load.senders &&
			v.inverse == ~((uint64_t)v.sender << 32 | v.number));
		if (kit_failed())
			break;
		kit_expect(v.number >= next[v.sender]);
		next[v.sender] = v.number + 1;
		set_fate(&v, RECEIVED);
		wf_add_rlx(&load.received, 1);
	}
	return NULL;
}

/* All senders and receivers as fibers. */
static void *fibers(void *arg)
{
	weft_fiber *f[SENDERS_MAX + RECEIVERS_MAX];
	unsigned n = 0;

	for (uintptr_t i = 0; i < load.receivers; i++)
		kit_expect(weft_spawn(&f[n++], NULL, receiver, (void *)i) == 0);
	for (uintptr_t i = 0; i < load.senders; i++)
		kit_expect(weft_spawn(&f[n++], NULL, sender, (void *)i) == 0);
	while (n > 0)
		kit_expect(weft_join(f[--n], NULL, WEFT_FOREVER) == 0);
	return arg;
}

static void carry(unsigned workers, unsigned senders, unsigned receivers)
{
	for (size_t i = 0; i < CAPACITIES; i++) {
		uint32_t each = (uint32_t)kit_rounds(20000) / senders + 1;

		load_begin(capacities[i], senders, receivers, each);
		kit_play(fibers, workers);
		assert_int_equal(wf_load_rlx(&load.sent), senders * each);
		load_end();
	}
}

static void every_value_arrives_once_and_in_order(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers *= 2) {
		carry(workers, 1, 1);
		carry(workers, 4, 1);
		carry(workers, 1, 4);
		carry(workers, SENDERS_MAX, RECEIVERS_MAX);
	}
}

/* ------------------------------------------------------------------------ */
/* Threads and fibers. */

static void thread(void *arg, unsigned i)
{
	(void)arg;
	if (i % 2)
		(void)sender((void *)(uintptr_t)(load.senders - 1 - i / 2));
	else
		(void)receiver((void *)(uintptr_t)(load.receivers - 1 - i / 2));
}

/* Two of each kind are threads, the others fibers. */
static void run_mixed(weft_rt *rt)
{
	weft_fiber *f[SENDERS_MAX + RECEIVERS_MAX];
	unsigned n = 0;

	for (uintptr_t i = 0; i < load.receivers - 2; i++)
		assert_int_equal(
			weft_rt_spawn(rt, &f[n++], NULL, receiver, (void *)i),
			0);
	for (uintptr_t i = 0; i < load.senders - 2; i++)
		assert_int_equal(
			weft_rt_spawn(rt, &f[n++], NULL, sender, (void *)i), 0);
	threads_run(4, thread, NULL);
	while (n > 0)
		assert_int_equal(weft_join(f[--n], NULL, WEFT_FOREVER), 0);
}

static void threads_and_fibers_share_a_channel(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);

	(void)state;
	for (size_t i = 0; i < CAPACITIES; i++) {
		uint32_t each = (uint32_t)kit_rounds(10000) / 6 + 1;

		load_begin(capacities[i], 6, 5, each);
		run_mixed(rt);
		assert_int_equal(wf_load_rlx(&load.sent), 6 * each);
		load_end();
		kit_watch();
	}
	kit_stop(rt);
}

/* Short deadlines: senders keep their values again and again. */
static void a_sender_that_times_out_keeps_its_value(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);
	uint64_t kept = 0;

	(void)state;
	for (size_t i = 0; i < CAPACITIES; i++) {
		load_begin(capacities[i], 6, 4,
			(uint32_t)kit_rounds(10000) / 6 + 1);
		load.hasty = true;
		run_mixed(rt);
		kept += wf_load_rlx(&load.kept);
		assert_int_equal(
			wf_load_rlx(&load.sent) + wf_load_rlx(&load.kept),
			load.senders * load.each);
		load_end();
		kit_watch();
	}
	kit_stop(rt);
	printf("%llu values were kept\n", (unsigned long long)kept);
	assert_true(kept > 0);
}

/* ------------------------------------------------------------------------ */
/* A close under load. */

static _Atomic(unsigned) closes;

/* Two closers at once, after some values: at most one close returns 0. */
static void *closer(void *arg)
{
	uint64_t when = (uintptr_t)arg;

	while (wf_load_rlx(&load.sent) < when && wf_load_rlx(&load.left) > 0)
		weft_yield();
	if (weft_chan_close(load.c) == 0)
		wf_add_rlx(&closes, 1);
	return NULL;
}

static void close_under_load(weft_rt *rt, size_t capacity, uint64_t when)
{
	weft_fiber *f[2];

	load_begin(capacity, 6, 4, 200);
	wf_store_rlx(&closes, 0);
	load.hasty = when % 2;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(weft_rt_spawn(rt, &f[i], NULL, closer,
					 (void *)(uintptr_t)when),
			0);
	run_mixed(rt);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(weft_join(f[i], NULL, WEFT_FOREVER), 0);
	assert_true(wf_load_rlx(&closes) <= 1);
	load_end();
	kit_watch();
}

static void a_close_at_any_moment_loses_nothing(void **state)
{
	for (unsigned workers = 1; workers <= 3; workers++) {
		weft_config cfg = { .workers = workers };
		weft_rt *rt = kit_start(&cfg);
		size_t n = kit_rounds(100);

		for (size_t i = 0; i < n; i++)
			close_under_load(
				rt, capacities[i % CAPACITIES], i * i % 997);
		kit_stop(rt);
	}
	(void)state;
}

/* ------------------------------------------------------------------------ */
/* Channels that are freed right after their only value. */

struct brief {
	weft_chan *c;
	uint64_t value;
	bool receives;
};

static void brief_other(void *arg)
{
	struct brief *b = arg;
	weft_chan *c = b->c;
	uint64_t v = b->value;

	/* The last use: the partner frees the channel right after. */
	if (b->receives)
		kit_expect(weft_chan_recv(c, NULL, WEFT_FOREVER) == 0);
	else if (v % 3)
		kit_expect(weft_chan_send(c, &v, WEFT_FOREVER) == 0);
	else
		kit_expect(weft_chan_close(c) == 0);
}

static void *brief(void *arg)
{
	size_t n = kit_rounds(20000) / 8;

	for (uint64_t i = 0; i < n; i++) {
		struct brief b = { .value = i, .receives = i % 4 == 1 };
		uint64_t got = 0;
		int err;

		kit_expect(weft_chan_create(&b.c, sizeof(got),
				   b.receives ? 0 : i % 2) == 0);
		/* brief_other reads b before it uses the channel. */
		kit_expect(weft_go(brief_other, &b) == 0);
		if (b.receives) {
			kit_expect(weft_chan_send(b.c, &i, WEFT_FOREVER) == 0);
		} else {
			err = weft_chan_recv(b.c, &got, WEFT_FOREVER);
			kit_expect(err == (i % 3 ? 0 : -EPIPE) &&
				got == (i % 3 ? i : 0));
		}
		weft_chan_unref(b.c);
	}
	return arg;
}

static void *many_brief(void *arg)
{
	weft_fiber *f[8];

	for (size_t i = 0; i < 8; i++)
		kit_expect(weft_spawn(&f[i], NULL, brief, NULL) == 0);
	for (size_t i = 0; i < 8; i++)
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
	return arg;
}

static void a_channel_is_freed_right_after_its_last_use(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++)
		kit_play(many_brief, workers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_arrives_once_and_in_order),
		cmocka_unit_test(threads_and_fibers_share_a_channel),
		cmocka_unit_test(a_sender_that_times_out_keeps_its_value),
		cmocka_unit_test(a_close_at_any_moment_loses_nothing),
		cmocka_unit_test(a_channel_is_freed_right_after_its_last_use),
	};

	printf("seed %llu\n", (unsigned long long)threads_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
