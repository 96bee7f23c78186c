/* SPDX-License-Identifier: MIT */
/*
 * base/limits.h - sizes that are smaller in the simulator.
 *
 * A queue of 256 entries overflows, a magazine of 64 runs empty, a lock is
 * taken after 64 spins: such cases are rare in production, but must happen
 * within a few hundred steps of a simulated run.  The simulator's build changes
 * only these numbers.
 */
#ifndef WF_BASE_LIMITS_H
#define WF_BASE_LIMITS_H

#include "base/units.h"

/*
 * 1: every runtime has the default policy, and the compiler knows it.  To
 * measure the cost of having other policies (sched/policy.h).
 */
#ifndef WF_POLICY_FIXED
#define WF_POLICY_FIXED 0
#endif

#ifdef WEFT_SIM

#define WF_SLAB_BYTES (8 * WF_KIB)
#define WF_FIBER_BATCH 2
#define WF_UNIT_BYTES (4 * WF_KIB)
#define WF_UNITS_SPARE 0
#define WF_UNITS_AT_ONCE 1
#define WF_DEPOT_MAX 2
#define WF_ARENA_BYTES_FIRST (512 * WF_KIB)
#define WF_STACK_BATCH_MAX 2
#define WF_LOCK_SPINS 1
#define WF_HANDSHAKE_TRIES 2
#define WF_SHUFFLE_MIN 2
#define WF_JOIN_CALLS 16
#define WF_MONITOR_IDLE_LOOKS 1
#define WF_LOCAL_CAPACITY 4
#define WF_GLOBAL_TICK 3
#define WF_LIFO_BUDGET 2
#define WF_STEAL_ROUNDS 1
#define WF_COOP_BUDGET 4
#define WF_SPIN_NS 1
#define WF_STRAND_TURN 2
#define WF_AMUTEX_PLACES 1

#else

/* Fiber descriptors: bytes of a slab, and descriptors that move at once. */
#define WF_SLAB_BYTES WF_MIB
#define WF_FIBER_BATCH 64

/*
 * Free descriptors go back to the system in units of WF_UNIT_BYTES: at most
 * WF_UNITS_AT_ONCE with one call, while WF_UNITS_SPARE units are kept.  The
 * depot keeps WF_DEPOT_MAX magazines that are not sorted by units.
 */
#define WF_UNIT_BYTES (16 * WF_KIB)
#define WF_UNITS_SPARE 64
#define WF_UNITS_AT_ONCE 64
#define WF_DEPOT_MAX 64

/* Stacks: the first arena of a class, and stacks that move at once. */
#define WF_ARENA_BYTES_FIRST (8 * WF_MIB)
#define WF_STACK_BATCH_MAX 32

/* A holder of a short lock releases it within this many looks of a waiter. */
#define WF_LOCK_SPINS 64

/*
 * A holder ends its pick within this many looks of a thief, unless its thread
 * was stopped.
 */
#define WF_HANDSHAKE_TRIES 200

/* A theft of this many tasks or more has both queues shuffled. */
#define WF_SHUFFLE_MIN 32

/*
 * How many children that have not started a joiner runs as calls, at most,
 * before it yields.
 */
#define WF_JOIN_CALLS 65536

/*
 * The monitor sleeps after this many looks in a row that found nothing to do.
 */
#define WF_MONITOR_IDLE_LOOKS 4

/* Defaults of weft_config (weft/runtime.h). */
#define WF_LOCAL_CAPACITY 256
#define WF_GLOBAL_TICK 61
#define WF_LIFO_BUDGET 3
#define WF_STEAL_ROUNDS 4
#define WF_COOP_BUDGET 128
#define WF_SPIN_NS (50 * WF_NS_PER_US)

/* Tasks that a strand runs in one turn, before other tasks of its executor. */
#define WF_STRAND_TURN 64

/* Executors that an asynchronous mutex remembers. */
#define WF_AMUTEX_PLACES 6

#endif

#endif
