/* SPDX-License-Identifier: MIT */
/*
 * bench/fork.c - fork and join: a binary tree, and the Fibonacci numbers.
 *
 * If a fork fails, a call replaces it, so that the computation ends; the error
 * is kept.
 *
 * Reads next: bench/sort.c
 */
#include "bench/workloads.h"

#include <errno.h>

#include "base/compiler.h"

#define TREE_DEPTH 20
#define FIB_N 32

static void *as_pointer(uint64_t n)
{
	return (void *)(uintptr_t)n;
}

static uint64_t as_number(void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* Hides n from the compiler, so that the plain forms compute everything too. */
static uint64_t opaque(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static uint64_t join_number(weft_fiber *f)
{
	void *result = NULL;
	int err = bench_on.join(f, &result, WEFT_FOREVER);

	if (err)
		bench_fail(err);
	return as_number(result);
}

/* The number of nodes in a tree of that depth. */
static uint64_t tree_nodes(unsigned depth)
{
	return ((uint64_t)2 << depth) - 1;
}

/* The deepest tree that has no more than this job's number of nodes. */
static unsigned tree_depth(const struct bench_job *j)
{
	uint64_t nodes = bench_forks(j, tree_nodes(TREE_DEPTH));
	unsigned depth = 0;

	while (tree_nodes(depth + 1) <= nodes)
		depth++;
	return depth;
}

/* Returns the number of its nodes. */
static wf_may_switch void *tree(void *depth)
{
	uint64_t nodes = 1;
	weft_fiber *child[2];
	void *next = as_pointer(as_number(depth) - 1);
	int err;

	if (as_number(depth) == 0)
		return as_pointer(1);
	for (int i = 0; i < 2; i++) {
		err = bench_on.spawn(&child[i], NULL, tree, next);
		if (wf_unlikely(err)) {
			bench_fail(err);
			child[i] = NULL;
		}
	}
	for (int i = 0; i < 2; i++)
		nodes += child[i] ? join_number(child[i])
				  : as_number(tree(next));
	return as_pointer(nodes);
}

static wf_noinline void *tree_plain(void *depth)
{
	void *next = as_pointer(as_number(depth) - 1);
	uint64_t nodes = 1;

	if (as_number(depth) == 0)
		return as_pointer(1);
	for (int i = 0; i < 2; i++)
		nodes += opaque(as_number(tree_plain(next)));
	return as_pointer(nodes);
}

static int count_tree(struct bench_job *j, void *(*fn)(void *))
{
	unsigned depth = tree_depth(j);
	uint64_t nodes;

	bench_begin(j);
	nodes = as_number(fn(as_pointer(depth)));
	bench_end(j, tree_nodes(depth));
	return nodes == tree_nodes(depth) ? 0 : -EILSEQ;
}

static int spawn_tree(struct bench_job *j)
{
	return count_tree(j, tree);
}

static int spawn_tree_plain(struct bench_job *j)
{
	return count_tree(j, tree_plain);
}

const struct bench_load bench_spawn_tree = {
	.name = "spawn-tree",
	.what = "a node of a tree, which joins its children",
	.run = spawn_tree,
	.plain = spawn_tree_plain,
	.needs = BENCH_JOIN,
	.workers = { 1, 2 },
	.limit = 10,
	.faster = 1.4,
};

/* The usual form: fork one, call the other, join. */
static wf_may_switch void *fib(void *arg)
{
	uint64_t n = as_number(arg), sum;
	weft_fiber *child;
	int err;

	if (n < 2)
		return arg;
	err = bench_on.spawn(&child, NULL, fib, as_pointer(n - 1));
	if (wf_unlikely(err)) {
		bench_fail(err);
		child = NULL;
	}
	sum = as_number(fib(as_pointer(n - 2)));
	sum += child ? join_number(child) : as_number(fib(as_pointer(n - 1)));
	return as_pointer(sum);
}

static wf_noinline void *fib_plain(void *arg)
{
	uint64_t n = as_number(arg), sum;

	if (n < 2)
		return arg;
	sum = opaque(as_number(fib_plain(as_pointer(n - 2))));
	sum += opaque(as_number(fib_plain(as_pointer(n - 1))));
	return as_pointer(sum);
}

/* The number itself, and how many calls its computation takes. */
static uint64_t fib_expected(unsigned n, uint64_t *calls)
{
	uint64_t a = 0, b = 1;

	for (unsigned i = 0; i < n; i++) {
		uint64_t sum = a + b;

		a = b;
		b = sum;
	}
	*calls = 2 * b - 1;
	return a;
}

static unsigned fib_n(const struct bench_job *j)
{
	uint64_t all, calls;
	unsigned n = 2;

	(void)fib_expected(FIB_N, &all);
	all = bench_forks(j, all);
	while (fib_expected(n + 1, &calls), calls <= all)
		n++;
	return n;
}

static int count_fib(struct bench_job *j, void *(*fn)(void *))
{
	unsigned n = fib_n(j);
	uint64_t calls, expected = fib_expected(n, &calls), result;

	bench_begin(j);
	result = as_number(fn(as_pointer(n)));
	bench_end(j, calls);
	return result == expected ? 0 : -EILSEQ;
}

static int fib_forked(struct bench_job *j)
{
	return count_fib(j, fib);
}

static int fib_called(struct bench_job *j)
{
	return count_fib(j, fib_plain);
}

const struct bench_load bench_fib = {
	.name = "fib",
	.what = "fib(32), every call a fork",
	.run = fib_forked,
	.plain = fib_called,
	.needs = BENCH_JOIN,
	.workers = { 1, 2 },
	.faster = 1.4,
};
