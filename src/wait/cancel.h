/* SPDX-License-Identifier: MIT */
/*
 * wait/cancel.h - a cancellation ends waits.
 *
 * A canceller sets a bit in the fiber's CANCEL word, then, once for as many
 * fibers as it cancels, calls the fence, then ends the wait of each that is in
 * one.  The fence pairs with the beginning of a wait (wait/wait_inline.h):
 * either the canceller sees the wait, or the waiter sees the bit.
 *
 * Reads next: life/cancel.c
 */
#ifndef WF_WAIT_CANCEL_H
#define WF_WAIT_CANCEL_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/fiber.h>

#include "base/compiler.h"

struct weft_rt;

/* The caller knows that f lives. */
void wf_cancel_mark(weft_fiber *f, uint32_t bit);
void wf_cancel_fence(struct weft_rt *rt);
void wf_cancel_wake(weft_fiber *f);

/*
 * The first half of wf_cancel_wake, for a canceller that holds a lock.  True:
 * the wait is claimed, and the caller makes f ready after it has unlocked.
 */
wf_must_check bool wf_cancel_claim(weft_fiber *f);

#endif
