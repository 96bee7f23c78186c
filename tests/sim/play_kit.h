/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/play_kit.h - play actors, each a thread or a fiber, to their end.
 */
#ifndef WEFT_TESTS_SIM_PLAY_KIT_H
#define WEFT_TESTS_SIM_PLAY_KIT_H

#include "sim/fiber_kit.h"

enum { ACTORS = 4 };

/* Bit i of fibers: actor i is a fiber; of second: on the second worker. */
struct play {
	unsigned fibers;
	unsigned second;
	unsigned duo;			/* flags of duo_open */
	void (*act)(void *arg);
	struct actor {
		const struct play *play;	/* set by play_all */
		void *arg;
	} actor[ACTORS];
};

static inline void *play_fiber(void *arg)
{
	struct actor *a = arg;
	weft_fiber *self = weft_self();

	a->play->act(a->arg);
	duo_check_here(self);
	return NULL;
}

/* The first n actors; fiber[i] is the handle of actor i if it is a fiber. */
static inline void play_all(struct play *p, unsigned n, weft_fiber **fiber)
{
	int thread[ACTORS] = { 0 };

	if (p->fibers != 0)
		duo_open(p->duo);
	for (unsigned i = 0; i < n; i++) {
		p->actor[i].play = p;
		if (p->fibers >> i & 1)
			fiber[i] = duo_handle(p->second >> i & 1, play_fiber,
				&p->actor[i]);
	}
	if (p->fibers != 0)
		duo_start();
	for (unsigned i = 0; i < n; i++)
		if (!(p->fibers >> i & 1))
			thread[i] = duo_thread(
				p->act, p->actor[i].arg, "actor");
	if (p->fibers != 0)
		duo_join();
	for (unsigned i = 0; i < n; i++)
		if (!(p->fibers >> i & 1))
			(void)weft_sim_join(thread[i]);
	for (unsigned i = 0; i < n; i++)
		if (p->fibers >> i & 1)
			weft_detach(fiber[i]);
	if (p->fibers != 0)
		duo_close();
}

#define PLAY(...)                                           \
	do {                                                \
		static act *const acts[] = { __VA_ARGS__ }; \
		play(sizeof(acts) / sizeof(acts[0]), acts); \
	} while (0)

#endif
