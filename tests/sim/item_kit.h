/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/item_kit.h - tasks that notice when they run twice, never, without
 * what their submitter wrote, or at the same time as another.
 *
 * Everything is plain: accesses that the executor does not order are a race.
 */
#ifndef WEFT_TESTS_SIM_ITEM_KIT_H
#define WEFT_TESTS_SIM_ITEM_KIT_H

#include "sim/exec_kit.h"

enum { ITEMS = 8, ITEM_PAYLOAD = 4711 };

struct item {
	weft_task task;			/* must be first */
	int payload;			/* as its submitter wrote it */
	int ran;
	bool refused;
	void (*then)(struct item *i);	/* what it does; NULL: nothing */
};

static struct items {
	struct item item[ITEMS];
	weft_executor *to;		/* where they go */
	struct desk *leaves;		/* it is left by each, unless NULL */
	/* If they may never run at once. */
	bool alone;
	int inside;
	unsigned log[ITEMS];		/* which ran, in this order */
	unsigned logged;
} items;

static inline unsigned item_number(struct item *i)
{
	return (unsigned)(i - items.item);
}

static inline void item_log(struct item *i)
{
	weft_sim_assert(items.inside++ == 0, "two run at once");
	items.log[items.logged++] = item_number(i);
}

static inline void item_run(weft_task *task)
{
	struct item *i = (struct item *)task;

	weft_sim_assert(i->payload == ITEM_PAYLOAD,
		"item %u runs without its payload", item_number(i));
	weft_sim_assert(i->ran++ == 0, "item %u runs twice", item_number(i));
	if (items.alone)
		item_log(i);
	if (i->then != NULL)
		i->then(i);
	if (items.alone)
		items.inside--;
	if (items.leaves != NULL)
		desk_leave(items.leaves);
}

/* Item n to where they go; it may be refused if may_be says so. */
static inline void item_submit_hint(unsigned n, bool may_be, weft_hint hint)
{
	struct item *i = &items.item[n];
	int err;

	i->task.run = item_run;
	i->payload = ITEM_PAYLOAD;
	err = weft_submit(items.to, &i->task, hint);
	if (err == 0)
		return;
	weft_sim_assert(may_be && err == -EBUSY, "item %u: %d", n, err);
	/* It is ours again. */
	i->refused = true;
	i->payload = 0;
	i->task.next_ = NULL;
	if (items.leaves != NULL)
		desk_leave(items.leaves);
}

static inline void item_submit(unsigned n)
{
	item_submit_hint(n, false, WEFT_HINT_DEFAULT);
}

/* Each of the first n ran once, or was refused. */
static inline void items_check(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		weft_sim_assert(
			items.item[i].ran == !items.item[i].refused,
			"item %u ran %d times, and was %srefused", i,
			items.item[i].ran, items.item[i].refused ? "" : "not ");
}

/* Of those that ran, a came before b. */
static inline void items_check_order(unsigned a, unsigned b)
{
	bool seen = false;

	for (unsigned i = 0; i < items.logged; i++) {
		weft_sim_assert(items.log[i] != a || !seen,
			"item %u runs before item %u", b, a);
		seen |= items.log[i] == b;
	}
}

#endif
