/* SPDX-License-Identifier: MIT */
/*
 * sim/engine.c - points, sleeping, and the end of a run.
 */
#include "sim/engine.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/fibers.h"
#include "sim/heap.h"
#include "sim/locks.h"
#include "sim/memory.h"
#include "sim/order.h"
#include "sim/program.h"
#include "sim/search.h"
#include "sim/shadow.h"
#include "sim/symbols.h"
#include "sim/trace.h"

#define WF_SIM_START_NS 1000000

struct wf_sim *wf_sim;

int wf_sim_open(void)
{
	struct wf_sim *s;

	if (wf_sim != NULL)
		return 0;
	s = wf_sim_reserve(sizeof(*s));
	if (s == NULL || wf_sim_heap_open() != 0 || wf_sim_shadow_open() != 0 ||
		wf_sim_memory_open() != 0 || wf_sim_trace_open() != 0 ||
		wf_sim_search_open() != 0 || wf_sim_order_open() != 0 ||
		wf_sim_program_open() != 0)
		return -ENOMEM;
	wf_sim_symbols_open();
	wf_sim = s;
	return 0;
}

const char *wf_sim_thread_name(uint32_t t)
{
	static char text[2][48];
	static unsigned turn;
	char *p = text[++turn & 1];

	snprintf(p, sizeof(text[0]), "%u (%s)", t, wf_sim->thread[t].name);
	return p;
}

/* Call a check of the user, which sees everything and is not simulated. */
static void check(void (*fn)(void *))
{
	wf_sim->active = false;
	fn(wf_sim->arg);
	wf_sim->active = true;
}

static wf_may_switch void switch_to(struct wf_sim_thread *next)
{
	struct wf_sim_thread *me = wf_sim->current;

	me->saved_errno = errno;
	wf_sim_program_tls(me->tls, next->tls);
	wf_sim->current = next;
	wf_context_switch(&me->context, &next->context);
	errno = wf_sim->current->saved_errno;
}

/* The run is over, failed or not: back to the controller. */
static wf_may_switch wf_noreturn void leave(void)
{
	struct wf_context nobody;

	wf_sim->active = false;
	wf_context_switch(&nobody, &wf_sim->controller);
	__builtin_unreachable();
}

void wf_sim_fail(const char *oracle, const void *addr, const char *fmt, ...)
{
	struct wf_sim_failure *f = &wf_sim->failure;
	va_list args;

	f->failed = true;
	f->thread = wf_sim->current->id;
	f->addr = addr;
	snprintf(f->oracle, sizeof(f->oracle), "%s", oracle);
	va_start(args, fmt);
	vsnprintf(f->message, sizeof(f->message), fmt, args);
	va_end(args);
	leave();
}

static void make_ready(struct wf_sim_thread *t, int result)
{
	uint32_t bit = 1u << t->id;

	t->state = WF_SIM_READY;
	t->result = result;
	t->call = NULL;
	wf_sim->ready |= bit;
	wf_sim->quiet &= ~bit;
	wf_sim->timed &= ~bit;
}

/* Wake the threads whose deadline has come, and note the next deadline. */
static void expire(void)
{
	struct wf_sim *s = wf_sim;

	s->next_ns = INT64_MAX;
	for (uint32_t m = s->timed; m != 0; m &= m - 1) {
		struct wf_sim_thread *t = &s->thread[__builtin_ctz(m)];

		if (t->deadline_ns <= s->now_ns)
			make_ready(t, -ETIMEDOUT);
		else if (t->deadline_ns < s->next_ns)
			s->next_ns = t->deadline_ns;
	}
}

/* Expire deadlines that have come, or choose to let the next one come now. */
static void look_at_clock(void)
{
	struct wf_sim *s = wf_sim;

	if (s->now_ns < s->next_ns) {
		if (s->ready == 0 || wf_sim_choose(WF_SIM_TIME, 2) == 0)
			return;
		s->now_ns = s->next_ns;
	}
	expire();
}

static wf_noreturn void deadlock(void)
{
	static const char *const states[] = { "ready", "asleep", "joining",
		"waiting for quiet", "ended" };
	struct wf_sim *s = wf_sim;
	char text[400];
	size_t at = 0;

	for (uint32_t i = 0; i < s->threads && at < sizeof(text); i++) {
		struct wf_sim_thread *t = &s->thread[i];

		if (t->state != WF_SIM_ENDED)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
				"%s%s is %s", at > 0 ? "; " : "",
				wf_sim_thread_name(i), states[t->state]);
	}
	s->active = false;
	wf_sim_fibers_describe(s->failure.fibers, sizeof(s->failure.fibers));
	wf_sim_fail("deadlock", NULL, "no thread can run: %s", text);
}

/* The other threads have done all they could while this one was stopped. */
static void thaw(void)
{
	struct wf_sim *s = wf_sim;
	struct wf_sim_thread *f = s->frozen;

	for (uint32_t i = 0; i < s->threads; i++) {
		struct wf_sim_thread *t = &s->thread[i];

		if (t != f && t->state == WF_SIM_ASLEEP &&
			t->deadline_ns == INT64_MAX)
			wf_sim_fail("progress", NULL,
				"thread %s sleeps until "
				"%s continues, which was stopped",
				wf_sim_thread_name(i),
				wf_sim_thread_name(f->id));
	}
	s->frozen = NULL;
	s->thawed = true;
	s->ready |= 1u << f->id;
}

/* No thread is ready: let time pass, or report a deadlock. */
static void stuck(void)
{
	struct wf_sim *s = wf_sim;

	if (s->frozen != NULL && s->timed == 0) {
		thaw();
		return;
	}
	if (s->idle != NULL)
		check(s->idle);
	if (s->quiet != 0) {
		for (uint32_t m = s->quiet; m != 0; m &= m - 1)
			make_ready(&s->thread[__builtin_ctz(m)], 0);
		return;
	}
	if (s->timed == 0)
		deadlock();
	if (s->next_ns > s->now_ns)
		s->now_ns = s->next_ns;
	expire();
}

static wf_noinline wf_noreturn void too_long(void)
{
	struct wf_sim *s = wf_sim;

	if (s->frozen != NULL)
		wf_sim_fail("progress", NULL,
			"the other threads do not end within %u steps while "
			"thread %s is stopped",
			s->limit, wf_sim_thread_name(s->frozen->id));
	wf_sim_fail("livelock", NULL, "not ended after %u steps", s->limit);
}

/* The current thread cannot continue, or has ended. */
static void give_up(void)
{
	struct wf_sim *s = wf_sim;
	struct wf_sim_thread *next;

	if (++s->steps >= s->limit)
		too_long();
	while (s->ready == 0)
		stuck();
	next = &s->thread[wf_sim_pick(false)];
	if (next != s->current)
		switch_to(next);
}

/* Does the user allow to stop t here? */
static bool may_stop(struct wf_sim_thread *t)
{
	struct wf_sim *s = wf_sim;
	bool may;

	if (s->may_stop == NULL)
		return true;
	s->active = false;
	may = s->may_stop(s->arg, (int)t->id);
	s->active = true;
	return may;
}

/* WEFT_SIM_LOCK_FREE: the current thread may stop here for long. */
static void freeze(struct wf_sim_thread *t)
{
	struct wf_sim *s = wf_sim;

	if (t->id == 0 || s->frozen != NULL || s->thawed || !may_stop(t) ||
		wf_sim_choose(WF_SIM_FREEZE, 2) == 0)
		return;
	s->frozen = t;
	s->ready &= ~(1u << t->id);
	if (wf_unlikely(s->tracing))
		wf_sim_trace_note("stopped", t->pc, " until others are done");
	give_up();
}

void wf_sim_point(uintptr_t pc, bool relax)
{
	struct wf_sim *s = wf_sim;
	struct wf_sim_thread *t = s->current, *next;

	t->pc = pc;
	t->points++;
	s->digest = (s->digest ^ (pc + t->id)) * UINT64_C(0x9e3779b97f4a7c15);
	s->now_ns += WF_SIM_TICK_NS;
	if (wf_unlikely(++s->steps >= s->limit))
		too_long();
	if (wf_unlikely(s->invariant != NULL))
		check(s->invariant);
	if (wf_unlikely(s->flags & WEFT_SIM_LOCK_FREE))
		freeze(t);
	if (s->timed != 0)
		look_at_clock();
	if ((s->ready & (s->ready - 1)) == 0)
		return;
	next = &s->thread[wf_sim_pick(relax)];
	if (next != t)
		switch_to(next);
}

int wf_sim_sleep(const void *futex, int64_t deadline_ns)
{
	struct wf_sim *s = wf_sim;
	struct wf_sim_thread *t = s->current;
	uint32_t bit = 1u << t->id;

	if (deadline_ns <= s->now_ns)
		return -ETIMEDOUT;
	if (wf_sim_choose(WF_SIM_SPURIOUS, 2) != 0)
		return 0;
	t->state = WF_SIM_ASLEEP;
	t->futex = futex;
	t->deadline_ns = deadline_ns;
	s->ready &= ~bit;
	if (deadline_ns != INT64_MAX) {
		s->timed |= bit;
		if (deadline_ns < s->next_ns || s->timed == bit)
			s->next_ns = deadline_ns;
	}
	give_up();
	return t->result;
}

unsigned wf_sim_wake(const void *futex, unsigned n)
{
	struct wf_sim *s = wf_sim;
	unsigned woken = 0;

	for (; woken < n; woken++) {
		uint32_t sleepers[WF_SIM_THREADS];
		unsigned count = 0;

		for (uint32_t i = 0; i < s->threads; i++)
			if (s->thread[i].state == WF_SIM_ASLEEP &&
				s->thread[i].futex == futex)
				sleepers[count++] = i;
		if (count == 0)
			break;
		make_ready(
			&s->thread[sleepers[wf_sim_choose(WF_SIM_WAKE, count)]],
			0);
	}
	return woken;
}

void wf_sim_quiesce(void)
{
	struct wf_sim *s = wf_sim;
	uint32_t bit = 1u << s->current->id;

	s->current->state = WF_SIM_QUIET;
	s->ready &= ~bit;
	s->quiet |= bit;
	give_up();
	for (uint32_t i = 0; i < s->threads; i++)
		wf_sim_memory_join(s->current, &s->thread[i]);
}

bool wf_sim_fault_now(void)
{
	return wf_sim->faults != 0 && wf_sim_choose(WF_SIM_FAULT, 2) != 0;
}

/* All threads have ended: no memory may be left allocated. */
static wf_noreturn void finish(void)
{
	const struct wf_sim_block *b = wf_sim_heap_left();

	if (b != NULL && !(wf_sim->flags & WEFT_SIM_LEAKS_OK))
		wf_sim_fail("leak", b->p, "%s, %zu bytes, was not freed",
			wf_sim_trace_place(b->p), b->bytes);
	leave();
}

/* The first frame of every simulated thread. */
static void begin(void *arg)
{
	struct wf_sim_thread *t = arg;
	struct wf_sim *s = wf_sim;

	t->fn(t->arg);
	wf_sim_point(0, false);
	wf_sim_light_fence();
	t->state = WF_SIM_ENDED;
	s->ready &= ~(1u << t->id);
	for (uint32_t i = 0; i < s->threads; i++)
		if (s->thread[i].state == WF_SIM_JOINS &&
			s->thread[i].target == t->id)
			make_ready(&s->thread[i], 0);
	for (uint32_t i = 0; i < s->threads; i++)
		if (s->thread[i].state != WF_SIM_ENDED)
			give_up();
	finish();
}

/* A number for a new thread: a new one, or that of a joined thread. */
static int free_thread(void)
{
	struct wf_sim *s = wf_sim;

	if (s->threads < WF_SIM_THREADS)
		return (int)s->threads++;
	for (int i = 1; i < WF_SIM_THREADS; i++)
		if (s->thread[i].state == WF_SIM_ENDED && s->thread[i].joined)
			return i;
	return -EAGAIN;
}

int wf_sim_thread_start(void (*fn)(void *), void *arg, const char *name)
{
	struct wf_sim *s = wf_sim;
	int id = free_thread();
	struct wf_sim_thread *t = &s->thread[id];
	int32_t clock;

	if (id < 0)
		return id;
	clock = t->hb[id];
	memset(t, 0, offsetof(struct wf_sim_thread, tls));
	t->id = (uint32_t)id;
	wf_sim_memory_fork(t, s->running ? s->current : NULL);
	if (t->hb[id] <= clock)
		t->hb[id] = t->view[id] = clock + 1;
	t->fn = fn;
	t->arg = arg;
	t->deadline_ns = INT64_MAX;
	snprintf(t->name, sizeof(t->name), "%s", name ? name : "thread");
	t->stack = wf_sim_heap_stack(t->id);
	wf_sim_program_tls_fresh(&t->tls, t->id);
	wf_context_start(&t->context, t->stack + WF_SIM_STACK_BYTES, begin, t);
	s->ready |= 1u << id;
	return id;
}

int wf_sim_thread_join(uint32_t id)
{
	struct wf_sim *s = wf_sim;
	struct wf_sim_thread *me = s->current, *t = &s->thread[id];

	if (id >= s->threads || t == me || t->joined)
		return -EINVAL;
	if (t->state != WF_SIM_ENDED) {
		me->state = WF_SIM_JOINS;
		me->target = id;
		s->ready &= ~(1u << me->id);
		give_up();
	}
	t->joined = true;
	wf_sim_memory_join(me, t);
	return 0;
}

static wf_may_switch void enter(struct wf_sim_thread *t)
{
	wf_context_switch(&wf_sim->controller, &t->context);
}

void wf_sim_run(const struct wf_sim_run *how)
{
	struct wf_sim *s = wf_sim;
	int saved_errno = errno;

	wf_sim_heap_reset();
	wf_sim_shadow_reset();
	wf_sim_memory_reset();
	wf_sim_locks_reset();
	wf_sim_order_reset();
	wf_sim_trace_reset();
	wf_sim_program_restore();
	s->runs++;
	s->running = false;
	s->threads = s->ready = s->timed = s->quiet = 0;
	s->steps = 0;
	s->now_ns = WF_SIM_START_NS;
	s->next_ns = INT64_MAX;
	s->digest = 0;
	s->frozen = NULL;
	s->thawed = false;
	s->faults = 0;
	s->failure.failed = false;
	s->failure.fibers[0] = '\0';
	s->how = how;
	s->log_count = 0;
	s->log_full = false;
	wf_sim_search_begin(how);
	for (uint32_t i = 0; i < WF_SIM_THREADS; i++)
		s->thread[i].hb = (wf_clock){ 0 };
	(void)wf_sim_thread_start(s->body, s->arg, "main");
	s->current = &s->thread[0];
	wf_sim_program_tls(NULL, s->current->tls);
	s->running = s->active = true;
	enter(s->current);
	s->running = false;
	wf_sim_program_tls(NULL, NULL);
	errno = saved_errno;
}
