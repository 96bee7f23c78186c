/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/park_scenarios.c - parking against submitting: no task
 * is left to sleepers only, and no wake is lost.
 *
 * There is no monitor here, and no processor sleeps with a deadline.
 */
#include "sched_kit.h"

#include "idle/park.h"
#include "sched/threads.h"

/* A worker that knows nothing but the global queue. */
static void commute(void *arg)
{
	struct wf_thread *t = arg;
	struct wf_group *g = t->proc->group;

	for (;;) {
		struct wf_batch out = { 0 };

		if (wf_inject_take(&g->inject, 1, &out) > 0) {
			(void)wf_and_rlx(&g->searching, ~t->proc->bit);
			kit_run_task(out.first);
		} else if (!wf_park(t, true) || wf_load_rlx(&stage.over)) {
			return;
		}
	}
}

/* Loads of this thread, and of those that it wakes, see the sleepers of now. */
static void see_sleepers(void)
{
	(void)wf_or_rlx(&stage.kit.group->sleeping, 0);
}

/*
 * As kit_finish, but one after the other, so that there is little to choose
 * from: all schedules of this shall be seen.
 */
static void end_commuters(uint32_t n)
{
	uint32_t left;

	weft_sim_quiesce();
	left = wf_add_rlx(&stage.left, 0);
	weft_sim_assert(
		left == 0, "nobody runs, and %u jobs have not run", left);
	wf_store_rlx(&stage.over, true);
	see_sleepers();
	for (uint32_t i = 0; i < n; i++) {
		weft_sim_assert(wf_wake_one(stage.kit.group),
			"processor %u does not sleep", i);
		(void)weft_sim_join(stage.kit.sim[i]);
	}
}

static void start_commuters(uint32_t n)
{
	static const char *const names[KIT_PROCS] = { "P0", "P1", "P2" };

	for (uint32_t i = 0; i < n; i++)
		kit_start(commute, &stage.kit.thread[i], names[i]);
}

/* The columns of idle/wake.h, each once. */
void park_one_worker(void *arg)
{
	(void)arg;
	kit_open(1, KIT_CAP);
	wf_store_rlx(&stage.left, 1);
	start_commuters(1);
	kit_submit(0);
	end_commuters(1);
	jobs_check(1);
	kit_close();
}

void park_two_workers(void *arg)
{
	(void)arg;
	kit_open(2, KIT_CAP);
	wf_store_rlx(&stage.left, 1);
	start_commuters(2);
	kit_submit(0);
	end_commuters(2);
	jobs_check(1);
	kit_close();
}

static void submit_one(void *arg)
{
	kit_submit(*(size_t *)arg);
}

/* Two from outside at once, and a third when one of them runs. */
static void submit_third(struct job *j)
{
	(void)j;
	kit_submit(2);
}

void park_three_workers(void *arg)
{
	static size_t second = 1;

	(void)arg;
	kit_open(3, KIT_CAP);
	wf_store_rlx(&stage.left, 3);
	stage.job[0].then = submit_third;
	start_commuters(3);
	kit_start(submit_one, &second, "outside");
	kit_submit(0);
	kit_finish();
	jobs_check(3);
	kit_close();
}

/*
 * A task that comes while the last searcher is about to stop wakes no sleeper:
 * the searcher must find it.
 */
void park_last_searcher(void *arg)
{
	(void)arg;
	kit_open(1, KIT_CAP);
	wf_store_rlx(&stage.left, 2);
	kit_start_workers(1);
	kit_submit(0);
	kit_submit(1);
	kit_finish();
	jobs_check(2);
	kit_close();
}

/* The whole way, with all its queues; from inside and outside. */
static void submit_inside(struct job *j)
{
	weft_hint hint = (weft_hint)weft_sim_either(3);

	(void)j;
	weft_sim_assert(weft_submit(&stage.kit.rt.executor, job_make(2, NULL),
				hint) == 0,
		"a task from inside is refused");
}

void park_pick(void *arg)
{
	static size_t second = 1;
	uint32_t workers = (uint32_t)(uintptr_t)arg;

	kit_open(workers, 2);
	wf_store_rlx(&stage.left, 3);
	stage.job[0].then = submit_inside;
	kit_start_workers(workers);
	kit_start(submit_one, &second, "outside");
	kit_submit(0);
	kit_finish();
	jobs_check(3);
	kit_close();
}

/*
 * Three workers, of which one may search at a time: those that search by
 * themselves meet wakers that make a sleeper search.
 */
void park_limit(void *arg)
{
	static size_t second = 1;

	(void)arg;
	kit_open(3, 2);
	stage.kit.group->max_searchers = 1;
	wf_store_rlx(&stage.kit.group->coarse, true);
	wf_store_rlx(&stage.left, 3);
	stage.job[0].then = submit_inside;
	kit_start_workers(3);
	kit_start(submit_one, &second, "outside");
	kit_submit(0);
	kit_finish();
	jobs_check(3);
	kit_close();
}

/*
 * A woken processor knows that its waker counted it as searching; otherwise it
 * would sleep again and stay counted, and no sleeper would be woken any more.
 * Processor 1 has searched while processor 0 slept, and sleeps now; the body
 * takes the task for which processor 0 is woken.
 */
void park_word(void *arg)
{
	struct wf_batch out = { 0 };
	struct wf_group *g;

	(void)arg;
	kit_open(2, KIT_CAP);
	g = stage.kit.group;
	wf_store_rlx(&stage.left, 2);
	kit_start_sleepers(2);
	(void)wf_or_rlx(&g->searching, stage.kit.proc[1].bit);
	(void)wf_and_rlx(&g->searching, ~stage.kit.proc[1].bit);
	kit_submit(0);
	if (wf_inject_take(&g->inject, 1, &out) > 0)
		kit_run_task(out.first);
	kit_submit(1);
	kit_finish();
	jobs_check(2);
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* Wakes that lead to wakes. */

static void wait_latch(struct job *j)
{
	latch_wait(&stage.latch[j->arg]);
}

/*
 * Processor 0 computes and has four coarse tasks.  A thief that takes two of
 * them, the older ones, cannot go on before another runs the third.
 */
static void fill_first(void)
{
	struct wf_proc *p = &stage.kit.proc[0];

	wf_store_rlx(&stage.left, 4);
	stage.job[0].then = wait_latch;
	stage.job[2].then = job_opens;
	for (size_t i = 0; i < 4; i++)
		kit_push(0, i);
	wf_store_rlx(&p->mean_ns, 100 * WF_NS_PER_US);
	wf_store_rlx(&p->push_flags, true);
	see_sleepers();
}

/* The body is processor 0 again, and takes what is left. */
static void run_the_rest(void)
{
	latch_wait(&stage.latch[0]);
	kit_drain(1);
	kit_finish();
	jobs_check(4);
	kit_close();
}

/* A processor that was woken and found many tasks wakes the next. */
void wake_chain(void *arg)
{
	(void)arg;
	kit_open(3, KIT_CAP);
	kit_start(kit_work, &stage.kit.thread[1], "P1");
	kit_start(kit_work, &stage.kit.thread[2], "P2");
	weft_sim_quiesce();
	fill_first();
	weft_sim_assert(wf_wake_one(stage.kit.group), "nobody sleeps");
	run_the_rest();
}

/* So does one that began to search by itself. */
void wake_self_enlisted(void *arg)
{
	(void)arg;
	kit_open(3, KIT_CAP);
	kit_start(kit_work, &stage.kit.thread[2], "P2");
	weft_sim_quiesce();
	fill_first();
	kit_start(kit_work, &stage.kit.thread[1], "P1");
	run_the_rest();
}

/* Two wakers at once wake two sleepers, each once. */
static void wake_some(void *arg)
{
	_Atomic(uint32_t) *woken = arg;

	(void)wf_add_rlx(woken, wf_wake_one(stage.kit.group));
}

void wake_two_wakers(void *arg)
{
	static _Atomic(uint32_t) woken;
	uint64_t wakes = 0;

	(void)arg;
	kit_open(2, KIT_CAP);
	kit_start_sleepers(2);
	kit_start(wake_some, &woken, "waker");
	wake_some(&woken);
	kit_finish();
	for (uint32_t i = 0; i < 2; i++)
		wakes += wf_load_rlx(&stage.kit.proc[i].counters.wakes);
	/* The two at the end are kit_finish's. */
	weft_sim_assert(wakes == wf_load_rlx(&woken) + 2,
		"%u were woken, and %u woke up", wf_load_rlx(&woken),
		(unsigned)wakes);
	kit_close();
}

/*
 * A processor without a thread, and two wakers.  If no thread can be made,
 * nothing of it is left; if one can, it finds nothing and ends with the
 * runtime.
 */
void wake_fails(void *arg)
{
	struct kit *kit = &stage.kit;
	static _Atomic(uint32_t) woken;

	(void)arg;
	kit_open(2, KIT_CAP);
	kit->rt.config.max_threads = 2;
	wf_store_rlx(&kit->proc[1].thread, NULL);
	wf_store_rlx(&kit->group->sleeping, kit->proc[1].bit);
	weft_sim_os_faults(2);
	kit_start(wake_some, &woken, "waker");
	wake_some(&woken);
	kit_join();
	kit_quit();
	while (wf_add_rlx(&kit->rt.threads, 0) != 0)
		weft_sim_yield();
	wf_threads_reap(&kit->rt);
	weft_sim_assert(
		wf_load_rlx(&kit->group->sleeping) == kit->proc[1].bit &&
			wf_load_rlx(&kit->proc[1].thread) == NULL,
		"the processor does not sleep as it did before");
	kit_close();
}

/* No thread can be made for the lowest sleeper: the next one is woken. */
void wake_other(void *arg)
{
	struct kit *kit = &stage.kit;

	(void)arg;
	kit_open(3, KIT_CAP);
	wf_store_rlx(&kit->proc[1].thread, NULL);
	wf_store_rlx(&kit->group->sleeping, kit->proc[1].bit);
	wf_store_rlx(&kit->group->coarse, true);
	wf_store_rlx(&stage.left, 1);
	kit_start(kit_work, &kit->thread[2], "P2");
	kit_submit(0);
	kit_finish();
	jobs_check(1);
	weft_sim_assert(
		wf_load_rlx(&kit->rt.threads) == 0, "a thread was made");
	kit_close();
}

/* Two wakers at once, and one processor may search: both jobs run. */
void wake_limit(void *arg)
{
	static size_t second = 1;

	(void)arg;
	kit_open(2, KIT_CAP);
	wf_store_rlx(&stage.kit.group->coarse, true);
	wf_store_rlx(&stage.left, 2);
	weft_sim_assert(stage.kit.group->max_searchers == 1,
		"more than one may search");
	kit_start_sleepers(2);
	kit_start(submit_one, &second, "outside");
	kit_submit(0);
	kit_finish();
	jobs_check(2);
	kit_close();
}

/* Time passes. */
static void nap(void)
{
	int64_t until = wf_os_now_ns() + 10 * WF_NS_PER_MS;
	_Atomic(uint32_t) never = 0;

	while (wf_os_now_ns() < until)
		(void)wf_os_futex_wait(&never, 0, until);
}

static void wake_often(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++)
		weft_sim_assert(!wf_wake_one(stage.kit.group),
			"a thread was made, or one that was refused counts");
}

/* Two wakers, and a system that has no thread for them. */
static void wake_refused(uint64_t most)
{
	kit_start(wake_often, NULL, "waker");
	wake_often(NULL);
	kit_join();
	weft_sim_assert(wf_load_rlx(&stage.kit.rt.thread_fails) <= most,
		"a thread was asked for without a pause");
}

/*
 * A thread that the system refuses is not asked for again before a pause is
 * over, and then by one waker; and when there are threads again one is made.
 */
void wake_pause(void *arg)
{
	struct kit *kit = &stage.kit;

	(void)arg;
	kit_open(2, KIT_CAP);
	wf_store_rlx(&kit->proc[1].thread, NULL);
	wf_store_rlx(&kit->group->sleeping, kit->proc[1].bit);
	wake_refused(2);
	nap();
	wake_refused(3);
	kit->rt.config.max_threads = 1;
	nap();
	weft_sim_assert(wf_wake_one(kit->group), "no thread was made");
	kit_quit();
	while (wf_add_rlx(&kit->rt.threads, 0) != 0)
		weft_sim_yield();
	wf_threads_reap(&kit->rt);
	kit_close();
}
