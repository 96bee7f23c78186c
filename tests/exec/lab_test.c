/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/lab_test.c - the laboratory passes the suite of all executors with
 * each of its choices, and refuses configurations that it does not know.
 */
#include "api/executor_suite.h"

#include "base/units.h"
#include "exec/lab.h"
#include "exec/lab_kinds.h"
#include "support/os_faults.h"

/* ------------------------------------------------------------------------ */
/* The suite. */

static const struct wf_lab_config *config_of(const struct kind *kind);

static void lab_make(struct subject *s)
{
	struct wf_lab_config c = *config_of(s->kind);

	c.workers = s->kind->threads;
	s->maker = gettid();
	assert_null(wf_lab_error(&c));
	assert_int_equal(wf_lab_create(&s->e, &c), 0);
}

static const struct kind_ops lab_ops = { lab_make, pool_unmake, pool_runs_this,
	true };

/* The default, and each other value of each field but workers. */
enum { ALONE = 26, TOGETHER = 6, STRANDS = 2 };
enum { LAB_KINDS = ALONE + TOGETHER + STRANDS };

/* Together: what differs most from the default. */
static const struct wf_lab_config together[TOGETHER] = {
	/* A pool with one queue. */
	{ .queues = WF_LAB_GLOBAL, .local_capacity = 2, .bounded_capacity = 2,
		.wake = WF_LAB_WAKE_EVERY },
	/* flare. */
	{ .queues = WF_LAB_BOUNDED, .local_capacity = 2,
		.bounded_capacity = 64, .wake = WF_LAB_WAKE_FLARE,
		.spins = 10 },
	{ .queues = WF_LAB_BOUNDED, .local_capacity = 2, .bounded_capacity = 2,
		.wake = WF_LAB_WAKE_FLARE, .lifo = 1, .lifo_limit = 1 },
	/* The experiment. */
	{ .local = WF_LAB_LIST, .local_capacity = 2, .bounded_capacity = 2,
		.steal = WF_LAB_STEAL_ONE, .victims = WF_LAB_VICTIMS_ONE,
		.take = WF_LAB_TAKE_ALL, .global_every = 61,
		.wake = WF_LAB_WAKE_EVERY },
	{ .local = WF_LAB_RING, .local_capacity = 2, .bounded_capacity = 2,
		.victims = WF_LAB_VICTIMS_ONE, .take = WF_LAB_TAKE_ONE,
		.offload = WF_LAB_OFFLOAD_ONE, .global_every = 61,
		.wake = WF_LAB_WAKE_EVERY },
	/* flare's rule with local queues. */
	{ .local = WF_LAB_RING_LOCKED, .local_capacity = 4,
		.bounded_capacity = 2, .global_every = 3,
		.yield = WF_LAB_YIELD_LOCAL, .wake = WF_LAB_WAKE_FLARE,
		.spins = 3 },
};

static struct lab_kind {
	struct kind kind;	/* must be first */
	struct wf_lab_config config;
	char name[200];
} lab_kinds[LAB_KINDS];
static size_t lab_kind_count;

static const struct wf_lab_config *config_of(const struct kind *kind)
{
	return &((const struct lab_kind *)kind)->config;
}

static struct lab_kind *add_kind(const struct wf_lab_config *c)
{
	struct lab_kind *k = &lab_kinds[lab_kind_count];

	if (lab_kind_count == LAB_KINDS)
		abort();
	k->config = *c;
	(void)lab_words(c, k->name, sizeof(k->name));
	k->kind = (struct kind){ .name = k->name, .ops = &lab_ops };
	k->kind.threads = (unsigned[]){ 2, 4, 1 }[lab_kind_count++ % 3];
	return k;
}

static void add_kinds(void)
{
	(void)add_kind(&wf_lab_default);
	for (size_t f = 0; f < LAB_FIELDS; f++)
		for (size_t v = 1; v < lab_fields[f].count; v++) {
			struct wf_lab_config c = wf_lab_default;

			*lab_field_of(&c, f) = lab_fields[f].values[v];
			/* A fiber that yields would starve the local queue, if
			 * every pick looked at the global one first. */
			if (c.global_every == 1)
				c.yield = WF_LAB_YIELD_LOCAL;
			/* The suite has its own numbers of workers. */
			if (c.workers == 0)
				(void)add_kind(&c);
		}
	for (size_t i = 0; i < TOGETHER; i++)
		(void)add_kind(&together[i]);
	for (size_t i = 0; i < STRANDS; i++) {
		struct lab_kind *k = add_kind(&wf_lab_default);

		k->kind.ops = &strand_ops;
		k->kind.under = &lab_kinds[i].kind;
		k->kind.name = "a strand over a lab";
	}
}

/* ------------------------------------------------------------------------ */
/* Configurations. */

static void what_it_does_not_know_is_refused(void **state)
{
	weft_executor *e = weft_inline();

	(void)state;
	assert_int_equal(lab_kind_count, LAB_KINDS);
	for (size_t f = 0; f < LAB_FIELDS; f++) {
		struct wf_lab_config c = wf_lab_default;
		const char *name = lab_fields[f].name;

		*lab_field_of(&c, f) = UINT32_MAX;
		/* These three are any number. */
		if (strcmp(name, "global_every") == 0 ||
			strcmp(name, "lifo_limit") == 0 ||
			strcmp(name, "spins") == 0) {
			assert_null(wf_lab_error(&c));
			continue;
		}
		assert_non_null(wf_lab_error(&c));
		assert_memory_equal(
			wf_lab_error(&c), name, strlen(name));
		assert_int_equal(wf_lab_create(&e, &c), -EINVAL);
	}
	assert_ptr_equal(e, weft_inline());
}

static void capacities_are_powers_of_two(void **state)
{
	static const uint32_t wrong[] = { 0, 1, 3, 100, 65535, 1 << 21 };
	struct wf_lab_config c = wf_lab_default;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		c.local_capacity = wrong[i];
		assert_non_null(wf_lab_error(&c));
		c.local_capacity = 2;
		c.bounded_capacity = wrong[i];
		assert_non_null(wf_lab_error(&c));
		c.bounded_capacity = 1 << 20;
		assert_null(wf_lab_error(&c));
	}
	c.workers = 65;
	assert_non_null(wf_lab_error(&c));
	c.workers = 64;
	assert_null(wf_lab_error(&c));
}

static void nothing_is_left_when_a_thread_cannot_be_made(void **state)
{
	struct wf_lab_config c = wf_lab_default;
	weft_executor *e = weft_inline();

	(void)state;
	c.workers = 4;
	for (size_t nth = 1; nth <= 4; nth++) {
		os_faults_clear();
		os_faults_plan(OS_FAULTS_THREAD, nth, 1);
		assert_int_equal(wf_lab_create(&e, &c), -EAGAIN);
		assert_ptr_equal(e, weft_inline());
		assert_true(os_faults_all_returned());
	}
	os_faults_clear();
	os_faults_plan(OS_FAULTS_ALL & ~OS_FAULTS_THREAD, 1, 1);
	assert_int_equal(wf_lab_create(&e, &c), -ENOMEM);
	assert_true(os_faults_all_returned());
	os_faults_clear();
}

/* ------------------------------------------------------------------------ */
/* Counters, with one worker: nothing depends on chance. */

enum { COUNTED = 100 };

static struct {
	weft_executor *e;
	weft_task tasks[COUNTED];
	weft_hint hint;
	weft_group left;
} counted;

static void run_counted(weft_task *task)
{
	size_t i = (size_t)(task - counted.tasks);

	/* The first submits all others, at once or each the next. */
	for (size_t j = 1; counted.hint != WEFT_HINT_NEXT && i == 0 &&
		j < COUNTED; j++)
		expect_eq(weft_submit(
				  counted.e, &counted.tasks[j], counted.hint),
			0);
	if (counted.hint == WEFT_HINT_NEXT && i + 1 < COUNTED)
		expect_eq(weft_submit(counted.e, task + 1, counted.hint), 0);
	weft_group_done(&counted.left);
}

static void count_with(const struct wf_lab_config *c, weft_hint hint,
	uint64_t counts[WF_LAB_COUNTERS])
{
	assert_int_equal(wf_lab_create(&counted.e, c), 0);
	counted.hint = hint;
	weft_group_add(&counted.left, COUNTED);
	for (size_t i = 0; i < COUNTED; i++)
		counted.tasks[i].run = run_counted;
	assert_int_equal(weft_submit(counted.e, &counted.tasks[0],
				 WEFT_HINT_DEFAULT), 0);
	assert_int_equal(weft_group_wait(&counted.left, PATIENCE), 0);
	wf_lab_counts(counted.e, counts);
	assert_int_equal(weft_executor_destroy(counted.e), 0);
	assert_expected();
	assert_int_equal(counts[WF_LAB_RUNS_SLOT] + counts[WF_LAB_RUNS_LOCAL] +
			counts[WF_LAB_RUNS_GLOBAL] + counts[WF_LAB_RUNS_STOLEN],
		COUNTED);
	assert_true(counts[WF_LAB_LOOPS] >= COUNTED);
}

static void it_counts_where_tasks_come_from(void **state)
{
	struct wf_lab_config c = wf_lab_default;
	uint64_t n[WF_LAB_COUNTERS];

	(void)state;
	c.workers = 1;
	count_with(&c, WEFT_HINT_DEFAULT, n);
	assert_int_equal(n[WF_LAB_RUNS_GLOBAL], 1);
	assert_int_equal(n[WF_LAB_RUNS_LOCAL], COUNTED - 1);
	count_with(&c, WEFT_HINT_YIELD, n);
	/* One look takes all: the share of one worker. */
	assert_int_equal(n[WF_LAB_RUNS_GLOBAL], 2);
	/* 3 from the slot, then one that went through the queue, and so on. */
	count_with(&c, WEFT_HINT_NEXT, n);
	assert_int_equal(n[WF_LAB_RUNS_LOCAL], (COUNTED - 1) / 4);
	c.lifo_limit = 0;
	count_with(&c, WEFT_HINT_NEXT, n);
	assert_int_equal(n[WF_LAB_RUNS_SLOT], COUNTED - 1);
	c.lifo = 0;
	count_with(&c, WEFT_HINT_NEXT, n);
	assert_int_equal(n[WF_LAB_RUNS_LOCAL], COUNTED - 1);
}

static void it_counts_what_does_not_fit(void **state)
{
	struct wf_lab_config c = wf_lab_default;
	uint64_t n[WF_LAB_COUNTERS];

	(void)state;
	c.workers = 1;
	c.local_capacity = 2;
	c.offload = WF_LAB_OFFLOAD_ONE;
	count_with(&c, WEFT_HINT_DEFAULT, n);
	assert_int_equal(n[WF_LAB_OFFLOADED], COUNTED - 3);
	c.offload = WF_LAB_OFFLOAD_HALF;
	count_with(&c, WEFT_HINT_DEFAULT, n);
	assert_in_range(n[WF_LAB_OFFLOADED], COUNTED - 4, COUNTED - 1);
	c.local = WF_LAB_LIST;
	count_with(&c, WEFT_HINT_DEFAULT, n);
	assert_int_equal(n[WF_LAB_OFFLOADED], 0);
	c.queues = WF_LAB_BOUNDED;
	c.bounded_capacity = 16;
	count_with(&c, WEFT_HINT_DEFAULT, n);
	assert_int_equal(n[WF_LAB_OVERFLOWS], COUNTED - 1 - 16);
	assert_int_equal(n[WF_LAB_RUNS_GLOBAL], COUNTED);
}

int main(void)
{
	static const struct CMUnitTest own[] = {
		cmocka_unit_test(what_it_does_not_know_is_refused),
		cmocka_unit_test(capacities_are_powers_of_two),
		cmocka_unit_test(nothing_is_left_when_a_thread_cannot_be_made),
		cmocka_unit_test(it_counts_where_tasks_come_from),
		cmocka_unit_test(it_counts_what_does_not_fit),
	};
	enum { OWN = sizeof(own) / sizeof(own[0]) };
	struct CMUnitTest tests[OWN + LAB_KINDS] = { 0 };

	add_kinds();
	memcpy(tests, own, sizeof(own));
	for (size_t i = 0; i < LAB_KINDS; i++) {
		tests[OWN + i].name = lab_kinds[i].kind.name;
		tests[OWN + i].test_func = executor_suite;
		tests[OWN + i].initial_state = &lab_kinds[i].kind;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
