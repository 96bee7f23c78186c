/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/global_test.c - the global queue in each of its forms gives every
 * task once, in order, in fair shares; what does not fit overflows and is
 * counted, and what is left is told to others.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "kit.h"
#include "queue/fair_share.h"
#include "sched/global.h"

enum { PROCS = 4, CELLS_MAX = 64 };

enum form { LIST, GLOBAL_LIST, INBOXES, BOUNDED, FORMS };

static struct wf_bounded_cell cells[KIT_GROUPS][CELLS_MAX];
static struct wf_group *g = &kit.groups[0];
static struct wf_proc *p = &kit.procs[0];

/* A kit whose groups have their queue in this form; cells: if BOUNDED. */
static void open_form(enum form form, uint32_t size, uint64_t capacity)
{
	weft_policy policy = { 0 };

	kit_open(PROCS, size);
	if (form == GLOBAL_LIST)
		policy.queue = WEFT_QUEUE_GLOBAL;
	if (form == INBOXES)
		policy.locks = WEFT_LOCKS_NONE;
	if (form == BOUNDED)
		policy.queue = WEFT_QUEUE_BOUNDED;
	kit.rt.policy = policy;
	for (uint32_t i = 0; i < kit.rt.group_count; i++) {
		kit.groups[i].policy = policy;
		if (form == BOUNDED)
			wf_bounded_init(
				&kit.groups[i].bounded, cells[i], capacity);
	}
}

/* The next n tasks of the kit, as one batch, by who, NULL: from outside. */
static void push(struct wf_proc *who, size_t n)
{
	struct wf_batch batch = { 0 };

	while (n-- > 0)
		wf_batch_add(&batch, kit_task());
	wf_global_push(g, who, &batch);
	assert_true(wf_batch_is_empty(&batch));
}

/* Processor i takes; expect so many, which are the tasks from first on. */
static void expect_taken(
	uint32_t i, size_t sharers, size_t max, size_t first, size_t n)
{
	struct wf_batch out = { 0 };
	weft_task *task;

	assert_int_equal(
		wf_global_take(&kit.procs[i], g, sharers, max, &out), n);
	assert_int_equal(out.count, n);
	while ((task = wf_batch_take(&out)) != NULL)
		assert_int_equal(task - kit.tasks, first++);
}

/* Nothing is there. */
static void expect_empty(void)
{
	assert_int_equal(wf_global_len(g), 0);
	expect_taken(0, 1, 100, 0, 0);
	expect_taken(PROCS - 1, 3, 1, 0, 0);
}

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

			n = wf_share(len, sharers, max);
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

/* What is taken comes behind what the taker has already. */
static void what_is_taken_is_appended(void **state)
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

/* Where there are no other queues it is everybody's backlog. */
static void it_is_the_backlog_of_all_where_there_is_no_other(void **state)
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

/* A batch of 10 into 4 cells, and what comes after it. */
static void expect_overflow(struct wf_proc *who, uint32_t taker)
{
	open_form(BOUNDED, 0, 4);
	push(who, 10);
	assert_int_equal(wf_bounded_len(&g->bounded), 4);
	assert_int_equal(wf_inject_len(&g->inject), 6);
	assert_int_equal(wf_global_len(g), 10);
	assert_int_equal(who ? overflows(who->id) : overflows_outside(), 6);
	/* There is room, but what does not fit is older. */
	expect_taken(taker, 1, 2, 0, 2);
	push(who, 1);
	assert_int_equal(wf_bounded_len(&g->bounded), 2);
	assert_int_equal(who ? overflows(who->id) : overflows_outside(), 7);
	expect_taken(taker, 1, 100, 2, 2);
	expect_taken(taker, 1, 3, 4, 3);
	expect_taken(taker, 1, 100, 7, 4);
	expect_empty();
	/* The list is empty: the cells are used again. */
	push(who, 4);
	assert_int_equal(wf_bounded_len(&g->bounded), 4);
	assert_int_equal(wf_inject_len(&g->inject), 0);
	assert_int_equal(who ? overflows(who->id) : overflows_outside(), 7);
	expect_taken(taker, 1, 100, 11, 4);
	/* Nobody else has counted anything. */
	assert_int_equal(who ? overflows_outside() : overflows(0), 0);
	assert_int_equal(overflows(3), 0);
	kit_close();
}

static void what_does_not_fit_overflows_and_is_counted(void **state)
{
	(void)state;
	expect_overflow(&kit.procs[1], 1);
	expect_overflow(&kit.procs[2], 0);
	expect_overflow(NULL, 2);
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
static void a_share_counts_what_overflowed(void **state)
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
 * Somebody has claimed a cell and not yet filled it: its task is older than
 * what found no room.
 */
static void the_list_waits_for_who_has_claimed_a_cell(void **state)
{
	struct wf_bounded_cell *cell = &cells[0][1];
	weft_task *late;

	(void)state;
	open_form(BOUNDED, 0, 2);
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
/* Inboxes. */

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

/* None is passed by, whoever takes, however full the own one is. */
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

/* A chain that was cut: its rest lies with who took, and comes next. */
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

/* Who sleeps had looked at empty inboxes while the rest was in hand. */
static void who_leaves_a_rest_wakes_another(void **state)
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
	/* And so does who cuts the rest once more, but not who ends it. */
	expect_taken(0, 2, 3, 4, 1);
	assert_true(kit_was_woken(1));
	assert_int_equal(kit_woken(), 0);
	expect_taken(0, 2, 3, 5, 1);
	assert_int_equal(kit_woken(), 0);
	kit_close();
}

/* The rest of what was taken abroad is in the taker's group. */
static void a_rest_from_abroad_wakes_at_home(void **state)
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
		cmocka_unit_test(what_is_taken_is_appended),
		cmocka_unit_test(
			it_is_the_backlog_of_all_where_there_is_no_other),
		cmocka_unit_test(a_list_is_one_for_all),
		cmocka_unit_test(what_does_not_fit_overflows_and_is_counted),
		cmocka_unit_test(a_batch_that_just_fits_does_not_overflow),
		cmocka_unit_test(a_share_counts_what_overflowed),
		cmocka_unit_test(the_list_waits_for_who_has_claimed_a_cell),
		cmocka_unit_test(a_push_goes_to_the_own_inbox),
		cmocka_unit_test(from_outside_each_inbox_has_its_turn),
		cmocka_unit_test(inboxes_are_taken_from_in_turn),
		cmocka_unit_test(the_rest_of_a_chain_comes_first),
		cmocka_unit_test(others_find_the_rest),
		cmocka_unit_test(who_leaves_a_rest_wakes_another),
		cmocka_unit_test(a_rest_from_abroad_wakes_at_home),
		cmocka_unit_test(every_task_is_taken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
