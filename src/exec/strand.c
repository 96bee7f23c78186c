/* SPDX-License-Identifier: MIT */
/*
 * exec/strand.c - tasks one after the other, over another executor, lock-free.
 *
 * TOP, one word:
 *	IDLE	(NULL) no task is pushed, and there is no RUNNER
 *	BUSY	no task is pushed; there is a runner
 *	a task	the newest that was pushed, linked by next_ down to the oldest;
 *		there is a runner
 *
 *	IDLE -> BUSY		begin: the submitter of a task becomes the
 *				runner, and puts its task aside
 *	BUSY, task -> task	push: the submitter of a task; the runner will
 *				find it
 *	task -> BUSY		take: the runner takes all that was pushed
 *	BUSY -> IDLE		rest: the runner's last access
 *
 * To be the runner is a right.  One thread has it as long as the word is not
 * IDLE.  Only the runner takes tasks, and uses ASIDE, a list of tasks in order.
 * A submitter that begins does not run tasks.  It passes the right on: it
 * submits the strand's own task, which is embedded in the strand, to `over'.
 * That task runs at most WF_STRAND_TURN tasks, leaves the others that it has
 * taken aside, and submits itself again, so that other tasks of `over' have
 * their turns.
 *
 * If `over' refuses the embedded task, the right stays with the runner.  In the
 * middle the runner goes on right there.  At the beginning it drops the task it
 * was called with, the only one aside, and returns the error; but it runs the
 * tasks that other submitters, which were told 0, have pushed meanwhile.
 *
 * Why it is right.
 *	(S1) Two tasks never run at once: only the runner runs tasks, and there
 *	     is one: begin needs IDLE, which only the runner's rest makes.
 *	(S2) No task is lost.  A pushed task stays in the word until it is
 *	     taken, since a task never becomes IDLE; a taken task stays aside
 *	     until it is run.  The runner rests only when no task is aside, and
 *	     the compare-and-swap of its rest fails if a task was pushed.
 *	(S3) No task runs twice: one exchange takes a list and leaves none
 *	     behind.  A push may find the word as it was although the list was
 *	     taken and its newest task pushed anew in between: it links to the
 *	     task that is the newest then, and reads no more of the list.
 *	(S4) Tasks run in the order of their begins and pushes: take reverses a
 *	     list, and happens when no task is aside; so the tasks aside are
 *	     older than all that are pushed.
 *	(S5) Each run happens before the next.  All writes of the word are
 *	     atomic read-modify-writes, so an acquire of the word synchronises
 *	     with every release before it; and `over' orders a submit before the
 *	     run.
 *
 * Destroy (exec/exec.h).  A last task, which goes through the strand like any
 * other, makes the leaver known.  From then on each runner that comes to rest
 * looks whether a fiber lives, and the first that finds none tells the leaver,
 * after its last access to the strand.  On an idle strand the leaver runs that
 * task itself: no thread may be left that runs `over'.
 *
 * Reads next: exec/strand_call.c, a section that its caller waits for.
 */
#include "exec/strand.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/limits.h"
#include "exec/exec.h"
#include "exec/foreign.h"
#include "exec/notice.h"
#include "queue/resubmit_check.h"

#define WF_STRAND_BUSY ((weft_task *)1)

struct strand {
	struct wf_exec exec;		/* must be first */
	weft_executor *over;		/* fixed */
	_Atomic(weft_task *) top;	/* TOP */

	/* By the runner. */
	weft_task task;			/* the embedded task */
	weft_task *aside;		/* the oldest; NULL: none */
	struct wf_notice *leaver;	/* NULL: none is known */
};

/* Begin: the caller is the runner, with task aside; or push: false. */
static bool begin_or_push(struct strand *s, weft_task *task)
{
	weft_task *top = wf_load_rlx(&s->top);

	for (;;) {
		if (top == NULL) {
			/*
			 * [pair: strand.rest] See all that the last runner did:
			 * it used the fields and the embedded task.
			 */
			if (!wf_cas_acq(&s->top, &top, WF_STRAND_BUSY))
				continue;
			task->next_ = NULL;
			s->aside = task;
			return true;
		}
		task->next_ = top == WF_STRAND_BUSY ? NULL : top;
		/* [pair: strand.push] The task before the word. */
		if (wf_cas_rel(&s->top, &top, task))
			return false;
	}
}

/* Runner: take all that was pushed, the oldest first; NULL: none. */
static weft_task *take(struct strand *s)
{
	weft_task *task, *below, *above = NULL;

	if (wf_load_rlx(&s->top) == WF_STRAND_BUSY)
		return NULL;
	/* [pair: strand.push] See the tasks. */
	task = wf_xchg_acq(&s->top, WF_STRAND_BUSY);
	for (; task != NULL; task = below) {
		below = task->next_;
		task->next_ = above;
		above = task;
	}
	return above;
}

/* Runner: run up to most tasks; tasks taken beyond that are left aside. */
wf_inline void run_some(struct strand *s, unsigned most)
{
	weft_task *task = s->aside, *next;

	for (; most > 0; most--) {
		if (task == NULL)
			task = take(s);
		if (task == NULL)
			break;
		next = task->next_;
		wf_resubmit_leave(task);
		task->run(task);
		task = next;
	}
	s->aside = task;
}

/*
 * Runner: run up to most tasks, then rest.  False: the caller is still the
 * runner, and there may be more tasks.  True: the strand may be gone.
 */
wf_inline bool run_turn(struct strand *s, unsigned most)
{
	weft_task *busy = WF_STRAND_BUSY;
	struct wf_notice *leaver;
	struct wf_thread v;

	wf_foreign_begin(&v, &s->exec.base);
	run_some(s, most);
	wf_foreign_end(&v);
	leaver = s->leaver;
	if (leaver != NULL && wf_exec_has_fibers(&s->exec))
		leaver = NULL;
	if (s->aside != NULL)
		return false;
	/*
	 * [pair: strand.rest] After all that this runner did.  Its last access
	 * if it succeeds.
	 */
	if (!wf_cas_rel(&s->top, &busy, NULL))
		return false;
	if (leaver != NULL)
		wf_notice_tell(leaver);
	return true;
}

/* Runner: run until the strand rests or another runner has the right. */
static void run_on(struct strand *s, unsigned most)
{
	weft_executor *over = s->over;

	while (!run_turn(s, most)) {
		if (over->submit(over, &s->task, WEFT_HINT_YIELD) == 0)
			return;
		most = WF_STRAND_TURN;
	}
}

static void strand_run(weft_task *task)
{
	run_on(wf_container_of(task, struct strand, task), WF_STRAND_TURN);
}

/* Runner that began with the task mine: `over' refused the strand's task. */
static wf_noinline int refused(struct strand *s, weft_task *mine, int err)
{
	s->aside = NULL;
	run_on(s, WF_STRAND_TURN);
	wf_resubmit_leave(mine);
	return err;
}

static int submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct strand *s = (struct strand *)e;
	weft_executor *over = s->over;
	int err;

	wf_resubmit_enter(task);
	if (!begin_or_push(s, task))
		return 0;
	err = over->submit(over, &s->task, hint);
	return wf_likely(err == 0) ? 0 : refused(s, task, err);
}

weft_executor *wf_strand_below(weft_executor *e)
{
	return e->submit == submit ? ((struct strand *)e)->over : NULL;
}

/* The last task; in the leaver's frame. */
struct last {
	weft_task task;			/* must be first */
	struct strand *strand;
	struct wf_notice leaver;
};

static void last_run(weft_task *task)
{
	struct last *l = (struct last *)task;

	l->strand->leaver = &l->leaver;
}

static wf_may_switch int destroy(struct wf_exec *e)
{
	struct strand *s = (struct strand *)e;
	struct last l = { { .run = last_run }, .strand = s };

	wf_notice_open(&l.leaver);
	if (begin_or_push(s, &l.task))
		run_on(s, 1);
	wf_notice_wait(&l.leaver);
	wf_exec_close(&s->exec);
	return 0;
}

int weft_strand_create(weft_executor **e, weft_executor *over)
{
	struct wf_exec *made;
	struct strand *s;
	int err = wf_exec_open(&made, sizeof(*s), submit, destroy);

	if (err)
		return err;
	s = (struct strand *)made;
	s->over = over;
	s->task.run = strand_run;
	*e = &made->base;
	return 0;
}
