/* SPDX-License-Identifier: MIT */
/*
 * weft/key.h - values that each fiber has of its own.
 *
 *	static weft_key buffer;
 *
 *	err = weft_key_create(&buffer, free);		once
 *	...
 *	err = weft_key_set(buffer, malloc(4096));	in any fiber
 *	use(weft_key_get(buffer));
 *
 * What a thread has by _Thread_local or pthread_setspecific is of no use in a
 * fiber, which moves from thread to thread; this is.
 */
#ifndef WEFT_KEY_H
#define WEFT_KEY_H

#include <stdint.h>

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/* Names one value of every fiber.  Zero is no key. */
typedef uint32_t weft_key;

/*
 * Make a key.  It stays for as long as the process does: there is no call to
 * give it back.  In every fiber, those that run already too, its value is NULL.
 *
 * When a fiber's function has returned, destructor, unless it is NULL, is
 * called with each value of this key that is not NULL, after it was made NULL.
 * It runs as that fiber, on its stack, and may wait and set values; then all
 * are looked through again, but not more than four times.  Whoever joins the
 * fiber, or closes its scope, goes on only after that.
 *
 * Returns 0 and the key in *k; -EAGAIN if there are 1024 already.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_key_create(
	weft_key *k, void (*destructor)(void *));

/*
 * The value of k in the running fiber.  NULL if it was not set, outside of a
 * fiber, or if k is no key.
 *
 * Context: any.  Never switches.
 */
WEFT_API void *weft_key_get(weft_key k);

/*
 * Make v the value of k in the running fiber.  The value before is only
 * forgotten: its destructor is not called.
 *
 * Returns 0; -ENOMEM, which can happen only the first time that this fiber sets
 * k to something else than NULL; -EINVAL if k is no key; -EPERM outside of a
 * fiber.  On an error the value is as before.
 *
 * Context: fiber.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_key_set(weft_key k, void *v);

WEFT_END_DECLS

#endif
