/* SPDX-License-Identifier: MIT */
/*
 * weft/once.h - something that is done once, by the first caller that needs it.
 *
 *	static weft_once once;
 *
 *	weft_once_do(&once, prepare, NULL);
 *	... prepare has returned ...
 *
 * A zeroed weft_once is valid: nothing was done yet.  It needs no destroy.
 */
#ifndef WEFT_ONCE_H
#define WEFT_ONCE_H

#include <stdint.h>

#include <weft/attr.h>

WEFT_BEGIN_DECLS

typedef struct weft_once {
	uint64_t word_;
	uint64_t owner_;
} weft_once;

/*
 * Call fn(arg), unless a call with o has done so before.  If another fiber or
 * thread is in fn now, wait until fn has returned.  Cannot fail, and is not a
 * cancellation point.  fn may wait.  A call with o from within fn, or with NULL
 * for fn before fn has returned, is misuse: weft prints one line and aborts.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything fn did happens before the return.
 */
WEFT_API void weft_once_do(weft_once *o, void (*fn)(void *), void *arg);

WEFT_END_DECLS

#endif
