/* SPDX-License-Identifier: MIT */
/*
 * tests/idle/economy_test.c - each decision of the economy, by tables of plain
 * numbers: both sides of every threshold, and every condition alone.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "idle/economy.h"

#define US WF_NS_PER_US
#define MS WF_NS_PER_MS
#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* A row by its number, so that a failure says which one it was. */
static void expect_row(size_t row, int64_t got, int64_t expected)
{
	if (got != expected)
		fail_msg("row %zu: %lld, not %lld", row, (long long)got,
			(long long)expected);
}

/* ------------------------------------------------------------------------ */
/* Wake a sleeper? */

enum { GATE = WEFT_WAKE_GATE, GO = WEFT_WAKE_GO, FLARE = WEFT_WAKE_FLARE };
enum { NONE = WF_WAKE_NONE, CLAIM = WF_WAKE_CLAIM, WAKE = WF_WAKE_SLEEPER };

/* Four processors; a wake costs 30 us. */
struct wake_row {
	uint32_t rule;
	uint64_t sleeping, searching;
	bool coarse, gate_open;
	uint64_t local, global, mean_ns;
	int expected;
};

static void expect_wakes(
	enum wf_cause cause, const struct wake_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct wake_row *r = &rows[i];
		struct wf_wake_facts f = { .cause = cause,
			.rule = r->rule,
			.sleeping = r->sleeping,
			.searching = r->searching,
			.all = 15,
			.coarse = r->coarse,
			.gate_open = r->gate_open,
			.local = r->local,
			.global = r->global,
			.mean_ns = r->mean_ns,
			.wake_ns = 30000 };

		expect_row(i, wf_economy_wake(&f), r->expected);
	}
}

/* If all sleep, or those awake have coarse tasks and none searches. */
static void a_task_from_outside(void **state)
{
	static const struct wake_row rows[] = {
		{ GATE, 0, 0, true, true, 0, 0, 0, NONE },
		{ GATE, 14, 0, false, false, 0, 0, 0, NONE },
		{ GATE, 14, 0, false, true, 0, 0, 0, NONE },
		{ GATE, 14, 0, true, false, 0, 0, 0, WAKE },
		{ GATE, 15, 0, false, false, 0, 0, 0, WAKE },
		{ GATE, 14, 1, true, false, 0, 0, 0, NONE },
		{ GATE, 15, 1, false, false, 0, 0, 0, NONE },
		{ GO, 0, 0, true, false, 0, 0, 0, NONE },
		{ GO, 1, 0, true, false, 0, 0, 0, WAKE },
		{ GO, 1, 2, true, false, 0, 0, 0, NONE },
		{ FLARE, 0, 2, true, false, 0, 0, 0, NONE },
		{ FLARE, 1, 0, true, false, 0, 0, 0, WAKE },
		{ FLARE, 1, 2, true, false, 0, 0, 0, CLAIM },
		{ FLARE, 15, 2, false, false, 0, 0, 0, CLAIM },
	};

	(void)state;
	expect_wakes(WF_CAUSE_OUTSIDE, rows, ROWS(rows));
}

/* By the gate's rule coarse tasks worth more than 60 us; else always. */
static void a_task_from_inside(void **state)
{
	static const struct wake_row rows[] = {
		{ GATE, 14, 0, true, false, 6, 0, 10000, NONE },
		{ GATE, 14, 0, true, false, 7, 0, 10000, WAKE },
		{ GATE, 14, 0, true, false, 1, 6, 10000, WAKE },
		{ GATE, 14, 0, true, false, 0, 6, 10000, NONE },
		{ GATE, 14, 0, true, false, 1, 0, 60000, NONE },
		{ GATE, 14, 0, true, false, 1, 0, 60001, WAKE },
		{ GATE, 14, 0, false, true, 100, 0, 10000, NONE },
		{ GATE, 0, 0, true, false, 7, 0, 10000, NONE },
		{ GATE, 14, 1, true, false, 7, 0, 10000, NONE },
		{ GO, 14, 0, true, false, 0, 0, 0, WAKE },
		{ GO, 14, 1, true, false, 0, 0, 0, NONE },
		{ GO, 0, 0, true, false, 0, 0, 0, NONE },
		{ FLARE, 14, 0, true, false, 0, 0, 0, WAKE },
		{ FLARE, 14, 1, true, false, 0, 0, 0, CLAIM },
		{ FLARE, 0, 1, true, false, 0, 0, 0, NONE },
	};

	(void)state;
	expect_wakes(WF_CAUSE_PUSH, rows, ROWS(rows));
}

/* If no other searches, and there is more than the searcher will run. */
static void a_task_that_a_searcher_found(void **state)
{
	static const struct wake_row rows[] = {
		{ GATE, 14, 0, true, false, 0, 0, 0, NONE },
		{ GATE, 14, 0, true, false, 1, 0, 0, WAKE },
		{ GATE, 14, 0, true, false, 0, 1, 0, WAKE },
		{ GATE, 14, 0, false, true, 1, 0, 0, NONE },
		{ GATE, 14, 0, false, true, 1, 9, 0, NONE },
		{ GATE, 14, 0, false, true, 2, 0, 0, WAKE },
		{ GATE, 14, 0, false, false, 9, 9, 0, NONE },
		{ GATE, 0, 0, true, true, 9, 9, 0, NONE },
		{ GATE, 14, 1, true, true, 9, 9, 0, NONE },
		{ GO, 14, 0, true, false, 0, 0, 0, WAKE },
		{ GO, 14, 1, true, false, 0, 0, 0, NONE },
		{ FLARE, 14, 0, true, false, 0, 0, 0, NONE },
		{ FLARE, 14, 0, true, false, 1, 0, 0, WAKE },
		{ FLARE, 14, 1, true, false, 1, 0, 0, NONE },
	};

	(void)state;
	expect_wakes(WF_CAUSE_FOUND, rows, ROWS(rows));
}

/* ------------------------------------------------------------------------ */
/* Steal? */

static void a_holder_is_stuck_after_20_us(void **state)
{
	(void)state;
	assert_false(wf_economy_is_stuck(true, 20 * US - 1));
	assert_true(wf_economy_is_stuck(true, 20 * US));
	assert_false(wf_economy_is_stuck(false, 20 * US));
	assert_false(wf_economy_is_stuck(false, WF_NS_PER_S));
	assert_false(wf_economy_is_long(20 * US - 1));
	assert_true(wf_economy_is_long(20 * US));
}

static void the_last_task_is_left_to_a_holder_that_picks(void **state)
{
	static const struct {
		uint64_t backlog;
		bool allowed, stuck, expected;
	} rows[] = {
		{ 0, true, true, false },
		{ 0, true, false, false },
		{ 1, true, false, false },
		{ 2, true, false, true },
		{ 2, false, false, false },
		{ 100, false, false, false },
		{ 1, false, true, true },
		{ 0, false, true, false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		expect_row(i,
			wf_economy_may_steal(rows[i].backlog, rows[i].allowed,
				rows[i].stuck),
			rows[i].expected);
}

/* Twice the gap while that is short, else a tenth of what is allowed. */
static void a_searcher_spins_for_twice_its_gap(void **state)
{
	static const struct {
		int64_t gap_ns, most_ns;
		bool others, alarmed;
		int64_t expected;
	} rows[] = {
		{ 0, 1000, false, false, 0 },
		{ 100, 1000, false, false, 200 },
		{ 499, 1000, false, false, 998 },
		{ 500, 1000, false, false, 1000 },
		{ 999, 1000, false, false, 1000 },
		{ 1000, 1000, false, false, 100 },
		{ WF_NS_PER_S, 1000, false, false, 100 },
		{ 100, 1000, true, false, 0 },
		{ 100, 1000, false, true, 0 },
		{ 1000, 1000, true, false, 0 },
		{ 100, 0, false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		expect_row(i,
			wf_economy_spin_ns(rows[i].gap_ns, rows[i].most_ns,
				rows[i].others, rows[i].alarmed),
			rows[i].expected);
}

/* A holder that may be stuck is waited for, for 30 us. */
static void a_search_ends_when_it_has_spun(void **state)
{
	(void)state;
	assert_true(wf_economy_gives_up(0, 0, false));
	assert_false(wf_economy_gives_up(999, 1000, false));
	assert_true(wf_economy_gives_up(1000, 1000, false));
	assert_false(wf_economy_gives_up(1000, 1000, true));
	assert_false(wf_economy_gives_up(30 * US - 1, 0, true));
	assert_true(wf_economy_gives_up(30 * US, 0, true));
	assert_false(wf_economy_gives_up(40 * US - 1, 40 * US, true));
	assert_true(wf_economy_gives_up(40 * US, 40 * US, true));
}

/* ------------------------------------------------------------------------ */
/* Send help? */

/* Seen after 100 us, in which p may have been idle; a wake costs 30 us. */
struct judge_row {
	uint64_t ran;
	int64_t picked;
	uint64_t backlog;
	int64_t idle_ns, behind_ns;
	uint64_t coarse_ns;
	uint64_t mean_ns;
	bool coarse, fine, waiting, help;
};

static void a_processor_is_judged_by_its_tasks(void **state)
{
	static const struct judge_row rows[] = {
		/* Nothing waits: whatever it does, no help. */
		{ 0, 0, 0, 0, 0, 1000, 100000, 1, 0, 0, 0 },
		{ 0, 0, 0, 0, MS, 1000, 100000, 1, 0, 0, 0 },
		/* Tasks wait behind one that goes on. */
		{ 0, 0, 1, 0, 0, 1000, 100000, 1, 0, 1, 1 },
		{ 0, -1, 1, 0, 0, 1000, 100000, 1, 0, 1, 1 },
		/* The mean is coarse from 1000 ns on, or as the gate says. */
		{ 100, 100, 2, 0, 0, 1000, 1000, 1, 0, 0, 0 },
		{ 101, 101, 2, 0, 0, 1000, 990, 0, 1, 0, 0 },
		{ 100, 100, 2, 0, 0, 20000, 1000, 0, 1, 0, 0 },
		{ 5, 5, 2, 0, 0, 20000, 20000, 1, 0, 0, 0 },
		{ 100, 100, 1, 0, 0, 20000, 1000, 0, 0, 0, 0 },
		{ 100, 100, 0, 0, 0, 20000, 1000, 0, 0, 0, 0 },
		/* Idle time is not the tasks'. */
		{ 10, 10, 2, 90000, 0, 1000, 1000, 1, 0, 0, 0 },
		{ 10, 10, 2, 90010, 0, 1000, 999, 0, 1, 0, 0 },
		{ 10, 10, 2, 99999, 0, 1000, 0, 0, 1, 0, 0 },
		{ 10, 10, 2, 100000, 0, 1000, 0, 0, 1, 0, 0 },
		{ 10, 10, 2, 500000, 0, 1000, 0, 0, 1, 0, 0 },
		/* One that runs on has not been idle. */
		{ 0, 0, 1, 90000, 0, 1000, 100000, 1, 0, 1, 1 },
		/* A backlog of more than two wakes: 60 us. */
		{ 10, 10, 6, 0, 0, 1000, 10000, 1, 0, 0, 0 },
		{ 10, 10, 7, 0, 0, 1000, 10000, 1, 0, 0, 1 },
		/* Behind tasks of more than 20 us at every look for 1 ms. */
		{ 5, 5, 1, 0, MS, 1000, 20000, 1, 0, 0, 0 },
		{ 4, 4, 1, 0, 0, 1000, 25000, 1, 0, 1, 0 },
		{ 4, 4, 1, 0, MS - 1, 1000, 25000, 1, 0, 1, 0 },
		{ 4, 4, 1, 0, MS, 1000, 25000, 1, 0, 0, 1 },
		{ 4, 4, 0, 0, MS, 1000, 25000, 1, 0, 0, 0 },
		/* Children run as calls are part of their joiner's task. */
		{ 10, 4, 1, 0, 0, 1000, 10000, 1, 0, 1, 0 },
		{ 10, 5, 1, 0, 0, 1000, 10000, 1, 0, 0, 0 },
		{ 10, 4, 1, 0, MS, 1000, 10000, 1, 0, 0, 1 },
		{ 10, 0, 1, 0, 0, 1000, 10000, 1, 0, 1, 1 },
		{ 1000, 0, 1, 0, MS, 1000, 100, 0, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct judge_row *r = &rows[i];
		struct wf_proc_facts f = { .ran = r->ran,
			.picked = r->picked,
			.backlog = r->backlog,
			.since_ns = 100 * US,
			.idle_ns = r->idle_ns,
			.behind_ns = r->behind_ns,
			.coarse_ns = r->coarse_ns,
			.wake_ns = 30000 };
		struct wf_proc_verdict v = wf_economy_judge(&f);

		expect_row(i, (int64_t)v.mean_ns, (int64_t)r->mean_ns);
		expect_row(i, v.coarse, r->coarse);
		expect_row(i, v.fine, r->fine);
		expect_row(i, v.waiting, r->waiting);
		expect_row(i, v.help, r->help);
	}
}

static void tasks_in_a_global_queue_that_stands_still_are_coarse(void **state)
{
	struct wf_group_facts still = { 0 }, moves = { .moves = true };
	struct wf_group_facts coarse = { .moves = true, .coarse = true };

	(void)state;
	wf_economy_add_global(&still);
	assert_true(still.coarse && still.help && !still.fine);
	wf_economy_add_global(&moves);
	assert_true(!moves.coarse && !moves.help && moves.fine);
	wf_economy_add_global(&coarse);
	assert_true(coarse.coarse && coarse.help && !coarse.fine);
}

static void help_comes_from_a_sleeper_unless_a_processor_searches(void **state)
{
	static const struct {
		bool help, fine, open, searched;
		uint64_t sleeping;
		int expected;
	} rows[] = {
		{ 1, 0, 0, 0, 2, WF_HELP_OWN },
		{ 1, 0, 0, 0, 0, WF_HELP_OTHER },
		{ 1, 0, 0, 1, 2, WF_HELP_NONE },
		{ 1, 0, 0, 1, 0, WF_HELP_NONE },
		{ 0, 1, 1, 0, 2, WF_HELP_OWN },
		{ 0, 1, 1, 0, 0, WF_HELP_NONE },
		{ 0, 1, 1, 1, 2, WF_HELP_NONE },
		{ 0, 1, 0, 0, 2, WF_HELP_NONE },
		{ 0, 0, 1, 0, 2, WF_HELP_NONE },
		{ 0, 0, 0, 0, 2, WF_HELP_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct wf_group_facts f = { .help = rows[i].help,
			.fine = rows[i].fine,
			.open = rows[i].open,
			.searched = rows[i].searched,
			.sleeping = rows[i].sleeping };

		expect_row(i, wf_economy_help(&f), rows[i].expected);
	}
}

static void searchers_of_2_ms_were_stopped(void **state)
{
	(void)state;
	assert_true(wf_economy_is_searched(1, 0));
	assert_true(wf_economy_is_searched(12, 2 * MS - 1));
	assert_false(wf_economy_is_searched(12, 2 * MS));
	assert_false(wf_economy_is_searched(0, 0));
}

static void a_queue_is_closed_after_2_ms_without_need(void **state)
{
	int64_t calm = 2 * MS + 1;

	(void)state;
	assert_true(wf_economy_is_calm(calm, 0, false));
	assert_false(wf_economy_is_calm(calm - 1, 0, false));
	assert_false(wf_economy_is_calm(calm, calm - 1, true));
	assert_true(wf_economy_is_calm(calm, calm, true));
	assert_false(wf_economy_is_calm(calm - 1, calm, true));
}

static void timers_may_be_late_by_the_length_of_the_global_queue(void **state)
{
	(void)state;
	assert_int_equal(wf_economy_late_ns(0), MS);
	assert_int_equal(wf_economy_late_ns(1), MS + US);
	assert_int_equal(wf_economy_late_ns(1000), 2 * MS);
}

/* They double, up to 1 ms; in time for the next timer; 100 us for the gate. */
static void the_monitors_pauses(void **state)
{
	static const struct {
		int64_t last_ns, late_ns;
		bool helped, measured;
		int64_t expected;
	} rows[] = {
		{ 50 * US, INT64_MAX, false, false, 100 * US },
		{ 500 * US - 1, INT64_MAX, false, false, MS - 2 },
		{ 500 * US, INT64_MAX, false, false, MS },
		{ MS, INT64_MAX, false, false, MS },
		{ MS, INT64_MAX, true, false, 50 * US },
		{ MS, INT64_MAX, false, true, 100 * US },
		{ 50 * US - 1, INT64_MAX, false, true, 100 * US - 2 },
		{ MS, INT64_MAX, true, true, 50 * US },
		{ MS, 300 * US, false, false, 300 * US },
		{ 100 * US, 300 * US, false, false, 200 * US },
		{ MS, 300 * US, false, true, 100 * US },
		{ MS, 60 * US, false, true, 60 * US },
		{ MS, 50 * US, false, false, 50 * US },
		{ MS, 50 * US - 1, false, false, 50 * US },
		{ MS, -5, false, true, 50 * US },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		expect_row(i,
			wf_economy_pause_ns(rows[i].last_ns, rows[i].late_ns,
				rows[i].helped, rows[i].measured),
			rows[i].expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_from_outside),
		cmocka_unit_test(a_task_from_inside),
		cmocka_unit_test(a_task_that_a_searcher_found),
		cmocka_unit_test(a_holder_is_stuck_after_20_us),
		cmocka_unit_test(the_last_task_is_left_to_a_holder_that_picks),
		cmocka_unit_test(a_searcher_spins_for_twice_its_gap),
		cmocka_unit_test(a_search_ends_when_it_has_spun),
		cmocka_unit_test(a_processor_is_judged_by_its_tasks),
		cmocka_unit_test(
			tasks_in_a_global_queue_that_stands_still_are_coarse),
		cmocka_unit_test(
			help_comes_from_a_sleeper_unless_a_processor_searches),
		cmocka_unit_test(searchers_of_2_ms_were_stopped),
		cmocka_unit_test(a_queue_is_closed_after_2_ms_without_need),
		cmocka_unit_test(
			timers_may_be_late_by_the_length_of_the_global_queue),
		cmocka_unit_test(the_monitors_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
