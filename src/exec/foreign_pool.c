/* SPDX-License-Identifier: MIT */
/*
 * exec/foreign_pool.c - the memory and the timers of all foreign fibers.
 *
 * A runtime has descriptors, stacks and credits for its own fibers, under the
 * lock of `outside'.  The process has these once for the fibers of all foreign
 * executors, in a runtime without processors: the FOREIGN POOL.  Holders keep
 * it: each executor that weft made, and each fiber until its descriptor is
 * free.
 *
 * A timer thread, from the first timer that is set until the pool is freed,
 * fires the timers of these fibers.  It holds the pool while it fires: a fiber
 * that it wakes may run on this very thread (exec/inline.c), end, and be the
 * last holder but one.
 *
 *	last holder drops the pool	timer thread, firing
 *	  take it out of `the_pool'	  hold it, unless it was taken out
 *	  quit = true			  fire
 *	  wake and join the thread	  drop it; if it was the last holder:
 *	  free it			  detach itself, free it
 *
 * Reads next: exec/pool.c
 */
#include <errno.h>

#include "base/limits.h"
#include "os/lock.h"
#include "os/os.h"
#include "idle/serve.h"
#include "sched/foreign.h"
#include "sched/runtime.h"
#include "wait/timers.h"
#include "exec/foreign.h"

struct foreign_pool {
	struct weft_rt rt; /* must be first */
	struct wf_timers timers;
	_Atomic(uint32_t) word; /* futex: the timer thread looks again */
	_Atomic(bool) started;	/* written by the_pool.lock */
	bool quit;		/* by the_pool.lock */
	struct wf_os_thread os; /* the timer thread */
};

static struct {
	struct wf_lock lock;
	struct foreign_pool *pool; /* these two by the lock */
	size_t holders;
} the_pool;

static void destroy(struct foreign_pool *pool)
{
	struct weft_rt *rt = &pool->rt;

	wf_fiber_cache_close(&rt->outside.fibers, &rt->fibers);
	wf_stack_cache_close(&rt->outside.stacks);
	wf_stack_pool_close(&rt->stacks);
	wf_fiber_pool_close(&rt->fibers);
	wf_os_free(pool);
}

static int make(struct foreign_pool **out)
{
	struct foreign_pool *pool = wf_os_alloc(sizeof(*pool));
	struct weft_rt *rt;
	int err;

	if (pool == NULL)
		return -ENOMEM;
	rt = &pool->rt;
	pool->timers.sleeper = &pool->word;
	rt->config.stack_bytes = WF_STACK_BYTES_DEFAULT;
	rt->is_foreign = true;
	err = wf_rt_open_memory(rt);
	if (err)
		goto freed;
	rt->fibers.run = wf_foreign_resume;
	err = wf_stack_cache_open(&rt->outside.stacks, &rt->stacks);
	if (err)
		goto pools;
	*out = pool;
	return 0;
pools:
	wf_stack_pool_close(&rt->stacks);
freed:
	wf_os_free(pool);
	return err;
}

int wf_foreign_pool_hold(struct weft_rt **rt)
{
	int err = 0;

	wf_lock(&the_pool.lock);
	if (the_pool.holders == 0)
		err = make(&the_pool.pool);
	if (!err) {
		the_pool.holders++;
		*rt = &the_pool.pool->rt;
	}
	wf_unlock(&the_pool.lock);
	return err;
}

/* Drop the pool; the result is the pool if the caller must free it. */
static struct foreign_pool *drop(void)
{
	struct foreign_pool *pool = NULL;

	wf_lock(&the_pool.lock);
	if (--the_pool.holders == 0) {
		pool = the_pool.pool;
		the_pool.pool = NULL;
		pool->quit = true;
	}
	wf_unlock(&the_pool.lock);
	return pool;
}

void wf_foreign_pool_drop(void)
{
	struct foreign_pool *pool = drop();

	if (pool == NULL)
		return;
	if (wf_load_rlx(&pool->started)) {
		wf_store_rlx(&pool->word, 1);
		(void)wf_os_futex_wake(&pool->word, 1);
		wf_os_thread_join(&pool->os);
	}
	destroy(pool);
}

/* The timer thread holds its pool; false: the last holder has dropped it. */
static bool hold_on(struct foreign_pool *pool)
{
	bool stays;

	wf_lock(&the_pool.lock);
	stays = !pool->quit;
	if (stays)
		the_pool.holders++;
	wf_unlock(&the_pool.lock);
	return stays;
}

static void timer_thread(void *arg)
{
	struct foreign_pool *pool = arg;
	struct wf_timers *timers = &pool->timers;
	int64_t until, now_ns;

	for (;;) {
		/* Before the look: a timer set after it ends the wait. */
		wf_store_rlx(&pool->word, 0);
		if (!hold_on(pool))
			return;
		until = wf_timers_prune(timers);
		now_ns = wf_os_now_ns();
		if (until <= now_ns)
			(void)wf_serve_timers(timers, now_ns, SIZE_MAX);
		if (drop() != NULL)
			break;
		if (until > now_ns)
			(void)wf_os_futex_wait(&pool->word, 0, until);
	}
	wf_os_thread_detach(&pool->os);
	destroy(pool);
}

struct wf_timers *wf_foreign_pool_timers(struct weft_rt *rt)
{
	struct foreign_pool *pool = (struct foreign_pool *)rt;
	bool started = wf_load_rlx(&pool->started);

	if (wf_likely(started))
		return &pool->timers;
	wf_lock(&the_pool.lock);
	started = wf_load_rlx(&pool->started);
	if (!started) {
		started = wf_os_thread_start(&pool->os, timer_thread, pool, 0,
				  "weft-timer") == 0;
		wf_store_rlx(&pool->started, started);
	}
	wf_unlock(&the_pool.lock);
	return started ? &pool->timers : NULL;
}
