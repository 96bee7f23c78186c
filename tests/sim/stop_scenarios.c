/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/stop_scenarios.c - the last moments of runtimes, and of threads:
 * accepted tasks still run, waiting ones are still helped, and all end.
 */
#include "sched_kit.h"

/* ------------------------------------------------------------------------ */
/* Threads that end because nothing comes for long. */

static void sleep_until(int64_t until_ns)
{
	_Atomic(uint32_t) never = 0;

	while (wf_os_now_ns() < until_ns)
		(void)wf_os_futex_wait(&never, 0, until_ns);
}

/*
 * Two groups of one processor each, and one task for either.  When the second
 * thread has slept for so long that it ends, two more come.
 */
void rt_linger(void *arg)
{
	weft_config cfg = rt_config(2);
	int64_t late = 5 * WF_NS_PER_US * (int64_t)weft_sim_either(6);

	(void)arg;
	cfg.group_size = 1;
	rt_start_with(&cfg);
	for (size_t i = 0; i < 2; i++) {
		stage.job[i].then = job_opens;
		stage.job[i].arg = (unsigned)i;
		job_submit(stage.rt, i, WEFT_HINT_DEFAULT);
	}
	latch_wait(&stage.latch[0]);
	latch_wait(&stage.latch[1]);
	sleep_until(wf_os_now_ns() + stage.rt->linger_ns + late);
	job_submit(stage.rt, 2, WEFT_HINT_DEFAULT);
	job_submit(stage.rt, 3, WEFT_HINT_DEFAULT);
	rt_stop();
	jobs_check(4);
}

/* ------------------------------------------------------------------------ */
/* A task that waits for others, which come from outside; then stop. */

static void need_two(struct job *j)
{
	(void)j;
	latch_open(&stage.latch[2]);
	latch_need(&stage.latch[0]);
	latch_need(&stage.latch[1]);
}

void rt_need_at_the_end(void *arg)
{
	(void)arg;
	rt_start(2);
	stage.job[0].then = need_two;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[2]);
	for (size_t i = 1; i < 3; i++) {
		stage.job[i].then = job_opens;
		stage.job[i].arg = (unsigned)i - 1;
		job_submit(stage.rt, i, WEFT_HINT_DEFAULT);
	}
	rt_stop();
	jobs_check(3);
}

/* ------------------------------------------------------------------------ */
/* Help that comes when all is over. */

static void need_help(struct job *j)
{
	(void)j;
	job_submit(stage.rt, 1, WEFT_HINT_DEFAULT);
	latch_open(&stage.latch[1]);
	latch_wait(&stage.latch[0]);
}

static void relieve(void *arg)
{
	(void)arg;
	sleep_until(wf_os_now_ns() + 150 * WF_NS_PER_US);
	latch_open(&stage.latch[0]);
}

/* The monitor sends for somebody just as the runtime stops. */
void rt_help_and_stop(void *arg)
{
	int other;

	(void)arg;
	rt_start(2);
	stage.job[0].then = need_help;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[1]);
	other = weft_sim_thread(relieve, NULL, "relief");
	rt_stop();
	(void)weft_sim_join(other);
	jobs_check(2);
}

/* ------------------------------------------------------------------------ */
/* A queue that overflows when the others have ended already. */

static void block_first(struct job *j)
{
	(void)j;
	latch_open(&stage.latch[0]);
	latch_wait(&stage.latch[1]);
}

/* In the slot's last turn: the queue is full, and so is the slot. */
static void fill_up(struct job *j)
{
	(void)j;
	job_submit(stage.rt, 3, WEFT_HINT_DEFAULT);
	job_submit(stage.rt, 4, WEFT_HINT_DEFAULT);
	job_submit(stage.rt, 5, WEFT_HINT_NEXT);
	latch_open(&stage.latch[1]);
	latch_open(&stage.latch[2]);
	latch_wait(&stage.latch[3]);
}

static void be_next(struct job *j)
{
	(void)j;
	stage.job[2].then = fill_up;
	job_submit(stage.rt, 2, WEFT_HINT_NEXT);
}

/* Until nothing moves, so that every thread that could end has ended. */
static void release_last(void *arg)
{
	(void)arg;
	weft_sim_quiesce();
	latch_open(&stage.latch[3]);
}

void rt_overflow_at_the_end(void *arg)
{
	weft_config cfg = rt_config(2);
	int other;

	(void)arg;
	cfg.lifo_budget = 1;
	cfg.global_tick = 100;
	rt_start_with(&cfg);
	stage.job[0].then = block_first;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
	stage.job[1].then = be_next;
	job_submit(stage.rt, 1, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[2]);
	other = weft_sim_thread(release_last, NULL, "release");
	rt_stop();
	(void)weft_sim_join(other);
	jobs_check(6);
}

/* ------------------------------------------------------------------------ */
/* A task starts a fiber, which waits, while the runtime is being stopped. */

static struct {
	_Atomic(weft_fiber *) waits;
	_Atomic(bool) refused;
	uint32_t started, ended;
} late;

static bool late_commit(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	wf_store_rel(&late.waits, f);
	return true;
}

static void late_fiber(void *arg)
{
	struct weft_awaiter a = { .commit = late_commit };
	int err = weft_suspend(&a);

	(void)arg;
	weft_sim_assert(err == 0, "suspend says %d", err);
	late.ended++;
}

static void start_late(struct job *j)
{
	(void)j;
	if (weft_go(late_fiber, NULL) == 0)
		late.started++;
	else
		wf_store_rel(&late.refused, true);
}

static void late_waker(void *arg)
{
	weft_fiber *f;

	(void)arg;
	while ((f = wf_load_acq(&late.waits)) == NULL &&
		!wf_load_acq(&late.refused))
		weft_sim_yield();
	if (f != NULL)
		weft_wake(f, WEFT_HINT_DEFAULT);
}

void rt_late_spawn(void *arg)
{
	int waker;

	rt_start((uint32_t)(uintptr_t)arg);
	stage.job[0].then = start_late;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	waker = weft_sim_thread(late_waker, NULL, "waker");
	rt_stop();
	weft_sim_assert(late.ended == late.started,
		"stopped, and a fiber that was started has not ended");
	weft_sim_join(waker);
	jobs_check(1);
}
