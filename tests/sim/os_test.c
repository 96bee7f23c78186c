/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/os_test.c - the simulated operating system keeps what os/os.h
 * promises, in every order it allows, and takes no time.
 */
#include "sim/sim_kit.h"

#include <time.h>

#include "base/atomic.h"
#include "base/units.h"
#include "os/os.h"
#include "sim/os.h"

#define HOUR_NS (3600 * WF_NS_PER_S)
#define PAGE 4096

static uint64_t *kept;
static _Atomic(uint32_t) word, other_word;

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ----------------------------------------------------------------- futex */

static void wait_forever(void *arg)
{
	int err = wf_os_futex_wait(&word, 0, INT64_MAX);

	kit_set(&kept[(uintptr_t)arg], (uint64_t)(err == 0));
}

/* Two sleep, one is woken; the other one then. */
static void wake_one_by_one(void *arg)
{
	int a = kit_thread(wait_forever, (void *)1, "a");
	int b = kit_thread(wait_forever, (void *)2, "b");

	(void)arg;
	kit_set(&kept[1], 0);
	kit_set(&kept[2], 0);
	weft_sim_quiesce();
	weft_sim_assert(wf_os_futex_wake(&other_word, 9) == 0, "others");
	weft_sim_assert(wf_os_futex_wake(&word, 1) == 1, "one");
	weft_sim_quiesce();
	kit_count(&kept[kit_get(&kept[1]) + 2 * kit_get(&kept[2]) + 10]);
	weft_sim_assert(wf_os_futex_wake(&word, 9) == 1, "the other");
	weft_sim_assert(wf_os_futex_wake(&word, 9) == 0, "nobody");
	kit_join(a);
	kit_join(b);
}

static void either_sleeper_is_woken_first(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, PAGE);
	o.stales = 1; /* neither preemptions nor surprises */
	kit_passes(&o, wake_one_by_one, NULL, &r);
	assert_int_equal(kept[10], 0);
	/* A wake is for the thread that fell asleep first. */
	assert_int_equal(kept[11], 2);
	assert_int_equal(kept[12], 2);
	assert_int_equal(kept[13], 0);
}

static void wake_two_of_three(void *arg)
{
	int t[3];

	(void)arg;
	for (uintptr_t i = 0; i < 3; i++) {
		kit_set(&kept[i], 0);
		t[i] = kit_thread(wait_forever, (void *)i, "t");
	}
	weft_sim_quiesce();
	weft_sim_assert(wf_os_futex_wake(&word, 0) == 0, "none");
	weft_sim_assert(wf_os_futex_wake(&word, 2) == 2, "two");
	weft_sim_quiesce();
	kit_count(&kept[10 + kit_get(&kept[0]) + 2 * kit_get(&kept[1]) +
		4 * kit_get(&kept[2])]);
	weft_sim_assert(wf_os_futex_wake(&word, 2) == 1, "the third");
	for (int i = 0; i < 3; i++)
		kit_join(t[i]);
}

static void any_two_of_three_are_woken(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, PAGE);
	o.stales = 1;
	kit_passes(&o, wake_two_of_three, NULL, &r);
	assert_true(kept[13] > 0 && kept[15] > 0 && kept[16] > 0);
	for (int i = 10; i < 18; i++)
		if (i != 13 && i != 15 && i != 16)
			assert_int_equal(kept[i], 0);
}

static void wait_for_another_value(void *arg)
{
	(void)arg;
	wf_store_rlx(&word, 4);
	weft_sim_assert(wf_os_futex_wait(&word, 5, INT64_MAX) == -EAGAIN,
		"sleeps on another value");
}

/* The word changes, then whoever sleeps is woken: no wake is lost. */
static void wait_while_zero(void *arg)
{
	(void)arg;
	while (wf_load_rlx(&word) == 0)
		kit_use((uint64_t)wf_os_futex_wait(&word, 0, INT64_MAX));
}

static void change_and_wake(void *arg)
{
	(void)arg;
	wf_store_rlx(&word, 1);
	kit_use((uint64_t)wf_os_futex_wake(&word, 1));
}

static void wait_and_wake(void *arg)
{
	(void)arg;
	kit_pair(wait_while_zero, change_and_wake);
}

static void comparing_and_sleeping_are_one(void **state)
{
	(void)state;
	kit_holds(wait_for_another_value, 0);
	kit_holds(wait_and_wake, 0);
}

static void wait_for_nobody(void *arg)
{
	(void)arg;
	weft_sim_assert(wf_os_futex_wait(&word, 0, INT64_MAX) == 0, "woken");
	kit_count(&kept[0]);
}

/* With surprises a sleep may end for no reason; without, never. */
static void sleeps_end_for_no_reason(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, WEFT_SIM_NO_SHRINK);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, PAGE);
	o.stales = 1;
	kit_fails(&o, wait_for_nobody, NULL, "deadlock", &r);
	assert_int_equal(kept[0], 0);
	o = kit_opts(WEFT_SIM_WALK, WEFT_SIM_NO_SHRINK);
	for (o.seed = 1; o.seed < 100 && kept[0] == 0; o.seed++)
		kit_fails(&o, wait_for_nobody, NULL, "deadlock", &r);
	assert_true(kept[0] > 0);
}

/* ------------------------------------------------------------------ time */

static void sleep_an_hour(void *arg)
{
	int64_t start = wf_os_now_ns(), end;
	int err;

	(void)arg;
	do {
		err = wf_os_futex_wait(&word, 0, start + HOUR_NS);
	} while (err == 0);
	end = wf_os_now_ns();
	weft_sim_assert(err == -ETIMEDOUT, "the sleep ends with %d", err);
	weft_sim_assert(end >= start + HOUR_NS, "early by %lld ns",
		(long long)(start + HOUR_NS - end));
	weft_sim_assert(end < start + HOUR_NS + WF_NS_PER_S, "late");
}

static void an_hour_takes_no_time(void **state)
{
	weft_sim_opts o = kit_opts(0, 0);
	weft_sim_report r;
	double start = seconds();

	(void)state;
	o.schedules = 2000;
	kit_passes(&o, sleep_an_hour, NULL, &r);
	assert_true(seconds() - start < 20);
}

static void wait_for_the_past(void *arg)
{
	int64_t now = wf_os_now_ns(), last = 0;

	(void)arg;
	weft_sim_assert(now > 0, "the clock begins at %lld", (long long)now);
	weft_sim_assert(wf_os_futex_wait(&word, 0, 0) == -ETIMEDOUT, "zero");
	weft_sim_assert(wf_os_futex_wait(&word, 0, now) == -ETIMEDOUT, "now");
	for (int i = 0; i < 100; i++) {
		now = wf_os_now_ns();
		weft_sim_assert(now > last, "the clock stands still");
		last = now;
	}
}

/* Three deadlines come in their order, whichever thread slept first. */
static void sleep_until(void *arg)
{
	int64_t deadline = (int64_t)(uintptr_t)arg * WF_NS_PER_MS + WF_NS_PER_S;

	while (wf_os_futex_wait(&word, 0, deadline) == 0)
		;
	weft_sim_assert(wf_os_now_ns() >= deadline, "early");
	weft_sim_assert(
		kit_get(&kept[0]) < (uintptr_t)arg, "after one that is later");
	kit_set(&kept[0], (uintptr_t)arg);
}

static void sleep_by_deadline(void *arg)
{
	int t[3];

	(void)arg;
	kit_set(&kept[0], 0);
	t[0] = kit_thread(sleep_until, (void *)2, "two");
	t[1] = kit_thread(sleep_until, (void *)3, "three");
	t[2] = kit_thread(sleep_until, (void *)1, "one");
	for (int i = 0; i < 3; i++)
		kit_join(t[i]);
}

static void deadlines_come_in_order(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, PAGE);
	kit_holds(wait_for_the_past, 0);
	o.stales = 1;
	kit_passes(&o, sleep_by_deadline, NULL, &r);
}

/* Threads can be slow: a deadline may come while another one still runs. */
static void sleep_a_second(void *arg)
{
	(void)arg;
	while (wf_os_futex_wait(&other_word, 0, WF_NS_PER_S) == 0)
		;
	kit_count(&kept[wf_load_rlx(&word) + 1]);
}

static void three_steps(void *arg)
{
	int t = kit_thread(sleep_a_second, NULL, "sleeper");

	(void)arg;
	for (uint32_t i = 1; i <= 3; i++)
		kit_use(wf_xchg_rel(&word, i));
	kit_join(t);
}

static void deadlines_may_come_early(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, WEFT_SIM_STRONG);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, PAGE);
	o.preemptions = 2;
	o.stales = 1;
	kit_passes(&o, three_steps, NULL, &r);
	assert_true(kept[4] > 0 && kept[1] + kept[2] + kept[3] == 0);
	o.surprises = 1;
	kit_passes(&o, three_steps, NULL, &r);
	assert_true(kept[2] > 0 && kept[3] > 0);
}

/* --------------------------------------------------------------- threads */

static void note_self(void *arg)
{
	void *before = wf_os_self();

	weft_sim_assert(before == NULL, "a new thread has a self");
	wf_os_self_set(arg);
	wf_os_thread_yield();
	weft_sim_assert(wf_os_self() == arg, "not mine");
}

static void start_threads(void *arg)
{
	struct wf_os_thread a, b;

	(void)arg;
	weft_sim_assert(wf_os_thread_start(&a, note_self, &a, 0, "a") == 0 &&
			wf_os_thread_start(&b, note_self, &b, 0, NULL) == 0,
		"no thread");
	wf_os_self_set(&word);
	wf_os_thread_join(&b);
	wf_os_thread_join(&a);
	weft_sim_assert(wf_os_self() == &word, "not mine");
}

static void join_twice(void *arg)
{
	struct wf_os_thread a;

	(void)arg;
	weft_sim_assert(
		wf_os_thread_start(&a, wait_for_the_past, NULL, 0, "a") == 0,
		"no thread");
	wf_os_thread_join(&a);
	wf_os_thread_join(&a);
}

static void processors(void *arg)
{
	(void)arg;
	weft_sim_assert(wf_os_cpus_allowed() >= 1 &&
			wf_os_cpus_default() >= 1 && wf_os_page_bytes() == PAGE,
		"a strange machine");
	weft_sim_assert(wf_os_thread_pin(0) == 0 &&
			wf_os_thread_pin(wf_os_cpus_allowed() - 1) == 0 &&
			wf_os_thread_pin(wf_os_cpus_allowed()) == -EINVAL,
		"pinned where nothing is");
}

static void threads_have_a_self_and_one_end(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_holds(start_threads, 0);
	kit_breaks(join_twice, 0, "bad join", &r);
	kit_holds(processors, 0);
}

/* ---------------------------------------------------------------- faults */

/* Which of the four was refused. */
static void ask_for_all(void *arg)
{
	struct wf_os_thread t;
	struct wf_os_span span;
	void *map = NULL, *p;
	unsigned refused = 0;
	int err;

	weft_sim_os_faults((unsigned)(uintptr_t)arg);
	p = wf_os_alloc(16);
	refused |= p == NULL ? 1 : 0;
	wf_os_free(p);
	err = wf_os_vm_map(&map, 2 * PAGE);
	weft_sim_assert(err == 0 || err == -ENOMEM, "map: %d", err);
	if (err == 0) {
		span = (struct wf_os_span){ map, PAGE };
		err = wf_os_vm_guard(&span, 1);
		weft_sim_assert(err == 0 || err == -ENOMEM, "guard: %d", err);
		refused |= err != 0 ? 4 : 0;
		wf_os_vm_unmap(map, 2 * PAGE);
	} else {
		refused |= 2;
	}
	err = wf_os_thread_start(&t, wait_for_the_past, NULL, 0, "t");
	weft_sim_assert(err == 0 || err == -EAGAIN, "thread: %d", err);
	if (err == 0)
		wf_os_thread_join(&t);
	else
		refused |= 8;
	kit_count(&kept[refused]);
}

static void every_call_is_refused_once(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, PAGE);
	o.surprises = 1;
	kit_passes(&o, ask_for_all, (void *)3, &r);
	for (int i = 0; i < 16; i++)
		assert_int_equal(kept[i] > 0, (i & (i - 1)) == 0);
}

/* About one of so many, by chance. */
static void allocate_often(void *arg)
{
	weft_sim_os_faults((unsigned)(uintptr_t)arg);
	for (int i = 0; i < 100; i++) {
		void *p = wf_os_alloc(16);

		kit_count(&kept[p == NULL]);
		wf_os_free(p);
	}
	weft_sim_os_faults(0);
	for (int i = 0; i < 10; i++) {
		void *p = wf_os_alloc(16);

		weft_sim_assert(p != NULL, "refused without faults");
		wf_os_free(p);
	}
}

static void about_one_of_so_many_is_refused(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 300;
	for (uintptr_t per = 0; per <= 10; per += 5) {
		memset(kept, 0, PAGE);
		kit_passes(&o, allocate_often, (void *)per, &r);
		if (per == 0)
			assert_int_equal(kept[1], 0);
		else
			assert_true(
				kept[1] * per > 25000 && kept[1] * per < 36000);
	}
}

/* Faults are for one run. */
static void faults_first(void *arg)
{
	(void)arg;
	if (kit_count(&kept[0]) == 0) {
		weft_sim_os_faults(1);
		return;
	}
	wf_os_free(wf_os_alloc(1));
	weft_sim_assert(wf_os_alloc(0) != NULL, "refused in the next run");
}

static void faults_end_with_the_run(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_URW, WEFT_SIM_LEAKS_OK);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, PAGE);
	o.schedules = 20;
	kit_passes(&o, faults_first, NULL, &r);
	assert_true(kept[0] > 20);
}

/* ---------------------------------------------------------------- memory */

static char *map(size_t pages)
{
	void *p = NULL;

	weft_sim_assert(wf_os_vm_map(&p, pages * PAGE) == 0, "no map");
	return p;
}

/* Pages go one by one, in any order, and several maps at once. */
static void unmap_parts(void *arg)
{
	char *p = map(5), *q = map(2), *r = map(3);

	(void)arg;
	for (int i = 0; i < 5; i++)
		p[i * PAGE + 9] = 1;
	wf_os_vm_unmap(p + 2 * PAGE, PAGE);
	p[PAGE] = p[3 * PAGE] = 2;
	wf_os_vm_unmap(p, PAGE);
	p[PAGE]++;
	wf_os_vm_unmap(p + 4 * PAGE, PAGE);
	wf_os_vm_unmap(p + 3 * PAGE, PAGE);
	wf_os_vm_unmap(p + PAGE, PAGE);
	if (r == q + 2 * PAGE) {
		wf_os_vm_unmap(q + PAGE, 2 * PAGE);
		r[PAGE] = q[0] = 1;
		wf_os_vm_unmap(q, PAGE);
		wf_os_vm_unmap(r + PAGE, 2 * PAGE);
		kit_count(&kept[0]);
	}
}

static void touch_unmapped(void *arg)
{
	char *p = map(3);

	p[PAGE + 8] = 1;
	wf_os_vm_unmap(p + PAGE, PAGE);
	p[(uintptr_t)arg * PAGE + 8] = 1;
	wf_os_vm_unmap(p, PAGE);
	wf_os_vm_unmap(p + 2 * PAGE, PAGE);
}

static void unmap_twice(void *arg)
{
	char *p = map(3);

	(void)arg;
	wf_os_vm_unmap(p + PAGE, PAGE);
	wf_os_vm_unmap(p, 3 * PAGE);
}

/* Nobody has mapped what comes behind the last. */
static void unmap_beyond(void *arg)
{
	char *p = map(2);

	(void)arg;
	wf_os_vm_unmap(p + PAGE, 2 * PAGE);
}

static void maps_go_page_by_page(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, PAGE);
	kit_holds(unmap_parts, 0);
	assert_true(kept[0] > 0);
	kit_passes(&o, touch_unmapped, (void *)0, &r);
	kit_fails(&o, touch_unmapped, (void *)1, "use after free", &r);
	kit_passes(&o, touch_unmapped, (void *)2, &r);
	kit_breaks(unmap_twice, 0, "bad free", &r);
	kit_says(r.message, "is not mapped");
	kit_breaks(unmap_beyond, 0, "bad free", &r);
}

static void touch_guard(void *arg)
{
	char *p = map(4);
	struct wf_os_span spans[] = { { p, PAGE }, { p + 2 * PAGE, PAGE } };
	uintptr_t page = (uintptr_t)arg;

	weft_sim_assert(wf_os_vm_guard(spans, 2) == 0, "no guard");
	p[page * PAGE] = 1;
	p[page * PAGE + PAGE - 1] = 1;
	wf_os_vm_unmap(p, 4 * PAGE);
}

static void touch_protected(void *arg)
{
	char *p = map(2);

	(void)arg;
	weft_sim_assert(wf_os_vm_protect(p, PAGE) == 0, "no guard");
	kit_use((uint64_t)p[PAGE]);
	kit_use((uint64_t)p[PAGE - 1]);
	wf_os_vm_unmap(p, 2 * PAGE);
}

/* The next run has its own. */
static void map_only(void *arg)
{
	char *p = map(4);

	(void)arg;
	for (int i = 0; i < 4; i++)
		p[i * PAGE] = 1;
	wf_os_vm_unmap(p, 4 * PAGE);
}

static void guards_fail(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	for (uintptr_t page = 0; page < 4; page++)
		if (page % 2 == 0)
			kit_fails(&o, touch_guard, (void *)page,
				"stack overflow", &r);
		else
			kit_passes(&o, touch_guard, (void *)page, &r);
	kit_breaks(touch_protected, 0, "stack overflow", &r);
	kit_holds(map_only, 0);
}

static void discard(void *arg)
{
	char *p = map(4);
	struct wf_os_span spans[] = { { p, PAGE }, { p + 2 * PAGE, PAGE } };

	(void)arg;
	for (int i = 0; i < 4; i++)
		p[i * PAGE + 100] = 7;
	weft_sim_assert(wf_os_vm_discard(spans, 2) == 0, "no discard");
	for (int i = 0; i < 4; i++)
		weft_sim_assert(p[i * PAGE + 100] == (i % 2 == 0 ? 0 : 7),
			"page %d has %d", i, p[i * PAGE + 100]);
	p[100] = 8;
	wf_os_vm_unmap(p, 4 * PAGE);
}

static char *page;

static void write_page(void *arg)
{
	(void)arg;
	page[8] = 1;
}

static void discard_page(void *arg)
{
	struct wf_os_span span = { page, PAGE };

	(void)arg;
	kit_use((uint64_t)wf_os_vm_discard(&span, 1));
}

static void discard_while_used(void *arg)
{
	(void)arg;
	page = map(1);
	kit_pair(write_page, discard_page);
	wf_os_vm_unmap(page, PAGE);
}

static void discarded_memory_is_zero(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_holds(discard, 0);
	kit_breaks(discard_while_used, 0, "race", &r);
}

/* ---------------------------------------------------------------- points */

static void nothing(void *arg)
{
	(void)arg;
}

static void seven_calls(void *arg)
{
	char *p = map(2);
	struct wf_os_span span = { p, PAGE };
	struct wf_os_thread t;

	(void)arg;
	weft_sim_assert(wf_os_vm_guard(&span, 1) == 0, "guard");
	weft_sim_assert(wf_os_vm_discard(&span, 1) == 0, "discard");
	wf_os_vm_unmap(p, 2 * PAGE);
	kit_use((uint64_t)wf_os_futex_wake(&word, 1));
	weft_sim_assert(
		wf_os_thread_start(&t, nothing, NULL, 0, "t") == 0, "thread");
	wf_os_thread_join(&t);
}

/* They are scheduling points; and so are two ends, and a wait for one. */
static void calls_are_points(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	o.stales = 1;
	kit_passes(&o, seven_calls, NULL, &r);
	assert_int_equal(r.schedules, 1);
	assert_int_equal(r.steps, 7 + 2 + 2);
}

static void relax_until_set(void *arg)
{
	(void)arg;
	while (kit_newest(&word) == 0)
		wf_sim_relax();
}

static void relax_and_set(void *arg)
{
	(void)arg;
	kit_pair(relax_until_set, change_and_wake);
}

/* A thread that tells the processor to wait lets another one run. */
static void relaxing_lets_others_run(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	o.stales = 1;
	o.steps = 300;
	kit_passes(&o, relax_and_set, NULL, &r);
}

/* ----------------------------------------------------------------- rest */

static void draw(void *arg)
{
	uint64_t v = wf_os_random();

	(void)arg;
	weft_sim_assert(v > 0 && v < 64, "%llu", (unsigned long long)v);
	kit_count(&kept[v]);
}

/* Random ways try many seeds, and each is part of the schedule. */
static void random_is_a_decision(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, WEFT_SIM_TWICE);
	weft_sim_report r;
	unsigned seen = 0;

	(void)state;
	memset(kept, 0, PAGE);
	o.schedules = 1000;
	kit_passes(&o, draw, NULL, &r);
	for (int i = 0; i < 64; i++)
		seen += kept[i] > 0;
	assert_true(seen >= 8);
	memset(kept, 0, PAGE);
	kit_holds(draw, 0);
	assert_true(kept[1] > 0);
}

static void complain(void *arg)
{
	(void)arg;
	wf_os_complain("a complaint\n", 12);
}

static void quiet_runs_do_not_complain(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	struct kit_stderr *s = malloc(sizeof(*s));
	int quiet, loud;

	(void)state;
	o.schedules = 2;
	kit_stderr_begin(s);
	quiet = weft_sim_explore(&o, complain, NULL, NULL);
	kit_stderr_end(s);
	assert_string_equal(s->text, "");
	o.flags = 0;
	kit_stderr_begin(s);
	loud = weft_sim_explore(&o, complain, NULL, NULL);
	kit_stderr_end(s);
	kit_says(s->text, "a complaint\n");
	assert_true(quiet == 0 && loud == 0);
	free(s);
}

/* Without a simulation there is no system behind these. */
static void outside_nothing_happens(void **state)
{
	(void)state;
	assert_null(wf_os_self());
	wf_os_self_set(&word);
	assert_null(wf_os_self());
	assert_int_equal(wf_os_futex_wait(&word, 0, INT64_MAX), -EAGAIN);
	assert_int_equal(wf_os_futex_wake(&word, 1), 0);
	assert_true(wf_os_now_ns() > 0);
	assert_true(wf_os_random() > 0);
}

static int setup(void **state)
{
	kept = kit_keep(PAGE);
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outside_nothing_happens),
		cmocka_unit_test(either_sleeper_is_woken_first),
		cmocka_unit_test(any_two_of_three_are_woken),
		cmocka_unit_test(comparing_and_sleeping_are_one),
		cmocka_unit_test(sleeps_end_for_no_reason),
		cmocka_unit_test(an_hour_takes_no_time),
		cmocka_unit_test(deadlines_come_in_order),
		cmocka_unit_test(deadlines_may_come_early),
		cmocka_unit_test(threads_have_a_self_and_one_end),
		cmocka_unit_test(every_call_is_refused_once),
		cmocka_unit_test(about_one_of_so_many_is_refused),
		cmocka_unit_test(faults_end_with_the_run),
		cmocka_unit_test(maps_go_page_by_page),
		cmocka_unit_test(guards_fail),
		cmocka_unit_test(discarded_memory_is_zero),
		cmocka_unit_test(calls_are_points),
		cmocka_unit_test(relaxing_lets_others_run),
		cmocka_unit_test(random_is_a_decision),
		cmocka_unit_test(quiet_runs_do_not_complain),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
