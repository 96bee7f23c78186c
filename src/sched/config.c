/* SPDX-License-Identifier: MIT */
/*
 * sched/config.c - the configuration: defaults, ranges, and what was wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "os/os.h"
#include "queue/runq.h"
#include "sched/runtime.h"

#define WORKERS_MAX 4096
#define MANY 1000000

/* A field that is a number, with its range; 0 is replaced by the default. */
struct field {
	const char *name;
	size_t offset;
	size_t bytes;
	int64_t min, max, preset;
	bool pow2;
};

#define FIELD(name, min, max, preset, pow2)                                 \
	{                                                                   \
#name, offsetof(weft_config, name),                         \
			sizeof(((weft_config *)0)->name), min, max, preset, \
			pow2                                                \
	}

static const struct field fields[] = {
	FIELD(workers, 1, WORKERS_MAX, 0, false),
	FIELD(group_size, 1, WF_GROUP_MAX, 0, false),
	FIELD(profile, 0, WEFT_PROFILE_IO_HEAVY, 0, false),
	FIELD(local_capacity, WF_RUNQ_CAP_MIN, WF_RUNQ_CAP_MAX, 256, true),
	FIELD(global_tick, 1, 65536, 61, false),
	FIELD(lifo_budget, 1, 65536, 3, false),
	FIELD(steal_rounds, 1, 64, 4, false),
	FIELD(max_searchers, 1, WF_GROUP_MAX, 0, false),
	FIELD(coop_budget, 1, MANY, 128, false),
	FIELD(max_threads, 1, MANY, 10000, false),
	FIELD(max_hogs, 1, MANY, 0, false),
	FIELD(flags, 0, WEFT_STRICT_GUARDS | WEFT_WIPE_STACKS, 0, false),
	FIELD(quantum_ns, WF_NS_PER_US, 3600 * WF_NS_PER_S, 0, false),
	FIELD(spin_ns, INT64_MIN, WF_NS_PER_S, 50 * WF_NS_PER_US, false),
	FIELD(stop_ns, 0, INT64_MAX, 0, false),
	FIELD(watchdog_ns, 0, INT64_MAX, 0, false),
	FIELD(stack_bytes, 1, WF_STACK_BYTES_MAX, WF_STACK_BYTES_DEFAULT,
		false),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* All of them are 4 bytes and unsigned, or 8. */
static int64_t get(const weft_config *c, const struct field *f)
{
	const char *at = (const char *)c + f->offset;
	uint32_t narrow;
	int64_t wide;

	if (f->bytes == sizeof(narrow)) {
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

	if (f->bytes == sizeof(narrow))
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
	if (f->pow2 && !wf_is_pow2((uint64_t)value)) {
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

	if (c->policy != NULL) {
		snprintf(why, why_bytes,
			"policy is not NULL, and there is only the default");
		return -EINVAL;
	}
	if (c->workers == 0)
		c->workers = (uint32_t)wf_min_size(
			wf_os_cpus_default(), WORKERS_MAX);
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

	for (size_t i = 0; !err && i < FIELDS; i++) {
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
