/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/driver_options.h - what weft-scenarios is told.
 */
#ifndef WEFT_TESTS_SIM_DRIVER_OPTIONS_H
#define WEFT_TESTS_SIM_DRIVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM "weft-scenarios"
#define SCHEDULES_DEFAULT 2000000
#define MANY (UINT64_MAX / 2)
#define JOBS_MAX 64

struct options {
	uint64_t seed;
	uint64_t schedules; /* in all, unless each is given */
	uint64_t each;
	uint64_t budget_s; /* 0: no limit */
	uint64_t jobs;
	bool list, expect_failure;
	const char *replay, *log, *tokens;
	char **names;
	size_t name_count;
};

/* Say what is wrong, and end with status 2. */
__attribute__((noreturn, format(printf, 1, 2))) void refuse(
	const char *fmt, ...);

/* Fill in o, whose names have room for all of argv; refuse what is bad. */
void parse(struct options *o, char **argv);

#endif
