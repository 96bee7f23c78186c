/* SPDX-License-Identifier: MIT */
/*
 * obs/metrics.c - the counters of the processors, added up.
 */
#include <errno.h>
#include <string.h>

#include <weft/obs.h>

#include "base/units.h"
#include "sched/runtime.h"

static void add_proc(weft_metrics *m, struct wf_proc *p)
{
	struct wf_counters *c = &p->counters;
	uint64_t lifo = wf_load_rlx(&c->runs_lifo);
	uint64_t global = wf_load_rlx(&c->runs_global);
	uint64_t stolen = wf_load_rlx(&c->runs_stolen);
	uint64_t others = lifo + global + stolen;
	/* Read last, and at least others: each of those is a tick too. */
	uint64_t ticks = wf_load_rlx(&c->ticks);

	if (ticks < others)
		ticks = others;
	m->ticks += ticks;
	m->runs_lifo += lifo;
	m->runs_global += global;
	m->runs_stolen += stolen;
	/* A run from the local queue is counted as a tick only. */
	m->runs_local += ticks - others;
	m->runs_inline += wf_load_rlx(&c->runs_inline);
	m->steals += wf_load_rlx(&c->steals);
	m->stolen += wf_load_rlx(&c->stolen);
	m->steal_fails += wf_load_rlx(&c->steal_fails);
	m->offloads += wf_load_rlx(&c->offloads);
	m->grabs += wf_load_rlx(&c->grabs);
	m->parks += wf_load_rlx(&c->parks);
	m->wakes += wf_load_rlx(&c->wakes);
	m->wakes_futile += wf_load_rlx(&c->wakes_futile);
	m->search_ns += wf_load_rlx(&c->search_ns);
	m->overflows += wf_load_rlx(&c->overflows);
	m->switches += wf_load_rlx(&c->switches);
	m->spawned += wf_load_rlx(&c->spawned);
	m->finished += wf_load_rlx(&c->finished);
	for (unsigned i = 0; i < WEFT_DELAY_BUCKETS; i++)
		m->delay[i] += wf_load_rlx(&c->delay[i]);
	m->threads += wf_load_rlx(&p->thread) != NULL;
}

/* Copy m to the caller's struct, which may be of an older or newer weft. */
static int give(weft_metrics *out, size_t size, const weft_metrics *m)
{
	size_t known = wf_min_size(size, sizeof(*m));

	if (size == 0)
		return -EINVAL;
	memcpy(out, m, known);
	memset((char *)out + known, 0, size - known);
	return 0;
}

int weft_metrics_read(weft_rt *rt, weft_metrics *out, size_t size)
{
	weft_metrics m = { 0 };

	for (uint32_t i = 0; i < rt->proc_count; i++)
		add_proc(&m, &rt->procs[i]);
	m.spawned += wf_load_rlx(&rt->outside.spawned);
	m.overflows += wf_load_rlx(&rt->outside.overflows);
	m.fibers = wf_rt_fibers(rt);
	m.threads = wf_load_rlx(&rt->threads);
	m.thread_fails = wf_load_rlx(&rt->thread_fails);
	return give(out, size, &m);
}

int weft_metrics_proc(
	weft_rt *rt, unsigned proc, weft_metrics *out, size_t size)
{
	weft_metrics m = { 0 };

	if (proc >= rt->proc_count)
		return -EINVAL;
	add_proc(&m, &rt->procs[proc]);
	m.fibers = m.spawned;
	return give(out, size, &m);
}
