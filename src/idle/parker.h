/* SPDX-License-Identifier: MIT */
/*
 * idle/parker.h - how a thread sleeps until another thread wakes it.
 *
 * A parker belongs to one thread, which alone sleeps in it.  A wake that comes
 * before the sleep is kept, and ends that sleep at once.  The sleep that a wake
 * ends uses the wake up.
 *
 *	sleeper				waker
 *	  publish that it sleeps	  take what the sleeper published
 *	  word? 0: sleep while it is	  word = 1	[park.word]
 *	  word = 0			  wake the futex
 *
 * What is published, so that one waker takes it, is the sleeper's: a bit among
 * the group's sleepers (idle/park.h), a flag of the monitor (idle/monitor.h).
 *
 * A poller of descriptors will be the other place to sleep in, for one thread
 * of a group.  It keeps these calls: sleep returns true after a wake, also one
 * that came before, and false when the time has come or descriptors are ready.
 * The thread that sleeps in the poller sets word to a third value, and only a
 * waker that replaces this value kicks the poller.
 *
 * Reads next: idle/park.h, the sleep of a processor.
 */
#ifndef WF_IDLE_PARKER_H
#define WF_IDLE_PARKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "os/os.h"
#include "sched/thread.h"

/*
 * Sleep until a wake, which is used up, or until until_ns: then false.  The
 * owner of the parker.
 */
bool wf_parker_sleep(struct wf_parker *parker, int64_t until_ns);

/* Wake its thread, which may end and free the parker as soon as word is 1. */
static inline void wf_parker_wake(struct wf_parker *parker)
{
	/* [pair: park.word] All that we did; our last access to the thread. */
	wf_store_rel(&parker->word, 1);
	(void)wf_os_futex_wake(&parker->word, 1);
}

#endif
