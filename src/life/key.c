/* SPDX-License-Identifier: MIT */
/*
 * life/key.c - fiber-local values.
 *
 * A key is a number, from 1 on, and its destructor is in a table of the whole
 * process.  A fiber that has set a value has an array of values, f->keys, as
 * long as the largest key it has set, rounded up.  Only the fiber uses it.  A
 * caller gets a key after weft_key_create has written the table, so the table
 * needs no order of its own.
 */
#include "life/key.h"

#include <errno.h>

#include <weft/key.h>

#include "base/atomic.h"
#include "base/units.h"
#include "os/os.h"
#include "sched/thread.h"

#define WF_KEYS_MAX 1024

/* The array of values grows by so many. */
#define WF_KEYS_STEP ((size_t)14)

/* Destructors may set values again; so many rounds are made. */
#define WF_KEYS_ROUNDS 4

struct values {
	size_t count;
	void *value[];
};

static struct {
	_Atomic(uint32_t) count;
	void (*destructor[WF_KEYS_MAX])(void *);
} keys;

int weft_key_create(weft_key *k, void (*destructor)(void *))
{
	uint32_t n = wf_load_rlx(&keys.count);

	do {
		if (n == WF_KEYS_MAX)
			return -EAGAIN;
	} while (!wf_cas_weak_rlx(&keys.count, &n, n + 1));
	keys.destructor[n] = destructor;
	*k = n + 1;
	return 0;
}

void *weft_key_get(weft_key k)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t ? t->current : NULL;
	struct values *v = f ? f->keys : NULL;
	size_t i = (size_t)k - 1;
	void *value = v != NULL && i < v->count ? v->value[i] : NULL;

	wf_leave(t);
	return value;
}

/* The values of f, grown to hold one for i; NULL: no memory. */
static wf_noinline struct values *grow(weft_fiber *f, size_t i)
{
	size_t count = (i / WF_KEYS_STEP + 1) * WF_KEYS_STEP;
	struct values *old = f->keys, *v;

	v = wf_os_alloc(sizeof(*v) + count * sizeof(v->value[0]));
	if (v == NULL)
		return NULL;
	v->count = count;
	for (size_t n = 0; old != NULL && n < old->count; n++)
		v->value[n] = old->value[n];
	wf_os_free(old);
	wf_fiber_use(f);
	f->keys = v;
	return v;
}

static int set(weft_fiber *f, size_t i, void *value)
{
	struct values *v;

	if (f == NULL)
		return -EPERM;
	if (i >= wf_load_rlx(&keys.count))
		return -EINVAL;
	v = f->keys;
	if (v == NULL || i >= v->count) {
		if (value == NULL)
			return 0;
		v = grow(f, i);
		if (v == NULL)
			return -ENOMEM;
	}
	v->value[i] = value;
	return 0;
}

int weft_key_set(weft_key k, void *value)
{
	struct wf_thread *t = wf_enter();
	int err = set(t ? t->current : NULL, (size_t)k - 1, value);

	wf_leave(t);
	return err;
}

/*
 * Call the destructors of all values once.  They may set values, so that the
 * array is another one.  True: there was one to call.
 */
static wf_may_switch bool destroy(weft_fiber *f)
{
	struct values *v;
	bool found = false;

	for (size_t i = 0; v = f->keys, i < v->count; i++) {
		void *value = v->value[i];

		if (value == NULL || keys.destructor[i] == NULL)
			continue;
		v->value[i] = NULL;
		wf_leave_here();
		keys.destructor[i](value);
		(void)wf_enter();
		found = true;
	}
	return found;
}

wf_may_switch void wf_keys_end(weft_fiber *f)
{
	for (unsigned round = 0; round < WF_KEYS_ROUNDS; round++)
		if (!destroy(f))
			break;
	wf_os_free(f->keys);
	f->keys = NULL;
}
