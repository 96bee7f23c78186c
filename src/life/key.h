/* SPDX-License-Identifier: MIT */
/*
 * life/key.h - values that each fiber has of its own (weft/key.h).
 *
 * Reads next: life/key.c
 */
#ifndef WF_SCHED_KEY_H
#define WF_SCHED_KEY_H

#include "base/compiler.h"
#include "fiber/fiber.h"

/*
 * The function of f has returned, and f is the running fiber: call destructors
 * and forget the values, if there are any.
 */
wf_may_switch void wf_keys_end(weft_fiber *f);

#endif
