/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_idle_test.c - an idle runtime costs nothing: no CPU time,
 * no wake-up, no system call, on none of its threads.
 *
 * The kernel counts for each thread how long it ran, and how often it was put
 * on a CPU and left one.  A thread that makes a system call runs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <inttypes.h>

#include "stress/sched_kit.h"
#include "support/skip.h"

enum { WORKERS = 4, THREADS_MAX = 64 };
enum { SETTLE_MS = 500, SETTLE_MAX_S = 20, IDLE_S = 3, IDLE_LONG_S = 10 };

/* The kernel's counts of some threads, added up. */
struct costs {
	size_t threads;
	uint64_t run_ns;
	uint64_t slices;
	uint64_t switches;
};

/* The threads that the process had before the runtime started. */
static int others[THREADS_MAX];
static size_t others_count;

static bool is_other(int tid)
{
	for (size_t i = 0; i < others_count; i++)
		if (others[i] == tid)
			return true;
	return false;
}

static void add_run_time(int tid, struct costs *c)
{
	uint64_t run, wait, slices;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &run, &wait,
		    &slices) == 3) {
		c->run_ns += run;
		c->slices += slices;
	}
	fclose(f);
}

static void add_switches(int tid, struct costs *c)
{
	static const char key[] = "voluntary_ctxt_switches:";
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, sizeof(key) - 1) == 0)
			c->switches +=
				strtoull(line + sizeof(key) - 1, NULL, 10);
	fclose(f);
}

/* Call fn for each thread of the process. */
static void each_thread(void (*fn)(int tid, struct costs *c), struct costs *c)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;

	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.')
			fn(atoi(d->d_name), c);
	closedir(dir);
}

static void note_other(int tid, struct costs *c)
{
	(void)c;
	assert_true(others_count < THREADS_MAX);
	others[others_count++] = tid;
}

static void note_others(void)
{
	kit_first_thread();
	others_count = 0;
	each_thread(note_other, NULL);
}

static void add_costs(int tid, struct costs *c)
{
	if (is_other(tid))
		return;
	c->threads++;
	add_run_time(tid, c);
	add_switches(tid, c);
}

static struct costs look(void)
{
	struct costs c = { 0 };

	each_thread(add_costs, &c);
	return c;
}

/* ------------------------------------------------------------------------ */
/* Busy, then idle. */

static weft_group done;

static void some_work(void *arg)
{
	int64_t until = threads_now_ns() + 200 * WF_NS_PER_US;

	(void)arg;
	while (threads_now_ns() < until)
		continue;
	weft_yield();
	weft_group_done(&done);
}

static void wait_for_ever(void *arg)
{
	kit_expect(weft_group_wait(arg, WEFT_FOREVER) == 0);
	weft_group_done(&done);
}

/* All workers have something to do for some time. */
static void be_busy(weft_rt *rt, weft_group *gate)
{
	size_t n = kit_rounds(1000);

	weft_group_add(&done, (int64_t)n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(weft_rt_go(rt, some_work, NULL), 0);
	assert_int_equal(weft_group_wait(&done, WEFT_FOREVER), 0);
	/* Waiting fibers must not keep a worker awake. */
	weft_group_add(gate, 1);
	weft_group_add(&done, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(weft_rt_go(rt, wait_for_ever, gate), 0);
}

/* Wait until no thread has run for a while. */
static bool settle(void)
{
	int64_t until = threads_now_ns() + SETTLE_MAX_S * WF_NS_PER_S;
	struct costs before = look(), after;

	while (threads_now_ns() < until) {
		kit_pause_us(SETTLE_MS * 1000);
		after = look();
		if (after.slices == before.slices &&
			after.switches == before.switches)
			return true;
		before = after;
	}
	return false;
}

static void be_idle(unsigned seconds)
{
	struct costs before = look(), after;

	kit_watch();
	kit_pause_us(seconds * (uint64_t)1000000);
	after = look();
	printf("%zu threads in %u s: %" PRIu64 " us, %" PRIu64
	       " slices, %" PRIu64 " voluntary switches\n",
		after.threads, seconds, (after.run_ns - before.run_ns) / 1000,
		after.slices - before.slices, after.switches - before.switches);
	assert_true(after.threads > 0);
	assert_int_equal(after.threads, before.threads);
	assert_int_equal(after.switches - before.switches, 0);
	assert_int_equal(after.slices - before.slices, 0);
	assert_true(after.run_ns - before.run_ns <
		seconds * (uint64_t)WF_NS_PER_MS);
}

static void an_idle_runtime_costs_nothing(void **state)
{
	weft_config cfg = { .workers = WORKERS };
	bool thorough = threads_rounds(100) > 100;
	weft_group gate = { 0 };
	weft_rt *rt;

	(void)state;
	if (WEFT_TEST_EMULATED)
		skip_because("an emulator has threads and calls of its own");
	note_others();
	rt = kit_start(&cfg);
	be_busy(rt, &gate);
	assert_true(settle());
	be_idle(thorough ? IDLE_LONG_S : IDLE_S);
	weft_group_done(&gate);
	assert_int_equal(weft_group_wait(&done, WEFT_FOREVER), 0);
	kit_stop(rt);
}

/* Nor does a runtime that has never run a task. */
static void a_new_runtime_costs_nothing(void **state)
{
	weft_config cfg = { .workers = WORKERS };
	weft_rt *rt;

	(void)state;
	if (WEFT_TEST_EMULATED)
		skip_because("an emulator has threads and calls of its own");
	note_others();
	rt = kit_start(&cfg);
	assert_true(settle());
	if (look().threads > 0)
		be_idle(1);
	kit_stop(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_runtime_costs_nothing),
		cmocka_unit_test(a_new_runtime_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
