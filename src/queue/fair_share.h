/* SPDX-License-Identifier: MIT */
/*
 * queue/fair_share.h - how much one processor takes of what belongs to all.
 */
#ifndef WF_QUEUE_SHARE_H
#define WF_QUEUE_SHARE_H

#include <stddef.h>

#include "base/units.h"

/*
 * The fair share of count waiting tasks among sharers processors: rounded up,
 * so that one of few is taken, and at most max, so that it fits.
 */
static inline size_t wf_share(size_t count, size_t sharers, size_t max)
{
	size_t share = count / sharers + (count % sharers != 0);

	return wf_min_size(share, max);
}

#endif
