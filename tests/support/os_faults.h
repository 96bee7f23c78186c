/* SPDX-License-Identifier: MIT */
/*
 * tests/support/os_faults.h - a system that fails when it is told to.
 *
 * It stands between the library and os/os.h: the program is linked with
 * WRAP ${os_faults} (tests/CMakeLists.txt has the list).  It counts calls,
 * lets chosen ones fail, and keeps account of what is mapped and allocated.
 *
 * A call that is to fail with many spans does half of them before it does, as
 * the contract allows.  Threads may call the library; plans are made by one
 * thread while the others do not run.
 */
#ifndef WEFT_TESTS_SUPPORT_OS_FAULTS_H
#define WEFT_TESTS_SUPPORT_OS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of calls, as bits. */
enum {
	OS_FAULTS_MAP = 1,
	OS_FAULTS_GUARD = 2,
	OS_FAULTS_PROTECT = 4,
	OS_FAULTS_DISCARD = 8,
	OS_FAULTS_ALLOC = 16,
	OS_FAULTS_THREAD = 32,	/* if wf_os_thread_start is wrapped too */
};

#define OS_FAULTS_KINDS 6
#define OS_FAULTS_ALL ((1u << OS_FAULTS_KINDS) - 1)
#define OS_FAULTS_FOREVER SIZE_MAX

/* No plan, nothing counted, nothing held: a test begins. */
void os_faults_clear(void);

/*
 * Of the calls of these kinds, from now on, the nth (the next is the first)
 * and those after it, as many as times, fail with -ENOMEM.  Clears the counts.
 */
void os_faults_plan(unsigned kinds, size_t nth, size_t times);

/*
 * A call of this kind is made: it is counted; is it one of those that fail?
 * For calls that only one test stands in for.
 */
bool os_faults_hit(unsigned kind);

/* The fault is repaired: no call fails any more. */
void os_faults_repair(void);

/* How many calls of these kinds there were, and how many of all failed. */
size_t os_faults_calls(unsigned kinds);
size_t os_faults_injected(void);

/* From now on the kernel knows no guards: -ENOTSUP.  Not part of a plan. */
void os_faults_no_guards(bool refuse);

/* What wf_os_vm_map_limit says; 0: the truth. */
void os_faults_map_limit(size_t limit);

/* Have fn called first thing in each call of any kind; NULL: nobody. */
void os_faults_spy(void (*fn)(void *arg, unsigned kind), void *arg);

/* Mapped bytes, and whether nothing at all is mapped or allocated. */
size_t os_faults_mapped_bytes(void);
bool os_faults_all_returned(void);

#endif
