/* SPDX-License-Identifier: MIT */
/*
 * fiber/fiber.h - the fiber: a task with a descriptor and, later, a stack.
 *
 * The descriptor is four cache lines.  A fiber that is spawned, runs and ends
 * without ever waiting touches only the first.  One place in it has three uses,
 * because a fiber needs only one of them at a time:
 *
 *	start	its function and argument, until it first leaves its stack
 *	context	where it continues, while it is off its stack
 *	result	the result of its function, once it is done
 *
 * A fiber that has not left its stack yet has stack == NULL: it runs as a call
 * on a stack that belongs to the loop below it (sched/run.h), and takes that
 * stack over when it first has to wait.
 *
 * STATE, one word.  Each transition is made by the thread that has the right
 * to:
 *
 *	LIVE	 the descriptor is a fiber; clear: it is free.  In a free one
 *		 only USE may be set.
 *	FRESH	 the fiber has not started, and the thread that clears this bit
 *		 by compare-and-swap starts it: the entry in a local queue is
 *		 only a ticket (queue/entry.h), the joiner may be faster.  If
 *		 it is clear before the start, the queue entry owns the fiber.
 *	DETACHED the fiber cannot be joined; it is freed when it ends.
 *	JOINED	 a joiner waits: joiner is valid until its wait is claimed.
 *	DONE	 the fiber has ended and result is valid.
 *	USED	 part 2 must be cleaned at the end
 *	VOID	 its function returns nothing: weft_go; fixed by spawn
 *	CLS	 its stack class; fixed by spawn
 *	USE	 a number that mostly differs from one joinable life of the
 *		 descriptor to the next, so that a ticket of an earlier life is
 *		 known to be dead
 *	AWAY	 the fiber was claimed to be moved to the global queue, with
 *		 many others: set with the claim, for life/finish.c
 *	LETGO	 (with DONE) the ended fiber does not touch a joiner any more
 *		 that had given up at the same moment; only such a joiner waits
 *		 for this bit.
 *
 *	free -> LIVE [| FRESH] [| DETACHED]	spawn
 *	-FRESH					claim: pick, thief, joiner
 *	+JOINED, -JOINED			join, and when it gives up
 *	+DETACHED				detach
 *	+DONE, then free by the joiner		end
 *	-> free					end, if DETACHED
 *
 * WAIT, the other word: the present wait of the fiber, and what ended it.
 *
 *	PHASE		IDLE, ARMED (it may be claimed, and still runs), SETTLED
 *			(it may be claimed, and is off its stack), CLAIMED
 *	SHIELDED	no cancellation ends this wait
 *	TIMED		the wait ends at `until'
 *	CANCELED, LATE	(with CLAIMED) a cancellation or a deadline ended it
 *	epoch		counts waits, over all lives of the descriptor; so a
 *			late waker finds another word
 *
 *	IDLE -> ARMED or SETTLED, epoch + 1	by the fiber's commit
 *	ARMED -> SETTLED, IDLE			by the fiber's commit
 *	ARMED, SETTLED -> CLAIMED	by the one waker that wins; from SETTLED
 *					it must also make the fiber runnable
 *	CLAIMED -> IDLE			by the fiber, when it continues
 *
 * CANCEL, a third word: requests to end.  Any thread sets bits, and they stay,
 * except SCOPE (life/scope.c).  A thread that sets a bit reads WAIT afterwards,
 * and a fiber that begins a wait reads CANCEL afterwards, with a fence each
 * [fiber.cancel]: at least one of the two sees the other's store.
 *
 * READY, for observers: the time since which the fiber is ready, in us, an odd
 * number; or
 *
 *	0		not ready: it runs, or waits, or is done
 *	UNKNOWN		ready since an unknown time
 *	INLINE		not ready; it waits for a child that runs as its call
 *
 * Descriptors are type-stable: memory that was a descriptor stays one until the
 * runtime ends, so a stale ticket or a late waker may read it safely.  Pages of
 * free descriptors may be given back to the system; they then read as zero,
 * which is a free descriptor.
 *
 * Reads next: fiber/slab.h, where descriptors come from.
 */
#ifndef WF_FIBER_FIBER_H
#define WF_FIBER_FIBER_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/fiber.h>

#include "arch/context.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/sanitize.h"
#include "os/spin.h"
#include "queue/entry.h"
#include "stack/stack.h"
#include "timer/heap.h"

/* STATE */
#define WF_FIBER_LIVE 1u
#define WF_FIBER_FRESH 2u
#define WF_FIBER_DETACHED 4u
#define WF_FIBER_JOINED 8u
#define WF_FIBER_DONE 16u
#define WF_FIBER_LETGO 32u
#define WF_FIBER_USED 64u
#define WF_FIBER_VOID 128u
#define WF_FIBER_USE 0xff00u
#define WF_FIBER_USE_SHIFT 8
#define WF_FIBER_CLS_SHIFT 16
#define WF_FIBER_AWAY (1u << 24)

/* The stages of a life: all bits but VOID, USE, CLS and AWAY. */
#define WF_FIBER_LIFE 0x7fu

/* WAIT */
#define WF_WAIT_PHASE ((uint64_t)3)
#define WF_WAIT_IDLE ((uint64_t)0)
#define WF_WAIT_ARMED ((uint64_t)1)
#define WF_WAIT_SETTLED ((uint64_t)2)
#define WF_WAIT_CLAIMED ((uint64_t)3)
#define WF_WAIT_SHIELDED ((uint64_t)4)
#define WF_WAIT_TIMED ((uint64_t)8)
#define WF_WAIT_CANCELED ((uint64_t)16)
#define WF_WAIT_LATE ((uint64_t)32)
#define WF_WAIT_EPOCH ((uint64_t)64)	/* one epoch */

/* CANCEL */
#define WF_CANCEL_SELF 1u	/* weft_cancel, or the runtime stops */
#define WF_CANCEL_MEMBER 2u	/* the scope of the fiber is cancelled */
#define WF_CANCEL_SCOPE 4u		/* an open scope of it is cancelled */

/* OWN, used by the fiber alone. */
#define WF_OWN_SHIELD 1u	/* it ignores CANCEL and limit */
#define WF_OWN_LIMIT 2u		/* limit is a deadline */
#define WF_OWN_SHELTER 4u	/* a scope was opened since SHIELD */

/* READY */
#define WF_READY_UNKNOWN 1u
#define WF_READY_INLINE 2u

/*
 * Cache lines of its stack that a fiber touches first after a wait, and how far
 * below its stack pointer they begin.
 */
#define WF_FIBER_LINES 8
#define WF_FIBER_BELOW 256

struct wf_node;
struct wf_scope;

struct weft_fiber {
	/* Part 1: used by the holder of the right to run the fiber. */
	weft_task task;			/* must be first */
	union {
		struct wf_context context;
		struct {
			_Atomic(void *) fn;	/* its type depends on VOID */
			void *arg;
		} start;
		struct {
			void *fn_;	/* valid if the fiber never waited */
			_Atomic(void *) result;
		};
	};
	struct wf_stack *stack;		/* NULL: see above */
	_Atomic(uint32_t) state;	/* STATE; any thread */
	_Atomic(uint32_t) ready_us;	/* READY; read by anyone */

	/* Part 2: zero in a free descriptor, except the epoch and ahead. */
	_Atomic(uint64_t) wait wf_aligned(WF_CACHE_LINE);	/* WAIT */
	weft_fiber *ahead;		/* while ready: maybe the fiber
					 * behind it in the queue; only
					 * prefetched */
	_Atomic(void *) entry;		/* its function, once it has a stack;
					 * in a scope from the beginning */
	_Atomic(const char *) waits_for;	/* written by the fiber,
						 * these three */
	_Atomic(const void *) waits_on;
	_Atomic(int64_t) since_ns;
	struct wf_node *joiner;		/* valid with JOINED */
	_Atomic(uint32_t) cancel;		/* CANCEL */
	uint32_t own;			/* OWN */

	/* Part 3: seldom used; zero in a free descriptor, except timer. */
	_Atomic(const char *) name;
	weft_executor *executor;	/* on a foreign one: which; fixed */
	weft_time limit;		/* with OWN_LIMIT: inherited; its own */
	_Atomic(struct wf_scope *) member;	/* its scope; fixed */
	struct wf_scope *scopes;	/* open scopes; under scope_lock */
	struct wf_spin scope_lock;	/* see life/scope.c; any thread */
	void *keys;			/* life/key.c; of the fiber alone */
	/* Part 4. */
	_Atomic(int64_t) until		/* with TIMED: when its wait ends */
		wf_aligned(WF_CACHE_LINE);
	_Atomic(int64_t) latest;	/* with TIMED: at the latest */
	struct wf_timer timer;		/* under the lock of its heap */
};

static inline weft_fiber *wf_fiber_of(weft_task *task)
{
	return (weft_fiber *)task;
}

/*
 * The run function of a fiber's task.  weft's own executors know fibers and
 * never call it; it marks a task as a fiber, and ends the program if an
 * executor that does not know fibers calls it.
 */
void wf_fiber_task_run(weft_task *task);

static inline bool wf_task_is_fiber(const weft_task *task)
{
	return task->run == wf_fiber_task_run;
}

/*
 * Whether the task is a fiber that was moved to the global queue before it
 * started.
 */
static inline bool wf_task_is_away(weft_task *task)
{
	return wf_task_is_fiber(task) &&
		(wf_load_rlx(&wf_fiber_of(task)->state) & WF_FIBER_AWAY);
}

/* Claim the right to start the fiber of a ticket: a wf_claim_fn. */
bool wf_fiber_claim(wf_entry ticket);

/* Claim the fiber to move it to the global queue (AWAY): a wf_claim_fn. */
bool wf_fiber_claim_away(wf_entry ticket);

/* Claim the right to start f, by a thread that has its handle. */
bool wf_fiber_claim_handle(weft_fiber *f);

/* Whether a claim of the ticket could still succeed.  Only a hint. */
bool wf_fiber_is_fresh(wf_entry ticket);

/* The task of an entry; NULL: the entry is a dead ticket. */
static inline weft_task *wf_entry_redeem(wf_entry e)
{
	if (!wf_entry_is_ticket(e) || wf_fiber_claim(e))
		return wf_entry_task(e);
	return NULL;
}

/* The USE that a free descriptor will have in its next life. */
static inline uint32_t wf_fiber_next_use(weft_fiber *f)
{
	return (wf_load_rlx(&f->state) + (1u << WF_FIBER_USE_SHIFT)) &
		WF_FIBER_USE;
}

/* The ticket for f in its present life. */
static inline wf_entry wf_fiber_ticket(weft_fiber *f, uint32_t state)
{
	return wf_entry_ticket(
		&f->task, (uint8_t)(state >> WF_FIBER_USE_SHIFT));
}

enum wf_claim {
	WF_CLAIM_LOST,		/* another waker ended this wait */
	WF_CLAIM_RUNS,		/* won; the fiber has not left its stack */
	WF_CLAIM_WAKE,		/* won; the caller must make it ready */
};

/*
 * Claim the end of that wait of f which `seen', a WAIT word of f, shows.  cause
 * is CANCELED, LATE or 0.  Any thread, at any time.
 */
enum wf_claim wf_wait_claim(weft_fiber *f, uint64_t seen, uint64_t cause);

static inline uint8_t wf_fiber_cls(weft_fiber *f)
{
	return (uint8_t)(wf_load_rlx(&f->state) >> WF_FIBER_CLS_SHIFT);
}

/* Call this before part 2 of f is written. */
static inline void wf_fiber_use(weft_fiber *f)
{
	if (!(wf_load_rlx(&f->state) & WF_FIBER_USED))
		(void)wf_or_rlx(&f->state, WF_FIBER_USED);
}

/*
 * f leaves the stack on which it was called, for the first time, or is resumed
 * on its first stack.
 */
static inline void wf_fiber_adopt(weft_fiber *f, struct wf_stack *stack)
{
	f->stack = stack;
	wf_fiber_use(f);
	if (wf_load_rlx(&f->entry) == NULL)
		wf_store_rlx(&f->entry, wf_load_rlx(&f->start.fn));
	/*
	 * [pair: fiber.entry] Store entry before the context overwrites start.
	 */
	wf_fence_rel();
}

/*
 * Note what f, which is USED, will wait for, on which object, since about when.
 */
static inline void wf_fiber_note(
	weft_fiber *f, const char *what, const void *on, int64_t since_ns)
{
	wf_store_rlx(&f->waits_for, what);
	wf_store_rlx(&f->waits_on, on);
	wf_store_rlx(&f->since_ns, since_ns);
}

/* The name of what a fiber waits for in weft_suspend. */
extern const char wf_suspend_name[];

/*
 * The caller ends a suspension of f.  Where misuse is looked for, waits_for
 * tells whether f is in weft_suspend and has not been woken: only one caller
 * finds the name there.  An exchange, because a load may be of an old value.
 */
static inline void wf_suspension_end(weft_fiber *f)
{
	if (WF_CHECKING)
		wf_assert(wf_xchg_rlx(&f->waits_for, NULL) == wf_suspend_name,
			"weft_wake: fiber %p is not suspended: it was woken "
			"twice for one suspension, or before its commit",
			(void *)f);
}

/*
 * Prefetch the memory that f touches first when it runs; after a long wait it
 * is not in the cache.  Called by the holder of the right to run f.
 */
static inline void wf_fiber_prefetch(const weft_fiber *f)
{
	const char *sp = f->context.sp;

	if (f->stack == NULL)
		return;
	wf_prefetch(&f->wait);
	wf_prefetch(&f->until);
	sp -= WF_FIBER_BELOW;
	for (unsigned i = 0; i < WF_FIBER_LINES; i++)
		wf_prefetch(sp + i * WF_CACHE_LINE);
}

/* Whether f was asked to end and does not ignore it. */
static inline bool wf_fiber_is_canceled(weft_fiber *f)
{
	return wf_load_rlx(&f->cancel) != 0 && !(f->own & WF_OWN_SHIELD);
}

#endif
