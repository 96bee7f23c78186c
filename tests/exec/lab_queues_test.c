/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/lab_queues_test.c - the laboratory's workers take, steal and send
 * away as many tasks as the configuration says, the oldest first.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "exec/lab_hand.h"

static const uint32_t locals[] = { WF_LAB_RING, WF_LAB_RING_LOCKED,
	WF_LAB_LIST };
enum { LOCALS = sizeof(locals) / sizeof(locals[0]) };

static struct wf_lab_config config(uint32_t local, uint32_t workers)
{
	struct wf_lab_config c = wf_lab_default;

	c.local = local;
	c.workers = workers;
	c.local_capacity = 8;
	return c;
}

static size_t pop(struct wf_lab_worker *w)
{
	return hand_number(wf_lab_pop(w));
}

/* ------------------------------------------------------------------------ */
/* Take. */

static void take_from_ten(uint32_t take, uint32_t local, size_t expected)
{
	struct wf_lab_config c = config(local, 2);
	struct wf_lab *lab;
	size_t shown = 99;

	c.take = take;
	lab = hand_open(&c);
	hand_fill(lab, 0, 10);
	assert_int_equal(
		hand_number(wf_lab_take(&lab->workers[0], &shown)), 0);
	assert_int_equal(shown, expected - 1);
	for (size_t i = 1; i < expected; i++)
		assert_int_equal(pop(&lab->workers[0]), i);
	assert_int_equal(pop(&lab->workers[0]), SIZE_MAX);
	assert_true(wf_lab_has_tasks(lab) == (expected < 10));
	hand_close(lab);
}

static void it_takes_one_a_share_or_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < LOCALS; i++) {
		bool list = locals[i] == WF_LAB_LIST;

		take_from_ten(WF_LAB_TAKE_ONE, locals[i], 1);
		take_from_ten(WF_LAB_TAKE_SHARE, locals[i], 5);
		/* A ring of 8 has room for 8, and one is run. */
		take_from_ten(WF_LAB_TAKE_ALL, locals[i], list ? 10 : 9);
	}
}

static void a_full_ring_takes_one(void **state)
{
	struct wf_lab_config c = config(WF_LAB_RING, 1);
	struct wf_lab *lab;
	size_t shown = 99;

	(void)state;
	c.take = WF_LAB_TAKE_ALL;
	lab = hand_open(&c);
	hand_fill_local(&lab->workers[0], 0, 8);
	hand_fill(lab, 10, 20);
	assert_int_equal(
		hand_number(wf_lab_take(&lab->workers[0], &shown)), 10);
	assert_int_equal(shown, 0);
	hand_close(lab);
}

/* ------------------------------------------------------------------------ */
/* Overflow. */

static void a_full_ring_sends_half_or_one(void **state)
{
	(void)state;
	for (uint32_t half = 0; half < 2; half++)
		for (size_t i = 0; i < 2; i++) {
			struct wf_lab_config c = config(locals[i], 2);
			struct wf_lab_worker *w;
			struct wf_lab *lab;
			size_t gone = half ? 4 : 0, shown = 99;

			c.offload = half ? WF_LAB_OFFLOAD_HALF
					 : WF_LAB_OFFLOAD_ONE;
			c.take = WF_LAB_TAKE_ONE;
			lab = hand_open(&c);
			w = &lab->workers[0];
			hand_fill_local(w, 0, 8);
			assert_int_equal(
				wf_lab_push(w, &hand_tasks[8]), gone + 1);
			assert_int_equal(
				hand_count(w, WF_LAB_OFFLOADED), gone + 1);
			for (size_t j = 0; j < gone; j++)
				assert_int_equal(
					hand_number(wf_lab_take(w, &shown)), j);
			assert_int_equal(
				hand_number(wf_lab_take(w, &shown)), 8);
			assert_int_equal(pop(w), gone);
			hand_close(lab);
		}
}

static void a_list_is_never_full(void **state)
{
	struct wf_lab_config c = config(WF_LAB_LIST, 1);
	struct wf_lab *lab = hand_open(&c);

	(void)state;
	for (size_t i = 0; i < HAND_TASKS; i++)
		assert_int_equal(
			wf_lab_push(&lab->workers[0], &hand_tasks[i]), 1);
	for (size_t i = 0; i < HAND_TASKS; i++)
		assert_int_equal(pop(&lab->workers[0]), i);
	assert_false(wf_lab_has_tasks(lab));
	hand_close(lab);
}

/* Behind a full bounded queue a list keeps the order. */
static void bounded_overflows_in_order(void **state)
{
	struct wf_lab_config c = config(WF_LAB_RING, 2);
	struct wf_lab_worker *w;
	struct wf_lab *lab;
	size_t shown = 99;

	(void)state;
	c.queues = WF_LAB_BOUNDED;
	c.bounded_capacity = 4;
	lab = hand_open(&c);
	w = &lab->workers[1];
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(wf_lab_push(w, &hand_tasks[i]), 1);
	assert_int_equal(hand_count(w, WF_LAB_OVERFLOWS), 6);
	assert_int_equal(hand_number(wf_lab_take(w, &shown)), 0);
	/* There is room, but older tasks are in the list. */
	hand_fill(lab, 10, 11);
	assert_int_equal(wf_load_rlx(&lab->counts[WF_LAB_OVERFLOWS]), 1);
	for (size_t i = 1; i < 11; i++)
		assert_int_equal(hand_number(wf_lab_take(w, &shown)), i);
	assert_false(wf_lab_has_tasks(lab));
	assert_null(wf_lab_take(w, &shown));
	hand_close(lab);
}

/* ------------------------------------------------------------------------ */
/* Thieves. */

static void steal_from_seven(uint32_t steal, uint32_t local, size_t expected)
{
	struct wf_lab_config c = config(local, 2);
	struct wf_lab_worker *thief, *victim;
	struct wf_lab *lab;
	size_t shown = 99;

	c.steal = steal;
	lab = hand_open(&c);
	thief = &lab->workers[0];
	victim = &lab->workers[1];
	hand_fill_local(victim, 0, 7);
	assert_int_equal(hand_number(wf_lab_steal(thief, &shown)), 0);
	assert_int_equal(shown, expected - 1);
	assert_int_equal(hand_count(thief, WF_LAB_STEALS), 1);
	assert_int_equal(hand_count(thief, WF_LAB_STOLEN), expected);
	for (size_t i = 1; i < expected; i++)
		assert_int_equal(pop(thief), i);
	assert_int_equal(pop(victim), expected);
	hand_close(lab);
}

static void a_thief_takes_half_or_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < LOCALS; i++) {
		steal_from_seven(WF_LAB_STEAL_ONE, locals[i], 1);
		steal_from_seven(WF_LAB_STEAL_HALF, locals[i], 4);
	}
}

/* Of three victims only the last, or the first, has a task. */
static void all_victims_are_tried_or_one(void **state)
{
	(void)state;
	for (uint32_t one = 0; one < 2; one++)
		for (uint32_t rich = 1; rich < 4; rich += 2) {
			struct wf_lab_config c = config(WF_LAB_RING, 4);
			struct wf_lab *lab;
			size_t hits = 0, shown;

			c.victims = one ? WF_LAB_VICTIMS_ONE
					: WF_LAB_VICTIMS_ALL;
			lab = hand_open(&c);
			for (size_t i = 0; i < 300; i++) {
				hand_fill_local(&lab->workers[rich], 0, 1);
				hits += wf_lab_steal(&lab->workers[0],
						&shown) != NULL;
				(void)wf_lab_pop(&lab->workers[rich]);
			}
			assert_in_range(hits, one ? 50 : 300, one ? 150 : 300);
			hand_close(lab);
		}
}

static void nothing_is_stolen_where_nothing_is(void **state)
{
	size_t shown = 99;

	(void)state;
	for (uint32_t queues = 0; queues < 3; queues++)
		for (uint32_t workers = 1; workers < 4; workers++) {
			struct wf_lab_config c = config(WF_LAB_RING, workers);
			struct wf_lab *lab;

			c.queues = queues;
			lab = hand_open(&c);
			assert_null(wf_lab_steal(&lab->workers[0], &shown));
			assert_int_equal(shown, 0);
			assert_false(wf_lab_has_tasks(lab));
			hand_close(lab);
		}
}

/* The first worker's task counts, and the last one's, and the global one. */
static void a_task_anywhere_is_seen(void **state)
{
	(void)state;
	for (size_t i = 0; i < LOCALS; i++) {
		struct wf_lab_config c = config(locals[i], 3);
		struct wf_lab *lab = hand_open(&c);

		for (uint32_t j = 0; j < 3; j++) {
			hand_fill_local(&lab->workers[j], 0, 1);
			assert_true(wf_lab_has_tasks(lab));
			assert_int_equal(pop(&lab->workers[j]), 0);
			assert_false(wf_lab_has_tasks(lab));
		}
		hand_fill(lab, 0, 1);
		assert_true(wf_lab_has_tasks(lab));
		hand_close(lab);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_takes_one_a_share_or_all),
		cmocka_unit_test(a_full_ring_takes_one),
		cmocka_unit_test(a_full_ring_sends_half_or_one),
		cmocka_unit_test(a_list_is_never_full),
		cmocka_unit_test(bounded_overflows_in_order),
		cmocka_unit_test(a_thief_takes_half_or_one),
		cmocka_unit_test(all_victims_are_tried_or_one),
		cmocka_unit_test(nothing_is_stolen_where_nothing_is),
		cmocka_unit_test(a_task_anywhere_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
