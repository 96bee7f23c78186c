/* SPDX-License-Identifier: MIT */
/*
 * weft/policy.h - the heuristics of the scheduler, to be switched and compared.
 *
 * Nobody needs this to use weft: the defaults are what measured best.  It is
 * here to measure again, on other machines and other work (docs/POLICIES.md).
 */
#ifndef WEFT_POLICY_H
#define WEFT_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/* Where ready tasks wait. */
enum weft_policy_queue {
	WEFT_QUEUE_STEALING,	/* a queue per processor, and a global one */
	WEFT_QUEUE_GLOBAL,	/* one global queue, first in first out */
	WEFT_QUEUE_BOUNDED,	/* one bounded lock-free queue per group, as in
				   flare; what does not fit overflows into a
				   list, and is counted */
};

/* How a processor's own queue is guarded. */
enum weft_policy_local {
	WEFT_LOCAL_ATOMIC,	/* without a lock */
	WEFT_LOCAL_MUTEX,
};

/* How much a thief takes. */
enum weft_policy_steal {
	WEFT_STEAL_HALF,
	WEFT_STEAL_ONE,
};

/* How much a processor takes from the global queue. */
enum weft_policy_take {
	WEFT_TAKE_SHARE,	/* its length / processors */
	WEFT_TAKE_ONE,
	WEFT_TAKE_ALL,		/* as much as its own queue can hold */
};

/* How much of a full queue goes to the global one. */
enum weft_policy_offload {
	WEFT_OFFLOAD_HALF,
	WEFT_OFFLOAD_ONE,
};

/* Is there a slot for WEFT_HINT_NEXT? */
enum weft_policy_lifo {
	WEFT_LIFO_ON,
	WEFT_LIFO_OFF,
};

/* Who is woken for a task that becomes ready. */
enum weft_policy_wake {
	WEFT_WAKE_GATE,		/* one sleeper, when it is known to pay */
	WEFT_WAKE_GO,		/* one sleeper, unless somebody searches: as in
				   Go, a searcher stands for all */
	WEFT_WAKE_FLARE,	/* one searcher is claimed by clearing its bit,
				   or else one sleeper is woken: as in flare */
};

/* Does the scheduler use locks of its own? */
enum weft_policy_locks {
	WEFT_LOCKS_SHORT,	/* around a few instructions, where they pay */
	WEFT_LOCKS_NONE,	/* on no path that a task takes */
};

/*
 * Each field is one of the enums above; zero is the default, so {0} is
 * complete.
 *
 * WEFT_LOCKS_NONE is the lock-free mode.  It goes with WEFT_QUEUE_STEALING and
 * WEFT_LOCAL_ATOMIC only.  A worker that is stopped at any point, for however
 * long, then holds back: the task it runs, the tasks it had in hand (one batch
 * out of a queue), and one processor that it was about to wake; all else goes
 * on.  Tasks never allocate, so this is all there is to them; a fiber that
 * begins or first waits may need a batch of descriptors or stacks from where
 * all have them from, which is guarded by short locks in every mode.
 */
typedef struct weft_policy {
	uint32_t queue;
	uint32_t local;
	uint32_t steal;
	uint32_t take;
	uint32_t offload;
	uint32_t lifo;
	uint32_t wake;
	uint32_t locks;
	/* Tasks that WEFT_QUEUE_BOUNDED holds: a power of two, 2 to 2^20;
	 * 0: 65,536. */
	uint32_t bounded_capacity;
} weft_policy;

/*
 * A policy from words, separated by commas; what is not said is the default:
 *
 *	ws global-fifo bounded		queue (ws: work stealing)
 *	atomic mutex			local
 *	steal-half steal-one
 *	take-share take-one take-all
 *	offload-half offload-one
 *	lifo no-lifo
 *	wake-gate wake-go wake-flare
 *	short-locks lock-free		locks
 *
 * Returns 0 and the policy in *p; -EINVAL for a word that there is not, two
 * that contradict each other, or a combination that cannot be: then why says
 * so as one sentence of at most why_bytes bytes, with the right words (300 are
 * enough); why may be NULL.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_policy_parse(
	weft_policy *p, const char *words, char *why, size_t why_bytes);

/*
 * The words of p that differ from the default, or "ws" if none does, as a
 * string of at most bytes bytes (120 are enough).
 *
 * Returns its length, or -EINVAL if p is not valid; -ENOSPC.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_policy_print(
	const weft_policy *p, char *words, size_t bytes);

WEFT_END_DECLS

#endif
