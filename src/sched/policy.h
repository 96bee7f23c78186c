/* SPDX-License-Identifier: MIT */
/*
 * sched/policy.h - the choices a runtime was started with.
 *
 * The default policy pays nothing for the others: fast paths do not read the
 * policy.  They branch on words that they read anyhow, and these words send the
 * other policies to slow paths:
 *
 *	a push	push_flags (sched/proc.h): WF_PUSH_POLICY, WF_PUSH_SLOTLESS
 *	a pick	shared (sched/handshake.h), which is then always set
 *
 * Functions that are called seldom read the policy itself: how much is stolen,
 * taken or offloaded, and which processor is woken.
 *
 * Reads next: sched/global.h, the global queue in its forms.
 */
#ifndef WF_SCHED_POLICY_H
#define WF_SCHED_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include <weft/policy.h>

/* Do all ready tasks wait in the global queue? */
static inline bool wf_policy_is_global(const weft_policy *p)
{
	return p->queue != WEFT_QUEUE_STEALING;
}

/* Do yielders go to the global queue, and not to a list of the processor? */
static inline bool wf_policy_yields_global(const weft_policy *p)
{
	return wf_policy_is_global(p) || p->locks == WEFT_LOCKS_NONE;
}

/* Does a push take another way than in the default policy? */
static inline bool wf_policy_pushes(const weft_policy *p)
{
	return wf_policy_is_global(p) || p->local == WEFT_LOCAL_MUTEX;
}

/* Are local queues always open to thieves? */
static inline bool wf_policy_is_open(const weft_policy *p)
{
	return wf_policy_pushes(p) || p->locks == WEFT_LOCKS_NONE;
}

/* At most so many tasks are stolen, or offloaded, at once. */
static inline size_t wf_policy_steal(const weft_policy *p)
{
	return p->steal == WEFT_STEAL_ONE ? 1 : SIZE_MAX;
}

static inline size_t wf_policy_offload(const weft_policy *p)
{
	return p->offload == WEFT_OFFLOAD_ONE ? 1 : SIZE_MAX;
}

#endif
