/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/fiber_kit.c - a runtime that is assembled, and not started.
 */
#include "sim/fiber_kit.h"

#include <errno.h>

#include "base/units.h"
#include "idle/wake.h"
#include "os/os.h"
#include "rt/assemble.h"
#include "sched/idle.h"
#include "sched/run.h"
#include "sim/conserve_kit.h"
#include "support/agenda.h"

#define DUO_STACK_BYTES (16 * WF_KIB)
#define DUO_LOOPS 4 /* credits that processors have */

/* Every run begins with zeroes. */
static struct duo the_duo;
struct duo *const duo = &the_duo;

/* Which worker this simulated thread is, from 1; 0: none. */
static _Thread_local unsigned whoami;

static wf_noinline unsigned duo_who(void)
{
	return *(volatile unsigned *)&whoami;
}

void *duo_alloc(size_t bytes)
{
	void *p = wf_os_alloc(bytes);

	weft_sim_assert(p != NULL, "there is no memory for the scenario");
	return p;
}

int duo_thread(void (*fn)(void *), void *arg, const char *name)
{
	int id = weft_sim_thread(fn, arg, name);

	weft_sim_assert(id >= 0, "there is no thread for the scenario");
	return id;
}

void duo_pause(void)
{
	weft_yield();
	weft_sim_yield();
}

void duo_await(_Atomic(uint32_t) *word, uint32_t value)
{
	/* [pair: duo.await] What the other did before its store is seen. */
	while (wf_load_acq(word) < value)
		duo_pause();
}

/* ------------------------------------------------------------------------ */
/* Opening. */

static uint32_t group_size(unsigned flags)
{
	return flags & DUO_GROUPS ? 1 : DUO_WORKERS;
}

static void assemble(struct weft_rt *rt, unsigned flags)
{
	int err;

	rt->config = (weft_config){ .workers = DUO_WORKERS,
		.group_size = group_size(flags),
		.stack_bytes = DUO_STACK_BYTES,
		.local_capacity = 4,
		.global_tick = 3,
		.lifo_budget = 2,
		.steal_rounds = 1,
		.coop_budget = flags & DUO_HASTY ? 2 : 64,
		.max_threads = DUO_WORKERS };
	wf_rt_derive(rt);
	rt->membarrier = flags & DUO_FENCED;
	rt->linger_ns = INT64_MAX;
	err = wf_rt_assemble(rt);
	weft_sim_assert(err == 0, "there is no memory for the runtime");
	/* The limit of threads is reached: a wake starts none. */
	wf_store_rlx(&rt->threads, DUO_WORKERS);
	duo->group = rt->groups;
	duo->proc = rt->procs;
}

/* Magazines of one: every second stack goes through the depot. */
static void shrink_magazines(struct wf_stack_cache *c)
{
	struct wf_stack_shelf *shelf = &c->shelf[duo->rt.cls];

	shelf->full = 1;
	shelf->credits_max = 2;
}

static void open_stacks(struct weft_rt *rt)
{
	int err;

	rt->stacks.store[rt->cls].shape.batch = 1;
	for (unsigned i = 0; i < DUO_WORKERS; i++)
		shrink_magazines(&duo->proc[i].stacks);
	shrink_magazines(&rt->outside.stacks);
	err = wf_stack_pool_promise(&rt->stacks, rt->cls, DUO_LOOPS);
	weft_sim_assert(err == 0, "there are no stacks");
}

static void open_proc(struct wf_proc *p, struct wf_thread *t, unsigned flags)
{
	bool coarse = flags & DUO_COARSE;

	agenda_set(p, 3, 3);
	wf_store_rlx(&p->push_flags, coarse);
	wf_store_rlx(&p->mean_ns, coarse ? WF_NS_PER_S : 0);
	wf_store_rlx(&p->thread, t);
	wf_proc_clock(p, wf_os_now_ns());
	t->rt = &duo->rt;
	t->proc = p;
	t->budget_full = duo->rt.config.coop_budget;
}

static void open_group(struct wf_group *g, unsigned flags)
{
	wf_store_rlx(&g->sleeping, 0);
	wf_store_rlx(&g->coarse, flags & DUO_COARSE);
	wf_store_rlx(&g->wake_ns, 1);
}

/* Two full magazines for every cache: most scenarios need no more. */
static void open_fibers(struct weft_rt *rt)
{
	struct wf_fiber_cache *to[] = { &duo->proc[0].fibers,
		&duo->proc[1].fibers, &rt->outside.fibers };
	struct wf_fiber_cache some = { 0 };

	for (unsigned i = 0; i < DUO_WORKERS + 1; i++) {
		for (unsigned n = 0; n < 2 * WF_FIBER_BATCH; n++) {
			weft_fiber *f = wf_fiber_take(&some, &rt->fibers);

			weft_sim_assert(f != NULL, "no descriptors");
			wf_fiber_give(to[i], &rt->fibers, f);
		}
	}
}

void duo_open(unsigned flags)
{
	struct weft_rt *rt = &duo->rt;

	assemble(rt, flags);
	for (uint32_t i = 0; i < rt->group_count; i++)
		open_group(&duo->group[i], flags);
	for (unsigned i = 0; i < DUO_WORKERS; i++)
		open_proc(&duo->proc[i], &duo->thread[i], flags);
	open_stacks(rt);
	open_fibers(rt);
	conserve_watch(rt);
}

/* ------------------------------------------------------------------------ */
/* Running. */

/* Sleepers look again. */
static void wake_all(void)
{
	/* [pair: park.sleep] A processor that parks after this sees quit. */
	wf_fence_seq();
	for (uint32_t i = 0; i < duo->rt.group_count; i++)
		wf_wake_all(&duo->group[i]);
}

/* Like end_threads (rt/runtime.c). */
static void quit(void)
{
	wf_store_rlx(&duo->rt.quit, true);
	wake_all();
}

static void *root_main(void *arg)
{
	struct duo_root *root = arg;
	void *result = root->fn(root->arg);

	/* [pair: duo.left] The last root sees what the others did. */
	if (wf_sub_acqrel(&duo->left, 1) == 1)
		quit();
	return result;
}

weft_fiber *duo_handle(unsigned i, void *(*fn)(void *), void *arg)
{
	struct weft_rt *rt = &duo->rt;
	weft_fiber *f = wf_fiber_take(&rt->outside.fibers, &rt->fibers);
	struct duo_root *root = &duo->root[duo->roots++];

	*root = (struct duo_root){ fn, arg };
	wf_bump(&rt->outside.spawned, 1);
	wf_store_rlx(&duo->left, wf_load_rlx(&duo->left) + 1);
	wf_store_rlx(&f->start.fn, (void *)root_main);
	f->start.arg = root;
	wf_store_rlx(&f->ready_us, WF_READY_UNKNOWN);
	wf_store_rlx(&f->state,
		WF_FIBER_LIVE | (uint32_t)rt->cls << WF_FIBER_CLS_SHIFT);
	if (duo->first[i] == NULL)
		duo->first[i] = &f->task;
	else
		(void)wf_runq_push(&duo->proc[i].runq, wf_entry_of(&f->task));
	return f;
}

void duo_root(unsigned i, void *(*fn)(void *), void *arg)
{
	weft_detach(duo_handle(i, fn, arg));
}

/* Like thread_main (sched/threads.c). */
static void worker(void *arg)
{
	struct wf_thread *t = arg;
	struct wf_proc *p = t->proc;
	unsigned i = (unsigned)(t - duo->thread);
	weft_task *task = duo->first[i];

	whoami = i + 1;
	wf_os_self_set(t);
	if (task == NULL)
		task = wf_idle(t);
	if (task != NULL) {
		wf_loop_begin(t, task);
		wf_stack_give(&p->stacks, t->spent);
	}
	wf_os_self_set(NULL);
	/* Like stop when a thread has ended. */
	wake_all();
}

static int ids[DUO_WORKERS];

void duo_start(void)
{
	static const char *const names[] = { "worker 0", "worker 1" };

	for (unsigned i = 0; i < DUO_WORKERS; i++)
		ids[i] = duo_thread(worker, &duo->thread[i], names[i]);
}

void duo_join(void)
{
	for (unsigned i = 0; i < DUO_WORKERS; i++)
		(void)weft_sim_join(ids[i]);
}

void duo_run(void)
{
	duo_start();
	duo_join();
}

void duo_cancel(weft_fiber *f)
{
	(void)weft_cancel(f);
}

wf_noinline void duo_check_here(weft_fiber *self)
{
	struct wf_thread *t = wf_os_self();
	const char *here = __builtin_frame_address(0);
	unsigned who = duo_who();

	weft_sim_assert(t != NULL && who != 0 && t == &duo->thread[who - 1],
		"worker %u believes to be another", who);
	weft_sim_assert(t->current == self && weft_self() == self,
		"worker %u runs another fiber than it believes", who);
	weft_sim_assert(
		here > wf_stack_low(t->stack) && here < wf_stack_top(t->stack),
		"worker %u is on another stack than it believes", who);
}

wf_noinline void *duo_watched(void *p)
{
	__asm__ volatile("" : "+r"(p)::"memory");
	return p;
}

wf_noinline void duo_scribble(void)
{
	uint64_t room[128], *mess = duo_watched(room);

	for (unsigned i = 0; i < 128; i++)
		mess[i] = i;
}

/* ------------------------------------------------------------------------ */
/* Closing. */

/* A free descriptor keeps of its earlier life what fiber/fiber.h says. */
static void check_free(weft_fiber *f, void *arg)
{
	(void)arg;
	weft_sim_assert(!(wf_load_rlx(&f->state) & ~WF_FIBER_USE),
		"a descriptor is not free: %#x", wf_load_rlx(&f->state));
	weft_sim_assert(!(wf_load_rlx(&f->wait) & (WF_WAIT_EPOCH - 1)) &&
			wf_load_rlx(&f->name) == NULL &&
			wf_load_rlx(&f->entry) == NULL &&
			wf_load_rlx(&f->waits_for) == NULL &&
			wf_load_rlx(&f->waits_on) == NULL,
		"a free descriptor is not clean");
}

static void check_stacks(struct wf_stack_cache *c)
{
	weft_sim_assert(c->shelf[duo->rt.cls].credits == 0,
		"credits in a cache of stacks");
}

static void close_fibers(struct weft_rt *rt)
{
	wf_fiber_pool_walk(&rt->fibers, check_free, NULL);
	for (unsigned i = 0; i < DUO_WORKERS; i++)
		wf_fiber_cache_close(&duo->proc[i].fibers, &rt->fibers);
	wf_fiber_cache_close(&rt->outside.fibers, &rt->fibers);
	weft_sim_assert(rt->stacks.store[rt->cls].promised == DUO_LOOPS,
		"%zu credits are lost",
		rt->stacks.store[rt->cls].promised - DUO_LOOPS);
}

static void check_proc(struct wf_proc *p)
{
	weft_sim_assert(wf_proc_backlog(p) == 0, "a task is left in a queue");
	check_stacks(&p->stacks);
}

void duo_close(void)
{
	struct weft_rt *rt = &duo->rt;
	bool whole;

	weft_sim_assert(wf_rt_fibers(rt) == 0, "%d fibers have not ended",
		(int)wf_rt_fibers(rt));
	weft_sim_assert(wf_load_rlx(&rt->outside.callers) == 0,
		"a caller is still in a call from outside");
	for (uint32_t i = 0; i < rt->group_count; i++)
		weft_sim_assert(wf_inject_len(&duo->group[i].inject) == 0,
			"a task is left in the global queue of group %u", i);
	close_fibers(rt);
	for (unsigned i = 0; i < DUO_WORKERS; i++)
		check_proc(&duo->proc[i]);
	check_stacks(&rt->outside.stacks);
	wf_stack_pool_release(&rt->stacks, rt->cls, DUO_LOOPS);
	whole = wf_stack_pool_check(&rt->stacks);
	weft_sim_assert(whole, "the pool of stacks is broken");
	conserve_forget(rt);
	wf_rt_disassemble(rt);
}

/* ------------------------------------------------------------------------ */
/* A started runtime. */

weft_rt *duo_rt_start(void)
{
	weft_config cfg = { .workers = DUO_WORKERS,
		.local_capacity = 4,
		.global_tick = 3,
		.lifo_budget = 2,
		.steal_rounds = 1,
		.spin_ns = -1 };
	weft_rt *rt = NULL;
	int err = weft_rt_start(&rt, &cfg);

	if (err != 0)
		return NULL;
	for (uint32_t i = 0; i < rt->proc_count; i++) {
		wf_store_rlx(&rt->procs[i].mean_ns, WF_NS_PER_S);
		wf_store_rlx(&rt->procs[i].push_flags, true);
	}
	wf_store_rlx(&rt->groups->coarse, true);
	conserve_watch(rt);
	return rt;
}

void duo_rt_stop(weft_rt *rt)
{
	int err = weft_rt_stop(rt, WEFT_FOREVER);

	weft_sim_assert(err == 0, "stop: %d", err);
	conserve_forget(rt);
}

bool duo_publish(struct weft_awaiter *a, weft_fiber *f)
{
	/* [pair: duo.box] The waker sees the fiber as it is now. */
	wf_store_rel(wf_container_of(a, struct duo_post, awaiter)->box, f);
	return true;
}
