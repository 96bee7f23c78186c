/* SPDX-License-Identifier: MIT */
/*
 * base/assert.c - the last words of a program that broke a rule.
 */
#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Written without stdio's buffers or locks: the caller may hold anything, and
 * a line in one write is not torn by other threads.
 */
void wf_panic(const char *file, int line, const char *fmt, ...)
{
	char text[512];
	va_list args;
	size_t used;

	snprintf(text, sizeof(text), "weft: %s:%d: ", file, line);
	used = strlen(text);
	va_start(args, fmt);
	vsnprintf(text + used, sizeof(text) - used - 1, fmt, args);
	va_end(args);
	used = strlen(text);
	text[used++] = '\n';
	if (write(STDERR_FILENO, text, used) < 0)
		abort();
	abort();
}
