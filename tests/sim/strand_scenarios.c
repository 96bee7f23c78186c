/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/strand_scenarios.c - the strand: one after the other, in order,
 * none lost and none twice, over any executor; and freed the instant that its
 * last task has run.
 */
#include "sim/item_kit.h"

static struct {
	struct desk desk;
	weft_executor *strand;
	weft_group group; /* items that have not run */
	_Atomic(weft_fiber *) box;
	int shared; /* by the fibers of a strand, plainly */
	int work;
	bool refuses;
} s;

static void open_strand(weft_executor *over)
{
	int err = weft_strand_create(&s.strand, over);

	weft_sim_assert(err == 0, "no strand: %d", err);
	items.to = s.strand;
	items.alone = true;
}

/* n items, each of which leaves the desk. */
static void open_on_desk(uint32_t n)
{
	desk_open(&s.desk, n);
	items.leaves = &s.desk;
	open_strand(&s.desk.executor);
}

static void destroy(void)
{
	int err = weft_executor_destroy(s.strand);

	weft_sim_assert(err == 0, "destroy says %d", err);
}

/* Submit items a, a + 1, ... to b. */
static void submit_range(unsigned a, unsigned b)
{
	for (; a <= b; a++)
		item_submit_hint(a, s.refuses, WEFT_HINT_DEFAULT);
}

static void submit_2_3(void *arg)
{
	(void)arg;
	submit_range(2, 3);
}

static void submit_2(void *arg)
{
	(void)arg;
	submit_range(2, 2);
}

/* ------------------------------------------------------------------------ */
/* Some submit, others run. */

void strand_two(void *arg)
{
	int other;

	(void)arg;
	open_on_desk(3);
	other = duo_thread(submit_2, NULL, "other");
	submit_range(0, 1);
	desk_run(&s.desk, 2);
	(void)weft_sim_join(other);
	destroy();
	items_check(3);
	items_check_order(0, 1);
}

static void submit_1(void *arg)
{
	(void)arg;
	submit_range(1, 1);
}

void strand_three(void *arg)
{
	int one, other;

	(void)arg;
	open_on_desk(3);
	one = duo_thread(submit_1, NULL, "one");
	other = duo_thread(submit_2, NULL, "other");
	submit_range(0, 0);
	desk_run(&s.desk, 1);
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	destroy();
	items_check(3);
}

/* The submitter runs the task. */
void strand_inline(void *arg)
{
	int other;

	(void)arg;
	open_strand(weft_inline());
	other = duo_thread(submit_2, NULL, "other");
	submit_range(0, 1);
	(void)weft_sim_join(other);
	destroy();
	items_check(3);
	items_check_order(0, 1);
}

/* The strand's own task, as often as it is there. */
static void serve_now(void)
{
	weft_task *t;

	while ((t = desk_take(&s.desk)) != NULL)
		weft_task_run(&s.desk.executor, t);
}

static void submit_and_serve(void *arg)
{
	unsigned *first = arg;

	submit_range(*first, *first + 1);
	serve_now();
}

/* A thread may stop anywhere, even in a task: no other waits for it. */
void strand_stop(void *arg)
{
	static unsigned zero = 0, two = 2;
	int one, other;

	(void)arg;
	desk_open(&s.desk, 1);
	open_strand(&s.desk.executor);
	one = duo_thread(submit_and_serve, &zero, "one");
	other = duo_thread(submit_and_serve, &two, "other");
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	serve_now();
	destroy();
	items_check(4);
	items_check_order(0, 1);
	items_check_order(2, 3);
}

/*
 * A submit is refused while others push on top: those were accepted, and the
 * refused submitter runs them.
 */
void strand_refuse(void *arg)
{
	int one, other;

	(void)arg;
	s.refuses = true;
	s.desk.refuses = true;
	open_on_desk(4);
	one = duo_thread(submit_1, NULL, "one");
	other = duo_thread(submit_2_3, NULL, "other");
	submit_range(0, 0);
	desk_run(&s.desk, 1);
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	destroy();
	items_check(4);
	items_check_order(2, 3);
}

/* More than it runs in one turn; with arg it may not get another. */
void strand_turns(void *arg)
{
	int other;

	s.refuses = arg != NULL;
	s.desk.refuses = arg != NULL;
	open_on_desk(5);
	other = duo_thread(submit_2, NULL, "other");
	submit_range(3, 6);
	desk_run(&s.desk, 2);
	(void)weft_sim_join(other);
	destroy();
	for (unsigned i = 3; i < 6; i++)
		items_check_order(i, i + 1);
	items.item[0].refused = items.item[1].refused = true;
	items_check(7);
}

/* ------------------------------------------------------------------------ */
/* Over others. */

void strand_strand(void *arg)
{
	weft_executor *below;
	int other, err;

	(void)arg;
	open_on_desk(3);
	below = s.strand;
	open_strand(below);
	other = duo_thread(submit_2, NULL, "other");
	submit_range(0, 1);
	desk_run(&s.desk, 2);
	(void)weft_sim_join(other);
	destroy();
	err = weft_executor_destroy(below);
	weft_sim_assert(err == 0, "destroy says %d", err);
	items_check(3);
	items_check_order(0, 1);
}

void strand_pool(void *arg)
{
	weft_executor *pool;
	int other, err;

	(void)arg;
	err = weft_pool_create(&pool, 2);
	weft_sim_assert(err == 0, "no pool: %d", err);
	open_strand(pool);
	other = duo_thread(submit_2, NULL, "other");
	submit_range(0, 1);
	(void)weft_sim_join(other);
	destroy();
	items_check(3);
	items_check_order(0, 1);
	err = weft_executor_destroy(pool);
	weft_sim_assert(err == 0, "destroy says %d", err);
}

static void count(struct item *i)
{
	(void)i;
	weft_group_done(&s.group);
}

static void *submit_inside(void *arg)
{
	weft_fiber *self = weft_self();
	int err;

	submit_range(0, 1);
	err = weft_group_wait(&s.group, WEFT_FOREVER);
	weft_sim_assert(err == 0, "wait: %d", err);
	destroy();
	duo_check_here(self);
	items_check(3);
	return arg;
}

/* Over a runtime, from a fiber of it, which destroys it, and from outside. */
void strand_rt(void *arg)
{
	int other;

	(void)arg;
	duo_open(DUO_COARSE);
	open_strand(&duo->rt.executor);
	weft_group_add(&s.group, 3);
	for (unsigned i = 0; i < 3; i++)
		items.item[i].then = count;
	duo_root(0, submit_inside, NULL);
	duo_start();
	other = duo_thread(submit_2, NULL, "other");
	(void)weft_sim_join(other);
	duo_join();
	duo_close();
	items_check_order(0, 1);
}

/* ------------------------------------------------------------------------ */
/* Fibers. */

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	/* [pair: strand.box] */
	wf_store_rel(&s.box, f);
	return true;
}

static weft_fiber *collect(void)
{
	weft_fiber *f;

	/* [pair: strand.box] */
	while ((f = wf_load_acq(&s.box)) == NULL)
		duo_pause();
	return f;
}

/* It runs alone from one wait to the next: no task sees its work half done. */
static void *be_alone(void *arg)
{
	weft_fiber *self = weft_self();

	for (int i = 0; i < 2; i++) {
		weft_sim_assert(s.shared % 2 == 0, "another is not through");
		s.shared++;
		s.shared++;
		weft_yield();
		desk_check_here(s.strand, self);
	}
	desk_leave(&s.desk);
	return arg;
}

static void go_alone(void *arg)
{
	(void)be_alone(arg);
}

static void start_another(struct item *i)
{
	int err = weft_go(go_alone, i);

	weft_sim_assert(err == 0, "go says %d", err);
}

/* A fiber, and a task that starts another. */
void strand_fibers(void *arg)
{
	(void)arg;
	open_on_desk(3);
	weft_detach(spawn_on(s.strand, be_alone, NULL));
	items.item[0].then = start_another;
	item_submit(0);
	desk_run(&s.desk, 2);
	destroy();
	items_check(1);
	weft_sim_assert(s.shared == 8, "%d", s.shared);
}

/* ------------------------------------------------------------------------ */
/* The end. */

static void submit_next(struct item *i)
{
	item_submit(item_number(i) + 1);
}

/* Destroy waits for tasks that a task submits too. */
void strand_destroy(void *arg)
{
	int server;

	(void)arg;
	open_on_desk(3);
	items.item[0].then = submit_next;
	items.item[1].then = submit_next;
	item_submit(0);
	server = duo_thread(desk_serve, &s.desk, "server");
	destroy();
	items_check(3);
	(void)weft_sim_join(server);
}

/* The strand may be idle, and no thread may run its executor. */
void strand_destroy_idle(void *arg)
{
	int other;

	(void)arg;
	desk_open(&s.desk, 1);
	open_strand(&s.desk.executor);
	item_submit(0);
	other = duo_thread(desk_serve, &s.desk, "server");
	weft_sim_quiesce();
	desk_leave(&s.desk);
	(void)weft_sim_join(other);
	destroy();
	items_check(1);
}

static void *sleeps(void *arg)
{
	struct weft_awaiter a = { .commit = publish };
	weft_fiber *self = weft_self();
	int refused = weft_suspend(&a);

	desk_check_here(s.strand, self);
	weft_sim_assert(refused == 0 && s.work == 1, "suspend: %d", refused);
	s.shared++;
	desk_leave(&s.desk);
	return arg;
}

static void wakes(void *arg)
{
	weft_fiber *f = collect();

	(void)arg;
	s.work = 1;
	weft_wake(f, WEFT_HINT_DEFAULT);
}

/* It is freed when its last fiber ends, with the waker still in its call. */
void strand_destroy_wake(void *arg)
{
	int waker, server;

	(void)arg;
	desk_open(&s.desk, 1);
	open_strand(&s.desk.executor);
	weft_detach(spawn_on(s.strand, sleeps, NULL));
	waker = duo_thread(wakes, NULL, "waker");
	server = duo_thread(desk_serve, &s.desk, "server");
	destroy();
	weft_sim_assert(s.shared == 1, "its fiber has not ended");
	(void)weft_sim_join(waker);
	(void)weft_sim_join(server);
}

static void *destroys(void *arg)
{
	weft_fiber *self = weft_self();

	destroy();
	duo_scribble();
	desk_check_here(&s.desk.executor, self);
	items_check(2);
	desk_leave(&s.desk);
	return arg;
}

/* By a fiber on the executor below it. */
void strand_destroy_fiber(void *arg)
{
	(void)arg;
	open_on_desk(3);
	items.item[0].then = submit_next;
	item_submit(0);
	desk_root(&s.desk, destroys, NULL);
	desk_run(&s.desk, 2);
}

static void *destroys_in_rt(void *arg)
{
	weft_fiber *self = weft_self();

	destroy();
	duo_scribble();
	duo_check_here(self);
	items_check(2);
	return arg;
}

/* By a fiber of a runtime. */
void strand_destroy_rt(void *arg)
{
	(void)arg;
	open_on_desk(2);
	duo_open(0);
	items.item[0].then = submit_next;
	item_submit(0);
	duo_root(0, destroys_in_rt, NULL);
	duo_start();
	desk_run(&s.desk, 1);
	duo_join();
	duo_close();
}
