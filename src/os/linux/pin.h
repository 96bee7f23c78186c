/* SPDX-License-Identifier: MIT */
/*
 * os/linux/pin.h - the library stays in memory, whatever it was linked into.
 *
 * A program may unload a plug-in that it has loaded with dlopen, and with it
 * the library, if that is in the plug-in or was loaded for it.  But addresses
 * of ours may still be known outside: a signal handler, also to handlers that
 * were installed after it and pass signals on; a destructor of a pthread key;
 * the last lines of a thread that nobody joins.  None of them can be taken back
 * safely.  So what hands out such an address pins the code first.
 *
 * libweft.so says the same in its header (-z nodelete).  This is for libweft.a
 * in a plug-in, which cannot say it.
 */
#ifndef WF_OS_LINUX_PIN_H
#define WF_OS_LINUX_PIN_H

#include "base/compiler.h"

/* Never unload what this code is in.  May be called again.  -ENOMEM. */
wf_must_check int wf_pin(void);

#endif
