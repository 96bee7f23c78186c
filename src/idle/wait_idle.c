/* SPDX-License-Identifier: MIT */
/*
 * idle/wait_idle.c - waiting until nothing is ready or running.
 */
#include "idle/wait_idle.h"

#include <errno.h>

#include "os/os.h"
#include "sched/global.h"
#include "sched/submit.h"
#include "sched/thread.h"

void wf_wait_idle_tell(struct weft_rt *rt)
{
	if (wf_load_rlx(&rt->idle_wait.idlers) == 0)
		return;
	(void)wf_add_rlx(&rt->idle_wait.word, 1);
	(void)wf_os_futex_wake(&rt->idle_wait.word, UINT32_MAX);
}

static uint64_t parkings(struct weft_rt *rt)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < rt->group_count; i++)
		/* [pair: park.bit] See all that those did that are counted. */
		n += wf_load_acq(&rt->groups[i].parkings);
	return n;
}

static bool all_sleep(struct weft_rt *rt)
{
	for (uint32_t i = 0; i < rt->group_count; i++) {
		struct wf_group *g = &rt->groups[i];

		/* [pair: park.bit] See all that the sleepers did before. */
		if (wf_load_acq(&g->sleeping) != g->all)
			return false;
	}
	return true;
}

static bool nothing_waits(struct weft_rt *rt)
{
	for (uint32_t i = 0; i < rt->group_count; i++)
		if (wf_global_len(&rt->groups[i]) != 0)
			return false;
	return true;
}

static bool is_quiet(struct weft_rt *rt)
{
	uint64_t before = parkings(rt);

	return nothing_waits(rt) && all_sleep(rt) && parkings(rt) == before;
}

static int wait_quiet(struct weft_rt *rt, weft_time deadline)
{
	for (;;) {
		uint32_t seen = wf_load_rlx(&rt->idle_wait.word);

		/* [pair: wait_idle.idlers] Either sees the other. */
		wf_fence_seq();
		if (is_quiet(rt))
			return 0;
		if (deadline <= wf_os_now_ns())
			return -ETIMEDOUT;
		(void)wf_os_futex_wait(&rt->idle_wait.word, seen, deadline);
	}
}

int weft_rt_wait_idle(weft_rt *rt, weft_time deadline)
{
	int err;

	if (wf_thread_in(rt) != NULL)
		return -EDEADLK;
	wf_outside_enter(rt);
	(void)wf_add_rlx(&rt->idle_wait.idlers, 1);
	err = wait_quiet(rt, deadline);
	(void)wf_sub_rlx(&rt->idle_wait.idlers, 1);
	wf_outside_leave(rt);
	return err;
}
