/* SPDX-License-Identifier: MIT */
/*
 * tests/os/pin_plug.c - a plug-in that uses weft, for tests/os/pin_test.c.
 */
#include <stddef.h>

#include <weft/weft.h>

int plug(void);

static void *sleeper(void *arg)
{
	weft_yield();
	(void)weft_sleep(1000);
	return arg;
}

/* A sleep on a pool starts the thread that serves timers there. */
static int use_pool(void)
{
	weft_fiber_attr attr = { 0 };
	weft_executor *pool;
	weft_fiber *f;
	int err = weft_pool_create(&pool, 1);

	if (err)
		return err;
	attr.executor = pool;
	err = weft_spawn(&f, &attr, sleeper, NULL);
	if (!err)
		err = weft_join(f, NULL, WEFT_FOREVER);
	return err ? err : weft_executor_destroy(pool);
}

static int use_all(void *arg)
{
	weft_fiber *f[8];
	int err = 0;

	(void)arg;
	for (int i = 0; i < 8 && !err; i++)
		err = weft_spawn(&f[i], NULL, sleeper, NULL);
	for (int i = 0; i < 8 && !err; i++)
		err = weft_join(f[i], NULL, WEFT_FOREVER);
	return err ? err : use_pool();
}

__attribute__((visibility("default"))) int plug(void)
{
	weft_config cfg = { .workers = 2 };

	return weft_run(&cfg, use_all, NULL);
}
