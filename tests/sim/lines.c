/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/lines.c - which cache lines does a submit write?  None that another
 * worker's submit writes too (R2.12): neither wait_idle nor anything else keeps
 * a count that workers share.
 *
 * Two workers submit at the same time, to their own runtime, under seeded
 * schedules.  Every write between the begin and the end of a submit goes
 * through the simulator, and from there through the functions below, which note
 * the line and the thread.
 */
#include <stdio.h>
#include <stdlib.h>

#include <weft/sim.h>
#include <weft/weft.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "sim/engine.h"
#include "sim/memory.h"

/* Nothing here is part of the simulated program. */
#define aside __attribute__((no_sanitize("thread")))

enum { WORKERS = 2, SUBMITS = 12, LINES = 4096 };

/* ------------------------------------------------------------------------ */
/* Lines, and the threads that wrote them. */

static struct line {
	uintptr_t line;
	uint32_t thread;
} * lines; /* LINES of them; outside of what a run puts back */
static size_t *line_count;
static bool *recording; /* by number of thread */

static aside void note(const volatile void *p)
{
	uint32_t thread = wf_sim->current->id;
	uintptr_t line = (uintptr_t)p / WF_FALSE_SHARING;

	if (!recording[thread])
		return;
	for (size_t i = 0; i < *line_count; i++)
		if (lines[i].line == line && lines[i].thread == thread)
			return;
	if (*line_count < LINES)
		lines[(*line_count)++] = (struct line){ line, thread };
}

/* Of what was written by both; and how many lines each wrote. */
static aside size_t shared_lines(size_t *each)
{
	size_t shared = 0;

	*each = *line_count / WORKERS;
	for (size_t i = 0; i < *line_count; i++)
		for (size_t j = 0; j < i; j++)
			shared += lines[i].line == lines[j].line;
	return shared;
}

/* What the linker puts before the simulator's own, and those. */
void __wrap_wf_sim_write(const void *p, size_t bytes, uintptr_t pc);
void __wrap_wf_sim_store(
	volatile void *p, unsigned size, uint64_t v, int mo, uintptr_t pc);
uint64_t __wrap_wf_sim_rmw(volatile void *p, unsigned size, enum wf_sim_rmw op,
	uint64_t v, int mo, uintptr_t pc);
bool __wrap_wf_sim_cas(volatile void *p, unsigned size, uint64_t *expected,
	uint64_t v, int mo, int fail_mo, bool weak, uintptr_t pc);
void __real_wf_sim_write(const void *p, size_t bytes, uintptr_t pc);
void __real_wf_sim_store(
	volatile void *p, unsigned size, uint64_t v, int mo, uintptr_t pc);
uint64_t __real_wf_sim_rmw(volatile void *p, unsigned size, enum wf_sim_rmw op,
	uint64_t v, int mo, uintptr_t pc);
bool __real_wf_sim_cas(volatile void *p, unsigned size, uint64_t *expected,
	uint64_t v, int mo, int fail_mo, bool weak, uintptr_t pc);

aside void __wrap_wf_sim_write(const void *p, size_t bytes, uintptr_t pc)
{
	note(p);
	__real_wf_sim_write(p, bytes, pc);
}

aside void __wrap_wf_sim_store(
	volatile void *p, unsigned size, uint64_t v, int mo, uintptr_t pc)
{
	note(p);
	__real_wf_sim_store(p, size, v, mo, pc);
}

aside uint64_t __wrap_wf_sim_rmw(volatile void *p, unsigned size,
	enum wf_sim_rmw op, uint64_t v, int mo, uintptr_t pc)
{
	note(p);
	return __real_wf_sim_rmw(p, size, op, v, mo, pc);
}

aside bool __wrap_wf_sim_cas(volatile void *p, unsigned size,
	uint64_t *expected, uint64_t v, int mo, int fail_mo, bool weak,
	uintptr_t pc)
{
	note(p);
	return __real_wf_sim_cas(p, size, expected, v, mo, fail_mo, weak, pc);
}

static aside void record(bool on)
{
	recording[wf_sim->current->id] = on;
}

/* ------------------------------------------------------------------------ */
/* Two workers, each in a task that submits others. */

static struct worker {
	weft_task task wf_aligned(WF_FALSE_SHARING);
	weft_task others[SUBMITS];
	_Atomic(uint64_t) *common; /* NULL: the library's own lines only */
} workers[WORKERS];

static weft_rt *rt;
static _Atomic(uint32_t) here, ran;
static _Atomic(uint64_t) common;

static void other_runs(weft_task *task)
{
	(void)task;
	(void)wf_add_rlx(&ran, 1);
}

/* Both are running: so they are on two workers. */
static void worker_runs(weft_task *task)
{
	static const weft_hint hints[] = { WEFT_HINT_DEFAULT, WEFT_HINT_NEXT,
		WEFT_HINT_YIELD };
	struct worker *w = (struct worker *)task;

	(void)wf_add_rlx(&here, 1);
	while (wf_load_rlx(&here) < WORKERS)
		weft_sim_yield();
	for (size_t i = 0; i < SUBMITS; i++) {
		int err;

		w->others[i].run = other_runs;
		record(true);
		err = weft_submit(
			weft_rt_executor(rt), &w->others[i], hints[i % 3]);
		if (w->common != NULL)
			(void)wf_add_rlx(w->common, 1);
		record(false);
		weft_sim_assert(err == 0, "submit says %d", err);
	}
}

static void play(void *arg)
{
	/* A line of slots for each. */
	weft_config cfg = { .workers = WORKERS, .local_capacity = 16 };
	size_t each;

	*line_count = 0;
	weft_sim_assert(weft_rt_start(&rt, &cfg) == 0, "no runtime");
	for (int i = 0; i < WORKERS; i++) {
		workers[i].task.run = worker_runs;
		workers[i].common = arg;
		weft_sim_assert(
			weft_submit(weft_rt_executor(rt), &workers[i].task,
				WEFT_HINT_DEFAULT) == 0,
			"refused");
	}
	weft_sim_assert(weft_rt_wait_idle(rt, WEFT_FOREVER) == 0, "not idle");
	weft_sim_assert(wf_load_rlx(&ran) == WORKERS * SUBMITS,
		"idle, and %u have run", wf_load_rlx(&ran));
	weft_sim_assert(weft_rt_stop(rt, WEFT_FOREVER) == 0, "does not stop");
	weft_sim_assert(shared_lines(&each) == 0, "a line is written by both");
	weft_sim_assert(each > 1, "nothing was written");
}

static bool explore(const char *name, void *arg, weft_sim_report *report)
{
	const weft_sim_opts opts = {
		.name = name, .schedules = 300, .steps = 20000, .seed = 1,
		.flags = WEFT_SIM_ECONOMY
	};

	if (weft_sim_explore(&opts, play, arg, report) < 0) {
		printf("lines: %s: the simulator does not run\n", name);
		exit(1);
	}
	return report->failed;
}

int main(void)
{
	weft_sim_report report;

	lines = calloc(LINES, sizeof(*lines));
	line_count = calloc(1, sizeof(*line_count));
	recording = calloc(WF_SIM_THREADS, sizeof(*recording));
	if (lines == NULL || line_count == NULL || recording == NULL)
		return 1;
	if (explore("lines/submit", NULL, &report)) {
		printf("lines: %s: %s\n", report.oracle, report.message);
		return 1;
	}
	printf("lines: %llu schedules, no line is written by both workers\n",
		(unsigned long long)report.schedules);
	/* And it would be seen: one count that both raise. */
	if (!explore("lines/common", (void *)&common, &report)) {
		printf("lines: a shared count was not seen\n");
		return 1;
	}
	return 0;
}
