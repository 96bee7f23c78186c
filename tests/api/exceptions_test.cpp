/* SPDX-License-Identifier: MIT */
/*
 * tests/api/exceptions_test.cpp - a fiber has its own C++ exceptions.
 *
 * Fibers throw, catch, throw again and unwind at random, and switch in between:
 * in nested catch blocks, and in destructors that run while an exception
 * unwinds.  Each knows from its own frames which exceptions it has caught and
 * how many it unwinds, and compares that with what the C++ runtime says before
 * and after every switch.  A runtime that keeps one list of exceptions for each
 * thread, and not for each fiber, says something else.
 *
 * The program needs nothing but the library, so that it can be linked with
 * libweft.a, with libweft.so and as a static program.  It takes its seed from
 * WEFT_TEST_SEED, and WEFT_TEST_SCALE says how many per cent of the switches it
 * makes.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include <pthread.h>
#include <weft/weft.h>

namespace {

constexpr int64_t ns_per_ms = 1000000;
constexpr long goal = 1000000; /* switches in nested catch blocks */
constexpr int fibers = 16;
constexpr int depth_max = 4;

#ifdef __has_feature
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
constexpr long slower = 20;
#else
constexpr long slower = 1;
#endif
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr long slower = 20;
#else
constexpr long slower = 1;
#endif

std::atomic<long> nested;  /* switches in a catch block in a catch block */
std::atomic<long> unwound; /* switches while an exception unwinds */
std::atomic<long> moved;   /* switches after which the thread is another */
std::atomic<long> inlined; /* children that ran on their joiner's stack */
std::atomic<long> alive;   /* exceptions that exist */
std::atomic<long> names;   /* so that no two exceptions are alike */
std::atomic<bool> stop;
uint64_t seed;

void fail(const char *file, int line, const char *what)
{
	std::fprintf(stderr, "%s:%d: not so: %s (seed %llu)\n", file, line,
		what, (unsigned long long)seed);
	std::_Exit(1);
}

#define EXPECT(c) ((c) ? (void)0 : fail(__FILE__, __LINE__, #c))

/* An exception, with contents that take memory of their own. */
struct trouble {
	long name;
	std::string text;

	explicit trouble(long n) : name(n), text(std::to_string(n) + " trouble")
	{
		alive++;
	}
	trouble(const trouble &o) : name(o.name), text(o.text)
	{
		alive++;
	}
	~trouble()
	{
		EXPECT(text == std::to_string(name) + " trouble");
		alive--;
	}
};

/* Are we on another thread than before?  Not to be inlined: see fiber.h. */
__attribute__((noinline)) uintptr_t thread()
{
	__asm__ volatile("");
	return (uintptr_t)pthread_self();
}

weft_mutex mutex;
weft_chan *chan;

/* What one fiber does, and what it knows of its own exceptions. */
class actor {
public:
	explicit actor(uint64_t its_seed) : random(its_seed)
	{
	}
	void act(int depth);
	void catch_one(int depth);
	void verify();
	void switch_once();

private:
	unsigned pick(unsigned n)
	{
		return (unsigned)(random() % n);
	}
	void wait();
	void catch_again(const trouble &caught);
	void unwind_one(int depth);
	void bear_child();
	void resume_other();

	friend struct unwinder;
	std::mt19937_64 random;
	std::vector<long> caught; /* names, the innermost last */
	int uncaught = 0;	  /* that unwind now */
};

/* The exceptions of this fiber are those it knows of, and no others. */
void actor::verify()
{
	std::exception_ptr now = std::current_exception();

	EXPECT(std::uncaught_exceptions() == uncaught);
	EXPECT((now == nullptr) == caught.empty());
	if (now == nullptr)
		return;
	try {
		std::rethrow_exception(now);
	} catch (const trouble &t) {
		EXPECT(t.name == caught.back());
		EXPECT(t.text == std::to_string(t.name) + " trouble");
	}
}

void actor::wait()
{
	long name = 1;

	switch (pick(8)) {
	case 0:
		weft_mutex_lock(&mutex);
		weft_yield();
		weft_mutex_unlock(&mutex);
		break;
	case 1:
		/* Every fiber takes one out for each that it puts in. */
		EXPECT(weft_chan_send(chan, &name, WEFT_FOREVER) == 0);
		EXPECT(weft_chan_recv(chan, &name, WEFT_FOREVER) == 0);
		break;
	case 2:
		if (pick(16) == 0)
			EXPECT(weft_sleep(1000) == 0);
		break;
	default:
		weft_yield();
	}
}

void actor::switch_once()
{
	uintptr_t before = thread();

	verify();
	wait();
	if (thread() != before)
		moved++;
	if (caught.size() > 1)
		nested++;
	if (uncaught > 0)
		unwound++;
	verify();
}

/* The exception that is caught is thrown again, through a switch. */
void actor::catch_again(const trouble &t)
{
	try {
		switch_once();
		throw;
	} catch (const trouble &again) {
		EXPECT(&again == &t);
		switch_once();
	}
}

void actor::catch_one(int depth)
{
	long name = ++names;

	try {
		throw trouble(name);
	} catch (const trouble &t) {
		caught.push_back(name);
		EXPECT(t.name == name);
		switch_once();
		act(depth + 1);
		if (pick(2))
			catch_again(t);
		EXPECT(t.name == name);
		caught.pop_back();
	}
	verify();
}

/* Its destructor runs while an exception unwinds. */
struct unwinder {
	actor &a;
	int depth;

	~unwinder()
	{
		a.uncaught++;
		a.switch_once();
		a.act(depth + 1);
		a.uncaught--;
	}
};

void actor::unwind_one(int depth)
{
	long name = ++names;

	try {
		unwinder u{ *this, depth };

		throw trouble(name);
	} catch (const trouble &t) {
		EXPECT(t.name == name);
	}
	verify();
}

/* One that begins, and knows of no exceptions, whoever runs it. */
struct child {
	uint64_t seed;
	uintptr_t stack; /* an address on its stack */
};

void *child_main(void *arg)
{
	child *c = static_cast<child *>(arg);
	actor a(c->seed);

	c->stack = (uintptr_t)__builtin_frame_address(0);
	a.verify();
	a.catch_one(depth_max - 1);
	a.verify();
	return nullptr;
}

/* Joined at once, it most often runs here, as a call. */
void actor::bear_child()
{
	child c{ random(), 0 };
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	weft_fiber *f;

	EXPECT(weft_spawn(&f, nullptr, child_main, &c) == 0);
	EXPECT(weft_join(f, nullptr, WEFT_FOREVER) == 0);
	if (c.stack < here && here - c.stack < 16384)
		inlined++;
	verify();
}

/* A fiber on an executor that is run by hand, from here. */
void actor::resume_other()
{
	weft_fiber_attr attr = {};
	child c{ random(), 0 };
	weft_executor *manual;
	weft_fiber *f;

	EXPECT(weft_manual_create(&manual) == 0);
	attr.executor = manual;
	EXPECT(weft_spawn(&f, &attr, child_main, &c) == 0);
	do {
		weft_manual_run(manual, SIZE_MAX);
		verify();
		/* Only that: we must not wait for what the child holds. */
		weft_yield();
		verify();
	} while (weft_join(f, nullptr, WEFT_NOW) != 0);
	EXPECT(weft_executor_destroy(manual) == 0);
}

void actor::act(int depth)
{
	if (depth >= depth_max)
		return;
	for (unsigned n = pick(3) + 1; n > 0; n--) {
		switch (pick(16)) {
		case 0:
		case 1:
		case 2:
			unwind_one(depth);
			break;
		case 3:
			bear_child();
			break;
		case 4:
			if (pick(8) == 0)
				resume_other();
			break;
		case 5:
			switch_once();
			break;
		default:
			catch_one(depth);
		}
	}
}

void *fiber_main(void *arg)
{
	actor a(seed + (uintptr_t)arg);

	while (!stop.load(std::memory_order_relaxed))
		a.act(0);
	return nullptr;
}

long scaled(long n)
{
	const char *percent = std::getenv("WEFT_TEST_SCALE");

	n /= slower;
	return percent && *percent ? n * std::atol(percent) / 100 : n;
}

void reset()
{
	nested = unwound = moved = inlined = 0;
	stop = false;
	mutex = {};
	EXPECT(weft_chan_create(&chan, sizeof(long), 1) == 0);
}

void report(const char *where)
{
	std::printf("%-12s %8ld switches in nested catch blocks, %7ld while "
		    "unwinding, %7ld to another thread; %6ld children inline\n",
		where, nested.load(), unwound.load(), moved.load(),
		inlined.load());
	std::fflush(stdout);
	EXPECT(alive == 0);
	EXPECT(unwound > 0);
	weft_chan_unref(chan);
}

/* Until all have switched often enough, and moved if they can. */
void run_until(long switches, bool moves, void (*turn)(void *), void *arg)
{
	/* A machine with much else to do may not move them for long. */
	weft_time end = weft_after(300000 * ns_per_ms);

	while (nested < switches || (moves && moved == 0)) {
		EXPECT(weft_now() < end);
		turn(arg);
	}
	stop = true;
}

void nap(void *arg)
{
	(void)arg;
	EXPECT(weft_sleep(ns_per_ms) == 0);
}

void spawn_all(weft_fiber **f, weft_executor *on)
{
	weft_fiber_attr attr = {};

	attr.executor = on;
	for (intptr_t i = 0; i < fibers; i++)
		EXPECT(weft_spawn(&f[i], &attr, fiber_main, (void *)i) == 0);
}

void join_all(weft_fiber **f)
{
	for (int i = 0; i < fibers; i++)
		EXPECT(weft_join(f[i], nullptr, WEFT_FOREVER) == 0);
}

struct plan {
	weft_executor *on; /* nullptr: the runtime */
	long switches;
	bool moves;
};

int plan_main(void *arg)
{
	plan *p = static_cast<plan *>(arg);
	weft_fiber *f[fibers];

	spawn_all(f, p->on);
	run_until(p->switches, p->moves, nap, nullptr);
	join_all(f);
	return 0;
}

/* Fibers of a runtime. */
void on_runtime(const char *where, unsigned workers, long switches)
{
	plan p = { nullptr, switches, workers > 1 };
	weft_config cfg = {};

	reset();
	cfg.workers = workers;
	EXPECT(weft_run(&cfg, plan_main, &p) == 0);
	EXPECT(inlined > 0);
	report(where);
}

/* Fibers on a foreign executor; this thread only waits. */
void on_executor(const char *where, weft_executor *e, long switches)
{
	plan p = { e, switches, false };

	reset();
	EXPECT(plan_main(&p) == 0);
	report(where);
}

void turn_manual(void *manual)
{
	weft_manual_run(static_cast<weft_executor *>(manual), 1000);
}

/*
 * Fibers that a thread runs by hand, in a catch block of its own: they do not
 * see its exception, and it keeps it.
 */
void on_manual(long switches)
{
	weft_fiber *f[fibers];
	weft_executor *manual;

	reset();
	EXPECT(weft_manual_create(&manual) == 0);
	spawn_all(f, manual);
	try {
		throw trouble(-1);
	} catch (const trouble &mine) {
		run_until(switches, false, turn_manual, manual);
		while (weft_executor_destroy(manual) != 0)
			weft_manual_run(manual, SIZE_MAX);
		try {
			throw;
		} catch (const trouble &again) {
			EXPECT(&again == &mine);
		}
	}
	join_all(f);
	EXPECT(std::current_exception() == nullptr);
	report("manual");
}

void on_pool_and_strand(long switches)
{
	weft_executor *pool, *strand;

	EXPECT(weft_pool_create(&pool, 2) == 0);
	on_executor("pool", pool, switches);
	EXPECT(weft_strand_create(&strand, pool) == 0);
	on_executor("strand", strand, switches);
	EXPECT(weft_executor_destroy(strand) == 0);
	EXPECT(weft_executor_destroy(pool) == 0);
}

} // namespace

int main()
{
	const char *given = std::getenv("WEFT_TEST_SEED");

	seed = given ? std::strtoull(given, nullptr, 0)
		     : std::random_device()();
	std::printf("WEFT_TEST_SEED=%llu\n", (unsigned long long)seed);
	std::fflush(stdout);
	on_runtime("two workers", 2, scaled(goal));
	on_runtime("one worker", 1, scaled(goal / 5));
	on_pool_and_strand(scaled(goal / 10));
	on_manual(scaled(goal / 10));
	return 0;
}
