/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/driver.c - weft-scenarios: all scenarios, some, or one schedule.
 *
 * Each scenario is explored in a process of its own, so that a crash ends only
 * that one and several cores can be used.  The driver keeps the output of a
 * process until it ends, so that the lines of two never mix.  The process
 * leaves its outcome in memory that all share.
 *
 * tools/mutate runs it with --expect-failure: nothing but the first failure
 * counts then, and all scenarios are given a few schedules before any is given
 * many.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/conserve_kit.h"
#include "sim/driver_options.h"
#include "sim/scenario.h"

#define NS_PER_S 1000000000
#define GRACE_S 20	/* behind its budget, a child that goes on hangs */
#define ROUND_FIRST 500 /* --expect-failure: so many of each at first, */
#define ROUND_GROWTH 8	/* then so many times as many, and so on */
#define SEED_STEP 0x9e3779b97f4a7c15
#define TOKEN_LINE 1200
#define TASTE 8 /* schedules that tell how long a scenario is */

static const struct scenarios *const tables[] = {
	&queue_scenarios,
	&sched_scenarios,
	&fiber_scenarios,
	&exec_scenarios,
	&mutex_scenarios,
	&stopped_scenarios,
	&scope_scenarios,
	&cond_scenarios,
	&event_scenarios,
	&amutex_scenarios,
	&wait_scenarios,
	&chan_scenarios,
	&select_scenarios,
	&timer_scenarios,
};

enum bounded { NOT_ASKED, COMPLETE, INCOMPLETE };

/* The outcome of one scenario so far. */
struct outcome {
	uint64_t schedules, steps;
	double seconds;
	enum bounded bounded;
	bool failed;
	bool ended; /* the child came to its end by itself */
	char oracle[32];
	char message[512];
	char token[1024];
};

struct entry {
	const struct scenario *scenario;
	uint64_t left; /* schedules that it may still have */
	uint64_t turn; /* and in this round */
	double share;  /* of all schedules, next to the others' */
	struct outcome sum;
};

/* A child, and the scenario it explores. */
struct child {
	pid_t pid; /* 0: none */
	struct entry *entry;
	struct outcome *outcome; /* shared with it */
	FILE *said;
};

struct run {
	const struct options *options;
	struct entry *entries;
	size_t count;
	uint64_t seed;	 /* of this round */
	uint64_t weight; /* of those that were not started yet */
	double end_s;	 /* by which all shall be done; 0: no limit */
	struct child child[JOBS_MAX];
	bool failed;
};

struct totals {
	uint64_t schedules, scenarios, failures;
	double start_s;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / NS_PER_S;
}

/* The scenarios one after the other; NULL behind the last. */
static const struct scenario *nth(size_t n)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		if (n < tables[i]->count)
			return &tables[i]->table[n];
		n -= tables[i]->count;
	}
	return NULL;
}

static const struct scenario *find(const char *name, size_t length)
{
	const struct scenario *s;

	for (size_t i = 0; (s = nth(i)) != NULL; i++)
		if (strlen(s->name) == length &&
			memcmp(s->name, name, length) == 0)
			return s;
	return NULL;
}

static void refuse_name(const char *name, int length)
{
	const struct scenario *s;

	fprintf(stderr, PROGRAM ": no scenario is called '%.*s'; there are",
		length, name);
	for (size_t i = 0; (s = nth(i)) != NULL; i++)
		fprintf(stderr, " %s", s->name);
	fputc('\n', stderr);
	exit(2);
}

static void choose(struct run *run, const struct scenario *s)
{
	for (size_t i = 0; i < run->count; i++)
		if (run->entries[i].scenario == s)
			return;
	run->entries[run->count++] = (struct entry){ .scenario = s };
}

/* Those that begin with name, or only the one that has just that name. */
static void choose_named(struct run *run, const char *name)
{
	const struct scenario *s = find(name, strlen(name));
	bool any = s != NULL;

	if (s != NULL)
		choose(run, s);
	for (size_t i = 0; s == NULL && nth(i) != NULL; i++)
		if (strncmp(nth(i)->name, name, strlen(name)) == 0) {
			choose(run, nth(i));
			any = true;
		}
	if (!any)
		refuse_name(name, (int)strlen(name));
}

static void choose_all(struct run *run)
{
	const struct options *o = run->options;
	size_t n = 0;

	while (nth(n) != NULL)
		n++;
	run->entries = calloc(n, sizeof(*run->entries));
	if (run->entries == NULL)
		refuse("no memory");
	for (size_t i = 0; i < o->name_count; i++)
		choose_named(run, o->names[i]);
	for (size_t i = 0; o->name_count == 0 && nth(i) != NULL; i++)
		choose(run, nth(i));
}

static uint64_t weight_of(const struct scenario *s)
{
	return s->weight ? s->weight : 1;
}

static uint64_t weight_of_all(const struct run *run)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < run->count; i++)
		weight += weight_of(run->entries[i].scenario);
	return weight;
}

static weft_sim_opts opts_for(const struct scenario *s, const struct options *o)
{
	weft_sim_opts opts = s->opts;

	opts.name = s->name;
	opts.flags |= WEFT_SIM_INSIDE | WEFT_SIM_ECONOMY;
	if (opts.idle == NULL)
		opts.idle = conserve_idle;
	if (o->expect_failure)
		opts.flags |= WEFT_SIM_QUIET | WEFT_SIM_NO_SHRINK;
	return opts;
}

static void fail(struct outcome *out, const char *oracle, const char *message)
{
	out->failed = true;
	snprintf(out->oracle, sizeof(out->oracle), "%s", oracle);
	snprintf(out->message, sizeof(out->message), "%s", message);
}

/* Add what a search brought; the simulator's own refusals are failures too. */
static void add(struct outcome *out, int result, const weft_sim_report *report)
{
	if (result < 0) {
		fail(out, "error", strerror(-result));
		return;
	}
	out->schedules += report->schedules;
	out->steps += report->steps;
	out->seconds += report->seconds;
	if (result == 0)
		return;
	fail(out, report->oracle, report->message);
	snprintf(out->token, sizeof(out->token), "%s", report->token);
}

/*
 * Search in these modes, for so long (0: as it takes); true: it saw all there
 * is within the bounds.
 */
static bool explore(struct run *run, const struct scenario *s, uint32_t modes,
	uint64_t n, double seconds, struct outcome *out)
{
	weft_sim_opts opts = opts_for(s, run->options);
	weft_sim_report report = { 0 };

	opts.seed = run->seed;
	opts.schedules = n;
	opts.modes = modes;
	opts.budget_ns = (int64_t)(seconds * NS_PER_S);
	/* Nothing else ends a loop in which no decision is taken. */
	alarm(seconds > 0 ? (unsigned)seconds + GRACE_S : 0);
	add(out, weft_sim_explore(&opts, s->body, s->arg, &report), &report);
	return report.complete;
}

/* Its bounded search to the end, if it has one, and its other schedules. */
static void explore_all(struct run *run, const struct entry *e, double seconds,
	struct outcome *out)
{
	const struct scenario *s = e->scenario;
	bool expect = run->options->expect_failure;
	uint32_t modes = s->opts.modes;
	bool complete;

	if (s->complete && out->bounded != COMPLETE) {
		complete = explore(run, s, WEFT_SIM_BOUNDED,
			expect ? e->turn : MANY, expect ? seconds : 0, out);
		out->bounded = complete ? COMPLETE : INCOMPLETE;
		if (!out->failed && !complete && !expect) {
			fail(out, "incomplete", "not all in bounds was seen");
			printf(PROGRAM ": %s: %s\n", s->name, out->message);
		}
	}
	if (s->complete && modes == 0)
		modes = WEFT_SIM_WALK | WEFT_SIM_PCT | WEFT_SIM_URW;
	if (!out->failed)
		explore(run, s, modes, e->turn, seconds, out);
}

static void child_main(struct run *run, struct child *c, double seconds)
{
	/* Nobody would read what it finds if we were gone. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(fileno(c->said), STDOUT_FILENO);
	dup2(fileno(c->said), STDERR_FILENO);
	if (run->options->log != NULL && !run->failed)
		setenv("WEFT_SIM_LOG", run->options->log, 1);
	explore_all(run, c->entry, seconds, c->outcome);
	fflush(NULL);
	c->outcome->ended = true;
	_exit(0);
}

/* Its part of the time that is left, given that others run beside it. */
static double time_for(struct run *run, const struct scenario *s)
{
	double left = run->end_s - now_s();
	double share = (double)weight_of(s) / (double)run->weight;

	if (run->end_s == 0)
		return 0;
	share *= (double)run->options->jobs;
	left *= share < 1 ? share : 1;
	return left > 0.01 ? left : 0.01;
}

static void start(struct run *run, struct child *c, struct entry *e)
{
	double seconds = time_for(run, e->scenario);

	run->weight -= weight_of(e->scenario);
	c->entry = e;
	*c->outcome = e->sum;
	c->outcome->ended = false;
	c->said = tmpfile();
	if (c->said == NULL)
		refuse("a temporary file: %s", strerror(errno));
	fflush(stdout);
	c->pid = fork();
	if (c->pid < 0)
		refuse("fork: %s", strerror(errno));
	if (c->pid == 0)
		child_main(run, c, seconds);
}

/* What the child said comes before its line in the table. */
static void repeat(FILE *said)
{
	char part[4096];
	size_t n;

	rewind(said);
	while ((n = fread(part, 1, sizeof(part), said)) > 0)
		fwrite(part, 1, n, stdout);
	fclose(said);
}

/* A child that did not come to its end has failed. */
static void note_end(struct run *run, struct child *c, int status)
{
	int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (c->outcome->ended)
		return;
	if (by == SIGALRM)
		fail(c->outcome, "hang", "no decision is taken any more");
	else
		fail(c->outcome, "crash", by ? strsignal(by) : "exit() called");
	if (!run->options->expect_failure)
		printf(PROGRAM ": %s: %s, seed %llu\n",
			c->entry->scenario->name, c->outcome->message,
			(unsigned long long)run->seed);
}

/* Wait for a child to end; the entry it explored. */
static struct entry *wait_one(struct run *run)
{
	struct child *c = run->child;
	int status;
	pid_t pid;

	pid = waitpid(-1, &status, 0);
	if (pid < 0)
		refuse("waitpid: %s", strerror(errno));
	while (c->pid != pid)
		c++;
	c->pid = 0;
	if (run->options->expect_failure)
		fclose(c->said);
	else
		repeat(c->said);
	note_end(run, c, status);
	run->failed |= c->outcome->failed;
	c->entry->sum = *c->outcome;
	return c->entry;
}

static void print_entry(const struct entry *e)
{
	static const char *const bounded[] = { "-", "complete", "incomplete" };
	const struct outcome *sum = &e->sum;
	double points = 0, rate = 0;

	if (sum->schedules > 0)
		points = (double)sum->steps / (double)sum->schedules;
	if (sum->seconds > 0)
		rate = (double)sum->schedules / sum->seconds;
	printf("%-36s %10llu %7.0f %9.0f %-10s %s%s\n", e->scenario->name,
		(unsigned long long)sum->schedules, points, rate,
		bounded[sum->bounded], sum->failed ? "FAILED: " : "ok",
		sum->failed ? sum->oracle : "");
	fflush(stdout);
}

/* For tools/mutate: which one, by what, after how many, and how to see it. */
static void print_failure(const struct run *run, const struct entry *e)
{
	uint64_t before = 0;

	for (size_t i = 0; i < run->count; i++)
		before += run->entries[i].sum.schedules;
	printf("failure\t%s\t%s\t%llu\t%llu\t%s\t%s\n", e->scenario->name,
		e->sum.oracle, (unsigned long long)e->sum.schedules,
		(unsigned long long)before, e->sum.token, e->sum.message);
}

static int finish(const struct totals *t, uint64_t seed)
{
	double seconds = now_s() - t->start_s;
	double rate = seconds > 0 ? (double)t->schedules / seconds : 0;

	printf("sim: %llu schedules, %llu scenarios, %llu failures, "
	       "%.0f schedules/s, seed %llu\n",
		(unsigned long long)t->schedules,
		(unsigned long long)t->scenarios,
		(unsigned long long)t->failures, rate,
		(unsigned long long)seed);
	return t->failures != 0;
}

static bool is_late(const struct run *run)
{
	return run->end_s != 0 && now_s() >= run->end_s;
}

/* Explore each entry for its turn.  False: it ended with a failure. */
static bool run_round(struct run *run)
{
	const struct options *o = run->options;
	size_t next = 0, running = 0;

	run->weight = weight_of_all(run);
	while (next < run->count || running > 0) {
		struct child *c = run->child;
		struct entry *e;

		if (next < run->count && running < o->jobs) {
			e = &run->entries[next++];
			if (e->turn == 0 || (o->expect_failure && is_late(run)))
				continue;
			while (c->pid != 0)
				c++;
			start(run, c, e);
			running++;
			continue;
		}
		e = wait_one(run);
		running--;
		if (!o->expect_failure)
			print_entry(e);
		if (e->sum.failed && o->expect_failure) {
			/* The other children end with us. */
			print_failure(run, e);
			return false;
		}
	}
	return true;
}

/* A few of each, then more, until each has had all of its own. */
static void run_rounds(struct run *run)
{
	uint64_t most = ROUND_FIRST;
	bool more = true;

	while (more && !is_late(run)) {
		more = false;
		for (size_t i = 0; i < run->count; i++) {
			struct entry *e = &run->entries[i];

			e->turn = e->left < most ? e->left : most;
			e->left -= e->turn;
			more |= e->left > 0;
		}
		if (!run_round(run))
			return;
		/* Far from it: neighbours share most of their schedules. */
		run->seed += SEED_STEP;
		most *= ROUND_GROWTH;
	}
}

/* Its weight for each step it takes: a short one gets more schedules. */
static double share_of(struct run *run, const struct scenario *s)
{
	weft_sim_opts opts = opts_for(s, run->options);
	weft_sim_report report = { .steps = 1 };

	opts.flags |= WEFT_SIM_QUIET | WEFT_SIM_NO_SHRINK;
	opts.modes = WEFT_SIM_WALK;
	opts.seed = 1;
	opts.schedules = TASTE;
	/* Should it fail, it will do so again, and then be told. */
	if (weft_sim_explore(&opts, s->body, s->arg, &report) < 0)
		refuse("%s cannot be explored", s->name);
	return (double)weight_of(s) * (double)report.schedules /
		(double)report.steps;
}

/* How many schedules each may have; at least one. */
static void divide(struct run *run)
{
	const struct options *o = run->options;
	double all = 0;

	for (size_t i = 0; i < run->count && o->each == 0; i++) {
		run->entries[i].share = share_of(run, run->entries[i].scenario);
		all += run->entries[i].share;
	}
	for (size_t i = 0; i < run->count; i++) {
		struct entry *e = &run->entries[i];

		e->left = o->each * weight_of(e->scenario);
		if (e->left == 0)
			e->left = (uint64_t)((double)o->schedules * e->share /
				all);
		if (e->left == 0)
			e->left = 1;
	}
}

static void open_children(struct run *run)
{
	struct outcome *shared = mmap(NULL,
		sizeof(*shared) * run->options->jobs, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		refuse("shared memory: %s", strerror(errno));
	for (uint64_t i = 0; i < run->options->jobs; i++)
		run->child[i].outcome = &shared[i];
}

static void search(const struct options *o, struct totals *totals)
{
	struct run run = { .options = o, .seed = o->seed };

	choose_all(&run);
	open_children(&run);
	divide(&run);
	if (o->budget_s != 0)
		run.end_s = now_s() + (double)o->budget_s;
	if (o->expect_failure) {
		run_rounds(&run);
	} else {
		printf("%-36s %10s %7s %9s %-10s %s\n", "scenario", "schedules",
			"points", "per s", "bounded", "result");
		for (size_t i = 0; i < run.count; i++)
			run.entries[i].turn = run.entries[i].left;
		(void)run_round(&run);
	}
	for (size_t i = 0; i < run.count; i++) {
		totals->schedules += run.entries[i].sum.schedules;
		totals->failures += run.entries[i].sum.failed;
	}
	totals->scenarios += run.count;
	free(run.entries);
}

/* Run the one schedule of a token; 0, 1, or negative if it cannot be. */
static int replay(const struct options *o, const char *token,
	const struct scenario *s, struct totals *totals)
{
	weft_sim_opts opts = opts_for(s, o);
	weft_sim_report report = { 0 };
	int result;

	fflush(stdout);
	result = weft_sim_replay(&opts, s->body, s->arg, token, &report);
	totals->schedules++;
	totals->failures += result != 0;
	return result;
}

/* The name in a token, or in the file that "@file" names. */
static const char *name_in(const char *token, char *text, size_t bytes)
{
	FILE *file = *token == '@' ? fopen(token + 1, "r") : NULL;

	if (*token != '@')
		return token;
	if (file == NULL || fgets(text, (int)bytes, file) == NULL)
		refuse("%s: %s", token + 1, strerror(errno));
	fclose(file);
	return text;
}

static void replay_one(const struct options *o, struct totals *totals)
{
	char text[TOKEN_LINE];
	const char *name = name_in(o->replay, text, sizeof(text));
	int length = (int)strcspn(name, ":");
	const struct scenario *s = find(name, (size_t)length);
	int result;

	if (s == NULL)
		refuse_name(name, length);
	if (o->log != NULL)
		setenv("WEFT_SIM_LOG", o->log, 1);
	result = replay(o, o->replay, s, totals);
	if (result < 0)
		refuse("'%s' is not a token, which is "
		       "name:mode:seed:params:build",
			o->replay);
	printf("%s: %s\n", s->name, result ? "it fails" : "it passes");
	totals->scenarios++;
}

/* A schedule that failed once: it must pass, and its scenario must be there. */
static void check_token(const struct options *o, const char *token,
	unsigned line, struct totals *totals)
{
	size_t length = strcspn(token, ":");
	const struct scenario *s = find(token, length);
	int result;

	if (s == NULL) {
		printf("%s:%u: no scenario is called '%.*s'\n", o->tokens, line,
			(int)length, token);
		totals->failures++;
		return;
	}
	result = replay(o, token, s, totals);
	if (result != 0)
		printf("%s:%u: %s: %s\n", o->tokens, line, s->name,
			result > 0 ? "it fails again" : "this is not a token");
}

static void check_tokens(const struct options *o, struct totals *totals)
{
	FILE *file = fopen(o->tokens, "r");
	unsigned line = 0, tokens = 0;
	uint64_t before = totals->failures;
	char text[TOKEN_LINE];

	if (file == NULL)
		refuse("%s: %s", o->tokens, strerror(errno));
	while (fgets(text, sizeof(text), file) != NULL) {
		char *token = text + strspn(text, " \t");

		line++;
		if (strchr(text, '\n') == NULL && !feof(file))
			refuse("%s:%u: the line is too long", o->tokens, line);
		token[strcspn(token, "# \t\r\n")] = '\0';
		if (*token == '\0')
			continue;
		tokens++;
		check_token(o, token, line, totals);
	}
	fclose(file);
	printf("%u tokens, %llu of them fail\n", tokens,
		(unsigned long long)(totals->failures - before));
}

int main(int argc, char **argv)
{
	struct options o = { .schedules = SCHEDULES_DEFAULT, .jobs = 1 };
	struct totals totals = { .start_s = now_s() };

	o.names = calloc((size_t)argc + 1, sizeof(*o.names));
	if (o.names == NULL)
		refuse("no memory");
	parse(&o, argv);
	while (o.seed == 0)
		(void)!getrandom(&o.seed, sizeof(o.seed), 0);
	if (o.list) {
		for (size_t i = 0; nth(i) != NULL; i++)
			puts(nth(i)->name);
		return 0;
	}
	if (o.replay != NULL) {
		replay_one(&o, &totals);
		return finish(&totals, o.seed);
	}
	if (o.tokens != NULL)
		check_tokens(&o, &totals);
	if (o.schedules != 0 || o.each != 0)
		search(&o, &totals);
	return finish(&totals, o.seed);
}
