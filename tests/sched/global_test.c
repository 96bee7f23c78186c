/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/global_test.c - the global queue in each of its forms gives every
 * task once, in order, in fair shares; tasks that do not fit overflow and
 * are counted.
 */
#include "global_kit.h"

#include "queue/fair_share.h"

static uint64_t overflows_outside(void)
{
	return wf_load_rlx(&kit.rt.outside.overflows);
}

static uint64_t overflows(uint32_t i)
{
	return wf_load_rlx(&kit.procs[i].counters.overflows);
}

/* ------------------------------------------------------------------------ */
/* In every form. */

static void an_empty_queue_gives_nothing(void **state)
{
	(void)state;
	for (enum form form = LIST; form < FORMS; form++) {
		open_form(form, 0, 2);
		expect_empty();
		push(p, 1);
		expect_taken(0, 1, 1, 0, 1);
		expect_empty();
		assert_int_equal(kit_woken(), 0);
		kit_close();
	}
}

/* From inside and from outside, one by one and in batches. */
static void tasks_come_out_in_the_order_of_their_pushes(void **state)
{
	(void)state;
	for (enum form form = LIST; form < FORMS; form++) {
		open_form(form, 0, 4);
		push(p, 1);
		push(p, 3);
		push(form == INBOXES ? p : NULL, 6);
		push(p, 1);
		for (size_t i = 0; i < 11; i++) {
			assert_true(wf_global_len(g) != 0);
			expect_taken(0, 1, 1, i, 1);
		}
		expect_empty();
		kit_close();
	}
}

/* Its length / sharers, rounded up, and not more than max. */
static void a_share_is_taken(void **state)
{
	(void)state;
	for (enum form form = LIST; form < FORMS; form++) {
		open_form(form, 0, CELLS_MAX);
		for (size_t i = 0; i < 21 * 4 * 6; i++) {
			size_t len = i % 21, sharers = 1 + i / 21 % 4;
			size_t max = i / 84, first, n;

			n = wf_fair_share(len, sharers, max);
			kit.next_task = first = 7;
			if (len > 0)
				push(p, len);
			expect_taken(0, sharers, max, first, n);
			while (n < len)
				expect_taken(0, 1, 1, first + n++, 1);
			expect_empty();
		}
		assert_int_equal(overflows(0) + overflows_outside(), 0);
		kit_close();
	}
}

/* Taken tasks come behind those that the taker has already. */
static void taken_tasks_are_appended(void **state)
{
	(void)state;
	for (enum form form = LIST; form < FORMS; form++) {
		struct wf_batch out = { 0 };
		weft_task *before;

		open_form(form, 0, 4);
		before = kit_task();
		wf_batch_add(&out, before);
		push(p, 2);
		assert_int_equal(wf_global_take(p, g, 1, 2, &out), 2);
		assert_int_equal(out.count, 3);
		assert_ptr_equal(wf_batch_take(&out), before);
		assert_ptr_equal(wf_batch_take(&out), &kit.tasks[1]);
		assert_ptr_equal(wf_batch_take(&out), &kit.tasks[2]);
		kit_close();
	}
}

/* Where there are no local queues it is every processor's backlog. */
static void without_local_queues_it_is_the_backlog(void **state)
{
	(void)state;
	for (enum form form = LIST; form < FORMS; form++) {
		bool all = form == GLOBAL_LIST || form == BOUNDED;

		open_form(form, 0, 4);
		push(NULL, 3);
		assert_int_equal(wf_global_backlog(g), all ? 3 : 0);
		kit_close();
	}
}

/* ------------------------------------------------------------------------ */
/* Lists. */

static void a_list_is_one_for_all(void **state)
{
	(void)state;
	for (enum form form = LIST; form <= GLOBAL_LIST; form++) {
		open_form(form, 0, 0);
		push(NULL, 5);
		push(&kit.procs[2], 2);
		assert_int_equal(wf_global_len(g), 7);
		assert_int_equal(wf_inject_len(&g->inject), 7);
		expect_taken(1, 2, 10, 0, 4);
		expect_taken(3, 2, 10, 4, 2);
		expect_taken(0, 2, 10, 6, 1);
		expect_empty();
		assert_int_equal(overflows(2) + overflows_outside(), 0);
		kit_close();
	}
}

/* ------------------------------------------------------------------------ */
/* The bounded queue. */

enum { OUTSIDE = -1 };

/* A batch of 10 into 4 cells, and later batches, from processor pusher. */
static void expect_overflow(int pusher, uint32_t taker)
{
	struct wf_proc *by;

	open_form(BOUNDED, 0, 4);
	by = pusher == OUTSIDE ? NULL : &kit.procs[pusher];
	push(by, 10);
	assert_int_equal(wf_bounded_len(&g->bounded), 4);
	assert_int_equal(wf_inject_len(&g->inject), 6);
	assert_int_equal(wf_global_len(g), 10);
	assert_int_equal(by ? overflows(by->id) : overflows_outside(), 6);
	/* There is room, but the tasks in the list are older. */
	expect_taken(taker, 1, 2, 0, 2);
	push(by, 1);
	assert_int_equal(wf_bounded_len(&g->bounded), 2);
	assert_int_equal(by ? overflows(by->id) : overflows_outside(), 7);
	expect_taken(taker, 1, 100, 2, 2);
	expect_taken(taker, 1, 3, 4, 3);
	expect_taken(taker, 1, 100, 7, 4);
	expect_empty();
	/* The list is empty: the cells are used again. */
	push(by, 4);
	assert_int_equal(wf_bounded_len(&g->bounded), 4);
	assert_int_equal(wf_inject_len(&g->inject), 0);
	assert_int_equal(by ? overflows(by->id) : overflows_outside(), 7);
	expect_taken(taker, 1, 100, 11, 4);
	/* No other counter has changed. */
	assert_int_equal(by ? overflows_outside() : overflows(0), 0);
	assert_int_equal(overflows(3), 0);
	kit_close();
}

static void tasks_that_do_not_fit_overflow_and_are_counted(void **state)
{
	(void)state;
	expect_overflow(1, 1);
	expect_overflow(2, 0);
	expect_overflow(OUTSIDE, 2);
}

static void a_batch_that_just_fits_does_not_overflow(void **state)
{
	(void)state;
	open_form(BOUNDED, 0, 4);
	push(p, 4);
	assert_int_equal(overflows(0), 0);
	assert_int_equal(wf_inject_len(&g->inject), 0);
	push(NULL, 1);
	assert_int_equal(overflows_outside(), 1);
	expect_taken(0, 1, 4, 0, 4);
	expect_taken(0, 1, 4, 4, 1);
	kit_close();
}

/* The share is of both, though one take empties the cells only. */
static void a_share_counts_overflowed_tasks(void **state)
{
	(void)state;
	open_form(BOUNDED, 0, 4);
	push(NULL, 12);
	expect_taken(0, 4, 100, 0, 3);
	expect_taken(1, 4, 100, 3, 1);
	expect_taken(2, 4, 100, 4, 2);
	kit_close();
}

/*
 * A submitter has claimed a cell and not yet filled it: its task is older than
 * the tasks in the list.
 */
static void the_list_waits_for_a_claimed_cell(void **state)
{
	struct wf_bounded_cell *cell;
	weft_task *late;

	(void)state;
	open_form(BOUNDED, 0, 2);
	cell = &kit.rt.cells[1];
	push(p, 1);
	late = kit_task();
	(void)wf_add_rlx(&g->bounded.tail, 1);
	push(p, 1);
	assert_int_equal(overflows(0), 1);
	expect_taken(0, 1, 100, 0, 1);
	assert_int_equal(wf_global_len(g), 2);
	expect_taken(0, 1, 100, 0, 0);
	cell->task = late;
	wf_store_rel(&cell->turn, 2);
	expect_taken(0, 1, 100, 1, 1);
	expect_taken(0, 1, 100, 2, 1);
	expect_empty();
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* All at once. */

enum { MOB = 3, OUTSIDER = MOB - 1, TAKEN_AT_ONCE = 7 };

struct mob {
	size_t items; /* of each thread */
	weft_task *tasks;
	struct threads_goal goal;
	struct threads_ledger ledger;
};

static void push_some(struct mob *m, unsigned i, size_t *next, size_t n)
{
	struct wf_batch batch = { 0 };

	for (; n > 0 && *next < m->items; n--)
		wf_batch_add(&batch, &m->tasks[i * m->items + (*next)++]);
	if (!wf_batch_is_empty(&batch))
		wf_global_push(g, i == OUTSIDER ? NULL : &kit.procs[i], &batch);
}

static void mob_run(void *arg, unsigned i)
{
	struct threads_patience patience = { 0 };
	struct mob *m = arg;
	size_t next = 0, sharers = 1;

	while (!threads_goal_over(&m->goal)) {
		struct wf_batch out = { 0 };
		weft_task *task;
		size_t n;

		push_some(m, i, &next, 1 + next % 5);
		n = wf_global_take(&kit.procs[i], g, 1 + sharers++ % 3,
			TAKEN_AT_ONCE, &out);
		while ((task = wf_batch_take(&out)) != NULL)
			threads_ledger_mark(
				&m->ledger, i, (size_t)(task - m->tasks));
		if (n > 0)
			threads_goal_add(&m->goal, n);
		else if (next == m->items)
			threads_goal_idle(&m->goal, &patience);
	}
}

static void every_task_is_taken_once(void **state)
{
	(void)state;
	for (enum form form = LIST; form < FORMS; form++) {
		struct mob m = { .items = threads_rounds(20000) };

		open_form(form, 0, 8);
		m.tasks = calloc(MOB * m.items, sizeof(*m.tasks));
		assert_non_null(m.tasks);
		m.goal.wanted = MOB * m.items;
		threads_ledger_open(&m.ledger, MOB, MOB * m.items);
		threads_run(MOB, mob_run, &m);
		assert_false(wf_load_rlx(&m.goal.stuck));
		assert_int_equal(threads_ledger_close(&m.ledger), 0);
		expect_empty();
		free(m.tasks);
		kit_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_queue_gives_nothing),
		cmocka_unit_test(tasks_come_out_in_the_order_of_their_pushes),
		cmocka_unit_test(a_share_is_taken),
		cmocka_unit_test(taken_tasks_are_appended),
		cmocka_unit_test(
			without_local_queues_it_is_the_backlog),
		cmocka_unit_test(a_list_is_one_for_all),
		cmocka_unit_test(
			tasks_that_do_not_fit_overflow_and_are_counted),
		cmocka_unit_test(a_batch_that_just_fits_does_not_overflow),
		cmocka_unit_test(a_share_counts_overflowed_tasks),
		cmocka_unit_test(the_list_waits_for_a_claimed_cell),
		cmocka_unit_test(every_task_is_taken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
