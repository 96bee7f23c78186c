/* SPDX-License-Identifier: MIT */
/*
 * fiber/fiber.c - the two state words of a fiber: the transitions for which
 * several threads compete.
 */
#include "fiber/fiber.h"

#include "base/assert.h"

const char wf_suspend_name[] = "suspend";

_Static_assert(offsetof(weft_fiber, task) == 0, "a fiber is a task");

void wf_fiber_task_run(weft_task *task)
{
	wf_assert(false,
		"fiber %p was run by an executor that cannot run fibers",
		(void *)task);
}

/* Whether the ticket is for the present life of the descriptor. */
wf_inline bool is_use(uint32_t state, wf_entry ticket)
{
	return (uint8_t)(state >> WF_FIBER_USE_SHIFT) == wf_entry_use(ticket);
}

/* Clear FRESH and set more, if the state is still *seen. */
wf_inline bool start(weft_fiber *f, uint32_t *seen, uint32_t more)
{
	/*
	 * [pair: fiber.fresh] See the words that spawn wrote.  A stale ticket
	 * may meet a fiber that was spawned elsewhere and came here through no
	 * queue: were this relaxed, its function could be read as that of the
	 * fiber before it.
	 */
	return wf_cas_acq(&f->state, seen, (*seen & ~WF_FIBER_FRESH) | more);
}

wf_inline bool claim(wf_entry ticket, uint32_t more)
{
	weft_fiber *f = wf_fiber_of(wf_entry_task(ticket));
	uint32_t seen = wf_load_rlx(&f->state);

	while ((seen & WF_FIBER_FRESH) && is_use(seen, ticket))
		if (start(f, &seen, more))
			return true;
	return false;
}

bool wf_fiber_claim(wf_entry ticket)
{
	return claim(ticket, 0);
}

bool wf_fiber_claim_away(wf_entry ticket)
{
	return claim(ticket, WF_FIBER_AWAY);
}

bool wf_fiber_claim_handle(weft_fiber *f)
{
	uint32_t seen = wf_load_rlx(&f->state);

	while (seen & WF_FIBER_FRESH)
		if (start(f, &seen, 0))
			return true;
	return false;
}

bool wf_fiber_is_fresh(wf_entry ticket)
{
	weft_fiber *f = wf_fiber_of(wf_entry_task(ticket));
	uint32_t seen = wf_load_rlx(&f->state);

	return (seen & WF_FIBER_FRESH) && is_use(seen, ticket);
}

enum wf_claim wf_wait_claim(weft_fiber *f, uint64_t seen, uint64_t cause)
{
	uint64_t wait = seen &
		~(WF_WAIT_PHASE | WF_WAIT_CANCELED | WF_WAIT_LATE);
	uint64_t claimed = wait | WF_WAIT_CLAIMED | cause;

	seen = wf_load_rlx(&f->wait);
	for (;;) {
		uint64_t before = seen;

		if (seen != (wait | WF_WAIT_ARMED) &&
			seen != (wait | WF_WAIT_SETTLED))
			return WF_CLAIM_LOST;
		/*
		 * [pair: fiber.wake] The fiber that continues sees all that the
		 * waker did before it claimed; the waker sees the context that
		 * the fiber saved before it settled.
		 */
		if (wf_cas_acqrel(&f->wait, &seen, claimed))
			return before & WF_WAIT_SETTLED ? WF_CLAIM_WAKE
						       : WF_CLAIM_RUNS;
	}
}
