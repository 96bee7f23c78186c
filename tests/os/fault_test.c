/* SPDX-License-Identifier: MIT */
/*
 * tests/os/fault_test.c - the watcher learns of a bad access, on the alternate
 * stack, before the program's own handler or the default action runs.
 *
 * The accesses are made in child processes, which begin with the default
 * action; only one test gives back the action that the program began with,
 * which is a sanitizer's handler where there is one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "base/units.h"
#include "os/child.h"
#include "os/os.h"
#include "support/skip.h"

#define STACK_BYTES (256 * WF_KIB)

/* What a child saw, in memory it shares with us. */
struct report {
	int watched;	   /* calls of the watcher */
	void *addr;	   /* what the last was told */
	int on_altstack;   /* where it ran */
	int other_watched; /* calls of the other watcher */
	int previous;	   /* calls of the handler before ours */
	int previous_sig;
	void *previous_addr;
	int previous_context;
	int went_on; /* the access, repeated, was good */
	int errno_after;
	int had_altstack; /* the thread, before we gave it one */
	char *stack_low;
};

static struct sigaction at_start; /* before the framework has its own */
static struct report *seen;
static struct child child;
static char *bad; /* a page that faults */

static bool has_altstack(void)
{
	stack_t now;

	return sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_DISABLE);
}

static void watcher(void *addr)
{
	stack_t now;

	seen->watched++;
	seen->addr = addr;
	if (sigaltstack(NULL, &now) == 0)
		seen->on_altstack = !!(now.ss_flags & SS_ONSTACK);
	errno = 12345;
}

static void other_watcher(void *addr)
{
	(void)addr;
	seen->other_watched++;
}

static void previous_plain(int sig)
{
	seen->previous++;
	seen->previous_sig = sig;
	_exit(3);
}

static void previous_informed(int sig, siginfo_t *info, void *context)
{
	seen->previous_addr = info->si_addr;
	seen->previous_context = context != NULL;
	previous_plain(sig);
}

/* One that makes the page good and returns, so that the access works. */
static void previous_repairs(int sig)
{
	(void)sig;
	seen->previous++;
	mprotect(bad, wf_os_page_bytes(), PROT_READ | PROT_WRITE);
}

static void touch(void)
{
	errno = 77;
	*(volatile char *)(bad + 5) = 1;
	seen->errno_after = errno;
	seen->went_on++;
}

static void watch_or_exit(wf_os_fault_fn *fn)
{
	if (wf_os_fault_watch(fn) != 0)
		_exit(120);
}

/* Run fn in a child, with nothing seen yet. */
static void run(void (*fn)(void *), void *arg)
{
	memset(seen, 0, sizeof(*seen));
	child_run(&child, fn, arg);
}

static void watch_and_touch(void *arg)
{
	struct wf_os_altstack a;

	(void)arg;
	if (wf_os_altstack_open(&a) != 0)
		_exit(121);
	watch_or_exit(watcher);
	touch();
}

static void the_watcher_is_told_then_the_default_kills(void **state)
{
	(void)state;
	run(watch_and_touch, NULL);
	assert_true(child_killed_by(&child, SIGSEGV));
	assert_int_equal(seen->watched, 1);
	assert_ptr_equal(seen->addr, bad + 5);
	assert_true(seen->on_altstack);
	assert_int_equal(seen->went_on, 0);
}

/* A sanitizer reports and exits; without one this is the default again. */
static void touch_as_at_start(void *arg)
{
	sigaction(SIGSEGV, &at_start, NULL);
	watch_and_touch(arg);
}

static void the_watcher_is_told_then_the_programs_own_handler(void **state)
{
	bool own = (at_start.sa_flags & SA_SIGINFO) ||
		at_start.sa_handler != SIG_DFL;

	(void)state;
	run(touch_as_at_start, NULL);
	printf("this program began with %s\n",
		own ? "a handler: a sanitizer's" : "the default action");
	assert_int_equal(seen->watched, 1);
	assert_ptr_equal(seen->addr, bad + 5);
	assert_int_equal(seen->went_on, 0);
	if (own)
		assert_false(child_exited_with(&child, 0));
	else
		assert_true(child_killed_by(&child, SIGSEGV));
}

static void set_previous(const struct sigaction *previous)
{
	sigaction(SIGSEGV, previous, NULL);
	watch_or_exit(watcher);
	touch();
}

static void touch_before_plain(void *arg)
{
	(void)arg;
	set_previous(&(struct sigaction){ .sa_handler = previous_plain });
}

static void touch_before_informed(void *arg)
{
	(void)arg;
	set_previous(&(struct sigaction){
		.sa_sigaction = previous_informed, .sa_flags = SA_SIGINFO });
}

static void touch_before_repair(void *arg)
{
	(void)arg;
	set_previous(&(struct sigaction){ .sa_handler = previous_repairs });
}

static void touch_ignored(void *arg)
{
	(void)arg;
	set_previous(&(struct sigaction){ .sa_handler = SIG_IGN });
}

static void check_passed_on(void)
{
	assert_int_equal(seen->watched, 1);
	assert_ptr_equal(seen->addr, bad + 5);
	assert_int_equal(seen->previous, 1);
	assert_int_equal(seen->previous_sig, SIGSEGV);
	assert_int_equal(seen->went_on, 0);
	assert_true(WIFEXITED(child.status));
	assert_false(child_exited_with(&child, 0));
}

static void a_handler_from_before_gets_the_signal(void **state)
{
	(void)state;
	run(touch_before_plain, NULL);
	check_passed_on();
}

static void a_siginfo_handler_from_before_gets_it_too(void **state)
{
	(void)state;
	run(touch_before_informed, NULL);
	check_passed_on();
	assert_ptr_equal(seen->previous_addr, bad + 5);
	assert_true(seen->previous_context);
}

/* Valgrind goes on with registers that are not those of the access. */
static void when_it_returns_the_program_goes_on_undisturbed(void **state)
{
	(void)state;
	if (wf_on_valgrind()) {
		skip_because("valgrind goes on with other registers");
	}
	run(touch_before_repair, NULL);
	assert_true(child_exited_with(&child, 0));
	assert_int_equal(seen->watched, 1);
	assert_int_equal(seen->previous, 1);
	assert_int_equal(seen->went_on, 1);
	assert_int_equal(seen->errno_after, 77);
}

/* A fault cannot be ignored: the access would be repeated for ever. */
static void ignoring_it_before_does_not_help(void **state)
{
	(void)state;
	run(touch_ignored, NULL);
	assert_true(child_killed_by(&child, SIGSEGV));
	assert_int_equal(seen->watched, 1);
	assert_int_equal(seen->went_on, 0);
}

static void touch_watched_twice(void *arg)
{
	(void)arg;
	watch_or_exit(watcher);
	watch_or_exit(other_watcher);
	touch();
}

static void touch_watched_by_nobody(void *arg)
{
	(void)arg;
	watch_or_exit(watcher);
	watch_or_exit(NULL);
	touch();
}

static void a_later_watcher_takes_the_place_of_the_first(void **state)
{
	(void)state;
	run(touch_watched_twice, NULL);
	assert_true(child_killed_by(&child, SIGSEGV));
	assert_int_equal(seen->watched, 0);
	assert_int_equal(seen->other_watched, 1);
	run(touch_watched_by_nobody, NULL);
	assert_true(child_killed_by(&child, SIGSEGV));
	assert_int_equal(seen->watched, 0);
}

static void raise_it(void *arg)
{
	(void)arg;
	watch_or_exit(watcher);
	raise(SIGSEGV);
	seen->went_on++;
}

/* No address is bad, so none can be told, and no access will be repeated. */
static void a_signal_that_was_sent_ends_the_program_too(void **state)
{
	(void)state;
	run(raise_it, NULL);
	assert_int_equal(seen->watched, 0);
	assert_int_equal(seen->went_on, 0);
	assert_true(child_killed_by(&child, SIGSEGV));
}

/* Deeper than any stack; the result keeps it from becoming a loop. */
static wf_noinline unsigned deeper(unsigned depth)
{
	volatile char some[512];

	some[0] = (char)depth;
	if (depth > 0)
		some[1] = (char)deeper(depth - 1);
	return (unsigned)some[0] + (unsigned)some[1];
}

static void overflow(void *altstack_too)
{
	struct wf_os_altstack a;
	pthread_attr_t attr;
	size_t bytes;
	void *low;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &bytes);
	pthread_attr_destroy(&attr);
	seen->stack_low = low;
	seen->had_altstack = has_altstack();
	if (altstack_too && wf_os_altstack_open(&a) != 0)
		_exit(121);
	seen->went_on = (int)deeper(UINT32_MAX) | 1;
}

static void overflow_a_thread(void *altstack_too)
{
	struct wf_os_thread t;

	watch_or_exit(watcher);
	if (wf_os_thread_start(&t, overflow, altstack_too, STACK_BYTES, NULL))
		_exit(122);
	wf_os_thread_join(&t);
}

static void an_overflow_is_told_on_the_alternate_stack(void **state)
{
	uintptr_t low, at;

	(void)state;
	run(overflow_a_thread, &child);
	assert_true(child_killed_by(&child, SIGSEGV));
	assert_int_equal(seen->watched, 1);
	assert_true(seen->on_altstack);
	low = (uintptr_t)seen->stack_low;
	at = (uintptr_t)seen->addr;
	assert_in_range(at, low - 128 * WF_KIB, low + 64 * WF_KIB);
}

/* A sanitizer gives every thread one; otherwise it is what made it work. */
static void without_an_alternate_stack_it_is_not_told(void **state)
{
	(void)state;
	run(overflow_a_thread, NULL);
	assert_true(child_killed_by(&child, SIGSEGV));
	assert_int_equal(seen->watched, seen->had_altstack);
}

static void disable_altstack(stack_t *before)
{
	const stack_t none = { .ss_flags = SS_DISABLE };

	assert_int_equal(sigaltstack(&none, before), 0);
}

static void an_altstack_is_opened_and_closed(void **state)
{
	struct wf_os_altstack a = { .memory = &child };
	unsigned char map[64];
	stack_t before, now;
	void *memory;

	(void)state;
	disable_altstack(&before);
	assert_int_equal(wf_os_altstack_open(&a), 0);
	memory = a.memory;
	assert_non_null(memory);
	assert_int_equal(sigaltstack(NULL, &now), 0);
	assert_int_equal(now.ss_flags & SS_DISABLE, 0);
	assert_ptr_equal(now.ss_sp, memory);
	assert_true(now.ss_size >= (size_t)MINSIGSTKSZ);
	memset(memory, 1, now.ss_size);
	wf_os_altstack_close(&a);
	assert_null(a.memory);
	assert_false(has_altstack());
	assert_true(mincore(memory, wf_os_page_bytes(), map) < 0);
	wf_os_altstack_close(&a);
	sigaltstack(&before, NULL);
}

static void an_altstack_of_the_threads_own_is_kept(void **state)
{
	static char mine[64 * 1024];
	const stack_t own = { .ss_sp = mine, .ss_size = sizeof(mine) };
	struct wf_os_altstack a = { .memory = &child };
	stack_t before, now;

	(void)state;
	disable_altstack(&before);
	assert_int_equal(sigaltstack(&own, NULL), 0);
	assert_int_equal(wf_os_altstack_open(&a), 0);
	assert_null(a.memory);
	sigaltstack(NULL, &now);
	assert_ptr_equal(now.ss_sp, mine);
	assert_int_equal(now.ss_size, sizeof(mine));
	wf_os_altstack_close(&a);
	sigaltstack(NULL, &now);
	assert_ptr_equal(now.ss_sp, mine);
	assert_int_equal(now.ss_flags & SS_DISABLE, 0);
	disable_altstack(&now);
	sigaltstack(&before, NULL);
}

/*
 * A long complaint, into a pipe that is read slowly, while signals interrupt
 * the writing all the time.
 */
#define COMPLAINT_BYTES (400 * 1024)

static char complaint[COMPLAINT_BYTES], heard[COMPLAINT_BYTES + 1];
static size_t heard_bytes;

static void listener(void *arg)
{
	const struct timespec nap = { .tv_nsec = WF_NS_PER_MS };
	int fd = *(int *)arg;

	while (heard_bytes < sizeof(heard)) {
		size_t room = sizeof(heard) - heard_bytes;
		ssize_t n =
			read(fd, heard + heard_bytes, wf_min_size(room, 5000));

		if (n <= 0)
			return;
		heard_bytes += (size_t)n;
		nanosleep(&nap, NULL);
	}
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Standard error is the pipe for as long as it takes. */
static void complain_into(int fd)
{
	const struct sigaction act = { .sa_handler = on_alarm };
	const struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	int saved = dup(STDERR_FILENO);

	assert_true(saved >= 0);
	assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
	dup2(fd, STDERR_FILENO);
	setitimer(ITIMER_REAL, &every, NULL);
	wf_os_complain(complaint, sizeof(complaint));
	setitimer(ITIMER_REAL, &never, NULL);
	dup2(saved, STDERR_FILENO);
	close(saved);
}

static void a_complaint_is_written_to_its_end(void **state)
{
	struct wf_os_thread t;
	int tube[2];

	(void)state;
	for (size_t i = 0; i < sizeof(complaint); i++)
		complaint[i] = (char)('a' + i % 23);
	assert_int_equal(pipe(tube), 0);
	assert_int_equal(
		wf_os_thread_start(&t, listener, &tube[0], 0, NULL), 0);
	complain_into(tube[1]);
	close(tube[1]);
	wf_os_thread_join(&t);
	close(tube[0]);
	assert_int_equal(heard_bytes, sizeof(complaint));
	assert_memory_equal(heard, complaint, sizeof(complaint));
}

static void complain_without_stderr(void *arg)
{
	(void)arg;
	close(STDERR_FILENO);
	wf_os_complain("unheard\n", 8);
	wf_os_complain("", 0);
}

static void a_complaint_without_stderr_does_no_harm(void **state)
{
	(void)state;
	run(complain_without_stderr, NULL);
	assert_true(child_exited_with(&child, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_watcher_is_told_then_the_default_kills),
		cmocka_unit_test(
			the_watcher_is_told_then_the_programs_own_handler),
		cmocka_unit_test(a_handler_from_before_gets_the_signal),
		cmocka_unit_test(a_siginfo_handler_from_before_gets_it_too),
		cmocka_unit_test(
			when_it_returns_the_program_goes_on_undisturbed),
		cmocka_unit_test(ignoring_it_before_does_not_help),
		cmocka_unit_test(a_later_watcher_takes_the_place_of_the_first),
		cmocka_unit_test(a_signal_that_was_sent_ends_the_program_too),
		cmocka_unit_test(an_overflow_is_told_on_the_alternate_stack),
		cmocka_unit_test(without_an_alternate_stack_it_is_not_told),
		cmocka_unit_test(an_altstack_is_opened_and_closed),
		cmocka_unit_test(an_altstack_of_the_threads_own_is_kept),
		cmocka_unit_test(a_complaint_is_written_to_its_end),
		cmocka_unit_test(a_complaint_without_stderr_does_no_harm),
	};
	void *page;

	sigaction(SIGSEGV, NULL, &at_start);
	seen = child_shared(sizeof(*seen));
	if (wf_os_vm_map(&page, wf_os_page_bytes()) != 0 ||
		wf_os_vm_protect(page, wf_os_page_bytes()) != 0)
		return 1;
	bad = page;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
