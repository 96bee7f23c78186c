/* SPDX-License-Identifier: MIT */
/*
 * tests/os/cond_test.c - no waiter sleeps through a signal, a signal without
 * waiters makes no system call, and a woken waiter may free the memory at once.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "os/cond.h"
#include "os/os.h"
#include "stress/sched_kit.h"

/* Wait until so many wait in c. */
static void wait_for_waiters(struct wf_cond *c, struct wf_lock *l, uint32_t n)
{
	for (;;) {
		uint32_t seen;

		wf_lock(l);
		seen = c->waiters;
		wf_unlock(l);
		if (seen == n)
			return;
		wf_os_thread_yield();
	}
}

/* ------------------------------------------------------------------------ */
/* The fields. */

static void a_signal_without_waiters_changes_nothing(void **state)
{
	struct wf_cond c;
	struct wf_lock l = { 0 };

	(void)state;
	memset(&c, 0, sizeof(c));
	for (int i = 0; i < 3; i++) {
		wf_lock(&l);
		wf_cond_signal_unlock(&c, &l);
		wf_lock(&l);
		wf_cond_broadcast_unlock(&c, &l);
	}
	assert_int_equal(wf_load_rlx(&l.word), 0);
	assert_int_equal(wf_load_rlx(&c.word), 0);
	assert_int_equal(c.waiters, 0);
	assert_int_equal(c.called, 0);
}

/* The word says whether there was a system call. */
static void each_waiter_is_called_once(void **state)
{
	struct wf_cond c = { .waiters = 2 };
	struct wf_lock l = { 0 };

	(void)state;
	for (uint32_t i = 1; i <= 4; i++) {
		wf_lock(&l);
		wf_cond_signal_unlock(&c, &l);
		assert_int_equal(wf_load_rlx(&l.word), 0);
		assert_int_equal(c.called, i < 2 ? i : 2);
		assert_int_equal(wf_load_rlx(&c.word), i < 2 ? i : 2);
	}
	c = (struct wf_cond){ .waiters = 3, .called = 1 };
	wf_lock(&l);
	wf_cond_broadcast_unlock(&c, &l);
	assert_int_equal(wf_load_rlx(&l.word), 0);
	assert_int_equal(c.called, 3);
	assert_int_equal(wf_load_rlx(&c.word), 1);
}

/* ------------------------------------------------------------------------ */
/* Threads. */

enum { WAITERS = 4 };

static struct {
	struct wf_lock lock;
	struct wf_cond cond;
	size_t things, taken, to_come; /* by lock */
	bool open;		       /* by lock */
} box;

static void wait_or_open(void *arg, unsigned i)
{
	(void)arg;
	if (i == 0) {
		wait_for_waiters(&box.cond, &box.lock, WAITERS);
		wf_lock(&box.lock);
		box.open = true;
		wf_cond_broadcast_unlock(&box.cond, &box.lock);
		return;
	}
	wf_lock(&box.lock);
	while (!box.open)
		wf_cond_wait(&box.cond, &box.lock);
	wf_unlock(&box.lock);
}

static void a_broadcast_wakes_all(void **state)
{
	size_t n = kit_rounds(50);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		kit_watch();
		memset(&box, 0, sizeof(box));
		threads_run(1 + WAITERS, wait_or_open, NULL);
		assert_int_equal(box.cond.waiters, 0);
		assert_int_equal(box.cond.called, 0);
	}
}

/* One thing for each signal: that many must come, one after the other. */
static void take_or_give(void *arg, unsigned i)
{
	(void)arg;
	if (i != 0) {
		wf_lock(&box.lock);
		while (box.things == 0)
			wf_cond_wait(&box.cond, &box.lock);
		box.things--;
		box.taken++;
		wf_unlock(&box.lock);
		return;
	}
	wait_for_waiters(&box.cond, &box.lock, WAITERS);
	for (size_t n = 1; n <= WAITERS; n++) {
		size_t taken;

		wf_lock(&box.lock);
		box.things++;
		wf_cond_signal_unlock(&box.cond, &box.lock);
		do {
			wf_os_thread_yield();
			wf_lock(&box.lock);
			taken = box.taken;
			wf_unlock(&box.lock);
		} while (taken < n);
	}
}

static void each_signal_wakes_one_more(void **state)
{
	size_t n = kit_rounds(50);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		kit_watch();
		memset(&box, 0, sizeof(box));
		threads_run(1 + WAITERS, take_or_give, NULL);
		assert_int_equal(box.cond.waiters, 0);
		assert_int_equal(box.cond.called, 0);
	}
}

/* All give and take at once; a lost signal leaves a taker asleep. */
static void work(void *arg, unsigned i)
{
	size_t n = *(size_t *)arg;

	for (size_t j = 0; i < 2 && j < n; j++) {
		wf_lock(&box.lock);
		box.things++;
		wf_cond_signal_unlock(&box.cond, &box.lock);
		for (volatile size_t k = 0; k < j % 64 * 8; k++)
			continue;
	}
	while (i >= 2) {
		wf_lock(&box.lock);
		while (box.things == 0 && box.taken < box.to_come)
			wf_cond_wait(&box.cond, &box.lock);
		if (box.things == 0)
			break;
		box.things--;
		if (++box.taken == box.to_come)
			wf_cond_broadcast_unlock(&box.cond, &box.lock);
		else
			wf_unlock(&box.lock);
	}
	if (i >= 2)
		wf_unlock(&box.lock);
}

static void no_signal_is_lost(void **state)
{
	size_t n = kit_rounds(100000);

	(void)state;
	kit_watch();
	memset(&box, 0, sizeof(box));
	box.to_come = 2 * n;
	threads_run(2 + 3, work, &n);
	assert_int_equal(box.taken, 2 * n);
	assert_int_equal(box.things, 0);
	assert_int_equal(box.cond.waiters, 0);
	/* If it grew, each signal would be a system call at last. */
	assert_int_equal(box.cond.called, 0);
}

/* ------------------------------------------------------------------------ */
/* The one who is woken unmaps the page that all this lies on. */

struct page {
	struct wf_lock lock;
	struct wf_cond cond;
	bool told; /* by lock */
};

static struct {
	_Atomic(struct page *) page;
	_Atomic(size_t) round;
	size_t rounds;
} game;

static struct page *new_page(void)
{
	void *p = NULL;

	kit_expect(wf_os_vm_map(&p, wf_os_page_bytes()) == 0);
	return p;
}

/* A second at most, however busy the machine is: the round of SIZE_MAX ends. */
static bool begins(_Atomic(size_t) *round, size_t n)
{
	size_t seen;

	while ((seen = wf_load_acq(round)) < n)
		wf_os_thread_yield();
	return seen != SIZE_MAX;
}

static void wait_and_unmap(size_t n)
{
	struct page *p = new_page();

	wf_lock(&p->lock);
	wf_store_rlx(&game.page, p);
	wf_store_rel(&game.round, n);
	while (!p->told)
		wf_cond_wait(&p->cond, &p->lock);
	wf_unlock(&p->lock);
	wf_os_vm_unmap(p, wf_os_page_bytes());
}

static void tell(size_t n)
{
	struct page *p = wf_load_rlx(&game.page);

	wf_lock(&p->lock);
	p->told = true;
	if (n % 2)
		wf_cond_signal_unlock(&p->cond, &p->lock);
	else
		wf_cond_broadcast_unlock(&p->cond, &p->lock);
}

static void tell_or_unmap(void *arg, unsigned i)
{
	int64_t until = threads_until_ns(1000);

	(void)arg;
	if (i != 0) {
		for (size_t n = 1; begins(&game.round, n); n++)
			tell(n);
		return;
	}
	for (size_t n = 1; n <= game.rounds && threads_now_ns() < until; n++)
		wait_and_unmap(n);
	wf_store_rel(&game.round, SIZE_MAX);
}

static void a_woken_waiter_may_unmap_it(void **state)
{
	(void)state;
	kit_watch();
	/* Valgrind takes a wake where no memory is any more for an error. */
	game.rounds = wf_on_valgrind() ? 20 : kit_rounds(5000);
	threads_run(2, tell_or_unmap, NULL);
	kit_settle();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_signal_without_waiters_changes_nothing),
		cmocka_unit_test(each_waiter_is_called_once),
		cmocka_unit_test(a_broadcast_wakes_all),
		cmocka_unit_test(each_signal_wakes_one_more),
		cmocka_unit_test(no_signal_is_lost),
		cmocka_unit_test(a_woken_waiter_may_unmap_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
