/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/config_draw.h - random configurations, valid and not.
 *
 * Every field of weft_config and of weft_policy is drawn: its default, its
 * least value, or one from there to as much as a test can afford.
 * A configuration is made from one number, its seed, and printed as a C
 * initialiser.
 */
#ifndef WEFT_TESTS_STRESS_CONFIG_DRAW_H
#define WEFT_TESTS_STRESS_CONFIG_DRAW_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <weft/weft.h>

#include "base/random.h"
#include "base/sanitize.h"
#include "base/units.h"

#if defined(WF_ASAN) || defined(WF_TSAN)
#define DRAW_STACK_MIN (64 * WF_KIB)
#else
#define DRAW_STACK_MIN 1
#endif

enum { DRAW_WORKERS_MAX = 100 };

/* A field that is a number: its range, and the most that a test affords. */
struct draw_field {
	const char *name;
	size_t offset;
	bool wide;			/* 8 bytes, else 4 */
	int64_t min, max;
	int64_t most;			/* that is drawn, unless rare */
	bool pow2;
};

#define DRAW_NARROW(f, min, max, most)                                     \
	{                                                                  \
		#f, offsetof(weft_config, f), false, min, max, most, false \
	}
#define DRAW_WIDE(f, min, max, most)                                      \
	{                                                                 \
		#f, offsetof(weft_config, f), true, min, max, most, false \
	}

static const struct draw_field draw_fields[] = {
	DRAW_NARROW(workers, 1, 4096, 0), /* draw_workers */
	DRAW_NARROW(group_size, 1, 64, 0),
	DRAW_NARROW(profile, 0, 4, 4),
	{ "local_capacity", offsetof(weft_config, local_capacity), false, 2,
		65536, 512, true },
	DRAW_NARROW(global_tick, 1, 65536, 70),
	DRAW_NARROW(lifo_budget, 1, 65536, 10),
	DRAW_NARROW(steal_rounds, 1, 64, 8),
	DRAW_NARROW(max_searchers, 1, 64, 64),
	DRAW_NARROW(coop_budget, 1, 1000000, 200),
	DRAW_NARROW(max_threads, 1, 1000000, 0), /* draw_threads */
	DRAW_NARROW(max_hogs, 1, 1000000, 20),
	DRAW_NARROW(flags, 0, 3, 3),
	DRAW_WIDE(quantum_ns, 1000, 3600 * WF_NS_PER_S, 10 * WF_NS_PER_MS),
	DRAW_WIDE(spin_ns, INT64_MIN, WF_NS_PER_S, 200 * WF_NS_PER_US),
	DRAW_WIDE(stop_ns, 0, INT64_MAX, 3600 * WF_NS_PER_S),
	DRAW_WIDE(watchdog_ns, 0, INT64_MAX, WF_NS_PER_S),
	DRAW_WIDE(stack_bytes, 1, WF_GIB, 256 * WF_KIB),
};

enum { DRAW_FIELDS = sizeof(draw_fields) / sizeof(draw_fields[0]) };

/* How many choices each field of a policy has, in their order. */
static const struct {
	const char *name;
	uint32_t choices;
} draw_policies[] = { { "queue", 3 }, { "local", 2 }, { "steal", 2 },
	{ "take", 3 }, { "offload", 2 }, { "lifo", 2 }, { "wake", 3 },
	{ "locks", 2 } };

enum { DRAW_POLICIES = sizeof(draw_policies) / sizeof(draw_policies[0]) };

struct draw {
	uint64_t seed;
	struct wf_random random;
	weft_config cfg;
	weft_policy policy;
	const char *wrong;		/* a word that the error has; NULL:
					   the configuration is valid */
};

static inline void draw_set(
	weft_config *c, const struct draw_field *f, int64_t value)
{
	uint32_t narrow = (uint32_t)value;
	char *at = (char *)c + f->offset;

	if (f->wide)
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &narrow, sizeof(narrow));
}

static inline int64_t draw_get(const weft_config *c, const struct draw_field *f)
{
	const char *at = (const char *)c + f->offset;
	uint32_t narrow;
	int64_t wide;

	if (f->wide) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

static inline uint32_t draw_below(struct draw *d, uint32_t n)
{
	return wf_random_below(&d->random, n);
}

static inline const struct draw_field *draw_field(const char *name)
{
	for (size_t i = 0; i < DRAW_FIELDS; i++)
		if (strcmp(draw_fields[i].name, name) == 0)
			return &draw_fields[i];
	return NULL;
}

/* Often its default, else from its least to as much as a test can afford. */
static inline int64_t draw_value(struct draw *d, const struct draw_field *f)
{
	int64_t least = f->min > 0 ? f->min : 0;
	uint64_t range = (uint64_t)(f->most - least) + 1;

	if (f->most == 0 || draw_below(d, 4) == 0)
		return 0;
	if (f->pow2)
		return least << draw_below(d, 9);
	if (draw_below(d, 5) == 0)
		return least;
	return least + (int64_t)(wf_random_next(&d->random) % range);
}

/* Few as a rule, but now and then more than a group can have. */
static inline void draw_workers(struct draw *d)
{
	static const uint32_t most[] = { 3, 4, 5, 8, 16, DRAW_WORKERS_MAX };
	weft_config *c = &d->cfg;

	c->workers = 1 + draw_below(d, most[draw_below(d, 6)]);
	if (draw_below(d, 3) != 0)
		c->group_size = 1 + draw_below(d, 1 + c->workers / 2);
	else if (draw_below(d, 3) == 0)
		c->group_size = 1 + draw_below(d, 64);
	if (c->group_size > 64)
		c->group_size = 64;
}

/* workers, as it is rounded up for groups of one size. */
static inline uint32_t draw_rounded(const weft_config *c)
{
	uint32_t size = c->group_size ? c->group_size : 64;
	uint32_t groups = (c->workers + size - 1) / size;

	if (groups == 1)
		return c->workers;
	return c->group_size ? groups * size
			     : groups * ((c->workers + groups - 1) / groups);
}

static inline void draw_policy(struct draw *d)
{
	uint32_t values[DRAW_POLICIES];

	for (size_t i = 0; i < DRAW_POLICIES; i++)
		values[i] = draw_below(d, 5) < 3
			? 0
			: draw_below(d, draw_policies[i].choices);
	d->policy = (weft_policy){ values[0], values[1], values[2], values[3],
		values[4], values[5], values[6], values[7], 0 };
	if (draw_below(d, 2) == 0)
		d->policy.bounded_capacity = 2u << draw_below(d, 10);
	d->cfg.policy = &d->policy;
	/* Forbidden combinations are drawn by draw_wrong_policy only. */
	if (d->policy.queue != WEFT_QUEUE_STEALING ||
		d->policy.local != WEFT_LOCAL_ATOMIC)
		d->policy.locks = WEFT_LOCKS_SHORT;
}

static inline void draw_valid(struct draw *d)
{
	weft_config *c = &d->cfg;

	draw_workers(d);
	for (size_t i = 0; i < DRAW_FIELDS; i++)
		if (draw_fields[i].most != 0)
			draw_set(c, &draw_fields[i],
				draw_value(d, &draw_fields[i]));
	if (draw_below(d, 4) == 0)
		c->spin_ns = -1;
	if (c->stack_bytes != 0 && c->stack_bytes < DRAW_STACK_MIN)
		c->stack_bytes = DRAW_STACK_MIN;
	if (draw_below(d, 3) == 0)
		c->max_threads = draw_rounded(c) + draw_below(d, 20);
	if (draw_below(d, 4) != 0)
		draw_policy(d);
}

/* ------------------------------------------------------------------------ */
/* Configurations that are refused. */

/* One field is out of its range. */
static inline void draw_wrong_field(struct draw *d)
{
	const struct draw_field *f = &draw_fields[draw_below(d, DRAW_FIELDS)];
	bool low = draw_below(d, 2) == 0;

	if (f->max == INT64_MAX || (low && f->wide && f->min > 1))
		draw_set(&d->cfg, f, f->min - 1);
	else if (f->pow2)
		draw_set(&d->cfg, f, low ? 3 : 2 * f->max);
	else
		draw_set(&d->cfg, f, f->max + 1);
	d->wrong = f->name;
}

static inline void draw_wrong_policy(struct draw *d)
{
	size_t i = draw_below(d, DRAW_POLICIES);
	uint32_t value = draw_policies[i].choices + draw_below(d, 3);

	draw_policy(d);
	memcpy((char *)&d->policy + i * sizeof(value), &value, sizeof(value));
	d->wrong = draw_policies[i].name;
}

/* Each field is valid, all together are not. */
static inline void draw_wrong_together(struct draw *d)
{
	uint32_t which = draw_below(d, 4);

	if (which == 0 && draw_rounded(&d->cfg) > 1) {
		d->cfg.max_threads = draw_rounded(&d->cfg) - 1;
		d->wrong = "max_threads";
		return;
	}
	draw_policy(d);
	if (which == 1) {
		d->policy.bounded_capacity = draw_below(d, 2) ? 3 : 1 << 21;
		d->wrong = "bounded_capacity";
		return;
	}
	d->policy.locks = WEFT_LOCKS_NONE;
	if (which == 2)
		d->policy.local = WEFT_LOCAL_MUTEX;
	else
		d->policy.queue = 1 + draw_below(d, 2);
	d->wrong = "lock-free";
}

/* The configuration of this seed; d must not move, cfg points into it. */
static inline void draw_make(struct draw *d, uint64_t seed, bool valid)
{
	*d = (struct draw){ .seed = seed };
	wf_random_seed(&d->random, seed);
	draw_valid(d);
	if (valid)
		return;
	switch (draw_below(d, 3)) {
	case 0:
		draw_wrong_policy(d);
		break;
	case 1:
		draw_wrong_together(d);
		break;
	default:
		draw_wrong_field(d);
	}
}

/* As a C initialiser; fields that it leaves out are zero. */
static inline void draw_print(const struct draw *d, char *out, size_t bytes)
{
	const weft_policy *p = &d->policy;
	size_t n = (size_t)snprintf(out, bytes, "(weft_config){");

	for (size_t i = 0; i < DRAW_FIELDS && n < bytes; i++) {
		int64_t value = draw_get(&d->cfg, &draw_fields[i]);

		if (value != 0)
			n += (size_t)snprintf(out + n, bytes - n,
				" .%s = %" PRId64 ",", draw_fields[i].name,
				value);
	}
	if (n < bytes && d->cfg.policy != NULL)
		n += (size_t)snprintf(out + n, bytes - n,
			" .policy = &(weft_policy){ .queue = %u, .local = %u, "
			".steal = %u, .take = %u, .offload = %u, .lifo = %u, "
			".wake = %u, .locks = %u, .bounded_capacity = %u },",
			p->queue, p->local, p->steal, p->take, p->offload,
			p->lifo, p->wake, p->locks, p->bounded_capacity);
	if (n < bytes)
		(void)snprintf(out + n, bytes - n, " }");
}

#endif
