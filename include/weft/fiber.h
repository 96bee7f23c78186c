/* SPDX-License-Identifier: MIT */
/*
 * weft/fiber.h - fibers: functions that can wait without holding a thread.
 *
 * After any call that may switch, a fiber may continue on another thread.  So
 * do not keep across such a call anything that belongs to the thread: the
 * address of errno or of a _Thread_local variable, the result of
 * pthread_self(), a locked pthread mutex.
 *
 * gcc and clang keep the first three across the call on their own, even in code
 * that asks for them again, and no compiler flag prevents that.  For errno
 * include weft/errno.h; for variables and for pthread_self() use the macros of
 * weft/thread_local.h.
 *
 * A fiber ends when its function returns, a task when its run returns.  A fiber
 * or task that ends its thread instead, by pthread_exit, thrd_exit or a
 * pthread_cancel of the thread, ends the program with a message.
 *
 * C++: a fiber has its own exceptions, and may wait in a catch block and in a
 * destructor that runs while an exception unwinds.  No exception may leave the
 * function of a fiber.  The C++ runtime must be loaded when weft is loaded: a
 * program in C that loads code in C++ by dlopen must itself be linked with it
 * (-lstdc++), unless the same dlopen loads libweft.so.
 */
#ifndef WEFT_FIBER_H
#define WEFT_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/attr.h>
#include <weft/key.h>
#include <weft/task.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

/*
 * A fiber.  The handle that weft_spawn gives is valid until a weft_join has
 * returned 0, or weft_detach was called.
 */
typedef struct weft_fiber weft_fiber;

/* How a fiber is made; {0} is complete. */
typedef struct weft_fiber_attr {
	const char *name;	/* borrowed: must outlive the fiber */
	size_t stack_bytes;	/* 0: the runtime's configured size */
	weft_hint hint;		/* where it is queued first */
	uint32_t flags;		/* none yet: 0 */
	weft_executor *executor;	/* NULL: the executor of the caller */
} weft_fiber_attr;

/*
 * Start fn(arg) in a new fiber on the caller's executor.  The fiber cannot be
 * joined.
 *
 * Returns 0; -EINVAL if fn is NULL; -ENOMEM; -ESHUTDOWN; -EPERM on a plain
 * thread (use weft_rt_go there).  On an error fn does not run.
 *
 * Context: fiber or task.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_go(void (*fn)(void *), void *arg);

/*
 * Start fn(arg) in a new fiber.  The caller must join or detach it.  a may be
 * NULL.
 *
 * Returns 0 and the fiber in *f; -ENOMEM; -ESHUTDOWN; -EINVAL for a bad
 * attribute, or if fn is NULL; -EPERM on a plain thread without a->executor; or
 * the error of an executor that refused the fiber.  On an error *f is
 * unchanged.  A fiber on a foreign executor (weft/task.h) belongs to no
 * runtime: stopping a runtime neither waits for it nor cancels it.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_spawn(weft_fiber **f,
	const weft_fiber_attr *a, void *(*fn)(void *), void *arg);

/*
 * Wait until f has ended, store the result of its function into *result (unless
 * result is NULL), and free f.  Only one caller at a time may join f.
 *
 * With WEFT_FOREVER, the caller may run a child that has not started yet on its
 * own stack, instead of waiting for it.
 *
 * Returns 0, and the handle is gone; -ETIMEDOUT at the deadline; -ECANCELED if
 * the calling fiber was cancelled and f has not ended; -EDEADLK if f is the
 * caller; -EAGAIN on a foreign executor (weft/task.h) if no thread could be
 * started to watch the deadline.  On an error the handle stays valid.  A
 * cancelled caller that runs the child on its own stack gets 0.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything f did happens before the return of 0.
 */
WEFT_API WEFT_MUST_CHECK int weft_join(
	weft_fiber *f, void **result, weft_time deadline);

/*
 * Give up the handle of f: f cannot be joined any more, and is freed when it
 * ends.
 *
 * Context: any.  Never switches.
 */
WEFT_API void weft_detach(weft_fiber *f);

/*
 * Ask f to end.  From now on every call in f that would wait returns
 * -ECANCELED, and so does the call in which f waits now.  Calls that need not
 * wait succeed as before; weft/time.h lists the calls that wait all the same.
 * The scopes that f has open are cancelled too.  f itself decides how it
 * reacts: no fiber is ever stopped from outside, and a fiber that has not
 * started yet still runs.
 *
 * The callers must order the join, cancel and detach calls of one handle.
 *
 * Returns 0, also if f has ended; may be ignored.
 *
 * Context: any.  Never switches.
 */
WEFT_API int weft_cancel(weft_fiber *f);

/*
 * While the shield is on, the running fiber sees neither its cancellation nor
 * deadlines that it inherited from a scope.  Use it around work that must be
 * finished or undone in any case.
 *
 *	bool before = weft_shield(true);
 *
 *	... release resources, waiting if need be ...
 *	weft_shield(before);
 *
 * Returns whether the shield was on before; may be ignored.  Outside a fiber it
 * does nothing and returns false.
 *
 * Context: any.  Never switches.
 */
WEFT_API bool weft_shield(bool on);

/*
 * Let all tasks run that are ready now, in the local and in the global queue,
 * before this fiber continues.  Not a cancellation point.  On a plain thread:
 * sched_yield.
 *
 * Context: any.  May switch.
 */
WEFT_API void weft_yield(void);

/*
 * For loops that compute: use up one unit of the fiber's budget, and yield when
 * the budget is empty.  Costs about a nanosecond; does nothing outside a fiber.
 *
 * Context: any.  May switch.
 */
WEFT_API void weft_checkpoint(void);

/*
 * The running fiber; NULL outside a fiber.  The result may be used only inside
 * that fiber, unless the fiber is joinable.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_fiber *weft_self(void);

/*
 * True if the running fiber was cancelled, or if a deadline that it inherited
 * has passed.  False outside a fiber, and while its shield is on.
 *
 * Context: any.  Never switches.
 */
WEFT_API bool weft_cancelled(void);

/*
 * The name that the fiber got at weft_spawn; NULL if it has none.
 *
 * Context: any.  Never switches.
 */
WEFT_API const char *weft_fiber_name(const weft_fiber *f);

/* The state of a fiber, as another thread can see it. */
typedef enum weft_fiber_state {
	WEFT_FIBER_RUNNABLE,	/* in a queue, or about to be */
	WEFT_FIBER_RUNNING,
	WEFT_FIBER_WAITING,
	WEFT_FIBER_DONE,	/* ended, not joined yet */
} weft_fiber_state;

typedef struct weft_fiber_info {
	const char *name;		/* NULL: none */
	void *entry;			/* its function; NULL: not known */
	weft_fiber_state state;
	const char *waits_for;		/* "join", "group", ...; or NULL */
	const void *waits_on;		/* the object; NULL: none */
	weft_time since;		/* about when the wait began; 0: no
					 * wait */
} weft_fiber_info;

/*
 * Describe what f is doing.  If f runs meanwhile, the fields need not belong to
 * the same moment.
 *
 * Context: any.  Never switches.  f is the running fiber, or a handle.
 */
WEFT_API void weft_fiber_look(const weft_fiber *f, weft_fiber_info *info);

/*
 * The base of every way to wait: everything that blocks a fiber is built on it.
 *
 * One weft_wake, from anywhere, resumes a suspended fiber.  Each suspension
 * must be ended exactly once.  commit tells the future waker about the fiber.
 * It runs after the fiber has left its stack, so the fiber may be woken at any
 * moment from then on.  commit returns
 *
 *	true	the fiber is published: commit must not touch the fiber or the
 *		awaiter again
 *	false	the fiber was not published, and continues at once
 *
 * commit runs inside the runtime, on another stack, and may use at most 1 KiB
 * of it; weft_self() is NULL there, and commit may neither wait nor yield.
 *
 * next, if not NULL, is a suspended fiber that the caller has the right to
 * wake.  It runs now, in the caller's place, unless it is the turn of other
 * fibers: fibers that name each other as next cannot starve the others.  If
 * commit returns false, next is made ready and runs soon.
 */
struct weft_awaiter {
	bool (*commit)(struct weft_awaiter *self, weft_fiber *fiber);
	weft_fiber *next;
};

/*
 * Suspend the running fiber.  Not a cancellation point.
 *
 * Returns 0 when the fiber was woken, 1 when commit returned false; -EPERM
 * outside a fiber.
 *
 * Context: fiber.  May switch.
 */
WEFT_API WEFT_MUST_CHECK int weft_suspend(struct weft_awaiter *a);

/*
 * End one suspension of f.  Each suspension must be ended exactly once: the
 * simulator and debug builds of weft end a program that wakes f twice.
 *
 * Context: any.  Never switches.
 * Order:   everything before the wake happens before weft_suspend returns.
 */
WEFT_API void weft_wake(weft_fiber *f, weft_hint hint);

WEFT_END_DECLS

#endif
