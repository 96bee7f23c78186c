/* SPDX-License-Identifier: MIT */
/*
 * bench/floors.c - the floors: costs that nothing built on top can undercut.
 *
 * First the machine (atomics, cache lines, the kernel), then the lowest rooms
 * of weft (switch, local queue, stacks, strand), and waiting calls that need
 * not wait.  Everything else is judged in multiples of floor-cas of the same
 * run, because the machine's own speed differs from day to day.
 *
 * Reads next: bench/floors_wait.c
 */
#include "bench/floors.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft/task.h>

#include "arch/context.h"
#include "base/atomic.h"
#include "base/units.h"
#include "os/os.h"
#include "queue/runq.h"
#include "stack/cache.h"

/* The compiler must assume that the memory of p has changed. */
#define forget(p) __asm__ volatile("" : : "r"(p) : "memory")

static int floor_add(uint64_t *ops, int64_t *ns)
{
	_Atomic(uint64_t) word = 0;
	int64_t start = wf_os_now_ns();

	for (uint64_t i = 0; i < *ops; i++)
		wf_add_rlx(&word, 1);
	*ns = wf_os_now_ns() - start;
	return 0;
}

static int floor_cas(uint64_t *ops, int64_t *ns)
{
	_Atomic(uint64_t) word = 0;
	int64_t start = wf_os_now_ns();

	for (uint64_t i = 0; i < *ops; i++) {
		uint64_t seen = wf_load_rlx(&word);

		if (!wf_cas_rlx(&word, &seen, seen + 1))
			return -EAGAIN;
	}
	*ns = wf_os_now_ns() - start;
	return 0;
}

/*
 * Two flows of control that only switch to each other: the switch alone,
 * without the registers that a function around it saves for its caller.
 */
static struct wf_context here, there;

static wf_may_switch void switch_there(uint64_t times)
{
	for (uint64_t i = 0; i < times; i++)
		wf_context_switch(&here, &there);
}

static wf_may_switch void switch_back(void *arg)
{
	for (;;) {
		wf_context_switch(&there, &here);
		forget(arg);
	}
}

static int floor_switch(uint64_t *ops, int64_t *ns)
{
	size_t bytes = 64 * WF_KIB;
	void *stack;
	int64_t start;
	int err = wf_os_vm_map(&stack, bytes);

	if (err)
		return err;
	wf_context_start(&there, (char *)stack + bytes, switch_back, NULL);
	switch_there(1);
	start = wf_os_now_ns();
	switch_there(*ops / 2);
	*ns = wf_os_now_ns() - start;
	wf_os_vm_unmap(stack, bytes);
	return 0;
}

/*
 * Two threads that answer each other over one word, each on its own CPU.  On a
 * busy machine an answer can take a whole time slice, so the duel also ends
 * after DUEL_NS.
 */
#define DUEL_NS (200 * WF_NS_PER_MS)
#define DUEL_OVER UINT32_MAX

struct duel {
	_Atomic(uint32_t) word wf_aligned(WF_FALSE_SHARING);
	uint64_t rounds; /* at most; then how many were done */
	unsigned cpu[2];
	void (*wait)(_Atomic(uint32_t) *word, uint32_t until);
	void (*tell)(_Atomic(uint32_t) *word, uint32_t value);
	int64_t ns;
	int err[2];
};

/* Whether a wait ends: the expected value has come, or the duel is over. */
static bool is_answer(uint32_t seen, uint32_t until)
{
	return seen == until || seen == DUEL_OVER;
}

static void wait_spinning(_Atomic(uint32_t) *word, uint32_t until)
{
	while (!is_answer(wf_load_rlx(word), until))
		wf_cpu_relax();
}

static void tell_plainly(_Atomic(uint32_t) *word, uint32_t value)
{
	wf_store_rlx(word, value);
}

static void wait_asleep(_Atomic(uint32_t) *word, uint32_t until)
{
	uint32_t seen;

	while (!is_answer(seen = wf_load_rlx(word), until))
		(void)wf_os_futex_wait(word, seen, INT64_MAX);
}

static void tell_by_wake(_Atomic(uint32_t) *word, uint32_t value)
{
	wf_store_rlx(word, value);
	(void)wf_os_futex_wake(word, 1);
}

static void answer(void *arg)
{
	struct duel *d = arg;

	d->err[1] = wf_os_thread_pin(d->cpu[1]);
	for (uint32_t i = 0;; i++) {
		d->wait(&d->word, 2 * i + 1);
		if (wf_load_rlx(&d->word) == DUEL_OVER)
			return;
		d->tell(&d->word, 2 * i + 2);
	}
}

static void ask(void *arg)
{
	struct duel *d = arg;
	int64_t start;

	d->err[0] = wf_os_thread_pin(d->cpu[0]);
	start = wf_os_now_ns();
	for (uint32_t i = 0; i < d->rounds; i++) {
		d->tell(&d->word, 2 * i + 1);
		d->wait(&d->word, 2 * i + 2);
		if (i % 64 == 0 && wf_os_now_ns() - start > DUEL_NS)
			d->rounds = i + 1;
	}
	d->ns = wf_os_now_ns() - start;
	d->tell(&d->word, DUEL_OVER);
}

/* Uses threads of its own, so that the caller's affinity stays as it is. */
static int duel(struct duel *d, int64_t *ns)
{
	struct wf_os_thread thread[2];
	int err;

	if (d->cpu[1] >= wf_os_cpus_allowed())
		return -ENODEV;
	err = wf_os_thread_start(&thread[1], answer, d, 0, "answer");
	if (err)
		return err;
	err = wf_os_thread_start(&thread[0], ask, d, 0, "ask");
	if (err)
		d->tell(&d->word, DUEL_OVER);
	else
		wf_os_thread_join(&thread[0]);
	wf_os_thread_join(&thread[1]);
	*ns = d->ns;
	return err ? err : d->err[0] ? d->err[0] : d->err[1];
}

static int floor_line(uint64_t *ops, int64_t *ns)
{
	struct duel d = { .rounds = *ops,
		.cpu = { 0, 1 },
		.wait = wait_spinning,
		.tell = tell_plainly };
	int err = duel(&d, ns);

	*ops = d.rounds;
	return err;
}

/* A round has two wakes. */
static int wake(uint64_t *ops, unsigned other_cpu, int64_t *ns)
{
	struct duel d = { .rounds = *ops / 2,
		.cpu = { 0, other_cpu },
		.wait = wait_asleep,
		.tell = tell_by_wake };
	int err = duel(&d, ns);

	*ops = 2 * d.rounds;
	return err;
}

static int floor_wake_same(uint64_t *ops, int64_t *ns)
{
	return wake(ops, 0, ns);
}

static int floor_wake_other(uint64_t *ops, int64_t *ns)
{
	return wake(ops, 1, ns);
}

static int floor_fault(uint64_t *ops, int64_t *ns)
{
	size_t page = wf_os_page_bytes();
	void *memory;
	int64_t start;
	int err = wf_os_vm_map(&memory, *ops * page);

	if (err)
		return err;
	start = wf_os_now_ns();
	for (uint64_t i = 0; i < *ops; i++)
		*((volatile char *)memory + i * page) = 1;
	*ns = wf_os_now_ns() - start;
	wf_os_vm_unmap(memory, *ops * page);
	return 0;
}

static int floor_syscall(uint64_t *ops, int64_t *ns)
{
	int64_t start = wf_os_now_ns();

	for (uint64_t i = 0; i < *ops; i++)
		(void)syscall(SYS_getppid);
	*ns = wf_os_now_ns() - start;
	return 0;
}

#define QUEUE_CAP 256

/* Owner only, with some entries in the queue, as on a busy processor. */
static int floor_queue(uint64_t *ops, int64_t *ns)
{
	static _Atomic(wf_entry) slots[QUEUE_CAP];
	static weft_task task;
	struct wf_runq q;
	int64_t start;

	wf_runq_init(&q, slots, QUEUE_CAP);
	for (int i = 0; i < QUEUE_CAP / 4; i++)
		wf_runq_push(&q, wf_entry_of(&task));
	start = wf_os_now_ns();
	for (uint64_t i = 0; i < *ops; i++) {
		wf_runq_push(&q, wf_entry_of(&task));
		forget(wf_runq_pop(&q));
	}
	*ns = wf_os_now_ns() - start;
	return 0;
}

/* Several victims at a time, so that reading the clock does not count. */
#define VICTIMS 4

static int floor_steal(uint64_t *ops, int64_t *ns)
{
	static _Atomic(wf_entry) slots[VICTIMS + 1][QUEUE_CAP];
	static struct wf_runq q[VICTIMS + 1];
	static weft_task task;
	struct wf_runq *thief = &q[VICTIMS];
	size_t moved;

	*ns = 0;
	for (uint64_t done = 0; done < *ops;) {
		int64_t start;

		for (int v = 0; v < VICTIMS; v++) {
			wf_runq_init(&q[v], slots[v], QUEUE_CAP);
			while (wf_runq_push(&q[v], wf_entry_of(&task)))
				;
		}
		start = wf_os_now_ns();
		for (int v = 0; v < VICTIMS; v++) {
			wf_runq_init(thief, slots[VICTIMS], QUEUE_CAP);
			forget(wf_runq_steal(
				thief, &q[v], false, SIZE_MAX, &moved));
			done += moved;
		}
		*ns += wf_os_now_ns() - start;
	}
	return 0;
}

static int floor_stack(uint64_t *ops, int64_t *ns)
{
	static struct wf_stack_pool pool;
	static struct wf_stack_cache cache;
	struct wf_stack_config config = { 0 };
	int cls, err;
	int64_t start;

	wf_stack_pool_open(&pool, &config);
	cls = wf_stack_pool_class(&pool, 0);
	err = wf_stack_cache_open(&cache, &pool);
	if (err)
		goto close_pool;
	err = wf_stack_credit(&cache, (unsigned)cls);
	if (err)
		goto close_cache;
	wf_stack_give(&cache, wf_stack_take(&cache, (unsigned)cls));
	start = wf_os_now_ns();
	for (uint64_t i = 0; i < *ops; i++) {
		struct wf_stack *s = wf_stack_take(&cache, (unsigned)cls);

		forget(s);
		wf_stack_give(&cache, s);
	}
	*ns = wf_os_now_ns() - start;
	wf_stack_credit_back(&cache, (unsigned)cls);
close_cache:
	wf_stack_cache_close(&cache);
close_pool:
	wf_stack_pool_close(&pool);
	return err;
}

static void do_nothing(weft_task *t)
{
	forget(t);
}

/* One task at a time, on a strand that is otherwise idle. */
static int floor_strand(uint64_t *ops, int64_t *ns)
{
	weft_executor *manual, *strand;
	weft_task task = { .run = do_nothing };
	int64_t start;
	int err = weft_manual_create(&manual), end_err;

	if (err)
		return err;
	err = weft_strand_create(&strand, manual);
	if (err)
		goto destroy_manual;
	start = wf_os_now_ns();
	for (uint64_t i = 0; i < *ops && !err; i++) {
		err = weft_submit(strand, &task, WEFT_HINT_DEFAULT);
		if (weft_manual_run(manual, 1) != 1)
			err = -EILSEQ;
	}
	*ns = wf_os_now_ns() - start;
	end_err = weft_executor_destroy(strand);
	err = err ? err : end_err;
destroy_manual:
	end_err = weft_executor_destroy(manual);
	return err ? err : end_err;
}

#define MACHINE "machine"
#define WEFT "weft"

const struct bench bench_floors[] = {
	{ "floor-add", "atomic add, without contention", MACHINE, 1, 4000000,
		.run = floor_add },
	{ "floor-cas", "compare-and-swap, without contention", MACHINE, 1,
		4000000, .run = floor_cas },
	{ "floor-line", "cache line to the other core and back", MACHINE, 2,
		100000, .run = floor_line },
	{ "floor-wake-same", "wake a sleeper by futex, same core", MACHINE, 2,
		10000, .run = floor_wake_same },
	{ "floor-wake-other", "wake a sleeper by futex, other core", MACHINE,
		2, 2000, .run = floor_wake_other },
	{ "floor-fault", "first touch of a page", MACHINE, 1, 10000,
		.run = floor_fault },
	{ "floor-syscall", "the shortest system call", MACHINE, 1, 200000,
		.run = floor_syscall },
	{ "floor-switch", "switch to another stack", WEFT, 1, 4000000, 1.5,
		.run = floor_switch },
	{ "floor-queue", "local queue, push and pop", WEFT, 1, 4000000, 2,
		.run = floor_queue },
	{ "floor-steal", "steal of 128, each task", WEFT, 1, 4000000, 1,
		.run = floor_steal },
	{ "floor-stack", "stack from the cache and back", WEFT, 1, 4000000, 3,
		.run = floor_stack },
	{ "floor-strand", "strand, submit and run a task", WEFT, 1, 1000000, 8,
		.run = floor_strand },
	{ "floor-mutex", "lock and unlock, without contention", WEFT, 1,
		4000000, 2, .run = bench_floor_mutex },
	{ "floor-recv", "receive an element that is there", WEFT, 1, 500000,
		.run = bench_floor_recv },
	{ "floor-select", "select over 8, with one ready", WEFT, 1, 500000, 0,
		3, "floor-recv", .run = bench_floor_select },
	{ "floor-recv-wait", "wait to receive, send, yield", WEFT, 1, 200000,
		.run = bench_floor_recv_wait },
	{ "floor-select-wait", "wait in a select over 8, send, yield", WEFT, 1,
		200000, 16, 1, "floor-recv-wait",
		.run = bench_floor_select_wait },
	{ 0 },
};
