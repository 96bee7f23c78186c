/* SPDX-License-Identifier: MIT */
/*
 * base/assert.c - print one line and abort when a program broke a rule.
 */
#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Uses neither the buffers nor the locks of stdio, because the caller may hold
 * any lock.  One write keeps the line in one piece among other threads' output.
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
