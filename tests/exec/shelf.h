/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/shelf.h - an executor that a test runs by hand, one task at a
 * time, and that remembers how it was asked.
 */
#ifndef WEFT_TESTS_EXEC_SHELF_H
#define WEFT_TESTS_EXEC_SHELF_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include <weft/weft.h>

#include "exec/exec.h"
#include "exec/foreign.h"

enum { SHELF_TASKS = 8 };

struct shelf {
	union {				/* must be first */
		weft_executor executor;
		struct wf_exec exec;
	};
	weft_task *task[SHELF_TASKS];	/* the oldest first */
	size_t count;
	weft_hint hint;			/* of the last submit */
	size_t submits;
	bool refuses;
	bool at_once;			/* each is run by its submit */
};

static inline int shelf_submit(weft_executor *e, weft_task *t, weft_hint hint)
{
	struct shelf *s = (struct shelf *)e;

	s->submits++;
	s->hint = hint;
	if (s->refuses || s->count == SHELF_TASKS)
		return -EBUSY;
	if (s->at_once)
		weft_task_run(e, t);
	else
		s->task[s->count++] = t;
	return 0;
}

static inline struct shelf shelf_make(void)
{
	return (struct shelf){ .executor = { .submit = shelf_submit } };
}

/* Have s count its fibers, as the executors of weft do. */
static inline void shelf_count(struct shelf *s)
{
	s->executor.reserved_[0] = s;
}

/* Run the oldest; false: there is none. */
static inline bool shelf_run(struct shelf *s)
{
	weft_task *t = s->task[0];

	if (s->count == 0)
		return false;
	s->count--;
	for (size_t i = 0; i < s->count; i++)
		s->task[i] = s->task[i + 1];
	weft_task_run(&s->executor, t);
	return true;
}

/* A fiber on it; 0 or an error. */
static inline int shelf_spawn(
	struct shelf *s, weft_fiber **f, void *(*fn)(void *), void *arg)
{
	weft_fiber_attr attr = { .executor = &s->executor };

	return weft_spawn(f, &attr, fn, arg);
}

#endif
