/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/chan_scenarios.c - channels: no value is lost or doubled if an
 * actor closes, gives up or is cancelled meanwhile; the actor that learns of
 * the last use frees the channel at once; and a program without concurrency can
 * explain all that is seen of a channel.
 */
#include "sim/scenario.h"

#include "sim/chan_kit.h"
#include "sim/chan_model.h"

#define LATE_NS 1000
#define LINEAR_NS 1000000 /* behind all that need not wait */

/* What a scenario is like; each uses what it needs. */
struct variant {
	enum cast cast;
	unsigned capacity;
	unsigned what;
};

enum { VALUES = 8 };

static struct {
	weft_chan *c;
	const struct variant *v;
	int before, behind; /* plain: the channel orders them */
	weft_time instant;
	int results[ACTORS];
	_Atomic(uint32_t) sent[VALUES], got[VALUES];
	_Atomic(uint32_t) senders; /* that have not ended */
	struct model_history *history;
} s;

static void open_chan(const struct variant *v, unsigned users)
{
	s.v = v;
	s.c = kit_chan(v->capacity);
	for (unsigned i = 1; i < users; i++)
		(void)weft_chan_ref(s.c);
}

static void receives(int value)
{
	weft_sim_assert(value >= 0 && value < VALUES, "%d was received", value);
	(void)wf_add_rlx(&s.got[value], 1);
}

/* Each value that was sent, and no other, has been received. */
static void check_values(void)
{
	for (unsigned i = 0; i < VALUES; i++)
		weft_sim_assert(wf_load_rlx(&s.sent[i]) <= 1 &&
				wf_load_rlx(&s.got[i]) ==
					wf_load_rlx(&s.sent[i]),
			"%u was sent %u times and received %u times", i,
			wf_load_rlx(&s.sent[i]), wf_load_rlx(&s.got[i]));
}

/* ------------------------------------------------------------------------ */
/* One value, and the channel is gone. */

enum { RECEIVER_FREES, SENDER_FREES };

/* The receiver frees it then too. */
enum { SENDER_TRIES = RECEIVER_FREES, RECEIVER_TRIES = 2, BOTH_TRY };

static void send_one(void *arg)
{
	weft_chan *c = s.c;
	int err;

	(void)arg;
	s.before = 1;
	err = kit_send(c, 5, WEFT_FOREVER);
	weft_sim_assert(err == 0, "send: %d", err);
	if (s.v->what == SENDER_FREES) {
		weft_sim_assert(s.behind == 1, "what came before is not seen");
		weft_chan_unref(c);
	}
}

static void recv_one(void *arg)
{
	weft_chan *c = s.c;
	int value = NOTHING, err;

	(void)arg;
	s.behind = 1;
	err = kit_recv(c, &value, WEFT_FOREVER);
	weft_sim_assert(err == 0 && value == 5, "recv: %d", err);
	weft_sim_assert(s.before == 1, "what came before is not seen");
	if (s.v->what == RECEIVER_FREES)
		weft_chan_unref(c);
}

static void chan_one(void *arg)
{
	open_chan(arg, 1);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ send_one, NULL }, { recv_one, NULL } });
}

/* Send by asking again and again. */
static void send_now(void *arg)
{
	weft_chan *c = s.c;
	int err;

	(void)arg;
	s.before = 1;
	while ((err = kit_send(c, 5, WEFT_NOW)) == -ETIMEDOUT)
		duo_pause();
	weft_sim_assert(err == 0, "send: %d", err);
}

static void recv_now(void *arg)
{
	weft_chan *c = s.c;
	int value = NOTHING, err;

	(void)arg;
	while ((err = kit_recv(c, &value, WEFT_NOW)) == -ETIMEDOUT)
		duo_pause();
	weft_sim_assert(err == 0 && value == 5, "recv: %d", err);
	weft_sim_assert(s.before == 1, "what came before is not seen");
	weft_chan_unref(c);
}

/* Only one of them may try, if somebody is to be met. */
static void chan_now(void *arg)
{
	struct actor cast[ACTORS] = { { send_now, NULL }, { recv_one, NULL } };

	open_chan(arg, 1);
	if (s.v->what == RECEIVER_TRIES)
		cast[0].fn = send_one;
	if (s.v->what != SENDER_TRIES)
		cast[1].fn = recv_now;
	cast_run(s.v->cast, cast);
}

static void send_three(void *arg)
{
	weft_chan *c = s.c;

	(void)arg;
	for (int i = 0; i < 3; i++) {
		int err = kit_send(c, i, WEFT_FOREVER);

		weft_sim_assert(err == 0, "send %d: %d", i, err);
	}
}

static void recv_three(void *arg)
{
	weft_chan *c = s.c;

	(void)arg;
	for (int i = 0; i < 3; i++) {
		int value = NOTHING, err = kit_recv(c, &value, WEFT_FOREVER);

		weft_sim_assert(err == 0 && value == i, "recv %d: %d, %d", i,
			err, value);
	}
	weft_chan_unref(c);
}

static void chan_three(void *arg)
{
	open_chan(arg, 1);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ send_three, NULL }, { recv_three, NULL } });
}

/* The buffer was full: to have sent means that something was received. */
static void send_behind(void *arg)
{
	weft_chan *c = s.c;
	int err;

	(void)arg;
	err = kit_send(c, 6, WEFT_FOREVER);
	weft_sim_assert(err == 0, "send: %d", err);
	weft_chan_unref(c);
}

static void chan_refill(void *arg)
{
	int err;

	open_chan(arg, 1);
	s.before = 1;
	err = kit_send(s.c, 5, WEFT_NOW);
	weft_sim_assert(err == 0, "send: %d", err);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ send_behind, NULL }, { recv_one, NULL } });
}

/* ------------------------------------------------------------------------ */
/* Closing. */

enum { WAIT_TO_RECV, WAIT_TO_SEND, ONE_IN_IT };

static void close_it(void *arg)
{
	weft_chan *c = s.c;
	int err;

	(void)arg;
	s.before = 1;
	err = weft_chan_close(c);
	weft_sim_assert(err == 0, "close: %d", err);
}

/* The receiver that sees that the channel is closed frees it. */
static void see_close(void *arg)
{
	weft_chan *c = s.c;
	int value = NOTHING, err;

	(void)arg;
	if (s.v->what == ONE_IN_IT) {
		err = kit_recv(c, &value, WEFT_FOREVER);
		weft_sim_assert(err == 0 && value == 5, "recv: %d", err);
	}
	err = s.v->what == WAIT_TO_SEND ? kit_send(c, 6, WEFT_FOREVER)
					: kit_recv(c, &value, WEFT_FOREVER);
	weft_sim_assert(err == -EPIPE, "after the close: %d", err);
	weft_sim_assert(s.before == 1, "what came before is not seen");
	weft_chan_unref(c);
}

static void chan_close_frees(void *arg)
{
	open_chan(arg, 1);
	if (s.v->capacity > 0 && s.v->what != WAIT_TO_RECV) {
		int err = kit_send(s.c, 5, WEFT_NOW);

		weft_sim_assert(err == 0, "send: %d", err);
	}
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ see_close, NULL }, { close_it, NULL } });
}

static void close_any(void *arg)
{
	int *result = arg;

	*result = weft_chan_close(s.c);
	weft_chan_unref(s.c);
}

static void send_any(void *arg)
{
	int value = (int)(intptr_t)arg,
	    err = kit_send(s.c, value, WEFT_FOREVER);

	weft_sim_assert(err == 0 || err == -EPIPE, "send: %d", err);
	wf_store_rlx(&s.sent[value], err == 0);
	weft_chan_unref(s.c);
}

/* Until it is closed, and empty. */
static void recv_all(void *arg)
{
	int value = NOTHING, err;

	(void)arg;
	while ((err = kit_recv(s.c, &value, WEFT_FOREVER)) == 0)
		receives(value);
	weft_sim_assert(err == -EPIPE, "recv: %d", err);
	weft_chan_unref(s.c);
}

/* A close races with a sender and a receiver. */
static void chan_close_meets(void *arg)
{
	open_chan(arg, 3);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { recv_all, NULL },
			{ send_any, (void *)1 }, { close_any, s.results } });
	weft_sim_assert(s.results[0] == 0, "close: %d", s.results[0]);
	check_values();
}

/* Two senders, and an actor that only closes; or a sender, which closes. */
static void send_and_close(void *arg)
{
	(void)weft_chan_ref(s.c);
	send_any(arg);
	close_any(s.results);
}

static void chan_close_senders(void *arg)
{
	open_chan(arg, 4);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { send_any, (void *)1 },
			{ close_any, s.results }, { send_any, (void *)2 },
			{ recv_all, NULL } });
	check_values();
}

static void chan_close_receivers(void *arg)
{
	open_chan(arg, 3);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { recv_all, NULL },
			{ send_and_close, (void *)1 }, { recv_all, NULL } });
	weft_sim_assert(s.results[0] == 0 && wf_load_rlx(&s.sent[1]) == 1,
		"close: %d", s.results[0]);
	check_values();
}

/* Two close; one of them is the first. */
static void chan_close_twice(void *arg)
{
	open_chan(arg, 3);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { close_any, &s.results[0] },
			{ close_any, &s.results[1] }, { recv_all, NULL } });
	weft_sim_assert(s.results[0] + s.results[1] == -EALREADY,
		"closes: %d, %d", s.results[0], s.results[1]);
}

/* ------------------------------------------------------------------------ */
/* Two on a side. */

static void send_two(void *arg)
{
	int first = (int)(intptr_t)arg;

	for (int i = first; i < first + 2; i++) {
		int err = kit_send(s.c, i, WEFT_FOREVER);

		weft_sim_assert(err == 0, "send: %d", err);
		wf_store_rlx(&s.sent[i], 1);
	}
	/* [pair: chan.senders] Both have sent. */
	if (wf_sub_acqrel(&s.senders, 1) == 1)
		(void)weft_chan_close(s.c);
	weft_chan_unref(s.c);
}

/* In the order in which each was sent. */
static void recv_ordered(void *arg)
{
	int last[2] = { -1, -1 }, value, err;

	(void)arg;
	while ((err = kit_recv(s.c, &value, WEFT_FOREVER)) == 0) {
		receives(value);
		weft_sim_assert(value > last[value / 4], "%d came behind %d",
			value, last[value / 4]);
		last[value / 4] = value;
	}
	weft_sim_assert(err == -EPIPE, "recv: %d", err);
	weft_chan_unref(s.c);
}

static void chan_senders(void *arg)
{
	open_chan(arg, 3);
	wf_store_rlx(&s.senders, 2);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { send_two, (void *)0 },
			{ recv_ordered, NULL }, { send_two, (void *)4 } });
	check_values();
}

static void chan_receivers(void *arg)
{
	open_chan(arg, 3);
	wf_store_rlx(&s.senders, 1);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { recv_ordered, NULL },
			{ send_two, (void *)4 }, { recv_ordered, NULL } });
	check_values();
}

/* ------------------------------------------------------------------------ */
/* The deadline comes at the instant of the other side. */

static void wait_until(void *arg)
{
	int value = NOTHING;
	int err = s.v->what == WAIT_TO_SEND ? kit_send(s.c, 1, s.instant)
					    : kit_recv(s.c, &value, s.instant);

	(void)arg;
	weft_sim_assert(err == 0 || err == -ETIMEDOUT, "it says %d", err);
	weft_sim_assert(err == 0 || weft_now() >= s.instant, "it is early");
	weft_sim_assert(s.v->what == WAIT_TO_SEND || (value == 1) == (err == 0),
		"it says %d and has %d", err, value);
	s.results[0] = err;
	weft_chan_unref(s.c);
}

/* A moment before, at, or behind it. */
static void try_at_instant(void *arg)
{
	int value = NOTHING;

	(void)arg;
	(void)weft_sleep_until(s.instant - 1 + weft_sim_either(3));
	s.results[1] = s.v->what == WAIT_TO_SEND
		? kit_recv(s.c, &value, WEFT_NOW)
		: kit_send(s.c, 1, WEFT_NOW);
	weft_chan_unref(s.c);
}

/* Both have it that the value went over, or none has. */
static void check_both_or_none(void)
{
	weft_sim_assert((s.results[0] == 0) == (s.results[1] == 0),
		"one says %d, the other %d", s.results[0], s.results[1]);
	weft_sim_assert(s.results[1] == 0 || s.results[1] == -ETIMEDOUT,
		"who tries gets %d", s.results[1]);
}

static void chan_instant(void *arg)
{
	open_chan(arg, 2);
	s.instant = weft_after(LATE_NS);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ wait_until, NULL }, { try_at_instant, NULL } });
	check_both_or_none();
}

/* One gives up; the value is for the one behind it. */
static void recv_or_leave(void *arg)
{
	int value = NOTHING, err = kit_recv(s.c, &value, s.instant);

	(void)arg;
	weft_sim_assert(err == 0 || err == -ETIMEDOUT || err == -EPIPE,
		"recv: %d", err);
	if (err == 0)
		receives(value);
	weft_chan_unref(s.c);
}

static void chan_leaver(void *arg)
{
	open_chan(arg, 3);
	s.instant = weft_after(LATE_NS);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { recv_or_leave, NULL },
			{ send_and_close, (void *)1 }, { recv_all, NULL } });
	weft_sim_assert(wf_load_rlx(&s.sent[1]) == 1, "it was not sent");
	check_values();
}

/* ------------------------------------------------------------------------ */
/* Cancelled at that instant. */

static void wait_cancelled(void *arg)
{
	int value = NOTHING;

	(void)arg;
	s.results[0] = s.v->what == WAIT_TO_SEND
		? kit_send(s.c, 1, WEFT_FOREVER)
		: kit_recv(s.c, &value, WEFT_FOREVER);
	weft_sim_assert(s.results[0] == 0 || s.results[0] == -ECANCELED,
		"it says %d", s.results[0]);
	/* From now on it cannot wait. */
	duo_await(&s.senders, 1);
	weft_sim_assert(kit_recv(s.c, &value, WEFT_FOREVER) == -ECANCELED,
		"a cancelled fiber has waited");
	weft_chan_unref(s.c);
}

static void try_cancelled(void *arg)
{
	int value = NOTHING;

	(void)arg;
	s.results[1] = s.v->what == WAIT_TO_SEND
		? kit_recv(s.c, &value, WEFT_NOW)
		: kit_send(s.c, 1, WEFT_NOW);
	weft_chan_unref(s.c);
}

static void cancel_first(void *arg)
{
	(void)arg;
	(void)weft_cancel(cast_fiber[0]);
	/* [pair: duo.await] */
	wf_store_rel(&s.senders, 1);
}

static void chan_cancel(void *arg)
{
	open_chan(arg, 2);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { wait_cancelled, NULL },
			{ try_cancelled, NULL }, { cancel_first, NULL } });
	check_both_or_none();
}

/* ------------------------------------------------------------------------ */
/* Whatever is done, the model explains it. */

/* One who does things. */
struct doer {
	struct model_doer past;
	int value; /* the last one that was sent */
};

static void history_send(struct doer *d, weft_time deadline)
{
	unsigned begin = model_begin(s.history);
	int err = kit_send(s.c, ++d->value, deadline);

	model_end(s.history, &d->past, begin, MODEL_SEND, d->value, err);
}

static void history_recv(struct doer *d, weft_time deadline)
{
	unsigned begin = model_begin(s.history);
	int value = NOTHING, err = kit_recv(s.c, &value, deadline);

	model_end(s.history, &d->past, begin, MODEL_RECV, value, err);
}

static void history_close(struct doer *d)
{
	unsigned begin = model_begin(s.history);
	int err = weft_chan_close(s.c);

	model_end(s.history, &d->past, begin, MODEL_CLOSE, 0, err);
}

static void history_len(struct doer *d)
{
	unsigned begin = model_begin(s.history);
	int len = (int)weft_chan_len(s.c);

	model_end(s.history, &d->past, begin, MODEL_LEN, len, 0);
}

/* A select that could send and receive; to do neither says nothing. */
static void history_select(struct doer *d, weft_time deadline)
{
	struct pick p[] = { { WEFT_SEND, s.c, ++d->value, 0 },
		{ WEFT_RECV, s.c, NOTHING, 0 } };
	unsigned begin = model_begin(s.history);
	int i = kit_select(p, 2, deadline);

	weft_sim_assert(i >= 0 || i == -ETIMEDOUT, "select: %d", i);
	if (i >= 0)
		model_end(s.history, &d->past, begin,
			i == 0 ? MODEL_SEND : MODEL_RECV, p[i].value,
			p[i].result);
}

enum { CALLS, CALLS_AND_SELECT };

/* Any of them. */
static void do_anything(struct doer *d)
{
	switch (weft_sim_either(s.v->what == CALLS ? 6 : 8)) {
	case 0:
		history_send(d, s.instant);
		break;
	case 1:
		history_recv(d, s.instant);
		break;
	case 2:
		history_send(d, WEFT_NOW);
		break;
	case 3:
		history_recv(d, WEFT_NOW);
		break;
	case 4:
		history_close(d);
		break;
	case 5:
		history_len(d);
		break;
	case 6:
		history_select(d, s.instant);
		break;
	default:
		history_select(d, WEFT_NOW);
		break;
	}
}

static struct doer doer_of(void *arg)
{
	int id = (int)(intptr_t)arg;

	return (struct doer){ .past.id = (unsigned)id, .value = 10 * id };
}

static void two_of_anything(void *arg)
{
	struct doer d = doer_of(arg);

	do_anything(&d);
	do_anything(&d);
}

static void three_of_anything(void *arg)
{
	struct doer d = doer_of(arg);

	do_anything(&d);
	do_anything(&d);
	do_anything(&d);
}

static void open_linear(const struct variant *v, bool strict)
{
	open_chan(v, 1);
	s.instant = weft_after(LINEAR_NS);
	s.history = duo_alloc(sizeof(*s.history));
	s.history->capacity = v->capacity;
	s.history->strict = strict;
}

static void close_linear(void)
{
	model_check(s.history);
	wf_os_free(s.history);
	weft_chan_unref(s.c);
}

static void linear_two(void *arg)
{
	open_linear(arg, false);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { three_of_anything, (void *)0 },
			{ three_of_anything, (void *)1 } });
	close_linear();
}

static void linear_three(void *arg)
{
	open_linear(arg, false);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { two_of_anything, (void *)0 },
			{ two_of_anything, (void *)1 },
			{ two_of_anything, (void *)2 } });
	close_linear();
}

/* Where loads always see the newest store, so does a call that fails. */
static void linear_strict(void *arg)
{
	open_linear(arg, true);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { three_of_anything, (void *)0 },
			{ three_of_anything, (void *)1 } });
	close_linear();
}

/* ------------------------------------------------------------------------ */

#define SCENE(label, fn, ...)                                               \
	{                                                                   \
		.name = "chan/" label, .body = fn, .arg = &(struct variant) \
		{                                                           \
			__VA_ARGS__                                         \
		}                                                           \
	}
/* By threads, by fibers in both ways, and by both. */
#define FIBERED(label, fn, ...)                                  \
	SCENE(label "-fibers", fn, FIBERS, __VA_ARGS__),         \
		SCENE(label "-fenced", fn, FENCED, __VA_ARGS__), \
		SCENE(label "-mixed", fn, MIXED, __VA_ARGS__)
#define SCENES(label, fn, ...) \
	SCENE(label, fn, THREADS, __VA_ARGS__), FIBERED(label, fn, __VA_ARGS__)
#define STRICT(label, fn, ...)                                    \
	{                                                         \
		.name = "chan/" label, .body = fn,                \
		.arg = &(struct variant){ THREADS, __VA_ARGS__ }, \
		.opts.flags = WEFT_SIM_STRONG                     \
	}

static const struct scenario table[] = {
	SCENES("one", chan_one, 0, RECEIVER_FREES),
	SCENES("one-sender-frees", chan_one, 0, SENDER_FREES),
	SCENES("one-buffered", chan_one, 1, RECEIVER_FREES),
	SCENES("now", chan_now, 0, SENDER_TRIES),
	SCENES("now-receiver", chan_now, 0, RECEIVER_TRIES),
	SCENES("now-buffered", chan_now, 1, BOTH_TRY),
	SCENES("three", chan_three, 0, 0),
	SCENES("three-buffered", chan_three, 1, 0),
	SCENES("three-buffered-twice", chan_three, 2, 0),

	SCENES("refill", chan_refill, 1, SENDER_FREES),

	SCENES("close-frees", chan_close_frees, 0, WAIT_TO_RECV),
	SCENES("close-frees-sender", chan_close_frees, 0, WAIT_TO_SEND),
	SCENES("close-frees-full", chan_close_frees, 1, WAIT_TO_SEND),
	SCENES("close-frees-drained", chan_close_frees, 1, ONE_IN_IT),
	SCENES("close-meets", chan_close_meets, 0, 0),
	SCENES("close-meets-buffered", chan_close_meets, 1, 0),
	SCENES("close-senders", chan_close_senders, 0, 0),
	SCENES("close-senders-buffered", chan_close_senders, 1, 0),
	SCENES("close-receivers", chan_close_receivers, 0, 0),
	SCENES("close-receivers-buffered", chan_close_receivers, 1, 0),
	SCENES("close-twice", chan_close_twice, 0, 0),

	SCENES("senders", chan_senders, 0, 0),
	SCENES("senders-buffered", chan_senders, 1, 0),
	SCENES("receivers", chan_receivers, 0, 0),
	SCENES("receivers-buffered", chan_receivers, 2, 0),

	SCENES("instant", chan_instant, 0, WAIT_TO_RECV),
	SCENES("instant-sender", chan_instant, 0, WAIT_TO_SEND),
	SCENES("leaver", chan_leaver, 0, 0),
	SCENES("leaver-buffered", chan_leaver, 1, 0),
	FIBERED("cancel", chan_cancel, 0, WAIT_TO_RECV),
	FIBERED("cancel-sender", chan_cancel, 0, WAIT_TO_SEND),

	SCENES("linear-two-0", linear_two, 0, CALLS),
	SCENES("linear-two-1", linear_two, 1, CALLS),
	SCENES("linear-two-2", linear_two, 2, CALLS),
	SCENES("linear-three-0", linear_three, 0, CALLS),
	SCENES("linear-three-1", linear_three, 1, CALLS),
	SCENES("linear-three-2", linear_three, 2, CALLS),
	SCENES("linear-select-0", linear_three, 0, CALLS_AND_SELECT),
	SCENES("linear-select-1", linear_three, 1, CALLS_AND_SELECT),
	STRICT("linear-strict-0", linear_strict, 0, CALLS_AND_SELECT),
	STRICT("linear-strict-1", linear_strict, 1, CALLS_AND_SELECT),
	STRICT("linear-strict-2", linear_strict, 2, CALLS),
};

const struct scenarios chan_scenarios = {
	table,
	sizeof(table) / sizeof(table[0]),
};
