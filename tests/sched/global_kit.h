/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/global_kit.h - a kit whose groups have their global queue in a
 * form that the test chooses.
 */
#ifndef WEFT_TESTS_SCHED_GLOBAL_KIT_H
#define WEFT_TESTS_SCHED_GLOBAL_KIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "kit.h"
#include "sched/global.h"

enum { PROCS = 4, CELLS_MAX = 64 };

enum form { LIST, GLOBAL_LIST, INBOXES, BOUNDED, FORMS };

static struct wf_group *g;
static struct wf_proc *p;

/* A kit whose groups have their queue in this form; capacity: if BOUNDED. */
static inline void open_form(enum form form, uint32_t size, uint64_t capacity)
{
	weft_policy policy = { .bounded_capacity = (uint32_t)capacity };

	if (form == GLOBAL_LIST)
		policy.queue = WEFT_QUEUE_GLOBAL;
	if (form == INBOXES)
		policy.locks = WEFT_LOCKS_NONE;
	if (form == BOUNDED)
		policy.queue = WEFT_QUEUE_BOUNDED;
	kit_open_policy(PROCS, size, &policy);
	g = kit.groups;
	p = &kit.procs[0];
}

/* Push the kit's next n tasks as one batch; by NULL: from outside. */
static inline void push(struct wf_proc *by, size_t n)
{
	struct wf_batch batch = { 0 };

	while (n-- > 0)
		wf_batch_add(&batch, kit_task());
	wf_global_push(g, by, &batch);
	assert_true(wf_batch_is_empty(&batch));
}

/* Processor i takes; expect so many, which are the tasks from first on. */
static inline void expect_taken(
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
static inline void expect_empty(void)
{
	assert_int_equal(wf_global_len(g), 0);
	expect_taken(0, 1, 100, 0, 0);
	expect_taken(PROCS - 1, 3, 1, 0, 0);
}

#endif
