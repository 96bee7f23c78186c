/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/runq_suite.c - one thread, two queues, and an array beside each
 * that says what must be in it.
 *
 * tests/stress/queue_runq_test.c is about many threads.
 */
#include "runq_suite.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/random.h"
#include "support/threads.h"
#include "support/skip.h"

enum { CAP_MAX = 256, TASKS = 2 * CAP_MAX + 2, MODEL_STEPS = 60000 };

static const uint64_t caps[] = { 2, 4, 8, 64, 256 };
enum { CAPS = sizeof(caps) / sizeof(caps[0]) };

/* Where indices may begin: capacities later they are past 2^32, or 2^63. */
static const uint64_t bases[] = { 0, (UINT64_C(1) << 32) - 3,
	(UINT64_C(1) << 63) - 3 };
enum { BASES = sizeof(bases) / sizeof(bases[0]) };

static const struct wf_runq_ops *ops; /* the kind under test */

/* ------------------------------------------------------------------------ */
/* A ring and its model. */

struct ring {
	struct wf_runq q;
	_Atomic(wf_entry) slots[CAP_MAX];
	wf_entry model[CAP_MAX]; /* the oldest first */
	size_t len;
};

static weft_task tasks[TASKS];
static bool queued[TASKS];
static size_t next_task;

/* Rings are opened before anything is pushed into any of them. */
static void ring_open(struct ring *r, uint64_t cap, uint64_t base)
{
	memset(queued, 0, sizeof(queued));
	memset(r->slots, 0, sizeof(r->slots));
	wf_runq_init(&r->q, r->slots, cap);
	wf_store_rlx(&r->q.head, base);
	wf_store_rlx(&r->q.tail, base);
	r->q.head_seen = base;
	r->len = 0;
}

static size_t ring_room(struct ring *r)
{
	return (size_t)r->q.mask + 1 - r->len;
}

/* The queue is in order and as long as its model. */
static void ring_check(struct ring *r)
{
	assert_int_equal(wf_runq_len(&r->q), r->len);
	assert_true(wf_runq_check(&r->q));
}

/* A task that is not in any queue: there are more tasks than places. */
static weft_task *fresh(void)
{
	do {
		next_task = (next_task + 1) % TASKS;
	} while (queued[next_task]);
	return &tasks[next_task];
}

static void ring_push(struct ring *r, bool ticket)
{
	bool fits = ring_room(r) > 0;
	weft_task *task = fresh();
	wf_entry e = ticket ? wf_entry_ticket(task, (uint8_t)(task - tasks))
			    : wf_entry_of(task);

	assert_int_equal(ops->push(&r->q, e), fits);
	if (fits) {
		r->model[r->len++] = e;
		queued[task - tasks] = true;
	}
	ring_check(r);
}

static void ring_fill(struct ring *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ring_push(r, i % 3 == 1);
	assert_int_equal(r->len, n);
}

/* The model loses its n oldest, of which the first gone are in no queue. */
static void model_drop(struct ring *r, size_t n, size_t gone)
{
	for (size_t i = 0; i < gone; i++)
		queued[wf_entry_task(r->model[i]) - tasks] = false;
	r->len -= n;
	memmove(r->model, r->model + n, r->len * sizeof(r->model[0]));
}

static void ring_pop(struct ring *r)
{
	wf_entry e = ops->pop(&r->q);

	if (r->len == 0) {
		assert_int_equal(e, 0);
	} else {
		assert_int_equal(e, r->model[0]);
		model_drop(r, 1, 1);
	}
	ring_check(r);
}

/* Pop by an owner without thieves: a call of the lock-free kind. */
static void ring_pop_alone(struct ring *r)
{
	wf_entry e;

	if (ops != &wf_runq_ops) {
		ring_pop(r);
		return;
	}
	assert_int_equal(wf_runq_peek(&r->q), r->len > 0 ? r->model[0] : 0);
	e = wf_runq_pop_alone(&r->q);
	assert_int_equal(e, r->len > 0 ? r->model[0] : 0);
	if (r->len > 0)
		model_drop(r, 1, 1);
	ring_check(r);
}

static void ring_drain(struct ring *r)
{
	while (r->len > 0)
		ring_pop(r);
	ring_pop(r);
}

static void ring_grab(struct ring *r, size_t max)
{
	wf_entry out[CAP_MAX + 1];
	size_t n = r->len < max ? r->len : max;

	memset(out, 0, sizeof(out));
	assert_int_equal(ops->grab(&r->q, out, max), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(out[i], r->model[i]);
	assert_int_equal(out[n], 0);
	model_drop(r, n, n);
	ring_check(r);
}

static void ring_steal(struct ring *to, struct ring *from, bool lone)
{
	size_t n = (from->len + lone) / 2, moved = 12345;
	wf_entry e;

	if (n > ring_room(to) + 1)
		n = ring_room(to) + 1;
	e = ops->steal(&to->q, &from->q, lone, SIZE_MAX, &moved);
	assert_int_equal(moved, n);
	assert_int_equal(e, n > 0 ? from->model[0] : 0);
	for (size_t i = 1; i < n; i++)
		to->model[to->len++] = from->model[i];
	model_drop(from, n, n > 0);
	ring_check(to);
	ring_check(from);
}

/* ------------------------------------------------------------------------ */
/* Claims: every third ticket is dead, and each is asked for once. */

static unsigned claims[TASKS];
static size_t claims_made;

static bool is_dead(weft_task *task)
{
	return (size_t)(task - tasks) % 3 == 0;
}

static bool claim(wf_entry ticket)
{
	weft_task *task = wf_entry_task(ticket);

	claims[task - tasks]++;
	claims_made++;
	return !is_dead(task);
}

static void ring_offload(struct ring *r)
{
	size_t n = r->len - r->len / 2, tickets = 0;
	struct wf_batch out = { 0 };

	/* Tasks that were in out before stay in front. */
	wf_batch_add(&out, fresh());
	memset(claims, 0, sizeof(claims));
	claims_made = 0;
	assert_int_equal(ops->offload(&r->q, claim, SIZE_MAX, &out), n);
	wf_batch_take(&out);
	for (size_t i = 0; i < n; i++) {
		weft_task *task = wf_entry_task(r->model[i]);
		bool ticket = wf_entry_is_ticket(r->model[i]);

		tickets += ticket;
		assert_int_equal(claims[task - tasks], ticket);
		if (!ticket || !is_dead(task))
			assert_ptr_equal(wf_batch_take(&out), task);
	}
	assert_true(wf_batch_is_empty(&out));
	assert_int_equal(claims_made, tickets);
	model_drop(r, n, n);
	ring_check(r);
}

/* As a claim, and counted like one. */
static bool is_fresh(wf_entry ticket)
{
	return claim(ticket);
}

/* The queue is full: dead tickets go, all others keep their order. */
static void ring_sift(struct ring *r)
{
	size_t tickets = 0, left = 0;

	memset(claims, 0, sizeof(claims));
	claims_made = 0;
	for (size_t i = 0; i < r->len; i++) {
		weft_task *task = wf_entry_task(r->model[i]);
		bool ticket = wf_entry_is_ticket(r->model[i]);

		tickets += ticket;
		if (ticket && is_dead(task))
			queued[task - tasks] = false;
		else
			r->model[left++] = r->model[i];
	}
	r->len = left;
	assert_int_equal(wf_runq_sift(&r->q, is_fresh), left);
	assert_int_equal(claims_made, tickets);
	ring_check(r);
}

/* ------------------------------------------------------------------------ */
/* One promise each, for all capacities. */

static void a_new_queue_is_empty(void **state)
{
	struct ring r, to;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		ring_open(&r, caps[c], 0);
		ring_open(&to, caps[c], 0);
		ring_check(&r);
		ring_pop(&r);
		ring_grab(&r, CAP_MAX);
		ring_offload(&r);
		ring_steal(&to, &r, false);
		ring_steal(&to, &r, true);
	}
}

static void the_owner_sees_first_in_first_out(void **state)
{
	struct ring r;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		ring_open(&r, caps[c], 0);
		for (size_t n = 0; n <= caps[c]; n++) {
			ring_fill(&r, n);
			ring_drain(&r);
		}
	}
}

static void a_full_queue_refuses_and_stays_as_it_is(void **state)
{
	struct ring r;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		ring_open(&r, caps[c], 0);
		ring_fill(&r, caps[c]);
		for (int i = 0; i < 3; i++)
			ring_push(&r, false);
		assert_int_equal(r.len, caps[c]);
		/* One place is free, then none again. */
		ring_pop(&r);
		ring_push(&r, false);
		ring_push(&r, false);
		assert_int_equal(r.len, caps[c]);
		ring_drain(&r);
	}
}

/* Room counts the entries that thieves and the owner have taken. */
static void all_that_was_taken_makes_room(void **state)
{
	struct ring r, to;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		ring_open(&r, caps[c], 0);
		ring_open(&to, CAP_MAX, 0);
		ring_fill(&r, caps[c]);
		ring_grab(&r, 1);
		ring_push(&r, false);
		ring_steal(&to, &r, false);
		while (ring_room(&r) > 0)
			ring_push(&r, false);
		ring_push(&r, false);
		ring_offload(&r);
		while (ring_room(&r) > 0)
			ring_push(&r, false);
		ring_push(&r, false);
		ring_drain(&r);
		ring_drain(&to);
	}
}

/* A thief with all the room it needs, from n entries, for every n. */
static void steal_from_every_length(bool lone)
{
	struct ring r, to;

	for (size_t c = 0; c < CAPS; c++) {
		for (size_t n = 0; n <= caps[c]; n++) {
			size_t taken = lone ? n - n / 2 : n / 2;

			ring_open(&r, caps[c], 0);
			ring_open(&to, caps[c], 0);
			ring_fill(&r, n);
			ring_steal(&to, &r, lone);
			assert_int_equal(r.len, n - taken);
			assert_int_equal(to.len, taken > 0 ? taken - 1 : 0);
			ring_drain(&to);
			ring_drain(&r);
		}
	}
}

static void a_thief_takes_half_and_leaves_a_lone_entry(void **state)
{
	(void)state;
	steal_from_every_length(false);
}

static void a_thief_that_may_takes_the_lone_entry(void **state)
{
	(void)state;
	steal_from_every_length(true);
}

static void a_thief_takes_no_more_than_it_has_room_for(void **state)
{
	struct ring r, to;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		for (size_t have = 0; have <= caps[c]; have++) {
			ring_open(&r, CAP_MAX, 0);
			ring_open(&to, caps[c], 0);
			ring_fill(&to, have);
			ring_fill(&r, CAP_MAX);
			ring_steal(&to, &r, have % 2);
			/* With no room at all it still takes one to run. */
			assert_true(r.len < CAP_MAX);
			ring_drain(&to);
			ring_drain(&r);
		}
	}
}

static void a_grab_takes_up_to_max(void **state)
{
	struct ring r;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		size_t step = 1 + caps[c] / 16;

		for (size_t n = 0; n <= caps[c]; n += step) {
			for (size_t max = 0; max <= caps[c]; max += step) {
				ring_open(&r, caps[c], 0);
				ring_fill(&r, n);
				ring_grab(&r, max);
				ring_drain(&r);
			}
		}
	}
}

static void offload_takes_the_older_half_rounded_up(void **state)
{
	struct ring r;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		for (size_t n = 0; n <= caps[c]; n++) {
			ring_open(&r, caps[c], 0);
			ring_fill(&r, n);
			ring_offload(&r);
			assert_int_equal(r.len, n / 2);
			ring_drain(&r);
		}
	}
}

/* All kinds of entries at all places of a short queue. */
static void offload_claims_tickets_and_drops_dead_ones(void **state)
{
	struct ring r;

	(void)state;
	for (unsigned pattern = 0; pattern < 256; pattern++) {
		ring_open(&r, 8, 0);
		for (unsigned i = 0; i < 8; i++)
			ring_push(&r, pattern >> i & 1);
		while (r.len > 0)
			ring_offload(&r);
	}
}

static void popping_alone_is_popping(void **state)
{
	struct ring r;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		for (size_t n = 0; n <= caps[c]; n++) {
			ring_open(&r, caps[c], bases[n % BASES]);
			ring_fill(&r, n);
			while (r.len > 0) {
				ring_pop_alone(&r);
				ring_pop(&r);
			}
			ring_pop_alone(&r);
			ring_push(&r, n % 2);
			ring_pop_alone(&r);
		}
	}
}

/* All kinds of entries at all places of a short queue, which then has room. */
static void sifting_drops_dead_tickets_only(void **state)
{
	struct ring r;

	(void)state;
	if (ops != &wf_runq_ops)
		skip_because("only the lock-free queue is sifted");
	for (unsigned pattern = 0; pattern < 256; pattern++) {
		ring_open(&r, 8, bases[pattern % BASES]);
		for (unsigned i = 0; i < 8; i++)
			ring_push(&r, pattern >> i & 1);
		ring_sift(&r);
		while (ring_room(&r) > 0)
			ring_push(&r, true);
		ring_push(&r, true);
		ring_sift(&r);
		ring_drain(&r);
	}
}

/* ------------------------------------------------------------------------ */
/* Everything, in any order, against the model. */

static void model_step(
	struct ring *mine, struct ring *other, struct wf_random *random)
{
	uint32_t many = wf_random_below(random, 8) ? 4 : CAP_MAX;
	uint32_t n = wf_random_below(random, many);

	switch (wf_random_below(random, 9)) {
	case 0:
	case 1:
	case 2:
		while (n-- > 0)
			ring_push(mine, wf_random_below(random, 2));
		break;
	case 3:
	case 4:
		while (n-- > 0)
			ring_pop(mine);
		break;
	case 5:
		ring_grab(mine, n);
		break;
	case 6:
		ring_pop_alone(mine);
		break;
	case 7:
		ring_steal(mine, other, wf_random_below(random, 2));
		break;
	default:
		if (ring_room(mine) == 0 && ops == &wf_runq_ops)
			ring_sift(mine);
		else
			ring_offload(mine);
	}
}

static void model_run(uint64_t cap, uint64_t other_cap, uint64_t base)
{
	size_t steps = threads_rounds(MODEL_STEPS / CAPS / CAPS / BASES);
	struct wf_random random;
	struct ring a, b;

	wf_random_seed(&random, threads_seed() ^ cap << 32 ^ other_cap ^ base);
	ring_open(&a, cap, base);
	ring_open(&b, other_cap, base);
	for (size_t i = 0; i < steps; i++) {
		if (wf_random_below(&random, 2))
			model_step(&a, &b, &random);
		else
			model_step(&b, &a, &random);
	}
	ring_drain(&a);
	ring_drain(&b);
}

static void any_sequence_does_what_the_model_does(void **state)
{
	(void)state;
	for (size_t b = 0; b < BASES; b++) {
		for (size_t i = 0; i < CAPS; i++) {
			for (size_t j = 0; j < CAPS; j++)
				model_run(caps[i], caps[j], bases[b]);
		}
	}
}

/* Each capacity crosses the border full, empty and at every other length. */
static void indices_grow_past_32_and_63_bits(void **state)
{
	struct ring r, to;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		for (size_t n = 0; n <= caps[c]; n++) {
			uint64_t border = UINT64_C(1) << (n % 2 ? 32 : 63);

			ring_open(&r, caps[c], border - n);
			ring_open(&to, caps[c], border - n / 2);
			ring_fill(&r, n);
			ring_steal(&to, &r, true);
			while (ring_room(&r) > 0)
				ring_push(&r, false);
			ring_push(&r, false);
			ring_offload(&r);
			ring_grab(&r, 1);
			ring_drain(&r);
			ring_drain(&to);
			assert_true(wf_load_rlx(&r.q.head) >= border);
		}
	}
}

/* ------------------------------------------------------------------------ */
/* What looks at a queue sees when something is wrong with it. */

static void a_check_finds_what_is_broken(void **state)
{
	struct ring r;

	(void)state;
	ring_open(&r, 4, 100);
	ring_fill(&r, 2);
	assert_true(wf_runq_check(&r.q));
	wf_store_rlx(&r.q.tail, 99); /* behind head */
	assert_false(wf_runq_check(&r.q));
	assert_int_equal(wf_runq_len(&r.q), 0);
	wf_store_rlx(&r.q.tail, 105); /* more than fit */
	assert_false(wf_runq_check(&r.q));
	wf_store_rlx(&r.q.tail, 103); /* one that was never stored */
	assert_false(wf_runq_check(&r.q));
	wf_store_rlx(&r.q.tail, 102);
	assert_true(wf_runq_check(&r.q));
	r.q.head_seen = 101; /* head has not been there */
	assert_false(wf_runq_check(&r.q));
}

int runq_suite(const struct wf_runq_ops *of)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_queue_is_empty),
		cmocka_unit_test(the_owner_sees_first_in_first_out),
		cmocka_unit_test(a_full_queue_refuses_and_stays_as_it_is),
		cmocka_unit_test(all_that_was_taken_makes_room),
		cmocka_unit_test(a_thief_takes_half_and_leaves_a_lone_entry),
		cmocka_unit_test(a_thief_that_may_takes_the_lone_entry),
		cmocka_unit_test(a_thief_takes_no_more_than_it_has_room_for),
		cmocka_unit_test(a_grab_takes_up_to_max),
		cmocka_unit_test(offload_takes_the_older_half_rounded_up),
		cmocka_unit_test(offload_claims_tickets_and_drops_dead_ones),
		cmocka_unit_test(popping_alone_is_popping),
		cmocka_unit_test(sifting_drops_dead_tickets_only),
		cmocka_unit_test(any_sequence_does_what_the_model_does),
		cmocka_unit_test(indices_grow_past_32_and_63_bits),
		cmocka_unit_test(a_check_finds_what_is_broken),
	};

	ops = of;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
