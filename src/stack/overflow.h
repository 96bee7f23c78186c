/* SPDX-License-Identifier: MIT */
/*
 * stack/overflow.h - name the fiber whose stack overflows.
 *
 * The access below the stack hits the guard and faults.  Our handler runs on
 * the thread's alternate stack and asks which fiber runs on this thread.  If
 * the address is in the guard of that fiber's stack, the handler writes to
 * standard error (as one line):
 *
 *	weft: stack overflow in fiber "name" (entry 0x...): 64 KiB of stack
 *	      promised, fault at 0x... in the guard below it
 *
 * Then the handler that was installed before gets the signal, or the default
 * action ends the program: an overflow always ends the program, but is always
 * explained.
 *
 * Only a thread that called wf_overflow_enter has an alternate stack and can
 * report; without one the kernel ends the program without a message.
 */
#ifndef WF_STACK_OVERFLOW_H
#define WF_STACK_OVERFLOW_H

#include <stdbool.h>

#include "os/os.h"
#include "stack/stack.h"

/* The fiber that runs on the calling thread. */
struct wf_overflow_who {
	const char *name;		/* NULL: it has none */
	void *entry;			/* its function */
	const struct wf_stack *stack;
};

/* Called in a signal handler; false: no fiber runs on this thread. */
typedef bool wf_overflow_whois(struct wf_overflow_who *who);

/* Report overflows from now on, for the life of the process. */
wf_must_check int wf_overflow_watch(wf_overflow_whois *whois);

/* The calling thread begins, or ends, to run fibers.  -ENOMEM. */
wf_must_check int wf_overflow_enter(struct wf_os_altstack *a);
void wf_overflow_leave(struct wf_os_altstack *a);

#endif
