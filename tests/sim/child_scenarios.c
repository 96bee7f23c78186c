/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/child_scenarios.c - children that have not started: their parent
 * runs them as calls, or a thief takes them, or both try to.
 */
#include "sim/join_kit.h"

#include "os/cxx.h"

static void *child_that_yields(void *arg)
{
	weft_fiber *self = weft_self();

	weft_yield();
	duo_check_here(self);
	return child(arg);
}

static void *parent(void *arg)
{
	void *(*fn)(void *) = arg ? child_that_yields : child;
	weft_fiber *self = weft_self(), *f[2];

	for (int i = 0; i < 2; i++)
		f[i] = spawn(fn, i);
	for (int i = 0; i < 2; i++)
		join(f[i], i);
	duo_check_here(self);
	/* A descriptor that is used again at once. */
	join(spawn(child, 2), 2);
	return NULL;
}

/* The joiner runs them, or the thief does; with arg they also wait. */
void join_thief(void *arg)
{
	open_all(DUO_COARSE);
	duo_root(0, parent, arg);
	duo_run();
	close_all();
}

/* As in join_thief, but the queue is private until the thief comes. */
void join_thief_fenced(void *arg)
{
	open_all(DUO_COARSE | DUO_FENCED);
	duo_root(0, parent, arg);
	duo_run();
	close_all();
}

static void *parent_that_detaches(void *arg)
{
	weft_fiber *f[2];

	for (int i = 0; i < 2; i++)
		f[i] = spawn(arg ? child_that_yields : child, i);
	for (int i = 0; i < 2; i++)
		weft_detach(f[i]);
	join(spawn(child, 2), 2);
	return NULL;
}

/* Nobody joins them: they run all the same, and their descriptors go. */
void join_detach_fresh(void *arg)
{
	open_all(DUO_COARSE);
	duo_root(0, parent_that_detaches, arg);
	duo_run();
	weft_sim_assert(s->runs[0] == 1 && s->runs[1] == 1,
		"they ran %d and %d times", s->runs[0], s->runs[1]);
	close_all();
}

/* A tree of this depth: how many leaves. */
static void *tree(void *arg)
{
	uintptr_t depth = (uintptr_t)arg, leaves = 0;
	weft_fiber *f[2];

	if (depth == 0)
		return (void *)1;
	for (int i = 0; i < 2; i++) {
		int err = weft_spawn(&f[i], NULL, tree, (void *)(depth - 1));

		weft_sim_assert(err == 0, "no child: %d", err);
	}
	for (int i = 0; i < 2; i++) {
		void *result = NULL;
		int err = weft_join(f[1 - i], &result, WEFT_FOREVER);

		weft_sim_assert(err == 0, "join: %d", err);
		leaves += (uintptr_t)result;
	}
	return (void *)leaves;
}

static void *tree_root(void *arg)
{
	uintptr_t leaves = (uintptr_t)tree(arg);

	weft_sim_assert(leaves == (uintptr_t)1 << (uintptr_t)arg,
		"the tree has %d leaves", (int)leaves);
	return NULL;
}

static void from_outside(void *arg)
{
	s->runs[(uintptr_t)arg]++;
}

/* Something in the global queue has its turn among them. */
void join_tree(void *arg)
{
	int err;

	open_all(DUO_COARSE);
	duo_root(0, tree_root, arg);
	err = weft_rt_go(&duo->rt, from_outside, NULL);
	weft_sim_assert(err == 0, "go: %d", err);
	duo_run();
	weft_sim_assert(s->runs[0] == 1, "it ran %d times", s->runs[0]);
	close_all();
}

/* Children one by one, run as calls until the budget is used up. */
static void *many_children(void *arg)
{
	weft_fiber *self = weft_self();
	int first = (int)(uintptr_t)arg;

	for (int i = first; i < first + 4; i++) {
		join(spawn(child, i), i);
		duo_check_here(self);
	}
	return NULL;
}

/* Two such parents give way to each other, and to a thief. */
void join_budget(void *arg)
{
	(void)arg;
	open_all(DUO_COARSE | DUO_HASTY);
	duo_root(0, many_children, (void *)0);
	duo_root(0, many_children, (void *)4);
	duo_run();
	close_all();
}

static void *yields(void *arg)
{
	weft_yield();
	return arg;
}

/* It has a stack before it has children: that takes a fence. */
static void *lives_on(void *arg)
{
	weft_yield();
	for (int i = 0; i < 2; i++)
		weft_detach(spawn(child, i));
	while (!wf_load_rlx(&s->over))
		duo_pause();
	return arg;
}

/* How many live is never too few, while children begin and end. */
void join_count(void *arg)
{
	(void)arg;
	open_all(DUO_COARSE);
	duo_root(0, lives_on, NULL);
	duo_root(0, yields, NULL);
	duo_start();
	for (int i = 0; i < 3; i++) {
		uint64_t n = wf_rt_fibers(&duo->rt);

		weft_sim_assert(n >= 1 && n <= 4, "%d fibers live", (int)n);
	}
	wf_store_rlx(&s->over, true);
	duo_join();
	close_all();
}

/* Each begins the next and joins it: three stacks or one. */
static void *chain(void *arg)
{
	int i = (int)((int *)arg - s->data);

	if (i < 3)
		join(spawn(chain, i + 1), i + 1);
	return child(arg);
}

static void *chain_root(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2; i++) {
		/* Something to steal beside it. */
		weft_fiber *other = spawn(child, 4 + i);
		weft_fiber *first = spawn(chain, 0);

		join(first, 0);
		join(other, 4 + i);
		for (int k = 0; k < 4; k++)
			s->runs[k] = s->data[k] = 0;
	}
	return NULL;
}

void join_chain(void *arg)
{
	open_all(DUO_COARSE);
	duo_root(0, chain_root, arg);
	duo_run();
	close_all();
}

/* Goes on where its waker is, and its parent with it. */
static void *child_that_moves(void *arg)
{
	struct duo_post post = { .awaiter.commit = duo_publish,
		.box = &s->handle };
	weft_fiber *self = weft_self();
	int refused;

	weft_sim_assert(!wf_cxx_is_busy(wf_os_cxx()),
		"a child begins with its parent's exceptions");
	refused = weft_suspend(&post.awaiter);
	weft_sim_assert(refused == 0, "suspend: %d", refused);
	duo_check_here(self);
	return child(arg);
}

static void *parent_that_moves(void *arg)
{
	weft_fiber *self = weft_self();

	join(spawn(child_that_moves, 0), 0);
	duo_check_here(self);
	join(spawn(child, 1), 1);
	return arg;
}

/* In a catch block, so to say: its exceptions are not the child's. */
static void *parent_with_exceptions(void *arg)
{
	*wf_os_cxx() = (struct wf_cxx){ .caught = 1, .uncaught = 2 };
	(void)parent_that_moves(arg);
	weft_sim_assert(wf_os_cxx()->caught == 1 && wf_os_cxx()->uncaught == 2,
		"the exceptions of the parent stayed behind");
	*wf_os_cxx() = (struct wf_cxx){ 0 };
	return arg;
}

static void *moves_it(void *arg)
{
	weft_fiber *f;

	/* [pair: join.handle] */
	while ((f = wf_load_acq(&s->handle)) == NULL)
		weft_sim_yield();
	weft_wake(f, WEFT_HINT_DEFAULT);
	return arg;
}

/*
 * A child that runs as a call leaves for another worker.  If arg is set, its
 * parent has exceptions.
 */
void join_moves(void *arg)
{
	open_all(0);
	duo_root(0, arg ? parent_with_exceptions : parent_that_moves, NULL);
	duo_root(1, moves_it, NULL);
	duo_run();
	close_all();
}
