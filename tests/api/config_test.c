/* SPDX-License-Identifier: MIT */
/*
 * tests/api/config_test.c - a configuration in range starts a runtime, and one
 * that is not is refused with a sentence that names the field.
 */
#include "api/api.h"

#include <weft/weft.h>

#include "os/child.h"

/* A field's range in the header; INT64_MIN to INT64_MAX: any value. */
struct field {
	const char *name;
	size_t offset, bytes;
	int64_t low, high; /* besides 0, the default */
	bool power_of_two;
	bool never_start; /* with large values: too much for a test */
};

#define FIELD(f) #f, offsetof(weft_config, f), sizeof(((weft_config *)0)->f)

static const struct field fields[] = {
	{ FIELD(workers), 1, 4096, false, true },
	{ FIELD(group_size), 1, 64, false, false },
	{ FIELD(profile), 0, WEFT_PROFILE_IO_HEAVY, false, false },
	{ FIELD(local_capacity), 2, 65536, true, false },
	{ FIELD(global_tick), 1, 65536, false, false },
	{ FIELD(lifo_budget), 1, 65536, false, false },
	{ FIELD(steal_rounds), 1, 64, false, false },
	{ FIELD(max_searchers), 1, 64, false, false },
	{ FIELD(coop_budget), 1, 1000000, false, false },
	{ FIELD(max_threads), 1, 1000000, false, false },
	{ FIELD(max_hogs), 1, 1000000, false, false },
	{ FIELD(flags), 0, WEFT_STRICT_GUARDS | WEFT_WIPE_STACKS, false,
		false },
	{ FIELD(quantum_ns), 1000, 3600 * NS_PER_S, false, false },
	{ FIELD(spin_ns), INT64_MIN, NS_PER_S, false, false },
	{ FIELD(stop_ns), 1, INT64_MAX, false, false },
	{ FIELD(watchdog_ns), 1, INT64_MAX, false, false },
	{ FIELD(stack_bytes), 1, INT64_C(1) << 30, false, true },
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static weft_config config_with(const struct field *f, int64_t value)
{
	/* One worker, so that the other fields have room. */
	weft_config cfg = { .workers = 1 };

	if (f->bytes == sizeof(uint32_t)) {
		uint32_t v = (uint32_t)value;

		memcpy((char *)&cfg + f->offset, &v, sizeof(v));
	} else {
		memcpy((char *)&cfg + f->offset, &value, sizeof(value));
	}
	return cfg;
}

static void start_and_stop(const weft_config *cfg)
{
	weft_fiber *f;
	weft_rt *rt = rt_begin(cfg);

	assert_int_equal(weft_rt_spawn(rt, &f, NULL, echo, NULL), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	rt_end(rt);
}

static void assert_accepted(const struct field *f, int64_t value)
{
	weft_config cfg = config_with(f, value);
	char why[200] = "untouched";
	int err = weft_config_check(&cfg, why, sizeof(why));

	if (err)
		fail_msg("%s = %" PRId64 ": %d, %s", f->name, value, err, why);
	assert_int_equal(weft_config_check(&cfg, NULL, 0), 0);
	if (value <= 100 || !f->never_start)
		start_and_stop(&cfg);
}

/* In a child process, whose output we read. */
static void start_badly(void *arg)
{
	weft_rt *rt = arg;
	int err = weft_rt_start(&rt, arg);

	_exit(err == -EINVAL && rt == arg ? 0 : 1);
}

/* weft_config_check and weft_rt_start give one sentence with the name. */
static void assert_refused_config(const weft_config *cfg, const char *name)
{
	char why[200] = "";
	struct child c;

	assert_int_equal(weft_config_check(cfg, why, sizeof(why)), -EINVAL);
	if (!strstr(why, name))
		fail_msg("not a word of %s: %s", name, why);
	assert_null(strchr(why, '\n'));
	assert_int_equal(weft_config_check(cfg, NULL, 0), -EINVAL);
	child_run(&c, start_badly, (void *)cfg);
	assert_true(child_exited_with(&c, 0));
	assert_non_null(strstr(c.text, why));
	assert_ptr_equal(strchr(c.text, '\n'), c.text + c.text_bytes - 1);
	assert_int_equal(strncmp(c.text, "weft: ", 6), 0);
}

static void assert_refused(const struct field *f, int64_t value)
{
	weft_config cfg = config_with(f, value);

	assert_refused_config(&cfg, f->name);
}

/* Children first: they are forked before any thread was here. */
static void values_out_of_range_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];

		if (f->high < INT64_MAX)
			assert_refused(f, f->high + 1);
		if (f->low > 1)
			assert_refused(f, f->low - 1);
		if (f->bytes == sizeof(uint32_t))
			assert_refused(f, UINT32_MAX);
		else if (f->high < INT64_MAX)
			assert_refused(f, INT64_MAX);
		if (f->power_of_two) {
			assert_refused(f, 3);
			assert_refused(f, 100);
			assert_refused(f, 65535);
			assert_refused(f, 2 * f->high);
		}
	}
	assert_refused(&fields[FIELDS - 1], -1);
	for (uint32_t bit = 4; bit != 0; bit <<= 1)
		assert_int_equal(
			weft_config_check(
				&(weft_config){ .flags = bit }, NULL, 0),
			-EINVAL);
}

static void fields_that_belong_together(void **state)
{
	weft_config cfg = { .workers = 4, .max_threads = 3 };

	(void)state;
	assert_refused_config(&cfg, "max_threads");
	cfg.max_threads = 4;
	start_and_stop(&cfg);
	cfg.policy = &(weft_policy){ .wake = 3 };
	assert_refused_config(&cfg, "policy");
	/* A negative time makes no sense, but for spinning. */
	cfg = (weft_config){ .quantum_ns = -1 };
	assert_refused_config(&cfg, "quantum_ns");
	cfg = (weft_config){ .quantum_ns = 1 };
	assert_refused_config(&cfg, "quantum_ns");
}

static void values_in_range_are_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];

		assert_accepted(f, 0);
		if (f->low <= 1)
			assert_accepted(f, 1);
		else
			assert_accepted(f, f->low);
		if (f->low < 0)
			assert_accepted(f, -1);
		assert_accepted(f, f->high);
		if (f->power_of_two)
			assert_accepted(f, 2 * f->low);
	}
}

static void the_sentence_fits_its_place(void **state)
{
	const weft_config bad = { .global_tick = 1000000 };
	char why[200], some[200];

	(void)state;
	assert_int_equal(weft_config_check(&bad, why, sizeof(why)), -EINVAL);
	assert_true(strlen(why) > 10 && strlen(why) < sizeof(why));
	for (size_t room = 1; room < 40; room++) {
		memset(some, 'x', sizeof(some));
		assert_int_equal(weft_config_check(&bad, some, room), -EINVAL);
		assert_non_null(memchr(some, '\0', room));
		assert_int_equal(strncmp(some, why, strlen(some)), 0);
		assert_int_equal(some[room], 'x');
	}
}

/* ------------------------------------------------------------------------ */
/* Structs of other sizes. */

struct newer {
	weft_config known;
	uint64_t more[2];
};

static int run_nothing(void *arg)
{
	(void)arg;
	return 11;
}

static void a_newer_struct_is_read_if_its_end_is_zero(void **state)
{
	struct newer cfg = { .known = { .workers = 1 } };
	const weft_config *p = &cfg.known;
	char why[200] = "";
	weft_rt *rt = NULL;

	(void)state;
	assert_int_equal(
		weft_config_check_sized(p, sizeof(cfg), why, sizeof(why)), 0);
	assert_int_equal(weft_run_sized(p, sizeof(cfg), run_nothing, NULL), 11);
	assert_int_equal(weft_rt_start_sized(&rt, p, sizeof(cfg)), 0);
	rt_end(rt);

	rt = NULL;
	memset((char *)&cfg.more[1] + 7, 1, 1);
	assert_int_equal(
		weft_config_check_sized(p, sizeof(cfg), why, sizeof(why)),
		-E2BIG);
	assert_true(strlen(why) > 0);
	assert_int_equal(
		weft_run_sized(p, sizeof(cfg), run_nothing, NULL), -E2BIG);
	assert_int_equal(weft_rt_start_sized(&rt, p, sizeof(cfg)), -E2BIG);
	assert_null(rt);
	/* Only as many bytes are read as the caller says. */
	assert_int_equal(
		weft_config_check_sized(p, sizeof(cfg) - 8, why, sizeof(why)),
		0);
}

/* Bytes behind an older, shorter struct are not read. */
static void an_older_struct_is_completed(void **state)
{
	static const size_t sizes[] = {
		offsetof(weft_config, group_size),
		offsetof(weft_config, local_capacity),
		offsetof(weft_config, quantum_ns),
		offsetof(weft_config, stack_bytes),
		offsetof(weft_config, policy),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		weft_config cfg = { .workers = 1 };
		weft_rt *rt = NULL;

		memset((char *)&cfg + sizes[i], 0xFF, sizeof(cfg) - sizes[i]);
		assert_int_equal(
			weft_config_check_sized(&cfg, sizes[i], NULL, 0), 0);
		assert_int_equal(weft_rt_start_sized(&rt, &cfg, sizes[i]), 0);
		rt_end(rt);
	}
}

static void no_struct_is_all_defaults(void **state)
{
	weft_config zero = { 0 };

	(void)state;
	assert_int_equal(weft_config_check(NULL, NULL, 0), 0);
	start_and_stop(NULL);
	start_and_stop(&zero);
	assert_int_equal(weft_run(NULL, run_nothing, NULL), 11);
}

/* ------------------------------------------------------------------------ */
/* Workers and groups. */

static unsigned processors(const weft_config *cfg)
{
	weft_rt *rt = rt_begin(cfg);
	weft_metrics m;
	unsigned n = 0;

	while (weft_metrics_proc(rt, n, &m, sizeof(m)) == 0)
		n++;
	rt_end(rt);
	return n;
}

static void groups_have_one_size(void **state)
{
	static const struct {
		uint32_t workers, group_size, processors;
	} cases[] = {
		{ 1, 0, 1 },
		{ 1, 1, 1 },
		{ 5, 0, 5 },
		{ 64, 0, 64 },
		{ 65, 0, 66 },
		{ 5, 2, 6 },
		{ 3, 1, 3 },
		{ 10, 4, 12 },
		{ 10, 64, 10 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		weft_config cfg = { .workers = cases[i].workers,
			.group_size = cases[i].group_size };

		assert_int_equal(processors(&cfg), cases[i].processors);
		start_and_stop(&cfg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_out_of_range_are_refused),
		cmocka_unit_test(fields_that_belong_together),
		cmocka_unit_test(values_in_range_are_taken),
		cmocka_unit_test(the_sentence_fits_its_place),
		cmocka_unit_test(a_newer_struct_is_read_if_its_end_is_zero),
		cmocka_unit_test(an_older_struct_is_completed),
		cmocka_unit_test(no_struct_is_all_defaults),
		cmocka_unit_test(groups_have_one_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
