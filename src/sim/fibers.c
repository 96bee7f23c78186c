/* SPDX-License-Identifier: MIT */
/*
 * sim/fibers.c - describe the fibers of a deadlock.
 */
#include "sim/fibers.h"

#include <stdio.h>

#include <weft/fiber.h>

#include "base/units.h"
#include "sched/runtime.h"
#include "sched/thread.h"
#include "sim/engine.h"
#include "sim/trace.h"

struct lines {
	char *text;
	size_t bytes, at;
};

static void add(struct lines *l, const char *before, const char *what)
{
	if (l->at < l->bytes)
		l->at += (size_t)snprintf(l->text + l->at, l->bytes - l->at,
			"%s%s", before, what);
}

static void describe(weft_fiber *f, void *arg)
{
	static const char *const states[] = {
		[WEFT_FIBER_RUNNABLE] = " is ready",
		[WEFT_FIBER_RUNNING] = " runs",
		[WEFT_FIBER_WAITING] = " waits",
		[WEFT_FIBER_DONE] = " is done",
	};
	uint32_t state = wf_load_rlx(&f->state);
	struct lines *l = arg;
	weft_fiber_info info;

	if (!(state & WF_FIBER_LIVE) || (state & WF_FIBER_DONE))
		return;
	weft_fiber_look(f, &info);
	add(l, "  fiber ", info.name ? info.name : "without a name");
	if (info.entry != NULL)
		add(l, ", ", wf_sim_trace_place(info.entry));
	add(l, ",", states[info.state]);
	if (info.waits_for != NULL)
		add(l, ": ", info.waits_for);
	if (info.waits_on != NULL)
		add(l, " on ", wf_sim_trace_place(info.waits_on));
	add(l, "\n", "");
}

void wf_sim_fibers_describe(char *text, size_t bytes)
{
	struct lines l = { .text = text, .bytes = bytes };
	struct weft_rt *seen[WF_SIM_THREADS];
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < wf_sim->threads; i++) {
		struct wf_thread *t = wf_sim->thread[i].self;
		size_t k = 0;

		if (t == NULL || wf_sim->thread[i].state == WF_SIM_ENDED)
			continue;
		while (k < n && seen[k] != t->rt)
			k++;
		if (k < n)
			continue;
		seen[n++] = t->rt;
		wf_fiber_pool_walk(&t->rt->fibers, describe, &l);
	}
}
