/* SPDX-License-Identifier: MIT */
/*
 * sim/user.c - the calls that a simulated program makes to the simulator.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/fiber.h>
#include <weft/sim.h>

#include "os/os.h"
#include "sched/global.h"
#include "sched/proc.h"
#include "sched/thread.h"
#include "sim/engine.h"
#include "sim/os.h"
#include "sim/trace.h"

#define WF_SIM_USER ((uintptr_t)__builtin_return_address(0))

bool weft_sim_active(void)
{
	return wf_sim_on();
}

unsigned weft_sim_either(unsigned n)
{
	unsigned value;

	weft_sim_assert(n > 0 && n <= UINT16_MAX, "weft_sim_either(%u)", n);
	value = wf_sim_on() ? wf_sim_choose(WF_SIM_EITHER, n) : 0;
	if (wf_sim_on() && wf_sim->tracing)
		wf_sim_trace_note("either", WF_SIM_USER, " %u of %u", value, n);
	return value;
}

bool weft_sim_fault(const char *point, unsigned per_fault)
{
	uint32_t saved;
	bool fault;

	if (!wf_sim_on() || per_fault == 0)
		return false;
	saved = wf_sim->faults;
	wf_sim->faults = per_fault;
	fault = wf_sim_fault_now();
	wf_sim->faults = saved;
	if (fault && wf_sim->tracing)
		wf_sim_trace_note("fault", WF_SIM_USER, " %s", point);
	return fault;
}

void weft_sim_os_faults(unsigned per_fault)
{
	if (wf_sim_on())
		wf_sim->faults = per_fault;
}

/* Whether tasks wait on the processor of this thread, or for its group. */
static bool work_here(void)
{
	struct wf_thread *t = wf_os_self();

	while (t != NULL && t->foreign)
		t = t->host;
	if (t == NULL)
		return false;
	return wf_proc_backlog(t->proc) > 0 ||
		wf_global_len(t->proc->group) > 0;
}

void weft_sim_quiesce(void)
{
	if (!wf_sim_on())
		return;
	for (;;) {
		wf_sim_quiesce();
		if (!work_here())
			return;
		weft_yield();
	}
}

void weft_sim_assert(bool cond, const char *fmt, ...)
{
	char text[256];
	va_list args;

	if (cond)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (wf_sim != NULL && wf_sim->running)
		wf_sim_fail("assertion", NULL, "%s", text);
	fprintf(stderr, "weft_sim_assert: %s\n", text);
	abort();
}

void weft_sim_assert_eventually(
	bool (*cond)(void *arg), void *arg, int64_t ns, const char *what)
{
	int64_t end;

	if (!wf_sim_on())
		return;
	end = wf_sim->now_ns > INT64_MAX - ns ? INT64_MAX : wf_sim->now_ns + ns;
	for (;;) {
		/* A point, so that deadlines that have passed expire. */
		wf_sim_os_call("eventually", WF_SIM_USER);
		weft_sim_quiesce();
		if (cond(arg))
			return;
		if (wf_sim->now_ns >= end || wf_sim->timed == 0)
			wf_sim_fail("eventually", NULL,
				"%s does not come true "
				"within %lld ns",
				what, (long long)ns);
		(void)wf_sim_sleep(
			NULL, wf_sim->next_ns < end ? wf_sim->next_ns : end);
	}
}

int weft_sim_thread(void (*fn)(void *), void *arg, const char *name)
{
	if (!wf_sim_on())
		return -EPERM;
	wf_sim_os_call("thread", WF_SIM_USER);
	return wf_sim_thread_start(fn, arg, name);
}

int weft_sim_join(int thread)
{
	if (!wf_sim_on() || thread < 0)
		return -EINVAL;
	wf_sim_os_call("join", WF_SIM_USER);
	return wf_sim_thread_join((uint32_t)thread);
}

void weft_sim_yield(void)
{
	if (wf_sim_on())
		wf_sim_point(WF_SIM_USER, true);
}

void weft_sim_name(const void *p, size_t bytes, const char *name)
{
	if (wf_sim_on())
		wf_sim_trace_name(p, bytes, name);
}
