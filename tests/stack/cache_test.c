/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/cache_test.c - a holder of a credit finds a stack, whatever the
 * other caches hoard (P1), and no stack is handed to two.
 *
 * Every stack carries a mark at its low end and at its top: the ticket of its
 * user, or 0.  A stack that is used for the first time reads as zero too.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/random.h"
#include "base/units.h"
#include "kit.h"
#include "probe.h"
#include "support/os_faults.h"
#include "support/threads.h"

enum {
	CACHES = 5,
	CREDITS = 400,			/* out at a time, in the model */
	MODEL_PHASES = 1500,
	THREADS = 4,
	BOX = 100,			/* stacks under way to one thread */
	MAILS = 60000,
};

static struct wf_stack_pool pool;

static void open_pool(size_t depot_bytes)
{
	const struct wf_stack_config config = { .depot_bytes = depot_bytes };

	wf_stack_pool_open(&pool, &config);
}

/* Everything comes back, or the library says what does not. */
static void close_pool(void)
{
	struct wf_stack_stats stats;

	assert_true(wf_stack_pool_check(&pool));
	wf_stack_pool_stats(&pool, &stats);
	assert_int_equal(stats.promised, 0);
	assert_int_equal(stats.cold + stats.depot, stats.ready);
	wf_stack_pool_close(&pool);
	assert_true(os_faults_all_returned());
}

static int begin(void **state)
{
	(void)state;
	os_faults_clear();
	return 0;
}

/* Fewer where each take and give is told to a sanitizer. */
static size_t rounds(size_t n)
{
	return threads_rounds(probe_plain() ? n : n / 20);
}

/* ------------------------------------------------------------------------ */
/* Marks. */

static uint64_t *low_mark(struct wf_stack *s)
{
	return (uint64_t *)wf_stack_low(s);
}

static uint64_t *top_mark(struct wf_stack *s)
{
	return (uint64_t *)wf_stack_top(s) - 1;
}

/* Put ticket where old must be; false if something else is. */
static bool mark(struct wf_stack *s, uint64_t old, uint64_t ticket)
{
	bool ok = *low_mark(s) == old && *top_mark(s) == old;

	*low_mark(s) = ticket;
	*top_mark(s) = ticket;
	return ok;
}

/* ------------------------------------------------------------------------ */
/* Magazines. */

/*
 * Someone who takes and gives around a boundary stays in the cache.  The depot
 * keeps nothing here, so whatever leaves the cache gives its memory back.
 */
static void a_boundary_is_not_crossed_each_time(void **state)
{
	struct wf_stack *s[64];
	struct wf_stack_cache c;
	uint32_t batch;

	(void)state;
	open_pool(1);
	assert_int_equal(wf_stack_cache_open(&c, &pool), 0);
	batch = pool.store[0].shape.batch;
	assert_int_equal(batch, 32);
	kit_take_all(&c, 0, s, 2 * batch);
	kit_give_all(&c, s, 2 * batch);
	os_faults_plan(0, 0, 0);
	for (size_t n = 0; n < 2 * batch; n++) {
		size_t cold = pool.store[0].arenas->cold;

		/* n taken, then back and forth by one. */
		kit_take_all(&c, 0, s, n);
		for (int i = 0; i < 10; i++)
			kit_give(&c, kit_take(&c, 0));
		kit_give_all(&c, s, n);
		assert_int_equal(pool.store[0].arenas->cold, cold);
	}
	assert_int_equal(os_faults_calls(OS_FAULTS_ALL), 0);
	wf_stack_cache_close(&c);
	close_pool();
}

static void a_cache_keeps_two_batches_and_no_more(void **state)
{
	static struct wf_stack *s[500];
	struct wf_stack_cache c;
	struct wf_stack_stats stats;

	(void)state;
	open_pool(0);
	assert_int_equal(wf_stack_cache_open(&c, &pool), 0);
	for (unsigned cls = 0; cls < 8; cls++) {
		uint32_t batch = pool.store[cls].shape.batch;
		size_t before = pool.store[cls].promised;

		kit_take_all(&c, cls, s, 10 * batch);
		for (size_t i = 0; i < 10 * batch; i++) {
			kit_give(&c, s[i]);
			assert_true(c.shelf[cls].now.count <= batch);
			assert_true(c.shelf[cls].other.count <= batch);
			assert_true(c.shelf[cls].credits <= 2 * batch);
		}
		assert_true(pool.store[cls].promised - before <= 2 * batch);
		assert_true(wf_stack_pool_check(&pool));
	}
	wf_stack_cache_flush(&c);
	wf_stack_pool_stats(&pool, &stats);
	assert_int_equal(stats.promised, 0);
	assert_int_equal(stats.cold + stats.depot, stats.ready);
	wf_stack_cache_close(&c);
	close_pool();
}

/* Processors that take get whole magazines from processors that give. */
static void whole_magazines_go_from_givers_to_takers(void **state)
{
	struct wf_stack_cache taker, giver;
	size_t carved;

	(void)state;
	open_pool(0);
	assert_int_equal(wf_stack_cache_open(&taker, &pool), 0);
	assert_int_equal(wf_stack_cache_open(&giver, &pool), 0);
	for (size_t i = 0; i < 200; i++)
		kit_give(&giver, kit_take(&taker, 0));
	carved = pool.store[0].ready;
	for (size_t i = 0; i < rounds(20000); i++)
		kit_give(&giver, kit_take(&taker, 0));
	/* Neither more stacks nor more credits than there were. */
	assert_int_equal(pool.store[0].ready, carved);
	assert_true(pool.store[0].promised <= 4 * pool.store[0].shape.batch);
	wf_stack_cache_close(&taker);
	wf_stack_cache_close(&giver);
	close_pool();
}

/* ------------------------------------------------------------------------ */
/* (P1), exactly: each arena holds one stack, so none is there by chance. */

struct exact {
	struct wf_stack_cache caches[3];
	struct wf_stack *s[4];
	unsigned cls;
	unsigned trims;			/* discards seen */
};

static void take_exact(struct exact *x, unsigned cache)
{
	for (uint64_t i = 0; i < 4; i++) {
		x->s[i] = wf_stack_take(&x->caches[cache], x->cls);
		assert_true(mark(x->s[i], 0, i + 1));
	}
}

static void give_exact(struct exact *x, unsigned a, unsigned b)
{
	for (uint64_t i = 0; i < 4; i++) {
		assert_true(mark(x->s[i], i + 1, 0));
		wf_stack_give(&x->caches[i < 2 ? a : b], x->s[i]);
	}
}

/* A trimmer has a magazine in its hands: take all there is a credit for. */
static void take_while_trimming(void *arg, unsigned kind)
{
	struct exact *x = arg;

	if (kind == OS_FAULTS_DISCARD && x->trims++ == 0)
		take_exact(x, 0);
}

static void hoarders_and_trimmers_leave_enough(void **state)
{
	static struct exact x;
	size_t size = wf_on_valgrind() ? 64 * WF_MIB : WF_GIB;

	(void)state;
	x = (struct exact){ .cls = 0 };
	open_pool(64 * WF_GIB);
	x.cls = (unsigned)wf_stack_pool_class(&pool, size);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wf_stack_cache_open(&x.caches[i], &pool), 0);
	assert_int_equal(wf_stack_pool_promise(&pool, x.cls, 4), 0);
	/* Two batches in each of the others, where we cannot reach them. */
	take_exact(&x, 0);
	give_exact(&x, 1, 2);
	take_exact(&x, 0);
	give_exact(&x, 0, 0);
	wf_stack_cache_flush(&x.caches[0]);
	os_faults_spy(take_while_trimming, &x);
	wf_stack_pool_trim(&pool);
	os_faults_spy(NULL, NULL);
	assert_true(x.trims > 0);
	give_exact(&x, 0, 1);
	wf_stack_pool_release(&pool, x.cls, 4);
	for (int i = 0; i < 3; i++)
		wf_stack_cache_close(&x.caches[i]);
	close_pool();
}

/* ------------------------------------------------------------------------ */
/* (P1), by chance: credits, takes and gives on any cache of several. */

struct model {
	struct wf_stack_cache caches[CACHES];
	bool open[CACHES];
	struct wf_random r;
	unsigned cls;
	size_t credits;			/* of ours; a stack each */
	struct wf_stack *taken[CREDITS];
	uint64_t ticket[CREDITS];
	size_t n;			/* taken; <= credits */
	uint64_t tickets;
};

static unsigned any_cache(struct model *m)
{
	unsigned i = wf_random_below(&m->r, CACHES);

	while (!m->open[i])
		i = (i + 1) % CACHES;
	return i;
}

static void model_take(struct model *m, unsigned cache)
{
	struct wf_stack *s = wf_stack_take(&m->caches[cache], m->cls);

	assert_non_null(s);
	assert_true(mark(s, 0, ++m->tickets));
	m->taken[m->n] = s;
	m->ticket[m->n++] = m->tickets;
}

static void model_give(struct model *m, unsigned cache)
{
	size_t i = wf_random_below(&m->r, (uint32_t)m->n);

	assert_true(mark(m->taken[i], m->ticket[i], 0));
	wf_stack_give(&m->caches[cache], m->taken[i]);
	m->taken[i] = m->taken[--m->n];
	m->ticket[i] = m->ticket[m->n];
}

/* Take, on one cache, all there is a credit for. */
static void model_take_all(struct model *m)
{
	unsigned cache = any_cache(m);

	while (m->n < m->credits)
		model_take(m, cache);
}

/* Give all on one cache, or spread over all of them. */
static void model_give_all(struct model *m)
{
	bool hoard = wf_random_below(&m->r, 2);
	unsigned cache = any_cache(m);

	while (m->n > 0)
		model_give(m, hoard ? cache : any_cache(m));
}

/* Some of everything, leaning to one side. */
static void model_mix(struct model *m)
{
	uint32_t lean = 1 + wf_random_below(&m->r, 9);

	for (int i = 0; i < 100; i++) {
		uint32_t dice = wf_random_below(&m->r, 20);

		if (dice < lean && m->n < m->credits)
			model_take(m, any_cache(m));
		else if (dice < 10 && m->n > 0)
			model_give(m, any_cache(m));
		else if (dice < 10 + lean && m->credits < CREDITS)
			m->credits += wf_stack_credit(
				&m->caches[any_cache(m)], m->cls) == 0;
		else if (m->n < m->credits) {
			wf_stack_credit_back(&m->caches[any_cache(m)], m->cls);
			m->credits--;
		}
	}
}

/* A cache is opened, closed or flushed; one stays open. */
static void model_cache(struct model *m)
{
	unsigned i = wf_random_below(&m->r, CACHES);

	if (!m->open[i]) {
		assert_int_equal(wf_stack_cache_open(&m->caches[i], &pool), 0);
		m->open[i] = true;
	} else if (wf_random_below(&m->r, 2)) {
		wf_stack_cache_flush(&m->caches[i]);
	} else if (pool.caches > 1) {
		wf_stack_cache_close(&m->caches[i]);
		m->open[i] = false;
	}
}

static void model_check(struct model *m)
{
	struct wf_stack_store *st = &pool.store[m->cls];

	assert_true(wf_stack_pool_check(&pool));
	assert_true(st->promised >= m->credits);
	assert_true(st->promised == 0 ||
		st->ready >= st->promised +
				(2 * pool.caches + 1) * st->shape.batch);
}

static void model_phase(struct model *m)
{
	switch (wf_random_below(&m->r, 8)) {
	case 0:
	case 1:
		model_take_all(m);
		break;
	case 2:
	case 3:
		model_give_all(m);
		break;
	case 4:
		model_cache(m);
		break;
	case 5:
		wf_stack_pool_trim(&pool);
		break;
	default:
		model_mix(m);
		break;
	}
	model_check(m);
}

static void check_model(size_t bytes, size_t depot_bytes)
{
	static struct model m;
	unsigned cache;

	m = (struct model){ .open = { true } };
	wf_random_seed(&m.r, threads_seed());
	open_pool(depot_bytes);
	m.cls = (unsigned)wf_stack_pool_class(&pool, bytes);
	assert_int_equal(wf_stack_cache_open(&m.caches[0], &pool), 0);
	for (size_t i = 0; i < rounds(MODEL_PHASES); i++)
		model_phase(&m);
	model_take_all(&m);
	model_check(&m);
	model_give_all(&m);
	cache = any_cache(&m);
	for (; m.credits > 0; m.credits--)
		wf_stack_credit_back(&m.caches[cache], m.cls);
	for (unsigned i = 0; i < CACHES; i++)
		if (m.open[i])
			wf_stack_cache_close(&m.caches[i]);
	close_pool();
}

static void a_credit_is_always_good_for_a_stack(void **state)
{
	(void)state;
	check_model(1, 0);
	check_model(1, 4 * WF_MIB);
	check_model(64 * WF_KIB, 3 * WF_MIB);
	check_model(WF_MIB, 0);
	check_model(WF_MIB, 16 * WF_MIB);
}

/* ------------------------------------------------------------------------ */
/* Threads, each with a cache, that give what others took. */

struct mail {
	struct wf_stack *s;
	uint64_t ticket;
};

struct box {
	pthread_mutex_t lock;
	size_t n;
	struct mail mail[BOX];
};

struct office {
	struct box boxes[THREADS];
	struct threads_goal goal;
	unsigned classes[2];
	size_t wrong[THREADS];		/* marks that were not ours */
	size_t refused[THREADS];	/* credits */
};

static bool post(struct box *b, struct mail m)
{
	bool room;

	pthread_mutex_lock(&b->lock);
	room = b->n < BOX;
	if (room)
		b->mail[b->n++] = m;
	pthread_mutex_unlock(&b->lock);
	return room;
}

static bool collect(struct box *b, struct mail *m)
{
	bool some;

	pthread_mutex_lock(&b->lock);
	some = b->n > 0;
	if (some)
		*m = b->mail[--b->n];
	pthread_mutex_unlock(&b->lock);
	return some;
}

/* The stack ends here, and the credit that came with it. */
static void finish(struct office *o, struct wf_stack_cache *c, unsigned self,
	struct mail m)
{
	o->wrong[self] += !mark(m.s, m.ticket, 0);
	kit_give(c, m.s);
	threads_goal_add(&o->goal, 1);
}

static void begin_mail(struct office *o, struct wf_stack_cache *c,
	unsigned self, struct wf_random *r, uint64_t ticket)
{
	unsigned cls = o->classes[wf_random_below(r, 2)];
	struct mail m = { .ticket = ticket };

	if (wf_stack_credit(c, cls) != 0) {
		o->refused[self]++;
		return;
	}
	m.s = wf_stack_take(c, cls);
	o->wrong[self] += !mark(m.s, 0, ticket);
	/* Half the time to thread 0, which gives more than it takes. */
	if (!post(&o->boxes[wf_random_below(r, 2) ? 0 : self ^ 1], m))
		finish(o, c, self, m);
}

static void clerk(void *arg, unsigned self)
{
	static struct wf_stack_cache caches[THREADS];
	struct wf_stack_cache *c = &caches[self];
	struct office *o = arg;
	struct wf_random r;
	struct mail m;
	uint64_t n = 0;

	wf_random_seed(&r, threads_seed() + self);
	if (wf_stack_cache_open(c, &pool) != 0) {
		o->refused[self]++;
		return;
	}
	while (!threads_goal_over(&o->goal)) {
		uint32_t dice = wf_random_below(&r, 1000);

		if (dice == 0)
			wf_stack_pool_trim(&pool);
		else if (dice < 5)
			wf_stack_cache_flush(c);
		else if (dice < 500)
			begin_mail(o, c, self, &r, ++n * THREADS + self);
		else if (collect(&o->boxes[self], &m))
			finish(o, c, self, m);
	}
	while (collect(&o->boxes[self], &m))
		finish(o, c, self, m);
	wf_stack_cache_close(c);
}

static void no_stack_is_handed_to_two(void **state)
{
	static struct office o;
	struct wf_stack_cache rest;
	struct mail m;

	(void)state;
	o = (struct office){ .goal = { .wanted = rounds(MAILS) } };
	open_pool(8 * WF_MIB);
	o.classes[0] = (unsigned)wf_stack_pool_class(&pool, 1);
	o.classes[1] = (unsigned)wf_stack_pool_class(&pool, WF_MIB);
	for (int i = 0; i < THREADS; i++)
		pthread_mutex_init(&o.boxes[i].lock, NULL);
	threads_run(THREADS, clerk, &o);
	assert_false(wf_load_rlx(&o.goal.stuck));
	/* Mail that came after its reader had gone. */
	assert_int_equal(wf_stack_cache_open(&rest, &pool), 0);
	for (int i = 0; i < THREADS; i++) {
		while (collect(&o.boxes[i], &m))
			finish(&o, &rest, 0, m);
		pthread_mutex_destroy(&o.boxes[i].lock);
	}
	wf_stack_cache_close(&rest);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(o.wrong[i], 0);
		assert_int_equal(o.refused[i], 0);
	}
	close_pool();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_boundary_is_not_crossed_each_time),
		TEST(a_cache_keeps_two_batches_and_no_more),
		TEST(whole_magazines_go_from_givers_to_takers),
		TEST(hoarders_and_trimmers_leave_enough),
		TEST(a_credit_is_always_good_for_a_stack),
		TEST(no_stack_is_handed_to_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
