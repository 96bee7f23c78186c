/* SPDX-License-Identifier: MIT */
/*
 * tests/api/cancel_kit.h - one object of every kind that a fiber can wait for,
 * none of them ready, and how to end one wait for each.
 *
 *	world_open();		the test's own thread holds all
 *	points[i].wait(d)	in a fiber
 *	points[i].ready()	the test's own thread ends one wait
 *	world_close();		no cancelled fiber has kept anything
 */
#ifndef WEFT_TESTS_API_CANCEL_KIT_H
#define WEFT_TESTS_API_CANCEL_KIT_H

#include "api/api.h"

#include <weft/weft.h>

/* The objects to wait for. */
static struct {
	weft_rt *rt;
	struct baton baton;
	weft_fiber *child;   /* waits for the baton; NULL: joined */
	weft_fiber *partner; /* meets the waiter; NULL: none */
	weft_group group;
	weft_mutex mutex; /* held by the test */
	weft_mutex cond_mutex;
	weft_cond cond;
	weft_rwlock read, written; /* held so by the test */
	weft_sem sem;
	weft_event event;
	weft_barrier barrier;
	weft_chan *empty, *full, *meet;
	bool mutex_held, read_held, written_held, counted, baton_held;
} w;

static inline void *wait_for_baton(void *baton)
{
	baton_wait(baton);
	return baton;
}

static inline weft_fiber *spawn_here(void *(*fn)(void *), void *arg)
{
	weft_fiber *f = NULL;

	assert_int_equal(weft_rt_spawn(w.rt, &f, NULL, fn, arg), 0);
	return f;
}

static inline void world_open(void)
{
	weft_rt *rt = w.rt;
	int v = 1;

	memset(&w, 0, sizeof(w));
	w.rt = rt;
	w.child = spawn_here(wait_for_baton, &w.baton);
	weft_group_add(&w.group, 1);
	weft_mutex_lock(&w.mutex);
	weft_rwlock_rdlock(&w.read);
	weft_rwlock_wrlock(&w.written);
	w.sem = (weft_sem)WEFT_SEM_INIT(0);
	w.barrier = (weft_barrier)WEFT_BARRIER_INIT(2);
	assert_int_equal(weft_chan_create(&w.empty, sizeof(int), 1), 0);
	assert_int_equal(weft_chan_create(&w.full, sizeof(int), 1), 0);
	assert_int_equal(weft_chan_create(&w.meet, sizeof(int), 0), 0);
	assert_int_equal(weft_chan_send(w.full, &v, WEFT_NOW), 0);
	w.mutex_held = w.read_held = w.written_held = w.counted = true;
	w.baton_held = true;
}

/* ------------------------------------------------------------------------ */
/* The test's own thread ends one wait. */

static inline void put_baton(void)
{
	baton_put(&w.baton, WEFT_HINT_DEFAULT);
	w.baton_held = false;
}

/* The caller sees to it that no fiber joins the child. */
static inline void end_child(void)
{
	if (w.baton_held)
		put_baton();
	assert_true(await(state_of(w.child) == WEFT_FIBER_DONE));
}

static inline void count_down(void)
{
	weft_group_done(&w.group);
	w.counted = false;
}

static inline void unlock_mutex(void)
{
	weft_mutex_unlock(&w.mutex);
	w.mutex_held = false;
}

static inline void unlock_read(void)
{
	weft_rwlock_rdunlock(&w.read);
	w.read_held = false;
}

static inline void unlock_written(void)
{
	weft_rwlock_wrunlock(&w.written);
	w.written_held = false;
}

static inline void signal_cond(void)
{
	weft_mutex_lock(&w.cond_mutex);
	weft_cond_signal(&w.cond);
	weft_mutex_unlock(&w.cond_mutex);
}

static inline void release_sem(void)
{
	weft_sem_release(&w.sem, 1);
}

static inline void set_event(void)
{
	weft_event_set(&w.event);
}

static inline void send_empty(void)
{
	int v = 2;

	assert_int_equal(weft_chan_send(w.empty, &v, WEFT_NOW), 0);
}

static inline void recv_full(void)
{
	assert_int_equal(weft_chan_recv(w.full, NULL, WEFT_NOW), 0);
}

static inline void *come_to_barrier(void *arg)
{
	expect(weft_barrier_wait(&w.barrier, PATIENCE) >= 0);
	return arg;
}

static inline void *send_meet(void *arg)
{
	int v = 3;

	expect_eq(weft_chan_send(w.meet, &v, PATIENCE), 0);
	return arg;
}

static inline void *recv_meet(void *arg)
{
	expect_eq(weft_chan_recv(w.meet, NULL, PATIENCE), 0);
	return arg;
}

/* Start a fiber that meets the waiter, or waits for one. */
static inline void partner(void *(*fn)(void *))
{
	w.partner = spawn_here(fn, NULL);
	assert_true(await(state_of(w.partner) == WEFT_FIBER_WAITING ||
		state_of(w.partner) == WEFT_FIBER_DONE));
}

static inline void partner_at_barrier(void)
{
	partner(come_to_barrier);
}

static inline void partner_sends(void)
{
	partner(send_meet);
}

static inline void partner_receives(void)
{
	partner(recv_meet);
}

static inline void world_close(void)
{
	if (w.partner)
		assert_int_equal(weft_join(w.partner, NULL, PATIENCE), 0);
	if (w.child) {
		end_child();
		assert_int_equal(weft_join(w.child, NULL, PATIENCE), 0);
	}
	if (w.counted)
		count_down();
	if (w.mutex_held)
		unlock_mutex();
	if (w.read_held)
		unlock_read();
	if (w.written_held)
		unlock_written();
	/* All are free: no cancelled fiber has kept anything. */
	assert_int_equal(weft_group_wait(&w.group, WEFT_NOW), 0);
	assert_int_equal(weft_mutex_lock_by(&w.mutex, WEFT_NOW), 0);
	weft_mutex_unlock(&w.mutex);
	assert_int_equal(weft_mutex_lock_by(&w.cond_mutex, WEFT_NOW), 0);
	weft_mutex_unlock(&w.cond_mutex);
	assert_int_equal(weft_rwlock_wrlock_by(&w.read, WEFT_NOW), 0);
	weft_rwlock_wrunlock(&w.read);
	assert_int_equal(weft_rwlock_wrlock_by(&w.written, WEFT_NOW), 0);
	weft_rwlock_wrunlock(&w.written);
	assert_int_equal(weft_barrier_wait(&w.barrier, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(weft_chan_send(w.meet, &w, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(weft_chan_recv(w.meet, NULL, WEFT_NOW), -ETIMEDOUT);
	weft_chan_unref(w.empty);
	weft_chan_unref(w.full);
	weft_chan_unref(w.meet);
}

/* ------------------------------------------------------------------------ */
/* Waiting; a wait that succeeds gives back what it took. */

static inline int wait_join(weft_time d)
{
	int err = weft_join(w.child, NULL, d);

	if (!err)
		w.child = NULL;
	return err;
}

static inline int wait_group(weft_time d)
{
	return weft_group_wait(&w.group, d);
}

static inline int wait_mutex(weft_time d)
{
	int err = weft_mutex_lock_by(&w.mutex, d);

	if (!err)
		weft_mutex_unlock(&w.mutex);
	return err;
}

/* The mutex is held whatever the result: else the unlock is misuse. */
static inline int wait_cond(weft_time d)
{
	int err;

	weft_mutex_lock(&w.cond_mutex);
	err = weft_cond_wait(&w.cond, &w.cond_mutex, d);
	weft_mutex_unlock(&w.cond_mutex);
	return err;
}

static inline int wait_rdlock(weft_time d)
{
	int err = weft_rwlock_rdlock_by(&w.written, d);

	if (!err)
		weft_rwlock_rdunlock(&w.written);
	return err;
}

static inline int wait_wrlock(weft_time d)
{
	int err = weft_rwlock_wrlock_by(&w.read, d);

	if (!err)
		weft_rwlock_wrunlock(&w.read);
	return err;
}

static inline int wait_sem(weft_time d)
{
	return weft_sem_acquire(&w.sem, d);
}

static inline int wait_event(weft_time d)
{
	return weft_event_wait(&w.event, d);
}

static inline int wait_barrier(weft_time d)
{
	return weft_barrier_wait(&w.barrier, d);
}

static inline int wait_send(weft_time d)
{
	int v = 7;

	return weft_chan_send(w.full, &v, d);
}

/* Nothing is written unless something is received. */
static inline int wait_recv_from(weft_chan *c, weft_time d)
{
	int v = -1, err = weft_chan_recv(c, &v, d);

	expect((v == -1) == (err != 0));
	return err;
}

static inline int wait_recv(weft_time d)
{
	return wait_recv_from(w.empty, d);
}

static inline int wait_meet_send(weft_time d)
{
	int v = 7;

	return weft_chan_send(w.meet, &v, d);
}

static inline int wait_meet_recv(weft_time d)
{
	return wait_recv_from(w.meet, d);
}

static inline int wait_select(weft_time d)
{
	int v = -1;
	weft_case cases[] = {
		{ .op = WEFT_RECV, .obj = w.meet, .value = &v },
		{ .op = WEFT_SEND, .obj = w.full, .value = &v },
		{ .op = WEFT_EVENT, .obj = &w.event },
	};

	return weft_select(cases, 3, d);
}

static inline int wait_select_join(weft_time d)
{
	weft_case cases[] = { { .op = WEFT_JOIN, .obj = w.child } };
	int i = weft_select(cases, 1, d);

	if (i == 0)
		w.child = NULL;
	return i;
}

static inline int wait_select_none(weft_time d)
{
	return weft_select(NULL, 0, d);
}

/* A sleep to its end returns 0 where other waits return -ETIMEDOUT. */
static inline int wait_sleep(weft_time d)
{
	int err = weft_sleep_until(d);

	return err ? err : -ETIMEDOUT;
}

static inline int wait_sleep_for(weft_time d)
{
	int64_t ns = d == WEFT_FOREVER ? d : d - weft_now();
	int err = weft_sleep(ns);

	return err ? err : -ETIMEDOUT;
}

struct point {
	const char *name;
	int (*wait)(weft_time);
	void (*ready)(void); /* NULL: the wait never succeeds */
	bool lost;	     /* without a waiter ready() is lost */
};

static const struct point points[] = {
	{ "join", wait_join, put_baton, false },
	{ "group", wait_group, count_down, false },
	{ "mutex", wait_mutex, unlock_mutex, false },
	{ "cond", wait_cond, signal_cond, true },
	{ "rdlock", wait_rdlock, unlock_written, false },
	{ "wrlock", wait_wrlock, unlock_read, false },
	{ "sem", wait_sem, release_sem, false },
	{ "event", wait_event, set_event, false },
	{ "barrier", wait_barrier, partner_at_barrier, false },
	{ "send", wait_send, recv_full, false },
	{ "recv", wait_recv, send_empty, false },
	{ "meeting send", wait_meet_send, partner_receives, false },
	{ "meeting recv", wait_meet_recv, partner_sends, false },
	{ "select", wait_select, set_event, false },
	{ "select join", wait_select_join, put_baton, false },
	{ "select nothing", wait_select_none, NULL, false },
	{ "sleep until", wait_sleep, NULL, false },
	{ "sleep", wait_sleep_for, NULL, false },
};
enum { POINTS = sizeof(points) / sizeof(points[0]) };

#endif
