/* SPDX-License-Identifier: MIT */
/*
 * idle/serve.h - serve timers that are not of the processor one holds.
 *
 * Reads next: idle/serve.c
 */
#ifndef WF_IDLE_SERVE_H
#define WF_IDLE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_timers;

/*
 * End up to most waits in timers whose deadline has come by now_ns, and make
 * their fibers ready.  Returns whether there were any.  Any thread: the monitor
 * for processors that are late, and the thread that serves foreign fibers.
 */
bool wf_serve_timers(struct wf_timers *timers, int64_t now_ns, size_t most);

#endif
