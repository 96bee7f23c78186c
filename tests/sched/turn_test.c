/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/turn_test.c - while the global queue holds tasks it and the local
 * queue take turns, as sched/turn.h says, with locks and without.
 */
#include "pick_kit.h"

/* ------------------------------------------------------------------------ */
/* Without locks the turn of the global queue waits for the local queue. */

static void to_inbox(size_t i)
{
	struct wf_batch batch = { 0 };

	wf_batch_add(&batch, &item[i].task);
	wf_global_push(p->group, p, &batch);
}

/* Local: 0, 1, 2; in the inbox: 10, 11, 12; the next pick is a look. */
static void begin_turn(uint32_t tick)
{
	make_rt_policy(
		1, 16, tick, (weft_policy){ .locks = WEFT_LOCKS_NONE });
	for (size_t i = 0; i < 3; i++) {
		to_local(i);
		to_inbox(10 + i);
	}
	look_next();
}

static void the_turn_comes_when_the_local_tasks_have_run(void **state)
{
	(void)state;
	for (uint32_t tick = 2; tick < 20; tick++) {
		begin_turn(tick);
		assert_pick(0);
		assert_true(p->turn.of == WF_TURN_LOCAL);
		/* The turn does not wait for these. */
		to_local(3);
		to_local(4);
		assert_pick(1);
		assert_pick(2);
		/* The turn comes with the next pick. */
		assert_pick(10);
		assert_false(p->turn.of == WF_TURN_LOCAL);
		assert_counter(runs_global, 1);
		free_rt();
	}
}

/* Later tasks are behind the marked ones: the turn does not wait for them. */
static void later_tasks_do_not_put_the_turn_off(void **state)
{
	long next = 0;

	(void)state;
	begin_turn(61);
	for (size_t i = 3; i < 9; i++) {
		long got = number(wf_pick_quick(p));

		if (i < 6)
			assert_int_equal(got, next++);
		else if (i == 6)
			assert_int_equal(got, 10);
		to_local(i);
	}
	assert_counter(runs_global, 1);
	free_rt();
}

static void with_an_empty_local_queue_the_turn_comes_at_once(void **state)
{
	(void)state;
	begin_turn(61);
	for (int i = 0; i < 3; i++)
		(void)wf_runq_pop(&p->runq);
	assert_pick(10);
	assert_int_equal(agenda_turn(p), 61);
	assert_false(p->turn.of == WF_TURN_LOCAL);
	free_rt();
}

/* The global queue was emptied meanwhile: the turns begin anew. */
static void turns_end_when_the_global_queue_is_empty(void **state)
{
	struct wf_batch out = { 0 };

	(void)state;
	begin_turn(61);
	assert_pick(0);
	assert_true(p->turn.of == WF_TURN_LOCAL);
	assert_int_equal(wf_global_take(p, p->group, 1, 9, &out), 3);
	look_next();
	assert_pick(1);
	assert_false(p->turn.of == WF_TURN_LOCAL);
	/* New turns: the tasks that are local now go before item 13. */
	to_local(3);
	to_inbox(13);
	look_next();
	assert_pick(2);
	assert_true(p->turn.of == WF_TURN_LOCAL);
	assert_pick(3);
	assert_pick(13);
	free_rt();
}

/* An empty local queue took a share meanwhile: the turns begin anew. */
static void turns_end_when_the_local_queue_is_empty(void **state)
{
	(void)state;
	begin_turn(61);
	for (int i = 0; i < 3; i++)
		assert_pick(i);
	assert_true(p->turn.of == WF_TURN_LOCAL);
	agenda_set(p, 50, 50);
	assert_pick(10); /* and 11 and 12 are local now */
	assert_false(p->turn.of == WF_TURN_LOCAL);
	to_inbox(13);
	look_next();
	assert_pick(11);
	assert_true(p->turn.of == WF_TURN_LOCAL);
	assert_pick(12);
	assert_pick(13);
	free_rt();
}

/* With locks the tick does not wait for the local queue: one task, at once. */
static void with_locks_the_tick_does_not_wait(void **state)
{
	(void)state;
	make_rt(1, 16, 61);
	to_local(0);
	to_global(10);
	to_global(11);
	look_next();
	assert_pick(10);
	assert_pick(0);
	free_rt();
}

/*
 * The tasks that were in the global queue when the turns began go before all
 * that came to the local queue since.
 */
static void the_queues_take_turns(void **state)
{
	long next = 0;

	(void)state;
	make_rt(1, 16, 61);
	for (size_t i = 0; i < 12; i++)
		to_local(i);
	for (size_t i = 20; i < 40; i++)
		to_global(i);
	look_next();
	assert_pick(20);
	assert_int_equal(p->turn.of, WF_TURN_LOCAL);
	/* One comes for each that runs: the local queue is never half empty. */
	for (size_t i = 0; i < 12; i++) {
		assert_pick(next++);
		to_local(40 + i);
	}
	to_global(60);
	for (long i = 21; i < 40; i++)
		assert_pick(i);
	/* It came later: the turn is over, and others begin. */
	assert_pick(60);
	assert_pick(40);
	free_rt();
}

/* With room enough a whole share goes to the local queue, and has its turn. */
static void a_turn_takes_a_share_if_there_is_room(void **state)
{
	(void)state;
	make_rt(1, 16, 61);
	to_local(0);
	for (size_t i = 20; i < 40; i++)
		to_global(i);
	look_next();
	assert_pick(20);
	assert_pick(0);
	to_local(1);
	assert_pick(21);
	assert_int_equal(wf_runq_len(&p->runq), 8);
	to_local(2);
	assert_pick(1);
	for (long i = 22; i < 29; i++)
		assert_pick(i);
	assert_pick(29);
	assert_pick(2);
	free_rt();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_turn_comes_when_the_local_tasks_have_run),
		cmocka_unit_test(later_tasks_do_not_put_the_turn_off),
		cmocka_unit_test(
			with_an_empty_local_queue_the_turn_comes_at_once),
		cmocka_unit_test(turns_end_when_the_global_queue_is_empty),
		cmocka_unit_test(turns_end_when_the_local_queue_is_empty),
		cmocka_unit_test(with_locks_the_tick_does_not_wait),
		cmocka_unit_test(the_queues_take_turns),
		cmocka_unit_test(a_turn_takes_a_share_if_there_is_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
