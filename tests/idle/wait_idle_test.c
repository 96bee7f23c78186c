/* SPDX-License-Identifier: MIT */
/*
 * tests/idle/wait_idle_test.c - a runtime is quiet when all four reads say so,
 * whatever moves between the reads; processors that park wake the waiters, and
 * a waiter sleeps no longer than its deadline.
 *
 * idle/wait_idle.c, idle/search.c and sched/steal.c are compiled into this
 * program, so that their reads, their clock and their sleeps can be hooked: all
 * happens on one thread, in an order that the test has chosen.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "sched/kit.h"
#include "sched/global.h"
#include "sched/idle.h"
#include "idle/park.h"
#include "idle/wait_idle.h"
#include "idle/wake.h"

enum { PROCS = 4 };

/* What happens right before each read; NULL: nothing. */
static void (*before_read)(unsigned read);
static unsigned reads;

/* What happens in a sleep; its result. */
static int (*in_sleep)(uint32_t seen, int64_t deadline);
static unsigned sleeps, tells;
static int64_t clock_ns;
static void (*at_clock)(void);

static void read_hook(void)
{
	if (before_read != NULL)
		before_read(reads);
	reads++;
}

static uint64_t hooked_load(_Atomic(uint64_t) *word)
{
	read_hook();
	return wf_load_acq(word);
}

static size_t hooked_len(struct wf_group *group)
{
	read_hook();
	return wf_global_len(group);
}

static int hooked_wait(_Atomic(uint32_t) *word, uint32_t seen, int64_t deadline)
{
	assert_ptr_equal(word, &kit.rt.idle_wait.word);
	assert_true(wf_wait_idle_is_awaited(&kit.rt));
	sleeps++;
	if (in_sleep == NULL)
		fail_msg("nobody would wake it");
	return in_sleep(seen, deadline);
}

static int hooked_wake(_Atomic(uint32_t) *word, unsigned n)
{
	assert_ptr_equal(word, &kit.rt.idle_wait.word);
	assert_true(n >= 2);
	tells++;
	return 0;
}

static int64_t hooked_now(void)
{
	if (at_clock != NULL)
		at_clock();
	return clock_ns;
}

#define wf_os_now_ns hooked_now
#include "sched/steal.c"
#include "idle/search.c"

#pragma push_macro("wf_load_acq")
#undef wf_load_acq
#define wf_load_acq hooked_load
#define wf_global_len hooked_len
#define wf_os_futex_wait hooked_wait
#define wf_os_futex_wake hooked_wake
#include "idle/wait_idle.c"
#undef wf_load_acq
#undef wf_global_len
#undef wf_os_futex_wait
#undef wf_os_futex_wake
#undef wf_os_now_ns
#pragma pop_macro("wf_load_acq")

static struct wf_group *g;

static int begin(void **state)
{
	(void)state;
	kit_open(PROCS, 0);
	g = kit.groups;
	before_read = NULL;
	in_sleep = NULL;
	at_clock = NULL;
	reads = sleeps = tells = 0;
	clock_ns = WF_NS_PER_S;
	return 0;
}

static int end(void **state)
{
	(void)state;
	wf_os_self_set(NULL);
	kit_close();
	return 0;
}

/* No idler is left, and no caller is inside. */
static void expect_gone(void)
{
	assert_int_equal(wf_load_rlx(&kit.rt.idle_wait.idlers), 0);
	assert_int_equal(wf_load_rlx(&kit.rt.outside.callers), 0);
}

/* Is it quiet?  By the public call. */
static bool ask(void)
{
	int err = weft_rt_wait_idle(&kit.rt, WEFT_NOW);

	assert_true(err == 0 || err == -ETIMEDOUT);
	assert_int_equal(sleeps, 0);
	expect_gone();
	return err == 0;
}

/* ------------------------------------------------------------------------ */
/* Is it quiet? */

static void a_runtime_that_sleeps_is_quiet(void **state)
{
	(void)state;
	assert_true(ask());
	assert_int_equal(reads, 4);
	wf_store_rlx(&g->parkings, 77);
	assert_true(ask());
}

static void one_that_runs_is_not(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < PROCS; i++) {
		kit_run(i);
		assert_false(ask());
		wf_store_rlx(&g->sleeping, g->all);
	}
	assert_true(ask());
}

/* In each form of the queue, and in each group. */
static void one_with_a_task_in_its_queue_is_not(void **state)
{
	struct wf_batch batch = { 0 };

	(void)state;
	kit_close();
	kit_open(PROCS, 2);
	g = kit.groups;
	assert_true(ask());
	for (uint32_t i = 0; i < 2; i++) {
		kit_inject(i, 1);
		assert_false(ask());
		(void)wf_inject_take(&kit.groups[i].inject, 1, &batch);
		assert_true(ask());
		kit.groups[i].policy.locks = WEFT_LOCKS_NONE;
		batch = (struct wf_batch){ 0 };
		wf_batch_add(&batch, kit_task());
		wf_inbox_push(&kit.procs[2 * i + 1].inbox, &batch);
		assert_false(ask());
		kit.groups[i].policy.locks = WEFT_LOCKS_SHORT;
		assert_true(ask());
	}
}

/* In each group of several. */
static void all_groups_count(void **state)
{
	(void)state;
	kit_close();
	kit_open(PROCS, 1);
	g = kit.groups;
	assert_true(ask());
	assert_int_equal(reads, 4 * PROCS);
	for (uint32_t i = 0; i < PROCS; i++) {
		kit_run(i);
		assert_false(ask());
		wf_store_rlx(&kit.groups[i].sleeping, 1);
	}
}

/* The one read that says no. */
static unsigned which;

static void move_before(unsigned read)
{
	switch (which) {
	case 1: /* a processor parked, right after the first read */
		if (read == 1)
			wf_bump(&g->parkings, 1);
		break;
	case 2: /* a task is there for a moment only */
		if (read == 1)
			kit_inject(0, 1);
		if (read == 2)
			(void)wf_inject_take(
				&g->inject, 1, &(struct wf_batch){ 0 });
		break;
	case 3: /* a processor is awake for a moment only */
		if (read == 2)
			kit_run(2);
		if (read == 3)
			wf_store_rlx(&g->sleeping, g->all);
		break;
	case 4: /* a processor parked, right before the last */
		if (read == 3)
			wf_bump(&g->parkings, 1);
		break;
	}
}

static void each_of_the_four_reads_can_say_no(void **state)
{
	(void)state;
	for (which = 1; which <= 4; which++) {
		reads = 0;
		before_read = move_before;
		assert_false(ask());
		/* It said no at once, so not all moves were made. */
		for (; reads < 4; reads++)
			move_before(reads);
		before_read = NULL;
		assert_true(ask());
	}
}

/*
 * A task is there all the time.  Outside submits one after the other, each
 * before the one before it has ended; the processor parks in between, sees the
 * new one and takes its bit back, or is woken; and another processor, in this
 * group or another, does the same now and then.  However the reads fall between
 * these moves, the runtime is never quiet.
 */
enum move { PUSH, TAKE, COUNT, SLEEP, WAKE };

static const struct {
	enum move move;
	uint32_t at; /* which processor, or the queue of which group */
} moves[] = {
	{ PUSH, 0 },
	{ WAKE, 0 },
	{ TAKE, 0 },
	{ PUSH, 1 },
	{ COUNT, 0 },
	{ SLEEP, 0 },
	{ WAKE, 1 },
	{ TAKE, 1 },
	{ PUSH, 0 },
	{ COUNT, 1 },
	{ SLEEP, 1 },
	{ WAKE, 1 },
	{ TAKE, 0 },
	{ PUSH, 1 },
	{ WAKE, 0 },
	{ COUNT, 1 },
	{ SLEEP, 1 },
	{ TAKE, 1 },
	{ PUSH, 0 },
	{ COUNT, 0 },
	{ SLEEP, 0 },
};
enum { MOVES = sizeof(moves) / sizeof(moves[0]), READS_MAX = 8 };

static unsigned at_move[READS_MAX], read_count, moved;

static void move(enum move m, uint32_t at)
{
	struct wf_group *home = kit.procs[at].group;
	uint64_t bit = kit.procs[at].bit;
	struct wf_batch out = { 0 };

	if (m == PUSH)
		kit_inject(at % kit.rt.group_count, 1);
	else if (m == TAKE)
		(void)wf_inject_take(
			&kit.groups[at % kit.rt.group_count].inject, 1, &out);
	else if (m == COUNT)
		wf_bump(&home->parkings, 1);
	else if (m == SLEEP)
		(void)wf_or_rel(&home->sleeping, bit);
	else
		(void)wf_and_acq(&home->sleeping, ~bit);
}

static void move_until(unsigned read)
{
	for (; read < read_count && moved < at_move[read]; moved++)
		move(moves[moved].move, moves[moved].at);
}

/* The next way in which the reads fall between so many moves, in order. */
static bool next_way(unsigned most)
{
	for (unsigned i = read_count; i-- > 0;) {
		if (at_move[i] == most)
			continue;
		at_move[i]++;
		for (unsigned k = i + 1; k < read_count; k++)
			at_move[k] = at_move[i];
		return true;
	}
	return false;
}

/* No way makes it quiet; how many there were. */
static size_t expect_no_way(unsigned most)
{
	size_t ways = 0;

	read_count = 4 * kit.rt.group_count;
	/* The first move is made before anyone asks. */
	for (unsigned i = 0; i < read_count; i++)
		at_move[i] = 1;
	do {
		for (uint32_t i = 0; i < kit.rt.group_count; i++) {
			struct wf_group *one = &kit.groups[i];

			memset(&one->inject, 0, sizeof(one->inject));
			wf_store_rlx(&one->parkings, 0);
			wf_store_rlx(&one->sleeping, one->all);
		}
		reads = moved = 0;
		move_until(0);
		if (ask())
			fail_msg("quiet, with reads before moves %u %u %u %u",
				at_move[0], at_move[1], at_move[2], at_move[3]);
		ways++;
	} while (next_way(most));
	return ways;
}

static void it_is_not_quiet_while_one_follows_the_other(void **state)
{
	(void)state;
	before_read = move_until;
	assert_int_equal(expect_no_way(MOVES), 10626);
	kit_close();
	kit_open(2, 1);
	g = kit.groups;
	assert_int_equal(kit.rt.group_count, 2);
	assert_int_equal(expect_no_way(12), 75582);
}

/* ------------------------------------------------------------------------ */
/* Waiting. */

static void a_deadline_in_the_past_is_now(void **state)
{
	static const weft_time past[] = { WEFT_NOW, 1, -1, INT64_MIN,
		WF_NS_PER_S };

	(void)state;
	for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++) {
		assert_int_equal(weft_rt_wait_idle(&kit.rt, past[i]), 0);
		kit_run(0);
		assert_int_equal(
			weft_rt_wait_idle(&kit.rt, past[i]), -ETIMEDOUT);
		wf_store_rlx(&g->sleeping, g->all);
	}
	assert_int_equal(sleeps, 0);
	expect_gone();
}

static uint32_t expected_word;

/* The waiter is counted as a caller and as an idler; then all sleep. */
static int sleep_until_quiet(uint32_t seen, int64_t deadline)
{
	assert_int_equal(seen, expected_word);
	assert_int_equal(deadline, 7 * WF_NS_PER_S);
	assert_int_equal(wf_load_rlx(&kit.rt.idle_wait.idlers), 1);
	assert_int_equal(wf_load_rlx(&kit.rt.outside.callers), 1);
	if (sleeps == 3)
		wf_store_rlx(&g->sleeping, g->all);
	else
		expected_word = wf_add_rlx(&kit.rt.idle_wait.word, 1) + 1;
	return 0;
}

static void a_waiter_sleeps_until_it_is_quiet(void **state)
{
	(void)state;
	kit_run(1);
	in_sleep = sleep_until_quiet;
	expected_word = 41;
	wf_store_rlx(&kit.rt.idle_wait.word, 41);
	assert_int_equal(weft_rt_wait_idle(&kit.rt, 7 * WF_NS_PER_S), 0);
	assert_int_equal(sleeps, 3);
	expect_gone();
}

static int sleep_out(uint32_t seen, int64_t deadline)
{
	(void)seen;
	clock_ns = deadline - 1 + (sleeps > 1);
	return sleeps > 1 ? -ETIMEDOUT : 0;
}

static void at_the_deadline_it_gives_up(void **state)
{
	(void)state;
	kit_run(1);
	in_sleep = sleep_out;
	assert_int_equal(
		weft_rt_wait_idle(&kit.rt, 9 * WF_NS_PER_S), -ETIMEDOUT);
	assert_int_equal(sleeps, 2);
	expect_gone();
}

/* A last look, after the sleep: it may have become quiet at that moment. */
static int sleep_too_long(uint32_t seen, int64_t deadline)
{
	(void)seen;
	clock_ns = deadline;
	wf_store_rlx(&g->sleeping, g->all);
	return -ETIMEDOUT;
}

static void a_look_at_the_deadline_may_find_it_quiet(void **state)
{
	(void)state;
	kit_run(1);
	in_sleep = sleep_too_long;
	assert_int_equal(weft_rt_wait_idle(&kit.rt, 9 * WF_NS_PER_S), 0);
	expect_gone();
}

/* A processor parks between the look and the sleep of the waiter. */
static void park_late(unsigned read)
{
	if (read == 1) {
		wf_bump(&g->parkings, 1);
		wf_wait_idle_tell(&kit.rt);
	}
}

static int sleep_if_not_told(uint32_t seen, int64_t deadline)
{
	(void)deadline;
	before_read = NULL;
	wf_store_rlx(&g->sleeping, g->all);
	return wf_load_rlx(&kit.rt.idle_wait.word) != seen ? 0 : -EDOM;
}

static int told_in_time;

static int note_sleep(uint32_t seen, int64_t deadline)
{
	told_in_time = sleep_if_not_told(seen, deadline);
	return 0;
}

static void a_waiter_that_is_told_before_it_sleeps_does_not(void **state)
{
	(void)state;
	kit_run(1);
	before_read = park_late;
	in_sleep = note_sleep;
	told_in_time = -EDOM;
	assert_int_equal(weft_rt_wait_idle(&kit.rt, WEFT_FOREVER), 0);
	assert_int_equal(told_in_time, 0);
	assert_int_equal(tells, 1);
}

/* ------------------------------------------------------------------------ */
/* Threads that may not wait. */

static void a_thread_of_the_runtime_would_wait_for_itself(void **state)
{
	struct wf_thread visitor = { .foreign = true, .host = &kit.threads[2] };
	struct weft_rt *other = wf_os_alloc(sizeof(*other));
	struct wf_thread *stranger = wf_os_alloc(sizeof(*stranger));

	(void)state;
	assert_true(other != NULL && stranger != NULL);
	wf_os_self_set(&kit.threads[1]);
	assert_int_equal(weft_rt_wait_idle(&kit.rt, WEFT_NOW), -EDEADLK);
	assert_int_equal(weft_rt_wait_idle(&kit.rt, WEFT_FOREVER), -EDEADLK);
	/* Also in a task of a foreign executor. */
	wf_os_self_set(&visitor);
	assert_int_equal(weft_rt_wait_idle(&kit.rt, WEFT_FOREVER), -EDEADLK);
	assert_int_equal(reads, 0);
	/* A thread of another runtime may. */
	stranger->rt = other;
	wf_os_self_set(stranger);
	assert_int_equal(weft_rt_wait_idle(&kit.rt, WEFT_FOREVER), 0);
	expect_gone();
	wf_os_self_set(NULL);
	wf_os_free(stranger);
	wf_os_free(other);
}

/* ------------------------------------------------------------------------ */
/* Processors wake the waiters. */

static void only_idlers_are_told(void **state)
{
	(void)state;
	wf_wait_idle_tell(&kit.rt);
	assert_int_equal(tells, 0);
	assert_int_equal(wf_load_rlx(&kit.rt.idle_wait.word), 0);
	assert_false(wf_wait_idle_is_awaited(&kit.rt));
	wf_store_rlx(&kit.rt.idle_wait.idlers, 2);
	assert_true(wf_wait_idle_is_awaited(&kit.rt));
	wf_wait_idle_tell(&kit.rt);
	assert_int_equal(tells, 1);
	assert_int_equal(wf_load_rlx(&kit.rt.idle_wait.word), 1);
}

/* A processor that parks counts, and tells; here it is woken at once. */
static void a_processor_that_parks_counts_and_tells(void **state)
{
	(void)state;
	for (uint32_t awaited = 0; awaited < 2; awaited++) {
		kit_run(1);
		wf_store_rlx(&kit.rt.idle_wait.idlers, awaited);
		wf_store_rlx(&kit.threads[1].parker.word, 1);
		assert_true(wf_park(&kit.threads[1], false));
		assert_int_equal(wf_load_rlx(&g->parkings), awaited + 1);
		assert_int_equal(tells, awaited);
	}
	/* Also one whose thread ends, because it has slept for long. */
	wf_store_rlx(&g->sleeping, g->all & ~UINT64_C(2));
	assert_false(wf_park(&kit.threads[1], false));
	assert_int_equal(wf_load_rlx(&g->parkings), 4);
	assert_int_equal(tells, 3);
	assert_int_equal(wf_load_rlx(&g->sleeping), g->all);
}

/* No thread can be made: the processor sleeps again, and says so. */
static void a_processor_that_cannot_be_woken_tells(void **state)
{
	(void)state;
	kit.rt.config.max_threads = 0;
	for (uint32_t i = 0; i < PROCS; i++)
		wf_store_rlx(&kit.procs[i].thread, NULL);
	wf_store_rlx(&kit.rt.idle_wait.idlers, 1);
	assert_false(wf_wake_one(g));
	assert_int_equal(tells, PROCS);
	assert_int_equal(wf_load_rlx(&g->sleeping), g->all);
}

/* ------------------------------------------------------------------------ */
/* Searchers. */

static int64_t awaited_from_ns;

/* Time goes by as it is looked at. */
static void tick(void)
{
	clock_ns += WF_NS_PER_US;
	if (clock_ns >= awaited_from_ns)
		wf_store_rlx(&kit.rt.idle_wait.idlers, 1);
}

/* How long a search goes on, if there is an idler from that time on. */
static uint64_t search_ns(int64_t from_ns)
{
	_Atomic(uint64_t) *ns = &kit.procs[1].counters.search_ns;

	kit_run(1);
	wf_store_rlx(&kit.procs[1].thread, &kit.threads[1]);
	wf_store_rlx(&kit.rt.idle_wait.idlers, 0);
	wf_store_rlx(ns, 0);
	awaited_from_ns = from_ns;
	at_clock = tick;
	assert_null(wf_idle(&kit.threads[1]));
	return wf_load_rlx(ns);
}

static void searchers_do_not_spin_while_there_are_idlers(void **state)
{
	(void)state;
	kit.rt.spin_ns = WF_NS_PER_MS;
	kit.procs[1].gap_ns = WF_NS_PER_MS / 4;
	assert_in_range(search_ns(INT64_MAX), WF_NS_PER_MS / 2,
		WF_NS_PER_MS / 2 + 10 * WF_NS_PER_US);
	assert_true(search_ns(0) <= WF_NS_PER_US); /* one pause */
	/* One that spins already stops. */
	kit.procs[1].gap_ns = WF_NS_PER_MS / 4;
	assert_in_range(search_ns(clock_ns + 100 * WF_NS_PER_US),
		90 * WF_NS_PER_US, 110 * WF_NS_PER_US);
	/* Also one that waits for a holder to become stuck. */
	kit_fill(2, 1);
	kit.rt.spin_ns = 0;
	wf_store_rlx(&g->gate_open, false);
	assert_true(search_ns(0) <= WF_NS_PER_US); /* one pause */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_runtime_that_sleeps_is_quiet),
		TEST(one_that_runs_is_not),
		TEST(one_with_a_task_in_its_queue_is_not),
		TEST(all_groups_count),
		TEST(each_of_the_four_reads_can_say_no),
		TEST(it_is_not_quiet_while_one_follows_the_other),
		TEST(a_deadline_in_the_past_is_now),
		TEST(a_waiter_sleeps_until_it_is_quiet),
		TEST(at_the_deadline_it_gives_up),
		TEST(a_look_at_the_deadline_may_find_it_quiet),
		TEST(a_waiter_that_is_told_before_it_sleeps_does_not),
		TEST(a_thread_of_the_runtime_would_wait_for_itself),
		TEST(only_idlers_are_told),
		TEST(a_processor_that_parks_counts_and_tells),
		TEST(a_processor_that_cannot_be_woken_tells),
		TEST(searchers_do_not_spin_while_there_are_idlers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
