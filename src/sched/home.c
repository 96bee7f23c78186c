/* SPDX-License-Identifier: MIT */
/*
 * sched/home.c - the home comes and goes.
 */
#include "sched/home.h"

#include <errno.h>

#include "base/limits.h"
#include "os/lock.h"
#include "os/os.h"
#include "sched/runtime.h"
#include "sched/visit.h"

static struct {
	struct wf_lock lock;
	struct weft_rt *rt; /* these two by the lock */
	size_t holders;
} home;

static void demolish(struct weft_rt *rt)
{
	wf_fiber_cache_close(&rt->outside.fibers, &rt->fibers);
	wf_stack_cache_close(&rt->outside.stacks);
	wf_stack_pool_close(&rt->stacks);
	wf_fiber_pool_close(&rt->fibers);
	wf_os_free(rt);
}

static int build(struct weft_rt **out)
{
	struct weft_rt *rt = wf_os_alloc(sizeof(*rt));
	int err;

	if (rt == NULL)
		return -ENOMEM;
	rt->config.stack_bytes = WF_STACK_BYTES_DEFAULT;
	rt->is_home = true;
	err = wf_rt_open_memory(rt);
	if (err)
		goto freed;
	rt->fibers.run = wf_fiber_resume;
	err = wf_stack_cache_open(&rt->outside.stacks, &rt->stacks);
	if (err)
		goto pools;
	*out = rt;
	return 0;
pools:
	wf_stack_pool_close(&rt->stacks);
freed:
	wf_os_free(rt);
	return err;
}

int wf_home_hold(struct weft_rt **rt)
{
	int err = 0;

	wf_lock(&home.lock);
	if (home.holders == 0)
		err = build(&home.rt);
	if (!err) {
		home.holders++;
		*rt = home.rt;
	}
	wf_unlock(&home.lock);
	return err;
}

void wf_home_drop(void)
{
	wf_lock(&home.lock);
	if (--home.holders == 0)
		demolish(home.rt);
	wf_unlock(&home.lock);
}
