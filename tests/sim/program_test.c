/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/program_test.c - every run begins with the program's variables as
 * they were, every thread with thread-local ones of its own; and what would end
 * the program ends the run only.
 */
#include "sim/sim_kit.h"

#include <signal.h>
#include <sys/time.h>

#include <weft/weft.h>

#include "sim/program.h"
#include "sim/token.h"

static uint64_t *kept;
static _Atomic(uint32_t) x;

static void *hide(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* ------------------------------------------------------------- variables */

int visible = 3;
static int initialised = 7;
static int zero;
static char large[100000] = { 1 };
static char large_zero[100000];

static int *local_static(void)
{
	static int v = 11;

	return &v;
}

static bool as_before(void)
{
	return visible == 4 && initialised == 7 && zero == 0 &&
		large[99999] == 0 && large[0] == 1 && large_zero[50000] == 0 &&
		*local_static() == 11;
}

static void change_all(void *arg)
{
	(void)arg;
	kit_count(&kept[0]);
	weft_sim_assert(as_before(), "not as before");
	visible = initialised = zero = *local_static() = 99;
	large[99999] = large[0] = large_zero[50000] = 99;
	weft_sim_assert(
		weft_sim_either(4) < 3 || kit_get(&kept[1]) == 0, "the fourth");
}

static void variables_are_put_back(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	/* As they are when it begins, not as the file has them. */
	visible = 4;
	kit_holds(change_all, 0);
	assert_true(kept[0] >= 4);
	assert_true(as_before());
	/* After a failure, too. */
	kept[1] = 1;
	kit_fails(&o, change_all, NULL, "assertion", &r);
	assert_string_equal(r.message, "the fourth");
	assert_true(as_before());
}

/* ---------------------------------------------------------- thread-local */

static _Thread_local int tls_initialised = 5;
static _Thread_local int tls_zero;
static _Thread_local char tls_large[3000];
static _Thread_local _Atomic(uint32_t) tls_atomic = 8;

static void use_own(void *arg)
{
	int id = (int)(uintptr_t)arg;

	weft_sim_assert(tls_initialised == 5 && tls_zero == 0 &&
			tls_large[2999] == 0 && atomic_load(&tls_atomic) == 8,
		"thread %d begins with %d, %d, %d", id, tls_initialised,
		tls_zero, tls_large[2999]);
	tls_initialised = tls_zero = id;
	tls_large[2999] = (char)id;
	atomic_store(&tls_atomic, (uint32_t)id);
	for (int i = 0; i < 3; i++) {
		kit_use(atomic_fetch_add(&x, 1));
		weft_sim_assert(tls_initialised == id && tls_zero == id &&
				tls_large[2999] == (char)id &&
				atomic_load(&tls_atomic) == (uint32_t)id,
			"thread %d has %d", id, tls_initialised);
	}
}

static void three_with_their_own(void *arg)
{
	int a = kit_thread(use_own, (void *)1, "a");
	int b = kit_thread(use_own, (void *)2, "b");

	(void)arg;
	use_own((void *)3);
	kit_join(a);
	kit_join(b);
	weft_sim_assert(tls_zero == 3, "main has %d", tls_zero);
}

/* A number that is used again is another thread. */
static void one_after_the_other(void *arg)
{
	(void)arg;
	for (uintptr_t i = 1; i < 40; i++)
		kit_join(kit_thread(use_own, (void *)i, "t"));
}

static void threads_have_their_own(void **state)
{
	weft_sim_opts o = kit_opts(0, 0);
	weft_sim_report r;

	(void)state;
	tls_initialised = 77;
	tls_zero = 78;
	tls_large[2999] = 79;
	atomic_store(&tls_atomic, 80);
	o.schedules = 3000;
	kit_passes(&o, three_with_their_own, NULL, &r);
	o.schedules = 5;
	kit_passes(&o, one_after_the_other, NULL, &r);
	assert_int_equal(tls_initialised, 77);
	assert_int_equal(tls_zero, 78);
	assert_int_equal(tls_large[2999], 79);
	assert_int_equal(atomic_load(&tls_atomic), 80);
}

static void count_atomically(void *arg)
{
	uint32_t seen;

	(void)arg;
	for (int i = 0; i < 10; i++)
		kit_use(atomic_fetch_add(&tls_atomic, 1));
	seen = atomic_load(&tls_atomic);
	weft_sim_assert(seen == 18, "counted to %u", seen);
	weft_sim_assert(atomic_compare_exchange_strong(&tls_atomic, &seen, 1) &&
			atomic_exchange(&tls_atomic, 2) == 1,
		"not swapped");
}

static void two_count(void *arg)
{
	(void)arg;
	kit_pair(count_atomically, count_atomically);
}

static void thread_local_atomics_work(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 500;
	kit_passes(&o, two_count, NULL, &r);
}

/* --------------------------------------------------------------- crashes */

enum crash {
	READ_NULL,
	WRITE_NULL,
	LOAD_NULL,
	ADD_NULL,
	FIELD,
	DIVIDE,
	TRAP,
	CRASHES
};

struct fields {
	long a, b, c;
};

static void crash(enum crash how)
{
	int *p = hide(NULL);
	struct fields *f = hide(NULL);
	volatile int none = 0;

	switch (how) {
	case READ_NULL:
		kit_use((uint64_t)*p);
		break;
	case WRITE_NULL:
		*p = 1;
		break;
	case LOAD_NULL:
		kit_use((uint64_t)atomic_load((_Atomic(int) *)p));
		break;
	case ADD_NULL:
		kit_use((uint64_t)atomic_fetch_add((_Atomic(int) *)p, 1));
		break;
	case FIELD:
		f->c = 1;
		break;
	case DIVIDE:
		kit_use((uint64_t)(7 / none));
		break;
	default:
		__builtin_trap();
	}
}

static void crash_now(void *arg)
{
	weft_sim_assert(kit_newest(&x) == 0, "not from the beginning");
	kit_use(atomic_fetch_add(&x, 1));
	crash(*(enum crash *)arg);
}

static void crash_in_thread(void *arg)
{
	kit_join(kit_thread(crash_now, arg, "crashes"));
}

static int crash_in_fiber(void *arg)
{
	crash_now(arg);
	return 0;
}

static void crash_in_runtime(void *arg)
{
	weft_config c = { .workers = 2 };

	kit_use((uint64_t)weft_run(&c, crash_in_fiber, arg));
}

static void crashes_fail_the_run(void **state)
{
	void (*bodies[])(
		void *) = { crash_now, crash_in_thread, crash_in_runtime };
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r, again;

	(void)state;
	for (int i = 0; i < 3; i++)
		for (enum crash how = 0; how < CRASHES; how++) {
			char says[16];

			kit_fails(&o, bodies[i], &how, "crash", &r);
			snprintf(says, sizeof(says), "signal %d ",
				how == DIVIDE	      ? SIGFPE
					: how == TRAP ? SIGILL
						      : SIGSEGV);
			kit_says(r.message, says);
			kit_says(r.message,
				i == 0		 ? "0 (main)"
					: i == 1 ? "1 (crashes)"
						 : "(");
			assert_int_equal(weft_sim_replay(&o, bodies[i], &how,
						 r.token, &again),
				1);
			assert_string_equal(again.message, r.message);
			/* And the next exploration is as good as any. */
			kit_holds(three_with_their_own, WEFT_SIM_STRONG);
		}
}

static void the_address_is_told(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	enum crash how = FIELD;
	weft_sim_report r;

	(void)state;
	kit_fails(&o, crash_now, &how, "crash", &r);
	kit_says(r.message, "address 0x10");
}

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	caught = sig;
}

/* The program's own handlers are only away for a while. */
static void handlers_are_put_back(void **state)
{
	struct sigaction mine = { .sa_handler = on_signal }, old, now;
	stack_t stack = { .ss_size = 1 << 16 }, before, after;
	enum crash how = READ_NULL;
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;
	struct itimerval timer;

	(void)state;
	stack.ss_sp = kit_keep(stack.ss_size);
	assert_int_equal(sigaltstack(&stack, &before), 0);
	assert_int_equal(sigaction(SIGSEGV, &mine, &old), 0);
	kit_fails(&o, crash_now, &how, "crash", &r);
	assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
	assert_ptr_equal(now.sa_handler, on_signal);
	assert_int_equal(raise(SIGSEGV), 0);
	assert_int_equal(caught, SIGSEGV);
	assert_int_equal(sigaltstack(&before, &after), 0);
	assert_ptr_equal(after.ss_sp, stack.ss_sp);
	assert_int_equal(getitimer(ITIMER_VIRTUAL, &timer), 0);
	assert_true(timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0);
	assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
}

/* What crashes outside of a run is not the simulator's. */
static void crash_outside(void)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);

	(void)signal(SIGSEGV, SIG_DFL); /* cmocka has one of its own */
	o.schedules = 1;
	if (weft_sim_explore(&o, use_own, NULL, NULL) >= 0)
		crash(WRITE_NULL);
}

static void outside_the_program_ends(void **state)
{
	struct kit_stderr *s = malloc(sizeof(*s));
	int status = kit_process(crash_outside, s);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	free(s);
}

/* ----------------------------------------------------------- endless loop */

/* Ten seconds are long; the timer is only asked to ring more often. */
static void loop_for_ever(void *arg)
{
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } };

	(void)arg;
	kit_use(atomic_fetch_add(&x, 1));
	(void)setitimer(ITIMER_VIRTUAL, &often, NULL);
	for (;;)
		kit_use(1);
}

/* Long, but not without points. */
static void loop_for_long(void *arg)
{
	struct itimerval often = { { 0, 20000 }, { 0, 20000 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };

	(void)arg;
	(void)setitimer(ITIMER_VIRTUAL, &often, NULL);
	for (int i = 0; i < 200; i++) {
		kit_use(atomic_fetch_add(&x, 1));
		for (int k = 0; k < 300000; k++)
			kit_use((uint64_t)k);
	}
	(void)setitimer(ITIMER_VIRTUAL, &never, NULL);
}

static void a_loop_without_a_point_is_found(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, WEFT_SIM_NO_SHRINK);
	weft_sim_report r;

	(void)state;
	kit_fails(&o, loop_for_ever, NULL, "endless loop", &r);
	kit_says(r.message, "thread 0 (main)");
	o.schedules = 1;
	kit_passes(&o, loop_for_long, NULL, &r);
}

/* The timer may ring in two runs at the same step. */
static void ring(void *arg)
{
	(void)arg;
	kit_use(atomic_fetch_add(&x, 1));
	(void)raise(SIGVTALRM);
	kit_use(atomic_fetch_add(&x, 1));
}

static void the_same_step_of_another_run_is_no_loop(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 10;
	kit_passes(&o, ring, NULL, &r);
}

/* -------------------------------------------------------- what is where */

static void code_is_told_from_data(void **state)
{
	(void)state;
	assert_true(wf_sim_program_text((uintptr_t)code_is_told_from_data));
	assert_true(wf_sim_program_text((uintptr_t)weft_sim_replay));
	assert_false(wf_sim_program_text((uintptr_t)&visible));
	assert_false(wf_sim_program_text((uintptr_t)stdout));
	assert_false(wf_sim_program_text(0));
	assert_int_equal(
		wf_sim_program_offset((uintptr_t)code_is_told_from_data) -
			wf_sim_program_offset((uintptr_t)crash_now),
		(uintptr_t)code_is_told_from_data - (uintptr_t)crash_now);
	assert_true(wf_sim_program_offset((uintptr_t)&visible) < (uintptr_t)1
			<< 32);
}

/* The build of a token is this program's. */
static void the_build_is_in_the_token(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	enum crash how = TRAP;
	weft_sim_report r;

	(void)state;
	kit_fails(&o, crash_now, &how, "crash", &r);
	assert_non_null(strrchr(r.token, ':'));
	assert_int_equal(strtoull(strrchr(r.token, ':') + 1, NULL, 16),
		wf_sim_program_build());
	assert_true(wf_sim_program_build() != 0);
}

static void another_build_is_warned_of(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	struct kit_stderr *s = malloc(sizeof(*s));
	char token[64];
	int err;

	(void)state;
	o.flags = 0;
	snprintf(
		token, sizeof(token), "a:list:0::%08x", wf_sim_program_build());
	kit_stderr_begin(s);
	err = weft_sim_replay(&o, three_with_their_own, NULL, token, NULL);
	kit_stderr_end(s);
	assert_int_equal(err, 0);
	assert_string_equal(s->text, "");
	snprintf(token, sizeof(token), "a:list:0::%08x",
		wf_sim_program_build() ^ 1);
	kit_stderr_begin(s);
	err = weft_sim_replay(&o, three_with_their_own, NULL, token, NULL);
	kit_stderr_end(s);
	assert_int_equal(err, 0);
	kit_says(s->text, "of another build");
	free(s);
}

static int setup(void **state)
{
	kept = kit_keep(4096);
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_are_put_back),
		cmocka_unit_test(threads_have_their_own),
		cmocka_unit_test(thread_local_atomics_work),
		cmocka_unit_test(crashes_fail_the_run),
		cmocka_unit_test(the_address_is_told),
		cmocka_unit_test(handlers_are_put_back),
		cmocka_unit_test(outside_the_program_ends),
		cmocka_unit_test(a_loop_without_a_point_is_found),
		cmocka_unit_test(the_same_step_of_another_run_is_no_loop),
		cmocka_unit_test(code_is_told_from_data),
		cmocka_unit_test(the_build_is_in_the_token),
		cmocka_unit_test(another_build_is_warned_of),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
