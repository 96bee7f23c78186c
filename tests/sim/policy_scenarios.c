/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/policy_scenarios.c - the policies: whichever processor is woken and
 * wherever tasks wait, each runs once, and none is left to sleepers.
 *
 * There is no monitor in the kit, and no processor sleeps with a deadline.
 */
#include "policy_kit.h"

#include <errno.h>

static void submit_inside(size_t i, weft_hint hint)
{
	int err = weft_submit(
		&stage.kit.rt.executor, job_make(i, stage.job[i].then), hint);

	weft_sim_assert(err == 0, "job %zu is refused: %d", i, err);
}

static void submit_one(void *arg)
{
	kit_submit(*(size_t *)arg);
}

/* ------------------------------------------------------------------------ */
/* Against those who give up searching. */

static void submit_third(struct job *j)
{
	(void)j;
	submit_inside(2, (weft_hint)weft_sim_either(3));
}

/* From inside and outside, while all go to sleep. */
void policy_pick(void *arg)
{
	static size_t second = 1;
	const struct plan *plan = arg;

	kit_open_plan(plan, 2);
	wf_store_rlx(&stage.left, 3);
	stage.job[0].then = submit_third;
	kit_start_workers(plan->workers);
	kit_start(submit_one, &second, "outside");
	kit_submit(0);
	kit_finish();
	jobs_check(3);
	kit_close();
}

/* It needs another processor for the older of those that it submits. */
static void need_help(struct job *j)
{
	(void)j;
	submit_inside(1, WEFT_HINT_DEFAULT);
	submit_inside(2, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
}

/* A searcher or a sleeper comes, though no other processor wakes it. */
void policy_need(void *arg)
{
	const struct plan *plan = arg;

	kit_open_plan(plan, KIT_CAP);
	/* A processor that may not search leaves queues to the monitor. */
	stage.kit.group->max_searchers = plan->workers;
	wf_store_rlx(&stage.left, 3);
	stage.job[0].then = need_help;
	stage.job[1].then = job_opens;
	kit_start_workers(plan->workers);
	kit_submit(0);
	kit_finish();
	jobs_check(3);
	kit_close();
}

static void wait_opened(struct job *j)
{
	latch_wait(&stage.latch[j->arg]);
}

/*
 * The first and the last are in one inbox.  A processor that takes both, while
 * the other finds nothing and sleeps, has to wake it for the tasks it leaves.
 */
void policy_rest(void *arg)
{
	const struct plan *plan = arg;

	kit_open_plan(plan, KIT_CAP);
	stage.kit.group->max_searchers = plan->workers;
	wf_store_rlx(&stage.left, 3);
	stage.job[0].then = wait_opened;
	stage.job[2].then = job_opens;
	kit_start_workers(plan->workers);
	for (size_t i = 0; i < 3; i++)
		kit_submit(i);
	kit_finish();
	jobs_check(3);
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* Queues that overflow. */

enum { ORDER = 6 };

static struct {
	size_t ran[2 * ORDER]; /* in this order, by one worker */
	size_t count;
	size_t inside; /* how many the first one submits */
} s;

static void note_order(struct job *j)
{
	size_t i = job_number(j);

	s.ran[s.count++] = i;
	for (size_t n = 0; i == 0 && n < s.inside; n++) {
		stage.job[ORDER + n].then = note_order;
		submit_inside(ORDER + n, WEFT_HINT_DEFAULT);
	}
}

/* Those of one submitter are in order. */
static void check_order(size_t first, size_t n)
{
	size_t next = first;

	for (size_t i = 0; i < s.count; i++) {
		if (s.ran[i] < first || s.ran[i] >= first + n)
			continue;
		weft_sim_assert(s.ran[i] == next, "job %zu runs before %zu",
			s.ran[i], next);
		next++;
	}
	weft_sim_assert(next == first + n, "job %zu did not run", next);
}

static void submit_rest(void *arg)
{
	(void)arg;
	for (size_t i = ORDER / 2; i < ORDER; i++)
		kit_submit(i);
}

/* Two from outside and one from inside, for one worker. */
void policy_order(void *arg)
{
	const struct plan *plan = arg;

	kit_open_plan(plan, KIT_CAP);
	s.inside = 3;
	wf_store_rlx(&stage.left, ORDER + 3);
	for (size_t i = 0; i < ORDER; i++)
		stage.job[i].then = note_order;
	kit_start_workers(plan->workers);
	kit_start(submit_rest, NULL, "outside");
	for (size_t i = 0; i < ORDER / 2; i++)
		kit_submit(i);
	kit_finish();
	jobs_check(ORDER + 3);
	check_order(0, ORDER / 2);
	check_order(ORDER / 2, ORDER / 2);
	check_order(ORDER, 3);
	kit_close();
}

/* Some from outside, one by one or all at once, of which not all fit. */
void policy_overflow(void *arg)
{
	const struct plan *plan = arg;
	struct wf_batch batch = { 0 };

	kit_open_plan(plan, KIT_CAP);
	wf_store_rlx(&stage.left, 4);
	for (size_t i = 0; i < 4; i++)
		stage.job[i].then = note_order;
	kit_start_workers(plan->workers);
	if (weft_sim_either(2) == 0) {
		for (size_t i = 0; i < 4; i++)
			kit_submit(i);
	} else {
		for (size_t i = 0; i < 4; i++)
			wf_batch_add(&batch, job_make(i, note_order));
		wf_submit_outside(&stage.kit.rt, &batch);
	}
	kit_finish();
	jobs_check(4);
	check_order(0, 4);
	kit_close();
}

static void submit_many(struct job *j)
{
	(void)j;
	for (size_t i = 2; i < 7; i++)
		submit_inside(i, (weft_hint)weft_sim_either(3));
}

/* More than a queue holds, and thieves. */
void policy_inside(void *arg)
{
	static size_t second = 1;
	const struct plan *plan = arg;

	kit_open_plan(plan, 2);
	wf_store_rlx(&stage.left, 7);
	stage.job[0].then = submit_many;
	kit_start_workers(plan->workers);
	kit_start(submit_one, &second, "outside");
	kit_submit(0);
	kit_finish();
	jobs_check(7);
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* Whole runtimes, with fibers. */

static void *child(void *arg)
{
	weft_yield();
	*(int *)arg += 1;
	return arg;
}

static int done[2];

static void *parent(void *arg)
{
	weft_fiber *f = NULL;
	void *result = NULL;
	int err = weft_spawn(&f, NULL, child, &done[0]);

	weft_sim_assert(err == 0, "spawn says %d", err);
	weft_yield();
	err = weft_join(f, &result, WEFT_FOREVER);
	weft_sim_assert(err == 0 && result == &done[0] && done[0] == 1,
		"join says %d", err);
	job_submit(stage.rt, 1, (weft_hint)weft_sim_either(3));
	weft_yield();
	done[1]++;
	return arg;
}

void policy_rt(void *arg)
{
	weft_fiber *f = NULL;
	int err;

	rt_start_plan(arg);
	err = weft_rt_spawn(stage.rt, &f, NULL, parent, NULL);
	weft_sim_assert(err == 0, "spawn says %d", err);
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	err = weft_join(f, NULL, WEFT_FOREVER);
	weft_sim_assert(err == 0 && done[1] == 1, "join says %d", err);
	err = weft_rt_wait_idle(stage.rt, WEFT_FOREVER);
	weft_sim_assert(err == 0, "wait_idle says %d", err);
	jobs_check(2);
	rt_stop();
}
