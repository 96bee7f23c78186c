/* SPDX-License-Identifier: MIT */
/*
 * exec/strand.c - tasks one after the other, over another executor, lock-free.
 *
 * TOP, one word:
 *	IDLE	(NULL) nothing is pushed, and nobody runs or will run the strand
 *	BUSY	nothing is pushed; there is a RUNNER
 *	a task	the newest that was pushed, linked by next_ down to the oldest;
 *		there is a runner
 *
 *	IDLE -> BUSY		begin: who submits a task is the runner, and
 *				puts it aside
 *	BUSY, task -> task	push: who submits a task; the runner will come
 *				to it
 *	task -> BUSY		take: the runner takes all that was pushed
 *	BUSY -> IDLE		rest: the runner's last access
 *
 * The runner is a right, of which there is one as long as the word is not IDLE.
 * Only who has it takes, and touches what is ASIDE: a list of tasks in order.
 * Who begins does not run tasks but hands the right on, by submitting the
 * strand's own task, which is embedded in it, to `over'.  That one runs at most
 * WF_STRAND_TURN tasks, leaves what it has taken beyond that aside, and submits
 * itself again, so that others of `over' have their turns.
 *
 * If `over' refuses the embedded task, the right stays where it is.  In the
 * middle the runner goes on right there.  At the beginning it drops the task it
 * was called with, which is all that is aside, and says so; but what others
 * have pushed meanwhile, who were told 0, it runs.
 *
 * Why it is right.
 *	(S1) Two tasks never run at once: only the runner runs any, and there is
 *	     one: begin needs IDLE, which only the runner's rest makes.
 *	(S2) None is lost.  What was pushed stays in the word until it is taken,
 *	     since a task never becomes IDLE; what was taken stays aside until
 *	     it is run.  The runner rests only when nothing is aside, and the
 *	     compare-and-swap of its rest fails if something was pushed.
 *	(S3) None runs twice: one exchange takes a list and leaves none behind.
 *	     A push that finds the word as it was, though the list was taken
 *	     and a task of it was pushed anew in between, links to what is the
 *	     newest then: no more of the list is its business.
 *	(S4) Their order is that of their begins and pushes: a list is turned
 *	     round when it is taken, which happens when nothing is aside; so
 *	     what is aside is older than all that is pushed.
 *	(S5) Each happens before the next.  All that writes the word are atomic
 *	     read-modify-writes, so who acquires it has synchronised with each
 *	     who released it before; and `over' orders a submit before the run.
 *
 * Destroy (exec/exec.h).  The leaver is told by a last task that goes through
 * the strand like any other; from then on each runner that comes to rest looks
 * whether a fiber lives, and the first that finds none tells, after its last
 * access.  On an idle strand the leaver runs that task itself, since `over' may
 * be one that nobody runs any more.
 *
 * Reads next: wait/wait.h, and how an object is waited on.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/limits.h"
#include "exec/exec.h"
#include "queue/resubmit_check.h"
#include "exec/foreign.h"

#define WF_STRAND_BUSY ((weft_task *)1)

struct strand {
	struct wf_exec exec;		/* must be first */
	weft_executor *over;		/* fixed */
	_Atomic(weft_task *) top;	/* TOP */

	/* By the runner. */
	weft_task task;			/* that runs us on `over' */
	weft_task *aside;		/* the oldest; NULL: none */
	struct wf_leaver *leaver;	/* NULL: none is known */
};

/* Begin, and have the right and task aside; or push, and return false. */
static bool begin_or_push(struct strand *s, weft_task *task)
{
	weft_task *top = wf_load_rlx(&s->top);

	for (;;) {
		if (top == NULL) {
			/*
			 * [pair: strand.rest] All that the last runner did, who
			 * had the fields and the embedded task in hand.
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

/* Runner: all that was pushed, the oldest first; NULL: none. */
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

/* Runner: run up to most tasks; what was taken beyond that is left aside. */
wf_inline void run_some(struct strand *s, unsigned most)
{
	weft_task *task = s->aside, *next;

	for (; most > 0; most--) {
		if (task == NULL)
			task = take(s);
		if (task == NULL)
			break;
		next = task->next_;
		wf_twice_leave(task);
		task->run(task);
		task = next;
	}
	s->aside = task;
}

/*
 * Runner: up to most tasks, and then rest.  False: there is more to run, or may
 * be.  True: the strand is not ours any more.
 */
wf_inline bool run_turn(struct strand *s, unsigned most)
{
	weft_task *busy = WF_STRAND_BUSY;
	struct wf_leaver *leaver;
	struct wf_thread v;

	wf_visit_begin(&v, &s->exec.base);
	run_some(s, most);
	leaver = s->leaver;
	/* In the visit, where it cannot switch. */
	if (leaver != NULL && wf_exec_has_fibers(&s->exec))
		leaver = NULL;
	wf_visit_end(&v);
	if (s->aside != NULL)
		return false;
	/*
	 * [pair: strand.rest] Behind all that we did.  The last access, if it
	 * succeeds.
	 */
	if (!wf_cas_rel(&s->top, &busy, NULL))
		return false;
	if (leaver != NULL)
		wf_leaver_tell(leaver);
	return true;
}

/* Runner: until the strand rests or somebody else is the runner. */
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

/* Runner, since `over' said err to us, who began with mine. */
static wf_noinline int refused(struct strand *s, weft_task *mine, int err)
{
	s->aside = NULL;
	run_on(s, WF_STRAND_TURN);
	wf_twice_leave(mine);
	return err;
}

int wf_strand_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct strand *s = (struct strand *)e;
	weft_executor *over = s->over;
	int err;

	wf_twice_enter(task);
	if (!begin_or_push(s, task))
		return 0;
	err = over->submit(over, &s->task, hint);
	return wf_likely(err == 0) ? 0 : refused(s, task, err);
}

int weft_strand_create(weft_executor **e, weft_executor *over)
{
	struct wf_exec *made;
	struct strand *s;
	int err = wf_exec_open(&made, sizeof(*s), wf_strand_submit);

	if (err)
		return err;
	s = (struct strand *)made;
	s->over = over;
	s->task.run = strand_run;
	*e = &made->base;
	return 0;
}

/* The last task; in the frame of who destroys. */
struct last {
	weft_task task;			/* must be first */
	struct strand *strand;
	struct wf_leaver leaver;
};

static void last_run(weft_task *task)
{
	struct last *l = (struct last *)task;

	l->strand->leaver = &l->leaver;
}

wf_may_switch int wf_strand_destroy(weft_executor *e)
{
	struct strand *s = (struct strand *)e;
	struct last l = { { .run = last_run }, .strand = s };

	wf_leaver_begin(&l.leaver);
	if (begin_or_push(s, &l.task))
		run_on(s, 1);
	wf_leaver_wait(&l.leaver);
	wf_exec_close(&s->exec);
	return 0;
}
