/* SPDX-License-Identifier: MIT */
/*
 * tests/base/atomic_test.c - every atomic operation does what its name says,
 * and what is written before a release is seen after the acquire.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>

#include "arch/context.h"
#include "base/atomic.h"
#include "base/litmus.h"
#include "base/units.h"
#include "os/os.h"
#include "support/skip.h"

#define RUN_NS (200 * WF_NS_PER_MS)

static void loads_and_stores(void **state)
{
	_Atomic(uint32_t) narrow = 1;
	_Atomic(uint64_t) wide = UINT64_C(1) << 40;
	_Atomic(void *) pointer = NULL;

	(void)state;
	assert_int_equal(wf_load_rlx(&narrow), 1);
	wf_store_rlx(&narrow, 2);
	assert_int_equal(wf_load_acq(&narrow), 2);
	wf_store_rel(&narrow, 3);
	assert_int_equal(wf_load_seq(&narrow), 3);
	wf_store_seq(&narrow, 4);
	assert_int_equal(wf_load_rlx(&narrow), 4);

	assert_true(wf_load_acq(&wide) == UINT64_C(1) << 40);
	wf_store_rel(&wide, UINT64_MAX);
	assert_true(wf_load_rlx(&wide) == UINT64_MAX);
	wf_store_rel(&pointer, &wide);
	assert_ptr_equal(wf_load_acq(&pointer), &wide);
}

static void exchanges_return_the_old_value(void **state)
{
	_Atomic(uint32_t) word = 1;

	(void)state;
	assert_int_equal(wf_xchg_rlx(&word, 2), 1);
	assert_int_equal(wf_xchg_acq(&word, 3), 2);
	assert_int_equal(wf_xchg_rel(&word, 4), 3);
	assert_int_equal(wf_xchg_acqrel(&word, 5), 4);
	assert_int_equal(wf_load_rlx(&word), 5);
}

static void additions_return_the_old_value(void **state)
{
	_Atomic(uint32_t) word = 10;

	(void)state;
	assert_int_equal(wf_add_rlx(&word, 1), 10);
	assert_int_equal(wf_add_rel(&word, 2), 11);
	assert_int_equal(wf_add_acqrel(&word, 3), 13);
	assert_int_equal(wf_load_rlx(&word), 16);
	assert_int_equal(wf_sub_rlx(&word, 1), 16);
	assert_int_equal(wf_sub_rel(&word, 2), 15);
	assert_int_equal(wf_sub_acqrel(&word, 3), 13);
	assert_int_equal(wf_load_rlx(&word), 10);
	assert_int_equal(wf_sub_rlx(&word, 11), 10);
	assert_int_equal(wf_load_rlx(&word), UINT32_MAX);
}

static void bits_return_what_was_there_before(void **state)
{
	_Atomic(uint64_t) word = 0x5;

	(void)state;
	assert_int_equal(wf_or_rlx(&word, 0x6), 0x5);
	assert_int_equal(wf_or_acqrel(&word, 0x10), 0x7);
	assert_int_equal(wf_load_rlx(&word), 0x17);
	assert_int_equal(wf_and_rlx(&word, ~(uint64_t)0x2), 0x17);
	assert_int_equal(wf_and_acqrel(&word, ~(uint64_t)0x18), 0x15);
	assert_int_equal(wf_load_rlx(&word), 0x5);
	assert_true(wf_or_rlx(&word, UINT64_C(1) << 63) == 0x5);
	assert_true(wf_and_rlx(&word, UINT64_C(1) << 63) ==
		((UINT64_C(1) << 63) | 0x5));
	assert_true(wf_load_rlx(&word) == UINT64_C(1) << 63);
}

/* A failure stores nothing and says what is there. */
#define CHECK_CAS_FAILS(cas)                              \
	do {                                              \
		_Atomic(uint32_t) other = 7;              \
		uint32_t wrong = 6;                       \
		assert_false(cas(&other, &wrong, 8));     \
		assert_int_equal(wrong, 7);               \
		assert_int_equal(wf_load_rlx(&other), 7); \
	} while (0)

#define CHECK_CAS(cas)                                   \
	do {                                             \
		_Atomic(uint32_t) word = 7;              \
		uint32_t expected = 7;                   \
		assert_true(cas(&word, &expected, 8));   \
		assert_int_equal(expected, 7);           \
		assert_int_equal(wf_load_rlx(&word), 8); \
		CHECK_CAS_FAILS(cas);                    \
	} while (0)

/* A weak one may fail for no reason, and then says so truthfully. */
#define CHECK_CAS_WEAK(cas)                              \
	do {                                             \
		_Atomic(uint32_t) word = 7;              \
		uint32_t expected = 7;                   \
		while (!cas(&word, &expected, 8))        \
			assert_int_equal(expected, 7);   \
		assert_int_equal(wf_load_rlx(&word), 8); \
		CHECK_CAS_FAILS(cas);                    \
	} while (0)

static void compare_and_swap(void **state)
{
	(void)state;
	CHECK_CAS(wf_cas_rlx);
	CHECK_CAS(wf_cas_acq);
	CHECK_CAS(wf_cas_rel);
	CHECK_CAS(wf_cas_acqrel);
}

static void compare_and_swap_weakly(void **state)
{
	(void)state;
	CHECK_CAS_WEAK(wf_cas_weak_rlx);
	CHECK_CAS_WEAK(wf_cas_weak_acq);
	CHECK_CAS_WEAK(wf_cas_weak_rel);
}

/*
 * Message passing.  The message is a plain variable, so ThreadSanitizer also
 * says whether the orders are enough.  It does not follow fences, so the
 * message that goes with a fence is atomic.
 */
#define MESSAGES 5000

struct post {
	_Atomic(uint32_t) sent;
	_Atomic(uint32_t) taken;
	uint32_t message;
	_Atomic(uint32_t) atomic_message;
	bool fences;
	long wrong; /* by the receiver */
};

static void pause_now_and_then(unsigned *spins)
{
	if (++*spins % 128 == 0)
		wf_os_thread_yield();
	else
		wf_cpu_relax();
}

static uint32_t receive(struct post *p, uint32_t i)
{
	unsigned spins = 0;

	if (p->fences) {
		while (wf_load_rlx(&p->sent) != i)
			pause_now_and_then(&spins);
		wf_fence_acq();
		return wf_load_rlx(&p->atomic_message);
	}
	while (wf_load_acq(&p->sent) != i)
		pause_now_and_then(&spins);
	return p->message;
}

static void send(struct post *p, uint32_t i)
{
	if (p->fences) {
		wf_store_rlx(&p->atomic_message, i * 3);
		wf_fence_rel();
		wf_store_rlx(&p->sent, i);
	} else {
		p->message = i * 3;
		wf_store_rel(&p->sent, i);
	}
}

static void *receiver(void *arg)
{
	struct post *p = arg;

	for (uint32_t i = 1; i <= MESSAGES; i++) {
		p->wrong += receive(p, i) != i * 3;
		wf_store_rel(&p->taken, i);
	}
	return NULL;
}

static void pass_messages(bool fences)
{
	struct post p = { .fences = fences };
	unsigned spins = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, receiver, &p), 0);
	for (uint32_t i = 1; i <= MESSAGES; i++) {
		send(&p, i);
		while (wf_load_acq(&p.taken) != i)
			pause_now_and_then(&spins);
	}
	pthread_join(thread, NULL);
	assert_int_equal(p.wrong, 0);
}

static void a_release_passes_a_message_to_an_acquire(void **state)
{
	(void)state;
	pass_messages(false);
}

static void fences_pass_a_message(void **state)
{
	(void)state;
	pass_messages(true);
}

/*
 * Two threads set and clear a bit each: neither disturbs the other's.  Each bit
 * guards a plain variable, passed on by the orders.
 */
struct bits {
	_Atomic(uint32_t) word;
	uint32_t counted; /* by the thread that has bit 0 */
	_Atomic(long) wrong;
};

/* Bit 0 is a lock; the thread's own bit is its alone. */
static void *set_and_clear(void *arg)
{
	struct bits *b = arg;
	uint32_t own = 1u << (wf_add_rlx(&b->word, 2) / 2 % 2 ? 31 : 30);
	unsigned spins = 0;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		if (wf_or_rlx(&b->word, own) & own)
			wf_add_rlx(&b->wrong, 1);
		while (wf_or_acqrel(&b->word, 1) & 1)
			pause_now_and_then(&spins);
		b->counted++;
		if (!(wf_and_acqrel(&b->word, ~1u) & 1))
			wf_add_rlx(&b->wrong, 1);
		if (!(wf_and_rlx(&b->word, ~own) & own))
			wf_add_rlx(&b->wrong, 1);
	}
	return NULL;
}

static void bits_of_several_threads_do_not_disturb(void **state)
{
	struct bits b = { 0 };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, set_and_clear, &b), 0);
	set_and_clear(&b);
	pthread_join(thread, NULL);
	assert_int_equal(wf_load_rlx(&b.wrong), 0);
	assert_int_equal(b.counted, 2 * MESSAGES);
	assert_int_equal(wf_load_rlx(&b.word), 4);
}

/* Store buffering: see litmus.h. */
static uint32_t store_fence_load(
	_Atomic(uint32_t) *mine, _Atomic(uint32_t) *theirs)
{
	wf_store_rlx(mine, 1);
	wf_fence_seq();
	return wf_load_rlx(theirs);
}

static uint32_t store_load_seq(
	_Atomic(uint32_t) *mine, _Atomic(uint32_t) *theirs)
{
	wf_store_seq(mine, 1);
	return wf_load_seq(theirs);
}

static void race(litmus_side *side)
{
	static struct litmus l;

	l = (struct litmus){ .side = { side, side } };
	litmus_run(&l, RUN_NS);
	printf("%ld races\n", l.races);
	assert_int_equal(l.both_zero, 0);
}

static void a_full_fence_orders_a_store_before_a_load(void **state)
{
	(void)state;
	race(store_fence_load);
}

/*
 * qemu's aarch64 has no barrier between a _seq store and a _seq load.  It is
 * known by its madvise, which takes an advice that does not exist.
 */
static bool under_qemu(void)
{
	return madvise(NULL, 0, 9999) == 0;
}

static void seq_operations_order_a_store_before_a_load(void **state)
{
	(void)state;
	if (under_qemu()) {
		skip_because("an emulator that does not order them");
	}
	race(store_load_seq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_and_stores),
		cmocka_unit_test(exchanges_return_the_old_value),
		cmocka_unit_test(additions_return_the_old_value),
		cmocka_unit_test(bits_return_what_was_there_before),
		cmocka_unit_test(compare_and_swap),
		cmocka_unit_test(compare_and_swap_weakly),
		cmocka_unit_test(a_release_passes_a_message_to_an_acquire),
		cmocka_unit_test(fences_pass_a_message),
		cmocka_unit_test(bits_of_several_threads_do_not_disturb),
		cmocka_unit_test(a_full_fence_orders_a_store_before_a_load),
		cmocka_unit_test(seq_operations_order_a_store_before_a_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
