/* SPDX-License-Identifier: MIT */
/*
 * life/scope.h - how a cancellation reaches the scopes of a fiber.
 *
 * Reads next: life/scope.c
 */
#ifndef WF_LIFE_SCOPE_H
#define WF_LIFE_SCOPE_H

#include "base/compiler.h"
#include "fiber/fiber.h"

struct wf_scope;

/*
 * Cancel f, which must be known to live: set bit in its CANCEL word, end the
 * wait it is in, and do the same to all fibers in scopes that it has open.
 */
void wf_scope_cancel_of(weft_fiber *f, uint32_t bit);

#endif
