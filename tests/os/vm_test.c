/* SPDX-License-Identifier: MIT */
/*
 * tests/os/vm_test.c - pages are zeroed, guarded, given back and protected just
 * where asked, in one kernel call for many spans or without it.
 *
 * Whether an address can be read or written is asked of the kernel, by a system
 * call on it, which fails where an access would fault; that it does fault is
 * seen in child processes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "base/units.h"
#include "os/child.h"
#include "os/os.h"

#define GUARD_INSTALL 102
#define NO_SUCH_ADVICE 9999
#define SPANS_MAX 200

static size_t page;
static int tube[2];		/* a pipe */
static bool by_pipe;
static char scratch;
static struct child child;

/* What the kernel does with many spans at once, besides what it can. */
static enum { AS_IT_CAN, REFUSES, STOPS_HALFWAY } together;
static int refused_advice, refused_errno;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_madvise(void *addr, size_t bytes, int advice);
int __wrap_madvise(void *addr, size_t bytes, int advice);

/* process_madvise(pidfd, spans, n, advice, flags), the only one in vm.c. */
long __wrap_syscall(long number, ...)
{
	va_list args;
	size_t n;
	void *spans;
	int pidfd, advice;

	va_start(args, number);
	pidfd = va_arg(args, int);
	spans = va_arg(args, void *);
	n = va_arg(args, size_t);
	advice = va_arg(args, int);
	va_end(args);
	if (number != SYS_process_madvise || together == REFUSES) {
		errno = ENOSYS;
		return -1;
	}
	if (together == STOPS_HALFWAY)
		n /= 2;
	return __real_syscall(number, pidfd, spans, n, advice, 0);
}

int __wrap_madvise(void *addr, size_t bytes, int advice)
{
	if (refused_errno != 0 && advice == refused_advice) {
		errno = refused_errno;
		return -1;
	}
	return __real_madvise(addr, bytes, advice);
}

/*
 * Where it may, the kernel is asked by process_vm_readv; else by a pipe, at
 * which valgrind would complain.
 */
static bool readable(char *p)
{
	const struct iovec here = { &scratch, 1 }, there = { p, 1 };

	if (!by_pipe)
		return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
	return write(tube[1], p, 1) == 1 && read(tube[0], &scratch, 1) == 1;
}

/* Writes what was read last. */
static bool writable(char *p)
{
	const struct iovec here = { &scratch, 1 }, there = { p, 1 };

	if (!by_pipe)
		return process_vm_writev(getpid(), &here, 1, &there, 1, 0) == 1;
	if (write(tube[1], &scratch, 1) != 1)
		return false;
	if (read(tube[0], p, 1) == 1)
		return true;
	(void)!read(tube[0], &scratch, 1);
	return false;
}

static bool accessible(char *p)
{
	bool first = readable(p), last;

	assert_int_equal(writable(p), first);
	last = readable(p + page - 1);
	assert_int_equal(writable(p + page - 1), last);
	assert_int_equal(first, last);
	return first;
}

static void read_byte(void *p)
{
	(void)*(volatile char *)p;
}

static void write_byte(void *p)
{
	*(volatile char *)p = 1;
}

static void check_faults(char *p)
{
	child_run(&child, read_byte, p);
	assert_true(child_killed_by(&child, SIGSEGV));
	child_run(&child, write_byte, p);
	assert_true(child_killed_by(&child, SIGSEGV));
}

static size_t resident_pages(void *addr, size_t pages)
{
	unsigned char map[4096];
	size_t n = 0;

	assert_true(pages <= sizeof(map));
	assert_int_equal(mincore(addr, pages * page, map), 0);
	for (size_t i = 0; i < pages; i++)
		n += map[i] & 1;
	return n;
}

static size_t mappings_of(char *addr, size_t bytes)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[1024];
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		unsigned long long low, high;

		n += sscanf(line, "%llx-%llx", &low, &high) == 2 &&
			low < (uintptr_t)addr + bytes && high > (uintptr_t)addr;
	}
	fclose(f);
	return n;
}

static char *map_pages(size_t pages)
{
	void *p = NULL;

	assert_int_equal(wf_os_vm_map(&p, pages * page), 0);
	return p;
}

/* Every second page, from the second on. */
static const struct wf_os_span *odd_pages(char *base, size_t n)
{
	static struct wf_os_span spans[SPANS_MAX];

	for (size_t i = 0; i < n; i++)
		spans[i] = (struct wf_os_span){ base + (2 * i + 1) * page,
			page };
	return spans;
}

static void a_page_is_what_the_system_says(void **state)
{
	(void)state;
	assert_int_equal(wf_os_page_bytes(), sysconf(_SC_PAGESIZE));
	assert_true(wf_is_pow2(wf_os_page_bytes()));
}

static void mapped_memory_is_zeroed_and_ours(void **state)
{
	const size_t pages = 16;
	char *p = map_pages(pages);

	(void)state;
	assert_int_equal((uintptr_t)p % page, 0);
	for (size_t i = 0; i < pages * page; i++)
		assert_int_equal(p[i], 0);
	memset(p, 0xa5, pages * page);
	for (size_t i = 0; i < pages * page; i++)
		assert_int_equal((unsigned char)p[i], 0xa5);
	wf_os_vm_unmap(p, pages * page);
}

/* Were there huge pages, one touch would make 2 MiB resident. */
static void only_what_is_touched_becomes_resident(void **state)
{
	const size_t bytes = 8 * WF_MIB, step = 2 * WF_MIB;
	const size_t pages = bytes / page;
	char *p = map_pages(pages);

	(void)state;
	assert_int_equal(resident_pages(p, pages), 0);
	for (size_t at = 0; at < bytes; at += step)
		p[at + 3 * page] = 1;
	assert_int_equal(resident_pages(p, pages), bytes / step);
	wf_os_vm_unmap(p, bytes);
}

static void unmapped_memory_is_gone(void **state)
{
	unsigned char map[4];
	char *p = map_pages(4);

	(void)state;
	wf_os_vm_unmap(p + page, 2 * page);
	assert_true(accessible(p));
	assert_false(accessible(p + page));
	assert_false(accessible(p + 2 * page));
	assert_true(accessible(p + 3 * page));
	assert_true(mincore(p + page, page, map) < 0 && errno == ENOMEM);
	wf_os_vm_unmap(p, page);
	wf_os_vm_unmap(p + 3 * page, page);
}

static void an_absurd_size_is_refused(void **state)
{
	/* Valgrind has no other word for all that it cannot map. */
	int expected = wf_on_valgrind() ? -EINVAL : -ENOMEM;
	void *p = &child;

	(void)state;
	assert_int_equal(wf_os_vm_map(&p, SIZE_MAX / 2 + 1), expected);
	assert_int_equal(wf_os_vm_map(&p, (size_t)1 << 60), expected);
	assert_ptr_equal(p, &child);
}

static void no_huge_pages_to_refuse_is_no_error(void **state)
{
	char *p;

	(void)state;
	refused_advice = MADV_NOHUGEPAGE;
	refused_errno = EINVAL;
	p = map_pages(1);
	refused_errno = 0;
	wf_os_vm_unmap(p, page);
}

/*
 * Can this kernel guard?  One that takes an advice which does not exist (an
 * emulator of system calls may) does nothing for those it takes.
 */
static bool guards_exist(void)
{
	char *p = map_pages(1);
	bool nonsense = madvise(p, page, NO_SUCH_ADVICE) == 0;
	bool there = !nonsense && madvise(p, page, GUARD_INSTALL) == 0;

	if (!there)
		assert_true(nonsense || errno == EINVAL);
	wf_os_vm_unmap(p, page);
	return there;
}

/* Guard n spans at once.  False: there are no guards here. */
static bool guard(char *base, size_t n)
{
	int err = wf_os_vm_guard(odd_pages(base, n), n);

	if (guards_exist()) {
		assert_int_equal(err, 0);
		return true;
	}
	assert_int_equal(err, -ENOTSUP);
	printf("no guards in this kernel\n");
	return false;
}

static void a_guard_faults_and_its_neighbours_do_not(void **state)
{
	char *p = map_pages(4);

	(void)state;
	memset(p, 1, 4 * page);
	if (guard(p, 1)) {
		check_faults(p + page);
		check_faults(p + 2 * page - 1);
		assert_true(accessible(p));
		assert_true(accessible(p + 2 * page));
		assert_int_equal(p[1], 1);
		assert_int_equal(p[2 * page + 1], 1);
	}
	wf_os_vm_unmap(p, 4 * page);
}

static void check_many_guards(size_t n)
{
	const size_t pages = 2 * n + 1;
	char *p = map_pages(pages);
	size_t before = mappings_of(p, pages * page);

	if (guard(p, n)) {
		assert_int_equal(mappings_of(p, pages * page), before);
		for (size_t i = 0; i < pages; i++)
			assert_int_equal(accessible(p + i * page), i % 2 == 0);
	}
	wf_os_vm_unmap(p, pages * page);
}

static void many_guards_are_made_in_one_call(void **state)
{
	static const size_t counts[] = { 2, 63, 64, 65, 66, 128, 129,
		SPANS_MAX };

	(void)state;
	assert_int_equal(wf_os_vm_guard(NULL, 0), 0);
	for (together = AS_IT_CAN; together <= STOPS_HALFWAY; together++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			check_many_guards(counts[i]);
	together = AS_IT_CAN;
}

static void no_guards_are_told_from_no_memory(void **state)
{
	char *p = map_pages(3);
	int unknown, no_memory;

	(void)state;
	refused_advice = GUARD_INSTALL;
	refused_errno = EINVAL;
	unknown = wf_os_vm_guard(odd_pages(p, 1), 1);
	refused_errno = ENOMEM;
	no_memory = wf_os_vm_guard(odd_pages(p, 1), 1);
	refused_errno = 0;
	assert_int_equal(unknown, -ENOTSUP);
	if (guards_exist())
		assert_int_equal(no_memory, -ENOMEM);
	assert_true(accessible(p + page));
	wf_os_vm_unmap(p, 3 * page);
}

/* n spans in one call give their pages back, and no others. */
static void check_discard(size_t n)
{
	const size_t pages = 2 * n + 1;
	char *p = map_pages(pages);

	memset(p, 0x77, pages * page);
	assert_int_equal(resident_pages(p, pages), pages);
	assert_int_equal(wf_os_vm_discard(odd_pages(p, n), n), 0);
	assert_int_equal(resident_pages(p, pages), pages - n);
	for (size_t i = 0; i < pages; i++) {
		assert_int_equal(p[i * page], i % 2 ? 0 : 0x77);
		assert_int_equal(p[(i + 1) * page - 1], i % 2 ? 0 : 0x77);
	}
	wf_os_vm_unmap(p, pages * page);
}

static void discarded_pages_are_zero_and_not_resident(void **state)
{
	static const size_t counts[] = { 1, 2, 64, 65, SPANS_MAX };

	(void)state;
	assert_int_equal(wf_os_vm_discard(NULL, 0), 0);
	for (together = AS_IT_CAN; together <= STOPS_HALFWAY; together++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			check_discard(counts[i]);
	together = AS_IT_CAN;
}

static void protected_pages_fault_and_their_neighbours_do_not(void **state)
{
	char *p = map_pages(4);

	(void)state;
	assert_int_equal(wf_os_vm_protect(p + page, 2 * page), 0);
	assert_true(accessible(p));
	assert_false(accessible(p + page));
	assert_false(accessible(p + 2 * page));
	assert_true(accessible(p + 3 * page));
	check_faults(p + page);
	wf_os_vm_unmap(p, 4 * page);
}

static void protecting_what_is_not_there_fails(void **state)
{
	char *p = map_pages(3);

	(void)state;
	wf_os_vm_unmap(p + page, page);
	assert_int_equal(wf_os_vm_protect(p + page, page), -ENOMEM);
	wf_os_vm_unmap(p, page);
	wf_os_vm_unmap(p + 2 * page, page);
}

static void the_limit_of_mappings_is_the_kernels(void **state)
{
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	size_t limit = SIZE_MAX;

	(void)state;
	if (f != NULL) {
		assert_int_equal(fscanf(f, "%zu", &limit), 1);
		fclose(f);
	}
	assert_int_equal(wf_os_vm_map_limit(), limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_what_the_system_says),
		cmocka_unit_test(mapped_memory_is_zeroed_and_ours),
		cmocka_unit_test(only_what_is_touched_becomes_resident),
		cmocka_unit_test(unmapped_memory_is_gone),
		cmocka_unit_test(an_absurd_size_is_refused),
		cmocka_unit_test(no_huge_pages_to_refuse_is_no_error),
		cmocka_unit_test(a_guard_faults_and_its_neighbours_do_not),
		cmocka_unit_test(many_guards_are_made_in_one_call),
		cmocka_unit_test(no_guards_are_told_from_no_memory),
		cmocka_unit_test(discarded_pages_are_zero_and_not_resident),
		cmocka_unit_test(
			protected_pages_fault_and_their_neighbours_do_not),
		cmocka_unit_test(protecting_what_is_not_there_fails),
		cmocka_unit_test(the_limit_of_mappings_is_the_kernels),
	};

	page = wf_os_page_bytes();
	by_pipe = !readable(&(char){ 1 });
	if (pipe(tube) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
