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
 * Each thread has an errno of its own, and a fiber may go on on another thread
 * after any call that may switch.  libc declares the function behind errno as
 * one that always gives the same address.  So gcc and clang, from -O1 on, ask
 * for the address once and use it after the switch too; the fiber then reads
 * and writes the errno of a thread that it has left.  No flag stops that.  This
 * header does: errno becomes (*weft_errno()), with both compilers, as C and as
 * C++, at every level of optimisation and with that of the linker.
 *
 * The address is right, but the value belongs to the thread.  It stays while
 * the fiber computes and calls others; after a call of weft's that may switch
 * it is unspecified.  So look at errno first:
 *
 *	n = read(fd, buffer, sizeof(buffer));
 *	err = n < 0 ? errno : 0;
 *	weft_mutex_lock(&m);
 *
 * Two things are still wrong: to keep &errno across a call that may switch, and
 * to assign to errno the result of one.  In `errno = f()' the compiler may take
 * the address before it calls f (gcc does, in C).  Write
 *
 *	err = f();
 *	errno = err;
 *
 * weft/weft.h does not include this header, because it redefines a macro of
 * libc's.  Include it after all others, so that functions in their headers are
 * compiled as ever.  To include <errno.h> again afterwards changes nothing.
 */
#ifndef WEFT_ERRNO_H
#define WEFT_ERRNO_H

#include <errno.h>

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/*
 * The address of the errno of the thread that the caller runs on now.  It costs
 * one call more than libc's own.
 *
 * Context: any.  Never switches.
 */
WEFT_API int *weft_errno(void);

WEFT_END_DECLS

#undef errno
#define errno (*weft_errno())

#endif
