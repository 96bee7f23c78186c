/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/real_test.c - a real call of a simulated program is named and fails
 * the run; its memory is the run's, watched and the same each time; outside of
 * a simulation, and when a library calls, libc does what it always does.
 *
 * Compiled twice: relinked only (level 1), and with -fsanitize=thread (level
 * 2), where the program's own accesses are watched too.  A call that is not
 * caught is made: some of them would then wait for ever, which an alarm ends.
 */
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
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

#include <weft/sim.h>
#include <weft/weft.h>

#define SECONDS 120

#ifdef __SANITIZE_THREAD__
#define LEVEL 2
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LEVEL 2
#endif
#endif
#ifndef LEVEL
#define LEVEL 1
#endif

/* Not every libc has it; the simulator has. */
uint32_t arc4random(void);
uint32_t arc4random_uniform(uint32_t n);
void arc4random_buf(void *p, size_t n);

/* What headers call in place of read() and the like, with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *t,
	const sigset_t *mask, size_t room);
ssize_t __read_chk(int fd, void *p, size_t n, size_t room);
ssize_t __recv_chk(int fd, void *p, size_t n, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *p, size_t n, size_t room, int flags,
	struct sockaddr *from, socklen_t *len);

static unsigned failures, checks;

static void check(bool ok, const char *what, const char *detail)
{
	checks++;
	if (ok)
		return;
	failures++;
	printf("real_test: FAILED: %s: %s\n", what, detail);
}

/* Not for the compiler to know: neither the value nor that it is not used. */
static volatile uintptr_t sink;

static void keep(uintptr_t value)
{
	sink = value;
}

static void *hide(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* ------------------------------------------------------------- real calls */

static struct timespec zero;
static struct timeval none;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t sem;
static mtx_t mtx;
static cnd_t cnd;
static pthread_t thread;
static thrd_t thrd;
static struct epoll_event event;
static struct msghdr message;
static struct sockaddr address;
static char bytes[8];
static struct iovec vector = { bytes, sizeof(bytes) };

static void *nothing(void *arg)
{
	return arg;
}

static int nothing_either(void *arg)
{
	return arg != NULL;
}

/* name as the message has it, and a call that would do no harm for real. */
#define CALLS(X)                                                              \
	X(nanosleep, keep(nanosleep(&zero, NULL)))                            \
	X(clock_nanosleep,                                                    \
		keep(clock_nanosleep(CLOCK_REALTIME, 0, &zero, NULL)))        \
	X(thrd_sleep, keep(thrd_sleep(&zero, NULL)))                          \
	X(usleep, keep(usleep(1)))                                            \
	X(sleep, keep(sleep(0)))                                              \
	X(pause, keep(pause()))                                               \
	X(poll, keep(poll(hide(NULL), 0, 0)))                                 \
	X(ppoll, keep(ppoll(hide(NULL), 0, &zero, NULL)))                     \
	X(select, keep(select(0, NULL, NULL, NULL, &none)))                   \
	X(pselect, keep(pselect(0, NULL, NULL, NULL, &zero, NULL)))           \
	X(epoll_wait, keep(epoll_wait(-1, &event, 1, 0)))                     \
	X(epoll_pwait, keep(epoll_pwait(-1, &event, 1, 0, NULL)))             \
	X(read, keep(read(-1, bytes, 1)))                                     \
	X(readv, keep(readv(-1, &vector, 1)))                                 \
	X(recv, keep(recv(-1, bytes, 1, 0)))                                  \
	X(recvfrom, keep(recvfrom(-1, bytes, 1, 0, NULL, NULL)))              \
	X(recvmsg, keep(recvmsg(-1, &message, 0)))                            \
	X(accept, keep(accept(-1, NULL, NULL)))                               \
	X(accept4, keep(accept4(-1, NULL, NULL, 0)))                          \
	X(connect, keep(connect(-1, &address, sizeof(address))))              \
	X(flock, keep(flock(-1, LOCK_EX)))                                    \
	X(lockf, keep(lockf(-1, F_LOCK, 0)))                                  \
	X(__poll_chk, keep(__poll_chk(hide(NULL), 0, 0, 0)))                  \
	X(__ppoll_chk, keep(__ppoll_chk(hide(NULL), 0, &zero, NULL, 0)))      \
	X(__read_chk, keep(__read_chk(-1, bytes, 1, 8)))                      \
	X(__recv_chk, keep(__recv_chk(-1, bytes, 1, 8, 0)))                   \
	X(__recvfrom_chk,                                                     \
		keep(__recvfrom_chk(-1, bytes, 1, 8, 0, NULL, NULL)))         \
	X(pthread_mutex_lock, keep(pthread_mutex_lock(&mutex)))               \
	X(pthread_mutex_timedlock,                                            \
		keep(pthread_mutex_timedlock(&mutex, &zero)))                 \
	X(pthread_spin_lock, keep(pthread_spin_lock(&spin)))                  \
	X(pthread_cond_wait, keep(pthread_cond_wait(&cond, &mutex)))          \
	X(pthread_cond_timedwait,                                             \
		keep(pthread_cond_timedwait(&cond, &mutex, &zero)))           \
	X(pthread_rwlock_rdlock, keep(pthread_rwlock_rdlock(&rwlock)))        \
	X(pthread_rwlock_wrlock, keep(pthread_rwlock_wrlock(&rwlock)))        \
	X(pthread_barrier_wait, keep(pthread_barrier_wait(&barrier)))         \
	X(sem_wait, keep(sem_wait(&sem)))                                     \
	X(sem_timedwait, keep(sem_timedwait(&sem, &zero)))                    \
	X(mtx_lock, keep(mtx_lock(&mtx)))                                     \
	X(mtx_timedlock, keep(mtx_timedlock(&mtx, &zero)))                    \
	X(cnd_wait, keep(cnd_wait(&cnd, &mtx)))                               \
	X(cnd_timedwait, keep(cnd_timedwait(&cnd, &mtx, &zero)))              \
	X(pthread_create, keep(pthread_create(&thread, NULL, nothing, NULL))) \
	X(thrd_create, keep(thrd_create(&thrd, nothing_either, NULL)))        \
	X(pthread_join, keep(pthread_join(pthread_self(), NULL)))             \
	X(thrd_join, keep(thrd_join(thrd_current(), NULL)))                   \
	X(sched_yield, keep(sched_yield()))                                   \
	X(thrd_yield, thrd_yield())                                           \
	X(wait, keep(wait(NULL)))                                             \
	X(waitpid, keep(waitpid(-1, NULL, WNOHANG)))                          \
	X(system, keep(system(NULL)))                                         \
	X(clock_gettime, keep(clock_gettime(CLOCK_MONOTONIC, &zero)))         \
	X(gettimeofday, keep(gettimeofday(&none, NULL)))                      \
	X(timespec_get, keep(timespec_get(&zero, TIME_UTC)))                  \
	X(time, keep(time(NULL)))                                             \
	X(clock, keep(clock()))                                               \
	X(rand, keep(rand()))                                                 \
	X(random, keep(random()))                                             \
	X(drand48, keep(drand48() > 0.5))                                     \
	X(lrand48, keep(lrand48()))                                           \
	X(mrand48, keep(mrand48()))                                           \
	X(getrandom, keep(getrandom(bytes, 1, 0)))                            \
	X(getentropy, keep(getentropy(bytes, 1)))                             \
	X(arc4random, keep(arc4random()))                                     \
	X(arc4random_uniform, keep(arc4random_uniform(2)))                    \
	X(arc4random_buf, arc4random_buf(bytes, 1))

#define CALL_FUNCTION(name, call)     \
	static void call_##name(void) \
	{                             \
		call;                 \
	}
CALLS(CALL_FUNCTION)

/* If it is not caught, the child may not go on, or there would be ever more. */
static void call_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		syscall(SYS_exit_group, 0);
	keep((uintptr_t)pid);
}

static void call_futex(void)
{
	uint32_t word = 0;

	keep(syscall(SYS_futex, &word, 0, 1, NULL, NULL, 0));
}

static void call_syscall_clock(void)
{
	keep(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &zero));
}

static void call_exit(void)
{
	exit(3);
}

static void call__exit(void)
{
	_exit(4);
}

static void call__Exit(void)
{
	_Exit(5);
}

#define CALL_ENTRY(name, call) { #name "() ", call_##name },
static const struct call {
	const char *message; /* that must begin the report's */
	void (*make)(void);
} calls[] = { { "fork() ", call_fork }, { "syscall(SYS_futex) ", call_futex },
	{ "syscall(SYS_clock_gettime) ", call_syscall_clock },
	{ "exit(3) ", call_exit }, { "_exit(4) ", call__exit },
	{ "_Exit(5) ", call__Exit }, CALLS(CALL_ENTRY) };

/* ---------------------------------------------------------- explorations */

static const weft_sim_opts quiet = { .name = "real_test",
	.seed = 1,
	.schedules = 20,
	.flags = WEFT_SIM_QUIET | WEFT_SIM_NO_SHRINK };

/* The body fails by that check, with a message that begins like that. */
static void expect_failure(const weft_sim_opts *opts, void (*body)(void *),
	void *arg, const char *what, const char *oracle, const char *beginning)
{
	weft_sim_report report = { .failed = false };
	int result = weft_sim_explore(opts, body, arg, &report);
	char detail[1024];

	snprintf(detail, sizeof(detail), "result %d, '%s': %s", result,
		report.oracle, report.message);
	check(result == 1 && strcmp(report.oracle, oracle) == 0 &&
			strncmp(report.message, beginning, strlen(beginning)) ==
				0,
		what, detail);
}

static void expect_success(const weft_sim_opts *opts, void (*body)(void *),
	void *arg, const char *what)
{
	weft_sim_report report = { .failed = false };
	int result = weft_sim_explore(opts, body, arg, &report);
	char detail[1024];

	snprintf(detail, sizeof(detail), "result %d, '%s': %s", result,
		report.oracle, report.message);
	check(result == 0, what, detail);
}

static void make_call(void *arg)
{
	const struct call *call = arg;

	call->make();
}

static void make_call_in_thread(void *arg)
{
	int t = weft_sim_thread(make_call, arg, "caller");

	weft_sim_assert(t >= 0, "no thread");
	weft_sim_join(t);
}

static int make_call_in_fiber(void *arg)
{
	make_call(arg);
	return 0;
}

static void make_call_in_runtime(void *arg)
{
	weft_config one = { .workers = 1 };

	keep((uintptr_t)weft_run(&one, make_call_in_fiber, arg));
}

static void real_calls_are_named(void)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *arg = (void *)&calls[i];
		const char *begins = calls[i].message;

		expect_failure(
			&quiet, make_call, arg, begins, "real call", begins);
		if (i % 8 != 0)
			continue;
		expect_failure(&quiet, make_call_in_thread, arg,
			"from a simulated thread", "real call", begins);
		expect_failure(&quiet, make_call_in_runtime, arg,
			"from a fiber", "real call", begins);
	}
}

static void call_abort(void *arg)
{
	(void)arg;
	abort();
}

static void call_assert(void *arg)
{
	assert(arg != NULL);
}

static void do_nothing(void *arg)
{
	(void)arg;
	weft_sim_yield();
}

static void assertions_fail_the_run(void)
{
	weft_sim_opts hooked = quiet;

	expect_failure(&quiet, call_abort, NULL, "abort", "assertion",
		"abort() was called");
	expect_failure(
		&quiet, call_assert, NULL, "assert", "assertion", __FILE__ ":");
	hooked.invariant = call_assert;
	expect_failure(&hooked, do_nothing, NULL, "assert in a check",
		"assertion", __FILE__ ":");
}

/* The simulator leaves calls that only try, and calls by libc, alone. */
static void harmless(void *arg)
{
	static once_flag once = ONCE_FLAG_INIT;
	char *line = malloc(1);
	size_t room = 1;
	char text[] = "nothing"; /* eight bytes, and none is a # */
	FILE *f = fmemopen(text, sizeof(text), "r");

	weft_sim_assert(pthread_mutex_trylock(&mutex) == 0, "trylock");
	weft_sim_assert(pthread_mutex_unlock(&mutex) == 0, "unlock");
	/* libc calls thrd_yield, and nobody minds. */
	call_once(&once, thrd_yield);
	keep((uintptr_t)syscall(SYS_gettid));
	/* libc enlarges what the program allocated. */
	weft_sim_assert(f != NULL && line != NULL, "no file");
	weft_sim_assert(getdelim(&line, &room, '#', f) == 8, "getdelim");
	fclose(f);
	free(line);
	/* And what libc allocated for itself is not watched for leaks. */
	keep(asprintf(&line, "%p", arg));
}

/* ---------------------------------------------------------------- memory */

static void leak_malloc(void *arg)
{
	(void)arg;
	hide(malloc(24));
}

static void leak_strdup(void *arg)
{
	(void)arg;
	hide(strdup("a loom"));
}

static void leak_realloc(void *arg)
{
	(void)arg;
	hide(realloc(hide(malloc(24)), 100));
}

static void leak_new_by_realloc(void *arg)
{
	(void)arg;
	hide(realloc(hide(NULL), 24));
}

static void free_twice(void *arg)
{
	void *p = malloc(24);

	(void)arg;
	free(hide(p));
	free(hide(p));
}

static void free_inside(void *arg)
{
	char *p = malloc(24);

	(void)arg;
	free(hide(p + 8));
}

static void realloc_freed(void *arg)
{
	void *p = malloc(24);

	(void)arg;
	free(hide(p));
	hide(realloc(hide(p), 48));
}

static void write_after_free(void *arg)
{
	int *volatile p = malloc(sizeof(int));

	(void)arg;
	free(p);
	*(volatile int *)p = 7;
}

static void read_after_realloc(void *arg)
{
	int *volatile p = malloc(sizeof(int)), *q;

	(void)arg;
	*p = 7;
	q = hide(realloc(p, 400));
	keep((uintptr_t)*p);
	free(q);
}

static bool all_are(const void *p, int byte, size_t n)
{
	const unsigned char *at = p;

	while (n > 0 && at[n - 1] == byte)
		n--;
	return n == 0;
}

static bool aligned_to(const void *p, size_t align)
{
	return p != NULL && (uintptr_t)p % align == 0;
}

/* Everything an allocator must do; also the same natively. */
static void allocate_all_ways(void *arg)
{
	char *p, *q;
	void *r = NULL;

	(void)arg;
	p = hide(malloc(100));
	weft_sim_assert(aligned_to(p, 16), "malloc: %p", (void *)p);
	weft_sim_assert(malloc_usable_size(p) >= 100, "usable size");
	memset(p, 'x', 100);
	q = hide(realloc(p, 1000));
	weft_sim_assert(aligned_to(q, 16) && all_are(q, 'x', 100), "realloc");
	q = hide(realloc(q, 10));
	weft_sim_assert(all_are(q, 'x', 10), "realloc to less");
	q = hide(reallocarray(q, 10, 10));
	weft_sim_assert(all_are(q, 'x', 10), "reallocarray");
	free(q);
	p = hide(calloc(10, 10));
	weft_sim_assert(aligned_to(p, 16) && all_are(p, 0, 100), "calloc");
	free(p);
	p = hide(realloc(NULL, 0));
	weft_sim_assert(p != NULL, "realloc of nothing to nothing");
	free(p);
	p = hide(aligned_alloc(256, 512));
	weft_sim_assert(aligned_to(p, 256), "aligned_alloc: %p", (void *)p);
	free(p);
	p = hide(memalign(64, 1));
	weft_sim_assert(aligned_to(p, 64), "memalign: %p", (void *)p);
	free(p);
	weft_sim_assert(posix_memalign(&r, 1024, 8) == 0 && aligned_to(r, 1024),
		"posix_memalign: %p", r);
	free(r);
	weft_sim_assert(posix_memalign(&r, 3, 8) == EINVAL, "alignment 3");
	p = hide(strdup("warp"));
	q = hide(strndup("weft and more", 4));
	weft_sim_assert(
		strcmp(p, "warp") == 0 && strcmp(q, "weft") == 0, "strdup");
	free(p);
	free(q);
	free(hide(NULL));
}

/* n twice is 0, and so would be what is allocated. */
static void ask_for_too_much(void *arg)
{
	size_t n = (size_t)hide((void *)(SIZE_MAX / 2 + 1));
	size_t most = (size_t)hide((void *)PTRDIFF_MAX);

	(void)arg;
	errno = 0;
	weft_sim_assert(hide(calloc(n, 2)) == NULL && errno == ENOMEM,
		"calloc of too much");
	errno = 0;
	weft_sim_assert(
		hide(reallocarray(NULL, n, 2)) == NULL && errno == ENOMEM,
		"reallocarray of too much");
	errno = 0;
	weft_sim_assert(hide(malloc(most)) == NULL && errno == ENOMEM,
		"malloc of too much");
}

/* Of main's malloc, so that it is not put back before each run. */
struct memo {
	void *first;
	unsigned same, other, refused, granted;
	void *outer;
};

static void remember_addresses(void *arg)
{
	struct memo *memo = arg;
	void *p = hide(malloc(40));

	if (memo->first == NULL)
		memo->first = p;
	*(memo->first == p ? &memo->same : &memo->other) += 1;
	weft_sim_assert(!all_are(p, 0, 40), "new memory is zero by chance");
	free(p);
}

static void count_refusals(void *arg)
{
	struct memo *memo = arg;
	void *p;

	weft_sim_os_faults(2);
	errno = 0;
	p = hide(malloc(40));
	if (p == NULL)
		weft_sim_assert(errno == ENOMEM, "errno is %d", errno);
	*(p == NULL ? &memo->refused : &memo->granted) += 1;
	free(p);
}

static void free_outer(void *arg)
{
	struct memo *memo = arg;

	memo->outer = realloc(memo->outer, 500);
	free(memo->outer);
	memo->outer = NULL;
}

/* One that is there at the end of the run, and one that is gone by then. */
static void leave_behind(void *arg)
{
	struct memo *memo = arg;

	memo->first = malloc(10);
	memo->outer = malloc(10);
	free(memo->outer);
}

static void memory_is_watched(void)
{
	expect_failure(&quiet, leak_malloc, NULL, "leak", "leak", "");
	expect_failure(&quiet, leak_strdup, NULL, "leak by strdup", "leak", "");
	expect_failure(
		&quiet, leak_realloc, NULL, "leak by realloc", "leak", "");
	expect_failure(&quiet, leak_new_by_realloc, NULL, "leak of realloc(0)",
		"leak", "");
	expect_failure(
		&quiet, free_twice, NULL, "double free", "double free", "");
	expect_failure(
		&quiet, free_inside, NULL, "free of a part", "bad free", "");
	expect_failure(&quiet, realloc_freed, NULL, "realloc of freed memory",
		"double free", "");
	if (LEVEL < 2)
		return;
	expect_failure(&quiet, write_after_free, NULL, "write to freed memory",
		"use after free", "");
	expect_failure(&quiet, read_after_realloc, NULL,
		"read of what realloc has moved", "use after free", "");
}

static void memory_is_the_runs(void)
{
	struct memo *memo = calloc(1, sizeof(*memo));
	weft_sim_opts leaks_ok = quiet, one = quiet;

	leaks_ok.flags |= WEFT_SIM_LEAKS_OK;
	one.schedules = 1;
	one.flags |= WEFT_SIM_LEAKS_OK;
	expect_success(&quiet, allocate_all_ways, NULL, "all ways");
	expect_success(&quiet, ask_for_too_much, NULL, "too much");
	expect_success(&quiet, harmless, NULL, "what is harmless");
	expect_success(&quiet, remember_addresses, memo, "addresses");
	check(memo->same > 1 && memo->other == 0, "addresses",
		"malloc differs from run to run");
	expect_success(&quiet, count_refusals, memo, "refusals");
	check(memo->refused > 0 && memo->granted > 0, "refusals",
		"malloc is never refused, or always");
	memo->outer = malloc(100);
	expect_success(&one, free_outer, memo, "memory from before the run");
	expect_success(&leaks_ok, leave_behind, memo, "left behind");
	/* Neither is there any more: it is as if they were NULL. */
	free(memo->first);
	free(memo->outer);
	free(memo);
}

/* -------------------------------------------------------------- natively */

static void *wait_for_spin(void *arg)
{
	pthread_mutex_lock(&mutex);
	while (*(volatile bool *)arg == false)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void threads_work_outside(void)
{
	bool go = false;
	void *result = NULL;

	check(pthread_create(&thread, NULL, wait_for_spin, &go) == 0,
		"natively", "pthread_create");
	usleep(1000);
	pthread_mutex_lock(&mutex);
	go = true;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	check(pthread_join(thread, &result) == 0 && result == &go, "natively",
		"pthread_join, pthread_cond_wait");
}

/* How a child ends that calls fn. */
static int status_of(void (*fn)(void *))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		fclose(stderr);
		fn(NULL);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void exit_7(void *arg)
{
	(void)arg;
	exit(7);
}

static void calls_work_outside(void)
{
	struct timespec a = { 0 }, b = { 0 }, ms = { .tv_nsec = 1000000 };
	struct pollfd in = { .events = POLLIN };
	int pipes[2], status;

	clock_gettime(CLOCK_MONOTONIC, &a);
	check(nanosleep(&ms, NULL) == 0, "natively", "nanosleep");
	clock_gettime(CLOCK_MONOTONIC, &b);
	check(b.tv_sec > a.tv_sec || b.tv_nsec >= a.tv_nsec + 1000000,
		"natively", "clock_gettime");
	check(time(NULL) > 1000000000, "natively", "time");
	check(syscall(SYS_gettid) == getpid(), "natively", "syscall");
	check(getrandom(bytes, 8, 0) == 8, "natively", "getrandom");
	if (pipe(pipes) == 0 && write(pipes[1], "x", 1) == 1) {
		in.fd = pipes[0];
		check(poll(&in, 1, 1000) == 1, "natively", "poll");
		check(read(pipes[0], bytes, 8) == 1, "natively", "read");
	} else {
		check(false, "natively", "no pipe to test with");
	}
	status = status_of(exit_7);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "natively",
		"exit");
	status = status_of(call_abort);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "natively",
		"abort");
	status = status_of(call_assert);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "natively",
		"assert");
}

int main(void)
{
	alarm(SECONDS);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&barrier, NULL, 1);
	sem_init(&sem, 0, 1);
	mtx_init(&mtx, mtx_plain);
	cnd_init(&cnd);

	allocate_all_ways(NULL);
	ask_for_too_much(NULL);
	calls_work_outside();
	threads_work_outside();
	real_calls_are_named();
	assertions_fail_the_run();
	memory_is_watched();
	memory_is_the_runs();
	/* And once more, with all that behind us. */
	allocate_all_ways(NULL);
	calls_work_outside();
	threads_work_outside();
	printf("real_test: level %d, %u checks, %u failed\n", LEVEL, checks,
		failures);
	return failures > 0;
}
