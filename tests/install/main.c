/* SPDX-License-Identifier: MIT */
/*
 * tests/install/main.c - a user's program, linked with the installed library.
 */
#include <stdio.h>

#include <weft/weft.h>

static void *answer(void *arg)
{
	return arg;
}

static int app(void *arg)
{
	weft_fiber *f;
	void *result;
	int err = weft_spawn(&f, NULL, answer, arg);

	if (!err)
		err = weft_join(f, &result, WEFT_FOREVER);
	return err ? err : result == arg;
}

int main(void)
{
	int value;

	if (weft_run(NULL, app, &value) != 1)
		return 1;
	printf("%s\n", weft_version());
	return 0;
}
