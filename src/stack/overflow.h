/* SPDX-License-Identifier: MIT */
/*
 * stack/overflow.h - a fiber that runs off its stack is told by name.
 *
 * The access below the stack hits the guard and faults.  Our handler runs on
 * the thread's alternate stack, asks who is running here, and if the address is
 * in that one's guard writes one line to standard error:
 *
 *	weft: stack overflow in fiber "name" (entry 0x...): 64 KiB of stack
 *	      promised, fault at 0x... in the guard below it
 *
 * (as one line).  Then whatever handled the signal before us gets it, or the
 * default ends the program: overflow is never survived, but always explained.
 *
 * Only a thread that called wf_overflow_enter has an alternate stack and can
 * report; without one the kernel ends the program with no word.
 */
#ifndef WF_STACK_OVERFLOW_H
#define WF_STACK_OVERFLOW_H

#include <stdbool.h>

#include "os/os.h"
#include "stack/stack.h"

/* Who runs on the calling thread. */
struct wf_overflow_who {
	const char *name;		/* NULL: it has none */
	void *entry;			/* its function */
	const struct wf_stack *stack;
};

/* Called in a signal handler; false: no fiber runs on this thread. */
typedef bool wf_overflow_whois(struct wf_overflow_who *who);

/* Watch for overflows from now on, for the life of the process. */
wf_must_check int wf_overflow_watch(wf_overflow_whois *whois);

/* The calling thread will run fibers; and will no more.  -ENOMEM. */
wf_must_check int wf_overflow_enter(struct wf_os_altstack *a);
void wf_overflow_leave(struct wf_os_altstack *a);

#endif
