/* SPDX-License-Identifier: MIT */
/*
 * sched/finish.h - a fiber has ended: its credit, its joiner, its descriptor.
 *
 * Reads next: life/join.c, the other side of it.
 */
#ifndef WF_SCHED_FINISH_H
#define WF_SCHED_FINISH_H

#include "sched/runtime.h"
#include "sched/thread.h"

static inline void wf_count_end(struct wf_proc *p)
{
	uint64_t n = wf_load_rlx(&p->counters.finished) + 1;

	/* [pair: rt.finished] Who sees the end sees the beginning too. */
	wf_store_rel(&p->counters.finished, n);
}

/*
 * The function of f, which is still the running fiber, has returned: what is
 * done as f.  Only one that is USED can need it.
 */
wf_may_switch void wf_finish_user(weft_fiber *f);

wf_may_switch struct wf_thread *wf_finish_slow(
	struct wf_thread *t, weft_fiber *f, void *result);

/* The descriptor of f, which is clean, goes back to a cache of rt. */
static inline void wf_finish_give(
	struct wf_fiber_cache *cache, struct weft_rt *rt, weft_fiber *f)
{
	uint32_t state = wf_load_rlx(&f->state);

	wf_store_rlx(&f->state, state & WF_FIBER_USE);
	wf_fiber_give(cache, &rt->fibers, f);
}

/*
 * The function of f returned into the loop that called it.  One that nobody
 * will join and that never waited leaves nothing to do but this.  The result is
 * the thread we are on afterwards.
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

/* It returned into its joiner, who has the result; the same. */
wf_may_switch struct wf_thread *wf_finish_inline(
	struct wf_thread *t, weft_fiber *f);

/* A fiber of another executor has ended; its stack is given back. */
void wf_finish_abroad(weft_fiber *f, void *result);

/* The descriptor of an ended fiber that nobody needs any more.  Anyone. */
void wf_fiber_free(weft_fiber *f);

#endif
