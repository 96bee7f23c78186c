/* SPDX-License-Identifier: MIT */
/*
 * tests/base/sanitize_test.c - a real switch of stacks, told of as sanitize.h
 * says, upsets no sanitizer; without one it costs no memory.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "arch/context.h"
#include "base/sanitize.h"
#include "base/units.h"
#include "os/os.h"

#define STACK_BYTES (256 * WF_KIB)
#define ROUNDS 500

struct side {
	struct wf_context context;
	struct wf_san san;
};

struct pair {
	struct side thread, fiber;
	int turns;		/* plain: a switch orders both sides */
	bool done;
	void *tsan_fiber;	/* where ThreadSanitizer thinks the fiber is */
};

/* A sanitizer's runtime is there in a build with it, and only there. */
void __asan_init(void) __attribute__((weak));
void __tsan_init(void) __attribute__((weak));
void *__tsan_get_current_fiber(void) __attribute__((weak));

static void *tsan_here(void)
{
	return __tsan_init != NULL ? __tsan_get_current_fiber() : NULL;
}

static wf_may_switch void go(struct side *from, struct side *to)
{
	wf_san_leave(&from->san, &to->san);
	wf_context_switch(&from->context, &to->context);
	wf_san_arrive(&from->san, &to->san);
}

static wf_may_switch void go_for_good(struct side *from, struct side *to)
{
	wf_san_leave_for_good(&to->san);
	wf_context_switch(&from->context, &to->context);
}

/* Switch away from under frames with arrays, whose red zones are poisoned. */
static wf_noinline unsigned deep(struct pair *p, unsigned depth)
{
	volatile char array[100];
	unsigned sum = depth;

	memset((char *)array, (int)depth, sizeof(array));
	if (depth > 0) {
		sum += deep(p, depth - 1);
	} else {
		p->turns++;
		go(&p->fiber, &p->thread);
	}
	for (size_t i = 0; i < sizeof(array); i++)
		sum += (unsigned char)array[i] != depth;
	return sum;
}

/* Left for good in the middle of its frames. */
static wf_noinline void finish(struct pair *p)
{
	volatile char array[333];

	memset((char *)array, 1, sizeof(array));
	p->done = true;
	go_for_good(&p->fiber, &p->thread);
	array[0] = 2;
}

static void fiber_main(void *arg)
{
	struct pair *p = arg;

	wf_san_arrive(&p->fiber.san, &p->thread.san);
	p->tsan_fiber = tsan_here();
	for (unsigned i = 0; i < ROUNDS; i++)
		p->turns += deep(p, i % 50) == (i % 50) * (i % 50 + 1) / 2;
	finish(p);
}

/* Valgrind allows this only to code that runs on the stack. */
static void fill(char *low)
{
	if (!wf_on_valgrind())
		memset(low, 0x55, STACK_BYTES);
}

/* One life of a fiber on this memory, which an earlier one may have used. */
static bool run_fiber(char *low)
{
	struct pair p = { .turns = 0 };
	unsigned id = wf_valgrind_stack_add(low, low + STACK_BYTES);

	wf_san_thread(&p.thread.san);
	wf_san_open(&p.fiber.san, low, STACK_BYTES);
	fill(low);
	wf_context_start(&p.fiber.context, low + STACK_BYTES, fiber_main, &p);
	while (!p.done) {
		p.turns += 1000000;
		go(&p.thread, &p.fiber);
	}
	wf_san_close(&p.fiber.san);
	wf_valgrind_stack_drop(id);
	fill(low);
	if (__tsan_init != NULL && p.tsan_fiber == tsan_here())
		return false;
	return p.turns == 2 * ROUNDS + 1000000 * (ROUNDS + 1);
}

static void switches_there_and_back(void **state)
{
	void *low;

	(void)state;
	assert_int_equal(wf_os_vm_map(&low, STACK_BYTES), 0);
	assert_true(run_fiber(low));
	wf_os_vm_unmap(low, STACK_BYTES);
}

static void a_stack_opened_again_is_clean(void **state)
{
	void *low;

	(void)state;
	assert_int_equal(wf_os_vm_map(&low, STACK_BYTES), 0);
	for (int i = 0; i < 5; i++)
		assert_true(run_fiber(low));
	wf_os_vm_unmap(low, STACK_BYTES);
}

static void *other_thread(void *arg)
{
	void *low;
	bool *well = arg;

	if (wf_os_vm_map(&low, STACK_BYTES) == 0) {
		*well = run_fiber(low) && run_fiber(low);
		wf_os_vm_unmap(low, STACK_BYTES);
	}
	return NULL;
}

static void every_thread_can_have_fibers(void **state)
{
	pthread_t threads[2];
	bool well[2] = { false, false };

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, other_thread,
					 &well[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_true(well[0]);
	assert_true(well[1]);
}

static void it_is_empty_without_a_sanitizer(void **state)
{
	bool sanitizer = __asan_init != NULL || __tsan_init != NULL;

	(void)state;
	printf("%s sanitizer: %zu bytes\n", sanitizer ? "with a" : "no",
		sizeof(struct wf_san));
	assert_int_equal(sizeof(struct wf_san) != 0, sanitizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches_there_and_back),
		cmocka_unit_test(a_stack_opened_again_is_clean),
		cmocka_unit_test(every_thread_can_have_fibers),
		cmocka_unit_test(it_is_empty_without_a_sanitizer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
