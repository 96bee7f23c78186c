/* SPDX-License-Identifier: MIT */
/*
 * sched/shuffle.c - the holder's part of a shuffle.
 */
#include "sched/shuffle.h"

#include "sched/handshake.h"

static bool may_shuffle(struct wf_proc *p)
{
	return !wf_is_coarse(p) && wf_load_rlx(&p->yielders.count) == 0 &&
		p->turn.of == WF_TURN_NONE &&
		wf_load_rlx(&p->runq.head) >= p->shuffled;
}

void wf_shuffle(struct wf_proc *p)
{
	bool alone = wf_take_begin(p);

	if (alone && may_shuffle(p)) {
		wf_runq_shuffle(&p->runq, &p->random);
		p->shuffled = wf_load_rlx(&p->runq.tail);
		wf_store_rlx(&p->to_shuffle, false);
	}
	wf_take_end(p);
}
