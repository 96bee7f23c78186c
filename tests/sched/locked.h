/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/locked.h - does a function take a lock?  Then it waits while
 * another thread holds the lock.
 */
#ifndef WEFT_TESTS_SCHED_LOCKED_H
#define WEFT_TESTS_SCHED_LOCKED_H

#include <stdbool.h>

#include "os/lock.h"
#include "os/os.h"
#include "support/threads.h"

struct locked {
	struct wf_lock *lock;
	void (*act)(void);
	_Atomic(bool) done;
	bool waited;
};

/* The first thread acts once the second one holds the lock. */
static void locked_run(void *arg, unsigned i)
{
	struct locked *l = arg;

	if (i == 0) {
		while (wf_load_rlx(&l->lock->word) == 0)
			wf_os_thread_yield();
		l->act();
		wf_store_rel(&l->done, true);
		return;
	}
	wf_lock(l->lock);
	/* 2: a thread waits for it. */
	while (!wf_load_acq(&l->done) && wf_load_rlx(&l->lock->word) != 2)
		wf_os_thread_yield();
	l->waited = !wf_load_acq(&l->done);
	wf_unlock(l->lock);
}

/* Does act wait for lock? */
static bool waits_for(struct wf_lock *lock, void (*act)(void))
{
	struct locked l = { .lock = lock, .act = act };

	threads_run(2, locked_run, &l);
	return l.waited;
}

#endif
