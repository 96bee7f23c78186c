/* SPDX-License-Identifier: MIT */
/*
 * examples/lost_wakeup.c - a program with a bug that tests do not find.
 *
 * The main thread hands a letter to each of a few fibers, through mailboxes.  A
 * fiber that finds its mailbox empty goes to sleep, and a sender that puts a
 * letter in wakes it.  The sleeper even looks once more, after it has announced
 * that it sleeps.  Each step is right in itself, and the program runs well for
 * years.  Then, once, a letter lies in the box and its reader sleeps for ever.
 *
 * For real, where it seems to work:
 *
 *	cc -DNATIVE lost_wakeup.c $(pkg-config --cflags --libs weft)
 *
 * In the simulator, where it fails within seconds (see main for the rest):
 *
 *	cc -g -c $(pkg-config --cflags weft-sim) \
 *		$(pkg-config --variable=instrument weft-sim) lost_wakeup.c
 *	cc lost_wakeup.o $(pkg-config --libs weft-sim)
 *
 * Do you see it?  examples/lost_wakeup_fixed.c has the answer.
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

	atomic_store_explicit(&box->sleeper, self, memory_order_release);
	/* A letter that came in the meantime found no sleeper to wake. */
	if (atomic_load_explicit(&box->letter, memory_order_acquire) == 0)
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

	atomic_store_explicit(&box->letter, letter, memory_order_release);
	/* Mostly no fiber sleeps, so look before paying for an exchange. */
	if (atomic_load_explicit(&box->sleeper, memory_order_acquire) == NULL)
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
	return puts("lost_wakeup: every letter was read") < 0;
#else
	int status;

	puts("lost_wakeup: is there a schedule in which a fiber sleeps for "
	     "ever?");
	status = weft_sim_main(NULL, body, NULL);
	if (status == 1)
		puts("There is.  A letter lies in its mailbox, and its reader "
		     "sleeps.  The lines of the trace\nthat name boxes show "
		     "what each side wrote, and what it then read: an old "
		     "value.\nThe same schedule again, to the same end each "
		     "time:\n"
		     "\tWEFT_SIM_REPLAY='<token>' ./lost_wakeup");
	return status;
#endif
}
