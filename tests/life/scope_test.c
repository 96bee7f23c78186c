/* SPDX-License-Identifier: MIT */
/*
 * tests/life/scope_test.c - the CANCEL word, limit and chain of a fiber
 * are right while scopes are open, and as before when they are closed;
 * a fiber that could not be started is not waited for.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>

#include "fiber/fiber.h"
#include "sched/runtime.h"
#include "life/scope.h"
#include "stress/sched_kit.h"

static uint32_t cut_of(weft_fiber *f)
{
	return wf_load_rlx(&f->cancel);
}

static void open_scope(weft_scope *s, weft_time deadline)
{
	kit_expect(weft_scope_open(s, deadline) == 0);
}

/* ------------------------------------------------------------------------ */

static void *chain(void *arg)
{
	weft_fiber *self = weft_self();
	weft_scope a, b, c;

	(void)arg;
	kit_expect(self->scopes == NULL);
	open_scope(&a, WEFT_FOREVER);
	kit_expect(self->scopes == (struct wf_scope *)&a);
	kit_expect(!(self->own & WF_OWN_LIMIT));
	open_scope(&b, 5000);
	kit_expect((self->own & WF_OWN_LIMIT) && self->limit == 5000);
	open_scope(&c, 6000);
	kit_expect((self->own & WF_OWN_LIMIT) && self->limit == 5000);
	kit_expect(weft_scope_close(&c) == -ETIMEDOUT);
	open_scope(&c, 4000);
	kit_expect(self->scopes == (struct wf_scope *)&c);
	kit_expect((self->own & WF_OWN_LIMIT) && self->limit == 4000);
	kit_expect(weft_scope_close(&c) == -ETIMEDOUT);
	kit_expect((self->own & WF_OWN_LIMIT) && self->limit == 5000);
	kit_expect(weft_scope_close(&b) == -ETIMEDOUT);
	kit_expect(!(self->own & WF_OWN_LIMIT));
	kit_expect(weft_scope_close(&a) == 0);
	kit_expect(self->scopes == NULL);
	return NULL;
}

static void the_innermost_is_first(void **state)
{
	(void)state;
	kit_play(chain, 1);
}

static void *bits(void *arg)
{
	weft_fiber *self = weft_self();
	weft_scope a, b, c;

	(void)arg;
	open_scope(&a, WEFT_FOREVER);
	open_scope(&b, WEFT_FOREVER);
	open_scope(&c, WEFT_FOREVER);
	kit_expect(cut_of(self) == 0);
	weft_scope_cancel(&b);
	kit_expect(cut_of(self) == WF_CANCEL_SCOPE);
	kit_expect(weft_scope_close(&c) == -ECANCELED);
	kit_expect(cut_of(self) == WF_CANCEL_SCOPE);
	kit_expect(weft_scope_close(&b) == -ECANCELED);
	kit_expect(cut_of(self) == 0);
	/* The other way round: the outer one stays cancelled. */
	open_scope(&b, WEFT_FOREVER);
	weft_scope_cancel(&b);
	weft_scope_cancel(&a);
	kit_expect(weft_scope_close(&b) == -ECANCELED);
	kit_expect(cut_of(self) == WF_CANCEL_SCOPE);
	/* Also past one that is not. */
	(void)weft_shield(true);
	open_scope(&b, WEFT_FOREVER);
	open_scope(&c, WEFT_FOREVER);
	weft_scope_cancel(&c);
	kit_expect(weft_scope_close(&c) == -ECANCELED);
	kit_expect(cut_of(self) == WF_CANCEL_SCOPE);
	kit_expect(weft_scope_close(&b) == 0);
	kit_expect(cut_of(self) == WF_CANCEL_SCOPE);
	(void)weft_shield(false);
	kit_expect(weft_scope_close(&a) == -ECANCELED);
	kit_expect(cut_of(self) == 0 && self->own == 0);
	return NULL;
}

static void closing_clears_what_it_must(void **state)
{
	(void)state;
	kit_play(bits, 1);
}

/* ------------------------------------------------------------------------ */
/* Members. */

static struct {
	weft_scope scope;
	weft_event event;
	weft_fiber *member;
	uint32_t seen;
	_Atomic(uint32_t) begun;
} m;

static int look_at_member(void *arg)
{
	weft_fiber *self = weft_self();

	(void)arg;
	kit_expect(wf_load_rlx(&self->member) == (struct wf_scope *)&m.scope);
	kit_expect((self->own & WF_OWN_LIMIT) && self->limit == LLONG_MAX - 1);
	kit_expect(cut_of(self) == 0);
	m.member = self;
	wf_store_rel(&m.begun, 1);
	kit_expect(weft_event_wait(&m.event, WEFT_FOREVER) == -ECANCELED);
	m.seen = cut_of(self);
	return 0;
}

/* It is cancelled before it begins. */
static int begin_late(void *arg)
{
	(void)arg;
	kit_expect(cut_of(weft_self()) == WF_CANCEL_MEMBER);
	wf_store_rlx(&m.begun, 2);
	return 0;
}

static void *member_bits(void *arg)
{
	(void)arg;
	open_scope(&m.scope, LLONG_MAX - 1);
	kit_expect(weft_scope_go(&m.scope, look_at_member, NULL) == 0);
	while (wf_load_acq(&m.begun) == 0)
		weft_yield();
	weft_yield();
	kit_expect(weft_scope_go(&m.scope, begin_late, NULL) == 0);
	weft_scope_cancel(&m.scope);
	kit_expect(weft_scope_close(&m.scope) == -ECANCELED);
	kit_expect(wf_load_rlx(&m.begun) == 2);
	kit_expect(m.seen == WF_CANCEL_MEMBER);
	/* One worker: the descriptor is free. */
	kit_expect(cut_of(m.member) == 0 && m.member->own == 0);
	kit_expect(wf_load_rlx(&m.member->member) == NULL);
	kit_expect(wf_load_rlx(&m.member->entry) == NULL);
	return NULL;
}

static void members_are_marked(void **state)
{
	(void)state;
	wf_store_rlx(&m.begun, 0);
	kit_play(member_bits, 1);
}

/* ------------------------------------------------------------------------ */
/* An executor that refuses. */

static struct {
	weft_executor e;
	weft_task *task;
	bool refuses;
} one;

static int one_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	(void)e;
	(void)hint;
	if (one.refuses)
		return -EBUSY;
	one.task = task;
	return 0;
}

static int never(void *arg)
{
	(void)arg;
	kit_expect(false);
	return 1;
}

static void *is_refused(void *arg)
{
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	one.refuses = true;
	for (int i = 0; i < 3; i++)
		kit_expect(weft_scope_go(&s, never, NULL) == -EBUSY);
	kit_expect(weft_scope_close(&s) == 0);
	one.refuses = false;
	return arg;
}

static void a_fiber_that_is_refused_is_not_waited_for(void **state)
{
	weft_fiber_attr attr = { .executor = &one.e };
	weft_fiber *f = NULL;
	void *result = NULL;

	(void)state;
	one.e.submit = one_submit;
	assert_int_equal(weft_spawn(&f, &attr, is_refused, &one), 0);
	weft_task_run(&one.e, one.task);
	assert_int_equal(weft_join(f, &result, WEFT_NOW), 0);
	assert_ptr_equal(result, &one);
	kit_settle();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_is_first),
		cmocka_unit_test(closing_clears_what_it_must),
		cmocka_unit_test(members_are_marked),
		cmocka_unit_test(a_fiber_that_is_refused_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
