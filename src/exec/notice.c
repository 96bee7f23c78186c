/* SPDX-License-Identifier: MIT */
/*
 * exec/notice.c - a fiber or plain thread waits until it is told.
 *
 * Reads next: exec/exec.h
 */
#include "exec/notice.h"

#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"

enum { BUSY, WAITS, TOLD };

/* The waiter is off its stack: from now on it may be woken. */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct wf_notice *n = wf_container_of(a, struct wf_notice, awaiter);
	uint32_t busy = BUSY;

	(void)f;
	/* [pair: notice.state] It left its stack before it can be woken. */
	return wf_cas_rel(&n->state, &busy, WAITS);
}

void wf_notice_open(struct wf_notice *n)
{
	*n = (struct wf_notice){ { .commit = commit }, .fiber = weft_self() };
}

wf_may_switch void wf_notice_wait(struct wf_notice *n)
{
	uint32_t busy = BUSY;

	/* [pair: notice.state] Told already: see all that the teller did. */
	if (wf_load_acq(&n->state) == TOLD)
		return;
	if (n->fiber == NULL)
		(void)wf_cas_rlx(&n->state, &busy, WAITS);
	else if (weft_suspend(&n->awaiter) < 0)
		wf_assert(false, "weft_suspend failed in fiber %p, which "
				 "waits for a notice",
			(void *)n->fiber);
	/* [pair: notice.state] See all that the teller did. */
	while (wf_load_acq(&n->state) != TOLD)
		(void)wf_os_futex_wait(&n->state, WAITS, INT64_MAX);
}

void wf_notice_tell(struct wf_notice *n)
{
	weft_fiber *f = n->fiber;

	/*
	 * [pair: notice.state] The teller's last access, after all that it did;
	 * and a fiber that it wakes has left its stack.
	 */
	if (wf_xchg_acqrel(&n->state, TOLD) != WAITS)
		return;
	if (f != NULL)
		weft_wake(f, WEFT_HINT_DEFAULT);
	else
		(void)wf_os_futex_wake(&n->state, 1);
}
