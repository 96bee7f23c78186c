/* SPDX-License-Identifier: MIT */
/*
 * weft/weft.h - all of weft.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/attr.h>
#include <weft/fiber.h>
#include <weft/group.h>
#include <weft/obs.h>
#include <weft/policy.h>
#include <weft/runtime.h>
#include <weft/task.h>
#include <weft/time.h>
#include <weft/version.h>

#endif
