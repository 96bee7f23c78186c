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

void wf_quiet_tell(struct weft_rt *rt)
{
	if (wf_load_rlx(&rt->quiet.idlers) == 0)
		return;
	(void)wf_add_rlx(&rt->quiet.word, 1);
	(void)wf_os_futex_wake(&rt->quiet.word, UINT32_MAX);
}

static uint64_t parkings(struct weft_rt *rt)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < rt->group_count; i++)
		/* [pair: park.bit] Who is counted is seen to have slept. */
		n += wf_load_acq(&rt->groups[i].parkings);
	return n;
}

static bool all_sleep(struct weft_rt *rt)
{
	for (uint32_t i = 0; i < rt->group_count; i++) {
		struct wf_group *g = &rt->groups[i];

		/* [pair: park.bit] With all they did before. */
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
		uint32_t seen = wf_load_rlx(&rt->quiet.word);

		/* [pair: quiet.idlers] One of us sees the other. */
		wf_fence_seq();
		if (is_quiet(rt))
			return 0;
		if (deadline <= wf_os_now_ns())
			return -ETIMEDOUT;
		(void)wf_os_futex_wait(&rt->quiet.word, seen, deadline);
	}
}

int weft_rt_wait_idle(weft_rt *rt, weft_time deadline)
{
	int err;

	if (wf_thread_in(rt) != NULL)
		return -EDEADLK;
	wf_outside_enter(rt);
	(void)wf_add_rlx(&rt->quiet.idlers, 1);
	err = wait_quiet(rt, deadline);
	(void)wf_sub_rlx(&rt->quiet.idlers, 1);
	wf_outside_leave(rt);
	return err;
}
