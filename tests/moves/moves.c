/* SPDX-License-Identifier: MIT */
/*
 * tests/moves/moves.c - errno and thread-local variables are those of the
 * thread that a fiber is on, however it is compiled; compilers.sh compiles it
 * with every compiler, language and level.
 *
 * Two threads drive one manual executor in turn, each for one task.  So a fiber
 * that yields goes on on the other thread, each time, on one CPU too.  Before
 * they begin the threads note where their own errno and variables are; the
 * fiber compares what it finds with the notes of the thread that drives it.
 */
#include "moves/moves.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/weft.h>

enum { THREADS = 2 };

extern WEFT_PER_THREAD_ int shared;
WEFT_PER_THREAD_ int shared = 1;

struct place *here;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;

static struct {
	struct place place[THREADS];
	size_t arrived, turn; /* under the mutex, as is over */
	bool over;
	weft_executor *executor;
	size_t yields, moves, stale;
} game;

static void expect(int err, const char *what)
{
	if (err == 0)
		return;
	fprintf(stderr, "moves: %s: %d\n", what, err);
	exit(1);
}

void move(void)
{
	struct place *before = here;

	game.yields++;
	weft_yield();
	game.moves += here != before;
}

static size_t count(const char *title, const struct shapes *s)
{
	size_t sum = 0;

	printf("%s:", title);
	for (size_t i = 0; i < KINDS; i++) {
		size_t stale = s->kind[i].stale();

		printf(" %s %zu%s", s->kind[i].name, stale,
			i < KINDS - 1 ? "," : "\n");
		sum += stale;
	}
	return sum;
}

static void *travel(void *arg)
{
	(void)arg;
	(void)count("plain, stale", &plain);
	game.stale = count("safe, stale", &safe);
	return NULL;
}

static void arrive(struct place *place)
{
	place->errno_at = &errno;
	place->shared = &shared;
	place->self = pthread_self();
	safe.arrive(place);
	plain.arrive(place);
}

/* Wait for this thread's turn; false: the game is over. */
static bool my_turn(size_t me)
{
	bool over;

	pthread_mutex_lock(&mutex);
	while (!game.over && (game.arrived < THREADS || game.turn != me))
		pthread_cond_wait(&passed, &mutex);
	over = game.over;
	pthread_mutex_unlock(&mutex);
	return !over;
}

static void pass_on(size_t me, bool over)
{
	pthread_mutex_lock(&mutex);
	game.turn = (me + 1) % THREADS;
	game.over = over;
	pthread_cond_broadcast(&passed);
	pthread_mutex_unlock(&mutex);
}

static void *drive(void *arg)
{
	struct place *place = (struct place *)arg;
	size_t me = (size_t)(place - game.place);

	arrive(place);
	pthread_mutex_lock(&mutex);
	game.arrived++;
	pthread_cond_broadcast(&passed);
	pthread_mutex_unlock(&mutex);
	while (my_turn(me)) {
		here = place;
		pass_on(me, weft_manual_run(game.executor, 1) == 0);
	}
	return NULL;
}

int main(void)
{
	static weft_fiber_attr attr;
	pthread_t thread[THREADS];
	weft_fiber *f;

	expect(weft_manual_create(&game.executor), "weft_manual_create");
	attr.executor = game.executor;
	expect(weft_spawn(&f, &attr, travel, NULL), "weft_spawn");
	for (size_t i = 0; i < THREADS; i++)
		expect(pthread_create(&thread[i], NULL, drive, &game.place[i]),
			"pthread_create");
	for (size_t i = 0; i < THREADS; i++)
		expect(pthread_join(thread[i], NULL), "pthread_join");
	expect(weft_join(f, NULL, WEFT_NOW), "weft_join");
	expect(weft_executor_destroy(game.executor), "weft_executor_destroy");
	printf("%zu yields, %zu moves, %zu stale\n", game.yields, game.moves,
		game.stale);
	/* If a yield had not moved it, the test would show nothing. */
	expect(game.yields < 2 * KINDS * ROUNDS, "too few yields");
	expect(game.moves != game.yields, "not every yield moved it");
	expect(game.stale != 0, "it met what belongs to another thread");
	return 0;
}
