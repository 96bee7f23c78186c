/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/lockfree_scenarios.c - the lock-free mode: a worker, or who submits
 * from outside, is stopped at any point, and all else goes on.
 *
 * What it holds back is what weft/policy.h says: the task it runs, one batch
 * out of a queue, and one processor that it was about to wake.  So there are
 * three workers, of which one is always left.
 *
 * The body is never stopped.  It looks on as the monitor does, by a clock of
 * its own; nobody sleeps with a deadline.  At the end it wakes whoever sleeps
 * and gives each something to run, so that it sees that it is the end.  What
 * the stopped one had in hand is run when it goes on.
 */
#include "policy_kit.h"

enum { WORKERS = 3, LOOK_EVERY = 8, PATIENCE = 1400, LAST = 600, CALLS = 24 };

static struct {
	int64_t now_ns;
	unsigned waits;
	_Atomic(uint32_t) ran;
	_Atomic(bool) posted; /* all that are submitted from inside */
	_Atomic(bool) over;
	_Atomic(uint32_t) gone; /* workers */
	weft_task call[CALLS];	/* to see that it is over */
} s;

/* As kit_work; it goes without a word to anybody. */
static void work(void *arg)
{
	struct wf_thread *t = arg;
	weft_task *task;

	wf_os_self_set(t);
	while (!wf_load_rlx(&s.over) && (task = wf_pick(t)) != NULL)
		kit_run_task(task);
	wf_os_self_set(NULL);
	(void)wf_add_rlx(&s.gone, 1);
}

static void count(struct job *j)
{
	(void)j;
	(void)wf_add_rlx(&s.ran, 1);
}

static void open_all(const struct plan *plan)
{
	kit_open_plan(plan, KIT_CAP);
	for (size_t i = 0; i < KIT_JOBS; i++)
		stage.job[i].then = count;
	s.now_ns = wf_os_now_ns();
	for (uint32_t i = 0; i < WORKERS; i++)
		kit_start(work, &stage.kit.thread[i], "worker");
}

/* Let others run; now and then have a look. */
static void pass_time(void)
{
	weft_sim_yield();
	if (++s.waits % LOOK_EVERY != 0)
		return;
	s.now_ns += WF_NS_PER_MS;
	(void)wf_monitor_look(&stage.kit.rt, s.now_ns, WF_NS_PER_MS);
}

/* Until n jobs have run, which they will whoever stops. */
static void wait_for(uint32_t n)
{
	while (wf_load_rlx(&s.ran) < n)
		pass_time();
}

static void do_nothing(weft_task *task)
{
	(void)task;
}

/* One may sleep whose waker has stopped: all are woken, come what may. */
static void call_all(weft_task *call)
{
	struct wf_batch batch = { 0 };

	call->run = do_nothing;
	wf_batch_add(&batch, call);
	wf_submit_outside(&stage.kit.rt, &batch);
	for (uint32_t i = 0; i < WORKERS; i++)
		wf_parker_wake(&stage.kit.thread[i].parker);
}

static void close_all(size_t jobs)
{
	unsigned waits = 0;

	wf_store_rlx(&s.over, true);
	/* Those who are gone look awake: nothing must be left to them. */
	wf_store_rlx(&stage.kit.group->coarse, true);
	while (wf_load_rlx(&s.gone) < WORKERS && waits < LAST) {
		if (waits % (LAST / CALLS) == 0)
			call_all(&s.call[waits / (LAST / CALLS)]);
		weft_sim_yield();
		waits++;
	}
	kit_join();
	kit_drain(WORKERS);
	jobs_check(jobs);
	kit_close();
}

/* ------------------------------------------------------------------------ */

static void submit_third(void *arg)
{
	(void)arg;
	kit_submit(2);
}

/* Each goes to another inbox: one that stops has one of them at most. */
void lockfree_outside(void *arg)
{
	open_all(arg);
	kit_start(submit_third, NULL, "outside");
	kit_submit(0);
	kit_submit(1);
	/* The third may be its submitter's still. */
	wait_for(1);
	kit_submit(3);
	kit_submit(4);
	kit_submit(5);
	/* Two of those that are left may have been in one inbox. */
	wait_for(6 - 3);
	close_all(6);
}

static void submit_more(struct job *j)
{
	for (size_t i = 1; i <= 6; i++) {
		int err = weft_submit(&stage.kit.rt.executor,
			job_make(i, count), (weft_hint)weft_sim_either(2));

		weft_sim_assert(err == 0, "job %zu is refused: %d", i, err);
	}
	wf_store_rlx(&s.posted, true);
	count(j);
}

/*
 * More than its queue holds.  If it is stopped when it has submitted them all,
 * it has itself in hand, or a batch of two; and so has a thief.
 */
void lockfree_inside(void *arg)
{
	open_all(arg);
	stage.job[0].then = submit_more;
	kit_submit(0);
	while (!wf_load_rlx(&s.posted) && s.waits < PATIENCE)
		pass_time();
	if (wf_load_rlx(&s.posted)) {
		wait_for(7 - 2);
		close_all(7);
	} else {
		close_all(1);
	}
}
