/* SPDX-License-Identifier: MIT */
/*
 * os/spin.c - the slow paths of the spin locks.
 */
#include "os/spin.h"

#include "arch/context.h"
#include "base/limits.h"
#include "os/os.h"

void wf_spin_pause(unsigned looks)
{
	/* The holder may have lost its CPU. */
	if (looks % WF_LOCK_SPINS == 0)
		wf_os_thread_yield();
	wf_cpu_relax();
}

void wf_spin_while(void)
{
	for (unsigned i = 0; i < WF_LOCK_SPINS; i++)
		wf_cpu_relax();
}

void wf_spin_slow(struct wf_spin *s)
{
	unsigned looks = 0;

	do {
		while (wf_load_rlx(&s->word) != 0)
			wf_spin_pause(++looks);
		/* [pair: spin.word] See all the last holder did. */
	} while (wf_xchg_acq(&s->word, 1) != 0);
}

uint64_t wf_bit_slow(_Atomic(uint64_t) *word)
{
	unsigned looks = 0;
	uint64_t seen;

	for (;;) {
		seen = wf_load_rlx(word);
		/* [pair: bit.word] See all the last holder did. */
		if (!(seen & WF_BIT_LOCK) &&
			wf_cas_weak_acq(word, &seen, seen | WF_BIT_LOCK))
			return seen;
		wf_spin_pause(++looks);
	}
}
