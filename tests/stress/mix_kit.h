/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/mix_kit.h - a mixed workload for any runtime, in parts.
 *
 * A PART is a small program of one kind: families that are joined in any order,
 * channels, timers, executors and so on.  It runs in a fiber, or if it is an
 * outside part on a plain thread, draws its sizes from its own random numbers,
 * and checks by kit_expect that all results are right.  Parts know nothing of
 * each other, so any of them can run at once.
 *
 * Memory is from the heap: stacks may be as small as they can be.
 *
 * Here are parts that only run: families, crowds, yielders.  Those that wait
 * for each other are in stress/mix_sync.h, the table of all in mix_parts.h.
 */
#ifndef WEFT_TESTS_STRESS_MIX_KIT_H
#define WEFT_TESTS_STRESS_MIX_KIT_H

#include <errno.h>

#include "stress/sched_kit.h"

struct part {
	const struct part_kind *kind;
	weft_rt *rt;
	struct wf_random random;	/* by its own fiber or thread only */
	int64_t grain_ns;		/* how long a piece of work takes */
	_Atomic(bool) ended;
};

struct part_kind {
	const char *name;
	void (*run)(struct part *p);
	bool outside;			/* on a plain thread */
};

static inline uint32_t part_draw(struct part *p, uint32_t n)
{
	return wf_random_below(&p->random, n);
}

static inline weft_hint part_hint(struct part *p)
{
	return (weft_hint)part_draw(p, 3);
}

static inline void part_work(struct part *p)
{
	int64_t until;

	if (p->grain_ns == 0)
		return;
	until = threads_now_ns() + p->grain_ns;
	while (threads_now_ns() < until)
		continue;
}

static inline void *part_alloc(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (memory == NULL)
		abort();
	return memory;
}

/* ------------------------------------------------------------------------ */
/* Families: children and tasks; joins in any order, or not at all. */

enum { FAMILY_MAX = 8, FAMILY_DEPTH = 2 };

struct family;

struct kin {
	struct family *family;
	uint32_t what;			/* random bits of family_run */
	uint32_t depth;
	int runs;
	weft_fiber *f;
};

struct family {
	struct part *part;
	weft_group left;		/* tasks and detached children */
	_Atomic(uint32_t) ran;
	struct kin kin[FAMILY_MAX];
};

static inline void family_task(void *arg)
{
	struct family *family = arg;

	part_work(family->part);
	(void)wf_add_rlx(&family->ran, 1);
	weft_group_done(&family->left);
}

static inline void family_run(struct part *p, uint32_t what, uint32_t depth);

/*
 * A child.  In half of the families they only compute, so that a joiner may run
 * them all; in the others three of eight do more.
 */
static inline void *family_child(void *arg)
{
	struct kin *k = arg;

	part_work(k->family->part);
	if (k->what % 8 == 0)
		weft_yield();
	else if (k->what % 8 == 1)
		kit_expect(weft_sleep(50 * WF_NS_PER_US) == 0);
	else if (k->what % 8 == 2 && k->depth > 0)
		family_run(k->family->part, k->what >> 3, k->depth - 1);
	k->runs++;
	return k;
}

static inline void family_detached(void *arg)
{
	struct kin *k = arg;
	struct family *family = k->family;

	(void)family_child(k);
	kit_expect(k->runs == 1);
	(void)wf_add_rlx(&family->ran, 1);
	weft_group_done(&family->left);
}

static inline void *family_detached_child(void *arg)
{
	family_detached(arg);
	return arg;
}

static inline void family_join(struct kin *k)
{
	void *result = NULL;

	kit_expect(weft_join(k->f, &result, WEFT_FOREVER) == 0);
	kit_expect(result == k && k->runs == 1);
}

/* First to last, last to first, or from the middle on. */
static inline size_t family_turn(uint32_t order, size_t i, size_t n)
{
	if (order == 0)
		return i;
	return order == 1 ? n - 1 - i : (i + n / 2) % n;
}

/* what: random bits, which decide everything. */
static inline void family_run(struct part *p, uint32_t what, uint32_t depth)
{
	struct family *family = part_alloc(sizeof(*family));
	size_t children = 1 + what % FAMILY_MAX, tasks = what / 8 % 4;
	uint32_t others = 0;
	struct wf_random r;

	wf_random_seed(&r, what);
	family->part = p;
	for (size_t i = 0; i < children; i++) {
		struct kin *k = &family->kin[i];
		weft_fiber_attr attr = { .hint = wf_random_below(&r, 3) };
		bool detach = what & 64 && what & 1024 && i % 2 != 0;

		*k = (struct kin){ .family = family, .depth = depth };
		k->what = (uint32_t)wf_random_next(&r);
		if (what & 512)
			k->what = UINT32_MAX;
		weft_group_add(&family->left, (int64_t)tasks + detach);
		others += (uint32_t)tasks + detach;
		kit_expect(weft_spawn(&k->f, &attr,
				   detach ? family_detached_child
					  : family_child,
				   k) == 0);
		for (size_t t = 0; t < tasks; t++)
			kit_expect(weft_go(family_task, family) == 0);
		if (detach) {
			weft_detach(k->f);
			k->f = NULL;
		}
	}
	for (size_t i = 0; i < children; i++) {
		size_t at = family_turn(what / 128 % 3, i, children);

		if (family->kin[at].f != NULL)
			family_join(&family->kin[at]);
	}
	kit_expect(weft_group_wait(&family->left, WEFT_FOREVER) == 0);
	kit_expect(wf_load_rlx(&family->ran) == others);
	free(family);
}

static inline void part_families(struct part *p)
{
	for (uint32_t n = 1 + part_draw(p, 3); n > 0; n--)
		family_run(p, (uint32_t)wf_random_next(&p->random),
			FAMILY_DEPTH);
}

/* ------------------------------------------------------------------------ */
/* Crowds: more than a queue holds, fibers and tasks with any hint. */

enum { CROWD_MAX = 300 };

struct crowd {
	struct part *part;
	weft_group left;
	_Atomic(uint32_t) ran;
	struct crowd_task {
		weft_task task;
		struct crowd *crowd;
		uint32_t again;
	} task[CROWD_MAX];
};

static inline void crowd_fiber(void *arg)
{
	struct crowd *c = arg;

	(void)wf_add_rlx(&c->ran, 1);
	weft_group_done(&c->left);
}

/* The task submits itself again, once or twice. */
static inline void crowd_task(weft_task *task)
{
	struct crowd_task *t = (struct crowd_task *)task;
	struct crowd *c = t->crowd;

	(void)wf_add_rlx(&c->ran, 1);
	if (t->again > 0) {
		weft_hint hint = (weft_hint)(--t->again % 3);

		kit_expect(weft_submit(weft_rt_executor(c->part->rt), task,
				   hint) == 0);
		return;
	}
	weft_group_done(&c->left);
}

static inline void part_crowd(struct part *p)
{
	struct crowd *c = part_alloc(sizeof(*c));
	uint32_t n = 1 + part_draw(p, CROWD_MAX), wanted = 0;

	c->part = p;
	weft_group_add(&c->left, n);
	for (uint32_t i = 0; i < n; i++) {
		struct crowd_task *t = &c->task[i];
		uint32_t again = part_draw(p, 3);

		if (part_draw(p, 2) == 0) {
			wanted++;
			kit_expect(weft_rt_go(p->rt, crowd_fiber, c) == 0);
			continue;
		}
		wanted += 1 + again;
		*t = (struct crowd_task){ .task.run = crowd_task, .crowd = c };
		t->again = again;
		kit_expect(weft_submit(weft_rt_executor(p->rt), &t->task,
				   part_hint(p)) == 0);
	}
	kit_expect(weft_group_wait(&c->left, WEFT_FOREVER) == 0);
	kit_expect(wf_load_rlx(&c->ran) == wanted);
	free(c);
}

/* ------------------------------------------------------------------------ */
/* Several fibers of one function, joined at the end. */

enum { TEAM_MAX = 12 };

struct team {
	struct part *part;
	uint32_t size, rounds;
	_Atomic(uint32_t) next;		/* number of a member */
	weft_fiber *f[TEAM_MAX];
	uint64_t (*play)(struct team *team, uint32_t member);
	uint64_t result[TEAM_MAX];
	void *with;			/* what they share */
};

static inline void *team_member(void *arg)
{
	struct team *team = arg;
	uint32_t i = wf_add_rlx(&team->next, 1);

	team->result[i] = team->play(team, i);
	return team;
}

static inline void team_start(struct team *team, struct part *p, uint32_t size,
	uint64_t (*play)(struct team *team, uint32_t member), void *with)
{
	*team = (struct team){ .part = p, .play = play, .with = with };
	team->size = size;
	team->rounds = 1 + part_draw(p, 20);
	for (uint32_t i = 0; i < size; i++) {
		weft_fiber_attr attr = { .hint = part_hint(p) };

		attr.executor = weft_rt_executor(p->rt);
		kit_expect(weft_spawn(&team->f[i], &attr, team_member, team) ==
			0);
	}
}

/* The sum of their results. */
static inline uint64_t team_join(struct team *team)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < team->size; i++)
		kit_expect(weft_join(team->f[i], NULL, WEFT_FOREVER) == 0);
	for (uint32_t i = 0; i < team->size; i++)
		sum += team->result[i];
	return sum;
}

static inline uint64_t team_play(struct part *p, uint32_t size,
	uint64_t (*play)(struct team *team, uint32_t member), void *with)
{
	struct team *team = part_alloc(sizeof(*team));
	uint64_t sum;

	team_start(team, p, size, play, with);
	sum = team_join(team);
	free(team);
	return sum;
}

/* ------------------------------------------------------------------------ */
/* Yields. */

static inline uint64_t yields_play(struct team *team, uint32_t member)
{
	weft_fiber *self = weft_self();

	for (uint32_t i = 0; i < team->rounds; i++) {
		if ((i + member) % 3 == 0)
			weft_checkpoint();
		else
			weft_yield();
		kit_expect(weft_self() == self);
		part_work(team->part);
	}
	return 1;
}

static inline void part_yields(struct part *p)
{
	uint32_t n = 1 + part_draw(p, TEAM_MAX);

	kit_expect(team_play(p, n, yields_play, NULL) == n);
}

#endif
