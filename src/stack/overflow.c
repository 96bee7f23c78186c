/* SPDX-License-Identifier: MIT */
/*
 * stack/overflow.c - report the overflow of a fiber's stack.
 */
#include "stack/overflow.h"

#include <stdio.h>

#include "base/atomic.h"
#include "base/units.h"

static _Atomic(wf_overflow_whois *) ask;

/* Runs in a signal handler: no lock, no allocation. */
static void on_fault(void *addr)
{
	struct wf_overflow_who who = { 0 };
	/* Relaxed: stored before the watch that makes this handler run. */
	wf_overflow_whois *whois = wf_load_rlx(&ask);
	char text[256];
	int n;

	if (whois == NULL || !whois(&who) || !wf_stack_guards(who.stack, addr))
		return;
	n = snprintf(text, sizeof(text),
		"weft: stack overflow in fiber \"%.64s\" (entry %p): "
		"%zu KiB of stack promised, fault at %p in the guard below "
		"it\n",
		who.name ? who.name : "unnamed", who.entry,
		who.stack->arena->shape.promised / WF_KIB, addr);
	wf_os_complain(text, (size_t)n);
}

int wf_overflow_watch(wf_overflow_whois *whois)
{
	wf_store_rlx(&ask, whois);
	return wf_os_fault_watch(on_fault);
}

int wf_overflow_enter(struct wf_os_altstack *a)
{
	return wf_os_altstack_open(a);
}

void wf_overflow_leave(struct wf_os_altstack *a)
{
	wf_os_altstack_close(a);
}
