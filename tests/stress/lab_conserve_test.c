/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/lab_conserve_test.c - with every pair of its choices the
 * laboratory runs each task once, leaves none to sleepers, and counts right.
 *
 * The rows come from a generator (exec/lab_kinds.h): each two values of each
 * two fields meet in some row.  Every row runs
 *
 *	a crowd	tasks from several threads and from tasks, with every hint, and
 *		fibers that yield
 *	needs	tasks that wait, each on its thread, for all others: if one was
 *		left in a queue while a worker sleeps, they would never end
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "exec/lab.h"
#include "exec/lab_kinds.h"
#include "os/os.h"
#include "stress/sched_kit.h"

static struct lab_pairs pairs;

static weft_executor *open_lab(const struct wf_lab_config *c)
{
	weft_executor *e = NULL;

	kit_watch();
	assert_int_equal(wf_lab_create(&e, c), 0);
	return e;
}

/* Every task that ran came from some source; steals and wakes fit. */
static void check_counts(weft_executor *e, const struct wf_lab_config *c,
	uint64_t least)
{
	uint64_t n[WF_LAB_COUNTERS];

	wf_lab_counts(e, n);
	assert_true(n[WF_LAB_RUNS_SLOT] + n[WF_LAB_RUNS_LOCAL] +
			n[WF_LAB_RUNS_GLOBAL] + n[WF_LAB_RUNS_STOLEN] >= least);
	assert_int_equal(n[WF_LAB_RUNS_STOLEN], n[WF_LAB_STEALS]);
	assert_true(n[WF_LAB_STOLEN] >= n[WF_LAB_STEALS]);
	assert_true(n[WF_LAB_FUTEX] >= n[WF_LAB_WAKES]);
	if (c->steal == WF_LAB_STEAL_ONE)
		assert_int_equal(n[WF_LAB_STOLEN], n[WF_LAB_STEALS]);
	if (c->workers == 1 || c->queues != WF_LAB_LOCAL)
		assert_int_equal(n[WF_LAB_STEALS], 0);
	if (c->queues != WF_LAB_LOCAL)
		assert_int_equal(n[WF_LAB_RUNS_LOCAL], 0);
	if (!c->lifo)
		assert_int_equal(n[WF_LAB_RUNS_SLOT], 0);
	if (c->queues != WF_LAB_BOUNDED)
		assert_int_equal(n[WF_LAB_OVERFLOWS], 0);
	if (c->queues != WF_LAB_LOCAL || c->local == WF_LAB_LIST)
		assert_int_equal(n[WF_LAB_OFFLOADED], 0);
	if (c->wake != WF_LAB_WAKE_FLARE)
		assert_int_equal(n[WF_LAB_CLAIMS], 0);
}

/* ------------------------------------------------------------------------ */
/* A crowd. */

enum { PRODUCERS = 2, CROWD = 40000, CHAIN = 8, FIBERS = 20, YIELDS = 10 };

struct member {
	weft_task task;		/* must be first */
	size_t number;
};

static struct {
	weft_executor *e;
	struct member members[CROWD];
	_Atomic(uint32_t) runs[CROWD];
	_Atomic(size_t) ended;	/* tasks and fibers */
	size_t count;
} crowd;

static weft_hint hint_of(size_t i)
{
	return (weft_hint)(i / 3 % 3);
}

static void submit_member(size_t i)
{
	kit_expect(weft_submit(crowd.e, &crowd.members[i].task, hint_of(i)) ==
		0);
}

/* The first of each chain submits two, each other but the last the next. */
static void run_member(weft_task *task)
{
	size_t i = ((struct member *)task)->number, at = i % CHAIN;

	wf_add_rlx(&crowd.runs[i], 1);
	if (at == 0)
		submit_member(i + 1);
	if (at == 0 || (at >= 2 && at + 1 < CHAIN))
		submit_member(at == 0 ? i + 2 : i + 1);
	/* What the worker has counted so far is seen. */
	wf_add_rel(&crowd.ended, 1);
}

static void yield_some(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < YIELDS; i++)
		weft_yield();
	wf_add_rel(&crowd.ended, 1);
}

static void start_fibers(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < FIBERS; i++)
		kit_expect(weft_go(yield_some, NULL) == 0);
}

static void produce(void *arg, unsigned self)
{
	(void)arg;
	for (size_t i = self * CHAIN; i < crowd.count; i += PRODUCERS * CHAIN) {
		submit_member(i);
		/* Let workers fall asleep, now and then. */
		if (i / CHAIN % 16 == 0)
			wf_os_thread_yield();
	}
}

static void play_crowd(const struct wf_lab_config *c, bool waits)
{
	memset(&crowd, 0, sizeof(crowd));
	crowd.count = kit_rounds(CROWD) / CHAIN * CHAIN;
	crowd.e = open_lab(c);
	for (size_t i = 0; i < crowd.count; i++)
		crowd.members[i] =
			(struct member){ { .run = run_member }, i };
	assert_int_equal(weft_submit_fn(crowd.e, start_fibers, NULL), 0);
	threads_run(PRODUCERS, produce, NULL);
	/* In some rounds many are still queued, or not submitted yet. */
	while (waits && wf_load_acq(&crowd.ended) < crowd.count + FIBERS)
		wf_os_thread_yield();
	if (waits)
		check_counts(crowd.e, c, crowd.count + FIBERS * YIELDS);
	assert_int_equal(weft_executor_destroy(crowd.e), 0);
	kit_settle();
	for (size_t i = 0; i < crowd.count; i++)
		assert_int_equal(wf_load_rlx(&crowd.runs[i]), 1);
}

/* ------------------------------------------------------------------------ */
/* Needs: as many tasks as workers, and each waits for all. */

enum { MEETINGS = 200 };

static struct {
	weft_executor *e;
	weft_task tasks[8];
	_Atomic(uint32_t) here, wanted;
	weft_group left;
} meeting;

static void meet(weft_task *task)
{
	(void)task;
	wf_add_rlx(&meeting.here, 1);
	while (wf_load_rlx(&meeting.here) < wf_load_rlx(&meeting.wanted))
		wf_os_thread_yield();
	weft_group_done(&meeting.left);
}

/* From inside: the first task submits the others, all behind one another. */
static void call_all(void *arg)
{
	uint32_t n = wf_load_rlx(&meeting.wanted);

	(void)arg;
	for (uint32_t i = 0; i + 1 < n; i++)
		kit_expect(weft_submit(meeting.e, &meeting.tasks[i],
				   i % 2 ? WEFT_HINT_YIELD
					 : WEFT_HINT_DEFAULT) == 0);
	meet(NULL);
}

static void play_meetings(const struct wf_lab_config *c)
{
	meeting.e = open_lab(c);
	for (size_t i = 0; i < 8; i++)
		meeting.tasks[i].run = meet;
	for (size_t round = 0; round < kit_rounds(MEETINGS); round++) {
		wf_store_rlx(&meeting.here, 0);
		wf_store_rlx(&meeting.wanted, c->workers);
		weft_group_add(&meeting.left, c->workers);
		if (round % 2)
			assert_int_equal(
				weft_submit_fn(meeting.e, call_all, NULL), 0);
		for (uint32_t i = 0; round % 2 == 0 && i < c->workers; i++)
			assert_int_equal(weft_submit(meeting.e,
						 &meeting.tasks[i],
						 WEFT_HINT_DEFAULT), 0);
		assert_int_equal(
			weft_group_wait(&meeting.left, WEFT_FOREVER), 0);
		if (round % 8 == 7)
			kit_pause_us(100);
	}
	assert_int_equal(weft_executor_destroy(meeting.e), 0);
	kit_settle();
}

/* ------------------------------------------------------------------------ */

static void play_rows(void (*play)(const struct wf_lab_config *))
{
	for (size_t i = 0; i < pairs.count; i++) {
		char words[300];

		/* The last line names the row that hangs or fails. */
		printf("%zu: %s\n", i,
			lab_words(&pairs.rows[i], words, sizeof(words)));
		fflush(stdout);
		play(&pairs.rows[i]);
	}
}

static void play_crowds(const struct wf_lab_config *c)
{
	play_crowd(c, true);
	play_crowd(c, false);
}

static void each_task_runs_once_by_every_pair(void **state)
{
	(void)state;
	play_rows(play_crowds);
}

static void no_task_is_left_to_sleepers_by_any_pair(void **state)
{
	(void)state;
	play_rows(play_meetings);
}

static void the_rows_have_all_pairs(void **state)
{
	size_t f, v, g, u;

	(void)state;
	assert_in_range(pairs.count, 20, 80);
	assert_false(lab_find_missing(&pairs, &f, &v, &g, &u));
	for (size_t i = 0; i < pairs.count; i++)
		assert_null(wf_lab_error(&pairs.rows[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rows_have_all_pairs),
		cmocka_unit_test(each_task_runs_once_by_every_pair),
		cmocka_unit_test(no_task_is_left_to_sleepers_by_any_pair),
	};

	lab_pairs_make(&pairs, threads_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
