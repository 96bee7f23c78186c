/* SPDX-License-Identifier: MIT */
/*
 * bench/million.c - a million fibers that all wait for one event, and the cost
 * of each.
 *
 * Each fiber touches a page of stack, which takes most of the time.  So the
 * bench first touches as many pages without any fiber, and does so twice,
 * because on a virtual machine the very first touch of a page is slower.
 *
 * Reads next: bench/idle.c
 */
#include "bench/workloads.h"

#include <errno.h>

#include "bench/process.h"
#include "os/os.h"

#define FIBERS 1000000

/* Memory that the machine must have left for each fiber. */
#define BYTES_EACH_MAX 12000

static int fault(uint64_t pages, double *ns_each)
{
	size_t page = wf_os_page_bytes();
	int64_t begin;
	void *memory;
	int err = wf_os_vm_map(&memory, pages * page);

	if (err)
		return err;
	begin = wf_os_now_ns();
	for (uint64_t i = 0; i < pages; i++)
		*((volatile char *)memory + i * page) = 1;
	*ns_each = (double)(wf_os_now_ns() - begin) / (double)pages;
	wf_os_vm_unmap(memory, pages * page);
	return 0;
}

struct crowd {
	weft_group arrived;
	weft_group gate;
	weft_group gone;
};

static void stand_and_wait(void *arg)
{
	struct crowd *c = arg;
	int err;

	weft_group_done(&c->arrived);
	err = weft_group_wait(&c->gate, WEFT_FOREVER);
	if (err)
		bench_fail(err);
	weft_group_done(&c->gone);
}

/* Returns how many of n were started, and in *err why not more. */
static uint64_t start(struct crowd *c, uint64_t n, int *err)
{
	uint64_t i = 0;

	weft_group_add(&c->gate, 1);
	weft_group_add(&c->arrived, (int64_t)n);
	weft_group_add(&c->gone, (int64_t)n);
	while (i < n && (*err = bench_on.go(stand_and_wait, c)) == 0)
		i++;
	weft_group_add(&c->arrived, (int64_t)i - (int64_t)n);
	weft_group_add(&c->gone, (int64_t)i - (int64_t)n);
	return i;
}

/* Returns how long the look took, which does not count. */
static int64_t look(struct bench_report *f, uint64_t n, uint64_t rss_before)
{
	int64_t begin = wf_os_now_ns();

	f->parked = n;
	f->bytes_each =
		((double)bench_rss_bytes() - (double)rss_before) / (double)n;
	f->mappings = bench_mappings();
	return wf_os_now_ns() - begin;
}

static int million(struct bench_job *j)
{
	uint64_t n = bench_many(j, FIBERS), rss, started;
	struct crowd c = { 0 };
	int64_t looked;
	int err, wait_err;

	if (bench_memory_left() < n * BYTES_EACH_MAX)
		return -ENOMEM;
	err = fault(n, &j->s.report.fault_ns);
	if (!err)
		err = fault(n, &j->s.report.fault_ns);
	if (err)
		return err;
	rss = bench_rss_bytes();
	bench_begin(j);
	started = start(&c, n, &err);
	wait_err = weft_group_wait(&c.arrived, WEFT_FOREVER);
	looked = look(&j->s.report, started, rss);
	weft_group_done(&c.gate);
	if (!wait_err)
		wait_err = weft_group_wait(&c.gone, WEFT_FOREVER);
	bench_end(j, started);
	j->s.ns -= looked;
	return err ? err : wait_err;
}

const struct bench_load bench_million = {
	.name = "million",
	.what = "spawn 1,000,000 that wait, release them",
	.run = million,
	.needs = BENCH_SUSPEND,
	.workers = { 2, 0 },
	.rounds = 1,
	.subprocess = true,
};
