/* SPDX-License-Identifier: MIT */
/*
 * weft/obs.h - observe a runtime: metrics.
 *
 * Every processor has its own counters and reads of them are not synchronised:
 * a figure is exact once its processor rests, and slightly old before that.
 */
#ifndef WEFT_OBS_H
#define WEFT_OBS_H

#include <stddef.h>
#include <stdint.h>

#include <weft/attr.h>
#include <weft/runtime.h>

WEFT_BEGIN_DECLS

/* Buckets of delay: [0] below 1 us, [i] below 2^i us, the last: all longer. */
#define WEFT_DELAY_BUCKETS 24

typedef struct weft_metrics {
	uint64_t fibers;	/* alive now; per processor: started there */
	uint64_t threads;	/* OS threads now */

	/* Tasks run, by where the processor got them; the sum is ticks. */
	uint64_t runs_lifo;	/* from the slot of WEFT_HINT_NEXT */
	uint64_t runs_local;	/* from its own queue and its yielders */
	uint64_t runs_global;	/* from the global queue */
	uint64_t runs_stolen;	/* from another processor's queue or slot */

	uint64_t steals;	/* successful steals */
	uint64_t stolen;	/* tasks taken by them */
	uint64_t steal_fails;	/* searches that found nothing */
	uint64_t offloads;	/* half of a full queue moved to the global */
	uint64_t grabs;		/* takes from the global queue */
	uint64_t parks;		/* a processor went to sleep */
	uint64_t wakes;		/* a sleeping processor was woken */
	uint64_t wakes_futile;	/* of these, wakes that found no work */
	uint64_t ticks;		/* tasks run */
	uint64_t polls;		/* queries of the poller; 0 so far */
	uint64_t search_ns;	/* time that processors looked for work */
	uint64_t stuck;		/* fibers that ran too long; 0 so far */

	uint64_t runs_inline;	/* of runs_local, run by the joining fiber */
	uint64_t switches;	/* from a fiber's stack to another stack */
	uint64_t spawned;	/* fibers started */
	uint64_t finished;	/* fibers that have ended */
	uint64_t thread_fails;	/* threads the system refused */

	/*
	 * How long fibers were ready before they ran: the number of runs in
	 * each bucket.  About one run in global_tick is measured, chosen at
	 * random, and more of them if tasks are long.  Not measured are tasks;
	 * fibers that other threads started or woke, because the time of that
	 * is not known; and children that the joining fiber ran as a call.
	 */
	uint64_t delay[WEFT_DELAY_BUCKETS];

	uint64_t overflows;	/* tasks for which a bounded queue was full */
} weft_metrics;

/*
 * Read the totals of rt, or the figures of one processor; proc 0 is the first.
 * size is sizeof(weft_metrics) of the caller: fields that the caller's struct
 * does not have are left out, fields that the library does not have are 0.
 *
 * Return 0; -EINVAL for a proc past the last one, or size 0.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_metrics_read(
	weft_rt *rt, weft_metrics *m, size_t size);
WEFT_API WEFT_MUST_CHECK int weft_metrics_proc(
	weft_rt *rt, unsigned proc, weft_metrics *m, size_t size);

WEFT_END_DECLS

#endif
