/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/call_scenarios.c - calls of a strand: each section runs once and
 * alone, its caller returns after it, and the runner does not touch the
 * caller's frame once the caller can return.
 *
 * The callers write over their stacks as soon as they have returned: a runner
 * that still uses a frame there is in a race.
 */
#include "sim/exec_kit.h"

static struct {
	struct desk desk;
	weft_executor *strand;
	int inside;
	int sections;
	_Atomic(int) refused;
} s;

/* The desk ends when n callers have returned. */
static void open_on(weft_executor *over, uint32_t n)
{
	int err;

	desk_open(&s.desk, n);
	err = weft_strand_create(&s.strand, over);
	weft_sim_assert(err == 0, "no strand: %d", err);
}

/* n sections have run or were refused, and the strand is idle. */
static void close_after(int n)
{
	int err = weft_executor_destroy(s.strand);

	weft_sim_assert(err == 0, "destroy says %d", err);
	weft_sim_assert(s.sections + wf_load_rlx(&s.refused) == n,
		"%d sections", s.sections);
}

static void section(void *arg)
{
	int *mine = arg;

	weft_sim_assert(s.inside++ == 0, "two sections at once");
	s.sections++;
	(*mine)++;
	s.inside--;
}

static void call(void *arg)
{
	int *mine = duo_watched(&(int){ 0 });
	int err;

	(void)arg;
	err = weft_strand_call(s.strand, section, mine);
	duo_scribble();
	weft_sim_assert(err == 0 || (err == -EBUSY && s.desk.refuses),
		"the call says %d", err);
	weft_sim_assert(*mine == (err == 0), "%d sections of mine", *mine);
	if (err)
		(void)wf_add_rlx(&s.refused, 1);
	desk_leave(&s.desk);
}

/* ------------------------------------------------------------------------ */
/* By threads. */

static void call_by_two_threads(weft_executor *over, unsigned servers)
{
	int one, other;

	open_on(over, 2);
	one = duo_thread(call, NULL, "one");
	other = duo_thread(call, NULL, "other");
	if (servers > 0)
		desk_run(&s.desk, servers);
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	close_after(2);
}

void call_threads(void *arg)
{
	(void)arg;
	call_by_two_threads(&s.desk.executor, 1);
}

/* One server may still be in the strand when the other runs it again. */
void call_servers(void *arg)
{
	(void)arg;
	call_by_two_threads(&s.desk.executor, 2);
}

/* One caller may run the section of the other. */
void call_inline(void *arg)
{
	(void)arg;
	call_by_two_threads(weft_inline(), 0);
}

/* Refused, a caller runs the section of the other, if that was accepted. */
void call_refused(void *arg)
{
	(void)arg;
	s.desk.refuses = true;
	call_by_two_threads(&s.desk.executor, 1);
}

/* ------------------------------------------------------------------------ */
/* By fibers. */

static void *call_in_fiber(void *arg)
{
	weft_fiber *self = weft_self();

	call(arg);
	duo_check_here(self);
	return arg;
}

/* Fibers of a runtime, and the strand elsewhere. */
void call_fibers(void *arg)
{
	(void)arg;
	duo_open(0);
	open_on(&s.desk.executor, 2);
	duo_root(0, call_in_fiber, NULL);
	duo_root(1, call_in_fiber, NULL);
	duo_start();
	desk_run(&s.desk, 1);
	duo_join();
	duo_close();
	close_after(2);
}

/* Fibers of a runtime, and the strand over it; or over the inline executor. */
void call_rt(void *arg)
{
	duo_open(DUO_COARSE);
	open_on(arg == NULL ? &duo->rt.executor : weft_inline(), 2);
	duo_root(0, call_in_fiber, NULL);
	duo_root(1, call_in_fiber, NULL);
	duo_run();
	close_after(2);
	duo_close();
}

static void *call_on_desk(void *arg)
{
	weft_fiber *self = weft_self();

	call(arg);
	desk_check_here(&s.desk.executor, self);
	desk_leave(&s.desk);
	return arg;
}

/* Fibers on the executor that runs the strand, too. */
void call_foreign(void *arg)
{
	(void)arg;
	open_on(&s.desk.executor, 4);
	desk_root(&s.desk, call_on_desk, NULL);
	desk_root(&s.desk, call_on_desk, NULL);
	desk_run(&s.desk, 2);
	close_after(2);
}

static void *call_cancelled(void *arg)
{
	duo_cancel(weft_self());
	return call_in_fiber(arg);
}

/* A cancelled fiber waits for its section all the same. */
void call_cancel(void *arg)
{
	(void)arg;
	duo_open(0);
	open_on(&s.desk.executor, 1);
	duo_root(0, call_cancelled, NULL);
	duo_start();
	desk_run(&s.desk, 1);
	duo_join();
	duo_close();
	close_after(1);
}
