/* SPDX-License-Identifier: MIT */
/*
 * tests/life/key_test.c - the values of a fiber take no memory until one is
 * set, and leave none behind, nor anything in a free descriptor.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "fiber/fiber.h"
#include "life/finish.h"
#include "life/key.h"
#include "stress/sched_kit.h"

enum { KEYS = 100 };

static weft_key keys[KEYS];
static weft_fiber *ended;
static int order[KEYS], destroyed;

static void note(void *value)
{
	order[destroyed++] = (int)(intptr_t)value;
	/* The array is there until all destructors have run. */
	kit_expect(weft_self()->keys != NULL);
}

static int make_keys(void **state)
{
	int err = 0;

	(void)state;
	for (int i = 0; i < KEYS; i++)
		err |= weft_key_create(&keys[i], i % 2 ? note : NULL);
	return err;
}

static void *first_uses(void *arg)
{
	weft_fiber *self = weft_self();
	void *array;

	kit_expect(self->keys == NULL);
	for (int i = 0; i < KEYS; i++) {
		kit_expect(weft_key_get(keys[i]) == NULL);
		kit_expect(weft_key_set(keys[i], NULL) == 0);
	}
	kit_expect(self->keys == NULL);
	kit_expect(weft_key_set(keys[KEYS - 1], arg) == 0);
	array = self->keys;
	kit_expect(array != NULL);
	/* It is large enough for all smaller ones. */
	for (intptr_t i = 0; i < KEYS; i++)
		kit_expect(weft_key_set(keys[i], (void *)(i + 1)) == 0);
	kit_expect(self->keys == array);
	ended = self;
	return NULL;
}

static void *one_after_another(void *arg)
{
	for (intptr_t i = 0; i < KEYS; i++) {
		kit_expect(weft_key_set(keys[i], (void *)(i + 1)) == 0);
		for (intptr_t j = 0; j <= i; j++)
			kit_expect(weft_key_get(keys[j]) == (void *)(j + 1));
	}
	ended = weft_self();
	return arg;
}

static void *spawns(void *arg)
{
	void *(*const fns[])(void *) = { first_uses, one_after_another };

	(void)arg;
	for (int i = 0; i < 2; i++) {
		weft_fiber *f;

		destroyed = 0;
		kit_expect(weft_spawn(&f, NULL, fns[i], &ended) == 0);
		kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
		kit_expect(destroyed == KEYS / 2);
		for (int k = 0; k < KEYS / 2; k++)
			kit_expect(order[k] == 2 * k + 2);
		kit_expect(ended == f && f->keys == NULL);
	}
	return NULL;
}

static void an_array_is_made_and_freed(void **state)
{
	(void)state;
	kit_play(spawns, 1);
}

/* The end of a fiber that has no values. */
static void *without(void *arg)
{
	wf_finish_user(weft_self());
	kit_expect(weft_self()->keys == NULL);
	return arg;
}

/* It may be called early: then they are gone. */
static void *too_early(void *arg)
{
	destroyed = 0;
	kit_expect(weft_key_set(keys[1], &order) == 0);
	wf_keys_end(weft_self());
	kit_expect(destroyed == 1);
	kit_expect(weft_key_get(keys[1]) == NULL);
	kit_expect(weft_self()->keys == NULL);
	return arg;
}

static void the_end_may_come_when_it_likes(void **state)
{
	(void)state;
	kit_play(without, 1);
	kit_play(too_early, 1);
	assert_int_equal(destroyed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_is_made_and_freed),
		cmocka_unit_test(the_end_may_come_when_it_likes),
	};

	return cmocka_run_group_tests(tests, make_keys, NULL);
}
