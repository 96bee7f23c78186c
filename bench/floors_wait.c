/* SPDX-License-Identifier: MIT */
/*
 * bench/floors_wait.c - floors of waiting calls: a lock of a free mutex, and a
 * receive and a select over eight channels, of an element that is there and of
 * one that has yet to come.
 *
 * An element that is there lies in the buffer of one of the channels, each in
 * its turn.  An element that has to come is sent by a second fiber, which then
 * yields, so that the first one waits again: both figures contain the send and
 * the yield.
 */
#include "bench/floors.h"

#include <errno.h>

#include <weft/chan.h>
#include <weft/fiber.h>
#include <weft/group.h>
#include <weft/mutex.h>
#include <weft/runtime.h>

#include "os/os.h"

#define CHANS 8
#define ROOM 1000

struct floor {
	uint64_t *ops;
	int64_t *ns;
	bool select; /* over all; else receive from the first */
	weft_chan *chan[CHANS];
	weft_group ended;
	int err; /* of the receiver; written by it only */
};

static int on_one_worker(int (*main)(void *), struct floor *f)
{
	const weft_config config = { .workers = 1 };

	return weft_run(&config, main, f);
}

static int lock_and_unlock(void *arg)
{
	struct floor *f = arg;
	uint64_t n = *f->ops;
	weft_mutex m = { 0 };
	int64_t start = wf_os_now_ns();

	for (uint64_t i = 0; i < n; i++) {
		weft_mutex_lock(&m);
		weft_mutex_unlock(&m);
	}
	*f->ns = wf_os_now_ns() - start;
	return 0;
}

int bench_floor_mutex(uint64_t *ops, int64_t *ns)
{
	return on_one_worker(
		lock_and_unlock, &(struct floor){ .ops = ops, .ns = ns });
}

static int open_all(struct floor *f, size_t capacity)
{
	int err = 0;

	for (int i = 0; i < CHANS && !err; i++)
		err = weft_chan_create(&f->chan[i], sizeof(uint64_t), capacity);
	return err;
}

static void unref_all(struct floor *f)
{
	for (int i = 0; i < CHANS; i++)
		if (f->chan[i] != NULL)
			weft_chan_unref(f->chan[i]);
}

/* Receive the numbers from first to n from one channel, or from any. */
static int receive(struct floor *f, uint64_t first, uint64_t n)
{
	weft_case cases[CHANS];
	uint64_t v = 0;
	int err = 0;

	for (int i = 0; i < CHANS; i++)
		cases[i] = (weft_case){
			.op = WEFT_RECV, .obj = f->chan[i], .value = &v
		};
	for (uint64_t i = first; i < n && !err; i++) {
		if (f->select)
			err = weft_select(cases, CHANS, WEFT_FOREVER);
		else
			err = weft_chan_recv(f->chan[0], &v, WEFT_FOREVER);
		err = err < 0 ? err : v == i ? 0 : -EILSEQ;
	}
	return err;
}

static weft_chan *chan_of(struct floor *f, uint64_t turn)
{
	return f->chan[f->select ? turn % CHANS : 0];
}

static int what_is_there(void *arg)
{
	struct floor *f = arg;
	int err = open_all(f, ROOM);

	*f->ns = 0;
	for (uint64_t i = 0; i < *f->ops && !err; i += ROOM) {
		int64_t start;

		for (uint64_t k = i; k < i + ROOM && !err; k++)
			err = weft_chan_send(
				chan_of(f, i / ROOM), &k, WEFT_FOREVER);
		start = wf_os_now_ns();
		if (!err)
			err = receive(f, i, i + ROOM);
		*f->ns += wf_os_now_ns() - start;
	}
	unref_all(f);
	return err;
}

static int there(uint64_t *ops, int64_t *ns, bool select)
{
	*ops = *ops < ROOM ? ROOM : *ops / ROOM * ROOM;
	return on_one_worker(what_is_there,
		&(struct floor){ .ops = ops, .ns = ns, .select = select });
}

int bench_floor_recv(uint64_t *ops, int64_t *ns)
{
	return there(ops, ns, false);
}

int bench_floor_select(uint64_t *ops, int64_t *ns)
{
	return there(ops, ns, true);
}

static void receiver(void *arg)
{
	struct floor *f = arg;

	f->err = receive(f, 0, *f->ops);
	for (int i = 0; i < CHANS; i++)
		(void)weft_chan_close(f->chan[i]);
	weft_group_done(&f->ended);
}

static int what_comes(void *arg)
{
	struct floor *f = arg;
	int64_t start;
	int err = open_all(f, 0), wait_err;

	weft_group_add(&f->ended, 1);
	if (!err)
		err = weft_go(receiver, f);
	if (err) {
		unref_all(f);
		return err;
	}
	weft_yield();
	start = wf_os_now_ns();
	for (uint64_t i = 0; i < *f->ops && !err; i++) {
		err = weft_chan_send(chan_of(f, i), &i, WEFT_FOREVER);
		weft_yield();
	}
	*f->ns = wf_os_now_ns() - start;
	wait_err = weft_group_wait(&f->ended, WEFT_FOREVER);
	unref_all(f);
	return f->err ? f->err : err ? err : wait_err;
}

static int comes(uint64_t *ops, int64_t *ns, bool select)
{
	return on_one_worker(what_comes,
		&(struct floor){ .ops = ops, .ns = ns, .select = select });
}

int bench_floor_recv_wait(uint64_t *ops, int64_t *ns)
{
	return comes(ops, ns, false);
}

int bench_floor_select_wait(uint64_t *ops, int64_t *ns)
{
	return comes(ops, ns, true);
}
