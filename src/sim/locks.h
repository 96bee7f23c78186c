/* SPDX-License-Identifier: MIT */
/*
 * sim/locks.h - check that threads take weft's short locks in one order.
 *
 * os/lock.h reports every lock.  Taking B while holding A orders A before B,
 * for the rest of the run; a cycle is a failure, even if no thread has
 * deadlocked this time.
 *
 * Reads next: sim/order.h, the locks of the API, which fibers hold.
 */
#ifndef WF_SIM_LOCKS_H
#define WF_SIM_LOCKS_H

void wf_sim_locks_reset(void);

#endif
