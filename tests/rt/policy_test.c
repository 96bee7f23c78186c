/* SPDX-License-Identifier: MIT */
/*
 * tests/rt/policy_test.c - each choice is in force from the first moment of
 * a runtime, by what its processors are set up with, and stays so.
 *
 * Words and refusals are in tests/api/policy_test.c; what a choice does is in
 * the tests of the files that make it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "queue/runq_locked.h"
#include "rt/policy.h"
#include "sched/policy.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/thread.h"

enum { PROCS = 3, CELLS = 8 };

/* How many values each field has, in order. */
static const uint32_t values[] = { 3, 2, 2, 3, 2, 2, 3, 2 };
enum { FIELDS = sizeof(values) / sizeof(values[0]), ALL = 864 };

/* The nth of all combinations, whether it can be or not. */
static weft_policy combination(size_t n)
{
	uint32_t field[FIELDS];
	weft_policy p;

	for (size_t i = 0; i < FIELDS; i++) {
		field[i] = (uint32_t)(n % values[i]);
		n /= values[i];
	}
	p = (weft_policy){ field[0], field[1], field[2], field[3], field[4],
		field[5], field[6], field[7], CELLS };
	return p;
}

static bool can_be(const weft_policy *p)
{
	return p->locks == WEFT_LOCKS_SHORT ||
		(p->queue == WEFT_QUEUE_STEALING &&
			p->local == WEFT_LOCAL_ATOMIC);
}

/* ------------------------------------------------------------------------ */
/* Which policies there are. */

/* The operations of local queues follow from the policy. */
static void each_policy_has_its_operations(void **state)
{
	(void)state;
	for (size_t n = 0; n < ALL; n++) {
		weft_policy p = combination(n);

		assert_ptr_equal(wf_policy_runq(&p),
			p.local == WEFT_LOCAL_MUTEX ? &wf_runq_locked_ops
						    : &wf_runq_ops);
	}
}

static void impossible_combinations_are_refused(void **state)
{
	static const uint32_t bad[] = { 1, 3, 12, (1 << 20) + 1, 1 << 21 };
	static const uint32_t good[] = { 0, 2, 1 << 20 };
	char why[200];

	(void)state;
	for (size_t n = 0; n < ALL; n++) {
		weft_policy p = combination(n);

		assert_int_equal(wf_policy_check(&p, why, sizeof(why)),
			can_be(&p) ? 0 : -EINVAL);
	}
	for (size_t i = 0; i < FIELDS; i++) {
		uint32_t field[FIELDS + 1] = { 0 };
		weft_policy p;

		field[i] = values[i];
		memcpy(&p, field, sizeof(p));
		assert_int_equal(
			wf_policy_check(&p, why, sizeof(why)), -EINVAL);
		assert_non_null(strstr(why, "must be from 0 to"));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		weft_policy p = { .bounded_capacity = bad[i] };

		assert_int_equal(
			wf_policy_check(&p, why, sizeof(why)), -EINVAL);
		assert_non_null(strstr(why, "bounded_capacity"));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		weft_policy p = { .bounded_capacity = good[i] };

		assert_int_equal(wf_policy_check(&p, NULL, 0), 0);
	}
}

/* ------------------------------------------------------------------------ */
/* What a runtime is set up with. */

static weft_rt *start(const weft_policy *p, uint32_t workers, uint32_t size)
{
	weft_config cfg = {
		.workers = workers, .group_size = size, .policy = p
	};
	weft_rt *rt = NULL;

	assert_int_equal(weft_rt_start(&rt, &cfg), 0);
	assert_int_equal(memcmp(&rt->policy, p, sizeof(*p)), 0);
	assert_null(rt->config.policy);
	return rt;
}

static void stop(weft_rt *rt)
{
	assert_int_equal(weft_rt_stop(rt, WEFT_FOREVER), 0);
}

static void check_proc(struct wf_proc *p, const weft_policy *policy)
{
	bool apart = policy->queue != WEFT_QUEUE_STEALING ||
		policy->local == WEFT_LOCAL_MUTEX;
	unsigned flags = (apart ? WF_PUSH_POLICY : 0) |
		(policy->wake != WEFT_WAKE_GATE ? WF_PUSH_COARSE : 0) |
		(policy->lifo == WEFT_LIFO_OFF ? WF_PUSH_SLOTLESS : 0);
	bool shared = apart || policy->locks == WEFT_LOCKS_NONE ||
		!p->group->rt->membarrier;

	assert_int_equal(wf_load_rlx(&p->push_flags), flags);
	assert_int_equal(p->group->always_open, shared);
	assert_int_equal(wf_load_rlx(&p->shared), shared);
	assert_int_equal(wf_load_rlx(&p->open), shared);
	assert_int_equal(wf_proc_backlog(p), 0);
}

static void check_group(struct wf_group *g, const weft_policy *policy)
{
	const weft_policy *own = wf_policy_of(g);

	assert_int_equal(memcmp(own, policy, sizeof(*own)), 0);
	assert_int_equal(
		wf_load_rlx(&g->coarse), policy->wake != WEFT_WAKE_GATE);
	if (policy->queue == WEFT_QUEUE_BOUNDED)
		assert_int_equal(g->bounded.mask, CELLS - 1);
	else
		assert_null(g->bounded.cells);
	for (uint32_t i = 0; i < g->count; i++)
		check_proc(&g->procs[i], policy);
}

/* How much is stolen, taken or offloaded needs no setting up. */
static void processors_know_their_policy_from_the_start(void **state)
{
	size_t started = 0;

	(void)state;
	for (size_t n = 0; n < ALL; n++) {
		weft_policy p = combination(n);

		if (!can_be(&p) || p.steal || p.take || p.offload)
			continue;
		for (uint32_t size = 2; size <= 4; size += 2) {
			weft_rt *rt = start(&p, 4, size);

			assert_int_equal(rt->group_count, 4 / size);
			for (uint32_t i = 0; i < rt->group_count; i++)
				check_group(&rt->groups[i], &p);
			stop(rt);
		}
		started++;
	}
	assert_int_equal(started, 3 * 2 * 2 * 3 + 2 * 3);
}

/* Each group has a bounded queue of its own. */
static void bounded_queues_share_no_cell(void **state)
{
	weft_policy p = { .queue = WEFT_QUEUE_BOUNDED };
	weft_rt *rt = start(&p, 4, 2);

	(void)state;
	assert_int_equal(rt->groups[0].bounded.mask, 65535);
	assert_ptr_equal(rt->groups[1].bounded.cells,
		rt->groups[0].bounded.cells + 65536);
	for (int i = 0; i < 2; i++) {
		struct wf_bounded *q = &rt->groups[i].bounded;

		assert_int_equal(wf_load_rlx(&q->cells[0].turn), 0);
		assert_int_equal(wf_load_rlx(&q->cells[65535].turn), 65535);
	}
	stop(rt);
}

/* Making a thread takes locks: so all are made before any task runs. */
static void without_locks_all_threads_come_at_once(void **state)
{
	weft_policy p = { .locks = WEFT_LOCKS_NONE };
	struct timespec pause = { .tv_nsec = 5000000 };
	weft_rt *rt = start(&p, PROCS, 0);

	(void)state;
	assert_int_equal(wf_load_rlx(&rt->threads), PROCS);
	for (uint32_t i = 0; i < PROCS; i++)
		assert_non_null(wf_load_rlx(&rt->procs[i].thread));
	assert_true(rt->linger_ns == INT64_MAX);
	/* And stay for good: all sleep now, and none has gone later. */
	assert_int_equal(weft_rt_wait_idle(rt, WEFT_FOREVER), 0);
	(void)nanosleep(&pause, NULL);
	assert_int_equal(wf_load_rlx(&rt->threads), PROCS);
	for (uint32_t i = 0; i < PROCS; i++)
		assert_non_null(wf_load_rlx(&rt->procs[i].thread));
	stop(rt);
}

static void with_locks_they_come_when_they_are_needed(void **state)
{
	weft_policy p = { .wake = WEFT_WAKE_GO };
	weft_rt *rt = start(&p, PROCS, 0);

	(void)state;
	assert_int_equal(wf_load_rlx(&rt->threads), 1);
	assert_non_null(wf_load_rlx(&rt->procs[0].thread));
	for (uint32_t i = 1; i < PROCS; i++)
		assert_null(wf_load_rlx(&rt->procs[i].thread));
	assert_true(rt->linger_ns == 30 * WF_NS_PER_S);
	stop(rt);
}

/* ------------------------------------------------------------------------ */
/* It stays so. */

/* A task that begins others, some of them by way of the slot. */
struct work {
	weft_task task;
	weft_rt *rt;
	weft_task child[6];
	int err;
};

static void run_child(weft_task *self)
{
	(void)self;
}

static void run_work(weft_task *self)
{
	struct work *w = (struct work *)self;

	for (int i = 0; i < 6; i++)
		w->err |= weft_submit(weft_rt_executor(w->rt), &w->child[i],
			(weft_hint)(i % 3));
}

/* When all has run, everything is as it was in the beginning. */
static void work_leaves_no_trace(void **state)
{
	(void)state;
	for (size_t n = 0; n < ALL; n += 7) {
		struct work w = { .task.run = run_work };
		weft_policy p = combination(n);
		struct wf_counters *counters;

		if (!can_be(&p))
			continue;
		for (int i = 0; i < 6; i++)
			w.child[i].run = run_child;
		w.rt = start(&p, 1, 0);
		counters = &w.rt->procs[0].counters;
		assert_int_equal(weft_submit(weft_rt_executor(w.rt), &w.task,
					 WEFT_HINT_DEFAULT),
			0);
		assert_int_equal(weft_rt_wait_idle(w.rt, WEFT_FOREVER), 0);
		assert_int_equal(w.err, 0);
		assert_int_equal(wf_load_rlx(&counters->ticks), 7);
		/* The second one for the slot displaced the first. */
		assert_int_equal(wf_load_rlx(&counters->runs_lifo),
			p.lifo == WEFT_LIFO_ON);
		check_group(&w.rt->groups[0], &p);
		stop(w.rt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_policy_has_its_operations),
		cmocka_unit_test(impossible_combinations_are_refused),
		cmocka_unit_test(processors_know_their_policy_from_the_start),
		cmocka_unit_test(bounded_queues_share_no_cell),
		cmocka_unit_test(without_locks_all_threads_come_at_once),
		cmocka_unit_test(with_locks_they_come_when_they_are_needed),
		cmocka_unit_test(work_leaves_no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
