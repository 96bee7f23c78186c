/* SPDX-License-Identifier: MIT */
/*
 * os/cond.c - when somebody waits.
 */
#include "os/cond.h"

#include "os/os.h"

void wf_cond_wait(struct wf_cond *c, struct wf_lock *l)
{
	uint32_t seen = wf_load_rlx(&c->word);

	c->waiters++;
	wf_unlock(l);
	(void)wf_os_futex_wait(&c->word, seen, INT64_MAX);
	wf_lock(l);
	c->waiters--;
	if (c->called > 0)
		c->called--;
}

/* Holding l; somebody waits, and for n == 1 has not been called. */
void wf_cond_wake_unlock(struct wf_cond *c, struct wf_lock *l, uint32_t n)
{
	c->called = n == 1 ? c->called + 1 : c->waiters;
	/*
	 * Relaxed: who reads it holds the lock, or is the kernel, which looks
	 * at it and queues the sleeper in one step as seen by our wake.
	 */
	wf_store_rlx(&c->word, wf_load_rlx(&c->word) + 1);
	wf_unlock(l);
	/* The memory may be gone by now; its address is all that is used. */
	(void)wf_os_futex_wake(&c->word, n);
}
