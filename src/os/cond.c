/* SPDX-License-Identifier: MIT */
/*
 * os/cond.c - the condition variable of threads: its slow paths.
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

/* Holding l; there is a waiter, and for n == 1 one that is not called yet. */
void wf_cond_wake_unlock(struct wf_cond *c, struct wf_lock *l, uint32_t n)
{
	c->called = n == 1 ? c->called + 1 : c->waiters;
	/*
	 * Relaxed: its readers hold the lock, except the kernel.  The kernel
	 * compares the word and queues the sleeper in one step, as our wake
	 * sees it.
	 */
	wf_store_rlx(&c->word, wf_load_rlx(&c->word) + 1);
	wf_unlock(l);
	/* The memory may be freed by now; only its address is used. */
	(void)wf_os_futex_wake(&c->word, n);
}
