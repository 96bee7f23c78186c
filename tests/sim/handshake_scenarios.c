/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/handshake_scenarios.c - whenever thieves open a queue and the
 * monitor closes it, each task is taken exactly once (sched/handshake.h).
 */
#include "sched_kit.h"

#include "sched/handshake.h"

/* Where the jobs of processor 0 are. */
enum place { QUEUE, SLOT, YIELDERS };

static void fill(enum place where, size_t n)
{
	struct wf_proc *p = &stage.kit.proc[0];

	for (size_t i = 0; i < n; i++) {
		weft_task *task = job_make(i, NULL);

		if (where == QUEUE)
			wf_push(p, wf_entry_of(task));
		else if (where == SLOT)
			wf_push_next(p, wf_entry_of(task));
		else
			wf_push_yield(p, task);
	}
	wf_store_rlx(&stage.left, (uint32_t)n);
	wf_store_rlx(&p->push_flags, true);
}

/* n picks of processor 0. */
static void hold(unsigned n)
{
	while (n-- > 0) {
		weft_task *task = wf_pick_quick(&stage.kit.proc[0]);

		if (task != NULL)
			kit_run_task(task);
	}
}

static void hold_one(void *arg)
{
	(void)arg;
	hold(1);
}

static void hold_two(void *arg)
{
	(void)arg;
	hold(2);
}

static void hold_three(void *arg)
{
	(void)arg;
	hold(3);
}

static void rob_once(void *arg)
{
	kit_rob(arg);
}

static void rob_twice(void *arg)
{
	kit_rob(arg);
	kit_rob(arg);
}

static void close_once(void *arg)
{
	(void)arg;
	wf_handshake_close(&stage.kit.proc[0]);
}

/* All threads are done: run what is left, and see that all ran. */
static void end(uint32_t procs, size_t jobs)
{
	kit_join();
	kit_drain(procs);
	jobs_check(jobs);
	weft_sim_assert(wf_load_rlx(&stage.kit.proc[0].thieves) == 0,
		"a thief is counted that has gone");
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* A holder that does not know yet, and a thief who opens. */

static void meet(enum place where, size_t jobs)
{
	kit_open(2, KIT_CAP);
	fill(where, jobs);
	kit_start(hold_two, NULL, "holder");
	kit_start(rob_once, &stage.kit.proc[1], "thief");
	end(2, jobs);
}

void handshake_queue(void *arg)
{
	(void)arg;
	meet(QUEUE, 2);
}

void handshake_slot(void *arg)
{
	(void)arg;
	meet(SLOT, 1);
}

void handshake_yielders(void *arg)
{
	(void)arg;
	meet(YIELDERS, 2);
}

/* ------------------------------------------------------------------------ */
/* It is open; the thief takes, somebody closes, the holder takes alone. */

static void meet_closer(enum place where, size_t jobs)
{
	kit_open(2, KIT_CAP);
	fill(where, jobs);
	weft_sim_assert(
		wf_handshake_open(&stage.kit.proc[0]), "it is not open");
	kit_start(hold_two, NULL, "holder");
	kit_start(rob_once, &stage.kit.proc[1], "thief");
	kit_start(close_once, NULL, "closer");
	end(2, jobs);
}

void handshake_close_queue(void *arg)
{
	(void)arg;
	meet_closer(QUEUE, 2);
}

void handshake_close_slot(void *arg)
{
	(void)arg;
	meet_closer(SLOT, 1);
}

void handshake_close_yielders(void *arg)
{
	(void)arg;
	meet_closer(YIELDERS, 2);
}

/*
 * The thief has seen it open; it is closed, the holder takes alone, and it is
 * opened again before the thief looks for the second time.
 */
static void close_and_open(void *arg)
{
	(void)arg;
	wf_handshake_close(&stage.kit.proc[0]);
	(void)wf_handshake_open(&stage.kit.proc[0]);
}

void handshake_second_look(void *arg)
{
	(void)arg;
	kit_open(2, KIT_CAP);
	fill(YIELDERS, 3);
	weft_sim_assert(
		wf_handshake_open(&stage.kit.proc[0]), "it is not open");
	kit_start(hold_one, NULL, "holder");
	kit_start(rob_once, &stage.kit.proc[1], "thief");
	kit_start(close_and_open, NULL, "closer");
	end(2, 3);
}

/* Opened, closed and opened again, wherever the jobs are. */
void handshake_reopen(void *arg)
{
	enum place where = (enum place)weft_sim_either(3);
	size_t jobs = where == SLOT ? 1 : 4;

	(void)arg;
	kit_open(2, KIT_CAP);
	fill(where, jobs);
	kit_start(hold_three, NULL, "holder");
	kit_start(rob_twice, &stage.kit.proc[1], "thief");
	kit_start(close_once, NULL, "closer");
	end(2, jobs);
}

/*
 * The second thief may find it open, and has then nothing but that word to know
 * by what the holder did.
 */
void handshake_two_thieves(void *arg)
{
	enum place where = weft_sim_either(2) ? QUEUE : YIELDERS;

	(void)arg;
	kit_open(3, KIT_CAP);
	fill(where, 4);
	kit_start(hold_two, NULL, "holder");
	kit_start(rob_once, &stage.kit.proc[1], "thief");
	kit_start(rob_once, &stage.kit.proc[2], "second thief");
	end(3, 4);
}

/* The holder shuffles its queue after a theft, and thieves come again. */
void handshake_shuffle(void *arg)
{
	struct wf_proc *p;

	(void)arg;
	kit_open(3, KIT_CAP);
	fill(QUEUE, 4);
	p = &stage.kit.proc[0];
	wf_store_rlx(&p->push_flags, 0);
	wf_store_rlx(&p->group->gate_open, true);
	wf_store_rlx(&p->to_shuffle, true);
	agenda_set(p, 1, 1);
	kit_start(hold_two, NULL, "holder");
	kit_start(rob_once, &stage.kit.proc[1], "thief");
	kit_start(rob_once, &stage.kit.proc[2], "second thief");
	end(3, 4);
}

/* ------------------------------------------------------------------------ */
/* The slot, when the holder puts something into it. */

static void push_and_hold(void *arg)
{
	size_t n = *(size_t *)arg;

	for (size_t i = 0; i < n; i++)
		wf_push_next(
			&stage.kit.proc[0], wf_entry_of(job_make(i, NULL)));
	hold((unsigned)n);
}

static void meet_in_slot(size_t jobs)
{
	kit_open(2, KIT_CAP);
	wf_store_rlx(&stage.left, (uint32_t)jobs);
	weft_sim_assert(
		wf_handshake_open(&stage.kit.proc[0]), "it is not open");
	kit_start(push_and_hold, &jobs, "holder");
	kit_start(rob_twice, &stage.kit.proc[1], "thief");
	end(2, jobs);
}

void slot_push(void *arg)
{
	(void)arg;
	meet_in_slot(1);
}

/* What it displaces goes into the queue. */
void slot_displace(void *arg)
{
	(void)arg;
	meet_in_slot(2);
}
