/* SPDX-License-Identifier: MIT */
/*
 * cli/cli.h - the commands of the program weft.
 *
 * A command gets the words after its name and returns the exit status: 0 done,
 * 1 it failed, 2 the command line was wrong.
 */
#ifndef WEFT_CLI_CLI_H
#define WEFT_CLI_CLI_H

enum cli_status { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

int cli_bench(int argc, char **argv);
int cli_sim(int argc, char **argv);

/*
 * Say on standard error that word is not a `what' (command, option, ...), and
 * list the valid names, which end with NULL.  Returns CLI_USAGE.
 */
int cli_unknown(const char *what, const char *word, const char *const *names);

#endif
