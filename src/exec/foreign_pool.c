/* SPDX-License-Identifier: MIT */
/*
 * exec/foreign_pool.c - the home comes and goes.
 */
#include "exec/foreign_pool.h"

#include <errno.h>

#include "base/limits.h"
#include "os/lock.h"
#include "os/os.h"
#include "sched/runtime.h"
#include "wait/timers.h"
#include "exec/foreign.h"

struct house {
	struct weft_rt rt; /* must be first */
	struct wf_timers timers;
	_Atomic(uint32_t) word; /* futex: look at the timers again */
	_Atomic(bool) started;	/* written by the lock of home */
	bool quit;		/* by the lock of home */
	struct wf_os_thread os;
};

static struct {
	struct wf_lock lock;
	struct house *house; /* these two by the lock */
	size_t holders;
} home;

static void demolish(struct house *house)
{
	struct weft_rt *rt = &house->rt;

	wf_fiber_cache_close(&rt->outside.fibers, &rt->fibers);
	wf_stack_cache_close(&rt->outside.stacks);
	wf_stack_pool_close(&rt->stacks);
	wf_fiber_pool_close(&rt->fibers);
	wf_os_free(house);
}

static int build(struct house **out)
{
	struct house *house = wf_os_alloc(sizeof(*house));
	struct weft_rt *rt;
	int err;

	if (house == NULL)
		return -ENOMEM;
	rt = &house->rt;
	house->timers.sleeper = &house->word;
	rt->config.stack_bytes = WF_STACK_BYTES_DEFAULT;
	rt->is_home = true;
	err = wf_rt_open_memory(rt);
	if (err)
		goto freed;
	rt->fibers.run = wf_fiber_resume;
	err = wf_stack_cache_open(&rt->outside.stacks, &rt->stacks);
	if (err)
		goto pools;
	*out = house;
	return 0;
pools:
	wf_stack_pool_close(&rt->stacks);
freed:
	wf_os_free(house);
	return err;
}

int wf_home_hold(struct weft_rt **rt)
{
	int err = 0;

	wf_lock(&home.lock);
	if (home.holders == 0)
		err = build(&home.house);
	if (!err) {
		home.holders++;
		*rt = &home.house->rt;
	}
	wf_unlock(&home.lock);
	return err;
}

/* Hold it no more; the house, if it is to be torn down. */
static struct house *let_go(void)
{
	struct house *house = NULL;

	wf_lock(&home.lock);
	if (--home.holders == 0) {
		house = home.house;
		home.house = NULL;
		house->quit = true;
	}
	wf_unlock(&home.lock);
	return house;
}

void wf_home_drop(void)
{
	struct house *house = let_go();

	if (house == NULL)
		return;
	if (wf_load_rlx(&house->started)) {
		wf_store_rlx(&house->word, 1);
		(void)wf_os_futex_wake(&house->word, 1);
		wf_os_thread_join(&house->os);
	}
	demolish(house);
}

/* Hold the house that one is in; false: it is being torn down. */
static bool hold_on(struct house *house)
{
	bool stays;

	wf_lock(&home.lock);
	stays = !house->quit;
	if (stays)
		home.holders++;
	wf_unlock(&home.lock);
	return stays;
}

static void watch(void *arg)
{
	struct house *house = arg;
	struct wf_timers *timers = &house->timers;
	int64_t until, now_ns;

	for (;;) {
		/* Before the look, so that who comes after it is not missed. */
		wf_store_rlx(&house->word, 0);
		if (!hold_on(house))
			return;
		until = wf_timers_prune(timers);
		now_ns = wf_os_now_ns();
		if (until <= now_ns)
			(void)wf_timers_fire(timers, now_ns, SIZE_MAX);
		if (let_go() != NULL)
			break;
		if (until > now_ns)
			(void)wf_os_futex_wait(&house->word, 0, until);
	}
	wf_os_thread_detach(&house->os);
	demolish(house);
}

struct wf_timers *wf_home_timers(struct weft_rt *rt)
{
	struct house *house = (struct house *)rt;
	bool started = wf_load_rlx(&house->started);

	if (wf_likely(started))
		return &house->timers;
	wf_lock(&home.lock);
	started = wf_load_rlx(&house->started);
	if (!started) {
		started = wf_os_thread_start(&house->os, watch, house, 0,
				  "weft-timer") == 0;
		wf_store_rlx(&house->started, started);
	}
	wf_unlock(&home.lock);
	return started ? &house->timers : NULL;
}
