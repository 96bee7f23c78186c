/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/engine_test.c - threads start, wait and end as they should; a
 * report names the threads that can never go on; and a run is a function of
 * its decisions.
 *
 * With the arguments "child" and a mode the program explores once and prints
 * what came of it, for a parent that did the same.
 */
#include "sim/sim_kit.h"

#include "base/units.h"
#include "os/lock.h"
#include "os/os.h"
#include "sim/engine.h"
#include "sim/memory.h"

#define REPLAYS 1000

static uint64_t *kept;
static _Atomic(uint32_t) word, flag;

/* ------------------------------------------------------ nobody can go on */

static void sleep_on_word(void *arg)
{
	(void)arg;
	for (;;)
		kit_use((uint64_t)wf_os_futex_wait(&word, 0, INT64_MAX));
}

static void sleep_for_ever(void *arg)
{
	int left = kit_thread(sleep_on_word, NULL, "left");

	(void)arg;
	kit_use((uint64_t)kit_thread(sleep_on_word, NULL, "right"));
	kit_join(left);
}

static void deadlock_names_the_threads(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(sleep_for_ever, 0, "deadlock", &r);
	kit_says(r.message,
		"no thread can run: 0 (main) is joining; "
		"1 (left) is asleep; 2 (right) is asleep");
}

/* Two locks, taken crosswise: only some schedules get stuck. */
static struct wf_lock here, there;

static void here_there(void *arg)
{
	(void)arg;
	wf_lock(&here);
	while (!wf_trylock(&there))
		weft_sim_yield();
	wf_unlock(&there);
	wf_unlock(&here);
}

static void there_here(void *arg)
{
	(void)arg;
	wf_lock(&there);
	while (!wf_trylock(&here))
		weft_sim_yield();
	wf_unlock(&here);
	wf_unlock(&there);
}

static void crosswise(void *arg)
{
	(void)arg;
	kit_pair(here_there, there_here);
}

static void livelock_is_found_by_steps(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.steps = 500;
	kit_fails(&o, crosswise, NULL, "livelock", &r);
	kit_says(r.message, "not ended after 500 steps");
}

static void few_steps(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++)
		kit_use(atomic_fetch_add(&word, 1));
}

static void steps_are_counted(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.steps = 40;
	kit_fails(&o, few_steps, NULL, "livelock", &r);
	o.steps = 60;
	o.schedules = 10;
	kit_passes(&o, few_steps, NULL, &r);
	/* Fifty, and one at the end of the thread. */
	assert_int_equal(r.steps, 10 * 51);
}

/* ------------------------------------------------- a thread that is stopped */

static void spin_lock(void *arg)
{
	(void)arg;
	while (atomic_exchange_explicit(&word, 1, memory_order_acquire) != 0)
		weft_sim_yield();
	kit_use(atomic_fetch_add(&flag, 1));
	atomic_store_explicit(&word, 0, memory_order_release);
}

static void spin_locks(void *arg)
{
	(void)arg;
	kit_pair(spin_lock, spin_lock);
}

static void count_up(void *arg)
{
	uint32_t seen = atomic_load_explicit(&word, memory_order_relaxed);

	(void)arg;
	while (!atomic_compare_exchange_weak(&word, &seen, seen + 1))
		;
}

static void count_twice(void *arg)
{
	(void)arg;
	kit_pair(count_up, count_up);
	weft_sim_assert(atomic_load(&word) == 2, "not counted");
}

static void lock_once(void *arg)
{
	(void)arg;
	wf_lock(&here);
	kit_use(atomic_fetch_add(&word, 1));
	wf_unlock(&here);
}

static void lock_twice(void *arg)
{
	(void)arg;
	kit_pair(lock_once, lock_once);
}

static void a_lock_is_not_lock_free(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, WEFT_SIM_LOCK_FREE);
	weft_sim_report r;

	(void)state;
	o.steps = 500;
	kit_fails(&o, spin_locks, NULL, "progress", &r);
	kit_says(r.message, "the other threads do not end within 500 steps");
	kit_fails(&o, lock_twice, NULL, "progress", &r);
	kit_says(r.message, "sleeps until");
	kit_says(r.message, "which was stopped");
	o.flags &= ~WEFT_SIM_LOCK_FREE;
	kit_passes(&o, spin_locks, NULL, &r);
	kit_passes(&o, lock_twice, NULL, &r);
}

static void a_counter_is_lock_free(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, WEFT_SIM_LOCK_FREE);
	weft_sim_report r;

	(void)state;
	kit_holds(count_twice, WEFT_SIM_LOCK_FREE);
	o.schedules = 5000;
	kit_passes(&o, count_twice, NULL, &r);
}

/* Random ways stop threads too. */
static void stops_are_found_by_chance(void **state)
{
	static const uint32_t modes[] = { WEFT_SIM_WALK, WEFT_SIM_PCT,
		WEFT_SIM_URW };
	weft_sim_report r;

	(void)state;
	for (int i = 0; i < 3; i++) {
		weft_sim_opts o = kit_opts(modes[i], WEFT_SIM_LOCK_FREE);

		o.steps = 500;
		kit_fails(&o, spin_locks, NULL, "progress", &r);
	}
}

static void nap(void *arg)
{
	(void)arg;
	while (wf_os_futex_wait(&flag, 0, wf_os_now_ns() + WF_NS_PER_MS) == 0)
		;
}

static void nap_and_count(void *arg)
{
	(void)arg;
	kit_pair(nap, count_up);
}

/* A thread that sleeps until a time waits for no other thread. */
static void a_nap_waits_for_nobody(void **state)
{
	(void)state;
	kit_holds(nap_and_count, WEFT_SIM_LOCK_FREE);
}

/* --------------------------------------------------------------- threads */

static void nothing(void *arg)
{
	(void)arg;
}

static void wait_for_flag(void *arg)
{
	(void)arg;
	while (atomic_load(&flag) == 0)
		kit_use((uint64_t)wf_os_futex_wait(&flag, 0, INT64_MAX));
}

static void as_many_as_there_can_be(void *arg)
{
	int id[WF_SIM_THREADS];

	(void)arg;
	for (int i = 1; i < WF_SIM_THREADS; i++) {
		id[i] = weft_sim_thread(wait_for_flag, NULL, "waits");
		weft_sim_assert(id[i] == i, "number %d is %d", i, id[i]);
	}
	weft_sim_assert(weft_sim_thread(nothing, NULL, "more") == -EAGAIN,
		"a sixteenth");
	atomic_store(&flag, 1);
	kit_use((uint64_t)wf_os_futex_wake(&flag, 100));
	kit_join(id[5]);
	weft_sim_assert(weft_sim_thread(nothing, NULL, "again") == 5,
		"not the number of the one that was joined");
	weft_sim_assert(
		weft_sim_thread(nothing, NULL, "more") == -EAGAIN, "one more");
	for (int i = 1; i < WF_SIM_THREADS; i++)
		kit_join(id[i]);
}

static void numbers_come_back(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++) {
		int id = weft_sim_thread(count_up, NULL, "t");

		weft_sim_assert(id > 0 && id < WF_SIM_THREADS, "%d", id);
		kit_join(id);
	}
	weft_sim_assert(atomic_load(&word) == 100, "not all have run");
}

static void fifteen_at_once(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 200;
	kit_passes(&o, as_many_as_there_can_be, NULL, &r);
	kit_passes(&o, numbers_come_back, NULL, &r);
}

static void join_what_cannot_be(void *arg)
{
	int id = kit_thread(nothing, NULL, "t");

	(void)arg;
	weft_sim_assert(weft_sim_join(0) == -EINVAL, "oneself");
	weft_sim_assert(weft_sim_join(-1) == -EINVAL, "minus one");
	weft_sim_assert(weft_sim_join(id + 1) == -EINVAL, "not yet there");
	weft_sim_assert(weft_sim_join(1000000) == -EINVAL, "a million");
	kit_join(id);
	weft_sim_assert(weft_sim_join(id) == -EINVAL, "twice");
}

static void only_threads_are_joined(void **state)
{
	(void)state;
	kit_holds(join_what_cannot_be, 0);
}

/* A run ends when all threads have, not only the first. */
static void late(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5; i++)
		kit_use(atomic_fetch_add(&word, 1));
	kit_count(&kept[0]);
}

static void leave_it_running(void *arg)
{
	(void)arg;
	kit_count(&kept[1]);
	kit_use((uint64_t)kit_thread(late, NULL, "late"));
}

static void all_threads_come_to_their_end(void **state)
{
	(void)state;
	memset(kept, 0, 4096);
	kit_holds(leave_it_running, 0);
	assert_true(kept[0] > 1);
	assert_int_equal(kept[0], kept[1]);
}

static void set_errno(void *arg)
{
	errno = (int)(uintptr_t)arg;
	for (int i = 0; i < 3; i++) {
		kit_use(atomic_fetch_add(&word, 1));
		weft_sim_assert(errno == (int)(uintptr_t)arg, "%d is not %d",
			errno, (int)(uintptr_t)arg);
	}
}

static void errnos(void *arg)
{
	int a = kit_thread(set_errno, (void *)(uintptr_t)ENOENT, "a");
	int b = kit_thread(set_errno, (void *)(uintptr_t)EPERM, "b");

	(void)arg;
	set_errno((void *)(uintptr_t)EIO);
	kit_join(a);
	kit_join(b);
	weft_sim_assert(errno == EIO, "%d after the joins", errno);
}

static void every_thread_has_its_errno(void **state)
{
	(void)state;
	errno = EBADF;
	kit_holds(errnos, 0);
	assert_int_equal(errno, EBADF);
}

/* ---------------------------------------------------------------- checks */

static int plain, other;

static void keep_equal(void *arg)
{
	kit_use((uint64_t)(uintptr_t)arg);
	kit_count(&kept[0]);
	weft_sim_assert(atomic_load(&word) <= 1, "two inside");
	plain++;
	other = plain;
}

static void enter(void *arg)
{
	(void)arg;
	kit_use(atomic_fetch_add(&word, 1));
	kit_use(atomic_fetch_sub(&word, 1));
}

static void enter_and_write(void *arg)
{
	plain++;
	enter(arg);
}

static void one_by_one(void *arg)
{
	(void)arg;
	kit_join(kit_thread(enter_and_write, NULL, "one"));
	kit_join(kit_thread(enter_and_write, NULL, "two"));
}

static void two_at_once(void *arg)
{
	(void)arg;
	kit_pair(enter, enter);
}

/* It sees all, at each step, and its own accesses do not race. */
static void invariants_are_checked_at_every_step(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	o.invariant = keep_equal;
	kit_passes(&o, one_by_one, NULL, &r);
	assert_true(kept[0] > r.schedules * 10);
	kit_fails(&o, two_at_once, NULL, "assertion", &r);
	assert_string_equal(r.message, "two inside");
}

static void while_idle(void *arg)
{
	kit_count(&kept[1]);
	weft_sim_assert(arg == &kept[7], "not the body's argument");
	weft_sim_assert(kit_get(&kept[0]) < 3, "idle for a third time");
}

static void be_idle(void *arg)
{
	(void)arg;
	kit_set(&kept[0], 0);
	for (uint64_t i = 0; i < kit_get(&kept[2]); i++) {
		kit_count(&kept[0]);
		nap(NULL);
	}
}

static void idle_is_told_before_time_passes(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	o.idle = while_idle;
	o.stales = 1;
	kept[2] = 2;
	kit_passes(&o, be_idle, &kept[7], &r);
	assert_int_equal(kept[1], 2 * r.schedules);
	kept[2] = 3;
	kit_fails(&o, be_idle, &kept[7], "assertion", &r);
	assert_string_equal(r.message, "idle for a third time");
}

/* ----------------------------------------------------------- determinism */

static uint64_t hash;

/* All that can be otherwise comes into it. */
KIT_UNSEEN static void mix(uint64_t v)
{
	hash = (hash ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 29;
}

static void decide(void *arg)
{
	uint32_t id = (uint32_t)(uintptr_t)arg;
	uint64_t seen = id;

	mix(id);
	atomic_store_explicit(&word, id, memory_order_relaxed);
	mix(atomic_load_explicit(&flag, memory_order_relaxed));
	atomic_store_explicit(&flag, id, memory_order_relaxed);
	mix(atomic_load_explicit(&word, memory_order_relaxed));
	/* Not every compiler tells the simulator that it may fail. */
	mix(wf_sim_cas(&word, 4, &seen, id + 3, __ATOMIC_RELAXED,
		__ATOMIC_RELAXED, true, 1));
	mix(seen);
	mix((uint64_t)wf_os_futex_wait(
		&flag, 1, wf_os_now_ns() + 2000 * (int64_t)id));
	mix((uint64_t)wf_os_futex_wake(&flag, 1));
	mix((uint64_t)wf_os_now_ns());
	mix(weft_sim_either(5));
	mix(weft_sim_fault("somewhere", 4));
	mix(wf_os_random());
	mix(id);
}

static void decide_much(void *arg)
{
	int id[3];

	(void)arg;
	for (uintptr_t i = 0; i < 3; i++)
		id[i] = kit_thread(decide, (void *)(i + 1), "decides");
	for (int i = 0; i < 3; i++)
		kit_join(id[i]);
	weft_sim_assert(hash % 64 != 0, "%llx", (unsigned long long)hash);
}

static const uint32_t modes[] = { WEFT_SIM_WALK, WEFT_SIM_PCT, WEFT_SIM_URW,
	WEFT_SIM_BOUNDED };

static void replay_often(
	const weft_sim_opts *o, const char *token, const weft_sim_report *found)
{
	weft_sim_report r;
	uint64_t steps = 0;

	for (int i = 0; i < REPLAYS; i++) {
		assert_int_equal(
			weft_sim_replay(o, decide_much, NULL, token, &r), 1);
		assert_string_equal(r.oracle, found->oracle);
		assert_string_equal(r.message, found->message);
		assert_int_equal(r.schedules, 1);
		if (i == 0)
			steps = r.steps;
		assert_true(steps > 0 && r.steps == steps);
	}
}

/* By the seed, and by the decisions that are left when it is shrunk. */
static void a_token_replays_a_thousand_times(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		weft_sim_opts o = kit_opts(modes[i], WEFT_SIM_NO_SHRINK);
		weft_sim_report r;

		kit_fails(&o, decide_much, NULL, "assertion", &r);
		replay_often(&o, r.token, &r);
		o.flags = WEFT_SIM_QUIET;
		kit_fails(&o, decide_much, NULL, "assertion", &r);
		assert_true(r.shrunk[0] != '\0');
		replay_often(&o, r.shrunk, &r);
	}
}

static void tell(const weft_sim_report *r, char *text, size_t bytes)
{
	snprintf(text, bytes, "%d|%s|%s|%s|%s|%llu|%llu", r->failed, r->oracle,
		r->message, r->token, r->shrunk,
		(unsigned long long)r->schedules, (unsigned long long)r->steps);
}

static int child(uint32_t mode)
{
	weft_sim_opts o = kit_opts(mode, 0);
	char text[4096];
	weft_sim_report r;

	if (weft_sim_explore(&o, decide_much, NULL, &r) != 1)
		return 1;
	tell(&r, text, sizeof(text));
	fputs(text, stdout);
	return fflush(stdout) != 0;
}

/* What the program says when it is started anew. */
static void start_anew(uint32_t mode, char *text, size_t bytes)
{
	char number[16];
	int fd = memfd_create("child", 0), status = -1;
	ssize_t n;
	pid_t pid;

	assert_true(fd >= 0);
	snprintf(number, sizeof(number), "%u", mode);
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		(void)dup2(fd, STDOUT_FILENO);
		execl("/proc/self/exe", "engine_test", "child", number, NULL);
		_exit(127);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
	n = pread(fd, text, bytes - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	(void)close(fd);
}

static void another_process_finds_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		weft_sim_opts o = kit_opts(modes[i], 0);
		char here_text[4096], there_text[4096];
		weft_sim_report r;

		kit_fails(&o, decide_much, NULL, "assertion", &r);
		tell(&r, here_text, sizeof(here_text));
		start_anew(modes[i], there_text, sizeof(there_text));
		assert_string_equal(here_text, there_text);
	}
}

/* Nor does it matter what was explored before. */
static void what_came_before_does_not_matter(void **state)
{
	weft_sim_opts o = kit_opts(0, 0), before = kit_opts(WEFT_SIM_URW, 0);
	weft_sim_report first, again;
	char a[4096], b[4096];

	(void)state;
	kit_fails(&o, decide_much, NULL, "assertion", &first);
	before.schedules = 100;
	kit_passes(&before, as_many_as_there_can_be, NULL, &again);
	kit_breaks(sleep_for_ever, 0, "deadlock", &again);
	kit_fails(&o, decide_much, NULL, "assertion", &again);
	tell(&first, a, sizeof(a));
	tell(&again, b, sizeof(b));
	assert_string_equal(a, b);
}

static int setup(void **state)
{
	kept = kit_keep(4096);
	return kit_setup(state);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlock_names_the_threads),
		cmocka_unit_test(livelock_is_found_by_steps),
		cmocka_unit_test(steps_are_counted),
		cmocka_unit_test(a_lock_is_not_lock_free),
		cmocka_unit_test(a_counter_is_lock_free),
		cmocka_unit_test(stops_are_found_by_chance),
		cmocka_unit_test(a_nap_waits_for_nobody),
		cmocka_unit_test(fifteen_at_once),
		cmocka_unit_test(only_threads_are_joined),
		cmocka_unit_test(all_threads_come_to_their_end),
		cmocka_unit_test(every_thread_has_its_errno),
		cmocka_unit_test(invariants_are_checked_at_every_step),
		cmocka_unit_test(idle_is_told_before_time_passes),
		cmocka_unit_test(a_token_replays_a_thousand_times),
		cmocka_unit_test(another_process_finds_the_same),
		cmocka_unit_test(what_came_before_does_not_matter),
	};

	if (argc == 3 && strcmp(argv[1], "child") == 0)
		return child((uint32_t)atoi(argv[2]));
	return cmocka_run_group_tests(tests, setup, NULL);
}
