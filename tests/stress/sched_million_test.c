/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_million_test.c - a million fibers wait at once: each costs
 * a page and its descriptor, all together few mappings, and all of them end.
 * Then their memory goes back to the system, while the runtime goes on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "stress/sched_kit.h"

enum { MILLION = 1000000, EACH_MAX = 4400, MAPPINGS_MAX = 1000 };

/* Bytes left of each fiber that has ended; 256 is a descriptor. */
enum { LEFT_MAX = 60, LEFT_S = 20 };

/* Memory of the machine for one fiber, with the kernel's page tables. */
enum { NEEDED = 6000 };

static weft_group gate, ended;
static _Atomic(size_t) waiting, released;

static size_t free_bytes(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	size_t kib = 0;

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1)
			break;
	fclose(f);
	return kib * WF_KIB;
}

static void wait_at_gate(void *arg)
{
	(void)arg;
	wf_add_rlx(&waiting, 1);
	kit_expect(weft_group_wait(&gate, WEFT_FOREVER) == 0);
	wf_add_rlx(&released, 1);
	weft_group_done(&ended);
}

static void start_all(void *arg)
{
	size_t n = *(size_t *)arg;

	for (size_t i = 0; i < n; i++) {
		kit_expect(weft_go(wait_at_gate, NULL) == 0);
		if (i % 1000 == 0)
			weft_yield();
	}
	weft_group_done(&ended);
}

/* All fibers wait, and the workers are parked. */
static void wait_until_all_wait(weft_rt *rt, size_t n)
{
	weft_metrics before, after;

	while (wf_load_rlx(&waiting) < n)
		kit_pause_us(10000);
	kit_metrics(rt, &after);
	do {
		before = after;
		kit_pause_us(50000);
		kit_metrics(rt, &after);
	} while (after.ticks != before.ticks);
	assert_true(after.fibers >= n && after.fibers <= n + 1);
}

static void check_memory(size_t before, size_t n)
{
	size_t resident = probe_resident_bytes() - before;
	size_t mappings = probe_mappings();

	printf("%zu fibers: %zu bytes each, %zu mappings\n", n, resident / n,
		mappings);
	assert_true(resident / n <= EACH_MAX);
	assert_true(mappings < MAPPINGS_MAX);
}

static void wait_for_memory(size_t before, size_t n)
{
	int64_t until = threads_now_ns() + LEFT_S * WF_NS_PER_S;
	size_t left;

	do {
		kit_pause_us(10000);
		left = probe_resident_bytes();
		left = left > before ? left - before : 0;
	} while (left / n > LEFT_MAX && threads_now_ns() < until);
	printf("%zu bytes each are left\n", left / n);
	assert_true(left / n <= LEFT_MAX);
}

static void a_million_fibers_wait_and_end(void **state)
{
	size_t n = wf_min_size(threads_rounds(MILLION), free_bytes() / NEEDED);
	size_t before = probe_resident_bytes();
	int64_t began = threads_now_ns();
	weft_rt *rt = kit_start(NULL);

	(void)state;
	weft_group_add(&gate, 1);
	weft_group_add(&ended, (int64_t)n + 1);
	assert_int_equal(weft_rt_go(rt, start_all, &n), 0);
	wait_until_all_wait(rt, n);
	printf("%.1f s until all wait\n",
		(double)(threads_now_ns() - began) / 1e9);
	check_memory(before, n);
	began = threads_now_ns();
	weft_group_done(&gate);
	assert_int_equal(weft_group_wait(&ended, WEFT_FOREVER), 0);
	printf("%.1f s until all have ended\n",
		(double)(threads_now_ns() - began) / 1e9);
	assert_int_equal(wf_load_rlx(&released), n);
	began = threads_now_ns();
	wait_for_memory(before, n);
	printf("%.1f s until it was given back\n",
		(double)(threads_now_ns() - began) / 1e9);
	kit_stop(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_fibers_wait_and_end),
	};

#ifdef WF_DEBUG
	printf("skipped: a debug build\n");
	return 77;
#endif
	if (!probe_plain()) {
		printf("skipped: not a million with a sanitizer, an emulator "
		       "or valgrind\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
