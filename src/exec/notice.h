/* SPDX-License-Identifier: MIT */
/*
 * exec/notice.h - a notice: a fiber or plain thread waits until it is told.
 *
 * Roles.  The WAITER has the notice in its frame, and waits.  The TELLER, a
 * task on any thread, tells it, once, at any time after wf_notice_open.
 *
 * STATE:
 *	BUSY	the waiter does not wait yet
 *	WAITS	the waiter sleeps, a fiber off its stack or a thread: the teller
 *		must wake it
 *	TOLD	the teller's last access: the waiter's frame may be gone
 *
 *	BUSY -> WAITS		the waiter
 *	BUSY, WAITS -> TOLD	the teller
 *
 * No deadline and no cancellation ends this wait: the teller uses the waiter's
 * frame until it has told.
 *
 * The code of executors runs outside the runtime, as that of a user's executor
 * does: a notice is made of public functions, weft_suspend and weft_wake.
 *
 * Reads next: exec/exec.h
 */
#ifndef WF_EXEC_NOTICE_H
#define WF_EXEC_NOTICE_H

#include <stdint.h>

#include <weft/fiber.h>

#include "base/compiler.h"

struct wf_notice {
	struct weft_awaiter awaiter;
	weft_fiber *fiber;		/* NULL: a plain thread; fixed */
	_Atomic(uint32_t) state;	/* STATE */
};

/* The waiter: open, let the teller know of the notice, then wait. */
void wf_notice_open(struct wf_notice *n);
wf_may_switch void wf_notice_wait(struct wf_notice *n);

/* The teller: everything before happens before wf_notice_wait returns. */
void wf_notice_tell(struct wf_notice *n);

#endif
