/* SPDX-License-Identifier: MIT */
/*
 * sim/engine.h - one run of a program on simulated threads.
 *
 * Roles.  Simulated threads are contexts on the one real thread; the CURRENT
 * one runs until a POINT (every atomic operation, every sequentially consistent
 * fence, and calls of the operating system that others can notice), where
 * another may be chosen and switched to directly.  The CONTROLLER is the real
 * thread's own stack: it starts a run and gets control back when the last
 * thread has ended or a check has failed; what the threads were doing then is
 * simply forgotten, because everything they have lies in an arena that the next
 * run uses afresh.
 *
 * Invariants.
 *	(E1) Whatever could be otherwise in another run is decided by
 *	     wf_sim_choose, so a run is a function of its decisions.
 *	(E2) Decision 0 is always the dull one: stay with the thread, read the
 *	     newest value, nothing fails.  A run is told by the others alone.
 *	(E3) A decision is named by its thread and by how many points that
 *	     thread has passed, so taking one away leaves the names of those
 *	     before it, and of most behind it, as they are.
 *	(E4) What the simulator itself keeps lies in memory of its own; the
 *	     program's variables are put back before each run.
 *
 * Time is virtual: WF_SIM_TICK_NS a point, and a jump to the next deadline when
 * nobody can run.  A deadline may also come early (WF_SIM_TIME): threads can be
 * as slow as they like.
 *
 * Reads next: sim/memory.h, what a load may see; sim/search.h, who decides.
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

/* What is decided. */
enum wf_sim_kind {
	WF_SIM_THREAD,		/* who runs next; the value is its number */
	WF_SIM_STORE,		/* which store a load reads: how many back */
	WF_SIM_WEAK,		/* a weak compare-and-swap fails: 1 */
	WF_SIM_WAKE,		/* which of the sleepers is woken */
	WF_SIM_SPURIOUS,	/* a sleep ends at once: 1 */
	WF_SIM_TIME,		/* the next deadline is now: 1 */
	WF_SIM_FAULT,		/* a call fails: 1 */
	WF_SIM_RANDOM,		/* a seed for the program */
	WF_SIM_EITHER,		/* weft_sim_either */
	WF_SIM_FREEZE,		/* the thread stops here: 1 */
	WF_SIM_KINDS,
};

struct wf_sim_decision {
	uint32_t at;		/* points of its thread */
	uint16_t value;		/* never 0, except for WF_SIM_THREAD */
	uint8_t thread;
	uint8_t kind;
	uint8_t sub;		/* which of this kind at this point */
};

enum wf_sim_state {
	WF_SIM_READY,		/* can run, or runs */
	WF_SIM_ASLEEP,		/* on a futex, or until a deadline */
	WF_SIM_JOINS,		/* until a thread ends */
	WF_SIM_QUIET,		/* until nobody else can run */
	WF_SIM_ENDED,
};

struct wf_sim_thread {
	struct wf_context context;
	uint32_t id;
	uint32_t points;		/* that it has passed */
	uint8_t subs[WF_SIM_KINDS];	/* decisions at this point */
	uint32_t sub_at;		/* of which subs counts */
	enum wf_sim_state state;
	bool joined;

	/* Its memory; see sim/memory.h. */
	wf_clock hb, view;		/* what happened before, what it sees */
	wf_clock acq_hb, acq_view;	/* what an acquire fence would add */
	wf_clock rel_hb, rel_view;	/* at its last release fence */
	wf_clock lit_view;		/* at its last light fence */
	wf_clock due_view;		/* what the next one adds */

	/* Asleep. */
	const void *futex;		/* NULL: only until the deadline */
	int64_t deadline_ns;
	int result;			/* of the sleep */
	uint32_t target;		/* JOINS: whom */

	/* The program's. */
	void *self;			/* wf_os_self() */
	struct wf_cxx cxx;		/* wf_os_cxx() */
	int saved_errno;
	void *tls;			/* its thread-local variables, if any */
	void (*fn)(void *);
	void *arg;
	char name[24];
	char *stack;			/* low end */

	uintptr_t pc;			/* of its last point, for reports */
	const char *call;		/* the OS call it is in, or NULL */
};

struct wf_sim_failure {
	bool failed;
	uint32_t thread;
	const void *addr;		/* the bytes it is about, or NULL */
	char oracle[32];
	char message[512];
	char fibers[2048];		/* a deadlock's: lines, or "" */
};

/* How to make one run: with the program and its options, all of it. */
struct wf_sim_run {
	uint32_t mode;			/* WEFT_SIM_WALK..., or WF_SIM_LIST */
	uint64_t seed;
	uint32_t depth;			/* WEFT_SIM_PCT */
	uint32_t length;		/* steps, as estimated */
	uint32_t share[WF_SIM_THREADS];	/* WEFT_SIM_URW: steps of each */
	const struct wf_sim_decision *list;
	size_t list_count;
};

#define WF_SIM_LIST 0x80000000u		/* by a list of decisions */

struct wf_sim {
	uint64_t runs;			/* begun */

	/* The run. */
	bool running;
	bool active;			/* and not in a check of the user's */
	struct wf_sim_thread *current;
	struct wf_sim_thread thread[WF_SIM_THREADS];
	uint32_t threads;		/* started */
	uint32_t ready;			/* mask: who can run */
	uint32_t timed;			/* mask: asleep with a deadline */
	uint32_t quiet;			/* mask: WF_SIM_QUIET */
	uint32_t steps;
	uint32_t limit;
	int64_t now_ns;
	int64_t next_ns;		/* the earliest deadline */
	uint64_t digest;
	struct wf_sim_thread *frozen;	/* WEFT_SIM_LOCK_FREE: who stopped */
	bool thawed;			/* and goes on */
	uint32_t faults;		/* one of so many calls; 0: none */
	struct wf_sim_failure failure;
	struct wf_context controller;

	/* Its options. */
	uint32_t flags;
	void (*invariant)(void *);
	void (*idle)(void *);
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

/* Memory of the simulator's own, never among the program's variables. */
extern struct wf_sim *wf_sim;

/* Make it, once; -ENOMEM. */
wf_must_check int wf_sim_open(void);

/* One run; what failed is in wf_sim->failure. */
void wf_sim_run(const struct wf_sim_run *how);

/* Is the caller simulated, and not the simulator? */
static inline bool wf_sim_on(void)
{
	return wf_sim != NULL && wf_sim->active;
}

/* A number in [0, n); 0 is the dull one.  n > 0. */
unsigned wf_sim_choose(enum wf_sim_kind kind, unsigned n);

/*
 * The current thread is about to do something others may see.  relax: it waits
 * for somebody else.
 */
void wf_sim_point(uintptr_t pc, bool relax);

/* Sleep until woken by wake or the deadline; what wf_os_futex_wait returns. */
int wf_sim_sleep(const void *futex, int64_t deadline_ns);
unsigned wf_sim_wake(const void *futex, unsigned n);

/* Until nobody else can run; all that they did is seen then. */
void wf_sim_quiesce(void);

/* Start a thread: its number or -EAGAIN.  Join it: 0 or -EINVAL. */
int wf_sim_thread_start(void (*fn)(void *), void *arg, const char *name);
int wf_sim_thread_join(uint32_t id);

/* Should a call of the operating system fail? */
bool wf_sim_fault_now(void);

/* The run ends here: oracle says which check, addr what it is about. */
wf_noreturn void wf_sim_fail(const char *oracle, const void *addr,
	const char *fmt, ...) wf_printf(3, 4);

/* A name for thread t, as in "2 (thief)". */
const char *wf_sim_thread_name(uint32_t t);

#endif
