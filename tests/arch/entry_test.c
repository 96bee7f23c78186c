/* SPDX-License-Identifier: MIT */
/*
 * tests/arch/entry_test.c - a started context begins with its argument on an
 * aligned stack, writes nothing above it, and is where every unwind ends, and
 * where one that ends the thread is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <execinfo.h>
#include <stdio.h>
#include <unwind.h>

#include "arch/context.h"
#include "base/compiler.h"
#include "flow.h"

void wf_context_entry(void);

enum {
	OFFSETS = 64,		/* of the top, all tried */
	MARGIN = 256,		/* bytes above the top, watched */
	FIRST_BYTES = 64,	/* all that wf_context_start may write */
	DEPTH = 10,
	FRAMES_MAX = 64,
};

/* ------------------------------------------------------------------------ */
/* The first steps on a new stack. */

struct first {
	struct flow flow;
	void *arg;			/* what the first function was given */
	uintptr_t frame, local;		/* addresses of its frame, of a local */
	char text[64];			/* printed by it */
};

/* An address, without what the compiler believes to know of it. */
static uintptr_t address_of(const volatile void *p)
{
	uintptr_t address = (uintptr_t)p;

	__asm__ volatile("" : "+r"(address));
	return address;
}

/* In a frame of its own: the first one's is not disturbed by these locals. */
static wf_noinline void take_first_steps(struct first *first)
{
	wf_aligned(16) volatile double d[2] = { 1.0, 3.0 };

	first->local = address_of(d);
	snprintf(first->text, sizeof(first->text), "%.6f %.6Lf", d[0] / d[1],
		(long double)d[1] / 7);
}

static wf_may_switch void first_main(void *arg)
{
	struct flow *self = arg;
	struct first *first = wf_container_of(self, struct first, flow);

	wf_san_arrive(&self->san, &self->from->san);
	first->arg = arg;
	first->frame = address_of(__builtin_frame_address(0));
	take_first_steps(first);
	for (;;)
		flow_jump(self, self->from);
}

static void starts_at_any_top(void **state)
{
	struct flow here;

	(void)state;
	flow_open_thread(&here);
	for (size_t i = 0; i < OFFSETS; i++) {
		struct first first = { .arg = NULL };

		flow_open_at(&first.flow, first_main, i);
		flow_switch(&here, &first.flow);
		assert_ptr_equal(first.arg, &first.flow);
		assert_int_equal(first.frame % 16, 0);
		assert_int_equal(first.local % 16, 0);
		assert_string_equal(first.text, "0.333333 0.428571");
		flow_close(&first.flow);
	}
}

static void writes_only_below_its_top(void **state)
{
	const size_t bytes = FLOW_STACK_BYTES;
	char above[MARGIN];
	struct flow here;

	(void)state;
	memset(above, 0xa5, sizeof(above));
	flow_open_thread(&here);
	for (size_t i = 0; i < OFFSETS; i++) {
		struct first first = { .arg = NULL };
		char *low, *top;

		flow_open_at(&first.flow, first_main, 0);
		low = first.flow.map + FLOW_GUARD_BYTES;
		top = low + bytes - MARGIN - i;
		memset(low, 0xa5, bytes);
		wf_context_start(
			&first.flow.context, top, first_main, &first.flow);
		assert_memory_equal(top, above, MARGIN);
		for (char *p = low; p < top - FIRST_BYTES; p++)
			assert_int_equal(*p, (char)0xa5);
		flow_switch(&here, &first.flow);
		assert_ptr_equal(first.arg, &first.flow);
		assert_memory_equal(top, above, MARGIN);
		flow_close(&first.flow);
	}
}

/* ------------------------------------------------------------------------ */
/* Unwinding a started context. */

struct trace {
	int depth;			/* functions between run and deepest */
	void *frames[FRAMES_MAX];	/* as backtrace() sees them */
	int frames_count;
	int steps;			/* as _Unwind_Backtrace() counts them */
	uintptr_t last_step;
	_Unwind_Reason_Code reason;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *arg)
{
	uintptr_t address = _Unwind_GetIP(context);
	struct trace *trace = arg;

	/* libgcc announces the end by one more step, to nowhere. */
	if (address == 0)
		return _URC_NO_REASON;
	trace->last_step = address;
	if (++trace->steps == FRAMES_MAX)
		return _URC_NORMAL_STOP;
	return _URC_NO_REASON;
}

/* A debugger stops here, see gdb.sh. */
static wf_noinline void deepest(struct trace *trace)
{
	trace->frames_count = backtrace(trace->frames, FRAMES_MAX);
	trace->reason = _Unwind_Backtrace(step, trace);
	__asm__ volatile("" ::: "memory");
}

static wf_noinline void descend(struct trace *trace, int depth)
{
	if (depth > 0)
		descend(trace, depth - 1);
	else
		deepest(trace);
	/* Not the last thing this function does: it keeps its frame. */
	__asm__ volatile("" ::: "memory");
}

static wf_noinline void run_trace(struct flow *self)
{
	struct trace *trace = self->arg;

	if (trace->depth > 0)
		descend(trace, trace->depth - 1);
	else
		deepest(trace);
	__asm__ volatile("" ::: "memory");
}

static void take_trace(struct trace *trace, int depth)
{
	struct flow here, there;

	*trace = (struct trace){ .depth = depth };
	flow_open_thread(&here);
	flow_open(&there, run_trace, trace);
	flow_switch(&here, &there);
	flow_close(&there);
}

static int is_in_entry(uintptr_t address)
{
	return address - (uintptr_t)wf_context_entry < 64;
}

/* The frames: deepest, depth times descend, run_trace, flow_main, the entry. */
static void backtrace_ends_at_the_entry(void **state)
{
	const int depths[] = { 0, 1, DEPTH };
	struct trace trace;

	(void)state;
	for (int i = 0; i < 3; i++) {
		int count;

		take_trace(&trace, depths[i]);
		count = trace.frames_count;
		/* A sanitizer's own backtrace() may add a frame. */
		assert_in_range(count, depths[i] + 4, depths[i] + 5);
		assert_true(is_in_entry((uintptr_t)trace.frames[count - 1]));
		for (int j = 0; j < count - 1; j++)
			assert_false(is_in_entry((uintptr_t)trace.frames[j]));
	}
}

static void unwinder_reaches_the_end(void **state)
{
	const int depths[] = { 0, 1, DEPTH };
	struct trace trace;

	(void)state;
	for (int i = 0; i < 3; i++) {
		take_trace(&trace, depths[i]);
		assert_int_equal(trace.reason, _URC_END_OF_STACK);
		assert_int_equal(trace.steps, depths[i] + 4);
		assert_true(is_in_entry(trace.last_step));
	}
}

/* ------------------------------------------------------------------------ */
/* Unwinding to end the thread. */

static int told;

static void count_told(void)
{
	told++;
}

static _Unwind_Reason_Code go_on(int version, _Unwind_Action actions,
	_Unwind_Exception_Class class, struct _Unwind_Exception *exception,
	struct _Unwind_Context *context, void *arg)
{
	(void)version;
	(void)actions;
	(void)class;
	(void)exception;
	(void)context;
	(void)arg;
	return _URC_NO_REASON;
}

/* As pthread_exit does, but it does not leave in the end. */
static wf_noinline void run_forced(struct flow *self)
{
	struct _Unwind_Exception exception = { 0 };

	(void)self;
	(void)_Unwind_ForcedUnwind(&exception, go_on, NULL);
	__asm__ volatile("" ::: "memory");
}

/* As throw does, when no frame catches it. */
static wf_noinline void run_throw(struct flow *self)
{
	struct _Unwind_Exception exception = { 0 };

	(void)self;
	(void)_Unwind_RaiseException(&exception);
	__asm__ volatile("" ::: "memory");
}

static void run_on_stack(void (*run)(struct flow *))
{
	struct flow here, there;

	flow_open_thread(&here);
	flow_open(&there, run, NULL);
	flow_switch(&here, &there);
	flow_close(&there);
}

static void a_forced_unwind_is_told_at_its_end(void **state)
{
	(void)state;
	run_on_stack(run_forced);
	assert_int_equal(told, 0);
	wf_context_watch(count_told);
	run_on_stack(run_forced);
	assert_int_equal(told, 1);
	run_on_stack(run_throw);
	assert_int_equal(told, 1);
	wf_context_watch(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_at_any_top),
		cmocka_unit_test(writes_only_below_its_top),
		cmocka_unit_test(backtrace_ends_at_the_entry),
		cmocka_unit_test(unwinder_reaches_the_end),
		cmocka_unit_test(a_forced_unwind_is_told_at_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
