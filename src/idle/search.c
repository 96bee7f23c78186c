/* SPDX-License-Identifier: MIT */
/*
 * idle/search.c - from the first empty pick to the next task.
 */
#include "sched/idle.h"

#include "arch/context.h"
#include "os/os.h"
#include "sched/global.h"
#include "idle/park.h"
#include "sched/pick.h"
#include "idle/wait_idle.h"
#include "sched/runtime.h"
#include "sched/steal.h"
#include "sched/submit.h"

/*
 * Shall p search?  By flare's rule also if it is not counted: a submitter has
 * sent for it, or claimed it.
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

/* Found something: no more searching; let others come if there is more. */
static void delist(struct wf_proc *p)
{
	(void)wf_and_rlx(&p->group->searching, ~p->bit);
	wf_wake_next(p);
}

/* How long to go on looking, from start, when the rounds found nothing. */
static int64_t spin_ns(struct wf_proc *p)
{
	int64_t most = p->group->rt->spin_ns;
	uint64_t others = wf_load_rlx(&p->group->searching) & ~p->bit;

	if (others != 0 || p->alarmed)
		return 0;
	if (p->gap_ns < most)
		return 2 * p->gap_ns < most ? 2 * p->gap_ns : most;
	return most / 10;
}

/* Is there something in the global queue for us? */
static bool is_global(struct wf_proc *p)
{
	return wf_global_len(p->group) != 0 && wf_group_shares(p->group, p);
}

/* All rounds once. */
static weft_task *search_once(struct wf_search *s)
{
	uint32_t rounds = s->p->group->rt->config.steal_rounds;

	for (uint32_t i = 1; i <= rounds; i++) {
		weft_task *task = wf_search_round(s, i == rounds);

		if (task != NULL)
			return task;
		/* Tickets that came over may be dead, but not all of them. */
		if (wf_runq_len(&s->p->runq) != 0 || is_global(s->p))
			return wf_pick_quick(s->p);
	}
	return NULL;
}

/* Search until something is found or it is time to sleep. */
static weft_task *search(struct wf_proc *p)
{
	struct wf_search s;
	weft_task *task;
	int64_t spin;

	wf_search_begin(&s, p);
	spin = spin_ns(p);
	while ((task = search_once(&s)) == NULL) {
		int64_t most = s.lone && spin < WF_STUCK_NS * 3 / 2
			? WF_STUCK_NS * 3 / 2
			: spin;

		/* By the time that the rounds went by, not by what it is. */
		if (s.now_ns - s.start_ns >= most)
			break;
		for (unsigned i = 0; i < 16; i++)
			wf_cpu_relax();
		s.now_ns = wf_os_now_ns();
		if (wf_proc_fire(p, s.now_ns)) {
			task = wf_pick_quick(p);
			break;
		}
		if (wf_quiet_is_awaited(p->group->rt) || is_replaced(p))
			break;
	}
	if (task == NULL && p->group->rt->group_count > 1)
		task = wf_search_abroad(&s);
	/*
	 * The last word of every search, however it ended: a theft whose first
	 * entry is a dead ticket has found nothing, and has filled our queue.
	 * Thieves alone would not empty it, and we would sleep on it.
	 */
	if (task == NULL && wf_runq_len(&p->runq) != 0)
		task = wf_pick_quick(p);
	if (task == NULL)
		wf_bump(&p->counters.steal_fails, 1);
	wf_bump(&p->counters.search_ns, (uint64_t)(s.now_ns - s.start_ns));
	return task;
}

/* A gap of idleness is over: keep the mean. */
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
