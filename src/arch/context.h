/* SPDX-License-Identifier: MIT */
/*
 * arch/context.h - a context, and the switch from one context to another.
 *
 * A struct wf_context says where a suspended flow of control continues: the
 * address, and the registers by which the compiler finds the frame (stack,
 * frame and base pointer; on ppc64le also the table of contents).  The switch
 * lists every other register as clobbered.  So the compiler itself saves those
 * that the caller of the enclosing function relies on, in a frame that it
 * knows, and nothing else.  These belong to the thread, and are not part of a
 * context: the thread pointer, the floating-point control words, the signal
 * mask.
 *
 *	wf_context_switch(from, to)	save into from, continue at to
 *	wf_context_start(c, top, entry, arg)
 *					make c begin entry(arg) on a new stack
 *
 * The switch is inline assembly and has its own rules:
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
 * backtrace() stop there.  pthread_exit and a cancellation of the thread unwind
 * all frames of a context, and would then jump to the end of the thread; before
 * that the entry code calls a function (wf_context_watch).
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
 * In a simulation, relaxing lets other threads run.  The switch tells the
 * simulator which words it saves and loads, because no compiler instruments
 * assembly.
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
 * Make c start entry(arg) on the stack that ends at top (any alignment).
 * Writes the first few words of the stack.  entry must not return.
 */
void wf_context_start(struct wf_context *c, void *top,
	void (*entry)(void *arg), void *arg);

/*
 * From now on fn is called when an unwind that ends the thread has unwound all
 * frames of a context; it is called in that context.  A later watch replaces
 * fn.
 */
void wf_context_watch(void (*fn)(void));

#endif
