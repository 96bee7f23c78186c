/* SPDX-License-Identifier: MIT */
/*
 * examples/strand.c - shared data without a lock: all code that touches the
 * balance runs on one strand, one task after the other, on any free thread.
 */
#include <stdio.h>
#include <weft/weft.h>

static weft_executor *account;
static long balance;		/* only touched on the strand */
static weft_group paid;

static void *pay_in(void *arg)
{
	for (int i = 0; i < 10; i++) {
		balance += 1;
		weft_yield();	/* other tasks of the strand run */
	}
	weft_group_done(&paid);
	return arg;
}

/* Start a fiber that pays in; 0 or -errno. */
static int start(void)
{
	const weft_fiber_attr on = { .executor = account };
	weft_fiber *f;
	int err;

	weft_group_add(&paid, 1);
	err = weft_spawn(&f, &on, pay_in, NULL);
	if (err)
		weft_group_done(&paid);
	else
		weft_detach(f);
	return err;
}

static int app(void *arg)
{
	int err = weft_strand_create(
		&account, weft_rt_executor(weft_rt_self()));

	(void)arg;
	if (err)
		return err;
	for (int i = 0; i < 1000 && !err; i++)
		err = start();
	if (!err)
		err = weft_group_wait(&paid, WEFT_FOREVER);
	printf("the balance is %ld\n", balance);
	return err ? err : weft_executor_destroy(account);
}

int main(void)
{
	return weft_run(NULL, app, NULL);
}
