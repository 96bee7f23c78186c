/* SPDX-License-Identifier: MIT */
/*
 * sim/panic.c - a failed assertion of the library fails the run.
 *
 * Takes the place of base/assert.c.
 */
#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/engine.h"

void wf_panic(const char *file, int line, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (wf_sim != NULL && wf_sim->running)
		wf_sim_fail("assertion", NULL, "%s:%d: %s", file, line, text);
	fprintf(stderr, "weft: %s:%d: %s\n", file, line, text);
	abort();
}
