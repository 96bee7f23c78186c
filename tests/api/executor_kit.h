/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_kit.h - executors of every kind, made, driven and unmade.
 *
 * A KIND says how an executor is made; a SUBJECT is one that was.  A test with
 * a subject submits to s->e and cannot tell its kind.  A manual executor is
 * driven by threads, or by a fiber, of its subject.
 */
#ifndef WEFT_TESTS_API_EXECUTOR_KIT_H
#define WEFT_TESTS_API_EXECUTOR_KIT_H

#include "api/api.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <weft/weft.h>

enum { KIT_THREADS_MAX = 4 };

struct subject;

struct kind_ops {
	void (*make)(struct subject *s);
	void (*unmake)(struct subject *s);
	/* In a task or fiber: could it be that s runs it? */
	bool (*runs_this)(struct subject *s);
	/* unmake waits for tasks that are queued and fibers that wait. */
	bool waits;
};

struct kind {
	const char *name;
	const struct kind_ops *ops;
	unsigned threads;
	const struct kind *under;	/* of a strand */
	weft_policy policy;		/* of a runtime */
};

/* An executor that a user might write: a thread and a list. */
struct user_executor {
	weft_executor e;
	bool lifo;
	bool stop;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	weft_task *head, *tail;
	pthread_t thread;
};

struct subject {
	const struct kind *kind;
	weft_executor *e;
	weft_rt *rt;		/* a runtime, or one whose fiber drives it */
	struct subject *under;
	struct user_executor user;
	int inside;		/* a strand: so many tasks run on it */
	_Atomic(bool) stop;	/* to the drivers */
	pthread_t drivers[KIT_THREADS_MAX];
	pid_t maker;		/* the thread that made it */
	_Atomic(pid_t) seen[KIT_THREADS_MAX];	/* a pool's threads */
};

static struct subject *subject_make(const struct kind *kind)
{
	struct subject *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->kind = kind;
	kind->ops->make(s);
	assert_non_null(s->e);
	return s;
}

static void subject_unmake(struct subject *s)
{
	s->kind->ops->unmake(s);
	free(s);
}

/* In a task or fiber. */
static inline bool runs_this(struct subject *s)
{
	return s->kind->ops->runs_this(s);
}

/* ------------------------------------------------------------------------ */
/* Runtimes. */

static void rt_make(struct subject *s)
{
	weft_policy *copied = malloc(sizeof(*copied));
	weft_config cfg = { .workers = s->kind->threads, .policy = copied };

	/* The policy may be gone as soon as the runtime has started. */
	assert_non_null(copied);
	*copied = s->kind->policy;
	s->rt = rt_begin(&cfg);
	memset(copied, 0xA5, sizeof(*copied));
	free(copied);
	s->e = weft_rt_executor(s->rt);
}

static void rt_unmake(struct subject *s)
{
	rt_end(s->rt);
}

static bool rt_runs_this(struct subject *s)
{
	return weft_rt_self() == s->rt;
}

static const struct kind_ops rt_ops = { rt_make, rt_unmake, rt_runs_this,
	true };

/* ------------------------------------------------------------------------ */
/* Pools.  Every task runs on one of so many threads. */

static void pool_make(struct subject *s)
{
	s->maker = gettid();
	assert_int_equal(weft_pool_create(&s->e, s->kind->threads), 0);
}

static void pool_unmake(struct subject *s)
{
	assert_int_equal(weft_executor_destroy(s->e), 0);
}

static bool pool_runs_this(struct subject *s)
{
	pid_t self = gettid();

	if (self == s->maker)
		return false;
	for (unsigned i = 0; i < s->kind->threads; i++) {
		pid_t none = 0;

		if (atomic_compare_exchange_strong(&s->seen[i], &none, self) ||
			none == self)
			return true;
	}
	return false;
}

static const struct kind_ops pool_ops = { pool_make, pool_unmake,
	pool_runs_this, true };

/* ------------------------------------------------------------------------ */
/* Manual executors. */

static _Thread_local struct subject *driven;

/* Not inlined: a fiber may be on another thread after any wait. */
__attribute__((noinline)) static size_t drive(struct subject *s, size_t most)
{
	struct subject *before = driven;
	size_t n;

	driven = s;
	n = weft_manual_run(s->e, most);
	driven = before;
	return n;
}

__attribute__((noinline)) static bool manual_runs_this(struct subject *s)
{
	return driven == s;
}

static void drive_on_and_on(struct subject *s)
{
	while (!atomic_load(&s->stop))
		if (drive(s, 100) == 0)
			nap_ns(20 * NS_PER_US);
}

static void *driver(void *arg)
{
	drive_on_and_on(arg);
	return NULL;
}

static void drive_in_fiber(void *arg)
{
	drive_on_and_on(arg);
}

static void manual_make(struct subject *s)
{
	assert_int_equal(weft_manual_create(&s->e), 0);
	for (unsigned i = 0; i < s->kind->threads; i++)
		assert_int_equal(
			pthread_create(&s->drivers[i], NULL, driver, s), 0);
	if (s->kind->threads == 0) {
		s->rt = rt_workers(1);
		assert_int_equal(weft_rt_go(s->rt, drive_in_fiber, s), 0);
	}
}

static void manual_unmake(struct subject *s)
{
	int64_t give_up = PATIENCE;
	int err;

	atomic_store(&s->stop, true);
	for (unsigned i = 0; i < s->kind->threads; i++)
		assert_int_equal(pthread_join(s->drivers[i], NULL), 0);
	if (s->kind->threads == 0)
		rt_end(s->rt);
	while ((err = weft_executor_destroy(s->e)) == -EBUSY) {
		if (drive(s, 1) == 0)
			nap_ns(20 * NS_PER_US);
		assert_true(weft_now() < give_up);
	}
	assert_int_equal(err, 0);
}

/* Without threads it is driven by a fiber of a runtime. */
static const struct kind_ops manual_ops = { manual_make, manual_unmake,
	manual_runs_this, true };

/* ------------------------------------------------------------------------ */
/* The inline one: there is nothing to make or to end. */

static void inline_make(struct subject *s)
{
	s->e = weft_inline();
}

static void inline_unmake(struct subject *s)
{
	assert_ptr_equal(s->e, weft_inline());
}

static bool inline_runs_this(struct subject *s)
{
	(void)s;
	return true;
}

static const struct kind_ops inline_ops = { inline_make, inline_unmake,
	inline_runs_this, false };

/* ------------------------------------------------------------------------ */
/* One that a user has written. */

static int user_submit(weft_executor *e, weft_task *t, weft_hint hint)
{
	struct user_executor *u = (struct user_executor *)e;

	pthread_mutex_lock(&u->mutex);
	if (u->head == NULL) {
		t->next_ = NULL;
		u->head = u->tail = t;
	} else if (u->lifo && hint != WEFT_HINT_YIELD) {
		t->next_ = u->head;
		u->head = t;
	} else {
		t->next_ = NULL;
		u->tail->next_ = t;
		u->tail = t;
	}
	pthread_cond_signal(&u->changed);
	pthread_mutex_unlock(&u->mutex);
	return 0;
}

/* NULL: the thread shall end. */
static weft_task *user_take(struct user_executor *u)
{
	weft_task *t;

	pthread_mutex_lock(&u->mutex);
	while (u->head == NULL && !u->stop)
		pthread_cond_wait(&u->changed, &u->mutex);
	t = u->head;
	if (t != NULL)
		u->head = t->next_;
	pthread_mutex_unlock(&u->mutex);
	return t;
}

static void *user_thread(void *arg)
{
	struct subject *s = arg;
	weft_task *t;

	driven = s;
	while ((t = user_take(&s->user)) != NULL)
		weft_task_run(s->e, t);
	return NULL;
}

static void user_make(struct subject *s)
{
	struct user_executor *u = &s->user;

	u->e.submit = user_submit;
	u->lifo = s->kind->threads == 0;
	assert_int_equal(pthread_mutex_init(&u->mutex, NULL), 0);
	assert_int_equal(pthread_cond_init(&u->changed, NULL), 0);
	s->e = &u->e;
	assert_int_equal(pthread_create(&u->thread, NULL, user_thread, s), 0);
}

static void user_unmake(struct subject *s)
{
	struct user_executor *u = &s->user;

	pthread_mutex_lock(&u->mutex);
	u->stop = true;
	pthread_cond_signal(&u->changed);
	pthread_mutex_unlock(&u->mutex);
	assert_int_equal(pthread_join(u->thread, NULL), 0);
	pthread_cond_destroy(&u->changed);
	pthread_mutex_destroy(&u->mutex);
}

/* A kind with 0 threads: last in first out, except yielders. */
static const struct kind_ops user_ops = { user_make, user_unmake,
	manual_runs_this, false };

/* ------------------------------------------------------------------------ */
/* Strands. */

static void strand_make(struct subject *s)
{
	s->under = subject_make(s->kind->under);
	assert_int_equal(weft_strand_create(&s->e, s->under->e), 0);
}

static void strand_unmake(struct subject *s)
{
	assert_int_equal(weft_executor_destroy(s->e), 0);
	subject_unmake(s->under);
}

/* A strand's task runs alone, and on the executor under the strand. */
static bool strand_runs_this(struct subject *s)
{
	bool alone = s->inside++ == 0;

	if (s->under->rt == NULL)
		alone = runs_this(s->under) && alone;
	else
		sched_yield();
	s->inside--;
	return alone;
}

static const struct kind_ops strand_ops = { strand_make, strand_unmake,
	strand_runs_this, true };

/* ------------------------------------------------------------------------ */
/* All kinds, each with the default policy. */

enum {
	RT_1,
	RT_2,
	RT_4,
	POOL_1,
	POOL_2,
	POOL_4,
	MANUAL,
	MANUAL_BY_TWO,
	MANUAL_BY_FIBER,
	INLINE,
	USER_FIFO,
	USER_LIFO,
	KINDS_BELOW,	/* the others are strands over these */
	KINDS_STRANDS = 2 * KINDS_BELOW,
	STRAND_STRAND_MANUAL = KINDS_STRANDS,
	STRAND_STRAND_RT,
	KINDS
};

#define STRAND_OVER(i, what) \
	{ "a strand over " what, &strand_ops, 0, &kinds[i], { 0 } }

static const struct kind kinds[KINDS] = {
	[RT_1] = { "a runtime of 1", &rt_ops, 1, NULL, { 0 } },
	[RT_2] = { "a runtime of 2", &rt_ops, 2, NULL, { 0 } },
	[RT_4] = { "a runtime of 4", &rt_ops, 4, NULL, { 0 } },
	[POOL_1] = { "a pool of 1", &pool_ops, 1, NULL, { 0 } },
	[POOL_2] = { "a pool of 2", &pool_ops, 2, NULL, { 0 } },
	[POOL_4] = { "a pool of 4", &pool_ops, 4, NULL, { 0 } },
	[MANUAL] = { "a manual one", &manual_ops, 1, NULL, { 0 } },
	[MANUAL_BY_TWO] = { "a manual one of two threads", &manual_ops, 2, NULL,
		{ 0 } },
	[MANUAL_BY_FIBER] = { "a manual one in a fiber", &manual_ops, 0, NULL,
		{ 0 } },
	[INLINE] = { "the inline one", &inline_ops, 0, NULL, { 0 } },
	[USER_FIFO] = { "a user's list", &user_ops, 1, NULL, { 0 } },
	[USER_LIFO] = { "a user's stack", &user_ops, 0, NULL, { 0 } },
	[KINDS_BELOW + RT_1] = STRAND_OVER(RT_1, "a runtime of 1"),
	[KINDS_BELOW + RT_2] = STRAND_OVER(RT_2, "a runtime of 2"),
	[KINDS_BELOW + RT_4] = STRAND_OVER(RT_4, "a runtime of 4"),
	[KINDS_BELOW + POOL_1] = STRAND_OVER(POOL_1, "a pool of 1"),
	[KINDS_BELOW + POOL_2] = STRAND_OVER(POOL_2, "a pool of 2"),
	[KINDS_BELOW + POOL_4] = STRAND_OVER(POOL_4, "a pool of 4"),
	[KINDS_BELOW + MANUAL] = STRAND_OVER(MANUAL, "a manual one"),
	[KINDS_BELOW + MANUAL_BY_TWO] =
		STRAND_OVER(MANUAL_BY_TWO, "one of two threads"),
	[KINDS_BELOW + MANUAL_BY_FIBER] =
		STRAND_OVER(MANUAL_BY_FIBER, "one in a fiber"),
	[KINDS_BELOW + INLINE] = STRAND_OVER(INLINE, "the inline one"),
	[KINDS_BELOW + USER_FIFO] = STRAND_OVER(USER_FIFO, "a user's list"),
	[KINDS_BELOW + USER_LIFO] = STRAND_OVER(USER_LIFO, "a user's stack"),
	[STRAND_STRAND_MANUAL] = STRAND_OVER(KINDS_BELOW + MANUAL,
		"a strand over a manual one"),
	[STRAND_STRAND_RT] = STRAND_OVER(KINDS_BELOW + RT_2,
		"a strand over a runtime of 2"),
};

#endif
