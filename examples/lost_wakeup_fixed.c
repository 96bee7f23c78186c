/* SPDX-License-Identifier: MIT */
/*
 * examples/lost_wakeup_fixed.c - examples/lost_wakeup.c without its bug.
 *
 * Each side writes one word and then reads the other's:
 *
 *	reader		sleeper = me	letter == 0?		then sleep
 *	sender		letter = 7	sleeper == NULL?	then wake nobody
 *
 * At least one of them must see what the other wrote.  Release and acquire do
 * not promise that.  They say that who sees a write also sees what came before
 * it; they do not say that a write can be seen by the time its writer reads on.
 * It may still wait in a buffer of the processor then, even on x86.  So both
 * may read the old value: one sleeps, and the other one wakes nobody.
 *
 * Sequential consistency promises it, of operations that all have it: the four
 * are in one order, and whoever writes second in it reads after both writes.
 * It is what C gives without "_explicit"; those four lines are all that was
 * changed.
 *
 * Build it as the other one; it passes as many schedules as you like.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <weft/sim.h>
#include <weft/weft.h>

#define READERS 2

/* For one letter, from anybody to one fiber; all-zero is empty. */
struct mailbox {
	_Atomic(int) letter;		/* 0: none */
	_Atomic(weft_fiber *) sleeper;	/* who waits for one, or NULL */
};

static struct mailbox boxes[READERS];

struct nap {
	struct weft_awaiter awaiter;	/* first, so that a nap is one */
	struct mailbox *box;
};

/* The fiber has left its stack.  Say that it sleeps, unless it need not. */
static bool fall_asleep(struct weft_awaiter *awaiter, weft_fiber *self)
{
	struct mailbox *box = ((struct nap *)awaiter)->box;

	atomic_store(&box->sleeper, self);
	/* A letter that came in the meantime found nobody to wake. */
	if (atomic_load(&box->letter) == 0)
		return true;
	/* There is one.  If its sender has seen us too, we will be woken. */
	return atomic_exchange(&box->sleeper, NULL) == NULL;
}

static int take(struct mailbox *box)
{
	struct nap nap = { .awaiter.commit = fall_asleep, .box = box };
	int letter;

	while ((letter = atomic_exchange(&box->letter, 0)) == 0) {
		int err = weft_suspend(&nap.awaiter);

		assert(err >= 0);
	}
	return letter;
}

static void put(struct mailbox *box, int letter)
{
	weft_fiber *fiber;

	atomic_store(&box->letter, letter);
	/* Mostly nobody sleeps, so look before paying for an exchange. */
	if (atomic_load(&box->sleeper) == NULL)
		return;
	fiber = atomic_exchange(&box->sleeper, NULL);
	if (fiber != NULL)
		weft_wake(fiber, WEFT_HINT_DEFAULT);
}

/* Read one letter, and sign it by returning the box. */
static void *reader(void *arg)
{
	int letter = take(arg);

	assert(arg == &boxes[letter - 1]);
	return arg;
}

/* The whole program, from nothing: it is run again for every schedule. */
static void body(void *arg)
{
	weft_config one = { .workers = 1 };
	weft_fiber *fibers[READERS];
	weft_rt *rt;
	int err = weft_rt_start(&rt, &one);

	assert(err == 0);
	for (int i = 0; i < READERS && !err; i++)
		err = weft_rt_spawn(rt, &fibers[i], NULL, reader, &boxes[i]);
	for (int i = 0; i < READERS && !err; i++)
		put(&boxes[i], i + 1);
	for (int i = 0; i < READERS && !err; i++)
		err = weft_join(fibers[i], &arg, WEFT_FOREVER);
	if (!err)
		err = weft_rt_stop(rt, WEFT_FOREVER);
	assert(err == 0 && arg == &boxes[READERS - 1]);
}

int main(void)
{
#ifdef NATIVE
	body(NULL);
	return puts("lost_wakeup_fixed: every letter was read") < 0;
#else
	puts("lost_wakeup_fixed: is there a schedule in which a fiber sleeps "
	     "for ever?");
	return weft_sim_main(NULL, body, NULL);
#endif
}
