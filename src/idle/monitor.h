/* SPDX-License-Identifier: MIT */
/*
 * idle/monitor.h - one thread that watches the processors, and sends help.
 *
 * A submitter wakes no sleeper unless it knows that a wake pays.  The monitor
 * finds the tasks that wait too long because of that.  It looks at every
 * processor 50 us after one began to run, then at intervals that double up to
 * 1 ms while there is nothing to do, and wakes a sleeper for
 *
 *	a backlog of coarse tasks worth more than two wakes,
 *	tasks that wait behind a task which runs since the last look,
 *	tasks that wait behind tasks of 20 us at every look for 1 ms,
 *		children run as calls being part of their joiner's task,
 *	fine tasks, when the gate is open.
 *
 * If all of a group are busy, the sleeper is of another group (idle/groups.h).
 * A sleeper that has tasks in its own queues, which wf_park forbids, is woken
 * for them itself.
 *
 * The monitor fires the timers of a processor that is late with them by 1 ms,
 * because its task computes or its thread was stopped (wait/timers.h).  With
 * tasks in the global queue, behind which the fibers would go, it waits for as
 * much longer as these may take.
 *
 * A searcher that has searched for 2 ms has been stopped by the system.  When
 * help is needed the monitor gives its place among the searchers to the
 * processor that it wakes; the searcher stops searching when it runs again.
 *
 * So a ready task that others could run starts within two looks, a wake, and
 * the time the kernel takes to run these two threads: BOUND, stated as 3 ms on
 * a machine that has a CPU for each processor.
 *
 *	(M1) If a processor runs, the monitor is awake, or the thread that woke
 *	     or runs the processor is about to wake the monitor.
 *
 *	processor, woken		monitor
 *	  its sleeping bit cleared	  asleep = 1
 *	  fence [monitor.asleep]	  fence [monitor.asleep]
 *	  asleep? -> wake it		  any bit clear? -> asleep = 0
 *
 * A wake that comes when the monitor has cleared asleep itself ends its next
 * pause early, which does no harm.
 *
 * When nothing runs for some looks, the monitor sleeps until (M1) wakes it.  If
 * it was soon woken it looks on for four times as many the next time, at the
 * intervals that it had: timers that come every so often would wake it for
 * each, and a wake costs more than a look.
 * A runtime of one processor has no monitor.
 *
 * Reads next: idle/wake.h, how a sleeper is woken.
 */
#ifndef WF_IDLE_MONITOR_H
#define WF_IDLE_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "idle/gate.h"
#include "idle/parker.h"
#include "os/os.h"

struct weft_rt;

/* A processor as the monitor saw it at the last look. */
struct wf_monitor_seen {
	uint64_t ticks;
	uint64_t picks;			/* wf_proc_picks */
	int64_t moved_ns;		/* when ticks last differed */
	int64_t idle_ns;		/* its idle_ns then */
	int64_t free_ns;		/* when nothing waited behind long tasks
					   or help was sent for */
	int64_t calm_ns;		/* since then no help was needed */
};

/* What the monitor knows of a group. */
struct wf_monitor_group {
	struct wf_gate gate;
	uint64_t searchers;		/* the mask, at the last looks */
	int64_t searchers_ns;		/* since when */
	uint64_t steals;		/* of all, at the last look */
	int64_t stolen_ns;		/* when that last changed */
};

struct wf_monitor {
	_Atomic(uint32_t) asleep wf_aligned(WF_FALSE_SHARING);	/* (M1) */
	struct wf_parker parker;
	_Atomic(bool) quit;
	bool started;			/* fixed once the runtime runs */
	struct wf_os_thread os;

	/* The monitor's own. */
	int64_t now_ns;			/* of this look */
	struct wf_monitor_seen *seen;	/* one per processor */
	struct wf_monitor_group *groups;	/* one per group */
};

/*
 * Make the monitor of rt, whose groups and processors are there; it does not
 * run yet.  -ENOMEM.  close: it does not run any more; also if it was never
 * made.
 */
wf_must_check int wf_monitor_open(struct weft_rt *rt);
void wf_monitor_close(struct weft_rt *rt);

/* Run it.  -EAGAIN, -ENOMEM: it does not run.  stop also if it never ran. */
wf_must_check int wf_monitor_start(struct weft_rt *rt);
void wf_monitor_stop(struct weft_rt *rt);

/* A processor runs again (M1).  Its bit is clear.  rt may have no monitor. */
void wf_monitor_wake(struct weft_rt *rt);

/*
 * One look at everything, pause_ns after the one before; 0: it is the first in
 * a long time.  Returns when to look again, in ns from now.
 */
int64_t wf_monitor_look(struct weft_rt *rt, int64_t now_ns, int64_t pause_ns);

#endif
