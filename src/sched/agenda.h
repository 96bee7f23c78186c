/* SPDX-License-Identifier: MIT */
/*
 * sched/agenda.h - in which picks a processor does more than to pick.
 *
 * Most picks take the head of a queue.  Two kinds STOP for more:
 *
 *	TURN	the global queue has its turn, every global_tick picks
 *	LOOK	the holder reads the clock and serves events, every global_tick
 *		picks on average, at random: a look also measures how long the
 *		picked fiber was ready, and at a fixed distance from the turns
 *		it would measure only tasks of the global queue, or none
 *
 * Looks come sooner while tasks are long: about every 1 ms, or after each task
 * that takes longer, because timers wait for a look.  A look is at most
 * 3/2 * global_tick picks after the one before.
 *
 * Picks are numbered.  The numbers of the next turn and of the next look are
 * kept, and the earlier of them, `stop', is counted down: a pick that does not
 * stop costs one decrement.  The number of the last pick is stop - pause.
 *
 * Reads next: sched/turn.h
 */
#ifndef WF_SCHED_AGENDA_H
#define WF_SCHED_AGENDA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct wf_random;

struct wf_agenda {
	uint32_t pause;			/* picks until the next stop */
	uint32_t stride;		/* picks between the last two looks;
					   0: there were none */
	uint64_t stop;			/* the number of the next stop */
	uint64_t turn;			/* of the next turn, at least stop */
	uint64_t look;			/* of the next look, at least stop */
};

/* Count one pick.  True: it stops. */
wf_must_check wf_inline bool wf_agenda_stops(struct wf_agenda *a)
{
	return --a->pause == 0;
}

/* Will the next pick stop? */
static inline bool wf_agenda_is_due(const struct wf_agenda *a)
{
	return a->pause <= 1;
}

/* Every pick stops until the agenda is planned again. */
static inline void wf_agenda_stop_next(struct wf_agenda *a)
{
	a->stop += 1 - (uint64_t)a->pause;
	a->pause = 1;
}

/* The global queue has its turn after so many picks, or before. */
void wf_agenda_turn_in(struct wf_agenda *a, uint64_t picks);

/* A pick stops.  Is it a turn?  Is it a look? */
static inline bool wf_agenda_is_turn(const struct wf_agenda *a)
{
	return a->stop >= a->turn;
}

static inline bool wf_agenda_is_look(const struct wf_agenda *a)
{
	return a->stop >= a->look;
}

/*
 * A pick has stopped, or stops in place of the next one.  Plan the next stops:
 * turned: this was a turn; looked: it was a look, and since the look before it
 * took_ns went by.
 */
void wf_agenda_plan(struct wf_agenda *a, uint32_t global_tick, bool turned,
	bool looked, int64_t took_ns, struct wf_random *random);

/*
 * There was a look before its time.  The next one follows the next pick, whose
 * task may be long.  The turn stays where it is.
 */
void wf_agenda_looked_early(struct wf_agenda *a);

#endif
