/* SPDX-License-Identifier: MIT */
/*
 * weft/sim.h - run a concurrent program under a deterministic simulator.
 *
 * Link with libweft-sim (pkg-config weft-sim) instead of libweft.  The program
 * keeps its source and its weft calls.  The simulator runs its threads, time,
 * sleeping and memory on one real thread.  Every decision that a scheduler, a
 * clock or a weakly ordered memory could take is taken by a seeded search:
 *
 *	static void body(void *arg) { ... weft_run(NULL, main_fiber, arg); }
 *
 *	int main(void) { return weft_sim_main(NULL, body, NULL); }
 *
 * The simulator runs body again and again, each time in another schedule, until
 * a schedule fails or the budget is spent.  A failure prints an explanation, a
 * short trace, and a token that replays exactly that schedule:
 *
 *	WEFT_SIM_REPLAY=<token> ./program
 *
 * Level 1, relinked: decisions are taken inside every weft call.  Level 2, also
 * compiled with -fsanitize=thread -Wno-tsan (never linked with it): decisions
 * are taken at every atomic operation of the program too, and its plain
 * accesses are checked for races.
 *
 * body must start from scratch each time.  Before each run the simulator
 * restores the program's own variables; files and other state outside of the
 * process stay as the last run left them.
 *
 * The simulator finds deadlocks, lost wake-ups, leaks, use of freed memory,
 * broken assertions, mutexes and rwlocks that fibers take in a circle, a
 * channel that is given back once too often, a fiber that is woken twice; at
 * level 2 data races too.  It spreads fibers over the workers and lets them
 * give way at any call that may switch, so that small programs show these bugs
 * soon.
 *
 * docs/SIMULATOR.md says which bugs are found, which are not, and how to read a
 * trace.
 */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

/* How schedules are found; weft_sim_opts.modes is any combination of these. */
#define WEFT_SIM_WALK 1u	/* random, stays with a thread for a while */
#define WEFT_SIM_PCT 2u		/* random priorities that change 1 to 4 times */
#define WEFT_SIM_URW 4u		/* random, evenly over interleavings */
#define WEFT_SIM_BOUNDED 8u	/* all schedules with few preemptions */

/* weft_sim_opts.flags */
#define WEFT_SIM_QUIET 1u	/* print nothing; read the report */
#define WEFT_SIM_NO_SHRINK 2u	/* do not look for a simpler failure */
#define WEFT_SIM_STRONG 4u	/* loads always see the newest store */
#define WEFT_SIM_ABA 8u		/* a compare-and-swap fails the schedule if
				 * it succeeds though the value has changed
				 * and come back */
#define WEFT_SIM_LOCK_FREE 16u	/* stop a thread anywhere, for long: all
				 * others must finish without it */
#define WEFT_SIM_LEAKS_OK 32u	/* allow memory to be left allocated */
#define WEFT_SIM_TWICE 64u	/* run every schedule twice and compare, not
				 * only every 256th */
#define WEFT_SIM_INSIDE 128u	/* traces show the inside of weft too; also
				 * set by WEFT_SIM_INSIDE in the environment */
#define WEFT_SIM_ECONOMY 256u	/* keep fibers together on few workers, and let
				 * them run for as many calls, as outside of
				 * the simulator; without it they are spread
				 * over the workers and give way often */

/*
 * What to explore.  Zero in a field means its default, so {0} is complete; a
 * NULL pointer means all defaults.  The struct grows at its end only.  Where a
 * field names a variable of the environment, the variable, if set, wins.
 */
typedef struct weft_sim_opts {
	/* Used in messages and tokens; default: the program's name. */
	const char *name;
	/* Seed of all random choices; default: a new one, which the report
	 * names.  WEFT_SIM_SEED. */
	uint64_t seed;
	/* Number of schedules, at most; default 100,000.
	 * WEFT_SIM_SCHEDULES. */
	uint64_t schedules;
	/* Duration, at most, by a real clock; default: no limit.
	 * WEFT_SIM_BUDGET, in seconds. */
	int64_t budget_ns;
	/* Steps after which a schedule counts as one that never ends; default
	 * 20,000, at most 16,000,000. */
	uint32_t steps;
	/* WEFT_SIM_WALK, ...; default: all modes in turn. */
	uint32_t modes;
	/* Bounds for WEFT_SIM_BOUNDED: preemptions, of threads, and of fibers
	 * that give way at a call; loads of a value that is not the newest;
	 * other surprises (a wake-up without a reason, a deadline that comes
	 * early).  All 0: 2, 1, 1. */
	uint32_t preemptions, stales, surprises;
	/* WEFT_SIM_QUIET, ... */
	uint32_t flags;
	/* Called at every step, unless NULL; may call weft_sim_assert. */
	void (*invariant)(void *arg);
	/* Called when no thread can run before time passes, unless NULL. */
	void (*idle)(void *arg);
	/* With WEFT_SIM_LOCK_FREE, unless NULL: may this thread, as
	 * weft_sim_thread numbers it, be stopped at this step? */
	bool (*may_stop)(void *arg, int thread);
} weft_sim_opts;

/* The outcome of an exploration. */
typedef struct weft_sim_report {
	uint64_t schedules;	/* explored */
	uint64_t steps;		/* in all of them */
	uint64_t seed;		/* the one in use */
	double seconds;		/* real time */
	bool complete;		/* all schedules within the bounds were run */
	bool failed;
	char oracle[32];	/* which check fired: "race", "deadlock", ... */
	char message[512];	/* one sentence */
	char token[1024];	/* replays the schedule as it was found */
	char shrunk[1024];	/* a simpler schedule of this failure; or "" */
} weft_sim_report;

/*
 * What weft_sim_explore calls, with the sizes of the caller's structs.
 *
 * Returns the result of weft_sim_explore.
 *
 * Context: plain thread, outside of a simulation (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_sim_explore_sized(const weft_sim_opts *opts,
	size_t opts_size, void (*body)(void *), void *arg,
	weft_sim_report *report, size_t report_size);

/*
 * Run body(arg) in many schedules, each from scratch.  A process may run one
 * exploration at a time, and must have no other threads then.
 *
 * Returns 0 if no schedule failed; 1 if one did, and the report (unless NULL)
 * describes it; -EINVAL for bad options, with a line on standard error; -E2BIG
 * for options of a newer version; -EBUSY inside a simulation; -ENOMEM.
 *
 * Variables of the environment.  WEFT_SIM_REPLAY=token, or @file for a file
 * with a token, runs the schedule of that token instead; if the token has
 * another name than opts, nothing runs.  WEFT_SIM_SHRINK, if set, then also
 * shrinks a failure.  WEFT_SIM_LOG names a file that gets the decisions of a
 * failure.  WEFT_SIM_TRACE, if set, prints the trace of every schedule.
 *
 * Context: plain thread, outside of a simulation (blocks it).
 */
WEFT_MUST_CHECK static inline int weft_sim_explore(const weft_sim_opts *opts,
	void (*body)(void *), void *arg, weft_sim_report *report)
{
	return weft_sim_explore_sized(opts, sizeof(weft_sim_opts), body, arg,
		report, sizeof(weft_sim_report));
}

/*
 * weft_sim_explore for main(): prints a failure if there is one, and always the
 * line "sim: N schedules, M scenarios, K failures, R schedules/s, seed S".
 *
 * Returns an exit status: 0; 1 after a failure; 2 if nothing could be run.
 *
 * Context: plain thread, outside of a simulation (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_sim_main(
	const weft_sim_opts *opts, void (*body)(void *), void *arg);

/*
 * Run the one schedule that token names.
 *
 * Returns 0 if it does not fail; 1, with a report, if it does; -EINVAL if token
 * is not a token.
 *
 * Context: plain thread, outside of a simulation (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_sim_replay(const weft_sim_opts *opts,
	void (*body)(void *), void *arg, const char *token,
	weft_sim_report *report);

/*
 * Whether this is a simulation.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK bool weft_sim_active(void);

/*
 * Choose a number in [0, n).  Over many schedules all of them are tried; a
 * shrunk schedule prefers 0.  n is from 1 to 65,535, or the schedule fails.
 *
 * Context: simulated thread or fiber.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK unsigned weft_sim_either(unsigned n);

/*
 * Whether the caller shall simulate a fault here: true in about one of
 * per_fault calls in random schedules; a bounded schedule counts it as a
 * surprise.  point is its name in the trace.
 *
 * Context: simulated thread or fiber.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK bool weft_sim_fault(
	const char *point, unsigned per_fault);

/*
 * From now on, until the run ends, refuse memory and threads in about one of
 * per_fault calls of the operating system; 0: never, as when a run begins.
 *
 * Context: simulated thread or fiber.  Never switches.
 */
WEFT_API void weft_sim_os_faults(unsigned per_fault);

/*
 * Wait until nothing else can run unless time passes: every other thread sleeps
 * and every other fiber waits.  Everything they did happens before the return.
 *
 * Context: simulated thread or fiber; may switch.
 */
WEFT_API void weft_sim_quiesce(void);

/*
 * Fail the schedule unless cond holds.  fmt is a printf format.
 *
 * Context: any; outside of a simulation it ends the program.
 */
WEFT_API void weft_sim_assert(bool cond, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Fail the schedule unless cond(arg) becomes true within ns of simulated time.
 * The simulator calls cond whenever nothing can run, so cond must not wait.
 *
 * Context: simulated thread or fiber; may switch.
 */
WEFT_API void weft_sim_assert_eventually(
	bool (*cond)(void *arg), void *arg, int64_t ns, const char *what);

/*
 * Start a simulated thread, for programs that do not only use fibers.
 *
 * Returns the number of the thread; -EAGAIN if there are 15 already, the thread
 * of body and those of runtimes included; -EPERM outside of a simulation.
 *
 * Context: simulated thread or fiber.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_sim_thread(
	void (*fn)(void *), void *arg, const char *name);

/*
 * Wait until the thread has ended.  Join each thread once.
 *
 * Returns 0; -EINVAL if there is no such thread; may be ignored.
 *
 * Context: simulated thread (blocks it).
 */
WEFT_API int weft_sim_join(int thread);

/*
 * Let another thread run, if one can run.  For loops that wait.
 *
 * Context: simulated thread.  Never switches to another fiber.
 */
WEFT_API void weft_sim_yield(void);

/*
 * Give [p, p + bytes) a name in traces until the run ends.
 *
 * Context: simulated thread or fiber.  Never switches.
 */
WEFT_API void weft_sim_name(const void *p, size_t bytes, const char *name);

WEFT_END_DECLS

#endif
