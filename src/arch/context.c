/* SPDX-License-Identifier: MIT */
/*
 * arch/context.c - a new stack, as the entry code expects it.
 *
 *	top, aligned down to 16
 *	...
 *	arg
 *	entry		at sp[WF_START_ENTRY]
 *	...
 *	0		at sp[0] if WF_START_ENTRY > 0: ends the back chain
 */
#include "arch/context.h"

#include <stdint.h>

void wf_context_entry(void);

void wf_context_start(
	struct wf_context *c, void *top, void (*entry)(void *arg), void *arg)
{
	void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15);

	sp -= WF_START_WORDS;
	sp[0] = NULL;
	sp[WF_START_ENTRY] = (void *)entry;
	sp[WF_START_ENTRY + 1] = arg;
	*c = (struct wf_context){ .sp = sp, .pc = (void *)wf_context_entry };
}
