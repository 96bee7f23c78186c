/* SPDX-License-Identifier: MIT */
/*
 * weft/obs.h - looking at a runtime: metrics.
 *
 * Every processor counts for itself and nobody synchronises: a figure is exact
 * once its processor rests, and a moment old before that.
 */
#ifndef WEFT_OBS_H
#define WEFT_OBS_H

#include <stddef.h>
#include <stdint.h>

#include <weft/attr.h>
#include <weft/runtime.h>

WEFT_BEGIN_DECLS

/* Buckets of delay: [0] below 1 us, [i] below 2^i us, the last one all else. */
#define WEFT_DELAY_BUCKETS 24

typedef struct weft_metrics {
	uint64_t fibers;	/* alive now; of one processor: started there */
	uint64_t threads;	/* OS threads now */

	/* Tasks run, by where they came from; they add up to ticks. */
	uint64_t runs_lifo;	/* the slot of WEFT_HINT_NEXT */
	uint64_t runs_local;	/* the own queue, yielders included */
	uint64_t runs_global;	/* the global queue */
	uint64_t runs_stolen;	/* another processor's queue or slot */

	uint64_t steals;	/* times that something was stolen */
	uint64_t stolen;	/* tasks that came over by it */
	uint64_t steal_fails;	/* searches that found nothing */
	uint64_t offloads;	/* times that half a queue went to the global */
	uint64_t grabs;		/* times that tasks came from the global */
	uint64_t parks;		/* times that a processor went to sleep */
	uint64_t wakes;		/* times that one was woken */
	uint64_t wakes_futile;	/* of these, that found nothing to do */
	uint64_t ticks;		/* tasks run */
	uint64_t polls;		/* looks at the poller; none yet */
	uint64_t search_ns;	/* time spent looking for work */
	uint64_t stuck;		/* fibers found to run too long; none yet */

	uint64_t runs_inline;	/* of runs_local, by the fiber that joined it */
	uint64_t switches;	/* from one fiber's stack to another stack */
	uint64_t spawned;	/* fibers started */
	uint64_t finished;	/* fibers that have ended */
	uint64_t thread_fails;	/* threads the system refused */

	/*
	 * How long fibers were ready before they ran, of about one run in
	 * global_tick, chosen at random, and of more if tasks are long: how
	 * many in each bucket.  Left out are tasks, fibers that other threads
	 * started or woke, since their time is not known, and children that
	 * ran as calls of the fiber that joined them.
	 */
	uint64_t delay[WEFT_DELAY_BUCKETS];

	uint64_t overflows;	/* tasks that found a bounded queue full */
} weft_metrics;

/*
 * The totals of rt, or the figures of one processor: those of the first are
 * number 0.  size is sizeof(weft_metrics) of the caller; what the library knows
 * and the caller does not is left out, what it does not know is 0.
 *
 * Return 0; -EINVAL for a processor past the last one, or size 0.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_metrics_read(
	weft_rt *rt, weft_metrics *m, size_t size);
WEFT_API WEFT_MUST_CHECK int weft_metrics_proc(
	weft_rt *rt, unsigned proc, weft_metrics *m, size_t size);

WEFT_END_DECLS

#endif
