/* SPDX-License-Identifier: MIT */
/*
 * weft/once.h - something that is done once, by whoever needs it first.
 *
 *	static weft_once once;
 *
 *	weft_once_do(&once, prepare, NULL);
 *	... it is prepared ...
 *
 * All-zero is valid: it has not been done.  There is no destroy.
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
 * Call fn(arg), unless that was done with o before; if somebody else is at it,
 * wait until it has returned.  Cannot fail, and is no cancellation point; fn
 * may wait.  To call this with o from within fn is misuse: one line, abort.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   all that fn did happens before the return.
 */
WEFT_API void weft_once_do(weft_once *o, void (*fn)(void *), void *arg);

WEFT_END_DECLS

#endif
