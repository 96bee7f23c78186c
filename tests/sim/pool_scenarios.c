/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/pool_scenarios.c - where descriptors and stacks come from, with two
 * threads as the processors: one takes what the other gives, nothing is handed
 * out twice, lost, or forgotten when there is no memory.
 *
 * The owner of a descriptor or a stack writes into it plainly, so two owners
 * are a race.
 */
#include "sim/fiber_kit.h"

#include <errno.h>

#include "fiber/slab.h"
#include "os/os.h"
#include "stack/cache.h"
#include "timer/wheel.h"

enum { THREADS = 2, HELD = 2 * WF_FIBER_BATCH + 1 };

static struct {
	struct wf_stack_pool stacks;
	struct wf_stack_pool credits; /* of descriptors: as many as one likes */
	struct wf_fiber_pool fibers;
	struct wf_fiber_cache fiber_cache[THREADS];
	struct wf_stack_cache stack_cache[THREADS];
	weft_fiber *held[THREADS][HELD];
	unsigned cls;
	unsigned rounds;
	bool faults;
	int rt; /* any address will do */
} *s;

/* Magazines of one stack, and a depot that keeps one of them. */
static void open_stacks(size_t bytes)
{
	const struct wf_stack_config none = { 0 };
	struct wf_stack_store *st;

	wf_stack_pool_open(&s->stacks, &none);
	s->cls = (unsigned)wf_stack_pool_class(&s->stacks, bytes);
	st = &s->stacks.store[s->cls];
	st->shape.batch = 1;
	st->depot_max = 1;
	s->stacks.caches = THREADS;
	for (unsigned i = 0; i < THREADS; i++) {
		s->stack_cache[i].pool = &s->stacks;
		s->stack_cache[i].shelf[s->cls].full = 1;
		s->stack_cache[i].shelf[s->cls].credits_max = 2;
	}
}

static void close_stacks(void)
{
	struct wf_stack_store *st = &s->stacks.store[s->cls];
	struct wf_stack_stats stats;
	bool whole = wf_stack_pool_check(&s->stacks);

	weft_sim_assert(whole, "the pool of stacks is broken");
	weft_sim_assert(st->depot_count <= st->depot_max,
		"the depot keeps %zu magazines", st->depot_count);
	for (unsigned i = 0; i < THREADS; i++)
		wf_stack_cache_close(&s->stack_cache[i]);
	wf_stack_pool_stats(&s->stacks, &stats);
	weft_sim_assert(
		stats.promised == 0, "%zu credits are lost", stats.promised);
	weft_sim_assert(stats.cold + stats.depot == stats.ready,
		"of %zu stacks %zu are cold and %zu in the depot", stats.ready,
		stats.cold, stats.depot);
	whole = wf_stack_pool_check(&s->stacks);
	weft_sim_assert(whole, "the pool of stacks is broken at the end");
	wf_stack_pool_close(&s->stacks);
}

static void open_fibers(void)
{
	s->credits.store[s->cls].ready = SIZE_MAX / 4;
	s->credits.store[s->cls].shape.stride = 1;
	wf_fiber_pool_open(&s->fibers, &s->rt, &s->credits, s->cls);
}

static void close_fibers(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		wf_fiber_cache_close(&s->fiber_cache[i], &s->fibers);
	weft_sim_assert(s->credits.store[s->cls].promised == 0,
		"%zu credits are lost", s->credits.store[s->cls].promised);
	wf_fiber_pool_close(&s->fibers);
}

static void both(void (*fn)(void *))
{
	int id[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		id[i] = duo_thread(fn, &s->held[i], i ? "second" : "first");
	for (unsigned i = 0; i < THREADS; i++)
		(void)weft_sim_join(id[i]);
}

static unsigned which(void *arg)
{
	return arg == &s->held[0] ? 0 : 1;
}

/* ------------------------------------------------------------------------ */
/* Descriptors. */

static void take_and_give(void *arg)
{
	unsigned i = which(arg);
	struct wf_fiber_cache *c = &s->fiber_cache[i];

	for (unsigned n = 0; n < HELD; n++) {
		weft_fiber *f = wf_fiber_take(c, &s->fibers);

		weft_sim_assert(f != NULL && f->stack == NULL &&
				wf_fiber_rt(f) == &s->rt,
			"descriptor %u has an owner", n);
		f->stack = (struct wf_stack *)f;
		s->held[i][n] = f;
	}
	for (unsigned n = 0; n < HELD; n++) {
		s->held[i][n]->stack = NULL;
		wf_fiber_give(c, &s->fibers, s->held[i][n]);
	}
}

static void twice(void *arg)
{
	take_and_give(arg);
	take_and_give(arg);
}

/* Three magazines each, so that some go through the depot. */
void pool_fibers(void *arg)
{
	(void)arg;
	s = duo_alloc(sizeof(*s));
	open_fibers();
	both(twice);
	close_fibers();
	wf_os_free(s);
}

static void take_one(void *arg)
{
	unsigned i = which(arg);
	struct wf_fiber_cache *c = &s->fiber_cache[i];
	weft_fiber *f = wf_fiber_take(c, &s->fibers);

	weft_sim_assert(f != NULL, "no descriptor");
	wf_fiber_give(c, &s->fibers, f);
}

static void look_at(weft_fiber *f, void *arg)
{
	unsigned *seen = arg;

	weft_sim_assert(wf_load_rlx(&f->state) == 0 && wf_fiber_rt(f) == &s->rt,
		"descriptor %u is not as it was made", *seen);
	(*seen)++;
}

static void walk(void *arg)
{
	unsigned seen = 0;

	(void)arg;
	wf_fiber_pool_walk(&s->fibers, look_at, &seen);
	weft_sim_assert(seen % WF_FIBER_BATCH == 0, "%u were seen", seen);
}

/* Both map the first slab, one of them in vain, and a third thread walks it. */
void pool_walk(void *arg)
{
	int walker;

	(void)arg;
	s = duo_alloc(sizeof(*s));
	open_fibers();
	walker = duo_thread(walk, NULL, "walker");
	both(take_one);
	(void)weft_sim_join(walker);
	close_fibers();
	wf_os_free(s);
}

/* Enough for a second slab, while another thread walks the first. */
static void take_many(void *arg)
{
	struct wf_fiber_cache *c = &s->fiber_cache[0];
	weft_fiber *held = NULL;

	(void)arg;
	for (unsigned n = 0; n < 3; n++) {
		weft_fiber *f = wf_fiber_take(c, &s->fibers);

		weft_sim_assert(f != NULL, "no descriptor");
		f->task.next_ = (weft_task *)held;
		held = f;
	}
	while (held != NULL) {
		weft_fiber *f = held;

		held = wf_fiber_of(f->task.next_);
		wf_fiber_give(c, &s->fibers, f);
	}
}

void pool_growth(void *arg)
{
	struct wf_slab *slab;
	int taker, walker;

	(void)arg;
	s = duo_alloc(sizeof(*s));
	open_fibers();
	take_one(&s->held[1]);
	/* As if all but one magazine of it had been handed out. */
	slab = wf_load_rlx(&s->fibers.slabs);
	wf_store_rlx(&slab->used, WF_SLAB_FIBERS - WF_FIBER_BATCH);
	walker = duo_thread(walk, NULL, "walker");
	taker = duo_thread(take_many, NULL, "taker");
	(void)weft_sim_join(walker);
	(void)weft_sim_join(taker);
	close_fibers();
	wf_os_free(s);
}

/* ------------------------------------------------------------------------ */
/* Descriptors whose memory is given back. */

enum { UNIT = WF_UNIT_BYTES / sizeof(weft_fiber), EPOCH = 7 };

/* The first descriptors of the first unit go last, and stay in the cache. */
static void give_last(weft_fiber **held)
{
	for (unsigned n = 0; n < HELD; n++)
		wf_fiber_give(&s->fiber_cache[0], &s->fibers, held[n]);
}

/* The second unit is idle; its first descriptor. */
static weft_fiber *fill_unit(void)
{
	struct wf_fiber_cache *c = &s->fiber_cache[0];
	weft_fiber *held[UNIT], *last[HELD];
	struct wf_slab *slab;

	for (unsigned n = 0; n < HELD; n++)
		last[n] = wf_fiber_take(c, &s->fibers);
	slab = wf_load_rlx(&s->fibers.slabs);
	c->now = (struct wf_magazine){ 0 };
	/* As if nearly all of the first unit had been handed out. */
	wf_store_rlx(&slab->used, WF_SLAB_FIBERS - UNIT);
	for (unsigned n = 0; n < UNIT; n++)
		held[n] = wf_fiber_take(c, &s->fibers);
	for (unsigned n = 0; n < UNIT; n++) {
		/* It has had a life, and waited. */
		wf_store_rlx(&held[n]->state, 3u << WF_FIBER_USE_SHIFT);
		wf_store_rlx(&held[n]->wait, EPOCH * WF_WAIT_EPOCH);
		wf_fiber_give(c, &s->fibers, held[n]);
	}
	give_last(last);
	weft_sim_assert(s->fibers.idle.count == 1 &&
			wf_load_rlx(&s->fibers.trim_ns) != 0,
		"the second unit is not idle");
	return (weft_fiber *)(void *)((char *)slab + WF_UNIT_BYTES);
}

static void trim_now(void *arg)
{
	(void)arg;
	(void)wf_fiber_pool_trim(&s->fibers, wf_os_now_ns() + WF_NS_PER_S);
}

/* The accesses of a stale ticket and a late waker. */
static void be_late(void *arg)
{
	weft_fiber *f = arg;
	uint64_t seen = EPOCH * WF_WAIT_EPOCH | WF_WAIT_ARMED;
	bool claimed = wf_fiber_claim(
		wf_fiber_ticket(f, 3u << WF_FIBER_USE_SHIFT));

	weft_sim_assert(!claimed, "a free descriptor is claimed");
	weft_sim_assert(wf_wait_claim(f, seen, 0) == WF_CLAIM_LOST,
		"the wait of a free descriptor is ended");
}

static bool is_in_second_unit(weft_fiber *f)
{
	return ((uintptr_t)f & (WF_SLAB_BYTES - 1)) >= WF_UNIT_BYTES;
}

/* A new life in f, which waits, in a later epoch than all before. */
static void begin_life(weft_fiber *f)
{
	uint64_t wait = wf_load_rlx(&f->wait);

	weft_sim_assert(wf_task_is_fiber(&f->task) &&
			!(wf_load_rlx(&f->state) & WF_FIBER_LIFE),
		"the descriptor is not a free one");
	weft_sim_assert(!is_in_second_unit(f) || wait >= EPOCH * WF_WAIT_EPOCH,
		"an epoch comes again");
	f->stack = NULL;
	wf_store_rlx(&f->wait, (wait + WF_WAIT_EPOCH) | WF_WAIT_ARMED);
}

static void end_life(weft_fiber *f)
{
	uint64_t wait = wf_load_rlx(&f->wait);

	weft_sim_assert((wait & WF_WAIT_PHASE) == WF_WAIT_ARMED,
		"a waker of another life has ended this wait");
	wf_store_rlx(&f->wait, wait & -WF_WAIT_EPOCH);
}

/* More than the first unit has. */
static void take_and_wait(void *arg)
{
	struct wf_fiber_cache *c = &s->fiber_cache[1];
	weft_fiber *f[HELD];

	(void)arg;
	for (unsigned n = 0; n < HELD; n++) {
		f[n] = wf_fiber_take(c, &s->fibers);
		begin_life(f[n]);
	}
	for (unsigned n = 0; n < HELD; n++) {
		end_life(f[n]);
		wf_fiber_give(c, &s->fibers, f[n]);
	}
}

static void close_trimmed(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		s->fiber_cache[i] = (struct wf_fiber_cache){ 0 };
	wf_fiber_pool_close(&s->fibers);
	wf_os_free(s);
}

/* Given back while others take descriptors, walk them, and come late. */
void pool_give_back(void *arg)
{
	weft_fiber *f;
	int id[3];

	(void)arg;
	s = duo_alloc(sizeof(*s));
	open_fibers();
	f = fill_unit();
	id[0] = duo_thread(trim_now, NULL, "trimmer");
	id[1] = duo_thread(take_and_wait, NULL, "taker");
	id[2] = duo_thread(be_late, f, "late");
	for (int i = 0; i < 3; i++)
		(void)weft_sim_join(id[i]);
	be_late(f + 1);
	close_trimmed();
}

static struct wf_wheel wheel;
static weft_fiber *timed;

static void fire(void *arg)
{
	struct wf_timer *t = wf_wheel_pop(&wheel, 1000);

	(void)arg;
	weft_sim_assert(t == &timed->timer, "another timer is due");
	wf_wheel_drop(t);
}

/* The timer of a free descriptor is still set, and fires just now. */
void pool_give_back_timer(void *arg)
{
	int id;

	(void)arg;
	s = duo_alloc(sizeof(*s));
	open_fibers();
	timed = fill_unit() + 1;
	wf_wheel_insert(&wheel, &timed->timer, 1000);
	id = duo_thread(fire, NULL, "timer");
	trim_now(NULL);
	(void)weft_sim_join(id);
	(void)wf_fiber_pool_trim(&s->fibers, wf_os_now_ns() + 9 * WF_NS_PER_S);
	weft_sim_assert(s->fibers.bare.count == 1, "nothing was given back");
	close_trimmed();
}

/* ------------------------------------------------------------------------ */

/* Memory may be refused: then nothing has happened. */
static void try_one(void *arg)
{
	unsigned i = which(arg);
	struct wf_fiber_cache *c = &s->fiber_cache[i];
	weft_fiber *f = wf_fiber_take(c, &s->fibers);

	if (f == NULL)
		weft_sim_assert(c->now.count == 0 && c->other.count == 0,
			"a cache that could not be filled is not empty");
	else
		wf_fiber_give(c, &s->fibers, f);
}

static size_t promised(void)
{
	struct wf_stack_stats stats;

	wf_stack_pool_stats(&s->stacks, &stats);
	return stats.promised;
}

/* Slabs, arenas and guards may all be refused, and be there later. */
void pool_fibers_faults(void *arg)
{
	size_t cached;

	(void)arg;
	s = duo_alloc(sizeof(*s));
	open_stacks(WF_STACK_BYTES_DEFAULT);
	wf_fiber_pool_open(&s->fibers, &s->rt, &s->stacks, s->cls);
	weft_sim_os_faults(4);
	both(try_one);
	cached = s->fiber_cache[0].now.count + s->fiber_cache[1].now.count;
	weft_sim_assert(promised() == cached, "%zu credits for %zu descriptors",
		promised(), cached);
	weft_sim_os_faults(0);
	both(take_one);
	for (unsigned i = 0; i < THREADS; i++)
		wf_fiber_cache_close(&s->fiber_cache[i], &s->fibers);
	wf_fiber_pool_close(&s->fibers);
	close_stacks();
	wf_os_free(s);
}

/* ------------------------------------------------------------------------ */
/* Stacks. */

static int *mark_of(struct wf_stack *stack)
{
	return (int *)wf_stack_top(stack) - 1;
}

/* Three stacks at once; false: there is no memory. */
static bool use_stacks(struct wf_stack_cache *c)
{
	struct wf_stack *stack[3];
	unsigned n = 0;

	for (; n < 3; n++) {
		if (wf_stack_credit(c, s->cls) != 0)
			break;
		stack[n] = wf_stack_take(c, s->cls);
		*mark_of(stack[n]) = 1;
	}
	for (unsigned i = 0; i < n; i++) {
		weft_sim_assert(
			*mark_of(stack[i]) == 1, "a stack has two owners");
		*mark_of(stack[i]) = 0;
		wf_stack_give(c, stack[i]);
		wf_stack_credit_back(c, s->cls);
	}
	return n == 3;
}

static void stacks_to_and_fro(void *arg)
{
	struct wf_stack_cache *c = &s->stack_cache[which(arg)];

	for (unsigned n = 0; n < s->rounds; n++) {
		bool enough = use_stacks(c);

		weft_sim_assert(enough || s->faults, "no memory");
	}
	if (s->rounds > 1)
		wf_stack_cache_flush(c);
}

void pool_stacks(void *arg)
{
	(void)arg;
	s = duo_alloc(sizeof(*s));
	s->rounds = 2;
	open_stacks(256 * WF_KIB);
	both(stacks_to_and_fro);
	close_stacks();
	wf_os_free(s);
}

static void trim(void *arg)
{
	(void)arg;
	wf_stack_pool_trim(&s->stacks);
}

/* Another thread gives the memory back meanwhile. */
void pool_trim(void *arg)
{
	int trimmer;

	(void)arg;
	s = duo_alloc(sizeof(*s));
	s->rounds = 2;
	open_stacks(8 * WF_MIB); /* an arena for each */
	trimmer = duo_thread(trim, NULL, "trimmer");
	both(stacks_to_and_fro);
	(void)weft_sim_join(trimmer);
	close_stacks();
	wf_os_free(s);
}

/* Any call may be refused; memory that was got works, and so does a retry. */
void pool_stacks_faults(void *arg)
{
	(void)arg;
	s = duo_alloc(sizeof(*s));
	s->rounds = 1;
	s->faults = true;
	open_stacks(8 * WF_MIB);
	weft_sim_os_faults(4);
	both(stacks_to_and_fro);
	weft_sim_os_faults(0);
	s->faults = false;
	both(stacks_to_and_fro);
	close_stacks();
	wf_os_free(s);
}
