/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/mix_parts.h - the table of all parts of the mixed workload
 * (stress/mix_kit.h), and parts that use more of weft than the fibers of a
 * runtime: suspension by hand, other executors, plain threads.
 */
#ifndef WEFT_TESTS_STRESS_MIX_PARTS_H
#define WEFT_TESTS_STRESS_MIX_PARTS_H

#include "stress/mix_kit.h"
#include "stress/mix_sync.h"

/* ------------------------------------------------------------------------ */
/* weft_suspend: woken with any hint, and two fibers in turns. */

struct bed {
	struct weft_awaiter awaiter;	/* must be first */
	_Atomic(weft_fiber *) *box;
};

static inline bool bed_commit(struct weft_awaiter *a, weft_fiber *self)
{
	/* The waker must see the suspended fiber. */
	wf_store_rel(((struct bed *)a)->box, self);
	return true;
}

static inline void bed_sleep(_Atomic(weft_fiber *) *box, weft_fiber *next)
{
	struct bed bed = { .awaiter = { .commit = bed_commit, .next = next } };

	bed.box = box;
	kit_expect(weft_suspend(&bed.awaiter) == 0);
}

static inline uint64_t wakes_play(struct team *team, uint32_t member)
{
	_Atomic(weft_fiber *) *boxes = team->with;

	for (uint32_t i = 0; i < team->rounds; i++)
		bed_sleep(&boxes[member], NULL);
	return 1;
}

/* Wake suspended members until each was suspended for all its rounds. */
static inline void part_wakes(struct part *p)
{
	_Atomic(weft_fiber *) *boxes = part_alloc(TEAM_MAX * sizeof(*boxes));
	struct team *team = part_alloc(sizeof(*team));
	uint32_t n = 1 + part_draw(p, TEAM_MAX), left;

	team_start(team, p, n, wakes_play, boxes);
	for (left = n * team->rounds; left > 0;) {
		for (uint32_t i = 0; i < n; i++) {
			weft_fiber *f = wf_xchg_acqrel(&boxes[i], NULL);

			if (f == NULL)
				continue;
			weft_wake(f, part_hint(p));
			left--;
		}
		if (p->kind->outside)
			kit_pause_us(20);
		else
			weft_yield();
	}
	kit_expect(team_join(team) == n);
	free(team);
	free(boxes);
}

/*
 * One of two fibers waits while the other runs, and is its next.  A fiber that
 * ends wakes the other one, if it waits.
 */
static inline uint64_t turns_play(struct team *team, uint32_t member)
{
	_Atomic(weft_fiber *) *box = team->with;
	uint64_t turns = 0;
	weft_fiber *other;

	if (member == 0)
		bed_sleep(box, NULL);
	else
		while (wf_load_rlx(box) == NULL)
			weft_yield();
	for (uint32_t i = 0; i < team->rounds; i++) {
		other = wf_xchg_acqrel(box, NULL);
		if (other != NULL)
			bed_sleep(box, other);
		else
			weft_yield();
		turns += other != NULL;
	}
	other = wf_xchg_acqrel(box, NULL);
	if (other != NULL)
		weft_wake(other, WEFT_HINT_NEXT);
	return turns;
}

static inline void part_turns(struct part *p)
{
	_Atomic(weft_fiber *) *box = part_alloc(sizeof(*box));

	kit_expect(team_play(p, 2, turns_play, box) > 0);
	kit_expect(wf_load_rlx(box) == NULL);
	free(box);
}

/* ------------------------------------------------------------------------ */
/* Executors: strands over the runtime, a pool, a manual one. */

enum { ERRANDS = 40 };

struct errands {
	weft_executor *e;
	weft_group left;
	uint32_t ran;			/* plain, if the executor is a strand */
	_Atomic(uint32_t) count;
	bool strand;
	struct errand {
		weft_task task;
		struct errands *all;
	} errand[ERRANDS];
};

static inline void errand_run(weft_task *task)
{
	struct errand *t = (struct errand *)task;
	struct errands *s = t->all;

	if (s->strand)
		kit_expect(s->ran++ == (uint32_t)(t - s->errand));
	(void)wf_add_rlx(&s->count, 1);
	weft_group_done(&s->left);
}

static inline void *errands_fiber(void *arg)
{
	struct errands *s = arg;

	for (int i = 0; i < 3; i++)
		weft_yield();
	(void)wf_add_rlx(&s->count, 1);
	weft_group_done(&s->left);
	return arg;
}

/* Tasks, in this order, and a fiber. */
static inline weft_fiber *errands_begin(struct part *p, struct errands *s)
{
	weft_fiber_attr attr = { .executor = s->e };
	weft_fiber *f = NULL;

	weft_group_add(&s->left, ERRANDS + 1);
	for (uint32_t i = 0; i < ERRANDS; i++) {
		struct errand *t = &s->errand[i];

		*t = (struct errand){ .task.run = errand_run, .all = s };
		kit_expect(weft_submit(s->e, &t->task,
				   s->strand ? WEFT_HINT_DEFAULT
					     : part_hint(p)) == 0);
	}
	kit_expect(weft_spawn(&f, &attr, errands_fiber, s) == 0);
	return f;
}

static inline void part_errands(struct part *p)
{
	struct errands *s = part_alloc(sizeof(*s));
	uint32_t kind = part_draw(p, 3);
	weft_fiber *f;
	int err = -1;

	s->strand = kind == 0;
	if (kind == 0)
		err = weft_strand_create(&s->e, weft_rt_executor(p->rt));
	else if (kind == 1)
		err = weft_pool_create(&s->e, 1 + part_draw(p, 2));
	else
		err = weft_manual_create(&s->e);
	kit_expect(err == 0);
	f = errands_begin(p, s);
	while (kind == 2 && wf_load_rlx(&s->count) < ERRANDS + 1)
		(void)weft_manual_run(s->e, 1 + part_draw(p, 10));
	kit_expect(weft_group_wait(&s->left, WEFT_FOREVER) == 0);
	kit_expect(wf_load_rlx(&s->count) == ERRANDS + 1);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	/* A manual executor still has to run the end of the fiber. */
	while ((err = weft_executor_destroy(s->e)) == -EBUSY)
		(void)weft_manual_run(s->e, 1);
	kit_expect(err == 0);
	free(s);
}

/* ------------------------------------------------------------------------ */
/* From a plain thread. */

static inline void part_outside(struct part *p)
{
	for (uint32_t n = 1 + part_draw(p, 3); n > 0; n--) {
		part_crowd(p);
		kit_pause_us(part_draw(p, 1000));
	}
}

/* ------------------------------------------------------------------------ */

static const struct part_kind part_kinds[] = {
	{ "families", part_families, false },
	{ "crowd", part_crowd, false },
	{ "yields", part_yields, false },
	{ "chans", part_chans, false },
	{ "locks", part_locks, false },
	{ "timers", part_timers, false },
	{ "cancel", part_cancel, false },
	{ "scopes", part_scopes, false },
	{ "wakes", part_wakes, false },
	{ "turns", part_turns, false },
	{ "errands", part_errands, false },
	{ "outside", part_outside, true },
	{ "outside-chans", part_chans, true },
	{ "outside-wakes", part_wakes, true },
	{ "outside-yields", part_yields, true },
};

enum { PART_KINDS = sizeof(part_kinds) / sizeof(part_kinds[0]) };

#endif
