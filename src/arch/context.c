/* SPDX-License-Identifier: MIT */
/*
 * arch/context.c - prepare a new stack for the entry code.
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
#include <unwind.h>

#include "base/atomic.h"

void wf_context_entry(void);

/*
 * The unwinder calls this function for the frame of the entry code, the last
 * frame of a context.  The type is the unwinder's: a "personality" function.
 */
_Unwind_Reason_Code wf_context_unwound(int version, _Unwind_Action actions,
	_Unwind_Exception_Class class, struct _Unwind_Exception *exception,
	struct _Unwind_Context *context);

static _Atomic(void (*)(void)) watcher;

void wf_context_watch(void (*fn)(void))
{
	/* Relaxed: stored before the contexts that need it begin. */
	wf_store_rlx(&watcher, fn);
}

_Unwind_Reason_Code wf_context_unwound(int version, _Unwind_Action actions,
	_Unwind_Exception_Class class, struct _Unwind_Exception *exception,
	struct _Unwind_Context *context)
{
	void (*fn)(void) = wf_load_rlx(&watcher);

	(void)version;
	(void)class;
	(void)exception;
	(void)context;
	/* Not forced: a C++ exception that no frame catches leads to
	 * std::terminate. */
	if ((actions & _UA_FORCE_UNWIND) && fn != NULL)
		fn();
	return _URC_CONTINUE_UNWIND;
}

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
