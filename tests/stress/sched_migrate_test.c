/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_migrate_test.c - a fiber that goes on on another thread
 * sees that thread, and keeps its values, its registers and its handle.
 *
 * Fibers yield, wait in ponds until another fiber wakes them, and hand over to
 * each other.  After each of these a fiber checks its thread and its handle.
 * It asks through functions that are never inlined, because the compiler may
 * keep such an answer across a switch; the library may not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "os/os.h"
#include "stress/sched_kit.h"

enum { FIBERS = 64, PONDS = FIBERS, FEW = 8, ASK_KERNEL = 64, TIME_MS = 6000 };
enum { SWITCHES = 10 * 1000 * 1000, EMPTY_MAX = 20 };

/* A thread's identity, asked for once on that thread. */
struct identity {
	pid_t tid;
	pthread_t pthread;
	void *self; /* the library's thread */
	int *errno_at;
};

static _Thread_local struct identity mine;

static struct game {
	weft_rt *rt;
	size_t each; /* switches of one fiber */
	int64_t until_ns;
	_Atomic(weft_fiber *) pond[PONDS];
	_Atomic(size_t) switches, migrations, refusals, handovers;
	_Atomic(size_t) open;		     /* fibers that have not ended */
	size_t ferries;			     /* 0: fibers wake each other */
	_Atomic(weft_fiber *) ferry[FIBERS]; /* that carried it last */
	_Atomic(size_t) boarding;	     /* ferries that have begun */
	weft_group ended;
	uint64_t seed;
} game;

/* ------------------------------------------------------------------------ */
/* Which thread is this?  Not inlined, and asked anew each time. */

static wf_noinline pid_t ask_kernel(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static wf_noinline pthread_t ask_pthread(void)
{
	pthread_t self = pthread_self();

	__asm__ volatile("" : "+r"(self));
	return self;
}

static wf_noinline int *ask_errno(void)
{
	int *at = &errno;

	__asm__ volatile("" : "+r"(at));
	return at;
}

static wf_noinline struct identity *ask_mine(void)
{
	struct identity *i = &mine;

	__asm__ volatile("" : "+r"(i));
	if (i->tid == 0) {
		i->tid = ask_kernel();
		i->pthread = ask_pthread();
		i->self = wf_os_self();
		i->errno_at = ask_errno();
	}
	return i;
}

static wf_noinline void set_errno(int value)
{
	*ask_errno() = value;
}

/* All answers agree; returns the thread. */
static pid_t check_thread(bool kernel)
{
	struct identity *i = ask_mine();

	kit_expect(pthread_equal(i->pthread, ask_pthread()));
	kit_expect(i->self == wf_os_self());
	kit_expect(i->errno_at == ask_errno());
	if (kernel)
		kit_expect(i->tid == ask_kernel());
	return i->tid;
}

/* ------------------------------------------------------------------------ */
/* Ponds: a fiber waits in one until another fiber fishes it out. */

struct wait {
	struct weft_awaiter awaiter;
	_Atomic(weft_fiber *) *pond;
};

static bool jump_in(struct weft_awaiter *a, weft_fiber *self)
{
	struct wait *w = (struct wait *)a;
	_Atomic(weft_fiber *) *pond = w->pond;
	weft_fiber *empty = NULL;

	return wf_cas_rel(pond, &empty, self);
}

static weft_fiber *fish(size_t pond)
{
	_Atomic(weft_fiber *) *at = &game.pond[pond % PONDS];

	return wf_load_rlx(at) ? wf_xchg_acq(at, NULL) : NULL;
}

/* Wait in a pond, unless a fiber is in it; next goes on instead. */
static void wait_in_pond(size_t pond, weft_fiber *next)
{
	struct wait w = { .awaiter = { jump_in, next },
		.pond = &game.pond[pond] };
	int result;

	if (next != NULL)
		wf_add_rlx(&game.handovers, 1);
	result = weft_suspend(&w.awaiter);
	kit_expect(result == 0 || result == 1);
	if (result == 1)
		wf_add_rlx(&game.refusals, 1);
}

/*
 * One step: something that may switch.  With ferries each fiber has a pond of
 * its own; without, they share few, or fishers would find none.
 */
static void step(struct wf_random *random, size_t nth)
{
	uint32_t what = wf_random_below(random, 16);
	weft_fiber *other;

	if (game.ferries > 0) {
		wait_in_pond(nth, wf_load_rlx(&game.ferry[nth]));
	} else if (what < 8) {
		weft_yield();
	} else if (what < 12) {
		other = fish(what % FEW);
		if (other != NULL)
			weft_wake(other, (weft_hint)(what % 3));
		weft_yield();
	} else {
		other = what == 15 ? fish(wf_random_below(random, FEW)) : NULL;
		wait_in_pond(wf_random_below(random, FEW), other);
	}
}

/* ------------------------------------------------------------------------ */
/* The fibers. */

/* Values of all kinds that live across the switch, wherever they are kept. */
static wf_noinline void step_with_values(
	struct wf_random *random, size_t nth, uint64_t n)
{
	uint64_t a = n * 3, b = n ^ 0x5555, c = n << 7, d = ~n, e = n + 99;
	double p = (double)n * 0.5, q = p + 1.25, r = q * q, s = r - p;
	long double t = (long double)n / 3;
	uint64_t on_stack[8];

	for (size_t i = 0; i < 8; i++)
		on_stack[i] = n + i;
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	__asm__ volatile("" : "+m"(on_stack), "+m"(t));
	step(random, nth);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
	__asm__ volatile("" : "+m"(on_stack), "+m"(t));
	kit_expect(a == n * 3 && b == (n ^ 0x5555) && c == n << 7);
	kit_expect(d == ~n && e == n + 99);
	kit_expect(p == (double)n * 0.5 && q == p + 1.25);
	kit_expect(r == q * q && s == r - p && t == (long double)n / 3);
	for (size_t i = 0; i < 8; i++)
		kit_expect(on_stack[i] == n + i);
}

static void *wander(void *arg)
{
	uintptr_t nth = (uintptr_t)arg;
	weft_fiber *self = weft_self();
	size_t migrations = 0, i;
	struct wf_random random;

	wf_random_seed(&random, game.seed + nth);
	for (i = 0; i < game.each; i++) {
		bool kernel = i % ASK_KERNEL == 0;
		pid_t before = check_thread(false), after;

		step_with_values(&random, nth, (uint64_t)nth << 32 | i);
		after = check_thread(kernel);
		migrations += before != after;
		/* No call in between switches, so errno is still there. */
		set_errno((int)i);
		kit_expect(weft_self() == self);
		kit_expect(weft_rt_self() == game.rt);
		kit_expect(*ask_errno() == (int)i);
		if (kernel && threads_now_ns() > game.until_ns)
			break;
	}
	wf_add_rlx(&game.switches, i);
	wf_add_rlx(&game.migrations, migrations);
	wf_sub_rlx(&game.open, 1);
	if (wf_load_rlx(&game.ferry[nth]) != NULL)
		weft_wake(wf_load_rlx(&game.ferry[nth]), WEFT_HINT_NEXT);
	weft_group_done(&game.ended);
	return arg;
}

static void fish_all(void)
{
	for (size_t i = 0; i < PONDS; i++) {
		weft_fiber *f = fish(i);

		if (f != NULL)
			weft_wake(f, WEFT_HINT_DEFAULT);
	}
}

/* Fish until all have ended: the last fiber has no other to wake it. */
static void rescue(void *arg)
{
	(void)arg;
	while (wf_load_rlx(&game.open) > 0) {
		fish_all();
		for (size_t i = 0; i < 100; i++)
			weft_yield();
	}
	weft_group_done(&game.ended);
}

static bool lie_still(struct weft_awaiter *a, weft_fiber *self)
{
	(void)a;
	(void)self;
	return true;
}

/* Let the fiber of that pond run here; it hands back when it waits again. */
static bool carry(size_t pond)
{
	struct weft_awaiter a = { .commit = lie_still };

	a.next = fish(pond);
	if (a.next == NULL)
		return false;
	wf_store_rlx(&game.ferry[pond], weft_self());
	kit_expect(weft_suspend(&a) == 0);
	return true;
}

/*
 * One ferry on each worker: they begin when all run, so that no thief can take
 * one from a queue.  A fiber goes on on the worker whose ferry finds it first.
 */
static void ferry(void *arg)
{
	int64_t until = threads_now_ns() + 2 * WF_NS_PER_S;
	unsigned empty = 0; /* sweeps */

	(void)arg;
	wf_add_rlx(&game.boarding, 1);
	while (wf_load_rlx(&game.boarding) < game.ferries &&
		threads_now_ns() < until)
		sched_yield();
	while (wf_load_rlx(&game.open) > 0) {
		bool found = false;

		for (size_t i = 0; i < PONDS; i++)
			if (empty > EMPTY_MAX ||
				wf_load_rlx(&game.ferry[i]) != weft_self())
				found |= carry(i);
		/* The other ferries may not be on a CPU at the moment. */
		empty = found ? 0 : empty + 1;
		if (!found) {
			sched_yield();
			weft_yield();
		}
	}
	weft_group_done(&game.ended);
}

static void start_wakers(void)
{
	size_t n = game.ferries ? game.ferries : 1;

	weft_group_add(&game.ended, (int64_t)n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(weft_rt_go(game.rt,
					 game.ferries ? ferry : rescue, NULL),
			0);
}

static void travel(uint32_t workers, bool ferries)
{
	weft_config cfg = { .workers = workers };
	size_t switches = kit_rounds(ferries ? SWITCHES : SWITCHES / 4);
	int64_t began = threads_now_ns();
	weft_fiber *f;

	game = (struct game){ .each = wf_max_size(switches / FIBERS, 1) };
	game.seed = threads_seed() + workers;
	game.ferries = ferries ? workers : 0;
	game.until_ns = threads_until_ns(TIME_MS);
	game.rt = kit_start(&cfg);
	wf_store_rlx(&game.open, FIBERS);
	weft_group_add(&game.ended, FIBERS);
	start_wakers();
	for (uintptr_t i = 0; i < FIBERS; i++) {
		assert_int_equal(
			weft_rt_spawn(game.rt, &f, NULL, wander, (void *)i), 0);
		weft_detach(f);
	}
	assert_int_equal(weft_group_wait(&game.ended, WEFT_FOREVER), 0);
	kit_stop(game.rt);
	printf("%u workers: %zu switches, %zu migrations, %zu refusals, "
	       "%zu handovers, %.1f s\n",
		workers, wf_load_rlx(&game.switches),
		wf_load_rlx(&game.migrations), wf_load_rlx(&game.refusals),
		wf_load_rlx(&game.handovers),
		(double)(threads_now_ns() - began) / 1e9);
	if (!kit_slow())
		assert_true(wf_load_rlx(&game.migrations) > 0);
}

/* Fibers yield, wait for each other and hand over to each other. */
static void fibers_migrate_by_steals_and_wakes(void **state)
{
	(void)state;
	travel(2, false);
	travel(4, false);
	travel(8, false);
}

/* Fibers wait, and go on on the worker that wakes them. */
static void fibers_migrate_by_handovers(void **state)
{
	(void)state;
	travel(2, true);
	travel(3, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fibers_migrate_by_steals_and_wakes),
		cmocka_unit_test(fibers_migrate_by_handovers),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
