/* SPDX-License-Identifier: MIT */
/*
 * tests/fiber/slab_test.c - every descriptor belongs to one fiber at a time,
 * knows its runtime and carries its stack credit, in whichever cache it is.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "fiber/slab.h"
#include "os/os.h"
#include "support/os_faults.h"
#include "support/skip.h"
#include "support/threads.h"

enum { CACHES = 2, HELD_MAX = 1000, STEPS = 20000 };

static struct wf_stack_pool stacks;
static struct wf_fiber_pool pool;
static struct wf_fiber_cache cache[CACHES];
static int rt; /* any address will do */

static int begin(void **state)
{
	const struct wf_stack_config none = { 0 };

	(void)state;
	os_faults_clear();
	memset(cache, 0, sizeof(cache));
	wf_stack_pool_open(&stacks, &none);
	wf_fiber_pool_open(&pool, &rt, &stacks, 0);
	return 0;
}

static size_t promised(void)
{
	struct wf_stack_stats stats;

	wf_stack_pool_stats(&stacks, &stats);
	return stats.promised;
}

/* Everything was given back: so are all credits and all memory. */
static int end(void **state)
{
	size_t left;

	(void)state;
	for (unsigned i = 0; i < CACHES; i++)
		wf_fiber_cache_close(&cache[i], &pool);
	left = promised();
	wf_fiber_pool_close(&pool);
	wf_stack_pool_close(&stacks);
	return left == 0 && os_faults_all_returned() ? 0 : -1;
}

static size_t cached(const struct wf_fiber_cache *c)
{
	return c->now.count + c->other.count;
}

/* A free descriptor: its function is NULL while no test has it. */
static weft_fiber *take(struct wf_fiber_cache *c)
{
	weft_fiber *f = wf_fiber_take(c, &pool);

	assert_non_null(f);
	assert_null(wf_load_rlx(&f->start.fn));
	wf_store_rlx(&f->start.fn, (void *)f);
	return f;
}

static void give(struct wf_fiber_cache *c, weft_fiber *f)
{
	assert_ptr_equal(wf_load_rlx(&f->start.fn), f);
	wf_store_rlx(&f->start.fn, NULL);
	wf_fiber_give(c, &pool, f);
}

/* Descriptors ever carved, of all slabs. */
static size_t carved(void)
{
	size_t n = 0;

	for (struct wf_slab *s = wf_load_rlx(&pool.slabs); s; s = s->next)
		n += wf_load_rlx(&s->used);
	return n;
}

/* ------------------------------------------------------------------------ */
/* Descriptors. */

static void count_one(weft_fiber *f, void *arg)
{
	size_t *seen = arg;

	(*seen)++;
	f->ready_us++;
}

/* More than one slab has; the walk comes to each once, free ones too. */
static void descriptors_are_whole_and_all_are_walked(void **state)
{
	enum { MANY = WF_SLAB_FIBERS + 10 };
	static weft_fiber *f[MANY];
	size_t seen = 0;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		f[i] = take(&cache[0]);
		assert_int_equal((uintptr_t)f[i] % WF_CACHE_LINE, 0);
		assert_ptr_equal(wf_fiber_rt(f[i]), &rt);
		assert_true(wf_task_is_fiber(&f[i]->task));
		assert_int_equal(wf_load_rlx(&f[i]->state), 0);
		assert_int_equal(wf_load_rlx(&f[i]->wait), 0);
	}
	wf_fiber_pool_walk(&pool, count_one, &seen);
	assert_int_equal(seen, carved());
	assert_int_equal(seen, MANY + cached(&cache[0]));
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(f[i]->ready_us, 1);
		give(&cache[0], f[i]);
	}
	seen = 0;
	wf_fiber_pool_walk(&pool, count_one, &seen);
	assert_int_equal(seen, carved());
}

/* A descriptor given to one cache reaches the other: none is carved anew. */
static void taking_from_one_cache_and_giving_to_another_leaks_none(void **state)
{
	weft_fiber *f[5 * WF_FIBER_BATCH];

	(void)state;
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < 5 * WF_FIBER_BATCH; i++)
			f[i] = take(&cache[0]);
		for (size_t i = 0; i < 5 * WF_FIBER_BATCH; i++)
			give(&cache[1], f[i]);
		assert_true(cached(&cache[1]) <= 2 * WF_FIBER_BATCH);
	}
	assert_true(carved() <= (5 + 2 * CACHES) * WF_FIBER_BATCH);
}

/* At any level, taking two and giving two stays within the cache. */
static void a_cache_at_its_limit_does_not_trade_each_time(void **state)
{
	weft_fiber *f[3 * WF_FIBER_BATCH];

	(void)state;
	for (size_t i = 0; i < 3 * WF_FIBER_BATCH; i++)
		f[i] = take(&cache[0]);
	for (size_t i = 0; i < 3 * WF_FIBER_BATCH; i++) {
		size_t before = 0;

		give(&cache[0], f[i]);
		for (int k = 0; k < 5; k++) {
			weft_fiber *a = take(&cache[0]), *b = take(&cache[0]);

			/* The first time it may have to trade. */
			assert_true(k == 0 || promised() == before);
			give(&cache[0], a);
			give(&cache[0], b);
			assert_true(k == 0 || promised() == before);
			before = promised();
		}
	}
}

/* ------------------------------------------------------------------------ */
/* Credits: one for each descriptor that is out or in a cache. */

static void any_sequence_keeps_a_credit_for_each(void **state)
{
	size_t held = 0, steps = threads_rounds(STEPS);
	weft_fiber *f[HELD_MAX];
	struct wf_random random;

	(void)state;
	wf_random_seed(&random, threads_seed());
	for (size_t i = 0; i < steps; i++) {
		size_t n = wf_random_below(&random, 150);
		struct wf_fiber_cache *c =
			&cache[wf_random_below(&random, CACHES)];

		if (wf_random_below(&random, 2)) {
			while (n-- > 0 && held < HELD_MAX)
				f[held++] = take(c);
		} else {
			while (n-- > 0 && held > 0)
				give(c, f[--held]);
		}
		assert_int_equal(promised(),
			held + cached(&cache[0]) + cached(&cache[1]));
		assert_true(carved() <=
			HELD_MAX + (2 * CACHES + 1) * WF_FIBER_BATCH);
	}
	while (held > 0)
		give(&cache[0], f[--held]);
}

/* ------------------------------------------------------------------------ */
/* No memory: from the nth mapping on, then it is there again. */

static size_t take_until_refused(weft_fiber **f, size_t most)
{
	size_t n = 0;

	while (n < most && (f[n] = wf_fiber_take(&cache[0], &pool)) != NULL)
		n++;
	return n;
}

static void no_memory_is_null_and_no_loss(void **state)
{
	weft_fiber *f[3 * WF_FIBER_BATCH];
	size_t got = 0, nth, before;

	(void)state;
	for (nth = 1; got < 3 * WF_FIBER_BATCH; nth++) {
		assert_true(nth < 100);
		os_faults_plan(OS_FAULTS_MAP | OS_FAULTS_ALLOC, nth,
			OS_FAULTS_FOREVER);
		got = take_until_refused(f, 3 * WF_FIBER_BATCH);
		assert_int_equal(promised(), got + cached(&cache[0]));
		if (got < 3 * WF_FIBER_BATCH) {
			before = promised();
			assert_true(os_faults_injected() > 0);
			assert_int_equal(
				wf_fiber_cache_fill(&cache[0], &pool), -ENOMEM);
			assert_int_equal(promised(), before);
			assert_int_equal(cached(&cache[0]), 0);
		}
		/* Repaired: the refused ones come, and none is carved twice. */
		os_faults_repair();
		got += take_until_refused(f + got, 3 * WF_FIBER_BATCH - got);
		assert_int_equal(got, 3 * WF_FIBER_BATCH);
		assert_int_equal(carved(), 3 * WF_FIBER_BATCH);
		got = os_faults_injected() > 0 ? 0 : got;
		for (size_t i = 0; i < 3 * WF_FIBER_BATCH; i++)
			wf_fiber_give(&cache[0], &pool, f[i]);
		(void)end(NULL);
		wf_stack_pool_open(&stacks, &(struct wf_stack_config){ 0 });
		wf_fiber_pool_open(&pool, &rt, &stacks, 0);
	}
	assert_true(nth > 3);
}

/* ------------------------------------------------------------------------ */
/* Threads with a cache each, one pool, and one who walks. */

struct crowd {
	struct wf_fiber_cache cache[3];
	size_t rounds;
	_Atomic(size_t) wrong;
	_Atomic(uint32_t) at_work;
};

static void look(weft_fiber *f, void *arg)
{
	struct crowd *c = arg;

	if (wf_fiber_rt(f) != &rt || wf_load_rlx(&f->state) > WF_FIBER_LIVE)
		wf_add_rlx(&c->wrong, 1);
}

static void crowd_take(struct crowd *c, unsigned i, weft_fiber **f)
{
	*f = wf_fiber_take(&c->cache[i], &pool);
	if (*f == NULL || wf_xchg_rlx(&(*f)->state, WF_FIBER_LIVE) != 0)
		wf_add_rlx(&c->wrong, 1);
}

static void crowd_give(struct crowd *c, unsigned i, weft_fiber *f)
{
	if (wf_xchg_rlx(&f->state, 0) != WF_FIBER_LIVE)
		wf_add_rlx(&c->wrong, 1);
	wf_fiber_give(&c->cache[i], &pool, f);
}

static void crowd_run(void *arg, unsigned i)
{
	struct crowd *c = arg;
	weft_fiber *f[200];
	struct wf_random random;

	if (i == 3) {
		do
			wf_fiber_pool_walk(&pool, look, c);
		while (wf_load_rlx(&c->at_work) > 0);
		return;
	}
	wf_random_seed(&random, threads_seed() + i);
	for (size_t n = 0; n < c->rounds; n++) {
		uint32_t some = wf_random_below(&random, 200);

		for (uint32_t k = 0; k < some; k++)
			crowd_take(c, i, &f[k]);
		for (uint32_t k = 0; k < some; k++)
			crowd_give(c, i, f[k]);
	}
	wf_sub_rlx(&c->at_work, 1);
}

static void many_threads_never_share_a_descriptor(void **state)
{
	static struct crowd c;

	(void)state;
	c = (struct crowd){ .rounds = threads_rounds(1000), .at_work = 3 };
	(void)threads_seed();
	threads_run(4, crowd_run, &c);
	assert_int_equal(wf_load_rlx(&c.wrong), 0);
	assert_int_equal(promised(),
		cached(&c.cache[0]) + cached(&c.cache[1]) +
			cached(&c.cache[2]));
	for (unsigned i = 0; i < 3; i++)
		wf_fiber_cache_close(&c.cache[i], &pool);
}

/* ------------------------------------------------------------------------ */
/* Memory that is given back. */

enum { BURST = 8 * WF_SLAB_FIBERS };

static weft_fiber *burst[BURST];

static void take_burst(void)
{
	for (size_t i = 0; i < BURST; i++)
		burst[i] = take(&cache[0]);
}

/* In any order, so that each magazine has descriptors of all slabs. */
static void give_burst(void)
{
	struct wf_random random;

	wf_random_seed(&random, threads_seed());
	for (size_t i = BURST; i > 0; i--) {
		size_t at = wf_random_below(&random, (uint32_t)i);
		weft_fiber *f = burst[at];

		burst[at] = burst[i - 1];
		give(&cache[i % CACHES], f);
	}
}

/* All trims that are due after so much time. */
static void trim_after(int64_t ns)
{
	int64_t now_ns = wf_os_now_ns() + ns;

	while (wf_fiber_pool_trim(&pool, now_ns) <= now_ns)
		continue;
}

static bool is_apart(void)
{
	return WF_UNIT_BYTES % wf_os_page_bytes() == 0 &&
		WF_UNIT_BYTES % sizeof(weft_fiber) == 0;
}

/*
 * Few units stay: the spare ones, those of which a cache has some, and the
 * first and the last of each slab.
 */
static void expect_given_back(void)
{
	size_t most = CACHES * 2 * WF_FIBER_BATCH + WF_UNITS_SPARE + 2 * 9;

	assert_true(pool.idle.count <= WF_UNITS_SPARE);
	assert_true(pool.bare.count + most >=
		BURST * sizeof(weft_fiber) / WF_UNIT_BYTES);
	for (struct wf_unit *u = pool.bare.first; u; u = u->next)
		assert_null(u->list);
}

static void units_free_for_long_are_given_back(void **state)
{
	size_t before;

	(void)state;
	if (!is_apart())
		skip_because("no unit can be bare here");
	for (int round = 0; round < 3; round++) {
		take_burst();
		assert_int_equal(pool.bare.count, 0);
		before = carved();
		give_burst();
		trim_after(0);
		assert_int_equal(pool.bare.count, 0);
		/* They came while the first time went by. */
		trim_after(2 * WF_TRIM_NS);
		trim_after(4 * WF_TRIM_NS);
		expect_given_back();
		/* Nothing is left to do. */
		assert_true(wf_fiber_pool_next_trim(&pool) == INT64_MAX);
		/* The next descriptors are like new, and there are not more. */
		take_burst();
		assert_true(carved() <= before + 4 * WF_FIBER_BATCH);
		for (size_t i = 0; i < BURST; i++)
			assert_true(wf_task_is_fiber(&burst[i]->task));
		give_burst();
	}
}

/* Used again within the time, all of it: then it stays. */
static void units_used_again_stay(void **state)
{
	(void)state;
	if (!is_apart())
		skip_because("no unit can be bare here");
	take_burst();
	give_burst();
	take_burst();
	give_burst();
	trim_after(3 * WF_TRIM_NS / 2);
	/* In the time that began with the first one, all were in use. */
	assert_int_equal(pool.bare.count, 0);
	trim_after(4 * WF_TRIM_NS);
	expect_given_back();
}

static void fire(weft_fiber *f, void *arg)
{
	size_t *timed = arg;

	*timed += wf_load_rlx(&f->timer.in) != NULL;
	wf_store_rlx(&f->timer.in, NULL);
}

/* A late waker's word never comes again; nor does a timer lose its memory. */
static void lives_go_on_where_they_were(void **state)
{
	struct wf_wheel *some = (struct wf_wheel *)&rt;
	size_t timed = 0, waited = 0;

	(void)state;
	if (!is_apart())
		skip_because("no unit can be bare here");
	take_burst();
	for (size_t i = 0; i < BURST; i++) {
		wf_store_rlx(&burst[i]->wait, 9 * WF_WAIT_EPOCH);
		wf_store_rlx(&burst[i]->timer.in, some);
	}
	give_burst();
	trim_after(2 * WF_TRIM_NS);
	trim_after(4 * WF_TRIM_NS);
	assert_int_equal(pool.bare.count, 0);
	assert_true(pool.idle.count > WF_UNITS_SPARE);
	/* In vain: the next one comes later. */
	assert_true(pool.pause_ns >= 2 * WF_TRIM_NS);
	wf_fiber_pool_walk(&pool, fire, &timed);
	assert_int_equal(timed, BURST);
	trim_after(300 * WF_TRIM_NS);
	trim_after(600 * WF_TRIM_NS);
	expect_given_back();
	take_burst();
	for (size_t i = 0; i < BURST; i++)
		waited += wf_load_rlx(&burst[i]->wait) == 9 * WF_WAIT_EPOCH;
	give_burst();
	/* Some are new: others are in the caches. */
	assert_true(waited >= BURST - 4 * WF_FIBER_BATCH);
}

/* The system may refuse to take it: nothing is lost. */
static void memory_that_is_not_taken_is_no_loss(void **state)
{
	(void)state;
	if (!is_apart())
		skip_because("no unit can be bare here");
	take_burst();
	give_burst();
	os_faults_plan(OS_FAULTS_DISCARD, 1, OS_FAULTS_FOREVER);
	trim_after(2 * WF_TRIM_NS);
	trim_after(4 * WF_TRIM_NS);
	assert_true(os_faults_injected() > 0);
	os_faults_repair();
	take_burst();
	give_burst();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(descriptors_are_whole_and_all_are_walked),
		TEST(taking_from_one_cache_and_giving_to_another_leaks_none),
		TEST(a_cache_at_its_limit_does_not_trade_each_time),
		TEST(any_sequence_keeps_a_credit_for_each),
		TEST(no_memory_is_null_and_no_loss),
		TEST(many_threads_never_share_a_descriptor),
		TEST(units_free_for_long_are_given_back),
		TEST(units_used_again_stay),
		TEST(lives_go_on_where_they_were),
		TEST(memory_that_is_not_taken_is_no_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
