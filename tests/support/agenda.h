/* SPDX-License-Identifier: MIT */
/*
 * tests/support/agenda.h - a test sets the next turn and look of a processor.
 */
#ifndef WEFT_TESTS_SUPPORT_AGENDA_H
#define WEFT_TESTS_SUPPORT_AGENDA_H

#include "sched/proc.h"

/* The next turn comes after turn picks, the next look after look picks. */
static inline void agenda_set(struct wf_proc *p, uint32_t turn, uint32_t look)
{
	uint32_t stop = turn < look ? turn : look;

	p->agenda = (struct wf_agenda){ .pause = stop,
		.stride = p->agenda.stride,
		.stop = stop,
		.turn = turn,
		.look = look };
}

/* How many picks until the next turn of the global queue. */
static inline uint64_t agenda_turn(const struct wf_proc *p)
{
	return p->agenda.turn - (p->agenda.stop - p->agenda.pause);
}

#endif
