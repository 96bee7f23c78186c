/* SPDX-License-Identifier: MIT */
/*
 * stack/arena.c - map arenas, guard their slots, count them.
 */
#include "stack/arena.h"

#include <errno.h>

#include "base/assert.h"
#include "base/sanitize.h"
#include "os/os.h"

/* Guards that one call to the kernel installs. */
#define WF_CARVE_MAX 64

void wf_guards_init(struct wf_guards *g, bool strict)
{
	*g = (struct wf_guards){ .strict = strict,
		.protect_limit = wf_os_vm_map_limit() / 4 };
}

int wf_arena_map(struct wf_arena **a, unsigned cls, size_t bytes)
{
	size_t page = wf_os_page_bytes(), header, room;
	struct wf_stack_class shape = wf_stack_class_make(cls, page);
	uint32_t count = (uint32_t)wf_min_size(
		wf_max_size(1, bytes / shape.stride), UINT32_MAX);
	void *memory = NULL;
	int err;

	header =
		wf_round_up(sizeof(**a) + count * sizeof(struct wf_slot), page);
	if (__builtin_mul_overflow(count, shape.stride, &room) ||
		__builtin_add_overflow(room, header, &room))
		return -ENOMEM;
	err = wf_os_vm_map(&memory, room);
	if (err)
		return err;
	*a = memory;
	**a = (struct wf_arena){ .shape = shape,
		.cls = cls,
		.count = count,
		.bytes = room,
		.slots = (char *)memory + header };
	return 0;
}

void wf_arena_unmap(struct wf_arena *a, struct wf_guards *g)
{
	g->installed -= a->carved - a->protected - a->missing;
	g->protected -= a->protected;
	g->missing -= a->missing;
	for (uint32_t i = 0; i < a->used; i++)
		if (a->slot[i].valgrind != 0)
			wf_valgrind_stack_drop(a->slot[i].valgrind - 1);
	wf_os_vm_unmap(a, a->bytes);
}

/*
 * Guard slots [at, at + n) by page protection, or leave them without a guard.
 * Returns how many are done, or -ENOMEM if a strict pool can have none.
 */
static int carve_by_protection(
	struct wf_arena *a, uint32_t at, uint32_t n, struct wf_guards *g)
{
	for (uint32_t i = 0; i < n; i++) {
		if (g->protected < g->protect_limit &&
			wf_os_vm_protect(wf_arena_slot(a, at + i),
				a->shape.guard) == 0) {
			g->protected ++;
			a->protected ++;
		} else if (g->strict) {
			return i > 0 ? (int)i : -ENOMEM;
		} else {
			g->missing++;
			a->missing++;
		}
	}
	return (int)n;
}

int wf_arena_carve(struct wf_arena *a, struct wf_guards *g)
{
	struct wf_os_span spans[WF_CARVE_MAX];
	uint32_t at = a->carved;
	uint32_t n = (uint32_t)wf_min_size(WF_CARVE_MAX, a->count - at);
	int err = -ENOTSUP;

	wf_assert(n > 0, "nothing is left to carve");
	for (uint32_t i = 0; i < n; i++)
		spans[i] = (struct wf_os_span){ wf_arena_slot(a, at + i),
			a->shape.guard };
	if (!g->no_install)
		err = wf_os_vm_guard(spans, n);
	if (err == -ENOTSUP) {
		g->no_install = true;
		return carve_by_protection(a, at, n, g);
	}
	if (err)
		return -ENOMEM;
	g->installed += n;
	return (int)n;
}

uint32_t wf_arena_take(struct wf_arena *a)
{
	uint32_t index;

	wf_debug_assert(a->cold > 0, "the arena has no cold slot");
	a->cold--;
	if (a->free == 0)
		return a->used++;
	index = a->free - 1;
	a->free = a->slot[index].next;
	return index;
}

void wf_arena_put(struct wf_arena *a, uint32_t index)
{
	a->slot[index].next = a->free;
	a->free = index + 1;
	a->cold++;
}

bool wf_arena_check(const struct wf_arena *a)
{
	uint32_t free = 0;

	for (uint32_t i = a->free; i != 0; i = a->slot[i - 1].next) {
		if (i > a->used || ++free > a->used)
			return false;
	}
	return a->used <= a->carved && a->carved <= a->count &&
		a->cold == a->carved - a->used + free;
}
