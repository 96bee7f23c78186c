/* SPDX-License-Identifier: MIT */
/*
 * os/linux/pin.h - keep the library in memory.
 *
 * A program may unload a plug-in that it has loaded with dlopen, and with it
 * the library, if that is linked into the plug-in or was loaded for it.  But
 * code outside may still know addresses of ours: a signal handler, also known
 * to handlers that were installed later and pass signals on; a destructor of a
 * pthread key; the last instructions of a thread that is never joined.  None of
 * these can be withdrawn safely.  So a function that hands out such an address
 * pins the code first.
 *
 * libweft.so is linked with -z nodelete, which does the same.  This is for
 * libweft.a in a plug-in, which has no such flag.
 */
#ifndef WF_OS_LINUX_PIN_H
#define WF_OS_LINUX_PIN_H

#include "base/compiler.h"

/*
 * Never unload the object that contains this code.  May be called again.
 * -ENOMEM.
 */
wf_must_check int wf_pin(void);

#endif
