/* SPDX-License-Identifier: MIT */
/*
 * weft/runtime.h - the runtime: the threads and processors that fibers run on.
 *
 * Most programs have one, made by weft_run in main.  There may be several at
 * once; a fiber belongs to the one it was started in, for life.
 *
 * The first runtime or executor installs a handler for SIGSEGV, which explains
 * the overflow of a fiber's stack, and passes every signal on to the handler
 * from before.  A plug-in that uses weft may be unloaded with dlclose when its
 * runtimes are stopped and its executors destroyed; the code of weft stays in
 * memory, and with libweft.a so does the plug-in.
 */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include <weft/attr.h>
#include <weft/policy.h>
#include <weft/task.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

struct weft_fiber;
struct weft_fiber_attr;

/* A running runtime: made by weft_rt_start, ended by weft_rt_stop. */
typedef struct weft_rt weft_rt;

/* What kind of work it is; see weft_config. */
enum weft_profile {
	WEFT_PROFILE_NEUTRAL,
	WEFT_PROFILE_COMPUTE_HEAVY,
	WEFT_PROFILE_COMPUTE,
	WEFT_PROFILE_IO,
	WEFT_PROFILE_IO_HEAVY,
};

/* weft_config.flags */
#define WEFT_STRICT_GUARDS 1u	/* refuse stacks without a guard: -ENOMEM */
#define WEFT_WIPE_STACKS 2u	/* nobody sees what was on a stack before */

/*
 * How a runtime is made.  Zero in a field means its default, so {0} is
 * complete; the struct grows at its end only.  A value outside its range is
 * -EINVAL, and one line on standard error says which and why; weft_config_check
 * gives the same sentence without starting anything.
 */
typedef struct weft_config {
	/* Processors: how many fibers run at once; 1 to 4,096.  Default: the
	 * CPUs this process may use.  With several groups it is rounded up so
	 * that all are of one size. */
	uint32_t workers;
	/* Processors in one scheduling group, 1 to 64; as many groups as are
	 * needed, all of one size. */
	uint32_t group_size;
	/* One of enum weft_profile.  They differ in nothing yet. */
	uint32_t profile;

	/* Tasks a processor's own queue holds: a power of two, 2 to 65,536;
	 * default 256.  What does not fit goes to the global queue. */
	uint32_t local_capacity;
	/* Every so many picks the global queue comes first, so that nothing in
	 * it starves: 1 (every second one) to 65,536; default 61. */
	uint32_t global_tick;
	/* So many picks in a row may come from the slot that WEFT_HINT_NEXT
	 * fills: 1 to 65,536; default 3. */
	uint32_t lifo_budget;
	/* Rounds over all victims before a thief gives up: 1 to 64; default
	 * 4.  The last one also takes what is alone in its queue. */
	uint32_t steal_rounds;
	/* Processors of a group that may look for work at once: 1 to 64;
	 * default half of the group, at least one. */
	uint32_t max_searchers;
	/* Calls that need not wait, until the fiber gives way all the same:
	 * 1 to 1,000,000; default 128. */
	uint32_t coop_budget;

	/* OS threads, at most: workers to 1,000,000; default 10,000.  If the
	 * system refuses one, the threads there are do the work; it is asked
	 * again after 1 ms, then after pauses that double up to 1 s. */
	uint32_t max_threads;
	/* Threads that compute without a processor, at most: 1 to 1,000,000.
	 * Of no effect yet. */
	uint32_t max_hogs;
	/* WEFT_STRICT_GUARDS and its like. */
	uint32_t flags;

	/* How long a fiber may keep its processor: 1 us to 1 h.  Of no effect
	 * yet. */
	int64_t quantum_ns;
	/* How long a processor without work looks for some before it sleeps, at
	 * most 1 s; default 50 us.  Negative: not at all. */
	int64_t spin_ns;
	/* How long weft_run waits, when main has returned, for the fibers that
	 * are left; not negative.  Default: for as long as it takes. */
	int64_t stop_ns;
	/* After how long a fiber that runs without a pause is reported; not
	 * negative.  Of no effect yet. */
	int64_t watchdog_ns;

	/* Stack promised to a fiber that does not say otherwise: up to 1 GiB;
	 * default 64 KiB. */
	size_t stack_bytes;

	/* The heuristics of the scheduler; NULL: the default ones. */
	const weft_policy *policy;
} weft_config;

/*
 * weft_rt_start below, told the size of the caller's weft_config.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_rt_start_sized(
	weft_rt **rt, const weft_config *cfg, size_t size);

/*
 * The same for weft_run.
 *
 * Context: plain thread (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_run_sized(const weft_config *cfg, size_t size,
	int (*main)(void *), void *arg);

/*
 * The same for weft_config_check.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_config_check_sized(
	const weft_config *cfg, size_t size, char *why, size_t why_bytes);

/*
 * Start a runtime, run main(arg) in a fiber of it, wait for that, stop it (see
 * weft_rt_stop: fibers that are left are cancelled and waited for).
 *
 * Returns what main returned; or the error of weft_rt_start, and main did not
 * run; -EINVAL if main is NULL; -EDEADLK inside a fiber; -ETIMEDOUT if
 * cfg->stop_ns ended the wait: then the runtime is still there and can no
 * longer be reached.
 *
 * Context: plain thread (blocks it).
 */
WEFT_MUST_CHECK static inline int weft_run(
	const weft_config *cfg, int (*main)(void *), void *arg)
{
	return weft_run_sized(cfg, sizeof(weft_config), main, arg);
}

/*
 * Start a runtime.  cfg may be NULL: all defaults.
 *
 * Returns 0 and the runtime in *rt; -EINVAL for a bad configuration (one line
 * on standard error says which field and why); -E2BIG if cfg comes from a newer
 * header and uses what this library does not know; -ENOMEM; -EAGAIN if no
 * thread could be made.
 *
 * Context: any.  Never switches.
 */
WEFT_MUST_CHECK static inline int weft_rt_start(
	weft_rt **rt, const weft_config *cfg)
{
	return weft_rt_start_sized(rt, cfg, sizeof(weft_config));
}

/*
 * Would weft_rt_start accept cfg?  If not, why says which field and why not, as
 * one sentence of at most why_bytes bytes (200 are enough); why may be NULL.
 *
 * Returns 0, -EINVAL or -E2BIG.
 *
 * Context: any.  Never switches.
 */
WEFT_MUST_CHECK static inline int weft_config_check(
	const weft_config *cfg, char *why, size_t why_bytes)
{
	return weft_config_check_sized(
		cfg, sizeof(weft_config), why, why_bytes);
}

/*
 * Begin the end of rt: no fiber or task is accepted any more (-ESHUTDOWN), and
 * all fibers are cancelled: whoever waits, or would wait, in a call that can
 * return -ECANCELED gets it, until the fiber ends.  Returns at once; the second
 * time it does nothing.
 *
 * Returns 0, which may be ignored.
 *
 * Context: any.  Never switches.
 */
WEFT_API int weft_rt_shutdown(weft_rt *rt);

/*
 * Shut rt down, wait for every fiber to end and every accepted task to run, and
 * free it.  A fiber that waits where nobody can cancel it (weft_suspend) must
 * be woken by somebody.
 *
 * Returns 0, and rt is gone: nobody may call it any more, and it is for the
 * caller to see to that beforehand.  -ETIMEDOUT at the deadline: nothing was
 * freed, and stop may be called again; -EDEADLK inside a fiber or task of rt.
 *
 * Context: plain thread (blocks it), or a fiber of another runtime (blocks its
 * thread).
 */
WEFT_API WEFT_MUST_CHECK int weft_rt_stop(weft_rt *rt, weft_time deadline);

/*
 * Wait until nothing of rt is ready or running: every queue is empty, and every
 * fiber there is waits for something.  If nobody submits or wakes from outside,
 * nothing will run until somebody does.
 *
 * Returns 0; -ETIMEDOUT at the deadline; -EDEADLK inside a fiber or task of rt.
 *
 * Context: plain thread (blocks it), or a fiber of another runtime (blocks its
 * thread).
 * Order:   all that ran before happens before the return of 0.
 */
WEFT_API WEFT_MUST_CHECK int weft_rt_wait_idle(
	weft_rt *rt, weft_time deadline);

/*
 * The runtime as an executor, for weft_submit and weft_fiber_attr.  It lives as
 * long as rt.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_executor *weft_rt_executor(weft_rt *rt);

/*
 * weft_go and weft_spawn (weft/fiber.h), into rt, from any thread.
 *
 * Return 0; -ENOMEM; -ESHUTDOWN; -EINVAL if fn is NULL; weft_rt_spawn returns
 * -EINVAL also for a bad attribute, and for an a->executor that is not rt's
 * (NULL is right).
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_rt_go(
	weft_rt *rt, void (*fn)(void *), void *arg);
WEFT_API WEFT_MUST_CHECK int weft_rt_spawn(weft_rt *rt, struct weft_fiber **f,
	const struct weft_fiber_attr *a, void *(*fn)(void *), void *arg);

/*
 * The runtime whose thread this is, in its fibers and tasks and in those of an
 * executor that it runs; NULL on any other thread.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_rt *weft_rt_self(void);

WEFT_END_DECLS

#endif
