/* SPDX-License-Identifier: MIT */
/*
 * weft/fiber.h - fibers: functions that can wait without holding a thread.
 *
 * A fiber may go on, after any call that may switch, on another thread than
 * before.  So do not keep across such a call what belongs to the thread: the
 * address of errno or of a _Thread_local variable, pthread_self(), a held
 * pthread mutex.
 *
 * gcc and clang keep the first three on their own, in code that asks anew after
 * the call, and no flag stops them.  For errno include weft/errno.h; for
 * variables and for pthread_self() use the macros of weft/thread_local.h.
 *
 * A fiber ends by the return of its function, a task by the return of its run.
 * One that ends its thread instead, by pthread_exit, by thrd_exit or by a
 * pthread_cancel of the thread, ends the program with a message.
 *
 * C++: a fiber has its own exceptions, and may wait in a catch block and in a
 * destructor that runs while an exception unwinds.  No exception may leave the
 * function of a fiber.  The C++ runtime must be there when weft is loaded: a
 * program in C that loads code in C++ by dlopen must itself be linked with it
 * (-lstdc++), unless libweft.so is loaded by the same dlopen.
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
 * A fiber.  The handle that weft_spawn gives is good until one weft_join has
 * returned 0, or weft_detach was called.
 */
typedef struct weft_fiber weft_fiber;

/* How a fiber is made; {0} is complete. */
typedef struct weft_fiber_attr {
	const char *name;	/* borrowed: must outlive the fiber */
	size_t stack_bytes;	/* 0: as the runtime's configuration says */
	weft_hint hint;		/* where it starts */
	uint32_t flags;		/* none yet: 0 */
	weft_executor *executor;	/* NULL: the one we are on */
} weft_fiber_attr;

/*
 * Start fn(arg) in a new fiber that nobody waits for, on the executor that runs
 * the caller.
 *
 * Returns 0; -EINVAL if fn is NULL; -ENOMEM; -ESHUTDOWN; -EPERM on a plain
 * thread (there weft_rt_go does it).  On an error fn does not run.
 *
 * Context: fiber or task.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_go(void (*fn)(void *), void *arg);

/*
 * Start fn(arg) in a new fiber, which must be joined or detached.  a may be
 * NULL.
 *
 * Returns 0 and the fiber in *f; -ENOMEM; -ESHUTDOWN; -EINVAL for a bad
 * attribute, or if fn is NULL; -EPERM on a plain thread without a->executor; or
 * what the executor says that refused it.  On an error *f is as before.  A
 * fiber on an executor that is no runtime's belongs to no runtime: none waits
 * for it or cancels it.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_spawn(weft_fiber **f,
	const weft_fiber_attr *a, void *(*fn)(void *), void *arg);

/*
 * Wait until f has ended, store what its function returned into *result (which
 * may be NULL), and let go of it.  One caller at a time.
 *
 * With WEFT_FOREVER a child that has not started may run right here, on the
 * caller's stack.
 *
 * Returns 0 and the handle is gone; -ETIMEDOUT at the deadline; -ECANCELED if
 * the calling fiber was cancelled and f has not ended; -EDEADLK if f is the
 * caller; -EAGAIN if, on an executor that is not a runtime's, no thread could
 * be started to watch the deadline.  On an error the handle is as before.  A
 * cancelled caller whose child runs right here gets 0.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything f did happens before the return of 0.
 */
WEFT_API WEFT_MUST_CHECK int weft_join(
	weft_fiber *f, void **result, weft_time deadline);

/*
 * Nobody will join f: it goes when it ends.  The handle is gone.
 *
 * Context: any.  Never switches.
 */
WEFT_API void weft_detach(weft_fiber *f);

/*
 * Ask f to end.  From now on every call of f's that would wait returns
 * -ECANCELED instead, and so does the one that it waits in; calls that need not
 * wait succeed as ever.  The scopes that f has open are cancelled with it.
 * What f does about it is its own affair: a fiber is never stopped from
 * outside, and one that has not started yet still runs.
 *
 * Join, cancel and detach of one handle must be ordered by the callers.
 *
 * Returns 0, also if f has ended; it may be ignored.
 *
 * Context: any.  Never switches.
 */
WEFT_API int weft_cancel(weft_fiber *f);

/*
 * While the shield is on, the running fiber does not see that it was cancelled,
 * nor deadlines that it inherited from a scope: for what has to be finished or
 * undone in any case.
 *
 *	bool before = weft_shield(true);
 *
 *	... give back what is to be given back, waiting if need be ...
 *	weft_shield(before);
 *
 * Returns whether it was on before; it may be ignored.  False outside a fiber,
 * where it does nothing.
 *
 * Context: any.  Never switches.
 */
WEFT_API bool weft_shield(bool on);

/*
 * Let everything run that is ready now, here and in the global queue, before
 * this fiber goes on.  No cancellation point.  On a plain thread: sched_yield.
 *
 * Context: any.  May switch.
 */
WEFT_API void weft_yield(void);

/*
 * For loops that compute: spend one unit of the fiber's budget, and yield when
 * it is used up.  Costs about a nanosecond; nothing outside a fiber.
 *
 * Context: any.  May switch.
 */
WEFT_API void weft_checkpoint(void);

/*
 * The running fiber; NULL outside of one.  Whoever got it this way may use it
 * only inside that fiber, unless the fiber is joinable.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_fiber *weft_self(void);

/*
 * Was the running fiber cancelled, or has a deadline passed that it inherited?
 * False outside of one, and behind a shield.
 *
 * Context: any.  Never switches.
 */
WEFT_API bool weft_cancelled(void);

/*
 * What the fiber was called at weft_spawn; NULL if it has no name.
 *
 * Context: any.  Never switches.
 */
WEFT_API const char *weft_fiber_name(const weft_fiber *f);

/* What a fiber does, as far as somebody else can know. */
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
	weft_time since;		/* of the wait, about; 0: none */
} weft_fiber_info;

/*
 * What f is doing.  A snapshot: if f runs meanwhile, the fields need not belong
 * to the same moment.
 *
 * Context: any.  Never switches.  f is oneself, or a handle.
 */
WEFT_API void weft_fiber_look(const weft_fiber *f, weft_fiber_info *info);

/*
 * The one way to wait; everything that blocks is made of it.
 *
 * A suspended fiber is resumed by one weft_wake, from anywhere, once.  commit
 * is where it becomes known who may do that: it runs after the fiber has left
 * its stack, so that it may be woken at any moment from then on.
 *
 *	true	the fiber is published: touch neither it nor the awaiter again
 *	false	it was not, and runs on at once
 *
 * commit runs inside the runtime, on another stack, in at most 1 KiB of it;
 * weft_self() is NULL there, and it may neither wait nor yield.
 *
 * next, if not NULL, is a suspended fiber that the caller has the right to
 * wake.  It runs now, in the caller's place, unless other fibers have their
 * turn: fibers that name each other keep nobody from running.  When commit
 * refuses, next is made ready and runs soon.
 */
struct weft_awaiter {
	bool (*commit)(struct weft_awaiter *self, weft_fiber *fiber);
	weft_fiber *next;
};

/*
 * Suspend the running fiber.  No cancellation point.
 *
 * Returns 0 when it was woken, 1 when commit refused; -EPERM outside a fiber.
 *
 * Context: fiber.  May switch.
 */
WEFT_API WEFT_MUST_CHECK int weft_suspend(struct weft_awaiter *a);

/*
 * End one suspension of f, exactly once, by whoever has the right to.
 *
 * Context: any.  Never switches.
 * Order:   everything before the wake happens before weft_suspend returns.
 */
WEFT_API void weft_wake(weft_fiber *f, weft_hint hint);

WEFT_END_DECLS

#endif
