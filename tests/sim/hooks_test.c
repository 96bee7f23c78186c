/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/hooks_test.c - every call that a compiler makes of an atomic
 * operation computes what C says, in a simulation and outside of one, and every
 * call it makes of a plain access is judged by exactly its bytes.
 *
 * tests/sim/hooks.sh finds out which calls compilers make.
 */
#include "sim/sim_kit.h"

#include <weft/weft.h>

/* How many results were wrong, and the line of the last one. */
static unsigned wrong, wrong_line;

static void expect(bool ok, unsigned line)
{
	if (ok)
		return;
	wrong++;
	wrong_line = line;
}

#define EXPECT(cond) expect(cond, __LINE__)

static const memory_order load_orders[] = { memory_order_relaxed,
	memory_order_acquire, memory_order_seq_cst };
static const memory_order store_orders[] = { memory_order_relaxed,
	memory_order_release, memory_order_seq_cst };
static const memory_order orders[] = { memory_order_relaxed,
	memory_order_acquire, memory_order_release, memory_order_acq_rel,
	memory_order_seq_cst };

/* All operations on one type: with values that overflow and change sign. */
#define OPERATIONS(type, name)                                                 \
	static void rmw_##name(_Atomic(type) *p, type a, type b)               \
	{                                                                      \
		for (int i = 0; i < 5; i++) {                                  \
			memory_order mo = orders[i];                           \
                                                                               \
			atomic_store(p, a);                                    \
			EXPECT(atomic_exchange_explicit(p, b, mo) == a);       \
			EXPECT(atomic_fetch_add_explicit(p, a, mo) == b);      \
			EXPECT(atomic_load(p) == (type)(a + b));               \
			EXPECT(atomic_fetch_sub_explicit(p, b, mo) ==          \
				(type)(a + b));                                \
			EXPECT(atomic_fetch_and_explicit(p, b, mo) == a);      \
			EXPECT(atomic_fetch_or_explicit(p, a, mo) ==           \
				(type)(a & b));                                \
			EXPECT(atomic_load(p) == (type)((a & b) | a));         \
			EXPECT(atomic_fetch_xor_explicit(p, b, mo) == a);      \
			EXPECT(atomic_load(p) == (type)(a ^ b));               \
			EXPECT((type)__atomic_fetch_nand((type *)p, b,         \
				       __ATOMIC_RELAXED) == (type)(a ^ b));    \
			EXPECT(atomic_load(p) == (type) ~((a ^ b) & b));       \
			*p += a;                                               \
			EXPECT(*p == (type)(~((a ^ b) & b) + a));              \
		}                                                              \
	}                                                                      \
	static void cas_##name(_Atomic(type) *p, type a, type b)               \
	{                                                                      \
		type seen = a;                                                 \
                                                                               \
		atomic_store(p, a);                                            \
		EXPECT(atomic_compare_exchange_strong(p, &seen, b));           \
		EXPECT(seen == a && atomic_load(p) == b);                      \
		EXPECT(a == b ||                                               \
			!atomic_compare_exchange_strong_explicit(p, &seen, a,  \
				memory_order_acq_rel, memory_order_acquire));  \
		EXPECT(seen == b && atomic_load(p) == b);                      \
		while (!atomic_compare_exchange_weak(p, &seen, a))             \
			EXPECT(seen == b);                                     \
		EXPECT(atomic_load(p) == a);                                   \
		seen = b;                                                      \
		EXPECT(a == b ||                                               \
			!atomic_compare_exchange_weak_explicit(p, &seen, b,    \
				memory_order_release, memory_order_relaxed));  \
		EXPECT(seen == a && atomic_load(p) == a);                      \
	}                                                                      \
	static void operations_##name(void)                                    \
	{                                                                      \
		static _Atomic(type) neighbours[3];                            \
		type values[] = { 0, 1, (type)-1, (type)0x5a,                  \
			(type)((type)1 << (sizeof(type) * 8 - 2)) };           \
                                                                               \
		for (int i = 0; i < 3; i++) {                                  \
			_Atomic(type) *p = &neighbours[1];                     \
                                                                               \
			atomic_store_explicit(p, values[2], store_orders[i]);  \
			EXPECT(atomic_load_explicit(p, load_orders[i]) ==      \
				values[2]);                                    \
		}                                                              \
		for (int i = 0; i < 25; i++) {                                 \
			rmw_##name(                                            \
				&neighbours[1], values[i / 5], values[i % 5]); \
			cas_##name(                                            \
				&neighbours[1], values[i / 5], values[i % 5]); \
		}                                                              \
		EXPECT(atomic_load(&neighbours[0]) == 0 &&                     \
			atomic_load(&neighbours[2]) == 0);                     \
	}

OPERATIONS(uint8_t, u8)
OPERATIONS(int8_t, i8)
OPERATIONS(uint16_t, u16)
OPERATIONS(int16_t, i16)
OPERATIONS(uint32_t, u32)
OPERATIONS(int32_t, i32)
OPERATIONS(uint64_t, u64)
OPERATIONS(int64_t, i64)

static void other_operations(void)
{
	static _Atomic(bool) flag;
	static _Atomic(char *) pointer;
	static atomic_flag f = ATOMIC_FLAG_INIT;
	static char text[8];
	bool no = false;

	EXPECT(!atomic_exchange(&flag, true) && atomic_load(&flag));
	EXPECT(!atomic_compare_exchange_strong(&flag, &no, false) && no);
	atomic_store(&flag, false);
	atomic_store(&pointer, text);
	EXPECT(atomic_fetch_add(&pointer, 3) == text);
	EXPECT(atomic_fetch_sub(&pointer, 1) == text + 3);
	EXPECT(atomic_load(&pointer) == text + 2);
	EXPECT(!atomic_flag_test_and_set(&f) && atomic_flag_test_and_set(&f));
	atomic_flag_clear(&f);
	EXPECT(!atomic_flag_test_and_set(&f));
	atomic_flag_clear(&f);
	for (int i = 0; i < 5; i++) {
		atomic_thread_fence(orders[i]);
		atomic_signal_fence(orders[i]);
	}
}

static void all_operations(void *arg)
{
	(void)arg;
	operations_u8();
	operations_i8();
	operations_u16();
	operations_i16();
	operations_u32();
	operations_i32();
	operations_u64();
	operations_i64();
	other_operations();
	weft_sim_assert(wrong == 0, "%u results are wrong, the last in line %u",
		wrong, wrong_line);
}

static void operations_compute_what_c_says(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	all_operations(NULL);
	o.schedules = 10;
	kit_passes(&o, all_operations, NULL, &r);
	/* Each of them is a point. */
	assert_true(r.steps > 10 * 8 * 25 * 5 * 10);
}

/* ---------------------------------------------------------- plain accesses */

#define ACCESSES(X)                    \
	X(read, 0)                     \
	X(write, 1)                    \
	X(unaligned_read, 0)           \
	X(unaligned_write, 1)          \
	X(volatile_read, 0)            \
	X(volatile_write, 1)           \
	X(unaligned_volatile_read, 0)  \
	X(unaligned_volatile_write, 1) \
	X(read_write, 1)               \
	X(unaligned_read_write, 1)

#define DECLARE(name, write)            \
	void __tsan_##name##1(void *p); \
	void __tsan_##name##2(void *p); \
	void __tsan_##name##4(void *p); \
	void __tsan_##name##8(void *p); \
	void __tsan_##name##16(void *p);

ACCESSES(DECLARE)
/* Compilers have types of their own for these names. */
void read_range(void *p, size_t bytes) __asm__("__tsan_read_range");
void write_range(void *p, size_t bytes) __asm__("__tsan_write_range");
void vptr_update(void **p, void *v) __asm__("__tsan_vptr_update");
void vptr_read(void **p) __asm__("__tsan_vptr_read");
void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memmove(void *to, const void *from, size_t bytes);
void *__tsan_memset(void *to, int byte, size_t bytes);

static char area[64] __attribute__((aligned(16)));
static char elsewhere[64];

static void read_21(void *p)
{
	read_range(p, 21);
}

static void write_21(void *p)
{
	write_range(p, 21);
}

static void update_vptr(void *p)
{
	vptr_update(p, NULL);
}

static void read_vptr(void *p)
{
	vptr_read(p);
}

static void copy_from(void *p)
{
	weft_sim_assert(__tsan_memcpy(elsewhere, p, 13) == elsewhere, "result");
}

static void copy_to(void *p)
{
	weft_sim_assert(__tsan_memcpy(p, elsewhere, 13) == p, "result");
}

static void move_from(void *p)
{
	weft_sim_assert(
		__tsan_memmove(elsewhere, p, 13) == elsewhere, "result");
}

static void move_to(void *p)
{
	weft_sim_assert(__tsan_memmove(p, elsewhere, 13) == p, "result");
}

static void set(void *p)
{
	weft_sim_assert(__tsan_memset(p, 3, 13) == p, "result");
}

struct hook {
	const char *name;
	void (*call)(void *p);
	unsigned bytes;
	bool write;
};

#define ENTRIES(name, write)                               \
	{ #name "1", __tsan_##name##1, 1, write },         \
		{ #name "2", __tsan_##name##2, 2, write }, \
		{ #name "4", __tsan_##name##4, 4, write }, \
		{ #name "8", __tsan_##name##8, 8, write }, \
		{ #name "16", __tsan_##name##16, 16, write },

static const struct hook hooks[] = {
	ACCESSES(ENTRIES){ "read_range", read_21, 21, false },
	{ "write_range", write_21, 21, true },
	{ "vptr_update", update_vptr, sizeof(void *), true },
	{ "vptr_read", read_vptr, sizeof(void *), false },
	{ "memcpy from", copy_from, 13, false },
	{ "memcpy to", copy_to, 13, true },
	{ "memmove from", move_from, 13, false },
	{ "memmove to", move_to, 13, true },
	{ "memset", set, 13, true },
};

/* The hook is called for from; the other thread touches one byte. */
struct trial {
	const struct hook *hook;
	unsigned from, byte;
	bool write;
};

static struct trial trial;

static void call_hook(void *arg)
{
	(void)arg;
	trial.hook->call(area + trial.from);
}

static void touch_byte(void *arg)
{
	(void)arg;
	if (trial.write)
		area[trial.byte] = 1;
	else
		kit_use((uint64_t)area[trial.byte]);
}

static void hook_and_byte(void *arg)
{
	trial = *(struct trial *)arg;
	kit_pair(call_hook, touch_byte);
}

static void try_hook(const struct trial *t)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, WEFT_SIM_NO_SHRINK);
	bool within = t->byte >= t->from && t->byte < t->from + t->hook->bytes;
	bool races = within && (t->write || t->hook->write);
	weft_sim_report r;

	o.schedules = 1;
	if (weft_sim_explore(&o, hook_and_byte, (void *)t, &r) != races ||
		(races && strcmp(r.oracle, "race") != 0))
		fail_msg("%s at %u, byte %u is %s: %s", t->hook->name, t->from,
			t->byte, t->write ? "written" : "read", r.message);
}

static void accesses_are_judged_by_their_bytes(void **state)
{
	static const unsigned froms[] = { 8, 13, 16 };

	(void)state;
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		for (unsigned k = 0; k < 3; k++)
			for (unsigned byte = 0; byte < 40; byte++) {
				struct trial t = { &hooks[i], froms[k], byte,
					true };

				try_hook(&t);
				t.write = false;
				try_hook(&t);
			}
}

static void copies_copy(void **state)
{
	char a[16] = "abcdefghijklmno", b[16];

	(void)state;
	assert_ptr_equal(__tsan_memcpy(b, a, 16), b);
	assert_string_equal(b, a);
	assert_ptr_equal(__tsan_memmove(b + 1, b, 10), b + 1);
	assert_string_equal(b, "aabcdefghijlmno");
	assert_ptr_equal(__tsan_memset(b, 'x', 15), b);
	assert_string_equal(b, "xxxxxxxxxxxxxxx");
	for (size_t i = 0; i < 10; i++)
		hooks[i].call(a);
}

/* --------------------------------------------------------- stack overflow */

/* Some 250 bytes of stack for each, whatever the compiler thinks of it. */
static __attribute__((noinline)) unsigned dive(unsigned depth)
{
	char frame[200];
	unsigned deepest = depth;

	__asm__ volatile("" : : "r"(frame) : "memory");
	frame[depth % sizeof(frame)] = 1;
	if (depth > 0)
		deepest = dive(depth - 1);
	__asm__ volatile("" : : "r"(frame) : "memory");
	return deepest + frame[depth % sizeof(frame)];
}

static int in_a_fiber(void *arg)
{
	unsigned depth = (unsigned)(uintptr_t)arg;

	return dive(depth) != depth + 1;
}

static void fiber_with_small_stack(void *arg)
{
	weft_config c = { .workers = 2, .stack_bytes = 8192 };
	int err = weft_run(&c, in_a_fiber, arg);

	weft_sim_assert(err == 0, "weft_run: %d", err);
}

static void fibers_do_not_overflow_unseen(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, WEFT_SIM_NO_SHRINK);
	weft_sim_report r;

	(void)state;
	o.schedules = 5;
	kit_passes(&o, fiber_with_small_stack, (void *)10, &r);
	kit_fails(
		&o, fiber_with_small_stack, (void *)500, "stack overflow", &r);
	kit_says(r.message, "fiber");
}

static void dive_in_thread(void *arg)
{
	kit_use(dive((unsigned)(uintptr_t)arg));
}

static void thread_overflows(void *arg)
{
	int a = kit_thread(dive_in_thread, arg, "first");
	int b = kit_thread(dive_in_thread, arg, "second");

	kit_join(a);
	kit_join(b);
}

/* 256 KiB are enough for much, and what is more is told. */
static void threads_do_not_overflow_unseen(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, WEFT_SIM_NO_SHRINK);
	weft_sim_report r;

	(void)state;
	o.schedules = 5;
	kit_passes(&o, thread_overflows, (void *)400, &r);
	kit_fails(&o, thread_overflows, (void *)1500, "stack overflow", &r);
	kit_fails(&o, dive_in_thread, (void *)1500, "stack overflow", &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_compute_what_c_says),
		cmocka_unit_test(accesses_are_judged_by_their_bytes),
		cmocka_unit_test(copies_copy),
		cmocka_unit_test(fibers_do_not_overflow_unseen),
		cmocka_unit_test(threads_do_not_overflow_unseen),
	};

	return cmocka_run_group_tests(tests, kit_setup, NULL);
}
