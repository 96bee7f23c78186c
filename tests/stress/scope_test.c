/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/scope_test.c - trees of scopes that grow, fail, are cancelled
 * from everywhere and run out of time, all at once: every fiber that was
 * started ends before its scope is closed, and nothing is touched afterwards.
 *
 * The frame that a scope lies in is written over the moment it is closed, and
 * looked at a while later.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "stress/sched_kit.h"

enum { ROOTS = 8, ROUNDS = 300, DEPTH_MAX = 4, CHILDREN_MAX = 5 };

static const uint64_t pattern = 0x5ca1ab1e5ca1ab1e;

struct node {
	weft_scope scope;
	struct wf_random random;
	struct node *parent;
	unsigned depth;
	_Atomic(uint32_t) started, ended; /* of its own members */
	weft_event event;
};

static _Atomic(uint64_t) cancelled, failed, late, fine, cutoff;

static void count(int result)
{
	(void)wf_add_rlx(result == -ECANCELED  ? &cancelled
			: result == -ETIMEDOUT ? &late
			: result > 0	       ? &failed
					       : &fine,
		1);
	kit_expect(result == 0 || result == -ECANCELED ||
		result == -ETIMEDOUT || result == 1);
}

static uint32_t dice(struct node *n, uint32_t sides)
{
	return wf_random_below(&n->random, sides);
}

/* What leaves do, and other nodes before their children. */
static void pass_time(struct node *n)
{
	int err = 0;

	switch (dice(n, 12)) {
	case 0:
		weft_yield();
		break;
	case 1:
		err = weft_sleep(dice(n, 50000));
		break;
	case 2:
		err = weft_event_wait(&n->event, weft_after(dice(n, 100000)));
		kit_expect(err == -ETIMEDOUT || err == -ECANCELED);
		break;
	case 3:
		weft_scope_cancel(&n->parent->scope);
		break;
	default:
		break;
	}
	if (err == -ECANCELED)
		kit_expect(weft_cancelled());
}

static int run_node(void *arg);

static void start_children(struct node *n, struct node *children, unsigned many)
{
	for (unsigned i = 0; i < many; i++) {
		struct node *c = &children[i];
		int err;

		*c = (struct node){ .parent = n, .depth = n->depth - 1 };
		wf_random_seed(&c->random, wf_random_next(&n->random));
		(void)wf_add_rlx(&n->started, 1);
		err = weft_scope_go(&n->scope, run_node, c);
		if (err == 0)
			continue;
		kit_expect(err == -ECANCELED || err == -ETIMEDOUT ||
			err == -ESHUTDOWN);
		(void)wf_add_rlx(&n->ended, 1);
		(void)wf_add_rlx(&cutoff, 1);
	}
}

/* No fiber writes into a scope that is closed. */
static void check_closed(struct node *n)
{
	uint64_t *word = n->scope.reserved_;

	for (unsigned i = 0; i < 16; i++)
		((volatile uint64_t *)word)[i] = pattern;
	weft_yield();
	for (unsigned i = 0; i < 16; i++)
		kit_expect(((volatile uint64_t *)word)[i] == pattern);
}

static void run_scope(struct node *n)
{
	struct node children[CHILDREN_MAX];
	weft_time deadline = WEFT_FOREVER;
	int result;

	if (dice(n, 4) == 0)
		deadline = weft_after(dice(n, 1000000));
	kit_expect(weft_scope_open(&n->scope, deadline) == 0);
	start_children(n, children, dice(n, CHILDREN_MAX + 1));
	if (dice(n, 12) == 0)
		weft_scope_cancel(&n->scope);
	result = weft_scope_close(&n->scope);
	kit_expect(wf_load_rlx(&n->started) == wf_load_rlx(&n->ended));
	check_closed(n);
	count(result);
}

static int run_node(void *arg)
{
	struct node *n = arg;
	struct node *parent = n->parent;
	bool fails = dice(n, 20) == 0;

	pass_time(n);
	if (n->depth > 0)
		run_scope(n);
	(void)wf_add_rlx(&parent->ended, 1);
	return fails;
}

static void run_tree(struct node *n)
{
	n->depth = DEPTH_MAX;
	wf_store_rlx(&n->started, 0);
	wf_store_rlx(&n->ended, 0);
	run_scope(n);
}

static void *run_root(void *arg)
{
	for (size_t i = 0; i < kit_rounds(ROUNDS); i++)
		run_tree(arg);
	return arg;
}

static void run_trees(unsigned workers)
{
	weft_config cfg = { .workers = workers };
	weft_rt *rt = kit_start(&cfg);
	static struct node root[ROOTS];
	weft_fiber *f[ROOTS];

	for (unsigned i = 0; i < ROOTS; i++) {
		root[i] = (struct node){ 0 };
		wf_random_seed(&root[i].random, threads_seed() + i);
		assert_int_equal(
			weft_rt_spawn(rt, &f[i], NULL, run_root, &root[i]), 0);
	}
	/* Cancel from outside, while the trees run. */
	kit_pause_us(20000);
	assert_int_equal(weft_cancel(f[0]), 0);
	for (unsigned i = 0; i < ROOTS; i++)
		assert_int_equal(weft_join(f[i], NULL, WEFT_FOREVER), 0);
	kit_stop(rt);
}

static void trees_end(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers *= 2)
		run_trees(workers);
	printf("%llu fine, %llu failed, %llu cancelled, %llu late; "
	       "%llu not started\n",
		(unsigned long long)fine, (unsigned long long)failed,
		(unsigned long long)cancelled, (unsigned long long)late,
		(unsigned long long)cutoff);
	assert_true(fine > 0 && failed > 0 && cancelled > 0 && cutoff > 0);
}

/* The runtime stops while trees grow. */
static void *grow_until_stopped(void *arg)
{
	while (!weft_cancelled())
		run_tree(arg);
	return arg;
}

static int wait_for_stop(void *arg)
{
	struct node *n = arg;

	kit_expect(weft_event_wait(&n->event, WEFT_FOREVER) == -ECANCELED);
	return 0;
}

static void *many_until_stopped(void *arg)
{
	struct node *n = arg;
	weft_scope s;

	kit_expect(weft_scope_open(&s, WEFT_FOREVER) == 0);
	for (int i = 0; i < 50; i++) {
		int err = weft_scope_go(&s, wait_for_stop, n);

		kit_expect(err == 0 || err == -ESHUTDOWN);
	}
	kit_expect(weft_scope_close(&s) == -ECANCELED);
	return n;
}

static void a_stop_ends_all_trees(void **state)
{
	static struct node root[2 * ROOTS];

	(void)state;
	for (size_t round = 0; round < kit_rounds(20); round++) {
		weft_config cfg = { .workers = 2 };
		weft_rt *rt = kit_start(&cfg);
		weft_fiber *f[2 * ROOTS];

		for (unsigned i = 0; i < 2 * ROOTS; i++)
			assert_int_equal(weft_rt_spawn(rt, &f[i], NULL,
						 i % 2 ? grow_until_stopped
						       : many_until_stopped,
						 &root[i]),
				0);
		kit_pause_us(100 * round);
		assert_int_equal(weft_rt_shutdown(rt), 0);
		for (unsigned i = 0; i < 2 * ROOTS; i++)
			weft_detach(f[i]);
		kit_stop(rt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_end),
		cmocka_unit_test(a_stop_ends_all_trees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
