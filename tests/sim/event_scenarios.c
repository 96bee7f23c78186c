/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/event_scenarios.c - events and semaphores.
 */
#include "sim/actor_kit.h"

#include "sync/event.h"

static struct {
	weft_event *event, *other;
	weft_sem *sem;
	_Atomic(uint32_t) data;
	int sections; /* by the one permit of sem */
} o;

/* ------------------------------------------------------------------------ */
/* Event. */

static void event_begin(void *flags, uint32_t users)
{
	begin(flags);
	o.event = duo_alloc(sizeof(*o.event));
	wf_store_rlx(&s.users, users);
}

static void event_let_go(void)
{
	if (!let_go())
		return;
	weft_sim_assert(o.event->waiters_[0] == NULL, "somebody is forgotten");
	FREE(o.event);
}

static void event_set(void)
{
	sleep_until_then();
	s.work[0] = 1;
	weft_event_set(o.event);
}

static void event_wait(unsigned i, weft_time deadline)
{
	s.result[i] = weft_event_wait(o.event, deadline);
	if (s.result[i] == 0)
		weft_sim_assert(s.work[0] == 1, "it was not set");
	event_let_go();
}

static void event_wait_0(void)
{
	event_wait(0, by());
}

static void event_wait_1(void)
{
	event_wait(1, WEFT_FOREVER);
}

/* The waiter frees it. */
static void event_free(void *arg)
{
	event_begin(arg, 1);
	PLAY(event_wait_0, event_set);
	check_first();
}

/* Two wait, the first with a deadline or cancelled; the last one frees it. */
static void event_two(void *arg)
{
	event_begin(arg, 2);
	if (s.flags & CANCEL)
		PLAY(event_wait_0, event_wait_1, event_set, cancel_first);
	else
		PLAY(event_wait_0, event_wait_1, event_set);
	check_first();
	weft_sim_assert(s.result[1] == 0, "wait: %d", s.result[1]);
}

static void event_late_1(void)
{
	event_wait(1, s.then);
}

/* Nobody sets it: both give up, and are out of the list before it is freed. */
static void event_late(void *arg)
{
	event_begin(arg, 2);
	PLAY(event_wait_0, event_late_1);
	weft_sim_assert(s.result[0] == -ETIMEDOUT && s.result[1] == -ETIMEDOUT,
		"wait: %d, %d", s.result[0], s.result[1]);
}

static void event_set_reset(void)
{
	weft_sim_quiesce();
	s.work[0] = 1;
	weft_event_set(o.event);
	weft_event_reset(o.event);
	event_let_go();
}

/* Set and reset: all who waited go on. */
static void event_pulse(void *arg)
{
	event_begin(arg, 3);
	PLAY(event_wait_0, event_wait_1, event_set_reset);
	weft_sim_assert(s.result[0] == 0 && s.result[1] == 0, "wait: %d, %d",
		s.result[0], s.result[1]);
}

static void event_tell(void)
{
	wf_store_seq(&o.data, 1);
	weft_event_set(o.event);
}

static void event_look(void)
{
	int err = 0;

	weft_event_reset(o.event);
	if (wf_load_seq(&o.data) == 0)
		err = weft_event_wait(o.event, WEFT_FOREVER);
	weft_sim_assert(err == 0 && wf_load_rlx(&o.data) == 1,
		"the wait ended with %d", err);
}

/* It is set already; a reset does not miss that another actor sets it. */
static void event_again(void *arg)
{
	event_begin(arg, 1);
	weft_event_set(o.event);
	PLAY(event_tell, event_look);
	FREE(o.event);
}

static void event_wait_now(void)
{
	s.result[1] = weft_event_wait(o.event, WEFT_NOW);
}

static void event_give_up(void)
{
	s.result[0] = weft_event_wait(o.event, s.then);
}

static void event_set_now(void)
{
	weft_event_set(o.event);
	s.result[2] = weft_event_wait(o.event, WEFT_NOW);
}

/* Once it is set nobody finds it not to be, however busy it is. */
static void event_now(void *arg)
{
	event_begin(arg, 1);
	PLAY(event_give_up, event_wait_now, event_set_now);
	weft_sim_assert(s.result[2] == 0, "it is set, and not");
	FREE(o.event);
}

/* One wait on two events, by an armed waiter, as in weft_select. */
struct both {
	struct wf_waiter w; /* must be first */
	struct wf_node node[2];
};

static bool commit_both(struct weft_awaiter *a, weft_fiber *f)
{
	struct both *b = (struct both *)a;

	(void)f;
	b->node[0].waiter = &b->w;
	b->node[1].waiter = &b->w;
	if (!wf_waiter_arm(&b->w))
		return false;
	if (!wf_event_enlist(o.event, &b->node[0]) ||
		!wf_event_enlist(o.other, &b->node[1]))
		return wf_waiter_disarm(&b->w);
	return wf_waiter_settle(&b->w);
}

static void wait_both(void)
{
	struct both *b = duo_alloc(sizeof(*b));
	int err = 1;

	*b = (struct both){ 0 };
	if (!wf_event_look(o.event) && !wf_event_look(o.other)) {
		err = wf_wait(&b->w, commit_both, "both", o.event, by());
		if (err == 0)
			s.result[1] = b->w.won == &b->node[1];
		wf_event_delist(o.event, &b->node[0]);
		wf_event_delist(o.other, &b->node[1]);
	}
	s.result[0] = err > 0 ? 0 : err;
	wf_os_free(b);
	if (err == 0)
		weft_sim_assert(s.work[s.result[1]] == 1, "it was not set");
}

static void set_other(void)
{
	s.work[1] = 1;
	weft_event_set(o.other);
}

static void event_both(void *arg)
{
	event_begin(arg, 1);
	o.other = duo_alloc(sizeof(*o.other));
	PLAY(wait_both, event_set, set_other);
	check_first();
	FREE(o.event);
	FREE(o.other);
}

/* ------------------------------------------------------------------------ */
/* Semaphore. */

static void sem_begin(void *flags, uint32_t permits, uint32_t users)
{
	begin(flags);
	o.sem = duo_alloc(sizeof(*o.sem));
	*o.sem = (weft_sem)WEFT_SEM_INIT(permits);
	wf_store_rlx(&s.users, users);
}

static void sem_let_go(void)
{
	if (!let_go())
		return;
	weft_sim_assert(o.sem->state_ == 0 && o.sem->waiters_[0] == NULL,
		"the word is %#llx", (unsigned long long)o.sem->state_);
	FREE(o.sem);
}

static void sem_release_0(void)
{
	sleep_until_then();
	s.work[0] = 1;
	weft_sem_release(o.sem, 1);
}

static void sem_release_1(void)
{
	s.work[1] = 1;
	weft_sem_release(o.sem, 1);
}

static void sem_release_two(void)
{
	s.work[0] = 1;
	weft_sem_release(o.sem, 2);
}

/* All that were released, by one who frees it then. */
static void sem_acquire_both(void)
{
	for (int i = 0; i < 2; i++) {
		int err = weft_sem_acquire(o.sem, WEFT_FOREVER);

		weft_sim_assert(err == 0, "acquire: %d", err);
	}
	weft_sim_assert(s.work[0] + s.work[1] == 2, "who released it?");
	sem_let_go();
}

static void sem_free(void *arg)
{
	sem_begin(arg, 0, 1);
	PLAY(sem_acquire_both, sem_release_0, sem_release_1);
}

static void sem_acquire_0(void)
{
	s.result[0] = weft_sem_acquire(o.sem, by());
	if (s.result[0] == 0)
		weft_sim_assert(s.work[0] == 1, "nobody released it");
	sem_let_go();
}

static void sem_acquire_1(void)
{
	s.result[1] = weft_sem_acquire(o.sem, WEFT_FOREVER);
	weft_sim_assert(s.work[0] == 1, "nobody released it");
	sem_let_go();
}

/* Two at once; the last who has got one frees it. */
static void sem_two(void *arg)
{
	sem_begin(arg, 0, 2);
	PLAY(sem_acquire_0, sem_acquire_1, sem_release_two);
	weft_sim_assert(s.result[0] == 0 && s.result[1] == 0, "acquire: %d, %d",
		s.result[0], s.result[1]);
}

static void sem_acquire_or_give(void)
{
	s.result[0] = weft_sem_acquire(o.sem, by());
	if (s.result[0] == 0) {
		weft_sim_assert(s.work[0] == 1, "nobody released it");
		weft_sem_release(o.sem, 1);
	}
	sem_let_go();
}

/* One permit: a waiter that times out leaves it to the other. */
static void sem_loser(void *arg)
{
	sem_begin(arg, 0, 2);
	if (s.flags & CANCEL)
		PLAY(sem_acquire_or_give, sem_acquire_1, sem_release_0,
			cancel_first);
	else
		PLAY(sem_acquire_or_give, sem_acquire_1, sem_release_0);
	check_first();
	weft_sim_assert(s.result[1] == 0, "acquire: %d", s.result[1]);
}

static void sem_section(void)
{
	int err = weft_sem_acquire(o.sem, WEFT_FOREVER);

	weft_sim_assert(err == 0, "acquire: %d", err);
	o.sections++;
	weft_sem_release(o.sem, 1);
}

/* One permit, three who want it: one at a time. */
static void sem_lock(void *arg)
{
	sem_begin(arg, 1, 0);
	PLAY(sem_section, sem_section, sem_section);
	weft_sim_assert(o.sections == 3, "%d sections", o.sections);
	weft_sim_assert(
		o.sem->state_ >> 32 == 1 && (uint32_t)o.sem->state_ == 0,
		"the word is %#llx", (unsigned long long)o.sem->state_);
	FREE(o.sem);
}

static void sem_give_up(void)
{
	s.result[0] = weft_sem_acquire(o.sem, s.then);
}

static void sem_release_late(void)
{
	(void)weft_sleep_until(s.then);
	weft_sem_release(o.sem, 1);
	s.result[1] = weft_sem_acquire(o.sem, WEFT_NOW);
}

/* A permit is taken once: by the waiter, or by an actor that only tries. */
static void sem_now(void *arg)
{
	sem_begin(arg, 0, 0);
	PLAY(sem_give_up, sem_release_late);
	weft_sim_assert((s.result[0] == 0 && s.result[1] == -ETIMEDOUT) ||
			(s.result[0] == -ETIMEDOUT && s.result[1] == 0),
		"acquire: %d, %d", s.result[0], s.result[1]);
	weft_sim_assert(o.sem->state_ == 0, "the word is %#llx",
		(unsigned long long)o.sem->state_);
	FREE(o.sem);
}

/* ------------------------------------------------------------------------ */

static const struct scenario table[] = {
	ROW("event/free", event_free, THREADS),
	ROW("event/free-fiber", event_free, FIBERS),
	ROW("event/free-outside", event_free, MIXED),
	ROW("event/two", event_two, THREADS),
	ROW("event/two-mixed", event_two, MIXED),
	ROW("event/two-timed", event_two, THREADS | TIMED),
	ROW("event/two-fibers-timed", event_two, FIBERS | TIMED),
	ROW("event/two-cancel", event_two, FIBERS | CANCEL),
	ROW("event/late", event_late, THREADS | TIMED),
	ROW("event/late-fibers", event_late, FIBERS | TIMED),
	ROW("event/pulse", event_pulse, THREADS),
	ROW("event/pulse-fibers", event_pulse, 3u),
	{ .name = "event/again", .body = event_again, .complete = 1 },
	ROW("event/now", event_now, THREADS),
	ROW("event/both", event_both, THREADS),
	ROW("event/both-timed", event_both, THREADS | TIMED),
	ROW("event/both-fiber", event_both, MIXED),
	ROW("event/both-fiber-timed", event_both, FIBERS | TIMED),

	ROW("sem/free", sem_free, THREADS),
	ROW("sem/free-fibers", sem_free, FIBERS),
	ROW("sem/two", sem_two, THREADS),
	ROW("sem/two-mixed", sem_two, MIXED),
	ROW("sem/loser", sem_loser, THREADS | TIMED),
	ROW("sem/loser-fibers", sem_loser, FIBERS | TIMED),
	ROW("sem/loser-cancel", sem_loser, FIBERS | CANCEL),
	ROW("sem/lock", sem_lock, THREADS),
	ROW("sem/lock-mixed", sem_lock, MIXED),
	ROW("sem/now", sem_now, THREADS),
	ROW("sem/now-fibers", sem_now, FIBERS),
};

const struct scenarios event_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
