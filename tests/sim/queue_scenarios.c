/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/queue_scenarios.c - the table of scenarios about queues and locks.
 *
 * Their bodies are in ring_, ticket_, inject_, bounded_ and lock_scenarios.c.
 */
#include "sim/scenario.h"

#include "sim/queue_kit.h"

#include "queue/runq_locked.h"

#define LOCK_FREE ((void *)&wf_runq_ops)
#define LOCKED ((void *)&wf_runq_locked_ops)

/* A body that is run by a thread, because thread 0 is never stopped. */
struct part {
	void (*body)(void *arg);
	void *arg;
};

static void in_thread(void *arg)
{
	const struct part *part = arg;

	thread_join(thread_start(part->body, part->arg, "owner"));
}

#define PART(body, arg) (&(struct part){ body, arg })

/* No lock: whichever thread is stopped, the others come to their end. */
#define STOP .body = in_thread, .opts.flags = WEFT_SIM_LOCK_FREE

/* And indices only grow, so a value never comes back. */
#define STOP_ABA \
	.body = in_thread, .opts.flags = WEFT_SIM_LOCK_FREE | WEFT_SIM_ABA

/* Few enough to see them all: with n preemptions, one old value, one stop. */
#define ALL(n)                                                  \
	.complete = 1, .opts.preemptions = n, .opts.stales = 1, \
	.opts.surprises = 1

static const struct scenario table[] = {
	/* clang-format off */
	{ .name = "ring/one-thief", .body = ring_one_thief, .arg = LOCK_FREE,
	  ALL(4) },
	{ .name = "ring/two-thieves", .body = ring_two_thieves,
	  .arg = LOCK_FREE, .weight = 2 },
	{ .name = "ring/two-thieves-stop", STOP_ABA,
	  .arg = PART(ring_two_thieves, LOCK_FREE) },
	{ .name = "ring/chain", STOP_ABA, .arg = PART(ring_chain, LOCK_FREE) },
	{ .name = "ring/cross", STOP_ABA, .arg = PART(ring_cross, LOCK_FREE) },
	{ .name = "ring/offload", STOP_ABA,
	  .arg = PART(ring_offload, LOCK_FREE) },
	{ .name = "ring/grab", STOP_ABA, .arg = PART(ring_grab, LOCK_FREE) },
	{ .name = "ring/laps", STOP_ABA, .arg = PART(ring_laps, LOCK_FREE) },
	{ .name = "ring/lone", STOP_ABA, .arg = PART(ring_lone, LOCK_FREE) },
	{ .name = "ring/reuse", STOP_ABA, .arg = PART(ring_reuse, LOCK_FREE),
	  ALL(2) },
	{ .name = "ring/reuse-steal", STOP_ABA,
	  .arg = PART(ring_reuse_steal, LOCK_FREE), ALL(2) },
	{ .name = "ring/tickets", STOP_ABA, .arg = PART(ring_tickets, NULL) },
	{ .name = "ring/sift", STOP_ABA, .arg = PART(ring_sift, NULL) },
	{ .name = "ring/sift-reuse", STOP_ABA,
	  .arg = PART(ring_sift_reuse, NULL), ALL(2) },

	{ .name = "locked-ring/one-thief", .body = ring_one_thief,
	  .arg = LOCKED, ALL(2) },
	{ .name = "locked-ring/two-thieves", .body = ring_two_thieves,
	  .arg = LOCKED },
	{ .name = "locked-ring/chain", .body = ring_chain, .arg = LOCKED },
	{ .name = "locked-ring/cross", .body = ring_cross, .arg = LOCKED,
	  ALL(2) },
	{ .name = "locked-ring/offload", .body = ring_offload, .arg = LOCKED,
	  ALL(2) },
	{ .name = "locked-ring/grab", .body = ring_grab, .arg = LOCKED },
	{ .name = "locked-ring/laps", .body = ring_laps, .arg = LOCKED },
	{ .name = "locked-ring/lone", .body = ring_lone, .arg = LOCKED,
	  ALL(2) },
	{ .name = "locked-ring/reuse", .body = ring_reuse, .arg = LOCKED,
	  ALL(2) },
	{ .name = "locked-ring/reuse-steal", .body = ring_reuse_steal,
	  .arg = LOCKED, ALL(2) },

	{ .name = "inject/mix", .body = inject_mix },
	{ .name = "inject/front", .body = inject_front, ALL(2) },
	{ .name = "inject/len", .body = inject_len, ALL(2) },
	{ .name = "inject/none-left", .body = inject_none_left, ALL(2) },

	/* The head that an inbox swaps may come back, and does no harm. */
	{ .name = "inbox/mix", STOP, .arg = PART(inbox_mix, NULL) },
	{ .name = "inbox/rest", STOP, .arg = PART(inbox_rest, NULL), ALL(2) },
	{ .name = "inbox/again", STOP, .arg = PART(inbox_again, NULL), ALL(2) },

	{ .name = "bounded/mix", STOP_ABA, .arg = PART(bounded_mix, NULL) },
	{ .name = "bounded/laps", STOP_ABA, .arg = PART(bounded_laps, NULL),
	  ALL(2) },
	{ .name = "bounded/full", STOP_ABA, .arg = PART(bounded_full, NULL),
	  ALL(2) },

	{ .name = "lock/three", .body = lock_three, ALL(3) },
	{ .name = "lock/try", .body = lock_try, ALL(3) },
	{ .name = "lock/freed", .body = lock_freed, ALL(4) },
	/* clang-format on */
};

const struct scenarios queue_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
