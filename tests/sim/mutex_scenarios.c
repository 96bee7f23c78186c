/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/mutex_scenarios.c - mutex, rwlock, once, and the spin lock.
 *
 * The actors of a scenario are threads or fibers, as its argument says, and the
 * fibers are on two workers.  The data under a lock is plain, so that two
 * holders at once are a race.  The next holder frees the object at once: an
 * actor that touches it later is caught.
 */
#include "sim/scenario.h"

#include <errno.h>

#include "os/os.h"
#include "os/spin.h"
#include "sim/play_kit.h"

/* Which of the actors are fibers, by bits; and how it is played. */
#define THREADS 0u
#define FIBERS 15u
#define MIXED 5u
#define TIMED 16u  /* the first one waits until s.then only */
#define CANCEL 32u /* the first one is cancelled by the last */
#define HASTY 64u  /* fibers give way after two calls */

/* The data under the lock. */
struct box {
	union {
		weft_mutex mutex;
		weft_rwlock rwlock;
		weft_once once;
		struct wf_spin spin;
	};
	int a, b; /* always the same */
	int refs;
};

static struct {
	struct box *box;
	unsigned flags;
	weft_time then;
	weft_fiber *fiber[ACTORS];
	int result[ACTORS];
	_Atomic(uint32_t) users; /* actors that may still use the box */
	_Atomic(uint32_t) stage;
	_Atomic(uint32_t) order; /* holders in turn, one decimal each */
	int by;			 /* the actor that did it */
	weft_group read;	 /* until the next waiter has it */
} s;

typedef void act(unsigned i);

static struct part {
	act *act;
	unsigned i;
} parts[ACTORS];

static void part_main(void *arg)
{
	struct part *part = arg;

	part->act(part->i);
}

static bool is_fiber(unsigned i)
{
	return s.flags >> i & 1;
}

/* All of them, from start to end; refs are as many. */
static void play(unsigned n, act *const acts[])
{
	struct play p = { .fibers = s.flags & FIBERS,
		.second = 10,
		.duo = s.flags & HASTY ? DUO_HASTY : 0,
		.act = part_main };

	for (unsigned i = 0; i < n; i++) {
		parts[i] = (struct part){ acts[i], i };
		p.actor[i].arg = &parts[i];
	}
	play_all(&p, n, s.fiber);
	weft_sim_assert(s.box == NULL, "the box is still there");
}

static void begin(void *flags, int refs)
{
	s.flags = (unsigned)(uintptr_t)flags;
	s.then = weft_after(3000000);
	s.box = duo_alloc(sizeof(*s.box));
	s.box->refs = refs;
	wf_store_rlx(&s.users, (uint32_t)refs);
}

static void free_box(struct box *box)
{
	weft_sim_assert(box == s.box, "it was freed already");
	s.box = NULL;
	wf_os_free(box);
}

/* Something is done, and others shall see it. */
static void reach(uint32_t stage)
{
	/* [pair: duo.await] */
	wf_store_rel(&s.stage, stage);
}

/* Plain, and in two steps. */
static void change(struct box *box)
{
	weft_sim_assert(box->a == box->b, "two were in it at once");
	box->a++;
	weft_sim_yield();
	box->b++;
}

static void pause_in_it(unsigned i)
{
	if (is_fiber(i))
		weft_yield();
}

static void was_in_it(unsigned i)
{
	wf_store_rlx(&s.order, wf_load_rlx(&s.order) * 10 + i + 1);
}

/* The deadline of the first. */
static weft_time by(void)
{
	return s.flags & TIMED ? s.then : WEFT_FOREVER;
}

/* How the first one's wait may end. */
static void check_first(void)
{
	int err = s.result[0];

	weft_sim_assert(err == 0 || (err == -ETIMEDOUT && (s.flags & TIMED)) ||
			(err == -ECANCELED && (s.flags & CANCEL)),
		"the first wait ended with %d", err);
}

static void cancel_first(unsigned i)
{
	(void)i;
	duo_cancel(s.fiber[0]);
}

/* ------------------------------------------------------------------------ */
/* Mutex. */

/* The bits of its word, as sync/mutex.c has them. */
enum { LOCKED = 1, WOKEN = 2, HANDOFF = 4, BITS = 15 };

/* (M1) and (M2) of sync/mutex.c, at every step. */
static void mutex_check(void *arg)
{
	struct box *box = s.box;
	unsigned long long word;

	(void)arg;
	if (box == NULL)
		return;
	word = wf_load_rlx((_Atomic(uint64_t) *)&box->mutex.word_);
	weft_sim_assert((word & ~BITS) == 0 || (word & (LOCKED | WOKEN)),
		"(M1) somebody waits and nobody will wake it: %#llx", word);
	weft_sim_assert(!(word & HANDOFF) ||
			(word & (LOCKED | WOKEN)) == LOCKED,
		"(M2) handed over while others may take it: %#llx", word);
}

static void mutex_free_box(struct box *box)
{
	weft_sim_assert(box->mutex.word_ == 0 && box->mutex.owner_ == 0,
		"it is not as it began: %#llx",
		(unsigned long long)box->mutex.word_);
	free_box(box);
}

/* One less uses the box; the last one frees it. */
static void mutex_let_go(struct box *box)
{
	/* [pair: mutex.users] All that was done to it is over. */
	if (wf_sub_acqrel(&s.users, 1) == 1)
		mutex_free_box(box);
}

/*
 * Of one who has it: the last one to have it frees it.  If somebody may give up
 * nobody knows who that is.
 */
static void mutex_leave(struct box *box)
{
	bool last = --box->refs == 0;

	weft_mutex_unlock(&box->mutex);
	if (s.flags & (TIMED | CANCEL))
		mutex_let_go(box);
	else if (last)
		mutex_free_box(box);
}

static void mutex_once(unsigned i)
{
	struct box *box = s.box;

	weft_mutex_lock(&box->mutex);
	change(box);
	was_in_it(i);
	mutex_leave(box);
}

static void mutex_twice(unsigned i)
{
	struct box *box = s.box;

	weft_mutex_lock(&box->mutex);
	change(box);
	pause_in_it(i);
	weft_mutex_unlock(&box->mutex);
	mutex_once(i);
}

/* The next holder frees it. */
static void mutex_free(void *arg)
{
	begin(arg, 3);
	PLAY(mutex_once, mutex_once, mutex_once);
}

static void mutex_two(void *arg)
{
	begin(arg, 2);
	PLAY(mutex_twice, mutex_twice);
}

static void mutex_three(void *arg)
{
	begin(arg, 3);
	PLAY(mutex_twice, mutex_once, mutex_twice);
}

/* A try succeeds if it is free, whatever others do to its list. */
static void mutex_tries(unsigned i)
{
	struct box *box = s.box;
	int err;

	(void)i;
	while ((err = weft_mutex_lock_by(&box->mutex, WEFT_NOW)) != 0) {
		weft_sim_assert(err == -ETIMEDOUT, "a try: %d", err);
		duo_pause();
	}
	change(box);
	mutex_leave(box);
}

static void mutex_try(void *arg)
{
	begin(arg, 3);
	PLAY(mutex_tries, mutex_tries, mutex_once);
}

/* The first may give up. */
static void mutex_first(unsigned i)
{
	struct box *box = s.box;

	duo_await(&s.stage, 1);
	s.result[0] = weft_mutex_lock_by(&box->mutex, by());
	if (s.result[0] != 0) {
		mutex_let_go(box);
		return;
	}
	change(box);
	was_in_it(i);
	mutex_leave(box);
}

/* Has it when the others come, and unlocks at the very instant. */
static void mutex_holder(unsigned i)
{
	struct box *box = s.box;

	(void)i;
	weft_mutex_lock(&box->mutex);
	reach(1);
	change(box);
	if (s.flags & TIMED)
		(void)weft_sleep_until(s.then);
	mutex_leave(box);
}

/* A waiter gives up at the instant of the unlock: another one gets it. */
static void mutex_loser(void *arg)
{
	begin(arg, 3);
	if (s.flags & CANCEL)
		PLAY(mutex_first, mutex_holder, mutex_once, cancel_first);
	else
		PLAY(mutex_first, mutex_holder, mutex_once);
	check_first();
}

/* Keeps it until the waiter is hungry, and takes it once more. */
static void mutex_hog(unsigned i)
{
	struct box *box = s.box;

	(void)i;
	weft_mutex_lock(&box->mutex);
	reach(1);
	(void)weft_sleep_until(s.then - 1000000);
	change(box);
	weft_mutex_unlock(&box->mutex);
	weft_mutex_lock(&box->mutex);
	change(box);
	if (s.flags & TIMED)
		(void)weft_sleep_until(s.then);
	mutex_leave(box);
}

/* It is handed over, to one that may give up. */
static void mutex_hungry(void *arg)
{
	begin(arg, 3);
	if (s.flags & CANCEL)
		PLAY(mutex_first, mutex_hog, mutex_once, cancel_first);
	else
		PLAY(mutex_first, mutex_hog, mutex_once);
	check_first();
}

/*
 * Two wait for one that lets go and takes it again, several times; more than
 * patience passes at any step, because somebody sleeps for that long.  One may
 * come to wait again that was not woken, while the other is the WOKEN one.
 */
static void mutex_again(unsigned i)
{
	struct box *box = s.box;

	(void)i;
	for (int n = 0; n < 3; n++) {
		weft_mutex_lock(&box->mutex);
		reach(1);
		change(box);
		weft_mutex_unlock(&box->mutex);
	}
	mutex_once(i);
}

static void let_time_pass(unsigned i)
{
	(void)i;
	(void)weft_sleep_until(s.then);
}

static void mutex_refused(void *arg)
{
	begin(arg, 3);
	PLAY(mutex_again, mutex_once, mutex_once, let_time_pass);
}

/* ------------------------------------------------------------------------ */
/* Rwlock. */

static void check_free(struct box *box)
{
	const weft_rwlock *l = &box->rwlock;

	weft_sim_assert(l->word_ == 0 && l->owner_ == 0 &&
			l->waiters_[0] == NULL && l->waiters_[2] == NULL,
		"it is not as it began: %#llx", (unsigned long long)l->word_);
}

static void look(struct box *box)
{
	int a = box->a;

	weft_sim_yield();
	weft_sim_assert(a == box->b, "it was written while it was read");
}

static void rwlock_read(struct box *box, unsigned i)
{
	look(box);
	pause_in_it(i);
	look(box);
	(void)wf_sub_rlx(&s.users, 1);
	weft_rwlock_rdunlock(&box->rwlock);
}

static void rwlock_reader(unsigned i)
{
	weft_rwlock_rdlock(&s.box->rwlock);
	rwlock_read(s.box, i);
}

static void rwlock_writer(unsigned i)
{
	struct box *box = s.box;

	weft_rwlock_wrlock(&box->rwlock);
	change(box);
	pause_in_it(i);
	(void)wf_sub_rlx(&s.users, 1);
	weft_rwlock_wrunlock(&box->rwlock);
}

/* Writes until all others have been there, and frees it then. */
static void rwlock_last_writer(unsigned i)
{
	struct box *box = s.box;
	uint32_t left;

	(void)i;
	do {
		duo_pause();
		weft_rwlock_wrlock(&box->rwlock);
		change(box);
		left = wf_load_rlx(&s.users);
		weft_rwlock_wrunlock(&box->rwlock);
	} while (left != 1);
	check_free(box);
	free_box(box);
}

/* Reads until all others have been there, and frees it then. */
static void rwlock_last_reader(unsigned i)
{
	struct box *box = s.box;
	uint32_t left;

	(void)i;
	do {
		duo_pause();
		weft_rwlock_rdlock(&box->rwlock);
		look(box);
		left = wf_load_rlx(&s.users);
		weft_rwlock_rdunlock(&box->rwlock);
	} while (left != 1);
	check_free(box);
	free_box(box);
}

static void rwlock_write_free(void *arg)
{
	begin(arg, 3);
	PLAY(rwlock_last_writer, rwlock_reader, rwlock_reader);
}

static void rwlock_read_free(void *arg)
{
	begin(arg, 3);
	PLAY(rwlock_last_reader, rwlock_writer, rwlock_writer);
}

static void rwlock_both(void *arg)
{
	begin(arg, 4);
	PLAY(rwlock_last_writer, rwlock_writer, rwlock_reader, rwlock_reader);
}

static void rwlock_tries(unsigned i)
{
	struct box *box = s.box;

	while (weft_rwlock_rdlock_by(&box->rwlock, WEFT_NOW) != 0)
		duo_pause();
	rwlock_read(box, i);
}

static void rwlock_tries_to_write(unsigned i)
{
	struct box *box = s.box;

	(void)i;
	while (weft_rwlock_wrlock_by(&box->rwlock, WEFT_NOW) != 0)
		duo_pause();
	change(box);
	(void)wf_sub_rlx(&s.users, 1);
	weft_rwlock_wrunlock(&box->rwlock);
}

static void rwlock_try(void *arg)
{
	begin(arg, 3);
	PLAY(rwlock_last_writer, rwlock_tries, rwlock_tries_to_write);
}

/* Until who is behind has it, if that is what it is about. */
static void await_reader(unsigned i)
{
	bool before = is_fiber(i) && weft_shield(true);

	if (s.flags & HASTY) {
		int err = weft_group_wait(&s.read, WEFT_FOREVER);

		weft_sim_assert(err == 0, "the group: %d", err);
	}
	if (is_fiber(i))
		(void)weft_shield(before);
}

/* The first wants to write, and may give up. */
static void rwlock_first(unsigned i)
{
	struct box *box = s.box;

	duo_await(&s.stage, 1);
	s.result[0] = weft_rwlock_wrlock_by(&box->rwlock, by());
	if (s.result[0] == 0) {
		change(box);
		weft_rwlock_wrunlock(&box->rwlock);
	}
	check_first();
	await_reader(i);
	rwlock_last_writer(i);
}

/* Reads, and goes on only when somebody else has read. */
static void rwlock_holder(unsigned i)
{
	struct box *box = s.box;

	weft_rwlock_rdlock(&box->rwlock);
	reach(1);
	if (s.flags & TIMED)
		(void)weft_sleep_until(s.then);
	await_reader(i);
	rwlock_read(box, i);
}

static void rwlock_behind(unsigned i)
{
	duo_await(&s.stage, 1);
	weft_rwlock_rdlock(&s.box->rwlock);
	weft_group_done(&s.read);
	rwlock_read(s.box, i);
}

/*
 * A writer gives up, at the instant of the unlock or (HASTY) while nobody ever
 * unlocks: the reader behind it goes on.
 */
static void rwlock_loser(void *arg)
{
	begin(arg, 3);
	weft_group_add(&s.read, 1);
	if (s.flags & CANCEL)
		PLAY(rwlock_first, rwlock_holder, rwlock_behind, cancel_first);
	else
		PLAY(rwlock_first, rwlock_holder, rwlock_behind);
}

static void rwlock_first_reads(unsigned i)
{
	struct box *box = s.box;

	duo_await(&s.stage, 1);
	s.result[0] = weft_rwlock_rdlock_by(&box->rwlock, by());
	if (s.result[0] == 0) {
		look(box);
		weft_rwlock_rdunlock(&box->rwlock);
	}
	rwlock_last_writer(i);
}

static void rwlock_writes_first(unsigned i)
{
	struct box *box = s.box;

	(void)i;
	weft_rwlock_wrlock(&box->rwlock);
	reach(1);
	change(box);
	if (s.flags & TIMED)
		(void)weft_sleep_until(s.then);
	(void)wf_sub_rlx(&s.users, 1);
	weft_rwlock_wrunlock(&box->rwlock);
}

/* A reader gives up when the writer unlocks. */
static void rwlock_reader_loses(void *arg)
{
	begin(arg, 3);
	weft_group_add(&s.read, 1);
	if (s.flags & CANCEL)
		PLAY(rwlock_first_reads, rwlock_writes_first, rwlock_behind,
			cancel_first);
	else
		PLAY(rwlock_first_reads, rwlock_writes_first, rwlock_behind);
	check_first();
}

/* ------------------------------------------------------------------------ */
/* Once. */

static void once_fn(void *arg)
{
	struct box *box = s.box;

	weft_sim_assert(box->a == 0, "it is done twice");
	change(box);
	s.by = *(int *)arg;
	pause_in_it((unsigned)s.by);
	box->refs = 7;
}

/* The first who did not do it frees it, if it is for it to do so. */
static void once_actor(unsigned i)
{
	struct box *box = s.box;
	int me = (int)i, *arg = duo_watched(&me);

	weft_once_do(&box->once, once_fn, arg);
	weft_sim_assert(box->refs == 7 && box->b == 1, "it is not done");
	/* [pair: once.users] */
	if (wf_sub_acqrel(&s.users, 1) == 1)
		free_box(box);
}

static void once_do(void *arg)
{
	begin(arg, 3);
	PLAY(once_actor, once_actor, once_actor);
}

/* A waiter may free it while the actor that ran fn still returns. */
static void once_waiter(unsigned i)
{
	struct box *box = s.box;
	int me = (int)i, *arg = duo_watched(&me);

	weft_once_do(&box->once, once_fn, arg);
	if (s.by == (int)i)
		return;
	weft_sim_assert(box->refs == 7, "it is not done");
	free_box(box);
}

static void once_free(void *arg)
{
	begin(arg, 1);
	PLAY(once_waiter, once_waiter);
}

/* ------------------------------------------------------------------------ */
/* The spin lock. */

static void spin_actor(unsigned i)
{
	struct box *box = s.box;
	bool last;

	(void)i;
	wf_spin_lock(&box->spin);
	change(box);
	wf_spin_unlock(&box->spin);
	wf_spin_lock(&box->spin);
	change(box);
	last = --box->refs == 0;
	wf_spin_unlock(&box->spin);
	if (last)
		free_box(box);
}

static void spin_free(void *arg)
{
	begin(arg, 2);
	PLAY(spin_actor, spin_actor);
}

/* ------------------------------------------------------------------------ */

#define HOW(flags) .arg = (void *)(uintptr_t)(flags)
#define MUTEX(flags) HOW(flags), .opts.invariant = mutex_check

static const struct scenario table[] = {
	{ .name = "mutex/free", .body = mutex_free, MUTEX(THREADS) },
	{ .name = "mutex/free-fibers", .body = mutex_free, MUTEX(FIBERS) },
	{ .name = "mutex/free-mixed", .body = mutex_free, MUTEX(MIXED) },
	{ .name = "mutex/two", .body = mutex_two, MUTEX(THREADS) },
	{ .name = "mutex/two-fibers", .body = mutex_two, MUTEX(FIBERS) },
	{ .name = "mutex/two-mixed", .body = mutex_two, MUTEX(MIXED) },
	{ .name = "mutex/three", .body = mutex_three, MUTEX(THREADS) },
	{ .name = "mutex/three-fibers",
		.body = mutex_three,
		MUTEX(FIBERS | HASTY) },
	{ .name = "mutex/try", .body = mutex_try, MUTEX(THREADS) },
	{ .name = "mutex/try-mixed", .body = mutex_try, MUTEX(MIXED) },
	{ .name = "mutex/loser", .body = mutex_loser, MUTEX(TIMED) },
	{ .name = "mutex/loser-fibers",
		.body = mutex_loser,
		MUTEX(FIBERS | TIMED) },
	{ .name = "mutex/loser-mixed",
		.body = mutex_loser,
		MUTEX(MIXED | TIMED) },
	{ .name = "mutex/cancel", .body = mutex_loser, MUTEX(7u | CANCEL) },
	{ .name = "mutex/cancel-mixed",
		.body = mutex_loser,
		MUTEX(1u | CANCEL) },
	{ .name = "mutex/hungry", .body = mutex_hungry, MUTEX(THREADS) },
	{ .name = "mutex/hungry-timed", .body = mutex_hungry, MUTEX(TIMED) },
	{ .name = "mutex/hungry-fibers", .body = mutex_hungry, MUTEX(FIBERS) },
	{ .name = "mutex/hungry-late",
		.body = mutex_hungry,
		MUTEX(FIBERS | TIMED) },
	{ .name = "mutex/hungry-cancel",
		.body = mutex_hungry,
		MUTEX(7u | CANCEL) },
	{ .name = "mutex/refused", .body = mutex_refused, MUTEX(THREADS) },

	{ .name = "rwlock/write-free",
		.body = rwlock_write_free,
		HOW(THREADS) },
	{ .name = "rwlock/write-free-fibers",
		.body = rwlock_write_free,
		HOW(FIBERS) },
	{ .name = "rwlock/read-free", .body = rwlock_read_free, HOW(THREADS) },
	{ .name = "rwlock/read-free-mixed",
		.body = rwlock_read_free,
		HOW(MIXED) },
	{ .name = "rwlock/both", .body = rwlock_both, HOW(THREADS) },
	{ .name = "rwlock/both-mixed", .body = rwlock_both, HOW(6u) },
	{ .name = "rwlock/try", .body = rwlock_try, HOW(THREADS) },
	{ .name = "rwlock/loser", .body = rwlock_loser, HOW(TIMED) },
	{ .name = "rwlock/loser-fibers",
		.body = rwlock_loser,
		HOW(FIBERS | TIMED) },
	{ .name = "rwlock/loser-behind",
		.body = rwlock_loser,
		HOW(TIMED | HASTY) },
	{ .name = "rwlock/loser-cancel",
		.body = rwlock_loser,
		HOW(7u | CANCEL | HASTY) },
	{ .name = "rwlock/reader", .body = rwlock_reader_loses, HOW(TIMED) },
	{ .name = "rwlock/reader-fibers",
		.body = rwlock_reader_loses,
		HOW(FIBERS | TIMED) },
	{ .name = "rwlock/reader-cancel",
		.body = rwlock_reader_loses,
		HOW(7u | CANCEL) },

	{ .name = "once/three", .body = once_do, HOW(THREADS) },
	{ .name = "once/three-fibers", .body = once_do, HOW(FIBERS) },
	{ .name = "once/three-mixed", .body = once_do, HOW(MIXED) },
	{ .name = "once/free", .body = once_free, HOW(THREADS) },
	{ .name = "once/free-fibers", .body = once_free, HOW(FIBERS) },
	{ .name = "once/free-mixed", .body = once_free, HOW(1u) },

	{ .name = "spin/free", .body = spin_free, HOW(THREADS) },
};

const struct scenarios mutex_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
