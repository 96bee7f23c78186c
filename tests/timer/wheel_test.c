/* SPDX-License-Identifier: MIT */
/*
 * tests/timer/wheel_test.c - the wheel against a model: an array in which one
 * looks for the first.  And its invariants, W1 to W4.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/units.h"
#include "timer/model.h"
#include "timer/wheel.h"

#define TICK_NS ((int64_t)1 << WF_WHEEL_TICK_SHIFT)

static int64_t wanted[TIMERS]; /* what ask says */
static struct wf_wheel wheel;
static int64_t now_ns;

static int begin(void **state)
{
	(void)state;
	model_begin();
	memset(&wheel, 0, sizeof(wheel));
	now_ns = 1;
	return 0;
}

static void put(size_t i, int64_t key)
{
	wanted[i] = key;
	wf_wheel_insert(&wheel, &timers[i], key);
	assert_ptr_equal(wf_load_rlx(&timers[i].in), &wheel);
	is_in[i] = true;
}

static void take(struct wf_timer *t)
{
	wf_wheel_remove(&wheel, t);
	assert_null(wf_load_rlx(&t->in));
	is_in[t - timers] = false;
}

static size_t in_heap(struct wf_timer *t)
{
	size_t n = 0;

	for (; t != NULL; t = t->next) {
		/* (W1) */
		assert_true(t->key >> WF_WHEEL_TICK_SHIFT <= wheel.tick);
		n += 1 + in_heap(t->child);
		if (t == wheel.heap.root)
			break;
	}
	return n;
}

static size_t in_slot(unsigned level, unsigned digit)
{
	struct wf_wheel_slot *slot = &wheel.slot[level][digit];
	unsigned shift = level * WF_WHEEL_DIGIT_SHIFT;
	size_t n = 0;

	if (slot->first != NULL) {
		/* (W3) */
		assert_true(wheel.full[level] >> digit & 1);
		/* (W4) */
		assert_true(slot->leader == NULL ||
			(is_in[slot->leader - timers] &&
				slot->leader->key == slot->least));
	}
	for (struct wf_timer *t = slot->first; t != NULL; t = t->next) {
		int64_t tick = t->key >> WF_WHEEL_TICK_SHIFT;

		n++;
		assert_true(is_in[t - timers]);
		/* (W2) */
		assert_true(tick > wheel.tick);
		assert_int_equal(tick >> shift >> WF_WHEEL_DIGIT_SHIFT,
			wheel.tick >> shift >> WF_WHEEL_DIGIT_SHIFT);
		assert_int_equal((tick >> shift) % WF_WHEEL_SLOTS, digit);
		assert_int_not_equal(
			(wheel.tick >> shift) % WF_WHEEL_SLOTS, digit);
		/* (W4) */
		assert_true(slot->least <= t->key);
	}
	return n;
}

static void check(void)
{
	struct wf_timer *first = model_first();
	size_t want = 0, n = in_heap(wheel.heap.root);

	for (size_t i = 0; i < TIMERS; i++)
		want += is_in[i];
	for (unsigned l = 0; l < WF_WHEEL_LEVELS; l++)
		for (unsigned d = 0; d < WF_WHEEL_SLOTS; d++)
			n += in_slot(l, d);
	assert_int_equal(n, want);
	assert_true(wf_wheel_next(&wheel) <= (first ? first->key : INT64_MAX));
}

/* Take all that is due by now, in order, and nothing else. */
static size_t run(void)
{
	struct wf_timer *t;
	size_t n = 0;

	while ((t = wf_wheel_due(&wheel, now_ns)) != NULL) {
		assert_ptr_equal(t, model_first());
		assert_true(t->key <= now_ns);
		take(t);
		n++;
	}
	t = model_first();
	assert_true(t == NULL || t->key > now_ns);
	return n;
}

static void an_empty_wheel_has_no_next(void **state)
{
	(void)state;
	assert_true(wf_wheel_next(&wheel) == INT64_MAX);
	assert_null(wf_wheel_due(&wheel, INT64_MAX - 1));
	put(0, 17);
	assert_int_equal(wf_wheel_next(&wheel), 17);
	assert_null(wf_wheel_due(&wheel, 16));
	assert_ptr_equal(wf_wheel_due(&wheel, 17), &timers[0]);
	take(&timers[0]);
	assert_true(wf_wheel_next(&wheel) == INT64_MAX);
}

/* As long as nothing is taken out, next is exact, however far ahead. */
static void next_is_the_first_key(void **state)
{
	int64_t least = INT64_MAX;

	(void)state;
	for (int shift = 62; shift >= 0; shift--) {
		int64_t key = ((int64_t)1 << shift) + (shift > 10 ? 3 : 0);

		put((size_t)shift, key);
		least = key < least ? key : least;
		assert_true(wf_wheel_next(&wheel) == least);
		check();
	}
	/* One by one, each exactly at its time and none a moment before. */
	for (int shift = 0; shift <= 62; shift++) {
		int64_t key = timers[shift].key;

		assert_true(wf_wheel_next(&wheel) == key);
		assert_null(wf_wheel_due(&wheel, key - 1));
		now_ns = key;
		assert_int_equal(run(), 1);
		check();
	}
}

static void the_ends_of_time_are_keys(void **state)
{
	(void)state;
	put(0, INT64_MAX - 1);
	put(1, INT64_MAX - 2);
	put(2, 1);
	now_ns = 1;
	assert_int_equal(run(), 1);
	assert_true(wf_wheel_next(&wheel) == INT64_MAX - 2);
	now_ns = INT64_MAX - 2;
	assert_int_equal(run(), 1);
	assert_true(wf_wheel_next(&wheel) == INT64_MAX - 1);
	now_ns = INT64_MAX - 1;
	assert_int_equal(run(), 1);
}

/* Also those that move through several levels, and through a slot's list. */
static void equal_keys_come_in_order(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		int64_t key = now_ns + (TICK_NS << (6 * round)) * 5 + 12345;

		for (size_t i = 0; i < TIMERS; i++)
			put(i, key + (i % 3 == 0));
		now_ns = key;
		assert_int_equal(run(), TIMERS - TIMERS / 3);
		now_ns++;
		assert_int_equal(run(), TIMERS / 3);
	}
}

/* Near, far, and on the edge of a slot. */
static int64_t some_key(void)
{
	unsigned shift = below(45);
	int64_t key = now_ns +
		(int64_t)(wf_random_next(&rng) & (((uint64_t)2 << shift) - 1));

	if (below(4) == 0)
		key = (key & -(TICK_NS << below(20))) - below(2);
	return key > 0 ? key : 1;
}

static void random_steps(size_t rounds, void (*more)(void))
{
	for (size_t n = 0; n < rounds; n++) {
		size_t i = below(TIMERS);

		if (is_in[i])
			take(&timers[i]);
		else
			put(i, some_key());
		if (below(8) == 0) {
			now_ns += (int64_t)(wf_random_next(&rng) &
				(((uint64_t)2 << below(40)) - 1));
			run();
		}
		if (more != NULL)
			more();
		if (n % 64 == 0)
			check();
	}
	now_ns = INT64_MAX - 1;
	run();
	check();
}

static void all_that_is_due_comes_and_nothing_else(void **state)
{
	(void)state;
	random_steps(threads_rounds(20000), NULL);
}

/* They come in order, and seem to be in until it is decided. */
static void a_popped_timer_goes_back_or_out(void **state)
{
	int64_t key = now_ns + 70 * TICK_NS;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		put(i, key + (int64_t)i);
	assert_null(wf_wheel_pop(&wheel, key - 1));
	for (size_t i = 0; i < 10; i++) {
		struct wf_timer *t = wf_wheel_pop(&wheel, key + 9);

		assert_ptr_equal(t, &timers[i]);
		assert_ptr_equal(wf_load_rlx(&t->in), &wheel);
		if (i % 2 == 0) {
			wf_wheel_put(&wheel, t, key + 100 - (int64_t)i);
			assert_ptr_equal(wf_load_rlx(&t->in), &wheel);
		} else {
			wf_wheel_drop(t);
			assert_null(wf_load_rlx(&t->in));
			is_in[i] = false;
		}
	}
	check();
	assert_null(wf_wheel_pop(&wheel, key + 9));
	for (size_t i = 10; i > 0; i -= 2) {
		assert_ptr_equal(
			wf_wheel_pop(&wheel, key + 100), &timers[i - 2]);
		wf_wheel_drop(&timers[i - 2]);
		is_in[i - 2] = false;
	}
	assert_int_equal(wf_wheel_next(&wheel), INT64_MAX);
	check();
}

/* ------------------------------------------------------------------------ */
/* Pruning. */

static size_t asked;

static int64_t ask(struct wf_timer *t)
{
	asked++;
	assert_ptr_equal(wf_load_rlx(&t->in), &wheel);
	return wanted[t - timers];
}

/* Only those that should be are out now. */
static void prune(void)
{
	asked = 0;
	wf_wheel_prune(&wheel, ask);
	for (size_t i = 0; i < TIMERS; i++) {
		if (!is_in[i] || wf_load_rlx(&timers[i].in) != NULL)
			continue;
		assert_true(wanted[i] == INT64_MIN);
		is_in[i] = false;
	}
}

/* Dead ones go, up to the first that is alive; its key is next. */
static void dead_ones_are_dropped(void **state)
{
	(void)state;
	for (int level = 0; level < 5; level++) {
		int64_t unit = TICK_NS << (6 * level);

		for (size_t i = 0; i < 8; i++)
			put(i, now_ns + unit * 2 * (int64_t)(i + 1));
		for (size_t i = 0; i < 5; i++)
			wanted[i] = INT64_MIN;
		wanted[5] += unit * 9;
		prune();
		assert_true(wf_wheel_next(&wheel) == timers[6].key);
		assert_true(timers[5].key == wanted[5]);
		check();
		for (size_t i = 6; i < 8; i++)
			wanted[i] = INT64_MIN;
		prune();
		assert_true(wf_wheel_next(&wheel) == timers[5].key);
		wanted[5] = INT64_MIN;
		prune();
		assert_true(wf_wheel_next(&wheel) == INT64_MAX);
		assert_int_equal(run(), 0);
		check();
	}
}

/* Within one slot: the first is dead, the second alive, the third has moved. */
static void a_slot_is_pruned_as_a_whole(void **state)
{
	(void)state;
	now_ns = 100 * TICK_NS;
	put(9, now_ns);
	assert_int_equal(run(), 1);
	put(0, 200 * TICK_NS + 1);
	put(1, 200 * TICK_NS + 2);
	put(2, 200 * TICK_NS + 3);
	put(3, 200 * TICK_NS + 4);
	wanted[0] = INT64_MIN;
	wanted[1] = 200 * TICK_NS + 7;
	wanted[2] = 900 * TICK_NS;
	prune();
	assert_true(wf_wheel_next(&wheel) == 200 * TICK_NS + 4);
	check();
	now_ns = 200 * TICK_NS + 7;
	assert_int_equal(run(), 2);
	assert_true(wf_wheel_next(&wheel) == 900 * TICK_NS);
}

/* Very many timers in one slot are left alone, even if they are dead. */
static void a_crowd_is_not_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < 65; i++)
		put(i, 70 * TICK_NS + (int64_t)i);
	wanted[0] = INT64_MIN;
	prune();
	assert_int_equal(asked, 1);
	assert_true(wf_wheel_next(&wheel) == 70 * TICK_NS);
	take(&timers[64]);
	prune();
	assert_int_equal(asked, 1 + 64);
	assert_true(wf_wheel_next(&wheel) == 70 * TICK_NS + 1);
	now_ns = 71 * TICK_NS;
	assert_int_equal(run(), 63);
}

/* While the first timer is alive, prune asks about no other. */
static void prune_asks_only_about_a_first_that_is_alive(void **state)
{
	(void)state;
	for (size_t i = 0; i < 50; i++)
		put(i, 70 * TICK_NS + 100 - (int64_t)i);
	for (int i = 0; i < 3; i++) {
		prune();
		assert_int_equal(asked, 1);
	}
	/* The first is removed: the wheel does not know the new first. */
	take(&timers[49]);
	prune();
	assert_int_equal(asked, 49);
	prune();
	assert_int_equal(asked, 1);
	assert_true(wf_wheel_next(&wheel) == timers[48].key);
}

/* Does some timer have this key, rightly? */
static bool is_wanted(int64_t key)
{
	for (size_t i = 0; i < TIMERS; i++)
		if (is_in[i] && timers[i].key == key && wanted[i] == key)
			return true;
	return false;
}

/* A timer that prune asks about gets its wanted key; the others keep theirs. */
static void prune_some(void)
{
	struct wf_timer *first;
	size_t i = below(TIMERS);

	if (is_in[i] && timers[i].key < INT64_MAX - ((int64_t)1 << 45))
		wanted[i] = below(2) ? INT64_MIN
				     : timers[i].key + 1 +
				(int64_t)(wf_random_next(&rng) &
					(((uint64_t)2 << below(44)) - 1));
	if (below(4) != 0)
		return;
	prune();
	first = model_first();
	/* There are not enough timers for a slot to be left alone. */
	assert_true(wf_wheel_next(&wheel) == (first ? first->key : INT64_MAX));
	assert_true(first == NULL || is_wanted(first->key));
}

static void pruning_changes_nothing_else(void **state)
{
	(void)state;
	random_steps(threads_rounds(20000), prune_some);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_empty_wheel_has_no_next, begin),
		cmocka_unit_test_setup(next_is_the_first_key, begin),
		cmocka_unit_test_setup(the_ends_of_time_are_keys, begin),
		cmocka_unit_test_setup(equal_keys_come_in_order, begin),
		cmocka_unit_test_setup(
			all_that_is_due_comes_and_nothing_else, begin),
		cmocka_unit_test_setup(a_popped_timer_goes_back_or_out, begin),
		cmocka_unit_test_setup(dead_ones_are_dropped, begin),
		cmocka_unit_test_setup(a_slot_is_pruned_as_a_whole, begin),
		cmocka_unit_test_setup(a_crowd_is_not_asked, begin),
		cmocka_unit_test_setup(
			prune_asks_only_about_a_first_that_is_alive, begin),
		cmocka_unit_test_setup(pruning_changes_nothing_else, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
