/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/queue_kit.h - what the scenarios about queues share.
 *
 * An item is a task with something plain in it.  The maker writes the plain
 * part before it pushes the item, and the taker reads it: a queue that does not
 * order the two makes a race, and so does one that hands an item out twice.
 */
#ifndef WEFT_TESTS_SIM_QUEUE_KIT_H
#define WEFT_TESTS_SIM_QUEUE_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/sim.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "queue/batch.h"
#include "queue/entry.h"
#include "queue/runq.h"

enum { ITEM_VALUE = 0x5ca1e, ITEMS_MAX = 12, MAKERS_MAX = 3 };

struct item {
	weft_task task;
	int number;			/* fixed: in the order of the pushes */
	int maker;			/* fixed: number of its maker */
	int value;			/* plain: of the maker, then taker */
	int taken;			/* plain: how often */
	_Atomic(uint32_t) claimed;	/* by the taker of a ticket for it */
};

/* A taker of items, and which item of each maker can come next. */
struct taker {
	int next[MAKERS_MAX];
};

static inline struct item *item_of(weft_task *task)
{
	return wf_container_of(task, struct item, task);
}

/* Number n items, of which each maker makes so many. */
static inline void items_open(struct item *items, int n, int each)
{
	for (int i = 0; i < n; i++) {
		items[i].number = i;
		items[i].maker = i / each;
	}
}

/* The item is ready to be pushed. */
static inline wf_entry item_make(struct item *item)
{
	item->value = ITEM_VALUE;
	return wf_entry_of(&item->task);
}

/* The item was taken, in any order. */
static inline void item_took(struct item *item)
{
	weft_sim_assert(item->value == ITEM_VALUE && item->taken == 0,
		"item %d has value %#x and was taken %d times before",
		item->number, (unsigned)item->value, item->taken);
	item->taken = 1;
}

/* The item was taken; its maker had pushed it behind the last one. */
static inline void item_took_next(struct taker *taker, struct item *item)
{
	int *next = &taker->next[item->maker];

	weft_sim_assert(item->number >= *next, "item %d comes behind item %d",
		item->number, *next - 1);
	*next = item->number + 1;
	item_took(item);
}

/* All of them were taken: call it when nobody else is active. */
static inline void items_close(struct item *items, int n)
{
	for (int i = 0; i < n; i++)
		weft_sim_assert(items[i].taken == 1, "item %d is lost", i);
}

static inline int thread_start(void (*fn)(void *), void *arg, const char *name)
{
	int t = weft_sim_thread(fn, arg, name);

	weft_sim_assert(t > 0, "thread %s did not start: %d", name, t);
	return t;
}

static inline void thread_join(int t)
{
	int err = weft_sim_join(t);

	weft_sim_assert(err == 0, "thread %d cannot be joined: %d", t, err);
}

/* The bodies; arg of those on rings is a struct wf_runq_ops. */
void ring_one_thief(void *arg);
void ring_two_thieves(void *arg);
void ring_chain(void *arg);
void ring_cross(void *arg);
void ring_offload(void *arg);
void ring_grab(void *arg);
void ring_laps(void *arg);
void ring_lone(void *arg);
void ring_reuse(void *arg);
void ring_reuse_steal(void *arg);

void ring_tickets(void *arg);
void ring_sift(void *arg);
void ring_sift_reuse(void *arg);

void inject_mix(void *arg);
void inject_front(void *arg);
void inject_len(void *arg);
void inject_none_left(void *arg);

void inbox_mix(void *arg);
void inbox_rest(void *arg);
void inbox_again(void *arg);

void bounded_mix(void *arg);
void bounded_laps(void *arg);
void bounded_full(void *arg);

void lock_three(void *arg);
void lock_try(void *arg);
void lock_freed(void *arg);

/*
 * The taker of an entry is done with its slot before the owner uses the slot
 * again (Q2).  Slots are atomic, so no race would tell, and a load that is
 * satisfied by a store yet to come is beyond the simulator; so the only taker
 * makes a plain note before each entry it takes, which stands for its reading
 * of the slot, and the owner reads that note as soon as it has used the slot.
 */
static inline void take_with_notes(const struct wf_runq_ops *ops,
	struct wf_runq *q, int times, int *note)
{
	for (int i = 0; i < times; i++) {
		wf_entry e;

		*note = ITEM_VALUE;
		if (ops->grab(q, &e, 1) == 0)
			continue;
		item_took(item_of(wf_entry_task(e)));
		note++;
	}
}

#endif
