/* SPDX-License-Identifier: MIT */
/*
 * bench/policies.c - the policies that are compared, and the workloads.
 *
 * Each heuristic is changed alone, once in the default and once under Go's wake
 * rule.  A default that seldom wakes a processor also seldom steals, and so
 * hides the effect of stealing.  Then come the combinations of the earlier
 * experiment (docs/POLICIES.md), and the policies without work stealing.
 *
 * The workloads are those of the earlier experiment, and pairs: none of the
 * others does nothing but hand over to the fiber that runs next.
 *
 * Reads next: bench/policies_text.c
 */
#include "bench/policies.h"

#include <errno.h>

/* The default policy comes before all of them. */
static const struct {
	const char *heading;
	const char *words;
} usual[] = {
	{ "One word changed", "lock-free" },
	{ NULL, "mutex" },
	{ NULL, "steal-one" },
	{ NULL, "take-one" },
	{ NULL, "take-all" },
	{ NULL, "offload-one" },
	{ NULL, "no-lifo" },
	{ NULL, "wake-go" },
	{ NULL, "wake-flare" },
	{ "Go's wake rule, and one more", "wake-go,lock-free" },
	{ NULL, "wake-go,mutex" },
	{ NULL, "wake-go,steal-one" },
	{ NULL, "wake-go,take-one" },
	{ NULL, "wake-go,take-all" },
	{ NULL, "wake-go,offload-one" },
	{ NULL, "wake-go,no-lifo" },
	{ "The experiment's combinations", "mutex,take-all,wake-go" },
	{ NULL, "mutex,steal-one,take-all,wake-go" },
	{ NULL, "mutex,take-one,wake-go" },
	{ NULL, "mutex,steal-one,take-one,wake-go" },
	{ NULL, "steal-one,offload-one,wake-go" },
	{ "One queue for all", "global-fifo" },
	{ NULL, "global-fifo,wake-go" },
	{ NULL, "bounded" },
	{ NULL, "bounded,wake-flare" },
	{ "The baseline", "pool" },
};

#define USUAL (sizeof(usual) / sizeof(usual[0]))

const struct bench_word bench_words[] = {
	{ "ws",
		"the default: work stealing, with a queue per processor and a "
		"global one" },
	{ "global-fifo", "one global queue for all, first in first out" },
	{ "bounded", "one bounded lock-free queue for all, as in flare" },
	{ "atomic", "a processor's own queue needs no lock (default)" },
	{ "mutex", "a processor's own queue is guarded by a lock" },
	{ "steal-half", "a thief takes half of a queue (default)" },
	{ "steal-one", "a thief takes one task" },
	{ "take-share",
		"a processor takes its share of the global queue: "
		"length / processors (default)" },
	{ "take-one", "a processor takes one task from the global queue" },
	{ "take-all", "a processor takes as much as its own queue can hold" },
	{ "offload-half",
		"half of a full queue goes to the global one "
		"(default)" },
	{ "offload-one",
		"the oldest task of a full queue goes to the global one" },
	{ "lifo", "a task that should run next has a slot (default)" },
	{ "no-lifo", "there is no slot for the next task" },
	{ "wake-gate",
		"wake a sleeper if measurements say it pays "
		"(default)" },
	{ "wake-go",
		"wake a sleeper unless a processor searches, as in Go" },
	{ "wake-flare",
		"claim a searcher, or else wake a sleeper, as in flare" },
	{ "short-locks",
		"locks around a few instructions, where they pay "
		"(default)" },
	{ "lock-free", "no lock on any path that a task takes" },
	{ "pool",
		"the baseline: threads that share one queue, a mutex and a "
		"condition variable" },
	{ NULL, NULL },
};

int bench_policies_open(struct bench_policies *x)
{
	const struct bench_impl *on;
	char why[300];
	int err = bench_impl_find("ws", &on, why, sizeof(why));

	x->n = x->n_loads = x->plan.n = 0;
	x->rounds = 1;
	x->workers = 0;
	x->scale = 1;
	return err ? err : bench_policies_add(x, "The default", on);
}

int bench_policies_add(struct bench_policies *x, const char *heading,
	const struct bench_impl *on)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->variant[i].on == on)
			return 0;
	if (x->n == BENCH_POLICIES_MAX)
		return -ENOSPC;
	x->variant[x->n++] = (struct bench_variant){ heading, on };
	return 0;
}

int bench_policies_add_load(
	struct bench_policies *x, const struct bench_load *load)
{
	for (size_t i = 0; i < x->n_loads; i++)
		if (x->load[i] == load)
			return 0;
	if (x->n_loads == BENCH_POLICIES_LOADS)
		return -ENOSPC;
	x->load[x->n_loads++] = load;
	return 0;
}

int bench_policies_add_usual(struct bench_policies *x)
{
	int err = 0;

	for (size_t i = 0; i < USUAL && !err; i++) {
		const struct bench_impl *on;
		char why[300];

		err = bench_impl_find(usual[i].words, &on, why, sizeof(why));
		if (!err)
			err = bench_policies_add(x, usual[i].heading, on);
	}
	return err;
}

int bench_policies_add_usual_loads(struct bench_policies *x)
{
	static const struct bench_load *const loads[] = { &bench_mutexes,
		&bench_channels, &bench_single_spawner, &bench_slow_thread,
		&bench_merge_sort, &bench_different_spawners, &bench_pairs };
	int err = 0;

	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads) && !err; i++)
		err = bench_policies_add_load(x, loads[i]);
	return err;
}

/*
 * The largest number of workers of a workload, which is that of the experiment.
 */
unsigned bench_policies_workers(
	const struct bench_policies *x, const struct bench_load *load)
{
	unsigned most = 0;

	for (int k = 0; k < BENCH_WORKERS; k++)
		if (load->workers[k] > most)
			most = load->workers[k];
	return x->workers ? x->workers : most;
}

/*
 * All variants of a workload in a row, so that compared rows run close
 * together.
 */
void bench_policies_run(struct bench_policies *x, bool progress)
{
	for (size_t l = 0; l < x->n_loads; l++)
		for (size_t i = 0; i < x->n; i++)
			bench_plan_row(&x->plan, x->load[l], x->variant[i].on,
				bench_policies_workers(x, x->load[l]),
				x->scale);
	bench_plan_run(&x->plan, x->rounds, progress, x->result);
}

struct bench_cell bench_policies_cell(const struct bench_policies *x,
	const struct bench_load *load, const struct bench_impl *on)
{
	unsigned workers = bench_policies_workers(x, load);
	struct bench_cell c = { 0 }, first;

	c.bench = bench_plan_find(&x->plan, load, on, workers);
	if (c.bench == NULL)
		return c;
	c.result = &x->result[c.bench - x->plan.row];
	c.measured = c.result->err == 0 && c.result->rounds > 0;
	if (!c.measured)
		return c;
	c.ratio = c.cpu_ratio = 1;
	if (on == x->variant[0].on)
		return c;
	first = bench_policies_cell(x, load, x->variant[0].on);
	c.ratio = first.measured && bench_is_seen(first.result) &&
			bench_is_seen(c.result)
		? bench_median(c.result) / bench_median(first.result)
		: 0;
	c.cpu_ratio = first.measured && bench_cpu_median(first.result) > 0
		? bench_cpu_median(c.result) / bench_cpu_median(first.result)
		: 0;
	return c;
}
