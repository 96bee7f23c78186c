/* SPDX-License-Identifier: MIT */
/*
 * timer/wheel.c - slots in front of a heap.
 */
#include "timer/wheel.h"

#include "base/compiler.h"

/* A slot with more timers than this is not pruned timer by timer. */
#define WF_WHEEL_PRUNE_MAX 64

static int64_t tick_of(const struct wf_timer *t)
{
	return t->key >> WF_WHEEL_TICK_SHIFT;
}

/* The slot for a tick after w->tick (W2). */
static struct wf_wheel_slot *slot_of(
	struct wf_wheel *w, int64_t tick, unsigned *level, unsigned *digit)
{
	uint64_t differs = (uint64_t)(tick ^ w->tick);

	*level = (63u - (unsigned)__builtin_clzll(differs)) /
		WF_WHEEL_DIGIT_SHIFT;
	*digit = (unsigned)(tick >> (*level * WF_WHEEL_DIGIT_SHIFT)) %
		WF_WHEEL_SLOTS;
	return &w->slot[*level][*digit];
}

/*
 * When a slot is emptied, most of its timers have long left the caches, and
 * each would cost a cache miss.  So each timer has a pointer, in place of its
 * child, to a timer that comes later in the list, which open_slot prefetches.
 * That timer may have been removed since, which is harmless: it is only
 * prefetched.
 */
static struct wf_timer *leave_trail(struct wf_wheel *w, struct wf_timer *t,
	unsigned level, unsigned digit)
{
	if (level >= WF_WHEEL_TRAILS)
		return NULL;
	return wf_trail_add(&w->trail[level][digit], t);
}

/* Put t where its key belongs; its turn is set. */
static void place(struct wf_wheel *w, struct wf_timer *t)
{
	int64_t tick = tick_of(t);
	struct wf_wheel_slot *slot;
	unsigned level, digit;

	if (tick <= w->tick) {
		wf_heap_insert(&w->heap, t);
		return;
	}
	slot = slot_of(w, tick, &level, &digit);
	w->full[level] |= (uint64_t)1 << digit;
	if (slot->first == NULL || t->key < slot->least) {
		slot->least = t->key;
		slot->leader = t;
	}
	t->next = slot->first;
	t->child = leave_trail(w, t, level, digit);
	if (t->next != NULL)
		t->next->link = &t->next;
	t->link = &slot->first;
	slot->first = t;
}

static void link_in(struct wf_wheel *w, struct wf_timer *t, int64_t key)
{
	t->key = key;
	t->turn = w->turns++;
	place(w, t);
}

static void unlink(struct wf_wheel *w, struct wf_timer *t)
{
	struct wf_wheel_slot *slot;
	unsigned level, digit;

	if (tick_of(t) <= w->tick) {
		wf_heap_remove(&w->heap, t);
		return;
	}
	slot = slot_of(w, tick_of(t), &level, &digit);
	if (slot->leader == t)
		slot->leader = NULL;
	*t->link = t->next;
	if (t->next != NULL)
		t->next->link = t->link;
}

void wf_wheel_insert(struct wf_wheel *w, struct wf_timer *t, int64_t key)
{
	link_in(w, t, key);
	wf_store_rlx(&t->in, w);
}

void wf_wheel_drop(struct wf_timer *t)
{
	/* [pair: timer.in] Our last access: t may then enter another wheel. */
	wf_store_rel(&t->in, NULL);
}

void wf_wheel_remove(struct wf_wheel *w, struct wf_timer *t)
{
	unlink(w, t);
	wf_wheel_drop(t);
}

void wf_wheel_put(struct wf_wheel *w, struct wf_timer *t, int64_t key)
{
	link_in(w, t, key);
}

/* t->in stays set throughout. */
void wf_wheel_change(struct wf_wheel *w, struct wf_timer *t, int64_t key)
{
	unlink(w, t);
	link_in(w, t, key);
}

/* The lowest level with a full slot; WF_WHEEL_LEVELS: all are empty. */
static unsigned first_level(const struct wf_wheel *w)
{
	unsigned level = 0;

	while (level < WF_WHEEL_LEVELS && w->full[level] == 0)
		level++;
	return level;
}

int64_t wf_wheel_next(const struct wf_wheel *w)
{
	struct wf_timer *first = wf_heap_first(&w->heap);
	unsigned level;

	if (first != NULL)
		return first->key;
	level = first_level(w);
	if (level == WF_WHEEL_LEVELS)
		return INT64_MAX;
	return w->slot[level][__builtin_ctzll(w->full[level])].least;
}

/*
 * Empty the first slot of this level: its timers move to lower levels or to the
 * heap.
 */
static void open_slot(struct wf_wheel *w, unsigned level)
{
	unsigned digit = (unsigned)__builtin_ctzll(w->full[level]);
	unsigned shift = level * WF_WHEEL_DIGIT_SHIFT;
	struct wf_timer *t = w->slot[level][digit].first, *next;
	int64_t above = w->tick >> shift >> WF_WHEEL_DIGIT_SHIFT;

	w->full[level] &= w->full[level] - 1;
	w->slot[level][digit].first = NULL;
	w->tick = (above << WF_WHEEL_DIGIT_SHIFT | digit) << shift;
	for (; t != NULL; t = next) {
		next = t->next;
		wf_prefetch(t->child);
		place(w, t);
	}
}

struct wf_timer *wf_wheel_due(struct wf_wheel *w, int64_t now)
{
	while (wf_wheel_next(w) <= now) {
		struct wf_timer *first = wf_heap_first(&w->heap);

		if (first != NULL)
			return first;
		open_slot(w, first_level(w));
	}
	return NULL;
}

struct wf_timer *wf_wheel_pop(struct wf_wheel *w, int64_t now)
{
	struct wf_timer *t = wf_wheel_due(w, now);

	if (t != NULL)
		wf_heap_remove(&w->heap, t);
	return t;
}

/* Give t the right key; INT64_MIN: remove it. */
static void correct(struct wf_wheel *w, struct wf_timer *t, int64_t key)
{
	if (key == INT64_MIN)
		wf_wheel_remove(w, t);
	else if (key != t->key)
		wf_wheel_change(w, t, key);
}

/* Correct all timers of this slot, unless they are too many. */
static void ask_all(struct wf_wheel *w, struct wf_wheel_slot *slot,
	int64_t (*ask)(struct wf_timer *t))
{
	struct wf_timer *t, *next, *leader = NULL;
	unsigned n = 0;

	for (t = slot->first; t != NULL; t = t->next)
		if (n++ == WF_WHEEL_PRUNE_MAX)
			return;
	for (t = slot->first; t != NULL; t = next) {
		next = t->next;
		correct(w, t, ask(t));
	}
	for (t = slot->first; t != NULL; t = t->next)
		if (leader == NULL || t->key < leader->key)
			leader = t;
	slot->leader = leader;
	slot->least = leader ? leader->key : 0;
}

/*
 * Correct the timers of the first slot.  True if the slot is empty now, and
 * another one may be the first.
 */
static bool prune_slot(struct wf_wheel *w, int64_t (*ask)(struct wf_timer *t))
{
	unsigned level = first_level(w);
	struct wf_wheel_slot *slot;
	struct wf_timer *leader;

	if (level == WF_WHEEL_LEVELS)
		return false;
	slot = &w->slot[level][__builtin_ctzll(w->full[level])];
	leader = slot->leader;
	if (leader != NULL && ask(leader) == leader->key)
		return false;
	ask_all(w, slot, ask);
	if (slot->first != NULL)
		return false;
	w->full[level] &= w->full[level] - 1;
	return true;
}

void wf_wheel_prune(struct wf_wheel *w, int64_t (*ask)(struct wf_timer *t))
{
	struct wf_timer *first;

	do {
		while ((first = wf_heap_first(&w->heap)) != NULL) {
			int64_t key = ask(first);

			if (key == first->key)
				return;
			correct(w, first, key);
		}
	} while (prune_slot(w, ask));
}
