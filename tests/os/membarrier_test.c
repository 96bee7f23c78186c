/* SPDX-License-Identifier: MIT */
/*
 * tests/os/membarrier_test.c - a membarrier on one side makes up for the fence
 * that the other side does not have.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/litmus.h"
#include "base/units.h"
#include "os/child.h"
#include "os/os.h"

#define RUN_NS (400 * WF_NS_PER_MS)

/* Asked of the system itself; an emulator may have none. */
static bool kernel_has_it(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

static bool registered(void)
{
	int err = wf_os_membarrier_register();

	if (kernel_has_it()) {
		assert_int_equal(err, 0);
		return true;
	}
	printf("this kernel has no membarrier\n");
	assert_int_equal(err, -ENOTSUP);
	return false;
}

static void use_it(void *arg)
{
	(void)arg;
	wf_os_membarrier();
}

/* Must be the first test: children are born registered if we are. */
static void using_it_unregistered_is_a_mistake(void **state)
{
	static struct child child;

	(void)state;
	child_run(&child, use_it, NULL);
	assert_true(child_killed_by(&child, SIGABRT));
	assert_non_null(strstr(child.first, "without being registered\n"));
}

static void registered_it_can_be_used(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		if (registered())
			wf_os_membarrier();
}

/*
 * Store buffering, see litmus.h.  The light side first writes to lines that the
 * heavy side had last: its own word is then out so late that a fence on the
 * heavy side alone, or the time that any system call takes, is not enough.
 */
static struct litmus_word clutter[48];

static void write_clutter(void)
{
	for (size_t i = 0; i < sizeof(clutter) / sizeof(clutter[0]); i++)
		wf_store_rlx(&clutter[i].word, 1);
}

static uint32_t light(_Atomic(uint32_t) *mine, _Atomic(uint32_t) *theirs)
{
	write_clutter();
	wf_store_rlx(mine, 1);
	wf_fence_light();
	return wf_load_rlx(theirs);
}

static uint32_t heavy(_Atomic(uint32_t) *mine, _Atomic(uint32_t) *theirs)
{
	uint32_t seen;

	wf_store_rlx(mine, 1);
	wf_os_membarrier();
	seen = wf_load_rlx(theirs);
	write_clutter();
	return seen;
}

static void it_is_a_fence_in_the_other_thread(void **state)
{
	static struct litmus l = { .side = { light, heavy } };

	(void)state;
	if (!registered())
		return;
	litmus_run(&l, RUN_NS);
	printf("%ld races\n", l.races);
	assert_int_equal(l.both_zero, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(using_it_unregistered_is_a_mistake),
		cmocka_unit_test(registered_it_can_be_used),
		cmocka_unit_test(it_is_a_fence_in_the_other_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
