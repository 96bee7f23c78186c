/* SPDX-License-Identifier: MIT */
/*
 * sched/handshake.c - opening a processor's queue to thieves, and closing it.
 */
#include "sched/handshake.h"

#include "arch/context.h"
#include "base/limits.h"
#include "os/os.h"
#include "sched/group.h"

/* The holder sees `shared' from now on.  Has it ended an earlier pick? */
static bool holder_is_out(struct wf_proc *p)
{
	for (unsigned i = 0; i < WF_HANDSHAKE_TRIES; i++) {
		/* [pair: share.done] */
		if (wf_load_acq(&p->busy) == 0)
			return true;
		wf_cpu_relax();
	}
	return false;
}

bool wf_handshake_open(struct wf_proc *p)
{
	struct wf_group *g = p->group;

	if (wf_load_rlx(&p->open))
		return true;
	wf_lock(&g->handshake_lock);
	if (!wf_load_rlx(&p->shared)) {
		wf_store_rlx(&p->shared, true);
		/* [pair: share.busy] (H2) */
		wf_os_membarrier();
	}
	if (!wf_load_rlx(&p->open) && holder_is_out(p))
		/* [pair: share.done] Thieves see what the holder took. */
		wf_store_rel(&p->open, true);
	wf_unlock(&g->handshake_lock);
	return wf_load_rlx(&p->open);
}

void wf_handshake_close(struct wf_proc *p)
{
	struct wf_group *g = p->group;

	if (!wf_load_rlx(&p->shared) || g->always_open)
		return;
	wf_lock(&g->handshake_lock);
	wf_store_rlx(&p->open, false);
	/* [pair: share.thieves] Thief and monitor: one sees the other. */
	wf_fence_seq();
	/* [pair: share.thieves] The holder sees what thieves took. */
	if (wf_load_acq(&p->thieves) == 0)
		/* [pair: share.back] */
		wf_store_rel(&p->shared, false);
	wf_unlock(&g->handshake_lock);
}
