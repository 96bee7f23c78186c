/* SPDX-License-Identifier: MIT */
/*
 * sched/agenda.c - planning turns and looks.
 */
#include "sched/agenda.h"

#include "base/random.h"
#include "sched/tuning.h"

/* Stop at the earlier of turn and look; the last pick was number now. */
static void arm(struct wf_agenda *a, uint64_t now)
{
	a->stop = a->turn < a->look ? a->turn : a->look;
	a->pause = (uint32_t)(a->stop - now);
}

void wf_agenda_turn_in(struct wf_agenda *a, uint64_t picks)
{
	uint64_t now = a->stop - a->pause;

	if (now + picks < a->turn)
		a->turn = now + picks;
	if (a->turn < a->stop)
		arm(a, now);
}

/*
 * The most picks until the next look.  If tasks are long, as many as take
 * look_ns, judged by the picks since the look before.  One short task among
 * long ones says little, so the number at most doubles.
 */
static uint32_t limit(uint32_t stride, uint32_t most, int64_t took_ns)
{
	int64_t fits = wf_tuning.look_ns * stride;

	if (stride == 0)
		return most;
	if (wf_unlikely(fits < took_ns))
		return 1;
	if (most > 2 * stride)
		most = 2 * stride;
	return took_ns <= fits / most ? most : (uint32_t)(fits / took_ns);
}

/* Picks until the next look. */
static uint32_t next_look(struct wf_agenda *a, uint32_t tick, int64_t took_ns,
	struct wf_random *random)
{
	uint32_t least = tick / 2 + 1;
	uint32_t most = limit(a->stride, least + tick - 1, took_ns);

	if (most <= 2)
		return most;
	if (most <= least)
		least = (most + 1) / 2;
	return least + wf_random_below(random, most - least + 1);
}

void wf_agenda_plan(struct wf_agenda *a, uint32_t global_tick, bool turned,
	bool looked, int64_t took_ns, struct wf_random *random)
{
	uint64_t now = a->stop;

	if (turned)
		a->turn = now + global_tick;
	if (looked) {
		a->stride = next_look(a, global_tick, took_ns, random);
		a->look = now + a->stride;
	}
	arm(a, now);
}

void wf_agenda_looked_early(struct wf_agenda *a)
{
	uint64_t now = a->stop - a->pause;

	a->stride = 1;
	a->look = now + 1;
	if (a->turn <= now)
		a->turn = now + 1;
	arm(a, now);
}
