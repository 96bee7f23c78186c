/* SPDX-License-Identifier: MIT */
/*
 * stack/class.h - the sizes a stack can have, and the layout of a slot.
 *
 * Stacks come in classes, each twice as large as the one before.  The smallest
 * promises four pages (at least 16 KiB), the largest 1 GiB.  A slot of a class
 * is
 *
 *	low						       high
 *	| guard | slack |	  promised	      | head, colour |
 *	|<-------------------------- stride ------------------------->|
 *
 * guard	faults on any access; wide enough that a frame cannot skip it
 *		(WF_ARCH_GUARD_BYTES)
 * slack	room beyond the promise, a quarter of it and more, so that a
 *		fiber which has used a little of its stack can still run another
 *		one, with its full promise, as a call on the same stack
 * head		struct wf_stack; it and the colour are taken from the slack
 * colour	up to 2 KiB, different from slot to slot, so that the tops of
 *		many stacks do not fall into the same cache sets
 *
 * The stride is an odd number of pages, so that stacks do not fall into the
 * same sets of larger caches.  A slot only reserves address space; a page costs
 * memory when it is first touched.
 *
 * Reads next: stack/arena.h, where the slots are.
 */
#ifndef WF_STACK_CLASS_H
#define WF_STACK_CLASS_H

#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

#define WF_STACK_CLASSES 17
#define WF_STACK_BYTES_MIN (16 * WF_KIB)
#define WF_STACK_BYTES_MAX WF_GIB
#define WF_STACK_BYTES_DEFAULT (64 * WF_KIB)

/* Number of colours: they cover half a page, in cache lines. */
#define WF_STACK_COLOURS 32

struct wf_stack_class {
	size_t promised;	/* bytes a fiber has at least */
	size_t guard;		/* bytes at the low end that fault */
	size_t stride;		/* bytes from slot to slot; odd in pages */
	uint32_t batch;		/* stacks that move at once */
};

/*
 * The number of the class for stacks of bytes bytes (0: the default), or
 * -EINVAL if there is none that large.
 */
int wf_stack_class_of(size_t bytes, size_t page_bytes);

/* The shape of class number cls, in [0, WF_STACK_CLASSES). */
struct wf_stack_class wf_stack_class_make(unsigned cls, size_t page_bytes);

#endif
