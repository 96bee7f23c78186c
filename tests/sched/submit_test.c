/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/submit_test.c - a task that is ready goes where sched/submit.h
 * says: by its hint from inside, to the global queue from outside and from
 * other runtimes; a full queue drops dead tickets first and only then sends its
 * older half away.
 *
 * The runtimes are made by hand and have no threads; the test's own thread
 * takes the part of one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "os/os.h"
#include "queue/resubmit_check.h"
#include "rt/assemble.h"
#include "rt/config.h"
#include "sched/global.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/thread.h"
#include "sched/yielders.h"

enum { CAPACITY = 8, GROUPS = 3, CLOCK_US = 12345 };

struct rig {
	struct weft_rt *rt;
	struct wf_proc *p;
	struct wf_thread *thread; /* on it */
	struct wf_fiber_cache fibers;
};

/*
 * GROUPS groups of one processor, which is awake; tasks from outside go to the
 * first group.
 */
static void rig_open_policy(struct rig *r, weft_policy policy)
{
	weft_config cfg = { .workers = GROUPS,
		.group_size = 1,
		.local_capacity = CAPACITY };
	char why[200];

	*r = (struct rig){ .rt = wf_os_alloc(sizeof(*r->rt)),
		.thread = wf_os_alloc(sizeof(*r->thread)) };
	assert_int_equal(wf_config_fill(&r->rt->config, &cfg, sizeof(cfg), why,
				 sizeof(why)),
		0);
	r->rt->policy = policy;
	wf_rt_derive(r->rt);
	assert_int_equal(wf_rt_assemble(r->rt), 0);
	r->rt->group_count = 1;
	for (uint32_t i = 0; i < GROUPS; i++)
		wf_store_rlx(&r->rt->groups[i].sleeping, 0);
	r->p = r->rt->procs;
	r->p->clock_us = CLOCK_US;
	r->thread->rt = r->rt;
	r->thread->proc = r->p;
}

static void rig_open(struct rig *r)
{
	rig_open_policy(r, (weft_policy){ 0 });
}

static void rig_empty(struct wf_proc *p)
{
	while (wf_runq_pop(&p->runq) != 0)
		continue;
	wf_store_rlx(&p->slot, 0);
	wf_store_rlx(&p->yielders.count, 0);
}

static void rig_close(struct rig *r)
{
	wf_os_self_set(NULL);
	for (uint32_t i = 0; i < GROUPS; i++)
		rig_empty(&r->p[i]);
	r->rt->group_count = GROUPS;
	wf_fiber_cache_close(&r->fibers, &r->rt->fibers);
	wf_rt_disassemble(r->rt);
	wf_os_free(r->thread);
	wf_os_free(r->rt);
}

/*
 * n fibers of the runtime.  They are given back at once: no other code takes
 * one meanwhile, and all credits are in the cache in the end.
 */
static void rig_fibers(struct rig *r, weft_fiber **f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		f[i] = wf_fiber_take(&r->fibers, &r->rt->fibers);
		assert_non_null(f[i]);
		f[i]->context.sp = r;
	}
	r->fibers.now.count += (uint32_t)n;
}

/* The entry at place i of the local queue. */
static wf_entry local_at(struct wf_proc *p, uint64_t i)
{
	uint64_t at = wf_load_rlx(&p->runq.head) + i;

	return wf_load_rlx(&p->runq.slots[at & p->runq.mask]);
}

static weft_task *take_global(struct wf_group *g)
{
	struct wf_batch batch = { 0 };

	(void)wf_inject_take(&g->inject, 1, &batch);
	return wf_batch_take(&batch);
}

/* ------------------------------------------------------------------------ */
/* Submitters: inside, outside, of another runtime. */

static void from_inside_the_hint_decides(void **state)
{
	weft_fiber *f[5];
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_fibers(&r, f, 5);
	wf_os_self_set(r.thread);
	wf_make_ready(f[0], WEFT_HINT_DEFAULT);
	assert_true(local_at(r.p, 0) == wf_entry_of(&f[0]->task));
	wf_make_ready(f[1], WEFT_HINT_NEXT);
	assert_true(wf_load_rlx(&r.p->slot) == wf_entry_of(&f[1]->task));
	assert_int_equal(wf_runq_len(&r.p->runq), 1);
	wf_make_ready(f[2], WEFT_HINT_NEXT); /* f[1] is displaced */
	assert_true(wf_load_rlx(&r.p->slot) == wf_entry_of(&f[2]->task));
	assert_true(local_at(r.p, 1) == wf_entry_of(&f[1]->task));
	assert_int_equal(wf_runq_len(&r.p->runq), 2);
	wf_make_ready(f[3], WEFT_HINT_YIELD);
	assert_ptr_equal(r.p->yielders.first, &f[3]->task);
	assert_int_equal(wf_proc_backlog(r.p), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(wf_load_rlx(&f[i]->ready_us), CLOCK_US);
	wf_make_ready(f[4], WEFT_HINT_YIELD);
	assert_ptr_equal(r.p->yielders.last, &f[4]->task);
	rig_close(&r);
}

static void from_outside_all_go_to_the_global_queue(void **state)
{
	static const weft_hint hints[] = { WEFT_HINT_YIELD, WEFT_HINT_NEXT,
		WEFT_HINT_DEFAULT };
	weft_fiber *f[3];
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_fibers(&r, f, 3);
	for (int i = 0; i < 3; i++)
		wf_make_ready(f[i], hints[i]);
	assert_int_equal(wf_proc_backlog(r.p), 0);
	assert_int_equal(wf_load_rlx(&r.rt->outside.callers), 0);
	for (int i = 0; i < 3; i++) {
		assert_ptr_equal(take_global(r.rt->groups), &f[i]->task);
		assert_int_equal(
			wf_load_rlx(&f[i]->ready_us), WF_READY_UNKNOWN);
	}
	rig_close(&r);
}

static void another_runtime_is_outside(void **state)
{
	struct wf_batch batch = { 0 };
	weft_fiber *f[2], *g[2];
	struct rig r, other;

	(void)state;
	rig_open(&r);
	rig_open(&other);
	rig_fibers(&r, f, 2);
	rig_fibers(&other, g, 2);
	wf_os_self_set(other.thread);
	wf_batch_add(&batch, &f[0]->task);
	wf_batch_add(&batch, &g[0]->task);
	wf_batch_add(&batch, &f[1]->task);
	wf_batch_add(&batch, &g[1]->task);
	wf_make_all_ready(&batch, WEFT_HINT_NEXT);
	assert_ptr_equal(take_global(r.rt->groups), &f[0]->task);
	assert_ptr_equal(take_global(r.rt->groups), &f[1]->task);
	assert_null(take_global(other.rt->groups));
	assert_int_equal(wf_proc_backlog(r.p), 0);
	assert_int_equal(wf_proc_backlog(other.p), 2);
	rig_close(&other);
	rig_close(&r);
}

/* Few fibers go to the local queue, more to the global one, all in order. */
static void a_batch_goes_where_there_is_room(void **state)
{
	enum { FEW = (CAPACITY - 1) / 2, MANY = FEW + 8 };
	struct wf_batch few = { 0 }, many = { 0 };
	weft_fiber *f[MANY];
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_fibers(&r, f, MANY);
	for (size_t i = 0; i < FEW; i++)
		wf_batch_add(&few, &f[i]->task);
	wf_push_all(r.p, &few);
	assert_int_equal(wf_runq_len(&r.p->runq), FEW);
	assert_int_equal(wf_inject_len(r.p->inject), 0);
	for (size_t i = 0; i < FEW; i++)
		assert_int_equal(local_at(r.p, i), wf_entry_of(&f[i]->task));
	for (size_t i = 0; i < MANY; i++)
		wf_batch_add(&many, &f[i]->task);
	wf_push_all(r.p, &many);
	assert_int_equal(wf_runq_len(&r.p->runq), FEW);
	assert_int_equal(wf_inject_len(r.p->inject), MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_ptr_equal(take_global(r.p->group), &f[i]->task);
	rig_close(&r);
}

static void run_nothing(weft_task *task)
{
	(void)task;
}

/* Tasks are coarse: a sleeper is woken for a task, not for a timer. */
static void expired_timers_wake_no_processor(void **state)
{
	struct wf_thread sleeper = { 0 };
	weft_fiber *f[2];
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_fibers(&r, f, 2);
	wf_os_self_set(r.thread);
	wf_store_rlx(&r.p->push_flags, WF_PUSH_COARSE);
	wf_store_rlx(&r.p->mean_ns, 1000000);
	wf_store_rlx(&r.p[1].thread, &sleeper);
	r.p[1].bit = 2;
	wf_store_rlx(&r.rt->groups->sleeping, 2);
	wf_make_due(f[0]);
	assert_true(local_at(r.p, 0) == wf_entry_of(&f[0]->task));
	assert_int_equal(wf_load_rlx(&f[0]->ready_us), CLOCK_US);
	assert_int_equal(wf_load_rlx(&sleeper.parker.word), 0);
	wf_make_ready(f[1], WEFT_HINT_DEFAULT);
	assert_true(local_at(r.p, 1) == wf_entry_of(&f[1]->task));
	assert_int_equal(wf_load_rlx(&sleeper.parker.word), 1);
	wf_store_rlx(&r.p[1].thread, NULL);
	rig_close(&r);
}

static void plain_tasks_can_yield_too(void **state)
{
	weft_task task = { .run = run_nothing };
	struct rig r;

	(void)state;
	rig_open(&r);
	wf_os_self_set(r.thread);
	assert_int_equal(
		wf_rt_submit(&r.rt->executor, &task, WEFT_HINT_YIELD), 0);
	assert_int_equal(wf_load_rlx(&r.p->yielders.count), 1);
	assert_ptr_equal(wf_yielders_take(r.p), &task);
	wf_resubmit_leave(&task); /* as its runner does */
	assert_int_equal(
		wf_rt_submit(&r.rt->executor, &task, WEFT_HINT_NEXT), 0);
	assert_true(wf_load_rlx(&r.p->slot) == wf_entry_of(&task));
	wf_store_rlx(&r.rt->stopping, true);
	assert_int_equal(wf_rt_submit(&r.rt->executor, &task, WEFT_HINT_NEXT),
		-ESHUTDOWN);
	rig_close(&r);
}

static void groups_with_sleepers_come_first(void **state)
{
	weft_fiber *f[7];
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_fibers(&r, f, 7);
	r.rt->group_count = GROUPS;
	for (int i = 0; i < 3; i++)
		wf_make_ready(f[i], WEFT_HINT_DEFAULT);
	for (int i = 0; i < GROUPS; i++) /* all awake: each in turn */
		assert_ptr_equal(take_global(&r.rt->groups[i]), &f[i]->task);
	/* One sleeps, but has been woken by another. */
	wf_store_rlx(&r.rt->groups[1].sleeping, 1);
	wf_store_rlx(&r.rt->groups[1].searching, 1);
	for (int i = 3; i < 7; i++) {
		wf_make_ready(f[i], WEFT_HINT_DEFAULT);
		assert_ptr_equal(take_global(&r.rt->groups[1]), &f[i]->task);
	}
	rig_close(&r);
}

/* ------------------------------------------------------------------------ */
/* The full queue. */

/* Fill the queue with tickets of f, of which the first `dead' are dead. */
static void fill_with_tickets(struct rig *r, weft_fiber **f, size_t dead)
{
	for (size_t i = 0; i < CAPACITY; i++) {
		uint32_t state = WF_FIBER_LIVE | 0x300;

		if (i >= dead)
			state |= WF_FIBER_FRESH;
		wf_store_rlx(&f[i]->state, state);
		wf_push(r->p, wf_fiber_ticket(f[i], state));
	}
}

static void a_full_queue_sends_its_older_half_away(void **state)
{
	weft_fiber *f[CAPACITY + 1];
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_fibers(&r, f, CAPACITY + 1);
	for (size_t i = 0; i < CAPACITY; i++)
		wf_push(r.p, wf_entry_of(&f[i]->task));
	assert_int_equal(wf_load_rlx(&r.p->counters.offloads), 0);
	wf_push(r.p, wf_entry_of(&f[CAPACITY]->task));
	assert_int_equal(wf_load_rlx(&r.p->counters.offloads), 1);
	assert_int_equal(wf_runq_len(&r.p->runq), CAPACITY / 2 + 1);
	for (size_t i = 0; i < CAPACITY / 2; i++)
		assert_ptr_equal(take_global(r.rt->groups), &f[i]->task);
	assert_null(take_global(r.rt->groups));
	for (size_t i = 0; i <= CAPACITY / 2; i++)
		assert_true(local_at(r.p, i) ==
			wf_entry_of(&f[CAPACITY / 2 + i]->task));
	rig_close(&r);
}

static void dead_tickets_make_room(void **state)
{
	weft_fiber *f[CAPACITY + 1];
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_fibers(&r, f, CAPACITY + 1);
	fill_with_tickets(&r, f, CAPACITY - 3);
	wf_push(r.p, wf_entry_of(&f[CAPACITY]->task));
	assert_int_equal(wf_load_rlx(&r.p->counters.offloads), 0);
	assert_null(take_global(r.rt->groups));
	assert_int_equal(wf_runq_len(&r.p->runq), 4);
	for (size_t i = 0; i < 3; i++)
		assert_true(wf_fiber_is_fresh(local_at(r.p, i)));
	rig_close(&r);
}

static void tickets_that_leave_are_claimed(void **state)
{
	weft_fiber *f[CAPACITY + 1];
	struct rig r;

	(void)state;
	rig_open(&r);
	rig_fibers(&r, f, CAPACITY + 1);
	fill_with_tickets(&r, f, 2); /* 6 are left: too many to keep all */
	wf_push(r.p, wf_entry_of(&f[CAPACITY]->task));
	assert_int_equal(wf_load_rlx(&r.p->counters.offloads), 1);
	for (size_t i = 2; i < 5; i++) {
		assert_ptr_equal(take_global(r.rt->groups), &f[i]->task);
		assert_false(wf_load_rlx(&f[i]->state) & WF_FIBER_FRESH);
	}
	assert_null(take_global(r.rt->groups));
	assert_int_equal(wf_runq_len(&r.p->runq), 4);
	rig_close(&r);
}

/* ------------------------------------------------------------------------ */
/* By policy. */

static void one_is_sent_away_where_the_policy_says_so(void **state)
{
	(void)state;
	for (uint32_t local = WEFT_LOCAL_ATOMIC; local <= WEFT_LOCAL_MUTEX;
		local++) {
		weft_fiber *f[2 * CAPACITY];
		struct rig r;

		rig_open_policy(&r,
			(weft_policy){
				.offload = WEFT_OFFLOAD_ONE, .local = local });
		rig_fibers(&r, f, 2 * CAPACITY);
		for (size_t i = 0; i < 2 * CAPACITY; i++) {
			wf_push(r.p, wf_entry_of(&f[i]->task));
			if (i < CAPACITY)
				continue;
			assert_ptr_equal(take_global(r.rt->groups),
				&f[i - CAPACITY]->task);
			assert_null(take_global(r.rt->groups));
			assert_int_equal(wf_runq_len(&r.p->runq), CAPACITY);
		}
		assert_int_equal(
			wf_load_rlx(&r.p->counters.offloads), CAPACITY);
		rig_close(&r);
	}
}

/* There is no slot: next is like default. */
static void without_a_slot_next_is_behind_the_others(void **state)
{
	weft_fiber *f[3];
	struct rig r;

	(void)state;
	rig_open_policy(&r, (weft_policy){ .lifo = WEFT_LIFO_OFF });
	rig_fibers(&r, f, 3);
	wf_os_self_set(r.thread);
	for (int i = 0; i < 3; i++)
		wf_make_ready(
			f[i], i == 1 ? WEFT_HINT_DEFAULT : WEFT_HINT_NEXT);
	for (size_t i = 0; i < 3; i++)
		assert_true(local_at(r.p, i) == wf_entry_of(&f[i]->task));
	assert_true(wf_load_rlx(&r.p->slot) == 0);
	assert_int_equal(wf_proc_backlog(r.p), 3);
	rig_close(&r);
}

/* Whatever the hint, all wait in the global queue, but for the slot's. */
static void with_a_global_queue_no_task_waits_in_a_local_one(void **state)
{
	(void)state;
	for (uint32_t q = WEFT_QUEUE_GLOBAL; q <= WEFT_QUEUE_BOUNDED; q++) {
		struct wf_batch out = { 0 };
		weft_fiber *f[5];
		struct rig r;

		rig_open_policy(&r,
			(weft_policy){ .queue = q, .bounded_capacity = 2 });
		rig_fibers(&r, f, 5);
		wf_os_self_set(r.thread);
		wf_make_ready(f[0], WEFT_HINT_DEFAULT);
		wf_make_ready(f[1], WEFT_HINT_YIELD);
		wf_make_ready(f[2], WEFT_HINT_NEXT);
		assert_int_equal(wf_proc_backlog(r.p), 1);
		wf_make_ready(f[3], WEFT_HINT_NEXT); /* f[2] is displaced */
		wf_make_ready(f[4], WEFT_HINT_YIELD);
		assert_true(
			wf_load_rlx(&r.p->slot) == wf_entry_of(&f[3]->task));
		assert_int_equal(wf_proc_backlog(r.p), 1);
		assert_int_equal(wf_global_len(r.rt->groups), 4);
		assert_int_equal(wf_load_rlx(&r.p->counters.overflows),
			q == WEFT_QUEUE_BOUNDED ? 2 : 0);
		while (wf_global_take(r.p, r.rt->groups, 1, 9, &out) != 0)
			continue;
		assert_ptr_equal(wf_batch_take(&out), &f[0]->task);
		assert_ptr_equal(wf_batch_take(&out), &f[1]->task);
		assert_ptr_equal(wf_batch_take(&out), &f[2]->task);
		assert_ptr_equal(wf_batch_take(&out), &f[4]->task);
		assert_null(wf_batch_take(&out));
		rig_close(&r);
	}
}

/* No ticket goes to the global queue: it is redeemed, or dropped. */
static void with_a_global_queue_tickets_are_redeemed(void **state)
{
	uint32_t dead = WF_FIBER_LIVE | 0x300, fresh = dead | WF_FIBER_FRESH;
	weft_fiber *f[2];
	struct rig r;

	(void)state;
	rig_open_policy(&r, (weft_policy){ .queue = WEFT_QUEUE_GLOBAL });
	rig_fibers(&r, f, 2);
	wf_store_rlx(&f[0]->state, dead);
	wf_store_rlx(&f[1]->state, fresh);
	wf_push(r.p, wf_fiber_ticket(f[0], dead));
	wf_push(r.p, wf_fiber_ticket(f[1], fresh));
	assert_ptr_equal(take_global(r.rt->groups), &f[1]->task);
	assert_false(wf_load_rlx(&f[1]->state) & WF_FIBER_FRESH);
	assert_null(take_global(r.rt->groups));
	rig_close(&r);
}

/* Without locks there are no lists of yielders, and overflow is mail. */
static void without_locks_yielders_go_to_the_own_inbox(void **state)
{
	weft_fiber *f[CAPACITY + 2];
	struct wf_batch out = { 0 };
	struct rig r;

	(void)state;
	rig_open_policy(&r, (weft_policy){ .locks = WEFT_LOCKS_NONE });
	rig_fibers(&r, f, CAPACITY + 2);
	wf_os_self_set(r.thread);
	wf_make_ready(f[0], WEFT_HINT_YIELD);
	assert_int_equal(wf_load_rlx(&r.p->yielders.count), 0);
	for (size_t i = 1; i < CAPACITY + 2; i++)
		wf_make_ready(f[i], WEFT_HINT_DEFAULT);
	assert_int_equal(wf_runq_len(&r.p->runq), CAPACITY / 2 + 1);
	assert_int_equal(wf_inject_len(&r.rt->groups->inject), 0);
	/* The own one, not whose turn it is. */
	assert_int_equal(wf_load_rlx(&r.rt->outside.next_inbox), 0);
	assert_int_equal(wf_global_take(r.p, r.rt->groups, 1, 99, &out),
		CAPACITY / 2 + 1);
	for (size_t i = 0; i <= CAPACITY / 2; i++)
		assert_ptr_equal(wf_batch_take(&out), &f[i]->task);
	rig_close(&r);
}

/* From outside: by the form of the queue, and counted there. */
static void from_outside_all_go_where_the_policy_says(void **state)
{
	weft_fiber *f[3];
	struct rig r;

	(void)state;
	rig_open_policy(&r,
		(weft_policy){ .queue = WEFT_QUEUE_BOUNDED,
			.bounded_capacity = 2 });
	rig_fibers(&r, f, 3);
	for (int i = 0; i < 3; i++)
		wf_make_ready(f[i], WEFT_HINT_NEXT);
	assert_int_equal(wf_bounded_len(&r.rt->groups->bounded), 2);
	assert_int_equal(wf_load_rlx(&r.rt->outside.overflows), 1);
	rig_close(&r);
	rig_open_policy(&r, (weft_policy){ .locks = WEFT_LOCKS_NONE });
	rig_fibers(&r, f, 1);
	wf_make_ready(f[0], WEFT_HINT_NEXT);
	assert_false(wf_inbox_is_empty(&r.p->inbox));
	rig_close(&r);
}

/*
 * A queue with a mutex is never touched without it: the lock-free one would
 * note where it last saw the head when it seems full.
 */
static void a_queue_with_a_mutex_is_filled_under_it(void **state)
{
	weft_fiber *f[3 * CAPACITY];
	struct rig r;

	(void)state;
	rig_open_policy(&r, (weft_policy){ .local = WEFT_LOCAL_MUTEX });
	rig_fibers(&r, f, 3 * CAPACITY);
	/* Full of dead tickets: they are not sifted, but dropped as they go. */
	fill_with_tickets(&r, f, CAPACITY);
	wf_push(r.p, wf_entry_of(&f[0]->task));
	assert_int_equal(wf_load_rlx(&r.p->counters.offloads), 1);
	assert_int_equal(wf_runq_len(&r.p->runq), CAPACITY / 2 + 1);
	assert_null(take_global(r.rt->groups));
	for (size_t i = 1; i < 3 * CAPACITY; i++)
		wf_push(r.p, wf_entry_of(&f[i]->task));
	assert_int_equal(r.p->runq.head_seen, 0);
	assert_true(wf_load_rlx(&r.p->counters.offloads) > 4);
	assert_int_equal(wf_load_rlx(&r.p->runq.lock.word), 0);
	rig_close(&r);
}

/* ------------------------------------------------------------------------ */
/* The public door. */

static int refuse(weft_executor *e, weft_task *task, weft_hint hint)
{
	e->reserved_[0] = task;
	return hint == WEFT_HINT_NEXT ? -EBUSY : 0;
}

static void any_executor_is_asked(void **state)
{
	weft_executor e = { .submit = refuse };
	weft_task task = { .run = run_nothing };

	(void)state;
	assert_int_equal(weft_submit(&e, &task, (weft_hint)77), -EINVAL);
	assert_null(e.reserved_[0]);
	assert_int_equal(weft_submit(&e, &task, WEFT_HINT_NEXT), -EBUSY);
	assert_ptr_equal(e.reserved_[0], &task);
	assert_int_equal(weft_submit(&e, &task, WEFT_HINT_YIELD), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_inside_the_hint_decides),
		cmocka_unit_test(from_outside_all_go_to_the_global_queue),
		cmocka_unit_test(another_runtime_is_outside),
		cmocka_unit_test(a_batch_goes_where_there_is_room),
		cmocka_unit_test(expired_timers_wake_no_processor),
		cmocka_unit_test(plain_tasks_can_yield_too),
		cmocka_unit_test(groups_with_sleepers_come_first),
		cmocka_unit_test(a_full_queue_sends_its_older_half_away),
		cmocka_unit_test(dead_tickets_make_room),
		cmocka_unit_test(tickets_that_leave_are_claimed),
		cmocka_unit_test(one_is_sent_away_where_the_policy_says_so),
		cmocka_unit_test(without_a_slot_next_is_behind_the_others),
		cmocka_unit_test(
			with_a_global_queue_no_task_waits_in_a_local_one),
		cmocka_unit_test(with_a_global_queue_tickets_are_redeemed),
		cmocka_unit_test(without_locks_yielders_go_to_the_own_inbox),
		cmocka_unit_test(from_outside_all_go_where_the_policy_says),
		cmocka_unit_test(a_queue_with_a_mutex_is_filled_under_it),
		cmocka_unit_test(any_executor_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
