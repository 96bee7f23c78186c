/* SPDX-License-Identifier: MIT */
/*
 * idle/wake.c - who is woken for what.
 */
#include "idle/wake.h"

#include "os/os.h"
#include "sched/global.h"
#include "idle/wait_idle.h"
#include "sched/runtime.h"
#include "sched/thread.h"

/*
 * The bit of p was cleared by us.  If it has no thread and cannot get one it
 * goes back to sleep: whoever is awake will do its work.
 */
static bool rouse(struct wf_group *g, struct wf_proc *p)
{
	struct wf_thread *t = wf_load_rlx(&p->thread);
	int64_t now_ns = wf_os_now_ns();

	wf_store_rlx(&p->woken_ns, now_ns);
	/* It does this itself when it gets up, but it may have been stopped. */
	if (wf_policy_of(g)->locks == WEFT_LOCKS_NONE && g->rt->monitor.started)
		wf_monitor_rouse(g->rt);
	if (t != NULL) {
		/* [pair: park.word] The last we do to the thread. */
		wf_store_rel(&t->word, 1);
		(void)wf_os_futex_wake(&t->word, 1);
		return true;
	}
	if (wf_thread_ask(g->rt, p, now_ns) == 0)
		return true;
	(void)wf_and_rlx(&g->searching, ~p->bit);
	/* [pair: park.bit] As it was. */
	(void)wf_or_rel(&g->sleeping, p->bit);
	/* [pair: quiet.idlers] Who looked meanwhile saw it awake. */
	wf_fence_seq();
	wf_quiet_tell(g->rt);
	return false;
}

/*
 * Wake the lowest sleeper of g that can be woken; false: there is none.  Then
 * fails tells whether there was one whose thread could not be made.
 */
static bool wake_lowest(struct wf_group *g, bool *fails)
{
	uint64_t seen = wf_load_rlx(&g->sleeping), tried = 0;

	while ((seen & ~tried) != 0) {
		struct wf_proc *p = wf_group_lowest(g, seen & ~tried);

		/*
		 * [pair: park.bit] The processor as it was left, its thread
		 * above all, is seen by who wakes it.
		 */
		if (!wf_cas_weak_acq(&g->sleeping, &seen, seen & ~p->bit))
			continue;
		/*
		 * If enough search already, p is woken all the same but does
		 * not search: the searchers stand for it.  Under flare's rule a
		 * woken processor serves one task and is never counted.
		 */
		if (wf_policy_of(g)->wake != WEFT_WAKE_FLARE)
			(void)wf_group_enlist(g, p->bit);
		if (rouse(g, p))
			return true;
		/* No thread can be made for it; another may still have one. */
		tried |= p->bit;
		*fails = true;
		seen = wf_load_rlx(&g->sleeping);
	}
	return false;
}

bool wf_wake_one(struct wf_group *g)
{
	struct weft_rt *rt = g->rt;
	bool fails = false;

	if (wake_lowest(g, &fails))
		return true;
	/*
	 * Who was tried seemed to be awake meanwhile, and a task may have been
	 * left to it: then somebody of another group looks for it here.
	 */
	for (uint32_t i = 0; fails && i < rt->group_count; i++)
		if (wf_global_len(g) != 0 && &rt->groups[i] != g &&
			wake_lowest(&rt->groups[i], &(bool){ false }))
			return true;
	return false;
}

bool wf_wake_proc(struct wf_proc *p)
{
	struct wf_group *g = p->group;

	/*
	 * [pair: park.bit] The processor as it was left, its thread above all,
	 * is seen by its waker.
	 */
	return (wf_and_acq(&g->sleeping, ~p->bit) & p->bit) && rouse(g, p);
}

void wf_wake_all(struct wf_group *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		struct wf_proc *p = &g->procs[i];

		/* One without a thread sleeps on. */
		if (wf_load_rlx(&p->thread) != NULL)
			(void)wf_wake_proc(p);
	}
}

/* One of those who search is told that there is work; false: nobody does. */
static bool claim_searcher(struct wf_group *g)
{
	uint64_t seen = wf_load_rlx(&g->searching);

	/* It looks at everything again before it sleeps, so this is advice. */
	while (seen != 0)
		if (wf_cas_weak_rlx(&g->searching, &seen, seen & (seen - 1)))
			return true;
	return false;
}

/* Does somebody search who will find a task that is there now? */
static bool is_searched(struct wf_group *g)
{
	if (wf_policy_of(g)->wake == WEFT_WAKE_FLARE)
		return claim_searcher(g);
	return wf_load_rlx(&g->searching) != 0;
}

void wf_wake_for_outside(struct wf_group *g)
{
	uint64_t sleeping;

	/* [pair: park.sleep] The task before the look at who sleeps. */
	wf_fence_seq();
	sleeping = wf_load_rlx(&g->sleeping);
	if (sleeping == 0 || is_searched(g))
		return;
	if (sleeping != g->all && !wf_load_rlx(&g->coarse))
		return;
	(void)wf_wake_one(g);
}

void wf_wake_for_push(struct wf_proc *p)
{
	struct wf_group *g = p->group;

	if (wf_policy_of(g)->wake != WEFT_WAKE_GATE) {
		/* [pair: park.sleep] The task before the look at who sleeps. */
		wf_fence_seq();
	} else if (!wf_is_coarse(p) ||
		!wf_wake_pays(p, wf_proc_backlog(p) + wf_global_backlog(g))) {
		return;
	}
	/*
	 * No fence by the gate's rule: should a processor that parks at this
	 * moment be missed, the monitor finds the backlog.
	 */
	if (wf_load_rlx(&g->sleeping) != 0 && !is_searched(g))
		(void)wf_wake_one(g);
}

/* Is there more, for another than p? */
static bool more_for_others(struct wf_proc *p)
{
	struct wf_group *g = p->group;

	if (wf_policy_of(g)->wake == WEFT_WAKE_GO)
		return true;
	if (wf_is_coarse(p))
		return wf_proc_backlog(p) + wf_global_backlog(g) > 0;
	return wf_load_rlx(&g->gate_open) && wf_proc_backlog(p) > 1;
}

void wf_wake_next(struct wf_proc *p)
{
	struct wf_group *g = p->group;

	if (wf_policy_of(g)->wake != WEFT_WAKE_GATE)
		/* [pair: park.sleep] Who relied on us slept before. */
		wf_fence_seq();
	if (wf_load_rlx(&g->sleeping) == 0 || wf_load_rlx(&g->searching) != 0)
		return;
	if (more_for_others(p))
		(void)wf_wake_one(g);
}
