/* SPDX-License-Identifier: MIT */
/*
 * sched/threads.h - threads of a runtime come and go.
 *
 * Reads next: sched/threads.c
 */
#ifndef WF_SCHED_THREADS_H
#define WF_SCHED_THREADS_H

#include <stdint.h>

#include "base/compiler.h"

struct weft_rt;
struct wf_proc;

/*
 * Make a thread that holds p.  The caller has cleared p's sleeping bit.
 * -EAGAIN, -ENOMEM: there is no thread, and the bit is still clear.
 */
wf_must_check int wf_thread_start(struct weft_rt *rt, struct wf_proc *p);

/*
 * wf_thread_start for wakers, which may call thousands of times a second.  When
 * the system has refused a thread, wakers do not ask it again for 1 ms, and
 * after each further refusal for twice as long, up to 1 s; in such a pause the
 * result is -EAGAIN.  The next thread that is made ends the pauses.
 */
wf_must_check int wf_thread_ask(
	struct weft_rt *rt, struct wf_proc *p, int64_t now_ns);

/* Wait for threads that have ended, and free them. */
void wf_threads_reap(struct weft_rt *rt);

#endif
