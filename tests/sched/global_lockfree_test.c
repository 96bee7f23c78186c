/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/global_lockfree_test.c - inboxes are filled and emptied in turn,
 * the rest of a chain comes before the next chain, and a processor that leaves
 * a rest wakes another one.
 */
#include "global_kit.h"

static bool has_mail(uint32_t i)
{
	return !wf_inbox_is_empty(&kit.procs[i].inbox);
}

static void a_push_goes_to_the_own_inbox(void **state)
{
	(void)state;
	open_form(INBOXES, 0, 0);
	for (uint32_t i = 0; i < PROCS; i++) {
		assert_int_equal(wf_global_len(g), i);
		push(&kit.procs[i], 1);
		push(&kit.procs[i], 5);
		assert_true(has_mail(i));
		assert_int_equal(wf_global_len(g), i + 1);
	}
	assert_int_equal(wf_inject_len(&g->inject), 0);
	kit_close();
}

static void from_outside_each_inbox_has_its_turn(void **state)
{
	(void)state;
	open_form(INBOXES, 2, 0);
	assert_int_equal(kit.rt.group_count, 2);
	for (size_t n = 0; n < 5; n++) {
		push(NULL, 1 + n);
		assert_true(has_mail(n % 2));
		assert_int_equal(wf_global_len(g), n == 0 ? 1 : 2);
	}
	assert_int_equal(wf_global_len(&kit.groups[1]), 0);
	kit_close();
}

/* No taker passes an inbox by, however full its own one is. */
static void inboxes_are_taken_from_in_turn(void **state)
{
	(void)state;
	for (uint32_t taker = 0; taker < PROCS; taker++) {
		bool seen[PROCS] = { false };

		open_form(INBOXES, 0, 0);
		for (uint32_t i = 0; i < PROCS; i++)
			push(&kit.procs[i], 1);
		for (uint32_t i = 0; i < PROCS; i++) {
			struct wf_batch out = { 0 };

			push(&kit.procs[taker], 1);
			assert_int_equal(wf_global_take(&kit.procs[taker], g, 1,
						 100, &out),
				taker == i ? 2 + i : 1);
			assert_false(seen[out.first - kit.tasks]);
			seen[out.first - kit.tasks] = true;
			assert_false(taker != i && has_mail(i));
		}
		for (uint32_t i = 0; i < PROCS; i++)
			assert_true(seen[i]);
		kit_close();
	}
}

/* The taker of a share keeps the rest of the chain and takes it next. */
static void the_rest_of_a_chain_comes_first(void **state)
{
	(void)state;
	open_form(INBOXES, 0, 0);
	push(&kit.procs[2], 5);
	expect_taken(0, 2, 100, 0, 3);
	assert_true(wf_inbox_has_rest(&p->inbox));
	assert_false(has_mail(2));
	assert_int_equal(wf_global_len(g), 1);
	push(&kit.procs[3], 1);
	push(p, 1);
	expect_taken(0, 1, 1, 3, 1);
	expect_taken(0, 1, 1, 4, 1);
	/* The next one after 2 had its turn. */
	expect_taken(0, 1, 1, 5, 1);
	expect_taken(0, 1, 1, 6, 1);
	expect_empty();
	kit_close();
}

static void others_find_the_rest(void **state)
{
	(void)state;
	open_form(INBOXES, 0, 0);
	push(p, 8);
	expect_taken(0, 4, 100, 0, 2);
	expect_taken(3, 2, 100, 2, 3);
	assert_false(has_mail(0));
	assert_true(wf_inbox_has_rest(&kit.procs[3].inbox));
	expect_taken(1, 1, 2, 5, 2);
	expect_taken(2, 1, 2, 7, 1);
	expect_empty();
	kit_close();
}

/* A sleeper may have seen empty inboxes while the taker held the rest. */
static void a_taker_that_leaves_a_rest_wakes_another(void **state)
{
	(void)state;
	open_form(INBOXES, 0, 0);
	wf_store_rlx(&g->coarse, true);
	kit_run(0);
	push(&kit.procs[2], 3);
	expect_taken(0, 1, 3, 0, 3);
	assert_int_equal(kit_woken(), 0);
	push(&kit.procs[2], 3);
	expect_taken(0, 3, 3, 3, 1);
	assert_true(kit_was_woken(1));
	assert_int_equal(kit_woken(), 0);
	/* So does the next taker that leaves a rest, but not the last one. */
	expect_taken(0, 2, 3, 4, 1);
	assert_true(kit_was_woken(1));
	assert_int_equal(kit_woken(), 0);
	expect_taken(0, 2, 3, 5, 1);
	assert_int_equal(kit_woken(), 0);
	kit_close();
}

/* A chain taken from another group: its rest is in the taker's group. */
static void a_rest_from_another_group_wakes_in_the_takers_group(void **state)
{
	(void)state;
	open_form(INBOXES, 2, 0);
	wf_store_rlx(&kit.groups[1].coarse, true);
	wf_store_rlx(&kit.groups[0].coarse, true);
	kit_run(2);
	push(NULL, 4);
	expect_taken(2, 2, 100, 0, 2);
	assert_true(has_mail(2));
	assert_int_equal(wf_global_len(g), 0);
	assert_true(kit_was_woken(3));
	assert_int_equal(kit_woken(), 0);
	kit_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_push_goes_to_the_own_inbox),
		cmocka_unit_test(from_outside_each_inbox_has_its_turn),
		cmocka_unit_test(inboxes_are_taken_from_in_turn),
		cmocka_unit_test(the_rest_of_a_chain_comes_first),
		cmocka_unit_test(others_find_the_rest),
		cmocka_unit_test(a_taker_that_leaves_a_rest_wakes_another),
		cmocka_unit_test(
			a_rest_from_another_group_wakes_in_the_takers_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
