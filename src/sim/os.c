/* SPDX-License-Identifier: MIT */
/*
 * sim/os.c - os/os.h on simulated threads, simulated memory and virtual time.
 *
 * Takes the place of os/linux/ at link time.  A call is a point; whether it
 * fails, which sleeper it wakes, and the values of random numbers are
 * decisions.  A new kind of call (for example a descriptor that becomes
 * readable) is a new futex-like wait: sleep on the address of the object, and
 * wake that address when the object changes.
 */
#include "os/os.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "os/cxx.h"
#include "sim/engine.h"
#include "sim/heap.h"
#include "sim/memory.h"
#include "sim/os.h"
#include "sim/shadow.h"
#include "sim/trace.h"

#define WF_SIM_CPUS 2
#define WF_SIM_PAGE_BYTES 4096
#define WF_SIM_SEEDS 16

/* The return address, which names the caller in traces. */
#define WF_SIM_CALLER ((uintptr_t)__builtin_return_address(0))

void wf_sim_os_call(const char *name, uintptr_t pc)
{
	wf_sim_point(pc, false);
	wf_sim->current->call = name;
	wf_sim_light_fence();
	if (wf_unlikely(wf_sim->tracing))
		wf_sim_trace_event(&(struct wf_sim_event){
			.what = name, .order = -1, .pc = pc });
}

void wf_sim_relax(void)
{
	if (wf_sim_on())
		wf_sim_point(WF_SIM_CALLER, true);
}

/*
 * A context belongs to its stack: the thread that continues there got it from
 * the thread that left, through the queues.  Other threads read the first word
 * too, atomically; the memory model notices it because it differs from the last
 * store.
 */
void wf_sim_switches(struct wf_context *from, struct wf_context *to)
{
	size_t rest = offsetof(struct wf_context, pc);

	if (!wf_sim_on())
		return;
	wf_sim_write(&from->pc, sizeof(*from) - rest, WF_SIM_CALLER);
	wf_sim_read(&to->pc, sizeof(*to) - rest, WF_SIM_CALLER);
}

void *wf_os_self(void)
{
	return wf_sim_on() ? wf_sim->current->self : NULL;
}

void *wf_os_self_set(void *self)
{
	void *before = wf_os_self();

	if (wf_sim_on())
		wf_sim->current->self = self;
	return before;
}

const void *wf_os_self_place(void)
{
	return wf_sim_on() ? &wf_sim->current->self : NULL;
}

/*
 * The words of the simulated thread: no C++ runtime uses them, but scenarios
 * do.
 */
struct wf_cxx *wf_os_cxx(void)
{
	return &wf_sim->current->cxx;
}

int wf_os_futex_wait(
	_Atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns)
{
	uint32_t now;

	if (!wf_sim_on())
		return -EAGAIN;
	wf_sim_os_call("futex_wait", WF_SIM_CALLER);
	/* The kernel compares and goes to sleep in one step. */
	memcpy(&now, (void *)word, sizeof(now));
	if (now != expected)
		return -EAGAIN;
	return wf_sim_sleep((void *)word, deadline_ns);
}

int wf_os_futex_wake(_Atomic(uint32_t) *word, unsigned n)
{
	if (!wf_sim_on())
		return 0;
	wf_sim_os_call("futex_wake", WF_SIM_CALLER);
	return (int)wf_sim_wake((void *)word, n);
}

int64_t wf_os_now_ns(void)
{
	if (!wf_sim_on())
		return 1;
	wf_sim->now_ns += WF_SIM_TICK_NS;
	return wf_sim->now_ns;
}

size_t wf_os_page_bytes(void)
{
	return WF_SIM_PAGE_BYTES;
}

int wf_os_vm_map(void **addr, size_t bytes)
{
	wf_sim_os_call("mmap", WF_SIM_CALLER);
	*addr = wf_sim_fault_now() ? NULL
				   : wf_sim_heap_map(bytes, WF_SIM_CALLER);
	return *addr == NULL ? -ENOMEM : 0;
}

void wf_os_vm_unmap(void *addr, size_t bytes)
{
	wf_sim_os_call("munmap", WF_SIM_CALLER);
	wf_sim_heap_unmap(addr, bytes);
}

int wf_os_vm_guard(const struct wf_os_span *spans, size_t n)
{
	wf_sim_os_call("guard", WF_SIM_CALLER);
	for (size_t i = 0; i < n; i++) {
		if (wf_sim_fault_now())
			return -ENOMEM;
		wf_sim_heap_guard(spans[i].addr, spans[i].bytes);
	}
	return 0;
}

int wf_os_vm_protect(void *addr, size_t bytes)
{
	struct wf_os_span span = { addr, bytes };

	return wf_os_vm_guard(&span, 1);
}

size_t wf_os_vm_map_limit(void)
{
	return SIZE_MAX;
}

int wf_os_vm_discard(const struct wf_os_span *spans, size_t n)
{
	wf_sim_os_call("discard", WF_SIM_CALLER);
	for (size_t i = 0; i < n; i++)
		wf_sim_heap_discard(spans[i].addr, spans[i].bytes);
	return 0;
}

void *wf_os_alloc(size_t bytes)
{
	if (wf_sim_fault_now())
		return NULL;
	return wf_sim_heap_alloc(bytes, WF_FALSE_SHARING, WF_SIM_CALLER);
}

void wf_os_free(void *p)
{
	if (p != NULL)
		wf_sim_heap_free(p);
}

/* A thread's number is stored in place of its pthread_t. */
int wf_os_thread_start(struct wf_os_thread *t, void (*fn)(void *), void *arg,
	size_t stack_bytes, const char *name)
{
	int id = -EAGAIN;

	(void)stack_bytes;
	wf_sim_os_call("thread_start", WF_SIM_CALLER);
	if (!wf_sim_fault_now())
		id = wf_sim_thread_start(fn, arg, name);
	t->id = (pthread_t)id;
	return id < 0 ? id : 0;
}

void wf_os_thread_join(struct wf_os_thread *t)
{
	wf_sim_os_call("thread_join", WF_SIM_CALLER);
	if (wf_sim_thread_join((uint32_t)t->id) != 0)
		wf_sim_fail("bad join", NULL, "there is no thread %u to join",
			(unsigned)t->id);
}

void wf_os_thread_detach(struct wf_os_thread *t)
{
	(void)t;
}

void wf_os_thread_yield(void)
{
	wf_sim_point(WF_SIM_CALLER, true);
	wf_sim_light_fence();
}

void wf_os_thread_slice(int64_t ns)
{
	(void)ns;
}

int wf_os_thread_pin(unsigned nth)
{
	return nth < WF_SIM_CPUS ? 0 : -EINVAL;
}

unsigned wf_os_cpus_allowed(void)
{
	return WF_SIM_CPUS;
}

unsigned wf_os_cpus_default(void)
{
	return WF_SIM_CPUS;
}

uint64_t wf_os_cpu_quota_milli(const char *root)
{
	(void)root;
	return 0;
}

int wf_os_membarrier_register(void)
{
	return wf_sim_fault_now() ? -ENOTSUP : 0;
}

void wf_os_membarrier(void)
{
	wf_sim_os_call("membarrier", WF_SIM_CALLER);
	wf_sim_membarrier();
}

uint64_t wf_os_random(void)
{
	if (!wf_sim_on())
		return 1;
	return wf_sim_choose(WF_SIM_RANDOM, WF_SIM_SEEDS) + 1;
}

/* A simulated thread ends only by its return. */
int wf_os_exit_watch(wf_os_exit_fn *fn)
{
	(void)fn;
	return 0;
}

/* The simulator itself reports faults. */
int wf_os_fault_watch(wf_os_fault_fn *fn)
{
	(void)fn;
	return 0;
}

int wf_os_altstack_open(struct wf_os_altstack *a)
{
	a->memory = NULL;
	return 0;
}

void wf_os_altstack_close(struct wf_os_altstack *a)
{
	(void)a;
}

void wf_os_complain(const char *text, size_t bytes)
{
	if (wf_sim_on() && (wf_sim->flags & WEFT_SIM_QUIET))
		return;
	while (bytes > 0) {
		ssize_t n = write(STDERR_FILENO, text, bytes);

		if (n <= 0)
			return;
		text += n;
		bytes -= (size_t)n;
	}
}
