/* SPDX-License-Identifier: MIT */
/*
 * tests/life/inspect_test.c - weft_fiber_look shows the state of a fiber,
 * its name, its function, and while it waits, the object that it waits for.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "fiber/fiber.h"
#include "sched/submit.h"
#include "stress/sched_kit.h"

static struct weft_awaiter awaiter;
static weft_group group;
static weft_fiber *watched;
static int stage;

/* Is f in this state, with this name and object of its wait? */
static bool is(
	weft_fiber *f, weft_fiber_state state, const char *what, const void *on)
{
	weft_fiber_info info;

	weft_fiber_look(f, &info);
	if (info.state != state || info.waits_on != on)
		return false;
	if ((info.since != 0) != (on != NULL) || info.since > weft_now())
		return false;
	return what ? info.waits_for && strcmp(info.waits_for, what) == 0
		    : info.waits_for == NULL;
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	kit_expect(a == &awaiter);
	kit_expect(f == watched);
	kit_expect(weft_self() == NULL);
	return true;
}

/* Waits in three ways, one after the other. */
static void *wait_in_turn(void *arg)
{
	weft_fiber *child = arg;
	int err;

	kit_expect(weft_self() == watched);
	kit_expect(is(watched, WEFT_FIBER_RUNNING, NULL, NULL));
	stage = 1;
	err = weft_suspend(&awaiter);
	kit_expect(err == 0);
	kit_expect(is(watched, WEFT_FIBER_RUNNING, NULL, NULL));
	stage = 2;
	err = weft_group_wait(&group, WEFT_FOREVER);
	kit_expect(err == 0);
	stage = 3;
	err = weft_join(child, NULL, WEFT_FOREVER);
	kit_expect(err == 0);
	return NULL;
}

static bool sleep_commit(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	(void)f;
	return true;
}

/* A child that has started and waits. */
static void *sleeper(void *arg)
{
	struct weft_awaiter a = { .commit = sleep_commit };
	int err = weft_suspend(&a);

	kit_expect(err == 0);
	return arg;
}

static void *every_state(void *arg)
{
	weft_fiber_attr named = { .name = "watched", .hint = WEFT_HINT_NEXT };
	weft_fiber_info info;
	weft_fiber *child;

	(void)arg;
	awaiter.commit = commit;
	kit_expect(weft_spawn(&child, NULL, sleeper, NULL) == 0);
	kit_expect(weft_spawn(&watched, &named, wait_in_turn, child) == 0);
	weft_group_add(&group, 1);
	kit_expect(is(watched, WEFT_FIBER_RUNNABLE, NULL, NULL));
	weft_fiber_look(watched, &info);
	kit_expect(strcmp(info.name, "watched") == 0);
	kit_expect(info.entry == (void *)wait_in_turn);
	kit_expect(weft_fiber_name(child) == NULL);

	weft_yield();
	kit_expect(stage == 1);
	kit_expect(is(watched, WEFT_FIBER_WAITING, "suspend", &awaiter));
	weft_fiber_look(watched, &info);
	kit_expect(info.entry == (void *)wait_in_turn);

	weft_wake(watched, WEFT_HINT_DEFAULT);
	kit_expect(is(watched, WEFT_FIBER_RUNNABLE, NULL, NULL));
	weft_yield();
	kit_expect(stage == 2);
	kit_expect(is(watched, WEFT_FIBER_WAITING, "group", &group));

	weft_group_done(&group);
	weft_yield();
	kit_expect(stage == 3);
	kit_expect(is(watched, WEFT_FIBER_WAITING, "join", child));

	weft_wake(child, WEFT_HINT_DEFAULT);
	weft_yield();
	weft_yield();
	kit_expect(is(watched, WEFT_FIBER_DONE, NULL, NULL));
	kit_expect(weft_join(watched, NULL, WEFT_FOREVER) == 0);
	return NULL;
}

/* A parent whose child runs as its call waits, though it is on a stack. */
static void *look_at_parent(void *parent)
{
	kit_expect(weft_self() != parent);
	kit_expect(is(weft_self(), WEFT_FIBER_RUNNING, NULL, NULL));
	kit_expect(is(parent, WEFT_FIBER_WAITING, "join, inline", NULL));
	return NULL;
}

static void *inline_child(void *arg)
{
	weft_fiber *f, *self = weft_self();

	(void)arg;
	kit_expect(weft_spawn(&f, NULL, look_at_parent, self) == 0);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	kit_expect(weft_self() == self);
	kit_expect(is(self, WEFT_FIBER_RUNNING, NULL, NULL));
	return NULL;
}

static void *cancelled(void *arg)
{
	(void)arg;
	kit_expect(!weft_cancelled());
	kit_expect(weft_cancel(weft_self()) == 0);
	kit_expect(weft_cancelled());
	return NULL;
}

static void each_state_is_seen(void **state)
{
	(void)state;
	kit_play(every_state, 1);
	kit_play(inline_child, 1);
}

static void a_plain_thread_is_nobody(void **state)
{
	(void)state;
	assert_null(weft_self());
	assert_false(weft_cancelled());
	kit_play(cancelled, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_state_is_seen),
		cmocka_unit_test(a_plain_thread_is_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
