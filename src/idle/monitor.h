/* SPDX-License-Identifier: MIT */
/*
 * idle/monitor.h - one thread that looks on, and sends help.
 *
 * Submitting a task wakes nobody unless it is known to pay.  What is lost by
 * that, the monitor finds: it looks at every processor 50 us after one began to
 * run, then at intervals that double up to 1 ms while there is nothing to do,
 * and wakes a sleeper for
 *
 *	a backlog of coarse tasks worth more than two wakes,
 *	anything that waits behind a task which runs since the last look,
 *	anything that waits behind tasks of 20 us at every look for 1 ms,
 *		children run as calls being part of their joiner's task,
 *	fine tasks, when the gate is open.
 *
 * If all of a group are busy, the sleeper is of another group (sched/steal.h
 * says what it may take there).  A sleeper that has tasks in its own queues,
 * which wf_park forbids, is woken for them itself.
 *
 * It fires the timers of a processor that is late with them by 1 ms, because
 * its task computes, or its thread was stopped (wait/timers.h); with tasks in
 * the global queue, before which nobody can be put, by as much more as these
 * may take.
 *
 * A searcher that has been at it for 2 ms has been stopped by the system, and
 * is not relied upon: when help is needed its place among the searchers goes to
 * the processor that is woken, and it stops searching when it runs again.
 *
 * So a ready task that others could run starts within two looks, a wake, and
 * what the kernel takes to run these two threads: BOUND, stated as 3 ms on a
 * machine that has a CPU for each processor.
 *
 *	(M1) If a processor runs, the monitor is awake, or whoever set that
 *	     processor going is about to wake it.
 *
 *	processor, woken		monitor
 *	  its sleeping bit cleared	  asleep = 1
 *	  fence [monitor.asleep]	  fence [monitor.asleep]
 *	  asleep? -> wake it		  any bit clear? -> asleep = 0
 *
 * With nothing running for some looks it sleeps, and nothing wakes it but (M1).
 * If that was not for long it looks on for four times as many the next time, at
 * the intervals that it had: timers that come every so often would wake it for
 * each, and a wake costs more than a look.
 * A runtime of one processor has none.
 *
 * Reads next: idle/wake.h, how a sleeper is woken.
 */
#ifndef WF_SCHED_MONITOR_H
#define WF_SCHED_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/os.h"

struct weft_rt;

/* What it saw of a processor when it last looked. */
struct wf_monitor_seen {
	uint64_t ticks;
	uint64_t picks;			/* wf_proc_picks */
	int64_t moved_ns;		/* when ticks last differed */
	int64_t idle_ns;		/* its idle_ns then */
	int64_t free_ns;		/* when nothing waited behind long tasks
					   or help was sent for */
};

struct wf_monitor {
	_Atomic(uint32_t) asleep wf_aligned(WF_FALSE_SHARING);	/* futex */
	_Atomic(bool) quit;
	bool started;			/* fixed once the runtime runs */
	struct wf_os_thread os;
	struct wf_monitor_seen *seen;	/* the monitor's: one per processor */
};

/* -EAGAIN, -ENOMEM: no monitor.  stop also if it never started. */
wf_must_check int wf_monitor_start(struct weft_rt *rt);
void wf_monitor_stop(struct weft_rt *rt);

/* A processor runs again (M1).  Its bit is clear. */
void wf_monitor_rouse(struct weft_rt *rt);

/*
 * One look at everything, pause_ns after the one before; 0: it is the first in
 * a long time.  Returns when to look again, in ns from now.
 */
int64_t wf_monitor_look(struct weft_rt *rt, int64_t now_ns, int64_t pause_ns);

#endif
