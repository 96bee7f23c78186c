/* SPDX-License-Identifier: MIT */
/*
 * tests/install/relinked.c - a user's program that is only relinked with the
 * simulator: weft's own calls order the data that its fibers share.
 */
#include <weft/sim.h>
#include <weft/weft.h>

static weft_group all;
static int done[3];

static void work(void *arg)
{
	*(int *)arg += 1;
	weft_yield();
	weft_group_done(&all);
}

static int app(void *arg)
{
	int err = 0;

	(void)arg;
	weft_group_add(&all, 3);
	for (int i = 0; i < 3 && !err; i++)
		err = weft_go(work, &done[i]);
	return err ? err : weft_group_wait(&all, WEFT_FOREVER);
}

static void body(void *arg)
{
	weft_config two = { .workers = 2 };
	int err = weft_run(&two, app, arg);

	weft_sim_assert(err == 0, "it failed: %d", err);
	weft_sim_assert(done[0] + done[1] + done[2] == 3, "one did not run");
}

int main(void)
{
	return weft_sim_main(NULL, body, NULL);
}
