/* SPDX-License-Identifier: MIT */
/*
 * cli/sim.c - weft sim: run a program under the simulator, or weft's own
 * scenarios.
 *
 * The simulator is part of the program, which was linked with libweft-sim; this
 * command only passes the options on: to a program by its environment, to the
 * scenarios by their command line.
 *
 * Reads next: include/weft/sim.h
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCENARIOS "weft-scenarios"
#define BUDGET_MAX 1000000

enum kind { FLAG, TEXT, NUMBER };

enum { BUDGET, HELP, LIST, LOG, REPLAY, SCHEDULES, SEED, SHRINK, TRACE, ALL };

static const struct option {
	const char *name;
	enum kind kind;
	unsigned long long most;
	const char *variable; /* passes it to a program, or NULL */
	bool argument;	      /* passed to the scenarios as an argument */
} options[ALL] = {
	[BUDGET] = { "--budget", NUMBER, BUDGET_MAX, "WEFT_SIM_BUDGET", true },
	[HELP] = { "--help", FLAG, 0, NULL, false },
	[LIST] = { "--list", FLAG, 0, NULL, true },
	[LOG] = { "--log", TEXT, 0, "WEFT_SIM_LOG", true },
	[REPLAY] = { "--replay", TEXT, 0, "WEFT_SIM_REPLAY", true },
	[SCHEDULES] = { "--schedules", NUMBER, ULLONG_MAX / 2,
		"WEFT_SIM_SCHEDULES", true },
	[SEED] = { "--seed", NUMBER, ULLONG_MAX, "WEFT_SIM_SEED", true },
	[SHRINK] = { "--shrink", FLAG, 0, "WEFT_SIM_SHRINK", false },
	[TRACE] = { "--trace", FLAG, 0, "WEFT_SIM_TRACE", false },
};

struct request {
	const char *value[ALL]; /* NULL: not given */
	const char *program;	/* NULL: the scenarios */
	char **args;		/* of the program */
	size_t n;
	char path[PATH_MAX]; /* of the scenarios */
};

static void help(void)
{
	printf("usage: weft sim [program [arg...]] [--seed S] [--schedules N]\n"
	       "                [--budget S] [--replay TOKEN [--shrink]] "
	       "[--trace]\n"
	       "                [--log FILE] [-- arg...]\n"
	       "       weft sim [the same options] [--list] [-- name...]\n"
	       "\n"
	       "Runs a program that was linked with libweft-sim "
	       "(pkg-config weft-sim) in\n"
	       "many schedules, or in the one that a token names.  Without a "
	       "program: the\n"
	       "scenarios that weft itself is tested with, all or those "
	       "named behind --.\n"
	       "\n"
	       "  --seed S        seed of all random choices, from 1 "
	       "(default: a new one)\n"
	       "  --schedules N   at most so many schedules\n"
	       "  --budget S      at most so many seconds, up to %d\n"
	       "  --replay TOKEN  only this schedule; a failure prints its "
	       "token\n"
	       "  --shrink        and then look for a simpler one that fails "
	       "in the same way\n"
	       "  --trace         print the trace of every schedule\n"
	       "  --log FILE      write the decisions of a failure to FILE\n"
	       "  --list          only list the scenarios\n"
	       "  --              pass all words after it to the program\n"
	       "\n"
	       "Exit status: 0 nothing failed, 1 a schedule failed, 2 "
	       "nothing was run.\n",
		BUDGET_MAX);
}

/* -------------------------------------------------------- the command line */

static int check_value(const struct option *o, const char *value)
{
	unsigned long long n;

	if (value == NULL) {
		fprintf(stderr, "weft: %s needs a %s behind it\n", o->name,
			o->kind == NUMBER ? "number" : "word");
		return CLI_USAGE;
	}
	if (o->kind == TEXT && *value == '\0') {
		fprintf(stderr, "weft: %s takes no empty word\n", o->name);
		return CLI_USAGE;
	}
	if (o->kind == TEXT)
		return CLI_OK;
	errno = 0;
	n = strtoull(value, NULL, 10);
	if (*value == '\0' || value[strspn(value, "0123456789")] != '\0' ||
		errno || n < 1 || n > o->most) {
		fprintf(stderr, "weft: %s takes 1 to %llu, not '%s'\n", o->name,
			o->most, value);
		return CLI_USAGE;
	}
	return CLI_OK;
}

static int unknown_option(const char *word)
{
	const char *names[ALL + 2] = { NULL };

	for (unsigned i = 0; i < ALL; i++)
		names[i] = options[i].name;
	names[ALL] = "--";
	return cli_unknown("option", word, names);
}

/* Parse the option argv[*i]; *i is then its last word. */
static int parse_option(struct request *r, char **argv, int *i)
{
	unsigned k = 0;
	int err = CLI_OK;

	while (k < ALL && strcmp(argv[*i], options[k].name) != 0)
		k++;
	if (k == ALL)
		return unknown_option(argv[*i]);
	if (options[k].kind == FLAG) {
		r->value[k] = "1";
		return CLI_OK;
	}
	err = check_value(&options[k], argv[*i + 1]);
	if (!err)
		r->value[k] = argv[++*i];
	return err;
}

static int parse(int argc, char **argv, struct request *r)
{
	bool theirs = false;
	int err = CLI_OK;

	for (int i = 0; i < argc && !err; i++) {
		if (!theirs && strcmp(argv[i], "--") == 0)
			theirs = true;
		else if (!theirs && argv[i][0] == '-')
			err = parse_option(r, argv, &i);
		else if (!theirs && r->program == NULL)
			r->program = argv[i];
		else
			r->args[r->n++] = argv[i];
	}
	if (!err && r->value[SHRINK] != NULL && r->value[REPLAY] == NULL) {
		fprintf(stderr,
			"weft: --shrink needs a --replay to begin "
			"with\n");
		err = CLI_USAGE;
	}
	if (!err && r->value[LIST] != NULL && r->program != NULL) {
		fprintf(stderr,
			"weft: --list is about weft's own scenarios; "
			"'%s' is a program\n",
			r->program);
		err = CLI_USAGE;
	}
	return err;
}

/* ------------------------------------------------------------- the program */

/*
 * Every program with the simulator in it contains these two strings, the second
 * right after the first.  Here they are separate, or this program would match
 * too.
 */
static const char *const marker[] = { "weft-sim-", "marker-1" };

static bool has_marker(const char *p, size_t bytes)
{
	size_t n = strlen(marker[0]), more = strlen(marker[1]);
	const char *end = p + bytes;

	while ((p = memmem(p, (size_t)(end - p), marker[0], n)) != NULL) {
		p += n;
		if ((size_t)(end - p) >= more &&
			memcmp(p, marker[1], more) == 0)
			return true;
	}
	return false;
}

/* 1 if the file contains the simulator, 0 if not; or -errno. */
static int is_simulated(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = 0;
	struct stat st;
	void *p;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		result = -errno;
	} else if (st.st_size > 0) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd,
			0);
		if (p == MAP_FAILED) {
			result = -errno;
		} else {
			result = has_marker(p, (size_t)st.st_size);
			munmap(p, (size_t)st.st_size);
		}
	}
	close(fd);
	return result;
}

/* Check that the program can be run, and contains the simulator. */
static int check_program(const char *path)
{
	struct stat st;
	int simulated;

	if (stat(path, &st) < 0) {
		fprintf(stderr,
			"weft: there is no program '%s': %s (scenarios "
			"are named behind --)\n",
			path, strerror(errno));
		return CLI_USAGE;
	}
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0) {
		fprintf(stderr, "weft: '%s' is nothing that can be executed\n",
			path);
		return CLI_USAGE;
	}
	simulated = is_simulated(path);
	if (simulated < 0)
		fprintf(stderr, "weft: '%s' cannot be read: %s\n", path,
			strerror(-simulated));
	else if (simulated == 0)
		fprintf(stderr,
			"weft: '%s' has no simulator in it; link it "
			"with libweft-sim (pkg-config weft-sim)\n",
			path);
	return simulated > 0 ? CLI_OK : CLI_USAGE;
}

/* Find the scenarios, beside this program or where they are installed. */
static int find_scenarios(struct request *r)
{
	static const char *const places[] = { "/", "/../libexec/weft/" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0) {
		fprintf(stderr, "weft: cannot say where this program is: %s\n",
			strerror(errno));
		return CLI_USAGE;
	}
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	for (unsigned i = 0; i < 2; i++) {
		int used = snprintf(r->path, sizeof(r->path), "%s%s%s", self,
			places[i], SCENARIOS);

		if (used < (int)sizeof(r->path) && access(r->path, F_OK) == 0) {
			r->program = r->path;
			return CLI_OK;
		}
	}
	fprintf(stderr,
		"weft: %s is neither in %s nor in %s/../libexec/weft; "
		"name a program to run (make sim and make install build "
		"it)\n",
		SCENARIOS, self, self);
	return CLI_USAGE;
}

/* Pass the options on, and execute the program. */
static int run(const struct request *r, bool scenarios)
{
	/* Its name, an option and its value each, its arguments, NULL. */
	const char **argv = calloc(r->n + 2 * ALL + 2, sizeof(*argv));
	size_t n = 0;

	if (argv == NULL) {
		fprintf(stderr, "weft: no memory\n");
		return CLI_USAGE;
	}
	argv[n++] = r->program;
	for (unsigned k = 0; k < ALL; k++) {
		const struct option *o = &options[k];

		if (r->value[k] == NULL)
			continue;
		if (scenarios && o->argument) {
			argv[n++] = o->name;
			if (o->kind != FLAG)
				argv[n++] = r->value[k];
		} else if (o->variable != NULL) {
			setenv(o->variable, r->value[k], 1);
		}
	}
	for (size_t i = 0; i < r->n; i++)
		argv[n++] = r->args[i];
	execv(r->program, (char *const *)argv);
	fprintf(stderr, "weft: '%s' cannot be run: %s\n", r->program,
		strerror(errno));
	free(argv);
	return CLI_USAGE;
}

int cli_sim(int argc, char **argv)
{
	struct request r = { .args = calloc((size_t)argc + 1, sizeof(char *)) };
	bool scenarios = false;
	int err;

	if (r.args == NULL) {
		fprintf(stderr, "weft: no memory\n");
		return CLI_USAGE;
	}
	err = parse(argc, argv, &r);
	if (!err && r.value[HELP] != NULL) {
		help();
	} else if (!err) {
		scenarios = r.program == NULL;
		if (scenarios)
			err = find_scenarios(&r);
		if (!err)
			err = check_program(r.program);
		if (!err)
			err = run(&r, scenarios);
	}
	free(r.args);
	return err;
}
