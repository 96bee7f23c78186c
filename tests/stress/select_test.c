/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/select_test.c - selects under load, against each other and
 * against plain calls, with deadlines and cancellations: every value that was
 * sent is received once, and none that was not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "stress/sched_kit.h"

#include <weft/weft.h>

enum { CHANNELS = 4, PLAYERS = 12, CASES = 6, VALUES_MAX = 1 << 18 };

/* What became of a value. */
enum { SENT = 1, RECEIVED = 2 };

static struct {
	weft_chan *c[CHANNELS];
	weft_event never;	 /* never set */
	_Atomic(uint32_t) value; /* the next one */
	_Atomic(uint32_t) *fate; /* of each */
	_Atomic(uint64_t) sent, received, late, cancelled;
} game;

static void game_begin(size_t capacity)
{
	for (size_t i = 0; i < CHANNELS; i++)
		assert_int_equal(weft_chan_create(&game.c[i], sizeof(uint32_t),
					 i == 0 ? 0 : capacity),
			0);
	wf_store_rlx(&game.value, 0);
	game.fate = calloc(VALUES_MAX, sizeof(*game.fate));
	assert_non_null(game.fate);
	wf_store_rlx(&game.sent, 0);
	wf_store_rlx(&game.received, 0);
	wf_store_rlx(&game.late, 0);
	wf_store_rlx(&game.cancelled, 0);
}

static void set_fate(uint32_t value, uint32_t what)
{
	uint32_t old;

	kit_expect(value < VALUES_MAX);
	if (value >= VALUES_MAX)
		return;
	old = wf_or_rlx(&game.fate[value], what);
	kit_expect(!(old & what));
	wf_add_rlx(what == SENT ? &game.sent : &game.received, 1);
}

/* After the last player: drain the buffers, and compare the sums. */
static void game_end(void)
{
	uint32_t values = wf_load_rlx(&game.value), v;

	for (size_t i = 0; i < CHANNELS; i++) {
		while (weft_chan_recv(game.c[i], &v, WEFT_NOW) == 0)
			set_fate(v, RECEIVED);
		/* It would be misuse if a waiter were left in its lists. */
		weft_chan_unref(game.c[i]);
	}
	kit_settle();
	assert_int_equal(wf_load_rlx(&game.sent), wf_load_rlx(&game.received));
	for (uint32_t i = 0; i < values; i++) {
		uint32_t fate = wf_load_rlx(&game.fate[i]);

		if (fate != 0 && fate != (SENT | RECEIVED))
			fail_msg("value %u: %#x", i, fate);
	}
	printf("%llu sent, %llu late, %llu cancelled\n",
		(unsigned long long)wf_load_rlx(&game.sent),
		(unsigned long long)wf_load_rlx(&game.late),
		(unsigned long long)wf_load_rlx(&game.cancelled));
	assert_true(wf_load_rlx(&game.sent) > 0);
	free((void *)game.fate);
	kit_watch();
}

/* ------------------------------------------------------------------------ */
/* A player: a fiber or a thread. */

struct player {
	struct wf_random random;
	uint32_t moves;
	bool cancellable;
	weft_case cases[CASES];
	uint32_t value[CASES]; /* in or out */
};

static weft_time some_time(struct wf_random *r)
{
	switch (wf_random_below(r, 4)) {
	case 0:
		return WEFT_NOW;
	case 1:
		return weft_after(100 * WF_NS_PER_US);
	default:
		return weft_after(wf_random_below(r, 20000));
	}
}

/* Check the result of one call; false: the player ends. */
static bool look_at(struct player *p, int err)
{
	if (err == -ETIMEDOUT) {
		wf_add_rlx(&game.late, 1);
		return true;
	}
	if (err == -ECANCELED) {
		kit_expect(p->cancellable && weft_cancelled());
		wf_add_rlx(&game.cancelled, 1);
		return false;
	}
	kit_expect(err >= 0);
	return err >= 0;
}

static bool select_once(struct player *p)
{
	uint32_t n = 1 + wf_random_below(&p->random, CASES);
	int i;

	for (uint32_t k = 0; k < n; k++) {
		uint32_t what = wf_random_below(&p->random, 16);
		bool sends = what % 2;

		p->value[k] = sends ? wf_add_rlx(&game.value, 1) : UINT32_MAX;
		p->cases[k] = (weft_case){
			.op = sends ? WEFT_SEND : WEFT_RECV,
			.result = -1,
			.obj = game.c[wf_random_below(&p->random, CHANNELS)],
			.value = &p->value[k],
		};
		if (what == 2)
			p->cases[k].op = WEFT_EVENT,
			p->cases[k].obj = &game.never;
		else if (what == 4)
			p->cases[k].obj = NULL;
	}
	i = weft_select(p->cases, n, some_time(&p->random));
	for (uint32_t k = 0; k < n; k++)
		kit_expect(p->cases[k].result == ((int)k == i ? 0 : -1));
	if (!look_at(p, i))
		return false;
	kit_expect(i < 0 || p->cases[i].op != WEFT_EVENT);
	if (i >= 0)
		set_fate(p->value[i],
			p->cases[i].op == WEFT_SEND ? SENT : RECEIVED);
	return true;
}

/* A plain call, beside the selects. */
static bool call_once(struct player *p)
{
	weft_chan *c = game.c[wf_random_below(&p->random, CHANNELS)];
	bool sends = wf_random_below(&p->random, 2);
	weft_time deadline = some_time(&p->random);
	uint32_t v = sends ? wf_add_rlx(&game.value, 1) : 0;
	int err = sends ? weft_chan_send(c, &v, deadline)
			: weft_chan_recv(c, &v, deadline);

	if (err == 0)
		set_fate(v, sends ? SENT : RECEIVED);
	return look_at(p, err);
}

static void play(struct player *p)
{
	while (p->moves-- > 0 && !kit_failed())
		if (wf_random_below(&p->random, 4) ? !select_once(p)
						   : !call_once(p))
			return;
}

static void *player_fiber(void *arg)
{
	play(arg);
	return arg;
}

/* Starts a player, cancels every other one, and joins it. */
static void *manager(void *arg)
{
	static struct player players[PLAYERS];
	struct player *p = &players[(uintptr_t)arg];
	size_t n = kit_rounds(60);
	struct wf_random r;

	wf_random_seed(&r, threads_seed() + 99999 + (uintptr_t)arg);
	for (size_t i = 0; i < n && !kit_failed(); i++) {
		weft_fiber *f;

		*p = (struct player){ .moves = 60, .cancellable = true };
		wf_random_seed(&p->random,
			threads_seed() + i * PLAYERS + (uintptr_t)arg);
		kit_expect(weft_spawn(&f, NULL, player_fiber, p) == 0);
		(void)weft_sleep(wf_random_below(&r, 300) * 1000);
		if (i % 2)
			(void)weft_cancel(f);
		kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	}
	return NULL;
}

static void thread(void *arg, unsigned i)
{
	struct player p = { .moves = (uint32_t)kit_rounds(1500) };

	(void)arg;
	wf_random_seed(&p.random, threads_seed() + 77777 + i);
	play(&p);
}

static void play_mixed(weft_rt *rt, size_t capacity)
{
	weft_fiber *f[PLAYERS];

	game_begin(capacity);
	for (uintptr_t i = 0; i < PLAYERS; i++)
		assert_int_equal(
			weft_rt_spawn(rt, &f[i], NULL, manager, (void *)i), 0);
	threads_run(2, thread, NULL);
	for (size_t i = 0; i < PLAYERS; i++)
		assert_int_equal(weft_join(f[i], NULL, WEFT_FOREVER), 0);
	game_end();
}

static void selects_lose_and_double_nothing(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers *= 2) {
		weft_config cfg = { .workers = workers };
		weft_rt *rt = kit_start(&cfg);

		for (size_t capacity = 0; capacity <= 2; capacity++)
			play_mixed(rt, capacity);
		kit_stop(rt);
	}
}

/* ------------------------------------------------------------------------ */
/* Selects without deadlines: only another select ends their waits. */

enum { PAIRS = 6 };

static struct {
	weft_chan *a, *b;
	uint32_t each;
	_Atomic(uint64_t) in, out;
} duel;

/* Sends on one channel or receives from the other, each times. */
static void *duellist(void *arg)
{
	bool first = (uintptr_t)arg % 2;
	uint32_t left = duel.each;

	while (left > 0 && !kit_failed()) {
		uint32_t out = left, in = 0;
		weft_case cases[] = {
			{ .op = WEFT_SEND,
				.obj = first ? duel.a : duel.b,
				.value = &out },
			{ .op = WEFT_RECV,
				.obj = first ? duel.b : duel.a,
				.value = &in },
		};
		int i = weft_select(cases, 2, WEFT_FOREVER);

		kit_expect(i == 0 || i == 1);
		if (i == 0)
			wf_add_rlx(&duel.out, out);
		else
			wf_add_rlx(&duel.in, in);
		left--;
	}
	return NULL;
}

/* Each exchange takes one turn of each side, so all fibers end. */
static void *duel_fibers(void *arg)
{
	weft_fiber *f[2 * PAIRS];

	for (uintptr_t i = 0; i < 2 * PAIRS; i++)
		kit_expect(weft_spawn(&f[i], NULL, duellist, (void *)i) == 0);
	for (size_t i = 0; i < 2 * PAIRS; i++)
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
	return arg;
}

static void selects_meet_selects(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers *= 2) {
		assert_int_equal(
			weft_chan_create(&duel.a, sizeof(uint32_t), 0), 0);
		assert_int_equal(
			weft_chan_create(&duel.b, sizeof(uint32_t), 0), 0);
		duel.each = (uint32_t)kit_rounds(3000);
		wf_store_rlx(&duel.in, 0);
		wf_store_rlx(&duel.out, 0);
		kit_play(duel_fibers, workers);
		assert_int_equal(wf_load_rlx(&duel.in), wf_load_rlx(&duel.out));
		weft_chan_unref(duel.a);
		weft_chan_unref(duel.b);
	}
}

/* ------------------------------------------------------------------------ */
/* A select in front of plain receivers on each of its channels. */

static struct {
	weft_chan *c[3];
	_Atomic(uint64_t) sum;
	_Atomic(unsigned) senders;
	uint32_t each;
} front;

static void *plain_receiver(void *c)
{
	uint32_t v;

	while (weft_chan_recv(c, &v, WEFT_FOREVER) == 0)
		wf_add_rlx(&front.sum, v);
	return NULL;
}

static void *select_receiver(void *arg)
{
	uint32_t v[3];
	weft_case cases[3];
	int i;

	for (size_t k = 0; k < 3; k++)
		cases[k] = (weft_case){
			.op = WEFT_RECV, .obj = front.c[k], .value = &v[k]
		};
	while ((i = weft_select(cases, 3, WEFT_FOREVER)) >= 0) {
		if (cases[i].result == 0)
			wf_add_rlx(&front.sum, v[i]);
		else
			cases[i].obj = NULL;
		if (!cases[0].obj && !cases[1].obj && !cases[2].obj)
			break;
	}
	kit_expect(i >= 0);
	return arg;
}

static void *plain_sender(void *arg)
{
	weft_chan *c = front.c[(uintptr_t)arg % 3];

	for (uint32_t i = 1; i <= front.each; i++)
		kit_expect(weft_chan_send(c, &i, WEFT_FOREVER) == 0);
	if (wf_sub_acqrel(&front.senders, 1) == 1)
		for (size_t k = 0; k < 3; k++)
			kit_expect(weft_chan_close(front.c[k]) == 0);
	return NULL;
}

static void *front_fibers(void *arg)
{
	weft_fiber *f[3 + 3 + 6];
	size_t n = 0;

	for (size_t i = 0; i < 3; i++) {
		kit_expect(
			weft_spawn(&f[n++], NULL, select_receiver, NULL) == 0);
		kit_expect(weft_spawn(&f[n++], NULL, plain_receiver,
				   front.c[i]) == 0);
	}
	for (uintptr_t i = 0; i < 6; i++)
		kit_expect(weft_spawn(&f[n++], NULL, plain_sender, (void *)i) ==
			0);
	while (n > 0)
		kit_expect(weft_join(f[--n], NULL, WEFT_FOREVER) == 0);
	return arg;
}

static void waiters_behind_a_select_are_served(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers *= 2) {
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(weft_chan_create(&front.c[i],
						 sizeof(uint32_t), i),
				0);
		front.each = (uint32_t)kit_rounds(5000);
		wf_store_rlx(&front.sum, 0);
		wf_store_rlx(&front.senders, 6);
		kit_play(front_fibers, workers);
		assert_int_equal(wf_load_rlx(&front.sum),
			6 * (uint64_t)front.each * (front.each + 1) / 2);
		for (size_t i = 0; i < 3; i++)
			weft_chan_unref(front.c[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selects_lose_and_double_nothing),
		cmocka_unit_test(selects_meet_selects),
		cmocka_unit_test(waiters_behind_a_select_are_served),
	};

	printf("seed %llu\n", (unsigned long long)threads_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
