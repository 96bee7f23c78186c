/* SPDX-License-Identifier: MIT */
/*
 * bench/pool.c - the baseline: a thread pool with one shared queue.
 *
 * What most programs begin with: a mutex, a condition variable, a list of
 * allocated tasks.  A task cannot wait without keeping its thread, so there is
 * neither yield nor join nor suspend here, and the workload itself runs on the
 * thread that started the pool.
 */
#include "bench/workloads.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct pool_task {
	void (*fn)(void *);
	void *arg;
	struct pool_task *next;
};

static struct pool {
	pthread_mutex_t lock;
	pthread_cond_t more;
	/* Under the lock. */
	struct pool_task *head;
	struct pool_task **tail;
	bool stopping;
	/* Only whoever starts and stops it. */
	pthread_t *threads;
	unsigned n;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.more = PTHREAD_COND_INITIALIZER };

static int submit(void (*fn)(void *), void *arg)
{
	struct pool_task *t = malloc(sizeof(*t));

	if (t == NULL)
		return -ENOMEM;
	*t = (struct pool_task){ .fn = fn, .arg = arg };
	pthread_mutex_lock(&pool.lock);
	*pool.tail = t;
	pool.tail = &t->next;
	pthread_cond_signal(&pool.more);
	pthread_mutex_unlock(&pool.lock);
	return 0;
}

/* The next task; NULL when the pool stops and nothing is left. */
static struct pool_task *take(void)
{
	struct pool_task *t;

	pthread_mutex_lock(&pool.lock);
	while (pool.head == NULL && !pool.stopping)
		pthread_cond_wait(&pool.more, &pool.lock);
	t = pool.head;
	if (t != NULL) {
		pool.head = t->next;
		if (pool.head == NULL)
			pool.tail = &pool.head;
	}
	pthread_mutex_unlock(&pool.lock);
	return t;
}

static void *work(void *unused)
{
	struct pool_task *t;

	while ((t = take()) != NULL) {
		void (*fn)(void *) = t->fn;
		void *arg = t->arg;

		free(t);
		fn(arg);
	}
	return unused;
}

static void stop(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.stopping = true;
	pthread_cond_broadcast(&pool.more);
	pthread_mutex_unlock(&pool.lock);
	for (unsigned i = 0; i < pool.n; i++)
		pthread_join(pool.threads[i], NULL);
	free(pool.threads);
	pool.threads = NULL;
}

static int start(unsigned threads)
{
	pool.head = NULL;
	pool.tail = &pool.head;
	pool.stopping = false;
	pool.n = 0;
	pool.threads = calloc(threads, sizeof(pool.threads[0]));
	if (pool.threads == NULL)
		return -ENOMEM;
	while (pool.n < threads) {
		int err =
			pthread_create(&pool.threads[pool.n], NULL, work, NULL);

		if (err) {
			stop();
			return -err;
		}
		pool.n++;
	}
	return 0;
}

static int run(struct bench_job *j)
{
	int err = start(j->bench->workers);

	if (err)
		return err;
	err = bench_job_run(j);
	stop();
	if (j->s.cpu_ns == 0)
		j->s.cpu_ns = bench_cpu_ns() - j->start_cpu_ns;
	return err;
}

const struct bench_impl bench_pool = {
	.name = "pool",
	.what = "threads with one shared queue, the baseline",
	/* It is slow enough that a tenth of the work tells as much. */
	.share = 0.1,
	.run = run,
	.remote = submit,
	.go = submit,
};
