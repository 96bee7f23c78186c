/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/inspect_scenarios.c - a look at a fiber that lives may show an
 * earlier state, never a wrong one.
 */
#include "sim/fiber_kit.h"

#include <string.h>

#include "os/os.h"

enum { LOOKS = 3 };

static struct {
	_Atomic(weft_fiber *) handle;
	_Atomic(bool) over;
	weft_group group;
	int answer;
	bool waits; /* in a call that says what for */
	bool began; /* weft_yield is what it waits in, if at all */
} *s;

static const char name[] = "looked at";

static void *looked_at(void *arg)
{
	(void)arg;
	if (s->waits) {
		int err = weft_group_wait(&s->group, WEFT_FOREVER);

		weft_sim_assert(err == 0, "wait: %d", err);
	}
	if (s->began)
		weft_yield();
	return &s->answer;
}

static void check(const weft_fiber_info *info)
{
	weft_sim_assert(info->name == name, "another name");
	weft_sim_assert(info->entry == NULL || info->entry == (void *)looked_at,
		"its function is said to be %p, its result is %p", info->entry,
		(void *)&s->answer);
	weft_sim_assert(info->state <= WEFT_FIBER_DONE, "no such state");
	weft_sim_assert((info->waits_for != NULL) ==
			(info->state == WEFT_FIBER_WAITING),
		"state %d waits for %s", (int)info->state, info->waits_for);
	if (info->waits_for == NULL)
		weft_sim_assert(info->waits_on == NULL && info->since == 0,
			"it waits for nothing, on something");
	else if (strcmp(info->waits_for, "group") == 0)
		weft_sim_assert(
			info->waits_on == &s->group || info->waits_on == NULL,
			"it waits on something else");
	else
		weft_sim_assert(strcmp(info->waits_for, "join, inline") == 0,
			"it waits for %s", info->waits_for);
}

static void looker(void *arg)
{
	weft_fiber *f;

	(void)arg;
	/* [pair: look.handle] */
	while ((f = wf_load_acq(&s->handle)) == NULL)
		duo_pause();
	for (int i = 0; i < LOOKS; i++) {
		weft_fiber_info info;

		weft_fiber_look(f, &info);
		check(&info);
	}
	wf_store_rlx(&s->over, true);
}

/* Begins it and joins it when it was looked at. */
static void *parent(void *arg)
{
	weft_fiber_attr attr = { .name = name };
	weft_fiber *f = NULL;
	void *result = NULL;
	int err = weft_spawn(&f, &attr, looked_at, NULL);

	weft_sim_assert(err == 0, "spawn: %d", err);
	/* [pair: look.handle] */
	wf_store_rel(&s->handle, f);
	while (!wf_load_rlx(&s->over)) {
		duo_pause();
	}
	err = weft_join(f, &result, WEFT_FOREVER);
	weft_sim_assert(err == 0 && result == &s->answer, "join: %d", err);
	return arg;
}

static void *done(void *arg)
{
	weft_group_done(&s->group);
	return arg;
}

static void *child(void *arg)
{
	return arg;
}

/* Has a child run as a call, or waits for it. */
static void *joining(void *arg)
{
	weft_fiber *f = NULL;
	int err = weft_spawn(&f, NULL, child, NULL);

	if (err == 0)
		err = weft_join(f, NULL, WEFT_FOREVER);
	weft_sim_assert(err == 0, "join: %d", err);
	while (!wf_load_rlx(&s->over))
		duo_pause();
	return arg;
}

static void looker_at_joiner(void *arg)
{
	weft_fiber *f = arg;

	for (int i = 0; i < LOOKS; i++) {
		weft_fiber_info info;

		weft_fiber_look(f, &info);
		weft_sim_assert(info.state <= WEFT_FIBER_DONE, "no such state");
		weft_sim_assert(info.waits_for == NULL ||
				strcmp(info.waits_for, "join, inline") == 0 ||
				strcmp(info.waits_for, "join") == 0,
			"it waits for %s", info.waits_for);
		weft_sim_assert((info.waits_for != NULL) ==
				(info.state == WEFT_FIBER_WAITING),
			"state %d waits for %s", (int)info.state,
			info.waits_for);
	}
	wf_store_rlx(&s->over, true);
}

void look_inline(void *arg)
{
	weft_fiber *f;
	int thread;

	(void)arg;
	s = duo_alloc(sizeof(*s));
	duo_open(DUO_COARSE);
	f = duo_handle(0, joining, NULL);
	duo_start();
	thread = duo_thread(looker_at_joiner, f, "looker");
	duo_join();
	(void)weft_sim_join(thread);
	weft_detach(f);
	duo_close();
	wf_os_free(s);
}

/* It runs to its end; or waits for a group (arg 1); or gives way (arg 2). */
void look_race(void *arg)
{
	int thread;

	s = duo_alloc(sizeof(*s));
	s->waits = (uintptr_t)arg == 1;
	s->began = (uintptr_t)arg == 2;
	weft_group_add(&s->group, 1);
	duo_open(0);
	duo_root(0, parent, NULL);
	duo_root(1, done, NULL);
	duo_start();
	thread = duo_thread(looker, NULL, "looker");
	duo_join();
	(void)weft_sim_join(thread);
	duo_close();
	wf_os_free(s);
}
