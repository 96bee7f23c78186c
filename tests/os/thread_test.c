/* SPDX-License-Identifier: MIT */
/*
 * tests/os/thread_test.c - a thread runs once, named, with its own stack size,
 * disturbed by no signal; one that cannot start leaves nothing behind.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/sanitize.h"
#include "base/units.h"
#include "os/os.h"

#define IN_TURN 1000

/* The calls that can fail, and the count that must be even afterwards. */
static int create_fails_with, created;
static bool alloc_fails;
static _Atomic(int) in_use;

int __real_pthread_create(pthread_t *id, const pthread_attr_t *attr,
	void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
	void *(*fn)(void *), void *arg);
void *__real_wf_os_alloc(size_t bytes);
void *__wrap_wf_os_alloc(size_t bytes);
void __real_wf_os_free(void *p);
void __wrap_wf_os_free(void *p);

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
	void *(*fn)(void *), void *arg)
{
	created++;
	if (create_fails_with != 0)
		return create_fails_with;
	return __real_pthread_create(id, attr, fn, arg);
}

void *__wrap_wf_os_alloc(size_t bytes)
{
	if (alloc_fails)
		return NULL;
	wf_add_rlx(&in_use, 1);
	return __real_wf_os_alloc(bytes);
}

void __wrap_wf_os_free(void *p)
{
	wf_sub_rlx(&in_use, p != NULL);
	__real_wf_os_free(p);
}

/* What a thread finds when it starts. */
struct findings {
	int calls;
	pthread_t self;
	char name[32];
	sigset_t mask;
	size_t stack_bytes;
	size_t use_bytes;	/* of the stack, if it is to be tried */
};

static wf_noinline void use_stack(size_t bytes)
{
	volatile char some[4096];

	some[0] = some[sizeof(some) - 1] = 1;
	if (bytes > sizeof(some))
		use_stack(bytes - sizeof(some));
	some[1] = some[0];
}

static void look_around(void *arg)
{
	struct findings *f = arg;
	pthread_attr_t attr;

	f->calls++;
	f->self = pthread_self();
	pthread_getname_np(pthread_self(), f->name, sizeof(f->name));
	pthread_sigmask(SIG_SETMASK, NULL, &f->mask);
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstacksize(&attr, &f->stack_bytes);
	pthread_attr_destroy(&attr);
	if (f->use_bytes > 0)
		use_stack(f->use_bytes);
}

static void run_thread(struct findings *f, size_t stack_bytes, const char *name)
{
	struct wf_os_thread t;

	assert_int_equal(
		wf_os_thread_start(&t, look_around, f, stack_bytes, name), 0);
	wf_os_thread_join(&t);
	assert_int_equal(f->calls, 1);
	assert_int_equal(wf_load_rlx(&in_use), 0);
}

static void it_runs_once_on_a_thread_of_its_own(void **state)
{
	struct findings f = { .calls = 0 };

	(void)state;
	run_thread(&f, 0, NULL);
	assert_false(pthread_equal(f.self, pthread_self()));
}

static void it_has_its_name(void **state)
{
	struct findings named = { .calls = 0 }, cut = { .calls = 0 };
	struct findings unnamed = { .calls = 0 };
	char mine[32];

	(void)state;
	run_thread(&named, 0, "weft/7");
	assert_string_equal(named.name, "weft/7");
	run_thread(&cut, 0, "abcdefghijklmnopqrstuvwxyz");
	assert_string_equal(cut.name, "abcdefghijklmno");
	pthread_getname_np(pthread_self(), mine, sizeof(mine));
	run_thread(&unnamed, 0, NULL);
	assert_string_equal(unnamed.name, mine);
}

/* Those that a thread causes by what it does. */
static bool is_synchronous(int sig)
{
	static const int ours[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
		SIGSYS, SIGABRT };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (sig == ours[i])
			return true;
	return false;
}

/* libc and an emulator keep a few for themselves; SIGKILL cannot be. */
static bool can_be_blocked(int sig)
{
	sigset_t all, before, blocked;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_sigmask(SIG_SETMASK, &before, &blocked);
	return sigismember(&blocked, sig);
}

static void check_mask(const sigset_t *mask)
{
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (can_be_blocked(sig))
			assert_int_equal(
				sigismember(mask, sig), !is_synchronous(sig));
}

static void all_signals_but_its_own_are_blocked(void **state)
{
	struct findings f = { .calls = 0 };

	(void)state;
	run_thread(&f, 0, NULL);
	check_mask(&f.mask);
}

/* The creator blocks all signals, and finds its own mask unchanged. */
static void the_mask_is_not_the_creators(void **state)
{
	struct findings f = { .calls = 0 };
	sigset_t all, before, after;

	(void)state;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	run_thread(&f, 0, NULL);
	pthread_sigmask(SIG_SETMASK, &before, &after);
	check_mask(&f.mask);
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (can_be_blocked(sig))
			assert_int_equal(sigismember(&after, sig), 1);
}

static void check_unblocked(void)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(sigismember(&mask, SIGUSR1), 0);
	assert_int_equal(sigismember(&mask, SIGTERM), 0);
}

/* libc may give one that it has kept, of up to four times the size. */
static void check_stack(const struct findings *f, size_t asked)
{
	assert_in_range(f->stack_bytes, asked, 4 * asked + WF_MIB);
}

static void its_stack_is_as_large_as_asked(void **state)
{
	/* Of 2 MiB ThreadSanitizer needs the better part of one. */
	struct findings small = { .use_bytes = WF_MIB };
	struct findings large = { .use_bytes = 12 * WF_MIB };

	(void)state;
	run_thread(&small, 2 * WF_MIB, NULL);
	check_stack(&small, 2 * WF_MIB);
	run_thread(&large, 16 * WF_MIB, NULL);
	check_stack(&large, 16 * WF_MIB);
}

static void the_default_stack_is_the_systems(void **state)
{
	struct findings f = { .calls = 0 };
	pthread_attr_t attr;
	size_t bytes;

	(void)state;
	pthread_attr_init(&attr);
	pthread_attr_getstacksize(&attr, &bytes);
	pthread_attr_destroy(&attr);
	run_thread(&f, 0, NULL);
	check_stack(&f, bytes);
}

static void count_up(void *arg)
{
	++*(int *)arg;
}

static void a_thousand_in_turn(void **state)
{
	int count = 0;

	(void)state;
	for (int i = 0; i < IN_TURN; i++) {
		struct wf_os_thread t;

		assert_int_equal(wf_os_thread_start(&t, count_up, &count,
					 128 * WF_KIB, "turn"), 0);
		wf_os_thread_join(&t);
		assert_int_equal(count, i + 1);
	}
	assert_int_equal(wf_load_rlx(&in_use), 0);
}

static void a_system_without_room_is_reported(void **state)
{
	static const int errors[] = { EAGAIN, ENOMEM };
	struct wf_os_thread t;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int count = 0;

		created = 0;
		create_fails_with = errors[i];
		assert_int_equal(
			wf_os_thread_start(&t, count_up, &count, 0, "never"),
			-errors[i]);
		create_fails_with = 0;
		assert_int_equal(created, 1);
		assert_int_equal(count, 0);
		assert_int_equal(wf_load_rlx(&in_use), 0);
		check_unblocked();
	}
}

static void no_memory_is_reported(void **state)
{
	struct wf_os_thread t;
	int count = 0, err;

	(void)state;
	created = 0;
	alloc_fails = true;
	err = wf_os_thread_start(&t, count_up, &count, 0, NULL);
	alloc_fails = false;
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(created, 0);
	check_unblocked();
}

/*
 * Not injected: no address space holds such a stack.  Valgrind has no other
 * word for all that it cannot map.
 */
static void an_absurd_stack_is_refused(void **state)
{
	struct wf_os_thread t;
	int count = 0, err;

	(void)state;
	err = wf_os_thread_start(&t, count_up, &count, (size_t)1 << 60, NULL);
	assert_int_equal(err, wf_on_valgrind() ? -EINVAL : -EAGAIN);
	assert_int_equal(count, 0);
	assert_int_equal(wf_load_rlx(&in_use), 0);
	check_unblocked();
}

static void yield_comes_back(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		wf_os_thread_yield();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_once_on_a_thread_of_its_own),
		cmocka_unit_test(it_has_its_name),
		cmocka_unit_test(all_signals_but_its_own_are_blocked),
		cmocka_unit_test(the_mask_is_not_the_creators),
		cmocka_unit_test(its_stack_is_as_large_as_asked),
		cmocka_unit_test(the_default_stack_is_the_systems),
		cmocka_unit_test(a_thousand_in_turn),
		cmocka_unit_test(a_system_without_room_is_reported),
		cmocka_unit_test(no_memory_is_reported),
		cmocka_unit_test(an_absurd_stack_is_refused),
		cmocka_unit_test(yield_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
