/* SPDX-License-Identifier: MIT */
/*
 * base/atomic.h - atomic operations with their memory order in the name.
 *
 * Objects are declared _Atomic(T) and touched only through these macros.  There
 * is no default order:
 *
 *	_rlx	 atomic, orders nothing
 *	_acq	 everything the writer did before its _rel is visible after this
 *	_rel	 everything we did before is visible after an _acq that reads it
 *	_acqrel	 both (read-modify-write)
 *	_seq	 both, and one total order of all _seq operations
 *
 * Every use that is not _rlx has a comment with a tag, [pair: queue.step],
 * which stands at its partner too and says what breaks without it; tools/lint
 * looks for the partner.
 *
 * These are the compiler's own atomics, so ThreadSanitizer sees every one of
 * them.
 */
#ifndef WF_BASE_ATOMIC_H
#define WF_BASE_ATOMIC_H

#include <stdatomic.h>

#define wf_load_rlx(p) atomic_load_explicit(p, memory_order_relaxed)
#define wf_load_acq(p) atomic_load_explicit(p, memory_order_acquire)
#define wf_load_seq(p) atomic_load_explicit(p, memory_order_seq_cst)

#define wf_store_rlx(p, v) atomic_store_explicit(p, v, memory_order_relaxed)
#define wf_store_rel(p, v) atomic_store_explicit(p, v, memory_order_release)
#define wf_store_seq(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)

#define wf_xchg_rlx(p, v) atomic_exchange_explicit(p, v, memory_order_relaxed)
#define wf_xchg_acq(p, v) atomic_exchange_explicit(p, v, memory_order_acquire)
#define wf_xchg_rel(p, v) atomic_exchange_explicit(p, v, memory_order_release)
#define wf_xchg_acqrel(p, v)                                               \
	atomic_exchange_explicit(p, v, memory_order_acq_rel)

#define wf_add_rlx(p, v) atomic_fetch_add_explicit(p, v, memory_order_relaxed)
#define wf_add_rel(p, v) atomic_fetch_add_explicit(p, v, memory_order_release)
#define wf_add_acqrel(p, v)                                                \
	atomic_fetch_add_explicit(p, v, memory_order_acq_rel)
#define wf_sub_rlx(p, v) atomic_fetch_sub_explicit(p, v, memory_order_relaxed)
#define wf_sub_rel(p, v) atomic_fetch_sub_explicit(p, v, memory_order_release)
#define wf_sub_acqrel(p, v)                                                \
	atomic_fetch_sub_explicit(p, v, memory_order_acq_rel)

/* Bit operations: they return the old value. */
#define wf_or_rlx(p, v) atomic_fetch_or_explicit(p, v, memory_order_relaxed)
#define wf_or_acq(p, v) atomic_fetch_or_explicit(p, v, memory_order_acquire)
#define wf_or_rel(p, v) atomic_fetch_or_explicit(p, v, memory_order_release)
#define wf_or_acqrel(p, v)                                                 \
	atomic_fetch_or_explicit(p, v, memory_order_acq_rel)
#define wf_and_rlx(p, v) atomic_fetch_and_explicit(p, v, memory_order_relaxed)
#define wf_and_acq(p, v) atomic_fetch_and_explicit(p, v, memory_order_acquire)
#define wf_and_rel(p, v) atomic_fetch_and_explicit(p, v, memory_order_release)
#define wf_and_acqrel(p, v)                                                \
	atomic_fetch_and_explicit(p, v, memory_order_acq_rel)

/*
 * Compare and swap: true if *p was *expected and is now v; otherwise *expected
 * becomes the value of *p.  The named order holds on success; a failure orders
 * nothing.  The _weak forms may fail without a reason and belong in loops.
 */
#define wf_cas_rlx(p, expected, v)                                         \
	atomic_compare_exchange_strong_explicit(                           \
		p, expected, v, memory_order_relaxed, memory_order_relaxed)
#define wf_cas_acq(p, expected, v)                                         \
	atomic_compare_exchange_strong_explicit(                           \
		p, expected, v, memory_order_acquire, memory_order_relaxed)
#define wf_cas_rel(p, expected, v)                                         \
	atomic_compare_exchange_strong_explicit(                           \
		p, expected, v, memory_order_release, memory_order_relaxed)
#define wf_cas_acqrel(p, expected, v)                                      \
	atomic_compare_exchange_strong_explicit(                           \
		p, expected, v, memory_order_acq_rel, memory_order_relaxed)
#define wf_cas_weak_rlx(p, expected, v)                                    \
	atomic_compare_exchange_weak_explicit(                             \
		p, expected, v, memory_order_relaxed, memory_order_relaxed)
#define wf_cas_weak_acq(p, expected, v)                                    \
	atomic_compare_exchange_weak_explicit(                             \
		p, expected, v, memory_order_acquire, memory_order_relaxed)
#define wf_cas_weak_rel(p, expected, v)                                    \
	atomic_compare_exchange_weak_explicit(                             \
		p, expected, v, memory_order_release, memory_order_relaxed)

#define wf_fence_acq() atomic_thread_fence(memory_order_acquire)
#define wf_fence_rel() atomic_thread_fence(memory_order_release)
#define wf_fence_seq() atomic_thread_fence(memory_order_seq_cst)

/*
 * The cheap side of a membarrier: it only keeps the compiler from reordering.
 */
#define wf_fence_light() atomic_signal_fence(memory_order_seq_cst)

#endif
