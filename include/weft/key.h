/* SPDX-License-Identifier: MIT */
/*
 * weft/key.h - fiber-local values.
 *
 *	static weft_key buffer;
 *
 *	err = weft_key_create(&buffer, free);		once
 *	...
 *	err = weft_key_set(buffer, malloc(4096));	in any fiber
 *	use(weft_key_get(buffer));
 *
 * Values of _Thread_local and pthread_setspecific belong to a thread, and a
 * fiber moves from thread to thread.  The values of a key belong to the fiber.
 */
#ifndef WEFT_KEY_H
#define WEFT_KEY_H

#include <stdint.h>

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/* Names one value in every fiber.  Zero is not a valid key. */
typedef uint32_t weft_key;

/*
 * Make a key.  It lives as long as the process: no call gives it back.  Its
 * value is NULL in every fiber, also in those that run already.
 *
 * When the function of a fiber has returned, weft calls destructor (unless it
 * is NULL) with each value of this key that is not NULL, after it has set that
 * value to NULL.  The destructor runs as that fiber, on its stack, and may wait
 * and set values.  If a value is not NULL afterwards, all keys are visited
 * again, at most four times in all.  Only then do a join of the fiber and a
 * close of its scope return.
 *
 * Returns 0 and the key in *k; -EAGAIN if there are 1024 keys already.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_key_create(
	weft_key *k, void (*destructor)(void *));

/*
 * The value of k in the running fiber.  NULL if it was not set, outside a
 * fiber, or if k is not a key.
 *
 * Context: any.  Never switches.
 */
WEFT_API void *weft_key_get(weft_key k);

/*
 * Set the value of k in the running fiber to v.  The destructor is not called
 * for the value that it replaces.
 *
 * Returns 0; -ENOMEM, which can happen only the first time that this fiber sets
 * k to something other than NULL; -EINVAL if k is not a key; -EPERM outside a
 * fiber.  On an error the value is unchanged.
 *
 * Context: fiber.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_key_set(weft_key k, void *v);

WEFT_END_DECLS

#endif
