/* SPDX-License-Identifier: MIT */
/*
 * timer/heap.c - the pairing heap.
 */
#include "timer/heap.h"

#include <stdbool.h>

static bool is_before(const struct wf_timer *a, const struct wf_timer *b)
{
	return a->key < b->key || (a->key == b->key && a->turn < b->turn);
}

/* Make one tree of two.  The caller takes care of their siblings. */
static struct wf_timer *meld(struct wf_timer *a, struct wf_timer *b)
{
	if (is_before(b, a)) {
		struct wf_timer *other = a;

		a = b;
		b = other;
	}
	b->next = a->child;
	if (b->next != NULL)
		b->next->link = &b->next;
	b->link = &a->child;
	a->child = b;
	return a;
}

/*
 * Make one tree of a list of trees: meld pairs from left to right, then meld
 * the results from right to left.  NULL if the list is empty.
 */
static struct wf_timer *gather(struct wf_timer *list)
{
	struct wf_timer *pairs = NULL, *tree = NULL;

	while (list != NULL) {
		struct wf_timer *a = list, *b = a->next;

		list = b ? b->next : NULL;
		if (b != NULL)
			a = meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs != NULL) {
		struct wf_timer *a = pairs;

		pairs = a->next;
		tree = tree ? meld(tree, a) : a;
	}
	return tree;
}

void wf_heap_insert(struct wf_heap *h, struct wf_timer *t)
{
	t->child = NULL;
	h->root = h->root ? meld(h->root, t) : t;
}

void wf_heap_remove(struct wf_heap *h, struct wf_timer *t)
{
	struct wf_timer *tree = gather(t->child);

	if (t == h->root) {
		h->root = tree;
		return;
	}
	*t->link = t->next;
	if (t->next != NULL)
		t->next->link = t->link;
	if (tree != NULL)
		h->root = meld(h->root, tree);
}
