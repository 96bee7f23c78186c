/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/amutex_scenarios.c - the asynchronous mutex: sections run alone, in
 * order, each once, with and without records; and the last holder frees the
 * mutex the instant that it has it.
 *
 * Everything that a section touches is plain: sections that are not ordered are
 * a race.
 */
#include "sim/exec_kit.h"
#include "sim/scenario.h"

enum { JOBS = 6, PAYLOAD = 4711 };

struct job {
	weft_task task;		/* must be first */
	weft_executor *to;
	int payload;		/* as its locker wrote it */
	int ran;
	bool refused;
};

static struct {
	weft_amutex *m;
	struct job job[JOBS];
	struct desk desk[2];
	int jobs;		/* that lock */
	int inside;
	int sections;
	int log[JOBS];		/* which ran, in this order */
	bool keeps;		/* the last section does not free m */
	bool may_fail;
} s;

/* jobs lock one mutex; each leaves the first desk when it has run. */
static void open_jobs(int jobs)
{
	s.m = duo_alloc(sizeof(*s.m));
	s.jobs = jobs;
	desk_open(&s.desk[0], (uint32_t)jobs);
	desk_open(&s.desk[1], (uint32_t)jobs);
}

static void leave_desks(void)
{
	desk_leave(&s.desk[0]);
	desk_leave(&s.desk[1]);
}

static void section(weft_task *task)
{
	struct job *j = (struct job *)task;

	weft_sim_assert(j->payload == PAYLOAD, "job %d has no payload",
		(int)(j - s.job));
	weft_sim_assert(j->ran++ == 0, "job %d runs twice", (int)(j - s.job));
	weft_sim_assert(s.inside++ == 0, "two sections at once");
	s.log[s.sections++] = (int)(j - s.job);
	s.inside--;
	if (s.sections == s.jobs && !s.keeps)
		wf_os_free(s.m);
	else
		weft_amutex_unlock(s.m);
	leave_desks();
}

/* Job n locks, for a section on e. */
static void lock(int n, weft_executor *e)
{
	struct job *j = &s.job[n];
	int err;

	j->task.run = section;
	j->payload = PAYLOAD;
	err = weft_amutex_lock(s.m, &j->task, e);
	if (err == 0)
		return;
	weft_sim_assert(s.may_fail && (err == -EBUSY || err == -ENOMEM),
		"job %d: %d", n, err);
	/* It is ours again. */
	j->refused = true;
	j->payload = 0;
	j->task.next_ = NULL;
	leave_desks();
}

static void close_jobs(void)
{
	for (int i = 0; i < s.jobs; i++)
		weft_sim_assert(s.job[i].ran == !s.job[i].refused,
			"job %d ran %d times", i, s.job[i].ran);
	if (!s.keeps)
		return;
	weft_sim_assert(s.m->word_ == 0 && s.m->aside_ == 0,
		"the mutex is not free: %#llx", (unsigned long long)s.m->word_);
	wf_os_free(s.m);
}

/* Job a ran before job b. */
static void check_order(int a, int b)
{
	for (int i = 0; i < s.sections; i++) {
		weft_sim_assert(s.log[i] != b, "job %d before job %d", b, a);
		if (s.log[i] == a)
			return;
	}
}

/* ------------------------------------------------------------------------ */
/* On one executor. */

static void lock_inline(void *arg)
{
	const int *first = arg;

	lock(*first, weft_inline());
	lock(*first + 1, weft_inline());
}

/* A thread runs its own sections, and those that wait at its unlock. */
static void amutex_inline(void *arg)
{
	static int zero = 0, two = 2;
	int other;

	s.keeps = arg != NULL;
	open_jobs(4);
	other = duo_thread(lock_inline, &two, "other");
	lock_inline(&zero);
	(void)weft_sim_join(other);
	close_jobs();
	check_order(0, 1);
	check_order(2, 3);
}

static void lock_on_desk(void *arg)
{
	const int *n = arg;

	lock(*n, &s.desk[0].executor);
}

/* Threads lock, and one or two others run the sections. */
static void amutex_desk(void *arg)
{
	static int zero = 0, one = 1, two = 2;
	int id[3];

	open_jobs(3);
	id[0] = duo_thread(lock_on_desk, &zero, "zero");
	id[1] = duo_thread(lock_on_desk, &one, "one");
	id[2] = duo_thread(lock_on_desk, &two, "two");
	desk_run(&s.desk[0], arg == NULL ? 1 : 2);
	for (int i = 0; i < 3; i++)
		(void)weft_sim_join(id[i]);
	close_jobs();
}

/* Jobs of one thread keep their order, while other threads lock. */
static void amutex_order(void *arg)
{
	static int three = 3;
	int other;

	(void)arg;
	open_jobs(4);
	other = duo_thread(lock_on_desk, &three, "other");
	for (int i = 0; i < 3; i++)
		lock(i, &s.desk[0].executor);
	desk_run(&s.desk[0], 1);
	(void)weft_sim_join(other);
	close_jobs();
	check_order(0, 1);
	check_order(1, 2);
}

/* ------------------------------------------------------------------------ */
/* On several: there is one place in the simulator. */

static void lock_on_second(void *arg)
{
	const int *n = arg;

	lock(*n, &s.desk[1].executor);
	lock(*n + 1, weft_inline());
}

static void lock_on_first(void *arg)
{
	const int *n = arg;

	lock(*n, &s.desk[0].executor);
	lock(*n + 1, weft_inline());
}

/* Three executors; with arg there may be no memory for a record. */
static void amutex_places(void *arg)
{
	static int zero = 0, two = 2;
	int first, second, server;

	s.keeps = s.may_fail = arg != NULL;
	open_jobs(5);
	if (arg != NULL)
		weft_sim_os_faults(4);
	first = duo_thread(lock_on_first, &zero, "first");
	second = duo_thread(lock_on_second, &two, "second");
	server = duo_thread(desk_serve, &s.desk[1], "server");
	lock(4, weft_inline());
	desk_serve(&s.desk[0]);
	(void)weft_sim_join(first);
	(void)weft_sim_join(second);
	(void)weft_sim_join(server);
	close_jobs();
}

/* Two executors, in the order of each locker. */
static void amutex_mixed(void *arg)
{
	static int zero = 0, two = 2;
	int first, other;

	(void)arg;
	open_jobs(4);
	first = duo_thread(lock_on_first, &zero, "first");
	other = duo_thread(lock_inline, &two, "other");
	desk_run(&s.desk[0], 1);
	(void)weft_sim_join(first);
	(void)weft_sim_join(other);
	close_jobs();
	check_order(0, 1);
	check_order(2, 3);
}

/* ------------------------------------------------------------------------ */
/* Refused, stopped, in fibers. */

/* Refused by lock it is its locker's; refused by unlock it runs there. */
static void amutex_refuse(void *arg)
{
	static int one = 1, two = 2;
	int first, second;

	(void)arg;
	s.keeps = s.may_fail = true;
	s.desk[0].refuses = true;
	open_jobs(3);
	first = duo_thread(lock_on_desk, &one, "first");
	second = duo_thread(lock_on_desk, &two, "second");
	lock(0, &s.desk[0].executor);
	desk_run(&s.desk[0], 1);
	(void)weft_sim_join(first);
	(void)weft_sim_join(second);
	close_jobs();
}

static void serve_now(struct desk *d)
{
	weft_task *t;

	while ((t = desk_take(d)) != NULL)
		weft_task_run(&d->executor, t);
}

static void lock_and_serve(void *arg)
{
	lock_on_desk(arg);
	serve_now(&s.desk[0]);
}

/* A thread may stop anywhere, even in a section: no lock waits for it. */
static void amutex_stop(void *arg)
{
	static int zero = 0, one = 1, two = 2;
	int id[3];

	(void)arg;
	s.keeps = true;
	open_jobs(3);
	id[0] = duo_thread(lock_and_serve, &zero, "zero");
	id[1] = duo_thread(lock_and_serve, &one, "one");
	id[2] = duo_thread(lock_and_serve, &two, "two");
	for (int i = 0; i < 3; i++)
		(void)weft_sim_join(id[i]);
	serve_now(&s.desk[0]);
	close_jobs();
}

static void *lock_in_fiber(void *arg)
{
	const int *n = arg;

	lock(*n, &duo->rt.executor);
	weft_yield();
	lock(*n + 1, &duo->rt.executor);
	return arg;
}

/* Fibers of a runtime lock, for tasks on it. */
static void amutex_rt(void *arg)
{
	static int zero = 0, two = 2;

	(void)arg;
	s.keeps = true;
	duo_open(DUO_COARSE);
	open_jobs(4);
	duo_root(0, lock_in_fiber, &zero);
	duo_root(1, lock_in_fiber, &two);
	duo_run();
	duo_close();
	close_jobs();
	check_order(0, 1);
	check_order(2, 3);
}

/* ------------------------------------------------------------------------ */

#define YES ((void *)1)

static const struct scenario table[] = {
	{ .name = "amutex/inline", .body = amutex_inline },
	{ .name = "amutex/inline-kept", .body = amutex_inline, .arg = YES },
	{ .name = "amutex/desk", .body = amutex_desk },
	{ .name = "amutex/desk-two", .body = amutex_desk, .arg = YES },
	{ .name = "amutex/order", .body = amutex_order },
	{ .name = "amutex/places", .body = amutex_places },
	{ .name = "amutex/places-faults", .body = amutex_places, .arg = YES },
	{ .name = "amutex/mixed", .body = amutex_mixed },
	{ .name = "amutex/refuse", .body = amutex_refuse },
	{ .name = "amutex/stop",
		.body = amutex_stop,
		.opts.flags = WEFT_SIM_LOCK_FREE },
	{ .name = "amutex/rt", .body = amutex_rt },
};

const struct scenarios amutex_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
