/* SPDX-License-Identifier: MIT */
/*
 * tests/life/finish_test.c - however a fiber ends, its descriptor is freed
 * once, clean, and with another USE than before; its end is counted.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include <weft/key.h>

#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/thread.h"
#include "stress/sched_kit.h"

static weft_group never;

/* Free: but for the epoch and the use nothing of its life is left. */
static void check_clean(weft_fiber *f)
{
	kit_expect((wf_load_rlx(&f->state) & ~WF_FIBER_USE) == 0);
	kit_expect(wf_load_rlx(&f->wait) % WF_WAIT_EPOCH == 0);
	kit_expect(wf_load_rlx(&f->name) == NULL);
	kit_expect(wf_load_rlx(&f->entry) == NULL);
	kit_expect(wf_load_rlx(&f->waits_for) == NULL);
	kit_expect(wf_load_rlx(&f->waits_on) == NULL);
}

static void *plain(void *arg)
{
	return arg;
}

static void *yields(void *arg)
{
	weft_yield();
	return arg;
}

/* Waits until it is cancelled. */
static void *waits(void *arg)
{
	kit_expect(weft_group_wait(&never, WEFT_FOREVER) == -ECANCELED);
	kit_expect(weft_cancelled());
	return arg;
}

static void cancel(weft_fiber *f)
{
	kit_expect(weft_cancel(f) == 0);
}

static void join(weft_fiber *f)
{
	static int mine;
	void *result = &mine;
	int err = weft_join(f, &result, WEFT_FOREVER);

	kit_expect(err == 0);
	kit_expect(result == f - 1 || result == NULL);
}

static uint64_t finished(void)
{
	struct wf_thread *t = wf_os_self();

	return wf_load_rlx(&t->proc->counters.finished);
}

static uint32_t cached(void)
{
	struct wf_thread *t = wf_os_self();

	return t->proc->fibers.now.count + t->proc->fibers.other.count;
}

/* ------------------------------------------------------------------------ */
/* Ways to end. */

static weft_fiber *spawn(void *(*fn)(void *))
{
	weft_fiber_attr attr = { .name = "finish" };
	weft_fiber *f = NULL;
	int err = weft_spawn(&f, &attr, fn, NULL);

	kit_expect(err == 0);
	return f;
}

static weft_fiber *end_inline(void *(*fn)(void *))
{
	weft_fiber *f = spawn(fn);

	join(f);
	return f;
}

/* f, which runs fn, is let to its end. */
static void let_end(weft_fiber *f, void *(*fn)(void *))
{
	weft_yield();
	if (fn == waits)
		cancel(f);
	weft_yield();
}

static weft_fiber *end_before_join(void *(*fn)(void *))
{
	weft_fiber *f = spawn(fn);

	let_end(f, fn);
	kit_expect(wf_load_rlx(&f->state) & WF_FIBER_DONE);
	join(f);
	return f;
}

static weft_fiber *end_before_detach(void *(*fn)(void *))
{
	weft_fiber *f = spawn(fn);

	let_end(f, fn);
	kit_expect(wf_load_rlx(&f->state) & WF_FIBER_DONE);
	weft_detach(f);
	return f;
}

static weft_fiber *end_detached(void *(*fn)(void *))
{
	weft_fiber *f = spawn(fn);

	weft_detach(f);
	let_end(f, fn);
	return f;
}

static void *every_end(void *arg)
{
	static void *(*const fns[])(void *) = { plain, yields, waits };
	static weft_fiber *(*const ends[])(void *(*)(void *)) = {
		end_before_join, end_before_detach, end_detached, end_inline
	};

	(void)arg;
	weft_group_add(&never, 1);
	weft_yield();
	join(spawn(plain)); /* so that there are descriptors at hand */
	for (size_t i = 0; i < 3; i++) {
		for (size_t j = 0; j < 4; j++) {
			uint64_t ended = finished();
			uint32_t free = cached();

			/* A child run as a call is not cancelled. */
			if (fns[i] == waits && ends[j] == end_inline)
				continue;
			check_clean(ends[j](fns[i]));
			kit_expect(finished() == ended + 1);
			kit_expect(cached() == free);
		}
	}
	weft_group_done(&never);
	return NULL;
}

/* ------------------------------------------------------------------------ */
/* The life after. */

static void *next_life(void *arg)
{
	weft_fiber *f = end_before_join(waits), *again = NULL;
	uint64_t last = wf_load_rlx(&f->wait), epoch = last / WF_WAIT_EPOCH;
	weft_fiber_info info;

	(void)arg;
	kit_expect(epoch != 0);
	kit_expect(weft_spawn(&again, NULL, waits, NULL) == 0);
	kit_expect(again == f); /* the last one given is the first taken */
	kit_expect(wf_load_rlx(&f->wait) / WF_WAIT_EPOCH == epoch);
	weft_fiber_look(f, &info);
	kit_expect(info.name == NULL);
	kit_expect(!wf_fiber_is_canceled(f));
	weft_yield();
	/* A waker that comes too late finds another epoch. */
	kit_expect(wf_wait_claim(f, last, 0) == WF_CLAIM_LOST);
	weft_fiber_look(f, &info);
	kit_expect(info.state == WEFT_FIBER_WAITING);
	cancel(f);
	join(f);
	return NULL;
}

/* One that never waits is cancelled: before it runs, or once it is done. */
static void *cancelled_early(void *arg)
{
	weft_fiber *f;

	(void)arg;
	for (int i = 0; i < 2; i++) {
		kit_expect(weft_spawn(&f, NULL, plain, NULL) == 0);
		if (i == 1)
			weft_yield();
		cancel(f);
		join(f);
		check_clean(f);
	}
	return NULL;
}

static void *old_tickets(void *arg)
{
	weft_fiber *f, *again;
	wf_entry old;

	(void)arg;
	for (size_t i = 0; i < 600; i++) {
		f = spawn(plain);
		old = wf_fiber_ticket(f, wf_load_rlx(&f->state));
		kit_expect(wf_fiber_is_fresh(old));
		join(f);
		kit_expect(!wf_fiber_is_fresh(old));
		again = spawn(plain);
		kit_expect(again == f);
		kit_expect(!wf_fiber_claim(old));
		join(again);
	}
	return NULL;
}

/* The end is counted a moment after the joiner was let go. */
static void wait_for_all(weft_rt *rt)
{
	while (wf_rt_fibers(rt) != 0)
		wf_os_thread_yield();
}

static void play(void *(*fn)(void *))
{
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	weft_fiber *f;

	never = (weft_group){ 0 };
	if (fn == next_life)
		weft_group_add(&never, 1);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, fn, NULL), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	/* The join freed it, into the cache for threads outside. */
	check_clean(f);
	wait_for_all(rt);
	kit_stop(rt);
}

static void whatever_the_end_nothing_is_left(void **state)
{
	(void)state;
	play(every_end);
}

static void the_next_life_knows_nothing_of_the_last(void **state)
{
	(void)state;
	play(next_life);
}

static void cancellation_is_for_one_life(void **state)
{
	(void)state;
	play(cancelled_early);
}

static void tickets_of_the_last_life_are_dead(void **state)
{
	(void)state;
	play(old_tickets);
}

/* ------------------------------------------------------------------------ */
/* End and detach at the same moment: one of the two frees. */

static void *spin_a_little(void *arg)
{
	for (volatile uintptr_t i = 0; i < (uintptr_t)arg; i++)
		continue;
	return NULL;
}

/* Every descriptor of a magazine, once in all of them. */
static void check_magazine(const struct wf_magazine *m, uint8_t *seen)
{
	weft_fiber *f = m->list;

	for (uint32_t i = 0; i < m->count; i++) {
		uintptr_t at = (uintptr_t)f & (WF_SLAB_BYTES - 1);

		kit_expect(seen[at / sizeof(*f)]++ == 0);
		kit_expect(!(wf_load_rlx(&f->state) & WF_FIBER_LIVE));
		f = wf_fiber_of(f->task.next_);
	}
}

static void *check_caches(void *arg)
{
	static uint8_t seen[WF_SLAB_BYTES / sizeof(weft_fiber)];
	struct wf_thread *t = wf_os_self();
	struct weft_rt *rt = arg;

	check_magazine(&t->proc->fibers.now, seen);
	check_magazine(&t->proc->fibers.other, seen);
	wf_lock(&rt->outside.lock);
	check_magazine(&rt->outside.fibers.now, seen);
	check_magazine(&rt->outside.fibers.other, seen);
	wf_unlock(&rt->outside.lock);
	return NULL;
}

static void detached_at_its_end_it_goes_once(void **state)
{
	size_t rounds = kit_rounds(4000);
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	weft_metrics m;
	weft_fiber *f;

	(void)state;
	for (size_t i = 0; i < rounds; i++) {
		assert_int_equal(weft_rt_spawn(rt, &f, NULL, spin_a_little,
					 (void *)(i % 64 * 16)),
			0);
		while (i % 8 && !(wf_load_rlx(&f->state) & WF_FIBER_DONE) &&
			wf_load_rlx(&f->ready_us) != 0)
			wf_os_thread_yield();
		for (volatile size_t j = 0; j < i % 97 * 16; j++)
			continue;
		weft_detach(f);
	}
	wait_for_all(rt);
	kit_metrics(rt, &m);
	assert_int_equal(m.spawned, rounds);
	assert_int_equal(m.finished, rounds);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, check_caches, rt), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	kit_stop(rt);
}

/* ------------------------------------------------------------------------ */
/* A destructor moves its fiber to another thread, and the fiber ends there. */

static struct {
	weft_key key;
	weft_fiber *hog;
	_Atomic(bool) ended;		/* the fiber that moved */
} move;

/* Keep the thread that the fiber began to end on. */
static void *hog(void *arg)
{
	weft_fiber *self = weft_self();

	while (!wf_load_rlx(&move.ended))
		wf_cpu_relax();
	/* The end of the other fiber is none of this thread's. */
	kit_expect(weft_self() == self);
	return arg;
}

static void change_thread(void *value)
{
	struct wf_thread *before = wf_os_self();

	(void)value;
	kit_expect(weft_spawn(&move.hog, NULL, hog, NULL) == 0);
	while (wf_os_self() == before)
		weft_yield();
}

static void *set_key(void *arg)
{
	kit_expect(weft_key_set(move.key, &move) == 0);
	return arg;
}

static void a_fiber_ends_on_the_thread_it_has_moved_to(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);
	weft_fiber *f;

	(void)state;
	assert_int_equal(weft_key_create(&move.key, change_thread), 0);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, set_key, NULL), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	wf_store_rlx(&move.ended, true);
	assert_int_equal(weft_join(move.hog, NULL, WEFT_FOREVER), 0);
	wait_for_all(rt);
	kit_stop(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_the_end_nothing_is_left),
		cmocka_unit_test(the_next_life_knows_nothing_of_the_last),
		cmocka_unit_test(cancellation_is_for_one_life),
		cmocka_unit_test(tickets_of_the_last_life_are_dead),
		cmocka_unit_test(detached_at_its_end_it_goes_once),
		cmocka_unit_test(a_fiber_ends_on_the_thread_it_has_moved_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
