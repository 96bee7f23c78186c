/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/order_test.c - fibers that take mutexes and rwlocks in a circle
 * fail the run even if none gets stuck; programs that cannot get stuck pass.
 */
#include "sim/sim_kit.h"

#include <weft/weft.h>

#define MS 1000000

static weft_mutex mutex[4];
static weft_rwlock rwlock[4];
static weft_cond cond;
static _Atomic(uint32_t) turn;

/* --------------------------------------------------------------- scripts */

/*
 * A script is a list of calls, two letters each.  The second one names the
 * lock, a to d; the first one the call:
 *
 *	+ -	lock, unlock a mutex
 *	? !	try to lock a mutex: it is free, it is taken
 *	*	lock a mutex with a deadline; it is free
 *	0	initialise a mutex again
 *	r R	lock, unlock an rwlock to read;  w W  to write
 */
static void play(const char *script)
{
	for (const char *s = script; *s != '\0'; s += 2 + (s[2] == ' ')) {
		weft_mutex *m = &mutex[s[1] - 'a'];
		weft_rwlock *l = &rwlock[s[1] - 'a'];
		weft_time soon = weft_now() + MS;

		if (*s == '+')
			weft_mutex_lock(m);
		else if (*s == '-')
			weft_mutex_unlock(m);
		else if (*s == '?' || *s == '!')
			weft_sim_assert(weft_mutex_lock_by(m, WEFT_NOW) ==
					(*s == '?' ? 0 : -ETIMEDOUT),
				"it tried %s", s);
		else if (*s == '*')
			weft_sim_assert(weft_mutex_lock_by(m, soon) == 0, "*");
		else if (*s == '0')
			*m = (weft_mutex){ 0 };
		else if (*s == 'r')
			weft_rwlock_rdlock(l);
		else if (*s == 'R')
			weft_rwlock_rdunlock(l);
		else if (*s == 'w')
			weft_rwlock_wrlock(l);
		else if (*s == 'W')
			weft_rwlock_wrunlock(l);
		else
			weft_sim_assert(false, "bad script: %s", s);
	}
}

static void *play_fiber(void *script)
{
	play(script);
	return NULL;
}

static weft_fiber *spawn(void *(*fn)(void *), const void *arg)
{
	weft_fiber *f;

	weft_sim_assert(
		weft_spawn(&f, NULL, fn, (void *)arg) == 0, "no fiber");
	return f;
}

static void join(weft_fiber *f)
{
	weft_sim_assert(weft_join(f, NULL, WEFT_FOREVER) == 0, "no join");
}

/* Each script by a fiber of its own; no two of them run at one time. */
static int play_in_turn(void *arg)
{
	for (const char *const *s = arg; *s != NULL; s++)
		join(spawn(play_fiber, *s));
	return 0;
}

/* Each by a fiber, and all of these live together. */
static int play_together(void *arg)
{
	const char *const *s = arg;
	weft_fiber *f[4];
	size_t n = 0;

	for (; s[n] != NULL; n++)
		f[n] = spawn(play_fiber, s[n]);
	while (n > 0)
		join(f[--n]);
	return 0;
}

static void run(int (*fn)(void *), void *arg, unsigned workers)
{
	weft_config c = { .workers = workers };
	int err = weft_run(&c, fn, arg);

	weft_sim_assert(err == 0, "weft_run: %d", err);
}

static void in_turn(void *arg)
{
	run(play_in_turn, arg, 1);
}

static void together(void *arg)
{
	run(play_together, arg, 2);
}

#define SCRIPTS(...) ((void *)(const char *const[]){ __VA_ARGS__, NULL })

/* The first schedule shows it. */
static void circle(void (*body)(void *), void *arg, weft_sim_report *r)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);

	kit_fails(&o, body, arg, "lock order", r);
	assert_int_equal(r->schedules, 1);
}

static void no_circle(void (*body)(void *), void *arg)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK | WEFT_SIM_PCT, 0);
	weft_sim_report r;

	o.schedules = 300;
	kit_passes(&o, body, arg, &r);
}

/* --------------------------------------------------------------- circles */

static void two_fibers_crosswise_fail(void **state)
{
	weft_sim_report r;

	(void)state;
	circle(in_turn, SCRIPTS("+a +b -b -a", "+b +a -a -b"), &r);
	assert_string_equal(r.message,
		"fiber play_fiber locks mutex while it holds mutex + 16; "
		"fiber play_fiber locks mutex + 16 while it holds mutex: "
		"each can wait for the next for ever");
}

static void longer_circles_fail(void **state)
{
	weft_sim_report r;

	(void)state;
	circle(in_turn,
		SCRIPTS("+a +b -b -a", "+b +c -c -b", "+c +a -a -c"), &r);
	circle(in_turn,
		SCRIPTS("+a +b -b -a", "+c +d -d -c", "+b +c -c -b",
			"+d +a -a -d"),
		&r);
	/* A lock between the two that matter. */
	circle(in_turn, SCRIPTS("+a +c +b -b -c -a", "+b +a -a -b"), &r);
}

static void one_order_passes(void **state)
{
	(void)state;
	no_circle(together,
		SCRIPTS("+a +b -b -a +b +c -c -b", "+a +b +c -c -b -a",
			"+a +c -c -a +b +c -b -c"));
	/* One at a time. */
	no_circle(together, SCRIPTS("+a -a +b -b", "+b -b +a -a"));
	/* a is not held any more. */
	no_circle(together, SCRIPTS("+a +c -a +b -b -c", "+b +a -a -b"));
}

static void rwlocks_make_circles(void **state)
{
	weft_sim_report r;

	(void)state;
	circle(in_turn, SCRIPTS("wa wb Wb Wa", "wb wa Wa Wb"), &r);
	circle(in_turn, SCRIPTS("ra wb Wb Ra", "rb wa Wa Rb"), &r);
	circle(in_turn, SCRIPTS("ra +b -b Ra", "+b wa Wa -b"), &r);
	circle(in_turn, SCRIPTS("wa +b -b Wa", "+b ra Ra -b"), &r);
}

/* Two have it at one time, and it is one lock. */
static int read_together(void *arg)
{
	play("ra");
	join(spawn(play_fiber, "ra +d -d Ra"));
	play("+b -b Ra");
	join(spawn(play_fiber, "+d wa Wa -d"));
	(void)arg;
	return 0;
}

static void read_together_body(void *arg)
{
	run(read_together, arg, 1);
}

static void readers_have_one_lock(void **state)
{
	weft_sim_report r;

	(void)state;
	circle(read_together_body, NULL, &r);
}

static void readers_do_not_exclude_each_other(void **state)
{
	(void)state;
	no_circle(together, SCRIPTS("ra rb Rb Ra", "rb ra Ra Rb"));
	no_circle(together, SCRIPTS("ra +b -b Ra", "+b ra Ra -b"));
}

static void one_fiber_alone_passes(void **state)
{
	(void)state;
	no_circle(together, SCRIPTS("+a +b -b -a +b +a -a -b", "+a -a"));
}

static void a_lock_around_both_orders_passes(void **state)
{
	weft_sim_report r;

	(void)state;
	no_circle(together, SCRIPTS("+c +a +b -b -a -c", "+c +b +a -a -b -c"));
	no_circle(together, SCRIPTS("wc +a +b -b -a Wc", "rc +b +a -a -b Rc"));
	circle(in_turn, SCRIPTS("rc +a +b -b -a Rc", "rc +b +a -a -b Rc"), &r);
}

/* --------------------------------------------------------------- holders */

static void play_thread(void *script)
{
	play(script);
}

/* The second script by a thread too, if there are three. */
static void threads_hold_locks_too(void *arg)
{
	const char *const *s = arg;

	kit_join(kit_thread(play_thread, (void *)s[0], "first"));
	if (s[2] != NULL)
		kit_join(kit_thread(play_thread, (void *)s[1], "second"));
	else
		run(play_in_turn, (void *)(s + 1), 1);
}

static void threads_and_fibers_share_one_order(void **state)
{
	weft_sim_report r;

	(void)state;
	circle(threads_hold_locks_too,
		SCRIPTS("+a +b -b -a", "+b +a -a -b", "two threads"), &r);
	kit_says(r.message, "thread 2 (second) locks mutex while");
	kit_says(r.message, "thread 1 (first) locks mutex + 16 while");
	circle(threads_hold_locks_too, SCRIPTS("+a +b -b -a", "+b +a -a -b"),
		&r);
	kit_says(r.message, "fiber play_fiber locks mutex while");
}

/* Fibers that no other fiber joins: the second has the first's descriptor. */
static void play_detached(void *script)
{
	play(script);
	atomic_store(&turn, 1);
}

static int detached_in_turn(void *arg)
{
	for (const char *const *s = arg; *s != NULL; s++) {
		atomic_store(&turn, 0);
		weft_sim_assert(weft_go(play_detached, (void *)*s) == 0, "go");
		while (atomic_load(&turn) == 0)
			weft_yield();
	}
	return 0;
}

static void detached_body(void *arg)
{
	run(detached_in_turn, arg, 1);
}

static void a_descriptor_that_is_used_again_is_another_fiber(void **state)
{
	weft_sim_report r;

	(void)state;
	circle(detached_body, SCRIPTS("+a +b -b -a", "+b +a -a -b"), &r);
}

/* It holds a while the other fibers run on its thread. */
static void *hold_a(void *arg)
{
	play("+a");
	atomic_store(&turn, 1);
	while (atomic_load(&turn) == 1)
		weft_yield();
	play("-a");
	return arg;
}

static void *take_b(void *arg)
{
	while (atomic_load(&turn) == 0)
		weft_yield();
	play("+b -b");
	atomic_store(&turn, 2);
	return arg;
}

static int hold_and_take(void *arg)
{
	weft_fiber *f = spawn(hold_a, arg), *g = spawn(take_b, arg);

	join(f);
	join(g);
	join(spawn(play_fiber, "+b +a -a -b"));
	return 0;
}

static void hold_and_take_body(void *arg)
{
	run(hold_and_take, arg, 1);
}

static void a_lock_is_a_fibers_not_a_threads(void **state)
{
	(void)state;
	no_circle(hold_and_take_body, NULL);
}

/* A reader's lock that another fiber gives back. */
static int unlock_for_another(void *arg)
{
	play("ra");
	join(spawn(play_fiber, "Ra"));
	play("+b -b");
	join(spawn(play_fiber, "+b wa Wa -b"));
	(void)arg;
	return 0;
}

static void unlock_for_another_body(void *arg)
{
	run(unlock_for_another, arg, 1);
}

/* Two readers: each gives its own lock back. */
static void *read_a(void *arg)
{
	play("ra");
	atomic_store(&turn, 1);
	while (atomic_load(&turn) == 1)
		weft_yield();
	play("Ra");
	return arg;
}

static int unlock_beside_another(void *arg)
{
	weft_fiber *f;

	play("ra");
	f = spawn(read_a, arg);
	while (atomic_load(&turn) == 0)
		weft_yield();
	play("Ra +b -b");
	atomic_store(&turn, 2);
	join(f);
	join(spawn(play_fiber, "+b wa Wa -b"));
	return 0;
}

static void unlock_beside_another_body(void *arg)
{
	run(unlock_beside_another, arg, 1);
}

static void a_reader_may_unlock_for_another(void **state)
{
	(void)state;
	no_circle(unlock_for_another_body, NULL);
	no_circle(unlock_beside_another_body, NULL);
}

/* ------------------------------------------------- tries and deadlines */

static int try_what_is_taken(void *arg)
{
	play("+a");
	join(spawn(play_fiber, "!a +b -b"));
	play("-a");
	join(spawn(play_fiber, "+b +a -a -b"));
	(void)arg;
	return 0;
}

static void try_what_is_taken_body(void *arg)
{
	run(try_what_is_taken, arg, 1);
}

static void a_try_is_no_order(void **state)
{
	weft_sim_report r;

	(void)state;
	no_circle(try_what_is_taken_body, NULL);
	no_circle(in_turn, SCRIPTS("+a +b -b -a", "+b ?a -a -b"));
	no_circle(in_turn, SCRIPTS("+a +b -b -a", "+b *a -a -b"));
	/* But it holds what it got. */
	circle(in_turn, SCRIPTS("+a +b -b -a", "?b +a -a -b"), &r);
	circle(in_turn, SCRIPTS("+a +b -b -a", "*b +a -a -b"), &r);
}

static void *wait_for_a(void *arg)
{
	int err;

	atomic_store(&turn, 1);
	err = weft_mutex_lock_by(&mutex[0], weft_now() + MS);
	if (err == 0)
		play("-a");
	play("+b -b");
	return arg;
}

static int a_deadline_passes(void *arg)
{
	weft_fiber *f;

	play("+a");
	f = spawn(wait_for_a, arg);
	(void)weft_sleep(10 * MS);
	play("-a");
	join(f);
	join(spawn(play_fiber, "+b +a -a -b"));
	return 0;
}

static void a_deadline_passes_body(void *arg)
{
	run(a_deadline_passes, arg, 1);
}

static void a_deadline_that_passed_leaves_nothing(void **state)
{
	(void)state;
	no_circle(a_deadline_passes_body, NULL);
}

/* ------------------------------------------------------------ hand-over */

/* It waits for so long that it has the mutex handed over. */
static void *wait_long_for_a(void *script)
{
	play("+a");
	play(script);
	play("-a");
	return NULL;
}

static int hand_over(void *arg)
{
	const char *const *s = arg;
	weft_fiber *f;

	play("+a");
	f = spawn(wait_long_for_a, s[0]);
	for (int i = 0; i < 3; i++) {
		(void)weft_sleep(2 * MS);
		play("-a +a");
	}
	play("-a");
	play(s[1]);
	join(f);
	join(spawn(play_fiber, "+b +a -a -b"));
	return 0;
}

static void hand_over_body(void *arg)
{
	run(hand_over, arg, 1);
}

static void a_mutex_that_is_handed_over_changes_hands(void **state)
{
	weft_sim_report r;

	(void)state;
	no_circle(hand_over_body, SCRIPTS("", "+b -b"));
	circle(hand_over_body, SCRIPTS("+b -b", ""), &r);
}

/* ----------------------------------------------------------------- conds */

static void *wait_on_cond(void *script)
{
	play("+a");
	while (atomic_load(&turn) == 0)
		weft_sim_assert(weft_cond_wait(&cond, &mutex[0],
					WEFT_FOREVER) == 0,
			"no wait");
	play(script);
	return NULL;
}

static int wait_and_signal(void *script)
{
	weft_fiber *f = spawn(wait_on_cond, script);

	weft_sim_quiesce();
	play("+b +a");
	atomic_store(&turn, 1);
	weft_cond_signal(&cond);
	play("-a -b");
	join(f);
	return 0;
}

static void wait_and_signal_body(void *arg)
{
	run(wait_and_signal, arg, 1);
}

static void a_cond_unlocks_and_locks_again(void **state)
{
	weft_sim_report r;

	(void)state;
	no_circle(wait_and_signal_body, "-a +b -b");
	circle(wait_and_signal_body, "+b -b -a", &r);
}

/* ---------------------------------------------------------------- memory */

/* Two mutexes that live as long as the call, at the same places each time. */
__attribute__((noinline)) static void *on_the_stack(void *arg)
{
	weft_mutex m[2] = { 0 };
	bool other = arg != NULL;

	weft_mutex_lock(&m[other]);
	weft_mutex_lock(&m[!other]);
	weft_mutex_unlock(&m[!other]);
	weft_mutex_unlock(&m[other]);
	return NULL;
}

static int stacks_in_turn(void *arg)
{
	static char other;

	join(spawn(on_the_stack, NULL));
	join(spawn(on_the_stack, &other));
	join(spawn(on_the_stack, NULL));
	(void)arg;
	return 0;
}

static void stacks_in_turn_body(void *arg)
{
	run(stacks_in_turn, arg, 1);
}

/* A pool in a part of the program that is not instrumented. */
KIT_UNSEEN static void clear(void *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((volatile char *)p)[i] = 0;
}

static int clear_unseen(void *arg)
{
	join(spawn(play_fiber, "+a +b -b -a ra wb Wb Ra"));
	clear(mutex, sizeof(mutex));
	clear(rwlock, sizeof(rwlock));
	join(spawn(play_fiber, "+b +a -a -b rb wa Wa Rb"));
	(void)arg;
	return 0;
}

static void clear_unseen_body(void *arg)
{
	run(clear_unseen, arg, 1);
}

static void memory_of_another_lock_is_new(void **state)
{
	weft_sim_report r;

	(void)state;
	no_circle(in_turn, SCRIPTS("+a +b -b -a", "0a 0b", "+b +a -a -b"));
	circle(in_turn, SCRIPTS("+a +b -b -a", "0c", "+b +a -a -b"), &r);
	no_circle(stacks_in_turn_body, NULL);
	no_circle(clear_unseen_body, NULL);
}

/* Each mutex of a crowd is taken inside of the one before it. */
static weft_mutex crowd[400];

static void *through_the_crowd(void *arg)
{
	for (int i = 0; i < 399; i++) {
		weft_mutex_lock(&crowd[i]);
		weft_mutex_lock(&crowd[i + 1]);
		weft_mutex_unlock(&crowd[i + 1]);
		weft_mutex_unlock(&crowd[i]);
	}
	return arg;
}

/* A holder of more locks than are followed. */
static void *all_at_once(void *arg)
{
	for (int i = 0; i < 400; i++)
		weft_mutex_lock(&crowd[i]);
	for (int i = 0; i < 400; i++)
		weft_mutex_unlock(&crowd[i]);
	return arg;
}

static int large(void *arg)
{
	for (int i = 0; i < 2; i++)
		join(spawn(through_the_crowd, arg));
	join(spawn(all_at_once, arg));
	return play_in_turn(arg);
}

static void large_body(void *arg)
{
	run(large, arg, 1);
}

static void large_programs_are_followed_too(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 3;
	o.steps = 1000000;
	kit_passes(&o, large_body, SCRIPTS("+a +b -b -a"), &r);
	kit_fails(&o, large_body, SCRIPTS("+a +b -b -a", "+b +a -a -b"),
		"lock order", &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_fibers_crosswise_fail),
		cmocka_unit_test(longer_circles_fail),
		cmocka_unit_test(one_order_passes),
		cmocka_unit_test(rwlocks_make_circles),
		cmocka_unit_test(readers_have_one_lock),
		cmocka_unit_test(readers_do_not_exclude_each_other),
		cmocka_unit_test(one_fiber_alone_passes),
		cmocka_unit_test(a_lock_around_both_orders_passes),
		cmocka_unit_test(threads_and_fibers_share_one_order),
		cmocka_unit_test(
			a_descriptor_that_is_used_again_is_another_fiber),
		cmocka_unit_test(a_lock_is_a_fibers_not_a_threads),
		cmocka_unit_test(a_reader_may_unlock_for_another),
		cmocka_unit_test(a_try_is_no_order),
		cmocka_unit_test(a_deadline_that_passed_leaves_nothing),
		cmocka_unit_test(a_mutex_that_is_handed_over_changes_hands),
		cmocka_unit_test(a_cond_unlocks_and_locks_again),
		cmocka_unit_test(memory_of_another_lock_is_new),
		cmocka_unit_test(large_programs_are_followed_too),
	};

	return cmocka_run_group_tests(tests, kit_setup, NULL);
}
