/* SPDX-License-Identifier: MIT */
/*
 * weft/runtime.h - the runtime: the threads and processors that fibers run on.
 *
 * Most programs have one runtime, made by weft_run in main.  A process may have
 * several at once; a fiber belongs to the runtime in which it was started,
 * until it ends.
 *
 * The first runtime or executor installs a handler for SIGSEGV.  It explains
 * the overflow of a fiber's stack, and passes every signal on to the handler
 * that was installed before.  A plug-in that uses weft may be unloaded
 * with dlclose when its runtimes are stopped and its executors destroyed; the
 * code of weft stays in memory, and if the plug-in is linked with libweft.a, so
 * does the plug-in.
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

/* A runtime: weft_rt_start makes it, weft_rt_stop ends it. */
typedef struct weft_rt weft_rt;

/* Kind of work; see weft_config.profile. */
enum weft_profile {
	WEFT_PROFILE_NEUTRAL,
	WEFT_PROFILE_COMPUTE_HEAVY,
	WEFT_PROFILE_COMPUTE,
	WEFT_PROFILE_IO,
	WEFT_PROFILE_IO_HEAVY,
};

/* weft_config.flags */
#define WEFT_STRICT_GUARDS 1u	/* refuse stacks without a guard: -ENOMEM */
#define WEFT_WIPE_STACKS 2u	/* no fiber sees old contents of a stack */

/*
 * How a runtime is made.  Zero in a field means its default, so {0} is
 * complete; the struct grows at its end only.  A value outside its range is
 * -EINVAL, and one line on standard error says which field and why;
 * weft_config_check gives the same sentence without starting anything.
 */
typedef struct weft_config {
	/* Processors: how many fibers run at once; 1 to 4,096.  Default: the
	 * CPUs this process may use.  With several groups it is rounded up so
	 * that all groups have one size. */
	uint32_t workers;
	/* Processors in one scheduling group, 1 to 64.  There are as many
	 * groups as needed, all of one size. */
	uint32_t group_size;
	/* One of enum weft_profile.  No effect yet. */
	uint32_t profile;

	/* Tasks that a processor's own queue holds: a power of two, 2 to
	 * 65,536; default 256.  Tasks that do not fit go to the global
	 * queue. */
	uint32_t local_capacity;
	/* After this many picks the global queue comes first, so that no task
	 * in it starves: 1 (every second pick) to 65,536; default 61. */
	uint32_t global_tick;
	/* How many picks in a row may come from the slot that WEFT_HINT_NEXT
	 * fills: 1 to 65,536; default 3. */
	uint32_t lifo_budget;
	/* Rounds over all victims before a thief gives up: 1 to 64; default 4.
	 * The last round also takes a task that is alone in its queue. */
	uint32_t steal_rounds;
	/* Processors of a group that may look for work at once: 1 to 64;
	 * default half of the group, at least one. */
	uint32_t max_searchers;
	/* How many calls that need not wait a fiber may make before one of them
	 * yields: 1 to 1,000,000; default 128. */
	uint32_t coop_budget;

	/* OS threads, at most: workers to 1,000,000; default 10,000.  If the
	 * system refuses a thread, the existing threads do the work, and weft
	 * asks again after 1 ms, then after pauses that double up to 1 s. */
	uint32_t max_threads;
	/* Threads that compute without a processor, at most: 1 to 1,000,000.
	 * No effect yet. */
	uint32_t max_hogs;
	/* WEFT_STRICT_GUARDS, WEFT_WIPE_STACKS. */
	uint32_t flags;

	/* How long a fiber may keep its processor: 1 us to 1 h.  No effect
	 * yet. */
	int64_t quantum_ns;
	/* How long a processor without work looks for some before it sleeps, at
	 * most 1 s; default 50 us.  Negative: it sleeps at once. */
	int64_t spin_ns;
	/* How long weft_run waits, when main has returned, for the remaining
	 * fibers; not negative.  Default: until they have ended. */
	int64_t stop_ns;
	/* After how long a fiber that runs without a pause is reported; not
	 * negative.  No effect yet. */
	int64_t watchdog_ns;

	/* Stack that a fiber has at least, if its attributes give no size: up
	 * to 1 GiB; default 64 KiB. */
	size_t stack_bytes;

	/* The heuristics of the scheduler; NULL: the defaults. */
	const weft_policy *policy;
} weft_config;

/*
 * What weft_rt_start calls, with the size of the caller's weft_config.
 *
 * Returns the result of weft_rt_start.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_rt_start_sized(
	weft_rt **rt, const weft_config *cfg, size_t size);

/*
 * What weft_run calls, with the size of the caller's weft_config.
 *
 * Returns the result of weft_run.
 *
 * Context: plain thread (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_run_sized(const weft_config *cfg, size_t size,
	int (*main)(void *), void *arg);

/*
 * What weft_config_check calls, with the size of the caller's weft_config.
 *
 * Returns the result of weft_config_check.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_config_check_sized(
	const weft_config *cfg, size_t size, char *why, size_t why_bytes);

/*
 * Start a runtime, run main(arg) in a fiber of it, wait until main has
 * returned, and stop the runtime (see weft_rt_stop: the remaining fibers are
 * cancelled, and weft_run waits until they have ended).
 *
 * Returns the result of main; or the error of weft_rt_start, and main did not
 * run; -EINVAL if main is NULL; -EDEADLK inside a fiber; -ETIMEDOUT if
 * cfg->stop_ns ended the wait: then the runtime still exists, and no call can
 * reach it any more.
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
 * header and sets a field that this library does not know; -ENOMEM; -EAGAIN if
 * no thread could be made.
 *
 * Context: any.  Never switches.
 */
WEFT_MUST_CHECK static inline int weft_rt_start(
	weft_rt **rt, const weft_config *cfg)
{
	return weft_rt_start_sized(rt, cfg, sizeof(weft_config));
}

/*
 * Test whether weft_rt_start would accept cfg.  If not, why gets one sentence
 * of at most why_bytes bytes that says which field is wrong and why (200 bytes
 * are enough); why may be NULL.
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
 * Begin to stop rt.  It accepts no fiber and no task any more (-ESHUTDOWN), and
 * all its fibers are cancelled: a call in which one waits, or would wait,
 * returns -ECANCELED if it can.  Returns at once; a second call does nothing.
 *
 * Returns 0, which may be ignored.
 *
 * Context: any.  Never switches.
 */
WEFT_API int weft_rt_shutdown(weft_rt *rt);

/*
 * Shut rt down, wait until every fiber has ended and every accepted task has
 * run, and free rt.  A fiber that waits in a call that no cancellation ends
 * (weft/time.h lists them) must be woken by the program.
 *
 * Returns 0, and rt is freed: the caller must make sure that no thread uses it
 * any more.  -ETIMEDOUT at the deadline: nothing was freed, and weft_rt_stop
 * may be called again; -EDEADLK inside a fiber or task of rt.
 *
 * Context: plain thread (blocks it), or a fiber of another runtime (blocks its
 * thread).
 */
WEFT_API WEFT_MUST_CHECK int weft_rt_stop(weft_rt *rt, weft_time deadline);

/*
 * Wait until nothing in rt is ready or running: every queue is empty, and every
 * fiber waits.  From then on nothing runs until a timer expires, or another
 * thread submits a task or wakes a fiber.
 *
 * Returns 0; -ETIMEDOUT at the deadline; -EDEADLK inside a fiber or task of rt.
 *
 * Context: plain thread (blocks it), or a fiber of another runtime (blocks its
 * thread).
 * Order:   everything that ran before happens before the return of 0.
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
 * Like weft_go and weft_spawn (weft/fiber.h), but start the fiber in rt, from
 * any thread.
 *
 * Return 0; -ENOMEM; -ESHUTDOWN; -EINVAL if fn is NULL; weft_rt_spawn returns
 * -EINVAL also for a bad attribute, and for an a->executor that is neither NULL
 * nor rt's.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_rt_go(
	weft_rt *rt, void (*fn)(void *), void *arg);
WEFT_API WEFT_MUST_CHECK int weft_rt_spawn(weft_rt *rt, struct weft_fiber **f,
	const struct weft_fiber_attr *a, void *(*fn)(void *), void *arg);

/*
 * The runtime that owns this thread; NULL on a plain thread.  In a task or
 * fiber of an executor that runs on a runtime, it is that runtime.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_rt *weft_rt_self(void);

WEFT_END_DECLS

#endif
