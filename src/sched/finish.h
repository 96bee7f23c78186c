/* SPDX-License-Identifier: MIT */
/*
 * sched/finish.h - the function of a fiber has returned into the loop.
 *
 * Contract: implemented in life/.
 *
 * Reads next: life/finish.c, the end of a fiber in all its forms.
 */
#ifndef WF_SCHED_FINISH_H
#define WF_SCHED_FINISH_H

#include "base/compiler.h"
#include "fiber/fiber.h"
#include "sched/proc.h"
#include "sched/runtime.h"
#include "sched/thread.h"

/*
 * f returned result into the loop.  f has a joiner, a name, a scope or keys, or
 * it has waited.  Returns the thread that the caller is on afterwards.
 */
wf_may_switch struct wf_thread *wf_finish_slow(
	struct wf_thread *t, weft_fiber *f, void *result);

/* f returned into its joiner, which has the result.  Returns the thread. */
wf_may_switch struct wf_thread *wf_finish_inline(
	struct wf_thread *t, weft_fiber *f);

static inline void wf_count_end(struct wf_proc *p)
{
	uint64_t n = wf_load_rlx(&p->counters.finished) + 1;

	/* [pair: rt.finished] A reader of the end sees the beginning too. */
	wf_store_rel(&p->counters.finished, n);
}

/* Give the descriptor of f, which is clean, back to a cache of rt. */
static inline void wf_finish_give(
	struct wf_fiber_cache *cache, struct weft_rt *rt, weft_fiber *f)
{
	uint32_t state = wf_load_rlx(&f->state);

	wf_store_rlx(&f->state, state & WF_FIBER_USE);
	wf_fiber_give(cache, &rt->fibers, f);
}

/*
 * f returned result into the loop.  A detached fiber that never waited only
 * gives its descriptor back.  Returns the thread that the caller is on
 * afterwards.
 */
static inline struct wf_thread *wf_finish(
	struct wf_thread *t, weft_fiber *f, void *result)
{
	uint32_t life = wf_load_rlx(&f->state) & WF_FIBER_LIFE;
	struct wf_proc *p = t->proc;

	if (wf_unlikely(life != (WF_FIBER_LIVE | WF_FIBER_DETACHED)))
		return wf_finish_slow(t, f, result);
	wf_store_rlx(&f->state, 0);
	wf_fiber_give(&p->fibers, &t->rt->fibers, f);
	wf_count_end(p);
	return t;
}

#endif
