/* SPDX-License-Identifier: MIT */
/*
 * idle/search.c - a processor without work: search, spin, sleep.
 *
 * At most max_searchers of a group search at once, those that were woken too;
 * the others go straight to sleep, because a searcher looks at everything again
 * before it sleeps and so stands for them.  There are two exceptions: a
 * searcher that was stopped, and whose place the monitor gave to another
 * processor (idle/monitor.h), until its round ends; and, under flare's rule,
 * processors that a submitter has claimed or woken.
 *
 * A searcher that found nothing spins for as long as idle/economy.h says, and
 * none spins where there is but one CPU or a CPU quota.
 *
 * Only on a clean stack, or on the thread's own when it begins: what follows
 * may take long, and the thread may end.
 */
#include "idle/search.h"

#include "arch/context.h"
#include "idle/economy.h"
#include "idle/groups.h"
#include "idle/park.h"
#include "idle/wait_idle.h"
#include "idle/wake.h"
#include "os/os.h"
#include "sched/idle.h"
#include "sched/pick.h"
#include "sched/runtime.h"
#include "sched/serve.h"
#include "sched/steal.h"

/*
 * A number that changes when v has picked something.  Of coarse tasks, children
 * run as calls do not count: a task that waits behind their joiner waits for
 * all of them.
 */
static uint64_t progress(struct wf_proc *v)
{
	return wf_is_coarse(v) ? wf_proc_picks(v)
			       : wf_load_rlx(&v->counters.ticks);
}

void wf_search_begin(struct wf_search *s, struct wf_proc *p)
{
	struct wf_group *g = p->group;

	s->p = p;
	s->start_ns = s->now_ns = wf_os_now_ns();
	s->may_unstick = false;
	for (uint32_t i = 0; i < g->count; i++)
		s->progress[i] = progress(&g->procs[i]);
}

/* Take from the i-th processor of the group. */
static weft_task *steal_near(struct wf_search *s, uint32_t i, bool last)
{
	struct wf_proc *p = s->p, *v = &p->group->procs[i];
	bool still = progress(v) == s->progress[i];
	bool stuck = wf_economy_is_stuck(still, s->now_ns - s->start_ns);
	size_t backlog = wf_proc_backlog(v);

	if (backlog == 0)
		return NULL;
	s->may_unstick |= still;
	if (!wf_economy_may_steal(backlog, wf_steal_allowed(v), stuck))
		return NULL;
	return wf_steal_from(p, v, last && stuck);
}

/* A stride that leads from one of n over all others and back. */
static uint32_t stride_for(struct wf_random *r, uint32_t n)
{
	for (;;) {
		uint32_t stride = 1 + wf_random_below(r, n);
		uint32_t a = n, b = stride;

		while (b != 0) {
			uint32_t rest = a % b;

			a = b;
			b = rest;
		}
		if (a == 1)
			return stride;
	}
}

weft_task *wf_search_round(struct wf_search *s, bool last)
{
	struct wf_proc *p = s->p;
	uint32_t n = p->group->count;
	uint32_t at = wf_random_below(&p->random, n);
	uint32_t stride = stride_for(&p->random, n);

	/* A holder that seemed to compute may have picked another task. */
	s->may_unstick = false;
	for (uint32_t i = 0; i < n; i++) {
		weft_task *task = NULL;

		at = (at + stride) % n;
		if (&p->group->procs[at] != p)
			task = steal_near(s, at, last);
		if (task != NULL)
			return task;
	}
	return NULL;
}

/*
 * Shall p search?  By flare's rule also if p is not counted: a submitter has
 * woken or claimed it.
 */
static bool may_search(struct wf_proc *p)
{
	return wf_group_enlist(p->group, p->bit) ||
		(p->woken && wf_policy_of(p->group)->wake == WEFT_WAKE_FLARE);
}

/*
 * Is p not counted any more?  Its thread was stopped for so long that the
 * monitor gave its place to another processor.
 */
static bool is_replaced(struct wf_proc *p)
{
	return !(wf_load_rlx(&p->group->searching) & p->bit) &&
		wf_policy_of(p->group)->wake != WEFT_WAKE_FLARE;
}

/* p has found a task: it stops searching, and wakes the next if need be. */
static void delist(struct wf_proc *p)
{
	(void)wf_and_rlx(&p->group->searching, ~p->bit);
	wf_wake_next(p);
}

/* All rounds once. */
static weft_task *search_once(struct wf_search *s)
{
	struct wf_proc *p = s->p;
	uint32_t rounds = p->group->rt->config.steal_rounds;

	for (uint32_t i = 1; i <= rounds; i++) {
		weft_task *task = wf_search_round(s, i == rounds);

		if (task != NULL)
			return task;
		/* Some of the tickets that came over may be dead, not all. */
		if (wf_runq_len(&p->runq) != 0 ||
			wf_may_take_global(p, p->group))
			return wf_pick_quick(p);
	}
	return NULL;
}

/* Search the own group until a task is found or it is time to stop. */
static weft_task *search_own_group(struct wf_search *s)
{
	struct wf_proc *p = s->p;
	bool others = wf_load_rlx(&p->group->searching) & ~p->bit;
	int64_t spin_ns = wf_economy_spin_ns(
		p->gap_ns, p->group->rt->spin_ns, others, p->alarmed);
	weft_task *task;

	while ((task = search_once(s)) == NULL) {
		/* now_ns: the time that the rounds went by. */
		if (wf_economy_gives_up(
			    s->now_ns - s->start_ns, spin_ns, s->may_unstick))
			break;
		for (unsigned i = 0; i < 16; i++)
			wf_cpu_relax();
		s->now_ns = wf_os_now_ns();
		if (wf_serve(p, s->now_ns))
			return wf_pick_quick(p);
		if (wf_wait_idle_is_awaited(p->group->rt) || is_replaced(p))
			break;
	}
	return task;
}

static weft_task *search(struct wf_proc *p)
{
	struct wf_search s;
	weft_task *task;

	wf_search_begin(&s, p);
	task = search_own_group(&s);
	if (task == NULL && p->group->rt->group_count > 1)
		task = wf_search_other_groups(p);
	/*
	 * However the search ended: a theft whose first entry was a dead ticket
	 * has found nothing, and has filled our queue.  Without this look the
	 * processor would sleep on these tasks.
	 */
	if (task == NULL && wf_runq_len(&p->runq) != 0)
		task = wf_pick_quick(p);
	if (task == NULL)
		wf_bump(&p->counters.steal_fails, 1);
	wf_bump(&p->counters.search_ns, (uint64_t)(s.now_ns - s.start_ns));
	return task;
}

/* The processor was idle since then: keep the mean. */
static void learn_gap(struct wf_proc *p, int64_t since_ns)
{
	int64_t now_ns = wf_os_now_ns();

	wf_proc_clock(p, now_ns);
	p->gap_ns += (now_ns - since_ns - p->gap_ns) / 8;
	wf_store_rlx(&p->idle_ns, wf_load_rlx(&p->idle_ns) + now_ns - since_ns);
}

weft_task *wf_idle(struct wf_thread *t)
{
	struct wf_proc *p = t->proc;
	int64_t since_ns = wf_os_now_ns();
	weft_task *task = NULL;

	while (task == NULL) {
		bool searching = may_search(p);

		if (searching)
			task = search(p);
		if (task == NULL) {
			if (!wf_park(t, searching))
				return NULL;
			task = wf_pick_quick(p);
		}
		if (task != NULL &&
			(wf_load_rlx(&p->group->searching) & p->bit))
			delist(p);
	}
	p->woken = false;
	learn_gap(p, since_ns);
	return task;
}
