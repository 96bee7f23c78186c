/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/fiber_scenarios.c - the table of scenarios about fibers.
 *
 * Their bodies are in word_, wait_, group_, suspend_, child_, join_, abroad_,
 * yield_, look_, pool_ and life_scenarios.c, on the kit of fiber_kit.h.
 */
#include "sim/scenario.h"

#include "sim/fiber_kit.h"

#define YES ((void *)1)
#define NUMBER(n) ((void *)(uintptr_t)(n))

#define COMPLETE(n) .opts.preemptions = (n), .complete = 1

static const struct scenario table[] = {
	{ .name = "word/claim", .body = word_claim, COMPLETE(2) },
	{ .name = "word/stale", .body = word_stale, COMPLETE(2) },
	{ .name = "word/stale-round",
		.body = word_stale,
		.arg = YES,
		COMPLETE(2) },
	{ .name = "word/wait", .body = word_wait, COMPLETE(2) },
	{ .name = "word/epochs", .body = word_epochs, COMPLETE(2) },

	{ .name = "wait/thread", .body = wait_thread },
	{ .name = "wait/thread-timed", .body = wait_thread, .arg = YES },
	{ .name = "wait/fiber", .body = wait_fiber },
	{ .name = "wait/fiber-outside", .body = wait_fiber, .arg = YES },
	{ .name = "wait/cancel", .body = wait_cancel },

	{ .name = "group/free", .body = group_free },
	{ .name = "group/free-added", .body = group_free, .arg = YES },
	{ .name = "group/now", .body = group_now },
	{ .name = "group/two-waiters", .body = group_two_waiters },
	{ .name = "group/two-waiters-timed",
		.body = group_two_waiters,
		.arg = YES },
	{ .name = "group/leaver", .body = group_leaver },
	{ .name = "group/again", .body = group_again },
	{ .name = "group/rounds", .body = group_rounds },
	{ .name = "group/fiber", .body = group_fiber },
	{ .name = "group/two-fibers", .body = group_two_fibers },
	{ .name = "group/cancel", .body = group_cancel },

	{ .name = "suspend/wake",
		.body = suspend_wake,
		.arg = NUMBER(WEFT_HINT_DEFAULT) },
	{ .name = "suspend/wake-next",
		.body = suspend_wake,
		.arg = NUMBER(WEFT_HINT_NEXT) },
	{ .name = "suspend/wake-yield",
		.body = suspend_wake,
		.arg = NUMBER(WEFT_HINT_YIELD) },
	{ .name = "suspend/outside", .body = suspend_outside },
	{ .name = "suspend/refuse", .body = suspend_refuse },
	{ .name = "suspend/refuse-aside", .body = suspend_refuse, .arg = YES },
	{ .name = "suspend/refuse-behind", .body = suspend_refuse_behind },
	{ .name = "suspend/two-wakers", .body = suspend_two_wakers },
	{ .name = "suspend/transfer", .body = suspend_transfer },
	{ .name = "suspend/transfer-refused",
		.body = suspend_transfer,
		.arg = YES },

	{ .name = "join/thief", .body = join_thief },
	{ .name = "join/thief-waits", .body = join_thief, .arg = YES },
	{ .name = "join/thief-fenced", .body = join_thief_fenced },
	{ .name = "join/detach-fresh", .body = join_detach_fresh },
	{ .name = "join/detach-fresh-waits",
		.body = join_detach_fresh,
		.arg = YES },
	{ .name = "join/tree", .body = join_tree, .arg = NUMBER(2) },
	{ .name = "join/chain", .body = join_chain },
	{ .name = "join/budget", .body = join_budget },
	{ .name = "join/count", .body = join_count },
	{ .name = "join/moves", .body = join_moves },
	{ .name = "join/stale", .body = join_stale },
	{ .name = "join/stale-round", .body = join_stale, .arg = YES },
	{ .name = "join/fiber", .body = join_fiber },
	{ .name = "join/done", .body = join_fiber, .arg = YES },
	{ .name = "join/thread", .body = join_thread },
	{ .name = "join/deadline", .body = join_deadline },
	{ .name = "join/cancel", .body = join_cancel },
	{ .name = "join/detach", .body = join_detach },
	{ .name = "join/detach-later", .body = join_detach, .arg = YES },

	{ .name = "abroad/tickets", .body = abroad_tickets },
	{ .name = "abroad/tickets-fenced",
		.body = abroad_tickets,
		.arg = NUMBER(DUO_FENCED) },

	{ .name = "yield/three", .body = yield_three },
	{ .name = "yield/three-coarse",
		.body = yield_three,
		.arg = NUMBER(DUO_COARSE) },
	{ .name = "yield/three-fenced",
		.body = yield_three,
		.arg = NUMBER(DUO_COARSE | DUO_FENCED) },
	{ .name = "yield/stolen",
		.body = yield_stolen,
		.arg = NUMBER(DUO_COARSE) },
	{ .name = "yield/stolen-fenced",
		.body = yield_stolen,
		.arg = NUMBER(DUO_COARSE | DUO_FENCED) },
	{ .name = "yield/computes",
		.body = yield_computes,
		.arg = NUMBER(DUO_COARSE) },
	{ .name = "yield/computes-fenced",
		.body = yield_computes,
		.arg = NUMBER(DUO_COARSE | DUO_FENCED) },
	{ .name = "yield/fair", .body = yield_fair },

	{ .name = "look/ends", .body = look_race },
	{ .name = "look/waits", .body = look_race, .arg = NUMBER(1) },
	{ .name = "look/yields", .body = look_race, .arg = NUMBER(2) },
	{ .name = "look/inline", .body = look_inline },

	{ .name = "pool/fibers", .body = pool_fibers },
	{ .name = "pool/walk", .body = pool_walk },
	{ .name = "pool/growth", .body = pool_growth },
	{ .name = "pool/fibers-faults", .body = pool_fibers_faults },
	{ .name = "pool/stacks", .body = pool_stacks },
	{ .name = "pool/trim", .body = pool_trim },
	{ .name = "pool/stacks-faults", .body = pool_stacks_faults },

	{ .name = "life/family", .body = life_family },
	{ .name = "life/stop", .body = life_stop, .opts.idle = life_idle },
	{ .name = "life/late", .body = life_late, .opts.idle = life_idle },
	{ .name = "life/late-call",
		.body = life_late,
		.arg = YES,
		.opts.idle = life_idle },
	{ .name = "life/wake-last", .body = life_wake_last },
	{ .name = "life/join-last", .body = life_join_last },
	{ .name = "life/done-last", .body = life_done_last },
	{ .name = "life/faults", .body = life_faults },
};

const struct scenarios fiber_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
