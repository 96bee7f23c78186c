/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/select_scenarios.c - a select does one of its cases and no other: a
 * value that it does not take is there for the waiter behind it, whatever ends
 * the select; and it touches nothing that the other side may have freed.
 */
#include "sim/scenario.h"

#include "sim/chan_kit.h"
#include "sim/exec_kit.h"

#define LATE_NS 1000

struct variant {
	enum cast cast;
	unsigned capacity;
	unsigned what;
};

static struct {
	const struct variant *v;
	weft_chan *a, *b;
	weft_event event;
	weft_time instant;
	int before;  /* plain: the work before it */
	int done[2]; /* which cases, or the errors */
	struct pick pick[2][PICKS];
	int results[ACTORS]; /* of plain calls */
	int values[ACTORS];
	_Atomic(uint32_t) users; /* of a and b */
	_Atomic(uint32_t) cancelled;
	weft_fiber *child;
	struct desk desk;
} s;

static void open_both(const struct variant *v, uint32_t users)
{
	s.v = v;
	s.a = kit_chan(v->capacity);
	s.b = kit_chan(v->capacity);
	s.instant = weft_after(LATE_NS);
	wf_store_rlx(&s.users, users);
	for (unsigned i = 0; i < ACTORS; i++)
		s.values[i] = NOTHING;
}

/* Each who is through; the last one frees both. */
static void let_go(void)
{
	/* [pair: select.users] All others are through. */
	if (wf_sub_acqrel(&s.users, 1) == 1) {
		weft_chan_unref(s.a);
		weft_chan_unref(s.b);
	}
}

static void send_by(unsigned i, weft_chan *c, int value, weft_time deadline)
{
	s.results[i] = kit_send(c, value, deadline);
}

static void recv_by(unsigned i, weft_chan *c, weft_time deadline)
{
	s.results[i] = kit_recv(c, &s.values[i], deadline);
}

/* ------------------------------------------------------------------------ */
/* A select over two, and somebody behind it on the first. */

enum { BY_VALUE, BY_CLOSE, BY_DEADLINE, BY_CANCEL };

static weft_time front_deadline(void)
{
	return s.v->what == BY_DEADLINE ? s.instant : WEFT_FOREVER;
}

/* It has the value of a only if nothing else ended it. */
static void front_recv(void *arg)
{
	struct pick *p = s.pick[0];

	(void)arg;
	p[0] = (struct pick){ WEFT_RECV, s.a, NOTHING, 0 };
	p[1] = (struct pick){ WEFT_RECV, s.b, NOTHING, 0 };
	s.done[0] = kit_select(p, 2, front_deadline());
	/* The waiter behind us would wait for ever. */
	if (s.done[0] == 0)
		(void)weft_chan_close(s.a);
	let_go();
}

static void behind_recv(void *arg)
{
	(void)arg;
	recv_by(1, s.a, WEFT_FOREVER);
	let_go();
}

/* End the select, or not; then a value for one of the two. */
static void other_sends(void *arg)
{
	(void)arg;
	if (s.v->what == BY_VALUE)
		send_by(2, s.b, 7, WEFT_FOREVER);
	else if (s.v->what == BY_CLOSE)
		s.results[2] = weft_chan_close(s.b);
	else if (s.v->what == BY_CANCEL)
		(void)weft_cancel(cast_fiber[0]);
	send_by(3, s.a, 8, WEFT_FOREVER);
	let_go();
}

/* If it comes late it may find both ready. */
static void check_front_recv(void)
{
	bool taken = s.done[0] == 0;
	int other[] = { 1, 1, -ETIMEDOUT, -ECANCELED };
	int result[] = { 0, -EPIPE, 0, 0 };

	weft_sim_assert(s.results[2] == 0 && s.results[3] == 0,
		"the other: %d, %d", s.results[2], s.results[3]);
	if (taken) {
		weft_sim_assert(s.pick[0][0].value == 8 &&
				s.results[1] == -EPIPE &&
				(s.v->what != BY_VALUE || s.v->capacity > 0),
			"the select has %d, who is behind it %d",
			s.pick[0][0].value, s.results[1]);
		return;
	}
	weft_sim_assert(s.results[1] == 0 && s.values[1] == 8,
		"select says %d, who is behind it %d", s.done[0], s.results[1]);
	weft_sim_assert(s.done[0] == other[s.v->what] &&
			s.pick[0][1].result == result[s.v->what] &&
			(s.v->what != BY_VALUE || s.pick[0][1].value == 7),
		"select says %d, %d", s.done[0], s.pick[0][1].result);
}

static void select_front(void *arg)
{
	open_both(arg, 3);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { front_recv, NULL },
			{ other_sends, NULL }, { behind_recv, NULL } });
	check_front_recv();
}

/* With senders: the one behind sends 8, and another actor receives. */
static void front_send(void *arg)
{
	struct pick *p = s.pick[0];

	(void)arg;
	p[0] = (struct pick){ WEFT_SEND, s.a, 1, 0 };
	p[1] = (struct pick){ WEFT_SEND, s.b, 2, 0 };
	s.done[0] = kit_select(p, 2, front_deadline());
	let_go();
}

static void behind_send(void *arg)
{
	(void)arg;
	send_by(1, s.a, 8, WEFT_FOREVER);
	let_go();
}

static void other_receives(void *arg)
{
	int first;

	(void)arg;
	if (s.v->what == BY_VALUE)
		recv_by(2, s.b, WEFT_FOREVER);
	else if (s.v->what == BY_CANCEL)
		(void)weft_cancel(cast_fiber[0]);
	recv_by(3, s.a, WEFT_FOREVER);
	first = s.values[3];
	/* Then there is one more. */
	if (first == 1)
		recv_by(4, s.a, WEFT_FOREVER);
	let_go();
}

static void select_front_sends(void *arg)
{
	bool taken;

	open_both(arg, 3);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { front_send, NULL },
			{ other_receives, NULL }, { behind_send, NULL } });
	taken = s.values[3] == 1;
	weft_sim_assert(s.results[1] == 0 && s.results[2] == 0 &&
			s.results[3] == 0 && s.results[4] == 0,
		"the others: %d, %d, %d", s.results[1], s.results[2],
		s.results[3]);
	weft_sim_assert((taken ? s.values[4] : s.values[3]) == 8,
		"%d and %d were received", s.values[3], s.values[4]);
	weft_sim_assert(!taken || s.done[0] == 0, "select says %d, and it was",
		s.done[0]);
	weft_sim_assert(
		s.v->what != BY_VALUE || (s.done[0] == 1 && s.values[2] == 2),
		"select says %d", s.done[0]);
	weft_sim_assert(taken || s.done[0] != 0 || s.v->capacity > 0,
		"select says %d, and it was not", s.done[0]);
}

/* ------------------------------------------------------------------------ */
/* One channel in several cases. */

static void same_recv(void *arg)
{
	struct pick *p = s.pick[0];

	(void)arg;
	for (int i = 0; i < 3; i++)
		p[i] = (struct pick){ WEFT_RECV, i == 1 ? s.b : s.a, NOTHING,
			0 };
	s.done[0] = kit_select(p, 3, WEFT_FOREVER);
	let_go();
}

static void same_sends(void *arg)
{
	(void)arg;
	send_by(1, s.a, 7, WEFT_FOREVER);
	send_by(2, s.a, 8, WEFT_FOREVER);
	let_go();
}

static void same_behind(void *arg)
{
	(void)arg;
	recv_by(3, s.a, WEFT_FOREVER);
	let_go();
}

static void select_same(void *arg)
{
	int i;

	open_both(arg, 3);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { same_recv, NULL },
			{ same_sends, NULL }, { same_behind, NULL } });
	i = s.done[0];
	weft_sim_assert(
		(i == 0 || i == 2) && s.pick[0][i].value + s.values[3] == 15,
		"select says %d; %d was behind", i, s.values[3]);
}

/*
 * A close finds it there three times.  s.v->what has a bit for each case that
 * sends: the last one to enlist finds none, one or two of its own select's
 * cases on the other side.
 */
enum { SEND_RECV_SEND = 5, SENDS_FIRST = 3, RECVS_FIRST = 4 };

/* The other one comes when the select sleeps, which it must. */
enum { QUIET = 8 };

static void both_ways(void *arg)
{
	struct pick *p = s.pick[0];

	(void)arg;
	for (int i = 0; i < 3; i++)
		p[i] = s.v->what >> i & 1
			? (struct pick){ WEFT_SEND, s.a, i + 1, 0 }
			: (struct pick){ WEFT_RECV, s.a, NOTHING, 0 };
	s.done[0] = kit_select(p, 3, WEFT_FOREVER);
	let_go();
}

static void try_and_close(void *arg)
{
	(void)arg;
	if (s.v->what & QUIET)
		weft_sim_quiesce();
	recv_by(1, s.a, WEFT_NOW);
	send_by(2, s.a, 8, WEFT_NOW);
	s.results[3] = weft_chan_close(s.a);
	let_go();
}

static void select_both_ways(void *arg)
{
	int i, result;
	bool sends;

	open_both(arg, 2);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ both_ways, NULL }, { try_and_close, NULL } });
	i = s.done[0];
	weft_sim_assert(
		i >= 0 && i < 3 && s.results[3] == 0, "select says %d", i);
	weft_sim_assert(!(s.v->what & QUIET) || s.results[1] == 0,
		"it did not wait: %d", s.results[1]);
	result = s.pick[0][i].result;
	sends = s.v->what >> i & 1;
	if (s.results[1] == 0)
		weft_sim_assert(result == 0 && sends && s.values[1] == i + 1 &&
				s.results[2] == -ETIMEDOUT,
			"select sent %d, and %d was received", i, s.values[1]);
	else if (s.results[2] == 0)
		weft_sim_assert(
			result == 0 && !sends && s.pick[0][i].value == 8,
			"select says %d, and 8 was sent", i);
	else
		weft_sim_assert(
			result == -EPIPE, "select says %d, %d", i, result);
}

/* ------------------------------------------------------------------------ */
/* Two selects. */

enum { ONE_CHANNEL, CROSSED, AGAINST };

static void duel(void *arg)
{
	int self = (int)(intptr_t)arg, out, in;
	struct pick *p = s.pick[self];
	weft_chan *to = self && s.v->what != ONE_CHANNEL ? s.b : s.a;
	weft_chan *from = self || s.v->what == ONE_CHANNEL ? s.a : s.b;

	/* In the same order, or each begins with the other's end. */
	out = s.v->what == AGAINST && self ? 1 : 0;
	in = 1 - out;
	p[out] = (struct pick){ WEFT_SEND, to, 10 + self, 0 };
	p[in] = (struct pick){ WEFT_RECV, from, NOTHING, 0 };
	s.done[self] = kit_select(p, 2, WEFT_FOREVER);
	let_go();
}

static void select_duel(void *arg)
{
	struct pick *p[2];

	open_both(arg, 2);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ duel, (void *)0 }, { duel, (void *)1 } });
	for (int i = 0; i < 2; i++) {
		weft_sim_assert(s.done[i] == 0 || s.done[i] == 1,
			"select says %d", s.done[i]);
		p[i] = &s.pick[i][s.done[i]];
		weft_sim_assert(p[i]->result == 0, "%d", p[i]->result);
	}
	weft_sim_assert(p[0]->op != p[1]->op && p[0]->obj == p[1]->obj &&
			p[0]->value == p[1]->value,
		"they have not met: %d, %d", s.done[0], s.done[1]);
}

/* Three, of which two meet; the third is told. */
static void duel_and_close(void *arg)
{
	duel(arg);
	(void)weft_chan_close(s.a);
	let_go();
}

static void duel_third(void *arg)
{
	struct pick p[] = { { WEFT_SEND, s.a, 30, 0 },
		{ WEFT_RECV, s.a, NOTHING, 0 } };

	(void)arg;
	s.results[0] = kit_select(p, 2, WEFT_FOREVER);
	weft_sim_assert(s.results[0] >= 0, "select says %d", s.results[0]);
	s.results[1] = p[s.results[0]].result;
	s.values[1] = p[s.results[0]].value;
	(void)weft_chan_close(s.a);
	let_go();
}

static void select_three(void *arg)
{
	unsigned met = 0;

	open_both(arg, 5);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { duel_and_close, (void *)0 },
			{ duel_and_close, (void *)1 }, { duel_third, NULL } });
	for (int i = 0; i < 2; i++)
		met += s.done[i] >= 0 && s.pick[i][s.done[i]].result == 0;
	met += s.results[1] == 0;
	weft_sim_assert(met == 2, "%u of them have met somebody", met);
}

/* ------------------------------------------------------------------------ */
/* Its end comes at the instant of a value. */

static void select_until(void *arg)
{
	struct pick *p = s.pick[0];

	(void)arg;
	p[0] = (struct pick){ WEFT_RECV, s.a, NOTHING, 0 };
	p[1] = (struct pick){ WEFT_RECV, s.b, NOTHING, 0 };
	s.done[0] = kit_select(p, 2, front_deadline());
	weft_sim_assert(s.done[0] != -ETIMEDOUT || weft_now() >= s.instant,
		"it is early");
	if (s.v->what == BY_CANCEL) {
		duo_await(&s.cancelled, 1);
		weft_sim_assert(kit_select(p, 0, WEFT_FOREVER) == -ECANCELED,
			"a cancelled fiber has waited");
	}
	let_go();
}

/* To each channel, a moment before, at, or behind the instant. */
static void send_at_instant(void *arg)
{
	unsigned i = (unsigned)(intptr_t)arg;

	if (s.v->what == BY_DEADLINE)
		(void)weft_sleep_until(s.instant - 1 + weft_sim_either(3));
	send_by(i, i ? s.b : s.a, 7 + (int)i, WEFT_NOW);
	let_go();
}

static void cancel_front(void *arg)
{
	(void)arg;
	(void)weft_cancel(cast_fiber[0]);
	/* [pair: duo.await] */
	wf_store_rel(&s.cancelled, 1);
}

/* Nothing else ends it. */
static void select_for_ever(void *arg)
{
	struct pick *p = s.pick[0];

	(void)arg;
	p[0] = (struct pick){ WEFT_RECV, s.a, NOTHING, 0 };
	p[1] = (struct pick){ WEFT_RECV, s.b, NOTHING, 0 };
	s.done[0] = kit_select(p, 2, WEFT_FOREVER);
	let_go();
}

static void select_cancelled(void *arg)
{
	open_both(arg, 1);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ select_for_ever, NULL }, { cancel_front, NULL } });
	weft_sim_assert(
		s.done[0] == -ECANCELED, "select says %d", s.done[0]);
}

static void select_instant(void *arg)
{
	struct actor cast[ACTORS] = { { select_until, NULL },
		{ send_at_instant, (void *)0 }, { send_at_instant, (void *)1 },
		{ NULL, NULL } };
	int i;

	open_both(arg, 3);
	if (s.v->what == BY_CANCEL)
		cast[3].fn = cancel_front;
	cast_run(s.v->cast, cast);
	i = s.done[0];
	for (int k = 0; k < 2; k++)
		weft_sim_assert(s.results[k] == (k == i ? 0 : -ETIMEDOUT),
			"select says %d, and the sender of %d has %d", i, k,
			s.results[k]);
	weft_sim_assert(i >= 0 ? s.pick[0][i].value == 7 + i
			       : i ==
				(s.v->what == BY_CANCEL ? -ECANCELED
							: -ETIMEDOUT),
		"select says %d", i);
}

/* ------------------------------------------------------------------------ */
/* The channel is freed at once: by the peer of the select, or by it. */

static void select_sends(void *arg)
{
	weft_chan *a = s.a, *b = s.b;
	struct pick p[] = { { WEFT_SEND, b, 2, 0 }, { WEFT_SEND, a, 1, 0 } };

	(void)arg;
	s.before = 1;
	s.done[0] = kit_select(p, 2, WEFT_FOREVER);
	weft_sim_assert(
		s.done[0] == 1 && p[1].result == 0, "select: %d", s.done[0]);
	weft_chan_unref(b);
}

static void recv_and_free(void *arg)
{
	weft_chan *a = s.a;
	int value = NOTHING, err;

	(void)arg;
	err = kit_recv(a, &value, WEFT_FOREVER);
	weft_sim_assert(
		err == 0 && value == 1 && s.before == 1, "recv: %d", err);
	weft_chan_unref(a);
}

static void select_freed(void *arg)
{
	open_both(arg, 0);
	/* Nobody can send there. */
	if (s.v->capacity > 0) {
		int err = kit_send(s.b, 9, WEFT_NOW);

		weft_sim_assert(err == 0, "send: %d", err);
	}
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ select_sends, NULL }, { recv_and_free, NULL } });
}

static void select_and_free(void *arg)
{
	weft_chan *a = s.a, *b = s.b;
	struct pick p[] = { { WEFT_RECV, a, NOTHING, 0 },
		{ WEFT_RECV, b, NOTHING, 0 } };

	(void)arg;
	s.done[0] = kit_select(p, 2, WEFT_FOREVER);
	weft_sim_assert(
		s.done[0] == 0 && s.before == 1, "select: %d", s.done[0]);
	weft_sim_assert(p[0].result == (s.v->what == BY_CLOSE ? -EPIPE : 0),
		"result: %d", p[0].result);
	weft_chan_unref(a);
	weft_chan_unref(b);
}

static void send_or_close(void *arg)
{
	weft_chan *a = s.a;
	int err;

	(void)arg;
	s.before = 1;
	err = s.v->what == BY_CLOSE ? weft_chan_close(a)
				    : kit_send(a, 1, WEFT_FOREVER);
	weft_sim_assert(err == 0, "it says %d", err);
}

static void select_frees(void *arg)
{
	open_both(arg, 0);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ select_and_free, NULL }, { send_or_close, NULL } });
}

/* ------------------------------------------------------------------------ */
/* Events, and fibers that end. */

static void select_event_or_recv(void *arg)
{
	struct pick *p = s.pick[0];

	(void)arg;
	p[0] = (struct pick){ WEFT_RECV, s.a, NOTHING, 0 };
	p[1] = (struct pick){ WEFT_EVENT, &s.event, 0, 0 };
	s.done[0] = kit_select(p, 2, WEFT_FOREVER);
	if (s.done[0] == 1)
		weft_sim_assert(s.before == 1, "what came before is not seen");
	let_go();
}

/* It is not set any more when the select runs again. */
static void set_and_reset(void *arg)
{
	(void)arg;
	s.before = 1;
	weft_event_set(&s.event);
	if (s.v->what != 0)
		weft_event_reset(&s.event);
}

static void try_a(void *arg)
{
	(void)arg;
	send_by(1, s.a, 7, WEFT_NOW);
	let_go();
}

static void send_a(void *arg)
{
	(void)arg;
	send_by(1, s.a, 7, WEFT_FOREVER);
	let_go();
}

/* With a reset the value may be all that ends it. */
static void select_event(void *arg)
{
	int value = NOTHING, err;

	open_both(arg, 3);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){ { select_event_or_recv, NULL },
			{ set_and_reset, NULL },
			{ s.v->what ? send_a : try_a, NULL } });
	if (s.done[0] == 0) {
		weft_sim_assert(s.results[1] == 0 && s.pick[0][0].value == 7,
			"send says %d", s.results[1]);
	} else {
		err = kit_recv(s.a, &value, WEFT_NOW);
		weft_sim_assert(
			s.done[0] == 1 && (s.results[1] == 0) == (err == 0),
			"select says %d, send %d", s.done[0], s.results[1]);
	}
	let_go();
}

/* What the child did is seen, and its handle is gone; or is still good. */
static void *child_main(void *arg)
{
	s.before = 1;
	return arg;
}

static void *foreign_child(void *arg)
{
	s.before = 1;
	desk_leave(&s.desk);
	return arg;
}

static void select_join_or_recv(void *arg)
{
	weft_case *cases = duo_alloc(2 * sizeof(*cases));
	int *value = duo_alloc(sizeof(*value)), err = 0;
	void *result = NULL;

	(void)arg;
	cases[0] = (weft_case){ WEFT_RECV, UNTOUCHED, s.a, value, { 0 } };
	cases[1] = (weft_case){ WEFT_JOIN, UNTOUCHED, s.child, &result, { 0 } };
	s.done[0] = weft_select(cases, 2, front_deadline());
	weft_sim_assert((cases[0].result == 0) == (s.done[0] == 0) &&
			(cases[1].result == 0) == (s.done[0] == 1),
		"select says %d", s.done[0]);
	s.values[0] = *value;
	wf_os_free(cases);
	wf_os_free(value);
	duo_scribble();
	if (s.done[0] != 1)
		err = weft_join(s.child, &result, WEFT_FOREVER);
	weft_sim_assert(
		err == 0 && result == &s && s.before == 1, "join: %d", err);
	let_go();
}

static void spawn_and_select(void *arg)
{
	int err = weft_spawn(&s.child, NULL, child_main, &s);

	weft_sim_assert(err == 0, "spawn: %d", err);
	select_join_or_recv(arg);
}

static void check_join(void)
{
	weft_sim_assert((s.done[0] == 0) == (s.results[1] == 0),
		"select says %d, send %d", s.done[0], s.results[1]);
	weft_sim_assert(s.done[0] >= 0 ||
			(s.v->what == BY_DEADLINE && s.done[0] == -ETIMEDOUT),
		"select says %d", s.done[0]);
	let_go();
}

static void select_join(void *arg)
{
	open_both(arg, 3);
	cast_run(s.v->cast,
		(struct actor[ACTORS]){
			{ spawn_and_select, NULL }, { try_a, NULL } });
	check_join();
}

/*
 * The fiber is on an executor of the user, and nothing of its memory is left
 * when it was joined.
 */
static void select_foreign(void *arg)
{
	weft_fiber_attr attr = { .executor = &s.desk.executor };
	int err, thread, other;

	open_both(arg, 3);
	desk_open(&s.desk, 1);
	err = weft_spawn(&s.child, &attr, foreign_child, &s);
	weft_sim_assert(err == 0, "spawn: %d", err);
	thread = duo_thread(select_join_or_recv, NULL, "select");
	other = duo_thread(try_a, NULL, "sender");
	desk_run(&s.desk, 1);
	(void)weft_sim_join(thread);
	(void)weft_sim_join(other);
	check_join();
}

/* ------------------------------------------------------------------------ */

#define SCENE(label, fn, ...)                                                 \
	{                                                                     \
		.name = "select/" label, .body = fn, .arg = &(struct variant) \
		{                                                             \
			__VA_ARGS__                                           \
		}                                                             \
	}
/* By threads, by fibers in both ways, and by both. */
#define FIBERED(label, fn, ...)                                 \
	SCENE(label "-fibers", fn, FIBERS, __VA_ARGS__),        \
		SCENE(label "-fenced", fn, FENCED, __VA_ARGS__), \
		SCENE(label "-mixed", fn, MIXED, __VA_ARGS__)
#define SCENES(label, fn, ...) \
	SCENE(label, fn, THREADS, __VA_ARGS__), FIBERED(label, fn, __VA_ARGS__)

static const struct scenario table[] = {
	SCENES("front", select_front, 0, BY_VALUE),
	SCENES("front-buffered", select_front, 1, BY_VALUE),
	SCENES("front-close", select_front, 0, BY_CLOSE),
	SCENES("front-late", select_front, 0, BY_DEADLINE),
	FIBERED("front-cancel", select_front, 0, BY_CANCEL),
	SCENES("front-sends", select_front_sends, 0, BY_VALUE),
	SCENES("front-sends-late", select_front_sends, 0, BY_DEADLINE),
	FIBERED("front-sends-cancel", select_front_sends, 0, BY_CANCEL),

	SCENES("same", select_same, 0, 0),
	SCENES("same-buffered", select_same, 1, 0),
	SCENES("both-ways", select_both_ways, 0, SEND_RECV_SEND),
	SCENES("both-ways-sends", select_both_ways, 0, SENDS_FIRST),
	SCENES("both-ways-recvs", select_both_ways, 0, RECVS_FIRST),
	SCENES("sleeps-both-ways", select_both_ways, 0, QUIET | SEND_RECV_SEND),
	SCENES("sleeps-sends", select_both_ways, 0, QUIET | SENDS_FIRST),
	SCENES("sleeps-recvs", select_both_ways, 0, QUIET | RECVS_FIRST),

	SCENES("duel-one", select_duel, 0, ONE_CHANNEL),
	SCENES("duel-crossed", select_duel, 0, CROSSED),
	SCENES("duel-against", select_duel, 0, AGAINST),
	SCENES("three", select_three, 0, ONE_CHANNEL),

	SCENES("instant", select_instant, 0, BY_DEADLINE),
	FIBERED("instant-cancel", select_instant, 0, BY_CANCEL),

	FIBERED("cancelled", select_cancelled, 0, BY_CANCEL),

	SCENES("freed", select_freed, 0, 0),
	SCENES("freed-buffered", select_freed, 1, 0),
	SCENES("frees", select_frees, 0, BY_VALUE),
	SCENES("frees-buffered", select_frees, 1, BY_VALUE),
	SCENES("frees-close", select_frees, 0, BY_CLOSE),

	SCENES("event", select_event, 0, 0),
	SCENES("event-buffered", select_event, 1, 0),
	SCENES("event-reset", select_event, 1, 1),
	SCENE("join-fibers", select_join, FIBERS, 0, BY_VALUE),
	SCENE("join-coarse", select_join, COARSE, 0, BY_VALUE),
	SCENE("join-late", select_join, COARSE, 0, BY_DEADLINE),
	SCENE("join-foreign", select_foreign, THREADS, 0, BY_VALUE),
	SCENE("join-foreign-late", select_foreign, THREADS, 0, BY_DEADLINE),
};

const struct scenarios select_scenarios = {
	table,
	sizeof(table) / sizeof(table[0]),
};
