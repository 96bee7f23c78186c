/* SPDX-License-Identifier: MIT */
/*
 * base/sanitize.h - tell AddressSanitizer, ThreadSanitizer and valgrind about
 * the stacks of fibers.
 *
 * A struct wf_san stands for one stack, of a fiber or of a thread.  In builds
 * without a sanitizer it is empty and these functions do nothing.  Around every
 * switch from stack a to stack b:
 *
 *	on a, last thing before the jump	wf_san_leave(&a, &b)
 *	on b, first thing after it		wf_san_arrive(&b, &a)
 *
 * A fiber leaves a stack to which it will not return with wf_san_leave_for_good
 * instead.
 *
 * Valgrind need not know about switches, only the bounds of each stack, once.
 * Outside of valgrind that request costs a few instructions, so every build
 * makes it.
 */
#ifndef WF_BASE_SANITIZE_H
#define WF_BASE_SANITIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#ifdef __SANITIZE_ADDRESS__
#define WF_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define WF_TSAN 1
#endif
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define WF_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WF_TSAN 1
#endif
#endif

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define WF_VALGRIND 1
#endif

#ifdef WF_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WF_TSAN
#include <sanitizer/tsan_interface.h>
#endif

struct weft_policy;

/*
 * SIMULATED: this is the library of the simulator.  CHECKING: look for misuse
 * that is too dear to look for in builds for users; the simulator and builds
 * with WF_DEBUG do.
 */
#ifdef WEFT_SIM
#define WF_SIMULATED 1
#else
#define WF_SIMULATED 0
#endif
#if defined(WEFT_SIM) || defined(WF_DEBUG)
#define WF_CHECKING 1
#else
#define WF_CHECKING 0
#endif

#ifdef WEFT_SIM
bool wf_sim_is_freed(const void *p);
void wf_sim_lock_taken(const void *lock, bool waited);
void wf_sim_lock_left(const void *lock);
void wf_sim_order_taken(const void *lock, void *word, bool shared, bool waits);
uint64_t wf_sim_order_left(const void *lock, bool shared);
void wf_sim_order_freed(const void *fiber);
void wf_sim_spread_policy(struct weft_policy *policy);
uint32_t wf_sim_spread_budget(uint32_t full);
#endif

struct wf_san {
#ifdef WF_ASAN
	void *fake_stack;	/* ASan's, while no thread is on the stack */
	const void *low;	/* bounds; a thread's: known after a switch */
	size_t bytes;
#endif
#ifdef WF_TSAN
	void *fiber;		/* TSan's name for the stack */
#endif
	char nothing[0];	/* a struct needs a member in standard C */
};

/* A new stack of bytes bytes from low: make it known, and free of poison. */
static inline void wf_san_open(struct wf_san *s, void *low, size_t bytes)
{
	(void)s;
	(void)low;
	(void)bytes;
#ifdef WF_ASAN
	__asan_unpoison_memory_region(low, bytes);
	s->fake_stack = NULL;
	s->low = low;
	s->bytes = bytes;
#endif
#ifdef WF_TSAN
	s->fiber = __tsan_create_fiber(0);
#endif
}

/* The stack goes out of use; no fiber may be on it. */
static inline void wf_san_close(struct wf_san *s)
{
	(void)s;
#ifdef WF_ASAN
	__asan_unpoison_memory_region(s->low, s->bytes);
#endif
#ifdef WF_TSAN
	__tsan_destroy_fiber(s->fiber);
#endif
}

/*
 * The calling thread's own stack.  Its bounds become known with the first
 * switch away from it.
 */
static inline void wf_san_thread(struct wf_san *s)
{
	(void)s;
#ifdef WF_ASAN
	s->fake_stack = NULL;
	s->low = NULL;
	s->bytes = 0;
#endif
#ifdef WF_TSAN
	s->fiber = __tsan_get_current_fiber();
#endif
}

wf_inline void wf_san_leave(struct wf_san *from, struct wf_san *to)
{
	(void)from;
	(void)to;
#ifdef WF_ASAN
	__sanitizer_start_switch_fiber(&from->fake_stack, to->low, to->bytes);
#endif
#ifdef WF_TSAN
	__tsan_switch_to_fiber(to->fiber, 0);
#endif
}

/* Note for wf_san_arrive which stack was left; only sanitizers need it. */
wf_inline void wf_san_left(struct wf_san **note, struct wf_san *from)
{
	(void)note;
	(void)from;
#if defined(WF_ASAN) || defined(WF_TSAN)
	*note = from;
#endif
}

wf_inline void wf_san_leave_for_good(struct wf_san *to)
{
	(void)to;
#ifdef WF_ASAN
	__sanitizer_start_switch_fiber(NULL, to->low, to->bytes);
#endif
#ifdef WF_TSAN
	__tsan_switch_to_fiber(to->fiber, 0);
#endif
}

wf_inline void wf_san_arrive(struct wf_san *here, struct wf_san *from)
{
	(void)here;
	(void)from;
#ifdef WF_ASAN
	__sanitizer_finish_switch_fiber(
		here->fake_stack, &from->low, &from->bytes);
#endif
}

#if !defined(WF_TSAN) && !defined(WEFT_SIM)
/*
 * Defined if ThreadSanitizer is in the process; the simulator defines its own.
 */
void __tsan_init(void) __attribute__((weak));
#endif

/*
 * Whether ThreadSanitizer is in the process, but this library was built without
 * it.  Then it sees neither the switches of stacks nor the library's atomics,
 * and reports races in correct programs, or crashes.
 */
static inline bool wf_san_is_blind(void)
{
#if defined(WF_TSAN) || defined(WEFT_SIM)
	return false;
#else
	return __tsan_init != NULL;
#endif
}

/*
 * The calling thread has taken a lock (waited: by a call that may wait), or is
 * about to release it.  The simulator looks for cycles in the order of locks.
 */
wf_inline void wf_san_lock_taken(const void *lock, bool waited)
{
	(void)lock;
	(void)waited;
#ifdef WEFT_SIM
	wf_sim_lock_taken(lock, waited);
#endif
}

wf_inline void wf_san_lock_left(const void *lock)
{
	(void)lock;
#ifdef WEFT_SIM
	wf_sim_lock_left(lock);
#endif
}

/*
 * The calling fiber or plain thread has taken a lock of the API.  word: the
 * OWNER of the lock, before the caller writes it.  shared: the caller is one of
 * many readers.  waits: the call had no deadline.
 */
wf_inline void wf_san_api_lock_taken(
	const void *lock, void *word, bool shared, bool waits)
{
	(void)lock;
	(void)word;
	(void)shared;
	(void)waits;
#ifdef WEFT_SIM
	wf_sim_order_taken(lock, word, shared, waits);
#endif
}

/*
 * A lock of the API is about to be released.  Returns what its OWNER has to be
 * while it has no holder; the simulator knows the lock by it (sim/order.h).
 */
wf_inline uint64_t wf_san_api_lock_left(const void *lock, bool shared)
{
	(void)lock;
	(void)shared;
#ifdef WEFT_SIM
	return wf_sim_order_left(lock, shared);
#else
	return 0;
#endif
}

/* The descriptor of a fiber is free: its next life is another fiber. */
wf_inline void wf_san_fiber_freed(const void *fiber)
{
	(void)fiber;
#ifdef WEFT_SIM
	wf_sim_order_freed(fiber);
#endif
}

/* Was this memory freed?  Only the simulator knows; elsewhere: false. */
static inline bool wf_san_is_freed(const void *p)
{
#ifdef WEFT_SIM
	return wf_sim_is_freed(p);
#else
	(void)p;
	return false;
#endif
}

/* The program left the policy of a runtime open: see sim/spread.c. */
static inline void wf_san_policy(struct weft_policy *policy)
{
	(void)policy;
#ifdef WEFT_SIM
	wf_sim_spread_policy(policy);
#endif
}

/* Calls until a fiber gives way: full, or less in the simulator. */
wf_inline uint32_t wf_san_budget(uint32_t full)
{
#ifdef WEFT_SIM
	return wf_sim_spread_budget(full);
#else
	return full;
#endif
}

/* Valgrind: [low, high) is a stack.  The result names it for the drop. */
static inline unsigned wf_valgrind_stack_add(void *low, void *high)
{
	(void)low;
	(void)high;
#ifdef WF_VALGRIND
	return VALGRIND_STACK_REGISTER(low, high);
#else
	return 0;
#endif
}

static inline void wf_valgrind_stack_drop(unsigned id)
{
	(void)id;
#ifdef WF_VALGRIND
	VALGRIND_STACK_DEREGISTER(id);
#endif
}

/* Valgrind: report no errors from now on; or report them again. */
static inline void wf_valgrind_hush(bool on)
{
	(void)on;
#ifdef WF_VALGRIND
	if (on)
		VALGRIND_DISABLE_ERROR_REPORTING;
	else
		VALGRIND_ENABLE_ERROR_REPORTING;
#endif
}

static inline bool wf_on_valgrind(void)
{
#ifdef WF_VALGRIND
	return RUNNING_ON_VALGRIND;
#else
	return false;
#endif
}

#endif
