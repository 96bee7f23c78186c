/* SPDX-License-Identifier: MIT */
/*
 * examples/lost_wakeup_fixed.c - examples/lost_wakeup.c without its bug.
 *
 * Each side writes one word and then reads the other's:
 *
 *	reader		sleeper = me	letter == 0?		then sleep
 *	sender		letter = 7	sleeper == NULL?	then no wake
 *
 * At least one of them must see the other's write.  Release and acquire do not
 * promise that.  They promise that a thread which sees a write also sees
 * everything that came before it; they do not promise that a write is visible
 * by the time its writer reads on.  The write may still wait in a buffer of the
 * processor then, even on x86.  So both may read the old value: the reader
 * sleeps, and the sender does not wake it.
 *
 * Sequential consistency promises it, if all four operations have it: the four
 * are in one order, and the side that writes second in it reads after both
 * writes.  C gives it to operations without "_explicit"; only those four lines
 * were changed.
 *
 * Build it like the other one; it passes any number of schedules.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <weft/sim.h>
#include <weft/weft.h>

#define READERS 2

/* For one letter, from any sender to one fiber; a zeroed box is empty. */
struct mailbox {
	_Atomic(int) letter;		/* 0: none */
	_Atomic(weft_fiber *) sleeper;	/* the fiber that waits, or NULL */
};

static struct mailbox boxes[READERS];

struct nap {
	struct weft_awaiter awaiter;	/* first, so that a nap is an awaiter */
	struct mailbox *box;
};

/* The fiber has left its stack.  Say that it sleeps, unless it need not. */
static bool fall_asleep(struct weft_awaiter *awaiter, weft_fiber *self)
{
	struct mailbox *box = ((struct nap *)awaiter)->box;

	atomic_store(&box->sleeper, self);
	/* A letter that came in the meantime found no sleeper to wake. */
	if (atomic_load(&box->letter) == 0)
		return true;
	/* There is a letter.  If its sender has seen us too, it wakes us. */
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
	/* Mostly no fiber sleeps, so look before paying for an exchange. */
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

/* The whole program, from scratch: the simulator runs it for every schedule. */
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
