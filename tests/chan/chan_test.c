/* SPDX-License-Identifier: MIT */
/*
 * tests/chan/chan_test.c - STATE says at any time whether a call has to wait
 * (C4); the ring keeps its order wherever its head is; a claimed waiter gets
 * its element in its own frame, one that has given up is passed over; and no
 * waiter stays in a list.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "chan/chan.h"
#include "support/threads.h"

enum { SEND = 1u << WF_CHAN_SEND, RECV = 1u << WF_CHAN_RECV };
enum { SIZE_MAX_TESTED = 40, CAPACITY_MAX = 5, MOVES = 400 };

/* The word of a plain thread that waits, as wait/wait.h describes it. */
enum { WAITING, CLAIMED, WOKEN, GONE };

/* A number that differs from others in each byte. */
static uint64_t number(uint64_t n)
{
	return n * UINT64_C(0x0101010101010101);
}

static weft_chan *make(size_t bytes, size_t capacity)
{
	weft_chan *c;

	assert_int_equal(weft_chan_create(&c, bytes, capacity), 0);
	return c;
}

static uint32_t state_of(weft_chan *c)
{
	return wf_load_rlx(&c->state);
}

static bool is_empty(weft_chan *c)
{
	return c->waiters[WF_CHAN_SEND].first == NULL &&
		c->waiters[WF_CHAN_SEND].last == NULL &&
		c->waiters[WF_CHAN_RECV].first == NULL &&
		c->waiters[WF_CHAN_RECV].last == NULL;
}

/* ------------------------------------------------------------------------ */
/* Without waiters. */

/* What STATE has to be without waiters. */
static uint32_t expected_state(size_t count, size_t capacity, bool closed)
{
	if (closed)
		return SEND | RECV | WF_CHAN_CLOSED;
	return (count < capacity ? SEND : 0) | (count > 0 ? RECV : 0);
}

/* One channel and its expected contents: the numbers first to next - 1. */
struct model {
	weft_chan *c;
	size_t bytes, capacity;
	uint8_t first, next;
	bool closed;
};

static void fill(const struct model *m, unsigned char *v, uint8_t number)
{
	for (size_t i = 0; i < m->bytes; i++)
		v[i] = (unsigned char)(number + 31 * i);
}

static void move(struct model *m, uint32_t choice)
{
	unsigned char sent[SIZE_MAX_TESTED], got[SIZE_MAX_TESTED + 1];
	size_t count = (uint8_t)(m->next - m->first);
	int err;

	if (choice % 2 == 0) {
		fill(m, sent, m->next);
		err = weft_chan_send(m->c, sent, WEFT_NOW);
		assert_int_equal(err,
			m->closed		       ? -EPIPE
				: count == m->capacity ? -ETIMEDOUT
						       : 0);
		m->next += err == 0;
	} else {
		fill(m, sent, m->first);
		memset(got, 0xee, sizeof(got));
		err = weft_chan_recv(
			m->c, choice % 8 == 1 ? NULL : got, WEFT_NOW);
		assert_int_equal(err,
			count != 0	    ? 0
				: m->closed ? -EPIPE
					    : -ETIMEDOUT);
		if (err == 0 && choice % 8 != 1)
			assert_memory_equal(got, sent, m->bytes);
		else
			assert_int_equal(got[0], 0xee);
		assert_int_equal(got[m->bytes], 0xee);
		m->first += err == 0;
	}
	count = (uint8_t)(m->next - m->first);
	assert_int_equal(weft_chan_len(m->c), count);
	assert_int_equal(
		state_of(m->c), expected_state(count, m->capacity, m->closed));
	assert_true(is_empty(m->c));
}

static void state_and_order_are_as_in_a_model(void **state)
{
	static const size_t sizes[] = { 1, 3, 4, 8, 16, 24, SIZE_MAX_TESTED };
	struct wf_random r;

	(void)state;
	wf_random_seed(&r, threads_seed());
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (size_t n = 0; n <= CAPACITY_MAX; n++) {
			struct model m = { .c = make(sizes[s], n),
				.bytes = sizes[s],
				.capacity = n };

			assert_int_equal(
				state_of(m.c), expected_state(0, n, false));
			for (int i = 0; i < MOVES; i++)
				move(&m, (uint32_t)(wf_random_next(&r) >> 32));
			assert_int_equal(weft_chan_close(m.c), 0);
			assert_int_equal(weft_chan_close(m.c), -EALREADY);
			m.closed = true;
			for (size_t i = 0; i < 2 * CAPACITY_MAX + 2; i++)
				move(&m, (uint32_t)i);
			weft_chan_unref(m.c);
		}
}

/* ------------------------------------------------------------------------ */
/* Waiters made by hand, which look like plain threads to the channel. */

struct hand {
	struct wf_waiter w;
	struct wf_chan_node n;
	uint64_t value;
};

static void hand_open(struct hand *h)
{
	memset(h, 0, sizeof(*h));
	h->n.node.waiter = &h->w;
	h->n.value = &h->value;
}

static void assert_claimed(struct hand *h, int result)
{
	assert_ptr_equal(h->w.won, &h->n.node);
	assert_int_equal(wf_load_rlx(&h->w.word), WOKEN);
	assert_null(h->n.node.list);
	assert_int_equal(h->n.result, result);
}

static void a_send_goes_into_the_frame_of_the_first_receiver(void **state)
{
	weft_chan *c = make(sizeof(uint64_t), 1);
	struct hand a, b;
	uint64_t v;

	(void)state;
	hand_open(&a);
	hand_open(&b);
	assert_true(wf_chan_enlist(c, WF_CHAN_RECV, &a.n));
	assert_true(wf_chan_enlist(c, WF_CHAN_RECV, &b.n));
	for (uint64_t i = 1; i <= 3; i++) {
		v = number(i);
		assert_int_equal(weft_chan_send(c, &v, WEFT_NOW), 0);
	}
	assert_claimed(&a, 0);
	assert_claimed(&b, 0);
	assert_int_equal(a.value, number(1));
	assert_int_equal(b.value, number(2));
	assert_int_equal(weft_chan_len(c), 1);
	assert_int_equal(state_of(c), RECV);
	weft_chan_unref(c);
}

static void a_receive_takes_from_the_frame_of_the_first_sender(void **state)
{
	weft_chan *c = make(sizeof(uint64_t), 0);
	struct hand a, b;
	uint64_t v = 0;

	(void)state;
	hand_open(&a);
	hand_open(&b);
	a.value = number(11);
	b.value = number(22);
	assert_true(wf_chan_enlist(c, WF_CHAN_SEND, &a.n));
	assert_true(wf_chan_enlist(c, WF_CHAN_SEND, &b.n));
	assert_int_equal(state_of(c), RECV);
	assert_int_equal(weft_chan_recv(c, &v, WEFT_NOW), 0);
	assert_int_equal(v, number(11));
	assert_claimed(&a, 0);
	assert_int_equal(state_of(c), RECV);
	assert_int_equal(wf_load_rlx(&b.w.word), WAITING);
	assert_int_equal(weft_chan_recv(c, NULL, WEFT_NOW), 0);
	assert_claimed(&b, 0);
	assert_int_equal(state_of(c), 0);
	weft_chan_unref(c);
}

/* The waiting sender's value goes behind those in the ring. */
static void a_receive_from_a_full_ring_lets_a_sender_in(void **state)
{
	weft_chan *c = make(sizeof(uint64_t), 2);
	struct hand a;
	uint64_t v;

	(void)state;
	for (v = 1; v <= 2; v++)
		assert_int_equal(weft_chan_send(c, &v, WEFT_NOW), 0);
	hand_open(&a);
	a.value = 3;
	assert_true(wf_chan_enlist(c, WF_CHAN_SEND, &a.n));
	assert_int_equal(weft_chan_recv(c, &v, WEFT_NOW), 0);
	assert_int_equal(v, 1);
	assert_claimed(&a, 0);
	assert_int_equal(weft_chan_len(c), 2);
	assert_int_equal(state_of(c), RECV);
	for (uint64_t next = 2; next <= 3; next++) {
		assert_int_equal(weft_chan_recv(c, &v, WEFT_NOW), 0);
		assert_int_equal(v, next);
	}
	weft_chan_unref(c);
}

static void a_waiter_that_gave_up_is_passed_over(void **state)
{
	weft_chan *c = make(sizeof(uint64_t), 0);
	struct hand a, b;
	uint64_t v = 7;

	(void)state;
	hand_open(&a);
	hand_open(&b);
	assert_true(wf_chan_enlist(c, WF_CHAN_RECV, &a.n));
	assert_true(wf_chan_enlist(c, WF_CHAN_RECV, &b.n));
	wf_store_rlx(&a.w.word, GONE);
	assert_int_equal(weft_chan_send(c, &v, WEFT_NOW), 0);
	assert_int_equal(a.value, 0);
	assert_null(a.n.node.list);
	assert_null(a.w.won);
	assert_int_equal(b.value, 7);
	hand_open(&a);
	assert_true(wf_chan_enlist(c, WF_CHAN_RECV, &a.n));
	wf_store_rlx(&a.w.word, GONE);
	/* Without a waiter left the send fails, and STATE is not ready. */
	assert_int_equal(state_of(c), SEND);
	assert_int_equal(weft_chan_send(c, &v, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(state_of(c), 0);
	assert_true(is_empty(c));
	weft_chan_unref(c);
}

static void a_close_claims_both_sides(void **state)
{
	weft_chan *c = make(sizeof(uint64_t), 0);
	struct hand a, b;

	(void)state;
	hand_open(&a);
	hand_open(&b);
	/* Two cases of one select: they do not see each other. */
	b.n.node.waiter = &a.w;
	b.value = 5;
	assert_true(wf_chan_enlist(c, WF_CHAN_RECV, &a.n));
	assert_true(wf_chan_enlist(c, WF_CHAN_SEND, &b.n));
	assert_int_equal(state_of(c), SEND | RECV);
	assert_int_equal(weft_chan_close(c), 0);
	assert_int_equal(wf_load_rlx(&a.w.word), WOKEN);
	assert_int_equal(a.n.result + b.n.result, -EPIPE);
	assert_int_equal(a.value, 0);
	assert_true(is_empty(c));
	assert_int_equal(state_of(c), SEND | RECV | WF_CHAN_CLOSED);
	hand_open(&a);
	assert_false(wf_chan_enlist(c, WF_CHAN_RECV, &a.n));
	assert_false(wf_chan_enlist(c, WF_CHAN_SEND, &a.n));
	weft_chan_unref(c);
}

/* A waiter that has given up is passed over. */
static void a_close_claims_all_of_a_side(void **state)
{
	enum { HANDS = 4, LOST = 1 };
	struct hand h[HANDS];

	(void)state;
	for (int side = 0; side < 2; side++) {
		weft_chan *c = make(sizeof(uint64_t), 0);

		for (int i = 0; i < HANDS; i++) {
			hand_open(&h[i]);
			assert_true(
				wf_chan_enlist(c, (enum wf_side)side, &h[i].n));
		}
		wf_store_rlx(&h[LOST].w.word, GONE);
		assert_int_equal(weft_chan_close(c), 0);
		for (int i = 0; i < HANDS; i++)
			if (i != LOST)
				assert_claimed(&h[i], -EPIPE);
		assert_int_equal(wf_load_rlx(&h[LOST].w.word), GONE);
		assert_null(h[LOST].w.won);
		assert_true(is_empty(c));
		weft_chan_unref(c);
	}
}

/* A select's own nodes on the other side do not refuse its next case. */
static void own_nodes_do_not_refuse_a_case(void **state)
{
	enum { OWN = 3 };
	struct hand own[OWN], last, other;

	(void)state;
	for (int side = 0; side < 2; side++) {
		weft_chan *c = make(sizeof(uint64_t), 0);
		enum wf_side here = (enum wf_side)side, there = !side;

		for (int i = 0; i < OWN; i++) {
			hand_open(&own[i]);
			own[i].n.node.waiter = &own[0].w;
			assert_true(wf_chan_enlist(c, here, &own[i].n));
		}
		hand_open(&last);
		last.n.node.waiter = &own[0].w;
		assert_true(wf_chan_enlist(c, there, &last.n));
		wf_chan_delist(c, there, &last.n);
		/* Behind the own nodes there is another waiter's. */
		hand_open(&other);
		assert_true(wf_chan_enlist(c, here, &other.n));
		assert_false(wf_chan_enlist(c, there, &last.n));
		wf_chan_delist(c, here, &other.n);
		for (int i = 0; i < OWN; i++)
			wf_chan_delist(c, here, &own[i].n);
		assert_true(is_empty(c));
		weft_chan_unref(c);
	}
}

static void only_another_waiters_node_refuses_a_case(void **state)
{
	weft_chan *c = make(sizeof(uint64_t), 0);
	struct hand a, b, other;

	(void)state;
	hand_open(&a);
	hand_open(&b);
	hand_open(&other);
	b.n.node.waiter = &a.w;
	assert_true(wf_chan_enlist(c, WF_CHAN_SEND, &a.n));
	assert_false(wf_chan_enlist(c, WF_CHAN_RECV, &other.n));
	assert_null(other.n.node.list);
	assert_true(wf_chan_enlist(c, WF_CHAN_SEND, &other.n));
	/* Behind its own node there is another waiter's. */
	assert_false(wf_chan_enlist(c, WF_CHAN_RECV, &b.n));
	wf_chan_delist(c, WF_CHAN_SEND, &other.n);
	wf_chan_delist(c, WF_CHAN_SEND, &other.n);
	assert_true(wf_chan_enlist(c, WF_CHAN_RECV, &b.n));
	wf_chan_delist(c, WF_CHAN_RECV, &b.n);
	wf_chan_delist(c, WF_CHAN_SEND, &a.n);
	assert_true(is_empty(c));
	assert_int_equal(state_of(c), 0);
	weft_chan_unref(c);
}

/* ------------------------------------------------------------------------ */
/* Real waiters. */

static void a_waiter_that_times_out_leaves_the_list(void **state)
{
	weft_chan *c = make(sizeof(uint64_t), 0);
	uint64_t v = 1;

	(void)state;
	assert_int_equal(
		weft_chan_send(c, &v, weft_after(1000 * 1000)), -ETIMEDOUT);
	assert_true(is_empty(c));
	assert_int_equal(
		weft_chan_recv(c, &v, weft_after(1000 * 1000)), -ETIMEDOUT);
	assert_true(is_empty(c));
	assert_int_equal(state_of(c), 0);
	weft_chan_unref(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_and_order_are_as_in_a_model),
		cmocka_unit_test(
			a_send_goes_into_the_frame_of_the_first_receiver),
		cmocka_unit_test(
			a_receive_takes_from_the_frame_of_the_first_sender),
		cmocka_unit_test(a_receive_from_a_full_ring_lets_a_sender_in),
		cmocka_unit_test(a_waiter_that_gave_up_is_passed_over),
		cmocka_unit_test(a_close_claims_both_sides),
		cmocka_unit_test(a_close_claims_all_of_a_side),
		cmocka_unit_test(only_another_waiters_node_refuses_a_case),
		cmocka_unit_test(own_nodes_do_not_refuse_a_case),
		cmocka_unit_test(a_waiter_that_times_out_leaves_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
