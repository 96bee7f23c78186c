/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_strand_test.c - a strand runs one task at a time, in the
 * order of the submits, loses none and lets others run.
 */
#include "api/executor_kit.h"

#include <weft/weft.h>

/* ------------------------------------------------------------------------ */
/* Order and exclusion, with many submitters. */

enum { SUBMITTERS = 4, EACH = 1000 };

struct numbered {
	weft_task task;
	unsigned from, nth;
};

static struct {
	struct subject *subject;
	struct numbered tasks[SUBMITTERS][EACH];
	size_t each;
	/* Plain: only one task runs at a time. */
	unsigned next[SUBMITTERS];
	int inside;
	size_t ran;
	weft_group left;
} line;

static void run_in_order(weft_task *task)
{
	struct numbered *self = (struct numbered *)task;

	expect_eq(line.inside++, 0);
	expect(runs_this(line.subject));
	expect_eq(self->nth, line.next[self->from]++);
	line.ran++;
	line.inside--;
	weft_group_done(&line.left);
}

static void submit_in_order(void *arg, unsigned self)
{
	(void)arg;
	for (unsigned i = 0; i < line.each; i++) {
		struct numbered *t = &line.tasks[self][i];

		*t = (struct numbered){ { .run = run_in_order }, self, i };
		expect_eq(weft_submit(line.subject->e, &t->task,
				  hints[(i + self) % HINTS]),
			0);
	}
}

static void order_over(const struct kind *kind)
{
	size_t n;

	printf("%s\n", kind->name);
	line.subject = subject_make(kind);
	line.each = rounds(EACH);
	line.ran = 0;
	memset(line.next, 0, sizeof(line.next));
	n = SUBMITTERS * line.each;
	weft_group_add(&line.left, (int64_t)n);
	threads_run(SUBMITTERS, submit_in_order, NULL);
	assert_int_equal(weft_group_wait(&line.left, PATIENCE), 0);
	assert_expected();
	subject_unmake(line.subject);
	assert_int_equal(line.ran, n);
}

static void tasks_run_alone_in_the_order_of_submits(void **state)
{
	(void)state;
	for (size_t i = KINDS_BELOW; i < KINDS; i++)
		order_over(&kinds[i]);
}

/* ------------------------------------------------------------------------ */
/* A fiber is alone from one wait to the next. */

static struct {
	int inside;
	size_t steps;
	weft_executor *e;
} alone;

static void *step_alone(void *arg)
{
	for (size_t i = 0; i < rounds(200); i++) {
		size_t before = alone.steps;

		expect_eq(alone.inside++, 0);
		sched_yield();
		expect_eq(alone.steps, before);
		alone.steps = before + 1;
		alone.inside--;
		weft_yield();
	}
	return arg;
}

static void fibers_are_alone_on(const struct kind *kind)
{
	struct subject *s = subject_make(kind);
	weft_fiber_attr attr = { .executor = s->e };
	weft_fiber *f[10];

	memset(&alone, 0, sizeof(alone));
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(weft_spawn(&f[i], &attr, step_alone, s), 0);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	assert_expected();
	assert_int_equal(alone.steps, 10 * rounds(200));
	subject_unmake(s);
}

static void a_fiber_is_alone_between_waits(void **state)
{
	(void)state;
	fibers_are_alone_on(&kinds[KINDS_BELOW + RT_4]);
	fibers_are_alone_on(&kinds[KINDS_BELOW + POOL_4]);
	fibers_are_alone_on(&kinds[KINDS_BELOW + MANUAL_BY_TWO]);
	fibers_are_alone_on(&kinds[STRAND_STRAND_RT]);
}

/* ------------------------------------------------------------------------ */
/* Strand over strand over manual: a task runs only in weft_manual_run. */

static struct {
	char text[32];
	size_t length;
} trace;

struct letter {
	weft_task task;
	char c;
	weft_executor *to; /* run_letter submits more there */
	struct letter *more;
	size_t count;
};

static void run_letter(weft_task *task)
{
	struct letter *l = (struct letter *)task;

	if (trace.length < sizeof(trace.text) - 1)
		trace.text[trace.length++] = l->c;
	for (size_t i = 0; i < l->count; i++)
		expect_eq(
			weft_submit(l->to, &l->more[i].task, WEFT_HINT_DEFAULT),
			0);
}

static void letters(struct letter *l, const char *text)
{
	for (size_t i = 0; text[i]; i++)
		l[i] = (struct letter){ .task.run = run_letter, .c = text[i] };
}

static void submit_letters(weft_executor *e, struct letter *l, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(
			weft_submit(e, &l[i].task, WEFT_HINT_DEFAULT), 0);
}

static void strands_nest(void **state)
{
	static struct letter l[8];
	weft_executor *manual, *low, *high;

	(void)state;
	memset(&trace, 0, sizeof(trace));
	letters(l, "abcdefgh");
	assert_int_equal(weft_manual_create(&manual), 0);
	assert_int_equal(weft_strand_create(&low, manual), 0);
	assert_int_equal(weft_strand_create(&high, low), 0);
	/* a runs c and d later, on the same strand, behind b. */
	l[0].to = high;
	l[0].more = &l[2];
	l[0].count = 2;
	submit_letters(high, l, 2);
	assert_int_equal(trace.length, 0);
	assert_int_equal(weft_manual_run(manual, 0), 0);
	assert_int_equal(trace.length, 0);
	assert_true(weft_manual_run(manual, SIZE_MAX) > 0);
	assert_string_equal(trace.text, "abcd");
	/* The lower strand runs its own task, too. */
	submit_letters(low, &l[4], 2);
	submit_letters(high, &l[6], 1);
	submit_letters(low, &l[7], 1);
	while (weft_manual_run(manual, 1) > 0)
		continue;
	assert_expected();
	assert_int_equal(trace.length, 8);
	/* In order on each strand; the upper strand is one of low's tasks. */
	assert_true(strchr(trace.text, 'e') < strchr(trace.text, 'f'));
	assert_true(strchr(trace.text, 'f') < strchr(trace.text, 'h'));
	assert_non_null(strchr(trace.text, 'g'));
	assert_int_equal(weft_executor_destroy(high), 0);
	assert_int_equal(weft_executor_destroy(low), 0);
	assert_int_equal(weft_executor_destroy(manual), 0);
}

/* ------------------------------------------------------------------------ */
/* Endless tasks on a strand keep no other task from running. */

enum { ENDLESS = 3, MEETINGS = 50, FAIR_MAX = 5000 };

static struct {
	weft_executor *strand, *other;
	weft_task endless[ENDLESS], on_other;
	_Atomic(bool) stop;
	_Atomic(size_t) runs, other_runs;
	size_t worst;
	weft_group left;
} fair;

static void run_endlessly(weft_task *task)
{
	atomic_fetch_add(&fair.runs, 1);
	if (atomic_load(&fair.stop))
		weft_group_done(&fair.left);
	else
		expect_eq(weft_submit(fair.strand, task, WEFT_HINT_DEFAULT), 0);
}

static void run_on_other(weft_task *task)
{
	atomic_fetch_add(&fair.other_runs, 1);
	if (atomic_load(&fair.stop))
		weft_group_done(&fair.left);
	else
		expect_eq(weft_submit(fair.other, task, WEFT_HINT_DEFAULT), 0);
}

/* A fiber of the runtime: how many tasks of the strand run before it does? */
static void *meet_the_endless(void *arg)
{
	for (size_t i = 0; i < MEETINGS; i++) {
		size_t before = atomic_load(&fair.runs), waited;

		weft_yield();
		waited = atomic_load(&fair.runs) - before;
		fair.worst = waited > fair.worst ? waited : fair.worst;
	}
	return arg;
}

static void start_endless(void)
{
	weft_group_add(&fair.left, ENDLESS + 1);
	for (size_t i = 0; i < ENDLESS; i++) {
		fair.endless[i].run = run_endlessly;
		assert_int_equal(weft_submit(fair.strand, &fair.endless[i],
					 WEFT_HINT_DEFAULT),
			0);
	}
	fair.on_other.run = run_on_other;
	assert_int_equal(
		weft_submit(fair.other, &fair.on_other, WEFT_HINT_DEFAULT), 0);
}

static void a_busy_strand_lets_others_run(void **state)
{
	weft_rt *rt = rt_workers(1);
	weft_fiber *f;

	(void)state;
	memset(&fair, 0, sizeof(fair));
	assert_int_equal(
		weft_strand_create(&fair.strand, weft_rt_executor(rt)), 0);
	assert_int_equal(
		weft_strand_create(&fair.other, weft_rt_executor(rt)), 0);
	start_endless();
	/* Both strands go on, a fiber from outside begins and meets them. */
	assert_true(await(atomic_load(&fair.runs) > 1000));
	assert_true(await(atomic_load(&fair.other_runs) > 100));
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, meet_the_endless, rt), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	printf("at most %zu tasks of a strand before another's turn\n",
		fair.worst);
	assert_true(fair.worst <= FAIR_MAX);
	assert_true(fair.worst > 0);
	atomic_store(&fair.stop, true);
	assert_int_equal(weft_group_wait(&fair.left, PATIENCE), 0);
	assert_expected();
	assert_int_equal(weft_executor_destroy(fair.strand), 0);
	assert_int_equal(weft_executor_destroy(fair.other), 0);
	rt_end(rt);
}

/* ------------------------------------------------------------------------ */
/* Over a runtime that stops: refused or run. */

enum { LATE = 2000, LATE_THREADS = 3 };

struct late {
	weft_task task;
	unsigned ran;
	int result;
};

static struct {
	weft_executor *strand;
	struct late tasks[LATE_THREADS][LATE];
	int inside;
	_Atomic(size_t) submitted;
	weft_rt *rt;
} stopping;

static void run_late(weft_task *task)
{
	expect_eq(stopping.inside++, 0);
	((struct late *)task)->ran++;
	stopping.inside--;
}

static void submit_late(void *arg, unsigned self)
{
	(void)arg;
	if (self == LATE_THREADS) {
		while (atomic_load(&stopping.submitted) < 100)
			sched_yield();
		weft_rt_shutdown(stopping.rt);
		return;
	}
	for (size_t i = 0; i < LATE; i++) {
		struct late *l = &stopping.tasks[self][i];

		l->task.run = run_late;
		l->result = weft_submit(
			stopping.strand, &l->task, hints[i % HINTS]);
		atomic_fetch_add(&stopping.submitted, 1);
	}
}

/* How many were accepted. */
static size_t count_late(void)
{
	size_t accepted = 0;

	for (size_t i = 0; i < LATE_THREADS; i++) {
		for (size_t j = 0; j < LATE; j++) {
			struct late *l = &stopping.tasks[i][j];

			assert_true(l->result == 0 || l->result == -ESHUTDOWN);
			assert_int_equal(l->ran, l->result == 0);
			accepted += l->result == 0;
		}
	}
	return accepted;
}

static void a_stopping_runtime_loses_nothing(void **state)
{
	size_t accepted = 0, n = rounds(60);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		memset(&stopping, 0, sizeof(stopping));
		stopping.rt = rt_workers(1 + i % 3);
		assert_int_equal(weft_strand_create(&stopping.strand,
					 weft_rt_executor(stopping.rt)),
			0);
		threads_run(LATE_THREADS + 1, submit_late, NULL);
		assert_int_equal(weft_executor_destroy(stopping.strand), 0);
		rt_end(stopping.rt);
		assert_expected();
		accepted += count_late();
	}
	printf("%zu of %zu were accepted\n", accepted, n * LATE * LATE_THREADS);
}

/* ------------------------------------------------------------------------ */
/* Over an executor that refuses tasks. */

enum { FICKLE_TASKS = 200 };

/* The test runs the accepted task by hand; accepts: how many it takes. */
static struct {
	weft_executor e;
	unsigned accepts;
	weft_task *taken;
	weft_executor *strand;
	weft_task *meanwhile; /* submitted before the refusal */
	unsigned ran[FICKLE_TASKS];
	weft_task tasks[FICKLE_TASKS];
} fickle;

static int fickle_submit(weft_executor *e, weft_task *t, weft_hint hint)
{
	weft_task *meanwhile = fickle.meanwhile;

	(void)e;
	(void)hint;
	if (fickle.accepts > 0) {
		fickle.accepts--;
		fickle.taken = t;
		return 0;
	}
	fickle.meanwhile = NULL;
	if (meanwhile)
		expect_eq(weft_submit(
				  fickle.strand, meanwhile, WEFT_HINT_DEFAULT),
			0);
	return -EAGAIN;
}

static void run_fickle(weft_task *task)
{
	fickle.ran[task - fickle.tasks]++;
}

static void fickle_begin(unsigned accepts)
{
	memset(&fickle, 0, sizeof(fickle));
	fickle.e.submit = fickle_submit;
	fickle.accepts = accepts;
	for (size_t i = 0; i < FICKLE_TASKS; i++)
		fickle.tasks[i].run = run_fickle;
	assert_int_equal(weft_strand_create(&fickle.strand, &fickle.e), 0);
}

/* A task that the strand accepts during the refusal of its first runs. */
static void a_refused_submitter_runs_the_accepted_tasks(void **state)
{
	(void)state;
	fickle_begin(0);
	fickle.meanwhile = &fickle.tasks[1];
	assert_int_equal(
		weft_submit(fickle.strand, &fickle.tasks[0], WEFT_HINT_DEFAULT),
		-EAGAIN);
	assert_expected();
	assert_int_equal(fickle.ran[0], 0);
	assert_int_equal(fickle.ran[1], 1);
	/* Afterwards the strand takes tasks as before. */
	fickle.accepts = 1;
	assert_int_equal(
		weft_submit(fickle.strand, &fickle.tasks[0], WEFT_HINT_DEFAULT),
		0);
	weft_task_run(&fickle.e, fickle.taken);
	assert_int_equal(fickle.ran[0], 1);
	assert_int_equal(fickle.ran[1], 1);
	assert_int_equal(weft_executor_destroy(fickle.strand), 0);
}

/* The strand's own submit is refused in the middle: it goes on at once. */
static void a_refusal_in_the_middle_loses_nothing(void **state)
{
	(void)state;
	fickle_begin(1);
	for (size_t i = 0; i < FICKLE_TASKS; i++)
		assert_int_equal(weft_submit(fickle.strand, &fickle.tasks[i],
					 WEFT_HINT_DEFAULT),
			0);
	weft_task_run(&fickle.e, fickle.taken);
	for (size_t i = 0; i < FICKLE_TASKS; i++)
		assert_int_equal(fickle.ran[i], 1);
	assert_int_equal(weft_executor_destroy(fickle.strand), 0);
}

/* ------------------------------------------------------------------------ */
/* Destroyed by a fiber of the runtime that is under it. */

static unsigned main_ran;

static void run_for_main(weft_task *task)
{
	(void)task;
	main_ran++;
}

static void *yield_for_main(void *arg)
{
	for (size_t i = 0; i < 20; i++)
		weft_yield();
	main_ran++;
	return arg;
}

static int destroy_in_main(void *arg)
{
	static weft_task tasks[100];
	weft_executor *strand;
	weft_fiber_attr attr = { 0 };
	weft_fiber *f = NULL;

	(void)arg;
	if (!expect_eq(weft_strand_create(
			       &strand, weft_rt_executor(weft_rt_self())),
		    0))
		return 1;
	main_ran = 0;
	for (size_t i = 0; i < 100; i++) {
		tasks[i].run = run_for_main;
		expect_eq(weft_submit(strand, &tasks[i], WEFT_HINT_DEFAULT), 0);
	}
	attr.executor = strand;
	expect_eq(weft_spawn(&f, &attr, yield_for_main, &attr), 0);
	expect_eq(main_ran, 0);
	expect_eq(weft_executor_destroy(strand), 0);
	expect_eq(main_ran, 101);
	/* A fiber's handle outlives the executor it ran on. */
	expect(join(f) == &attr);
	return 0;
}

static void a_fiber_of_one_worker_destroys_it(void **state)
{
	weft_config one = { .workers = 1 };

	(void)state;
	assert_int_equal(weft_run(&one, destroy_in_main, NULL), 0);
	assert_expected();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_run_alone_in_the_order_of_submits),
		cmocka_unit_test(a_fiber_is_alone_between_waits),
		cmocka_unit_test(strands_nest),
		cmocka_unit_test(a_busy_strand_lets_others_run),
		cmocka_unit_test(a_stopping_runtime_loses_nothing),
		cmocka_unit_test(a_refused_submitter_runs_the_accepted_tasks),
		cmocka_unit_test(a_refusal_in_the_middle_loses_nothing),
		cmocka_unit_test(a_fiber_of_one_worker_destroys_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
