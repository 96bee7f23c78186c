/* SPDX-License-Identifier: MIT */
/*
 * sim/real.c - the functions of libc that wait, read a clock or draw numbers,
 * and its allocator, replaced for a simulated program.
 *
 * Reads next: sim/heap.h
 */
#undef _FORTIFY_SOURCE /* headers would define some of these */

#include "sim/real.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/units.h"
#include "sim/engine.h"
#include "sim/heap.h"
#include "sim/program.h"

/*
 * libc calls malloc by name, and must find ours: the program may pass memory
 * that it allocated to libc to be enlarged (getline does that).
 */
#pragma GCC visibility push(default)

/* ---------------------------------------------------------- refused calls */

static const char *const sentence[WF_SIM_REALS] = {
	[WF_SIM_REAL_SLEEP] =
		"would stop the real thread; wait until a weft_after() "
		"instead, in a weft call that takes a deadline",
	[WF_SIM_REAL_INPUT] =
		"would stop the real thread, and what comes from outside "
		"differs from run to run; feed the program from memory, and "
		"let weft_sim_either() choose what comes",
	[WF_SIM_REAL_LOCK] =
		"would stop the real thread, and with it every thread that "
		"could end the wait; use weft_suspend() and weft_wake(), a "
		"weft_group, or a lock made of atomics and weft_sim_yield()",
	[WF_SIM_REAL_THREAD] = "would make a thread that is not simulated; use "
			       "weft_sim_thread(), or a fiber: weft_spawn()",
	[WF_SIM_REAL_JOIN] = "would stop the real thread; use weft_sim_join() "
			     "for a simulated thread, weft_join() for a fiber",
	[WF_SIM_REAL_YIELD] = "lets no simulated thread run; use weft_yield() "
			      "in a fiber, weft_sim_yield() in a thread",
	[WF_SIM_REAL_CLOCK] = "differs from run to run; use weft_now(), which "
			      "is simulated",
	[WF_SIM_REAL_RANDOM] = "differs from run to run; use weft_sim_either(),"
			       " whose choice is part of the schedule",
	[WF_SIM_REAL_PROCESS] = "does something to the whole process; do that "
				"outside of the simulation",
	[WF_SIM_REAL_END] = "would end the whole search; let the body return, "
			    "or say what is wrong by weft_sim_assert()",
};

static bool by_program(uintptr_t pc)
{
	return wf_sim_on() && wf_sim_program_text(pc);
}

/* Also true in a check of the user, which is not simulated. */
static bool running(void)
{
	return wf_sim != NULL && wf_sim->running;
}

void wf_sim_real_call(const char *name, enum wf_sim_real why, uintptr_t pc)
{
	if (!by_program(pc))
		return;
	wf_sim->current->pc = pc;
	wf_sim_fail("real call", NULL, "%s %s", name, sentence[why]);
}

/*
 * libc's own definition of a function that we define too.  It is looked up at
 * the first call: earlier it may not be needed, and libc may not have it.
 */
static void *behind(_Atomic(void *) *found, const char *name)
{
	void *fn = wf_load_rlx(found);

	if (fn == NULL) {
		fn = dlsym(RTLD_NEXT, name);
		wf_assert(fn != NULL,
			"no %s() behind that of the simulator; link libc as a "
			"shared library",
			name);
		wf_store_rlx(found, fn);
	}
	return fn;
}

/*
 * Define a function of libc that is refused for a reason.  A macro, because
 * only the preprocessor can vary name, type and parameters.  It declares the
 * function first, because not every libc has all of them.
 */
#define WF_REAL(why, type, name, params, args)                      \
	type name params;                                           \
	wf_noinline type name params                                \
	{                                                           \
		static _Atomic(void *) found;                       \
                                                                    \
		wf_sim_real_call(#name "()", WF_SIM_REAL_##why,     \
			(uintptr_t)__builtin_return_address(0));    \
		return ((type(*) params)behind(&found, #name))args; \
	}

/* A table: every entry defines a function. */
/* clang-format off */

/* --------------------------------------------------------------- waiting */

WF_REAL(SLEEP, int, nanosleep,
	(const struct timespec *t, struct timespec *left), (t, left))
WF_REAL(SLEEP, int, clock_nanosleep,
	(clockid_t c, int flags, const struct timespec *t,
	 struct timespec *left), (c, flags, t, left))
WF_REAL(SLEEP, int, thrd_sleep,
	(const struct timespec *t, struct timespec *left), (t, left))
WF_REAL(SLEEP, int, usleep, (useconds_t us), (us))
WF_REAL(SLEEP, unsigned, sleep, (unsigned s), (s))
WF_REAL(SLEEP, int, pause, (void), ())

WF_REAL(INPUT, int, poll, (struct pollfd *fds, nfds_t n, int ms), (fds, n, ms))
WF_REAL(INPUT, int, ppoll,
	(struct pollfd *fds, nfds_t n, const struct timespec *t,
	 const sigset_t *mask), (fds, n, t, mask))
WF_REAL(INPUT, int, select,
	(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t),
	(n, r, w, e, t))
WF_REAL(INPUT, int, pselect,
	(int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t,
	 const sigset_t *mask), (n, r, w, e, t, mask))
WF_REAL(INPUT, int, epoll_wait,
	(int fd, struct epoll_event *events, int n, int ms),
	(fd, events, n, ms))
WF_REAL(INPUT, int, epoll_pwait,
	(int fd, struct epoll_event *events, int n, int ms,
	 const sigset_t *mask), (fd, events, n, ms, mask))
WF_REAL(INPUT, ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
WF_REAL(INPUT, ssize_t, readv,
	(int fd, const struct iovec *v, int n), (fd, v, n))
WF_REAL(INPUT, ssize_t, recv,
	(int fd, void *p, size_t n, int flags), (fd, p, n, flags))
WF_REAL(INPUT, ssize_t, recvfrom,
	(int fd, void *p, size_t n, int flags, __SOCKADDR_ARG from,
	 socklen_t *len), (fd, p, n, flags, from, len))
WF_REAL(INPUT, ssize_t, recvmsg,
	(int fd, struct msghdr *m, int flags), (fd, m, flags))
WF_REAL(INPUT, int, accept,
	(int fd, __SOCKADDR_ARG from, socklen_t *len), (fd, from, len))
WF_REAL(INPUT, int, accept4,
	(int fd, __SOCKADDR_ARG from, socklen_t *len, int flags),
	(fd, from, len, flags))
WF_REAL(INPUT, int, connect,
	(int fd, __CONST_SOCKADDR_ARG to, socklen_t len), (fd, to, len))
WF_REAL(INPUT, int, flock, (int fd, int what), (fd, what))
WF_REAL(INPUT, int, lockf, (int fd, int what, off_t len), (fd, what, len))

/* The names of the functions above with _FORTIFY_SOURCE. */
WF_REAL(INPUT, int, __poll_chk,
	(struct pollfd *fds, nfds_t n, int ms, size_t room), (fds, n, ms, room))
WF_REAL(INPUT, int, __ppoll_chk,
	(struct pollfd *fds, nfds_t n, const struct timespec *t,
	 const sigset_t *mask, size_t room), (fds, n, t, mask, room))
WF_REAL(INPUT, ssize_t, __read_chk,
	(int fd, void *p, size_t n, size_t room), (fd, p, n, room))
WF_REAL(INPUT, ssize_t, __recv_chk,
	(int fd, void *p, size_t n, size_t room, int flags),
	(fd, p, n, room, flags))
WF_REAL(INPUT, ssize_t, __recvfrom_chk,
	(int fd, void *p, size_t n, size_t room, int flags,
	 __SOCKADDR_ARG from, socklen_t *len),
	(fd, p, n, room, flags, from, len))

/*
 * Locks are refused even if they are free: the simulator may switch away from a
 * holder, and the next locker would then wait for ever.  The try forms are
 * allowed.
 */
WF_REAL(LOCK, int, pthread_mutex_lock, (pthread_mutex_t *m), (m))
WF_REAL(LOCK, int, pthread_mutex_timedlock,
	(pthread_mutex_t *m, const struct timespec *t), (m, t))
WF_REAL(LOCK, int, pthread_spin_lock, (pthread_spinlock_t *s), (s))
WF_REAL(LOCK, int, pthread_cond_wait,
	(pthread_cond_t *c, pthread_mutex_t *m), (c, m))
WF_REAL(LOCK, int, pthread_cond_timedwait,
	(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t),
	(c, m, t))
WF_REAL(LOCK, int, pthread_rwlock_rdlock, (pthread_rwlock_t *l), (l))
WF_REAL(LOCK, int, pthread_rwlock_wrlock, (pthread_rwlock_t *l), (l))
WF_REAL(LOCK, int, pthread_barrier_wait, (pthread_barrier_t *b), (b))
WF_REAL(LOCK, int, sem_wait, (sem_t *s), (s))
WF_REAL(LOCK, int, sem_timedwait,
	(sem_t *s, const struct timespec *t), (s, t))
WF_REAL(LOCK, int, mtx_lock, (mtx_t *m), (m))
WF_REAL(LOCK, int, mtx_timedlock,
	(mtx_t *m, const struct timespec *t), (m, t))
WF_REAL(LOCK, int, cnd_wait, (cnd_t *c, mtx_t *m), (c, m))
WF_REAL(LOCK, int, cnd_timedwait,
	(cnd_t *c, mtx_t *m, const struct timespec *t), (c, m, t))

/* --------------------------------------------------- threads and processes */

WF_REAL(THREAD, int, pthread_create,
	(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg),
	(t, a, fn, arg))
WF_REAL(THREAD, int, thrd_create,
	(thrd_t *t, thrd_start_t fn, void *arg), (t, fn, arg))
WF_REAL(JOIN, int, pthread_join, (pthread_t t, void **result), (t, result))
WF_REAL(JOIN, int, thrd_join, (thrd_t t, int *result), (t, result))
WF_REAL(YIELD, int, sched_yield, (void), ())
WF_REAL(YIELD, void, thrd_yield, (void), ())
WF_REAL(PROCESS, pid_t, fork, (void), ())
WF_REAL(PROCESS, pid_t, wait, (int *status), (status))
WF_REAL(PROCESS, pid_t, waitpid,
	(pid_t pid, int *status, int flags), (pid, status, flags))
WF_REAL(PROCESS, int, system, (const char *command), (command))

/* ----------------------------------------------------- clocks and numbers */

WF_REAL(CLOCK, int, clock_gettime,
	(clockid_t c, struct timespec *t), (c, t))
WF_REAL(CLOCK, int, gettimeofday,
	(struct timeval *t, void *zone), (t, zone))
WF_REAL(CLOCK, int, timespec_get, (struct timespec *t, int base), (t, base))
WF_REAL(CLOCK, time_t, time, (time_t *t), (t))
WF_REAL(CLOCK, clock_t, clock, (void), ())

WF_REAL(RANDOM, int, rand, (void), ())
WF_REAL(RANDOM, long, random, (void), ())
WF_REAL(RANDOM, double, drand48, (void), ())
WF_REAL(RANDOM, long, lrand48, (void), ())
WF_REAL(RANDOM, long, mrand48, (void), ())
WF_REAL(RANDOM, ssize_t, getrandom,
	(void *p, size_t n, unsigned flags), (p, n, flags))
WF_REAL(RANDOM, int, getentropy, (void *p, size_t n), (p, n))
WF_REAL(RANDOM, uint32_t, arc4random, (void), ())
WF_REAL(RANDOM, uint32_t, arc4random_uniform, (uint32_t n), (n))
WF_REAL(RANDOM, void, arc4random_buf, (void *p, size_t n), (p, n))

/* clang-format on */

/* System calls that the program makes by number: these are refused. */
static const struct {
	long number;
	const char *name;
	enum wf_sim_real why;
} numbered[] = {
	{ SYS_futex, "syscall(SYS_futex)", WF_SIM_REAL_LOCK },
	{ SYS_nanosleep, "syscall(SYS_nanosleep)", WF_SIM_REAL_SLEEP },
	{ SYS_clock_nanosleep, "syscall(SYS_clock_nanosleep)",
		WF_SIM_REAL_SLEEP },
	{ SYS_read, "syscall(SYS_read)", WF_SIM_REAL_INPUT },
	{ SYS_ppoll, "syscall(SYS_ppoll)", WF_SIM_REAL_INPUT },
	{ SYS_epoll_pwait, "syscall(SYS_epoll_pwait)", WF_SIM_REAL_INPUT },
	{ SYS_io_uring_enter, "syscall(SYS_io_uring_enter)",
		WF_SIM_REAL_INPUT },
	{ SYS_sched_yield, "syscall(SYS_sched_yield)", WF_SIM_REAL_YIELD },
	{ SYS_clock_gettime, "syscall(SYS_clock_gettime)", WF_SIM_REAL_CLOCK },
	{ SYS_getrandom, "syscall(SYS_getrandom)", WF_SIM_REAL_RANDOM },
};

wf_noinline long syscall(long number, ...)
{
	static _Atomic(void *) found;
	long a[6];
	va_list args;

	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++)
		if (numbered[i].number == number)
			wf_sim_real_call(numbered[i].name, numbered[i].why,
				(uintptr_t)__builtin_return_address(0));
	/* Six is the maximum; reading more than were passed is harmless. */
	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	return ((long (*)(long, ...))behind(&found, "syscall"))(
		number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* --------------------------------------------------------------- the end */

/*
 * Refused for every caller: they would end the process, and the report with it.
 */

static wf_noreturn void end(
	_Atomic(void *) *found, const char *name, int status)
{
	if (running())
		wf_sim_fail("real call", NULL, "%s(%d) %s", name, status,
			sentence[WF_SIM_REAL_END]);
	((void (*)(int))behind(found, name))(status);
	__builtin_unreachable();
}

void exit(int status)
{
	static _Atomic(void *) found;

	end(&found, "exit", status);
}

void _exit(int status)
{
	static _Atomic(void *) found;

	end(&found, "_exit", status);
}

void _Exit(int status)
{
	static _Atomic(void *) found;

	end(&found, "_Exit", status);
}

void abort(void)
{
	static _Atomic(void *) found;
	void *fn;

	if (running())
		wf_sim_fail("assertion", NULL, "abort() was called");
	/* Not by behind(), which itself calls abort. */
	fn = wf_load_rlx(&found);
	if (fn == NULL)
		fn = dlsym(RTLD_NEXT, "abort");
	if (fn != NULL)
		((void (*)(void))fn)();
	__builtin_trap();
}

void __assert_fail(const char *condition, const char *file, unsigned line,
	const char *function)
{
	static _Atomic(void *) found;

	if (running())
		wf_sim_fail("assertion", NULL, "%s:%u: %s: '%s' does not hold",
			file, line, function, condition);
	((void (*)(const char *, const char *, unsigned, const char *))behind(
		&found, "__assert_fail"))(condition, file, line, function);
	__builtin_unreachable();
}

/* ---------------------------------------------------------------- memory */

/* Not by dlsym, which allocates memory itself. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *p);

#define WF_SIM_ALIGN 16
#define WF_SIM_JUNK 0xa5 /* fills new memory */

static bool is_alignment(size_t align)
{
	return align != 0 && (align & (align - 1)) == 0;
}

/* Zeroed; NULL, with errno set, if there is no room or a fault is due. */
static void *take(size_t bytes, size_t align, uintptr_t pc)
{
	void *p = wf_sim_fault_now() ? NULL
				     : wf_sim_heap_alloc(bytes, align, pc);

	if (p == NULL)
		errno = ENOMEM;
	return p;
}

static void *take_junk(size_t bytes, size_t align, uintptr_t pc)
{
	void *p = take(bytes, align, pc);

	return p == NULL ? NULL : memset(p, WF_SIM_JUNK, bytes);
}

wf_noinline void *malloc(size_t bytes)
{
	uintptr_t pc = (uintptr_t)__builtin_return_address(0);

	if (!by_program(pc))
		return __libc_malloc(bytes);
	return take_junk(bytes, WF_SIM_ALIGN, pc);
}

wf_noinline void *calloc(size_t n, size_t bytes)
{
	uintptr_t pc = (uintptr_t)__builtin_return_address(0);
	size_t all;

	if (!by_program(pc))
		return __libc_calloc(n, bytes);
	if (!__builtin_mul_overflow(n, bytes, &all))
		return take(all, WF_SIM_ALIGN, pc);
	errno = ENOMEM;
	return NULL;
}

/*
 * Memory of a run that is freed outside of one does not exist any more: the
 * next run starts with an empty heap.
 */
wf_noinline void free(void *p)
{
	if (!wf_sim_heap_owns(p))
		__libc_free(p);
	else if (running())
		wf_sim_heap_free(p);
}

/* Always moves the block, so that a use of the old pointer is detected. */
static void *move(void *p, size_t bytes, uintptr_t pc)
{
	size_t old = wf_sim_heap_size(p);
	void *q = NULL;

	if (bytes != 0) {
		q = take_junk(bytes, WF_SIM_ALIGN, pc);
		if (q == NULL)
			return NULL;
		memcpy(q, p, old < bytes ? old : bytes);
	}
	wf_sim_heap_free(p);
	return q;
}

static void *resize(void *p, size_t bytes, uintptr_t pc)
{
	if (p == NULL && by_program(pc))
		return take_junk(bytes, WF_SIM_ALIGN, pc);
	if (!wf_sim_heap_owns(p))
		return __libc_realloc(p, bytes);
	wf_assert(running(), "realloc() of memory of a run that has ended");
	return move(p, bytes, pc);
}

wf_noinline void *realloc(void *p, size_t bytes)
{
	return resize(p, bytes, (uintptr_t)__builtin_return_address(0));
}

wf_noinline void *reallocarray(void *p, size_t n, size_t bytes)
{
	size_t all;

	if (!__builtin_mul_overflow(n, bytes, &all))
		return resize(p, all, (uintptr_t)__builtin_return_address(0));
	errno = ENOMEM;
	return NULL;
}

static void *aligned(size_t align, size_t bytes, uintptr_t pc)
{
	if (!by_program(pc))
		return __libc_memalign(align, bytes);
	if (is_alignment(align))
		return take_junk(bytes, wf_max_size(align, WF_SIM_ALIGN), pc);
	errno = EINVAL;
	return NULL;
}

wf_noinline void *memalign(size_t align, size_t bytes)
{
	return aligned(align, bytes, (uintptr_t)__builtin_return_address(0));
}

wf_noinline void *aligned_alloc(size_t align, size_t bytes)
{
	return aligned(align, bytes, (uintptr_t)__builtin_return_address(0));
}

wf_noinline int posix_memalign(void **p, size_t align, size_t bytes)
{
	uintptr_t pc = (uintptr_t)__builtin_return_address(0);
	int saved = errno;
	void *q;

	if (!is_alignment(align) || align % sizeof(void *) != 0)
		return EINVAL;
	q = aligned(align, bytes, pc);
	errno = saved;
	if (q == NULL)
		return ENOMEM;
	*p = q;
	return 0;
}

wf_noinline size_t malloc_usable_size(void *p)
{
	static _Atomic(void *) found;

	if (wf_sim_heap_owns(p))
		return wf_sim_heap_size(p);
	return ((size_t(*)(void *))behind(&found, "malloc_usable_size"))(p);
}

static char *copy(const char *s, size_t n, uintptr_t pc)
{
	char *p = by_program(pc) ? take(n + 1, WF_SIM_ALIGN, pc)
				 : __libc_malloc(n + 1);

	if (p != NULL) {
		memcpy(p, s, n);
		p[n] = '\0';
	}
	return p;
}

wf_noinline char *strdup(const char *s)
{
	return copy(s, strlen(s), (uintptr_t)__builtin_return_address(0));
}

wf_noinline char *strndup(const char *s, size_t n)
{
	return copy(s, strnlen(s, n), (uintptr_t)__builtin_return_address(0));
}
