/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/agenda_test.c - turns come every global_tick picks, looks at
 * random and at most 3/2 * global_tick picks apart, and sooner while tasks are
 * long; a turn can be moved forward and never back.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/units.h"
#include "sched/agenda.h"

enum { TICK = 61, PICKS = 100000 };

static struct wf_agenda agenda;
static struct wf_random random_state;

static void begin(void)
{
	agenda = (struct wf_agenda){
		.pause = 1, .stop = 1, .turn = 1, .look = 1
	};
	wf_random_seed(&random_state, 7);
}

/* One pick of a task that takes task_ns.  Was it a turn?  A look? */
static void pick(int64_t task_ns, bool *turn, bool *look, int64_t *since_ns)
{
	*turn = *look = false;
	*since_ns += task_ns;
	if (!wf_agenda_stops(&agenda))
		return;
	*turn = wf_agenda_is_turn(&agenda);
	*look = wf_agenda_is_look(&agenda);
	wf_agenda_plan(
		&agenda, TICK, *turn, *look, *since_ns, &random_state);
	if (*look)
		*since_ns = 0;
}

static void turns_come_in_step_and_looks_at_random(void **state)
{
	uint32_t since_turn = 0, since_look = 0, looks = 0, turns = 0;
	uint32_t least = UINT32_MAX, most = 0;
	int64_t since_ns = 0;
	bool turn, look;

	(void)state;
	begin();
	for (int i = 0; i < PICKS; i++) {
		pick(20, &turn, &look, &since_ns);
		since_turn++;
		since_look++;
		if (turn) {
			assert_int_equal(since_turn, i == 0 ? 1 : TICK);
			since_turn = 0;
			turns++;
		}
		if (look && looks++ > 0) {
			least = since_look < least ? since_look : least;
			most = since_look > most ? since_look : most;
		}
		if (look)
			since_look = 0;
	}
	assert_int_equal(turns, (PICKS + TICK - 1) / TICK);
	assert_int_equal(least, TICK / 2 + 1);
	assert_int_equal(most, TICK / 2 + TICK);
	/* On average as often as turns. */
	assert_in_range(looks, turns * 9 / 10, turns * 11 / 10);
}

static void long_tasks_are_looked_at_every_millisecond(void **state)
{
	static const int64_t task_ns[] = { 100 * WF_NS_PER_US,
		5 * WF_NS_PER_MS };
	int64_t since_ns = 0, longest;
	bool turn, look;

	(void)state;
	for (size_t t = 0; t < 2; t++) {
		begin();
		longest = 0;
		for (int i = 0; i < 1000; i++) {
			int64_t before = since_ns + task_ns[t];

			pick(task_ns[t], &turn, &look, &since_ns);
			/* The first looks do not know the tasks yet. */
			if (i > 2 * TICK && look && before > longest)
				longest = before;
		}
		/* Or after each task, if it takes longer. */
		assert_in_range(longest, task_ns[t],
			task_ns[t] > WF_NS_PER_MS ? task_ns[t] : WF_NS_PER_MS);
	}
}

static void a_turn_moves_forward_only(void **state)
{
	int64_t since_ns = 0;
	bool turn, look;

	(void)state;
	begin();
	pick(20, &turn, &look, &since_ns);
	wf_agenda_turn_in(&agenda, 5);
	wf_agenda_turn_in(&agenda, 9);
	for (int i = 1; i <= 5; i++) {
		pick(20, &turn, &look, &since_ns);
		assert_int_equal(turn, i == 5);
	}
}

static void every_pick_stops_while_asked_to(void **state)
{
	uint64_t turn_at;

	(void)state;
	begin();
	assert_true(wf_agenda_stops(&agenda));
	wf_agenda_plan(&agenda, TICK, true, true, 0, &random_state);
	turn_at = agenda.turn;
	for (int i = 0; i < 5; i++) {
		wf_agenda_stop_next(&agenda);
		assert_true(wf_agenda_is_due(&agenda));
		assert_true(wf_agenda_stops(&agenda));
		assert_false(wf_agenda_is_turn(&agenda));
		assert_int_equal(agenda.stop, 2 + i);
	}
	assert_int_equal(agenda.turn, turn_at);
	wf_agenda_plan(&agenda, TICK, false, false, 0, &random_state);
	assert_int_equal(agenda.stop - agenda.pause, 6);
}

static void an_early_look_leaves_the_turn(void **state)
{
	(void)state;
	begin();
	agenda = (struct wf_agenda){
		.pause = 10, .stop = 10, .turn = 10, .look = 10
	};
	wf_agenda_looked_early(&agenda);
	assert_int_equal(agenda.pause, 1);
	assert_int_equal(agenda.look, 1);
	assert_int_equal(agenda.turn, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_come_in_step_and_looks_at_random),
		cmocka_unit_test(long_tasks_are_looked_at_every_millisecond),
		cmocka_unit_test(a_turn_moves_forward_only),
		cmocka_unit_test(every_pick_stops_while_asked_to),
		cmocka_unit_test(an_early_look_leaves_the_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
