/* SPDX-License-Identifier: MIT */
/*
 * cli/main.c - the program weft: find the command and run it.
 *
 * Reads next: cli/bench.c, cli/sim.c
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include <weft/version.h>

struct command {
	const char *name;
	const char *what;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
	{ "bench", "measure what things cost on this machine", cli_bench },
	{ "sim", "run a program in many schedules, or in one again", cli_sim },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fprintf(out,
		"usage: weft <command> [...]\n"
		"\n"
		"commands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-12s %s\n", commands[i].name,
			commands[i].what);
	fprintf(out,
		"\n"
		"  weft <command> --help   what the command can do\n"
		"  weft --version          the version of weft\n");
}

int cli_unknown(const char *what, const char *word, const char *const *names)
{
	fprintf(stderr, "weft: there is no %s '%s'; there is:", what, word);
	for (; *names != NULL; names++)
		fprintf(stderr, " %s", *names);
	fprintf(stderr, "\n");
	return CLI_USAGE;
}

static int unknown_command(const char *word)
{
	const char *names[COMMANDS + 3] = { "--help", "--version" };

	for (size_t i = 0; i < COMMANDS; i++)
		names[i + 2] = commands[i].name;
	return cli_unknown("command", word, names);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		help(stdout);
		return CLI_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("weft %s (%s, malloc: %s)\n", weft_version(), WEFT_ARCH,
			WEFT_MALLOC);
		return CLI_OK;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 2, argv + 2);
	return unknown_command(argv[1]);
}
