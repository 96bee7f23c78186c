/* SPDX-License-Identifier: MIT */
/*
 * weft/errno.h - errno, for code that runs in fibers.
 *
 *	#include <stdio.h>
 *	#include <unistd.h>
 *	#include <weft/weft.h>
 *
 *	#include <weft/errno.h>		after all others
 *
 * Each thread has its own errno, and a fiber may continue on another thread
 * after any call that may switch.  libc declares the function behind errno as
 * one that always returns the same address.  So gcc and clang, from -O1 on,
 * compute the address once and use it after the switch too: the fiber then
 * reads and writes the errno of a thread that it has left.  No compiler flag
 * prevents that.  This header does: it makes errno mean (*weft_errno()), which
 * is right with both compilers, in C and in C++, at every level of optimisation
 * and with link-time optimisation.
 *
 * The address is then right, but the value still belongs to the thread.  It
 * stays while the fiber computes and calls functions that do not switch; after
 * a weft call that may switch, the value is unspecified.  So read errno first:
 *
 *	n = read(fd, buffer, sizeof(buffer));
 *	err = n < 0 ? errno : 0;
 *	weft_mutex_lock(&m);
 *
 * Two things are still wrong: to keep &errno across a call that may switch, and
 * to assign the result of such a call to errno.  In `errno = f()' the compiler
 * may take the address before it calls f (gcc does, in C).  Write
 *
 *	err = f();
 *	errno = err;
 *
 * weft/weft.h does not include this header, because it redefines a macro of
 * libc.  Include it after all others, so that functions in other headers are
 * compiled as without it.  Including <errno.h> again afterwards changes
 * nothing.
 */
#ifndef WEFT_ERRNO_H
#define WEFT_ERRNO_H

#include <errno.h>

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/*
 * The address of errno of the thread on which the caller runs now.  It costs
 * one call more than libc's own.
 *
 * Context: any.  Never switches.
 */
WEFT_API int *weft_errno(void);

WEFT_END_DECLS

#undef errno
#define errno (*weft_errno())

#endif
