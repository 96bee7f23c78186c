/* SPDX-License-Identifier: MIT */
/*
 * stack/cache.c - slow paths: a magazine is empty or full, credits run out.
 */
#include "stack/cache.h"

int wf_stack_cache_open(struct wf_stack_cache *c, struct wf_stack_pool *p)
{
	int err = wf_stack_pool_join(p);

	if (err)
		return err;
	*c = (struct wf_stack_cache){ .pool = p };
	for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++) {
		uint32_t batch = p->store[cls].shape.batch;

		/* A stack that must be wiped is not cached. */
		c->shelf[cls].full = p->config.wipe ? 0 : batch;
		c->shelf[cls].credits_max = 2 * batch;
	}
	return 0;
}

void wf_stack_cache_flush(struct wf_stack_cache *c)
{
	for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++) {
		struct wf_stack_shelf *shelf = &c->shelf[cls];

		wf_stack_pool_collect(c->pool, &shelf->now);
		wf_stack_pool_collect(c->pool, &shelf->other);
		if (shelf->credits > 0)
			wf_stack_pool_release(c->pool, cls, shelf->credits);
		shelf->credits = 0;
	}
}

void wf_stack_cache_close(struct wf_stack_cache *c)
{
	wf_stack_cache_flush(c);
	wf_stack_pool_leave(c->pool);
}

static void change_places(struct wf_stack_shelf *shelf)
{
	struct wf_stack_magazine now = shelf->now;

	shelf->now = shelf->other;
	shelf->other = now;
}

struct wf_stack *wf_stack_take_slow(struct wf_stack_cache *c, unsigned cls)
{
	struct wf_stack_shelf *shelf = &c->shelf[cls];

	if (shelf->other.count > 0)
		change_places(shelf);
	else
		wf_stack_pool_deal(c->pool, cls, &shelf->now);
	return wf_stack_take(c, cls);
}

void wf_stack_give_slow(struct wf_stack_cache *c, struct wf_stack *s)
{
	struct wf_stack_shelf *shelf = &c->shelf[s->cls];

	s->next = NULL;
	if (shelf->full == 0) {
		struct wf_stack_magazine one = { s, 1 };

		wf_stack_pool_collect(c->pool, &one);
		return;
	}
	if (shelf->other.count >= shelf->full)
		wf_stack_pool_collect(c->pool, &shelf->other);
	change_places(shelf);
	s->next = shelf->now.list;
	shelf->now.list = s;
	shelf->now.count++;
}

/* Get a batch of credits; if there is no room for a batch, only one. */
int wf_stack_credit_slow(struct wf_stack_cache *c, unsigned cls)
{
	struct wf_stack_shelf *shelf = &c->shelf[cls];
	uint32_t batch = shelf->credits_max / 2;

	if (wf_stack_pool_promise(c->pool, cls, batch) == 0) {
		shelf->credits = batch - 1;
		return 0;
	}
	return wf_stack_pool_promise(c->pool, cls, 1);
}

void wf_stack_credit_back_slow(struct wf_stack_cache *c, unsigned cls)
{
	struct wf_stack_shelf *shelf = &c->shelf[cls];
	uint32_t batch = shelf->credits_max / 2;

	shelf->credits -= batch;
	wf_stack_pool_release(c->pool, cls, batch);
}
