/* SPDX-License-Identifier: MIT */
/*
 * tests/os/pin_test.c - a plug-in that used weft can be unloaded.
 *
 * The program has a handler for SIGSEGV.  It must get its faults before a
 * plug-in with weft is loaded, while it is, and after dlclose, also if the
 * plug-in is loaded again.  One plug-in brings libweft.so, the other one is
 * linked with libweft.a.
 *
 * Children do it, and report in memory that they share with the test: valgrind
 * changes the exit status of a program that made a bad access.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/child.h"

enum { ROUNDS = 3, FAULTS = 1 + 2 * ROUNDS };

struct report {
	int done;	/* faults after which the program went on */
	int passed_on;	/* faults that another handler passed on */
	int error;	/* of dlopen, dlsym or the plug-in */
};

static struct report *seen;
static int *volatile nowhere = (int *)8;
static sigjmp_buf back;
static struct sigaction below; /* what pass_on found */

static void mine(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	siglongjmp(back, 1);
}

static void pass_on(int sig, siginfo_t *info, void *context)
{
	seen->passed_on++;
	below.sa_sigaction(sig, info, context);
}

static void fault(void)
{
	if (sigsetjmp(back, 1) == 0)
		*nowhere = 1;
	else
		seen->done++;
}

/* Load the plug-in and use it; NULL if that fails. */
static void *load(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*plug)(void) = NULL;

	if (plugin != NULL)
		*(void **)&plug = dlsym(plugin, "plug");
	if (plug != NULL && plug() == 0)
		return plugin;
	seen->error++;
	return NULL;
}

static void install(void (*handler)(int, siginfo_t *, void *),
	struct sigaction *before)
{
	struct sigaction action = { .sa_sigaction = handler,
		.sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGSEGV, &action, before);
}

static void load_and_unload(void *path)
{
	install(mine, NULL);
	fault();
	for (int i = 0; i < ROUNDS; i++) {
		void *plugin = load(path);

		fault();
		if (plugin != NULL)
			dlclose(plugin);
		fault();
	}
}

/* A handler that was installed later knows ours, and passes faults on to it. */
static void unload_below_another(void *path)
{
	void *plugin;

	install(mine, NULL);
	plugin = load(path);
	install(pass_on, &below);
	fault();
	if (plugin != NULL)
		dlclose(plugin);
	fault();
	if (load(path) != NULL)
		fault();
}

/* ------------------------------------------------------------------------ */

static char shared[] = PLUG_SHARED, archive[] = PLUG_ARCHIVE;

static void try_rounds(char *path)
{
	struct child c;

	memset(seen, 0, sizeof(*seen));
	child_run(&c, load_and_unload, path);
	assert_int_equal(seen->error, 0);
	assert_int_equal(seen->done, FAULTS);
}

static void try_below_another(char *path)
{
	struct child c;

	memset(seen, 0, sizeof(*seen));
	child_run(&c, unload_below_another, path);
	assert_int_equal(seen->error, 0);
	assert_int_equal(seen->done, 3);
	assert_int_equal(seen->passed_on, 3);
}

static void the_shared_library_leaves_the_handler_alone(void **state)
{
	(void)state;
	try_rounds(shared);
}

static void the_shared_library_stays_where_others_know_it(void **state)
{
	(void)state;
	try_below_another(shared);
}

static void the_archive_leaves_the_handler_alone(void **state)
{
	(void)state;
	try_rounds(archive);
}

static void the_archive_stays_where_others_know_it(void **state)
{
	(void)state;
	try_below_another(archive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shared_library_leaves_the_handler_alone),
		cmocka_unit_test(the_shared_library_stays_where_others_know_it),
		cmocka_unit_test(the_archive_leaves_the_handler_alone),
		cmocka_unit_test(the_archive_stays_where_others_know_it),
	};

	seen = child_shared(sizeof(*seen));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
