/* SPDX-License-Identifier: MIT */
/*
 * os/spin.c - waiting for a spin lock.
 */
#include "os/spin.h"

#include "arch/context.h"
#include "base/limits.h"
#include "os/os.h"

void wf_spin_slow(struct wf_spin *s)
{
	unsigned looks = 0;

	do {
		while (wf_load_rlx(&s->word) != 0) {
			/* Its holder may have lost its CPU. */
			if (++looks % WF_LOCK_SPINS == 0)
				wf_os_thread_yield();
			wf_cpu_relax();
		}
		/* [pair: spin.word] As in wf_spin_lock. */
	} while (wf_xchg_acq(&s->word, 1) != 0);
}
