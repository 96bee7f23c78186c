/* SPDX-License-Identifier: MIT */
/*
 * tests/support/os_faults.c - counting, refusing and passing on calls.
 */
#include "support/os_faults.h"

#include <errno.h>
#include <stdint.h>

#include "base/atomic.h"
#include "os/os.h"

/* The plan: by the thread that makes it; threads of a runtime may look on. */
static _Atomic(unsigned) planned_kinds;
static _Atomic(size_t) planned_nth, planned_times;
static bool no_guards;
static size_t limit;
static void (*spy)(void *arg, unsigned kind);
static void *spy_arg;

/* The account: any thread. */
static _Atomic(size_t) calls[OS_FAULTS_KINDS];
static _Atomic(size_t) planned_calls;
static _Atomic(size_t) injected;
static _Atomic(size_t) held_count;	/* of mappings and allocations */
static _Atomic(size_t) held_bytes;	/* of mappings */
static _Atomic(size_t) held_sum;	/* of their addresses, modulo 2^64 */

int __real_wf_os_vm_map(void **addr, size_t bytes);
void __real_wf_os_vm_unmap(void *addr, size_t bytes);
int __real_wf_os_vm_guard(const struct wf_os_span *spans, size_t n);
int __real_wf_os_vm_protect(void *addr, size_t bytes);
int __real_wf_os_vm_discard(const struct wf_os_span *spans, size_t n);
size_t __real_wf_os_vm_map_limit(void);
void *__real_wf_os_alloc(size_t bytes);
void __real_wf_os_free(void *p);

int __wrap_wf_os_vm_map(void **addr, size_t bytes);
void __wrap_wf_os_vm_unmap(void *addr, size_t bytes);
int __wrap_wf_os_vm_guard(const struct wf_os_span *spans, size_t n);
int __wrap_wf_os_vm_protect(void *addr, size_t bytes);
int __wrap_wf_os_vm_discard(const struct wf_os_span *spans, size_t n);
size_t __wrap_wf_os_vm_map_limit(void);
void *__wrap_wf_os_alloc(size_t bytes);
void __wrap_wf_os_free(void *p);

/* ------------------------------------------------------------------------ */
/* The plan. */

void os_faults_clear(void)
{
	os_faults_plan(0, 0, 0);
	no_guards = false;
	limit = 0;
	spy = NULL;
	wf_store_rlx(&held_count, 0);
	wf_store_rlx(&held_bytes, 0);
	wf_store_rlx(&held_sum, 0);
}

void os_faults_plan(unsigned kinds, size_t nth, size_t times)
{
	wf_store_rlx(&planned_kinds, kinds);
	wf_store_rlx(&planned_nth, nth);
	wf_store_rlx(&planned_times, times);
	for (size_t i = 0; i < OS_FAULTS_KINDS; i++)
		wf_store_rlx(&calls[i], 0);
	wf_store_rlx(&planned_calls, 0);
	wf_store_rlx(&injected, 0);
}

void os_faults_repair(void)
{
	wf_store_rlx(&planned_times, 0);
}

void os_faults_no_guards(bool refuse)
{
	no_guards = refuse;
}

void os_faults_map_limit(size_t n)
{
	limit = n;
}

void os_faults_spy(void (*fn)(void *arg, unsigned kind), void *arg)
{
	spy = fn;
	spy_arg = arg;
}

/* ------------------------------------------------------------------------ */
/* The account. */

size_t os_faults_calls(unsigned kinds)
{
	size_t n = 0;

	for (size_t i = 0; i < OS_FAULTS_KINDS; i++)
		n += kinds & (1u << i) ? wf_load_rlx(&calls[i]) : 0;
	return n;
}

size_t os_faults_injected(void)
{
	return wf_load_rlx(&injected);
}

size_t os_faults_mapped_bytes(void)
{
	return wf_load_rlx(&held_bytes);
}

bool os_faults_all_returned(void)
{
	return wf_load_rlx(&held_count) == 0 &&
		wf_load_rlx(&held_bytes) == 0 && wf_load_rlx(&held_sum) == 0;
}

static void hold(void *p, size_t bytes)
{
	wf_add_rlx(&held_count, 1);
	wf_add_rlx(&held_bytes, bytes);
	wf_add_rlx(&held_sum, (size_t)p);
}

static void let_go(void *p, size_t bytes)
{
	wf_sub_rlx(&held_count, 1);
	wf_sub_rlx(&held_bytes, bytes);
	wf_sub_rlx(&held_sum, (size_t)p);
}

bool os_faults_hit(unsigned kind)
{
	size_t first = wf_load_rlx(&planned_nth), nth;

	if (spy != NULL)
		spy(spy_arg, kind);
	wf_add_rlx(&calls[__builtin_ctz(kind)], 1);
	if (!(wf_load_rlx(&planned_kinds) & kind))
		return false;
	nth = wf_add_rlx(&planned_calls, 1) + 1;
	if (nth < first || nth - first >= wf_load_rlx(&planned_times))
		return false;
	wf_add_rlx(&injected, 1);
	return true;
}

/* ------------------------------------------------------------------------ */
/* What the library calls. */

int __wrap_wf_os_vm_map(void **addr, size_t bytes)
{
	int err = os_faults_hit(OS_FAULTS_MAP)
		? -ENOMEM
		: __real_wf_os_vm_map(addr, bytes);

	if (err == 0)
		hold(*addr, bytes);
	return err;
}

void __wrap_wf_os_vm_unmap(void *addr, size_t bytes)
{
	let_go(addr, bytes);
	__real_wf_os_vm_unmap(addr, bytes);
}

int __wrap_wf_os_vm_guard(const struct wf_os_span *spans, size_t n)
{
	if (no_guards)
		return -ENOTSUP;
	if (os_faults_hit(OS_FAULTS_GUARD)) {
		(void)__real_wf_os_vm_guard(spans, n / 2);
		return -ENOMEM;
	}
	return __real_wf_os_vm_guard(spans, n);
}

int __wrap_wf_os_vm_protect(void *addr, size_t bytes)
{
	return os_faults_hit(OS_FAULTS_PROTECT)
		? -ENOMEM
		: __real_wf_os_vm_protect(addr, bytes);
}

int __wrap_wf_os_vm_discard(const struct wf_os_span *spans, size_t n)
{
	if (os_faults_hit(OS_FAULTS_DISCARD)) {
		(void)__real_wf_os_vm_discard(spans, n / 2);
		return -ENOMEM;
	}
	return __real_wf_os_vm_discard(spans, n);
}

size_t __wrap_wf_os_vm_map_limit(void)
{
	return limit ? limit : __real_wf_os_vm_map_limit();
}

void *__wrap_wf_os_alloc(size_t bytes)
{
	void *p = os_faults_hit(OS_FAULTS_ALLOC) ? NULL
						 : __real_wf_os_alloc(bytes);

	if (p != NULL)
		hold(p, 0);
	return p;
}

void __wrap_wf_os_free(void *p)
{
	if (p != NULL)
		let_go(p, 0);
	__real_wf_os_free(p);
}
