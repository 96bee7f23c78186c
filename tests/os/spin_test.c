/* SPDX-License-Identifier: MIT */
/*
 * tests/os/spin_test.c - one thread at a time has the lock, a thread that waits
 * for it gets it even if the holder has lost its CPU, and the last holder may
 * free its memory; a lock in a bit leaves the other bits of its word alone.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "os/os.h"
#include "os/spin.h"
#include "stress/sched_kit.h"

enum { THREADS = 4 };

static struct wf_spin spin;
static size_t a, b; /* by spin: always the same */
static size_t rounds;

static void zero_is_free(void **state)
{
	struct wf_spin s;

	(void)state;
	memset(&s, 0, sizeof(s));
	wf_spin_lock(&s);
	assert_int_equal(wf_load_rlx(&s.word), 1);
	wf_spin_unlock(&s);
	assert_int_equal(wf_load_rlx(&s.word), 0);
	wf_spin_lock(&s);
	wf_spin_unlock(&s);
}

static void count(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
	for (size_t n = 0; n < rounds; n++) {
		wf_spin_lock(&spin);
		kit_expect(a == b);
		a++;
		b++;
		wf_spin_unlock(&spin);
	}
}

static void one_at_a_time(void **state)
{
	(void)state;
	rounds = kit_rounds(50000);
	threads_run(THREADS, count, NULL);
	kit_settle();
	assert_int_equal(a, THREADS * rounds);
	assert_int_equal(b, THREADS * rounds);
}

/* The first one has it, sleeps, and has to be waited for. */
static void hold_or_wait(void *arg, unsigned i)
{
	_Atomic(int) *held = arg;

	if (i == 0) {
		wf_spin_lock(&spin);
		wf_store_rel(held, 1);
		kit_pause_us(20000);
		wf_store_rel(held, 2);
		wf_spin_unlock(&spin);
		return;
	}
	while (wf_load_acq(held) == 0)
		wf_os_thread_yield();
	wf_spin_lock(&spin);
	kit_expect(wf_load_acq(held) == 2);
	wf_spin_unlock(&spin);
}

static void a_waiting_thread_gets_it(void **state)
{
	_Atomic(int) held = 0;

	(void)state;
	threads_run(THREADS, hold_or_wait, &held);
	kit_settle();
	assert_int_equal(wf_load_rlx(&spin.word), 0);
}

struct parcel {
	struct wf_spin spin;
	unsigned refs; /* by spin */
};

static _Atomic(struct parcel *) parcels[64];

static void drop_all(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
	for (size_t k = 0; k < 64; k++) {
		struct parcel *p = wf_load_acq(&parcels[k]);
		bool last;

		wf_spin_lock(&p->spin);
		last = --p->refs == 0;
		wf_spin_unlock(&p->spin);
		if (last) {
			memset(p, 0xA5, sizeof(*p));
			free(p);
		}
	}
}

static void the_last_holder_may_free_it(void **state)
{
	size_t n = kit_rounds(200);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < 64; k++) {
			struct parcel *p = calloc(1, sizeof(*p));

			assert_non_null(p);
			p->refs = THREADS;
			wf_store_rel(&parcels[k], p);
		}
		threads_run(THREADS, drop_all, NULL);
	}
}

/* ------------------------------------------------------------------------ */
/* A bit. */

static _Atomic(uint64_t) word;

static void bits_beside_the_lock_stay(void **state)
{
	_Atomic(uint64_t) w = 6;

	(void)state;
	assert_int_equal(wf_bit_lock(&w), 6);
	assert_int_equal(wf_load_rlx(&w), 7);
	wf_bit_unlock(&w, 8);
	assert_int_equal(wf_load_rlx(&w), 8);
	assert_int_equal(wf_bit_lock(&w), 8);
	(void)wf_add_rlx(&w, 16); /* another thread may, before unlock_add */
	wf_bit_unlock_add(&w, (uint64_t)-8);
	assert_int_equal(wf_load_rlx(&w), 16);
}

/* Odd threads give the lock back by a store, even ones by an addition. */
static void count_bit(void *arg, unsigned i)
{
	(void)arg;
	for (size_t n = 0; n < rounds; n++) {
		uint64_t seen = wf_bit_lock(&word);

		kit_expect(!(seen & WF_BIT_LOCK) && a == b && seen == 2 * a);
		a++;
		b++;
		if (i % 2)
			wf_bit_unlock(&word, seen + 2);
		else
			wf_bit_unlock_add(&word, 2);
	}
}

static void one_at_a_time_has_the_bit(void **state)
{
	(void)state;
	rounds = kit_rounds(50000);
	a = b = 0;
	threads_run(THREADS, count_bit, NULL);
	kit_settle();
	assert_int_equal(a, THREADS * rounds);
	assert_int_equal(wf_load_rlx(&word), 2 * THREADS * rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zero_is_free),
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(bits_beside_the_lock_stay),
		cmocka_unit_test(one_at_a_time_has_the_bit),
		cmocka_unit_test(a_waiting_thread_gets_it),
		cmocka_unit_test(the_last_holder_may_free_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
