/* SPDX-License-Identifier: MIT */
/*
 * examples/hello.c - the first program: two fibers and a channel.
 */
#include <stdio.h>
#include <weft/weft.h>

static void producer(void *arg)
{
	weft_chan *out = arg;

	for (int i = 0; i < 3; i++)
		if (weft_chan_send(out, &i, WEFT_FOREVER) < 0)
			return;
	weft_chan_close(out);
}

static int app(void *arg)
{
	weft_chan *c;
	int v, err;

	(void)arg;
	err = weft_chan_create(&c, sizeof(int), 0);
	if (err)
		return err;
	err = weft_go(producer, c);
	while (!err && weft_chan_recv(c, &v, WEFT_FOREVER) == 0)
		printf("%d\n", v);
	weft_chan_unref(c);
	return err;
}

int main(void)
{
	return weft_run(NULL, app, NULL);
}
