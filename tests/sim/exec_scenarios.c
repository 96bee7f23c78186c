/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/exec_scenarios.c - the table of scenarios about executors, and
 * about runtimes with other policies.
 *
 * Their bodies are in foreign_, strand_, call_, exec_pool_, lab_, idle_wait_,
 * policy_, groups_ and lockfree_scenarios.c.
 */
#include "sim/scenario.h"

#include "sim/exec_kit.h"
#include "sim/lab_kit.h"
#include "sim/policy_kit.h"

#define YES ((void *)1)
#define NUMBER(n) ((void *)(uintptr_t)(n))

#define COMPLETE(n) .opts.preemptions = (n), .complete = 1

/* As planned; the conditions at rest are checked. */
#define PLAN(n, f, w, count)                                                \
	{                                                                   \
		.name = n, .body = f, .arg = &(struct plan){ w, count, 0 }, \
		.opts.idle = sched_idle, .opts.invariant = sched_step       \
	}

/* A plan in two groups. */
#define APART(n, f, w, count)                                               \
	{                                                                   \
		.name = n, .body = f, .arg = &(struct plan){ w, count, 2 }, \
		.opts.idle = sched_idle, .opts.invariant = sched_step       \
	}

/* As planned, and one of them stops at some point. */
#define STOP(n, f, w)                                                   \
	{                                                               \
		.name = n, .body = f, .arg = &(struct plan){ w, 3, 0 }, \
		.opts.invariant = sched_step,                           \
		.opts.flags = WEFT_SIM_LOCK_FREE                        \
	}

/* A laboratory: workers, rule, queues, local queue, steal one. */
#define LAB(n, f, ...)                                               \
	{                                                            \
		.name = n, .body = f,                                \
		.arg = &(struct lab_plan){ __VA_ARGS__ },            \
		.opts.idle = lab_idle, .opts.invariant = lab_step    \
	}

/* Short enough to see all schedules within the bounds. */
#define LAB_ALL(n, f, ...)                                           \
	{                                                            \
		.name = n, .body = f,                                \
		.arg = &(struct lab_plan){ __VA_ARGS__ },            \
		.opts.idle = lab_idle, .opts.invariant = lab_step,   \
		.opts.stales = 1, COMPLETE(3)                        \
	}
#define GO WF_LAB_WAKE_GO
#define EVERY WF_LAB_WAKE_EVERY
#define FLARE WF_LAB_WAKE_FLARE

static const struct scenario table[] = {
	{ .name = "foreign/wake", .body = foreign_wake },
	{ .name = "foreign/wake-yield",
		.body = foreign_wake,
		.arg = NUMBER(WEFT_HINT_YIELD) },
	{ .name = "foreign/refuse", .body = foreign_refuse },
	{ .name = "foreign/transfer", .body = foreign_transfer },
	{ .name = "foreign/transfer-refused",
		.body = foreign_transfer,
		.arg = YES },
	{ .name = "foreign/yield", .body = foreign_yield },
	{ .name = "foreign/family", .body = foreign_family },
	{ .name = "foreign/group", .body = foreign_group },
	{ .name = "foreign/count", .body = foreign_count },
	{ .name = "foreign/count-joined", .body = foreign_count, .arg = YES },
	{ .name = "foreign/join-thread", .body = foreign_join_thread },
	{ .name = "foreign/join-deadline", .body = foreign_join_deadline },
	{ .name = "foreign/join-foreign", .body = foreign_join_foreign },
	{ .name = "foreign/join-far",
		.body = foreign_join_foreign,
		.arg = YES },
	{ .name = "foreign/join-rt", .body = foreign_join_rt },
	{ .name = "foreign/joins-rt", .body = foreign_joins_rt },
	{ .name = "foreign/wake-rt", .body = foreign_wake_rt },
	{ .name = "foreign/wakes-rt", .body = foreign_wakes_rt },
	{ .name = "foreign/detach", .body = foreign_detach },
	{ .name = "foreign-pool/hold", .body = foreign_pool_hold, COMPLETE(2) },
	{ .name = "foreign-pool/faults", .body = foreign_pool_faults },
	{ .name = "foreign-pool/fibers", .body = foreign_pool_fibers },

	{ .name = "strand/two", .body = strand_two },
	{ .name = "strand/three", .body = strand_three },
	{ .name = "strand/inline",
		.body = strand_inline,
		.opts.stales = 1,
		COMPLETE(4) },
	{ .name = "strand/stop",
		.body = strand_stop,
		.opts.flags = WEFT_SIM_LOCK_FREE },
	{ .name = "strand/refuse", .body = strand_refuse },
	{ .name = "strand/turns", .body = strand_turns },
	{ .name = "strand/turns-refused", .body = strand_turns, .arg = YES },
	{ .name = "strand/strand", .body = strand_strand },
	{ .name = "strand/pool", .body = strand_pool },
	{ .name = "strand/rt", .body = strand_rt },
	{ .name = "strand/fibers", .body = strand_fibers },
	{ .name = "strand/destroy", .body = strand_destroy },
	{ .name = "strand/destroy-idle", .body = strand_destroy_idle },
	{ .name = "strand/destroy-wake", .body = strand_destroy_wake },
	{ .name = "strand/destroy-fiber", .body = strand_destroy_fiber },
	{ .name = "strand/destroy-rt", .body = strand_destroy_rt },
	{ .name = "call/threads", .body = call_threads },
	{ .name = "call/servers", .body = call_servers },
	{ .name = "call/inline", .body = call_inline },
	{ .name = "call/refused", .body = call_refused },
	{ .name = "call/fibers", .body = call_fibers },
	{ .name = "call/rt", .body = call_rt },
	{ .name = "call/rt-inline", .body = call_rt, .arg = YES },
	{ .name = "call/foreign", .body = call_foreign },
	{ .name = "call/cancel", .body = call_cancel },

	{ .name = "pooled/submit", .body = pooled_submit },
	{ .name = "pooled/two", .body = pooled_two },
	{ .name = "pooled/need", .body = pooled_need },
	{ .name = "pooled/inside", .body = pooled_inside },
	{ .name = "pooled/fiber", .body = pooled_fiber },
	{ .name = "pooled/late-fiber", .body = pooled_late_fiber },
	{ .name = "pooled/yield", .body = pooled_yield },
	{ .name = "pooled/by-fiber", .body = pooled_by_fiber },
	{ .name = "pooled/faults", .body = pooled_faults },
	{ .name = "manual/two", .body = manual_two },
	{ .name = "manual/destroy", .body = manual_destroy },
	{ .name = "manual/destroy-two", .body = manual_destroy_two },
	{ .name = "manual/fiber", .body = manual_fiber },
	{ .name = "inline/two", .body = inline_two },
	{ .name = "cond/one", .body = cond_one, COMPLETE(3) },
	{ .name = "cond/two", .body = cond_two },
	{ .name = "cond/all", .body = cond_all },

	LAB_ALL("lab/park-go", lab_park, 1, GO, 0, 0, 0),
	LAB_ALL("lab/park-every", lab_park, 1, EVERY, 0, 0, 0),
	LAB_ALL("lab/park-flare", lab_park, 1, FLARE, WF_LAB_BOUNDED, 0, 0),
	LAB_ALL("lab/claim", lab_claim, 2, FLARE, 0, 0, 0),
	LAB_ALL("lab/claim-bounded", lab_claim, 2, FLARE, WF_LAB_BOUNDED, 0, 0),
	LAB("lab/spinners", lab_spinners, 3, FLARE, WF_LAB_BOUNDED, 0, 0),
	LAB("lab/submit-go-one", lab_submit, 1, GO, 0, 0, 0),
	LAB("lab/submit-go", lab_submit, 2, GO, 0, 0, 0),
	LAB("lab/submit-every", lab_submit, 2, EVERY, 0, 0, 0),
	LAB("lab/submit-flare-one", lab_submit, 1, FLARE, 0, 0, 0),
	LAB("lab/submit-flare", lab_submit, 2, FLARE, 0, 0, 0),
	LAB("lab/submit-bounded", lab_submit, 2, FLARE, WF_LAB_BOUNDED, 0, 0),
	LAB("lab/need-go", lab_need, 2, GO, 0, 0, 0),
	LAB("lab/need-go-three", lab_need, 3, GO, 0, 0, 0),
	LAB("lab/need-every", lab_need, 2, EVERY, 0, 0, 0),
	LAB("lab/need-global", lab_need, 2, EVERY, WF_LAB_GLOBAL, 0, 0),
	LAB("lab/need-flare", lab_need, 2, FLARE, 0, 0, 0),
	LAB("lab/need-flare-three", lab_need, 3, FLARE, WF_LAB_GLOBAL, 0, 0),
	LAB("lab/need-bounded", lab_need, 2, FLARE, WF_LAB_BOUNDED, 0, 0),
	LAB("lab/need-bounded-three", lab_need, 3, FLARE, WF_LAB_BOUNDED, 0, 0),
	LAB("lab/need-inside-go", lab_need_inside, 2, GO, 0, 0, 0),
	LAB("lab/need-inside-go-three", lab_need_inside, 3, GO, 0, 0, 0),
	LAB("lab/need-inside-every", lab_need_inside, 3, EVERY, 0, 0, 0),
	LAB("lab/need-inside-flare", lab_need_inside, 3, FLARE, 0, 0, 0),
	LAB("lab/need-inside-one", lab_need_inside, 3, GO, 0, 0, 1),
	LAB("lab/need-inside-list", lab_need_inside, 3, EVERY, 0, WF_LAB_LIST,
		0),
	LAB("lab/need-inside-mutex", lab_need_inside, 3, FLARE, 0,
		WF_LAB_RING_LOCKED, 0),
	LAB("lab/inside-go", lab_inside, 2, GO, 0, 0, 0),
	LAB("lab/inside-every", lab_inside, 2, EVERY, 0, 0, 1),
	LAB("lab/inside-flare", lab_inside, 2, FLARE, 0, 0, 0),
	LAB("lab/inside-list", lab_inside, 2, GO, 0, WF_LAB_LIST, 0),
	LAB("lab/inside-mutex", lab_inside, 2, GO, 0, WF_LAB_RING_LOCKED, 0),
	LAB("lab/inside-bounded", lab_inside, 2, FLARE, WF_LAB_BOUNDED, 0, 0),
	LAB("lab/fiber-go", lab_fiber, 1, GO, 0, 0, 0),
	LAB("lab/fiber-go-two", lab_fiber, 2, GO, 0, 0, 0),
	LAB("lab/fiber-every", lab_fiber, 2, EVERY, 0, 0, 0),
	LAB("lab/fiber-flare", lab_fiber, 2, FLARE, 0, 0, 0),
	LAB("lab/late-fiber-go", lab_late_fiber, 2, GO, 0, 0, 0),
	LAB("lab/late-fiber-flare", lab_late_fiber, 2, FLARE, WF_LAB_BOUNDED, 0,
		0),
	LAB("lab/yield-go", lab_yield, 2, GO, 0, 0, 0),
	LAB("lab/yield-flare", lab_yield, 2, FLARE, 0, 0, 0),
	{ .name = "lab/faults", .body = lab_faults },

	PLAN("idle/one", idle_one, "ws", 1),
	PLAN("idle/two", idle_one, "ws", 2),
	PLAN("idle/inside-one", idle_inside, "ws", 1),
	PLAN("idle/inside", idle_inside, "ws", 2),
	PLAN("idle/inside-lock-free", idle_inside, "lock-free", 2),
	PLAN("idle/inside-bounded", idle_inside, "bounded", 2),
	PLAN("idle/inside-fifo", idle_inside, "global-fifo", 2),
	PLAN("idle/stolen", idle_stolen, "ws", 2),
	PLAN("idle/stolen-three", idle_stolen, "ws", 3),
	PLAN("idle/stolen-mutex", idle_stolen, "mutex", 2),
	PLAN("idle/outside", idle_outside, "ws", 1),
	PLAN("idle/outside-lock-free", idle_outside, "lock-free", 2),
	PLAN("idle/outside-bounded", idle_outside, "bounded", 2),
	PLAN("idle/two-waiters", idle_two_waiters, "ws", 1),
	PLAN("idle/deadline", idle_deadline, "ws", 1),
	PLAN("idle/already", idle_already, "ws", 2),
	PLAN("idle/taken-other-group", idle_taken_other_group, "ws", 2),
	PLAN("idle/taken-other-group-lock-free", idle_taken_other_group,
		"lock-free", 2),
	PLAN("idle/taken-other-group-bounded", idle_taken_other_group,
		"bounded", 2),
	PLAN("idle/stolen-other-group", idle_stolen_other_group, "ws", 2),
	PLAN("idle/stolen-other-group-lock-free", idle_stolen_other_group,
		"lock-free", 2),
	PLAN("idle/stolen-other-group-mutex", idle_stolen_other_group,
		"mutex", 2),
	PLAN("idle/ping", idle_ping, "ws", 2),
	PLAN("idle/ping-lock-free", idle_ping, "lock-free", 2),
	PLAN("idle/last-push", idle_last_push, "ws", 2),
	PLAN("idle/last-left", idle_last_left, "ws", 2),
	PLAN("idle/last-stolen", idle_last_stolen, "ws", 2),
	{ .name = "idle/fiber", .body = idle_fiber },
	PLAN("idle/rt", idle_rt, "ws", 2),
	APART("idle/groups", idle_rt, "ws", 2),
	APART("idle/groups-lock-free", idle_rt, "lock-free", 2),
	PLAN("idle/faults", idle_faults, "ws", 2),
	APART("idle/groups-faults", idle_faults, "ws", 2),

	PLAN("policy/pick-go-one", policy_pick, "wake-go", 1),
	PLAN("policy/pick-go", policy_pick, "wake-go", 2),
	PLAN("policy/pick-flare-one", policy_pick, "wake-flare", 1),
	PLAN("policy/pick-flare", policy_pick, "wake-flare", 2),
	PLAN("policy/pick-bounded", policy_pick, "bounded", 2),
	PLAN("policy/pick-bounded-flare", policy_pick, "bounded,wake-flare", 2),
	PLAN("policy/pick-fifo", policy_pick, "global-fifo", 2),
	PLAN("policy/pick-mutex", policy_pick, "mutex", 2),
	PLAN("policy/pick-lock-free", policy_pick, "lock-free", 2),
	PLAN("policy/need-go", policy_need, "wake-go", 2),
	PLAN("policy/need-flare", policy_need, "wake-flare", 2),
	PLAN("policy/need-go-fifo", policy_need, "global-fifo,wake-go", 2),
	PLAN("policy/need-flare-bounded", policy_need, "bounded,wake-flare", 2),
	PLAN("policy/need-go-lock-free", policy_need, "lock-free,wake-go", 2),
	PLAN("policy/need-go-mutex", policy_need, "mutex,wake-go", 2),
	/* The case it tests is rare. */
	{ .name = "policy/rest-go",
		.body = policy_rest,
		.arg = &(struct plan){ "lock-free,wake-go", 2, 0 },
		.opts.idle = sched_idle,
		.opts.invariant = sched_step,
		.weight = 10 },
	PLAN("policy/order-bounded", policy_order, "bounded", 1),
	PLAN("policy/overflow", policy_overflow, "bounded", 1),
	PLAN("policy/order-fifo", policy_order, "global-fifo", 1),
	PLAN("policy/order-mutex", policy_order, "mutex", 1),
	PLAN("policy/inside-bounded", policy_inside, "bounded", 2),
	PLAN("policy/inside-mutex", policy_inside, "mutex", 2),
	PLAN("policy/inside-mutex-go", policy_inside, "mutex,wake-go", 2),
	PLAN("policy/inside-one", policy_inside,
		"steal-one,take-one,offload-one,no-lifo", 2),
	PLAN("policy/inside-all", policy_inside, "take-all,wake-go", 2),
	PLAN("policy/inside-lock-free", policy_inside, "lock-free", 2),
	PLAN("policy/rt-go", policy_rt, "wake-go", 2),
	PLAN("policy/rt-flare", policy_rt, "wake-flare", 2),
	PLAN("policy/rt-bounded", policy_rt, "bounded", 2),
	PLAN("policy/rt-fifo", policy_rt, "global-fifo", 2),
	PLAN("policy/rt-mutex", policy_rt, "mutex", 2),
	PLAN("policy/rt-lock-free", policy_rt, "lock-free", 2),

	APART("groups/rt", groups_rt, "ws", 2),
	APART("groups/rt-four", groups_rt, "ws", 4),
	APART("groups/rt-go", groups_rt, "wake-go", 2),
	APART("groups/rt-flare", groups_rt, "wake-flare", 2),
	APART("groups/rt-mutex", groups_rt, "mutex", 2),
	APART("groups/rt-mutex-flare", groups_rt, "mutex,wake-flare", 2),
	APART("groups/rt-fifo", groups_rt, "global-fifo", 2),
	APART("groups/rt-fifo-go", groups_rt, "global-fifo,wake-go", 2),
	APART("groups/rt-bounded", groups_rt, "bounded", 2),
	APART("groups/rt-bounded-flare", groups_rt, "bounded,wake-flare", 2),
	APART("groups/rt-one", groups_rt,
		"steal-one,take-one,offload-one,no-lifo", 2),
	APART("groups/rt-all", groups_rt, "take-all", 2),
	APART("groups/rt-lock-free", groups_rt, "lock-free", 2),
	APART("groups/rt-lock-free-go", groups_rt, "lock-free,wake-go", 2),
	APART("groups/rt-lock-free-flare", groups_rt, "lock-free,wake-flare",
		2),

	STOP("lockfree/outside", lockfree_outside, "lock-free"),
	STOP("lockfree/outside-go", lockfree_outside, "lock-free,wake-go"),
	STOP("lockfree/outside-flare", lockfree_outside,
		"lock-free,wake-flare"),
	STOP("lockfree/inside", lockfree_inside, "lock-free"),
	STOP("lockfree/inside-go", lockfree_inside, "lock-free,wake-go"),
};

const struct scenarios exec_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
