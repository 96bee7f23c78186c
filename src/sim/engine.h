/* SPDX-License-Identifier: MIT */
/*
 * sim/engine.h - one run of a program on simulated threads.
 *
 * Roles.  Simulated threads are contexts on the one real thread.  The CURRENT
 * one runs until a POINT (every atomic operation, every sequentially consistent
 * fence, and calls of the operating system that other threads can notice);
 * there another thread may be chosen and switched to directly.  The CONTROLLER
 * is the real thread's own stack: it starts a run and gets control back when
 * the last thread has ended or a check has failed.  It then abandons the
 * threads, because everything they have lies in an arena that the next run uses
 * afresh.
 *
 * Invariants.
 *	(E1) Everything that could differ in another run is decided by
 *	     wf_sim_choose, so a run is a function of its decisions.
 *	(E2) Decision 0 is always the dull one: stay with the thread, read the
 *	     newest value, nothing fails.  The other decisions alone describe a
 *	     run.
 *	(E3) A decision is named by its thread and by how many points that
 *	     thread has passed, so removing a decision leaves the names of
 *	     those before it, and of most after it, as they are.
 *	(E4) The simulator's own data lies in memory of its own; the program's
 *	     variables are restored before each run.
 *
 * Time is virtual: WF_SIM_TICK_NS a point, and a jump to the next deadline when
 * no thread can run.  A deadline may also come early (WF_SIM_TIME), because
 * threads may be arbitrarily slow.
 *
 * Reads next: sim/memory.h, the values a load may see; sim/search.h, which
 * takes the decisions.
 */
#ifndef WF_SIM_ENGINE_H
#define WF_SIM_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/sim.h>

#include "arch/context.h"
#include "base/compiler.h"
#include "os/cxx.h"
#include "sim/clock.h"

#define WF_SIM_TICK_NS 100

/* The kinds of decisions. */
enum wf_sim_kind {
	WF_SIM_THREAD,		/* next thread to run; value: its number */
	WF_SIM_STORE,		/* store that a load reads: how many back */
	WF_SIM_WEAK,		/* a weak compare-and-swap fails: 1 */
	WF_SIM_WAKE,		/* which sleeper is woken */
	WF_SIM_SPURIOUS,	/* a sleep ends at once: 1 */
	WF_SIM_TIME,		/* the next deadline is now: 1 */
	WF_SIM_FAULT,		/* a call fails: 1 */
	WF_SIM_RANDOM,		/* a seed for the program */
	WF_SIM_EITHER,		/* weft_sim_either */
	WF_SIM_FREEZE,		/* the thread stops here: 1 */
	WF_SIM_BUDGET,		/* calls until a fiber gives way; 0: all */
	WF_SIM_KINDS,
};

struct wf_sim_decision {
	uint32_t at;		/* points of its thread */
	uint16_t value;		/* never 0, except for WF_SIM_THREAD */
	uint8_t thread;
	uint8_t kind;
	uint8_t sub;		/* index among this kind at this point */
};

enum wf_sim_state {
	WF_SIM_READY,		/* can run, or runs */
	WF_SIM_ASLEEP,		/* on a futex, or until a deadline */
	WF_SIM_JOINS,		/* until another thread ends */
	WF_SIM_QUIET,		/* until no other thread can run */
	WF_SIM_ENDED,
};

struct wf_sim_thread {
	struct wf_context context;
	uint32_t id;
	uint32_t points;		/* how many it has passed */
	uint8_t subs[WF_SIM_KINDS];	/* decisions at this point */
	uint32_t sub_at;		/* the point that subs counts for */
	enum wf_sim_state state;
	bool joined;

	/* Its memory; see sim/memory.h. */
	wf_clock hb, view;		/* happened before; seen */
	wf_clock acq_hb, acq_view;	/* added by an acquire fence */
	wf_clock rel_hb, rel_view;	/* at its last release fence */
	wf_clock lit_view;		/* at its last light fence */
	wf_clock due_view;		/* added by its next light fence */

	/* Asleep. */
	const void *futex;		/* NULL: only until the deadline */
	int64_t deadline_ns;
	int result;			/* of the sleep */
	uint32_t target;		/* JOINS: the thread */

	/* Of the program. */
	void *self;			/* wf_os_self() */
	struct wf_cxx cxx;		/* wf_os_cxx() */
	int saved_errno;
	void *tls;			/* its thread-local variables, if any */
	void (*fn)(void *);
	void *arg;
	char name[24];
	char *stack;			/* low end */

	uintptr_t pc;			/* address of its last point, for
					 * reports */
	const char *call;		/* the OS call it is in, or NULL */
};

struct wf_sim_failure {
	bool failed;
	uint32_t thread;
	const void *addr;		/* the bytes in question, or NULL */
	char oracle[32];
	char message[512];
	char fibers[2048];		/* deadlock: a line for each; or "" */
};

/* Everything that determines one run, besides the program and its options. */
struct wf_sim_run {
	uint32_t mode;			/* WEFT_SIM_WALK..., or WF_SIM_LIST */
	uint64_t seed;
	uint32_t depth;			/* WEFT_SIM_PCT */
	uint32_t length;		/* estimated steps */
	uint32_t share[WF_SIM_THREADS];	/* WEFT_SIM_URW: steps of each thread */
	const struct wf_sim_decision *list;
	size_t list_count;
};

#define WF_SIM_LIST 0x80000000u		/* by a list of decisions */

struct wf_sim {
	uint64_t runs;			/* begun */

	/* The run. */
	bool running;
	bool active;			/* and not in a check of the user */
	struct wf_sim_thread *current;
	struct wf_sim_thread thread[WF_SIM_THREADS];
	uint32_t threads;		/* started */
	uint32_t ready;			/* mask: threads that can run */
	uint32_t timed;			/* mask: asleep with a deadline */
	uint32_t quiet;			/* mask: WF_SIM_QUIET */
	uint32_t steps;
	uint32_t limit;
	int64_t now_ns;
	int64_t next_ns;		/* the earliest deadline */
	uint64_t digest;
	struct wf_sim_thread *frozen;	/* WEFT_SIM_LOCK_FREE: stopped thread */
	bool thawed;			/* it continues */
	uint32_t faults;		/* a fault in one of so many calls; 0:
					 * none */
	struct wf_sim_failure failure;
	struct wf_context controller;

	/* Its options. */
	uint32_t flags;
	void (*invariant)(void *);
	void (*idle)(void *);
	bool (*may_stop)(void *, int);
	void (*body)(void *);
	void *arg;

	/* Its decisions. */
	const struct wf_sim_run *how;
	struct wf_sim_decision *log;	/* all that were not dull */
	size_t log_count;
	bool log_full;

	/* For reports. */
	bool tracing;
	const void *watch;		/* trace plain accesses here */
};

/* The simulator's own memory, never among the program's variables. */
extern struct wf_sim *wf_sim;

/* Make it, once; -ENOMEM. */
wf_must_check int wf_sim_open(void);

/* Make one run; a failure is stored in wf_sim->failure. */
void wf_sim_run(const struct wf_sim_run *how);

/* Whether the caller is simulated, and not the simulator itself. */
static inline bool wf_sim_on(void)
{
	return wf_sim != NULL && wf_sim->active;
}

/* Choose a number in [0, n); 0 is the dull one.  n > 0. */
unsigned wf_sim_choose(enum wf_sim_kind kind, unsigned n);

/*
 * The current thread is about to do something that others may see.  relax: it
 * waits for another thread.
 */
void wf_sim_point(uintptr_t pc, bool relax);

/* Sleep until wake or the deadline; returns the result of wf_os_futex_wait. */
int wf_sim_sleep(const void *futex, int64_t deadline_ns);
unsigned wf_sim_wake(const void *futex, unsigned n);

/* Wait until no other thread can run; everything they did happened before. */
void wf_sim_quiesce(void);

/* Start a thread: returns its number or -EAGAIN.  Join it: 0 or -EINVAL. */
int wf_sim_thread_start(void (*fn)(void *), void *arg, const char *name);
int wf_sim_thread_join(uint32_t id);

/* Whether a call of the operating system shall fail. */
bool wf_sim_fault_now(void);

/* End the run as failed: oracle names the check, addr the bytes in question. */
wf_noreturn void wf_sim_fail(const char *oracle, const void *addr,
	const char *fmt, ...) wf_printf(3, 4);

/* A name for thread t, as in "2 (thief)". */
const char *wf_sim_thread_name(uint32_t t);

#endif
