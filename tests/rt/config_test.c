/* SPDX-License-Identifier: MIT */
/*
 * tests/rt/config_test.c - every field of weft_config has the default and
 * the range that weft/runtime.h says; structs of other sizes are taken as far
 * as both sides know them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "os/os.h"
#include "rt/config.h"
#include "sched/runtime.h"

#define ANY INT64_MIN /* a default that depends on other things */
#define FIELD(f) #f, offsetof(weft_config, f), sizeof(((weft_config *)0)->f)

/* As the public header says it; 0: nothing is too small, or too large. */
static const struct range {
	const char *name;
	size_t offset, bytes;
	int64_t preset, min, max;
	int64_t below, above; /* the first that are refused */
} ranges[] = {
	{ FIELD(workers), ANY, 1, 4096, 0, 4097 },
	{ FIELD(group_size), ANY, 1, 64, 0, 65 },
	{ FIELD(profile), 0, 1, 4, 0, 5 },
	{ FIELD(local_capacity), 256, 2, 65536, 1, 65537 },
	{ FIELD(global_tick), 61, 1, 65536, 0, 65537 },
	{ FIELD(lifo_budget), 3, 1, 65536, 0, 65537 },
	{ FIELD(steal_rounds), 4, 1, 64, 0, 65 },
	{ FIELD(max_searchers), 0, 1, 64, 0, 65 },
	{ FIELD(coop_budget), 128, 1, 1000000, 0, 1000001 },
	{ FIELD(max_threads), 10000, 4, 1000000, 3, 1000001 },
	{ FIELD(max_hogs), 0, 1, 1000000, 0, 1000001 },
	{ FIELD(flags), 0, 1, 3, 0, 4 },
	{ FIELD(quantum_ns), 0, 1000, 3600000000000, 999, 3600000000001 },
	{ FIELD(spin_ns), 50000, INT64_MIN, 1000000000, 0, 1000000001 },
	{ FIELD(stop_ns), 0, 1, INT64_MAX, -1, 0 },
	{ FIELD(watchdog_ns), 0, 1, INT64_MAX, -1, 0 },
	{ FIELD(stack_bytes), 65536, 1, 1073741824, -1, 1073741825 },
};

static const size_t range_count = sizeof(ranges) / sizeof(ranges[0]);

static void set(weft_config *c, const struct range *r, int64_t value)
{
	uint32_t narrow = (uint32_t)value;

	if (r->bytes == sizeof(narrow))
		memcpy((char *)c + r->offset, &narrow, sizeof(narrow));
	else
		memcpy((char *)c + r->offset, &value, sizeof(value));
}

static int64_t get(const weft_config *c, const struct range *r)
{
	uint32_t narrow;
	int64_t wide;

	if (r->bytes == sizeof(narrow)) {
		memcpy(&narrow, (const char *)c + r->offset, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, (const char *)c + r->offset, sizeof(wide));
	return wide;
}

/* What becomes of one field with this value; 4 workers, if it says nothing. */
static int fill(weft_config *out, const struct range *r, int64_t value,
	char *why, size_t why_bytes)
{
	weft_config cfg = { .workers = 4 };

	set(&cfg, r, value);
	why[0] = '\0';
	return wf_config_fill(out, &cfg, sizeof(cfg), why, why_bytes);
}

static void every_field_has_its_range(void **state)
{
	weft_config out;
	char why[200];

	(void)state;
	for (size_t i = 0; i < range_count; i++) {
		const struct range *r = &ranges[i];

		assert_int_equal(fill(&out, r, r->min, why, 200), 0);
		if (r->preset != ANY)
			assert_true(get(&out, r) == r->min);
		assert_int_equal(fill(&out, r, r->max, why, 200), 0);
		if (r->preset != ANY)
			assert_true(get(&out, r) == r->max);
		if (r->below != 0) {
			assert_int_equal(
				fill(&out, r, r->below, why, 200), -EINVAL);
			assert_ptr_equal(strstr(why, r->name), why);
		}
		if (r->above != 0) {
			assert_int_equal(
				fill(&out, r, r->above, why, 200), -EINVAL);
			assert_ptr_equal(strstr(why, r->name), why);
			assert_true(strlen(why) < 199);
		}
	}
}

static void every_field_has_its_default(void **state)
{
	weft_config zero = { 0 }, out, from_null;
	char why[200];

	(void)state;
	assert_int_equal(
		wf_config_fill(&out, &zero, sizeof(zero), why, sizeof(why)), 0);
	assert_int_equal(
		wf_config_fill(&from_null, NULL, 0, why, sizeof(why)), 0);
	for (size_t i = 0; i < range_count; i++) {
		if (ranges[i].preset != ANY)
			assert_true(get(&out, &ranges[i]) == ranges[i].preset);
		assert_true(
			get(&out, &ranges[i]) == get(&from_null, &ranges[i]));
	}
	assert_in_range(out.workers, 1, wf_os_cpus_default() + 63);
	assert_null(out.policy);
}

static void the_table_has_every_field(void **state)
{
	size_t bytes = sizeof(((weft_config *)0)->policy);

	(void)state;
	for (size_t i = 0; i < range_count; i++)
		bytes += ranges[i].bytes;
	assert_int_equal(bytes, sizeof(weft_config));
}

static void capacities_are_powers_of_two(void **state)
{
	weft_config out;
	char why[200];

	(void)state;
	for (int64_t n = 2; n <= 300; n++)
		assert_int_equal(fill(&out, &ranges[3], n, why, sizeof(why)),
			wf_is_pow2((uint64_t)n) ? 0 : -EINVAL);
}

static void groups_are_of_one_size(void **state)
{
	static const struct {
		uint32_t workers, group_size, made, size;
	} cases[] = {
		{ 1, 0, 1, 1 },
		{ 64, 0, 64, 64 },
		{ 65, 0, 66, 33 },
		{ 130, 0, 132, 44 },
		{ 4096, 0, 4096, 64 },
		{ 4, 64, 4, 4 },
		{ 4, 4, 4, 4 },
		{ 5, 2, 6, 2 },
		{ 7, 1, 7, 1 },
		{ 9, 4, 12, 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		weft_config cfg = { .workers = cases[i].workers,
			.group_size = cases[i].group_size };
		weft_config out;
		char why[200];

		assert_int_equal(wf_config_fill(&out, &cfg, sizeof(cfg), why,
					 sizeof(why)),
			0);
		assert_int_equal(out.workers, cases[i].made);
		assert_int_equal(out.group_size, cases[i].size);
	}
}

/* ------------------------------------------------------------------------ */
/* Other versions of the struct. */

struct newer {
	weft_config known;
	uint8_t unknown[24];
};

static void a_newer_struct_is_taken_if_it_says_nothing_new(void **state)
{
	struct newer cfg = { .known = { .workers = 3, .global_tick = 7 } };
	weft_config out;
	char why[200];

	(void)state;
	assert_int_equal(
		wf_config_fill(&out, &cfg.known, sizeof(cfg), why, 200), 0);
	assert_int_equal(out.global_tick, 7);
	for (size_t i = 0; i < sizeof(cfg.unknown); i++) {
		cfg.unknown[i] = 1;
		assert_int_equal(wf_config_fill(&out, &cfg.known, sizeof(cfg),
					 why, sizeof(why)),
			-E2BIG);
		assert_int_equal(weft_config_check_sized(&cfg.known,
					 sizeof(weft_config) + i, why, 200),
			0);
		assert_int_equal(weft_config_check_sized(&cfg.known,
					 sizeof(weft_config) + i + 1, why, 200),
			-E2BIG);
		cfg.unknown[i] = 0;
	}
}

static void an_older_struct_has_defaults_for_the_rest(void **state)
{
	weft_config cfg, out;
	char why[200];

	(void)state;
	memset(&cfg, 0xff, sizeof(cfg)); /* not the caller's any more */
	cfg.workers = 3;
	cfg.group_size = 2;
	assert_int_equal(wf_config_fill(&out, &cfg,
				 offsetof(weft_config, profile), why, 200),
		0);
	assert_int_equal(out.workers, 4);
	assert_int_equal(out.local_capacity, 256);
	assert_null(out.policy);
	assert_int_equal(wf_config_fill(&out, &cfg, 0, why, 200), 0);
}

static void the_sentence_is_optional_and_fits(void **state)
{
	weft_config bad = { .workers = 5000 };
	char why[8] = "xxxxxxx";

	(void)state;
	assert_int_equal(weft_config_check(&bad, NULL, 100), -EINVAL);
	assert_int_equal(weft_config_check(&bad, why, 4), -EINVAL);
	assert_string_equal(why, "wor");
	assert_int_equal(why[4], 'x');
	bad = (weft_config){ .policy = &(weft_policy){ .steal = 2 } };
	assert_int_equal(weft_config_check(&bad, NULL, 0), -EINVAL);
	bad = (weft_config){ .workers = 9, .group_size = 4, .max_threads = 11 };
	assert_int_equal(weft_config_check(&bad, NULL, 0), -EINVAL);
	bad.max_threads = 12;
	assert_int_equal(weft_config_check(&bad, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_has_its_range),
		cmocka_unit_test(every_field_has_its_default),
		cmocka_unit_test(the_table_has_every_field),
		cmocka_unit_test(capacities_are_powers_of_two),
		cmocka_unit_test(groups_are_of_one_size),
		cmocka_unit_test(
			a_newer_struct_is_taken_if_it_says_nothing_new),
		cmocka_unit_test(an_older_struct_has_defaults_for_the_rest),
		cmocka_unit_test(the_sentence_is_optional_and_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
