/* SPDX-License-Identifier: MIT */
/*
 * tests/install/main.c - a user's program: what is installed links and runs.
 */
#include <stdio.h>

#include <weft/weft.h>

int main(void)
{
	const char *version = weft_version();

	if (weft_now() <= 0)
		return 1;
	printf("%s\n", version);
	return version[0] == '\0';
}
