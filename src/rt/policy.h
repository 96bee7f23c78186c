/* SPDX-License-Identifier: MIT */
/*
 * rt/policy.h - checking a policy, and the queue operations that it asks for.
 */
#ifndef WF_RT_POLICY_H
#define WF_RT_POLICY_H

#include <stddef.h>

#include <weft/policy.h>

#include "base/compiler.h"
#include "queue/runq.h"

/* -EINVAL: the policy is not valid, and why says which field is wrong. */
wf_must_check int wf_policy_check(
	const weft_policy *p, char *why, size_t why_bytes);

/* The operations of local queues under p. */
const struct wf_runq_ops *wf_policy_runq(const weft_policy *p);

#endif
