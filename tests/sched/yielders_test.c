/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/yielders_test.c - a yielder runs after every task that was ready
 * when it yielded, and before every task that became ready after its round was
 * closed (Y1); there is a round whenever there is a yielder (Y2).
 *
 * A processor made by hand is compared with a model in which every yielder has
 * its own marks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/random.h"
#include "sched/yielders.h"
#include "support/threads.h"

enum { CAPACITY = 16, FIBERS = 64, TASKS = 256 };

static struct wf_proc proc;
static struct wf_inject inject;
static _Atomic(wf_entry) slots[CAPACITY];
static weft_fiber fibers[FIBERS];
static weft_task tasks[TASKS];

static void make_proc(void)
{
	memset(&proc, 0, sizeof(proc));
	memset(&inject, 0, sizeof(inject));
	memset(fibers, 0, sizeof(fibers));
	for (size_t i = 0; i < FIBERS; i++)
		fibers[i].context.sp = fibers; /* it is prefetched */
	proc.inject = &inject;
	wf_runq_init(&proc.runq, slots, CAPACITY);
}

/* ------------------------------------------------------------------------ */
/* The model. */

struct promise {
	weft_task *task;
	uint64_t local, global;		  /* all there was when it yielded */
	uint64_t local_mark, global_mark; /* of its round; 0, 0: open */
	bool closed;
};

static struct {
	struct promise list[FIBERS];
	size_t count;
	uint64_t local_in, local_out, global_in, global_out;
} model;

/* If no round is closed, close the round of all yielders now. */
static void model_close(void)
{
	if (model.count == 0 || model.list[0].closed)
		return;
	for (size_t i = 0; i < model.count; i++) {
		model.list[i].closed = true;
		model.list[i].local_mark = model.local_in;
		model.list[i].global_mark = model.global_in;
	}
}

static void model_add(weft_task *task)
{
	model.list[model.count++] = (struct promise){
		.task = task, .local = model.local_in, .global = model.global_in
	};
	model_close();
}

static void model_drop(size_t n)
{
	model.count -= n;
	memmove(model.list, model.list + n, model.count * sizeof(*model.list));
	model_close();
}

static bool model_ready(void)
{
	const struct promise *first = model.list;

	return model.count != 0 && model.local_out >= first->local_mark &&
		model.global_out >= first->global_mark;
}

/* ------------------------------------------------------------------------ */
/* Both, step by step. */

static void step_local(bool in)
{
	if (in) {
		model.local_in += wf_runq_push(&proc.runq,
			wf_entry_of(&tasks[model.local_in % TASKS]));
	} else if (wf_runq_pop(&proc.runq) != 0) {
		model.local_out++;
	}
}

static void step_global(bool in)
{
	struct wf_batch batch = { 0 };

	if (in && model.global_in - model.global_out < TASKS) {
		wf_batch_add(&batch, &tasks[model.global_in++ % TASKS]);
		wf_inject_push(&inject, &batch);
	} else if (!in) {
		model.global_out += wf_inject_take(&inject, 1, &batch);
	}
}

static weft_task *some_free_fiber(void)
{
	for (size_t i = 0; i < FIBERS; i++) {
		weft_task *task = &fibers[i].task;
		bool in = false;

		for (size_t j = 0; j < model.count; j++)
			in |= model.list[j].task == task;
		if (!in)
			return task;
	}
	return NULL;
}

static void step_yield(void)
{
	weft_task *task = some_free_fiber();

	if (task == NULL)
		return;
	wf_yielders_add(&proc, task);
	model_add(task);
}

static void step_take(void)
{
	struct promise first = model.list[0];

	assert_int_equal(wf_yielders_ready(&proc), model_ready());
	if (!wf_yielders_ready(&proc))
		return;
	assert_true(model.local_out >= first.local);
	assert_true(model.global_out >= first.global);
	assert_ptr_equal(wf_yielders_take(&proc), first.task);
	model_drop(1);
}

static void step_split(size_t n)
{
	struct wf_batch out = { 0 };

	if (n == 0 || n > model.count)
		return;
	wf_yielders_split(&proc, (uint32_t)n, &out);
	assert_int_equal(out.count, n);
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(wf_batch_take(&out), model.list[i].task);
	model_drop(n);
}

static void check_proc(void)
{
	assert_int_equal(wf_load_rlx(&proc.yielders.count), model.count);
	assert_int_equal(proc.yielders.round == 0, model.count == 0); /* (Y2) */
	assert_true(proc.yielders.round <= model.count);
	assert_int_equal(wf_proc_backlog(&proc),
		model.local_in - model.local_out + model.count);
}

static void yielders_are_as_the_model_says(void **state)
{
	size_t steps = threads_rounds(200000);
	struct wf_random random;

	(void)state;
	wf_random_seed(&random, threads_seed());
	make_proc();
	memset(&model, 0, sizeof(model));
	for (size_t i = 0; i < steps; i++) {
		uint32_t dice = wf_random_below(&random, 32);

		if (dice < 6)
			step_local(true);
		else if (dice < 13)
			step_local(false);
		else if (dice < 15)
			step_global(true);
		else if (dice < 18)
			step_global(false);
		else if (dice < 23)
			step_yield();
		else if (dice < 31)
			step_take();
		else
			step_split(wf_random_below(&random, 8));
		check_proc();
	}
}

static void the_first_yielder_runs_when_nothing_is_ready(void **state)
{
	(void)state;
	make_proc();
	assert_false(wf_yielders_ready(&proc));
	wf_yielders_add(&proc, &fibers[0].task);
	assert_true(wf_yielders_ready(&proc));
	/* A task that comes after the round was closed does not hold it up. */
	assert_true(wf_runq_push(&proc.runq, wf_entry_of(&tasks[0])));
	assert_true(wf_yielders_ready(&proc));
	/* But the second is in a round that was closed after that. */
	wf_yielders_add(&proc, &fibers[1].task);
	assert_ptr_equal(wf_yielders_take(&proc), &fibers[0].task);
	assert_false(wf_yielders_ready(&proc));
	assert_true(wf_runq_pop(&proc.runq) != 0);
	assert_ptr_equal(wf_yielders_take(&proc), &fibers[1].task);
	assert_int_equal(proc.yielders.round, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_yielder_runs_when_nothing_is_ready),
		cmocka_unit_test(yielders_are_as_the_model_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
