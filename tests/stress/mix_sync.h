/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/mix_sync.h - parts of the mixed workload (stress/mix_kit.h) that
 * wait: for channels, locks, deadlines, and until they are cancelled.
 */
#ifndef WEFT_TESTS_STRESS_MIX_SYNC_H
#define WEFT_TESTS_STRESS_MIX_SYNC_H

#include "stress/mix_kit.h"

/* ------------------------------------------------------------------------ */
/* Channels: some send, some receive, some select. */

struct chans {
	weft_chan *c[2];
	_Atomic(uint32_t) senders;	/* that have not ended */
	uint32_t of;
	_Atomic(uint64_t) sent;
};

static inline void chans_send(struct team *team, struct chans *s, uint32_t who)
{
	for (uint64_t i = 1; i <= team->rounds; i++) {
		uint64_t value = (who + 1) * i;

		kit_expect(weft_chan_send(s->c[(who + i) % 2], &value,
				   WEFT_FOREVER) == 0);
		(void)wf_add_rlx(&s->sent, value);
	}
	/* The last sender closes: all values are in the channels by then. */
	if (wf_sub_acqrel(&s->senders, 1) == 1)
		for (int i = 0; i < 2; i++)
			kit_expect(weft_chan_close(s->c[i]) == 0);
}

static inline uint64_t chans_receive(weft_chan *c)
{
	uint64_t sum = 0, value;
	int err;

	while ((err = weft_chan_recv(c, &value, WEFT_FOREVER)) == 0)
		sum += value;
	kit_expect(err == -EPIPE);
	return sum;
}

/* Receive from both channels, until both are closed. */
static inline uint64_t chans_select(struct chans *s)
{
	weft_case *cases = part_alloc(2 * sizeof(*cases));
	uint64_t sum = 0, value[2];
	int open = 2;

	for (int i = 0; i < 2; i++)
		cases[i] = (weft_case){ .op = WEFT_RECV,
			.obj = s->c[i],
			.value = &value[i] };
	while (open > 0) {
		int i = weft_select(cases, 2, WEFT_FOREVER);

		kit_expect(i == 0 || i == 1);
		if (i < 0)
			break;
		kit_expect(cases[i].result == 0 || cases[i].result == -EPIPE);
		if (cases[i].result == 0) {
			sum += value[i];
		} else {
			cases[i].obj = NULL;
			open--;
		}
	}
	free(cases);
	return sum;
}

/* The first members send; of the others every third selects. */
static inline uint64_t chans_play(struct team *team, uint32_t member)
{
	struct chans *s = team->with;

	if (member < s->of) {
		chans_send(team, s, member);
		return 0;
	}
	if ((member - s->of) % 3 == 2)
		return chans_select(s);
	return chans_receive(s->c[(member - s->of) % 3]);
}

static inline void part_chans(struct part *p)
{
	struct chans *s = part_alloc(sizeof(*s));
	uint32_t receivers = 2 + part_draw(p, 4);
	uint64_t received;

	s->of = 1 + part_draw(p, 5);
	wf_store_rlx(&s->senders, s->of);
	for (int i = 0; i < 2; i++)
		kit_expect(weft_chan_create(&s->c[i], sizeof(uint64_t),
				   part_draw(p, 4)) == 0);
	received = team_play(p, s->of + receivers, chans_play, s);
	kit_expect(received == wf_load_rlx(&s->sent));
	for (int i = 0; i < 2; i++)
		weft_chan_unref(s->c[i]);
	free(s);
}

/* ------------------------------------------------------------------------ */
/* Locks, conditions, semaphores, barriers and once. */

struct locks {
	weft_mutex mutex;
	weft_rwlock rwlock;
	weft_cond changed;
	weft_once once;
	weft_sem sem;
	weft_barrier barrier;
	uint64_t counter, written;	/* plain: by the mutex, by rwlock */
	uint32_t onces;
	_Atomic(uint32_t) inside;
	uint32_t permits;
};

static inline void locks_once(void *arg)
{
	weft_yield();
	((struct locks *)arg)->onces++;
}

static inline void locks_lock(struct locks *s, uint32_t i)
{
	if (i % 2 == 0)
		weft_mutex_lock(&s->mutex);
	else
		kit_expect(weft_mutex_lock_by(&s->mutex, WEFT_FOREVER) == 0);
}

static inline void locks_round(struct team *team, struct locks *s, uint32_t i)
{
	uint64_t before;

	locks_lock(s, i);
	before = s->counter;
	if (i % 4 == 0)
		weft_yield();
	s->counter = before + 1;
	weft_cond_broadcast(&s->changed);
	weft_mutex_unlock(&s->mutex);
	if (i % 3 == 0) {
		weft_rwlock_wrlock(&s->rwlock);
		s->written++;
		weft_rwlock_wrunlock(&s->rwlock);
	} else {
		weft_rwlock_rdlock(&s->rwlock);
		before = s->written;
		part_work(team->part);
		kit_expect(s->written == before);
		weft_rwlock_rdunlock(&s->rwlock);
	}
	kit_expect(weft_sem_acquire(&s->sem, WEFT_FOREVER) == 0);
	kit_expect(wf_add_rlx(&s->inside, 1) < s->permits);
	(void)wf_sub_rlx(&s->inside, 1);
	weft_sem_release(&s->sem, 1);
}

static inline uint64_t locks_play(struct team *team, uint32_t member)
{
	struct locks *s = team->with;
	int first;

	weft_once_do(&s->once, locks_once, s);
	kit_expect(s->onces == 1);
	for (uint32_t i = 0; i < team->rounds; i++)
		locks_round(team, s, i + member);
	/* Wait until all members have counted. */
	weft_mutex_lock(&s->mutex);
	while (s->counter < (uint64_t)team->size * team->rounds)
		kit_expect(weft_cond_wait(&s->changed, &s->mutex,
				   WEFT_FOREVER) == 0);
	weft_mutex_unlock(&s->mutex);
	first = weft_barrier_wait(&s->barrier, WEFT_FOREVER);
	kit_expect(first == 0 || first == 1);
	return (uint64_t)first;
}

static inline void part_locks(struct part *p)
{
	struct locks *s = part_alloc(sizeof(*s));
	uint32_t n = 1 + part_draw(p, TEAM_MAX);

	s->permits = 1 + part_draw(p, 3);
	s->sem = (weft_sem)WEFT_SEM_INIT(s->permits);
	s->barrier = (weft_barrier)WEFT_BARRIER_INIT(n);
	kit_expect(team_play(p, n, locks_play, s) == 1);
	free(s);
}

/* ------------------------------------------------------------------------ */
/* Timers: no wait ends early, and one without a waker times out. */

static inline uint64_t timers_play(struct team *team, uint32_t member)
{
	weft_event *never = team->with;

	for (uint32_t i = 0; i < 1 + team->rounds / 4; i++) {
		int64_t ns = (int64_t)((member * 37 + i * 101) % 800) * 1000;
		weft_time until = weft_after(ns);

		if ((member + i) % 2 == 0)
			kit_expect(weft_sleep_until(until) == 0);
		else
			kit_expect(weft_event_wait(never, until) == -ETIMEDOUT);
		kit_expect(weft_now() >= until);
	}
	return 1;
}

static inline void part_timers(struct part *p)
{
	weft_event *never = part_alloc(sizeof(*never));
	uint32_t n = 1 + part_draw(p, TEAM_MAX);

	kit_expect(team_play(p, n, timers_play, never) == n);
	free(never);
}

/* ------------------------------------------------------------------------ */
/* Cancellation. */

static inline uint64_t cancel_play(struct team *team, uint32_t member)
{
	weft_event *never = team->with;
	int err;

	if (member % 3 == 0)
		weft_yield();
	if (member % 2 == 0)
		err = weft_sleep(3600 * WF_NS_PER_S);
	else
		err = weft_event_wait(never, WEFT_FOREVER);
	kit_expect(err == -ECANCELED && weft_cancelled());
	return 1;
}

static inline void part_cancel(struct part *p)
{
	struct team *team = part_alloc(sizeof(*team));
	weft_event *never = part_alloc(sizeof(*never));
	uint32_t n = 1 + part_draw(p, TEAM_MAX);

	team_start(team, p, n, cancel_play, never);
	if (part_draw(p, 2) == 0)
		weft_yield();
	if (part_draw(p, 4) == 0)
		kit_expect(weft_sleep(100 * WF_NS_PER_US) == 0);
	for (uint32_t i = 0; i < n; i++)
		(void)weft_cancel(team->f[i]);
	kit_expect(team_join(team) == n);
	free(never);
	free(team);
}

/* ------------------------------------------------------------------------ */
/* Scopes: all members succeed, or one fails and the others are cancelled. */

struct scopes {
	struct part *part;
	weft_event never;
	_Atomic(uint32_t) ended;
};

static inline int scopes_succeed(void *arg)
{
	struct scopes *s = arg;

	weft_yield();
	(void)wf_add_rlx(&s->ended, 1);
	return 0;
}

static inline int scopes_wait(void *arg)
{
	struct scopes *s = arg;
	int err = weft_event_wait(&s->never, WEFT_FOREVER);

	kit_expect(err == -ECANCELED);
	(void)wf_add_rlx(&s->ended, 1);
	return err;
}

static inline int scopes_fail(void *arg)
{
	(void)scopes_succeed(arg);
	return 4711;
}

static inline void part_scopes(struct part *p)
{
	struct scopes *s = part_alloc(sizeof(*s));
	weft_scope *scope = part_alloc(sizeof(*scope));
	bool fails = part_draw(p, 2) == 0;
	uint32_t n = 1 + part_draw(p, TEAM_MAX), began = 0;

	kit_expect(weft_scope_open(scope, WEFT_FOREVER) == 0);
	for (uint32_t i = 0; i < n; i++) {
		int (*fn)(void *) = scopes_succeed;
		int err;

		if (fails)
			fn = i == n / 2 ? scopes_fail : scopes_wait;
		err = weft_scope_go(scope, fn, s);
		kit_expect(err == 0 || (fails && err == -ECANCELED));
		began += err == 0;
	}
	kit_expect(weft_scope_close(scope) == (fails ? 4711 : 0));
	kit_expect(wf_load_rlx(&s->ended) == began);
	free(scope);
	free(s);
}

#endif
