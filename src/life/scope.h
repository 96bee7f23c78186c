/* SPDX-License-Identifier: MIT */
/*
 * life/scope.h - scopes, for those who start, cancel and end fibers.
 *
 * Reads next: life/scope.c
 */
#ifndef WF_SCHED_SCOPE_H
#define WF_SCHED_SCOPE_H

#include "base/compiler.h"
#include "fiber/fiber.h"

struct wf_scope;

/*
 * f, which is known to live, was just asked to end: set bit in its CUT, end the
 * wait it is in, and do the same to all that is in scopes it has open.
 */
void wf_scope_cancel_of(weft_fiber *f, uint32_t bit);

/* The function of f has returned: no scope may be left open. */
void wf_scope_check_end(weft_fiber *f);

/*
 * Start run(arg) in a detached fiber of s, on the executor that runs the
 * caller.  fn is what others see as its function.  (life/spawn.c)
 */
wf_must_check int wf_spawn_member(
	struct wf_scope *s, void (*run)(void *), void *fn, void *arg);

#endif
