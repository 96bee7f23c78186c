/* SPDX-License-Identifier: MIT */
/*
 * bench/compare/window.c - the program that tools/compare drives, linked once
 * with each library: it runs a workload on weft each time it is told to.
 *
 * A line of standard input is a command; the answer goes to standard output.
 *
 *	list
 *		One line for each workload, then "end":
 *		NAME ALSO SIZE sleeps|works WORKERS...
 *		ALSO is another name for several workloads, or "-".  SIZE is 0
 *		for a workload that cannot be built with this library.
 *	run NAME WORKERS SCALE NS
 *		Runs whole passes in SCALE times the full size until their
 *		times add up to NS, at least one pass.  The answer is
 *		"ok OPERATIONS NS CPU_NS USER_NS" or "error TEXT".  USER_NS is
 *		the time for which fibers computed by the clock.
 *
 * A pass measures its operations only, not the start of the runtime and not the
 * preparations of the workload.  Between two commands no runtime exists, so a
 * process that waits for its turn does not disturb the others.
 */
#include "bench/workloads.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 256

static void list(void)
{
	for (size_t i = 0; bench_loads[i] != NULL; i++) {
		const struct bench_load *load = bench_loads[i];
		double size = load->part > 0 ? load->part : 1;

		printf("%s %s %g %s", load->name, load->also ? load->also : "-",
			load->run ? size : 0,
			load->sleeps ? "sleeps" : "works");
		for (int k = 0; k < BENCH_WORKERS && load->workers[k] > 0; k++)
			printf(" %u", load->workers[k]);
		printf("\n");
	}
	printf("end\n");
}

static const struct bench_load *find(const char *name)
{
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		if (strcmp(bench_loads[i]->name, name) == 0)
			return bench_loads[i];
	return NULL;
}

/* Add up whole passes in *sum until they took ns: 0 or -errno. */
static int run_passes(
	const struct bench *b, int64_t ns, struct bench_sample *sum)
{
	do {
		struct bench_sample s = { 0 };
		int err = bench_load_measure(b, &s);

		if (err)
			return err;
		sum->ops += s.ops;
		sum->ns += s.ns;
		sum->cpu_ns += s.cpu_ns;
		sum->user_ns += s.user_ns;
	} while (sum->ns < ns);
	return 0;
}

static void run(const char *words)
{
	struct bench_sample sum = { 0 };
	struct bench b = { .impl = "weft", .on = &bench_weft };
	char name[LINE_BYTES];
	int64_t ns;
	int err;

	if (sscanf(words, "%s %u %lf %" SCNd64, name, &b.workers, &b.scale,
		    &ns) != 4) {
		printf("error not NAME WORKERS SCALE NS: %s", words);
		return;
	}
	b.load = find(name);
	if (b.load == NULL || b.load->run == NULL) {
		printf("error there is no workload %s\n", name);
		return;
	}
	b.name = b.load->name;
	err = run_passes(&b, ns, &sum);
	if (err)
		printf("error %s: %s\n", name, strerror(-err));
	else
		printf("ok %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 "\n",
			sum.ops, sum.ns, sum.cpu_ns, sum.user_ns);
}

int main(void)
{
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (strcmp(line, "list\n") == 0)
			list();
		else if (strncmp(line, "run ", 4) == 0)
			run(line + 4);
		else
			printf("error not a command: %s", line);
		fflush(stdout);
	}
	return 0;
}
