/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/lab_wake_test.c - by each rule of the laboratory the right workers
 * are claimed or woken, and no others.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "exec/lab_hand.h"

enum { WORKERS = 4 };

static struct wf_lab *lab;

static void open_with(uint32_t rule, uint64_t sleeping)
{
	struct wf_lab_config c = wf_lab_default;

	c.workers = WORKERS;
	c.wake = rule;
	lab = hand_open(&c);
	wf_store_rlx(&lab->sleeping, sleeping);
}

/* These sleepers were woken, these still sleep. */
static void assert_woken(uint64_t woken, uint64_t sleeping)
{
	for (uint32_t i = 0; i < WORKERS; i++)
		assert_int_equal(wf_load_rlx(&lab->workers[i].woken),
			(woken >> i) & 1);
	assert_int_equal(wf_load_rlx(&lab->sleeping), sleeping);
}

static void every_task_wakes_the_lowest_sleeper(void **state)
{
	(void)state;
	open_with(WF_LAB_WAKE_EVERY, 0xc);
	wf_lab_wake(lab, NULL, 0);
	assert_woken(0, 0xc);
	wf_lab_wake(lab, NULL, 1);
	assert_woken(0x4, 0x8);
	wf_lab_wake(lab, &lab->workers[0], 5);
	assert_woken(0xc, 0);
	wf_lab_wake(lab, NULL, 1);
	assert_int_equal(wf_load_rlx(&lab->counts[WF_LAB_WAKES]), 1);
	assert_int_equal(hand_count(&lab->workers[0], WF_LAB_WAKES), 1);
	hand_close(lab);
}

static void by_gos_rule_one_searcher_stands_for_all(void **state)
{
	struct wf_lab_worker *w;

	(void)state;
	open_with(WF_LAB_WAKE_GO, 0xe);
	w = &lab->workers[0];
	wf_lab_wake(lab, NULL, 3);
	assert_woken(0x2, 0xc);
	assert_int_equal(wf_load_rlx(&lab->looking), 0x2);
	wf_lab_wake(lab, NULL, 1);
	assert_woken(0x2, 0xc);
	/* Two search; the first to find a task wakes no one, the last does. */
	wf_lab_search(w);
	wf_lab_search(w);
	assert_int_equal(wf_load_rlx(&lab->looking), 0x3);
	wf_lab_found(w);
	assert_woken(0x2, 0xc);
	wf_lab_found(&lab->workers[1]);
	assert_woken(0x6, 0x8);
	assert_int_equal(wf_load_rlx(&lab->looking), 0x4);
	/* A worker that did not search stands for nothing. */
	wf_store_rlx(&lab->looking, 0);
	wf_lab_found(w);
	assert_woken(0x6, 0x8);
	hand_close(lab);
}

static void at_most_two_spin(void **state)
{
	(void)state;
	open_with(WF_LAB_WAKE_FLARE, 0);
	assert_true(wf_lab_spin_begin(&lab->workers[3]));
	assert_true(wf_lab_spin_begin(&lab->workers[0]));
	assert_false(wf_lab_spin_begin(&lab->workers[1]));
	assert_int_equal(wf_load_rlx(&lab->looking), 0x9);
	wf_lab_spin_end(&lab->workers[3], false);
	assert_true(wf_lab_spin_begin(&lab->workers[1]));
	assert_int_equal(wf_load_rlx(&lab->looking), 0x3);
	hand_close(lab);
	/* By the other rules no worker spins. */
	open_with(WF_LAB_WAKE_GO, 0);
	assert_false(wf_lab_spin_begin(&lab->workers[3]));
	hand_close(lab);
}

static void a_spinner_is_claimed_before_a_sleeper_is_woken(void **state)
{
	(void)state;
	open_with(WF_LAB_WAKE_FLARE, 0x8);
	assert_true(wf_lab_spin_begin(&lab->workers[1]));
	assert_true(wf_lab_spin_begin(&lab->workers[2]));
	assert_true(wf_lab_spin_again(&lab->workers[1], 1));
	wf_lab_wake(lab, NULL, 1);
	assert_int_equal(wf_load_rlx(&lab->looking), 0x4);
	assert_false(wf_lab_spin_again(&lab->workers[1], 1));
	assert_true(wf_lab_spin_again(&lab->workers[2], 1));
	assert_woken(0, 0x8);
	wf_lab_wake(lab, NULL, 3);
	assert_int_equal(wf_load_rlx(&lab->looking), 0);
	assert_woken(0x8, 0);
	assert_int_equal(wf_load_rlx(&lab->counts[WF_LAB_CLAIMS]), 2);
	assert_int_equal(wf_load_rlx(&lab->counts[WF_LAB_WAKES]), 1);
	hand_close(lab);
}

static void a_spinner_gives_up_after_its_looks(void **state)
{
	(void)state;
	open_with(WF_LAB_WAKE_FLARE, 0);
	assert_true(wf_lab_spin_begin(&lab->workers[1]));
	assert_true(wf_lab_spin_again(&lab->workers[1], lab->cfg.spins));
	assert_false(wf_lab_spin_again(&lab->workers[1], lab->cfg.spins + 1));
	hand_close(lab);
}

static void a_wake_up_is_pending_until_a_spinner_sees_it(void **state)
{
	(void)state;
	open_with(WF_LAB_WAKE_FLARE, 0xc);
	assert_true(wf_lab_spin_begin(&lab->workers[0]));
	wf_lab_spin_end(&lab->workers[0], false);
	assert_false(wf_load_rlx(&lab->pending));
	assert_true(wf_lab_spin_begin(&lab->workers[0]));
	wf_lab_spin_end(&lab->workers[0], true);
	assert_true(wf_load_rlx(&lab->pending));
	assert_woken(0, 0xc);
	assert_true(wf_lab_spin_begin(&lab->workers[1]));
	assert_true(wf_lab_spin_again(&lab->workers[1], 1));
	assert_true(wf_lab_spin_again(&lab->workers[1], 2));
	assert_woken(0x4, 0x8);
	hand_close(lab);
}

/* A spinner has a task when it is claimed for another one. */
static void a_claim_is_passed_on(void **state)
{
	(void)state;
	open_with(WF_LAB_WAKE_FLARE, 0xc);
	assert_true(wf_lab_spin_begin(&lab->workers[0]));
	hand_fill(lab, 0, 1);
	wf_lab_wake(lab, NULL, 1);
	wf_lab_spin_end(&lab->workers[0], true);
	wf_lab_found(&lab->workers[0]);
	assert_woken(0x4, 0x8);
	hand_close(lab);
	/* Not if it was claimed for the task that it has. */
	open_with(WF_LAB_WAKE_FLARE, 0xc);
	assert_true(wf_lab_spin_begin(&lab->workers[0]));
	wf_lab_wake(lab, NULL, 1);
	wf_lab_spin_end(&lab->workers[0], true);
	wf_lab_found(&lab->workers[0]);
	assert_woken(0, 0xc);
	hand_close(lab);
}

static void a_worker_does_not_park_while_there_is_a_task(void **state)
{
	(void)state;
	for (uint32_t rule = 0; rule < 3; rule++)
		for (uint32_t i = 0; i < WORKERS; i++) {
			open_with(rule, 0);
			hand_fill_local(&lab->workers[i], 0, 1);
			wf_lab_search(&lab->workers[2]);
			wf_lab_park(&lab->workers[2]);
			assert_woken(0, 0);
			/* It searches again. */
			assert_int_equal(wf_load_rlx(&lab->looking),
				rule == WF_LAB_WAKE_GO ? 0x4 : 0);
			assert_int_equal(
				hand_count(&lab->workers[2], WF_LAB_PARKS), 0);
			hand_close(lab);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_task_wakes_the_lowest_sleeper),
		cmocka_unit_test(by_gos_rule_one_searcher_stands_for_all),
		cmocka_unit_test(at_most_two_spin),
		cmocka_unit_test(
			a_spinner_is_claimed_before_a_sleeper_is_woken),
		cmocka_unit_test(a_spinner_gives_up_after_its_looks),
		cmocka_unit_test(a_wake_up_is_pending_until_a_spinner_sees_it),
		cmocka_unit_test(a_claim_is_passed_on),
		cmocka_unit_test(a_worker_does_not_park_while_there_is_a_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
