/* SPDX-License-Identifier: MIT */
/*
 * life/key.h - fiber-local values (weft/key.h).
 *
 * Reads next: life/key.c
 */
#ifndef WF_LIFE_KEY_H
#define WF_LIFE_KEY_H

#include "base/compiler.h"
#include "fiber/fiber.h"

/*
 * The function of f, which has values, has returned, and f is still the running
 * fiber: call the destructors of its values, and free them.
 */
wf_may_switch void wf_keys_end(weft_fiber *f);

#endif
