/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/word_scenarios.c - the two state words of a fiber, without fibers:
 * every transition that has more than one possible winner, by threads.
 *
 * The descriptor is plain memory; what a winner may do next is stood for by
 * plain variables, so that two winners, or one who does not see what it should,
 * are a race.
 */
#include "sim/fiber_kit.h"

#include "fiber/fiber.h"
#include "os/os.h"

#define USE(n) ((uint32_t)(n) << WF_FIBER_USE_SHIFT)

/* ------------------------------------------------------------------------ */
/* STATE: which thread starts it. */

struct fresh {
	weft_fiber *f;
	wf_entry ticket;
	bool round;  /* the ticket's number has come round */
	int runs[2]; /* in each life; by its starter */
	int life[2]; /* what its argument points to */
};

static struct fresh *fresh_open(void)
{
	struct fresh *s = duo_alloc(sizeof(*s));

	s->f = duo_alloc(sizeof(*s->f));
	s->ticket = wf_fiber_ticket(s->f, USE(1));
	s->life[1] = 1;
	return s;
}

static void fresh_close(struct fresh *s)
{
	wf_os_free(s->f);
	wf_os_free(s);
}

static void spawn(struct fresh *s, int life, uint32_t use)
{
	s->f->start.arg = &s->life[life];
	/* [pair: fiber.fresh] As launch does it. */
	wf_store_rel(&s->f->state, WF_FIBER_LIVE | WF_FIBER_FRESH | use);
}

/* The caller is the one who starts it. */
static void run(struct fresh *s)
{
	const int *life = s->f->start.arg;

	weft_sim_assert(s->runs[*life]++ == 0, "it was started twice");
}

static void by_ticket(void *arg)
{
	struct fresh *s = arg;

	for (int i = 0; i < 2; i++)
		if (wf_fiber_claim(s->ticket))
			run(s);
}

static void by_handle(void *arg)
{
	struct fresh *s = arg;

	if (wf_fiber_claim_handle(s->f))
		run(s);
}

/* A thief, a joiner, and a detach: one start, and nothing is forgotten. */
void word_claim(void *arg)
{
	struct fresh *s = fresh_open();
	int thief = duo_thread(by_ticket, s, "thief");
	int joiner = duo_thread(by_handle, s, "joiner");
	uint32_t state;

	(void)arg;
	spawn(s, 0, USE(1));
	(void)wf_or_acqrel(&s->f->state, WF_FIBER_DETACHED);
	(void)weft_sim_join(thief);
	(void)weft_sim_join(joiner);
	by_handle(s);
	state = wf_load_rlx(&s->f->state);
	weft_sim_assert(s->runs[0] == 1, "nobody started it");
	weft_sim_assert(state == (WF_FIBER_LIVE | WF_FIBER_DETACHED | USE(1)),
		"state is %#x", state);
	fresh_close(s);
}

static void run_and_end(void *arg)
{
	struct fresh *s = arg;

	if (!wf_fiber_claim(s->ticket))
		return;
	weft_sim_assert(s->round || s->f->start.arg == &s->life[0],
		"a dead ticket was redeemed");
	run(s);
	/* [pair: fiber.done] As hand_over does it. */
	(void)wf_or_acqrel(&s->f->state, WF_FIBER_DONE);
}

/* One life: run it, or wait for the thread that does; then it is free. */
static void live(struct fresh *s, int life, uint32_t use)
{
	spawn(s, life, use);
	if (wf_fiber_claim_handle(s->f)) {
		run(s);
	} else {
		/* [pair: fiber.done] The load of weft_join. */
		while (!(wf_load_acq(&s->f->state) & WF_FIBER_DONE))
			weft_sim_yield();
	}
	wf_store_rlx(&s->f->state, use);
}

/*
 * A ticket of the first life meets the second one.  Its number tells the two
 * apart; where that has come round (arg), it may start the second, and must see
 * all of it.
 */
void word_stale(void *arg)
{
	struct fresh *s = fresh_open();
	int thief;

	s->round = arg != NULL;
	thief = duo_thread(run_and_end, s, "thief");
	live(s, 0, USE(1));
	live(s, 1, s->round ? USE(1) : USE(2));
	(void)weft_sim_join(thief);
	weft_sim_assert(s->runs[0] == 1 && s->runs[1] == 1,
		"started %d and %d times", s->runs[0], s->runs[1]);
	fresh_close(s);
}

/* ------------------------------------------------------------------------ */
/* WAIT: which thread ends it. */

#define CAUSES (WF_WAIT_CANCELED | WF_WAIT_LATE)

struct waits {
	weft_fiber *f;
	_Atomic(uint64_t) wait[2];  /* the WAIT of each, once it is known */
	_Atomic(uint32_t) runnable; /* how often it was made so */
	int context;		    /* what it saved before it parked */
	int work;		    /* what the waker did before */
	_Atomic(uint32_t) winners;
	enum wf_claim claim[2];
};

static struct waits *waits_open(void)
{
	struct waits *s = duo_alloc(sizeof(*s));

	s->f = duo_alloc(sizeof(*s->f));
	return s;
}

static void waits_close(struct waits *s)
{
	wf_os_free(s->f);
	wf_os_free(s);
}

/* The i'th wait, once it is published. */
static uint64_t wait_of(struct waits *s, int i)
{
	uint64_t wait;

	/* [pair: word.wait] As by the lock of an object. */
	while ((wait = wf_load_acq(&s->wait[i])) == 0)
		weft_sim_yield();
	return wait;
}

/* The winner of a wait that is parked has the fiber in hand. */
static void settle(struct waits *s, enum wf_claim claim)
{
	if (claim != WF_CLAIM_LOST)
		(void)wf_add_rlx(&s->winners, 1);
	if (claim != WF_CLAIM_WAKE)
		return;
	weft_sim_assert(s->context == 1, "it was not off its stack");
	/* Relaxed: WAIT alone shows the fiber all that it must see. */
	(void)wf_add_rlx(&s->runnable, 1);
}

static void wake(void *arg)
{
	struct waits *s = arg;
	uint64_t wait = wait_of(s, 0);

	s->work = 1;
	settle(s, wf_wait_claim(s->f, wait, 0));
}

/* The canceller has only the fiber, as wf_cancel_wake does. */
static void cancel(void *arg)
{
	struct waits *s = arg;
	uint64_t seen = wf_load_rlx(&s->f->wait);
	uint64_t phase = seen & WF_WAIT_PHASE;

	if (phase == WF_WAIT_ARMED || phase == WF_WAIT_SETTLED)
		settle(s, wf_wait_claim(s->f, seen, WF_WAIT_CANCELED));
}

/* So has its timer. */
static void fire(void *arg)
{
	struct waits *s = arg;
	uint64_t seen = wf_load_rlx(&s->f->wait);

	if ((seen & WF_WAIT_PHASE) == WF_WAIT_SETTLED)
		settle(s, wf_wait_claim(s->f, seen, WF_WAIT_LATE));
}

/* Begin a wait, as wf_waiter_arm does: its WAIT. */
static uint64_t arm(struct waits *s, int i)
{
	uint64_t wait = (wf_load_rlx(&s->f->wait) & -WF_WAIT_EPOCH) +
		WF_WAIT_EPOCH + WF_WAIT_TIMED;

	/* [pair: fiber.wake] */
	wf_store_rel(&s->f->wait, wait | WF_WAIT_ARMED);
	/* [pair: word.wait] */
	wf_store_rel(&s->wait[i], wait);
	return wait;
}

/* Leave the stack, go on when somebody says so. */
static void park(struct waits *s, uint64_t wait)
{
	uint64_t seen = wait | WF_WAIT_ARMED;

	s->context = 1;
	/* [pair: fiber.wake] The step of wf_waiter_settle. */
	if (wf_cas_rel(&s->f->wait, &seen, wait | WF_WAIT_SETTLED))
		while (wf_load_rlx(&s->runnable) == 0)
			weft_sim_yield();
}

/*
 * The wait is over: the word that it ended with.  A fiber comes to know of its
 * claim by a queue, which would show all the rest as well.
 */
static uint64_t end(struct waits *s)
{
	uint64_t seen;

	/* [pair: fiber.wake] As outcome does it. */
	while (((seen = wf_load_acq(&s->f->wait)) & WF_WAIT_PHASE) !=
		WF_WAIT_CLAIMED)
		weft_sim_yield();
	wf_store_rlx(&s->f->wait, seen & -WF_WAIT_EPOCH);
	return seen;
}

/* One wait; a waker, a cancellation or (arg) a deadline: one of them wins. */
void word_wait(void *arg)
{
	struct waits *s = waits_open();
	int waker = duo_thread(wake, s, "waker");
	int other = duo_thread(arg ? fire : cancel, s, "other");
	uint64_t cause = arg ? WF_WAIT_LATE : WF_WAIT_CANCELED;
	uint64_t wait = arm(s, 0), seen;

	park(s, wait);
	seen = end(s);
	weft_sim_assert((seen & ~CAUSES) == (wait | WF_WAIT_CLAIMED),
		"the word is %#llx", (unsigned long long)seen);
	weft_sim_assert(!(seen & CAUSES & ~cause), "a cause that was not");
	/* It was not cancelled: the waker ended it, and its work is seen. */
	weft_sim_assert((seen & CAUSES) || s->work == 1,
		"the waker's work is not seen");
	(void)weft_sim_join(waker);
	(void)weft_sim_join(other);
	weft_sim_assert(wf_load_rlx(&s->winners) == 1, "%u have ended one wait",
		wf_load_rlx(&s->winners));
	waits_close(s);
}

static void wake_first(void *arg)
{
	struct waits *s = arg;

	s->claim[0] = wf_wait_claim(s->f, wait_of(s, 0), 0);
}

static void wake_second(void *arg)
{
	struct waits *s = arg;

	s->claim[1] = wf_wait_claim(s->f, wait_of(s, 1), 0);
	if (s->claim[1] == WF_CLAIM_WAKE)
		(void)wf_add_rlx(&s->runnable, 1);
}

/*
 * The first wait is taken back, unless its waker was faster; that one must not
 * end the second.
 */
void word_epochs(void *arg)
{
	struct waits *s = waits_open();
	int first = duo_thread(wake_first, s, "first");
	int second = duo_thread(wake_second, s, "second");
	uint64_t wait = arm(s, 0), seen = wait | WF_WAIT_ARMED;
	bool back;

	(void)arg;
	back = wf_cas_rlx(&s->f->wait, &seen, wait & -WF_WAIT_EPOCH);
	if (!back)
		(void)end(s);
	park(s, arm(s, 1));
	(void)end(s);
	(void)weft_sim_join(first);
	(void)weft_sim_join(second);
	weft_sim_assert(s->claim[0] == (back ? WF_CLAIM_LOST : WF_CLAIM_RUNS),
		"who ended the first wait?");
	weft_sim_assert(s->claim[1] != WF_CLAIM_LOST,
		"a wait was ended by who meant another");
	waits_close(s);
}
