/* SPDX-License-Identifier: MIT */
/*
 * weft/sim.h - run a concurrent program under a deterministic simulator.
 *
 * Link with libweft-sim (pkg-config weft-sim) instead of libweft.  The program
 * keeps its source and its weft calls; threads, time, sleeping and memory are
 * then simulated on one real thread, and every decision that a scheduler, a
 * clock or a weakly ordered memory could take is taken by a seeded search:
 *
 *	static void body(void *arg) { ... weft_run(NULL, main_fiber, arg); }
 *
 *	int main(void) { return weft_sim_main(NULL, body, NULL); }
 *
 * The body is run again and again, each time in another schedule, until one
 * fails or the budget is spent.  A failure prints what went wrong, a short
 * trace, and a token that replays exactly that schedule:
 *
 *	WEFT_SIM_REPLAY=<token> ./program
 *
 * Level 1, relinked: decisions are taken inside every weft call.  Level 2,
 * compiled with -fsanitize=thread -Wno-tsan as well (never linked with it):
 * also at every atomic operation of the program itself, whose plain accesses
 * are then watched for races.
 *
 * The body must start from scratch each time.  The program's own variables are
 * put back by the simulator before each run; files and the like are not.
 *
 * docs/SIMULATOR.md says what is found, what is not, and how to read a trace.
 */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

/* How schedules are found; weft_sim_opts.modes is any number of them. */
#define WEFT_SIM_WALK 1u	/* random, staying with a thread for a while */
#define WEFT_SIM_PCT 2u		/* random priorities that change 1 to 4 times */
#define WEFT_SIM_URW 4u		/* random, evenly over interleavings */
#define WEFT_SIM_BOUNDED 8u	/* all schedules with few preemptions */

/* weft_sim_opts.flags */
#define WEFT_SIM_QUIET 1u	/* print nothing; the report has it all */
#define WEFT_SIM_NO_SHRINK 2u	/* report a failure as it was found */
#define WEFT_SIM_STRONG 4u	/* loads always see the newest store */
#define WEFT_SIM_ABA 8u		/* a compare-and-swap fooled by a value that
				   came back is a failure */
#define WEFT_SIM_LOCK_FREE 16u	/* stop a thread anywhere, for long: all others
				   must come to their end without it */
#define WEFT_SIM_LEAKS_OK 32u	/* memory left allocated is no failure */
#define WEFT_SIM_TWICE 64u	/* run every schedule twice and compare, not
				   only each 256th */
#define WEFT_SIM_INSIDE 128u	/* traces tell what happens inside weft too;
				   WEFT_SIM_INSIDE in the environment */

/*
 * What to explore.  Zero in a field means its default, so {0} is complete, and
 * so is NULL in place of it; the struct grows at its end only.  Where a field
 * names a variable of the environment, that one, if set, wins.
 */
typedef struct weft_sim_opts {
	/* For messages and tokens; default: the program's name. */
	const char *name;
	/* Of all random choices; default: a new one, which the report tells.
	 * WEFT_SIM_SEED. */
	uint64_t seed;
	/* How many schedules, at most; default 100,000.  WEFT_SIM_SCHEDULES. */
	uint64_t schedules;
	/* For how long, at most, by a real clock; default: no limit.
	 * WEFT_SIM_BUDGET, in seconds. */
	int64_t budget_ns;
	/* Steps of a schedule, until it counts as one that never ends; default
	 * 20,000, at most 16,000,000. */
	uint32_t steps;
	/* WEFT_SIM_WALK and its like; default: all of them in turn. */
	uint32_t modes;
	/* WEFT_SIM_BOUNDED: so many preemptions; then also so many loads of a
	 * value that is not the newest, and so many other surprises (a wake-up
	 * for no reason, a deadline that comes early).  All 0: 2, 1, 1. */
	uint32_t preemptions, stales, surprises;
	/* WEFT_SIM_QUIET and its like. */
	uint32_t flags;
	/* Called at every step, unless NULL; may use weft_sim_assert. */
	void (*invariant)(void *arg);
	/* Called when no thread can run before time passes, unless NULL. */
	void (*idle)(void *arg);
} weft_sim_opts;

/* What came of it. */
typedef struct weft_sim_report {
	uint64_t schedules;	/* explored */
	uint64_t steps;		/* taken in them */
	uint64_t seed;		/* that was used */
	double seconds;		/* that it took */
	bool complete;		/* all schedules within the bounds were seen */
	bool failed;
	char oracle[32];	/* which check fired: "race", "deadlock", ... */
	char message[512];	/* one sentence */
	char token[1024];	/* replays the schedule as it was found */
	char shrunk[1024];	/* the same failure, less surprising; or "" */
} weft_sim_report;

/*
 * weft_sim_explore below, told the sizes of the caller's structs.
 *
 * Context: plain thread, outside of a simulation (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_sim_explore_sized(const weft_sim_opts *opts,
	size_t opts_size, void (*body)(void *), void *arg,
	weft_sim_report *report, size_t report_size);

/*
 * Run body(arg) in many schedules, each from scratch; one exploration at a time
 * in a process, which has no other threads then.  0: no failure; 1: one
 * was found, and the report (unless NULL) says which; -EINVAL: bad options,
 * with a line on standard error; -E2BIG: options of a newer version; -EBUSY:
 * called from a simulation; -ENOMEM.
 *
 * WEFT_SIM_REPLAY in the environment runs the one schedule of that token (or
 * that is in the file, if it is @file) instead, and nothing if the token is of
 * another name than opts has; WEFT_SIM_SHRINK, if set, shrinks what fails then.
 * WEFT_SIM_LOG names a file that gets the decisions of a failure, and
 * WEFT_SIM_TRACE, if set, has every schedule's trace printed.
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
 * Returns an exit status: 0, 1 after a failure, 2 if nothing could be run.
 *
 * Context: plain thread, outside of a simulation (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_sim_main(
	const weft_sim_opts *opts, void (*body)(void *), void *arg);

/*
 * Run the one schedule that token names: 1 with a report if it fails, 0 if not;
 * -EINVAL if it is no token.
 *
 * Context: plain thread, outside of a simulation (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_sim_replay(const weft_sim_opts *opts,
	void (*body)(void *), void *arg, const char *token,
	weft_sim_report *report);

/*
 * Is this a simulation?
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK bool weft_sim_active(void);

/*
 * Any number in [0, n); all of them are tried.  0 is what a shrunk schedule
 * prefers.  n is from 1 to 65,535, or the schedule fails.
 *
 * Context: simulated thread or fiber.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK unsigned weft_sim_either(unsigned n);

/*
 * Should a fault happen here?  True in about one of per_fault calls, for random
 * schedules; bounded ones count it as a surprise.  point names it in the trace.
 *
 * Context: simulated thread or fiber.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK bool weft_sim_fault(
	const char *point, unsigned per_fault);

/*
 * Let calls of the operating system fail from now on, until the run ends:
 * memory and threads are then refused in about one of per_fault calls, 0 for
 * never (as a run begins).
 *
 * Context: simulated thread or fiber.  Never switches.
 */
WEFT_API void weft_sim_os_faults(unsigned per_fault);

/*
 * Wait until nothing else can run unless time passes: every other thread sleeps
 * and every other fiber waits.  All they did happened before this returns.
 *
 * Context: simulated thread or fiber; may switch.
 */
WEFT_API void weft_sim_quiesce(void);

/*
 * The schedule fails unless cond holds.  Formatted as by printf.
 *
 * Context: any; outside of a simulation it ends the program.
 */
WEFT_API void weft_sim_assert(bool cond, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The schedule fails unless cond(arg) holds within ns of simulated time.  It is
 * asked whenever nothing can run, so it must not wait.
 *
 * Context: simulated thread or fiber; may switch.
 */
WEFT_API void weft_sim_assert_eventually(
	bool (*cond)(void *arg), void *arg, int64_t ns, const char *what);

/*
 * A simulated thread, for programs that are not all fibers.  Its number, or
 * -EAGAIN: there can be 15 at once, body's own and a runtime's among them; or
 * -EPERM: this is no simulation.
 *
 * Context: simulated thread or fiber.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_sim_thread(
	void (*fn)(void *), void *arg, const char *name);

/*
 * Wait for it to end.  Once for each; 0, or -EINVAL if there is no such thread.
 * The result may be ignored.
 *
 * Context: simulated thread (blocks it).
 */
WEFT_API int weft_sim_join(int thread);

/*
 * Let another thread run, if there is one that can.  For loops that wait.
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
