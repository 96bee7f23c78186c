/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/numbered.h - tasks that note in which order they run.
 */
#ifndef WEFT_TESTS_EXEC_NUMBERED_H
#define WEFT_TESTS_EXEC_NUMBERED_H

#include "stress/sched_kit.h"

enum { TASKS = 1000 };

struct numbered {
	weft_task task; /* must be first */
	size_t number;
};

static struct numbered tasks[TASKS];
static size_t order[TASKS], ran;

static void note(weft_task *task)
{
	order[ran++] = ((struct numbered *)task)->number;
}

/* None has run. */
static void prepare(void)
{
	kit_watch();
	ran = 0;
	for (size_t i = 0; i < TASKS; i++)
		tasks[i] = (struct numbered){ { .run = note }, i };
}

/* The first n have run, and no other, in order. */
static void expect_order(size_t n)
{
	assert_int_equal(ran, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(order[i], i);
	kit_settle();
}

#endif
