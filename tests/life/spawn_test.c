/* SPDX-License-Identifier: MIT */
/*
 * tests/life/spawn_test.c - a spawned fiber is a descriptor with the state its
 * kind of spawn asks for, one credit of its class and one entry in the right
 * queue; a spawn that is refused leaves nothing behind.
 *
 * On one processor nothing runs before the spawner lets it, so a fiber can look
 * at the descriptor that it has just made.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "sched/runtime.h"
#include "sched/thread.h"
#include "stress/sched_kit.h"

static const char name[] = "child";

static void *nothing(void *arg)
{
	return arg;
}

static void go_nothing(void *arg)
{
	(void)arg;
}

static struct wf_proc *here(void)
{
	struct wf_thread *t = wf_os_self();

	return t->proc;
}

static wf_entry newest(struct wf_proc *p)
{
	uint64_t at = wf_load_rlx(&p->runq.tail) - 1;

	return wf_load_rlx(&p->runq.slots[at & p->runq.mask]);
}

static void join(weft_fiber *f)
{
	void *result = NULL;
	int err = weft_join(f, &result, WEFT_FOREVER);

	kit_expect(err == 0);
	kit_expect(result == name);
}

/* ------------------------------------------------------------------------ */
/* Descriptors as spawn makes them. */

static void check_made(weft_fiber *f, weft_rt *rt, uint32_t state)
{
	kit_expect((wf_load_rlx(&f->state) & WF_FIBER_LIFE) == state);
	kit_expect(wf_fiber_rt(f) == rt);
	kit_expect(f->stack == NULL);
	kit_expect(wf_load_rlx(&f->start.fn) == (void *)nothing);
	kit_expect(f->start.arg == name);
	kit_expect(wf_fiber_cls(f) == rt->cls);
	kit_expect(wf_load_rlx(&f->ready_us) & WF_READY_UNKNOWN);
	kit_expect(!wf_fiber_is_canceled(f));
}

static void *each_kind_inside(void *arg)
{
	uint32_t fresh = WF_FIBER_LIVE | WF_FIBER_FRESH;
	struct wf_proc *p = here();
	weft_fiber_attr attr = { .hint = WEFT_HINT_NEXT };
	uint64_t spawned = wf_load_rlx(&p->counters.spawned);
	weft_fiber *f, *next, *last;

	kit_expect(weft_spawn(&f, NULL, nothing, (void *)name) == 0);
	check_made(f, arg, fresh);
	kit_expect(newest(p) == wf_fiber_ticket(f, wf_load_rlx(&f->state)));

	kit_expect(weft_spawn(&next, &attr, nothing, (void *)name) == 0);
	check_made(next, arg, fresh);
	kit_expect(wf_load_rlx(&p->slot) ==
		wf_fiber_ticket(next, wf_load_rlx(&next->state)));

	attr.hint = WEFT_HINT_YIELD; /* yielders have no tickets */
	kit_expect(weft_spawn(&last, &attr, nothing, (void *)name) == 0);
	check_made(last, arg, WF_FIBER_LIVE);
	kit_expect(p->yielders.first == &last->task);
	kit_expect(wf_load_rlx(&p->counters.spawned) == spawned + 3);
	kit_expect(wf_rt_fibers(arg) == 4);
	join(f);
	join(next);
	join(last);
	kit_expect(wf_rt_fibers(arg) == 1);
	return NULL;
}

static void *detached_inside(void *arg)
{
	struct wf_proc *p = here();
	weft_fiber *f;

	kit_expect(weft_go(go_nothing, arg) == 0);
	f = wf_fiber_of(wf_entry_task(newest(p)));
	kit_expect(!wf_entry_is_ticket(newest(p)));
	kit_expect((wf_load_rlx(&f->state) & WF_FIBER_LIFE) ==
		(WF_FIBER_LIVE | WF_FIBER_DETACHED));
	kit_expect(wf_load_rlx(&f->state) & WF_FIBER_VOID);
	weft_yield();
	kit_expect(wf_rt_fibers(arg) == 1);
	return NULL;
}

static void *with_attributes(void *arg)
{
	weft_fiber_attr attr = { .name = name };
	weft_rt *rt = arg;
	weft_fiber *f;

	kit_expect(weft_spawn(&f, &attr, nothing, (void *)name) == 0);
	kit_expect(wf_load_rlx(&f->name) == name);
	kit_expect(wf_load_rlx(&f->state) & WF_FIBER_USED);
	join(f);
	for (size_t bytes = 1; bytes <= WF_MIB; bytes *= 4) {
		attr = (weft_fiber_attr){ .stack_bytes = bytes };
		kit_expect(weft_spawn(&f, &attr, nothing, (void *)name) == 0);
		kit_expect(wf_fiber_cls(f) ==
			wf_stack_pool_class(&rt->stacks, bytes));
		kit_expect(rt->stacks.store[wf_fiber_cls(f)].shape.promised >=
			bytes);
		join(f);
	}
	return NULL;
}

static void inside_each_kind_is_made_as_it_should(void **state)
{
	(void)state;
	kit_play(each_kind_inside, 1);
	kit_play(detached_inside, 1);
	kit_play(with_attributes, 1);
}

static _Atomic(int) held;

static void hold_processor(void *arg)
{
	(void)arg;
	wf_store_rlx(&held, 1);
	while (wf_load_acq(&held) == 1)
		continue;
}

static void outside_there_are_no_tickets(void **state)
{
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	weft_fiber *f;

	(void)state;
	wf_store_rlx(&held, 0);
	assert_int_equal(weft_rt_go(rt, hold_processor, NULL), 0);
	while (wf_load_rlx(&held) == 0)
		wf_os_thread_yield();
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, nothing, (void *)name), 0);
	check_made(f, rt, WF_FIBER_LIVE);
	assert_int_equal(wf_inject_len(&rt->groups->inject), 1);
	assert_int_equal(wf_load_rlx(&rt->outside.spawned), 2);
	assert_int_equal(wf_load_rlx(&rt->outside.callers), 0);
	wf_store_rel(&held, 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	kit_stop(rt);
}

/* ------------------------------------------------------------------------ */
/* Refusals. */

struct account {
	uint64_t fibers;
	size_t backlog, promised, cached;
};

/* Credits that are out and not in the caches of the processor. */
static struct account count_up(struct weft_rt *rt, struct wf_proc *p)
{
	struct account a = { .fibers = wf_rt_fibers(rt),
		.backlog = wf_proc_backlog(p) };
	struct wf_stack_stats stats;

	wf_stack_pool_stats(&rt->stacks, &stats);
	a.promised = stats.promised;
	a.cached = p->fibers.now.count + p->fibers.other.count;
	for (unsigned i = 0; i < WF_STACK_CLASSES; i++)
		a.cached += p->stacks.shelf[i].credits;
	return a;
}

static void check_account(const struct account *a, struct weft_rt *rt)
{
	struct account now = count_up(rt, here());

	kit_expect(now.fibers == a->fibers);
	kit_expect(now.backlog == a->backlog);
	kit_expect(now.promised - now.cached == a->promised - a->cached);
}

static int user_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	(void)e;
	(void)task;
	(void)hint;
	return 0;
}

static void *bad_attributes(void *arg)
{
	weft_executor user = { .submit = user_submit };
	weft_fiber_attr bad[] = { { .flags = 1 }, { .hint = (weft_hint)3 },
		{ .stack_bytes = SIZE_MAX }, { .executor = &user } };
	struct account a = count_up(arg, here());
	weft_fiber *const before = weft_self();
	weft_fiber *f = before;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (bad[i].executor == NULL)
			kit_expect(weft_spawn(&f, &bad[i], nothing, NULL) ==
				-EINVAL);
		kit_expect(weft_rt_spawn(arg, &f, &bad[i], nothing, NULL) ==
			-EINVAL);
	}
	kit_expect(f == before);
	check_account(&a, arg);
	return NULL;
}

/* From now on no stack can be made that is not there already. */
static void run_out(struct weft_rt *rt, struct wf_guards *before)
{
	struct wf_guards *g = &rt->stacks.guards;

	*before = *g;
	g->strict = true;
	g->no_install = true;
	g->protect_limit = 0;
}

static void repair(struct weft_rt *rt, const struct wf_guards *before)
{
	struct wf_guards *g = &rt->stacks.guards;

	g->strict = before->strict;
	g->no_install = before->no_install;
	g->protect_limit = before->protect_limit;
}

static void *no_memory(void *arg)
{
	enum { MANY = 100000 };
	weft_fiber_attr large = { .stack_bytes = 64 * WF_MIB };
	weft_fiber *const before = weft_self();
	static weft_fiber *f[MANY];
	weft_fiber *none = before;
	struct wf_guards guards;
	struct account a;
	size_t n = 0;
	int err;

	err = weft_spawn(&f[0], NULL, nothing, (void *)name);
	kit_expect(err == 0);
	join(f[0]);   /* so that there are descriptors at hand */
	weft_yield(); /* its ticket goes */
	a = count_up(arg, here());
	run_out(arg, &guards);
	/* A descriptor is at hand; the credit fails. */
	kit_expect(weft_spawn(&none, &large, nothing, NULL) == -ENOMEM);
	kit_expect(none == before);
	check_account(&a, arg);
	/* And when nothing is at hand any more. */
	while (n < MANY && err == 0) {
		err = weft_spawn(&f[n], NULL, nothing, (void *)name);
		n += err == 0;
	}
	kit_expect(err == -ENOMEM && n > 0);
	kit_expect(weft_go(go_nothing, NULL) == -ENOMEM);
	kit_expect(wf_rt_fibers(arg) == n + 1);
	while (n > 0)
		join(f[--n]);
	weft_yield();
	check_account(&a, arg);
	repair(arg, &guards);
	kit_expect(weft_spawn(&f[0], &large, nothing, (void *)name) == 0);
	join(f[0]);
	return NULL;
}

static void *too_late(void *arg)
{
	weft_fiber_attr attr = { .executor = weft_rt_executor(arg) };
	struct account a = count_up(arg, here());
	weft_fiber *f;

	weft_rt_shutdown(arg);
	kit_expect(weft_go(go_nothing, NULL) == -ESHUTDOWN);
	kit_expect(weft_spawn(&f, NULL, nothing, NULL) == -ESHUTDOWN);
	kit_expect(weft_spawn(&f, &attr, nothing, NULL) == -ESHUTDOWN);
	check_account(&a, arg);
	return NULL;
}

static void what_is_refused_leaves_nothing(void **state)
{
	(void)state;
	kit_play(bad_attributes, 1);
	kit_play(no_memory, 1);
	kit_play(too_late, 1);
}

static void outside_refuses_too(void **state)
{
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	weft_fiber_attr attr = { .executor = weft_rt_executor(rt) };
	weft_fiber *f;

	(void)state;
	assert_int_equal(weft_go(go_nothing, NULL), -EPERM);
	assert_int_equal(weft_spawn(&f, NULL, nothing, NULL), -EPERM);
	weft_rt_shutdown(rt);
	assert_int_equal(weft_rt_go(rt, go_nothing, NULL), -ESHUTDOWN);
	assert_int_equal(weft_spawn(&f, &attr, nothing, NULL), -ESHUTDOWN);
	assert_int_equal(wf_rt_fibers(rt), 0);
	assert_int_equal(wf_load_rlx(&rt->outside.callers), WF_OUTSIDE_CLOSED);
	kit_stop(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inside_each_kind_is_made_as_it_should),
		cmocka_unit_test(outside_there_are_no_tickets),
		cmocka_unit_test(what_is_refused_leaves_nothing),
		cmocka_unit_test(outside_refuses_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
