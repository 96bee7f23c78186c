/* SPDX-License-Identifier: MIT */
/*
 * queue/fair_share.h - how many tasks a processor takes from the global queue.
 */
#ifndef WF_QUEUE_FAIR_SHARE_H
#define WF_QUEUE_FAIR_SHARE_H

#include <stddef.h>

#include "base/units.h"

/*
 * The fair share of count waiting tasks among sharers processors: rounded up,
 * so that at least one is taken, and at most max, so that they fit.
 */
static inline size_t wf_fair_share(size_t count, size_t sharers, size_t max)
{
	size_t share = count / sharers + (count % sharers != 0);

	return wf_min_size(share, max);
}

#endif
