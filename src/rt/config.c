/* SPDX-License-Identifier: MIT */
/*
 * rt/config.c - the configuration: defaults, ranges, and what was wrong.
 */
#include "rt/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/limits.h"
#include "os/os.h"
#include "queue/runq.h"
#include "rt/policy.h"
#include "sched/group.h"
#include "stack/class.h"

#define WF_CONFIG_WORKERS_MAX 4096
#define WF_CONFIG_MANY 1000000

_Static_assert(sizeof(size_t) == 8, "stack_bytes is a wide field");

/*
 * A field that is a number, with its range; 0 is replaced by the default.  A
 * wide one has 8 bytes, the others 4 and no sign.
 */
enum kind { NARROW, POW2, WIDE };

struct field {
	const char *name;
	size_t offset;
	enum kind kind;
	int64_t min, max, preset;
};

static const struct field fields[] = {
	{ "workers", offsetof(weft_config, workers), NARROW, 1,
		WF_CONFIG_WORKERS_MAX, 0 },
	{ "group_size", offsetof(weft_config, group_size), NARROW, 1,
		WF_GROUP_MAX, 0 },
	{ "profile", offsetof(weft_config, profile), NARROW, 0,
		WEFT_PROFILE_IO_HEAVY, 0 },
	{ "local_capacity", offsetof(weft_config, local_capacity), POW2,
		WF_RUNQ_CAP_MIN, WF_RUNQ_CAP_MAX, WF_LOCAL_CAPACITY },
	{ "global_tick", offsetof(weft_config, global_tick), NARROW, 1, 65536,
		WF_GLOBAL_TICK },
	{ "lifo_budget", offsetof(weft_config, lifo_budget), NARROW, 1, 65536,
		WF_LIFO_BUDGET },
	{ "steal_rounds", offsetof(weft_config, steal_rounds), NARROW, 1, 64,
		WF_STEAL_ROUNDS },
	{ "max_searchers", offsetof(weft_config, max_searchers), NARROW, 1,
		WF_GROUP_MAX, 0 },
	{ "coop_budget", offsetof(weft_config, coop_budget), NARROW, 1,
		WF_CONFIG_MANY, WF_COOP_BUDGET },
	{ "max_threads", offsetof(weft_config, max_threads), NARROW, 1,
		WF_CONFIG_MANY, 10000 },
	{ "max_hogs", offsetof(weft_config, max_hogs), NARROW, 1,
		WF_CONFIG_MANY, 0 },
	{ "flags", offsetof(weft_config, flags), NARROW, 0,
		WEFT_STRICT_GUARDS | WEFT_WIPE_STACKS, 0 },
	{ "quantum_ns", offsetof(weft_config, quantum_ns), WIDE, WF_NS_PER_US,
		3600 * WF_NS_PER_S, 0 },
	{ "spin_ns", offsetof(weft_config, spin_ns), WIDE, INT64_MIN,
		WF_NS_PER_S, WF_SPIN_NS },
	{ "stop_ns", offsetof(weft_config, stop_ns), WIDE, 0, INT64_MAX, 0 },
	{ "watchdog_ns", offsetof(weft_config, watchdog_ns), WIDE, 0, INT64_MAX,
		0 },
	{ "stack_bytes", offsetof(weft_config, stack_bytes), WIDE, 1,
		WF_STACK_BYTES_MAX, WF_STACK_BYTES_DEFAULT },
};

static const size_t field_count = sizeof(fields) / sizeof(fields[0]);

static int64_t get(const weft_config *c, const struct field *f)
{
	const char *at = (const char *)c + f->offset;
	uint32_t narrow;
	int64_t wide;

	if (f->kind != WIDE) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static void set(weft_config *c, const struct field *f, int64_t value)
{
	uint32_t narrow = (uint32_t)value;
	char *at = (char *)c + f->offset;

	if (f->kind != WIDE)
		memcpy(at, &narrow, sizeof(narrow));
	else
		memcpy(at, &value, sizeof(value));
}

static int check_field(
	const struct field *f, int64_t value, char *why, size_t why_bytes)
{
	if (value < f->min || value > f->max) {
		snprintf(why, why_bytes,
			"%s is %" PRId64 ", and must be from %" PRId64
			" to %" PRId64 " (0: the default)",
			f->name, value, f->min, f->max);
		return -EINVAL;
	}
	if (f->kind == POW2 && !wf_is_pow2((uint64_t)value)) {
		snprintf(why, why_bytes,
			"%s is %" PRId64 ", and must be a power of two",
			f->name, value);
		return -EINVAL;
	}
	return 0;
}

/* What depends on more than one field. */
static int check_together(weft_config *c, char *why, size_t why_bytes)
{
	uint32_t size = c->group_size ? c->group_size : WF_GROUP_MAX;
	uint32_t groups;

	if (c->policy != NULL && wf_policy_check(c->policy, why, why_bytes))
		return -EINVAL;
	if (c->workers == 0)
		c->workers = (uint32_t)wf_min_size(
			wf_os_cpus_default(), WF_CONFIG_WORKERS_MAX);
	groups = c->workers / size + (c->workers % size != 0);
	if (c->group_size == 0)
		size = c->workers / groups + (c->workers % groups != 0);
	else if (groups == 1)
		size = c->workers;
	c->group_size = size;
	c->workers = groups * size;
	if (c->max_threads < c->workers) {
		snprintf(why, why_bytes,
			"max_threads is %" PRIu32 ", and must be at least the "
			"number of workers, %" PRIu32,
			c->max_threads, c->workers);
		return -EINVAL;
	}
	return 0;
}

/* Copy what the caller has; what we do not know must be zero. */
static int copy(weft_config *out, const weft_config *cfg, size_t size,
	char *why, size_t why_bytes)
{
	const char *bytes = (const char *)cfg;

	*out = (weft_config){ 0 };
	if (cfg == NULL)
		return 0;
	for (size_t i = sizeof(*out); i < size; i++) {
		if (bytes[i] != 0) {
			snprintf(why, why_bytes,
				"weft_config has a field, at byte %zu, that "
				"this version does not know",
				i);
			return -E2BIG;
		}
	}
	memcpy(out, cfg, wf_min_size(size, sizeof(*out)));
	return 0;
}

int wf_config_fill(weft_config *out, const weft_config *cfg, size_t size,
	char *why, size_t why_bytes)
{
	int err = copy(out, cfg, size, why, why_bytes);

	for (size_t i = 0; !err && i < field_count; i++) {
		int64_t value = get(out, &fields[i]);

		if (value == 0)
			set(out, &fields[i], fields[i].preset);
		else
			err = check_field(&fields[i], value, why, why_bytes);
	}
	return err ? err : check_together(out, why, why_bytes);
}

int weft_config_check_sized(
	const weft_config *cfg, size_t size, char *why, size_t why_bytes)
{
	weft_config filled;

	return wf_config_fill(
		&filled, cfg, size, why, why == NULL ? 0 : why_bytes);
}
