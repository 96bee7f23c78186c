/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/chan_kit.h - the actors in the scenarios of channels and select.
 *
 * Each scenario has a CAST of two to four actors.  How they are played differs:
 * as threads, as fibers on two workers, or as both.  All that a call was given
 * (values, cases) lies in memory that is freed the instant it returns, and what
 * the stack held below is overwritten: a late access is caught.
 */
#ifndef WEFT_TESTS_SIM_CHAN_KIT_H
#define WEFT_TESTS_SIM_CHAN_KIT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/sim.h>
#include <weft/weft.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/os.h"
#include "sim/fiber_kit.h"

/* How the actors are played; by fibers also where there is a membarrier. */
enum cast { THREADS, FIBERS, MIXED, COARSE, FENCED };

enum { ACTORS = 5, NOTHING = -1 };

struct actor {
	void (*fn)(void *arg);
	void *arg;
};

/* The fibers of the cast that is on; NULL: it is a thread. */
static weft_fiber *cast_fiber[ACTORS];
static struct actor cast_actor[ACTORS];

static inline void *cast_main(void *arg)
{
	struct actor *a = arg;
	weft_fiber *self = weft_self();

	a->fn(a->arg);
	duo_check_here(self);
	return NULL;
}

/* Everybody plays to the end. */
static inline void cast_run(enum cast cast, const struct actor *actors)
{
	int ids[ACTORS];
	unsigned n = 0;

	if (cast != THREADS)
		duo_open(cast == COARSE		? DUO_COARSE
				: cast == FENCED ? DUO_FENCED
						 : 0);
	for (; n < ACTORS && actors[n].fn != NULL; n++) {
		cast_actor[n] = actors[n];
		if (cast != THREADS && (cast != MIXED || n % 2 == 0))
			cast_fiber[n] = duo_handle(cast == MIXED ? n / 2 % 2 :
								   n % 2,
				cast_main, &cast_actor[n]);
	}
	if (cast != THREADS)
		duo_start();
	for (unsigned i = 0; i < n; i++)
		if (cast_fiber[i] == NULL)
			ids[i] = duo_thread(
				actors[i].fn, actors[i].arg, "actor");
	for (unsigned i = 0; i < n; i++)
		if (cast_fiber[i] == NULL)
			(void)weft_sim_join(ids[i]);
	if (cast == THREADS)
		return;
	duo_join();
	for (unsigned i = 0; i < n; i++)
		if (cast_fiber[i] != NULL)
			weft_detach(cast_fiber[i]);
	duo_close();
}

/* ------------------------------------------------------------------------ */
/* Calls, after which nothing is left where they worked. */

static inline weft_chan *kit_chan(size_t capacity)
{
	weft_chan *c = NULL;
	int err = weft_chan_create(&c, sizeof(int), capacity);

	weft_sim_assert(err == 0, "no channel: %d", err);
	return c;
}

static inline int kit_send(weft_chan *c, int value, weft_time deadline)
{
	int *v = duo_alloc(sizeof(*v)), err;

	*v = value;
	err = weft_chan_send(c, v, deadline);
	weft_sim_assert(*v == value, "a send changed the value");
	wf_os_free(v);
	duo_scribble();
	return err;
}

/* *value is untouched on an error. */
static inline int kit_recv(weft_chan *c, int *value, weft_time deadline)
{
	int *v = duo_alloc(sizeof(*v)), err;

	*v = NOTHING;
	err = weft_chan_recv(c, v, deadline);
	weft_sim_assert((*v == NOTHING) == (err != 0),
		"recv says %d and left %d", err, *v);
	if (err == 0)
		*value = *v;
	wf_os_free(v);
	duo_scribble();
	return err;
}

/* One case of a select, and what came of it. */
struct pick {
	int op;
	void *obj;
	int value;	/* sent; received, of the one that was done */
	int result;	/* of that one */
};

enum { PICKS = 4, UNTOUCHED = 4711 };

/* The index of the case, or the error. */
static inline int kit_select(struct pick *p, size_t n, weft_time deadline)
{
	weft_case *cases = duo_alloc(PICKS * sizeof(*cases));
	int *v = duo_alloc(PICKS * sizeof(*v)), done;

	for (size_t i = 0; i < n; i++) {
		v[i] = p[i].op == WEFT_SEND ? p[i].value : NOTHING;
		cases[i] = (weft_case){ .op = p[i].op,
			.result = UNTOUCHED,
			.obj = p[i].obj };
		if (p[i].op == WEFT_SEND || p[i].op == WEFT_RECV)
			cases[i].value = &v[i];
	}
	done = weft_select(cases, n, deadline);
	for (size_t i = 0; i < n; i++) {
		bool won = (int)i == done;

		weft_sim_assert((cases[i].result == UNTOUCHED) == !won,
			"%d is done, and %zu has %d", done, i,
			cases[i].result);
		weft_sim_assert(p[i].op != WEFT_RECV ||
				(v[i] == NOTHING) ==
					(!won || cases[i].result != 0),
			"%d is done, and %zu received %d", done, i, v[i]);
		if (won)
			p[i].result = cases[i].result;
		if (won && p[i].op == WEFT_RECV)
			p[i].value = v[i];
	}
	wf_os_free(v);
	wf_os_free(cases);
	duo_scribble();
	return done;
}

#endif
