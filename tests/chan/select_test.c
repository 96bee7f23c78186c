/* SPDX-License-Identifier: MIT */
/*
 * tests/chan/select_test.c - while a select waits each case has its node in the
 * list of its object, in the memory of the case; however the wait ends, no node
 * stays in a list, the channels' STATE is as before, and no runtime is held.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include <weft/event.h>

#include "chan/chan.h"
#include "os/os.h"
#include "sched/runtime.h"
#include "support/threads.h"

enum { CHANS = 3, CASES = 5 };
#define PATIENCE_NS (INT64_C(40) * 1000 * 1000 * 1000)

/* Sends and receives on three channels, two of which are there twice. */
static struct {
	weft_chan *chan[CHANS];
	weft_case cases[CASES];
	uint64_t value[CASES];
	int which;
} s;

static void open_cases(void)
{
	static const struct {
		int op, chan;
	} table[CASES] = { { WEFT_SEND, 0 }, { WEFT_RECV, 0 }, { WEFT_RECV, 1 },
		{ WEFT_SEND, 2 }, { WEFT_RECV, 1 } };

	for (int i = 0; i < CHANS; i++)
		assert_int_equal(
			weft_chan_create(&s.chan[i], sizeof(s.value[0]), 0), 0);
	for (int i = 0; i < CASES; i++) {
		s.value[i] = 100 + (uint64_t)i;
		memset(&s.cases[i], 0xee, sizeof(s.cases[i]));
		s.cases[i].op = table[i].op;
		s.cases[i].result = 99;
		s.cases[i].obj = s.chan[table[i].chan];
		s.cases[i].value = &s.value[i];
	}
}

static void close_cases(void)
{
	for (int i = 0; i < CHANS; i++)
		weft_chan_unref(s.chan[i]);
}

static bool is_empty(weft_chan *c)
{
	return c->waiters[WF_CHAN_SEND].first == NULL &&
		c->waiters[WF_CHAN_RECV].first == NULL;
}

/* Does the nth node of the list lie in the case k? */
static bool is_at(weft_chan *c, enum wf_side side, int nth, weft_case *k)
{
	struct wf_node *n;
	bool at;

	wf_spin_lock(&c->lock);
	n = c->waiters[side].first;
	while (n != NULL && nth-- > 0)
		n = n->next;
	at = n == (struct wf_node *)k->node_;
	wf_spin_unlock(&c->lock);
	return at;
}

static bool all_wait(void)
{
	return is_at(s.chan[0], WF_CHAN_SEND, 0, &s.cases[0]) &&
		is_at(s.chan[0], WF_CHAN_RECV, 0, &s.cases[1]) &&
		is_at(s.chan[1], WF_CHAN_RECV, 0, &s.cases[2]) &&
		is_at(s.chan[2], WF_CHAN_SEND, 0, &s.cases[3]) &&
		is_at(s.chan[1], WF_CHAN_RECV, 1, &s.cases[4]);
}

static void assert_no_waiters(void)
{
	for (int i = 0; i < CHANS; i++)
		assert_true(is_empty(s.chan[i]));
}

static void select_it(void *arg, unsigned i)
{
	uint64_t v = 7;

	(void)arg;
	if (i == 0) {
		s.which = weft_select(s.cases, CASES, PATIENCE_NS + weft_now());
		return;
	}
	while (!all_wait())
		wf_os_thread_yield();
	if (weft_chan_send(s.chan[1], &v, WEFT_NOW) != 0)
		s.value[2] = 0;
}

static void each_case_waits_in_its_own_memory(void **state)
{
	(void)state;
	open_cases();
	threads_run(2, select_it, NULL);
	assert_int_equal(s.which, 2);
	assert_int_equal(s.value[2], 7);
	assert_no_waiters();
	for (int i = 0; i < CASES; i++)
		assert_int_equal(s.cases[i].result, i == 2 ? 0 : 99);
	close_cases();
}

static void close_it(void *arg, unsigned i)
{
	if (i == 0) {
		s.which = weft_select(s.cases, CASES, PATIENCE_NS + weft_now());
		return;
	}
	(void)arg;
	while (!all_wait())
		wf_os_thread_yield();
	weft_chan_close(s.chan[2]);
}

static void a_close_does_the_case_that_it_ends(void **state)
{
	(void)state;
	open_cases();
	threads_run(2, close_it, NULL);
	assert_int_equal(s.which, 3);
	assert_no_waiters();
	for (int i = 0; i < CASES; i++)
		assert_int_equal(s.cases[i].result, i == 3 ? -EPIPE : 99);
	close_cases();
}

static void a_select_that_times_out_leaves_all_lists(void **state)
{
	weft_event e = { 0 }, unused = { 0 };

	(void)state;
	open_cases();
	s.cases[4].op = WEFT_EVENT;
	s.cases[4].obj = &e;
	assert_int_equal(weft_select(s.cases, CASES, weft_after(1000 * 1000)),
		-ETIMEDOUT);
	assert_no_waiters();
	assert_memory_equal(&e, &unused, sizeof(e));
	for (int i = 0; i < CASES; i++)
		assert_int_equal(s.cases[i].result, 99);
	close_cases();
}

/* The first cases are enlisted, then another one looks ready. */
static void a_wait_that_is_not_needed_is_taken_back(void **state)
{
	struct wf_chan_node n[2] = { 0 };
	struct wf_waiter w[2] = { 0 };

	(void)state;
	open_cases();
	/*
	 * One waiter on each side has given up and is still in its list: the
	 * look says ready, the try finds no waiter.
	 */
	for (int i = 0; i < 2; i++)
		n[i].node.waiter = &w[i];
	assert_true(wf_chan_enlist(s.chan[2], WF_CHAN_RECV, &n[0]));
	assert_true(wf_chan_enlist(s.chan[1], WF_CHAN_SEND, &n[1]));
	for (int i = 0; i < 2; i++)
		wf_store_rlx(&w[i].word, 3);
	assert_int_equal(weft_select(s.cases, CASES, weft_after(1000 * 1000)),
		-ETIMEDOUT);
	assert_no_waiters();
	assert_null(n[0].node.list);
	assert_null(n[1].node.list);
	close_cases();
}

/* A select on both channels times out. */
static void select_in_vain(weft_chan *c, int op, weft_chan *other)
{
	uint64_t v = 0;
	weft_case cases[2] = {
		{ .op = op, .obj = c, .value = &v },
		{ .op = WEFT_RECV, .obj = other, .value = &v },
	};

	assert_int_equal(
		weft_select(cases, 2, weft_after(1000 * 1000)), -ETIMEDOUT);
}

/* With and without another waiter that stays in the list. */
static void assert_leaves_no_trace(size_t capacity, int op)
{
	enum wf_side side = op == WEFT_SEND ? WF_CHAN_SEND : WF_CHAN_RECV;
	struct wf_waiter w = { 0 };
	struct wf_chan_node n = { .node.waiter = &w };
	uint64_t v = 0;
	uint32_t before, between;
	weft_chan *c[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(
			weft_chan_create(&c[i], sizeof(v), capacity), 0);
	for (size_t i = 0; i < capacity && op == WEFT_SEND; i++)
		assert_int_equal(weft_chan_send(c[0], &v, WEFT_NOW), 0);
	before = wf_load_rlx(&c[0]->state);
	select_in_vain(c[0], op, c[1]);
	assert_int_equal(wf_load_rlx(&c[0]->state), before);
	assert_true(wf_chan_enlist(c[0], side, &n));
	between = wf_load_rlx(&c[0]->state);
	assert_true(wf_chan_is_ready(c[0], !side));
	select_in_vain(c[0], op, c[1]);
	assert_int_equal(wf_load_rlx(&c[0]->state), between);
	wf_chan_delist(c[0], side, &n);
	assert_int_equal(wf_load_rlx(&c[0]->state), before);
	for (int i = 0; i < 2; i++)
		weft_chan_unref(c[i]);
}

static void a_select_that_has_left_changes_no_state(void **state)
{
	(void)state;
	for (size_t capacity = 0; capacity < 3; capacity++) {
		assert_leaves_no_trace(capacity, WEFT_SEND);
		assert_leaves_no_trace(capacity, WEFT_RECV);
	}
}

/* ------------------------------------------------------------------------ */

/* A fiber that ends when may_end is set. */
static struct {
	weft_rt *rt;
	weft_fiber *fiber;
	_Atomic(bool) may_end;
	weft_case cases[2];
	int which;
	uint32_t meanwhile;	/* callers of rt while the select waits */
} j;

static void *last(void *arg)
{
	while (!wf_load_rlx(&j.may_end))
		weft_yield();
	return arg;
}

static uint32_t callers(weft_rt *rt)
{
	return wf_load_rlx(&rt->outside.callers);
}

static void join_it(void *arg, unsigned i)
{
	(void)arg;
	if (i == 0) {
		j.which = weft_select(j.cases, 2, WEFT_FOREVER);
		return;
	}
	while (!(wf_load_rlx(&j.fiber->state) & WF_FIBER_JOINED))
		wf_os_thread_yield();
	j.meanwhile = callers(j.rt);
	wf_store_rlx(&j.may_end, true);
}

/* The join is case `at'; the other case has no object. */
static void hold_for(int at)
{
	void *result = NULL;
	uint32_t before;

	wf_store_rlx(&j.may_end, false);
	assert_int_equal(weft_rt_spawn(j.rt, &j.fiber, NULL, last, &s), 0);
	before = callers(j.rt);
	/* A case need not be zero where it is private. */
	memset(j.cases, 0xa5, sizeof(j.cases));
	j.cases[!at].op = WEFT_JOIN;
	j.cases[!at].obj = NULL;
	j.cases[at].op = WEFT_JOIN;
	j.cases[at].result = 99;
	j.cases[at].obj = j.fiber;
	j.cases[at].value = &result;
	assert_int_equal(weft_select(j.cases, 2, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(
		weft_select(j.cases, 2, weft_after(1000 * 1000)), -ETIMEDOUT);
	assert_int_equal(callers(j.rt), before);
	assert_int_equal(j.cases[at].result, 99);
	threads_run(2, join_it, NULL);
	assert_int_equal(j.which, at);
	assert_int_equal(j.cases[at].result, 0);
	assert_ptr_equal(result, &s);
	assert_int_equal(j.meanwhile, before + 1);
	assert_int_equal(callers(j.rt), before);
}

static void a_runtime_is_held_only_during_the_select(void **state)
{
	weft_config cfg = { .workers = 1 };

	(void)state;
	assert_int_equal(weft_rt_start(&j.rt, &cfg), 0);
	hold_for(1);
	hold_for(0);
	assert_int_equal(weft_rt_stop(j.rt, WEFT_FOREVER), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_case_waits_in_its_own_memory),
		cmocka_unit_test(a_close_does_the_case_that_it_ends),
		cmocka_unit_test(a_select_that_times_out_leaves_all_lists),
		cmocka_unit_test(a_wait_that_is_not_needed_is_taken_back),
		cmocka_unit_test(a_select_that_has_left_changes_no_state),
		cmocka_unit_test(a_runtime_is_held_only_during_the_select),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
