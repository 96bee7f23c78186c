/* SPDX-License-Identifier: MIT */
/*
 * tests/api/rwlock_test.c - many read or one writes, in turns, so that neither
 * starves; a waiter that gives up holds no other back; the last holder may free
 * the lock; and misuse is one clear line.
 */
#include "api/api.h"

#include "os/child.h"

enum { POISON = 0xA5, HANDS = 8 };

/* ------------------------------------------------------------------------ */
/* Many or one. */

static struct {
	weft_rwlock lock;
	uint64_t a, b; /* by lock: always the same */
	_Atomic(unsigned) readers, most;
} page;

static void read_page(bool yields)
{
	unsigned now, most;
	uint64_t a;

	weft_rwlock_rdlock(&page.lock);
	now = atomic_fetch_add(&page.readers, 1) + 1;
	most = atomic_load(&page.most);
	while (now > most &&
		!atomic_compare_exchange_weak(&page.most, &most, now))
		continue;
	a = page.a;
	if (yields)
		weft_yield();
	expect_eq(a, page.b);
	atomic_fetch_sub(&page.readers, 1);
	weft_rwlock_rdunlock(&page.lock);
}

static void write_page(bool yields)
{
	weft_rwlock_wrlock(&page.lock);
	expect_eq(atomic_load(&page.readers), 0);
	expect_eq(page.a, page.b);
	page.a++;
	if (yields)
		weft_yield();
	page.b++;
	weft_rwlock_wrunlock(&page.lock);
}

static void *use_page(void *n)
{
	for (size_t i = 0; i < *(size_t *)n; i++) {
		if (i % 4 == 0)
			write_page(i % 64 == 0);
		else
			read_page(i % 64 == 1);
	}
	return NULL;
}

static void use_page_on_thread(void *n, unsigned i)
{
	(void)i;
	use_page(n);
}

static void fibers_and_threads_share_it(void **state)
{
	size_t each = rounds(2000) / 4 * 4, users = 0;

	(void)state;
	memset(&page, 0, sizeof(page));
	for (unsigned workers = 1; workers <= 4; workers *= 2) {
		weft_rt *rt[2] = { rt_workers(workers), rt_workers(1) };
		weft_fiber *f[HANDS];

		for (size_t i = 0; i < HANDS; i++)
			assert_int_equal(weft_rt_spawn(rt[i % 2], &f[i], NULL,
						 use_page, &each),
				0);
		threads_run(2, use_page_on_thread, &each);
		for (size_t i = 0; i < HANDS; i++)
			assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
		users += HANDS + 2;
		rt_end(rt[0]);
		rt_end(rt[1]);
		assert_expected();
		assert_int_equal(page.b, each / 4 * users);
	}
}

static void *read_and_yield(void *arg)
{
	read_page(true);
	return arg;
}

static void *all_read_together(void *arg)
{
	weft_fiber *f[HANDS];

	weft_rwlock_wrlock(&page.lock);
	for (size_t i = 0; i < HANDS; i++) {
		f[i] = spawn(read_and_yield, NULL);
		weft_yield();
	}
	expect_eq(atomic_load(&page.most), 0);
	weft_rwlock_wrunlock(&page.lock);
	for (size_t i = 0; i < HANDS; i++)
		join(f[i]);
	return arg;
}

static void readers_read_together(void **state)
{
	(void)state;
	memset(&page, 0, sizeof(page));
	play(1, all_read_together, NULL);
	assert_int_equal(atomic_load(&page.most), HANDS);
}

/* ------------------------------------------------------------------------ */
/* Turns. */

static struct {
	weft_rwlock lock;
	char log[64]; /* by lock, or on one worker */
	_Atomic(bool) stop;
	_Atomic(uint64_t) reads, writes;
} turn;

static void *log_read(void *arg)
{
	weft_rwlock_rdlock(&turn.lock);
	strcat(turn.log, "r");
	weft_yield();
	weft_rwlock_rdunlock(&turn.lock);
	return arg;
}

static void *log_write(void *arg)
{
	weft_rwlock_wrlock(&turn.lock);
	strcat(turn.log, "w");
	weft_yield();
	weft_rwlock_wrunlock(&turn.lock);
	return arg;
}

static void *in_turns(void *arg)
{
	weft_fiber *f[6];

	weft_rwlock_rdlock(&turn.lock);
	for (size_t i = 0; i < 6; i++) {
		f[i] = spawn(i % 2 ? log_read : log_write, NULL);
		weft_yield();
	}
	expect_eq(strlen(turn.log), 0);
	weft_rwlock_rdunlock(&turn.lock);
	for (size_t i = 0; i < 6; i++)
		join(f[i]);
	return arg;
}

static void readers_and_writers_take_turns(void **state)
{
	(void)state;
	memset(&turn, 0, sizeof(turn));
	play(1, in_turns, NULL);
	assert_string_equal(turn.log, "wrrrww");
}

static void *read_on(void *arg)
{
	while (!atomic_load(&turn.stop)) {
		weft_rwlock_rdlock(&turn.lock);
		atomic_fetch_add(&turn.reads, 1);
		weft_yield(); /* so that there always is a reader */
		weft_rwlock_rdunlock(&turn.lock);
	}
	return arg;
}

static void *write_on(void *arg)
{
	while (!atomic_load(&turn.stop)) {
		weft_rwlock_wrlock(&turn.lock);
		atomic_fetch_add(&turn.writes, 1);
		weft_yield();
		weft_rwlock_wrunlock(&turn.lock);
	}
	return arg;
}

/* Some readers go on and on, and a writer has its turns; or vice versa. */
static void starve(unsigned workers, bool writer)
{
	weft_rt *rt = rt_workers(workers);
	_Atomic(uint64_t) *count = writer ? &turn.writes : &turn.reads;
	weft_fiber *f[5];

	memset(&turn, 0, sizeof(turn));
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(
			weft_rt_spawn(rt, &f[i], NULL,
				(i == 4) == writer ? write_on : read_on, NULL),
			0);
	assert_true(await(atomic_load(count) >= rounds(200)));
	atomic_store(&turn.stop, true);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	rt_end(rt);
}

static void neither_readers_nor_writers_starve(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		starve(workers, true);
		starve(workers, false);
	}
}

/* ------------------------------------------------------------------------ */
/* Giving up. */

static struct {
	weft_rwlock lock;
	int result;
	int64_t waited_ns;
	weft_time by;
	_Atomic(unsigned) reading;
} one;

static void begin(weft_time by)
{
	memset(&one, 0, sizeof(one));
	one.by = by;
}

static void *write_by(void *arg)
{
	weft_time begin = weft_now();

	one.result = weft_rwlock_wrlock_by(&one.lock, one.by);
	one.waited_ns = weft_now() - begin;
	if (one.result == 0)
		weft_rwlock_wrunlock(&one.lock);
	return arg;
}

static void *read_by(void *arg)
{
	weft_time begin = weft_now();

	one.result = weft_rwlock_rdlock_by(&one.lock, one.by);
	one.waited_ns = weft_now() - begin;
	if (one.result == 0)
		weft_rwlock_rdunlock(&one.lock);
	return arg;
}

static void read_by_on_thread(void *arg, unsigned i)
{
	(void)i;
	read_by(arg);
}

static void write_by_on_thread(void *arg, unsigned i)
{
	(void)i;
	write_by(arg);
}

static void *behind_a_writer(void *arg)
{
	weft_rwlock_rdlock(&one.lock);
	atomic_fetch_add(&one.reading, 1);
	weft_rwlock_rdunlock(&one.lock);
	return arg;
}

static bool waits_for_rwlock(weft_fiber *f)
{
	weft_fiber_info info;

	weft_fiber_look(f, &info);
	return info.state == WEFT_FIBER_WAITING && info.waits_for != NULL &&
		strcmp(info.waits_for, "rwlock") == 0 &&
		info.waits_on == &one.lock;
}

static void *deadlines(void *arg)
{
	weft_rwlock *l = &one.lock;

	expect_eq(weft_rwlock_rdlock_by(l, WEFT_NOW), 0);
	expect_eq(weft_rwlock_rdlock_by(l, 1), 0);
	expect_eq(weft_rwlock_wrlock_by(l, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_rwlock_wrlock_by(l, -1), -ETIMEDOUT);
	expect_eq(weft_rwlock_wrlock_by(l, weft_after(NS_PER_MS)), -ETIMEDOUT);
	expect_eq(weft_rwlock_rdlock_by(l, WEFT_NOW), 0);
	weft_rwlock_rdunlock(l);
	weft_rwlock_rdunlock(l);
	weft_rwlock_rdunlock(l);
	expect_eq(weft_rwlock_wrlock_by(l, WEFT_NOW), 0);
	expect_eq(weft_rwlock_rdlock_by(l, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_rwlock_rdlock_by(l, weft_after(NS_PER_MS)), -ETIMEDOUT);
	weft_rwlock_wrunlock(l);
	return arg;
}

static void a_deadline_is_kept(void **state)
{
	void *(*const in_fiber[])(void *) = { read_by, write_by };
	void (*const on_thread[])(
		void *, unsigned) = { read_by_on_thread, write_by_on_thread };

	(void)state;
	begin(0);
	deadlines(NULL);
	assert_expected();
	play(1, deadlines, NULL);
	for (size_t i = 0; i < 2; i++) {
		begin(weft_after(20 * NS_PER_MS));
		weft_rwlock_wrlock(&one.lock);
		play(1, in_fiber[i], NULL);
		assert_int_equal(one.result, -ETIMEDOUT);
		assert_true(weft_now() >= one.by);
		one.by = weft_after(20 * NS_PER_MS);
		threads_run(1, on_thread[i], NULL);
		assert_int_equal(one.result, -ETIMEDOUT);
		assert_true(weft_now() >= one.by);
		weft_rwlock_wrunlock(&one.lock);
		assert_int_equal(weft_rwlock_wrlock_by(&one.lock, WEFT_NOW), 0);
	}
}

/* The main thread reads; a writer waits, and readers behind it. */
static void hold_back(weft_rt *rt, bool cancel)
{
	weft_fiber *w, *f[HANDS];

	begin(cancel ? WEFT_FOREVER : weft_after(50 * NS_PER_MS));
	weft_rwlock_rdlock(&one.lock);
	assert_int_equal(weft_rt_spawn(rt, &w, NULL, write_by, NULL), 0);
	assert_true(await(waits_for_rwlock(w) || !cancel));
	for (size_t i = 0; i < HANDS; i++)
		assert_int_equal(
			weft_rt_spawn(rt, &f[i], NULL, behind_a_writer, NULL),
			0);
	if (cancel) {
		for (size_t i = 0; i < HANDS; i++)
			assert_true(await(waits_for_rwlock(f[i])));
		assert_int_equal(atomic_load(&one.reading), 0);
		assert_int_equal(weft_cancel(w), 0);
	}
	assert_int_equal(weft_join(w, NULL, PATIENCE), 0);
	assert_int_equal(one.result, cancel ? -ECANCELED : -ETIMEDOUT);
	/* We still read: the readers must go on without our unlock. */
	for (size_t i = 0; i < HANDS; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	assert_int_equal(atomic_load(&one.reading), HANDS);
	weft_rwlock_rdunlock(&one.lock);
	assert_int_equal(weft_rwlock_wrlock_by(&one.lock, WEFT_NOW), 0);
}

static void a_writer_that_gives_up_lets_readers_go_on(void **state)
{
	weft_rt *rt = rt_workers(2);

	(void)state;
	hold_back(rt, true);
	hold_back(rt, false);
	rt_end(rt);
}

static void *firm_read(void *arg)
{
	weft_rwlock_rdlock(&one.lock);
	expect(weft_cancelled());
	weft_rwlock_rdunlock(&one.lock);
	return arg;
}

static void *firm_write(void *arg)
{
	weft_rwlock_wrlock(&one.lock);
	expect(weft_cancelled());
	weft_rwlock_wrunlock(&one.lock);
	return arg;
}

static void a_lock_that_cannot_fail_is_not_cancelled(void **state)
{
	void *(*const fn[])(void *) = { firm_read, firm_write };
	weft_rt *rt = rt_workers(1);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		weft_fiber *f;

		begin(0);
		weft_rwlock_wrlock(&one.lock);
		assert_int_equal(weft_rt_spawn(rt, &f, NULL, fn[i], NULL), 0);
		assert_true(await(waits_for_rwlock(f)));
		assert_int_equal(weft_cancel(f), 0);
		nap_ns(2 * NS_PER_MS);
		assert_true(waits_for_rwlock(f));
		weft_rwlock_wrunlock(&one.lock);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		assert_expected();
	}
	rt_end(rt);
}

/* ------------------------------------------------------------------------ */
/* Freed by the last holder. */

struct parcel {
	weft_rwlock lock;
	_Atomic(unsigned) left;
};

static _Atomic(struct parcel *) parcel;

/* Not inlined: a compiler would drop stores that no code reads. */
static __attribute__((noinline)) void poison(void *p, size_t bytes)
{
	memset(p, POISON, bytes);
	__asm__ volatile("" : : "r"(p) : "memory");
}

static void *read_parcel(void *arg)
{
	struct parcel *p = atomic_load(&parcel);

	weft_rwlock_rdlock(&p->lock);
	atomic_fetch_sub(&p->left, 1);
	weft_rwlock_rdunlock(&p->lock);
	return arg;
}

static void read_parcel_on_thread(void *arg, unsigned i)
{
	(void)i;
	read_parcel(arg);
}

/* A writer that finds that all have read is the only user left. */
static void *write_parcel(void *arg)
{
	struct parcel *p = atomic_load(&parcel);
	unsigned left;

	do {
		weft_rwlock_wrlock(&p->lock);
		left = atomic_load(&p->left);
		weft_rwlock_wrunlock(&p->lock);
	} while (left != 0);
	poison(p, sizeof(*p));
	free(p);
	return arg;
}

static void the_last_holder_may_free_it(void **state)
{
	weft_rt *rt = rt_workers(2);

	(void)state;
	for (size_t n = 0; n < rounds(500); n++) {
		struct parcel *p = calloc(1, sizeof(*p));
		weft_fiber *f[4];

		assert_non_null(p);
		atomic_store(&p->left, 4);
		atomic_store(&parcel, p);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(
				weft_rt_spawn(rt, &f[i], NULL,
					i == 0 ? write_parcel : read_parcel,
					NULL),
				0);
		threads_run(1, read_parcel_on_thread, NULL);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	}
	rt_end(rt);
}

/* ------------------------------------------------------------------------ */
/* Misuse. */

static void rdunlock_free(void *l)
{
	weft_rwlock_rdunlock(l);
}

static void wrunlock_free(void *l)
{
	weft_rwlock_wrunlock(l);
}

static void rdunlock_written(void *l)
{
	weft_rwlock_wrlock(l);
	weft_rwlock_rdunlock(l);
}

static void wrunlock_read(void *l)
{
	weft_rwlock_rdlock(l);
	weft_rwlock_wrunlock(l);
}

static void rdunlock_twice(void *l)
{
	weft_rwlock_rdlock(l);
	weft_rwlock_rdunlock(l);
	weft_rwlock_rdunlock(l);
}

static void wrunlock_on_thread(void *l, unsigned i)
{
	(void)i;
	weft_rwlock_wrunlock(l);
}

static void wrunlock_by_another(void *l)
{
	weft_rwlock_wrlock(l);
	threads_run(1, wrunlock_on_thread, l);
}

static void relock_to_write(void *l)
{
	weft_rwlock_wrlock(l);
	weft_rwlock_wrlock(l);
}

static void relock_to_read(void *l)
{
	weft_rwlock_wrlock(l);
	weft_rwlock_rdlock(l);
}

static int relock_main(void *l)
{
	relock_to_write(l);
	return 0;
}

static void relock_in_fiber(void *l)
{
	_exit(weft_run(NULL, relock_main, l) == 0 ? 0 : 1);
}

static void misuse_ends_in_one_clear_line(void **state)
{
	static const struct {
		void (*fn)(void *);
		const char *says;
	} wrong[] = {
		{ rdunlock_free, "there is no reader" },
		{ rdunlock_twice, "there is no reader" },
		{ rdunlock_written, "there is no reader" },
		{ wrunlock_free, "is not the writer" },
		{ wrunlock_read, "is not the writer" },
		{ wrunlock_by_another, "is not the writer" },
		{ relock_to_write, "its writer locks it again" },
		{ relock_to_read, "its writer locks it again" },
		{ relock_in_fiber, "its writer locks it again" },
	};
	struct child c;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		static weft_rwlock l;

		memset(&l, 0, sizeof(l));
		child_run(&c, wrong[i].fn, &l);
		if (!child_was_misuse(&c, wrong[i].says))
			fail_msg("case %zu: status %#x, says %s", i, c.status,
				c.first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fibers_and_threads_share_it),
		cmocka_unit_test(readers_read_together),
		cmocka_unit_test(readers_and_writers_take_turns),
		cmocka_unit_test(neither_readers_nor_writers_starve),
		cmocka_unit_test(a_deadline_is_kept),
		cmocka_unit_test(a_writer_that_gives_up_lets_readers_go_on),
		cmocka_unit_test(a_lock_that_cannot_fail_is_not_cancelled),
		cmocka_unit_test(the_last_holder_may_free_it),
		cmocka_unit_test(misuse_ends_in_one_clear_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
