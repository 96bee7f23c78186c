/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/rwlock_test.c - the word of an rwlock is in each step as
 * sync/rwlock.c says, and the lists lose no waiter.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "stress/sched_kit.h"
#include "sync/mutex.h"

/* The word, as sync/rwlock.c describes it. */
enum { LOCK = 1, WRITER = 2, QUEUED = 4, READER = 8 };

static weft_rwlock lock;

static uint64_t word(void)
{
	return wf_load_acq((_Atomic(uint64_t) *)&lock.word_);
}

static bool is_clean(void)
{
	return word() == 0 && lock.owner_ == 0 && lock.waiters_[0] == NULL &&
		lock.waiters_[1] == NULL && lock.waiters_[2] == NULL &&
		lock.waiters_[3] == NULL;
}

static void without_contention(void **state)
{
	(void)state;
	assert_int_equal(sizeof(weft_rwlock), 48);
	weft_rwlock_rdlock(&lock);
	assert_int_equal(word(), READER);
	assert_int_equal(weft_rwlock_rdlock_by(&lock, WEFT_NOW), 0);
	assert_int_equal(word(), 2 * READER);
	assert_int_equal(weft_rwlock_wrlock_by(&lock, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(word(), 2 * READER);
	weft_rwlock_rdunlock(&lock);
	weft_rwlock_rdunlock(&lock);
	assert_true(is_clean());
	weft_rwlock_wrlock(&lock);
	assert_int_equal(word(), WRITER);
	assert_true(wf_owner_same(lock.owner_, wf_owner_runs()));
	assert_int_equal(weft_rwlock_wrlock_by(&lock, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(weft_rwlock_rdlock_by(&lock, WEFT_NOW), -ETIMEDOUT);
	weft_rwlock_wrunlock(&lock);
	assert_true(is_clean());
	assert_int_equal(weft_rwlock_wrlock_by(&lock, WEFT_NOW), 0);
	weft_rwlock_wrunlock(&lock);
	assert_true(is_clean());
}

/* ------------------------------------------------------------------------ */
/* Step by step, on one worker. */

static struct {
	int readers, writers; /* that hold the lock */
	int most;	      /* readers at once */
	char log[32];	      /* 'r' or 'w' for each */
	int result;
	weft_time until; /* when a writer gives up */
	bool slow;	 /* until passed before all waited */
} in;

static void *reads(void *arg)
{
	weft_rwlock_rdlock(&lock);
	strcat(in.log, "r");
	if (++in.readers > in.most)
		in.most = in.readers;
	kit_expect(in.writers == 0);
	weft_yield();
	in.readers--;
	weft_rwlock_rdunlock(&lock);
	return arg;
}

static void *writes(void *arg)
{
	weft_rwlock_wrlock(&lock);
	strcat(in.log, "w");
	kit_expect(++in.writers == 1 && in.readers == 0);
	weft_yield();
	in.writers--;
	weft_rwlock_wrunlock(&lock);
	return arg;
}

static void *writes_soon(void *arg)
{
	in.result = weft_rwlock_wrlock_by(&lock, in.until);
	return arg;
}

static weft_fiber *start(void *(*fn)(void *))
{
	weft_fiber *f = NULL;

	kit_expect(weft_spawn(&f, NULL, fn, NULL) == 0);
	weft_yield();
	return f;
}

static void finish(weft_fiber *f)
{
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
}

static void finish_all(weft_fiber *const f[], int n)
{
	for (int i = 0; i < n; i++)
		finish(f[i]);
	kit_expect(is_clean());
}

/* r w r w r wait for a writer: all r, then a w, then a w. */
static void *after_a_writer(void *arg)
{
	weft_fiber *f[5];

	weft_rwlock_wrlock(&lock);
	for (int i = 0; i < 5; i++)
		f[i] = start(i % 2 ? writes : reads);
	kit_expect(word() == (WRITER | QUEUED));
	weft_rwlock_wrunlock(&lock);
	kit_expect(word() == (3 * READER | QUEUED));
	kit_expect(lock.owner_ == 0);
	finish_all(f, 5);
	kit_expect(strcmp(in.log, "rrrww") == 0);
	kit_expect(in.most == 3);
	return arg;
}

/* After the readers comes one writer, and then readers. */
static void *after_a_reader(void *arg)
{
	weft_fiber *f[4];

	weft_rwlock_rdlock(&lock);
	f[0] = start(writes);
	kit_expect(word() == (READER | QUEUED));
	kit_expect(weft_rwlock_rdlock_by(&lock, WEFT_NOW) == -ETIMEDOUT);
	f[1] = start(reads);
	f[2] = start(writes);
	f[3] = start(reads);
	kit_expect(word() == (READER | QUEUED));
	weft_rwlock_rdunlock(&lock);
	kit_expect(word() == (WRITER | QUEUED));
	finish_all(f, 4);
	kit_expect(strcmp(in.log, "wrrw") == 0);
	kit_expect(in.most == 2);
	return arg;
}

/* The writer that held readers back is cancelled (ns 0) or times out. */
static void *a_writer_gives_up(int64_t ns)
{
	weft_fiber *f[3];

	in.until = ns ? weft_after(ns) : WEFT_FOREVER;
	in.most = 0;
	weft_rwlock_rdlock(&lock);
	f[0] = start(writes_soon);
	f[1] = start(reads);
	f[2] = start(reads);
	in.slow = weft_now() >= in.until;
	kit_expect(in.slow || word() == (READER | QUEUED));
	if (ns == 0)
		kit_expect(weft_cancel(f[0]) == 0);
	finish(f[0]);
	kit_expect(in.result == (ns ? -ETIMEDOUT : -ECANCELED));
	/* We still read, and so do the two readers now. */
	kit_expect(in.slow || word() == 3 * READER);
	finish(f[1]);
	finish(f[2]);
	kit_expect(word() == READER && (in.slow || in.most == 2));
	weft_rwlock_rdunlock(&lock);
	kit_expect(is_clean());
	return NULL;
}

static void *a_writer_is_cancelled(void *arg)
{
	(void)arg;
	return a_writer_gives_up(0);
}

/* Retry with twice the time until all three wait before the deadline. */
static void *a_writer_is_late(void *arg)
{
	int64_t ns = WF_NS_PER_MS;

	do {
		ns *= 2;
		(void)a_writer_gives_up(ns);
	} while (in.slow && ns < 10 * WF_NS_PER_S);
	kit_expect(!in.slow);
	return arg;
}

static void *reads_soon(void *arg)
{
	in.result = weft_rwlock_rdlock_by(&lock, weft_after(2 * WF_NS_PER_MS));
	return arg;
}

/* One of two readers gives up: the word does not change. */
static void *a_reader_gives_up(void *arg)
{
	weft_fiber *f[2];

	weft_rwlock_wrlock(&lock);
	f[0] = start(reads_soon);
	f[1] = start(reads);
	finish(f[0]);
	kit_expect(in.result == -ETIMEDOUT);
	kit_expect(word() == (WRITER | QUEUED));
	weft_rwlock_wrunlock(&lock);
	kit_expect(word() == READER);
	finish(f[1]);
	kit_expect(is_clean());
	return arg;
}

static void the_word_is_as_described(void **state)
{
	void *(*const plays[])(void *) = { after_a_writer, after_a_reader,
		a_writer_is_cancelled, a_writer_is_late, a_reader_gives_up };

	(void)state;
	for (size_t i = 0; i < sizeof(plays) / sizeof(plays[0]); i++) {
		memset(&in, 0, sizeof(in));
		kit_play(plays[i], 1);
		assert_true(is_clean());
	}
}

/* ------------------------------------------------------------------------ */
/* All at once. */

static struct {
	uint64_t a, b; /* by lock: always the same */
	size_t rounds;
	_Atomic(size_t) gave_up;
} race;

static void race_one(size_t i)
{
	bool write = i % 4 == 0;
	weft_time by = i % 3 ? WEFT_FOREVER
			     : weft_after((int64_t)(i % 50) * WF_NS_PER_US);
	int err = write ? weft_rwlock_wrlock_by(&lock, by)
			: weft_rwlock_rdlock_by(&lock, by);

	if (err != 0) {
		kit_expect(err == -ETIMEDOUT && by != WEFT_FOREVER);
		wf_add_rlx(&race.gave_up, 1);
		return;
	}
	kit_expect(race.a == race.b);
	if (!write) {
		weft_rwlock_rdunlock(&lock);
		return;
	}
	race.a++;
	race.b++;
	weft_rwlock_wrunlock(&lock);
}

static void *race_fiber(void *arg)
{
	for (size_t i = 0; i < race.rounds; i++)
		race_one(i);
	return arg;
}

static void race_thread(void *arg, unsigned i)
{
	(void)i;
	race_fiber(arg);
}

static void no_waiter_is_lost_in_the_crowd(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);
	weft_fiber *f[8];

	(void)state;
	race.rounds = kit_rounds(5000);
	for (int i = 0; i < 8; i++)
		assert_int_equal(
			weft_rt_spawn(rt, &f[i], NULL, race_fiber, NULL), 0);
	threads_run(2, race_thread, NULL);
	for (int i = 0; i < 8; i++)
		assert_int_equal(weft_join(f[i], NULL, WEFT_FOREVER), 0);
	kit_stop(rt);
	assert_true(is_clean());
	printf("%zu of %zu gave up\n", wf_load_rlx(&race.gave_up),
		10 * race.rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_contention),
		cmocka_unit_test(the_word_is_as_described),
		cmocka_unit_test(no_waiter_is_lost_in_the_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
