/* SPDX-License-Identifier: MIT */
/*
 * sim/locks.h - locks are taken in one order.
 *
 * os/lock.h tells of every lock.  Taking B while holding A orders A before B,
 * for the rest of the run; a circle is a failure, even if nobody got stuck in
 * it this time.
 */
#ifndef WF_SIM_LOCKS_H
#define WF_SIM_LOCKS_H

void wf_sim_locks_reset(void);

#endif
