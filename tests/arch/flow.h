/* SPDX-License-Identifier: MIT */
/*
 * tests/arch/flow.h - a context together with its stack: what switches.
 *
 * Assertions of cmocka may be made only by the flow that runs the tests; the
 * others note what they see, and it looks when they have switched back.
 */
#ifndef WEFT_TESTS_ARCH_FLOW_H
#define WEFT_TESTS_ARCH_FLOW_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "arch/context.h"
#include "base/compiler.h"
#include "base/sanitize.h"

#define FLOW_STACK_BYTES 65536
#define FLOW_GUARD_BYTES 65536

struct flow {
	struct wf_context context;
	struct wf_san san;
	struct flow *from;		/* the flow that switched here last */
	void (*run)(struct flow *self);
	void *arg;			/* for run */
	char *map;			/* guard and stack; a thread's: NULL */
	unsigned valgrind_id;
};

/* Go from from, which is running, to to; come back when someone goes to it. */
wf_inline void flow_jump(struct flow *from, struct flow *to)
{
	to->from = from;
	wf_san_leave(&from->san, &to->san);
	wf_context_switch(&from->context, &to->context);
	wf_san_arrive(&from->san, &from->from->san);
}

wf_maybe_unused static wf_may_switch void flow_switch(
	struct flow *from, struct flow *to)
{
	flow_jump(from, to);
}

/* Runs a flow on its stack; when run returns, goes back for good. */
wf_maybe_unused static wf_may_switch void flow_main(void *arg)
{
	struct flow *self = arg;

	wf_san_arrive(&self->san, &self->from->san);
	self->run(self);
	self->from->from = self;
	wf_san_leave_for_good(&self->from->san);
	wf_context_switch(&self->context, &self->from->context);
	__builtin_trap();
}

/* The calling thread's own stack. */
static inline void flow_open_thread(struct flow *f)
{
	*f = (struct flow){ .from = NULL };
	wf_san_thread(&f->san);
}

/* A flow that begins with entry(f) on the last but skip bytes of its stack. */
static inline void flow_open_at(
	struct flow *f, void (*entry)(void *arg), size_t skip)
{
	const size_t bytes = FLOW_GUARD_BYTES + FLOW_STACK_BYTES;
	char *low;

	*f = (struct flow){ .from = NULL };
	f->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert(f->map != MAP_FAILED);
	mprotect(f->map, FLOW_GUARD_BYTES, PROT_NONE);
	low = f->map + FLOW_GUARD_BYTES;
	f->valgrind_id = wf_valgrind_stack_add(low, f->map + bytes);
	wf_san_open(&f->san, low, FLOW_STACK_BYTES);
	wf_context_start(&f->context, f->map + bytes - skip, entry, f);
}

/* A flow that begins with run, which finds arg in it. */
static inline void flow_open(
	struct flow *f, void (*run)(struct flow *self), void *arg)
{
	flow_open_at(f, flow_main, 0);
	f->run = run;
	f->arg = arg;
}

/* f must not run on its stack, nor come back to it. */
static inline void flow_close(struct flow *f)
{
	if (!f->map)
		return;
	wf_san_close(&f->san);
	wf_valgrind_stack_drop(f->valgrind_id);
	munmap(f->map, FLOW_GUARD_BYTES + FLOW_STACK_BYTES);
}

#endif
