/* SPDX-License-Identifier: MIT */
/*
 * examples/promise.c - a primitive of your own, on weft_suspend and weft_wake.
 *
 * Any thread or fiber keeps a promise once; any number of fibers wait for its
 * value.  docs/PRIMITIVES.md explains it line by line.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <weft/weft.h>

#define READERS 3

struct promise {
	atomic_flag lock;		/* for a few instructions */
	bool kept;			/* these three: under the lock */
	int value;
	struct reader *readers;
};

/* A waiting fiber; the struct lies in that fiber's frame. */
struct reader {
	struct weft_awaiter awaiter;	/* first: a reader is an awaiter */
	struct promise *of;
	weft_fiber *fiber;
	struct reader *next;
};

static void lock(struct promise *p)
{
	while (atomic_flag_test_and_set_explicit(&p->lock,
		memory_order_acquire))
		continue;
}

static void unlock(struct promise *p)
{
	atomic_flag_clear_explicit(&p->lock, memory_order_release);
}

/* The fiber has left its stack: announce that it waits, unless it need not. */
static bool publish(struct weft_awaiter *awaiter, weft_fiber *self)
{
	struct reader *r = (struct reader *)awaiter;
	struct promise *p = r->of;
	bool waits;

	lock(p);
	waits = !p->kept;
	if (waits) {
		r->fiber = self;
		r->next = p->readers;
		p->readers = r;
	}
	unlock(p);
	return waits;
}

static int promise_read(struct promise *p)
{
	struct reader r = { .awaiter.commit = publish, .of = p };
	int value;

	if (weft_suspend(&r.awaiter) < 0)
		return -1; /* not in a fiber */
	lock(p);
	value = p->value;
	unlock(p);
	return value;
}

static void promise_keep(struct promise *p, int value)
{
	struct reader *r, *next;

	lock(p);
	p->value = value;
	p->kept = true;
	r = p->readers;
	p->readers = NULL;
	unlock(p);
	for (; r != NULL; r = next) {
		next = r->next; /* the frame is gone once it is woken */
		weft_wake(r->fiber, WEFT_HINT_DEFAULT);
	}
}

static struct promise answer = { .lock = ATOMIC_FLAG_INIT };
static weft_group done;

static void reader(void *arg)
{
	(void)arg;
	printf("the answer is %d\n", promise_read(&answer));
	weft_group_done(&done);
}

static int app(void *arg)
{
	(void)arg;
	for (int i = 0; i < READERS; i++) {
		int err;

		weft_group_add(&done, 1);
		err = weft_go(reader, NULL);
		if (err)
			return err;
	}
	weft_yield();
	promise_keep(&answer, 42);
	return weft_group_wait(&done, WEFT_FOREVER);
}

int main(void)
{
	return weft_run(NULL, app, NULL);
}
