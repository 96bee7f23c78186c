/* SPDX-License-Identifier: MIT */
/*
 * tests/timer/heap_test.c - the heap against a model: an array in which one
 * looks for the first.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "timer/heap.h"
#include "timer/model.h"

static struct wf_heap heap;
static uint64_t turns;

static int begin(void **state)
{
	(void)state;
	model_begin();
	heap = (struct wf_heap){ 0 };
	return 0;
}

static void put(size_t i, int64_t key)
{
	timers[i].key = key;
	timers[i].turn = turns++;
	wf_heap_insert(&heap, &timers[i]);
	is_in[i] = true;
}

static void take(struct wf_timer *t)
{
	wf_heap_remove(&heap, t);
	is_in[t - timers] = false;
}

/* How many can be reached from t; each is where its links say. */
static size_t reach(struct wf_timer **link, const struct wf_timer *parent)
{
	struct wf_timer *t = *link;
	size_t n = 0;

	for (; t != NULL; link = &t->next, t = *link) {
		assert_true(is_in[t - timers]);
		if (parent != NULL) {
			assert_ptr_equal(t->link, link);
			assert_true(parent->key <= t->key);
		}
		n += 1 + reach(&t->child, t);
		if (parent == NULL)
			break;
	}
	return n;
}

static void check(void)
{
	size_t n = 0;

	for (size_t i = 0; i < TIMERS; i++)
		n += is_in[i];
	assert_int_equal(reach(&heap.root, NULL), n);
	assert_ptr_equal(wf_heap_first(&heap), model_first());
}

static void an_empty_heap_has_no_first(void **state)
{
	(void)state;
	assert_null(wf_heap_first(&heap));
	put(0, 5);
	assert_ptr_equal(wf_heap_first(&heap), &timers[0]);
	take(&timers[0]);
	assert_null(wf_heap_first(&heap));
}

static void drain(void)
{
	struct wf_timer *first;

	while ((first = wf_heap_first(&heap)) != NULL) {
		assert_ptr_equal(first, model_first());
		take(first);
	}
	assert_null(model_first());
}

/* Rising, falling, all equal, at the ends of the range. */
static void they_come_out_in_order(void **state)
{
	static const int64_t ends[] = { INT64_MAX, 1, INT64_MAX - 1, 2 };

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		for (size_t i = 0; i < TIMERS; i++) {
			int64_t n = (int64_t)i;

			put(i,
				kind == 0	    ? n + 1
					: kind == 1 ? TIMERS - n
					: kind == 2 ? 7
						    : ends[i % 4]);
		}
		check();
		drain();
	}
}

static void any_can_be_taken_out(void **state)
{
	size_t rounds = threads_rounds(20000);

	(void)state;
	for (size_t n = 0; n < rounds; n++) {
		size_t i = below(TIMERS);

		/* Few keys, so that many are equal; now and then a pop. */
		if (below(8) == 0 && wf_heap_first(&heap) != NULL)
			take(wf_heap_first(&heap));
		else if (is_in[i])
			take(&timers[i]);
		else
			put(i, 1 + below(below(2) ? 20 : 1000000));
		if (n % 64 == 0)
			check();
		else
			assert_ptr_equal(wf_heap_first(&heap), model_first());
	}
	drain();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_empty_heap_has_no_first, begin),
		cmocka_unit_test_setup(they_come_out_in_order, begin),
		cmocka_unit_test_setup(any_can_be_taken_out, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
