/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/probe.h - what the system says about the memory of stacks.
 */
#ifndef WEFT_TESTS_STACK_PROBE_H
#define WEFT_TESTS_STACK_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "os/os.h"
#include "stack/arena.h"

/* By an emulator: its memory and its times are not the program's. */
#ifndef WEFT_TEST_EMULATED
#define WEFT_TEST_EMULATED 0
#endif

/* ThreadSanitizer knows 8,000 stacks at a time, and not one more. */
#ifdef WF_TSAN
#define PROBE_TAKEN_MAX 2000
#else
#define PROBE_TAKEN_MAX 1000000
#endif

/* Does the program run on the machine, without a tool that measures too? */
static inline bool probe_plain(void)
{
#if defined(WF_ASAN) || defined(WF_TSAN)
	return false;
#else
	return !WEFT_TEST_EMULATED && !wf_on_valgrind();
#endif
}

/* Can the byte be read?  Asked of the kernel, which does not fault. */
static inline bool probe_readable(const void *p)
{
	static int tube[2];
	char byte;

	if (tube[1] == 0 && pipe(tube) < 0)
		abort();
	/* Not write(), which a sanitizer would look into. */
	if (syscall(SYS_write, tube[1], p, 1) != 1)
		return false;
	return read(tube[0], &byte, 1) == 1;
}

/* How many pages of [low, high) fault. */
static inline size_t probe_faulting(const char *low, const char *high)
{
	size_t n = 0;

	for (; low < high; low += wf_os_page_bytes())
		n += !probe_readable(low);
	return n;
}

/*
 * Is the slot guarded from its first byte up to the last below the stack, and
 * is what borders on the guard not?  (What borders on slot 0 is the header.)
 */
static inline bool probe_guarded(const struct wf_arena *a, uint32_t index)
{
	const char *slot = wf_arena_slot(a, index);
	const char *low = slot + a->shape.guard;

	return probe_faulting(slot, low) ==
		a->shape.guard / wf_os_page_bytes() &&
		!probe_readable(low - 1) && probe_readable(low) &&
		probe_readable(slot - 1);
}

static inline size_t probe_resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	size_t total, resident;

	if (f == NULL || fscanf(f, "%zu %zu", &total, &resident) != 2)
		abort();
	fclose(f);
	return resident * wf_os_page_bytes();
}

/* Mappings of the process. */
static inline size_t probe_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	size_t n = 0;
	int c;

	if (f == NULL)
		abort();
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

#endif
