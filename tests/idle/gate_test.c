/* SPDX-License-Identifier: MIT */
/*
 * tests/idle/gate_test.c - the gate opens for help that raises the rate by a
 * tenth, stays shut for longer and longer where it does not, and asks again.
 *
 * The clock and the rates are made up.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/units.h"
#include "idle/gate.h"

#define LOOK_NS (50 * WF_NS_PER_US)    /* how often it is looked at */
#define SELDOM_NS (250 * WF_NS_PER_US) /* at least, by the monitor */

/* A group that runs so many tasks per ms, alone and with help. */
struct world {
	struct wf_gate gate;
	int64_t now_ns, pause_ns;
	uint64_t ticks;
	uint64_t alone, helped;
	bool backlog;
};

static bool look(struct world *w)
{
	bool open = wf_gate_look(&w->gate, w->now_ns, w->ticks, w->backlog);

	assert_int_equal(open,
		w->gate.phase == WF_GATE_TRIAL ||
			w->gate.phase == WF_GATE_OPEN);
	assert_int_equal(wf_gate_is_busy(&w->gate),
		w->gate.phase == WF_GATE_TRIAL ||
			(w->gate.phase == WF_GATE_ALONE && w->backlog));
	w->now_ns += w->pause_ns;
	w->ticks += (open ? w->helped : w->alone) * (uint64_t)w->pause_ns /
		WF_NS_PER_MS;
	return open;
}

/* Look until the phase is another; how long it lasted.  At most 1 s. */
static int64_t leave_phase(struct world *w)
{
	enum wf_gate_phase phase = w->gate.phase;
	int64_t since = w->now_ns;

	while (w->gate.phase == phase && w->now_ns - since < WF_NS_PER_S)
		(void)look(w);
	return w->now_ns - since;
}

static struct world begin(uint64_t alone, uint64_t helped)
{
	return (struct world){ .now_ns = 5 * WF_NS_PER_S,
		.pause_ns = LOOK_NS,
		.ticks = 1000000,
		.alone = alone,
		.helped = helped,
		.backlog = true };
}

/* From ALONE through one trial; the phase it ends in. */
static enum wf_gate_phase try_once(struct world *w)
{
	int64_t ns;

	assert_int_equal(w->gate.phase, WF_GATE_ALONE);
	ns = leave_phase(w);
	assert_int_equal(w->gate.phase, WF_GATE_TRIAL);
	assert_true(ns >= 500 * WF_NS_PER_US && ns <= 3 * WF_NS_PER_MS);
	ns = leave_phase(w);
	assert_true(ns >= 500 * WF_NS_PER_US && ns <= 3 * WF_NS_PER_MS);
	return w->gate.phase;
}

static void all_zero_is_shut_and_begins_to_measure(void **state)
{
	struct world w = begin(1000, 1000);

	(void)state;
	assert_false(look(&w));
	assert_int_equal(w.gate.phase, WF_GATE_ALONE);
}

/* The verdict for every gain around a tenth, to one part in a hundred. */
static void a_gain_of_a_tenth_opens_it(void **state)
{
	(void)state;
	for (uint64_t gain = 80; gain <= 250; gain++) {
		struct world w = begin(10000, 100 * gain);
		enum wf_gate_phase phase = try_once(&w);

		if (gain >= 111)
			assert_int_equal(phase, WF_GATE_OPEN);
		else if (gain <= 109)
			assert_int_equal(phase, WF_GATE_SHUT);
	}
}

/* Looked at seldom the gate judges as well. */
static void it_may_be_looked_at_seldom(void **state)
{
	(void)state;
	for (uint64_t gain = 80; gain <= 250; gain++) {
		struct world w = begin(10000, 100 * gain);
		enum wf_gate_phase phase;

		w.pause_ns = SELDOM_NS;
		phase = try_once(&w);
		if (gain >= 111)
			assert_int_equal(phase, WF_GATE_OPEN);
		else if (gain <= 109)
			assert_int_equal(phase, WF_GATE_SHUT);
	}
}

/* Help that gets going late, but then is worth it, is not judged too soon. */
static void a_thief_has_a_moment_to_settle(void **state)
{
	struct world w = begin(10000, 0);
	int64_t since;

	(void)state;
	(void)leave_phase(&w);
	since = w.now_ns;
	while (w.gate.phase == WF_GATE_TRIAL) {
		w.helped = w.now_ns - since < 150 * WF_NS_PER_US ? 0 : 11600;
		(void)look(&w);
	}
	assert_int_equal(w.gate.phase, WF_GATE_OPEN);
}

/* 16 ms, then twice as long each time, up to 256. */
static void it_stays_shut_for_longer_each_time(void **state)
{
	struct world w = begin(10000, 9000);
	int64_t expected = 16 * WF_NS_PER_MS;

	(void)state;
	for (int i = 0; i < 10; i++) {
		int64_t ns;

		assert_int_equal(try_once(&w), WF_GATE_SHUT);
		ns = leave_phase(&w);
		assert_true(ns >= expected && ns <= expected + 2 * LOOK_NS);
		assert_int_equal(w.gate.phase, WF_GATE_ALONE);
		if (expected < 256 * WF_NS_PER_MS)
			expected *= 2;
	}
	assert_int_equal(expected, 256 * WF_NS_PER_MS);
	/* One trial that pays; the next bad one shuts it for 16 ms. */
	w.helped = 20000;
	assert_int_equal(try_once(&w), WF_GATE_OPEN);
	(void)leave_phase(&w);
	w.helped = 9000;
	assert_int_equal(try_once(&w), WF_GATE_SHUT);
	assert_true(leave_phase(&w) <= 16 * WF_NS_PER_MS + 2 * LOOK_NS);
}

static void an_open_gate_is_looked_at_again(void **state)
{
	struct world w = begin(10000, 20000);
	int64_t ns;

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(try_once(&w), WF_GATE_OPEN);
		ns = leave_phase(&w);
		assert_true(ns >= 64 * WF_NS_PER_MS &&
			ns <= 64 * WF_NS_PER_MS + 2 * LOOK_NS);
		assert_int_equal(w.gate.phase, WF_GATE_ALONE);
	}
}

/* With nothing to steal, or after a pause, the rate alone means nothing. */
static void it_measures_only_while_there_is_something_to_steal(void **state)
{
	struct world w = begin(10000, 20000);

	(void)state;
	w.backlog = false;
	for (int i = 0; i < 100; i++)
		assert_false(look(&w));
	/* A backlog that comes and goes is never there for long enough. */
	for (int i = 0; i < 100; i++) {
		w.backlog = i % 10 != 0;
		assert_false(look(&w));
	}
	w.backlog = true;
	(void)look(&w);
	w.now_ns += WF_NS_PER_S;
	assert_false(look(&w));
	assert_int_equal(w.gate.phase, WF_GATE_ALONE);
	assert_int_equal(try_once(&w), WF_GATE_OPEN);
}

/* Until help has paid, or one processor ran alone for a whole look. */
static void a_trial_puts_coarse_tasks_in_doubt(void **state)
{
	struct world w = begin(10000, 9000);

	(void)state;
	assert_int_equal(wf_gate_coarse_ns(&w.gate), 1000);
	(void)leave_phase(&w);
	assert_int_equal(w.gate.phase, WF_GATE_TRIAL);
	assert_int_equal(wf_gate_coarse_ns(&w.gate), 20000);
	/* The helper may not be up yet. */
	for (int i = 0; i < 3; i++)
		wf_gate_count(&w.gate, true);
	assert_int_equal(wf_gate_coarse_ns(&w.gate), 20000);
	wf_gate_count(&w.gate, false);
	(void)leave_phase(&w);
	assert_int_equal(w.gate.phase, WF_GATE_SHUT);
	assert_int_equal(wf_gate_coarse_ns(&w.gate), 20000);
	wf_gate_count(&w.gate, true);
	wf_gate_count(&w.gate, false);
	wf_gate_count(&w.gate, true);
	assert_int_equal(wf_gate_coarse_ns(&w.gate), 20000);
	wf_gate_count(&w.gate, true);
	assert_int_equal(wf_gate_coarse_ns(&w.gate), 1000);
	(void)leave_phase(&w);
	w.helped = 20000;
	assert_int_equal(try_once(&w), WF_GATE_OPEN);
	assert_int_equal(wf_gate_coarse_ns(&w.gate), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_zero_is_shut_and_begins_to_measure),
		cmocka_unit_test(a_gain_of_a_tenth_opens_it),
		cmocka_unit_test(it_may_be_looked_at_seldom),
		cmocka_unit_test(a_thief_has_a_moment_to_settle),
		cmocka_unit_test(it_stays_shut_for_longer_each_time),
		cmocka_unit_test(an_open_gate_is_looked_at_again),
		cmocka_unit_test(
			it_measures_only_while_there_is_something_to_steal),
		cmocka_unit_test(a_trial_puts_coarse_tasks_in_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
