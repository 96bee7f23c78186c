/* SPDX-License-Identifier: MIT */
/*
 * base/limits.h - sizes that are small in the simulator.
 *
 * A queue of 256 entries that overflows, a magazine of 64 that runs empty, a
 * lock that is spun for 64 times: what is rare in production must happen within
 * a few hundred steps of a simulated run.  Nothing but these numbers is
 * different there.
 */
#ifndef WF_BASE_LIMITS_H
#define WF_BASE_LIMITS_H

#include "base/units.h"

/*
 * 1: every runtime has the default policy, and the compiler knows; to measure
 * what it costs that there are others (sched/policy.h).
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
#define WF_SHARE_TRIES 2
#define WF_JOIN_CALLS 16
#define WF_MONITOR_IDLE_LOOKS 1
#define WF_LOCAL_CAPACITY 4
#define WF_GLOBAL_TICK 3
#define WF_LIFO_BUDGET 2
#define WF_STEAL_ROUNDS 1
#define WF_MIX_MIN 2
#define WF_COOP_BUDGET 4
#define WF_SPIN_NS 1
#define WF_STRAND_TURN 2

#else

/* Fiber descriptors: bytes of a slab, and how many change hands at once. */
#define WF_SLAB_BYTES WF_MIB
#define WF_FIBER_BATCH 64

/*
 * Memory of free descriptors goes back to the system in units, so many at once,
 * and so many are kept; and so many magazines that are not sorted by units.
 */
#define WF_UNIT_BYTES (16 * WF_KIB)
#define WF_UNITS_SPARE 64
#define WF_UNITS_AT_ONCE 64
#define WF_DEPOT_MAX 64

/* Stacks: the first arena of a class, and how many change hands at once. */
#define WF_ARENA_BYTES_FIRST (8 * WF_MIB)
#define WF_STACK_BATCH_MAX 32

/* A critical section is shorter than this many looks at the lock. */
#define WF_LOCK_SPINS 64

/* A pick takes less than as many looks, unless its thread was stopped. */
#define WF_SHARE_TRIES 200

/* Children that a joiner runs as calls while others have not started. */
#define WF_JOIN_CALLS 65536

/* The monitor finds nothing to do so often, before it sleeps. */
#define WF_MONITOR_IDLE_LOOKS 4

/* Defaults of weft_config, see there. */
#define WF_LOCAL_CAPACITY 256
#define WF_GLOBAL_TICK 61
#define WF_LIFO_BUDGET 3
#define WF_STEAL_ROUNDS 4
#define WF_COOP_BUDGET 128
#define WF_SPIN_NS (50 * WF_NS_PER_US)

/* So many fine tasks stolen at once are put into another order. */
#define WF_MIX_MIN 32

/* Tasks that a strand runs at once, before others have their turn. */
#define WF_STRAND_TURN 64

#endif

#endif
