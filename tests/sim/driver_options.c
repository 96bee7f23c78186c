/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/driver_options.c - what weft-scenarios is told, by its command line
 * and its environment.
 */
#include "sim/driver_options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out)
{
	fprintf(out,
		"usage: weft-scenarios [option...] [name or prefix...]\n"
		"  --list            print the scenarios\n"
		"  --seed S          of all random choices (WEFT_SIM_SEED)\n"
		"  --schedules N     of all together; 0: only the tokens\n"
		"                    (default %d; WEFT_SIM_SCHEDULES)\n"
		"  --each N          of each scenario, instead\n"
		"  --budget SECONDS  besides complete ones (WEFT_SIM_BUDGET)\n"
		"  --jobs N          at once, 1 to %d (default 1)\n"
		"  --replay TOKEN    that one; or @file (WEFT_SIM_REPLAY)\n"
		"  --tokens FILE     schedules that failed and now must pass\n"
		"  --log FILE        gets the decisions of the first failure\n"
		"  --expect-failure  stop at the first, say little\n",
		SCHEDULES_DEFAULT, JOBS_MAX);
}

void refuse(const char *fmt, ...)
{
	va_list args;

	fputs(PROGRAM ": ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

static uint64_t number(
	const char *what, const char *text, uint64_t least, uint64_t most)
{
	unsigned long long n;

	errno = 0;
	n = strtoull(text, NULL, 10);
	if (*text == '\0' || text[strspn(text, "0123456789")] != '\0' ||
		errno != 0 || n < least || n > most)
		refuse("%s: '%s' is no number from %llu to %llu", what, text,
			(unsigned long long)least, (unsigned long long)most);
	return n;
}

/* An option sets a flag, a text or a number; a variable may do so before. */
struct known {
	const char *name, *variable;
	bool *flag;
	const char **text;
	uint64_t *number, least, most;
};

static void set(const struct known *k, const char *name, const char *value)
{
	if (value == NULL)
		refuse("%s: what is its value?", name);
	if (k->text != NULL)
		*k->text = value;
	else
		*k->number = number(name, value, k->least, k->most);
}

/*
 * What the environment says.  It is taken out of there, or the simulator would
 * prefer it to what we tell.
 */
static void set_variables(const struct known *k)
{
	for (; k->name != NULL; k++) {
		const char *value = k->variable ? getenv(k->variable) : NULL;

		if (value == NULL)
			continue;
		if (*value != '\0')
			set(k, k->variable, strdup(value));
		unsetenv(k->variable);
	}
}

/* Set option argv[i] of those that are known; the arguments it took. */
static int set_option(const struct known *k, char **argv, int i)
{
	while (k->name != NULL && strcmp(k->name, argv[i]) != 0)
		k++;
	if (k->name == NULL) {
		usage(stderr);
		refuse("%s is none of these options", argv[i]);
	}
	if (k->flag != NULL) {
		*k->flag = true;
		return 1;
	}
	set(k, argv[i], argv[i + 1]);
	return 2;
}

void parse(struct options *o, char **argv)
{
	bool help = false;
	const struct known known[] = {
		{ "--help", .flag = &help },
		{ "--list", .flag = &o->list },
		{ "--expect-failure", .flag = &o->expect_failure },
		{ "--replay", "WEFT_SIM_REPLAY", .text = &o->replay },
		{ "--tokens", .text = &o->tokens },
		{ "--log", "WEFT_SIM_LOG", .text = &o->log },
		{ "--seed", "WEFT_SIM_SEED", NULL, NULL, &o->seed, 1,
			UINT64_MAX },
		{ "--schedules", "WEFT_SIM_SCHEDULES", NULL, NULL,
			&o->schedules, 0, MANY },
		{ "--each", NULL, NULL, NULL, &o->each, 1, MANY },
		{ "--budget", "WEFT_SIM_BUDGET", NULL, NULL, &o->budget_s, 1,
			1000000 },
		{ "--jobs", NULL, NULL, NULL, &o->jobs, 1, JOBS_MAX },
		{ .name = NULL },
	};

	set_variables(known);
	for (int i = 1; argv[i] != NULL;)
		if (argv[i][0] == '-')
			i += set_option(known, argv, i);
		else
			o->names[o->name_count++] = argv[i++];
	if (help) {
		usage(stdout);
		exit(0);
	}
	if (o->schedules == 0 && o->each == 0 && o->tokens == NULL)
		refuse("--schedules 0 runs nothing unless there are --tokens");
}
