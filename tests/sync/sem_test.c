/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/sem_test.c - the word of a semaphore is as sync/sem.c says:
 * permits are conserved when waiters give up, WAITERS is set exactly while the
 * list has waiters, and a release touches nothing after its last permit is out.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "os/child.h"
#include "os/os.h"
#include "wait/wait.h"
#include "stress/sched_kit.h"

/* The word, as sync/sem.c describes it. */
#define LOCK ((uint64_t)1)
#define WAITERS ((uint64_t)2)
#define PERMITS(n) ((uint64_t)(n) << 32)

static uint64_t word(weft_sem *s)
{
	return wf_load_acq((_Atomic(uint64_t) *)&s->state_);
}

static void wait_for_word(weft_sem *s, uint64_t value)
{
	while (word(s) != value)
		wf_os_thread_yield();
}

static void the_word_counts(void **state)
{
	volatile uint32_t some = 3;
	weft_sem s = { 0 }, given = WEFT_SEM_INIT(some);
	weft_sem most = WEFT_SEM_INIT(UINT32_MAX);

	(void)state;
	assert_true(word(&s) == 0);
	assert_int_equal(weft_sem_acquire(&s, WEFT_NOW), -ETIMEDOUT);
	assert_true(word(&s) == 0);
	weft_sem_release(&s, 2);
	assert_true(word(&s) == PERMITS(2));
	weft_sem_release(&s, 0);
	assert_int_equal(weft_sem_acquire(&s, WEFT_FOREVER), 0);
	assert_true(word(&s) == PERMITS(1));
	assert_int_equal(weft_sem_acquire(&s, WEFT_NOW), 0);
	assert_int_equal(weft_sem_acquire(&s, INT64_MIN), -ETIMEDOUT);
	assert_true(word(&given) == PERMITS(3));
	assert_int_equal(weft_sem_acquire(&most, WEFT_NOW), 0);
	assert_true(word(&most) == PERMITS(UINT32_MAX - 1));
	weft_sem_release(&most, 1);
	assert_true(word(&most) == PERMITS(UINT32_MAX));
}

static void a_waiter_that_times_out_leaves_nothing(void **state)
{
	int64_t until = weft_after(2 * WF_NS_PER_MS);
	weft_sem s = { 0 };

	(void)state;
	assert_int_equal(weft_sem_acquire(&s, until), -ETIMEDOUT);
	assert_true(weft_now() >= until);
	assert_true(word(&s) == 0);
	assert_null(s.waiters_[0]);
}

static void release_too_many(void *arg)
{
	weft_sem_release(arg, 1);
	weft_sem_release(arg, 1);
}

/* WAITERS is set, as if a waiter were leaving: the slow path. */
static void release_too_many_slowly(void *arg)
{
	weft_sem *s = arg;
	weft_sem waited = { s->state_ | WAITERS, { 0 } };

	weft_sem_release(&waited, UINT32_MAX);
}

static void too_many_permits_end_the_program(void **state)
{
	weft_sem s = WEFT_SEM_INIT(UINT32_MAX - 1);
	struct child c;

	(void)state;
	child_run(&c, release_too_many, &s);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "too many permits"));
	child_run(&c, release_too_many_slowly, &s);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "too many permits"));
}

/* Waiters that have timed out, and have not left the list yet. */
static void permits_pass_late_waiters(void **state)
{
	struct wf_waiter w[4] = { 0 };
	struct wf_node n[4];
	weft_sem s = { WAITERS, { 0 } };

	(void)state;
	for (int i = 0; i < 4; i++) {
		wf_node_open(&n[i], &w[i]);
		wf_list_add((struct wf_list *)s.waiters_, &n[i]);
		if (i != 2)
			assert_false(wf_waiter_disarm(&w[i]));
	}
	/* One permit is for waiter 2, the others stay in the word. */
	weft_sem_release(&s, 3);
	assert_ptr_equal(w[2].won, &n[2]);
	assert_true(word(&s) == PERMITS(2));
	assert_null(s.waiters_[0]);
	/* The one permit goes to waiter 2; the list behind stays. */
	s.state_ = WAITERS;
	w[2] = (struct wf_waiter){ 0 };
	for (int i = 1; i < 4; i++)
		wf_list_add((struct wf_list *)s.waiters_, &n[i]);
	weft_sem_release(&s, 1);
	assert_ptr_equal(w[2].won, &n[2]);
	assert_true(word(&s) == WAITERS);
	assert_ptr_equal(s.waiters_[0], &n[3]);
}

/* ------------------------------------------------------------------------ */
/* Order. */

enum { LINE = 8 };

static struct {
	weft_sem sem;
	unsigned served[LINE], next;
} line;

static void *stand_in_line(void *arg)
{
	kit_expect(weft_sem_acquire(&line.sem, WEFT_FOREVER) == 0);
	line.served[line.next++] = (unsigned)(uintptr_t)arg;
	return NULL;
}

/* One worker: the waiters come in order, and are served so. */
static void *first_come_first_served(void *arg)
{
	weft_fiber_info info;
	weft_fiber *f[LINE];

	(void)arg;
	for (uintptr_t i = 0; i < LINE; i++) {
		kit_expect(
			weft_spawn(&f[i], NULL, stand_in_line, (void *)i) == 0);
		do {
			weft_yield();
			weft_fiber_look(f[i], &info);
		} while (info.state != WEFT_FIBER_WAITING);
	}
	/* A newcomer does not get a permit of the first waiters. */
	weft_sem_release(&line.sem, 3);
	kit_expect(weft_sem_acquire(&line.sem, WEFT_NOW) == -ETIMEDOUT);
	while (line.next < 3)
		weft_yield();
	kit_expect(word(&line.sem) == WAITERS);
	/* More permits than waiters: the others stay in the word. */
	weft_sem_release(&line.sem, LINE);
	kit_expect(word(&line.sem) == PERMITS(3));
	for (int i = 0; i < LINE; i++) {
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
		kit_expect(line.served[i] == (unsigned)i);
	}
	return NULL;
}

static void waiters_are_served_in_order(void **state)
{
	(void)state;
	kit_play(first_come_first_served, 1);
}

/* ------------------------------------------------------------------------ */
/* Races. */

static struct {
	_Atomic(weft_sem *) sem;
	_Atomic(size_t) round, taken, late;
	size_t rounds;
} race;

static weft_sem *begin(size_t n)
{
	while (wf_load_acq(&race.round) < n)
		wf_os_thread_yield();
	return wf_load_acq(&race.sem);
}

enum { RELEASERS = 2 };

/* Thread 0 acquires all released permits and frees the semaphore at once. */
static void free_or_release(void *arg, unsigned i)
{
	(void)arg;
	for (size_t n = 1; n <= race.rounds; n++) {
		weft_sem *s;

		if (i != 0) {
			weft_sem_release(begin(n), 1 + n % 2);
			continue;
		}
		s = calloc(1, sizeof(*s));
		kit_expect(s != NULL);
		wf_store_rlx(&race.sem, s);
		wf_store_rel(&race.round, n);
		for (size_t j = 0; j < RELEASERS * (1 + n % 2); j++)
			kit_expect(weft_sem_acquire(s, WEFT_FOREVER) == 0);
		kit_expect(word(s) == 0 && s->waiters_[0] == NULL);
		free(s);
	}
}

static void it_may_be_freed_after_the_last_permit(void **state)
{
	(void)state;
	memset(&race, 0, sizeof(race));
	race.rounds = kit_rounds(5000);
	threads_run(1 + RELEASERS, free_or_release, NULL);
	kit_settle();
}

static weft_sem shared;

/* Thread 0 gives; the others take, with short deadlines. */
static void take_or_give(void *arg, unsigned i)
{
	(void)arg;
	if (i == 0) {
		for (size_t n = 1; n <= race.rounds; n++) {
			if (n % 32 == 0)
				kit_pause_us(1);
			weft_sem_release(&shared, 1 + n % 3);
		}
		wf_store_rel(&race.round, 1);
		return;
	}
	for (;;) {
		int err = weft_sem_acquire(
			&shared, weft_after((int64_t)(i * 7) * WF_NS_PER_US));

		kit_expect(err == 0 || err == -ETIMEDOUT);
		if (err == 0)
			wf_add_rlx(&race.taken, 1);
		else if (wf_load_acq(&race.round) != 0)
			return;
		wf_add_rlx(&race.late, err != 0);
	}
}

static void no_permit_is_lost_or_made(void **state)
{
	size_t given = 0;

	(void)state;
	memset(&race, 0, sizeof(race));
	race.rounds = kit_rounds(6000);
	for (size_t n = 1; n <= race.rounds; n++)
		given += 1 + n % 3;
	threads_run(4, take_or_give, NULL);
	kit_settle();
	while (weft_sem_acquire(&shared, WEFT_NOW) == 0)
		wf_add_rlx(&race.taken, 1);
	printf("%zu permits, %zu gave up\n", given, wf_load_rlx(&race.late));
	assert_int_equal(wf_load_rlx(&race.taken), given);
	wait_for_word(&shared, 0);
	assert_null(shared.waiters_[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_word_counts),
		cmocka_unit_test(a_waiter_that_times_out_leaves_nothing),
		cmocka_unit_test(too_many_permits_end_the_program),
		cmocka_unit_test(permits_pass_late_waiters),
		cmocka_unit_test(waiters_are_served_in_order),
		cmocka_unit_test(it_may_be_freed_after_the_last_permit),
		cmocka_unit_test(no_permit_is_lost_or_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
