/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/hop.h - a function that runs on a stack of the pool.
 *
 * The thread goes to it and comes back when it pauses or returns.  As there is
 * no framework on that stack, it must not make assertions.
 */
#ifndef WEFT_TESTS_STACK_HOP_H
#define WEFT_TESTS_STACK_HOP_H

#include <stdbool.h>

#include "arch/context.h"
#include "base/compiler.h"
#include "base/sanitize.h"
#include "stack/stack.h"

struct hop {
	struct wf_context there;
	struct wf_context back;
	struct wf_san thread;
	struct wf_stack *stack;
	void (*fn)(struct hop *self);
	void *arg;			/* for fn */
	bool over;			/* fn has returned */
};

/* The function: leave for good, from wherever it is. */
wf_maybe_unused static wf_may_switch void hop_leave(struct hop *h)
{
	h->over = true;
	wf_san_leave_for_good(&h->thread);
	wf_context_switch(&h->there, &h->back);
	__builtin_trap();
}

wf_maybe_unused static wf_may_switch void hop_main(void *arg)
{
	struct hop *h = arg;

	wf_san_arrive(&h->stack->san, &h->thread);
	h->fn(h);
	hop_leave(h);
}

/* Let h begin with fn on stack s at the first hop_go. */
static inline void hop_open(struct hop *h, struct wf_stack *s,
	void (*fn)(struct hop *self), void *arg)
{
	*h = (struct hop){ .stack = s, .fn = fn, .arg = arg };
	wf_context_start(&h->there, wf_stack_top(s), hop_main, h);
}

/* The thread: go there, until it pauses or is over. */
wf_maybe_unused static wf_may_switch void hop_go(struct hop *h)
{
	wf_san_thread(&h->thread);
	wf_san_leave(&h->thread, &h->stack->san);
	wf_context_switch(&h->back, &h->there);
	wf_san_arrive(&h->thread, &h->stack->san);
}

/* The function: back to the thread. */
wf_maybe_unused static wf_may_switch void hop_pause(struct hop *h)
{
	wf_san_leave(&h->stack->san, &h->thread);
	wf_context_switch(&h->there, &h->back);
	wf_san_arrive(&h->stack->san, &h->thread);
}

#endif
