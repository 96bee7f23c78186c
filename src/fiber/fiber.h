/* SPDX-License-Identifier: MIT */
/*
 * fiber/fiber.h - the fiber: a task with a descriptor and, later, a stack.
 *
 * The descriptor is four cache lines.  A fiber that is spawned, runs and ends
 * without ever waiting touches only the first.  In it one place is used three
 * times over, because a fiber needs only one of them at a time:
 *
 *	start	its function and argument, until it first leaves its stack
 *	context	where it goes on, while it is off its stack
 *	result	what its function returned, once it is done
 *
 * A fiber that has not left its stack yet has stack == NULL: it runs as a call
 * on a stack that belongs to the loop below it (sched/run.h), and takes that
 * stack over when it first has to wait.
 *
 * STATE, one word, by whoever holds the right to the transition:
 *
 *	LIVE	 the descriptor is a fiber; clear: it is free.  Nothing else but
 *		 USE is set in a free one.
 *	FRESH	 it has not started, and whoever clears this bit by
 *		 compare-and-swap starts it: the entry in a local queue is only
 *		 a ticket (queue/entry.h), the joiner may be faster.  Clear in
 *		 one that has not started: the queue entry owns it.
 *	DETACHED nobody will join it; it is freed when it ends.
 *	JOINED	 a joiner waits: joiner is valid until its wait is claimed.
 *	DONE	 it has ended and result is valid.
 *	USED	 part 2 is to be cleaned at the end
 *	VOID	 its function returns nothing: weft_go; fixed by spawn
 *	CLS	 its stack class; fixed by spawn
 *	USE	 a number that differs from one joinable life of the descriptor
 *		 to the next, mostly, so that a ticket of an earlier one is
 *		 known to be dead
 *	AWAY	 it was claimed to be moved to the global queue, with many
 *		 others: set with the claim, for life/finish.c
 *	LETGO	 (with DONE) the ended fiber has let go of a joiner that had
 *		 given up at the same moment; only such a joiner looks for it.
 *
 *	free -> LIVE [| FRESH] [| DETACHED]	spawn
 *	-FRESH					claim: pick, thief, joiner
 *	+JOINED, -JOINED			join, and when it gives up
 *	+DETACHED				detach
 *	+DONE, then free by the joiner		end
 *	-> free					end, if DETACHED
 *
 * WAIT, the other word: which wait the fiber is in, and who ended it.
 *
 *	PHASE		IDLE, ARMED (it may be claimed, and still runs), PARKED
 *			(it may be claimed, and is off its stack), CLAIMED
 *	FIRM		no cancellation ends this wait
 *	TIMED		it ends at `until'
 *	CUT, LATE	(with CLAIMED) a cancellation or a deadline ended it
 *	epoch		counts waits, over all lives of the descriptor; so a
 *			waker that is late finds another word
 *
 *	IDLE -> ARMED or PARKED, epoch + 1	by the fiber's commit
 *	ARMED -> PARKED, IDLE			the same
 *	ARMED, PARKED -> CLAIMED	by the one waker who wins; from PARKED
 *					it must also make the fiber runnable
 *	CLAIMED -> IDLE			by the fiber, when it runs on
 *
 * CUT, a word of its own, is what others ask of the fiber: bits are set by
 * anyone and stay, but for SCOPE (life/scope.c).  Who sets one looks at WAIT
 * afterwards, and who begins a wait looks at CUT afterwards, with a fence each
 * [fiber.cut]: one of them sees the other.
 *
 * READY, for those who look on: since when, in us, an odd number; or
 *
 *	0		it is not: it runs, or waits, or is done
 *	UNKNOWN		ready since some time
 *	INLINE		not ready; it waits for a child that runs as its call
 *
 * Descriptors are type-stable: memory that was one is one until the runtime
 * ends, so a stale ticket or a late waker may look at it safely.  Pages of free
 * ones may be given back to the system; they then read as zero, a free one.
 *
 * Reads next: fiber/slab.h, where descriptors come from.
 */
#ifndef WF_FIBER_FIBER_H
#define WF_FIBER_FIBER_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/fiber.h>

#include "arch/context.h"
#include "base/atomic.h"
#include "base/compiler.h"
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

/* What changes in a life: all but VOID, USE and CLS. */
#define WF_FIBER_LIFE 0x7fu

/* WAIT */
#define WF_WAIT_PHASE ((uint64_t)3)
#define WF_WAIT_IDLE ((uint64_t)0)
#define WF_WAIT_ARMED ((uint64_t)1)
#define WF_WAIT_PARKED ((uint64_t)2)
#define WF_WAIT_CLAIMED ((uint64_t)3)
#define WF_WAIT_FIRM ((uint64_t)4)
#define WF_WAIT_TIMED ((uint64_t)8)
#define WF_WAIT_CUT ((uint64_t)16)
#define WF_WAIT_LATE ((uint64_t)32)
#define WF_WAIT_EPOCH ((uint64_t)64)	/* one of them */

/* CUT */
#define WF_CUT_CANCELLED 1u	/* weft_cancel, or the runtime stops */
#define WF_CUT_MEMBER 2u	/* the scope it was started in is cancelled */
#define WF_CUT_SCOPE 4u		/* one that it has open is */

/* OWN, of the fiber alone. */
#define WF_OWN_SHIELD 1u	/* it does not want to know of CUT and limit */
#define WF_OWN_LIMIT 2u		/* limit is a deadline */
#define WF_OWN_SHELTER 4u	/* a scope was opened since SHIELD */

/* READY */
#define WF_READY_UNKNOWN 1u
#define WF_READY_INLINE 2u

/* So many lines of its stack a fiber that goes on after a wait touches. */
#define WF_FIBER_LINES 8
#define WF_FIBER_BELOW 256

struct wf_node;
struct wf_scope;

struct weft_fiber {
	/* Part 1: by whoever holds the right to run it. */
	weft_task task;			/* must be first */
	union {
		struct wf_context context;
		struct {
			_Atomic(void *) fn;	/* as VOID says */
			void *arg;
		} start;
		struct {
			void *fn_;	/* good as long as it never waited */
			_Atomic(void *) result;
		};
	};
	struct wf_stack *stack;		/* NULL: see above */
	_Atomic(uint32_t) state;	/* STATE; any thread */
	_Atomic(uint32_t) ready_us;	/* READY; read by anyone */

	/* Part 2: zero in a free one, but for the epoch and ahead. */
	_Atomic(uint64_t) wait wf_aligned(WF_CACHE_LINE);	/* WAIT */
	weft_fiber *ahead;		/* ready: one behind it in the queue,
					   maybe; only to be fetched */
	_Atomic(void *) entry;		/* its function, once it has a stack;
					   in a scope from the beginning */
	_Atomic(const char *) waits_for;	/* these three by the fiber */
	_Atomic(const void *) waits_on;
	_Atomic(int64_t) since_ns;
	struct wf_node *joiner;		/* by JOINED */
	_Atomic(uint32_t) cut;		/* CUT */
	uint32_t own;			/* OWN */

	/* Part 3: seldom used; zero in a free one, but for timer. */
	_Atomic(const char *) name;
	weft_executor *executor;	/* abroad: where it runs; fixed */
	weft_time limit;		/* by OWN_LIMIT: inherited; its own */
	_Atomic(struct wf_scope *) member;	/* it was started in; fixed */
	struct wf_scope *scopes;	/* it has open; by scope_lock */
	struct wf_spin scope_lock;	/* see life/scope.c; any thread */
	void *keys;			/* life/key.c; its own */
	/* Part 4. */
	_Atomic(int64_t) until		/* by TIMED: when its wait ends */
		wf_aligned(WF_CACHE_LINE);
	_Atomic(int64_t) latest;	/* the same: at the latest */
	struct wf_timer timer;		/* by the lock of the heap it is in */
};

static inline weft_fiber *wf_fiber_of(weft_task *task)
{
	return (weft_fiber *)task;
}

/*
 * What a fiber's task does on an executor that does not know fibers.  Ours does
 * and never calls it; it is how a task is told to be a fiber.
 */
void wf_fiber_task_run(weft_task *task);

static inline bool wf_task_is_fiber(const weft_task *task)
{
	return task->run == wf_fiber_task_run;
}

/* Is it a fiber that was moved to the global queue before it started? */
static inline bool wf_task_is_away(weft_task *task)
{
	return wf_task_is_fiber(task) &&
		(wf_load_rlx(&wf_fiber_of(task)->state) & WF_FIBER_AWAY);
}

/* Become the one who starts the fiber of a ticket: a wf_claim_fn. */
bool wf_fiber_claim(wf_entry ticket);

/* Claim it to move it to the global queue (AWAY): a wf_claim_fn. */
bool wf_fiber_claim_away(wf_entry ticket);

/* As wf_fiber_claim, for who has the fiber's handle. */
bool wf_fiber_claim_handle(weft_fiber *f);

/* Could one still claim it?  As a hint. */
bool wf_fiber_is_fresh(wf_entry ticket);

/* Of a free descriptor: USE in its next life. */
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
	WF_CLAIM_LOST,		/* somebody else ended this wait */
	WF_CLAIM_RUNS,		/* won; the fiber has not left its stack */
	WF_CLAIM_WAKE,		/* won; the caller must make it runnable */
};

/*
 * Try to be the one who ends the wait of f that seen, a WAIT word of it, shows.
 * cause is CUT, LATE or 0.  Anyone, at any time.
 */
enum wf_claim wf_wait_claim(weft_fiber *f, uint64_t seen, uint64_t cause);

static inline uint8_t wf_fiber_cls(weft_fiber *f)
{
	return (uint8_t)(wf_load_rlx(&f->state) >> WF_FIBER_CLS_SHIFT);
}

/* Part 2 of f is about to be written. */
static inline void wf_fiber_use(weft_fiber *f)
{
	if (!(wf_load_rlx(&f->state) & WF_FIBER_USED))
		(void)wf_or_rlx(&f->state, WF_FIBER_USED);
}

/* The first time f leaves the stack it was called on, or is resumed on one. */
static inline void wf_fiber_adopt(weft_fiber *f, struct wf_stack *stack)
{
	f->stack = stack;
	wf_fiber_use(f);
	if (wf_load_rlx(&f->entry) == NULL)
		wf_store_rlx(&f->entry, wf_load_rlx(&f->start.fn));
	/* [pair: fiber.entry] Before the context takes the place of start. */
	wf_fence_rel();
}

/* f, which is USED, will wait: for what, on what, since about when. */
static inline void wf_fiber_note(
	weft_fiber *f, const char *what, const void *on, int64_t since_ns)
{
	wf_store_rlx(&f->waits_for, what);
	wf_store_rlx(&f->waits_on, on);
	wf_store_rlx(&f->since_ns, since_ns);
}

/*
 * f will run soon: what it touches first, which is cold if it has waited for
 * long.  By who has the right to run it.
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

/* Was it asked to end, as far as it wants to know? */
static inline bool wf_fiber_is_cut(weft_fiber *f)
{
	return wf_load_rlx(&f->cut) != 0 && !(f->own & WF_OWN_SHIELD);
}

#endif
