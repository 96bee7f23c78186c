/* SPDX-License-Identifier: MIT */
/*
 * idle/parker.c - sleeping on a futex.
 */
#include "idle/parker.h"

#include <errno.h>

bool wf_parker_sleep(struct wf_parker *parker, int64_t until_ns)
{
	/* [pair: park.word] See all that the waker did before. */
	while (wf_load_acq(&parker->word) == 0)
		if (wf_os_futex_wait(&parker->word, 0, until_ns) == -ETIMEDOUT)
			return false;
	wf_store_rlx(&parker->word, 0);
	return true;
}
