/* SPDX-License-Identifier: MIT */
/*
 * fiber/fiber.c - the two state words of a fiber: every transition that has
 * more than one possible winner.
 */
#include "fiber/fiber.h"

#include "base/assert.h"

_Static_assert(offsetof(weft_fiber, task) == 0, "a fiber is a task");

void wf_fiber_task_run(weft_task *task)
{
	wf_assert(false,
		"fiber %p was run by an executor that cannot run fibers",
		(void *)task);
}

/* Is it the life of the descriptor that the ticket is for? */
static bool is_use(uint32_t state, wf_entry ticket)
{
	return (uint8_t)(state >> WF_FIBER_USE_SHIFT) == wf_entry_use(ticket);
}

/* Clear FRESH, if it is set and the rest is as seen. */
static bool start(weft_fiber *f, uint32_t *seen)
{
	/*
	 * [pair: fiber.fresh] See what spawn wrote.  A stale ticket may meet a
	 * fiber spawned elsewhere, which came here through no queue: were this
	 * relaxed, its function could be read as that of the fiber before it.
	 */
	return wf_cas_acq(&f->state, seen, *seen & ~WF_FIBER_FRESH);
}

bool wf_fiber_claim(wf_entry ticket)
{
	weft_fiber *f = wf_fiber_of(wf_entry_task(ticket));
	uint32_t seen = wf_load_rlx(&f->state);

	while ((seen & WF_FIBER_FRESH) && is_use(seen, ticket))
		if (start(f, &seen))
			return true;
	return false;
}

bool wf_fiber_claim_handle(weft_fiber *f)
{
	uint32_t seen = wf_load_rlx(&f->state);

	while (seen & WF_FIBER_FRESH)
		if (start(f, &seen))
			return true;
	return false;
}

bool wf_fiber_is_fresh(wf_entry ticket)
{
	weft_fiber *f = wf_fiber_of(wf_entry_task(ticket));
	uint32_t seen = wf_load_rlx(&f->state);

	return (seen & WF_FIBER_FRESH) && is_use(seen, ticket);
}

bool wf_wait_begin(weft_fiber *f, uint64_t *epoch)
{
	uint64_t seen = wf_load_rlx(&f->wait), armed;

	do {
		if (seen & WF_WAIT_CANCELLED)
			return false;
		armed = seen + WF_WAIT_EPOCH + WF_WAIT_ARMED;
		/* Relaxed: who claims learns the epoch from an object later. */
	} while (!wf_cas_weak_rlx(&f->wait, &seen, armed));
	*epoch = armed / WF_WAIT_EPOCH;
	return true;
}

bool wf_wait_end(weft_fiber *f)
{
	uint64_t seen = wf_load_rlx(&f->wait);

	/* [pair: fiber.wake] See what the claimer did before. */
	while (!wf_cas_weak_acq(
		&f->wait, &seen, seen & ~(WF_WAIT_PHASE | WF_WAIT_CUT)))
		continue;
	return seen & WF_WAIT_CUT;
}

/* One step of WAIT from phase to phase, in the epoch that seen has. */
static bool step(weft_fiber *f, uint64_t *seen, uint64_t from, uint64_t to)
{
	if ((*seen & WF_WAIT_PHASE) != from)
		return false;
	/*
	 * [pair: fiber.wake] What the waker did before it claimed is seen by
	 * the fiber that goes on; and its saved context, when it parked, by
	 * the waker.
	 */
	return wf_cas_acqrel(&f->wait, seen, (*seen & ~WF_WAIT_PHASE) | to);
}

bool wf_wait_park(weft_fiber *f)
{
	uint64_t seen = wf_load_rlx(&f->wait);

	while ((seen & WF_WAIT_PHASE) == WF_WAIT_ARMED)
		if (step(f, &seen, WF_WAIT_ARMED, WF_WAIT_PARKED))
			return true;
	return false;
}

/* Claim the wait that seen shows, as long as it is that one. */
static enum wf_claim claim(weft_fiber *f, uint64_t seen, uint64_t claimed)
{
	uint64_t epoch = seen / WF_WAIT_EPOCH;

	while (seen / WF_WAIT_EPOCH == epoch) {
		if (step(f, &seen, WF_WAIT_PARKED, claimed))
			return WF_CLAIM_WAKE;
		if (step(f, &seen, WF_WAIT_ARMED, claimed))
			return WF_CLAIM_RUNS;
		if ((seen & WF_WAIT_PHASE) == WF_WAIT_CLAIMED ||
			(seen & WF_WAIT_PHASE) == WF_WAIT_IDLE)
			break;
	}
	return WF_CLAIM_LOST;
}

enum wf_claim wf_wait_claim(weft_fiber *f, uint64_t epoch)
{
	uint64_t seen = wf_load_rlx(&f->wait);

	if (seen / WF_WAIT_EPOCH != epoch)
		return WF_CLAIM_LOST;
	return claim(f, seen, WF_WAIT_CLAIMED);
}

enum wf_claim wf_wait_cancel(weft_fiber *f)
{
	uint64_t seen = wf_load_rlx(&f->wait);

	wf_fiber_use(f);
	while (!wf_cas_weak_rlx(&f->wait, &seen, seen | WF_WAIT_CANCELLED))
		continue;
	return claim(
		f, seen | WF_WAIT_CANCELLED, WF_WAIT_CLAIMED | WF_WAIT_CUT);
}
