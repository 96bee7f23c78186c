/* SPDX-License-Identifier: MIT */
/*
 * sim/hooks.c - the functions that code built with -fsanitize=thread calls.
 *
 * gcc and clang each call a different selection; all are here.  Outside of a
 * simulation each does its plain operation and nothing else.  Names and types
 * are given by the compilers; the macros only repeat them for the four sizes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "sim/engine.h"
#include "sim/heap.h"
#include "sim/memory.h"
#include "sim/shadow.h"

#define WF_SIM_PC ((uintptr_t)__builtin_return_address(0))

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);

	(void)pc;
	if (wf_sim_on() && wf_unlikely(wf_sim_heap_guarded(sp)))
		wf_sim_fail("stack overflow", NULL, "the stack of the fiber "
			"that thread %s runs is too small",
			wf_sim_thread_name(wf_sim->current->id));
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

/* Plain accesses. */

#define WF_SIM_ACCESS(name, bytes, call)                                   \
	void __tsan_##name(void *p);                                       \
	void __tsan_##name(void *p)                                        \
	{                                                                  \
		if (wf_sim_on())                                           \
			call(p, bytes, WF_SIM_PC);                         \
	}

#define WF_SIM_ACCESSES(bytes)                                             \
	WF_SIM_ACCESS(read##bytes, bytes, wf_sim_read)                     \
	WF_SIM_ACCESS(write##bytes, bytes, wf_sim_write)                   \
	WF_SIM_ACCESS(unaligned_read##bytes, bytes, wf_sim_read)           \
	WF_SIM_ACCESS(unaligned_write##bytes, bytes, wf_sim_write)         \
	WF_SIM_ACCESS(volatile_read##bytes, bytes, wf_sim_read)            \
	WF_SIM_ACCESS(volatile_write##bytes, bytes, wf_sim_write)          \
	WF_SIM_ACCESS(unaligned_volatile_read##bytes, bytes, wf_sim_read)  \
	WF_SIM_ACCESS(unaligned_volatile_write##bytes, bytes, wf_sim_write) \
	WF_SIM_ACCESS(read_write##bytes, bytes, wf_sim_write)              \
	WF_SIM_ACCESS(unaligned_read_write##bytes, bytes, wf_sim_write)

WF_SIM_ACCESSES(1)
WF_SIM_ACCESSES(2)
WF_SIM_ACCESSES(4)
WF_SIM_ACCESSES(8)
WF_SIM_ACCESSES(16)

void __tsan_read_range(void *p, size_t bytes);
void __tsan_read_range(void *p, size_t bytes)
{
	if (wf_sim_on())
		wf_sim_read(p, bytes, WF_SIM_PC);
}

void __tsan_write_range(void *p, size_t bytes);
void __tsan_write_range(void *p, size_t bytes)
{
	if (wf_sim_on())
		wf_sim_write(p, bytes, WF_SIM_PC);
}

void __tsan_vptr_update(void **p, void *v);
void __tsan_vptr_update(void **p, void *v)
{
	(void)v;
	if (wf_sim_on())
		wf_sim_write(p, sizeof(*p), WF_SIM_PC);
}

void __tsan_vptr_read(void **p);
void __tsan_vptr_read(void **p)
{
	if (wf_sim_on())
		wf_sim_read(p, sizeof(*p), WF_SIM_PC);
}

void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
	if (wf_sim_on()) {
		wf_sim_read(from, bytes, WF_SIM_PC);
		wf_sim_write(to, bytes, WF_SIM_PC);
	}
	return memcpy(to, from, bytes);
}

void *__tsan_memmove(void *to, const void *from, size_t bytes);
void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
	if (wf_sim_on()) {
		wf_sim_read(from, bytes, WF_SIM_PC);
		wf_sim_write(to, bytes, WF_SIM_PC);
	}
	return memmove(to, from, bytes);
}

void *__tsan_memset(void *to, int byte, size_t bytes);
void *__tsan_memset(void *to, int byte, size_t bytes)
{
	if (wf_sim_on())
		wf_sim_write(to, bytes, WF_SIM_PC);
	return memset(to, byte, bytes);
}

/* Atomic operations. */

#define WF_SIM_RMW(bits, name, op, builtin)                                \
	uint##bits##_t __tsan_atomic##bits##_##name(                       \
		volatile uint##bits##_t *p, uint##bits##_t v, int mo);     \
	uint##bits##_t __tsan_atomic##bits##_##name(                       \
		volatile uint##bits##_t *p, uint##bits##_t v, int mo)      \
	{                                                                  \
		if (!wf_sim_on())                                          \
			return builtin(p, v, __ATOMIC_SEQ_CST);            \
		return (uint##bits##_t)wf_sim_rmw(                         \
			p, bits / 8, op, v, mo, WF_SIM_PC);                \
	}

#define WF_SIM_CAS(bits, name, weak)                                       \
	int __tsan_atomic##bits##_compare_exchange_##name(                 \
		volatile uint##bits##_t *p, uint##bits##_t *expected,      \
		uint##bits##_t v, int mo, int fail_mo);                    \
	int __tsan_atomic##bits##_compare_exchange_##name(                 \
		volatile uint##bits##_t *p, uint##bits##_t *expected,      \
		uint##bits##_t v, int mo, int fail_mo)                     \
	{                                                                  \
		uint64_t e = *expected;                                    \
		bool done;                                                 \
                                                                           \
		if (!wf_sim_on())                                          \
			return __atomic_compare_exchange_n(p, expected, v, \
				weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
		done = wf_sim_cas(p, bits / 8, &e, v, mo, fail_mo, weak,   \
			WF_SIM_PC);                                        \
		if (!done)                                                 \
			*expected = (uint##bits##_t)e;                     \
		return done;                                               \
	}

#define WF_SIM_ATOMICS(bits)                                               \
	uint##bits##_t __tsan_atomic##bits##_load(                         \
		const volatile uint##bits##_t *p, int mo);                 \
	uint##bits##_t __tsan_atomic##bits##_load(                         \
		const volatile uint##bits##_t *p, int mo)                  \
	{                                                                  \
		if (!wf_sim_on())                                          \
			return __atomic_load_n(p, __ATOMIC_SEQ_CST);       \
		return (uint##bits##_t)wf_sim_load(                        \
			p, bits / 8, mo, WF_SIM_PC);                       \
	}                                                                  \
	void __tsan_atomic##bits##_store(                                  \
		volatile uint##bits##_t *p, uint##bits##_t v, int mo);     \
	void __tsan_atomic##bits##_store(                                  \
		volatile uint##bits##_t *p, uint##bits##_t v, int mo)      \
	{                                                                  \
		if (!wf_sim_on())                                          \
			__atomic_store_n(p, v, __ATOMIC_SEQ_CST);          \
		else                                                       \
			wf_sim_store(p, bits / 8, v, mo, WF_SIM_PC);       \
	}                                                                  \
	WF_SIM_RMW(bits, exchange, WF_SIM_XCHG, __atomic_exchange_n)       \
	WF_SIM_RMW(bits, fetch_add, WF_SIM_ADD, __atomic_fetch_add)        \
	WF_SIM_RMW(bits, fetch_sub, WF_SIM_SUB, __atomic_fetch_sub)        \
	WF_SIM_RMW(bits, fetch_and, WF_SIM_AND, __atomic_fetch_and)        \
	WF_SIM_RMW(bits, fetch_or, WF_SIM_OR, __atomic_fetch_or)           \
	WF_SIM_RMW(bits, fetch_xor, WF_SIM_XOR, __atomic_fetch_xor)        \
	WF_SIM_RMW(bits, fetch_nand, WF_SIM_NAND, __atomic_fetch_nand)     \
	WF_SIM_CAS(bits, strong, false)                                    \
	WF_SIM_CAS(bits, weak, true)                                       \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(         \
		volatile uint##bits##_t *p, uint##bits##_t expected,       \
		uint##bits##_t v, int mo, int fail_mo);                    \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(         \
		volatile uint##bits##_t *p, uint##bits##_t expected,       \
		uint##bits##_t v, int mo, int fail_mo)                     \
	{                                                                  \
		uint64_t e = expected;                                     \
                                                                           \
		if (!wf_sim_on())                                          \
			(void)__atomic_compare_exchange_n(p, &expected, v, \
				false, __ATOMIC_SEQ_CST,                   \
				__ATOMIC_SEQ_CST);                         \
		else if (!wf_sim_cas(p, bits / 8, &e, v, mo, fail_mo,      \
				 false, WF_SIM_PC))                        \
			expected = (uint##bits##_t)e;                      \
		return expected;                                           \
	}

WF_SIM_ATOMICS(8)
WF_SIM_ATOMICS(16)
WF_SIM_ATOMICS(32)
WF_SIM_ATOMICS(64)

void __tsan_atomic_thread_fence(int mo);
void __tsan_atomic_thread_fence(int mo)
{
	if (wf_sim_on())
		wf_sim_fence(mo, WF_SIM_PC);
	else
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int mo);
void __tsan_atomic_signal_fence(int mo)
{
	(void)mo;
	if (wf_sim_on())
		wf_sim_light_fence();
}

/*
 * Stacks.  Happens-before belongs to the running thread, not to its stack: a
 * fiber gets it from what the scheduler does when the fiber moves, and exactly
 * that is tested.  So these functions do nothing.
 */
void *__tsan_get_current_fiber(void);
void *__tsan_get_current_fiber(void)
{
	return NULL;
}

void *__tsan_create_fiber(unsigned flags);
void *__tsan_create_fiber(unsigned flags)
{
	(void)flags;
	return NULL;
}

void __tsan_destroy_fiber(void *fiber);
void __tsan_destroy_fiber(void *fiber)
{
	(void)fiber;
}

void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_switch_to_fiber(void *fiber, unsigned flags)
{
	(void)fiber;
	(void)flags;
}
