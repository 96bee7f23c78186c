/* SPDX-License-Identifier: MIT */
/*
 * weft/policy.h - switches for the scheduler's heuristics, for comparisons.
 *
 * Programs do not need this header: the defaults are the choices that measured
 * best.  It serves to measure them again, on other machines and with other work
 * (docs/POLICIES.md).
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
	WEFT_QUEUE_BOUNDED,	/* one bounded lock-free queue per group, as
				 * in flare; tasks that do not fit go to a
				 * list, and are counted */
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
	WEFT_TAKE_SHARE,	/* length / processors */
	WEFT_TAKE_ONE,
	WEFT_TAKE_ALL,		/* as many as its own queue has room for */
};

/* How much of a full local queue goes to the global one. */
enum weft_policy_offload {
	WEFT_OFFLOAD_HALF,
	WEFT_OFFLOAD_ONE,
};

/* Whether there is a slot for WEFT_HINT_NEXT. */
enum weft_policy_lifo {
	WEFT_LIFO_ON,
	WEFT_LIFO_OFF,
};

/* Which processor is woken for a task that becomes ready. */
enum weft_policy_wake {
	WEFT_WAKE_GATE,		/* a sleeper, if measurements say it pays */
	WEFT_WAKE_GO,		/* a sleeper, unless a processor searches
				 * already, as in Go */
	WEFT_WAKE_FLARE,	/* as in flare: claim a searcher by clearing
				 * its bit; without one, wake a sleeper */
};

/* Whether the scheduler uses locks of its own. */
enum weft_policy_locks {
	WEFT_LOCKS_SHORT,	/* around a few instructions, where they pay */
	WEFT_LOCKS_NONE,	/* not on any path that a task takes */
};

/*
 * The scheduler's choices.  Each field is one of the enums above; zero is the
 * default, so {0} is complete.
 *
 * WEFT_LOCKS_NONE is the lock-free mode.  It can be combined only with
 * WEFT_QUEUE_STEALING and WEFT_LOCAL_ATOMIC.  A worker thread that is stopped
 * at any point, for however long, then delays only these: the task it runs, the
 * tasks it was moving (one batch out of a queue), and one processor that it was
 * about to wake.  All other work continues.  Tasks never allocate, so this
 * holds for tasks without exception.  A fiber that starts, or waits for the
 * first time, may need a batch of descriptors or stacks from a common store,
 * and short locks guard that store in every mode.
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
 * Make a policy from words, separated by commas.  Choices that are not named
 * keep their default.
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
 * Returns 0 and the policy in *p; -EINVAL for an unknown word, two words that
 * contradict each other, or a combination that is not supported.  On -EINVAL
 * why gets one sentence of at most why_bytes bytes that names the valid words
 * (300 bytes are enough); why may be NULL.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_policy_parse(
	weft_policy *p, const char *words, char *why, size_t why_bytes);

/*
 * Store the words of p that differ from the default, or "ws" if none does, as a
 * string of at most bytes bytes (120 are enough).
 *
 * Returns the length of the string, or -EINVAL if p is not valid; -ENOSPC.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_policy_print(
	const weft_policy *p, char *words, size_t bytes);

WEFT_END_DECLS

#endif
