/* SPDX-License-Identifier: MIT */
/*
 * arch/context.h - a place to come back to: save here, jump there.
 *
 * struct wf_context is where a suspended flow of control goes on: the address,
 * and the registers by which the compiler finds the frame (stack, frame and
 * base pointer; on ppc64le also the table of contents).  Every other register
 * is listed as clobbered by the switch, so the compiler itself saves those that
 * the enclosing function's caller relies on, in a frame that it knows, and
 * nothing else.  Not part of a context, because they belong to the thread: the
 * thread pointer, the floating-point control words, the signal mask.
 *
 *	wf_context_switch(from, to)	save into from, go on at to
 *	wf_context_start(c, top, entry, arg)
 *					make c begin entry(arg) on a new stack
 *
 * The switch is inline assembly and has rules of its own:
 *
 *	It may stand only in a function marked wf_may_switch, which is never
 *	inlined.
 *	It neither pushes nor pops: the red zone below the stack pointer is in
 *	use.
 *	It arrives by an indirect jump, never by `ret': the return predictor
 *	still holds the addresses of the stack that was left.
 *
 * The first frame of a started context is the entry code.  Its unwind
 * information says that nothing called it, so debuggers, profilers and
 * backtrace() stop there.  pthread_exit and a cancellation unwind all frames of
 * a context, and would then jump to the end of the thread; the entry code has
 * a function called before that (wf_context_watch).
 *
 * Each architecture has a folder with arch_context.h (the struct, the switch)
 * and entry.S (the entry code); context.c serves them all.
 *
 * Reads next: stack/stack.h, where the stacks come from.
 */
#ifndef WF_ARCH_CONTEXT_H
#define WF_ARCH_CONTEXT_H

#include "base/compiler.h"
#include "base/sanitize.h"

#include "arch_context.h"

/*
 * In a simulation waiting is letting others run, and what a switch saves and
 * loads, which no compiler sees, is told.
 */
#ifdef WEFT_SIM
void wf_sim_relax(void);
void wf_sim_switches(struct wf_context *from, struct wf_context *to);
#define wf_cpu_relax() wf_sim_relax()
#ifdef WF_TSAN
#define wf_context_switch(from, to)                                        \
	(wf_sim_switches(from, to), wf_context_switch(from, to))
#endif
#endif

/*
 * Make c start as entry(arg) on the stack that ends at top (any alignment), of
 * which the first few words are written.  entry must not return.
 */
void wf_context_start(struct wf_context *c, void *top,
	void (*entry)(void *arg), void *arg);

/*
 * From now on fn is called, in the context that it is about, when all frames of
 * a context were unwound to end the thread.  A later watch replaces fn.
 */
void wf_context_watch(void (*fn)(void));

#endif
