/* SPDX-License-Identifier: MIT */
/*
 * stack/pool.h - all stacks of a runtime: credits, depot, arenas.
 *
 * A fiber that blocks leaves its thread without a stack for the next fiber, and
 * that fiber cannot be refused one.  So a spawn is the call that can fail: it
 * takes a CREDIT, and a credit is good for one stack at any time until it is
 * given back.
 *
 *	(P1) ready >= promised + caches * 2 batches + 1 batch	(per class)
 *
 * ready is the number of carved slots, promised the number of credits that are
 * out.  A stack that is neither taken nor available is in a cache (at most two
 * batches each) or is being trimmed (at most one batch).  So the holder of a
 * credit always finds a stack.  Give a stack back before its credit.
 *
 * A stack is
 *
 *	taken	by a fiber or a loop
 *	cached	in a processor's cache (stack/cache.h), hot
 *	depot	in a full magazine of the pool, hot: processors that take more
 *		than they give get whole magazines from those that give more
 *	cold	in its arena
 *
 * The depot keeps a limited number of magazines.  The stacks of further
 * magazines give their memory back and become cold.  An arena whose slots are
 * all cold is unmapped when (P1) allows it and it is not the last one.
 * wf_stack_pool_trim empties the depot.
 *
 * Locks.  lock guards lists and counts, for a few instructions at a time; no
 * system call and no page fault happens under it.  A thread that maps, carves
 * or trims holds grow_lock, and takes it before lock.
 *
 * Reads next: stack/cache.h, the interface for fibers.
 */
#ifndef WF_STACK_POOL_H
#define WF_STACK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/lock.h"
#include "stack/class.h"
#include "stack/stack.h"

/* All zero: the defaults. */
struct wf_stack_config {
	bool strict_guards;	/* -ENOMEM instead of a stack without guard */
	bool wipe;		/* no fiber sees old contents of a stack */
	size_t depot_bytes;	/* memory that the depot keeps; 0: 128 MiB */
};

/* One class; all under the pool's lock. */
struct wf_stack_store {
	struct wf_stack_class shape;	/* fixed */
	struct wf_arena *arenas;	/* all of them, the newest first */
	struct wf_arena *cold;		/* those with cold slots */
	struct wf_stack *depot;		/* list of full magazines */
	size_t depot_count;		/* magazines in it */
	size_t depot_max;		/* fixed */
	size_t ready;			/* (P1) */
	size_t promised;
	uint32_t next_age;		/* age of the next arena; grow lock */
};

struct wf_stack_pool {
	struct wf_lock grow_lock;
	struct wf_guards guards;
	struct wf_stack_config config;	/* fixed */
	size_t page_bytes;		/* fixed */

	struct wf_lock lock wf_aligned(WF_FALSE_SHARING);
	size_t caches;			/* open caches; under lock */
	struct wf_stack_store store[WF_STACK_CLASSES];
};

struct wf_stack_stats {
	size_t arenas;			/* mappings that hold stacks */
	size_t mapped_bytes;		/* address space */
	size_t ready;			/* carved slots */
	size_t promised;		/* credits that are out, cached ones
					 * too */
	size_t cold;			/* stacks without memory */
	size_t depot;			/* stacks in the depot */
	size_t guards_installed;	/* by MADV_GUARD_INSTALL */
	size_t guards_protected;	/* by page protection */
	size_t guards_missing;		/* stacks without a guard */
};

/* A pool with no stacks yet, in the caller's memory. */
void wf_stack_pool_open(
	struct wf_stack_pool *p, const struct wf_stack_config *config);

/* Unmap everything.  All caches are closed, all credits and stacks are back. */
void wf_stack_pool_close(struct wf_stack_pool *p);

/* The class for a size from the user: see wf_stack_class_of. */
int wf_stack_pool_class(struct wf_stack_pool *p, size_t bytes);

/* Take n credits of a class at once, or give them back.  -ENOMEM. */
wf_must_check int wf_stack_pool_promise(
	struct wf_stack_pool *p, unsigned cls, size_t n);
void wf_stack_pool_release(struct wf_stack_pool *p, unsigned cls, size_t n);

/* A cache is opened (-ENOMEM), or closed. */
wf_must_check int wf_stack_pool_join(struct wf_stack_pool *p);
void wf_stack_pool_leave(struct wf_stack_pool *p);

/*
 * For caches.  A magazine is a list of stacks of one class, at most a batch.
 * deal fills an empty magazine: with a full one from the depot, or else with
 * one cold stack; the caller holds a credit, so there is one (P1).  collect
 * empties a magazine: if it is full and the depot has room it goes there,
 * otherwise its stacks become cold.
 */
struct wf_stack_magazine {
	struct wf_stack *list;
	uint32_t count;
};

void wf_stack_pool_deal(
	struct wf_stack_pool *p, unsigned cls, struct wf_stack_magazine *m);
void wf_stack_pool_collect(
	struct wf_stack_pool *p, struct wf_stack_magazine *m);

/* Give the memory of all stacks in the depot back to the system. */
void wf_stack_pool_trim(struct wf_stack_pool *p);

void wf_stack_pool_stats(struct wf_stack_pool *p, struct wf_stack_stats *stats);

/*
 * Whether the invariants hold.  Walks everything, under both locks.  Do not
 * call it while a cache is being opened: that one counts before there are
 * stacks for it.
 */
bool wf_stack_pool_check(struct wf_stack_pool *p);

#endif
