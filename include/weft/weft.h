/* SPDX-License-Identifier: MIT */
/*
 * weft/weft.h - all of weft.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/amutex.h>
#include <weft/attr.h>
#include <weft/barrier.h>
#include <weft/chan.h>
#include <weft/cond.h>
#include <weft/event.h>
#include <weft/fiber.h>
#include <weft/group.h>
#include <weft/key.h>
#include <weft/mutex.h>
#include <weft/obs.h>
#include <weft/once.h>
#include <weft/policy.h>
#include <weft/runtime.h>
#include <weft/rwlock.h>
#include <weft/scope.h>
#include <weft/sem.h>
#include <weft/task.h>
#include <weft/thread_local.h>
#include <weft/time.h>
#include <weft/version.h>

#endif
