/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/shadow_test.c - two accesses of the same bytes race if nothing
 * orders them, and only then.
 *
 * Each body is tried in every schedule of two preemptions: an access that does
 * not race is reported in none of them.
 */
#include "sim/sim_kit.h"

#include "os/lock.h"
#include "os/os.h"

static struct {
	uint64_t word;
	uint8_t byte[16];
	uint32_t half[2];
	uint16_t quarter[4];
	_Atomic(uint32_t) flag;
	_Atomic(uint64_t) atom;
} d __attribute__((aligned(64)));

/* --------------------------------------------------------- plain accesses */

static void write_word(void *arg)
{
	(void)arg;
	d.word = 7;
}

static void read_word(void *arg)
{
	(void)arg;
	kit_use(d.word);
}

static void write_write(void *arg)
{
	(void)arg;
	kit_pair(write_word, write_word);
}

static void write_read(void *arg)
{
	(void)arg;
	kit_pair(write_word, read_word);
}

static void read_write(void *arg)
{
	(void)arg;
	kit_pair(read_word, write_word);
}

static void read_read(void *arg)
{
	(void)arg;
	kit_pair(read_word, read_word);
}

static void unordered_accesses_race(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(write_write, 0, "race", &r);
	kit_says(r.message, "a plain write of d");
	kit_says(r.message, "1 (first)");
	kit_says(r.message, "2 (second)");
	kit_breaks(write_read, 0, "race", &r);
	kit_says(r.message, "the write by thread 1 (first)");
	kit_breaks(read_write, 0, "race", &r);
	kit_says(r.message, "the read by thread 1 (first)");
	kit_holds(read_read, 0);
}

/* One after the other, by nothing that orders their accesses. */
static _Atomic(uint32_t) turn;

static void wait_turn(uint32_t n)
{
	while (kit_newest(&turn) != n)
		weft_sim_yield();
}

static void next_turn(void)
{
	kit_use(atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed));
}

static void read_in_turn(void *arg)
{
	wait_turn((uint32_t)(uintptr_t)arg);
	read_word(NULL);
	next_turn();
}

/* Not only the last of several readers is remembered. */
static void three_readers(void *arg)
{
	int a = kit_thread(read_in_turn, (void *)0, "a");
	int b = kit_thread(read_in_turn, (void *)1, "b");
	int c = kit_thread(read_in_turn, (void *)2, "c");

	(void)arg;
	kit_join(b);
	kit_join(c);
	d.word = 1;
	kit_join(a);
}

static void every_reader_counts(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(three_readers, 0, "race", &r);
	kit_says(r.message, "1 (a)");
}

/* Start and join order; so does the number of a thread that is used again. */
static void one_after_the_other(void *arg)
{
	(void)arg;
	d.word = 1;
	for (int i = 0; i < 40; i++)
		kit_join(kit_thread(write_word, NULL, "t"));
	d.word = 2;
}

static void start_and_join_order(void **state)
{
	(void)state;
	kit_holds(one_after_the_other, 0);
}

/* Joined threads come and go; the last two are not ordered. */
static void reused_numbers(void *arg)
{
	(void)arg;
	for (int i = 0; i < 30; i++)
		kit_join(kit_thread(write_word, NULL, "t"));
	kit_pair(write_word, write_word);
}

static void numbers_used_again_hide_no_race(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(reused_numbers, 0, "race", &r);
}

/* ---------------------------------------------------------------- orders */

static void publish(void *arg)
{
	(void)arg;
	d.word = 5;
	atomic_store_explicit(&d.flag, 1, memory_order_release);
}

static void consume(void *arg)
{
	(void)arg;
	if (atomic_load_explicit(&d.flag, memory_order_acquire) == 1)
		weft_sim_assert(d.word == 5, "the word is %llu",
			(unsigned long long)d.word);
}

static void consume_relaxed(void *arg)
{
	(void)arg;
	if (atomic_load_explicit(&d.flag, memory_order_relaxed) == 1)
		kit_use(d.word);
}

static void publish_relaxed(void *arg)
{
	(void)arg;
	d.word = 5;
	atomic_store_explicit(&d.flag, 1, memory_order_relaxed);
}

static void acquire_and_release(void *arg)
{
	(void)arg;
	kit_pair(publish, consume);
}

static void no_acquire(void *arg)
{
	(void)arg;
	kit_pair(publish, consume_relaxed);
}

static void no_release(void *arg)
{
	(void)arg;
	kit_pair(publish_relaxed, consume);
}

static void publish_by_fence(void *arg)
{
	(void)arg;
	d.word = 5;
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&d.flag, 1, memory_order_relaxed);
}

static void consume_by_fence(void *arg)
{
	(void)arg;
	if (atomic_load_explicit(&d.flag, memory_order_relaxed) != 1)
		return;
	atomic_thread_fence(memory_order_acquire);
	kit_use(d.word);
}

static void by_fences(void *arg)
{
	(void)arg;
	kit_pair(publish_by_fence, consume_by_fence);
}

static void acquire_and_release_order(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_holds(acquire_and_release, 0);
	kit_holds(by_fences, 0);
	kit_breaks(no_acquire, 0, "race", &r);
	kit_breaks(no_release, 0, "race", &r);
}

/* Sequentially consistent fences order accesses, but excuse no race. */
static void write_fence(void *arg)
{
	(void)arg;
	d.word = 5;
	atomic_thread_fence(memory_order_seq_cst);
}

static void fence_read(void *arg)
{
	(void)arg;
	atomic_thread_fence(memory_order_seq_cst);
	kit_use(d.word);
}

static void only_fences(void *arg)
{
	(void)arg;
	kit_pair(write_fence, fence_read);
}

static void seq_cst_fences_alone_order_nothing(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(only_fences, 0, "race", &r);
}

static struct wf_lock lock;

static void locked(void *arg)
{
	(void)arg;
	wf_lock(&lock);
	d.word++;
	wf_unlock(&lock);
}

static void under_a_lock(void *arg)
{
	(void)arg;
	kit_pair(locked, locked);
	weft_sim_assert(
		d.word == 2, "the word is %llu", (unsigned long long)d.word);
}

static void locks_order(void **state)
{
	(void)state;
	kit_holds(under_a_lock, 0);
}

/* ------------------------------------------------- neighbours and sizes */

static void write_even(void *arg)
{
	(void)arg;
	for (int i = 0; i < 16; i += 2)
		d.byte[i]++;
	d.half[0]++;
	d.quarter[0]++;
	d.quarter[2]++;
}

static void write_odd(void *arg)
{
	(void)arg;
	for (int i = 1; i < 16; i += 2)
		d.byte[i]++;
	d.half[1]++;
	d.quarter[1]++;
	d.quarter[3]++;
}

static void neighbours(void *arg)
{
	(void)arg;
	kit_pair(write_even, write_odd);
}

static void neighbours_do_not_race(void **state)
{
	(void)state;
	kit_holds(neighbours, 0);
}

/* One writes bytes from..from+n of two words, the other reads one of them. */
struct overlap {
	unsigned from, bytes, other;
};

static struct overlap overlap;

static void copy_over(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < overlap.bytes; i++)
		d.byte[overlap.from + i] = 1;
}

static void read_byte(void *arg)
{
	(void)arg;
	kit_use(d.byte[overlap.other]);
}

static void write_8(void *arg)
{
	uint64_t *p = (void *)&d.byte[overlap.from & 8];

	(void)arg;
	*p = 1;
}

static void write_4(void *arg)
{
	uint32_t *p = (void *)&d.byte[overlap.from];

	(void)arg;
	*p = 1;
}

static void write_2(void *arg)
{
	uint16_t *p = (void *)&d.byte[overlap.from];

	(void)arg;
	*p = 1;
}

static void overlapping(void *arg)
{
	void (*write[])(void *) = { copy_over, write_2, write_4, write_8 };

	overlap = *(struct overlap *)arg;
	kit_pair(overlap.bytes == 8	     ? write[3]
			: overlap.bytes == 4 ? write[2]
			: overlap.bytes == 2 ? write[1]
					     : write[0],
		read_byte);
}

/* Every byte of every size, from both sides of a word's end. */
static void sizes_are_compared_where_they_overlap(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, WEFT_SIM_NO_SHRINK);
	weft_sim_report r;

	(void)state;
	o.preemptions = 1;
	o.stales = 1;
	for (unsigned bytes = 1; bytes <= 8; bytes *= 2)
		for (unsigned from = 0; from < 16; from += bytes)
			for (unsigned other = 0; other < 16; other++) {
				struct overlap v = { from, bytes, other };

				if (other >= from && other < from + bytes)
					kit_fails(&o, overlapping, &v, "race",
						&r);
				else
					kit_passes(&o, overlapping, &v, &r);
			}
}

struct packed {
	uint8_t before;
	uint64_t word;
	uint8_t after;
} __attribute__((packed));

static struct packed *packed;
static unsigned which;

static void write_unaligned(void *arg)
{
	(void)arg;
	packed->word = 1;
}

static void write_around(void *arg)
{
	(void)arg;
	if (which == 0)
		packed->before = 1;
	else if (which == 1)
		packed->after = 1;
	else
		((uint8_t *)packed)[which - 1] = 1;
}

static void unaligned(void *arg)
{
	which = *(unsigned *)arg;
	packed = (void *)&d.byte[4];
	kit_pair(write_unaligned, write_around);
}

static void unaligned_accesses_have_exact_bytes(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, WEFT_SIM_NO_SHRINK);
	weft_sim_report r;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		if (i < 2)
			kit_passes(&o, unaligned, &i, &r);
		else
			kit_fails(&o, unaligned, &i, "race", &r);
}

/* ------------------------------------------------------ plain and atomic */

static void store_atom(void *arg)
{
	(void)arg;
	atomic_store_explicit(&d.atom, 3, memory_order_relaxed);
}

static void load_atom(void *arg)
{
	(void)arg;
	kit_use(atomic_load_explicit(&d.atom, memory_order_relaxed));
}

static void plainly_write(void *arg)
{
	(void)arg;
	*(uint64_t *)&d.atom = 4;
}

static void plainly_read(void *arg)
{
	(void)arg;
	kit_use(*(uint64_t *)&d.atom);
}

struct mix {
	void (*a)(void *), (*b)(void *);
	bool races;
};

static const struct mix mixes[] = {
	{ store_atom, plainly_write, true },
	{ store_atom, plainly_read, true },
	{ load_atom, plainly_write, true },
	{ load_atom, plainly_read, false },
	{ plainly_write, store_atom, true },
	{ plainly_read, store_atom, true },
	{ plainly_write, load_atom, true },
	{ plainly_read, load_atom, false },
	{ store_atom, store_atom, false },
	{ store_atom, load_atom, false },
};

static const struct mix *mix;

static void mix_first(void *arg)
{
	mix->a(arg);
	next_turn();
}

static void mix_second(void *arg)
{
	wait_turn(1);
	mix->b(arg);
}

/* The second comes second: its access finds the race. */
static void mixed(void *arg)
{
	mix = arg;
	kit_pair(mix_first, mix_second);
}

static void plain_and_atomic_accesses_race(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
		if (mixes[i].races)
			kit_fails(&o, mixed, (void *)&mixes[i], "race", &r);
		else
			kit_passes(&o, mixed, (void *)&mixes[i], &r);
}

/* Plain in the beginning, atomic while shared, plain at the end. */
static void plain_then_atomic(void *arg)
{
	(void)arg;
	*(uint64_t *)&d.atom = 1;
	kit_pair(store_atom, load_atom);
	*(uint64_t *)&d.atom += 1;
	weft_sim_assert(atomic_load(&d.atom) == 4, "a plain write is lost");
}

static void ordered_mixes_do_not_race(void **state)
{
	(void)state;
	kit_holds(plain_then_atomic, 0);
}

/* The reader of a new atomic object may not see it before it was made. */
static _Atomic(_Atomic(uint32_t) *) made;

static void make(void *arg)
{
	_Atomic(uint32_t) *p = (void *)&d.half[0];

	(void)arg;
	*(uint32_t *)p = 17;
	atomic_store_explicit(&made, p, memory_order_release);
}

static void use(void *arg)
{
	_Atomic(uint32_t) *p =
		atomic_load_explicit(&made, memory_order_acquire);

	(void)arg;
	if (p != NULL)
		weft_sim_assert(
			atomic_load_explicit(p, memory_order_relaxed) == 17,
			"older than the object");
}

static void make_and_use(void *arg)
{
	(void)arg;
	kit_pair(make, use);
}

static void plain_writes_are_stores(void **state)
{
	(void)state;
	kit_holds(make_and_use, 0);
}

/* Each run begins with nothing known. */
static void touch_once(void *arg)
{
	(void)arg;
	if (weft_sim_either(2) == 0)
		kit_join(kit_thread(write_word, NULL, "t"));
	else
		d.word = 1;
}

static void runs_know_nothing_of_each_other(void **state)
{
	(void)state;
	kit_holds(touch_once, 0);
}

/* ------------------------------------------------------------------------ */
/* Memory that is discarded. */

enum { PAGE = 4096 };

struct page {
	_Atomic(uint64_t) word;
	uint64_t plain;
};

static struct page *page;

static void discard_page(void *arg)
{
	struct wf_os_span span = { page, PAGE };

	(void)arg;
	weft_sim_assert(wf_os_vm_discard(&span, 1) == 0, "no discard");
}

static void see_word(void *arg)
{
	uint64_t seen = wf_load_rlx(&page->word);

	(void)arg;
	weft_sim_assert(seen == 0 || seen == 5, "it has %u", (unsigned)seen);
}

static void see_plain(void *arg)
{
	(void)arg;
	kit_use(page->plain);
}

static void discard_while(void (*seen)(void *))
{
	void *p;

	weft_sim_assert(wf_os_vm_map(&p, PAGE) == 0, "no memory");
	page = p;
	wf_store_rlx(&page->word, 5);
	page->plain = 5;
	kit_pair(seen, discard_page);
	weft_sim_assert(wf_load_rlx(&page->word) == 0, "it is still there");
	wf_os_vm_unmap(p, PAGE);
}

static void discard_atomic(void *arg)
{
	(void)arg;
	discard_while(see_word);
}

static void discard_plain(void *arg)
{
	(void)arg;
	discard_while(see_plain);
}

/* For atomics it is a store, for all else a write. */
static void a_discard_is_a_store_to_atomics(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_holds(discard_atomic, 0);
	kit_breaks(discard_plain, 0, "race", &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unordered_accesses_race),
		cmocka_unit_test(every_reader_counts),
		cmocka_unit_test(start_and_join_order),
		cmocka_unit_test(numbers_used_again_hide_no_race),
		cmocka_unit_test(acquire_and_release_order),
		cmocka_unit_test(seq_cst_fences_alone_order_nothing),
		cmocka_unit_test(locks_order),
		cmocka_unit_test(neighbours_do_not_race),
		cmocka_unit_test(sizes_are_compared_where_they_overlap),
		cmocka_unit_test(unaligned_accesses_have_exact_bytes),
		cmocka_unit_test(plain_and_atomic_accesses_race),
		cmocka_unit_test(ordered_mixes_do_not_race),
		cmocka_unit_test(plain_writes_are_stores),
		cmocka_unit_test(runs_know_nothing_of_each_other),
		cmocka_unit_test(a_discard_is_a_store_to_atomics),
	};

	return cmocka_run_group_tests(tests, kit_setup, NULL);
}
