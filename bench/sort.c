/* SPDX-License-Identifier: MIT */
/*
 * bench/sort.c - merge sort by fork and join: of few elements, forked down to
 * the single one, and of ten million, forked down to a cut-off.
 *
 * The sort of the leaves is our own code, so that it is the same with and
 * without a scheduler, and in another language.
 *
 * Reads next: bench/yield.c
 */
#include "bench/workloads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define MANY 10000000
#define MANY_CUTOFF 2048
#define FEW 1024
#define FEW_CUTOFF 1
#define FEW_TIMES 100

/*
 * Kept from round to round, so that only the first round faults its pages in.
 */
static int *numbers, *buffer;
static size_t room;

static int get_room(size_t n)
{
	int *p;

	if (n <= room)
		return 0;
	p = realloc(numbers, n * sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	numbers = p;
	p = realloc(buffer, n * sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	buffer = p;
	room = n;
	memset(buffer, 0, n * sizeof(*p));
	return 0;
}

/* Store the same numbers every time (splitmix64); returns their sum. */
static uint64_t fill(size_t n)
{
	uint64_t x = 1, sum = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t z = x += 0x9e3779b97f4a7c15;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		numbers[i] = (int)(z >> 33);
		sum += (uint64_t)numbers[i];
	}
	return sum;
}

/* Check that the numbers are unchanged, and sorted in each run. */
static int check(size_t n, size_t run, uint64_t sum)
{
	for (size_t i = 0; i < n; i++) {
		if (i % run != 0 && numbers[i - 1] > numbers[i])
			return -EILSEQ;
		sum -= (uint64_t)numbers[i];
	}
	return sum == 0 ? 0 : -EILSEQ;
}

static void swap(int *a, int *b)
{
	int t = *a;

	*a = *b;
	*b = t;
}

static void insertion_sort(int *a, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		int v = a[i];
		size_t k = i;

		for (; k > 0 && a[k - 1] > v; k--)
			a[k] = a[k - 1];
		a[k] = v;
	}
}

/* Quicksort with the median of three, down to a few; then insertion sort. */
static void leaf_sort(int *a, size_t n)
{
	while (n > 24) {
		int *low = a, *high = a + n - 1, *middle = a + n / 2, pivot;

		if (*middle < *low)
			swap(middle, low);
		if (*high < *middle) {
			swap(high, middle);
			if (*middle < *low)
				swap(middle, low);
		}
		pivot = *middle;
		while (low <= high) {
			while (*low < pivot)
				low++;
			while (pivot < *high)
				high--;
			if (low <= high)
				swap(low++, high--);
		}
		leaf_sort(a, (size_t)(high - a) + 1);
		n -= (size_t)(low - a);
		a = low;
	}
	insertion_sort(a, n);
}

/* Merge two sorted halves; the left one is copied to spare first. */
static void merge(int *a, int *spare, size_t left, size_t n)
{
	int *l = spare, *l_end = spare + left, *r = a + left, *r_end = a + n;

	memcpy(spare, a, left * sizeof(*a));
	while (l < l_end && r < r_end)
		*a++ = *r < *l ? *r++ : *l++;
	memcpy(a, l, (size_t)(l_end - l) * sizeof(*a));
}

struct part {
	int *a;
	int *spare;
	size_t n;
	size_t cutoff;
};

static void halve(const struct part *p, struct part half[2])
{
	size_t left = p->n / 2;

	half[0] = (struct part){ p->a, p->spare, left, p->cutoff };
	half[1] = (struct part){ p->a + left, p->spare + left, p->n - left,
		p->cutoff };
}

static wf_may_switch void *sort_forked(void *arg)
{
	const struct part *p = arg;
	struct part half[2];
	weft_fiber *child;
	int err;

	if (p->n <= p->cutoff) {
		leaf_sort(p->a, p->n);
		return NULL;
	}
	halve(p, half);
	err = bench_on.spawn(&child, NULL, sort_forked, &half[0]);
	if (wf_unlikely(err)) {
		bench_fail(err);
		sort_forked(&half[0]);
	}
	sort_forked(&half[1]);
	if (!err)
		err = bench_on.join(child, NULL, WEFT_FOREVER);
	if (wf_unlikely(err))
		bench_fail(err);
	merge(p->a, p->spare, half[0].n, p->n);
	return NULL;
}

static wf_noinline void *sort_called(void *arg)
{
	const struct part *p = arg;
	struct part half[2];

	if (p->n <= p->cutoff) {
		leaf_sort(p->a, p->n);
		return NULL;
	}
	halve(p, half);
	sort_called(&half[0]);
	sort_called(&half[1]);
	merge(p->a, p->spare, half[0].n, p->n);
	return NULL;
}

/* Sort `times' runs of that many numbers each, one after the other. */
static int sort_runs(struct bench_job *j, struct part run, size_t times,
	void *(*sort)(void *))
{
	size_t n = run.n * times;
	uint64_t sum;
	int err = get_room(n);

	if (err)
		return err;
	sum = fill(n);
	run.spare = buffer;
	bench_begin(j);
	for (size_t i = 0; i < times; i++) {
		run.a = numbers + i * run.n;
		sort(&run);
	}
	bench_end(j, n);
	return check(n, run.n, sum);
}

static int sort_many(struct bench_job *j, void *(*sort)(void *))
{
	struct part all = { .n = bench_scaled(j, MANY), .cutoff = MANY_CUTOFF };

	return sort_runs(j, all, 1, sort);
}

/* Few numbers are sorted too fast for the clock, so there are several runs. */
static int sort_few(struct bench_job *j, void *(*sort)(void *))
{
	struct part few = { .n = FEW, .cutoff = FEW_CUTOFF };

	return sort_runs(j, few, bench_scaled(j, FEW_TIMES), sort);
}

static int many_forked(struct bench_job *j)
{
	return sort_many(j, sort_forked);
}

static int many_called(struct bench_job *j)
{
	return sort_many(j, sort_called);
}

static int few_forked(struct bench_job *j)
{
	return sort_few(j, sort_forked);
}

static int few_called(struct bench_job *j)
{
	return sort_few(j, sort_called);
}

const struct bench_load bench_sort = {
	.name = "sort",
	.what = "an element of 10M, cut-off 2,048",
	.run = many_forked,
	.plain = many_called,
	.needs = BENCH_JOIN,
	.workers = { 1, 2 },
	.rounds = 5,
	.part = 0.4,
	.faster = 1.7,
};

const struct bench_load bench_merge_sort = {
	.name = "merge-sort",
	.what = "an element of 1,024, forked to the leaves",
	.run = few_forked,
	.plain = few_called,
	.needs = BENCH_JOIN,
	.workers = { 1, 2, 4 },
};
