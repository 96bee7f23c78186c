/* SPDX-License-Identifier: MIT */
/*
 * idle/wake.c - which processor is woken for which task.
 */
#include "idle/wake.h"

#include "idle/economy.h"
#include "idle/groups.h"
#include "idle/monitor.h"
#include "idle/parker.h"
#include "idle/wait_idle.h"
#include "os/os.h"
#include "sched/idle.h"
#include "sched/runtime.h"
#include "sched/thread.h"
#include "sched/threads.h"

/*
 * The caller has cleared the bit of p.  If p has no thread and cannot get one,
 * it goes back to sleep, and the processors that are awake do its work.
 */
static bool get_thread_up(struct wf_group *g, struct wf_proc *p)
{
	struct wf_thread *t = wf_load_rlx(&p->thread);
	int64_t now_ns = wf_os_now_ns();

	wf_store_rlx(&p->woken_ns, now_ns);
	/* p does this itself when it gets up, but it may have been stopped. */
	if (wf_policy_of(g)->locks == WEFT_LOCKS_NONE)
		wf_monitor_wake(g->rt);
	if (t != NULL) {
		wf_parker_wake(&t->parker);
		return true;
	}
	if (wf_thread_ask(g->rt, p, now_ns) == 0)
		return true;
	(void)wf_and_rlx(&g->searching, ~p->bit);
	/* [pair: park.bit] p is as its last holder left it. */
	(void)wf_or_rel(&g->sleeping, p->bit);
	/* [pair: wait_idle.idlers] A waiter may have seen p awake. */
	wf_fence_seq();
	wf_wait_idle_tell(g->rt);
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
		 * [pair: park.bit] See the processor as its holder left it,
		 * its thread above all.
		 */
		if (!wf_cas_weak_acq(&g->sleeping, &seen, seen & ~p->bit))
			continue;
		/*
		 * If enough search already, p gets up all the same but does not
		 * search: the searchers stand for it.  Under flare's rule a
		 * woken processor serves one task and is never counted.
		 */
		if (wf_policy_of(g)->wake != WEFT_WAKE_FLARE)
			(void)wf_group_enlist(g, p->bit);
		if (get_thread_up(g, p))
			return true;
		/* No thread can be made for it; another may still have one. */
		tried |= p->bit;
		*fails = true;
		seen = wf_load_rlx(&g->sleeping);
	}
	return false;
}

/* Wake a sleeper of another group for a task in the global queue of g. */
static bool stand_in(struct wf_group *other, struct wf_group *g)
{
	return wf_may_take_global(&other->procs[0], g) &&
		wake_lowest(other, &(bool){ false });
}

bool wf_wake_one(struct wf_group *g)
{
	bool fails = false;

	/*
	 * A sleeper whose thread could not be made seemed to be awake
	 * meanwhile, and a submitter may have left a task to it.
	 */
	return wake_lowest(g, &fails) ||
		(fails && wf_wake_other_group(g, stand_in));
}

bool wf_wake_proc(struct wf_proc *p)
{
	struct wf_group *g = p->group;

	/*
	 * [pair: park.bit] See the processor as its holder left it, its thread
	 * above all.
	 */
	return (wf_and_acq(&g->sleeping, ~p->bit) & p->bit) &&
		get_thread_up(g, p);
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

/* Take a searcher for a task that is there; false: none searches. */
static bool claim_searcher(struct wf_group *g)
{
	uint64_t seen = wf_load_rlx(&g->searching);

	/* It looks at everything again before it sleeps, so this is advice. */
	while (seen != 0)
		if (wf_cas_weak_rlx(&g->searching, &seen, seen & (seen - 1)))
			return true;
	return false;
}

/* Decide, after the masks of g were added to what is known, and do it. */
wf_inline void wake_if_worth(
	struct wf_group *g, struct wf_wake_facts *facts)
{
	enum wf_wake wake;

	facts->rule = wf_policy_of(g)->wake;
	facts->all = g->all;
	facts->sleeping = wf_load_rlx(&g->sleeping);
	facts->searching = wf_load_rlx(&g->searching);
	wake = wf_economy_wake(facts);
	if (wake == WF_WAKE_NONE ||
		(wake == WF_WAKE_CLAIM && claim_searcher(g)))
		return;
	(void)wf_wake_one(g);
}

void wf_wake_for_outside(struct wf_group *g)
{
	struct wf_wake_facts facts = { .cause = WF_CAUSE_OUTSIDE };

	/* [pair: park.sleep] The task before the look at the sleepers. */
	wf_fence_seq();
	facts.coarse = wf_load_rlx(&g->coarse);
	wake_if_worth(g, &facts);
}

/* What a waker knows of the tasks of p. */
wf_inline struct wf_wake_facts facts_of(
	struct wf_proc *p, enum wf_cause cause)
{
	struct wf_group *g = p->group;

	return (struct wf_wake_facts){ .cause = cause,
		.coarse = wf_is_coarse(p),
		.gate_open = wf_load_rlx(&g->gate_open),
		.local = wf_proc_backlog(p),
		.global = wf_global_backlog(g),
		.mean_ns = wf_load_rlx(&p->mean_ns),
		.wake_ns = wf_load_rlx(&g->wake_ns) };
}

void wf_wake_for_push(struct wf_proc *p)
{
	struct wf_wake_facts facts;

	/*
	 * No fence by the gate's rule: should a processor that parks at this
	 * moment be missed, the monitor finds the backlog.
	 */
	if (wf_policy_of(p->group)->wake != WEFT_WAKE_GATE)
		/* [pair: park.sleep] The task before the look at sleepers. */
		wf_fence_seq();
	facts = facts_of(p, WF_CAUSE_PUSH);
	wake_if_worth(p->group, &facts);
}

void wf_wake_next(struct wf_proc *p)
{
	struct wf_wake_facts facts;

	if (wf_policy_of(p->group)->wake != WEFT_WAKE_GATE)
		/* [pair: park.sleep] A processor relied on us and sleeps. */
		wf_fence_seq();
	facts = facts_of(p, WF_CAUSE_FOUND);
	wake_if_worth(p->group, &facts);
}
