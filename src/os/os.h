/* SPDX-License-Identifier: MIT */
/*
 * os/os.h - the operating system: every system call of the library.
 *
 * Every system call is behind these functions and nowhere else (tools/lint
 * checks it; only wf_panic writes its line itself).  os/linux/ is one
 * implementation.  Another one, with the same names, can take its place at link
 * time: tests use one to make calls fail, the simulator to make them
 * deterministic.
 *
 * Results are 0 or positive, or -errno.  No function here reports through
 * errno, prints without being asked, or calls back into the library.  All
 * functions are safe from any thread, and none of them switches.
 *
 * Contract: implemented in os/linux/ and sim/.
 * Reads next: os/lock.h, the short lock built on the futex.
 */
#ifndef WF_OS_OS_H
#define WF_OS_OS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/self.h"

/*
 * Sleep while *word is expected, until a wake or the deadline (monotonic clock;
 * INT64_MAX: none).  0 when woken, also without a reason; -EAGAIN if *word
 * differs; -ETIMEDOUT at the deadline.
 */
int wf_os_futex_wait(
	_Atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns);

/*
 * Wake up to n sleepers on word; returns how many.  word may be freed memory.
 */
int wf_os_futex_wake(_Atomic(uint32_t) *word, unsigned n);

/* The monotonic clock, in nanoseconds since some start: greater than 0. */
int64_t wf_os_now_ns(void);

/*
 * Virtual memory.  Addresses and sizes are whole pages.
 *
 * map: fresh zeroed memory, readable and writable, reserved but not resident;
 * never huge pages.  -ENOMEM.
 */
size_t wf_os_page_bytes(void);
int wf_os_vm_map(void **addr, size_t bytes);
void wf_os_vm_unmap(void *addr, size_t bytes);

/* A range of pages, for the calls that take many at once. */
struct wf_os_span {
	void *addr;
	size_t bytes;
};

/*
 * Make every access to the spans fault, without splitting the mapping.
 * -ENOTSUP where the kernel cannot (MADV_GUARD_INSTALL is Linux 6.13); -ENOMEM.
 * On an error some of the spans may be guarded.
 */
int wf_os_vm_guard(const struct wf_os_span *spans, size_t n);

/*
 * Make every access to one span fault, by page protection: works everywhere,
 * and costs two mappings each.  -ENOMEM at the system's limit of mappings.
 */
int wf_os_vm_protect(void *addr, size_t bytes);

/* How many mappings a process may have; SIZE_MAX if that is not known. */
size_t wf_os_vm_map_limit(void);

/*
 * Give the memory of the spans back to the system; they read as zero
 * afterwards.  On an error some spans may still be resident with their old
 * contents.
 */
int wf_os_vm_discard(const struct wf_os_span *spans, size_t n);

/*
 * Small memory: zeroed, aligned to WF_FALSE_SHARING, or NULL.  Not for
 * scheduling paths.
 */
void *wf_os_alloc(size_t bytes);
void wf_os_free(void *p);

/*
 * Threads.  In a new thread all signals are blocked except those that the
 * thread itself can cause (SIGSEGV, SIGFPE, ...).  name may be NULL;
 * stack_bytes 0 is the system's default.  -EAGAIN, -ENOMEM; -EINVAL: the stack
 * is too small.
 */
struct wf_os_thread {
	pthread_t id;
};

int wf_os_thread_start(struct wf_os_thread *t, void (*fn)(void *), void *arg,
	size_t stack_bytes, const char *name);
void wf_os_thread_join(struct wf_os_thread *t);

/* Called by a thread that will not be joined. */
void wf_os_thread_detach(struct wf_os_thread *t);
void wf_os_thread_yield(void);

/*
 * Ask the system to run the calling thread soon after it wakes, for ns at a
 * time: a hint, for threads that do little.  Needs no privilege; old kernels
 * ignore it.
 */
void wf_os_thread_slice(int64_t ns);

/* Bind the calling thread to the nth, from 0, of the CPUs it may use. */
int wf_os_thread_pin(unsigned nth);

/* How many CPUs the calling thread may run on; at least 1. */
unsigned wf_os_cpus_allowed(void);

/*
 * The default number of workers: the allowed CPUs or, if that is less, the CPU
 * quota of our control group, rounded up; at least 1.
 */
unsigned wf_os_cpus_default(void);

/*
 * The quota alone, in thousandths of a CPU; 0: none.  root is prepended to
 * every path that is read: "" in production.
 */
uint64_t wf_os_cpu_quota_milli(const char *root);

/*
 * membarrier: after it, every other thread of the process has executed a full
 * fence.  Register once before use (-ENOTSUP where there is none); without
 * that, it ends the program.
 */
int wf_os_membarrier_register(void);
void wf_os_membarrier(void);

/* A seed that nobody can guess. */
uint64_t wf_os_random(void);

/*
 * Faults.  From the first watch on, fn(addr) is called on a thread that touched
 * a bad address, in a signal handler, on its alternate stack if it has one.
 * Then the handler that was installed before gets the signal, or the default
 * action ends the program.  A later watch only replaces fn.
 */
typedef void wf_os_fault_fn(void *addr);
int wf_os_fault_watch(wf_os_fault_fn *fn);

/*
 * Ends of threads.  From the first watch on, fn() is called on a thread that
 * ends while its word (os/self.h) is set.  By then its frames are gone, and
 * some destructors of its pthread keys have run.  A thread is watched if its
 * word was set after the first watch.  A later watch only replaces fn.
 * -ENOMEM.
 */
typedef void wf_os_exit_fn(void);
int wf_os_exit_watch(wf_os_exit_fn *fn);

/*
 * An alternate stack for the calling thread, so that it can report the overflow
 * of its stack.  If the thread has one already, open keeps it, and close leaves
 * it alone.  Close on the same thread.  -ENOMEM.
 */
struct wf_os_altstack {
	void *memory;		/* NULL: none of ours */
};

int wf_os_altstack_open(struct wf_os_altstack *a);
void wf_os_altstack_close(struct wf_os_altstack *a);

/* Write text to standard error; works in any state of the process. */
void wf_os_complain(const char *text, size_t bytes);

#endif
