/* SPDX-License-Identifier: MIT */
/*
 * fiber/fiber.h - the fiber: a task with a descriptor and, later, a stack.
 *
 * The descriptor is two cache lines.  A fiber that is spawned, runs and ends
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
 * WAIT, the other word: which wait the fiber is in, and whose wake won.
 *
 *	CANCELLED	sticky: calls that would wait return -ECANCELED
 *	PHASE		IDLE, ARMED (it may be claimed, and still runs), PARKED
 *			(it may be claimed, and is off its stack), CLAIMED
 *	epoch		counts waits, over all lives of the descriptor; so a
 *			waker that is late finds another epoch
 *
 *	IDLE -> ARMED, epoch + 1	wf_wait_begin, by the fiber
 *	ARMED -> PARKED			by its commit, after the switch
 *	ARMED, PARKED -> CLAIMED	by the one waker who wins; from PARKED
 *					it must also make the fiber runnable
 *	ARMED, CLAIMED -> IDLE		wf_wait_end, by the fiber
 *
 *	CUT		(with CLAIMED) it was a cancellation that won
 *
 * READY, for those who look on: since when, in us, an odd number; or
 *
 *	0		it is not: it runs, or waits, or is done
 *	UNKNOWN		ready since some time
 *	INLINE		not ready; it waits for a child that runs as its call
 *
 * Descriptors are type-stable: memory that was one is one until the runtime
 * ends, so a stale ticket or a late waker may look at it safely.
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
#include "queue/entry.h"
#include "stack/stack.h"

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

/* What changes in a life: all but VOID, USE and CLS. */
#define WF_FIBER_LIFE 0x7fu

/* WAIT */
#define WF_WAIT_CANCELLED ((uint64_t)1)
#define WF_WAIT_PHASE ((uint64_t)6)
#define WF_WAIT_IDLE ((uint64_t)0)
#define WF_WAIT_ARMED ((uint64_t)2)
#define WF_WAIT_PARKED ((uint64_t)4)
#define WF_WAIT_CLAIMED ((uint64_t)6)
#define WF_WAIT_CUT ((uint64_t)8)
#define WF_WAIT_EPOCH ((uint64_t)16)	/* one of them */

/* READY */
#define WF_READY_UNKNOWN 1u
#define WF_READY_INLINE 2u

struct wf_waiter;

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

	/* Part 2: zero in a free one, but for epoch and the last three. */
	_Atomic(uint64_t) wait wf_aligned(WF_CACHE_LINE);	/* WAIT */
	_Atomic(const char *) name;
	_Atomic(void *) entry;		/* its function, once it has a stack */
	_Atomic(const char *) waits_for;	/* these three by the fiber */
	_Atomic(const void *) waits_on;
	_Atomic(int64_t) since_ns;
	struct wf_waiter *joiner;	/* by JOINED */
	weft_executor *executor;	/* abroad: where it runs; fixed */
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

/* Become the one who starts the fiber of a ticket: a wf_claim_fn. */
bool wf_fiber_claim(wf_entry ticket);

/* The same for who has the fiber's handle. */
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

/*
 * WAIT, by the fiber f itself.  begin: true and the epoch of the new wait;
 * false: the fiber is cancelled and waits for nothing.  end: true if it was cut
 * short by a cancellation.
 */
bool wf_wait_begin(weft_fiber *f, uint64_t *epoch);
bool wf_wait_end(weft_fiber *f);

/* After the switch: from now on a waker must make it runnable.  False: it was
 * claimed already and runs on. */
bool wf_wait_park(weft_fiber *f);

enum wf_claim {
	WF_CLAIM_LOST,		/* somebody else ended this wait */
	WF_CLAIM_RUNS,		/* won; the fiber has not left its stack */
	WF_CLAIM_WAKE,		/* won; the caller must make it runnable */
};

/* Try to be the one who ends wait epoch of f.  Anyone, at any time. */
enum wf_claim wf_wait_claim(weft_fiber *f, uint64_t epoch);

/* Cancel f for good; the result as for claim, of the wait it is in. */
enum wf_claim wf_wait_cancel(weft_fiber *f);

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
	wf_store_rlx(&f->entry, wf_load_rlx(&f->start.fn));
	/* [pair: fiber.entry] Before the context takes the place of start. */
	wf_fence_rel();
}

/* f will wait: for what, on what, since about when. */
static inline void wf_fiber_note(
	weft_fiber *f, const char *what, const void *on, int64_t since_ns)
{
	wf_fiber_use(f);
	wf_store_rlx(&f->waits_for, what);
	wf_store_rlx(&f->waits_on, on);
	wf_store_rlx(&f->since_ns, since_ns);
}

static inline bool wf_fiber_is_cancelled(weft_fiber *f)
{
	return wf_load_rlx(&f->wait) & WF_WAIT_CANCELLED;
}

#endif
