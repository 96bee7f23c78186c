/* SPDX-License-Identifier: MIT */
/*
 * sched/policy.h - the choices a runtime was started with.
 *
 * The default pays nothing for there being others: no choice is looked at where
 * it runs.  What would go another way under another policy is kept from the
 * fast paths by what these look at anyhow:
 *
 *	a push		by the flags of the processor (coarse, sched/proc.h):
 *			WF_APART, fixed, sends it to wf_push_flagged
 *	WEFT_HINT_NEXT	by a slot that is never empty (WF_SLOT_SHUT)
 *	a pick		by `shared' (sched/handshake.h), which is then fixed too
 *
 * and how much is stolen, taken or offloaded, and who is woken, is decided in
 * functions that are called seldom.
 *
 * Reads next: sched/global.h, the global queue in its forms.
 */
#ifndef WF_SCHED_POLICY_H
#define WF_SCHED_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include <weft/policy.h>

#include "base/compiler.h"
#include "queue/runq.h"

/* Is every field one of its enum?  If not, why says which; -EINVAL. */
wf_must_check int wf_policy_check(
	const weft_policy *p, char *why, size_t why_bytes);

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

/* Must pushes go another way than the default's? */
static inline bool wf_policy_is_apart(const weft_policy *p)
{
	return wf_policy_is_global(p) || p->local == WEFT_LOCAL_MUTEX;
}

/* Must a processor's queue always be open to thieves? */
static inline bool wf_policy_shares(const weft_policy *p)
{
	return wf_policy_is_apart(p) || p->locks == WEFT_LOCKS_NONE;
}

/* The operations of local queues. */
const struct wf_runq_ops *wf_policy_runq(const weft_policy *p);

/* At most so many are stolen, offloaded. */
static inline size_t wf_policy_steal(const weft_policy *p)
{
	return p->steal == WEFT_STEAL_ONE ? 1 : SIZE_MAX;
}

static inline size_t wf_policy_offload(const weft_policy *p)
{
	return p->offload == WEFT_OFFLOAD_ONE ? 1 : SIZE_MAX;
}

#endif
