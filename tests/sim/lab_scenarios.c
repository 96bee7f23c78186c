/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/lab_scenarios.c - the laboratory: by each rule no wake-up is lost,
 * by flare's at most two spin, and nothing is touched that was destroyed.
 *
 * A task that waits for another one keeps its thread.  So if a task was left in
 * a queue while a worker sleeps, the program stops.
 */
#include "sim/item_kit.h"

#include "exec/lab_priv.h"
#include "sim/lab_kit.h"

static struct {
	weft_executor *e;
	struct wf_lab *watched;	/* until it is destroyed */
	_Atomic(weft_fiber *) box;
	weft_group missing;
	uint32_t wanted;
	int work;
	int turns;
} s;

static void open_lab(const struct lab_plan *plan)
{
	struct wf_lab_config c = wf_lab_default;
	int err;

	c.workers = plan->workers;
	c.wake = plan->wake;
	c.queues = plan->queues;
	c.local = plan->local;
	c.victims = plan->one ? WF_LAB_VICTIMS_ONE : WF_LAB_VICTIMS_ALL;
	c.steal = plan->one ? WF_LAB_STEAL_ONE : WF_LAB_STEAL_HALF;
	c.local_capacity = c.bounded_capacity = 2;
	c.spins = 1;
	err = wf_lab_create(&s.e, &c);
	weft_sim_assert(err == 0, "no lab: %d", err);
	s.watched = (struct wf_lab *)s.e;
	items.to = s.e;
}

static void destroy(void)
{
	int err = weft_executor_destroy(s.e);

	weft_sim_assert(err == 0, "destroy says %d", err);
}

/* The hooks must not look at a lab that is gone. */
static void destroy_unwatched(void)
{
	s.watched = NULL;
	destroy();
}

/* ------------------------------------------------------------------------ */
/* What always holds. */

void lab_step(void *arg)
{
	struct wf_lab *lab = s.watched;
	uint64_t looking = lab ? wf_load_rlx(&lab->looking) : 0;

	(void)arg;
	weft_sim_assert(lab == NULL || lab->cfg.wake != WF_LAB_WAKE_FLARE ||
			__builtin_popcountll(looking) <= WF_LAB_SPINNERS_MAX,
		"more than two spin: 0x%x", (unsigned)looking);
}

/* No thread can run before time passes: (L1), and no one only seems to look. */
void lab_idle(void *arg)
{
	struct wf_lab *lab = s.watched;

	(void)arg;
	if (lab == NULL)
		return;
	weft_sim_assert(
		wf_load_rlx(&lab->sleeping) == 0 || !wf_lab_has_tasks(lab),
		"a worker sleeps, and a task is in a queue");
	weft_sim_assert(wf_load_rlx(&lab->looking) == 0,
		"no thread runs, and looking is 0x%x",
		(unsigned)wf_load_rlx(&lab->looking));
}

/* ------------------------------------------------------------------------ */
/* Tasks. */

static void submit_1(void *arg)
{
	(void)arg;
	item_submit(1);
}

/* Two from outside, while workers fall asleep. */
void lab_submit(void *arg)
{
	int other;

	open_lab(arg);
	other = duo_thread(submit_1, NULL, "other");
	item_submit(0);
	(void)weft_sim_join(other);
	destroy_unwatched();
	items_check(2);
}

/* Each keeps its thread until all are here. */
static void meet(struct item *i)
{
	int err;

	(void)i;
	weft_group_done(&s.missing);
	err = weft_group_wait(&s.missing, WEFT_FOREVER);
	weft_sim_assert(err == 0, "wait: %d", err);
}

static void meeting_of(uint32_t n)
{
	s.wanted = n;
	weft_group_add(&s.missing, n);
	for (uint32_t i = 0; i < n; i++)
		items.item[i].then = meet;
}

/* As many tasks as workers, from outside: all workers must be called. */
void lab_need(void *arg)
{
	const struct lab_plan *plan = arg;
	int other;

	meeting_of(plan->workers);
	open_lab(plan);
	other = duo_thread(submit_1, NULL, "other");
	for (uint32_t i = 0; i < plan->workers; i++)
		if (i != 1)
			item_submit(i);
	(void)weft_sim_join(other);
	weft_sim_quiesce();
	destroy_unwatched();
	items_check(plan->workers);
}

static void submit_all_and_meet(struct item *i)
{
	uint32_t n = s.wanted;

	for (uint32_t j = 1; j < n; j++)
		item_submit(j);
	meet(i);
}

/* From inside: a thief must come for each but the first. */
void lab_need_inside(void *arg)
{
	const struct lab_plan *plan = arg;

	meeting_of(plan->workers);
	items.item[0].then = submit_all_and_meet;
	open_lab(plan);
	item_submit(0);
	weft_sim_quiesce();
	destroy_unwatched();
	items_check(plan->workers);
}

/* More than a ring of two has room for, with every hint. */
static void submit_many(struct item *i)
{
	(void)i;
	for (unsigned j = 1; j < 6; j++)
		item_submit_hint(j, false, (weft_hint)(j % 3));
}

void lab_inside(void *arg)
{
	items.item[0].then = submit_many;
	open_lab(arg);
	item_submit(0);
	destroy_unwatched();
	items_check(6);
}

/* ------------------------------------------------------------------------ */
/* The steps of a worker alone, on a lab without threads. */

static weft_task hand_tasks[3];

static struct wf_lab_worker *hand(uint32_t i)
{
	return &s.watched->workers[i];
}

static void hand_open(const struct lab_plan *plan)
{
	size_t bytes = sizeof(struct wf_lab) +
		plan->workers * sizeof(struct wf_lab_worker);
	struct wf_lab_config c = wf_lab_default;
	struct wf_lab *lab;

	c.workers = plan->workers;
	c.wake = plan->wake;
	c.queues = plan->queues;
	c.bounded_capacity = 2;
	lab = duo_alloc(bytes + wf_lab_queue_bytes(&c));
	lab->cfg = c;
	wf_lab_queues_init(lab, (char *)lab + bytes);
	s.watched = lab;
	for (uint32_t i = 0; i < c.workers; i++) {
		hand(i)->lab = lab;
		hand(i)->bit = (uint64_t)1 << i;
	}
}

static void hand_close(void)
{
	struct wf_lab *lab = s.watched;

	s.watched = NULL;
	wf_os_free(lab);
}

static void hand_submit(void *arg)
{
	wf_lab_push_global(s.watched, NULL, arg);
	wf_lab_wake(s.watched, NULL, 1);
}

static void hand_park(void *arg)
{
	wf_lab_park(arg);
}

/* It sleeps and is woken, or sees the task. */
void lab_park(void *arg)
{
	int worker;
	size_t shown;

	hand_open(arg);
	worker = duo_thread(hand_park, hand(0), "worker");
	hand_submit(&hand_tasks[0]);
	(void)weft_sim_join(worker);
	weft_sim_assert(wf_load_rlx(&s.watched->sleeping) == 0,
		"it is awake, and its bit is set");
	weft_sim_assert(wf_lab_take(hand(0), &shown) == &hand_tasks[0],
		"there is another task, or none");
	wf_lab_found(hand(0));
	hand_close();
}

static void hand_spin(void *arg)
{
	size_t shown;

	if (!wf_lab_spin_begin(arg))
		return;
	wf_lab_spin_end(arg, wf_lab_take(arg, &shown) != NULL);
	wf_lab_found(arg);
}

/*
 * A spinner finds one of two tasks.  A worker that sleeps is woken for the
 * other one, whichever task the spinner was claimed for.
 */
void lab_claim(void *arg)
{
	int spinner;

	hand_open(arg);
	wf_store_rlx(&s.watched->sleeping, hand(1)->bit);
	wf_lab_push_global(s.watched, NULL, &hand_tasks[0]);
	spinner = duo_thread(hand_spin, hand(0), "spinner");
	hand_submit(&hand_tasks[1]);
	(void)weft_sim_join(spinner);
	weft_sim_assert(wf_add_rlx(&hand(1)->woken, 0) == 1,
		"no one is woken for the second task");
	/* What the hooks ask for is not so here: no worker runs. */
	hand_close();
}

/* Three would like to spin, one is claimed meanwhile. */
void lab_spinners(void *arg)
{
	int one, two;

	hand_open(arg);
	one = duo_thread(hand_spin, hand(0), "one");
	two = duo_thread(hand_spin, hand(1), "two");
	hand_spin(hand(2));
	hand_submit(&hand_tasks[0]);
	(void)weft_sim_join(one);
	(void)weft_sim_join(two);
	weft_sim_assert(wf_load_rlx(&s.watched->looking) == 0,
		"all have ended, and looking is 0x%x",
		(unsigned)wf_load_rlx(&s.watched->looking));
	hand_close();
}

/* ------------------------------------------------------------------------ */
/* Fibers, and the end. */

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	/* [pair: lab_scenario.box] */
	wf_store_rel(&s.box, f);
	return true;
}

static void *sleeps(void *arg)
{
	struct weft_awaiter a = { .commit = publish };
	int refused = weft_suspend(&a);

	weft_sim_assert(refused == 0 && s.work == 1, "suspend: %d", refused);
	s.turns++;
	return arg;
}

static void wakes(void *arg)
{
	weft_fiber *f;

	(void)arg;
	/* [pair: lab_scenario.box] */
	while ((f = wf_load_acq(&s.box)) == NULL)
		weft_sim_yield();
	s.work = 1;
	weft_wake(f, WEFT_HINT_DEFAULT);
}

/* It is freed when its last fiber ends, with the waker still in its call. */
void lab_fiber(void *arg)
{
	int waker;

	open_lab(arg);
	weft_detach(spawn_on(s.e, sleeps, NULL));
	waker = duo_thread(wakes, NULL, "waker");
	destroy_unwatched();
	weft_sim_assert(s.turns == 1, "its fiber has not ended");
	(void)weft_sim_join(waker);
}

static void start_sleeper(struct item *i)
{
	(void)i;
	weft_detach(spawn_on(s.e, sleeps, NULL));
	item_submit(1);
}

/* The task that its fiber leaves behind runs before the end too. */
void lab_late_fiber(void *arg)
{
	int waker;

	items.item[0].then = start_sleeper;
	open_lab(arg);
	item_submit(0);
	waker = duo_thread(wakes, NULL, "waker");
	destroy_unwatched();
	weft_sim_assert(s.turns == 1, "its fiber has not ended");
	items_check(2);
	(void)weft_sim_join(waker);
}

static void *yields(void *arg)
{
	int stack[1] = { 0 }, *mine = duo_watched(stack);

	for (int i = 0; i < 2; i++) {
		*mine = i;
		weft_yield();
		weft_sim_assert(*mine == i, "%d, not %d", *mine, i);
	}
	s.turns++;
	return arg;
}

/* From worker to worker. */
void lab_yield(void *arg)
{
	open_lab(arg);
	weft_detach(spawn_on(s.e, yields, NULL));
	destroy_unwatched();
	weft_sim_assert(s.turns == 1, "its fiber has not ended");
}

/* No memory, or fewer threads than it shall have: nothing is left of it. */
void lab_faults(void *arg)
{
	struct wf_lab_config c = wf_lab_default;
	int err;

	(void)arg;
	c.workers = 2;
	c.bounded_capacity = 2;
	weft_sim_os_faults(4);
	err = wf_lab_create(&s.e, &c);
	weft_sim_assert(err == 0 || err == -ENOMEM || err == -EAGAIN,
		"create says %d", err);
	if (err)
		return;
	items.to = s.e;
	item_submit(0);
	destroy();
	items_check(1);
}
