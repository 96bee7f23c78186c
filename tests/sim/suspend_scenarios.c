/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/suspend_scenarios.c - weft_suspend and weft_wake: a fiber that is
 * published may be woken at any moment, on another worker, and be gone.
 *
 * The awaiter lies in memory that the fiber frees the instant it goes on.  The
 * fiber reads its stack before and after: a thread that ran it meanwhile is
 * ordered in between, or there is a race.
 */
#include "sim/fiber_kit.h"

#include "os/os.h"

struct post {
	struct weft_awaiter awaiter;
	_Atomic(weft_fiber *) *box; /* where the fiber is published */
};

static struct {
	_Atomic(weft_fiber *) box[2];
	weft_hint hint;
	int work;   /* what the waker did before */
	int rounds; /* of the sleeper */
	int wakes;  /* by wakers with the right to */
	int sleeps; /* that were real */
	_Atomic(uint32_t) over;
} *s;

static void open_all(void)
{
	s = duo_alloc(sizeof(*s));
	duo_open(0);
}

static void close_all(void)
{
	duo_close();
	wf_os_free(s);
}

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	struct post *post = wf_container_of(a, struct post, awaiter);

	/* [pair: box] Nothing of the post or the fiber is touched again. */
	wf_store_rel(post->box, f);
	return true;
}

/* Waits for a fiber in the box, and returns it. */
static weft_fiber *collect(_Atomic(weft_fiber *) *box)
{
	weft_fiber *f;

	/* [pair: box] */
	while ((f = wf_load_acq(box)) == NULL)
		duo_pause();
	wf_store_rlx(box, NULL);
	return f;
}

static struct post *post_make(
	bool (*commit)(struct weft_awaiter *, weft_fiber *), unsigned box)
{
	struct post *post = duo_alloc(sizeof(*post));

	post->awaiter.commit = commit;
	post->box = &s->box[box];
	return post;
}

/* ------------------------------------------------------------------------ */
/* One sleeper, one waker. */

static void *sleeper(void *arg)
{
	weft_fiber *self = weft_self();
	int stack[8] = { 0 }, *mine = duo_watched(stack);

	for (int i = 0; i < s->rounds; i++) {
		struct post *post = post_make(publish, 0);
		int refused;

		mine[i]++;
		refused = weft_suspend(&post->awaiter);
		wf_os_free(post);
		duo_check_here(self);
		weft_sim_assert(refused == 0, "it was not suspended");
		weft_sim_assert(mine[i] == 1 && s->work == i + 1,
			"round %d: %d, %d", i, mine[i], s->work);
	}
	return arg;
}

static void wake_all_rounds(void)
{
	for (int i = 0; i < s->rounds; i++) {
		weft_fiber *f = collect(&s->box[0]);

		s->work = i + 1;
		weft_wake(f, s->hint);
	}
}

static void *waker(void *arg)
{
	wake_all_rounds();
	return arg;
}

static void waker_thread(void *arg)
{
	(void)arg;
	wake_all_rounds();
}

/* The waker has a processor of its own; arg is how it wakes. */
void suspend_wake(void *arg)
{
	open_all();
	s->hint = (weft_hint)(uintptr_t)arg;
	s->rounds = 2;
	duo_root(0, sleeper, NULL);
	duo_root(1, waker, NULL);
	duo_run();
	close_all();
}

/* The waker is a plain thread. */
void suspend_outside(void *arg)
{
	int thread;

	(void)arg;
	open_all();
	s->rounds = 2;
	duo_root(0, sleeper, NULL);
	duo_start();
	thread = duo_thread(waker_thread, NULL, "waker");
	duo_join();
	(void)weft_sim_join(thread);
	close_all();
}

/* ------------------------------------------------------------------------ */
/* The signal may come first. */

/* In place of a fiber: it was signalled. */
static weft_fiber *signal_mark(void)
{
	return (weft_fiber *)s;
}

static bool publish_unless(struct weft_awaiter *a, weft_fiber *f)
{
	struct post *post = wf_container_of(a, struct post, awaiter);
	weft_fiber *none = NULL;

	/* [pair: box] As publish. */
	if (wf_cas_acqrel(post->box, &none, f))
		return true;
	/* [pair: box] It was signalled: see what was done before. */
	(void)wf_load_acq(post->box);
	return false;
}

static void *sleeper_unless(void *arg)
{
	weft_fiber *self = weft_self();
	struct post *post = post_make(publish_unless, 0);
	int refused = weft_suspend(&post->awaiter);

	wf_os_free(post);
	duo_check_here(self);
	weft_sim_assert(s->work == 1, "it went on too early");
	s->sleeps += refused == 0;
	return arg;
}

static void *signaller(void *arg)
{
	weft_fiber *f;

	s->work = 1;
	/* [pair: box] */
	f = wf_xchg_acqrel(&s->box[0], signal_mark());
	if (f != NULL) {
		s->wakes++;
		weft_wake(f, WEFT_HINT_NEXT);
	}
	return arg;
}

static void *yielder(void *arg)
{
	weft_fiber *self = weft_self();
	int stack = 0, *mine = duo_watched(&stack);

	for (int i = 0; i < 2; i++) {
		(*mine)++;
		weft_yield();
		duo_check_here(self);
	}
	weft_sim_assert(*mine == 2, "its stack is another's");
	return arg;
}

/* With arg: where the sleeper is another fiber goes on in its place. */
void suspend_refuse(void *arg)
{
	open_all();
	if (arg != NULL)
		duo_root(0, yielder, NULL);
	duo_root(0, sleeper_unless, NULL);
	duo_root(1, signaller, NULL);
	duo_run();
	weft_sim_assert(s->sleeps == s->wakes, "slept %d times, woken %d",
		s->sleeps, s->wakes);
	close_all();
}

/* The sleeper goes to the waker; another stays, and is refused. */
static void *wakes_and_signals(void *arg)
{
	wake_all_rounds();
	/* [pair: box] */
	(void)wf_xchg_acqrel(&s->box[1], signal_mark());
	return arg;
}

/* Refused each time once it was signalled, which it waits for. */
static void *sleeper_behind(void *arg)
{
	int refused = 0;

	while (refused == 0) {
		struct post *post = post_make(publish_unless, 1);

		/* [pair: box] */
		while (wf_load_acq(post->box) == NULL)
			duo_pause();
		refused = weft_suspend(&post->awaiter);
		wf_os_free(post);
	}
	return arg;
}

void suspend_refuse_behind(void *arg)
{
	(void)arg;
	open_all();
	s->rounds = 1;
	duo_root(0, sleeper, NULL);
	duo_root(0, sleeper_behind, NULL);
	duo_root(1, wakes_and_signals, NULL);
	duo_run();
	close_all();
}

/* ------------------------------------------------------------------------ */
/* Several would wake it, and one has the right to. */

static void wake_if_mine(void)
{
	while (wf_load_rlx(&s->over) == 0) {
		/* [pair: box] One of the two wakers gets it. */
		weft_fiber *f = wf_xchg_acqrel(&s->box[0], NULL);

		if (f == NULL) {
			duo_pause();
			continue;
		}
		s->work++;
		weft_wake(f, WEFT_HINT_DEFAULT);
	}
}

static void *one_waker(void *arg)
{
	wake_if_mine();
	return arg;
}

static void other_waker(void *arg)
{
	(void)arg;
	wake_if_mine();
}

static void *sleeper_of_two(void *arg)
{
	(void)sleeper(arg);
	wf_store_rlx(&s->over, 1);
	return arg;
}

void suspend_two_wakers(void *arg)
{
	int thread;

	(void)arg;
	open_all();
	s->rounds = 2;
	duo_root(0, sleeper_of_two, NULL);
	duo_root(1, one_waker, NULL);
	duo_start();
	thread = duo_thread(other_waker, NULL, "waker");
	duo_join();
	(void)weft_sim_join(thread);
	weft_sim_assert(s->work == 2, "woken %d times", s->work);
	close_all();
}

/* ------------------------------------------------------------------------ */
/* Symmetric transfer. */

/* Takes the place of the leader, and wakes it if the thread did not. */
static void *partner(void *arg)
{
	weft_fiber *self = weft_self(), *f;
	struct post *post = post_make(publish, 0);
	int refused = weft_suspend(&post->awaiter);

	wf_os_free(post);
	duo_check_here(self);
	weft_sim_assert(refused == 0 && s->work == 1, "it went on too early");
	s->work = 2;
	/* [pair: box] Unless the thread was faster. */
	f = wf_xchg_acqrel(&s->box[1], NULL);
	if (f != NULL && f != signal_mark())
		weft_wake(f, WEFT_HINT_NEXT);
	return arg;
}

/* Leaves its place to the partner, which has a stack, elsewhere. */
static void *leader(void *arg)
{
	weft_fiber *self = weft_self();
	struct post *post = post_make(arg ? publish_unless : publish, 1);

	post->awaiter.next = collect(&s->box[0]);
	s->work = 1;
	if (weft_suspend(&post->awaiter) != 0)
		s->sleeps++;
	wf_os_free(post);
	duo_check_here(self);
	wf_store_rlx(&s->over, 1);
	return NULL;
}

/* Wakes the leader, or makes its suspension be refused. */
static void third(void *arg)
{
	while (wf_load_rlx(&s->over) == 0) {
		weft_fiber *mark = arg ? signal_mark() : NULL;
		/* [pair: box] Unless the partner was faster. */
		weft_fiber *f = wf_xchg_acqrel(&s->box[1], mark);

		if (f != NULL && f != mark)
			weft_wake(f, WEFT_HINT_DEFAULT);
		duo_pause();
	}
}

void suspend_transfer(void *arg)
{
	int thread;

	open_all();
	duo_root(0, partner, NULL);
	duo_root(1, leader, arg);
	duo_start();
	thread = duo_thread(third, arg, "third");
	duo_join();
	(void)weft_sim_join(thread);
	weft_sim_assert(s->work == 2, "the partner did not run");
	close_all();
}
