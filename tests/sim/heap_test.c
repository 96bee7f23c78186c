/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/heap_test.c - memory is new in every run, at the same addresses;
 * a run fails if it touches memory that is freed or was never allocated, frees
 * memory twice, or leaves memory behind.
 */
#include "sim/sim_kit.h"

#include "base/compiler.h"
#include "os/os.h"
#include "sim/heap.h"

static uint64_t *kept;

static void *take(size_t bytes)
{
	void *p = wf_os_alloc(bytes);

	weft_sim_assert(p != NULL, "no memory");
	return p;
}

/* The compiler must not know where it comes from. */
static char *hide(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* ------------------------------------------------------- use after free */

enum how { READ, WRITE, LOAD, STORE, EXCHANGE, HOWS };

static void touch(char *p, enum how how)
{
	_Atomic(uint32_t) *atom = (void *)p;
	uint32_t expected = 5;

	switch (how) {
	case READ:
		kit_use((uint64_t)*p);
		break;
	case WRITE:
		*p = 1;
		break;
	case LOAD:
		kit_use(atomic_load_explicit(atom, memory_order_relaxed));
		break;
	case STORE:
		atomic_store_explicit(atom, 1, memory_order_relaxed);
		break;
	default:
		(void)atomic_compare_exchange_strong(atom, &expected, 1);
	}
}

static void touch_freed(void *arg)
{
	char *p = take(64);
	enum how how = *(enum how *)arg;

	p[8] = 1;
	wf_os_free(p);
	touch(hide(p) + 8, how);
}

/* Nobody has touched these bytes before. */
static void touch_fresh_freed(void *arg)
{
	char *p = take(64);

	wf_os_free(p);
	touch(hide(p) + 32, *(enum how *)arg);
}

static void touching_freed_memory_fails(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		kit_fails(&o, touch_freed, &how, "use after free", &r);
		kit_says(r.message, "freed memory: block #1 + 8");
		kit_says(r.message, "thread 0 (main)");
		kit_says(r.message,
			how == READ || how == LOAD ? "reads" : "writes to");
		kit_fails(&o, touch_fresh_freed, &how, "use after free", &r);
	}
}

static char *shared;

static void use_shared(void *arg)
{
	(void)arg;
	kit_use((uint64_t)*shared);
}

static void free_shared(void *arg)
{
	(void)arg;
	wf_os_free(shared);
}

static void free_while_used(void *arg)
{
	(void)arg;
	shared = take(8);
	kit_pair(use_shared, free_shared);
}

static void free_after_use(void *arg)
{
	(void)arg;
	shared = take(8);
	kit_join(kit_thread(use_shared, NULL, "first"));
	kit_join(kit_thread(free_shared, NULL, "second"));
}

/* Whichever comes first, in the schedule that is tried. */
static void freeing_is_a_write(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(free_while_used, 0, "race", &r);
	kit_says(r.message, "a plain write of block #1");
	kit_holds(free_after_use, 0);
}

/* ------------------------------------------------- wrong and missing frees */

static void free_twice(void *arg)
{
	char *p = take(48);

	(void)arg;
	wf_os_free(p);
	wf_os_free(hide(p));
}

static void free_inside(void *arg)
{
	char *p = take(48);

	(void)arg;
	wf_os_free(hide(p + 16));
}

static void free_nothing(void *arg)
{
	(void)arg;
	wf_os_free(NULL);
}

static void wrong_frees_fail(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(free_twice, 0, "double free", &r);
	kit_says(r.message, "block #1 of 48 bytes is freed twice");
	kit_breaks(free_inside, 0, "bad free", &r);
	kit_holds(free_nothing, 0);
}

static void leak_second(void *arg)
{
	char *a = take(1), *b = take(100), *c = take(1);

	(void)arg;
	(void)hide(b);
	wf_os_free(a);
	wf_os_free(c);
}

static void leak_map(void *arg)
{
	void *p;

	(void)arg;
	weft_sim_assert(wf_os_vm_map(&p, 8192) == 0, "no map");
}

static void free_all(void *arg)
{
	char *a = take(1), *b = take(100);

	(void)arg;
	wf_os_free(b);
	wf_os_free(a);
}

static void memory_left_fails(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(leak_second, 0, "leak", &r);
	kit_says(r.message, "block #2, 100 bytes, was not freed");
	kit_breaks(leak_map, 0, "leak", &r);
	kit_says(r.message, "8192 bytes");
	kit_holds(leak_second, WEFT_SIM_LEAKS_OK);
	kit_holds(leak_map, WEFT_SIM_LEAKS_OK);
	kit_holds(free_all, 0);
}

/* --------------------------------------------------------- wild accesses */

struct beyond {
	size_t bytes, at;
	enum how how;
};

/* All of it is touched, then something else. */
static void touch_beyond(void *arg)
{
	const struct beyond *b = arg;
	char *p = take(b->bytes);

	for (size_t i = 0; i < b->bytes; i++)
		hide(p)[i] = 1;
	touch(hide(p) + b->at, b->how);
	wf_os_free(p);
}

static void touching_beyond_the_end_fails(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, WEFT_SIM_NO_SHRINK);
	weft_sim_report r;

	(void)state;
	for (size_t bytes = 8; bytes <= 64; bytes += 8)
		for (enum how how = 0; how < HOWS; how++) {
			struct beyond b = { bytes, bytes - 4, how };

			kit_passes(&o, touch_beyond, &b, &r);
			b.at = bytes;
			kit_fails(&o, touch_beyond, &b, "wild access", &r);
			kit_says(r.message, "memory that was never allocated");
		}
}

/* Blocks end at any byte, cells of the simulator only at each eighth. */
static void touching_one_byte_beyond_fails(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, WEFT_SIM_NO_SHRINK);
	weft_sim_report r;

	(void)state;
	for (size_t bytes = 1; bytes <= 24; bytes++) {
		struct beyond b = { bytes, bytes, WRITE };

		kit_fails(&o, touch_beyond, &b, "wild access", &r);
	}
}

static void touch_nowhere(void *arg)
{
	char *p = take(8);

	(void)arg;
	touch(hide(p) + 1000000, READ);
	wf_os_free(p);
}

static void touching_what_nobody_has_fails(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(touch_nowhere, 0, "wild access", &r);
}

/* -------------------------------------------------------- new each time */

/* Writes all over its memory, and may leave it behind. */
static void scribble(void *arg)
{
	char *p = take(300), *q = take(5);
	void *map;

	(void)arg;
	weft_sim_assert(wf_os_vm_map(&map, 8192) == 0, "no map");
	if (kit_count(&kept[0]) == 0) {
		kit_set(&kept[1], (uint64_t)(uintptr_t)p);
		kit_set(&kept[2], (uint64_t)(uintptr_t)q);
		kit_set(&kept[3], (uint64_t)(uintptr_t)map);
	}
	weft_sim_assert((uintptr_t)p == kit_get(&kept[1]) &&
			(uintptr_t)q == kit_get(&kept[2]) &&
			(uintptr_t)map == kit_get(&kept[3]),
		"not where it was");
	for (int i = 0; i < 300; i++) {
		weft_sim_assert(p[i] == 0, "byte %d is not zero", i);
		p[i] = 1;
	}
	for (int i = 0; i < 8192; i++) {
		weft_sim_assert(((char *)map)[i] == 0, "page byte %d", i);
		((char *)map)[i] = 1;
	}
	weft_sim_assert((uintptr_t)p % WF_FALSE_SHARING == 0 &&
			(uintptr_t)q % WF_FALSE_SHARING == 0 &&
			(uintptr_t)map % 4096 == 0,
		"not aligned");
	kit_use(weft_sim_either(5));
}

static void every_run_has_the_same_new_memory(void **state)
{
	(void)state;
	memset(kept, 0, 4096);
	kit_holds(scribble, WEFT_SIM_LEAKS_OK);
	assert_true(kept[0] >= 5);
}

/* A block that was freed is not given out again in the same run. */
static void free_and_take(void *arg)
{
	char *p = take(64);

	(void)arg;
	for (int i = 0; i < 100; i++) {
		char *q;

		wf_os_free(hide(p));
		q = take(64);
		weft_sim_assert(q > p, "memory comes back");
		p = q;
	}
	wf_os_free(p);
}

static void freed_memory_stays_freed(void **state)
{
	(void)state;
	kit_holds(free_and_take, 0);
}

/* A size that is too large is refused, and the old memory stays. */
static void take_too_much(void *arg)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2,
		(size_t)1 << 40, (size_t)129 << 20 };
	char *p = take(16);

	(void)arg;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		void *map = p;
		size_t pages = sizes[i] & ~(size_t)4095;

		weft_sim_assert(
			wf_os_alloc(sizes[i]) == NULL, "%zu bytes", sizes[i]);
		if (pages > (size_t)1 << 32)
			weft_sim_assert(wf_os_vm_map(&map, pages) == -ENOMEM,
				"a map of %zu bytes", pages);
	}
	*p = 1;
	wf_os_free(p);
	wf_os_free(take(16));
}

static void too_large_is_refused(void **state)
{
	(void)state;
	kit_holds(take_too_much, 0);
}

/* ---------------------------------------------------------- what is where */

static void look(void *arg)
{
	char *a = take(20), *b = take(20);
	int local;

	(void)arg;
	weft_sim_assert(wf_sim_heap_owns(a) && !wf_sim_heap_owns(&local) &&
			!wf_sim_heap_owns(&shared),
		"owns");
	weft_sim_assert(
		wf_sim_heap_size(a) == 20 && wf_sim_heap_size(a + 1) == 0,
		"size");
	weft_sim_assert(wf_sim_heap_find(a + 19) == wf_sim_heap_find(a) &&
			wf_sim_heap_find(a + 20) == NULL &&
			wf_sim_heap_find(b) != wf_sim_heap_find(a),
		"find");
	weft_sim_assert(wf_sim_heap_number(wf_sim_heap_find(a)) == 1 &&
			wf_sim_heap_number(wf_sim_heap_find(b)) == 2,
		"number");
	wf_os_free(a);
	weft_sim_assert(wf_sim_heap_find(a) != NULL &&
			wf_sim_heap_find(a)->freed &&
			wf_sim_heap_left() == wf_sim_heap_find(b),
		"freed");
	wf_os_free(b);
	weft_sim_assert(wf_sim_heap_left() == NULL, "left");
}

static void blocks_can_be_found(void **state)
{
	(void)state;
	kit_holds(look, 0);
}

static int setup(void **state)
{
	kept = kit_keep(4096);
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(touching_freed_memory_fails),
		cmocka_unit_test(freeing_is_a_write),
		cmocka_unit_test(wrong_frees_fail),
		cmocka_unit_test(memory_left_fails),
		cmocka_unit_test(touching_beyond_the_end_fails),
		cmocka_unit_test(touching_one_byte_beyond_fails),
		cmocka_unit_test(touching_what_nobody_has_fails),
		cmocka_unit_test(every_run_has_the_same_new_memory),
		cmocka_unit_test(freed_memory_stays_freed),
		cmocka_unit_test(too_large_is_refused),
		cmocka_unit_test(blocks_can_be_found),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
