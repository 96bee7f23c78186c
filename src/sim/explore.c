/* SPDX-License-Identifier: MIT */
/*
 * sim/explore.c - many runs: choose them, count them, report the one that
 * fails.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <weft/sim.h>

#include "base/random.h"
#include "base/units.h"
#include "sim/engine.h"
#include "sim/heap.h"
#include "sim/program.h"
#include "sim/search.h"
#include "sim/shrink.h"
#include "sim/token.h"
#include "sim/trace.h"

#define WF_SIM_SCHEDULES 100000
#define WF_SIM_STEPS 20000
#define WF_SIM_STEPS_MAX 16000000
#define WF_SIM_SLICE 256 /* runs of one mode in a row */
#define WF_SIM_TWICE_EACH 256
#define WF_SIM_SHRINK_RUNS 4000
#define WF_SIM_LISTED 1048576	       /* decisions kept of a failure */
#define WF_SIM_LINE ((size_t)32 << 20) /* room for a token of all of them */
#define WF_SIM_ALL \
	(WEFT_SIM_WALK | WEFT_SIM_PCT | WEFT_SIM_URW | WEFT_SIM_BOUNDED)
#define WF_SIM_FLAGS                                                    \
	(WEFT_SIM_QUIET | WEFT_SIM_NO_SHRINK | WEFT_SIM_STRONG |        \
		WEFT_SIM_ABA | WEFT_SIM_LOCK_FREE | WEFT_SIM_LEAKS_OK | \
		WEFT_SIM_TWICE | WEFT_SIM_INSIDE | WEFT_SIM_ECONOMY)

/* `weft sim' looks for this to recognise a simulated program. */
const char wf_sim_marker[] = "weft-sim-marker-1";

struct exploration {
	weft_sim_opts opts;
	weft_sim_report report;
	int64_t start_ns;
	uint32_t length; /* of recent runs */
	uint32_t share[WF_SIM_THREADS];
	uint64_t slices;
	uint32_t bound; /* bounded: preemptions tried now */
	bool bounded_begun, bounded_done, pruned;
	bool trace; /* print the trace of every run */
	struct wf_sim_decision *list;
	char *line; /* a token of any length */
};

static int64_t real_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * WF_NS_PER_S + t.tv_nsec;
}

static int complain(const char *what, const char *value)
{
	fprintf(stderr, "weft: sim: %s: %s\n", what, value);
	return -EINVAL;
}

/* A number from the environment; unset leaves *v as it is. */
static int from_environment(const char *name, uint64_t *v)
{
	const char *text = getenv(name);
	char *end;
	uint64_t got;

	if (text == NULL || text[0] == '\0')
		return 0;
	errno = 0;
	got = strtoull(text, &end, 0);
	if (errno != 0 || *end != '\0' || !isdigit((unsigned char)text[0]))
		return complain(name, "is not a number");
	*v = got;
	return 0;
}

static const char *program_name(void)
{
	return program_invocation_short_name;
}

/* Set the options, with their defaults and the environment. */
static int settle(struct exploration *x, const weft_sim_opts *opts, size_t size)
{
	weft_sim_opts *o = &x->opts;
	uint64_t budget = 0;

	for (size_t i = sizeof(*o); opts != NULL && i < size; i++)
		if (((const char *)opts)[i] != 0)
			return -E2BIG;
	if (opts != NULL)
		memcpy(o, opts, wf_min_size(size, sizeof(*o)));
	if (o->modes & ~WF_SIM_ALL)
		return complain("modes", "unknown bits");
	if (o->flags & ~WF_SIM_FLAGS)
		return complain("flags", "unknown bits");
	if (o->steps > WF_SIM_STEPS_MAX)
		return complain("steps", "more than 16,000,000");
	if (o->budget_ns < 0)
		return complain("budget_ns", "negative");
	if (from_environment("WEFT_SIM_SEED", &o->seed) != 0 ||
		from_environment("WEFT_SIM_SCHEDULES", &o->schedules) != 0 ||
		from_environment("WEFT_SIM_BUDGET", &budget) != 0)
		return -EINVAL;
	if (budget > 0)
		o->budget_ns =
			(int64_t)wf_min_size(budget, 1000000) * WF_NS_PER_S;
	if (getenv("WEFT_SIM_INSIDE") != NULL)
		o->flags |= WEFT_SIM_INSIDE;
	if (o->name == NULL)
		o->name = program_name();
	if (o->seed == 0)
		o->seed = (uint64_t)real_ns() ^ (uint64_t)getpid() << 40;
	if (o->schedules == 0)
		o->schedules = WF_SIM_SCHEDULES;
	if (o->steps == 0)
		o->steps = WF_SIM_STEPS;
	if (o->modes == 0)
		o->modes = WF_SIM_ALL;
	if (o->preemptions == 0 && o->stales == 0 && o->surprises == 0) {
		o->preemptions = 2;
		o->stales = 1;
		o->surprises = 1;
	}
	return 0;
}

/* Add the run just made to the figures. */
static void count(struct exploration *x)
{
	struct wf_sim *s = wf_sim;

	if (x->trace) {
		fprintf(stderr, "schedule %" PRIu64 "\n",
			x->report.schedules + 1);
		wf_sim_trace_print(stderr);
	}
	x->report.schedules++;
	x->report.steps += s->steps;
	/* A moving average of the length of runs. */
	x->length += (s->steps + 7 > x->length) ? (s->steps - x->length + 7) / 8
						: 0;
	if (s->steps < x->length)
		x->length -= (x->length - s->steps) / 8;
	if (x->length == 0)
		x->length = 1;
	for (uint32_t i = 0; i < s->threads; i++)
		x->share[i] = s->thread[i].points;
}

/* Copy the failure of the run just made into the report. */
static void note_failure(struct exploration *x)
{
	weft_sim_report *r = &x->report;

	r->failed = true;
	memcpy(r->oracle, wf_sim->failure.oracle, sizeof(r->oracle));
	memcpy(r->message, wf_sim->failure.message, sizeof(r->message));
}

/* Copy the decisions of the run just made, sorted. */
static size_t listed(struct exploration *x)
{
	size_t n = wf_sim->log_count;

	memcpy(x->list, wf_sim->log, n * sizeof(*x->list));
	wf_sim_token_sort(x->list, n);
	return n;
}

static void write_log(struct exploration *x, const struct wf_sim_run *list)
{
	const char *path = getenv("WEFT_SIM_LOG");
	FILE *out;

	if (path == NULL || path[0] == '\0')
		return;
	out = fopen(path, "w");
	if (out == NULL ||
		!wf_sim_token_print(x->line, WF_SIM_LINE, x->opts.name, list) ||
		fprintf(out, "%s\n", x->line) < 0)
		fprintf(stderr, "weft: sim: %s: cannot be written: %s\n", path,
			strerror(errno));
	if (out != NULL)
		(void)fclose(out);
}

/* Make the run once more, with tracing, and print the trace. */
static void print_trace(struct exploration *x, const struct wf_sim_run *how)
{
	wf_sim->tracing = true;
	wf_sim->watch = wf_sim->failure.addr;
	wf_sim_run(how);
	wf_sim->tracing = x->trace;
	wf_sim_trace_print(stderr);
}

static void print_failure(struct exploration *x, const struct wf_sim_run *how,
	size_t found, size_t left)
{
	weft_sim_report *r = &x->report;

	if (x->opts.flags & WEFT_SIM_QUIET)
		return;
	fprintf(stderr, "weft: sim: %s: %s: %s\n", x->opts.name, r->oracle,
		r->message);
	fputs(wf_sim->failure.fibers, stderr);
	fprintf(stderr,
		"  schedule %" PRIu64 "; %zu decisions, %zu when "
		"shrunk\n",
		r->schedules, found, left);
	print_trace(x, how);
	if (r->token[0] != '\0')
		fprintf(stderr, "  replay: WEFT_SIM_REPLAY=%s\n", r->token);
	if (r->shrunk[0] != '\0')
		fprintf(stderr, "  shrunk: WEFT_SIM_REPLAY=%s\n", r->shrunk);
}

/* A run made by how has failed: shrink it and report it. */
static void failed(struct exploration *x, const struct wf_sim_run *how)
{
	weft_sim_report *r = &x->report;
	struct wf_sim_run list = { .mode = WF_SIM_LIST, .length = 1 };
	size_t found = listed(x);
	uint64_t digest = wf_sim->digest;
	bool whole = !wf_sim->log_full;

	note_failure(x);
	list.list = x->list;
	list.list_count = found;
	(void)wf_sim_token_print(r->token, sizeof(r->token), x->opts.name,
		how->mode == WEFT_SIM_BOUNDED ? &list : how);
	write_log(x, &list);
	wf_sim_run(&list);
	if (!whole || !wf_sim->failure.failed || wf_sim->digest != digest) {
		/* The seed reproduces the failure, the list does not. */
		if (whole)
			snprintf(r->message + strlen(r->message),
				sizeof(r->message) - strlen(r->message),
				" (and a replay of its decisions differs)");
		print_failure(x, how, found, found);
		return;
	}
	if (!(x->opts.flags & WEFT_SIM_NO_SHRINK))
		list.list_count = wf_sim_shrink(
			x->list, found, r->oracle, WF_SIM_SHRINK_RUNS);
	wf_sim_run(&list);
	note_failure(x);
	(void)wf_sim_token_print(
		r->shrunk, sizeof(r->shrunk), x->opts.name, &list);
	print_failure(x, &list, found, list.list_count);
}

/* Whether a run that is made again takes the same steps. */
static void compare(struct exploration *x, const struct wf_sim_run *how)
{
	uint64_t digest = wf_sim->digest;
	uint32_t steps = wf_sim->steps;

	wf_sim_run(how);
	if (wf_sim->digest == digest && wf_sim->steps == steps)
		return;
	note_failure(x);
	snprintf(x->report.oracle, sizeof(x->report.oracle), "non-determinism");
	snprintf(x->report.message, sizeof(x->report.message),
		"the same schedule took %u steps and then %u: the program "
		"looks at something that is not simulated",
		steps, wf_sim->steps);
	(void)wf_sim_token_print(
		x->report.token, sizeof(x->report.token), x->opts.name, how);
	if (!(x->opts.flags & WEFT_SIM_QUIET))
		fprintf(stderr,
			"weft: sim: %s: %s: %s\n  replay: "
			"WEFT_SIM_REPLAY=%s\n",
			x->opts.name, x->report.oracle, x->report.message,
			x->report.token);
}

static bool spent(struct exploration *x)
{
	if (x->report.failed || x->report.schedules >= x->opts.schedules)
		return true;
	/* Reading the clock costs more than a short run. */
	return x->opts.budget_ns > 0 && (x->report.schedules & 63) == 0 &&
		real_ns() - x->start_ns >= x->opts.budget_ns;
}

/* Make a slice of random runs. */
static void random_slice(struct exploration *x, uint32_t mode)
{
	for (unsigned i = 0; i < WF_SIM_SLICE && !spent(x); i++) {
		uint64_t n = x->report.schedules;
		struct wf_random seeds = { .state = x->opts.seed };
		struct wf_sim_run how = { .mode = mode,
			.seed = wf_random_next(&seeds) ^ (n + 1) << 16,
			.depth = 2 + (uint32_t)(n & 3),
			.length = x->length };

		if (mode == WEFT_SIM_URW)
			memcpy(how.share, x->share, sizeof(how.share));
		wf_sim_run(&how);
		count(x);
		if (wf_sim->failure.failed)
			failed(x, &how);
		else if (n % WF_SIM_TWICE_EACH == 0 ||
			(x->opts.flags & WEFT_SIM_TWICE))
			compare(x, &how);
	}
}

static void bounded_start(struct exploration *x)
{
	uint32_t limits[] = { x->bound, x->opts.stales, x->opts.surprises };

	wf_sim_bounded_start(limits);
	x->bounded_begun = true;
	x->pruned = false;
}

/*
 * Make all runs within the bound, from 0 preemptions on; at most max of them
 * now.
 */
static void bounded_slice(struct exploration *x, uint64_t max)
{
	struct wf_sim_run how = { .mode = WEFT_SIM_BOUNDED, .length = 1 };

	if (!x->bounded_begun)
		bounded_start(x);
	for (uint64_t i = 0; i < max && !spent(x); i++) {
		wf_sim_run(&how);
		count(x);
		if (wf_sim->failure.failed) {
			/* Unfair schedules may spin; that is not a failure. */
			if (strcmp(wf_sim->failure.oracle, "livelock") != 0) {
				failed(x, &how);
				return;
			}
			x->pruned = true;
		}
		if (wf_sim_bounded_next())
			continue;
		if (x->bound == x->opts.preemptions || !wf_sim_bounded_cut()) {
			x->bounded_done = true;
			x->report.complete = !x->pruned;
			return;
		}
		x->bound++;
		bounded_start(x);
	}
}

static void explore(struct exploration *x)
{
	uint32_t modes = x->opts.modes;

	while (!spent(x) && (modes != WEFT_SIM_BOUNDED || !x->bounded_done)) {
		uint32_t mode = 1u << (x->slices++ & 3);

		if (!(modes & mode))
			continue;
		if (mode != WEFT_SIM_BOUNDED)
			random_slice(x, mode);
		else if (!x->bounded_done)
			bounded_slice(
				x, modes == mode ? UINT64_MAX : WF_SIM_SLICE);
	}
}

static int open_all(struct exploration *x)
{
	size_t bytes = WF_SIM_LISTED * sizeof(*x->list) + WF_SIM_LINE;
	char *p;

	if (wf_sim_open() != 0)
		return -ENOMEM;
	p = wf_sim_reserve(bytes);
	if (p == NULL)
		return -ENOMEM;
	x->list = (void *)p;
	x->line = p + WF_SIM_LISTED * sizeof(*x->list);
	return 0;
}

static void close_all(struct exploration *x)
{
	(void)munmap(x->list, WF_SIM_LISTED * sizeof(*x->list) + WF_SIM_LINE);
}

/* The text of a token, or of "@file". */
static const char *token_text(struct exploration *x, const char *token)
{
	ssize_t n;
	int fd;

	if (token[0] != '@')
		return token;
	fd = open(token + 1, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, x->line, WF_SIM_LINE - 1);
	if (fd >= 0)
		(void)close(fd);
	if (n < 0)
		return NULL;
	x->line[n] = '\0';
	x->line[strcspn(x->line, "\n")] = '\0';
	return x->line;
}

/* by_name: run it only if the token has the name of this exploration. */
static int replay(struct exploration *x, const char *token, bool by_name)
{
	const char *text = token_text(x, token);
	struct wf_sim_run how;
	uint32_t build;

	if (text == NULL)
		return complain(token + 1, strerror(errno));
	if (wf_sim_token_parse(text, &how, x->list, WF_SIM_LISTED, &build) != 0)
		return complain(text, "is not a token");
	if (by_name && !wf_sim_token_is_of(text, x->opts.name)) {
		fprintf(stderr,
			"weft: sim: %s: not run: the token has "
			"another name\n",
			x->opts.name);
		return 0;
	}
	if (build != wf_sim_program_build() &&
		!(x->opts.flags & WEFT_SIM_QUIET))
		fprintf(stderr,
			"weft: sim: the token is of another build, "
			"whose schedules may differ\n");
	wf_sim_run(&how);
	count(x);
	if (!wf_sim->failure.failed)
		return 0;
	if (getenv("WEFT_SIM_SHRINK") != NULL) {
		failed(x, &how);
		return 0;
	}
	note_failure(x);
	(void)wf_sim_token_print(
		x->report.token, sizeof(x->report.token), x->opts.name, &how);
	print_failure(x, &how, wf_sim->log_count, wf_sim->log_count);
	return 0;
}

/* With token NULL make all runs of the options; otherwise that one run. */
static int run_all(struct exploration *x, void (*body)(void *), void *arg,
	const char *token, bool by_name)
{
	int err = open_all(x);

	if (err != 0)
		return err;
	wf_sim->body = body;
	wf_sim->arg = arg;
	wf_sim->limit = x->opts.steps;
	wf_sim->flags = x->opts.flags;
	wf_sim->invariant = x->opts.invariant;
	wf_sim->idle = x->opts.idle;
	wf_sim->may_stop = x->opts.may_stop;
	x->trace = getenv("WEFT_SIM_TRACE") != NULL;
	wf_sim->tracing = x->trace;
	x->length = 1;
	x->start_ns = real_ns();
	x->report.seed = x->opts.seed;
	(void)fflush(NULL);
	err = wf_sim_program_save();
	wf_sim_program_guard_begin();
	if (err == 0 && token != NULL)
		err = replay(x, token, by_name);
	else if (err == 0)
		explore(x);
	wf_sim_program_guard_end();
	wf_sim_program_restore();
	x->report.seconds = (double)(real_ns() - x->start_ns) / 1e9;
	close_all(x);
	return err != 0 ? err : x->report.failed;
}

static int start(const weft_sim_opts *opts, size_t size, void (*body)(void *),
	void *arg, const char *token, bool by_name, struct exploration *x)
{
	int err;

	if (wf_sim != NULL && wf_sim->running)
		return -EBUSY;
	err = settle(x, opts, size);
	return err != 0 ? err : run_all(x, body, arg, token, by_name);
}

static const char *asked_token(void)
{
	const char *token = getenv("WEFT_SIM_REPLAY");

	return token != NULL && token[0] != '\0' ? token : NULL;
}

int weft_sim_explore_sized(const weft_sim_opts *opts, size_t opts_size,
	void (*body)(void *), void *arg, weft_sim_report *report,
	size_t report_size)
{
	struct exploration x = { .report = { .schedules = 0 } };
	int err = start(opts, opts_size, body, arg, asked_token(), true, &x);

	if (report != NULL)
		memcpy(report, &x.report,
			wf_min_size(report_size, sizeof(x.report)));
	return err;
}

int weft_sim_replay(const weft_sim_opts *opts, void (*body)(void *), void *arg,
	const char *token, weft_sim_report *report)
{
	struct exploration x = { .report = { .schedules = 0 } };
	int err = start(opts, sizeof(*opts), body, arg, token, false, &x);

	if (report != NULL)
		*report = x.report;
	return err;
}

int weft_sim_main(const weft_sim_opts *opts, void (*body)(void *), void *arg)
{
	weft_sim_report r;
	int err = weft_sim_explore(opts, body, arg, &r);

	if (err < 0)
		return 2;
	printf("sim: %" PRIu64 " schedules, 1 scenarios, %d failures, "
	       "%.0f schedules/s, seed %" PRIu64 "\n",
		r.schedules, err,
		r.seconds > 0 ? (double)r.schedules / r.seconds : 0.0, r.seed);
	return err;
}
