/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/config_fuzz_test.c - with any valid configuration every task
 * runs and every result is right; an invalid one is refused by its field.
 *
 * Each round draws a configuration, all fields and all policies, starts a
 * runtime by it and runs some parts of a mixed workload (stress/mix_parts.h) on
 * it at once, within a time limit.  A round that fails or hangs prints its
 * configuration as a C initialiser, the parts that have not ended, and the line
 * that runs it again:
 *
 *	WEFT_TEST_CONFIG=seed stress_config_fuzz_test
 *
 * which repeats this one round, 50 times or as often as WEFT_TEST_REPEAT says:
 * the configuration and the sizes are the same then, the schedule is not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>

#include "stress/config_draw.h"
#include "stress/mix_parts.h"

enum { CONFIGS = 500, WRONGS = 200, PARTS_MAX = 6, REPEATS = 50 };

/* How long a part goes on, and how many seconds a round may take at most. */
#define PART_NS (40 * WF_NS_PER_MS)
#define ROUND_S 40

static struct round {
	struct draw draw;
	weft_rt *rt;
	struct part part[PARTS_MAX];
	uint32_t parts;
	weft_event never; /* set; for fibers that are left at the end */
	_Atomic(uint32_t) told;
	char line[1400]; /* printed by the signal handler */
} round_now;

/* ------------------------------------------------------------------------ */
/* The time limit. */

static void say(const char *words)
{
	if (write(STDERR_FILENO, words, strlen(words)) < 0)
		_exit(1);
}

static void too_long(int sig)
{
	(void)sig;
	say("hung: ");
	say(round_now.line);
	say("parts that have not ended:");
	for (uint32_t i = 0; i < round_now.parts; i++) {
		if (wf_load_rlx(&round_now.part[i].ended))
			continue;
		say(" ");
		say(round_now.part[i].kind->name);
	}
	say("\n");
	signal(SIGABRT, SIG_DFL);
	abort();
}

static void limit_time(void)
{
	unsigned more = wf_on_valgrind() ? 8 : kit_slow() ? 3 : 1;

	signal(SIGALRM, too_long);
	alarm(ROUND_S * more);
}

static void prepare_line(struct round *r)
{
	char config[1200];

	draw_print(&r->draw, config, sizeof(config));
	(void)snprintf(r->line, sizeof(r->line),
		"WEFT_TEST_CONFIG=%" PRIu64 "\n  %s\n", r->draw.seed, config);
}

/* ------------------------------------------------------------------------ */
/* One round. */

/* Again and again for a while: rare cases need many tries. */
static void run_part(struct part *p)
{
	int64_t until = threads_now_ns() + PART_NS;

	do
		p->kind->run(p);
	while (!kit_failed() && threads_now_ns() < until);
	wf_store_rlx(&p->ended, true);
}

static void *part_fiber(void *arg)
{
	run_part(arg);
	return arg;
}

static void *part_thread(void *arg)
{
	run_part(arg);
	return NULL;
}

/* A fiber that starts the parts inside, and may run them as calls. */
static void *root(void *arg)
{
	struct round *r = arg;
	weft_fiber *f[PARTS_MAX];

	for (uint32_t i = 0; i < r->parts; i++) {
		struct part *p = &r->part[i];
		weft_fiber_attr attr = { 0 };

		if (p->kind->outside)
			continue;
		attr.hint = part_hint(p);
		kit_expect(weft_spawn(&f[i], &attr, part_fiber, p) == 0);
	}
	for (uint32_t i = r->parts; i-- > 0;) {
		void *result = NULL;

		if (r->part[i].kind->outside)
			continue;
		kit_expect(weft_join(f[i], &result, WEFT_FOREVER) == 0);
		kit_expect(result == &r->part[i]);
	}
	return arg;
}

static void draw_parts(struct round *r)
{
	static const int64_t grain_us[] = { 0, 0, 2, 20, 100, 100, 300 };
	struct draw *d = &r->draw;

	/* Few as a rule, so that processors have time to park. */
	r->parts = 1 + draw_below(d, 1 + draw_below(d, PARTS_MAX));
	for (uint32_t i = 0; i < r->parts; i++) {
		struct part *p = &r->part[i];

		*p = (struct part){ 0 };
		/* Only families fill queues with tickets that die. */
		p->kind = &part_kinds[i == 0 && draw_below(d, 2) == 0
				? 0
				: draw_below(d, PART_KINDS)];
		p->grain_ns = grain_us[draw_below(d, 7)] * WF_NS_PER_US;
		wf_random_seed(&p->random, wf_random_next(&d->random));
	}
}

static void play_parts(struct round *r)
{
	pthread_t thread[PARTS_MAX];
	weft_fiber *f = NULL;

	for (uint32_t i = 0; i < r->parts; i++)
		if (r->part[i].kind->outside)
			assert_int_equal(pthread_create(&thread[i], NULL,
						 part_thread, &r->part[i]),
				0);
	assert_int_equal(weft_rt_spawn(r->rt, &f, NULL, root, r), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	for (uint32_t i = 0; i < r->parts; i++)
		if (r->part[i].kind->outside)
			pthread_join(thread[i], NULL);
}

/* Afterwards every fiber that was spawned has ended. */
static void check_all_ended(struct round *r)
{
	weft_metrics m;

	kit_expect(weft_rt_wait_idle(r->rt, WEFT_FOREVER) == 0);
	kit_expect(weft_metrics_read(r->rt, &m, sizeof(m)) == 0);
	kit_expect(m.spawned == m.finished);
	kit_expect(m.wakes_futile <= m.wakes);
}

static void wait_to_be_cancelled(void *arg)
{
	struct round *r = arg;

	kit_expect(weft_event_wait(&r->never, WEFT_FOREVER) == -ECANCELED);
	(void)wf_add_rlx(&r->told, 1);
}

/* The stop cancels every fiber that still waits. */
static void stop_with_fibers(struct round *r)
{
	uint32_t n = draw_below(&r->draw, 10);

	wf_store_rlx(&r->told, 0);
	for (uint32_t i = 0; i < n; i++)
		kit_expect(weft_rt_go(r->rt, wait_to_be_cancelled, r) == 0);
	kit_expect(weft_rt_stop(r->rt, WEFT_FOREVER) == 0);
	kit_expect(wf_load_rlx(&r->told) == n);
}

/* weft_run instead of start and stop. */
static int run_main(void *arg)
{
	struct round *r = arg;

	r->rt = weft_rt_self();
	for (uint32_t i = 0; i < r->parts; i++)
		r->part[i].rt = r->rt;
	return root(r) == r ? 4711 : 0;
}

static bool all_inside(struct round *r)
{
	for (uint32_t i = 0; i < r->parts; i++)
		if (r->part[i].kind->outside)
			return false;
	return true;
}

static void check(struct round *r)
{
	if (!kit_failed())
		return;
	fprintf(stderr, "failed: %s", r->line);
	kit_settle();
}

static void play_between_start_and_stop(struct round *r)
{
	if (weft_rt_start(&r->rt, &r->draw.cfg) != 0)
		fail_msg("a valid configuration does not start: %s", r->line);
	for (uint32_t i = 0; i < r->parts; i++)
		r->part[i].rt = r->rt;
	play_parts(r);
	check_all_ended(r);
	stop_with_fibers(r);
}

static void play(uint64_t seed)
{
	struct round *r = &round_now;

	r->parts = 0;
	draw_make(&r->draw, seed, true);
	prepare_line(r);
	limit_time();
	draw_parts(r);
	if (all_inside(r) && draw_below(&r->draw, 4) == 0)
		kit_expect(weft_run(&r->draw.cfg, run_main, r) == 4711);
	else
		play_between_start_and_stop(r);
	check(r);
}

/* ------------------------------------------------------------------------ */
/* The tests. */

static void every_configuration_runs_everything(void **state)
{
	const char *only = getenv("WEFT_TEST_CONFIG");
	const char *repeat = getenv("WEFT_TEST_REPEAT");
	size_t n = kit_rounds(CONFIGS);
	int64_t began = threads_now_ns();
	struct wf_random r;

	(void)state;
	if (only != NULL)
		n = repeat ? strtoul(repeat, NULL, 10) : REPEATS;
	wf_random_seed(&r, threads_seed());
	for (size_t i = 0; i < n; i++)
		play(only ? strtoull(only, NULL, 10) : wf_random_next(&r));
	alarm(0);
	printf("%zu configurations in %.1f s\n", n,
		(double)(threads_now_ns() - began) / 1e9);
}

static void refuse(struct draw *d, bool start)
{
	char why[300] = "", line[1200];
	weft_rt *rt = (weft_rt *)line;

	draw_print(d, line, sizeof(line));
	if (weft_config_check(&d->cfg, why, sizeof(why)) != -EINVAL)
		fail_msg("%s is not refused", line);
	if (strstr(why, d->wrong) == NULL)
		fail_msg("%s is refused because: %s", line, why);
	if (start) {
		assert_int_equal(weft_rt_start(&rt, &d->cfg), -EINVAL);
		assert_ptr_equal(rt, line);
	}
}

static void an_invalid_configuration_is_refused(void **state)
{
	struct wf_random r;

	(void)state;
	wf_random_seed(&r, threads_seed());
	for (size_t i = 0; i < threads_rounds(WRONGS); i++) {
		struct draw d;
		char why[300];

		draw_make(&d, wf_random_next(&r), false);
		/* weft_rt_start prints the reason, so it is called rarely. */
		refuse(&d, i % 40 == 0);
		/* Without the mistake the configuration is valid. */
		draw_make(&d, d.seed, true);
		assert_int_equal(
			weft_config_check(&d.cfg, why, sizeof(why)), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_invalid_configuration_is_refused),
		cmocka_unit_test(every_configuration_runs_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
