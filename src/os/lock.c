/* SPDX-License-Identifier: MIT */
/*
 * os/lock.c - the slow paths of the short lock.
 */
#include "os/lock.h"

#include "arch/context.h"
#include "base/limits.h"
#include "os/os.h"

void wf_lock_slow(struct wf_lock *l)
{
	for (int i = 0; i < WF_LOCK_SPINS; i++) {
		uint32_t free = 0;

		/* [pair: lock.word] See all the last holder did. */
		if (wf_load_rlx(&l->word) == 0 &&
			wf_cas_acq(&l->word, &free, 1))
			return;
		wf_cpu_relax();
	}
	/*
	 * [pair: lock.word] See all the last holder did; 2: others may
	 * sleep.
	 */
	while (wf_xchg_acq(&l->word, 2) != 0)
		(void)wf_os_futex_wait(&l->word, 2, INT64_MAX);
}

/* The lock may be freed by now; only its address is used. */
void wf_unlock_slow(struct wf_lock *l)
{
	(void)wf_os_futex_wake(&l->word, 1);
}
