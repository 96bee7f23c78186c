/* SPDX-License-Identifier: MIT */
/*
 * examples/hello.c - the first program: fibers, and a group to wait for them.
 */
#include <stdio.h>
#include <weft/weft.h>

static weft_group all;

static void greet(void *name)
{
	printf("hello from %s\n", (const char *)name);
	weft_group_done(&all);
}

static int app(void *arg)
{
	static char *const names[] = { "warp", "weft", "loom" };

	(void)arg;
	weft_group_add(&all, 3);
	for (int i = 0; i < 3; i++) {
		int err = weft_go(greet, names[i]);

		if (err)
			return err;
	}
	return weft_group_wait(&all, WEFT_FOREVER);
}

int main(void)
{
	return weft_run(NULL, app, NULL);
}
