/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/overflow_test.c - a fiber that overflows its stack ends the
 * program with a line that names the fiber, and harms no other memory.
 *
 * All of it happens in child processes.  There the fiber is a function on the
 * second of three stacks that lie side by side; the two others are full of
 * canaries.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "frames.h"
#include "hop.h"
#include "kit.h"
#include "os/child.h"
#include "stack/overflow.h"

#define CANARY 0x5a
#define CHAINED 42	/* the exit status of a handler that was there before */

/* What a child does. */
struct act {
	void (*harm)(void);
	const char *name;		/* the fiber's */
	enum { NONE, PLAIN, INFORMED, AS_AT_START } previous;
	bool no_fiber;			/* the library sees no fiber */
};

/* What it saw. */
struct report {
	int chained;			/* calls of the handler before ours */
	int canaries;			/* they are intact */
	void *addr;			/* what the handler was told */
	char *guard;			/* of the stack in question */
	char *low;
	size_t promised;
	int returned;			/* the harm was survived */
};

static struct sigaction at_start;	/* before the framework has its own */
static struct report *seen;
static struct child child;

/* In the child. */
static struct kit kit;
static struct wf_stack *stacks[3];
static struct hop hop;
static const struct act *acted;

static void entry(struct hop *h)
{
	(void)h;
	acted->harm();
	seen->returned = 1;
}

static bool whois(struct wf_overflow_who *who)
{
	*who = (struct wf_overflow_who){ .name = acted->name,
		.entry = (void *)entry,
		.stack = stacks[1] };
	return !acted->no_fiber;
}

static size_t usable(struct wf_stack *s)
{
	return (size_t)(wf_stack_top(s) - wf_stack_low(s));
}

static bool intact(struct wf_stack *s)
{
	const char *low = wf_stack_low(s);

	return low[0] == CANARY && memcmp(low, low + 1, usable(s) - 1) == 0;
}

static void chained_plain(int sig)
{
	seen->chained += sig == SIGSEGV;
	seen->canaries = intact(stacks[0]) && intact(stacks[2]);
	_exit(CHAINED);
}

static void chained_informed(int sig, siginfo_t *info, void *context)
{
	seen->addr = context ? info->si_addr : NULL;
	chained_plain(sig);
}

static void set_previous(const struct act *a)
{
	struct sigaction act = { .sa_handler = SIG_DFL };

	if (a->previous == AS_AT_START)
		act = at_start;
	if (a->previous == PLAIN)
		act.sa_handler = chained_plain;
	if (a->previous == INFORMED) {
		act.sa_sigaction = chained_informed;
		act.sa_flags = SA_SIGINFO;
	}
	sigaction(SIGSEGV, &act, NULL);
}

/* The first three slots of an arena are side by side. */
static void set_stage(void)
{
	kit_open(&kit, NULL);
	kit_take_all(&kit.cache, kit_class(&kit, 64 * WF_KIB), stacks, 3);
	for (int i = 0; i < 3; i += 2)
		memset(wf_stack_low(stacks[i]), CANARY, usable(stacks[i]));
	seen->low = wf_stack_low(stacks[1]);
	seen->guard = seen->low - stacks[1]->arena->shape.guard;
	seen->promised = stacks[1]->arena->shape.promised;
	if ((char *)stacks[0] > seen->guard || (char *)stacks[2] < seen->low)
		_exit(120);
}

static void play(void *arg)
{
	struct wf_os_altstack a;

	acted = arg;
	set_previous(acted);
	set_stage();
	if (wf_overflow_watch(whois) != 0 || wf_overflow_enter(&a) != 0)
		_exit(121);
	hop_open(&hop, stacks[1], entry, NULL);
	hop_go(&hop);
}

/* ------------------------------------------------------------------------ */
/* What the parent finds. */

static void run(const struct act *a)
{
	memset(seen, 0, sizeof(*seen));
	child_run(&child, play, (void *)(uintptr_t)a);
	assert_int_equal(seen->returned, 0);
}

/* One line, which says who, and where the fault was; the address. */
static char *check_line(const char *name)
{
	const char *line = strstr(child.text, "weft: stack overflow");
	char expected[256], rest[64] = "";
	void *addr = NULL;
	int n = snprintf(expected, sizeof(expected),
		"weft: stack overflow in fiber \"%s\" (entry %p): "
		"%zu KiB of stack promised, fault at ",
		name, (void *)entry, seen->promised / WF_KIB);

	assert_non_null(line);
	if (strncmp(line, expected, (size_t)n) != 0)
		fail_msg("\"%s\" does not begin with \"%s\"", line, expected);
	assert_int_equal(
		sscanf(line + n, "%p in the%63[^\n]", &addr, rest), 2);
	assert_string_equal(rest, " guard below it");
	assert_true((char *)addr >= seen->guard && (char *)addr < seen->low);
	/* It is all there is, and said once. */
	assert_non_null(strchr(line, '\n'));
	assert_null(strstr(line + 1, "weft:"));
	return addr;
}

/* Valgrind gives a child in which it saw a bad access its own status. */
static void check_chained(void)
{
	assert_int_equal(seen->chained, 1);
	assert_true(seen->canaries);
	if (!wf_on_valgrind())
		assert_true(child_exited_with(&child, CHAINED));
}

static void check_overflow(void (*harm)(void))
{
	const struct act a = { .harm = harm, .name = "digger",
		.previous = INFORMED };

	run(&a);
	assert_ptr_equal(check_line("digger"), seen->addr);
	check_chained();
}

static void recursion_is_stopped(void **state)
{
	(void)state;
	check_overflow(frames_probed.small);
	check_overflow(frames_unprobed.small);
}

static void wide_frames_are_stopped(void **state)
{
	(void)state;
	check_overflow(frames_probed.wide);
	check_overflow(frames_unprobed.wide);
}

static void wider_frames_are_stopped(void **state)
{
	(void)state;
	check_overflow(frames_probed.wider);
	check_overflow(frames_unprobed.wider);
}

static void a_frame_that_grows_is_stopped(void **state)
{
	(void)state;
	check_overflow(frames_probed.growing);
	check_overflow(frames_unprobed.growing);
}

static void a_plain_handler_gets_the_signal_too(void **state)
{
	const struct act a = { .harm = frames_probed.small, .name = "digger",
		.previous = PLAIN };

	(void)state;
	run(&a);
	check_line("digger");
	check_chained();
}

static void without_a_handler_the_signal_kills(void **state)
{
	const struct act a = { .harm = frames_unprobed.wide, .name = "digger" };

	(void)state;
	run(&a);
	check_line("digger");
	assert_true(child_killed_by(&child, SIGSEGV));
}

/* A sanitizer reports and exits; without one this is the default again. */
static void the_programs_own_handler_follows(void **state)
{
	const struct act a = { .harm = frames_probed.small, .name = "digger",
		.previous = AS_AT_START };
	bool own = (at_start.sa_flags & SA_SIGINFO) ||
		at_start.sa_handler != SIG_DFL;

	(void)state;
	run(&a);
	printf("this program began with %s\n",
		own ? "a handler: a sanitizer's" : "the default action");
	check_line("digger");
	if (own) {
		const char *line = strstr(child.text, "weft:");

		assert_non_null(strstr(line, "Sanitizer"));
		assert_false(child_exited_with(&child, 0));
	} else {
		assert_true(child_killed_by(&child, SIGSEGV));
	}
}

static void a_fiber_without_a_name_is_told_by_its_entry(void **state)
{
	const struct act a = { .harm = frames_probed.small,
		.previous = INFORMED };

	(void)state;
	run(&a);
	check_line("unnamed");
	check_chained();
}

/* The line is whole, however long the name is. */
static void a_name_is_cut_after_64_bytes(void **state)
{
	static char name[1000], cut[65];
	const struct act a = { .harm = frames_probed.small, .name = name,
		.previous = INFORMED };

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	memset(cut, 'n', sizeof(cut) - 1);
	run(&a);
	check_line(cut);
	check_chained();
}

/* ------------------------------------------------------------------------ */
/* Faults that are not overflows. */

static void touch_nothing(void)
{
	/* The address is not 0, which a sanitizer would look for. */
	volatile char *volatile p = (volatile char *)(uintptr_t)16;

	*p = 1;
}

static void touch_the_next_guard(void)
{
	*(volatile char *)(wf_stack_low(stacks[2]) - 1) = 1;
}

static void check_silent(const struct act *a)
{
	run(a);
	assert_null(strstr(child.text, "weft:"));
}

static void a_bad_pointer_is_no_overflow(void **state)
{
	const struct act kills = { .harm = touch_nothing, .name = "digger" };
	const struct act chains = { .harm = touch_nothing, .name = "digger",
		.previous = INFORMED };

	(void)state;
	check_silent(&kills);
	assert_true(child_killed_by(&child, SIGSEGV));
	check_silent(&chains);
	assert_ptr_equal(seen->addr, (void *)(uintptr_t)16);
	check_chained();
}

static void the_guard_of_another_is_no_overflow(void **state)
{
	const struct act a = { .harm = touch_the_next_guard, .name = "digger" };

	(void)state;
	check_silent(&a);
	assert_true(child_killed_by(&child, SIGSEGV));
}

static void without_a_fiber_there_is_no_overflow(void **state)
{
	const struct act a = { .harm = frames_probed.small, .no_fiber = true };

	(void)state;
	check_silent(&a);
	assert_true(child_killed_by(&child, SIGSEGV));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recursion_is_stopped),
		cmocka_unit_test(wide_frames_are_stopped),
		cmocka_unit_test(wider_frames_are_stopped),
		cmocka_unit_test(a_frame_that_grows_is_stopped),
		cmocka_unit_test(a_plain_handler_gets_the_signal_too),
		cmocka_unit_test(without_a_handler_the_signal_kills),
		cmocka_unit_test(the_programs_own_handler_follows),
		cmocka_unit_test(a_fiber_without_a_name_is_told_by_its_entry),
		cmocka_unit_test(a_name_is_cut_after_64_bytes),
		cmocka_unit_test(a_bad_pointer_is_no_overflow),
		cmocka_unit_test(the_guard_of_another_is_no_overflow),
		cmocka_unit_test(without_a_fiber_there_is_no_overflow),
	};

	sigaction(SIGSEGV, NULL, &at_start);
	seen = child_shared(sizeof(*seen));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
